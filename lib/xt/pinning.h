/* pinning.h - the host memory of a call of cublasXt, pinned for as long as the call lasts where the
 * program allows it (cublasXtSetPinningMemMode). */
#ifndef TD_XT_PINNING_H
#define TD_XT_PINNING_H

#include "call.h"
#include "pages.h"

/* What is to be unpinned. */
enum { TD_XT_MOST_PINS = TD_TILE_FACTORS + 1 };
typedef struct {
    td_xt_pages pages[TD_XT_MOST_PINS];
    int count;
} td_xt_pins;

/* Pins what is in memory that CUDA knows nothing of, if the handle's mode is to pin and one device
 * has the call: several copy pageable memory faster than it is pinned. What cannot be pinned is
 * copied as it is. */
void td_xt_pin(const td_xt_call *x, int devices, const td_tile_memory *memory, td_xt_pins *pins);
void td_xt_unpin(const td_xt_pins *pins);

#endif
