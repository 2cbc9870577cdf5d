#include "notes.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Of all stores: their notes, and their counts when these change. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void before_fork(void) { pthread_mutex_lock(&lock); }

static void after_fork(void) { pthread_mutex_unlock(&lock); }

__attribute__((constructor)) static void watch_forks(void)
{
    (void)pthread_atfork(before_fork, after_fork, after_fork);
}

/* Under the lock. */
static void *find(const td_notes *store, const void *handle)
{
    for (size_t i = 0; i < store->count; i++) {
        char *note = store->notes + i * store->size;
        if (*(const void *const *)note == handle) return note;
    }
    return NULL;
}

/* Under the lock: the handle's note, or room for one; NULL if there is no memory. */
static void *place_of(td_notes *store, const void *handle)
{
    void *found = find(store, handle);
    if (found) return found;
    char *grown = realloc(store->notes, (store->count + 1) * store->size);
    if (!grown) return NULL;
    store->notes = grown;
    return grown + store->count++ * store->size;
}

void td_notes_set(td_notes *store, const void *note)
{
    pthread_mutex_lock(&lock);
    void *place = place_of(store, *(const void *const *)note);
    if (place) memcpy(place, note, store->size);
    pthread_mutex_unlock(&lock);
}

bool td_notes_find(td_notes *store, const void *handle, void *copy)
{
    if (!atomic_load(&store->count)) return false;
    pthread_mutex_lock(&lock);
    const void *found = find(store, handle);
    if (found) memcpy(copy, found, store->size);
    pthread_mutex_unlock(&lock);
    return found;
}

void td_notes_forget(td_notes *store, const void *handle)
{
    if (!atomic_load(&store->count)) return;
    pthread_mutex_lock(&lock);
    void *found = find(store, handle);
    if (found) memcpy(found, store->notes + --store->count * store->size, store->size);
    pthread_mutex_unlock(&lock);
}

void td_notes_forget_all(td_notes *store)
{
    pthread_mutex_lock(&lock);
    atomic_store(&store->count, 0);
    pthread_mutex_unlock(&lock);
}
