/* late_rows.h - exchanges of rows in columns that do not need them at once. A panel's exchanges are
 * noted down first: which row, as it is in memory, belongs in which place. Rows that are needed are
 * raised to their places, while those that were there are kept in other memory. All others go to
 * their places late, in one pass. For host C; every function enqueues on `stream`, waits for
 * nothing, and returns the launch's status. */
#ifndef TD_FACTOR_LATE_ROWS_H
#define TD_FACTOR_LATE_ROWS_H

#include "row_exchange.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Columns from..to - 1, which meet exchanges from the same one on: none moves a row above
 * `least`. */
typedef struct {
    int from, to, least;
} td_late_stage;

/* A stretch of stages has columns that lie side by side. */
enum { TD_LATE_STAGES = 96 };
typedef struct {
    bool is_complex;
    void *a; /* the matrix */
    int64_t ld, rows;
    int stages;
    td_late_stage stage[TD_LATE_STAGES];
    int *order; /* [stage][rows]: the row in memory that belongs in a place */

    /* Rows from kept_row on of columns from kept_column on, as they were in memory before others
     * were raised to their places; NULL: none are raised. */
    void *kept;
    int64_t kept_ld, kept_row, kept_column;

    void *work; /* td_late_bytes(): for td_late_pass */
} td_late_rows;

size_t td_late_bytes(bool is_complex, int64_t rows);

/* Nothing has been exchanged in a stage yet. */
cudaError_t td_late_begin(const td_late_rows *x, int stage, cudaStream_t stream);

/* Notes down exchanges of all stages: x->exchanges of them, at most TD_FEW_EXCHANGES, from row
 * x->before on, which x->pivots are of. The rest of `x` plays no part. */
cudaError_t td_late_exchange(const td_late_rows *late, const td_row_exchange *x,
                             cudaStream_t stream);

/* Raises rows first..behind - 1, at most TD_FEW_EXCHANGES, of stages from..to - 1. Rows from
 * kept_row to first - 1 have been raised before. */
cudaError_t td_late_raise(const td_late_rows *x, int64_t first, int64_t behind, int from, int to,
                          cudaStream_t stream);

/* Puts what was kept of rows above `behind`, all of which are raised, to its places below, in
 * stages from..to - 1. */
cudaError_t td_late_settle(const td_late_rows *x, int64_t behind, int from, int to,
                           cudaStream_t stream);

/* Puts all rows of stages from..to - 1, none of which is raised, to their places. */
cudaError_t td_late_pass(const td_late_rows *x, int from, int to, cudaStream_t stream);

/* Loads the kernels on the current device: once, before the first launch. */
cudaError_t td_late_prepare(void);

#ifdef __cplusplus
}
#endif

#endif
