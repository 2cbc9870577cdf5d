/* cublaslt_descriptors.c - descriptors of operations, matrices and preferences: made, and their
 * attributes set and read. An attribute that is not in a table here is refused with
 * CUBLAS_STATUS_INVALID_VALUE, as by a version that does not know it. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cublaslt_internal.h"

/* An attribute's number, and where a descriptor holds it. */
typedef struct {
    int number;
    size_t offset, bytes;
} attribute;

/* The attributes of one kind of descriptor. */
typedef struct {
    const attribute *rows;
    size_t count;
} attributes;

#define ROW(name, type, field)                                                                     \
    {                                                                                              \
        name, offsetof(type, field), sizeof((type){0}.field)                                       \
    }
#define ALL(rows)                                                                                  \
    {                                                                                              \
        rows, sizeof(rows) / sizeof(*(rows))                                                       \
    }

#define OPERATION(name, field) ROW(CUBLASLT_MATMUL_DESC_##name, lt_operation, field)
/* Of cuBLAS 13.10; older headers have no names for them. */
#define NEWER(number, field) ROW(number, lt_operation, field)
static const attribute operation_rows[] = {OPERATION(COMPUTE_TYPE, compute),
                                           OPERATION(SCALE_TYPE, scale),
                                           OPERATION(POINTER_MODE, pointer_mode),
                                           OPERATION(TRANSA, op_a),
                                           OPERATION(TRANSB, op_b),
                                           OPERATION(TRANSC, op_c),
                                           OPERATION(FILL_MODE, fill),
                                           OPERATION(EPILOGUE, epilogue),
                                           OPERATION(BIAS_POINTER, bias),
                                           OPERATION(A_SCALE_POINTER, a_scale),
                                           OPERATION(B_SCALE_POINTER, b_scale),
                                           OPERATION(C_SCALE_POINTER, c_scale),
                                           OPERATION(D_SCALE_POINTER, d_scale),
                                           OPERATION(AMAX_D_POINTER, amax_d),
                                           OPERATION(EMULATION_DESCRIPTOR, emulation),
                                           NEWER(39, scalar_stride[0]),
                                           NEWER(40, scalar_stride[1]),
                                           NEWER(41, invariance)};
static const attributes of_operations = ALL(operation_rows);

#define LAYOUT(name, field) ROW(CUBLASLT_MATRIX_LAYOUT_##name, lt_layout, field)
static const attribute layout_rows[] = {LAYOUT(TYPE, type),
                                        LAYOUT(ORDER, order),
                                        LAYOUT(ROWS, rows),
                                        LAYOUT(COLS, columns),
                                        LAYOUT(LD, ld),
                                        LAYOUT(BATCH_COUNT, batch),
                                        LAYOUT(STRIDED_BATCH_OFFSET, stride),
                                        LAYOUT(PLANE_OFFSET, plane_offset),
                                        LAYOUT(BATCH_MODE, batch_mode)};
static const attributes of_layouts = ALL(layout_rows);

#define PREFERENCE(name, field) ROW(CUBLASLT_MATMUL_PREF_##name, lt_preference, field)
static const attribute preference_rows[] = {PREFERENCE(SEARCH_MODE, search_mode),
                                            PREFERENCE(MAX_WORKSPACE_BYTES, workspace_bytes),
                                            PREFERENCE(REDUCTION_SCHEME_MASK, reductions),
                                            PREFERENCE(MIN_ALIGNMENT_A_BYTES, alignment_a),
                                            PREFERENCE(MIN_ALIGNMENT_B_BYTES, alignment_b),
                                            PREFERENCE(MIN_ALIGNMENT_C_BYTES, alignment_c),
                                            PREFERENCE(MIN_ALIGNMENT_D_BYTES, alignment_d)};
static const attributes of_preferences = ALL(preference_rows);

static const attribute *find(const attributes *all, int number)
{
    for (size_t i = 0; i < all->count; i++)
        if (all->rows[i].number == number) return &all->rows[i];
    return NULL;
}

static cublasStatus_t set(const attributes *all, void *descriptor, int number, const void *value,
                          size_t bytes)
{
    const attribute *row = find(all, number);

    if (!row || !descriptor || !value || bytes != row->bytes) return CUBLAS_STATUS_INVALID_VALUE;
    memcpy((char *)descriptor + row->offset, value, bytes);
    return CUBLAS_STATUS_SUCCESS;
}

/* bytes 0: only tells how many there are. */
static cublasStatus_t get(const attributes *all, const void *descriptor, int number, void *value,
                          size_t bytes, size_t *written)
{
    const attribute *row = find(all, number);

    if (!row || !descriptor || (bytes && (!value || bytes < row->bytes)))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (!bytes && !written) return CUBLAS_STATUS_INVALID_VALUE;
    if (written) *written = row->bytes;
    if (bytes) memcpy(value, (const char *)descriptor + row->offset, row->bytes);
    return CUBLAS_STATUS_SUCCESS;
}

/* What all kinds of descriptors have: their end, and their attributes. */
#define DEFINE_ACCESS(name, attribute_type, all)                                                   \
    cublasStatus_t name##Destroy(name##_t descriptor)                                              \
    {                                                                                              \
        free(descriptor);                                                                          \
        return CUBLAS_STATUS_SUCCESS;                                                              \
    }                                                                                              \
    cublasStatus_t name##SetAttribute(name##_t descriptor, attribute_type number,                  \
                                      const void *value, size_t bytes)                             \
    {                                                                                              \
        return set(&all, descriptor, (int)number, value, bytes);                                   \
    }                                                                                              \
    cublasStatus_t name##GetAttribute(name##_t descriptor, attribute_type number, void *value,     \
                                      size_t bytes, size_t *written)                               \
    {                                                                                              \
        return get(&all, descriptor, (int)number, value, bytes, written);                          \
    }

/* ---- operations ---- */

cublasStatus_t cublasLtMatmulDescInit_internal(cublasLtMatmulDesc_t descriptor, size_t size,
                                               cublasComputeType_t compute, cudaDataType_t scale)
{
    const lt_operation fresh = {.compute = (int32_t)compute,
                                .scale = (int32_t)scale,
                                .fill = CUBLAS_FILL_MODE_FULL,
                                .epilogue = CUBLASLT_EPILOGUE_DEFAULT,
                                .invariance = LT_INVARIANCE_UNSET};

    if (!descriptor || size < sizeof *descriptor) return CUBLAS_STATUS_INVALID_VALUE;
    memcpy(descriptor, &fresh, sizeof fresh);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *descriptor,
                                        cublasComputeType_t compute, cudaDataType_t scale)
{
    if (!descriptor) return CUBLAS_STATUS_INVALID_VALUE;
    *descriptor = calloc(1, sizeof **descriptor);
    if (!*descriptor) return CUBLAS_STATUS_ALLOC_FAILED;
    return cublasLtMatmulDescInit_internal(*descriptor, sizeof **descriptor, compute, scale);
}

DEFINE_ACCESS(cublasLtMatmulDesc, cublasLtMatmulDescAttributes_t, of_operations)

/* ---- matrices ---- */

cublasStatus_t cublasLtMatrixLayoutInit_internal(cublasLtMatrixLayout_t layout, size_t size,
                                                 cudaDataType type, uint64_t rows, uint64_t columns,
                                                 int64_t ld)
{
    const lt_layout fresh = {.type = (uint32_t)type,
                             .order = CUBLASLT_ORDER_COL,
                             .rows = rows,
                             .columns = columns,
                             .ld = ld,
                             .batch = 1};

    if (!layout || size < sizeof *layout) return CUBLAS_STATUS_INVALID_VALUE;
    memcpy(layout, &fresh, sizeof fresh);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *layout, cudaDataType type,
                                          uint64_t rows, uint64_t columns, int64_t ld)
{
    if (!layout) return CUBLAS_STATUS_INVALID_VALUE;
    *layout = calloc(1, sizeof **layout);
    if (!*layout) return CUBLAS_STATUS_ALLOC_FAILED;
    return cublasLtMatrixLayoutInit_internal(*layout, sizeof **layout, type, rows, columns, ld);
}

DEFINE_ACCESS(cublasLtMatrixLayout, cublasLtMatrixLayoutAttribute_t, of_layouts)

/* ---- preferences ---- */

cublasStatus_t cublasLtMatmulPreferenceInit_internal(cublasLtMatmulPreference_t preference,
                                                     size_t size)
{
    if (!preference || size < sizeof *preference) return CUBLAS_STATUS_INVALID_VALUE;
    memset(preference, 0, sizeof *preference);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *preference)
{
    if (!preference) return CUBLAS_STATUS_INVALID_VALUE;
    *preference = calloc(1, sizeof **preference);
    return *preference ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}

DEFINE_ACCESS(cublasLtMatmulPreference, cublasLtMatmulPreferenceAttributes_t, of_preferences)
