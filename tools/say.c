#include "tools/say.h"

#include <stdarg.h>

#include "tools/visible.h"

#define DEFINE_LINE(name, kind)                                                                    \
    void name(const char *format, ...)                                                             \
    {                                                                                              \
        va_list arguments;                                                                         \
        va_start(arguments, format);                                                               \
        visible_behind(stderr, "tandem: " kind, format, arguments);                                \
        va_end(arguments);                                                                         \
    }
DEFINE_LINE(say, "")
DEFINE_LINE(warn_of, "warn: ")
DEFINE_LINE(say_error, "error: ")
