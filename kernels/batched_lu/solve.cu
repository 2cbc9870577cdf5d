/* solve.cu - triangular solutions, solutions from factors, and inverses: vectors in shared memory,
 * one lane or more for each. */
#include "inverse.h"
#include "solve.h"

template <class number> struct vectors {
    td_solver<number> solver;
    number *of;
    int ld;
    int *pivots;
    uint8_t *rows; /* of A, by position */
};

/* Numbers from one element of the vectors to the next: lanes that read four elements of eight
 * vectors, or one vector, find them in different banks. */
template <class number> TD_HOST_DEVICE int ld_of(int vectors)
{
    return vectors + (td_lu_is_wide<number>::value ? 4 : 1);
}

template <class number> TD_HOST_DEVICE int vectors_bytes(int n, int vectors, int depth)
{
    return td_solver_bytes<number>(n, depth) + n * ld_of<number>(vectors) * (int)sizeof(number) +
           n * (int)sizeof(int) + n;
}

template <class number>
TD_DEVICE vectors<number> lay_out(char *shared, int n, int together, int depth)
{
    vectors<number> v;
    v.solver = td_solver_at<number>(shared, depth);
    v.of = reinterpret_cast<number *>(shared + td_solver_bytes<number>(n, depth));
    v.ld = ld_of<number>(together);
    v.pivots = reinterpret_cast<int *>(v.of + n * v.ld);
    v.rows = reinterpret_cast<uint8_t *>(v.pivots + n);
    return v;
}

/* Where a block's vectors are in B. */
template <class number> struct block_of_vectors {
    number *b;
    int64_t element_step, vector_step;
    int first, count;
};

/* Calls work(k, v) for all elements of the vectors, so that neighbours of B fall to neighbouring
 * threads. */
template <class number, class function>
TD_DEVICE void for_elements(const block_of_vectors<number> &b, int n, function work)
{
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    const int warps = (int)blockDim.x / 32;
    if (b.element_step == 1) {
        for (int v = warp; v < b.count; v += warps)
            for (int k = lane; k < n; k += 32) work(k, v);
    } else {
        for (int k = warp; k < n; k += warps)
            for (int v = lane; v < b.count; v += 32) work(k, v);
    }
}

template <class number>
TD_DEVICE void load_vectors(const td_lu_vectors &p, const vectors<number> &v,
                            const block_of_vectors<number> &b, number alpha)
{
    const bool is_permuted = p.what == td_lu_vectors::TD_VECTORS_SOLUTION && p.op == TD_LU_N;
    const bool is_zero = td_is_zero(alpha), scales = !td_lu_is_one(alpha);
    for (int i = (int)threadIdx.x; i < p.n * v.ld; i += (int)blockDim.x)
        v.of[i] = td_number<number>(0);
    __syncthreads();
    if (p.what == td_lu_vectors::TD_VECTORS_INVERSE) {
        const int mine = (int)threadIdx.x;
        if (mine < b.count) v.of[(b.first + mine) * v.ld + mine] = td_number<number>(1);
    } else if (!is_zero) {
        for_elements(b, p.n, [&](int k, int i) {
            const int row = is_permuted ? v.rows[k] : k;
            const number x = b.b[row * b.element_step + i * b.vector_step];
            v.of[k * v.ld + i] = scales ? td_times(alpha, x) : x;
        });
    }
}

template <class number>
TD_DEVICE void store_vectors(const td_lu_vectors &p, const vectors<number> &v,
                             const block_of_vectors<number> &b)
{
    const bool is_permuted = p.what == td_lu_vectors::TD_VECTORS_SOLUTION && p.op != TD_LU_N;
    const bool is_inverse = p.what == td_lu_vectors::TD_VECTORS_INVERSE;
    for_elements(b, p.n, [&](int k, int i) {
        const int row = is_permuted ? v.rows[k] : k;
        const int vector = is_inverse ? v.rows[b.first + i] : b.first + i;
        b.b[row * b.element_step + (vector - b.first) * b.vector_step] = v.of[k * v.ld + i];
    });
}

/* Threads of a block, and blocks of which registers suffice for a lane's rows of a strip. */
template <int lanes> constexpr int most_threads() { return lanes == 1 ? 256 : 512; }
template <class number, int lanes> constexpr int least_blocks()
{
    return lanes == 1 && !td_lu_is_wide<number>::value ? 2 : 1;
}

/* Blocks of vectors, those of a matrix next to each other; so many lanes share one. */
template <class number, int lanes>
static __global__ void __launch_bounds__(most_threads<lanes>(), (least_blocks<number, lanes>()))
    solve_kernel(const td_lu_vectors p, int depth)
{
    TD_DYNAMIC_SHARED(char, shared);
    const int together = (int)blockDim.x / lanes;
    const vectors<number> v = lay_out<number>(shared, p.n, together, depth);
    const int groups = (p.vectors + together - 1) / together;
    const int member = (int)blockIdx.x / groups, group = (int)blockIdx.x % groups;
    const int n = p.n, tid = (int)threadIdx.x, first = group * together;
    const number *a = static_cast<const number *>(p.a[member]);
    block_of_vectors<number> b = {static_cast<number *>(p.b[member]), 1, p.ldb, first,
                                  min(together, p.vectors - first)};
    if (p.is_right) b.element_step = p.ldb, b.vector_step = 1;
    b.b += first * b.vector_step;

    const bool is_inverse = p.what == td_lu_vectors::TD_VECTORS_INVERSE;
    const bool is_triangle = p.what == td_lu_vectors::TD_VECTORS_TRIANGLE;
    if (!is_triangle) {
        td_lu_read_pivots(p.pivots ? p.pivots + (int64_t)member * n : nullptr, n, tid,
                          (int)blockDim.x, v.pivots);
        __syncthreads();
        td_lu_find_rows(v.pivots, n, tid, (int)blockDim.x, v.rows);
        __syncthreads();
    }
    const number alpha = td_lu_alpha<number>(p);
    load_vectors(p, v, b, alpha);
    const int vector = td_sharing<lanes>::vector_of_block();
    const int passes = is_triangle ? (td_is_zero(alpha) ? 0 : 1) : 2;
    TD_ROLLED
    for (int pass = 0; pass < passes;
         pass++) { /* of factors L, then U; for A's transpose the other way round */
        const td_lu_pass now = td_lu_pass_of(p, pass);
        const auto t = td_lu_triangle_of(a, p.lda, n, now.is_upper, now.is_unit, p.op, p.is_right);
        td_substitute<lanes>(v.solver, t, n, v.of + vector, v.ld,
                             is_inverse && pass == 0 ? (first + vector) / 32 * 32 : 0);
    }
    __syncthreads();
    store_vectors(p, v, b);
    if (is_inverse && group == 0) td_lu_tell_info(p, a, member);
}

/* ---- launches ---- */

enum { LEAST_DEPTH = TD_SOLVE_ROWS };

/* Columns of a strip: the most with which as many blocks fit a multiprocessor as with the least, or
 * ENOUGH. `most`: bytes of shared memory that a block may have. */
template <class number> static int depth_for(int n, int together, int most)
{
    enum { ENOUGH = 8 };
    const int blocks = min(most / vectors_bytes<number>(n, together, LEAST_DEPTH), (int)ENOUGH);
    int depth = min((int)TD_SOLVE_MOST_DEPTH, td_solver_rows(n));
    while (depth > LEAST_DEPTH && most / vectors_bytes<number>(n, together, depth) < blocks)
        depth -= TD_SOLVE_ROWS;
    return depth;
}

template <class number, int lanes>
static cudaError_t launch_shared(const td_lu_vectors *p, int together, cudaStream_t stream)
{
    int most = 0;
    const cudaError_t error = td_block_shared_bytes(&most);
    if (error != cudaSuccess) return error;
    together = min(together, most_threads<lanes>() / lanes);
    if (p->vectors < together) together = min(together, (p->vectors + 31) / 32 * 32);
    while (together > 32 && vectors_bytes<number>(p->n, together, LEAST_DEPTH) > most)
        together -= 32;
    const int depth = depth_for<number>(p->n, together, most);
    const int64_t blocks = ((int64_t)p->vectors + together - 1) / together * p->batch;
    if (blocks > INT_MAX) return cudaErrorInvalidConfiguration;
    return TD_LAUNCH((solve_kernel<number, lanes>), (unsigned)blocks, (unsigned)(together * lanes),
                     (size_t)vectors_bytes<number>(p->n, together, depth), stream, *p, depth);
}

template <class number> static cudaError_t launch_solve(const td_lu_vectors *p, cudaStream_t stream)
{
    const td_lu_arrangement block = td_lu_arrangement_of(p->type, p->n);
    const int together = p->together ? p->together : block.together,
              lanes = p->lanes ? p->lanes : block.lanes;
    return lanes == 1 ? launch_shared<number, 1>(p, together, stream)
                      : launch_shared<number, td_lu_most_lanes_of<number>()>(p, together, stream);
}

cudaError_t td_lu_solve(const td_lu_vectors *p, cudaStream_t stream)
{
    if (p->what == td_lu_vectors::TD_VECTORS_INVERSE && p->together == 0 && p->lanes == 0) {
        const cudaError_t error = td_lu_invert_factors(p, stream);
        if (error != cudaErrorInvalidConfiguration) return error;
    }
    if (td_lu_takes_strips(p)) return td_lu_solve_strips(p, stream);
    return td_lu_with_number(p->type,
                             [&](auto zero) { return launch_solve<decltype(zero)>(p, stream); });
}

template <class number> static cudaError_t prepare(cudaError_t error)
{
    constexpr int lanes = td_lu_most_lanes_of<number>();
    error = td_allow_shared(error, solve_kernel<number, 1>, INT_MAX);
    return lanes == 1 ? error : td_allow_shared(error, solve_kernel<number, lanes>, INT_MAX);
}

cudaError_t td_lu_solve_prepare(void)
{
    cudaError_t error = prepare<float>(cudaSuccess);
    error = prepare<double>(error);
    error = prepare<td_complex<float>>(error);
    return prepare<td_complex<double>>(error);
}
