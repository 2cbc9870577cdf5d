#include "owners.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "images.h"

/* The golden ratio's bits spread addresses over a table of 2^log places (Knuth, TAOCP vol. 3,
 * 6.4). */
static unsigned place_of(const void *address, int log)
{
    return (unsigned)((uintptr_t)address * UINT64_C(0x9e3779b97f4a7c15) >> (64 - log));
}

/* ---- handles, and functions of libraries that stay ---- */

/* A slot that has had an address is never empty again, so that a search may end at an empty one. */
enum { SLOTS_LOG = 12, SLOTS = 1 << SLOTS_LOG };
static struct {
    _Atomic(const void *) address;
    _Atomic(struct td_library *) library;
} slots[SLOTS]; /* written under the lock */

pthread_mutex_t td_owners_lock = PTHREAD_MUTEX_INITIALIZER;

struct td_library *td_owner_find(const void *address)
{
    if (!address) return NULL;
    for (unsigned i = 0, slot = place_of(address, SLOTS_LOG); i < SLOTS;
         i++, slot = (slot + 1) % SLOTS) {
        const void *here = atomic_load_explicit(&slots[slot].address, memory_order_acquire);
        if (here == address)
            return atomic_load_explicit(&slots[slot].library, memory_order_acquire);
        if (!here) break;
    }
    return NULL;
}

/* The address's slot, or else the first without an owner; SLOTS if there is none. */
static unsigned find_slot(const void *address)
{
    unsigned free_slot = SLOTS;
    for (unsigned i = 0, slot = place_of(address, SLOTS_LOG); i < SLOTS;
         i++, slot = (slot + 1) % SLOTS) {
        const void *here = slots[slot].address;
        if (here == address) return slot;
        if (free_slot == SLOTS && !slots[slot].library) free_slot = slot;
        if (!here) break;
    }
    return free_slot;
}

void td_owner_set(const void *address, struct td_library *library)
{
    if (!address) return;
    pthread_mutex_lock(&td_owners_lock);
    const unsigned slot = find_slot(address);
    if (slot < SLOTS) {
        atomic_store_explicit(&slots[slot].library, library, memory_order_release);
        atomic_store_explicit(&slots[slot].address, address, memory_order_release);
    }
    pthread_mutex_unlock(&td_owners_lock);
}

/* ---- places in code that call ---- */

/* Under the lock: as slots have it, but for what was told before something was unloaded. Code of
 * another library may be there now. */
enum { CALLERS_LOG = 12, CALLERS = 1 << CALLERS_LOG };
static struct {
    const void *address;
    struct td_library *library;
    unsigned long long unloads; /* of the process, when the library was looked up */
} callers[CALLERS];

/* The caller's place, or else the first that is of no use any more; CALLERS if there is none. */
static unsigned find_caller(const void *caller, unsigned long long unloads)
{
    unsigned free_place = CALLERS;
    for (unsigned i = 0, at = place_of(caller, CALLERS_LOG); i < CALLERS;
         i++, at = (at + 1) % CALLERS) {
        if (callers[at].address == caller) return at;
        if (free_place == CALLERS && !td_images_hold(callers[at].unloads, unloads)) free_place = at;
        if (!callers[at].address) return free_place < CALLERS ? free_place : at;
    }
    return free_place;
}

/* The history is read under the lock: a fork() waits for that, and its child would find the dynamic
 * linker's own lock taken. */
struct td_library *td_caller_find(const void *caller, unsigned long long *unloads)
{
    struct td_library *library = NULL;
    pthread_mutex_lock(&td_owners_lock);
    *unloads = td_images_unloads();
    const unsigned at = caller ? find_caller(caller, *unloads) : CALLERS;
    if (at < CALLERS && callers[at].address == caller &&
        td_images_hold(callers[at].unloads, *unloads))
        library = callers[at].library;
    pthread_mutex_unlock(&td_owners_lock);
    return library;
}

void td_caller_set(const void *caller, struct td_library *library, unsigned long long unloads)
{
    if (!caller) return;
    pthread_mutex_lock(&td_owners_lock);
    const unsigned at = find_caller(caller, unloads);
    if (at < CALLERS) {
        callers[at].address = caller;
        callers[at].library = library;
        callers[at].unloads = unloads;
    }
    pthread_mutex_unlock(&td_owners_lock);
}

/* ---- strangers ---- */

/* Each address is at its own place, from where another one takes it. */
enum { STRANGERS_LOG = 8, STRANGERS = 1 << STRANGERS_LOG };
static _Atomic(const void *) strangers[STRANGERS];

bool td_stranger_find(const void *address)
{
    const unsigned place = place_of(address, STRANGERS_LOG);
    return atomic_load_explicit(&strangers[place], memory_order_relaxed) == address;
}

void td_stranger_set(const void *address)
{
    const unsigned place = place_of(address, STRANGERS_LOG);
    atomic_store_explicit(&strangers[place], address, memory_order_relaxed);
}

void td_strangers_forget(void)
{
    for (int i = 0; i < STRANGERS; i++)
        atomic_store_explicit(&strangers[i], NULL, memory_order_relaxed);
}
