#include "site_table.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "back_off.h"

/* A site's hash says which set it belongs to; the keys of a set share a line of the cache. */
enum { WAYS = 8, SETS = TD_SITE_SLOTS / WAYS };

struct td_site_table {
    _Alignas(64) _Atomic uint64_t key[TD_SITE_SLOTS]; /* 0: free */
    _Atomic uint64_t known[TD_SITE_SLOTS];            /* td_back_off, packed */
    _Atomic uint32_t ticket[TD_SITE_SLOTS];           /* of the last emulated call */
    unsigned char oldest[SETS]; /* the way of a set that is taken next, under the lock */
    const volatile unsigned long long *words;
};

pthread_mutex_t td_site_table_lock = PTHREAD_MUTEX_INITIALIZER;

td_site_table *td_site_table_make(const volatile unsigned long long *words)
{
    td_site_table *table = aligned_alloc(_Alignof(td_site_table), sizeof *table);
    if (!table) return NULL;
    memset(table, 0, sizeof *table);
    table->words = words;
    return table;
}

/* Tickets go on, so that no call of a site that is forgotten is taken for one of the next. */
void td_site_table_clear(td_site_table *table)
{
    for (int slot = 0; slot < TD_SITE_SLOTS; slot++) atomic_store(&table->key[slot], 0);
}

/* -1 if the site is not there. */
static int find(td_site_table *table, uint64_t key)
{
    const int first = (int)(key % SETS) * WAYS;
    for (int slot = first; slot < first + WAYS; slot++)
        if (atomic_load_explicit(&table->key[slot], memory_order_acquire) == key) return slot;
    return -1;
}

/* Under the lock. */
static int take(td_site_table *table, uint64_t key)
{
    const int set = (int)(key % SETS), slot = set * WAYS + table->oldest[set];
    table->oldest[set] = (unsigned char)((table->oldest[set] + 1) % WAYS);
    atomic_store(&table->key[slot], 0);
    const td_back_off fresh = td_back_off_begin(atomic_load(&table->ticket[slot]) + 1);
    atomic_store(&table->known[slot], td_back_off_pack(fresh));
    atomic_store_explicit(&table->key[slot], key, memory_order_release);
    return slot;
}

/* A thread that would have to wait for another leaves its site for a later call. */
static int find_or_take(td_site_table *table, uint64_t key)
{
    int slot = find(table, key);
    if (slot >= 0 || pthread_mutex_trylock(&td_site_table_lock) != 0) return slot;
    slot = find(table, key);
    if (slot < 0) slot = take(table, key);
    pthread_mutex_unlock(&td_site_table_lock);
    return slot;
}

/* What is known once the outcome of the site's last call is. */
static td_back_off hear(td_back_off b, unsigned long long word, const td_site_question *q)
{
    const td_outcome outcome = td_outcome_of(word);
    if (!td_back_off_is_news(b, outcome.ticket)) return b;
    return td_back_off_hear(b, outcome.ticket, q->has_lost(q->context, &outcome));
}

/* A place may be taken by another site meanwhile, which then has one call more or less to wait. */
static bool ask(td_site_table *table, int slot, const td_site_question *q)
{
    uint64_t before = atomic_load(&table->known[slot]), after;
    bool is_emulated;
    do {
        td_back_off b = hear(td_back_off_unpack(before), table->words[slot], q);
        const bool may_try = td_back_off_is_due(b, q->is_safe) && q->may_try(q->context);
        is_emulated = td_back_off_ask(&b, q->is_safe, may_try);
        after = td_back_off_pack(b);
    } while (after != before && !atomic_compare_exchange_weak(&table->known[slot], &before, after));
    return is_emulated;
}

td_site_answer td_site_table_ask(td_site_table *table, const td_site_question *q)
{
    const uint64_t key = q->site ? q->site : 1;
    td_site_answer answer = {.is_emulated = q->is_safe, .slot = find_or_take(table, key)};
    if (answer.slot < 0) return answer;
    answer.is_emulated = ask(table, answer.slot, q);
    if (answer.is_emulated) answer.ticket = atomic_fetch_add(&table->ticket[answer.slot], 1) + 1;
    return answer;
}
