/* cusolver_handle.c - cuSOLVER's handles and parameters with their settings, and versions. */
#include <pthread.h>
#include <stdlib.h>

#include "cusolver_internal.h"
#include "executor.h"

/* ---- objects ---- */

typedef struct {
    size_t bytes;
    object *destroyed; /* under the lock */
} pool;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void before_fork(void) { pthread_mutex_lock(&lock); }
static void after_fork(void) { pthread_mutex_unlock(&lock); }

/* A child finds no lock taken by a thread that it does not have. */
__attribute__((constructor)) static void watch_forks(void)
{
    (void)pthread_atfork(before_fork, after_fork, after_fork);
}

/* One that is used again, or a fresh one; NULL without memory. Only its base is set. */
static void *take(pool *p)
{
    pthread_mutex_lock(&lock);
    object *o = p->destroyed;
    if (o)
        p->destroyed = o->next_destroyed;
    else
        o = calloc(1, p->bytes);
    if (o) *o = (object){.pool = p};
    pthread_mutex_unlock(&lock);
    return o;
}

/* False if it is none of the pool (any more). */
static bool give_back(pool *p, object *o)
{
    pthread_mutex_lock(&lock);
    const bool is_of_pool = o->pool == p;
    if (is_of_pool) {
        *o = (object){.next_destroyed = p->destroyed};
        p->destroyed = o;
    }
    pthread_mutex_unlock(&lock);
    return is_of_pool;
}

/* ---- handles ---- */

static pool handles = {.bytes = sizeof(struct cusolverDnContext)};

static bool is_solver(cusolverDnHandle_t handle) { return handle && handle->base.pool == &handles; }

cusolverStatus_t hostgpu_check_solver(cusolverDnHandle_t handle, const char *function)
{
    REQUIRE(is_solver(handle), CUSOLVER_STATUS_NOT_INITIALIZED);
    REQUIRE(hostgpu_check_context(handle->context, function), CUSOLVER_STATUS_EXECUTION_FAILED);
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t *handle)
{
    const unsigned long long context = hostgpu_context_number();

    REQUIRE(handle, CUSOLVER_STATUS_INVALID_VALUE);
    *handle = NULL;
    REQUIRE(context, CUSOLVER_STATUS_NOT_INITIALIZED);
    cusolverDnHandle_t h = take(&handles);
    REQUIRE(h, CUSOLVER_STATUS_ALLOC_FAILED);
    *h = (struct cusolverDnContext){.base = h->base,
                                    .context = context,
                                    .deterministic_mode = CUSOLVER_DETERMINISTIC_RESULTS,
                                    .math_mode = CUSOLVER_DEFAULT_MATH};
    *handle = h;
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnDestroy(cusolverDnHandle_t handle)
{
    REQUIRE(handle && give_back(&handles, &handle->base), CUSOLVER_STATUS_NOT_INITIALIZED);
    return CUSOLVER_STATUS_SUCCESS;
}

/* Properties of a handle that are stored and given back, and which values are taken. A stream that
 * is gone is found where work is given to it; later headers have more math modes. */
#define PROPERTIES(X)                                                                              \
    X(Stream, cudaStream_t, stream, true)                                                          \
    X(DeterministicMode, cusolverDeterministicMode_t, deterministic_mode,                          \
      value == CUSOLVER_DETERMINISTIC_RESULTS ||                                                   \
          value == CUSOLVER_ALLOW_NON_DETERMINISTIC_RESULTS)                                       \
    X(MathMode, cusolverMathMode_t, math_mode,                                                     \
      value >= CUSOLVER_DEFAULT_MATH && (int)value < 2 * CUSOLVER_FP32_EMULATED_BF16X9_MATH)       \
    X(EmulationStrategy, cudaEmulationStrategy_t, emulation_strategy, (unsigned)value <= 2)

#define DEFINE_PROPERTY(...)                                                                       \
    HOSTGPU_DEFINE_PROPERTY(CUSOLVER, cusolverStatus_t, cusolverDn, cusolverDnHandle_t, is_solver, \
                            __VA_ARGS__)
PROPERTIES(DEFINE_PROPERTY)

/* ---- parameters of the functions with 64-bit sizes ---- */

struct cusolverDnParams {
    object base;
};

static pool all_params = {.bytes = sizeof(struct cusolverDnParams)};

bool hostgpu_are_params(cusolverDnParams_t params)
{
    return !params || params->base.pool == &all_params;
}

cusolverStatus_t cusolverDnCreateParams(cusolverDnParams_t *params)
{
    REQUIRE(params, CUSOLVER_STATUS_INVALID_VALUE);
    *params = take(&all_params);
    return *params ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_ALLOC_FAILED;
}

cusolverStatus_t cusolverDnDestroyParams(cusolverDnParams_t params)
{
    REQUIRE(params && give_back(&all_params, &params->base), CUSOLVER_STATUS_INVALID_VALUE);
    return CUSOLVER_STATUS_SUCCESS;
}

/* All algorithms are LAPACK's here. */
cusolverStatus_t cusolverDnSetAdvOptions(cusolverDnParams_t params, cusolverDnFunction_t function,
                                         cusolverAlgMode_t algorithm)
{
    REQUIRE(params && hostgpu_are_params(params) && (unsigned)function <= CUSOLVERDN_SYEVBATCHED &&
                (unsigned)algorithm <= CUSOLVER_ALG_2,
            CUSOLVER_STATUS_INVALID_VALUE);
    return CUSOLVER_STATUS_SUCCESS;
}

/* ---- versions ---- */

cusolverStatus_t cusolverGetVersion(int *version)
{
    REQUIRE(version, CUSOLVER_STATUS_INVALID_VALUE);
    *version = CUSOLVER_VERSION;
    return CUSOLVER_STATUS_SUCCESS;
}

HOSTGPU_DEFINE_VERSION_PARTS(CUSOLVER, cusolverStatus_t, cusolverGetProperty)
