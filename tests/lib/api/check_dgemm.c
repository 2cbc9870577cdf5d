/* check_dgemm.c - every emulated mode through tandem_dgemm: bit for bit the plain C definition, and
 * near the exact product. NaN and infinities: ../../kernels/repair/check_special_values.c. */
#include "tests/support/test.h"

#include <math.h>
#include <string.h>

#include "include/tandem.h"
#include "tests/support/bits.h"
#include "tests/kernels/support/checked.h"
#include "tests/kernels/support/device.h"

/* The mode that the tests are running for. */
static const mode *tested;

static double check(const product *of) { return checked_product(tested, of); }

static test_matrix compute(const problem *p) { return checked_compute(tested, p); }

/* Of many products that differ in numbers alone sanitizers see some. */
static bool is_left_out(int i) { return test_is_brief() && i % 8 != 0; }

/* All transposes, sizes around the edges of blocks, tiles and superblocks, odd leading
 * dimensions. */
TEST(all_shapes)
{
    static const int sizes[] = {1, 64, 3, 65, 16, 63, 130, 17},
                     depths[] = {0,  1,  15,  16,  17,  31,  32,  33,   63,
                                 64, 65, 100, 511, 512, 513, 545, 1024, 1025};
    enum { SIZES = 8, DEPTHS = 18 };
    double worst = 0.0;
    for (int i = 0; i < DEPTHS; i++)
        for (int ops = 0; ops < 4; ops++) {
            if (is_left_out(i + ops) || (tested->is_variant && (i + ops) % 3)) continue;
            if (!mode_has_turn(tested, i + ops, 2)) continue;
            product of = product_plain("both signs", sizes[(3 * i + ops) % SIZES],
                                       sizes[(5 * i + 3 * ops + 1) % SIZES], depths[i]);
            product_set_ops(&of, ops);
            of.pad_a = (i + ops) % 4;
            of.pad_b = (i + 2 * ops) % 3;
            of.pad_c = (2 * i + ops) % 5;
            of.guard = i % 4;
            of.beta = i % 2 ? 0.7 : 0.0;
            worst = fmax(worst, check(&of));
        }
    test_note("worst error of all shapes: %s", test_power(worst));
}

TEST(empty_products)
{
    static const int sizes[][3] = {{0, 5, 5}, {5, 0, 5}, {0, 0, 0}, {5, 5, 0}, {0, 5, 0}};
    for (int i = 0; i < 5; i++)
        for (int beta = 0; beta < 3; beta++) {
            product of = product_plain("uniform", sizes[i][0], sizes[i][1], sizes[i][2]);
            of.guard = 3;
            of.pad_c = 2;
            of.beta = beta / 2.0;
            check(&of);
        }
}

TEST(tall_products)
{
    static const struct {
        int m, n, k;
    } shapes[] = {{1, 1, 16384}, {65, 1, 4096}, {5, 70, 2048}, {2, 3, 16383}, {2, 3, 70000}};
    enum { SHAPES = sizeof shapes / sizeof *shapes };
    static const char *const data[] = {"uniform", "wide 4", "constant", "worst constant"};
    if (tested->is_variant) return;
    for (int d = 0; d < (tested->format ? 4 : 1); d++) {
        double worst = 0.0;
        /* Found for df; slow on the host device. */
        if (tested->rounds_sum && d % 2 == 1) continue;
        if (test_is_brief() && d > 0) continue;
        for (int i = 0; i < SHAPES; i++) {
            if (test_is_brief() && i != 1) continue;
            if (!mode_has_turn(tested, i + d, 2)) continue;
            product of = product_plain(data[d], shapes[i].m, shapes[i].n, shapes[i].k);
            if (test_is_brief()) of.k = 1600;
            if (of.k > 16384 && d > 0) continue;
            if (of.k > 16384 && tested->rounds_sum) of.k = 20000;
            product_set_ops(&of, i + d);
            const double error = check(&of);
            if (of.k <= 16384) worst = fmax(worst, error);
        }
        test_note("worst error to k = 16384 of %s: %s", data[d], test_power(worst));
    }
}

TEST(all_scalars)
{
    static const double alphas[] = {0.0, 1.0, -1.0, 1.7, -0x1p-300, 0x1p600, 0x1p-1074};
    static const double betas[] = {0.0, 1.0, -1.0, -0.3, 0x1p-1000};
    for (int i = 0; i < 7; i++)
        for (int j = 0; j < 5; j++) {
            if (is_left_out(i + j) || !mode_has_turn(tested, i + j, 2)) continue;
            product of = product_plain("both signs", 19, 66, 40);
            product_set_ops(&of, i + j);
            of.alpha = alphas[i];
            of.beta = betas[j];
            of.pad_c = 1;
            of.guard = 1;
            check(&of);
        }
}

TEST(all_distributions)
{
    static const struct {
        int m, n, k;
    } shapes[] = {{33, 34, 100}, {66, 20, 530}, {9, 7, 1100}};
    for (int d = 0; d < distribution_count; d++) {
        double worst = 0.0;
        if (is_left_out(d) || (tested->is_variant && !mode_has_turn(tested, d, 2))) continue;
        if (distributions[d].overflows && strcmp(tested->name, "fp64") == 0) continue;
        for (int i = 0; i < (tested->is_variant || test_is_brief() ? 1 : 3); i++) {
            if (!tested->is_variant && !mode_has_turn(tested, d + i, 3)) continue;
            product of =
                product_plain(distributions[d].name, shapes[i].m, shapes[i].n, shapes[i].k);
            product_set_ops(&of, d + i);
            of.seed = (uint64_t)(100 + d);
            of.alpha = i ? -1.0 : 1.0;
            of.beta = i == 1 ? 0.5 : 0.0;
            worst = fmax(worst, check(&of));
        }
        test_note("worst error of %s: %s", distributions[d].name, test_power(worst));
    }
}

/* The rounded product is taken away: errors of the sums show, of repaired elements too. They are of
 * the mode's size. */
TEST(errors_show_in_what_is_left)
{
    static const char *const data[] = {"uniform",   "both signs", "wide 2",      "constant",
                                       "scattered", "crossing",   "far crossing"};
    static const int depths[] = {1, 16, 100, 512, 1025, 4096, 16384};
    double overall = 0.0;
    if (tested->is_variant) return;
    for (int d = 0; d < 7; d++) {
        double worst = 0.0;
        for (int i = 0; i < 7; i++) {
            product of = product_plain(data[d], 7, 5, depths[i]);
            if (of.k > 1025 && d % 3 != 0) continue; /* it takes long */
            if (test_is_brief() && (d % 3 != 0 || (i != 1 && i != 3))) continue;
            if (of.k > 4096 && d > 0) continue;
            if (d > 0 && !mode_has_turn(tested, d + i, 2)) continue;
            of.seed = (uint64_t)(200 + i);
            of.alpha = i % 2 ? 1.0 : 1.7;
            of.beta = -1.0;
            of.takes_product = true;
            worst = fmax(worst, check(&of));
        }
        test_note("worst error of %s less its product: %s", data[d], test_power(worst));
        if (d < 4) overall = fmax(overall, worst);
    }
    CHECK(!tested->format || overall > tested->bound * 0x1p-8, "better than the mode can be: %s",
          test_power(overall));
}

/* What a mode with longer sums is for: of random matrices, all but one element in a thousand are
 * the nearest to exact. Of exact modes, all. */
TEST(most_elements_are_correctly_rounded)
{
    static const char *const data[] = {"uniform", "both signs", "wide 1"};
    static const int sizes[][2] = {{64, 10}, {64, 100}, {64, 1000}, {32, 4096}, {24, 8192}};
    if (!tested->rounds_sum && !tested->is_exact) return;
    int64_t elements = 0, wrong = 0;
    for (int d = 0; d < 3; d++)
        for (int i = 0; i < (test_is_brief() ? 2 : d > 0 ? 3 : 5); i++) {
            if (d > 0 && !mode_has_turn(tested, d + i, 2)) continue;
            product of = product_plain(data[d], sizes[i][0], sizes[i][0], sizes[i][1]);
            of.seed = (uint64_t)(300 + i);
            problem p = problem_make(&of);
            test_matrix c = compute(&p);
            const ref_gemm gemm = problem_gemm(&p, &p.c);
            int here = 0;
            for (int64_t j = 0; j < of.n; j++)
                for (int64_t l = 0; l < of.m; l++) {
                    const double x = *matrix_at(&c, l, j);
                    here += x != ref_measure(&gemm, l, j, x).nearest;
                }
            CHECK(1000 * here <= (tested->is_exact ? 0 : of.m * of.n),
                  "%d of %d elements are not: %s", here, (int)(of.m * of.n), product_text(&of));
            elements += of.m * of.n;
            wrong += here;
            matrix_free(&c);
            problem_free(&p);
        }
    test_note("%d of %d elements are not correctly rounded", (int)wrong, (int)elements);
}

/* The comparison that everything rests on notices one flipped bit on the device. */
TEST(a_flipped_bit_is_seen)
{
    product of = product_plain("uniform", 40, 50, 60);
    problem p = problem_make(&of);
    test_matrix good = compute(&p);
    const int bit = tested->is_variant ? 50 : 20; /* they may have few bits */
    *matrix_at(&p.a, 39, 59) = double_of(bits_of(*matrix_at(&p.a, 39, 59)) ^ UINT64_C(1) << bit);
    test_matrix bad = compute(&p);
    const int64_t at = matrix_difference(&good, &bad);
    CHECK(at >= 0 && at % 40 == 39, "another A gives the same C, or another row of it (%d)",
          (int)at);
    CHECK(matrix_hash(&good) != matrix_hash(&bad), "and the same hash");
    matrix_free(&good, &bad);
    problem_free(&p);
}

int main(void) { return mode_run_tests(&tested, (test_group){0}); }
