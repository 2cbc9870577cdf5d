/* fuzz_matrix_market.c - the reader of matrices; there is no memory for large ones. */
#include <stdio.h>
#include <stdlib.h>

#include "examples/common.h"
#include "examples/matrix_market.h"
#include "fuzz.h"

/* What the reader needs of the examples, without their CUDA. */
void complain(const char *format, ...) { (void)format; }

double *host_matrix(int rows, int columns)
{
    enum { MOST = 1 << 20 };
    const size_t elements = (size_t)rows * (size_t)columns;
    return elements > MOST ? NULL : calloc(elements, sizeof(double));
}

void fuzz_one(const uint8_t *data, size_t bytes)
{
    dense_matrix matrix = {0};
    const char *path = fuzz_file(data, bytes);
    if (matrix_market_read(path, &matrix)) {
        double sum = 0;
        for (long i = 0; i < (long)matrix.rows * matrix.columns; i++) sum += matrix.entries[i];
        free(matrix.entries);
        if (sum == 1e300) puts("");
    }
    dense_matrix square = {0};
    if (!matrix_market_read_symmetric(path, 100, &square)) return;
    if (square.rows != square.columns || square.rows > 100) abort();
    free(square.entries);
}
