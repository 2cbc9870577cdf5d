/* check_probe.c - the probe that mode auto makes before a call: which lines of the operands it
 * looks at, in every form that they have, and what it says of kinds of data by the prices of an
 * H100. Its workspace and verdict are poisoned before. */
#include "tests/support/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/select/probe.h"
#include "lib/model/cost.h"
#include "lib/model/prices.h"
#include "lib/engines/ozaki/scheme.h"
#include "tests/kernels/select/probed_lines.h"
#include "tests/support/random.h"
#include "tests/kernels/support/device.h"
#include "tests/kernels/support/modes.h"

enum { LEFT, RIGHT, OPERANDS };
enum { GUARD_BYTES = 256, POISON = 0xff }; /* doubles of such bytes are NaN */

/* ---- operands ---- */

/* op(A) is m x k and op(B) k x n: lines of op(A) are rows, those of op(B) columns. */
typedef struct {
    int64_t lines[OPERANDS], k;
    int batch;
    bool is_complex, has_array;
    tandem_op op[OPERANDS];
} form;

typedef struct {
    form of;
    int64_t rows[OPERANDS], ld[OPERANDS], stride[OPERANDS]; /* in elements */
    double *host[OPERANDS], *device[OPERANDS];
    void **array[OPERANDS];
} operands;

static int parts_of(const form *f) { return f->is_complex ? 2 : 1; }

static size_t numbers_of(const operands *x, int which)
{
    return (size_t)(x->stride[which] * x->of.batch * parts_of(&x->of));
}

/* Real number `at` of a line: of complex elements their parts. */
static double *number_at(const operands *x, int which, int member, int64_t line, int64_t at)
{
    const int parts = parts_of(&x->of);
    const bool goes_along_columns = (which == RIGHT) == (x->of.op[which] == TANDEM_OP_N);
    const int64_t l = at / parts, row = goes_along_columns ? l : line,
                  column = goes_along_columns ? line : l;
    return x->host[which] + parts * (member * x->stride[which] + column * x->ld[which] + row) +
           at % parts;
}

/* What is between the matrices' columns, and behind them, is NaN. */
static operands make_operands(const form *f)
{
    operands x = {.of = *f};
    for (int which = 0; which < OPERANDS; which++) {
        const bool goes_along_columns = (which == RIGHT) == (f->op[which] == TANDEM_OP_N);
        const int64_t columns = goes_along_columns ? f->lines[which] : f->k;
        x.rows[which] = goes_along_columns ? f->k : f->lines[which];
        x.ld[which] = x.rows[which] + 3;
        x.stride[which] = x.ld[which] * columns + 5;
        x.host[which] = test_memory(numbers_of(&x, which) * sizeof(double));
        memset(x.host[which], POISON, numbers_of(&x, which) * sizeof(double));
        CHECK_CUDA(cudaMalloc((void **)&x.device[which], numbers_of(&x, which) * sizeof(double)));
        CHECK_CUDA(cudaMalloc((void **)&x.array[which], (size_t)f->batch * sizeof(void *)));
        for (int i = 0; i < f->batch; i++) {
            const void *member = x.device[which] + i * x.stride[which] * parts_of(f);
            CHECK_CUDA(
                cudaMemcpy(x.array[which] + i, &member, sizeof member, cudaMemcpyHostToDevice));
        }
    }
    return x;
}

static void free_operands(operands *x)
{
    for (int which = 0; which < OPERANDS; which++) {
        free(x->host[which]);
        CHECK_CUDA(cudaFree(x->device[which]));
        CHECK_CUDA(cudaFree(x->array[which]));
    }
}

/* A number of a line. */
typedef double (*kind)(test_random *r, int which, int64_t line, int64_t at, int64_t count);

static void fill(operands *x, kind left, kind right)
{
    const int64_t count = x->of.k * parts_of(&x->of);
    test_random r = random_start(77);
    for (int which = 0; which < OPERANDS; which++)
        for (int member = 0; member < x->of.batch; member++)
            for (int64_t line = 0; line < x->of.lines[which]; line++)
                for (int64_t at = 0; at < count; at++)
                    *number_at(x, which, member, line, at) =
                        (which ? right : left)(&r, which, line, at, count);
}

/* ---- probes ---- */

static const td_real_product a_product = {
    .type = TD_BINARY64, .m = 4096, .n = 4096, .k = 4096, .batch = 1};

static td_rule rule_of(const form *f, td_prices prices)
{
    td_real_product p = a_product;
    td_rule rule;
    p.k = f->k * parts_of(f);
    p.is_paired = f->is_complex;
    td_parameter parameter = {.prices = prices};
    memset(&rule, 0, sizeof rule);
    td_scheme_residues.choose(
        &(td_scheme_case){&td_scheme_residues, td_moduli_of(&p, false, parameter), p.k, p.m, p.n},
        &rule);
    return rule;
}

static td_folded folded_of(const operands *x, int which)
{
    const form *f = &x->of;
    td_folded folded = {.is_complex = f->is_complex,
                        .is_transposed = f->op[which] != TANDEM_OP_N,
                        .is_conjugate = f->is_complex && f->op[which] == TANDEM_OP_C,
                        .matrix.ld = x->ld[which]};
    if (f->has_array) {
        folded.matrix.array = x->array[which];
    } else {
        folded.matrix.data = x->device[which];
        folded.matrix.stride = x->stride[which];
    }
    return folded;
}

static td_verdict probe(const operands *x, td_prices prices, double alpha)
{
    const form *f = &x->of;
    const size_t bytes = td_probe_bytes();
    unsigned char guard[GUARD_BYTES];
    int32_t verdict;
    char *work;
    td_probe p = {.lines = {f->lines[LEFT], f->lines[RIGHT]},
                  .k = f->k,
                  .batch = f->batch,
                  .rule = rule_of(f, prices),
                  .otherwise = TD_C_IS_MADE};
    p.alpha.value.complex_binary64 = (td_complex_binary64){alpha, 0.0};
    for (int which = 0; which < OPERANDS; which++) {
        CHECK_CUDA(cudaMemcpy(x->device[which], x->host[which],
                              numbers_of(x, which) * sizeof(double), cudaMemcpyHostToDevice));
        p.factor[which] = folded_of(x, which);
    }
    CHECK_CUDA(cudaMalloc((void **)&work, bytes + GUARD_BYTES));
    CHECK_CUDA(cudaMalloc((void **)&p.verdict, sizeof verdict));
    CHECK_CUDA(cudaMemset(work, POISON, bytes + GUARD_BYTES));
    CHECK_CUDA(cudaMemset(p.verdict, POISON, sizeof verdict));
    CHECK_CUDA(cudaMalloc((void **)&p.looseness, 2 * sizeof(int32_t)));
    p.work = work;
    CHECK_CUDA(td_probe_run(&p, NULL));
    CHECK_CUDA(cudaMemcpy(&verdict, p.verdict, sizeof verdict, cudaMemcpyDeviceToHost));
    CHECK_CUDA(cudaMemcpy(guard, work + bytes, GUARD_BYTES, cudaMemcpyDeviceToHost));
    for (int i = 0; i < GUARD_BYTES; i++) CHECK(guard[i] == POISON, "written behind the workspace");
    CHECK_CUDA(cudaFree(work));
    CHECK_CUDA(cudaFree(p.verdict));
    CHECK_CUDA(cudaFree(p.looseness));
    CHECK(verdict == TD_RESIDUES || verdict == TD_C_IS_MADE, "verdict %d", (int)verdict);
    return (td_verdict)verdict;
}

/* ---- which lines ---- */

/* Residues are the better way at any price; but not of lines with numbers beyond 2^480. */
static const double far = 0x1p600;

/* Numbers of one kind: the value of element `at` of `count` of a line of an operand. */
#define NUMBERS(name, value)                                                                       \
    static double name(test_random *r, int which, int64_t line, int64_t at, int64_t count)         \
    {                                                                                              \
        (void)r, (void)which, (void)line, (void)at, (void)count;                                   \
        return value;                                                                              \
    }

NUMBERS(uniform, random_uniform(r))

static bool is_looked_at(const form *f, int which, int member, int64_t line)
{
    return is_line_looked_at(f->lines[which], f->batch, which, member, line);
}

static void expect_verdict(const operands *x, td_verdict want, const char *what, int which,
                           int member, int64_t line)
{
    const form *f = &x->of;
    const td_verdict got = probe(x, dear_native, 1.0);
    CHECK(got == want,
          "%s: %d of op %d%d, %d x %d x %d, batch %d, complex %d: line %d of member %d "
          "of operand %d",
          what, (int)got, (int)f->op[LEFT], (int)f->op[RIGHT], (int)f->lines[LEFT],
          (int)f->lines[RIGHT], (int)f->k, f->batch, f->is_complex, (int)line, member, which);
}

/* All lines that nobody looks at are far from 1, and nobody notices; then, one after the other,
 * each of the others in one place. */
static void expect_lines(const form *f)
{
    /* Of the lines that are looked at one in so many, others in each form, and the last. */
    const int every = test_is_brief() ? 13 : test_takes_everything() ? 5 : 11;
    operands x = make_operands(f);
    const int64_t count = f->k * parts_of(f);
    const int begin = (int)f->k + f->batch;
    int looked_at = 0;
    fill(&x, uniform, uniform);
    for (int which = 0; which < OPERANDS; which++)
        for (int member = 0; member < f->batch; member++)
            for (int64_t line = 0; line < f->lines[which]; line++)
                for (int64_t at = 0; !is_looked_at(f, which, member, line) && at < count; at++)
                    *number_at(&x, which, member, line, at) = far;
    expect_verdict(&x, TD_RESIDUES, "lines that are not looked at", OPERANDS, 0, 0);
    for (int which = 0; which < OPERANDS; which++)
        for (int member = 0; member < f->batch; member++)
            for (int64_t line = 0; line < f->lines[which]; line++) {
                if (!is_looked_at(f, which, member, line)) continue;
                if ((begin + looked_at++) % every && line != f->lines[which] - 1) continue;
                double *one = number_at(&x, which, member, line, INT64_C(37) * looked_at % count);
                const double before = *one;
                *one = -far;
                expect_verdict(&x, TD_C_IS_MADE, "a line that is looked at", which, member, line);
                *one = before;
            }
    CHECK(looked_at > 0, "no line is looked at");
    free_operands(&x);
}

TEST(lines_are_spread)
{
    for (int i = 0; i < 9; i += test_is_brief() ? 5 : 1)
        expect_lines(&(form){.lines = {150, 101},
                             .k = 40 + 70 * (i % 3),
                             .batch = 1,
                             .is_complex = i % 2,
                             .op = {(tandem_op)(i / 3), (tandem_op)(i % 3)}});
    expect_lines(&(form){.lines = {64, 65}, .k = 9, .batch = 1});
}

TEST(members_are_spread)
{
    static const int batches[] = {2, 16, 40};
    for (int i = 0; i < 6; i += test_is_brief() ? 5 : 1)
        expect_lines(&(form){.lines = {40, 21},
                             .k = 20,
                             .batch = batches[i % 3],
                             .is_complex = i % 2,
                             .has_array = i >= 3,
                             .op = {(tandem_op)(i % 3), (tandem_op)(i % 2)}});
}

/* A brief test has each two of m, n and k together once. */
TEST(tiny_operands_are_looked_at)
{
    for (int64_t m = 1; m <= 5; m += 2)
        for (int64_t n = 1; n <= 17; n += 8)
            for (int64_t k = 1; k <= 3; k++)
                if (!test_is_brief() || (m + n / 4 + 2 * k) % 6 == 1)
                    expect_lines(&(form){
                        .lines = {m, n}, .k = k, .batch = 1 + (int)(k % 2), .is_complex = n == 9});
}

/* ---- what it says of data ---- */

NUMBERS(normal, random_normal(r))

static double of_binary32(test_random *r, int which, int64_t line, int64_t at, int64_t count)
{
    return (double)(float)normal(r, which, line, at, count);
}

NUMBERS(of_8_bits, random_int(r, -127, 127))

NUMBERS(zero, 0.0)

/* Numbers with a standard deviation of 8 in their natural logarithms. */
static double log_normal(test_random *r, int which, int64_t line, int64_t at, int64_t count)
{
    const double sign = random_int(r, 0, 1) ? 1.0 : -1.0;
    return sign * exp(8.0 * normal(r, which, line, at, count));
}

static double one_in(int many, test_random *r)
{
    const double x = random_normal(r);
    return random_int(r, 1, many) == 1 ? x : 0.0;
}

NUMBERS(sparse, one_in(20, r))

/* Few of these meet, but nearly every block of 64 lines has some. */
NUMBERS(very_sparse, one_in(800, r))

/* As few numbers, in a sixteenth of the blocks of 64 lines and 128 terms. */
NUMBERS(few_in_blocks, line / 64 % 16 == at / 128 % 16 ? one_in(50, r) : 0.0)

/* Blocks of side x side numbers, of which one in so many is not 0: which ones are spread as if by
 * chance. */
static double in_blocks(test_random *r, int side, int many, int64_t line, int64_t at)
{
    const double x = random_normal(r);
    const uint64_t block = (uint64_t)(line / side) << 32 | (uint64_t)(at / side),
                   mixed = (block + 1) * UINT64_C(0x9e3779b97f4a7c15);
    return (mixed ^ mixed >> 29) * UINT64_C(0xbf58476d1ce4e5b9) >> 33 <
                   (UINT64_C(1) << 31) / (uint64_t)many
               ? x
               : 0.0;
}

#define IN_BLOCKS(name, side, many) NUMBERS(name, in_blocks(r, side, many, line, at))
IN_BLOCKS(blocks_of_16, 16, 20)
IN_BLOCKS(blocks_of_32, 32, 10)
IN_BLOCKS(blocks_of_256, 256, 8)

/* Decays by 2 with each step from the diagonal of a square matrix. */
static double decaying(test_random *r, int which, int64_t line, int64_t at, int64_t count)
{
    const double x = normal(r, which, line, at, count);
    return ldexp(x, -abs((int)(line - at)));
}

static double banded(test_random *r, int which, int64_t line, int64_t at, int64_t count)
{
    enum { DIAGONALS_ABOVE = 2 };
    const double x = normal(r, which, line, at, count);
    return llabs(line - at) <= DIAGONALS_ABOVE ? x : 0.0;
}

static double with_nan(test_random *r, int which, int64_t line, int64_t at, int64_t count)
{
    const double x = normal(r, which, line, at, count);
    return line == 0 && at == count / 2 ? (double)NAN : x;
}

static double with_infinity(test_random *r, int which, int64_t line, int64_t at, int64_t count)
{
    const double x = normal(r, which, line, at, count);
    return line == 0 && at == 1 ? -(double)INFINITY : x;
}

/* On an H100 such products of 4096 cubed take less than native's time by residues, or more
 * (docs/results/h100-2026-11-28-never-slower; sparse: docs/speed.md). */
static const struct {
    const char *name;
    kind left, right;
    td_verdict want;
} kinds[] = {
    {"normal", normal, normal, TD_RESIDUES},
    {"uniform", uniform, uniform, TD_RESIDUES},
    {"binary32", of_binary32, normal, TD_RESIDUES},
    {"8 bits", of_8_bits, of_8_bits, TD_RESIDUES},
    {"zeros", zero, zero, TD_RESIDUES},
    {"zeros by normal", zero, normal, TD_RESIDUES},
    {"one NaN", with_nan, normal, TD_RESIDUES},
    {"one infinity", normal, with_infinity, TD_RESIDUES},
    {"log-normal", log_normal, log_normal, TD_C_IS_MADE},
    {"log-normal by normal", log_normal, normal, TD_C_IS_MADE},
    {"normal by log-normal", normal, log_normal, TD_C_IS_MADE},
    {"sparse", sparse, sparse, TD_C_IS_MADE},
    {"decaying", decaying, decaying, TD_C_IS_MADE},
    {"a band by normal", banded, normal, TD_C_IS_MADE},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* What a product of 4096 cubed costs there. */
static td_prices prices_of_h100(void)
{
    td_model model;
    const td_card *card = td_card_known("NVIDIA H100 80GB HBM3");
    CHECK(card, "the card is not known");
    td_model_make(&model, card);
    return td_prices_of(&model, &td_engine_ozaki2, &a_product);
}

/* True, and said, if the verdict of such data is another one by the prices of an H100. */
static bool is_judged_wrong(const form *f, const char *name, kind left, kind right, td_verdict want)
{
    operands x = make_operands(f);
    fill(&x, left, right);
    const td_verdict got = probe(&x, prices_of_h100(), 1.0);
    if (got != want)
        print_error("%s, %d x %d x %d, batch %d, complex %d, op %d%d: %d\n", name,
                    (int)f->lines[LEFT], (int)f->lines[RIGHT], (int)f->k, f->batch, f->is_complex,
                    (int)f->op[LEFT], (int)f->op[RIGHT], (int)got);
    free_operands(&x);
    return got != want;
}

TEST(verdicts_are_of_the_data)
{
    int wrong = 0;
    for (int i = 0; i < 6 * KINDS; i += test_is_brief() ? 7 : 1) {
        const int at = i % KINDS, variant = i / KINDS;
        const form f = {.lines = {256, 192},
                        .k = 256,
                        .batch = variant == 4 ? 3 : 1,
                        .is_complex = variant % 2,
                        .has_array = variant == 4,
                        .op = {(tandem_op)(variant % 3), (tandem_op)(variant / 2)}};
        wrong +=
            is_judged_wrong(&f, kinds[at].name, kinds[at].left, kinds[at].right, kinds[at].want);
    }
    CHECK(wrong == 0, "%d verdicts are wrong", wrong);
}

/* Blocks of zeros are not multiplied where tiles of the int8 products are zeros alone. On an H200
 * real products of 4096 cubed take 1.15 of native's time with so few numbers at random and 1.26
 * with blocks of 16, but 0.48 with blocks of 256 and 0.4 to 0.7 with bands. */
static const struct {
    const char *name;
    kind numbers;
    td_verdict want;
} zeros[] = {
    {"few numbers at random", very_sparse, TD_C_IS_MADE},
    {"few numbers in blocks", few_in_blocks, TD_RESIDUES},
    {"blocks of 16", blocks_of_16, TD_C_IS_MADE},
    {"blocks of 32", blocks_of_32, TD_C_IS_MADE},
    {"blocks of 256", blocks_of_256, TD_RESIDUES},
    {"a band", banded, TD_RESIDUES},
};
enum { ZEROS = sizeof zeros / sizeof *zeros };

TEST(blocks_of_zeros_count)
{
    int wrong = 0;
    for (int i = 0; i < 4 * ZEROS; i += test_is_brief() ? 5 : 1) {
        const int at = i % ZEROS, variant = i / ZEROS;
        const form f = {.lines = {1024, variant == 2 ? 768 : 1024},
                        .k = variant == 1 ? 4096 : 2048,
                        .batch = variant == 2 ? 2 : 1,
                        .is_complex = variant == 3,
                        .op = {(tandem_op)(variant % 2), (tandem_op)(variant / 2)}};
        wrong += is_judged_wrong(&f, zeros[at].name, zeros[at].numbers, zeros[at].numbers,
                                 zeros[at].want);
    }
    CHECK(wrong == 0, "%d verdicts are wrong", wrong);
}

/* BLAS reads neither operand then: what is there has no say. */
TEST(nothing_is_read_for_an_alpha_of_zero)
{
    for (int is_complex = 0; is_complex < 2; is_complex++) {
        operands x = make_operands(
            &(form){.lines = {70, 80}, .k = 90, .batch = 1, .is_complex = is_complex});
        fill(&x, log_normal, log_normal);
        *number_at(&x, LEFT, 0, 0, 0) = *number_at(&x, RIGHT, 0, 79, 89) = far;
        CHECK(probe(&x, dear_native, 0.0) == TD_RESIDUES, "with alpha 0");
        CHECK(probe(&x, dear_native, -2.0) == TD_C_IS_MADE, "with alpha -2");
        free_operands(&x);
    }
}
