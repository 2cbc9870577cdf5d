/* The model of LU factorisations: cuSOLVER's time, and what mode `auto` makes of them. */
#include <math.h>

#include "tests/support/test.h"
#include "tests/lib/support/asked.h"
#include "kernels/factor/lu_cluster.h"
#include "lib/model/factor_model.h"
#include "lib/routine/operations.h"
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
    const td_problem p = factors(TD_BINARY64, 8192, 8192), q = factors(TD_BINARY64, 1024, 1024),
                     large = factors(TD_BINARY64, 65536, 65536);
    assert_true(is_near(td_model_native_lu(&model, &p), 37.5e-3));
    assert_true(is_near(td_model_native_lu(&model, &q), 2.22e-3));
    assert_true(is_near(td_model_native_lu(&model, &large), 4.596));
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

/* Beyond what was measured, too. */
TEST(native_times_are_not_below_those_of_operations)
{
    for (const td_card *card = td_cards; card->name[0]; card++)
        for (int64_t m = 1; m < 200000; m = 3 * m + 100)
            for (int64_t n = 1; n < 200000; n = 3 * n + 100) {
                td_model model;
                td_model_make(&model, card);
                const td_problem p = factors((m ^ n) & 1 ? TD_BINARY64 : TD_COMPLEX_BINARY64, m, n);
                assert_true(td_model_native_lu(&model, &p) >=
                            td_operations(&p) / model.rates.matrix64);
            }
}

/* Milliseconds of panels with cuBLAS's products, on an H200 (docs/results/h200-2026-12-01-compared,
 * factor.csv). */
TEST(wide_matrices_take_as_long_as_was_measured)
{
    static const struct {
        td_type type;
        int64_t m, n;
        double ms;
    } measured[] = {
        {TD_BINARY64, 2764, 5966, 4.905},        {TD_BINARY64, 1199, 3682, 1.703},
        {TD_BINARY64, 380, 6551, 0.551},         {TD_COMPLEX_BINARY64, 1338, 8109, 3.734},
        {TD_COMPLEX_BINARY64, 317, 6544, 0.640}, {TD_COMPLEX_BINARY64, 128, 6258, 0.258}};
    const td_model model = model_of(H200);
    for (size_t i = 0; i < sizeof measured / sizeof *measured; i++) {
        const td_problem p = factors(measured[i].type, measured[i].m, measured[i].n);
        const double share = 1e3 * td_model_lu_by_native_products(&model, &p) / measured[i].ms;
        assert_true(share > 0.8 && share < 1.2);
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
    for (int64_t order = 1; order < 20000; order = 3 * order + 70) {
        const td_problem p = factors(TD_BINARY64, order, order),
                         larger = factors(TD_BINARY64, 2 * order, 2 * order);
        expect_ways(td_model_predict_lu, &p, &larger,
                    order >= TD_FACTOR_LEAST_ORDER && order <= TD_FACTOR_MOST_ROWS);
    }
}

/* Matrices of one block have no product that is large. */
TEST(products_of_factors)
{
    static const struct {
        int64_t m, n, rows, columns, terms; /* of the largest */
    } cases[] = {{1, 1, 0, 0, 0},
                 {9215, 9215, 0, 0, 0},
                 {16384, 4096, 0, 0, 0},
                 {12288, 12288, 6144, 6144, 6144},
                 {16384, 12288, 10240, 6144, 6144},
                 {12288, 16384, 6144, 10240, 6144},
                 {16384, 16384, 10752, 10752, 5632},
                 {10000, 10000, 4880, 4880, 5120}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const td_problem p = factors(TD_BINARY64, cases[i].m, cases[i].n);
        td_real_product largest;
        assert_int_equal(td_lu_largest(&p, &largest), cases[i].terms > 0);
        if (cases[i].terms == 0) continue;
        assert_int_equal(largest.m, cases[i].rows);
        assert_int_equal(largest.n, cases[i].columns);
        assert_int_equal(largest.k, cases[i].terms);
    }
}

/* What is above rows 30..39 in a block that begins at 10, in the columns from 50 to 79. */
TEST(rows_of_a_block)
{
    static double a[100 * 100];
    td_problem p = factors(TD_BINARY64, 100, 100);
    p.a = (td_matrix){.data = a, .ld = 100};
    const td_product rows = td_lu_rows_product(&p, 10, 30, 40, 50, 80);
    assert_int_equal(rows.m, 10);
    assert_int_equal(rows.n, 30);
    assert_int_equal(rows.k, 20);
    assert_ptr_equal(rows.a.data, a + 30 + 10 * 100);
    assert_ptr_equal(rows.b.data, a + 10 + 50 * 100);
    assert_ptr_equal(rows.c.data, a + 30 + 50 * 100);
}

/* Every column is in one panel of one block, whatever the sizes. */
TEST(blocks_are_all_columns)
{
    for (int64_t m = 1; m < 40000; m = m * 5 / 3 + 1)
        for (int64_t n = 1; n < 40000; n = n * 7 / 4 + 1) {
            const td_problem p = factors(TD_BINARY64, m, n);
            const td_lu_cut cut = td_lu_cut_of(&p);
            const int64_t blocks = td_lu_blocks(&p, &cut);
            assert_int_equal(cut.block % cut.of_many.panel, 0);
            assert_int_equal(td_lu_block_at(&p, &cut, 0), 0);
            assert_int_equal(td_lu_block_at(&p, &cut, blocks), m < n ? m : n);
            for (int64_t i = 0; i < blocks; i++)
                assert_true(td_lu_block_at(&p, &cut, i) < td_lu_block_at(&p, &cut, i + 1));
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

/* A mode by name, too, where it is to gain. */
TEST(named_modes_take_no_factors_whose_time_nobody_knows)
{
    td_options o = options_of_auto();
    const td_model slow = model_of(RTX4090), fast = model_of(H200);
    const td_problem large = factors(TD_BINARY64, 16384, 16384),
                     small = factors(TD_BINARY64, 64, 64);
    set_option(&o, TD_OPTION_MODE, "ozaki2");
    assert_non_null(decide_call(&o, &small, &fast).engine);
    assert_non_null(decide_call(&o, &large, &slow).engine);
    set_option(&o, TD_OPTION_STRATEGY, "performant");
    assert_ptr_equal(decide_call(&o, &small, &fast).reason, td_reason_untimed);
    assert_ptr_equal(decide_call(&o, &large, &slow).reason, td_reason_untimed);
    assert_ptr_equal(decide_call(&o, &large, &fast).choice, td_choice_faster);
}

TEST(auto_takes_complex_factors_where_they_gain)
{
    const td_options o = options_of_auto();
    const td_model model = model_of(H200);
    for (int64_t order = 1024; order <= 16384; order *= 2) {
        const td_problem p = factors(TD_COMPLEX_BINARY64, order, order);
        const td_decision d = decide_call(&o, &p, &model);
        assert_null(d.reason);
        assert_string_equal(d.text, order < 4096 ? "dgemm" : "ozaki2");
    }
    const td_problem small = factors(TD_COMPLEX_BINARY64, 256, 256);
    assert_non_null(decide_call(&o, &small, &model).reason);
}

/* Up to as many rows as panels have. */
TEST(auto_takes_factors_of_many_rows)
{
    const td_options o = options_of_auto();
    const td_model model = model_of(H200);
    for (int is_complex = 0; is_complex < 2; is_complex++) {
        const td_type type = is_complex ? TD_COMPLEX_BINARY64 : TD_BINARY64;
        for (int64_t order = 20000; order <= 65536; order = order * 6 / 5) {
            const td_problem p = factors(type, order, order);
            const td_decision d = decide_call(&o, &p, &model);
            assert_null(d.reason);
            assert_string_equal(d.text, "ozaki2");
        }
        const td_problem tall = factors(type, TD_FACTOR_MOST_ROWS + 1, 20000);
        assert_ptr_equal(decide_call(&o, &tall, &model).reason, td_reason_untimed);
    }
}

/* Pieces of complex matrices have at most as many columns as a cluster takes. */
TEST(complex_pieces_are_narrow)
{
    for (int64_t order = 1; order < 20000; order = order * 3 / 2 + 1) {
        const td_problem p = factors(TD_COMPLEX_BINARY64, order, order);
        const td_lu_cut cut = td_lu_cut_of(&p);
        assert_true(cut.of_many.piece <= TD_CLUSTER_COMPLEX_COLUMNS &&
                    cut.of_some.piece <= TD_CLUSTER_COMPLEX_COLUMNS &&
                    cut.of_few.piece <= TD_CLUSTER_COMPLEX_COLUMNS);
    }
}

/* By sizes alone. */
TEST(reproducible_factors_ask_no_device)
{
    td_options o = options_of_auto();
    set_option(&o, TD_OPTION_STRATEGY, "reproducible");
    const td_problem large = factors(TD_BINARY64, 12288, 12288),
                     small = factors(TD_BINARY64, 2048, 2048);
    assert_string_equal(decide_call(&o, &large, NULL).text, "ozaki2");
    assert_string_equal(decide_call(&o, &small, NULL).text, "fp64");
}
