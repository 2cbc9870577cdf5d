/* test_ozaki.c - the definition of the Ozaki family against exact products: nothing is lost but
 * what it accounts for, what is certified is as good as binary64, and choices follow the data. */
#include "../support/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../support/matrix.h"
#include "../support/random.h"
#include "ref_ozaki.h"

enum { M = 6, N = 5, ROUNDS = 40 };

typedef struct {
    test_matrix a, b, c;
    ref_gemm gemm;
} problem;

static problem make(int64_t k)
{
    problem p = {.a = matrix_make(M, k, M + 1, 1),
                 .b = matrix_make(k, N, k + 2, 1),
                 .c = matrix_make(M, N, M, 1)};
    p.gemm = (ref_gemm){.m = M,
                        .n = N,
                        .k = k,
                        .alpha = 1.0,
                        .a = matrix_data(&p.a),
                        .b = matrix_data(&p.b),
                        .c = matrix_data(&p.c),
                        .lda = M + 1,
                        .ldb = k + 2,
                        .ldc = M};
    return p;
}

static void clear(problem *p) { matrix_free(&p->a, &p->b, &p->c); }

/* Exponents spread over 2 * spread at random, and over 2 * along against each other along k. */
static void fill(problem *p, test_random *r, int spread, int along, int scale)
{
    const int64_t k = p->gemm.k;
    for (int64_t l = 0; l < k; l++) {
        const int e = k > 1 ? (int)(2 * along * l / (k - 1)) - along : 0;
        for (int64_t i = 0; i < M; i++)
            *matrix_at(&p->a, i, l) = random_scaled(r, scale + e - spread, scale + e + spread);
        for (int64_t j = 0; j < N; j++)
            *matrix_at(&p->b, l, j) = random_scaled(r, scale - e - spread, scale - e + spread);
    }
}

static ref_account account_of(const char *mode, const ref_gemm *p)
{
    ref_ozaki ozaki;
    ref_account account;
    CHECK(ref_ozaki_parse(mode, &ozaki), "%s", mode);
    ref_ozaki_product(&ozaki, p, &account);
    return account;
}

static const char *const modes[] = {
    "ozaki2:2",  "ozaki2:3",  "ozaki2:4",      "ozaki2:5",      "ozaki2:6",       "ozaki2:7",
    "ozaki2:8",  "ozaki2:9",  "ozaki2:10",     "ozaki2:11",     "ozaki2:12",      "ozaki2:13",
    "ozaki2:14", "ozaki2:15", "ozaki2:16",     "ozaki2:17",     "ozaki2:18",      "ozaki2:19",
    "ozaki2:20", "ozaki1:2",  "ozaki1:5",      "ozaki1:7",      "ozaki1:8",       "ozaki1:10",
    "ozaki2",    "ozaki1",    "ozaki-sgemm:2", "ozaki-sgemm:9", "ozaki-sgemm:12", "ozaki-sgemm"};
enum { MODES = sizeof modes / sizeof *modes };

/* Half a unit in the last place, at least. */
static long double half_ulp(double x)
{
    return ldexpl(1.0L, (x == 0.0 || ilogb(x) < -1022 ? -1022 : ilogb(x)) - 53);
}

/* The part of its allowance that the worst element of a product uses. What a mode certifies by
 * itself is off by 4 sqrt(k) 2^-53 of |A||B| at most (docs/numerics.md), also of a short k, where a
 * chain in binary64 has less. */
static long double worst_share(const char *mode, const problem *p)
{
    const bool is_free = !strchr(mode, ':');
    long double worst = 0.0L;
    ref_account account = account_of(mode, &p->gemm);
    for (int64_t e = 0; e < M * N; e++) {
        const double c = *matrix_at(&p->c, e % M, e / M);
        const ref_distance d = ref_measure(&p->gemm, e % M, e / M, c);
        const long double k = (long double)p->gemm.k;
        const long double chain = k * 0x1p-53L * (d.size + k * 0x1p-1022L);
        const long double allowed = half_ulp(c) + (account.is_repaired[e] ? chain : account.off[e]);
        CHECK(d.off <= allowed, "%s, element %d, k = %d: %Lg off, allowed %Lg", mode, (int)e,
              (int)p->gemm.k, d.off, allowed);
        if (is_free && !account.is_repaired[e])
            CHECK(account.off[e] <= 4.0L * sqrtl(k) * 0x1p-53L * d.size,
                  "%s certifies element %d of k = %d, which may be %Lg off", mode, (int)e,
                  (int)p->gemm.k, account.off[e] / d.size);
        if (!account.is_repaired[e] && account.off[e] > 4 * half_ulp(c))
            worst = fmaxl(worst, (d.off - half_ulp(c)) / account.off[e]);
    }
    ref_account_free(&account);
    return worst;
}

TEST(only_what_is_accounted_for_is_lost)
{
    static const int depths[] = {1, 2, 3, 17, 64, 65, 200, 600}, spreads[] = {0, 2, 8, 30, 200},
                     alongs[] = {0, 6, 100, 0, 400}, scales[] = {0, 300, -440};
    for (int m = 0; m < MODES; m++) {
        long double worst = 0.0L;
        for (int round = 0; round < ROUNDS; round++) {
            test_random r = random_start(test_seed());
            problem p = make(depths[round % 8]);
            fill(&p, &r, spreads[round % 5], alongs[round / 5 % 5], scales[round % 3]);
            worst = fmaxl(worst, worst_share(modes[m], &p));
            clear(&p);
        }
        test_note("%s loses %.3Lf of what it may", modes[m], worst);
        CHECK(worst > 0.001L || !strchr(modes[m], ':'), "%s: the account is far too long",
              modes[m]);
    }
}

/* Small whole numbers fit any mode of more than a few bits. */
TEST(whole_numbers_are_exact)
{
    test_random r = random_start(test_seed());
    problem p = make(300);
    for (int64_t l = 0; l < 300; l++) {
        for (int64_t i = 0; i < M; i++) *matrix_at(&p.a, i, l) = random_int(&r, -9, 9);
        for (int64_t j = 0; j < N; j++) *matrix_at(&p.b, l, j) = random_int(&r, -9, 9) * 0x1p-900;
    }
    for (int m = 0; m < MODES; m++) {
        if (strcmp(modes[m], "ozaki2:2") == 0 || strcmp(modes[m], "ozaki2:3") == 0) continue;
        if (strncmp(modes[m], "ozaki1:", 7) == 0 && atoi(modes[m] + 7) < 10)
            continue; /* leaves out lower slices */
        ref_account account = account_of(modes[m], &p.gemm);
        for (int64_t e = 0; e < M * N; e++) {
            const double c = *matrix_at(&p.c, e % M, e / M);
            CHECK(c == ref_measure(&p.gemm, e % M, e / M, c).nearest, "%s, element %d", modes[m],
                  (int)e);
        }
        ref_account_free(&account);
    }
    clear(&p);
}

/* Small products of a long k have 15 moduli at least, others 14. Wider data take more, those that
 * no number of moduli can carry are repaired, and shifts along k cost nothing. */
TEST(moduli_follow_the_data)
{
    static const struct {
        int k, spread, along, least, most;
        bool is_repaired;
    } cases[] = {{512, 0, 0, 14, 14, false},   {512, 3, 0, 14, 16, false},
                 {512, 10, 0, 14, 15, false},  {512, 300, 0, 0, 0, true},
                 {512, 0, 480, 14, 14, false}, {2048, 0, 0, 14, 14, false},
                 {2049, 0, 0, 15, 15, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        test_random r = random_start(test_seed());
        problem p = make(cases[i].k);
        fill(&p, &r, cases[i].spread, cases[i].along, 0);
        ref_account account = account_of("ozaki2", &p.gemm);
        test_note("spread %d, along %d: %d moduli, %d of %d repaired", cases[i].spread,
                  cases[i].along, account.parameter, (int)account.repaired, M * N);
        CHECK(account.parameter >= cases[i].least && account.parameter <= cases[i].most,
              "spread %d, along %d: %d moduli", cases[i].spread, cases[i].along, account.parameter);
        CHECK((account.repaired > 0) == cases[i].is_repaired, "%d repaired", (int)account.repaired);
        ref_account_free(&account);
        clear(&p);
    }
}
