/* site_table.h - what strategy adaptive knows of the sites of one context: a fixed number of them,
 * of which new ones take the places of those that have been there longest. Reading it takes no
 * lock. Pure: no CUDA calls. */
#ifndef TD_SITE_TABLE_H
#define TD_SITE_TABLE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "../model/spent.h"

enum { TD_SITE_SLOTS = 4096 };

typedef struct td_site_table td_site_table;

/* Without a site; NULL without memory. words: TD_SITE_SLOTS of them, 0 at first, in which kernels
 * leave the outcome of each place's last call. */
td_site_table *td_site_table_make(const volatile unsigned long long *words);

/* Forgets all sites. Words that arrive later are of calls that are not news any more. */
void td_site_table_clear(td_site_table *table);

/* What a decision needs. The functions get `context`. */
typedef struct {
    uint64_t site; /* by which calls of one site are known: a hash */
    bool is_safe;  /* as in td_back_off_ask */
    bool (*has_lost)(const void *context, const td_outcome *outcome);
    bool (*may_try)(const void *context); /* asked only if the call would be a trial */
    const void *context;
} td_site_question;

typedef struct {
    bool is_emulated;
    int slot;        /* the site's place; -1: it has none, and leaves no outcome */
    uint32_t ticket; /* the call's number, if it is emulated */
} td_site_answer;

/* Whether the site's next call is emulated. Any thread; it waits for none. */
td_site_answer td_site_table_ask(td_site_table *table, const td_site_question *question);

/* For fork() alone (process.c): held while a site gets its place. */
extern pthread_mutex_t td_site_table_lock;

#endif
