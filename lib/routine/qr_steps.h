/* qr_steps.h - QR of one matrix, and what is made of its reflectors, as blocks of columns, each of
 * which is panels: what is factored in turn, and the products that are due behind. It depends on
 * sizes alone, so that bits do. Pure: no CUDA calls.
 *
 *     +-------+--------------+
 *     |       |              |   block: reflectors, I - V T V', from its diagonal on, made as
 *     | block |    C         |   panels whose products stay within it
 *     |       |              |   W = V'C; then C -= V T W: both of as many terms or rows as the
 *     +-------+--------------+   block has columns
 *
 * Panels of the last block have all columns behind them for C: where there are not many left, that
 * waits less than products of more terms gain. */
#ifndef TD_QR_STEPS_H
#define TD_QR_STEPS_H

#include "product.h"

/* Most columns of a panel, of which complex ones count twice. */
enum { TD_QR_WIDEST = 256 };

/* Columns of a block, a multiple of those of a panel, 0: all is one block; the most that the last
 * one has, at least one less than a block; and columns of the squares on the diagonal of a block's
 * triangles, beside which there are larger squares; 0: a triangle is one square. */
typedef struct {
    int64_t panel, block, last, square;
} td_qr_cut;

td_qr_cut td_qr_cut_of(const td_problem *p);

/* The blocks of so many reflectors, 1 or more. */
int64_t td_qr_blocks(const td_qr_cut *cut, int64_t reflectors);

/* Rows of the reflectors of a problem that has some. */
int64_t td_qr_reflected(const td_problem *p);

/* The number of products of a mode that reach all columns: two for each block but the last, then
 * two for each panel of that one, if there are columns behind: with the reflectors' transpose and
 * with them. The small one between the two, with T, is not among them. */
int64_t td_qr_updates(const td_problem *p);

/* Product number i of these. */
td_product td_qr_update(const td_problem *p, int64_t i);

/* The number of products within blocks, and number i of them: two for each panel that has columns
 * of its block behind it. */
int64_t td_qr_updates_within(const td_problem *p);
td_product td_qr_update_within(const td_problem *p, int64_t i);

#endif
