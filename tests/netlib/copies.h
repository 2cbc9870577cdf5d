/* copies.h - matrices of a Fortran program on the device: what adapters of netlib's test programs
 * share. */
#ifndef TESTS_NETLIB_COPIES_H
#define TESTS_NETLIB_COPIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cublas_v2.h>
#include <cuda_runtime.h>

static inline void fail(const char *what, int status)
{
    fprintf(stderr, "netlib: %s failed with status %d\n", what, status);
    exit(EXIT_FAILURE);
}

/* A matrix of the program, with the padding between its columns, and its copy on the device. */
typedef struct {
    void *host, *device;
    size_t bytes;
    int ld;
} matrix;

static inline matrix put(const void *host, int rows, int columns, int ld, size_t element)
{
    const bool is_empty = rows <= 0 || columns <= 0;
    const size_t count = is_empty ? 1 : (size_t)ld * (size_t)(columns - 1) + (size_t)rows;
    matrix x = {(void *)(uintptr_t)host, NULL, count * element, ld};
    int status = cudaMalloc(&x.device, x.bytes);
    if (is_empty) x.bytes = 0;
    if (!status) status = cudaMemcpy(x.device, host, x.bytes, cudaMemcpyHostToDevice);
    if (status) fail("a copy to the device", status);
    return x;
}

static inline void drop(matrix x)
{
    const int status = cudaFree(x.device);
    if (status) fail("cudaFree", status);
}

/* Copies the result of a function back. */
static inline void get(matrix x, const char *function, int status)
{
    if (status) fail(function, status);
    const int error = cudaMemcpy(x.host, x.device, x.bytes, cudaMemcpyDeviceToHost);
    if (error) fail("a copy from the device", error);
    drop(x);
}

/* Options are letters of either case. */
static inline bool is(const char *letter, char upper) { return (*letter & ~0x20) == upper; }

static inline cublasOperation_t operation_of(const char *letter)
{
    return is(letter, 'N') ? CUBLAS_OP_N : is(letter, 'T') ? CUBLAS_OP_T : CUBLAS_OP_C;
}

static inline cublasFillMode_t fill_of(const char *letter)
{
    return is(letter, 'L') ? CUBLAS_FILL_MODE_LOWER : CUBLAS_FILL_MODE_UPPER;
}

#endif
