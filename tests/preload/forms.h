/* forms.h - every cuBLAS function that Tandem intercepts, behind one signature. */
#ifndef FORMS_H
#define FORMS_H

#include <cublas_api.h>
#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

/* The arguments of one call; each function takes those that it has. */
typedef struct {
    cublasHandle_t handle;
    int op_a, op_b; /* of cublasOperation_t, or not */
    int64_t m, n, k, lda, ldb, ldc, batch;
    long long stride_a, stride_b, stride_c;
    const double *alpha, *beta; /* on the host or the device, as the handle's pointer mode says */
    double alpha_value, beta_value; /* the same, for the function without handle */
    const double *a, *b;
    double *c;
    const double *const *a_array, *const *b_array; /* arrays in device memory */
    double *const *c_array;
    cudaDataType type_a, type_c;
    cublasComputeType_t compute;
} arguments;

typedef struct {
    const char *name;
    cublasStatus_t (*call)(const arguments *x);
    bool has_handle, has_batch, has_types;
    bool has_groups; /* a group of one, and one of all others; only with scalars on the host */
    bool is_brief;   /* the 64-bit twin of a form that is called in every way */
} form;

enum { GROUPS = 2 };

extern const form forms[];
extern const int form_count;

/* cublas.h cannot be included together with cublas_api.h. */
cublasStatus_t cublasInit(void);
cublasStatus_t cublasShutdown(void);
cublasStatus_t cublasGetError(void);
cublasStatus_t cublasSetKernelStream(cudaStream_t stream);
void cublasDgemm(char op_a, char op_b, int m, int n, int k, double alpha, const double *a, int lda,
                 const double *b, int ldb, double beta, double *c, int ldc);

#endif
