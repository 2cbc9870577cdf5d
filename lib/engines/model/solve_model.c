#include "solve_model.h"

#include "../real.h"
#include "../solve/steps.h"
#include "tuning.h"

/* Real multiply-adds of one of the type. */
static double real_products(const td_problem *p)
{
    return p->type == TD_COMPLEX_BINARY64 ? 4.0 : 1.0;
}

static double real_parts(const td_problem *p) { return p->type == TD_COMPLEX_BINARY64 ? 2.0 : 1.0; }

/* cuBLAS's own solve: as many operations as a product has, some time for every block of rows, one
 * after another, and for every element of B. */
double td_model_native_solve(const td_model *model, const td_problem *p)
{
    const td_rates *rates = &model->rates;
    const double order = (double)td_solve_order(p), vectors = (double)td_solve_vectors(p);
    return real_products(p) * order * order * vectors / rates->matrix64 +
           td_tuned_native_solve_row * 1e-6 * order +
           td_tuned_native_solve_bytes * real_parts(p) * order * vectors / rates->bytes;
}

/* All systems with diagonal blocks, one after another. */
static double block_seconds(const td_rates *rates, const td_problem *p)
{
    const double blocks = (double)td_solve_blocks(p), vectors = (double)td_solve_vectors(p),
                 operations = real_products(p) * TD_SOLVE_ORDER * TD_SOLVE_ORDER * vectors;
    return blocks * (rates->launch + td_tuned_solve_block * 1e-6 +
                     operations / (td_tuned_solve_share * rates->fp64));
}

/* The real product that the one after `known` blocks is. */
static td_problem real_update(const td_problem *p, int64_t known)
{
    const td_problem product = td_solve_update(p, known);
    td_problem real;
    td_real_product(&product, &real);
    return real;
}

/* Adds what `count` products like the one after `known` blocks take. */
static void add_products(const td_model *model, const td_problem *p, int64_t known, int64_t count,
                         double *seconds)
{
    double once[TD_MOST_WAYS];
    int ways;
    (void)td_ways(&ways);
    const td_problem product = real_update(p, known);
    td_model_predict(model, &product, once);
    for (int i = 0; i < ways; i++)
        seconds[i] =
            once[i] < 0.0 || seconds[i] < 0.0 ? -1.0 : seconds[i] + (double)count * once[i];
}

/* Those of `size` blocks of terms, every 2 size blocks: the last of them may have fewer rows. */
static void predict_products(const td_model *model, const td_problem *p, int64_t size,
                             double *seconds)
{
    const int64_t blocks = td_solve_blocks(p), count = (blocks - 1 + size) / (2 * size),
                  last = (2 * count - 1) * size;
    const bool is_last_whole = last + size <= blocks;
    for (int i = 0; i < TD_MOST_WAYS; i++) seconds[i] = 0.0;
    if (count > 1 || is_last_whole)
        add_products(model, p, size, is_last_whole ? count : count - 1, seconds);
    if (!is_last_whole) add_products(model, p, last, 1, seconds);
}

/* The most blocks that a product takes away: a power of two; 0 if all is one block. */
static int64_t most_blocks_of_terms(const td_problem *p)
{
    const int64_t blocks = td_solve_blocks(p);
    int64_t size = 1;
    while (2 * size < blocks) size *= 2;
    return blocks < 2 ? 0 : size;
}

/* The products of most terms first: once mode fp64 is faster, it makes all that are smaller. */
void td_model_predict_solve(const td_model *model, const td_problem *p, double *seconds,
                            int64_t *least_terms)
{
    const int fp64 = td_way_of(&td_engine_fp64, (td_parameter){0});
    bool is_passed[TD_MOST_WAYS] = {false};
    double by_way[TD_MOST_WAYS];
    int ways;
    (void)td_ways(&ways);
    for (int i = 0; i < ways; i++) {
        seconds[i] = block_seconds(&model->rates, p);
        least_terms[i] = INT64_MAX;
    }
    for (int64_t size = most_blocks_of_terms(p); size > 0; size /= 2) {
        predict_products(model, p, size, by_way);
        for (int i = 1; i < ways; i++) {
            is_passed[i] = is_passed[i] || by_way[i] < 0.0 || by_way[i] >= by_way[fp64];
            if (!is_passed[i]) least_terms[i] = size * TD_SOLVE_ORDER;
            seconds[i] += by_way[is_passed[i] ? fp64 : i];
        }
    }
    seconds[0] = td_model_native_solve(model, p);
}

bool td_solve_largest(const td_problem *p, td_problem *product)
{
    const int64_t size = most_blocks_of_terms(p);
    if (size == 0) return false;
    *product = real_update(p, size);
    return true;
}
