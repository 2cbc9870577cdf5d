#include "cholesky_case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/cuda/device.h"
#include "tests/kernels/support/device.h"
#include "tests/support/test.h"

const char *cholesky_text(const matrix *x)
{
    static char text[160];
    snprintf(text, sizeof text, "%s order %d, ld %d, %s, %s, seed %llu",
             x->is_complex ? "complex" : "real", x->n, x->ld,
             x->triangle == TD_UPPER ? "upper" : "lower", x->data, (unsigned long long)x->seed);
    return text;
}

/* ---- data ---- */

/* Symmetric random numbers below a diagonal that dominates just enough. */
static double regular(source *s, int i, int j)
{
    const double x = uniform(s);
    return i == j ? 2.0 * sqrt(1.0 + s->n) + x : x;
}

/* Rows and columns have scales of their own, over 600 powers of two. */
static double graded(source *s, int i, int j)
{
    return ldexp(regular(s, i, j), 3 * (i % 100) + 3 * (j % 100) - 300);
}

static double subnormal(source *s, int i, int j) { return ldexp(regular(s, i, j), -1030); }
static double small(source *s, int i, int j) { return 1e-300 * regular(s, i, j); }
static double large(source *s, int i, int j) { return 1e300 * regular(s, i, j); }

/* Not positive from the eighth or so column on. */
static double steep_hilbert(source *s, int i, int j)
{
    return hilbert(s, i, j) - (i == j && i > 3 ? 0x1p-30 : 0.0);
}

static double toeplitz(source *s, int i, int j) { return (void)s, 1.0 / (1.0 + abs(i - j)); }
static double least_of(source *s, int i, int j) { return (void)s, 1.0 + (i < j ? i : j); }

/* One pivot is 0 or negative. */
static double indefinite(source *s, int i, int j)
{
    const int bad = (int)(s->seed % (uint64_t)s->n);
    const double x = regular(s, i, j);
    return i == bad && j == bad ? (s->seed % 3 ? -1.0 : 0.0) : x;
}

static double specials(source *s, int i, int j)
{
    return special_or(s, 2 * s->n, regular(s, i, j));
}

const factor_kind cholesky_kinds[CHOLESKY_KINDS] = {{"random", regular, true},
                                                    {"dominant", dominant, true},
                                                    {"graded", graded, true},
                                                    {"tiny", subnormal, false},
                                                    {"small", small, true},
                                                    {"huge", large, true},
                                                    {"Hilbert", hilbert, false},
                                                    {"steep Hilbert", steep_hilbert, false},
                                                    {"Toeplitz", toeplitz, true},
                                                    {"least", least_of, true},
                                                    {"indefinite", indefinite, false},
                                                    {"zeros", zeros, false},
                                                    {"special values", specials, false}};

double *cholesky_matrix(const matrix *x)
{
    double *a = test_memory(reals_of(x) * sizeof *a);
    source s = {x->seed, x->seed, x->n, x->n};
    kind *const next = find_kind(cholesky_kinds, x->data)->make;
    for (size_t e = 0; e < reals_of(x); e++) a[e] = (double)NAN;
    for (int j = 0; j < x->n; j++)
        for (int i = j; i < x->n; i++) {
            const double size = next(&s, i, j), angle = i == j ? 0.0 : 0.7 * (i - j);
            const number turned = {size * cos(angle), i == j ? (double)NAN : size * sin(angle)};
            put(x, a, place_of(x, i, j), x->is_complex ? turned : (number){size, 0.0});
        }
    return a;
}

/* ---- the device ---- */

td_cholesky_cut cholesky_cut;

void cholesky_enqueue(const matrix *x, void *a, void *info, const td_engine *engine,
                      cudaStream_t stream)
{
    const td_problem p = {.kind = TD_FACTOR_CHOLESKY,
                          .type = x->is_complex ? TD_COMPLEX_BINARY64 : TD_BINARY64,
                          .triangle = x->triangle,
                          .n = x->n,
                          .a = {.data = a, .ld = x->ld},
                          .info = info,
                          .batch = 1,
                          .stream = stream};
    const td_factor_products by = {.engine = engine};
    td_device *device = td_device_current();
    const td_run_status status =
        td_factor_cholesky(&p, &by, cholesky_cut.panel > 0 ? cholesky_cut : td_cholesky_cut_of(&p),
                           device, td_device_limit(device, 0), NULL);
    CHECK(status == TD_RUN_DONE, "%s: status %d", cholesky_text(x), (int)status);
}

factors cholesky_run(const matrix *x, const double *a, const td_engine *engine)
{
    const size_t bytes = reals_of(x) * sizeof *a;
    factors f = {test_memory(bytes), -1};
    void *device_a = device_copy(a, bytes), *device_info = device_copy(&f.info, sizeof f.info);
    cholesky_enqueue(x, device_a, device_info, engine, NULL);
    CHECK_CUDA(cudaDeviceSynchronize());
    device_fetch(f.a, device_a, bytes);
    device_fetch(&f.info, device_info, sizeof f.info);
    device_free(device_a, device_info);
    device_check_clean(cholesky_text(x));
    return f;
}
