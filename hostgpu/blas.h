/* blas.h - shared by the stand-ins that compute through OpenBLAS (libcublas, libcusolver): checks
 * of sizes and operands, and what surrounds every call of OpenBLAS. */
#ifndef HOSTGPU_BLAS_H
#define HOSTGPU_BLAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cublas_api.h>

/* Leaves the function where a check fails. */
#define REQUIRE(condition, status)                                                                 \
    do {                                                                                           \
        if (!(condition)) return status;                                                           \
    } while (0)

/* The functions that give and set a handle's property, as cublasGetMathMode and cublasSetMathMode.
 * is_taken says of a `value` whether it can be set. */
#define HOSTGPU_DEFINE_PROPERTY(LIBRARY, status_type, prefix, handle_type, is_handle, name, type,  \
                                field, is_taken)                                                   \
    status_type prefix##Get##name(handle_type handle, type *value)                                 \
    {                                                                                              \
        REQUIRE(is_handle(handle), LIBRARY##_STATUS_NOT_INITIALIZED);                              \
        REQUIRE(value, LIBRARY##_STATUS_INVALID_VALUE);                                            \
        *value = handle->field;                                                                    \
        return LIBRARY##_STATUS_SUCCESS;                                                           \
    }                                                                                              \
    status_type prefix##Set##name(handle_type handle, type value)                                  \
    {                                                                                              \
        REQUIRE(is_handle(handle), LIBRARY##_STATUS_NOT_INITIALIZED);                              \
        REQUIRE(is_taken, LIBRARY##_STATUS_INVALID_VALUE);                                         \
        handle->field = value;                                                                     \
        return LIBRARY##_STATUS_SUCCESS;                                                           \
    }

/* The function that gives a part of a library's version. */
#define HOSTGPU_DEFINE_VERSION_PARTS(LIBRARY, status_type, function)                               \
    status_type function(libraryPropertyType type, int *value)                                     \
    {                                                                                              \
        static const int numbers[] = {                                                             \
            [MAJOR_VERSION] = LIBRARY##_VER_MAJOR,                                                 \
            [MINOR_VERSION] = LIBRARY##_VER_MINOR,                                                 \
            [PATCH_LEVEL] = LIBRARY##_VER_PATCH,                                                   \
        };                                                                                         \
        REQUIRE(value && (unsigned)type <= PATCH_LEVEL, LIBRARY##_STATUS_INVALID_VALUE);           \
        *value = numbers[type];                                                                    \
        return LIBRARY##_STATUS_SUCCESS;                                                           \
    }

/* Names of functions of one type, for templates. */
#define JOIN_(a, b, c) a##b##c
#define JOIN(a, b, c)  JOIN_(a, b, c)

/* Of four parts at once: cublas_v2.h gives names without _v2 another meaning. */
#define JOIN_FOUR_(a, b, c, d) a##b##c##d
#define JOIN_FOUR(a, b, c, d)  JOIN_FOUR_(a, b, c, d)

static inline bool is_op(cublasOperation_t op)
{
    return op == CUBLAS_OP_N || op == CUBLAS_OP_T || op == CUBLAS_OP_C;
}

static inline bool is_ld(int64_t ld, int64_t rows) { return ld >= (rows > 1 ? rows : 1); }

/* True if the size fits the BLAS below, which counts in int. */
static inline bool is_small(int64_t size) { return size <= INT32_MAX; }

/* More than any memory holds, and few enough that their bytes can be counted. */
#define HOSTGPU_MOST_ELEMENTS (INT64_MAX / 64)

/* Elements from the first to behind the last of a rows x columns matrix, and of a vector. */
static inline size_t matrix_extent(int64_t rows, int64_t columns, int64_t ld)
{
    int64_t extent;

    if (!rows || !columns) return 0;
    if (__builtin_mul_overflow(columns - 1, ld, &extent) ||
        __builtin_add_overflow(extent, rows, &extent) || extent > HOSTGPU_MOST_ELEMENTS)
        return HOSTGPU_MOST_ELEMENTS;
    return (size_t)extent;
}

static inline size_t vector_extent(int64_t n, int64_t step)
{
    return n > 0 ? (size_t)((n - 1) * (step < 0 ? -step : step) + 1) : 0;
}

/* operand.c: true if a device could use `bytes` bytes from pointer; else says on stderr which
 * operand of which function it is. No bytes: always true. */
bool hostgpu_check_operand(const char *function, const char *operand, const void *pointer,
                           size_t bytes);

/* operand.c: true if the context of a handle, by its life's number, is the current one; else says
 * on stderr of which function it is not. */
bool hostgpu_check_context(unsigned long long context, const char *function);

/* blas_end.c: around all that OpenBLAS computes. */
void hostgpu_begin_blas(void);
void hostgpu_end_blas(void);

#endif
