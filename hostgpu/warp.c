/* warp.c - operations of the lanes of a warp: each lane of the mask hands in a value and waits; the
 * last one to come computes all results. */
#include "schedule.h"

static bool has_lane(unsigned mask, unsigned lane) { return mask >> lane & 1; }

static unsigned first_rank(const hostgpu_worker *w, const cuda_warp *warp)
{
    return (unsigned)(warp - w->warp) * HOSTGPU_WARP_SIZE;
}

/* ---- results ---- */

static uint32_t combine(hostgpu_warp_op op, uint32_t a, uint32_t b)
{
    switch (op) {
    case HOSTGPU_ADD:
        return a + b;
    case HOSTGPU_AND:
        return a & b;
    case HOSTGPU_OR:
        return a | b;
    case HOSTGPU_XOR:
        return a ^ b;
    case HOSTGPU_MIN_UNSIGNED:
        return a < b ? a : b;
    case HOSTGPU_MAX_UNSIGNED:
        return a > b ? a : b;
    case HOSTGPU_MIN_SIGNED:
        return (int32_t)a < (int32_t)b ? a : b;
    case HOSTGPU_MAX_SIGNED:
        return (int32_t)a > (int32_t)b ? a : b;
    default:
        return a;
    }
}

static uint32_t reduce(const cuda_warp *warp, hostgpu_warp_op op, unsigned mask)
{
    unsigned first = (unsigned)__builtin_ctz(mask);
    uint32_t result = (uint32_t)warp->value[first];

    for (unsigned l = first + 1; l < HOSTGPU_WARP_SIZE; l++)
        if (has_lane(mask, l)) result = combine(op, result, (uint32_t)warp->value[l]);
    return result;
}

/* The lanes of the mask whose value is `value`. */
static uint32_t match(const cuda_warp *warp, unsigned mask, uint64_t value)
{
    uint32_t result = 0;

    for (unsigned l = 0; l < HOSTGPU_WARP_SIZE; l++)
        if (has_lane(mask, l) && warp->value[l] == value) result |= 1u << l;
    return result;
}

static void shuffle(hostgpu_worker *w, cuda_warp *warp, unsigned mask)
{
    for (unsigned l = 0; mask != ~0u && l < HOSTGPU_WARP_SIZE; l++)
        if (has_lane(mask, l) && !has_lane(mask, warp->source[l]))
            hostgpu_fault(w, "lane %u reads lane %u, which is not in the shuffle's mask 0x%08x", l,
                          warp->source[l], mask);
    for (unsigned l = 0; l < HOSTGPU_WARP_SIZE; l++)
        if (has_lane(mask, l)) warp->result[l] = warp->value[warp->source[l]];
}

static uint64_t join(hostgpu_worker *w, cuda_warp *warp, unsigned mask)
{
    if (mask != ~0u) hostgpu_fault(w, "of a warp's lanes only 0x%08x join their values", mask);
    warp->join(warp->value);
    return warp->value[0];
}

/* What an operation other than a shuffle gives to all lanes alike. */
static uint64_t common_result(hostgpu_worker *w, cuda_warp *warp, hostgpu_warp_op op, unsigned mask)
{
    if (op == HOSTGPU_BALLOT) return match(warp, mask, 1);
    if (op == HOSTGPU_JOIN) return join(w, warp, mask);
    return reduce(warp, op, mask);
}

/* Results of lanes outside the mask stay, as they may not have been fetched. */
static void compute(hostgpu_worker *w, cuda_warp *warp, hostgpu_warp_op op, unsigned mask)
{
    uint64_t common = 0;

    if (op == HOSTGPU_SYNC) return;
    if (op == HOSTGPU_SHUFFLE) {
        shuffle(w, warp, mask);
        return;
    }
    if (op != HOSTGPU_MATCH) common = common_result(w, warp, op, mask);
    for (unsigned l = 0; l < HOSTGPU_WARP_SIZE; l++)
        if (has_lane(mask, l))
            warp->result[l] = op == HOSTGPU_MATCH ? match(warp, mask, warp->value[l]) : common;
}

/* ---- meeting ---- */

static void check_caller(hostgpu_worker *w, const cuda_warp *warp, const cuda_wait *at)
{
    unsigned lane = w->running->rank % HOSTGPU_WARP_SIZE;

    if (!has_lane(at->mask, lane))
        hostgpu_fault(w, "lane %u is not in the mask 0x%08x of its warp operation at %s:%d", lane,
                      at->mask, at->site.file, at->site.line);
    if (at->mask & ~warp->live)
        hostgpu_fault(w, "the mask 0x%08x at %s:%d names lanes that have exited: 0x%08x", at->mask,
                      at->site.file, at->site.line, at->mask & ~warp->live);
}

static void check_agreement(hostgpu_worker *w, const cuda_warp *warp, const cuda_wait *caller)
{
    const cuda_thread *t = &w->thread[first_rank(w, warp)];

    for (unsigned l = 0; l < HOSTGPU_WARP_SIZE; l++)
        if (has_lane(caller->mask, l) && !hostgpu_same_wait(&t[l].wait, caller))
            hostgpu_fault(w, "lanes of a warp wait at different warp operations");
}

/* False only if the two are equal. Differences are joined: of comparisons in turn gcc makes one of
 * two numbers that it has just stored side by side, which a processor waits for. */
static bool may_differ(const cuda_wait *a, const cuda_wait *b)
{
    const unsigned difference = ((unsigned)a->op ^ (unsigned)b->op) | (a->mask ^ b->mask) |
                                ((unsigned)a->site.line ^ (unsigned)b->site.line);

    return difference || a->site.file != b->site.file;
}

/* Notes that one more lane waits. Whether all wait at the same operation is compared here, where
 * the lane's own is at hand, and only where they may not is asked of all of them. */
static void arrive(cuda_warp *warp, const cuda_wait *at, unsigned lane)
{
    if (!warp->arrived) {
        warp->first = *at;
        warp->may_differ = false;
    } else if (may_differ(at, &warp->first)) {
        warp->may_differ = true;
    }
    warp->arrived |= 1u << lane;
}

/* The first lane goes on first. */
static void release(hostgpu_worker *w, cuda_warp *warp, unsigned mask)
{
    unsigned first = first_rank(w, warp);

    warp->arrived &= ~mask;
    for (unsigned l = 0; l < HOSTGPU_WARP_SIZE; l++)
        if (has_lane(mask, l)) HOSTGPU_RELEASE(&warp->race_leave[l]);
    if (mask == ~0u) {
        hostgpu_make_warp_next(w, first);
        return;
    }
    for (unsigned l = HOSTGPU_WARP_SIZE; l-- > 0;)
        if (has_lane(mask, l)) hostgpu_make_next(w, first + l);
}

/* The last lane of the mask has come. */
static void complete(hostgpu_worker *w, cuda_warp *warp, const cuda_wait *at)
{
    if (warp->may_differ) check_agreement(w, warp, at);
    compute(w, warp, at->op, at->mask);
    release(w, warp, at->mask);
}

hostgpu_turn hostgpu_warp(hostgpu_worker *w, hostgpu_warp_op op, unsigned mask, uint64_t value,
                          unsigned source, hostgpu_site site)
{
    cuda_thread *t = w->running;
    cuda_warp *warp = t->warp;
    const unsigned lane = t->rank % HOSTGPU_WARP_SIZE;

    /* a full mask is right for the last, incomplete warp too */
    const cuda_wait at = {.site = site, .op = op, .mask = mask & warp->present};
    check_caller(w, warp, &at);
    w->idle_turns = 0;
    t->state = THREAD_AT_WARP_OP;
    t->wait = at;
    warp->value[lane] = value;
    warp->source[lane] = source;
    arrive(warp, &at, lane);

    HOSTGPU_RELEASE(&warp->race_arrive);
    if ((warp->arrived & at.mask) == at.mask) {
        HOSTGPU_ACQUIRE(&warp->race_arrive);
        complete(w, warp, &at);
    }
    return hostgpu_wait(w, &warp->race_leave[lane]);
}

hostgpu_turn hostgpu_warp_join(hostgpu_worker *w, hostgpu_join_function *join, uint64_t value,
                               hostgpu_site site)
{
    w->warp[w->place->rank / HOSTGPU_WARP_SIZE].join = join;
    return hostgpu_warp(w, HOSTGPU_JOIN, ~0u, value, 0, site);
}
