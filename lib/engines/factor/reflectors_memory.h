/* reflectors_memory.h - the reflectors of a call, and where their panels, blocks of these, two
 * products with V and cuBLAS's own memory are in the call's workspace. */
#ifndef TD_ENGINES_FACTOR_REFLECTORS_MEMORY_H
#define TD_ENGINES_FACTOR_REFLECTORS_MEMORY_H

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

static inline bool td_reflector_is_complex(const td_reflectors *r)
{
    return r->type == TD_COMPLEX_BINARY64;
}

/* Bytes of an element. */
static inline int64_t td_reflector_element(const td_reflectors *r)
{
    return td_types[r->type].size;
}

static inline td_matrix td_reflector_v(const td_qr_panel *panel)
{
    return (td_matrix){.data = td_qr_v(panel), .ld = td_qr_ld(panel)};
}

/* The part of a matrix from an element on. */
td_matrix td_reflector_from(const td_reflectors *r, td_matrix x, int64_t row, int64_t column);

/* Memory of product 0 or 1, which has a column for each vector: from vector `at` on. */
td_matrix td_reflector_product(const td_reflectors *r, int which, int64_t at);

/* Memory of product 0 or 1, which has a row for each vector. */
td_matrix td_reflector_row_product(const td_reflectors *r, int which);

/* Memory of cuBLAS's products in a stream. */
td_loan td_reflector_loan(const td_reflectors *r, cudaStream_t stream);

#endif
