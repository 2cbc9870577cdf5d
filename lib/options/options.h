/* options.h - THE table of options (environment variables). The parser, `tandem options`,
 * docs/options.md and the tests walk it; a default, a range and a help text exist only there. Pure:
 * no CUDA calls. */
#ifndef TD_OPTIONS_H
#define TD_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "kinds.h"

/* When an option may be set: before the process starts, by its environment; or later as well, for
 * the process or for a region of a thread (lib/call/scope.h). */
typedef enum { TD_AT_START, TD_ANY_TIME } td_option_when;

#define OPTION(id, ...) TD_OPTION_##id,
typedef enum {
#include "options.def"
    TD_OPTION_COUNT
} td_option_id;
#undef OPTION

/* Where a value came from. */
typedef enum { TD_ORIGIN_DEFAULT, TD_ORIGIN_ENVIRONMENT, TD_ORIGIN_CALL } td_origin;

#define OPTION(id, kind, field, when, fallback, allowed, help) td_option_##kind field;
typedef struct td_options {
#include "options.def"
    td_origin origins[TD_OPTION_COUNT];
} td_options;
#undef OPTION

/* The table, for those that walk it. */
typedef struct {
    const char *name; /* of the environment variable */
    const struct td_option_kind *kind;
    size_t offset; /* of the field in td_options */
    td_option_when when;
    const char *fallback, *allowed, *help;
} td_option;

extern const td_option td_option_table[TD_OPTION_COUNT];

/* The value in force, as a user would write it. */
void td_option_print(const td_options *o, td_option_id id, char *text, size_t bytes);

extern const char *const td_origin_names[];

/* The option of that short name; TD_OPTION_COUNT if there is none. */
td_option_id td_option_find(const char *short_name);

void td_options_set_defaults(td_options *o);

/* Sets one option. A malformed value is refused with one line, which calls the option name (for
 * example "TANDEM_MODE" or "--mode"), and *o stays as it was. */
bool td_options_set(td_options *o, td_option_id id, const char *name, const char *text,
                    td_origin origin);

/* Sets options that may be set at any time. settings: words with spaces between, each
 * SHORT_NAME=VALUE or, for the mode, VALUE alone: "ts", "mode=auto verify=sample:8". If a word is
 * malformed, or the options contradict each other afterwards (td_options_agree), returns false with
 * the reason as one line in why, and *o stays as it was. */
enum { TD_WHY_BYTES = 1024 };
bool td_options_change(td_options *o, const char *settings, char why[TD_WHY_BYTES]);

/* All options that may be set at any time, in the form that td_options_change takes: the same text
 * for the same values. */
enum { TD_SETTINGS_BYTES = 256 };
void td_options_print_settings(const td_options *o, char text[TD_SETTINGS_BYTES]);

/* Sets *o from an environment (strings "NAME=value", ending with NULL); an empty value counts as
 * none. If any value is malformed, says so in a line for each, sets *o to the defaults, but for log
 * and report where they are well-formed, and returns false. */
bool td_options_parse(td_options *o, char *const *environment);

/* False, after one line, if options contradict each other: strategy adaptive, with a mode whose
 * products are never faster than native ones. td_options_read asks; td_options_parse does not, as a
 * command may have a mode of its own. consequence: ", so ..." for the line. */
bool td_options_agree(const td_options *o, const char *consequence);

/* What the library does once, at its start: parse and warn; the lines say that products now run
 * native. The log is still on stderr then; open it, and the report, with the result. */
bool td_options_read(td_options *o, char *const *environment);

/* The values that the option takes, as one line of at most so many bytes. */
enum { TD_ALLOWED_BYTES = 512 };
void td_option_allowed(td_option_id id, char *text, size_t bytes);

#endif
