/* measured.h - the factors of devices that have been measured, kept in measured.def. Pure: no CUDA calls. */
#ifndef TD_MEASURED_H
#define TD_MEASURED_H

#include "model.h"

/* Sets factors[way] for the ways that were measured on such a card, and the others to NULL. */
void td_measured_find(const td_card *card, const signed char *factors[TD_MOST_WAYS]);

#endif
