/* reflectors.h - panels of reflectors, I - V T V', and what they do to other matrices by products
 * of a mode. */
#ifndef TD_ENGINES_FACTOR_REFLECTORS_H
#define TD_ENGINES_FACTOR_REFLECTORS_H

#include "../../../kernels/factor/qr.h"
#include "products.h"

/* The reflectors of one call: below the diagonal of `count` columns of A, or to be made there. */
typedef struct {
    td_factor_place place;
    double *a, *tau;
    int64_t ld, rows, count;
    int64_t width;   /* columns of a panel */
    int64_t vectors; /* most columns, or rows, that a panel is applied to */
    void *memory;    /* of td_reflector_bytes */
} td_reflectors;

/* A panel may be applied while the next one is made. */
size_t td_reflector_bytes(const td_reflectors *r);

/* The panel that begins at column `first`, a multiple of the width. */
td_qr_panel td_reflector_panel(const td_reflectors *r, int64_t first);

/* V and T of a panel of finished reflectors. */
td_run_status td_reflector_take(const td_reflectors *r, const td_qr_panel *panel,
                                cudaStream_t stream);

/* C, n columns of the panel's rows, becomes (I - V op(T) V') C: op T stands for the transpose of
 * what the panel's reflectors make. Of what is applied at a time, each has a place of n vectors
 * from `at` on. */
td_run_status td_reflector_apply(const td_reflectors *r, const td_qr_panel *panel, td_op op,
                                 td_matrix c, int64_t n, int64_t at, cudaStream_t stream);

/* C, m rows of the panel's columns, becomes C (I - V op(T) V'). */
td_run_status td_reflector_apply_right(const td_reflectors *r, const td_qr_panel *panel, td_op op,
                                       td_matrix c, int64_t m, cudaStream_t stream);

/* The panel's columns of A become (I - V T V') times those of the unit matrix. */
td_run_status td_reflector_form(const td_reflectors *r, const td_qr_panel *panel,
                                cudaStream_t stream);

#endif
