#define _GNU_SOURCE 1
#include "site.h"

#include <dlfcn.h>
#include <pthread.h>
#include <search.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "images.h"

/* A library may be unloaded, and another one loaded to the same addresses: what is known of an
 * address holds until something is unloaded, and is looked up again then. */
typedef struct known {
    const void *address;
    unsigned long long unloads; /* of the process, when it was looked up last; under the lock */
    td_site site;
    struct known *before; /* what the address was in earlier libraries */
} known;

pthread_mutex_t td_sites_lock = PTHREAD_MUTEX_INITIALIZER;
static void *tree; /* of known, for tsearch(3) */

static int compare(const void *left, const void *right)
{
    const uintptr_t a = (uintptr_t)((const known *)left)->address,
                    b = (uintptr_t)((const known *)right)->address;
    return (a > b) - (a < b);
}

/* NULL if the address is to be looked up; *unloads then says when. The history is read under the
 * lock: a fork() waits for that, and its child would find the dynamic linker's own lock taken. */
static const td_site *find(const void *address, unsigned long long *unloads)
{
    const known wanted = {.address = address};
    pthread_mutex_lock(&td_sites_lock);
    known *const *found = tfind(&wanted, &tree, compare);
    *unloads = td_images_unloads();
    const bool is_known = found && td_images_hold((*found)->unloads, *unloads);
    const td_site *site = is_known ? &(*found)->site : NULL;
    pthread_mutex_unlock(&td_sites_lock);
    return site;
}

static bool is_same(const td_site *a, const td_site *b)
{
    return a->offset == b->offset && strcmp(a->symbol, b->symbol) == 0 &&
           strcmp(a->object, b->object) == 0;
}

/* Under the lock: has what was looked up come first among what the address was, as what it was
 * before if it is that again. NULL without memory. */
static const td_site *keep(known *made)
{
    known **const first = tsearch(made, &tree, compare), **at = first;
    if (!first) return NULL;
    if (*first == made) return &made->site;
    while (*at && !is_same(&(*at)->site, &made->site)) at = &(*at)->before;
    known *const now = *at ? *at : made;
    if (*at) *at = now->before;
    now->before = *first;
    now->unloads = made->unloads;
    *first = now;
    return &now->site;
}

/* In a forked child, too: the C library gives dladdr's lock back there. */
static void look_up(const void *address, td_site *site)
{
    Dl_info info;
    if (dladdr(address, &info) == 0 || !info.dli_fname) return;
    const char *slash = strrchr(info.dli_fname, '/');
    snprintf(site->object, sizeof site->object, "%s", slash ? slash + 1 : info.dli_fname);
    const bool is_named = info.dli_sname && info.dli_saddr;
    if (is_named) snprintf(site->symbol, sizeof site->symbol, "%s", info.dli_sname);
    site->offset = (uintptr_t)address - (uintptr_t)(is_named ? info.dli_saddr : info.dli_fbase);
}

const td_site *td_site_find(const void *address)
{
    unsigned long long unloads;
    const td_site *site = address ? find(address, &unloads) : NULL;
    known *const made = address && !site ? calloc(1, sizeof *made) : NULL;
    if (!made) return site;
    *made = (known){.address = address, .unloads = unloads};
    look_up(address, &made->site);
    pthread_mutex_lock(&td_sites_lock);
    site = keep(made);
    pthread_mutex_unlock(&td_sites_lock);
    if (site != &made->site) free(made);
    return site;
}

void td_site_print(const td_site *site, char text[2 * TD_SITE_BYTES + 32])
{
    const size_t bytes = 2 * TD_SITE_BYTES + 32;
    if (site->symbol[0])
        snprintf(text, bytes, "%s+0x%llx (%s)", site->symbol, site->offset, site->object);
    else
        snprintf(text, bytes, "%s+0x%llx", site->object[0] ? site->object : "?", site->offset);
}
