/* order.h - the order of summation over k, part of the definition of the multi-float modes
 * (docs/numerics.md). */
#ifndef TD_ORDER_H
#define TD_ORDER_H

enum {
    TD_BLOCK = 16,       /* terms between two additions to the sum of a superblock */
    TD_TS_BLOCK = 8,     /* the same for triple-single */
    TD_RENORMALISE = 32, /* terms between two renormalisations of that sum */
    TD_SUPERBLOCK = 512  /* terms of a sum of its own; superblocks are added in order */
};

#endif
