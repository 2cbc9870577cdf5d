#include "letters.h"

td_letters_text td_letters_print(const td_letters *l, int operations)
{
    const char taken[] = {l->job,      l->side,
                          l->triangle, operations > 0 ? l->op_a : '\0',
                          l->diagonal, operations > 1 ? l->op_b : '\0'};
    td_letters_text made;
    int used = 0;
    for (int i = 0; i < (int)sizeof taken; i++)
        if (taken[i]) made.text[used++] = taken[i];
    made.text[used] = '\0';
    return made;
}
