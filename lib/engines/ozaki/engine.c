/* engine.c - the modes of the Ozaki family: how each multiplies, and what it makes of the sums. */
#include "../../../kernels/repair/repair.h"
#include "../../../kernels/residue/moduli.h"
#include "second_product.h"
#include "estimate.h"
#include "cublas.h"
#include "../../model/cost.h"
#include "../proven.h"
#include "plan.h"
#include "../tiler.h"
#include "slices.h"

static cudaError_t prepare_mode(const td_ozaki_mode *mode)
{
    cudaError_t error = td_lines_prepare();
    if (error == cudaSuccess && mode->kind == TD_FINISH_ROUND) {
        error = td_estimate_prepare();
        if (error == cudaSuccess) error = td_panels_prepare();
    }
    if (error == cudaSuccess && mode->defers_tiles == TD_DEFERS_TO_SECOND)
        error = td_second_part_prepare();
    if (error == cudaSuccess) error = td_repair_prepare();
    return error == cudaSuccess ? mode->scheme->prepare(mode->scheme) : error;
}

static td_run_status run_mode(const td_real_product *p, const td_ozaki_mode *mode,
                              td_parameter parameter, td_device *device, size_t workspace_limit,
                              td_counters *counters)
{
    td_ozaki_product product = {
        .p = p, .mode = mode, .parameter = parameter, .device = device, .counters = counters};
    const td_traits traits = td_traits_current();
    product.terms = td_route_terms_of(p, parameter, &traits);
    if (mode->scheme->has_moduli)
        product.parameter = td_moduli_of(p, mode->kind == TD_FINISH_EXACT, parameter);
    if (td_real_only_scales(p)) return td_scale_parts(p);
    if (mode->scheme->needs_cublas && !td_cublas_ready(device)) return TD_RUN_NO_CUBLAS;
    return td_ozaki_run(&product, workspace_limit);
}

/* ---- modes ---- */

/* Routes of products by residues; others have one way alone to multiply, cuBLAS. */
static bool ozaki2_route(const td_real_product *p, td_parameter parameter, const td_traits *device,
                         td_route *route)
{
    const td_route_case c =
        td_route_case_of(p, td_moduli_of(p, false, parameter), TD_FINISH_ROUND, device);
    *route = td_route_of_case(&c);
    return true;
}

static bool faithful_route(const td_real_product *p, td_parameter parameter,
                           const td_traits *device, td_route *route)
{
    const td_route_case c =
        td_route_case_of(p, td_moduli_of(p, true, parameter), TD_FINISH_EXACT, device);
    *route = td_route_of_case(&c);
    return !parameter.is_other_way;
}

#define MODE(id, name_, summary_, scheme_, least_, most_, takes_prices_, route_)                   \
    static const td_ozaki_mode id##_mode = {&scheme_, TD_FINISH_ROUND, TD_DEFERS_TO_BINARY64};     \
    static cudaError_t id##_prepare(int other_way)                                                 \
    {                                                                                              \
        (void)other_way;                                                                           \
        return prepare_mode(&id##_mode);                                                           \
    }                                                                                              \
    static td_run_status id##_run(const td_real_product *p, td_parameter parameter,                \
                                  td_device *device, size_t workspace_limit,                       \
                                  td_counters *counters)                                           \
    {                                                                                              \
        return run_mode(p, &id##_mode, parameter, device, workspace_limit, counters);              \
    }                                                                                              \
    const td_engine td_engine_##id = {                                                             \
        .name = name_,                                                                             \
        .summary = summary_,                                                                       \
        .bound = &td_bound_certified,                                                              \
        .least = least_,                                                                           \
        .most = most_,                                                                             \
        .cost = td_cost_##id,                                                                      \
        .sees_all_lines = true,                                                                    \
        .takes_prices = takes_prices_,                                                             \
        .route = route_,                                                                           \
        .prepare = id##_prepare,                                                                   \
        .run = id##_run,                                                                           \
    };

MODE(ozaki_sgemm, "ozaki-sgemm", "N slices in binary32, multiplied by SGEMM (Ozaki scheme I)",
     td_scheme_float_slices, TD_LEAST_SLICES, TD_MOST_FLOAT_SLICES, false, NULL)
MODE(ozaki1, "ozaki1", "N slices in int8 (Ozaki scheme I)", td_scheme_int8_slices, TD_LEAST_SLICES,
     TD_MOST_INT8_SLICES, false, NULL)
MODE(ozaki2, "ozaki2", "residues modulo N coprime numbers in int8 (Ozaki scheme II), N by the data",
     td_scheme_residues, TD_MIN_MODULI, TD_MAX_MODULI, true, ozaki2_route)

static const td_ozaki_mode *faithful_mode(bool by_fp64)
{
    static const td_ozaki_mode residues = {&td_scheme_residues, TD_FINISH_EXACT,
                                           TD_DEFERS_TO_SECOND},
                               fp64 = {&td_scheme_double_slices, TD_FINISH_EXACT,
                                       TD_DEFERS_TO_SECOND};
    return by_fp64 ? &fp64 : &residues;
}

static cudaError_t faithful_prepare(int other_way)
{
    return prepare_mode(faithful_mode(other_way));
}

static td_run_status faithful_run(const td_real_product *p, td_parameter parameter,
                                  td_device *device, size_t workspace_limit, td_counters *counters)
{
    const td_parameter own = {.without_routes = parameter.without_routes};
    return run_mode(p, faithful_mode(parameter.is_other_way), own, device, workspace_limit,
                    counters);
}

const td_engine td_engine_faithful = {
    .name = "faithful",
    .summary = "residues in int8 as in ozaki2, or slices in binary64 (:fp64), and exact sums where "
               "these do not suffice",
    .bound = &td_bound_faithful,
    .error = "the binary64 number nearest to alpha A B + beta C, ties to even",
    .way = "fp64",
    .cost = td_cost_faithful,
    .route = faithful_route,
    .prepare = faithful_prepare,
    .run = faithful_run,
};
