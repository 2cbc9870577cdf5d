/* bound.h - what a library that is bound to one of several cuBLAS does for its callers. */
#ifndef BOUND_H
#define BOUND_H

#include <cublas_api.h>

typedef struct {
    cublasHandle_t (*make)(void);
    int (*multiply)(cublasHandle_t handle); /* the version of the cuBLAS that ran the product */
    __typeof__(&cublasDgemm_v2)
        forward; /* cublasDgemm_v2, by a jump that leaves no return address behind */
    int (*end)(cublasHandle_t handle); /* 0 for success */
} bound;

#define BOUND_TABLE(major)      BOUND_TABLE_NAME(major)
#define BOUND_TABLE_NAME(major) bound_##major

extern const bound bound_12, bound_13;

#endif
