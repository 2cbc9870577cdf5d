/* lu_cluster_step.h - steps of a panel's factorisation: for each column the blocks of the cluster
 * agree on the pivot, and every thread eliminates with its row.
 *
 * A thread has the same rows from the beginning to the end of a panel, and knows the place that
 * each has by the exchanges so far; a pivot's row stays where it is, and its place is less than the
 * column's number from then on. Of a leaf of columns a thread has its rows in registers. The
 * current column is always the first of them: a step moves the others to the left, so that one
 * short loop serves all steps, and fits the instruction cache.
 *
 * Each block finds its best candidate and sends it to all blocks: first what it is, then its row
 * and its reciprocal, by asynchronous stores that count as arrivals at a barrier of the receiver.
 * (PTX ISA 8.1: st.async.) */
#ifndef TD_LU_CLUSTER_STEP_H
#define TD_LU_CLUSTER_STEP_H

#include "../device/barrier.h"
#include "../device/cluster.h"
#include "../device/marks.h"
#include "../solve/quotient.h"
#include "lu_cluster.h"
#include "lu_cluster_search.h"
#include "embedding.h"

#if TD_HAS_CUDA_DEVICE

/* Blocks send a step's messages as soon as all have sent those of the step before; who is still
 * reading is at most two steps behind. */
enum { MESSAGES = 4, MOST_BLOCKS = 16 };

/* What the blocks send each other in a step. */
template <class number, int leaf> struct messages {
    alignas(16) number row[MOST_BLOCKS][leaf];
    alignas(16) double key[MOST_BLOCKS][2]; /* the size's bits; place and row */
    alignas(16) number divisor[MOST_BLOCKS][2 / td_embedded<number>::PARTS];
    uint64_t keys_arrive, rows_arrive;
};

/* What a block's warps tell each other of their best rows' elements. */
template <class number, int warps> struct values_shared {
};
template <int warps> struct values_shared<td_complex<double>, warps> {
    td_complex<double> of[2][warps];
};

/* The first leaf's columns of L, of a block's rows, which every leaf behind it multiplies: where
 * threads have many bytes of a column, reading it from device memory again takes longer. */
template <class number, int threads, int rows, int leaf> struct kept_columns {
    enum {
        LEAST_BYTES = 32, /* of a thread */
        COLUMNS = rows * (int)sizeof(number) >= LEAST_BYTES ? leaf : 0,
        STRIDE = threads * rows + 4 /* a product's lanes find their columns in different banks */
    };
    alignas(16) number of[COLUMNS > 0 ? COLUMNS *STRIDE : 1];
};

template <class number, int threads, int rows, int leaf> struct step_shared {
    messages<number, leaf> of[MESSAGES];
    alignas(16) number row[threads / 32][leaf];
    candidate best[2][threads / 32];
    int source[TD_CLUSTER_COLUMNS]; /* the rows that became pivots */
    alignas(16) number zeros[leaf];
    values_shared<number, threads / 32> values;
    kept_columns<number, threads, rows, leaf> kept;
};

/* What a step works on. */
template <class number, int threads, int rows, int leaf> struct step_state {
    step_shared<number, threads, rows, leaf> &shared;
    const td_one_block_panel &panel;
    int *source;             /* in device memory, the same as in shared memory */
    int blocks, block, base; /* of the cluster; its first row */
    number *at;              /* the thread's first row, in the current column */
    int place[rows];
    number a[rows][leaf];
    unsigned step; /* of the panel, from 0 */
};

#if __CUDA_ARCH__ >= 900

TD_DEVICE void send(double *to, double x, double y, uint64_t *barrier, int block)
{
    asm volatile(
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.f64 [%0], {%1, %2}, "
        "[%3];" ::"r"(td_address_in_block(td_shared_address(to), block)),
        "d"(x), "d"(y), "r"(td_address_in_block(td_shared_address(barrier), block))
        : "memory");
}

TD_DEVICE void expect(uint64_t *barrier, int bytes)
{
    asm volatile(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(td_shared_address(barrier)),
        "r"(bytes)
        : "memory");
}

/* What all blocks send in a step with so many columns left. */
template <class number, int leaf>
TD_DEVICE void expect_messages(messages<number, leaf> &m, int blocks, int live)
{
    expect(&m.keys_arrive, blocks * (int)sizeof m.key[0]);
    expect(&m.rows_arrive, blocks * (live * (int)sizeof(number) + (int)sizeof m.divisor[0]));
}

/* ---- search ---- */

/* The thread's own best row, of which `own` is the number. */
template <class number, int threads, int rows, int leaf>
TD_DEVICE candidate search(const step_state<number, threads, rows, leaf> &s, int column, int *own)
{
    const unsigned others =
        s.panel.pivots ? INT_MAX : 0; /* places behind the column's that count */
    candidate best = no_candidate();
    *own = 0;
    TD_UNROLL
    for (int r = 0; r < rows; r++) {
        const bool may_be = (unsigned)(s.place[r] - column) <= others;
        const candidate other =
            candidate_of(s.a[r][0], may_be, s.place[r], s.base + r * threads + (int)threadIdx.x);
        const bool is_best = r == 0 || is_better(other, best);
        take_if(is_best, best, other);
        *own = is_best ? r : *own;
    }
    return best;
}

TD_DEVICE double value_of(const candidate &c) { return __hiloint2double((int)c.high, (int)c.low); }

/* ---- messages ---- */

/* Two real numbers of a row, or a complex one. */
template <int leaf> TD_DEVICE double2 two_of(const double (&a)[leaf], int i)
{
    return make_double2(a[2 * i], a[2 * i + 1]);
}
template <int leaf> TD_DEVICE double2 two_of(const td_complex<double> (&a)[leaf], int i)
{
    return make_double2(a[i].re, a[i].im);
}

/* The warp that has the block's best row, in a lane, sends what is left of it to all blocks. */
template <int live, class number, int threads, int rows, int leaf>
TD_DEVICE void send_row(step_state<number, threads, rows, leaf> &s, messages<number, leaf> &m,
                        bool is_mine, int own)
{
    enum {
        PARTS = live * (int)sizeof(number) / 16,
        LANES = PARTS > 8 ? 16 : PARTS,
        AT_ONCE = 32 / LANES
    };
    const int lane = (int)threadIdx.x % 32, part = lane % LANES;
    double2 *const row = reinterpret_cast<double2 *>(s.shared.row[threadIdx.x / 32]);
    if (is_mine) {
        TD_UNROLL
        for (int r = 0; r < rows; r++)
            if (own == r) TD_UNROLL
        for (int i = 0; i < PARTS; i++) row[i] = two_of(s.a[r], i);
    }
    __syncwarp();
    if (part >= PARTS) return;
    const double2 v = row[part];
    double *const there = reinterpret_cast<double *>(m.row[s.block]) + 2 * part;
    TD_UNROLL
    for (int i = 0; i < MOST_BLOCKS / AT_ONCE; i++) {
        const int to = i * AT_ONCE + lane / LANES;
        if (to < s.blocks) send(there, v.x, v.y, &m.rows_arrive, to);
    }
}

/* Sends the block's candidate, of which every lane knows the same, to a block for each lane. */
template <class number, int threads, int rows, int leaf>
TD_DEVICE void send_key(const step_state<number, threads, rows, leaf> &s, messages<number, leaf> &m,
                        const candidate &best)
{
    const int to = (int)threadIdx.x % 32;
    if (to < s.blocks)
        send(m.key[s.block], value_of(best), __hiloint2double(best.place, best.row), &m.keys_arrive,
             to);
}

/* What the pivot is divided by with: of a real one without its sign. Warp `sender` has the row. */
template <class number, int threads, int rows, int leaf>
TD_DEVICE void send_divisor(const step_state<number, threads, rows, leaf> &s,
                            messages<number, leaf> &m, const candidate &best, int sender)
{
    const int to = (int)threadIdx.x % 32;
    if constexpr (td_is_complex<number>::value) {
        const number divisor = td_divisor(s.shared.values.of[s.step % 2][sender]);
        if (to < s.blocks)
            send(&m.divisor[s.block]->re, divisor.re, divisor.im, &m.rows_arrive, to);
    } else {
        const double divisor = td_divisor(value_of(best));
        if (to < s.blocks) send(m.divisor[s.block], divisor, 0.0, &m.rows_arrive, to);
    }
}

TD_DEVICE candidate candidate_of_lane(const candidate &c, int lane)
{
    return {__shfl_sync(~0u, c.high, lane), __shfl_sync(~0u, c.low, lane),
            __shfl_sync(~0u, c.place, lane), __shfl_sync(~0u, c.row, lane)};
}

/* The block's best candidate goes to all blocks: a warp sends its row, others what else there is,
 * and prepare the next step, which has next_live columns. */
template <int live, class number, int threads, int rows, int leaf>
TD_DEVICE void send_best(step_state<number, threads, rows, leaf> &s, messages<number, leaf> &m,
                         int column, int next_live)
{
    enum { WARPS = threads / 32 };
    const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    const unsigned flip = s.step % 2;
    int own;
    const candidate mine = search(s, column, &own);
    const int leader = best_lane(mine);
    if (lane == leader) {
        s.shared.best[flip][warp] = mine;
        if constexpr (td_is_complex<number>::value) {
            TD_UNROLL
            for (int r = 0; r < rows; r++)
                if (own == r) s.shared.values.of[flip][warp] = s.a[r][0];
        }
    }
    TD_MARK(SEARCH);
    __syncthreads();
    TD_MARK(SYNC);
    const candidate best = lane < WARPS ? s.shared.best[flip][lane] : no_candidate();
    const int sender = best_lane(best);
    const unsigned behind = (unsigned)(warp - sender) % WARPS;
    if (behind == 0)
        send_row<live>(s, m, lane == leader, own);
    else if (behind == 1)
        send_key(s, m, candidate_of_lane(best, sender));
    else if (behind == 2)
        send_divisor(s, m, candidate_of_lane(best, sender), sender);
    else if (behind == 3 && lane == 0)
        expect_messages(s.shared.of[(s.step + 1) % MESSAGES], s.blocks, next_live);
}

/* ---- elimination ---- */

/* The columns behind the current one, which move to the left. Behind the last one there is
 * anything. */
template <int live, int leaf>
TD_DEVICE void update_row(double (&a)[leaf], double factor, const double *row)
{
    TD_UNROLL
    for (int c = 0; c < live; c += 2) {
        const double2 v = *(const double2 *)&row[c];
        if (c > 0) a[c - 1] = td_fma64(-factor, v.x, a[c]);
        a[c] = td_fma64(-factor, v.y, a[c + 1]);
    }
}

/* What a row is multiplied by; for a complex one with both signs of the imaginary part. */
TD_DEVICE double multiplier(double factor, bool) { return factor; }
struct complex_multiplier {
    double minus_re, im, minus_im;
};
TD_DEVICE complex_multiplier multiplier(td_complex<double> factor, bool is_below)
{
    return {-factor.re, is_below ? factor.im : -0.0, is_below ? -factor.im : -0.0};
}

TD_DEVICE td_complex<double> less(td_complex<double> c, const complex_multiplier &by, double2 v)
{
    return {td_fma64(by.im, v.y, td_fma64(by.minus_re, v.x, c.re)),
            td_fma64(by.minus_im, v.x, td_fma64(by.minus_re, v.y, c.im))};
}

template <int live, int leaf>
TD_DEVICE void update_row(td_complex<double> (&a)[leaf], const complex_multiplier &by,
                          const td_complex<double> *row)
{
    TD_UNROLL
    for (int c = 1; c < live; c++) a[c - 1] = less(a[c], by, *(const double2 *)&row[c]);
}

/* Where all rows of a warp are eliminated, they share what they read. */
template <int live, int rows, int leaf>
TD_DEVICE void update_shared(double (&a)[rows][leaf], const double (&factor)[rows],
                             const double *row)
{
    TD_UNROLL
    for (int c = 0; c < live; c += 2) {
        const double2 v = *(const double2 *)&row[c];
        TD_UNROLL
        for (int r = 0; r < rows; r++) {
            if (c > 0) a[r][c - 1] = td_fma64(-factor[r], v.x, a[r][c]);
            a[r][c] = td_fma64(-factor[r], v.y, a[r][c + 1]);
        }
    }
}
template <int live, int rows, int leaf>
TD_DEVICE void update_shared(td_complex<double> (&a)[rows][leaf],
                             const td_complex<double> (&factor)[rows],
                             const td_complex<double> *row)
{
    TD_UNROLL
    for (int c = 1; c < live; c++) {
        const double2 v = *(const double2 *)&row[c];
        TD_UNROLL
        for (int r = 0; r < rows; r++) a[r][c - 1] = less(a[r][c], multiplier(factor[r], true), v);
    }
}

/* A row that is not eliminated meets zeros in place of the pivot's row, which may have infinities.
 * So that zeros keep their signs, too, all its products are -0: it is multiplied by 0, and by an
 * imaginary part of -0. */
template <int live, class number, int threads, int rows, int leaf>
TD_DEVICE void update(step_state<number, threads, rows, leaf> &s, const number (&factor)[rows],
                      const bool (&is_below)[rows], const number *row, bool is_shared)
{
    if (rows > 1 && is_shared) {
        update_shared<live>(s.a, factor, row);
        return;
    }
    TD_UNROLL
    for (int r = 0; r < rows; r++)
        update_row<live>(s.a[r], multiplier(factor[r], is_below[r]),
                         is_below[r] ? row : s.shared.zeros);
}

/* What is multiplied by in place of a division, with its sign; 0: divide by the pivot itself. */
TD_DEVICE double with_sign_of(double divisor, double pivot)
{
    const int sign = __double2hiint(pivot) & INT_MIN;
    return __hiloint2double(__double2hiint(divisor) | sign, __double2loint(divisor));
}
TD_DEVICE td_complex<double> with_sign_of(td_complex<double> divisor, td_complex<double>)
{
    return divisor;
}

TD_DEVICE double rounded_quotient(double x, double pivot) { return x / pivot; }
TD_DEVICE td_complex<double> rounded_quotient(td_complex<double> x, td_complex<double> pivot)
{
    return td_extreme_quotient(x, pivot);
}

/* What the pivot's row is multiplied by for each row: 0 for those that are not below it. */
template <class number, int threads, int rows, int leaf>
TD_DEVICE void divide(const step_state<number, threads, rows, leaf> &s,
                      const bool (&is_below)[rows], number pivot, number divisor,
                      number (&factor)[rows])
{
    if (!td_is_zero(divisor)) {
        TD_UNROLL
        for (int r = 0; r < rows; r++)
            factor[r] = is_below[r] ? td_times(s.a[r][0], divisor) : td_number<number>(0.0);
        return;
    }
    TD_UNROLL
    for (int r = 0; r < rows; r++) {
        factor[r] = is_below[r] ? s.a[r][0] : td_number<number>(0.0);
        if (is_below[r] && !td_is_zero(pivot)) factor[r] = rounded_quotient(s.a[r][0], pivot);
    }
}

/* Rows that have become pivots are kept like others: no product with them is used. */
template <class number, int threads, int rows, int leaf>
TD_DEVICE void keep_column(const step_state<number, threads, rows, leaf> &s,
                           const number (&factor)[rows], const bool (&is_below)[rows], int column)
{
    typedef kept_columns<number, threads, rows, leaf> kept;
    if (column >= kept::COLUMNS) return;
    TD_UNROLL
    for (int r = 0; r < rows; r++)
        s.shared.kept.of[column * kept::STRIDE + r * threads + (int)threadIdx.x] =
            is_below[r] ? factor[r] : s.a[r][0];
}

/* What is known of a pivot goes to the places for it: by one thread of the block. */
template <class number, int threads, int rows, int leaf>
TD_DEVICE void note_pivot(step_state<number, threads, rows, leaf> &s, int column, int place,
                          int row, number pivot)
{
    const td_one_block_panel &p = s.panel;
    s.shared.source[column] = row;
    if (s.block != 0) return;
    const int64_t row_number = p.before + place + 1;
    s.source[column] = row;
    if (p.pivots && p.has_wide_pivots)
        static_cast<int64_t *>(p.pivots)[column] = row_number;
    else if (p.pivots)
        static_cast<int *>(p.pivots)[column] = (int)row_number;
    if (td_is_zero(pivot) && *p.info == 0) *p.info = (int)(p.before + column + 1);
}

/* The best of all blocks' candidates, once they are there: the lane that has it. */
template <class number, int threads, int rows, int leaf>
TD_DEVICE int best_block(const step_state<number, threads, rows, leaf> &s,
                         const messages<number, leaf> &m)
{
    const int lane = (int)threadIdx.x % 32;
    candidate own = no_candidate();
    if (lane < s.blocks) {
        const double2 key = *(const double2 *)m.key[lane];
        own = {(unsigned)__double2hiint(key.x), (unsigned)__double2loint(key.x),
               __double2hiint(key.y), __double2loint(key.y)};
    }
    return best_lane(own);
}

/* The step of one column, with at most `live` columns left of the leaf that begins at `first`. */
template <int live, class number, int threads, int rows, int leaf>
TD_DEVICE void step(step_state<number, threads, rows, leaf> &s, int first, int column,
                    int next_live)
{
    const uint32_t parity = s.step / MESSAGES % 2;
    messages<number, leaf> &m = s.shared.of[s.step % MESSAGES];
    send_best<live>(s, m, column, next_live);
    TD_MARK(SEND);
    td_barrier_wait(&m.keys_arrive, parity);
    TD_MARK(KEYS);
    const int from = best_block(s, m);
    const double where = m.key[from][1];
    const int place = __double2hiint(where);
    const number *const row = m.row[from];
    bool is_below[rows], is_used = false; /* a row of the leaf that is not eliminated */
    TD_UNROLL
    for (int r = 0; r < rows; r++) {
        s.place[r] = s.place[r] == place ? column : s.place[r] == column ? place : s.place[r];
        is_below[r] = s.place[r] > column;
        is_used = is_used | ((s.place[r] >= first) & !is_below[r]);
    }
    const bool is_shared = rows > 1 && !__any_sync(~0u, is_used);
    TD_MARK(CHOOSE);
    td_barrier_wait(&m.rows_arrive, parity);
    TD_MARK(ROWS);
    const number pivot = row[0], divisor = with_sign_of(m.divisor[from][0], pivot);
    number factor[rows];
    divide(s, is_below, pivot, divisor, factor);
    TD_UNROLL
    for (int r = 0; r < rows; r++)
        if (s.place[r] >= first) s.at[r * threads] = is_below[r] ? factor[r] : s.a[r][0];
    s.at += s.panel.ld;
    keep_column(s, factor, is_below, column);
    TD_MARK(DIVIDE);
    update<live>(s, factor, is_below, row, is_shared);
    if (threadIdx.x == 0) note_pivot(s, column, place, __double2loint(where), pivot);
    TD_MARK(UPDATE);
    s.step++;
}

#endif

#endif

#endif
