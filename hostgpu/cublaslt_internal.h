/* cublaslt_internal.h - shared by the files of the stand-in for cublasLt: what its descriptors
 * hold. */
#ifndef HOSTGPU_CUBLASLT_INTERNAL_H
#define HOSTGPU_CUBLASLT_INTERNAL_H

#include <stdint.h>

#include <cuda_runtime_api.h>

#include <cublasLt.h>

/* As CUBLASLT_MATMUL_DESC_... name them; scalar_stride: of alpha and beta. */
typedef struct {
    int32_t compute, scale, pointer_mode, op_a, op_b, op_c, fill;
    uint32_t epilogue, invariance;
    const void *bias, *a_scale, *b_scale, *c_scale, *d_scale, *amax_d, *emulation;
    int64_t scalar_stride[2];
} lt_operation;

/* Of batch invariance: nothing is asked for. */
enum { LT_INVARIANCE_UNSET = 0x8000 };

/* As CUBLASLT_MATRIX_LAYOUT_... name them. */
typedef struct {
    uint32_t type;
    int32_t order;
    uint64_t rows, columns;
    int64_t ld, stride, plane_offset;
    int32_t batch;
    uint32_t batch_mode;
} lt_layout;

/* As CUBLASLT_MATMUL_PREF_... name them. */
typedef struct {
    uint32_t search_mode, reductions, alignment_a, alignment_b, alignment_c, alignment_d;
    uint64_t workspace_bytes;
} lt_preference;

_Static_assert(sizeof(lt_operation) <= sizeof(cublasLtMatmulDescOpaque_t), "too large");
_Static_assert(sizeof(lt_layout) <= sizeof(cublasLtMatrixLayoutOpaque_t), "too large");
_Static_assert(sizeof(lt_preference) <= sizeof(cublasLtMatmulPreferenceOpaque_t), "too large");

#endif
