/* options.h - THE table of options (environment variables). The parser, `tandem options`,
 * docs/options.md and the tests walk it; a default, a range and a help text exist only there. Pure:
 * no CUDA calls. */
#ifndef TD_OPTIONS_H
#define TD_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../routine/mode.h"
#include "file.h"
#include "log.h"

enum { TD_MODE_BYTES = 64, TD_OPTION_TEXT_BYTES = TD_PATH_BYTES + 16 };

/* What options hold, by kind. options.c has a parser and a printer for each. */
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
typedef uint32_t td_option_families; /* bit 1 << f for each td_family f */

/* When an option may be set: before the process starts, by its environment; or later as well, for
 * the process or for a region of a thread (lib/call/scope.h). */
typedef enum { TD_AT_START, TD_ANY_TIME } td_option_when;

/* X(ID, kind, field, when, fallback, allowed, help): the environment variable TANDEM_ID, and the
 * field of td_options that holds its value. when: the td_option_when TD_when. fallback: the
 * default, as a user would write it. allowed: the values, as text; the names of a kind that has
 * some follow it. help: sentences. */
#define TD_OPTIONS(X)                                                                              \
    X(MODE, mode, mode, ANY_TIME, "native", "",                                                    \
      "Arithmetic of the products. `tandem run` takes `auto` where it is not set.")                \
    X(ACCURACY, accuracy, accuracy, ANY_TIME, "fp64",                                              \
      "fp64, faithful, or 10 to 52 bits of abs(A)abs(B)",                                          \
      "How good the products of mode `auto` are at least: as good as native, correctly rounded, "  \
      "or "                                                                                        \
      "so many bits.")                                                                             \
    X(STRATEGY, strategy, strategy, ANY_TIME, "auto", "",                                          \
      "Whether to emulate all products that can be (eager), those predicted to gain time "         \
      "(performant), of these the ones whose last call did gain (adaptive: two runs may give "     \
      "different bits), or all by a rule that no device changes, so that two machines give the "   \
      "same bits (reproducible). `auto` is performant for mode `auto`, and eager for the others.") \
    X(WORKSPACE, bytes, workspace, ANY_TIME, "auto",                                               \
      "auto, or bytes from 2M up, with k, M or G for powers of 1024",                              \
      "Most device memory used at a time; larger products are tiled. `auto` is a quarter of the "  \
      "free memory, divided among the ranks of a device that mpirun, srun or torchrun started.")   \
    X(VERIFY, verify, verify, ANY_TIME, "off",                                                     \
      "off, sample, sample:N with 1 to 65536 elements, or full",                                   \
      "Elements of each product that are computed again exactly, after it, and compared: 64, N, "  \
      "or all; of triangular solves, residuals. Every routine of level 3 is looked at, native "    \
      "calls as well. The report has the errors beside the mode's bound; an error beyond its "     \
      "bound is said once.")                                                                       \
    X(VERIFY_DUMP, text, verify_dump, AT_START, "none", "none, or a folder",                       \
      "Where the row and the column of the first element beyond its bound are left: "              \
      "verify-PID.txt.")                                                                           \
    X(LOG, log, log, AT_START, "warn",                                                             \
      "error, warn, info or debug, each optionally :FILE (%p is the process id, %r the rank)",     \
      "What is said, and where; without a file on stderr. In a file each line begins with "        \
      "the time (UTC), the process and the thread.")                                               \
    X(REPORT, text, report, AT_START, "none",                                                      \
      "none, a file name (%p is the process id, %r the rank), or -",                               \
      "Where the process leaves its counts at exit: JSON in the file, or a table on stderr for "   \
      "`-`.")                                                                                      \
    X(REPORT_EVERY, seconds, report_every, AT_START, "10", "seconds from 0 to 86400, or never",    \
      "How old the file of a report may be while products are made, for a process that is killed " \
      "or ends by _exit; at 0 it is written at every product, as long as it has no more than "     \
      "256 lines.")                                                                                \
    X(SITES, flag, sites, AT_START, "off", "on or off",                                            \
      "Whether the report has a line for each place that calls, and names it.")                    \
    X(RULES, text, rules, AT_START, "none", "none, or a file",                                     \
      "Modes for some calls, a line each, by shape or caller, such as `m=..127 -> native`: "       \
      "docs/report.md. The first that fits counts; TANDEM_MODE is for the others.")                \
    X(ENTRY, families, families, AT_START, "all",                                                  \
      "all, or some of these with commas between: ", "Families of cuBLAS functions to intercept.") \
    X(DLSYM, flag, dlsym, AT_START, "on", "on or off",                                             \
      "Whether functions that a program looks up in a cuBLAS with dlsym or dlvsym are "            \
      "intercepted.")

#define TD_OPTION_ENUM(id, kind, field, when, fallback, allowed, help) TD_OPTION_##id,
typedef enum { TD_OPTIONS(TD_OPTION_ENUM) TD_OPTION_COUNT } td_option_id;
#undef TD_OPTION_ENUM

/* Where a value came from. */
typedef enum { TD_ORIGIN_DEFAULT, TD_ORIGIN_ENVIRONMENT, TD_ORIGIN_CALL } td_origin;

#define TD_OPTION_FIELD(id, kind, field, when, fallback, allowed, help) td_option_##kind field;
typedef struct td_options {
    TD_OPTIONS(TD_OPTION_FIELD)
    td_origin origins[TD_OPTION_COUNT];
} td_options;
#undef TD_OPTION_FIELD

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

/* The option's name without TANDEM_, in small letters. */
enum { TD_OPTION_NAME_BYTES = 32 };
const char *td_option_short_name(td_option_id id, char name[TD_OPTION_NAME_BYTES]);

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

/* One warning for every TANDEM_* variable that no row of the table names. */
void td_options_warn_unknown(char *const *environment);

/* What the library does once, at its start: parse and warn; the lines say that products now run
 * native. The log is still on stderr then; open it, and the report, with the result. */
bool td_options_read(td_options *o, char *const *environment);

/* The values that the option takes, as one line of at most so many bytes. */
enum { TD_ALLOWED_BYTES = 512 };
void td_option_allowed(td_option_id id, char *text, size_t bytes);

#endif
