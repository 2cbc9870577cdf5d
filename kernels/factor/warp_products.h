/* warp_products.h - sums of products that a warp has in its registers, as the tensor cores for
 * binary64 have them; of real or complex numbers. */
#ifndef TD_WARP_PRODUCTS_H
#define TD_WARP_PRODUCTS_H

#include "../batched_lu/number.h"
#include "../device/async_copy.h"
#include "../device/dmma.h"

/* A thread's part of a warp's sums, as the tensor cores have it, of real columns: element [i][j][2
 * h + e] is of row 16 i + 8 h + lane / 4 and column 8 j + 2 (lane % 4) + e. Two neighbours of a
 * row are the parts of a complex number. */
template <int rows, int columns> using sums_of_warp = double[rows / 16][columns / 8][4];

TD_DEVICE double number_at(const double *x, double) { return *x; }
TD_DEVICE td_complex<double> number_at(const double *x, td_complex<double>) { return {x[0], x[1]}; }
TD_DEVICE void put_number(double *x, double y) { *x = y; }
TD_DEVICE void put_number(double *x, td_complex<double> y) { x[0] = y.re, x[1] = y.im; }

/* Calls work(x, row, column) with the parts of each number of a thread's sums. */
template <class number, int rows, int columns, class function>
TD_DEVICE void each_place(sums_of_warp<rows, columns> &c, function work)
{
    constexpr int parts = td_parts_of<number>();
    const int row = (int)threadIdx.x % 32 / 4, column = (int)threadIdx.x % 4 * 2 / parts;
    TD_UNROLL
    for (int i = 0; i < rows / 16; i++) TD_UNROLL
    for (int j = 0; j < columns / 8; j++) TD_UNROLL
    for (int q = 0; q < 4; q += parts)
        work(&c[i][j][q], 16 * i + q / 2 * 8 + row, (8 * j + q % 2) / parts + column);
}

/* Each number of a thread's sums is made by make(row, column). */
template <class number, int rows, int columns, class function>
TD_DEVICE void set_sums(sums_of_warp<rows, columns> &c, function make)
{
    each_place<number, rows, columns>(
        c, [&](double *x, int row, int column) { put_number(x, make(row, column)); });
}

/* Calls use(sum, row, column) for each number of a thread's sums. */
template <class number, int rows, int columns, class function>
TD_DEVICE void use_sums(sums_of_warp<rows, columns> &c, function use)
{
    each_place<number, rows, columns>(
        c, [&](double *x, int row, int column) { use(number_at(x, number()), row, column); });
}

/* What a lane multiplies for -x, a part of an element of b: that of a row of the matrix
 *
 *     [re -im]
 *     [im  re] transposed, for complex numbers; the real part of a comes first. */
template <class number> TD_DEVICE double minus_right(double x)
{
#if TD_HAS_CUDA_DEVICE
    if constexpr (td_is_complex<number>::value) {
        const int sign = (threadIdx.x & 5) == 4 ? 0 : INT_MIN;
        return __hiloint2double(__double2hiint(x) ^ sign, __double2loint(x));
    }
#endif
    return -x;
}

/* c -= a b^H, of so many terms: a's rows, a[row * row_step + k * k_step], and b's. Each sum is the
 * chain of td_minus() over k. */
template <class number, int terms, int row_step, int k_step, int b_row_step, int b_k_step, int rows,
          int columns>
TD_DEVICE void take_products(sums_of_warp<rows, columns> &c, const number *a, const number *b)
{
#if TD_HAS_CUDA_DEVICE && (!defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800)
    constexpr int parts = td_parts_of<number>();
    const int line = (int)threadIdx.x % 32 / 4, l = (int)threadIdx.x % 4;
    const double *const left =
        reinterpret_cast<const double *>(a + line * row_step + l / parts * k_step) + l % parts;
    const double *const right =
        reinterpret_cast<const double *>(b + line / parts * b_row_step + l / parts * b_k_step) +
        (line ^ l) % parts;
    TD_UNROLL
    for (int k = 0; k < terms * parts; k += 8) {
        double x[rows / 16][4], y[columns / 8][2];
        TD_UNROLL
        for (int i = 0; i < rows / 16; i++) TD_UNROLL
        for (int q = 0; q < 4; q++)
            x[i][q] = left[(16 * i + q % 2 * 8) * parts * row_step + (k + q / 2 * 4) * k_step];
        TD_UNROLL
        for (int j = 0; j < columns / 8; j++) TD_UNROLL
        for (int q = 0; q < 2; q++)
            y[j][q] = minus_right<number>(right[8 * j * b_row_step + (k + q * 4) * b_k_step]);
        TD_UNROLL
        for (int i = 0; i < rows / 16; i++) TD_UNROLL
        for (int j = 0; j < columns / 8; j++) td_multiply64(c[i][j], x[i], y[j]);
    }
#else
    each_place<number, rows, columns>(c, [=](double *x, int row, int column) {
        number sum = number_at(x, number());
        for (int k = 0; k < terms; k++)
            sum = td_minus(sum, a[row * row_step + k * k_step],
                           td_conjugate(b[column * b_row_step + k * b_k_step]));
        put_number(x, sum);
    });
#endif
}

/* What a lane multiplies of FRAGMENT_TERMS real terms of a and -b^H: in registers, so that the next
 * ones can be loaded meanwhile. */
enum { FRAGMENT_TERMS = 4, FRAGMENT_ROWS = 16 };
template <class number, int rows, int columns> struct fragments {
#if TD_HAS_CUDA_DEVICE && (!defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800)
    double a[rows / FRAGMENT_ROWS][2], b[columns / 8];
#else
    enum { TERMS = FRAGMENT_TERMS / td_parts_of<number>() };
    number a[rows / 8][TERMS], b[columns / 4][TERMS]; /* of the rows and columns of its sums */
#endif
};

/* Of a's rows, a[row * row_step + k * k_step], and b's. */
template <int row_step, int k_step, class number, int rows, int columns>
TD_DEVICE void load_fragments(fragments<number, rows, columns> &f, const number *a, const number *b)
{
    constexpr int parts = td_parts_of<number>();
    const int line = (int)threadIdx.x % 32 / 4, l = (int)threadIdx.x % 4;
#if TD_HAS_CUDA_DEVICE && (!defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800)
    const double *const left =
        reinterpret_cast<const double *>(a + line * row_step + l / parts * k_step) + l % parts;
    const double *const right =
        reinterpret_cast<const double *>(b + line / parts * row_step + l / parts * k_step) +
        (line ^ l) % parts;
    TD_UNROLL
    for (int i = 0; i < rows / FRAGMENT_ROWS; i++) TD_UNROLL
    for (int q = 0; q < 2; q++) f.a[i][q] = left[(FRAGMENT_ROWS * i + 8 * q) * parts * row_step];
    TD_UNROLL
    for (int j = 0; j < columns / 8; j++) f.b[j] = minus_right<number>(right[8 * j * row_step]);
#else
    for (int k = 0; k < FRAGMENT_TERMS / parts; k++) {
        for (int i = 0; i < rows / 8; i++) f.a[i][k] = a[(8 * i + line) * row_step + k * k_step];
        for (int j = 0; j < columns / 4 / parts; j++) {
            const int column = parts == 2 ? 4 * j + l : 8 * (j / 2) + 2 * l + j % 2;
            f.b[j][k] = b[column * row_step + k * k_step];
        }
    }
#endif
}

/* c -= a b^H, FRAGMENT_ROWS rows of c from the i-th so many on. */
template <class number, int rows, int columns>
TD_DEVICE void take_fragments(sums_of_warp<rows, columns> &c,
                              const fragments<number, rows, columns> &f, int i)
{
#if TD_HAS_CUDA_DEVICE && (!defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800)
    TD_UNROLL
    for (int j = 0; j < columns / 8; j++) td_multiply64(c[i][j], f.a[i], f.b[j]);
#else
    constexpr int parts = td_parts_of<number>();
    each_place<number, rows, columns>(c, [=](double *x, int row, int column) {
        const int j = parts == 2 ? column / 4 : column / 8 * 2 + column % 2;
        if (row / FRAGMENT_ROWS != i) return;
        number sum = number_at(x, number());
        for (int k = 0; k < FRAGMENT_TERMS / parts; k++)
            sum = td_minus(sum, f.a[row / 8][k], td_conjugate(f.b[j][k]));
        put_number(x, sum);
    });
#endif
}

/* c -= a b^H, by all warps of a block: so many stages of SHARES times FRAGMENT_TERMS real terms, of
 * which STAGES are in shared memory. Fragments are loaded, and copies are started, between products
 * that do not need them. All threads ask may_fetch(waits) for each stage in turn, which waits for
 * it or says whether it is there: if it is not, the stages that are there are multiplied first.
 * Then fetch(stage, i) starts part i of PARTS of its copies, and load(fragments, stage, share)
 * loads. Copies of an earlier pipeline are done, and all threads have read them. */
template <int STAGES, int SHARES, int PARTS, class number, int rows, int columns,
          class may_function, class fetch_function, class load_function>
TD_DEVICE void take_stages(sums_of_warp<rows, columns> &c, int count, may_function may_fetch,
                           fetch_function fetch, load_function load)
{
    enum { BLOCKS = rows / FRAGMENT_ROWS };
    static_assert((int)PARTS <= (SHARES - 1) * BLOCKS, "a part comes behind a block of products");
    fragments<number, rows, columns> of[2];
    TD_ROLLED
    while (count > 0) {
        int under_way = 0;    /* stages that are copied, or are there */
        bool is_last = false; /* the next stage is not fetched yet, or there is none */
        TD_UNROLL
        for (int s = 0; s < STAGES - 1; s++) {
            is_last = is_last || s == count || !may_fetch(s == 0);
            if (!is_last) {
                TD_UNROLL
                for (int i = 0; i < PARTS; i++) fetch(s, i);
                under_way++;
            }
            td_async_copy_commit();
        }
        td_async_copy_wait<STAGES - 2>();
        __syncthreads();
        load(of[0], 0, 0);
        int stage = 0, free = STAGES - 1;
        TD_ROLLED
        for (; under_way > 0; under_way--, count--) {
            const int next = stage + 1 == STAGES ? 0 : stage + 1;
            is_last = is_last || under_way == count || !may_fetch(false);
            TD_UNROLL
            for (int share = 0; share < SHARES; share++) {
                if (share + 1 < SHARES) {
                    load(of[(share + 1) % 2], stage, share + 1);
                } else {
                    td_async_copy_commit();
                    td_async_copy_wait<STAGES - 2>();
                    __syncthreads(); /* the next stage is there, and this one is read */
                    load(of[0], next, 0);
                }
                TD_UNROLL
                for (int block = 0; block < BLOCKS; block++) {
                    take_fragments<number, rows, columns>(c, of[share % 2], block);
                    const int part = share * BLOCKS + block;
                    if (part < PARTS && !is_last) fetch(free, part);
                }
            }
            under_way += !is_last;
            free = stage;
            stage = next;
        }
        __syncthreads();
    }
}

#endif
