/* eigen_model.h - predicted times of the eigenvectors of one symmetric matrix, by cuSOLVER and by
 * refinement with the products of every mode (eigen.def). Pure: no CUDA calls. */
#ifndef TD_EIGEN_MODEL_H
#define TD_EIGEN_MODEL_H

#include "../routine/eigen_steps.h"
#include "model.h"

/* Smaller matrices are made of launches and of waiting for them. */
enum { TD_EIGEN_LEAST_ORDER = 256 };

/* A product of a step as one of real lines, without matrices. */
td_real_product td_eigen_real_product(int64_t n, td_eigen_product_id which);

/* Of every way, TD_MOST_WAYS elements: the first has the seconds of cuSOLVER, whose own products
 * may be emulated as well, the others those of binary32's vectors and of their refinement; negative
 * ones if nobody can say, or the matrix is small. */
void td_model_predict_eigen(const td_model *model, int64_t n, td_way_forecast *by_way);

/* Seconds if the vectors of that way stay too bad after the most steps, so that cuSOLVER's routine
 * runs as well. Vectors of large clusters that binary32 finds again are not counted. */
double td_model_eigen_found_out(const td_model *model, int64_t n, int way);

#endif
