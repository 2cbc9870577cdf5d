/* say.h - what the launcher says on stderr, and its exit statuses. */
#ifndef TD_TOOLS_SAY_H
#define TD_TOOLS_SAY_H

#include <stdbool.h>

/* Exit statuses besides 0 and 1; the last two are those of shells. */
enum { EXIT_USAGE = 2, EXIT_NOT_EXECUTABLE = 126, EXIT_NOT_FOUND = 127 };

/* One line on stderr, in the form of the library's own (lib/options/log.h): a note "tandem: ...", a
 * warning "tandem: warn: ...", or an error "tandem: error: ...". */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void warn_of(const char *format, ...) __attribute__((format(printf, 1, 2)));
void say_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* An error, and what a function returns that fails with it: false, or EXIT_USAGE. */
static inline bool say_false(void) { return false; }
static inline int say_usage(void) { return EXIT_USAGE; }
#define complain(...)    (say_error(__VA_ARGS__), say_false())
#define usage_error(...) (say_error(__VA_ARGS__), say_usage())

#endif
