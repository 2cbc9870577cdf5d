/* cheapest.h - chooses the candidate that costs least with the elements that it leaves, from the
 * counts of all tiles. For kernels of TD_SUBTILES threads. */
#ifndef TD_CHEAPEST_H
#define TD_CHEAPEST_H

#include "../device/last_block.h"
#include "cost.h"
#include "estimate.h"
#include "scales.h"

TD_HOST_DEVICE int stages_of(int64_t k) { return (int)((k + TD_SLICE_K - 1) / TD_SLICE_K); }

/* The share of the price of moduli by the map of blocks of zeros. */
TD_DEVICE uint64_t share_of_price(const td_estimate &p)
{
    const int rows = p.choose.measured.lines[0], columns = p.choose.measured.lines[1];
    const uint64_t all = (uint64_t)td_groups(rows) * (uint64_t)td_groups(columns) *
                         (uint64_t)stages_of(p.choose.measured.k);
    if (!p.nonzero[0]) return TD_ALL_BLOCKS;
    return td_share_of_price(p.choose.rule.prices, p.met[blockIdx.z], all);
}

/* Returns what costs least: a candidate with exact sums of the elements that it leaves, of which a
 * tile with TD_FEW or more counts as one with TD_FEW; or all tiles in binary64. */
TD_DEVICE td_choice cheapest(const td_estimate &p)
{
    const unsigned long long *uncertified = p.uncertified + blockIdx.z * TD_CHOICES;
    const td_prices &prices = p.choose.rule.prices;
    const uint64_t elements = (uint64_t)p.tiles * TD_FEW, share = share_of_price(p),
                   sum = (unsigned)prices.sums;
    uint64_t least = elements * td_price_of_others(prices);
    td_choice best = p.choose.rule.candidate[0];
    best.parameter = 0;
    best.number = -1;
    for (int i = 0; i < p.choose.rule.candidates; i++) {
        const uint64_t moduli =
            td_price_of_moduli(prices, p.choose.rule.candidate[i].parameter, true);
        const uint64_t cost = elements * moduli * share / TD_ALL_BLOCKS + uncertified[i] * sum;
        if (cost >= least) continue;
        least = cost;
        best = p.choose.rule.candidate[i];
    }
    return best;
}

/* Raises the call's counts to a choice that is final. */
TD_DEVICE void count_choice(const td_estimate &p, const td_choice &choice)
{
    const td_chosen &to = p.choose.chosen;
    if (to.planes) atomicMax(to.planes, (unsigned long long)choice.parameter);
    if (to.work) atomicMax(to.work, (unsigned long long)share_of_price(p));
}

/* Writes the choice. By all threads of a block. room: of what lines chose. */
TD_DEVICE void decide(const td_estimate &p, td_room room)
{
    if (threadIdx.x == 0) {
        td_choice choice = cheapest(p);
        choice.room = p.choose.rule.prices.is_unscaled && choice.parameter == 0 ? TD_ROOM : room;
        p.choose.chosen.choice[blockIdx.z] = choice;
        count_choice(p, choice);
    }
    __syncthreads();
    for (int o = 0; o < 2 && p.choose.chosen.choice[blockIdx.z].parameter; o++)
        td_scale_lines(p.choose, p.choose.chosen.choice[blockIdx.z], o, (int)blockIdx.z,
                       (int)threadIdx.x, (int)blockDim.x);
}

/* Adds the block's counts of elements that candidates do not certify to the member's; the last of
 * p.blocks blocks decides. All threads take part. */
TD_DEVICE void close_tiles(const td_estimate &p, unsigned uncertified, td_room room)
{
    if (uncertified && (int)threadIdx.x < p.choose.rule.candidates)
        atomicAdd(&p.uncertified[blockIdx.z * TD_CHOICES + threadIdx.x],
                  (unsigned long long)uncertified);
    if (p.choose.rule.candidates > 1 && p.blocks > 0 && td_is_last(&p.done[blockIdx.z], p.blocks))
        decide(p, room);
}

#endif
