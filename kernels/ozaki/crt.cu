/* crt.cu - C from the products' residues: the Chinese remainder theorem in whole numbers. */
#include "finish.h"
#include "residue_tables.h"
#include "residues.h"

/* y += r weight, r a residue of each of four sums. */
TD_DEVICE void add_residue(const int32_t *sum, int t, uint32_t weight, uint32_t *y)
{
    const td_quad<int32_t> v = *reinterpret_cast<const td_quad<int32_t> *>(sum);
    const td_modulus modulus = td_tables.modulus[t];
    TD_UNROLL
    for (int e = 0; e < TD_SUBTILE; e++) y[e] += td_residue_of_sum(v.of[e], modulus) * weight;
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
    const int32_t *sum; /* of the first modulus */
    int64_t sum_step, m_padded;
    int moduli_;

    TD_DEVICE void load(const residue_source &s, int row, int col, td_wide<limbs> *x)
    {
        const int moduli = fixed ? fixed : s.moduli_;
        const int32_t *at = s.sum + (int64_t)col * s.m_padded + row;
        uint64_t fraction[TD_SUBTILE] = {};
        int64_t column[TD_SUBTILE][limbs] = {};
        TD_UNROLL
        for (int g = 0; g < TD_GROUPS; g++) {
            if (TD_GROUP * g >= moduli) continue;
            const td_group &group = td_tables.group[moduli][g];
            uint32_t y[TD_SUBTILE] = {};
            TD_UNROLL
            for (int i = 0; i < TD_GROUP; i++)
                if (TD_GROUP * g + i < TD_MAX_MODULI && TD_GROUP * g + i < moduli)
                    add_residue(at + (TD_GROUP * g + i) * s.sum_step, TD_GROUP * g + i,
                                group.weight[i], y);
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
    finish_kernel(const td_residue_sums sums, const td_finish finish)
{
    const int moduli = finish.choice[blockIdx.z].parameter;
    if (moduli < least || moduli > most) return;
    int row, col;
    td_subtile_of_thread(finish.target, &row, &col);
    const residue_source<limbs, columns, least == most ? least : 0> source = {
        sums.sum + blockIdx.z * sums.batch_step, sums.sum_step, sums.m_padded, moduli};
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
    void (*kernel)(td_residue_sums, td_finish);
} finish_kernels[] = {
    FINISH(4, 3, TD_MIN_MODULI, TD_COMMON_MODULI - 1, 3, TD_FINISH_ROUND),
    FINISH(4, 3, TD_COMMON_MODULI, TD_COMMON_MODULI, 3, TD_FINISH_ROUND),
    FINISH(4, 3, SHORT_MODULI, SHORT_MODULI, 3, TD_FINISH_ROUND),
    FINISH(5, 5, SHORT_MODULI + 1, TD_MAX_MODULI, 2, TD_FINISH_ROUND),
    FINISH(5, 5, TD_EXACT_MODULI, TD_EXACT_MODULI, 2, TD_FINISH_EXACT),
};

cudaError_t td_residues_finish(const td_residue_sums *sums, int least, int most,
                               const td_finish *finish, int batch, cudaStream_t stream)
{
    const dim3 grid = td_grid_of_tiles(finish->target, 1, batch);
    cudaError_t error = cudaSuccess;
    for (const auto &one : finish_kernels)
        if (one.kind == finish->kind && one.least <= most && one.most >= least &&
            error == cudaSuccess)
            error = TD_LAUNCH(one.kernel, grid, TD_FINISH_THREADS, 0, stream, *sums, *finish);
    return error;
}

/* ---- room for another pass ---- */

enum { REDUCE_THREADS = 256 };

/* Grid: blocks over the sums of a modulus, modulus, batch member. */
static __global__ void reduce_kernel(const td_residue_sums sums, const td_choice *choice,
                                     int64_t count)
{
    const int t = (int)blockIdx.y;
    if (t >= choice[blockIdx.z].parameter) return;
    int32_t *sum = sums.sum + t * sums.sum_step + blockIdx.z * sums.batch_step;
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < count;
         i += (int64_t)gridDim.x * blockDim.x)
        sum[i] = (int32_t)td_residue_of_sum(sum[i], td_tables.modulus[t]);
}

cudaError_t td_residues_reduce(const td_residue_sums *sums, const td_choice *choice, int moduli,
                               int64_t count, int batch, cudaStream_t stream)
{
    const dim3 grid((unsigned)min((int64_t)1024, (count + REDUCE_THREADS - 1) / REDUCE_THREADS),
                    (unsigned)moduli, (unsigned)batch);
    return TD_LAUNCH(reduce_kernel, grid, REDUCE_THREADS, 0, stream, *sums, choice, count);
}

cudaError_t td_crt_prepare(void)
{
    cudaError_t error = td_load(cudaSuccess, reduce_kernel);
    for (const auto &one : finish_kernels) error = td_load(error, one.kernel);
    return error;
}
