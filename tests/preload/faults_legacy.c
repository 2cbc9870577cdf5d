/* faults_legacy.c - the interface of cublas.h: errors that are asked for afterwards, and a stream
 * that goes with the interface. */
#include <cuda_runtime_api.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "faults_work.h"
#include "injected.h"

/* As cublas.h, which cannot be included together with cublas_v2.h, declares them all. */
#undef cublasDgemm
cublasStatus_t cublasInit(void);
cublasStatus_t cublasShutdown(void);
cublasStatus_t cublasGetError(void);
cublasStatus_t cublasSetKernelStream(cudaStream_t stream);
void cublasDgemm(char transa, char transb, int m, int n, int k, double alpha, const double *A,
                 int lda, const double *B, int ldb, double beta, double *C, int ldc);

static double before[N * N], after[N * N];

/* C <- A B, whose elements are NaN before. */
static int multiply_by_letters(const work *w)
{
    REQUIRE(!cudaMemcpy(w->c, before, BYTES, cudaMemcpyHostToDevice));
    cublasDgemm('n', 'N', N, N, N, 1.0, w->a, N, w->b, N, 0.0, w->c, N);
    const int status = (int)cublasGetError();
    read_c(w, after);
    return status;
}

static bool is_complete(void)
{
    bool is = true;
    for (int i = 0; i < N * N; i++) is &= !isnan(after[i]);
    return is;
}

static work begin(void)
{
    for (int i = 0; i < N * N; i++) before[i] = NAN;
    REQUIRE(!cublasInit());
    return make_work();
}

/* Each launch of a product fails, one after another: an incomplete product has an error, which is
 * there once. */
void ask_for_errors(void)
{
    REQUIRE(injected_prepare());
    const work w = begin();
    int errors = 0;
    for (unsigned long long first = 1, failed = 1; failed; first++) {
        inject(INJECTED_LAUNCH, first, 1);
        const int status = multiply_by_letters(&w);
        failed = injected(INJECTED_LAUNCH);
        inject(INJECTED_LAUNCH, 0, 0);
        REQUIRE(status == 0 ? is_complete() : status == CUBLAS_STATUS_EXECUTION_FAILED && failed);
        REQUIRE(!cublasGetError());
        errors += status != 0;
    }
    REQUIRE(errors > 0);
    REQUIRE(!multiply_by_letters(&w) && is_complete());
}

static void *shut_down(void *unused)
{
    REQUIRE(!cublasShutdown() && !cublasInit());
    return unused;
}

/* Three products: in a stream; in none, after the interface has begun anew; and in a stream that
 * may be the interface's or not, as another thread has let it begin anew. */
void begin_anew(void)
{
    cudaStream_t stream;
    pthread_t thread;
    const work w = begin();
    REQUIRE(!cudaStreamCreate(&stream) && !cublasSetKernelStream(stream));
    REQUIRE(!multiply_by_letters(&w) && is_complete());
    REQUIRE(!cublasShutdown() && !cudaStreamDestroy(stream) && !cublasInit());
    REQUIRE(!multiply_by_letters(&w) && is_complete());
    REQUIRE(!cudaStreamCreate(&stream) && !cublasSetKernelStream(stream));
    REQUIRE(!pthread_create(&thread, NULL, shut_down, NULL) && !pthread_join(thread, NULL));
    REQUIRE(!multiply_by_letters(&w) && is_complete());
}

/* The context ends with the interface. */
void end_context_after_legacy_products(void)
{
    enum { PRODUCTS = 40 };
    const work w = begin();
    for (int i = 0; i < PRODUCTS; i++) REQUIRE(!multiply_by_letters(&w) && is_complete());
    REQUIRE(!cublasShutdown() && !cudaDeviceReset());
}
