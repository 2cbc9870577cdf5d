#include "dense_state.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/cuda/device.h"
#include "lib/engines/tiler.h"
#include "tests/support/test.h"
#include "tests/kernels/support/device.h"

const char *dense_text(const dense_case *c)
{
    static char buffer[400];
    snprintf(buffer, sizeof buffer, "%s, masks %d, batch %d, pieces %d x %d x %d%s%s, edge %d",
             product_text(&c->of), (int)c->form, c->batch, (int)c->m_piece, (int)c->n_piece,
             (int)c->k_pass, c->is_worth ? "" : ", not worth it",
             c->has_specials ? ", specials" : "", c->edge);
    return buffer;
}

bool dense_is_masked(const dense_case *c, int64_t i, int64_t j)
{
    const int64_t tile = i / TD_TILE + j / TD_TILE, in_tile = i % TD_TILE + j % TD_TILE * TD_TILE;
    if (tile % 3 == 2) return c->form == HALF && in_tile % 7 == 0 && in_tile < TD_FEW;
    switch (c->form) {
    case HALF:
        return (i + j) % 2 == 0;
    case JUST_DENSE:
        return in_tile <= TD_FEW;
    case JUST_FEW:
        return in_tile < TD_FEW;
    case ONE_TILE:
        return tile == 0;
    default:
        return true;
    }
}

/* Filled with 0xa5. */
static void *reserve(dense_state *s, int64_t bytes)
{
    void *memory = NULL;
    CHECK(s->buffers < MOST_BUFFERS, "too many buffers");
    CHECK_CUDA(cudaMalloc(&memory, (size_t)bytes));
    CHECK_CUDA(cudaMemset(memory, 0xa5, (size_t)bytes));
    return s->buffer[s->buffers++] = memory;
}

static void *upload(dense_state *s, const void *from, int64_t bytes)
{
    void *to = reserve(s, bytes);
    CHECK_CUDA(cudaMemcpy(to, from, (size_t)bytes, cudaMemcpyHostToDevice));
    return to;
}

int64_t dense_mask_index(const dense_state *s, int z, int64_t i, int64_t j)
{
    const int64_t tile = (z * s->tiles[1] + j / TD_TILE) * s->tiles[0] + i / TD_TILE;
    return tile * TD_SUBTILES + j % TD_TILE / TD_SUBTILE * (TD_TILE / TD_SUBTILE) +
           i % TD_TILE / TD_SUBTILE;
}

unsigned dense_mask_bit(int64_t i, int64_t j)
{
    return 1u << (j % TD_SUBTILE * TD_SUBTILE + i % TD_SUBTILE);
}

/* Masks and lists as the first product leaves them. */
static void make_masks(dense_state *s, const dense_case *c)
{
    const int64_t tiles = s->tiles[0] * s->tiles[1];
    s->masks = calloc((size_t)(tiles * c->batch) * TD_SUBTILES, sizeof *s->masks);
    s->is_dense = calloc((size_t)(tiles * c->batch), 1);
    s->counts = calloc((size_t)c->batch, sizeof *s->counts);
    s->open = calloc((size_t)(tiles * c->batch), sizeof *s->open);
    CHECK(s->masks && s->is_dense && s->counts && s->open, "out of memory");
    for (int z = 0; z < c->batch; z++) {
        td_open_counts *const counts = s->counts + z;
        for (int64_t t = 0; t < tiles; t++) {
            int count = 0;
            for (int64_t e = 0; e < TD_TILE * TD_TILE; e++) {
                const int64_t i = t % s->tiles[0] * TD_TILE + e % TD_TILE,
                              j = t / s->tiles[0] * TD_TILE + e / TD_TILE;
                if (i >= c->of.m || j >= c->of.n || !dense_is_masked(c, i, j)) continue;
                s->masks[dense_mask_index(s, z, i, j)] |= (uint16_t)dense_mask_bit(i, j);
                count++;
            }
            s->is_dense[z * tiles + t] = count > TD_FEW;
            if (count > TD_FEW)
                s->open[(z + 1) * tiles - 1 - counts->dense++] = (int32_t)t;
            else if (count > 0)
                s->open[z * tiles + counts->few++] = (int32_t)t;
        }
        counts->sums = c->is_worth ? 1 << 30 : 0; /* what single sums would cost */
    }
}

static td_matrix matrices(dense_state *s, const dense_case *c, const test_matrix *const *m)
{
    void *at[MOST_MEMBERS];
    for (int z = 0; z < c->batch; z++)
        at[z] =
            device_data(m[z], upload(s, m[z]->storage, (int64_t)(m[z]->count * sizeof(double))));
    return (td_matrix){.array = upload(s, at, (int64_t)sizeof at), .ld = m[0]->ld};
}

/* Some cases go by how many elements are rounded, as mode faithful does, others by all of a
 * line. */
static bool counts_rounded(const dense_case *c) { return c->of.seed % 2 != 0; }

/* Room for what is measured of an operand's lines. */
static void reserve_lines(dense_state *s, const dense_case *c, int o, int64_t strip,
                          td_measure *measure)
{
    const int64_t records = (o ? c->of.n : c->of.m) * c->batch * (int64_t)sizeof(td_line);
    measure->scratch.chunks[o] =
        reserve(s, td_ceil_div(c->of.k, TD_CHUNK) * c->batch * strip * (int64_t)td_chunk_bytes());
    measure->scratch.chunks_again[o] =
        reserve(s, td_ceil_div(c->of.k, TD_CHUNK) * c->batch * strip * (int64_t)td_chunk_bytes());
    measure->scratch.tops[o] = reserve(s, c->of.k * c->batch * 4);
    measure->scratch.bounds[o] = reserve(s, td_bounds(c->of.k) * c->batch * 8);
    measure->line[o] = reserve(s, records);
    measure->line_again[o] = reserve(s, records);
    s->line[o] = measure->line[o];
}

static void measure(dense_state *s, const dense_case *c)
{
    const int64_t k = c->of.k, size[2] = {c->of.m, c->of.n},
                  strip = td_round_up(size[0] > size[1] ? size[0] : size[1], TD_TILE);
    td_measure measure = {.operand = {s->operand[0], s->operand[1]},
                          .route = TD_MEASURE_THREADS,
                          .alpha = s->target.alpha,
                          .batch = c->batch,
                          .scratch.strip_lines = (int)strip,
                          .shift = reserve(s, k * c->batch * 2),
                          .shifted = reserve(s, c->batch * 4),
                          .scratch.rise = reserve(s, c->batch * (int64_t)sizeof(td_rise)),
                          .clear = reserve(s, 4),
                          .clear_count = 1};
    for (int o = 0; o < 2; o++) reserve_lines(s, c, o, strip, &measure);
    s->shift = measure.shift;
    s->shifted = measure.shifted;
    td_choose choose = {
        .measured = {.line = {measure.line[0], measure.line[1]},
                     .line_again = {measure.line_again[0], measure.line_again[1]},
                     .shifted = measure.shifted,
                     .lines = {(int)size[0], (int)size[1]},
                     .batch = c->batch,
                     .k = k,
                     .alpha = s->target.alpha},
        .chosen = {.choice = reserve(s, c->batch * (int64_t)sizeof(td_choice)),
                   .line = {measure.line[0], measure.line[1]}},
    };
    const td_scheme_case exact = {.scheme = &td_scheme_residues,
                                  .parameter = {.count = TD_EXACT_MODULI, .is_given = true},
                                  .k = k};
    td_scheme_residues.choose(&exact, &choose.rule);
    measure.scaling = td_scaling_of(&choose.rule, &choose.rule.candidate[0]);
    measure.counts_rounded = counts_rounded(c);
    CHECK_CUDA(td_lines_run(&measure, &choose, NULL));
}

/* Row i of op(A) is 2^edge, -2^edge, 1 from element i on, and columns of op(B) are constant: each
 * sum is 1 times that. All columns of op(A) are alike, so that no shift along k makes lines span
 * less. */
static void plant_edges(problem *p, int edge)
{
    const product *of = &p->of;
    const int64_t period = of->m < of->k ? of->m : of->k;
    for (int64_t l = 0; l < of->k; l++) {
        for (int64_t i = 0; i < of->m; i++) {
            const int64_t at = (l - i % period + period) % period;
            const double x = at == 0 ? ldexp(1.0, edge) : at == 1 ? -ldexp(1.0, edge) : at == 2;
            *(of->op_a == TANDEM_OP_N ? matrix_at(&p->a, i, l) : matrix_at(&p->a, l, i)) =
                l < period ? x : 0.0;
        }
        for (int64_t j = 0; j < of->n; j++)
            *(of->op_b == TANDEM_OP_N ? matrix_at(&p->b, l, j) : matrix_at(&p->b, j, l)) =
                l < period ? 1.0 + ldexp(1.0, -(int)(j % 50)) : 0.0;
    }
}

dense_state dense_make(const dense_case *c)
{
    dense_state s = {.tiles = {td_ceil_div(c->of.m, TD_TILE), td_ceil_div(c->of.n, TD_TILE)}};
    const test_matrix *a[MOST_MEMBERS], *b[MOST_MEMBERS], *at_c[MOST_MEMBERS];
    for (int z = 0; z < c->batch; z++) {
        product of = c->of;
        of.seed += (uint64_t)z;
        problem *const p = &s.p[z];
        *p = problem_make(&of);
        if (c->edge) plant_edges(p, c->edge);
        if (c->has_specials) {
            const int64_t l = of.k - 1;
            *(of.op_a == TANDEM_OP_N ? matrix_at(&p->a, 5, l) : matrix_at(&p->a, l, 5)) = INFINITY;
            if (of.beta != 0.0) *matrix_at(&p->c, 7, 8) = NAN;
        }
        s.c[z] = matrix_copy(&p->c);
        a[z] = &p->a, b[z] = &p->b, at_c[z] = &s.c[z];
    }
    make_masks(&s, c);
    const int64_t tiles = s.tiles[0] * s.tiles[1] * c->batch;
    s.operand[0] = device_lines(matrices(&s, c, a), a[0], c->of.op_a == TANDEM_OP_N);
    s.operand[1] = device_lines(matrices(&s, c, b), b[0], c->of.op_b == TANDEM_OP_T);
    s.target = (td_target){
        .c = matrices(&s, c, at_c),
        .m = (int)c->of.m,
        .n = (int)c->of.n,
        .alpha.value.binary64 = c->of.alpha,
        .beta.value.binary64 = c->of.beta,
        .masks = upload(&s, s.masks, tiles * TD_SUBTILES * (int64_t)sizeof *s.masks),
        .open_count = upload(&s, s.counts, c->batch * (int64_t)sizeof *s.counts),
        .open_tile = upload(&s, s.open, tiles * (int64_t)sizeof *s.open),
        .is_dense = reserve(&s, (int64_t)td_second_scratch_bytes(c->of.m, c->of.n, c->batch)),
    };
    CHECK_CUDA(cudaMemcpy(s.target.is_dense, s.is_dense, (size_t)tiles, cudaMemcpyHostToDevice));
    const unsigned long long none = 0;
    s.repaired = upload(&s, &none, sizeof none);
    measure(&s, c);
    return s;
}

void dense_free(dense_state *s, const dense_case *c)
{
    for (int i = 0; i < s->buffers; i++) device_free(s->buffer[i]);
    for (int z = 0; z < c->batch; z++) {
        problem_free(&s->p[z]);
        matrix_free(&s->c[z]);
    }
    test_drop(s->masks, s->is_dense, s->counts, s->open);
}

void dense_run(dense_state *s, const dense_case *c)
{
    const int64_t k = c->of.k;
    td_second_part part = {
        .device = td_device_current(),
        .terms.device = td_traits_current(),
        .fixed = {.operand = {s->operand[0], s->operand[1]},
                  .alpha = s->target.alpha,
                  .batch = c->batch,
                  .line = {s->line[0], s->line[1]},
                  .lines_of_member = {c->of.m, c->of.n},
                  .shift = s->shift,
                  .shifted = s->shifted},
        .finish = {.target = s->target,
                   .kind = TD_FINISH_EXACT,
                   .line = {s->line[0], s->line[1]},
                   .lines_of_member = {c->of.m, c->of.n},
                   .counts_rounded = counts_rounded(c),
                   .defers_tiles = TD_DEFERS_TO_SECOND},
        .sizes = {.m = c->m_piece ? c->m_piece : c->of.m,
                  .n = c->n_piece ? c->n_piece : c->of.n,
                  .k_pass = c->k_pass ? c->k_pass : td_round_up(k, TD_K_PAD)},
        .repaired = s->repaired,
    };
    part.workspace = reserve(s, (int64_t)td_second_bytes(&part.sizes, k, c->batch));
    part.next_unit = reserve(s, sizeof *part.next_unit);
    CHECK_CUDA(cudaMemset(part.next_unit, 0, sizeof *part.next_unit));
    CHECK_CUDA(td_second_part_run(&part));
}

void dense_repair(dense_state *s, const dense_case *c)
{
    const td_repair repair = {.operand = {s->operand[0], s->operand[1]},
                              .target = s->target,
                              .kind = TD_REPAIR_EXACT,
                              .takes_dense = true,
                              .repaired = s->repaired,
                              .line = {s->line[0], s->line[1]},
                              .lines_of_member = {c->of.m, c->of.n},
                              .shift = s->shift,
                              .shifted = s->shifted};
    CHECK_CUDA(td_exact_narrow_run(&repair, c->batch, NULL));
    CHECK_CUDA(td_exact_wide_run(&repair, c->batch, NULL));
}

unsigned long long dense_fetch(dense_state *s, const dense_case *c)
{
    unsigned long long count = 0;
    void *at[MOST_MEMBERS];
    device_check_clean(dense_text(c));
    CHECK_CUDA(cudaMemcpy(at, s->target.c.array, sizeof at, cudaMemcpyDeviceToHost));
    for (int z = 0; z < c->batch; z++) {
        device_download(&s->c[z], (double *)at[z] - s->c[z].guard);
        CHECK(matrix_damage(&s->c[z]) == -1, "C's surroundings were written: %s", dense_text(c));
    }
    CHECK_CUDA(
        cudaMemcpy(s->masks, s->target.masks,
                   (size_t)(s->tiles[0] * s->tiles[1] * c->batch) * TD_SUBTILES * sizeof *s->masks,
                   cudaMemcpyDeviceToHost));
    CHECK_CUDA(cudaMemcpy(&count, s->repaired, sizeof count, cudaMemcpyDeviceToHost));
    return count;
}
