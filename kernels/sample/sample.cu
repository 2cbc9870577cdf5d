/* sample.cu - the exact error of single elements of a call's result: see sample.h. A block has one
 * element at a time, of which its threads share the products (sums.h). A thread then finishes with
 * a few words (verdict.h). Several blocks share an element of many terms: one kernel measures, the
 * next one adds up, and the last one finishes. What a block does seldom is called and not inlined:
 * to fetch instructions that run once takes longer than a call. */
#include "sample.h"

#include "verdict.h"

enum { MOST_BLOCKS = 1 << 16 };

/* ---- before the call ---- */

/* Grid: blocks over places. */
static __global__ void __launch_bounds__(THREADS) save_kernel(TD_PARAMETER td_sample s)
{
    element at;
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < s.count;
         i += (int64_t)gridDim.x * THREADS) {
        if (!go_to(s, i, &at) || is_zero(multiplier_of_old(s))) continue;
        const td_term old = load_number(s, s.old, s.old_in_rows, at);
        s.before[i * parts_of(s)] = old.re;
        if (s.is_complex) s.before[i * 2 + 1] = old.im;
    }
}

/* Where line number i of the kept factor is. */
TD_DEVICE bool go_to_line(const td_sample &s, int64_t i, element *at)
{
    const int64_t lines = s.kept == 0 ? s.m : s.n;
    if (!takes_all(s)) return go_to(s, i, at);
    at->member = i / lines;
    at->row = at->col = i % lines;
    return true;
}

/* Grid: blocks over lines of the kept factor. */
static __global__ void __launch_bounds__(THREADS)
    keep_kernel(TD_PARAMETER td_sample s, const int64_t lines)
{
    element at;
    for (int64_t i = blockIdx.x; i < lines; i += gridDim.x) {
        if (!go_to_line(s, i, &at)) continue;
        for (int64_t l = threadIdx.x; l < s.k; l += THREADS) {
            const td_term t = s.kept ? load_stored(s, 1, at.member, l, at.col)
                                     : load_stored(s, 0, at.member, at.row, l);
            double *const to = s.lines + (i * s.k + l) * parts_of(s);
            to[0] = t.re;
            if (s.is_complex) to[1] = t.im;
        }
    }
}

/* ---- counts ---- */

/* Positive numbers have the order of their bits. */
TD_DEVICE void raise(double *worst, double value)
{
    atomicMax(reinterpret_cast<unsigned long long *>(worst), (unsigned long long)td_bits64(value));
}

TD_DEVICE void count(td_sample_counts *counts, const verdict &v)
{
    atomicAdd(v.is_left_out ? &counts->unjudged : &counts->elements, 1ull);
    if (v.is_left_out) return;
    if (v.is_outside) atomicAdd(&counts->outside, 1ull);
    if (v.is_special) {
        if (!v.is_outside) atomicAdd(&counts->special, 1ull);
        return;
    }
    raise(&counts->worst, v.error);
    raise(&counts->worst_ulps, v.ulps);
    atomicAdd(&counts->sum, v.error);
    atomicAdd(&counts->sum_ulps, v.ulps);
}

#if TD_HAS_CUDA_DEVICE
static __device__ td_sample_counts device_counts[TD_SAMPLE_SLOTS];
static __device__ unsigned has_failed;

cudaError_t td_sample_find(td_sample_counts **counts)
{
    void *address = NULL;
    const cudaError_t error = cudaGetSymbolAddress(&address, device_counts);
    *counts = static_cast<td_sample_counts *>(address);
    return error;
}
#else
static td_sample_counts device_counts[TD_SAMPLE_SLOTS];
static unsigned has_failed;

cudaError_t td_sample_find(td_sample_counts **counts)
{
    *counts = device_counts;
    return cudaSuccess;
}
#endif

/* ---- the first failure ---- */

TD_DEVICE int width_of(const td_sample &s) { return 2 * parts_of(s) * (s.adds_mirror ? 2 : 1); }

TD_DEVICE int64_t kept_terms(const td_sample &s, const element &at)
{
    return s.failed_lines ? min(at.k, (int64_t)TD_SAMPLE_LINES / width_of(s)) : 0;
}

/* By one thread; true if this is the context's first element outside of its bound. */
TD_DEVICE bool note_failure(const td_sample &s, const element &at, const verdict &v)
{
    if (!v.is_outside || atomicExch(&has_failed, 1u) != 0u) return false;
    const double nan = td_from_bits64(0x7ff8000000000000ull);
    td_sample_failure *const f = s.failure;
    f->slot = s.slot;
    f->is_solve = s.is_solve;
    f->part = !s.is_complex ? TD_SAMPLE_REAL : at.part ? TD_SAMPLE_IM : TD_SAMPLE_RE;
    f->row = at.row;
    f->col = at.col;
    f->member = at.member;
    f->alpha = at.alpha_of_call;
    f->beta = at.beta_of_call;
    f->before = td_term_of(at.before[at.part], s.is_complex ? at.before[!at.part] : 0.0);
    f->after = at.found;
    f->error = v.is_special ? nan : v.error;
    f->error_ulps = v.is_special ? nan : v.ulps;
    f->bound = v.bound;
    f->k = at.k;
    f->kept = kept_terms(s, at);
    f->width = width_of(s);
    return true;
}

/* Stores one or two numbers; returns where the next ones go. */
TD_DEVICE double *store(const td_sample &s, td_term t, double *to)
{
    *to++ = t.re;
    if (s.is_complex) *to++ = t.im;
    return to;
}

/* The failure's terms; then the host may look. */
TD_DEVICE void keep_failure(const td_sample &s, const element &at)
{
    TD_UNROLL_N(1)
    for (int64_t l = threadIdx.x; l < kept_terms(s, at); l += THREADS) {
        double *to = s.failed_lines + l * width_of(s);
        for (int mirror = 0; mirror <= (int)s.adds_mirror; mirror++) {
            const term_pair t = load_pair(s, at, mirror, l);
            to = store(s, t.b, store(s, t.a, to));
        }
    }
    __threadfence_system();
    __syncthreads();
    if (threadIdx.x == 0) atomicExch(&s.failure->is_ready, 1u);
}

/* ---- after the call ---- */

/* Judges an element whose products are in the totals. magnitude: of all of them. */
TD_DEVICE void finish(const td_sample &s, const element &at, const double *magnitude,
                      sample_shared &shared)
{
    if (threadIdx.x == 0) {
        const verdict v = judge(s, at, magnitude, shared);
        count(s.counts, v);
        shared.keeps_lines = !v.is_left_out && note_failure(s, at, v);
    }
    __syncthreads();
    if (shared.keeps_lines) keep_failure(s, at);
    __syncthreads();
}

/* Grid: blocks over places. */
static __global__ void __launch_bounds__(THREADS) find_rows_kernel(TD_PARAMETER td_sample s)
{
    element at;
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < s.count;
         i += (int64_t)gridDim.x * THREADS)
        if (go_to(s, i, &at)) s.rows[i] = row_in_factors(s, at.row);
}

/* Grid: blocks over real numbers. */
static __global__ void __launch_bounds__(THREADS) check_kernel(TD_PARAMETER td_sample s)
{
    TD_SHARED(sample_shared, shared, );
    td_wait_for_last();
    td_let_next_begin();
    TD_UNROLL_N(1)
    for (int64_t i = blockIdx.x; i < numbers_of(s); i += gridDim.x) {
        element at;
        double magnitude[2];
        if (!go_to_number(s, i, &at)) continue;
        at = load_element(s, at);
        measure_all(s, at, shared);
        add_terms(s, at, magnitude, shared);
        finish(s, at, magnitude, shared);
    }
}

/* ---- elements that blocks share ---- */

/* What blocks that share an element have found so far of one of its sums; zeros at first. */
struct share_sum {
    unsigned low, high; /* those of shared_sum, as BIAS - low and BIAS + high */
    unsigned specials;
    double magnitude[TD_SAMPLE_SHARES]; /* each block's own */
    long long total[TOTAL_WORDS];
};

TD_DEVICE share_sum *sums_of(const td_sample &s)
{
    return static_cast<share_sum *>(s.shares) + (int64_t)blockIdx.x * parts_of(s);
}

/* The block's element; its terms are those of share number `share` of so many. */
TD_DEVICE bool load_share(const td_sample &s, int share, int shares, element *at)
{
    if (!go_to_number(s, blockIdx.x, at)) return false;
    *at = load_element(s, *at);
    const int64_t terms = (at->k + shares - 1) / shares;
    at->first = min(at->k, share * terms);
    at->end = min(at->k, at->first + terms);
    return true;
}

/* What all blocks have measured, and zeros for the totals. All threads take part. */
TD_DEVICE void load_measure(const element &at, const share_sum *sums, sample_shared &shared)
{
    for (int i = 0; i < at.sums; i++) {
        clear_sum(shared.sum[i]);
        if (threadIdx.x == 0) {
            shared.sum[i].low = BIAS - (int)sums[i].low;
            shared.sum[i].high = (int)sums[i].high - BIAS;
            shared.sum[i].specials = sums[i].specials;
        }
    }
    __syncthreads();
}

/* Grid: real numbers, shares of their terms. */
static __global__ void __launch_bounds__(THREADS) measure_shares_kernel(TD_PARAMETER td_sample s)
{
    TD_SHARED(sample_shared, shared, );
    element at;
    if (!load_share(s, (int)blockIdx.y, (int)gridDim.y, &at)) return;
    measure_all(s, at, shared);
    if (threadIdx.x != 0) return;
    for (int i = 0; i < at.sums; i++) {
        share_sum *const sum = sums_of(s) + i;
        atomicMax(&sum->low, (unsigned)(BIAS - shared.sum[i].low));
        atomicMax(&sum->high, (unsigned)(BIAS + shared.sum[i].high));
        if (shared.sum[i].specials) atomicOr(&sum->specials, shared.sum[i].specials);
    }
}

/* Grid: real numbers, shares of their terms. */
static __global__ void __launch_bounds__(THREADS) add_shares_kernel(TD_PARAMETER td_sample s)
{
    TD_SHARED(sample_shared, shared, );
    element at;
    double magnitude[2];
    if (!load_share(s, (int)blockIdx.y, (int)gridDim.y, &at)) return;
    share_sum *const sums = sums_of(s);
    load_measure(at, sums, shared);
    add_terms(s, at, magnitude, shared);
    __syncthreads();
    for (int i = 0; i < at.sums; i++) {
        if (threadIdx.x == 0) sums[i].magnitude[blockIdx.y] = magnitude[i];
        for (int w = (int)threadIdx.x; w < TOTAL_WORDS; w += THREADS)
            if (shared.sum[i].total[w] != 0)
                atomicAdd(reinterpret_cast<unsigned long long *>(&sums[i].total[w]),
                          (unsigned long long)shared.sum[i].total[w]);
    }
}

/* Grid: real numbers. */
static __global__ void __launch_bounds__(THREADS)
    finish_shares_kernel(TD_PARAMETER td_sample s, const int shares)
{
    TD_SHARED(sample_shared, shared, );
    element at;
    double magnitude[2] = {0.0, 0.0};
    if (!load_share(s, 0, 1, &at)) return;
    const share_sum *const sums = sums_of(s);
    load_measure(at, sums, shared);
    for (int i = 0; i < at.sums; i++) {
        for (int w = (int)threadIdx.x; w < TOTAL_WORDS; w += THREADS)
            shared.sum[i].total[w] = sums[i].total[w];
        for (int share = 0; share < shares; share++)
            magnitude[i] = td_add64(magnitude[i], sums[i].magnitude[share]);
    }
    __syncthreads();
    finish(s, at, magnitude, shared);
}

size_t td_sample_share_bytes(const td_sample *s)
{
    const int64_t parts = td_sample_parts(s);
    return td_sample_shares(s->k, s->count) > 1
               ? (size_t)(s->count * parts * parts) * sizeof(share_sum)
               : 0;
}

static cudaError_t run_shares(const td_sample *s, int shares, cudaStream_t stream)
{
    const unsigned count = (unsigned)(s->count * td_sample_parts(s));
    cudaError_t error = cudaMemsetAsync(s->shares, 0, td_sample_share_bytes(s), stream);
    if (error == cudaSuccess)
        error = TD_LAUNCH(measure_shares_kernel, dim3(count, (unsigned)shares), dim3(THREADS), 0,
                          stream, *s);
    if (error == cudaSuccess)
        error = TD_LAUNCH(add_shares_kernel, dim3(count, (unsigned)shares), dim3(THREADS), 0,
                          stream, *s);
    if (error == cudaSuccess)
        error = TD_LAUNCH(finish_shares_kernel, dim3(count), dim3(THREADS), 0, stream, *s, shares);
    return error;
}

/* td_sample_counts is four counts and then, in turn, a largest number and a sum, twice. */
enum { COUNT_FIELDS = 4, MOVED_FIELDS = 8 };
static_assert(sizeof(td_sample_counts) == MOVED_FIELDS * sizeof(double), "fields of 8 bytes");

/* One block of MOVED_FIELDS threads: each moves a field. Host memory takes an atomic operation
 * microseconds, which threads wait for at the same time. */
static __global__ void move_kernel(td_sample_counts *from, td_sample_counts *to)
{
    const int field = (int)threadIdx.x;
    td_wait_for_last();
    const unsigned long long moved =
        atomicExch(reinterpret_cast<unsigned long long *>(from) + field, 0ull);
    double *const number = reinterpret_cast<double *>(to) + field;
    if (moved == 0ull) return;
    if (field < COUNT_FIELDS)
        atomicAdd(reinterpret_cast<unsigned long long *>(to) + field, moved);
    else if ((field - COUNT_FIELDS) % 2 == 0)
        raise(number, td_from_bits64(moved));
    else
        atomicAdd(number, td_from_bits64(moved));
}

static unsigned blocks_of(int64_t count)
{
    return (unsigned)(count < MOST_BLOCKS ? count : (int64_t)MOST_BLOCKS);
}

static dim3 blocks_over_places(const td_sample *s)
{
    return dim3(blocks_of((s->count + THREADS - 1) / THREADS));
}

cudaError_t td_sample_save_run(const td_sample *s, cudaStream_t stream)
{
    cudaError_t error = cudaSuccess;
    if (s->before)
        error = TD_LAUNCH(save_kernel, blocks_over_places(s), dim3(THREADS), 0, stream, *s);
    if (error != cudaSuccess || s->kept < 0) return error;
    const int64_t lines = td_sample_kept_lines(s);
    return TD_LAUNCH(keep_kernel, dim3(blocks_of(lines)), dim3(THREADS), 0, stream, *s, lines);
}

cudaError_t td_sample_check_run(const td_sample *s, cudaStream_t stream)
{
    const int shares = td_sample_shares(s->k, s->count);
    if (s->is_factored) {
        const cudaError_t error =
            TD_LAUNCH(find_rows_kernel, blocks_over_places(s), dim3(THREADS), 0, stream, *s);
        if (error != cudaSuccess) return error;
    }
    if (s->shares && shares > 1) return run_shares(s, shares, stream);
    return TD_LAUNCH_NEXT(check_kernel, dim3(blocks_of(s->count * td_sample_parts(s))),
                          dim3(THREADS), 0, stream, *s);
}

cudaError_t td_sample_move_run(td_sample_counts *from, td_sample_counts *to, cudaStream_t stream)
{
    return TD_LAUNCH_NEXT(move_kernel, dim3(1), dim3(MOVED_FIELDS), 0, stream, from, to);
}

cudaError_t td_sample_prepare(int which)
{
    (void)which;
    return td_load(cudaSuccess, save_kernel, keep_kernel, find_rows_kernel, check_kernel,
                   measure_shares_kernel, add_shares_kernel, finish_shares_kernel, move_kernel);
}
