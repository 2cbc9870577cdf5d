/* test_accumulate.c - sums of products, in blocks and superblocks, against MPFR, for all formats:
 * random, constant, cancelling, and the worst that a search finds. Errors are in units of the
 * format's u^2 (v^3 for triple-single) times sum |a b|. */
#include "tests/support/test.h"

#include <math.h>

#include "sums.h"

/* pair_tmpl.h's bound for a block of b terms. */
static double pair_block_bound(int b) { return 0.5 * b * b + 5.5 * b + 9.0; }

/* What follows for a superblock, P = sum |a b|, renormalised every g blocks. A block's rest is
 * below 18 v times its own part of P. The superblock's lo, j blocks after it was renormalised, is
 * below v ((j + 1) P + 18 times those blocks' part); each addition of a block rounds it twice, the
 * sizes before and after: g (g + 2) v^2 P for g blocks, and 36 g v^2 P for all rests of a
 * superblock. Renormalising loses v |lo| if cancellation made hi smaller than lo: (g + 1) v^2 P for
 * g blocks and 18 v^2 P. */
static double pair_superblock_bound(int blocks)
{
    const int g = TD_RENORMALISE / TD_BLOCK, groups = (blocks + g - 1) / g;
    return pair_block_bound(TD_BLOCK) + g * (g + 2) * groups + 36 * g + (g + 1) * groups + 18;
}

/* A block of b triples, to first order in v; P = sum |a b|, p_i = |a_i b_i|. Term i adds to s.y
 * four numbers: the two cross products and the product's error, v p_i each, and the sum's error, v
 * P. So |s.y| <= Y_i = (i + 2) v P.
 *   e1, e2             v Y_i each; their sum rounds:                                    2 v^2 Y_i
 *   a cross product    loses at most v Y_i + v^2 p_i, in dp and ds, which is v^2 p_i at most (0 if
 *                      *mid is the larger); dp and ds + dp round:            2 v^2 Y_i + 3 v^3 p_i,
 *                      twice
 *   low                2, 3, 4 v Y_i and 1, 2 v^2 p_i: two additions round:             7 v^2 Y_i +
 *                      3 v^3 p_i
 *   three FMAs         v^2 p_i each, on top of that:                                   12 v^2 Y_i +
 *                      12 v^3 p_i
 *   y z, z y           are left out:                                                    2 v^3 p_i
 *   s.z                takes low, 4 v Y_i + 5 v^2 p_i, and rounds at v of what it has.
 * The sums over i of Y_i and of s.z: */
static double triple_block_bound(int b)
{
    const double y = 0.5 * b * (b + 5),
                 y_sums = b * (b + 1) * (2 * b + 1) / 12.0 + 1.25 * b * (b + 1);
    return 25.0 * y + 23.0 + 4.0 * y_sums + 5.0 * b;
}

/* The bound of a superblock, renormalised every g blocks, to |y| <= v P, |z| <= v^2 P. A block
 * comes with |y| <= (b + 2) v p and |z| <= (2 b (b + 5) + 5) v^2 p, p its part of P. Its flush
 * rounds z + block.z at v of that, e1 + e2 at 2 v^2 |y|, and the sum of these at v |z|.
 * Renormalising is exact. The coefficients of P and of p, p of a group's first block, whose parts
 * are in all roundings of the group: */
static double triple_superblock_bound(int blocks)
{
    const int b = arithmetics[ARITHMETIC_TS].block, g = TD_RENORMALISE / b;
    double y = 1.0, z = 1.0, error = 0.0;       /* of P */
    double y_p = 0.0, z_p = 0.0, error_p = 0.0; /* of p */
    for (int i = 0; i < g; i++) {
        const double new_y = i ? 0.0 : b + 2, new_z = i ? 0.0 : 2.0 * b * (b + 5) + 5.0;
        error += z;
        error_p += z_p + new_z;
        y += 1.0;
        y_p += new_y;
        z += 2.0 * y;
        z_p += 2.0 * y_p + new_z;
        error += 2.0 * y + z;
        error_p += 2.0 * y_p + z_p;
    }
    return triple_block_bound(b) + error * ((blocks + g - 1) / g) + error_p;
}

/* By format; `found` is the least that the search for a bad block must find. */
static const struct {
    double (*block)(int terms), (*superblock)(int blocks), found;
} bounds[ARITHMETICS] = {
    [ARITHMETIC_DF] = {pair_block_bound, pair_superblock_bound, 50.0},
    [ARITHMETIC_DD] = {pair_block_bound, pair_superblock_bound, 30.0},
    [ARITHMETIC_TS] = {triple_block_bound, triple_superblock_bound, 50.0},
};

static terms all;

static double block_bound(const terms *t, int count)
{
    return bounds[t->f - arithmetics].block(count);
}

static double superblock_bound(const terms *t, int count)
{
    return bounds[t->f - arithmetics].superblock(count / t->f->block);
}

/* In the units of the bounds. */
static double error_of(terms *t, int count, number r)
{
    return sum_error(t, count, r) / t->f->unit;
}

typedef enum { UNIFORM, SIGNED, WIDE, CANCELLING, FALLING, KINDS } kind;
static const char *const kind_names[] = {"uniform", "both signs", "wide", "cancelling", "falling"};

static void fill(terms *t, int count, kind which, test_random *r)
{
    for (int i = 0; i < count; i++) {
        double a = random_uniform(r), b = random_uniform(r);
        if (which != UNIFORM && which != FALLING) a -= 0.5;
        if (which == WIDE) a = ldexp(a, random_int(r, -30, 0));
        if (which == WIDE) b = ldexp(b, random_int(r, -30, 0));
        if (which == FALLING) a = ldexp(a + 1.0, -random_int(r, 20, 30) * (i % 512 > 0));
        t->a[i] = number_lengthen(t->f, a, r);
        t->b[i] = number_lengthen(t->f, b, r);
        if (which != CANCELLING || i % 2 == 0) continue;
        for (int p = 0; p < MAX_PARTS; p++) t->a[i].part[p] = -t->a[i - 1].part[p];
        t->b[i] = t->b[i - 1];
        if (i % 4 == 1) t->b[i].part[formats[t->f->format].parts - 1] *= 0.5;
    }
}

static void check_random_blocks(terms *t, kind which, test_random *r)
{
    const int lengths[] = {1, 2, 4, 8, 16, 32}, block = t->f->block;
    double worst = 0.0;
    for (int round = 0; round < test_cases(3000); round++) {
        const int length = lengths[round % 6];
        fill(t, length, which, r);
        const double error = error_of(t, length, sum_block(t, 0, length));
        CHECK_AT_MOST(error, block_bound(t, length), "%s, %s, round %d, %d terms", t->f->name,
                      kind_names[which], round, length);
        if (length == block) worst = fmax(worst, error);
    }
    test_note("%s block of %d, %s: worst %.2f = %s", t->f->name, block, kind_names[which], worst,
              test_power(worst * t->f->unit));
}

static void check_random_superblocks(terms *t, kind which, test_random *r)
{
    double worst = 0.0;
    for (int round = 0; round < test_cases(100); round++) {
        const int count = 16 << round % 6;
        fill(t, count, which, r);
        const number sum = sum_superblock(t, 0, count);
        const double error = error_of(t, count, sum);
        CHECK_AT_MOST(error, superblock_bound(t, count), "%s, %s, round %d, %d terms", t->f->name,
                      kind_names[which], round, count);
        CHECK(is_normalised(t->f->format, sum.part), "%s: (%a, %a, %a)", t->f->name, sum.part[0],
              sum.part[1], sum.part[2]);
        worst = fmax(worst, error);
    }
    test_note("%s superblock, %s: worst %.2f = %s", t->f->name, kind_names[which], worst,
              test_power(worst * t->f->unit));
}

TEST(random_sums_keep_their_bounds)
{
    for (int f = 0; f < ARITHMETICS; f++) {
        test_random r = random_start(test_seed());
        terms_start(&all, &arithmetics[f]);
        for (kind which = 0; which < KINDS; which++) check_random_blocks(&all, which, &r);
        for (kind which = 0; which < KINDS; which++) check_random_superblocks(&all, which, &r);
        terms_stop(&all);
    }
}

/* The worst constants of double-float, of some 10^7 and of searches that started there. */
static const double known[][2] = {
    {0x1.0d1d72fe75f28p+0, 0x1.0d1d72fe75f28p+0}, {0x1.06196904219b7p+0, 0x1.02ba492b06156p+0},
    {0x1.023e071043188p+0, 0x1.023e071043188p+0}, {0x1.01d09512ff83bp+0, 0x1.01d09512ff83bp+0},
    {0x1.016ca90265a34p+0, 0x1.016ca90265a34p+0}, {0x1.012916f5ac4a8p+0, 0x1.012916f5ac4a8p+0},
    {0x1.021cf10694be8p+0, 0x1.021cf10694be8p+0},
};

/* Sums of one and the same product round the same way again and again. */
TEST(constants_keep_their_bounds)
{
    enum { KNOWN = sizeof known / sizeof *known, ROUNDS = 300 };
    for (int f = 0; f < ARITHMETICS; f++) {
        const arithmetic *const which = &arithmetics[f];
        test_random r = random_start(test_seed());
        double worst_block = 0.0, worst = 0.0;
        terms_start(&all, which);
        for (int round = 0; round < KNOWN + test_cases(ROUNDS); round++) {
            const int is_known = round < KNOWN;
            const double x = is_known ? known[round][0] : 1.0 + random_uniform(&r);
            const double y = is_known ? known[round][1] : 1.0 + random_uniform(&r);
            const number a = is_known ? number_split(which, x) : number_lengthen(which, x, &r);
            const number b = is_known ? number_split(which, y) : number_lengthen(which, y, &r);
            for (int i = 0; i < TD_SUPERBLOCK; i++) all.a[i] = a, all.b[i] = b;
            const double block = error_of(&all, which->block, sum_block(&all, 0, which->block));
            const double whole =
                error_of(&all, TD_SUPERBLOCK, sum_superblock(&all, 0, TD_SUPERBLOCK));
            CHECK_AT_MOST(block, block_bound(&all, all.f->block), "%s: %a times %a", which->name, x,
                          y);
            CHECK_AT_MOST(whole, superblock_bound(&all, TD_SUPERBLOCK), "%s: %a times %a",
                          which->name, x, y);
            worst_block = fmax(worst_block, block);
            worst = fmax(worst, whole);
        }
        test_note("%s constants: block %.2f, superblock %.2f = %s", which->name, worst_block, worst,
                  test_power(worst * which->unit));
        terms_stop(&all);
    }
}

/* The first term's own function makes what td_df_accumulate makes of zeros. */
TEST(starts_equal_accumulation_from_zero)
{
    test_random r = random_start(test_seed());
    for (int i = 0; i < test_cases(300000); i++) {
        const arithmetic *const f = &arithmetics[i % ARITHMETICS];
        number a, b;
        random_number(&r, f->format, -40, 40, a.part);
        random_number(&r, f->format, -40, 40, b.part);
        const number zero = {{0.0}}, first = number_apply(f->start, &a, &b, NULL);
        const number sum = number_apply(f->accumulate, &a, &b, &zero);
        for (int p = 0; p < MAX_PARTS; p++)
            CHECK(sum.part[p] == first.part[p], "%s: (%a, %a, %a) (%a, %a, %a)", f->name, a.part[0],
                  a.part[1], a.part[2], b.part[0], b.part[1], b.part[2]);
    }
}

/* Renormalising keeps the value, also of parts that overlap; what ends a superblock makes it
 * normalised, and changes nothing twice. */
static void check_renormalised(terms *t, operation which, number s)
{
    exact_set_parts(t->sum, s.part);
    s = number_apply(which, &s, NULL, NULL);
    exact_set_parts(t->term, s.part);
    CHECK(mpfr_equal_p(t->sum, t->term), "%s: (%a, %a, %a)", operation_names[which], s.part[0],
          s.part[1], s.part[2]);
    if (which != t->f->finish) return;
    CHECK(is_normalised(t->f->format, s.part), "%s: (%a, %a, %a) overlaps", operation_names[which],
          s.part[0], s.part[1], s.part[2]);
    const number once = s;
    s = number_apply(which, &s, NULL, NULL);
    for (int p = 0; p < MAX_PARTS; p++)
        CHECK(s.part[p] == once.part[p], "%s: (%a, %a, %a) changes again", operation_names[which],
              once.part[0], once.part[1], once.part[2]);
}

TEST(renormalising_keeps_values)
{
    for (int f = 0; f < ARITHMETICS; f++) {
        const format_id format = arithmetics[f].format;
        const int parts = formats[format].parts;
        test_random r = random_start(test_seed());
        terms_start(&all, &arithmetics[f]);
        for (int i = 0; i < test_cases(60000); i++) {
            number s = {{round_part(format, 0, random_uniform(&r) + 0.5)}};
            for (int p = 1; p < parts; p++)
                s.part[p] = round_part(format, p, random_scaled(&r, -40 * p, -1));
            if (parts == 3 && i % 4 == 0) /* two parts cancel, all or nearly */
                s.part[1] =
                    -s.part[0] * (1.0 + ldexp(random_int(&r, -1, 1), -random_int(&r, 2, 23)));
            if (parts == 3) s.part[1] = round_part(format, 1, s.part[1]);
            check_renormalised(&all, arithmetics[f].renormalise, s);
            check_renormalised(&all, arithmetics[f].finish, s);
        }
        terms_stop(&all);
    }
}

/* A block that a search found for double-float: one large product, and others that round all the
 * same way. */
static const double hard[][2] = {
    {0x1.fe926905483e4p+0, -0x1.1611831d867ebp-1}, {0x1.147d176f1f958p+0, 0x1.c247fb1840e52p-25},
    {0x1.952d06d766aap+0, 0x1.307c1b5e425dcp-25},  {0x1.2b40329fdc37dp+0, 0x1.99f5cedb51581p-25},
    {0x1.8907dcd5896fdp+0, 0x1.3be2bb594d1c3p-25}, {0x1.f247f2fc86c18p+0, 0x1.03a1db7fa4634p-25},
    {0x1.1fc11d613fc27p+0, 0x1.9acc69333ac04p-25}, {0x1.14c4949bddadfp+1, 0x1.3b960c3b32b79p-24},
    {0x1.cde6bafbc7143p+0, 0x1.046eb172865eap-25}, {0x1.3f6996a1e6ac8p+0, 0x1.951a74cd2eab3p-25},
    {0x1.b43f34e556dc5p+0, 0x1.20a73769c6233p-25}, {0x1.f7a556a9ffa68p+0, 0x1.f9fd9734b185bp-25},
    {0x1.06df4090de15ap+0, 0x1.e3962ef957eaep-25}, {0x1.1235636e76236p+0, 0x1.b42f611105659p-25},
    {0x1.ab97854f8776p+0, 0x1.4d74a566bc717p-25},  {0x1.ad5df3e25beeep+0, 0x1.145fcc858eeafp-24},
};

/* Where a search starts: the block above, or one that is like it and random. */
static void fill_hard(terms *t, int start, test_random *r)
{
    const int below = formats[t->f->format].bits[0];
    for (int i = 0; i < t->f->block; i++) {
        const double a = 1.0 + random_uniform(r);
        const double b = ldexp(0.9 + 0.1 * random_uniform(r), i ? -below : 0) / a;
        t->a[i] = start ? number_lengthen(t->f, a, r) : number_split(t->f, hard[i][0]);
        t->b[i] = start ? number_lengthen(t->f, b, r) : number_split(t->f, hard[i][1]);
    }
}

static double search_block(terms *t, int start, int steps, test_random *r)
{
    double worst = 0.0;
    fill_hard(t, start, r);
    for (int step = 0; step < steps; step++) {
        number *changed[2], saved[2];
        for (int n = 0; n < 2; n++) {
            const int i = random_int(r, 0, t->f->block - 1);
            changed[n] = random_int(r, 0, 1) ? &t->a[i] : &t->b[i];
            saved[n] = *changed[n];
            if (step > 0 && (n == 0 || random_int(r, 0, 1)))
                change_number(r, t->f->format, changed[n]->part);
        }
        const double error = error_of(t, t->f->block, sum_block(t, 0, t->f->block));
        CHECK_AT_MOST(error, block_bound(t, t->f->block), "%s, start %d, step %d", t->f->name,
                      start, step);
        if (error >= worst)
            worst = error;
        else
            for (int n = 1; n >= 0; n--) *changed[n] = saved[n];
    }
    return worst;
}

/* Four searches; more where these find no such block, as they do for one of some ten seeds. A
 * brief test has steps for neither. */
TEST(no_search_breaks_the_bounds)
{
    const int most = test_is_brief() ? 4 : 40;
    for (int f = 0; f < ARITHMETICS; f++) {
        test_random r = random_start(test_seed());
        double worst = 0.0;
        terms_start(&all, &arithmetics[f]);
        for (int start = 0; start < 4 || (worst <= bounds[f].found && start < most); start++)
            worst = fmax(worst, search_block(&all, start, test_cases(6000), &r));
        test_note("%s: worst block found: %.2f = %s; the bound is %g", all.f->name, worst,
                  test_power(worst * all.f->unit), block_bound(&all, all.f->block));
        CHECK(worst > bounds[f].found || test_is_brief(), "the search finds nothing");
        terms_stop(&all);
    }
}
