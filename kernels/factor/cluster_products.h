/* cluster_products.h - what the leaves of a panel that are done take away from the next one: U's
 * rows beside them, of which each block solves some columns, and products with their part of L, by
 * the tensor cores. Each element goes on with its chain over ascending columns. */
#ifndef TD_CLUSTER_PRODUCTS_H
#define TD_CLUSTER_PRODUCTS_H

#include "cluster_step.h"
#include "unit_lower.h"

#if TD_HAS_CUDA_DEVICE

/* Shared memory of these: U's rows [row][column of the leaf], and a warp's rows on their way from
 * the tensor cores' lanes to a row for each lane. */
template <int threads, int leaf> struct product_shared {
    enum { STRIDE = leaf + 4, TURNED = 33 };
    alignas(16) double u[TD_CLUSTER_COLUMNS * STRIDE];
    alignas(16) double turned[threads / 32][leaf * TURNED];

    /* A block solves for all columns of a leaf, or at most for half of them, beside the rows of the
     * leaves before it, in whole blocks of rows. */
    static_assert((TD_CLUSTER_COLUMNS - leaf + 8) * (leaf + 4) <= threads / 32 * leaf * TURNED,
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
template <int threads, int rows, int leaf>
TD_DEVICE void solve_rows(const step_state<threads, rows, leaf> &s,
                          product_shared<threads, leaf> &shared, const double *lower, int first,
                          int columns)
{
    enum { STRIDE = product_shared<threads, leaf>::STRIDE };
    const columns_of_block own = share_of<leaf>(s.block, s.blocks, columns);
    const int t = (int)threadIdx.x, at = t / 32 * LOWER_VECTORS,
              stride = (own.count + LOWER_VECTORS - 1) / LOWER_VECTORS * LOWER_VECTORS + 4;
    double *const a = static_cast<double *>(s.panel.a) + (first + own.first) * s.panel.ld,
                  *const x = shared.turned[0];
    for (int e = t; e < first * own.count; e += threads)
        x[e % first * stride + e / first] = a[s.shared.source[e % first] + e / first * s.panel.ld];
    for (int e = t; e < first * (leaf - columns); e += threads)
        shared.u[e % first * STRIDE + columns + e / first] = 0.0;
    __syncthreads();
    if (at < own.count) td_solve_unit_lower(x + at, stride, first, lower);
    __syncthreads();
    for (int e = t; e < first * own.count; e += threads) {
        const int row = e % first, c = e / first;
        const double u = x[row * stride + c];
        a[s.shared.source[row] + c * s.panel.ld] = u;
        for (int to = 0; to < s.blocks; to++)
            leave_in_block(&shared.u[row * STRIDE + own.first + c], to, u);
    }
}

/* Rows of a warp: `sets` times 32, of which a lane has every eighth. */
template <int sets, int leaf> struct warp_rows {
    const double *at[4 * sets]; /* in the panel's first column */
    double c[2 * sets][leaf / 8][4];
};

/* The leaf's elements, as they were before the panel. */
template <int sets, int threads, int rows, int leaf>
TD_DEVICE void load_rows(const step_state<threads, rows, leaf> &s, warp_rows<sets, leaf> &w, int r,
                         int first, int columns)
{
    const int lane = (int)threadIdx.x % 32, warp_row = (int)threadIdx.x / 32 * 32 + lane / 4;
    TD_UNROLL
    for (int q = 0; q < 4 * sets; q++) {
        const int row = s.base + (r + q / 4) * threads + warp_row + q % 4 * 8;
        w.at[q] = static_cast<const double *>(s.panel.a) + min(row, (int)s.panel.rows - 1);
    }
    TD_UNROLL
    for (int n = 0; n < leaf / 8; n++) {
        const int c = n * 8 + lane % 4 * 2;
        const int64_t one = (first + min(c, columns - 1)) * s.panel.ld,
                      two = (first + min(c + 1, columns - 1)) * s.panel.ld;
        TD_UNROLL
        for (int q = 0; q < 4 * sets; q++) {
            w.c[q / 2][n][q % 2 * 2] = w.at[q][one];
            w.c[q / 2][n][q % 2 * 2 + 1] = w.at[q][two];
        }
    }
}

/* L's elements of eight columns. */
template <int sets, int leaf>
TD_DEVICE void load_factors(const warp_rows<sets, leaf> &w, int64_t ld, int column,
                            double (&l)[2 * sets][4])
{
    const int64_t at = (column + (int)threadIdx.x % 4) * ld;
    TD_UNROLL
    for (int q = 0; q < 4 * sets; q++) {
        l[q / 2][q % 2] = w.at[q][at];
        l[q / 2][q % 2 + 2] = w.at[q][at + 4 * ld];
    }
}

/* Takes the products of all columns before `first` away; L comes so many steps ahead. */
template <int ahead, int sets, int threads, int leaf>
TD_DEVICE void take_products(warp_rows<sets, leaf> &w, const product_shared<threads, leaf> &shared,
                             int64_t ld, int first)
{
    enum { STRIDE = product_shared<threads, leaf>::STRIDE };
    const int lane = (int)threadIdx.x % 32;
    double l[ahead + 1][2 * sets][4];
    TD_UNROLL
    for (int i = 0; i < ahead; i++) load_factors(w, ld, min(i * 8, first - 8), l[i]);
    TD_ROLLED
    for (int k = 0; k < first; k += 8) {
        load_factors(w, ld, min(k + ahead * 8, first - 8), l[ahead]);
        TD_UNROLL
        for (int n = 0; n < leaf / 8; n++) {
            const double *u = shared.u + (k + lane % 4) * STRIDE + n * 8 + lane / 4;
            const double b[2] = {-u[0], -u[4 * STRIDE]};
            TD_UNROLL
            for (int q = 0; q < 2 * sets; q++) td_multiply64(w.c[q][n], l[0][q], b);
        }
        TD_UNROLL
        for (int i = 0; i < ahead; i++) TD_UNROLL
        for (int q = 0; q < 8 * sets; q++) l[i][q / 4][q % 4] = l[i + 1][q / 4][q % 4];
    }
}

/* Gives each lane its row of 32. */
template <int leaf>
TD_DEVICE void turn_rows(const double (*c)[leaf / 8][4], double *turned, double (&a)[leaf])
{
    enum { TURNED = 33 };
    const int lane = (int)threadIdx.x % 32;
    __syncwarp();
    TD_UNROLL
    for (int n = 0; n < leaf / 8; n++) TD_UNROLL
    for (int q = 0; q < 4; q++) {
        double *const at = turned + (n * 8 + lane % 4 * 2) * TURNED + q * 8 + lane / 4;
        at[0] = c[q / 2][n][q % 2 * 2];
        at[TURNED] = c[q / 2][n][q % 2 * 2 + 1];
    }
    __syncwarp();
    TD_UNROLL
    for (int i = 0; i < leaf; i++) a[i] = turned[i * TURNED + lane];
}

/* Fills s.a with the leaf of so many columns from `first` on, less all products before it. */
template <int threads, int rows, int leaf>
TD_DEVICE void begin_leaf(step_state<threads, rows, leaf> &s, product_shared<threads, leaf> &shared,
                          const double *lower, int first, int columns)
{
    enum { SETS = rows > 1 && leaf <= 16 ? 2 : 1, AHEAD = rows > 1 ? 1 : 2 };
    warp_rows<SETS, leaf> w;
    if (rows == 1) load_rows(s, w, 0, first, columns); /* meanwhile rows are solved */
    solve_rows(s, shared, lower, first, columns);
    td_cluster_meet();
    TD_UNROLL
    for (int r = 0; r < rows; r += SETS) {
        if (rows > 1) load_rows(s, w, r, first, columns);
        take_products<AHEAD>(w, shared, s.panel.ld, first);
        TD_UNROLL
        for (int i = 0; i < SETS; i++)
            turn_rows<leaf>(w.c + 2 * i, shared.turned[threadIdx.x / 32], s.a[r + i]);
    }
}

#endif

#endif

#endif
