/* The model of triangular solves: cuBLAS's time, how solves are cut, and what mode `auto` makes of
 * them. */
#include <math.h>
#include <string.h>

#include "tests/support/test.h"
#include "tests/lib/support/asked.h"
#include "lib/model/solve_model.h"
#include "tests/lib/support/predicted.h"

static td_problem solve(td_type type, int64_t order, int64_t vectors)
{
    td_problem p = product(order, vectors, order, 1);
    p.kind = TD_TRIANGULAR_SOLVE;
    p.type = type;
    p.k = 0;
    return p;
}

/* Of cuBLAS, in TFLOP/s. */
TEST(native_solves_are_near_what_was_measured)
{
    static const struct {
        td_type type;
        int64_t order, vectors;
        double rate;
    } measured[] = {{TD_BINARY64, 8192, 8192, 32.3},
                    {TD_BINARY64, 8192, 512, 10.4},
                    {TD_BINARY64, 512, 8192, 4.3},
                    {TD_COMPLEX_BINARY64, 4096, 4096, 32.3}};
    const td_model model = model_of(H100);
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
TEST(solves_take_what_is_faster)
{
    td_way_forecast by_way[TD_MOST_WAYS];
    int count;
    (void)td_ways(&count);
    const int fp64 = td_way_of_binary64();
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

TEST(auto_takes_solves_where_they_gain)
{
    td_options o = options_of_auto();
    const td_model slow = model_of(RTX4090), fast = model_of(H100);
    const td_problem large = solve(TD_BINARY64, 8192, 8192), one = solve(TD_BINARY64, 40, 5),
                     narrow = solve(TD_BINARY64, 8192, 512);
    td_decision d = decide_call(&o, &large, &slow);
    assert_string_equal(d.text, "ozaki2");
    assert_in_range(d.cut.least_terms, 64, 512);
    assert_in_range(d.cut.block_rows, 64, 128); /* operations of binary64 are slow there */
    assert_true(d.forecast.emulated < 0.3 * d.forecast.native);
    d = decide_call(&o, &narrow, &fast);
    assert_null(d.reason);
    assert_in_range(d.cut.block_rows, 256, 512); /* launches are */
    assert_ptr_equal(decide_call(&o, &one, &fast).reason, td_reason_slower);
    set_option(&o, TD_OPTION_ACCURACY, "52");
    assert_ptr_equal(decide_call(&o, &large, &slow).reason, td_reason_accuracy);
}

/* The plain choice is a mode; where cuBLAS's solve is faster than predicted, or Tandem's blocks are
 * slower, it is native. */
TEST(auto_knows_what_was_calibrated)
{
    static const struct {
        td_timed row;
        int octaves;
        double native; /* times what it was */
    } cases[] = {{TD_TIMED_native_dtrsm, -2, 0.25},
                 {TD_TIMED_block_dtrsm, 3, 1.0},
                 {TD_TIMED_native_ztrsm, -2, 1.0}};
    static signed char factors[TD_FACTORS];
    const td_options o = options_of_auto();
    const td_problem p = solve(TD_BINARY64, 1024, 1024);
    const td_model plain = model_of(H100);
    const td_decision before = decide_call(&o, &p, &plain);
    assert_null(before.reason);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        td_model moved = plain;
        memset(factors, cases[i].octaves * TD_OCTAVE, sizeof factors);
        moved.factors[TD_MOST_WAYS + cases[i].row] = factors;
        const td_decision after = decide_call(&o, &p, &moved);
        const bool is_other = cases[i].row == TD_TIMED_native_ztrsm;
        assert_ptr_equal(after.reason, is_other ? NULL : td_reason_slower);
        assert_true(fabs(after.forecast.native / before.forecast.native - cases[i].native) < 1e-9);
    }
}

/* By sizes alone. */
TEST(reproducible_solves_ask_no_device)
{
    td_options o = options_of_auto();
    set_option(&o, TD_OPTION_STRATEGY, "reproducible");
    const td_problem large = solve(TD_BINARY64, 4096, 4096), narrow = solve(TD_BINARY64, 4096, 511),
                     shallow = solve(TD_BINARY64, 1024, 4096);
    const td_decision d = decide_call(&o, &large, NULL);
    assert_string_equal(d.text, "ozaki2");
    assert_int_equal(d.cut.least_terms, 2048); /* 2048 x 4096 x 2048 are 2^33 products and more */
    assert_string_equal(decide_call(&o, &narrow, NULL).text, "fp64");
    assert_string_equal(decide_call(&o, &shallow, NULL).text, "fp64");
}
