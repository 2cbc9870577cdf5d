/* lu_late.h - rows of an LU that are exchanged late: in columns that no panel updates at once,
 * which are those before a panel and those behind its block. Panels note their exchanges down.
 * Where U's rows behind a block are made panel by panel, a panel's rows are raised to their places
 * before; all others go to theirs behind the block, and those of earlier blocks behind the last
 * one. */
#ifndef TD_ENGINES_FACTOR_LU_LATE_H
#define TD_ENGINES_FACTOR_LU_LATE_H

#include "../../../kernels/factor/late_rows.h"
#include "../../routine/lu_steps.h"

typedef struct {
    td_late_rows rows; /* stage 0: columns behind the block; earlier blocks; panels of this one */
    int earlier;
    bool raises; /* U's rows are made panel by panel */
    int64_t from, to;
    cudaStream_t stream;
} td_lu_late;

/* Bytes that this works in; 0: rows of such a matrix are not exchanged late. */
size_t td_lu_late_bytes(const td_problem *p, const td_lu_cut *cut, bool raises);

/* `memory` has that many. */
void td_lu_late_prepare(td_lu_late *late, const td_problem *p, const td_lu_cut *cut, bool raises,
                        void *memory);

/* A block of columns from..to - 1 begins; it is the last if no columns are behind. */
cudaError_t td_lu_late_begin(td_lu_late *late, int64_t from, int64_t to);

/* The exchanges of a block's next columns, of which `x` has all but B. Their own rows are in their
 * places already. */
cudaError_t td_lu_late_exchange(td_lu_late *late, const td_row_exchange *x);

/* The block ends: all rows of its columns, and of those behind it, are in their places after. */
cudaError_t td_lu_late_end(td_lu_late *late);

#endif
