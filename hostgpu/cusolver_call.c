/* cusolver_call.c - how calls of cuSOLVER's routines are checked, enqueued and run. */
#include <stdio.h>
#include <string.h>

#include "cusolver_internal.h"
#include "executor.h"

const lapack_type *hostgpu_solver_type(cudaDataType matrices, cudaDataType computations)
{
    static const lapack_type *const types[] = {&hostgpu_lapack_S, &hostgpu_lapack_D,
                                               &hostgpu_lapack_C, &hostgpu_lapack_Z};

    for (size_t i = 0; i < sizeof types / sizeof *types && matrices == computations; i++)
        if (types[i]->type == matrices) return types[i];
    return NULL;
}

int64_t hostgpu_elements_in(const lapack_type *type, size_t bytes)
{
    return type ? (int64_t)(bytes / type->bytes) : 0;
}

bool hostgpu_is_solver_matrix(const solver_call *call, const char *operand, const void *matrix,
                              int64_t rows, int64_t columns, int64_t ld)
{
    return hostgpu_check_operand(call->name, operand, matrix,
                                 matrix_extent(rows, columns, ld) * call->type->bytes);
}

/* ---- parameters ---- */

static const char *find_wrong(const solver_routine *routine, const solver_call *call)
{
    FIND_WRONG(hostgpu_are_params(call->params), "params");
    FIND_WRONG(call->type, "type");
    return routine->find_wrong(call);
}

const char *hostgpu_find_wrong_matrix(const solver_call *call)
{
    FIND_WRONG(call->m >= 0, "m");
    FIND_WRONG(call->n >= 0, "n");
    FIND_WRONG(is_ld(call->lda, call->m), "lda");
    return NULL;
}

/* From 1, of the word in the list of words. */
static int number_of(const char *list, const char *word)
{
    const size_t length = strlen(word);
    int number = 1;

    for (const char *at = list; *at; at += strcspn(at, " "), at += *at == ' ', number++)
        if (strcspn(at, " ") == length && strncmp(at, word, length) == 0) return number;
    return 0;
}

int64_t hostgpu_elements_of_row(const solver_call *call) { return call->n; }

/* Of the workspace. */
static int64_t elements_of(const solver_routine *routine, const solver_call *call)
{
    const int64_t elements = routine->work_elements ? routine->work_elements(call) : 0;
    return elements > 1 ? elements : 1;
}

/* Of a workspace on the host, of functions that have one. */
static size_t host_bytes_of(const solver_routine *routine, const solver_call *call)
{
    return routine->host_bytes && call->has_host_work ? routine->host_bytes(call) : 0;
}

/* The first parameter that says that a workspace is too small; NULL: none is. */
static const char *find_small(const solver_routine *routine, const solver_call *call)
{
    const size_t on_host = host_bytes_of(routine, call);

    FIND_WRONG(call->lwork >= elements_of(routine, call), "lwork");
    FIND_WRONG(on_host == 0 || call->host_work, "host_work");
    FIND_WRONG(call->host_bytes >= on_host, "host_lwork");
    return NULL;
}

/* All sizes that LAPACK is told, in int. */
static bool are_small(const solver_routine *routine, const solver_call *call)
{
    const int64_t sizes[] = {call->m,   call->n,   call->k,   call->nrhs,
                             call->lda, call->ldb, call->ldu, call->ldvt};

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (!is_small(sizes[i])) return false;
    return is_small(elements_of(routine, call));
}

/* ---- sizes of workspaces ---- */

/* Of a call that only asks for the size. */
static cusolverStatus_t check_query(cusolverDnHandle_t handle, const solver_routine *routine,
                                    const solver_call *call)
{
    const cusolverStatus_t status = hostgpu_check_solver(handle, call->name);

    if (status) return status;
    REQUIRE(!find_wrong(routine, call), CUSOLVER_STATUS_INVALID_VALUE);
    REQUIRE(are_small(routine, call), CUSOLVER_STATUS_NOT_SUPPORTED);
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t hostgpu_solver_size(cusolverDnHandle_t handle, const solver_routine *routine,
                                     const solver_call *call, int *lwork)
{
    const cusolverStatus_t status = check_query(handle, routine, call);

    if (status) return status;
    REQUIRE(lwork, CUSOLVER_STATUS_INVALID_VALUE);
    *lwork = (int)elements_of(routine, call);
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t hostgpu_solver_bytes(cusolverDnHandle_t handle, const solver_routine *routine,
                                      const solver_call *call, size_t *on_device, size_t *on_host)
{
    const cusolverStatus_t status = check_query(handle, routine, call);

    if (status) return status;
    REQUIRE(on_device && on_host, CUSOLVER_STATUS_INVALID_VALUE);
    *on_device = (size_t)elements_of(routine, call) * call->type->bytes;
    *on_host = host_bytes_of(routine, call);
    return CUSOLVER_STATUS_SUCCESS;
}

/* ---- calls ---- */

/* A call as a graph keeps it. */
typedef struct {
    const solver_routine *routine;
    solver_call call;
} kept_call;

typedef struct {
    int *info, number;
} refusal;

static cudaError_t refuse_now(void *arguments)
{
    const refusal *r = arguments;

    if (hostgpu_is_device_memory(r->info, sizeof *r->info)) *r->info = -r->number;
    return cudaSuccess;
}

/* The number of the wrong parameter, negated, into *info, in the order of the stream. */
static cusolverStatus_t refuse(cusolverDnHandle_t handle, const solver_call *call,
                               const char *wrong)
{
    refusal r = {call->info, number_of(call->parameters, wrong)};

    (void)hostgpu_enqueue(handle->stream, cudaGraphNodeTypeKernel, refuse_now, &r, sizeof r);
    return CUSOLVER_STATUS_INVALID_VALUE;
}

static cudaError_t run_now(void *arguments)
{
    const kept_call *kept = arguments;
    const solver_call *call = &kept->call;
    const bool is_empty = call->m == 0 || call->n == 0;
    const size_t work_bytes = kept->routine->work_elements && !is_empty
                                  ? (size_t)elements_of(kept->routine, call) * call->type->bytes
                                  : 0;
    int info = 0;

    if (!hostgpu_check_operand(call->name, "devInfo", call->info, sizeof *call->info) ||
        !hostgpu_check_operand(call->name, "the workspace", call->work, work_bytes) ||
        !kept->routine->are_operands(call))
        return cudaErrorIllegalAddress;
    if (work_bytes) memset(call->work, 0xff, work_bytes);
    hostgpu_begin_blas();
    const bool has_run = is_empty || kept->routine->run(call, &info);
    hostgpu_end_blas();
    *call->info = info;
    return has_run ? cudaSuccess : cudaErrorMemoryAllocation;
}

static bool is_captured(cudaStream_t stream)
{
    enum cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    return cudaStreamIsCapturing(stream, &capture) || capture != cudaStreamCaptureStatusNone;
}

cusolverStatus_t hostgpu_solver_run(cusolverDnHandle_t handle, const solver_routine *routine,
                                    const solver_call *call)
{
    const cusolverStatus_t status = hostgpu_check_solver(handle, call->name);
    kept_call kept = {routine, *call};

    if (status) return status;
    const char *wrong = find_wrong(routine, call);
    REQUIRE(wrong || are_small(routine, call), CUSOLVER_STATUS_NOT_SUPPORTED);
    if (!wrong) wrong = find_small(routine, call);
    if (wrong) return refuse(handle, call, wrong);
    REQUIRE(call->info, CUSOLVER_STATUS_INVALID_VALUE);
    if (!routine->can_be_captured && is_captured(handle->stream)) {
        fprintf(stderr, "tandem: host device: %s cannot be captured\n", call->name);
        return CUSOLVER_STATUS_NOT_SUPPORTED;
    }
    const size_t on_host = host_bytes_of(routine, call);
    if (on_host) memset(call->host_work, 0xff, on_host);
    const cudaError_t error =
        hostgpu_enqueue(handle->stream, cudaGraphNodeTypeKernel, run_now, &kept, sizeof kept);
    if (error == cudaErrorMemoryAllocation) return CUSOLVER_STATUS_ALLOC_FAILED;
    return error ? CUSOLVER_STATUS_EXECUTION_FAILED : CUSOLVER_STATUS_SUCCESS;
}
