#include "tools/html.h"

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
        else
            fputc(*text, out);
    }
}

void html_begin(FILE *out, const char *title)
{
    fprintf(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>");
    html_print_text(out, title);
    fprintf(out,
            "</title>\n<style>\n"
            "body { font-family: sans-serif; margin: 2em }\n"
            "table { border-collapse: collapse; margin: 1em 0 }\n"
            "td, th { padding: 0.2em 0.8em; text-align: right; border-bottom: 1px solid #ccc }\n"
            ".text { text-align: left }\n"
            "</style>\n</head>\n<body>\n<h1>");
    html_print_text(out, title);
    fprintf(out, "</h1>\n");
}

void html_end(FILE *out) { fprintf(out, "</body>\n</html>\n"); }

static void print_rectangle(FILE *out, int left, int top, double width, int height,
                            const char *fill)
{
    fprintf(out, "<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>\n", left, top,
            width, height, fill);
}

static void print_label(FILE *out, double x, int y, const char *text)
{
    fprintf(out, "<text x=\"%.1f\" y=\"%d\">", x, y);
    html_print_text(out, text);
    fprintf(out, "</text>\n");
}

void html_print_bars(FILE *out, const html_bar *bars, int count, int left)
{
    enum { WIDTH = 500, HEIGHT = 26, BAR = 18, AFTER = 200 };
    double longest = 0.0;
    for (int i = 0; i < count; i++)
        if (bars[i].length > longest) longest = bars[i].length;
    if (longest <= 0.0) return;
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "font-family=\"sans-serif\" font-size=\"13\">\n",
            left + WIDTH + AFTER, HEIGHT * count);
    for (int i = 0; i < count; i++) {
        const double scale = WIDTH / longest;
        const int top = i * HEIGHT, base = top + BAR - 4;
        print_label(out, 0.0, base, bars[i].label);
        if (bars[i].length < 0.0) continue;
        const double darker = bars[i].darker < longest ? bars[i].darker : longest;
        print_rectangle(out, left, top, scale * bars[i].length, BAR, "#9bbbe0");
        if (darker > 0.0) print_rectangle(out, left, top, scale * darker, BAR, "#2b5d9b");
        print_label(out, left + 6 + scale * bars[i].length, base, bars[i].value);
    }
    fprintf(out, "</svg>\n");
}
