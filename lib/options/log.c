#define _GNU_SOURCE 1
#include "log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "file.h"

enum { LINE_BYTES = 1024, STAMP_BYTES = 64 };

const char *const td_log_level_names[TD_LOG_LEVEL_COUNT] = {"error", "warn", "info", "debug"};

static atomic_int threshold = TD_LOG_WARN;
static atomic_bool to_file;
static td_file_name file_name;

/* The file is opened anew for each line: an application that closes every descriptor and opens its
 * own files would otherwise find our lines in them. */
static int open_file(void)
{
    char path[TD_PATH_BYTES];
    if (!td_file_name_path(&file_name, path)) return -1;
    return td_file_open(path, O_WRONLY | O_APPEND | O_CREAT, 0666);
}

/* Prints the whole line, cut to what fits, without control characters; returns its length. */
__attribute__((format(printf, 4, 0))) static size_t
print_line(char line[LINE_BYTES], td_log_level level, const char *suffix, const char *format,
           va_list arguments)
{
    const size_t room = LINE_BYTES - strlen(suffix) - 1;
    int prefix = snprintf(line, room, "tandem: %s: ", td_log_level_names[level]);
    int text = vsnprintf(line + prefix, room - (size_t)prefix, format, arguments);
    if (text < 0) text = 0;

    size_t length = (size_t)prefix + (size_t)text;
    if (length >= room) {
        length = room - 1;
        memset(line + length - 3, '.', 3);
    }
    for (size_t i = 0; i < length; i++) line[i] = td_log_shown(line[i]);
    return length + (size_t)snprintf(line + length, LINE_BYTES - length, "%s\n", suffix);
}

/* An error on stderr, whatever becomes of other lines. */
__attribute__((format(printf, 1, 2))) static void say_on_stderr(const char *format, ...)
{
    char line[LINE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    const size_t length = print_line(line, TD_LOG_ERROR, "", format, arguments);
    va_end(arguments);
    (void)td_file_write(STDERR_FILENO, line, length);
}

static void say_unwritable(int error)
{
    say_on_stderr("cannot write the log file '%s' (%s); the log goes to stderr", file_name.pattern,
                  td_file_reason(error));
}

/* The day of the Gregorian calendar that so many days after 1970-01-01 are; not by gmtime_r, which
 * takes a lock that a fork() may have left taken (Hinnant, chrono-compatible date algorithms). */
static void find_date(long days, long *year, long *month, long *day)
{
    const long since = days + 719468, era = since / 146097, of_era = since % 146097;
    const long years = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    const long of_year = of_era - (365 * years + years / 4 - years / 100);
    const long shifted = (5 * of_year + 2) / 153; /* 0: March */
    *day = of_year - (153 * shifted + 2) / 5 + 1;
    *month = shifted < 10 ? shifted + 3 : shifted - 9;
    *year = years + era * 400 + (*month <= 2);
}

/* Before each line of a file: the time (UTC), the process and the thread. Returns its length. */
static size_t print_stamp(char stamp[STAMP_BYTES])
{
    struct timespec now = {0};
    long year, month, day;
    clock_gettime(CLOCK_REALTIME, &now);
    const long seconds = (long)(now.tv_sec % 86400);
    find_date((long)(now.tv_sec / 86400), &year, &month, &day);
    const int length =
        snprintf(stamp, STAMP_BYTES, "%04ld-%02ld-%02ldT%02ld:%02ld:%02ld.%06ldZ %ld %ld ", year,
                 month, day, seconds / 3600, seconds / 60 % 60, seconds % 60, now.tv_nsec / 1000,
                 (long)getpid(), syscall(SYS_gettid) /* gettid() needs glibc 2.30 */);
    return length < STAMP_BYTES ? (size_t)length : STAMP_BYTES - 1;
}

/* False if there is no file, or it did not take the line. One that cannot be opened may be there
 * again for the next line; one that takes no more is left. */
static bool write_to_file(const char *line, size_t length)
{
    if (!atomic_load_explicit(&to_file, memory_order_acquire)) return false;
    char stamped[STAMP_BYTES + LINE_BYTES];
    const int descriptor = open_file();
    if (descriptor < 0) return false;
    const size_t stamp = print_stamp(stamped);
    memcpy(stamped + stamp, line, length);
    const bool is_written = td_file_write(descriptor, stamped, stamp + length);
    const int error = errno;
    close(descriptor);
    if (!is_written && atomic_exchange(&to_file, false)) say_unwritable(error);
    return is_written;
}

static void write_line(const char *line, size_t length)
{
    if (!write_to_file(line, length)) (void)td_file_write(STDERR_FILENO, line, length);
}

static void log_line(td_log_level level, const char *suffix, const char *format, va_list arguments)
{
    const int saved_errno = errno;
    char line[LINE_BYTES];
    write_line(line, print_line(line, level, suffix, format, arguments));
    errno = saved_errno;
}

bool td_log_is_on(td_log_level level)
{
    return (int)level <= atomic_load_explicit(&threshold, memory_order_relaxed);
}

void td_log(td_log_level level, const char *format, ...)
{
    if (!td_log_is_on(level)) return;
    va_list arguments;
    va_start(arguments, format);
    log_line(level, "", format, arguments);
    va_end(arguments);
}

void td_log_capped(atomic_uint *seen, unsigned cap, td_log_level level, const char *format, ...)
{
    if (!td_log_is_on(level)) return;
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

void td_log_open(td_log_level level, const char *file)
{
    atomic_store(&threshold, (int)level);
    atomic_store(&to_file, false);
    if (!file) return;

    const int descriptor = td_file_name_set(&file_name, file) ? open_file() : -1;
    if (descriptor < 0) {
        say_unwritable(errno);
        return;
    }
    close(descriptor);
    atomic_store_explicit(&to_file, true, memory_order_release);
}
