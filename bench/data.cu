#include "data.h"

#include "../kernels/device/portable.h"

#include "../kernels/arithmetic/dd.h"
#include "../kernels/arithmetic/df.h"
#include "../kernels/arithmetic/ts.h"
#include "random.h"

enum { BLOCKS = 1024, THREADS = 128, TILE = 64 };

/* A double-double rounded to each type, and each type as a sum of binary64 numbers. */
TD_DEVICE void from_dd(tandem_dd x, double *to) { *to = x.hi; }
TD_DEVICE void from_dd(tandem_dd x, tandem_df *to) { *to = td_df_split(td_bits64(x.hi), 0); }
TD_DEVICE void from_dd(tandem_dd x, tandem_dd *to) { *to = x; }
TD_DEVICE void from_dd(tandem_dd x, tandem_ds *to) { *to = td_ds(x); }
TD_DEVICE void from_dd(tandem_dd x, tandem_ts *to)
{
    tandem_ts s = td_ts_split(td_bits64(x.hi), 0);
    s.z = (float)td_add64((double)s.z, x.lo);
    *to = td_ts_normalise(s);
}

TD_DEVICE void parts_of(double x, double *p) { p[0] = x, p[1] = p[2] = 0.0; }
TD_DEVICE void parts_of(tandem_df x, double *p) { p[0] = x.hi, p[1] = x.lo, p[2] = 0.0; }
TD_DEVICE void parts_of(tandem_ts x, double *p) { p[0] = x.x, p[1] = x.y, p[2] = x.z; }
TD_DEVICE void parts_of(tandem_dd x, double *p) { p[0] = x.hi, p[1] = x.lo, p[2] = 0.0; }
TD_DEVICE void parts_of(tandem_ds x, double *p) { p[0] = x.hi, p[1] = x.lo, p[2] = 0.0; }

/* Element `index` of a matrix. lo is at most a quarter of a unit in the last place of hi. */
TD_DEVICE tandem_dd element(data_distribution d, uint64_t seed, uint64_t index)
{
    const double hi = random_element(d.shift, d.phi, seed, index);
    const double u = random_uniform(seed, RANDOM_DRAWS * index + RANDOM_DRAWS - 1);
    return td_dd(hi, hi * 0x1p-53 * (u - 0.5));
}

template <typename type>
static __global__ void fill_kernel(data_distribution distribution, uint64_t seed, int64_t count,
                                   type *matrix)
{
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < count; i += BLOCKS * THREADS)
        from_dd(element(distribution, seed, (uint64_t)i), &matrix[i]);
}

TD_DEVICE int64_t place(data_lines lines, int64_t sample)
{
    const int64_t last = lines.size - 1;
    if (lines.size <= lines.samples) return sample;
    const int64_t even = sample * last / (lines.samples - 1);
    if (lines.size < 2 * TILE * lines.samples || sample == lines.samples - 1) return even;
    return sample % 2 ? min(even | (TILE - 1), last) : even & ~(int64_t)(TILE - 1);
}

template <typename type>
static __global__ void sample_kernel(const type *matrix, data_lines rows, data_lines columns,
                                     double *parts)
{
    const int64_t height = min(rows.size, rows.samples);
    const int64_t count = height * min(columns.size, columns.samples);
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < count; i += BLOCKS * THREADS)
        parts_of(matrix[place(rows, i % height) + rows.size * place(columns, i / height)],
                 parts + DATA_PARTS * i);
}

/* One copy of `call` with `type` as each of the types. */
#define EACH_TYPE(which, call)                                                                     \
    switch (which) {                                                                               \
    case TYPE_DOUBLE: {                                                                            \
        using type = double;                                                                       \
        call;                                                                                      \
    }                                                                                              \
    case TYPE_DF: {                                                                                \
        using type = tandem_df;                                                                    \
        call;                                                                                      \
    }                                                                                              \
    case TYPE_TS: {                                                                                \
        using type = tandem_ts;                                                                    \
        call;                                                                                      \
    }                                                                                              \
    case TYPE_DD: {                                                                                \
        using type = tandem_dd;                                                                    \
        call;                                                                                      \
    }                                                                                              \
    case TYPE_DS: {                                                                                \
        using type = tandem_ds;                                                                    \
        call;                                                                                      \
    }                                                                                              \
    default:                                                                                       \
        break;                                                                                     \
    }

size_t data_size(data_type which)
{
    EACH_TYPE(which, return sizeof(type))
    return 0;
}

cudaError_t data_fill(data_type which, data_distribution distribution, uint64_t seed, int64_t count,
                      void *matrix)
{
    EACH_TYPE(which, return TD_LAUNCH(fill_kernel<type>, BLOCKS, THREADS, 0, (cudaStream_t)NULL,
                                      distribution, seed, count, (type *)matrix))
    return cudaErrorInvalidValue;
}

cudaError_t data_sample(data_type which, const void *matrix, data_lines rows, data_lines columns,
                        double *parts)
{
    EACH_TYPE(which, return TD_LAUNCH(sample_kernel<type>, BLOCKS, THREADS, 0, (cudaStream_t)NULL,
                                      (const type *)matrix, rows, columns, parts))
    return cudaErrorInvalidValue;
}
