/* test_operations.c - sums, products and fused products of all formats against MPFR, with the
 * bounds of their headers: corners, random numbers, cancellation, and what a search finds. */
#include "tests/support/test.h"

#include <math.h>

#include "tests/support/bits.h"
#include "cases.h"
#include "exact.h"

enum { RANDOM_CASES = 200000, SEARCH_STEPS = 20000 };

/* The exact value r of a function, and the bound on its error: sum (|a| + |b|), product |a b| or,
 * for a b + c, product |a b| + sum (|a b| + |c|). */
typedef enum { SUM, PRODUCT, FUSED } function_kind;

typedef struct {
    operation which;
    function_kind kind;
    double sum, product;
    int is_normalised; /* the result is */
    double seen;       /* part of the bound that the cases must reach, lest they be harmless */
    const operation_in *hard;
} promise;

#define U2 0x1p-106 /* u^2 of binary64 */
#define V2 0x1p-48  /* v^2: u^2 of binary32 */
#define V3 0x1p-72

/* td_ts_add: relative to M = |a| + |b|, the second parts add to at most v M, and 2 v M with the
 * error of the first. Of that, e1 and e2 are v^2 M and 2 v^2 M; their sum rounds at 3 v^3 M, the
 * third parts' at v^3 M, all together at 4 v^3 M. Normalising is exact. */
#define TS_ADD (8 * V3)

/* td_ts_mul: relative to |a b|, the middle sum is v, then 2 v and 3 v. The first cross product
 * loses 3 v^2, of which dp, 4 v^2, and ds + dp round: 7 v^3; the second 4 v^2: 9 v^3. *low rounds
 * four times after it is first set, at 7, 8, 9 and 10 v^3; y z and z y are left out, 2 v^3. */
#define TS_MUL (52 * V3)

/* The worst known; the searches that found them were long. */
static const operation_in hard_ts_sum = {.a = {-0x1p+0, 0x1p-24, 0x1.fe3c5cp-49},
                                         .b = {0x1.000002p-24, -0x1.f915b6p-49, 0x1p-73}};
static const operation_in hard_ts_product = {.a = {0x1.00005cp+0, 0x1.ff717ep-25, 0x1.ff7d3cp-50},
                                             .b = {0x1.0262f6p+0, 0x1.bfe4d2p-25, -0x1.fe751ap-50}};
static const operation_in hard_paper_product = {
    .a = {-0x1.001376p+0, 0x1p-24, -0x1.ff57c8p-49},
    .b = {0x1.012122p+0, -0x1.ff9daep-25, 0x1.ffe5dep-50}};

static const promise promises[] = {
    {OPERATION_td_df_add, SUM, 3 * V2, 0, 1, 0.5, NULL},
    {OPERATION_td_df_mul, PRODUCT, 0, 9 * V2, 1, 0.4, NULL},
    {OPERATION_paper_df_fma, FUSED, 3 * V2, 9 * V2, 1, 0.5, NULL},
    {OPERATION_td_dd_add, SUM, 3 * U2, 0, 1, 0.5, NULL},
    {OPERATION_td_dd_mul, PRODUCT, 0, 9 * U2, 1, 0.4, NULL},
    {OPERATION_paper_dd_fma, FUSED, 3 * U2, 9 * U2, 1, 0.5, NULL},
    {OPERATION_td_ts_add, SUM, TS_ADD, 0, 1, 0.4, &hard_ts_sum},
    {OPERATION_td_ts_mul, PRODUCT, 0, TS_MUL, 1, 0.3, &hard_ts_product},
    {OPERATION_paper_ts_add, SUM, 0x1p-71, 0, 0, 0.4, NULL},
    {OPERATION_paper_ts_mul, PRODUCT, 0, 0x1p-68, 0, 0.4, &hard_paper_product},
    {OPERATION_paper_ts_fma, FUSED, 0x1p-71, 0x1p-68, 0, 0.2, NULL},
    {OPERATION_paper_ds_fma, FUSED, 0x1p-77 + 3 * U2, 0x1p-77 + 9 * U2, 1, 0.4, NULL},
};
enum { PROMISES = sizeof promises / sizeof *promises };

typedef struct {
    const promise *promise;
    mpfr_t exact, term, got, bound, weight;
    operation_out computed; /* the last result that was compared with nothing */
    long checked, overlapping;
    double worst; /* in parts of the bound */
    operation_in worst_in;
} state;

static void start(state *s, const promise *p)
{
    *s = (state){.promise = p};
    exact_init(s->exact);
    exact_init(s->term);
    exact_init(s->got);
    exact_init(s->bound);
    exact_init(s->weight);
}

static void stop(state *s)
{
    mpfr_clears(s->exact, s->term, s->got, s->bound, s->weight, (mpfr_ptr)0);
}

/* bound <- bound + weight |x| */
static void weigh(state *s, double weight, mpfr_t x)
{
    mpfr_abs(s->weight, x, MPFR_RNDN);
    mpfr_mul_d(s->weight, s->weight, weight, MPFR_RNDN);
    mpfr_add(s->bound, s->bound, s->weight, MPFR_RNDN);
}

static void set_exact(state *s, const operation_in *in)
{
    const promise *p = s->promise;
    mpfr_set_d(s->bound, operation_formats[p->which] == DS ? 0x1p-150 : 0.0,
               MPFR_RNDN); /* lo's last bit: 2^-149 */
    exact_set_parts(s->exact, in->a);
    exact_set_parts(s->term, in->b);
    if (p->kind == SUM) {
        weigh(s, p->sum, s->exact);
        weigh(s, p->sum, s->term);
        exact_add(s->exact, s->term);
        return;
    }
    exact_multiply(s->exact, s->term);
    weigh(s, p->product + p->sum, s->exact);
    if (p->kind == PRODUCT) return;
    exact_set_parts(s->term, in->c);
    weigh(s, p->sum, s->term);
    exact_add(s->exact, s->term);
}

/* The error in parts of the bound. */
static double error_of(state *s, const operation_in *in, double *result)
{
    const operation_out out = operation_apply(s->promise->which, in);
    for (int i = 0; i < MAX_PARTS; i++) result[i] = double_of(out.part[i]);
    set_exact(s, in);
    exact_set_parts(s->got, result);
    return exact_distance(s->got, s->exact, s->bound);
}

/* Fails the test, with the case in words. */
#define CHECK_CASE(condition, what)                                                                \
    CHECK(condition, "%s of (%a, %a, %a) (%a, %a, %a) (%a, %a, %a) is (%a, %a, %a), which " what,  \
          operation_names[s->promise->which], in->a[0], in->a[1], in->a[2], in->b[0], in->b[1],    \
          in->b[2], in->c[0], in->c[1], in->c[2], r[0], r[1], r[2])

/* Of a brief test, six of seven cases are computed, for sanitizers to see, and compared with
 * nothing: comparing takes most of the time. */
static bool is_computed_alone(const state *s)
{
    enum { COMPARED_OF = 7 };
    return test_is_brief() && s->checked % COMPARED_OF != 0;
}

static void check_case(const operation_in *in, void *context)
{
    state *s = context;
    const format_id format = operation_formats[s->promise->which];
    double r[MAX_PARTS];
    if (!is_normalised(format, in->a) || !is_normalised(format, in->b) ||
        !is_normalised(format, in->c))
        return;
    if (is_computed_alone(s)) {
        s->computed = operation_apply(s->promise->which, in);
        s->checked++;
        return;
    }
    const double error = error_of(s, in, r);
    const int overlaps = !is_normalised(format, r);
    CHECK_CASE(error <= 1.0, "is beyond its bound");
    CHECK_CASE(!overlaps || !s->promise->is_normalised, "overlaps");
    s->overlapping += overlaps;
    s->checked++;
    if (error <= s->worst) return;
    s->worst = error;
    s->worst_in = *in;
}

/* Far from what overflows or underflows. */
static int is_moderate(const operation_in *in)
{
    const double a = fabs(in->a[0]), b = fabs(in->b[0]), c = fabs(in->c[0]);
    return a > 0x1p-30 && a < 0x1p30 && b > 0x1p-30 && b < 0x1p30 && c < 0x1p60;
}

/* From the worst case on, to one that is worse still. */
static void search(state *s, uint64_t seed)
{
    const format_id format = operation_formats[s->promise->which];
    test_random r = random_start(seed);
    operation_in in = s->worst_in;
    double result[MAX_PARTS], worst = s->worst;
    for (int step = 0; step < test_cases(SEARCH_STEPS); step++) {
        const operation_in saved = in;
        for (int n = random_int(&r, 1, 3); n > 0; n--) {
            double *const numbers[] = {in.a, in.b, in.c};
            change_number(&r, format,
                          numbers[random_int(&r, 0, s->promise->kind == FUSED ? 2 : 1)]);
        }
        const double error = is_moderate(&in) ? error_of(s, &in, result) : 0.0;
        if (error >= worst) {
            worst = error;
            check_case(&in, s);
        } else
            in = saved;
    }
}

static void check_promise(const promise *p)
{
    const double unit = p->kind == SUM ? p->sum : p->product;
    state s;
    start(&s, p);
    if (p->hard) check_case(p->hard, &s);
    cases_visit(p->which, test_seed(), test_cases(RANDOM_CASES), check_case, &s);
    const double by_cases = s.worst;
    search(&s, test_seed());
    const operation_in *in = &s.worst_in;
    test_note("%s: %ld cases, %ld overlap, worst %s, by search %s, bound %s, at (%a, %a, %a) "
              "(%a, %a, %a) (%a, %a, %a)",
              operation_names[p->which], s.checked, s.overlapping, test_power(by_cases * unit),
              test_power(s.worst * unit), test_power(unit), in->a[0], in->a[1], in->a[2], in->b[0],
              in->b[1], in->b[2], in->c[0], in->c[1], in->c[2]);
    CHECK(s.checked > test_cases(RANDOM_CASES), "too few cases");
    CHECK(test_is_brief() || by_cases > p->seen, "%s: no case comes near the bound: %.3f of it",
          operation_names[p->which], by_cases);
    stop(&s);
}

TEST(operations_keep_their_bounds)
{
    for (int i = 0; i < PROMISES; i++) check_promise(&promises[i]);
}

/* The comparison that all of the above rests on sees one unit in the last place of the last part,
 * and twice the bound. */
TEST(planted_faults_are_seen)
{
    mpfr_t x, y;
    exact_init(x);
    exact_init(y);
    for (format_id f = DF; f < FORMAT_COUNT; f++) {
        test_random r = random_start(test_seed());
        const int last = formats[f].parts - 1;
        double a[MAX_PARTS] = {0.0};
        do random_number(&r, f, 0, 0, a);
        while (a[last] == 0.0);
        exact_set_parts(x, a);
        CHECK(exact_distance(x, x, x) == 0.0, "equal numbers are apart");
        a[last] += 2.0 * half_ulp(f, last, a[last]);
        exact_set_parts(y, a);
        CHECK(exact_distance(x, y, x) > 0.0, "unequal numbers are not");
    }
    const operation_in in = {.a = {1.0, 0x1p-24}, .b = {1.0, 0x1p-30}};
    state s;
    start(&s, &promises[0]);
    set_exact(&s, &in);
    mpfr_set(s.got, s.exact, MPFR_RNDN);
    for (int i = 0; i < 2; i++) exact_add(s.got, s.bound);
    CHECK(exact_distance(s.got, s.exact, s.bound) == 2.0, "twice the bound is not");
    stop(&s);
    mpfr_clears(x, y, (mpfr_ptr)0);
}
