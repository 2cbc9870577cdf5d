#include "second_product.h"

#include "../../../kernels/residue/moduli.h"
#include "../../model/tuning.h"
#include "../tiler.h"

static const td_parameter moduli = {.count = TD_SECOND_MODULI, .is_given = true};

enum { SMALL_BYTES = 512 << 20 };

static td_scheme_case case_of(int64_t k)
{
    return (td_scheme_case){.scheme = &td_scheme_residues, .parameter = moduli, .k = k};
}

size_t td_second_bytes(const td_part_sizes *sizes, int64_t k, int64_t batch)
{
    const td_scheme_case c = case_of(k);
    return td_scheme_residues.bytes(&c, sizes->m, sizes->n, sizes->k_pass, batch);
}

static bool is_too_small(const td_part_sizes *part, int64_t k)
{
    return (double)part->m * (double)part->n * (double)k * (double)part->batch <
           td_tuned_second_products;
}

size_t td_second_small_bytes(const td_part_sizes *part, int64_t k)
{
    const size_t bytes = td_second_bytes(part, k, part->batch);
    return bytes > SMALL_BYTES || is_too_small(part, k) ? 0 : bytes;
}

/* Sizes that shrink until pieces of a part fit; each piece has all members of the part. */
typedef struct {
    td_part_sizes sizes; /* of one member */
    int64_t k, batch;
} second_plan;

static size_t bytes_of_plan(void *of)
{
    const second_plan *plan = of;
    return td_second_bytes(&plan->sizes, plan->k, plan->batch);
}

static bool shrink(void *of)
{
    second_plan *plan = of;
    return td_scheme_shrink(&plan->sizes);
}

td_part_sizes td_second_sizes(const td_part_sizes *part, int64_t k, size_t bytes)
{
    const td_scheme_case c = case_of(k);
    const int64_t most_k = td_scheme_residues.most_k(&c);
    second_plan plan = {.sizes = {.m = part->m,
                                  .n = part->n,
                                  .batch = 1,
                                  .k_pass = td_smaller(part->k_pass, most_k)},
                        .k = k,
                        .batch = part->batch};
    const bool fits = !is_too_small(part, k) && td_fit(&plan, bytes, bytes_of_plan, shrink) > 0;
    return fits ? plan.sizes : (td_part_sizes){0};
}

/* Behind is_dense: records of lines, [batch][lines of the part], and what is chosen, [batch]. */
typedef struct {
    size_t line[2], choice, bytes;
} scratch;

static scratch lay_out(int64_t m, int64_t n, int64_t batch)
{
    scratch s = {0};
    (void)td_reserve(&s.bytes, td_ceil_div(m, TD_TILE) * td_ceil_div(n, TD_TILE) * batch);
    for (int o = 0; o < 2; o++)
        s.line[o] = td_reserve(&s.bytes, (o ? n : m) * batch * (int64_t)sizeof(td_line));
    s.choice = td_reserve(&s.bytes, batch * (int64_t)sizeof(td_choice));
    return s;
}

size_t td_second_scratch_bytes(int64_t m, int64_t n, int64_t batch)
{
    return lay_out(m, n, batch).bytes;
}

static scratch scratch_of(const td_second_part *part)
{
    const td_target *target = &part->finish.target;
    return lay_out(target->m, target->n, part->fixed.batch);
}

static td_line *lines_of(const td_second_part *part, int which)
{
    return (td_line *)(part->finish.target.is_dense + scratch_of(part).line[which]);
}

static td_choice *choice_of(const td_second_part *part)
{
    return (td_choice *)(part->finish.target.is_dense + scratch_of(part).choice);
}

/* Rows i .. and columns j .. of the part. */
static td_scheme_part piece_of(const td_second_part *whole, int64_t i, int64_t j)
{
    const int64_t first[2] = {i, j}, size[2] = {whole->finish.target.m, whole->finish.target.n},
                  row_tiles = td_ceil_div(size[0], TD_TILE);
    td_scheme_part piece = {.scheme = &td_scheme_residues,
                            .device = whole->device,
                            .terms = whole->terms,
                            .parameter = moduli,
                            .fixed = whole->fixed,
                            .finish = whole->finish,
                            .k_pass = whole->sizes.k_pass,
                            .workspace = whole->workspace,
                            .next_unit = whole->next_unit,
                            .stream = whole->stream};
    piece.fixed.choice = choice_of(whole);
    piece.finish.target.region = td_region_from(&whole->finish.target.region, i, j);
    for (int o = 0; o < 2; o++) {
        const int lines = (int)td_smaller(o ? whole->sizes.n : whole->sizes.m, size[o] - first[o]);
        *(o ? &piece.finish.target.n : &piece.finish.target.m) = lines;
        piece.fixed.operand[o].lines = lines;
        piece.fixed.operand[o].offset += first[o] * piece.fixed.operand[o].line_step;
        piece.fixed.line[o] = lines_of(whole, o) + first[o];
        piece.fixed.lines_of_member[o] = size[o];
    }
    piece.wanted = (td_wanted_tiles){.of = whole->finish.target.is_dense + j / TD_TILE * row_tiles +
                                           i / TD_TILE,
                                     .ld = row_tiles,
                                     .batch_step = row_tiles * td_ceil_div(size[1], TD_TILE)};
    return piece;
}

static cudaError_t run_piece(const td_second_part *whole, int64_t i, int64_t j)
{
    const td_scheme_part piece = piece_of(whole, i, j);
    const cudaError_t error = td_scheme_residues.multiply(&piece);
    if (error != cudaSuccess) return error;
    td_second_finish finish = {.finish = whole->finish,
                               .product = td_scheme_residue_product(&piece),
                               .row = (int)i,
                               .column = (int)j,
                               .rows = piece.finish.target.m,
                               .columns = piece.finish.target.n,
                               .repaired = whole->repaired};
    finish.finish.kind = TD_FINISH_EXACT;
    finish.finish.cut = (td_cut){0};
    finish.finish.choice = choice_of(whole);
    finish.finish.lines_of_member[0] = whole->finish.target.m;
    finish.finish.lines_of_member[1] = whole->finish.target.n;
    for (int o = 0; o < 2; o++) finish.finish.line[o] = lines_of(whole, o);
    return td_second_finish_run(&finish, whole->fixed.batch, whole->stream);
}

static bool is_along_k(const td_second_part *part)
{
    return part->fixed.operand[0].k_step == 1 && part->fixed.operand[1].k_step == 1;
}

static cudaError_t choose(const td_second_part *part)
{
    const td_scheme_case c = case_of(part->fixed.operand[0].k);
    td_rule rule = {0};
    td_scheme_residues.choose(&c, &rule);
    const td_second_rule rule_of_tiles = {
        .target = part->finish.target,
        .from = {part->finish.line[0], part->finish.line[1]},
        .lines_of_member = {part->finish.lines_of_member[0], part->finish.lines_of_member[1]},
        .line = {lines_of(part, 0), lines_of(part, 1)},
        .candidate = rule.candidate[0],
        .choice = choice_of(part),
        .cost = {.line = (int)td_tuned_second_line,
                 .tile = (int)td_tuned_second_tile,
                 .tiles_together = (int)td_tuned_second_tiles_together,
                 .finish = (int)td_tuned_second_finish,
                 .sum = (int)(is_along_k(part) ? td_tuned_second_sum_along_k
                                               : td_tuned_second_sum_across_k)},
    };
    return td_second_choose(&rule_of_tiles, part->fixed.batch, part->stream);
}

/* True if C has elements of the piece that begins at (i, j): others have no tiles to launch. */
static bool has_piece(const td_second_part *part, int64_t i, int64_t j)
{
    const td_target *target = &part->finish.target;
    return td_region_meets(&target->region, i, j, (int)td_smaller(part->sizes.m, target->m - i),
                           (int)td_smaller(part->sizes.n, target->n - j));
}

cudaError_t td_second_part_run(const td_second_part *part)
{
    cudaError_t error = choose(part);
    for (int64_t j = 0; j < part->finish.target.n; j += part->sizes.n)
        for (int64_t i = 0; i < part->finish.target.m && error == cudaSuccess; i += part->sizes.m)
            if (has_piece(part, i, j)) error = run_piece(part, i, j);
    return error;
}

cudaError_t td_second_part_prepare(void)
{
    const cudaError_t error = td_second_prepare();
    return error == cudaSuccess ? td_scheme_residues.prepare(&td_scheme_residues) : error;
}
