#include "solve_model.h"

#include <math.h>

#include "../routine/real.h"
#include "../routine/sizes.h"
#include "figures.h"
#include "tuning.h"

enum { LEAST_PANEL = 8 }; /* vectors of a block of threads, where there are few */

/* Real multiply-adds of one of the type. */
static double real_products(const td_problem *p)
{
    return p->type == TD_COMPLEX_BINARY64 ? 4.0 : 1.0;
}

static double real_parts(const td_problem *p) { return p->type == TD_COMPLEX_BINARY64 ? 2.0 : 1.0; }

/* The factor of a timed solve of that type. */
static double timed(const td_model *model, const td_problem *p, td_timed real, td_timed complex,
                    int64_t order)
{
    const td_real_product sizes = td_timed_solve(order, td_solve_vectors(p));
    return td_model_timed(model, p->type == TD_COMPLEX_BINARY64 ? complex : real, &sizes);
}

/* ---- few vectors ---- */

/* cuBLAS has kernels of their own for few vectors, if A is on the left: microseconds for so many of
 * them at most, by the rows of real numbers that A has, on an H200 (docs/results/
 * h200-2026-11-29-solvers). Other cards are taken to wait as long, or as A takes to be read. */
static const double narrow_orders[] = {128, 512, 2048, 8192};
enum { NARROW_ORDERS = sizeof narrow_orders / sizeof *narrow_orders };
static const struct {
    bool is_as_is; /* op(A) is A */
    int64_t most;  /* vectors */
    td_figures_by_order us;
} narrow[] = {{true, 1, {"", 0, TD_BINARY64, {21, 46, 135, 549}}},
              {true, 4, {"", 0, TD_BINARY64, {26, 64, 215, 1360}}},
              {true, 8, {"", 0, TD_BINARY64, {33, 89, 313, 2340}}},
              {false, 1, {"", 0, TD_BINARY64, {22, 47, 138, 590}}},
              {false, 4, {"", 0, TD_BINARY64, {38, 123, 460, 2520}}},
              {true, 1, {"", 0, TD_COMPLEX_BINARY64, {23, 45, 128, 480}}},
              {true, 4, {"", 0, TD_COMPLEX_BINARY64, {21, 42, 133, 784}}},
              {true, 8, {"", 0, TD_COMPLEX_BINARY64, {26, 58, 193, 1320}}},
              {false, 1, {"", 0, TD_COMPLEX_BINARY64, {26, 44, 122, 451}}},
              {false, 4, {"", 0, TD_COMPLEX_BINARY64, {26, 74, 278, 1440}}}};

static double real_rows(const td_problem *p) { return real_parts(p) * (double)td_solve_order(p); }

/* The figures of a call; NULL: it is none of these. */
static const td_figures_by_order *find_narrow(const td_problem *p)
{
    const bool is_as_is = p->op_a == TD_OP_N;
    if (p->side != TD_LEFT || real_rows(p) < narrow_orders[0]) return NULL;
    for (size_t i = 0; i < sizeof narrow / sizeof *narrow; i++)
        if (narrow[i].us.type == p->type && narrow[i].is_as_is == is_as_is &&
            td_solve_vectors(p) <= narrow[i].most)
            return &narrow[i].us;
    return NULL;
}

/* ---- cuBLAS's own solve ---- */

/* As many operations as a product has, some time for every row, which is more
 * where there are many, and for every element of B. */
static double native_by_rates(const td_model *model, const td_problem *p)
{
    const td_rates *rates = &model->rates;
    const double order = (double)td_solve_order(p), vectors = (double)td_solve_vectors(p),
                 first_rows = fmin(order, 256.0);
    const double by_rates =
        real_products(p) * order * order * vectors / rates->matrix64 +
        td_tuned_native_solve_first_row * 1e-6 * first_rows +
        td_tuned_native_solve_row * 1e-6 * (order - first_rows) +
        td_tuned_native_solve_bytes * real_parts(p) * order * vectors / rates->bytes;
    return by_rates *
           timed(model, p, TD_TIMED_native_dtrsm, TD_TIMED_native_ztrsm, td_solve_order(p));
}

/* The triangle is read once, and the operations are done, at the card's rates. */
static double least_seconds(const td_model *model, const td_problem *p)
{
    const double order = (double)td_solve_order(p), vectors = (double)td_solve_vectors(p),
                 bytes = (double)td_types[p->type].size * order * (order + 1.0) / 2.0;
    return fmax(bytes / model->rates.bytes,
                real_products(p) * order * order * vectors / model->rates.matrix64);
}

double td_model_native_solve(const td_model *model, const td_problem *p)
{
    const td_figures_by_order *us = find_narrow(p);
    if (!us) return native_by_rates(model, p);
    return fmax(1e-6 * td_figure_at(us, narrow_orders, NARROW_ORDERS, real_rows(p)),
                least_seconds(model, p));
}

/* ---- Tandem's ---- */

/* All systems with diagonal blocks of so many rows, one after another: a launch of each, its chain
 * of rows, and its operations, by as many multiprocessors as have vectors. */
double td_model_solve_blocks(const td_model *model, const td_problem *p, int64_t block_rows)
{
    const td_rates *rates = &model->rates;
    const double blocks = (double)td_solve_blocks(p, block_rows), order = (double)td_solve_order(p),
                 vectors = (double)td_solve_vectors(p), rows = fmin((double)block_rows, order),
                 operations = real_products(p) * order * rows * vectors,
                 busy = fmin(1.0, ceil(vectors / LEAST_PANEL) / rates->multiprocessors);
    const double by_rates = blocks * (rates->launch + td_tuned_solve_block * 1e-6) +
                            real_parts(p) * order * td_tuned_solve_row * 1e-6 +
                            operations / (td_tuned_solve_share * rates->matrix64 * busy);
    return by_rates * timed(model, p, TD_TIMED_block_dtrsm, TD_TIMED_block_ztrsm, (int64_t)rows);
}

/* The real product that takes `known` times so many known rows away. */
static td_real_product real_update(const td_problem *p, int64_t terms, int64_t known)
{
    const td_product product = td_solve_update(p, terms, known);
    return td_real_product_of(&product);
}

/* Adds what `count` products like that take. */
static void add_products(const td_model *model, const td_real_product *product, int64_t count,
                         double *seconds)
{
    double once[TD_MOST_WAYS];
    int ways;
    (void)td_ways(&ways);
    if (count == 0) return;
    td_model_predict(model, product, once);
    for (int i = 0; i < ways; i++)
        seconds[i] =
            once[i] < 0.0 || seconds[i] < 0.0 ? -1.0 : seconds[i] + (double)count * once[i];
}

/* Adds the products of so many terms: one for every pair of blocks of as many rows, of which the
 * last may have fewer. They are the same whatever smaller blocks the solve is cut into. */
static void predict_products(const td_model *model, const td_problem *p, int64_t terms,
                             double *seconds)
{
    const int64_t count = td_solve_blocks(p, terms) / 2,
                  whole = td_smaller(count, td_solve_order(p) / (2 * terms));
    for (int i = 0; i < TD_MOST_WAYS; i++) seconds[i] = 0.0;
    if (count == 0) return;
    const td_real_product first = real_update(p, terms, 1),
                          last = real_update(p, terms, 2 * count - 1);
    add_products(model, &first, whole, seconds);
    add_products(model, &last, count - whole, seconds);
}

/* The most terms of a product, a power of two times rows of a block; 0 if all is one block. */
static int64_t most_terms(const td_problem *p, int64_t block_rows)
{
    const int64_t order = td_solve_order(p);
    int64_t terms = block_rows;
    while (2 * terms < order) terms *= 2;
    return terms < order ? terms : 0;
}

/* Products with few vectors take longer than larger ones let expect. */
static double share_of_few(const td_problem *p)
{
    enum { FEW = 4 };
    return td_solve_vectors(p) <= FEW ? td_tuned_few_vectors : 1.0;
}

/* Blocks of so many rows, if that takes the least time yet. */
static void consider(const td_problem *p, int64_t block_rows, double seconds, int64_t least_terms,
                     td_way_forecast *best)
{
    if (block_rows > td_solve_most_rows(p->type) || (best->seconds && seconds >= best->seconds))
        return;
    *best = (td_way_forecast){seconds, {block_rows, least_terms}};
}

/* The products of most terms first: once mode fp64 is faster, it makes all that are smaller. */
void td_model_predict_solve(const td_model *model, const td_problem *p, td_way_forecast *by_way)
{
    const int fp64 = td_way_of_binary64();
    bool is_passed[TD_MOST_WAYS] = {false};
    double products[TD_MOST_WAYS] = {0.0}, of_size[TD_MOST_WAYS];
    int64_t least_terms[TD_MOST_WAYS], rows = 2 * most_terms(p, TD_SOLVE_LEAST_ROWS);
    int ways;
    (void)td_ways(&ways);
    for (int i = 0; i < TD_MOST_WAYS; i++) {
        by_way[i] = (td_way_forecast){0};
        least_terms[i] = INT64_MAX;
    }
    for (rows = td_larger(rows, TD_SOLVE_LEAST_ROWS); rows >= TD_SOLVE_LEAST_ROWS; rows /= 2) {
        const double blocks = td_model_solve_blocks(model, p, rows);
        predict_products(model, p, rows, of_size);
        for (int i = 1; i < ways; i++) {
            if (of_size[fp64] > 0.0 && (of_size[i] < 0.0 || of_size[i] >= of_size[fp64]))
                is_passed[i] = true;
            else if (of_size[fp64] > 0.0 && !is_passed[i])
                least_terms[i] = rows;
            products[i] += of_size[is_passed[i] ? fp64 : i];
            consider(p, rows, products[i] + blocks, least_terms[i], &by_way[i]);
        }
    }
    for (int i = 1; i < ways; i++) by_way[i].seconds *= share_of_few(p);
    by_way[0].seconds = td_model_native_solve(model, p);
}

bool td_solve_largest(const td_problem *p, int64_t block_rows, td_real_product *product)
{
    const int64_t terms = most_terms(p, block_rows);
    if (terms == 0) return false;
    *product = real_update(p, terms, 1);
    return true;
}
