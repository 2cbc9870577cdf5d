/* measured.h - the factors of devices that have been measured, kept in measured.def. Pure: no CUDA
 * calls. */
#ifndef TD_MEASURED_H
#define TD_MEASURED_H

#include "factors.h"

/* Returns the TD_FACTORS factors that a way, by its text in TANDEM_MODE, has on a card of that name
 * with so many multiprocessors; NULL if it was not measured there. They stay for the life of the
 * process. */
const signed char *td_measured_find(const char *card, int multiprocessors, const char *way);

#endif
