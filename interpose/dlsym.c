/* dlsym.c - dlsym and dlvsym, for programs that find cuBLAS or cuSOLVER by name, and dlopen for
 * those that Tandem is attached to (attach.h). A wrapped function that is
 * asked of a cuBLAS is answered with an entrance of its wrapper that is bound to that cuBLAS;
 * everything else goes on to the function that the caller would have had, as dlsym_x86_64.S and
 * dlsym_aarch64.S say.
 * Until a function of these is asked for, nothing here takes memory or a lock, or calls what a
 * sanitizer or an allocator stands before: these ask dlsym while they start. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/call/process.h"
#include "../lib/loader/images.h"
#include "../lib/loader/originals.h"
#include "attach.h"
#include "lookups.h"

/* Of the processor's dlsym_*.S. */
extern const char td_bound_entrances[];
void *td_own_dlsym(void *handle, const char *name);
void *td_own_dlvsym(void *handle, const char *name, const char *version);
void *td_own_dlopen(const char *file, int flags);

/* Called there. */
td_function td_route_dlsym(void *handle, const char *name);
td_function td_route_dlvsym(void *handle, const char *name, const char *version,
                            const void *caller);
td_function td_route_dlopen(const char *file, int flags);
td_function td_bound_wrappers[TD_MOST_LIBRARIES * TD_BOUND_STRIDE];

typedef void *dlsym_function(void *handle, const char *name);
typedef void *dlvsym_function(void *handle, const char *name, const char *version);
typedef void *dlopen_function(const char *file, int flags);

static void *address_of(td_function function)
{
    void *address;
    memcpy(&address, &function, sizeof address);
    return address;
}

/* What follows a name's start; NULL if it starts otherwise. */
static const char *rest_after(const char *start, const char *name)
{
    while (*start && *start == *name) start++, name++;
    return *start ? NULL : name;
}

static bool is_text(const char *text, const char *name)
{
    const char *rest = rest_after(text, name);
    return rest && !*rest;
}

/* ---- the images round Tandem ---- */

/* The function of a name in the first image after Tandem's, another Tandem aside, that has it. */
typedef struct {
    const char *name;
    bool is_after;
    void *address;
} successor;

static bool is_successor(const td_image *image, void *of)
{
    successor *s = of;
    if (s->is_after && !td_image_is_tandem(image)) s->address = td_image_symbol(image, s->name);
    s->is_after |= td_image_holds(image, td_bound_wrappers);
    return s->address;
}

/* Where Tandem was opened late, nothing comes after it: then the first image of all. */
static void *find_successor(const char *name)
{
    successor s = {.name = name};
    td_images_each(is_successor, &s);
    if (!s.address) td_images_each(is_successor, &s); /* now all are after */
    return s.address;
}

static _Atomic(void *) next_dlsym, next_dlvsym, next_dlopen; /* NULL: not looked for yet */

static void *next(_Atomic(void *) *known, const char *name)
{
    void *address = atomic_load_explicit(known, memory_order_acquire);
    if (address) return address;
    address = find_successor(name);
    atomic_store_explicit(known, address, memory_order_release);
    return address;
}

/* At once: a forked child could wait for ever for the dynamic linker's lock, if another thread of
 * its parent's had that. */
__attribute__((constructor)) static void find_next(void)
{
    (void)next(&next_dlsym, "dlsym");
    (void)next(&next_dlvsym, "dlvsym");
    (void)next(&next_dlopen, "dlopen");
}

/* Who comes first, Tandem's image or that of an address. */
typedef struct {
    const void *address;
    bool is_before;
} predecessor;

static bool is_decided(const td_image *image, void *of)
{
    predecessor *p = of;
    if (td_image_holds(image, td_bound_wrappers)) return true;
    p->is_before = td_image_holds(image, p->address);
    return p->is_before;
}

static bool is_before_tandem(const void *address)
{
    predecessor p = {.address = address};
    td_images_each(is_decided, &p);
    return p.is_before;
}

/* ---- wrappers ---- */

/* The functions that have a wrapper, in the order of their names. */
typedef struct {
    const char *name;
    td_original which;
} wrapped;

static wrapped all_wrapped[TD_ORIGINAL_COUNT];
static size_t wrapped_count;
static pthread_once_t wrapped_once = PTHREAD_ONCE_INIT;

static int by_name(const void *a, const void *b)
{
    return strcmp(((const wrapped *)a)->name, ((const wrapped *)b)->name);
}

static bool is_own(const td_image *image, void *of)
{
    if (!td_image_holds(image, &wrapped_count)) return false;
    *(td_image *)of = *image;
    return true;
}

static void find_all_wrapped(void)
{
    td_image own = {0};
    td_images_each(is_own, &own);
    for (td_original which = 0; which < TD_ORIGINAL_COUNT; which++) {
        const char *name = td_original_name(which);
        const td_function wrapper = td_function_of(td_image_symbol(&own, name));
        if (!wrapper) continue;
        all_wrapped[wrapped_count++] = (wrapped){name, which};
        for (unsigned library = 0; library < TD_MOST_LIBRARIES; library++)
            td_bound_wrappers[library * TD_BOUND_STRIDE + which] = wrapper;
    }
    qsort(all_wrapped, wrapped_count, sizeof *all_wrapped, by_name);
}

/* NULL: there is no wrapper of this name. */
static const wrapped *find_wrapped(const char *name)
{
    const wrapped key = {.name = name};
    pthread_once(&wrapped_once, find_all_wrapped);
    return bsearch(&key, all_wrapped, wrapped_count, sizeof *all_wrapped, by_name);
}

/* ---- answers ---- */

/* In this thread an answer is being found: what is asked for meanwhile is not for the program. */
static _Thread_local bool is_answering;

static void *entrance(const td_library *library, td_original which)
{
    const size_t number = td_bound_number(library, which);
    return (void *)((uintptr_t)td_bound_entrances + TD_BOUND_BYTES * number);
}

/* What the caller gets for a wrapped function that the next dlsym has found. */
static void *answer(void *found, const char *name)
{
    const int error = errno;
    is_answering = true;
    const wrapped *function = find_wrapped(name);
    td_library *library = function && td_options_in_force()->dlsym ? td_library_at(found) : NULL;
    if (library)
        found = entrance(library, function->which);
    else
        (void)dlerror(); /* the look-up itself has succeeded */
    is_answering = false;
    errno = error;
    return found;
}

static void *answer_dlsym(void *handle, const char *name)
{
    dlsym_function *function = (dlsym_function *)td_function_of(next(&next_dlsym, "dlsym"));
    void *found = function(handle, name);
    return found ? answer(found, name) : NULL;
}

static void *answer_dlvsym(void *handle, const char *name, const char *version)
{
    dlvsym_function *function = (dlvsym_function *)td_function_of(next(&next_dlvsym, "dlvsym"));
    void *found = function(handle, name, version);
    return found ? answer(found, name) : NULL;
}

/* RTLD_DEFAULT and RTLD_NEXT find what is preloaded by themselves. */
static bool is_to_answer(const void *handle, const char *name)
{
    return handle != RTLD_DEFAULT && handle != RTLD_NEXT &&
           (rest_after("cublas", name) || rest_after("cusolver", name)) && !is_answering;
}

td_function td_route_dlsym(void *handle, const char *name)
{
    td_attach_look_again();
    if (is_to_answer(handle, name)) return (td_function)answer_dlsym;
    return td_function_of(next(&next_dlsym, "dlsym"));
}

/* ---- the next dlsym of those that stand before Tandem ---- */

static void *answer_own_dlsym(void *handle, const char *name, const char *version)
{
    (void)handle, (void)name, (void)version;
    return address_of((td_function)td_own_dlsym);
}

static void *answer_own_dlvsym(void *handle, const char *name, const char *version)
{
    (void)handle, (void)name, (void)version;
    return address_of((td_function)td_own_dlvsym);
}

/* A library before Tandem that interposes dlsym finds the next one by dlvsym(RTLD_NEXT, "dlsym",
 * VERSION), which passes Tandem's by: that has no version. NULL: the look-up is none of this
 * kind. */
static td_function own_function(const void *handle, const char *name, const void *caller)
{
    if (handle != RTLD_NEXT) return NULL;
    const td_function answered = is_text("dlsym", name)    ? (td_function)answer_own_dlsym
                                 : is_text("dlvsym", name) ? (td_function)answer_own_dlvsym
                                                           : NULL;
    return answered && is_before_tandem(caller) ? answered : NULL;
}

td_function td_route_dlvsym(void *handle, const char *name, const char *version, const void *caller)
{
    (void)version;
    const td_function answered = own_function(handle, name, caller);
    td_attach_look_again();
    if (answered) return answered;
    if (is_to_answer(handle, name)) return (td_function)answer_dlvsym;
    return td_function_of(next(&next_dlvsym, "dlvsym"));
}

/* ---- for attached libraries ---- */

static void *open_and_look(const char *file, int flags)
{
    dlopen_function *function = (dlopen_function *)td_function_of(next(&next_dlopen, "dlopen"));
    void *handle = function(file, flags);
    const int error = errno;
    if (handle) td_attach_look_again();
    errno = error;
    return handle;
}

/* Which folders are searched follows from the caller, unless the name has one and means it
 * literally. What is opened otherwise is seen at the next look-up. */
td_function td_route_dlopen(const char *file, int flags)
{
    (void)flags;
    td_images_opening();
    if (file && strchr(file, '/') && !strchr(file, '$')) return (td_function)open_and_look;
    return td_function_of(next(&next_dlopen, "dlopen"));
}

void *td_lookup_stand_in(const char *name)
{
    static const struct {
        const char *name;
        td_function function;
    } own[] = {{"dlsym", (td_function)td_own_dlsym},
               {"dlvsym", (td_function)td_own_dlvsym},
               {"dlopen", (td_function)td_own_dlopen}};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (is_text(own[i].name, name)) return address_of(own[i].function);
    return NULL;
}
