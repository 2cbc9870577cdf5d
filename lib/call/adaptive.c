#include "adaptive.h"

#include <stdlib.h>

#include "../routine/mix.h"
#include "../model/spent.h"
#include "../options/log.h"
#include "site_table.h"

/* What a context has, from its first call under this strategy on. */
struct td_sites {
    atomic_uint life;           /* of the context, that all of this belongs to */
    atomic_bool is_refused;     /* there is no memory that the device can reach */
    atomic_uint asked;          /* since then */
    unsigned long long *words;  /* TD_SITE_SLOTS, in host memory; stay */
    unsigned long long *mapped; /* the same as kernels see them */
    td_site_table *table;       /* stays */
    atomic_uint calls;          /* that were given counters */
};

/* ---- sites of a context ---- */

/* Under the lock. What others look at without it is set last. */
static void begin_life(struct td_sites *sites, unsigned life)
{
    const size_t bytes = TD_SITE_SLOTS * sizeof *sites->words;
    sites->mapped = td_device_map((void **)&sites->words, bytes);
    if (sites->mapped && !sites->table) sites->table = td_site_table_make(sites->words);
    const bool is_refused = !sites->mapped || !sites->table;
    if (is_refused)
        TD_LOG_ONCE(TD_LOG_WARN, "no memory for what strategy adaptive knows of calls; until there "
                                 "is, it decides like performant");
    else
        td_site_table_clear(sites->table);
    if (atomic_load(&sites->life) != life) atomic_store(&sites->asked, 0);
    atomic_store(&sites->is_refused, is_refused);
    atomic_store(&sites->life, life);
}

/* Without the lock. */
static bool is_to_be_tried(struct td_sites *sites)
{
    return atomic_load(&sites->is_refused) &&
           td_is_worth_a_try(atomic_fetch_add(&sites->asked, 1) + 1);
}

static bool lacks_life(struct td_sites *sites, unsigned life)
{
    return atomic_load(&sites->life) != life || atomic_load(&sites->is_refused);
}

/* NULL without memory. */
static struct td_sites *sites_of(td_device *device)
{
    const unsigned life = atomic_load(&device->life);
    struct td_sites *sites = atomic_load(&device->sites);
    if (!sites || atomic_load(&sites->life) != life || is_to_be_tried(sites)) {
        pthread_mutex_lock(&td_devices_lock);
        sites = atomic_load(&device->sites);
        if (!sites) sites = calloc(1, sizeof *sites);
        if (sites && lacks_life(sites, life)) begin_life(sites, life);
        atomic_store(&device->sites, sites);
        pthread_mutex_unlock(&td_devices_lock);
    }
    return sites && !sites->is_refused ? sites : NULL;
}

/* ---- a call ---- */

static uint64_t site_of(td_entry entry, const td_problem *p)
{
    const uint64_t form = (uint64_t)entry | (uint64_t)p->kind << 16 | (uint64_t)p->type << 24 |
                          (uint64_t)p->op_a << 28 | (uint64_t)p->op_b << 32 |
                          (uint64_t)p->side << 36 | (uint64_t)p->triangle << 38 |
                          (uint64_t)p->diagonal << 40 | (uint64_t) !!p->a.array << 42 |
                          (uint64_t) !!p->alpha.device << 43 | (uint64_t)p->is_hermitian << 44;
    uint64_t hash = td_mix(td_mix(0, form), (uint64_t)(uintptr_t)p->caller);
    hash = td_mix(hash, (uint64_t)p->m);
    hash = td_mix(hash, (uint64_t)p->n);
    hash = td_mix(hash, (uint64_t)p->k);
    return td_mix(hash, (uint64_t)p->batch);
}

typedef struct {
    const td_problem *p;
    td_expected expected;
} call;

static bool has_lost(const void *of, const td_outcome *outcome)
{
    return td_has_lost(&((const call *)of)->expected, outcome);
}

/* A graph would repeat a trial that loses with each launch. */
static bool may_try(const void *of)
{
    return !td_stream_is_capturing(((const call *)of)->p->stream);
}

td_decision td_adaptive_forgo(const td_decision *decision)
{
    return decision->is_risky ? td_policy_keep_native(td_reason_lost, decision->forecast)
                              : *decision;
}

td_decision td_adaptive_weigh(const td_question *q, const td_decision *decision, td_device *device)
{
    struct td_sites *const sites = decision->heeds_site ? sites_of(device) : NULL;
    if (!sites) return td_adaptive_forgo(decision);
    const td_forecast forecast = decision->forecast;
    const call c = {q->called, {forecast.native, forecast.emulated, decision->parameter.prices}};
    const td_site_question question = {.site = site_of(q->entry, q->called),
                                       .is_safe = !decision->is_risky,
                                       .has_lost = has_lost,
                                       .may_try = may_try,
                                       .context = &c};
    const td_site_answer answer = td_site_table_ask(sites->table, &question);
    if (!answer.is_emulated) return td_policy_keep_native(td_reason_lost, forecast);
    td_decision weighed = *decision;
    const int64_t tiles = answer.slot >= 0 ? q->method->tiles(q, decision) : 0;
    if (tiles == 0) return weighed;
    weighed.counts = (td_counts_move){
        .from = &device->device_counters[TD_COUNTER_SLOTS +
                                         atomic_fetch_add(&sites->calls, 1) % TD_CALL_SLOTS],
        .word = &sites->mapped[answer.slot],
        .tiles = (unsigned long long)tiles,
        .ticket = answer.ticket,
    };
    return weighed;
}
