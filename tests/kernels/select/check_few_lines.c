/* check_few_lines.c - lines that no probe looks at and that are worse than the others: where few of
 * them spoil few tiles of C residues make it, and sums in binary64 where they spoil many. Neither
 * are lines measured again with shifts then, nor is abs(A)abs(B) estimated for nothing. */
#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

#include "lib/cuda/device.h"
#include "lib/engines/engine.h"
#include "lib/engines/ozaki/branch.h"
#include "lib/routine/lower.h"
#include "tests/kernels/select/probed_lines.h"
#include "tests/kernels/support/device.h"
#include "tests/lib/engines/branch_case.h"
#include "tests/support/random.h"

/* A tenth of the tiles costs 240 for exact sums, half of them 1200; the estimate and residues cost
 * 1174 together, what is left otherwise 2000. */
static const td_prices prices = {.binary64 = 2000,
                                 .native = 1900,
                                 .late = 2000,
                                 .sums = 2400,
                                 .few = 1024,
                                 .more = 70,
                                 .apart = 50,
                                 .estimate = 100,
                                 .measure = 80,
                                 .is_unscaled = 1};

/* A product of so many rows, columns and terms, in members of a batch. op(B) is B, column-major. */
typedef struct {
    const char *name;
    td_type type;
    int batch;
    bool is_transposed; /* op(A) is the transpose of A */
    bool is_long;       /* cuBLAS may make C late */
    bool has_inner;     /* in the body of a condition, too */
} form;

static const form forms[] = {
    {"real", TD_BINARY64, 1, false, false, false},
    {"transposed", TD_BINARY64, 1, true, false, true},
    {"real and long", TD_BINARY64, 1, false, true, false},
    {"complex", TD_COMPLEX_BINARY64, 1, false, false, false},
    {"complex inside", TD_COMPLEX_BINARY64, 1, false, false, true},
    {"complex and long", TD_COMPLEX_BINARY64, 1, true, true, true},
    {"batch", TD_BINARY64, 2, false, false, true},
};
enum { FORMS = sizeof forms / sizeof *forms, M = 640, N = 640, K = 128 };

typedef struct {
    const form *f;
    int64_t parts, count[3]; /* numbers of an element; of A, B and C, of all members */
    double *host[3], *device[3];
    td_problem call;
} operands;

static operands make_operands(const form *f)
{
    operands x = {.f = f, .parts = f->type == TD_COMPLEX_BINARY64 ? 2 : 1};
    const int64_t size[3] = {M * K, K * N, M * N};
    test_random r = random_start(5);
    for (int o = 0; o < 3; o++) {
        x.count[o] = size[o] * x.parts * f->batch;
        x.host[o] = test_memory((size_t)x.count[o] * sizeof(double));
        for (int64_t i = 0; i < x.count[o]; i++) x.host[o][i] = random_normal(&r);
        x.device[o] = device_copy(x.host[o], (size_t)x.count[o] * sizeof(double));
    }
    x.call =
        (td_problem){.type = f->type,
                     .op_a = f->is_transposed ? TD_OP_T : TD_OP_N,
                     .m = M,
                     .n = N,
                     .k = K,
                     .batch = f->batch,
                     .a = {.data = x.device[0], .ld = f->is_transposed ? K : M, .stride = M * K},
                     .b = {.data = x.device[1], .ld = K, .stride = K * N},
                     .c = {.data = x.device[2], .ld = M, .stride = M * N}};
    x.call.alpha.value.complex_binary64.re = 1.0;
    return x;
}

static void free_operands(operands *x)
{
    for (int o = 0; o < 3; o++) {
        free(x->host[o]);
        device_free(x->device[o]);
    }
}

/* Number l of a line: of complex elements the parts. */
static double *number_at(const operands *x, int which, int member, int64_t line, int64_t l)
{
    const int64_t e = l / x->parts,
                  along = which == 1 || x->f->is_transposed ? line * K + e : e * M + line;
    return x->host[which] + (member * (which ? K * N : M * K) + along) * x->parts + l % x->parts;
}

/* Multiplies a number of a line of so many tiles' lines, each of which the probe passes over. */
static void spoil(operands *x, int which, int tiles, double size)
{
    for (int member = 0; member < x->f->batch; member++)
        for (int t = 0; t < tiles; t++) {
            int64_t line = INT64_C(64) * t + 5;
            while (is_line_looked_at(which ? N : M, x->f->batch, which, member, line)) line++;
            *number_at(x, which, member, line, 7 * t + 3) *= size;
        }
    device_write(x->device[which], x->host[which], (size_t)x->count[which] * sizeof(double));
}

/* What was counted of the last of some calls. One that comes again has a condition with two bodies;
 * where the memory that it works in has come to lie elsewhere, which is the allocator's affair, it
 * is another call, and has to come again, too. */
static td_counters run(const operands *x, const char *name, td_prices own)
{
    enum { MOST_TIMES = 20 };
    td_device *const device = td_device_current();
    const unsigned long repeats = td_branch_repeats(device);
    td_counters *counters, counted = {0};
    td_parameter parameter;
    td_product product;
    const td_engine *engine = td_engine_parse(name, &parameter);
    CHECK(td_lower(&x->call, &product), "no product: %s", x->f->name);
    parameter.prices = own;
    parameter.native = &x->call;
    counters = device_copy(&counted, sizeof counted);
    const bool is_kept =
        own.binary64 && (x->f->batch > 1 || !own.has_late_branch) && memory_comes_back();
    const int least = own.binary64 ? 3 : 1;
    int times = 0;
    do {
        device_write(counters, &(td_counters){0}, sizeof counted);
        CHECK(td_engine_run(engine, &product, parameter, device, device->workspace_bytes,
                            counters) == TD_RUN_DONE,
              "refused: %s", x->f->name);
        CHECK_CUDA(cudaDeviceSynchronize());
        times++;
    } while (times < least ||
             (is_kept && times < MOST_TIMES && td_branch_repeats(device) == repeats));
    device_fetch(&counted, counters, sizeof counted);
    device_free(counters);
    return counted;
}

static td_counters run_probed(const operands *x)
{
    td_prices own = prices;
    own.has_late_branch = x->f->is_long;
    own.has_inner_branch = x->f->has_inner;
    return run(x, "ozaki2", own);
}

static double *result_of(const operands *x)
{
    double *const c = test_memory((size_t)x->count[2] * sizeof(double));
    device_fetch(c, x->device[2], (size_t)x->count[2] * sizeof(double));
    return c;
}

static unsigned long long tiles_of_all(const operands *x)
{
    const int64_t rows = M * x->parts;
    return (unsigned long long)(x->f->batch * ((rows + 63) / 64) * ((N + 63) / 64));
}

/* All of C is a sum in binary64, and nothing was estimated before. Where cuBLAS makes it, its sums
 * are in another order. */
static void expect_binary64(const operands *x, const char *what)
{
    const td_counters counted = run_probed(x);
    CHECK(counted.planes == 0 && counted.work == 0 && counted.tiles == tiles_of_all(x),
          "%s, %s: %d moduli, estimated %d, %d of %d tiles in binary64", x->f->name, what,
          (int)counted.planes, (int)counted.work, (int)counted.tiles, (int)tiles_of_all(x));
    double *const got = result_of(x);
    (void)run(x, "fp64", (td_prices){0});
    double *const want = result_of(x);
    const bool is_equal = memcmp(got, want, (size_t)x->count[2] * sizeof(double)) == 0,
               is_native = x->f->batch == 1 && (x->f->is_long || x->f->has_inner);
    CHECK(is_equal != is_native, "%s, %s: C is %sthat of fp64", x->f->name, what,
          is_equal ? "" : "not ");
    test_drop(got, want);
}

/* Residues make all but a few elements of C; `asks`: after an estimate. */
static void expect_residues(const operands *x, bool asks, const char *what)
{
    const td_counters counted = run_probed(x);
    CHECK(counted.planes >= 14 && (counted.work > 0) == asks && 4 * counted.tiles < tiles_of_all(x),
          "%s, %s: %d moduli, estimated %d, %d of %d tiles in binary64", x->f->name, what,
          (int)counted.planes, (int)counted.work, (int)counted.tiles, (int)tiles_of_all(x));
}

/* Numbers that spoil a line for any number of moduli. */
static const double huge = 1e150, large = 1e12;

TEST(many_spoilt_tiles_are_sums)
{
    for (int f = 0; f < FORMS; f += test_is_brief() ? 3 : 1) {
        operands x = make_operands(&forms[f]);
        expect_residues(&x, false, "ordinary numbers");
        spoil(&x, 1, 6, huge);
        expect_binary64(&x, "huge numbers in six columns");
        spoil(&x, 0, 6, large);
        expect_binary64(&x, "and large ones in six rows");
        free_operands(&x);
    }
}

TEST(few_spoilt_tiles_are_repaired)
{
    for (int f = 0; f < FORMS; f += test_is_brief() ? 3 : 1) {
        operands x = make_operands(&forms[f]);
        spoil(&x, f % 2, 1, huge);
        expect_residues(&x, true, f % 2 ? "a huge number in a column" : "one in a row");
        free_operands(&x);
    }
}

/* A zero leaves its line without a mean of logarithms, but the estimate certifies it. */
TEST(zeros_spoil_nothing)
{
    operands x = make_operands(&forms[0]);
    for (int which = 0; which < 2; which++) spoil(&x, which, 8, 0.0);
    expect_residues(&x, true, "zeros in eight rows and columns");
    free_operands(&x);
}

/* More moduli certify lines that are somewhat worse. */
TEST(somewhat_worse_lines_take_moduli)
{
    operands x = make_operands(&forms[0]);
    for (int which = 0; which < 2; which++) spoil(&x, which, 8, 3e3);
    const td_counters counted = run_probed(&x);
    CHECK(counted.planes > 14 && counted.repaired == 0, "%d moduli, %d elements repaired",
          (int)counted.planes, (int)counted.repaired);
    free_operands(&x);
}
