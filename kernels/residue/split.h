/* split.h - the residue scheme (Ozaki scheme II): operands into residues, and products modulo p into C. For host C and kernels. */
#ifndef TD_SPLIT_H
#define TD_SPLIT_H

#include "../routes.h"
#include "../select/ozaki.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Centred residues of both operands, [modulus][batch][place of line][k_padded]; lines and k padded with zeros. op(A)'s are those
 * of A' times the weights of the Chinese remainder theorem; its lines stand as td_place_of_line says. As many moduli as the
 * choice says. */
typedef struct {
    td_fixed fixed;
    int8_t *plane[2];
    int64_t plane_step[2]; /* from modulus to modulus, in elements */
    uint32_t *nonzero[2];  /* td_panels.nonzero (../igemm/plane_gemm.h): zeros before; NULL: none */
    uint32_t *next_tile;   /* 0 before, and after: blocks that share out the work count; or NULL */
    td_split_route
        route; /* one that serves on the current device; td_dense_residues_run has one of its own */
    td_round_route round;
} td_residues;
cudaError_t td_residues_run(const td_residues *residues, cudaStream_t stream);

/* What of C a kernel has left of members that td_is_resident says are its own (../crt/deferred.h); `word` is NULL if there is none. */
typedef struct {
    uint32_t *word;
    uint8_t *tile;
} td_left;

/* Residues of the products, [piece of k][modulus][batch][n][ld], in bytes with a sign, within 5 p / 8 of 0. */
typedef struct {
    int8_t *residue;
    int64_t plane_step, batch_step,
        piece_step; /* from modulus to modulus, member to member, piece to piece */
    int64_t ld;     /* a multiple of TD_LINE_GROUP */
    int pieces;
    td_crt_route crt;
    td_left left;
} td_residue_product;

/* X by the Chinese remainder theorem, and C; choices are of least .. most moduli. Pieces are added to the first one. */
cudaError_t td_residues_finish(const td_residue_product *product, int least, int most,
                               const td_finish *finish, int batch, cudaStream_t stream);

cudaError_t td_residues_prepare(void);
cudaError_t td_crt_prepare(void);

#ifdef __cplusplus
}
#endif

#endif
