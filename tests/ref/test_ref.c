/* test_ref.c - the references against slower ones, and proof that comparisons with them see
 * faults. */
#include "../support/test.h"

#include <math.h>
#include <mpfr.h>
#include <stdbool.h>
#include <string.h>

#include "../support/bits.h"
#include "../support/matrix.h"
#include "../support/random.h"
#include "fixed.h"
#include "ref.h"

enum { M = 5, N = 4, MAX_K = 600, ROUNDS = 60 };

/* Any sum of products of three binary64 numbers is exact in so many bits. */
enum { BITS = 6700 };

typedef struct {
    test_matrix a, b, c, c0;
    ref_gemm gemm;
} problem;

/* Elements of both signs whose exponents spread over 2 * spread, times 2^scale. */
static void fill(test_matrix *x, test_random *r, int spread, int scale)
{
    for (int64_t j = 0; j < x->cols; j++)
        for (int64_t i = 0; i < x->rows; i++)
            *matrix_at(x, i, j) = random_scaled(r, scale - spread, scale + spread);
}

static void make(problem *p, int64_t k, test_random *r, int spread, int scale)
{
    p->a = matrix_make(M, k, M + 1, 1);
    p->b = matrix_make(k, N, k + 2, 1);
    p->c = matrix_make(M, N, M, 1);
    fill(&p->a, r, spread, scale);
    fill(&p->b, r, spread, scale);
    fill(&p->c, r, spread, 2 * scale);
    p->c0 = matrix_copy(&p->c);
    p->gemm = (ref_gemm){
        .m = M,
        .n = N,
        .k = k,
        .alpha = 1.7,
        .beta = -0.3,
        .a = matrix_data(&p->a),
        .b = matrix_data(&p->b),
        .c = matrix_data(&p->c),
        .lda = M + 1,
        .ldb = k + 2,
        .ldc = M,
    };
}

static void restore_c(problem *p)
{
    memcpy(p->c.storage, p->c0.storage, p->c.count * sizeof(double));
}

static void clear(problem *p) { matrix_free(&p->a, &p->b, &p->c, &p->c0); }

/* Fixed-point numbers */

static double any_double(test_random *r)
{
    double x;
    do x = double_of(random_bits(r) & ~(random_int(r, 0, 3) ? 0 : UINT64_C(0x7ff) << 52));
    while (!isfinite(x));
    return random_int(r, 0, 20) ? x : 0.0;
}

/* sum += x y z, exactly. */
static void add_term(mpfr_t sum, mpfr_t term, double x, double y, double z)
{
    mpfr_set_d(term, x, MPFR_RNDN);
    mpfr_mul_d(term, term, y, MPFR_RNDN);
    mpfr_mul_d(term, term, z, MPFR_RNDN);
    mpfr_add(sum, sum, term, MPFR_RNDN);
}

/* The whole range, subnormals and deep cancellation included. */
TEST(fixed_numbers_are_exact)
{
    test_random r = random_start(test_seed());
    mpfr_t sum, inner, term;
    mpfr_inits2(BITS, sum, inner, term, (mpfr_ptr)0);
    for (int round = 0; round < test_cases(3000); round++) {
        const double factor = any_double(&r), again = any_double(&r);
        double last[2] = {0.0, 0.0};
        fixed x = {.end = 0}, y = {.end = 0};
        mpfr_set_zero(sum, 1);
        for (int i = random_int(&r, 1, 20); i > 0; i--) {
            const bool cancels = random_int(&r, 0, 2) == 0;
            const double a = cancels ? -last[0] : any_double(&r),
                         b = cancels ? last[1] : any_double(&r);
            fixed_add_product(&y, a, b);
            add_term(sum, term, a, b, factor);
            last[0] = a, last[1] = b;
        }
        fixed_add_multiple(&x, &y, factor);
        fixed_add_product(&x, again, factor);
        add_term(sum, term, again, factor, 1.0);
        const long double got = fixed_value(&x);
        const double want = mpfr_get_d(sum, MPFR_RNDN);
        CHECK(same_bits((double)got, want) || (want == 0.0 && got == 0.0L), "round %d: %a, not %a",
              round, (double)got, want);
        mpfr_set_ld(inner, got, MPFR_RNDN);
        mpfr_sub(inner, inner, sum, MPFR_RNDN);
        mpfr_div(inner, inner, sum, MPFR_RNDN);
        CHECK(mpfr_zero_p(sum) || fabs(mpfr_get_d(inner, MPFR_RNDN)) < 0x1p-62,
              "round %d: %Lg is not that close", round, got);
    }
    mpfr_clears(sum, inner, term, (mpfr_ptr)0);
}

/* Errors */

static void set_number(mpfr_t x, const ref_format *format, const void *data, int64_t index)
{
    double part[3] = {0.0, 0.0, 0.0};
    format->get((const char *)data + index * (int64_t)format->bytes, part);
    mpfr_set_d(x, part[0], MPFR_RNDN);
    mpfr_add_d(x, x, part[1], MPFR_RNDN);
    mpfr_add_d(x, x, part[2], MPFR_RNDN);
}

/* The error of a value of element (i, j) with every sum exact, for operands as they are stored;
 * *nearest takes the exact element. */
static double exact_error(const ref_typed *p, int64_t i, int64_t j, const void *value,
                          double *nearest)
{
    mpfr_t sum, size, x, y;
    mpfr_inits2(BITS, sum, size, x, y, (mpfr_ptr)0);
    mpfr_set_zero(sum, 1);
    mpfr_set_zero(size, 1);
    for (int64_t l = 0; l <= p->k; l++) {
        const bool is_c = l == p->k;
        set_number(x, p->format, is_c ? p->beta : p->alpha, 0);
        if (is_c) {
            set_number(y, p->format, p->c, i + j * p->ldc);
        } else {
            set_number(y, p->format, p->a, ref_index_a(p->op_a, i, l, p->lda));
            mpfr_mul(x, x, y, MPFR_RNDN);
            set_number(y, p->format, p->b, ref_index_b(p->op_b, l, j, p->ldb));
        }
        mpfr_mul(x, x, y, MPFR_RNDN);
        mpfr_add(sum, sum, x, MPFR_RNDN);
        mpfr_abs(x, x, MPFR_RNDN);
        mpfr_add(size, size, x, MPFR_RNDN);
    }
    *nearest = mpfr_get_d(sum, MPFR_RNDN);
    set_number(x, p->format, value, 0);
    mpfr_sub(sum, sum, x, MPFR_RNDN);
    mpfr_div(sum, sum, size, MPFR_RNDN);
    const double error = fabs(mpfr_get_d(sum, MPFR_RNDN));
    mpfr_clears(sum, size, x, y, (mpfr_ptr)0);
    return error;
}

/* The worst error of all elements; every one is checked against MPFR. */
static double worst_error(const problem *p, uint64_t seed)
{
    double worst = 0.0;
    ref_gemm before = p->gemm;
    before.c = matrix_data(&p->c0);
    const ref_typed same = ref_as_typed(&before);
    for (int64_t j = 0; j < N; j++)
        for (int64_t i = 0; i < M; i++) {
            const double *value = matrix_at(&p->c, i, j), half = ldexp(1.0, ilogb(*value) - 53);
            const ref_distance d = ref_measure(&before, i, j, *value);
            double nearest;
            const double error = exact_error(&same, i, j, value, &nearest);
            CHECK_AT_MOST(fabs(d.error - error), error * 0x1p-50,
                          "element %d, %d of k = %d, seed %d: %a and %a", (int)i, (int)j,
                          (int)p->gemm.k, (int)seed, d.error, error);
            CHECK(d.nearest == nearest, "seed %d: %a is not the nearest, %a", (int)seed, d.nearest,
                  nearest);
            CHECK(d.unrounded <= d.error && (*value != nearest || d.unrounded == 0.0),
                  "seed %d: %a, %a, half an ulp is %a", (int)seed, d.unrounded, d.error, half);
            worst = fmax(worst, d.error);
        }
    return worst;
}

TEST(errors_equal_those_of_mpfr)
{
    static const int spreads[] = {0, 1, 10, 60, 120}, scales[] = {0, 380, -380};
    static const double bounds[REF_FORMATS] = {0x1p-43, 0x1.001p-53, 0x1.001p-53, 0x1.001p-53};
    double worst[REF_FORMATS] = {0.0}, worst_ieee = 0.0;
    for (int round = 0; round < test_cases(ROUNDS); round++) {
        const uint64_t seed = test_seed();
        test_random r = random_start(seed);
        problem p;
        make(&p, random_int(&r, 1, MAX_K), &r, spreads[round % 5], scales[round % 3]);
        for (int f = 0; f < REF_FORMATS; f++) {
            restore_c(&p);
            ref_formats[f]->product(&p.gemm);
            const double error = worst_error(&p, seed);
            CHECK_AT_MOST(error, bounds[f], "%s, round %d", ref_formats[f]->mode, round);
            worst[f] = fmax(worst[f], error);
        }
        restore_c(&p);
        ref_ieee(&p.gemm);
        worst_ieee = fmax(worst_ieee, worst_error(&p, seed));
        clear(&p);
    }
    for (int f = 0; f < REF_FORMATS; f++)
        test_note("worst error of %s: %s", ref_formats[f]->mode, test_power(worst[f]));
    test_note("worst error of binary64: %s", test_power(worst_ieee));
    CHECK(worst[0] > worst_ieee, "df cannot be more accurate than binary64");
    for (int f = 1; f < REF_FORMATS; f++)
        CHECK(worst[f] < worst_ieee, "%s is not more accurate than binary64", ref_formats[f]->mode);
}

/* Types */

/* A matrix of a format, in the shape of one of binary64; its borders are zeros. */
static void *split(const ref_format *format, const test_matrix *x)
{
    char *s = test_zeros(x->count, format->bytes);
    for (int64_t j = 0; j < x->cols; j++)
        for (int64_t i = 0; i < x->rows; i++)
            format->split(*matrix_at(x, i, j), s + (i + j * x->ld) * (int64_t)format->bytes);
    return s;
}

/* A product in a format's own type. */
typedef struct {
    ref_typed typed;
    void *a, *b, *c, *c0;
    _Alignas(16) char alpha[16];
    _Alignas(16) char beta[16];
} typed_problem;

static void make_typed(typed_problem *t, const ref_format *format, const problem *p, double alpha,
                       double beta)
{
    const ref_gemm *g = &p->gemm;
    t->a = split(format, &p->a);
    t->b = split(format, &p->b);
    t->c = split(format, &p->c0);
    t->c0 = split(format, &p->c0);
    format->split(alpha, t->alpha);
    format->split(beta, t->beta);
    t->typed = (ref_typed){format,  g->op_a, g->op_b, g->m, g->n,   g->k,   t->alpha,
                           t->beta, t->a,    t->b,    t->c, g->lda, g->ldb, g->ldc};
}

static void clear_typed(typed_problem *t) { test_drop(t->a, t->b, t->c, t->c0); }

static const double typed_bounds[REF_FORMATS] = {0x1p-43, 0x1p-66, 0x1p-99, 0x1p-75};

TEST(typed_errors_equal_those_of_mpfr)
{
    double worst[REF_FORMATS] = {0.0};
    for (int round = 0; round < test_cases(ROUNDS); round++) {
        test_random r = random_start(test_seed());
        problem p;
        make(&p, random_int(&r, 1, MAX_K), &r, round % 10, 0);
        for (int f = 0; f < REF_FORMATS; f++) {
            const ref_format *format = ref_formats[f];
            typed_problem t;
            make_typed(&t, format, &p, 1.7, round % 3 ? -0.3 : 0.0);
            format->typed(&t.typed);
            ref_typed before = t.typed;
            before.c = t.c0;
            for (int64_t e = 0; e < M * N; e++) {
                const void *value = (const char *)t.c + e * (int64_t)format->bytes;
                double nearest;
                const double got = ref_error_typed(&before, e % M, e / M, value);
                const double want = exact_error(&before, e % M, e / M, value, &nearest);
                CHECK_AT_MOST(fabs(got - want), want * 0x1p-50, "%s, element %d, round %d: %a, %a",
                              format->type, (int)e, round, got, want);
                CHECK_AT_MOST(got, typed_bounds[f], "%s, element %d, round %d", format->type,
                              (int)e, round);
                worst[f] = fmax(worst[f], got);
            }
            clear_typed(&t);
        }
        clear(&p);
    }
    for (int f = 0; f < REF_FORMATS; f++)
        test_note("worst error of tandem_%s products: %s", ref_formats[f]->type,
                  test_power(worst[f]));
}

/* Without scaling, alpha or beta, the mode and the product in its type are one. */
TEST(typed_reference_agrees)
{
    test_random r = random_start(test_seed());
    problem p;
    make(&p, MAX_K, &r, 0, 0);
    for (int64_t l = 0; l < MAX_K;
         l++) /* every line's largest exponent is 0: scaling does nothing */
        for (int64_t i = 0; i < M || i < N; i++) {
            if (i < M) *matrix_at(&p.a, i, l) = random_uniform(&r) + (l == i);
            if (i < N) *matrix_at(&p.b, l, i) = random_uniform(&r) + (l == i);
        }
    p.gemm.alpha = 1.0;
    p.gemm.beta = 0.0;
    for (int f = 0; f < REF_FORMATS; f++) {
        const ref_format *format = ref_formats[f];
        typed_problem t;
        make_typed(&t, format, &p, 1.0, 0.0);
        CHECK(format->product(&p.gemm) == 0, "elements were repaired");
        format->typed(&t.typed);
        for (int64_t e = 0; e < M * N; e++) {
            const double want = *matrix_at(&p.c, e % M, e / M);
            const double got = format->join((const char *)t.c + e * (int64_t)format->bytes);
            CHECK(got == want, "%s, element %d: %a and %a", format->mode, (int)e, got, want);
        }
        clear_typed(&t);
    }
    clear(&p);
}

/* Rows and columns that pad k with zeros, as the kernels do, change no bit. */
static void check_zeros_past(int64_t k, const ref_format *format)
{
    test_random r = random_start(test_seed());
    problem p, q;
    make(&p, k, &r, 3, 0);
    r = random_start(test_seed());
    make(&q, k + 32, &r, 3, 0);
    for (int64_t l = 0; l < k + 32; l++) {
        for (int64_t i = 0; i < M; i++)
            *matrix_at(&q.a, i, l) = l < k ? *matrix_at(&p.a, i, l) : 0.0;
        for (int64_t j = 0; j < N; j++)
            *matrix_at(&q.b, l, j) = l < k ? *matrix_at(&p.b, l, j) : 0.0;
    }
    memcpy(q.c.storage, p.c.storage, p.c.count * sizeof(double));
    format->product(&p.gemm);
    format->product(&q.gemm);
    CHECK(matrix_difference(&p.c, &q.c) == -1, "%s, k = %d", format->mode, (int)k);
    clear(&p);
    clear(&q);
}

TEST(zeros_past_k_change_nothing)
{
    for (int f = 0; f < REF_FORMATS; f++)
        for (int64_t k = 1; k < 100; k += 7) check_zeros_past(k, ref_formats[f]);
}

/* One product is not 0, and the lines' largest elements have no part in it. */
static void make_far(problem *p, int spread)
{
    test_random r = random_start(test_seed());
    make(p, 64, &r, 0, 0);
    for (int64_t l = 0; l < 64; l++) {
        *matrix_at(&p->a, 2, l) = l == 5 ? 1.0 : l == 7 ? ldexp(1.0, -spread / 2) : 0.0;
        *matrix_at(&p->b, l, 3) = l == 6 ? 1.0 : l == 7 ? ldexp(1.0, spread / 2 - spread) : 0.0;
    }
    p->gemm.alpha = 1.0;
    p->gemm.beta = 0.0;
}

TEST(far_terms_are_repaired)
{
    static const int spreads[REF_FORMATS] = {100, 75, 960, 960};
    for (int f = 0; f < REF_FORMATS; f++)
        for (int past = 0; past < 2; past++) {
            problem p;
            make_far(&p, spreads[f] + past);
            const int64_t repaired = ref_formats[f]->product(&p.gemm);
            CHECK(repaired == past, "%s repairs %d elements, %d past its exponents",
                  ref_formats[f]->mode, (int)repaired, past);
            const double want = ldexp(1.0, -spreads[f] - past), got = *matrix_at(&p.c, 2, 3);
            CHECK(got == want, "%s: %a, not %a", ref_formats[f]->mode, got, want);
            clear(&p);
        }
}

/* The comparisons that tests of kernels use - bits, hash, error - see single bits. */
TEST(planted_faults_are_seen)
{
    test_random r = random_start(test_seed());
    problem p;
    make(&p, 64, &r, 0, 0);
    ref_find("df")->product(&p.gemm);
    test_matrix copy = matrix_copy(&p.c);
    const uint64_t hash = matrix_hash(&p.c);
    CHECK(matrix_difference(&p.c, &copy) == -1 && matrix_hash(&copy) == hash, "equal matrices");

    double *element = matrix_at(&copy, 2, 3);
    *element = double_of(bits_of(*element) ^ 1);
    CHECK(matrix_difference(&p.c, &copy) == 2 + 3 * M, "a flipped last bit goes unnoticed");
    CHECK(matrix_hash(&copy) != hash, "a flipped last bit has the same hash");
    *element = NAN;
    CHECK(matrix_difference(&p.c, &copy) == 2 + 3 * M, "a NaN goes unnoticed");

    ref_gemm before = p.gemm;
    before.c = matrix_data(&p.c0);
    const double value = *matrix_at(&p.c, 2, 3);
    const double nearest = ref_measure(&before, 2, 3, value).nearest;
    const double wrong[] = {NAN, INFINITY, -value, (double)(float)value};
    for (int i = 0; i < 4; i++)
        CHECK(!(ref_measure(&before, 2, 3, wrong[i]).error <= 0x1p-43), "%g passes", wrong[i]);
    CHECK(!(ref_measure(&before, 2, 2, value).error <= 0x1p-43), "another element passes");
    CHECK(ref_measure(&before, 2, 3, nearest).unrounded == 0.0, "the nearest is not rounded well");
    CHECK(ref_measure(&before, 2, 3, nextafter(nearest, 9.0)).unrounded > 0x1p-66 ||
              ref_measure(&before, 2, 3, nextafter(nearest, -9.0)).unrounded > 0x1p-66,
          "neighbours of the nearest pass for it");

    *(copy.storage + copy.guard + copy.ld * copy.cols) = 0.0;
    CHECK(matrix_damage(&copy) == copy.guard + copy.ld * copy.cols, "a damaged border goes unseen");
    CHECK(matrix_damage(&p.a) == -1, "an intact border is called damaged");
    *(matrix_at(&p.a, M, 3)) = NAN;
    CHECK(matrix_damage(&p.a) == p.a.guard + M + 3 * p.a.ld, "a damaged row past the end");
    matrix_free(&copy);
    clear(&p);
}

/* So are those of typed products: numbers with the upper half of their bits. */
TEST(planted_faults_of_types_are_seen)
{
    for (int f = 0; f < REF_FORMATS; f++) {
        const ref_format *format = ref_formats[f];
        test_random r = random_start(test_seed());
        problem p;
        make(&p, 1, &r, 0, 0);
        typed_problem t;
        make_typed(&t, format, &p, 1.0, 0.0);
        format->typed(&t.typed);
        const double joined = format->join(t.c);
        const double wrong[] = {f == 0 ? (double)(float)joined : joined, -joined, NAN, INFINITY};
        CHECK_AT_MOST(ref_error_typed(&t.typed, 0, 0, t.c), typed_bounds[f], "%s", format->type);
        for (int i = 0; i < 4; i++) {
            _Alignas(16) char value[16];
            format->split(wrong[i], value);
            CHECK(!(ref_error_typed(&t.typed, 0, 0, value) <= typed_bounds[f]), "%s: %g passes",
                  format->type, wrong[i]);
        }
        clear_typed(&t);
        clear(&p);
    }
}

/* Mode faithful */

static bool is_same_value(double x, double y) { return same_bits(x, y) || (isnan(x) && isnan(y)); }

/* Every element is MPFR's, or where its row or column is special, that of the chain. */
static void check_faithful(problem *p, int special_row, int special_col, uint64_t seed)
{
    ref_gemm before = p->gemm, chain = p->gemm;
    test_matrix plain = matrix_copy(&p->c0);
    before.c = matrix_data(&p->c0);
    chain.c = matrix_data(&plain);
    const ref_typed same = ref_as_typed(&before);
    restore_c(p);
    ref_faithful_product(&p->gemm);
    ref_ieee(&chain);
    for (int64_t j = 0; j < N; j++)
        for (int64_t i = 0; i < M; i++) {
            const bool is_special = i == special_row || j == special_col;
            const double got = *matrix_at(&p->c, i, j), zero = 0.0;
            double want = *matrix_at(&plain, i, j);
            if (!is_special) (void)exact_error(&same, i, j, &zero, &want);
            CHECK(is_same_value(got, want), "seed %d, C(%d, %d): %a, not %a", (int)seed, (int)i,
                  (int)j, got, want);
        }
    matrix_free(&plain);
}

TEST(faithful_is_the_exact_product_rounded)
{
    static const int spreads[] = {0, 5, 60, 400}, scales[] = {0, 250, -500};
    for (int round = 0; round < 24; round += test_is_brief() ? 5 : 1) {
        const uint64_t seed = test_seed();
        test_random r = random_start(seed);
        problem p;
        make(&p, 1 + 7 * round, &r, spreads[round % 4], scales[round % 3]);
        const bool is_special = round % 2;
        if (is_special) {
            *matrix_at(&p.a, 1, 0) = NAN;
            *matrix_at(&p.b, 0, 2) = INFINITY;
        }
        check_faithful(&p, is_special ? 1 : -1, is_special ? 2 : -1, seed);
        clear(&p);
    }
}
