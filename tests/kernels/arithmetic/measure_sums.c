/* measure_sums.c - the largest error of many sums of products relative to sum |a b|, for ours and
 * for the papers' way of adding: the table in docs/numerics.md. Operands have all bits of the
 * format. */
#include "tests/support/test.h"

#include <math.h>
#include <stdio.h>

#include "sums.h"

enum { SEED = 27 };

typedef enum { UNIFORM, CENTRED, SPREAD, CONSTANT, KINDS } kind;
static const char *const kind_names[KINDS] = {"U(0,1)", "U(-.5,.5)", "(u-.5)e^g", "constants"};

static const struct {
    int terms, sums;
} lengths[] = {{64, 4000}, {512, 1000}, {4096, 200}, {16384, 60}};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

static const struct {
    const char *name;
    int arithmetic;
    operation in_turn; /* OPERATION_COUNT: in blocks and superblocks */
} ways[] = {
    {"df", ARITHMETIC_DF, OPERATION_COUNT}, {"df, paper", ARITHMETIC_DF, OPERATION_paper_df_fma},
    {"ts", ARITHMETIC_TS, OPERATION_COUNT}, {"ts, paper", ARITHMETIC_TS, OPERATION_paper_ts_fma},
    {"dd", ARITHMETIC_DD, OPERATION_COUNT}, {"dd, paper", ARITHMETIC_DD, OPERATION_paper_dd_fma},
};
enum { WAYS = sizeof ways / sizeof *ways };

static double draw(kind which, test_random *r)
{
    const double x = random_uniform(r) - (which == CENTRED || which == SPREAD ? 0.5 : 0.0);
    return which == SPREAD ? x * exp(random_normal(r)) : x;
}

static void fill(terms *t, int count, kind which, test_random *r)
{
    for (int i = 0; i < count; i++) {
        const int is_copy = which == CONSTANT && i > 0;
        t->a[i] = is_copy ? t->a[0] : number_lengthen(t->f, draw(which, r), r);
        t->b[i] = is_copy ? t->b[0] : number_lengthen(t->f, draw(which, r), r);
    }
}

static double largest_error(terms *t, kind which, int length, operation in_turn)
{
    const int count = lengths[length].terms;
    test_random r = random_start(SEED);
    double worst = 0.0;
    for (int i = 0; i < lengths[length].sums; i++) {
        fill(t, count, which, &r);
        const number sum =
            in_turn == OPERATION_COUNT ? sum_all(t, count) : sum_in_turn(t, count, in_turn);
        worst = fmax(worst, sum_error(t, count, sum));
    }
    return worst;
}

int main(void)
{
    static terms t;
    printf("| |");
    for (kind which = 0; which < KINDS; which++)
        for (int k = 0; k < LENGTHS; k++) printf(" %s k=%d |", kind_names[which], lengths[k].terms);
    printf("\n");
    for (int w = 0; w < WAYS; w++) {
        terms_start(&t, &arithmetics[ways[w].arithmetic]);
        printf("| %s |", ways[w].name);
        for (kind which = 0; which < KINDS; which++)
            for (int k = 0; k < LENGTHS; k++) {
                printf(" %s |", test_power(largest_error(&t, which, k, ways[w].in_turn)));
                fflush(stdout);
            }
        printf("\n");
        terms_stop(&t);
    }
    return 0;
}
