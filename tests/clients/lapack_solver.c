/* lapack_solver.c - the functions of libcusolver that solver.c calls, by LAPACK, for the host
 * device, whose memory the host reads and writes. Workspaces are the library's own. */
#include <complex.h>
#include <stdlib.h>

typedef double complex number;
typedef int status;

/* LAPACK's functions, whose matrices and workspaces have no type here. */
#define LAPACK(letter)                                                                             \
    void letter##getrf_(const int *, const int *, void *, const int *, int *, int *);              \
    void letter##getrs_(const char *, const int *, const int *, const void *, const int *,         \
                        const int *, void *, const int *, int *, size_t);                          \
    void letter##geqrf_(const int *, const int *, void *, const int *, void *, void *,             \
                        const int *, int *);                                                       \
    void letter##potrf_(const char *, const int *, void *, const int *, int *, size_t);            \
    void letter##potrs_(const char *, const int *, const int *, const void *, const int *, void *, \
                        const int *, int *, size_t);
LAPACK(d)
LAPACK(z)
void dsyev_(const char *, const char *, const int *, void *, const int *, double *, void *,
            const int *, int *, size_t, size_t);
void zheev_(const char *, const char *, const int *, void *, const int *, double *, void *,
            const int *, double *, int *, size_t, size_t);
void dgesvd_(const char *, const char *, const int *, const int *, void *, const int *, double *,
             void *, const int *, void *, const int *, void *, const int *, int *, size_t, size_t);
void zgesvd_(const char *, const char *, const int *, const int *, void *, const int *, double *,
             void *, const int *, void *, const int *, void *, const int *, double *, int *, size_t,
             size_t);

status cusolverDnCreate(void **handle);
status cusolverDnCreate(void **handle)
{
    static int unused;
    *handle = &unused;
    return 0;
}

#define DEFINE_FACTORS(upper, lower)                                                               \
    status cusolverDn##upper##getrf_bufferSize(void *, int, int, void *, int, int *);              \
    status cusolverDn##upper##getrf_bufferSize(void *handle, int m, int n, void *a, int lda,       \
                                               int *size)                                          \
    {                                                                                              \
        (void)handle, (void)m, (void)n, (void)a, (void)lda;                                        \
        *size = 1;                                                                                 \
        return 0;                                                                                  \
    }                                                                                              \
    status cusolverDn##upper##getrf(void *, int, int, void *, int, void *, int *, int *);          \
    status cusolverDn##upper##getrf(void *handle, int m, int n, void *a, int lda, void *work,      \
                                    int *pivots, int *info)                                        \
    {                                                                                              \
        (void)handle, (void)work;                                                                  \
        lower##getrf_(&m, &n, a, &lda, pivots, info);                                              \
        return 0;                                                                                  \
    }                                                                                              \
    status cusolverDn##upper##getrs(void *, int, int, int, const void *, int, const int *, void *, \
                                    int, int *);                                                   \
    status cusolverDn##upper##getrs(void *handle, int op, int n, int vectors, const void *a,       \
                                    int lda, const int *pivots, void *b, int ldb, int *info)       \
    {                                                                                              \
        (void)handle;                                                                              \
        lower##getrs_(&"NTC"[op], &n, &vectors, a, &lda, pivots, b, &ldb, info, 1);                \
        return 0;                                                                                  \
    }                                                                                              \
    status cusolverDn##upper##potrf_bufferSize(void *, int, int, void *, int, int *);              \
    status cusolverDn##upper##potrf_bufferSize(void *handle, int uplo, int n, void *a, int lda,    \
                                               int *size)                                          \
    {                                                                                              \
        (void)handle, (void)uplo, (void)n, (void)a, (void)lda;                                     \
        *size = 1;                                                                                 \
        return 0;                                                                                  \
    }                                                                                              \
    status cusolverDn##upper##potrf(void *, int, int, void *, int, void *, int, int *);            \
    status cusolverDn##upper##potrf(void *handle, int uplo, int n, void *a, int lda, void *work,   \
                                    int size, int *info)                                           \
    {                                                                                              \
        (void)handle, (void)work, (void)size;                                                      \
        lower##potrf_(&"LU"[uplo], &n, a, &lda, info, 1);                                          \
        return 0;                                                                                  \
    }                                                                                              \
    status cusolverDn##upper##potrs(void *, int, int, int, const void *, int, void *, int, int *); \
    status cusolverDn##upper##potrs(void *handle, int uplo, int n, int vectors, const void *a,     \
                                    int lda, void *b, int ldb, int *info)                          \
    {                                                                                              \
        (void)handle;                                                                              \
        lower##potrs_(&"LU"[uplo], &n, &vectors, a, &lda, b, &ldb, info, 1);                       \
        return 0;                                                                                  \
    }
DEFINE_FACTORS(D, d)
DEFINE_FACTORS(Z, z)

/* Elements of a workspace that is enough for all of these. */
static int size_for(int n) { return 8 * n + 64 * n; }

#define DEFINE_QR(upper, lower)                                                                    \
    status cusolverDn##upper##geqrf_bufferSize(void *, int, int, void *, int, int *);              \
    status cusolverDn##upper##geqrf_bufferSize(void *handle, int m, int n, void *a, int lda,       \
                                               int *size)                                          \
    {                                                                                              \
        (void)handle, (void)m, (void)a, (void)lda;                                                 \
        *size = size_for(n);                                                                       \
        return 0;                                                                                  \
    }                                                                                              \
    status cusolverDn##upper##geqrf(void *, int, int, void *, int, void *, void *, int, int *);    \
    status cusolverDn##upper##geqrf(void *handle, int m, int n, void *a, int lda, void *scales,    \
                                    void *work, int size, int *info)                               \
    {                                                                                              \
        (void)handle;                                                                              \
        lower##geqrf_(&m, &n, a, &lda, scales, work, &size, info);                                 \
        return 0;                                                                                  \
    }
DEFINE_QR(D, d)
DEFINE_QR(Z, z)

#define DEFINE_EIGEN(name, ...)                                                                    \
    status cusolverDn##name##_bufferSize(void *, int, int, int, const void *, int, const double *, \
                                         int *);                                                   \
    status cusolverDn##name##_bufferSize(void *handle, int vectors, int uplo, int n,               \
                                         const void *a, int lda, const double *values, int *size)  \
    {                                                                                              \
        (void)handle, (void)vectors, (void)uplo, (void)a, (void)lda, (void)values;                 \
        *size = size_for(n);                                                                       \
        return 0;                                                                                  \
    }                                                                                              \
    status cusolverDn##name(void *, int, int, int, void *, int, double *, void *, int, int *);     \
    status cusolverDn##name(void *handle, int vectors, int uplo, int n, void *a, int lda,          \
                            double *values, void *work, int size, int *info)                       \
    {                                                                                              \
        (void)handle;                                                                              \
        double *real = malloc((size_t)size_for(n) * sizeof *real);                                 \
        if (!real) return 1;                                                                       \
        __VA_ARGS__;                                                                               \
        free(real);                                                                                \
        return 0;                                                                                  \
    }
DEFINE_EIGEN(Dsyevd,
             dsyev_(&"NV"[vectors], &"LU"[uplo], &n, a, &lda, values, work, &size, info, 1, 1))
DEFINE_EIGEN(Zheevd, zheev_(&"NV"[vectors], &"LU"[uplo], &n, a, &lda, values, work, &size, real,
                            info, 1, 1))

#define DEFINE_SVD(name, ...)                                                                      \
    status cusolverDn##name##_bufferSize(void *, int, int, int *);                                 \
    status cusolverDn##name##_bufferSize(void *handle, int m, int n, int *size)                    \
    {                                                                                              \
        (void)handle;                                                                              \
        *size = size_for(m > n ? m : n);                                                           \
        return 0;                                                                                  \
    }                                                                                              \
    status cusolverDn##name(void *, signed char, signed char, int, int, void *, int, double *,     \
                            void *, int, void *, int, void *, int, double *, int *);               \
    status cusolverDn##name(void *handle, signed char job_u, signed char job_v, int m, int n,      \
                            void *a, int lda, double *values, void *u, int ldu, void *v, int ldv,  \
                            void *work, int size, double *unused, int *info)                       \
    {                                                                                              \
        (void)handle, (void)unused;                                                                \
        const char jobs[] = {(char)job_u, (char)job_v};                                            \
        double *real = malloc((size_t)size_for(m > n ? m : n) * sizeof *real);                     \
        if (!real) return 1;                                                                       \
        __VA_ARGS__;                                                                               \
        free(real);                                                                                \
        return 0;                                                                                  \
    }
DEFINE_SVD(Dgesvd, dgesvd_(&jobs[0], &jobs[1], &m, &n, a, &lda, values, u, &ldu, v, &ldv, work,
                           &size, info, 1, 1))
DEFINE_SVD(Zgesvd, zgesvd_(&jobs[0], &jobs[1], &m, &n, a, &lda, values, u, &ldu, v, &ldv, work,
                           &size, real, info, 1, 1))
