/* binary64.cu - the masked elements of C, or all, in binary64: a whole tile, or two one below the
 * other, for each block. */
#include "nan_infinity.h"

#include "../view/raster.h"

namespace
{

/* What the block knows of its lines. */
struct line_summary {
    int peak[2], low[2]; /* of the counted ones */
    int scaled_low[2];   /* the lowest of these when scaled */
    int most_scale;      /* the largest magnitude of any line's scale */
    int most_shift;      /* the largest magnitude of any shift along k that was looked at */
    int has_special;
};

struct shared_state {
    td_copy_ring ring;
    int masked[2]; /* elements of both tiles */
    line_summary lines;
    int scale[ROWS + COLUMNS]; /* of rows, then columns */
};

/* The elements of C that are in a tile, or in so many rows of one and what is below it. */
TD_DEVICE int elements_of(const td_target &target, int row, int column, int most_rows = TD_TILE)
{
    const td_region region = td_region_from(&target.region, row, column);
    return (int)td_region_blocks(&region, min(most_rows, target.m - row),
                                 max(0, min((int)TD_TILE, target.n - column)), 1, 1);
}

/* A tile's masked elements, by all threads. Tiles without elements of C have no masks. */
TD_DEVICE int count_masked(const td_target &target, td_room room, int row, int column, int *count)
{
    if (room || !td_has_tile(target, row, column)) return elements_of(target, row, column);
    row += (int)threadIdx.x % (TD_TILE / TD_SUBTILE) * TD_SUBTILE;
    column += (int)threadIdx.x / (TD_TILE / TD_SUBTILE) * TD_SUBTILE;
    static_assert((int)THREADS >= (int)TD_SUBTILES, "a thread counts one subtile's elements");
    if (threadIdx.x == 0) *count = 0;
    __syncthreads();
    if (threadIdx.x < TD_SUBTILES && row < target.m && column < target.n) {
        const int own = __popc(*td_target_mask(target, row, column));
        if (own) atomicAdd(count, own);
    }
    __syncthreads();
    return td_uniform(*count);
}

/* The next tile whose block is `own` of those that are free: from the list of dense ones, or, if
 * these are all of C, the upper ones of pairs, blocks that run together sharing lines. -1: there
 * are no more. */
TD_DEVICE int next_dense_tile(const td_target &target, int own, int dense)
{
    const int m_tiles = td_tiles(target.m), n_tiles = td_tiles(target.n), pairs = (m_tiles + 1) / 2;
    const int64_t tiles = (int64_t)m_tiles * n_tiles;
    const bool all = dense == tiles && !target.is_dense;
    int row, column;
    if (own >= (all ? pairs * n_tiles : dense)) return -1;
    td_tile_of(own, pairs, n_tiles, &row, &column);
    return all ? 2 * row + column * m_tiles : target.open_tile[(blockIdx.z + 1) * tiles - 1 - own];
}

/* Calls work(tile) for the block's share of all tiles: the upper ones of `step` that are above each
 * other. Blocks that run together share lines, and so many neighbouring ones, a cluster, have tiles
 * side by side, the last ones perhaps none of C's. */
template <int neighbours, class function>
TD_DEVICE void each_tile(const td_target &target, int step, function work)
{
    const int m_tiles = td_tiles(target.m), rows = (m_tiles + step - 1) / step,
              columns = (td_tiles(target.n) + neighbours - 1) / neighbours;
    TD_ROLLED
    for (int i = (int)blockIdx.x / neighbours; i < rows * columns;
         i += (int)gridDim.x / neighbours) {
        int row, column;
        td_tile_of(i, rows, columns, &row, &column);
        if (!td_region_meets(&target.region, step * row * TD_TILE, column * neighbours * TD_TILE,
                             step * TD_TILE, neighbours * TD_TILE))
            continue;
        column = column * neighbours + (int)blockIdx.x % neighbours;
        work(td_uniform(step * row + column * m_tiles));
    }
}

/* Calls work(tile) for the tiles of few masked elements, each block in turn, then for the dense
 * ones, whichever block is free; or for one kind of these alone. All threads take part. */
template <class function>
TD_DEVICE void each_masked_tile(const td_target &target, td_open_tiles open, function work)
{
    TD_SHARED(int, next, );
    const int64_t tiles = (int64_t)td_tiles(target.m) * td_tiles(target.n);
    td_open_counts *const counts = target.open_count ? target.open_count + blockIdx.z : NULL;
    const int few = td_uniform(open == TD_OPEN_DENSE ? 0
                               : counts              ? counts->few
                                                     : (int)tiles),
              dense = td_uniform(counts && open != TD_OPEN_FEW ? counts->dense : 0);
    const int32_t *const list = target.open_tile ? target.open_tile + blockIdx.z * tiles : NULL;
    TD_ROLLED
    for (int i = (int)blockIdx.x;; i += (int)gridDim.x) {
        int tile = list && i < few ? list[i] : i;
        if (i >= few) {
            __syncthreads();
            if (threadIdx.x == 0) next = dense ? atomicAdd(&counts->taken, 1) : 0;
            __syncthreads();
            tile = next_dense_tile(target, next, dense);
        }
        tile = td_uniform(tile);
        if (tile < 0) break;
        work(tile);
    }
}

/* Returns the tiles that the block makes where all of C is made: so many from `tile` downwards. */
TD_DEVICE block_place place_of_all(const td_target &target, int tile, int tiles)
{
    const int m_tiles = td_tiles(target.m), row = tile % m_tiles * TD_TILE,
              column = tile / m_tiles * TD_TILE, rows = tiles * TD_TILE,
              made = elements_of(target, row, column, rows),
              there = min(rows, (m_tiles - tile % m_tiles) * (int)TD_TILE);
    return {row, column, there, made, there / (int)TD_TILE, made == rows * TD_TILE, TD_ROOM};
}

/* Where binary64 makes all elements of a pair of tile rows, the block of this tile does: of the
 * upper one, or of the lower one if only that has elements of C. */
TD_DEVICE int leading_tile(const td_target &target, int tile)
{
    const int m_tiles = td_tiles(target.m), row = tile % m_tiles, column = tile / m_tiles;
    return row + 1 < m_tiles && !td_has_tile(target, row * TD_TILE, column * TD_TILE) ? tile + 1
                                                                                      : tile;
}

/* The tiles that the block makes of one that has masked elements: of two such in a pair of tile
 * rows the upper one's block makes both. rows: 0 if it makes none. */
TD_DEVICE block_place place_of(const td_target &target, int listed, shared_state &shared)
{
    const td_room room = (td_room)td_uniform(td_room_for_all(target));
    const int tile = room ? leading_tile(target, listed) : listed, m_tiles = td_tiles(target.m),
              tile_row = tile % m_tiles, other = tile_row ^ 1;
    block_place at = {tile_row * TD_TILE, tile / m_tiles * TD_TILE, TD_TILE, 0, 0, false, room};
    __syncthreads();
    const int own = count_masked(target, room, at.row, at.column, &shared.masked[0]);
    const int others =
        other < m_tiles ? count_masked(target, room, other * TD_TILE, at.column, &shared.masked[1])
                        : 0;
    if (own == 0 || (tile_row % 2 && others > 0)) at.rows = 0;
    if (own != 0 && tile_row % 2 == 0 && others > 0) at.rows = ROWS;
    at.made = own + (at.rows == ROWS ? others : 0);
    at.is_whole = at.made == at.rows * TD_TILE;
    at.tiles = (own == elements_of(target, at.row, at.column)) +
               (at.rows == ROWS && others == elements_of(target, at.row + TD_TILE, at.column));
    return at;
}

/* Sets what the block knows of its lines. All threads take part. */
TD_DEVICE void summarise_lines(const td_repair &p, const block_place &at, shared_state &shared)
{
    line_summary &s = shared.lines;
    __syncthreads();
    if (threadIdx.x == 0)
        s = {{INT32_MIN, INT32_MIN}, {INT32_MAX, INT32_MAX}, {INT32_MAX, INT32_MAX}, 0, 0, 0};
    __syncthreads();
    TD_ROLLED
    for (int i = (int)threadIdx.x; i < ROWS + COLUMNS; i += THREADS) {
        const int which = i >= ROWS;
        const int line = which ? at.column + i - ROWS : at.row + i;
        shared.scale[i] = 0;
        if (line >= p.operand[which].lines || (!which && i >= at.rows)) continue;
        const td_line record = p.line[which][blockIdx.z * p.lines_of_member[which] + line];
        if (record.low == TD_SPECIAL) s.has_special = 1;
        if (!td_is_counted(record)) continue;
        shared.scale[i] = td_binary64_scale(record);
        atomicMax(&s.peak[which], record.peak >> 8);
        atomicMin(&s.low[which], (int)record.low);
        atomicMin(&s.scaled_low[which], record.low + shared.scale[i]);
        atomicMax(&s.most_scale, abs(shared.scale[i]));
    }
    __syncthreads();
}

/* True if all numbers of a block's rows, or of its columns, are 0. */
TD_DEVICE bool has_zeros_alone(const line_summary &s)
{
    return s.peak[0] == INT32_MIN || s.peak[1] == INT32_MIN;
}

/* True if no product of the block's elements overflows or has bits that binary64 has no room for,
 * and no sum overflows. */
TD_DEVICE bool has_room(const line_summary &s, int64_t k)
{
    return has_zeros_alone(s) || td_has_room(s.peak[0] + s.peak[1], s.low[0] + s.low[1], k);
}

/* True if scaled sums are good enough for all pairs of the block's lines. */
TD_DEVICE bool has_room_scaled(const line_summary &s)
{
    return has_zeros_alone(s) ||
           td_has_room_scaled(s.scaled_low[0], s.scaled_low[1], s.peak[0] + s.peak[1]);
}

/* Finds the largest of the shifts along k. All threads take part. */
TD_DEVICE void summarise_shifts(const int16_t *shift, int64_t k, shared_state &shared)
{
    int most = 0;
    TD_ROLLED
    for (int64_t l = threadIdx.x; shift && l < k; l += THREADS) most = max(most, abs(shift[l]));
    if (most) atomicMax(&shared.lines.most_shift, most);
    __syncthreads();
}

/* Takes scales of lines that are more than `most` back to it, if all products of the block's lines
 * have room for all of their bits with those, too: then sums have the same bits. Returns false, and
 * leaves the scales, if they have not, or if a scale is less than -most. All threads take part. */
TD_DEVICE bool draw_near(const td_repair &p, const block_place &at, int most, shared_state &shared)
{
    line_summary &s = shared.lines;
    __syncthreads();
    if (threadIdx.x < 2) s.scaled_low[threadIdx.x] = INT32_MAX;
    __syncthreads();
    TD_ROLLED
    for (int i = (int)threadIdx.x; i < ROWS + COLUMNS; i += THREADS) {
        const int which = i >= ROWS, line = which ? at.column + i - ROWS : at.row + i;
        if (line >= p.operand[which].lines || (!which && i >= at.rows)) continue;
        const td_line &record = record_of(p, which, line);
        if (td_is_counted(record))
            atomicMin(&s.scaled_low[which], shared.scale[i] < -most
                                                ? INT32_MIN / 2
                                                : record.low + min(shared.scale[i], most));
    }
    __syncthreads();
    const int low[2] = {td_uniform(s.scaled_low[0]), td_uniform(s.scaled_low[1])};
    if (min(low[0], low[1]) < TD_BINARY64_LEAST || low[0] + low[1] < TD_BINARY64_LEAST)
        return false;
    TD_ROLLED
    for (int i = (int)threadIdx.x; i < ROWS + COLUMNS; i += THREADS)
        shared.scale[i] = min(shared.scale[i], most);
    __syncthreads();
    return true;
}

/* True if every power of two that an element is multiplied by is a normal number, or has become
 * one. All threads take part. */
TD_DEVICE bool are_near(const td_repair &p, const block_place &at, const int16_t *shift,
                        shared_state &shared)
{
    const line_summary &s = shared.lines;
    summarise_shifts(shift, p.operand[0].k, shared);
    const int most = td_uniform(-LEAST_NORMAL - s.most_shift);
    return td_uniform(s.most_scale) <= most || draw_near(p, at, most, shared);
}

/* Scaled sums. All threads take part. */
template <class passage>
TD_DEVICE void add_up_scaled(const td_repair &p, const block_place &at, shared_state &shared,
                             passage &way, bool is_idle, warp_sums &sums)
{
    enum { ALONG_A = passage::ALONG_A, ALONG_B = passage::ALONG_B };
    const int64_t k = p.operand[0].k;
    const int16_t *const shift = p.shifted[blockIdx.z] ? p.shift + blockIdx.z * k : NULL;
    const line_scales scales = {shared.scale + warp_row(), shared.scale + ROWS + warp_column(),
                                shift, k};
    if (are_near(p, at, shift, shared))
        add_up(way, td_binary64_block(k), is_idle, near_scales<ALONG_A, ALONG_B>(scales), sums);
    else
        add_up(way, td_binary64_block(k), is_idle, far_scales<ALONG_A, ALONG_B>(scales), sums);
}

/* True if the thread's warp has elements of C. */
TD_DEVICE bool has_elements(const td_target &target, const block_place &at)
{
    const int row = at.row + warp_row(), column = at.column + warp_column();
    return row < target.m && column < target.n &&
           td_region_meets(&target.region, row, column, WARP_ROWS, WARP_COLUMNS);
}

/* Makes the sums of one pass over k; returns the bits of the thread's sums that are left to the
 * next one. All threads take part. */
template <class passage>
TD_DEVICE uint32_t make_pass(const td_repair &p, const typename passage::parameter &boxes,
                             const tile_operands &operands, const block_place &at, const pass &own,
                             shared_state &shared, double *slabs)
{
    const bool is_idle = warp_row() >= at.rows || td_skips(!has_elements(p.target, at));
    passage way(boxes, operands, shared.ring, slabs);
    warp_sums sums = {};
    if (own.is_scaled)
        add_up_scaled(p, at, shared, way, is_idle, sums);
    else
        add_up(way, td_binary64_block(p.operand[0].k), is_idle, no_scales{}, sums);
    const uint32_t left =
        store_sums<passage::ALONG_A, passage::ALONG_B>(p, at, own, shared.scale, sums);
    __syncwarp(); /* lanes store as many sums as they have, and come to the next barrier together */
    return left;
}

/* True if a pass is for any sum of the block. All threads take part. */
template <class passage>
TD_DEVICE bool is_any_wanted(const td_repair &p, const pass &own, const block_place &at)
{
    const uint32_t wanted = wanted_sums<passage::ALONG_A, passage::ALONG_B>(p, own, at);
    __syncwarp();
    return td_uniform(__syncthreads_or(wanted != 0)) != 0;
}

/* Makes one tile of C, and the tile below it if `rows` reach there. */
template <class passage>
TD_DEVICE void repair_tile(const td_repair &p, const typename passage::parameter &boxes,
                           const block_place &at, shared_state &shared, double *slabs)
{
    const int64_t member = p.target.batch_first + blockIdx.z;
    if (at.rows == 0) return;
    const tile_operands operands = {p.operand[0],
                                    p.operand[1],
                                    td_member<const double>(p.operand[0].matrix, member),
                                    td_member<const double>(p.operand[1].matrix, member),
                                    at.row,
                                    at.column};
    bool has_to_scale = false, has_both = false;
    if (p.line[0] && at.room != TD_ROOM) {
        summarise_lines(p, at, shared);
        has_to_scale = !td_uniform(has_room(shared.lines, p.operand[0].k));
        has_both =
            has_to_scale && td_uniform(shared.lines.has_special || !has_room_scaled(shared.lines));
    }
    uint32_t left = 0;
    TD_ROLLED
    for (int scaled = has_to_scale && !has_both; scaled <= has_to_scale; scaled++) {
        const pass own = {scaled != 0, !has_both, left};
        if (!has_both || is_any_wanted<passage>(p, own, at))
            left = make_pass<passage>(p, boxes, operands, at, own, shared, slabs);
    }
    if (p.repaired && threadIdx.x == 0) atomicAdd(p.repaired, (unsigned long long)at.made);
    if (p.tiles && threadIdx.x == 0 && at.tiles) atomicAdd(p.tiles, (unsigned long long)at.tiles);
}

/* Makes the block's tiles where alpha is 0; no operand is read. */
TD_DEVICE void scale_tile(const td_target &target, int tile, int tiles)
{
    const block_place at = place_of_all(target, tile, tiles);
    const double beta = td_scalar_value(target.beta);
    double *const first = td_target_c<double>(target) + at.row + at.column * target.c.ld;
    const int rows = min(at.rows, target.m - at.row),
              columns = min((int)TD_TILE, target.n - at.column);
    for (int e = (int)threadIdx.x; e < at.rows * columns; e += THREADS) {
        double *const c = first + e % at.rows + e / at.rows * target.c.ld;
        const bool is_inside =
            e % at.rows < rows &&
            td_region_has(&target.region, at.row + e % at.rows, at.column + e / at.rows);
        if (is_inside) *c = td_scaled(beta, c);
    }
}

/* True if all elements of a member are made as they are: then no tile needs to know its lines. */
TD_DEVICE bool makes_all(const td_repair &p)
{
    return p.makes_all || td_uniform(td_room_for_all(p.target)) == TD_ROOM;
}

/* Counts all of a member, which somebody else has made. */
TD_DEVICE void count_member(const td_repair &p)
{
    const td_target &target = p.target;
    if (blockIdx.x > 0 || threadIdx.x > 0) return;
    if (p.repaired)
        atomicAdd(p.repaired,
                  (unsigned long long)td_region_blocks(&target.region, target.m, target.n, 1, 1));
    if (p.tiles)
        atomicAdd(p.tiles, (unsigned long long)td_region_blocks(&target.region, target.m, target.n,
                                                                TD_TILE, TD_TILE));
}

/* Grid: blocks over open tiles, 1, batch member; clusters of passage::BLOCKS. Does nothing where
 * the device has no such copies: it has no static shared memory there. */
template <class passage>
__global__ void __launch_bounds__(THREADS, 1)
    binary64_kernel(TD_PARAMETER td_repair p, TD_PARAMETER typename passage::parameter boxes)
{
    if constexpr (passage::EXISTS) {
        TD_SHARED(shared_state, shared, );
        TD_DYNAMIC_SHARED(double, dynamic);
        td_begin_kernel();
        double *const slabs = td_first_box(dynamic);
        const int tiles = p.binary64.tiles;
        const int room = td_uniform(td_room_for_all(p.target));
        if (p.open == TD_OPEN_FEW && room != TD_ROOM_UNKNOWN) return;
        if (room == TD_MADE || (p.has_whole && room == TD_ROOM))
            count_member(p);
        else if (p.makes_all && td_scalar_value(p.target.alpha) == 0.0)
            each_tile<1>(p.target, tiles, [&](int tile) { scale_tile(p.target, tile, tiles); });
        else if (makes_all(p))
            each_tile<passage::BLOCKS>(p.target, tiles, [&](int tile) {
                repair_tile<passage>(p, boxes, place_of_all(p.target, tile, tiles), shared, slabs);
            });
        else
            each_masked_tile(p.target, p.open, [&](int tile) {
                repair_tile<typename passage::single>(p, boxes, place_of(p.target, tile, shared),
                                                      shared, slabs);
            });
    }
}

enum { FEW_STAGES = 2, MANY_STAGES = TD_RING_STAGES };
static_assert(bytes_of_stages(MANY_STAGES) == TD_BINARY64_BYTES, "what routes know");
static_assert(td_binary64_block(TD_BINARY64_TMA_K) == K_STEP &&
                  td_binary64_block(TD_BINARY64_TMA_K - 1) < K_STEP,
              "what routes know");

template <template <int, bool, bool> class passage, int stages>
auto kernel_for(bool along_a, bool along_b)
{
    return along_a   ? along_b ? binary64_kernel<passage<stages, true, true>>
                               : binary64_kernel<passage<stages, true, false>>
             : along_b ? binary64_kernel<passage<stages, false, true>>
                     : binary64_kernel<passage<stages, false, false>>;
}

template <template <int, bool, bool> class passage, int stages, class parameter>
cudaError_t launch(const td_repair *p, const parameter &boxes, dim3 grid, cudaStream_t stream)
{
    const auto kernel =
        kernel_for<passage, stages>(p->operand[0].k_step == 1, p->operand[1].k_step == 1);
#if TD_HAS_CUDA_DEVICE
    if (passage<stages, true, true>::BLOCKS > 1)
        return TD_LAUNCH_CLUSTERS(kernel, grid, (passage<stages, true, true>::BLOCKS), THREADS,
                                  bytes_of_stages(stages), stream, *p, boxes);
#endif
    return TD_LAUNCH_NEXT(kernel, grid, THREADS, bytes_of_stages(stages), stream, *p, boxes);
}

template <template <int, bool, bool> class passage, int stages>
cudaError_t allow_shared(cudaError_t error)
{
    for (int i = 0; i < 4; i++)
        error = td_allow_shared(error, kernel_for<passage, stages>(i % 2 != 0, i / 2 != 0),
                                bytes_of_stages(stages));
    return error;
}

/* ---- boxes ---- */

#if TD_HAS_CUDA_DEVICE

/* False if an operand's elements cannot be copied in boxes. */
bool describe(const td_repair *p, int which, int batch, CUtensorMap *map)
{
    static_assert((int)K_STEP == (int)TD_BOX, "a row of a slab is one of a box");
    const td_view &o = p->operand[which];
    const int rows = o.k_step == 1 ? (int)BOX_LINES : (int)K_STEP;
    return td_describe_view(map, o, o.k, p->target.batch_first, batch, rows, TD_BOX_SHARED);
}

/* Launches a kernel that copies boxes. False if the driver describes no such boxes: the accelerator
 * has more limits than routes know. */
bool runs_with_boxes(const td_repair *p, int batch, dim3 grid, cudaStream_t stream,
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

#else

bool runs_with_boxes(const td_repair *, int, dim3, cudaStream_t, cudaError_t *) { return false; }

#endif

} // namespace

cudaError_t td_binary64_run(const td_repair *p, int batch, cudaStream_t stream)
{
    const td_binary64_route route = p->binary64.route;
    const bool has_boxes = route == TD_BINARY64_TMA || route == TD_BINARY64_TMA_PAIR;
    const dim3 grid((unsigned)p->binary64.blocks, 1, (unsigned)batch);
    cudaError_t error = cudaSuccess;
    if (has_boxes && runs_with_boxes(p, batch, grid, stream, &error)) return error;
    return route == TD_BINARY64_FEW_STAGES
               ? launch<by_threads, FEW_STAGES>(p, no_boxes{}, grid, stream)
               : launch<by_threads, MANY_STAGES>(p, no_boxes{}, grid, stream);
}

cudaError_t td_binary64_prepare(void)
{
    cudaError_t error = allow_shared<by_threads, FEW_STAGES>(cudaSuccess);
    error = allow_shared<by_threads, MANY_STAGES>(error);
#if TD_HAS_CUDA_DEVICE
    error = allow_shared<by_boxes, MANY_STAGES>(error);
    error = allow_shared<by_box_pairs, MANY_STAGES>(error);
#endif
    return error;
}
