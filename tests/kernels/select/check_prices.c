/* check_prices.c - mode ozaki2 as mode auto runs it: prices of its ways, by which the data choose,
 * and a first estimate of a sample of lines. Prices change which way is taken, never how good C
 * is. */
#include "tests/support/test.h"

#include <math.h>
#include <stdlib.h>

#include "lib/cuda/device.h"
#include "tests/kernels/support/checked.h"
#include "tests/kernels/support/device.h"

/* Binary64 for nothing, at any price, and at the price of the mode's own definition. */
static const td_prices free_binary64 = {FREE_BINARY64},
                       free_and_unscaled = {FREE_BINARY64, .is_unscaled = 1},
                       dear_binary64 = {DEAR_BINARY64, .is_unscaled = 1};

static mode priced(td_prices prices)
{
    mode m = mode_of_family("ozaki2");
    m.prices = prices;
    return m;
}

/* C, and what the engine counted: elements made in binary64 or exactly, and the most moduli. */
typedef struct {
    test_matrix c;
    td_counters counted;
} outcome;

static outcome run(const problem *p, td_prices prices, size_t limit)
{
    const mode m = priced(prices);
    const size_t most = td_device_current()->workspace_bytes;
    td_counters *counters;
    outcome r = {.counted = {0}};
    counters = device_copy(&r.counted, sizeof r.counted);
    r.c = checked_compute_within(&m, p, limit ? limit : most, counters);
    CHECK_CUDA(cudaMemcpy(&r.counted, counters, sizeof r.counted, cudaMemcpyDeviceToHost));
    device_free(counters);
    return r;
}

static test_matrix sums_in_binary64(const problem *p)
{
    const mode m = {.name = "fp64", .is_binary64 = true};
    return checked_compute(&m, p);
}

static void check_equal(const problem *p, const test_matrix *got, const test_matrix *want,
                        const char *what)
{
    const int64_t at = matrix_difference(got, want);
    CHECK(at == -1, "element %d of C is not that of %s: %s", (int)at, what, product_text(&p->of));
}

/* Every element is as good as the mode promises: errors of 4 sqrt(k) 2^-53 and some roundings. */
static void check_errors(const problem *p, const test_matrix *got)
{
    checked_errors(p, got, (4.0 * sqrt((double)p->of.k) + 3.5) * 0x1p-53);
}

static const char *const kinds[] = {"uniform", "both signs", "wide 2", "zeros", "integers"};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* Data that need an estimate, as zeros do, go to binary64 if that is free; others never ask. */
TEST(binary64_for_nothing)
{
    const product of = product_varied("zeros", 150, 70, 200, 0);
    problem p = problem_make(&of);
    outcome r = run(&p, free_binary64, 0);
    test_matrix want = sums_in_binary64(&p);
    CHECK(r.counted.planes == 0 && r.counted.repaired == (unsigned long long)(of.m * of.n),
          "%d moduli, %d elements in binary64", (int)r.counted.planes, (int)r.counted.repaired);
    check_equal(&p, &r.c, &want, "fp64");
    matrix_free(&r.c, &want);
    problem_free(&p);
}

/* What the next products work in holds no zeros: words that are NaN, and no two the same. */
static void soil_workspace(size_t bytes)
{
    const td_device *device = td_device_current();
    uint32_t *words = test_memory(bytes);
    void *memory;
    for (size_t i = 0; i < bytes / sizeof *words; i++)
        words[i] = 0xfff80000u | (uint32_t)(i * 0x9e3779b9u) >> 16;
    CHECK_CUDA(cudaMallocFromPoolAsync(&memory, bytes, device->pool, NULL));
    CHECK_CUDA(cudaMemcpy(memory, words, bytes, cudaMemcpyHostToDevice));
    CHECK_CUDA(cudaFreeAsync(memory, NULL));
    CHECK_CUDA(cudaStreamSynchronize(NULL));
    free(words);
}

/* Where a probe leaves all to binary64 no line is measured. So none is asked for, also where the
 * last tiles of C have no more elements than are worth exact sums. */
TEST(a_probe_leaves_no_lines)
{
    static const struct {
        int64_t m, n;
    } sizes[] = {{65, 72}, {68, 66}, {129, 129}, {193, 70}, {8, 1}, {64, 64}, {3, 200}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const product of =
            product_varied(i % 2 ? "wide 2" : "uniform", sizes[i].m, sizes[i].n, 200, 0);
        problem p = problem_make(&of);
        soil_workspace((size_t)1 << 24);
        outcome r = run(&p, probed_binary64, 0);
        test_matrix want = sums_in_binary64(&p);
        CHECK(r.counted.planes == 0 && r.counted.repaired == (unsigned long long)(of.m * of.n),
              "%d moduli, %d elements in binary64: %s", (int)r.counted.planes,
              (int)r.counted.repaired, product_text(&of));
        check_equal(&p, &r.c, &want, "fp64");
        matrix_free(&r.c);
        matrix_free(&want);
        problem_free(&p);
    }
}

/* Leaves of a matrix what is at most 8 from its diagonal. */
static void keep_band(test_matrix *x)
{
    for (int64_t j = 0; j < x->cols; j++)
        for (int64_t i = 0; i < x->rows; i++)
            if (i > j + 8 || j > i + 8) *matrix_at(x, i, j) = 0.0;
}

/* An estimate that costs as much as binary64 leaves is made if a probe said so: of bands, whose
 * blocks of zeros are passed over, residues then cost a fraction. */
TEST(a_probe_is_believed)
{
    const td_prices alone = {.binary64 = 15 * 64,
                             .sums = 1,
                             .few = 14 * 64,
                             .more = 64,
                             .estimate = 64,
                             .is_unscaled = 1};
    td_prices probed = alone;
    probed.is_probed = 1;
    product of = product_varied("wide 2", 400, 390, 600, 0);
    of.op_a = of.op_b = TANDEM_OP_N;
    problem p = problem_make(&of);
    keep_band(&p.a);
    keep_band(&p.b);
    outcome r = run(&p, alone, 0), believed = run(&p, probed, 0);
    CHECK(r.counted.planes == 0, "%d moduli without a probe", (int)r.counted.planes);
    CHECK(believed.counted.planes > 0, "all in binary64 after a probe");
    check_errors(&p, &r.c);
    check_errors(&p, &believed.c);
    matrix_free(&r.c, &believed.c);
    problem_free(&p);
}

/* Products that leave binary64's range: as native ones, or scaled so that nothing is lost. */
TEST(binary64_as_it_is_or_scaled)
{
    static const char *const far[] = {"scattered", "vanishing", "far crossing"};
    for (size_t i = 0; i < sizeof far / sizeof *far; i++) {
        product of = product_varied(far[i], 150, 70, 200, 0);
        of.alpha = 1.0; /* sums below 2^-1022 are rounded before they are multiplied */
        problem p = problem_make(&of);
        outcome scaled = run(&p, free_binary64, 0), plain = run(&p, free_and_unscaled, 0);
        test_matrix want = sums_in_binary64(&p);
        check_errors(&p, &scaled.c);
        if (plain.counted.planes == 0) check_equal(&p, &plain.c, &want, "fp64");
        test_note("%s: %d moduli", far[i], (int)plain.counted.planes);
        matrix_free(&scaled.c, &plain.c, &want);
        problem_free(&p);
    }
}

TEST(binary64_at_any_price)
{
    for (int i = 0; i < KINDS; i++) {
        product of = product_varied(kinds[i], 150, 70, 200, i);
        of.alpha = 1.0;
        of.beta = 0.0;
        problem p = problem_make(&of);
        outcome r = run(&p, dear_binary64, 0);
        CHECK(r.counted.planes > 0, "all in binary64: %s", product_text(&of));
        check_errors(&p, &r.c);
        matrix_free(&r.c);
        problem_free(&p);
    }
}

/* Whatever the prices make the data choose, with a probe and without. Sums of elements as they are
 * do not leave binary64's range. */
TEST(any_prices_will_do)
{
    static const char *const data[] = {"uniform",  "both signs", "wide 1",   "wide 2",
                                       "wide 4",   "constant",   "graded",   "lines apart",
                                       "rising",   "crossing",   "zeros",    "cancelling",
                                       "one huge", "integers",   "wide 0.5", "circulant"};
    const uint64_t seed = test_seed();
    for (int i = 0; i < test_cases(200); i++) {
        test_random r = random_start(seed + (uint64_t)i);
        const char *const kind = data[random_int(&r, 0, sizeof data / sizeof *data - 1)];
        const int most = random_int(&r, 0, 1) ? 300 : 70;
        product of = product_varied(kind, random_int(&r, 1, most), random_int(&r, 1, most),
                                    random_int(&r, 1, 400), i);
        of.seed = seed + (uint64_t)i;
        problem p = problem_make(&of);
        soil_workspace((size_t)1 << 24);
        outcome got = run(&p, any_prices(&r), 0);
        check_errors(&p, &got.c);
        matrix_free(&got.c);
        problem_free(&p);
    }
}
