/* Which cuBLAS an address belongs to, if any: many come and go, more than there is room for, and
 * from several threads. */
#include <pthread.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/test.h"
#include "lib/loader/images.h"
#include "lib/loader/owners.h"

enum { MANY = 3000, TOO_MANY = 10000, THREADS = 4, ROUNDS = 200 };

/* Owners are told apart by their addresses alone. */
struct td_library {
    int unused;
};

static struct td_library library[2];

/* Address i of a range of 16-byte steps, as malloc gives them. */
static const void *address(uintptr_t range, uintptr_t i)
{
    return (const void *)((range << 32) + 16 * (i + 1));
}

TEST(nobody_owns_what_was_not_told)
{
    assert_null(td_owner_find(NULL));
    td_owner_set(NULL, &library[0]);
    assert_null(td_owner_find(NULL));
    assert_null(td_owner_find(address(1, 0)));
    td_owner_set(address(1, 0), NULL);
    assert_null(td_owner_find(address(1, 0)));
}

/* Addresses that have ended leave room for new ones, over and over, and may come again with another
 * owner. */
TEST(many_come_and_go)
{
    for (uintptr_t range = 2; range < 8; range++) {
        for (uintptr_t i = 0; i < MANY; i++)
            td_owner_set(address(range, i), &library[(i + range) % 2]);
        for (uintptr_t i = 0; i < MANY; i++)
            assert_ptr_equal(td_owner_find(address(range, i)), &library[(i + range) % 2]);
        td_owner_set(address(range, 7), &library[range % 2]);
        assert_ptr_equal(td_owner_find(address(range, 7)), &library[range % 2]);
        for (uintptr_t i = 0; i < MANY; i++) td_owner_set(address(range, i), NULL);
        for (uintptr_t i = 0; i < MANY; i++) assert_null(td_owner_find(address(range, i)));
    }
}

TEST(what_there_is_no_room_for_is_not_known)
{
    int known = 0;
    for (uintptr_t i = 0; i < TOO_MANY; i++) td_owner_set(address(9, i), &library[i % 2]);
    for (uintptr_t i = 0; i < TOO_MANY; i++) {
        const struct td_library *owner = td_owner_find(address(9, i));
        assert_true(!owner || owner == &library[i % 2]);
        known += owner != NULL;
    }
    assert_in_range(known, MANY, TOO_MANY - 1);
    for (uintptr_t i = 0; i < TOO_MANY; i++) td_owner_set(address(9, i), NULL);
}

/* Who was told before something was unloaded, or is to be, is as one who was not told, and leaves
 * room for others. */
TEST(callers_are_known_until_something_is_unloaded)
{
    const void *const caller = address(30, 0);
    unsigned long long now;
    assert_null(td_caller_find(NULL, &now));
    td_caller_set(NULL, &library[0], now);
    assert_null(td_caller_find(NULL, &now));
    assert_null(td_caller_find(caller, &now));
    td_caller_set(caller, &library[0], now);
    assert_ptr_equal(td_caller_find(caller, &now), &library[0]);
    td_caller_set(caller, &library[0], now + 1);
    assert_null(td_caller_find(caller, &now));
    td_caller_set(caller, &library[1], now);
    assert_ptr_equal(td_caller_find(caller, &now), &library[1]);
    for (uintptr_t i = 0; i < TOO_MANY; i++) td_caller_set(address(31, i), &library[0], now + 1);
    for (uintptr_t i = 0; i < MANY; i++) td_caller_set(address(32, i), &library[i % 2], now);
    for (uintptr_t i = 0; i < MANY; i++)
        assert_ptr_equal(td_caller_find(address(32, i), &now), &library[i % 2]);
}

/* It cannot ask what has been unloaded: another thread of the parent's may have been loading. */
TEST(a_child_knows_what_its_parent_knew)
{
    const void *const caller = address(33, 0);
    unsigned long long now;
    int status;
    assert_null(td_caller_find(caller, &now));
    td_caller_set(caller, &library[0], now + 1);
    assert_null(td_caller_find(caller, &now));
    const pid_t child = fork();
    if (child == 0) {
        td_images_after_fork();
        _exit(td_caller_find(caller, &now) != &library[0]);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* The last one told is a stranger, whatever it has taken the place of; who was not told is none. */
TEST(strangers_are_known_until_all_are_forgotten)
{
    int known = 0;
    for (uintptr_t i = 0; i < MANY; i++) {
        assert_false(td_stranger_find(address(10, i)));
        td_stranger_set(address(10, i));
        assert_true(td_stranger_find(address(10, i)));
    }
    for (uintptr_t i = 0; i < MANY; i++) known += td_stranger_find(address(10, i));
    assert_in_range(known, 100, MANY - 1);
    td_strangers_forget();
    for (uintptr_t i = 0; i < MANY; i++) assert_false(td_stranger_find(address(10, i)));
}

/* A thread's own handles are its own whatever the others do; returns what it has missed. */
static void *come_and_go(void *thread)
{
    enum { AT_A_TIME = 50 };
    const uintptr_t range = 20 + (uintptr_t)thread;
    uintptr_t missed = 0;
    for (int round = 0; round < ROUNDS; round++) {
        for (uintptr_t i = 0; i < AT_A_TIME; i++) td_owner_set(address(range, i), &library[i % 2]);
        for (uintptr_t i = 0; i < AT_A_TIME; i++)
            missed += td_owner_find(address(range, i)) != &library[i % 2];
        for (uintptr_t i = 0; i < AT_A_TIME; i++) td_owner_set(address(range, i), NULL);
    }
    return (void *)missed;
}

TEST(threads_see_their_own)
{
    pthread_t threads[THREADS];
    for (uintptr_t t = 0; t < THREADS; t++)
        pthread_create(&threads[t], NULL, come_and_go, (void *)t);
    for (int t = 0; t < THREADS; t++) {
        void *missed;
        pthread_join(threads[t], &missed);
        assert_null(missed);
    }
}
