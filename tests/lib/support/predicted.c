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
    td_real_product real;
    assert_true(td_lower(&p, &lowered));
    td_to_real(&lowered, &real);
    return real;
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
