/* by_handle.h - wrappers of the level 3 routines that have a handle, cuBLAS's and cublasXt's:
 * enumerations, whose values the library shares, and scalars by their addresses. The including file
 * defines before:
 *   HANDLE   the type of the handles
 *   WRAP     the rest of a wrapper, with the arguments of TD_WRAP (wrap.h) */
#ifndef TD_BY_HANDLE_H
#define TD_BY_HANDLE_H

#define SIDE               cublasSideMode_t
#define TRIANGLE           cublasFillMode_t
#define OPERATION          cublasOperation_t
#define DIAGONAL           cublasDiagType_t
#define SCALAR(type)       const type *
#define SIDE_OF(x)         ((td_side)(x))
#define TRIANGLE_OF(x)     ((td_triangle)(x))
#define OPERATION_OF(x)    ((td_op)(x))
#define DIAGONAL_OF(x)     ((td_diagonal)(x))
#define ADDRESS_OF(scalar) (scalar)
#include "shapes.h"

/* The wrapper of a function: its shape and kind of routine, and its types (REAL and so on). */
#define DEFINE(shape, kind, function, size, ...)                                                   \
    DEFINE_OF_TYPES(shape, kind, function, size, __VA_ARGS__)
#define DEFINE_OF_TYPES(shape, kind_, function, size, number, alpha_type, beta_type, type_,        \
                        hermitian)                                                                 \
    TD_EXPORT cublasStatus_t function(HANDLE handle,                                               \
                                      shape##_PARAMETERS(size, number, alpha_type, beta_type))     \
    {                                                                                              \
        td_problem p = {.kind = (kind_),                                                           \
                        .type = (type_),                                                           \
                        .is_hermitian = (hermitian),                                               \
                        .batch = 1,                                                                \
                        shape##_FIELDS};                                                           \
        WRAP(function, handle, alpha, shape##_BETA, p, shape##_ARGUMENTS);                         \
    }

/* The wrappers of a routine's forms that have a handle: with 32-bit and with 64-bit sizes. */
#define DEFINE_blas(shape, kind, function, ...)                                                    \
    DEFINE(shape, kind, function##_v2, int, __VA_ARGS__)                                           \
    DEFINE(shape, kind, function##_v2_64, int64_t, __VA_ARGS__)
#define DEFINE_sized(shape, kind, function, ...)                                                   \
    DEFINE(shape, kind, function, int, __VA_ARGS__)                                                \
    DEFINE(shape, kind, function##_64, int64_t, __VA_ARGS__)

#endif
