#include "system.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/solve/solve.h"
#include "tests/support/random.h"
#include "tests/support/test.h"

const char *const system_data[] = {"plain",         "graded rows", "graded columns", "graded both",
                                   "near singular", "normal",      "Kahan",          "extreme"};

static bool is(const triangular *of, const char *data) { return strcmp(of->data, data) == 0; }

static int parts_of(const triangular *of) { return of->type == TD_COMPLEX_BINARY64 ? 2 : 1; }

triangular system_varied(const char *data, td_type type, int64_t order, int64_t vectors, int which)
{
    return (triangular){
        .data = data,
        .type = type,
        .side = which & 1 ? TD_RIGHT : TD_LEFT,
        .triangle = which & 2 ? TD_UPPER : TD_LOWER,
        .op = (td_op)(which / 4 % 3),
        .diagonal = which / 12 % 2 ? TD_UNIT_DIAGONAL : TD_NON_UNIT_DIAGONAL,
        .order = order,
        .vectors = vectors,
        .alpha = {which % 3 ? 1.0 : -0.7, which % 3 == 2 ? 0.0 : 0.3},
        .pad_a = which % 5,
        .pad_b = which % 7 * (which % 4 == 3 ? 40 : 1),
        .guard = which % 4,
        .seed = 17 + (uint64_t)which,
    };
}

const char *system_text(const triangular *of)
{
    static char text[256];
    snprintf(text, sizeof text,
             "%s %s %s %s op %c %s order %d vectors %d alpha %g %g pads %d %d guard %d seed %d",
             of->data, td_types[of->type].name, of->side == TD_LEFT ? "left" : "right",
             of->triangle == TD_LOWER ? "lower" : "upper", "NTC"[of->op],
             of -> diagonal == TD_UNIT_DIAGONAL ? "unit" : "non-unit", (int)of->order,
             (int)of->vectors, of->alpha[0], of->alpha[1], of->pad_a, of->pad_b, of->guard,
             (int)of->seed);
    return text;
}

/* ---- elements in the order of the solve ---- */

static bool is_forward(const triangular *of)
{
    const bool is_lower = (of->triangle == TD_LOWER) == (of->op == TD_OP_N);
    return is_lower == (of->side == TD_LEFT);
}

static int64_t in_order(const triangular *of, int64_t i)
{
    return is_forward(of) ? i : of->order - 1 - i;
}

/* The first part of element (i, j). */
static double *parts_at(const triangular *of, const test_matrix *m, int64_t i, int64_t j)
{
    return matrix_at(m, parts_of(of) * i, j);
}

static double *vector_at(const triangular *of, const test_matrix *b, int64_t i, int64_t v)
{
    const int64_t at = in_order(of, i);
    return of->side == TD_LEFT ? parts_at(of, b, at, v) : parts_at(of, b, v, at);
}

static double *element_at(const system_matrices *s, int64_t i, int64_t j)
{
    const triangular *of = &s->of;
    const int64_t row = in_order(of, i), column = in_order(of, j);
    const bool swaps = (of->side == TD_RIGHT) != (of->op != TD_OP_N);
    return swaps ? parts_at(of, &s->a, column, row) : parts_at(of, &s->a, row, column);
}

/* Of these parts alone: an infinity times the imaginary unit has no NaN in it. */
static ref_number number_of(long double re, long double im)
{
    const long double parts[2] = {re, im};
    ref_number x;
    memcpy(&x, parts, sizeof x);
    return x;
}

static ref_number number_at(const triangular *of, const double *at)
{
    return number_of(at[0], parts_of(of) == 2 ? at[1] : 0.0);
}

static void set_number(const triangular *of, double *at, ref_number x)
{
    at[0] = (double)creall(x);
    if (parts_of(of) == 2) at[1] = (double)cimagl(x);
}

ref_number system_vector(const triangular *of, const test_matrix *b, int64_t i, int64_t v)
{
    return number_at(of, vector_at(of, b, i, v));
}

void system_set_vector(const triangular *of, test_matrix *b, int64_t i, int64_t v, ref_number x)
{
    set_number(of, vector_at(of, b, i, v), x);
}

ref_number system_element(const system_matrices *s, int64_t i, int64_t j)
{
    const triangular *of = &s->of;
    if (i == j && of->diagonal == TD_UNIT_DIAGONAL) return 1.0L;
    const ref_number t = number_at(of, element_at(s, i, j));
    return of->op == TD_OP_C ? conjl(t) : t;
}

void system_set_element(system_matrices *s, int64_t i, int64_t j, ref_number x)
{
    set_number(&s->of, element_at(s, i, j), s->of.op == TD_OP_C ? conjl(x) : x);
}

/* ---- making ---- */

static double signed_uniform(test_random *r) { return 2.0 * random_uniform(r) - 1.0; }

static ref_number random_number(test_random *r, bool is_normal)
{
    const double re = is_normal ? random_normal(r) : signed_uniform(r),
                 im = is_normal ? random_normal(r) : signed_uniform(r);
    return number_of(re, im);
}

/* Powers of two by which row i and column j are graded. */
static int grade_of(const triangular *of, int64_t i, int64_t j)
{
    const int rows = (int)(i * 37 % of->order) - (int)of->order / 2, columns = (int)j / 2;
    if (is(of, "graded rows")) return rows;
    if (is(of, "graded columns")) return columns;
    if (is(of, "graded both")) return rows - columns;
    return is(of, "extreme") ? (j % 2 ? -1015 : 1000) : 0;
}

static ref_number element_to_test(const triangular *of, test_random *r, int64_t i, int64_t j)
{
    const bool is_diagonal = i == j;
    ref_number x = random_number(r, is(of, "normal"));
    if (is(of, "Kahan")) return is_diagonal ? powl(0.96L, i) : -0.28L * powl(0.96L, i);
    if (!is_diagonal && !is(of, "normal")) x /= (long double)of->order;
    if (is_diagonal && !is(of, "normal")) x += creall(x) < 0.0L ? -1.0L : 1.0L;
    if (is_diagonal && is(of, "near singular") && i % 29 == 7) x *= 0x1p-70L;
    const int grade = grade_of(of, i, j);
    return number_of(ldexpl(creall(x), grade), ldexpl(cimagl(x), grade));
}

static void fill(system_matrices *s)
{
    const triangular *of = &s->of;
    test_random r = random_start(of->seed);
    for (int64_t i = 0; i < of->order; i++)
        for (int64_t j = 0; j <= i; j++) {
            const ref_number x = element_to_test(of, &r, i, j);
            if (i > j || of->diagonal != TD_UNIT_DIAGONAL) system_set_element(s, i, j, x);
        }
    for (int64_t i = 0; i < of->order; i++)
        for (int64_t v = 0; v < of->vectors; v++)
            system_set_vector(of, &s->b, i, v, random_number(&r, false));
}

system_matrices system_make(const triangular *of)
{
    const int64_t parts = parts_of(of), order = of->order,
                  rows = of->side == TD_LEFT ? order : of->vectors,
                  columns = of->side == TD_LEFT ? of->vectors : order;
    system_matrices s = {
        *of, matrix_make(parts * order, order, parts * (order + of->pad_a), parts * of->guard),
        matrix_make(parts * rows, columns, parts * (rows + of->pad_b), parts * of->guard)};
    fill(&s);
    return s;
}

void system_free(system_matrices *s) { matrix_free(&s->a, &s->b); }

td_problem system_call(const system_matrices *s, double *a, double *b)
{
    const triangular *of = &s->of;
    const int64_t parts = parts_of(of);
    td_problem p = {.kind = TD_TRIANGULAR_SOLVE,
                    .type = of->type,
                    .op_a = of->op,
                    .side = of->side,
                    .triangle = of->triangle,
                    .diagonal = of->diagonal,
                    .m = s->b.rows / parts,
                    .n = s->b.cols,
                    .a = {.data = a + s->a.guard, .ld = s->a.ld / parts},
                    .b = {.data = b + s->b.guard, .ld = s->b.ld / parts},
                    .batch = 1};
    memcpy(&p.alpha.value, of->alpha, sizeof of->alpha); /* a real one is the first part */
    return p;
}

/* ---- solutions ---- */

static ref_number alpha_of(const triangular *of) { return number_at(of, of->alpha); }

/* The compiler's own product looks for infinities, to tell them from NaN, and takes three times as
 * long. */
static ref_number times(ref_number x, ref_number y)
{
    const long double a = creall(x), b = cimagl(x), c = creall(y), d = cimagl(y);
    return number_of(a * c - b * d, a * d + b * c);
}

static long double size_of(ref_number x) { return fabsl(creall(x)) + fabsl(cimagl(x)); }

/* The solution X, vector after vector. */
static ref_number *vectors_of(const triangular *of, const test_matrix *x)
{
    ref_number *const all = test_zeros((size_t)(of->order * of->vectors) + 1, sizeof *all);
    for (int64_t v = 0; v < of->vectors; v++)
        for (int64_t j = 0; j < of->order; j++) all[v * of->order + j] = system_vector(of, x, j, v);
    return all;
}

/* Room for a row of the triangle. */
static ref_number *row_of(const triangular *of)
{
    return test_zeros((size_t)of->order + 1, sizeof(ref_number));
}

/* |alpha b - a x| / (|alpha b| + |a| |x|) for the first `count` elements of a row and a vector. */
static double error_of(ref_number b, const ref_number *a, const ref_number *x, int64_t count)
{
    ref_number off = b;
    long double size = size_of(b);
    for (int64_t j = 0; j < count; j++) {
        const ref_number product = times(a[j], x[j]);
        off -= product;
        size += size_of(product);
    }
    return size == 0.0L ? 0.0 : (double)(size_of(off) / size);
}

double system_error(const system_matrices *s, const test_matrix *x)
{
    const triangular *of = &s->of;
    ref_number *const all = vectors_of(of, x);
    ref_number *const row = row_of(of);
    double worst = 0.0;
    for (int64_t i = 0; i < of->order; i++) {
        for (int64_t j = 0; j <= i; j++) row[j] = system_element(s, i, j);
        for (int64_t v = 0; v < of->vectors && worst == worst; v++) {
            const ref_number b = times(alpha_of(of), system_vector(of, &s->b, i, v));
            const double error = error_of(b, row, all + v * of->order, i + 1);
            if (!(error <= worst)) worst = error; /* a NaN stays */
        }
    }
    test_drop(all, row);
    return worst;
}

/* A chain of FMAs from `start` on over the real elements [from, to) of a row and a vector, times
 * `sign`. */
static double chain(const ref_number *a, const ref_number *x, int64_t from, int64_t to, double sign,
                    double start)
{
    for (int64_t j = from; j < to; j++)
        start = fma(sign * (double)creall(a[j]), (double)creall(x[j]), start);
    return start;
}

/* b less the products with the i elements before, of real numbers: a sum for each band, one for
 * each tile of the last band, and one by one. */
static double less_products(double b, const ref_number *a, const ref_number *x, int64_t i)
{
    const int64_t band = i - i % TD_SOLVE_BAND, tile = i - i % TD_SOLVE_TILE;
    for (int64_t j = 0; j < band; j += TD_SOLVE_BAND)
        b -= chain(a, x, j, j + TD_SOLVE_BAND, 1.0, 0.0);
    for (int64_t j = band; j < tile; j += TD_SOLVE_TILE)
        b -= chain(a, x, j, j + TD_SOLVE_TILE, 1.0, 0.0);
    return chain(a, x, tile, i, -1.0, b);
}

/* x / t by the rounded reciprocal of t, unless that is near the ends of the range. */
static double quotient(double x, double t)
{
    const bool is_mild = fabs(t) >= 0x1p-400 && fabs(t) < 0x1p401;
    return is_mild ? x * (1.0 / t) : x / t;
}

/* Element i of a vector, the ones before it being known; `a` is the row. */
static ref_number substitute(const triangular *of, ref_number b, const ref_number *a,
                             const ref_number *x, int64_t i)
{
    if (of->type == TD_BINARY64) {
        const double left = less_products(of->alpha[0] * (double)creall(b), a, x, i);
        return number_of(quotient(left, (double)creall(a[i])), 0.0);
    }
    ref_number sum = times(alpha_of(of), b);
    for (int64_t j = 0; j < i; j++) sum -= times(a[j], x[j]);
    return sum / a[i];
}

test_matrix system_substitute(const system_matrices *s)
{
    const triangular *of = &s->of;
    test_matrix x = matrix_copy(&s->b);
    ref_number *const all = vectors_of(of, &x), *const row = row_of(of);
    for (int64_t i = 0; i < of->order; i++) {
        for (int64_t j = 0; j <= i; j++) row[j] = system_element(s, i, j);
        for (int64_t v = 0; v < of->vectors; v++) {
            ref_number *const vector = all + v * of->order;
            system_set_vector(of, &x, i, v, substitute(of, vector[i], row, vector, i));
            vector[i] = system_vector(of, &x, i, v); /* as it is rounded */
        }
    }
    test_drop(all, row);
    return x;
}
