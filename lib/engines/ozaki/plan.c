#include "plan.h"

#include "second_product.h"
#include "estimate.h"
#include "../tiler.h"

static int64_t lines_of(const td_real_product *p, int which) { return which ? p->n : p->m; }

static td_ozaki_certifying certifying_at(char *memory, int64_t batch)
{
    td_ozaki_certifying r = {.uncertified = (unsigned long long *)memory};
    r.met = r.uncertified + batch * TD_CHOICES;
    r.done = (int32_t *)(r.met + batch);
    return r;
}

/* Counts that lie at `memory`, without gaps; NULL: only `words` counts. */
static td_ozaki_counts counts_at(const td_ozaki_plan *plan, const td_real_product *p, char *memory)
{
    const int64_t batch = plan->part.batch, parts = td_parts_of_members(p, &plan->part);
    td_ozaki_counts c = {.certifying = certifying_at(memory, batch)};
    char *end = (char *)(c.certifying.done + batch);
    c.extremes = (td_extremes *)end;
    c.steps = (td_step *)(c.extremes + batch);
    c.next_unit = (uint32_t *)(c.steps + batch * TD_STEPS);
    c.tiles = (td_open_counts *)(c.next_unit + 1);
    c.nonzero = (uint32_t *)(c.tiles + batch * parts * td_ozaki_strips(plan));
    c.words = (int32_t *)td_ozaki_maps(plan, &c, parts) - (int32_t *)memory;
    return c;
}

bool td_ozaki_certifies(const td_ozaki_product *product)
{
    return product->mode->kind == TD_FINISH_ROUND && !product->parameter.is_given;
}

/* ---- the workspace ---- */

/* A workspace of which each piece that is taken is the next one; NULL: pieces are only counted. */
typedef struct {
    char *memory;
    size_t end;
} carving;

static void *take(carving *from, int64_t bytes)
{
    const size_t at = td_reserve(&from->end, bytes);
    return from->memory ? from->memory + at : NULL;
}

/* What a product has from its first kernel to its last. */
static void carve_product(td_ozaki_product *product, carving *from)
{
    const td_real_product *p = product->p;
    const td_ozaki_plan *plan = &product->plan;
    const int64_t batch = plan->part.batch;
    td_ozaki_memory *const at = &product->memory;
    for (int o = 0; o < 2; o++) {
        const int64_t records = lines_of(p, o) * batch * (int64_t)sizeof(td_line);
        at->line[o] = take(from, records);
        at->line_again[o] = take(from, records);
    }
    at->shift = take(from, p->k * batch * (int64_t)sizeof(int16_t));
    at->shifted = take(from, batch * (int64_t)sizeof(int32_t));
    at->choice = take(from, batch * (int64_t)sizeof(td_choice));
    at->zeros = take(from, counts_at(plan, p, NULL).words * (int64_t)sizeof(int32_t));
    at->counts = counts_at(plan, p, (char *)at->zeros);
}

/* Scratch of measuring a strip of lines. */
static void carve_measure(td_ozaki_product *product, carving *from)
{
    const td_real_product *p = product->p;
    const td_ozaki_plan *plan = &product->plan;
    td_ozaki_memory *const at = &product->memory;
    const int64_t batch = plan->part.batch, words = batch * (int64_t)sizeof(int32_t),
                  chunks_of_line =
                      plan->measure == TD_MEASURE_WHOLE ? 0 : td_ceil_div(p->k, TD_CHUNK),
                  chunks = chunks_of_line * batch * (int64_t)td_chunk_bytes();
    for (int o = 0; o < 2; o++) {
        at->chunks[o] = take(from, chunks * plan->strip_lines);
        at->chunks_again[o] = take(from, chunks * plan->strip_lines);
        at->tops[o] = take(from, p->k * words);
        at->bounds[o] = take(from, 2 * td_bounds(p->k) * words);
    }
    at->rise = take(from, batch * (int64_t)sizeof(td_rise));
}

/* What a part of C has, from its planes to its repairs. */
static void carve_part(td_ozaki_product *product, carving *from)
{
    const td_ozaki_plan *plan = &product->plan;
    const td_part_sizes *s = &plan->part;
    td_ozaki_memory *const at = &product->memory;
    const int64_t tiles = td_ceil_div(s->m, TD_TILE) * td_ceil_div(s->n, TD_TILE);
    const int64_t mask_bytes = tiles * TD_SUBTILES * (int64_t)sizeof(uint16_t);
    at->masks = take(from, s->batch * mask_bytes);
    at->open_tile = take(from, s->batch * tiles * (int64_t)sizeof(int32_t));
    at->second_scratch = take(from, (int64_t)td_second_scratch_bytes(s->m, s->n, s->batch));
    at->cublas = take(from, (int64_t)s->cublas_bytes);
    at->min_moduli = NULL;
    if (td_ozaki_certifies(product))
        at->min_moduli =
            take(from, (int64_t)td_estimate_sum_bytes(s->m, s->n, product->p->k, s->batch));
    at->planes = take(from, (int64_t)plan->plane_bytes);
}

/* Returns the bytes of a workspace, as carved. */
static size_t carve(td_ozaki_product *product, char *workspace)
{
    carving measure = {.memory = workspace};
    carve_product(product, &measure);
    carving part = measure;
    carve_measure(product, &measure);
    carve_part(product, &part);
    return measure.end > part.end ? measure.end : part.end;
}

void td_ozaki_carve(td_ozaki_product *product, char *workspace) { (void)carve(product, workspace); }

/* ---- the plan ---- */

/* Returns the bytes of memory that the planes of a part, the magnitudes of its estimate and the
 * planes of its second product have one after another. */
static size_t plane_bytes_of(const td_ozaki_product *product)
{
    const td_ozaki_plan *plan = &product->plan;
    const td_part_sizes *s = &plan->part;
    const td_scheme_case c = td_ozaki_case(product);
    size_t bytes = c.scheme->bytes(&c, s->m, s->n, s->k_pass, s->batch);
    if (td_ozaki_certifies(product)) {
        const size_t least = td_estimate_least_bytes(s->m, s->n, c.k, s->batch);
        if (bytes < least) bytes = least;
    }
    return bytes < plan->second_bytes ? plan->second_bytes : bytes;
}

/* Of all lines, of as many members as a part has. */
static td_measure_route measure_route_of(const td_ozaki_product *product)
{
    const td_ozaki_plan *plan = &product->plan;
    const td_real_product *p = product->p;
    td_route_case c;
    td_route_case_begin(&c, p->m, p->n, p->k, plan->part.batch, &product->terms);
    return (td_measure_route)td_route_choose(TD_STAGE_MEASURE, &c);
}

/* Columns of a part that are multiplied at a time: a strip, if somebody is to be told of it. */
static int64_t columns_of(const td_ozaki_product *product)
{
    const td_real_product *p = product->p;
    const td_part_sizes *s = &product->plan.part;
    const bool has_strips = p->progress && p->batch == 1 && p->k <= s->k_pass &&
                            product->mode->scheme->split &&
                            product->mode->defers_tiles != TD_DEFERS_TO_SECOND;
    return has_strips ? td_smaller(p->progress->columns, s->n) : s->n;
}

/* A plan of td_fit. */
static size_t lay_out(void *of)
{
    td_ozaki_product *product = of;
    td_ozaki_plan *plan = &product->plan;
    const int64_t k = product->p->k;
    const td_scheme_case c = td_ozaki_case(product);
    const td_part_sizes *s = &plan->part;
    plan->columns = columns_of(product);
    plan->scheme_map = c.scheme->map_words ? c.scheme->map_words(&c, s) : 0;
    plan->estimate_map =
        td_ozaki_certifies(product) ? td_estimate_map_words(s->m, s->n, k, s->batch) : 0;
    plan->measure = measure_route_of(product);
    plan->plane_bytes = plane_bytes_of(product);
    plan->second = (td_part_sizes){0};
    if (product->mode->defers_tiles == TD_DEFERS_TO_SECOND)
        plan->second = td_second_sizes(s, k, plan->plane_bytes);
    plan->bytes = carve(product, NULL);
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
    const td_real_product *p = product->p;
    td_ozaki_plan *plan = &product->plan;
    const int64_t lines = p->m > p->n ? p->m : p->n;
    plan->second_bytes = 0;
    const td_scheme_case c = td_ozaki_case(product);
    plan->part = td_scheme_largest(p, c.scheme->most_k(&c));
    if (!c.scheme->needs_cublas) plan->part.cublas_bytes = 0;
    plan->strip_lines = (int)td_smaller(td_round_up(lines, TD_TILE), TD_MAX_PART_LINES);
    if (product->mode->defers_tiles == TD_DEFERS_TO_SECOND)
        plan->second_bytes = td_second_small_bytes(&plan->part, p->k);
    if (lay_out(product) > limit) plan->second_bytes = 0;
    return td_fit(product, limit, lay_out, shrink);
}
