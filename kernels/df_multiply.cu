/* df_multiply.cu - products of double-float panels: 64 x 64 tiles, 128 threads with 4 x 8 sums each.
 *
 * What limits the kernel on current GPUs is the register file's read ports: an FFMA with three fresh operands
 * issues at about 0.6 of the full rate. So multiply-accumulates run in groups of 2 x 8 in lock step, one operation of
 * td_df_accumulate after another, that neighbouring FFMAs share an operand; fences keep the compiler from mixing the
 * phases again (docs/kernels.md). */
#include "df_join.h"

enum { GROUP_ROWS = 2 };

/* An instruction that the scheduler does not move others across; it does nothing else (an event that only a
 * profiler counts). */
#if defined(__CUDA_ARCH__) && !defined(TD_NO_FENCES)
#define SCHEDULE_FENCE() asm volatile("pmevent 0;")
#else
#define SCHEDULE_FENCE() ((void)0)
#endif

/* Copies of 16 bytes from global to shared memory that run while the multiprocessor computes; direct ones where the
 * device has none. */
TD_DEVICE void copy16(float *shared, const float *global)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                     (unsigned)__cvta_generic_to_shared(shared)),
                 "l"(global));
#else
    *reinterpret_cast<float4 *>(shared) = *reinterpret_cast<const float4 *>(global);
#endif
}

TD_DEVICE void copy_commit()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;");
#endif
}

TD_DEVICE void copy_wait()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group 0;");
#endif
}

/* Four neighbouring binary32. */
TD_DEVICE void load4(float *to, const float *from)
{
    const float4 x = *reinterpret_cast<const float4 *>(from);
    to[0] = x.x, to[1] = x.y, to[2] = x.z, to[3] = x.w;
}

/* The sums of one thread: of the current superblock, and of the current block of 16 terms. */
struct sums : td_df_sums {
    float sum[TD_DF_ROWS][TD_DF_COLS], rest[TD_DF_ROWS][TD_DF_COLS];
};

#define EACH_ELEMENT                                                                               \
    TD_UNROLL for (int i = 0; i < TD_DF_ROWS; i++) TD_LANES for (int j = 0; j < TD_DF_COLS; j++)

TD_DEVICE void clear(td_df_sums &s) { EACH_ELEMENT s.hi[i][j] = s.lo[i][j] = 0.0f; }

/* The block's sum into the superblock's. */
TD_DEVICE void flush(sums &s)
{
    EACH_ELEMENT
    {
        tandem_df x = td_df(s.hi[i][j], s.lo[i][j]);
        td_df_flush(&x, s.sum[i][j], s.rest[i][j]);
        s.hi[i][j] = x.hi;
        s.lo[i][j] = x.lo;
    }
}

TD_DEVICE void renormalise(td_df_sums &s)
{
    EACH_ELEMENT
    {
        tandem_df x = td_df(s.hi[i][j], s.lo[i][j]);
        td_df_renormalise(&x);
        s.hi[i][j] = x.hi;
        s.lo[i][j] = x.lo;
    }
}

/* td_df_accumulate for rows i0, i0 + 1 and all columns, in lock step; td_df_start for the first term of a block. */
template <bool first>
TD_DEVICE void accumulate_group(sums &s, int i0, const float *a_hi, const float *a_lo,
                                const float *b_hi, const float *b_lo)
{
    float h[GROUP_ROWS][TD_DF_COLS], z[GROUP_ROWS][TD_DF_COLS], ds[GROUP_ROWS][TD_DF_COLS],
        dp[GROUP_ROWS][TD_DF_COLS];
#define EACH                                                                                       \
    TD_UNROLL for (int i = 0; i < GROUP_ROWS; i++) TD_LANES for (int j = 0; j < TD_DF_COLS; j++)
    EACH z[i][j] = h[i][j] = td_mul(a_hi[i0 + i], b_hi[j]);
    if (!first) {
        float t[GROUP_ROWS][TD_DF_COLS];
        EACH t[i][j] = td_add(s.sum[i0 + i][j], h[i][j]);
        EACH z[i][j] = td_sub(t[i][j], s.sum[i0 + i][j]);
        EACH ds[i][j] = td_sub(t[i][j], z[i][j]);
        EACH ds[i][j] = td_sub(s.sum[i0 + i][j], ds[i][j]);
        EACH h[i][j] = t[i][j];
    }
    EACH s.sum[i0 + i][j] = h[i][j];
    SCHEDULE_FENCE();
    EACH dp[i][j] = td_fma(a_hi[i0 + i], b_hi[j], -z[i][j]);
    EACH dp[i][j] = td_fma(a_hi[i0 + i], b_lo[j], dp[i][j]);
    EACH dp[i][j] = td_fma(a_lo[i0 + i], b_hi[j], dp[i][j]);
    SCHEDULE_FENCE();
    if (first) {
        EACH s.rest[i0 + i][j] = dp[i][j];
    } else {
        EACH ds[i][j] = td_add(ds[i][j], dp[i][j]);
        EACH s.rest[i0 + i][j] = td_add(s.rest[i0 + i][j], ds[i][j]);
    }
#undef EACH
}

/* One element of k: `a` and `b` point at this thread's first line in a row [hi, lo][64] of the shared panels. */
template <bool first> TD_DEVICE void accumulate(sums &s, const float *a, const float *b)
{
    float a_hi[TD_DF_ROWS], a_lo[TD_DF_ROWS], b_hi[TD_DF_COLS], b_lo[TD_DF_COLS];
    load4(a_hi, a);
    load4(a_lo, a + TD_TILE);
    TD_UNROLL
    for (int g = 0; g < TD_DF_COLS; g += 4) {
        load4(b_hi + g, b + td_df_col_step(g));
        load4(b_lo + g, b + td_df_col_step(g) + TD_TILE);
    }
    TD_UNROLL
    for (int i = 0; i < TD_DF_ROWS; i += GROUP_ROWS)
        accumulate_group<first>(s, i, a_hi, a_lo, b_hi, b_lo);
}

/* The running sum of a tile, in device memory: T <- T + S, or T <- S for the first superblock. */
TD_DEVICE void carry(const td_df_sums &s, tandem_df *running, bool first)
{
    EACH_ELEMENT
    {
        tandem_df x = td_df(s.hi[i][j], s.lo[i][j]);
        tandem_df *slot = running + (i * TD_DF_COLS + j) * TD_DF_THREADS;
        if (!first) x = td_df_add(*slot, x);
        *slot = x;
    }
}

TD_DEVICE void carry_out(td_df_sums &s, const tandem_df *running)
{
    EACH_ELEMENT
    {
        tandem_df x =
            td_df_add(running[(i * TD_DF_COLS + j) * TD_DF_THREADS], td_df(s.hi[i][j], s.lo[i][j]));
        s.hi[i][j] = x.hi;
        s.lo[i][j] = x.lo;
    }
}

/* Blocks of neighbouring indices take tiles of 16 tile rows before the next 16, which keeps panels in the L2. */
TD_DEVICE void tile_of_block(int m_tiles, int n_tiles, int *tile_m, int *tile_n)
{
    const int group = 16, index = (int)blockIdx.x, g = index / (group * n_tiles);
    const int rest = index % (group * n_tiles), height = min(group, m_tiles - g * group);
    *tile_m = g * group + rest % height;
    *tile_n = rest / height;
}

/* What one block has to do. */
struct work {
    int tile_m, tile_n;
    int64_t steps;      /* k tiles */
    const float *a, *b; /* this thread's part of the first k tile of both panels */
    tandem_df *slot;   /* this thread's part of the running sum, or of the first superblock's sum */
    int64_t next_slot; /* from one superblock's sum to the next; 0: there is one running sum */
};

template <int k_tile> struct shape {
    enum {
        stage = 2 * k_tile * TD_TILE, /* floats of one operand's k tile */
        superblock_steps = TD_DF_SUPERBLOCK / k_tile,
        renormalise_steps = TD_DF_RENORMALISE / k_tile
    };
};

template <int k_tile> TD_DEVICE work work_of_block(const td_df_multiply &p, tandem_df *in_shared)
{
    constexpr int tile_elements = TD_TILE * TD_TILE;
    const int m_tiles = td_tiles(p.output.target.m), n_tiles = td_tiles(p.output.target.n);
    const int64_t tiles = (int64_t)m_tiles * n_tiles, batch = blockIdx.z;
    const int64_t all_steps = p.k_tiles * (TD_K_TILE / k_tile);
    const int64_t superblocks =
        (all_steps + shape<k_tile>::superblock_steps - 1) / shape<k_tile>::superblock_steps;
    const int64_t share = (superblocks + gridDim.y - 1) / gridDim.y, first = blockIdx.y * share;
    const int64_t begin = first * shape<k_tile>::superblock_steps;
    const int64_t strip = all_steps * shape<k_tile>::stage;
    const int64_t from = begin * shape<k_tile>::stage + 4 * threadIdx.x;

    work w;
    tile_of_block(m_tiles, n_tiles, &w.tile_m, &w.tile_n);
    w.steps = min(all_steps, (first + share) * shape<k_tile>::superblock_steps) - begin;
    w.a = p.panel[0] + (batch * m_tiles + w.tile_m) * strip + from;
    w.b = p.panel[1] + (batch * n_tiles + w.tile_n) * strip + from;
    w.next_slot = p.slots > 1 ? tiles * tile_elements : 0;
    w.slot = in_shared;
    if (p.sums)
        w.slot = p.sums + first * w.next_slot +
                 (batch * p.slots * tiles + (int64_t)w.tile_n * m_tiles + w.tile_m) * tile_elements;
    w.slot += threadIdx.x;
    return w;
}

/* Starts the copies of the next k tile of both panels to `stage`. */
template <int k_tile> TD_DEVICE void fetch(work &w, float *stage)
{
    constexpr int apart = 4 * TD_DF_THREADS;
    float *a = stage + 4 * threadIdx.x, *b = a + shape<k_tile>::stage;
    TD_UNROLL
    for (int i = 0; i < shape<k_tile>::stage; i += apart) {
        copy16(a + i, w.a + i);
        copy16(b + i, w.b + i);
    }
    w.a += shape<k_tile>::stage;
    w.b += shape<k_tile>::stage;
}

/* Adds the products of a k tile, block after block. The first two terms of a block stand before the loop: the first
 * needs no sums to be cleared, and an even number of terms in the loop needs no moves between registers. */
template <int k_tile> TD_DEVICE void multiply_stage(sums &s, const float *stage)
{
    constexpr int term = 2 * TD_TILE;
    const float *a = stage + td_df_row((int)threadIdx.x);
    const float *b = stage + shape<k_tile>::stage + td_df_col((int)threadIdx.x);
    TD_UNROLL_N(1)
    for (int block = 0; block < k_tile; block += TD_DF_BLOCK) {
        accumulate<true>(s, a, b);
        accumulate<false>(s, a + term, b + term);
        TD_UNROLL_N(2)
        for (int l = 2; l < TD_DF_BLOCK; l++) accumulate<false>(s, a + l * term, b + l * term);
        a += TD_DF_BLOCK * term;
        b += TD_DF_BLOCK * term;
        flush(s);
    }
}

/* Grid: tile, part of k, batch member. k_tile divides TD_K_TILE. */
template <int k_tile>
static __global__ void __launch_bounds__(TD_DF_THREADS, 2) multiply_kernel(const td_df_multiply p)
{
    TD_DYNAMIC_SHARED(float,
                      shared); /* [2 stages][a, b][k_tile][hi, lo][64], then the running sum */
    constexpr int stage = 2 * shape<k_tile>::stage;
    work w = work_of_block<k_tile>(p, reinterpret_cast<tandem_df *>(shared + 2 * stage));
    const bool zero = !p.output.typed && td_scalar_value(p.output.target.alpha) == 0.0;
    const int64_t steps = zero ? 0 : w.steps; /* then the panels hold nothing */
    bool is_first = !p.resume;                /* no running sum to add to */
    int in_superblock = 0;
    sums s;

    clear(s);
    if (steps > 0) fetch<k_tile>(w, shared);
    copy_commit();
    for (int64_t step = 0; step < steps; step++) {
        copy_wait();
        __syncthreads(); /* this stage is there, and nobody reads the other any more */
        if (step + 1 < steps) fetch<k_tile>(w, shared + (~step & 1) * stage);
        copy_commit();
        multiply_stage<k_tile>(s, shared + (step & 1) * stage);
        if ((step + 1) % shape<k_tile>::renormalise_steps == 0) renormalise(s);
        if (++in_superblock == shape<k_tile>::superblock_steps && step + 1 < steps) {
            carry(s, w.slot, is_first || w.next_slot);
            w.slot += w.next_slot;
            clear(s);
            is_first = false;
            in_superblock = 0;
        }
    }
    renormalise(s); /* k may end anywhere */
    if (w.next_slot || !p.finish) {
        if (steps > 0) carry(s, w.slot, is_first || w.next_slot);
        return;
    }
    if (!is_first && !zero) carry_out(s, w.slot);
    td_df_join_tile(p.output, s, w.tile_m, w.tile_n);
}

template <int k_tile> constexpr size_t stage_bytes()
{
    return 2 * 2 * shape<k_tile>::stage * sizeof(float);
}

template <int k_tile>
static cudaError_t launch(const td_df_multiply *p, int batch, int blocks, cudaStream_t stream)
{
    dim3 grid(td_tiles(p->output.target.m) * (unsigned)td_tiles(p->output.target.n),
              (unsigned)blocks, (unsigned)batch);
    const bool carries = p->k_tiles > TD_DF_SUPERBLOCK / TD_K_TILE;
    const size_t shared = stage_bytes<k_tile>() + (carries && !p->sums ? TD_DF_SUM_BYTES : 0);
    return TD_LAUNCH(multiply_kernel<k_tile>, grid, TD_DF_THREADS, shared, stream, *p);
}

/* Allows as much shared memory as a launch may take, if the device has it. */
template <int k_tile> static cudaError_t prepare()
{
    int device = 0, most = 0;
    cudaError_t error = cudaGetDevice(&device);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    if (error != cudaSuccess) return error;
    return cudaFuncSetAttribute(multiply_kernel<k_tile>,
                                cudaFuncAttributeMaxDynamicSharedMemorySize,
                                min(most, (int)stage_bytes<k_tile>() + TD_DF_SUM_BYTES));
}

cudaError_t td_df_multiply_run(const td_df_multiply *p, int batch, int blocks_per_tile,
                               cudaStream_t stream)
{
    return p->small_tiles ? launch<TD_K_TILE / 2>(p, batch, blocks_per_tile, stream)
                          : launch<TD_K_TILE>(p, batch, blocks_per_tile, stream);
}

/* Sums of superblocks that several blocks made, in order, then the join. Grid: tile, 1, batch member. */
static __global__ void __launch_bounds__(TD_DF_THREADS) join_kernel(const td_df_multiply p)
{
    const int m_tiles = td_tiles(p.output.target.m), n_tiles = td_tiles(p.output.target.n);
    const int64_t tiles = (int64_t)m_tiles * n_tiles;
    const bool zero = !p.output.typed && td_scalar_value(p.output.target.alpha) == 0.0;
    const tandem_df *slot =
        p.sums + (blockIdx.z * p.slots * tiles + blockIdx.x) * (TD_TILE * TD_TILE) + threadIdx.x;
    td_df_sums s;
    clear(s);
    for (int t = 0; t < p.slots && !zero; t++) {
        EACH_ELEMENT
        {
            tandem_df x = slot[(i * TD_DF_COLS + j) * TD_DF_THREADS];
            if (t) x = td_df_add(td_df(s.hi[i][j], s.lo[i][j]), x);
            s.hi[i][j] = x.hi;
            s.lo[i][j] = x.lo;
        }
        slot += tiles * (TD_TILE * TD_TILE);
    }
    td_df_join_tile(p.output, s, (int)blockIdx.x % m_tiles, (int)blockIdx.x / m_tiles);
}

cudaError_t td_df_join_run(const td_df_multiply *p, int batch, cudaStream_t stream)
{
    dim3 grid(td_tiles(p->output.target.m) * (unsigned)td_tiles(p->output.target.n), 1,
              (unsigned)batch);
    return TD_LAUNCH(join_kernel, grid, TD_DF_THREADS, 0, stream, *p);
}

cudaError_t td_df_multiply_prepare(void)
{
    cudaFuncAttributes attributes;
    cudaError_t error = prepare<TD_K_TILE>();
    if (error == cudaSuccess) error = prepare<TD_K_TILE / 2>();
    if (error == cudaSuccess) error = cudaFuncGetAttributes(&attributes, join_kernel);
    return error;
}
