#include "originals.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "images.h"
#include "../options/log.h"
#include "owners.h"

#define NAME_OF_ENTRY(function, family) #function,
#define NAME_OF_HELPER(function)        #function,
static const char *const names[TD_ORIGINAL_COUNT] = {TD_ENTRIES(NAME_OF_ENTRY)
                                                         TD_HELPERS(NAME_OF_HELPER)};

static const char *const sonames[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11"};
enum { SONAMES = sizeof sonames / sizeof *sonames, MOST_LIBRARIES = 8, PATH_BYTES = 4096 };

struct td_library {
    const struct link_map *map; /* a reference is kept; NULL: not used yet */
    _Atomic(td_function) found[TD_ORIGINAL_COUNT];
};

pthread_mutex_t td_libraries_lock = PTHREAD_MUTEX_INITIALIZER;
static td_library libraries[MOST_LIBRARIES]; /* under the lock */
static _Atomic(td_library *) own;
static _Atomic(td_function) between[TD_ORIGINAL_COUNT]; /* of what is preloaded after Tandem */
static pthread_once_t between_once = PTHREAD_ONCE_INIT;
static _Thread_local int running; /* originals under way in this thread */

static td_function function_of(void *address)
{
    td_function function;
    memcpy(&function, &address, sizeof function);
    return function;
}

/* ---- libraries ---- */

static bool is_cublas(const td_image *image)
{
    for (int i = 0; i < SONAMES; i++)
        if (strcmp(image->name, sonames[i]) == 0) return true;
    return false;
}

/* The place of a library in the table; NULL if that is full. */
static td_library *library_of(const struct link_map *map)
{
    td_library *library = NULL;
    pthread_mutex_lock(&td_libraries_lock);
    for (int i = 0; i < MOST_LIBRARIES && !library; i++)
        if (!libraries[i].map || libraries[i].map == map) library = &libraries[i];
    if (library) library->map = map;
    pthread_mutex_unlock(&td_libraries_lock);
    return library;
}

/* The library at a path, loaded already unless it may be loaded now. Its reference is never given back. */
static td_library *refer_to(const char *path, bool may_load)
{
    struct link_map *map = NULL;
    void *reference = dlopen(path, RTLD_LAZY | (may_load ? 0 : RTLD_NOLOAD));
    if (!reference || dlinfo(reference, RTLD_DI_LINKMAP, &map) != 0) return NULL;
    return library_of(map);
}

/* Who asks for what, and where it is. */
typedef struct {
    const void *caller;
    const char *name;
    char path[PATH_BYTES]; /* "": nowhere */
    const void *dynamic;   /* an address in it */
} search;

static const td_image *newest(const td_images *images, const char *name)
{
    for (int i = 0; i < SONAMES; i++)
        for (int j = 0; j < images->count; j++)
            if (strcmp(images->image[j].name, sonames[i]) == 0 &&
                td_image_symbol(&images->image[j], name))
                return &images->image[j];
    return NULL;
}

static void look_up(const td_images *images, void *of)
{
    search *s = of;
    const td_image *tandem = td_images_find(images, &libraries), *found = NULL;
    const td_image *from = s->caller ? td_images_find(images, s->caller) : NULL;
    if (from) found = td_images_bound(images, from, s->name, tandem);
    if (!found && images->count > 0)
        found = td_images_bound(images, &images->image[0], s->name, tandem);
    if (!found) found = newest(images, s->name);
    if (!found) return;
    snprintf(s->path, sizeof s->path, "%s", found->path);
    s->dynamic = found->dynamic;
}

static td_library *find_library(const void *caller, td_original which)
{
    search s = {.caller = caller, .name = names[which], .path = ""};
    td_images_visit(look_up, &s);
    if (!s.path[0]) return NULL;
    td_library *library = refer_to(s.path, false);
    if (library) return library;
    /* Without memory there is no reference, and the library stays loaded because its user does. */
    Dl_info unused;
    void *map = NULL;
    return dladdr1(s.dynamic, &unused, &map, RTLD_DL_LINKMAP) && map ? library_of(map) : NULL;
}

td_library *td_library_own(void)
{
    td_library *library = atomic_load_explicit(&own, memory_order_acquire);
    if (!library) library = find_library(NULL, TD_ORIGINAL_cublasGemmStridedBatchedEx);
    for (int i = 0; i < SONAMES && !library; i++) library = refer_to(sonames[i], true);
    td_library *other = NULL;
    if (library && !atomic_compare_exchange_strong(&own, &other, library)) library = other;
    return library;
}

td_library *td_library_of(const void *handle, const void *caller, td_original which)
{
    td_library *library = td_owner_find(handle);
    if (!library) library = td_owner_find(caller);
    if (library) return library;
    library = find_library(caller, which);
    if (library) td_owner_set(caller, library); /* a place in code calls one cuBLAS */
    return library;
}

/* ---- functions ---- */

/* What is preloaded after Tandem stands before cuBLAS, as it would without Tandem: the images that follow, up to the
 * first one that another image needs. */
static void find_between(const td_images *images, void *unused)
{
    const td_image *tandem = td_images_find(images, &libraries);
    (void)unused;
    if (!tandem || tandem == images->image) return; /* part of the program */
    for (const td_image *at = tandem + 1; at < images->image + images->count; at++) {
        if (is_cublas(at) || td_image_is_needed(images, at)) return;
        for (int which = 0; which < TD_ORIGINAL_COUNT; which++) {
            void *address = between[which] ? NULL : td_image_symbol(at, names[which]);
            if (address) between[which] = function_of(address);
        }
    }
}

static void find_all_between(void) { td_images_visit(find_between, NULL); }

typedef struct {
    const td_library *library;
    const char *name;
    void *address;
} definition;

/* In the library itself, or, if it only stands before cuBLAS, in what it needs. */
static void find_definition(const td_images *images, void *of)
{
    definition *d = of;
    const td_image *tandem = td_images_find(images, &libraries);
    const td_image *library = td_images_find(images, d->library->map->l_ld);
    const td_image *found = library ? td_images_bound(images, library, d->name, tandem) : NULL;
    if (found) d->address = td_image_symbol(found, d->name);
}

static td_function find(td_library *library, td_original which)
{
    td_function function = atomic_load_explicit(&library->found[which], memory_order_acquire);
    if (function) return function;
    pthread_once(&between_once, find_all_between);
    function = between[which];
    if (!function) {
        definition d = {.library = library, .name = names[which]};
        td_images_visit(find_definition, &d);
        if (!d.address) return NULL;
        function = function_of(d.address);
    }
    atomic_store_explicit(&library->found[which], function, memory_order_release);
    return function;
}

td_function td_original_find(td_library *library, td_original which)
{
    static atomic_uint said[TD_ORIGINAL_COUNT];
    td_function function = library ? find(library, which) : NULL;
    if (!function)
        td_log_capped(&said[which], 1, TD_LOG_ERROR,
                      "%s: no cuBLAS that has it is loaded (11 to 13)", names[which]);
    return function;
}

void td_original_enter(void) { running++; }

void td_original_leave(void) { running--; }

bool td_original_is_running(void) { return running > 0; }
