#include "tests/support/test.h"

#include "lu_batch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/complex_of.h"
#include "tests/kernels/support/device.h"

const char *const lu_kind_names[LU_KINDS] = {"random",  "graded", "singular", "permuted triangle",
                                             "Hilbert", "Kahan",  "ties",     "extreme",
                                             "special", "tiny"};

static bool is_complex(td_lu_type type) { return type == TD_LU_C || type == TD_LU_Z; }
static bool is_double(td_lu_type type) { return type == TD_LU_D || type == TD_LU_Z; }

lu_batch lu_batch_make(td_lu_type type, int rows, int cols, int pad, int count)
{
    lu_batch s = {.type = type, .rows = rows, .cols = cols, .ld = rows + pad, .count = count};
    s.number_bytes = (is_double(type) ? 8u : 4u) * (is_complex(type) ? 2u : 1u);
    s.matrix_bytes = ((size_t)s.ld * (size_t)cols + 1) * s.number_bytes;
    s.bytes = s.matrix_bytes * (size_t)count;
    s.host = malloc(s.bytes);
    void **pointers = malloc((size_t)count * sizeof *pointers);
    CHECK(s.host && pointers, "no memory for %zu bytes", s.bytes);
    memset(s.host, 0xff, s.bytes);
    CHECK_CUDA(cudaMalloc((void **)&s.device, s.bytes));
    CHECK_CUDA(cudaMalloc((void **)&s.pointers, (size_t)count * sizeof *pointers));
    for (int i = 0; i < count; i++) pointers[i] = s.device + (size_t)i * s.matrix_bytes;
    CHECK_CUDA(
        cudaMemcpy(s.pointers, pointers, (size_t)count * sizeof *pointers, cudaMemcpyHostToDevice));
    free(pointers);
    lu_batch_upload(&s);
    return s;
}

lu_batch lu_batch_copy(const lu_batch *s)
{
    lu_batch copy = lu_batch_make(s->type, s->rows, s->cols, s->ld - s->rows, s->count);
    memcpy(copy.host, s->host, s->bytes);
    lu_batch_upload(&copy);
    return copy;
}

void lu_batch_free(lu_batch *s)
{
    free(s->host);
    device_free(s->device, s->pointers);
}

void lu_batch_upload(const lu_batch *s)
{
    CHECK_CUDA(cudaMemcpy(s->device, s->host, s->bytes, cudaMemcpyHostToDevice));
}

void lu_batch_download(lu_batch *s)
{
    CHECK_CUDA(cudaDeviceSynchronize());
    CHECK_CUDA(cudaMemcpy(s->host, s->device, s->bytes, cudaMemcpyDeviceToHost));
}

static double read_real(td_lu_type type, const char *at, int part)
{
    float narrow;
    double wide;
    memcpy(&narrow, at + (size_t)part * 4, sizeof narrow);
    if (!is_double(type)) return (double)narrow;
    memcpy(&wide, at + (size_t)part * 8, sizeof wide);
    return wide;
}

static void write_real(td_lu_type type, char *at, int part, double x)
{
    const float narrow = (float)x;
    if (is_double(type))
        memcpy(at + (size_t)part * 8, &x, sizeof x);
    else
        memcpy(at + (size_t)part * 4, &narrow, sizeof narrow);
}

static char *number_at(const lu_batch *s, int index, int i, int j)
{
    return (char *)lu_batch_at(s, index) +
           ((size_t)i + (size_t)j * (size_t)s->ld) * s->number_bytes;
}

double complex lu_get(const lu_batch *s, int index, int i, int j)
{
    const char *at = number_at(s, index, i, j);
    const double re = read_real(s->type, at, 0);
    return is_complex(s->type) ? complex_of(re, read_real(s->type, at, 1)) : re;
}

void lu_put(const lu_batch *s, int index, int i, int j, double complex x)
{
    char *at = number_at(s, index, i, j);
    write_real(s->type, at, 0, creal(x));
    if (is_complex(s->type)) write_real(s->type, at, 1, cimag(x));
}

void lu_batch_compare(const lu_batch *given, const lu_batch *wanted, const char *what)
{
    const size_t width = is_double(given->type) ? 8 : 4;
    for (size_t at = 0; at < given->bytes; at += width) {
        if (memcmp(given->host + at, wanted->host + at, width) == 0) continue;
        const double x = read_real(given->type, given->host + at, 0),
                     y = read_real(given->type, wanted->host + at, 0);
        const size_t in_matrix = at % given->matrix_bytes / given->number_bytes;
        CHECK(x != x && y != y,
              "%s, type %c, %d x %d, matrix %zu, row %zu, column %zu: %a instead of %a", what,
              "SDCZ"[given->type], given -> rows, given -> cols, at / given -> matrix_bytes,
              in_matrix % (size_t)given -> ld, in_matrix / (size_t)given -> ld, x, y);
    }
}

/* ---- kinds ---- */

static double complex random_number(const lu_batch *s, test_random *r)
{
    const double re = 2.0 * random_uniform(r) - 1.0;
    return is_complex(s->type) ? complex_of(re, 2.0 * random_uniform(r) - 1.0) : re;
}

/* 2^-range .. 2^range, by the number of a row or column. */
static double grade(int i, int seed, int range)
{
    return ldexp(1.0, (i * 37 + seed) % (2 * range + 1) - range);
}

static double complex integer(const lu_batch *s, test_random *r)
{
    const double re = random_int(r, -2, 2);
    return is_complex(s->type) ? complex_of(re, random_int(r, -1, 1)) : re;
}

static double extreme_size(const lu_batch *s, test_random *r)
{
    const int top = is_double(s->type) ? 1020 : 124, bottom = is_double(s->type) ? -1070 : -145;
    return ldexp(1.0,
                 random_int(r, 0, 2) ? bottom + random_int(r, 0, 40) : top - random_int(r, 0, 10));
}

static double complex kahan(int i, int j)
{
    const double c = 0.28, s = sqrt(1.0 - c * c);
    return i > j ? 0.0 : pow(s, i) * (i == j ? 1.0 : -c);
}

static double complex element(const lu_batch *s, int i, int j, lu_kind kind, test_random *r)
{
    switch (kind) {
    case LU_GRADED:
        return random_number(s, r) * grade(i, 3, 20) * grade(j, 11, 20);
    case LU_HILBERT:
        return 1.0 / (i + j + 1);
    case LU_KAHAN:
        return kahan(i, j);
    case LU_TIES:
        return integer(s, r);
    case LU_EXTREME:
        return random_number(s, r) * extreme_size(s, r);
    case LU_TINY:
        return random_number(s, r) * (is_double(s->type) ? 0x1p-1060 : 0x1p-135);
    default:
        return random_number(s, r);
    }
}

static void make_singular(const lu_batch *s, int index, test_random *r)
{
    const int n = s->rows, j = random_int(r, 0, n - 1), i = random_int(r, 0, n - 1);
    if (random_int(r, 0, 1))
        for (int k = 0; k < n; k++) lu_put(s, index, k, j, 0.0);
    else
        for (int k = 0; k < n; k++) lu_put(s, index, i, k, lu_get(s, index, j, k));
}

static void shuffle_rows(const lu_batch *s, int index, test_random *r)
{
    for (int i = s->rows - 1; i > 0; i--) {
        const int k = random_int(r, 0, i);
        for (int j = 0; j < s->cols; j++) {
            const double complex x = lu_get(s, index, i, j);
            lu_put(s, index, i, j, lu_get(s, index, k, j));
            lu_put(s, index, k, j, x);
        }
    }
}

static void permute_triangle(const lu_batch *s, int index, test_random *r)
{
    const int n = s->rows;
    for (int j = 0; j < n; j++) {
        for (int i = j + 1; i < n; i++) lu_put(s, index, i, j, 0.0);
        lu_put(s, index, j, j, 2.0 + lu_get(s, index, j, j));
    }
    shuffle_rows(s, index, r);
}

void lu_fill(const lu_batch *s, int index, lu_kind kind, test_random *r)
{
    for (int j = 0; j < s->cols; j++)
        for (int i = 0; i < s->rows; i++) lu_put(s, index, i, j, element(s, i, j, kind, r));
    if (kind == LU_SINGULAR && s->rows == s->cols) make_singular(s, index, r);
    if (kind == LU_PERMUTED && s->rows == s->cols) permute_triangle(s, index, r);
    if (kind == LU_SPECIAL) {
        const int i = random_int(r, 0, s->rows - 1), j = random_int(r, 0, s->cols - 1);
        lu_put(s, index, i, j, random_int(r, 0, 1) ? NAN : INFINITY);
    }
}

void lu_fill_late(const lu_batch *s, int index, lu_kind kind, int from, test_random *r)
{
    const int n = s->rows, column = random_int(r, from, n - 1);
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++) {
            const bool is_late = i >= from && j >= from;
            const double complex x = element(s, i, j, is_late ? kind : LU_RANDOM, r);
            const bool is_zero = i >= from && (j < from || (kind == LU_SINGULAR && j == column));
            lu_put(s, index, i, j, is_zero ? 0.0 : x);
        }
    if (kind == LU_SPECIAL)
        lu_put(s, index, random_int(r, from, n - 1), column, random_int(r, 0, 1) ? NAN : INFINITY);
    shuffle_rows(s, index, r);
}
