/* The model of QR factorisations and of their reflectors: cuSOLVER's time, and what mode `auto`
 * makes of them. */
#include <math.h>

#include "tests/support/test.h"
#include "tests/lib/support/asked.h"
#include "lib/model/qr_model.h"
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

static const td_kind kinds[] = {TD_FACTOR_QR, TD_FORM_Q, TD_APPLY_Q};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* Orders between those of the table lie between their neighbours. */
TEST(native_times_grow_with_the_order)
{
    for (int k = 0; k < KINDS; k++)
        for (const td_card *card = td_cards; card->name[0]; card++) {
            td_model model;
            td_model_make(&model, card);
            double before = 0.0;
            for (int64_t order = 1; order < 40000; order = order * 5 / 4 + 1) {
                const td_problem p = square(kinds[k], order);
                const double seconds = td_model_native_qr(&model, &p);
                assert_true(seconds > before);
                before = seconds;
            }
        }
}

/* Ways have a time where panels have one, which grows with the matrix; Q has none. */
TEST(ways_differ_by_their_products)
{
    td_way_forecast by_way[TD_MOST_WAYS], larger[TD_MOST_WAYS];
    int count;
    (void)td_ways(&count);
    for (int k = 0; k < KINDS; k++)
        for (const td_card *card = td_cards; card->name[0]; card++)
            for (int64_t order = 1; order < 20000; order = 3 * order + 70) {
                td_model model;
                td_model_make(&model, card);
                const td_problem p = square(kinds[k], order), q = square(kinds[k], 2 * order);
                td_model_predict_qr(&model, &p, by_way);
                td_model_predict_qr(&model, &q, larger);
                const bool has_panels =
                               kinds[k] == TD_FACTOR_QR && (card->major == 9 || card->major == 10),
                           fits = order >= TD_QR_LEAST_ORDER && order <= TD_QR_MOST_ROWS;
                assert_true(by_way[0].seconds > 0.0);
                assert_int_equal(by_way[td_way_of_binary64()].seconds > 0.0, has_panels && fits);
                for (int i = 1; i < count; i++) {
                    assert_true(has_panels || by_way[i].seconds < 0.0);
                    assert_true(larger[i].seconds < 0.0 || larger[i].seconds > by_way[i].seconds);
                }
            }
}

/* Two for each block that is applied to something. */
TEST(products_of_reflectors)
{
    const int64_t block = TD_FACTOR_BLOCK;
    const struct {
        td_kind kind;
        int64_t m, n, k, count, rows, columns; /* of the second */
    } cases[] = {
        {TD_FACTOR_QR, 1, 1, 1, 0, 0, 0},
        {TD_FACTOR_QR, block, block, 0, 0, 0, 0},
        {TD_FACTOR_QR, block + 1, block + 1, 0, 2, block + 1, 1},
        {TD_FACTOR_QR, block, block + 9, 0, 2, block, 9},
        {TD_FACTOR_QR, 3 * block, 2 * block, 0, 2, 3 * block, block},
        {TD_FORM_Q, 3 * block, block, block, 2, 3 * block, block},
        {TD_APPLY_Q, 3 * block, 7, 2 * block, 4, 3 * block, 7},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const td_problem p = problem(cases[i].kind, cases[i].m, cases[i].n, cases[i].k);
        td_real_product largest;
        assert_int_equal(td_qr_updates(&p), cases[i].count);
        assert_int_equal(td_qr_largest(&p, &largest), cases[i].count > 0);
        if (cases[i].count == 0) continue;
        assert_int_equal(largest.m, cases[i].rows);
        assert_int_equal(largest.n, cases[i].columns);
        assert_int_equal(largest.k, block);
        const td_product first = td_qr_update(&p, 0);
        assert_int_equal(first.m, block);
        assert_int_equal(first.k, cases[i].rows);
    }
}

/* The reflectors of a product from the right are as long as its rows. */
TEST(sides_count)
{
    td_problem p = problem(TD_APPLY_Q, 9, 700, 600);
    assert_int_equal(td_qr_reflected(&p), 9);
    p.side = TD_RIGHT;
    assert_int_equal(td_qr_reflected(&p), 700);
    assert_int_equal(td_qr_update(&p, 0).n, 9);
    assert_int_equal(td_qr_update(&p, 2).k, 700 - TD_FACTOR_BLOCK);
    assert_int_equal(td_qr_update(&p, 2).m, 600 - TD_FACTOR_BLOCK);
}

TEST(auto_makes_reflectors_where_they_gain)
{
    td_options o = options_of_auto();
    const td_model slow = model_of(RTX4090), fast = model_of(H100);
    for (int k = 0; k < KINDS; k++) {
        const td_problem large = square(kinds[k], 8192), small = square(kinds[k], 64);
        const td_decision d = decide_call(&o, &large, &fast);
        if (kinds[k] == TD_FACTOR_QR) {
            assert_null(d.reason);
            assert_string_equal(d.text, "dgemm");
            assert_true(d.forecast.emulated < 0.875 * d.forecast.native);
        } else {
            assert_ptr_equal(d.reason, td_reason_untimed);
        }
        assert_ptr_equal(decide_call(&o, &small, &fast).reason, td_reason_untimed);
        assert_ptr_equal(decide_call(&o, &large, &slow).reason, td_reason_untimed);
    }
}

/* By sizes alone. */
TEST(reproducible_factors_ask_no_device)
{
    td_options o = options_of_auto();
    set_option(&o, TD_OPTION_STRATEGY, "reproducible");
    const td_problem large = square(TD_FACTOR_QR, 8192), small = square(TD_FACTOR_QR, 2048);
    assert_string_equal(decide_call(&o, &large, NULL).text, "ozaki2");
    assert_string_equal(decide_call(&o, &small, NULL).text, "fp64");
}
