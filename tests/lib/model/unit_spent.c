/* What an emulated call took, by what its kernels counted, and whether it lost to cuBLAS's. */
#include <math.h>

#include "tests/support/test.h"
#include "lib/model/prices.h"
#include "lib/model/spent.h"
#include "tests/lib/support/outcome_word.h"
#include "tests/lib/support/predicted.h"

TEST(word_has_all_fields)
{
    static const td_outcome all[] = {
        {0, 0, 0, 0, 0}, {~0u, 63, 127, TD_OUTCOME_ALL, 1023}, {77, 20, 64, 5, 3}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const td_outcome o = td_outcome_of(outcome_word(all[i]));
        assert_memory_equal(&o, &all[i], sizeof o);
    }
}

/* ozaki2 at 4096 cubed on an H100, where it has a quarter to gain. */
static td_expected expected_of(const char *card, int64_t n)
{
    const td_model model = model_of(card);
    const td_real_product p = real_product(n, n, n, 1);
    const td_parameter none = {0};
    td_parameter parameter;
    const td_engine *ozaki2 = td_engine_parse("ozaki2", &parameter);
    return (td_expected){td_model_seconds(&model, td_engines[0], none, &p),
                         td_model_seconds(&model, ozaki2, parameter, &p),
                         td_prices_of(&model, ozaki2, &p)};
}

static bool loses(const td_expected *e, unsigned planes, unsigned work, double tiles,
                  unsigned singles)
{
    const td_outcome o = {.planes = planes,
                          .work = work,
                          .tiles = (unsigned)(tiles * TD_OUTCOME_ALL),
                          .singles = singles};
    return td_has_lost(e, &o);
}

TEST(dearer_data_lose)
{
    const td_expected h100 = expected_of(H100, 4096), rtx = expected_of(RTX4090, 4096);
    const td_outcome as_planned = {.planes = 14};
    assert_true(fabs(td_seconds_spent(&h100, &as_planned) / h100.emulated - 1.0) < 1e-6);
    assert_false(loses(&h100, 14, 0, 0.0, 0));
    assert_false(loses(&h100, 15, 64, 0.0, 0));
    assert_true(loses(&h100, 20, 64, 0.0, 0));
    assert_false(loses(&h100, 20, 32, 0.0, 0)); /* half of it is zeros */
    assert_true(loses(&h100, 16, 64, 0.0, 8));
    assert_true(loses(&h100, 16, 64, 0.5, 0));
    assert_true(loses(&h100, 0, 0, 1.0, 0));

    /* Where binary64 is slow, moduli are cheap. */
    assert_false(loses(&rtx, 20, 64, 0.0, 0));
    assert_true(loses(&rtx, 0, 64, 1.0, 0));
}

/* Of modes without prices only what was repaired counts. */
TEST(other_modes_lose_by_repairs)
{
    const td_expected e = {.native = 1.0, .emulated = 0.5};
    assert_false(loses(&e, 0, 0, 0.0, 0));
    assert_false(loses(&e, 18, 0, 0.0, 0));
    assert_false(loses(&e, 0, 0, 0.25, 0));
    assert_true(loses(&e, 0, 0, 0.5, 0));
    assert_true(loses(&e, 0, 0, 0.0, 4));
}
