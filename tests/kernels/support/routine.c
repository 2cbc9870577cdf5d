#include "routine.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/complex_of.h"
#include "tests/support/random.h"
#include "tests/support/test.h"
#include "device.h"

const char *routine_text(const routine_case *c)
{
    static char text[240];
    const td_problem *p = &c->p;
    snprintf(text, sizeof text,
             "seed %d: %s kind %d%s side %d triangle %d op %c diagonal %d m %d n %d k %d alpha "
             "%g%+gi beta %g%+gi%s%s%s",
             (int)c->seed, c->is_complex ? "Z" : "D", p->kind, p->is_hermitian ? " Hermitian" : "",
             p->side, p->triangle, "NTC"[p->op_a], p -> diagonal, (int)p -> m, (int)p -> n,
             (int)p -> k, creal(c->alpha), cimag(c->alpha), creal(c->beta), cimag(c->beta),
             c -> is_in_place ? " in place" : "", c->has_device_scalars ? " device scalars" : "",
             c->is_special ? " special" : "");
    return text;
}

/* ---- matrices ---- */

matrix matrix_of(int64_t rows, int64_t columns, int64_t pad)
{
    const int64_t ld = rows + pad;
    return (matrix){rows, columns, ld, calloc((size_t)(ld * columns + 1), sizeof(number))};
}

number *element(const matrix *x, int64_t i, int64_t j) { return &x->at[j * x->ld + i]; }

size_t matrix_count(const matrix *x) { return (size_t)(x->ld * x->columns); }

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

bool routine_has_side(const td_problem *p)
{
    return p->kind == TD_SYMMETRIC_PRODUCT || p->kind == TD_TRIANGULAR_PRODUCT;
}

bool routine_is_inside(td_triangle triangle, int64_t i, int64_t j)
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
            const bool is_stored = routine_is_inside(p->triangle, i, j);
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
    if (routine_has_side(p)) {
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
    for (int64_t j = 0; routine_has_side(p) && j < c->a.columns; j++)
        for (int64_t i = 0; i < c->a.rows; i++) {
            number *const at = element(&c->a, i, j);
            const bool is_unit =
                i == j && p->kind == TD_TRIANGULAR_PRODUCT && p->diagonal == TD_UNIT_DIAGONAL;
            if (!routine_is_inside(p->triangle, i, j) || is_unit) *at = poison;
            if (p->is_hermitian && i == j) *at = complex_of(creal(*at), NAN);
        }
}

static bool has_real_diagonal(const td_problem *p)
{
    return p->is_hermitian && !routine_has_side(p);
}

static void poison_diagonal(const routine_case *c)
{
    for (int64_t j = 0; has_real_diagonal(&c->p) && j < c->c.columns; j++)
        *element(&c->c, j, j) = complex_of(creal(*element(&c->c, j, j)), NAN);
}

number routine_before(const routine_case *c, int64_t i, int64_t j)
{
    const number x = *element(&c->c, i, j);
    return has_real_diagonal(&c->p) && i == j ? creal(x) : x;
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
    if (is_triangular || !routine_has_side(&p)) p.op_a = random_int(r, 0, 1) ? turned : TD_OP_N;
    if ((is_triangular || !is_complex) && p.op_a == TD_OP_T && random_int(r, 0, 1))
        p.op_a = TD_OP_C;
    if (routine_has_side(&p)) p.k = 0;
    if (!is_triangular) p.diagonal = TD_NON_UNIT_DIAGONAL;
    return p;
}

static routine_case make(const td_problem *routine, uint64_t seed, test_random *r)
{
    routine_case c = {
        .seed = seed, .p = *routine, .is_complex = routine->type == TD_COMPLEX_BINARY64};
    td_problem *p = &c.p;
    c.alpha = numbers_random_scalar(r, td_problem_type_of_alpha(p) == TD_COMPLEX_BINARY64);
    c.beta = numbers_random_scalar(r, td_problem_type_of_beta(p) == TD_COMPLEX_BINARY64);
    if (c.is_complex && c.alpha == 0.0) c.alpha = 0.5; /* the policy leaves these to cuBLAS */
    if (p->kind == TD_TRIANGULAR_PRODUCT) c.beta = 0.0;
    c.is_in_place = p->kind == TD_TRIANGULAR_PRODUCT && random_int(r, 0, 1);
    c.has_device_scalars = random_int(r, 0, 1);
    c.is_special = random_int(r, 0, 3) == 0 && c.alpha != 0.0;
    const int64_t order = p->side == TD_LEFT ? p->m : p->n, pad = random_int(r, 0, 40),
                  rows = routine_has_side(p)  ? p->m
                         : p->op_a == TD_OP_N ? p->n
                                              : p->k,
                  columns = routine_has_side(p) ? p->n : p->n + p->k - rows;
    if (!routine_has_side(p)) p->m = 0;
    c.a = routine_has_side(p) ? matrix_of(order, order, pad) : matrix_of(rows, columns, pad);
    c.b = matrix_of(rows, columns, c.is_in_place ? 2 : random_int(r, 0, 3));
    c.c = matrix_of(routine_has_side(p) ? p->m : p->n, p->n, c.is_in_place ? 2 : pad);
    fill(&c, &c.a, r);
    fill(&c, &c.b, r);
    fill(&c, &c.c, r);
    if (c.is_special) plant(&c, r);
    write_factors_out(&c);
    poison_a(&c);
    poison_diagonal(&c);
    return c;
}

routine_case routine_make(uint64_t seed)
{
    test_random r = random_start(seed);
    const td_problem p = random_routine(&r, random_int(&r, 0, 1));
    return make(&p, seed, &r);
}

routine_case routine_make_of(const td_problem *p, uint64_t seed)
{
    test_random r = random_start(seed);
    return make(p, seed, &r);
}

void routine_free(routine_case *c)
{
    matrix *const all[] = {&c->a, &c->b, &c->c, &c->left, &c->right};
    for (int i = 0; i < 5; i++) free(all[i]->at);
}

/* ---- device memory ---- */

/* Real matrices are so in device memory. */
static void *upload(const routine_case *c, const matrix *x)
{
    return numbers_upload(x->at, matrix_count(x), c->is_complex);
}

matrix routine_download(const routine_case *c, const matrix *like, const void *device)
{
    matrix x = matrix_of(like->rows, like->columns, like->ld - like->rows);
    numbers_download(x.at, matrix_count(&x), c->is_complex, device);
    return x;
}

/* Behind a real number there is poison. */
td_scalar routine_scalar(number x, td_type type)
{
    return (td_scalar){.value.complex_binary64 = {creal(x), type == TD_BINARY64 ? NAN : cimag(x)}};
}

td_scalar routine_on_device(td_scalar s, void **memory)
{
    *memory = device_copy(&s.value, sizeof s.value);
    CHECK_CUDA(cudaStreamSynchronize(NULL));
    return (td_scalar){.device = *memory};
}

td_problem routine_call(const routine_case *c, td_problem p, const matrix *a, const matrix *b,
                        const matrix *of_c, void *memory[ROUTINE_MEMORIES])
{
    const bool is_in_place = c->is_in_place && b == &c->b;
    memory[0] = upload(c, a);
    memory[1] = upload(c, b);
    memory[2] = upload(c, is_in_place ? b : of_c);
    memory[3] = memory[4] = NULL;
    p.a = (td_matrix){.data = memory[0], .ld = a->ld};
    p.b = (td_matrix){.data = memory[1], .ld = b->ld};
    p.c = (td_matrix){.data = memory[2], .ld = of_c->ld};
    if (is_in_place) p.b = p.c;
    if (!c->has_device_scalars) return p;
    p.alpha = routine_on_device(p.alpha, &memory[3]);
    if (p.kind != TD_TRIANGULAR_PRODUCT) p.beta = routine_on_device(p.beta, &memory[4]);
    return p;
}

td_problem routine_problem(const routine_case *c)
{
    td_problem p = c->p;
    p.alpha = routine_scalar(c->alpha, td_problem_type_of_alpha(&p));
    p.beta = routine_scalar(c->beta, td_problem_type_of_beta(&p));
    return p;
}

td_problem routine_own_call(const routine_case *c, void *memory[ROUTINE_MEMORIES])
{
    return routine_call(c, routine_problem(c), &c->a, &c->b, &c->c, memory);
}
