/* scalars.cu - complex scalars of products, element by element of C. */
#include "scalars.h"

#include "folded.h"

enum { THREADS = 256, MOST_COLUMNS = 8192 };

struct pair_of_scalars {
    td_term alpha, beta;
};

TD_DEVICE pair_of_scalars scalars_of(const td_complex_scalars &s)
{
    pair_of_scalars r;
    r.alpha = td_complex_scalar(s.alpha, s.alpha_is_real);
    r.beta = td_complex_scalar(s.beta, s.beta_is_real);
    return r;
}

/* True if there is a T. */
TD_DEVICE bool makes_t(const td_complex_scalars &s, const pair_of_scalars &by)
{
    return s.t.data || td_makes_t(s.adds_mirror, by.alpha, by.beta);
}

/* x y + z, each part in two roundings, or, where x is stored as a real number, in one: an infinite
 * part of y then leaves the other as it is. */
TD_DEVICE td_term multiply_add(td_term x, bool is_real, td_term y, td_term z)
{
    const td_term sum = td_term_of(td_fma64(x.re, y.re, z.re), td_fma64(x.re, y.im, z.im));
    return is_real ? sum : td_term_of(td_fma64(-x.im, y.im, sum.re), td_fma64(x.im, y.re, sum.im));
}

TD_DEVICE bool is_zero(td_term x) { return x.re == 0.0 && x.im == 0.0; }

static __global__ void real_kernel(const td_complex_scalars s)
{
    const pair_of_scalars by = scalars_of(s);
    const bool is_t = makes_t(s, by);
    /* With an alpha of 0 nothing is read of A and B, so there is no T to make. */
    s.real[0] = is_zero(by.alpha) ? 0.0 : is_t ? 1.0 : by.alpha.re;
    s.real[1] = is_t ? 0.0 : by.beta.re;
}

/* Calls work(row, column) for the block's share of the region. Grid: blocks over columns, 1, batch
 * member. */
template <class function> TD_DEVICE void each_element(const td_complex_scalars &s, function work)
{
    for (int64_t j = blockIdx.x; j < s.n; j += gridDim.x)
        for (int64_t i = threadIdx.x; i < s.m; i += blockDim.x)
            if (td_region_has(&s.region, i, j)) work(i, j);
}

static __global__ void save_kernel(TD_PARAMETER td_complex_scalars s)
{
    const pair_of_scalars by = scalars_of(s);
    if (td_is_made(s.verdict) || !makes_t(s, by) || is_zero(by.beta)) return;
    const td_term *const c = td_member<td_term>(s.c, s.batch_first + blockIdx.z);
    td_term *const before = td_member<td_term>(s.before, blockIdx.z);
    each_element(s, [&](int64_t i, int64_t j) { before[i + j * s.before.ld] = c[i + j * s.c.ld]; });
}

/* An element before the product. The diagonal of a Hermitian matrix is real. */
TD_DEVICE td_term load_before(const td_complex_scalars &s, const td_term *before, int64_t i,
                              int64_t j)
{
    const td_term t = before[i + j * (s.before.data ? s.before.ld : s.c.ld)];
    return s.has_real_diagonal && i == j ? td_term_of(t.re, 0.0) : t;
}

/* alpha T + beta C of one element; ld is T's. */
TD_DEVICE td_term combined(const td_complex_scalars &s, const pair_of_scalars &by, const td_term *t,
                           int64_t ld, const td_term *before, int64_t i, int64_t j)
{
    const td_term none = td_term_of(0.0, 0.0);
    const bool is_real = s.alpha_is_real;
    td_term sum = none;
    if (!is_zero(by.beta))
        sum = multiply_add(by.beta, s.beta_is_real, load_before(s, before, i, j), none);
    if (is_zero(by.alpha)) return sum;
    if (s.adds_mirror)
        sum = multiply_add(td_conjugate(by.alpha), is_real, td_conjugate(t[j + i * ld]), sum);
    return multiply_add(by.alpha, is_real, t[i + j * ld], sum);
}

static __global__ void end_kernel(TD_PARAMETER td_complex_scalars s)
{
    const pair_of_scalars by = scalars_of(s);
    const bool is_t = makes_t(s, by);
    if (td_is_made(s.verdict)) return;
    td_term *const c = td_member<td_term>(s.c, s.batch_first + blockIdx.z);
    const int64_t ld = s.t.data ? s.t.ld : s.c.ld;
    const td_term *const t = s.t.data ? td_member<td_term>(s.t, blockIdx.z) : c,
                         *const before =
                             s.before.data ? td_member<td_term>(s.before, blockIdx.z) : c;
    if (is_t)
        each_element(s, [&](int64_t i, int64_t j) {
            c[i + j * s.c.ld] = combined(s, by, t, ld, before, i, j);
        });
    __syncthreads();
    if (!s.has_real_diagonal || threadIdx.x != 0) return;
    for (int64_t j = blockIdx.x; j < min(s.m, s.n); j += gridDim.x) c[j + j * s.c.ld].im = 0.0;
}

static dim3 grid_of(const td_complex_scalars *s, int batch)
{
    return dim3((unsigned)(s->n < MOST_COLUMNS ? s->n : (int64_t)MOST_COLUMNS), 1, (unsigned)batch);
}

static bool is_real_on_host(const td_scalar *s, bool is_real)
{
    return is_real || (!s->device && s->value.complex_binary64.im == 0.0);
}

bool td_scalars_are_real(const td_complex_scalars *s)
{
    return !s->t.data && !s->adds_mirror && is_real_on_host(&s->alpha, s->alpha_is_real) &&
           is_real_on_host(&s->beta, s->beta_is_real);
}

cudaError_t td_scalars_begin_run(const td_complex_scalars *s, int batch, cudaStream_t stream)
{
    cudaError_t error = cudaSuccess;
    if (s->real) error = TD_LAUNCH(real_kernel, 1, 1, 0, stream, *s);
    if (error != cudaSuccess || !s->before.data) return error;
    return TD_LAUNCH(save_kernel, grid_of(s, batch), THREADS, 0, stream, *s);
}

cudaError_t td_scalars_end_run(const td_complex_scalars *s, int batch, cudaStream_t stream)
{
    if (td_scalars_are_real(s) && !s->has_real_diagonal) return cudaSuccess;
    return TD_LAUNCH(end_kernel, grid_of(s, batch), THREADS, 0, stream, *s);
}

cudaError_t td_scalars_prepare(void)
{
    return td_load(cudaSuccess, real_kernel, save_kernel, end_kernel);
}
