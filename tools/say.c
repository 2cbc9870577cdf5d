#include "tools/say.h"

#include <stdarg.h>
#include <stdio.h>

__attribute__((format(printf, 2, 0))) static void print_line(const char *kind, const char *format,
                                                             va_list arguments)
{
    fprintf(stderr, "tandem: %s", kind);
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
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
