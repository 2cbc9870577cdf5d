/* prices.h - what a product by residues may cost on a device before binary64 is the better way.
 * Pure: no CUDA calls. */
#ifndef TD_MODEL_PRICES_H
#define TD_MODEL_PRICES_H

#include "model.h"

/* Prices for the choice that kernels make from the data (../../kernels/select/prices.h), by what
 * the model says of the device: seconds of the engine, which takes_prices, with 14 moduli and with
 * 15, and of native products. What is spent on measuring the operands by then counts on no side.
 * Sums in binary64 are not scaled: mode auto promises what native products have. */
td_prices td_prices_of(const td_model *model, const td_engine *engine, const td_real_product *p);

#endif
