/* lu_residual.h - how far factors and inverses are from what they should be, ours and LAPACK's. */
#ifndef CHECK_LU_RESIDUAL_H
#define CHECK_LU_RESIDUAL_H

/* Every `step`th size from 1 to TD_LU_MOST, types and kinds of matrices in turn. */
void check_residuals(int step);

#endif
