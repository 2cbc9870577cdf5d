/* The model of LU factorisations: cuSOLVER's time, and what mode `auto` makes of them. */
#include <math.h>

#include "tests/support/test.h"
#include "tests/lib/support/asked.h"
#include "lib/model/factor_model.h"
#include "tests/lib/support/predicted.h"

static int info;

static td_problem factors(td_type type, int64_t m, int64_t n)
{
    td_problem p = product(m, n, 0, 1);
    p.kind = TD_FACTOR_LU;
    p.type = type;
    p.info = &info;
    return p;
}

static bool is_near(double a, double b) { return fabs(a / b - 1.0) < 1e-9; }

/* Measured orders are as they were measured; others lie between their neighbours. */
TEST(native_times_are_those_of_the_table)
{
    const td_model model = model_of(H200);
    const td_problem p = factors(TD_BINARY64, 8192, 8192), q = factors(TD_BINARY64, 1024, 1024);
    assert_true(is_near(td_model_native_lu(&model, &p), 37.5e-3));
    assert_true(is_near(td_model_native_lu(&model, &q), 2.22e-3));
    double before = 0.0;
    for (int64_t order = 1; order < 40000; order = order * 5 / 4 + 1) {
        const td_problem r = factors(TD_BINARY64, order, order);
        const double seconds = td_model_native_lu(&model, &r);
        assert_true(seconds > before);
        before = seconds;
    }
}

/* A matrix takes what its transpose does, and more than a square of its shorter side. */
TEST(native_times_follow_from_operations)
{
    const td_model models[] = {model_of(H100), model_of(RTX4090)};
    const td_problem wide = factors(TD_BINARY64, 2048, 8192),
                     tall = factors(TD_BINARY64, 8192, 2048),
                     square = factors(TD_BINARY64, 2048, 2048),
                     large = factors(TD_BINARY64, 8192, 8192);
    for (int i = 0; i < 2; i++) {
        const double seconds = td_model_native_lu(&models[i], &tall);
        assert_true(is_near(td_model_native_lu(&models[i], &wide), seconds));
        assert_true(seconds > td_model_native_lu(&models[i], &square));
        assert_true(seconds < td_model_native_lu(&models[i], &large));
    }
}

TEST(complex_factors_take_longer)
{
    const td_problem real = factors(TD_BINARY64, 8192, 8192),
                     complex = factors(TD_COMPLEX_BINARY64, 8192, 8192);
    for (const td_card *card = td_cards; card->name[0]; card++) {
        td_model model;
        td_model_make(&model, card);
        assert_true(td_model_native_lu(&model, &complex) > td_model_native_lu(&model, &real));
    }
}

/* Ways have a time where panels have one, which grows with the matrix. */
TEST(ways_differ_by_their_products)
{
    td_way_forecast by_way[TD_MOST_WAYS], larger[TD_MOST_WAYS];
    const int fp64 = td_way_of_binary64();
    int count;
    (void)td_ways(&count);
    for (const td_card *card = td_cards; card->name[0]; card++)
        for (int64_t order = 1; order < 20000; order = 3 * order + 70) {
            td_model model;
            td_model_make(&model, card);
            const td_problem p = factors(TD_BINARY64, order, order),
                             q = factors(TD_BINARY64, 2 * order, 2 * order);
            td_model_predict_lu(&model, &p, by_way);
            td_model_predict_lu(&model, &q, larger);
            assert_true(by_way[0].seconds > 0.0);
            const bool has_panels = card->major == 9 || card->major == 10,
                       fits = order >= TD_FACTOR_LEAST_ORDER && order <= TD_FACTOR_MOST_ROWS;
            assert_int_equal(by_way[fp64].seconds > 0.0, has_panels && fits);
            for (int i = 1; i < count; i++) {
                assert_true(has_panels || by_way[i].seconds < 0.0);
                assert_true(larger[i].seconds < 0.0 || larger[i].seconds > by_way[i].seconds);
            }
        }
}

/* As many products as blocks have something behind them. */
TEST(products_of_factors)
{
    static const struct {
        int64_t m, n, count, rows, columns; /* of the first */
    } cases[] = {
        {1, 1, 0, 0, 0},
        {TD_FACTOR_BLOCK, TD_FACTOR_BLOCK, 0, 0, 0},
        {TD_FACTOR_BLOCK + 1, TD_FACTOR_BLOCK + 1, 1, 1, 1},
        {2 * TD_FACTOR_BLOCK, 2 * TD_FACTOR_BLOCK, 1, TD_FACTOR_BLOCK, TD_FACTOR_BLOCK},
        {3 * TD_FACTOR_BLOCK, 2 * TD_FACTOR_BLOCK, 2, 2 * TD_FACTOR_BLOCK, TD_FACTOR_BLOCK}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const td_problem p = factors(TD_BINARY64, cases[i].m, cases[i].n);
        td_real_product largest;
        assert_int_equal(td_lu_updates(&p), cases[i].count);
        assert_int_equal(td_lu_largest(&p, &largest), cases[i].count > 0);
        if (cases[i].count == 0) continue;
        assert_int_equal(largest.m, cases[i].rows);
        assert_int_equal(largest.n, cases[i].columns);
        assert_int_equal(largest.k, TD_FACTOR_BLOCK);
    }
}

TEST(auto_takes_factors_where_they_gain)
{
    td_options o = options_of_auto();
    const td_model slow = model_of(RTX4090), fast = model_of(H100);
    const td_problem large = factors(TD_BINARY64, 8192, 8192), small = factors(TD_BINARY64, 64, 64);
    td_decision d = decide_call(&o, &large, &fast);
    assert_null(d.reason);
    assert_string_equal(d.text, "dgemm");
    assert_true(d.forecast.emulated < 0.875 * d.forecast.native);
    assert_ptr_equal(decide_call(&o, &small, &fast).reason, td_reason_untimed);
    assert_ptr_equal(decide_call(&o, &large, &slow).reason, td_reason_untimed);
    set_option(&o, TD_OPTION_ACCURACY, "52");
    assert_ptr_equal(decide_call(&o, &large, &fast).reason, td_reason_accuracy);
}

/* By sizes alone. */
TEST(reproducible_factors_ask_no_device)
{
    td_options o = options_of_auto();
    set_option(&o, TD_OPTION_STRATEGY, "reproducible");
    const td_problem large = factors(TD_BINARY64, 8192, 8192),
                     small = factors(TD_BINARY64, 2048, 2048);
    assert_string_equal(decide_call(&o, &large, NULL).text, "ozaki2");
    assert_string_equal(decide_call(&o, &small, NULL).text, "fp64");
}

int main(void) { return test_run(); }
