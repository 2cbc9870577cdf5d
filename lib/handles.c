#include "handles.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

/* A slot that has had a handle is never empty again, so that a search may end at an empty one. */
enum { HANDLES_LOG = 12, HANDLES = 1 << HANDLES_LOG };
static struct {
    _Atomic(const void *) handle;
    _Atomic(struct td_library *) library;
} slots[HANDLES]; /* written under the lock */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The golden ratio's bits spread addresses, which are multiples of 16 (Knuth, TAOCP vol. 3, 6.4). */
static unsigned slot_of(const void *handle)
{
    return (unsigned)(((uintptr_t)handle >> 4) * UINT64_C(0x9e3779b97f4a7c15) >>
                      (64 - HANDLES_LOG));
}

struct td_library *td_handle_library(const void *handle)
{
    if (!handle) return NULL;
    for (unsigned i = 0, slot = slot_of(handle); i < HANDLES; i++, slot = (slot + 1) % HANDLES) {
        const void *here = atomic_load_explicit(&slots[slot].handle, memory_order_acquire);
        if (here == handle) return atomic_load_explicit(&slots[slot].library, memory_order_acquire);
        if (!here) break;
    }
    return NULL;
}

/* The handle's slot, or else the first that no living handle has; HANDLES if there is none. */
static unsigned find_slot(const void *handle)
{
    unsigned free_slot = HANDLES;
    for (unsigned i = 0, slot = slot_of(handle); i < HANDLES; i++, slot = (slot + 1) % HANDLES) {
        const void *here = slots[slot].handle;
        if (here == handle) return slot;
        if (free_slot == HANDLES && !slots[slot].library) free_slot = slot;
        if (!here) break;
    }
    return free_slot;
}

void td_handle_set_library(const void *handle, struct td_library *library)
{
    if (!handle) return;
    pthread_mutex_lock(&lock);
    const unsigned slot = find_slot(handle);
    if (slot < HANDLES) {
        atomic_store_explicit(&slots[slot].library, library, memory_order_release);
        atomic_store_explicit(&slots[slot].handle, handle, memory_order_release);
    }
    pthread_mutex_unlock(&lock);
}
