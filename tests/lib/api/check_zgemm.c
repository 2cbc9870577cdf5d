/* check_zgemm.c - every mode through tandem_zgemm. With real scalars each part of C has the bits of
 * the mode's definition for the real product that the complex one is; complex scalars are held
 * against the same sums in long double. Mode ozaki2 has residues of its own for complex products
 * (check_paired.c has their bits): it is held against exact sums. */
#include "tests/support/test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "include/tandem.h"
#include "tests/support/random.h"
#include "tests/kernels/support/device.h"
#include "tests/kernels/support/modes.h"

typedef tandem_complex number;

static const mode *tested;

typedef struct {
    tandem_op op_a, op_b;
    int64_t m, n, k, lda, ldb, ldc;
    number alpha, beta;
    uint64_t seed;
    number *a, *b, *c; /* on the host, as stored */
} product;

static bool is_zero(number x) { return x.re == 0.0 && x.im == 0.0; }

static bool has_product(const product *p) { return p->k > 0 && !is_zero(p->alpha); }

static const char *text_of(const product *p)
{
    static char text[200];
    snprintf(text, sizeof text,
             "%s %c%c m %d n %d k %d lda %d ldb %d ldc %d alpha %g%+gi beta %g%+gi", tested->name,
             "NTC"[p->op_a], "NTC"[p->op_b], (int)p -> m, (int)p -> n, (int)p -> k, (int)p -> lda,
             (int)p -> ldb, (int)p -> ldc, p -> alpha.re, p->alpha.im, p->beta.re, p->beta.im);
    return text;
}

/* ---- data ---- */

static double value(test_random *r)
{
    return ldexp(2.0 * random_uniform(r) - 1.0, random_int(r, -9, 9));
}

/* What is not to be read is NaN. */
static number *make_matrix(test_random *r, int64_t rows, int64_t columns, int64_t ld, bool is_read)
{
    number *x = test_memory((size_t)(ld * columns + 1) * sizeof *x);
    for (int64_t e = 0; e < ld * columns; e++)
        x[e] = is_read && e % ld < rows ? (number){value(r), value(r)} : (number){NAN, NAN};
    return x;
}

static product make(int64_t m, int64_t n, int64_t k, int which, number alpha, number beta)
{
    product p = {.op_a = (tandem_op)(which % 3),
                 .op_b = (tandem_op)(which / 3 % 3),
                 .m = m,
                 .n = n,
                 .k = k,
                 .alpha = alpha,
                 .beta = beta,
                 .seed = (uint64_t)which};
    test_random r = random_start(p.seed + 77);
    const bool a_n = p.op_a == TANDEM_OP_N, b_n = p.op_b == TANDEM_OP_N;
    p.lda = (a_n ? m : k) + 1 + which % 3;
    p.ldb = (b_n ? k : n) + 1 + which % 2;
    p.ldc = m + 1 + which % 4;
    p.a = make_matrix(&r, a_n ? m : k, a_n ? k : m, p.lda, has_product(&p));
    p.b = make_matrix(&r, b_n ? k : n, b_n ? n : k, p.ldb, has_product(&p));
    p.c = make_matrix(&r, m, n, p.ldc, !is_zero(beta));
    return p;
}

static void drop(product *p) { test_drop(p->a, p->b, p->c); }

static number element(const number *x, tandem_op op, int64_t ld, int64_t row, int64_t column)
{
    number e = op == TANDEM_OP_N ? x[row + column * ld] : x[column + row * ld];
    if (op == TANDEM_OP_C) e.im = -e.im;
    return e;
}

/* ---- the call ---- */

static number *upload(const number *x, int64_t count)
{
    number *there = NULL;
    CHECK_CUDA(cudaMalloc((void **)&there, (size_t)(count + 1) * sizeof *x));
    CHECK_CUDA(cudaMemcpy(there, x, (size_t)count * sizeof *x, cudaMemcpyHostToDevice));
    return there;
}

/* C after the call, which the caller frees. */
static number *compute(const product *p)
{
    const int64_t columns_a = p->op_a == TANDEM_OP_N ? p->k : p->m,
                  columns_b = p->op_b == TANDEM_OP_N ? p->n : p->k, count = p->ldc * p->n;
    number *a = upload(p->a, p->lda * columns_a), *b = upload(p->b, p->ldb * columns_b),
           *c = upload(p->c, count), *result = test_memory((size_t)(count + 1) * sizeof *result);
    const tandem_status status =
        tandem_zgemm(tested->name, p->op_a, p->op_b, p->m, p->n, p->k, p->alpha, a, p->lda, b,
                     p->ldb, p->beta, c, p->ldc, NULL);
    CHECK(status == TANDEM_OK, "%s: %s", text_of(p), tandem_last_message());
    CHECK_CUDA(cudaDeviceSynchronize());
    CHECK_CUDA(cudaMemcpy(result, c, (size_t)count * sizeof *c, cudaMemcpyDeviceToHost));
    device_free(a, b, c);
    return result;
}

/* ---- the definition ---- */

/* The real product that p is, with these real scalars: A is 2m x 2k, B 2k x n, both as they are. */
static void define(const product *p, double alpha, double beta, number *c)
{
    const int64_t m = 2 * p->m, k = 2 * p->k;
    double *a = test_memory((size_t)(m * k + 1) * sizeof *a),
           *b = test_memory((size_t)(k * p->n + 1) * sizeof *b);
    for (int64_t l = 0; l < p->k; l++)
        for (int64_t i = 0; i < p->m; i++) {
            const number e = element(p->a, p->op_a, p->lda, i, l);
            double *block = &a[2 * i + 2 * l * m];
            block[0] = e.re, block[1] = e.im;
            block[m] = -e.im, block[m + 1] = e.re;
        }
    for (int64_t j = 0; j < p->n; j++)
        for (int64_t l = 0; l < p->k; l++) {
            const number e = element(p->b, p->op_b, p->ldb, l, j);
            b[2 * l + j * k] = e.re, b[2 * l + 1 + j * k] = e.im;
        }
    const ref_gemm gemm = {TANDEM_OP_N,   TANDEM_OP_N,   m,         p->n, k,
                           alpha,         beta,          a,         b,    &c->re,
                           m > 1 ? m : 1, k > 1 ? k : 1, 2 * p->ldc};
    ref_account account = mode_product(tested, &gemm);
    ref_account_free(&account);
    test_drop(a, b);
}

static number *copy_of_c(const product *p)
{
    const size_t bytes = (size_t)(p->ldc * p->n) * sizeof(number);
    number *c = test_memory(bytes + 1);
    memcpy(c, p->c, bytes);
    return c;
}

/* ---- tests ---- */

static bool has_own_residues(void) { return strncmp(tested->name, "ozaki2", 6) == 0; }

/* With a number of residues nothing is promised of its errors. */
static bool promises_nothing(void) { return has_own_residues() && tested->name[6]; }

/* Element (i, j) of op(A) op(B) in long double, rounded; and the most that the mode may be off. */
static number exact_sum(const product *p, int64_t i, int64_t j, double most[2])
{
    long double part[2] = {0.0L, 0.0L}, size[2] = {0.0L, 0.0L};
    for (int64_t l = 0; l < p->k; l++) {
        const number x = element(p->a, p->op_a, p->lda, i, l),
                     y = element(p->b, p->op_b, p->ldb, l, j);
        const long double terms[] = {(long double)x.re * y.re, -(long double)x.im * y.im,
                                     (long double)x.re * y.im, (long double)x.im * y.re};
        for (int t = 0; t < 4; t++) {
            part[t / 2] += terms[t];
            size[t / 2] += fabsl(terms[t]);
        }
    }
    for (int t = 0; t < 2; t++)
        most[t] = (double)((4.0L * sqrtl(2.0L * p->k) + 1.0L) * 0x1p-53L * size[t]);
    return (number){(double)part[0], (double)part[1]};
}

static void check_bits(const product *p)
{
    number *got = compute(p), *want = copy_of_c(p);
    define(p, p->alpha.re, p->beta.re, want);
    for (int64_t e = 0; e < p->ldc * p->n; e++)
        CHECK(memcmp(&got[e], &want[e], sizeof *got) == 0, "%s: (%d, %d) is %a%+ai, not %a%+ai",
              text_of(p), (int)(e % p->ldc), (int)(e / p->ldc), got[e].re, got[e].im, want[e].re,
              want[e].im);
    test_drop(got, want);
}

/* alpha t + beta c of a part, where t may be off by so much, and the largest it may be off itself:
 * four roundings more. */
static void check_part(const product *p, const number *t, const double most[2], const number *c,
                       int part, double got)
{
    const long double a = p->alpha.re, ai = part ? p->alpha.im : -p->alpha.im, b = p->beta.re,
                      bi = part ? p->beta.im : -p->beta.im;
    const double *const x = part ? &t->im : &t->re, *const y = part ? &t->re : &t->im;
    long double want = a * *x + ai * *y, size = fabsl(a * *x) + fabsl(ai * *y);
    if (!is_zero(p->beta)) {
        const double old = part ? c->im : c->re, other = part ? c->re : c->im;
        want += b * old + bi * other;
        size += fabsl(b * old) + fabsl(bi * other);
    }
    const double of_t = (double)(fabsl(a) * most[part] + fabsl(ai) * most[!part]);
    CHECK_AT_MOST((double)fabsl(want - got), (double)size * 0x1p-51 + of_t, "%s", text_of(p));
}

static void check_scalars(const product *p)
{
    number *got = compute(p), *sums = copy_of_c(p);
    if (has_product(p) && !has_own_residues()) define(p, 1.0, 0.0, sums);
    for (int64_t e = 0; e < p->ldc * p->n; e++) {
        double most[2] = {0.0, 0.0};
        number t = {0.0, 0.0};
        if (e % p->ldc < p->m && has_product(p))
            t = has_own_residues() ? exact_sum(p, e % p->ldc, e / p->ldc, most) : sums[e];
        if (e % p->ldc >= p->m) {
            CHECK(memcmp(&got[e], &p->c[e], sizeof *got) == 0, "%s: padding is written",
                  text_of(p));
            continue;
        }
        check_part(p, &t, most, &p->c[e], 0, got[e].re);
        check_part(p, &t, most, &p->c[e], 1, got[e].im);
    }
    test_drop(got, sums);
}

static bool is_left_out(int i) { return test_is_brief() && i % 4 != 0; }

TEST(all_shapes)
{
    static const int sizes[][3] = {{1, 1, 1},     {2, 3, 70},  {33, 65, 17},
                                   {64, 16, 128}, {5, 1, 300}, {1, 70, 33},
                                   {40, 40, 40},  {17, 9, 1},  {3, 4, 511}};
    for (int i = 0; i < 9; i++) {
        if (is_left_out(i) || (tested->is_variant && i % 3)) continue;
        product p = make(sizes[i][0], sizes[i][1], sizes[i][2], i,
                         (number){i % 2 ? -1.5 : 1.0, 0.0}, (number){i % 3 ? 0.75 : 0.0, 0.0});
        if (!has_own_residues())
            check_bits(&p);
        else if (!promises_nothing())
            check_scalars(&p);
        drop(&p);
    }
}

TEST(complex_scalars)
{
    static const number scalars[][2] = {
        {{0, 1}, {0, 0}},  {{1.5, -2}, {0.5, 3}}, {{1, 0}, {0, -1}},  {{0, 0}, {0.5, 3}},
        {{0, 0}, {-2, 0}}, {{0, 0}, {0, 0}},      {{0.25, 4}, {1, 0}}};
    for (int i = 0; i < 7; i++) {
        if (is_left_out(i) || promises_nothing()) continue;
        product p = make(19, 23, i == 6 ? 0 : 31, i, scalars[i][0], scalars[i][1]);
        check_scalars(&p);
        drop(&p);
    }
}

static void refuse_as(tandem_status status, const char *name, tandem_op op_a, int64_t m,
                      int64_t lda, const char *message)
{
    number *x = upload((number[64]){{0}}, 64);
    const number one = {1.0, 0.0};
    CHECK(tandem_zgemm(name, op_a, TANDEM_OP_N, m, 2, 2, one, x, lda, x + 16, 2, one, x + 32, 4,
                       NULL) == status,
          "%s is not refused", message);
    CHECK(strcmp(tandem_last_message(), message) == 0, "the message is '%s', not '%s'",
          tandem_last_message(), message);
    device_free(x);
}

static void refuse(const char *name, tandem_op op_a, int64_t m, int64_t lda, const char *message)
{
    refuse_as(TANDEM_INVALID_VALUE, name, op_a, m, lda, message);
}

TEST(bad_arguments)
{
    refuse(tested->name, (tandem_op)3, 2, 2,
           "op_a is 3; allowed: TANDEM_OP_N, TANDEM_OP_T, TANDEM_OP_C");
    refuse(tested->name, TANDEM_OP_N, -1, 2, "m is -1; it must be at least 0");
    refuse(tested->name, TANDEM_OP_N, 4, 3, "lda is 3; it must be at least max(1, rows of a) = 4");
    refuse("native", TANDEM_OP_N, 2, 2,
           "mode is 'native'; allowed: the emulated modes that `tandem modes` lists");
    refuse_as(TANDEM_UNSUPPORTED, tested->name, TANDEM_OP_N, 2, INT64_C(1) << 56,
              "a has 2 columns of lda 72057594037927936: no memory is so large");
    refuse_as(TANDEM_UNSUPPORTED, tested->name, TANDEM_OP_N, 0, INT64_MAX,
              "a has 2 columns of lda 9223372036854775807: no memory is so large");
}

TEST(a_real_product_has_no_conjugate)
{
    double *x = NULL;
    CHECK_CUDA(cudaMalloc((void **)&x, 3 * sizeof *x));
    CHECK(tandem_dgemm(tested->name, TANDEM_OP_N, TANDEM_OP_C, 1, 1, 1, 1.0, x, 1, x + 1, 1, 0.0,
                       x + 2, 1, NULL) == TANDEM_INVALID_VALUE,
          "it is not refused");
    CHECK(strcmp(tandem_last_message(), "op_b is 2; allowed: TANDEM_OP_N, TANDEM_OP_T") == 0,
          "the message is '%s'", tandem_last_message());
    device_free(x);
}

int main(void) { return mode_run_tests(&tested, (test_group){0}); }
