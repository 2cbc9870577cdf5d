/* certify.cu - which elements of C are certified where the means of lines do not tell: by the products of the largest elements
 * of a row with what they meet, and of a column. */
#include "finish.h"

enum { LINES = 32, GROUPS = 8, THREADS = LINES * GROUPS };

/* Elements of a line by size, the first of equal ones first; 0 for none. */
struct peaks {
    int64_t key[TD_PEAKS];
};

TD_DEVICE int64_t key_of(int log, int64_t l)
{
    return ((int64_t)log + (1 << 24)) << 32 | (0xffffffffll - l);
}

TD_DEVICE void insert(peaks *p, int64_t key)
{
    TD_UNROLL
    for (int i = 0; i < TD_PEAKS; i++) {
        const int64_t larger = max(p->key[i], key);
        key = min(p->key[i], key);
        p->key[i] = larger;
    }
}

/* Grid: LINES lines, 1, batch member * 2 + operand. */
static __global__ void __launch_bounds__(THREADS)
    peaks_kernel(const td_measure p, const td_choice *choice)
{
    TD_SHARED(peaks, found, [GROUPS][LINES]);
    const int which = (int)blockIdx.z % 2, batch = (int)blockIdx.z / 2;
    const td_operand &o = p.operand[which];
    const bool along = o.k_step == 1; /* neighbouring threads read neighbouring memory */
    const int tid = (int)threadIdx.x;
    const int in_block = along ? tid / GROUPS : tid % LINES;
    const int group = along ? tid % GROUPS : tid / LINES;
    const int line = (int)blockIdx.x * LINES + in_block;
    if ((int)blockIdx.x * LINES >= o.lines || td_scalar_value(p.alpha) == 0.0 ||
        !choice[batch].has_peaks)
        return;
    const double *data = td_member<const double>(o.matrix, p.batch_first + batch);
    const int16_t *shift = p.shifted[batch] ? p.shift + batch * o.k : NULL;
    peaks mine = {};
    for (int64_t l = group; l < o.k && line < o.lines; l += GROUPS) {
        const uint64_t bits = td_bits64(data[td_operand_at(o, line, l)]);
        if (!(bits << 1) || !td_is_finite64(bits)) continue;
        const int up = shift ? (which ? -shift[l] : shift[l]) : 0;
        const int64_t key = key_of(td_log_of64(bits) + TD_LOG * up, l);
        if (key > mine.key[TD_PEAKS - 1]) insert(&mine, key);
    }
    found[group][in_block] = mine;
    __syncthreads();
    if (group == 0 && line < o.lines) {
        td_line *record = &p.line[which][(int64_t)batch * o.lines + line];
        for (int g = 1; g < GROUPS; g++)
            for (int i = 0; i < TD_PEAKS; i++) insert(&mine, found[g][in_block].key[i]);
        for (int i = 0; i < TD_PEAKS; i++)
            record->top[i] =
                mine.key[i] ? (int32_t)(0xffffffffll - (mine.key[i] & 0xffffffffll)) : -1;
    }
}

cudaError_t td_peaks_run(const td_measure *p, const td_choice *choice, cudaStream_t stream)
{
    const int lines = max(p->operand[0].lines, p->operand[1].lines);
    const dim3 grid((unsigned)((lines + LINES - 1) / LINES), 1, 2 * (unsigned)p->batch);
    return TD_LAUNCH(peaks_kernel, grid, THREADS, 0, stream, *p, choice);
}

/* Logarithm of the largest |a b| that both meet in, at most, of the largest elements of one line with those of the other. */
TD_DEVICE int log_of_meeting(const td_line &line, const td_operand &o, int at, const double *data,
                             const td_operand &other, int other_at, const double *other_data)
{
    int largest = INT32_MIN;
    for (int i = 0; i < TD_PEAKS; i++) {
        const int64_t l = line.top[i];
        if (l < 0) break;
        const uint64_t a = td_bits64(data[td_operand_at(o, at, l)]);
        const uint64_t b = td_bits64(other_data[td_operand_at(other, other_at, l)]);
        if (b << 1) largest = max(largest, td_log_of64(a) + td_log_of64(b));
    }
    return largest;
}

/* One block a tile, one thread a subtile. Grid: tile, 1, batch member. */
static __global__ void __launch_bounds__(TD_FINISH_THREADS)
    certify_kernel(const td_fixed fixed, const td_finish finish)
{
    const td_target &target = finish.target;
    const td_choice choice = finish.choice[blockIdx.z];
    if (!choice.has_peaks || td_scalar_value(fixed.alpha) == 0.0) return;
    int row, col;
    td_subtile_of_thread(target, &row, &col);
    if (row >= target.m || col >= target.n) return;
    const td_operand &a = fixed.operand[0], &b = fixed.operand[1];
    const double *a_data = td_member<const double>(a.matrix, fixed.batch_first + blockIdx.z);
    const double *b_data = td_member<const double>(b.matrix, fixed.batch_first + blockIdx.z);
    unsigned mask = 0;
    TD_UNROLL_N(1)
    for (int e = 0; e < TD_SUBTILE * TD_SUBTILE; e++) {
        const int i = row + e % TD_SUBTILE, j = col + e / TD_SUBTILE;
        if (i >= target.m || j >= target.n) continue;
        const td_line x = finish.line[0][blockIdx.z * finish.lines_of_member[0] + i];
        const td_line y = finish.line[1][blockIdx.z * finish.lines_of_member[1] + j];
        bool is_good = x.low != TD_SPECIAL && y.low != TD_SPECIAL;
        if (is_good && !td_is_certified(x, y, choice, finish.cut)) {
            const int log = max(log_of_meeting(x, a, i, a_data, b, j, b_data),
                                log_of_meeting(y, b, j, b_data, a, i, a_data));
            is_good = log != INT32_MIN && log + TD_LOG * (x.scale + y.scale) >=
                                              choice.need_of_one + td_log_error(x, y, choice);
        }
        mask |= is_good ? 0u : 1u << e;
    }
    *td_target_mask(target, row, col) = (uint16_t)mask;
}

cudaError_t td_certify_run(const td_fixed *fixed, const td_finish *finish, cudaStream_t stream)
{
    const dim3 grid = td_grid_of_tiles(finish->target, 1, fixed->batch);
    return TD_LAUNCH(certify_kernel, grid, TD_FINISH_THREADS, 0, stream, *fixed, *finish);
}

cudaError_t td_certify_prepare(void) { return td_load(cudaSuccess, peaks_kernel, certify_kernel); }
