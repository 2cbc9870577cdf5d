/* qr_model.h - predicted times of QR factorisations of one matrix, and of what is made of their
 * reflectors, by cuSOLVER and with the products of every mode (qr.def). Pure: no CUDA calls. */
#ifndef TD_QR_MODEL_H
#define TD_QR_MODEL_H

#include "../routine/qr_steps.h"
#include "factor_times.h"

/* Most rows of a matrix that panels have a time for; and the least order: smaller matrices take
 * cuSOLVER less time than most of them would gain. */
enum { TD_QR_MOST_ROWS = 32768, TD_QR_LEAST_ORDER = 256 };

/* Under mode auto products of fewer reflectors at a time are cuBLAS's own, if there are blocks. */
enum { TD_QR_LEAST_TERMS = 512 };

/* As td_model_predict_lu, of a problem that has reflectors. */
void td_model_predict_qr(const td_model *model, const td_problem *p, td_way_forecast *by_way);

/* Seconds if that way makes the products of panels as well: a mode by name. */
double td_model_qr_by_one_way(const td_model *model, const td_problem *p, int way);

/* cuSOLVER's seconds alone. */
double td_model_native_qr(const td_model *model, const td_problem *p);

/* Seconds with cuBLAS's own products; negative if nobody can say. */
double td_model_qr_by_native_products(const td_model *model, const td_problem *p);

/* The product of real lines that is the largest, by which a mode's prices are set (prices.h); false
 * if one panel has all columns. */
bool td_qr_largest(const td_problem *p, td_real_product *product);

#endif
