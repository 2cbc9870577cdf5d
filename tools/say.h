/* say.h - what the launcher says on stderr, and its exit statuses. */
#ifndef TD_TOOLS_SAY_H
#define TD_TOOLS_SAY_H

/* Exit statuses besides 0 and 1; the last two are those of shells. */
enum { EXIT_USAGE = 2, EXIT_NOT_EXECUTABLE = 126, EXIT_NOT_FOUND = 127 };

/* One line on stderr, in the form of the library's own (lib/options/log.h): a note "tandem: ...", a
 * warning "tandem: warn: ...", or an error "tandem: error: ...". */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void warn_of(const char *format, ...) __attribute__((format(printf, 1, 2)));
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
