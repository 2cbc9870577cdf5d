/* crt.cu - C from the products' residues: the Chinese remainder theorem in whole numbers, or partly
 * in binary64. */
#include "finish_exact.h"
#include "finish_deferred.h"
#include "../igemm/epilogue.h"

/* Finishes members of `least` to `most` moduli by whole numbers; the common numbers of moduli
 * have code of their own. Grid: see td_finish_tiles. */
template <bool is_complex, int limbs, int columns, int usual, int blocks, td_finish_kind kind>
static __global__ void __launch_bounds__(TD_FINISH_THREADS, blocks)
    finish_kernel(const td_residue_product product, const td_finish finish, const finish_grid,
                  int least, int most)
{
    td_begin_kernel();
    const int moduli = finish.choice[blockIdx.z].parameter;
    if (kind == TD_FINISH_ROUND && usual && moduli == 0) {
        td_defer_tiles(finish);
        return;
    }
    if (moduli < least || moduli > most) return;
    if (usual && (kind == TD_FINISH_EXACT || moduli == usual)) /* there are no others */
        td_finish_tiles<kind>(finish,
                              residue_source<is_complex, limbs, columns, usual>{product, moduli});
    else
        td_finish_tiles<kind>(finish,
                              residue_source<is_complex, limbs, columns, 0>{product, moduli});
}

/* Finishes a member of the set's number of moduli to MOST_ROUNDED by pairs; each number of moduli
 * has code of its own. Returns false for other members. */
enum { MOST_ROUNDED = 18 };
template <class set>
TD_DEVICE bool finish_pairs(int moduli, const td_residue_product &product, const td_finish &finish,
                            const finish_grid &grid, td_deferred_counts &counts)
{
    if (moduli == set::count)
        finish_work_tiles<by_rounding, set, work_tile<2>>(product, finish, grid, counts);
    else if constexpr (set::count < MOST_ROUNDED)
        return finish_pairs<td_first_moduli<set::count + 1, set::is_complex>>(moduli, product,
                                                                              finish, grid, counts);
    return moduli == set::count;
}

/* Finishes members of any number of moduli, each of which takes no longer than the next one. Of few
 * moduli two stages fit. Not inlined: registers are those of the usual case. */
template <bool is_complex>
TD_DEVICE_CALL void finish_any_moduli(int moduli, const td_residue_product &product,
                                      const td_finish &finish, const finish_grid &grid,
                                      td_deferred_counts &counts)
{
    typedef td_any_moduli<TD_LEAST_PAIRED, is_complex> few;
    typedef td_any_moduli<TD_MOST_ANY, is_complex> many;
    if (moduli > few::count)
        finish_work_tiles<by_rounding, many, work_tile<2>>(product, finish, grid, counts);
    else if (grid.are_single)
        finish_work_tiles<by_rounding, few, work_tile<1>>(product, finish, grid, counts);
    else
        finish_work_tiles<by_rounding, few, work_tile<2>>(product, finish, grid, counts);
}

/* Finishes members of any number of moduli, on devices with much binary64 arithmetic. `fewest` are
 * the most common ones. */
template <class fewest>
static __global__ void __launch_bounds__(TD_FINISH_THREADS, TD_CRT_PAIRS_BLOCKS)
    finish_double_kernel(TD_PARAMETER td_residue_product product, TD_PARAMETER td_finish finish,
                         TD_PARAMETER finish_grid grid, int least, int most)
{
    TD_SHARED(td_deferred_counts, counts, );
    (void)least, (void)most;
    td_let_next_begin();
    const td_choice choice = load_early(finish.choice[blockIdx.z]);
    const int moduli = choice.parameter;
    if (!fewest::is_complex && product.deferred.word && td_is_fused(&choice)) {
        td_wait_for_last();
        finish_deferred(product, finish, moduli);
    } else if (moduli == fewest::count && grid.are_single) {
        finish_work_tiles<by_rounding, fewest, work_tile<1>>(product, finish, grid, counts);
    } else if (moduli == 0) {
        td_wait_for_last();
        td_defer_tiles(finish);
    } else if (!finish_pairs<fewest>(moduli, product, finish, grid, counts)) {
        finish_any_moduli<fewest::is_complex>(moduli, product, finish, grid, counts);
    }
}

/* Not inlined: registers are those of the usual case. */
template <class set>
TD_DEVICE_CALL void finish_exact_tiles(const td_residue_product &product, const td_finish &finish)
{
    td_finish_tiles<TD_FINISH_EXACT>(
        finish, residue_source<set::is_complex, 5, 5, set::count>{product, set::count});
}

template <class how, class set>
TD_DEVICE void finish_exact_work_tiles(const td_residue_product &product, const td_finish &finish,
                                       const finish_grid &grid, td_deferred_counts &counts)
{
    if (grid.are_single)
        finish_work_tiles<how, set, work_tile<1>>(product, finish, grid, counts);
    else
        finish_work_tiles<how, set, work_tile<2>>(product, finish, grid, counts);
}

/* Finishes members of a mode that is exact, all of which have the set's moduli: C is rounded
 * once. */
template <class set>
static __global__ void __launch_bounds__(TD_FINISH_THREADS, TD_CRT_PAIRS_BLOCKS)
    finish_exact_kernel(TD_PARAMETER td_residue_product product, TD_PARAMETER td_finish finish,
                        TD_PARAMETER finish_grid grid, int least, int most)
{
    TD_SHARED(td_deferred_counts, counts, );
    (void)least, (void)most;
    td_begin_kernel();
    const double alpha = td_scalar_value(finish.target.alpha),
                 beta = td_scalar_value(finish.target.beta);
    if (!is_usual_alpha(alpha))
        finish_exact_tiles<set>(product, finish);
    else if (alpha == 1.0 && beta == 0.0)
        finish_exact_work_tiles<by_exact_rounding<true>, set>(product, finish, grid, counts);
    else
        finish_exact_work_tiles<by_exact_rounding<false>, set>(product, finish, grid, counts);
}

static const struct {
    int least, most;
    td_finish_kind kind;
    bool is_limbs;     /* TD_CRT_LIMBS, or both of TD_CRT_PAIRS... */
    bool is_complex;   /* td_residue_product.is_complex */
    int blocks, bytes; /* that stay on a multiprocessor, if not 0; of dynamic shared memory */
    void (*kernel)(td_residue_product, td_finish, finish_grid, int, int);
} finish_kernels[] = {
    {TD_MIN_MODULI, TD_MAX_MODULI, TD_FINISH_ROUND, false, false, TD_CRT_PAIRS_BLOCKS,
     TD_CRT_PAIRS_BYTES, finish_double_kernel<td_first_moduli<TD_COMMON_MODULI>>},
    {TD_MIN_MODULI, SHORT_MODULI, TD_FINISH_ROUND, true, false, 0, 0,
     finish_kernel<false, 4, 3, TD_COMMON_MODULI, 3, TD_FINISH_ROUND>},
    {SHORT_MODULI + 1, TD_MAX_MODULI, TD_FINISH_ROUND, true, false, 0, 0,
     finish_kernel<false, 5, 5, 0, 2, TD_FINISH_ROUND>},
    {TD_EXACT_MODULI, TD_EXACT_MODULI, TD_FINISH_EXACT, false, false, TD_CRT_PAIRS_BLOCKS,
     TD_CRT_PAIRS_BYTES, finish_exact_kernel<td_first_moduli<TD_EXACT_MODULI>>},
    {TD_EXACT_MODULI, TD_EXACT_MODULI, TD_FINISH_EXACT, true, false, 0, 0,
     finish_kernel<false, 5, 5, TD_EXACT_MODULI, 2, TD_FINISH_EXACT>},
    {TD_MIN_MODULI, TD_MAX_MODULI, TD_FINISH_ROUND, false, true, TD_CRT_PAIRS_BLOCKS,
     TD_CRT_PAIRS_BYTES, finish_double_kernel<td_first_moduli<TD_COMMON_MODULI + 1, true>>},
    {TD_MIN_MODULI, SHORT_MODULI, TD_FINISH_ROUND, true, true, 0, 0,
     finish_kernel<true, 4, 3, SHORT_MODULI, 3, TD_FINISH_ROUND>},
    {SHORT_MODULI + 1, TD_MAX_MODULI, TD_FINISH_ROUND, true, true, 0, 0,
     finish_kernel<true, 5, 5, 0, 2, TD_FINISH_ROUND>},
    {TD_MOST_COMPLEX_MODULI, TD_MOST_COMPLEX_MODULI, TD_FINISH_EXACT, false, true,
     TD_CRT_PAIRS_BLOCKS, TD_CRT_PAIRS_BYTES,
     finish_exact_kernel<td_first_moduli<TD_MOST_COMPLEX_MODULI, true>>},
    {TD_MOST_COMPLEX_MODULI, TD_MOST_COMPLEX_MODULI, TD_FINISH_EXACT, true, true, 0, 0,
     finish_kernel<true, 5, 5, TD_MOST_COMPLEX_MODULI, 2, TD_FINISH_EXACT>},
};

/* ---- slices ---- */

enum { FOLD_THREADS = 256, FOLD_BLOCKS = 256 };

/* Adds up four residues of all split-k slices into those of the first slice. */
TD_DEVICE void fold(const td_residue_product &p, int8_t *at, const td_sum_modulus &modulus)
{
    int32_t sum[TD_SUBTILE] = {};
    for (int slice = 0; slice < p.slices; slice++) {
        const uint32_t residues = *reinterpret_cast<const uint32_t *>(at + slice * p.slice_step);
        TD_UNROLL
        for (int e = 0; e < TD_SUBTILE; e++) sum[e] += (int8_t)(residues >> (8 * e));
    }
    *reinterpret_cast<uint32_t *>(at) = td_residues_of<TD_SHORT_SUM>(sum, modulus);
}

/* Grid: blocks over the residues of a modulus, modulus, batch member. */
static __global__ void __launch_bounds__(FOLD_THREADS)
    fold_kernel(const td_residue_product product, const td_finish finish)
{
    td_begin_kernel();
    const int t = (int)blockIdx.y;
    const int64_t quads = product.ld * finish.target.n / TD_SUBTILE;
    if (t >= finish.choice[blockIdx.z].parameter) return;
    int8_t *const at = product.residue + t * product.plane_step + blockIdx.z * product.batch_step;
    for (int64_t i = blockIdx.x * (int64_t)FOLD_THREADS + threadIdx.x; i < quads;
         i += (int64_t)gridDim.x * FOLD_THREADS)
        fold(product, at + i * TD_SUBTILE, td_moduli_of_sums.of[t]);
}

static cudaError_t fold_slices(const td_residue_product *product, int moduli,
                               const td_finish *finish, int batch, cudaStream_t stream)
{
    const dim3 grid(FOLD_BLOCKS, (unsigned)moduli, (unsigned)batch);
    if (product->slices == 1) return cudaSuccess;
    return TD_LAUNCH_NEXT(fold_kernel, grid, FOLD_THREADS, 0, stream, *product, *finish);
}

static finish_grid units_of(const td_target &target, unsigned blocks, td_crt_route crt)
{
    const int tiles = td_tiles(target.m), pairs = (tiles + 1) / 2;
    return {td_divisor_of((int)blocks),
            {td_divisor_of(1), td_divisor_of(tiles), td_divisor_of(pairs)},
            crt == TD_CRT_PAIRS};
}

cudaError_t td_residues_finish(const td_residue_product *product, int least, int most,
                               const td_finish *finish, int batch, cudaStream_t stream)
{
    int multiprocessors = 0;
    cudaError_t error = fold_slices(product, most, finish, batch, stream);
    if (error == cudaSuccess) error = td_multiprocessors(&multiprocessors);
    for (const auto &one : finish_kernels) {
        /* What is seldom needed has few blocks: they end sooner. */
        const bool is_usual = one.least <= least && one.most >= least;
        dim3 grid = is_usual ? td_grid_of_tiles(finish->target, 1, batch)
                             : td_grid_of_turns(finish->target, 1, batch);
        const int places = max(1, one.blocks * multiprocessors / batch);
        if (one.blocks) grid.x = min(grid.x, (unsigned)places);
        if (one.kind == finish->kind && one.is_limbs == (product->crt == TD_CRT_LIMBS) &&
            one.is_complex == product->is_complex && one.least <= most &&
            (one.most >= least || least < most) && error == cudaSuccess)
            error = TD_LAUNCH_NEXT(one.kernel, grid, TD_FINISH_THREADS, one.bytes, stream, *product,
                                   *finish, units_of(finish->target, grid.x, product->crt),
                                   one.least, one.most);
    }
    return error;
}

cudaError_t td_crt_prepare(void)
{
    cudaError_t error = td_load(cudaSuccess, fold_kernel);
    for (const auto &one : finish_kernels)
        error = td_allow_shared(td_load(error, one.kernel), one.kernel, one.bytes);
    return error;
}
