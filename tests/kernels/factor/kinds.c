#include "kinds.h"

#include <math.h>
#include <string.h>

#include "tests/support/random.h"

const factor_kind *find_kind(const factor_kind *table, const char *name)
{
    while (strcmp(table->name, name) != 0) table++;
    return table;
}

double uniform(source *s) { return random_signed(&s->state); }

int whole(source *s, int least, int most) { return random_signed_int(&s->state, least, most); }

double random_numbers(source *s, int i, int j) { return (void)i, (void)j, uniform(s); }

double small_integers(source *s, int i, int j)
{
    const int x = whole(s, -2, 2);
    return (void)i, (void)j, x == 0 && uniform(s) < 0.0 ? -0.0 : (double)x;
}

double graded_columns(source *s, int i, int j)
{
    return (void)i, ldexp(uniform(s), 19 * (j % 100) - 1000 + whole(s, -40, 40));
}

double tiny(source *s, int i, int j) { return (void)i, (void)j, ldexp(uniform(s), -1060); }
double huge(source *s, int i, int j) { return (void)i, (void)j, ldexp(uniform(s), 1010); }
double hilbert(source *s, int i, int j) { return (void)s, 1.0 / (1.0 + i + j); }
double zeros(source *s, int i, int j) { return (void)s, (void)i, (void)j, 0.0; }

double dominant(source *s, int i, int j)
{
    const double x = uniform(s);
    return i == j ? 4.0 * s->n : x;
}

double special_or(source *s, int rarity, double x)
{
    const double of[] = {(double)NAN, (double)INFINITY, -(double)INFINITY, 0.0, -0.0};
    return whole(s, 0, rarity) == 0 ? of[whole(s, 0, 4)] : x;
}
