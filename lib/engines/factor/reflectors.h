/* reflectors.h - what panels of reflectors, I - V T V', and blocks of these (qr_steps.h) do to
 * other matrices: by products of a mode, or by cuBLAS's own if they have fewer columns than the
 * mode's cut has for least terms. */
#ifndef TD_ENGINES_FACTOR_REFLECTORS_H
#define TD_ENGINES_FACTOR_REFLECTORS_H

#include "reflectors_memory.h"

/* A panel, which begins at column `at`, becomes the last of its block so far: first V is copied,
 * and T, as far as it is the panel's own; then T gets the rows above, as in (I - V T V')
 * (I - v t v') with -T V'v t above t. */
td_run_status td_reflector_keep(const td_reflectors *r, const td_qr_panel *panel, int64_t first,
                                int64_t at, cudaStream_t stream);
td_run_status td_reflector_join(const td_reflectors *r, int64_t first, int64_t at,
                                cudaStream_t stream);

/* V and T of a panel of finished reflectors. */
td_run_status td_reflector_take(const td_reflectors *r, const td_qr_panel *panel,
                                cudaStream_t stream);

/* C, n columns of as many rows as V has, becomes (I - V op(T) V') C: the adjoint (td_adjoint) of T
 * stands for that of what the reflectors make. Of what is applied at a time, each has a place of n
 * vectors from `at` on. TD_RUN_DONE; TD_RUN_BROKEN; or, if nothing of C has been written, another
 * one. */
td_run_status td_reflector_apply(const td_reflectors *r, const td_reflection *by, td_op op,
                                 td_matrix c, int64_t n, int64_t at, cudaStream_t stream);

/* C, m rows of as many columns as V has rows, becomes C (I - V op(T) V'). The same of failures. */
td_run_status td_reflector_apply_right(const td_reflectors *r, const td_reflection *by, td_op op,
                                       td_matrix c, int64_t m, cudaStream_t stream);

/* As many columns of A become (I - V T V') times those of the unit matrix. TD_RUN_DONE;
 * TD_RUN_BROKEN; or TD_RUN_FAILED, if nothing of them has been written. */
td_run_status td_reflector_form(const td_reflectors *r, const td_reflection *by, td_matrix a,
                                cudaStream_t stream);

#endif
