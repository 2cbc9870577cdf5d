/* check_dfgemm.c - the double-float interface: conversions, products of double-float matrices, and what every public
 * function says to invalid arguments. */
#include "../support/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../kernels/df.h"
#include "../support/bits.h"
#include "device.h"
#include "problem.h"

#define BOUND 0x1p-43

/* Conversions */

static tandem_df df_at(const test_matrix *s, int64_t i, int64_t j)
{
    tandem_df x;
    memcpy(&x, matrix_at(s, i, j), sizeof x);
    return x;
}

static void set_df(test_matrix *s, int64_t i, int64_t j, tandem_df x)
{
    memcpy(matrix_at(s, i, j), &x, sizeof x);
}

static int same_df(tandem_df x, tandem_df y)
{
    if (isnan(x.hi) || isnan(y.hi)) return isnan(x.hi) && isnan(y.hi);
    if (isinf(x.hi) || isinf(y.hi)) return x.hi == y.hi;
    return bits_of_float(x.hi) == bits_of_float(y.hi) && bits_of_float(x.lo) == bits_of_float(y.lo);
}

/* Of all sizes, NaN and infinities among them. */
static test_matrix any_matrix(int64_t rows, int64_t cols, int pad, int guard)
{
    static const double special[] = {NAN,  INFINITY,  -INFINITY, 0.0,
                                     -0.0, 0x1p-1074, 0x1p200,   -0x1p-149};
    test_random r = random_start((uint64_t)(rows * 100 + cols));
    test_matrix m = matrix_make(rows, cols, rows + pad + (rows == 0), guard);
    for (int64_t j = 0; j < cols; j++)
        for (int64_t i = 0; i < rows; i++)
            *matrix_at(&m, i, j) = (i + j) % 11 == 5
                                       ? special[(i * 7 + j) % 8]
                                       : ldexp(random_uniform(&r) - 0.5, random_int(&r, -140, 120));
    return m;
}

/* Split and join of one shape: each against the functions of df.h, borders kept. */
static void check_conversion(int64_t rows, int64_t cols, int pad)
{
    test_matrix a = any_matrix(rows, cols, pad, pad), s = matrix_make(rows, cols, a.ld + 1, 1);
    test_matrix back = matrix_make(rows, cols, a.ld + 2, 0);
    double *da = device_upload(&a), *ds = device_upload(&s), *dback = device_upload(&back);
    tandem_df *split = (tandem_df *)device_data(&s, ds);
    CHECK(tandem_df_split(rows, cols, device_data(&a, da), a.ld, split, s.ld, NULL) == TANDEM_OK,
          "%s", tandem_last_message());
    CHECK(tandem_df_join(rows, cols, split, s.ld, device_data(&back, dback), back.ld, NULL) ==
              TANDEM_OK,
          "%s", tandem_last_message());
    device_check_clean("split and join");
    device_download(&s, ds);
    device_download(&back, dback);
    CHECK(matrix_damage(&s) == -1 && matrix_damage(&back) == -1, "a border of %d x %d was written",
          (int)rows, (int)cols);
    for (int64_t j = 0; j < cols; j++)
        for (int64_t i = 0; i < rows; i++) {
            const double x = *matrix_at(&a, i, j), y = *matrix_at(&back, i, j);
            const tandem_df want = td_df_split(bits_of(x), 0), got = df_at(&s, i, j);
            CHECK(same_df(got, want), "split of %a is (%a, %a), not (%a, %a)", x, got.hi, got.lo,
                  want.hi, want.lo);
            CHECK(same_bits(y, td_df_join(want)), "join of (%a, %a) is %a", want.hi, want.lo, y);
        }
    device_free(da);
    device_free(ds);
    device_free(dback);
    matrix_free(&a);
    matrix_free(&s);
    matrix_free(&back);
}

static void conversions_are_those_of_the_header(void **unused)
{
    (void)unused;
    static const int sizes[][2] = {{1, 1},   {0, 3},   {3, 0},    {300, 7},
                                   {7, 300}, {256, 2}, {257, 65}, {1, 9000}};
    for (int i = 0; i < 8; i++) check_conversion(sizes[i][0], sizes[i][1], i % 3);
}

/* Products */

/* Splits a matrix of binary64 in place, borders kept. */
static void split_in_place(test_matrix *x)
{
    for (int64_t j = 0; j < x->cols; j++)
        for (int64_t i = 0; i < x->rows; i++)
            set_df(x, i, j, td_df_split(bits_of(*matrix_at(x, i, j)), 0));
}

static ref_dfgemm typed(const problem *p, test_matrix *c, tandem_df alpha, tandem_df beta)
{
    return (ref_dfgemm){
        .op_a = p->of.op_a,
        .op_b = p->of.op_b,
        .m = p->of.m,
        .n = p->of.n,
        .k = p->of.k,
        .alpha = alpha,
        .beta = beta,
        .a = (const tandem_df *)matrix_data(&p->a),
        .b = (const tandem_df *)matrix_data(&p->b),
        .c = (tandem_df *)matrix_data(c),
        .lda = p->a.ld,
        .ldb = p->b.ld,
        .ldc = c->ld,
    };
}

static test_matrix compute(const problem *p, tandem_df alpha, tandem_df beta)
{
    test_matrix c = matrix_copy(&p->c);
    double *a = device_upload(&p->a), *b = device_upload(&p->b), *dc = device_upload(&c);
    const tandem_status status = tandem_dfgemm(
        p->of.op_a, p->of.op_b, p->of.m, p->of.n, p->of.k, alpha,
        (const tandem_df *)device_data(&p->a, a), p->a.ld, (const tandem_df *)device_data(&p->b, b),
        p->b.ld, beta, (tandem_df *)device_data(&c, dc), c.ld, NULL);
    CHECK(status == TANDEM_OK, "%s: %s", tandem_last_message(), product_text(&p->of));
    device_check_clean(product_text(&p->of));
    device_download(&c, dc);
    CHECK(matrix_damage(&c) == -1, "something outside C was written: %s", product_text(&p->of));
    device_free(a);
    device_free(b);
    device_free(dc);
    return c;
}

/* Bits of the reference, and the bound where everything is finite. */
static double check(const problem *p, tandem_df alpha, tandem_df beta, bool has_bound)
{
    test_matrix c = compute(p, alpha, beta), want = matrix_copy(&p->c), before = p->c;
    const ref_dfgemm gemm = typed(p, &want, alpha, beta), start = typed(p, &before, alpha, beta);
    double worst = 0.0;
    ref_df_typed(&gemm);
    for (int64_t j = 0; j < c.cols; j++)
        for (int64_t i = 0; i < c.rows; i++) {
            const tandem_df x = df_at(&c, i, j), y = df_at(&want, i, j);
            CHECK(same_df(x, y), "C(%d, %d) is (%a, %a), the definition gives (%a, %a): %s", (int)i,
                  (int)j, x.hi, x.lo, y.hi, y.lo, product_text(&p->of));
            if (!has_bound || (i * j) % 3) continue;
            const double error = ref_error_typed(&start, i, j, x);
            CHECK_AT_MOST(error, BOUND, "C(%d, %d): %s", (int)i, (int)j, product_text(&p->of));
            worst = fmax(worst, error);
        }
    matrix_free(&c);
    matrix_free(&want);
    return worst;
}

/* alpha and beta of the product only decide which matrices are poison. */
static problem make(int m, int n, int k, int ops, const char *data, bool reads_ab, bool reads_c)
{
    product of = {.data = data,
                  .m = m,
                  .n = n,
                  .k = k,
                  .seed = 51,
                  .pad_a = ops,
                  .pad_b = 3 - ops,
                  .pad_c = (m + ops) % 3,
                  .guard = (n + ops) % 3,
                  .alpha = reads_ab,
                  .beta = reads_c};
    of.op_a = ops & 1 ? TANDEM_OP_T : TANDEM_OP_N;
    of.op_b = ops & 2 ? TANDEM_OP_T : TANDEM_OP_N;
    problem p = problem_make(&of);
    if (reads_ab) split_in_place(&p.a);
    if (reads_ab) split_in_place(&p.b);
    if (reads_c) split_in_place(&p.c);
    return p;
}

static const tandem_df one = {1.0f, 0.0f}, zero = {0.0f, 0.0f};

static void products_are_those_of_the_definition(void **unused)
{
    (void)unused;
    static const int shapes[][3] = {{1, 1, 1},     {64, 64, 32},   {65, 63, 33},
                                    {3, 130, 511}, {130, 3, 513},  {17, 16, 64},
                                    {5, 4, 2000},  {66, 70, 1025}, {2, 2, 16384}};
    static const char *const data[] = {"uniform", "both signs", "wide 2", "zeros", "constant"};
    double worst = 0.0;
    for (int i = 0; i < 9; i++)
        for (int ops = 0; ops < 4; ops++) {
            problem p = make(shapes[i][0], shapes[i][1], shapes[i][2], ops, data[(i + ops) % 5],
                             true, i % 2);
            const tandem_df alpha = ops ? td_df_split(bits_of(-1.7), 0) : one;
            const tandem_df beta = i % 2 ? td_df_split(bits_of(0.3), 0) : zero;
            worst = fmax(worst, check(&p, alpha, beta, true));
            problem_free(&p);
        }
    test_note("worst error of tandem_dfgemm: %s", test_power(worst));
}

static void products_without_operands(void **unused)
{
    (void)unused;
    const tandem_df half = {0.5f, 0.0f};
    for (int which = 0; which < 4; which++) {
        const bool no_k = which & 1, reads_c = which & 2;
        problem p = make(70, 9, no_k ? 0 : 12, 0, "uniform", false, reads_c);
        check(&p, no_k ? one : zero, reads_c ? half : zero, true);
        problem_free(&p);
    }
    static const int empty[][2] = {{0, 5}, {5, 0}};
    for (int i = 0; i < 2; i++) {
        problem p = make(empty[i][0], empty[i][1], 4, 0, "uniform", true, true);
        check(&p, one, one, true);
        problem_free(&p);
    }
}

/* Every element of C that depends on a NaN or an infinity is NaN or infinite, and no other. */
static void special_values_stay_where_they_are(void **unused)
{
    (void)unused;
    static const float values[] = {NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 3; i++) {
        problem p = make(70, 66, 40, i, "uniform", true, i == 1);
        const int64_t row = p.of.op_a == TANDEM_OP_N ? 7 : 11,
                      col = p.of.op_a == TANDEM_OP_N ? 11 : 7;
        set_df(&p.a, row, col, td_df(values[i], 0.0f));
        test_matrix c = compute(&p, one, i == 1 ? one : zero);
        for (int64_t j = 0; j < c.cols; j++)
            for (int64_t l = 0; l < c.rows; l++)
                CHECK(!isfinite(df_at(&c, l, j).hi) == (l == 7), "C(%d, %d) is %g", (int)l, (int)j,
                      df_at(&c, l, j).hi);
        matrix_free(&c);
        problem_free(&p);
    }
}

/* Invalid arguments: the status, and a line that names the argument. C stays as it is. */

static double *memory; /* device memory, 4096 elements of 1.0 */

static void check_refused(tandem_status status, const char *word)
{
    const char *message = tandem_last_message();
    CHECK(status == TANDEM_INVALID_VALUE, "%s: %s, not refused", word, tandem_status_text(status));
    CHECK(strstr(message, word) && !strchr(message, '\n'), "'%s' does not name %s", message, word);
}

typedef struct {
    const char *word;
    int op_a, op_b;
    int64_t m, n, k, a, lda, b, ldb, c, ldc; /* a, b, c: elements from memory; -1: NULL */
    int misaligned;
} call;

static double *at(int64_t offset, int bytes)
{
    return offset < 0 ? NULL : (double *)((char *)(memory + offset) + bytes);
}

static tandem_status call_dgemm(const call *x)
{
    return tandem_dgemm("df", (tandem_op)x->op_a, (tandem_op)x->op_b, x->m, x->n, x->k, 1.0,
                        at(x->a, x->misaligned & 1 ? 4 : 0), x->lda,
                        at(x->b, x->misaligned & 2 ? 4 : 0), x->ldb, 0.0,
                        at(x->c, x->misaligned & 4 ? 4 : 0), x->ldc, NULL);
}

static tandem_status call_dfgemm(const call *x)
{
    return tandem_dfgemm((tandem_op)x->op_a, (tandem_op)x->op_b, x->m, x->n, x->k, one,
                         (tandem_df *)at(x->a, x->misaligned & 1 ? 4 : 0), x->lda,
                         (tandem_df *)at(x->b, x->misaligned & 2 ? 4 : 0), x->ldb, zero,
                         (tandem_df *)at(x->c, x->misaligned & 4 ? 4 : 0), x->ldc, NULL);
}

static void invalid_products_are_refused(void **unused)
{
    (void)unused;
    static const call calls[] = {
        {"op_a", 7, 0, 4, 4, 4, 0, 4, 100, 4, 200, 4, 0},
        {"op_a", -1, 0, 4, 4, 4, 0, 4, 100, 4, 200, 4, 0},
        {"op_b", 0, 2, 4, 4, 4, 0, 4, 100, 4, 200, 4, 0},
        {"m is", 0, 0, -1, 4, 4, 0, 4, 100, 4, 200, 4, 0},
        {"n is", 0, 0, 4, -1, 4, 0, 4, 100, 4, 200, 4, 0},
        {"k is", 0, 0, 4, 4, -1, 0, 4, 100, 4, 200, 4, 0},
        {"lda", 0, 0, 4, 4, 3, 0, 3, 100, 3, 200, 4, 0},
        {"lda", 1, 0, 4, 4, 5, 0, 4, 100, 5, 200, 4, 0},
        {"lda", 0, 0, 0, 4, 3, 0, 0, 100, 3, 200, 1, 0},
        {"ldb", 0, 0, 4, 4, 5, 0, 4, 100, 4, 200, 4, 0},
        {"ldb", 0, 1, 4, 4, 3, 0, 4, 100, 3, 200, 4, 0},
        {"ldc", 0, 0, 4, 4, 4, 0, 4, 100, 4, 200, 3, 0},
        {"ldc", 0, 0, 4, 4, 4, 0, 4, 100, 4, 200, -5, 0},
        {"a is NULL", 0, 0, 4, 4, 4, -1, 4, 100, 4, 200, 4, 0},
        {"b is NULL", 0, 0, 4, 4, 4, 0, 4, -1, 4, 200, 4, 0},
        {"c is NULL", 0, 0, 4, 4, 4, 0, 4, 100, 4, -1, 4, 0},
        {"aligned", 0, 0, 4, 4, 4, 0, 4, 100, 4, 200, 4, 1},
        {"aligned", 0, 0, 4, 4, 4, 0, 4, 100, 4, 200, 4, 2},
        {"aligned", 0, 0, 4, 4, 4, 0, 4, 100, 4, 200, 4, 4},
        {"overlaps", 0, 0, 4, 4, 4, 0, 4, 100, 4, 15, 4, 0},
        {"overlaps", 0, 0, 4, 4, 4, 0, 4, 100, 4, 90, 4, 0},
        {"overlaps", 0, 0, 4, 4, 4, 0, 4, 100, 4, 0, 4, 0},
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        check_refused(call_dgemm(&calls[i]), calls[i].word);
        check_refused(call_dfgemm(&calls[i]), calls[i].word);
    }
    static const char *const modes[] = {NULL, "", "native", "nonsense", "df:3", "DF"};
    for (int i = 0; i < 6; i++)
        check_refused(tandem_dgemm(modes[i], TANDEM_OP_N, TANDEM_OP_N, 1, 1, 1, 1.0, memory, 1,
                                   memory + 1, 1, 0.0, memory + 2, 1, NULL),
                      "mode");
}

static void invalid_conversions_are_refused(void **unused)
{
    (void)unused;
    tandem_df *s = (tandem_df *)(memory + 1000);
    check_refused(tandem_df_split(-1, 1, memory, 1, s, 1, NULL), "rows");
    check_refused(tandem_df_split(1, -1, memory, 1, s, 1, NULL), "cols");
    check_refused(tandem_df_split(3, 2, memory, 2, s, 3, NULL), "lda");
    check_refused(tandem_df_split(3, 2, memory, 3, s, 2, NULL), "lds");
    check_refused(tandem_df_split(3, 2, NULL, 3, s, 3, NULL), "a is NULL");
    check_refused(tandem_df_split(3, 2, memory, 3, NULL, 3, NULL), "s is NULL");
    check_refused(tandem_df_split(3, 2, memory, 3, (tandem_df *)(memory + 5), 3, NULL), "overlaps");
    check_refused(tandem_df_join(-1, 1, s, 1, memory, 1, NULL), "rows");
    check_refused(tandem_df_join(1, -1, s, 1, memory, 1, NULL), "cols");
    check_refused(tandem_df_join(3, 2, s, 3, memory, 2, NULL), "lda");
    check_refused(tandem_df_join(3, 2, s, 2, memory, 3, NULL), "lds");
    check_refused(tandem_df_join(3, 2, NULL, 3, memory, 3, NULL), "s is NULL");
    check_refused(tandem_df_join(3, 2, s, 3, NULL, 3, NULL), "a is NULL");
    check_refused(tandem_df_join(3, 2, (tandem_df *)memory, 3, memory + 1, 3, NULL), "overlaps");
}

/* Parts of one array side by side are no overlap, and what is not needed may be NULL. */
static void valid_corners_are_accepted(void **unused)
{
    (void)unused;
    const call rows_of_one_array = {"", 0, 0, 4, 4, 4, 0, 12, 500, 4, 4, 12, 0};
    const call empty = {"", 0, 0, 0, 4, 4, -1, 1, 100, 4, -1, 1, 0};
    const call no_k = {"", 0, 0, 4, 4, 0, -1, 4, -1, 1, 200, 4, 0};
    const call *const calls[] = {&rows_of_one_array, &empty, &no_k};
    for (int i = 0; i < 3; i++) {
        CHECK(call_dgemm(calls[i]) == TANDEM_OK, "%d: %s", i, tandem_last_message());
        CHECK(tandem_last_message()[0] == '\0', "a message after success");
        CHECK(call_dfgemm(calls[i]) == TANDEM_OK, "%d: %s", i, tandem_last_message());
    }
    CHECK(tandem_df_split(0, 0, NULL, 1, NULL, 1, NULL) == TANDEM_OK, "%s", tandem_last_message());
    CHECK(tandem_df_join(5, 0, NULL, 5, NULL, 5, NULL) == TANDEM_OK, "%s", tandem_last_message());
    device_check_clean("valid corners");
}

static void texts_are_there(void **unused)
{
    (void)unused;
    CHECK(strcmp(tandem_version(), "0.1.0") == 0, "%s", tandem_version());
    for (int i = TANDEM_OK; i <= TANDEM_LAUNCH_FAILED; i++)
        CHECK(tandem_status_text((tandem_status)i)[0], "status %d has no text", i);
    CHECK(tandem_status_text((tandem_status)99)[0], "an unknown status has no text");
}

static int set_up(void **unused)
{
    (void)unused;
    test_matrix ones = matrix_make(4096, 1, 4096, 0);
    for (int i = 0; i < 4096; i++) ones.storage[i] = 1.0;
    memory = device_upload(&ones);
    matrix_free(&ones);
    return 0;
}

static int tear_down(void **unused)
{
    (void)unused;
    device_free(memory);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conversions_are_those_of_the_header),
        cmocka_unit_test(products_are_those_of_the_definition),
        cmocka_unit_test(products_without_operands),
        cmocka_unit_test(special_values_stay_where_they_are),
        cmocka_unit_test(invalid_products_are_refused),
        cmocka_unit_test(invalid_conversions_are_refused),
        cmocka_unit_test(valid_corners_are_accepted),
        cmocka_unit_test(texts_are_there),
    };
    device_require();
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
