/* certify.cu - which elements of C are certified where the means of lines do not tell: by the largest of all products of an
 * element's sum. This is a product of the logarithms of A' and B' in which + takes the part of * and max that of +. A tile
 * of TD_TILE x TD_TILE elements ends when all but a few of it are certified: these take less time to repair. */
#include "finish.h"

namespace
{

/* A thread has SIDE x SIDE elements of a block, which are 2 x 2 tiles; its rows stand in pairs in 32 bits. */
enum {
    THREADS = 256,
    SIDE = 8,
    LINES = 2 * TD_TILE,
    ACROSS = LINES / SIDE,
    PAIRS = SIDE / 2,
    K_STEP = 16
};

/* Part of the modes' definition: elements of k between looks at what is open, and how much may be. */
enum { LOOK_AFTER = 128, FEW = 4 };

/* Logarithms in units of 16 / TD_LOG, less that of the line's largest element. What is below FARTHEST, subnormal or zero, is
 * NOTHING: no sum with it reaches 2 FARTHEST. */
enum { FARTHEST = -8192, NOTHING = -16384, NO_SUM = -32768 };

/* Sums that certify: ALWAYS, NEVER, or from there on. */
enum { ALWAYS = NO_SUM, NEVER = 1 };

struct stage {
    uint32_t rows[K_STEP][LINES / 2 + 4]; /* in pairs */
    uint32_t columns[K_STEP][LINES + 4];  /* pairs of a column and itself */
    int peak[2][LINES];
    int open[4]; /* elements of each tile */
    uint32_t needed[SIDE][PAIRS][THREADS];
};

TD_DEVICE uint32_t pair_of(int low, int high)
{
    return ((uint32_t)low & 0xffffu) | (uint32_t)high << 16;
}

TD_DEVICE int half_of(uint32_t pair, int which) { return (int16_t)(pair >> (16 * which)); }

/* max(x, a + b) of both halves. */
TD_DEVICE uint32_t add_and_max(uint32_t a, uint32_t b, uint32_t x)
{
#if TD_HAS_CUDA_DEVICE
    return __viaddmax_s16x2(a, b, x);
#else
    return pair_of(max(half_of(a, 0) + half_of(b, 0), half_of(x, 0)),
                   max(half_of(a, 1) + half_of(b, 1), half_of(x, 1)));
#endif
}

/* The sum of logarithms that certifies an element. */
TD_DEVICE int needed(const td_finish &finish, const td_choice &choice, const td_line &a,
                     const td_line &b)
{
    if (a.low == TD_SPECIAL || b.low == TD_SPECIAL) return NEVER;
    if (td_is_certified(a, b, choice, finish.cut)) return ALWAYS;
    const int below =
        TD_LOG * (a.scale + b.scale) - choice.need_of_one - td_log_error(a, b, choice);
    return min((int)NEVER, max(2 * FARTHEST, -(below >> 4) - (a.peak >> 4) - (b.peak >> 4)));
}

/* The largest sums of a thread's elements: column j, rows 2 i and 2 i + 1. */
struct elements {
    uint32_t sum[SIDE][PAIRS];
};

TD_DEVICE void start(const td_finish &finish, const td_choice &choice, int row, int col, stage &s,
                     elements &e)
{
    const td_line *a = finish.line[0] + blockIdx.z * finish.lines_of_member[0];
    const td_line *b = finish.line[1] + blockIdx.z * finish.lines_of_member[1];
    TD_UNROLL_N(1)
    for (int x = 0; x < SIDE * PAIRS; x++) {
        const int i = x % PAIRS, j = x / PAIRS;
        int limit[2];
        TD_UNROLL
        for (int h = 0; h < 2; h++) {
            const int at = row + 2 * i + h;
            const bool exists = at < finish.target.m && col + j < finish.target.n;
            limit[h] = exists ? needed(finish, choice, a[at], b[col + j]) : (int)ALWAYS;
        }
        s.needed[j][i][threadIdx.x] = pair_of(limit[0], limit[1]);
    }
    TD_UNROLL
    for (int j = 0; j < SIDE; j++) TD_UNROLL
    for (int i = 0; i < PAIRS; i++) e.sum[j][i] = pair_of(NO_SUM, NO_SUM);
}

/* Elements that more products can certify. */
TD_DEVICE int count_open(const stage &s, const elements &e)
{
    int count = 0;
    TD_UNROLL
    for (int j = 0; j < SIDE; j++) TD_UNROLL
    for (int i = 0; i < PAIRS; i++) {
        const uint32_t needed = s.needed[j][i][threadIdx.x];
        TD_UNROLL
        for (int h = 0; h < 2; h++)
            count += half_of(e.sum[j][i], h) < half_of(needed, h) && half_of(needed, h) != NEVER;
    }
    return count;
}

/* What is not certified now will never be. */
TD_DEVICE void close(stage &s, const elements &e)
{
    TD_UNROLL
    for (int j = 0; j < SIDE; j++) TD_UNROLL
    for (int i = 0; i < PAIRS; i++) {
        uint32_t *needed = &s.needed[j][i][threadIdx.x];
        int limit[2];
        TD_UNROLL
        for (int h = 0; h < 2; h++)
            limit[h] = half_of(e.sum[j][i], h) >= half_of(*needed, h) ? ALWAYS : NEVER;
        *needed = pair_of(limit[0], limit[1]);
    }
}

/* Closes tiles with few open elements; true if any other is left. All threads take part. */
TD_DEVICE bool look(stage &s, elements &e)
{
    const int tid = (int)threadIdx.x, half = TD_TILE / SIDE;
    const int tile = tid % ACROSS / half + tid / ACROSS / half * 2, mine = count_open(s, e);
    if (tid < 4) s.open[tid] = 0;
    __syncthreads();
    if (mine) atomicAdd(&s.open[tile], mine);
    __syncthreads();
    if (s.open[tile] <= FEW) close(s, e);
    return max(max(s.open[0], s.open[1]), max(s.open[2], s.open[3])) > FEW;
}

/* Where an operand's elements are. */
struct source {
    const td_operand *operand;
    const double *data;
    const int16_t *shift; /* NULL: none */
    int sign, line0;
};

TD_DEVICE source source_of(const td_fixed &fixed, int which, int line0)
{
    source r;
    r.operand = &fixed.operand[which];
    r.data = td_member<const double>(r.operand->matrix, fixed.batch_first + blockIdx.z);
    r.shift = fixed.shifted[blockIdx.z] ? fixed.shift + blockIdx.z * r.operand->k : NULL;
    r.sign = which ? -16 : 16;
    r.line0 = line0;
    return r;
}

/* The logarithm of element l of a line, its largest element having `peak`. The upper 15 bits below the sign are 16 times the
 * exponent, and the largest part of the fraction. */
TD_DEVICE int log_of(const source &from, int line, int64_t l, int peak)
{
    const td_operand &o = *from.operand;
    if (from.line0 + line >= o.lines || l >= o.k) return NOTHING;
    const uint64_t bits = td_bits64(from.data[td_operand_at(o, from.line0 + line, l)]);
    const int field = (int)(bits >> 48) & 0x7fff;
    const int log = field - 16 * 1023 - peak + (from.shift ? from.sign * from.shift[l] : 0);
    return field >= 16 && log >= FARTHEST ? min(log, 0) : (int)NOTHING;
}

/* Elements l0 .. l0 + K_STEP - 1 of the block's lines, two lines a time. Neighbouring threads read neighbouring memory. */
template <int which> TD_DEVICE void load(const source &from, int64_t l0, stage &s)
{
    const bool along = from.operand->k_step == 1;
    TD_UNROLL_N(4)
    for (int e = (int)threadIdx.x; e < LINES / 2 * K_STEP; e += THREADS) {
        const int pair = along ? e / K_STEP : e % (LINES / 2);
        const int l = along ? e % K_STEP : e / (LINES / 2);
        int log[2];
        TD_UNROLL
        for (int h = 0; h < 2; h++)
            log[h] = log_of(from, 2 * pair + h, l0 + l, s.peak[which][2 * pair + h]);
        if (which == 0) s.rows[l][pair] = pair_of(log[0], log[1]);
        TD_UNROLL
        for (int h = 0; h < 2 && which; h++) s.columns[l][2 * pair + h] = pair_of(log[h], log[h]);
    }
}

TD_DEVICE void load_peaks(const td_finish &finish, int which, int line0, int lines, stage &s)
{
    const td_line *line = finish.line[which] + blockIdx.z * finish.lines_of_member[which];
    for (int i = (int)threadIdx.x; i < LINES; i += THREADS)
        s.peak[which][i] = line0 + i < lines ? line[line0 + i].peak >> 4 : 0;
}

TD_DEVICE td_quad<uint32_t> load_quad(const uint32_t *from)
{
    return *reinterpret_cast<const td_quad<uint32_t> *>(from);
}

TD_DEVICE void add_step(const stage &s, elements &e)
{
    const int row = (int)threadIdx.x % ACROSS * PAIRS, col = (int)threadIdx.x / ACROSS * SIDE;
    TD_UNROLL_N(2)
    for (int l = 0; l < K_STEP; l++) {
        const td_quad<uint32_t> a = load_quad(&s.rows[l][row]);
        TD_UNROLL
        for (int j0 = 0; j0 < SIDE; j0 += 4) {
            const td_quad<uint32_t> b = load_quad(&s.columns[l][col + j0]);
            TD_UNROLL
            for (int j = 0; j < 4; j++) TD_UNROLL
            for (int i = 0; i < PAIRS; i++)
                e.sum[j0 + j][i] = add_and_max(a.of[i], b.of[j], e.sum[j0 + j][i]);
        }
    }
}

/* All of k, or until all tiles are closed. All threads take part. */
TD_DEVICE void add_up(const td_fixed &fixed, const td_finish &finish, int row0, int col0, stage &s,
                      elements &e)
{
    const source a = source_of(fixed, 0, row0), b = source_of(fixed, 1, col0);
    load_peaks(finish, 0, row0, finish.target.m, s);
    load_peaks(finish, 1, col0, finish.target.n, s);
    for (int64_t l0 = 0; l0 < a.operand->k; l0 += K_STEP) {
        if (l0 % LOOK_AFTER == 0 && !look(s, e)) return;
        load<0>(a, l0, s);
        load<1>(b, l0, s);
        __syncthreads();
        add_step(s, e);
        __syncthreads();
    }
}

/* Of the thread's elements. */
TD_DEVICE void store_masks(const td_target &target, int row, int col, const stage &s,
                           const elements &e)
{
    unsigned mask[SIDE / TD_SUBTILE][SIDE / TD_SUBTILE] = {};
    TD_UNROLL
    for (int j = 0; j < SIDE; j++) TD_UNROLL
    for (int i = 0; i < SIDE; i++) {
        const int needed = half_of(s.needed[j][i / 2][threadIdx.x], i % 2);
        const unsigned bit = 1u << (j % TD_SUBTILE * TD_SUBTILE + i % TD_SUBTILE);
        mask[j / TD_SUBTILE][i / TD_SUBTILE] |= half_of(e.sum[j][i / 2], i % 2) < needed ? bit : 0u;
    }
    TD_UNROLL
    for (int j = 0; j < SIDE; j += TD_SUBTILE) TD_UNROLL
    for (int i = 0; i < SIDE; i += TD_SUBTILE)
        if (row + i < target.m && col + j < target.n)
            *td_target_mask(target, row + i, col + j) =
                (uint16_t)mask[j / TD_SUBTILE][i / TD_SUBTILE];
}

} // namespace

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
enum { BLOCKS = 1 }; /* add_and_max is several instructions there */
#else
enum { BLOCKS = 2 };
#endif

/* Grid: LINES x LINES elements, 1, batch member. */
static __global__ void __launch_bounds__(THREADS, BLOCKS)
    certify_kernel(const td_fixed fixed, const td_finish finish)
{
    TD_SHARED(stage, shared, );
    const td_choice choice = finish.choice[blockIdx.z];
    if (!choice.by_products || td_scalar_value(fixed.alpha) == 0.0) return;
    const int tiles = (finish.target.m + LINES - 1) / LINES;
    const int row0 = (int)blockIdx.x % tiles * LINES, col0 = (int)blockIdx.x / tiles * LINES;
    const int row = row0 + (int)threadIdx.x % ACROSS * SIDE;
    const int col = col0 + (int)threadIdx.x / ACROSS * SIDE;
    elements mine;
    start(finish, choice, row, col, shared, mine);
    add_up(fixed, finish, row0, col0, shared, mine);
    store_masks(finish.target, row, col, shared, mine);
}

cudaError_t td_certify_run(const td_fixed *fixed, const td_finish *finish, cudaStream_t stream)
{
    const unsigned rows = (unsigned)(finish->target.m + LINES - 1) / LINES;
    const unsigned columns = (unsigned)(finish->target.n + LINES - 1) / LINES;
    const dim3 grid(rows * columns, 1, (unsigned)fixed->batch);
    return TD_LAUNCH(certify_kernel, grid, THREADS, 0, stream, *fixed, *finish);
}

cudaError_t td_certify_prepare(void) { return td_load(cudaSuccess, certify_kernel); }
