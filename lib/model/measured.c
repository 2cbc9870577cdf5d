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

const signed char *td_measured_find(const char *card, int multiprocessors, const char *way)
{
    for (const row *r = rows; r->card[0]; r++)
        if (r->multiprocessors == multiprocessors && strcmp(r->card, card) == 0 &&
            strcmp(r->way, way) == 0)
            return r->factors;
    return NULL;
}
