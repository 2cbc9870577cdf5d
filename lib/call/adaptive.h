/* adaptive.h - strategy adaptive: how the last calls of a site ended decides, with the forecast,
 * whether the next one is emulated. A site is a routine with its type, sizes, operations and form,
 * called from one place, in one context. */
#ifndef TD_ADAPTIVE_H
#define TD_ADAPTIVE_H

#include "../cuda/device.h"
#include "policy.h"

/* What becomes of a decision to emulate a call on the current device: the same, with the place
 * where the call leaves its outcome, or native. A decision that heeds no site stays as it is. It
 * waits for nothing. */
td_decision td_adaptive_weigh(const td_question *q, const td_decision *decision, td_device *device);

/* What becomes of the decision where no site is known, as if the strategy were performant: without
 * memory that the device can reach, and of calls whose parts run by one decision. */
td_decision td_adaptive_forgo(const td_decision *decision);

#endif
