/* binary64_tma.cu - sums in binary64 of operands that the tensor memory accelerator copies to
 * shared memory in boxes: for one block, or for two of a cluster, which share those of A. */
#include "binary64_tma.h"

#include "../device/cluster.h"
#include "binary64_repair.h"

#if TD_HAS_CUDA_DEVICE

namespace
{

/* Lines of a box, if the operand stands along k: as many as a tile has columns, and half as many as
 * it has rows. */
enum { BOX_LINES = COLUMNS };

/* Copied in boxes of K_STEP elements of k, by one warp after the other: blocks of k have that
 * many. */
template <int stages, bool along_a, bool along_b>
struct by_boxes : passage<stages, along_a, along_b> {
    enum { EXISTS = TD_HAS_BOXES };
    typedef by_boxes single;
    typedef td_view_boxes parameter;
    typedef passage<stages, along_a, along_b> base;
    using base::ring;
    using base::stage;
    using base::steps;
    const parameter &boxes;
    int line[2], member[2];
    uint32_t warp;

    TD_INSIDE by_boxes(const parameter &own_boxes, const tile_operands &tile,
                       td_copy_ring &own_ring, double *own_slabs)
        : base(own_ring, own_slabs, tile.a.k), boxes(own_boxes)
    {
        line[0] = tile.row;
        line[1] = tile.column;
        member[0] = td_box_member(tile.a, (int)blockIdx.z);
        member[1] = td_box_member(tile.b, (int)blockIdx.z);
        warp = (uint32_t)td_uniform((int)threadIdx.x / WARP);
    }

    TD_INSIDE void start() { td_ring_start<stages>(ring, 1); }

    /* Calls box(place, x, y) for the boxes of `lines` lines of an operand, of which the first in
     * the slab is `first`. */
    template <int which, bool along, int lines, class function>
    TD_INSIDE void each_box(int first, int l0, double *slab, function box)
    {
        TD_UNROLL
        for (int i = first; i < first + lines; i += along ? (int)BOX_LINES : (int)TD_BOX)
            box(slab + i * K_STEP, along ? l0 : line[which] + i, along ? line[which] + i : l0);
    }

    /* By one thread. */
    template <int which, bool along, int lines>
    TD_INSIDE void copy(int l0, double *slab, uint64_t *full)
    {
        each_box<which, along, lines>(0, l0, slab, [&](double *to, int x, int y) {
            td_copy_box(to, &boxes.of[which], full, x, y, member[which], 0);
        });
    }

    TD_INSIDE bool is_own(uint32_t step) const { return step < steps && step % WARPS == warp; }

    TD_INSIDE void fill(uint32_t step, int part)
    {
        if (part != 0 || !is_own(step)) return;
        td_ring_claim<stages>(ring, step);
        if (td_is_elected()) {
            uint64_t *const full = &ring.full[step % stages];
            td_barrier_expect(full, STAGE_BYTES);
            copy<0, along_a, ROWS>((int)step * K_STEP, stage(step), full);
            copy<1, along_b, COLUMNS>((int)step * K_STEP, stage(step) + SLAB, full);
        }
        __syncwarp();
    }
};

#if TD_HAS_BOXES

/* Copied in boxes by two blocks of a cluster, whose tiles have the same rows of C and neighbouring
 * columns: each block copies half of the rows' elements to both. A block's barrier of an empty
 * stage waits for the threads of the block, and for a lane of each warp of the other one: what a
 * block copies to both has a place in both. Both blocks go through as many tiles, and as many
 * steps. */
template <int stages, bool along_a, bool along_b>
struct by_box_pairs : by_boxes<stages, along_a, along_b> {
    enum { BLOCKS = 2 };
    typedef by_boxes<stages, along_a, along_b> single;
    using single::boxes;
    using single::by_boxes;
    using single::is_own;
    using single::member;
    using single::ring;
    using single::stage;

    TD_INSIDE void start()
    {
        if ((int)threadIdx.x < stages) {
            td_barrier_start(&ring.full[threadIdx.x], 1);
            td_barrier_start(&ring.empty[threadIdx.x], THREADS + WARPS);
            td_barriers_started();
        }
        td_cluster_meet();
    }

    TD_INSIDE void end()
    {
        td_cluster_meet();
        td_ring_end<stages>(ring);
    }

    TD_INSIDE void release(uint32_t step)
    {
        td_ring_release<stages>(ring, step);
        __syncwarp();
        if (threadIdx.x % WARP == 0)
            td_barrier_arrive_in_block(td_shared_address(&ring.empty[step % stages]),
                                       1 - td_block_of_cluster<2>());
    }

    TD_INSIDE void fill(uint32_t step, int part)
    {
        if (part != 0 || !is_own(step)) return;
        td_ring_claim<stages>(ring, step);
        if (td_is_elected()) {
            uint64_t *const full = &ring.full[step % stages];
            const int l0 = (int)step * K_STEP;
            td_barrier_expect(full, STAGE_BYTES);
            single::template each_box<0, along_a, ROWS / 2>(
                td_block_of_cluster<2>() * ROWS / 2, l0, stage(step),
                [&](double *to, int x, int y) {
                    td_copy_box_to_all<2>(to, &boxes.of[0], full, x, y, member[0], 0);
                });
            single::template copy<1, along_b, COLUMNS>(l0, stage(step) + SLAB, full);
        }
        __syncwarp();
    }
};

#else

template <int stages, bool along_a, bool along_b>
struct by_box_pairs : by_boxes<stages, along_a, along_b> {
    enum { BLOCKS = 2 };
    using by_boxes<stages, along_a, along_b>::by_boxes;
};

#endif

/* False if an operand's elements cannot be copied in boxes. */
bool describe(const td_repair *p, int which, int batch, CUtensorMap *map)
{
    static_assert((int)K_STEP == (int)TD_BOX, "a row of a slab is one of a box");
    const td_view &o = p->operand[which];
    const int rows = o.k_step == 1 ? (int)BOX_LINES : (int)K_STEP;
    return td_describe_view(map, o, o.k, p->target.batch_first, batch, rows, TD_BOX_SHARED);
}

static_assert(td_binary64_block(TD_BINARY64_TMA_K) == K_STEP &&
                  td_binary64_block(TD_BINARY64_TMA_K - 1) < K_STEP,
              "what routes know");

} // namespace

bool td_binary64_run_tma(const td_repair *p, int batch, dim3 grid, cudaStream_t stream,
                         cudaError_t *error)
{
    td_view_boxes boxes;
    if (!describe(p, 0, batch, &boxes.of[0]) || !describe(p, 1, batch, &boxes.of[1])) return false;
    if (p->binary64.route == TD_BINARY64_TMA_PAIR) {
        grid.x -= grid.x % 2;
        *error = launch<by_box_pairs, MANY_STAGES>(p, boxes, grid, stream);
    } else {
        *error = launch<by_boxes, MANY_STAGES>(p, boxes, grid, stream);
    }
    return true;
}

cudaError_t td_binary64_prepare_tma(cudaError_t error)
{
    error = allow_shared<by_boxes, MANY_STAGES>(error);
    return allow_shared<by_box_pairs, MANY_STAGES>(error);
}

#else

bool td_binary64_run_tma(const td_repair *, int, dim3, cudaStream_t, cudaError_t *)
{
    return false;
}

cudaError_t td_binary64_prepare_tma(cudaError_t error) { return error; }

#endif
