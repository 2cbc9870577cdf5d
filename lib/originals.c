#include "originals.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "log.h"

#define NAME_OF_ENTRY(function, family) #function,
#define NAME_OF_HELPER(function)        #function,
static const char *const names[TD_ORIGINAL_COUNT] = {TD_ENTRIES(NAME_OF_ENTRY)
                                                         TD_HELPERS(NAME_OF_HELPER)};

static const char *const sonames[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11"};

static _Atomic(td_function) found[TD_ORIGINAL_COUNT];
static _Thread_local int running; /* originals under way in this thread */

/* From a library that is loaded already, or can be. */
static void *look_up_in(const char *soname, const char *name, bool may_load)
{
    void *library = dlopen(soname, RTLD_LAZY | (may_load ? 0 : RTLD_NOLOAD));
    if (!library) return NULL;
    void *symbol = dlsym(library, name);
    if (!symbol || !may_load)
        (void)dlclose(library); /* only the count of users: it is kept loaded */
    return symbol;
}

static void *look_up(const char *name, bool may_load)
{
    void *symbol = dlsym(RTLD_NEXT, name);
    for (int load = 0; load <= may_load; load++)
        for (size_t i = 0; !symbol && i < sizeof sonames / sizeof sonames[0]; i++)
            symbol = look_up_in(sonames[i], name, load);
    return symbol;
}

static td_function find(td_original which, bool may_load)
{
    td_function function = atomic_load_explicit(&found[which], memory_order_acquire);
    if (function) return function;
    void *symbol = look_up(names[which], may_load);
    if (!symbol) return NULL;
    memcpy(&function, &symbol, sizeof function);
    atomic_store_explicit(&found[which], function, memory_order_release);
    return function;
}

td_function td_original_find(td_original which)
{
    static atomic_uint said[TD_ORIGINAL_COUNT];
    td_function function = find(which, false);
    if (!function)
        td_log_capped(&said[which], 1, TD_LOG_ERROR,
                      "%s: no cuBLAS that has it is loaded (11 to 13)", names[which]);
    return function;
}

td_function td_original_load(td_original which) { return find(which, true); }

void td_original_enter(void) { running++; }

void td_original_leave(void) { running--; }

bool td_original_is_running(void) { return running > 0; }
