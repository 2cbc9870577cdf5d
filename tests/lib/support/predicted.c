#include "predicted.h"

#include "lib/routine/lower.h"
#include "lib/routine/real.h"
#include "tests/support/test.h"

td_problem product(int64_t m, int64_t n, int64_t k, int64_t batch)
{
    _Alignas(256) static double memory[2], result[2];
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

td_real_product real_product(int64_t m, int64_t n, int64_t k, int64_t batch)
{
    const td_problem p = product(m, n, k, batch);
    td_product lowered;
    assert_true(td_lower(&p, &lowered));
    return td_real_product_of(&lowered);
}

td_model model_of(const char *card)
{
    td_model model;
    assert_non_null(td_card_known(card));
    td_model_make(&model, td_card_known(card));
    return model;
}

void set_option(td_options *o, td_option_id id, const char *text)
{
    assert_true(td_options_set(o, id, "a test's value", text, TD_ORIGIN_CALL));
}

td_options options_of_auto(void)
{
    td_options o;
    td_options_set_defaults(&o);
    set_option(&o, TD_OPTION_MODE, "auto");
    return o;
}

void expect_ways(predictor *predict, const td_problem *p, const td_problem *larger, bool fits)
{
    td_way_forecast by_way[TD_MOST_WAYS], of_larger[TD_MOST_WAYS];
    int count;
    (void)td_ways(&count);
    for (const td_card *card = td_cards; card->name[0]; card++) {
        const bool has_panels = card->major == 9 || card->major == 10;
        td_model model;
        td_model_make(&model, card);
        predict(&model, p, by_way);
        predict(&model, larger, of_larger);
        assert_true(by_way[0].seconds > 0.0);
        assert_int_equal(by_way[td_way_of_binary64()].seconds > 0.0, has_panels && fits);
        for (int i = 1; i < count; i++) {
            assert_true(has_panels || by_way[i].seconds < 0.0);
            assert_true(of_larger[i].seconds < 0.0 || of_larger[i].seconds > by_way[i].seconds);
        }
    }
}
