/* route_rows.h - rows of the table of routes, forced one at a time. */
#ifndef ROUTE_ROWS_H
#define ROUTE_ROWS_H

#include "../../lib/model/route.h"

/* Returns the bits of the other rows of a row's stage, as td_parameter.without_routes has them. */
static inline uint64_t without_others(int row)
{
    uint64_t bits = 0;
    for (int i = 0; i < TD_ROUTE_ROWS; i++)
        if (i != row && td_route_rows[i].stage == td_route_rows[row].stage)
            bits |= UINT64_C(1) << i;
    return bits;
}

#endif
