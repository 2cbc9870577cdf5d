/* log.h - lines for the person who runs the program: to stderr, or to the file of TANDEM_LOG.
 * Every line is "tandem: level: text", is written by one write(), and keeps errno. In a file the
 * time (UTC), the process and the thread come before it. Nothing allocates. */
#ifndef TD_LOG_H
#define TD_LOG_H

#include <stdatomic.h>
#include <stdbool.h>

typedef enum {
    TD_LOG_ERROR, /* something asked for was not done */
    TD_LOG_WARN,
    TD_LOG_INFO,
    TD_LOG_DEBUG, /* a line per call */
    TD_LOG_LEVEL_COUNT
} td_log_level;

extern const char *const td_log_level_names[TD_LOG_LEVEL_COUNT];

/* Lines above level are dropped from now on; the others go to the end of file, a name as in
 * file.h, or to stderr if file is NULL. A file that cannot be written, now or later, gets one line,
 * and stderr its place. Until the first call: warn, stderr. */
void td_log_open(td_log_level level, const char *file);

/* True if lines of a level are not dropped: for what costs time to find out. */
bool td_log_is_on(td_log_level level);

/* What a terminal is shown of a character of a text from outside: '?' for one that would tell it to
 * do anything. */
static inline char td_log_shown(char c)
{
    enum { DELETE = 0x7f };
    return (unsigned char)c < ' ' || c == DELETE ? '?' : c;
}

/* One line; line ends and other control characters in the text become '?', a long text is cut. */
void td_log(td_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* td_log for the first cap uses of *seen only; the last of several says that it is the last. */
void td_log_capped(atomic_uint *seen, unsigned cap, td_log_level level, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* td_log, but only the first time that this line of code is reached. */
#define TD_LOG_ONCE(level, ...)                                                                    \
    do {                                                                                           \
        static atomic_uint td_log_seen;                                                            \
        td_log_capped(&td_log_seen, 1, (level), __VA_ARGS__);                                      \
    } while (0)

#endif
