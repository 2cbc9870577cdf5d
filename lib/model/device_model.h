/* device_model.h - the model of a device of this machine: its card as CUDA describes it, and the
 * factors that were measured. */
#ifndef TD_DEVICE_MODEL_H
#define TD_DEVICE_MODEL_H

#include "model.h"

/* What CUDA says of a device's speed, or, for one without a speed of its own, what the table of
 * cards says; false if CUDA does not say. */
bool td_device_card(int ordinal, td_card *card);

/* Returns what products take on a device, made by the first call, which says in the log where the
 * figures are from; NULL if CUDA does not describe the device. It stays for the life of the
 * process. Safe in any thread and during stream capture. */
const td_model *td_device_model(int ordinal);

#endif
