/* check_qr.c - QR factors of one matrix: bits of what is one panel wide are those of a plain loop
 * on the host, which has the same sums in the same order; larger matrices have the bits that they
 * have on any other device, in graphs, too. Memory around the matrix stays as it was. */
#include "tests/support/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "qr_case.h"
#include "tests/kernels/support/device.h"

/* ---- the reference: one panel ---- */

enum { WARPS = 8, BLOCKS = 16, SLOTS = 8, MOST_LEAF = 32, CHAIN = 32 };

static number add(number x, number y) { return (number){x.re + y.re, x.im + y.im}; }
static number minus(number x) { return (number){-x.re, -x.im}; }
static number conjugate(number x) { return (number){x.re, -x.im}; }
static number times_real(number x, double y) { return (number){x.re * y, x.im * y}; }
static bool is_zero(number x) { return x.re == 0.0 && x.im == 0.0; }

/* c + a b */
static number plus(bool is_complex, number c, number a, number b)
{
    const number real = {fma(a.re, b.re, c.re), 0.0};
    if (!is_complex) return real;
    return (number){fma(-a.im, b.im, real.re), fma(a.im, b.re, fma(a.re, b.im, c.im))};
}

static number times(bool is_complex, number a, number b)
{
    if (!is_complex) return (number){a.re * b.re, 0.0};
    return (number){fma(-a.im, b.im, a.re * b.re), fma(a.im, b.re, a.re * b.im)};
}

/* The second half is added to the first, until one is left. */
static number halve(number *x, int count)
{
    for (int half = count / 2; half > 0; half /= 2)
        for (int i = 0; i < half; i++) x[i] = add(x[i], x[i + half]);
    return x[0];
}

/* Columns of a leaf, from its diagonal on. */
typedef struct {
    bool is_complex;
    number *a;
    int64_t ld;
    int rows, columns, sharing; /* lanes that share rows */
    int exponent[MOST_LEAF];
    number tau[MOST_LEAF], t[MOST_LEAF][MOST_LEAF];
} leaf;

/* Sets the warps of a block, and the rows that a lane has of a cluster of all blocks. */
static void share_rows(const leaf *x, int *warps, int *each)
{
    const int rows = BLOCKS * WARPS * 32 / x->sharing; /* one for each lane */
    *each = x->rows <= rows ? 1 : x->rows <= 2 * rows ? 2 : 4;
    *warps = x->rows <= 4 * rows ? WARPS : 2 * WARPS;
}

static number sum_of_lane(const leaf *x, int first, int step, int count, int column, int other)
{
    const number *a = x->a + column * x->ld, *b = x->a + other * x->ld;
    number sum = {0.0, 0.0};
    bool has_any = false;
    for (int r = 0; r < count; r++) {
        const int row = first + r * step;
        if (row <= column || row >= x->rows) continue;
        sum = plus(x->is_complex, sum, conjugate(a[row]), b[row]);
        has_any = has_any || !is_zero(a[row]);
    }
    if (has_any && other == column) sum.re += 0x1p-1000;
    return sum;
}

/* Zero of rows that are all past the end. */
static number sum_of_warp(const leaf *x, int first, int step, int count, int column, int other)
{
    const int lanes = 32 / x->sharing;
    number of_lanes[32];
    if (first >= x->rows) return (number){0.0, 0.0};
    for (int lane = 0; lane < lanes; lane++)
        of_lanes[lane] = sum_of_lane(x, first + lane, step, count, column, other);
    return halve(of_lanes, lanes);
}

/* The product of two columns below the diagonal of the first. */
static number product_of(const leaf *x, int column, int other)
{
    const int lanes = 32 / x->sharing;
    int warps, each;
    number of_blocks[BLOCKS], of_warps[2 * WARPS];
    share_rows(x, &warps, &each);
    const int step = warps * lanes;
    for (int block = 0; block < BLOCKS; block++) {
        for (int warp = 0; warp < warps; warp++)
            of_warps[warp] =
                sum_of_warp(x, block * each * step + warp * lanes, step, each, column, other);
        of_blocks[block] = halve(of_warps, warps);
    }
    return halve(of_blocks, BLOCKS);
}

/* The exponent of a column's largest part, within what powers of two can bring to 1. */
static int exponent_of(const leaf *x, int column)
{
    double top = 0.0;
    for (int i = 0; i < x->rows; i++) {
        const number a = x->a[i + column * x->ld];
        if (!isfinite(a.re) || !isfinite(a.im)) return 0;
        top = fmax(top, fmax(fabs(a.re), fabs(a.im)));
    }
    return top < 0x1p-1022 ? -1022 : top >= 0x1p1022 ? 1022 : ilogb(top);
}

static void scale(number *x, int count, double by)
{
    for (int i = 0; i < count; i++) x[i] = times_real(x[i], by);
}

/* What makes a column R's, of its diagonal and the sum of the squares below. */
typedef struct {
    double beta;
    number tau, by;
} reflector;

static reflector reflector_of(bool is_complex, number alpha, double squares)
{
    if (squares == 0.0 && alpha.im == 0.0) return (reflector){.beta = alpha.re};
    const double sum = is_complex ? fma(alpha.im, alpha.im, squares) : squares,
                 norm = sqrt(fma(alpha.re, alpha.re, sum)), beta = signbit(alpha.re) ? norm : -norm,
                 apart = alpha.re - beta;
    if (!is_complex) return (reflector){beta, {(beta - alpha.re) / beta, 0.0}, {1.0 / apart, 0.0}};
    const double over = 1.0 / fma(apart, apart, alpha.im * alpha.im);
    return (reflector){
        beta, {(beta - alpha.re) / beta, -alpha.im / beta}, {apart * over, -(alpha.im * over)}};
}

/* A column of T, of the products of V's column with those before it. */
static void make_t(leaf *x, int j, const number *products)
{
    for (int i = 0; i < j; i++) {
        number sum = {0.0, 0.0};
        for (int k = i; k < j; k++)
            sum = plus(x->is_complex, sum, x->t[i][k], conjugate(products[k]));
        x->t[i][j] = is_zero(x->tau[j]) ? x->tau[j] : times(x->is_complex, minus(x->tau[j]), sum);
    }
    x->t[j][j] = x->tau[j];
}

static number of_power(number x, int exponent)
{
    return (number){ldexp(x.re, exponent), ldexp(x.im, exponent)};
}

/* Column j becomes R's and v; false: it has been scaled up, and has its turn again. */
static bool reflect_column(leaf *x, int j)
{
    const bool is_complex = x->is_complex;
    number *const column = x->a + j * x->ld, alpha = column[j], sums[MOST_LEAF], along[MOST_LEAF];
    for (int c = 0; c < x->columns; c++) sums[c] = product_of(x, j, c);
    const double squares = sums[j].re;
    const bool has_any = squares != 0.0 || alpha.im != 0.0;
    if (has_any && squares < 0x1p-900 && fabs(alpha.re) < 0x1p-400 && fabs(alpha.im) < 0x1p-400) {
        scale(column + j, x->rows - j, 0x1p400);
        x->exponent[j] -= 400;
        return false;
    }
    const reflector h = reflector_of(is_complex, alpha, squares);
    for (int c = 0; c < x->columns; c++)
        along[c] = plus(is_complex, x->a[j + c * x->ld], conjugate(h.by), sums[c]);
    for (int i = j + 1; i < x->rows; i++) column[i] = times(is_complex, column[i], h.by);
    for (int c = j + 1; c < x->columns; c++) {
        number *const other = x->a + c * x->ld,
                      taken = is_zero(h.tau) ? (number){0.0, 0.0}
                                             : times(is_complex, conjugate(h.tau), along[c]);
        for (int i = j + 1; i < x->rows; i++)
            other[i] = plus(is_complex, other[i], minus(column[i]), taken);
        other[j] = of_power(add(other[j], minus(taken)), x->exponent[c]);
    }
    column[j] = of_power((number){h.beta, 0.0}, x->exponent[j]);
    x->tau[j] = h.tau;
    make_t(x, j, along);
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

/* ---- other columns, in real numbers: a complex one is [re -im; im re] in V and in T ---- */

static int parts_of(const leaf *x) { return x->is_complex ? 2 : 1; }

/* Which number a real row or column is of, and which part: shifts, as quotients took most of the
 * time of this test. */
static int number_of(const leaf *x, int real) { return real >> x->is_complex; }
static int rest_of(const leaf *x, int real) { return real & x->is_complex; }

static double part_of(number x, int row, int column)
{
    return row == column ? x.re : row < column ? -x.im : x.im;
}

/* A real row and column of V, and of T. */
static double v_of(const leaf *x, int row, int column)
{
    const int i = number_of(x, row), k = number_of(x, column);
    const number v = i < k ? (number){0.0, 0.0} : i == k ? (number){1.0, 0.0} : x->a[i + k * x->ld];
    return part_of(v, rest_of(x, row), rest_of(x, column));
}

static double t_of(const leaf *x, int row, int column)
{
    return part_of(x->t[number_of(x, row)][number_of(x, column)], rest_of(x, row),
                   rest_of(x, column));
}

static double *real_row(const leaf *x, number *a, int row)
{
    number *const at = a + number_of(x, row);
    return rest_of(x, row) == 0 ? &at->re : &at->im;
}

/* v'a, v being real column k of V. */
static double product_with(const leaf *x, int k, number *a)
{
    const int rows = parts_of(x) * x->rows;
    number sum = {0.0, 0.0}, of_warps[WARPS];
    for (int piece = 0; piece < rows; piece += WARPS * CHAIN) {
        for (int warp = 0; warp < WARPS; warp++) {
            of_warps[warp] = (number){0.0, 0.0};
            for (int i = piece + warp * CHAIN; i < piece + (warp + 1) * CHAIN && i < rows; i++)
                of_warps[warp].re = fma(v_of(x, i, k), *real_row(x, a, i), of_warps[warp].re);
        }
        sum.re += halve(of_warps, WARPS).re;
    }
    return sum.re;
}

/* A column behind the leaf. */
static void reflect_other(const leaf *x, number *a)
{
    const int parts = parts_of(x), rows = parts * x->rows, columns = parts * x->columns;
    double w[MOST_LEAF], tw[MOST_LEAF] = {0.0};
    for (int k = 0; k < columns; k++) w[k] = product_with(x, k, a);
    for (int k = 0; k < columns; k++)
        for (int l = 0; l <= (k | (parts - 1)); l++) tw[k] = fma(t_of(x, l, k), w[l], tw[k]);
    for (int i = 0; i < rows; i++)
        for (int k = 0; k < columns; k++) {
            double *const to = real_row(x, a, i);
            *to = fma(v_of(x, i, k), -tw[k], *to);
        }
}

/* Of at most 64 real columns, which is one panel: complex ones count twice. */
static void factor(const matrix *x, number *a, number *tau)
{
    const int sharing = x->m <= 8192    ? 4
                        : x->m <= 16384 ? 2
                                        : 1,
              columns = sharing * SLOTS / (x->is_complex ? 2 : 1);
    for (int first = 0; first < least_of(x); first += columns) {
        leaf l = {.is_complex = x->is_complex,
                  .a = a + first + first * (int64_t)x->ld,
                  .ld = x->ld,
                  .rows = x->m - first};
        l.sharing = sharing;
        l.columns = least_of(x) - first < columns ? least_of(x) - first : columns;
        factor_leaf(&l);
        memcpy(tau + first, l.tau, (size_t)l.columns * sizeof *tau);
        for (int c = first + l.columns; c < least_of(x); c++)
            reflect_other(&l, a + first + c * (int64_t)x->ld);
    }
}

/* ---- bits ---- */

static void check_bits(const matrix *x)
{
    number *a = make_matrix(x), *want = make_matrix(x),
           *tau = test_memory((size_t)least_of(x) * sizeof *tau);
    factor(x, want, tau);
    factors f = run_factors(x, a, &td_engine_fp64, false);
    for (int i = 0; i < least_of(x); i++)
        CHECK(is_same(f.tau[i], tau[i]), "%s: tau %d is %a %a, not %a %a", text_of(x), i,
              f.tau[i].re, f.tau[i].im, tau[i].re, tau[i].im);
    for (size_t e = 0; e < elements_of(x); e++)
        CHECK(is_same(f.a[e], want[e]) || e % (size_t)x->ld >= (size_t)x->m,
              "%s: element %d, %d is %a %a, not %a %a", text_of(x), (int)(e % (size_t)x->ld),
              (int)(e / (size_t)x->ld), f.a[e].re, f.a[e].im, want[e].re, want[e].im);
    check_padding(x, a, &f);
    free_factors(&f);
    test_drop(tau, want, a);
}

TEST(panels_are_plain_sums)
{
    const int rows[] = {1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 257, 700};
    const int columns[] = {1, 2, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 47, 48, 49, 63, 64};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (size_t c = 0; c < 2 * sizeof columns / sizeof *columns; c++)
            for (int k = 0; k < (test_is_brief() ? 2 : QR_KINDS); k++) {
                const bool is_complex = c % 2;
                const int n = is_complex ? (columns[c / 2] + 1) / 2 : columns[c / 2];
                if (n <= rows[r] && (test_is_brief() ? (r + c + (size_t)k) % 6 == 0
                                                     : test_takes((int)(r + c) + k, 3)))
                    check_bits(&(matrix){rows[r], n, rows[r] + (int)(c % 3),
                                         qr_kinds[(r + c + (size_t)k) % QR_KINDS].name, test_seed(),
                                         is_complex});
            }
}

/* More rows than blocks of small clusters have. */
TEST(tall_panels_are_plain_sums)
{
    const int rows[] = {1000, 1024, 1025, 2048, 2049, 4096, 4097, 8192, 8193, 12000, 16384};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (int k = 0; k < 2 * QR_KINDS; k += device_is_host() ? 7 : 1) {
            const bool is_complex = k % 2;
            const int n = (k / 2 % 2 ? 64 : 51) / (is_complex ? 2 : 1);
            if (test_is_brief() && (r + (size_t)k) % 3) continue;
            if (!device_is_host() || rows[r] <= 4097 || (rows[r] == 8193 && k <= 7))
                check_bits(&(matrix){rows[r], n, rows[r] + k % 3, qr_kinds[k / 2].name, test_seed(),
                                     is_complex});
        }
}

/* Leaves of eight real columns; of the first one's rows the second lacks some, so that its blocks
 * have fewer warps. */
TEST(taller_panels_are_plain_sums)
{
    const int rows[] = {16385, 24000, 32768};
    for (int r = 0; r < (device_is_host() ? 1 : (int)(sizeof rows / sizeof *rows)); r++)
        for (int k = r; k < 2 * QR_KINDS; k += device_is_host() || test_is_brief() ? 9 : 3) {
            const bool is_complex = k % 2;
            check_bits(&(matrix){rows[r], is_complex ? 11 : 21, rows[r] + k % 3,
                                 qr_kinds[k / 2].name, test_seed(), is_complex});
        }
}

/* ---- the same bits everywhere ---- */

TEST(bits_are_the_same_everywhere)
{
    static const struct {
        int m, n;
        const td_engine *engine;
        uint64_t hash;
        bool is_complex;
    } golden[] = {{300, 300, &td_engine_fp64, 0xd404f44097a8c18f, false},
                  {500, 260, &td_engine_fp64, 0xac7b69c9098ab003, false},
                  {130, 400, &td_engine_fp64, 0x8793cead6db2c427, false},
                  {300, 300, &td_engine_ozaki2, 0x335bf60b9b605b9e, false},
                  {200, 150, &td_engine_fp64, 0x19fc6ccd573136fa, true},
                  {100, 300, &td_engine_ozaki2, 0x60b73d5c53e8bb66, true}};
    for (size_t i = 0; i < sizeof golden / sizeof *golden; i += test_is_brief() ? 3 : 1) {
        const matrix x = {golden[i].m, golden[i].n, golden[i].m,
                          "random",    1 + i,       golden[i].is_complex};
        number *a = make_matrix(&x);
        factors f = run_factors(&x, a, golden[i].engine, false);
        const uint64_t hash = hash_of(&x, f.a, elements_of(&x));
        CHECK(hash == golden[i].hash, "%s: hash %016llx", text_of(&x), (unsigned long long)hash);
        free_factors(&f);
        free(a);
    }
}

TEST(graphs_have_the_same_bits)
{
    for (int is_complex = 0; is_complex < 2; is_complex++) {
        const matrix x = {330, 290, 331, "random", 11, is_complex};
        number *a = make_matrix(&x);
        factors plain = run_factors(&x, a, &td_engine_fp64, false),
                captured = run_factors(&x, a, &td_engine_fp64, true);
        CHECK(memcmp(plain.a, captured.a, elements_of(&x) * sizeof *a) == 0, "%s", text_of(&x));
        CHECK(memcmp(plain.tau, captured.tau, (size_t)least_of(&x) * sizeof *a) == 0, "%s",
              text_of(&x));
        free_factors(&captured);
        free_factors(&plain);
        free(a);
    }
}
