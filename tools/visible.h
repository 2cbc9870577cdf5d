/* visible.h - texts of other programs, such as their names, for a terminal: no character of them
 * tells it to do anything. */
#ifndef TD_TOOLS_VISIBLE_H
#define TD_TOOLS_VISIBLE_H

#include <stdarg.h>
#include <stdio.h>

/* Bytes of the control character at `text` (one of ASCII, or of UTF-8 from U+0080 to U+009F), 0 if
 * there is none. */
int visible_control(const char *text);

/* Columns of a terminal that the text takes, a character of UTF-8 one. */
int visible_width(const char *text);

/* A copy, which the caller frees, with \x1b and the like for control characters; NULL without
 * memory. */
char *visible_copy(const char *text);

/* Prints a line, which ends behind the text: control characters in it are visible. */
__attribute__((format(printf, 2, 3))) void visible_line(FILE *out, const char *format, ...);

/* The same behind `start`, which is printed as it is. */
__attribute__((format(printf, 3, 0))) void visible_behind(FILE *out, const char *start,
                                                          const char *format, va_list arguments);

#endif
