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

typedef struct {
    const void *address;
    td_site site;
} known;

pthread_mutex_t td_sites_lock = PTHREAD_MUTEX_INITIALIZER;
static void *tree; /* of known, for tsearch(3) */

static int compare(const void *left, const void *right)
{
    const uintptr_t a = (uintptr_t)((const known *)left)->address,
                    b = (uintptr_t)((const known *)right)->address;
    return (a > b) - (a < b);
}

/* One known place; NULL if it is new. */
static const known *find(const known *wanted)
{
    pthread_mutex_lock(&td_sites_lock);
    known *const *found = tfind(wanted, &tree, compare);
    const known *k = found ? *found : NULL;
    pthread_mutex_unlock(&td_sites_lock);
    return k;
}

/* Keeps a place, or the one that another thread has kept meanwhile. */
static const known *keep(known *made)
{
    pthread_mutex_lock(&td_sites_lock);
    known *const *kept = tsearch(made, &tree, compare);
    const known *k = kept ? *kept : NULL;
    pthread_mutex_unlock(&td_sites_lock);
    if (k != made) free(made);
    return k;
}

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
    const known wanted = {.address = address};
    if (!address) return NULL;
    const known *k = find(&wanted);
    if (k) return &k->site;
    known *made = calloc(1, sizeof *made);
    if (!made) return NULL;
    made->address = address;
    look_up(address, &made->site);
    k = keep(made);
    return k ? &k->site : NULL;
}

void td_site_print(const td_site *site, char text[2 * TD_SITE_BYTES + 32])
{
    const size_t bytes = 2 * TD_SITE_BYTES + 32;
    if (site->symbol[0])
        snprintf(text, bytes, "%s+0x%llx (%s)", site->symbol, site->offset, site->object);
    else
        snprintf(text, bytes, "%s+0x%llx", site->object[0] ? site->object : "?", site->offset);
}
