/* What strategy adaptive knows of the sites of a context, and how kernels' words reach it. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tests/support/test.h"
#include "lib/call/site_table.h"
#include "tests/lib/support/outcome_word.h"

static unsigned long long words[TD_SITE_SLOTS];
static td_site_table *table;
static bool can_try = true;

static int set_up(void **state)
{
    (void)state;
    for (int i = 0; i < TD_SITE_SLOTS; i++) words[i] = 0;
    table = td_site_table_make(words);
    return table ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    free(table);
    return 0;
}

static bool has_lost(const void *context, const td_outcome *outcome)
{
    (void)context;
    return outcome->tiles == TD_OUTCOME_ALL;
}

static bool may_try(const void *context)
{
    (void)context;
    return can_try;
}

static td_site_answer ask(uint64_t site, bool is_safe)
{
    const td_site_question question = {
        .site = site, .is_safe = is_safe, .has_lost = has_lost, .may_try = may_try};
    return td_site_table_ask(table, &question);
}

/* As the kernel at the end of a call would. */
static void end(td_site_answer call, bool loses)
{
    words[call.slot] =
        outcome_word((td_outcome){.ticket = call.ticket, .tiles = loses ? TD_OUTCOME_ALL : 0});
}

/* A hash that belongs to the same few places as the others. */
static uint64_t crowded(int number) { return ((uint64_t)number + 1) * TD_SITE_SLOTS; }

TEST(outcomes_reach_their_site)
{
    for (int i = 0; i < 10; i++) {
        const td_site_answer good = ask(5, true);
        assert_true(good.is_emulated);
        end(good, false);
    }
    end(ask(6, true), true);
    assert_false(ask(6, true).is_emulated);
    assert_true(ask(5, true).is_emulated);
    assert_false(ask(6, true).is_emulated);
    const td_site_answer trial = ask(6, true);
    assert_true(trial.is_emulated);
    end(trial, false);
    for (int i = 0; i < 10; i++) assert_true(ask(6, true).is_emulated);
}

TEST(sites_that_must_prove_themselves_are_tried)
{
    const td_site_answer first = ask(7, false);
    assert_true(first.is_emulated);
    assert_false(ask(7, false).is_emulated);
    end(first, false);
    for (int i = 0; i < 10; i++) assert_true(ask(7, false).is_emulated);
    can_try = false;
    assert_false(ask(8, false).is_emulated);
    can_try = true;
    assert_true(ask(8, false).is_emulated);
}

/* More of them than there are places: the oldest is forgotten, and its late word is nobody's. */
TEST(new_sites_take_the_oldest_place)
{
    const td_site_answer old = ask(crowded(0), true);
    end(old, true);
    assert_false(ask(crowded(0), true).is_emulated);
    int number = 1;
    for (; number < 100; number++)
        if (ask(crowded(number), true).slot == old.slot) break;
    assert_int_equal(number, 8);
    end(old, true);
    assert_true(ask(crowded(number), true).is_emulated);
    assert_true(ask(crowded(0), true).is_emulated); /* as if it were new */
}

TEST(clearing_forgets)
{
    const td_site_answer before = ask(9, true);
    end(before, true);
    assert_false(ask(9, true).is_emulated);
    td_site_table_clear(table);
    for (int i = 0; i < 10; i++) {
        const td_site_answer after = ask(9, true);
        assert_true(after.is_emulated);
        if (after.slot == before.slot) assert_true(after.ticket > before.ticket);
    }
    assert_true(ask(0, true).slot >= 0); /* 0 stands for a free place */
}

/* A thread that cannot take a place does not wait for one. */
TEST(nobody_waits_for_a_place)
{
    pthread_mutex_lock(&td_site_table_lock);
    const td_site_answer safe = ask(10, true), risky = ask(11, false);
    pthread_mutex_unlock(&td_site_table_lock);
    assert_true(safe.is_emulated);
    assert_int_equal(safe.slot, -1);
    assert_false(risky.is_emulated);
    assert_true(ask(10, true).slot >= 0);
}

enum { THREADS = 8, CALLS = 2000 };

typedef struct {
    pthread_t thread;
    int known, emulated; /* calls whose site has a place, and how many of them are emulated */
} caller;

static void *lose(void *of)
{
    caller *c = of;
    for (int i = 0; i < CALLS; i++) {
        const td_site_answer call = ask(12, true);
        if (call.slot < 0) continue; /* another thread has the lock, for as long as it is stopped */
        c->known++;
        if (!call.is_emulated) continue;
        c->emulated++;
        end(call, true);
    }
    return NULL;
}

/* Each may emulate some calls before the first is heard of; no native call is counted twice. */
TEST(threads_share_what_is_known)
{
    caller callers[THREADS] = {0};
    int known = 0, emulated = 0;
    for (int i = 0; i < THREADS; i++) pthread_create(&callers[i].thread, NULL, lose, &callers[i]);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(callers[i].thread, NULL);
        known += callers[i].known;
        emulated += callers[i].emulated;
    }
    assert_true(emulated >= known / 257);
    assert_true(emulated <= known / 257 + 9 + 4 * THREADS);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Says what a decision takes; a test sets no limit of its own. */
TEST(decisions_are_timed)
{
    enum { MANY = 1000000 };
    const double start = now();
    for (int i = 0; i < MANY; i++) end(ask(13, true), false);
    printf("%.0f ns for each decision\n", (now() - start) / MANY);
}

int main(void) { return test_run(.before = set_up, .after = tear_down); }
