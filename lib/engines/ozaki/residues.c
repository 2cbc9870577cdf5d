/* residues.c - products of residues modulo N coprime moduli (Ozaki scheme II: Ozaki, Uchino,
 * Imamura, arXiv 2504.08009). Where the data decide N, there is room for the most, and kernels that
 * know what was decided do the rest. */
#include "../../../kernels/residue/moduli.h"
#include "../../../kernels/residue/split.h"
#include "../../../kernels/fused/fused.h"
#include "../tiler.h"
#include "estimate_sizes.h"
#include "scheme.h"

static int base_moduli(td_parameter parameter) { return parameter.count; }
static int most_moduli(td_parameter parameter)
{
    return parameter.is_given ? parameter.count : TD_MAX_MODULI;
}

/* Planes of int8 of each operand. */
static int planes_of(td_parameter parameter)
{
    return most_moduli(parameter) << parameter.is_complex;
}

/* True if one kernel may multiply and finish some members (td_is_fused): the fewest moduli are
 * what most products take. */
static bool may_be_fused(td_parameter parameter)
{
    return !parameter.is_complex && base_moduli(parameter) <= TD_COMMON_MODULI &&
           most_moduli(parameter) >= TD_COMMON_MODULI;
}

/* Elements of k of a plane, padded, for so many of the product. */
static int64_t depth_of(td_parameter parameter, int64_t k)
{
    return td_round_up(k >> parameter.is_complex, TD_K_PAD);
}

/* Where things are, and how far apart. */
typedef struct {
    int64_t lines[2]; /* padded, of a member */
    int64_t member_c, plane_c, slice_c;
    int slices; /* of k */
    size_t plane[2], residue, deferred, bytes;
} layout;

static layout lay_out(td_parameter parameter, int64_t m, int64_t n, int64_t k_pass, int64_t batch)
{
    const int planes = planes_of(parameter);
    const int64_t rows = m >> parameter.is_complex, depth = depth_of(parameter, k_pass);
    layout l = {.lines = {td_round_up(rows, TD_LINE_GROUP), td_round_up(n, TD_LINE_PAD)},
                .slices = 1};
    if (most_moduli(parameter) <= TD_MAX_MODULI && !parameter.is_complex)
        l.slices = td_route_slices(m, n, k_pass, batch, parameter.without_routes);
    for (int o = 0; o < 2; o++)
        l.plane[o] = td_reserve(&l.bytes, planes * l.lines[o] * depth * batch);
    l.member_c = l.lines[0] * n;
    l.plane_c = l.member_c * batch;
    l.slice_c = l.plane_c * planes;
    l.residue = td_reserve(&l.bytes, l.slice_c * l.slices);
    if (may_be_fused(parameter))
        l.deferred = td_reserve(&l.bytes, (int64_t)td_deferred_bytes(m, n, batch));
    return l;
}

/* Words of a pass's map, of operand `which` of a part of m x n elements of C. */
static int64_t words_of(td_parameter parameter, int which, int64_t m, int64_t n, int64_t k_pass,
                        int64_t batch)
{
    const int64_t lines = which ? n : m >> parameter.is_complex;
    return batch * td_nonzero_of_member(lines, depth_of(parameter, k_pass));
}

/* Passes of less than a word have no map: it would be as large as what they multiply. */
static int64_t map_words(const td_scheme_case *c, const td_part_sizes *sizes)
{
    const int64_t passes = td_ceil_div(c->k, sizes->k_pass), batch = sizes->batch;
    if (passes > 1 && sizes->k_pass < INT64_C(32) * TD_SLICE_K) return 0;
    return passes * (words_of(c->parameter, 0, sizes->m, sizes->n, sizes->k_pass, batch) +
                     words_of(c->parameter, 1, sizes->m, sizes->n, sizes->k_pass, batch));
}

/* The map of this pass; NULL if there is none. */
static uint32_t *map_of(const td_scheme_part *part, int which)
{
    const td_target *target = &part->finish.target;
    const int64_t batch = part->fixed.batch,
                  a = words_of(part->parameter, 0, target->m, target->n, part->k_pass, batch),
                  b = words_of(part->parameter, 1, target->m, target->n, part->k_pass, batch),
                  pass = part->fixed.k_first / part->k_pass;
    return part->nonzero ? part->nonzero + pass * (a + b) + (which ? a : 0) : NULL;
}

static int64_t most_k(const td_scheme_case *c)
{
    (void)c;
    return TD_RESIDUE_K;
}

static size_t bytes(const td_scheme_case *c, int64_t m, int64_t n, int64_t k_pass, int64_t batch)
{
    return lay_out(c->parameter, m, n, k_pass, batch).bytes;
}

/* The prices of a mode that the user names are part of its definition: the same on every device. A
 * tile in binary64 costs as much as 24 moduli: on an H100 it is 21 at 4096 x 4096 x 4096 and 27 at
 * 8192 x 8192 x 8192, where residues of 14 moduli take 0.116 and 0.79 ms for each of them. A device
 * with little FP64, such as an RTX 4090, would make it 300, but native products take as long
 * there. */
enum { MODULUS_PRICE = 64 };
static const td_prices defined_prices = {.binary64 = 24 * MODULUS_PRICE,
                                         .sums = 24 * MODULUS_PRICE,
                                         .few = TD_COMMON_MODULI * MODULUS_PRICE,
                                         .more = MODULUS_PRICE};

/* A modulus of complex products takes half of the time. */
static const td_prices complex_prices = {.binary64 = 2 * 24 * MODULUS_PRICE,
                                         .sums = 2 * 24 * MODULUS_PRICE,
                                         .few = TD_COMMON_MODULI * MODULUS_PRICE,
                                         .more = MODULUS_PRICE};

/* One modulus more than the fewest costs less than the estimate, and two more for k up to this. */
enum { TWO_MORE_K = 2048 };

static int level_of(td_parameter parameter, int moduli, int64_t k)
{
    return parameter.is_complex ? td_complex_level(moduli, k) : td_level(moduli, k);
}

static void choose_fewer(td_parameter parameter, int64_t k, td_rule *rule)
{
    if (parameter.is_given) return;
    rule->fewer = base_moduli(parameter) - TD_MIN_MODULI;
    rule->least_of_fewer = TD_MIN_MODULI;
    for (int i = 0; i < rule->fewer; i++)
        rule->level_of_fewer[i] = level_of(parameter, TD_MIN_MODULI + i, k);
}

/* What mode auto does not do. One modulus more than the fewest is worth less than the estimate
 * alone, and so is none where nothing is estimated. Where residues are not worth their time lines
 * choose nothing. */
static void choose_by_definition(const td_scheme_case *c, td_rule *rule)
{
    const td_parameter parameter = c->parameter;
    rule->prices = parameter.is_complex ? complex_prices : defined_prices;
    if (parameter.is_given) return;
    rule->skips_estimate = !td_is_worth_estimating(c->m, c->n, c->k, parameter.is_complex);
    if (rule->skips_estimate)
        rule->candidates_of_lines =
            td_is_worth_residues(c->m, c->n, c->k, parameter.is_complex) ? 1 : 0;
}

static void choose(const td_scheme_case *c, td_rule *rule)
{
    const td_parameter parameter = c->parameter;
    const int64_t k = c->k;
    rule->scale = TD_SCALE_BY_NORM;
    rule->candidates = most_moduli(parameter) - base_moduli(parameter) + 1;
    for (int i = 0; i < rule->candidates; i++) {
        const int moduli = base_moduli(parameter) + i;
        rule->candidate[i] =
            (td_choice){.parameter = moduli,
                        .level = level_of(parameter, moduli, k),
                        .need = parameter.is_given ? TD_NEEDS_NOTHING : td_scheme_need(k),
                        .need_of_estimate = td_scheme_need_of_estimate(k),
                        .is_estimated = !parameter.is_given,
                        .number = i,
                        .rest = td_log_above((uint64_t)k) - 2 * TD_LOG};
    }
    choose_fewer(parameter, k, rule);
    /* As if each scale lost half a bit to rounding, and the sums of both lines were alike. */
    rule->level_of_pair = TD_LOG + td_scheme_need(k);
    rule->candidates_of_lines = 1 + (k <= TWO_MORE_K ? 2 : 1);
    if (parameter.prices.binary64 > 0)
        rule->prices = parameter.prices;
    else
        choose_by_definition(c, rule);
}

/* A strip's planes are those of its part. */
static layout layout_of(const td_scheme_part *part)
{
    const int64_t n = part->split_columns > 0 ? part->split_columns : part->finish.target.n;
    return lay_out(part->parameter, part->finish.target.m, n, part->k_pass, part->fixed.batch);
}

/* Which kernels a part takes, in a pass of so many elements of k. */
static td_route route_of(const td_scheme_part *part, int64_t k_count)
{
    const td_target *target = &part->finish.target;
    td_route_case c;
    td_route_case_begin(&c, target->m, target->n, part->fixed.operand[0].k, part->fixed.batch,
                        &part->terms);
    c.k_pass = part->k_pass;
    c.k_count = k_count;
    c.least = base_moduli(part->parameter);
    c.most = most_moduli(part->parameter);
    c.is_complex = part->parameter.is_complex;
    c.kind = part->finish.kind;
    c.reads_c = target->beta.device || target->beta.value.binary64 != 0.0;
    c.has_unwanted = part->wanted.of != NULL;
    c.region = target->region;
    td_route_set_product(&c);
    return td_route_of_case(&c);
}

static cudaError_t split(const td_scheme_part *part, const td_route *route, const layout *l,
                         int64_t k_padded)
{
    td_residues residues = {.fixed = part->fixed,
                            .next_tile = part->next_unit,
                            .route = (td_split_route)route->of[TD_STAGE_SPLIT],
                            .round = (td_round_route)route->of[TD_STAGE_ROUND]};
    for (int o = 0; o < 2; o++) {
        residues.plane[o] = (int8_t *)(part->workspace + l->plane[o]);
        residues.plane_step[o] = l->lines[o] * k_padded * part->fixed.batch;
        residues.nonzero[o] = map_of(part, o);
    }
    switch (residues.route) {
    case TD_SPLIT_WIDE:
        return td_second_residues_run(&residues, part->stream);
    case TD_SPLIT_COMPLEX:
        return td_complex_residues_run(&residues, part->stream);
    default:
        return td_residues_run(&residues, part->stream);
    }
}

/* The map of op(B)'s columns, from a strip's first one on. */
static uint32_t *map_of_columns(const td_scheme_part *part, int64_t k_padded)
{
    uint32_t *const map = map_of(part, 1);
    return map ? map + td_nonzero_of_member(part->first_column, k_padded) : NULL;
}

static td_panels panels_of(const td_scheme_part *part, const td_route *route, const layout *l,
                           int64_t k_padded)
{
    const int64_t member[2] = {l->lines[0] * k_padded, l->lines[1] * k_padded},
                  batch = part->fixed.batch;
    const bool is_complex = part->parameter.is_complex;
    td_region region = part->finish.target.region;
    if (is_complex) region.row_shift = 0;
    return (td_panels){
        .type = TD_PANEL_RESIDUE,
        .gemm = (td_gemm_route)route->of[TD_STAGE_GEMM],
        .m = l->lines[0],
        .n = part->finish.target.n,
        .k = k_padded,
        .a = part->workspace + l->plane[0],
        .b = part->workspace + l->plane[1] + part->first_column * k_padded,
        .c = part->workspace + l->residue,
        .layout.ld_a = k_padded,
        .layout.ld_b = k_padded,
        .layout.ld_c = l->lines[0],
        .layout.plane_a = member[0] * batch,
        .layout.plane_b = member[1] * batch,
        .layout.plane_c = l->plane_c,
        .layout.member_a = member[0],
        .layout.member_b = member[1],
        .layout.member_c = l->member_c,
        .planes = planes_of(part->parameter),
        .batch = (int)batch,
        .accumulate = part->fixed.k_first > 0,
        .is_complex = is_complex,
        .choice = part->fixed.choice,
        .slices = (int)td_smaller(
            l->slices, td_ceil_div(k_padded, TD_SLICE_K)), /* the last pass may be short */
        .slice_c = l->slice_c,
        .wanted = part->wanted,
        .region = region,
        .next_unit = part->next_unit,
        .nonzero = {map_of(part, 0), map_of_columns(part, k_padded)},
    };
}

static td_residue_product product_of(const td_scheme_part *part, const td_route *route,
                                     const layout *l)
{
    const td_target *target = &part->finish.target;
    td_residue_product product = {
        .residue = (int8_t *)(part->workspace + l->residue),
        .plane_step = l->plane_c,
        .batch_step = l->member_c,
        .slice_step = l->slice_c,
        .ld = l->lines[0],
        .slices = l->slices,
        .is_complex = part->parameter.is_complex,
        .crt = (td_crt_route)route->of[TD_STAGE_CRT],
    };
    if (route->of[TD_STAGE_FUSE] == TD_FUSE_GEMM_CRT)
        product.deferred =
            td_deferred_in(part->workspace + l->deferred, target->m, target->n, part->fixed.batch);
    return product;
}

/* The route of the first pass, which is the only one of products that are fused. */
static td_route route_of_part(const td_scheme_part *part)
{
    return route_of(part, td_smaller(part->k_pass, part->fixed.operand[0].k));
}

td_residue_product td_scheme_residue_product(const td_scheme_part *part)
{
    const layout l = layout_of(part);
    const td_route route = route_of_part(part);
    return product_of(part, &route, &l);
}

/* What writes C is launched last: if something fails, nothing of C has changed. */
static cudaError_t multiply_pass(const td_scheme_part *part, const void *lay)
{
    const layout *l = lay;
    const int64_t k_padded = depth_of(part->parameter, part->fixed.k_count);
    const td_route route = route_of(part, part->fixed.k_count);
    const td_residue_product product = product_of(part, &route, l);
    td_panels panels = panels_of(part, &route, l, k_padded);
    panels.leaves_fused = route.of[TD_STAGE_FUSE] == TD_FUSE_GEMM_CRT;
    cudaError_t error = part->split_columns > 0 ? cudaSuccess : split(part, &route, l, k_padded);
    if (error == cudaSuccess) error = td_panels_run(part->device, &panels, part->stream);
    if (error != cudaSuccess || !panels.leaves_fused) return error;
    return td_fused_run(&panels, &product, &part->finish, 0, part->stream);
}

static cudaError_t split_pass(const td_scheme_part *part, const void *l)
{
    const td_route route = route_of(part, part->fixed.k_count);
    return split(part, &route, l, depth_of(part->parameter, part->fixed.k_count));
}

static cudaError_t split_part(const td_scheme_part *part)
{
    const layout l = layout_of(part);
    return td_scheme_passes(part, &l, split_pass);
}

static cudaError_t multiply(const td_scheme_part *part)
{
    const layout l = layout_of(part);
    return td_scheme_passes(part, &l, multiply_pass);
}

static cudaError_t finish(const td_scheme_part *part)
{
    const td_residue_product product = td_scheme_residue_product(part);
    return td_residues_finish(&product, base_moduli(part->parameter), most_moduli(part->parameter),
                              &part->finish, part->fixed.batch, part->stream);
}

static cudaError_t prepare(const td_scheme *scheme)
{
    (void)scheme;
    cudaError_t error = td_residues_prepare();
    if (error == cudaSuccess) error = td_complex_residues_prepare();
    if (error == cudaSuccess) error = td_panels_prepare();
    if (error == cudaSuccess) error = td_fused_prepare();
    return error == cudaSuccess ? td_crt_prepare() : error;
}

const td_scheme td_scheme_residues = {
    .counts_rounded = true,
    .has_moduli = true,
    .prepare = prepare,
    .most_k = most_k,
    .bytes = bytes,
    .map_words = map_words,
    .choose = choose,
    .split = split_part,
    .multiply = multiply,
    .finish = finish,
};
