/* check_cusolver_factors.c - results of the stand-in for cuSOLVER, in all four types: products of
 * its factors, made in long double, against the matrix, and residuals of its solutions. Bounds are
 * a few times what LAPACK's error analysis has (Higham, Accuracy and Stability of Numerical
 * Algorithms, chapters 9, 10 and 19). */
#include <stddef.h>
#include <stdint.h>

#include "cusolver_expect.h"

/* m x n, in order of m: all square ones to 40, beside each a tall and a wide one, and a few large
 * ones, beyond LAPACK's blocks. */
enum { SHAPES = 3 * 41 + 4 };
static void shape(int number, int *m, int *n)
{
    static const int large[][2] = {{150, 150}, {150, 70}, {70, 150}, {97, 97}};
    const int order = number / 3;
    *m = number >= 3 * 41 ? large[number - 3 * 41][0] : number % 3 == 1 ? order + 5 : order;
    *n = number >= 3 * 41 ? large[number - 3 * 41][1] : number % 3 == 2 ? order + 7 : order;
}

static matrix absolute(const matrix *a)
{
    matrix b = part(a, a->rows, a->columns);
    for (int i = 0; i < a->rows * a->columns; i++) b.x[i] = cabsl(b.x[i]);
    return b;
}

static int least(int x, int y) { return x < y ? x : y; }

/* |A - B C| <= bound |B| |C|, element by element. */
static void expect_factors(const matrix *a, const matrix *b, const matrix *c, long double bound)
{
    matrix bc = product(b, c), size_b = absolute(b), size_c = absolute(c);
    matrix size = product(&size_b, &size_c);
    for (int i = 0; i < a->rows * a->columns; i++)
        expect_within(cabsl(a->x[i] - bc.x[i]), bound * creall(size.x[i]));
    test_drop(bc.x, size_b.x, size_c.x, size.x);
}

/* ---- LU ---- */

typedef enum { NARROW, WIDE, WITHOUT, WITHOUT_WIDE, PIVOTS } pivot_kind;

/* A call's pivots in device memory, and where it left off. */
typedef struct {
    pivot_kind kind;
    int *narrow;
    int64_t *wide;
    int info;
} lu;

static lu factor(const solver_type *t, stored *a, pivot_kind kind)
{
    const int count = least(a->rows, a->columns);
    lu f = {kind, acquire((size_t)count * sizeof *f.narrow), acquire((size_t)count * 8), 0};
    int size = 0, *info = acquire_info();
    if (kind == NARROW || kind == WITHOUT) {
        expect_ok(t->getrf_size(a->rows, a->columns, a->bytes, a->ld, &size));
        void *work = workspace(t, size);
        expect_ok(t->getrf(a->rows, a->columns, a->bytes, a->ld, work,
                           kind == NARROW ? f.narrow : NULL, info));
        expect_success(cudaFree(work));
    } else {
        size_t bytes = 0, host_bytes = 1;
        expect_ok(cusolverDnXgetrf_bufferSize(solver, NULL, a->rows, a->columns, t->data, a->bytes,
                                              a->ld, t->data, &bytes, &host_bytes));
        void *work = acquire(bytes), *host = malloc(host_bytes + 1);
        expect_ok(cusolverDnXgetrf(solver, NULL, a->rows, a->columns, t->data, a->bytes, a->ld,
                                   kind == WIDE ? f.wide : NULL, t->data, work, bytes, host,
                                   host_bytes, info));
        expect_success(cudaFree(work));
        free(host);
    }
    f.info = take_info(info);
    return f;
}

static void release(const lu *f) { free_memory(f->narrow, f->wide); }

static bool has_pivots(const lu *f) { return f->kind == NARROW || f->kind == WIDE; }

static void interchange(const lu *f, matrix *a)
{
    for (int i = 0; i < least(a->rows, a->columns) && has_pivots(f); i++) {
        const int64_t other = (f->kind == NARROW ? f->narrow[i] : f->wide[i]) - 1;
        assert_in_range(other, i, a->rows - 1);
        for (int j = 0; j < a->columns; j++) {
            const number x = *at(a, i, j);
            *at(a, i, j) = *at(a, (int)other, j);
            *at(a, (int)other, j) = x;
        }
    }
}

static void split(const matrix *factors, matrix *l, matrix *u)
{
    const int k = least(factors->rows, factors->columns);
    *l = part(factors, factors->rows, k);
    *u = part(factors, k, factors->columns);
    fill_triangle(l, true, 0);
    fill_triangle(u, false, 0);
    for (int i = 0; i < k; i++) *at(l, i, i) = 1;
}

/* |P A - L U|, and that rows were chosen: no element of L is above 1, or sqrt(2) by the measure
 * |re| + |im| of complex numbers. */
static void expect_lu(const solver_type *t, const matrix *a, const matrix *factors, const lu *f)
{
    matrix l, u, permuted = part(a, a->rows, a->columns);
    interchange(f, &permuted);
    split(factors, &l, &u);
    expect_factors(&permuted, &l, &u, gamma_of(t, l.columns));
    for (int i = 0; i < l.rows * l.columns && has_pivots(f); i++)
        expect_within(cabsl(l.x[i]), (t->is_complex ? sqrtl(2) : 1) * (1 + 8 * t->unit));
    test_drop(permuted.x, l.x, u.x);
}

static matrix apply(cublasOperation_t op, const matrix *a, const matrix *x)
{
    matrix b = op == CUBLAS_OP_N   ? part(a, a->rows, a->columns)
               : op == CUBLAS_OP_T ? transpose(a)
                                   : adjoint(a);
    matrix c = product(&b, x);
    free(b.x);
    return c;
}

/* |B - op(A) X| against |L| |U| |X|. */
static void expect_lu_solution(const solver_type *t, const matrix *a, stored *factors, const lu *f,
                               cublasOperation_t op, int nrhs)
{
    matrix b = random_matrix(t, a->rows, nrhs), l, u, all = loaded(factors);
    stored x = store(t, &b, 2);
    int *info = acquire_info();
    if (f->kind == NARROW || f->kind == WITHOUT)
        expect_ok(t->getrs(op, a->rows, nrhs, factors->bytes, factors->ld,
                           f->kind == NARROW ? f->narrow : NULL, x.bytes, x.ld, info));
    else
        expect_ok(cusolverDnXgetrs(solver, NULL, op, a->rows, nrhs, t->data, factors->bytes,
                                   factors->ld, f->kind == WIDE ? f->wide : NULL, t->data, x.bytes,
                                   x.ld, info));
    assert_int_equal(take_info(info), 0);
    matrix solution = take(&x), again = apply(op, a, &solution);
    split(&all, &l, &u);
    expect_within(distance(&again, &b),
                  3 * gamma_of(t, a->rows) * norm(&l) * norm(&u) * norm(&solution));
    matrix *const used[] = {&b, &l, &u, &all, &solution, &again};
    for (int i = 0; i < 6; i++) free(used[i]->x);
}

/* Without pivots: matrices with a large diagonal. */
static void check_lu(const solver_type *t, int number, pivot_kind kind)
{
    static const cublasOperation_t ops[] = {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C};
    int m, n;
    shape(number, &m, &n);
    matrix a = random_matrix(t, m, n);
    for (int i = 0; i < least(m, n) && kind >= WITHOUT; i++) *at(&a, i, i) += m + n;
    stored s = store(t, &a, number % 4);
    const lu f = factor(t, &s, kind);
    assert_int_equal(f.info, 0);
    matrix factors = loaded(&s);
    expect_lu(t, &a, &factors, &f);
    for (int i = 0; i < 3 && m == n; i++) expect_lu_solution(t, &a, &s, &f, ops[i], number % 3 + i);
    matrix kept = take(&s);
    assert_true(distance(&kept, &factors) == 0);
    test_drop(kept.x, factors.x, a.x);
    release(&f);
}

TEST(test_lu)
{
    for (int t = 0; t < TYPES; t++)
        for (int number = 0; number < SHAPES; number++)
            for (int kind = 0; kind < PIVOTS; kind++) check_lu(&types[t], number, kind);
}

/* A column of zeros: the factors are whole, and info is the first zero pivot's number. Without
 * pivots the work ends there. */
TEST(test_singular)
{
    enum { ORDER = 37 };
    for (int t = 0; t < TYPES; t++)
        for (int zero = 0; zero < ORDER; zero += 3)
            for (int kind = 0; kind < PIVOTS; kind++) {
                matrix a = random_matrix(&types[t], ORDER, ORDER);
                for (int i = 0; i < ORDER && kind < WITHOUT; i++) *at(&a, i, zero) = 0;
                if (kind >= WITHOUT) {
                    fill_triangle(&a, false, 0);
                    for (int i = 0; i < ORDER; i++) *at(&a, i, i) = i < zero ? 1 : 0;
                }
                stored s = store(&types[t], &a, 1);
                const lu f = factor(&types[t], &s, kind);
                matrix factors = take(&s);
                assert_int_equal(f.info, zero + 1);
                if (kind < WITHOUT) expect_lu(&types[t], &a, &factors, &f);
                release(&f);
                test_drop(factors.x, a.x);
            }
}

/* ---- Cholesky ---- */

static void expect_other_triangle(const stored *s, cublasFillMode_t uplo)
{
    for (int j = 0; j < s->columns; j++)
        for (int i = 0; i < s->rows; i++)
            if (uplo == CUBLAS_FILL_MODE_LOWER ? i < j : i > j)
                assert_true(isnan(creall(load(s, i, j))));
}

static int cholesky(const solver_type *t, stored *a, cublasFillMode_t uplo, bool is_wide)
{
    int size = 0, *info = acquire_info();
    if (is_wide) {
        size_t bytes = 0, host_bytes = 1;
        expect_ok(cusolverDnXpotrf_bufferSize(solver, NULL, uplo, a->rows, t->data, a->bytes, a->ld,
                                              t->data, &bytes, &host_bytes));
        void *work = acquire(bytes);
        assert_int_equal(host_bytes, 0);
        expect_ok(cusolverDnXpotrf(solver, NULL, uplo, a->rows, t->data, a->bytes, a->ld, t->data,
                                   work, bytes, NULL, 0, info));
        expect_success(cudaFree(work));
    } else {
        expect_ok(t->potrf_size(uplo, a->rows, a->bytes, a->ld, &size));
        void *work = workspace(t, size);
        expect_ok(t->potrf(uplo, a->rows, a->bytes, a->ld, work, size, info));
        expect_success(cudaFree(work));
    }
    return take_info(info);
}

/* L and L', or U' and U. */
static void triangles_of(const stored *s, cublasFillMode_t uplo, matrix *left, matrix *right)
{
    matrix factor = loaded(s);
    fill_triangle(&factor, uplo == CUBLAS_FILL_MODE_LOWER, 0);
    matrix other = adjoint(&factor);
    *left = uplo == CUBLAS_FILL_MODE_LOWER ? factor : other;
    *right = uplo == CUBLAS_FILL_MODE_LOWER ? other : factor;
}

static void expect_cholesky_solution(const solver_type *t, const matrix *a, const stored *factor,
                                     cublasFillMode_t uplo, int nrhs, bool is_wide)
{
    matrix b = random_matrix(t, a->rows, nrhs);
    stored x = store(t, &b, 1);
    int *info = acquire_info();
    if (is_wide)
        expect_ok(cusolverDnXpotrs(solver, NULL, uplo, a->rows, nrhs, t->data, factor->bytes,
                                   factor->ld, t->data, x.bytes, x.ld, info));
    else
        expect_ok(t->potrs(uplo, a->rows, nrhs, factor->bytes, factor->ld, x.bytes, x.ld, info));
    assert_int_equal(take_info(info), 0);
    matrix solution = take(&x), again = product(a, &solution);
    expect_within(distance(&again, &b),
                  3 * gamma_of(t, a->rows) * sqrtl(a->rows) * norm(a) * norm(&solution));
    test_drop(b.x, solution.x, again.x);
}

/* |I - A X| against |A| |X| and the condition of the factor, which is near 1 here. */
static void expect_inverse(const solver_type *t, const matrix *a, stored *factor,
                           cublasFillMode_t uplo)
{
    int size = 0, *info = acquire_info();
    expect_ok(t->potri_size(uplo, a->rows, factor->bytes, factor->ld, &size));
    void *work = workspace(t, size);
    expect_ok(t->potri(uplo, a->rows, factor->bytes, factor->ld, work, size, info));
    assert_int_equal(take_info(info), 0);
    expect_success(cudaFree(work));
    expect_other_triangle(factor, uplo);
    matrix x = take(factor), unit = unit_matrix(a->rows);
    for (int j = 0; j < x.columns; j++)
        for (int i = 0; i < j; i++)
            if (uplo == CUBLAS_FILL_MODE_LOWER)
                *at(&x, i, j) = conjl(*at(&x, j, i));
            else
                *at(&x, j, i) = conjl(*at(&x, i, j));
    matrix ax = product(a, &x);
    expect_within(distance(&ax, &unit), 10 * gamma_of(t, a->rows) * norm(a) * norm(&x));
    test_drop(x.x, unit.x, ax.x);
}

static void check_cholesky(const solver_type *t, int n, cublasFillMode_t uplo, bool is_wide)
{
    matrix a = hermitian_matrix(t, n, 3 * sqrtl(n) + 2), left, right;
    stored s = store_triangle(t, &a, uplo, n % 4);
    assert_int_equal(cholesky(t, &s, uplo, is_wide), 0);
    expect_other_triangle(&s, uplo);
    triangles_of(&s, uplo, &left, &right);
    expect_factors(&a, &left, &right, gamma_of(t, n));
    expect_cholesky_solution(t, &a, &s, uplo, n % 3, is_wide);
    expect_inverse(t, &a, &s, uplo);
    test_drop(a.x, left.x, right.x);
}

TEST(test_cholesky)
{
    for (int t = 0; t < TYPES; t++)
        for (int which = 0; which < 4; which++) {
            for (int n = 0; n <= 40; n++) check_cholesky(&types[t], n, fills[which % 2], which / 2);
            check_cholesky(&types[t], 97, fills[which % 2], which / 2);
            check_cholesky(&types[t], 150, fills[which % 2], which / 2);
        }
}

/* The first minor that is not positive: 0, below 0, or NaN. */
TEST(test_not_positive)
{
    enum { ORDER = 37, VALUES = 3 };
    static const double values[VALUES] = {0.0, -1.0, NAN};
    for (int t = 0; t < TYPES; t++)
        for (int bad = 0; bad < ORDER; bad += 3)
            for (int which = 0; which < 2 * VALUES; which++) {
                matrix a = hermitian_matrix(&types[t], ORDER, 20);
                *at(&a, bad, bad) = values[which / 2];
                stored s = store_triangle(&types[t], &a, fills[which % 2], 1);
                assert_int_equal(cholesky(&types[t], &s, fills[which % 2], false), bad + 1);
                expect_other_triangle(&s, fills[which % 2]);
                expect_padding(&s);
                expect_success(cudaFree(s.bytes));
                free(a.x);
            }
}

/* ---- QR ---- */

/* min(m, n) scales in device memory. */
static void *reflect(const solver_type *t, stored *a, bool is_wide)
{
    void *tau = acquire((size_t)least(a->rows, a->columns) * t->bytes);
    int size = 0, *info = acquire_info();
    if (is_wide) {
        size_t bytes = 0, host_bytes = 1;
        expect_ok(cusolverDnXgeqrf_bufferSize(solver, NULL, a->rows, a->columns, t->data, a->bytes,
                                              a->ld, t->data, tau, t->data, &bytes, &host_bytes));
        void *work = acquire(bytes);
        assert_int_equal(host_bytes, 0);
        expect_ok(cusolverDnXgeqrf(solver, NULL, a->rows, a->columns, t->data, a->bytes, a->ld,
                                   t->data, tau, t->data, work, bytes, NULL, 0, info));
        expect_success(cudaFree(work));
    } else {
        expect_ok(t->geqrf_size(a->rows, a->columns, a->bytes, a->ld, &size));
        void *work = workspace(t, size);
        expect_ok(t->geqrf(a->rows, a->columns, a->bytes, a->ld, tau, work, size, info));
        expect_success(cudaFree(work));
    }
    assert_int_equal(take_info(info), 0);
    return tau;
}

/* All m columns of Q, from the reflectors in the first k columns. */
static matrix whole_q(const solver_type *t, const matrix *factors, const void *tau)
{
    const int m = factors->rows, k = least(m, factors->columns);
    matrix wide = make(m, m);
    for (int j = 0; j < k; j++)
        for (int i = 0; i < m; i++) *at(&wide, i, j) = *at(factors, i, j);
    stored q = store(t, &wide, 3);
    int size = 0, *info = acquire_info();
    expect_ok(t->gqr_size(m, m, k, q.bytes, q.ld, tau, &size));
    void *work = workspace(t, size);
    expect_ok(t->gqr(m, m, k, q.bytes, q.ld, tau, work, size, info));
    assert_int_equal(take_info(info), 0);
    expect_success(cudaFree(work));
    free(wide.x);
    return take(&q);
}

/* op(Q) C or C op(Q) by the reflectors, against the product with Q. */
static void expect_multiplied(const solver_type *t, const matrix *q, const stored *factors,
                              const void *tau, cublasSideMode_t side, bool is_adjoint)
{
    const bool is_left = side == CUBLAS_SIDE_LEFT;
    const cublasOperation_t op = !is_adjoint     ? CUBLAS_OP_N
                                 : t->is_complex ? CUBLAS_OP_C
                                                 : CUBLAS_OP_T;
    const int m = q->rows, k = least(m, factors->columns), other = 4;
    matrix c = is_left ? random_matrix(t, m, other) : random_matrix(t, other, m);
    stored s = store(t, &c, 1);
    int size = 0, *info = acquire_info();
    expect_ok(t->mqr_size(side, op, c.rows, c.columns, k, factors->bytes, factors->ld, tau, s.bytes,
                          s.ld, &size));
    void *work = workspace(t, size);
    expect_ok(t->mqr(side, op, c.rows, c.columns, k, factors->bytes, factors->ld, tau, s.bytes,
                     s.ld, work, size, info));
    assert_int_equal(take_info(info), 0);
    expect_success(cudaFree(work));
    matrix got = take(&s), used = is_adjoint ? adjoint(q) : part(q, m, m);
    matrix want = is_left ? product(&used, &c) : product(&c, &used);
    expect_within(distance(&got, &want), 6 * gamma_of(t, m) * norm(&c));
    matrix *const all[] = {&c, &got, &used, &want};
    for (int i = 0; i < 4; i++) free(all[i]->x);
}

static void check_qr(const solver_type *t, int number, bool is_wide)
{
    int m, n;
    shape(number, &m, &n);
    matrix a = random_matrix(t, m, n);
    stored s = store(t, &a, number % 4);
    void *tau = reflect(t, &s, is_wide);
    matrix factors = loaded(&s), q = whole_q(t, &factors, tau);
    expect_unitary(t, &q);
    for (int i = 0; i < 4; i++)
        expect_multiplied(t, &q, &s, tau, i / 2 ? CUBLAS_SIDE_RIGHT : CUBLAS_SIDE_LEFT, i % 2);
    fill_triangle(&factors, false, 0);
    matrix qr = product(&q, &factors);
    expect_within(distance(&qr, &a), 3 * gamma_of(t, m) * sqrtl(n + 1) * norm(&a));
    matrix kept = take(&s);
    expect_success(cudaFree(tau));
    matrix *const all[] = {&a, &factors, &q, &qr, &kept};
    for (int i = 0; i < 5; i++) free(all[i]->x);
}

TEST(test_qr)
{
    for (int t = 0; t < TYPES; t++)
        for (int number = 0; number < SHAPES; number++)
            for (int is_wide = 0; is_wide < 2; is_wide++) check_qr(&types[t], number, is_wide);
}

/* The first n columns of Q alone, with n < m. */
TEST(test_thin_q)
{
    for (int t = 0; t < TYPES; t++) {
        matrix a = random_matrix(&types[t], 45, 17);
        stored s = store(&types[t], &a, 2);
        void *tau = reflect(&types[t], &s, false);
        matrix factors = loaded(&s), q = whole_q(&types[t], &factors, tau), want = part(&q, 45, 17);
        int size = 0, *info = acquire_info();
        expect_ok(types[t].gqr_size(45, 17, 17, s.bytes, s.ld, tau, &size));
        void *work = workspace(&types[t], size);
        expect_ok(types[t].gqr(45, 17, 17, s.bytes, s.ld, tau, work, size, info));
        assert_int_equal(take_info(info), 0);
        matrix thin = take(&s);
        expect_within(distance(&thin, &want), 3 * gamma_of(&types[t], 45));
        free_memory(work, tau);
        matrix *const all[] = {&a, &factors, &q, &want, &thin};
        for (int i = 0; i < 5; i++) free(all[i]->x);
    }
}

/* ---- numbers that are none ---- */

/* A NaN in A is one in every solution. */
TEST(test_nan)
{
    for (int t = 0; t < TYPES; t++) {
        matrix a = random_matrix(&types[t], 20, 20), b = random_matrix(&types[t], 20, 1);
        *at(&a, 7, 3) = NAN;
        stored s = store(&types[t], &a, 0), x = store(&types[t], &b, 0);
        int *info = acquire_info();
        const lu f = factor(&types[t], &s, NARROW);
        expect_ok(types[t].getrs(CUBLAS_OP_N, 20, 1, s.bytes, s.ld, f.narrow, x.bytes, x.ld, info));
        assert_int_equal(take_info(info), 0);
        matrix factors = take(&s), solution = take(&x);
        assert_true(isnan(norm(&factors)) && isnan(norm(&solution)));
        release(&f);
        matrix *const all[] = {&a, &b, &factors, &solution};
        for (int i = 0; i < 4; i++) free(all[i]->x);
    }
}

int main(void) { return test_run(.set_up = create, .tear_down = destroy); }
