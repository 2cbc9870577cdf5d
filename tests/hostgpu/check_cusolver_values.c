/* check_cusolver_values.c - eigenvalues and singular values of the stand-in for cuSOLVER, in all
 * four types: vectors that are unitary, and products with them, made in long double, against the
 * matrix. Bounds are a few times what LAPACK's error analysis has. */
#include "cusolver_expect.h"

/* ---- eigenvalues ---- */

static matrix diagonal_of(const solver_type *t, const void *values, int n)
{
    matrix d = make(n, n);
    for (int i = 0; i < n; i++)
        *at(&d, i, i) = t->is_double ? ((const double *)values)[i] : ((const float *)values)[i];
    return d;
}

/* The values as a diagonal; vectors in place of A. */
static matrix eigen(const solver_type *t, stored *a, cusolverEigMode_t job, cublasFillMode_t uplo,
                    bool is_wide)
{
    void *values = acquire((size_t)a->rows * sizeof(double));
    int size = 0, *info = acquire_info();
    if (is_wide) {
        size_t bytes = 0, host_bytes = 1;
        expect_ok(cusolverDnXsyevd_bufferSize(solver, NULL, job, uplo, a->rows, t->data, a->bytes,
                                              a->ld, t->real_data, values, t->data, &bytes,
                                              &host_bytes));
        void *work = acquire(bytes), *host = malloc(host_bytes + 1);
        expect_ok(cusolverDnXsyevd(solver, NULL, job, uplo, a->rows, t->data, a->bytes, a->ld,
                                   t->real_data, values, t->data, work, bytes, host, host_bytes,
                                   info));
        expect_success(cudaFree(work));
        free(host);
    } else {
        expect_ok(t->evd_size(job, uplo, a->rows, a->bytes, a->ld, values, &size));
        void *work = workspace(t, size);
        expect_ok(t->evd(job, uplo, a->rows, a->bytes, a->ld, values, work, size, info));
        expect_success(cudaFree(work));
    }
    assert_int_equal(take_info(info), 0);
    matrix d = diagonal_of(t, values, a->rows);
    expect_success(cudaFree(values));
    return d;
}

static void check_eigen(const solver_type *t, int n, cublasFillMode_t uplo, bool is_wide)
{
    matrix a = hermitian_matrix(t, n, 0);
    stored s = store_triangle(t, &a, uplo, n % 4), alone = store_triangle(t, &a, uplo, 1);
    matrix values = eigen(t, &s, CUSOLVER_EIG_MODE_VECTOR, uplo, is_wide);
    matrix only = eigen(t, &alone, CUSOLVER_EIG_MODE_NOVECTOR, uplo, is_wide);
    matrix v = take(&s), av = product(&a, &v), vd = product(&v, &values);
    expect_unitary(t, &v);
    expect_within(distance(&av, &vd), 10 * gamma_of(t, n) * norm(&a));
    expect_within(distance(&values, &only), 10 * gamma_of(t, n) * norm(&a));
    for (int i = 0; i + 1 < n; i++)
        assert_true(creall(*at(&values, i, i)) <= creall(*at(&values, i + 1, i + 1)));
    expect_padding(&alone);
    expect_success(cudaFree(alone.bytes));
    matrix *const all[] = {&a, &values, &only, &v, &av, &vd};
    for (int i = 0; i < 6; i++) free(all[i]->x);
}

TEST(test_eigen)
{
    for (int t = 0; t < TYPES; t++)
        for (int which = 0; which < 4; which++) {
            for (int n = 0; n <= 40; n++) check_eigen(&types[t], n, fills[which % 2], which / 2);
            check_eigen(&types[t], 97, fills[which % 2], which / 2);
        }
}

/* ---- singular values ---- */

/* A against U S V', with all columns of U or the first n. */
static void check_svd(const solver_type *t, int m, int n, char job_u)
{
    matrix a = random_matrix(t, m, n), empty_u = make(m, job_u == 'A' ? m : n),
           empty_v = make(n, n);
    stored s = store(t, &a, 1), su = store(t, &empty_u, 2), sv = store(t, &empty_v, 3);
    void *values = acquire((size_t)n * sizeof(double));
    int size = 0, *info = acquire_info();
    expect_ok(t->svd_size(m, n, &size));
    void *work = workspace(t, size);
    expect_ok(t->svd(job_u, 'A', m, n, s.bytes, s.ld, values, su.bytes, su.ld, sv.bytes, sv.ld,
                     work, size, info));
    assert_int_equal(take_info(info), 0);
    matrix d = diagonal_of(t, values, n), u = take(&su), vt = take(&sv), thin = part(&u, m, n),
           ud = product(&thin, &d), udv = product(&ud, &vt), v = adjoint(&vt), left = take(&s);
    expect_unitary(t, &u);
    expect_unitary(t, &v);
    expect_within(distance(&udv, &a), 10 * gamma_of(t, m) * norm(&a));
    for (int i = 0; i + 1 < n; i++)
        assert_true(creall(*at(&d, i, i)) >= creall(*at(&d, i + 1, i + 1)));
    free_memory(values, work);
    matrix *const all[] = {&a, &empty_u, &empty_v, &d, &u, &vt, &thin, &ud, &udv, &v, &left};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]->x);
}

TEST(test_svd)
{
    for (int t = 0; t < TYPES; t++) {
        for (int n = 1; n <= 40; n += 3) {
            check_svd(&types[t], n, n, 'A');
            check_svd(&types[t], n + 5, n, n % 2 ? 'A' : 'S');
        }
        check_svd(&types[t], 97, 60, 'S');
    }
}

int main(void) { return test_run(.set_up = create, .tear_down = destroy); }
