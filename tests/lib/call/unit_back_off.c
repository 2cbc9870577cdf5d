/* Strategy adaptive's memory of one site: what the end of a call makes of the next one. */
#include "tests/support/test.h"
#include "lib/call/back_off.h"

/* Calls of a site one after another, each of which ends before the next. */
typedef struct {
    td_back_off known;
    bool is_safe;
    uint32_t ticket; /* of the last emulated call */
} site;

static site begin(bool is_safe) { return (site){td_back_off_begin(1), is_safe, 0}; }

/* True if the next call is emulated; then it loses, or wins. */
static bool next(site *s, bool loses)
{
    if (!td_back_off_ask(&s->known, s->is_safe, true)) return false;
    s->ticket++;
    assert_true(td_back_off_is_news(s->known, s->ticket));
    s->known = td_back_off_hear(s->known, s->ticket, loses);
    return true;
}

/* How many calls are native before one is emulated, which loses or wins. */
static int native_before(site *s, bool loses)
{
    int count = 0;
    while (!next(s, loses)) count++;
    return count;
}

TEST(back_off_doubles_up_to_its_most)
{
    for (int is_safe = 0; is_safe < 2; is_safe++) {
        site s = begin(is_safe);
        assert_int_equal(native_before(&s, true), 0);
        for (int most = TD_LEAST_BACK_OFF; most < TD_MOST_BACK_OFF; most *= 2)
            assert_int_equal(native_before(&s, true), most);
        for (int i = 0; i < 3; i++) assert_int_equal(native_before(&s, true), TD_MOST_BACK_OFF);
    }
}

TEST(site_that_won_stays_emulated)
{
    site s = begin(true);
    for (int i = 0; i < 1000; i++) assert_true(next(&s, false));
    assert_true(next(&s, true));
    assert_int_equal(native_before(&s, true), TD_LEAST_BACK_OFF);
    assert_int_equal(native_before(&s, false), 2 * TD_LEAST_BACK_OFF);
    for (int i = 0; i < 1000; i++) assert_true(next(&s, false));

    /* It begins anew, and not where it was. */
    assert_true(next(&s, true));
    assert_int_equal(native_before(&s, true), TD_LEAST_BACK_OFF);
}

/* Without a word of calls under way, the previous knowledge holds. */
TEST(nothing_is_waited_for)
{
    td_back_off safe = td_back_off_begin(1), risky = safe;
    for (int i = 0; i < 1000; i++) assert_true(td_back_off_ask(&safe, true, true));

    /* One is tried at a time; if none is ever heard of, they become few. */
    int emulated = 0;
    for (int i = 0; i < 1000; i++) emulated += td_back_off_ask(&risky, false, true);
    assert_int_equal(emulated, 10);
    risky = td_back_off_hear(risky, 5, false);
    for (int i = 0; i < 1000; i++) assert_true(td_back_off_ask(&risky, false, true));
}

/* One form of a site's calls may be safe where another is not, which then is a trial. */
TEST(safe_calls_vouch_for_no_others)
{
    td_back_off b = td_back_off_begin(1);
    assert_true(td_back_off_ask(&b, true, false));
    assert_false(td_back_off_ask(&b, false, false));
    b = td_back_off_hear(b, 1, false);
    assert_true(td_back_off_ask(&b, false, false));
}

/* A late word of a loss shortens no back-off. */
TEST(late_losses_shorten_nothing)
{
    td_back_off b = td_back_off_begin(1);
    for (int i = 0; i < 5; i++) (void)td_back_off_ask(&b, false, true);
    assert_int_equal(b.back_off, 4);
    b = td_back_off_hear(b, 1, true);
    assert_int_equal(b.back_off, 4);
    assert_int_equal(b.wait, 3);
}

/* Words that come late are of calls that began before what is known was. */
TEST(stale_calls_say_nothing)
{
    td_back_off b = td_back_off_begin(100);
    assert_false(td_back_off_is_news(b, 0));
    assert_false(td_back_off_is_news(b, 99));
    assert_true(td_back_off_is_news(b, 100));
    b = td_back_off_hear(b, 120, false);
    assert_false(td_back_off_is_news(b, 119));

    /* A graph's call has one number, and may lose at any launch. */
    assert_true(td_back_off_is_news(b, 120));
    b = td_back_off_hear(b, 120, true);
    assert_false(td_back_off_ask(&b, true, true));
}

/* A word is read at every decision until another is there. */
TEST(word_counts_once)
{
    td_back_off b = td_back_off_hear(td_back_off_begin(1), 1, true);
    int native = 0;
    while (!td_back_off_ask(&b, true, true)) {
        b = td_back_off_hear(b, 1, true);
        native++;
    }
    assert_int_equal(native, TD_LEAST_BACK_OFF);
}

TEST(calls_that_cannot_be_trials_change_nothing)
{
    td_back_off b = td_back_off_hear(td_back_off_begin(1), 1, true);
    for (int i = 0; i < TD_LEAST_BACK_OFF; i++) assert_false(td_back_off_ask(&b, true, false));
    for (int i = 0; i < 1000; i++) {
        assert_true(td_back_off_is_due(b, true));
        assert_false(td_back_off_ask(&b, true, false));
    }
    assert_true(td_back_off_ask(&b, true, true));
    assert_int_equal(b.wait, 2 * TD_LEAST_BACK_OFF);
}

TEST(numbers_begin_anew)
{
    td_back_off b = td_back_off_begin(UINT32_MAX);
    assert_true(td_back_off_is_news(b, 0));
    b = td_back_off_hear(b, 0, false);
    assert_false(td_back_off_is_news(b, UINT32_MAX));
}

TEST(one_word_holds_it)
{
    static const td_back_off all[] = {{0, 0, 1, TD_WON},
                                      {UINT32_MAX, TD_MOST_BACK_OFF, TD_MOST_BACK_OFF, TD_LOST},
                                      {7, 3, 4, TD_UNHEARD}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const td_back_off b = td_back_off_unpack(td_back_off_pack(all[i]));
        assert_int_equal(b.since, all[i].since);
        assert_int_equal(b.wait, all[i].wait);
        assert_int_equal(b.back_off, all[i].back_off);
        assert_int_equal(b.last, all[i].last);
    }
}
