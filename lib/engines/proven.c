#include "proven.h"

#include <math.h>
#include <stdio.h>

#include "../../kernels/solve/solve.h"
#include "../routine/sizes.h"
#include "../routine/solve_steps.h"

#define UNIT          0x1p-53
#define LAST_ROUNDING 0.5

enum {
    DOCUMENTED_K = 16384, /* terms to which the multi-float formats were measured */
    UNIT_EXPONENT = 53    /* of UNIT */
};

/* ---- the bounds ---- */

/* 4 sqrt(k) for the sum; z and beta C are rounded, then C. A fused multiply-add below 2^-1022 is
 * rounded as its product would be. */
const td_bound td_bound_binary64 = {.constant = 1.0,
                                    .per_root = 4.0,
                                    .exponent = UNIT_EXPONENT,
                                    .ulps = LAST_ROUNDING,
                                    .loss = {.products = 1, .element = 1},
                                    .condition = ", where nothing over- or underflows"};

/* Elements that the data do not let be as good as that are computed again. */
const td_bound td_bound_certified = {.constant = 1.0,
                                     .per_root = 4.0,
                                     .exponent = UNIT_EXPONENT,
                                     .ulps = LAST_ROUNDING,
                                     .loss = {.sum = 1, .element = 1},
                                     .is_certified = true,
                                     .condition = "; with N given, as N and the data allow"};

/* Sums of binary64 in any order, and the roundings of alpha z and beta C. */
const td_bound td_bound_native = {.constant = 1.0,
                                  .per_term = 1.0,
                                  .exponent = UNIT_EXPONENT,
                                  .ulps = LAST_ROUNDING,
                                  .loss = {.products = 1, .element = 2},
                                  .typical = &td_bound_binary64};

/* 495: a block of 16, flushing and normalising, splitting, and the join. What is lost is C's
 * rounding. */
const td_bound td_bound_df = {.constant = 495.0,
                              .per_term = 3.0 / 512.0,
                              .exponent = 48,
                              .loss = {.element = 1},
                              .measured = 42.9,
                              .measured_to = DOCUMENTED_K,
                              .bits = 41.0};

/* A sum that is rounded once; below 2^-1022 twice. */
#define ROUNDED_ONCE(exponent_, measured_)                                                         \
    {                                                                                              \
        .constant = 1.0, .exponent = exponent_, .ulps = LAST_ROUNDING, .loss = {.element = 1},     \
        .proven_to = DOCUMENTED_K, .measured = measured_, .measured_to = DOCUMENTED_K,             \
        .bits = TD_MOST_BITS - 0.1                                                                 \
    }
const td_bound td_bound_ts = ROUNDED_ONCE(59, 66.0);
const td_bound td_bound_dd = ROUNDED_ONCE(96, 101.0);
const td_bound td_bound_ds = ROUNDED_ONCE(76, 77.0);

const td_bound td_bound_faithful = {.ulps = LAST_ROUNDING, .bits = TD_MOST_BITS};

/* ---- what follows from them ---- */

/* The error of k terms in units. */
static double units_of(const td_bound *b, int64_t k)
{
    return b->constant + b->per_root * sqrt((double)k) + b->per_term * (double)k;
}

static td_sample_bound at(const td_bound *b, int64_t k)
{
    return (td_sample_bound){ldexp(units_of(b, k), -b->exponent), b->ulps, b->loss};
}

static bool is_proven(const td_bound *b, td_parameter parameter, int64_t k)
{
    return b && !(b->is_certified && parameter.is_given) && (!b->proven_to || k <= b->proven_to);
}

td_sample_bound td_proven(const td_engine *engine, td_parameter parameter, int64_t k)
{
    const td_bound *b = engine->bound;
    if (!is_proven(b, parameter, k)) return (td_sample_bound){.relative = (double)INFINITY};
    td_sample_bound bound = at(b, k);
    if (!b->is_certified || parameter.prices.native == 0) return bound;
    const td_sample_bound native = at(&td_bound_native, k);
    bound.relative = fmax(native.relative, bound.relative);
    bound.loss.products = native.loss.products;
    bound.loss.element = native.loss.element;
    return bound;
}

static double bits_of(const td_bound *bound, int64_t k)
{
    const td_bound *b = bound->typical ? bound->typical : bound;
    if (b->measured_to && k > b->measured_to) return 0.0;
    return b->bits > 0.0 ? b->bits : b->exponent - log2(units_of(b, k));
}

double td_bits(const td_engine *engine, td_parameter parameter, int64_t k)
{
    const td_bound *b = engine->bound;
    if (!b) return -1.0;
    return b->is_certified && parameter.is_given ? 0.0 : bits_of(b, k);
}

double td_bits_of_binary64(int64_t k) { return bits_of(&td_bound_binary64, k); }

/* What errors are relative to, and what C adds to them. */
#define RELATIVE_TO "(|alpha||A||B| + |beta||C|)"
static const char *last_rounding(const td_bound *b)
{
    return b->ulps > 0.0 ? ", then one rounding" : "";
}

/* Of a sum of as many terms as were measured: its error, and the whole power of two that is proven
 * of it. */
static void print_measured(const td_bound *b, char text[TD_ERROR_TEXT])
{
    const double proven = floor(-log2(at(b, b->measured_to).relative));
    snprintf(text, TD_ERROR_TEXT, "2^-%g " RELATIVE_TO " measured, 2^-%g proven, to k = %d%s",
             b->measured, proven, (int)b->measured_to, last_rounding(b));
}

static void print_proven(const td_bound *b, char text[TD_ERROR_TEXT])
{
    char terms[32] = "k";
    if (b->per_root > 0.0) snprintf(terms, sizeof terms, "%g sqrt(k)", b->per_root);
    snprintf(text, TD_ERROR_TEXT, "(%s + %g) 2^-%d " RELATIVE_TO "%s%s", terms, b->constant,
             b->exponent, last_rounding(b), b->condition);
}

const char *td_error_print(const td_engine *engine, char text[TD_ERROR_TEXT])
{
    const td_bound *b = engine->bound;
    if (engine->error) return engine->error;
    (b->measured > 0.0 ? print_measured : print_proven)(b, text);
    return text;
}

/* ---- triangular solves ---- */

/* What one product adds to a residual: its error, or that of mode fp64, which makes it where the
 * mode cannot, and the roundings of what it is taken away from. */
static double of_update(const td_engine *engine, td_parameter parameter, int64_t k, int parts)
{
    const double by_mode = td_proven(engine, parameter, parts * k).relative,
                 by_fp64 = at(&td_bound_binary64, parts * k).relative;
    return fmax(by_mode, by_fp64) + (parts == 2 ? 7.0 : 2.0) * UNIT;
}

/* Roundings of a block (kernels/solve/solve.h): of a chain over a band, of what is less the bands,
 * the tiles and the terms of a tile, of alpha B, and two of a quotient. */
static double of_block(int64_t rows)
{
    const int tiles = TD_SOLVE_BAND / TD_SOLVE_TILE;
    const double bands = (double)rows / TD_SOLVE_BAND;
    return (TD_SOLVE_BAND + bands + tiles + TD_SOLVE_TILE + 3.0) * UNIT;
}

/* Complex numbers have twice the rows and terms, and quotients of more roundings. */
td_sample_bound td_proven_solve(const td_engine *engine, td_parameter parameter,
                                const td_problem *p, int64_t block_rows)
{
    const int parts = p->type == TD_COMPLEX_BINARY64 ? 2 : 1;
    double sum = of_block(parts * block_rows) * (parts == 2 ? 4.0 : 1.0);
    for (int64_t k = block_rows; k < td_solve_order(p); k *= 2)
        sum += of_update(engine, parameter, k, parts);
    return (td_sample_bound){.relative = sum, .loss = {4.0 / parts, 1.0, 2.0}};
}

/* ---- LU factors ---- */

/* Roundings of a panel: of a chain over its columns, and two of a quotient. */
static double of_panel(int64_t columns) { return ((double)columns + 3.0) * UNIT; }

/* What one product of so many terms adds in a panel: the mode's, or cuBLAS's if they are few. */
static double of_columns(const td_engine *engine, td_parameter parameter, td_solve_cut by,
                         int64_t terms, int parts)
{
    return of_update(terms < by.least_terms ? td_engines[0] : engine, parameter, terms, parts);
}

/* What is left of an element before a part is taken away is at most the products that are still to
 * come, so that each part's error counts for |L||U| once, and the largest once more. Parts are
 * counted as if each piece of a panel were one, and panels of several pieces have a solve, as have
 * the rows beside a block: of all its columns, or of a panel's after a product of up to all rows
 * above. A solve's residual counts for what is left of the element and for its own products. */
td_sample_bound td_proven_lu(const td_engine *engine, td_parameter parameter, const td_problem *p,
                             const td_lu_cut *cut, td_solve_cut by)
{
    const int parts = p->type == TD_COMPLEX_BINARY64 ? 2 : 1;
    const double chains = parts == 2 ? 4.0 : 1.0;
    const int64_t between = td_lu_blocks(p, cut) - 1, panel = cut->of_many.panel,
                  piece = td_lu_least_piece(cut), within = td_ceil_div(cut->block, piece);
    const double between_blocks = of_update(engine, parameter, cut->block, parts),
                 of_panels = of_columns(engine, parameter, by, panel, parts),
                 of_pieces = of_columns(engine, parameter, by, piece, parts);
    double sum =
        of_panel(parts * panel) * chains + (double)(within + 1) * fmax(of_panels, of_pieces);
    if (!p->pivots) return (td_sample_bound){.relative = (double)INFINITY};
    if (piece < panel) sum += 2.0 * of_block(parts * panel) * chains;
    if (between > 0) {
        const td_problem solve = td_lu_block_solve(p, cut, 0);
        const double by_panels = of_update(td_engines[0], parameter, cut->block, parts) +
                                 of_block(parts * panel) * chains;
        sum += (double)(between + 1) * between_blocks +
               2.0 * (panel < by.least_terms || engine == td_engines[0]
                          ? by_panels
                          : td_proven_solve(engine, parameter, &solve, by.block_rows).relative);
    }
    return (td_sample_bound){.relative = sum,
                             .loss = {4.0 / parts, (double)(between + within + 1), 2.0}};
}

/* ---- Cholesky factors ---- */

/* Of a diagonal block's products, each of which is a quotient's times a number, relative to that of
 * the factors that these become: two roundings of the one, and of either factor a root, a
 * reciprocal and a product. */
static const double of_diagonal_block = 8.0 * UNIT;

/* Parts count as for LU. The last panel is the widest. No product that an element meets has more
 * terms, and so a larger error, than the one that stands for all of them. */
td_sample_bound td_proven_cholesky(const td_engine *engine, td_parameter parameter,
                                   const td_problem *p, td_cholesky_cut cut)
{
    const int parts = p->type == TD_COMPLEX_BINARY64 ? 2 : 1;
    const int64_t products = td_cholesky_products_of_element(cut, p->n),
                  terms = td_cholesky_most_terms(cut, p->n),
                  widest = td_smaller(p->n, products ? td_larger(cut.panel, cut.whole) : p->n);
    double sum = (of_panel(parts * widest) + of_diagonal_block) * (parts == 2 ? 4.0 : 1.0);
    if (products > 0) sum += (double)(products + 1) * of_update(engine, parameter, terms, parts);
    return (td_sample_bound){.relative = sum, .loss = {4.0 / parts, (double)(products + 1), 2.0}};
}
