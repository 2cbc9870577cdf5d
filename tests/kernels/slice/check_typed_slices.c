/* check_typed_slices.c - tandem_tsgemm_sliced: bit for bit its definition, and as near to the exact
 * product as include/tandem.h says. */
#include "tests/support/test.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "lib/cuda/device.h"
#include "lib/engines/ozaki/typed.h"
#include "tests/kernels/support/device.h"
#include "tests/kernels/support/typed_problem.h"

/* Of the calls that are made next; 0: the default. */
static int slices;

static tandem_status sliced(const ref_typed *p) { return typed_sliced(slices, p); }

static typed_scalar ts_of(double x) { return typed_scalar_of(&ref_ts_format, x); }

/* As typed_problem_varied has them. */
static typed_problem make(const char *data, int m, int n, int k, int ops, double alpha, double beta)
{
    return typed_problem_varied(&ref_ts_format, data, m, n, k, ops, alpha, beta, 61);
}

/* Errors */

static double at_a(const typed_problem *t, int64_t i, int64_t l)
{
    return ref_ts_format.join(t->of.op_a == TANDEM_OP_N ? typed_at(&t->a, i, l)
                                                        : typed_at(&t->a, l, i));
}

static double at_b(const typed_problem *t, int64_t l, int64_t j)
{
    return ref_ts_format.join(t->of.op_b == TANDEM_OP_N ? typed_at(&t->b, l, j)
                                                        : typed_at(&t->b, j, l));
}

/* The sums over k of |a|, |b| and |a b|, and the largest |a| and |b|. */
typedef struct {
    double a, b, product, most_a, most_b;
} sizes;

static sizes sizes_of(const typed_problem *t, int64_t i, int64_t j)
{
    sizes s = {0};
    for (int64_t l = 0; l < t->of.k; l++) {
        const double a = fabs(at_a(t, i, l)), b = fabs(at_b(t, l, j));
        s.a += a;
        s.b += b;
        s.product += a * b;
        s.most_a = fmax(s.most_a, a);
        s.most_b = fmax(s.most_b, b);
    }
    return s;
}

/* What rounding loses of an element, at most: half a unit of its last part that is not a whole
 * number of units, a quarter of the next, as parts overlap by no more than half a place, and
 * nothing to speak of. */
static double lost(double most, int64_t bits)
{
    return most == 0.0 ? 0.0 : 0.76 * ldexp(1.0, ilogb(most) + 2 - (int)bits);
}

/* Error of element (i, j) relative to |alpha||A||B| + |beta||C|, at most: rounded operands, and a
 * product and a sum of tandem_ts, whose errors are below 128 2^-72. */
static double bound_of(const typed_problem *t, int64_t i, int64_t j)
{
    const int64_t bits = ref_sliced_bits(slices, t->of.k);
    const sizes s = sizes_of(t, i, j);
    const double alpha = fabs(ref_ts_format.join(t->alpha.bytes)),
                 beta = fabs(ref_ts_format.join(t->beta.bytes));
    const double off_a = lost(s.most_a, bits), off_b = lost(s.most_b, bits);
    const double off = s.a * off_b + s.b * off_a + (double)t->of.k * off_a * off_b;
    double size = alpha * s.product;
    if (beta != 0.0) size += beta * fabs(ref_ts_format.join(typed_at(&t->c, i, j)));
    return size == 0.0 ? 0.0 : 0x1p-65 + (1.0 + 0x1p-40) * alpha * off / size;
}

/* The worst error of some elements. */
static double measure(const typed_problem *t, const typed_matrix *c)
{
    const ref_typed start = typed_problem_gemm(t, &t->c);
    double worst = 0.0;
    for (int64_t j = 0; j < c->cols; j++)
        for (int64_t i = 0; i < c->rows; i++) {
            if ((i + 2 * j) % 5) continue;
            const double error = ref_error_typed(&start, i, j, typed_at(c, i, j));
            CHECK_AT_MOST(error, bound_of(t, i, j), "%d slices, C(%d, %d): %s", slices, (int)i,
                          (int)j, product_text(&t->of));
            worst = fmax(worst, error);
        }
    return worst;
}

static void compare(const typed_problem *t, const typed_matrix *c)
{
    typed_matrix want = typed_copy(&t->c);
    const ref_typed gemm = typed_problem_gemm(t, &want);
    ref_ts_sliced(slices, &gemm);
    for (int64_t j = 0; j < c->cols; j++)
        for (int64_t i = 0; i < c->rows; i++) {
            const void *x = typed_at(c, i, j), *y = typed_at(&want, i, j);
            CHECK(typed_same(&ref_ts_format, x, y),
                  "%d slices, C(%d, %d) is %s, the definition gives %s: %s", slices, (int)i, (int)j,
                  typed_text(&ref_ts_format, x), typed_text(&ref_ts_format, y),
                  product_text(&t->of));
        }
    typed_free(&want);
}

/* Bits, and the bound; the worst error. Frees the problem. */
static double check(typed_problem *t)
{
    typed_matrix c = typed_problem_compute(t, sliced);
    compare(t, &c);
    const double worst = measure(t, &c);
    typed_free(&c);
    typed_problem_free(t);
    return worst;
}

/* Products */

/* Every number of slices: of data with 53 bits, and of data with 72. */
TEST(every_number_of_slices)
{
    static const char *const data[] = {"uniform", "both signs", "wide 2", "constant", "integers"};
    const int step = test_is_brief() ? 5 : 1;
    for (slices = 0; slices <= TD_MOST_FLOAT_SLICES; slices += slices ? step : TD_LEAST_SLICES) {
        double worst = 0.0;
        for (int d = 0; d < 5; d++)
            for (int is_long = 0; is_long < 2; is_long++) {
                const int ops = (d + is_long) % 4;
                typed_problem t = make(data[d], 21 - d, 17 + d, 90 + 70 * d, ops, 1.0, 0.0);
                if (is_long) typed_lengthen(&t.a);
                if (is_long) typed_lengthen(&t.b);
                worst = fmax(worst, check(&t));
            }
        test_note("worst error of %d slices: %s", slices, test_power(worst));
    }
}

/* Around the depths where the base changes, and where sums are taken out of SGEMM. */
TEST(every_depth)
{
    static const int depths[] = {1,   2,   3,    4,    5,    16,   17,   63,   64,   65,
                                 255, 257, 1024, 1025, 4095, 4096, 4097, 8191, 8192, 8193};
    enum { DEPTHS = sizeof depths / sizeof *depths };
    static const int some[] = {0, 2, 7, 12};
    for (int i = 0; i < DEPTHS; i++) {
        if (test_is_brief() && i % 3) continue;
        slices = some[i % 4];
        typed_problem t = make(i % 2 ? "both signs" : "full", 6, 5, depths[i], i % 4,
                               i % 3 ? 1.0 : -0.7, i % 3 == 1 ? 0.3 : 0.0);
        typed_lengthen(&t.a);
        check(&t);
    }
}

/* Sizes around the edges of tiles; scalars with all their parts. */
TEST(every_form)
{
    static const int shapes[][3] = {{1, 1, 1},    {64, 64, 64},  {65, 63, 33},
                                    {3, 130, 70}, {130, 3, 129}, {17, 16, 64}};
    static const double scalars[][2] = {{1.0, 0.0}, {-1.7, 0.3},     {0.3, -1.0},
                                        {1.0, 1.0}, {0x1p-40, 1e-9}, {1e9, 0.0}};
    for (int i = 0; i < 6; i++)
        for (int ops = 0; ops < 4; ops++) {
            const double *scalar = scalars[(i + ops) % 6];
            slices = i % 2 ? 5 : 0;
            typed_problem t = make("both signs", shapes[i][0], shapes[i][1], shapes[i][2], ops,
                                   scalar[0], scalar[1]);
            if (ops % 2) t.alpha = typed_ninth_of(&ref_ts_format, scalar[0]);
            if (ops / 2) t.beta = typed_ninth_of(&ref_ts_format, scalar[1]);
            typed_lengthen(&t.b);
            if (scalar[1] != 0.0) typed_lengthen(&t.c);
            check(&t);
        }
}

/* Nothing is lost of small whole numbers, whatever the slices. */
TEST(small_whole_numbers_are_exact)
{
    for (slices = TD_LEAST_SLICES; slices <= TD_MOST_FLOAT_SLICES; slices += 5) {
        typed_problem t = make("integers", 33, 30, 1000, slices % 4, 1.0, 1.0);
        typed_matrix c = typed_problem_compute(&t, sliced);
        const ref_typed start = typed_problem_gemm(&t, &t.c);
        for (int64_t j = 0; j < c.cols; j++)
            for (int64_t i = 0; i < c.rows; i++) {
                const double error = ref_error_typed(&start, i, j, typed_at(&c, i, j));
                CHECK(error == 0.0, "%d slices, C(%d, %d) is %s off", slices, (int)i, (int)j,
                      test_power(error));
            }
        typed_free(&c);
        typed_problem_free(&t);
    }
}

/* Rows that cancel, whose scales or exponents lie far apart, zeros, subnormal results: bits only
 * where the bound says nothing. */
TEST(hostile_data)
{
    static const char *const data[] = {
        "cancelling", "all but cancelling", "exact zeros", "zeros",       "lines apart",
        "graded",     "one huge",           "rising",      "crossing 64", "half units 48",
        "full"};
    for (int d = 0; d < 11; d++) {
        slices = d % 2 ? 11 : 0;
        typed_problem t = make(data[d], 20, 23, 140, d % 4, 1.0, 0.0);
        if (strcmp(data[d], "one huge") != 0) typed_lengthen(&t.a);
        typed_matrix c = typed_problem_compute(&t, sliced);
        compare(&t, &c);
        typed_free(&c);
        typed_problem_free(&t);
    }
}

/* 4127/4064 = (33 - 64/127) / 32: to base 128, digit 0 is 33 and all others are -64. 4096 products
 * of these are 2^24. */
static tandem_ts extreme(void)
{
    float part[3];
    long double rest = 4127.0L;
    for (int p = 0; p < 3; p++) {
        part[p] = (float)(rest / 4064.0L);
        rest -= 4064.0L * (long double)part[p];
    }
    return (tandem_ts){part[0], part[1], part[2]};
}

TEST(sums_at_the_edge_of_binary32)
{
    static const int depths[] = {2048, 4095, 4096, 4097, 8192, 16384};
    for (int d = 0; d < 6; d++)
        for (int sign = 0; sign < 2; sign++) {
            tandem_ts x = extreme();
            typed_problem t = make("uniform", 3, 2, depths[d], 0, 1.0, 0.0);
            if (test_is_brief() && d != 3) {
                typed_problem_free(&t);
                continue;
            }
            for (int64_t l = 0; l < t.of.k; l++) {
                for (int64_t i = 0; i < 3; i++) *(tandem_ts *)typed_at(&t.a, i, l) = x;
                for (int64_t j = 0; j < 2; j++) *(tandem_ts *)typed_at(&t.b, l, j) = x;
                if (sign) x = (tandem_ts){-x.x, -x.y, -x.z};
            }
            slices = sign ? 12 : 0;
            check(&t);
        }
}

/* NaN and infinities */

TEST(special_values_stay_where_they_are)
{
    static const double values[] = {NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 6; i++) {
        typed_problem t = make("uniform", 70, 66, 40, i % 4, 1.0, i % 2);
        const bool in_a = i < 3;
        const int64_t line = 7, l = 11;
        slices = i % 2 ? 4 : 0;
        if (in_a) t.alpha = ts_of(-0.5);
        void *x =
            in_a ? (t.of.op_a == TANDEM_OP_N ? typed_at(&t.a, line, l) : typed_at(&t.a, l, line))
                 : (t.of.op_b == TANDEM_OP_N ? typed_at(&t.b, l, line) : typed_at(&t.b, line, l));
        ref_ts_format.split(values[i % 3], x);
        typed_matrix c = typed_problem_compute(&t, sliced);
        for (int64_t j = 0; j < c.cols; j++)
            for (int64_t row = 0; row < c.rows; row++) {
                const double value = ref_ts_format.join(typed_at(&c, row, j));
                CHECK(isnan(value) == ((in_a ? row : j) == line), "C(%d, %d) is %g", (int)row,
                      (int)j, value);
            }
        compare(&t, &c);
        typed_free(&c);
        typed_problem_free(&t);
    }
}

/* Scalars, C, and results beyond binary32. */
TEST(special_scalars)
{
    static const double scalars[][2] = {{NAN, 0.0}, {1.0, NAN}, {INFINITY, 1.0}, {1.0, -INFINITY}};
    slices = 0;
    for (int i = 0; i < 4; i++) {
        typed_problem t = make("uniform", 9, 8, 20, i, scalars[i][0], scalars[i][1]);
        typed_matrix c = typed_problem_compute(&t, sliced);
        for (int64_t j = 0; j < c.cols; j++)
            for (int64_t row = 0; row < c.rows; row++)
                CHECK(!isfinite(ref_ts_format.join(typed_at(&c, row, j))), "C(%d, %d) is finite",
                      (int)row, (int)j);
        typed_free(&c);
        typed_problem_free(&t);
    }
}

/* No products */

TEST(products_without_operands)
{
    slices = 6;
    for (int which = 0; which < 4; which++) {
        const bool no_k = which & 1, reads_c = which & 2;
        typed_problem t = make("uniform", 70, 9, no_k ? 0 : 12, 0, 0.0, reads_c ? 0.5 : 0.0);
        if (no_k) t.alpha = ts_of(1.0);
        typed_matrix c = typed_problem_compute(&t, sliced);
        compare(&t, &c);
        typed_free(&c);
        typed_problem_free(&t);
    }
    static const int empty[][2] = {{0, 5}, {5, 0}, {0, 0}};
    for (int i = 0; i < 3; i++) {
        typed_problem t = make("uniform", empty[i][0], empty[i][1], 4, 0, 1.0, 1.0);
        check(&t);
    }
}

/* Slices that there are not; check_typed.c has the other arguments. */
TEST(other_numbers_of_slices_are_refused)
{
    static const int bad[] = {1, -1, 13, 100, INT_MAX, INT_MIN};
    for (int i = 0; i < 6; i++)
        for (int k = 0; k < 3; k++) {
            typed_problem t = make("uniform", 3, 4, k, 0, 1.0, 1.0);
            const ref_typed p = typed_problem_gemm(&t, &t.c);
            const tandem_status status = typed_sliced(bad[i], &p);
            const char *message = tandem_last_message();
            CHECK(status == TANDEM_INVALID_VALUE, "%d slices: %s", bad[i],
                  tandem_status_text(status));
            CHECK(strncmp(message, "slices is ", 10) == 0 && !strchr(message, '\n'), "'%s'",
                  message);
            typed_problem_free(&t);
        }
}

/* Workspace */

static td_real_product gemm_of(const typed_problem *t, double *a, double *b, double *c)
{
    td_real_product p = {.type = TD_TS,
                         .op_a = t->of.op_a == TANDEM_OP_N ? TD_OP_N : TD_OP_T,
                         .op_b = t->of.op_b == TANDEM_OP_N ? TD_OP_N : TD_OP_T,
                         .m = t->of.m,
                         .n = t->of.n,
                         .k = t->of.k,
                         .a = {.data = typed_data(&t->a, a), .ld = t->a.ld},
                         .b = {.data = typed_data(&t->b, b), .ld = t->b.ld},
                         .c = {.data = typed_data(&t->c, c), .ld = t->c.ld},
                         .batch = 1};
    memcpy(&p.alpha.value, t->alpha.bytes, sizeof p.alpha.value.ts);
    memcpy(&p.beta.value, t->beta.bytes, sizeof p.beta.value.ts);
    return p;
}

static td_run_status run_limited(const typed_problem *t, size_t limit, typed_matrix *c)
{
    double *a = device_upload(&t->a.storage), *b = device_upload(&t->b.storage),
           *dc = device_upload(&t->c.storage);
    const td_real_product p = gemm_of(t, a, b, dc);
    const td_run_status status = td_typed_slices_run(&p, slices, td_device_current(), limit);
    device_check_clean("a limit");
    device_download(&c->storage, dc);
    device_free(a, b, dc);
    return status;
}

/* From plenty to too little: cut along k, rows and columns. */
TEST(workspace_does_not_matter)
{
    static const int shapes[][3] = {{150, 70, 700}, {5, 6, 9000}};
    for (int i = 0; i < (test_is_brief() ? 1 : 2); i++) {
        int runs = 0;
        slices = i ? 0 : 8;
        typed_problem t =
            make("both signs", shapes[i][0], shapes[i][1], shapes[i][2], 2, -1.7, 0.3);
        typed_matrix want = typed_problem_compute(&t, sliced);
        for (size_t limit = (size_t)32 << 20;; limit /= 4, runs++) {
            typed_matrix c = typed_copy(&t.c);
            const td_run_status status = run_limited(&t, limit, &c);
            if (status == TD_RUN_DONE)
                CHECK(matrix_difference(&c.storage, &want.storage) == -1,
                      "a limit of %zu bytes gives other bits", limit);
            typed_free(&c);
            if (status == TD_RUN_DONE) continue;
            CHECK(status == TD_RUN_NO_MEMORY, "ended with %d", (int)status);
            break;
        }
        CHECK(runs > 2, "%d runs: hardly anything was cut", runs);
        if (i == 0) compare(&t, &want);
        typed_free(&want);
        typed_problem_free(&t);
    }
}

/* More than one pass over k can take: sums are carried. */
TEST(long_sums)
{
    if (test_is_brief()) return;
    slices = 12; /* a pass is 40960 */
    typed_problem t = make("uniform", 3, 2, 41000, 1, 1.0, 0.0);
    typed_lengthen(&t.a);
    check(&t);
}
