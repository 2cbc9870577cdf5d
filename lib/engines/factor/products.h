/* products.h - the products of a factorisation, by a mode or by cuBLAS. */
#ifndef TD_ENGINES_FACTOR_PRODUCTS_H
#define TD_ENGINES_FACTOR_PRODUCTS_H

#include "../../cuda/device.h"
#include "../../routine/lu_steps.h"
#include "../../routine/solve_steps.h"
#include "../engine.h"

/* What makes the products, and LU's solves and cut. */
typedef struct {
    const td_engine *engine; /* NULL: cuBLAS's own routines, by a handle of Tandem's own */
    td_parameter parameter;
    td_solve_cut cut; /* of solves; products of fewer terms than its least_terms, or of fewer
                       * reflectors, are cuBLAS's own */
    td_lu_cut panels;
} td_factor_products;

/* Where the products of one call run. */
typedef struct {
    const td_factor_products *by;
    td_device *device;
    size_t workspace_limit;
    td_counters *counters;
} td_factor_place;

/* As td_engine_run; cuBLAS has the memory that is lent to the product. A mode that cannot make the
 * product has mode fp64 in its place, as matrices have been written by then. */
td_run_status td_factor_multiply(const td_factor_place *place, const td_product *product);

/* What every factorisation with products of cuBLAS's or of a mode is to have before its first step:
 * TD_RUN_DONE, or why it cannot run. */
td_run_status td_factor_ready(const td_problem *p, const td_factor_place *place, td_loader *load);

/* Sets the call's info to 0, and takes so many blocks in turn: step(run, i) is TD_RUN_DONE;
 * TD_RUN_FAILED, if the block has written nothing; or TD_RUN_BROKEN. So is the whole. */
td_run_status td_factor_blocks(const td_problem *p, int64_t blocks,
                               td_run_status (*step)(const void *run, int64_t i), const void *run);

/* Why a problem of LU or QR stays cuSOLVER's: it is too large. NULL: it does not. */
const char *td_factor_size_refusal(const td_problem *p);

#endif
