/* Where calls come from: functions and objects by address. */
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/test.h"
#include "lib/loader/images.h"
#include "lib/loader/site.h"

/* An address inside a function of the C library that no sanitizer stands in for. */
static const void *inside_a64l(void)
{
    long (*function)(const char *) = a64l;
    const void *address;
    memcpy(&address, &function, sizeof address);
    return (const char *)address + 1;
}

TEST(exported_functions_are_named)
{
    char text[2 * TD_SITE_BYTES + 32];
    const td_site *site = td_site_find(inside_a64l());
    assert_non_null(site);
    assert_string_equal(site->symbol, "a64l");
    assert_int_equal(site->offset, 1);
    assert_non_null(strstr(site->object, "libc.so"));
    td_site_print(site, text);
    assert_memory_equal(text, "a64l+0x1 (libc.so", strlen("a64l+0x1 (libc.so"));
    assert_ptr_equal(td_site_find(inside_a64l()), site);
}

TEST(others_have_their_place_in_the_object)
{
    char text[2 * TD_SITE_BYTES + 32];
    static int none;
    const td_site *site = td_site_find(&none);
    assert_non_null(site);
    assert_string_equal(site->symbol, "");
    assert_string_equal(site->object, "unit_site");
    td_site_print(site, text);
    assert_memory_equal(text, "unit_site+0x", strlen("unit_site+0x"));
}

TEST(nowhere_has_no_name)
{
    char text[2 * TD_SITE_BYTES + 32];
    assert_null(td_site_find(NULL));
    const td_site *site = td_site_find((const void *)1);
    assert_non_null(site);
    assert_string_equal(site->object, "");
    td_site_print(site, text);
    assert_string_equal(text, "?+0x0");
}

static atomic_bool is_inside, may_leave;

static int stay_inside(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)info, (void)size, (void)unused;
    atomic_store(&is_inside, true);
    while (!atomic_load(&may_leave)) (void)usleep(1000);
    return 1;
}

static void *iterate(void *unused)
{
    (void)dl_iterate_phdr(stay_inside, NULL);
    return unused;
}

/* Of a place that its parent knew, and of a new one. */
static bool finds_sites(const td_site *known)
{
    static int none;
    const td_site *found = td_site_find(&none);
    return td_site_find(inside_a64l()) == known && found && !strcmp(found->object, "unit_site");
}

TEST(a_child_waits_for_no_thread_of_its_parent)
{
    enum { MOST_SECONDS = 20 };
    const td_site *known = td_site_find(inside_a64l());
    pthread_t thread;
    int status;
    assert_int_equal(pthread_create(&thread, NULL, iterate, NULL), 0);
    while (!atomic_load(&is_inside)) (void)usleep(1000);
    const pid_t child = fork();
    if (child == 0) {
        (void)alarm(MOST_SECONDS);
        td_images_after_fork();
        _exit(!finds_sites(known));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    atomic_store(&may_leave, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(status, 0);
}
