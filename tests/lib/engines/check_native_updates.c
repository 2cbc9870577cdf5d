/* check_native_updates.c - updates of a triangle by cuBLAS's own products: every element is within
 * the bound of a sum in any order, in all workspace, in little, and captured into a graph; nothing
 * else of C is read or written.
 *
 * usage: check_native_updates [CASES [SEED]] */
#include "tests/support/test.h"

#include <math.h>
#include <stdlib.h>

#include "lib/routine/lower.h"
#include "lib/cuda/device.h"
#include "lib/engines/engine.h"
#include "lib/routine/real.h"
#include "tests/support/bits.h"
#include "tests/support/complex_of.h"
#include "tests/kernels/support/device.h"
#include "tests/kernels/support/routine.h"

static int cases = 120;
static uint64_t first_seed;

/* ---- cases ---- */

/* An update that seed decides. The largest orders have columns of more than the least number. */
static routine_case update_of(uint64_t seed)
{
    static const int orders[] = {1, 2, 31, 64, 65, 127, 128, 129, 200, 257, 384},
                     depths[] = {1, 2, 17, 64, 130, 0};
    enum { ORDERS = sizeof orders / sizeof *orders, DEPTHS = sizeof depths / sizeof *depths };
    test_random r = random_start(seed);
    const bool is_complex = random_int(&r, 0, 2) == 0,
               is_hermitian = is_complex && random_int(&r, 0, 1);
    const td_op turned = is_hermitian ? TD_OP_C : TD_OP_T;
    const bool is_large = !is_complex && !test_is_brief() && seed % 29 == 0;
    static const td_kind kinds[] = {TD_RANK_K, TD_RANK_K, TD_RANK_KX, TD_RANK_2K};
    td_problem p = {.kind = kinds[random_int(&r, 0, 3)],
                    .type = is_complex ? TD_COMPLEX_BINARY64 : TD_BINARY64,
                    .op_a = random_int(&r, 0, 1) ? turned : TD_OP_N,
                    .triangle = (td_triangle)random_int(&r, 0, 1),
                    .is_hermitian = is_hermitian,
                    .n = is_large ? 1100 : orders[random_int(&r, 0, ORDERS - 1)],
                    .k = is_large ? 3 : depths[random_int(&r, 0, DEPTHS - 1)],
                    .batch = 1};
    if (p.k == 0) p.op_a = TD_OP_N; /* a matrix of no rows has a leading dimension of 0 here */
    routine_case c = routine_make_of(&p, seed);
    for (int64_t j = 0; j < c.c.columns; j++) /* what must not be read */
        for (int64_t i = 0; i < c.c.rows; i++)
            if (c.beta == 0.0 || !routine_is_inside(p.triangle, i, j))
                *element(&c.c, i, j) = complex_of(NAN, is_complex ? NAN : 0.0);
    return c;
}

/* ---- running ---- */

static td_run_status run(const td_product *product, size_t limit)
{
    return td_engine_run(&td_engine_dgemm, product, (td_parameter){0}, td_device_current(), limit,
                         NULL);
}

/* In the least power of two of workspace that is enough. */
static td_run_status run_in_little(const td_product *product)
{
    enum { LEAST = 1 << 14 };
    const size_t most = td_device_current()->workspace_bytes;
    size_t limit = LEAST;
    td_run_status status = run(product, limit);
    while (status == TD_RUN_NO_MEMORY && limit < most) status = run(product, limit *= 2);
    return status;
}

static td_run_status run_in_all(const td_product *product)
{
    return run(product, td_device_current()->workspace_bytes);
}

/* Captured into a graph, which then runs. */
static td_run_status run_in_graph(const td_product *product)
{
    td_product captured = *product;
    cudaStream_t stream;
    CHECK_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    captured.stream = stream;
    const td_run_status status = run_in_all(&captured);
    cudaGraphExec_t executable = device_end_capture(stream);
    CHECK_CUDA(cudaGraphLaunch(executable, stream));
    CHECK_CUDA(cudaStreamSynchronize(stream));
    CHECK_CUDA(cudaGraphExecDestroy(executable));
    CHECK_CUDA(cudaStreamDestroy(stream));
    return status;
}

/* All of C, as a tile beside the diagonal is. */
static td_run_status run_whole(const td_product *product)
{
    td_product whole = *product;
    whole.region = TD_REGION_ALL;
    return run_in_all(&whole);
}

typedef td_run_status (*runner)(const td_product *product);

static matrix compute(const routine_case *c, runner run_it, td_run_status expected)
{
    void *memory[ROUTINE_MEMORIES];
    td_product product;
    const td_problem p = routine_own_call(c, memory);
    CHECK(td_problem_is_valid(&p) && td_lower(&p, &product), "no product: %s", routine_text(c));
    const td_run_status status = run_it(&product);
    CHECK(status == expected, "status %d for %d: %s", (int)status, (int)expected, routine_text(c));
    device_check_clean(routine_text(c));
    const matrix result = routine_download(c, &c->c, memory[2]);
    for (int i = 0; i < ROUTINE_MEMORIES; i++) CHECK_CUDA(cudaFree(memory[i]));
    return result;
}

/* ---- what C must be ---- */

typedef struct {
    long double re, im;
} wide;

static wide wide_of(number x) { return (wide){creal(x), cimag(x)}; }

/* x y + z, part by part: of real numbers, whose imaginary parts are 0, the real part alone, so that
 * infinities become no NaN. */
static wide multiply_add(const routine_case *c, wide x, wide y, wide z)
{
    if (!c->is_complex) return (wide){x.re * y.re + z.re, 0.0L};
    return (wide){x.re * y.re - x.im * y.im + z.re, x.re * y.im + x.im * y.re + z.im};
}

static long double size_of(wide x) { return fabsl(x.re) + fabsl(x.im); }

static bool adds_mirror(const routine_case *c)
{
    return c->p.kind == TD_RANK_2K && c->p.is_hermitian;
}

/* Of op(A) op(B) at (i, j), with factors as they are written out. Its terms' sizes count in
 * *magnitude. */
static wide sum_at(const routine_case *c, int64_t i, int64_t j, long double *magnitude)
{
    wide sum = {0.0L, 0.0L};
    for (int64_t l = 0; l < c->left.columns; l++) {
        const wide a = wide_of(*element(&c->left, i, l)), b = wide_of(*element(&c->right, l, j));
        sum = multiply_add(c, a, b, sum);
        *magnitude += size_of(wide_of(c->alpha)) * size_of(a) * size_of(b);
    }
    return sum;
}

static bool is_within(double x, long double want, long double bound)
{
    if (isfinite(want)) return fabsl((long double)x - want) <= bound;
    return isnan(want) ? isnan(x) : (long double)x == want;
}

/* Sums in any order, and the roundings of alpha z and beta C; alpha's and beta's imaginary parts
 * have products of their own. */
static void check_element(const routine_case *c, int64_t i, int64_t j, number x)
{
    const int64_t k = c->left.columns;
    const wide alpha = wide_of(c->alpha), beta = wide_of(c->beta),
               before = wide_of(routine_before(c, i, j));
    wide want = {0.0L, 0.0L};
    long double magnitude = 0.0L, terms = (long double)(c->is_complex ? 2 * k + 7 : k + 3);
    if (c->beta != 0.0) {
        want = multiply_add(c, beta, before, want);
        magnitude += size_of(beta) * size_of(before);
    }
    if (c->alpha != 0.0 && k > 0) want = multiply_add(c, alpha, sum_at(c, i, j, &magnitude), want);
    if (c->alpha != 0.0 && k > 0 && adds_mirror(c)) {
        const wide mirror = sum_at(c, j, i, &magnitude);
        want = multiply_add(c, (wide){alpha.re, -alpha.im}, (wide){mirror.re, -mirror.im}, want);
        terms += 4.0L;
    }
    if (c->p.is_hermitian && i == j) want.im = 0.0L;
    const long double bound = terms * 0x1p-53L * magnitude;
    CHECK(is_within(creal(x), want.re, bound) &&
              (!c->is_complex || is_within(cimag(x), want.im, bound)),
          "(%d, %d) is %a%+ai for %La%+Lai: %s", (int)i, (int)j, creal(x), cimag(x), want.re,
          want.im, routine_text(c));
}

static bool has_bits_of(number x, number y)
{
    return bits_of(creal(x)) == bits_of(creal(y)) && bits_of(cimag(x)) == bits_of(cimag(y));
}

static void check_all(const routine_case *c, const matrix *got, bool is_whole)
{
    for (int64_t j = 0; j < got->columns; j++)
        for (int64_t i = 0; i < got->ld; i++) {
            const number x = *element(got, i, j);
            if (i < got->rows && (is_whole || routine_is_inside(c->p.triangle, i, j)))
                check_element(c, i, j, x);
            else
                CHECK(has_bits_of(x, *element(&c->c, i, j)), "touched (%d, %d): %s", (int)i, (int)j,
                      routine_text(c));
        }
}

/* ---- tests ---- */

TEST(updates_are_sums)
{
    static const runner runners[] = {run_in_all, run_in_little, run_in_graph, run_whole};
    enum { RUNNERS = sizeof runners / sizeof *runners };
    for (int i = 0; i < test_cases(cases); i++) {
        routine_case c = update_of(first_seed + (uint64_t)i);
        /* Which of a complex element's parts an infinity reaches depends on how parts are made. */
        const bool is_judged = !(c.is_complex && c.is_special);
        for (int j = 0; j < RUNNERS && is_judged; j++) {
            const bool is_whole = runners[j] == run_whole;
            if (is_whole && c.beta != 0.0) continue; /* the other triangle is poison */
            matrix got = compute(&c, runners[j], TD_RUN_DONE);
            check_all(&c, &got, is_whole);
            free(got.at);
            c.has_device_scalars = !c.has_device_scalars;
        }
        routine_free(&c);
    }
}

/* A real beta multiplies each part of C by itself. */
TEST(an_infinite_part_of_c_leaves_the_other)
{
    const td_problem p = {.kind = TD_RANK_K,
                          .type = TD_COMPLEX_BINARY64,
                          .is_hermitian = true,
                          .n = 5,
                          .k = 3,
                          .batch = 1};
    routine_case c = routine_make_of(&p, 7);
    c.alpha = 0.5;
    c.beta = 1.0;
    *element(&c.c, 3, 1) = complex_of(5.0, INFINITY);
    *element(&c.c, 4, 2) = complex_of(-INFINITY, 7.0);
    matrix got = compute(&c, run_in_all, TD_RUN_DONE);
    CHECK(isfinite(creal(*element(&got, 3, 1))) && isinf(cimag(*element(&got, 3, 1))) &&
              isinf(creal(*element(&got, 4, 2))) && isfinite(cimag(*element(&got, 4, 2))),
          "%a%+ai, %a%+ai", creal(*element(&got, 3, 1)), cimag(*element(&got, 3, 1)),
          creal(*element(&got, 4, 2)), cimag(*element(&got, 4, 2)));
    free(got.at);
    routine_free(&c);
}

static td_run_status run_in_nothing(const td_product *product) { return run(product, 256); }

static td_run_status run_too_long(const td_product *product)
{
    td_real_product too_long = td_real_product_of(product);
    too_long.k = INT64_C(1) << 31;
    return td_engine_dgemm.run(&too_long, (td_parameter){0}, td_device_current(), SIZE_MAX, NULL);
}

/* Then cuBLAS's own routine runs, which finds C as it was. */
TEST(refusals_leave_c)
{
    const td_problem p = {.kind = TD_RANK_K, .type = TD_BINARY64, .n = 70, .k = 9, .batch = 1};
    routine_case c = routine_make_of(&p, 5);
    c.alpha = 1.0;
    const matrix small = compute(&c, run_in_nothing, TD_RUN_NO_MEMORY);
    const matrix large = compute(&c, run_too_long, TD_RUN_TOO_LARGE);
    for (int64_t j = 0; j < c.c.columns; j++)
        for (int64_t i = 0; i < c.c.ld; i++)
            CHECK(has_bits_of(*element(&small, i, j), *element(&c.c, i, j)) &&
                      has_bits_of(*element(&large, i, j), *element(&c.c, i, j)),
                  "touched (%d, %d)", (int)i, (int)j);
    test_drop(small.at, large.at);
    routine_free(&c);
}

int main(int argc, char **argv)
{
    test_take_cases(argc, argv, &cases, &first_seed);
    device_require();
    return test_run();
}
