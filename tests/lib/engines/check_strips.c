/* check_strips.c - products that are made in strips of columns, of which somebody is told
 * (td_progress): C has the bits that it has without, and each strip that was told of is complete.
 * Of ordinary and special data, of routines with triangles and complex matrices, in whatever
 * workspace, and where cuBLAS may make C. */
#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/view/target.h"
#include "lib/cuda/device.h"
#include "lib/engines/engine.h"
#include "lib/engines/ozaki/branch.h"
#include "lib/routine/lower.h"
#include "tests/support/bits.h"
#include "tests/kernels/support/checked.h"
#include "tests/kernels/support/device.h"
#include "tests/kernels/support/routine.h"

enum { MOST_TOLD = 16 };

static int cases = 60;
static uint64_t first_seed;

/* What is told of a C whose columns are so many bytes apart in device memory, all of whose columns
 * before `done` are kept as they were then. */
typedef struct {
    td_progress progress; /* first */
    const char *c;
    size_t column_bytes, row_bytes; /* from one column to the next, and of a column's rows */
    int64_t columns;                /* of C */
    int times;
    int64_t done[MOST_TOLD];
    char *kept[MOST_TOLD];
} listener;

static void hear(td_progress *progress, int64_t done)
{
    listener *const l = (listener *)progress;
    const size_t bytes = (size_t)(done - 1) * l->column_bytes + l->row_bytes;
    CHECK(l->times < MOST_TOLD, "told too often");
    CHECK(done > 0 && done <= l->columns && (done == l->columns || done % progress->columns == 0),
          "told of %lld columns of %lld", (long long)done, (long long)l->columns);
    CHECK(l->times == 0 || done > l->done[l->times - 1], "told of no more columns than before");
    char *const kept = test_memory(bytes);
    CHECK_CUDA(cudaMemcpy(kept, l->c, bytes, cudaMemcpyDeviceToHost));
    l->done[l->times] = done;
    l->kept[l->times++] = kept;
}

static listener listen(const td_product *p, int64_t columns)
{
    const size_t element = p->type == TD_COMPLEX_BINARY64 ? 16 : 8;
    return (listener){.progress = {columns, hear},
                      .c = p->c.data,
                      .column_bytes = (size_t)p->c.ld * element,
                      .row_bytes = (size_t)p->m * element,
                      .columns = p->n};
}

/* Compares all rows of what was kept with what is there at last, and forgets it; returns how often
 * something was told. */
static int check_kept(const listener *l, const char *text)
{
    char *const column = test_memory(l->row_bytes);
    for (int64_t j = 0; l->times > 0 && j < l->done[l->times - 1]; j++) {
        const size_t at = (size_t)j * l->column_bytes;
        CHECK_CUDA(cudaMemcpy(column, l->c + at, l->row_bytes, cudaMemcpyDeviceToHost));
        for (int i = 0; i < l->times; i++)
            CHECK(j >= l->done[i] || memcmp(l->kept[i] + at, column, l->row_bytes) == 0,
                  "column %lld was not complete: %s", (long long)j, text);
    }
    for (int i = 0; i < l->times; i++) free(l->kept[i]);
    free(column);
    return l->times;
}

/* ---- running ---- */

/* How a product is run. */
typedef struct {
    const char *mode;
    td_prices prices;
    size_t limit; /* bytes of workspace; 0: all */
} way;

static td_run_status run_within(const way *how, const td_product *p, size_t limit,
                                td_counters *counters)
{
    td_parameter parameter;
    const td_engine *engine = td_engine_parse(how->mode, &parameter);
    const td_problem native = td_call_of_product(p);
    parameter.prices = how->prices;
    if (how->prices.native > 0 && p->type == TD_BINARY64) parameter.native = &native;
    return td_engine_run(engine, p, parameter, td_device_current(), limit, counters);
}

/* In the least power of two bytes that are enough, if how->limit is less. Returns what was
 * counted. */
static td_counters run(const way *how, const td_product *p, const char *text)
{
    const size_t most = td_device_current()->workspace_bytes;
    size_t limit = how->limit ? how->limit : most;
    td_counters counted = {0};
    td_counters *const counters = device_copy(&counted, sizeof counted);
    td_run_status status = run_within(how, p, limit, counters);
    while (status == TD_RUN_NO_MEMORY && limit < most)
        status = run_within(how, p, limit *= 2, counters);
    CHECK(status == TD_RUN_DONE, "%s failed (%d): %s", how->mode, (int)status, text);
    device_check_clean(text);
    device_fetch(&counted, counters, sizeof counted);
    device_free(counters);
    return counted;
}

/* ---- products ---- */

/* What came of a product. */
typedef struct {
    test_matrix c;
    td_counters counted;
    int told; /* times */
} outcome;

/* Columns of the result from `first` on as a tile of the whole product, or, if first is 0, all. */
static td_product part_of(const td_product *whole, int64_t first)
{
    td_product part = *whole;
    if (first == 0) return part;
    part.whole = whole;
    part.column = first;
    part.n -= first;
    part.c.data = (double *)whole->c.data + first * whole->c.ld;
    return part;
}

/* Of columns from `first` on, in strips of so many columns; 0: nobody is told. */
static outcome compute_from(const way *how, const problem *p, int64_t first, int64_t columns)
{
    double *a = device_upload(&p->a), *b = device_upload(&p->b), *c = device_upload(&p->c);
    const td_product whole = checked_lowered(p, a, b, c);
    td_product product = part_of(&whole, first);
    listener l = listen(&product, columns);
    outcome of;
    if (columns > 0) product.progress = &l.progress;
    of.counted = run(how, &product, product_text(&p->of));
    of.told = check_kept(&l, product_text(&p->of));
    of.c = checked_result(p, c);
    device_free(a, b, c);
    return of;
}

static outcome compute(const way *how, const problem *p, int64_t columns)
{
    return compute_from(how, p, 0, columns);
}

/* Returns how often something was told. Somebody who is to be told keeps `auto` from looking at
 * some lines before all others: the product without strips has somebody, too, if it is priced. */
static int check_problem(const way *how, const problem *p, int64_t columns)
{
    enum { ALL = 1 << 20 };
    outcome want = compute(how, p, how->prices.native > 0 ? ALL : 0),
            got = compute(how, p, columns);
    for (int64_t j = 0; j < p->of.n; j++)
        for (int64_t i = 0; i < p->of.m; i++)
            CHECK(bits_of(*matrix_at(&got.c, i, j)) == bits_of(*matrix_at(&want.c, i, j)),
                  "%s, strips of %lld: (%lld, %lld) is %a, not %a: %s", how->mode,
                  (long long)columns, (long long)i, (long long)j, *matrix_at(&got.c, i, j),
                  *matrix_at(&want.c, i, j), product_text(&p->of));
    CHECK(got.counted.repaired == want.counted.repaired, "%s: %llu repaired, not %llu: %s",
          how->mode, got.counted.repaired, want.counted.repaired, product_text(&p->of));
    matrix_free(&want.c, &got.c);
    return want.told + got.told;
}

static int check_product(const way *how, const product *of, int64_t columns)
{
    problem p = problem_make(of);
    const int told = check_problem(how, &p, columns);
    problem_free(&p);
    return told;
}

static const char *const modes[] = {"ozaki2", "ozaki2:16", "ozaki1", "faithful"};
enum { MODES = sizeof modes / sizeof *modes };

TEST(strips_change_no_bit)
{
    test_random r = random_start(first_seed);
    int told[MODES] = {0};
    for (int d = 0; d < distribution_count; d++) {
        if (test_is_brief() && d % 5 != 4 && d != 20) continue; /* the second mode has 4 and 20 */
        const int number = d % MODES ? 0 : (d / MODES) % MODES; /* mostly the first */
        const way how = {.mode = modes[number], .limit = d % 3 == 2 ? 1 << 18 : 0};
        const int columns = TD_TILE * random_int(&r, 1, 3), m = random_int(&r, 1, 150),
                  n = random_int(&r, columns + 1, 300), k = random_int(&r, 1, 200);
        const product of = product_varied(distributions[d].name, m, n, k, random_int(&r, 0, 1000));
        told[number] += check_product(&how, &of, columns);
    }
    CHECK(told[0] > 0 && told[1] > 0, "no strips");
    CHECK(told[2] == 0 && told[3] == 0, "strips of a mode that has none");
}

/* Columns of op(B) have numbers in one of two halves of k each, 64 columns at a time: a block of
 * zeros of one strip is none of the next. */
TEST(strips_have_blocks_of_zeros_of_their_own)
{
    const way how = {.mode = "ozaki2"};
    const product of = product_plain("uniform", 100, 256, 256);
    problem p = problem_make(&of);
    for (int64_t j = 0; j < of.n; j++)
        for (int64_t l = 0; l < of.k; l++)
            if (l / 128 == j / 64 % 2) *matrix_at(&p.b, l, j) = 0.0;
    CHECK(check_problem(&how, &p, TD_TILE) > 0, "no strips");
    problem_free(&p);
}

/* One element alone is small beside its row and its column, as their large numbers never meet: what
 * was estimated of a strip is its own, and of a tile the tile's. */
TEST(an_element_of_one_strip_is_repaired)
{
    const way how = {.mode = "ozaki2"};
    const product of = product_plain("uniform", 100, 256, 256);
    problem p = problem_make(&of);
    for (int64_t l = 0; l < of.k; l++)
        *(l < of.k / 2 ? matrix_at(&p.b, l, 200) : matrix_at(&p.a, 50, l)) *= 0x1p-40;
    outcome whole = compute(&how, &p, 0);
    CHECK(whole.counted.repaired > 0, "nothing to repair");
    CHECK(check_problem(&how, &p, TD_TILE) > 0, "no strips");
    for (int64_t columns = 0; columns <= TD_TILE; columns += TD_TILE) {
        outcome tile = compute_from(&how, &p, 128, columns);
        CHECK(tile.counted.repaired == whole.counted.repaired, "%llu repaired",
              tile.counted.repaired);
        for (int64_t j = 128; j < of.n; j++)
            for (int64_t i = 0; i < of.m; i++)
                CHECK(bits_of(*matrix_at(&tile.c, i, j)) == bits_of(*matrix_at(&whole.c, i, j)),
                      "(%lld, %lld) of a tile has other bits", (long long)i, (long long)j);
        matrix_free(&tile.c);
    }
    matrix_free(&whole.c);
    problem_free(&p);
}

/* Columns are complete once the last part of their rows is. */
TEST(parts_of_rows_have_strips)
{
    int told = 0;
    for (size_t limit = 1 << 17; limit <= 1 << 21; limit *= 2) {
        const way how = {.mode = "ozaki2", .limit = limit};
        const product of = product_varied("wide 2", 700, 130, 40, (int)first_seed);
        told += check_product(&how, &of, TD_TILE);
    }
    CHECK(told > 0, "no strips");
}

/* Bits of cuBLAS's product of a strip need not be those of all of C: on the host device they
 * are. */
TEST(cublas_makes_strips)
{
    int told = 0;
    if (!device_is_host() || !td_branch_ready(td_device_current())) return;
    for (int d = 0; d < distribution_count; d += test_is_brief() ? 4 : 1) {
        const way how = {.mode = "ozaki2", .prices = free_native};
        const product of = product_varied(distributions[d].name, 70, 150, 40, d);
        told += check_product(&how, &of, TD_TILE);
    }
    CHECK(told > 0, "no strips");
}

/* ---- routines ---- */

static matrix compute_routine(const way *how, const routine_case *c, int64_t columns, int *told)
{
    void *memory[ROUTINE_MEMORIES];
    td_product product;
    const td_problem p = routine_own_call(c, memory);
    CHECK(td_lower(&p, &product), "no product: %s", routine_text(c));
    listener l = listen(&product, columns);
    if (columns > 0) product.progress = &l.progress;
    (void)run(how, &product, routine_text(c));
    *told += check_kept(&l, routine_text(c));
    const matrix result = routine_download(c, &c->c, memory[2]);
    for (int i = 0; i < ROUTINE_MEMORIES; i++) CHECK_CUDA(cudaFree(memory[i]));
    return result;
}

static int check_routine(const way *how, const routine_case *c, int64_t columns)
{
    int told = 0;
    const matrix want = compute_routine(how, c, 0, &told),
                 got = compute_routine(how, c, columns, &told);
    CHECK(memcmp(want.at, got.at, matrix_count(&want) * sizeof *want.at) == 0,
          "other bits in strips of %lld: %s", (long long)columns, routine_text(c));
    test_drop(want.at, got.at);
    return told;
}

/* Any routine, of more than a strip. */
static routine_case any_routine(uint64_t seed)
{
    routine_case c = routine_make(seed);
    td_problem p = c.p;
    test_random r = random_start(seed);
    routine_free(&c);
    p.m = random_int(&r, 1, 200);
    p.n = random_int(&r, 65, 200);
    if (p.k > 0) p.k = random_int(&r, 1, 80);
    return routine_make_of(&p, seed);
}

TEST(routines_have_the_same_bits_in_strips)
{
    const way how = {.mode = "ozaki2"};
    for (int i = 0; i < test_cases(cases); i++) {
        routine_case c = any_routine(first_seed + (uint64_t)i);
        (void)check_routine(&how, &c, TD_TILE);
        routine_free(&c);
    }
}

/* Scalars without imaginary parts leave nothing to do behind the product. */
TEST(updates_of_triangles_have_strips)
{
    for (int i = 0; i < 4; i++) {
        const way how = {.mode = "ozaki2"};
        const td_problem p = {.kind = TD_RANK_K,
                              .type = i % 2 ? TD_COMPLEX_BINARY64 : TD_BINARY64,
                              .op_a = TD_OP_N,
                              .triangle = i / 2 ? TD_UPPER : TD_LOWER,
                              .n = 200,
                              .k = 30,
                              .batch = 1};
        routine_case c = routine_make_of(&p, first_seed);
        c.alpha = -3.0;
        c.beta = 0.5;
        c.has_device_scalars = false;
        CHECK(check_routine(&how, &c, TD_TILE) > 2, "no strips: %s", routine_text(&c));
        routine_free(&c);
    }
}

int main(int argc, char **argv)
{
    test_take_cases(argc, argv, &cases, &first_seed);
    device_require();
    return test_run();
}
