/* check_batched_lu.c - batched LU, inverses and triangular solutions: bit for bit against the
 * reference, for every kernel shape, and residuals against LAPACK's.
 *
 * Usage: check_batched_lu [STEP]; with STEP only every so many orders, and fewer triangles: for
 * tools that are slow; with STEP 0 residuals of every type for large orders, too, of which each is
 * otherwise one type's. */
#include "tests/support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/ref/ref_lu.h"
#include "tests/kernels/support/device.h"
#include "lu_residual.h"
#include "lu_batch.h"

static int step_of_orders = 1;
static bool every_type;

static int *device_ints(const int *values, int count)
{
    int *d = NULL;
    const size_t bytes = (size_t)count * sizeof *values;
    CHECK_CUDA(cudaMalloc((void **)&d, bytes + sizeof *values));
    CHECK_CUDA(cudaMemset(d, 0xff, bytes + sizeof *values));
    if (values) CHECK_CUDA(cudaMemcpy(d, values, bytes, cudaMemcpyHostToDevice));
    return d;
}

static void compare_ints(const int *device, const int *wanted, int count, const char *what,
                         const lu_batch *s)
{
    int *given = test_memory(((size_t)count + 1) * sizeof *given);
    CHECK_CUDA(
        cudaMemcpy(given, device, ((size_t)count + 1) * sizeof *given, cudaMemcpyDeviceToHost));
    for (int i = 0; i < count; i++)
        CHECK(given[i] == wanted[i], "%s %d, type %c, n = %d: %d instead of %d", what, i,
              "SDCZ"[s->type], s -> rows, given[i], wanted[i]);
    CHECK(given[count] == -1, "%s written past the end", what);
    free(given);
}

/* Matrices, their factors by the reference, pivots and info. */
typedef struct {
    lu_batch a, factors;
    int *pivots, *info;
    bool has_pivots;
} factored;

static factored factored_make(td_lu_type type, int n, int pad, int count, bool has_pivots)
{
    factored f = {.a = lu_batch_make(type, n, n, pad, count), .has_pivots = has_pivots};
    f.pivots = test_memory((size_t)(n * count) * sizeof *f.pivots);
    f.info = test_memory((size_t)count * sizeof *f.info);
    return f;
}

/* Once f->a is filled. */
static void factor_by_reference(factored *f)
{
    const int n = f->a.rows;
    lu_batch_upload(&f->a);
    f->factors = lu_batch_copy(&f->a);
    for (int i = 0; i < f->a.count; i++)
        f->info[i] = ref_lu_factor((ref_lu_type)f->a.type, n, lu_batch_at(&f->factors, i), f->a.ld,
                                   f->has_pivots ? f->pivots + i * n : NULL);
    lu_batch_upload(&f->factors);
}

static factored factored_of_kind(td_lu_type type, int n, int pad, int count, lu_kind kind,
                                 bool has_pivots)
{
    test_random random = random_start(test_seed());
    factored f = factored_make(type, n, pad, count, has_pivots);
    for (int i = 0; i < count; i++) lu_fill(&f.a, i, kind, &random);
    factor_by_reference(&f);
    return f;
}

static void factored_free(factored *f)
{
    lu_batch_free(&f->a);
    lu_batch_free(&f->factors);
    test_drop(f->pivots, f->info);
}

static void check_shape(const factored *f, int shape, const char *kind)
{
    char what[80];
    lu_batch given = lu_batch_copy(&f->a);
    const int n = f->a.rows, count = f->a.count;
    int *pivots = device_ints(NULL, n * count), *info = device_ints(NULL, count);
    const td_lu_factors p = {
        f->a.type, n, given.pointers, given.ld, f->has_pivots ? pivots : NULL, info, count, shape};
    snprintf(what, sizeof what, "factors, shape %d, %s%s", shape, kind,
             f->has_pivots ? "" : ", no pivots");
    CHECK_CUDA(td_lu_factor(&p, NULL));
    lu_batch_download(&given);
    if (f->has_pivots) compare_ints(pivots, f->pivots, n * count, "pivot", &f->a);
    compare_ints(info, f->info, count, "info", &f->a);
    lu_batch_compare(&given, &f->factors, what);
    device_free(pivots, info);
    lu_batch_free(&given);
}

/* True for a shape that can make these factors and that -1, with which it was made before, does not
 * stand for: a launch is the same whether its shape was named or chosen. */
static bool is_another_shape(td_lu_type type, int n, int shape)
{
    return td_lu_shape_fits(type, n, shape) &&
           (shape != td_lu_shape_of(type, n) || test_takes_everything());
}

/* The ways of making vectors: as the table says, in shared memory and, where there are some, in
 * strips. */
static int ways_of(td_lu_type type) { return 2 + td_lu_has_strips(type); }

static void take_way(td_lu_vectors *p, int way)
{
    p->together = way == 1 ? (p->n % 3 + 1) * 32 : 0;
    p->lanes = way == 0       ? 0
               : way == 2     ? TD_LU_STRIPS
               : p->n / 2 % 2 ? 1
                              : td_lu_most_lanes(p->type);
}

/* Makes the vectors in every way in `given`, which has the right-hand sides, and compares. `info`:
 * what p.info has to become; NULL: it has none. */
static void check_vectors(td_lu_vectors p, lu_batch *given, const lu_batch *wanted, const int *info,
                          const char *kind)
{
    char what[128];
    void *const sides = test_memory(given->bytes);
    memcpy(sides, given->host, given->bytes);
    for (int way = 0; way < ways_of(p.type); way++) {
        take_way(&p, way);
        memcpy(given->host, sides, given->bytes);
        lu_batch_upload(given);
        if (info) CHECK_CUDA(cudaMemset(p.info, 0xff, (size_t)wanted->count * sizeof *info));
        CHECK_CUDA(td_lu_solve(&p, NULL));
        lu_batch_download(given);
        snprintf(what, sizeof what, "%s, %d vectors by %d lanes", kind, p.together, p.lanes);
        lu_batch_compare(given, wanted, what);
        if (info) compare_ints(p.info, info, wanted->count, "info of the inverse", wanted);
    }
    free(sides);
}

/* Of the matrices themselves, in one kernel; *given and info are room for what it writes. */
static void check_whole_inverse(const factored *f, lu_batch *given, const lu_batch *wanted,
                                int *info, const char *kind)
{
    char what[80];
    const td_lu_inverses whole = {f->a.type, f->a.rows,       (const void *const *)f->a.pointers,
                                  f->a.ld,   given->pointers, given->ld,
                                  info,      f->a.count};
    memset(given->host, 0xff, given->bytes);
    lu_batch_upload(given);
    CHECK_CUDA(td_lu_invert(&whole, NULL));
    lu_batch_download(given);
    snprintf(what, sizeof what, "inverse in one kernel, %s", kind);
    lu_batch_compare(given, wanted, what);
    compare_ints(info, f->info, f->a.count, "info of the inverse in one kernel", &f->a);
}

static void check_inverse(const factored *f, const char *kind)
{
    char what[80];
    const int n = f->a.rows, count = f->a.count;
    lu_batch given = lu_batch_make(f->a.type, n, n, 1, count),
             wanted = lu_batch_make(f->a.type, n, n, 1, count);
    int *pivots = device_ints(f->pivots, n * count), *info = device_ints(NULL, count);
    for (int i = 0; i < count; i++)
        ref_lu_invert((ref_lu_type)f->a.type, n, lu_batch_at(&f->factors, i), f->factors.ld,
                      f->has_pivots ? f->pivots + i * n : NULL, lu_batch_at(&wanted, i), wanted.ld);
    const td_lu_vectors p = {
        .type = f->a.type,
        .n = n,
        .vectors = n,
        .a = (const void *const *)f->factors.pointers,
        .lda = f->factors.ld,
        .b = given.pointers,
        .ldb = given.ld,
        .batch = count,
        .what = TD_VECTORS_INVERSE,
        .pivots = f->has_pivots ? pivots : NULL,
        .info = info,
    };
    memset(given.host, 0xff, given.bytes);
    snprintf(what, sizeof what, "inverse, %s", kind);
    check_vectors(p, &given, &wanted, f->info, what);
    if (n <= TD_LU_MOST_INVERTED && f->has_pivots)
        check_whole_inverse(f, &given, &wanted, info, kind);
    device_free(pivots, info);
    lu_batch_free(&given);
    lu_batch_free(&wanted);
}

static void check_solution(const factored *f, td_lu_operation op, int vectors, const char *kind)
{
    char what[60];
    const int n = f->a.rows, count = f->a.count;
    test_random random = random_start(test_seed());
    lu_batch given = lu_batch_make(f->a.type, n, vectors, 2, count);
    for (int i = 0; i < count; i++) lu_fill(&given, i, LU_RANDOM, &random);
    lu_batch_upload(&given);
    lu_batch wanted = lu_batch_copy(&given);
    int *pivots = device_ints(f->pivots, n * count);
    for (int i = 0; i < count; i++)
        ref_lu_solve((ref_lu_type)f->a.type, (ref_lu_op)op, n, lu_batch_at(&f->factors, i),
                     f->factors.ld, f->has_pivots ? f->pivots + i * n : NULL, vectors,
                     lu_batch_at(&wanted, i), wanted.ld);
    const td_lu_vectors p = {
        .type = f->a.type,
        .op = op,
        .n = n,
        .vectors = vectors,
        .a = (const void *const *)f->factors.pointers,
        .lda = f->factors.ld,
        .b = given.pointers,
        .ldb = given.ld,
        .batch = count,
        .what = TD_VECTORS_SOLUTION,
        .pivots = f->has_pivots ? pivots : NULL,
    };
    snprintf(what, sizeof what, "solution, operation %d, %s", op, kind);
    check_vectors(p, &given, &wanted, NULL, what);
    device_free(pivots);
    lu_batch_free(&given);
    lu_batch_free(&wanted);
}

/* True for all orders that end a warp or begin one, and of large ones for two of seven, which visit
 * all types, shapes and kinds in turn. */
static bool is_taken(int n)
{
    return n <= 64 || n % 7 % 3 == 1 || (n + 1) % 32 <= 2 || test_takes_everything();
}

/* Orders in steps, types and kinds in turn. */
TEST(factors_and_inverses)
{
    int runs = 0;
    for (int n = 1; n <= TD_LU_MOST; n += step_of_orders)
        for (int t = 0; t < TD_LU_TYPES; t++) {
            if (step_of_orders == 1 && !is_taken(n)) continue;
            const bool is_small = n <= 40;
            if (!is_small && t != n % TD_LU_TYPES) continue;
            const lu_kind kind = (lu_kind)((n + t * 2) % LU_KINDS);
            const int count = n <= 32 ? 5 : 2;
            factored f = factored_of_kind((td_lu_type)t, n, n % 3, count, kind, (n + t) % 5 != 0);
            for (int shape = -1; shape < TD_LU_SHAPES; shape++) {
                if (shape >= 0 && !is_another_shape((td_lu_type)t, n, shape)) continue;
                if (n > 100 && shape >= 0 && n % 3 != shape % 3) continue;
                check_shape(&f, shape, lu_kind_names[kind]);
                runs++;
            }
            if (n <= 64 || n % 4 == 1) check_inverse(&f, lu_kind_names[kind]);
            if (n <= 32 || n % 8 == 3)
                check_solution(&f, (td_lu_operation)(n % 3), 1 + n % 37, lu_kind_names[kind]);
            factored_free(&f);
        }
    test_note("%d factorisations", runs);
}

/* Orders beyond those of vectors, around the ends of warps and panels: every other one of one type,
 * so that all types come, or the first two; or all of all types. Above 300 there is one matrix:
 * smaller orders show that matrices lie apart. */
TEST(large_factors)
{
    static const int orders[] = {257, 272, 289, 300, 383, 449, 512};
    const int count = step_of_orders > 1 ? 2 : (int)(sizeof orders / sizeof *orders);
    for (int i = 0; i < count; i++)
        for (int t = 0; t < TD_LU_TYPES; t++) {
            const bool is_turn = i * 3 / 2 % TD_LU_TYPES == t;
            if (!test_takes(i, 2) || (!test_takes_everything() && !is_turn)) continue;
            const int n = orders[i];
            const lu_kind kind = (lu_kind)((3 * i + t) % LU_KINDS);
            const int matrices = n <= 300 || test_takes_everything() ? 2 : 1;
            factored f =
                factored_of_kind((td_lu_type)t, n, i % 3, matrices, kind, (i + t) % 5 != 1);
            for (int shape = -1; shape < TD_LU_SHAPES; shape++)
                if (shape < 0 || is_another_shape((td_lu_type)t, n, shape))
                    check_shape(&f, shape, lu_kind_names[kind]);
            factored_free(&f);
        }
}

/* Of nine random matrices, so that teams of a warp have several, one or two are of another kind
 * from some step on. */
static factored factored_late(td_lu_type type, int n, lu_kind kind)
{
    enum { COUNT = 9 };
    test_random random = random_start(test_seed());
    factored f = factored_make(type, n, n % 2, COUNT, true);
    for (int i = 0; i < COUNT; i++) lu_fill(&f.a, i, LU_RANDOM, &random);
    for (int k = 0; k < 2; k++)
        lu_fill_late(&f.a, random_int(&random, 0, COUNT - 1), kind, random_int(&random, 1, n - 1),
                     &random);
    factor_by_reference(&f);
    return f;
}

/* Steps that are seldom after others that are not, every kind of them with every type and shape. */
TEST(seldom_steps)
{
    static const int orders[] = {3, 8, 11, 16, 21, 24, 29, 32, 33, 36, 50};
    static const lu_kind kinds[] = {LU_SINGULAR, LU_TIES, LU_EXTREME, LU_SPECIAL, LU_TINY};
    enum { ORDERS = sizeof orders / sizeof *orders, KINDS = sizeof kinds / sizeof *kinds };
    const int step = step_of_orders == 1 ? 1 : 3;
    for (int i = 0; i < ORDERS; i += step)
        for (int run = 0; run < TD_LU_TYPES * KINDS; run++) {
            const td_lu_type type = (td_lu_type)(run % TD_LU_TYPES);
            const lu_kind kind = kinds[run / TD_LU_TYPES];
            const int turn = i / step + run % TD_LU_TYPES + run / TD_LU_TYPES;
            if (!test_takes(turn, 2) || (test_is_brief() && turn % 3)) continue;
            char name[40];
            snprintf(name, sizeof name, "%s after random", lu_kind_names[kind]);
            factored f = factored_late(type, orders[i], kind);
            for (int shape = 0; shape < TD_LU_SHAPES; shape++)
                if (td_lu_shape_fits(type, orders[i], shape)) check_shape(&f, shape, name);
            check_inverse(&f, name);
            factored_free(&f);
        }
}

enum { TRIANGLES = 3 };

/* Triangles, with NaN in what must not be read of them. */
static lu_batch make_triangles(td_lu_type type, int n, bool is_upper, bool is_unit,
                               test_random *random)
{
    lu_batch a = lu_batch_make(type, n, n, 1, TRIANGLES);
    for (int i = 0; i < TRIANGLES; i++) {
        lu_fill(&a, i, LU_RANDOM, random);
        for (int k = 0; k < n; k++)
            for (int j = 0; j < n; j++)
                if ((is_upper ? k > j : k < j) || (is_unit && j == k)) lu_put(&a, i, k, j, NAN);
    }
    lu_batch_upload(&a);
    return a;
}

static void check_triangle(td_lu_type type, int n, int vectors, int bits, double complex alpha,
                           bool on_device)
{
    char what[40];
    test_random random = random_start(test_seed());
    const td_lu_operation op = (td_lu_operation)(bits >> 3 & 3);
    const bool is_upper = bits & 1, is_unit = bits & 2, is_right = bits & 4;
    lu_batch a = make_triangles(type, n, is_upper, is_unit, &random);
    lu_batch given =
        lu_batch_make(type, is_right ? vectors : n, is_right ? n : vectors, 3, TRIANGLES);
    for (int i = 0; i < TRIANGLES; i++) lu_fill(&given, i, LU_RANDOM, &random);
    lu_batch_upload(&given);
    lu_batch wanted = lu_batch_copy(&given), scalar = lu_batch_make(type, 1, 1, 0, 1);
    lu_put(&scalar, 0, 0, 0, alpha);
    lu_batch_upload(&scalar);
    const double complex rounded = lu_get(&scalar, 0, 0, 0);
    for (int i = 0; i < TRIANGLES; i++)
        ref_lu_solve_triangle(&(ref_lu_triangle){(ref_lu_type)type, (ref_lu_op)op, is_upper,
                                                 is_unit, is_right, n, vectors, lu_batch_at(&a, i),
                                                 a.ld, lu_batch_at(&wanted, i), wanted.ld,
                                                 creal(rounded), cimag(rounded), 0});
    const td_lu_vectors p = {.type = type,
                             .op = op,
                             .n = n,
                             .vectors = vectors,
                             .a = (const void *const *)a.pointers,
                             .lda = a.ld,
                             .b = given.pointers,
                             .ldb = given.ld,
                             .batch = TRIANGLES,
                             .what = TD_VECTORS_TRIANGLE,
                             .is_upper = is_upper,
                             .is_unit = is_unit,
                             .is_right = is_right,
                             .alpha_re = on_device ? NAN : creal(rounded),
                             .alpha_im = cimag(rounded),
                             .device_alpha = on_device ? scalar.device : NULL};
    snprintf(what, sizeof what, "triangle, bits %x", bits);
    check_vectors(p, &given, &wanted, NULL, what);
    lu_batch *const all[] = {&a, &given, &wanted, &scalar};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) lu_batch_free(all[i]);
}

/* Side, triangle, diagonal and operation in every combination, each type in turn. */
TEST(triangles)
{
    static const int sizes[] = {1, 5, 16, 17, 33, 64, 100, 129};
    static const double complex alphas[] = {1.0, 0.0, -0.75, 2.5 + 1.5 * I};
    const int stride = step_of_orders == 1 ? 1 : 5;
    int run = 0;
    for (int s = 0; s < (int)(sizeof sizes / sizeof *sizes); s++)
        for (int bits = 0; bits < 24; bits += stride, run++)
            for (int t = 0; t < TD_LU_TYPES; t++) {
                if (sizes[s] > 40 && (t + bits) % 4 != s % 4) continue;
                const double complex alpha = alphas[(run + t) % 4];
                check_triangle((td_lu_type)t, sizes[s], 1 + (run * 7 + t) % 50, bits,
                               t < TD_LU_C ? creal(alpha) : alpha, run % 3 == 0);
            }
}

TEST(residuals)
{
    if (every_type || test_takes_everything())
        check_residuals(1, every_type ? TD_LU_MOST : 100);
    else if (step_of_orders == 1)
        check_residuals(19, 64);
    else
        check_residuals(3 * step_of_orders + 2, 1);
}

int main(int argc, char **argv)
{
    step_of_orders = argc > 1 ? atoi(argv[1]) : test_is_brief() ? 17 : 1;
    every_type = step_of_orders == 0;
    if (every_type) step_of_orders = 1;
    if (step_of_orders < 1) return 2;
    device_require();
    if (td_lu_prepare() != cudaSuccess) return 1;
    return test_run();
}
