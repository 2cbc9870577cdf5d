/* check_unfold.c - products whose factors are no plain lines of real numbers: complex matrices,
 * matrices stored in one triangle, factors joined of two, C as its own factor, complex scalars; by
 * every engine, against sums in extended precision. What a form does not read is poisoned. */
#include "tests/support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/engines/proven.h"
#include "lib/cuda/device.h"
#include "tests/support/complex_of.h"
#include "tests/kernels/support/checked.h"
#include "tests/kernels/support/device.h"
#include "tests/kernels/support/numbers.h"

typedef long double _Complex exact_number;

static const td_engine *engine;
static td_parameter parameter;

/* A matrix of a case on the host: stored columns of ld elements, for each member. */
typedef struct {
    int64_t rows, columns, ld, members;
    bool is_complex;
    td_form form;
    number *at; /* [member][column][ld]; a real matrix has imaginary parts of 0 */
} stored;

typedef struct {
    uint64_t seed;
    bool is_complex, has_rest, adds_mirror, is_in_place, on_device, has_array, shares_a;
    td_op op_a, op_b;
    td_region_kind region;
    int64_t m, n, k, batch; /* k: of each of the factors that are joined */
    number alpha, beta;
    stored a[2], b[2], c;
} folded_case;

static const char *case_text(const folded_case *c)
{
    static char text[240];
    snprintf(
        text, sizeof text,
        "%s, seed %d: %s m %d n %d k %d batch %d op %c%c%s%s forms %d %d region %d alpha %g%+gi "
        "beta %g%+gi%s%s%s%s%s",
        engine->name, (int)c->seed, c->is_complex ? "Z" : "D", (int)c->m, (int)c->n, (int)c->k,
        (int)c->batch, "NTC"[c->op_a], "NTC"[c->op_b],
        c -> a[0].form.is_conjugate ? " conj(A)" : "", c->b[0].form.is_conjugate ? " conj(B)" : "",
        c->a[0].form.storage, c->b[0].form.storage, c->region, creal(c->alpha), cimag(c->alpha),
        creal(c->beta), cimag(c->beta), c->has_rest ? " joined" : "",
        c->adds_mirror ? " mirror" : "", c->is_in_place ? " in place" : "",
        c->on_device ? " device scalars" : "", c->has_array ? " array" : "");
    return text;
}

/* ---- data ---- */

static bool is_other_triangle(const td_form *f, int64_t i, int64_t j)
{
    return f->storage != TD_STORED_FULL && (f->triangle == TD_LOWER ? i < j : i > j);
}

static bool is_read(const stored *x, int64_t i, int64_t j)
{
    if (i >= x->rows || is_other_triangle(&x->form, i, j)) return false;
    return i != j || x->form.storage != TD_STORED_TRIANGULAR || !x->form.is_unit;
}

static double signed_uniform(test_random *r) { return 2.0 * random_uniform(r) - 1.0; }

static number *element(const stored *x, int64_t member, int64_t i, int64_t j)
{
    return &x->at[(member * x->columns + j) * x->ld + i];
}

static size_t count_of(const stored *x) { return (size_t)(x->members * x->columns * x->ld); }

/* A Hermitian diagonal's imaginary parts are poison, too. */
static void fill(stored *x, test_random *r)
{
    x->at = calloc(count_of(x), sizeof *x->at);
    for (int64_t z = 0; z < x->members; z++)
        for (int64_t j = 0; j < x->columns; j++)
            for (int64_t i = 0; i < x->ld; i++) {
                const double re = signed_uniform(r), im = x->is_complex ? signed_uniform(r) : 0.0;
                const bool is_half = i == j && x->form.is_hermitian;
                *element(x, z, i, j) = !is_read(x, i, j)
                                           ? complex_of(NAN, x->is_complex ? NAN : 0.0)
                                           : complex_of(re, is_half ? NAN : im);
            }
}

static stored matrix(const folded_case *c, test_random *r, int64_t rows, int64_t columns,
                     td_form form, int64_t members)
{
    stored x = {rows, columns, rows + random_int(r, 0, 3), members, c->is_complex, form, NULL};
    fill(&x, r);
    return x;
}

/* ---- the reference ---- */

static exact_number value_of(const stored *x, int64_t member, int64_t i, int64_t j)
{
    const td_form *f = &x->form;
    const bool is_other = is_other_triangle(f, i, j);
    if (f->storage == TD_STORED_TRIANGULAR && is_other) return 0.0L;
    if (f->storage == TD_STORED_TRIANGULAR && f->is_unit && i == j) return 1.0L;
    const number t = is_other ? *element(x, member, j, i) : *element(x, member, i, j);
    if (f->storage != TD_STORED_MIRRORED || !f->is_hermitian) return t;
    return i == j ? long_complex_of(creal(t), 0.0L) : is_other ? conjl(t) : (exact_number)t;
}

static exact_number op_value(const stored *x, td_op op, int64_t member, int64_t i, int64_t j)
{
    const int64_t own = x->members == 1 ? 0 : member;
    const exact_number t = op == TD_OP_N ? value_of(x, own, i, j) : value_of(x, own, j, i);
    return (op == TD_OP_C) != x->form.is_conjugate ? conjl(t) : t;
}

/* The sum of the products, and in *magnitude the sum of what the real products' magnitudes are. */
static exact_number sum_of(const folded_case *c, int64_t z, int64_t i, int64_t j,
                           long double *magnitude)
{
    exact_number sum = 0.0L;
    for (int part = 0; part < (c->has_rest ? 2 : 1); part++)
        for (int64_t l = 0; l < c->k; l++) {
            const exact_number x = op_value(&c->a[part], c->op_a, z, i, l),
                               y = op_value(&c->b[part], c->op_b, z, l, j);
            sum += x * y;
            *magnitude +=
                (fabsl(creall(x)) + fabsl(cimagl(x))) * (fabsl(creall(y)) + fabsl(cimagl(y)));
        }
    return sum;
}

static bool is_in_region(const folded_case *c, int64_t i, int64_t j)
{
    return c->region == TD_REGION_ALL || (c->region == TD_REGION_LOWER ? i >= j : i <= j);
}

static long double size_of(exact_number x) { return fabsl(creall(x)) + fabsl(cimagl(x)); }

/* What C must be, and the most that it may be off. */
static exact_number expected(const folded_case *c, int64_t z, int64_t i, int64_t j, double *bound)
{
    const td_sample_bound proven = td_proven(engine, parameter, 2 * c->k * (c->has_rest ? 2 : 1));
    const exact_number before = *element(&c->c, z, i, j), alpha = c->alpha, beta = c->beta;
    long double magnitude = 0.0L, all;
    exact_number sum = beta == 0.0L ? 0.0L : beta * before;
    sum += alpha * sum_of(c, z, i, j, &magnitude);
    all = size_of(alpha) * magnitude + (beta == 0.0L ? 0.0L : size_of(beta) * size_of(before));
    if (c->adds_mirror) {
        magnitude = 0.0L;
        sum += conjl(alpha) * conjl(sum_of(c, z, j, i, &magnitude));
        all += size_of(alpha) * magnitude;
    }
    *bound = (double)(all * ((long double)proven.relative + 6.0L * 0x1p-53L));
    return sum;
}

/* ---- running ---- */

static void *upload(const stored *x) { return numbers_upload(x->at, count_of(x), x->is_complex); }

static stored download(const stored *like, const void *device)
{
    stored x = *like;
    x.at = calloc(count_of(&x), sizeof *x.at);
    numbers_download(x.at, count_of(&x), x.is_complex, device);
    return x;
}

static td_scalar scalar_of(const folded_case *c, number x, void **device)
{
    td_scalar s = {.value.complex_binary64 = {creal(x), cimag(x)}};
    if (!c->is_complex) s.value.binary64 = creal(x);
    if (!c->on_device) return s;
    *device = device_copy(&s.value, sizeof x);
    return (td_scalar){.device = *device};
}

static td_matrix described(const stored *x, void *device, bool has_array, void **array)
{
    const int64_t stride = x->members == 1 ? 0 : x->ld * x->columns,
                  bytes = x->is_complex ? (int64_t)sizeof(number) : (int64_t)sizeof(double);
    void *members[8];
    if (!has_array) return (td_matrix){.data = device, .ld = x->ld, .stride = stride};
    for (int i = 0; i < 8; i++) members[i] = (char *)device + i * stride * bytes;
    *array = device_copy(members, sizeof members);
    return (td_matrix){.array = *array, .ld = x->ld};
}

enum { MEMORIES = 16 };

/* C by the engine, in so much workspace. */
static stored compute(const folded_case *c, size_t limit)
{
    void *memory[MEMORIES] = {NULL};
    const stored *own[] = {&c->a[0], &c->b[0], &c->c, &c->a[1], &c->b[1]};
    td_matrix x[5] = {{0}};
    for (int i = 0; i < (c->has_rest ? 5 : 3); i++) {
        if (i == 1 && c->is_in_place) continue;
        memory[i] = upload(own[i]);
        x[i] = described(own[i], memory[i], c->has_array, &memory[5 + i]);
    }
    if (c->is_in_place) x[1] = x[2];
    const td_product p = {.type = c->is_complex ? TD_COMPLEX_BINARY64 : TD_BINARY64,
                          .op_a = c->op_a,
                          .op_b = c->op_b,
                          .region = c->region,
                          .form_a = c->a[0].form,
                          .form_b = c->b[0].form,
                          .rest_a = x[3],
                          .rest_b = x[4],
                          .adds_mirror = c->adds_mirror,
                          .has_real_diagonal = c->adds_mirror,
                          .m = c->m,
                          .n = c->n,
                          .k = c->k * (c->has_rest ? 2 : 1),
                          .alpha = scalar_of(c, c->alpha, &memory[10]),
                          .beta = scalar_of(c, c->beta, &memory[11]),
                          .a = x[0],
                          .b = x[1],
                          .c = x[2],
                          .batch = c->batch};
    const td_run_status status =
        td_engine_run(engine, &p, parameter, td_device_current(), limit, NULL);
    CHECK(status == TD_RUN_DONE, "status %d: %s", (int)status, case_text(c));
    CHECK_CUDA(cudaDeviceSynchronize());
    const stored result = download(&c->c, memory[2]);
    for (int i = 0; i < MEMORIES; i++) CHECK_CUDA(cudaFree(memory[i]));
    return result;
}

static bool is_same(const stored *x, const stored *y)
{
    return memcmp(x->at, y->at, count_of(x) * sizeof *x->at) == 0;
}

static void check_element(const folded_case *c, const stored *got, int64_t z, int64_t i, int64_t j)
{
    const number x = *element(got, z, i, j), old = *element(&c->c, z, i, j);
    double bound;
    if (i >= c->m || !is_in_region(c, i, j)) {
        CHECK(memcmp(&x, &old, sizeof x) == 0, "touched (%d, %d): %s", (int)i, (int)j,
              case_text(c));
        return;
    }
    exact_number want = expected(c, z, i, j, &bound);
    const bool is_real = c->adds_mirror && i == j;
    if (is_real) CHECK(cimag(x) == 0.0, "C(%d, %d) is not real: %s", (int)i, (int)j, case_text(c));
    const double off = (double)fmaxl(fabsl(creall(want) - creal(x)),
                                     is_real ? 0.0L : fabsl(cimagl(want) - cimag(x)));
    CHECK_AT_MOST(off, bound + 0x1p-53 * (double)size_of(want), "(%d, %d) of member %d: %s", (int)i,
                  (int)j, (int)z, case_text(c));
}

static void free_case(folded_case *c)
{
    stored *own[] = {&c->a[0], &c->b[0], &c->c, &c->a[1], &c->b[1]};
    for (int i = 0; i < 5; i++)
        if (i != 1 || !c->is_in_place) free(own[i]->at);
}

/* Within the bound, and the same bits in little workspace and with scalars elsewhere. */
static void check(folded_case *c)
{
    enum { LITTLE = 1 << 19 };
    const size_t most = td_device_current()->workspace_bytes;
    stored got = compute(c, most), again;
    for (int64_t z = 0; z < c->batch; z++)
        for (int64_t j = 0; j < c->n; j++)
            for (int64_t i = 0; i < c->c.ld; i++) check_element(c, &got, z, i, j);
    c->on_device = !c->on_device;
    again = compute(c, c->m * c->n * c->k < 9000 ? (size_t)LITTLE * 8 : most);
    CHECK(is_same(&got, &again), "other bits with scalars elsewhere: %s", case_text(c));
    test_drop(got.at, again.at);
    free_case(c);
}

/* ---- cases ---- */

static td_form random_form(test_random *r, bool is_complex)
{
    td_form f = {.storage = (td_storage)random_int(r, 1, 2),
                 .triangle = (td_triangle)random_int(r, 0, 1),
                 .is_unit = random_int(r, 0, 1),
                 .is_hermitian = is_complex && random_int(r, 0, 1)};
    if (f.storage == TD_STORED_TRIANGULAR) f.is_hermitian = false;
    if (f.storage == TD_STORED_MIRRORED) f.is_unit = false;
    return f;
}

static int64_t random_size(test_random *r)
{
    static const int most[] = {3, 20, 40, 90};
    return random_int(r, 1, most[random_int(r, 0, 3)]);
}

/* Makes the matrices of a case whose form is known. */
static void fill_case(folded_case *c, test_random *r, td_form form_a, td_form form_b)
{
    for (int i = 0; i < (c->has_rest ? 2 : 1); i++) {
        const bool turns_a = c->op_a != TD_OP_N, turns_b = c->op_b != TD_OP_N;
        const int64_t shared = c->batch > 1 && random_int(r, 0, 1) && !c->has_array ? 1 : c->batch;
        c->a[i] = matrix(c, r, turns_a ? c->k : c->m, turns_a ? c->m : c->k, form_a, shared);
        if (!c->is_in_place)
            c->b[i] = matrix(c, r, turns_b ? c->n : c->k, turns_b ? c->k : c->n, form_b, c->batch);
    }
    c->c = matrix(c, r, c->m, c->n, (td_form){0}, c->batch);
    if (c->is_in_place) c->b[0] = c->c;
}

/* What may be joined, stored in a triangle, mirrored into C, or in place. */
static folded_case make_case(uint64_t seed)
{
    test_random random = random_start(seed), *r = &random;
    folded_case c = {.seed = seed, .is_complex = random_int(r, 0, 3) != 0};
    const int which = random_int(r, 0, 5);
    td_form form_a = {0}, form_b = {0};
    c.op_a = (td_op)random_int(r, 0, 2);
    c.op_b = (td_op)random_int(r, 0, 2);
    c.m = random_size(r);
    c.n = random_size(r);
    c.k = random_size(r);
    c.alpha = numbers_random_scalar(r, c.is_complex);
    c.beta = numbers_random_scalar(r, c.is_complex);
    c.batch = random_int(r, 0, 3) ? 1 : random_int(r, 2, 3);
    c.has_array = random_int(r, 0, 3) == 0;
    if (which == 0) form_a = random_form(r, c.is_complex), c.k = c.m;
    if (which == 1) form_b = random_form(r, c.is_complex), c.k = c.n;
    if (which == 2) c.has_rest = true;
    if (which == 3) {
        c.n = c.m;
        c.region = (td_region_kind)random_int(r, 1, 2);
        c.adds_mirror = c.is_complex;
        if (c.adds_mirror) c.beta = creal(c.beta), c.op_b = TD_OP_C, c.op_a = TD_OP_N;
    }
    if (c.is_complex && which != 3) {
        form_a.is_conjugate = random_int(r, 0, 1);
        form_b.is_conjugate = random_int(r, 0, 1);
    }
    if (form_b.storage == TD_STORED_TRIANGULAR) c.beta = 0.0;
    if (which == 0 && form_a.storage == TD_STORED_TRIANGULAR) {
        c.is_in_place = true;
        c.op_b = TD_OP_N;
        c.beta = 0.0;
    }
    fill_case(&c, r, form_a, form_b);
    return c;
}

static int cases = 60;
static uint64_t first_seed;

TEST(random_products)
{
    for (int i = 0; i < test_cases(cases); i++) {
        folded_case c = make_case(first_seed + (uint64_t)i);
        if ((c.alpha == 0.0 || c.k == 0) && c.is_complex) c.alpha = complex_of(0.5, 1.0);
        check(&c);
    }
}

/* ---- NaN and infinities ---- */

/* False for the zeros beside a triangle, which take no part in the product. */
static bool takes_part(const stored *x, td_op op, int64_t i, int64_t j)
{
    return x->form.storage != TD_STORED_TRIANGULAR ||
           !(op == TD_OP_N ? is_other_triangle(&x->form, i, j) : is_other_triangle(&x->form, j, i));
}

/* x y + z by four real products. */
static exact_number by_parts(exact_number x, exact_number y, exact_number z)
{
    return long_complex_of(creall(x) * creall(y) - cimagl(x) * cimagl(y) + creall(z),
                           creall(x) * cimagl(y) + cimagl(x) * creall(y) + cimagl(z));
}

/* As a scalar without an imaginary part does. */
static exact_number scaled(const folded_case *c, number by, exact_number x, exact_number z)
{
    if (cimag(c->alpha) != 0.0 || cimag(c->beta) != 0.0) return by_parts(by, x, z);
    return long_complex_of(creal(by) * creall(x) + creall(z), creal(by) * cimagl(x) + cimagl(z));
}

static exact_number special_result(const folded_case *c, int64_t z, int64_t i, int64_t j)
{
    exact_number sum = 0.0L, result = 0.0L;
    for (int part = 0; part < (c->has_rest ? 2 : 1); part++)
        for (int64_t l = 0; l < c->k; l++)
            if (takes_part(&c->a[part], c->op_a, i, l) && takes_part(&c->b[part], c->op_b, l, j))
                sum = by_parts(op_value(&c->a[part], c->op_a, z, i, l),
                               op_value(&c->b[part], c->op_b, z, l, j), sum);
    if (c->beta != 0.0) result = scaled(c, c->beta, *element(&c->c, z, i, j), result);
    return scaled(c, c->alpha, sum, result);
}

/* NaN, +1 or -1 for infinities, 0 for numbers. */
static int kind_of(long double x) { return isnan(x) ? 2 : isinf(x) ? (x > 0.0L ? 1 : -1) : 0; }

static void check_kinds(const folded_case *c, const stored *got)
{
    for (int64_t z = 0; z < c->batch; z++)
        for (int64_t j = 0; j < c->n; j++)
            for (int64_t i = 0; i < c->m; i++) {
                const number x = *element(got, z, i, j);
                const exact_number want = special_result(c, z, i, j);
                if (!is_in_region(c, i, j)) continue;
                CHECK(kind_of(creal(x)) == kind_of(creall(want)) &&
                          (!c->is_complex || kind_of(cimag(x)) == kind_of(cimagl(want))),
                      "(%d, %d) of member %d is %g%+gi for %g%+gi: %s", (int)i, (int)j, (int)z,
                      creal(x), cimag(x), (double)creall(want), (double)cimagl(want), case_text(c));
            }
}

/* Puts a special number where the matrix is read. */
static void plant(stored *x, test_random *r)
{
    static const double values[] = {NAN, INFINITY, -INFINITY};
    const int64_t i = random_int(r, 0, (int)x->rows - 1), j = random_int(r, 0, (int)x->columns - 1);
    number *const at = element(x, random_int(r, 0, (int)x->members - 1), i, j);
    const double value = values[random_int(r, 0, 2)];
    const bool is_real = !x->is_complex || random_int(r, 0, 1) || (i == j && x->form.is_hermitian);
    if (is_read(x, i, j))
        *at = is_real ? complex_of(value, cimag(*at)) : complex_of(creal(*at), value);
}

TEST(special_numbers)
{
    for (int i = 0; i < test_cases(cases); i++) {
        const uint64_t seed = first_seed + 5000 + (uint64_t)i;
        test_random r = random_start(seed);
        folded_case c = make_case(seed);
        if (c.alpha == 0.0 || c.adds_mirror) {
            free_case(&c);
            continue;
        }
        plant(&c.a[0], &r);
        plant(c.is_in_place ? &c.c : &c.b[0], &r);
        if (i % 3 == 0) plant(&c.c, &r);
        stored got = compute(&c, td_device_current()->workspace_bytes);
        check_kinds(&c, &got);
        free(got.at);
        free_case(&c);
    }
}

int main(int argc, char **argv)
{
    static const char *const modes[] = {"fp64",   "df",     "ts",          "dd",      "d+s",
                                        "ozaki1", "ozaki2", "ozaki-sgemm", "faithful"};
    int failed = 0;
    test_take_cases(argc, argv, &cases, &first_seed);
    device_require();
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        engine = td_engine_parse(modes[i], &parameter);
        failed += test_run(.name = modes[i]);
    }
    return failed;
}
