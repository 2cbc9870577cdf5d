/* check_repairs.c - products, of the Ozaki family above all, with elements that certificates cannot
 * speak for: sums that cancel, wide exponents, results at the ends of binary64. Their definition
 * has them exact, with one rounding, or as sums in binary64 where exact ones would be long. */
#include "tests/support/test.h"

#include <float.h>
#include <limits.h>
#include <math.h>

#include "tests/kernels/support/checked.h"
#include "tests/kernels/support/device.h"

static const char *const names[] = {"faithful", "faithful:fp64", "ozaki2", "ozaki1", "ozaki-sgemm"};
enum { EXACT = 2, NAMES = 5 }; /* of the first, the definition does not say what they repair */

/* Elements of one test's products, by mode. */
typedef struct {
    long long all[NAMES], repaired[NAMES];
} census;

static void check_all(const product *of, census *c)
{
    problem p = problem_make(of);
    for (int n = 0; n < NAMES; n++) {
        const mode m = mode_of_family(names[n]);
        checked seen = {0};
        checked_problem(&m, &p, &seen);
        c->all[n] += of->m * of->n;
        c->repaired[n] += seen.repaired < 0 ? checked_repairs(&m, &p) : seen.repaired;
    }
    problem_free(&p);
}

static void note(const census *c, const char *what)
{
    for (int n = 0; n < NAMES; n++)
        test_note("%s, %s: %lld elements certified, %lld repaired", what, names[n],
                  c->all[n] - c->repaired[n], c->repaired[n]);
}

/* Of the exact modes some are of either kind. */
static void check_both_kinds(const census *c)
{
    for (int n = 0; n < EXACT; n++) {
        CHECK(c->repaired[n] > 0, "%s repaired none of %lld", names[n], c->all[n]);
        CHECK(c->repaired[n] < c->all[n], "%s repaired all of %lld", names[n], c->all[n]);
    }
}

/* Around the edges of what the kernels look at together: tiles of 128 x 128 and 64 x 64, strips of
 * 64 x 16. */
static const int sizes[][3] = {{1, 1, 90},    {17, 66, 40}, {65, 16, 129},
                               {70, 33, 300}, {9, 7, 1100}, {135, 129, 70}};
enum { SIZES = 6 };

static int size_count(void) { return test_is_brief() ? 2 : SIZES; }

static void check_data(const char *const *data, int count, const char *what)
{
    census c = {0};
    for (int d = 0; d < count; d++)
        for (int i = 0; i < size_count(); i++) {
            if ((d + i) % 3 == 2 || !test_takes(d + i / 2, 2)) continue;
            if (test_is_brief() && d % 2) continue;
            const product of =
                product_varied(data[d], sizes[i][0], sizes[i][1], sizes[i][2], d + i);
            check_all(&of, &c);
        }
    note(&c, what);
    check_both_kinds(&c);
}

TEST(sums_that_cancel)
{
    static const char *const data[] = {"cancelling",      "all but cancelling", "exact zeros",
                                       "wide cancelling", "wide exact zeros",   "zeros"};
    check_data(data, 6, "cancelling");
}

TEST(wide_exponents)
{
    static const char *const data[] = {"wide 4",    "scattered", "some scattered", "far scattered",
                                       "crossing",  "rising",    "far crossing",   "circulant",
                                       "one huge",  "graded",    "lines apart",    "half units 53",
                                       "half units"};
    check_data(data, 13, "wide exponents");
}

/* Work: exact sums are for few elements of a tile, and for lines that span few bits; all others
 * that are left are sums in binary64. */

/* True if the numbers of a line span at most 112 bits. */
static bool is_narrow(const problem *p, int which, int64_t line)
{
    int top = INT_MIN, bottom = INT_MAX;
    for (int64_t l = 0; l < p->of.k; l++) {
        const int64_t at = which ? ref_index_b(p->of.op_b, l, line, p->b.ld)
                                 : ref_index_a(p->of.op_a, line, l, p->a.ld);
        const double x = matrix_data(which ? &p->b : &p->a)[at];
        if (x == 0.0) continue;
        int e;
        int64_t m = (int64_t)ldexp(frexp(fabs(x), &e), 53);
        top = e > top ? e : top;
        for (e -= 53; m % 2 == 0; m /= 2) e++;
        bottom = e < bottom ? e : bottom;
    }
    return top - bottom <= 112;
}

/* Returns how many elements of a tile the definition sums exactly. */
static int exact_sums(const problem *p, const ref_account *account, int64_t i0, int64_t j0)
{
    int count = 0;
    for (int64_t j = j0; j < j0 + 64 && j < p->of.n; j++)
        for (int64_t i = i0; i < i0 + 64 && i < p->of.m; i++) {
            const int64_t at = i + j * p->of.m;
            if (!account->is_repaired[at] || account->in_binary64[at]) continue;
            CHECK(is_narrow(p, 0, i) && is_narrow(p, 1, j), "C(%d, %d) is summed exactly: %s",
                  (int)i, (int)j, product_text(&p->of));
            count++;
        }
    return count;
}

static void check_work(const char *name, const problem *p, census *c, int number)
{
    const mode m = mode_of_family(name);
    checked seen = {0};
    test_matrix want = matrix_copy(&p->c);
    const ref_gemm gemm = problem_gemm(p, &want);
    ref_account account = mode_product(&m, &gemm);
    checked_problem(&m, p, &seen);
    const int64_t counted = checked_repairs(&m, p);
    CHECK(counted == account.repaired, "%s: %d repaired, not %d: %s", name, (int)counted,
          (int)account.repaired, product_text(&p->of));
    for (int64_t j = 0; j < p->of.n; j += 64)
        for (int64_t i = 0; i < p->of.m; i += 64) {
            const int sums = exact_sums(p, &account, i, j);
            CHECK(sums <= 8, "%s: %d exact sums of a tile: %s", name, sums, product_text(&p->of));
        }
    c->all[number] += p->of.m * p->of.n;
    c->repaired[number] += counted;
    ref_account_free(&account);
    matrix_free(&want);
}

TEST(work_is_bounded)
{
    static const char *const data[] = {
        "decaying",        "decaying slowly", "wide 40",       "one wide",
        "any exponents",   "too wide",        "far scattered", "too wide and large",
        "wide cancelling", "subnormal",       "least",         "far crossing"};
    census c = {0};
    for (int d = 0; d < 12; d++)
        for (int i = 0; i < size_count(); i++) {
            if (!test_takes(d + i, 2) || (test_is_brief() && d % 3)) continue;
            const product of =
                product_varied(data[d], sizes[i][0], sizes[i][1], sizes[i][2], d + i);
            problem p = problem_make(&of);
            for (int n = EXACT; n < NAMES; n++) check_work(names[n], &p, &c, n);
            problem_free(&p);
        }
    note(&c, "wide data");
}

/* C is the rounded product: what is left is what rounding lost. */
TEST(c_that_cancels_the_product)
{
    static const char *const data[] = {"uniform",   "both signs", "wide 2",
                                       "scattered", "full",       "integers"};
    census c = {0};
    for (int d = 0; d < 6; d++)
        for (int i = 0; i < size_count(); i++) {
            if (!test_takes(d + i, 2) || (test_is_brief() && (d + i) % 2)) continue;
            product of = product_varied(data[d], sizes[i][0], sizes[i][1], sizes[i][2], d + i);
            of.beta = -1.0;
            of.takes_product = true;
            check_all(&of, &c);
        }
    note(&c, "less the product");
    check_both_kinds(&c);
}

/* Results that are subnormal, or as good as 0, or beyond the largest number, of any operands. */
static const struct {
    const char *data;
    double alpha, beta;
} ends[] = {{"both signs", 0x1p-1074, 0.0},
            {"both signs", -0x1.7p-1065, 0.0},
            {"uniform", 0x1p-1030, -1.0},
            {"both signs", 0x1.3p-1026, 0x1p-1050},
            {"vanishing", 1.0, 0.5},
            {"vanishing", 0x1p-10, 0.0},
            {"vanishing", -1.25, 0.0},
            {"vanishing", 0x1.7p100, 0.0},
            {"both signs", 0x1.7p-1070, 0x1.9p-1071},
            {"subnormal", 0x1p-30, 0.0},
            {"subnormal", 0x1p-900, 1.0},
            {"least", 1.0, 0.0},
            {"least", 0x1p-970, 0.0},
            {"cancelling", 0x1p-1010, 0.0},
            {"scattered", 0x1p-1000, 0.0},
            {"uniform", 0x1p1020, 0.0},
            {"both signs", 0x1.9p1022, 0.0},
            {"overflowing", 1.0, 0.0},
            {"overflowing", 1.0, -1.0},
            {"cancelling", 0x1p1023, 0.0},
            {"scattered", 0x1p800, 1.0},
            {"opposite", 0x1p1017, 0x1p300},
            {"far scattered", 0x1p60, 0.0}};
enum { ENDS = sizeof ends / sizeof *ends };

/* In three shapes; sanitizers see one. */
static product product_at_end(int i, int form)
{
    product of = product_varied(ends[i].data, 33, 20, 30 + 100 * form, i + form);
    of.alpha = ends[i].alpha;
    of.beta = ends[i].beta;
    return of;
}

static int form_count(void) { return test_is_brief() ? 1 : 3; }

TEST(ends_of_binary64)
{
    census c = {0};
    for (int i = 0; i < ENDS; i++)
        for (int form = 0; form < form_count(); form++) {
            if (!test_takes(i + form, 3) || (test_is_brief() && i % 2)) continue;
            const product of = product_at_end(i, form);
            check_all(&of, &c);
        }
    note(&c, "at the ends");
    check_both_kinds(&c);
}

/* Multi-float modes keep their bounds there, and round to a multiple of 2^-1074 once. */
TEST(multi_float_modes_reach_the_ends)
{
    for (const mode *m = mode_after(NULL); m; m = mode_after(m))
        for (int i = 0; i < ENDS * form_count() && m->format; i++) {
            const product of = product_at_end(i % ENDS, i / ENDS);
            checked_product(m, &of);
        }
}

/* alpha a b + beta c of five terms, where intermediate results of binary64 arithmetic would be
 * beyond its range or be rounded to multiples of 2^-1074. Elements of either kind: those of
 * operands that spread far are repaired. */
typedef struct {
    double a[5], b[5], alpha, beta, c, want;
    bool is_repaired; /* in mode df */
} far_sum;

static const far_sum far_sums[] = {
    /* sums that overflow half way, and products that vanish */
    {{0x1p1000, 0x1p1000, -0x1p1000, -0x1p1000, 0x1p800},
     {0x1p24, 0x1p24, 0x1p24, 0x1p24, 0x1p73},
     .alpha = 1.0,
     .want = 0x1p873,
     .is_repaired = true},
    {{0x1p1000, 0x1p1000, -0x1p1000, -0x1p1000, 0x1p-800},
     {0x1p24, 0x1p24, 0x1p24, 0x1p24, 0x1p-100},
     .alpha = -0x1p300,
     .want = -0x1p-600,
     .is_repaired = true},
    {{0x1p400, 0x1p-600},
     {0.0, 0x1p-500, 0x1p500},
     .alpha = 0x1p200,
     .want = 0x1p-900,
     .is_repaired = true},
    {{0x1p400, 0x1.8p-600},
     {0.0, 0x1p-476, 0x1p500},
     .alpha = 1.0,
     .beta = 0.75,
     .c = 0x1.8p-1073,
     .want = 0x1.8p-1073,
     .is_repaired = true},

    /* z is no multiple of 2^-1074 */
    {{0x1.2345678cp-600}, {0x1p-460}, .alpha = 0x1p100, .want = 0x1.2345678cp-960},
    {{0x1.cp-1000, 0x1p-1000}, {0x1p-500, 0x1p-500}, .alpha = -0x1p1000, .want = -0x1.6p-499},
    {{0x1.4p-600}, {0x1p-473}, .alpha = 1.25, .want = 0x1.8p-1073},
    {{0x1.8p-600},
     {0x1p-476},
     .alpha = 0x1p1023,
     .beta = 1.0,
     .c = 1.0,
     .want = 0x1.0000000000001p0},

    /* beta c is none */
    {{0x1.8p-600}, {0x1p-476}, .alpha = 1.0, .beta = 0.75, .c = 0x1.8p-1073, .want = 0x1.8p-1073},
    {{0x1.8p-300},
     {0x1p-202},
     .alpha = 0x1p-574,
     .beta = 0.75,
     .c = 0x1.8p-1073,
     .want = 0x1.8p-1073},
    {{0x1.8p-300},
     {0x1p-202},
     .alpha = -0x1p-574,
     .beta = -0.75,
     .c = 0x1.8p-1073,
     .want = -0x1.8p-1073},
};

static void check_far_sum(const mode *m, const far_sum *s)
{
    const product of = {
        .data = "uniform", .m = 1, .n = 1, .k = 5, .alpha = s->alpha, .beta = s->beta};
    problem p = problem_make(&of);
    for (int l = 0; l < 5; l++) {
        *matrix_at(&p.a, 0, l) = s->a[l];
        *matrix_at(&p.b, l, 0) = s->b[l];
    }
    if (s->beta != 0.0) *matrix_at(&p.c, 0, 0) = s->c;
    checked seen = {0};
    checked_problem(m, &p, &seen);
    test_matrix c = checked_compute(m, &p);
    CHECK(*matrix_at(&c, 0, 0) == s->want, "%s: %a (%a %a + ...) + %a %a is %a, not %a", m->name,
          s->alpha, s->a[0], s->b[0], s->beta, s->c, *matrix_at(&c, 0, 0), s->want);
    CHECK(m->format != &ref_df_format || seen.repaired == s->is_repaired,
          "%s: %d of %a (%a %a + ...) repaired", m->name, (int)seen.repaired, s->alpha, s->a[0],
          s->b[0]);
    matrix_free(&c);
    problem_free(&p);
}

TEST(sums_beyond_binary64_come_back)
{
    for (const mode *m = mode_after(NULL); m; m = mode_after(m))
        for (size_t i = 0; i < sizeof far_sums / sizeof *far_sums; i++)
            if (m->format || m->is_exact) check_far_sum(m, &far_sums[i]);
}

/* alpha (x y + z w + 2^1400 - 2^1400) + beta c: nothing but an exact sum has anything left of
 * it. */
typedef struct {
    double alpha, x, y, z, w, beta, c, want;
} edge;

static const edge edges[] = {
    /* 2^1024 - 2^970 and its neighbours: a tie between the largest number and what is none */
    {1.0, 0x1p512, 0x1p512, -0x1p458, 0x1p512, 0.0, NAN, INFINITY},
    {1.0, 0x1p512, 0x1p512, -0x1.0000000000001p458, 0x1p512, 0.0, NAN, DBL_MAX},
    {1.0, 0x1p512, 0x1p512, -0x1.fffffffffffffp457, 0x1p512, 0.0, NAN, INFINITY},
    {-1.0, 0x1p512, 0x1p512, -0x1.0000000000001p458, 0x1p512, 0.0, NAN, -DBL_MAX},
    {-2.0, 0x1p512, 0x1p511, -0x1p457, 0x1p512, 0.0, NAN, -INFINITY},
    {1.0, 0x1p512, 0x1p511, 0x1p485, 0x1p485, 1.0, 0x1.ffffffffffffep1022, INFINITY},
    {1.0, 0x1p512, 0x1p511, 0x1.fffffffffffffp484, 0x1p485, 1.0, 0x1.ffffffffffffep1022, DBL_MAX},
    {1.0, 0x1p512, 0x1p512, 0.0, 1.0, -1.0, DBL_MAX, 0x1p971},
    {-1.0, 0x1p512, 0x1p512, 0x1p-600, 0x1p-400, 0x1p54, 0x1p970, -0x1p-1000},

    /* ties between subnormal numbers, and what is a little more or less */
    {1.0, 0x1p-537, 0x1p-538, 0.0, 1.0, 0.0, NAN, 0.0},
    {1.0, 0x1p-537, 0x1p-538, 0x1p-600, 0x1p-600, 0.0, NAN, 0x1p-1074},
    {1.0, 0x1p-537, 0x1p-538, -0x1p-1074, 0x1p-1074, 0.0, NAN, 0.0},
    {1.0, 0x1.8p-537, 0x1p-537, 0.0, 1.0, 0.0, NAN, 0x1p-1073},
    {1.0, 0x1.8p-537, 0x1p-537, -0x1p-600, 0x1p-600, 0.0, NAN, 0x1p-1074},
    {-0x1p-1074, 0x1.8p10, 0x1p-10, 0.0, 1.0, 0.0, NAN, -0x1p-1073},
    {-0x1p-1074, 0x1.8p10, 0x1p-10, -0x1p-600, 0x1p-400, 0.0, NAN, -0x1p-1074},
    {1.0, -0x1p-537, 0x1p-538, 0.0, 1.0, 1.0, 0x1p-1074, 0.0},
    {1.0, -0x1p-537, 0x1p-538, 0x1p-1074, 0x1p-1074, 1.0, 0x1p-1074, 0x1p-1074},
    {1.0, 0x1p-1074, 0x1p-1074, 0.0, 1.0, 0.5, 0x1p-1074, 0x1p-1074},
    {-1.0, 0x1p-1074, 0x1p-1074, 0.0, 1.0, 0.5, 0x1p-1074, 0.0},

    /* the smallest number that is not subnormal */
    {1.0, 0x1p-511, 0x1p-511, -0x1p-537, 0x1p-538, 0.0, NAN, 0x1p-1022},
    {1.0, 0x1p-511, 0x1p-511, -0x1.0000000000001p-537, 0x1p-538, 0.0, NAN, 0x0.fffffffffffffp-1022},

    /* half a unit in the last place of 1, and what decides */
    {1.0, 1.0, 1.0, 0x1p-26, 0x1p-27, 0.0, NAN, 1.0},
    {1.0, 1.0, 1.0, 0x1p-26, 0x1p-27, 1.0, 0x1p-1074, 0x1.0000000000001p0},
    {1.0, 1.0, 1.0, 0x1p-26, 0x1p-27, 1.0, -0x1p-1074, 1.0},
    {1.0, 0x1p500, 0x1p500, 0x1p-500, 0x1p-500, -0x1p500, 0x1p500, 0x1p-1000},
};
enum { EDGES = sizeof edges / sizeof *edges };

static void check_edge(const char *name, const edge *e)
{
    const product of = {
        .data = "uniform", .m = 1, .n = 1, .k = 4, .alpha = e->alpha, .beta = e->beta};
    const double a[] = {0x1p700, e->x, -0x1p700, e->z}, b[] = {0x1p700, e->y, 0x1p700, e->w};
    const mode m = mode_of_family(name);
    problem p = problem_make(&of);
    for (int l = 0; l < 4; l++) {
        *matrix_at(&p.a, 0, l) = a[l];
        *matrix_at(&p.b, l, 0) = b[l];
    }
    if (e->beta != 0.0) *matrix_at(&p.c, 0, 0) = e->c;
    checked seen = {0};
    checked_problem(&m, &p, &seen);
    test_matrix c = checked_compute(&m, &p);
    CHECK(*matrix_at(&c, 0, 0) == e->want, "%a (%a %a + %a %a) + %a %a is %a, not %a", e->alpha,
          e->x, e->y, e->z, e->w, e->beta, e->c, *matrix_at(&c, 0, 0), e->want);
    CHECK(checked_repairs(&m, &p) == 1, "%a %a + %a %a was certified", e->x, e->y, e->z, e->w);
    matrix_free(&c);
    problem_free(&p);
}

TEST(one_rounding_at_every_edge)
{
    for (int n = 0; n < EXACT; n++)
        for (int i = 0; i < EDGES; i += test_is_brief() ? 5 : 1) check_edge(names[n], &edges[i]);
}

/* How much modes faithful and faithful:fp64 repair */

/* The largest magnitude over the root of the mean square. */
static double peak(const test_matrix *x)
{
    double squares = 0.0, most = 0.0;
    for (int64_t j = 0; j < x->cols; j++)
        for (int64_t i = 0; i < x->rows; i++) {
            const double element = *matrix_at(x, i, j);
            squares += element * element;
            most = fmax(most, fabs(element));
        }
    return most / sqrt(squares / (double)(x->cols * x->rows));
}

/* Elements that are repaired where no X is exact: the last element of every line counts for
 * nothing, but is rounded. */
static int64_t repairs_of_rounded(const char *name, const char *data, int64_t size, int64_t k,
                                  double *peaks)
{
    const mode m = mode_of_family(name);
    const product of = {
        .data = data, .m = size, .n = size, .k = k, .alpha = 1.0, .seed = (uint64_t)k};
    problem p = problem_make(&of);
    for (int64_t i = 0; i < size; i++) {
        *matrix_at(&p.a, i, k - 1) *= 0x1p-200;
        *matrix_at(&p.b, k - 1, i) *= 0x1p-200;
    }
    checked seen = {0};
    if (size <= 64) checked_problem(&m, &p, &seen);
    const int64_t repaired = checked_repairs(&m, &p);
    *peaks = peak(&p.a) * peak(&p.b);
    problem_free(&p);
    return repaired;
}

/* Sums of both signs are z / sqrt(k) of the product of both lines' norms, z normal; the unit in the
 * last place is 2^-52.5 of that. An element is within E of a tie with the probability of 2 E units,
 * and 1 / abs(z) is about 8 on average, cut off where nothing is certified. faithful: with 20
 * moduli a norm is about 2^76.7, and E the larger sum of magnitudes, 0.87 sqrt(k) times a norm: k
 * 2^-20.3 of all elements. faithful:fp64: peaks are about 2^(bits - 2), norms sqrt(k) of that over
 * the peaks of unit squares, bits = 84 or more for these k, and E is 8 k 2^(bits - 2) for what is
 * left out: sqrt(k) 2^-22.5 times both peaks of all. Four times that is allowed, as norms and peaks
 * may all be at an end of their range. Some are repaired, or E would not count. */
static double most_repairs(int name, int k, double peaks)
{
    return 4.0 * (name == 0 ? k * 0x1p-20 : sqrt(k) * 0x1p-22 * peaks);
}

static void check_ordinary_sums(int name, const char *data)
{
    static const int depths[] = {63, 255, 1023, 2047};
    const int64_t size = 256;
    int64_t all = 0;
    for (int i = 0; i < (test_is_brief() ? 1 : 4); i++) {
        double peaks;
        const int64_t repaired = repairs_of_rounded(names[name], data, size, depths[i], &peaks);
        test_note("%s, %s, k = %d: %d of %d repaired", names[name], data, depths[i], (int)repaired,
                  (int)(size * size));
        CHECK_AT_MOST((double)repaired / (double)(size * size),
                      most_repairs(name, depths[i], peaks), "%s: %s, k = %d", names[name], data,
                      depths[i]);
        all += repaired;
    }
    CHECK(all > 0 || test_is_brief(), "%s: nothing of %s is near a tie", names[name], data);
}

TEST(ordinary_sums_are_certified)
{
    static const char *const data[] = {"both signs", "wide 0.5", "wide 1"};
    for (int n = 0; n < EXACT; n++)
        for (int d = 0; d < 3; d++)
            if (test_takes(n + d, 2)) check_ordinary_sums(n, data[d]);
}

/* Nothing is left, or less than X's error; where X is exact, that is known. */
TEST(what_is_lost_is_repaired)
{
    static const char *const data[] = {"exact zeros", "wide exact zeros", "all but cancelling",
                                       "wide cancelling"};
    for (int n = 0; n < EXACT; n++)
        for (int d = 0; d < 4; d++) {
            double peaks;
            const int64_t repaired = repairs_of_rounded(names[n], data[d], 40, 201, &peaks);
            CHECK(repaired == 40 * 40, "%s: %d of %s are repaired", names[n], (int)repaired,
                  data[d]);
        }
    const product of = {.data = "exact zeros", .m = 40, .n = 40, .k = 202, .alpha = 1.0};
    const mode m = mode_of_family("faithful");
    problem p = problem_make(&of);
    CHECK(checked_repairs(&m, &p) == 0, "exact zeros of exact X are repaired");
    problem_free(&p);
}

/* Modes longer than binary64 */

/* What a sum in the operands' own exponents loses: `large` meets a zero, so that products of
 * numbers 2^low decide. */
typedef struct {
    double large;
    int low, k;
} deep_sum;

static const deep_sum deep_sums[] = {
    {1.0, -515, 1002},     /* products below 2^-1022, a normal sum */
    {1.0, -537, 1000},     /* all of it subnormal */
    {0x1p250, -245, 4096}, /* a long chain of double-double additions */
    {0x1p600, -400, 700},
};

static void check_deep_sum(const mode *m, const deep_sum *s)
{
    const product of = {
        .data = "uniform", .m = 3, .n = 5, .k = s->k, .alpha = 1.0, .seed = (uint64_t)s->k};
    problem p = problem_make(&of);
    for (int line = 0; line < 5; line++)
        for (int l = 0; l < s->k; l++) {
            double *a = line < 3 ? matrix_at(&p.a, line, l) : NULL, *b = matrix_at(&p.b, l, line);
            if (a) *a = l == 0 ? s->large : l == 1 ? 0.0 : ldexp(*a, s->low);
            *b = l == 1 ? s->large : l == 0 ? 0.0 : ldexp(*b, s->low);
        }
    checked seen = {0};
    checked_problem(m, &p, &seen);
    CHECK(seen.nearest == seen.elements, "%s: %d of %d elements of 2^%d are rounded once", m->name,
          (int)seen.nearest, (int)seen.elements, s->low);
    problem_free(&p);
}

TEST(long_modes_repair_exactly)
{
    for (const mode *m = mode_after(NULL); m; m = mode_after(m))
        for (size_t i = 0; i < sizeof deep_sums / sizeof *deep_sums && m->rounds_sum; i++)
            check_deep_sum(m, &deep_sums[i]);
}

/* Constants, whose roundings in one long chain all have one sign, beside a number that makes df
 * leave them. */
static void check_constants(const mode *m, int k, uint64_t seed)
{
    const product of = {.data = "uniform", .m = 4, .n = 3, .k = k, .alpha = 1.0, .seed = seed};
    problem p = problem_make(&of);
    checked seen = {0};
    for (int line = 0; line < 4; line++)
        for (int l = 1; l < k; l++) {
            *matrix_at(&p.a, line, l) = *matrix_at(&p.a, line, 1);
            if (line < 3) *matrix_at(&p.b, l, line) = *matrix_at(&p.b, 1, line);
        }
    for (int line = 0; line < 4; line++) {
        *matrix_at(&p.a, line, 0) = 0x1p120;
        if (line < 3) *matrix_at(&p.b, 0, line) = 0.0;
    }
    checked_problem(m, &p, &seen);
    CHECK(checked_repairs(m, &p) == of.m * of.n, "%s: constants are not repaired", m->name);
    problem_free(&p);
}

TEST(repaired_constants_keep_the_bound_of_df)
{
    for (const mode *m = mode_after(NULL); m; m = mode_after(m))
        for (int i = 0; i < (test_is_brief() ? 1 : 4) && m->format == &ref_df_format; i++)
            check_constants(m, i % 2 ? 16384 : 3000, (uint64_t)(17 + i));
}
