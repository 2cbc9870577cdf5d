/* typed.h - matrices of a multi-float type, and the public functions of every type behind one
 * signature. */
#ifndef SUPPORT_TYPED_H
#define SUPPORT_TYPED_H

#include <stdbool.h>

#include "tests/ref/ref.h"
#include "tests/support/matrix.h"

typedef struct {
    const ref_format *format;
    tandem_status (*gemm)(
        const ref_typed *p); /* matrices in device memory, scalars in the host's */
    tandem_status (*split)(int64_t rows, int64_t cols, const double *a, int64_t lda, void *s,
                           int64_t lds);
    tandem_status (*join)(int64_t rows, int64_t cols, const void *s, int64_t lds, double *a,
                          int64_t lda);
} typed_functions;

const typed_functions *typed_functions_of(const ref_format *format);

/* tandem_tsgemm_sliced. */
tandem_status typed_sliced(int slices, const ref_typed *p);

/* Column-major, behind `guard` elements. All bytes that are no element are poison, and elements
 * that were never set. */
typedef struct {
    const ref_format *format;
    int64_t rows, cols, ld, guard;
    test_matrix storage;
} typed_matrix;

typed_matrix typed_make(const ref_format *format, int64_t rows, int64_t cols, int64_t ld,
                        int64_t guard);
typed_matrix typed_copy(const typed_matrix *m);
void typed_free(typed_matrix *m);

void *typed_at(const typed_matrix *m, int64_t i, int64_t j);

/* Where matrix m begins in a copy of its storage. */
void *typed_data(const typed_matrix *m, double *storage);

/* Splits the elements of x. */
void typed_split(typed_matrix *m, const test_matrix *x);

/* The first byte outside the elements that is not what it was, or -1. */
int64_t typed_damage(const typed_matrix *now, const typed_matrix *before);

/* True of the same bits, or of two NaN, or of the same infinity. */
bool typed_same(const ref_format *format, const void *x, const void *y);

/* The parts of a number. The text lives until the second next call. */
const char *typed_text(const ref_format *format, const void *x);

#endif
