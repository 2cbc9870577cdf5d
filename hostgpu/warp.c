/* warp.c - operations of the lanes of a warp: each lane of the mask hands in a value and waits; the
 * last one to come computes all results. */
#include "schedule.h"

static bool has_lane(unsigned mask, unsigned lane) { return mask >> lane & 1; }

static cuda_thread *lane_thread(hostgpu_worker *w, const cuda_warp *warp, unsigned lane)
{
    return &w->thread[(size_t)(warp - w->warp) * HOSTGPU_WARP_SIZE + lane];
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
    for (unsigned l = 0; l < HOSTGPU_WARP_SIZE; l++) {
        if (!has_lane(mask, l)) continue;
        if (!has_lane(mask, warp->source[l]))
            hostgpu_fault(w, "lane %u reads lane %u, which is not in the shuffle's mask 0x%08x", l,
                          warp->source[l], mask);
        warp->result[l] = warp->value[warp->source[l]];
    }
}

static uint64_t join(hostgpu_worker *w, cuda_warp *warp, unsigned mask)
{
    if (mask != ~0u) hostgpu_fault(w, "of a warp's lanes only 0x%08x join their values", mask);
    warp->join(warp->value);
    return warp->value[0];
}

static void compute(hostgpu_worker *w, cuda_warp *warp, hostgpu_warp_op op, unsigned mask)
{
    uint64_t common = 0;

    if (op == HOSTGPU_SHUFFLE) {
        shuffle(w, warp, mask);
        return;
    }
    if (op == HOSTGPU_BALLOT)
        common = match(warp, mask, 1);
    else if (op == HOSTGPU_JOIN)
        common = join(w, warp, mask);
    else if (op >= HOSTGPU_ADD)
        common = reduce(warp, op, mask);
    for (unsigned l = 0; l < HOSTGPU_WARP_SIZE; l++)
        if (has_lane(mask, l))
            warp->result[l] = op == HOSTGPU_MATCH ? match(warp, mask, warp->value[l]) : common;
}

/* ---- meeting ---- */

static void check_caller(hostgpu_worker *w, const cuda_warp *warp, unsigned mask, hostgpu_site site)
{
    unsigned lane = w->place->rank % HOSTGPU_WARP_SIZE;

    if (!has_lane(mask, lane))
        hostgpu_fault(w, "lane %u is not in the mask 0x%08x of its warp operation at %s:%d", lane,
                      mask, site.file, site.line);
    if (mask & ~warp->live)
        hostgpu_fault(w, "the mask 0x%08x at %s:%d names lanes that have exited: 0x%08x", mask,
                      site.file, site.line, mask & ~warp->live);
}

static void check_agreement(hostgpu_worker *w, const cuda_warp *warp, const cuda_thread *caller)
{
    for (unsigned l = 0; l < HOSTGPU_WARP_SIZE; l++) {
        const cuda_thread *t = lane_thread(w, warp, l);

        if (!has_lane(caller->mask, l)) continue;
        if (t->mask != caller->mask || t->op != caller->op ||
            !hostgpu_same_site(t->site, caller->site))
            hostgpu_fault(w, "lanes of a warp wait at different warp operations");
    }
}

/* The last lane of the mask has come. */
static void complete(hostgpu_worker *w, cuda_warp *warp, const cuda_thread *caller)
{
    unsigned mask = caller->mask;
    unsigned first = (unsigned)(warp - w->warp) * HOSTGPU_WARP_SIZE;

    check_agreement(w, warp, caller);
    compute(w, warp, caller->op, mask);
    warp->arrived &= ~mask;
    for (unsigned l = HOSTGPU_WARP_SIZE; l-- > 0;) { /* the first lane goes on first */
        if (!has_lane(mask, l)) continue;
        HOSTGPU_RELEASE(&warp->race_leave[l]);
        hostgpu_make_next(w, first + l);
    }
}

uint64_t hostgpu_warp(hostgpu_worker *w, hostgpu_warp_op op, unsigned mask, uint64_t value,
                      unsigned source, hostgpu_site site)
{
    cuda_thread *t = &w->thread[w->place->rank];
    cuda_warp *warp = &w->warp[w->place->rank / HOSTGPU_WARP_SIZE];
    unsigned lane = w->place->rank % HOSTGPU_WARP_SIZE;

    mask &= warp->present; /* a full mask is right for the last, incomplete warp too */
    check_caller(w, warp, mask, site);
    w->idle_turns = 0;
    t->state = THREAD_AT_WARP_OP;
    t->site = site;
    t->op = op;
    t->mask = mask;
    warp->value[lane] = value;
    warp->source[lane] = source;
    warp->arrived |= 1u << lane;

    HOSTGPU_RELEASE(&warp->race_arrive);
    if ((warp->arrived & mask) == mask) {
        HOSTGPU_ACQUIRE(&warp->race_arrive);
        complete(w, warp, t);
    }
    hostgpu_wait(w);
    HOSTGPU_ACQUIRE(&warp->race_leave[lane]);
    return warp->result[lane];
}

uint64_t hostgpu_warp_join(hostgpu_worker *w, hostgpu_join_function *join, uint64_t value,
                           hostgpu_site site)
{
    w->warp[w->place->rank / HOSTGPU_WARP_SIZE].join = join;
    return hostgpu_warp(w, HOSTGPU_JOIN, ~0u, value, 0, site);
}
