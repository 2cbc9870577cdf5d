/* check_trsm.c - triangular solves of all sides, triangles, operations and diagonals under every
 * mode: the residual against long double sums and beside cuBLAS's, bits that no layout, workspace
 * or place of alpha changes, and nothing of A or B read or written that is no element. */
#include "tests/support/test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <cublas_v2.h>

#include "lib/cuda/device.h"
#include "lib/engines/solve/solve.h"
#include "lib/routine/solve_steps.h"
#include "tests/support/bits.h"
#include "tests/support/random.h"
#include "tests/kernels/support/device.h"
#include "tests/kernels/support/modes.h"
#include "tests/kernels/support/system.h"

static const mode *tested;
static td_type type;
static int64_t block_rows; /* of solves that say nothing of it */

/* Not so small that small systems have products. */
static bool has_large_blocks(void) { return block_rows > TD_SOLVE_LEAST_ROWS; }

/* ---- runs ---- */

/* How a solve runs: where alpha is, the most workspace, a mode by name, and rows of a block, 0
 * being block_rows. */
typedef struct {
    bool has_alpha_on_device;
    size_t limit;
    const char *mode;
    int64_t block_rows;
} way;

static td_run_status enqueue(const td_problem *p, const way *by)
{
    td_solve_products products = {.cut = {by->block_rows, TD_SOLVE_LEAST_TERMS}};
    if (by->block_rows == 0) products.cut.block_rows = block_rows;
    products.engine = td_engine_parse(by->mode, &products.parameter);
    return td_solve_run(p, &products, td_device_current(), by->limit, NULL);
}

static test_matrix solve_by(const system_matrices *s, const way *by)
{
    test_matrix x = matrix_copy(&s->b);
    double *const a = device_upload(&s->a), *const b = device_upload(&x);
    void *alpha = NULL;
    td_problem p = system_call(s, a, b);
    CHECK(td_problem_is_valid(&p), "no problem: %s", system_text(&s->of));
    if (by->has_alpha_on_device) {
        alpha = device_copy(&p.alpha.value, sizeof p.alpha.value);
        p.alpha = (td_scalar){.device = alpha};
    }
    const td_run_status status = enqueue(&p, by);
    CHECK(status == TD_RUN_DONE, "%s failed (%d): %s", by->mode, (int)status, system_text(&s->of));
    device_check_clean(system_text(&s->of));
    device_download(&x, b);
    device_free(a, b, alpha);
    CHECK(matrix_damage(&x) == -1, "%s wrote outside B: %s", tested->name, system_text(&s->of));
    return x;
}

static test_matrix solve(const system_matrices *s)
{
    return solve_by(s, &(way){false, SIZE_MAX, tested->name, 0});
}

static void check_same(const test_matrix *x, const test_matrix *y, const char *what,
                       const triangular *of)
{
    const int64_t at = matrix_difference(x, y);
    CHECK(at == -1, "%s: %s changes element %d of B: %s", tested->name, what, (int)at,
          system_text(of));
}

/* ---- errors ---- */

/* What a product of k terms may be off, relative to |A||X| + |B|. */
static double error_of_product(int64_t k)
{
    const double u = 0x1p-53;
    if (tested->format) return tested->proven(k) + 3.0 * u;
    return (4.0 * sqrt((double)k) + 3.0) * u;
}

/* What a system with a block of so many rows is off: a term has the roundings of its sum, of those
 * that are taken away after it, of the chain of a tile, of alpha B, and two of the quotient. */
static double error_of_block(int64_t rows)
{
    const int64_t sums = rows / TD_SOLVE_BAND + TD_SOLVE_BAND / TD_SOLVE_TILE;
    return (double)(TD_SOLVE_BAND + sums + TD_SOLVE_TILE + 3) * 0x1p-53;
}

/* With an error of a product for each size of products; complex numbers have twice the terms, and
 * two parts. */
static double bound_of(const triangular *of, int64_t block_rows)
{
    double bound = error_of_block(block_rows);
    for (int64_t k = block_rows; k < of->order; k *= 2)
        bound += k < TD_SOLVE_LEAST_TERMS ? (4.0 * sqrt((double)k) + 3.0) * 0x1p-53
                                          : error_of_product(2 * k);
    return of->type == TD_COMPLEX_BINARY64 ? 4.0 * bound : bound;
}

/* Sanitizers see one of seven cases. */
static bool is_left_out(int i) { return test_is_brief() && i % 7 != 2; }

/* An order of two blocks or three. */
static int few_blocks(void) { return test_is_brief() ? 140 : 270; }

/* Systems with one block alone have no products: no other mode takes its turn with them. */
static bool has_turn(int i)
{
    return block_rows != TD_SOLVE_LEAST_ROWS || mode_has_turn(tested, i, 3);
}

/* ---- tests ---- */

TEST(all_shapes)
{
    static const int orders[] = {1, 2, 7, 8, 9, 63, 64, 65, 127, 128, 129, 190, 257, 300},
                     vectors[] = {1, 5, 32, 33, 70};
    enum { ORDERS = sizeof orders / sizeof *orders, VECTORS = sizeof vectors / sizeof *vectors };
    for (int which = 0; which < (tested->is_variant ? 12 : 24); which++) {
        if (is_left_out(which) || !has_turn(which)) continue;
        const triangular of = system_varied("plain", type, orders[which * 5 % ORDERS],
                                            vectors[which % VECTORS], which);
        system_matrices s = system_make(&of);
        test_matrix x = solve(&s);
        if (!tested->is_variant) /* a given number of moduli or slices bounds no error */
            CHECK_AT_MOST(system_error(&s, &x), bound_of(&of, block_rows), "%s: %s", tested->name,
                          system_text(&of));
        matrix_free(&x);
        system_free(&s);
    }
}

/* Blocks of every size that there are, and more vectors than a panel has. */
TEST(blocks_of_all_sizes)
{
    if (!has_large_blocks()) return;
    for (int which = 0; which < 4; which++) {
        const int64_t most = td_solve_most_rows(type), rows = most >> which % 4;
        if (rows < TD_SOLVE_LEAST_ROWS) continue;
        const triangular of = system_varied("plain", type, most + 61 * which, 9, 5 * which);
        system_matrices s = system_make(&of);
        test_matrix x = solve_by(&s, &(way){false, SIZE_MAX, "fp64", rows});
        CHECK_AT_MOST(system_error(&s, &x), bound_of(&of, rows), "blocks of %d rows: %s", (int)rows,
                      system_text(&of));
        matrix_free(&x);
        system_free(&s);
    }
}

/* ---- one block ---- */

static test_matrix solve_block(const system_matrices *s, int panel)
{
    test_matrix x = matrix_copy(&s->b);
    double *const a = device_upload(&s->a), *const b = device_upload(&x);
    const td_problem p = system_call(s, a, b);
    td_solve_block block = td_solve_block_of(&p, td_solve_most_rows(type), 0);
    block.panel = panel;
    CHECK_CUDA(td_solve_prepare());
    CHECK_CUDA(td_solve_block_run(&block, NULL));
    device_check_clean(system_text(&s->of));
    device_download(&x, b);
    device_free(a, b);
    CHECK(matrix_damage(&x) == -1, "panels of %d wrote outside B: %s", panel, system_text(&s->of));
    return x;
}

/* The sums of one block, to the bit, whatever panels it is solved in. */
TEST(bits_of_a_block)
{
    if (!has_large_blocks()) return;
    for (int which = 0; which < 24; which++) {
        if (is_left_out(which)) continue;
        const triangular of =
            system_varied(system_data[which % SYSTEM_DATA], type,
                          1 + which * 89 % td_solve_most_rows(type), 3 + which * 7 % 40, which);
        system_matrices s = system_make(&of);
        test_matrix by_8 = solve_block(&s, 8), by_16 = solve_block(&s, 16),
                    by_32 = solve_block(&s, 32);
        check_same(&by_8, &by_16, "a panel of 16", &of);
        check_same(&by_8, &by_32, "a panel of 32", &of);
        if (type == TD_BINARY64) {
            test_matrix want = system_substitute(&s);
            check_same(&by_8, &want, "the kernel", &of);
            matrix_free(&want);
        }
        matrix_free(&by_8, &by_16, &by_32);
        system_free(&s);
    }
}

/* Paddings, alignment and the place of alpha change no bit. */
TEST(same_bits_everywhere)
{
    static const int of_both_sides[] = {0, 3, 5, 6, 9, 10}; /* all operations */
    if (has_large_blocks()) return;
    for (size_t i = 0; i < sizeof of_both_sides / sizeof *of_both_sides; i++) {
        const int which = of_both_sides[i];
        if (is_left_out(which + 2) || tested->is_variant || !has_turn((int)i)) continue;
        triangular of = system_varied("plain", type, few_blocks(), 40, which);
        system_matrices s = system_make(&of);
        of.pad_a += 3;
        of.pad_b += 1;
        of.guard += 1;
        system_matrices moved = system_make(&of);
        test_matrix x = solve(&s), other = solve(&moved),
                    by_device = solve_by(&s, &(way){true, SIZE_MAX, tested->name, 0});
        check_same(&x, &other, "a layout", &of);
        check_same(&x, &by_device, "alpha in device memory", &of);
        matrix_free(&x, &other, &by_device);
        system_free(&s);
        system_free(&moved);
    }
}

/* Without workspace the products are those of mode fp64: part of B is solved by then. */
TEST(no_memory_for_products)
{
    if (has_large_blocks()) return;
    if (tested->is_variant || type != TD_BINARY64) return;
    for (int which = 0; which < 4; which++) {
        const triangular of = system_varied("plain", type, few_blocks(), 40, which);
        system_matrices s = system_make(&of);
        test_matrix x = solve_by(&s, &(way){false, 1, tested->name, 0}),
                    want = solve_by(&s, &(way){false, 1, "fp64", 0});
        check_same(&x, &want, "want of memory", &of);
        matrix_free(&x, &want);
        system_free(&s);
    }
}

/* What the graph of a solve writes in its second run, the first having solved for B too. */
static test_matrix solve_in_a_graph(const system_matrices *s)
{
    test_matrix x = matrix_copy(&s->b);
    double *const a = device_upload(&s->a), *const b = device_upload(&x);
    td_problem p = system_call(s, a, b);
    cudaStream_t stream;
    CHECK_CUDA(cudaStreamCreate(&stream));
    p.stream = stream;
    CHECK_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    const td_run_status status = enqueue(&p, &(way){false, SIZE_MAX, tested->name, 0});
    cudaGraphExec_t runnable = device_end_capture(stream);
    CHECK(status == TD_RUN_DONE, "%s failed (%d) in a graph: %s", tested->name, (int)status,
          system_text(&s->of));
    for (int run = 0; run < 2; run++) {
        CHECK_CUDA(cudaMemcpy(b, x.storage, x.count * sizeof(double), cudaMemcpyHostToDevice));
        CHECK_CUDA(cudaGraphLaunch(runnable, stream));
        CHECK_CUDA(cudaStreamSynchronize(stream));
    }
    CHECK_CUDA(cudaGraphExecDestroy(runnable));
    CHECK_CUDA(cudaStreamDestroy(stream));
    device_download(&x, b);
    device_free(a, b);
    return x;
}

TEST(graphs_of_solves)
{
    if (has_large_blocks()) return;
    if (tested->is_variant) return;
    for (int which = 0; which < 4; which++) {
        if (!has_turn(which) || (test_is_brief() && which % 3)) continue;
        triangular of = system_varied("plain", type, few_blocks(), 40, which);
        if (which == 3) of.alpha[0] = of.alpha[1] = 0.0;
        system_matrices s = system_make(&of);
        test_matrix x = solve(&s), captured = solve_in_a_graph(&s);
        check_same(&x, &captured, "a graph", &of);
        matrix_free(&x, &captured);
        system_free(&s);
    }
}

static void poison_triangle(system_matrices *s)
{
    for (int64_t i = 0; i < s->of.order; i++)
        for (int64_t j = 0; j <= i; j++) system_set_element(s, i, j, NAN);
}

/* B becomes +0, whatever A and B are. */
TEST(an_alpha_of_zero)
{
    if (has_large_blocks()) return;
    for (int which = 0; which < 8; which++) {
        triangular of = system_varied("plain", type, 130, 35, 3 * which);
        of.diagonal = TD_NON_UNIT_DIAGONAL;
        of.alpha[0] = of.alpha[1] = 0.0;
        system_matrices s = system_make(&of);
        poison_triangle(&s);
        system_set_vector(&of, &s.b, 5, 7, INFINITY);
        test_matrix x = solve_by(&s, &(way){which % 2, SIZE_MAX, tested->name, 0});
        for (int64_t j = 0; j < x.cols; j++)
            for (int64_t i = 0; i < x.rows; i++)
                CHECK(bits_of(*matrix_at(&x, i, j)) == 0, "%s: B(%d, %d) is %a: %s", tested->name,
                      (int)i, (int)j, *matrix_at(&x, i, j), system_text(&of));
        matrix_free(&x);
        system_free(&s);
    }
}

/* x has the same NaN and infinities as a substitution without products has; of complex numbers, as
 * many elements that are not finite. */
static void check_specials(const system_matrices *s, const test_matrix *x, const test_matrix *want)
{
    int specials = 0;
    for (int64_t i = 0; i < s->of.order; i++)
        for (int64_t v = 0; v < s->of.vectors; v++) {
            const ref_number a = system_vector(&s->of, x, i, v),
                             b = system_vector(&s->of, want, i, v);
            const double re = (double)creall(a), of_re = (double)creall(b);
            const bool is_finite = isfinite(re) && isfinite((double)cimagl(a)),
                       has_finite = isfinite(of_re) && isfinite((double)cimagl(b));
            const bool is_alike =
                s->of.type == TD_COMPLEX_BINARY64 || has_finite || same_bits(re, of_re);
            CHECK(is_finite == has_finite && is_alike,
                  "%s: element %d of vector %d is %g, substitution has %g: %s", tested->name,
                  (int)i, (int)v, re, of_re, system_text(&s->of));
            specials += !is_finite;
        }
    CHECK(specials > 0, "nothing is special: %s", system_text(&s->of));
}

TEST(special_numbers)
{
    static const double values[] = {0.0, NAN, INFINITY, -INFINITY, -0.0};
    for (int which = 0; which < (has_large_blocks() ? 24 : 12); which++) {
        if (is_left_out(which) || tested->is_variant || !has_turn(which / 2)) continue;
        const double value = values[which % 5];
        triangular of = system_varied("plain", type, 200, 20, which);
        if (value == 0.0) of.diagonal = TD_NON_UNIT_DIAGONAL;
        system_matrices s = system_make(&of);
        const int64_t at = 30 + which * 37 % 160;
        if (value == 0.0)
            system_set_element(&s, at, at, value);
        else if (which % 2)
            system_set_element(&s, at, at / 2, value);
        else
            system_set_vector(&of, &s.b, at, 3, value);
        if (value == 0.0) /* a solution that stays 0 up to the diagonal's 0 */
            for (int64_t i = 0; i < of.order; i++) system_set_vector(&of, &s.b, i, 4, 0.0);
        test_matrix x = solve(&s), want = system_substitute(&s);
        check_specials(&s, &x, &want);
        matrix_free(&x, &want);
        system_free(&s);
    }
}

/* ---- beside native ---- */

static cublasHandle_t handle;

static test_matrix solve_natively(const system_matrices *s)
{
    test_matrix x = matrix_copy(&s->b);
    double *const a = device_upload(&s->a), *const b = device_upload(&x);
    const td_problem p = system_call(s, a, b);
    const cublasSideMode_t side = (cublasSideMode_t)p.side;
    const cublasFillMode_t fill = (cublasFillMode_t)p.triangle;
    const cublasOperation_t op = (cublasOperation_t)p.op_a;
    const cublasDiagType_t diagonal = (cublasDiagType_t)p.diagonal;
    const int m = (int)p.m, n = (int)p.n, lda = (int)p.a.ld, ldb = (int)p.b.ld;
    const cublasStatus_t status =
        type == TD_BINARY64
            ? cublasDtrsm_v2(handle, side, fill, op, diagonal, m, n, &p.alpha.value.binary64,
                             p.a.data, lda, p.b.data, ldb)
            : cublasZtrsm_v2(handle, side, fill, op, diagonal, m, n,
                             (const cuDoubleComplex *)&p.alpha.value, p.a.data, lda, p.b.data, ldb);
    CHECK(status == CUBLAS_STATUS_SUCCESS, "cuBLAS failed: %s", system_text(&s->of));
    device_download(&x, b);
    device_free(a, b);
    return x;
}

enum { HARD = 2 * SYSTEM_DATA };

static triangular hard_triangle(int which)
{
    triangular of = system_varied(system_data[which % SYSTEM_DATA], type, 280, 25, 5 * which);
    if (strcmp(of.data, "plain") != 0 && strcmp(of.data, "Kahan") != 0)
        of.diagonal = TD_NON_UNIT_DIAGONAL; /* with ones the solution would overflow */
    return of;
}

/* Known once for all modes. */
static double native_error(int which)
{
    static double known[TD_TYPE_COUNT][HARD];
    double *error = &known[type][which];
    if (*error == 0.0) {
        const triangular of = hard_triangle(which);
        system_matrices s = system_make(&of);
        test_matrix x = solve_natively(&s);
        *error = system_error(&s, &x);
        matrix_free(&x);
        system_free(&s);
    }
    return *error;
}

/* Graded, ill-conditioned and nearly singular triangles. Both ways add the same products up in
 * orders of their own. So the mean of the backward errors may be an eighth of a rounding, 2^-56,
 * above cuBLAS's mean, and the largest, which one sum of many decides, one rounding above cuBLAS's
 * largest of all triangles, whether they are this mode's turn or not. OpenBLAS, which the host
 * device has, takes the order that suits the processor: its own largest errors differ by three
 * fifths among them, so that the mean may be a quarter above. A brief test has too few triangles to
 * be held against cuBLAS's. */
TEST(hard_triangles)
{
    double worst = 0.0, of_native = 0.0, sum = 0.0, allowed = 0.0;
    if (tested->is_variant) return;
    for (int which = 0; which < HARD; which++) {
        if (is_left_out(which)) continue;
        of_native = fmax(of_native, native_error(which));
        if (!has_turn(which)) continue;
        const triangular of = hard_triangle(which);
        system_matrices s = system_make(&of);
        test_matrix x = solve(&s);
        const double error = system_error(&s, &x);
        CHECK_AT_MOST(error, bound_of(&of, block_rows), "%s: %s", tested->name, system_text(&of));
        worst = fmax(worst, error);
        sum += error;
        allowed += native_error(which) * (device_is_host() ? 1.25 : 1.0) + 0x1p-56;
        matrix_free(&x);
        system_free(&s);
    }
    test_note("%s, %s: backward error %s, native %s", tested->name, td_types[type].name,
              test_power(worst), test_power(of_native));
    if (test_is_brief() || (tested->format && !tested->rounds_sum)) return;
    CHECK_AT_MOST(sum, allowed, "%s is worse than native in the mean", tested->name);
    CHECK_AT_MOST(worst, of_native + 0x1p-53, "%s is worse than native", tested->name);
}

/* Complex products are real ones by the time that a mode sees them, and sanitizers see the same of
 * a family's modes. */
static bool is_tested(const char *name)
{
    if (name) return strcmp(name, tested->name) == 0;
    return (type == TD_BINARY64 && !test_is_brief()) || mode_stands_for_others(tested) ||
           tested->is_binary64 || strcmp(tested->name, "faithful") == 0;
}

/* usage: check_trsm [MODE] */
int main(int argc, char **argv)
{
    static const td_type types[] = {TD_BINARY64, TD_COMPLEX_BINARY64};
    int failed = 0;
    device_require();
    if (cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS) return 1;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        char name[64];
        type = types[i];
        block_rows = TD_SOLVE_LEAST_ROWS; /* so that small systems have products */
        for (tested = mode_after(NULL); tested; tested = mode_after(tested)) {
            if (!is_tested(argc > 1 ? argv[1] : NULL)) continue;
            snprintf(name, sizeof name, "%s, %s", tested->name, td_types[type].name);
            failed += test_run(.name = name);
        }
        block_rows = td_solve_most_rows(type);
        tested = mode_after(NULL);
        while (strcmp(tested->name, "fp64") != 0) tested = mode_after(tested);
        snprintf(name, sizeof name, "large blocks, %s", td_types[type].name);
        failed += test_run(.name = name);
    }
    cublasDestroy(handle);
    return failed;
}
