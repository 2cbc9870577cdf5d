/* eigen_step.cu - one step of refinement between its products: which pairs of columns belong to one
 * cluster, the update of all others, and the vectors of small clusters. */
#include "eigen.h"

#include "../arithmetic/float32.h"
#include "../device/portable.h"

enum { THREADS = 256, WARP = 32, SMALL = TD_EIGEN_SMALL };

/* ---- pairs ---- */

enum pair_kind { SETTLED, APART, COUPLED };

struct pair {
    pair_kind kind;
    double off, gap;
};

TD_DEVICE pair pair_of(const td_eigen_pairs &p, int64_t i, int64_t j)
{
    const double s = p.s[i + j * p.n], r = p.r[i + j * p.n],
                 middle = td_mul64(0.5, td_add64(p.values[i], p.values[j])),
                 gap = td_sub64(p.values[j], p.values[i]), off = td_fma64(r, middle, s),
                 size = td_abs64(off), width = td_abs64(gap);
    const bool is_noise = size <= p.noise && size > td_mul64(0x1p-32, width),
               is_apart = size <= td_mul64(0x1p-10, width);
    return {size == 0.0 || is_noise ? SETTLED : is_apart ? APART : COUPLED, off, gap};
}

/* Grid: columns j; threads go down their rows i. */
static __global__ void __launch_bounds__(THREADS)
    reach_kernel(TD_PARAMETER td_eigen_pairs p, int *reach)
{
    TD_SHARED(int, last, );
    const int64_t j = blockIdx.x;
    if (threadIdx.x == 0) last = (int)j;
    __syncthreads();
    int own = (int)j;
    for (int64_t i = j + 1 + threadIdx.x; i < p.n; i += THREADS)
        if (pair_of(p, i, j).kind == COUPLED) own = (int)i;
    if (own > (int)j) atomicMax(&last, own);
    __syncthreads();
    if (threadIdx.x == 0) reach[j] = last;
}

cudaError_t td_eigen_reach_run(const td_eigen_pairs *p, int *reach, cudaStream_t stream)
{
    return TD_LAUNCH(reach_kernel, dim3((unsigned)p->n), dim3(THREADS), 0, stream, *p, reach);
}

/* Grid: columns j; threads go down their rows i >= j, and have the mirror image of each. */
static __global__ void __launch_bounds__(THREADS)
    update_kernel(TD_PARAMETER td_eigen_pairs p, const int *cluster_of, const double *shift)
{
    const int64_t n = p.n, j = blockIdx.x;
    const int cluster = cluster_of[j];
    const double moved = shift[cluster];
    for (int64_t i = j + threadIdx.x; i < n; i += THREADS) {
        const double s = p.s[i + j * n], r = p.r[i + j * n], half = td_mul64(0.5, r);
        const bool is_within = cluster_of[i] == cluster;
        const pair of = pair_of(p, i, j);
        const double turn = is_within || of.kind != APART ? 0.0 : of.off / of.gap;
        p.s[j + i * n] = td_sub64(half, turn);
        p.s[i + j * n] = i == j ? half : td_add64(half, turn);
        if (!is_within) continue;
        const double unit = i == j ? td_sub64(1.0, r) : -r, block = td_fma64(-moved, unit, s);
        p.r[i + j * n] = block;
        p.r[j + i * n] = block;
    }
}

cudaError_t td_eigen_update_run(const td_eigen_pairs *p, const int *cluster_of, const double *shift,
                                cudaStream_t stream)
{
    return TD_LAUNCH(update_kernel, dim3((unsigned)p->n), dim3(THREADS), 0, stream, *p, cluster_of,
                     shift);
}

/* ---- small clusters ---- */

/* A cluster's matrix, which becomes diagonal, and its vectors. Elements outside of it are 0, and
 * those of the unit matrix. */
struct jacobi_shared {
    double c[SMALL][SMALL + 1], v[SMALL][SMALL + 1]; /* [column][row] */
    double cosine[SMALL / 2], sine[SMALL / 2];
};

/* The columns of pair k of round `round`: each column meets every other one once in SMALL - 1
 * rounds, the last column standing still while the others go round. */
TD_DEVICE int column_of(int round, int k, bool is_second)
{
    const int others = SMALL - 1, at = is_second ? others - k : k;
    return k == 0 && is_second ? others : (at + round) % others;
}

/* The rotation that makes the element of row q and column p 0; true if it was more than `least`. */
TD_DEVICE bool find_rotation(jacobi_shared &shared, int p, int q, int k, double least)
{
    const double off = shared.c[p][q];
    const bool is_needed = td_abs64(off) > least;
    double t = 0.0;
    if (is_needed) {
        const double h = td_mul64(0.5, td_sub64(shared.c[q][q], shared.c[p][p])) / off;
        const double root = td_add64(td_abs64(h), sqrt(td_fma64(h, h, 1.0)));
        t = (h < 0.0 ? -1.0 : 1.0) / root;
    }
    const double cosine = 1.0 / sqrt(td_fma64(t, t, 1.0));
    shared.cosine[k] = cosine;
    shared.sine[k] = td_mul64(t, cosine);
    return is_needed;
}

TD_DEVICE void rotate(double &x, double &y, double cosine, double sine)
{
    const double kept = x;
    x = td_fma64(cosine, kept, -td_mul64(sine, y));
    y = td_fma64(sine, kept, td_mul64(cosine, y));
}

/* All pairs of a round, which share no column; true if one of them was rotated. */
TD_DEVICE bool do_round(jacobi_shared &shared, int round, double least)
{
    const int lane = (int)threadIdx.x;
    bool is_needed = false;
    if (lane < SMALL / 2)
        is_needed = find_rotation(shared, column_of(round, lane, false),
                                  column_of(round, lane, true), lane, least);
    if (!__any_sync(~0u, is_needed)) return false;
    __syncwarp();
    for (int k = 0; k < SMALL / 2; k++) {
        const int p = column_of(round, k, false), q = column_of(round, k, true);
        rotate(shared.c[p][lane], shared.c[q][lane], shared.cosine[k], shared.sine[k]);
        rotate(shared.v[p][lane], shared.v[q][lane], shared.cosine[k], shared.sine[k]);
    }
    __syncwarp();
    for (int k = 0; k < SMALL / 2; k++) {
        const int p = column_of(round, k, false), q = column_of(round, k, true);
        rotate(shared.c[lane][p], shared.c[lane][q], shared.cosine[k], shared.sine[k]);
    }
    __syncwarp();
    return true;
}

/* Ten sweeps are more than Jacobi's method takes for 32 columns; what is left is for the next step
 * of refinement. */
TD_DEVICE void diagonalize(jacobi_shared &shared)
{
    const int lane = (int)threadIdx.x;
    double largest = 0.0;
    for (int i = 0; i < SMALL; i++) largest = fmax(largest, td_abs64(shared.c[lane][i]));
    for (int step = WARP / 2; step > 0; step /= 2)
        largest = fmax(largest, __shfl_xor_sync(~0u, largest, step));
    const double least = td_mul64(0x1p-54, largest);
    bool is_done = false;
    for (int sweep = 0; sweep < 10 && !is_done; sweep++) {
        is_done = true;
        for (int round = 0; round < SMALL - 1; round++)
            if (do_round(shared, round, least)) is_done = false;
    }
}

/* How many columns of the cluster have lesser values than this lane's, or equal ones before it. */
TD_DEVICE int rank_of(const jacobi_shared &shared, int count)
{
    const int lane = (int)threadIdx.x;
    const double own = shared.c[lane][lane];
    int rank = 0;
    for (int i = 0; i < count; i++)
        rank += shared.c[i][i] < own || (shared.c[i][i] == own && i < lane);
    return rank;
}

/* Grid: clusters. A lane has a column, or a row. */
static __global__ void __launch_bounds__(WARP)
    solve_kernel(double *r, int64_t n, const td_eigen_cluster *clusters)
{
    TD_SHARED(jacobi_shared, shared, );
    const td_eigen_cluster cluster = clusters[blockIdx.x];
    const int lane = (int)threadIdx.x, count = cluster.count;
    double *const block = r + cluster.first * (n + 1);
    for (int j = 0; j < SMALL; j++) {
        shared.c[j][lane] = j < count && lane < count ? block[lane + j * n] : 0.0;
        shared.v[j][lane] = j == lane ? 1.0 : 0.0;
    }
    __syncwarp();
    diagonalize(shared);
    const int rank = lane < count ? rank_of(shared, count) : 0;
    for (int i = 0; i < count && lane < count; i++) block[i + rank * n] = shared.v[lane][i];
}

cudaError_t td_eigen_solve_run(double *r, int64_t n, const td_eigen_cluster *clusters, int count,
                               cudaStream_t stream)
{
    if (count == 0) return cudaSuccess;
    return TD_LAUNCH(solve_kernel, dim3((unsigned)count), dim3(WARP), 0, stream, r, n, clusters);
}

/* Grid: clusters, blocks of rows. A thread has a row of the cluster's columns. */
static __global__ void __launch_bounds__(THREADS)
    turn_kernel(double *x, const double *r, int64_t n, const td_eigen_cluster *clusters)
{
    TD_SHARED(double, vectors, [SMALL][SMALL]);
    const td_eigen_cluster cluster = clusters[blockIdx.x];
    const int count = cluster.count;
    const int64_t row = (int64_t)blockIdx.y * THREADS + threadIdx.x;
    double *const own = x + row + cluster.first * n;
    for (int e = (int)threadIdx.x; e < SMALL * SMALL; e += THREADS) {
        const int i = e % SMALL, j = e / SMALL;
        vectors[j][i] = i < count && j < count ? r[cluster.first * (n + 1) + i + j * n] : 0.0;
    }
    __syncthreads();
    if (row >= n) return;
    double element[SMALL];
    TD_UNROLL
    for (int i = 0; i < SMALL; i++) element[i] = i < count ? own[i * n] : 0.0;
    for (int j = 0; j < count; j++) {
        double sum = 0.0;
        TD_UNROLL
        for (int i = 0; i < SMALL; i++) sum = td_fma64(element[i], vectors[j][i], sum);
        own[j * n] = sum;
    }
}

cudaError_t td_eigen_turn_run(double *x, const double *r, int64_t n,
                              const td_eigen_cluster *clusters, int count, cudaStream_t stream)
{
    const unsigned rows = (unsigned)((n + THREADS - 1) / THREADS);
    if (count == 0) return cudaSuccess;
    return TD_LAUNCH(turn_kernel, dim3((unsigned)count, rows), dim3(THREADS), 0, stream, x, r, n,
                     clusters);
}

cudaError_t td_eigen_prepare_steps(void)
{
    return td_load(cudaSuccess, reach_kernel, update_kernel, solve_kernel, turn_kernel);
}
