/* Which device code a device runs, by the rules of CUDA for binaries and PTX, and what is said of
 * it; and that docs/install.md says so of a build for all architectures.
 *
 * usage: unit_device_code GUIDE ALL
 * GUIDE is docs/install.md, ALL the names of all architectures with commas between. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/test.h"
#include "lib/cuda/device_code.h"

static const char *guide, *all;

static void expect(const char *archs, int device, int capability, bool is_ptx)
{
    const td_device_code code = td_device_code_for(archs, device, false);
    CHECK(code.capability == capability && code.is_ptx == is_ptx, "%d of %s: %s%d", device, archs,
          code.is_ptx ? "ptx" : "", code.capability);
}

TEST(test_binaries)
{
    expect("75,80,86,89", 80, 80, false);
    expect("75,80,86,89", 89, 89, false);
    expect("75,80,86", 89, 86, false);
    expect("75,89", 86, 0, false);
    expect("75,80", 90, 0, false);
    expect("100,120", 103, 100, false);
    expect("100,120", 121, 120, false);
    expect("", 90, 0, false);
}

TEST(test_own_instructions_are_for_one_architecture)
{
    expect("90a", 90, 90, false);
    expect("100a,ptx80", 103, 80, true);
    expect("90a", 91, 0, false);
}

TEST(test_boards_run_their_own_binaries_alone)
{
    expect("80,86,ptx80", 87, 80, true);
    expect("80,86,87,ptx80", 87, 87, false);
    expect("87", 89, 0, false);
    expect("100,ptx75,ptx100,ptx120", 110, 100, true);
}

TEST(test_ptx_is_for_later_devices_and_the_newest_is_taken)
{
    expect("75,ptx75", 75, 75, false);
    expect("ptx75,ptx100,ptx80", 90, 80, true);
    expect("ptx80", 75, 0, false);
    expect("80,ptx75", 86, 80, false);
    expect("nonsense,ptx,ptx80", 130, 80, true);
}

TEST(test_forced_ptx)
{
    const td_device_code code = td_device_code_for("75,80,90a,ptx75,ptx80", 90, true);
    assert_true(code.is_ptx);
    assert_int_equal(code.capability, 80);
    assert_int_equal(td_device_code_for("90a", 90, true).capability, 0);
    setenv("CUDA_FORCE_PTX_JIT", "0", 1);
    assert_false(td_device_code_is_forced());
    setenv("CUDA_FORCE_PTX_JIT", "1", 1);
    assert_true(td_device_code_is_forced());
    unsetenv("CUDA_FORCE_PTX_JIT");
    assert_false(td_device_code_is_forced());
}

static const char *printed(int capability, bool is_ptx)
{
    static char text[TD_DEVICE_CODE_TEXT];
    const td_device_code code = {.capability = capability, .is_ptx = is_ptx};
    return td_device_code_print(code, text);
}

TEST(test_words)
{
    assert_non_null(strstr(printed(0, false), "neither a binary nor PTX"));
    assert_string_equal(printed(120, false), "a binary for compute capability 12.0");
    assert_non_null(strstr(printed(100, true), "PTX for compute capability 10.0, "));
}

TEST(test_the_place_of_the_cache)
{
    char *long_name = calloc(1, 5000);
    assert_non_null(long_name);
    setenv("HOME", "/home/ada", 1);
    unsetenv("CUDA_CACHE_PATH");
    unsetenv("CUDA_CACHE_DISABLE");
    assert_non_null(strstr(printed(80, true), "keeps it in /home/ada/.nv/ComputeCache"));
    setenv("CUDA_CACHE_PATH", "/scratch/cache", 1);
    assert_non_null(strstr(printed(80, true), "keeps it in /scratch/cache (CUDA_CACHE_PATH)"));
    memset(long_name, 'x', 4999);
    setenv("CUDA_CACHE_PATH", long_name, 1);
    assert_true(strlen(printed(80, true)) < TD_DEVICE_CODE_TEXT);
    setenv("CUDA_CACHE_DISABLE", "1", 1);
    assert_non_null(strstr(printed(80, true), "each time, since CUDA_CACHE_DISABLE is set"));
    unsetenv("CUDA_CACHE_DISABLE");
    unsetenv("CUDA_CACHE_PATH");
    free(long_name);
}

/* The line of the guide's table that begins with a compute capability. */
static bool find_line(int capability, char *line, int bytes)
{
    char start[32];
    bool is_found = false;
    snprintf(start, sizeof start, "| %d.%d ", capability / 10, capability % 10);
    FILE *file = fopen(guide, "r");
    while (file && !is_found && fgets(line, bytes, file))
        is_found = strncmp(line, start, strlen(start)) == 0;
    if (file) fclose(file);
    return is_found;
}

/* All that nvcc of CUDA 13 compiles for, and one that there is not yet. */
TEST(test_the_guide)
{
    static const int devices[] = {75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121, 130};
    char line[400] = "", wanted[32];
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        const td_device_code code = td_device_code_for(all, devices[i], false);
        snprintf(wanted, sizeof wanted, "| %s %d.%d |", code.is_ptx ? "PTX" : "binary",
                 code.capability / 10, code.capability % 10);
        CHECK(find_line(devices[i], line, sizeof line), "no line of %d", devices[i]);
        CHECK(strstr(line, wanted), "'%s' is not in %s", wanted, line);
    }
}

int main(int argc, char **argv)
{
    if (argc != 3) return EXIT_FAILURE;
    guide = argv[1];
    all = argv[2];
    return test_run();
}
