#include "json_text.h"

#include <stdbool.h>

/* Bytes of the well-formed UTF-8 character at text, 0 if there is none (RFC 3629, section 4). */
static int utf8_length(const unsigned char *text)
{
    const unsigned char lead = text[0];
    int length = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (lead > 0xf4) length = 0;
    for (int i = 1; i < length; i++)
        if ((text[i] & 0xc0) != 0x80) return 0;
    const bool is_long_form = (lead == 0xe0 && text[1] < 0xa0) || (lead == 0xf0 && text[1] < 0x90);
    const bool is_surrogate = lead == 0xed && text[1] >= 0xa0;
    const bool is_too_big = lead == 0xf4 && text[1] >= 0x90;
    return is_long_form || is_surrogate || is_too_big ? 0 : length;
}

void td_json_print_string(FILE *out, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    fputc('"', out);
    while (*at) {
        const int length = utf8_length(at);
        if (*at == '"' || *at == '\\')
            fprintf(out, "\\%c", *at);
        else if (*at < ' ' || length == 0)
            fprintf(out, "\\u%04x", *at);
        else
            fwrite(at, 1, (size_t)length, out);
        at += length ? length : 1;
    }
    fputc('"', out);
}

void td_json_print_members(FILE *out, const char *start, const td_json_member members[])
{
    for (const td_json_member *m = members; m->name; m++) {
        fprintf(out, "%s\"%s\": ", m == members ? start : ", ", m->name);
        if (m->text)
            td_json_print_string(out, m->text);
        else
            fprintf(out, "null");
    }
}
