/* check_typed.c - the interface for matrices of a multi-float type: conversions, products, and what
 * every public function says to invalid arguments. */
#include "tests/support/test.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/bits.h"
#include "tests/kernels/support/device.h"
#include "tests/kernels/support/modes.h"
#include "tests/kernels/support/typed_problem.h"

/* The mode that the tests are running for, its format, and the functions of its type. */
static const mode *tested;
static const ref_format *format;
static const typed_functions *functions;

/* Conversions */

/* Of all sizes, NaN and infinities among them. */
static test_matrix any_matrix(int64_t rows, int64_t cols, int pad, int guard)
{
    static const double special[] = {NAN,       INFINITY,         -INFINITY, 0.0,
                                     -0.0,      0x1p-1074,        0x1p200,   -0x1p-149,
                                     0x1p-1022, 0x1.fffffffp+127, -DBL_MAX};
    test_random r = random_start((uint64_t)(rows * 100 + cols));
    test_matrix m = matrix_make(rows, cols, rows + pad + (rows == 0), guard);
    for (int64_t j = 0; j < cols; j++)
        for (int64_t i = 0; i < rows; i++)
            *matrix_at(&m, i, j) =
                (i + j) % 13 == 5 ? special[(i * 7 + j) % 11] : random_scaled(&r, -140, 120);
    return m;
}

static void check_converted(const test_matrix *a, const typed_matrix *s, const test_matrix *back)
{
    for (int64_t j = 0; j < a->cols; j++)
        for (int64_t i = 0; i < a->rows; i++) {
            const double x = *matrix_at(a, i, j), y = *matrix_at(back, i, j);
            _Alignas(16) char want[16];
            format->split(x, want);
            CHECK(typed_same(format, typed_at(s, i, j), want), "split of %a is %s, not %s", x,
                  typed_text(format, typed_at(s, i, j)), typed_text(format, want));
            CHECK(same_bits(y, format->join(want)), "join of %s is %a", typed_text(format, want),
                  y);
        }
}

/* Split and join of one shape: each element as it is defined, borders kept. */
static void check_conversion(int64_t rows, int64_t cols, int pad)
{
    test_matrix a = any_matrix(rows, cols, pad, pad);
    typed_matrix s = typed_make(format, rows, cols, a.ld + 1, 1), before = typed_copy(&s);
    test_matrix back = matrix_make(rows, cols, a.ld + 2, 0);
    double *da = device_upload(&a), *ds = device_upload(&s.storage), *dback = device_upload(&back);
    void *split = typed_data(&s, ds);
    CHECK(functions->split(rows, cols, device_data(&a, da), a.ld, split, s.ld) == TANDEM_OK, "%s",
          tandem_last_message());
    CHECK(functions->join(rows, cols, split, s.ld, device_data(&back, dback), back.ld) == TANDEM_OK,
          "%s", tandem_last_message());
    device_check_clean("split and join");
    device_download(&s.storage, ds);
    device_download(&back, dback);
    CHECK(typed_damage(&s, &before) == -1 && matrix_damage(&back) == -1,
          "a border of %d x %d was written", (int)rows, (int)cols);
    check_converted(&a, &s, &back);
    device_free(da, ds, dback);
    matrix_free(&a);
    typed_free(&s);
    typed_free(&before);
    matrix_free(&back);
}

TEST(conversions_are_those_of_the_header)
{
    static const int sizes[][2] = {{1, 1},   {0, 3},   {3, 0},    {300, 7},
                                   {7, 300}, {256, 2}, {257, 65}, {1, 9000}};
    for (int i = 0; i < 8; i++) check_conversion(sizes[i][0], sizes[i][1], i % 3);
}

/* Products */

static typed_scalar scalar_of(double x) { return typed_scalar_of(format, x); }
static typed_scalar ninth_of(double x) { return typed_ninth_of(format, x); }

/* The scalars of the product decide which matrices are poison. */
static typed_problem make(int m, int n, int k, int ops, const char *data, double alpha, double beta)
{
    return typed_problem_varied(format, data, m, n, k, ops, alpha, beta, 51);
}

static typed_matrix compute(const typed_problem *t)
{
    return typed_problem_compute(t, functions->gemm);
}

/* Bits of the reference, and the bound if there is one; the worst error of some elements. */
static double check(const typed_problem *t, bool has_bound)
{
    typed_matrix c = compute(t), want = typed_copy(&t->c);
    const ref_typed gemm = typed_problem_gemm(t, &want), start = typed_problem_gemm(t, &t->c);
    double worst = 0.0;
    format->typed(&gemm);
    for (int64_t j = 0; j < c.cols; j++)
        for (int64_t i = 0; i < c.rows; i++) {
            const void *x = typed_at(&c, i, j), *y = typed_at(&want, i, j);
            CHECK(typed_same(format, x, y), "C(%d, %d) is %s, the definition gives %s: %s", (int)i,
                  (int)j, typed_text(format, x), typed_text(format, y), product_text(&t->of));
            if (!has_bound || (i * j) % 3) continue;
            const double error = ref_error_typed(&start, i, j, x);
            CHECK_AT_MOST(error, tested->typed_bound, "C(%d, %d): %s", (int)i, (int)j,
                          product_text(&t->of));
            worst = fmax(worst, error);
        }
    typed_free(&c);
    typed_free(&want);
    return worst;
}

TEST(products_are_those_of_the_definition)
{
    static const int shapes[][3] = {{1, 1, 1},     {64, 64, 32},   {65, 63, 33},
                                    {3, 130, 511}, {130, 3, 513},  {17, 16, 64},
                                    {5, 4, 2000},  {66, 70, 1025}, {2, 2, 16384}};
    static const char *const data[] = {"uniform", "both signs", "wide 2",
                                       "zeros",   "constant",   "all but cancelling"};
    double worst = 0.0;
    for (int i = 0; i < 9; i++)
        for (int ops = 0; ops < 4; ops++) {
            if (test_is_brief() && (ops != i % 4 || i == 8)) continue;
            typed_problem t = make(shapes[i][0], shapes[i][1], shapes[i][2], ops,
                                   data[(i + ops) % 6], ops ? -1.7 : 1.0, i % 2 ? 0.3 : 0.0);
            if (ops) t.alpha = ninth_of(-1.7);
            if (i % 2) t.beta = ninth_of(0.3);
            if (i % 3) typed_lengthen(&t.a);
            if (i % 3 == 1) typed_lengthen(&t.b);
            if (i % 2) typed_lengthen(&t.c);
            worst = fmax(worst, check(&t, true));
            typed_problem_free(&t);
        }
    test_note("worst error of tandem_%s products: %s", format->type, test_power(worst));
}

/* Where the type does not keep all bits, too, the bits are those of the definition. */
TEST(bits_of_wide_products_are_defined)
{
    static const char *const data[] = {"graded", "lines apart", "half units", "half units 106",
                                       "far crossing"};
    for (int i = 0; i < 5; i++) {
        typed_problem t = make(40, 30, 100, i % 4, data[i], 1.0, i % 2);
        check(&t, false);
        typed_problem_free(&t);
    }
}

TEST(products_without_operands)
{
    for (int which = 0; which < 4; which++) {
        const bool no_k = which & 1, reads_c = which & 2;
        typed_problem t = make(70, 9, no_k ? 0 : 12, 0, "uniform", 0.0, reads_c ? 0.5 : 0.0);
        if (no_k) t.alpha = scalar_of(1.0);
        check(&t, true);
        typed_problem_free(&t);
    }
    static const int empty[][2] = {{0, 5}, {5, 0}};
    for (int i = 0; i < 2; i++) {
        typed_problem t = make(empty[i][0], empty[i][1], 4, 0, "uniform", 1.0, 1.0);
        check(&t, true);
        typed_problem_free(&t);
    }
}

/* Every element of C that depends on a NaN or an infinity is NaN or infinite, and no other. */
TEST(special_values_stay_where_they_are)
{
    static const double values[] = {NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 3; i++) {
        typed_problem t = make(70, 66, 40, i, "uniform", 1.0, i == 1);
        const int64_t row = t.of.op_a == TANDEM_OP_N ? 7 : 11,
                      col = t.of.op_a == TANDEM_OP_N ? 11 : 7;
        format->split(values[i], typed_at(&t.a, row, col));
        typed_matrix c = compute(&t);
        for (int64_t j = 0; j < c.cols; j++)
            for (int64_t l = 0; l < c.rows; l++)
                CHECK(!isfinite(format->join(typed_at(&c, l, j))) == (l == 7), "C(%d, %d) is %s",
                      (int)l, (int)j, typed_text(format, typed_at(&c, l, j)));
        typed_free(&c);
        typed_problem_free(&t);
    }
}

/* One bit of the last part of an operand is seen in C, on the device. */
TEST(last_parts_count)
{
    typed_problem t = make(40, 50, 1, 0, "uniform", 1.0, 0.0);
    typed_lengthen(&t.a);
    typed_matrix good = compute(&t);
    const size_t last = format == &ref_dd_format ? 8 : 4; /* bytes of the last part */
    char *end = (char *)typed_at(&t.a, 39, 0) + format->bytes - last;
    end[last - 2] ^= 0x40; /* little-endian: a high bit of its fraction */
    typed_matrix bad = compute(&t);
    for (int64_t j = 0; j < 50; j++)
        for (int64_t i = 0; i < 40; i++)
            CHECK(typed_same(format, typed_at(&good, i, j), typed_at(&bad, i, j)) == (i < 39),
                  "C(%d, %d)", (int)i, (int)j);
    typed_free(&good);
    typed_free(&bad);
    typed_problem_free(&t);
}

/* Invalid arguments: the status, and a line that names the argument. C stays as it is. */

enum { MEMORY = 4096 };
static double *memory; /* device memory, so many elements of 1.0 */

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
    int misaligned;                          /* bit 0: a, 1: b, 2: c */
} call;

/* An operand of a call whose elements have so many bytes. */
static void *operand_of(const call *x, int which, size_t bytes, size_t alignment)
{
    const int64_t offset = which == 0 ? x->a : which == 1 ? x->b : x->c;
    const size_t off = x->misaligned >> which & 1 ? alignment / 2 : 0;
    return offset < 0 ? NULL : (char *)memory + (size_t)offset * bytes + off;
}

static tandem_status call_dgemm(const call *x)
{
    return tandem_dgemm(format->mode, (tandem_op)x->op_a, (tandem_op)x->op_b, x->m, x->n, x->k, 1.0,
                        operand_of(x, 0, 8, 8), x->lda, operand_of(x, 1, 8, 8), x->ldb, 0.0,
                        operand_of(x, 2, 8, 8), x->ldc, NULL);
}

/* Calls a function of the type. */
static tandem_status call_typed(const call *x, tandem_status (*function)(const ref_typed *p))
{
    const typed_scalar one = scalar_of(1.0), zero = scalar_of(0.0);
    const size_t bytes = format->bytes, alignment = format->alignment;
    const ref_typed gemm = {format,
                            (tandem_op)x->op_a,
                            (tandem_op)x->op_b,
                            x->m,
                            x->n,
                            x->k,
                            one.bytes,
                            zero.bytes,
                            operand_of(x, 0, bytes, alignment),
                            operand_of(x, 1, bytes, alignment),
                            operand_of(x, 2, bytes, alignment),
                            x->lda,
                            x->ldb,
                            x->ldc};
    return function(&gemm);
}

static tandem_status three_slices(const ref_typed *p) { return typed_sliced(3, p); }

/* All that multiply matrices of the type. */
static void check_typed_refused(const call *x, const char *word)
{
    check_refused(call_typed(x, functions->gemm), word);
    if (format == &ref_ts_format) check_refused(call_typed(x, three_slices), word);
}

/* No refused call has written anything. */
static void check_untouched(void)
{
    test_matrix now = matrix_make(MEMORY, 1, MEMORY, 0);
    device_check_clean("refused calls");
    device_download(&now, memory);
    for (int i = 0; i < MEMORY; i++) CHECK(now.storage[i] == 1.0, "element %d was written", i);
    matrix_free(&now);
}

TEST(invalid_products_are_refused)
{
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
        check_typed_refused(&calls[i], calls[i].word);
        if (!calls[i].misaligned) continue;
        char text[40];
        snprintf(text, sizeof text, "aligned to %d bytes", (int)format->alignment);
        check_typed_refused(&calls[i], text);
    }
    static const char *const modes[] = {NULL, "", "native", "nonsense", "df:3", "DF"};
    for (int i = 0; i < 6; i++)
        check_refused(tandem_dgemm(modes[i], TANDEM_OP_N, TANDEM_OP_N, 1, 1, 1, 1.0, memory, 1,
                                   memory + 1, 1, 0.0, memory + 2, 1, NULL),
                      "mode");
    check_untouched();
}

TEST(invalid_conversions_are_refused)
{
    static const struct {
        const char *word;
        int64_t rows, cols, a, lda, s,
            lds; /* a: elements from memory; s: bytes, past alignment; -1: NULL */
    } calls[] = {
        {"rows", -1, 1, 0, 1, 8192, 1},       {"cols", 1, -1, 0, 1, 8192, 1},
        {"lda", 3, 2, 0, 2, 8192, 3},         {"lds", 3, 2, 0, 3, 8192, 2},
        {"a is NULL", 3, 2, -1, 3, 8192, 3},  {"s is NULL", 3, 2, 0, 3, -1, 3},
        {"overlaps", 3, 2, 0, 3, 32, 3},      {"overlaps", 3, 2, 5, 3, 0, 3},
        {"aligned", 3, 2, 0, 3, 8192 + 2, 3},
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        double *a = calls[i].a < 0 ? NULL : memory + calls[i].a;
        void *s = calls[i].s < 0 ? NULL : (char *)memory + calls[i].s;
        check_refused(
            functions->split(calls[i].rows, calls[i].cols, a, calls[i].lda, s, calls[i].lds),
            calls[i].word);
        check_refused(
            functions->join(calls[i].rows, calls[i].cols, s, calls[i].lds, a, calls[i].lda),
            calls[i].word);
    }
    double *misaligned = (double *)((char *)memory + 4);
    void *s = memory + 1000;
    check_refused(functions->split(3, 2, misaligned, 3, s, 3), "aligned to 8 bytes");
    check_refused(functions->join(3, 2, s, 3, misaligned, 3), "aligned to 8 bytes");
    check_untouched();
}

/* Parts of one array side by side are no overlap, and what is not needed may be NULL. */
TEST(valid_corners_are_accepted)
{
    const call rows_of_one_array = {"", 0, 0, 4, 4, 4, 0, 12, 500, 4, 4, 12, 0};
    const call empty = {"", 0, 0, 0, 4, 4, -1, 1, 100, 4, -1, 1, 0};
    const call no_k = {"", 0, 0, 4, 4, 0, -1, 4, -1, 1, 200, 4, 0};
    const call *const calls[] = {&rows_of_one_array, &empty, &no_k};
    for (int i = 0; i < 3; i++) {
        CHECK(call_dgemm(calls[i]) == TANDEM_OK, "%d: %s", i, tandem_last_message());
        CHECK(tandem_last_message()[0] == '\0', "a message after success");
        CHECK(call_typed(calls[i], functions->gemm) == TANDEM_OK, "%d: %s", i,
              tandem_last_message());
        if (format != &ref_ts_format) continue;
        CHECK(call_typed(calls[i], three_slices) == TANDEM_OK, "%d: %s", i, tandem_last_message());
    }
    CHECK(functions->split(0, 0, NULL, 1, NULL, 1) == TANDEM_OK, "%s", tandem_last_message());
    CHECK(functions->join(5, 0, NULL, 5, NULL, 5) == TANDEM_OK, "%s", tandem_last_message());
    device_check_clean("valid corners");
}

TEST(texts_are_there)
{
    char version[32];
    snprintf(version, sizeof version, "%d.%d.%d", TANDEM_VERSION_MAJOR, TANDEM_VERSION_MINOR,
             TANDEM_VERSION_PATCH);
    CHECK(strcmp(tandem_version(), version) == 0, "%s", tandem_version());
    for (int i = TANDEM_OK; i <= TANDEM_LAUNCH_FAILED; i++)
        CHECK(tandem_status_text((tandem_status)i)[0], "status %d has no text", i);
    CHECK(tandem_status_text((tandem_status)99)[0], "an unknown status has no text");
}

static int set_up(void **unused)
{
    (void)unused;
    test_matrix ones = matrix_make(MEMORY, 1, MEMORY, 0);
    for (int i = 0; i < MEMORY; i++) ones.storage[i] = 1.0;
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
    int failed = 0;
    device_require();
    while ((tested = mode_after(tested))) {
        if (!tested->format) continue;
        format = tested->format;
        functions = typed_functions_of(format);
        failed += test_run(.name = format->type, .set_up = set_up, .tear_down = tear_down);
    }
    return failed;
}
