/* check_unwritten.c - no result depends on what lies in memory that the call has not written: each
 * of some drawn calls, in a mode by name or by drawn prices, plain and captured, leaves the same
 * bytes of C and the same counts whatever the host device's unwritten memory holds.
 *
 * usage: check_unwritten [CASES [SEED [MOST]]], with sizes up to MOST */
#include "tests/support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "branch_case.h"
#include "hostgpu/unwritten.h"
#include "lib/routine/lower.h"
#include "tests/kernels/support/checked.h"
#include "tests/kernels/support/device.h"
#include "tests/kernels/support/routine.h"

static int cases = 30, most = 200;
static uint64_t first_seed;

/* A call whose matrices are in device memory. */
typedef struct {
    td_product product;
    void *c;        /* storage of C, with what is beside it */
    size_t c_bytes; /* of it */
    char *before;   /* what it is before the call */
    bool is_routine;
    placed placed;        /* a product ... */
    routine_case routine; /* ... or a routine of level 3, with its memory */
    void *memory[ROUTINE_MEMORIES];
} call;

/* How it is made. */
typedef struct {
    mode mode;
    bool is_priced; /* with the mode's prices; a product alone */
    bool is_captured, is_in_little;
    size_t lent_bytes; /* to a captured call; 0: none */
    char text[400];
} manner;

/* What a call leaves. */
typedef struct {
    char *c;
    td_counters counted;
} outcome;

/* ---- what is called ---- */

/* Leaves of a matrix what is near its diagonal, or makes a line NaN or infinite, or nothing. */
static void change(test_matrix *x, test_random *r)
{
    const int64_t line = random_int(r, 0, (int)x->rows - 1), width = random_int(r, 0, 40);
    const int what = random_int(r, 0, 9);
    const double special = random_int(r, 0, 1) ? NAN : INFINITY;
    for (int64_t j = 0; j < x->cols; j++)
        for (int64_t i = 0; i < x->rows; i++) {
            if (what < 2 && llabs(i - j) > width) *matrix_at(x, i, j) = 0.0;
            if (what == 2 && i == line) *matrix_at(x, i, j) = special;
        }
}

/* Often a little more or less than whole tiles. */
static int any_size(test_random *r, int largest)
{
    enum { TILE = 64 };
    const int tiles = random_int(r, 0, largest / TILE), beside = random_int(r, -1, 4);
    if (random_int(r, 0, 1)) return random_int(r, 1, largest);
    return tiles * TILE + beside > 0 ? tiles * TILE + beside : 1;
}

static void make_product(call *x, test_random *r)
{
    const int largest = random_int(r, 0, 3) ? most / 3 + 1 : most;
    const int64_t m = any_size(r, largest), n = any_size(r, largest), k = any_size(r, 2 * largest);
    const char *const data = distributions[random_int(r, 0, distribution_count - 1)].name;
    const product of = product_varied(data, m, n, k, random_int(r, 0, 1 << 20));
    x->placed = place_problem(&of);
    change(&x->placed.p.a, r);
    change(&x->placed.p.b, r);
    copy_to_device(x->placed.a, &x->placed.p.a);
    copy_to_device(x->placed.b, &x->placed.p.b);
    x->product = x->placed.call;
    x->c = x->placed.c;
    x->c_bytes = x->placed.p.c.count * sizeof(double);
}

static void make_routine(call *x, test_random *r, uint64_t seed)
{
    routine_case drawn = routine_make(seed);
    td_problem of = drawn.p;
    routine_free(&drawn);
    of.m = of.m ? any_size(r, most / 2) : 0;
    of.n = any_size(r, most / 2);
    x->routine = routine_make_of(&of, seed);
    const routine_case *const c = &x->routine;
    const td_problem p = routine_own_call(c, x->memory);
    CHECK(td_lower(&p, &x->product), "no product: %s", routine_text(c));
    x->c = x->memory[2];
    x->c_bytes = matrix_count(c->is_in_place ? &c->b : &c->c) *
                 (c->is_complex ? sizeof(number) : sizeof(double));
}

static call make_call(uint64_t seed, test_random *r)
{
    call x = {.is_routine = random_int(r, 0, 2) == 0};
    if (x.is_routine)
        make_routine(&x, r, seed);
    else
        make_product(&x, r);
    x.before = test_memory(x.c_bytes);
    device_fetch(x.before, x.c, x.c_bytes);
    return x;
}

static void free_call(call *x)
{
    free(x->before);
    if (!x->is_routine) {
        free_placed(&x->placed);
        return;
    }
    for (int i = 0; i < ROUTINE_MEMORIES; i++) CHECK_CUDA(cudaFree(x->memory[i]));
    routine_free(&x->routine);
}

/* ---- how ---- */

/* Each with the same chance. */
static mode any_mode(test_random *r)
{
    const mode *chosen = mode_after(NULL);
    int seen = 0;
    for (const mode *m = chosen; m; m = mode_after(m))
        if (random_int(r, 0, seen++) == 0) chosen = m;
    CHECK(chosen, "no modes");
    return *chosen;
}

static td_prices drawn_prices(test_random *r)
{
    td_prices prices = any_prices(r);
    switch (random_int(r, 0, 7)) {
    case 0:
    case 5:
        return probed_binary64;
    case 1:
        return free_native;
    case 2:
        return dear_native;
    case 3:
        prices.native = random_int(r, 1, 1 << random_int(r, 0, 20));
        prices.has_late_branch = random_int(r, 0, 1);
        prices.is_unscaled = random_int(r, 0, 1);
        return prices;
    default:
        return prices;
    }
}

static manner any_manner(test_random *r, const call *x)
{
    manner how = {.is_priced = random_int(r, 0, 1), .is_captured = random_int(r, 0, 2) == 0};
    how.mode = how.is_priced ? mode_of_family("ozaki2") : any_mode(r);
    if (how.is_priced) how.mode.prices = drawn_prices(r);
    how.is_in_little = random_int(r, 0, 2) == 0;
    if (how.is_captured && random_int(r, 0, 1)) how.lent_bytes = (size_t)random_int(r, 1, 1 << 22);
    names_call = !x->is_routine && how.is_priced && random_int(r, 0, 1);
    is_short = random_int(r, 0, 1);
    snprintf(how.text, sizeof how.text, "%s%s%s%s%s%s, %s", how.mode.name,
             how.is_priced ? " by prices" : "", how.is_captured ? ", captured" : "",
             how.lent_bytes ? " in lent memory" : "", how.is_in_little ? ", in little" : "",
             names_call ? ", of cuBLAS" : "",
             x->is_routine ? routine_text(&x->routine) : product_text(&x->placed.p.of));
    return how;
}

/* ---- making it ---- */

/* Enqueues it in all workspace, or in a quarter of a megabyte; in more if that is too little. */
static void enqueue(const td_product *p, const manner *how, td_counters *counters)
{
    enum { LITTLE = 1 << 18 };
    const size_t all = td_device_current()->workspace_bytes;
    size_t limit = how->is_in_little ? LITTLE : all;
    td_run_status status;
    do {
        status = names_call ? run_priced(p, how->mode.prices, limit, counters)
                            : checked_run(&how->mode, p, limit, counters);
    } while ((status == TD_RUN_NO_MEMORY || status == TD_RUN_NOT_CAPTURED) && (limit *= 2) <= all);
    CHECK(status == TD_RUN_DONE, "status %d: %s", (int)status, how->text);
}

static outcome finish(const call *x, const manner *how, td_counters *counters)
{
    outcome o = {.c = test_memory(x->c_bytes)};
    device_check_clean(how->text);
    device_fetch(o.c, x->c, x->c_bytes);
    device_fetch(&o.counted, counters, sizeof o.counted);
    return o;
}

/* Puts back what there was; nobody has written what is left in pools. */
static void prepare(const call *x, td_counters *counters)
{
    const td_counters none = {0};
    device_write(x->c, x->before, x->c_bytes);
    device_write(counters, &none, sizeof none);
    hostgpu_unset_pools();
}

/* A graph that has been launched twice; what the second launch left. */
static outcome launch_twice(const call *x, const manner *how, td_counters *counters)
{
    td_product p = x->product;
    void *lent = NULL;
    CHECK_CUDA(cudaStreamCreateWithFlags(&p.stream, cudaStreamNonBlocking));
    if (how->lent_bytes) {
        CHECK_CUDA(cudaMalloc(&lent, how->lent_bytes));
        p.lent = (td_loan){.memory = lent, .bytes = how->lent_bytes};
    }
    CHECK_CUDA(cudaStreamBeginCapture(p.stream, cudaStreamCaptureModeThreadLocal));
    enqueue(&p, how, counters);
    cudaGraphExec_t graph = device_end_capture(p.stream);
    for (int i = 0; i < 2; i++) {
        prepare(x, counters);
        CHECK_CUDA(cudaGraphLaunch(graph, p.stream));
        CHECK_CUDA(cudaStreamSynchronize(p.stream));
    }
    const outcome o = finish(x, how, counters);
    CHECK_CUDA(cudaGraphExecDestroy(graph));
    CHECK_CUDA(cudaStreamDestroy(p.stream));
    CHECK_CUDA(cudaFree(lent));
    return o;
}

/* With what the seed draws for unwritten memory. */
static outcome run(const call *x, const manner *how, uint64_t unwritten)
{
    td_counters *counters;
    hostgpu_draw_unwritten(unwritten);
    CHECK_CUDA(cudaMalloc((void **)&counters, sizeof *counters));
    outcome o;
    if (how->is_captured) {
        o = launch_twice(x, how, counters);
    } else {
        prepare(x, counters);
        enqueue(&x->product, how, counters);
        o = finish(x, how, counters);
    }
    device_free(counters);
    hostgpu_draw_unwritten(0);
    return o;
}

static void compare(const call *x, const manner *how, const outcome *got, const outcome *want,
                    uint64_t unwritten)
{
    const td_counters *const g = &got->counted, *const w = &want->counted;
    CHECK(memcmp(g, w, sizeof *g) == 0,
          "with %llu: repaired %llu for %llu, tiles %llu for %llu, planes %llu for %llu, work %llu "
          "for %llu: %s",
          (unsigned long long)unwritten, g->repaired, w->repaired, g->tiles, w->tiles, g->planes,
          w->planes, g->work, w->work, how->text);
    size_t at = 0;
    while (at < x->c_bytes && got->c[at] == want->c[at]) at++;
    CHECK(at == x->c_bytes, "with %llu: number %zu of C's memory differs: %s",
          (unsigned long long)unwritten, at / sizeof(double), how->text);
}

TEST(what_nobody_wrote_changes_nothing)
{
    enum { PATTERNS = 3 };
    for (int i = 0; i < test_cases(cases); i++) {
        const uint64_t seed = first_seed + (uint64_t)i;
        test_random r = random_start(seed);
        call x = make_call(seed, &r);
        const manner how = any_manner(&r, &x);
        outcome first = run(&x, &how, 0);
        for (int pattern = 1; pattern < PATTERNS; pattern++) {
            const uint64_t unwritten = (uint64_t)random_int(&r, 1, 1 << 20);
            outcome o = run(&x, &how, unwritten);
            compare(&x, &how, &o, &first, unwritten);
            free(o.c);
        }
        free(first.c);
        free_call(&x);
    }
}

int main(int argc, char **argv)
{
    if (argc > 3) most = atoi(argv[3]);
    test_take_cases(argc < 3 ? argc : 3, argv, &cases, &first_seed);
    device_require();
    return test_run();
}
