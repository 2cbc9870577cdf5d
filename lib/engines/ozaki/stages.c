/* stages.c - the stages of a product of the Ozaki family: measures the operands, decides how they
 * become whole numbers, cuts the product into parts that fit the workspace, has a scheme multiply
 * each, and repairs. The parts change no bit of C: what is decided is decided for whole operands,
 * and every sum is exact. */
#include <limits.h>

#include "second_product.h"
#include "estimate.h"
#include "branch.h"
#include "cublas.h"
#include "../native_knows.h"
#include "../tiler.h"
#include "plan.h"

/* ---- stages ---- */

static bool counts_rounded(const td_ozaki_product *product)
{
    return product->mode->kind == TD_FINISH_EXACT && product->mode->scheme->counts_rounded;
}

/* How the members of a part are decided. */
static td_choose choose_of(const td_ozaki_product *product, int batch)
{
    const td_real_product *p = product->p;
    const td_ozaki_memory *at = &product->memory;
    const td_scheme_case c = td_ozaki_case(product);
    td_choose choose = {.measured = {.lines = {(int)p->m, (int)p->n},
                                     .batch = batch,
                                     .k = p->k,
                                     .alpha = p->alpha,
                                     .verdict = product->parameter.verdict,
                                     .looseness = product->parameter.looseness,
                                     .shifted = at->shifted,
                                     .line = {at->line[0], at->line[1]},
                                     .extremes = at->counts.extremes},
                        .chosen = {.choice = at->choice,
                                   .line = {at->line[0], at->line[1]},
                                   .planes = product->counters ? &product->counters->planes : NULL,
                                   .work = product->counters ? &product->counters->work : NULL}};
    c.scheme->choose(&c, &choose.rule);
    return choose;
}

/* Has lines measured that have magnitudes of their own. A line of complex terms has two real ones
 * of the same: (re, -im) and (im, re). */
static void share_records(const td_ozaki_product *product, td_measure *measure)
{
    td_view *const a = &measure->operand[0];
    if (measure->route == TD_MEASURE_WHOLE) return;
    measure->is_gram =
        product->p->is_gram && product->p->is_paired == product->parameter.is_complex;
    if (!measure->has_parts) return;
    measure->neighbours = 2;
    a->lines /= 2;
    a->line_step *= 2;
}

/* How the lines of batch members z ... are measured, for a rule to choose by. */
static td_measure measure_of(const td_ozaki_product *product, const td_rule *rule, int64_t z,
                             int batch)
{
    const td_real_product *p = product->p;
    const td_ozaki_memory *at = &product->memory;
    td_measure measure = {
        .operand = {td_view_of(p, 0, 0, (int)p->m), td_view_of(p, 1, 0, (int)p->n)},
        .alpha = p->alpha,
        .verdict = product->parameter.verdict,
        .batch_first = z,
        .batch = batch,
        .route = product->plan.measure,
        .scaling = td_scaling_of(rule, &rule->candidate[0]),
        .has_parts = product->parameter.is_complex,
        .is_measured_once = rule->skips_estimate,
        .probed = td_probed_by(rule, product->parameter.looseness),
        .counts_rounded = counts_rounded(product),
        .extremes = rule->candidates > 1 ? at->counts.extremes : NULL,
        .scratch.strip_lines = product->plan.strip_lines,
        .shift = at->shift,
        .shifted = at->shifted,
        .scratch.rise = at->rise,
        .scratch.steps = at->counts.steps,
        .begins_early = !product->is_captured,
        .clear = at->zeros,
        .clear_count = at->counts.words,
    };
    for (int o = 0; o < 2; o++) {
        measure.scratch.chunks[o] = at->chunks[o];
        measure.scratch.chunks_again[o] = at->chunks_again[o];
        measure.scratch.tops[o] = at->tops[o];
        measure.scratch.bounds[o] = at->bounds[o];
        measure.line[o] = at->line[o];
        measure.line_again[o] = at->line_again[o];
    }
    share_records(product, &measure);
    return measure;
}

/* Where tiles are noted that the scheme leaves, and who makes them. */
static void defer_tiles(const td_ozaki_product *product, const td_part *part, td_finish *finish)
{
    const td_ozaki_plan *plan = &product->plan;
    const td_ozaki_memory *at = &product->memory;
    finish->defers_tiles = product->mode->defers_tiles;
    if (finish->defers_tiles == TD_DEFERS_TO_SECOND && plan->second.m == 0)
        finish->defers_tiles = TD_DEFERS_NO_TILES;
    finish->target.open_count =
        at->counts.tiles + part->number * td_ozaki_strips(plan) * plan->part.batch;
    finish->target.open_tile = at->open_tile;
    if (finish->defers_tiles == TD_DEFERS_TO_SECOND) finish->target.is_dense = at->second_scratch;
}

static td_scheme_part scheme_part_of(const td_ozaki_product *product, const td_part *part)
{
    const td_real_product *p = product->p;
    const td_ozaki_plan *plan = &product->plan;
    const td_scheme_case c = td_ozaki_case(product);
    const td_ozaki_memory *at = &product->memory;
    td_scheme_part s = {
        .scheme = c.scheme,
        .device = product->device,
        .terms = product->terms,
        .parameter = product->parameter,
        .k_pass = plan->part.k_pass,
        .workspace = at->planes,
        .cublas_workspace = at->cublas,
        .cublas_bytes = plan->part.cublas_bytes,
        .nonzero = plan->scheme_map > 0 ? td_ozaki_maps(plan, &at->counts, part->number) : NULL,
        .next_unit = at->counts.next_unit,
        .stream = p->stream,
        .fixed = {.operand = {td_view_of(p, 0, part->i, part->m),
                              td_view_of(p, 1, part->j, part->n)},
                  .alpha = p->alpha,
                  .batch_first = part->z,
                  .batch = part->batch,
                  .lines_of_member = {p->m, p->n},
                  .shift = at->shift,
                  .shifted = at->shifted,
                  .choice = at->choice},
        .finish = {.target = td_target_of(p, part, at->masks),
                   .kind = product->mode->kind,
                   .cut = c.scheme->cut ? c.scheme->cut(&c) : (td_cut){0},
                   .lines_of_member = {p->m, p->n},
                   .choice = at->choice,
                   .counts_rounded = counts_rounded(product)},
    };
    const int64_t first[2] = {part->i, part->j};
    for (int o = 0; o < 2; o++) s.finish.line[o] = s.fixed.line[o] = at->line[o] + first[o];
    s.finish.min_moduli = td_min_moduli_of(at->min_moduli, part->m, part->n);
    defer_tiles(product, part, &s.finish);
    return s;
}

/* Tiles of a member that C has elements of. */
static int64_t tiles_of(const td_real_product *p)
{
    const td_region region = td_real_region(p);
    return td_region_blocks(&region, p->m, p->n, TD_TILE, TD_TILE);
}

/* Blocks that certify a member's elements, of all parts. */
static int certifying_blocks(const td_ozaki_product *product, int batch)
{
    const td_part_sizes *const sizes = &product->plan.part;
    td_part part = td_before_parts(product->p, sizes, 0);
    int blocks = 0;
    while (td_next_part(product->p, sizes, &part))
        blocks += td_certify_blocks(part.m, part.n, batch, product->terms.device.multiprocessors);
    return blocks;
}

/* How the elements of a part are certified; `decides`: it counts for what is chosen. */
static td_estimate_part estimate_of(const td_ozaki_product *product, const td_part *part,
                                    bool decides)
{
    const td_real_product *p = product->p;
    const td_ozaki_plan *plan = &product->plan;
    const td_scheme_part s = scheme_part_of(product, part);
    const td_ozaki_counts *counts = &product->memory.counts;
    return (td_estimate_part){
        .device = product->device,
        .terms = product->terms,
        .fixed = s.fixed,
        .estimate = {.target = s.finish.target,
                     .line = {s.finish.line[0], s.finish.line[1]},
                     .lines_of_member = {p->m, p->n},
                     .cut = s.finish.cut,
                     .min_moduli = s.finish.min_moduli,
                     .choose = choose_of(product, part->batch),
                     .multiprocessors = product->terms.device.multiprocessors,
                     .blocks = decides ? certifying_blocks(product, part->batch) : 0,
                     .tiles = tiles_of(p),
                     .uncertified = counts->certifying.uncertified,
                     .met = counts->certifying.met,
                     .done = counts->certifying.done},
        .workspace = s.workspace,
        .bytes = plan->plane_bytes,
        .next_unit = counts->next_unit,
        .nonzero = td_ozaki_maps(plan, counts, part->number) + plan->scheme_map,
        .stream = p->stream,
    };
}

static cudaError_t estimate_part(const td_ozaki_product *product, const td_part *part, bool decides)
{
    const td_estimate_part estimate = estimate_of(product, part, decides);
    return td_estimate_part_run(&estimate);
}

/* Measures the members' lines and shifts, and chooses for them as far as lines tell.
 * *is_decided: there is nothing else to choose by. */
static cudaError_t decide(const td_ozaki_product *product, const td_part *members, bool *is_decided)
{
    td_choose choose = choose_of(product, members->batch);
    const td_measure measure = measure_of(product, &choose.rule, members->z, members->batch);
    for (int o = 0; o < 2; o++) choose.measured.line_again[o] = measure.line_again[o];
    *is_decided = choose.rule.skips_estimate || !td_ozaki_certifies(product);
    return td_lines_run(&measure, &choose, product->p->stream);
}

/* Dense tiles of a part, which has been multiplied and finished. */
static cudaError_t run_second(const td_ozaki_product *product, const td_scheme_part *s,
                              unsigned long long *repaired)
{
    const td_second_part second = {.device = product->device,
                                   .terms = product->terms,
                                   .fixed = s->fixed,
                                   .finish = s->finish,
                                   .sizes = product->plan.second,
                                   .workspace = s->workspace,
                                   .next_unit = s->next_unit,
                                   .repaired = repaired,
                                   .stream = s->stream};
    return td_second_part_run(&second);
}

/* ---- native products ---- */

/* True if cuBLAS's routine makes all of C that is made here. */
static bool is_whole_call(const td_ozaki_product *product)
{
    const td_problem *native = product->parameter.native;
    return native && td_native_knows(native) &&
           td_parts_of_members(product->p, &product->plan.part) == 1;
}

/* True if cuBLAS can make a part of the product. */
static bool has_native_parts(const td_real_product *p)
{
    const bool is_on_host = !p->a.array && !p->b.array && !p->c.array && !p->alpha.device &&
                            !p->beta.device; /* what cuBLAS is told */
    return p->region == TD_REGION_ALL && is_on_host &&
           td_cublas_counts(p->k, p->batch, &p->a, &p->b) && p->c.ld <= INT_MAX;
}

/* True if cuBLAS makes C where the data leave all of it to binary64. A graph that was captured with
 * such a branch can neither be cloned nor be a child of another: the program must allow it. */
static bool may_be_native(const td_ozaki_product *product)
{
    const td_prices *prices = &product->parameter.prices;
    const bool asks = product->parameter.is_in_body ? prices->has_inner_branch
                                                    : prices->native > 0 && prices->has_late_branch;
    const bool is_allowed = !product->is_captured || product->parameter.branches_in_graph;
    return asks && is_allowed && product->p->batch == 1 &&
           (is_whole_call(product) || has_native_parts(product->p)) &&
           td_branch_ready(product->device);
}

/* Enqueues cuBLAS's product of a part, for the device to run if the data ask for it. The planes,
 * which have been multiplied, are its workspace. False: Tandem's own sums are to be taken. */
static bool run_native(const td_ozaki_product *product, const td_part *part,
                       const td_scheme_part *s)
{
    const td_ozaki_plan *plan = &product->plan;
    const td_condition asked = {.target = s->finish.target};
    if (!product->has_branch) return false;
    const td_problem native =
        is_whole_call(product) ? *product->parameter.native : td_call_of_part(product->p, part);
    return td_branch_run(product->device, &native, &asked, s->workspace,
                         (size_t)td_smaller((int64_t)plan->plane_bytes, TD_CUBLAS_WORKSPACE));
}

/* Where a copy of an operand's lines of so many members lies, rows of it being multiples of 16
 * bytes apart. The members' number begins with that of the part's first one. */
static td_view aligned_copy(const td_view *of, const td_part *piece, char *memory)
{
    enum { ALIGNED_TO = 16 };
    const bool along = of->k_step == 1;
    const int64_t rows = along ? of->lines : of->k,
                  step = td_round_up(along ? of->k : of->lines, ALIGNED_TO), member = rows * step;
    td_view copy = *of;
    copy.matrix = (td_matrix){.data = memory, .ld = step, .stride = member};
    copy.offset = -piece->z * member;
    *(along ? &copy.line_step : &copy.k_step) = step;
    return copy;
}

static size_t bytes_of_copy(const td_view *copy, const td_part *piece)
{
    return (size_t)copy->matrix.stride * (size_t)piece->batch * sizeof(double);
}

/* Copies of operands that the tensor memory accelerator cannot copy from, in the place of the
 * planes, which have been multiplied; none where there is no room, or where it would not be used.
 */
static td_aligned_lines aligned_lines(const td_ozaki_product *product, const td_part *piece,
                                      const td_scheme_part *s)
{
    const td_real_product *p = product->p;
    const td_matrix *const matrix[2] = {&p->a, &p->b};
    td_route_terms terms = product->terms;
    td_aligned_lines lines = {.is_made = false};
    size_t end = 0;
    if (terms.is_aligned || td_ozaki_strips(&product->plan) > 1 ||
        s->finish.defers_tiles != TD_DEFERS_TO_BINARY64)
        return lines;
    terms.is_aligned = true;
    lines.binary64 = td_route_binary64(piece->m, piece->n, p->k, piece->batch, &terms);
    for (int o = 0; o < 2; o++) {
        const td_view *const own = &s->fixed.operand[o];
        lines.of[o] = *own;
        if (td_route_is_aligned(matrix[o], p->batch)) continue;
        lines.of[o] = aligned_copy(own, piece, s->workspace + end);
        end += bytes_of_copy(&lines.of[o], piece);
    }
    const td_binary64_route route = lines.binary64.route;
    lines.is_made = end <= product->plan.plane_bytes &&
                    (route == TD_BINARY64_TMA || route == TD_BINARY64_TMA_PAIR);
    return lines;
}

/* A part, or a strip of one, from numbers that can be multiplied to C. cuBLAS's own routine, if it
 * makes all of C, has run or not with the first strip, as *has_whole says. */
static cudaError_t make_piece(const td_ozaki_product *product, const td_part *piece,
                              const td_scheme_part *s, bool *has_whole, bool *touched)
{
    cudaError_t error = product->mode->scheme->multiply(s);
    if (error != cudaSuccess) return error;
    *touched = true; /* by the first of several kernels, even if another fails */
    unsigned long long *const repaired = product->counters ? &product->counters->repaired : NULL;
    const bool has_second = s->finish.defers_tiles == TD_DEFERS_TO_SECOND;
    error = product->mode->scheme->finish(s);
    if (error == cudaSuccess && has_second) error = run_second(product, s, repaired);
    if (error != cudaSuccess) return error;
    if (s->first_column == 0 || !is_whole_call(product)) *has_whole = run_native(product, piece, s);
    const td_repair repair = {
        .operand = {s->fixed.operand[0], s->fixed.operand[1]},
        .target = s->finish.target,
        .kind = TD_REPAIR_EXACT,
        .binary64 =
            td_route_binary64(piece->m, piece->n, product->p->k, piece->batch, &product->terms),
        .aligned = aligned_lines(product, piece, s),
        .takes_dense = has_second,
        .is_bounded = s->finish.defers_tiles == TD_DEFERS_TO_BINARY64,
        .repaired = repaired,
        .tiles = product->counters ? &product->counters->tiles : NULL,
        .has_whole = *has_whole,
        .line = {s->finish.line[0], s->finish.line[1]},
        .lines_of_member = {product->p->m, product->p->n},
        .shift = s->fixed.shift,
        .shifted = s->fixed.shifted,
    };
    return td_repair_run(&repair, piece->batch, product->p->stream);
}

/* Columns of a part that has been split, from `first` on, which are *strip. */
static td_scheme_part strip_of(const td_ozaki_product *product, const td_part *part, int64_t first,
                               td_part *strip)
{
    const td_ozaki_plan *plan = &product->plan;
    *strip = *part;
    strip->j += first;
    strip->n = (int)td_smaller(plan->columns, part->n - first);
    td_scheme_part s = scheme_part_of(product, strip);
    s.split_columns = part->n;
    s.first_column = first;
    s.finish.target.open_count += first / plan->columns * plan->part.batch;
    s.finish.min_moduli = td_min_moduli_of(product->memory.min_moduli, part->m, part->n);
    if (s.finish.min_moduli.of) s.finish.min_moduli.of += first * s.finish.min_moduli.ld;
    return s;
}

/* Says that the columns up to the strip's last are complete, once all of their rows are. */
static void tell(const td_real_product *p, const td_part *strip)
{
    const td_window made = td_real_made(p);
    if (strip->i + strip->m == made.i + made.m)
        p->progress->made(p->progress, strip->j + strip->n - made.j);
}

static cudaError_t run_strips(const td_ozaki_product *product, const td_part *part, bool *touched)
{
    const td_region region = td_real_region(product->p);
    const td_scheme_part all = scheme_part_of(product, part);
    bool has_whole = false;
    cudaError_t error = all.scheme->split(&all);
    for (int64_t first = 0; first < part->n && error == cudaSuccess;
         first += product->plan.columns) {
        td_part strip;
        const td_scheme_part s = strip_of(product, part, first, &strip);
        if (td_region_meets(&region, strip.i, strip.j, strip.m, strip.n))
            error = make_piece(product, &strip, &s, &has_whole, touched);
        if (error == cudaSuccess) tell(product->p, &strip);
    }
    return error;
}

/* The part of the same members that is made, if it is one alone and all of it is made: what was
 * estimated of it last is still there when it is multiplied. Else its number is -1. */
static td_part estimated_last(const td_ozaki_product *product, int64_t z)
{
    const td_real_product *p = product->p;
    const td_part_sizes *sizes = &product->plan.part;
    const td_part none = td_before_parts(p, sizes, z);
    td_part made = none, other, whole = none;
    if (!td_next_made_part(p, sizes, &made)) return none;
    other = made;
    if (td_next_made_part(p, sizes, &other)) return none;
    while (td_next_part(p, sizes, &whole) && whole.number < made.number) continue;
    return whole.i == made.i && whole.j == made.j && whole.m == made.m && whole.n == made.n ? made
                                                                                            : none;
}

static cudaError_t run_part(const void *of, const td_part *part, bool *touched)
{
    const td_ozaki_product *product = of;
    bool has_whole;
    if (td_ozaki_certifies(product) && estimated_last(product, part->z).number != part->number) {
        const cudaError_t error = estimate_part(product, part, false);
        if (error != cudaSuccess) return error;
    }
    if (td_ozaki_strips(&product->plan) > 1) return run_strips(product, part, touched);
    const td_scheme_part s = scheme_part_of(product, part);
    return make_piece(product, part, &s, &has_whole, touched);
}

/* Chooses for the members of all parts that follow. */
static cudaError_t run_members(const void *of, const td_part *before_parts)
{
    const td_ozaki_product *product = of;
    const td_ozaki_plan *plan = &product->plan;
    td_part part = *before_parts;
    bool is_decided;
    cudaError_t error = decide(product, before_parts, &is_decided);
    if (is_decided) return error;
    const td_part last = estimated_last(product, part.z);
    while (error == cudaSuccess && td_next_part(product->p, &plan->part, &part))
        if (part.number != last.number) error = estimate_part(product, &part, true);
    return error == cudaSuccess && last.number >= 0 ? estimate_part(product, &last, true) : error;
}

td_run_status td_ozaki_run(td_ozaki_product *product, size_t limit)
{
    const td_real_product *p = product->p;
    const td_part_steps steps = {.product = product, .members = run_members, .part = run_part};
    if (!td_scheme_takes(p)) return TD_RUN_TOO_LARGE;
    td_workspace workspace;
    td_run_status status = td_workspace_acquire(&workspace, product->device, p->stream, &p->lent,
                                                limit, td_ozaki_plan_make, product);
    if (status != TD_RUN_DONE) return status;
    td_ozaki_carve(product, workspace.memory);
    product->is_captured = workspace.block || workspace.is_lent;
    product->has_branch = may_be_native(product);
    if (!product->has_branch) product->parameter.prices.native = 0;
    status = td_run_parts(p, &product->plan.part, &steps);
    td_workspace_release(&workspace, p->stream);
    return status;
}
