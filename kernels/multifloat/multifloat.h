/* multifloat.h - the kernels of the multi-float modes as host C calls them. Every function enqueues
 * on `stream`, waits for nothing, and returns the launch's status.
 *
 * A panel is an operand split into components of a format, strip after strip, each strip
 * [k][component][64 lines] of binary32 or binary64, with lines and k padded with zeros to multiples
 * of 64 and 32. */
#ifndef TD_MULTIFLOAT_H
#define TD_MULTIFLOAT_H

#include "../measure/scan.h"
#include "../view/target.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TD_K_TILE = 32 }; /* k padding of a panel */

/* Elements k_first .. k_first + k_count - 1 of all lines of both operands into panels. */
typedef struct {
    td_scan scan;       /* whose partial ranges are joined; only operands of binary64 have any */
    td_type type;       /* of the operands; binary64 is scaled, line by line */
    td_range *range[2]; /* out: [batch][padded lines] */
    void *panel[2];     /* out: [batch][strip][k][component][64] */
    int64_t k_first, k_count;
} td_pack;

/* How sums become elements of C. */
typedef struct {
    td_target target;
    const td_range *range[2]; /* [batch][padded lines] */

    /* Left to the repair kernel: sums smaller than this of lines whose exponents spread wider,
     * together. */
    double smallest;
    int spread;
    /* of C and scalars; other than binary64: no ranges, no repair, scalars on the host */
    td_type type;
    int is_shortened; /* sums of double-double are rounded to the length of double+single */
} td_output;

/* Sums of panel products. Each superblock of k has a sum of its own, added in order to the running
 * sum. */
typedef struct {
    const void *panel[2];
    td_type type; /* of the operands that the panels were made from */

    /* Of TD_K_TILE; all but the last launch of a product cover whole superblocks. */
    int64_t k_tiles;

    /* Of all tiles, by td_tile_of_block's numbers, in every member of the batch. */
    int tile_first, tile_count;

    /* [batch][slot][tile_count][element of a thread][thread]. NULL: the running sum of the only
     * launch is in shared memory, if there are several superblocks. */
    void *sums;

    /* 1: a running sum. Else one slot for each superblock, spread over blocks, for the join. */
    int slots;
    int resume;      /* the running sum continues an earlier launch */
    int finish;      /* join into C; else leave the running sum for the next launch */
    int small_tiles; /* half the shared memory a block, for devices that have little */
    td_output output;
} td_multiply;

/* One arithmetic. */
typedef struct {
    int component_bytes;              /* of a component in a panel */
    int components, components_of_64; /* in panels of typed operands, and of binary64 */
    int sum_bytes;                    /* of a running sum of one element of C */
    int blocks;                       /* that share a multiprocessor in the multiply kernel */
    int stage_bytes;                  /* shared memory of a block, without running sums */

    /* Binary32's or binary64's range costs no bit while the exponents of a row and a column spread
     * at most so wide together, or if the sum is at least k times `least`. */
    int spread;
    double least;
    int is_long; /* longer than binary64: repairs are TD_REPAIR_EXACT, else TD_REPAIR_BINARY64 */

    cudaError_t (*pack)(const td_pack *pack, int batch, cudaStream_t stream);
    cudaError_t (*multiply)(const td_multiply *multiply, int batch, int blocks_per_tile,
                            cudaStream_t stream);

    /* Adds up the superblocks of `slots`, and joins; without slots, C <- beta C. */
    cudaError_t (*join)(const td_multiply *multiply, int batch, cudaStream_t stream);

    /* Loads the kernels for matrices of a type on the current device, and sets what they need:
     * once, before the first launch. */
    cudaError_t (*prepare)(td_type type);
} td_format;

extern const td_format td_format_df, td_format_ts, td_format_dd;

/* Every element of a matrix, rows x cols, column-major, from one type to another. */
typedef cudaError_t td_convert(int64_t rows, int64_t cols, const void *from, int64_t ld_from,
                               void *to, int64_t ld_to, cudaStream_t stream);

/* What matrices of a multi-float type need. */
typedef struct {
    td_type type;
    const td_format *format;
    td_convert *split, *join; /* from and to binary64 */
} td_typed;

extern const td_typed td_typed_df, td_typed_ts, td_typed_dd, td_typed_ds;

#ifdef __cplusplus
}
#endif

#endif
