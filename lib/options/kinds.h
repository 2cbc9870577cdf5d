/* kinds.h - the kinds of options.def: what an option of each holds, how that is read and written,
 * and which names it may have. Pure: no CUDA calls. */
#ifndef TD_OPTIONS_KINDS_H
#define TD_OPTIONS_KINDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../routine/mode.h"
#include "file.h"
#include "log.h"

enum { TD_MODE_BYTES = 64, TD_OPTION_TEXT_BYTES = TD_PATH_BYTES + 16 };

/* What options hold, by kind. */
typedef struct {
    const td_engine *engine;
    td_parameter parameter;
    char text[TD_MODE_BYTES];
} td_option_mode;
typedef size_t td_option_bytes; /* 0: automatic */
typedef int td_option_accuracy; /* bits, as a td_engine's `bits` counts them; 0: what native has */
typedef enum {
    TD_STRATEGY_AUTO,
    TD_STRATEGY_EAGER,
    TD_STRATEGY_PERFORMANT,
    TD_STRATEGY_ADAPTIVE,
    TD_STRATEGY_REPRODUCIBLE
} td_option_strategy;
typedef struct {
    td_log_level level;
    char file[TD_PATH_BYTES]; /* "": stderr */
} td_option_log;
typedef int64_t td_option_verify; /* elements of a product; 0: none, TD_VERIFY_ALL: all */
enum { TD_VERIFY_USUAL = 64, TD_VERIFY_MOST = 65536 };
#define TD_VERIFY_ALL INT64_MAX
typedef struct {
    char text[TD_PATH_BYTES]; /* "": none */
} td_option_text;
typedef bool td_option_flag;
enum { TD_NEVER = -1 };
typedef int td_option_seconds;       /* TD_NEVER: never */
typedef uint32_t td_option_families; /* bit 1 << f for each td_family f, and TD_ALSO_EMULATED */

/* Set if Tandem answers products that ask cuBLAS for its own emulation, too. */
#define TD_ALSO_EMULATED (UINT32_C(1) << TD_FAMILY_COUNT)

enum { TD_VALUE_NAME_BYTES = 64 }; /* of the longest name that a value may have */

struct td_option_kind {
    /* Sets *value, which has the kind's type; false, with *value in any state, if the text is
     * malformed. */
    bool (*parse)(const char *text, void *value);
    /* The value in the form that parse takes. */
    void (*print)(const void *value, char *text, size_t bytes);
    /* Appends names to what is allowed; NULL: there are none. */
    void (*list)(char *text, size_t bytes);
};

extern const struct td_option_kind td_option_kind_mode, td_option_kind_accuracy,
    td_option_kind_strategy, td_option_kind_bytes, td_option_kind_log, td_option_kind_text,
    td_option_kind_verify, td_option_kind_flag, td_option_kind_seconds, td_option_kind_families;

/* Appends to the text in a buffer of so many bytes; what does not fit is cut. */
void td_option_append(char *text, size_t bytes, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Copies a text to a buffer of so many bytes; false if it does not fit. */
bool td_option_copy(char *to, size_t bytes, const char *from);

#endif
