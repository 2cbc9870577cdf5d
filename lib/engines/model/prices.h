/* prices.h - what a product by residues may cost on a device before binary64 is the better way. Pure:
 * no CUDA calls. */
#ifndef TD_MODEL_PRICES_H
#define TD_MODEL_PRICES_H

#include "model.h"

/* Prices for the choice that kernels make from the data (../../../kernels/select/prices.h), by what the
 * model says of the device: seconds of the engine, which takes_prices, with 14 moduli and with 15,
 * and of native products. What is spent on measuring the operands by then counts on no side. Sums in
 * binary64 are not scaled: mode auto promises what native products have. */
td_prices td_prices_of(const td_model *model, const td_engine *engine, const td_problem *p);

/* The share of cuBLAS's rate that sums in binary64 reach: 0.94 of random numbers, at 4096 and 8192
 * cubed on an H100. Of data that ask for this choice native products take up to a tenth less than the
 * model says, which knows random numbers: 2.2 ms for 2.34, where these sums take 2.37. */
#define TD_BINARY64_SHARE 0.97

/* What exact sums of TD_FEW elements of a tile take of the tile in binary64: 0.2 us for each element
 * of 1.4 us at k = 8192, and some 0.1 ms more for the first ones. */
#define TD_SUMS_SHARE 2.0

/* Each modulus beyond 14 takes this much more than the 15th by the model: C is put together by longer
 * whole numbers. At 4096 cubed on an H100 20 moduli take 0.14 ms more for each than 14, for 0.107. */
#define TD_FURTHER_MODULUS 1.3

/* The estimate takes as long as residues modulo so many numbers, and reads the operands again. */
#define TD_ESTIMATE_MODULI 2.0

#endif
