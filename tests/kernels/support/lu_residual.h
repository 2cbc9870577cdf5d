/* lu_residual.h - how far factors and inverses are from what they should be, ours and LAPACK's. */
#ifndef LU_RESIDUAL_H
#define LU_RESIDUAL_H

/* Every `step`th order from 1 to TD_LU_MOST, kinds of matrices in turn; beyond `all_types_to` types
 * in turn, too. */
void check_residuals(int step, int all_types_to);

#endif
