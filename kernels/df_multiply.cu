/* df_multiply.cu - products of double-float panels: 64 x 64 tiles, 128 threads with 4 x 8 sums each.
 *
 * What limits the kernel on current GPUs is the register file's read ports: an FFMA with three fresh operands
 * issues at about 0.6 of the full rate. So multiply-accumulates run in groups of 2 x 8 in lock step, one operation of
 * td_df_accumulate after another, that neighbouring FFMAs share an operand; fences keep the compiler from mixing the
 * phases again (docs/kernels.md). */
#include "join.h"

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

/* The sums of one thread: of the current block of 16 terms, and of the current superblock. */
struct sums {
    float sum[TD_ROWS][TD_COLS], rest[TD_ROWS][TD_COLS];
    float hi[TD_ROWS][TD_COLS], lo[TD_ROWS][TD_COLS];
};

#define EACH_ELEMENT                                                                               \
    TD_UNROLL for (int i = 0; i < TD_ROWS; i++) TD_UNROLL for (int j = 0; j < TD_COLS; j++)

TD_DEVICE void clear_block(sums &s) { EACH_ELEMENT s.sum[i][j] = s.rest[i][j] = 0.0f; }

TD_DEVICE void clear_superblock(sums &s) { EACH_ELEMENT s.hi[i][j] = s.lo[i][j] = 0.0f; }

/* The block's sum into the superblock's. */
TD_DEVICE void flush(sums &s)
{
    EACH_ELEMENT
    {
        tandem_df t = td_df_add(td_df(s.hi[i][j], s.lo[i][j]), td_df(s.sum[i][j], s.rest[i][j]));
        s.hi[i][j] = t.hi;
        s.lo[i][j] = t.lo;
    }
    clear_block(s);
}

/* td_df_accumulate for rows i0, i0 + 1 and all columns, in lock step. */
TD_DEVICE void accumulate_group(sums &s, int i0, const float *a_hi, const float *a_lo,
                                const float *b_hi, const float *b_lo)
{
    float h[GROUP_ROWS][TD_COLS], t[GROUP_ROWS][TD_COLS], z[GROUP_ROWS][TD_COLS];
    float w[GROUP_ROWS][TD_COLS], ds[GROUP_ROWS][TD_COLS], dp[GROUP_ROWS][TD_COLS];
#define EACH                                                                                       \
    TD_UNROLL for (int i = 0; i < GROUP_ROWS; i++) TD_UNROLL for (int j = 0; j < TD_COLS; j++)
    SCHEDULE_FENCE();
    EACH h[i][j] = td_mul(a_hi[i0 + i], b_hi[j]);
    EACH t[i][j] = td_add(s.sum[i0 + i][j], h[i][j]);
    EACH z[i][j] = td_sub(t[i][j], s.sum[i0 + i][j]);
    EACH w[i][j] = td_sub(t[i][j], z[i][j]);
    EACH ds[i][j] = td_sub(s.sum[i0 + i][j], w[i][j]);
    EACH s.sum[i0 + i][j] = t[i][j];
    SCHEDULE_FENCE();
    EACH dp[i][j] = td_fma(a_hi[i0 + i], b_hi[j], -z[i][j]);
    EACH dp[i][j] = td_fma(a_hi[i0 + i], b_lo[j], dp[i][j]);
    EACH dp[i][j] = td_fma(a_lo[i0 + i], b_hi[j], dp[i][j]);
    SCHEDULE_FENCE();
    EACH ds[i][j] = td_add(ds[i][j], dp[i][j]);
    EACH s.rest[i0 + i][j] = td_add(s.rest[i0 + i][j], ds[i][j]);
#undef EACH
}

/* One element of k: `a` and `b` point at this thread's first line in a row [hi, lo][64] of the shared panels. */
TD_DEVICE void accumulate(sums &s, const float *a, const float *b)
{
    float a_hi[TD_ROWS], a_lo[TD_ROWS], b_hi[TD_COLS], b_lo[TD_COLS];
    load4(a_hi, a);
    load4(a_lo, a + TD_STRIP);
    TD_UNROLL
    for (int g = 0; g < TD_COLS; g += 4) {
        load4(b_hi + g, b + td_tile_col_step(g));
        load4(b_lo + g, b + td_tile_col_step(g) + TD_STRIP);
    }
    TD_UNROLL
    for (int i = 0; i < TD_ROWS; i += GROUP_ROWS) accumulate_group(s, i, a_hi, a_lo, b_hi, b_lo);
}

/* The running sum of a tile, in device memory: T <- T + S, or T <- S for the first superblock. */
TD_DEVICE void carry(sums &s, tandem_df *running, bool first)
{
    EACH_ELEMENT
    {
        tandem_df x = td_df(s.hi[i][j], s.lo[i][j]);
        tandem_df *slot = running + (i * TD_COLS + j) * TD_TILE_THREADS;
        if (!first) x = td_df_add(*slot, x);
        *slot = x;
    }
}

TD_DEVICE void carry_out(sums &s, const tandem_df *running)
{
    EACH_ELEMENT
    {
        tandem_df x =
            td_df_add(running[(i * TD_COLS + j) * TD_TILE_THREADS], td_df(s.hi[i][j], s.lo[i][j]));
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

/* Grid: tile, part of k, batch member. k_tile divides TD_K_TILE. */
template <int k_tile>
static __global__ void __launch_bounds__(TD_TILE_THREADS, 2) multiply_kernel(const td_df_multiply p)
{
    constexpr int stage = 2 * k_tile * TD_STRIP;          /* floats of one operand */
    constexpr int copies = stage / (4 * TD_TILE_THREADS); /* 16-byte copies a thread */
    constexpr int steps_per_superblock = TD_DF_SUPERBLOCK / k_tile;
    TD_DYNAMIC_SHARED(float, shared); /* [2 stages][a, b][k_tile][hi, lo][64] */
    const int thread = (int)threadIdx.x, batch = (int)blockIdx.z;
    const int m_tiles = td_tiles(p.target.m), n_tiles = td_tiles(p.target.n);
    int tile_m, tile_n;
    tile_of_block(m_tiles, n_tiles, &tile_m, &tile_n);
    const int64_t tile = (int64_t)tile_n * m_tiles + tile_m, tiles = (int64_t)m_tiles * n_tiles;

    /* This block's superblocks; one running sum for all if there is one slot, else a slot for each. */
    const int64_t all_steps = p.k_tiles * (TD_K_TILE / k_tile);
    const int64_t superblocks = (all_steps + steps_per_superblock - 1) / steps_per_superblock;
    const int64_t share = (superblocks + gridDim.y - 1) / gridDim.y, first = blockIdx.y * share;
    const int64_t begin = first * steps_per_superblock;
    int64_t steps = min(all_steps, (first + share) * steps_per_superblock) - begin;
    tandem_df *slot = p.sums;
    if (slot)
        slot += (((int64_t)batch * p.slots + (p.slots > 1 ? first : 0)) * tiles + tile) *
                    (TD_STRIP * TD_STRIP) +
                thread;
    const bool zero = !p.target.typed && td_scalar_value(p.target.alpha) == 0.0;
    if (zero) steps = 0; /* the panels hold nothing */

    const int64_t strip = p.k_tiles * (2 * TD_K_TILE * TD_STRIP);
    const float *from_a =
        p.panel[0] + ((int64_t)batch * m_tiles + tile_m) * strip + begin * stage + thread * 4;
    const float *from_b =
        p.panel[1] + ((int64_t)batch * n_tiles + tile_n) * strip + begin * stage + thread * 4;
    sums s;
    clear_block(s);
    clear_superblock(s);
    bool first_superblock = !p.resume;

    if (steps > 0) {
        TD_UNROLL
        for (int c = 0; c < copies; c++) {
            copy16(shared + thread * 4 + c * 4 * TD_TILE_THREADS, from_a + c * 4 * TD_TILE_THREADS);
            copy16(shared + stage + thread * 4 + c * 4 * TD_TILE_THREADS,
                   from_b + c * 4 * TD_TILE_THREADS);
        }
    }
    copy_commit();
    int in_superblock = 0;
    for (int64_t step = 0; step < steps; step++) {
        float *now = shared + (step & 1) * 2 * stage, *next = shared + (~step & 1) * 2 * stage;
        copy_wait();
        __syncthreads();
        if (step + 1 < steps) {
            from_a += stage;
            from_b += stage;
            TD_UNROLL
            for (int c = 0; c < copies; c++) {
                copy16(next + thread * 4 + c * 4 * TD_TILE_THREADS,
                       from_a + c * 4 * TD_TILE_THREADS);
                copy16(next + stage + thread * 4 + c * 4 * TD_TILE_THREADS,
                       from_b + c * 4 * TD_TILE_THREADS);
            }
        }
        copy_commit();
        const float *a = now + td_tile_row(thread), *b = now + stage + td_tile_col(thread);
        TD_UNROLL_N(1)
        for (int block = 0; block < k_tile; block += TD_DF_BLOCK) {
            TD_UNROLL_N(2)
            for (int l = 0; l < TD_DF_BLOCK; l++) {
                accumulate(s, a, b);
                a += 2 * TD_STRIP;
                b += 2 * TD_STRIP;
            }
            flush(s);
        }
        if (++in_superblock == steps_per_superblock &&
            (step + 1 < steps || !p.finish || p.slots > 1)) {
            carry(s, slot, first_superblock || p.slots > 1);
            if (p.slots > 1) slot += tiles * (TD_STRIP * TD_STRIP);
            clear_superblock(s);
            first_superblock = false;
            in_superblock = 0;
        }
    }
    if (p.slots > 1 || !p.finish) {
        if (in_superblock) carry(s, slot, first_superblock || p.slots > 1);
        return;
    }
    if (!first_superblock && !zero) carry_out(s, slot);
    td_join_tile(p.target, batch, tile_m, tile_n, thread, s.hi, s.lo);
}

template <int k_tile> constexpr size_t shared_bytes()
{
    return 2 * 2 * 2 * k_tile * TD_STRIP * sizeof(float);
}

template <int k_tile>
static cudaError_t launch(const td_df_multiply *p, int batch, int blocks, cudaStream_t stream)
{
    dim3 grid(td_tiles(p->target.m) * (unsigned)td_tiles(p->target.n), (unsigned)blocks,
              (unsigned)batch);
    return TD_LAUNCH(multiply_kernel<k_tile>, grid, TD_TILE_THREADS, shared_bytes<k_tile>(), stream,
                     *p);
}

template <int k_tile> static cudaError_t prepare()
{
    return cudaFuncSetAttribute(multiply_kernel<k_tile>,
                                cudaFuncAttributeMaxDynamicSharedMemorySize,
                                (int)shared_bytes<k_tile>());
}

cudaError_t td_df_multiply_run(const td_df_multiply *p, int batch, int blocks_per_tile,
                               cudaStream_t stream)
{
    return p->small_tiles ? launch<TD_K_TILE / 2>(p, batch, blocks_per_tile, stream)
                          : launch<TD_K_TILE>(p, batch, blocks_per_tile, stream);
}

/* Sums of superblocks that several blocks made, in order, then the join. Grid: tile, 1, batch member. */
static __global__ void __launch_bounds__(TD_TILE_THREADS) join_kernel(const td_df_multiply p)
{
    const int thread = (int)threadIdx.x, batch = (int)blockIdx.z;
    const int m_tiles = td_tiles(p.target.m), n_tiles = td_tiles(p.target.n);
    const int tile_m = (int)blockIdx.x % m_tiles, tile_n = (int)blockIdx.x / m_tiles;
    const int64_t tiles = (int64_t)m_tiles * n_tiles;
    const tandem_df *slot =
        p.sums + ((int64_t)batch * p.slots * tiles + blockIdx.x) * (TD_STRIP * TD_STRIP) + thread;
    float hi[TD_ROWS][TD_COLS], lo[TD_ROWS][TD_COLS];
    const int slots = !p.target.typed && td_scalar_value(p.target.alpha) == 0.0 ? 0 : p.slots;
    EACH_ELEMENT hi[i][j] = lo[i][j] = 0.0f;
    for (int t = 0; t < slots; t++) {
        EACH_ELEMENT
        {
            tandem_df x = slot[(i * TD_COLS + j) * TD_TILE_THREADS];
            if (t) x = td_df_add(td_df(hi[i][j], lo[i][j]), x);
            hi[i][j] = x.hi;
            lo[i][j] = x.lo;
        }
        slot += tiles * (TD_STRIP * TD_STRIP);
    }
    td_join_tile(p.target, batch, tile_m, tile_n, thread, hi, lo);
}

cudaError_t td_df_join_run(const td_df_multiply *p, int batch, cudaStream_t stream)
{
    dim3 grid(td_tiles(p->target.m) * (unsigned)td_tiles(p->target.n), 1, (unsigned)batch);
    return TD_LAUNCH(join_kernel, grid, TD_TILE_THREADS, 0, stream, *p);
}

cudaError_t td_df_multiply_prepare(void)
{
    cudaFuncAttributes attributes;
    cudaError_t error = prepare<TD_K_TILE>();
    if (error == cudaSuccess) error = prepare<TD_K_TILE / 2>();
    if (error == cudaSuccess) error = cudaFuncGetAttributes(&attributes, join_kernel);
    return error;
}
