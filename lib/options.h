/* options.h - THE table of options (environment variables). The parser, `tandem options`,
 * docs/options.md and the tests walk it; a default, a range and a help text exist only there. Pure:
 * no CUDA calls. */
#ifndef TD_OPTIONS_H
#define TD_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engines/engine.h"
#include "log.h"

/* Rows of td_option_table. */
typedef enum {
    TD_OPTION_MODE,
    TD_OPTION_WORKSPACE,
    TD_OPTION_LOG,
    TD_OPTION_REPORT,
    TD_OPTION_ENTRY,
    TD_OPTION_COUNT
} td_option_id;

/* Where a value came from. */
typedef enum { TD_ORIGIN_DEFAULT, TD_ORIGIN_ENVIRONMENT, TD_ORIGIN_CALL } td_origin;

enum { TD_MODE_BYTES = 64, TD_PATH_BYTES = 4096, TD_OPTION_TEXT_BYTES = TD_PATH_BYTES + 16 };

typedef struct td_options {
    const td_engine *engine; /* of the mode */
    td_parameter parameter;  /* of the mode, as its engine parsed it */
    char mode_text[TD_MODE_BYTES];
    size_t workspace_bytes; /* 0: automatic, a quarter of the free memory */
    td_log_level log_level;
    char log_file[TD_PATH_BYTES];    /* "": stderr */
    char report_file[TD_PATH_BYTES]; /* "": no report; "-": a table on stderr */
    uint32_t families;               /* bit 1 << f for each td_family f that is intercepted */
    td_origin origins[TD_OPTION_COUNT];
} td_options;

typedef struct {
    const char *name;                       /* of the environment variable */
    const char *allowed;                    /* values, as text */
    void (*list)(char *text, size_t bytes); /* names to print after allowed, or NULL */
    const char *fallback;                   /* default, in the form that parse takes */
    const char *help;                       /* one sentence */

    /* Sets the option's fields of *o; false, with *o in any state, if the text is malformed. */
    bool (*parse)(const char *text, td_options *o);
    /* The value in the form that parse takes. */
    void (*print)(const td_options *o, char *text, size_t bytes);
} td_option;

extern const td_option td_option_table[TD_OPTION_COUNT];

extern const char *const td_origin_names[];

void td_options_set_defaults(td_options *o);

/* Sets one option. A malformed value is refused with one line, which calls the option name (for
 * example "TANDEM_MODE" or "--mode"), and *o stays as it was. */
bool td_options_set(td_options *o, td_option_id id, const char *name, const char *text,
                    td_origin origin);

/* Sets *o from an environment (strings "NAME=value", ending with NULL); an empty value counts as
 * none. If any value is malformed, says so in a line for each, sets *o to the defaults and returns
 * false. */
bool td_options_parse(td_options *o, char *const *environment);

/* One warning for every TANDEM_* variable that no row of the table names. */
void td_options_warn_unknown(char *const *environment);

/* What the library does once, at its start: parse and warn. The log is still on stderr then; open
 * it, and the report, with the result. */
bool td_options_read(td_options *o, char *const *environment);

/* The values that the option takes, as one line. */
void td_option_allowed(td_option_id id, char *text, size_t bytes);

/* How a mode is written, for people: "name" or "name[:what it takes]", in `text`. */
enum { TD_MODE_TEXT = 32 };
const char *td_mode_usage(const td_engine *engine, char text[TD_MODE_TEXT]);

#endif
