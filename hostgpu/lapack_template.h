/* lapack_template.h - LAPACK for one type: its functions as Fortran has them, and the table of
 * lapack.h. lapack.c includes this file once per type and defines
 *   ELEMENT, WIDE (the same in binary64), REAL, LETTER (Z), LOWER (z), TYPE (CUDA_C_64F),
 *   REAL_TYPE (CUDA_R_64F), IS_COMPLEX,
 *   UNITARY(name), HERMITIAN(name)   names that differ between real and complex types (zunmqr_)
 * of which this file undefines those that differ from type to type.
 * No include guard: it is meant to be included again. */

#define LOCAL(name)  JOIN(LOWER, _, name)
#define LAPACK(name) JOIN(LOWER, name, _)

/* Lengths of characters come last, as gfortran has them. */
void LAPACK(getrf)(const int *m, const int *n, void *a, const int *lda, int *pivots, int *info);
void LAPACK(getri)(const int *n, void *a, const int *lda, const int *pivots, void *work,
                   const int *size, int *info);
void LAPACK(getrs)(const char *op, const int *n, const int *columns, const void *a, const int *lda,
                   const int *pivots, void *b, const int *ldb, int *info, size_t);
void LAPACK(potrf)(const char *uplo, const int *n, void *a, const int *lda, int *info, size_t);
void LAPACK(potrs)(const char *uplo, const int *n, const int *columns, const void *a,
                   const int *lda, void *b, const int *ldb, int *info, size_t);
void LAPACK(potri)(const char *uplo, const int *n, void *a, const int *lda, int *info, size_t);
void LAPACK(geqrf)(const int *m, const int *n, void *a, const int *lda, void *tau, void *work,
                   const int *size, int *info);
void UNITARY(mqr)(const char *side, const char *op, const int *m, const int *n, const int *k,
                  const void *a, const int *lda, const void *tau, void *c, const int *ldc,
                  void *work, const int *size, int *info, size_t, size_t);
void UNITARY(gqr)(const int *m, const int *n, const int *k, void *a, const int *lda,
                  const void *tau, void *work, const int *size, int *info);
#if IS_COMPLEX
void HERMITIAN(evd)(const char *job, const char *uplo, const int *n, void *a, const int *lda,
                    void *values, void *work, const int *size, void *real_work,
                    const int *real_size, int *int_work, const int *int_size, int *info, size_t,
                    size_t);
void LAPACK(gesvd)(const char *job_u, const char *job_vt, const int *m, const int *n, void *a,
                   const int *lda, void *values, void *u, const int *ldu, void *vt, const int *ldvt,
                   void *work, const int *size, void *real_work, int *info, size_t, size_t);
#else
void HERMITIAN(evd)(const char *job, const char *uplo, const int *n, void *a, const int *lda,
                    void *values, void *work, const int *size, int *int_work, const int *int_size,
                    int *info, size_t, size_t);
void LAPACK(gesvd)(const char *job_u, const char *job_vt, const int *m, const int *n, void *a,
                   const int *lda, void *values, void *u, const int *ldu, void *vt, const int *ldvt,
                   void *work, const int *size, int *info, size_t, size_t);
#endif

/* A function that does no more than hand its parameters to Fortran. */
#define DEFINE(name, parameters, function, arguments)                                              \
    static int LOCAL(name) parameters                                                              \
    {                                                                                              \
        int info = 0;                                                                              \
        function arguments;                                                                        \
        return info;                                                                               \
    }
DEFINE(getrf, (int m, int n, void *a, int lda, int *pivots), LAPACK(getrf),
       (&m, &n, a, &lda, pivots, &info))
DEFINE(getri, (int n, void *a, int lda, const int *pivots, void *work, int size), LAPACK(getri),
       (&n, a, &lda, pivots, work, &size, &info))
DEFINE(getrs,
       (char op, int n, int columns, const void *a, int lda, const int *pivots, void *b, int ldb),
       LAPACK(getrs), (&op, &n, &columns, a, &lda, pivots, b, &ldb, &info, 1))
DEFINE(potrs, (char uplo, int n, int columns, const void *a, int lda, void *b, int ldb),
       LAPACK(potrs), (&uplo, &n, &columns, a, &lda, b, &ldb, &info, 1))
DEFINE(potri, (char uplo, int n, void *a, int lda), LAPACK(potri), (&uplo, &n, a, &lda, &info, 1))
DEFINE(geqrf, (int m, int n, void *a, int lda, void *tau, void *work, int size), LAPACK(geqrf),
       (&m, &n, a, &lda, tau, work, &size, &info))
DEFINE(unmqr,
       (char side, char op, int m, int n, int k, const void *a, int lda, const void *tau, void *c,
        int ldc, void *work, int size),
       UNITARY(mqr), (&side, &op, &m, &n, &k, a, &lda, tau, c, &ldc, work, &size, &info, 1, 1))
DEFINE(ungqr, (int m, int n, int k, void *a, int lda, const void *tau, void *work, int size),
       UNITARY(gqr), (&m, &n, &k, a, &lda, tau, work, &size, &info))
#undef DEFINE

/* A multiplier is rounded where it is kept, but not where it is used. */
static int LOCAL(getrf_plain)(int m, int n, void *matrix, int lda)
{
    const size_t step = (size_t)lda;
    for (int k = 0; k < m && k < n; k++) {
        const ELEMENT *top = (ELEMENT *)matrix + (size_t)k * (step + 1);
        if (*top == 0) return k + 1;
        for (int i = k + 1; i < m; i++) {
            ELEMENT *row = (ELEMENT *)matrix + (size_t)i + (size_t)k * step;
            const WIDE l = (WIDE)*row / *top;
            *row = (ELEMENT)l;
            for (size_t j = 1; j < (size_t)(n - k); j++)
                row[j * step] = (ELEMENT)(row[j * step] - l * top[j * step]);
        }
    }
    return 0;
}

/* OpenBLAS takes a pivot that is NaN for positive, as LAPACK's own routine and Tandem's do not. */
static int LOCAL(potrf)(char uplo, int n, void *a, int lda)
{
    int info = 0;
    LAPACK(potrf)(&uplo, &n, a, &lda, &info, 1);
    for (size_t i = 0; info == 0 && i < (size_t)n; i++) {
        const REAL *const pivot = (const REAL *)((const ELEMENT *)a + i * ((size_t)lda + 1));
        if (isnan(*pivot)) info = (int)i + 1;
    }
    return info;
}

static int LOCAL(heevd)(char job, char uplo, int n, void *a, int lda, void *values, void *work,
                        int size, void *real_work, int real_size, int *int_work, int int_size)
{
    int info = 0;
#if IS_COMPLEX
    HERMITIAN(evd)
    (&job, &uplo, &n, a, &lda, values, work, &size, real_work, &real_size, int_work, &int_size,
     &info, 1, 1);
#else
    (void)real_work, (void)real_size;
    HERMITIAN(evd)(&job, &uplo, &n, a, &lda, values, work, &size, int_work, &int_size, &info, 1, 1);
#endif
    return info;
}

static int LOCAL(gesvd)(char job_u, char job_vt, int m, int n, void *a, int lda, void *values,
                        void *u, int ldu, void *vt, int ldvt, void *work, int size, void *real_work)
{
    int info = 0;
#if IS_COMPLEX
    LAPACK(gesvd)
    (&job_u, &job_vt, &m, &n, a, &lda, values, u, &ldu, vt, &ldvt, work, &size, real_work, &info, 1,
     1);
#else
    (void)real_work;
    LAPACK(gesvd)
    (&job_u, &job_vt, &m, &n, a, &lda, values, u, &ldu, vt, &ldvt, work, &size, &info, 1, 1);
#endif
    return info;
}

const lapack_type JOIN(hostgpu_lapack, _, LETTER) = {
    .type = TYPE,
    .real_type = REAL_TYPE,
    .bytes = sizeof(ELEMENT),
    .real_bytes = sizeof(REAL),
    .is_complex = IS_COMPLEX,
    .getrf = LOCAL(getrf),
    .getrf_plain = LOCAL(getrf_plain),
    .getri = LOCAL(getri),
    .getrs = LOCAL(getrs),
    .potrf = LOCAL(potrf),
    .potrs = LOCAL(potrs),
    .potri = LOCAL(potri),
    .geqrf = LOCAL(geqrf),
    .unmqr = LOCAL(unmqr),
    .ungqr = LOCAL(ungqr),
    .heevd = LOCAL(heevd),
    .gesvd = LOCAL(gesvd),
};

#undef LOCAL
#undef LAPACK
#undef ELEMENT
#undef WIDE
#undef REAL
#undef LETTER
#undef LOWER
#undef TYPE
#undef REAL_TYPE
