/* Which options count: those of the process, and those of a thread's regions. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/test.h"
#include "lib/call/scope.h"

static td_options from_start;

static int set_up(void **state)
{
    (void)state;
    td_options_set_defaults(&from_start);
    return 0;
}

static const td_options *in_force(void)
{
    const td_options *o = td_scope_of_thread();
    return o ? o : td_scope_of_process(&from_start);
}

static void expect(const char *settings)
{
    char text[TD_SETTINGS_BYTES];
    td_options_print_settings(in_force(), text);
    assert_string_equal(text, settings);
}

static td_scope_status push(const char *settings, char why[TD_WHY_BYTES])
{
    const td_options *now = NULL;
    const td_scope_status status = td_scope_push(&from_start, settings, why, &now);
    if (status == TD_SCOPE_DONE) assert_ptr_equal(now, in_force());
    return status;
}

#define REST " accuracy=fp64 strategy=auto workspace=auto verify=off graph_branch=off"

TEST(the_process_starts_as_the_environment_says)
{
    assert_null(td_scope_of_thread());
    assert_ptr_equal(td_scope_of_process(&from_start), &from_start);
    expect("mode=native" REST);
}

TEST(regions_lie_in_one_another)
{
    char why[TD_WHY_BYTES];
    assert_int_equal(push("df", why), TD_SCOPE_DONE);
    expect("mode=df" REST);
    assert_int_equal(push("verify=sample  accuracy=30", why), TD_SCOPE_DONE);
    expect("mode=df accuracy=30 strategy=auto workspace=auto verify=sample graph_branch=off");
    assert_int_equal(in_force()->origins[TD_OPTION_VERIFY], TD_ORIGIN_CALL);
    assert_int_equal(in_force()->origins[TD_OPTION_LOG], TD_ORIGIN_DEFAULT);
    assert_int_equal(td_scope_pop(why), TD_SCOPE_DONE);
    expect("mode=df" REST);
    assert_int_equal(td_scope_pop(why), TD_SCOPE_DONE);
    expect("mode=native" REST);
    assert_int_equal(td_scope_pop(why), TD_SCOPE_REFUSED);
}

TEST(what_is_malformed_changes_nothing)
{
    static const char *const bad[] = {
        "dff",         "mode=", "=df",     "df verify=0",
        "df log=warn", "a=b",   "df ts=1", "native strategy=adaptive"};
    char why[TD_WHY_BYTES], longest[2 * TD_SETTINGS_BYTES];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        why[0] = '\0';
        assert_int_equal(push(bad[i], why), TD_SCOPE_REFUSED);
        assert_non_null(strstr(why, "allowed: "));
        assert_int_equal(td_scope_set(&from_start, bad[i], why), TD_SCOPE_REFUSED);
        assert_ptr_equal(in_force(), &from_start);
    }
    memset(longest, ' ', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    assert_int_equal(push(longest, why), TD_SCOPE_REFUSED);
    assert_ptr_equal(in_force(), &from_start);
}

TEST(equal_settings_are_one_value)
{
    char why[TD_WHY_BYTES];
    for (int i = 0; i < 2 * TD_SCOPES_DIFFERENT; i++) {
        const td_options *first = NULL;
        for (int j = 0; j < 2; j++) {
            assert_int_equal(push(j ? "mode=df verify=off" : "df", why), TD_SCOPE_DONE);
            if (j) assert_ptr_equal(in_force(), first);
            first = in_force();
            assert_int_equal(td_scope_pop(why), TD_SCOPE_DONE);
        }
    }
}

TEST(another_mode_leaves_all_else)
{
    char why[TD_WHY_BYTES], text[TD_SETTINGS_BYTES];
    assert_int_equal(push("slices:7 verify=sample:9 accuracy=30", why), TD_SCOPE_DONE);
    const td_options *now = in_force(), *other = td_scope_in_mode(now, "df");
    assert_non_null(other);
    td_options_print_settings(other, text);
    assert_string_equal(text, "mode=df accuracy=30 strategy=auto workspace=auto verify=sample:9 "
                              "graph_branch=off");
    assert_ptr_equal(td_scope_in_mode(now, "df"), other);
    assert_ptr_equal(td_scope_in_mode(now, "slices:7"), now);
    assert_ptr_equal(in_force(), now);
    assert_null(td_scope_in_mode(now, "dff"));
    assert_int_equal(td_scope_pop(why), TD_SCOPE_DONE);
    assert_ptr_equal(td_scope_in_mode(&from_start, "native")->mode.engine, from_start.mode.engine);
}

static void *look(void *seen)
{
    *(const td_options **)seen = in_force();
    return NULL;
}

static const td_options *of_new_thread(void)
{
    pthread_t thread;
    const td_options *seen = NULL;
    assert_int_equal(pthread_create(&thread, NULL, look, &seen), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    return seen;
}

TEST(a_region_is_of_its_thread)
{
    char why[TD_WHY_BYTES];
    assert_int_equal(push("df", why), TD_SCOPE_DONE);
    assert_ptr_equal(of_new_thread(), &from_start);
    assert_int_equal(td_scope_set(&from_start, "slices:7", why), TD_SCOPE_DONE);
    assert_string_equal(in_force()->mode.text, "df");
    assert_string_equal(of_new_thread()->mode.text, "slices:7");
    assert_int_equal(td_scope_pop(why), TD_SCOPE_DONE);
    assert_string_equal(in_force()->mode.text, "slices:7");
    assert_int_equal(td_scope_set(&from_start, "native", why), TD_SCOPE_DONE);
}

TEST(there_is_an_end_to_depth_and_to_values)
{
    char why[TD_WHY_BYTES], settings[TD_SETTINGS_BYTES];
    int known = 0;
    for (int i = 0; i < TD_SCOPES_DEEP; i++) assert_int_equal(push("df", why), TD_SCOPE_DONE);
    assert_int_equal(push("df", why), TD_SCOPE_REFUSED);
    for (int i = 0; i < TD_SCOPES_DEEP; i++) assert_int_equal(td_scope_pop(why), TD_SCOPE_DONE);
    td_scope_status status = TD_SCOPE_DONE;
    for (int i = 1; i <= TD_SCOPES_DIFFERENT && status == TD_SCOPE_DONE; i++) {
        snprintf(settings, sizeof settings, "verify=sample:%d", i);
        status = push(settings, why);
        if (status == TD_SCOPE_DONE) {
            known++;
            assert_int_equal(in_force()->verify, i);
            assert_int_equal(td_scope_pop(why), TD_SCOPE_DONE);
        }
    }
    assert_int_equal(status, TD_SCOPE_NO_MEMORY);
    assert_true(known > TD_SCOPES_DIFFERENT / 2);
    assert_null(td_scope_of_thread());
    assert_int_equal(push("df", why), TD_SCOPE_DONE); /* a known value */
    assert_int_equal(td_scope_pop(why), TD_SCOPE_DONE);
}

int main(void) { return test_run(.set_up = set_up); }
