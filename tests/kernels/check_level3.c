/* check_level3.c - every routine of level 3 that is a product, real and complex, under every mode:
 * its C has the bits of the product of the matrices written out in full, wherever the scalars are
 * and in little workspace too; what it must not read is poisoned, and what it must not write stays.
 * How good such a product is is tested with plain products (check_unfold.c, check_dgemm.c). */
#include "../support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/call/lower.h"
#include "../../lib/cuda/device.h"
#include "../support/bits.h"
#include "../support/complex_of.h"
#include "../support/random.h"
#include "support/checked.h"
#include "support/device.h"

typedef double _Complex number;

static const mode *tested;
static int cases = 80;
static uint64_t first_seed = 1;

/* A matrix on the host, of complex numbers whose imaginary parts are 0 if it is real. */
typedef struct {
    int64_t rows, columns, ld;
    number *at;
} matrix;

typedef struct {
    uint64_t seed;
    td_problem p; /* without matrices and scalars */
    bool is_complex, is_in_place, has_device_scalars, is_special;
    number alpha, beta;
    matrix a, b, c;
    matrix left, right; /* the factors written out: alpha left right is added */
} routine_case;

static const char *case_text(const routine_case *c)
{
    static char text[240];
    const td_problem *p = &c->p;
    snprintf(text, sizeof text,
             "%s, seed %d: %s kind %d%s side %d triangle %d op %c diagonal %d m %d n %d k %d alpha "
             "%g%+gi beta %g%+gi%s%s%s",
             tested->name, (int)c->seed, c->is_complex ? "Z" : "D", p->kind,
             p->is_hermitian ? " Hermitian" : "", p->side, p->triangle, "NTC"[p->op_a],
             p -> diagonal, (int)p -> m, (int)p -> n, (int)p -> k, creal(c->alpha), cimag(c->alpha),
             creal(c->beta), cimag(c->beta), c -> is_in_place ? " in place" : "",
             c->has_device_scalars ? " device scalars" : "", c->is_special ? " special" : "");
    return text;
}

/* ---- matrices ---- */

static matrix matrix_of(int64_t rows, int64_t columns, int64_t pad)
{
    const int64_t ld = rows + pad;
    return (matrix){rows, columns, ld, calloc((size_t)(ld * columns + 1), sizeof(number))};
}

static number *element(const matrix *x, int64_t i, int64_t j) { return &x->at[j * x->ld + i]; }

static size_t count_of(const matrix *x) { return (size_t)(x->ld * x->columns); }

/* Numbers, and poison in the padding. */
static void fill(const routine_case *c, matrix *x, test_random *r)
{
    for (int64_t j = 0; j < x->columns; j++)
        for (int64_t i = 0; i < x->ld; i++) {
            const double re = 2.0 * random_uniform(r) - 1.0, im = 2.0 * random_uniform(r) - 1.0;
            *element(x, i, j) = i >= x->rows    ? complex_of(NAN, c->is_complex ? NAN : 0.0)
                                : c->is_complex ? complex_of(re, im)
                                                : complex_of(re, 0.0);
        }
}

static bool has_side(const td_problem *p)
{
    return p->kind == TD_SYMMETRIC_PRODUCT || p->kind == TD_TRIANGULAR_PRODUCT;
}

static bool is_inside(td_triangle triangle, int64_t i, int64_t j)
{
    return triangle == TD_LOWER ? i >= j : i <= j;
}

static number op_of(td_op op, const matrix *x, int64_t i, int64_t j)
{
    return op == TD_OP_N   ? *element(x, i, j)
           : op == TD_OP_T ? *element(x, j, i)
                           : conj(*element(x, j, i));
}

/* What A of a routine with a side is, in full. */
static matrix full_of(const routine_case *c)
{
    const td_problem *p = &c->p;
    matrix full = matrix_of(c->a.rows, c->a.rows, 0), turned = matrix_of(c->a.rows, c->a.rows, 0);
    for (int64_t j = 0; j < full.columns; j++)
        for (int64_t i = 0; i < full.rows; i++) {
            const bool is_stored = is_inside(p->triangle, i, j);
            number x = *element(&c->a, i, j);
            if (p->kind == TD_TRIANGULAR_PRODUCT)
                x = !is_stored ? 0.0 : i == j && p->diagonal == TD_UNIT_DIAGONAL ? 1.0 : x;
            else if (!is_stored)
                x = p->is_hermitian ? conj(*element(&c->a, j, i)) : *element(&c->a, j, i);
            if (p->kind == TD_SYMMETRIC_PRODUCT && p->is_hermitian && i == j) x = creal(x);
            *element(&full, i, j) = x;
        }
    for (int64_t j = 0; j < full.columns; j++)
        for (int64_t i = 0; i < full.rows; i++)
            *element(&turned, i, j) = op_of(p->op_a, &full, i, j);
    free(full.at);
    return turned;
}

/* Puts op(x), n x k, into columns `first` .. of the left factor, or its transpose, conjugate if the
 * routine is Hermitian, into such rows of the right one. */
static void put_factor(const routine_case *c, const matrix *x, bool is_left, int64_t first)
{
    const td_problem *p = &c->p;
    for (int64_t l = 0; l < p->k; l++)
        for (int64_t i = 0; i < p->n; i++) {
            const number at = op_of(p->op_a, x, i, l);
            if (is_left)
                *element(&c->left, i, first + l) = at;
            else
                *element(&c->right, first + l, i) = p->is_hermitian ? conj(at) : at;
        }
}

static void write_factors_out(routine_case *c)
{
    const td_problem *p = &c->p;
    const bool is_joined = p->kind == TD_RANK_2K && !p->is_hermitian;
    if (has_side(p)) {
        const matrix full = full_of(c);
        matrix other = matrix_of(p->m, p->n, 0);
        for (int64_t j = 0; j < p->n; j++)
            for (int64_t i = 0; i < p->m; i++) *element(&other, i, j) = *element(&c->b, i, j);
        c->left = p->side == TD_LEFT ? full : other;
        c->right = p->side == TD_LEFT ? other : full;
        return;
    }
    c->left = matrix_of(p->n, is_joined ? 2 * p->k : p->k, 0);
    c->right = matrix_of(is_joined ? 2 * p->k : p->k, p->n, 0);
    put_factor(c, &c->a, true, 0);
    put_factor(c, p->kind == TD_RANK_K ? &c->a : &c->b, false, 0);
    if (!is_joined) return;
    put_factor(c, &c->b, true, p->k);
    put_factor(c, &c->a, false, p->k);
}

/* Poison where a routine with a side must not read A. */
static void poison_a(const routine_case *c)
{
    const td_problem *p = &c->p;
    const number poison = complex_of(NAN, c->is_complex ? NAN : 0.0);
    for (int64_t j = 0; has_side(p) && j < c->a.columns; j++)
        for (int64_t i = 0; i < c->a.rows; i++) {
            number *const at = element(&c->a, i, j);
            const bool is_unit =
                i == j && p->kind == TD_TRIANGULAR_PRODUCT && p->diagonal == TD_UNIT_DIAGONAL;
            if (!is_inside(p->triangle, i, j) || is_unit) *at = poison;
            if (p->is_hermitian && i == j) *at = complex_of(creal(*at), NAN);
        }
}

/* ---- cases ---- */

/* A special number where it is read and meets no zero beside a triangle. */
static void plant(routine_case *c, test_random *r)
{
    static const double values[] = {NAN, INFINITY, -INFINITY};
    matrix *const x = c->p.kind == TD_TRIANGULAR_PRODUCT || random_int(r, 0, 1) ? &c->a : &c->b;
    if (x->columns == 0 || x->rows == 0) return;
    const int64_t i = random_int(r, 0, (int)x->rows - 1), j = random_int(r, 0, (int)x->columns - 1);
    if (x == &c->b && c->p.kind == TD_RANK_K) return;
    *element(x, i, j) = values[random_int(r, 0, 2)];
}

static number random_scalar(test_random *r, bool is_complex)
{
    static const double values[] = {1.0, 0.0, -1.0, 0.7};
    const double re = values[random_int(r, 0, 3)], im = values[random_int(r, 0, 3)];
    return complex_of(re, is_complex && random_int(r, 0, 1) ? im : 0.0);
}

static int random_size(test_random *r)
{
    static const int most[] = {2, 17, 40, 90};
    return random_int(r, 1, most[random_int(r, 0, 3)]);
}

static td_problem random_routine(test_random *r, bool is_complex)
{
    static const td_kind kinds[] = {TD_SYMMETRIC_PRODUCT, TD_RANK_K, TD_RANK_KX, TD_RANK_2K,
                                    TD_TRIANGULAR_PRODUCT};
    td_problem p = {.kind = kinds[random_int(r, 0, 4)],
                    .type = is_complex ? TD_COMPLEX_BINARY64 : TD_BINARY64,
                    .side = (td_side)random_int(r, 0, 1),
                    .triangle = (td_triangle)random_int(r, 0, 1),
                    .diagonal = (td_diagonal)random_int(r, 0, 1),
                    .m = random_size(r),
                    .n = random_size(r),
                    .k = random_size(r),
                    .batch = 1};
    const bool is_triangular = p.kind == TD_TRIANGULAR_PRODUCT;
    p.is_hermitian = is_complex && !is_triangular && random_int(r, 0, 1);
    const td_op turned = p.is_hermitian ? TD_OP_C : TD_OP_T;
    if (is_triangular || !has_side(&p)) p.op_a = random_int(r, 0, 1) ? turned : TD_OP_N;
    if ((is_triangular || !is_complex) && p.op_a == TD_OP_T && random_int(r, 0, 1))
        p.op_a = TD_OP_C;
    if (has_side(&p)) p.k = 0;
    if (!is_triangular) p.diagonal = TD_NON_UNIT_DIAGONAL;
    return p;
}

static routine_case make_case(uint64_t seed)
{
    test_random random = random_start(seed), *r = &random;
    routine_case c = {.seed = seed, .is_complex = random_int(r, 0, 1)};
    td_problem *p = &c.p;
    *p = random_routine(r, c.is_complex);
    c.alpha = random_scalar(r, td_problem_type_of_alpha(p) == TD_COMPLEX_BINARY64);
    c.beta = random_scalar(r, td_problem_type_of_beta(p) == TD_COMPLEX_BINARY64);
    if (c.is_complex && c.alpha == 0.0) c.alpha = 0.5; /* the policy leaves these to cuBLAS */
    if (p->kind == TD_TRIANGULAR_PRODUCT) c.beta = 0.0;
    c.is_in_place = p->kind == TD_TRIANGULAR_PRODUCT && random_int(r, 0, 1);
    c.has_device_scalars = random_int(r, 0, 1);
    c.is_special = random_int(r, 0, 3) == 0 && c.alpha != 0.0;
    const int64_t order = p->side == TD_LEFT ? p->m : p->n, pad = random_int(r, 0, 40),
                  rows = has_side(p)          ? p->m
                         : p->op_a == TD_OP_N ? p->n
                                              : p->k,
                  columns = has_side(p) ? p->n : p->n + p->k - rows;
    if (!has_side(p)) p->m = 0;
    c.a = has_side(p) ? matrix_of(order, order, pad) : matrix_of(rows, columns, pad);
    c.b = matrix_of(rows, columns, c.is_in_place ? 2 : random_int(r, 0, 3));
    c.c = matrix_of(has_side(p) ? p->m : p->n, p->n, c.is_in_place ? 2 : pad);
    fill(&c, &c.a, r);
    fill(&c, &c.b, r);
    fill(&c, &c.c, r);
    if (c.is_special) plant(&c, r);
    write_factors_out(&c);
    poison_a(&c);
    return c;
}

static void free_case(routine_case *c)
{
    matrix *const all[] = {&c->a, &c->b, &c->c, &c->left, &c->right};
    for (int i = 0; i < 5; i++) free(all[i]->at);
}

/* ---- running ---- */

static void *upload(const routine_case *c, const matrix *x)
{
    const size_t count = count_of(x), bytes = c->is_complex ? sizeof(number) : sizeof(double);
    char *host = malloc(count * bytes + 1), *device = NULL;
    for (size_t i = 0; i < count; i++) memcpy(host + i * bytes, &x->at[i], bytes);
    CHECK_CUDA(cudaMalloc((void **)&device, count * bytes + 1));
    CHECK_CUDA(cudaMemcpy(device, host, count * bytes, cudaMemcpyHostToDevice));
    free(host);
    return device;
}

static matrix download(const routine_case *c, const matrix *like, const void *device)
{
    matrix x = matrix_of(like->rows, like->columns, like->ld - like->rows);
    const size_t count = count_of(&x), bytes = c->is_complex ? sizeof(number) : sizeof(double);
    char *host = malloc(count * bytes + 1);
    CHECK_CUDA(cudaMemcpy(host, device, count * bytes, cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < count; i++) memcpy(&x.at[i], host + i * bytes, bytes);
    free(host);
    return x;
}

/* Behind a real number there is poison. */
static td_scalar scalar_of(number x, td_type type)
{
    return (td_scalar){.value.complex_binary64 = {creal(x), type == TD_BINARY64 ? NAN : cimag(x)}};
}

static td_scalar on_device(td_scalar s, void **memory)
{
    CHECK_CUDA(cudaMalloc(memory, sizeof s.value));
    CHECK_CUDA(cudaMemcpy(*memory, &s.value, sizeof s.value, cudaMemcpyHostToDevice));
    return (td_scalar){.device = *memory};
}

static td_run_status run(const td_problem *product, size_t limit)
{
    td_parameter parameter;
    const td_engine *engine = td_engine_parse(tested->name, &parameter);
    parameter.prices = tested->prices;
    return td_engine_run(engine, product, parameter, td_device_current(), limit, NULL);
}

/* C of the problem, whose scalars are set; a, b and c become its matrices. In all workspace, or in
 * the least power of two that is enough. */
static matrix compute(const routine_case *c, td_problem p, const matrix *a, const matrix *b,
                      const matrix *of_c, bool in_little)
{
    enum { LEAST = 1 << 14 };
    const size_t most = td_device_current()->workspace_bytes;
    size_t limit = in_little ? LEAST : most;
    void *memory[5] = {upload(c, a), upload(c, b),
                       upload(c, c->is_in_place && b == &c->b ? b : of_c)};
    td_problem product;
    p.a = (td_matrix){.data = memory[0], .ld = a->ld};
    p.b = (td_matrix){.data = memory[1], .ld = b->ld};
    p.c = (td_matrix){.data = memory[2], .ld = of_c->ld};
    if (c->is_in_place && b == &c->b) p.b = p.c;
    if (c->has_device_scalars) {
        p.alpha = on_device(p.alpha, &memory[3]);
        if (p.kind != TD_TRIANGULAR_PRODUCT) p.beta = on_device(p.beta, &memory[4]);
    }
    CHECK(td_problem_is_valid(&p) && td_lower(&p, &product), "no product: %s", case_text(c));
    td_run_status status = run(&product, limit);
    while (status == TD_RUN_NO_MEMORY && limit < most) status = run(&product, limit *= 2);
    CHECK(status == TD_RUN_DONE, "status %d in %zu bytes: %s", (int)status, limit, case_text(c));
    device_check_clean(case_text(c));
    const matrix result = download(c, of_c, memory[2]);
    for (int i = 0; i < 5; i++) CHECK_CUDA(cudaFree(memory[i]));
    return result;
}

/* ---- what C must be ---- */

static number multiply_add(number x, number y, number z)
{
    return complex_of(fma(-cimag(x), cimag(y), fma(creal(x), creal(y), creal(z))),
                      fma(cimag(x), creal(y), fma(creal(x), cimag(y), cimag(z))));
}

/* By the product of the factors written out, with the same scalars; of her2k by T, which is the
 * first of its two terms without alpha. */
static matrix expected(const routine_case *c)
{
    const bool adds_mirror = c->p.kind == TD_RANK_2K && c->p.is_hermitian;
    const td_problem p = {.kind = TD_PRODUCT,
                          .type = c->p.type,
                          .m = c->left.rows,
                          .n = c->right.columns,
                          .k = c->left.columns,
                          .alpha = scalar_of(adds_mirror ? 1.0 : c->alpha, c->p.type),
                          .beta = scalar_of(adds_mirror ? 0.0 : c->beta, c->p.type),
                          .batch = 1};
    matrix t = compute(c, p, &c->left, &c->right, &c->c, false);
    if (!adds_mirror) return t;
    matrix sum = matrix_of(t.rows, t.columns, t.ld - t.rows);
    for (int64_t j = 0; j < t.columns; j++)
        for (int64_t i = 0; i < t.rows; i++) {
            number x = 0.0;
            if (c->beta != 0.0) x = multiply_add(c->beta, *element(&c->c, i, j), x);
            x = multiply_add(conj(c->alpha), conj(*element(&t, j, i)), x);
            *element(&sum, i, j) = multiply_add(c->alpha, *element(&t, i, j), x);
        }
    free(t.at);
    return sum;
}

/* True if the data may choose something else than for the whole product: what they leave open is
 * counted in the triangle alone, and tiles on the diagonal have fewer elements. */
static bool may_choose(const routine_case *c)
{
    return !has_side(&c->p) && !tested->format && !tested->is_exact && !tested->is_binary64 &&
           tested->ozaki.parameter == 0;
}

static bool is_same(double x, double y) { return bits_of(x) == bits_of(y) || (x != x && y != y); }

/* Both are within the certified bound of the exact element. */
static bool is_near(const routine_case *c, int64_t i, int64_t j, double x, double y)
{
    const int64_t k = c->left.columns;
    double magnitude = 0.0;
    for (int64_t l = 0; l < k; l++)
        magnitude += cabs(*element(&c->left, i, l)) * cabs(*element(&c->right, l, j));
    magnitude = 2.0 * (cabs(c->alpha) * magnitude + cabs(c->beta) * cabs(*element(&c->c, i, j)));
    return fabs(x - y) <= 2.0 * (4.0 * sqrt(2.0 * (double)k) + 6.0) * 0x1p-53 * magnitude;
}

static void compare(const routine_case *c, const matrix *got, const matrix *want)
{
    const bool is_update = !has_side(&c->p), has_real_diagonal = is_update && c->p.is_hermitian;
    const matrix *const before = c->is_in_place ? &c->b : &c->c;
    for (int64_t j = 0; j < got->columns; j++)
        for (int64_t i = 0; i < got->ld; i++) {
            const number x = *element(got, i, j), y = *element(want, i, j),
                         old = *element(before, i, j);
            if (i >= got->rows || (is_update && !is_inside(c->p.triangle, i, j))) {
                CHECK(bits_of(creal(x)) == bits_of(creal(old)) &&
                          bits_of(cimag(x)) == bits_of(cimag(old)),
                      "touched (%d, %d): %s", (int)i, (int)j, case_text(c));
                continue;
            }
            const bool is_real = has_real_diagonal && i == j;
            const double im = is_real ? 0.0 : cimag(y);
            const bool is_equal = is_same(creal(x), creal(y)) && is_same(cimag(x), im);
            CHECK(is_equal || (may_choose(c) && is_near(c, i, j, creal(x), creal(y)) &&
                               is_near(c, i, j, cimag(x), im)),
                  "(%d, %d) is %a%+ai for %a%+ai: %s", (int)i, (int)j, creal(x), cimag(x), creal(y),
                  im, case_text(c));
        }
}

static void check(routine_case *c)
{
    td_problem p = c->p;
    p.alpha = scalar_of(c->alpha, td_problem_type_of_alpha(&p));
    p.beta = scalar_of(c->beta, td_problem_type_of_beta(&p));
    matrix got = compute(c, p, &c->a, &c->b, &c->c, false);
    c->has_device_scalars = !c->has_device_scalars;
    matrix again = compute(c, p, &c->a, &c->b, &c->c, true);
    CHECK(memcmp(got.at, again.at, count_of(&got) * sizeof(number)) == 0,
          "other bits with scalars elsewhere, or in little workspace: %s", case_text(c));
    matrix want = expected(c);
    compare(c, &got, &want);
    free(got.at);
    free(again.at);
    free(want.at);
}

static void routines_are_products(void **unused)
{
    (void)unused;
    for (int i = 0; i < test_cases(tested->is_variant ? cases / 4 : cases); i++) {
        routine_case c = make_case(first_seed + (uint64_t)i);
        check(&c);
        free_case(&c);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(routines_are_products)};
    int failed = 0;
    test_take_cases(argc, argv, &cases, &first_seed);
    device_require();
    while ((tested = mode_after(tested)))
        failed += cmocka_run_group_tests_name(tested->name, tests, NULL, NULL);
    return failed;
}
