#include "tools/html.h"

#include "tools/visible.h"

void html_print_text(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '&')
            fputs("&amp;", out);
        else if (*text == '<')
            fputs("&lt;", out);
        else if (*text == '>')
            fputs("&gt;", out);
        else if (*text == '\n')
            fputs("<br>\n", out);
        else if (visible_control(text) == 2)
            text++;
        else if (visible_control(text) == 0)
            fputc(*text, out);
    }
}

static const char style[] =
    ":root { color-scheme: light dark; --line: #ccc; --bar: #9bbbe0; --part: #2b5d9b }\n"
    "@media (prefers-color-scheme: dark) {\n"
    "  :root { --line: #555; --bar: #35557d; --part: #8fb8e8 }\n"
    "}\n"
    "body { font-family: sans-serif; margin: 2em; overflow-wrap: break-word }\n"
    "table { border-collapse: collapse; margin: 1em 0 }\n"
    "td, th { padding: 0.2em 0.6em; text-align: right; vertical-align: top; white-space: nowrap }\n"
    "td, th { border-bottom: 1px solid var(--line) }\n"
    ".text { text-align: left; white-space: normal }\n"
    ".wide { overflow-x: auto }\n"
    ".bars { width: 100%; max-width: 75em }\n"
    ".bars td { border: none }\n"
    ".bars .text { overflow-wrap: anywhere }\n"
    ".bars .room { width: 40% }\n"
    ".bars .value { text-align: left }\n"
    ".bar { height: 1.2em; background: var(--bar); print-color-adjust: exact }\n"
    ".part { height: 100%; background: var(--part); print-color-adjust: exact }\n"
    "@media screen and (max-width: 45em) {\n"
    "  body { margin: 1em }\n"
    "  .bars tbody, .bars tr, .bars td, .bars .room { display: block; width: auto }\n"
    "  .bars tr { margin-bottom: 1em }\n"
    "}\n"
    "@page { size: landscape; margin: 1cm }\n"
    "@media print {\n"
    "  body { margin: 0; font-size: 7pt }\n"
    "  .wide { overflow: visible }\n"
    "  td, th { padding: 0.1em 0.3em }\n"
    "  tr { break-inside: avoid }\n"
    "}\n";

void html_begin(FILE *out, const char *title)
{
    fprintf(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                 "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                 "<title>");
    html_print_text(out, title);
    fprintf(out, "</title>\n<style>\n%s</style>\n</head>\n<body>\n<h1>", style);
    html_print_text(out, title);
    fprintf(out, "</h1>\n");
}

void html_end(FILE *out) { fprintf(out, "</body>\n</html>\n"); }

static void print_bar(FILE *out, const html_bar *bar, double longest)
{
    const double part = bar->darker < bar->length ? bar->darker : bar->length;
    fprintf(out, "<td class=\"room\">");
    if (bar->length >= 0.0)
        fprintf(out, "<div class=\"bar\" style=\"width: %.2f%%\">", 100.0 * bar->length / longest);
    if (bar->length > 0.0 && part > 0.0)
        fprintf(out, "<div class=\"part\" style=\"width: %.2f%%\"></div>",
                100.0 * part / bar->length);
    fprintf(out, "%s</td>", bar->length >= 0.0 ? "</div>" : "");
}

static void print_cell(FILE *out, const char *kind, const char *text)
{
    fprintf(out, "<td class=\"%s\">", kind);
    html_print_text(out, text);
    fprintf(out, "</td>");
}

void html_print_bars(FILE *out, const html_bar *bars, int count)
{
    double longest = 0.0;
    for (int i = 0; i < count; i++)
        if (bars[i].length > longest) longest = bars[i].length;
    if (longest <= 0.0) return;
    fprintf(out, "<table class=\"bars\">\n");
    for (int i = 0; i < count; i++) {
        fprintf(out, "<tr>");
        print_cell(out, "text", bars[i].label);
        print_bar(out, &bars[i], longest);
        print_cell(out, "value", bars[i].length < 0.0 ? "" : bars[i].value);
        fprintf(out, "</tr>\n");
    }
    fprintf(out, "</table>\n");
}
