/* The model, with the modes of the library: predictions against recorded timings, factors, and what
 * mode `auto` makes of products on devices of several kinds.
 *
 * usage: unit_model RECORDED REPLAY RECORDED has single timings of products, REPLAY what
 * bench/replay wrote of the calls of programs on an H200. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cmocka_all.h"
#include "lib/call/policy.h"
#include "lib/engines/model/prices.h"
#include "lib/engines/model/solve_model.h"

static const char *recorded, *replayed;
static double memory[1];

static td_problem product(int64_t m, int64_t n, int64_t k, int64_t batch)
{
    static double result[2];
    const td_matrix there = {.data = memory, .ld = 1 << 20};
    return (td_problem){.kind = TD_PRODUCT,
                        .type = TD_BINARY64,
                        .m = m,
                        .n = n,
                        .k = k,
                        .alpha.value.binary64 = 1.0,
                        .a = there,
                        .b = there,
                        .c = {.data = result, .ld = 1 << 20},
                        .batch = batch};
}

static td_model model_of(const char *card)
{
    td_model model;
    assert_non_null(td_card_known(card));
    td_model_make(&model, td_card_known(card));
    return model;
}

/* ---- times ---- */

/* Line by line: card,m,n,k,batch,beta,mode,ms. The model is meant to be right to a tenth where a
 * choice depends on it; a burst of calls and a long series of them differ by more than that. */
static void predictions_are_near_what_was_recorded(void **state)
{
    const double widest = 1.45;
    char line[256], card[64], mode[32];
    double beta, ms, worst = 1.0;
    long m, n, k, batch;
    int lines = 0;
    (void)state;
    FILE *file = fopen(recorded, "r");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof line, file));
    for (; fgets(line, sizeof line, file); lines++) {
        assert_int_equal(sscanf(line, "%63[^,],%ld,%ld,%ld,%ld,%lf,%31[^,],%lf", card, &m, &n, &k,
                                &batch, &beta, mode, &ms),
                         8);
        const td_model model = model_of(card);
        td_problem p = product(m, n, k, batch);
        td_parameter parameter;
        p.beta.value.binary64 = beta;
        const td_engine *engine = td_engine_parse(mode, &parameter);
        assert_non_null(engine);
        const double off = td_model_seconds(&model, engine, parameter, &p) / (ms * 1e-3);
        if (!(off < widest && off > 1.0 / widest))
            print_error("predicted %.2f times the time of %s", off, line);
        if (fabs(log(off)) > fabs(log(worst))) worst = off;
    }
    fclose(file);
    print_message("worst of %d predictions: %.2f times what was recorded\n", lines, worst);
    assert_true(lines >= 50 && worst < widest && worst > 1.0 / widest);
}

static void every_way_has_a_time_on_every_card(void **state)
{
    static const int64_t sizes[] = {1, 17, 1000, INT32_MAX};
    double seconds[TD_MOST_WAYS];
    int count;
    (void)state;
    (void)td_ways(&count);
    assert_in_range(count, 5, TD_MOST_WAYS);
    for (const td_card *card = td_cards; card->name[0]; card++) {
        td_model model;
        td_model_make(&model, card);
        for (int i = 0; i < 4 * 4 * 4 * 4; i++) {
            const td_problem p =
                product(sizes[i % 4], sizes[i / 4 % 4], sizes[i / 16 % 4], sizes[i / 64]);
            td_model_predict(&model, &p, seconds);
            for (int w = 0; w < count; w++) assert_true(seconds[w] > 1e-6 && isfinite(seconds[w]));
        }
    }
}

static void larger_products_take_longer(void **state)
{
    double seconds[2][TD_MOST_WAYS];
    int count;
    (void)state;
    (void)td_ways(&count);
    for (const td_card *card = td_cards; card->name[0]; card++) {
        td_model model;
        td_model_make(&model, card);
        for (int64_t n = 1024; n <= 16384; n *= 2) {
            const td_problem p[2] = {product(n, n, n, 1), product(2 * n, 2 * n, 2 * n, 1)};
            for (int i = 0; i < 2; i++) td_model_predict(&model, &p[i], seconds[i]);
            for (int w = 0; w < count; w++) assert_true(seconds[1][w] > 2.0 * seconds[0][w]);
        }
    }
}

static void a_device_that_says_nothing_has_a_model(void **state)
{
    static const int nothing[TD_CARD_ATTRIBUTES],
        toy[TD_CARD_ATTRIBUTES] = {8, 9, 10, 1000000, 5000000, 64};
    double seconds[TD_MOST_WAYS];
    td_model model;
    (void)state;
    const td_card card = td_card_of("unknown", nothing), other = td_card_of("Toy", toy);
    td_model_make(&model, &card);
    const td_problem p = product(100, 100, 100, 1);
    td_model_predict(&model, &p, seconds);
    assert_true(seconds[0] > 0.0 && isfinite(seconds[0]));
    assert_true(other.hertz == 1e9 && other.bytes_per_second == 80e9 && other.major == 8);
}

/* ---- factors ---- */

/* A factor moves the product that it belongs to by just so much, and none that another belongs
 * to. */
static void each_factor_has_a_product(void **state)
{
    static signed char factors[TD_FACTORS];
    td_model plain = model_of("NVIDIA GeForce RTX 4090"), moved = plain;
    (void)state;
    moved.factors[0] = factors;
    for (int at = 0; at < TD_FACTORS; at++) {
        const td_problem own = td_factor_problem(at),
                         other = td_factor_problem((at + 100) % TD_FACTORS);
        const double before = td_model_seconds(&plain, td_engines[0], (td_parameter){0}, &own);
        factors[at] = -TD_OCTAVE;
        const double after = td_model_seconds(&moved, td_engines[0], (td_parameter){0}, &own),
                     apart = td_model_seconds(&moved, td_engines[0], (td_parameter){0}, &other);
        factors[at] = 0;
        assert_true(fabs(after / before - 0.5) < 1e-9);
        assert_true(apart == td_model_seconds(&plain, td_engines[0], (td_parameter){0}, &other));
        assert_int_equal(td_factor_of(0.5 * before, before), -TD_OCTAVE);
    }
    assert_int_equal(td_factor_of(1e9, 1.0), TD_MOST_FACTOR);
    assert_int_equal(td_factor_of(1e-9, 1.0), -TD_MOST_FACTOR);
}

/* In between the factors are weighed; m and n count alike. */
static void factors_are_interpolated(void **state)
{
    static signed char factors[TD_FACTORS];
    td_model plain = model_of("NVIDIA GeForce RTX 4090"), moved = plain;
    (void)state;
    moved.factors[0] = factors;
    for (int at = 0; at < TD_FACTORS; at++) factors[at] = (signed char)(at % 7 * 8 - 24);
    for (int64_t size = 3; size < 100000; size = size * 3 / 2 + 1) {
        const td_problem p = product(700, size, 300, 1), turned = product(size, 700, 300, 1);
        const double by[] = {
            td_model_seconds(&moved, td_engines[0], (td_parameter){0}, &p) /
                td_model_seconds(&plain, td_engines[0], (td_parameter){0}, &p),
            td_model_seconds(&moved, td_engines[0], (td_parameter){0}, &turned) /
                td_model_seconds(&plain, td_engines[0], (td_parameter){0}, &turned)};
        assert_true(by[0] > 0.5 && by[0] < 2.0 && fabs(by[0] - by[1]) < 1e-9);
    }
}

/* ---- choices ---- */

#define H200    "NVIDIA H200"
#define A100    "NVIDIA A100-SXM4-80GB"
#define RTX4090 "NVIDIA GeForce RTX 4090"
#define HOST    "Tandem host device (no GPU)"

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
    {H200, "fp64", "auto", 4096, 2048, 2048, 1, "ozaki2"}, /* 13 % are enough, */
    {H200, "fp64", "auto", 3072, 2048, 2048, 1, "native"}, /* and 10 % are not */
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

static void set(td_options *o, td_option_id id, const char *text)
{
    assert_true(td_options_set(o, id, "a test's value", text, TD_ORIGIN_CALL));
}

static td_decision decide(const char *card, const char *mode, const char *accuracy,
                          const char *strategy, const td_problem *p)
{
    static td_options o; /* a decision's strings live as long */
    const td_model model = card ? model_of(card) : (td_model){0};
    td_options_set_defaults(&o);
    set(&o, TD_OPTION_MODE, mode);
    set(&o, TD_OPTION_ACCURACY, accuracy);
    set(&o, TD_OPTION_STRATEGY, strategy);
    return td_policy_decide(&o, p, card ? &model : NULL);
}

static void auto_takes_the_fastest_that_is_good_enough(void **state)
{
    int wrong = 0;
    (void)state;
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
static void no_device_changes_reproducible_choices(void **state)
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
    (void)state;
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

/* What mode auto hands down: binary64 is a way out where a device is fast at it. */
static void prices_follow_the_device(void **state)
{
    const td_problem p = product(4096, 4096, 4096, 1);
    (void)state;
    for (int is_slow = 0; is_slow < 2; is_slow++) {
        const td_decision d = decide(is_slow ? RTX4090 : H200, "auto", "fp64", "auto", &p);
        const td_prices prices = d.parameter.prices;
        assert_string_equal(d.text, "ozaki2");
        assert_true(prices.few > 0 && prices.more > 0 && prices.estimate > 0);
        assert_true(prices.more < prices.few / 8 && prices.sums > prices.binary64);
        const double binary64 = (double)prices.binary64 / prices.few;
        assert_true(is_slow ? binary64 > 10.0 : binary64 > 1.2 && binary64 < 1.8);
    }
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
    const td_decision d = td_policy_decide(o, &c->p, model);
    const double chosen = us_of(c, d.text);
    sums->native += c->count * native;
    sums->chosen += c->count * chosen;
    sums->best += c->count * best;
    sums->most = fmax(sums->most, (chosen - slack) / native);
}

/* What auto chooses now, at the times that were recorded then. */
static void choices_are_good_over_the_calls_of_programs(void **state)
{
    char line[256];
    call c = {.modes = 0};
    replay_sums sums = {0};
    td_options o;
    int calls = 0;
    const td_model model = model_of(H200);
    (void)state;
    td_options_set_defaults(&o);
    set(&o, TD_OPTION_MODE, "auto");
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
    assert_true(sums.chosen <= 1.05 * sums.best);
    assert_true(sums.most <= 1.05);
}

/* Whatever is asked for, what is chosen has as many bits; native as many as fp64 asks for. */
static void choices_are_good_enough(void **state)
{
    (void)state;
    for (int bits = 10; bits <= 52; bits++)
        for (int64_t k = 1; k < 1000000; k = k * 5 / 2 + 1) {
            char accuracy[16];
            const td_problem p = product(2000, 2000, k, 1);
            snprintf(accuracy, sizeof accuracy, "%d", bits);
            const td_decision d = decide(RTX4090, "auto", accuracy, "auto", &p);
            const td_engine *engine = d.engine ? d.engine : td_engines[0];
            assert_true(engine->bits(d.parameter, k) >= bits);
            assert_true(decide(RTX4090, "auto", "fp64", "eager", &p).engine != NULL);
        }
}

static void named_modes_are_weighed_if_asked(void **state)
{
    const td_problem small = product(64, 64, 64, 1), large = product(8192, 8192, 8192, 1);
    (void)state;
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

static void what_cannot_be_predicted_stays_native(void **state)
{
    td_options o;
    td_problem p = product(64, 64, 64, 1);
    (void)state;
    td_options_set_defaults(&o);
    set(&o, TD_OPTION_MODE, "auto");
    assert_ptr_equal(td_policy_decide(&o, &p, NULL).reason, td_reason_device);
    const td_model model = model_of(H200);
    p.alpha.value.binary64 = 0.0;
    assert_ptr_equal(td_policy_decide(&o, &p, &model).reason, td_reason_scales);
    p.m = 0;
    assert_ptr_equal(td_policy_decide(&o, &p, &model).reason, td_reason_empty);
    p = product(64, 64, 64, 1);
    p.type = TD_COMPLEX_BINARY32;
    assert_ptr_equal(td_policy_decide(&o, &p, &model).reason, td_reason_routine);
}

/* The least of several series: others use the machine, too. */
static void a_decision_takes_little_time(void **state)
{
    enum { SERIES = 20, CALLS = 500 };
    td_options o;
    const td_model model = model_of(H200);
    double least = 1.0;
    (void)state;
    td_options_set_defaults(&o);
    set(&o, TD_OPTION_MODE, "auto");
    for (int s = 0; s < SERIES; s++) {
        struct timespec start, stop;
        clock_gettime(CLOCK_MONOTONIC, &start);
        for (int i = 0; i < CALLS; i++) {
            const td_problem p = product(100 + i, 200, 300, 1 + i % 2);
            assert_non_null(td_policy_decide(&o, &p, &model).text);
        }
        clock_gettime(CLOCK_MONOTONIC, &stop);
        const double seconds =
            (double)(stop.tv_sec - start.tv_sec) + 1e-9 * (double)(stop.tv_nsec - start.tv_nsec);
        if (seconds / CALLS < least) least = seconds / CALLS;
    }
    print_message("a decision takes %.2f us\n", least * 1e6);
    assert_true(least < 10e-6); /* with sanitizers */
}

/* ---- triangular solves ---- */

static td_problem solve(td_type type, int64_t order, int64_t vectors)
{
    td_problem p = product(order, vectors, order, 1);
    p.kind = TD_TRIANGULAR_SOLVE;
    p.type = type;
    p.k = 0;
    return p;
}

/* Of cuBLAS, in TFLOP/s. */
static void native_solves_are_near_what_was_measured(void **state)
{
    static const struct {
        td_type type;
        int64_t order, vectors;
        double rate;
    } measured[] = {{TD_BINARY64, 8192, 8192, 32.3},
                    {TD_BINARY64, 8192, 512, 10.4},
                    {TD_BINARY64, 512, 8192, 4.3},
                    {TD_COMPLEX_BINARY64, 4096, 4096, 32.3}};
    const td_model model = model_of("NVIDIA H100 80GB HBM3");
    (void)state;
    for (size_t i = 0; i < sizeof measured / sizeof *measured; i++) {
        const td_problem p = solve(measured[i].type, measured[i].order, measured[i].vectors);
        const double operations =
            (p.type == TD_BINARY64 ? 1.0 : 4.0) * (double)p.m * (double)p.m * (double)p.n;
        const double rate = operations / td_model_native_solve(&model, &p) * 1e-12;
        assert_true(rate > 0.9 * measured[i].rate && rate < 1.1 * measured[i].rate);
    }
}

/* No way takes longer than mode fp64 alone, and the more products a way makes the earlier it
 * begins. */
static void solves_take_what_is_faster(void **state)
{
    td_solve_forecast by_way[TD_MOST_WAYS];
    int count;
    (void)td_ways(&count);
    (void)state;
    const int fp64 = td_way_of(&td_engine_fp64, (td_parameter){0});
    for (const td_card *card = td_cards; card->name[0]; card++)
        for (int64_t order = 1; order <= 16384; order = 3 * order + 70) {
            td_model model;
            td_model_make(&model, card);
            const td_problem p = solve(TD_BINARY64, order, 1000);
            td_model_predict_solve(&model, &p, by_way);
            assert_true(by_way[0].seconds > 0.0);
            assert_true(by_way[fp64].cut.least_terms == INT64_MAX);
            for (int i = 1; i < count; i++) {
                const double seconds = by_way[i].seconds, of_fp64 = by_way[fp64].seconds;
                const td_solve_cut cut = by_way[i].cut;
                assert_true(seconds > 0.0 && seconds <= of_fp64);
                assert_true(cut.least_terms < order || seconds == of_fp64);
                assert_true((cut.block_rows & (cut.block_rows - 1)) == 0);
                assert_in_range(cut.block_rows, TD_SOLVE_LEAST_ROWS, td_solve_most_rows(p.type));
            }
        }
}

static void auto_takes_solves_where_they_gain(void **state)
{
    td_options o;
    td_options_set_defaults(&o);
    assert_true(td_options_set(&o, TD_OPTION_MODE, "mode", "auto", TD_ORIGIN_CALL));
    const td_model slow = model_of("NVIDIA GeForce RTX 4090"),
                   fast = model_of("NVIDIA H100 80GB HBM3");
    const td_problem large = solve(TD_BINARY64, 8192, 8192), one = solve(TD_BINARY64, 40, 5),
                     narrow = solve(TD_BINARY64, 8192, 512);
    td_decision d = td_policy_decide(&o, &large, &slow);
    assert_string_equal(d.text, "ozaki2");
    assert_in_range(d.cut.least_terms, 64, 512);
    assert_in_range(d.cut.block_rows, 64, 128); /* operations of binary64 are slow there */
    assert_true(d.forecast.emulated < 0.3 * d.forecast.native);
    d = td_policy_decide(&o, &narrow, &fast);
    assert_null(d.reason);
    assert_in_range(d.cut.block_rows, 256, 512); /* launches are */
    assert_ptr_equal(td_policy_decide(&o, &one, &fast).reason, td_reason_slower);
    assert_true(td_options_set(&o, TD_OPTION_ACCURACY, "accuracy", "52", TD_ORIGIN_CALL));
    assert_ptr_equal(td_policy_decide(&o, &large, &slow).reason, td_reason_accuracy);
    (void)state;
}

/* By sizes alone. */
static void reproducible_solves_ask_no_device(void **state)
{
    td_options o;
    td_options_set_defaults(&o);
    assert_true(td_options_set(&o, TD_OPTION_MODE, "mode", "auto", TD_ORIGIN_CALL) &&
                td_options_set(&o, TD_OPTION_STRATEGY, "strategy", "reproducible", TD_ORIGIN_CALL));
    const td_problem large = solve(TD_BINARY64, 4096, 4096), narrow = solve(TD_BINARY64, 4096, 511),
                     shallow = solve(TD_BINARY64, 1024, 4096);
    const td_decision d = td_policy_decide(&o, &large, NULL);
    assert_string_equal(d.text, "ozaki2");
    assert_int_equal(d.cut.least_terms, 2048); /* 2048 x 4096 x 2048 are 2^33 products and more */
    assert_string_equal(td_policy_decide(&o, &narrow, NULL).text, "fp64");
    assert_string_equal(td_policy_decide(&o, &shallow, NULL).text, "fp64");
    (void)state;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(native_solves_are_near_what_was_measured),
        cmocka_unit_test(solves_take_what_is_faster),
        cmocka_unit_test(auto_takes_solves_where_they_gain),
        cmocka_unit_test(reproducible_solves_ask_no_device),
        cmocka_unit_test(predictions_are_near_what_was_recorded),
        cmocka_unit_test(every_way_has_a_time_on_every_card),
        cmocka_unit_test(larger_products_take_longer),
        cmocka_unit_test(a_device_that_says_nothing_has_a_model),
        cmocka_unit_test(each_factor_has_a_product),
        cmocka_unit_test(factors_are_interpolated),
        cmocka_unit_test(auto_takes_the_fastest_that_is_good_enough),
        cmocka_unit_test(no_device_changes_reproducible_choices),
        cmocka_unit_test(prices_follow_the_device),
        cmocka_unit_test(choices_are_good_over_the_calls_of_programs),
        cmocka_unit_test(choices_are_good_enough),
        cmocka_unit_test(named_modes_are_weighed_if_asked),
        cmocka_unit_test(what_cannot_be_predicted_stays_native),
        cmocka_unit_test(a_decision_takes_little_time),
    };
    if (argc != 3) return 2;
    recorded = argv[1];
    replayed = argv[2];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
