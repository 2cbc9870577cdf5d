#define _GNU_SOURCE 1
#include "log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE_BYTES = 1024 };

const char *const td_log_level_names[TD_LOG_LEVEL_COUNT] = {"error", "warn", "info", "debug"};

static atomic_int threshold = TD_LOG_WARN;
static atomic_bool to_file;
static char file_path[PATH_MAX]; /* absolute, since the application may change its directory */

/* The file is opened anew for each line: an application that closes every descriptor and opens its
 * own files would otherwise find our lines in them. */
static int open_file(void)
{
    return open(file_path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0666);
}

static void write_all(int descriptor, const char *text, size_t length)
{
    while (length > 0) {
        ssize_t written = write(descriptor, text, length);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return;
        text += written;
        length -= (size_t)written;
    }
}

static void write_line(const char *line, size_t length)
{
    int descriptor = atomic_load_explicit(&to_file, memory_order_acquire) ? open_file() : -1;
    write_all(descriptor < 0 ? STDERR_FILENO : descriptor, line, length);
    if (descriptor >= 0) close(descriptor);
}

static void log_line(td_log_level level, const char *suffix, const char *format, va_list arguments)
{
    int saved_errno = errno;
    char line[LINE_BYTES];
    const size_t room = sizeof line - strlen(suffix) - 1;
    int prefix = snprintf(line, room, "tandem: %s: ", td_log_level_names[level]);
    int text = vsnprintf(line + prefix, room - (size_t)prefix, format, arguments);
    if (text < 0) text = 0;

    size_t length = (size_t)prefix + (size_t)text;
    if (length >= room) {
        length = room - 1;
        memset(line + length - 3, '.', 3);
    }
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)line[i] < ' ' || line[i] == 0x7f) line[i] = '?';
    length += (size_t)snprintf(line + length, sizeof line - length, "%s\n", suffix);
    write_line(line, length);
    errno = saved_errno;
}

static bool is_dropped(td_log_level level)
{
    return (int)level > atomic_load_explicit(&threshold, memory_order_relaxed);
}

void td_log(td_log_level level, const char *format, ...)
{
    if (is_dropped(level)) return;
    va_list arguments;
    va_start(arguments, format);
    log_line(level, "", format, arguments);
    va_end(arguments);
}

void td_log_capped(atomic_uint *seen, unsigned cap, td_log_level level, const char *format, ...)
{
    if (is_dropped(level)) return;
    /* Looking before counting keeps the counter from wrapping round. */
    if (atomic_load_explicit(seen, memory_order_relaxed) >= cap) return;
    const unsigned before = atomic_fetch_add_explicit(seen, 1, memory_order_relaxed);
    if (before >= cap) return;

    const bool is_last_of_several = cap > 1 && before + 1 == cap;
    va_list arguments;
    va_start(arguments, format);
    log_line(level, is_last_of_several ? " (not said again)" : "", format, arguments);
    va_end(arguments);
}

/* Makes path absolute without asking that it exists; false if the result is too long. */
static bool set_file_path(const char *path)
{
    char directory[PATH_MAX];
    int length;
    if (path[0] == '/')
        length = snprintf(file_path, sizeof file_path, "%s", path);
    else if (getcwd(directory, sizeof directory))
        length = snprintf(file_path, sizeof file_path, "%s/%s", directory, path);
    else
        return false;
    if (length < (int)sizeof file_path) return true;
    errno = ENAMETOOLONG;
    return false;
}

void td_log_open(td_log_level level, const char *file)
{
    atomic_store(&threshold, (int)level);
    atomic_store(&to_file, false);
    if (!file) return;

    int descriptor = set_file_path(file) ? open_file() : -1;
    if (descriptor < 0) {
        td_log(TD_LOG_ERROR, "cannot write the log file '%s' (%s); the log goes to stderr", file,
               strerror(errno));
        return;
    }
    close(descriptor);
    atomic_store_explicit(&to_file, true, memory_order_release);
}
