/* test_accumulate.c - sums of products, in blocks and superblocks, against MPFR: random, constant, cancelling, and the
 * worst that a search finds. Errors are in units of v^2 sum |a b|. */
#include "../support/test.h"

#include <string.h>

#include "../support/bits.h"
#include "../support/random.h"
#include "exact.h"

enum { SEED = 23, MAX_TERMS = 512 };

typedef struct {
    tandem_df a[MAX_TERMS], b[MAX_TERMS];
    mpfr_t sum, size, term, got;
} terms;

static void terms_init(terms *t)
{
    exact_init(t->sum);
    exact_init(t->size);
    exact_init(t->term);
    exact_init(t->got);
}

static void terms_clear(terms *t) { mpfr_clears(t->sum, t->size, t->term, t->got, (mpfr_ptr)0); }

static void set_term(terms *t, int i, double a, double b)
{
    t->a[i] = td_df_split(bits_of(a), 0);
    t->b[i] = td_df_split(bits_of(b), 0);
}

static tandem_df block_sum(const terms *t, int first, int count)
{
    float sum, rest;
    td_df_start(&sum, &rest, t->a[first], t->b[first]);
    for (int i = first + 1; i < first + count; i++) td_df_accumulate(&sum, &rest, t->a[i], t->b[i]);
    return td_df(sum, rest);
}

static tandem_df superblock_sum(const terms *t, int count)
{
    tandem_df s = td_df(0.0f, 0.0f);
    for (int i = 0; i < count; i += TD_DF_BLOCK) {
        const tandem_df block = block_sum(t, i, TD_DF_BLOCK);
        td_df_flush(&s, block.hi, block.lo);
        if ((i + TD_DF_BLOCK) % TD_DF_RENORMALISE == 0) td_df_renormalise(&s);
    }
    td_df_renormalise(&s);
    return s;
}

/* The distance of r from the exact sum, in v^2 sum |a b|. */
static double error_of(terms *t, int count, tandem_df r)
{
    mpfr_t factor;
    exact_init(factor);
    mpfr_set_zero(t->sum, 1);
    mpfr_set_zero(t->size, 1);
    for (int i = 0; i < count; i++) {
        exact_set_df(t->term, t->a[i]);
        exact_set_df(factor, t->b[i]);
        exact_multiply(t->term, factor);
        exact_add(t->sum, t->term);
        mpfr_abs(t->term, t->term, MPFR_RNDN);
        exact_add(t->size, t->term);
    }
    mpfr_clear(factor);
    exact_set_df(t->got, r);
    return exact_distance(t->got, t->sum, t->size) * 0x1p48;
}

/* df.h's bound for a block, in v^2 sum |a b|. */
static double block_bound(int b) { return 0.5 * b * b + 5.5 * b + 9.0; }

/* What follows for a superblock, P = sum |a b|, renormalised every g blocks. A block's rest is below 18 v times its own
 * part of P. The superblock's lo, j blocks after it was renormalised, is below v ((j + 1) P + 18 times those blocks'
 * part); each addition of a block rounds it twice, the sizes before and after: g (g + 2) v^2 P for g blocks, and
 * 36 g v^2 P for all rests of a superblock. Renormalising loses v |lo| if cancellation made hi smaller than lo:
 * (g + 1) v^2 P for g blocks and 18 v^2 P. */
static double superblock_bound(int blocks)
{
    const int g = TD_DF_RENORMALISE / TD_DF_BLOCK, groups = (blocks + g - 1) / g;
    return block_bound(TD_DF_BLOCK) + g * (g + 2) * groups + 36 * g + (g + 1) * groups + 18;
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
        set_term(t, i, a, b);
        if (which == CANCELLING && i % 2) {
            t->a[i] = td_df(-t->a[i - 1].hi, -t->a[i - 1].lo);
            t->b[i] = t->b[i - 1];
            if (i % 4 == 1) t->b[i].lo *= 0.5f;
        }
    }
}

static void random_blocks_keep_their_bound(void **unused)
{
    (void)unused;
    static const int lengths[] = {1, 2, 4, 8, TD_DF_BLOCK, 32};
    static terms t;
    test_random r = random_start(SEED);
    terms_init(&t);
    for (kind which = 0; which < KINDS; which++) {
        double worst = 0.0;
        for (int round = 0; round < 3000; round++) {
            const int length = lengths[round % 6];
            fill(&t, length, which, &r);
            const double error = error_of(&t, length, block_sum(&t, 0, length));
            CHECK_AT_MOST(error, block_bound(length), "%s, round %d, %d terms, seed %d",
                          kind_names[which], round, length, SEED);
            if (length == TD_DF_BLOCK && error > worst) worst = error;
        }
        test_note("block of %d, %s: worst %.2f v^2", TD_DF_BLOCK, kind_names[which], worst);
    }
    terms_clear(&t);
}

static void random_superblocks_keep_their_bound(void **unused)
{
    (void)unused;
    static terms t;
    test_random r = random_start(SEED);
    terms_init(&t);
    for (kind which = 0; which < KINDS; which++) {
        double worst = 0.0;
        for (int round = 0; round < 100; round++) {
            const int count = TD_DF_BLOCK << round % 6;
            fill(&t, count, which, &r);
            const double error = error_of(&t, count, superblock_sum(&t, count));
            CHECK_AT_MOST(error, superblock_bound(count / TD_DF_BLOCK),
                          "%s, round %d, %d terms, seed %d", kind_names[which], round, count, SEED);
            if (error > worst) worst = error;
        }
        test_note("superblock, %s: worst %.2f v^2", kind_names[which], worst);
    }
    terms_clear(&t);
}

/* Sums of one and the same product round the same way again and again. */
static void constants_keep_their_bound(void **unused)
{
    (void)unused;
    static const double known[][2] = {
        {0x1.0d1d72fe75f28p+0, 0x1.0d1d72fe75f28p+0}, {0x1.06196904219b7p+0, 0x1.02ba492b06156p+0},
        {0x1.023e071043188p+0, 0x1.023e071043188p+0}, {0x1.01d09512ff83bp+0, 0x1.01d09512ff83bp+0},
        {0x1.016ca90265a34p+0, 0x1.016ca90265a34p+0}, {0x1.012916f5ac4a8p+0, 0x1.012916f5ac4a8p+0},
        {0x1.021cf10694be8p+0, 0x1.021cf10694be8p+0},
    }; /* the worst of some 10^7 and of searches that started there */
    enum { KNOWN = sizeof known / sizeof *known, ROUNDS = 500 };
    static terms t;
    test_random r = random_start(SEED);
    double worst_block = 0.0, worst = 0.0;
    terms_init(&t);
    for (int round = 0; round < KNOWN + ROUNDS; round++) {
        double a = 1.0 + random_uniform(&r), b = 1.0 + random_uniform(&r);
        if (round < KNOWN) a = known[round][0], b = known[round][1];
        for (int i = 0; i < MAX_TERMS; i++) set_term(&t, i, a, b);
        const double block = error_of(&t, TD_DF_BLOCK, block_sum(&t, 0, TD_DF_BLOCK));
        const double all = error_of(&t, MAX_TERMS, superblock_sum(&t, MAX_TERMS));
        CHECK_AT_MOST(block, block_bound(TD_DF_BLOCK), "%a times %a", a, b);
        CHECK_AT_MOST(all, superblock_bound(MAX_TERMS / TD_DF_BLOCK), "%a times %a", a, b);
        worst_block = fmax(worst_block, block);
        worst = fmax(worst, all);
    }
    test_note("constants: block %.2f v^2, superblock %.2f v^2 = %s", worst_block, worst,
              test_power(worst * 0x1p-48));
    terms_clear(&t);
}

/* The first term's own function makes what td_df_accumulate makes of zeros. */
static void starts_equal_accumulation_from_zero(void **unused)
{
    (void)unused;
    test_random r = random_start(SEED);
    for (int i = 0; i < 100000; i++) {
        const tandem_df a =
            td_df_split(bits_of(ldexp(random_uniform(&r) - 0.5, random_int(&r, -40, 40))), 0);
        const tandem_df b =
            td_df_split(bits_of(ldexp(random_uniform(&r) - 0.5, random_int(&r, -40, 40))), 0);
        float sum = 0.0f, rest = 0.0f, first, first_rest;
        td_df_accumulate(&sum, &rest, a, b);
        td_df_start(&first, &first_rest, a, b);
        CHECK(sum == first && rest == first_rest, "(%a, %a) (%a, %a)", a.hi, a.lo, b.hi, b.lo);
    }
}

/* Renormalising keeps the value, and a normalised pair as it is. */
static void renormalising_keeps_values(void **unused)
{
    (void)unused;
    test_random r = random_start(SEED);
    mpfr_t before, after;
    exact_init(before);
    exact_init(after);
    for (int i = 0; i < 20000; i++) {
        const float hi = (float)(random_uniform(&r) + 0.5);
        tandem_df s = td_df(hi, (float)ldexp(random_uniform(&r) - 0.5, random_int(&r, -40, -1)));
        exact_set_df(before, s);
        td_df_renormalise(&s);
        exact_set_df(after, s);
        CHECK(mpfr_equal_p(before, after), "hi %a", hi);
        CHECK(fabsf(s.lo) <= ldexpf(0.5f, ilogbf(s.hi) - 23), "(%a, %a) overlaps", s.hi, s.lo);
        const tandem_df once = s;
        td_df_renormalise(&s);
        CHECK(s.hi == once.hi && s.lo == once.lo, "(%a, %a) changes again", once.hi, once.lo);
    }
    mpfr_clears(before, after, (mpfr_ptr)0);
}

/* A block that a search found: one large product, and others that round all the same way. */
static const double hard[TD_DF_BLOCK][2] = {
    {0x1.fe926905483e4p+0, -0x1.1611831d867ebp-1}, {0x1.147d176f1f958p+0, 0x1.c247fb1840e52p-25},
    {0x1.952d06d766aap+0, 0x1.307c1b5e425dcp-25},  {0x1.2b40329fdc37dp+0, 0x1.99f5cedb51581p-25},
    {0x1.8907dcd5896fdp+0, 0x1.3be2bb594d1c3p-25}, {0x1.f247f2fc86c18p+0, 0x1.03a1db7fa4634p-25},
    {0x1.1fc11d613fc27p+0, 0x1.9acc69333ac04p-25}, {0x1.14c4949bddadfp+1, 0x1.3b960c3b32b79p-24},
    {0x1.cde6bafbc7143p+0, 0x1.046eb172865eap-25}, {0x1.3f6996a1e6ac8p+0, 0x1.951a74cd2eab3p-25},
    {0x1.b43f34e556dc5p+0, 0x1.20a73769c6233p-25}, {0x1.f7a556a9ffa68p+0, 0x1.f9fd9734b185bp-25},
    {0x1.06df4090de15ap+0, 0x1.e3962ef957eaep-25}, {0x1.1235636e76236p+0, 0x1.b42f611105659p-25},
    {0x1.ab97854f8776p+0, 0x1.4d74a566bc717p-25},  {0x1.ad5df3e25beeep+0, 0x1.145fcc858eeafp-24},
};

/* One or two random changes, small or large. */
static void change(double x[][2], test_random *r)
{
    for (int n = random_int(r, 1, 2); n > 0; n--) {
        double *at = &x[random_int(r, 0, TD_DF_BLOCK - 1)][random_int(r, 0, 1)];
        const int how = random_int(r, 0, 5);
        if (how == 0)
            *at = -*at;
        else if (how == 1)
            *at = ldexp(*at, random_int(r, -1, 1));
        else
            *at *= 1.0 + ldexp(random_uniform(r) - 0.5, -random_int(r, 0, 44));
    }
}

static double error_of_block(terms *t, double x[][2])
{
    for (int i = 0; i < TD_DF_BLOCK; i++) set_term(t, i, x[i][0], x[i][1]);
    return error_of(t, TD_DF_BLOCK, block_sum(t, 0, TD_DF_BLOCK));
}

static void no_search_breaks_the_bound(void **unused)
{
    (void)unused;
    static terms t;
    test_random r = random_start(SEED);
    double overall = 0.0;
    terms_init(&t);
    for (int start = 0; start < 4; start++) {
        double x[TD_DF_BLOCK][2], saved[TD_DF_BLOCK][2], worst = 0.0;
        memcpy(x, hard, sizeof x);
        for (int i = 0; start > 0 && i < TD_DF_BLOCK; i++) {
            x[i][0] = 1.0 + random_uniform(&r);
            x[i][1] = ldexp(0.9 + 0.1 * random_uniform(&r), i ? -24 : 0) / x[i][0];
        }
        for (int step = 0; step < 6000; step++) {
            memcpy(saved, x, sizeof x);
            if (step > 0) change(x, &r);
            const double error = error_of_block(&t, x);
            CHECK_AT_MOST(error, block_bound(TD_DF_BLOCK), "start %d, step %d, seed %d", start,
                          step, SEED);
            if (error >= worst)
                worst = error;
            else
                memcpy(x, saved, sizeof x);
        }
        overall = fmax(overall, worst);
    }
    test_note("worst block found: %.2f v^2 = %s; the bound is %g v^2", overall,
              test_power(overall * 0x1p-48), block_bound(TD_DF_BLOCK));
    CHECK(overall > 50.0, "the search finds nothing");
    terms_clear(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(starts_equal_accumulation_from_zero),
        cmocka_unit_test(renormalising_keeps_values),
        cmocka_unit_test(random_blocks_keep_their_bound),
        cmocka_unit_test(random_superblocks_keep_their_bound),
        cmocka_unit_test(constants_keep_their_bound),
        cmocka_unit_test(no_search_breaks_the_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
