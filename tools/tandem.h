/* tandem.h - what the commands of the launcher share. */
#ifndef TD_TOOLS_TANDEM_H
#define TD_TOOLS_TANDEM_H

#include "tools/command.h"

/* Exit statuses besides 0 and 1; the last two are those of shells. */
enum { EXIT_USAGE = 2, EXIT_NOT_EXECUTABLE = 126, EXIT_NOT_FOUND = 127 };

extern const command command_run, command_bench, command_modes, command_options, command_plan,
    command_calibrate, command_doctor, command_report, command_help, command_version;

/* One line on stderr, in the form of the library's own (lib/options/log.h): a note "tandem: ...", a warning
 * "tandem: warn: ...", or an error "tandem: error: ...". */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void warn_of(const char *format, ...) __attribute__((format(printf, 1, 2)));
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Says that there is no command of this name, and which there are. */
void refuse_command(const char *name);

#endif
