/* reflectors.h - panels of reflectors, I - V T V', blocks of such panels (qr_steps.h), and what
 * both do to other matrices: by products of a mode, or by cuBLAS's own if they have fewer columns
 * than the mode's cut has for least terms. */
#ifndef TD_ENGINES_FACTOR_REFLECTORS_H
#define TD_ENGINES_FACTOR_REFLECTORS_H

#include "../../../kernels/factor/qr.h"
#include "../../cuda/workspace.h"
#include "../../routine/qr_steps.h"
#include "ahead.h"
#include "products.h"

/* The reflectors of one call: below the diagonal of `count` columns of A, or to be made there. */
typedef struct {
    td_factor_place place;
    td_type type;
    void *a, *tau;
    int64_t ld, rows, count;
    td_qr_cut cut;
    int64_t vectors; /* most columns, or rows, that a panel is applied to */
    /* cuBLAS's real products, where its complex ones are slower, apply complex panels */
    bool multiplies_real;

    /* From td_reflector_begin to td_reflector_end. */
    td_workspace workspace;
    char *cublas;        /* the part of it that cuBLAS has */
    td_ahead *ahead;     /* NULL: all is in the program's stream */
    cudaStream_t stream; /* in which panels are made, while others are applied */
} td_reflectors;

/* Takes memory and, unless the program's stream is captured, a stream ahead of it. TD_RUN_DONE, or
 * why there is none. */
td_run_status td_reflector_begin(td_reflectors *r, cudaStream_t program);

/* After all of the stream's work is joined by the program's. */
void td_reflector_end(td_reflectors *r, cudaStream_t program);

/* I - V T V', V being rows x columns. */
typedef struct {
    td_matrix v, t;
    int64_t rows, columns;
    bool is_embedded; /* V and T are complex, in real matrices (../../../kernels/factor/qr.h) */
    bool is_block;    /* applied in parts: V's triangle, what is below it, and T */
    bool meets_zeros; /* a block, and its first rows of what it is applied to are 0 */
} td_reflection;

/* The panel that begins at column `first`, a multiple of a panel's columns, and has the memory of
 * the one two turns before; and what it has become. */
td_qr_panel td_reflector_panel(const td_reflectors *r, int64_t first, int64_t turn);
td_reflection td_reflection_of(const td_qr_panel *panel);

/* The first `columns` reflectors of the block that begins at column `first` and is not the last. */
td_reflection td_reflector_block(const td_reflectors *r, int64_t first, int64_t columns);

/* The panel of that block that begins at column `at`. */
td_reflection td_reflector_of_block(const td_reflectors *r, int64_t first, int64_t at);

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

/* C, n columns of as many rows as V has, becomes (I - V op(T) V') C: the transpose
 * (td_qr_transpose) of T stands for that of what the reflectors make. Of what is applied at a time,
 * each has a place of n vectors from `at` on. TD_RUN_DONE; TD_RUN_BROKEN; or, if nothing of C has
 * been written, another one. */
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
