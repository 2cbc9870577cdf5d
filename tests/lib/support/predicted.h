/* predicted.h - what the tests of predictions and choices share: products, and devices by name. */
#ifndef TEST_PREDICTED_H
#define TEST_PREDICTED_H

#include "lib/routine/product.h"
#include "lib/model/model.h"
#include "lib/options/options.h"

#define H200    "NVIDIA H200"
#define H100    "NVIDIA H100 80GB HBM3"
#define A100    "NVIDIA A100-SXM4-80GB"
#define RTX4090 "NVIDIA GeForce RTX 4090"
#define HOST    "Tandem host device (no GPU)"

/* A valid product, C <- op(A) op(B), of `batch` members. */
td_problem product(int64_t m, int64_t n, int64_t k, int64_t batch);

/* What an engine makes of it. */
td_real_product real_product(int64_t m, int64_t n, int64_t k, int64_t batch);

/* That of a card that the library knows. */
td_model model_of(const char *card);

/* Mode auto, as it is by default; and one option more, which the test fails if it is refused. */
td_options options_of_auto(void);
void set_option(td_options *o, td_option_id id, const char *text);

/* A model of factorisations: sets the time of every way, which is negative where nobody knows. */
typedef void predictor(const td_model *model, const td_problem *p, td_way_forecast *by_way);

/* Of every card cuSOLVER's time is known; of those that have panels that of binary64 if the matrix
 * fits these, and of others none. A time grows from p to the larger problem. */
void expect_ways(predictor *predict, const td_problem *p, const td_problem *larger, bool fits);

#endif
