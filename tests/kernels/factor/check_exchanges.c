/* check_exchanges.c - exchanges of rows, as pivots of an LU name them, have the bits of a loop on
 * the host: all of them in either order, few of a panel, those of a block of columns, and those
 * that come late. What is between the columns stays as it was. */
#include "tests/support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels/factor/late_rows.h"
#include "lib/routine/problem.h"
#include "pivots.h"
#include "tests/kernels/support/device.h"
#include "tests/support/random.h"

typedef enum { AS_LU, ANY_ROW, LAST_ROW, OWN_ROW, ROTATION, PIVOT_PATTERNS } pattern;

/* `before`: rows above the matrix, which the pivots count, too. */
typedef struct {
    td_type type;
    int rows, columns, ld, exchanges, before;
    pivot_kind kind;
    pattern of;
    bool is_backward;
    uint64_t state;
} exchange_case;

typedef struct {
    number *b, *made; /* before, and what the device made of it */
    int64_t *pivots;  /* of the matrix's own rows */
} exchange_data;

static const char *text_of(const exchange_case *c)
{
    static char text[160];
    snprintf(text, sizeof text,
             "%s, %d x %d, ld %d, %d exchanges, %d before, kind %d, pattern %d, backward %d",
             td_types[c->type].name, c->rows, c->columns, c->ld, c->exchanges, c->before,
             (int)c->kind, (int)c->of, c->is_backward);
    return text;
}

static bool is_complex(const exchange_case *c) { return c->type == TD_COMPLEX_BINARY64; }
static size_t elements_of(const exchange_case *c) { return at(0, c->columns, c->ld); }

static void make_pivots(const exchange_case *c, uint64_t *state, int64_t *pivots)
{
    const int n = c->rows;
    for (int i = 0; i < n; i++) {
        const double share = (random_signed(state) + 1.0) * 0.5;
        pivots[i] = c->of == AS_LU      ? i + 1 + (int64_t)(share * (n - i))
                    : c->of == ANY_ROW  ? 1 + (int64_t)(share * n)
                    : c->of == LAST_ROW ? n
                    : c->of == OWN_ROW  ? i + 1
                                        : (i + 1) % n + 1;
    }
}

static exchange_data make_data(const exchange_case *c)
{
    const size_t count = elements_of(c);
    uint64_t state = c->state;
    exchange_data d = {test_memory(count * sizeof *d.b), test_memory(count * sizeof *d.made),
                       test_memory((size_t)c->rows * sizeof *d.pivots)};
    for (size_t e = 0; e < count; e++)
        d.b[e] =
            (int)(e % (size_t)c->ld) < c->rows ? drawn_number(&state, is_complex(c)) : (number)NAN;
    make_pivots(c, &state, d.pivots);
    return d;
}

static void *upload_counted_pivots(const exchange_case *c, const int64_t *pivots)
{
    int64_t *counted = test_memory((size_t)c->rows * sizeof *counted);
    for (int i = 0; i < c->rows; i++) counted[i] = pivots[i] + c->before;
    void *device = upload_pivots(c->kind, counted, c->rows);
    free(counted);
    return device;
}

/* `is_few`: by the kernel for as many rows as a panel has columns, which moves no others but by an
 * exchange of their own. */
static void check_exchange(const exchange_case *c, bool is_few)
{
    const size_t count = elements_of(c);
    exchange_data d = make_data(c);
    void *b = numbers_upload(d.b, count, is_complex(c)),
         *pivots = upload_counted_pivots(c, d.pivots), *work = NULL;
    const td_row_exchange x = {.is_complex = is_complex(c),
                               .b = b,
                               .ld = c->ld,
                               .rows = c->rows,
                               .columns = c->columns,
                               .exchanges = c->exchanges,
                               .pivots = pivots,
                               .before = c->before,
                               .has_wide_pivots = c->kind == WIDE_PIVOTS,
                               .is_backward = c->is_backward};
    CHECK_CUDA(cudaMalloc(&work, td_row_exchange_bytes(&x)));
    CHECK_CUDA(is_few ? td_few_exchanges_run(&x, NULL) : td_row_exchange_run(&x, work, NULL));
    numbers_download(d.made, count, is_complex(c), b);
    for (int j = 0; j < c->columns; j++)
        exchange_rows(d.pivots, c->exchanges, c->is_backward, d.b + at(0, j, c->ld));
    for (size_t e = 0; e < count; e++)
        CHECK(is_same_number(d.made[e], d.b[e]), "%s: element %zu", text_of(c), e);
    for (void **p = (void *[]){b, pivots, work, NULL}; *p; p++) device_free(*p);
    test_drop(d.b, d.made, d.pivots);
}

static exchange_case case_of(int rows, int columns, int which, pattern of)
{
    return (exchange_case){.type = which % 2 ? TD_COMPLEX_BINARY64 : TD_BINARY64,
                           .rows = rows,
                           .columns = columns,
                           .ld = rows + which % 3,
                           .exchanges = rows,
                           .of = of,
                           .state = test_seed()};
}

TEST(few_exchanges_have_the_bits_of_a_loop)
{
    static const int sizes[][3] = {{1, 1, 1},      {2, 9, 1},     {33, 8, 33},   {300, 7, 64},
                                   {256, 20, 256}, {257, 3, 256}, {700, 33, 200}};
    static const pattern patterns[] = {AS_LU, LAST_ROW, OWN_ROW};
    CHECK_CUDA(td_rows_prepare());
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int of = 0; of < 3; of++)
            for (int which = 0; which < 4; which++) {
                exchange_case c = case_of(sizes[i][0], sizes[i][1], which, patterns[of]);
                c.exchanges = sizes[i][2];
                c.kind = which & 2 ? WIDE_PIVOTS : PIVOTS;
                check_exchange(&c, true);
            }
}

/* Of a block of columns of an LU there are fewer exchanges than rows, and rows before them. */
TEST(exchanges_have_the_bits_of_a_loop)
{
    static const int sizes[][2] = {{1, 1},    {2, 40},  {31, 3},  {32, 1},
                                   {33, 900}, {300, 7}, {2500, 2}};
    CHECK_CUDA(td_rows_prepare());
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int of = 0; of < PIVOT_PATTERNS; of++)
            for (int which = 0; which < 8; which++) {
                if (test_is_brief() && (which + 3 * of + (int)i) % 5) continue;
                exchange_case c = case_of(sizes[i][0], sizes[i][1], which, (pattern)of);
                if ((i + (size_t)of) % 2) {
                    c.exchanges = (c.rows + 2) / 3;
                    c.before = 1000;
                }
                c.kind = which & 4 ? WIDE_PIVOTS : PIVOTS;
                c.is_backward = which & 2;
                check_exchange(&c, false);
            }
}

/* ---- late rows ---- */

/* A block of columns from..to - 1, which are noted down `width` at a time. */
typedef struct {
    exchange_case of;
    int from, to, width;
    bool raises;
} late_case;

enum { BEHIND, BEFORE, FIRST }; /* stages */

static td_late_rows late_rows_of(const late_case *c, void *b)
{
    const exchange_case *of = &c->of;
    const size_t bytes = (is_complex(of) ? 2 : 1) * sizeof(double),
                 kept = (size_t)(c->to - c->from) * (size_t)of->columns;
    td_late_rows late = {.is_complex = is_complex(of),
                         .a = b,
                         .ld = of->ld,
                         .rows = of->rows,
                         .stages = FIRST,
                         .stage = {{c->to, of->columns, c->from}, {0, c->from, c->from}},
                         .kept_ld = c->to - c->from,
                         .kept_row = c->from,
                         .kept_column = c->from};
    void *order;
    CHECK_CUDA(cudaMalloc(&order, TD_LATE_STAGES * (size_t)of->rows * sizeof(int)));
    late.order = order;
    CHECK_CUDA(cudaMalloc(&late.kept, kept * bytes));
    CHECK_CUDA(cudaMalloc(&late.work, td_late_bytes(late.is_complex, of->rows)));
    for (int stage = 0; stage < FIRST; stage++) CHECK_CUDA(td_late_begin(&late, stage, NULL));
    return late;
}

/* The exchanges of columns first..behind - 1, which become a stage then. */
static void exchange_late(const late_case *c, td_late_rows *late, const void *pivots, int first)
{
    const int behind = first + c->width < c->to ? first + c->width : c->to, stage = late->stages;
    const bool is_wide = c->of.kind == WIDE_PIVOTS;
    const td_row_exchange x = {.exchanges = behind - first,
                               .pivots = is_wide ? (const void *)((const int64_t *)pivots + first)
                                                 : (const void *)((const int *)pivots + first),
                               .before = first,
                               .has_wide_pivots = is_wide};
    CHECK_CUDA(td_late_exchange(late, &x, NULL));
    if (c->raises) {
        CHECK_CUDA(td_late_raise(late, first, behind, BEHIND, BEFORE, NULL));
        CHECK_CUDA(td_late_raise(late, first, behind, FIRST, stage, NULL));
    }
    late->stage[late->stages++] = (td_late_stage){first, behind, behind};
    CHECK_CUDA(td_late_begin(late, stage, NULL));
}

static void end_late(const late_case *c, const td_late_rows *late)
{
    if (!c->raises) {
        CHECK_CUDA(td_late_pass(late, BEHIND, BEFORE, NULL));
        CHECK_CUDA(td_late_pass(late, BEFORE, late->stages, NULL));
        return;
    }
    CHECK_CUDA(td_late_settle(late, c->to, BEHIND, BEFORE, NULL));
    CHECK_CUDA(td_late_settle(late, c->to, FIRST, late->stages, NULL));
    CHECK_CUDA(td_late_pass(late, BEFORE, FIRST, NULL));
}

/* A column of the block meets the exchanges of those behind what is noted down with it alone. */
static void exchange_column(const late_case *c, const int64_t *pivots, int j, number *column)
{
    const int group = (j - c->from) / c->width + 1;
    int first = j < c->from || j >= c->to ? c->from : c->from + group * c->width;
    for (; first < c->to; first++) {
        const number kept = column[first];
        column[first] = column[pivots[first] - 1];
        column[pivots[first] - 1] = kept;
    }
}

static void check_late(const late_case *c)
{
    const exchange_case *of = &c->of;
    const size_t count = elements_of(of);
    exchange_data d = make_data(of);
    void *b = numbers_upload(d.b, count, is_complex(of)),
         *pivots = upload_counted_pivots(of, d.pivots);
    td_late_rows late = late_rows_of(c, b);
    for (int first = c->from; first < c->to; first += c->width)
        exchange_late(c, &late, pivots, first);
    end_late(c, &late);
    numbers_download(d.made, count, is_complex(of), b);
    for (int j = 0; j < of->columns; j++) exchange_column(c, d.pivots, j, d.b + at(0, j, of->ld));
    for (size_t e = 0; e < count; e++)
        CHECK(is_same_number(d.made[e], d.b[e]), "%s, late, columns %d to %d by %d: element %zu",
              text_of(of), c->from, c->to, c->width, e);
    for (void **p = (void *[]){b, pivots, late.order, late.kept, late.work, NULL}; *p; p++)
        device_free(*p);
    test_drop(d.b, d.made, d.pivots);
}

TEST(late_exchanges_have_the_bits_of_a_loop)
{
    /* rows, columns, the block's first column and the one behind it, and how many at a time */
    static const int sizes[][5] = {{40, 60, 0, 32, 8},
                                   {70, 50, 10, 50, 7},
                                   {300, 90, 20, 85, 65},
                                   {90, 200, 64, 90, 26},
                                   {600, 640, 3, 520, 256}};
    static const pattern patterns[] = {AS_LU, LAST_ROW, OWN_ROW};
    CHECK_CUDA(td_late_prepare());
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int of = 0; of < 3; of++)
            for (int which = 0; which < 4; which++) {
                const int *const size = sizes[i];
                late_case c = {case_of(size[0], size[1], which, patterns[of]), size[2], size[3],
                               size[4], (which + of) & 2};
                c.of.kind = (which ^ (int)i) & 1 ? WIDE_PIVOTS : PIVOTS;
                check_late(&c);
            }
}
