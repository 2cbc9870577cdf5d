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

/* The price of the way that makes a tile where residues are not worth their time. */
TD_DEVICE unsigned td_price_of_others(const td_prices &p)
{
    return (unsigned)(p.native ? p.native : p.binary64);
}

#endif
