/* native_copies.h - how often cublasXt copies the matrices of a routine, which it cuts into tiles.
 * Pure: no CUDA calls. */
#ifndef TD_XT_NATIVE_COPIES_H
#define TD_XT_NATIVE_COPIES_H

#include "tiles.h"

/* Copies of each matrix (td_tile_memory), to devices and back together. A matrix that is two
 * factors is counted where it is the first. */
typedef struct {
    double read[TD_TILE_FACTORS], written;
} td_native_copies;

/* The least that tiles of `block` rows and columns need. */
td_native_copies td_native_copies_of(const td_tile *whole, int64_t block);

#endif
