/* check_estimate.c - what the estimate of abs(A)abs(B) decides, and what becomes of what it leaves:
 * matrices such as programs multiply, and elements planted so that tiles are open in every pattern.
 * Bits are those of the definition, and every element keeps the documented bound. */
#include "tests/support/test.h"

#include <math.h>
#include <stdlib.h>

#include "tests/kernels/support/checked.h"
#include "tests/kernels/support/device.h"

enum { SEED = 1200, TILE = 64 };

static const char *const names[] = {"ozaki2", "ozaki1", "ozaki-sgemm"};

/* op(A) is m x k, op(B) k x n; elements by (line, l). */
typedef double (*element)(test_random *r, int64_t line, int64_t l, int64_t k);

enum { TRANSPOSED_A = 1, TRANSPOSED_B = 2 };

typedef struct {
    int64_t m, n, k;
    element a, b;
    int transposed;
} planted;

static problem make(const planted *of, uint64_t seed)
{
    const product p = {.data = "uniform",
                       .op_a = of->transposed & TRANSPOSED_A ? TANDEM_OP_T : TANDEM_OP_N,
                       .op_b = of->transposed & TRANSPOSED_B ? TANDEM_OP_T : TANDEM_OP_N,
                       .m = of->m,
                       .n = of->n,
                       .k = of->k,
                       .alpha = of->transposed ? -1.5 : 1.0,
                       .beta = of->transposed ? 0.5 : 0.0,
                       .seed = seed};
    problem q = problem_make(&p);
    test_random r = random_start(seed);
    for (int64_t i = 0; i < of->m; i++)
        for (int64_t l = 0; l < of->k; l++)
            *(of->transposed & TRANSPOSED_A ? matrix_at(&q.a, l, i) : matrix_at(&q.a, i, l)) =
                of->a(&r, i, l, of->k);
    for (int64_t j = 0; j < of->n; j++)
        for (int64_t l = 0; l < of->k; l++)
            *(of->transposed & TRANSPOSED_B ? matrix_at(&q.b, j, l) : matrix_at(&q.b, l, j)) =
                of->b(&r, j, l, of->k);
    return q;
}

static checked check(const char *name, const planted *of, uint64_t seed)
{
    const mode m = mode_of_family(name);
    checked seen = {0};
    problem p = make(of, seed);
    checked_problem(&m, &p, &seen);
    problem_free(&p);
    return seen;
}

/* ---- matrices of programs ---- */

/* Numbers of one kind: the value of element l of k of a line. */
#define NUMBERS(name, value)                                                                       \
    static double name(test_random *r, int64_t line, int64_t l, int64_t k)                         \
    {                                                                                              \
        (void)line, (void)l, (void)k;                                                              \
        return value;                                                                              \
    }

NUMBERS(normal, random_normal(r))

static double lower(test_random *r, int64_t line, int64_t l, int64_t k)
{
    (void)k;
    const double x = random_normal(r);
    return l < line ? x / 8 : l == line ? 4.0 + fabs(x) : 0.0;
}

/* A kernel of neighbours, and a ridge. */
static double kernel(test_random *r, int64_t line, int64_t l, int64_t k)
{
    const double apart = (double)(line - l) / (double)k;
    return exp(-40.0 * apart * apart) * (1.0 + 1e-3 * random_uniform(r)) + (line == l ? 0.1 : 0.0);
}

/* Rows z / (d - lambda) of a secular equation. */
static double secular(test_random *r, int64_t line, int64_t l, int64_t k)
{
    return (random_uniform(r) + 0.1) / ((double)(l - line) - 0.3) / (double)k;
}

NUMBERS(localised, random_normal(r) * exp(-0.3 * fabs((double)(l - 3 * line))))

/* So many moduli are worth while only because half of the blocks are zeros. */
static double wide_lower(test_random *r, int64_t line, int64_t l, int64_t k)
{
    (void)k;
    const double x = random_normal(r);
    return l > line ? 0.0 : x * exp(2.4 * random_normal(r));
}

static double panel(test_random *r, int64_t line, int64_t l, int64_t k)
{
    (void)k;
    const double x = random_normal(r);
    return line > l ? x : line == l ? 1.0 : 0.0;
}

NUMBERS(sparse, random_int(r, 0, 19) ? 0.0 : random_normal(r))

TEST(matrices_of_programs)
{
    static const struct {
        const char *name;
        planted of;
    } kinds[] = {{"L L'", {150, 140, 150, lower, lower, 0}},
                 {"L L', blocks of zeros", {200, 70, 300, lower, lower, TRANSPOSED_A}},
                 {"wide L L'", {256, 252, 256, wide_lower, wide_lower, 0}},
                 {"K K", {130, 90, 200, kernel, kernel, TRANSPOSED_A}},
                 {"Q U", {70, 130, 160, normal, secular, 0}},
                 {"localised", {66, 130, 200, localised, normal, TRANSPOSED_A}},
                 {"V' C", {40, 150, 190, panel, normal, TRANSPOSED_A}},
                 {"V W", {190, 70, 33, panel, normal, 0}},
                 {"sparse", {130, 130, 300, sparse, sparse, 0}}};
    const int count = test_is_brief() ? 3 : 9;
    for (int i = 0; i < count; i++)
        for (int n = 0; n < (test_is_brief() ? 1 : 3); n++) {
            const checked seen = check(names[n], &kinds[i].of, SEED + (uint64_t)i);
            test_note("%s, %s: %d, %d repaired, error %s", names[n], kinds[i].name, seen.parameter,
                      (int)seen.repaired, test_power(seen.error));
        }
}

/* Factors of a discretised equation: a band of numbers, so small at its edge that lines are
 * rounded. */
static double band(test_random *r, int64_t line, int64_t l, int64_t k)
{
    (void)k;
    const double x = random_normal(r);
    const int64_t away = llabs(l - line);
    return away > 20 ? 0.0 : away == 20 ? ldexp(x, -60) : x;
}

/* As band(), of lines in the other order. */
static double band_from_the_end(test_random *r, int64_t line, int64_t l, int64_t k)
{
    return band(r, k - 1 - line, l, k);
}

/* Elements of tiles whose lines have no numbers at the same elements of k are 0, which is certain:
 * the other tiles decide how many moduli there are. */
TEST(bands_that_do_not_meet)
{
    static const planted of[] = {{590, 570, 2050, band, band, 0},
                                 {560, 590, 2060, band, band_from_the_end, TRANSPOSED_A},
                                 {130, 600, 4500, band_from_the_end, band, TRANSPOSED_B}};
    if (test_is_brief()) return; /* k has to be long for an estimate of so many lines */
    for (int i = 0; i < 3; i++)
        for (int n = 0; n < (i == 0 ? 3 : 1); n++) {
            if (!test_takes(n, 2)) continue;
            const checked seen = check(names[n], &of[i], SEED + (uint64_t)i);
            test_note("%s: %d, %d repaired", names[n], seen.parameter, (int)seen.repaired);
            if (n > 0) continue; /* slices certify less */
            CHECK(seen.parameter > 0, "all is left to binary64");
            CHECK(seen.repaired < of[i].m * of[i].n / 2, "%d of %d repaired", (int)seen.repaired,
                  (int)(of[i].m * of[i].n));
        }
}

/* ---- open elements where they are planted ---- */

/* Lines that `opens` says hold elements of two sizes, 2^120 apart, where one operand's large ones
 * meet zeros of the other: only what is small is left of their products. */
static bool (*opens)(int64_t line);

static double hides_in_front(test_random *r, int64_t line, int64_t l, int64_t k)
{
    const double x = random_normal(r);
    if (!opens(line)) return x;
    return l < k / 4 ? ldexp(x, 60) : l < k / 2 ? 0.0 : ldexp(x, -60);
}

static double hides_behind(test_random *r, int64_t line, int64_t l, int64_t k)
{
    const double x = random_normal(r);
    if (!opens(line)) return x;
    return l < k / 4 ? 0.0 : l < k / 2 ? ldexp(x, 60) : ldexp(x, -60);
}

static bool one_of_each_tile(int64_t line) { return line % TILE == 5; }
static bool every_other(int64_t line) { return line % 2 == 0; }
static bool five_of_each_tile(int64_t line) { return line % TILE < 5; }
static bool none(int64_t line) { return line < 0; }
static bool all(int64_t line) { return line >= 0; }

/* Elements that both lines open, and what the mode may have repaired: at least these. */
static void check_pattern(bool (*pattern)(int64_t), int64_t m, int64_t n, int transposed,
                          const char *what)
{
    const planted of = {m, n, 96, hides_in_front, hides_behind, transposed};
    int64_t lines[2] = {0, 0};
    opens = pattern;
    for (int64_t i = 0; i < m; i++) lines[0] += pattern(i);
    for (int64_t j = 0; j < n; j++) lines[1] += pattern(j);
    for (int k = 0; k < (test_is_brief() ? 1 : 3); k++) {
        const checked seen = check(names[k], &of, SEED + 50);
        test_note("%s, %s: %d, %d repaired", names[k], what, seen.parameter, (int)seen.repaired);
        CHECK(seen.repaired >= lines[0] * lines[1], "%s, %s: only %d of %d repaired", names[k],
              what, (int)seen.repaired, (int)(lines[0] * lines[1]));
        if (pattern == none) CHECK(seen.repaired == 0, "%s repairs normal numbers", names[k]);
        if (pattern == all && k == 0)
            CHECK(seen.parameter == 0, "%d moduli though all is open", seen.parameter);
    }
}

TEST(tiles_open_in_patterns)
{
    check_pattern(none, 70, 65, 0, "none");
    check_pattern(one_of_each_tile, 200, 130, 0, "one of each tile");
    check_pattern(five_of_each_tile, 130, 130, TRANSPOSED_A, "25 of each tile");
    if (test_is_brief()) return;
    check_pattern(every_other, 130, 140, 0, "every other line");
    check_pattern(all, 130, 70, TRANSPOSED_A, "all");
    check_pattern(all, 67, 132, 0, "all, a tile of 12 among them");
    check_pattern(all, 1, 300, 0, "all of a row");
}

/* As hides_in_front, of small numbers: sums are subnormal, and binary64 has room for their products
 * only if lines are scaled. */
static double small_in_front(test_random *r, int64_t line, int64_t l, int64_t k)
{
    return ldexp(hides_in_front(r, line, l, k), l < k / 2 ? -360 : -470);
}

static double small_behind(test_random *r, int64_t line, int64_t l, int64_t k)
{
    return ldexp(hides_behind(r, line, l, k), l < k / 2 ? -360 : -450);
}

/* Some elements of k are smaller, which shifts along k make up for: normal numbers, or subnormal
 * ones that are normal when scaled. */
static double uneven_in_front(test_random *r, int64_t line, int64_t l, int64_t k)
{
    return l % 40 == 3 ? ldexp(random_normal(r), -700) : small_in_front(r, line, l, k);
}

static double subnormal_in_front(test_random *r, int64_t line, int64_t l, int64_t k)
{
    return l % 40 == 3 ? ldexp(random_normal(r), -1060) : small_in_front(r, line, l, k);
}

TEST(all_are_left_to_scaled_sums)
{
    opens = all;
    for (int form = 0; form < 2; form++) {
        const planted of = {130, 90, 128, small_in_front, small_behind, form};
        const checked seen = check(names[0], &of, SEED + 60 + (uint64_t)form);
        CHECK(seen.parameter == 0, "%d moduli though all is open", seen.parameter);
        CHECK(seen.repaired == of.m * of.n, "%d of all repaired", (int)seen.repaired);
    }
}

/* Products large enough for copies in boxes, of operands that allow them, but for the last, in all
 * layouts; scaled, too. */
TEST(all_of_larger_products)
{
    static const planted products[] = {
        {130, 132, 130, hides_in_front, hides_behind, 0},
        {130, 132, 130, hides_in_front, hides_behind, TRANSPOSED_A | TRANSPOSED_B},
        {132, 130, 130, small_in_front, small_behind, TRANSPOSED_A},
        {132, 130, 130, uneven_in_front, small_behind, TRANSPOSED_B},
        {130, 132, 130, subnormal_in_front, small_behind, TRANSPOSED_B},
        {133, 131, 131, hides_in_front, hides_behind, TRANSPOSED_B}};
    opens = all;
    for (int i = 0; i < (test_is_brief() ? 1 : 6); i++) {
        const planted *const of = &products[i];
        const checked seen = check(names[0], of, SEED + 70 + (uint64_t)i);
        CHECK(seen.repaired == of->m * of->n, "%d of all repaired", (int)seen.repaired);
    }
}

/* All of abs(A)abs(B) is one pair of elements that are below their lines' units: nothing of it is
 * seen. */
static double unseen(test_random *r, int64_t line, int64_t l, int64_t k)
{
    (void)line;
    if (l == k - 1) return ldexp(1.0 + random_uniform(r), -60);
    return l % 2 ? random_normal(r) : 0.0;
}

static double unseen_too(test_random *r, int64_t line, int64_t l, int64_t k)
{
    (void)line;
    if (l == k - 1) return ldexp(1.0 + random_uniform(r), -60);
    return l % 2 ? 0.0 : random_normal(r);
}

TEST(what_the_estimate_does_not_see)
{
    const planted of = {90, 70, 99, unseen, unseen_too, 0};
    for (int n = 0; n < 3; n++) {
        const checked seen = check(names[n], &of, SEED + 80);
        CHECK(seen.repaired == of.m * of.n, "%s repaired %d", names[n], (int)seen.repaired);
    }
}

/* Sums over more than one part of k. */
TEST(sums_in_parts)
{
    static const int depths[] = {16384, 16385, 40000};
    for (int i = test_is_brief() ? 1 : 0; i < (test_is_brief() ? 2 : 3); i++) {
        const planted of = {3, 5, depths[i], sparse, sparse, i == 1};
        const checked seen = check("ozaki2", &of, SEED + 90);
        test_note("k = %d: %d moduli, %d repaired", depths[i], seen.parameter, (int)seen.repaired);
    }
}

/* Of so many products that magnitudes are made by a kernel of their own. */
TEST(of_larger_products)
{
    const planted of = {
        test_is_brief() ? 3 : 129, test_is_brief() ? 3 : 128, 16384, sparse, sparse, TRANSPOSED_B};
    const checked seen = check("ozaki2", &of, SEED + 91);
    CHECK(test_is_brief() || of.m * of.n * of.k > 1 << 28, "not large");
    test_note("%d moduli, %d repaired", seen.parameter, (int)seen.repaired);
}

/* The deviation of the elements' natural logarithms. */
static double deviation;
NUMBERS(lognormal, random_normal(r) * exp(deviation * random_normal(r)))

/* The wider elements spread, the more moduli lines ask for, until the estimate decides. */
TEST(lines_choose)
{
    static const int depths[] = {600, 2049}; /* two moduli more; one more */
    for (int d = 0; d < (test_is_brief() ? 1 : 2); d++) {
        unsigned parameters = 0;
        for (int i = 0; i < 6; i++) {
            const planted of = {70, 20, depths[d], lognormal, lognormal, i % 2};
            deviation = 0.4 * i;
            const checked seen = check("ozaki2", &of, SEED + 95 + (uint64_t)i);
            test_note("k = %d, deviation %g: %d moduli, %d repaired", depths[d], deviation,
                      seen.parameter, (int)seen.repaired);
            parameters |= 1u << seen.parameter;
        }
        CHECK((parameters >> 14 & 7) == (d ? 6 : 7), "k = %d: moduli %x", depths[d], parameters);
    }
}
