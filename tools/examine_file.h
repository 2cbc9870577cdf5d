/* examine_file.h - whether one file, a program or a library, can be preloaded into, and whether it
 * can run on the host device. */
#ifndef TD_TOOLS_EXAMINE_FILE_H
#define TD_TOOLS_EXAMINE_FILE_H

#include <limits.h>
#include <stdbool.h>

#include "tools/elf_file.h"

enum { EXAMINE_REASON_BYTES = PATH_MAX + 256 };

/* Sets the reason, of EXAMINE_REASON_BYTES; returns false, for the callers that refuse with it. */
__attribute__((format(printf, 2, 3))) bool examine_because(char *reason, const char *format, ...);

bool examine_starts_with(const char *text, const char *start);

/* A path without its folders. */
const char *examine_base_name(const char *path);

/* True if the file needs a library whose name starts so. */
bool examine_needs(const elf_file *file, const char *library);

/* Opens the program, or the interpreter of a script, which may be a script, too: as deep as Linux
 * goes (execve(2)). The first such one is the wrapper, "" if there is none: a version manager's
 * shim, for example, which starts the interpreter proper. */
bool examine_open(elf_file *file, const char *path, char wrapper[PATH_MAX], char *reason);

/* True if it is linked to musl, whose loader refuses Tandem's libraries. */
bool examine_is_for_musl(const elf_file *file);

/* False, with the reason, if the file needs what the host device does not have. */
bool examine_on_host_device(const elf_file *file, char *reason);

/* False, with the reason, if its loader preloads nothing, or nothing that is of use. */
bool examine_file(const elf_file *file, bool on_host_device, char *reason);

#endif
