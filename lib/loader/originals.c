#include "originals.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "host_device.h"
#include "images.h"
#include "../options/log.h"
#include "owners.h"
#include "stack.h"

#define NAME_OF_ENTRY(function, family, name) #function,
#define NAME_OF_HELPER(function)              #function,
#define ROUTINE(name, forms, shape, kind, types, family)                                           \
    TD_FORMS_##forms(NAME_OF_ENTRY, name, family)
static const char *const names[TD_ORIGINAL_COUNT] = {
#include "../routine/routines.def"
    TD_HELPERS(NAME_OF_HELPER)};

static const char *const sonames[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11"};
static const char *const lt_sonames[] = {"libcublasLt.so.13", "libcublasLt.so.12",
                                         "libcublasLt.so.11"};
/* CUDA 11 and 12 have the same. */
static const char *const solver_sonames[] = {"libcusolver.so.12", "libcusolver.so.11",
                                             "libcusolver.so.11"};
enum { SONAMES = sizeof sonames / sizeof *sonames, PATH_BYTES = 4096 };

struct td_library {
    /* A reference is kept. NULL: not used yet. */
    _Atomic(const struct link_map *) map;
    _Atomic(uintptr_t) start, end; /* of its image in memory; 0: not looked for yet */
    _Atomic(td_function) found[TD_ORIGINAL_COUNT];
    atomic_bool is_cublas;                /* or cublasLt, not cuSOLVER; known when `end` is */
    atomic_bool lacks[TD_ORIGINAL_COUNT]; /* it was looked for in vain */
};

static td_library libraries[TD_MOST_LIBRARIES]; /* used ones first */
static _Atomic(td_library *) own;
static _Atomic(td_function) between[TD_ORIGINAL_COUNT]; /* of what is preloaded after Tandem */
static pthread_once_t between_once = PTHREAD_ONCE_INIT;
static _Thread_local int running[TD_MAKERS]; /* originals under way in this thread */

td_function td_function_of(void *address)
{
    td_function function;
    memcpy(&function, &address, sizeof function);
    return function;
}

/* ---- libraries ---- */

/* Number i of the versions, the newest first. */
static bool is_cublas_version(const td_image *image, int i)
{
    return strcmp(image->name, sonames[i]) == 0 || strcmp(image->name, lt_sonames[i]) == 0;
}

static bool is_version(const td_image *image, int i)
{
    return is_cublas_version(image, i) || strcmp(image->name, solver_sonames[i]) == 0;
}

bool td_original_is_cublas(const td_image *image)
{
    for (int i = 0; i < SONAMES; i++)
        if (is_cublas_version(image, i)) return true;
    return false;
}

/* True if an image is one of these libraries. */
static bool is_original(const td_image *image)
{
    for (int i = 0; i < SONAMES; i++)
        if (is_version(image, i)) return true;
    return false;
}

/* The place of a library in the table; NULL if that is full. */
static td_library *library_of(const struct link_map *map)
{
    for (int i = 0; i < TD_MOST_LIBRARIES; i++) {
        const struct link_map *other = NULL;
        const bool is_new = atomic_compare_exchange_strong(&libraries[i].map, &other, map);
        if (is_new) td_strangers_forget();
        if (is_new || other == map) return &libraries[i];
    }
    return NULL;
}

/* The library at a path, loaded already unless it may be loaded now. Its reference is never given
 * back. */
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
            if (is_version(&images->image[j], i) && td_image_symbol(&images->image[j], name))
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

/* Number i of the versions, loaded where it is not. The host device's is the one beside it,
 * whichever the search would find first. */
static td_library *open_version(int i)
{
    char path[TD_HOST_DEVICE_PATH];
    td_host_device_folder(path);
    strncat(path, sonames[i], sizeof path - strlen(path) - 1);
    return refer_to(path, true);
}

td_library *td_library_own(void)
{
    td_library *library = atomic_load_explicit(&own, memory_order_acquire);
    if (!library) library = find_library(NULL, TD_ORIGINAL_cublasGemmStridedBatchedEx);
    for (int i = 0; i < SONAMES && !library; i++) library = open_version(i);
    td_library *other = NULL;
    if (library && !atomic_compare_exchange_strong(&own, &other, library)) library = other;
    return library;
}

/* ---- calls that are bound to a library ---- */

static _Thread_local unsigned bound_call; /* 0: none */

void td_bound_set(unsigned call) { bound_call = call; }

_Static_assert(TD_ORIGINAL_COUNT <= TD_BOUND_STRIDE, "a library's bound calls need more numbers");

unsigned td_bound_number(const td_library *library, td_original which)
{
    return (unsigned)(library - libraries) * TD_BOUND_STRIDE + (unsigned)which;
}

/* The library that the call under way is bound to, once; NULL: none. */
static td_library *take_bound(td_original which)
{
    const unsigned call = bound_call;
    if (!call) return NULL;
    bound_call = 0;
    return (call - 1) % TD_BOUND_STRIDE == which ? &libraries[(call - 1) / TD_BOUND_STRIDE] : NULL;
}

/* Where an address is: its image's path, "" if that is none of these libraries. */
typedef struct {
    const void *address;
    char path[PATH_BYTES];
} place;

static void look_at_place(const td_images *images, void *of)
{
    place *p = of;
    const td_image *image = td_images_find(images, p->address);
    if (image && is_original(image)) snprintf(p->path, sizeof p->path, "%s", image->path);
}

/* The library at an address. NULL: there is no memory for it, or the address is a stranger. */
static td_library *library_at(const void *address, bool *is_stranger)
{
    td_library *library = td_owner_find(address);
    *is_stranger = false;
    if (library) return library;
    place p = {.address = address, .path = ""};
    td_images_visit(look_at_place, &p);
    *is_stranger = !p.path[0];
    library = p.path[0] ? refer_to(p.path, false) : NULL;
    if (library) td_owner_set(address, library);
    return library;
}

td_library *td_library_at(const void *address)
{
    bool is_stranger;
    return library_at(address, &is_stranger);
}

/* ---- libraries of calls ---- */

/* An image's place in memory: from the first byte of its segments to behind the last one. */
typedef struct {
    const void *inside;
    bool is_cublas;
    uintptr_t start, end;
} extent;

static bool measure(const td_image *image, void *of)
{
    extent *e = of;
    if (!td_image_holds(image, e->inside)) return false;
    e->is_cublas = td_original_is_cublas(image);
    e->start = UINTPTR_MAX;
    for (int i = 0; i < image->segment_count; i++) {
        const ElfW(Phdr) *segment = &image->segments[i];
        const uintptr_t start = image->base + segment->p_vaddr, end = start + segment->p_memsz;
        if (segment->p_type != PT_LOAD) continue;
        if (start < e->start) e->start = start;
        if (end > e->end) e->end = end;
    }
    return true;
}

static bool holds(td_library *library, const void *address)
{
    uintptr_t end = atomic_load_explicit(&library->end, memory_order_acquire);
    if (!end) {
        extent e = {.inside = library->map->l_ld};
        td_images_each(measure, &e);
        atomic_store_explicit(&library->start, e.start, memory_order_relaxed);
        atomic_store_explicit(&library->is_cublas, e.is_cublas, memory_order_relaxed);
        atomic_store_explicit(&library->end, end = e.end, memory_order_release);
    }
    const uintptr_t start = atomic_load_explicit(&library->start, memory_order_relaxed);
    return start <= (uintptr_t)address && (uintptr_t)address < end;
}

bool td_library_is_caller(const void *caller)
{
    if (td_stranger_find(caller)) return false;
    bool is_stranger;
    td_library *library = library_at(caller, &is_stranger);
    if (is_stranger) td_stranger_set(caller);
    return library && holds(library, caller) &&
           atomic_load_explicit(&library->is_cublas, memory_order_relaxed);
}

/* ---- functions ---- */

/* What is preloaded after Tandem stands before cuBLAS, as it would without Tandem: the images that
 * follow, up to the first one that another image needs. */
static void find_between(const td_images *images, void *unused)
{
    const td_image *tandem = td_images_find(images, &libraries);
    (void)unused;
    if (!tandem || tandem == images->image) return; /* part of the program */
    for (const td_image *at = tandem + 1; at < images->image + images->count; at++) {
        if (is_original(at) || td_image_is_needed(images, at)) return;
        if (td_image_is_tandem(at)) continue; /* which stands aside */
        for (int which = 0; which < TD_ORIGINAL_COUNT; which++) {
            void *address = between[which] ? NULL : td_image_symbol(at, names[which]);
            if (address) between[which] = td_function_of(address);
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
    if (atomic_load_explicit(&library->lacks[which], memory_order_relaxed)) return NULL;
    pthread_once(&between_once, find_all_between);
    function = between[which];
    if (!function) {
        definition d = {.library = library, .name = names[which]};
        td_images_visit(find_definition, &d);
        if (!d.address) {
            atomic_store_explicit(&library->lacks[which], true, memory_order_relaxed);
            return NULL;
        }
        function = td_function_of(d.address);
    }
    atomic_store_explicit(&library->found[which], function, memory_order_release);
    return function;
}

/* A handle of cuBLAS is one of cublasLt, too, whose functions cuBLAS's library may lack. */
static bool is_of_lt(td_original which)
{
    return strncmp(names[which], "cublasLt", strlen("cublasLt")) == 0;
}

td_library *td_library_of(const void *handle, const void *caller, td_original which)
{
    td_library *library = take_bound(which);
    if (library) return library;
    library = td_owner_find(handle);
    if (library && (!is_of_lt(which) || find(library, which))) return library;
    /* A place in code calls one cuBLAS; but a place that makes other code's calls, as libffi has
     * for ctypes, calls cublasLt as well, which lacks cuBLAS's functions. */
    unsigned long long unloads;
    library = td_caller_find(caller, &unloads);
    if (library && find(library, which)) return library;
    library = find_library(caller, which);
    if (library) td_caller_set(caller, library, unloads);
    return library;
}

td_function td_original_look_for(td_library *library, td_original which)
{
    return library ? find(library, which) : NULL;
}

static bool is_of_cusolver(const char *name)
{
    return strncmp(name, "cusolver", strlen("cusolver")) == 0;
}

td_function td_original_find(td_library *library, td_original which)
{
    static atomic_uint said[TD_ORIGINAL_COUNT];
    td_function function = td_original_look_for(library, which);
    if (!function)
        td_log_capped(&said[which], 1, TD_LOG_ERROR, "%s: no %s that has it is loaded (%s)",
                      names[which], is_of_cusolver(names[which]) ? "cuSOLVER" : "cuBLAS",
                      is_of_cusolver(names[which]) ? "11 or 12" : "11 to 13");
    return function;
}

const char *td_original_name(td_original which) { return names[which]; }

void td_original_enter(td_maker maker) { running[maker]++; }

void td_original_leave(td_maker maker) { running[maker]--; }

bool td_original_is_running(td_maker maker)
{
    if (running[maker] > 0 && !td_stack_has_tandem_above()) running[maker] = 0;
    return running[maker] > 0;
}
