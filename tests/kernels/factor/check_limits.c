/* check_limits.c - what LU, Cholesky, QR and Q of one matrix take of a device. Memory is within the
 * call's limit: a call that would take more leaves the matrix as it was, and any other has the bits
 * that it has without a limit. All of it goes with a reset of the device. */
#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

#include "lib/engines/factor/cholesky.h"
#include "lib/engines/factor/lu.h"
#include "lib/engines/factor/q.h"
#include "lib/engines/factor/qr.h"
#include "lib/routine/cholesky_steps.h"
#include "lib/routine/qr_steps.h"
#include "tests/kernels/support/device.h"
#include "tests/support/random.h"

enum { N = 300 };

/* From one that is too low for QR to one that all have room in. */
static const size_t limits[] = {(size_t)2 << 20, (size_t)6 << 20, (size_t)18 << 20,
                                (size_t)54 << 20};
enum { LIMITS = sizeof limits / sizeof *limits };

static const struct {
    const char *name;
    td_kind kind;
    int least; /* the first of the limits within which it is done on the host device */
} routines[] = {{"LU", TD_FACTOR_LU, 0},
                {"Cholesky", TD_FACTOR_CHOLESKY, 0},
                {"QR", TD_FACTOR_QR, 2},
                {"Q", TD_FORM_Q, 2}};
enum { ROUTINES = sizeof routines / sizeof *routines };

typedef struct {
    td_kind kind;
    td_type type;
    const td_engine *engine; /* NULL: cuBLAS's own products */
    td_triangle triangle;
} call;

static size_t numbers_of(const call *c)
{
    return (size_t)N * N * (c->type == TD_COMPLEX_BINARY64 ? 2 : 1);
}

/* Its diagonal is so large that it is definite. */
static double *make_matrix(const call *c)
{
    const size_t parts = numbers_of(c) / N / N;
    double *a = test_memory(numbers_of(c) * sizeof *a);
    uint64_t state = 5;
    for (size_t e = 0; e < numbers_of(c); e++) a[e] = random_signed(&state);
    for (size_t i = 0; i < N; i++) a[parts * (i + i * N)] += 2.0 * N;
    return a;
}

/* With several panels and blocks of each routine. */
static td_run_status factor(const call *c, const td_problem *p, size_t limit)
{
    td_device *device = td_device_current();
    const td_qr_cut small = {32, 128, 130, 64};
    const td_factor_products by = {.engine = c->engine,
                                   .cut = {td_solve_most_rows(c->type), 0},
                                   .panels = {.block = 128,
                                              .few = 100,
                                              .many = 200,
                                              .of_many = {128, 32},
                                              .of_some = {96, 48},
                                              .of_few = {64, 64},
                                              .is_late = true}};
    switch (c->kind) {
    case TD_FACTOR_LU:
        return td_factor_lu(p, &by, device, limit, NULL);
    case TD_FACTOR_CHOLESKY:
        return td_factor_cholesky(p, &by, (td_cholesky_cut){128, 128, .group = 1}, device, limit,
                                  NULL);
    case TD_FACTOR_QR:
        return td_factor_qr(p, &by, small, device, limit, NULL);
    default:
        return td_factor_q(p, &by, small, device, limit, NULL);
    }
}

/* What the call makes of its matrix within so many bytes. */
static td_run_status run(const call *c, size_t limit, double *a)
{
    const size_t bytes = numbers_of(c) * sizeof *a;
    int info = -1;
    void *device_a = device_copy(a, bytes), *tau = device_copy(a, bytes / N),
         *pivots = device_copy(a, N * sizeof(int)), *device_info = device_copy(&info, sizeof info);
    const td_problem p = {.kind = c->kind,
                          .type = c->type,
                          .triangle = c->triangle,
                          .m = N,
                          .n = N,
                          .k = N,
                          .a = {.data = device_a, .ld = N},
                          .tau = tau,
                          .pivots = c->kind == TD_FACTOR_LU ? pivots : NULL,
                          .info = device_info,
                          .batch = 1};
    const td_run_status status = factor(c, &p, limit);
    CHECK_CUDA(cudaDeviceSynchronize());
    device_fetch(a, device_a, bytes);
    device_fetch(&info, device_info, sizeof info);
    CHECK(info == (status == TD_RUN_DONE ? 0 : -1), "info %d, status %d", info, (int)status);
    device_free(device_a, tau, pivots, device_info);
    return status;
}

/* Within every step-th of the limits. */
static void check(const char *name, const call *c, int first, int step)
{
    const size_t bytes = numbers_of(c) * sizeof(double);
    double *const a = make_matrix(c), *const want = make_matrix(c);
    CHECK(run(c, td_device_limit(td_device_current(), 0), want) == TD_RUN_DONE, "%s", name);
    for (int i = first; i < LIMITS; i += step) {
        const size_t limit = limits[i];
        double *const made = make_matrix(c);
        const td_run_status status = run(c, limit, made);
        CHECK(status == TD_RUN_DONE || status == TD_RUN_NO_MEMORY, "%s, limit %zu: status %d", name,
              limit, (int)status);
        CHECK(memcmp(made, status == TD_RUN_DONE ? want : a, bytes) == 0,
              "%s, limit %zu, status %d: other bits", name, limit, (int)status);
        free(made);
    }
    test_drop(want, a);
}

/* Within 1 MiB, the least limit that TANDEM_WORKSPACE sets, LU's products of 64 terms have no room,
 * and mode fp64 makes them. Real and complex matrices take turns with the limits. A brief test has
 * each routine within the least limit that it is done in: LU and Cholesky, which take less time, of
 * a complex matrix, QR and Q of a real one. */
TEST(bits_are_the_same_within_any_limit)
{
    for (int i = 0; i < 2 * ROUTINES; i++) {
        const bool is_complex = i % 2;
        const call c = {routines[i / 2].kind, is_complex ? TD_COMPLEX_BINARY64 : TD_BINARY64,
                        &td_engine_ozaki2, TD_LOWER};
        if (test_is_brief() && is_complex != (routines[i / 2].least == 0)) continue;
        if (test_is_brief())
            check(routines[i / 2].name, &c, routines[i / 2].least, LIMITS);
        else if (test_takes_everything())
            check(routines[i / 2].name, &c, 0, 1);
        else
            check(routines[i / 2].name, &c, is_complex, 2);
    }
}

/* Once a panel is factored, the matrix cannot be had back. An update of a complex triangle that has
 * no room then, as the triangle of all rows behind or as real lines, is made block by block. Whose
 * products have room are other bits where they are cuBLAS's. */
TEST(complex_triangles_need_little_memory)
{
    enum { LEAST = 300000 };
    for (int i = 0; i < 4; i++) {
        const call c = {TD_FACTOR_CHOLESKY, TD_COMPLEX_BINARY64, i / 2 ? &td_engine_fp64 : NULL,
                        i % 2 ? TD_UPPER : TD_LOWER};
        call by_fp64 = c;
        by_fp64.engine = &td_engine_fp64;
        double *const made = make_matrix(&c), *const want = make_matrix(&c);
        const td_run_status status = run(&c, LEAST, made);
        CHECK(run(&by_fp64, td_device_limit(td_device_current(), 0), want) == TD_RUN_DONE, "fp64");
        CHECK(status == TD_RUN_DONE, "case %d: status %d", i, (int)status);
        CHECK(memcmp(made, want, numbers_of(&c) * sizeof *want) == 0, "case %d: other bits", i);
        test_drop(want, made);
    }
}

/* LU needs no memory on the host device. */
TEST(nothing_is_done_without_memory)
{
    for (int i = 0; i < 2 * ROUTINES; i++) {
        const call c = {routines[i / 2].kind, i % 2 ? TD_COMPLEX_BINARY64 : TD_BINARY64,
                        &td_engine_fp64, TD_LOWER};
        double *const a = make_matrix(&c), *const made = make_matrix(&c);
        if (c.kind != TD_FACTOR_LU || !device_is_host()) {
            const td_run_status status = run(&c, 1, made);
            CHECK(status == TD_RUN_NO_MEMORY, "%s: status %d", routines[i / 2].name, (int)status);
            CHECK(memcmp(a, made, numbers_of(&c) * sizeof *a) == 0, "%s", routines[i / 2].name);
        }
        test_drop(made, a);
    }
}

/* A driver refuses to reset a device while parts of it are set aside. */
TEST(device_is_reset_between_two_calls)
{
    for (int i = 0; i < ROUTINES; i += test_is_brief() ? 3 : 1) {
        const call c = {routines[i].kind, TD_BINARY64, &td_engine_ozaki2, TD_LOWER};
        double *const before = make_matrix(&c), *const after = make_matrix(&c);
        CHECK(run(&c, td_device_limit(td_device_current(), 0), before) == TD_RUN_DONE, "before");
        const cudaError_t reset = cudaDeviceReset();
        CHECK(reset == cudaSuccess, "%s: %s", routines[i].name, cudaGetErrorString(reset));
        CHECK(run(&c, td_device_limit(td_device_current(), 0), after) == TD_RUN_DONE, "after");
        CHECK(memcmp(before, after, numbers_of(&c) * sizeof *before) == 0, "%s: other bits",
              routines[i].name);
        test_drop(after, before);
    }
}
