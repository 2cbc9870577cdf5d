/* accuracy_modes.h - the modes that bench/accuracy measures. */
#ifndef BENCH_ACCURACY_MODES_H
#define BENCH_ACCURACY_MODES_H

#include <stdbool.h>

#include "../lib/engines/engine.h"

enum { MODE_BYTES = 24, MOST_MODES = 256 };

/* A mode as TANDEM_MODE has it, or with " typed" after it: of triple-single operands, by slices if
 * it has a parameter. */
typedef struct {
    char text[MODE_BYTES];
    const td_engine *engine; /* NULL for typed ones */
    td_parameter parameter;
    bool is_typed;
    bool is_slow, is_broken; /* what the measurements found */
} mode;

typedef struct {
    mode modes[MOST_MODES];
    int count;
} mode_list;

/* Adds the mode that a text names; false if there is none, or no room. */
bool modes_add(mode_list *list, const char *text);

/* Adds native, all other modes of the registry without parameter and with every one that they take,
 * and the typed ones. */
void modes_add_all(mode_list *list);

/* Which are wanted. */
typedef bool mode_filter(const mode *m);

bool mode_is_native(const mode *m);
bool mode_is_typed(const mode *m);
bool mode_is_drop_in(const mode *m);    /* for binary64 operands */
bool mode_is_plain(const mode *m);      /* for binary64 operands, without parameter */
bool mode_has_no_number(const mode *m); /* for binary64 operands, of slices or moduli */
bool mode_is_sliced(
    const mode *m); /* for binary64 operands, what the papers compare slices with, and these */

#endif
