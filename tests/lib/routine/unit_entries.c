/* The table of intercepted functions: every name once, every family in use, every function with its
 * 64-bit twin. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/test.h"
#include "lib/routine/entries.h"

static int find(const char *name)
{
    for (int e = 0; e < TD_ENTRY_COUNT; e++)
        if (strcmp(td_entries[e].name, name) == 0) return e;
    return -1;
}

TEST(names_are_unique)
{
    for (int e = 0; e < TD_ENTRY_COUNT; e++) assert_int_equal(find(td_entries[e].name), e);
    for (int f = 0; f < TD_FAMILY_COUNT; f++)
        for (int g = 0; g < f; g++)
            assert_string_not_equal(td_families[f].name, td_families[g].name);
}

TEST(every_family_has_an_entry)
{
    int entries_of[TD_FAMILY_COUNT] = {0};
    for (int e = 0; e < TD_ENTRY_COUNT; e++) {
        assert_in_range(td_entries[e].family, 0, TD_FAMILY_COUNT - 1);
        entries_of[td_entries[e].family]++;
    }
    for (int f = 0; f < TD_FAMILY_COUNT; f++) {
        assert_int_not_equal(entries_of[f], 0);
        assert_true(strlen(td_families[f].summary) > 0);
    }
}

/* True of the functions of cublas.h, beside each of which there is one with a handle. */
static bool is_legacy(const char *name)
{
    char with_handle[128];
    snprintf(with_handle, sizeof with_handle, "%s_v2", name);
    return find(with_handle) >= 0;
}

/* A program that is rebuilt with 64-bit sizes must not lose its interception. The functions of
 * cublas.h, which have a _v2 beside them, have no twin, nor have those of LU factors, and those of
 * cuSOLVER; cublasLt and cublasXt have 64-bit sizes alone. */
static bool has_no_twin(const char *name)
{
    return is_legacy(name) || strstr(name, "cublasLt") || strstr(name, "cublasXt") ||
           strstr(name, "cusolver") || strstr(name, "getr") || strstr(name, "matinv");
}

TEST(every_entry_has_its_64_bit_twin)
{
    for (int e = 0; e < TD_ENTRY_COUNT; e++) {
        char twin[128];
        const char *name = td_entries[e].name;
        const size_t length = strlen(name);
        if (has_no_twin(name) || strcmp(name + length - 3, "_64") == 0) continue;
        snprintf(twin, sizeof twin, "%s_64", name);
        const int t = find(twin);
        assert_true(t >= 0);
        assert_int_equal(td_entries[t].family, td_entries[e].family);
    }
}

TEST(families_fit_their_mask) { assert_in_range(TD_FAMILY_COUNT, 1, 31); }
