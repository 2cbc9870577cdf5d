#include "cases.h"

#include "../support/bits.h"
#include "../support/random.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

#define OPERATION_NAME(function) "td_" #function,
const char *const operation_names[OPERATION_COUNT] = {OPERATIONS(OPERATION_NAME)};

typedef struct {
    operation which;
    test_random random;
    case_visitor visit;
    void *context;
} tour;

static void visit(const tour *t, const operation_in *in) { t->visit(in, t->context); }

/* Binary32 corners: all signs, significands and exponents; subnormals, zeros, infinities and NaN. */

static const uint32_t significands[] = {0x800000, 0x800001, 0x800800, 0xaaaaab, 0xb504f3,
                                        0xc00000, 0xfff001, 0xfffffe, 0xffffff};
static const int exponents[] = {-126, -103, -102, -101, -79, -78, -52, -51, -25, -24, -23, -2,
                                -1,   0,    1,    22,   23,  24,  25,  50,  63,  64,  126, 127};
static const uint32_t other_bits[] = {0,          1,          2,          0x003fffff,
                                      0x00400000, 0x007fffff, 0x7f800000, 0x7fc00000};
enum {
    NORMAL_CORNERS = COUNT(significands) * COUNT(exponents),
    CORNERS = 2 * (NORMAL_CORNERS + COUNT(other_bits))
};

static float corner(int index)
{
    const uint32_t sign = index % 2 ? 0x80000000u : 0;
    index /= 2;
    if (index >= NORMAL_CORNERS) return float_of(sign | other_bits[index - NORMAL_CORNERS]);
    const int e = exponents[index / COUNT(significands)];
    return float_of(sign | (uint32_t)(e + 127) << 23 |
                    (significands[index % COUNT(significands)] & 0x7fffff));
}

static float random_float(test_random *r, int low, int high)
{
    const uint32_t fraction = (uint32_t)random_bits(r) & 0x807fffff;
    return float_of(fraction | (uint32_t)(random_int(r, low, high) + 127) << 23);
}

static void visit_floats(tour *t, int random_count)
{
    operation_in in = {0};
    for (int i = 0; i < CORNERS; i++)
        for (int j = 0; j < CORNERS; j++) {
            in.a.hi = corner(i);
            in.b.hi = corner(j);
            visit(t, &in);
        }
    for (int i = 0; i < random_count; i++) {
        in.a.hi = random_float(&t->random, -60, 60);
        in.b.hi = random_float(&t->random, -60, 60);
        if (i % 4 == 0) in.b.hi = -in.a.hi + random_float(&t->random, -60, 40); /* cancels */
        visit(t, &in);
    }
}

/* Double-float corners: upper parts, and lower parts up to both ends of what they may be. */

static const uint32_t upper[] = {0x800000, 0x800001, 0xaaaaab, 0xc00000, 0xffffff};
static const float lower[] = {
    0.0f,      0x1p-1f,  0x1.fffffep-2f, 0x1p-2f,       -0x1p-1f,       -0x1.fffffep-2f,
    -0x1p-2f,  0x1p-13f, -0x1.555556p-4, 0x1.aaaaaap-3, 0x1.000002p-9f, -0x1.fffffep-3f,
    -0x1p-30f,
}; /* in units in the last place of the upper part */
enum { PAIR_CORNERS = 2 * COUNT(upper) * COUNT(lower) };

/* True if hi is hi + lo rounded to nearest; ties that round away are no double-float. */
static int is_normalised(float hi, float lo) { return (float)((double)hi + (double)lo) == hi; }

/* Corner `index` times 2^e, or a pair that is not normalised. */
static tandem_df pair_corner(int index, int e)
{
    const float sign = index % 2 ? -1.0f : 1.0f, unit = td_exp2(e - 23);
    index /= 2;
    const float hi = (float)upper[index / COUNT(lower)], lo = lower[index % COUNT(lower)];
    return td_df(sign * hi * unit, sign * lo * unit);
}

/* A normalised pair of some exponent, its lower part often at an end of its range. */
static tandem_df random_pair(test_random *r, int low, int high)
{
    for (;;) {
        const float hi = random_float(r, low, high), half = td_exp2(ilogbf(hi) - 24);
        float lo = (float)(2.0 * random_uniform(r) - 1.0) * half;
        if (random_int(r, 0, 3) == 0) lo = half * (1.0f - td_exp2(-random_int(r, 1, 24)));
        if (random_int(r, 0, 7) == 0) lo *= td_exp2(-random_int(r, 1, 30));
        if (random_int(r, 0, 1)) lo = -lo;
        if (is_normalised(hi, lo)) return td_df(hi, lo);
    }
}

static void visit_pair_corners(tour *t)
{
    static const int steps[] = {-60, -49, -48, -47, -25, -24, -23, -12, -2, -1, 0,
                                1,   2,   11,  23,  24,  25,  47,  48,  49, 60};
    operation_in in = {0};
    for (int s = 0; s < COUNT(steps); s++)
        for (int i = 0; i < PAIR_CORNERS; i++)
            for (int j = 0; j < PAIR_CORNERS; j++) {
                in.a = pair_corner(i, 0);
                in.b = pair_corner(j, steps[s]);
                in.c = pair_corner((i + 7 * j) % PAIR_CORNERS, steps[(s + i + j) % COUNT(steps)]);
                if (is_normalised(in.a.hi, in.a.lo) && is_normalised(in.b.hi, in.b.lo) &&
                    is_normalised(in.c.hi, in.c.lo))
                    visit(t, &in);
            }
}

/* Makes c cancel most of a or of a b. */
static void cancel(tour *t, operation_in *in)
{
    const tandem_df product = td_df_mul(in->a, in->b);
    if (t->which == OPERATION_df_add) in->b = td_df(-in->a.hi, -in->a.lo);
    tandem_df *other = t->which == OPERATION_df_add ? &in->b : &in->c;
    if (t->which != OPERATION_df_add) *other = td_df(-product.hi, -product.lo);
    if (random_int(&t->random, 0, 1))
        other->hi = nextafterf(other->hi, random_int(&t->random, 0, 1) ? 1e30f : -1e30f);
    if (random_int(&t->random, 0, 1)) other->lo = random_pair(&t->random, -60, -26).hi;
    if (!is_normalised(other->hi, other->lo)) other->lo = 0.0f;
}

static void visit_pairs(tour *t, int random_count)
{
    operation_in in = {0};
    visit_pair_corners(t);
    for (int i = 0; i < random_count; i++) {
        const int spread = i % 3 == 0 ? 2 : 35;
        in.a = random_pair(&t->random, -spread, spread);
        in.b = random_pair(&t->random, -spread, spread);
        in.c = random_pair(&t->random, -spread, spread);
        if (i % 4 == 0) cancel(t, &in);
        visit(t, &in);
    }
}

/* Pairs whose parts overlap or lie far apart too: the join takes what it gets. */
static void visit_joins(tour *t, int random_count)
{
    operation_in in = {0};
    visit_pair_corners(t);
    for (int i = 0; i < CORNERS; i++)
        for (int j = 0; j < CORNERS; j++) {
            in.a = td_df(corner(i), corner(j));
            visit(t, &in);
        }
    for (int i = 0; i < random_count; i++) {
        in.a = td_df(random_float(&t->random, -126, 127), random_float(&t->random, -126, 127));
        visit(t, &in);
    }
}

/* Binary64 */

static const uint64_t fractions[] = {
    0, /* the last 29 bits are what a binary32 rounds away: ties with an even and with an odd rest */
    1,
    0xfffffffffffff,
    0x0000010000000,
    0x0000030000000,
    0x000000fffffff,
    0x0000010000001,
    0x000000fffffe0,
    0x0000010000020,
    0xfffffe0000000,
    0xfffffefffffff,
    0xffffff0000000,
    0x5555555555555,
    0xaaaaaaaaaaaaa,
    0x0000008000008,
    0x0000007fffff8,
    0x8000000000001,
    0x0000001000009,
    0x0000000800005};

static double random_double(test_random *r, int low, int high)
{
    const uint64_t fraction = random_bits(r) & UINT64_C(0x800fffffffffffff);
    return double_of(fraction | (uint64_t)(random_int(r, low, high) + 1023) << 52);
}

/* The split of x with its scaled exponent at `scaled`, if there is such an e. */
static void visit_split(tour *t, double x, int scaled)
{
    operation_in in = {.x = x};
    const int e = td_exponent64(bits_of(x)) - scaled;
    if (e < -1074 || e > 1023) return;
    in.e = e;
    visit(t, &in);
}

static void visit_splits(tour *t, int random_count)
{
    static const int scaled[] = {0,     -1,   -23,  -24,  -72,  -73,  -74,  -75,  -95,  -96,  -97,
                                 -98,   -99,  -100, -101, -102, -103, -104, -124, -125, -126, -127,
                                 -148,  -149, -150, -151, -152, -177, -178, -179, -180, -300, -1000,
                                 -2000, 1,    60,   126,  127,  128,  200,  1000, 2000};
    for (uint64_t field = 0; field < 2048; field++)
        for (int f = 0; f < COUNT(fractions); f++) {
            operation_in in = {.x =
                                   double_of((uint64_t)(f % 2) << 63 | field << 52 | fractions[f])};
            visit(t, &in);
            if (field % 64 > 2 && field < 2045 && f > 3) continue;
            if (field == 2047 || (field == 0 && fractions[f] == 0)) continue;
            for (int s = 0; s < COUNT(scaled); s++) visit_split(t, in.x, scaled[s]);
        }
    for (int i = 0; i < 52; i++) /* subnormal numbers of every length */
        for (int s = 0; s < COUNT(scaled); s++) {
            visit_split(t, double_of(UINT64_C(1) << i), scaled[s]);
            visit_split(t, double_of((UINT64_C(2) << i) - 1), scaled[s]);
        }
    for (int i = 0; i < random_count; i++)
        visit_split(t, random_double(&t->random, -1022, 1023), random_int(&t->random, -185, 130));
}

static void visit_exponents(tour *t)
{
    operation_in in = {0};
    for (uint64_t field = 0; field < 2047; field++)
        for (int f = field == 0; f < COUNT(fractions); f++) {
            in.x = double_of((uint64_t)(f % 2) << 63 | field << 52 | fractions[f]);
            visit(t, &in);
        }
    for (int i = 0; i < 52; i++) {
        in.x = double_of(UINT64_C(1) << i);
        visit(t, &in);
    }
}

static void visit_powers(tour *t, int low, int high)
{
    operation_in in = {0};
    for (in.e = low; in.e <= high; in.e++) visit(t, &in);
}

/* td_scale64: results around all ends of binary64, ties at the last subnormal bit among them. */
static void visit_scales(tour *t, int random_count)
{
    static const int results[] = {-1300, -1100, -1077, -1076, -1075, -1074, -1073,
                                  -1072, -1060, -1030, -1024, -1023, -1022, -1021,
                                  -1000, 0,     1000,  1022,  1023,  1024};
    operation_in in = {0};
    for (int x = -200; x < 200; x += 19)
        for (int f = 0; f < COUNT(fractions); f++)
            for (int s = 0; s < COUNT(results); s++) {
                in.x =
                    double_of((uint64_t)(f % 2) << 63 | (uint64_t)(x + 1023) << 52 | fractions[f]);
                in.e = results[s] - x;
                visit(t, &in);
            }
    for (int i = 0; i < random_count; i++) {
        in.x = random_double(&t->random, -200, 199);
        if (i % 3 == 0) /* short numbers make ties */
            in.x = double_of(bits_of(in.x) & ~((UINT64_C(1) << random_int(&t->random, 1, 52)) - 1));
        in.e = i % 2 ? random_int(&t->random, -2148, 2046)
                     : random_int(&t->random, -1080, -1015) - ilogb(in.x);
        visit(t, &in);
    }
    in.x = 0.0;
    for (in.e = -2148; in.e <= 2046; in.e++) visit(t, &in);
}

void cases_visit(operation which, uint64_t seed, int random_count, case_visitor visitor,
                 void *context)
{
    tour t = {which, random_start(seed ^ (uint64_t)which << 32), visitor, context};
    switch (which) {
    case OPERATION_two_sum:
    case OPERATION_fast_two_sum:
    case OPERATION_two_prod:
        visit_floats(&t, random_count);
        break;
    case OPERATION_exp2:
        visit_powers(&t, -149, 127);
        break;
    case OPERATION_exp2_64:
        visit_powers(&t, -1074, 1023);
        break;
    case OPERATION_scale64:
        visit_scales(&t, random_count);
        break;
    case OPERATION_exponent64:
        visit_exponents(&t);
        break;
    case OPERATION_df_add:
    case OPERATION_df_mul:
    case OPERATION_df_fma:
    case OPERATION_df_accumulate:
    case OPERATION_df_start:
    case OPERATION_df_flush:
        visit_pairs(&t, random_count);
        break;
    case OPERATION_df_split:
        visit_splits(&t, random_count);
        break;
    case OPERATION_df_renormalise:
    case OPERATION_df_join:
        visit_joins(&t, random_count);
        break;
    case OPERATION_COUNT:
        break;
    }
}
