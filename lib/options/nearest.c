#include "nearest.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 64, NEAR = 3 /* edits that still look like a slip */ };

static int smaller(int a, int b) { return a < b ? a : b; }

/* Insertions, deletions, replacements and swaps of neighbours that make b of a, no character
 * touched twice (optimal string alignment); both are shorter than NAME_BYTES. */
static int edit_distance(const char *a, const char *b)
{
    /* rows[i % 3][j]: of the first i characters of a and the first j of b. */
    int rows[3][NAME_BYTES];
    const int length = (int)strlen(b);
    for (int j = 0; j <= length; j++) rows[0][j] = j;
    for (int i = 1; i <= (int)strlen(a); i++) {
        int *row = rows[i % 3];
        const int *last = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
        row[0] = i;
        for (int j = 1; j <= length; j++) {
            row[j] = last[j - 1] + (a[i - 1] != b[j - 1]);
            row[j] = smaller(row[j], smaller(last[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = smaller(row[j], before[j - 2] + 1);
        }
    }
    return rows[strlen(a) % 3][length];
}

void td_nearest_offer(td_nearest *search, const char *candidate)
{
    const size_t length = strlen(search->name);
    if (length >= NAME_BYTES || strlen(candidate) >= NAME_BYTES) return;
    const int edits = edit_distance(search->name, candidate);
    const bool is_slip = edits <= smaller(NEAR, (int)length / 2),
               is_part = length > 1 && strcasestr(candidate, search->name);
    if (!(is_slip || is_part) || (search->best && edits >= search->edits)) return;
    search->best = candidate;
    search->edits = edits;
}

const char *td_nearest_ask(const td_nearest *search, char text[TD_QUESTION_BYTES])
{
    text[0] = '\0';
    if (search->best) snprintf(text, TD_QUESTION_BYTES, "; did you mean %s?", search->best);
    return text;
}
