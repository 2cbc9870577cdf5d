#include "lu_case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cuda/device.h"
#include "tests/kernels/support/device.h"
#include "tests/support/test.h"

enum { POISON = 0x7f };

td_type type;

const char *text_of(const matrix *x)
{
    static char text[160];
    snprintf(text, sizeof text, "%s %d x %d, ld %d, pivots %d, %s, seed %llu", td_types[type].name,
             x->m, x->n, x->ld, (int)x->pivots, x->data, (unsigned long long)x->seed);
    return text;
}

/* ---- data ---- */

/* Two columns are alike, one is 0. */
static double singular(source *s, int i, int j)
{
    const double x = uniform(s);
    return j == s->n / 2 ? 0.0 : j == s->n - 1 ? 1.0 + i : x;
}

/* Wilkinson's growth: U's last column doubles with every row. */
static double wilkinson(source *s, int i, int j)
{
    return j == s->n - 1 || i == j ? 1.0 : i > j ? -1.0 : 0.0;
}

static double toeplitz(source *s, int i, int j) { return (void)s, sin(1.0 + 3.0 * (i - j)); }

/* A triangle whose rows are in another order. */
static double permuted_triangle(source *s, int i, int j)
{
    const int row = (i * 7 + 3) % s->m;
    const double x = uniform(s);
    return row > j ? 0.0 : row == j ? 1.0 : x;
}

static double specials(source *s, int i, int j)
{
    return (void)i, (void)j, special_or(s, 60, uniform(s));
}

const factor_kind kinds[KINDS] = {{"random", random_numbers, true},
                                  {"small integers", small_integers, false},
                                  {"graded", graded_columns, true},
                                  {"tiny", tiny, false},
                                  {"huge", huge, true},
                                  {"singular", singular, false},
                                  {"Wilkinson", wilkinson, true},
                                  {"Toeplitz", toeplitz, true},
                                  {"Hilbert", hilbert, true},
                                  {"dominant", dominant, true},
                                  {"permuted", permuted_triangle, true},
                                  {"special values", specials, false}};
double *make(const matrix *x)
{
    double *a = test_memory(reals_of(x) * sizeof *a);
    source s = {x->seed, x->seed, x->m, x->n};
    kind *const next = find_kind(kinds, x->data)->make;
    memset(a, POISON, reals_of(x) * sizeof *a);
    for (int j = 0; j < x->n; j++)
        for (int i = 0; i < x->m; i++)
            for (int part = 0; part < parts(); part++) at(x, a, i, j)[part] = next(&s, i, j);
    return a;
}

/* ---- the device ---- */

/* Small matrices are cut into blocks, and their panels into pieces, too. */
static td_lu_cut cut_of(const td_problem *p, const matrix *x)
{
    const int64_t block = x->block ? x->block : 1 << 20;
    if (x->has_pieces)
        return (td_lu_cut){.block = block,
                           .few = 100,
                           .many = 200,
                           .of_many = {128, 32},
                           .of_some = {96, 48},
                           .of_few = {64, 64},
                           .is_late = true};
    td_lu_cut cut = td_lu_cut_of(p);
    if (x->block) cut.block = block;
    return cut;
}

factors run(const matrix *x, const double *a, const td_engine *engine)
{
    const size_t bytes = reals_of(x) * sizeof *a, count = (size_t)least_of(x);
    const size_t pivot_bytes = x->pivots == WIDE_PIVOTS ? sizeof(int64_t) : sizeof(int);
    factors f = {test_memory(bytes),
                 x->pivots == NO_PIVOTS ? NULL : test_memory(count * sizeof(int64_t)), -1};
    int64_t *raw = test_memory(count * sizeof *raw);
    void *device_a = device_copy(a, bytes), *device_info = device_copy(&f.info, sizeof f.info),
         *device_pivots = f.pivots ? device_copy(raw, count * pivot_bytes) : NULL;
    const td_problem p = {.kind = TD_FACTOR_LU,
                          .type = type,
                          .m = x->m,
                          .n = x->n,
                          .a = {.data = device_a, .ld = x->ld},
                          .pivots = device_pivots,
                          .has_wide_pivots = x->pivots == WIDE_PIVOTS,
                          .info = device_info,
                          .batch = 1};
    const td_factor_products by = {
        .engine = engine, .cut = {td_solve_most_rows(p.type), 0}, .panels = cut_of(&p, x)};
    td_device *device = td_device_current();
    const td_run_status status = td_factor_lu(&p, &by, device, td_device_limit(device, 0), NULL);
    CHECK(status == TD_RUN_DONE, "%s: status %d", text_of(x), (int)status);
    CHECK_CUDA(cudaDeviceSynchronize());
    device_fetch(f.a, device_a, bytes);
    device_fetch(&f.info, device_info, sizeof f.info);
    if (f.pivots) device_fetch(raw, device_pivots, count * pivot_bytes);
    for (size_t i = 0; f.pivots && i < count; i++)
        f.pivots[i] = x->pivots == WIDE_PIVOTS ? raw[i] : ((const int *)raw)[i];
    device_free(device_a, device_info);
    if (device_pivots) device_free(device_pivots);
    device_check_clean(text_of(x));
    free(raw);
    return f;
}

void free_factors(factors *f) { test_drop(f->a, f->pivots); }

int main(void)
{
    const td_type types[] = {TD_BINARY64, TD_COMPLEX_BINARY64};
    int failed = 0;
    device_require();
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        type = types[i];
        failed += test_run(.name = td_types[type].name);
    }
    return failed;
}
