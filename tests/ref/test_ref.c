/* test_ref.c - the references against slower ones, and proof that comparisons with them see faults. */
#include "../support/test.h"

#include <math.h>
#include <mpfr.h>
#include <stdlib.h>
#include <string.h>

#include "../support/bits.h"
#include "../support/matrix.h"
#include "../support/random.h"
#include "../../kernels/df.h"
#include "ref.h"

enum { SEED = 31, M = 5, N = 4, MAX_K = 600, ROUNDS = 60 };

typedef struct {
    test_matrix a, b, c, c0;
    ref_gemm gemm;
} problem;

/* Elements of both signs whose exponents spread over 2 * spread, times 2^scale. */
static void fill(test_matrix *x, test_random *r, int spread, int scale)
{
    for (int64_t j = 0; j < x->cols; j++)
        for (int64_t i = 0; i < x->rows; i++)
            *matrix_at(x, i, j) =
                ldexp(random_uniform(r) - 0.5, scale + random_int(r, -spread, spread));
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

static void clear(problem *p)
{
    matrix_free(&p->a);
    matrix_free(&p->b);
    matrix_free(&p->c);
    matrix_free(&p->c0);
}

/* The distance of the computed element (i, j) as ref_error has it, with every sum exact. */
static double exact_error(const problem *p, int64_t i, int64_t j)
{
    enum { BITS = 4500 };
    mpfr_t sum, size, term;
    mpfr_inits2(BITS, sum, size, term, (mpfr_ptr)0);
    mpfr_set_zero(sum, 1);
    mpfr_set_zero(size, 1);
    for (int64_t l = 0; l <= p->gemm.k; l++) {
        const int is_last = l == p->gemm.k;
        mpfr_set_d(term, is_last ? *matrix_at(&p->c0, i, j) : *matrix_at(&p->a, i, l), MPFR_RNDN);
        mpfr_mul_d(term, term, is_last ? 1.0 : *matrix_at(&p->b, l, j), MPFR_RNDN);
        mpfr_mul_d(term, term, is_last ? p->gemm.beta : p->gemm.alpha, MPFR_RNDN);
        mpfr_add(sum, sum, term, MPFR_RNDN);
        mpfr_abs(term, term, MPFR_RNDN);
        mpfr_add(size, size, term, MPFR_RNDN);
    }
    mpfr_sub_d(sum, sum, *matrix_at(&p->c, i, j), MPFR_RNDN);
    mpfr_div(sum, sum, size, MPFR_RNDN);
    const double error = fabs(mpfr_get_d(sum, MPFR_RNDN));
    mpfr_clears(sum, size, term, (mpfr_ptr)0);
    return error;
}

/* The worst error of all elements; every one is checked against MPFR. */
static double worst_error(problem *p, uint64_t seed)
{
    double worst = 0.0;
    ref_gemm before = p->gemm;
    before.c = matrix_data(&p->c0);
    for (int64_t j = 0; j < N; j++)
        for (int64_t i = 0; i < M; i++) {
            const double fast = ref_error(&before, i, j, *matrix_at(&p->c, i, j));
            const double slow = exact_error(p, i, j);
            CHECK_AT_MOST(fabs(fast - slow), 0x1p-95 + slow * 0x1p-40,
                          "element %d, %d of k = %d, seed %d: %a and %a", (int)i, (int)j,
                          (int)p->gemm.k, (int)seed, fast, slow);
            worst = fmax(worst, fast);
        }
    return worst;
}

static void errors_equal_those_of_mpfr(void **unused)
{
    (void)unused;
    static const int spreads[] = {0, 1, 10, 60, 120}, scales[] = {0, 380, -380};
    double worst_df = 0.0, worst_ieee = 0.0;
    for (int round = 0; round < ROUNDS; round++) {
        test_random r = random_start((uint64_t)(SEED + round));
        problem p;
        make(&p, random_int(&r, 1, MAX_K), &r, spreads[round % 5], scales[round % 3]);
        ref_df(&p.gemm);
        const double df = worst_error(&p, (uint64_t)(SEED + round));
        CHECK_AT_MOST(df, 0x1p-43, "round %d", round);
        memcpy(p.c.storage, p.c0.storage, p.c.count * sizeof(double));
        ref_ieee(&p.gemm);
        const double ieee = worst_error(&p, (uint64_t)(SEED + round));
        worst_df = fmax(worst_df, df);
        worst_ieee = fmax(worst_ieee, ieee);
        clear(&p);
    }
    test_note("worst error of df %s, of binary64 %s", test_power(worst_df), test_power(worst_ieee));
    CHECK(worst_df > worst_ieee, "df cannot be more accurate than binary64");
}

/* Double-float numbers of a matrix of binary64. */
static tandem_df *split(const test_matrix *x)
{
    tandem_df *s = malloc(x->count * sizeof *s);
    CHECK(s, "no memory");
    for (int64_t j = 0; j < x->cols; j++)
        for (int64_t i = 0; i < x->rows; i++)
            s[i + j * x->ld] = td_df_split(bits_of(*matrix_at(x, i, j)), 0);
    return s;
}

/* Without scaling, alpha or beta, both references of df are one. */
static void typed_reference_agrees(void **unused)
{
    (void)unused;
    test_random r = random_start(SEED);
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
    tandem_df *a = split(&p.a), *b = split(&p.b), c[M * N];
    const ref_dfgemm typed = {.m = M,
                              .n = N,
                              .k = MAX_K,
                              .alpha = {1.0f, 0.0f},
                              .a = a,
                              .b = b,
                              .c = c,
                              .lda = p.a.ld,
                              .ldb = p.b.ld,
                              .ldc = M};
    CHECK(ref_df(&p.gemm) == 0, "elements were repaired");
    ref_df_typed(&typed);
    for (int64_t i = 0; i < M * N; i++) {
        const double want = *matrix_at(&p.c, i % M, i / M), got = td_df_join(c[i]);
        CHECK(got == want, "element %d: %a and %a", (int)i, got, want);
        CHECK_AT_MOST(ref_error_typed(&typed, i % M, i / M, c[i]), 0x1p-44, "element %d", (int)i);
    }
    free(a);
    free(b);
    clear(&p);
}

/* Rows and columns that pad k with zeros, as the kernels do, change no bit. */
static void zeros_past_k_change_nothing(void **unused)
{
    (void)unused;
    for (int64_t k = 1; k < 100; k += 7) {
        test_random r = random_start(SEED);
        problem p, q;
        make(&p, k, &r, 3, 0);
        r = random_start(SEED + 1);
        make(&q, k + 32, &r, 3, 0);
        for (int64_t l = 0; l < k + 32; l++) {
            for (int64_t i = 0; i < M; i++)
                *matrix_at(&q.a, i, l) = l < k ? *matrix_at(&p.a, i, l) : 0.0;
            for (int64_t j = 0; j < N; j++)
                *matrix_at(&q.b, l, j) = l < k ? *matrix_at(&p.b, l, j) : 0.0;
        }
        memcpy(q.c.storage, p.c.storage, p.c.count * sizeof(double));
        ref_df(&p.gemm);
        ref_df(&q.gemm);
        CHECK(matrix_difference(&p.c, &q.c) == -1, "k = %d", (int)k);
        clear(&p);
        clear(&q);
    }
}

/* The three comparisons that tests of kernels use - bits, hash, error - see single bits. */
static void planted_faults_are_seen(void **unused)
{
    (void)unused;
    test_random r = random_start(SEED);
    problem p;
    make(&p, 64, &r, 0, 0);
    ref_df(&p.gemm);
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
    CHECK(!(ref_error(&before, 2, 3, NAN) <= 0x1p-43), "a NaN passes for a good result");
    CHECK(!(ref_error(&before, 2, 3, INFINITY) <= 0x1p-43), "infinity passes for a good result");
    CHECK(!(ref_error(&before, 2, 3, -value) <= 0x1p-43), "the wrong sign passes");
    CHECK(!(ref_error(&before, 2, 3, (double)(float)value) <= 0x1p-43), "24 bits pass");
    CHECK(!(ref_error(&before, 2, 2, value) <= 0x1p-43), "another element passes");

    *(copy.storage + copy.guard + copy.ld * copy.cols) = 0.0;
    CHECK(matrix_damage(&copy) == copy.guard + copy.ld * copy.cols, "a damaged border goes unseen");
    CHECK(matrix_damage(&p.a) == -1, "an intact border is called damaged");
    *(matrix_at(&p.a, M, 3)) = NAN;
    CHECK(matrix_damage(&p.a) == p.a.guard + M + 3 * p.a.ld, "a damaged row past the end");
    matrix_free(&copy);
    clear(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_equal_those_of_mpfr),
        cmocka_unit_test(typed_reference_agrees),
        cmocka_unit_test(zeros_past_k_change_nothing),
        cmocka_unit_test(planted_faults_are_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
