/* finish_types.h - what makes C from exact products X is told: how X becomes C, and which elements
 * are deferred to the repair kernels. For host C and for kernels. */
#ifndef TD_FINISH_TYPES_H
#define TD_FINISH_TYPES_H

#include "../measure/line.h"
#include "../select/choice.h"
#include "../view/target.h"

/* How X becomes C. */
typedef enum {
    TD_FINISH_ROUND, /* X rounded to binary64, then alpha and beta as cuBLAS has them */
    TD_FINISH_EXACT  /* alpha X + beta C, rounded once; repaired if X's error may change that */
} td_finish_kind;

/* What becomes of tiles of which many elements are deferred. */
typedef enum {
    TD_DEFERS_NO_TILES,    /* they are as others */
    TD_DEFERS_TO_BINARY64, /* binary64 has them, and those that have elements of wide lines */
    TD_DEFERS_TO_SECOND    /* a second product has them (../crt/second_product.h) */
} td_deferred_tiles;

/* An element is deferred to the repair kernel if its row or column is special, or if it is not
 * certified. X may be off by half the larger sum of magnitudes of A' and of B' from their rounding,
 * twice, or by less if it is counted what is rounded (td_log_error_counted), and by choice.rest.
 * With TD_FINISH_ROUND an element is certified if that is little beside abs(A') abs(B'), which is
 * at least k times 2^ the sum of the means of the logarithms (the arithmetic mean is no less than
 * the geometric one): if the means of both lines, with TD_LOG * scales, add up to choice.need and
 * the logarithm of the error. Also if X is off by nothing. */
typedef struct {
    td_target target;
    td_finish_kind kind;
    const td_line *line[2];
    int64_t lines_of_member[2];
    const td_choice *choice;
    td_cut cut;
    td_min_moduli min_moduli; /* with choice.is_estimated these tell what is certified */
    bool counts_rounded;      /* of TD_FINISH_EXACT: lines know how many elements are rounded */
    td_deferred_tiles defers_tiles;
} td_finish;

#endif
