/* check_exact_sums.c - exact repairs of masks of any form, which no mode can be made to leave: the
 * kernels by themselves. */
#include "tests/support/test.h"

#include <math.h>
#include <stdlib.h>

#include "kernels/repair/repair.h"
#include "tests/support/bits.h"
#include "tests/kernels/support/checked.h"
#include "tests/kernels/support/device.h"

/* Operands: numbers from element 256 of k on, which the kernel has not seen when it guesses, times
 * 2^late. */
static const struct {
    const char *data;
    int late;
} operands[] = {
    {"uniform", 0},        {"both signs", 0},    {"wide 4", 0},
    {"scattered", 0},      {"zeros", 0},         {"integers", 0},
    {"some scattered", 0}, {"subnormal", 0},     {"least", 0},
    {"far crossing", 0},   {"uniform", -25},     {"both signs", -50},
    {"uniform", 40},       {"integers", 100},    {"all but cancelling", 0},
    {"lines apart", 0},    {"both signs", -62},  {"zeros", -1000},
    {"opposite", 0},       {"exact zeros", -25}, {"exact zeros", -45},
};
enum { OPERANDS = sizeof operands / sizeof *operands, SEEN = 256 };

/* Which elements are masked. */
typedef enum { ONE, BLOCK_OF_16, BLOCK_AND_ONE, ROW, COLUMN, SCATTERED, HALF, PATTERNS } pattern;

static bool is_masked(pattern form, int64_t i, int64_t j)
{
    const bool is_in_block = i >= 2 && i < 6 && j >= 3 && j < 7;
    switch (form) {
    case ONE:
        return i == 65 && j == 17;
    case BLOCK_OF_16:
        return is_in_block;
    case BLOCK_AND_ONE:
        return is_in_block || (i == 9 && j == 15);
    case ROW:
        return i == 5;
    case COLUMN:
        return j == 2;
    case SCATTERED:
        return (7 * i + 11 * j) % 43 == 5;
    default:
        return (i + j) % 2 == 0;
    }
}

/* A product, what is masked of it, and whether row 5 and element (7, 8) of C are not finite. */
typedef struct {
    problem p;
    pattern form;
    bool has_specials, has_records; /* has_records: of lines, which tell the kernels their spans */
    uint16_t *masks;
    size_t mask_bytes;
} masked;

static int64_t mask_index(const product *of, int64_t i, int64_t j)
{
    const int64_t tile = j / TD_TILE * ((of->m + TD_TILE - 1) / TD_TILE) + i / TD_TILE;
    return tile * TD_SUBTILES + j % TD_TILE / TD_SUBTILE * (TD_TILE / TD_SUBTILE) +
           i % TD_TILE / TD_SUBTILE;
}

static unsigned mask_bit(int64_t i, int64_t j)
{
    return 1u << (j % TD_SUBTILE * TD_SUBTILE + i % TD_SUBTILE);
}

static bool is_left(const masked *t, int64_t i, int64_t j)
{
    return t->has_specials && (i == 5 || (i == 7 && j == 8 && t->p.of.beta != 0.0));
}

static void scale_late(const product *of, test_matrix *x, bool k_is_row, int late)
{
    for (int64_t l = SEEN; l < of->k; l++)
        for (int64_t line = 0; line < (k_is_row ? x->cols : x->rows); line++) {
            double *number = k_is_row ? matrix_at(x, l, line) : matrix_at(x, line, l);
            *number = ldexp(*number, late);
        }
}

static masked masked_make(const product *of, int late, pattern form, bool has_specials,
                          bool has_records)
{
    masked t = {.p = problem_make(of),
                .form = form,
                .has_specials = has_specials,
                .has_records = has_records};
    const int64_t tiles = ((of->m + TD_TILE - 1) / TD_TILE) * ((of->n + TD_TILE - 1) / TD_TILE);
    t.mask_bytes = (size_t)(tiles * TD_SUBTILES) * sizeof *t.masks;
    t.masks = calloc(1, t.mask_bytes);
    CHECK(t.masks, "out of memory");
    if (late) {
        scale_late(of, &t.p.a, of->op_a == TANDEM_OP_T, late);
        scale_late(of, &t.p.b, of->op_b == TANDEM_OP_N, late);
    }
    if (has_specials) {
        const int64_t l = of->k - 1;
        *(of->op_a == TANDEM_OP_N ? matrix_at(&t.p.a, 5, l) : matrix_at(&t.p.a, l, 5)) = INFINITY;
        if (of->beta != 0.0) *matrix_at(&t.p.c, 7, 8) = NAN;
    }
    for (int64_t j = 0; j < of->n; j++)
        for (int64_t i = 0; i < of->m; i++)
            if (is_masked(form, i, j)) t.masks[mask_index(of, i, j)] |= (uint16_t)mask_bit(i, j);
    return t;
}

static void masked_free(masked *t)
{
    problem_free(&t->p);
    free(t->masks);
}

/* Exponent of the lowest bit that is set in a finite number other than 0. */
static int lowest_bit(double x)
{
    int e;
    uint64_t significand = (uint64_t)ldexp(frexp(fabs(x), &e), 53);
    for (e -= 53; significand % 2 == 0; e++) significand /= 2;
    return e;
}

/* What the exact sums read of a line's record: exponents, and whether there are none. */
static td_line record_of(const test_matrix *x, bool lines_are_rows, int64_t line)
{
    td_line record = {.low = TD_NO_LOW};
    const int64_t k = lines_are_rows ? x->cols : x->rows;
    for (int64_t l = 0; l < k && record.low != TD_SPECIAL; l++) {
        const double value = lines_are_rows ? *matrix_at(x, line, l) : *matrix_at(x, l, line);
        if (!isfinite(value)) record.low = TD_SPECIAL;
        if (value == 0.0 || record.low == TD_SPECIAL) continue;
        const int low = lowest_bit(value), peak = TD_LOG * ilogb(value);
        record.peak = record.low == TD_NO_LOW || peak > record.peak ? peak : record.peak;
        record.low = (int16_t)(low < record.low ? low : record.low);
    }
    return record;
}

/* The records of all lines of an operand, on the device. */
static td_line *upload_records(const test_matrix *x, bool lines_are_rows)
{
    const int64_t lines = lines_are_rows ? x->rows : x->cols;
    td_line *records = malloc((size_t)lines * sizeof *records);
    for (int64_t i = 0; i < lines; i++) records[i] = record_of(x, lines_are_rows, i);
    td_line *const uploaded = device_copy(records, (size_t)lines * sizeof *records);
    free(records);
    return uploaded;
}

/* What the sums may read besides the operands; `all` is freed after them. */
static void give_records(const masked *t, td_repair *r, void *all[3])
{
    const product *of = &t->p.of;
    const int32_t none = 0;
    td_line *const a = upload_records(&t->p.a, of->op_a == TANDEM_OP_N), *const b = upload_records(
                                                                             &t->p.b,
                                                                             of->op_b ==
                                                                                 TANDEM_OP_T);
    int32_t *const shifted = device_copy(&none, sizeof none);
    all[0] = a, all[1] = b, all[2] = shifted;
    r->line[0] = a;
    r->line[1] = b;
    r->lines_of_member[0] = of->m;
    r->lines_of_member[1] = of->n;
    r->shifted = shifted;
}

/* C and the masks as the kernels leave them; returns how many elements they say they did. */
static unsigned long long masked_run(masked *t, test_matrix *c)
{
    const product *of = &t->p.of;
    unsigned long long count = 0;
    void *records[3] = {NULL, NULL, NULL};
    double *a = device_upload(&t->p.a), *b = device_upload(&t->p.b), *dc = device_upload(c);
    uint16_t *const masks = device_copy(t->masks, t->mask_bytes);
    unsigned long long *const repaired = device_copy(&count, sizeof count);
    td_repair r = {
        .operand = {device_lines(device_matrix(&t->p.a, a), &t->p.a, of->op_a == TANDEM_OP_N),
                    device_lines(device_matrix(&t->p.b, b), &t->p.b, of->op_b == TANDEM_OP_T)},
        .target = {.c = device_matrix(c, dc),
                   .m = (int)of->m,
                   .n = (int)of->n,
                   .alpha.value.binary64 = of->alpha,
                   .beta.value.binary64 = of->beta,
                   .masks = masks},
        .kind = TD_REPAIR_EXACT,
        .repaired = repaired,
    };
    if (t->has_records) give_records(t, &r, records);
    CHECK_CUDA(td_exact_narrow_run(&r, 1, NULL));
    CHECK_CUDA(td_exact_wide_run(&r, 1, NULL));
    device_check_clean(product_text(of));
    device_download(c, dc);
    device_fetch(t->masks, masks, t->mask_bytes);
    device_fetch(&count, repaired, sizeof count);
    void *const all[] = {a, b, dc, masks, repaired, records[0], records[1], records[2]};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) device_free(all[i]);
    return count;
}

static void check_element(const masked *t, const test_matrix *got, int64_t i, int64_t j,
                          bool is_done)
{
    test_matrix before = t->p.c;
    const ref_gemm gemm = problem_gemm(&t->p, &before);
    const double x = *matrix_at(got, i, j);
    const double want = is_done ? ref_measure(&gemm, i, j, 0.0).nearest : *matrix_at(&t->p.c, i, j);
    CHECK(is_done ? x == want : bits_of(x) == bits_of(want),
          "masks %d, specials %d, records %d: C(%d, %d) is %a, not %a: %s", (int)t->form,
          t->has_specials, t->has_records, (int)i, (int)j, x, want, product_text(&t->p.of));
    const bool is_set = t->masks[mask_index(&t->p.of, i, j)] & mask_bit(i, j);
    CHECK(is_set == (is_masked(t->form, i, j) && !is_done), "masks %d: that of C(%d, %d) is %d: %s",
          (int)t->form, (int)i, (int)j, is_set, product_text(&t->p.of));
}

static unsigned long long check_masked(const product *of, int late, pattern form, bool has_specials,
                                       bool has_records)
{
    masked t = masked_make(of, late, form, has_specials, has_records);
    test_matrix c = matrix_copy(&t.p.c);
    const unsigned long long counted = masked_run(&t, &c);
    unsigned long long count = 0;
    CHECK(matrix_damage(&c) == -1, "C's surroundings were written: %s", product_text(of));
    for (int64_t j = 0; j < of->n; j++)
        for (int64_t i = 0; i < of->m; i++) {
            const bool is_done = is_masked(form, i, j) && !is_left(&t, i, j);
            check_element(&t, &c, i, j, is_done);
            count += is_done;
        }
    CHECK(count == counted, "%d elements were counted for %d: %s", (int)counted, (int)count,
          product_text(of));
    matrix_free(&c);
    masked_free(&t);
    return count;
}

/* Around what the kernels see at once of k; every operand with every form of masks, k and layout in
 * turn. */
TEST(masks_of_any_form)
{
    static const int64_t k[] = {1, 255, 256, 257, 1024, 1025, 5000};
    unsigned long long count = 0;
    int run = 0;
    for (int o = 0; o < OPERANDS; o++)
        for (int form = 0; form < PATTERNS; form++)
            for (int i = 0; i < (test_is_brief() ? 4 : 7); i++, run++) {
                if (k[i] > 1025 && form > SCATTERED) continue;
                product of =
                    product_varied(operands[o].data, 66, 20, k[i], run % 4 + (o + form) % 4);
                of.pad_b = run % 2;
                count +=
                    check_masked(&of, operands[o].late, (pattern)form, run % 3 == 1, run / 2 % 2);
            }
    test_note("%d products, %llu elements repaired", run, count);
}

/* More products for each thread than fit its sums without carries. */
TEST(long_lines)
{
    for (int which = 0; which < (test_is_brief() ? 1 : 4); which++) {
        const product of = product_varied("uniform", 3, 3, 400000, which);
        CHECK(check_masked(&of, 0, COLUMN, false, which % 2) == 3, "a column has 3 elements");
    }
}
