#include "matrix.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bits.h"
#include "hash.h"

/* A quiet NaN that knows its place. */
static uint64_t poison(size_t index) { return UINT64_C(0x7ffc0badf00d0000) ^ (uint64_t)index; }

static double *allocate(size_t count)
{
    double *storage = malloc((count ? count : 1) * sizeof *storage);
    if (!storage) {
        fprintf(stderr, "no memory for a test matrix of %zu elements\n", count);
        exit(1);
    }
    return storage;
}

test_matrix matrix_make(int64_t rows, int64_t cols, int64_t ld, int64_t guard)
{
    test_matrix m = {.rows = rows, .cols = cols, .ld = ld, .guard = guard};
    m.count = (size_t)(guard > 0              ? 2 * guard + ld * cols
                       : rows > 0 && cols > 0 ? ld * (cols - 1) + rows
                                              : 0);
    m.storage = allocate(m.count);
    for (size_t i = 0; i < m.count; i++) {
        const uint64_t bits = poison(i);
        memcpy(m.storage + i, &bits, sizeof bits);
    }
    return m;
}

test_matrix matrix_copy(const test_matrix *m)
{
    test_matrix copy = *m;
    copy.storage = allocate(m->count);
    memcpy(copy.storage, m->storage, m->count * sizeof *m->storage);
    return copy;
}

void matrix_free_all(test_matrix *const *matrices, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(matrices[i]->storage);
        matrices[i]->storage = NULL;
    }
}

static int is_element(const test_matrix *m, int64_t index)
{
    const int64_t at = index - m->guard;
    return at >= 0 && at < m->ld * m->cols && at % m->ld < m->rows;
}

int64_t matrix_damage(const test_matrix *m)
{
    for (size_t i = 0; i < m->count; i++)
        if (!is_element(m, (int64_t)i) && bits_of(m->storage[i]) != poison(i)) return (int64_t)i;
    return -1;
}

uint64_t matrix_hash(const test_matrix *m)
{
    uint64_t hash = HASH_START;
    for (int64_t j = 0; j < m->cols; j++)
        hash = hash_bytes(hash, matrix_at(m, 0, j), (size_t)m->rows * sizeof(double));
    return hash;
}

int64_t matrix_difference(const test_matrix *x, const test_matrix *y)
{
    for (int64_t j = 0; j < x->cols; j++)
        for (int64_t i = 0; i < x->rows; i++)
            if (!same_bits(*matrix_at(x, i, j), *matrix_at(y, i, j))) return i + j * x->rows;
    return -1;
}
