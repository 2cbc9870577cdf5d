/* check_cusolver_calls.c - handles, settings, arguments, operands, streams and captures of the
 * stand-in for cuSOLVER. HOSTGPU_DEVICES is 2. */
#include <stddef.h>
#include <stdint.h>

#include "cusolver_expect.h"

/* A 2 x 2 matrix, its factors and all that calls need, in device memory. */
enum { ORDER = 2, WORK = 64 };
static struct {
    double *a, *b, *tau, *work;
    int *pivots, *info;
    int64_t *wide;
} on;

static void reset(void)
{
    memcpy(on.a, (double[]){0, 4, 2, 8}, 4 * sizeof *on.a); /* rows (0 2), (4 8) */
    memcpy(on.b, (double[]){4, 20}, 2 * sizeof *on.b);
    *on.info = -12345;
}

static int set_up(void **state)
{
    if (create(state)) return 1;
    on.a = acquire(4 * sizeof *on.a);
    on.b = acquire(2 * sizeof *on.b);
    on.tau = acquire(2 * sizeof *on.tau);
    on.work = acquire(WORK * sizeof *on.work);
    on.pivots = acquire(2 * sizeof *on.pivots);
    on.wide = acquire(2 * sizeof *on.wide);
    on.info = acquire(sizeof *on.info);
    reset();
    return 0;
}

static int tear_down(void **state)
{
    void *const all[] = {on.a, on.b, on.tau, on.work, on.pivots, on.wide, on.info};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) expect_success(cudaFree(all[i]));
    return destroy(state);
}

static status factor(cusolverDnHandle_t handle)
{
    return cusolverDnDgetrf(handle, ORDER, ORDER, on.a, ORDER, on.work, on.pivots, on.info);
}

static status solve(cusolverDnHandle_t handle)
{
    return cusolverDnDgetrs(handle, CUBLAS_OP_N, ORDER, 1, on.a, ORDER, on.pivots, on.b, ORDER,
                            on.info);
}

/* ---- handles ---- */

TEST(test_handles)
{
    cusolverDnHandle_t h = NULL, again = NULL;
    cudaStream_t stream = NULL;
    int size = 0;

    expect_status(cusolverDnCreate(NULL), CUSOLVER_STATUS_INVALID_VALUE);
    expect_status(cusolverDnDestroy(NULL), CUSOLVER_STATUS_NOT_INITIALIZED);
    expect_status(cusolverDnSetStream(NULL, NULL), CUSOLVER_STATUS_NOT_INITIALIZED);
    expect_status(factor(NULL), CUSOLVER_STATUS_NOT_INITIALIZED);
    expect_ok(cusolverDnCreate(&h));
    expect_ok(cusolverDnDestroy(h));
    expect_status(cusolverDnDestroy(h), CUSOLVER_STATUS_NOT_INITIALIZED);
    expect_status(cusolverDnGetStream(h, &stream), CUSOLVER_STATUS_NOT_INITIALIZED);
    expect_status(factor(h), CUSOLVER_STATUS_NOT_INITIALIZED);
    expect_status(cusolverDnDgetrf_bufferSize(h, ORDER, ORDER, on.a, ORDER, &size),
                  CUSOLVER_STATUS_NOT_INITIALIZED);
    assert_int_equal(*on.info, -12345);
    expect_ok(cusolverDnCreate(&again));
    expect_ok(factor(again));
    expect_ok(cusolverDnDestroy(again));
}

/* Of another device's context. */
TEST(test_other_device)
{
    expect_success(cudaSetDevice(1));
    capture c = start_capture();
    const status found = factor(solver);
    char *said = end_capture(c);
    expect_success(cudaSetDevice(0));
    expect_status(found, CUSOLVER_STATUS_EXECUTION_FAILED);
    assert_string_equal(said, "tandem: host device: cusolverDnDgetrf: the context that the handle "
                              "was made in is not the current one\n");
    free(said);
}

/* What was made in a context goes with it. */
TEST(test_gone_context)
{
    cusolverDnHandle_t h = NULL;

    expect_success(cudaSetDevice(1));
    expect_ok(cusolverDnCreate(&h));
    expect_success(cudaDeviceReset());
    capture c = start_capture();
    const status found = factor(h);
    char *said = end_capture(c);
    expect_success(cudaSetDevice(0));
    expect_status(found, CUSOLVER_STATUS_EXECUTION_FAILED);
    assert_string_equal(said, "tandem: host device: cusolverDnDgetrf: the context that the handle "
                              "was made in is gone\n");
    free(said);
    expect_ok(cusolverDnDestroy(h));
}

TEST(test_settings)
{
    cusolverDnHandle_t h = NULL;
    cusolverDeterministicMode_t deterministic;
    cusolverMathMode_t math;
    cudaEmulationStrategy_t strategy;
    cudaStream_t stream = (cudaStream_t)&h;

    expect_ok(cusolverDnCreate(&h));
    expect_ok(cusolverDnGetDeterministicMode(h, &deterministic));
    expect_ok(cusolverDnGetMathMode(h, &math));
    expect_ok(cusolverDnGetEmulationStrategy(h, &strategy));
    expect_ok(cusolverDnGetStream(h, &stream));
    assert_int_equal(deterministic, CUSOLVER_DETERMINISTIC_RESULTS);
    assert_int_equal(math, CUSOLVER_DEFAULT_MATH);
    assert_int_equal(strategy, CUDA_EMULATION_STRATEGY_DEFAULT);
    assert_null(stream);
    expect_ok(cusolverDnSetDeterministicMode(h, CUSOLVER_ALLOW_NON_DETERMINISTIC_RESULTS));
    expect_ok(cusolverDnSetMathMode(h, CUSOLVER_FP32_EMULATED_BF16X9_MATH));
    expect_ok(cusolverDnSetEmulationStrategy(h, CUDA_EMULATION_STRATEGY_EAGER));
    expect_status(cusolverDnSetDeterministicMode(h, 0), CUSOLVER_STATUS_INVALID_VALUE);
    expect_status(cusolverDnSetMathMode(h, 0), CUSOLVER_STATUS_INVALID_VALUE);
    expect_status(cusolverDnSetEmulationStrategy(h, 3), CUSOLVER_STATUS_INVALID_VALUE);
    expect_status(cusolverDnGetMathMode(h, NULL), CUSOLVER_STATUS_INVALID_VALUE);
    expect_ok(cusolverDnGetDeterministicMode(h, &deterministic));
    expect_ok(cusolverDnGetMathMode(h, &math));
    expect_ok(cusolverDnGetEmulationStrategy(h, &strategy));
    assert_int_equal(deterministic, CUSOLVER_ALLOW_NON_DETERMINISTIC_RESULTS);
    assert_int_equal(math, CUSOLVER_FP32_EMULATED_BF16X9_MATH);
    assert_int_equal(strategy, CUDA_EMULATION_STRATEGY_EAGER);
    expect_ok(cusolverDnDestroy(h));
}

TEST(test_versions)
{
    int version = 0, major = 0;

    expect_ok(cusolverGetVersion(&version));
    expect_ok(cusolverGetProperty(MAJOR_VERSION, &major));
    assert_int_equal(version, CUSOLVER_VERSION);
    assert_int_equal(major, CUSOLVER_VER_MAJOR);
    expect_status(cusolverGetProperty(PATCH_LEVEL + 1, &major), CUSOLVER_STATUS_INVALID_VALUE);
    expect_status(cusolverGetVersion(NULL), CUSOLVER_STATUS_INVALID_VALUE);
}

static status factor_with(cusolverDnParams_t params)
{
    reset();
    return cusolverDnXgetrf(solver, params, ORDER, ORDER, CUDA_R_64F, on.a, ORDER, on.wide,
                            CUDA_R_64F, on.work, WORK * sizeof *on.work, NULL, 0, on.info);
}

TEST(test_params)
{
    cusolverDnParams_t params = NULL;

    expect_status(cusolverDnCreateParams(NULL), CUSOLVER_STATUS_INVALID_VALUE);
    expect_ok(cusolverDnCreateParams(&params));
    expect_ok(cusolverDnSetAdvOptions(params, CUSOLVERDN_GETRF, CUSOLVER_ALG_1));
    expect_status(cusolverDnSetAdvOptions(params, CUSOLVERDN_GETRF, 3),
                  CUSOLVER_STATUS_INVALID_VALUE);
    expect_status(cusolverDnSetAdvOptions(params, 3, CUSOLVER_ALG_0),
                  CUSOLVER_STATUS_INVALID_VALUE);
    expect_status(cusolverDnSetAdvOptions(NULL, CUSOLVERDN_GETRF, CUSOLVER_ALG_0),
                  CUSOLVER_STATUS_INVALID_VALUE);
    expect_ok(factor_with(params));
    assert_int_equal(on.wide[0], 2);
    expect_ok(cusolverDnDestroyParams(params));
    expect_status(cusolverDnDestroyParams(params), CUSOLVER_STATUS_INVALID_VALUE);
    expect_status(factor_with(params), CUSOLVER_STATUS_INVALID_VALUE);
    assert_int_equal(*on.info, -1);
    expect_ok(factor_with(NULL));
}

/* ---- arguments ---- */

/* The call is refused, says which argument it is, and A keeps its bits. */
#define EXPECT_WRONG(number, call)                                                                 \
    do {                                                                                           \
        reset();                                                                                   \
        expect_status(cusolverDn##call, CUSOLVER_STATUS_INVALID_VALUE);                            \
        assert_int_equal(*on.info, -(number));                                                     \
        assert_memory_equal(on.a, ((double[]){0, 4, 2, 8}), 4 * sizeof *on.a);                     \
    } while (0)

TEST(test_lu_arguments)
{
    const double *a = on.a;

    EXPECT_WRONG(1, Dgetrf(solver, -1, 2, on.a, 2, on.work, on.pivots, on.info));
    EXPECT_WRONG(2, Dgetrf(solver, 2, -1, on.a, 2, on.work, on.pivots, on.info));
    EXPECT_WRONG(4, Dgetrf(solver, 2, 2, on.a, 1, on.work, on.pivots, on.info));
    EXPECT_WRONG(4, Dgetrf(solver, 0, 0, on.a, 0, on.work, on.pivots, on.info));
    EXPECT_WRONG(1, Dgetrs(solver, 3, 2, 1, a, 2, on.pivots, on.b, 2, on.info));
    EXPECT_WRONG(2, Dgetrs(solver, CUBLAS_OP_N, -1, 1, a, 2, on.pivots, on.b, 2, on.info));
    EXPECT_WRONG(3, Dgetrs(solver, CUBLAS_OP_N, 2, -1, a, 2, on.pivots, on.b, 2, on.info));
    EXPECT_WRONG(5, Dgetrs(solver, CUBLAS_OP_N, 2, 1, a, 1, on.pivots, on.b, 2, on.info));
    EXPECT_WRONG(8, Dgetrs(solver, CUBLAS_OP_N, 2, 1, a, 2, on.pivots, on.b, 1, on.info));
}

TEST(test_wide_arguments)
{
    const cudaDataType d = CUDA_R_64F;
    const size_t bytes = WORK * sizeof *on.work;

    EXPECT_WRONG(
        2, Xgetrf(solver, NULL, -1, 2, d, on.a, 2, on.wide, d, on.work, bytes, NULL, 0, on.info));
    EXPECT_WRONG(4, Xgetrf(solver, NULL, 2, 2, CUDA_R_16F, on.a, 2, on.wide, CUDA_R_16F, on.work,
                           bytes, NULL, 0, on.info));
    EXPECT_WRONG(4, Xgetrf(solver, NULL, 2, 2, d, on.a, 2, on.wide, CUDA_R_32F, on.work, bytes,
                           NULL, 0, on.info));
    EXPECT_WRONG(
        6, Xgetrf(solver, NULL, 2, 2, d, on.a, 1, on.wide, d, on.work, bytes, NULL, 0, on.info));
    EXPECT_WRONG(10,
                 Xgetrf(solver, NULL, 2, 2, d, on.a, 2, on.wide, d, on.work, 15, NULL, 0, on.info));
    EXPECT_WRONG(5, Xgetrs(solver, NULL, CUBLAS_OP_N, 2, 1, d, on.a, 2, on.wide, CUDA_C_64F, on.b,
                           2, on.info));
    EXPECT_WRONG(4, Xgeqrf(solver, NULL, 2, 2, d, on.a, 2, CUDA_R_32F, on.tau, d, on.work, bytes,
                           NULL, 0, on.info));
    EXPECT_WRONG(5, Xsyevd(solver, NULL, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_LOWER, 2, d,
                           on.a, 2, CUDA_C_64F, on.tau, d, on.work, bytes, NULL, 0, on.info));
    EXPECT_WRONG(13, Xsyevd(solver, NULL, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_LOWER, 2, d,
                            on.a, 2, d, on.tau, d, on.work, bytes, NULL, 16, on.info));
    double on_host[2];
    EXPECT_WRONG(14, Xsyevd(solver, NULL, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_LOWER, 2, d,
                            on.a, 2, d, on.tau, d, on.work, bytes, on_host, 15, on.info));
    reset();
    expect_status(cusolverDnXgetrf(solver, NULL, INT64_C(1) << 31, 1, d, on.a, INT64_C(1) << 31,
                                   on.wide, d, on.work, bytes, NULL, 0, on.info),
                  CUSOLVER_STATUS_NOT_SUPPORTED);
    expect_status(cusolverDnXsyevd(solver, NULL, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_LOWER,
                                   40000, d, on.a, 40000, d, on.tau, d, on.work, bytes, NULL, 0,
                                   on.info),
                  CUSOLVER_STATUS_NOT_SUPPORTED);
    assert_int_equal(*on.info, -12345);
}

TEST(test_cholesky_arguments)
{
    const cublasFillMode_t lower = CUBLAS_FILL_MODE_LOWER;

    EXPECT_WRONG(1, Dpotrf(solver, CUBLAS_FILL_MODE_FULL, 2, on.a, 2, on.work, WORK, on.info));
    EXPECT_WRONG(2, Dpotrf(solver, lower, -1, on.a, 2, on.work, WORK, on.info));
    EXPECT_WRONG(4, Dpotrf(solver, lower, 2, on.a, 1, on.work, WORK, on.info));
    EXPECT_WRONG(6, Dpotrf(solver, lower, 2, on.a, 2, on.work, 1, on.info));
    EXPECT_WRONG(6, Dpotri(solver, lower, 2, on.a, 2, on.work, -1, on.info));
    EXPECT_WRONG(3, Dpotrs(solver, lower, 2, -1, on.a, 2, on.b, 2, on.info));
    EXPECT_WRONG(7, Dpotrs(solver, lower, 2, 1, on.a, 2, on.b, 1, on.info));
}

TEST(test_qr_arguments)
{
    const cublasSideMode_t left = CUBLAS_SIDE_LEFT;

    EXPECT_WRONG(7, Dgeqrf(solver, 2, 2, on.a, 2, on.tau, on.work, 63, on.info));
    EXPECT_WRONG(2, Dorgqr(solver, 1, 2, 1, on.a, 2, on.tau, on.work, WORK, on.info));
    EXPECT_WRONG(3, Dorgqr(solver, 2, 1, 2, on.a, 2, on.tau, on.work, WORK, on.info));
    EXPECT_WRONG(1, Dormqr(solver, 2, CUBLAS_OP_N, 2, 1, 2, on.a, 2, on.tau, on.b, 2, on.work, WORK,
                           on.info));
    EXPECT_WRONG(2, Dormqr(solver, left, CUBLAS_OP_C, 2, 1, 2, on.a, 2, on.tau, on.b, 2, on.work,
                           WORK, on.info));
    EXPECT_WRONG(5, Dormqr(solver, left, CUBLAS_OP_T, 2, 1, 3, on.a, 2, on.tau, on.b, 2, on.work,
                           WORK, on.info));
    EXPECT_WRONG(10, Dormqr(solver, left, CUBLAS_OP_T, 2, 1, 2, on.a, 2, on.tau, on.b, 1, on.work,
                            WORK, on.info));
    EXPECT_WRONG(12, Dormqr(solver, left, CUBLAS_OP_T, 2, 1, 2, on.a, 2, on.tau, on.b, 2, on.work,
                            31, on.info));
}

TEST(test_eigen_arguments)
{
    const cusolverEigMode_t vectors = CUSOLVER_EIG_MODE_VECTOR;

    EXPECT_WRONG(
        1, Dsyevd(solver, 2, CUBLAS_FILL_MODE_LOWER, 2, on.a, 2, on.tau, on.work, WORK, on.info));
    EXPECT_WRONG(8, Dsyevd(solver, vectors, CUBLAS_FILL_MODE_LOWER, 2, on.a, 2, on.tau, on.work, 20,
                           on.info));
    EXPECT_WRONG(1, Dgesvd(solver, 'X', 'N', 2, 2, on.a, 2, on.tau, NULL, 1, NULL, 1, on.work, WORK,
                           NULL, on.info));
    EXPECT_WRONG(2, Dgesvd(solver, 'O', 'O', 2, 2, on.a, 2, on.tau, NULL, 1, NULL, 1, on.work, WORK,
                           NULL, on.info));
    EXPECT_WRONG(4, Dgesvd(solver, 'N', 'N', 1, 2, on.a, 2, on.tau, NULL, 1, NULL, 1, on.work, WORK,
                           NULL, on.info));
    EXPECT_WRONG(9, Dgesvd(solver, 'A', 'N', 2, 2, on.a, 2, on.tau, NULL, 1, NULL, 1, on.work, WORK,
                           NULL, on.info));
}

TEST(test_size_arguments)
{
    size_t bytes = 7;
    int size = 7;

    expect_status(cusolverDnDgetrf_bufferSize(solver, 2, 2, on.a, 1, &size),
                  CUSOLVER_STATUS_INVALID_VALUE);
    expect_status(cusolverDnDgetrf_bufferSize(solver, 2, 2, on.a, 2, NULL),
                  CUSOLVER_STATUS_INVALID_VALUE);
    expect_status(cusolverDnXgetrf_bufferSize(solver, NULL, 2, 2, CUDA_R_64F, on.a, 2, CUDA_R_64F,
                                              &bytes, NULL),
                  CUSOLVER_STATUS_INVALID_VALUE);
    assert_true(size == 7 && bytes == 7);
    expect_status(cusolverDnDsyevd_bufferSize(solver, CUSOLVER_EIG_MODE_VECTOR,
                                              CUBLAS_FILL_MODE_LOWER, 40000, NULL, 40000, NULL,
                                              &size),
                  CUSOLVER_STATUS_NOT_SUPPORTED); /* more elements than an int can count */
}

/* Empty matrices need no memory but info. */
TEST(test_empty)
{
    expect_ok(cusolverDnDgetrf(solver, 0, 3, NULL, 1, NULL, NULL, on.info));
    assert_int_equal(*on.info, 0);
    reset();
    expect_ok(cusolverDnDgetrs(solver, CUBLAS_OP_N, 2, 0, on.a, 2, on.pivots, NULL, 2, on.info));
    assert_int_equal(*on.info, 0);
    reset();
    expect_ok(cusolverDnDpotrf(solver, CUBLAS_FILL_MODE_LOWER, 0, NULL, 1, NULL, 1, on.info));
    assert_int_equal(*on.info, 0);
}

/* ---- what is not there ---- */

TEST(test_stub)
{
    int size = 7;

    capture c = start_capture();
    const status found = cusolverDnDsytrf_bufferSize(solver, ORDER, on.a, ORDER, &size);
    char *said = end_capture(c);
    expect_status(found, CUSOLVER_STATUS_NOT_SUPPORTED);
    assert_int_equal(size, 7);
    assert_string_equal(said, "tandem: host device: cusolverDnDsytrf_bufferSize is not "
                              "implemented: it returns CUSOLVER_STATUS_NOT_SUPPORTED\n");
    free(said);
}

/* ---- operands ---- */

/* What a call says about an operand in the memory of the host. */
#define EXPECT_NO_OPERAND(operand, call)                                                           \
    do {                                                                                           \
        reset();                                                                                   \
        capture c_ = start_capture();                                                              \
        const status found_ = cusolverDn##call;                                                    \
        char *said_ = end_capture(c_);                                                             \
        expect_status(found_, CUSOLVER_STATUS_EXECUTION_FAILED);                                   \
        assert_non_null(strstr(said_, ": " operand ", "));                                         \
        assert_non_null(strstr(said_, "is not all in device memory\n"));                           \
        free(said_);                                                                               \
    } while (0)

TEST(test_operands)
{
    double here[WORK] = {0};
    int ints[2] = {0};
    int64_t wide[2] = {0};

    EXPECT_NO_OPERAND("A", Dgetrf(solver, 2, 2, here, 2, on.work, on.pivots, on.info));
    EXPECT_NO_OPERAND("A", Dgetrf(solver, 2, 2, on.a, 3, on.work, on.pivots, on.info));
    EXPECT_NO_OPERAND("the workspace", Dgetrf(solver, 2, 2, on.a, 2, here, on.pivots, on.info));
    EXPECT_NO_OPERAND("the workspace", Dgetrf(solver, 2, 2, on.a, 2, NULL, on.pivots, on.info));
    EXPECT_NO_OPERAND("devIpiv", Dgetrf(solver, 2, 2, on.a, 2, on.work, ints, on.info));
    EXPECT_NO_OPERAND("devInfo", Dgetrf(solver, 2, 2, on.a, 2, on.work, on.pivots, ints));
    EXPECT_NO_OPERAND("devIpiv", Xgetrs(solver, NULL, CUBLAS_OP_N, 2, 1, CUDA_R_64F, on.a, 2, wide,
                                        CUDA_R_64F, on.b, 2, on.info));
    EXPECT_NO_OPERAND("B", Dpotrs(solver, CUBLAS_FILL_MODE_LOWER, 2, 1, on.a, 2, here, 2, on.info));
    EXPECT_NO_OPERAND("TAU", Dgeqrf(solver, 2, 2, on.a, 2, here, on.work, WORK, on.info));
    EXPECT_NO_OPERAND("W", Dsyevd(solver, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_LOWER, 2, on.a,
                                  2, here, on.work, WORK, on.info));
    EXPECT_NO_OPERAND("U", Dgesvd(solver, 'A', 'N', 2, 2, on.a, 2, on.tau, here, 2, NULL, 1,
                                  on.work, WORK, NULL, on.info));
    (void)cudaGetLastError();
    expect_status(cusolverDnDgetrf(solver, 2, 2, on.a, 2, on.work, on.pivots, NULL),
                  CUSOLVER_STATUS_INVALID_VALUE);
}

/* What the program left in its workspace is gone: to rely on it would be a mistake. */
TEST(test_workspace_is_overwritten)
{
    reset();
    on.work[0] = on.work[1] = 1;
    expect_ok(factor(solver));
    assert_true(isnan(on.work[0]) && isnan(on.work[1]));
}

/* ---- streams and captures ---- */

static void expect_solution(void)
{
    assert_int_equal(*on.info, 0);
    assert_int_equal(on.pivots[0], 2);
    assert_int_equal(on.pivots[1], 2);
    assert_true(on.b[0] == 1 && on.b[1] == 2); /* exact: small integers */
}

TEST(test_captured)
{
    cudaStream_t stream = NULL;
    cudaGraph_t graph = NULL;
    cudaGraphExec_t executable = NULL;

    expect_success(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    expect_ok(cusolverDnSetStream(solver, stream));
    reset();
    expect_success(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    expect_ok(factor(solver));
    expect_ok(solve(solver));
    expect_success(cudaStreamEndCapture(stream, &graph));
    assert_true(*on.info == -12345 && on.a[0] == 0 && on.b[0] == 4); /* not yet */
    expect_success(cudaGraphInstantiate(&executable, graph, 0));
    for (int i = 0; i < 2; i++) {
        reset();
        expect_success(cudaGraphLaunch(executable, stream));
        expect_success(cudaStreamSynchronize(stream));
        expect_solution();
    }
    expect_success(cudaGraphExecDestroy(executable));
    expect_success(cudaGraphDestroy(graph));
    expect_ok(cusolverDnSetStream(solver, NULL));
    expect_success(cudaStreamDestroy(stream));
}

/* The capture goes on without it. */
TEST(test_not_captured)
{
    cudaStream_t stream = NULL;
    cudaGraph_t graph = NULL;

    expect_success(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    expect_ok(cusolverDnSetStream(solver, stream));
    expect_success(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    capture c = start_capture();
    const status found = cusolverDnDsyevd(solver, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_LOWER,
                                          2, on.a, 2, on.tau, on.work, WORK, on.info);
    char *said = end_capture(c);
    expect_success(cudaStreamEndCapture(stream, &graph));
    expect_status(found, CUSOLVER_STATUS_NOT_SUPPORTED);
    assert_string_equal(said, "tandem: host device: cusolverDnDsyevd cannot be captured\n");
    free(said);
    expect_success(cudaGraphDestroy(graph));
    expect_ok(cusolverDnSetStream(solver, NULL));
    expect_success(cudaStreamDestroy(stream));
}

/* Handles have streams of their own; work in one waits for what an event says of the other. */
TEST(test_streams)
{
    cusolverDnHandle_t other = NULL;
    cudaStream_t streams[2], found = NULL;
    cudaEvent_t done = NULL;

    expect_ok(cusolverDnCreate(&other));
    for (int i = 0; i < 2; i++)
        expect_success(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
    expect_ok(cusolverDnSetStream(solver, streams[0]));
    expect_ok(cusolverDnSetStream(other, streams[1]));
    expect_ok(cusolverDnGetStream(other, &found));
    assert_ptr_equal(found, streams[1]);
    expect_success(cudaEventCreate(&done));
    reset();
    expect_ok(factor(solver));
    expect_success(cudaEventRecord(done, streams[0]));
    expect_success(cudaStreamWaitEvent(streams[1], done, 0));
    expect_ok(solve(other));
    expect_success(cudaStreamSynchronize(streams[1]));
    expect_solution();
    expect_ok(cusolverDnSetStream(solver, NULL));
    expect_success(cudaEventDestroy(done));
    expect_ok(cusolverDnDestroy(other));
    for (int i = 0; i < 2; i++) expect_success(cudaStreamDestroy(streams[i]));
}

int main(void) { return test_run(.set_up = set_up, .tear_down = tear_down); }
