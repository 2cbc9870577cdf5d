/* measure.cu - measures operands tile by tile: what the Ozaki family must know before it cuts them,
 * which is the norm, the mean magnitude and the exactness of every line, and the shifts along k.
 * All of it is whole numbers, the same on every device. */
#include "../device/divisor.h"
#include "block_lines.h"
#include "tops.h"

size_t td_chunk_bytes(void) { return sizeof(chunk); }

/* ---- chunks to lines ---- */

/* A block has so many lines, and groups of its threads share their chunks. Few lines of many chunks
 * go to more blocks, many lines of few chunks to fewer, so that all blocks run at a time. */
enum {
    FEW_LINES = 4,
    MANY_CHUNKS = 128,
    USUAL_LINES = 32,
    MANY_LINES = 128,
    FEW_CHUNKS = 16,
    MANY_BLOCKS = 512 /* of MANY_LINES */
};

static int lines_of_block(const td_measure *p, int lines, int chunks)
{
    const int64_t all = (int64_t)lines * 2 * p->batch;
    if (chunks > MANY_CHUNKS) return FEW_LINES;
    return chunks <= FEW_CHUNKS && all >= (int64_t)MANY_BLOCKS * MANY_LINES ? MANY_LINES
                                                                            : USUAL_LINES;
}

/* Grid: see block_lines. */
template <int lines>
static __global__ void __launch_bounds__(THREADS)
    lines_kernel(TD_PARAMETER td_measure p, int line_first, int chunks, int passes)
{
    td_begin_kernel();
    TD_SHARED(line_parts<lines>, parts, );
    const block_lines<lines> own(p, line_first);
    if (!own.has_any(p) || measures_none(p)) return;
    if (passes & PLAIN) {
        const td_line made = make_records<lines>(p, own, chunks, false, parts);
        own.store(p, p.line, made);
        for (int o = own.which; p.extremes && o <= (p.is_gram ? 1 : own.which); o++)
            see_records(p, own, made, o);
    }
    if (!(passes & AGAIN) || !p.shifted[own.batch]) return;
    __syncthreads();
    const td_line again = make_records<lines>(p, own, chunks, true, parts);
    own.store(p, p.line_again, again);
    if (p.extremes) see_shifted(p, own, again);
    close_lines<lines>(p, own.which, own.batch, own.counts ? *own.records(p, p.line) : again, again,
                       own.counts);
}

/* ---- tiles ---- */

/* A tile is a chunk of TD_TILE lines. These are the tiles of all lines from line_first on, of both
 * operands of all members; tiles that are neighbours in memory follow one another. */
namespace
{
struct tiles {
    int line_first, of_a, count;          /* of_a: of one matrix */
    td_divisor chunks, strips[2], member; /* tiles of a line, of a chunk, of a member */
};
} // namespace

static tiles tiles_of(const td_measure *p, int line_first, int lines)
{
    const int chunks = (int)((p->operand[0].k + TD_CHUNK - 1) / TD_CHUNK);
    int strips[2];
    for (int o = 0; o < 2; o++)
        strips[o] = td_tiles(max(0, min(lines, lines_read(*p, o) - line_first)));
    const int member = chunks * (strips[0] + strips[1]);
    return {line_first,
            chunks * strips[0],
            member * p->batch,
            td_divisor_of(chunks),
            {td_divisor_of(max(1, strips[0])), td_divisor_of(max(1, strips[1]))},
            td_divisor_of(member)};
}

namespace
{
struct place {
    int which, batch, in_strip, line0, chunk; /* in_strip: of the lines measured together */
};
} // namespace

TD_DEVICE place place_of(const td_measure &p, const tiles &t, int number)
{
    int in_matrix, chunk, strip;
    const int batch = td_divide(number, t.member, &in_matrix), which = in_matrix >= t.of_a;
    if (which) in_matrix -= t.of_a;
    if (p.operand[which].k_step == 1)
        strip = td_divide(in_matrix, t.chunks, &chunk);
    else
        chunk = td_divide(in_matrix, t.strips[which], &strip);
    return {which, batch, strip * TD_TILE, t.line_first + strip * TD_TILE, chunk};
}

/* The largest exponents along k of both operands, for a tile's elements of k. */
struct tops_of_tile {
    int32_t of[2][TD_CHUNK];
};

/* Starts the copies of a tile's largest exponents along k. */
TD_DEVICE void copy_tops(const td_measure &p, const place &at, tops_of_tile &tops)
{
    const int o = (int)threadIdx.x / TD_CHUNK, own = (int)threadIdx.x % TD_CHUNK;
    const int64_t l = (int64_t)at.chunk * TD_CHUNK + own, k = p.operand[0].k;
    if (o < 2 && l < k) td_async_copy<4>(&tops.of[o][own], &p.scratch.tops[o][at.batch * k + l]);
}

/* Sets the shifts of a tile's elements of k. The first tiles of op(A) store them for later
 * kernels. */
TD_DEVICE void find_shifts(const td_measure &p, const place &at, const tops_of_tile &tops,
                           shifts_of_tile &shifts)
{
    const int own = (int)threadIdx.x, part = part_of_element(own % TD_CHUNK),
              i = own / (2 * PARTS) * 2 + own % 2;
    const int64_t l0 = (int64_t)at.chunk * TD_CHUNK, left = p.operand[0].k - l0;
    if (own < TD_CHUNK) {
        const int shift = own >= left ? 0 : shift_of_tops(tops.of[0][own], tops.of[1][own]);
        shifts.of[part][i / TD_SUBTILE].of[i % TD_SUBTILE] = at.which ? -shift : shift;
        if (own < left && at.which == 0 && at.line0 == 0)
            p.shift[at.batch * p.operand[0].k + l0 + own] = (int16_t)shift;
    }
    __syncthreads();
}

/* The largest exponents along k of a tile, over each warp's own lines. */
struct shared_tops {
    int of[WARPS][TD_CHUNK];
};

TD_DEVICE raised_tops raised_by(const td_measure &p, const place &at)
{
    const int64_t l0 = (int64_t)at.chunk * TD_CHUNK, k = p.operand[0].k;
    return {p.scratch.tops[at.which] + at.batch * k + l0,
            p.scratch.bounds[at.which] + 2 * (at.batch * td_bounds(k) + l0 / TD_BOUND),
            (int)min((int64_t)TD_CHUNK, k - l0), p.has_parts};
}

/* True if lines may be measured again: only then does anybody ask for the largest exponents along
 * k. */
TD_DEVICE bool asks_tops(const td_measure &p)
{
    return !p.is_gram && !p.is_measured_once && !td_is_by_lines(p.probed.looseness);
}

/* The largest exponents along k of a tile, if it `asks` for them, raised by two of the block's
 * warps, others each time. All threads take part. */
template <bool along, class function>
TD_DEVICE void measure_tops(const td_measure &p, const place &at, bool asks, const uint64_t *tile,
                            unsigned turn, shared_tops &top, function then)
{
    if (!asks) {
        __syncthreads();
        then();
        return;
    }
    const int tid = td_fresh((int)threadIdx.x), warp = tid / 32,
              l = tid - (int)(turn % (THREADS / TD_CHUNK)) * TD_CHUNK;
    const bool raises = l >= 0 && l < TD_CHUNK;
    const seen_tops seen = see_tops(raised_by(p, at), l);
    if (td_skips(at.line0 + warp * WARP_LINES >= p.operand[at.which].lines))
        clear_tops(top.of[warp]);
    else
        find_tops<along>(tile, warp * WARP_LINES, top.of[warp]);
    __syncthreads();
    then();
    if (raises) raise_tops(raised_by(p, at), top.of, l, seen);
}

/* Measures a chunk of each line of a tile; each warp does its own lines. */
template <bool again, bool along>
TD_DEVICE void measure_chunks(const td_measure &p, const place &at, int chunks,
                              const uint64_t *tile, const shifts_of_tile &shifts)
{
    const int line = td_fresh((int)threadIdx.x / 32) * WARP_LINES;
    const int64_t left = p.operand[0].k - (int64_t)at.chunk * TD_CHUNK;
    chunk *const to =
        static_cast<chunk *>((again ? p.scratch.chunks_again : p.scratch.chunks)[at.which]) +
        ((int64_t)at.batch * chunks + at.chunk) * p.scratch.strip_lines + at.in_strip + line;
    measure_lines_of_tile<again, along>(tile, line, p.operand[at.which].lines - at.line0 - line,
                                        (int)min((int64_t)TD_CHUNK, left), shifts, to);
}

/* Measures a tile: its largest exponents along k, if it `asks` for them, and its chunks, or, if
 * `again`, its chunks with shifts. All threads take part. Calls then() when all of them have
 * measured the tile before. */
template <bool again, class function>
TD_DEVICE void measure_tile(const td_measure &p, const place &at, bool asks, int chunks,
                            const uint64_t *tile, unsigned turn, const tops_of_tile &tops,
                            function then)
{
    TD_SHARED(shared_tops, top, [2]); /* warps may be a tile apart */
    TD_SHARED(shifts_of_tile, shifts, );
    if (again) find_shifts(p, at, tops, shifts);
    if (p.operand[at.which].k_step == 1) {
        if (!again) measure_tops<true>(p, at, asks, tile, turn, top[turn % 2], then);
        measure_chunks<again, true>(p, at, chunks, tile, shifts);
    } else {
        if (!again) measure_tops<false>(p, at, asks, tile, turn, top[turn % 2], then);
        measure_chunks<again, false>(p, at, chunks, tile, shifts);
    }
}

/* ---- all of it ---- */

/* Blocks of a multiprocessor, and tiles that each has in shared memory, where these fit. */
enum { BLOCKS = 2, STAGES = 3, TILE_BYTES = 8 * tile_shape::size };

/* Whether a block's tiles are to be measured: all; again only those of members with shifts. The
 * first tile of a member leaves word of it. All threads take part. */
template <bool again> struct needs {
    int member;
    bool is_shifted;

    TD_DEVICE bool of(needs &n, const td_measure &p, const place &at)
    {
        if (again && at.batch != n.member) {
            n.member = at.batch;
            n.is_shifted = (p.batch == 1 || may_spread(p, at.batch, 1)) && spreads(p, at.batch);
        }
        if (again && at.which == 0 && at.line0 == 0 && at.chunk == 0 && threadIdx.x == 0)
            p.shifted[at.batch] = n.is_shifted;
        return !again || n.is_shifted;
    }
};

/* Units without shifts, and the largest exponents along k; or again with shifts, where there are
 * any. With several stages tiles are copied while one before is measured. Blocks that run together
 * have neighbouring tiles, which memory likes.
 * Grid: as many blocks as there are places. */
template <bool again, int stages>
static __global__ void __launch_bounds__(THREADS, BLOCKS)
    measure_kernel(TD_PARAMETER td_measure p, TD_PARAMETER tiles all)
{
    TD_SHARED(tops_of_tile, tops, [stages]);
    TD_DYNAMIC_SHARED(uint64_t, tile);
    td_begin_kernel();
    if (measures_none(p)) return;
    int next = (int)blockIdx.x, own = next;
    unsigned needed = 0, turn = 0; /* needed: a bit for each stage */
    needs<again> need = {-1, false};
    const bool asks = asks_tops(p);
    if (again && (!asks || !may_spread(p, 0, p.batch))) return;
    td_async_pipeline<stages>(
        td_tiles_of_block(all.count),
        [&](int stage) {
            const place at = place_of(p, all, next);
            const td_view &o = p.operand[at.which];
            next += (int)gridDim.x;
            needed &= ~(1u << stage);
            if (!needs<again>::of(need, p, at)) return;
            needed |= 1u << stage;
            td_copy_line_tile<tile_shape>(
                o, td_member<const double>(o.matrix, p.batch_first + at.batch), at.line0,
                (int64_t)at.chunk * TD_CHUNK, o.k, tile + stage * tile_shape::size);
            if (again) copy_tops(p, at, tops[stage]);
        },
        [&](int stage) {
            const place at = place_of(p, all, own);
            own += (int)gridDim.x;
            if (!(needed >> stage & 1)) return;
            measure_tile<again>(p, at, asks, all.chunks.by, tile + stage * tile_shape::size, turn++,
                                tops[stage], [] {});
        });
}

/* Grid: any blocks. */
static __global__ void clear_kernel(const td_measure p)
{
    td_wait_for_last(); /* first: the next kernel reads operands as soon as it begins */
    td_let_next_begin();
    const int64_t first = blockIdx.x * (int64_t)blockDim.x + threadIdx.x,
                  step = (int64_t)gridDim.x * blockDim.x;
    clear_share(p, first, step);
}

static void (*kernel_of(bool again, int stages))(td_measure, tiles)
{
    if (again) return stages == STAGES ? measure_kernel<true, STAGES> : measure_kernel<true, 1>;
    return stages == STAGES ? measure_kernel<false, STAGES> : measure_kernel<false, 1>;
}

#if TD_HAS_CUDA_DEVICE

/* A block's tiles in shared memory, and where they are. */
template <int stages> struct stages_of_boxes {
    uint64_t full[stages];
    place at[stages];
};

/* Asks for a tile's boxes, by one thread. */
template <int stages>
TD_DEVICE void fetch_boxes(const td_measure &p, const place &at, const td_view_boxes &boxes,
                           int stage, stages_of_boxes<stages> &to, uint64_t *tile)
{
    to.at[stage] = at;
    td_copy_line_boxes<tile_shape>(p.operand[at.which], &boxes.of[at.which], at.batch, at.line0,
                                   at.chunk * TD_CHUNK, tile + stage * tile_shape::size,
                                   &to.full[stage]);
}

/* measure_kernel<false, stages> by boxes, which one warp after the other asks for. */
template <int stages>
static __global__ void __launch_bounds__(THREADS, BLOCKS)
    measure_boxes_kernel(TD_PARAMETER td_measure p, TD_PARAMETER tiles all,
                         TD_PARAMETER td_view_boxes boxes)
{
#if TD_HAS_BOXES
    TD_SHARED(stages_of_boxes<stages>, shared, );
    TD_DYNAMIC_SHARED(uint64_t, dynamic);
    uint64_t *const tile = td_first_box(dynamic);
    td_let_next_begin();
    if (threadIdx.x < stages) {
        td_barrier_start(&shared.full[threadIdx.x], 1);
        td_barriers_started();
    }
    __syncthreads();
    td_wait_for_last();
    if (measures_none(p)) return;
    const bool asks = asks_tops(p);
    const int steps = td_tiles_of_block(all.count), warp = td_uniform((int)threadIdx.x / 32);
    const auto fetch = [&](int step, int stage) {
        if (step < steps && step % WARPS == warp && td_is_elected())
            fetch_boxes(p, place_of(p, all, (int)(blockIdx.x + step * gridDim.x)), boxes, stage,
                        shared, tile);
        __syncwarp();
    };
    for (int s = 0; s < stages - 1; s++) fetch(s, s);
    int stage = 0;
    uint32_t parity = 0;
    TD_ROLLED
    for (int step = 0; step < steps; step++) {
        td_barrier_wait(&shared.full[stage], parity);
        measure_tile<false>(p, shared.at[stage], asks, all.chunks.by,
                            tile + stage * tile_shape::size, (unsigned)step, tops_of_tile{},
                            [&] { fetch(step + stages - 1, stage == 0 ? stages - 1 : stage - 1); });
        stage = stage + 1 == stages ? 0 : stage + 1;
        if (stage == 0) parity ^= 1;
    }
#endif
}

enum { BOX_BYTES = STAGES * TILE_BYTES + TD_BOX_ALIGNMENT };

/* Launches the kernel that copies boxes. False if the driver describes no such boxes: the
 * accelerator has more limits than routes know. */
static bool measures_boxes(const td_measure *p, const tiles &all, unsigned blocks,
                           cudaStream_t stream, cudaError_t *error)
{
    td_view_boxes boxes;
    if (!td_describe_line_boxes<tile_shape>(&boxes, p->operand, p->operand[0].k, p->batch_first,
                                            p->batch))
        return false;
    *error = TD_LAUNCH_NEXT(measure_boxes_kernel<STAGES>, blocks, THREADS, BOX_BYTES, stream, *p,
                            all, boxes);
    return true;
}

static cudaError_t prepare_boxes(cudaError_t error)
{
    error = td_load(error, measure_boxes_kernel<STAGES>);
    return td_allow_shared(error, measure_boxes_kernel<STAGES>, BOX_BYTES);
}

bool td_tma_exists(void) { return td_has_code<measure_boxes_kernel<STAGES>>(); }

#else

bool td_tma_exists(void) { return false; }

static bool measures_boxes(const td_measure *, const tiles &, unsigned, cudaStream_t, cudaError_t *)
{
    return false;
}

static cudaError_t prepare_boxes(cudaError_t error) { return error; }

#endif

/* Measures tiles without shifts, or again with them. */
static cudaError_t measure_tiles(const td_measure *p, const tiles &all, bool again,
                                 cudaStream_t stream)
{
    int multiprocessors = 0, stages = 1;
    cudaError_t error = td_multiprocessors(&multiprocessors);
    if (error == cudaSuccess) error = td_stages_of_blocks(BLOCKS, TILE_BYTES, STAGES, &stages);
    if (error != cudaSuccess) return error;
    const unsigned blocks = (unsigned)min(BLOCKS * multiprocessors, all.count);
    if (!again && p->route == TD_MEASURE_TMA && measures_boxes(p, all, blocks, stream, &error))
        return error;
    return TD_LAUNCH_NEXT(kernel_of(again, stages), blocks, THREADS, stages * TILE_BYTES, stream,
                          *p, all);
}

/* True if lines may be measured again with shifts. */
static bool may_measure_again(const td_measure *p) { return !p->is_gram && !p->is_measured_once; }

/* Measures strips of lines without shifts, or again with them, and makes their records; where one
 * strip has all lines, records of both are made together, after the second time. */
static cudaError_t measure_strips(const td_measure *p, bool again, cudaStream_t stream)
{
    const int lines = max(lines_read(*p, 0), lines_read(*p, 1));
    const bool together = lines <= p->scratch.strip_lines && may_measure_again(p);
    cudaError_t error = cudaSuccess;
    for (int first = 0; first < lines && error == cudaSuccess; first += p->scratch.strip_lines) {
        const int count = min(p->scratch.strip_lines, lines - first);
        const tiles all = tiles_of(p, first, count);
        error = measure_tiles(p, all, again, stream);
        if (error != cudaSuccess || (together && !again)) continue;
        const int own = lines_of_block(p, count, all.chunks.by);
        const dim3 groups((unsigned)((count + own - 1) / own), 1, 2 * (unsigned)p->batch);
        error = TD_LAUNCH_NEXT(own == FEW_LINES     ? lines_kernel<FEW_LINES>
                               : own == USUAL_LINES ? lines_kernel<USUAL_LINES>
                                                    : lines_kernel<MANY_LINES>,
                               groups, THREADS, 0, stream, *p, first, all.chunks.by,
                               together ? PLAIN | AGAIN
                               : again  ? AGAIN
                                        : PLAIN);
    }
    return error;
}

cudaError_t td_measure_clear(const td_measure *p, cudaStream_t stream)
{
    /* One on the host device, where each thread takes its own time. */
    enum { BLOCKS_OF_CLEAR = TD_HAS_CUDA_DEVICE ? 64 : 1 };
    return p->begins_early ? TD_LAUNCH_NEXT(clear_kernel, BLOCKS_OF_CLEAR, THREADS, 0, stream, *p)
                           : TD_LAUNCH(clear_kernel, BLOCKS_OF_CLEAR, THREADS, 0, stream, *p);
}

cudaError_t td_measure_run(const td_measure *p, cudaStream_t stream)
{
    cudaError_t error = td_measure_clear(p, stream);
    if (error != cudaSuccess) return error;
    if (p->route == TD_MEASURE_WHOLE) return td_measure_whole_run(p, stream);
    error = measure_strips(p, false, stream);
    return error == cudaSuccess && may_measure_again(p) ? measure_strips(p, true, stream) : error;
}

cudaError_t td_measure_prepare(void)
{
    cudaError_t error = td_load(td_measure_whole_prepare(), clear_kernel, lines_kernel<FEW_LINES>,
                                lines_kernel<USUAL_LINES>, lines_kernel<MANY_LINES>);
    for (const int stages : {1, (int)STAGES})
        for (const bool again : {false, true}) {
            error = td_load(error, kernel_of(again, stages));
            error = td_allow_shared(error, kernel_of(again, stages), stages * TILE_BYTES);
        }
    return prepare_boxes(error);
}
