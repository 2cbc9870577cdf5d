/* counts.h - what kernels count of the calls of one call site. For host C and for kernels. */
#ifndef TD_COUNTS_H
#define TD_COUNTS_H

typedef struct {
    unsigned long long repaired; /* elements of C recomputed in binary64 by the repair kernel */
    unsigned long long tiles;    /* tiles of C, 64 x 64, all of whose elements were among these */
    unsigned long long planes;   /* most slices or moduli of a product */
} td_counters;

#endif
