/* Which known name is taken for a misspelt one: within three edits, and within half of its
 * characters. */
#include "tests/support/test.h"

#include "lib/options/nearest.h"

static const char *const known[] = {"native", "df", "ts", "dd", "ozaki1", "ozaki2", "faithful"};

static const char *nearest(const char *name)
{
    td_nearest search = {.name = name};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) td_nearest_offer(&search, known[i]);
    return search.best ? search.best : "none";
}

TEST(test_slips)
{
    assert_string_equal(nearest("fd"), "df");
    assert_string_equal(nearest("nativ"), "native");
    assert_string_equal(nearest("natvie"), "native");
    assert_string_equal(nearest("ozakki2"), "ozaki2");
    assert_string_equal(nearest("ozaki"), "ozaki1"); /* the first of two that are as near */
    assert_string_equal(nearest("fiathfull"), "faithful");
    assert_string_equal(nearest("df"), "df");
}

TEST(test_parts)
{
    assert_string_equal(nearest("FAITH"), "faithful");
    assert_string_equal(nearest("AKI2"), "ozaki2");
    assert_string_equal(nearest("f"), "none");
}

TEST(test_question)
{
    char text[TD_QUESTION_BYTES];
    assert_string_equal(td_nearest_ask(&(td_nearest){.name = "fd", .best = "df"}, text),
                        "; did you mean df?");
    assert_string_equal(td_nearest_ask(&(td_nearest){.name = "x"}, text), "");
}

TEST(test_other_words)
{
    assert_string_equal(nearest(""), "none");
    assert_string_equal(nearest("x"), "none");
    assert_string_equal(nearest("xy"), "none");
    assert_string_equal(nearest("eager"), "none");
    assert_string_equal(nearest("native-or-so"), "none");
    assert_string_equal(
        nearest("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
        "none");
}
