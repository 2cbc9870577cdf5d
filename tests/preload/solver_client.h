/* solver_client.h - what programs that call cuSOLVER share, and that know nothing of Tandem: its
 * functions, to which they are linked (LINKED) or which they look up, a handle with a stream,
 * device memory and random numbers. Before it comes, FUNCTIONS(X) names the functions beside those
 * of handles, and CLIENT the program; after it the program defines what its main runs, run_cases()
 * and run_faults(). */
#ifndef TESTS_PRELOAD_SOLVER_CLIENT_H
#define TESTS_PRELOAD_SOLVER_CLIENT_H

#include <complex.h>
#include <cuda_runtime_api.h>
#include <cusolverDn.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "../support/random.h"

#define ALL_FUNCTIONS(X)                                                                           \
    X(cusolverDnCreate)                                                                            \
    X(cusolverDnDestroy)                                                                           \
    X(cusolverDnSetStream)                                                                         \
    X(cusolverDnCreateParams) X(cusolverDnDestroyParams) FUNCTIONS(X)

/* Names may be macros. */
#define JOIN(name, more)  name##more
#define OWN(function)     JOIN(function, _)
#define TEXT_OF(name)     #name
#define NAME_OF(function) TEXT_OF(function)

#define MEMBER(function) __typeof__(&(function)) OWN(function);
static struct {
    ALL_FUNCTIONS(MEMBER)
} solver;

static cusolverDnHandle_t handle;
static cudaStream_t stream;

static void fail(const char *what)
{
    fprintf(stderr, CLIENT ": %s\n", what);
    exit(3);
}

/* Not part of main: addresses that are taken before Tandem is attached stay cuSOLVER's. */
__attribute__((noinline)) static void take_functions(void)
{
#ifdef LINKED
#define TAKE(function) solver.OWN(function) = function;
    ALL_FUNCTIONS(TAKE)
#else
    void *library = dlopen("libcusolver.so.12", RTLD_NOW | RTLD_LOCAL);
    if (!library) fail(dlerror());
#define LOOK_UP(function)                                                                          \
    *(void **)&solver.OWN(function) = dlsym(library, NAME_OF(function));                           \
    if (!solver.OWN(function)) fail(NAME_OF(function));
    ALL_FUNCTIONS(LOOK_UP)
#endif
}

/* Parameters that are made before Tandem is attached, and ask for the usual algorithms. */
static cusolverDnParams_t early_params;

__attribute__((noinline)) static void make_early_params(void)
{
    __typeof__(&cusolverDnCreateParams) create = NULL;
#ifdef LINKED
    create = cusolverDnCreateParams;
#else
    void *library = dlopen("libcusolver.so.12", RTLD_NOW | RTLD_LOCAL);
    if (!library) fail(dlerror());
    *(void **)&create = dlsym(library, "cusolverDnCreateParams");
#endif
    if (!create || create(&early_params)) fail("CreateParams");
}

static inline void attach(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    int (*attach_now)(void) = NULL;
    if (!library) fail(dlerror());
    *(void **)&attach_now = dlsym(library, "tandem_attach");
    if (!attach_now || attach_now() != 0) fail("tandem_attach");
}

/* ---- the device ---- */

static inline void check(cudaError_t error)
{
    if (error) fail(cudaGetErrorString(error));
}

static inline void *allocate(size_t bytes)
{
    void *p = NULL;
    check(cudaMalloc(&p, bytes ? bytes : 1));
    return p;
}

/* What a call's function has returned, once the call has been made; its workspace is freed. */
static inline cusolverStatus_t finish(cusolverStatus_t status, void *work)
{
    check(cudaStreamSynchronize(stream));
    check(cudaFree(work));
    return status;
}

/* An info that cuSOLVER has not set, and what it is after a call; it is freed then. */
static inline int *make_info(void)
{
    const int unknown = -99;
    int *info = allocate(sizeof *info);
    check(cudaMemcpy(info, &unknown, sizeof unknown, cudaMemcpyHostToDevice));
    return info;
}

static inline int fetch_info(int *info)
{
    int found;
    check(cudaMemcpy(&found, info, sizeof found, cudaMemcpyDeviceToHost));
    check(cudaFree(info));
    return found;
}

/* Copies so many numbers, without imaginary parts where the device's have none. */
static inline void copy_numbers(size_t count, bool is_complex, double complex *host, void *device,
                                bool to_device)
{
    const size_t bytes = count * (is_complex ? sizeof *host : sizeof(double));
    double *real = malloc((count ? count : 1) * sizeof *real);
    void *numbers = is_complex ? (void *)host : (void *)real;
    for (size_t i = 0; i < count; i++) real[i] = creal(host[i]);
    check(cudaMemcpy(to_device ? device : numbers, to_device ? numbers : device, bytes,
                     to_device ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < count && !to_device && !is_complex; i++) host[i] = real[i];
    free(real);
}

/* What a program begins and ends with; its argument, if there is one, names a library of Tandem's
 * that is attached first. */
static inline void open_solver(int count, char **arguments)
{
    make_early_params();
    if (count > 1) attach(arguments[1]);
    take_functions();
    check(cudaStreamCreate(&stream));
    if (solver.cusolverDnCreate_(&handle)) fail("Create");
    if (solver.cusolverDnSetStream_(handle, stream)) fail("SetStream");
}

static inline void close_solver(void)
{
    if (solver.cusolverDnDestroyParams_(early_params)) fail("DestroyParams");
    if (solver.cusolverDnDestroy_(handle)) fail("Destroy");
    check(cudaStreamDestroy(stream));
}

/* Parameters that are none any more. */
static inline cusolverDnParams_t destroyed_params(void)
{
    cusolverDnParams_t params = NULL;
    if (solver.cusolverDnCreateParams_(&params)) fail("CreateParams");
    if (solver.cusolverDnDestroyParams_(params)) fail("DestroyParams");
    return params;
}

/* ---- numbers ---- */

static uint64_t state;

/* Between -1 and 1. */
static inline double random_number(void) { return random_signed(&state); }

/* ---- main ---- */

/* Calls with every kind of matrix, and calls that stay cuSOLVER's. */
static void run_cases(void);
static void run_faults(void);

int main(int count, char **arguments)
{
    open_solver(count, arguments);
    run_cases();
    run_faults();
    close_solver();
    return 0;
}

#endif
