/* check_cholesky.c - Cholesky factors of one real or complex matrix that is one panel wide: their
 * bits and the info are those of a plain loop of fused multiply-adds on the host, in both
 * triangles, and in graphs. The other triangle and memory around the matrix stay as they were. */
#include "tests/support/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cholesky_case.h"
#include "tests/kernels/support/device.h"
#include "tests/support/bits.h"

enum { BLOCK = 16 };

/* ---- the reference ---- */

static double quotient(double x, double pivot)
{
    const bool is_mild = isfinite(pivot) && fabs(pivot) >= 0x1p-400 && fabs(pivot) < 0x1p401;
    return is_mild ? x * (1.0 / pivot) : x / pivot;
}

/* c less a times the conjugate of b. */
static number minus(const matrix *x, number c, number a, number b)
{
    const double re = fma(-a.re, b.re, c.re), im = fma(a.re, b.im, c.im);
    return x->is_complex ? (number){fma(-a.im, b.im, re), fma(-a.im, b.re, im)} : (number){re, 0.0};
}

/* What is made of L so far: l[i + j n], and `plain`, which in diagonal blocks are elements before
 * they are multiplied by reciprocals of roots. */
typedef struct {
    number *l, *plain;
} made;

/* Element i, j less its products with earlier columns. */
static number element(const matrix *x, const double *a, const made *m, int i, int j)
{
    const int n = x->n, block = j / BLOCK * BLOCK;
    number sum = get(x, a, place_of(x, i, j));
    for (int k = 0; k < j; k++) {
        const size_t of_i = (size_t)i + (size_t)k * (size_t)n,
                     of_j = (size_t)j + (size_t)k * (size_t)n;
        if (k < block || i >= block + BLOCK) {
            sum = minus(x, sum, m->l[of_i], m->l[of_j]);
        } else {
            const double pivot = m->plain[(size_t)k * (size_t)(n + 1)].re;
            const number y = m->plain[of_i];
            const number factor = {quotient(y.re, pivot), quotient(y.im, pivot)};
            sum = minus(x, sum, factor, m->plain[of_j]);
        }
    }
    return sum;
}

/* Returns the first minor that is not positive; 0: none. */
static int factor(const matrix *x, const double *a, const made *m)
{
    const int n = x->n;
    for (int j = 0; j < n; j++) {
        double root = 0.0;
        for (int i = j; i < n; i++) {
            const number sum = element(x, a, m, i, j);
            const size_t at = (size_t)i + (size_t)j * (size_t)n;
            m->plain[at] = sum;
            if (i == j && !(sum.re > 0.0)) return j + 1;
            if (i == j) root = sqrt(sum.re);
            const double scale = 1.0 / root;
            m->l[at] = i == j ? (number){root, 0.0} : (number){sum.re * scale, sum.im * scale};
        }
    }
    return 0;
}

/* ---- bits ---- */

/* True of an element of L that is there although minor `info` is not positive: of columns before
 * its tile, or of that tile and a strip before. */
static bool is_made(const matrix *x, int info, int i, int j)
{
    const int at = info - 1, tile = at / tile_of(x) * tile_of(x);
    return info == 0 || j < tile || (i < tile + tile_of(x) && j < at / BLOCK * BLOCK);
}

/* All that is not made is as it was. */
static void check_bits(const matrix *x)
{
    const size_t all = (size_t)x->n * (size_t)x->n;
    const made m = {test_memory(all * sizeof *m.l), test_memory(all * sizeof *m.plain)};
    double *a = cholesky_matrix(x);
    const int info = factor(x, a, &m);
    factors f = cholesky_run(x, a, &td_engine_fp64);
    CHECK(f.info == info, "%s: info %d, not %d", cholesky_text(x), f.info, info);
    for (int j = 0; j < x->n; j++)
        for (int i = j; i < x->n; i++)
            if (is_made(x, info, i, j))
                put(x, a, place_of(x, i, j), m.l[(size_t)i + (size_t)j * (size_t)x->n]);
    for (size_t e = 0; e < reals_of(x); e++)
        CHECK(same_bits(f.a[e], a[e]), "%s: number %zu of the matrix is %a, not %a",
              cholesky_text(x), e, f.a[e], a[e]);
    test_drop(f.a, m.plain, m.l, a);
}

TEST(all_orders_are_plain_chains)
{
    const int step = test_is_brief() ? 7 : 1;
    for (int n = 1; n <= 300; n += n < 34 ? 1 : step)
        for (int c = 0; c < (n < 70 || n % 3 == 0 ? 2 : 1); c++)
            check_bits(
                &(matrix){n, n + n % 3, n % 2 ? TD_UPPER : TD_LOWER, "random", test_seed(), c});
}

TEST(all_kinds_are_plain_chains)
{
    const int orders[] = {1, 2, 15, 16, 17, 63, 64, 65, 127, 128, 129, 191, 193, 200, 256, 300};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        for (int k = 0; k < CHOLESKY_KINDS; k++)
            for (int u = 0; u < 4; u++)
                if (test_is_brief() ? (i + (size_t)k + (size_t)u) % 12 == 0
                                    : test_takes((int)i + k + u, 2))
                    check_bits(&(matrix){orders[i], orders[i] + k % 2, u % 2 ? TD_UPPER : TD_LOWER,
                                         cholesky_kinds[k].name, test_seed(), u >= 2});
}

/* Each column in turn has the first minor that is not positive. */
TEST(info_is_the_first_minor)
{
    const int n = 150, step = test_is_brief() ? 13 : 1;
    for (int i = 0; i < n; i += step)
        for (int c = 0; c < (i % 3 == 0 ? 2 : 1); c++)
            check_bits(&(matrix){n, n, i % 2 ? TD_UPPER : TD_LOWER, "indefinite",
                                 (uint64_t)(i + 3 * n), c});
}

/* Many tasks at a time. */
TEST(large_panels_are_plain_chains)
{
    const int orders[] = {511, 700, 1000, 1500};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        if (!device_is_host() || orders[i] <= 511)
            for (int c = 0; c < (orders[i] <= 700 ? 2 : 1); c++)
                check_bits(&(matrix){orders[i], orders[i] + 1, i % 2 ? TD_UPPER : TD_LOWER,
                                     "random", test_seed(), c});
}

/* A captured factorisation gives the bits of the plain one, at each launch of the graph. */
TEST(graphs_give_the_same_bits)
{
    const int n = 400;
    const matrix x = {n, n, TD_LOWER, "random", test_seed(), false};
    const size_t bytes = reals_of(&x) * sizeof(double);
    double *a = cholesky_matrix(&x), *found = test_memory(bytes);
    factors f = cholesky_run(&x, a, &td_engine_fp64);
    void *device_a = device_copy(a, bytes), *info = device_copy(&f.info, sizeof f.info);
    cudaStream_t stream;
    CHECK_CUDA(cudaStreamCreate(&stream));
    CHECK_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    cholesky_enqueue(&x, device_a, info, &td_engine_fp64, stream);
    cudaGraphExec_t executable = device_end_capture(stream);
    for (int launch = 0; launch < 3; launch++) {
        CHECK_CUDA(cudaMemcpy(device_a, a, bytes, cudaMemcpyHostToDevice));
        CHECK_CUDA(cudaGraphLaunch(executable, stream));
        CHECK_CUDA(cudaStreamSynchronize(stream));
        device_fetch(found, device_a, bytes);
        for (size_t e = 0; e < reals_of(&x); e++)
            CHECK(same_bits(found[e], f.a[e]), "launch %d: element %d is %a, not %a", launch,
                  (int)e, found[e], f.a[e]);
    }
    CHECK_CUDA(cudaGraphExecDestroy(executable));
    CHECK_CUDA(cudaStreamDestroy(stream));
    device_free(device_a, info);
    test_drop(found, f.a, a);
}

/* Blocks meet by counters in memory: each call may find another order of them. */
TEST(repeated_calls_have_the_same_bits)
{
    const int orders[] = {65, 200, 257, 700}, calls = device_is_host() ? 2 : 200;
    for (size_t i = 0; i < 2 * sizeof orders / sizeof *orders; i++) {
        const int n = orders[i / 2];
        if (device_is_host() && n > 300) continue;
        const matrix x = {n, n, i / 4 % 2 ? TD_UPPER : TD_LOWER, "random", test_seed(), i % 2};
        double *a = cholesky_matrix(&x);
        factors first = cholesky_run(&x, a, &td_engine_fp64);
        for (int call = 1; call < calls; call++) {
            factors f = cholesky_run(&x, a, &td_engine_fp64);
            CHECK(f.info == 0, "%s, call %d: info %d", cholesky_text(&x), call, f.info);
            CHECK(memcmp(f.a, first.a, reals_of(&x) * sizeof *a) == 0, "%s, call %d: other bits",
                  cholesky_text(&x), call);
            free(f.a);
        }
        test_drop(first.a, a);
    }
}
