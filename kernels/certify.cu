/* certify.cu - which elements of C are certified where the means of lines do not tell: by the largest of all products of an
 * element's sum. This is a product of the logarithms of A' and B' in which + takes the part of * and max that of +; it ends
 * as soon as all elements of a tile are certified. */
#include "finish.h"

namespace
{

/* A thread has SIDE x SIDE elements of a tile, whose rows stand in pairs in 32 bits. */
enum {
    THREADS = 256,
    SIDE = 8,
    TILE = 2 * TD_TILE,
    ACROSS = TILE / SIDE,
    PAIRS = SIDE / 2,
    K_STEP = 32,
    CHECK_AFTER = 4 * K_STEP
};

/* Logarithms are below that of the line's largest element by so many units of UNIT / TD_LOG. What is below FARTHEST, and
 * zeros, are NOTHING: no sum with it reaches 2 FARTHEST. */
enum { UNIT = 16, FARTHEST = -8192, NOTHING = -16384, NO_SUM = -32768 };

/* Sums that certify: ALWAYS, NEVER, or from there on. */
enum { ALWAYS = NO_SUM, NEVER = 1 };

struct stage {
    uint32_t rows[K_STEP][TILE / 2 + 4]; /* in pairs */
    uint32_t columns[K_STEP][TILE + 4];  /* pairs of a column and itself */
    int peak[2][TILE];
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
    const int peaks = a.peak + b.peak + TD_LOG * (a.scale + b.scale);
    const int below = peaks - choice.need_of_one - td_log_error(a, b, choice);
    return min((int)NEVER, max(2 * FARTHEST, -(below >> 4)));
}

/* What a thread knows of its elements: column j, rows 2 i and 2 i + 1. */
struct elements {
    uint32_t needed[SIDE][PAIRS], sum[SIDE][PAIRS];
};

TD_DEVICE void start(const td_finish &finish, const td_choice &choice, int row, int col,
                     elements &e)
{
    const td_line *a = finish.line[0] + blockIdx.z * finish.lines_of_member[0];
    const td_line *b = finish.line[1] + blockIdx.z * finish.lines_of_member[1];
    TD_UNROLL
    for (int j = 0; j < SIDE; j++) TD_UNROLL
    for (int i = 0; i < PAIRS; i++) {
        int limit[2];
        TD_UNROLL
        for (int h = 0; h < 2; h++) {
            const int at = row + 2 * i + h;
            const bool exists = at < finish.target.m && col + j < finish.target.n;
            limit[h] = exists ? needed(finish, choice, a[at], b[col + j]) : (int)ALWAYS;
        }
        e.needed[j][i] = pair_of(limit[0], limit[1]);
        e.sum[j][i] = pair_of(NO_SUM, NO_SUM);
    }
}

TD_DEVICE bool is_certified(const elements &e, int j, int i, int half)
{
    return half_of(e.sum[j][i], half) >= half_of(e.needed[j][i], half);
}

/* True if more products can certify one of the thread's elements. */
TD_DEVICE bool is_open(const elements &e)
{
    bool any = false;
    TD_UNROLL
    for (int j = 0; j < SIDE; j++) TD_UNROLL
    for (int i = 0; i < PAIRS; i++) TD_UNROLL
    for (int h = 0; h < 2; h++)
        any |= !is_certified(e, j, i, h) && half_of(e.needed[j][i], h) != NEVER;
    return any;
}

/* The logarithm of element l of a line, its largest element having `peak`. */
TD_DEVICE int log_of(const td_fixed &fixed, const td_operand &o, int which, const double *data,
                     int line, int64_t l, int peak)
{
    if (line >= o.lines || l >= o.k) return NOTHING;
    const uint64_t bits = td_bits64(data[td_operand_at(o, line, l)]);
    if (!(bits << 1)) return NOTHING;
    int shift = 0;
    if (fixed.shifted[blockIdx.z]) shift = fixed.shift[blockIdx.z * o.k + l];
    const int log = td_log_of64(bits) + TD_LOG * (which ? -shift : shift) - peak;
    return log >= UNIT * FARTHEST ? min(log >> 4, 0) : (int)NOTHING;
}

/* Elements l0 .. l0 + K_STEP - 1 of the tile's lines, two lines a time. Neighbouring threads read neighbouring memory. */
TD_DEVICE void load(const td_fixed &fixed, int which, int line0, int64_t l0, stage &s)
{
    const td_operand &o = fixed.operand[which];
    const double *data = td_member<const double>(o.matrix, fixed.batch_first + blockIdx.z);
    const bool along = o.k_step == 1;
    TD_UNROLL_N(2)
    for (int e = (int)threadIdx.x; e < TILE / 2 * K_STEP; e += THREADS) {
        const int pair = along ? e / K_STEP : e % (TILE / 2);
        const int l = along ? e % K_STEP : e / (TILE / 2);
        int log[2];
        TD_UNROLL
        for (int h = 0; h < 2; h++) {
            const int line = 2 * pair + h;
            log[h] = log_of(fixed, o, which, data, line0 + line, l0 + l, s.peak[which][line]);
        }
        if (!which) s.rows[l][pair] = pair_of(log[0], log[1]);
        for (int h = 0; h < 2 && which; h++) s.columns[l][2 * pair + h] = pair_of(log[h], log[h]);
    }
}

TD_DEVICE void load_peaks(const td_finish &finish, int which, int line0, int lines, stage &s)
{
    const td_line *line = finish.line[which] + blockIdx.z * finish.lines_of_member[which];
    for (int i = (int)threadIdx.x; i < TILE; i += THREADS)
        s.peak[which][i] = line0 + i < lines ? line[line0 + i].peak : 0;
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

/* All of k, or until nothing is open. All threads take part. */
TD_DEVICE void add_up(const td_fixed &fixed, const td_finish &finish, int row0, int col0, stage &s,
                      elements &e)
{
    load_peaks(finish, 0, row0, finish.target.m, s);
    load_peaks(finish, 1, col0, finish.target.n, s);
    for (int64_t l0 = 0; l0 < fixed.operand[0].k; l0 += K_STEP) {
        if (l0 % CHECK_AFTER == 0 && !__syncthreads_or(is_open(e))) return;
        load(fixed, 0, row0, l0, s);
        load(fixed, 1, col0, l0, s);
        __syncthreads();
        add_step(s, e);
        __syncthreads();
    }
}

/* Of the thread's elements. */
TD_DEVICE void store_masks(const td_target &target, int row, int col, const elements &e)
{
    TD_UNROLL
    for (int j0 = 0; j0 < SIDE; j0 += TD_SUBTILE) TD_UNROLL
    for (int i0 = 0; i0 < SIDE; i0 += TD_SUBTILE) {
        unsigned mask = 0;
        TD_UNROLL
        for (int x = 0; x < TD_SUBTILE * TD_SUBTILE; x++) {
            const int i = i0 + x % TD_SUBTILE, j = j0 + x / TD_SUBTILE;
            mask |= is_certified(e, j, i / 2, i % 2) ? 0u : 1u << x;
        }
        if (row + i0 < target.m && col + j0 < target.n)
            *td_target_mask(target, row + i0, col + j0) = (uint16_t)mask;
    }
}

} // namespace

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
enum { BLOCKS = 1 }; /* add_and_max is several instructions there */
#else
enum { BLOCKS = 2 };
#endif

/* Grid: TILE x TILE elements, 1, batch member. */
static __global__ void __launch_bounds__(THREADS, BLOCKS)
    certify_kernel(const td_fixed fixed, const td_finish finish)
{
    TD_SHARED(stage, shared, );
    const td_choice choice = finish.choice[blockIdx.z];
    if (!choice.by_products || td_scalar_value(fixed.alpha) == 0.0) return;
    const int tiles = (finish.target.m + TILE - 1) / TILE;
    const int row0 = (int)blockIdx.x % tiles * TILE, col0 = (int)blockIdx.x / tiles * TILE;
    const int row = row0 + (int)threadIdx.x % ACROSS * SIDE;
    const int col = col0 + (int)threadIdx.x / ACROSS * SIDE;
    elements mine;
    start(finish, choice, row, col, mine);
    add_up(fixed, finish, row0, col0, shared, mine);
    store_masks(finish.target, row, col, mine);
}

cudaError_t td_certify_run(const td_fixed *fixed, const td_finish *finish, cudaStream_t stream)
{
    const unsigned rows = (unsigned)(finish->target.m + TILE - 1) / TILE;
    const unsigned columns = (unsigned)(finish->target.n + TILE - 1) / TILE;
    const dim3 grid(rows * columns, 1, (unsigned)fixed->batch);
    return TD_LAUNCH(certify_kernel, grid, THREADS, 0, stream, *fixed, *finish);
}

cudaError_t td_certify_prepare(void) { return td_load(cudaSuccess, certify_kernel); }
