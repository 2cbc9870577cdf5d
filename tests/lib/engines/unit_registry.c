/* The registry of the library itself: every mode is described, and what TANDEM_MODE takes is what
 * its row says. */
#include <stdio.h>
#include <string.h>

#include "tests/support/test.h"
#include "lib/engines/proven.h"

TEST(rows_are_complete)
{
    char error[TD_ERROR_TEXT];
    assert_string_equal(td_engines[0]->name, "native");
    for (const td_engine *const *e = td_engines; *e; e++) {
        assert_true(strlen((*e)->name) > 0 && strlen((*e)->summary) > 0 &&
                    strlen(td_error_print(*e, error)) > 0);
        assert_int_equal(strcspn((*e)->name, ":, "), strlen((*e)->name));
        assert_true(!(*e)->run == (e == td_engines || (*e)->is_choice)); /* native, auto */
        assert_true(!(*e)->cost == !(*e)->bound && !((*e)->cost && (*e)->is_choice));
        for (const td_engine *const *other = td_engines; other < e; other++)
            assert_string_not_equal((*e)->name, (*other)->name);
    }
}

/* The roundings of alpha z and beta C are part of a bound: C alone is rounded once more. */
TEST(errors_are_what_is_held)
{
    static const struct {
        const td_engine *engine;
        const char *error;
    } wanted[] = {
        {&td_engine_df, "2^-42.9 (|alpha||A||B| + |beta||C|) measured, 2^-38 proven, to k = 16384"},
        {&td_engine_ts, "2^-66 (|alpha||A||B| + |beta||C|) measured, 2^-59 proven, to k = 16384, "
                        "then one rounding"},
        {&td_engine_ozaki2, "(4 sqrt(k) + 1) 2^-53 (|alpha||A||B| + |beta||C|), then one rounding; "
                            "with N given, as N and the data allow"},
        {&td_engine_fp64, "(4 sqrt(k) + 1) 2^-53 (|alpha||A||B| + |beta||C|), then one rounding, "
                          "where nothing over- or underflows"}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        char error[TD_ERROR_TEXT];
        assert_string_equal(td_error_print(wanted[i].engine, error), wanted[i].error);
    }
}

/* The engine that "name:rest" names. */
static const td_engine *parse(const td_engine *engine, const char *rest, td_parameter *parameter)
{
    char text[64];
    snprintf(text, sizeof text, "%s:%s", engine->name, rest);
    return td_engine_parse(text, parameter);
}

TEST(names_stand_for_themselves)
{
    td_parameter parameter;
    for (const td_engine *const *e = td_engines; *e; e++) {
        char shorter[64];
        assert_ptr_equal(td_engine_parse((*e)->name, &parameter), *e);
        assert_true(!parameter.is_given && !parameter.is_other_way);
        assert_null(parse(*e, "", &parameter));
        assert_null(parse(*e, "x", &parameter));
        snprintf(shorter, sizeof shorter, "%.*s", (int)strlen((*e)->name) - 1, (*e)->name);
        assert_ptr_not_equal(td_engine_parse(shorter, &parameter), *e);
    }
    assert_null(td_engine_parse("", &parameter));
    assert_null(td_engine_parse("no-such-mode", &parameter));
}

TEST(counts_are_those_of_the_row)
{
    for (const td_engine *const *e = td_engines; *e; e++)
        for (int count = -1; count <= 99; count++) {
            td_parameter parameter;
            char rest[16];
            snprintf(rest, sizeof rest, "%d", count);
            const bool is_allowed = (*e)->most > 0 && count >= (*e)->least && count <= (*e)->most;
            assert_ptr_equal(parse(*e, rest, &parameter), is_allowed ? *e : NULL);
            if (!is_allowed) continue;
            assert_int_equal(parameter.count, count);
            assert_true(parameter.is_given && !parameter.is_other_way);
        }
}

TEST(usage_says_what_is_allowed)
{
    for (const td_engine *const *e = td_engines; *e; e++) {
        td_parameter parameter;
        char text[TD_MODE_TEXT], range[16];
        td_mode_usage(*e, text);
        assert_memory_equal(text, (*e)->name, strlen((*e)->name));
        assert_true(strlen(text) < sizeof text - 1);
        snprintf(range, sizeof range, "%d..%d", (*e)->least, (*e)->most);
        assert_true(!strstr(text, range) == !(*e)->most);
        if (!(*e)->way) continue;
        assert_non_null(strstr(text, (*e)->way));
        assert_ptr_equal(parse(*e, (*e)->way, &parameter), *e);
        assert_true(parameter.is_other_way && !parameter.is_given);
    }
}
