/* choice.h - what is decided for a member of a batch, from its data or by the mode's parameter. For
 * host C and for kernels. */
#ifndef TD_CHOICE_H
#define TD_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

#include "../arithmetic/float32.h"

/* As td_choice.need: below every sum of means, and far enough from INT32_MIN to be added to. */
enum { TD_NEEDS_NOTHING = -(1 << 30) };

/* The most candidates that there are to choose from. */
enum { TD_CHOICES = 7 };

/* The most numbers of moduli that are only for lines that they do not round. */
enum { TD_FEWER = 14 };

typedef struct {
    /* number of moduli, or of slices; 0: all of C is left to the repair kernels */
    int32_t parameter;
    int32_t level; /* TD_SCALE_BY_NORM: td_scaling.limit */
    int32_t bits;  /* TD_SCALE_BY_DIGITS: log2 of the base */

    /* An element is certified by its lines' means if these are at least so much more than the error
     * of X, as logarithms (td_finish); TD_NEEDS_NOTHING: every element is. */
    int32_t need;
    int32_t need_of_estimate; /* as `need`, of the estimate of abs(A')abs(B') (estimate.h) */

    /* True if abs(A')abs(B') is estimated, and decides this choice among the candidates, and which
     * elements it certifies. */
    int32_t is_estimated;
    int32_t number; /* the number of this choice among the candidates */

    /* A td_room: what binary64 has for sums of all lines, where these are estimated. */
    int32_t room;

    /* Logarithm of X's error, at least, but for the larger part of what rounding A' and B'
     * costs. */
    int32_t rest;
} td_choice;

/* True if abs(A')abs(B') is to be estimated for a member of the batch: not if all of C is left to
 * binary64 already. On the device. */
TD_BOTH bool td_wants_estimate(const td_choice *choice)
{
    return choice->is_estimated && choice->parameter > 0;
}

/* TD_COMMON_MODULI: moduli of most products, as good as binary64 for all but wide exponents; they
 * have code of their own. TD_EXACT_MODULI: moduli of products with TD_FINISH_EXACT. */
enum { TD_COMMON_MODULI = 14, TD_EXACT_MODULI = 20 };

/* True of members that one kernel multiplies and finishes where it suits their shape
 * (../fused/fused.h): those of up to so many moduli, of which nothing is estimated. On the
 * device. */
enum { TD_MOST_FUSED = TD_COMMON_MODULI + 2 };
TD_BOTH bool td_is_fused(const td_choice *choice)
{
    return choice->parameter >= TD_COMMON_MODULI && choice->parameter <= TD_MOST_FUSED &&
           !choice->is_estimated;
}

/* Which products of digits of A' and B' X is the sum of. */
typedef struct {
    /* how many digits A' and B' have: X has the products whose weight is below that
     * (../slice/slices.h); 0: X is A' B' */
    int digits;
    int bits; /* log2 of the digits' base */
    int unit; /* X counts 2^unit */
    /* digits and bits are choice.parameter and choice.bits, and unit is (digits - 1) bits */
    int by_data;
} td_cut;

/* The first of the candidates that certifies an element, TD_CHOICES if none does:
 * [batch][column][ld]. */
typedef struct {
    uint8_t *of;
    int64_t ld, batch_step; /* ld is a multiple of TD_LINE_GROUP (../view/planes.h) */
} td_min_moduli;

#endif
