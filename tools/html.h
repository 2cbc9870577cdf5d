/* html.h - pages that stand alone: no script, no network; for screens of any width, light or dark,
 * and for paper. */
#ifndef TD_TOOLS_HTML_H
#define TD_TOOLS_HTML_H

#include <stdio.h>

/* Text with what HTML would take for its own replaced, a break at each end of a line, and without
 * other control characters. */
void html_print_text(FILE *out, const char *text);

void html_begin(FILE *out, const char *title);
void html_end(FILE *out);

/* A bar of a drawing. */
typedef struct {
    const char *label; /* before it */
    double length;     /* negative: there is no bar */
    double darker;     /* the part of it that is darker, from its start; 0: none */
    const char *value; /* after it */
} html_bar;

/* The bars below one another, the longest as wide as there is room; nothing if none has a
 * length. */
void html_print_bars(FILE *out, const html_bar *bars, int count);

#endif
