/* check_paired.c - products of binary64 matrices that stand for complex ones
 * (td_real_product.is_paired), in the modes that make these by residues of complex numbers: C has
 * the bits of the definition, in whatever workspace, by whatever route, alone or in a batch. */
#include "tests/support/test.h"

#include <math.h>

#include "lib/routine/real.h"
#include "lib/cuda/device.h"
#include "tests/support/bits.h"
#include "tests/support/route_rows.h"
#include "tests/kernels/support/checked.h"
#include "tests/kernels/support/device.h"

static mode tested;
static int tested_number;
static const char *const names[] = {"ozaki2",    "ozaki2:2",  "ozaki2:7",  "ozaki2:15",
                                    "ozaki2:17", "ozaki2:18", "ozaki2:20", "faithful"};
enum { NAMES = sizeof names / sizeof *names };

/* Where everything is slow: one that the data choose for, one of long numbers, the exact one. */
static bool is_left_out(int name) { return test_is_brief() && name > 0 && name < NAMES - 2; }

/* Of complex sizes m x n x k; `which` decides layout, scalars and seed. */
static product paired(const char *data, int64_t m, int64_t n, int64_t k, int which)
{
    product of = product_varied(data, 2 * m, n, 2 * k, which);
    of.op_a = TANDEM_OP_T;
    of.op_b = TANDEM_OP_N;
    return of;
}

/* Makes lines 2i + 1 of op(A), (im, re), of lines 2i, (re, -im). */
static void pair_lines(test_matrix *a)
{
    for (int64_t i = 1; i < a->cols; i += 2)
        for (int64_t l = 0; l < a->rows; l += 2) {
            *matrix_at(a, l, i) = -*matrix_at(a, l + 1, i - 1);
            *matrix_at(a, l + 1, i) = *matrix_at(a, l, i - 1);
        }
}

static problem make_paired(const product *of)
{
    problem p = problem_make(of);
    pair_lines(&p.a);
    return p;
}

/* How a product is run. */
typedef struct {
    td_region_kind region;
    bool is_real;     /* not is_paired */
    uint64_t without; /* td_parameter.without_routes */
    size_t limit;     /* bytes of workspace; 0: all */
} way;

static td_real_product real_of(const problem *p, double *a, double *b, double *c)
{
    const td_product product = checked_lowered(p, a, b, c);
    return td_real_product_of(&product);
}

/* As td_engine_run does, but by a product of real lines. */
static td_run_status run_real(const td_real_product *p, uint64_t without, size_t limit)
{
    td_parameter parameter;
    const td_engine *engine = td_engine_parse(tested.name, &parameter);
    td_device *const device = td_device_current();
    parameter.without_routes = without;
    CHECK(td_device_load(device, engine->prepare, parameter.is_other_way), "no kernels");
    return engine->run(p, parameter, device, limit, NULL);
}

static td_run_status run(const problem *p, const way *how, size_t limit, double *a, double *b,
                         double *c)
{
    td_real_product real = real_of(p, a, b, c);
    real.is_paired = !how->is_real;
    real.region = how->region;
    return run_real(&real, how->without, limit);
}

/* C of it; in the least power of two bytes that are enough, if how->limit is less. */
static test_matrix compute(const problem *p, const way *how)
{
    const size_t most = td_device_current()->workspace_bytes;
    size_t limit = how->limit ? how->limit : most;
    test_matrix c = matrix_copy(&p->c);
    double *a = device_upload(&p->a), *b = device_upload(&p->b), *dc = device_upload(&c);
    td_run_status status = run(p, how, limit, a, b, dc);
    while (status == TD_RUN_NO_MEMORY && limit < most) status = run(p, how, limit *= 2, a, b, dc);
    CHECK(status == TD_RUN_DONE, "%s failed (%d) in %zu bytes: %s", tested.name, (int)status, limit,
          product_text(&p->of));
    device_check_clean(product_text(&p->of));
    device_download(&c, dc);
    CHECK(matrix_damage(&c) == -1, "%s wrote outside C: %s", tested.name, product_text(&p->of));
    device_free(a, b, dc);
    return c;
}

static void compare(const problem *p, const way *how, const test_matrix *want)
{
    test_matrix got = compute(p, how);
    checked_compare(&tested, p, &got, want);
    matrix_free(&got);
}

/* The errors that the mode promises, of some elements. */
static void judge(const problem *p, const test_matrix *c, const ref_account *account)
{
    test_matrix before = p->c;
    const ref_gemm gemm = problem_gemm(p, &before);
    const int64_t count = p->of.m * p->of.n, step = count / 97 + 1;
    for (int64_t at = 0; at < count; at += step) {
        const int64_t i = at % p->of.m, j = at / p->of.m;
        const verdict v = mode_judge(&tested, &gemm, account, false, i, j, *matrix_at(c, i, j));
        CHECK_AT_MOST(v.error, v.bound, "%s: C(%d, %d): %s", tested.name, (int)i, (int)j,
                      product_text(&p->of));
    }
}

/* In all workspace and in little, against the definition; and an exact mode's of plain lines. */
static void check_problem(const problem *p, bool is_finite)
{
    static const way whole = {0}, little = {.limit = 1 << 14}, real = {.is_real = true};
    test_matrix want = matrix_copy(&p->c);
    const ref_gemm gemm = problem_gemm(p, &want);
    ref_account account = mode_product(&tested, &gemm);
    compare(p, &whole, &want);
    compare(p, &little, &want);
    if (tested.is_exact) compare(p, &real, &want);
    if (is_finite) judge(p, &want, &account);
    ref_account_free(&account);
    matrix_free(&want);
}

static void check_product(const product *of)
{
    problem p = make_paired(of);
    check_problem(&p, isfinite(of->alpha) && isfinite(of->beta));
    problem_free(&p);
}

/* Tiles, groups of lines and words of residues that end anywhere; many passes over k. */
TEST(all_shapes)
{
    static const int rows[] = {1, 2, 31, 33, 66, 9}, columns[] = {1, 65, 3, 64, 17, 100},
                     depths[] = {1, 2, 31, 32, 33, 64, 65, 127, 200};
    for (int i = 0; i < 18; i++) {
        if (test_is_brief() && i % 6) continue;
        const product of =
            paired("both signs", rows[i % 6], columns[(i + i / 6) % 6], depths[i * 5 % 9], i);
        check_product(&of);
    }
    const product deep = paired("both signs", 3, 2, 5000, 1);
    if (!test_is_brief()) check_product(&deep);
}

/* Residues are joined in every way that there is. */
TEST(all_ways_to_join)
{
    for (int i = 0; i < distribution_count; i++) {
        if (distributions[i].is_hostile || (i > 5 && i % 4) || (test_is_brief() && i)) continue;
        if (!test_takes(i + tested_number, 2)) continue;
        product of = paired(distributions[i].name, 67, 70, 40, i);
        if (i % 2) of.alpha = 1.0, of.beta = 0.0;
        problem p = make_paired(&of);
        test_matrix want = matrix_copy(&p.c);
        const ref_gemm gemm = problem_gemm(&p, &want);
        ref_account account = mode_product(&tested, &gemm);
        for (int row = 0; row < TD_ROUTE_ROWS; row++)
            if (td_route_rows[row].stage == TD_STAGE_CRT)
                compare(&p, &(way){.without = without_others(row)}, &want);
        ref_account_free(&account);
        matrix_free(&want);
        problem_free(&p);
    }
}

/* Exponents that spread along lines and along k, zeros, integers, subnormal numbers. */
TEST(all_distributions)
{
    for (int d = 0; d < distribution_count; d++) {
        if ((test_is_brief() && d % 6) || distributions[d].is_hostile) continue;
        if (!test_takes(d + tested_number, 3)) continue;
        const product of =
            paired(distributions[d].name, d % 3 ? 25 : 67, d % 2 ? 40 : 70, d % 5 ? 30 : 140, d);
        check_product(&of);
    }
}

/* The parts of op(B)'s numbers, along k, are of other magnitudes than each other: shifts along k
 * that are not the same for both would tear them apart. */
TEST(parts_keep_together)
{
    for (int i = 0; i < 3; i++) { /* lines that are measured whole, and longer ones */
        product of =
            i < 2 ? paired("both signs", 20, 30, 50, 2 * i) : paired("both signs", 2, 3, 2100, 0);
        if (test_is_brief() && i == 1) continue;
        of.alpha = 1.0;
        problem p = make_paired(&of);
        for (int64_t j = 0; j < p.b.cols; j++)
            for (int64_t l = 0; l < p.b.rows; l++) {
                const int up = (l % 2 ? 41 : 0) + (int)(l / 2 * 3 % 60);
                *matrix_at(&p.b, l, j) = ldexp(*matrix_at(&p.b, l, j), up);
            }
        for (int64_t j = 0; j < p.a.cols; j++)
            for (int64_t l = 0; l < p.a.rows; l++)
                *matrix_at(&p.a, l, j) = ldexp(*matrix_at(&p.a, l, j), -(int)(l / 2 * 3 % 60));
        check_problem(&p, true);
        problem_free(&p);
    }
}

/* op(B)'s columns are the conjugates of op(A)'s rows: sums as large as norms allow. */
TEST(sums_reach_their_bound)
{
    for (int i = 0; i < 2; i++) {
        product of = paired("both signs", 40, 40, i ? 7 : 90, i);
        of.alpha = 1.0;
        of.beta = 0.0;
        problem p = make_paired(&of);
        for (int64_t j = 0; j < p.b.cols; j++)
            for (int64_t l = 0; l < p.b.rows; l++)
                *matrix_at(&p.b, l, j) = (j % 2 ? -1.0 : 1.0) * *matrix_at(&p.a, l, 2 * j);
        check_problem(&p, true);
        problem_free(&p);
    }
}

/* Products of integers are exact. */
TEST(integers_are_exact)
{
    if (!tested.is_exact && tested.ozaki.parameter > 0 && tested.ozaki.parameter < 15) return;
    product of = paired("both signs", 35, 33, 70, 0);
    of.alpha = 1.0;
    of.beta = -3.0;
    problem p = make_paired(&of);
    test_random r = random_start(5);
    test_matrix *const matrices[] = {&p.a, &p.b, &p.c};
    for (int x = 0; x < 3; x++)
        for (int64_t j = 0; j < matrices[x]->cols; j++)
            for (int64_t i = 0; i < matrices[x]->rows; i++)
                *matrix_at(matrices[x], i, j) = (double)random_int(&r, -1048576, 1048576);
    pair_lines(&p.a);
    test_matrix want = matrix_copy(&p.c);
    const ref_gemm gemm = problem_gemm(&p, &want);
    ref_faithful_product(&gemm);
    compare(&p, &(way){0}, &want);
    matrix_free(&want);
    problem_free(&p);
}

TEST(all_scalars)
{
    static const double alphas[] = {0.0, 1.0, -1.7, NAN}, betas[] = {0.0, 1.0, -0.3, INFINITY};
    for (int i = 0; i < 16; i++) {
        if (test_is_brief() && i % 6) continue;
        product of = paired("uniform", 33, 21, 13, i);
        of.alpha = alphas[i % 4];
        of.beta = betas[i / 4];
        check_product(&of);
    }
}

/* NaN and infinities in either part of some numbers. */
TEST(special_numbers)
{
    static const double values[] = {NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 6; i++) {
        const product of = paired("both signs", 40, 37, 20, i);
        if ((test_is_brief() && i) || of.alpha == 0.0) continue;
        problem p = make_paired(&of);
        *matrix_at(&p.a, 3 + i, 2 * (7 * i % 40)) = values[i % 3];
        *matrix_at(&p.b, 5 + i, 6 * i % 37) = values[(i + 1) % 3];
        pair_lines(&p.a);
        check_problem(&p, false);
        problem_free(&p);
    }
}

/* Where the data choose, they are those of the triangle: other elements may have other bits. */
static bool may_choose(void) { return !tested.is_exact && tested.ozaki.parameter == 0; }

/* True if the complex element that C(i, j) is a part of is in the region. */
static bool is_inside(td_region_kind region, int64_t i, int64_t j)
{
    const td_region of = {region, 0, 1};
    return td_region_has(&of, i, j);
}

static void check_region(const problem *p, const way *how)
{
    test_matrix want = matrix_copy(&p->c), before = p->c, c = compute(p, how);
    const ref_gemm gemm = problem_gemm(p, &want), start = problem_gemm(p, &before);
    ref_account account = mode_product(&tested, &gemm);
    for (int64_t j = 0; j < p->of.n; j++)
        for (int64_t i = 0; i < p->of.m; i++) {
            const bool is_in = is_inside(how->region, i, j);
            const double x = *matrix_at(&c, i, j), y = *matrix_at(is_in ? &want : &p->c, i, j);
            if (bits_of(x) == bits_of(y)) continue;
            CHECK(is_in && may_choose(), "%s: C(%d, %d) is %a, not %a: %s", tested.name, (int)i,
                  (int)j, x, y, product_text(&p->of));
            CHECK_AT_MOST(ref_measure(&start, i, j, x).error,
                          (4.0 * sqrt((double)p->of.k) + 3.0) * 0x1p-53, "%s: C(%d, %d): %s",
                          tested.name, (int)i, (int)j, product_text(&p->of));
        }
    ref_account_free(&account);
    matrix_free(&want, &c);
}

/* Triangles of complex elements, in parts too. */
TEST(triangles)
{
    static const int sizes[] = {1, 17, 33, 70, 130};
    for (int i = 0; i < 10; i++) {
        if (test_is_brief() && i % 6 != 2) continue;
        product of = paired(i % 3 ? "both signs" : "uniform", sizes[i / 2], sizes[i / 2],
                            i % 4 ? 20 : 45, i);
        of.alpha = 1.5;
        of.beta = i % 3 ? 0.5 : 1.0;
        problem p = make_paired(&of);
        way how = {.region = i % 2 ? TD_REGION_UPPER : TD_REGION_LOWER};
        check_region(&p, &how);
        how.limit = 1 << 14;
        check_region(&p, &how);
        problem_free(&p);
    }
}

enum { MEMBERS = 3 };

/* Columns of one operand of all members, one after the other. */
static test_matrix gather(const test_matrix *const of[MEMBERS])
{
    test_matrix all = matrix_make(of[0]->rows, MEMBERS * of[0]->cols, of[0]->ld, 0);
    for (int z = 0; z < MEMBERS; z++)
        for (int64_t j = 0; j < of[0]->cols; j++)
            for (int64_t i = 0; i < of[0]->rows; i++)
                *matrix_at(&all, i, z * of[0]->cols + j) = *matrix_at(of[z], i, j);
    return all;
}

/* A member's columns of C are the bits of the member alone. */
static void check_member(const test_matrix *all, int z, const problem *p)
{
    test_matrix alone = compute(p, &(way){0});
    for (int64_t j = 0; j < alone.cols; j++)
        for (int64_t i = 0; i < alone.rows; i++)
            CHECK(bits_of(*matrix_at(all, i, z * alone.cols + j)) ==
                      bits_of(*matrix_at(&alone, i, j)),
                  "%s: member %d differs at (%d, %d)", tested.name, z, (int)i, (int)j);
    matrix_free(&alone);
}

/* Members of a batch, a stride apart: the bits of each alone. */
TEST(batches)
{
    product of = paired("both signs", 34, 20, 33, 0);
    of.guard = 0;
    problem member[MEMBERS];
    for (int z = 0; z < MEMBERS; z++) {
        of.seed = (uint64_t)z;
        of.data = z == 1 ? "uniform" : "both signs";
        member[z] = make_paired(&of);
    }
    test_matrix all[] = {gather((const test_matrix *[]){&member[0].a, &member[1].a, &member[2].a}),
                         gather((const test_matrix *[]){&member[0].b, &member[1].b, &member[2].b}),
                         gather((const test_matrix *[]){&member[0].c, &member[1].c, &member[2].c})};
    double *const on_device[] = {device_upload(&all[0]), device_upload(&all[1]),
                                 device_upload(&all[2])};
    td_real_product call = real_of(&member[0], on_device[0], on_device[1], on_device[2]);
    call.is_paired = true;
    call.batch = MEMBERS;
    call.a.stride = call.a.ld * member[0].a.cols;
    call.b.stride = call.b.ld * member[0].b.cols;
    call.c.stride = call.c.ld * member[0].c.cols;
    const td_run_status status = run_real(&call, 0, td_device_current()->workspace_bytes);
    CHECK(status == TD_RUN_DONE, "%s failed (%d) for a batch", tested.name, (int)status);
    device_download(&all[2], on_device[2]);
    for (int z = 0; z < MEMBERS; z++) {
        check_member(&all[2], z, &member[z]);
        problem_free(&member[z]);
    }
    for (int x = 0; x < 3; x++) {
        matrix_free(&all[x]);
        device_free(on_device[x]);
    }
}

int main(void)
{
    int failed = 0;
    device_require();
    if (!td_device_current()) return EXIT_FAILURE;
    for (int i = 0; i < NAMES; i++) {
        if (is_left_out(i)) continue;
        tested = mode_of_family(names[i]);
        tested_number = i;
        tested.ozaki.is_complex = true;
        failed += test_run(.name = tested.name);
    }
    return failed;
}
