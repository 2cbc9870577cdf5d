/* routes.h - the ways that each stage of a product by residues can take, and repairs of any
 * product; and what the kernels of a way are like. All ways of a stage give the same bits.
 * lib/model/route.c chooses one for each stage; kernels are told. For host C and for
 * kernels. */
#ifndef TD_ROUTES_H
#define TD_ROUTES_H

/* How lines are measured: short ones whole, by a warp each, which also chooses; else tile by tile,
 * which come to shared memory in boxes that the tensor memory accelerator copies, or by loads of
 * all threads. */
typedef enum { TD_MEASURE_WHOLE, TD_MEASURE_TMA, TD_MEASURE_THREADS } td_measure_route;

/* How operands become residues: tiles of an operand come to shared memory in boxes that the tensor
 * memory accelerator copies, or by loads of all threads. TD_SPLIT_WIDE is for more moduli than
 * TD_MAX_MODULI, and TD_SPLIT_COMPLEX for complex products: these have kernels of their own. */
typedef enum { TD_SPLIT_TMA, TD_SPLIT_THREADS, TD_SPLIT_WIDE, TD_SPLIT_COMPLEX } td_split_route;

/* Which arithmetic rounds an element to a whole number when it is split: binary64's where its scale
 * allows that, or int64's. */
typedef enum { TD_ROUND_BINARY64, TD_ROUND_INT64 } td_round_route;

/* Who multiplies planes of int8: wgmma (the tensor cores' instructions for four warps, of sm_90a),
 * each block a large or a small tile of C, or pairs of blocks that share rows; mma (those for one
 * warp, on any device, the host's too), with wide tiles, large ones, large ones in shorter steps
 * where a block has little shared memory, or small ones; or cuBLAS. */
typedef enum {
    TD_GEMM_WGMMA_LARGE,
    TD_GEMM_WGMMA_SMALL,
    TD_GEMM_WGMMA_LARGE_PAIR,
    TD_GEMM_WGMMA_SMALL_PAIR,
    TD_GEMM_MMA_WIDE,
    TD_GEMM_MMA_LARGE,
    TD_GEMM_MMA_LARGE_SHORT,
    TD_GEMM_MMA_SMALL,
    TD_GEMM_CUBLAS
} td_gemm_route;

/* How X is put together from its residues: by limbs of whole numbers, or by pairs of binary64 where
 * these are sure of the result; blocks of the latter work on one tile of C at a time, or on two
 * that are above each other. */
typedef enum { TD_CRT_LIMBS, TD_CRT_PAIRS, TD_CRT_PAIRS_TWO_TILES } td_crt_route;

/* How sums in binary64 of the original operands get these: by loads of all threads, into few stages
 * of shared memory or into many; or in TMA tiles, for each block alone, or for pairs of blocks with
 * tiles of C side by side, which share the rows of op(A). */
typedef enum {
    TD_BINARY64_FEW_STAGES,
    TD_BINARY64_MANY_STAGES,
    TD_BINARY64_TMA,
    TD_BINARY64_TMA_PAIR
} td_binary64_route;

/* In how many shares blocks make a tile, at most, each by warps of its own, where binary64 is slow
 * and there are more blocks than tiles: one multiprocessor's binary64 would be all that a tile has,
 * and everything behind waits for it. Where binary64 is fast, a warp has tensor cores of its own,
 * and nothing is gained. */
enum { TD_BINARY64_SHARES = 4 };

/* How sums in binary64 of a part of C are launched. `tiles` of C, one below the other, are what a
 * block makes at a time where all of C is made: 1 or 2. Each member has so many blocks. shares: 1,
 * or TD_BINARY64_SHARES. */
typedef struct {
    td_binary64_route route;
    int tiles, blocks, shares;
} td_binary64_launch;

/* The shared memory of a block with many stages, in bytes, and the fewest elements of k of which
 * TMA tiles can be made: from there on blocks of a sum have as many elements as a tile. */
enum { TD_BINARY64_BYTES = 99328, TD_BINARY64_TMA_K = 128 };

/* Rows and columns of C that a block of each int8 kernel makes, and the shared memory that blocks
 * of wide and of large tiles take. A block of a pair makes what a single one does. */
enum {
    TD_WGMMA_LARGE_ROWS = 192,
    TD_WGMMA_SMALL_ROWS = 128,
    TD_WGMMA_COLUMNS = 128,
    TD_MMA_WIDE_ROWS = 256,
    TD_MMA_WIDE_COLUMNS = 192,
    TD_MMA_WIDE_BYTES = 2 * (TD_MMA_WIDE_ROWS + TD_MMA_WIDE_COLUMNS) * 128,
    TD_MMA_LARGE_ROWS = 128,
    TD_MMA_LARGE_COLUMNS = 192,
    TD_MMA_LARGE_BYTES = 2 * (TD_MMA_LARGE_ROWS + TD_MMA_LARGE_COLUMNS) * 128,
    TD_MMA_SMALL_SIDE = 64
};

/* Whether the kernel that multiplies also puts C together, of members whose data allow it, or two
 * kernels do. */
typedef enum { TD_FUSE_NONE, TD_FUSE_GEMM_CRT } td_fuse_route;

/* Lines and elements of k of a tile that is split at a time; lines that a block measures whole. */
enum { TD_SPLIT_LINES = 16, TD_SPLIT_K = 128, TD_WHOLE_LINES = 8 };

/* Blocks of TD_CRT_PAIRS that stay on a multiprocessor, and the shared memory of one in bytes. */
enum { TD_CRT_PAIRS_BLOCKS = 2, TD_CRT_PAIRS_BYTES = 114688 };

/* A block that multiplies and finishes (fused/fused.h) makes square tiles of C of this side, of at
 * most so many elements of k: longer sums would be long modulo more moduli than one. */
enum { TD_FUSED_SIDE = 128, TD_FUSED_MOST_K = 1056 };

#endif
