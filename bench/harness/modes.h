/* modes.h - modes of Tandem that a bench is asked for. */
#ifndef BENCH_MODES_H
#define BENCH_MODES_H

#include <stdbool.h>

#include "../../lib/engines/engine.h"

/* A mode of Tandem; engine NULL: cuBLAS itself. */
typedef struct {
    const char *text;
    const td_engine *engine;
    td_parameter parameter;
} bench_mode;

/* The modes that some texts name; false, with a message, if a text names none, or there are more
 * than `most`. */
bool bench_modes_parse(int count, char **texts, int most, bench_mode *modes);

#endif
