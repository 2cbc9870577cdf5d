#include "tools/selftest_products.h"

#include <ctype.h>
#include <math.h>

#include <cuda_runtime_api.h>

#include "lib/cuda/device.h"
#include "lib/engines/proven.h"
#include "tests/golden/golden.h"
#include "tests/kernels/support/problem.h"

/* ---- one product ---- */

/* A mode, as TANDEM_MODE has it. */
typedef struct {
    const char *name;
    const td_engine *engine;
    td_parameter parameter;
} mode;

/* False if there is no mode of this name, which must live as long as *m. */
static bool mode_find(mode *m, const char *name)
{
    m->name = name;
    m->engine = td_engine_parse(m->name, &m->parameter);
    return m->engine && m->engine->run;
}

static td_op op_of(tandem_op op) { return op == TANDEM_OP_N ? TD_OP_N : TD_OP_T; }

static td_matrix matrix_of(const test_matrix *host, double *storage)
{
    return (td_matrix){.data = storage + host->guard, .ld = host->ld};
}

static td_product call_of(const problem *p, double *const storage[3])
{
    return (td_product){.op_a = op_of(p->of.op_a),
                        .op_b = op_of(p->of.op_b),
                        .m = p->of.m,
                        .n = p->of.n,
                        .k = p->of.k,
                        .alpha.value.binary64 = p->of.alpha,
                        .beta.value.binary64 = p->of.beta,
                        .a = matrix_of(&p->a, storage[0]),
                        .b = matrix_of(&p->b, storage[1]),
                        .c = matrix_of(&p->c, storage[2]),
                        .batch = 1};
}

static bool run_on(const mode *m, const problem *p, double *const storage[3])
{
    td_device *device = td_device_current();
    const td_product call = call_of(p, storage);
    return device && td_engine_run(m->engine, &call, m->parameter, device, device->workspace_bytes,
                                   NULL) == TD_RUN_DONE;
}

/* Makes C on the device, the elements around it included. False if a step fails. */
static bool make_product(const mode *m, problem *p)
{
    test_matrix *const host[] = {&p->a, &p->b, &p->c};
    double *storage[3] = {NULL, NULL, NULL};
    bool is_good = true;
    for (int i = 0; i < 3 && is_good; i++) {
        const size_t bytes = host[i]->count * sizeof(double);
        is_good =
            td_cuda_ok(cudaMalloc((void **)&storage[i], bytes)) &&
            td_cuda_ok(cudaMemcpy(storage[i], host[i]->storage, bytes, cudaMemcpyHostToDevice));
    }
    is_good = is_good && run_on(m, p, storage) &&
              td_cuda_ok(cudaMemcpy(p->c.storage, storage[2], p->c.count * sizeof(double),
                                    cudaMemcpyDeviceToHost));
    for (int i = 0; i < 3; i++) (void)cudaFree(storage[i]);
    return is_good;
}

/* ---- golden bits ---- */

static bool has_golden_bits(const mode *m, int product, uint64_t hash)
{
    problem p = problem_make(&golden_products[product]);
    const bool is_same =
        make_product(m, &p) && matrix_damage(&p.c) == -1 && matrix_hash(&p.c) == hash;
    problem_free(&p);
    return is_same;
}

/* The rows of one file, which begin at `first`, by one mode. */
static bool check_golden(FILE *out, const mode *m, int first)
{
    int right = 0;
    for (int i = 0; i < GOLDEN_PRODUCTS; i++)
        right += has_golden_bits(m, i, golden_rows[first + i].hash);
    fprintf(out, "%-16s %2d of %d products have the golden bits%s\n", m->name, right,
            (int)GOLDEN_PRODUCTS, right == GOLDEN_PRODUCTS ? "" : ": WRONG");
    return right == GOLDEN_PRODUCTS;
}

/* The mode that a file's name stands for: a hyphen before a digit is a colon. */
static void mode_text(const char *file, char text[TD_MODE_TEXT])
{
    snprintf(text, TD_MODE_TEXT, "%s", file);
    for (char *at = text; *at; at++)
        if (at[0] == '-' && isdigit((unsigned char)at[1])) *at = ':';
}

/* A file's mode, and the engine's other way to the same bits, if it has one. */
static bool check_file(FILE *out, int first)
{
    char text[TD_MODE_TEXT], other[2 * TD_MODE_TEXT];
    mode m;
    mode_text(golden_rows[first].file, text);
    if (!mode_find(&m, text)) {
        fprintf(out, "%-16s is no mode: WRONG\n", text);
        return false;
    }
    bool is_right = check_golden(out, &m, first);
    if (!m.engine->way || m.parameter.is_given) return is_right;
    snprintf(other, sizeof other, "%s:%s", text, m.engine->way);
    return mode_find(&m, other) && check_golden(out, &m, first) && is_right;
}

bool selftest_golden(FILE *out)
{
    bool is_right = true;
    for (int first = 0; first < GOLDEN_ROWS; first += GOLDEN_PRODUCTS)
        is_right = check_file(out, first) && is_right;
    return is_right;
}

/* ---- errors ---- */

/* Sizes that fill large devices with whole tiles, and with parts of them. The host device has a
 * sixteenth of each size. */
static const product larger[] = {
    {.data = "uniform", .m = 2048, .n = 2048, .k = 2048, .alpha = 1.0, .seed = 21},
    {.data = "both signs",
     .op_a = TANDEM_OP_T,
     .m = 1500,
     .n = 1300,
     .k = 2100,
     .alpha = -1.7,
     .beta = 0.5,
     .seed = 22},
    {.data = "wide 1",
     .op_b = TANDEM_OP_T,
     .m = 900,
     .n = 4000,
     .k = 600,
     .alpha = 1.0,
     .seed = 23},
};
enum { LARGER = sizeof larger / sizeof *larger, HOST_SHARE = 16, ELEMENTS = 200 };

/* The error of an element in units of what is promised; NaN if it is none. Losses below 2^-1022
 * are left out of the bound: no element of these products is that small. */
static double share_of(const td_sample_bound *bound, const ref_distance *d)
{
    const double last_place = d->nearest == 0.0 ? 0.0 : ldexp(1.0, ilogb(d->nearest) - 52);
    const double most = bound->relative * (double)d->size + bound->ulps * last_place;
    return d->off == 0.0L ? 0.0 : (double)d->off / most;
}

/* The largest share of elements that are spread over C, of which `before` is a copy from before the
 * product. Infinite if one is no number, or is beside C. */
static double worst_share(const problem *p, test_matrix *before, const td_sample_bound *bound)
{
    const ref_gemm exact = problem_gemm(p, before);
    test_random r = random_start(p->of.seed);
    double worst = matrix_damage(&p->c) == -1 ? 0.0 : (double)INFINITY;
    for (int e = 0; e < ELEMENTS; e++) {
        const int64_t i = random_int(&r, 0, (int)p->of.m - 1),
                      j = random_int(&r, 0, (int)p->of.n - 1);
        const ref_distance d = ref_measure(&exact, i, j, *matrix_at(&p->c, i, j));
        const double share = share_of(bound, &d);
        if (!(share <= worst)) worst = isnan(share) ? (double)INFINITY : share;
    }
    return worst;
}

static bool check_errors(FILE *out, const mode *m, const product *of)
{
    problem p = problem_make(of);
    test_matrix before = matrix_copy(&p.c);
    const td_sample_bound bound = td_proven(m->engine, m->parameter, of->k);
    const bool has_run = make_product(m, &p);
    const double share = has_run ? worst_share(&p, &before, &bound) : (double)INFINITY;
    const bool is_right = share <= 1.0;
    fprintf(out, "%-16s %4d x %4d x %4d, %-10s  error %.1e of what is promised%s\n", m->name,
            (int)of->m, (int)of->n, (int)of->k, of->data, share,
            is_right  ? ""
            : has_run ? ": WRONG"
                      : ": DID NOT RUN");
    matrix_free(&before);
    problem_free(&p);
    return is_right;
}

bool selftest_errors(FILE *out, bool is_small)
{
    bool is_right = true;
    for (const td_engine *const *e = td_engines; *e; e++) {
        mode m;
        if (!(*e)->bound || !mode_find(&m, (*e)->name)) continue;
        for (int i = 0; i < LARGER; i++) {
            product of = larger[i];
            of.m /= is_small ? HOST_SHARE : 1;
            of.n /= is_small ? HOST_SHARE : 1;
            of.k /= is_small ? HOST_SHARE : 1;
            is_right = check_errors(out, &m, &of) && is_right;
        }
    }
    return is_right;
}
