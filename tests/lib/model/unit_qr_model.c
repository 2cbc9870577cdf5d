/* The model of QR factorisations and of their reflectors: cuSOLVER's time, and what mode `auto`
 * makes of them. */

#include "tests/support/test.h"
#include "tests/lib/support/asked.h"
#include "lib/model/qr_model.h"
#include "lib/routine/operations.h"
#include "tests/lib/support/predicted.h"

static int info;
static double tau[1];

static td_problem problem(td_kind kind, int64_t m, int64_t n, int64_t k)
{
    td_problem p = product(m, n, k, 1);
    p.kind = kind;
    p.tau = tau;
    p.info = &info;
    return p;
}

static td_problem square(td_kind kind, int64_t order) { return problem(kind, order, order, order); }

static td_problem complex_square(td_kind kind, int64_t order)
{
    td_problem p = square(kind, order);
    p.type = TD_COMPLEX_BINARY64;
    return p;
}

static const td_kind kinds[] = {TD_FACTOR_QR, TD_FORM_Q, TD_APPLY_Q};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* Real and complex, of every kind: k is below 2 KINDS. */
static td_problem any_square(int k, int64_t order)
{
    return k % 2 ? complex_square(kinds[k / 2], order) : square(kinds[k / 2], order);
}

/* Orders between those of the table lie between their neighbours. */
TEST(native_times_grow_with_the_order)
{
    for (int k = 0; k < 2 * KINDS; k++)
        for (const td_card *card = td_cards; card->name[0]; card++) {
            td_model model;
            td_model_make(&model, card);
            double before = 0.0;
            for (int64_t order = 1; order < 40000; order = order * 5 / 4 + 1) {
                const td_problem p = any_square(k, order);
                const double seconds = td_model_native_qr(&model, &p);
                assert_true(seconds > before);
                before = seconds;
            }
        }
}

/* Beyond what was measured, and of matrices that are not square, too. */
TEST(native_times_are_not_below_those_of_operations)
{
    for (int k = 0; k < 2 * KINDS; k++)
        for (const td_card *card = td_cards; card->name[0]; card++)
            for (int64_t order = 1; order < 100000; order = 3 * order + 70)
                for (int share = 1; share <= 8; share *= 2) {
                    td_model model;
                    td_model_make(&model, card);
                    td_problem p = any_square(k, order);
                    p.n = p.k = (order + share - 1) / share;
                    assert_true(td_model_native_qr(&model, &p) >=
                                td_operations(&p) / model.rates.matrix64);
                }
}

/* Ways have a time where panels have one, which grows with the matrix. */
TEST(ways_differ_by_their_products)
{
    for (int k = 0; k < 2 * KINDS; k++)
        for (int64_t order = 1; order < 20000; order = 3 * order + 70) {
            const td_problem p = any_square(k, order), larger = any_square(k, 2 * order);
            expect_ways(td_model_predict_qr, &p, &larger,
                        order >= TD_QR_LEAST_ORDER && order <= TD_QR_MOST_ROWS);
        }
}

/* Complex columns count twice, and Q has the widest panels. Where there are blocks they may be
 * narrow again. */
TEST(panels_widen_with_the_order)
{
    const struct {
        int64_t order, real, complex;
    } cases[] = {{1, 64, 64},      {512, 64, 64},    {513, 128, 64},   {3072, 128, 64},
                 {3073, 128, 128}, {6144, 128, 128}, {6145, 256, 128}, {12288, 256, 128},
                 {12289, 256, 64}, {14337, 128, 64}, {16384, 128, 64}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int k = 0; k < KINDS; k++) {
            const td_problem real = square(kinds[k], cases[i].order),
                             pairs = complex_square(kinds[k], cases[i].order);
            const bool factors = kinds[k] == TD_FACTOR_QR;
            assert_int_equal(td_qr_cut_of(&real).panel, factors ? cases[i].real : TD_QR_WIDEST);
            assert_int_equal(td_qr_cut_of(&pairs).panel,
                             factors ? cases[i].complex : TD_QR_WIDEST / 2);
        }
}

/* Two for each panel that is applied to something. */
TEST(products_of_reflectors)
{
    const struct {
        td_kind kind;
        int64_t m, n, k, count, rows, columns; /* of the second */
    } cases[] = {
        {TD_FACTOR_QR, 1, 1, 1, 0, 0, 0},          {TD_FACTOR_QR, 64, 64, 0, 0, 0, 0},
        {TD_FACTOR_QR, 65, 65, 0, 2, 65, 1},       {TD_FACTOR_QR, 64, 73, 0, 2, 64, 9},
        {TD_FACTOR_QR, 70, 80, 0, 4, 70, 16},      {TD_FACTOR_QR, 900, 128, 0, 2, 900, 64},
        {TD_FACTOR_QR, 900, 700, 0, 10, 900, 572}, {TD_FORM_Q, 700, 256, 256, 2, 700, 256},
        {TD_APPLY_Q, 700, 7, 512, 4, 700, 7},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const td_problem p = problem(cases[i].kind, cases[i].m, cases[i].n, cases[i].k);
        const int64_t panel = td_qr_cut_of(&p).panel;
        td_real_product largest;
        assert_int_equal(td_qr_updates(&p), cases[i].count);
        assert_int_equal(td_qr_largest(&p, &largest), cases[i].count > 0);
        if (cases[i].count == 0) continue;
        assert_int_equal(largest.m, cases[i].rows);
        assert_int_equal(largest.n, cases[i].columns);
        assert_int_equal(largest.k, panel);
        const td_product first = td_qr_update(&p, 0);
        assert_int_equal(first.m, panel);
        assert_int_equal(first.k, cases[i].rows);
        assert_int_equal(first.op_a, TD_OP_T);
    }
}

/* Large matrices have blocks, whose products come before those of the last one's panels, and of
 * which V's triangle is not a row; within them are those of panels, in the same block each. */
TEST(blocks_have_products_of_their_own)
{
    const td_problem p = complex_square(TD_FACTOR_QR, 8192);
    const td_qr_cut cut = td_qr_cut_of(&p);
    const int64_t blocks = td_qr_blocks(&cut, 8192) - 1, left = 8192 - blocks * cut.block;
    assert_int_equal(blocks, 3);
    assert_int_equal(td_qr_updates(&p), 2 * (blocks + left / cut.panel - 1));
    assert_int_equal(td_qr_updates_within(&p), 2 * blocks * (cut.block / cut.panel - 1));
    const td_product second = td_qr_update(&p, 5), panel = td_qr_update(&p, 2 * blocks + 1),
                     within = td_qr_update_within(&p, td_qr_updates_within(&p) - 2);
    assert_int_equal(second.k, cut.block);
    assert_int_equal(second.m, left);
    assert_int_equal(second.n, left);
    assert_int_equal(panel.k, cut.panel);
    assert_int_equal(panel.m, left);
    assert_int_equal(panel.n, left - cut.panel);
    assert_int_equal(within.m, cut.panel);
    assert_int_equal(within.k, left + 2 * cut.panel);
    assert_int_equal(within.n, cut.panel);
    const td_problem small = square(TD_FACTOR_QR, 4096);
    assert_int_equal(td_qr_updates_within(&small), 0);
}

/* A block of reflectors meets the columns behind it where Q is formed, and then its own ones, panel
 * by panel; of a product it meets all vectors, and from the right there is none. */
TEST(blocks_of_q)
{
    const td_problem form = complex_square(TD_FORM_Q, 16384);
    td_problem apply = complex_square(TD_APPLY_Q, 16384);
    apply.n = 9000;
    const td_qr_cut cut = td_qr_cut_of(&form), wider = td_qr_cut_of(&apply);
    const int64_t blocks = td_qr_blocks(&cut, 16384) - 1, left = 16384 - blocks * cut.block;
    assert_true(blocks > 1);
    const td_product second = td_qr_update(&form, 3), within = td_qr_update_within(&form, 1),
                     applied = td_qr_update(&apply, 3);
    assert_int_equal(td_qr_updates(&form), 2 * (blocks + left / cut.panel));
    assert_int_equal(td_qr_updates_within(&form), 2 * blocks * (cut.block / cut.panel));
    assert_int_equal(second.k, cut.block);
    assert_int_equal(second.m, 16384 - 2 * cut.block);
    assert_int_equal(second.n, 16384 - 2 * cut.block);
    assert_int_equal(within.m, 16384);
    assert_int_equal(within.n, cut.block);
    assert_int_equal(within.k, cut.panel);
    assert_int_equal(applied.n, 9000);
    assert_true(wider.block > cut.block);
    assert_int_equal(applied.k, wider.block);
    assert_int_equal(applied.m, 16384 - 2 * wider.block);
    assert_int_equal(td_qr_updates_within(&apply), 0);
    apply.side = TD_RIGHT;
    const td_qr_cut right = td_qr_cut_of(&apply);
    assert_int_equal(td_qr_blocks(&right, 16384), 1);
}

/* The last panel of a wide matrix may be narrow; of complex numbers a product is as large as one of
 * more real ones. */
TEST(last_panels_are_narrow)
{
    const td_problem wide = problem(TD_FACTOR_QR, 70, 80, 0);
    const td_product last = td_qr_update(&wide, 3), first = td_qr_update(&wide, 2);
    assert_int_equal(last.k, 6);
    assert_int_equal(last.n, 10);
    assert_int_equal(first.k, 6);
    const td_problem pairs = complex_square(TD_FACTOR_QR, 1000);
    assert_int_equal(td_qr_update(&pairs, 0).op_a, TD_OP_C);
    td_real_product largest;
    assert_true(td_qr_largest(&pairs, &largest));
    assert_true(largest.m * largest.n * largest.k >= 3 * 1000 * 936 * 64);
}

/* The reflectors of a product from the right are as long as its rows. */
TEST(sides_count)
{
    td_problem p = problem(TD_APPLY_Q, 9, 700, 600);
    assert_int_equal(td_qr_reflected(&p), 9);
    p.side = TD_RIGHT;
    assert_int_equal(td_qr_reflected(&p), 700);
    assert_int_equal(td_qr_update(&p, 0).n, 9);
    assert_int_equal(td_qr_update(&p, 4).k, 700 - 2 * TD_QR_WIDEST);
    assert_int_equal(td_qr_update(&p, 4).m, 600 - 2 * TD_QR_WIDEST);
}

TEST(auto_makes_reflectors_where_they_gain)
{
    td_options o = options_of_auto();
    const td_model slow = model_of(RTX4090), fast = model_of(H200);
    for (int k = 0; k < 2 * KINDS; k++) {
        const td_problem large = any_square(k, 8192), small = any_square(k, 64);
        const td_decision d = decide_call(&o, &large, &fast);
        assert_null(d.reason);
        assert_string_equal(d.text, k % 2 ? "ozaki2" : "dgemm"); /* by blocks */
        assert_true(d.forecast.emulated < 0.875 * d.forecast.native);
        assert_ptr_equal(decide_call(&o, &small, &fast).reason, td_reason_untimed);
        assert_ptr_equal(decide_call(&o, &large, &slow).reason, td_reason_untimed);
    }
}

/* Up to as many rows as leaves have. */
TEST(auto_makes_reflectors_of_many_rows)
{
    const td_options o = options_of_auto();
    const td_model model = model_of(H200);
    for (int k = 0; k < 2 * KINDS; k++)
        for (int64_t order = 20000; order <= TD_QR_MOST_ROWS; order = order * 6 / 5) {
            const td_problem p = any_square(k, order);
            const td_decision d = decide_call(&o, &p, &model);
            assert_null(d.reason);
            assert_string_equal(d.text, "ozaki2");
        }
    const td_problem tall = problem(TD_FACTOR_QR, TD_QR_MOST_ROWS + 1, 20000, 20000);
    assert_ptr_equal(decide_call(&o, &tall, &model).reason, td_reason_untimed);
}

/* By sizes alone: products of a panel's columns are never large. */
TEST(reproducible_factors_ask_no_device)
{
    td_options o = options_of_auto();
    set_option(&o, TD_OPTION_STRATEGY, "reproducible");
    const td_problem large = square(TD_FACTOR_QR, 8192), small = square(TD_FACTOR_QR, 2048);
    assert_string_equal(decide_call(&o, &large, NULL).text, "fp64");
    assert_string_equal(decide_call(&o, &small, NULL).text, "fp64");
}
