#include "letters.h"

#include <stdbool.h>

td_letters_text td_letters_print(const td_letters *l)
{
    const bool is_symmetric_product = l->side && !l->diagonal;
    const char taken[] = {l->side, l->triangle, is_symmetric_product ? '\0' : l->op_a, l->diagonal,
                          l->triangle ? '\0' : l->op_b};
    td_letters_text made;
    int used = 0;
    for (int i = 0; i < (int)sizeof taken; i++)
        if (taken[i]) made.text[used++] = taken[i];
    made.text[used] = '\0';
    return made;
}
