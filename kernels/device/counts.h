/* counts.h - what kernels count of the calls of one call site. For host C and for kernels. */
#ifndef TD_COUNTS_H
#define TD_COUNTS_H

typedef struct {
    unsigned long long repaired; /* elements of C recomputed in binary64 by the repair kernel */
    unsigned long long tiles;    /* tiles of C, 64 x 64, all of whose elements were among these */
    unsigned long long planes;   /* most slices or moduli of a product */

    /* Of members of which abs(A)abs(B) was estimated: the most that a modulus took, of 64 parts of
     * what it takes where no block of zeros is passed over. */
    unsigned long long work;
} td_counters;

#endif
