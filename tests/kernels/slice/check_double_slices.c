/* check_double_slices.c - sums of products of binary64 digits against whole numbers, and which
 * digits are listed: slices that are dense, sparse to the limit, just beyond it, and zero, in tiles
 * of all kinds. */
#include "tests/support/test.h"

#include <stdbool.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/slice/double_split.h"
#include "tests/support/random.h"
#include "tests/kernels/support/device.h"

typedef struct {
    int m, n, k, slices, batch, capacity;
    bool accumulate;
} slices_case;

static const slices_case cases[] = {
    {16, 16, 64, 2, 1, 0, false},    {16, 80, 128, 3, 2, 1, false},
    {128, 64, 256, 4, 1, 2, true},   {144, 80, 192, 4, 3, 3, false},
    {272, 208, 320, 5, 1, 2, true},  {112, 400, 640, 7, 1, 5, false},
    {400, 144, 1024, 4, 1, 8, true}, {2064, 32, 64, 3, 1, 1, false},
};
enum { CASES = sizeof cases / sizeof *cases };

/* One operand: digits, and what the kernel should find of them. */
typedef struct {
    size_t digits, lists; /* of all members and slices */
    double *digit;
    int *count;
    double *device_digit;
    int32_t *device_count, *device_where;
} operand;

typedef struct {
    slices_case of;
    operand operand[2];
    size_t sums;
    double *sum, *device_sum;
    td_choice *choice, *device_choice; /* [batch] */
} slices_data;

static const char *text_of(const slices_case *c)
{
    static char text[128];
    snprintf(text, sizeof text, "m=%d n=%d k=%d slices %d batch %d capacity %d%s", c->m, c->n, c->k,
             c->slices, c->batch, c->capacity, c->accumulate ? " accumulated" : "");
    return text;
}

static int lines_of(const slices_case *c, int o) { return o ? c->n : c->m; }

/* What the lines of a slice hold, for 64 of them at a time: a tile may be of two kinds, or more. */
typedef enum { ZERO, FULL, TO_THE_LIMIT, ONE_LINE_BEYOND, ONE_DIGIT, KINDS } slice_kind;

static int nonzeros(slice_kind kind, const slices_case *c, int line)
{
    const int beyond = c->capacity + 1 < c->k ? c->capacity + 1 : c->k;
    switch (kind) {
    case FULL:
        return c->k;
    case TO_THE_LIMIT:
        return c->capacity;
    case ONE_LINE_BEYOND:
        return line % 64 == 13 ? beyond : 0;
    case ONE_DIGIT:
        return line % 64 == 15;
    default:
        return 0;
    }
}

static double random_digit(test_random *r)
{
    const int digit = random_int(r, -(1 << 18), 1 << 18);
    return digit ? digit : 1;
}

static void fill_line(test_random *r, double *line, int k, int count)
{
    for (int l = 0; l < k && count == k; l++) line[l] = random_digit(r);
    for (int left = count == k ? 0 : count; left > 0;) {
        double *at = &line[random_int(r, 0, k - 1)];
        if (*at != 0.0) continue;
        *at = random_digit(r);
        left--;
    }
}

static operand operand_make(test_random *r, const slices_case *c, int o)
{
    const int lines = lines_of(c, o), slices = c->slices * c->batch;
    operand x = {.lists = (size_t)slices * (size_t)lines};
    x.digits = x.lists * (size_t)c->k;
    x.digit = test_zeros(x.digits, sizeof *x.digit);
    x.count = test_zeros(x.lists, sizeof *x.count);
    for (int slice = 0; slice < slices; slice++) {
        slice_kind kind = ZERO;
        for (int line = 0; line < lines; line++) {
            const size_t at = (size_t)slice * (size_t)lines + (size_t)line;
            if (line % 64 == 0) kind = (slice_kind)random_int(r, 0, KINDS - 1);
            x.count[at] = nonzeros(kind, c, line);
            fill_line(r, x.digit + at * (size_t)c->k, c->k, x.count[at]);
        }
    }
    const size_t places = x.lists * (size_t)c->capacity;
    int32_t *poison = test_zeros(places > x.lists ? places : x.lists, sizeof *poison);
    memset(poison, 0x7f, x.lists * sizeof *poison);
    x.device_digit = device_copy(x.digit, x.digits * sizeof *x.digit);
    x.device_count = device_copy(poison, x.lists * sizeof *poison);
    memset(poison, 0x7f, places * sizeof *poison);
    x.device_where = device_copy(poison, places * sizeof *poison);
    free(poison);
    return x;
}

static slices_data slices_make(const slices_case *c, uint64_t seed)
{
    test_random r = random_start(seed);
    slices_data d = {.of = *c};
    for (int o = 0; o < 2; o++) d.operand[o] = operand_make(&r, c, o);
    d.sums = (size_t)c->slices * (size_t)c->batch * (size_t)c->m * (size_t)c->n;
    d.sum = test_zeros(d.sums, sizeof *d.sum);
    for (size_t i = 0; i < d.sums; i++)
        d.sum[i] = c->accumulate ? random_int(&r, -1000000, 1000000) : (double)NAN;
    d.device_sum = device_copy(d.sum, d.sums * sizeof *d.sum);
    const size_t members = (size_t)c->batch;
    d.choice = test_zeros(members, sizeof *d.choice);
    for (size_t z = 0; z < members; z++)
        d.choice[z].parameter = random_int(&r, 0, 2) ? c->slices : random_int(&r, 2, c->slices);
    d.device_choice = device_copy(d.choice, members * sizeof *d.choice);
    return d;
}

static void slices_free(slices_data *d)
{
    for (int o = 0; o < 2; o++) {
        test_drop(d->operand[o].digit, d->operand[o].count);
        device_free(d->operand[o].device_digit, d->operand[o].device_count,
                    d->operand[o].device_where);
    }
    test_drop(d->sum, d->choice);
    device_free(d->device_sum, d->device_choice);
}

static td_double_slices slices_of(const slices_data *d)
{
    const slices_case *c = &d->of;
    td_double_slices s = {.slices = c->slices,
                          .batch = c->batch,
                          .choice = d->device_choice,
                          .k = c->k,
                          .capacity = c->capacity,
                          .sum = d->device_sum,
                          .accumulate = c->accumulate};
    for (int o = 0; o < 2; o++) {
        s.lines[o] = lines_of(c, o);
        s.digit[o] = d->operand[o].device_digit;
        s.count[o] = d->operand[o].device_count;
        s.where[o] = d->operand[o].device_where;
    }
    return s;
}

/* Counts up to the capacity are exact, and their places are all of the digits, once. */
static void check_lists(const slices_data *d, int o)
{
    const slices_case *c = &d->of;
    const operand *x = &d->operand[o];
    const size_t places = x->lists * (size_t)c->capacity;
    int32_t *count = test_zeros(x->lists, sizeof *count),
            *where = test_zeros(places, sizeof *where);
    CHECK_CUDA(
        cudaMemcpy(count, x->device_count, x->lists * sizeof *count, cudaMemcpyDeviceToHost));
    CHECK_CUDA(cudaMemcpy(where, x->device_where, places * sizeof *where, cudaMemcpyDeviceToHost));
    for (size_t at = 0; at < x->lists; at++) {
        const int slice = (int)(at / (size_t)lines_of(c, o)), member = slice / c->slices;
        const bool is_used = slice % c->slices < d->choice[member].parameter;
        const int wanted = is_used ? x->count[at] : 0;
        const bool is_listed = wanted <= c->capacity;
        CHECK(is_listed ? count[at] == wanted : count[at] > c->capacity,
              "list %zu of operand %d: %d digits, not %d: %s", at, o, count[at], wanted,
              text_of(c));
        for (int i = 0; i < count[at] && is_listed; i++) {
            const int32_t l = where[at * (size_t)c->capacity + (size_t)i];
            const bool is_new = i == 0 || l > where[at * (size_t)c->capacity + (size_t)i - 1];
            CHECK(is_new && l >= 0 && l < c->k && x->digit[at * (size_t)c->k + (size_t)l] != 0.0,
                  "list %zu of operand %d has %d: %s", at, o, (int)l, text_of(c));
        }
    }
    test_drop(count, where);
}

static const double *line_at(const slices_data *d, int o, int z, int slice, int line)
{
    const slices_case *c = &d->of;
    const int64_t at = ((int64_t)z * c->slices + slice) * lines_of(c, o) + line;
    return d->operand[o].digit + at * c->k;
}

/* The elements of slices are whole numbers. */
TEST_UNWATCHED static int64_t dot(const double *x, const double *y, int count)
{
    int64_t sum = 0;
    for (int l = 0; l < count; l++) sum += (int64_t)x[l] * (int64_t)y[l];
    return sum;
}

/* Sums of a pair of slices of member z are added to those of its weight. */
static void add_pair(const slices_data *d, int z, int a, int b)
{
    const slices_case *c = &d->of;
    double *sum = d->sum + ((int64_t)z * c->slices + a + b) * c->m * c->n;
    for (int j = 0; j < c->n; j++)
        for (int i = 0; i < c->m; i++) {
            const double *x = line_at(d, 0, z, a, i), *y = line_at(d, 1, z, b, j);
            sum[i + (int64_t)j * c->m] += (double)dot(x, y, c->k);
        }
}

static void check_sums(const slices_data *d)
{
    const slices_case *c = &d->of;
    double *got = test_zeros(d->sums, sizeof *got);
    CHECK_CUDA(cudaMemcpy(got, d->device_sum, d->sums * sizeof *got, cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < d->sums && !c->accumulate; i++) d->sum[i] = 0.0;
    for (int z = 0; z < c->batch; z++)
        for (int weight = 0; weight < d->choice[z].parameter; weight++)
            for (int a = 0; a <= weight; a++) add_pair(d, z, a, weight - a);
    const size_t plane = (size_t)c->m * (size_t)c->n;
    for (size_t i = 0; i < d->sums; i++) {
        const size_t weight = i / plane % (size_t)c->slices, member = i / plane / (size_t)c->slices;
        if ((int)weight >= d->choice[member].parameter) continue;
        CHECK(got[i] == d->sum[i], "sum %zu is %.17g, not %.17g: %s", i, got[i], d->sum[i],
              text_of(c));
    }
    free(got);
}

TEST(sums_are_exact)
{
    CHECK_CUDA(td_double_slices_prepare());
    CHECK_CUDA(td_double_multiply_prepare());
    CHECK_CUDA(td_double_sparse_prepare());
    for (int i = 0; i < CASES; i++)
        for (uint64_t seed = 0; seed < (test_is_brief() ? 1 : 4); seed++) {
            slices_data d = slices_make(&cases[i], 100 * (uint64_t)i + seed);
            const td_double_slices slices = slices_of(&d);
            CHECK_CUDA(td_double_slices_count(&slices, NULL));
            CHECK_CUDA(td_double_slices_multiply(&slices, NULL));
            CHECK_CUDA(td_double_slices_multiply_sparse(&slices, NULL));
            device_check_clean(text_of(&cases[i]));
            for (int o = 0; o < 2; o++) check_lists(&d, o);
            check_sums(&d);
            slices_free(&d);
        }
}
