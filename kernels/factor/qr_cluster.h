/* qr_cluster.h - a leaf's reflectors by one cluster of thread blocks. A lane has its rows of its
 * columns in registers from the beginning to the end (qr_order.h); the current column is always in
 * the first slot of some lanes, as slots move on when all sharing lanes' first ones are done, so
 * that one short loop serves all columns.
 *
 * For each column the blocks exchange once: the products of its part below the diagonal with all
 * columns of the leaf go from every block to every other one, and the diagonal's row from the
 * first, by asynchronous stores that count as arrivals at a barrier of the receiver. (PTX ISA 8.1:
 * st.async.) A row that is R's is 0 in registers, so that it takes part in no sum. */
#ifndef TD_QR_CLUSTER_H
#define TD_QR_CLUSTER_H

#include "../device/barrier.h"
#include "../device/cluster.h"
#include "../device/marks.h"
#include "qr.h"
#include "qr_number.h"
#include "qr_order.h"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900

/* Blocks send a step's messages as soon as they have read all of the step before; who still reads
 * is at most a step behind. */
enum { QR_MESSAGES = 4 };

/* What the blocks send each other in a step, by the column of the leaf. */
template <class number> struct qr_message {
    enum { MOST = QR_MOST_LEAF / qr_of<number>::PARTS };
    alignas(16) number sum[QR_BLOCKS][MOST];
    number row[MOST];
    uint64_t arrive;
};

template <class number, int sharing, int warps> struct qr_shared {
    enum { LEAF = sharing * qr_of<number>::SLOTS };
    qr_message<number> of[QR_MESSAGES];
    number sum[warps][LEAF];        /* of the block's warps, by column */
    alignas(16) number along[LEAF]; /* what is taken off along v, by lane and slot */
    number row[LEAF];               /* the diagonal's, of the first block */
    qr_triangle<number, LEAF> triangle;
    number scale;
    int exponent[LEAF];
    bool lifts;
};

template <class number, int sharing, int warps, int rows> struct qr_state {
    enum {
        SLOTS = qr_of<number>::SLOTS,
        LANES = 32 / sharing,
        AT_ONCE = warps * LANES,
        LEAF = sharing * SLOTS
    };
    qr_shared<number, sharing, warps> &shared;
    const qr_leaf<number> &leaf;
    int blocks, block, warp, lane;
    number a[rows][SLOTS], x[rows];
    int step; /* exchanges so far */
    int turn; /* so far the slots have moved */

    TD_INSIDE int share() const { return lane % sharing; }
    TD_INSIDE int row_of(int r) const
    {
        return (block * rows + r) * AT_ONCE + warp * LANES + lane / sharing;
    }
    TD_INSIDE int column_of(int slot) const { return (slot + turn) % SLOTS * sharing + share(); }
};

/* ---- exchanges ---- */

TD_DEVICE void qr_send(double *to, double x, uint64_t *barrier, int block)
{
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.f64 [%0], %1, "
                 "[%2];" ::"r"(td_address_in_block(td_shared_address(to), block)),
                 "d"(x), "r"(td_address_in_block(td_shared_address(barrier), block))
                 : "memory");
}
TD_DEVICE void qr_send(td_complex<double> *to, td_complex<double> x, uint64_t *barrier, int block)
{
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.f64 [%0], "
                 "{%1, %2}, [%3];" ::"r"(td_address_in_block(td_shared_address(to), block)),
                 "d"(x.re), "d"(x.im), "r"(td_address_in_block(td_shared_address(barrier), block))
                 : "memory");
}

TD_DEVICE void qr_expect(uint64_t *barrier, int bytes)
{
    asm volatile(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(td_shared_address(barrier)),
        "r"(bytes)
        : "memory");
}

struct qr_sum {
    template <class number> TD_INSIDE number operator()(number x, number y) const
    {
        return qr_add(x, y);
    }
};
struct qr_largest {
    template <class number> TD_INSIDE number operator()(number x, number y) const
    {
        return td_number<number>(fmax(td_real_part(x), td_real_part(y)));
    }
};

/* One number of the first `count`. */
template <int count, class number, int size, class how>
TD_DEVICE void qr_halve(number (&x)[size], how combine)
{
    if constexpr (count > 1) {
        TD_UNROLL
        for (int i = 0; i < count / 2; i++) x[i] = combine(x[i], x[i + count / 2]);
        qr_halve<count / 2>(x, combine);
    }
}

/* One number of so many in shared memory, which are `step` apart. */
template <int count, class number, class how>
TD_DEVICE number qr_one_of(const number *at, int step, how combine)
{
    number x[count];
    TD_UNROLL
    for (int i = 0; i < count; i++) x[i] = at[i * step];
    qr_halve<count>(x, combine);
    return x[0];
}

/* What all warps of all blocks have in shared.sum becomes one number for each column, in the lane
 * of its number of the first warp; with the diagonal's row on its way, if `has_row`. All threads
 * take part. */
template <class number, int sharing, int warps, int rows, class how>
TD_DEVICE number qr_exchange(qr_state<number, sharing, warps, rows> &s, bool has_row, how combine)
{
    enum { LEAF = qr_state<number, sharing, warps, rows>::LEAF, MOST = qr_message<number>::MOST };
    qr_shared<number, sharing, warps> &shared = s.shared;
    qr_message<number> &m = shared.of[s.step % QR_MESSAGES];
    const int parity = s.step / QR_MESSAGES % 2;
    s.step++;
    __syncthreads();
    TD_MARK(SYNC);
    if (s.warp < s.blocks && s.lane < LEAF) {
        const number own = qr_one_of<warps>(&shared.sum[0][s.lane], LEAF, combine);
        for (int to = s.warp; to < s.blocks; to += warps) {
            qr_send(&m.sum[s.block][s.lane], own, &m.arrive, to);
            if (has_row && s.block == 0) qr_send(&m.row[s.lane], shared.row[s.lane], &m.arrive, to);
        }
    }
    TD_MARK(SEND);
    if (s.warp > 0) return td_number<number>(0.0);
    if (s.lane == 0)
        qr_expect(&m.arrive, (s.blocks + (has_row ? 1 : 0)) * LEAF * (int)sizeof(number));
    td_barrier_wait(&m.arrive, (uint32_t)parity);
    TD_MARK(WAIT);
    return s.lane < LEAF ? qr_one_of<QR_BLOCKS>(&m.sum[0][s.lane], MOST, combine)
                         : td_number<number>(0.0);
}

/* ---- the beginning ---- */

template <class number, int sharing, int warps, int rows>
TD_DEVICE void qr_begin(qr_state<number, sharing, warps, rows> &s)
{
    enum { SUMS = QR_BLOCKS * qr_message<number>::MOST };
    for (int i = (int)threadIdx.x; i < QR_MESSAGES * SUMS; i += 32 * warps)
        (&s.shared.of[i / SUMS].sum[0][0])[i % SUMS] = td_number<number>(0.0);
    if (threadIdx.x == 0)
        for (int i = 0; i < QR_MESSAGES; i++) td_barrier_start(&s.shared.of[i].arrive, 1);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    td_cluster_meet();
    td_wait_for_last();
}

template <class number, int sharing, int warps, int rows>
TD_DEVICE void qr_load(qr_state<number, sharing, warps, rows> &s)
{
    const qr_leaf<number> &leaf = s.leaf;
    TD_UNROLL
    for (int slot = 0; slot < s.SLOTS; slot++) {
        const int column = s.column_of(slot);
        TD_UNROLL
        for (int r = 0; r < rows; r++) {
            const int row = s.row_of(r);
            s.a[r][slot] = row < leaf.rows && column < leaf.columns ? leaf.a[row + column * leaf.ld]
                                                                    : td_number<number>(0.0);
        }
    }
}

/* Each column is multiplied by the power of two that brings its largest element near 1. */
template <class number, int sharing, int warps, int rows>
TD_DEVICE void qr_level(qr_state<number, sharing, warps, rows> &s)
{
    TD_UNROLL
    for (int slot = 0; slot < s.SLOTS; slot++) {
        int top = 0;
        TD_UNROLL
        for (int r = 0; r < rows; r++) top = max(top, qr_top(s.a[r][slot]));
        TD_UNROLL
        for (int apart = sharing; apart < 32; apart *= 2)
            top = max(top, __shfl_xor_sync(~0u, top, apart));
        if (s.lane < sharing)
            s.shared.sum[s.warp][s.column_of(slot)] = td_number<number>((double)top);
    }
    const double top = td_real_part(qr_exchange(s, false, qr_largest()));
    if (s.warp == 0 && s.lane < s.LEAF) s.shared.exponent[s.lane] = qr_exponent((int)top);
    __syncthreads();
    TD_UNROLL
    for (int slot = 0; slot < s.SLOTS; slot++) {
        const double power = qr_power(-s.shared.exponent[s.column_of(slot)]);
        TD_UNROLL
        for (int r = 0; r < rows; r++) s.a[r][slot] = td_scaled(s.a[r][slot], power);
    }
}

/* ---- a column ---- */

/* The lanes that have the diagonal's row, the first of a lane's, leave it to all, and forget it. */
template <class number, int sharing, int warps, int rows>
TD_DEVICE void qr_publish(qr_state<number, sharing, warps, rows> &s, int column)
{
    if (s.row_of(0) != column) return;
    TD_UNROLL
    for (int slot = 0; slot < s.SLOTS; slot++) {
        s.shared.row[s.column_of(slot)] = s.a[0][slot];
        s.a[0][slot] = td_number<number>(0.0);
    }
}

TD_DEVICE double qr_from(double x, int lane, int lanes) { return __shfl_sync(~0u, x, lane, lanes); }
TD_DEVICE td_complex<double> qr_from(td_complex<double> x, int lane, int lanes)
{
    return {qr_from(x.re, lane, lanes), qr_from(x.im, lane, lanes)};
}

/* What the lane so far away offers. */
TD_DEVICE double qr_across(double x, int apart) { return __shfl_xor_sync(~0u, x, apart); }
TD_DEVICE td_complex<double> qr_across(td_complex<double> x, int apart)
{
    return {qr_across(x.re, apart), qr_across(x.im, apart)};
}

/* Lanes that are half * neighbours apart exchange half of their 2 half sums, and add. */
template <int half, int neighbours, class number, int slots>
TD_DEVICE void qr_halve_slots(number (&sum)[slots], int lane)
{
    const bool is_upper = lane & (half * neighbours);
    TD_UNROLL
    for (int i = 0; i < half; i++) {
        const number kept = is_upper ? sum[i + half] : sum[i],
                     given = is_upper ? sum[i] : sum[i + half];
        sum[i] = qr_add(kept, qr_across(given, half * neighbours));
    }
    if constexpr (half > 1) qr_halve_slots<half / 2, neighbours>(sum, lane);
}

/* Leaves the warp's sums of the current column with all columns in shared.sum; lanes halve the
 * slots that they have as they halve their sums. */
template <class number, int sharing, int warps, int rows>
TD_DEVICE void qr_sum_up(qr_state<number, sharing, warps, rows> &s, int column)
{
    enum { LANES = 32 / sharing, SLOTS = qr_of<number>::SLOTS };
    number sum[SLOTS];
    unsigned bits = 0;
    TD_UNROLL
    for (int r = 0; r < rows; r++) {
        s.x[r] = qr_from(s.a[r][0], column % sharing, sharing);
        bits |= qr_bits(s.x[r]);
    }
    TD_UNROLL
    for (int slot = 0; slot < SLOTS; slot++) {
        sum[slot] = td_number<number>(0.0);
        TD_UNROLL
        for (int r = 0; r < rows; r++) sum[slot] = qr_plus_product(sum[slot], s.x[r], s.a[r][slot]);
    }
    if (bits != 0 && s.share() == column % sharing)
        sum[0] = qr_add(sum[0], td_number<number>(QR_TRACE));
    qr_halve_slots<SLOTS / 2, LANES / SLOTS * sharing>(sum, s.lane);
    TD_UNROLL
    for (int apart = LANES / SLOTS / 2 * sharing; apart >= sharing; apart /= 2)
        sum[0] = qr_add(sum[0], qr_across(sum[0], apart));
    s.shared.sum[s.warp][s.column_of(s.lane / sharing * SLOTS / LANES)] = sum[0];
}

/* The first warp, whose lanes have the sums of all columns with the current one, tells the block
 * how the columns change, and writes R's row. */
template <class number, int sharing, int warps, int rows>
TD_DEVICE void qr_decide(qr_state<number, sharing, warps, rows> &s, number sum, int column)
{
    enum { LEAF = qr_state<number, sharing, warps, rows>::LEAF, SLOTS = qr_of<number>::SLOTS };
    qr_shared<number, sharing, warps> &shared = s.shared;
    const qr_leaf<number> &leaf = s.leaf;
    const int own = s.lane;
    const number row =
        own < LEAF ? shared.of[(s.step - 1) % QR_MESSAGES].row[own] : td_number<number>(0.0);
    const qr_reflector<number> h =
        qr_reflector_of(qr_from(row, column, 32), qr_from(sum, column, 32));
    const number along = qr_along(sum, h, row), taken = qr_taken(h, along, own > column);
    if (own < LEAF)
        shared.along[own % sharing * SLOTS + (own / sharing + SLOTS - s.turn) % SLOTS] = taken;
    if (own == 0) shared.scale = h.scale, shared.lifts = h.lifts;
    if (s.block != 0 || h.lifts) return;
    if (own < column) shared.triangle.product[column][own] = along;
    if (own == column) shared.triangle.tau[column] = leaf.tau[column] = h.tau;
    if (own >= column && own < leaf.columns)
        leaf.a[column + own * leaf.ld] =
            qr_times_power(own == column ? td_number<number>(h.beta) : qr_add(row, qr_minus(taken)),
                           shared.exponent[own]);
}

/* The column is multiplied by 2^QR_LIFT, and summed again. */
template <class number, int sharing, int warps, int rows>
TD_DEVICE void qr_lift(qr_state<number, sharing, warps, rows> &s, int column)
{
    const double power = qr_power(QR_LIFT);
    if (threadIdx.x == 0) {
        s.shared.exponent[column] -= QR_LIFT;
        s.shared.row[column] = td_scaled(s.shared.row[column], power);
    }
    if (s.share() != column % sharing) return;
    TD_UNROLL
    for (int r = 0; r < rows; r++) s.a[r][0] = td_scaled(s.a[r][0], power);
}

/* The columns behind the current one, which becomes v and goes to memory. Rows that are R's, which
 * only the first of a lane's can be, or beyond the last, stay 0 even if v is NaN; is_full: there
 * are none of these. */
template <bool is_full, class number, int sharing, int warps, int rows>
TD_DEVICE void qr_update(qr_state<number, sharing, warps, rows> &s, int column)
{
    enum {
        AT_ONCE = qr_state<number, sharing, warps, rows>::AT_ONCE,
        SLOTS = qr_of<number>::SLOTS,
        PARTS = qr_of<number>::PARTS
    };
    struct alignas(16) some {
        number of[2 / PARTS];
    };
    const qr_leaf<number> &leaf = s.leaf;
    const number scale = s.shared.scale;
    const int first = s.row_of(0);
    bool is_below[rows];
    TD_UNROLL
    for (int r = 0; r < rows; r++) {
        is_below[r] = (r > 0 || first > column) && (is_full || first + r * AT_ONCE < leaf.rows);
        if (is_below[r]) s.x[r] = td_times(s.x[r], scale);
    }
    TD_UNROLL
    for (int slot = 0; slot < SLOTS; slot += 2 / PARTS) {
        const some along = *(const some *)&s.shared.along[s.share() * SLOTS + slot];
        TD_UNROLL
        for (int r = 0; r < rows; r++)
            if (is_below[r]) TD_UNROLL
        for (int i = 0; i < 2 / PARTS; i++)
            s.a[r][slot + i] = td_minus(s.a[r][slot + i], s.x[r], along.of[i]);
    }
    if (s.share() != column % sharing) return;
    number *const a = leaf.a + first + column * leaf.ld;
    double *const v = leaf.v + PARTS * (first + column * leaf.v_ld);
    TD_UNROLL
    for (int r = 0; r < rows; r++)
        if (is_below[r]) {
            s.a[r][0] = a[r * AT_ONCE] = s.x[r];
            qr_embed(v, leaf.v_ld, r * AT_ONCE, 0, s.x[r]);
        }
    if (first <= column)
        qr_embed(v, leaf.v_ld, 0, 0, td_number<number>(first == column ? 1.0 : 0.0));
}

/* The next column has its turn in the first slot of the lanes. */
template <class number, int sharing, int warps, int rows>
TD_DEVICE void qr_turn(qr_state<number, sharing, warps, rows> &s)
{
    enum { LAST = qr_of<number>::SLOTS - 1 };
    TD_UNROLL
    for (int r = 0; r < rows; r++) {
        const number first = s.a[r][0];
        TD_UNROLL
        for (int slot = 0; slot < LAST; slot++) s.a[r][slot] = s.a[r][slot + 1];
        s.a[r][LAST] = first;
    }
    s.turn++;
}

template <class number, int sharing, int warps, int rows>
TD_DEVICE void qr_columns(qr_state<number, sharing, warps, rows> &s)
{
    const bool makes_t = s.block == 0 && s.warp == warps - 1,
               is_full = s.row_of(rows - 1) - s.lane / sharing + s.LANES <= s.leaf.rows;
    bool is_again = false;
    TD_ROLLED
    for (int column = 0; column < s.leaf.columns;) {
        if (!is_again) qr_publish(s, column);
        qr_sum_up(s, column);
        TD_MARK(SUM);
        const number sum = qr_exchange(s, true, qr_sum());
        if (s.warp == 0) qr_decide(s, sum, column);
        TD_MARK(DECIDE);
        if (makes_t && column > 0) qr_make_t(s.shared.triangle, s.lane, column - 1);
        __syncthreads();
        TD_MARK(SYNC);
        is_again = s.shared.lifts;
        if (is_again) {
            qr_lift(s, column);
            continue;
        }
        if (is_full)
            qr_update<true>(s, column);
        else
            qr_update<false>(s, column);
        column++;
        if (column % sharing == 0) qr_turn(s);
        TD_MARK(UPDATE);
    }
    if (makes_t) qr_make_t(s.shared.triangle, s.lane, s.leaf.columns - 1);
    __syncthreads();
}

/* ---- the end ---- */

/* Columns of V that the leaf lacks, V above the leaf, and the leaf's columns of T. */
template <class number, int sharing, int warps, int rows>
TD_DEVICE void qr_finish(const qr_state<number, sharing, warps, rows> &s)
{
    enum {
        LEAF = qr_state<number, sharing, warps, rows>::LEAF,
        PARTS = qr_of<number>::PARTS,
        T_ROWS = TD_QR_COLUMNS / PARTS
    };
    const qr_leaf<number> &leaf = s.leaf;
    const number zero = td_number<number>(0.0);
    TD_UNROLL
    for (int r = 0; r < rows; r++)
        for (int c = leaf.columns + s.share(); c < LEAF && s.row_of(r) < leaf.rows; c += sharing)
            qr_embed(leaf.v, leaf.v_ld, s.row_of(r), c, zero);
    if (s.block != 0) return;
    for (int i = (int)threadIdx.x; i < leaf.first * LEAF; i += 32 * warps)
        qr_embed(leaf.v, leaf.v_ld, i % leaf.first - leaf.first, i / leaf.first, zero);
    for (int i = (int)threadIdx.x; i < T_ROWS * LEAF; i += 32 * warps) {
        const int row = i % T_ROWS - leaf.first, column = i / T_ROWS;
        const bool is_there = row >= 0 && row <= column && column < leaf.columns;
        qr_embed(leaf.t, TD_QR_COLUMNS, row, column,
                 is_there ? s.shared.triangle.t[row][column] : zero);
    }
}

template <class number, int sharing, int warps, int rows>
TD_DEVICE void qr_leaf_of(const qr_leaf<number> &leaf)
{
    using shared_memory = qr_shared<number, sharing, warps>;
    TD_SHARED(shared_memory, shared, );
    qr_state<number, sharing, warps, rows> s = {shared,
                                                leaf,
                                                (int)gridDim.x,
                                                (int)blockIdx.x,
                                                (int)threadIdx.x / 32,
                                                (int)threadIdx.x % 32};
    s.step = s.turn = 0;
    TD_MARK(START);
    qr_begin(s);
    TD_MARK(BEGIN);
    qr_load(s);
    qr_level(s);
    TD_MARK(LOAD);
    qr_columns(s);
    td_let_next_begin();
    qr_finish(s);
    td_cluster_meet();
    TD_MARK(FINISH);
}

#endif

#endif
