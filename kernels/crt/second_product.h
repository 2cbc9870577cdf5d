/* second_product.h - a second exact product, of A' and B' with TD_SECOND_MODULI moduli, for the
 * dense tiles of a part of C: those of which the first one leaves many elements that are to be
 * exact and rounded once. Nearly all of them are certified then. For host C and for kernels; every
 * function enqueues on `stream`, waits for nothing, and returns the launch's status. */
#ifndef TD_CRT_SECOND_PRODUCT_H
#define TD_CRT_SECOND_PRODUCT_H

#include "crt.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the second product costs, in cycles of a multiprocessor for each element of k: the residues
 * of a line; a tile's products, where `tiles_together` tiles are made together if one is dense; C
 * from a tile's residues; and an exact sum of one element, which the second product replaces. */
typedef struct {
    int line, tile, tiles_together, finish, sum;
} td_second_cost;

/* Members whose dense tiles are worth a second product get `candidate` as their choice and the
 * scales of their lines; the other members get a choice of 0 moduli. */
typedef struct {
    td_target target;
    /* of the first product; the first line of member z is from[o] + z * lines_of_member[o] */
    const td_line *from[2];
    int64_t lines_of_member[2];
    td_line *line[2]; /* [batch][rows, columns of the target] */
    td_choice candidate;
    td_choice *choice; /* [batch] */
    td_second_cost cost;
} td_second_rule;
cudaError_t td_second_choose(const td_second_rule *dense, int batch, cudaStream_t stream);

/* Makes the masked elements of the dense tiles in rows row .. row + rows - 1 and in the columns
 * from `column` on that have products. A certified element goes into C and out of the masks.
 * kind is TD_FINISH_EXACT. */
typedef struct {
    td_finish finish; /* target is the whole part; line and choice are td_second_rule's */
    td_residue_product product;
    int row, column, rows, columns;
    unsigned long long *repaired; /* counts elements; NULL: not counted */
} td_second_finish;
cudaError_t td_second_finish_run(const td_second_finish *finish, int batch, cudaStream_t stream);

/* Loads these kernels on the current device: once, before the first launch. */
cudaError_t td_second_prepare(void);

#ifdef __cplusplus
}
#endif

#endif
