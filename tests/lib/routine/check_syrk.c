/* check_syrk.c - the update of one triangle, C <- alpha op(A) op(A)' + beta C, under every emulated
 * mode: the triangle has the bits of the mode's product, or errors within the mode's bound, and
 * nothing else of C is read or written. */
#include "tests/support/test.h"

#include <math.h>
#include <stdio.h>

#include "lib/routine/lower.h"
#include "kernels/view/target.h"
#include "tests/support/bits.h"
#include "tests/kernels/support/checked.h"
#include "tests/kernels/support/device.h"

static const mode *tested;

/* A is n x k, or k x n if is_transposed. */
typedef struct {
    const char *data;
    int64_t n, k;
    bool is_transposed;
    td_triangle triangle;
    double alpha, beta;
    int pad_a, pad_c, guard;
    uint64_t seed;
} update;

static const char *update_text(const update *u)
{
    static char text[160];
    snprintf(text, sizeof text, "n %d k %d %s %s alpha %g beta %g pads %d %d guard %d seed %d %s",
             (int)u->n, (int)u->k, u->is_transposed ? "T" : "N",
             u->triangle == TD_LOWER ? "lower" : "upper", u->alpha, u->beta, u->pad_a, u->pad_c,
             u->guard, (int)u->seed, u->data);
    return text;
}

static update plain(const char *data, int64_t n, int64_t k)
{
    return (update){.data = data, .n = n, .k = k, .alpha = 1.0, .seed = 17};
}

/* Everything that may vary apart from sizes, data and scalars, by a number. */
static update varied(update u, int which)
{
    u.is_transposed = which & 1;
    u.triangle = which & 2 ? TD_UPPER : TD_LOWER;
    u.pad_a = which % 3;
    u.pad_c = which % 5 * (which % 7 == 3 ? 40 : 1);
    u.guard = which % 4;
    return u;
}

static bool is_inside(const update *u, int64_t i, int64_t j)
{
    return u->triangle == TD_LOWER ? i >= j : i <= j;
}

/* A NaN that no arithmetic makes, another one for each element. */
static double poison(int64_t i, int64_t j)
{
    return double_of(UINT64_C(0x7ffdead000000000) + (uint64_t)(i * 65536 + j));
}

/* The product that the update is, with a B of its own that equals A. */
static problem make_problem(const update *u)
{
    const product of = {.data = u->data,
                        .op_a = u->is_transposed ? TANDEM_OP_T : TANDEM_OP_N,
                        .op_b = u->is_transposed ? TANDEM_OP_N : TANDEM_OP_T,
                        .m = u->n,
                        .n = u->n,
                        .k = u->k,
                        .alpha = u->alpha,
                        .beta = u->beta,
                        .pad_a = u->pad_a,
                        .pad_b = u->pad_a,
                        .pad_c = u->pad_c,
                        .guard = u->guard,
                        .seed = u->seed};
    problem p = problem_make(&of);
    matrix_free(&p.b);
    p.b = matrix_copy(&p.a);
    return p;
}

static td_problem call_of(const update *u, const problem *p, double *a, double *c)
{
    return (td_problem){.kind = TD_RANK_K,
                        .type = TD_BINARY64,
                        .op_a = u->is_transposed ? TD_OP_T : TD_OP_N,
                        .triangle = u->triangle,
                        .n = u->n,
                        .k = u->k,
                        .alpha.value.binary64 = u->alpha,
                        .beta.value.binary64 = u->beta,
                        .a = device_matrix(&p->a, a),
                        .c = device_matrix(&p->c, c),
                        .batch = 1};
}

/* What of C the update must not touch. */
static void check_outside(const update *u, const test_matrix *c)
{
    CHECK(matrix_damage(c) == -1, "%s wrote outside C: %s", tested->name, update_text(u));
    for (int64_t j = 0; j < u->n; j++)
        for (int64_t i = 0; i < u->n; i++)
            CHECK(is_inside(u, i, j) || bits_of(*matrix_at(c, i, j)) == bits_of(poison(i, j)),
                  "%s touched C(%d, %d): %s", tested->name, (int)i, (int)j, update_text(u));
}

/* C of the update, the other triangle being poison. */
typedef enum { ALL_WORKSPACE, LEAST_WORKSPACE } workspace;
static test_matrix compute(const update *u, const problem *p, workspace which)
{
    td_product product;
    test_matrix c = matrix_copy(&p->c);
    for (int64_t j = 0; j < u->n; j++)
        for (int64_t i = 0; i < u->n; i++)
            if (!is_inside(u, i, j)) *matrix_at(&c, i, j) = poison(i, j);
    double *a = device_upload(&p->a), *dc = device_upload(&c);
    const td_problem call = call_of(u, p, a, dc);
    CHECK(td_problem_is_valid(&call) && td_lower(&call, &product), "no product: %s",
          update_text(u));
    const td_run_status status = checked_run_in(tested, &product, which == LEAST_WORKSPACE);
    CHECK(status == TD_RUN_DONE, "%s failed (%d): %s", tested->name, (int)status, update_text(u));
    device_check_clean(update_text(u));
    device_download(&c, dc);
    device_free(a, dc);
    check_outside(u, &c);
    return c;
}

/* True if the data may choose something else than for the whole product: what they leave open is
 * counted in the triangle alone, and tiles on the diagonal have fewer elements. */
static bool may_choose(void)
{
    return !tested->format && !tested->is_exact && !tested->is_binary64 &&
           tested->ozaki.parameter == 0;
}

/* 4 sqrt(k) 2^-53, and the roundings of alpha z, of beta c and of their sum. */
static double certified_bound(int64_t k) { return (4.0 * sqrt((double)k) + 3.0) * 0x1p-53; }

/* How many elements have other bits than the mode's product; these are within the bound. */
static int64_t compare(const update *u, const problem *p, const test_matrix *c)
{
    test_matrix want = matrix_copy(&p->c), before = p->c;
    const ref_gemm definition = problem_gemm(p, &want), start = problem_gemm(p, &before);
    ref_account account = mode_product(tested, &definition);
    int64_t others = 0;
    for (int64_t j = 0; j < u->n; j++)
        for (int64_t i = 0; i < u->n; i++) {
            const double x = *matrix_at(c, i, j), y = *matrix_at(&want, i, j);
            if (!is_inside(u, i, j) || same_bits(x, y)) continue;
            CHECK(may_choose(), "%s: C(%d, %d) is %a, the product has %a: %s", tested->name, (int)i,
                  (int)j, x, y, update_text(u));
            CHECK_AT_MOST(ref_measure(&start, i, j, x).error, certified_bound(u->k),
                          "%s: C(%d, %d): %s", tested->name, (int)i, (int)j, update_text(u));
            others++;
        }
    ref_account_free(&account);
    matrix_free(&want);
    return others;
}

/* In all workspace and in little, which changes no bit; returns compare()'s number. */
static int64_t check(const update *u)
{
    problem p = make_problem(u);
    test_matrix c = compute(u, &p, ALL_WORKSPACE);
    const int64_t others = compare(u, &p, &c);
    if (u->n > TD_TILE) {
        test_matrix again = compute(u, &p, LEAST_WORKSPACE);
        const int64_t at = matrix_difference(&c, &again);
        CHECK(at == -1, "%s: parts change C(%d, %d): %s", tested->name, (int)(at % u->n),
              (int)(at / u->n), update_text(u));
        matrix_free(&again);
    }
    matrix_free(&c);
    problem_free(&p);
    return others;
}

static bool is_left_out(int i) { return test_is_brief() && i % 6 != 1; }

TEST(all_shapes)
{
    static const int sizes[] = {1, 2, 17, 63, 64, 65, 131, 197, 260},
                     depths[] = {1, 16, 33, 100, 5, 65, 513};
    enum { SIZES = sizeof sizes / sizeof *sizes, DEPTHS = sizeof depths / sizeof *depths };
    int which = 0;
    for (int i = 0; i < SIZES; i++)
        for (int variant = 0; variant < 2; variant++, which++) {
            if (is_left_out(which) || (tested->is_variant && which % 3)) continue;
            if (!mode_has_turn(tested, which, 2)) continue;
            update u = plain("both signs", sizes[i], depths[(i + 2 * variant) % DEPTHS]);
            u = varied(u, 5 * i + 3 * variant);
            u.beta = which % 3 ? 0.0 : 0.7;
            check(&u);
        }
}

/* More columns than are made at a time where products go through cuBLAS. */
TEST(a_large_triangle)
{
    if (tested->is_variant || test_is_brief()) return;
    for (int i = 0; i < 2; i++) {
        if (!mode_has_turn(tested, i, 2)) continue;
        update u = varied(plain("both signs", 600, 3), i ? 2 : 5);
        check(&u);
    }
}

TEST(all_scalars)
{
    static const double alphas[] = {0.0, 1.0, -1.7, NAN}, betas[] = {0.0, 1.0, -0.3, INFINITY};
    for (int i = 0; i < 16; i++) {
        if (is_left_out(i) || !mode_has_turn(tested, i + i / 4, 2)) continue;
        update u = varied(plain("uniform", 70, 21), i);
        u.alpha = alphas[i % 4];
        u.beta = betas[i / 4];
        check(&u);
    }
    for (int i = 0; i < 4; i++) {
        update u = varied(plain("uniform", 67, 0), i);
        u.beta = betas[i % 3];
        check(&u);
    }
}

/* Elements are left to every kind of repair. */
TEST(all_distributions)
{
    int64_t others = 0;
    for (int d = 0; d < distribution_count; d++) {
        if (is_left_out(d) || distributions[d].is_hostile) continue;
        if (!mode_has_turn(tested, d, tested->is_variant ? 6 : 3)) continue;
        update u = varied(plain(distributions[d].name, d % 3 ? 50 : 135, d % 5 ? 60 : 530), d);
        u.seed = (uint64_t)(40 + d);
        u.beta = d % 4 == 2 ? 0.5 : 0.0;
        others += check(&u);
    }
    if (others) test_note("%s: %d elements have other bits", tested->name, (int)others);
}

/* NaN and infinities in A, and in the triangle of C. */
TEST(special_numbers)
{
    static const double values[] = {NAN, INFINITY, -INFINITY};
    for (int round = 0; round < 8; round++) {
        if (is_left_out(round) || !mode_has_turn(tested, round / 2, 2)) continue;
        update u = varied(plain("both signs", 133, 40), round);
        u.beta = round % 2 ? 1.5 : 0.0;
        u.seed = (uint64_t)round;
        problem p = make_problem(&u);
        test_random r = random_start((uint64_t)round);
        for (int count = round % 3; count >= 0; count--) {
            const int64_t i = random_int(&r, 0, (int)p.a.rows - 1),
                          j = random_int(&r, 0, (int)p.a.cols - 1);
            *matrix_at(&p.a, i, j) = *matrix_at(&p.b, i, j) = values[(round + count) % 3];
        }
        if (u.beta != 0.0) *matrix_at(&p.c, 70, 70) = values[round / 2 % 3];
        test_matrix c = compute(&u, &p, ALL_WORKSPACE);
        compare(&u, &p, &c);
        matrix_free(&c);
        problem_free(&p);
    }
}

int main(void) { return mode_run_tests(&tested, (test_group){0}); }
