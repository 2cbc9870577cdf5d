#include "tools/visible.h"

#include <stdlib.h>
#include <string.h>

int visible_control(const char *text)
{
    const unsigned char first = (unsigned char)text[0], second = first ? (unsigned char)text[1] : 0;
    if (first == 0xc2 && second >= 0x80 && second <= 0x9f) return 2;
    return (first && first < ' ') || first == 0x7f ? 1 : 0;
}

int visible_width(const char *text)
{
    int width = 0;
    for (; *text; text++) width += ((unsigned char)*text & 0xc0) != 0x80; /* no further byte */
    return width;
}

char *visible_copy(const char *text)
{
    enum { WIDEST = 4 }; /* \x1b for a byte */
    char *copy = malloc(strlen(text) * WIDEST + 1), *to = copy;
    for (const char *at = text; copy && *at; at++) {
        const int control = visible_control(at);
        if (control == 2) at++; /* the code is in the second one */
        if (control)
            to += sprintf(to, "\\x%02x", (unsigned char)*at);
        else
            *to++ = *at;
    }
    if (copy) *to = '\0';
    return copy;
}

void visible_behind(FILE *out, const char *start, const char *format, va_list arguments)
{
    char *line = NULL;
    if (vasprintf(&line, format, arguments) < 0) line = NULL;
    char *visible = line ? visible_copy(line) : NULL;
    fprintf(out, "%s%s\n", start, visible ? visible : "out of memory");
    free(visible);
    free(line);
}

void visible_line(FILE *out, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    visible_behind(out, "", format, arguments);
    va_end(arguments);
}
