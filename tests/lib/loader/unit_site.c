/* Where calls come from: functions and objects by address. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/test.h"
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
