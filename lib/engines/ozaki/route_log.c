/* route_log.c - a line in the log for the route of each new shape of a product. */
#include <stdatomic.h>

#include "../../options/log.h"
#include "../../routine/mix.h"
#include "../../routine/real.h"
#include "../../model/route.h"

/* Shapes that were seen, by a hash that is not 0: more than a program has. Those beyond are not
 * logged. */
enum { SHAPES = 1024 };
static atomic_ullong seen[SHAPES];

static uint64_t hash_of(const td_engine *engine, const td_real_product *p, td_parameter parameter)
{
    const int64_t shape[] = {
        p->m, p->n, p->k, p->batch, parameter.is_given ? parameter.count : 0, p->is_paired};
    uint64_t hash = td_mix(1, (uint64_t)(uintptr_t)engine);
    for (size_t i = 0; i < sizeof shape / sizeof *shape; i++)
        hash = td_mix(hash, (uint64_t)shape[i]);
    return hash | 1;
}

/* True if nobody asked of this hash before. */
static bool is_new(uint64_t hash)
{
    for (uint64_t i = 0; i < SHAPES; i++) {
        unsigned long long found = 0;
        if (atomic_compare_exchange_strong(&seen[(hash / SHAPES + i) % SHAPES], &found, hash))
            return true;
        if (found == hash) return false;
    }
    return false;
}

void td_route_log(const td_engine *engine, const td_product *product, td_parameter parameter)
{
    td_route route;
    char text[TD_ROUTE_TEXT];
    if (!engine->route || !td_log_is_on(TD_LOG_DEBUG)) return;
    const td_traits device = td_traits_current();
    const td_real_product p = td_real_product_of(product);
    if (!engine->route(&p, parameter, &device, &route) || !is_new(hash_of(engine, &p, parameter)))
        return;
    td_log(TD_LOG_DEBUG, "%s m=%lld n=%lld k=%lld batch=%lld: %s", engine->name, (long long)p.m,
           (long long)p.n, (long long)p.k, (long long)p.batch, td_route_print(&route, text));
}
