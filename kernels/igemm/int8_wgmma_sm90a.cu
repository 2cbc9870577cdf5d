/* int8_wgmma_sm90a.cu - products of residues on the tensor cores of sm_90a, by two teams of
 * warpgroups that take turns: while one waits for its last products, reduces its sums and stores
 * them, the other one multiplies. Another warpgroup finds what to multiply (wgmma_scheduler.h) and
 * has the copies made (wgmma_mainloop.h), of K_STEP of k of both panels at a time, as many stages
 * ahead as shared memory holds. Blocks stay, one on each multiprocessor. In pairs two blocks have
 * neighbouring tiles of the same rows, and each copies half of these to both.
 *
 * Of the two operands of the tensor cores the first is B: then each lane has neighbouring rows of
 * C, which is column-major. */
#include "wgmma_mainloop.h"

#if TD_HAS_CUDA_DEVICE

namespace
{

/* True if any plane of any member is wanted. By all threads of a block. */
[[maybe_unused]] TD_DEVICE bool wants_planes(const td_panels &p)
{
    bool wants = false;
    for (int z = (int)threadIdx.x; z < p.batch; z += (int)blockDim.x)
        wants |= td_planes_wanted(&p, z) > 0;
    return __syncthreads_or(wants) != 0;
}

/* Grid: as many blocks as there are places. Does nothing on other devices, where it has no static
 * shared memory. */
template <class s>
__global__ void __launch_bounds__(s::threads, 1)
    residue_products_kernel(const __grid_constant__ CUtensorMap a,
                            const __grid_constant__ CUtensorMap b, const td_panels p)
{
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    TD_DYNAMIC_SHARED(int8_t, dynamic);
    TD_SHARED(barriers<s>, barrier, );
    td_let_next_begin();
    int8_t *const shared = dynamic + (-td_shared_address(dynamic) & 1023u);
    const int group = __shfl_sync(0xffffffffu, (int)threadIdx.x / GROUP_THREADS, 0);
    start(barrier.stage, s::groups * s::cluster);
    static_assert((s::stages + 2) * (int)units_of_clusters<s>::GROUP <= (int)told_ring::TOLD &&
                      (int)told_ring::TOLD <= (int)s::threads,
                  "blocks of a cluster are told of all their units");
    if (s::cluster > 1 && threadIdx.x < told_ring::TOLD)
        td_barrier_start(&barrier.told.told[threadIdx.x], 1);
    start(barrier.unit, TEAMS * s::team_threads / 32);
    if (threadIdx.x < PLACES) {
        td_barrier_start(&barrier.found.full[threadIdx.x], 1);
        td_barrier_start(&barrier.found.wanted[threadIdx.x], 1);
    }
    if (threadIdx.x < 32) td_barriers_started();
    if (threadIdx.x == 0) td_prefetch_map(&a), td_prefetch_map(&b);
    __syncthreads();
    if (s::cluster > 1) td_cluster_meet();
    td_wait_for_last();
    /* What mostly ends at once, or where it costs little to ask. */
    const bool may_end =
        p.leaves_fused || p.type == TD_PANEL_LOGARITHM || p.batch <= (int)s::threads;
    if (may_end && !wants_planes(p)) return;
    const units_of_clusters<s> units = td_units_of<s::rows, s::cluster * s::columns>(p);
    if (group == TEAMS * s::groups) {
        if constexpr (s::moves_registers) td_registers_less<s::registers_of_copies>();
        const int lanes = lanes_of<s>(p, units);
        if (threadIdx.x % GROUP_THREADS < 32) find_units<s>(p, units, lanes, barrier);
        if (threadIdx.x % GROUP_THREADS == 32) copy_units<s>(&a, &b, lanes, shared, barrier);
    } else {
        if constexpr (s::moves_registers) td_registers_more<s::registers>();
        multiply_units<s>(p, group / s::groups, shared, barrier);
    }
    if (s::cluster > 1) td_cluster_meet(); /* no block ends while another one copies to it */
#endif
}

/* ---- launches ---- */

template <class s> int64_t units_of(const td_panels *p, int planes)
{
    const int columns = s::cluster * s::columns;
    return td_region_blocks(&p->region, p->m, p->n, s::rows, columns) * planes * p->batch *
           p->slices;
}

template <class s> cudaError_t launch(const td_panels *p, int multiprocessors, cudaStream_t stream)
{
    CUtensorMap a, b;
    if (!describe_panel(p, p->a, p->m, p->layout.ld_a, p->layout.member_a, p->layout.plane_a,
                        s::rows / s::cluster, &a) ||
        !describe_panel(p, p->b, p->n, p->layout.ld_b, p->layout.member_b, p->layout.plane_b,
                        s::columns, &b))
        return cudaErrorNotSupported;
    const unsigned blocks = s::cluster * (unsigned)min((int64_t)multiprocessors / s::cluster,
                                                       units_of<s>(p, p->planes));
    /* Products of an estimate's magnitudes are not put in place early. Mostly they end at once,
     * and the blocks of the next kernels, which stay, would get their places beside them. */
    if (p->type == TD_PANEL_LOGARITHM)
        return TD_LAUNCH(residue_products_kernel<s>, blocks, s::threads, s::shared_bytes, stream, a,
                         b, *p);
    return TD_LAUNCH_CLUSTERS(residue_products_kernel<s>, blocks, s::cluster, s::threads,
                              s::shared_bytes, stream, a, b, *p);
}

template <class s> cudaError_t prepare(cudaError_t error)
{
    error = td_load(error, residue_products_kernel<s>);
    if (error != cudaSuccess || !td_wgmma_exists()) return error;
    return td_allow_shared(error, residue_products_kernel<s>, s::shared_bytes);
}

} // namespace

bool td_wgmma_exists(void) { return td_has_code<residue_products_kernel<large>>(); }

cudaError_t td_wgmma_run(const td_panels *panels, cudaStream_t stream)
{
    int multiprocessors = 0;
    const cudaError_t error = td_multiprocessors(&multiprocessors);
    if (error != cudaSuccess) return error;
    switch (panels->gemm) {
    case TD_GEMM_WGMMA_LARGE:
        return launch<large>(panels, multiprocessors, stream);
    case TD_GEMM_WGMMA_SMALL:
        return launch<small>(panels, multiprocessors, stream);
    case TD_GEMM_WGMMA_LARGE_PAIR:
        return launch<large_pair>(panels, multiprocessors, stream);
    case TD_GEMM_WGMMA_SMALL_PAIR:
        return launch<small_pair>(panels, multiprocessors, stream);
    default:
        return cudaErrorInvalidValue;
    }
}

cudaError_t td_wgmma_prepare(void)
{
    cudaError_t error = prepare<large>(cudaSuccess);
    error = prepare<small>(error);
    error = prepare<large_pair>(error);
    return prepare<small_pair>(error);
}

#else

bool td_wgmma_exists(void) { return false; }

cudaError_t td_wgmma_run(const td_panels *, cudaStream_t) { return cudaErrorNotSupported; }

cudaError_t td_wgmma_prepare(void) { return cudaSuccess; }

#endif
