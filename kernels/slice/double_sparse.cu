/* double_sparse.cu - products of sparse slices of binary64 digits, from lists of the digits that
 * are not zero. */
#include "double_tile.h"

/* A thread makes so many neighbouring elements of a row at a time: what it reads of the row's list
 * serves all of them. */
enum { THREADS = 256, COLUMNS = 8 };

namespace
{

/* Calls work(digit, l) for the digits of a line of a slice that are not zero. */
template <class function>
TD_DEVICE void each_digit(const td_double_slices &p, int o, int slice, int line, function work)
{
    const int64_t at = ((int64_t)blockIdx.z * p.slices + slice) * p.lines[o] + line;
    const int32_t *where = p.where[o] + at * p.capacity;
    const double *digit = p.digit[o] + at * p.k;
    const int count = p.count[o][at];
    for (int x = 0; x < count; x++) work(digit[where[x]], where[x]);
}

/* One pair of slices for COLUMNS elements of a row. Columns beyond the digits are the last one, and
 * are not stored. */
TD_DEVICE void add_rows_digits(const td_double_slices &p, int a, int b, int row, int column,
                               double (&sum)[COLUMNS])
{
    const double *other = td_digits_of(p, 1, b);
    each_digit(p, 0, a, row, [&](double digit, int64_t l) {
        TD_UNROLL
        for (int c = 0; c < COLUMNS; c++)
            sum[c] += digit * other[min(column + c, p.lines[1] - 1) * p.k + l];
    });
}

TD_DEVICE void add_columns_digits(const td_double_slices &p, int a, int b, int row, int column,
                                  double (&sum)[COLUMNS])
{
    const double *other = td_digits_of(p, 0, a) + row * p.k;
    TD_UNROLL
    for (int c = 0; c < COLUMNS; c++)
        each_digit(p, 1, b, min(column + c, p.lines[1] - 1),
                   [&](double digit, int64_t l) { sum[c] += digit * other[l]; });
}

TD_DEVICE void add_pairs(const td_double_slices &p, const td_tile_slices &seen, int weight, int row,
                         int column)
{
    double *c = td_sums_of(p, weight) + (int64_t)column * p.lines[0] + row;
    double sum[COLUMNS];
    TD_UNROLL
    for (int i = 0; i < COLUMNS; i++)
        sum[i] = column + i < p.lines[1] ? c[(int64_t)i * p.lines[0]] : 0.0;
    for (int a = 0; a <= weight; a++) {
        const int b = weight - a;
        if (!td_pair_is_sparse(seen, a, b)) continue;
        if (seen.dense[0] >> a & 1)
            add_columns_digits(p, a, b, row, column, sum);
        else
            add_rows_digits(p, a, b, row, column, sum);
    }
    TD_UNROLL
    for (int i = 0; i < COLUMNS; i++)
        if (column + i < p.lines[1]) c[(int64_t)i * p.lines[0]] = sum[i];
}

TD_DEVICE bool has_sparse_pair(const td_tile_slices &seen, int weight)
{
    for (int a = 0; a <= weight; a++)
        if (td_pair_is_sparse(seen, a, weight - a)) return true;
    return false;
}

} // namespace

static __global__ void __launch_bounds__(THREADS) double_sparse_kernel(const td_double_slices p)
{
    TD_SHARED(td_tile_slices, shared, );
    const td_double_place at = td_double_place_of_block(p);
    if (at.weight < 0) return; /* the whole block, before any barrier */
    const td_tile_slices seen = td_look_at_slices(p, at, shared);
    if (!has_sparse_pair(seen, at.weight)) return; /* the whole block, after the last barrier */
    const int row = at.line[0] + (int)threadIdx.x % TD_DOUBLE_ROWS;
    if (row >= p.lines[0]) return;
    const int end = min(at.line[1] + (int)TD_DOUBLE_COLUMNS, p.lines[1]);
    for (int column = at.line[1] + (int)threadIdx.x / TD_DOUBLE_ROWS * COLUMNS; column < end;
         column += THREADS / TD_DOUBLE_ROWS * COLUMNS)
        add_pairs(p, seen, at.weight, row, column);
}

cudaError_t td_double_slices_multiply_sparse(const td_double_slices *p, cudaStream_t stream)
{
    return TD_LAUNCH(double_sparse_kernel, td_double_grid(p), THREADS, 0, stream, *p);
}

cudaError_t td_double_sparse_prepare(void) { return td_load(cudaSuccess, double_sparse_kernel); }
