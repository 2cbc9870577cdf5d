/* crt.cu - C from the products' residues: the Chinese remainder theorem in whole numbers. */
#include "finish.h"
#include "../int8/residue.h"
#include "residue_tables.h"
#include "residues.h"

/* sum + the products of both halves of `weights` with bytes 2 half and 2 half + 1 of residues, which have signs. */
template <int half> TD_DEVICE uint32_t add_pair(uint32_t weights, uint32_t residues, uint32_t sum)
{
#if TD_HAS_CUDA_DEVICE
    uint32_t result;
    if constexpr (half == 0)
        asm("dp2a.lo.u32.s32 %0, %1, %2, %3;"
            : "=r"(result)
            : "r"(weights), "r"(residues), "r"(sum));
    else
        asm("dp2a.hi.u32.s32 %0, %1, %2, %3;"
            : "=r"(result)
            : "r"(weights), "r"(residues), "r"(sum));
    return result;
#else
    const uint32_t low = (uint32_t)(int8_t)(residues >> (16 * half));
    const uint32_t high = (uint32_t)(int8_t)(residues >> (16 * half + 8));
    return sum + (weights & 0xffffu) * low + (weights >> 16) * high;
#endif
}

/* A group's y of four elements. A word has their residues modulo one of `count` moduli. */
template <int count>
TD_DEVICE void add_group(const td_group &group, const uint32_t (&residues)[TD_GROUP],
                         uint32_t (&y)[TD_SUBTILE])
{
    const uint32_t low = __byte_perm(residues[0], residues[1], 0x5140);
    const uint32_t high = __byte_perm(residues[0], residues[1], 0x7362);
    y[0] = add_pair<0>(group.weights, low, group.start);
    y[1] = add_pair<1>(group.weights, low, group.start);
    y[2] = add_pair<0>(group.weights, high, group.start);
    y[3] = add_pair<1>(group.weights, high, group.start);
    if (count < TD_GROUP) return;
    y[0] = add_pair<0>(group.weight_2, residues[2], y[0]);
    y[1] = add_pair<0>(group.weight_2 << 16, residues[2], y[1]);
    y[2] = add_pair<1>(group.weight_2, residues[2], y[2]);
    y[3] = add_pair<1>(group.weight_2 << 16, residues[2], y[3]);
}

/* The sum of columns less the multiple of P that is nearest to it. `fraction` is that of the sum over P, in 2^-54: at most
 * 7 2^27 units too small, and X is no nearer to P / 2 than P 2^-17. */
template <int limbs>
TD_DEVICE td_wide<limbs> less_multiple(int moduli, int64_t *column, uint64_t fraction)
{
    const uint32_t multiple = (uint32_t)((fraction + (1ull << 53)) >> 54);
    TD_UNROLL
    for (int c = 0; c < limbs; c++)
        column[c] += (int64_t)((uint64_t)multiple * td_tables.less_product[moduli][c]);
    return td_wide_carry<limbs>(column);
}

/* limbs_: of X; columns: limbs of P / G; fixed: the number of moduli, 0: known at run time. */
template <int limbs_, int columns, int fixed> struct residue_source {
    enum { limbs = limbs_ };
    td_residue_product product;
    int moduli_;

    TD_DEVICE void load(const residue_source &s, int row, int col, td_wide<limbs> *x)
    {
        const int moduli = fixed ? fixed : s.moduli_;
        const int8_t *at = s.product.residue + blockIdx.z * s.product.batch_step +
                           (int64_t)col * s.product.ld + row;
        uint32_t residues[TD_GROUPS][TD_GROUP] = {};
        TD_UNROLL
        for (int t = 0; t < (fixed ? fixed : (int)TD_MAX_MODULI); t++)
            if (t < moduli)
                residues[t / TD_GROUP][t % TD_GROUP] =
                    *reinterpret_cast<const uint32_t *>(at + t * s.product.plane_step);
        uint64_t fraction[TD_SUBTILE] = {};
        int64_t column[TD_SUBTILE][limbs] = {};
        TD_UNROLL
        for (int g = 0; g < TD_GROUPS; g++) {
            if (TD_GROUP * g >= moduli) continue;
            const td_group &group = td_tables.group[moduli][g];
            uint32_t y[TD_SUBTILE];
            if (fixed == 0 || TD_GROUP * g + 2 < fixed)
                add_group<TD_GROUP>(group, residues[g], y);
            else
                add_group<2>(group, residues[g], y);
            TD_UNROLL
            for (int e = 0; e < TD_SUBTILE; e++) {
                fraction[e] += (uint64_t)(y[e] << group.raise) * group.fraction;
                TD_UNROLL
                for (int c = 0; c < columns; c++)
                    column[e][c] =
                        (int64_t)((uint64_t)column[e][c] + (uint64_t)y[e] * group.limb[c]);
            }
        }
        TD_UNROLL
        for (int e = 0; e < TD_SUBTILE; e++)
            x[e] = less_multiple<limbs>(moduli, column[e], fraction[e]);
    }
};

/* P / G of up to 15 moduli has three limbs, P four; of 20, both have five. */
enum { SHORT_MODULI = 15 };

/* For members of `least` to `most` moduli, some of them having code of their own. Grid: see td_finish_tiles. */
template <int limbs, int columns, int least, int most, int usual, int blocks, td_finish_kind kind>
static __global__ void __launch_bounds__(TD_FINISH_THREADS, blocks)
    finish_kernel(const td_residue_product product, const td_finish finish)
{
    const int moduli = finish.choice[blockIdx.z].parameter;
    if (kind == TD_FINISH_ROUND && usual && moduli == 0) {
        td_leave_tiles(finish);
        return;
    }
    if (moduli < least || moduli > most) return;
    if (usual && moduli == usual)
        td_finish_tiles<kind>(finish, residue_source<limbs, columns, usual>{product, moduli});
    else
        td_finish_tiles<kind>(finish, residue_source < limbs, columns,
                              least == most ? least : 0 > {product, moduli});
}

#define FINISH(limbs, columns, least, most, usual, blocks, kind)                                   \
    {                                                                                              \
        least, most, kind, finish_kernel<limbs, columns, least, most, usual, blocks, kind>         \
    }
static const struct {
    int least, most;
    td_finish_kind kind;
    void (*kernel)(td_residue_product, td_finish);
} finish_kernels[] = {
    FINISH(4, 3, TD_MIN_MODULI, SHORT_MODULI, TD_COMMON_MODULI, 3, TD_FINISH_ROUND),
    FINISH(5, 5, SHORT_MODULI + 1, TD_MAX_MODULI, 0, 2, TD_FINISH_ROUND),
    FINISH(5, 5, TD_EXACT_MODULI, TD_EXACT_MODULI, 0, 2, TD_FINISH_EXACT),
};

/* ---- pieces ---- */

enum { FOLD_THREADS = 256, FOLD_BLOCKS = 256 };

/* Four residues of all pieces become the first piece's. */
TD_DEVICE void fold(const td_residue_product &p, int8_t *at, const td_sum_modulus &modulus)
{
    int32_t sum[TD_SUBTILE] = {};
    for (int piece = 0; piece < p.pieces; piece++) {
        const uint32_t residues = *reinterpret_cast<const uint32_t *>(at + piece * p.piece_step);
        TD_UNROLL
        for (int e = 0; e < TD_SUBTILE; e++) sum[e] += (int8_t)(residues >> (8 * e));
    }
    *reinterpret_cast<uint32_t *>(at) = td_residues_of<TD_SHORT_SUM>(sum, modulus);
}

/* Grid: blocks over the residues of a modulus, modulus, batch member. */
static __global__ void __launch_bounds__(FOLD_THREADS)
    fold_kernel(const td_residue_product product, const td_finish finish)
{
    const int t = (int)blockIdx.y;
    const int64_t quads = product.ld * finish.target.n / TD_SUBTILE;
    if (t >= finish.choice[blockIdx.z].parameter) return;
    int8_t *const at = product.residue + t * product.plane_step + blockIdx.z * product.batch_step;
    for (int64_t i = blockIdx.x * (int64_t)FOLD_THREADS + threadIdx.x; i < quads;
         i += (int64_t)gridDim.x * FOLD_THREADS)
        fold(product, at + i * TD_SUBTILE, td_moduli_of_sums.of[t]);
}

static cudaError_t fold_pieces(const td_residue_product *product, int moduli,
                               const td_finish *finish, int batch, cudaStream_t stream)
{
    const dim3 grid(FOLD_BLOCKS, (unsigned)moduli, (unsigned)batch);
    if (product->pieces == 1) return cudaSuccess;
    return TD_LAUNCH(fold_kernel, grid, FOLD_THREADS, 0, stream, *product, *finish);
}

cudaError_t td_residues_finish(const td_residue_product *product, int least, int most,
                               const td_finish *finish, int batch, cudaStream_t stream)
{
    cudaError_t error = fold_pieces(product, most, finish, batch, stream);
    for (const auto &one : finish_kernels) {
        /* What is seldom needed has few blocks: they end sooner. */
        const dim3 grid = one.least <= least ? td_grid_of_tiles(finish->target, 1, batch)
                                             : td_grid_of_turns(finish->target, 1, batch);
        if (one.kind == finish->kind && one.least <= most && one.most >= least &&
            error == cudaSuccess)
            error = TD_LAUNCH(one.kernel, grid, TD_FINISH_THREADS, 0, stream, *product, *finish);
    }
    return error;
}

cudaError_t td_crt_prepare(void)
{
    cudaError_t error = td_load(cudaSuccess, fold_kernel);
    for (const auto &one : finish_kernels) error = td_load(error, one.kernel);
    return error;
}
