/* qr_steps.h - QR of one matrix, and what is made of its reflectors, as panels of columns: what is
 * factored in turn, and the products that are due behind it. It depends on sizes alone, so that
 * bits do. Pure: no CUDA calls.
 *
 *     +-------+--------------+
 *     |       |              |   panel: reflectors, I - V T V', from its diagonal on
 *     | panel |    C         |   W = V'C; then C -= V T W: both of as many terms or rows as the
 *     |       |              |   panel has columns
 *     +-------+--------------+ */
#ifndef TD_QR_STEPS_H
#define TD_QR_STEPS_H

#include "product.h"

/* Most columns of a panel, of which complex ones count twice. */
enum { TD_QR_WIDEST = 256 };

/* What ' stands for: the transpose, of complex matrices the conjugate one. */
td_op td_qr_transpose(td_type type);

/* Columns of every panel but the last. */
int64_t td_qr_panel_columns(const td_problem *p);

/* Rows of the reflectors of a problem that has some. */
int64_t td_qr_reflected(const td_problem *p);

/* Multiply-adds of elements that the routine stands for, however it is cut. */
double td_qr_terms(const td_problem *p);

/* The number of products of a mode: two for each panel that has columns behind it, with the
 * reflectors' transpose and with them. The small one between the two, with T, is not among them. */
int64_t td_qr_updates(const td_problem *p);

/* Product number i of these. */
td_product td_qr_update(const td_problem *p, int64_t i);

#endif
