#include "cases.h"

#include "tests/support/bits.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

/* What a function's arguments are. */
typedef enum {
    REALS,   /* two numbers of one part, special ones too */
    NUMBERS, /* three normalised numbers */
    PARTS,   /* one number whose parts may overlap, or lie far apart, or be special */
    SPLITS,  /* binary64 and an exponent to scale by */
    BITS,    /* binary64 */
    POWERS,  /* an exponent */
    SCALES,  /* a number of one part and an exponent */
    AXPBY    /* see operation_in */
} case_kind;

#define OPERATION_NAME(function, kind, format)   #function,
#define OPERATION_KIND(function, kind, format)   kind,
#define OPERATION_FORMAT(function, kind, format) format,
const char *const operation_names[OPERATION_COUNT] = {OPERATIONS(OPERATION_NAME)};
const format_id operation_formats[OPERATION_COUNT] = {OPERATIONS(OPERATION_FORMAT)};
static const case_kind kinds[OPERATION_COUNT] = {OPERATIONS(OPERATION_KIND)};

typedef struct {
    operation which;
    format_id format;
    test_random random;
    case_visitor visit;
    void *context;
} tour;

static void visit(const tour *t, const operation_in *in) { t->visit(in, t->context); }

/* Corners of numbers of one part: all signs, significands and exponents; subnormals, zeros,
 * infinities and NaN. */

static const uint32_t significands32[] = {0x800000, 0x800001, 0x800800, 0xaaaaab, 0xb504f3,
                                          0xc00000, 0xfff001, 0xfffffe, 0xffffff};
static const int exponents32[] = {-126, -103, -102, -101, -79, -78, -52, -51, -25, -24, -23, -2,
                                  -1,   0,    1,    22,   23,  24,  25,  50,  63,  64,  126, 127};
static const uint32_t others32[] = {0,          1,          2,          0x003fffff,
                                    0x00400000, 0x007fffff, 0x7f800000, 0x7fc00000};

static const uint64_t significands64[] = {0x10000000000000, 0x10000000000001, 0x10000001000000,
                                          0x15555555555555, 0x16a09e667f3bcd, 0x18000000000000,
                                          0x1ffffffc000001, 0x1ffffffffffffe, 0x1fffffffffffff};
static const int exponents64[] = {-1022, -970, -969, -968, -510, -485, -484, -108,
                                  -107,  -54,  -53,  -52,  -2,   -1,   0,    1,
                                  51,    52,   53,   54,   511,  512,  1022, 1023};
static const uint64_t others64[] = {
    0,
    1,
    2,
    0x0007ffffffffffff,
    0x0008000000000000,
    0x000fffffffffffff,
    0x7ff0000000000000,
    0x7ff8000000000000,
};

enum {
    NORMAL_CORNERS = COUNT(significands32) * COUNT(exponents32),
    CORNERS = 2 * (NORMAL_CORNERS + COUNT(others32))
};
_Static_assert(COUNT(significands32) == COUNT(significands64) &&
                   COUNT(exponents32) == COUNT(exponents64) && COUNT(others32) == COUNT(others64),
               "corners of both formats go by the same numbers");

static double corner(int bits, int index)
{
    const double sign = index % 2 ? -1.0 : 1.0;
    index /= 2;
    const int is_normal = index < NORMAL_CORNERS, other = index - NORMAL_CORNERS;
    const int s = index / COUNT(exponents32), e = index % COUNT(exponents32);
    if (bits == 24)
        return is_normal ? sign * ldexp(significands32[s], exponents32[e] - 23)
                         : sign * (double)float_of(others32[other]);
    return is_normal ? sign * ldexp((double)significands64[s], exponents64[e] - 52)
                     : sign * double_of(others64[other]);
}

static void visit_reals(tour *t, int random_count)
{
    operation_in in = {.e = 0};
    const int bits = formats[t->format].bits[0];
    for (int i = 0; i < CORNERS; i++)
        for (int j = 0; j < CORNERS; j++) {
            in.a[0] = corner(bits, i);
            in.b[0] = corner(bits, j);
            visit(t, &in);
        }
    for (int i = 0; i < random_count; i++) {
        in.a[0] = random_part(&t->random, t->format, 0, -60, 60);
        in.b[0] = random_part(&t->random, t->format, 0, -60, 60);
        if (i % 4 == 0) /* cancels */
            in.b[0] =
                round_part(t->format, 0, -in.a[0] + random_part(&t->random, t->format, 0, -60, 40));
        visit(t, &in);
    }
}

/* Corners of longer numbers: upper parts, and lower parts up to both ends of what they may be. */

static const double upper_bits[][2] = {
    {0x800000, 0x10000000000000}, {0x800001, 0x10000000000001}, {0xaaaaab, 0x15555555555555},
    {0xc00000, 0x18000000000000}, {0xffffff, 0x1fffffffffffff},
};
enum { LOWER = 12, NUMBER_CORNERS = 2 * COUNT(upper_bits) * LOWER };

/* In units in the last place of the part before. */
static double lower_corner(int index, int bits)
{
    const double below = 0.5 - ldexp(1.0, -bits - 1);
    const double all[LOWER] = {0.0,           0.5,      -0.5,     below,          -below,
                               0.25,          -0.25,    0x1p-13f, -0x1.555556p-4, 0x1.aaaaaap-3f,
                               0x1.000002p-9, -0x1p-30f};
    return all[index];
}

/* Corner `index` times 2^e; the third part, if there is one, is any of its corners. */
static void number_corner(tour *t, int index, int e, double *x)
{
    const number_format *f = &formats[t->format];
    const double sign = index % 2 ? -1.0 : 1.0;
    index /= 2;
    x[0] = sign * ldexp(upper_bits[index / LOWER][f->bits[0] == 53], e - f->bits[0] + 1);
    for (int i = 1; i < f->parts; i++) {
        const int corner = i == 1 ? index % LOWER : random_int(&t->random, 0, LOWER - 1);
        const double ulp = x[i - 1] == 0.0 ? 0.0 : 2.0 * half_ulp(t->format, i - 1, x[i - 1]);
        x[i] = sign * ulp * lower_corner(corner, f->bits[i]);
    }
}

/* Distances of two numbers: those at which parts meet, and others. */
static const int steps32[] = {-75, -60, -49, -48, -47, -25, -24, -23, -12, -2, -1, 0,
                              1,   2,   11,  23,  24,  25,  47,  48,  49,  60, 74};
static const int steps64[] = {-130, -108, -107, -106, -105, -54, -53, -52, -12, -2,  -1, 0,
                              1,    2,    11,   52,   53,   54,  105, 106, 107, 108, 130};

static void visit_number_corners(tour *t)
{
    const int *steps = formats[t->format].bits[0] == 53 ? steps64 : steps32;
    operation_in in = {.e = 0};
    for (int s = 0; s < COUNT(steps32); s++)
        for (int i = 0; i < NUMBER_CORNERS; i++)
            for (int j = 0; j < NUMBER_CORNERS; j++) {
                number_corner(t, i, 0, in.a);
                number_corner(t, j, steps[s], in.b);
                number_corner(t, (i + 7 * j) % NUMBER_CORNERS, steps[(s + i + j) % COUNT(steps32)],
                              in.c);
                visit(t, &in);
            }
}

/* Two of three products are cancelled: what multiplies numbers of the format. */
static operation product_of(format_id f)
{
    switch (f) {
    case DF:
        return OPERATION_td_df_mul;
    case TS:
        return OPERATION_td_ts_mul;
    default:
        return OPERATION_td_dd_mul;
    }
}

/* Makes b cancel most of a, or c most of a b. */
static void cancel(tour *t, operation_in *in)
{
    const int is_sum = random_int(&t->random, 0, 1);
    double *other = is_sum ? in->b : in->c;
    const operation_out product = operation_apply(product_of(t->format), in);
    for (int i = 0; i < formats[t->format].parts; i++) {
        other[i] = -round_part(t->format, i, is_sum ? in->a[i] : double_of(product.part[i]));
        const int how = random_int(&t->random, 0, 3);
        const double half = other[i] == 0.0 ? 0.0 : half_ulp(t->format, i, other[i]);
        if (how == 0) other[i] = round_part(t->format, i, other[i] + 2.0 * half);
        if (how == 1) other[i] = round_part(t->format, i, other[i] - 2.0 * half);
        if (how == 2 && i > 0) other[i] *= random_int(&t->random, 0, 1) ? 0.5 : -1.0;
    }
    truncate_number(t->format, other);
}

static void visit_numbers(tour *t, int random_count)
{
    operation_in in = {.e = 0};
    visit_number_corners(t);
    for (int i = 0; i < random_count; i++) {
        const int spread = i % 3 == 0 ? 2 : 35;
        random_number(&t->random, t->format, -spread, spread, in.a);
        random_number(&t->random, t->format, -spread, spread, in.b);
        random_number(&t->random, t->format, -spread, spread, in.c);
        if (i % 4 == 0) cancel(t, &in);
        visit(t, &in);
    }
}

/* Parts that overlap or lie far apart too. */
static void visit_parts(tour *t, int random_count)
{
    const number_format *f = &formats[t->format];
    operation_in in = {.e = 0};
    visit_number_corners(t);
    for (int i = 0; i < CORNERS; i++)
        for (int j = 0; j < CORNERS; j++) {
            in.a[0] = corner(f->bits[0], i);
            in.a[1] = corner(f->bits[1], j);
            in.a[2] = f->parts == 3 ? corner(24, random_int(&t->random, 0, CORNERS - 1)) : 0.0;
            visit(t, &in);
        }
    for (int n = 0; n < random_count; n++) {
        const int spread = n % 3 == 0 ? 126 : 40, overlap = n % 3 == 2;
        for (int i = 0; i < f->parts; i++)
            in.a[i] = random_part(&t->random, t->format, i, overlap ? -25 * i - 4 : -spread,
                                  overlap ? -22 * i + 4 : spread);
        if (n % 5 == 0) /* cancels */
            in.a[1] = round_part(t->format, 1,
                                 -in.a[0] * (1.0 + 0x1p-22 * random_int(&t->random, -2, 2)));
        visit(t, &in);
    }
}

/* Binary64 */

static const uint64_t fractions[] = {
    /* the last 29 bits are what a binary32 rounds away: ties with an even and with an odd rest */
    0,
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

/* Number `f` of the binary64 numbers with this exponent field. */
static double double_corner(uint64_t field, int f)
{
    return double_of((uint64_t)(f % 2) << 63 | field << 52 | fractions[f]);
}

/* The split of x with its scaled exponent at `scaled`, if there is such an e. */
static void visit_split(tour *t, double x, int scaled)
{
    operation_in in = {.a = {x}};
    const int e = td_exponent64(bits_of(x)) - scaled;
    if (e < -1074 || e > 1023) return;
    in.e = e;
    visit(t, &in);
}

static void visit_splits(tour *t, int random_count)
{
    static const int scaled[] = {
        0,     -1,    -23,  -24,  -72,  -73,  -74,   -75,   -95,   -96,   -97,   -98,   -99,
        -100,  -101,  -102, -103, -104, -124, -125,  -126,  -127,  -148,  -149,  -150,  -151,
        -152,  -177,  -178, -179, -180, -300, -1000, -1021, -1022, -1023, -1050, -1074, -1075,
        -1076, -2000, 1,    60,   126,  127,  128,   200,   1000,  1022,  2000};
    for (uint64_t field = 0; field < 2048; field++)
        for (int f = 0; f < COUNT(fractions); f++) {
            const operation_in in = {.a = {double_corner(field, f)}};
            visit(t, &in);
            if (field % 64 > 2 && field < 2045 && f > 3) continue;
            if (field == 2047 || (field == 0 && fractions[f] == 0)) continue;
            for (int s = 0; s < COUNT(scaled); s++) visit_split(t, in.a[0], scaled[s]);
        }
    for (int i = 0; i < 52; i++) /* subnormal numbers of every length */
        for (int s = 0; s < COUNT(scaled); s++) {
            visit_split(t, double_of(UINT64_C(1) << i), scaled[s]);
            visit_split(t, double_of((UINT64_C(2) << i) - 1), scaled[s]);
        }
    for (int i = 0; i < random_count; i++)
        visit_split(t, random_part(&t->random, DOUBLE, 0, -1022, 1023),
                    random_int(&t->random, -185, 130));
}

static void visit_bits(tour *t)
{
    operation_in in = {.e = 0};
    for (uint64_t field = 0; field < 2048; field++)
        for (int f = 0; f < COUNT(fractions); f++) {
            in.a[0] = double_corner(field, f);
            visit(t, &in);
        }
    for (int i = 0; i < 52; i++) {
        in.a[0] = double_of(UINT64_C(1) << i);
        visit(t, &in);
    }
}

static void visit_powers(tour *t)
{
    operation_in in = {.e = 0};
    const int is_single = t->format == SINGLE, high = is_single ? 127 : 1023;
    for (in.e = is_single ? -149 : -1074; in.e <= high; in.e++) visit(t, &in);
}

/* td_scale32: whole numbers up to 2^28, and results around the ends of binary32. */
static void visit_scales32(tour *t, int random_count)
{
    operation_in in = {.e = 0};
    for (int i = 0; i < random_count; i++) {
        in.a[0] = random_int(&t->random, 0, (1 << random_int(&t->random, 0, 28)));
        if (i % 2) in.a[0] = 0.0 - in.a[0]; /* no -0: an integer */
        if (i % 3 == 0 && in.a[0] != 0.0)
            in.e = random_int(&t->random, -151, -124) - ilogb(in.a[0]);
        else
            in.e = random_int(&t->random, -252, i % 3 == 1 ? 127 : -90);
        visit(t, &in);
    }
}

/* td_scale64 and td_scale_down64: results around all ends of binary64, ties at the last subnormal
 * bit among them. */
static void visit_scales64(tour *t, int random_count)
{
    static const int results[] = {-1300, -1100, -1077, -1076, -1075, -1074, -1073,
                                  -1072, -1060, -1030, -1024, -1023, -1022, -1021,
                                  -1000, 0,     1000,  1022,  1023,  1024};
    operation_in in = {.e = 0};
    for (int x = -200; x < 200; x += 19)
        for (int f = 0; f < COUNT(fractions); f++)
            for (int s = 0; s < COUNT(results); s++) {
                in.a[0] = double_corner((uint64_t)(x + 1023), f);
                in.e = results[s] - x;
                visit(t, &in);
            }
    for (int i = 0; i < random_count; i++) {
        in.a[0] = random_part(&t->random, DOUBLE, 0, -200, 199);
        if (i % 3 == 0) /* short numbers make ties */
            in.a[0] =
                double_of(bits_of(in.a[0]) & ~((UINT64_C(1) << random_int(&t->random, 1, 52)) - 1));
        in.e = i % 2 ? random_int(&t->random, -2148, 2046)
                     : random_int(&t->random, -1080, -1015) - ilogb(in.a[0]);
        visit(t, &in);
    }
    in.a[0] = 0.0;
    for (in.e = -2148; in.e <= 2046; in.e++) visit(t, &in);
    if (t->which != OPERATION_td_scale_down64) return;
    for (in.e = -100000; in.e < -2140; in.e += 97)
        for (int f = 0; f < COUNT(fractions); f++) {
            in.a[0] = double_corner(1023 + 200, f);
            visit(t, &in);
        }
}

/* td_df_axpby, td_dd_axpby */

static const double scalars[] = {0.0,
                                 -0.0,
                                 1.0,
                                 -1.0,
                                 2.0,
                                 -0.5,
                                 0x1.5555555555555p-2,
                                 0x1.fffffffffffffp0,
                                 1e20,
                                 1e-20,
                                 0x1p-1074,
                                 -0x1p-1022,
                                 0x1p1023,
                                 0x1.8p-1050,
                                 INFINITY,
                                 -INFINITY,
                                 NAN};

static double random_scalar(test_random *r)
{
    const int how = random_int(r, 0, 19);
    if (how == 0) return scalars[random_int(r, 0, COUNT(scalars) - 1)];
    if (how < 6) return scalars[random_int(r, 0, 7)];
    return how < 8 ? random_part(r, DOUBLE, 0, -1022, 1023) : random_part(r, DOUBLE, 0, -40, 40);
}

/* c such that beta c is about -alpha a 2^e, in the first or in both parts of a. */
static double opposite(tour *t, const operation_in *in)
{
    const double c = -in->b[0] * in->a[0] / in->b[1];
    const double scaled = c == 0.0 || !isfinite(c) ? 0.0 : ldexp(c, in->e);
    return scaled * (1.0 + ldexp(random_int(&t->random, -2, 2), -random_int(&t->random, 30, 60)));
}

/* Sums as they are scaled, and some of any size. */
static void random_sum(tour *t, int i, double *a)
{
    if (t->format == DF)
        random_number(&t->random, DF, i % 4 ? -20 - 80 * (i % 4 == 3) : -126, i % 4 ? 40 : 126, a);
    else
        random_number(&t->random, DD, i % 4 ? -120 - 840 * (i % 4 == 3) : -1022, i % 4 ? 40 : 1023,
                      a);
}

/* Both terms of a result around the end of binary64, and the sum itself often far beyond it. */
static void approach_zero(tour *t, operation_in *in)
{
    const int e = random_int(&t->random, 0, 1) ? random_int(&t->random, -950, 950) : 0;
    in->b[0] = random_part(&t->random, DOUBLE, 0, e - 20, e + 20);
    in->e = random_int(&t->random, -1085, -1015) - e;
    in->b[1] = random_part(&t->random, DOUBLE, 0, -e - 20, 20 - e);
    in->c[0] = ldexp(random_scalar(&t->random), random_int(&t->random, -1085, -1015) + e);
    if (random_int(&t->random, 0, 3) == 0) in->b[1] = 0.0;
}

static void visit_axpby(tour *t, int random_count)
{
    operation_in in = {.e = 0};
    for (int i = 0; i < COUNT(scalars); i++)
        for (int j = 0; j < COUNT(scalars); j++)
            for (int k = 0; k < COUNT(scalars); k++)
                for (int s = -2; s <= 2; s++) {
                    random_number(&t->random, t->format, -2, 2, in.a);
                    in.b[0] = scalars[i];
                    in.b[1] = scalars[j];
                    in.c[0] = scalars[k];
                    in.e = 500 * s;
                    visit(t, &in);
                }
    for (int i = 0; i < random_count; i++) {
        const int is_scaled = i % 4 != 0;
        random_sum(t, i, in.a);
        if (i % 64 == 1) in.a[0] = in.a[1] = 0.0;
        if (i % 64 == 2) in.a[0] = random_int(&t->random, 0, 1) ? INFINITY : NAN;
        in.e = !is_scaled ? 0 : random_int(&t->random, -60, 60);
        if (i % 8 == 1) in.e = random_int(&t->random, -2046, 2046);
        in.b[0] = random_scalar(&t->random);
        in.b[1] = random_scalar(&t->random);
        in.c[0] = random_scalar(&t->random);
        if (i % 16 == 5) /* results around the ends of binary64 */
            in.e = random_int(&t->random, -1080, -1010) - random_int(&t->random, 0, 1) * -2030;
        if (i % 16 == 7) approach_zero(t, &in);
        if (i % 3 == 0) in.c[0] = opposite(t, &in);
        visit(t, &in);
    }
}

void cases_visit(operation which, uint64_t seed, int random_count, case_visitor visitor,
                 void *context)
{
    tour t = {which, operation_formats[which], random_start(seed ^ (uint64_t)which << 32), visitor,
              context};
    switch (kinds[which]) {
    case REALS:
        visit_reals(&t, random_count);
        break;
    case NUMBERS:
        visit_numbers(&t, random_count);
        break;
    case PARTS:
        visit_parts(&t, random_count);
        break;
    case SPLITS:
        visit_splits(&t, random_count);
        break;
    case BITS:
        visit_bits(&t);
        break;
    case POWERS:
        visit_powers(&t);
        break;
    case SCALES:
        (t.format == SINGLE ? visit_scales32 : visit_scales64)(&t, random_count);
        break;
    case AXPBY:
        visit_axpby(&t, random_count);
        break;
    }
}
