/* lu_residual.h - how far factors and inverses are from what they should be, ours and LAPACK's. */
#ifndef LU_RESIDUAL_H
#define LU_RESIDUAL_H

/* Every `step`th order from 1 to TD_LU_MOST, and from there to TD_LU_MOST_FACTORED every eighth of
 * these, of factors alone. Kinds of matrices come in turn; beyond `all_types_to` types do, too. */
void check_residuals(int step, int all_types_to);

#endif
