/* json_text.h - texts as JSON strings. Pure: no CUDA calls. */
#ifndef TD_JSON_TEXT_H
#define TD_JSON_TEXT_H

#include <stdio.h>

/* Prints the text as a JSON string, quotes included. File names need not be UTF-8: a byte that is
 * not part of a well-formed character becomes the character of its number. */
void td_json_print_string(FILE *out, const char *text);

/* A member of an object; text NULL stands for null. */
typedef struct {
    const char *name, *text;
} td_json_member;

/* Prints the start of an object, such as "{", and members with commas between, up to one without a
 * name. */
void td_json_print_members(FILE *out, const char *start, const td_json_member members[]);

#endif
