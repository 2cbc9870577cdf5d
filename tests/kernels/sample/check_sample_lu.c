/* check_sample_lu.c - TANDEM_VERIFY of LU factors, under every mode: residuals of P A - L U are
 * those that sums in 113 bits find on the host, with pivots of both widths and without, and factors
 * that are made wrong after the call have the residuals that they have. */
#include "tests/support/test.h"

#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/engines/proven.h"
#include "tests/kernels/support/device.h"
#include "tests/support/random.h"
#include "sampled.h"

typedef enum { INT, INT64, NONE } pivots_kind;
typedef enum { RANDOM, SPECIAL, GRADED, TINY, GROWTH, PERMUTED, UNEVEN, KINDS } data_kind;

typedef struct {
    td_type type;
    int m, n, ld;
    pivots_kind pivots;
    data_kind data;
} factors;

static td_type type_of(bool is_complex) { return is_complex ? TD_COMPLEX_BINARY64 : TD_BINARY64; }

static int least_of(const factors *f) { return f->m < f->n ? f->m : f->n; }

static size_t bytes_of(const factors *f)
{
    return (size_t)(f->ld * f->n * parts_of(f->type)) * sizeof(double);
}

/* Part of an element, from a random number: GROWTH is Wilkinson's, whose U has the largest growth,
 * PERMUTED a triangle whose rows are in another order, and of UNEVEN most quotients are far below
 * the least number. */
static double number_of(const factors *f, int i, int j, double x)
{
    switch (f->data) {
    case GRADED:
        return ldexp(x, 12 * (j % 80) - 480);
    case TINY:
        return ldexp(x, -1060);
    case GROWTH:
        return j == f->n - 1 || i == j ? 1.0 : i > j ? -1.0 : 0.0;
    case PERMUTED:
        return (i * 7 + 3) % f->m > j ? 0.0 : x;
    case UNEVEN:
        return ldexp(x, (i * 613 + j * 1009) % 1900 - 950);
    default:
        return x;
    }
}

static double *make_matrix(const factors *f)
{
    const int parts = parts_of(f->type);
    double *a = test_memory(bytes_of(f));
    uint64_t state = (uint64_t)(f->m * 100 + f->n);
    for (int i = 0; i < f->ld * f->n * parts; i++) {
        const int e = i / parts;
        a[i] = number_of(f, e % f->ld, e / f->ld, random_signed(&state));
    }
    /* Without pivots the diagonal is the largest. */
    for (int i = 0; i < least_of(f) && f->pivots == NONE; i++) a[(i + i * f->ld) * parts] += 99.0;
    if (f->data == SPECIAL) a[(f->m / 2 + f->n / 2 * f->ld) * parts] = (double)NAN;
    return a;
}

static number element_of(const factors *f, const double *a, int i, int j)
{
    const double *const x = a + (i + j * f->ld) * parts_of(f->type);
    return f->type == TD_COMPLEX_BINARY64 ? x[0] + x[1] * I : x[0];
}

/* ---- the reference ---- */

/* Which row of A each row of the factors is. */
static int *rows_of(const factors *f, const void *pivots)
{
    int *rows = test_memory((size_t)f->m * sizeof *rows);
    for (int i = 0; i < f->m; i++) rows[i] = i;
    for (int i = 0; i < least_of(f) && f->pivots != NONE; i++) {
        const int other =
            f->pivots == INT ? ((const int *)pivots)[i] - 1 : (int)((const int64_t *)pivots)[i] - 1;
        const int kept = rows[i];
        rows[i] = rows[other];
        rows[other] = kept;
    }
    return rows;
}

/* A part of P A - L U relative to the size of all its products: of complex numbers those of both
 * parts. */
static double residual_of(const factors *f, const double *a, const double *lu, const int *rows,
                          int i, int j, int part)
{
    quad_sum sum = {0, 0, 0, 0};
    add_product(&sum, -1.0, element_of(f, a, rows[i], j));
    for (int l = 0; l <= i && l <= j && l < least_of(f); l++)
        add_product(&sum, l == i ? 1.0 : element_of(f, lu, i, l), element_of(f, lu, l, j));
    const quad off = magnitude(part ? sum.im : sum.re), size = sum.size_re + sum.size_im;
    return off == 0 ? 0.0 : (double)(off / size);
}

static errors residuals_of(const factors *f, const double *a, const double *lu, const int *rows)
{
    errors e = {0};
    for (int j = 0; j < f->n; j++)
        for (int i = 0; i < f->m; i++)
            for (int part = 0; part < parts_of(f->type); part++)
                add_error(&e, residual_of(f, a, lu, rows, i, j, part));
    return e;
}

/* ---- calls ---- */

static void *allocate(size_t bytes)
{
    void *p = NULL;
    CHECK_CUDA(cudaMalloc(&p, bytes));
    return p;
}

static td_problem call_of(const factors *f, const double *a)
{
    const bool is_wide = f->pivots == INT64;
    td_problem p = {.kind = TD_FACTOR_LU,
                    .type = f->type,
                    .m = f->m,
                    .n = f->n,
                    .a = {.data = allocate(bytes_of(f)), .ld = f->ld},
                    .pivots =
                        f->pivots == NONE ? NULL : allocate((size_t)least_of(f) * sizeof(int64_t)),
                    .has_wide_pivots = is_wide,
                    .info = allocate(sizeof(int)),
                    .batch = 1,
                    .stream = sampled_stream};
    device_write(p.a.data, a, bytes_of(f));
    return p;
}

static void free_call(const td_problem *p)
{
    CHECK_CUDA(cudaFree(p->a.data));
    CHECK_CUDA(cudaFree(p->pivots));
    CHECK_CUDA(cudaFree(p->info));
}

static const char *text_of(const factors *f)
{
    static char text[96];
    snprintf(text, sizeof text, "%s %d x %d, ld %d, pivots %d", td_types[f->type].name, f->m, f->n,
             f->ld, (int)f->pivots);
    return text;
}

/* What is counted of a call, and what there is to count. */
static td_sample_counts verify(const factors *f, const meanwhile *then, errors *want,
                               td_promise *promise)
{
    double *const a = make_matrix(f), *const lu = test_memory(bytes_of(f));
    void *const pivots = test_zeros((size_t)least_of(f), sizeof(int64_t));
    const td_problem p = call_of(f, a);
    const td_sample_counts counts = sampled_run(&p, then, promise);
    CHECK_CUDA(cudaMemcpy(lu, p.a.data, bytes_of(f), cudaMemcpyDeviceToHost));
    if (p.pivots)
        CHECK_CUDA(cudaMemcpy(pivots, p.pivots, (size_t)least_of(f) * (p.has_wide_pivots ? 8 : 4),
                              cudaMemcpyDeviceToHost));
    int *const rows = rows_of(f, pivots);
    *want = residuals_of(f, a, lu, rows);
    free_call(&p);
    test_drop(a, lu, pivots, rows);
    return counts;
}

static const meanwhile nothing = {NULL, NULL};

TEST(all_factors)
{
    static const int sizes[][2] = {{1, 1}, {34, 33}, {20, 45}, {2, 5}, {45, 20}};
    enum { SIZES = sizeof sizes / sizeof *sizes };
    for (int which = 0; which < (test_is_brief() ? 1 : 3); which++) {
        const int *size = sizes[(which + 2 * sampled_round) % SIZES];
        const factors f = {.type = type_of((which + sampled_round) % 2),
                           .m = size[0],
                           .n = size[1],
                           .ld = size[0] + which % 3,
                           .pivots = (pivots_kind)((which + sampled_round) % 3)};
        errors want;
        td_promise promise;
        const td_sample_counts counts = verify(&f, &nothing, &want, &promise);
        check_counts(&counts, &want, &promise, text_of(&f));
        CHECK(counts.worst_ulps == 0.0, "a residual of %g ulps", counts.worst_ulps);
    }
}

static bool is_proven_of_products(void)
{
    td_parameter parameter;
    const td_engine *engine = td_engine_parse(sampled_mode->name, &parameter);
    return isfinite(td_proven(engine, parameter, 1).relative);
}

/* More than one panel, and data whose factors grow or lose digits. */
TEST(residuals_are_within_their_bound)
{
    if (!sampled_stands_for_others()) return;
    for (int kind = GRADED + sampled_round % 2; kind < KINDS; kind += 2) {
        const factors f = {.type = type_of(kind % 2),
                           .m = 71 + kind,
                           .n = 74,
                           .ld = 90,
                           .pivots = INT,
                           .data = (data_kind)kind};
        errors want;
        td_promise promise;
        const td_sample_counts counts = verify(&f, &nothing, &want, &promise);
        CHECK(promises(&promise) == is_proven_of_products(), "%s promises %g", sampled_mode->name,
              promise.bound.relative);
        check_counts(&counts, &want, &promise, text_of(&f));
    }
}

/* Factors that are wrong have the residuals that they have. */
TEST(faults_of_factors)
{
    if (!sampled_stands_for_others()) return;
    for (int which = sampled_round % 3; which < 6; which += 3) {
        const factors f = {.type = type_of(which % 2),
                           .m = 35,
                           .n = 34,
                           .ld = 35,
                           .pivots = (pivots_kind)(which % 3)};
        const fault wrong = {which % 2 ? 30 : 3, which % 2 ? 4 : 20, 0, 0x1p-10};
        errors want;
        td_promise promise;
        const td_sample_counts counts =
            verify(&f, &(meanwhile){add_fault, &wrong}, &want, &promise);
        check_errors(&counts, &want, text_of(&f));
        CHECK((counts.outside > 0) == promises(&promise), "%s: %llu beyond the bound",
              sampled_mode->name, counts.outside);
        CHECK(counts.worst > 0x1p-20, "a fault of 2^-10 shows as %g", counts.worst);
    }
}

/* What NaN has spread to has no error. */
TEST(special_factors)
{
    if (!sampled_stands_for_others()) return;
    const factors f = {.type = TD_BINARY64, .m = 30, .n = 30, .ld = 30, .data = SPECIAL};
    errors want;
    td_promise promise;
    const td_sample_counts counts = verify(&f, &nothing, &want, &promise);
    CHECK(counts.outside == 0 && counts.special > 0 && counts.special < counts.elements,
          "%llu outside, %llu special of %llu", counts.outside, counts.special, counts.elements);
}

/* As many elements as were asked for. */
TEST(samples_of_factors)
{
    enum { COUNT = 50 };
    if (!sampled_stands_for_others()) return;
    const factors f = {.type = type_of(true), .m = 45, .n = 60, .ld = 47, .pivots = INT64};
    errors want;
    td_promise promise;
    sampled_options.verify = COUNT;
    const td_sample_counts counts = verify(&f, &nothing, &want, &promise);
    sampled_options.verify = TD_VERIFY_ALL;
    CHECK(counts.elements == (uint64_t)(parts_of(f.type) * COUNT), "%llu elements",
          counts.elements);
    CHECK(counts.worst <= want.worst * (1.0 + 0x1p-20), "%g, all have at most %g", counts.worst,
          want.worst);
}

TEST(graphs_of_factors)
{
    if (!sampled_stands_for_others()) return;
    const factors f = {.type = TD_BINARY64, .m = 40, .n = 40, .ld = 40, .pivots = INT};
    double *const a = make_matrix(&f);
    const td_problem p = call_of(&f, a);
    const td_sample_counts counts = sampled_run_in_graph(&p, 1);
    CHECK(counts.elements == 1600 && counts.outside == 0 && counts.worst < 0x1p-40,
          "%llu elements, %llu outside, the worst %g", counts.elements, counts.outside,
          counts.worst);
    free_call(&p);
    free(a);
}

int main(void)
{
    int failed = 0;
    device_require();
    sampled_set_up(NULL);
    for (; sampled_next_mode(); sampled_round++) failed += test_run(.name = sampled_mode->name);
    sampled_tear_down(NULL);
    return failed;
}
