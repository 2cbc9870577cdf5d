/* residues.cu - operands into residues. The tensor cores multiply the bytes of numbers by those of powers of two modulo p: what they
 * add up is short, and becomes a centred residue by two operations. */
#include "residues.h"

#include "../divisor.h"
#include "../int8/panels.h"
#include "line_tile.h"
#include "numbers.h"

TD_LANE_CONSTANT(td_residue_weights, td_weights, td_make_residue_weights());

/* A warp has every WARPS-th line of a tile, a RUN of it at a time. */
enum { LINES = 16, TILE_K = 128, RUN = 64, WARPS = 4, THREADS = 32 * WARPS };

/* What is the same for all lines of a tile. */
struct tile_place {
    int which, batch, lines; /* from the first one on, padded */
    int line0, in_pass;
    int count, k_padded; /* of the pass */
    int64_t first;
};

/* One tile with what belongs to its lines, as it is in shared memory. Lines begin in different banks. */
typedef td_line_tile<LINES, TILE_K, TILE_K + 2, THREADS> shape;
struct alignas(16) tile {
    uint64_t element[shape::lines * shape::pitch];
    uint32_t line[LINES]; /* low and scale of the record */
    int32_t moduli, is_shifted;
    tile_place place;
    uint32_t *nonzero, own_bit; /* the map's word, and what tells there of numbers that are not 0 */
};

struct alignas(16) pair_of_elements {
    uint64_t of[2];
};

/* ---- residues ---- */

/* Lane 4 g + q makes residues modulo two of 16 moduli, g and g + 8, of sixteen elements of a run, from 16 q on. */
enum { LANE_ROWS = 2, LANES = 4 };

/* Of elements 2 lane and 2 lane + 1 of a run. */
template <int pieces> struct lane_numbers {
    uint32_t of[2][pieces];
};

TD_DEVICE const td_byte_weights &weights_of(int which, int moduli, int t)
{
    const int own = min(t, TD_MAX_MODULI - 1);
    return which ? td_weights.b[own] : td_weights.a[moduli][own];
}

#if TD_HAS_CUDA_DEVICE

/* The tensor cores' operands: in a product, k belongs to four lanes, but the weights of all but one of these are zeros. */
template <int pieces> struct lane_moduli {
    uint32_t weights[LANES][pieces][LANE_ROWS], start[2 * LANE_ROWS], minus_p[LANE_ROWS];
    float inverse[LANE_ROWS];
};

/* A number that the compiler neither copies nor makes anew: the tensor cores take registers that are next to each other. */
TD_DEVICE uint32_t load_operand(const uint32_t &from)
{
    uint32_t number;
    asm volatile("ld.global.nc.u32 %0, [%1];" : "=r"(number) : "l"(&from));
    return number;
}

template <int pieces>
TD_DEVICE void find_moduli(lane_moduli<pieces> &own, int which, int moduli, int first)
{
    const int lane = (int)(threadIdx.x % 32);
    TD_UNROLL
    for (int i = 0; i < LANE_ROWS; i++) {
        const td_byte_weights &row = weights_of(which, moduli, first + lane / LANES + 8 * i);
        TD_UNROLL
        for (int j = 0; j < LANES; j++) {
            const td_byte_weights &from = lane % LANES == j ? row : td_weights.zeros;
            TD_UNROLL
            for (int w = 0; w < pieces; w++) own.weights[j][w][i] = load_operand(from.piece[w]);
        }
        TD_UNROLL
        for (int e = 0; e < 2; e++)
            own.start[2 * i + e] = load_operand(row.start[pieces - TD_SHORT_PIECES][e]);
        own.minus_p[i] = row.minus_p;
        own.inverse[i] = row.inverse;
    }
}

/* The tensor cores see the numbers of all lanes. */
template <int pieces> TD_DEVICE const lane_numbers<pieces> *share(const lane_numbers<pieces> &own)
{
    return &own;
}

/* sum = start + 16 x 32 bytes times 32 x 8 bytes; x and y are the first half of k, x2 and y2 the second. */
TD_DEVICE void multiply_bytes(const uint32_t (&x)[2], const uint32_t (&x2)[2], uint32_t y,
                              uint32_t y2, const uint32_t (&start)[4], uint32_t (&sum)[4])
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%10, %11, %12, %13};"
        : "=r"(sum[0]), "=r"(sum[1]), "=r"(sum[2]), "=r"(sum[3])
        : "r"(x[0]), "r"(x[1]), "r"(x2[0]), "r"(x2[1]), "r"(y), "r"(y2), "r"(start[0]),
          "r"(start[1]), "r"(start[2]), "r"(start[3]));
#elif defined(__CUDA_ARCH__)
    TD_UNROLL
    for (int i = 0; i < 4; i += 2) {
        asm("mma.sync.aligned.m8n8k16.row.col.s32.u8.u8.s32 {%0, %1}, {%2}, {%3}, {%4, %5};"
            : "=r"(sum[i]), "=r"(sum[i + 1])
            : "r"(x[i / 2]), "r"(y), "r"(start[i]), "r"(start[i + 1]));
        asm("mma.sync.aligned.m8n8k16.row.col.s32.u8.u8.s32 {%0, %1}, {%2}, {%3}, {%0, %1};"
            : "+r"(sum[i]), "+r"(sum[i + 1])
            : "r"(x2[i / 2]), "r"(y2));
    }
#endif
}

/* Sums of both rows, of two elements each: `half` 0 or 1 of those that lanes 8 q + j and 8 q + 4 + j have. */
template <int pieces>
TD_DEVICE void add_bytes(const lane_moduli<pieces> &own, const lane_numbers<pieces> *numbers, int j,
                         int half, uint32_t (&sum)[4])
{
    const uint32_t(&piece)[pieces] = numbers->of[half];
    multiply_bytes(own.weights[j][0], own.weights[j][1], piece[0], piece[1], own.start, sum);
    if constexpr (pieces == TD_LONG_PIECES) {
        const uint32_t start[4] = {sum[0], sum[1], sum[2], sum[3]};
        multiply_bytes(own.weights[j][2], {0, 0}, piece[2], 0, start, sum);
    }
}

#else

template <int pieces> struct lane_moduli {
    uint32_t weights[pieces][LANE_ROWS], start[LANE_ROWS], minus_p[LANE_ROWS];
    float inverse[LANE_ROWS];
};

template <int pieces>
TD_DEVICE void find_moduli(lane_moduli<pieces> &own, int which, int moduli, int first)
{
    for (int i = 0; i < LANE_ROWS; i++) {
        const td_byte_weights &row =
            weights_of(which, moduli, first + (int)(threadIdx.x % 32) / LANES + 8 * i);
        for (int w = 0; w < pieces; w++) own.weights[w][i] = row.piece[w];
        own.start[i] = row.start[pieces - TD_SHORT_PIECES][0];
        own.minus_p[i] = row.minus_p;
        own.inverse[i] = row.inverse;
    }
}

template <int pieces> TD_DEVICE const lane_numbers<pieces> *share(const lane_numbers<pieces> &own)
{
    TD_SHARED(lane_numbers<pieces>, all, [WARPS][32]);
    __syncwarp(); /* the last ones are used */
    all[threadIdx.x / 32][threadIdx.x % 32] = own;
    __syncwarp();
    return all[threadIdx.x / 32];
}

template <int pieces>
TD_DEVICE void add_bytes(const lane_moduli<pieces> &own, const lane_numbers<pieces> *numbers, int j,
                         int half, uint32_t (&sum)[4])
{
    for (int i = 0; i < 4; i++) {
        const lane_numbers<pieces> &from = numbers[8 * (threadIdx.x % LANES) + 4 * (i % 2) + j];
        sum[i] = own.start[i / 2];
        for (int w = 0; w < pieces; w++)
            sum[i] = __dp4a(from.of[half][w], own.weights[w][i / 2], sum[i]);
    }
}

#endif

/* Of the lane's moduli, the first `rows` of them, and sixteen elements: word w has those of lanes 8 q + 2 w and 8 q + 2 w + 1. */
template <int rows> using lane_residues = td_quad<uint32_t>[rows];

template <int pieces, int rows>
TD_DEVICE void find_residues(const lane_moduli<pieces> &own, const lane_numbers<pieces> *numbers,
                             lane_residues<rows> &residues)
{
    TD_UNROLL
    for (int w = 0; w < 2; w++) {
        uint32_t sum[4][4]; /* two lanes' two halves */
        TD_UNROLL
        for (int e = 0; e < 4; e++) add_bytes<pieces>(own, numbers, 2 * w + e / 2, e % 2, sum[e]);
        TD_UNROLL
        for (int i = 0; i < 2 * rows; i++) {
            uint32_t r[4];
            TD_UNROLL
            for (int e = 0; e < 4; e++)
                r[e] = td_residue_of(sum[e][i], own.inverse[i / 2], own.minus_p[i / 2]);
            residues[i / 2].of[w + i % 2 * 2] = td_lowest_bytes(r);
        }
    }
}

/* ---- lines ---- */

TD_HOST_DEVICE int padded_lines(const td_fixed &fixed, int which)
{
    return td_padded_lines(fixed.operand[which].lines, which);
}

/* The numbers of a lane's two elements by whole numbers: in_pass is the first one's place. Seldom needed where there is much binary64. */
template <int pieces>
TD_DEVICE_CALL lane_numbers<pieces> cut_numbers(const td_fixed &fixed, const tile_place &at,
                                                uint32_t record, bool is_shifted, int in_pass,
                                                uint64_t x0, uint64_t x1)
{
    const int16_t low = (int16_t)record, scale = (int16_t)(record >> 16);
    const int16_t *const shift = fixed.shift + at.batch * fixed.operand[0].k + at.first + in_pass;
    const uint64_t x[2] = {x0, x1};
    lane_numbers<pieces> numbers;
    TD_UNROLL
    for (int i = 0; i < 2; i++) {
        const int own = is_shifted && in_pass + i < at.count ? shift[i] : 0;
        td_cut_number(low == TD_SPECIAL ? 0 : x[i], scale + (at.which ? -own : own), numbers.of[i]);
    }
    return numbers;
}

/* One run of a line. */
template <int pieces>
TD_DEVICE lane_numbers<pieces> numbers_of(const td_residues &p, const tile_place &at,
                                          uint32_t record, bool is_shifted, int run,
                                          const pair_of_elements &x)
{
    const int scale = (int16_t)(record >> 16);
    lane_numbers<pieces> numbers;
    if (p.by_binary64 && !is_shifted && (int16_t)record != TD_SPECIAL && td_is_near(scale)) {
        const double unit = td_near_power(scale - TD_PIECE_BITS * (pieces - 1));
        TD_UNROLL
        for (int i = 0; i < 2; i++)
            td_cut_double<pieces>(td_from_bits64(x.of[i]), unit, numbers.of[i]);
    } else {
        const int in_pass = at.in_pass + run + (int)(threadIdx.x % 32 * 2);
        numbers = cut_numbers<pieces>(p.fixed, at, record, is_shifted, in_pass, x.of[0], x.of[1]);
    }
    return numbers;
}

/* Residues modulo 8 * rows moduli from `first` on. Runs whose numbers are all 0 have none to find. */
template <int pieces, int rows>
TD_DEVICE void store_lines(const td_residues &p, const tile &from, int first)
{
    const tile_place &at = from.place;
    const int lane = (int)threadIdx.x % 32, t = first + lane / LANES, moduli = from.moduli;
    const int runs = min((int)TILE_K, at.k_padded - at.in_pass), lines = min((int)LINES, at.lines);
    const int64_t step = p.plane_step[at.which];
    const bool is_shifted = from.is_shifted;
    const int own_rows = (t < moduli) + (t + 8 < moduli);
    bool is_nonzero = false;
    lane_moduli<pieces> own;
    find_moduli(own, at.which, moduli, first);
    int8_t *const to = p.plane[at.which] + t * step +
                       (int64_t)at.batch * padded_lines(p.fixed, at.which) * at.k_padded +
                       at.in_pass + lane % LANES * (RUN / 4);
    TD_UNROLL_N(1)
    for (int i = (int)(threadIdx.x / 32); i < lines; i += WARPS) {
        const int line = at.line0 + i, place = at.which ? line : td_place_of_line(line);
        const pair_of_elements *x =
            reinterpret_cast<const pair_of_elements *>(&from.element[i * shape::pitch]) + lane;
        const uint32_t record = from.line[i];
        int8_t *to_line = to + (int64_t)place * at.k_padded;
        TD_UNROLL_N(1)
        for (int run = 0; run < runs; run += RUN, to_line += RUN, x += RUN / 2) {
            const lane_numbers<pieces> numbers =
                numbers_of<pieces>(p, at, record, is_shifted, run, *x);
            const uint32_t bits =
                td_bits_of_pieces(numbers.of[0]) | td_bits_of_pieces(numbers.of[1]);
            lane_residues<rows> residues = {};
            if (__any_sync(0xffffffffu, bits != td_piece_zero)) {
                find_residues<pieces, rows>(own, share(numbers), residues);
                is_nonzero = true;
            }
            TD_UNROLL
            for (int r = 0; r < rows; r++)
                if (r < own_rows)
                    *reinterpret_cast<td_quad<uint32_t> *>(to_line + r * 8 * step) = residues[r];
        }
    }
    if (first == 0 && is_nonzero && lane == 0 && from.nonzero) atomicOr(from.nonzero, from.own_bit);
}

/* Has its own registers: more than most products need. */
TD_DEVICE_CALL void store_lines_of_many(const td_residues &p, const tile &from)
{
    static_assert(TD_MAX_MODULI <= 8 * 3, "two and one");
    store_lines<TD_LONG_PIECES, 2>(p, from, 0);
    if (from.moduli > 16) store_lines<TD_LONG_PIECES, 1>(p, from, 16);
}

/* ---- tiles ---- */

/* Of both operands of all members: first those that are neighbours in memory, as far as GROUP strips. */
enum { GROUP = 16 };
struct tiles {
    td_divisor along_k, group, matrix; /* tiles of a strip, of a group of strips, of a matrix */
    int strips, count;
};

static tiles tiles_of(const td_fixed &fixed)
{
    const int along_k = (int)((fixed.k_count + TILE_K - 1) / TILE_K),
              most = max(padded_lines(fixed, 0), padded_lines(fixed, 1)),
              strips = (most + LINES - 1) / LINES, matrix = along_k * strips;
    return {td_divisor_of(along_k), td_divisor_of(GROUP * along_k), td_divisor_of(matrix), strips,
            2 * fixed.batch * matrix};
}

/* Of the tile with that number. */
TD_DEVICE tile_place place_of(const td_fixed &fixed, const tiles &t, int number)
{
    tile_place at;
    int in_matrix, in_group, in_k, strip;
    const int matrix = td_divide(number, t.matrix, &in_matrix);
    at.which = matrix % 2;
    at.batch = matrix / 2;
    if (fixed.operand[at.which].k_step == 1) {
        strip = td_divide(in_matrix, t.along_k, &in_k);
    } else {
        strip = GROUP * td_divide(in_matrix, t.group, &in_group);
        const int height = min((int)GROUP, t.strips - strip);
        in_k = in_group / height;
        strip += in_group % height;
    }
    at.line0 = strip * LINES;
    at.lines = padded_lines(fixed, at.which) - at.line0;
    at.in_pass = in_k * TILE_K;
    at.count = (int)fixed.k_count;
    at.k_padded = (at.count + TD_K_PAD - 1) / TD_K_PAD * TD_K_PAD;
    at.first = fixed.k_first;
    return at;
}

/* Which bit of the map is the tile's. */
TD_DEVICE void find_bit(const td_residues &p, tile &own)
{
    static_assert((int)TILE_K == TD_PIECE_K && TD_LINE_GROUP % LINES == 0,
                  "a bit is of whole tiles");
    const tile_place &at = own.place;
    const int stage = at.in_pass / TILE_K;
    const int64_t place = td_nonzero_place(padded_lines(p.fixed, at.which), at.k_padded, at.batch,
                                           at.line0 / TD_LINE_GROUP, stage);
    own.nonzero = p.nonzero[at.which] ? p.nonzero[at.which] + place : NULL;
    own.own_bit = td_nonzero_bit(stage);
}

/* Starts the copies of a tile; what is past the ends is zeros. */
TD_DEVICE void fetch_tile(const td_residues &p, const tile_place &at, tile &to)
{
    const td_operand &o = p.fixed.operand[at.which];
    const int tid = (int)threadIdx.x;
    td_copy_line_tile<shape>(o, td_member<const double>(o.matrix, p.fixed.batch_first + at.batch),
                             at.line0, at.first + at.in_pass, at.first + at.count, to.element);
    if (tid < LINES) {
        const td_line *const record =
            p.fixed.line[at.which] + at.batch * p.fixed.lines_of_member[at.which] + at.line0 + tid;
        static_assert(offsetof(td_line, scale) == offsetof(td_line, low) + 2, "one word");
        if (at.line0 + tid < o.lines)
            td_async_copy<4>(&to.line[tid], &record->low);
        else
            to.line[tid] = 0;
    } else if (tid == LINES) {
        td_async_copy<4>(&to.moduli, &p.fixed.choice[at.batch].parameter);
    } else if (tid == LINES + 1) {
        td_async_copy<4>(&to.is_shifted, &p.fixed.shifted[at.batch]);
    } else if (tid == LINES + 2) {
        to.place = at;
        find_bit(p, to);
    }
}

TD_DEVICE void work_on_tile(const td_residues &p, const tile &from)
{
    if (from.moduli <= TD_SHORT_MODULI)
        store_lines<TD_SHORT_PIECES, 2>(p, from, 0);
    else
        store_lines_of_many(p, from);
}

/* ---- all of it ---- */

/* With several stages tiles are copied while one before is worked on. Grid: as many blocks as there are places. */
template <int stages, int blocks>
static __global__ void __launch_bounds__(THREADS, blocks)
    residues_kernel(TD_PARAMETER td_residues p, TD_PARAMETER tiles all)
{
    TD_DYNAMIC_SHARED(tile, shared);
    td_wait_for_last();
    td_let_next_begin(); /* not before: crt.cu looks at choices and scales before it waits */
    if (td_scalar_value(p.fixed.alpha) == 0.0) return;
    if (p.fixed.batch == 1 && p.fixed.choice[0].parameter == 0) return;
    int next = (int)blockIdx.x;
    td_async_pipeline<stages>((all.count - next + (int)gridDim.x - 1) / (int)gridDim.x,
                              [&](int stage) {
                                  fetch_tile(p, place_of(p.fixed, all, next), shared[stage]);
                                  next += (int)gridDim.x;
                              },
                              [&](int stage) { work_on_tile(p, shared[stage]); });
}

enum { BLOCKS = 5, STAGES = 2 };

cudaError_t td_residues_run(const td_residues *p, cudaStream_t stream)
{
    const tiles all = tiles_of(p->fixed);
    int multiprocessors = 0, stages = 1;
    cudaError_t error = td_multiprocessors(&multiprocessors);
    if (error == cudaSuccess) error = td_stages_of_blocks(BLOCKS, sizeof(tile), STAGES, &stages);
    if (error != cudaSuccess) return error;
    return TD_LAUNCH_NEXT(
        (stages == STAGES ? residues_kernel<STAGES, BLOCKS> : residues_kernel<1, BLOCKS>),
        (unsigned)min(BLOCKS * multiprocessors, all.count), THREADS, stages * sizeof(tile), stream,
        *p, all);
}

cudaError_t td_residues_prepare(void)
{
    const cudaError_t error =
        td_load(cudaSuccess, residues_kernel<STAGES, BLOCKS>, residues_kernel<1, BLOCKS>);
    return td_allow_shared(error, residues_kernel<STAGES, BLOCKS>, STAGES * sizeof(tile));
}
