/* dgemm_model.h - what the update of a triangle takes by products of its columns
 * (../engines/dgemm/engine.c). Pure: no CUDA calls. */
#ifndef TD_DGEMM_MODEL_H
#define TD_DGEMM_MODEL_H

#include "model.h"

/* Seconds of the product of real lines that a routine is; a negative number for routines other than
 * updates of rank k. */
double td_model_dgemm(const td_model *model, const td_real_product *p);

#endif
