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

/* Few vectors, for which the figures are an H200's, take no less than A takes to be read. */
TEST(native_solves_take_no_less_than_reading)
{
    for (const td_card *card = td_cards; card->name[0]; card++)
        for (int64_t order = 1; order < 200000; order = 3 * order + 70)
            for (int64_t vectors = 1; vectors <= 8; vectors++) {
                td_model model;
                td_model_make(&model, card);
                const td_problem p =
                    solve(vectors & 1 ? TD_BINARY64 : TD_COMPLEX_BINARY64, order, vectors);
                const double elements = (double)order * (double)order / 2.0,
                             bytes = (double)td_types[p.type].size * elements;
                assert_true(td_model_native_solve(&model, &p) >= bytes / model.rates.bytes);
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

/* Few vectors on an H200, in microseconds: cuBLAS's solve and mode fp64's (docs/results/
 * h200-2026-11-29-solvers, narrow.csv). */
static const struct {
    td_type type;
    td_side side;
    td_op op;
    int64_t order, vectors;
    double native, fp64;
} few[] = {{TD_BINARY64, TD_LEFT, TD_OP_N, 128, 1, 21, 14},
           {TD_BINARY64, TD_LEFT, TD_OP_N, 512, 1, 46, 44},
           {TD_BINARY64, TD_LEFT, TD_OP_N, 512, 4, 65, 43},
           {TD_BINARY64, TD_LEFT, TD_OP_N, 2048, 1, 135, 256},
           {TD_BINARY64, TD_LEFT, TD_OP_T, 2048, 1, 138, 262},
           {TD_BINARY64, TD_LEFT, TD_OP_N, 2048, 2, 213, 243},
           {TD_BINARY64, TD_LEFT, TD_OP_N, 2048, 4, 217, 244},
           {TD_BINARY64, TD_LEFT, TD_OP_T, 2048, 4, 512, 247},
           {TD_BINARY64, TD_LEFT, TD_OP_N, 2048, 8, 313, 217},
           {TD_BINARY64, TD_LEFT, TD_OP_N, 2048, 32, 579, 219},
           {TD_BINARY64, TD_LEFT, TD_OP_N, 8192, 1, 549, 1297},
           {TD_BINARY64, TD_LEFT, TD_OP_T, 8192, 1, 590, 1338},
           {TD_BINARY64, TD_LEFT, TD_OP_N, 8192, 3, 1367, 1236},
           {TD_BINARY64, TD_LEFT, TD_OP_T, 8192, 3, 2517, 1272},
           {TD_BINARY64, TD_LEFT, TD_OP_N, 8192, 16, 4203, 1103},
           {TD_BINARY64, TD_RIGHT, TD_OP_N, 128, 8192, 60, 23},
           {TD_BINARY64, TD_RIGHT, TD_OP_T, 512, 1, 254, 44},
           {TD_BINARY64, TD_RIGHT, TD_OP_N, 8192, 3, 4581, 2340},
           {TD_BINARY64, TD_RIGHT, TD_OP_N, 512, 15360, 507, 239},
           {TD_BINARY64, TD_RIGHT, TD_OP_T, 512, 15360, 505, 238},
           {TD_BINARY64, TD_RIGHT, TD_OP_N, 2048, 15360, 2898, 2047},
           {TD_COMPLEX_BINARY64, TD_LEFT, TD_OP_N, 256, 1, 45, 40},
           {TD_COMPLEX_BINARY64, TD_LEFT, TD_OP_N, 1024, 1, 128, 266},
           {TD_COMPLEX_BINARY64, TD_LEFT, TD_OP_N, 1024, 4, 139, 249},
           {TD_COMPLEX_BINARY64, TD_LEFT, TD_OP_N, 1024, 8, 193, 224},
           {TD_COMPLEX_BINARY64, TD_LEFT, TD_OP_T, 1024, 2, 278, 254},
           {TD_COMPLEX_BINARY64, TD_LEFT, TD_OP_N, 4096, 1, 480, 1468},
           {TD_COMPLEX_BINARY64, TD_LEFT, TD_OP_T, 4096, 1, 451, 1478},
           {TD_COMPLEX_BINARY64, TD_LEFT, TD_OP_N, 4096, 4, 802, 1389},
           {TD_COMPLEX_BINARY64, TD_LEFT, TD_OP_N, 4096, 8, 1324, 1235},
           {TD_COMPLEX_BINARY64, TD_RIGHT, TD_OP_C, 512, 4096, 330, 217}};

/* Where mode fp64 was slower, auto takes cuBLAS's, and not where it takes half of the time. */
TEST(auto_takes_few_vectors_only_where_they_gain)
{
    const td_options o = options_of_auto();
    const td_model model = model_of(H200);
    for (size_t i = 0; i < sizeof few / sizeof *few; i++) {
        td_problem p = solve(few[i].type, few[i].order, few[i].vectors);
        p.side = few[i].side;
        p.op_a = few[i].op;
        if (p.side == TD_RIGHT) {
            p.m = few[i].vectors;
            p.n = few[i].order;
            p.b.ld = p.m;
        }
        const td_decision d = decide_call(&o, &p, &model);
        if (few[i].fp64 > few[i].native) assert_ptr_equal(d.reason, td_reason_slower);
        if (2.0 * few[i].fp64 < few[i].native) assert_null(d.reason);
    }
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
