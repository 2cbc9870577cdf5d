/* crt.cu - C from the products' residues: the Chinese remainder theorem in whole numbers. */
#include "finish.h"
#include "../int8/residue.h"
#include "residue_tables.h"
#include "residues.h"

/* sum + weight r, r being byte `which` of four with signs; weight < 2^16. */
template <int which> TD_DEVICE uint32_t add_residue(uint32_t residues, uint32_t weight, uint32_t sum)
{
#if TD_HAS_CUDA_DEVICE
    const uint32_t weights = which % 2 ? weight << 16 : weight; /* of two bytes */
    if (which < 2)
        asm("dp2a.lo.u32.s32 %0, %1, %2, %0;" : "+r"(sum) : "r"(weights), "r"(residues));
    else
        asm("dp2a.hi.u32.s32 %0, %1, %2, %0;" : "+r"(sum) : "r"(weights), "r"(residues));
    return sum;
#else
    return sum + (uint32_t)(int8_t)(residues >> (8 * which)) * weight;
#endif
}

/* Of four elements. */
TD_DEVICE void add_residues(uint32_t residues, uint32_t weight, uint32_t *y)
{
    y[0] = add_residue<0>(residues, weight, y[0]);
    y[1] = add_residue<1>(residues, weight, y[1]);
    y[2] = add_residue<2>(residues, weight, y[2]);
    y[3] = add_residue<3>(residues, weight, y[3]);
}

/* The sum of columns less the multiple of P that is nearest to it. `fraction` is that of the sum over P, in 2^-54: at most
 * 7 2^27 units too small, and X is no nearer to P / 2 than P 2^-17. */
template <int limbs>
TD_DEVICE td_wide<limbs> less_multiple(int moduli, int64_t *column, uint64_t fraction)
{
    const int64_t multiple = (int64_t)((fraction + (1ull << 53)) >> 54);
    TD_UNROLL
    for (int c = 0; c < limbs; c++) column[c] -= multiple * (int64_t)td_tables.product[moduli][c];
    return td_wide_carry<limbs>(column);
}

/* limbs_: of X; columns: limbs of P / G; fixed: the number of moduli, 0: known at run time. */
template <int limbs_, int columns, int fixed> struct residue_source {
    enum { limbs = limbs_ };
    const int8_t *residue; /* of the first modulus */
    int64_t plane_step, ld;
    int moduli_;

    TD_DEVICE void load(const residue_source &s, int row, int col, td_wide<limbs> *x)
    {
        const int moduli = fixed ? fixed : s.moduli_;
        const int8_t *at = s.residue + (int64_t)col * s.ld + row;
        uint64_t fraction[TD_SUBTILE] = {};
        int64_t column[TD_SUBTILE][limbs] = {};
        TD_UNROLL
        for (int g = 0; g < TD_GROUPS; g++) {
            if (TD_GROUP * g >= moduli) continue;
            const td_group &group = td_tables.group[moduli][g];
            uint32_t y[TD_SUBTILE];
            TD_UNROLL
            for (int e = 0; e < TD_SUBTILE; e++) y[e] = group.start;
            TD_UNROLL
            for (int t = TD_GROUP * g; t < TD_GROUP * (g + 1); t++)
                if (t < TD_MAX_MODULI && t < moduli)
                    add_residues(*reinterpret_cast<const uint32_t *>(at + t * s.plane_step),
                                 group.weight[t % TD_GROUP], y);
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

/* One block a tile, one thread a subtile; for members of `least` to `most` moduli. Grid: tile, 1, batch member. */
template <int limbs, int columns, int least, int most, int blocks, td_finish_kind kind>
static __global__ void __launch_bounds__(TD_FINISH_THREADS, blocks)
    finish_kernel(const td_residue_product product, const td_finish finish)
{
    const int moduli = finish.choice[blockIdx.z].parameter;
    if (moduli < least || moduli > most) return;
    int row, col;
    td_subtile_of_thread(finish.target, &row, &col);
    const residue_source<limbs, columns, least == most ? least : 0> source = {
        product.residue + blockIdx.z * product.batch_step, product.plane_step, product.ld, moduli};
    td_finish_subtile<kind>(finish, source, row, col);
}

/* P / G of up to 15 moduli has three limbs, P four; of 20, both have five. */
enum { SHORT_MODULI = 15 };

#define FINISH(limbs, columns, least, most, blocks, kind)                                          \
    {                                                                                              \
        least, most, kind, finish_kernel<limbs, columns, least, most, blocks, kind>                \
    }
static const struct {
    int least, most;
    td_finish_kind kind;
    void (*kernel)(td_residue_product, td_finish);
} finish_kernels[] = {
    FINISH(4, 3, TD_MIN_MODULI, TD_COMMON_MODULI - 1, 3, TD_FINISH_ROUND),
    FINISH(4, 3, TD_COMMON_MODULI, TD_COMMON_MODULI, 3, TD_FINISH_ROUND),
    FINISH(4, 3, SHORT_MODULI, SHORT_MODULI, 3, TD_FINISH_ROUND),
    FINISH(5, 5, SHORT_MODULI + 1, TD_MAX_MODULI, 2, TD_FINISH_ROUND),
    FINISH(5, 5, TD_EXACT_MODULI, TD_EXACT_MODULI, 2, TD_FINISH_EXACT),
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
    *reinterpret_cast<uint32_t *>(at) = td_residues_of<true>(sum, modulus);
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

static cudaError_t fold_pieces(const td_residue_product *product, int moduli, const td_finish *finish, int batch,
                               cudaStream_t stream)
{
    const dim3 grid(FOLD_BLOCKS, (unsigned)moduli, (unsigned)batch);
    if (product->pieces == 1) return cudaSuccess;
    return TD_LAUNCH(fold_kernel, grid, FOLD_THREADS, 0, stream, *product, *finish);
}

cudaError_t td_residues_finish(const td_residue_product *product, int least, int most,
                               const td_finish *finish, int batch, cudaStream_t stream)
{
    const dim3 grid = td_grid_of_tiles(finish->target, 1, batch);
    cudaError_t error = fold_pieces(product, most, finish, batch, stream);
    for (const auto &one : finish_kernels)
        if (one.kind == finish->kind && one.least <= most && one.most >= least &&
            error == cudaSuccess)
            error =
                TD_LAUNCH(one.kernel, grid, TD_FINISH_THREADS, 0, stream, *product, *finish);
    return error;
}

cudaError_t td_crt_prepare(void)
{
    cudaError_t error = td_load(cudaSuccess, fold_kernel);
    for (const auto &one : finish_kernels) error = td_load(error, one.kernel);
    return error;
}
