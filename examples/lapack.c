/* Eigenpairs by LAPACK on the host, where there is no GPU. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>

#include "common.h"
#include "solver.h"

typedef void syevd(const char *job, const char *triangle, const int *n, double *a, const int *lda,
                   double *w, double *work, const int *work_count, int *iwork,
                   const int *iwork_count, int *info);
typedef void sygvd(const int *type, const char *job, const char *triangle, const int *n, double *a,
                   const int *lda, double *b, const int *ldb, double *w, double *work,
                   const int *work_count, int *iwork, const int *iwork_count, int *info);

typedef struct {
    syevd *syevd;
    sygvd *sygvd;
} lapack;

static bool lapack_load(lapack *l)
{
    static const char *const names[] = {"libopenblas.so.0", "liblapack.so.3"};
    void *library = NULL;

    for (size_t i = 0; !library && i < sizeof names / sizeof *names; i++)
        library = dlopen(names[i], RTLD_LAZY | RTLD_LOCAL);
    if (library) {
        *(void **)&l->syevd = dlsym(library, "dsyevd_");
        *(void **)&l->sygvd = dlsym(library, "dsygvd_");
    }
    if (library && l->syevd && l->sygvd) return true;
    complain("LAPACK: %s", dlerror());
    return false;
}

/* Matrices on the host: A, then its eigenvectors; B, then its factor, or NULL. */
typedef struct {
    const lapack *library;
    int n;
    double *x, *factor, *d;
} pairs;

/* The call; with counts of -1 it only writes how much memory it wants to work and iwork. */
static int call(const pairs *p, double *work, int work_count, int *iwork, int iwork_count)
{
    const int type = 1;
    int info = 0;

    if (p->factor)
        p->library->sygvd(&type, "V", "L", &p->n, p->x, &p->n, p->factor, &p->n, p->d, work,
                          &work_count, iwork, &iwork_count, &info);
    else
        p->library->syevd("V", "L", &p->n, p->x, &p->n, p->d, work, &work_count, iwork,
                          &iwork_count, &info);
    return info;
}

static bool find_pairs(const pairs *p, double *seconds)
{
    double work_wanted = 0.0;
    int iwork_wanted = 0, info = call(p, &work_wanted, -1, &iwork_wanted, -1);
    double *work = host_matrix((int)work_wanted, 1);
    int *iwork = calloc((size_t)iwork_wanted + 1, sizeof *iwork);
    const double start = seconds_now();

    if (info == 0 && work && iwork) info = call(p, work, (int)work_wanted, iwork, iwork_wanted);
    *seconds = seconds_now() - start;
    const bool is_done = work && iwork && info == 0;
    if (info != 0)
        complain("LAPACK finds no eigenpairs: info %d%s", info,
                 p->factor && info > p->n ? ", B is not positive definite" : "");
    free(iwork);
    free(work);
    return is_done;
}

bool eigenpairs_lapack(int n, const double *a, const double *b, double *x, double *d,
                       double *seconds)
{
    const size_t bytes = (size_t)n * (size_t)n * sizeof *a;
    lapack library = {0};
    pairs p = {.library = &library, .n = n, .x = host_matrix(n, n), .d = host_matrix(n, 1)};
    bool is_done = false;

    if (b) p.factor = host_matrix(n, n);
    if (!p.x || !p.d || (b && !p.factor) || !lapack_load(&library)) goto out;
    CHECK_CUDA(cudaMemcpy(p.x, a, bytes, cudaMemcpyDeviceToHost));
    if (b) CHECK_CUDA(cudaMemcpy(p.factor, b, bytes, cudaMemcpyDeviceToHost));
    if (!find_pairs(&p, seconds)) goto out;
    CHECK_CUDA(cudaMemcpy(x, p.x, bytes, cudaMemcpyHostToDevice));
    CHECK_CUDA(cudaMemcpy(d, p.d, (size_t)n * sizeof *d, cudaMemcpyHostToDevice));
    is_done = true;
out:
    free(p.factor);
    free(p.d);
    free(p.x);
    return is_done;
}
