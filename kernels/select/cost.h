/* cost.h - what residues cost by the prices. For kernels. */
#ifndef TD_SELECT_COST_H
#define TD_SELECT_COST_H

#include "../device/portable.h"
#include "choice.h"
#include "prices.h"

/* The price of a tile by residues modulo so many numbers; is_estimated: other kernels than those of
 * common products make it. */
TD_DEVICE unsigned td_price_of_moduli(const td_prices &p, int moduli, bool is_estimated)
{
    const int further = moduli - (int)TD_COMMON_MODULI,
              wide = p.wide_from > 0 && moduli >= p.wide_from ? p.wide : 0;
    return (unsigned)(p.few + p.more * further + wide + (is_estimated ? p.apart : 0));
}

/* What a modulus costs does not all depend on how many blocks of zeros are passed over: of so many
 * parts of its price these stay where all are, by the definition of modes by name and by what was
 * measured. */
enum { TD_ALL_BLOCKS = 64, TD_PRICE_OF_ZEROS = 16, TD_MEASURED_PRICE_OF_ZEROS = 40 };

/* The price of moduli, in TD_ALL_BLOCKS-ths of the price without zeros, if `met` of all pairs of
 * blocks hold numbers both. */
TD_DEVICE unsigned td_share_of_price(const td_prices &p, uint64_t met, uint64_t all)
{
    const unsigned zeros = p.is_unscaled ? TD_MEASURED_PRICE_OF_ZEROS : TD_PRICE_OF_ZEROS;
    return zeros + (unsigned)((TD_ALL_BLOCKS - zeros) * met / all);
}

/* The price of the way that makes a tile where residues are not worth their time. */
TD_DEVICE unsigned td_price_of_others(const td_prices &p)
{
    return (unsigned)(p.native ? p.native : p.binary64);
}

#endif
