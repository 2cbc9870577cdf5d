/* lookup_late.c - a library that calls cuBLAS's dgemm in two ways: by an address that it looks up
 * at its first call and keeps, and as one that is linked to it. */
#include <dlfcn.h>

#include <cublas_v2.h>

cublasStatus_t multiply_by_name(cublasHandle_t handle, int m, int n, int k, const double *a,
                                const double *b, double *c);
cublasStatus_t multiply_linked(cublasHandle_t handle, int m, int n, int k, const double *a,
                               const double *b, double *c);

typedef __typeof__(&cublasDgemm_v2) dgemm;

static const double one = 1.0, zero = 0.0;

cublasStatus_t multiply_by_name(cublasHandle_t handle, int m, int n, int k, const double *a,
                                const double *b, double *c)
{
    static dgemm kept;
    if (!kept) {
        void *library = dlopen("libcublas.so.13", RTLD_LAZY | RTLD_NOLOAD);
        kept = library ? (dgemm)dlsym(library, "cublasDgemm_v2") : NULL;
        if (!kept || !dlsym(library, "cublasCreate_v2")) return CUBLAS_STATUS_NOT_INITIALIZED;
    }
    return kept(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one, a, m, b, k, &zero, c, m);
}

#ifdef LINKED
cublasStatus_t multiply_linked(cublasHandle_t handle, int m, int n, int k, const double *a,
                               const double *b, double *c)
{
    return cublasDgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one, a, m, b, k, &zero, c, m);
}
#endif
