#include "tools/say.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/visible.h"

__attribute__((format(printf, 2, 0))) static void print_line(const char *kind, const char *format,
                                                             va_list arguments)
{
    char *line = NULL;
    if (vasprintf(&line, format, arguments) < 0) line = NULL;
    char *visible = line ? visible_copy(line) : NULL;
    fprintf(stderr, "tandem: %s%s\n", kind, visible ? visible : "out of memory");
    free(visible);
    free(line);
}

#define DEFINE_LINE(name, kind)                                                                    \
    void name(const char *format, ...)                                                             \
    {                                                                                              \
        va_list arguments;                                                                         \
        va_start(arguments, format);                                                               \
        print_line(kind, format, arguments);                                                       \
        va_end(arguments);                                                                         \
    }
DEFINE_LINE(say, "")
DEFINE_LINE(warn_of, "warn: ")
DEFINE_LINE(complain, "error: ")
