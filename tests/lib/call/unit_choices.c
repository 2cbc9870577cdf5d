/* What mode `auto` makes of products on devices of several kinds, and of the calls of programs.
 *
 * usage: unit_choices REPLAY, which bench/replay wrote of the calls of programs on an H200 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/support/test.h"
#include "lib/engines/proven.h"
#include "tests/lib/support/asked.h"
#include "lib/model/prices.h"
#include "tests/lib/support/predicted.h"

static const char *replayed;

static const struct {
    const char *card, *accuracy, *strategy;
    int64_t m, n, k, batch;
    const char *mode;
} choices[] = {
    /* fast binary64: int8 pays where products are large in all three sizes */
    {H200, "fp64", "auto", 128, 128, 128, 1, "native"},
    {H200, "fp64", "auto", 1024, 1024, 1024, 1, "native"},
    {H200, "fp64", "auto", 8192, 8192, 128, 1, "native"},
    {H200, "fp64", "auto", 200000, 512, 512, 1, "native"},
    {H200, "fp64", "auto", 2048, 2048, 2048, 1, "native"},
    /* 13 % less for good data would be enough, did bad data cost 5 % more than native at most */
    {H200, "fp64", "auto", 4096, 2048, 2048, 1, "native"},
    {H200, "fp64", "auto", 3072, 2048, 2048, 1, "native"},
    {H200, "fp64", "auto", 4096, 4096, 4096, 1, "ozaki2"},
    {H200, "fp64", "auto", 8192, 8192, 8192, 1, "ozaki2"},
    {H200, "fp64", "auto", 16384, 16384, 16384, 1, "ozaki2"},
    {H200, "fp64", "auto", 64, 64, 64, 1000, "native"},
    {H200, "fp64", "eager", 1024, 1024, 1024, 1, "ozaki2"},
    {H200, "faithful", "auto", 8192, 8192, 8192, 1, "faithful"},
    {H200, "faithful", "auto", 64, 64, 64, 1, "faithful"},
    {H200, "52", "auto", 4096, 4096, 4096, 1, "faithful"},
    {H200, "40", "auto", 1024, 1024, 1024, 1, "native"},
    {A100, "fp64", "auto", 512, 512, 512, 1, "native"},
    {A100, "fp64", "auto", 8192, 8192, 512, 1, "native"},

    /* little binary64: everything that is not tiny; 15 % are not enough of what was not measured */
    {RTX4090, "fp64", "auto", 16, 16, 16, 1, "native"},
    {RTX4090, "fp64", "auto", 64, 64, 64, 1, "native"},
    {RTX4090, "fp64", "auto", 512, 512, 512, 1, "ozaki2"},
    {RTX4090, "fp64", "auto", 8192, 8192, 64, 1, "ts"},
    {RTX4090, "fp64", "auto", 8192, 8192, 8192, 1, "ozaki2"},
    {RTX4090, "fp64", "auto", 32, 32, 32, 10000, "native"},
    {RTX4090, "40", "auto", 128, 128, 128, 1, "df"},
    {RTX4090, "40", "auto", 8192, 8192, 8192, 1, "ozaki2"},
    {RTX4090, "52", "auto", 8192, 8192, 8192, 1, "faithful"},
    {HOST, "fp64", "auto", 512, 512, 512, 1, "ozaki2"},
    {HOST, "fp64", "auto", 16, 16, 16, 1, "native"},
};

static td_decision decide(const char *card, const char *mode, const char *accuracy,
                          const char *strategy, const td_problem *p)
{
    static td_options o; /* a decision's strings live as long */
    const td_model model = card ? model_of(card) : (td_model){0};
    td_options_set_defaults(&o);
    set_option(&o, TD_OPTION_MODE, mode);
    set_option(&o, TD_OPTION_ACCURACY, accuracy);
    set_option(&o, TD_OPTION_STRATEGY, strategy);
    return decide_call(&o, p, card ? &model : NULL);
}

TEST(auto_takes_the_fastest_that_is_good_enough)
{
    int wrong = 0;
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        const td_problem p = product(choices[i].m, choices[i].n, choices[i].k, choices[i].batch);
        const td_decision d =
            decide(choices[i].card, "auto", choices[i].accuracy, choices[i].strategy, &p);
        assert_true(!d.engine == !strcmp(d.text, "native") && !d.engine == !d.choice &&
                    !d.engine == !!d.reason);
        assert_non_null(d.forecast.mode);
        if (strcmp(d.text, choices[i].mode) == 0) continue;
        print_error("row %zu: %s, %s by %s on %s: %s (%s %.3g s, native %.3g s)\n", i,
                    choices[i].mode, choices[i].accuracy, choices[i].strategy, choices[i].card,
                    d.text, d.forecast.mode, d.forecast.emulated, d.forecast.native);
        wrong++;
    }
    assert_int_equal(wrong, 0);
}

/* Strategy reproducible: the same on every device, without any, and for each member of a batch. */
TEST(no_device_changes_reproducible_choices)
{
    static const struct {
        const char *accuracy;
        int64_t m, n, k;
        const char *mode;
    } rows[] = {
        {"fp64", 16, 16, 16, "fp64"},
        {"fp64", 1024, 1024, 1024, "fp64"},
        {"fp64", 2048, 2048, 2048, "ozaki2"},
        {"fp64", 8192, 8192, 8192, "ozaki2"},
        {"fp64", 100000, 100000, 511, "fp64"},
        {"fp64", 511, 100000, 100000, "fp64"},
        {"20", 64, 64, 64, "fp64"},
        {"52", 64, 64, 64, "faithful"},
        {"faithful", 64, 64, 64, "faithful"},
        {"faithful", 8192, 8192, 8192, "faithful"},
    };
    static const char *const cards[] = {H200, A100, RTX4090, HOST};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t c = 0; c <= sizeof cards / sizeof *cards; c++)
            for (int64_t batch = 1; batch <= 100; batch *= 10) {
                const bool has_card = c < sizeof cards / sizeof *cards;
                const td_problem p = product(rows[i].m, rows[i].n, rows[i].k, batch);
                const td_decision d = decide(has_card ? cards[c] : NULL, "auto", rows[i].accuracy,
                                             "reproducible", &p);
                assert_string_equal(d.text, rows[i].mode);
                assert_ptr_equal(d.engine, td_engine_parse(rows[i].mode, &(td_parameter){0}));
                assert_int_equal(d.parameter.prices.binary64, 0); /* as the mode defines */
                assert_ptr_equal(d.choice, td_choice_reproducible);
            }
    const td_problem p = product(8, 8, 8, 1);
    assert_string_equal(decide(H200, "df", "fp64", "reproducible", &p).text, "df");
}

/* Strategy adaptive asks how the last call ended where native would do as well, and emulates calls
 * that are forgone for their worst case. */
TEST(adaptive_heeds_sites)
{
    const td_problem large = product(8192, 8192, 8192, 1), small = product(96, 96, 96, 1);
    td_decision d = decide(H200, "auto", "fp64", "adaptive", &large);
    assert_true(d.engine && d.heeds_site && !d.is_risky);
    d = decide(RTX4090, "auto", "fp64", "performant", &small);
    assert_true(!d.engine && !d.heeds_site && d.reason == td_reason_worst);
    d = decide(RTX4090, "auto", "fp64", "adaptive", &small);
    assert_true(d.engine && d.heeds_site && d.is_risky);
    d = decide(RTX4090, "ozaki2", "fp64", "adaptive", &small);
    assert_true(d.engine && d.heeds_site && !d.is_risky);

    /* Native is not good enough, or was not asked about. */
    d = decide(H200, "auto", "faithful", "adaptive", &large);
    assert_true(d.engine && !d.heeds_site);
    d = decide(H200, "auto", "fp64", "eager", &large);
    assert_true(d.engine && !d.heeds_site);
}

/* An update of one triangle of order n with k terms; of complex matrices it is Hermitian. */
static td_problem update(td_type type, td_kind kind, int64_t n, int64_t k)
{
    td_problem p = product(n, n, k, 1);
    p.kind = kind;
    p.type = type;
    p.is_hermitian = type == TD_COMPLEX_BINARY64;
    p.m = 0;
    return p;
}

/* cuBLAS's own routine has few blocks where C is small: its products are faster where k is long. */
#define REAL    TD_BINARY64
#define COMPLEX TD_COMPLEX_BINARY64
static const struct {
    const char *card, *mode, *accuracy, *strategy;
    td_kind kind;
    td_type type;
    int64_t n, k;
    const char *text;
} updates[] = {
    {H100, "auto", "fp64", "auto", TD_RANK_K, REAL, 512, 200000, "dgemm"},
    {H200, "auto", "fp64", "auto", TD_RANK_K, REAL, 512, 200000, "dgemm"},
    {H200, "auto", "fp64", "auto", TD_RANK_KX, REAL, 512, 200000, "dgemm"},
    {H200, "auto", "40", "auto", TD_RANK_K, REAL, 256, 16384, "dgemm"},
    {H200, "auto", "fp64", "auto", TD_RANK_K, REAL, 512, 512, "native"},
    {H200, "auto", "fp64", "auto", TD_RANK_K, REAL, 64, 200000, "dgemm"},
    {H200, "auto", "fp64", "auto", TD_RANK_K, REAL, 16, 8192, "dgemm"},
    {H200, "auto", "fp64", "auto", TD_RANK_K, REAL, 64, 512, "native"},
    {H200, "auto", "fp64", "auto", TD_RANK_K, REAL, 1024, 200000, "dgemm"},
    {H100, "auto", "fp64", "auto", TD_RANK_K, REAL, 1024, 100000, "dgemm"},
    {H100, "auto", "fp64", "auto", TD_RANK_K, REAL, 2048, 50000, "native"},
    {H200, "auto", "fp64", "auto", TD_RANK_K, REAL, 8192, 512, "native"},
    {H100, "auto", "fp64", "auto", TD_RANK_K, REAL, 8192, 512, "native"},
    {H100, "auto", "fp64", "auto", TD_RANK_K, REAL, 16384, 1024, "ozaki2"},
    {H100, "auto", "fp64", "auto", TD_RANK_K, REAL, 8192, 128, "native"},
    {H200, "auto", "fp64", "auto", TD_RANK_2K, REAL, 64, 65536, "dgemm"},
    {H200, "auto", "fp64", "auto", TD_RANK_2K, REAL, 512, 200000, "dgemm"},
    {H100, "auto", "fp64", "auto", TD_RANK_2K, REAL, 512, 512, "native"},
    {H100, "auto", "fp64", "auto", TD_RANK_K, COMPLEX, 64, 200000, "dgemm"},
    {H100, "auto", "fp64", "auto", TD_RANK_K, COMPLEX, 16, 256, "native"},
    {H100, "auto", "fp64", "auto", TD_RANK_K, COMPLEX, 512, 50000, "dgemm"},
    {H100, "auto", "fp64", "auto", TD_RANK_2K, COMPLEX, 64, 65536, "dgemm"},
    {H200, "auto", "fp64", "eager", TD_RANK_K, REAL, 512, 200000, "ozaki2"},
    {H200, "auto", "fp64", "reproducible", TD_RANK_K, REAL, 512, 200000, "ozaki2"},
    {H200, "auto", "faithful", "auto", TD_RANK_K, REAL, 512, 200000, "faithful"},
    {H200, "native", "fp64", "auto", TD_RANK_K, REAL, 512, 200000, "native"},
    {H200, "ozaki2", "fp64", "auto", TD_RANK_K, REAL, 512, 200000, "ozaki2"},
};

TEST(auto_makes_narrow_updates_of_products)
{
    for (size_t i = 0; i < sizeof updates / sizeof *updates; i++) {
        const td_problem p = update(updates[i].type, updates[i].kind, updates[i].n, updates[i].k);
        const td_decision d =
            decide(updates[i].card, updates[i].mode, updates[i].accuracy, updates[i].strategy, &p);
        if (strcmp(d.text, updates[i].text) != 0)
            fail_msg("row %zu: %s for %s (%.3g s, native %.3g s)", i, d.text, updates[i].text,
                     d.forecast.emulated, d.forecast.native);
        if (strcmp(d.text, "dgemm") != 0) continue;
        assert_ptr_equal(d.engine, &td_engine_dgemm);
        assert_ptr_equal(d.choice, td_choice_fastest);
        assert_string_equal(d.forecast.mode, "dgemm");
        assert_true(d.forecast.emulated < (1.0 - TD_POLICY_MARGIN) * d.forecast.native);
    }
}

/* Where cuBLAS's update is faster than predicted it stays, or where its products are slower; where
 * it is slower, they take its place. */
TEST(auto_knows_what_was_calibrated_of_updates)
{
    static const struct {
        td_timed row;
        int octaves;
        int64_t n, k;
        bool is_native_before, is_native_after;
    } cases[] = {{TD_TIMED_native_dsyrk, -1, 512, 200000, false, true},
                 {TD_TIMED_dgemm_dsyrk, 1, 512, 200000, false, true},
                 {TD_TIMED_native_dsyr2k, 2, 512, 200000, false, false},
                 {TD_TIMED_native_dsyrk, 1, 2048, 50000, true, false},
                 {TD_TIMED_native_zherk, 1, 2048, 50000, true, true}};
    static signed char factors[TD_FACTORS];
    const td_options o = options_of_auto();
    const td_model plain = model_of(H100);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const td_problem p = update(TD_BINARY64, TD_RANK_K, cases[i].n, cases[i].k);
        td_model moved = plain;
        memset(factors, cases[i].octaves * TD_OCTAVE, sizeof factors);
        moved.factors[TD_MOST_WAYS + cases[i].row] = factors;
        const td_decision before = decide_call(&o, &p, &plain), after = decide_call(&o, &p, &moved);
        assert_int_equal(before.reason == td_reason_slower, cases[i].is_native_before);
        assert_int_equal(after.reason == td_reason_slower, cases[i].is_native_after);
    }
}

/* What mode auto hands down: binary64 is a way out where a device is fast at it. */
TEST(prices_follow_the_device)
{
    const td_problem p = product(4096, 4096, 4096, 1);
    for (int is_slow = 0; is_slow < 2; is_slow++) {
        const td_decision d = decide(is_slow ? RTX4090 : H200, "auto", "fp64", "auto", &p);
        const td_prices prices = d.parameter.prices;
        assert_string_equal(d.text, "ozaki2");
        assert_true(prices.few > 0 && prices.more > 0 && prices.estimate > 0);
        assert_true(prices.more < prices.few / 8 && prices.sums > prices.binary64);
        const double binary64 = (double)prices.binary64 / prices.few;
        assert_true(is_slow ? binary64 > 10.0 : binary64 > 1.2 && binary64 < 1.8);
        assert_true(prices.native > 0 && prices.native <= prices.binary64);
    }
}

/* cuBLAS's product may stand for ours where native products may, and late where they are long. */
TEST(native_products_have_a_price)
{
    const td_problem large = product(4096, 4096, 4096, 1), small = product(1536, 1536, 1536, 1);
    assert_true(decide(H200, "auto", "40", "auto", &large).parameter.prices.native > 0);
    assert_int_equal(decide(H200, "auto", "fp64", "eager", &large).parameter.prices.native, 0);
    assert_int_equal(decide(H200, "auto", "fp64", "eager", &small).parameter.prices.native, 0);
    assert_int_equal(decide(H200, "auto", "fp64", "reproducible", &large).parameter.prices.native,
                     0);
    assert_int_equal(decide(H200, "ozaki2", "fp64", "auto", &large).parameter.prices.native, 0);
    const td_model model = model_of(H200);
    const td_real_product real[] = {real_product(1536, 1536, 1536, 1),
                                    real_product(4096, 4096, 4096, 1),
                                    real_product(8192, 8192, 8192, 1)};
    assert_true(td_prices_of(&model, &td_engine_ozaki2, &real[0]).native > 0);
    assert_false(td_prices_of(&model, &td_engine_ozaki2, &real[1]).has_late_branch);
    assert_true(td_prices_of(&model, &td_engine_ozaki2, &real[2]).has_late_branch);
    assert_true(td_prices_of(&model, &td_engine_ozaki2, &real[1]).has_inner_branch);
}

/* Once lines are measured cuBLAS's product of aligned operands is left, or sums of copies. */
TEST(what_is_left_late_has_a_price)
{
    const td_model model = model_of(H200);
    td_real_product real = real_product(4096, 4096, 4096, 1);
    const td_prices aligned = td_prices_of(&model, &td_engine_ozaki2, &real);
    real.a.ld = real.b.ld = 4097;
    const td_prices copied = td_prices_of(&model, &td_engine_ozaki2, &real);
    assert_true(aligned.has_inner_branch && !copied.has_inner_branch);
    assert_true(aligned.late > aligned.native && aligned.late < aligned.binary64);
    assert_true(copied.late > 1.05 * copied.binary64 && copied.late < 1.2 * copied.binary64);
}

/* TANDEM_VERIFY holds a product to what is promised of whoever may have made it. */
TEST(native_products_have_their_own_bound)
{
    td_parameter parameter = {.count = 14};
    const double ours = td_proven(&td_engine_ozaki2, parameter, 4096).relative;
    parameter.prices.native = 1;
    assert_true(ours < 260.0 * 0x1p-53);
    assert_true(td_proven(&td_engine_ozaki2, parameter, 4096).relative == 4097.0 * 0x1p-53);
    assert_true(td_proven(&td_engine_ozaki2, parameter, 4).relative == 9.0 * 0x1p-53);
}

/* One kind of call in a replay, and its microseconds in each mode that was timed. */
enum { REPLAY_MODES = 8 };
typedef struct {
    td_problem p;
    int count, modes;
    char mode[REPLAY_MODES][32];
    double us[REPLAY_MODES];
} call;

static double us_of(const call *c, const char *mode)
{
    for (int i = 0; i < c->modes; i++)
        if (strcmp(c->mode[i], mode) == 0) return c->us[i];
    print_error("no time of %s was recorded\n", mode);
    fail();
    return 0.0;
}

/* True for the first line of a kind of call:
 * op_a,op_b,m,n,k,batch,beta,count,mode,ran,us,predicted. */
static bool read_line(const char *line, call *c)
{
    char op_a, op_b, mode[32];
    long m, n, k, batch;
    double beta, us;
    int count;
    assert_int_equal(sscanf(line, "%c,%c,%ld,%ld,%ld,%ld,%lf,%d,%31[^,],%*[^,],%lf", &op_a, &op_b,
                            &m, &n, &k, &batch, &beta, &count, mode, &us),
                     10);
    td_problem p = product(m, n, k, batch);
    p.op_a = op_a == 'N' ? TD_OP_N : TD_OP_T;
    p.op_b = op_b == 'N' ? TD_OP_N : TD_OP_T;
    p.beta.value.binary64 = beta;
    const bool is_new = c->modes == 0 || strcmp(mode, c->mode[0]) == 0; /* modes come in turns */
    if (is_new) *c = (call){.p = p, .count = count};
    assert_true(c->modes < REPLAY_MODES);
    memcpy(c->mode[c->modes], mode, sizeof mode);
    c->us[c->modes++] = us;
    return is_new;
}

typedef struct {
    double native, chosen, best,
        most; /* sums in us; the most that a call took of native's time, less 10 us */
} replay_sums;

static void weigh_call(const call *c, const td_options *o, const td_model *model, replay_sums *sums)
{
    const double slack = 10.0, native = us_of(c, "native");
    double best = native;
    for (int i = 0; i < c->modes; i++)
        if (strcmp(c->mode[i], "auto") != 0 && c->us[i] < best) best = c->us[i];
    const td_decision d = decide_call(o, &c->p, model);
    const double chosen = us_of(c, d.text);
    sums->native += c->count * native;
    sums->chosen += c->count * chosen;
    sums->best += c->count * best;
    sums->most = fmax(sums->most, (chosen - slack) / native);
}

/* What auto chooses now, at the times that were recorded then. */
TEST(choices_are_good_over_the_calls_of_programs)
{
    char line[256];
    call c = {.modes = 0};
    replay_sums sums = {0};
    td_options o = options_of_auto();
    int calls = 0;
    const td_model model = model_of(H200);
    FILE *file = fopen(replayed, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        if (line[0] == '#' || strncmp(line, "op_a", 4) == 0) continue;
        const call before = c;
        if (!read_line(line, &c) || before.modes == 0) continue;
        weigh_call(&before, &o, &model, &sums);
        calls++;
    }
    fclose(file);
    weigh_call(&c, &o, &model, &sums);
    print_message("%d kinds of call: auto takes %.3f of native's time, %.2f %% more than the best; "
                  "at most %.2f of native's and 10 us\n",
                  calls + 1, sums.chosen / sums.native, 100.0 * (sums.chosen / sums.best - 1.0),
                  sums.most);
    assert_true(calls > 300);
    assert_true(sums.chosen <= 0.9 * sums.native);
    /* auto forgoes what would cost too much if the data were bad */
    assert_true(sums.chosen <= 1.08 * sums.best);
    assert_true(sums.most <= 1.05);
}

/* Whatever is asked for, what is chosen has as many bits; native as many as fp64 asks for. */
TEST(choices_are_good_enough)
{
    for (int bits = 10; bits <= 52; bits++)
        for (int64_t k = 1; k < 1000000; k = k * 5 / 2 + 1) {
            char accuracy[16];
            const td_problem p = product(2000, 2000, k, 1);
            snprintf(accuracy, sizeof accuracy, "%d", bits);
            const td_decision d = decide(RTX4090, "auto", accuracy, "auto", &p);
            const td_engine *engine = d.engine ? d.engine : td_engines[0];
            assert_true(td_bits(engine, d.parameter, k) >= bits);
            assert_true(decide(RTX4090, "auto", "fp64", "eager", &p).engine != NULL);
        }
}

TEST(named_modes_are_weighed_if_asked)
{
    const td_problem small = product(64, 64, 64, 1), large = product(8192, 8192, 8192, 1);
    td_decision d = decide(H200, "ozaki2:14", "fp64", "auto", &small);
    assert_string_equal(d.text, "ozaki2:14");
    assert_true(d.engine && !d.choice && !d.forecast.mode);
    d = decide(H200, "ozaki2:14", "fp64", "performant", &small);
    assert_ptr_equal(d.reason, td_reason_slower);
    assert_string_equal(d.forecast.mode, "ozaki2:14");
    d = decide(H200, "ozaki2:14", "fp64", "performant", &large);
    assert_ptr_equal(d.choice, td_choice_faster);
    assert_true(d.parameter.is_given && d.parameter.count == 14);
    d = decide(H200, "df", "fp64", "performant", &large);
    assert_null(d.engine);
}

/* On a card with much binary64 copies take longer than the product; on one with little, cuBLAS
 * takes longer than copies and emulation together. */
TEST(copies_of_host_memory_have_a_price)
{
    for (int64_t n = 4096; n <= 8192; n *= 2) {
        td_problem there = product(n, n, n, 1), host = there;
        host.copying_seconds = 3e-9 * (double)(n * n); /* at 8 GB/s */
        assert_non_null(decide(H200, "auto", "fp64", "auto", &there).engine);
        assert_ptr_equal(decide(H200, "auto", "fp64", "auto", &host).reason, td_reason_slower);
        assert_ptr_equal(decide(H200, "ozaki2:14", "fp64", "performant", &host).reason,
                         td_reason_slower);
        assert_non_null(decide(H200, "auto", "fp64", "eager", &host).engine);
        const td_decision d = decide(RTX4090, "auto", "fp64", "auto", &host),
                          same = decide(RTX4090, "auto", "fp64", "auto", &there);
        assert_ptr_equal(d.engine, same.engine);
        assert_true(d.engine && d.forecast.emulated > same.forecast.emulated + 0.01 &&
                    d.forecast.native == same.forecast.native);
    }
}

/* cublasXt's own copies may take longer than the product, and than emulation with its copies. */
TEST(native_copies_of_host_memory_have_a_price)
{
    td_problem host = product(8192, 8192, 8192, 1);
    host.copying_seconds = 0.032;
    host.native_copying_seconds = 0.096;
    td_decision d = decide(H200, "auto", "fp64", "auto", &host);
    assert_non_null(d.engine);
    assert_true(d.forecast.native == 0.096 && d.forecast.emulated < 0.06);
    assert_ptr_equal(decide(H200, "ozaki2:14", "fp64", "performant", &host).choice,
                     td_choice_faster);
    host.native_copying_seconds = 0.033;
    assert_ptr_equal(decide(H200, "auto", "fp64", "auto", &host).reason, td_reason_slower);
    host.native_copying_seconds = 0.001; /* less than the product */
    d = decide(H200, "auto", "fp64", "auto", &host);
    assert_true(!d.engine && d.forecast.native > 0.01);
}

TEST(what_cannot_be_predicted_stays_native)
{
    td_options o = options_of_auto();
    td_problem p = product(64, 64, 64, 1);
    assert_ptr_equal(decide_call(&o, &p, NULL).reason, td_reason_device);
    const td_model model = model_of(H200);
    p.alpha.value.binary64 = 0.0;
    assert_ptr_equal(decide_call(&o, &p, &model).reason, td_reason_scales);
    p.m = 0;
    assert_ptr_equal(decide_call(&o, &p, &model).reason, td_reason_empty);
    p = product(64, 64, 64, 1);
    p.type = TD_COMPLEX_BINARY32;
    assert_ptr_equal(decide_call(&o, &p, &model).reason, td_reason_routine);
}

/* A real part of 0 leaves something to multiply where the imaginary part is not 0, as of the
 * exponent -i dt H of a propagator. */
TEST(an_imaginary_alpha_multiplies)
{
    td_options o = options_of_auto();
    const td_model model = model_of(H200);
    td_problem p = product(8192, 8192, 8192, 1);
    p.type = TD_COMPLEX_BINARY64;
    p.alpha.value.complex_binary64 = (td_complex_binary64){0.0, -1.0};
    assert_non_null(decide_call(&o, &p, &model).engine);
    p.alpha.value.complex_binary64 = (td_complex_binary64){0.0, 0.0};
    assert_ptr_equal(decide_call(&o, &p, &model).reason, td_reason_scales);
}

/* The least of several series: others use the machine, too. */
TEST(a_decision_takes_little_time)
{
    enum { SERIES = 20, CALLS = 500 };
    if (getenv("TEST_BRIEF")) skip(); /* an emulated processor */
    td_options o = options_of_auto();
    const td_model model = model_of(H200);
    double least = 1.0;
    for (int s = 0; s < SERIES; s++) {
        struct timespec start, stop;
        clock_gettime(CLOCK_MONOTONIC, &start);
        for (int i = 0; i < CALLS; i++) {
            const td_problem p = product(100 + i, 200, 300, 1 + i % 2);
            assert_non_null(decide_call(&o, &p, &model).text);
        }
        clock_gettime(CLOCK_MONOTONIC, &stop);
        const double seconds =
            (double)(stop.tv_sec - start.tv_sec) + 1e-9 * (double)(stop.tv_nsec - start.tv_nsec);
        if (seconds / CALLS < least) least = seconds / CALLS;
    }
    print_message("a decision takes %.2f us\n", least * 1e6);
    assert_true(least < 10e-6); /* with sanitizers */
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    replayed = argv[1];
    return test_run();
}
