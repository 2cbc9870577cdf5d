/* exact_wide.cu - exact elements of any lines: sums go through the whole range of products, in
 * shared memory. */
#include "binary64.h"
#include "exact_group.h"

/* Products between carries: the lanes' sums can still be added. */
enum { CARRY_AFTER = 1 << 25 };

/* Adds every `step`-th product of a sum from `first` on; false if a number is not finite. */
TD_DEVICE bool add_wide_products(const line_pair &pair, int64_t first, int64_t step,
                                 const td_exact *x)
{
    bool is_finite = true;
    for (int64_t l0 = first; l0 < pair.k && is_finite; l0 += AT_ONCE * step) {
        uint64_t bits[2][AT_ONCE];
        load_products(pair, l0, step, bits);
        TD_UNROLL
        for (int i = 0; i < AT_ONCE; i++) {
            is_finite &= td_is_finite64(bits[0][i]) && td_is_finite64(bits[1][i]);
            td_exact_add_product(x, bits[0][i], bits[1][i]);
        }
    }
    return is_finite;
}

struct wide_shared {
    int64_t words[TD_EXACT_WORDS][WARP];
    unsigned done[GROUP_SUBTILES];
};

/* Adds the lanes' sums to the first one's. Lanes read in turn from different banks. */
TD_DEVICE void add_lanes(wide_shared &shared)
{
    const int lane = (int)threadIdx.x;
    __syncthreads();
    TD_UNROLL_N(1)
    for (int w = lane; w < TD_EXACT_WORDS; w += WARP) {
        int64_t total = 0;
        TD_UNROLL_N(4)
        for (int i = 0; i < WARP; i++) total += shared.words[w][(lane + i) % WARP];
        shared.words[w][0] = total;
    }
    __syncthreads();
}

/* The block's member's range of a line, of a repair that has ranges. */
TD_DEVICE td_range range_of_line(const td_repair &p, int which, int line)
{
    const int64_t padded = td_tiles(p.operand[which].lines) * TD_TILE;
    return p.range[which][blockIdx.z * padded + line];
}

/* True if the exponent range of binary64 costs a sum in binary64 no accuracy: every product of
 * elements that are not 0 is at least 2^-1022, so that rounding to a multiple of 2^-1074 is at most
 * 2^-53 of it; beta C is not below that either; and no sum can overflow. Also true where a line
 * holds a NaN or an infinity, which only such a sum passes on. */
TD_DEVICE bool has_room_in_binary64(const td_repair &p, int row, int col)
{
    const td_range a = range_of_line(p, 0, row), b = range_of_line(p, 1, col);
    const scalars r = scalars_at(p, row, col);
    if (a.top == TD_RANGE_SPECIAL || b.top == TD_RANGE_SPECIAL) return true;
    const bool c_is_cut = r.c != 0.0 && td_is_below_normal64(td_mul64(r.beta, r.c));
    return !c_is_cut && td_has_room(a.top + b.top, a.bottom + b.bottom - 52, p.operand[0].k);
}

/* An element of C, by one lane or by all together; false if it is to be a sum in binary64. */
TD_DEVICE bool wide_element(const td_repair &p, int row, int col, bool is_shared,
                            wide_shared &shared)
{
    const int lane = (int)threadIdx.x;
    if (!is_for_us(p, row, col)) return false;
    if (p.kind == TD_REPAIR_BINARY64 && has_room_in_binary64(p, row, col)) return false;
    td_exact x = {&shared.words[0][lane], WARP, TD_EXACT_WORDS, TD_EXACT_LOWEST};
    td_exact_clear(&x);
    line_pair pair = pair_at(p, row, col);
    const int64_t k = pair.k, step = is_shared ? (int)WARP : 1;
    bool is_done = true;
    TD_UNROLL_N(1)
    for (int64_t first = 0; first < k && is_done; first = pair.k) {
        pair.k = min(k, first + CARRY_AFTER);
        is_done = add_wide_products(pair, first + (is_shared ? lane : 0), step, &x);
        if (is_shared) is_done = __syncthreads_and(is_done);
        if (is_shared && is_done && pair.k == k) add_lanes(shared);
        td_exact_carry(&x);
    }
    if (is_done && !(is_shared && lane)) store_element(p, row, col, &x);
    if (is_shared) __syncthreads();
    return is_done;
}

/* So many products take as long as what follows a sum, which is some passes over all words. */
enum { PASSES = 64 };

/* True if it is faster that all lanes share each element than that each has one of two subtiles. */
TD_DEVICE bool is_shared_faster(const uint16_t *masks, int64_t k)
{
    int count = 0, rounds = 0;
    for (int s = 0; s < GROUP_SUBTILES; s += 2) {
        count += __popc(masks[s]) + __popc(masks[s + 1]);
        rounds += (masks[s] | masks[s + 1]) != 0;
    }
    return count * (k / WARP + PASSES) < rounds * (k + PASSES);
}

/* Makes the elements of a group that are still masked. */
TD_DEVICE void wide_group(const td_repair &p, int row0, int col0, const uint16_t *masks,
                          wide_shared &shared)
{
    const int lane = (int)threadIdx.x;
    if (lane < GROUP_SUBTILES) shared.done[lane] = 0;
    __syncthreads();
    const bool is_shared = is_shared_faster(masks, p.operand[0].k);
    TD_UNROLL_N(1)
    for (int e = is_shared ? 0 : lane; e < SIDE * SIDE; e += is_shared ? 1 : WARP) {
        const int subtile = e / (TD_SUBTILE * TD_SUBTILE), at = e % (TD_SUBTILE * TD_SUBTILE);
        if (!(masks[subtile] >> at & 1)) continue;
        int row = row0 + at % TD_SUBTILE, col = col0 + at / TD_SUBTILE;
        go_to_subtile(subtile, &row, &col);
        const bool is_done = wide_element(p, row, col, is_shared, shared);
        if (is_done) atomicOr(&shared.done[subtile], 1u << at);
    }
    __syncthreads();
    if (lane < GROUP_SUBTILES) clear_mask(p, row0, col0, lane, masks[lane], shared.done[lane]);
}

static __global__ void __launch_bounds__(WARP) wide_kernel(const td_repair p)
{
    TD_SHARED(wide_shared, shared, );
    td_begin_kernel();
    each_group(p, [&](int row, int col, const uint16_t *masks) {
        wide_group(p, row, col, masks, shared);
    });
}

cudaError_t td_exact_wide_run(const td_repair *p, int batch, cudaStream_t stream)
{
    return TD_LAUNCH_NEXT(wide_kernel, grid_of_strips(p, batch, 6), WARP, 0, stream, *p);
}

cudaError_t td_exact_wide_prepare(void) { return td_load(cudaSuccess, wide_kernel); }
