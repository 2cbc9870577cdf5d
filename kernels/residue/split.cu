/* split.cu - operands into residues, tile by tile; k stands along the planes whatever the operand's
 * layout. */
#include "split_lines.h"

#include "../device/divisor.h"

/* ---- tiles ---- */

/* How the tiles of both operands and of all members are numbered: tiles that are neighbours in
 * memory come one after the other, in groups of GROUP strips. */
enum { GROUP = 4 };
namespace
{
struct tiles {
    td_divisor along_k, group, member; /* tiles of a strip, of a group of strips, of a member */
    int strips[2], of_a, count;        /* of_a: tiles of one matrix */
};
} // namespace

static tiles tiles_of(const td_fixed &fixed)
{
    const int along_k = (int)((fixed.k_count + TILE_K - 1) / TILE_K),
              a = padded_lines(fixed, 0) / LINES, b = padded_lines(fixed, 1) / LINES,
              member = along_k * (a + b);
    return {td_divisor_of(along_k),
            td_divisor_of(GROUP * along_k),
            td_divisor_of(member),
            {a, b},
            along_k * a,
            fixed.batch * member};
}

/* Finds the tile with a number. */
TD_DEVICE tile_place place_of(const td_fixed &fixed, const tiles &t, int number)
{
    tile_place at;
    int in_matrix, in_group, in_k, strip;
    at.batch = td_divide(number, t.member, &in_matrix);
    at.which = in_matrix >= t.of_a;
    if (at.which) in_matrix -= t.of_a;
    if (fixed.operand[at.which].k_step == 1) {
        strip = td_divide(in_matrix, t.along_k, &in_k);
    } else {
        strip = GROUP * td_divide(in_matrix, t.group, &in_group);
        const int height = min((int)GROUP, t.strips[at.which] - strip);
        in_k = in_group / height;
        strip += in_group % height;
    }
    at.line0 = strip * LINES;
    at.in_pass = in_k * TILE_K;
    at.count = (int)fixed.k_count;
    at.k_padded = (at.count + TD_K_PAD - 1) / TD_K_PAD * TD_K_PAD;
    at.first = fixed.k_first;
    return at;
}

/* Leaves where a tile is, and which bit of the map is its own. */
TD_DEVICE void leave_place(const td_residues &p, const tile_place &at, tile_lines &to)
{
    static_assert((int)TILE_K == TD_SLICE_K && TD_LINE_GROUP % LINES == 0,
                  "a bit is of whole tiles");
    const int stage = at.in_pass / TILE_K, lines = padded_lines(p.fixed, at.which),
              place = at.which ? at.line0 : td_place_of_line(at.line0);
    const int64_t word =
        td_nonzero_place(lines, at.k_padded, at.batch, at.line0 / TD_LINE_GROUP, stage);
    to.place = at;
    to.in_plane = ((int64_t)at.batch * lines + place) * at.k_padded + at.in_pass;
    to.nonzero = p.nonzero[at.which] ? p.nonzero[at.which] + word : NULL;
    to.own_bit = td_nonzero_bit(stage);
}

/* Starts the copies of what belongs to a tile's lines, by LINES + 2 threads. */
TD_DEVICE void fetch_lines(const td_fixed &fixed, const tile_place &at, int own, tile_lines &to)
{
    static_assert(offsetof(td_line, scale) == offsetof(td_line, low) + 2, "one word");
    const td_line *const records =
        fixed.line[at.which] + at.batch * fixed.lines_of_member[at.which] + at.line0;
    if (own < LINES) {
        const bool exists = at.line0 + own < fixed.operand[at.which].lines;
        td_async_copy_inside<4>(&to.line[own], &records[exists ? own : 0].low, exists);
    } else if (own == LINES) {
        td_async_copy<4>(&to.moduli, &fixed.choice[at.batch].parameter);
    } else if (own == LINES + 1) {
        td_async_copy<4>(&to.is_shifted, &fixed.shifted[at.batch]);
    }
}

/* ---- all of it ---- */

/* Calls short_ones(are_all) if members have numbers of few pieces, then long_ones(are_all) if
 * members have longer ones: most often all are alike. */
template <class short_function, class long_function>
TD_DEVICE void each_length(const td_fixed &fixed, short_function short_ones,
                           long_function long_ones)
{
    bool is_short = false, is_long = false;
    if (td_scalar_value(fixed.alpha) == 0.0) return;
    for (int i = (int)threadIdx.x; i < fixed.batch; i += THREADS) {
        const int moduli = fixed.choice[i].parameter;
        is_short |= moduli > 0 && moduli <= TD_SHORT_MODULI;
        is_long |= moduli > TD_SHORT_MODULI;
    }
    is_short = __syncthreads_or(is_short);
    is_long = __syncthreads_or(is_long);
    if (is_short) short_ones(!is_long);
    if (is_short && is_long) __syncthreads(); /* shared memory is read no more */
    if (is_long) long_ones(!is_short);
}

/* With several stages tiles are copied while one before is worked on. */
template <int stages, int pieces>
TD_DEVICE void make_residues(const td_residues &p, const tiles &all, uint64_t *element,
                             tile_lines *about)
{
    int next = (int)blockIdx.x;
    kept_moduli kept = {-1, 0, {}};
    td_async_pipeline<stages>(
        td_tiles_of_block(all.count),
        [&](int stage) {
            const tile_place at = place_of(p.fixed, all, next);
            const td_view &o = p.fixed.operand[at.which];
            next += (int)gridDim.x;
            td_copy_line_tile<shape>(
                o, td_member<const double>(o.matrix, p.fixed.batch_first + at.batch), at.line0,
                at.first + at.in_pass, at.first + at.count, element + stage * shape::size);
            fetch_lines(p.fixed, at, (int)threadIdx.x, about[stage]);
            if (threadIdx.x == LINES + 2) leave_place(p, at, about[stage]);
        },
        [&](int stage) {
            work_on_tile<pieces>(p, element + stage * shape::size, about[stage], kept);
        });
}

/* Grid: as many blocks as there are places. */
template <int stages, int blocks>
static __global__ void __launch_bounds__(THREADS, blocks)
    residues_kernel(TD_PARAMETER td_residues p, TD_PARAMETER tiles all)
{
    TD_SHARED(tile_lines, about, [stages]);
    TD_DYNAMIC_SHARED(uint64_t, element);
    td_wait_for_last();
    td_let_next_begin(); /* not before: ../crt/crt.cu looks at choices and scales before it waits */
    each_length(
        p.fixed, [&](bool) { make_residues<stages, TD_SHORT_PIECES>(p, all, element, about); },
        [&](bool) { make_residues<stages, TD_LONG_PIECES>(p, all, element, about); });
}

enum { BLOCKS = 4, STAGES = 2 };

#if TD_HAS_CUDA_DEVICE

/* A block's tiles in shared memory. */
template <int stages> struct stages_of_boxes {
    td_copy_ring ring;
    tile_lines about[stages];
};

/* The block's tile after that one. From its third on, blocks take tiles as they are done with
 * others: some have theirs sooner. */
[[maybe_unused]] TD_DEVICE int next_tile(int number, int count, uint32_t *counter)
{
    const int blocks = (int)gridDim.x;
    if (number < blocks || !counter) return number + blocks;
    return (int)atomicInc(counter, (unsigned)(count - blocks) - 1u) + 2 * blocks;
}

/* Asks for a tile's boxes, for fill f, by a warp. */
template <int stages>
TD_DEVICE void fetch_boxes(const td_residues &p, const tiles &all, int number, uint32_t *counter,
                           const td_view_boxes &boxes, uint32_t f, stages_of_boxes<stages> &to,
                           uint64_t *element)
{
    const int stage = (int)(f % stages);
    const tile_place at = place_of(p.fixed, all, number);
    td_ring_claim<stages>(to.ring, f);
    fetch_lines(p.fixed, at, (int)threadIdx.x % 32, to.about[stage]);
    td_ring_fill<stages>(to.ring, f);
    if (td_is_elected()) {
        const int next = next_tile(number, all.count, counter);
        leave_place(p, at, to.about[stage]);
        td_copy_line_boxes<shape>(p.fixed.operand[at.which], &boxes.of[at.which], at.batch,
                                  at.line0, (int)at.first + at.in_pass,
                                  element + stage * shape::size, &to.ring.full[stage]);
        to.about[stage].next = next;
        td_barrier_arrive(&to.ring.full[stage]);
    }
    __syncwarp();
}
enum { ARRIVALS = 32 + 2 }; /* lanes' copies, boxes, and the number of the next tile */

/* make_residues by boxes, which one warp after the other asks for before all work on the tile
 * before: no warp waits for all others. Fills from f on; the number of the one after the last. */
template <int stages, int pieces>
TD_DEVICE uint32_t make_residues_of_boxes(const td_residues &p, const tiles &all, uint32_t *counter,
                                          const td_view_boxes &boxes, uint32_t f,
                                          stages_of_boxes<stages> &shared, uint64_t *element)
{
    kept_moduli kept = {-1, 0, {}};
    int next = (int)blockIdx.x;
    TD_ROLLED
    for (bool is_first = true;; is_first = false) {
        if (next < all.count && f % WARPS == threadIdx.x / 32)
            fetch_boxes<stages>(p, all, next, counter, boxes, f, shared, element);
        if (!is_first) {
            const int stage = (int)((f - 1) % stages);
            work_on_tile<pieces>(p, element + stage * shape::size, shared.about[stage], kept);
            td_ring_release<stages>(shared.ring, f - 1);
        }
        if (next >= all.count) return f;
        td_ring_wait<stages>(shared.ring, f);
        next = shared.about[f % stages].next;
        f++;
    }
}

template <int stages, int blocks>
static __global__ void __launch_bounds__(THREADS, blocks)
    residues_of_boxes_kernel(TD_PARAMETER td_residues p, TD_PARAMETER tiles all,
                             TD_PARAMETER td_view_boxes boxes)
{
#if TD_HAS_BOXES
    TD_SHARED(stages_of_boxes<stages>, shared, );
    TD_DYNAMIC_SHARED(uint64_t, dynamic);
    uint64_t *const element = td_first_box(dynamic);
    uint32_t fills = 0;
    td_ring_start<stages>(shared.ring, ARRIVALS);
    td_wait_for_last();
    td_let_next_begin(); /* as above */
    each_length(
        p.fixed,
        [&](bool are_all) {
            fills = make_residues_of_boxes<stages, TD_SHORT_PIECES>(
                p, all, are_all ? p.next_tile : NULL, boxes, 0, shared, element);
        },
        [&](bool are_all) {
            make_residues_of_boxes<stages, TD_LONG_PIECES>(p, all, are_all ? p.next_tile : NULL,
                                                           boxes, fills, shared, element);
        });
#endif
}

enum { BOX_BYTES = 8 * STAGES * shape::size + TD_BOX_ALIGNMENT };

/* Launches the kernel that copies boxes. False if the driver describes no such boxes: the
 * accelerator has more limits than routes know. A pass that begins amid a pair of elements cannot
 * have boxes; none of a scheme does. */
static bool runs_with_boxes(const td_residues *p, const tiles &all, unsigned grid,
                            cudaStream_t stream, cudaError_t *error)
{
    const td_fixed &fixed = p->fixed;
    td_view_boxes boxes;
    if (fixed.k_first % 2 != 0 ||
        !td_describe_line_boxes<shape>(&boxes, fixed.operand, fixed.k_first + fixed.k_count,
                                       fixed.batch_first, fixed.batch))
        return false;
    *error = TD_LAUNCH_NEXT((residues_of_boxes_kernel<STAGES, BLOCKS>), grid, THREADS, BOX_BYTES,
                            stream, *p, all, boxes);
    return true;
}

static cudaError_t prepare_boxes(cudaError_t error)
{
    error = td_load(error, residues_of_boxes_kernel<STAGES, BLOCKS>);
    return td_allow_shared(error, residues_of_boxes_kernel<STAGES, BLOCKS>, BOX_BYTES);
}

#else

static bool runs_with_boxes(const td_residues *, const tiles &, unsigned, cudaStream_t,
                            cudaError_t *)
{
    return false;
}

static cudaError_t prepare_boxes(cudaError_t error) { return error; }

#endif

cudaError_t td_residues_run(const td_residues *p, cudaStream_t stream)
{
    const tiles all = tiles_of(p->fixed);
    const int bytes = 8 * shape::size;
    int multiprocessors = 0, stages = 1;
    cudaError_t error = td_multiprocessors(&multiprocessors);
    if (error == cudaSuccess) error = td_stages_of_blocks(BLOCKS, bytes, STAGES, &stages);
    if (error != cudaSuccess) return error;
    const unsigned grid = (unsigned)min(BLOCKS * multiprocessors, all.count);
    if (p->route == TD_SPLIT_TMA && runs_with_boxes(p, all, grid, stream, &error)) return error;
    return TD_LAUNCH_NEXT(
        (stages == STAGES ? residues_kernel<STAGES, BLOCKS> : residues_kernel<1, BLOCKS>), grid,
        THREADS, stages * bytes, stream, *p, all);
}

cudaError_t td_residues_prepare(void)
{
    cudaError_t error =
        td_load(cudaSuccess, residues_kernel<STAGES, BLOCKS>, residues_kernel<1, BLOCKS>);
    error = td_allow_shared(error, residues_kernel<STAGES, BLOCKS>, STAGES * 8 * shape::size);
    return prepare_boxes(error);
}
