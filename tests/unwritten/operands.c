#include "operands.h"

#include <cuda_runtime_api.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../preload/require.h"

enum { MOST_MATRICES = 12, MOST_WORKS = 24 };

static matrix matrices[MOST_MATRICES];
static void *works[MOST_WORKS];
static int matrix_count, work_count;

size_t type_bytes(element_type type)
{
    static const size_t bytes[] = {
        [SINGLE] = 4, [REAL] = 8, [SINGLE_COMPLEX] = 8, [COMPLEX] = 16, [INTEGER] = 4};
    return bytes[type];
}

part triangle_of(cublasFillMode_t fill) { return fill == CUBLAS_FILL_MODE_LOWER ? LOWER : UPPER; }

/* ---- numbers ---- */

enum { DENSE, SPARSE, BANDED, BLOCKS, SPREAD, GRADED, INTEGERS, SPECIAL_LINE, SPECIAL, KINDS };

numbers any_numbers(test_random *r)
{
    const numbers n = {.kind = random_int(r, 0, KINDS - 1)};
    return n;
}

/* Element (i, j) without what makes a matrix dominant. */
static double plain(test_random *r, int kind, int i, int j, int special)
{
    const double x = 2.0 * random_uniform(r) - 1.0;
    switch (kind) {
    case SPARSE:
        return random_int(r, 0, 9) ? 0.0 : x;
    case BANDED:
        return abs(i - j) > 4 + special % 16 ? 0.0 : x;
    case BLOCKS:
        return (i / 64 + j / 64 + special) % 2 ? 0.0 : x;
    case SPREAD:
        return ldexp(x, random_int(r, -30, 30));
    case GRADED:
        return ldexp(x, (i - j) % 60);
    case INTEGERS:
        return random_int(r, -9, 9);
    case SPECIAL_LINE:
        return i == special ? NAN : x;
    case SPECIAL:
        return i == special && j == special / 2 ? INFINITY : x;
    default:
        return x;
    }
}

static double element(test_random *r, numbers of, const matrix *x, int i, int j, int special)
{
    const double e = plain(r, of.kind, i, j, special);
    if (!of.is_small) return e;
    return e / (4.0 * x->rows) + (i == j ? 1.0 : 0.0);
}

static void put(char *to, element_type type, double re, double im)
{
    const float single[2] = {(float)re, (float)im};
    const double both[2] = {re, im};
    const bool is_single = type == SINGLE || type == SINGLE_COMPLEX;
    memcpy(to, is_single ? (const void *)single : both, type_bytes(type));
}

/* ---- matrices ---- */

static void *allocate(size_t bytes)
{
    void *memory = NULL;
    REQUIRE(cudaMalloc(&memory, bytes ? bytes : 1));
    return memory;
}

/* The rows of column j that are of the part: from *first, so many. */
static int rows_of(const matrix *x, part of, int j, int *first)
{
    *first = of == LOWER ? j : 0;
    const int end = of == NOTHING ? 0 : of == UPPER && j + 1 < x->rows ? j + 1 : x->rows;
    return end > *first ? end - *first : 0;
}

static size_t offset_of(const matrix *x, int member, int i, int j)
{
    return (size_t)(member * x->stride + i + (int64_t)j * x->ld) * type_bytes(x->type);
}

static void write_member(test_random *r, const matrix *x, numbers of, int member)
{
    char *column = malloc((size_t)(x->rows + 1) * type_bytes(x->type));
    const int special = random_int(r, 0, x->rows);
    for (int j = 0; j < x->columns; j++) {
        int first;
        const int count = rows_of(x, x->in, j, &first);
        for (int i = 0; i < count; i++) {
            const double re = element(r, of, x, first + i, j, special);
            const double im = first + i == j ? 0.0 : element(r, of, x, first + i, j, special);
            put(column + (size_t)i * type_bytes(x->type), x->type, re, im);
        }
        REQUIRE(cudaMemcpy(x->at + offset_of(x, member, first, j), column,
                           (size_t)count * type_bytes(x->type), cudaMemcpyHostToDevice));
    }
    free(column);
}

static void make_array(matrix *x)
{
    void **members = malloc((size_t)x->members * sizeof *members);
    for (int i = 0; i < x->members; i++) members[i] = x->at + offset_of(x, i, 0, 0);
    x->array = add_work((size_t)x->members * sizeof *members);
    REQUIRE(cudaMemcpy(x->array, members, (size_t)x->members * sizeof *members,
                       cudaMemcpyHostToDevice));
    free(members);
}

matrix *add_matrix(test_random *r, element_type type, int rows, int columns, int ld, int members,
                   int64_t stride, part in, part out, numbers of)
{
    REQUIRE(matrix_count == MOST_MATRICES);
    matrix *const x = &matrices[matrix_count++];
    const int offset = random_int(r, 0, 3) ? 0 : random_int(r, 1, 3);
    *x = (matrix){.type = type,
                  .rows = rows,
                  .columns = columns,
                  .ld = ld,
                  .members = members,
                  .stride = stride,
                  .in = in,
                  .out = out};
    x->bytes = (size_t)(offset + stride * (members - 1) + (int64_t)ld * columns) * type_bytes(type);
    x->memory = allocate(x->bytes);
    x->at = x->memory + (size_t)offset * type_bytes(type);
    for (int i = 0; i < members; i++) write_member(r, x, of, i);
    make_array(x);
    x->before = malloc(x->bytes + 1);
    REQUIRE(cudaMemcpy(x->before, x->memory, x->bytes, cudaMemcpyDeviceToHost));
    return x;
}

matrix *add_any(test_random *r, element_type type, int rows, int columns, part in, part out,
                numbers of)
{
    return add_matrix(r, type, rows, columns, rows + random_int(r, 0, 5), 1, 0, in, out, of);
}

matrix *add_result(test_random *r, element_type type, int count)
{
    return add_matrix(r, type, count, 1, count, 1, 0, NOTHING, ALL, (numbers){0});
}

void *add_work(size_t bytes)
{
    REQUIRE(work_count == MOST_WORKS);
    return works[work_count++] = allocate(bytes);
}

void restore_all(void)
{
    for (int i = 0; i < matrix_count; i++)
        REQUIRE(cudaMemcpy(matrices[i].memory, matrices[i].before, matrices[i].bytes,
                           cudaMemcpyHostToDevice));
    REQUIRE(cudaDeviceSynchronize());
}

/* ---- what is left ---- */

static void add_bytes(uint64_t *hash, const char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        *hash = (*hash ^ (unsigned char)bytes[i]) * UINT64_C(1099511628211);
}

/* Hashes what had to be written, and makes it what it was before, as all else has to be. */
static void take_out(const matrix *x, char *now, uint64_t *hash)
{
    char *const from = now + (x->at - x->memory), *const old = x->before + (x->at - x->memory);
    for (int member = 0; member < x->members; member++)
        for (int j = 0; j < x->columns; j++) {
            int first;
            const size_t count = (size_t)rows_of(x, x->out, j, &first) * type_bytes(x->type),
                         at = offset_of(x, member, first, j);
            if (!x->is_spoilt) add_bytes(hash, from + at, count);
            memcpy(from + at, old + at, count);
        }
}

outcome outcome_of_all(bool has_failed)
{
    outcome o = {.hash = UINT64_C(14695981039346656037)};
    for (int i = 0; i < matrix_count; i++) {
        const matrix *const x = &matrices[i];
        char *now = malloc(x->bytes + 1);
        REQUIRE(cudaMemcpy(now, x->memory, x->bytes, cudaMemcpyDeviceToHost));
        if (!has_failed) take_out(x, now, &o.hash);
        for (size_t b = 0; b < x->bytes; b++) o.touched += now[b] != x->before[b];
        free(now);
    }
    return o;
}

void free_all(void)
{
    for (int i = 0; i < matrix_count; i++) {
        REQUIRE(cudaFree(matrices[i].memory));
        free(matrices[i].before);
    }
    for (int i = 0; i < work_count; i++) REQUIRE(cudaFree(works[i]));
    matrix_count = work_count = 0;
}
