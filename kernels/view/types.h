/* types.h - elements, scalars, and matrices as host C and kernels both know them. Needs no CUDA
 * header. */
#ifndef TD_TYPES_H
#define TD_TYPES_H

#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>

#include "../../include/tandem.h"

typedef tandem_stream td_stream;

/* What the elements of matrices are; lib/routine/problem.h has their names and sizes. */
typedef enum {
    TD_BINARY64,
    TD_DF,
    TD_TS,
    TD_DD,
    TD_DS,
    TD_BINARY32,
    TD_COMPLEX_BINARY32,
    TD_COMPLEX_BINARY64,
    TD_TYPE_COUNT
} td_type;

typedef struct {
    float re, im;
} td_complex_binary32;

typedef struct {
    double re, im;
} td_complex_binary64;

/* A number of any type: 16 bytes. */
typedef union {
    double binary64;
    tandem_df df;
    tandem_ts ts;
    tandem_dd dd;
    tandem_ds ds;
    float binary32;
    td_complex_binary32 complex_binary32;
    /* Where cuBLAS is given its address: it loads both parts by one instruction. */
    alignas(16) td_complex_binary64 complex_binary64;
} td_value;

/* The half of a square matrix that a routine reads or writes. */
typedef enum { TD_LOWER, TD_UPPER } td_triangle;

/* How a matrix is stored. Mirrored: in one triangle, the other is its transpose, or, if
 * is_hermitian, its conjugate transpose, and the diagonal is real. Triangular: the other triangle
 * is zeros, and the diagonal ones if is_unit; none of these is read. If is_conjugate, its elements
 * stand for their complex conjugates. */
typedef enum { TD_STORED_FULL, TD_STORED_MIRRORED, TD_STORED_TRIANGULAR } td_storage;
typedef struct {
    td_storage storage;
    td_triangle triangle;
    bool is_unit, is_hermitian, is_conjugate;
} td_form;

/* alpha or beta: a number on the host, or a number in device memory that only kernels may read. */
typedef struct {
    td_value value;     /* when device is NULL */
    const void *device; /* device pointer mode; NULL otherwise */
} td_scalar;

/* A batch of column-major matrices in device memory. Matrix i starts at array[i] (array itself in
 * device memory) if array is not NULL, else at element i * stride of data. */
typedef struct {
    void *data;
    void *const *array;
    int64_t ld;     /* leading dimension, in elements */
    int64_t stride; /* distance between matrices of a batch, in elements; 0 shares one matrix */
} td_matrix;

#endif
