#include "modes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "lib/routine/mode.h"

const td_prices free_native = {FREE_BINARY64, .native = 1, .has_late_branch = 1, .is_unscaled = 1};
const td_prices dear_native = {DEAR_BINARY64, .native = 1 << 20, .is_unscaled = 1};
const td_prices probed_binary64 = {FREE_BINARY64, .measure = 64, .is_unscaled = 1};

/* From 1 to 2^20, small ones as often as large ones. */
static int32_t any_price(test_random *r) { return (int32_t)exp2(20.0 * random_uniform(r)); }

td_prices any_prices(test_random *r)
{
    return (td_prices){.binary64 = any_price(r),
                       .late = any_price(r),
                       .sums = any_price(r),
                       .few = any_price(r),
                       .more = any_price(r),
                       .wide = any_price(r),
                       .wide_from = random_int(r, 10, 20),
                       .apart = any_price(r),
                       .estimate = any_price(r),
                       .measure = random_int(r, 0, 2) ? any_price(r) : 0,
                       .has_inner_branch = random_int(r, 0, 1),
                       .is_unscaled = 1,
                       .is_probed = random_int(r, 0, 1)};
}

/* tests/kernels/arithmetic/test_accumulate.c for a superblock; 3 v^2 to add each, and what
 * splitting loses. */
static double proven_df(int64_t k)
{
    return (225.0 + 8.0 * 16.0 + 72.0 + 3.0 * 16.0 + 18.0 + 3.0 * (double)(k / 512) + 2.0) *
           0x1p-48;
}

#define PROVEN(type, bound)                                                                        \
    static double proven_##type(int64_t k)                                                         \
    {                                                                                              \
        (void)k;                                                                                   \
        return bound;                                                                              \
    }
PROVEN(ts, 0x1p-59)
PROVEN(dd, 0x1p-96)
PROVEN(ds, 0x1p-76)

/* Of certified elements, and of mode fp64: docs/numerics.md. */
static long double error_of_certified(int64_t k) { return 4.0L * sqrtl((long double)k) * 0x1p-53L; }

/* Several for the modes that have a parameter. */
static const mode modes[] = {
    {.name = "df",
     .format = &ref_df_format,
     .bound = 0x1.12p-43,
     .typed_bound = 0x1.12p-43,
     .proven = proven_df},
    {.name = "ts",
     .format = &ref_ts_format,
     .rounds_sum = true,
     .bound = 0x1p-66,
     .typed_bound = 0x1p-66,
     .proven = proven_ts},
    {.name = "dd",
     .format = &ref_dd_format,
     .rounds_sum = true,
     .bound = 0x1p-101,
     .typed_bound = 0x1p-101,
     .proven = proven_dd},
    {.name = "d+s",
     .format = &ref_ds_format,
     .rounds_sum = true,
     .bound = 0x1p-77,
     .typed_bound = 0x1p-77,
     .proven = proven_ds},
    {.name = "ozaki-sgemm", .ozaki = {REF_FLOAT_SLICES, 0, false}},
    {.name = "ozaki-sgemm:9", .ozaki = {REF_FLOAT_SLICES, 9, false}, .is_variant = true},
    {.name = "ozaki1", .ozaki = {REF_INT8_SLICES, 0, false}},
    {.name = "ozaki1:7", .ozaki = {REF_INT8_SLICES, 7, false}, .is_variant = true},
    {.name = "ozaki2", .ozaki = {REF_RESIDUES, 0, false}},
    {.name = "ozaki2:6", .ozaki = {REF_RESIDUES, 6, false}, .is_variant = true},
    {.name = "ozaki2:14", .ozaki = {REF_RESIDUES, 14, false}, .is_variant = true},
    {.name = "ozaki2:20", .ozaki = {REF_RESIDUES, 20, false}, .is_variant = true},
    {.name = "faithful", .is_exact = true},
    {.name = "faithful:fp64", .is_exact = true},
    {.name = "fp64",
     .is_binary64 = true,
     .product = ref_binary64_product,
     .sum_error = error_of_certified},
};
enum { MODES = sizeof modes / sizeof *modes };

mode mode_of_family(const char *name)
{
    mode m = {.name = name, .is_exact = ref_is_faithful(name)};
    if (m.is_exact || ref_ozaki_parse(name, &m.ozaki)) return m;
    fprintf(stderr, "tests/ref knows nothing of mode %s\n", name);
    exit(1);
}

bool mode_exists(const char *name)
{
    td_parameter parameter;
    return td_engine_parse(name, &parameter) != NULL;
}

static bool is_of(const mode *m, const td_engine *engine)
{
    const size_t length = strcspn(m->name, ":");
    return strlen(engine->name) == length && strncmp(engine->name, m->name, length) == 0;
}

/* True if there are rows for the engine, and the library has all of them. */
static bool is_known(const td_engine *engine)
{
    bool is_any = false;
    for (int i = 0; i < MODES; i++) {
        if (!is_of(&modes[i], engine)) continue;
        if (!mode_exists(modes[i].name)) return false;
        is_any = true;
    }
    return is_any;
}

static void check_rows(void)
{
    for (const td_engine *const *engine = td_engines; *engine; engine++)
        if ((*engine)->run && !is_known(*engine)) {
            fprintf(stderr,
                    "tests/kernels/support/modes.c and the library disagree about mode %s\n",
                    (*engine)->name);
            exit(1);
        }
}

/* Where everything is slow: what computes as another mode does. */
static bool is_left_out(const mode *m)
{
    return test_is_brief() && (m->is_variant || m->format == &ref_ds_format);
}

const mode *mode_after(const mode *m)
{
    if (!m) check_rows();
    bool is_next = !m;
    for (int i = 0; i < MODES; i++) {
        if (is_next && mode_exists(modes[i].name) && !is_left_out(&modes[i])) return &modes[i];
        is_next |= &modes[i] == m;
    }
    return NULL;
}

int mode_run_tests(const mode **tested, test_group with)
{
    int failed = 0;
    device_require();
    while ((*tested = mode_after(*tested))) {
        with.name = (*tested)->name;
        failed += test_run_group(with);
    }
    return failed;
}

bool mode_stands_for_others(const mode *m)
{
    return strcmp(m->name, "df") == 0 || strcmp(m->name, "ozaki2") == 0 ||
           strcmp(m->name, "ozaki-sgemm") == 0;
}

bool mode_has_turn(const mode *m, int i, int step)
{
    return test_takes(i + (int)(m - modes), step);
}

bool mode_repairs(const mode *m)
{
    return !m->is_binary64 && (m->format || m->ozaki.parameter == 0);
}

ref_account mode_product(const mode *m, const ref_gemm *p)
{
    ref_account account = {.repaired = -1};
    if (m->format)
        account.repaired = m->format->product(p);
    else if (m->is_exact)
        ref_faithful_product(p);
    else if (m->is_binary64)
        m->product(p);
    else
        ref_ozaki_product(&m->ozaki, p, &account);
    return account;
}

/* Multi-float modes. */
static double bound_of_format(const mode *m, int64_t k, bool is_hostile)
{
    return is_hostile || k > 16384 ? m->proven(k) : m->bound;
}

/* What the sum of an element may be off if that is `error` of abs(A)abs(B). */
static long double bound_of_product(const ref_gemm *p, long double error, int64_t at,
                                    const ref_distance *d)
{
    const long double c = p->beta == 0.0 ? 0.0L : (long double)p->c[at % p->m + at / p->m * p->ldc];
    const long double product = d->size - fabsl((long double)p->beta * c);
    return error * product * (1.0L + 0x1p-50L);
}

/* Relative to the element's size, what C may be off if the sum is off by so much, times alpha:
 * three roundings more, of the sum, of beta C and of C, which below 2^-1022 are half of 2^-1074
 * each. */
static double bound_of_sum(const ref_gemm *p, long double sum, const ref_distance *d)
{
    const long double alpha = fabsl((long double)p->alpha), u = 0x1p-53L, least = 0x1p-1075L;
    const long double subnormal = least * (2.0L + alpha);
    const long double allowed = sum + subnormal + 3.0L * u * (d->size + sum);
    return d->size == 0.0L ? 0.0 : (double)(allowed / d->size);
}

/* Of the Ozaki family. */
static double bound_of_family(const mode *m, const ref_gemm *p, const ref_account *account,
                              int64_t at, const ref_distance *d)
{
    const long double off = fabsl((long double)p->alpha) * account->off[at],
                      certified = bound_of_product(p, error_of_certified(p->k), at, d);
    if (account->in_binary64[at]) return bound_of_sum(p, certified + off, d);
    return bound_of_sum(p, m->ozaki.parameter == 0 ? fminl(off, certified) : off, d);
}

verdict mode_judge(const mode *m, const ref_gemm *p, const ref_account *account, bool is_hostile,
                   int64_t i, int64_t j, double value)
{
    const ref_distance d = ref_measure(p, i, j, value);
    verdict v = {.error = d.error, .is_nearest = value == d.nearest};
    if (m->format) {
        if (m->rounds_sum) v.error = d.unrounded;
        v.bound = bound_of_format(m, p->k, is_hostile);
    } else if (m->is_binary64) {
        const long double lost = fabsl((long double)p->alpha) * (long double)p->k * 0x1p-1075L;
        const long double sum = bound_of_product(p, m->sum_error(p->k), i + j * p->m, &d);
        v.bound = bound_of_sum(p, sum + lost, &d);
    } else if (m->is_exact ||
               (account->is_repaired[i + j * p->m] && !account->in_binary64[i + j * p->m])) {
        v.bound = v.is_nearest ? (double)INFINITY : 0.0;
    } else if (account->off) {
        v.bound = bound_of_family(m, p, account, i + j * p->m, &d);
    }
    return v;
}
