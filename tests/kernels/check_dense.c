/* check_dense.c - the second product of dense tiles by itself, of masks of any form: what it certifies is the exact element rounded
 * once, what it does not is untouched and still masked, and nothing else is written.
 *
 * usage: check_dense [CASES [SEED]] */
#include "../support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../lib/device.h"
#include "../../lib/engines/dense.h"
#include "../../lib/engines/part.h"
#include "../support/bits.h"
#include "checked.h"
#include "device.h"

enum { MOST_MEMBERS = 2, MOST_BUFFERS = 64 };

static int cases = 30;
static uint64_t first_seed;

/* Which elements are masked: none of a row of tiles, and a tile of few, where there are as many. */
typedef enum { ALL, HALF, JUST_DENSE, JUST_FEW, ONE_TILE, FORMS } form;

typedef struct {
    product of;
    form form;
    int batch;
    int64_t m_piece, n_piece, k_pass; /* 0: not cut */
    bool is_worth, has_specials;
    int edge; /* see plant_edges; 0: the data as they are */
} dense_case;

static const char *text(const dense_case *c)
{
    static char buffer[400];
    snprintf(buffer, sizeof buffer, "%s, masks %d, batch %d, pieces %d x %d x %d%s%s, edge %d",
             product_text(&c->of), (int)c->form, c->batch, (int)c->m_piece, (int)c->n_piece,
             (int)c->k_pass, c->is_worth ? "" : ", not worth it",
             c->has_specials ? ", specials" : "", c->edge);
    return buffer;
}

static bool is_masked(const dense_case *c, int64_t i, int64_t j)
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

/* ---- what is on the device ---- */

typedef struct {
    problem p[MOST_MEMBERS];
    test_matrix c[MOST_MEMBERS];
    void *buffer[MOST_BUFFERS];
    int buffers;
    int64_t tiles[2];
    uint16_t *masks;
    uint8_t *is_dense;
    int32_t *counts, *open;
    td_operand operand[2];
    td_target target;
    const td_line *line[2];
    int16_t *shift;
    int32_t *shifted;
    unsigned long long *repaired;
} state;

/* Filled with 0xa5. */
static void *reserve(state *s, int64_t bytes)
{
    void *memory = NULL;
    CHECK(s->buffers < MOST_BUFFERS, "too many buffers");
    CHECK_CUDA(cudaMalloc(&memory, (size_t)bytes));
    CHECK_CUDA(cudaMemset(memory, 0xa5, (size_t)bytes));
    return s->buffer[s->buffers++] = memory;
}

static void *upload(state *s, const void *from, int64_t bytes)
{
    void *to = reserve(s, bytes);
    CHECK_CUDA(cudaMemcpy(to, from, (size_t)bytes, cudaMemcpyHostToDevice));
    return to;
}

static int64_t mask_index(const state *s, const dense_case *c, int z, int64_t i, int64_t j)
{
    (void)c;
    const int64_t tile = (z * s->tiles[1] + j / TD_TILE) * s->tiles[0] + i / TD_TILE;
    return tile * TD_SUBTILES + j % TD_TILE / TD_SUBTILE * (TD_TILE / TD_SUBTILE) +
           i % TD_TILE / TD_SUBTILE;
}

static unsigned mask_bit(int64_t i, int64_t j)
{
    return 1u << (j % TD_SUBTILE * TD_SUBTILE + i % TD_SUBTILE);
}

/* Masks and lists as the first product leaves them. */
static void make_masks(state *s, const dense_case *c)
{
    const int64_t tiles = s->tiles[0] * s->tiles[1];
    s->masks = calloc((size_t)(tiles * c->batch) * TD_SUBTILES, sizeof *s->masks);
    s->is_dense = calloc((size_t)(tiles * c->batch), 1);
    s->counts = calloc((size_t)c->batch * TD_OPEN_COUNTS, sizeof *s->counts);
    s->open = calloc((size_t)(tiles * c->batch), sizeof *s->open);
    CHECK(s->masks && s->is_dense && s->counts && s->open, "out of memory");
    for (int z = 0; z < c->batch; z++) {
        int32_t *const counts = s->counts + z * TD_OPEN_COUNTS;
        for (int64_t t = 0; t < tiles; t++) {
            int count = 0;
            for (int64_t e = 0; e < TD_TILE * TD_TILE; e++) {
                const int64_t i = t % s->tiles[0] * TD_TILE + e % TD_TILE,
                              j = t / s->tiles[0] * TD_TILE + e / TD_TILE;
                if (i >= c->of.m || j >= c->of.n || !is_masked(c, i, j)) continue;
                s->masks[mask_index(s, c, z, i, j)] |= (uint16_t)mask_bit(i, j);
                count++;
            }
            s->is_dense[z * tiles + t] = count > TD_FEW;
            if (count > TD_FEW)
                s->open[(z + 1) * tiles - 1 - counts[1]++] = (int32_t)t;
            else if (count > 0)
                s->open[z * tiles + counts[0]++] = (int32_t)t;
        }
        counts[3] = c->is_worth ? 1 << 30 : 0; /* what single sums would cost */
    }
}

static td_matrix matrices(state *s, const dense_case *c, const test_matrix *const *m)
{
    void *at[MOST_MEMBERS];
    for (int z = 0; z < c->batch; z++)
        at[z] =
            device_data(m[z], upload(s, m[z]->storage, (int64_t)(m[z]->count * sizeof(double))));
    return (td_matrix){.array = upload(s, at, (int64_t)sizeof at), .ld = m[0]->ld};
}

static td_operand operand(td_matrix matrix, const test_matrix *x, bool lines_are_rows)
{
    return (td_operand){
        .matrix = matrix,
        .line_step = lines_are_rows ? 1 : x->ld,
        .k_step = lines_are_rows ? x->ld : 1,
        .k = lines_are_rows ? x->cols : x->rows,
        .lines = (int)(lines_are_rows ? x->rows : x->cols),
    };
}

static void measure(state *s, const dense_case *c)
{
    const int64_t k = c->of.k, size[2] = {c->of.m, c->of.n},
                  strip = td_round_up(size[0] > size[1] ? size[0] : size[1], TD_TILE);
    td_measure measure = {.operand = {s->operand[0], s->operand[1]},
                          .alpha = s->target.alpha,
                          .batch = c->batch,
                          .strip_lines = (int)strip,
                          .shift = reserve(s, k * c->batch * 2),
                          .shifted = reserve(s, c->batch * 4),
                          .done = reserve(s, td_done_counts(size[0], size[1], c->batch) * 4),
                          .clear = reserve(s, 4),
                          .clear_count = 1};
    for (int o = 0; o < 2; o++) {
        const int64_t records = size[o] * c->batch * (int64_t)sizeof(td_line);
        measure.units[o] =
            reserve(s, td_ceil_div(k, TD_UNIT) * c->batch * strip * (int64_t)td_unit_bytes());
        measure.tops[o] = reserve(s, k * c->batch * 4);
        measure.bounds[o] = reserve(s, td_bounds(k) * c->batch * 8);
        measure.line[o] = reserve(s, records);
        measure.line_again[o] = reserve(s, records);
        s->line[o] = measure.line[o];
    }
    s->shift = measure.shift;
    s->shifted = measure.shifted;
    CHECK_CUDA(td_measure_run(&measure, NULL));
}

/* Row i of op(A) is 2^edge, -2^edge, 1 from element i on, and columns of op(B) are constant: each sum is 1 times that. All columns of
 * op(A) are alike, so that no shift along k makes lines span less. */
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

static state make_state(const dense_case *c)
{
    state s = {.tiles = {td_ceil_div(c->of.m, TD_TILE), td_ceil_div(c->of.n, TD_TILE)}};
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
    s.operand[0] = operand(matrices(&s, c, a), a[0], c->of.op_a == TANDEM_OP_N);
    s.operand[1] = operand(matrices(&s, c, b), b[0], c->of.op_b == TANDEM_OP_T);
    s.target = (td_target){
        .c = matrices(&s, c, at_c),
        .m = (int)c->of.m,
        .n = (int)c->of.n,
        .alpha.value.binary64 = c->of.alpha,
        .beta.value.binary64 = c->of.beta,
        .masks = upload(&s, s.masks, tiles * TD_SUBTILES * (int64_t)sizeof *s.masks),
        .open_count = upload(&s, s.counts, c->batch * TD_OPEN_COUNTS * (int64_t)sizeof *s.counts),
        .open_tile = upload(&s, s.open, tiles * (int64_t)sizeof *s.open),
        .is_dense = upload(&s, s.is_dense, tiles),
    };
    const unsigned long long none = 0;
    s.repaired = upload(&s, &none, sizeof none);
    measure(&s, c);
    return s;
}

static void free_state(state *s, const dense_case *c)
{
    for (int i = 0; i < s->buffers; i++) device_free(s->buffer[i]);
    for (int z = 0; z < c->batch; z++) {
        problem_free(&s->p[z]);
        matrix_free(&s->c[z]);
    }
    free(s->masks);
    free(s->is_dense);
    free(s->counts);
    free(s->open);
}

/* ---- running ---- */

static void run_dense(state *s, const dense_case *c)
{
    const int64_t k = c->of.k;
    td_dense_part part = {
        .device = td_device_current(),
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
                   .leaves_tiles = TD_LEAVES_EXACT},
        .sizes = {.m = c->m_piece ? c->m_piece : c->of.m,
                  .n = c->n_piece ? c->n_piece : c->of.n,
                  .k_pass = c->k_pass ? c->k_pass : td_round_up(k, TD_K_PAD)},
        .choice = reserve(s, c->batch * (int64_t)sizeof(td_choice)),
        .repaired = s->repaired,
    };
    part.workspace = reserve(s, (int64_t)td_dense_bytes(&part.sizes, k, c->batch));
    for (int o = 0; o < 2; o++)
        part.line[o] = reserve(s, (o ? c->of.n : c->of.m) * c->batch * (int64_t)sizeof(td_line));
    CHECK_CUDA(td_dense_part_run(&part));
}

static void run_repair(state *s, const dense_case *c)
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

/* C and masks as they are on the device; returns how many elements were counted. */
static unsigned long long fetch(state *s, const dense_case *c)
{
    unsigned long long count = 0;
    void *at[MOST_MEMBERS];
    device_check_clean(text(c));
    CHECK_CUDA(cudaMemcpy(at, s->target.c.array, sizeof at, cudaMemcpyDeviceToHost));
    for (int z = 0; z < c->batch; z++) {
        device_download(&s->c[z], (double *)at[z] - s->c[z].guard);
        CHECK(matrix_damage(&s->c[z]) == -1, "C's surroundings were written: %s", text(c));
    }
    CHECK_CUDA(
        cudaMemcpy(s->masks, s->target.masks,
                   (size_t)(s->tiles[0] * s->tiles[1] * c->batch) * TD_SUBTILES * sizeof *s->masks,
                   cudaMemcpyDeviceToHost));
    CHECK_CUDA(cudaMemcpy(&count, s->repaired, sizeof count, cudaMemcpyDeviceToHost));
    return count;
}

/* ---- checking ---- */

typedef struct {
    unsigned long long masked,
        done; /* of dense tiles, or of all; without those that are not finite */
} census;

static bool is_finite(const dense_case *c, int64_t i, int64_t j)
{
    return !c->has_specials || !(i == 5 || (i == 7 && j == 8 && c->of.beta != 0.0));
}

static void check_element(const state *s, const dense_case *c, int z, int64_t i, int64_t j,
                          bool is_open, bool must_be_done, census *seen)
{
    test_matrix before = s->p[z].c;
    const bool was_masked = is_masked(c, i, j),
               is_left = s->masks[mask_index(s, c, z, i, j)] & mask_bit(i, j),
               is_done = was_masked && !is_left;
    const double x = *matrix_at(&s->c[z], i, j), was = *matrix_at(&before, i, j);
    CHECK(!is_left || was_masked, "(%d, %d) of %d is masked now: %s", (int)i, (int)j, z, text(c));
    CHECK(!is_done || (is_open && is_finite(c, i, j)), "(%d, %d) of %d is done: %s", (int)i, (int)j,
          z, text(c));
    CHECK(is_done || !must_be_done || !was_masked || !is_finite(c, i, j),
          "(%d, %d) of %d is left: %s", (int)i, (int)j, z, text(c));
    seen->masked += was_masked && is_open && is_finite(c, i, j);
    seen->done += is_done;
    if (!is_done) {
        CHECK(bits_of(x) == bits_of(was), "(%d, %d) of %d was %a and is %a: %s", (int)i, (int)j, z,
              was, x, text(c));
        return;
    }
    const ref_gemm gemm = problem_gemm(&s->p[z], &before);
    const double want = ref_measure(&gemm, i, j, 0.0).nearest;
    CHECK(bits_of(x) == bits_of(want), "(%d, %d) of %d is %a, not %a: %s", (int)i, (int)j, z, x,
          want, text(c));
}

static census check_elements(const state *s, const dense_case *c, bool all_tiles, bool must_be_done)
{
    census seen = {0};
    const int64_t tiles = s->tiles[0] * s->tiles[1];
    for (int z = 0; z < c->batch; z++)
        for (int64_t j = 0; j < c->of.n; j++)
            for (int64_t i = 0; i < c->of.m; i++) {
                const int64_t tile = j / TD_TILE * s->tiles[0] + i / TD_TILE;
                check_element(s, c, z, i, j,
                              all_tiles || (c->is_worth && s->is_dense[z * tiles + tile]),
                              must_be_done, &seen);
            }
    return seen;
}

/* The second product, and what is left by single sums. */
static census check_case(const dense_case *c)
{
    state s = make_state(c);
    run_dense(&s, c);
    const unsigned long long counted = fetch(&s, c);
    const census seen = check_elements(&s, c, false, false);
    CHECK(counted == seen.done, "%d are counted, %d done: %s", (int)counted, (int)seen.done,
          text(c));
    run_repair(&s, c);
    const unsigned long long all = fetch(&s, c);
    const census after = check_elements(&s, c, true, true);
    CHECK(all == after.done, "%d are counted, %d done: %s", (int)all, (int)after.done, text(c));
    free_state(&s, c);
    return seen;
}

/* ---- tests ---- */

/* All sums of such data are certified: their lines span less than 151 bits, or nothing cancels. */
static const char *const certified[] = {"uniform",  "both signs",     "wide 1",
                                        "wide 2",   "wide 4",         "graded",
                                        "crossing", "exact zeros",    "all but cancelling",
                                        "integers", "2^480",          "2^-480",
                                        "constant", "lines apart",    "full",
                                        "zeros",    "wide cancelling"};
enum { CERTIFIED = 17 };
static const char *const others[] = {
    "scattered", "some scattered", "far scattered",  "rising",      "wide exact zeros",
    "subnormal", "least",          "vanishing",      "overflowing", "opposite",
    "one huge",  "circulant",      "half units 106", "far crossing"};
enum { OTHERS = 14 };

static const int64_t sizes[][3] = {{64, 64, 64},   {65, 70, 129}, {63, 130, 127},
                                   {130, 66, 100}, {200, 30, 65}, {17, 60, 300},
                                   {129, 129, 33}, {70, 65, 513}, {150, 140, 191}};
enum { SIZES = 9 };

static dense_case varied(const char *data, int which)
{
    const int64_t *size = sizes[which % SIZES];
    return (dense_case){.of = product_varied(data, size[0], size[1], size[2], which),
                        .form = (form)(which / 2 % FORMS),
                        .batch = 1 + (which % 5 == 3),
                        .m_piece = which % 3 == 1 ? 64 : 0,
                        .n_piece = which % 4 == 2 ? 128 : 0,
                        .k_pass = which % 3 == 2 ? 64 : 0,
                        .is_worth = which % 7 != 6,
                        .has_specials = which % 6 == 4};
}

static void data_that_are_certified(void **unused)
{
    (void)unused;
    census all = {0};
    for (int d = 0; d < CERTIFIED; d++)
        for (int i = 0; i < (test_is_sanitized() ? 1 : 2); i++) {
            const dense_case c = varied(certified[d], d + 5 * i);
            const census seen = check_case(&c);
            CHECK(seen.done == seen.masked, "%d of %d elements are left: %s",
                  (int)(seen.masked - seen.done), (int)seen.masked, text(&c));
            all.masked += seen.masked;
        }
    CHECK(all.masked > 10000, "%d elements", (int)all.masked);
    test_note("%llu elements", all.masked);
}

static void other_data(void **unused)
{
    (void)unused;
    census all = {0};
    for (int d = 0; d < OTHERS; d++)
        for (int i = 0; i < (test_is_sanitized() ? 1 : 2); i++) {
            const dense_case c = varied(others[d], d + 5 * i + 1);
            const census seen = check_case(&c);
            all.masked += seen.masked;
            all.done += seen.done;
        }
    CHECK(all.done > 0 && all.done < all.masked, "%d of %d are done", (int)all.done,
          (int)all.masked);
    test_note("%llu of %llu elements are certified", all.done, all.masked);
}

/* Results at the ends of binary64. */
static void scalars(void **unused)
{
    (void)unused;
    static const struct {
        const char *data;
        double alpha, beta;
    } ends[] = {{"both signs", 0x1p-1074, 0.0}, {"both signs", -0x1.7p-1065, 0.0},
                {"wide 4", 0x1p-1030, -1.0},    {"both signs", 0x1.3p-1026, 0x1p-1050},
                {"uniform", 0x1p1020, 0.0},     {"both signs", 0x1.9p1022, 0.0},
                {"exact zeros", 0x1p1023, 0.0}, {"cancelling", -0x1p-1010, 0x1p-60},
                {"wide 2", 1.5, 0x1p300},       {"wide 2", 1.5, 0x1p-300},
                {"overflowing", 1.0, -1.0},     {"exact zeros", 1.0, 0x1.8p-1}};
    for (int i = 0; i < (test_is_sanitized() ? 3 : 12); i++) {
        dense_case c = varied(ends[i].data, 9 + i);
        c.form = ALL;
        c.of.alpha = ends[i].alpha;
        c.of.beta = ends[i].beta;
        c.of.takes_product = i % 4 == 3;
        check_case(&c);
    }
}

/* 2^edge - 2^edge + 1 + ...: exact while lines of this span have room, and then cancelled by more than that. */
static void spans_at_the_limit(void **unused)
{
    (void)unused;
    static const struct {
        int edge;
        bool is_done;
    } limits[] = {{100, true}, {149, true}, {150, true}, {151, false}, {152, false}, {-150, true}};
    for (int i = 0; i < 6; i++) {
        dense_case c = varied("uniform", 3 * i);
        c.edge = limits[i].edge;
        c.form = ALL;
        c.has_specials = false;
        c.is_worth = true;
        const census seen = check_case(&c);
        CHECK(limits[i].is_done ? seen.done == seen.masked : seen.done == 0,
              "%d of %d are done: %s", (int)seen.done, (int)seen.masked, text(&c));
    }
}

/* Any of it all, from a fresh seed. */
static void random_cases(void **unused)
{
    (void)unused;
    test_random r = random_start(first_seed);
    for (int i = 0; i < cases; i++) {
        const int d = random_int(&r, 0, CERTIFIED + OTHERS - 1);
        dense_case c =
            varied(d < CERTIFIED ? certified[d] : others[d - CERTIFIED], random_int(&r, 0, 9999));
        c.of.m = random_int(&r, 1, 140);
        c.of.n = random_int(&r, 9, 140);
        c.of.k = random_int(&r, 3, 150);
        if (c.has_specials) c.of.m += 8;
        c.of.seed = random_bits(&r) >> 34;
        check_case(&c);
    }
}

/* Whole products of a mode, which come to it by themselves. */
static void modes(void **unused)
{
    (void)unused;
    static const char *const names[] = {"faithful", "faithful:fp64", "ozaki1"};
    static const char *const data[] = {"wide 4", "circulant", "scattered", "wide cancelling"};
    for (int n = 0; n < (test_is_sanitized() ? 1 : 3); n++)
        for (int d = 0; d < (test_is_sanitized() ? 1 : 4); d++) {
            const mode m = mode_of_family(names[n]);
            product of = product_varied(data[d], 130 + n, 131 - d, 1000 + 31 * d, n + d);
            of.seed = first_seed & 0xffff;
            const td_scheme_sizes sizes = {of.m, of.n, td_round_up(of.k, TD_K_PAD), 0};
            CHECK(td_dense_sizes(&sizes, of.k, 1, 1 << 30).m > 0, "too small: %s",
                  product_text(&of));
            checked_product(&m, &of);
        }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(data_that_are_certified),
        cmocka_unit_test(other_data),
        cmocka_unit_test(scalars),
        cmocka_unit_test(spans_at_the_limit),
        cmocka_unit_test(random_cases),
        cmocka_unit_test(modes),
    };
    device_require();
    if (td_dense_part_prepare() != cudaSuccess || td_lines_prepare() != cudaSuccess ||
        td_repair_prepare() != cudaSuccess)
        return 1;
    first_seed = (uint64_t)time(NULL);
    if (test_is_sanitized()) cases = 3;
    if (argc > 1) cases = atoi(argv[1]);
    if (argc > 2) first_seed = strtoull(argv[2], NULL, 10);
    test_note("%d cases from seed %llu", cases, (unsigned long long)first_seed);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
