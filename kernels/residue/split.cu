/* split.cu - operands into residues, tile by tile; k stands along the planes whatever the operand's
 * layout. */
#include "split.h"

#include "../device/copy_ring.h"
#include "../device/divisor.h"
#include "split_mma.h"
#include "../view/line_tile.h"

/* A warp has every WARPS-th of a tile's lines, all runs of one at a time. */
enum { LINES = TD_SPLIT_LINES, RUNS = TD_SPLIT_K / RUN, TILE_K = RUNS * RUN, THREADS = 32 * WARPS };

/* What all lines of a tile have in common. */
namespace
{
struct tile_place {
    int which, batch;
    int line0, in_pass;
    int count, k_padded; /* of the pass */
    int64_t first;
};
} // namespace

/* A tile in shared memory, and what belongs to its lines. */
typedef td_line_tile<LINES, TILE_K, THREADS> shape;
namespace
{
struct tile_lines {
    uint32_t line[LINES]; /* low and scale of the record */
    int32_t moduli, is_shifted;
    int next; /* the block's next tile, where boxes are copied */
    tile_place place;
    int64_t in_plane;           /* where its residues begin */
    uint32_t *nonzero, own_bit; /* the map's word, and what tells there of numbers that are not 0 */
};
} // namespace

/* ---- lines ---- */

TD_HOST_DEVICE int padded_lines(const td_fixed &fixed, int which)
{
    return td_padded_lines(fixed.operand[which].lines, which);
}

/* Where a lane's two elements of runs of a line are. Of an operand that does not stand along k
 * these are in two rows; as some lanes are late, eight neighbouring ones find theirs in different
 * banks. */
template <bool along> struct lane_runs {
    const uint64_t *of[2];

    TD_INSIDE lane_runs(const uint64_t *element, int line, int lane)
    {
        const int l = lane * 2, late = is_late<along>(lane);
        of[0] = element + shape::place<along>(line, l + late);
        of[1] = element + shape::place<along>(line, l + !late);
    }

    TD_INSIDE td_pair_of_elements load(int run) const
    {
        static_assert((int)LINES == (int)TD_BOX, "boxes of both kinds are as far apart");
        if (along) return td_load_pair(of[0] + run * TD_BOX);
        return {{of[0][run * TD_BOX], of[1][run * TD_BOX]}};
    }
};

/* The numbers of a lane's two elements by whole numbers: in_pass is the first one's place, and
 * in_pass ^ 1 the other's. Seldom needed where there is much binary64. */
template <int pieces>
TD_DEVICE lane_numbers<pieces> cut_numbers(const td_fixed &fixed, const tile_place &at,
                                           uint32_t record, bool is_shifted, int in_pass,
                                           const td_pair_of_elements &x)
{
    const int16_t low = (int16_t)record, scale = (int16_t)(record >> 16);
    const int16_t *const shift = fixed.shift + at.batch * fixed.operand[0].k + at.first;
    lane_numbers<pieces> numbers;
    TD_UNROLL
    for (int i = 0; i < 2; i++) {
        const int l = in_pass ^ i, own = is_shifted && l < at.count ? shift[l] : 0;
        td_cut_number(low == TD_SPECIAL ? 0 : x.of[i], scale + (at.which ? -own : own),
                      numbers.of[i]);
    }
    return numbers;
}

/* Makes the pieces of all runs of a line. */
template <int pieces, bool along>
TD_DEVICE void find_numbers(const td_residues &p, const tile_place &at, uint32_t record,
                            bool is_shifted, const td_pair_of_elements (&x)[RUNS],
                            lane_numbers<pieces> (&numbers)[RUNS])
{
    const int scale = (int16_t)(record >> 16);
    if (p.round == TD_ROUND_BINARY64 && !is_shifted && (int16_t)record != TD_SPECIAL &&
        td_is_near(scale)) {
        const double unit = td_near_power(scale - TD_PIECE_BITS * (pieces - 1));
        TD_UNROLL
        for (int j = 0; j < RUNS; j++) {
            TD_UNROLL
            for (int i = 0; i < 2; i++)
                td_cut_double<pieces>(td_from_bits64(x[j].of[i]), unit, numbers[j].of[i]);
        }
    } else {
        const int lane = (int)threadIdx.x % 32,
                  in_pass = at.in_pass + lane * 2 + is_late<along>(lane);
        TD_UNROLL
        for (int j = 0; j < RUNS; j++)
            numbers[j] =
                cut_numbers<pieces>(p.fixed, at, record, is_shifted, in_pass + j * RUN, x[j]);
    }
}

/* Makes the numbers of a line's elements, if any of the warp's is not 0: returns whether. */
template <int pieces, bool along>
TD_DEVICE bool load_line(const td_residues &p, const uint64_t *element, const tile_lines &about,
                         int line, int lane, lane_numbers<pieces> (&numbers)[RUNS])
{
    const tile_place &at = about.place;
    const lane_runs<along> elements(element, line, lane);
    td_pair_of_elements x[RUNS];
    uint32_t bits = 0;
    if (td_skips(at.line0 + line >= p.fixed.operand[at.which].lines)) return false;
    TD_UNROLL
    for (int j = 0; j < RUNS; j++) x[j] = elements.load(j * RUN);
    find_numbers<pieces, along>(p, at, about.line[line], about.is_shifted, x, numbers);
    TD_UNROLL
    for (int j = 0; j < RUNS; j++)
        bits |= td_bits_of_pieces(numbers[j].of[0]) | td_bits_of_pieces(numbers[j].of[1]);
    return __any_sync(0xffffffffu, bits != td_piece_zero);
}

/* The planes that a lane stores to: modulo two of the first moduli, and, if numbers have many
 * pieces, modulo one of the others, as far as the tile's member has such. */
template <int pieces> struct lane_planes {
    int8_t
        *first; /* the tile's residues modulo the first modulus, at the lane's elements of a run */
    int64_t step; /* between planes */
    int t, rows;  /* the first one of the lane's moduli, and how many of the two there are */
    int k_left;   /* elements of k from the tile's first one to the pass's end, padded */
    bool has_others, has_other; /* the member has more than the first moduli, and the lane's */

    TD_INSIDE lane_planes(const td_residues &p, const tile_lines &about, unsigned lane)
    {
        const tile_place &at = about.place;
        const int moduli = about.moduli;
        t = (int)(lane / LANES);
        rows = (t < moduli) + (t + 8 < moduli);
        k_left = at.k_padded - at.in_pass;
        has_others = pieces > TD_SHORT_PIECES && moduli > FIRST_MODULI;
        has_other = FIRST_MODULI + t % OTHER_MODULI < moduli;
        step = p.plane_step[at.which];
        first = p.plane[at.which] + about.in_plane + lane % LANES * (RUN / LANES);
    }

    /* `line`: bytes from the tile's first line to the residues' own; `k`: their run's first. */
    TD_INSIDE void store(int64_t line, int k, const lane_residues &residues) const
    {
        TD_UNROLL
        for (int r = 0; r < LANE_ROWS; r++)
            if (r < rows && k < k_left)
                *reinterpret_cast<td_quad<uint32_t> *>(first + line + k + (t + 8 * r) * step) =
                    residues[r];
    }

    TD_INSIDE void store_other(int64_t line, int k, const uint2 &residues) const
    {
        if (has_other && k < k_left)
            *reinterpret_cast<uint2 *>(first + line + k + t / OTHER_MODULI * 8 +
                                       (FIRST_MODULI + t % OTHER_MODULI) * step) = residues;
    }
};

/* Stores a line's residues modulo all moduli, from `line` bytes behind the tile's first line on;
 * numbers of few pieces have no more than the first moduli. If the line's numbers are all 0, there
 * are none to find. */
template <int pieces, bool along>
TD_DEVICE void store_line(const lane_planes<pieces> &planes, int64_t line, bool is_zero,
                          const lane_numbers<pieces> (&numbers)[RUNS],
                          const lane_moduli<pieces> &own, const lane_modulus<pieces> &other)
{
    TD_UNROLL
    for (int j = 0; j < RUNS; j++) {
        lane_residues residues = {};
        uint2 others = {};
        if (!is_zero) {
            const lane_numbers<pieces> *const all = share(numbers[j]);
            find_residues<pieces, along>(own, all, residues);
            if (planes.has_others) others = find_other_residues<pieces, along>(other, all);
        }
        planes.store(line, j * RUN, residues);
        if (planes.has_others) planes.store_other(line, j * RUN, others);
    }
}

/* Stores the residues of the tile's lines. */
template <int pieces, bool along>
TD_DEVICE void store_lines(const td_residues &p, const uint64_t *element, const tile_lines &about,
                           const lane_moduli<pieces> &own, const lane_modulus<pieces> &other)
{
    const tile_place &at = about.place;
    const unsigned lane = (unsigned)td_fresh((int)threadIdx.x % 32);
    const lane_planes<pieces> planes(p, about, lane);
    bool is_nonzero = false;
    TD_ROLLED
    for (int i = td_fresh((int)threadIdx.x / 32); i < LINES; i += WARPS) {
        const int place = at.which ? i : td_place_of_line(i); /* beside the first line's */
        lane_numbers<pieces> numbers[RUNS];
        const bool is_zero = !load_line<pieces, along>(p, element, about, i, (int)lane, numbers);
        is_nonzero |= !is_zero;
        store_line<pieces, along>(planes, (int64_t)place * at.k_padded, is_zero, numbers, own,
                                  other);
    }
    if (is_nonzero && lane == 0 && about.nonzero) atomicOr(about.nonzero, about.own_bit);
}

template <int pieces>
TD_DEVICE void store_tile(const td_residues &p, const uint64_t *element, const tile_lines &about,
                          const lane_moduli<pieces> &own, const lane_modulus<pieces> &other)
{
    if (p.fixed.operand[about.place.which].k_step == 1)
        store_lines<pieces, true>(p, element, about, own, other);
    else
        store_lines<pieces, false>(p, element, about, own, other);
}

/* The lane's moduli of the tile before, most often those of the next one. */
struct kept_moduli {
    int which, moduli; /* -1: none */
    lane_moduli<TD_SHORT_PIECES> own;
};

/* Numbers of so many pieces; tiles of members that have others are left alone. */
template <int pieces>
TD_DEVICE void work_on_tile(const td_residues &p, const uint64_t *element, const tile_lines &about,
                            kept_moduli &kept)
{
    const int which = td_uniform(about.place.which), moduli = td_uniform(about.moduli);
    if ((moduli > TD_SHORT_MODULI) != (pieces > TD_SHORT_PIECES)) return;
    if constexpr (pieces == TD_SHORT_PIECES) {
        if (which != kept.which || moduli != kept.moduli) {
            kept.which = which;
            kept.moduli = moduli;
            find_moduli(kept.own, which, moduli);
        }
        store_tile<pieces>(p, element, about, kept.own, {});
    } else {
        lane_moduli<pieces> own;
        lane_modulus<pieces> other;
        find_moduli(own, which, moduli);
        find_modulus(other, which, moduli);
        store_tile<pieces>(p, element, about, own, other);
    }
}

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
