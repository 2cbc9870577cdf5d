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

#endif
