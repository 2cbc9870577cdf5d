/* matrix_market.h - reader of Matrix Market files. */
#ifndef EXAMPLES_MATRIX_MARKET_H
#define EXAMPLES_MATRIX_MARKET_H

#include <stdbool.h>

typedef struct {
    int rows, columns;
    /* rows x columns, column-major, leading dimension rows; to be freed with free() */
    double *entries;
} dense_matrix;

/* Reads a Matrix Market file as a dense matrix: coordinate or array, real or integer, general or
 * symmetric. Entries of a coordinate file that name the same place are added. On failure says what
 * is wrong, with file and line, and leaves *matrix alone. */
bool matrix_market_read(const char *path, dense_matrix *matrix);

/* Reads a file as matrix_market_read() does; a matrix that is not square, does not equal its
 * transpose, or has more than `most` rows is refused. */
bool matrix_market_read_symmetric(const char *path, int most, dense_matrix *matrix);

/* The file's name without its folders; `made` without a file. */
const char *matrix_name(const char *path, const char *made);

#endif
