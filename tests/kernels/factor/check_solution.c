/* check_solution.c - solutions and inverses by the triangular factors of one matrix, real or
 * complex: residuals in long double are below what is proven of substitution. Memory around the
 * matrices, and the triangle that is not named, stay as they were. */
#include "tests/support/test.h"

#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cuda/device.h"
#include "lib/engines/factor/solution.h"
#include "pivots.h"
#include "tests/kernels/support/device.h"
#include "tests/kernels/support/modes.h"
#include "tests/support/hash.h"
#include "tests/support/random.h"

typedef long double complex quantity;

typedef struct {
    td_kind kind;
    td_type type;
    td_op op;
    td_triangle triangle;
    int n, k, lda, ldb;
    pivot_kind pivots;
    const td_engine *engine;
    uint64_t seed;
    td_prices prices; /* those of mode auto; 0: the engine's own */
} system_case;

static const char *text_of(const system_case *c)
{
    static char text[200];
    snprintf(
        text, sizeof text,
        "kind %d, %s, op %d, triangle %d, n %d, k %d, lda %d, ldb %d, pivots %d, %s, seed %llu",
        (int)c->kind, td_types[c->type].name, (int)c->op, (int)c->triangle, c->n, c->k, c->lda,
        c->ldb, (int)c->pivots, c->engine->name, (unsigned long long)c->seed);
    return text;
}

static bool is_complex(const system_case *c) { return c->type == TD_COMPLEX_BINARY64; }
static bool is_inverse(const system_case *c) { return c->kind == TD_CHOLESKY_INVERT; }

/* ---- a case ---- */

typedef struct {
    number *a, *b,
        *x; /* factors; right-hand sides; what the call made of them, or of the factors */
    int64_t *pivots;
    int info;
} data;

/* True of the elements that the call may read. */
static bool is_read(const system_case *c, int i, int j)
{
    return c->kind == TD_LU_SOLVE || (c->triangle == TD_LOWER ? i >= j : i <= j);
}

/* Diagonals dominate, so that residuals tell of the arithmetic. All else is poison. */
static data make_data(const system_case *c)
{
    const size_t of_a = (size_t)c->lda * (size_t)c->n, of_b = (size_t)c->ldb * (size_t)c->k;
    data d = {test_zeros(of_a, sizeof *d.a), test_zeros(of_b + 1, sizeof *d.b),
              test_zeros(of_a > of_b ? of_a : of_b, sizeof *d.x),
              test_zeros((size_t)c->n, sizeof *d.pivots), -1};
    uint64_t state = c->seed;
    for (size_t e = 0; e < of_a; e++) {
        const int i = (int)(e % (size_t)c->lda), j = (int)(e / (size_t)c->lda);
        const number x = drawn_number(&state, is_complex(c));
        d.a[e] = i >= c->n || !is_read(c, i, j) ? (number)NAN
                 : i == j ? 2.0 + creal(x) + I * (c->kind == TD_LU_SOLVE) * cimag(x)
                          : x / sqrt(1.0 + c->n);
    }
    for (size_t e = 0; e < of_b; e++)
        d.b[e] =
            (int)(e % (size_t)c->ldb) < c->n ? drawn_number(&state, is_complex(c)) : (number)NAN;
    for (int i = 0; i < c->n; i++)
        d.pivots[i] = i + 1 + (int64_t)((random_signed(&state) + 1.0) * 0.5 * (c->n - i));
    return d;
}

static void free_data(data *d) { test_drop(d->a, d->b, d->x, d->pivots); }

/* Sets d->x and d->info; returns the call's status, which may take so many bytes at a time. */
static td_run_status run_within(size_t limit, const system_case *c, data *d)
{
    const size_t of_a = (size_t)c->lda * (size_t)c->n, of_b = (size_t)c->ldb * (size_t)c->k,
                 of_x = is_inverse(c) ? of_a : of_b;
    void *a = numbers_upload(d->a, of_a, is_complex(c)),
         *b = numbers_upload(d->b, of_b, is_complex(c)),
         *pivots = upload_pivots(c->pivots, d->pivots, c->n),
         *info = device_copy(&d->info, sizeof d->info);
    const td_problem p = {.kind = c->kind,
                          .type = c->type,
                          .op_a = c->op,
                          .triangle = c->triangle,
                          .n = c->n,
                          .k = c->k,
                          .a = {.data = a, .ld = c->lda},
                          .b = {.data = b, .ld = c->ldb},
                          .pivots = pivots,
                          .has_wide_pivots = c->pivots == WIDE_PIVOTS,
                          .info = info,
                          .batch = 1};
    const td_solve_products by = {c->engine, {.prices = c->prices}, {128, 0}};
    const td_run_status status = td_factor_solution(&p, &by, td_device_current(), limit, NULL);
    numbers_download(d->x, of_x, is_complex(c), is_inverse(c) ? a : b);
    device_fetch(&d->info, info, sizeof d->info);
    for (void **p_ = (void *[]){a, b, info, pivots, NULL}; *p_; p_++) device_free(*p_);
    device_check_clean(text_of(c));
    return status;
}

static void run(const system_case *c, data *d)
{
    const td_run_status status = run_within(td_device_limit(td_device_current(), 0), c, d);
    CHECK(status == TD_RUN_DONE, "%s: status %d", text_of(c), (int)status);
}

/* ---- what has to be ---- */

/* Element (i, j) of the factors: of L or U, or of the factor L of L L', whose conjugate transpose
 * may be the triangle that is there. */
static number lower(const system_case *c, const data *d, int i, int j)
{
    if (i < j) return 0.0;
    if (c->kind == TD_LU_SOLVE) return i == j ? 1.0 : d->a[at(i, j, c->lda)];
    return c->triangle == TD_LOWER ? d->a[at(i, j, c->lda)] : conj(d->a[at(j, i, c->lda)]);
}

static number upper(const system_case *c, const data *d, int i, int j)
{
    if (i > j) return 0.0;
    return c->kind == TD_LU_SOLVE ? d->a[at(i, j, c->lda)] : conj(lower(c, d, j, i));
}

/* Element (i, j) of the transpose of such a factor, or its conjugate transpose. */
typedef number factor(const system_case *c, const data *d, int i, int j);

static number element(const system_case *c, const data *d, factor *of, int i, int j)
{
    if (c->op == TD_OP_N) return of(c, d, i, j);
    const number x = of(c, d, j, i);
    return c->op == TD_OP_C ? conj(x) : x;
}

/* y <- F y, and the same of absolute values. */
static void apply(const system_case *c, const data *d, factor *of, quantity *y, long double *size)
{
    quantity *made = test_zeros((size_t)c->n, sizeof *made);
    long double *sizes = test_zeros((size_t)c->n, sizeof *sizes);
    for (int j = 0; j < c->n; j++)
        for (int i = 0; i < c->n; i++) {
            const number x = element(c, d, of, i, j);
            made[i] += (quantity)x * y[j];
            sizes[i] += (long double)cabs(x) * size[j];
        }
    memcpy(y, made, (size_t)c->n * sizeof *made);
    memcpy(size, sizes, (size_t)c->n * sizeof *sizes);
    test_drop(made, sizes);
}

/* The residual of a column of solutions: |wanted - op(A) x| is within so many roundings of what
 * |op(A)| |x| adds up to, factor by factor. */
static void check_residual(const system_case *c, const data *d, const number *x, number *wanted)
{
    const bool is_as_is = c->op == TD_OP_N, has_pivots = c->kind == TD_LU_SOLVE && c->pivots;
    const double most = (is_complex(c) ? 8.0 : 2.0) * (c->n + 40.0) * 0x1p-53;
    quantity *y = test_memory((size_t)c->n * sizeof *y);
    long double *size = test_memory((size_t)c->n * sizeof *size);
    number *made = test_memory((size_t)c->n * sizeof *made);
    memcpy(made, x, (size_t)c->n * sizeof *made);
    if (has_pivots && is_as_is) exchange_rows(d->pivots, c->n, false, wanted);
    if (has_pivots && !is_as_is) exchange_rows(d->pivots, c->n, false, made);
    for (int i = 0; i < c->n; i++) {
        y[i] = (quantity)made[i];
        size[i] = (long double)cabs(made[i]);
    }
    apply(c, d, is_as_is ? upper : lower, y, size);
    apply(c, d, is_as_is ? lower : upper, y, size);
    for (int i = 0; i < c->n; i++)
        CHECK_AT_MOST((double)(cabsl(y[i] - (quantity)wanted[i]) / size[i]), most, "%s: row %d",
                      text_of(c), i);
    test_drop(y, size, made);
}

/* ---- tests ---- */

static void check_solution(const system_case *c)
{
    data d = make_data(c);
    run(c, &d);
    CHECK(d.info == 0, "%s: info %d", text_of(c), d.info);
    for (int j = 0; j < c->k; j++) {
        const size_t column = at(0, j, c->ldb);
        for (size_t e = at(c->n, j, c->ldb); e < at(0, j + 1, c->ldb); e++)
            CHECK(is_same_number(d.x[e], d.b[e]), "%s: padding", text_of(c));
        if (j % 7 == 0) check_residual(c, &d, d.x + column, d.b + column);
    }
    free_data(&d);
}

/* Columns of the unit matrix are the right-hand sides, and those of the triangle and of its
 * conjugate transpose the solutions. */
static void check_inverse(const system_case *c)
{
    data d = make_data(c);
    number *column = test_memory((size_t)c->n * sizeof *column),
           *unit = test_zeros((size_t)c->n, sizeof *unit);
    run(c, &d);
    CHECK(d.info == 0, "%s: info %d", text_of(c), d.info);
    for (int j = 0; j < c->n; j++) {
        for (int i = 0; i < c->lda; i++) {
            const size_t e = at(i, j, c->lda);
            if (i >= c->n || !is_read(c, i, j))
                CHECK(is_same_number(d.x[e], d.a[e]), "%s: element %d, %d", text_of(c), i, j);
            if (i < c->n) column[i] = is_read(c, i, j) ? d.x[e] : conj(d.x[at(j, i, c->lda)]);
        }
        if (j % 31 != 0) continue;
        memset(unit, 0, (size_t)c->n * sizeof *unit);
        unit[j] = 1.0;
        check_residual(c, &d, column, unit);
    }
    test_drop(column, unit);
    free_data(&d);
}

static const td_type types[] = {TD_BINARY64, TD_COMPLEX_BINARY64};

TEST(lu_factors_solve)
{
    static const int sizes[][2] = {{1, 1},   {2, 3},    {17, 1},  {64, 5},
                                   {65, 33}, {130, 16}, {300, 70}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int which = 0; which < 2 * 3 * PIVOT_KINDS; which++) {
            const int n = sizes[i][0], k = sizes[i][1], more = which % 3;
            if (test_is_brief() ? (which + (int)i) % 5
                                : n > 100 && !test_takes(which, n > 200 ? 5 : 2))
                continue;
            const system_case c = {TD_LU_SOLVE,
                                   types[which % 2],
                                   (td_op)(which / 2 % 3),
                                   TD_LOWER,
                                   n,
                                   k,
                                   n + more,
                                   n + 2 * more,
                                   (pivot_kind)(which / 6),
                                   which % 4 == 3 ? &td_engine_ozaki2 : &td_engine_fp64,
                                   test_seed(),
                                   {0}};
            check_solution(&c);
        }
}

TEST(cholesky_factors_solve_and_invert)
{
    static const int sizes[][2] = {{1, 1},   {2, 3},    {17, 1},  {64, 5},
                                   {65, 33}, {130, 16}, {300, 70}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int which = 0; which < 8; which++) {
            const int n = sizes[i][0], more = which % 3;
            if (test_is_brief() && (which + (int)i) % 3) continue;
            system_case c = {TD_CHOLESKY_SOLVE,
                             types[which % 2],
                             TD_OP_N,
                             which & 2 ? TD_UPPER : TD_LOWER,
                             n,
                             sizes[i][1],
                             n + more,
                             n + 2 * more,
                             NO_PIVOTS,
                             which & 4 ? &td_engine_ozaki2 : &td_engine_fp64,
                             test_seed(),
                             {0}};
            check_solution(&c);
            c.kind = TD_CHOLESKY_INVERT;
            c.k = 0;
            check_inverse(&c);
        }
}

/* More products than one. */
TEST(large_factors_invert)
{
    const int n = 1100;
    system_case c = {TD_CHOLESKY_INVERT, TD_BINARY64,     TD_OP_N,     TD_LOWER, n, 0, n + 1, 1,
                     NO_PIVOTS,          &td_engine_fp64, test_seed(), {0}};
    if (!test_is_brief()) check_inverse(&c);
    c.triangle = TD_UPPER;
    c.n = c.lda = test_is_brief() ? 270 : 530;
    c.type = TD_COMPLEX_BINARY64;
    check_inverse(&c);
}

/* As mode auto has them: products are probed, which leaves each to binary64. Orders are a little
 * more than tiles are large, so that the last ones of a triangle have few elements. */
TEST(products_of_an_inverse_are_probed)
{
    static const int orders[] = {65, 66, 129, 130, 258};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        for (int which = 0; which < 4; which++) {
            const system_case c = {TD_CHOLESKY_INVERT,
                                   types[which % 2],
                                   TD_OP_N,
                                   which & 2 ? TD_UPPER : TD_LOWER,
                                   orders[i],
                                   0,
                                   orders[i],
                                   1,
                                   NO_PIVOTS,
                                   &td_engine_ozaki2,
                                   test_seed(),
                                   probed_binary64};
            check_inverse(&c);
        }
}

/* A call that would take more than it may leaves all as it was. */
TEST(memory_has_a_limit)
{
    for (int kind = 0; kind < 2; kind++) {
        const bool is_solve = kind == 0;
        const system_case c = {is_solve ? TD_LU_SOLVE : TD_CHOLESKY_INVERT,
                               TD_BINARY64,
                               TD_OP_N,
                               TD_LOWER,
                               100,
                               is_solve ? 3 : 0,
                               100,
                               100,
                               is_solve ? PIVOTS : NO_PIVOTS,
                               &td_engine_fp64,
                               test_seed(),
                               {0}};
        data d = make_data(&c);
        const td_run_status status = run_within(1000, &c, &d);
        CHECK(status == TD_RUN_NO_MEMORY && d.info == -1, "status %d, info %d", (int)status,
              d.info);
        const number *const was = is_solve ? d.b : d.a;
        for (int e = 0; e < 100 * (is_solve ? c.k : 100); e++)
            CHECK(is_same_number(d.x[e], was[e]), "%s: element %d", text_of(&c), e);
        free_data(&d);
    }
}

/* Complex factors of a product are written out as real ones, for which there is too little memory
 * once rows have been exchanged and the first block is solved: parts of the product have the same
 * bits. */
TEST(complex_products_need_little_memory)
{
    enum { FACTORS = 300, RIGHT = 40, LIMIT = 420000 };
    for (int i = 0; i < 4; i++) {
        const bool is_lu = i < 3;
        const system_case c = {is_lu ? TD_LU_SOLVE : TD_CHOLESKY_SOLVE,
                               TD_COMPLEX_BINARY64,
                               is_lu ? (td_op[]){TD_OP_N, TD_OP_T, TD_OP_C}[i] : TD_OP_N,
                               TD_LOWER,
                               FACTORS,
                               RIGHT,
                               FACTORS,
                               FACTORS,
                               is_lu ? PIVOTS : NO_PIVOTS,
                               &td_engine_fp64,
                               test_seed() + (uint64_t)i,
                               {0}};
        data d = make_data(&c);
        run(&c, &d);
        number *const wanted = d.x;
        d.x = test_zeros((size_t)FACTORS * FACTORS, sizeof *d.x);
        const td_run_status status = run_within(LIMIT, &c, &d);
        CHECK(status == TD_RUN_DONE, "%s: status %d", text_of(&c), (int)status);
        for (int e = 0; e < FACTORS * RIGHT; e++)
            CHECK(is_same_number(d.x[e], wanted[e]), "%s: element %d", text_of(&c), e);
        free(wanted);
        free_data(&d);
    }
}

TEST(info_is_the_first_zero)
{
    for (int first = 0; first < 300; first = (test_is_brief() ? 40 : 3) * first + 1) {
        const system_case c = {
            TD_CHOLESKY_INVERT, types[first % 2], TD_OP_N,     TD_UPPER, 300, 0, 300, 1,
            NO_PIVOTS,          &td_engine_fp64,  test_seed(), {0}};
        data d = make_data(&c);
        d.a[first * 301] = -0.0;
        d.a[299 * 301] = 0.0;
        run(&c, &d);
        CHECK(d.info == first + 1, "%s: info %d", text_of(&c), d.info);
        free_data(&d);
    }
}

/* Zeros of U divide, and NaN spread, as they do in LAPACK; info says nothing of that. */
TEST(singular_factors_give_what_is_no_number)
{
    const system_case c = {TD_LU_SOLVE, TD_BINARY64, TD_OP_N, TD_LOWER,        70,          4,
                           70,          70,          PIVOTS,  &td_engine_fp64, test_seed(), {0}};
    data d = make_data(&c);
    d.a[69 * 71] = 0.0;
    run(&c, &d);
    CHECK(d.info == 0, "info %d", d.info);
    for (int j = 0; j < 4; j++) CHECK(isinf(creal(d.x[69 + 70 * j])), "column %d", j);
    d.b[70] = (number)NAN;
    run(&c, &d);
    for (int i = 0; i < 69; i++) CHECK(isnan(creal(d.x[70 + i])), "row %d", i);
    free_data(&d);
}

/* A solution, and an inverse of more products than one. */
TEST(bits_are_the_same_everywhere)
{
    const system_case solution = {
        TD_LU_SOLVE, TD_COMPLEX_BINARY64, TD_OP_T, TD_LOWER, 200, 9, 200, 200,
        PIVOTS,      &td_engine_fp64,     5,       {0}};
    const system_case inverse = {
        TD_CHOLESKY_INVERT, TD_BINARY64,     TD_OP_N, TD_LOWER, 600, 0, 600, 1,
        NO_PIVOTS,          &td_engine_fp64, 6,       {0}};
    data x = make_data(&solution), y = make_data(&inverse);
    run(&solution, &x);
    run(&inverse, &y);
    for (size_t e = 0; e < 600 * 600; e++)
        if (e % 600 < e / 600) y.x[e] = 0.0;
    const uint64_t hashes[] = {hash_numbers(HASH_START, (const double *)x.x, 2 * 200 * 9),
                               hash_numbers(HASH_START, (const double *)y.x, 2 * 600 * 600)};
    CHECK(hashes[0] == 0xaef4fd4fe9b28048 && hashes[1] == 0x29f2f22e22f4300d,
          "hashes %016llx and %016llx", (unsigned long long)hashes[0],
          (unsigned long long)hashes[1]);
    free_data(&x);
    free_data(&y);
}
