/* check_qr.c - QR factors of one matrix: bits of what is one panel wide are those of a plain loop
 * on the host, which has the same sums in the same order; larger matrices have residuals below
 * those that LAPACK's tests allow, and the bits that they have on any other device. R's diagonal
 * and tau are LAPACK's. Memory around the matrix stays as it was. */
#include "tests/support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "qr_case.h"
#include "tests/kernels/support/device.h"

static factors run(const matrix *x, const double *a, const td_engine *engine)
{
    return run_factors(x, a, engine, false);
}

/* ---- the reference: one panel ---- */

enum { WARPS = 8, BLOCKS = 16, SLOTS = 8, MOST_LEAF = 32, CHAIN = 32 };

/* The second half is added to the first, until one is left. */
static double halve(double *x, int count)
{
    for (int half = count / 2; half > 0; half /= 2)
        for (int i = 0; i < half; i++) x[i] += x[i + half];
    return x[0];
}

/* Columns of a leaf, from its diagonal on. */
typedef struct {
    double *a;
    int64_t ld;
    int rows, columns, sharing; /* lanes that share rows */
    int exponent[MOST_LEAF];
    double tau[MOST_LEAF], t[MOST_LEAF][MOST_LEAF];
} leaf;

/* Sets the warps of a block, and the rows that a lane has of a cluster of all blocks. */
static void share_rows(const leaf *x, int *warps, int *each)
{
    const int rows = BLOCKS * WARPS * 32 / x->sharing; /* one for each lane */
    *each = x->rows <= rows ? 1 : x->rows <= 2 * rows ? 2 : 4;
    *warps = x->rows <= 4 * rows ? WARPS : 2 * WARPS;
}

static double sum_of_lane(const leaf *x, int first, int step, int count, int column, int other)
{
    const double *a = x->a + column * x->ld, *b = x->a + other * x->ld;
    double sum = 0.0;
    bool has_any = false;
    for (int r = 0; r < count; r++) {
        const int row = first + r * step;
        if (row <= column || row >= x->rows) continue;
        sum = fma(a[row], b[row], sum);
        has_any = has_any || a[row] != 0.0;
    }
    return has_any && other == column ? sum + 0x1p-1000 : sum;
}

/* The product of two columns below the diagonal of the first. */
static double product_of(const leaf *x, int column, int other)
{
    const int lanes = 32 / x->sharing;
    int warps, each;
    double of_blocks[BLOCKS], of_warps[2 * WARPS], of_lanes[32];
    share_rows(x, &warps, &each);
    const int step = warps * lanes;
    for (int block = 0; block < BLOCKS; block++) {
        for (int warp = 0; warp < warps; warp++) {
            for (int lane = 0; lane < lanes; lane++)
                of_lanes[lane] = sum_of_lane(x, block * each * step + warp * lanes + lane, step,
                                             each, column, other);
            of_warps[warp] = halve(of_lanes, lanes);
        }
        of_blocks[block] = halve(of_warps, warps);
    }
    return halve(of_blocks, BLOCKS);
}

/* The exponent of a column's largest element, within what powers of two can bring to 1. */
static int exponent_of(const leaf *x, int column)
{
    double top = 0.0;
    for (int i = 0; i < x->rows; i++) {
        const double size = fabs(x->a[i + column * x->ld]);
        if (!isfinite(size)) return 0;
        top = fmax(top, size);
    }
    return top < 0x1p-1022 ? -1022 : top >= 0x1p1022 ? 1022 : ilogb(top);
}

static void scale(double *x, int count, double by)
{
    for (int i = 0; i < count; i++) x[i] *= by;
}

/* Column j becomes R's and v; false: it has been scaled up, and has its turn again. */
static bool reflect_column(leaf *x, int j)
{
    double *const column = x->a + j * x->ld, alpha = column[j], sums[MOST_LEAF];
    for (int c = 0; c < x->columns; c++) sums[c] = product_of(x, j, c);
    const double squares = sums[j];
    if (squares != 0.0 && squares < 0x1p-900 && fabs(alpha) < 0x1p-400) {
        scale(column + j, x->rows - j, 0x1p400);
        x->exponent[j] -= 400;
        return false;
    }
    const bool reflects = squares != 0.0;
    const double norm = sqrt(fma(alpha, alpha, squares)),
                 beta = !reflects        ? alpha
                        : signbit(alpha) ? norm
                                         : -norm,
                 by = reflects ? 1.0 / (alpha - beta) : 0.0,
                 tau = reflects ? (beta - alpha) / beta : 0.0;
    double along[MOST_LEAF];
    for (int c = 0; c < x->columns; c++) along[c] = fma(sums[c], by, x->a[j + c * x->ld]);
    scale(column + j + 1, x->rows - j - 1, by);
    for (int c = j + 1; c < x->columns; c++) {
        double *const other = x->a + c * x->ld, taken = tau == 0.0 ? 0.0 : tau * along[c];
        for (int i = j + 1; i < x->rows; i++) other[i] = fma(-column[i], taken, other[i]);
        other[j] = ldexp(other[j] - taken, x->exponent[c]);
    }
    column[j] = ldexp(beta, x->exponent[j]);
    x->tau[j] = tau;
    for (int i = 0; i < j; i++) {
        double sum = 0.0;
        for (int k = i; k < j; k++) sum = fma(x->t[i][k], along[k], sum);
        x->t[i][j] = tau == 0.0 ? 0.0 : -(tau * sum);
    }
    x->t[j][j] = tau;
    return true;
}

static void factor_leaf(leaf *x)
{
    for (int c = 0; c < x->columns; c++) {
        x->exponent[c] = exponent_of(x, c);
        scale(x->a + c * x->ld, x->rows, ldexp(1.0, -x->exponent[c]));
    }
    for (int j = 0; j < x->columns;) j += reflect_column(x, j);
}

static double v_of(const leaf *x, int i, int k)
{
    return i < k ? 0.0 : i == k ? 1.0 : x->a[i + k * x->ld];
}

/* v'a, v being column k of V. */
static double product_with(const leaf *x, int k, const double *a)
{
    double sum = 0.0, of_warps[WARPS];
    for (int piece = 0; piece < x->rows; piece += WARPS * CHAIN) {
        for (int warp = 0; warp < WARPS; warp++) {
            of_warps[warp] = 0.0;
            for (int i = piece + warp * CHAIN; i < piece + (warp + 1) * CHAIN && i < x->rows; i++)
                of_warps[warp] = fma(v_of(x, i, k), a[i], of_warps[warp]);
        }
        sum += halve(of_warps, WARPS);
    }
    return sum;
}

/* A column behind the leaf. */
static void reflect_other(const leaf *x, double *a)
{
    double w[MOST_LEAF], tw[MOST_LEAF] = {0.0};
    for (int k = 0; k < x->columns; k++) w[k] = product_with(x, k, a);
    for (int k = 0; k < x->columns; k++)
        for (int l = 0; l <= k; l++) tw[k] = fma(x->t[l][k], w[l], tw[k]);
    for (int i = 0; i < x->rows; i++)
        for (int k = 0; k < x->columns; k++) a[i] = fma(v_of(x, i, k), -tw[k], a[i]);
}

/* Of at most 64 columns, which is one panel. */
static void factor(const matrix *x, double *a, double *tau)
{
    const int sharing = x->m <= 8192 ? 4 : 2;
    for (int first = 0; first < least_of(x); first += sharing * SLOTS) {
        leaf l = {.a = a + first + first * (int64_t)x->ld, .ld = x->ld, .rows = x->m - first};
        l.sharing = sharing;
        l.columns = least_of(x) - first < sharing * SLOTS ? least_of(x) - first : sharing * SLOTS;
        factor_leaf(&l);
        memcpy(tau + first, l.tau, (size_t)l.columns * sizeof *tau);
        for (int c = first + l.columns; c < least_of(x); c++)
            reflect_other(&l, a + first + c * (int64_t)x->ld);
    }
}

/* ---- bits ---- */

static void check_bits(const matrix *x)
{
    double *a = make_matrix(x), *want = make_matrix(x),
           *tau = malloc((size_t)least_of(x) * sizeof *tau);
    CHECK(tau, "no memory");
    factor(x, want, tau);
    factors f = run(x, a, &td_engine_fp64);
    for (int i = 0; i < least_of(x); i++)
        CHECK(is_same(f.tau[i], tau[i]), "%s: tau %d is %a, not %a", text_of(x), i, f.tau[i],
              tau[i]);
    for (size_t e = 0; e < elements_of(x); e++)
        CHECK(is_same(f.a[e], want[e]), "%s: element %d, %d is %a, not %a", text_of(x),
              (int)(e % (size_t)x->ld), (int)(e / (size_t)x->ld), f.a[e], want[e]);
    free_factors(&f);
    free(tau);
    free(want);
    free(a);
}

TEST(panels_are_plain_sums)
{
    const int rows[] = {1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 257, 700};
    const int columns[] = {1, 2, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 47, 48, 49, 63, 64};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (size_t c = 0; c < sizeof columns / sizeof *columns; c++)
            for (int k = 0; k < (test_is_brief() ? 2 : QR_KINDS); k++)
                if (columns[c] <= rows[r])
                    check_bits(&(matrix){rows[r], columns[c], rows[r] + (int)(c % 3),
                                         qr_kinds[(r + c + (size_t)k) % QR_KINDS].name,
                                         fresh_seed()});
}

/* More rows than blocks of small clusters have. */
TEST(tall_panels_are_plain_sums)
{
    const int rows[] = {1000, 1024, 1025, 2048, 2049, 4096, 4097, 8192, 8193, 12000, 16384};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (int k = 0; k < QR_KINDS; k += device_is_host() ? 4 : 1)
            if (!device_is_host() || rows[r] <= 4097 || (rows[r] == 8193 && k == 0))
                check_bits(&(matrix){rows[r], k % 2 ? 64 : 51, rows[r] + k % 2, qr_kinds[k].name,
                                     fresh_seed()});
}

/* ---- residuals ---- */

/* |A e - Q R e| over m 2^-53 |A e| for a column of A. */
static double ratio_of_column(const matrix *x, const double *a, const factors *f, int j,
                              quantity *qr, quantity *column)
{
    for (int i = 0; i < x->m; i++) {
        qr[i] = i <= j ? (quantity)f->a[i + (int64_t)j * x->ld] : 0.0L;
        column[i] = (quantity)a[i + (int64_t)j * x->ld];
    }
    const quantity norm = norm_of(column, x->m);
    apply_reflectors(x, f, least_of(x), false, qr);
    for (int i = 0; i < x->m; i++) qr[i] -= column[i];
    return norm == 0.0L ? (double)norm_of(qr, x->m)
                        : (double)(norm_of(qr, x->m) / (norm * x->m * 0x1p-53L));
}

/* |Q'Q e - e| over m 2^-53. */
static double ratio_of_q(const matrix *x, const factors *f, int j, quantity *q)
{
    for (int i = 0; i < x->m; i++) q[i] = i == j;
    apply_reflectors(x, f, least_of(x), false, q);
    apply_reflectors(x, f, least_of(x), true, q);
    q[j] -= 1.0L;
    return (double)(norm_of(q, x->m) / (x->m * 0x1p-53L));
}

static void check_residuals(const matrix *x, const td_engine *engine)
{
    const double most = 30.0; /* as LAPACK's tests have it */
    double *a = make_matrix(x);
    factors f = run(x, a, engine);
    quantity *one = malloc((size_t)x->m * sizeof *one), *other = malloc((size_t)x->m * sizeof *one);
    CHECK(one && other, "no memory");
    const int step = x->m > 1000 ? x->n - 1 : 1 + x->n / 12;
    for (int j = 0; j < x->n; j += step) {
        CHECK_AT_MOST(ratio_of_column(x, a, &f, j, one, other), most, "%s", text_of(x));
        if (j < x->m) CHECK_AT_MOST(ratio_of_q(x, &f, j, one), most, "%s", text_of(x));
    }
    free(other);
    free(one);
    free_factors(&f);
    free(a);
}

TEST(residuals_are_small)
{
    const int orders[] = {65, 96, 97, 128, 129, 160, 200, 300, 1100, 2100, 4200};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        for (int k = 0; k < QR_KINDS; k++) {
            const int n = orders[i], m = k % 3 == 1 ? n + 70 : k % 3 == 2 ? n - 40 : n;
            if (!qr_kinds[k].is_regular || (device_is_host() && n > 300) || (n > 1000 && k > 2))
                continue;
            check_residuals(&(matrix){m, n, m + k % 2, qr_kinds[k].name, fresh_seed()},
                            k % 4 == 3 ? NULL : &td_engine_fp64);
        }
    if (!device_is_host())
        check_residuals(&(matrix){10000, 500, 10001, "random", fresh_seed()}, &td_engine_fp64);
}

/* Every size, in one kind of matrix after the other. */
TEST(all_small_sizes)
{
    for (int n = 1; n <= 300; n += test_is_brief() ? 37 : 1) {
        const int k = n % QR_KINDS, m = n % 5 < 2 ? n : n % 5 < 4 ? n + n % 7 : n / 2 + 1;
        if (qr_kinds[k].is_regular)
            check_residuals(&(matrix){m, n, m + n % 2, qr_kinds[k].name, fresh_seed()},
                            n % 2 ? NULL : &td_engine_fp64);
    }
}

/* ---- LAPACK's signs ---- */

void dgeqrf_(const int *m, const int *n, double *a, const int *lda, double *tau, double *work,
             const int *lwork, int *info);

static bool is_near(double x, double y, double largest)
{
    return fabs(x - y) <= 1e-9 * largest || (isnan(x) && isnan(y));
}

static void check_lapack(const matrix *x)
{
    double *a = make_matrix(x), *want = make_matrix(x), tau[64], work[64 * 64];
    const int count = 64 * 64;
    int info;
    dgeqrf_(&x->m, &x->n, want, &x->ld, tau, work, &count, &info);
    factors f = run(x, a, &td_engine_fp64);
    for (int j = 0; j < x->n; j++)
        for (int i = 0; i <= j && i < x->m; i++) {
            const double own = f.a[i + (int64_t)j * x->ld], lapack = want[i + (int64_t)j * x->ld];
            double largest = 0.0;
            for (int l = 0; l <= j && l < x->m; l++)
                largest = fmax(largest, fabs(want[l + (int64_t)j * x->ld]));
            CHECK(is_near(own, lapack, largest), "%s: R %d, %d is %g, LAPACK's %g", text_of(x), i,
                  j, own, lapack);
        }
    for (int i = 0; i < least_of(x); i++)
        CHECK(is_near(f.tau[i], tau[i], 1.0), "%s: tau %d is %g, LAPACK's %g", text_of(x), i,
              f.tau[i], tau[i]);
    free_factors(&f);
    free(want);
    free(a);
}

TEST(signs_and_scales_are_lapacks)
{
    const char *const names[] = {"random", "graded columns", "huge", "triangle", "zeros"};
    const int sizes[][2] = {{1, 1}, {5, 5}, {40, 40}, {70, 50}, {30, 60}, {200, 33}};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            check_lapack(&(matrix){sizes[i][0], sizes[i][1], sizes[i][0], names[k], fresh_seed()});
}

/* ---- the same bits everywhere ---- */

TEST(bits_are_the_same_everywhere)
{
    static const struct {
        int m, n;
        const td_engine *engine;
        uint64_t hash;
    } golden[] = {{300, 300, &td_engine_fp64, 0xd404f44097a8c18f},
                  {500, 260, &td_engine_fp64, 0xac7b69c9098ab003},
                  {130, 400, &td_engine_fp64, 0x8793cead6db2c427},
                  {300, 300, &td_engine_ozaki2, 0x335bf60b9b605b9e}};
    for (size_t i = 0; i < sizeof golden / sizeof *golden; i++) {
        const matrix x = {golden[i].m, golden[i].n, golden[i].m, "random", 1 + i};
        double *a = make_matrix(&x);
        factors f = run(&x, a, golden[i].engine);
        const uint64_t hash = hash_of(f.a, elements_of(&x));
        CHECK(hash == golden[i].hash, "%s: hash %016llx", text_of(&x), (unsigned long long)hash);
        free_factors(&f);
        free(a);
    }
}

TEST(graphs_have_the_same_bits)
{
    const matrix x = {330, 290, 331, "random", 11};
    double *a = make_matrix(&x);
    factors plain = run(&x, a, &td_engine_fp64),
            captured = run_factors(&x, a, &td_engine_fp64, true);
    CHECK(memcmp(plain.a, captured.a, elements_of(&x) * sizeof *a) == 0, "%s", text_of(&x));
    CHECK(memcmp(plain.tau, captured.tau, (size_t)least_of(&x) * sizeof *a) == 0, "%s",
          text_of(&x));
    free_factors(&captured);
    free_factors(&plain);
    free(a);
}

int main(void)
{
    device_require();
    return test_run();
}
