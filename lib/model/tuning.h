/* tuning.h - the fitted constants of tuning.def, as td_tuned_NAME. Pure. */
#ifndef TD_TUNING_H
#define TD_TUNING_H

#define TUNED(name, value, card, commit) static const double td_tuned_##name = value;
#include "tuning.def"
#undef TUNED

#endif
