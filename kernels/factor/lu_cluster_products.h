/* lu_cluster_products.h - what the leaves of a panel that are done take away from the next one: U's
 * rows beside them, of which each block solves some columns, and products with their part of L, by
 * the tensor cores. Each element goes on with its chain over ascending columns. */
#ifndef TD_LU_CLUSTER_PRODUCTS_H
#define TD_LU_CLUSTER_PRODUCTS_H

#include "lu_cluster_step.h"
#include "unit_lower.h"

#if TD_HAS_CUDA_DEVICE

/* Shared memory of these: U's rows [row][column of the leaf, or of a tile that is wider], and a
 * warp's rows on their way from the tensor cores' lanes to a row for each lane. */
template <class number, int threads, int leaf> struct product_shared {
    enum {
        WIDTH = leaf > (int)td_embedded<number>::COLUMNS ? leaf : (int)td_embedded<number>::COLUMNS,
        STRIDE = WIDTH + td_lower<number>::PADDING,
        TURNED = 33,
        REALS = WIDTH * td_embedded<number>::PARTS /* of a row's columns */
    };
    alignas(16) number u[td_lower<number>::LD * STRIDE];
    alignas(16) double turned[threads / 32][REALS * TURNED];

    /* A block solves for all columns of a leaf, or at most for half of them, beside the rows of the
     * leaves before it, in whole blocks of rows. */
    static_assert((td_lower<number>::LD - leaf + 8) * STRIDE * td_embedded<number>::PARTS <=
                      threads / 32 * REALS * TURNED,
                  "solutions have too little room");
};

#if __CUDA_ARCH__ >= 900

/* Leaves x in another block's shared memory, at the same place. */
TD_DEVICE void leave_in_block(double *own, int block, double x)
{
    asm volatile("st.shared::cluster.f64 [%0], %1;" ::"r"(
                     td_address_in_block(td_shared_address(own), block)),
                 "d"(x)
                 : "memory");
}
TD_DEVICE void leave_in_block(td_complex<double> *own, int block, td_complex<double> x)
{
    asm volatile("st.shared::cluster.v2.f64 [%0], {%1, %2};" ::"r"(
                     td_address_in_block(td_shared_address(own), block)),
                 "d"(x.re), "d"(x.im)
                 : "memory");
}

/* The columns of a leaf that a block solves. */
struct columns_of_block {
    int first, count;
};
template <int leaf> TD_DEVICE columns_of_block share_of(int block, int blocks, int columns)
{
    const int share = (leaf + blocks - 1) / blocks, first = block * share;
    return {first, max(0, min(share, columns - first))};
}

/* U's rows beside the leaves before column `first`, for the leaf of so many columns there: in all
 * blocks' shared memory, and in the rows that became pivots. Blocks solve for their columns apart,
 * as others leave theirs meanwhile. */
template <class number, int threads, int rows, int leaf>
TD_DEVICE void solve_rows(const step_state<number, threads, rows, leaf> &s,
                          product_shared<number, threads, leaf> &shared, const number *lower,
                          int first, int columns)
{
    enum {
        STRIDE = product_shared<number, threads, leaf>::STRIDE,
        WIDTH = product_shared<number, threads, leaf>::WIDTH,
        VECTORS = td_lower<number>::VECTORS
    };
    const columns_of_block own = share_of<leaf>(s.block, s.blocks, columns);
    const int t = (int)threadIdx.x, at = t / 32 * VECTORS,
              stride = (own.count + VECTORS - 1) / VECTORS * VECTORS + td_lower<number>::PADDING;
    number *const a = static_cast<number *>(s.panel.a) + (first + own.first) * s.panel.ld,
                  *const x = reinterpret_cast<number *>(shared.turned[0]);
    for (int e = t; e < first * own.count; e += threads)
        x[e % first * stride + e / first] = a[s.shared.source[e % first] + e / first * s.panel.ld];
    for (int e = t; e < first * (WIDTH - columns); e += threads)
        shared.u[e % first * STRIDE + columns + e / first] = td_number<number>(0.0);
    __syncthreads();
    if (at < own.count) td_solve_unit_lower(x + at, stride, first, lower);
    __syncthreads();
    for (int e = t; e < first * own.count; e += threads) {
        const int row = e % first, c = e / first;
        const number u = x[row * stride + c];
        a[s.shared.source[row] + c * s.panel.ld] = u;
        for (int to = 0; to < s.blocks; to++)
            leave_in_block(&shared.u[row * STRIDE + own.first + c], to, u);
    }
}

/* Rows of a warp: `sets` times 32, of which a lane has every eighth. */
template <class number, int sets, int leaf> struct warp_rows {
    enum {
        COLUMNS = td_embedded<number>::COLUMNS,
        TILES = (leaf + COLUMNS - 1) / COLUMNS,
        HALVES = leaf < COLUMNS ? 1 : 2 /* of a tile's columns, which one product takes */
    };
    const number *at[4 * sets]; /* in the panel's first column */
    double c[2 * sets][TILES][4];
};

/* The row of a thread's, from those of its block's number r on, that a lane has as its q-th. */
template <int threads> TD_DEVICE int row_of_block(int r, int q)
{
    const int lane = (int)threadIdx.x % 32, warp_row = (int)threadIdx.x / 32 * 32 + lane / 4;
    return (r + q / 4) * threads + warp_row + q % 4 * 8;
}

/* Two real numbers, or the parts of the first one. */
TD_DEVICE void load_two(const double *row, int64_t one, int64_t two, double *c)
{
    c[0] = row[one];
    c[1] = row[two];
}
TD_DEVICE void load_two(const td_complex<double> *row, int64_t one, int64_t, double *c)
{
    const double2 v = *(const double2 *)&row[one];
    c[0] = v.x;
    c[1] = v.y;
}

/* The leaf's elements, as they were before the panel. */
template <int sets, class number, int threads, int rows, int leaf>
TD_DEVICE void load_rows(const step_state<number, threads, rows, leaf> &s,
                         warp_rows<number, sets, leaf> &w, int r, int first, int columns)
{
    const int lane = (int)threadIdx.x % 32;
    TD_UNROLL
    for (int q = 0; q < 4 * sets; q++) {
        const int row = s.base + row_of_block<threads>(r, q);
        w.at[q] = static_cast<const number *>(s.panel.a) + min(row, (int)s.panel.rows - 1);
    }
    TD_UNROLL
    for (int n = 0; n < leaf; n += td_embedded<number>::COLUMNS) {
        const int c = n + lane % 4 * 2 / td_embedded<number>::PARTS;
        const int64_t one = (first + min(c, columns - 1)) * s.panel.ld,
                      two = (first + min(c + 1, columns - 1)) * s.panel.ld;
        TD_UNROLL
        for (int q = 0; q < 4 * sets; q++)
            load_two(w.at[q], one, two, &w.c[q / 2][n / td_embedded<number>::COLUMNS][q % 2 * 2]);
    }
}

/* L's elements of the columns that a product takes, of rows at `of` in the first one. */
template <class number, int rows, int count>
TD_DEVICE void load_factors(const number *const (&of)[rows], int64_t ld, int column,
                            double (&l)[rows / 2][count])
{
    enum { HALF = td_embedded<number>::COLUMNS / 2 };
    const int64_t at = (column + td_embedded_column<number>()) * ld;
    TD_UNROLL
    for (int q = 0; q < rows; q++) TD_UNROLL
    for (int half = 0; half < count / 2; half++)
        l[q / 2][q % 2 + 2 * half] = td_embedded_left(of[q] + at + half * HALF * ld);
}

/* Takes the products of columns `from` to `to` - 1 away; L comes so many steps ahead, of rows at
 * `of`. */
template <int ahead, class number, int sets, int threads, int leaf>
TD_DEVICE void take_products(warp_rows<number, sets, leaf> &w,
                             const product_shared<number, threads, leaf> &shared,
                             const number *const (&of)[4 * sets], int64_t ld, int from, int to)
{
    typedef warp_rows<number, sets, leaf> rows;
    enum {
        STRIDE = product_shared<number, threads, leaf>::STRIDE,
        HALVES = rows::HALVES,
        COLUMNS = rows::COLUMNS / 2 * HALVES,
        HALF = rows::COLUMNS / 2 * STRIDE * td_embedded<number>::PARTS
    };
    double l[ahead + 1][2 * sets][2 * HALVES];
    TD_UNROLL
    for (int i = 0; i < ahead; i++)
        load_factors(of, ld, min(from + i * COLUMNS, to - COLUMNS), l[i]);
    TD_ROLLED
    for (int k = from; k < to; k += COLUMNS) {
        load_factors(of, ld, min(k + ahead * COLUMNS, to - COLUMNS), l[ahead]);
        TD_UNROLL
        for (int n = 0; n < rows::TILES; n++) {
            const number *row = shared.u + (k + td_embedded_column<number>()) * STRIDE;
            const double *u =
                reinterpret_cast<const double *>(row) + n * 8 + td_embedded_place<number>();
            double b[HALVES];
            TD_UNROLL
            for (int half = 0; half < HALVES; half++)
                b[half] = td_minus_right<number>(u[half * HALF]);
            TD_UNROLL
            for (int q = 0; q < 2 * sets; q++) {
                if constexpr (HALVES == 2)
                    td_multiply64(w.c[q][n], l[0][q], b);
                else
                    td_multiply64(w.c[q][n], l[0][q], b[0]);
            }
        }
        TD_UNROLL
        for (int i = 0; i < ahead; i++) TD_UNROLL
        for (int q = 0; q < 2 * sets; q++) TD_UNROLL
        for (int e = 0; e < 2 * HALVES; e++) l[i][q][e] = l[i + 1][q][e];
    }
}

/* Takes the products of all columns before `first` from a warp's rows, from number r on. */
template <int ahead, class number, int sets, int threads, int rows, int leaf>
TD_DEVICE void take_all_products(const step_state<number, threads, rows, leaf> &s,
                                 const product_shared<number, threads, leaf> &shared,
                                 warp_rows<number, sets, leaf> &w, int r, int first)
{
    typedef kept_columns<number, threads, rows, leaf> kept;
    if constexpr (kept::COLUMNS > 0) {
        const number *of[4 * sets];
        TD_UNROLL
        for (int q = 0; q < 4 * sets; q++) of[q] = s.shared.kept.of + row_of_block<threads>(r, q);
        take_products<ahead>(w, shared, of, kept::STRIDE, 0, kept::COLUMNS);
    }
    if (first > kept::COLUMNS)
        take_products<ahead>(w, shared, w.at, s.panel.ld, kept::COLUMNS, first);
}

TD_DEVICE void get_number(const double *from, int, double &x) { x = from[0]; }
TD_DEVICE void get_number(const double *from, int to_next, td_complex<double> &x)
{
    x = {from[0], from[to_next]};
}

/* Gives each lane its row of 32. */
template <int tiles, class number, int leaf>
TD_DEVICE void turn_rows(const double (*c)[tiles][4], double *turned, number (&a)[leaf])
{
    enum { TURNED = 33 };
    const int lane = (int)threadIdx.x % 32;
    __syncwarp();
    TD_UNROLL
    for (int n = 0; n < tiles; n++) TD_UNROLL
    for (int q = 0; q < 4; q++) {
        double *const at = turned + (n * 8 + lane % 4 * 2) * TURNED + q * 8 + lane / 4;
        at[0] = c[q / 2][n][q % 2 * 2];
        at[TURNED] = c[q / 2][n][q % 2 * 2 + 1];
    }
    __syncwarp();
    TD_UNROLL
    for (int i = 0; i < leaf; i++)
        get_number(turned + i * td_embedded<number>::PARTS * TURNED + lane, TURNED, a[i]);
}

/* Fills s.a with the leaf of so many columns from `first` on, less all products before it. */
template <class number, int threads, int rows, int leaf>
TD_DEVICE void begin_leaf(step_state<number, threads, rows, leaf> &s,
                          product_shared<number, threads, leaf> &shared, const number *lower,
                          int first, int columns)
{
    enum {
        REALS = product_shared<number, threads, leaf>::REALS,
        SETS = rows > 1 && REALS <= 16 ? 2 : 1,
        AHEAD = rows > 1 ? 1 : 2
    };
    warp_rows<number, SETS, leaf> w;
    if (rows == 1) load_rows(s, w, 0, first, columns); /* meanwhile rows are solved */
    solve_rows(s, shared, lower, first, columns);
    TD_MARK(SOLVE);
    td_cluster_meet();
    TD_MARK(MEET);
    TD_UNROLL
    for (int r = 0; r < rows; r += SETS) {
        if (rows > 1) load_rows(s, w, r, first, columns);
        take_all_products<AHEAD>(s, shared, w, r, first);
        TD_UNROLL
        for (int i = 0; i < SETS; i++)
            turn_rows(w.c + 2 * i, shared.turned[threadIdx.x / 32], s.a[r + i]);
    }
}

#endif

#endif

#endif
