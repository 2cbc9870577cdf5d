/* multiply.h - products of panels: tiles of 64 x 64, one thread block each.
 *
 * A template argument `format` is an arithmetic, as in multifloat_join.h, and moreover
 *   blocks               thread blocks that share a multiprocessor
 *   components                of an operand's element in its panel
 *   block                terms between flushes
 *   sums                 what a thread keeps for its elements, of the current block and superblock
 *                        of terms
 *   clear(s)             begins a superblock
 *   accumulate<first>(s, a, b)
 *                        one element of k; a, b: rows [component][64] of the panels at this
 *                        thread's first line
 *   flush(s)             ends a block; renormalise(s) follows every 32 terms
 *   finish(s, v)         ends a superblock: v[i cols + j] is the sum of element (i, j)
 *   add(value, value)    sums of superblocks
 *
 * What limits the kernels on current GPUs is the register file's read ports: an FFMA with three
 * fresh operands issues at about 0.6 of the full rate. So multiply-accumulates run in groups in
 * lock step, one operation after another, that neighbouring FMAs share an operand; fences keep the
 * compiler from mixing the phases again (docs/kernels/multifloat.md). */
#ifndef TD_MULTIFLOAT_MULTIPLY_H
#define TD_MULTIFLOAT_MULTIPLY_H

#include "../device/async_copy.h"
#include "join.h"
#include "pack.h"
#include "../arithmetic/order.h"

/* An instruction that the scheduler does not move others across; it does nothing else (an event
 * that only a profiler counts). */
#if defined(__CUDA_ARCH__) && !defined(TD_NO_FENCES)
#define TD_SCHEDULE_FENCE() asm volatile("pmevent 0;")
#else
#define TD_SCHEDULE_FENCE() ((void)0)
#endif

/* The q-th column of row i for a loop of FMAs on a device: neighbours then share an operand also
 * from row to row. */
TD_DEVICE constexpr int td_back_and_forth(int i, int q, int cols)
{
    return i % 2 ? cols - 1 - q : q;
}

/* Four neighbouring numbers of a panel. */
TD_DEVICE void td_load4(float *to, const float *from)
{
    const float4 x = *reinterpret_cast<const float4 *>(from);
    to[0] = x.x, to[1] = x.y, to[2] = x.z, to[3] = x.w;
}

TD_DEVICE void td_load4(double *to, const double *from)
{
    const double2 x = *reinterpret_cast<const double2 *>(from);
    const double2 y = *reinterpret_cast<const double2 *>(from + 2);
    to[0] = x.x, to[1] = x.y, to[2] = y.x, to[3] = y.y;
}

/* An element of k for one thread: components of its rows and columns. */
template <class format> struct td_term {
    typename format::real a[format::components][td_tile<format>::rows];
    typename format::real b[format::components][td_tile<format>::cols];
};

template <class format>
TD_DEVICE void td_load_term(td_term<format> &x, const typename format::real *a,
                            const typename format::real *b)
{
    TD_UNROLL
    for (int p = 0; p < format::components; p++) {
        td_load4(x.a[p], a + p * TD_TILE);
        TD_UNROLL
        for (int g = 0; g < td_tile<format>::cols; g += TD_SUBTILE)
            td_load4(x.b[p] + g, b + td_col_step(g) + p * TD_TILE);
    }
}

/* The running sum of a tile: T <- T + S, or T <- S for the first superblock. */
template <class format>
TD_DEVICE void td_carry(const typename format::value *s, typename format::value *running,
                        bool first)
{
    TD_UNROLL
    for (int e = 0; e < td_tile<format>::elements; e++) {
        typename format::value *slot = running + e * td_tile<format>::threads;
        *slot = first ? s[e] : format::add(*slot, s[e]);
    }
}

/* Blocks of neighbouring indices take tiles of 16 tile rows before the next 16, which keeps panels
 * in the L2. */
TD_DEVICE void td_tile_of_block(int first, int m_tiles, int n_tiles, int *tile_m, int *tile_n)
{
    const int group = 16, index = first + (int)blockIdx.x, g = index / (group * n_tiles);
    const int rest = index % (group * n_tiles), height = min(group, m_tiles - g * group);
    *tile_m = g * group + rest % height;
    *tile_n = rest / height;
}

/* What one block has to do. */
template <class format> struct td_work {
    int tile_m, tile_n;
    int64_t steps;                      /* k tiles */
    const typename format::real *a, *b; /* this thread's share of the first k tile of both panels */
    /* this thread's share of the running sum, or of the first superblock's sum */
    typename format::value *slot;
    int64_t next_slot; /* from one superblock's sum to the next; 0: there is one running sum */
};

template <class format, int k_tile> struct td_shape {
    enum {
        stage = format::components * k_tile * TD_TILE, /* numbers of one operand's k tile */
        per_copy = 16 / (int)sizeof(typename format::real),
        stage_bytes = 2 * 2 * stage * (int)sizeof(typename format::real),
        sum_bytes = TD_TILE * TD_TILE * (int)sizeof(typename format::value),
        superblock_steps = TD_SUPERBLOCK / k_tile,
        renormalise_steps = TD_RENORMALISE / k_tile
    };
};

template <class format, int k_tile>
TD_DEVICE td_work<format> td_work_of_block(const td_multiply &p, typename format::value *in_shared)
{
    using shape = td_shape<format, k_tile>;
    using real = typename format::real;
    constexpr int tile_elements = TD_TILE * TD_TILE;
    const int m_tiles = td_tiles(p.output.target.m), n_tiles = td_tiles(p.output.target.n);
    const int64_t tiles = p.tile_count, batch = blockIdx.z;
    const int64_t all_steps = p.k_tiles * (TD_K_TILE / k_tile);
    const int64_t superblocks = (all_steps + shape::superblock_steps - 1) / shape::superblock_steps;
    const int64_t share = (superblocks + gridDim.y - 1) / gridDim.y, first = blockIdx.y * share;
    const int64_t begin = first * shape::superblock_steps, strip = all_steps * shape::stage;
    const int64_t from = begin * shape::stage + shape::per_copy * threadIdx.x;

    td_work<format> w;
    td_tile_of_block(p.tile_first, m_tiles, n_tiles, &w.tile_m, &w.tile_n);
    w.steps = min(all_steps, (first + share) * shape::superblock_steps) - begin;
    w.a = static_cast<const real *>(p.panel[0]) + (batch * m_tiles + w.tile_m) * strip + from;
    w.b = static_cast<const real *>(p.panel[1]) + (batch * n_tiles + w.tile_n) * strip + from;
    w.next_slot = p.slots > 1 ? tiles * tile_elements : 0;
    w.slot = in_shared;
    if (p.sums)
        w.slot = static_cast<typename format::value *>(p.sums) + first * w.next_slot +
                 (batch * p.slots * tiles + blockIdx.x) * tile_elements;
    w.slot += threadIdx.x;
    return w;
}

/* Starts the copies of the next k tile of both panels to `stage`. */
template <class format, int k_tile>
TD_DEVICE void td_fetch(td_work<format> &w, typename format::real *stage)
{
    using shape = td_shape<format, k_tile>;
    constexpr int apart = shape::per_copy * td_tile<format>::threads;
    typename format::real *a = stage + shape::per_copy * threadIdx.x, *b = a + shape::stage;
    static_assert(shape::stage % apart == 0, "every thread copies the same number of bytes");
    TD_UNROLL
    for (int i = 0; i < shape::stage; i += apart) {
        td_async_copy16(a + i, w.a + i);
        td_async_copy16(b + i, w.b + i);
    }
    w.a += shape::stage;
    w.b += shape::stage;
}

/* Adds the products of a k tile, block after block. The first two terms of a block stand before the
 * loop: the first needs no sums to be cleared, and an even number of terms in the loop needs no
 * moves between registers. */
template <class format, int k_tile>
TD_DEVICE void td_multiply_stage(typename format::sums &s, const typename format::real *stage)
{
    constexpr int term = format::components * TD_TILE;
    const typename format::real *a = stage + td_thread_row();
    const typename format::real *b =
        stage + td_shape<format, k_tile>::stage + td_thread_col<format>();
    TD_UNROLL_N(1)
    for (int block = 0; block < k_tile; block += format::block) {
        format::template accumulate<true>(s, a, b);
        format::template accumulate<false>(s, a + term, b + term);
        TD_UNROLL_N(2)
        for (int l = 2; l < format::block; l++)
            format::template accumulate<false>(s, a + l * term, b + l * term);
        a += format::block * term;
        b += format::block * term;
        format::flush(s);
    }
}

/* Grid: tile, share of k, batch member. k_tile divides TD_K_TILE. */
template <class format, int k_tile>
static __global__ void __launch_bounds__(td_tile<format>::threads, format::blocks)
    td_multiply_kernel(const td_multiply p)
{
    using shape = td_shape<format, k_tile>;
    using value = typename format::value;
    using real = typename format::real;
    TD_DYNAMIC_SHARED(real,
                      shared); /* [2 stages][a, b][k_tile][component][64], then the running sum */
    constexpr int stage = 2 * shape::stage, elements = td_tile<format>::elements;
    td_work<format> w =
        td_work_of_block<format, k_tile>(p, reinterpret_cast<value *>(shared + 2 * stage));
    const bool zero = p.output.type == TD_BINARY64 && td_scalar_value(p.output.target.alpha) == 0.0;
    const int64_t steps = zero ? 0 : w.steps; /* then the panels hold nothing */
    bool is_first = !p.resume;                /* no running sum to add to */
    int in_superblock = 0;
    typename format::sums s;
    value total[elements];

    if (!td_has_tile_at(p.output.target, w.tile_m, w.tile_n)) return; /* the whole block */
    const bool is_idle = td_skips(td_is_outside<format>(p.output.target, w.tile_m, w.tile_n));
    format::clear(s);
    if (steps > 0) td_fetch<format, k_tile>(w, shared);
    td_async_copy_commit();
    for (int64_t step = 0; step < steps; step++) {
        td_async_copy_wait<0>();
        __syncthreads(); /* this stage is there, and nobody reads the other any more */
        if (step + 1 < steps) td_fetch<format, k_tile>(w, shared + (~step & 1) * stage);
        td_async_copy_commit();
        if (!is_idle) td_multiply_stage<format, k_tile>(s, shared + (step & 1) * stage);
        if ((step + 1) % shape::renormalise_steps == 0) format::renormalise(s);
        if (++in_superblock == shape::superblock_steps && step + 1 < steps) {
            format::finish(s, total);
            td_carry<format>(total, w.slot, is_first || w.next_slot);
            w.slot += w.next_slot;
            format::clear(s);
            is_first = false;
            in_superblock = 0;
        }
    }
    format::finish(s, total);
    if (w.next_slot || !p.finish) {
        if (steps > 0) td_carry<format>(total, w.slot, is_first || w.next_slot);
        return;
    }
    if (!is_first && !zero) {
        TD_UNROLL
        for (int e = 0; e < elements; e++)
            total[e] = format::add(w.slot[e * td_tile<format>::threads], total[e]);
    }
    td_join_tile<format>(p.output, total, w.tile_m, w.tile_n);
}

static inline dim3 td_tile_grid(const td_multiply *p, int blocks, int batch)
{
    return dim3((unsigned)p->tile_count, (unsigned)blocks, (unsigned)batch);
}

template <class format, int k_tile>
static cudaError_t td_multiply_launch(const td_multiply *p, int batch, int blocks,
                                      cudaStream_t stream)
{
    using shape = td_shape<format, k_tile>;
    const bool carries = p->k_tiles > TD_SUPERBLOCK / TD_K_TILE && !p->sums;
    const size_t shared = shape::stage_bytes + (size_t)(carries ? shape::sum_bytes : 0);
    return TD_LAUNCH((td_multiply_kernel<format, k_tile>), td_tile_grid(p, blocks, batch),
                     td_tile<format>::threads, shared, stream, *p);
}

/* Allows as much shared memory as a launch may take, if the device has it. */
template <class format, int k_tile> static cudaError_t td_multiply_prepare(cudaError_t error)
{
    using shape = td_shape<format, k_tile>;
    return td_allow_shared(error, td_multiply_kernel<format, k_tile>,
                           (int)shape::stage_bytes + (int)shape::sum_bytes);
}

/* Sums of superblocks that several blocks made, in order, then the join. Grid: tile, 1, batch
 * member. */
template <class format>
static __global__ void __launch_bounds__(td_tile<format>::threads)
    td_join_kernel(const td_multiply p)
{
    using value = typename format::value;
    const int m_tiles = td_tiles(p.output.target.m), n_tiles = td_tiles(p.output.target.n);
    const int64_t tiles = p.tile_count;
    const bool zero = p.output.type == TD_BINARY64 && td_scalar_value(p.output.target.alpha) == 0.0;
    const value *slot = static_cast<const value *>(p.sums) +
                        (blockIdx.z * p.slots * tiles + blockIdx.x) * (TD_TILE * TD_TILE) +
                        threadIdx.x;
    value s[td_tile<format>::elements] = {};
    int tile_m, tile_n;
    td_tile_of_block(p.tile_first, m_tiles, n_tiles, &tile_m, &tile_n);
    if (!td_has_tile_at(p.output.target, tile_m, tile_n)) return;
    for (int t = 0; t < p.slots && !zero; t++) {
        TD_UNROLL
        for (int e = 0; e < td_tile<format>::elements; e++) {
            const value x = slot[e * td_tile<format>::threads];
            s[e] = t ? format::add(s[e], x) : x;
        }
        slot += tiles * (TD_TILE * TD_TILE);
    }
    td_join_tile<format>(p.output, s, tile_m, tile_n);
}

template <class format>
static cudaError_t td_join_launch(const td_multiply *p, int batch, cudaStream_t stream)
{
    return TD_LAUNCH(td_join_kernel<format>, td_tile_grid(p, 1, batch), td_tile<format>::threads, 0,
                     stream, *p);
}

#endif
