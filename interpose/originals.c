#include "originals.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>

#include "../lib/log.h"

#define NAME_OF_ENTRY(function, family) #function,
#define NAME_OF_HELPER(function)        #function,
static const char *const names[TD_ORIGINAL_COUNT] = {TD_ENTRIES(NAME_OF_ENTRY)
                                                         TD_HELPERS(NAME_OF_HELPER)};

static const char *const sonames[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11"};

static _Atomic(td_function) found[TD_ORIGINAL_COUNT];

static void *look_up(const char *name)
{
    void *symbol = dlsym(RTLD_NEXT, name);
    for (size_t i = 0; !symbol && i < sizeof sonames / sizeof sonames[0]; i++) {
        void *library = dlopen(sonames[i], RTLD_LAZY | RTLD_NOLOAD);
        if (!library) continue;
        symbol = dlsym(library, name);
        (void)dlclose(library); /* only the count of users: the program keeps it loaded */
    }
    return symbol;
}

td_function td_original_find(td_original which)
{
    static atomic_uint said[TD_ORIGINAL_COUNT];
    td_function function = atomic_load_explicit(&found[which], memory_order_acquire);
    if (function) return function;
    void *symbol = look_up(names[which]);
    if (!symbol) {
        td_log_capped(&said[which], 1, TD_LOG_ERROR,
                      "%s: no cuBLAS that has it is loaded (11 to 13)", names[which]);
        return NULL;
    }
    memcpy(&function, &symbol, sizeof function);
    atomic_store_explicit(&found[which], function, memory_order_release);
    return function;
}
