/* split.h - the residue scheme (Ozaki scheme II): operands into residues. For host C and
 * kernels. */
#ifndef TD_SPLIT_H
#define TD_SPLIT_H

#include <stdbool.h>

#include <cuda_runtime_api.h>

#include "../routes.h"
#include "../select/fixed.h"
#include "../view/planes.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Centred residues of both operands, [modulus][batch][place of line][k_padded]; lines and k padded
 * with zeros. op(A)'s are those of A' times the weights of the Chinese remainder theorem; its lines
 * stand as td_place_of_line says. As many moduli as the choice says. */
typedef struct {
    td_fixed fixed;
    int8_t *plane[2];
    int64_t plane_step[2]; /* from plane to plane, in elements */
    uint32_t *nonzero[2];  /* maps (../view/planes.h): zeros before; NULL: none */
    uint32_t *next_tile;   /* 0 before, and after: blocks that share out the work count; or NULL */
    /* one that serves on the current device; td_second_residues_run has one of its own */
    td_split_route route;
    td_round_route round;
} td_residues;
cudaError_t td_residues_run(const td_residues *residues, cudaStream_t stream);

/* Makes residues as td_residues_run does, for choices of TD_SECOND_MODULI moduli or of none. */
cudaError_t td_second_residues_run(const td_residues *residues, cudaStream_t stream);

/* Makes residues of complex products, whose choices are of TD_COMPLEX_MODULI. op(A)'s real lines 2i
 * and 2i + 1 are (re, -im) and (im, re) of its line i, op(B)'s lines are (re, im), all along k
 * (k_step 1); k_first and k_count are even. Of modulus t, planes 2t and 2t + 1 have z+ and z-
 * (tables_complex.h) of half as many elements of k, and of half as many lines of op(A). */
cudaError_t td_complex_residues_run(const td_residues *residues, cudaStream_t stream);

/* Loads these kernels on the current device: once, before the first launch. */
cudaError_t td_residues_prepare(void);
cudaError_t td_complex_residues_prepare(void);
cudaError_t td_second_residues_prepare(void);

#ifdef __cplusplus
}
#endif

#endif
