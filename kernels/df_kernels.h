/* df_kernels.h - the kernels of mode df as host C calls them. Every function enqueues on `stream`, waits for nothing,
 * and returns the launch's status.
 *
 * A panel is an operand split into double-float, strip after strip, each strip [k][hi, lo][64 lines] of binary32, with
 * lines and k padded with zeros to multiples of 64 and 32. */
#ifndef TD_DF_KERNELS_H
#define TD_DF_KERNELS_H

#include "../include/tandem.h"
#include "product.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    TD_K_TILE = 32,     /* k padding of a panel */
    TD_MAX_CHUNKS = 32, /* most parts that a line is scanned in */
    TD_DF_SUM_BYTES = TD_TILE * TD_TILE * 8,
};

/* The ranges of all lines of both operands, in parts: partial[which][batch][chunk][padded line]. */
typedef struct {
    td_operand operand[2];
    td_range *partial[2];
    int chunks;    /* 1 .. TD_MAX_CHUNKS parts of a line ... */
    int64_t chunk; /* ... of this many elements */
    int64_t batch_first;
    td_scalar alpha; /* nothing is read if it is 0 */
} td_df_scan;
cudaError_t td_df_scan_run(const td_df_scan *scan, int batch, cudaStream_t stream);

/* Elements k_first .. k_first + k_count - 1 of all lines of both operands into panels. */
typedef struct {
    td_df_scan scan;    /* whose partial ranges are joined; typed operands have none */
    int typed;          /* the operands are tandem_df, taken as they are */
    td_range *range[2]; /* out: [batch][padded lines] */
    float *panel[2];    /* out: [batch][strip][k][hi, lo][64] */
    int64_t k_first, k_count;
} td_df_pack;
cudaError_t td_df_pack_run(const td_df_pack *pack, int batch, cudaStream_t stream);

/* How sums become elements of C. */
typedef struct {
    td_target target;
    const td_range *range[2]; /* [batch][padded lines] */
    float
        smallest; /* smaller sums may have lost bits to underflow, where the exponents of lines spread wide */
    int typed; /* C is tandem_df: no ranges, no repair, and these scalars */
    tandem_df alpha, beta;
} td_df_output;

/* Sums of panel products. Each superblock of k has a sum of its own, added in order to the running sum. */
typedef struct {
    const float *panel[2];

    /* Of TD_K_TILE; all but the last launch of a product cover whole superblocks. */
    int64_t k_tiles;

    /* [batch][slot][tile][32 elements][thread]. NULL: the running sum of the only launch is in shared memory,
     * TD_DF_SUM_BYTES of it a block, if there are several superblocks. */
    tandem_df *sums;

    /* 1: a running sum. Else one slot for each superblock, spread over blocks, for td_df_join_run. */
    int slots;
    int resume;      /* the running sum continues an earlier launch */
    int finish;      /* join into C; else leave the running sum for the next launch */
    int small_tiles; /* half the shared memory a block, for devices that have little */
    td_df_output output;
} td_df_multiply;
cudaError_t td_df_multiply_run(const td_df_multiply *multiply, int batch, int blocks_per_tile,
                               cudaStream_t stream);

/* Adds up the superblocks of `slots`, and joins; without slots, C <- beta C. */
cudaError_t td_df_join_run(const td_df_multiply *multiply, int batch, cudaStream_t stream);

/* Loads the kernels of a source file on the current device, and sets what they need: once, before the first launch. */
cudaError_t td_df_split_prepare(void);
cudaError_t td_df_multiply_prepare(void);

/* rows x cols, column-major, from one type to the other. */
cudaError_t td_df_split_run(int64_t rows, int64_t cols, const double *a, int64_t lda, tandem_df *s,
                            int64_t lds, cudaStream_t stream);
cudaError_t td_df_unsplit_run(int64_t rows, int64_t cols, const tandem_df *s, int64_t lds,
                              double *a, int64_t lda, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
