/* df_kernels.h - the kernels of mode df as host C calls them. Every function enqueues on `stream`, waits for nothing, and
 * returns the launch's status; no CUDA error stays pending.
 *
 * Terms
 *   line    row i of op(A) or column j of op(B): k elements
 *   strip   64 lines; a panel is an operand split into double-float, strip after strip, each strip
 *           [k][hi, lo][64 lines] of binary32, lines and k padded with zeros to multiples of 64 and 32
 *   tile    64 x 64 elements of C; 128 threads own 4 x 8 elements each: tile.h */
#ifndef TD_DF_KERNELS_H
#define TD_DF_KERNELS_H

#include <cuda_runtime_api.h>

#include "../include/tandem.h"
#include "../lib/problem.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    TD_STRIP = 64,  /* lines of a strip, rows and columns of a tile */
    TD_K_TILE = 32, /* k padding of a panel */
    TD_TILE_THREADS = 128,
    TD_MAX_CHUNKS = 32, /* most parts that a line is scanned in */
    TD_MAX_GRID_YZ = 65535
};

/* Exponents of a line: floor(log2) of its largest and of its smallest nonzero element. A line of zeros has 0, 0.
 * top is TD_RANGE_SPECIAL if the line holds a NaN or an infinity. */
typedef struct {
    int16_t top, bottom;
} td_range;
enum { TD_RANGE_SPECIAL = 0x7fff };

/* Part of op(A) or op(B), by lines: element l of line i of batch member z starts at the member's first element plus
 * offset + i * line_step + l * k_step. */
typedef struct {
    td_matrix matrix; /* of binary64, or of tandem_df behind a cast for typed operands */
    int64_t offset, line_step, k_step; /* in elements; one of the steps is 1 */
    int64_t k;                         /* elements of a line */
    int lines;
} td_operand;

/* C's part of a launch, and how sums become elements of it. */
typedef struct {
    td_matrix c;                 /* of binary64, or of tandem_df if typed */
    int64_t c_offset;            /* of this part, in elements */
    int m, n;                    /* size of this part */
    int typed;                   /* 0: binary64, scaled lines, repair; 1: double-float, plain */
    td_scalar alpha, beta;       /* if not typed */
    tandem_df alpha_df, beta_df; /* if typed */
    const td_range *range_a, *range_b; /* [batch][padded lines] */
    float
        smallest; /* sums below it may have lost bits to underflow where the lines' exponents spread wide */
    uint32_t *masks; /* [batch][tile][thread]: elements left to the repair kernel, bit 8 i + j */
    int64_t batch_first; /* batch member of blockIdx.z == 0 */
} td_target;

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
    td_df_scan scan; /* whose partial ranges are joined; typed operands have none */
    int typed;
    td_range *range[2]; /* out: [batch][padded lines] */
    float *panel[2];    /* out: [batch][strip][k][2][64] */
    int64_t k_first, k_count;
} td_df_pack;
cudaError_t td_df_pack_run(const td_df_pack *pack, int batch, cudaStream_t stream);

/* Sums of panel products. Each superblock of k has a sum of its own, added in order to the running sum. */
typedef struct {
    const float *panel[2];
    int64_t
        k_tiles; /* of TD_K_TILE; all but the last launch of a product cover whole superblocks */
    tandem_df *
        sums; /* [batch][slot][tile][32 elements][thread]; may be NULL if there is one superblock */
    int slots; /* 1: a running sum. Else one per superblock, spread over blocks, joined by td_df_join_run */
    int resume;      /* the running sum continues an earlier launch */
    int finish;      /* join into C; else leave the running sum for the next launch */
    int small_tiles; /* 1: half the shared memory a block, for devices with less than 132 KiB an SM */
    td_target target;
} td_df_multiply;
cudaError_t td_df_multiply_run(const td_df_multiply *multiply, int batch, int blocks_per_tile,
                               cudaStream_t stream);
cudaError_t td_df_join_run(const td_df_multiply *multiply, int batch, cudaStream_t stream);

/* The elements that `join` left out, in binary64 from the operands: one FMA chain over k, in order. */
typedef struct {
    td_operand operand[2];
    td_target target;
    unsigned long long *repaired; /* counts elements; NULL: not counted */
} td_repair;
cudaError_t td_repair_run(const td_repair *repair, int batch, cudaStream_t stream);

/* C <- beta C, for products with alpha = 0 or k = 0; 0 if beta is 0, without reading C. */
cudaError_t td_scale_run(const td_target *target, int batch, cudaStream_t stream);

/* Loads the kernels of a source file on the current device, and sets what they need: once, before the first launch. */
cudaError_t td_df_split_prepare(void);
cudaError_t td_df_multiply_prepare(void);
cudaError_t td_repair_prepare(void);

/* rows x cols, column-major, from one type to the other. */
cudaError_t td_df_split_run(int64_t rows, int64_t cols, const double *a, int64_t lda, tandem_df *s,
                            int64_t lds, cudaStream_t stream);
cudaError_t td_df_unsplit_run(int64_t rows, int64_t cols, const tandem_df *s, int64_t lds,
                              double *a, int64_t lda, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
