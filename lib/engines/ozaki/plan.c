#include "plan.h"

#include "second_product.h"
#include "bound.h"
#include "../tiler.h"

static int64_t lines_of(const td_problem *p, int which) { return which ? p->n : p->m; }

static td_ozaki_certifying certifying_at(char *memory, int64_t batch)
{
    td_ozaki_certifying r = {.uncertified = (unsigned long long *)memory};
    r.met = r.uncertified + batch * TD_CHOICES;
    r.done = (int32_t *)(r.met + batch);
    return r;
}

td_ozaki_counts td_ozaki_counts_at(const td_ozaki_plan *plan, const td_problem *p, char *memory)
{
    const int64_t batch = plan->part.batch, parts = td_parts_of_members(p, &plan->part);
    td_ozaki_counts c = {.certifying = certifying_at(memory, batch)};
    char *end = (char *)(c.certifying.done + batch);
    c.extremes = (td_extremes *)end;
    c.steps = (td_step *)(c.extremes + batch);
    c.next_unit = (uint32_t *)(c.steps + batch * TD_STEPS);
    c.tiles = (td_open_counts *)(c.next_unit + 1);
    c.nonzero = (uint32_t *)(c.tiles + batch * parts);
    c.words = (int32_t *)td_ozaki_maps(plan, &c, parts) - (int32_t *)memory;
    return c;
}

bool td_ozaki_certifies(const td_ozaki_product *product)
{
    return product->mode->kind == TD_FINISH_ROUND && !product->parameter.is_given;
}

static void lay_out_measure(td_ozaki_plan *plan, const td_problem *p, size_t end)
{
    const int64_t batch = plan->part.batch, words = batch * (int64_t)sizeof(int32_t),
                  chunks_of_line =
                      plan->measure == TD_MEASURE_WHOLE ? 0 : td_ceil_div(p->k, TD_CHUNK),
                  chunks = chunks_of_line * batch * (int64_t)td_chunk_bytes();
    for (int o = 0; o < 2; o++) {
        plan->chunks[o] = td_reserve(&end, chunks * plan->strip_lines);
        plan->chunks_again[o] = td_reserve(&end, chunks * plan->strip_lines);
        plan->tops[o] = td_reserve(&end, p->k * words);
        plan->bounds[o] = td_reserve(&end, 2 * td_bounds(p->k) * words);
    }
    plan->rise = td_reserve(&end, batch * (int64_t)sizeof(td_rise));
    if (end > plan->bytes) plan->bytes = end;
}

static void lay_out_part(td_ozaki_plan *plan, const td_ozaki_product *product, size_t end)
{
    const td_part_sizes *s = &plan->part;
    const int64_t k = product->p->k;
    const int64_t tiles = td_ceil_div(s->m, TD_TILE) * td_ceil_div(s->n, TD_TILE);
    const int64_t mask_bytes = tiles * TD_SUBTILES * (int64_t)sizeof(uint16_t);
    plan->masks = td_reserve(&end, s->batch * mask_bytes);
    plan->open_tile = td_reserve(&end, s->batch * tiles * (int64_t)sizeof(int32_t));
    plan->dense_scratch = td_reserve(&end, (int64_t)td_dense_scratch_bytes(s->m, s->n, s->batch));
    plan->cublas = td_reserve(&end, (int64_t)s->cublas_bytes);
    plan->plane_bytes =
        product->mode->scheme->bytes(product->parameter, s->m, s->n, k, s->k_pass, s->batch);
    if (td_ozaki_certifies(product)) {
        const size_t least = td_estimate_least_bytes(s->m, s->n, k, s->batch);
        if (plan->plane_bytes < least) plan->plane_bytes = least;
        plan->min_moduli =
            td_reserve(&end, (int64_t)td_estimate_sum_bytes(s->m, s->n, k, s->batch));
    }
    if (plan->plane_bytes < plan->dense_bytes) plan->plane_bytes = plan->dense_bytes;
    plan->planes = td_reserve(&end, (int64_t)plan->plane_bytes);
    if (end > plan->bytes) plan->bytes = end;
    plan->dense = (td_part_sizes){0};
    if (product->mode->defers_tiles == TD_DEFERS_TO_SECOND)
        plan->dense = td_dense_sizes(s, k, plan->plane_bytes);
}

/* Of all lines, of as many members as a part has. */
static td_measure_route measure_route_of(const td_ozaki_product *product)
{
    const td_ozaki_plan *plan = &product->plan;
    const td_problem *p = product->p;
    td_route_case c;
    td_route_case_begin(&c, p->m, p->n, p->k, plan->part.batch, &product->terms);
    return (td_measure_route)td_route_choose(TD_STAGE_MEASURE, &c);
}

/* A plan of td_fit. */
static size_t lay_out(void *of)
{
    td_ozaki_product *product = of;
    td_ozaki_plan *plan = &product->plan;
    const td_problem *p = product->p;
    const td_scheme *scheme = product->mode->scheme;
    const td_part_sizes *s = &plan->part;
    size_t end = 0;
    plan->scheme_map = scheme->map_words ? scheme->map_words(product->parameter, s, p->k) : 0;
    plan->estimate_map =
        td_ozaki_certifies(product) ? td_estimate_map_words(s->m, s->n, p->k, s->batch) : 0;
    plan->measure = measure_route_of(product);
    for (int o = 0; o < 2; o++) {
        const int64_t records = lines_of(p, o) * s->batch * (int64_t)sizeof(td_line);
        plan->line[o] = td_reserve(&end, records);
        plan->line_again[o] = td_reserve(&end, records);
    }
    plan->shift = td_reserve(&end, p->k * s->batch * (int64_t)sizeof(int16_t));
    plan->shifted = td_reserve(&end, s->batch * (int64_t)sizeof(int32_t));
    plan->choice = td_reserve(&end, s->batch * (int64_t)sizeof(td_choice));
    plan->counts =
        td_reserve(&end, td_ozaki_counts_at(plan, p, NULL).words * (int64_t)sizeof(int32_t));
    plan->bytes = end;
    lay_out_measure(plan, p, end);
    lay_out_part(plan, product, end);
    return plan->bytes;
}

/* Strips of lines, which are of measuring alone, get shorter with the parts. */
static bool shrink(void *of)
{
    td_ozaki_product *product = of;
    td_ozaki_plan *plan = &product->plan;
    int64_t strip = plan->strip_lines;
    const bool had_strips = td_halve(&strip, TD_TILE);
    plan->strip_lines = (int)strip;
    return td_scheme_shrink(&plan->part) || had_strips;
}

size_t td_ozaki_plan_make(void *of, size_t limit)
{
    td_ozaki_product *product = of;
    const td_problem *p = product->p;
    td_ozaki_plan *plan = &product->plan;
    const int64_t lines = p->m > p->n ? p->m : p->n;
    plan->dense_bytes = 0;
    plan->part = td_scheme_largest(p, product->mode->scheme->most_k(product->parameter, p->k));
    if (!product->mode->scheme->needs_cublas) plan->part.cublas_bytes = 0;
    plan->strip_lines = (int)td_smaller(td_round_up(lines, TD_TILE), TD_MAX_PART_LINES);
    if (product->mode->defers_tiles == TD_DEFERS_TO_SECOND)
        plan->dense_bytes = td_dense_small_bytes(&plan->part, p->k);
    if (lay_out(product) > limit) plan->dense_bytes = 0;
    return td_fit(product, limit, lay_out, shrink);
}
