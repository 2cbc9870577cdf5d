/* check_routes.c - products by residues with every row of the table of routes in turn forced, for
 * every product that its predicate allows it for: the bits are those of the route that is chosen.
 * Rows differ in kernels, tiles, slices of k and arithmetic; the products in moduli, layouts, data,
 * batches and lengths of k. */
#include "tests/support/test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/residue/moduli.h"
#include "lib/engines/engine.h"
#include "lib/routine/real.h"
#include "lib/cuda/device.h"
#include "lib/options/log.h"
#include "tests/support/bits.h"
#include "tests/support/route_rows.h"
#include "tests/kernels/support/device.h"
#include "tests/kernels/support/problem.h"

/* Members are the same operands with a C of their own, which differs. */
typedef struct {
    product of;
    const char *mode;
    int batch;
    bool is_long; /* sanitizers pass over it */
    bool is_gram; /* op(B)' is op(A): B is a copy first, and A itself for every forced row */
    td_region_kind region; /* the part of C that is wanted: the rest keeps its bits */
} routed;

#define PRODUCT(data_, a, b, m_, n_, k_, guard_, alpha_, beta_)                                    \
    {                                                                                              \
        .data = data_, .op_a = TANDEM_OP_##a, .op_b = TANDEM_OP_##b, .m = m_, .n = n_, .k = k_,    \
        .pad_c = 2, .guard = guard_, .alpha = alpha_, .beta = beta_, .seed = m_ + n_ + k_          \
    }

#define ALL   TD_REGION_ALL
#define LOWER TD_REGION_LOWER
#define UPPER TD_REGION_UPPER

/* On a device with the tensor memory accelerator the third, the tenth and the last two have
 * operands that it can copy, the last one tiles for pairs of blocks; the fourth and fifth have
 * slices of k. Triangles have several groups of tile rows, or rows and columns that are not alike,
 * and "wide 2" elements that a fused kernel defers. C of one tile is made in shares on devices of
 * two multiprocessors, too. */
static const routed products[] = {
    {PRODUCT("both signs", N, N, 130, 70, 100, 1, 1.0, 0.0), "ozaki2", 1, false, false, ALL},
    {PRODUCT("wide 2", T, N, 65, 129, 190, 1, -1.5, 0.5), "ozaki2", 2, false, false, ALL},
    {PRODUCT("both signs", N, T, 192, 256, 128, 2, 1.0, 1.0), "ozaki2:14", 2, false, false, ALL},
    {PRODUCT("both signs", T, N, 64, 8, 8200, 1, 1.0, 0.0), "ozaki2", 1, true, false, ALL},
    {PRODUCT("cancelling", N, N, 40, 9, 33000, 1, 2.0, -1.0), "ozaki2", 1, true, false, ALL},
    {PRODUCT("both signs", N, N, 200, 40, 64, 1, 1.0, 0.25), "ozaki2:18", 1, false, false, ALL},
    {PRODUCT("both signs", N, T, 129, 65, 70, 1, 0.75, 0.0), "faithful", 2, false, false, ALL},
    {PRODUCT("cancelling", T, T, 70, 70, 200, 1, 1.0, -1.0), "faithful", 1, false, false, ALL},
    {PRODUCT("wide 2", N, T, 130, 130, 190, 1, -1.5, 0.5), "ozaki2", 2, false, true, ALL},
    {PRODUCT("both signs", T, N, 192, 192, 128, 2, 1.0, 1.0), "ozaki2", 1, false, true, ALL},
    {PRODUCT("both signs", N, T, 65, 65, 70, 1, 0.75, 0.0), "faithful", 2, false, true, ALL},
    {PRODUCT("both signs", N, T, 300, 300, 100, 1, 1.0, 0.0), "ozaki2", 1, false, true, LOWER},
    {PRODUCT("both signs", N, T, 1700, 1700, 64, 2, 1.0, 0.0), "ozaki2", 1, true, true, LOWER},
    {PRODUCT("wide 2", N, T, 1700, 1700, 64, 2, -1.5, 0.5), "ozaki2", 1, true, true, UPPER},
    {PRODUCT("wide 2", T, N, 260, 520, 190, 1, 1.0, 0.5), "ozaki2", 2, false, false, LOWER},
    {PRODUCT("cancelling", N, N, 390, 140, 190, 1, 1.0, 0.0), "ozaki2", 2, false, false, UPPER},
    {PRODUCT("wide 2", T, N, 140, 390, 130, 2, 1.0, 0.0), "ozaki2", 1, false, false, UPPER},
    {PRODUCT("wide 2", N, N, 60, 50, 300, 1, -1.5, 0.5), "ozaki2", 1, false, false, ALL},
    {PRODUCT("both signs", N, T, 64, 60, 150, 1, 1.0, 0.5), "fp64", 1, false, false, LOWER},
    {PRODUCT("both signs", N, N, 200, 130, 144, 1, 1.0, 0.5), "fp64", 2, false, false, ALL},
    {PRODUCT("wide 2", T, N, 64, 256, 144, 2, -1.0, 0.0), "fp64", 1, false, false, ALL},
    {PRODUCT("both signs", T, N, 832, 832, 144, 2, 1.0, 0.0), "fp64", 1, true, false, ALL},
};
enum { PRODUCTS = sizeof products / sizeof *products };

/* How often each row was forced. */
static int forced[TD_ROUTE_ROWS];

static td_op op_of(tandem_op op) { return op == TANDEM_OP_N ? TD_OP_N : TD_OP_T; }

static td_product gemm_of(const routed *r, const problem *p, double *const to[3])
{
    const test_matrix *const from[] = {&p->a, &p->b, &p->c};
    td_product gemm = {.type = TD_BINARY64,
                       .op_a = op_of(r->of.op_a),
                       .op_b = op_of(r->of.op_b),
                       .m = r->of.m,
                       .n = r->of.n,
                       .k = r->of.k,
                       .alpha.value.binary64 = r->of.alpha,
                       .beta.value.binary64 = r->of.beta,
                       .batch = r->batch,
                       .region = r->region};
    td_matrix *const members[] = {&gemm.a, &gemm.b, &gemm.c};
    for (int x = 0; x < 3; x++) *members[x] = device_matrix(from[x], to[x]);
    gemm.c.stride = (int64_t)p->c.count;
    return gemm;
}

/* All members' C, guards included, one after the other. */
typedef struct {
    double *c;
    size_t bytes;
} result;

/* A product whose operands are on the device, and the mode that multiplies it. */
typedef struct {
    problem p;
    double *to[3];
    td_product gemm;
    const td_engine *engine;
    td_parameter parameter;
} prepared;

static prepared prepare(const routed *r)
{
    prepared s = {.p = problem_make(&r->of)};
    for (int64_t j = 0; r->is_gram && j < s.p.a.cols; j++)
        for (int64_t i = 0; i < s.p.a.rows; i++)
            *matrix_at(&s.p.b, i, j) = *matrix_at(&s.p.a, i, j);
    s.engine = td_engine_parse(r->mode, &s.parameter);
    CHECK(s.engine, "there is no %s", r->mode);
    s.to[0] = device_upload(&s.p.a);
    s.to[1] = device_upload(&s.p.b);
    CHECK_CUDA(cudaMalloc((void **)&s.to[2], (size_t)r->batch * s.p.c.count * sizeof(double)));
    s.gemm = gemm_of(r, &s.p, s.to);
    return s;
}

static void release(prepared *s)
{
    for (int i = 0; i < 3; i++) device_free(s->to[i]);
    problem_free(&s->p);
}

static result run(const routed *r, const prepared *s, uint64_t without, const char *what)
{
    const size_t member = s->p.c.count * sizeof(double);
    td_parameter parameter = s->parameter;
    result got = {.bytes = (size_t)r->batch * member};
    parameter.without_routes = without;
    for (int z = 0; z < r->batch; z++)
        CHECK_CUDA(cudaMemcpy(s->to[2] + (size_t)z * s->p.c.count, s->p.c.storage, member,
                              cudaMemcpyHostToDevice));
    td_device *const device = td_device_current();
    const td_run_status status =
        td_engine_run(s->engine, &s->gemm, parameter, device, device->workspace_bytes, NULL);
    CHECK(status == TD_RUN_DONE, "%s ended with %d: %s", what, (int)status, product_text(&r->of));
    device_check_clean(what);
    got.c = malloc(got.bytes);
    CHECK(got.c, "out of memory");
    CHECK_CUDA(cudaMemcpy(got.c, s->to[2], got.bytes, cudaMemcpyDeviceToHost));
    return got;
}

/* Modes without routes of their own have those of sums in binary64, as all modes do. */
static td_route route_of(const prepared *s, uint64_t without)
{
    const td_traits device = td_traits_current();
    td_parameter parameter = s->parameter;
    td_route route;
    parameter.without_routes = without;
    const td_real_product p = td_real_product_of(&s->gemm);
    if (!s->engine->route) {
        const td_route_terms terms = td_route_terms_of(&p, parameter, &device);
        const td_binary64_launch own = td_route_binary64(p.m, p.n, p.k, p.batch, &terms);
        for (int stage = 0; stage < TD_STAGES; stage++) route.of[stage] = -1;
        route.of[TD_STAGE_REPAIR_TILES] = own.tiles;
        route.of[TD_STAGE_REPAIR_SHARES] = own.shares;
        route.of[TD_STAGE_REPAIR] = (int)own.route;
        return route;
    }
    CHECK(s->engine->route(&p, parameter, &device, &route), "%s has no route", s->engine->name);
    return route;
}

/* Elements outside the region have the bits that they had. */
static void check_outside(const routed *r, const prepared *s, const result *got)
{
    const td_region region = {r->region, 0, 0};
    const test_matrix *const c = &s->p.c;
    for (int z = 0; z < r->batch; z++)
        for (int64_t j = 0; j < r->of.n; j++)
            for (int64_t i = 0; i < r->of.m; i++) {
                const size_t place = (size_t)(matrix_at(c, i, j) - c->storage);
                CHECK(
                    td_region_has(&region, i, j) ||
                        bits_of(got->c[(size_t)z * c->count + place]) == bits_of(c->storage[place]),
                    "element %" PRId64 ", %" PRId64 " is written: %s", i, j, product_text(&r->of));
            }
}

/* The routes that a product has taken. */
typedef struct {
    td_route all[TD_ROUTE_ROWS + 1];
    int count;
} taken;

static bool is_new(taken *t, const td_route *route)
{
    for (int i = 0; i < t->count; i++)
        if (memcmp(t->all[i].of, route->of, sizeof route->of) == 0) return false;
    t->all[t->count++] = *route;
    return true;
}

static void check_product(const routed *r)
{
    prepared s = prepare(r);
    taken before = {.count = 0};
    result want = run(r, &s, 0, "the chosen route");
    check_outside(r, &s, &want);
    if (r->is_gram)
        s.gemm.b = s.gemm.a;
    else
        before.all[before.count++] = route_of(&s, 0);
    for (int row = 0; row < TD_ROUTE_ROWS; row++) {
        const uint64_t without = without_others(row);
        const td_route_row *own = &td_route_rows[row];
        /* Two products alone take several slices of k: such rows come with both. Other rows come
         * with every second product, or under sanitizers with every fourth; or with the first that
         * can take them, as some have few. */
        const int turn = row + (int)(r - products);
        const bool is_turn = test_is_brief() ? turn % 4 == 0 : test_takes(turn, 2);
        if (own->stage != TD_STAGE_SLICES && forced[row] > 0 && !is_turn) continue;
        const td_route route = route_of(&s, without);
        if (route.of[own->stage] != own->value) continue; /* it does not serve */
        forced[row]++;
        if (!is_new(&before, &route)) continue;
        char what[TD_ROUTE_TEXT];
        result got = run(r, &s, without, td_route_print(&route, what));
        CHECK(memcmp(got.c, want.c, want.bytes) == 0, "%s gives other bits in %s: %s", what,
              r->mode, product_text(&r->of));
        free(got.c);
    }
    free(want.c);
    release(&s);
}

/* How many lines of a file hold a text. */
static int count_lines(const char *name, const char *text)
{
    char line[1024];
    int count = 0;
    FILE *const file = fopen(name, "r");
    CHECK(file, "cannot read %s", name);
    while (fgets(line, sizeof line, file)) count += strstr(line, text) != NULL;
    fclose(file);
    return count;
}

/* The log has the route of a shape once, however often there are products of it, and only if it
 * takes such lines. */
TEST(routes_are_logged_once)
{
    char name[] = "check_routes.XXXXXX", line[TD_ROUTE_TEXT + 64], text[TD_ROUTE_TEXT];
    const routed r = {
        PRODUCT("both signs", N, N, 31, 17, 65, 1, 1.0, 0.0), "ozaki2", 1, false, false, ALL};
    const int descriptor = mkstemp(name);
    CHECK(descriptor >= 0, "no temporary file");
    close(descriptor);
    prepared s = prepare(&r);
    for (int i = 0; i < 4; i++) {
        td_log_open(i < 1 ? TD_LOG_INFO : TD_LOG_DEBUG, name);
        result got = run(&r, &s, 0, "a product that is logged");
        free(got.c);
    }
    td_log_open(TD_LOG_WARN, NULL);
    const td_route route = route_of(&s, 0);
    snprintf(line, sizeof line, "debug: ozaki2 m=31 n=17 k=65 batch=1: %s",
             td_route_print(&route, text));
    const int count = count_lines(name, line);
    (void)unlink(name);
    CHECK(count == 1, "the log has %d lines with '%s'", count, line);
    release(&s);
}

TEST(every_route_has_the_same_bits)
{
    for (int i = 0; i < PRODUCTS; i++)
        if (!products[i].is_long || !test_is_brief()) check_product(&products[i]);
}

/* Rows that some product of residues may take on any device were taken; others, on a device that
 * has what they need. */
TEST(every_row_was_walked)
{
    const td_traits device = td_traits_current();
    for (int row = 0; row < TD_ROUTE_ROWS; row++) {
        const td_route_row *own = &td_route_rows[row];
        test_note("%s %s: %d products", td_stage_names[own->stage], own->name, forced[row]);
        const bool needs_tma = (own->stage == TD_STAGE_MEASURE && own->value == TD_MEASURE_TMA) ||
                               (own->stage == TD_STAGE_SPLIT && own->value == TD_SPLIT_TMA) ||
                               (own->stage == TD_STAGE_REPAIR && own->value >= TD_BINARY64_TMA),
                   needs_wgmma =
                       (own->stage == TD_STAGE_GEMM && own->value <= TD_GEMM_WGMMA_SMALL_PAIR) ||
                       (own->stage == TD_STAGE_FUSE && own->value == TD_FUSE_GEMM_CRT),
                   needs_shared =
                       (own->stage == TD_STAGE_GEMM && own->value == TD_GEMM_MMA_LARGE) ||
                       (own->stage == TD_STAGE_CRT && own->value != TD_CRT_LIMBS) ||
                       (own->stage == TD_STAGE_REPAIR && own->value == TD_BINARY64_MANY_STAGES),
                   is_other = (own->stage == TD_STAGE_GEMM && own->value == TD_GEMM_CUBLAS) ||
                              (own->stage == TD_STAGE_SPLIT &&
                               (own->value == TD_SPLIT_WIDE || own->value == TD_SPLIT_COMPLEX)),
                   is_long = own->stage == TD_STAGE_SLICES && own->value > 1;
        if (is_other || (needs_tma && !device.has_tma) || (needs_wgmma && !device.has_wgmma) ||
            (needs_shared && device.shared_bytes < TD_CRT_PAIRS_BYTES) ||
            (is_long && test_is_brief()))
            continue;
        CHECK(forced[row] > 0, "no product took %s %s", td_stage_names[own->stage], own->name);
    }
}

int main(void)
{
    device_require();
    if (!td_device_current()) return EXIT_FAILURE;
    return test_run();
}
