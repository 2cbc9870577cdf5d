/* crt.h - from residues of the products to X by the Chinese remainder theorem, and to C. For host C
 * and for kernels. */
#ifndef TD_CRT_H
#define TD_CRT_H

#include <stdbool.h>

#include <cuda_runtime_api.h>

#include "../routes.h"
#include "finish_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What of C a kernel has deferred of members that td_is_fused says are its own (deferred.h);
 * `word` is NULL if there is none. */
typedef struct {
    uint32_t *word;
    uint8_t *tile;
} td_deferred;

/* Residues of the products, [slice of k][plane][batch][n][ld], in bytes with a sign, within 5 p / 8
 * of 0. A modulus has one plane; of complex products, which are in one slice, two: of Z+ and of Z-
 * (../residue/tables_complex.h), of half as many rows as C has. */
typedef struct {
    int8_t *residue;
    int64_t plane_step, batch_step,
        slice_step; /* from plane to plane, member to member, slice to slice */
    int64_t ld;     /* a multiple of TD_LINE_GROUP */
    int slices;
    bool is_complex;
    td_crt_route crt;
    td_deferred deferred;
} td_residue_product;

/* X by the Chinese remainder theorem, and C; choices are of least .. most moduli. Pieces are added
 * to the first one. */
cudaError_t td_residues_finish(const td_residue_product *product, int least, int most,
                               const td_finish *finish, int batch, cudaStream_t stream);

/* Loads these kernels on the current device: once, before the first launch. */
cudaError_t td_crt_prepare(void);

#ifdef __cplusplus
}
#endif

#endif
