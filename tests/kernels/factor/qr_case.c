#include "qr_case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cuda/device.h"
#include "tests/kernels/support/device.h"
#include "tests/support/hash.h"
#include "tests/support/test.h"

enum { POISON = 0x7f };

int least_of(const matrix *x) { return x->m < x->n ? x->m : x->n; }
size_t elements_of(const matrix *x) { return (size_t)x->ld * (size_t)x->n; }

const char *text_of(const matrix *x)
{
    static char text[160];
    snprintf(text, sizeof text, "%d x %d, ld %d, %s%s, seed %llu", x->m, x->n, x->ld, x->data,
             x->is_complex ? ", complex" : "", (unsigned long long)x->seed);
    return text;
}

/* ---- data ---- */

/* Rows down to where no square of an element is left. */
static double graded_rows(source *s, int i, int j)
{
    return (void)j, ldexp(uniform(s), -20 * (i % 50));
}

/* 1e-300 to 1e300 in every column. */
static double wide_range(source *s, int i, int j)
{
    return (void)i, (void)j, ldexp(uniform(s), whole(s, -997, 997));
}

/* A product of some columns and rows, and a column of zeros. */
static double deficient(source *s, int i, int j)
{
    double sum = 0.0;
    (void)s;
    for (int l = 0; l < 3; l++) sum += sin(1.0 + i * (l + 1)) * cos(2.0 + j * (l + 2));
    return j == s->n / 2 ? 0.0 : sum;
}

/* R already: there is nothing to reflect. */
static double triangle(source *s, int i, int j)
{
    const double x = uniform(s);
    return i > j ? 0.0 : x;
}

/* Kahan's matrix, at the edge of numerical rank. */
static double kahan(source *s, int i, int j)
{
    return (void)s, i > j ? 0.0 : pow(sin(1.2), i) * (i == j ? 1.0 : -cos(1.2));
}

static double specials(source *s, int i, int j)
{
    return (void)i, (void)j, special_or(s, 400, uniform(s));
}

const factor_kind qr_kinds[QR_KINDS] = {{"random", random_numbers, true},
                                        {"small integers", small_integers, true},
                                        {"graded columns", graded_columns, true},
                                        {"graded rows", graded_rows, true},
                                        {"tiny", tiny, false},
                                        {"huge", huge, true},
                                        {"wide range", wide_range, true},
                                        {"deficient", deficient, true},
                                        {"zeros", zeros, true},
                                        {"triangle", triangle, true},
                                        {"Kahan", kahan, true},
                                        {"Hilbert", hilbert, true},
                                        {"special values", specials, false}};
number *make_matrix(const matrix *x)
{
    number *a = test_memory(elements_of(x) * sizeof *a);
    source s = {x->seed, x->seed, x->m, x->n};
    kind *const next = find_kind(qr_kinds, x->data)->make;
    memset(a, POISON, elements_of(x) * sizeof *a);
    for (int j = 0; j < x->n; j++)
        for (int i = 0; i < x->m; i++) {
            number *const to = &a[i + (int64_t)j * x->ld];
            to->re = next(&s, i, j);
            to->im = x->is_complex ? next(&s, i, j) : 0.0;
        }
    return a;
}

/* ---- the device ---- */

td_type type_of(const matrix *x) { return x->is_complex ? TD_COMPLEX_BINARY64 : TD_BINARY64; }

static size_t parts_of(const matrix *x) { return x->is_complex ? 2 : 1; }

/* Their parts, one after the other. */
static double *pack(const matrix *like, const number *x, size_t count)
{
    const size_t parts = parts_of(like);
    double *packed = test_memory((count * parts + 1) * sizeof *packed);
    for (size_t i = 0; i < count; i++) {
        packed[i * parts] = x[i].re;
        if (like->is_complex) packed[i * parts + 1] = x[i].im;
    }
    return packed;
}

void *put_numbers(const matrix *like, const number *x, size_t count)
{
    double *packed = pack(like, x, count);
    void *device = device_copy(packed, count * parts_of(like) * sizeof *packed);
    free(packed);
    return device;
}

void get_numbers(const matrix *like, number *x, const void *device, size_t count)
{
    const size_t parts = parts_of(like);
    double *packed = test_memory((count * parts + 1) * sizeof *packed);
    device_fetch(packed, device, count * parts * sizeof *packed);
    for (size_t i = 0; i < count; i++)
        x[i] = (number){packed[i * parts], like->is_complex ? packed[i * parts + 1] : 0.0};
    free(packed);
}

static const td_qr_cut *other_cut;

void use_cut(const td_qr_cut *cut) { other_cut = cut; }

td_qr_cut cut_in_use(const td_problem *p)
{
    return other_cut && p->side == TD_LEFT ? *other_cut : td_qr_cut_of(p);
}

/* In a graph that is launched, or at once. */
static void factor_in_stream(const matrix *x, td_problem p, const td_engine *engine, bool in_graph)
{
    const td_factor_products by = {.engine = engine};
    td_device *device = td_device_current();
    if (in_graph) {
        CHECK_CUDA(cudaStreamCreate(&p.stream));
        CHECK_CUDA(cudaStreamBeginCapture(p.stream, cudaStreamCaptureModeThreadLocal));
    }
    const td_run_status status =
        td_factor_qr(&p, &by, cut_in_use(&p), device, td_device_limit(device, 0), NULL);
    CHECK(status == TD_RUN_DONE, "%s: status %d", text_of(x), (int)status);
    if (in_graph) {
        cudaGraphExec_t executable = device_end_capture(p.stream);
        CHECK_CUDA(cudaGraphLaunch(executable, p.stream));
        CHECK_CUDA(cudaStreamSynchronize(p.stream));
        CHECK_CUDA(cudaGraphExecDestroy(executable));
        CHECK_CUDA(cudaStreamDestroy(p.stream));
    }
    CHECK_CUDA(cudaDeviceSynchronize());
}

factors run_factors(const matrix *x, const number *a, const td_engine *engine, bool in_graph)
{
    const size_t count = (size_t)least_of(x);
    factors f = {test_memory(elements_of(x) * sizeof *a), test_memory((count + 1) * sizeof *f.tau),
                 -1};
    memset(f.tau, POISON, (count + 1) * sizeof *f.tau);
    const number poison = {f.tau[count].re, x->is_complex ? f.tau[count].im : 0.0};
    void *device_a = put_numbers(x, a, elements_of(x)),
         *device_info = device_copy(&f.info, sizeof f.info),
         *device_tau = put_numbers(x, f.tau, count + 1);
    const td_problem p = {.kind = TD_FACTOR_QR,
                          .type = type_of(x),
                          .m = x->m,
                          .n = x->n,
                          .a = {.data = device_a, .ld = x->ld},
                          .tau = device_tau,
                          .info = device_info,
                          .batch = 1};
    factor_in_stream(x, p, engine, in_graph);
    get_numbers(x, f.a, device_a, elements_of(x));
    get_numbers(x, f.tau, device_tau, count + 1);
    device_fetch(&f.info, device_info, sizeof f.info);
    CHECK(f.info == 0, "%s: info %d", text_of(x), f.info);
    CHECK(is_same(f.tau[count], poison), "%s: tau has more", text_of(x));
    device_free(device_a, device_tau, device_info);
    device_check_clean(text_of(x));
    return f;
}

void check_padding(const matrix *x, const number *a, const factors *f)
{
    for (int j = 0; j < x->n; j++)
        for (int i = x->m; i < x->ld; i++) {
            const int64_t e = i + (int64_t)j * x->ld;
            CHECK(f->a[e].re == a[e].re && (!x->is_complex || f->a[e].im == a[e].im),
                  "%s: padding has changed", text_of(x));
        }
}

void free_factors(factors *f) { test_drop(f->a, f->tau); }

static bool is_same_part(double x, double y)
{
    return (isnan(x) && isnan(y)) || memcmp(&x, &y, sizeof x) == 0;
}

bool is_same(number x, number y) { return is_same_part(x.re, y.re) && is_same_part(x.im, y.im); }

uint64_t hash_of(const matrix *like, const number *x, size_t count)
{
    double *packed = pack(like, x, count);
    const uint64_t hash = hash_numbers(HASH_START, packed, count * parts_of(like));
    free(packed);
    return hash;
}

/* ---- what reflectors make ---- */

quantity quantity_of(number x) { return (quantity){(long double)x.re, (long double)x.im}; }

quantity quantity_minus(quantity x, quantity y) { return (quantity){x.re - y.re, x.im - y.im}; }

long double norm_of(const quantity *x, int count)
{
    long double sum = 0.0L;
    for (int i = 0; i < count; i++) sum += x[i].re * x[i].re + x[i].im * x[i].im;
    return sqrtl(sum);
}

static quantity conjugate(quantity x) { return (quantity){x.re, -x.im}; }

/* c + a b */
static quantity plus(quantity c, quantity a, quantity b)
{
    const quantity real = {c.re + a.re * b.re, c.im};
    if (a.im == 0.0L && b.im == 0.0L) return real;
    return (quantity){real.re - a.im * b.im, c.im + a.re * b.im + a.im * b.re};
}

/* x <- Q x, or Q' x: the last reflector is the first of Q, and the last of Q'. */
void apply_reflectors(const matrix *x, const factors *f, int k, bool is_transposed, quantity *to)
{
    for (int at = 0; at < k; at++) {
        const int l = is_transposed ? at : k - 1 - at;
        const number *v = f->a + (int64_t)l * x->ld;
        const quantity tau = quantity_of(f->tau[l]);
        quantity sum = to[l];
        for (int i = l + 1; i < x->m; i++) sum = plus(sum, conjugate(quantity_of(v[i])), to[i]);
        sum = plus((quantity){0.0L, 0.0L}, is_transposed ? conjugate(tau) : tau, sum);
        to[l] = quantity_minus(to[l], sum);
        sum = (quantity){-sum.re, -sum.im};
        for (int i = l + 1; i < x->m; i++) to[i] = plus(to[i], sum, quantity_of(v[i]));
    }
}
