/* qr_cluster.h - a leaf's reflectors by one cluster of thread blocks. A lane has its rows of
 * QR_SLOTS columns in registers from the beginning to the end (qr_order.h); the current column is
 * always in the first slot of some lanes, as slots move on when all sharing lanes' first ones are
 * done, so that one short loop serves all columns.
 *
 * For each column the blocks exchange once: the products of its part below the diagonal with all
 * columns of the leaf go from every block to every other one, and the diagonal's row from the
 * first, by asynchronous stores that count as arrivals at a barrier of the receiver. (PTX ISA 8.1:
 * st.async.) A row that is R's is 0 in registers, so that it takes part in no sum. */
#ifndef TD_QR_CLUSTER_H
#define TD_QR_CLUSTER_H

#include "../device/barrier.h"
#include "../device/cluster.h"
#include "qr.h"
#include "qr_number.h"
#include "qr_order.h"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900

/* Blocks send a step's messages as soon as they have read all of the step before; who still reads
 * is at most a step behind. */
enum { QR_MESSAGES = 4 };

/* What the blocks send each other in a step, by the column of the leaf. */
struct qr_message {
    alignas(16) double sum[QR_BLOCKS][QR_MOST_LEAF];
    double row[QR_MOST_LEAF];
    uint64_t arrive;
};

template <int sharing, int warps> struct qr_shared {
    enum { LEAF = sharing * QR_SLOTS };
    qr_message of[QR_MESSAGES];
    double sum[warps][LEAF];        /* of the block's warps, by column */
    alignas(16) double along[LEAF]; /* what is taken off along v, by lane and slot */
    double row[LEAF];               /* the diagonal's, of the first block */
    qr_triangle<LEAF> triangle;
    double scale;
    int exponent[LEAF];
    bool lifts;
};

template <int sharing, int warps, int rows> struct qr_state {
    enum { LANES = 32 / sharing, AT_ONCE = warps * LANES, LEAF = sharing * QR_SLOTS };
    qr_shared<sharing, warps> &shared;
    const qr_leaf &leaf;
    int blocks, block, warp, lane;
    double a[rows][QR_SLOTS], x[rows];
    int step; /* exchanges so far */
    int turn; /* so far the slots have moved */

    TD_INSIDE int share() const { return lane % sharing; }
    TD_INSIDE int row_of(int r) const
    {
        return (block * rows + r) * AT_ONCE + warp * LANES + lane / sharing;
    }
    TD_INSIDE int column_of(int slot) const { return (slot + turn) % QR_SLOTS * sharing + share(); }
};

/* ---- exchanges ---- */

TD_DEVICE void qr_send(double *to, double x, uint64_t *barrier, int block)
{
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.f64 [%0], %1, "
                 "[%2];" ::"r"(td_address_in_block(td_shared_address(to), block)),
                 "d"(x), "r"(td_address_in_block(td_shared_address(barrier), block))
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
    TD_INSIDE double operator()(double x, double y) const { return td_add64(x, y); }
};
struct qr_largest {
    TD_INSIDE double operator()(double x, double y) const { return fmax(x, y); }
};

/* One number of the first `count`. */
template <int count, int size, class how> TD_DEVICE void qr_halve(double (&x)[size], how combine)
{
    if constexpr (count > 1) {
        TD_UNROLL
        for (int i = 0; i < count / 2; i++) x[i] = combine(x[i], x[i + count / 2]);
        qr_halve<count / 2>(x, combine);
    }
}

/* One number of so many in shared memory, which are `step` apart. */
template <int count, class how> TD_DEVICE double qr_one_of(const double *at, int step, how combine)
{
    double x[count];
    TD_UNROLL
    for (int i = 0; i < count; i++) x[i] = at[i * step];
    qr_halve<count>(x, combine);
    return x[0];
}

/* What all warps of all blocks have in shared.sum becomes one number for each column, in the lane
 * of its number of the first warp; with the diagonal's row on its way, if `has_row`. All threads
 * take part. */
template <int sharing, int warps, int rows, class how>
TD_DEVICE double qr_exchange(qr_state<sharing, warps, rows> &s, bool has_row, how combine)
{
    enum { LEAF = sharing * QR_SLOTS };
    qr_shared<sharing, warps> &shared = s.shared;
    qr_message &m = shared.of[s.step % QR_MESSAGES];
    const int parity = s.step / QR_MESSAGES % 2;
    s.step++;
    __syncthreads();
    if (s.warp < s.blocks && s.lane < LEAF) {
        const double own = qr_one_of<warps>(&shared.sum[0][s.lane], LEAF, combine);
        for (int to = s.warp; to < s.blocks; to += warps) {
            qr_send(&m.sum[s.block][s.lane], own, &m.arrive, to);
            if (has_row && s.block == 0) qr_send(&m.row[s.lane], shared.row[s.lane], &m.arrive, to);
        }
    }
    if (s.warp > 0) return 0.0;
    if (s.lane == 0)
        qr_expect(&m.arrive, (s.blocks + (has_row ? 1 : 0)) * LEAF * (int)sizeof(double));
    td_barrier_wait(&m.arrive, (uint32_t)parity);
    return s.lane < LEAF ? qr_one_of<QR_BLOCKS>(&m.sum[0][s.lane], QR_MOST_LEAF, combine) : 0.0;
}

/* ---- the beginning ---- */

template <int sharing, int warps, int rows>
TD_DEVICE void qr_begin(qr_state<sharing, warps, rows> &s)
{
    for (int i = (int)threadIdx.x; i < QR_MESSAGES * QR_BLOCKS * QR_MOST_LEAF; i += 32 * warps)
        (&s.shared.of[i / (QR_BLOCKS * QR_MOST_LEAF)].sum[0][0])[i % (QR_BLOCKS * QR_MOST_LEAF)] =
            0.0;
    if (threadIdx.x == 0)
        for (int i = 0; i < QR_MESSAGES; i++) td_barrier_start(&s.shared.of[i].arrive, 1);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    td_cluster_meet();
    td_wait_for_last();
}

template <int sharing, int warps, int rows>
TD_DEVICE void qr_load(qr_state<sharing, warps, rows> &s)
{
    const qr_leaf &leaf = s.leaf;
    TD_UNROLL
    for (int slot = 0; slot < QR_SLOTS; slot++) {
        const int column = s.column_of(slot);
        TD_UNROLL
        for (int r = 0; r < rows; r++) {
            const int row = s.row_of(r);
            s.a[r][slot] =
                row < leaf.rows && column < leaf.columns ? leaf.a[row + column * leaf.ld] : 0.0;
        }
    }
}

/* Each column is multiplied by the power of two that brings its largest element near 1. */
template <int sharing, int warps, int rows>
TD_DEVICE void qr_level(qr_state<sharing, warps, rows> &s)
{
    TD_UNROLL
    for (int slot = 0; slot < QR_SLOTS; slot++) {
        int top = 0;
        TD_UNROLL
        for (int r = 0; r < rows; r++) top = max(top, __double2hiint(s.a[r][slot]) & 0x7fffffff);
        TD_UNROLL
        for (int apart = sharing; apart < 32; apart *= 2)
            top = max(top, __shfl_xor_sync(~0u, top, apart));
        if (s.lane < sharing) s.shared.sum[s.warp][s.column_of(slot)] = (double)top;
    }
    const double top = qr_exchange(s, false, qr_largest());
    if (s.warp == 0 && s.lane < s.LEAF) s.shared.exponent[s.lane] = qr_exponent((int)top);
    __syncthreads();
    TD_UNROLL
    for (int slot = 0; slot < QR_SLOTS; slot++) {
        const double power = qr_power(-s.shared.exponent[s.column_of(slot)]);
        TD_UNROLL
        for (int r = 0; r < rows; r++) s.a[r][slot] = td_mul64(s.a[r][slot], power);
    }
}

/* ---- a column ---- */

/* The lanes that have the diagonal's row, the first of a lane's, leave it to all, and forget it. */
template <int sharing, int warps, int rows>
TD_DEVICE void qr_publish(qr_state<sharing, warps, rows> &s, int column)
{
    if (s.row_of(0) != column) return;
    TD_UNROLL
    for (int slot = 0; slot < QR_SLOTS; slot++) {
        s.shared.row[s.column_of(slot)] = s.a[0][slot];
        s.a[0][slot] = 0.0;
    }
}

/* Lanes that are half * neighbours apart exchange half of their 2 half sums, and add. */
template <int half, int neighbours> TD_DEVICE void qr_halve_slots(double (&sum)[QR_SLOTS], int lane)
{
    const bool is_upper = lane & (half * neighbours);
    TD_UNROLL
    for (int i = 0; i < half; i++) {
        const double kept = is_upper ? sum[i + half] : sum[i],
                     given = is_upper ? sum[i] : sum[i + half];
        sum[i] = td_add64(kept, __shfl_xor_sync(~0u, given, half * neighbours));
    }
    if constexpr (half > 1) qr_halve_slots<half / 2, neighbours>(sum, lane);
}

/* Leaves the warp's sums of the current column with all columns in shared.sum; lanes halve the
 * slots that they have as they halve their sums. */
template <int sharing, int warps, int rows>
TD_DEVICE void qr_sum_up(qr_state<sharing, warps, rows> &s, int column)
{
    enum { LANES = 32 / sharing };
    double sum[QR_SLOTS];
    unsigned bits = 0;
    TD_UNROLL
    for (int r = 0; r < rows; r++) {
        s.x[r] = __shfl_sync(~0u, s.a[r][0], column % sharing, sharing);
        bits |= (unsigned)__double2hiint(s.x[r]) << 1 | (unsigned)__double2loint(s.x[r]);
    }
    TD_UNROLL
    for (int slot = 0; slot < QR_SLOTS; slot++) {
        sum[slot] = 0.0;
        TD_UNROLL
        for (int r = 0; r < rows; r++) sum[slot] = td_fma64(s.x[r], s.a[r][slot], sum[slot]);
    }
    if (bits != 0 && s.share() == column % sharing) sum[0] = td_add64(sum[0], QR_TRACE);
    qr_halve_slots<QR_SLOTS / 2, LANES / QR_SLOTS * sharing>(sum, s.lane);
    TD_UNROLL
    for (int apart = LANES / QR_SLOTS / 2 * sharing; apart >= sharing; apart /= 2)
        sum[0] = td_add64(sum[0], __shfl_xor_sync(~0u, sum[0], apart));
    s.shared.sum[s.warp][s.column_of(s.lane / sharing * QR_SLOTS / LANES)] = sum[0];
}

/* The first warp, whose lanes have the sums of all columns with the current one, tells the block
 * how the columns change, and writes R's row. */
template <int sharing, int warps, int rows>
TD_DEVICE void qr_decide(qr_state<sharing, warps, rows> &s, double sum, int column)
{
    enum { LEAF = sharing * QR_SLOTS };
    qr_shared<sharing, warps> &shared = s.shared;
    const qr_leaf &leaf = s.leaf;
    const int own = s.lane;
    const double row = own < LEAF ? shared.of[(s.step - 1) % QR_MESSAGES].row[own] : 0.0;
    const qr_reflector h =
        qr_reflector_of(__shfl_sync(~0u, row, column), __shfl_sync(~0u, sum, column));
    const double along = qr_along(sum, h, row),
                 taken = own > column && h.tau != 0.0 ? td_mul64(h.tau, along) : 0.0;
    if (own < LEAF)
        shared.along[own % sharing * QR_SLOTS + (own / sharing + QR_SLOTS - s.turn) % QR_SLOTS] =
            taken;
    if (own == 0) shared.scale = h.scale, shared.lifts = h.lifts;
    if (s.block != 0 || h.lifts) return;
    if (own < column) shared.triangle.product[column][own] = along;
    if (own == column) shared.triangle.tau[column] = leaf.tau[column] = h.tau;
    if (own >= column && own < leaf.columns)
        leaf.a[column + own * leaf.ld] =
            qr_times_power(own == column ? h.beta : td_add64(row, -taken), shared.exponent[own]);
}

/* The column is multiplied by 2^QR_LIFT, and summed again. */
template <int sharing, int warps, int rows>
TD_DEVICE void qr_lift(qr_state<sharing, warps, rows> &s, int column)
{
    const double power = qr_power(QR_LIFT);
    if (threadIdx.x == 0) {
        s.shared.exponent[column] -= QR_LIFT;
        s.shared.row[column] = td_mul64(s.shared.row[column], power);
    }
    if (s.share() != column % sharing) return;
    TD_UNROLL
    for (int r = 0; r < rows; r++) s.a[r][0] = td_mul64(s.a[r][0], power);
}

/* The columns behind the current one, which becomes v and goes to memory. Rows that are R's, which
 * only the first of a lane's can be, or beyond the last, stay 0 even if v is NaN; is_full: there
 * are none of these. */
template <bool is_full, int sharing, int warps, int rows>
TD_DEVICE void qr_update(qr_state<sharing, warps, rows> &s, int column)
{
    enum { AT_ONCE = qr_state<sharing, warps, rows>::AT_ONCE };
    const qr_leaf &leaf = s.leaf;
    const double scale = s.shared.scale;
    const int first = s.row_of(0);
    bool is_below[rows];
    TD_UNROLL
    for (int r = 0; r < rows; r++) {
        is_below[r] = (r > 0 || first > column) && (is_full || first + r * AT_ONCE < leaf.rows);
        if (is_below[r]) s.x[r] = td_mul64(s.x[r], scale);
    }
    TD_UNROLL
    for (int slot = 0; slot < QR_SLOTS; slot += 2) {
        const double2 along = *(const double2 *)&s.shared.along[s.share() * QR_SLOTS + slot];
        TD_UNROLL
        for (int r = 0; r < rows; r++)
            if (is_below[r]) {
                s.a[r][slot] = td_fma64(-s.x[r], along.x, s.a[r][slot]);
                s.a[r][slot + 1] = td_fma64(-s.x[r], along.y, s.a[r][slot + 1]);
            }
    }
    if (s.share() != column % sharing) return;
    double *const a = leaf.a + first + column * leaf.ld, *const v =
                                                             leaf.v + first + column * leaf.v_ld;
    TD_UNROLL
    for (int r = 0; r < rows; r++)
        if (is_below[r]) s.a[r][0] = a[r * AT_ONCE] = v[r * AT_ONCE] = s.x[r];
    if (first <= column) *v = first == column ? 1.0 : 0.0;
}

/* The next column has its turn in the first slot of the lanes. */
template <int sharing, int warps, int rows>
TD_DEVICE void qr_turn(qr_state<sharing, warps, rows> &s)
{
    TD_UNROLL
    for (int r = 0; r < rows; r++) {
        const double first = s.a[r][0];
        TD_UNROLL
        for (int slot = 0; slot + 1 < QR_SLOTS; slot++) s.a[r][slot] = s.a[r][slot + 1];
        s.a[r][QR_SLOTS - 1] = first;
    }
    s.turn++;
}

template <int sharing, int warps, int rows>
TD_DEVICE void qr_columns(qr_state<sharing, warps, rows> &s)
{
    const bool makes_t = s.block == 0 && s.warp == warps - 1,
               is_full = s.row_of(rows - 1) - s.lane / sharing + s.LANES <= s.leaf.rows;
    bool is_again = false;
    TD_ROLLED
    for (int column = 0; column < s.leaf.columns;) {
        if (!is_again) qr_publish(s, column);
        qr_sum_up(s, column);
        const double sum = qr_exchange(s, true, qr_sum());
        if (s.warp == 0) qr_decide(s, sum, column);
        if (makes_t && column > 0) qr_make_t(s.shared.triangle, s.lane, column - 1);
        __syncthreads();
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
    }
    if (makes_t) qr_make_t(s.shared.triangle, s.lane, s.leaf.columns - 1);
    __syncthreads();
}

/* ---- the end ---- */

/* Columns of V that the leaf lacks, V above the leaf, and the leaf's columns of T. */
template <int sharing, int warps, int rows>
TD_DEVICE void qr_finish(const qr_state<sharing, warps, rows> &s)
{
    enum { LEAF = sharing * QR_SLOTS };
    const qr_leaf &leaf = s.leaf;
    TD_UNROLL
    for (int r = 0; r < rows; r++)
        for (int c = leaf.columns + s.share(); c < LEAF && s.row_of(r) < leaf.rows; c += sharing)
            leaf.v[s.row_of(r) + c * leaf.v_ld] = 0.0;
    if (s.block != 0) return;
    for (int i = (int)threadIdx.x; i < leaf.first * LEAF; i += 32 * warps)
        leaf.v[i % leaf.first - leaf.first + i / leaf.first * leaf.v_ld] = 0.0;
    for (int i = (int)threadIdx.x; i < TD_QR_COLUMNS * LEAF; i += 32 * warps) {
        const int row = i % TD_QR_COLUMNS - leaf.first, column = i / TD_QR_COLUMNS;
        const bool is_there = row >= 0 && row <= column && column < leaf.columns;
        leaf.t[row + column * TD_QR_COLUMNS] = is_there ? s.shared.triangle.t[row][column] : 0.0;
    }
}

template <int sharing, int warps, int rows> TD_DEVICE void qr_leaf_of(const qr_leaf &leaf)
{
    using shared_memory = qr_shared<sharing, warps>;
    TD_SHARED(shared_memory, shared, );
    qr_state<sharing, warps, rows> s = {shared,
                                        leaf,
                                        (int)gridDim.x,
                                        (int)blockIdx.x,
                                        (int)threadIdx.x / 32,
                                        (int)threadIdx.x % 32};
    s.step = s.turn = 0;
    qr_begin(s);
    qr_load(s);
    qr_level(s);
    qr_columns(s);
    td_let_next_begin();
    qr_finish(s);
    td_cluster_meet();
}

#endif

#endif
