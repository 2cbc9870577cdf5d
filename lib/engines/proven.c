#include "proven.h"

#include <math.h>

#include "../../kernels/solve/solve.h"
#include "../routine/steps.h"

/* Terms to which the bounds of ts, dd and d+s are given. */
enum { DOCUMENTED_K = 16384 };

static const double unit = 0x1p-53, last_rounding = 0.5;

static td_sample_bound nothing(void) { return (td_sample_bound){.relative = (double)INFINITY}; }

/* Sums of binary64 in any order, and the roundings of alpha z and beta C. */
TD_PROVEN(native)
{
    (void)parameter;
    return (td_sample_bound){
        ((double)k + 1.0) * unit, last_rounding, {.products = 1, .element = 2}};
}

/* 495: a block of 16, flushing and normalising, splitting, and the join, in 2^-48. What is lost is
 * C's rounding. */
TD_PROVEN(df)
{
    (void)parameter;
    return (td_sample_bound){.relative = (495.0 + 3.0 * (double)k / 512.0) * 0x1p-48,
                             .loss = {.element = 1}};
}

/* Below 2^-1022 twice. */
static td_sample_bound rounded_once(double sum, int64_t k)
{
    return k <= DOCUMENTED_K ? (td_sample_bound){sum, last_rounding, {.element = 1}} : nothing();
}

TD_PROVEN(ts)
{
    (void)parameter;
    return rounded_once(0x1p-59, k);
}

TD_PROVEN(dd)
{
    (void)parameter;
    return rounded_once(0x1p-96, k);
}

TD_PROVEN(ds)
{
    (void)parameter;
    return rounded_once(0x1p-76, k);
}

/* 4 sqrt(k) for the sum; z and beta C are rounded, then C. */
static td_sample_bound of_square_root(int64_t k, td_sample_loss loss)
{
    return (td_sample_bound){(4.0 * sqrt((double)k) + 1.0) * unit, last_rounding, loss};
}

/* A fused multiply-add below 2^-1022 is rounded as its product would be. */
TD_PROVEN(fp64)
{
    (void)parameter;
    return of_square_root(k, (td_sample_loss){.products = 1, .element = 1});
}

/* With a number of moduli or slices nothing is certified. Native products may stand for others. */
TD_PROVEN(certified)
{
    if (parameter.is_given) return nothing();
    td_sample_bound certified = of_square_root(k, (td_sample_loss){.sum = 1, .element = 1});
    if (parameter.prices.native == 0) return certified;
    const td_sample_bound native = td_proven_native(parameter, k);
    certified.relative = fmax(native.relative, certified.relative);
    certified.loss.products = native.loss.products;
    certified.loss.element = native.loss.element;
    return certified;
}

TD_PROVEN(faithful)
{
    (void)parameter, (void)k;
    return (td_sample_bound){.ulps = last_rounding};
}

/* What one product adds to a residual: its error, or that of mode fp64, which makes it where the
 * mode cannot, and the roundings of what it is taken away from. */
static double of_update(const td_engine *engine, td_parameter parameter, int64_t k, int parts)
{
    const double by_mode = engine->proven(parameter, parts * k).relative,
                 by_fp64 = td_proven_fp64(parameter, parts * k).relative;
    return fmax(by_mode, by_fp64) + (parts == 2 ? 7.0 : 2.0) * unit;
}

/* Roundings of a block (kernels/solve/solve.h): of a chain over a band, of what is less the bands,
 * the tiles and the terms of a tile, of alpha B, and two of a quotient. */
static double of_block(int64_t rows)
{
    const int tiles = TD_SOLVE_BAND / TD_SOLVE_TILE;
    const double bands = (double)rows / TD_SOLVE_BAND;
    return (TD_SOLVE_BAND + bands + tiles + TD_SOLVE_TILE + 3.0) * unit;
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
