#include "measured.h"

#include <string.h>

typedef struct {
    const char *card, *way;
    int multiprocessors; /* a card of the same name with fewer is another */
    signed char factors[TD_FACTORS];
} row;

#define MEASURED(card, multiprocessors, way, ...) {card, way, multiprocessors, {__VA_ARGS__}},
static const row rows[] = {
#include "measured.def"
    {"", "", 0, {0}}};
#undef MEASURED

void td_measured_find(const td_card *card, const signed char *factors[TD_MOST_WAYS])
{
    int count;
    const td_way *ways = td_ways(&count);
    for (int i = 0; i < TD_MOST_WAYS; i++) factors[i] = NULL;
    for (const row *r = rows; r->card[0]; r++) {
        if (strcmp(r->card, card->name) != 0 || r->multiprocessors != card->multiprocessors)
            continue;
        for (int i = 0; i < count; i++)
            if (strcmp(ways[i].text, r->way) == 0) factors[i] = r->factors;
    }
}
