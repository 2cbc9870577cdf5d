/* Loaded objects, as lib/loader/images.c reads them, against what the dynamic linker says. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/test.h"
#include "lib/loader/images.h"

static const td_image *named(const td_images *images, const char *name)
{
    for (int i = 0; i < images->count; i++)
        if (strncmp(images->image[i].name, name, strlen(name)) == 0) return &images->image[i];
    return NULL;
}

static void symbols_of(const td_images *images, void *unused)
{
    static const char *const names[] = {"malloc", "qsort", "strtol", "getenv", "no_such_function"};
    const td_image *libc = named(images, "libc.so.6");
    (void)unused;
    assert_non_null(libc);
    void *library = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    assert_non_null(library);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_ptr_equal(td_image_symbol(libc, names[i]), dlsym(library, names[i]));
    dlclose(library);
}

TEST(symbols_are_those_of_the_linker) { td_images_visit(symbols_of, NULL); }

/* Every image, the kernel's own included, can be asked for what it has not. */
static void ask_all(const td_images *images, void *unused)
{
    (void)unused;
    assert_true(images->count >= 3);
    assert_string_equal(images->image[0].path, "");
    for (int i = 0; i < images->count; i++)
        assert_null(td_image_symbol(&images->image[i], "no_such_function"));
}

TEST(every_image_can_be_asked) { td_images_visit(ask_all, NULL); }

static void find_all(const td_images *images, void *unused)
{
    static int here;
    int on_stack;
    (void)unused;
    assert_ptr_equal(td_images_find(images, &here), &images->image[0]);
    assert_ptr_equal(td_images_find(images, td_image_symbol(named(images, "libc.so.6"), "qsort")),
                     named(images, "libc.so.6"));
    assert_null(td_images_find(images, &on_stack));
    assert_null(td_images_find(images, NULL));
}

TEST(addresses_lead_to_their_images) { td_images_visit(find_all, NULL); }

static void bind_all(const td_images *images, void *unused)
{
    const td_image *program = &images->image[0], *libc = named(images, "libc.so.6"),
                   *cmocka = named(images, "libcmocka");
    (void)unused;
    assert_ptr_equal(td_images_bound(images, program, "_cmocka_run_group_tests", NULL), cmocka);
    assert_null(td_images_bound(images, libc, "_cmocka_run_group_tests", NULL));
    assert_null(td_images_bound(images, program, "_cmocka_run_group_tests", cmocka));
    assert_ptr_equal(td_images_bound(images, cmocka, "qsort", NULL), libc);
    assert_null(td_images_bound(images, program, "no_such_function", NULL));
    assert_true(td_image_is_needed(images, cmocka) && td_image_is_needed(images, libc));
    assert_false(td_image_is_needed(images, program));
}

TEST(objects_are_bound_to_what_they_need) { td_images_visit(bind_all, NULL); }
