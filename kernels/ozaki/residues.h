/* residues.h - the residue scheme (Ozaki scheme II): operands into residues, and products modulo p into C. For host C and kernels. */
#ifndef TD_RESIDUES_H
#define TD_RESIDUES_H

#include "ozaki.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Centred residues of both operands, [modulus][batch][line][k_padded]; lines and k padded with zeros. op(A)'s are those of
 * A' times the weights of the Chinese remainder theorem. As many moduli as the choice says. */
typedef struct {
    td_fixed fixed;
    int8_t *plane[2];
    int64_t plane_step[2]; /* from modulus to modulus, in elements */
} td_residues;
cudaError_t td_residues_run(const td_residues *residues, cudaStream_t stream);

/* Sums of products of residues, [modulus][batch][n][m_padded], any representative modulo p that fits. */
typedef struct {
    int32_t *sum;
    int64_t sum_step, batch_step; /* from modulus to modulus, from member to member, in elements */
    int64_t m_padded;
} td_residue_sums;

/* Makes room for the products of another pass over k: every sum to its residue. */
cudaError_t td_residues_reduce(const td_residue_sums *sums, const td_choice *choice, int moduli,
                               int64_t count, int batch, cudaStream_t stream);

/* Moduli of most products, as good as binary64 for all but wide exponents: they have code of their own. Those of TD_FINISH_EXACT. */
enum { TD_COMMON_MODULI = 14, TD_EXACT_MODULI = 20 };

/* X by the Chinese remainder theorem, and C; choices are of least .. most moduli. */
cudaError_t td_residues_finish(const td_residue_sums *sums, int least, int most,
                               const td_finish *finish, int batch, cudaStream_t stream);

cudaError_t td_residues_prepare(void);
cudaError_t td_crt_prepare(void);

#ifdef __cplusplus
}
#endif

#endif
