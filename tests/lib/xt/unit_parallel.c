/* unit_parallel.c - a function for several numbers, in threads of their own. */
#include "tests/support/test.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "lib/xt/parallel.h"

enum { MOST = 64 };

typedef struct {
    int count;
    atomic_int times[MOST], there;
    pthread_t caller;
    atomic_int in_caller, unblocked;
} work;

static void run(void *of, int i)
{
    work *w = of;
    sigset_t blocked;
    atomic_fetch_add(&w->times[i], 1);
    pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    if (pthread_equal(pthread_self(), w->caller))
        atomic_fetch_add(&w->in_caller, 1);
    else if (!sigismember(&blocked, SIGUSR1))
        atomic_fetch_add(&w->unblocked, 1);
    atomic_fetch_add(&w->there, 1);
    while (atomic_load(&w->there) < w->count) { /* all are under way at once */
    }
}

static void check(int count)
{
    work w = {.count = count, .caller = pthread_self()};
    sigset_t before, after;
    pthread_sigmask(SIG_BLOCK, NULL, &before);
    td_parallel(count, run, &w);
    pthread_sigmask(SIG_BLOCK, NULL, &after);
    for (int i = 0; i < count; i++) assert_int_equal(w.times[i], 1);
    assert_int_equal(w.in_caller, count > 0);
    assert_int_equal(w.unblocked, 0);
    assert_int_equal(sigismember(&before, SIGUSR1), sigismember(&after, SIGUSR1));
}

TEST(each_number_runs_once_beside_the_others)
{
    for (int count = 0; count <= 8; count++) check(count);
    check(MOST);
}
