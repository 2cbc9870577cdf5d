#include "eigen_model.h"

#include <math.h>

#include "../routine/real.h"
#include "../routine/sizes.h"
#include "figures.h"

/* ---- products ---- */

td_real_product td_eigen_real_product(int64_t n, td_eigen_product_id which)
{
    double nowhere; /* NULL would be no matrix */
    const td_eigen_matrices m = {
        .n = n, .a = &nowhere, .x = &nowhere, .y = &nowhere, .s = &nowhere, .r = &nowhere};
    const td_product product = td_eigen_product(&m, which);
    return td_real_product_of(&product);
}

/* Refined twice where eigenvalues are apart, three times where there are clusters of them; and A X
 * and X'X once more than that. */
enum { STEPS = 3 };

/* Seconds of all products of so many steps by every way; negative where nobody can say. */
static void predict_products(const td_model *model, int64_t n, int steps,
                             double seconds[TD_MOST_WAYS])
{
    for (int i = 0; i < TD_MOST_WAYS; i++) seconds[i] = 0.0;
    for (int which = 0; which < TD_EIGEN_PRODUCTS; which++) {
        const int times = which < TD_EIGEN_CHECKS ? steps + 1 : steps;
        const td_real_product real = td_eigen_real_product(n, (td_eigen_product_id)which);
        double once[TD_MOST_WAYS] = {0.0};
        td_model_predict(model, &real, once);
        for (int i = 0; i < TD_MOST_WAYS; i++)
            seconds[i] = seconds[i] < 0.0 || once[i] < 0.0 ? -1.0 : seconds[i] + times * once[i];
    }
}

/* ---- cuSOLVER ---- */

#define NATIVE(cards, ...) {cards, 0, TD_BINARY64, {__VA_ARGS__}},
static const td_figures_by_order native_rows[] = {
#include "eigen.def"
};
#define NARROW(cards, ...) {cards, 0, TD_BINARY64, {__VA_ARGS__}},
static const td_figures_by_order narrow_rows[] = {
#include "eigen.def"
};
static const double orders[] = {TD_EIGEN_ORDERS};
enum { ORDERS = sizeof orders / sizeof *orders };

/* Its reduction to a tridiagonal matrix reads what is left of the matrix once a column, n^3 / 3
 * elements in all, and waits for a chain of kernels for each. Of an H200's times at orders from
 * 1024 to 8192 less its products: 9.3 microseconds a column, 3.4 TB/s of binary64, and as many
 * elements a second of binary32. */
static double reduction(const td_model *model, int64_t n, double element_bytes)
{
    const double column = 9.3e-6, most_elements = 4.5e11,
                 elements = fmin(model->rates.bytes / element_bytes, most_elements),
                 order = (double)n;
    return column * order + order * order * order / 3.0 / elements;
}

/* By cuBLAS or, where that is faster, by a mode that emulates what cuSOLVER calls. */
static double native_product(const td_model *model, const td_real_product *real)
{
    td_parameter parameter;
    const td_engine *engine = td_engine_parse("ozaki2", &parameter);
    double seconds[TD_MOST_WAYS];
    td_model_predict(model, real, seconds);
    const double emulated = seconds[td_way_of(engine, parameter)];
    return emulated >= 0.0 ? fmin(seconds[0], emulated) : seconds[0];
}

/* Updates of rank 64 in the reduction, 2/3 n^3 operations, and 2 n^3 of reflectors of 64 columns
 * behind it; products of half the order between the two, where LAPACK's divide and conquer makes
 * 4/3 n^3. */
static double native_products(const td_model *model, int64_t n)
{
    enum { PANEL = 64 };
    const int64_t half = td_ceil_div(n, 2);
    const td_real_product panel = {.m = n, .n = n, .k = PANEL, .batch = 1},
                          cube = {.m = half, .n = half, .k = half, .batch = 1};
    const double panels = (double)n / PANEL * (1.0 + 1.0 / 3.0), cubes = 16.0 / 3.0;
    return panels * native_product(model, &panel) + cubes * native_product(model, &cube);
}

static double measured(const td_model *model, const td_figures_by_order *rows, size_t count,
                       int64_t n)
{
    const td_figures_by_order *r = td_find_figures(rows, count, model, TD_BINARY64);
    return r ? 1e-3 * td_figure_at(r, orders, ORDERS, (double)n) : -1.0;
}

static double native_seconds(const td_model *model, int64_t n)
{
    const double known = measured(model, native_rows, sizeof native_rows / sizeof *native_rows, n);
    return known >= 0.0 ? known : reduction(model, n, sizeof(double)) + native_products(model, n);
}

/* Products of binary32 are a small part. */
static double narrow_seconds(const td_model *model, int64_t n)
{
    const double known = measured(model, narrow_rows, sizeof narrow_rows / sizeof *narrow_rows, n);
    const double order = (double)n;
    return known >= 0.0 ? known
                        : reduction(model, n, sizeof(float)) +
                              4.0 * order * order * order / model->rates.fp32;
}

/* ---- eigenvectors ---- */

/* What lies between the products: some twenty matrices are read or written in a step, and the host
 * waits twice. */
static double between_products(const td_model *model, int64_t n, int steps)
{
    const double waiting = 2 * 20e-6, matrices = 20.0,
                 bytes = (double)n * (double)n * sizeof(double);
    return (steps + 1) * (waiting + matrices * bytes / model->rates.bytes);
}

/* Of binary32's vectors and so many steps by every way; negative where nobody can say. */
static void predict_refined(const td_model *model, int64_t n, int steps,
                            double seconds[TD_MOST_WAYS])
{
    const double others = narrow_seconds(model, n) + between_products(model, n, steps);
    predict_products(model, n, steps, seconds);
    for (int i = 0; i < TD_MOST_WAYS; i++)
        seconds[i] = n < TD_EIGEN_LEAST_ORDER || seconds[i] < 0.0 ? -1.0 : seconds[i] + others;
}

void td_model_predict_eigen(const td_model *model, int64_t n, td_way_forecast *by_way)
{
    double seconds[TD_MOST_WAYS];
    predict_refined(model, n, STEPS, seconds);
    for (int i = 0; i < TD_MOST_WAYS; i++) by_way[i] = (td_way_forecast){.seconds = seconds[i]};
    by_way[0].seconds = native_seconds(model, n);
}

double td_model_eigen_found_out(const td_model *model, int64_t n, int way)
{
    double seconds[TD_MOST_WAYS];
    predict_refined(model, n, TD_EIGEN_MOST_STEPS, seconds);
    return seconds[way] < 0.0 ? -1.0 : seconds[way] + native_seconds(model, n);
}
