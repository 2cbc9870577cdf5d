/* matrix.h - a column-major matrix of 8-byte elements whose surroundings are guarded: everything
 * that is no element holds a NaN of its own, to be noticed when it is read as well as when it is
 * overwritten. */
#ifndef TEST_MATRIX_H
#define TEST_MATRIX_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    int64_t rows, cols, ld;
    /* elements before the first and after the last column; 0: storage ends at the last element,
     * for AddressSanitizer to see a step past it */
    int64_t guard;
    size_t count;    /* elements of storage */
    double *storage; /* binary64, or tandem_df behind a cast */
} test_matrix;

/* All elements are poison too. Ends the program if there is no memory. */
test_matrix matrix_make(int64_t rows, int64_t cols, int64_t ld, int64_t guard);
test_matrix matrix_copy(const test_matrix *m);

/* Frees each of some matrices: matrix_free(&a, &b). */
#define matrix_free(...)                                                                           \
    matrix_free_all((test_matrix *[]){__VA_ARGS__},                                                \
                    sizeof((test_matrix *[]){__VA_ARGS__}) / sizeof(test_matrix *))
void matrix_free_all(test_matrix *const *matrices, size_t count);

static inline double *matrix_data(const test_matrix *m) { return m->storage + m->guard; }

static inline double *matrix_at(const test_matrix *m, int64_t i, int64_t j)
{
    return matrix_data(m) + i + j * m->ld;
}

/* Index in storage of the first place outside the elements that does not hold its poison, or -1. */
int64_t matrix_damage(const test_matrix *m);

/* FNV-1a of the elements' bits, column after column. */
uint64_t matrix_hash(const test_matrix *m);

/* Column-major position of the first element whose bits differ (two NaN do not), or -1. Same rows
 * and columns. */
int64_t matrix_difference(const test_matrix *x, const test_matrix *y);

#endif
