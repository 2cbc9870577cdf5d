/* How a process has loaded cuBLAS: not at all, with dlopen, or by an object that was linked to it.
 * usage: unit_loaded LIBRARY LINKED, a stand-in named as cuBLAS is, and a library that was linked
 * to that. */
#include <dlfcn.h>
#include <string.h>

#include "tests/support/test.h"
#include "lib/loader/loaded.h"

static char **paths;

static void check(const char *name, const char *linked, const char *on_gpu, const char *on_host)
{
    const td_loaded loaded = td_loaded_cublas();
    char text[TD_LOADED_TEXT];
    assert_string_equal(loaded.name, name);
    assert_string_equal(loaded.linked, linked);
    assert_non_null(strstr(td_loaded_explain(&loaded, false, false, text), on_gpu));
    assert_non_null(strstr(td_loaded_explain(&loaded, true, false, text), on_host));
    const bool is_linked = linked[0];
    assert_int_equal(strstr(text, "with dlsym (as ctypes does) are not seen") != NULL, !is_linked);
    td_loaded_explain(&loaded, true, true, text);
    assert_int_equal(strstr(text, "it called no product that it had looked up") != NULL,
                     !is_linked);
}

static void load(const char *path)
{
    if (!dlopen(path, RTLD_NOW)) fail_msg("%s", dlerror());
}

/* One after the other: nothing is unloaded. */
TEST(three_states_are_told_apart)
{
    static const char none[] =
        "nothing that it loaded is linked to cuBLAS, and functions looked up";
    check("", "", none, none);
    load(paths[1]);
    check("libcublas.so.13", "", "libcublas.so.13 is loaded, but nothing is linked to it", none);
    load(paths[2]);
    check("libcublas.so.13", "liblinked.so", "liblinked.so is linked to cuBLAS, but called none",
          "liblinked.so is linked");
}

int main(int argc, char **argv)
{
    paths = argv;
    return argc == 3 ? test_run() : 2;
}
