#include "common.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <time.h>

void complain(const char *format, ...)
{
    va_list arguments;

    fprintf(stderr, "%s: ", program_name);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
}

bool cuda_succeeded(cudaError_t status, const char *call)
{
    if (status != cudaSuccess) complain("%s: %s", call, cudaGetErrorString(status));
    return status == cudaSuccess;
}

bool cublas_succeeded(cublasStatus_t status, const char *call)
{
    if (status != CUBLAS_STATUS_SUCCESS) complain("%s: %s", call, cublasGetStatusString(status));
    return status == CUBLAS_STATUS_SUCCESS;
}

bool parse_integer(const char *option, const char *text, long min, long max, long *value)
{
    char *end = NULL;

    errno = 0;
    *value = strtol(text, &end, 10);
    if (end != text && !*end && !errno && *value >= min && *value <= max) return true;
    complain("%s: '%s' is not a whole number from %ld to %ld", option, text, min, max);
    return false;
}

bool parse_number(const char *option, const char *text, double *value)
{
    char *end = NULL;

    *value = strtod(text, &end);
    if (end != text && !*end && isfinite(*value)) return true;
    complain("%s: '%s' is not a finite number", option, text);
    return false;
}

bool parse_at_least(const char *option, const char *text, double least, double *value)
{
    if (!parse_number(option, text, value)) return false;
    if (*value >= least) return true;
    complain("%s: '%s' is below %g", option, text, least);
    return false;
}

error_t taken(bool is_good) { return is_good ? 0 : EINVAL; }

bool parse_arguments(const struct argp_option *options, argp_parser_t parse, const char *arguments,
                     const char *doc, int argc, char **argv, void *settings)
{
    const struct argp argp = {
        .options = options, .parser = parse, .args_doc = arguments, .doc = doc};

    argp_err_exit_status = BAD_OPTIONS;
    return argp_parse(&argp, argc, argv, 0, NULL, settings) == 0;
}

static uint64_t random_bits(random_stream *r)
{
    r->state += 0x9e3779b97f4a7c15U;
    uint64_t z = r->state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

double random_uniform(random_stream *r) { return (double)(random_bits(r) >> 11) * 0x1p-53; }

/* Box and Muller's method, one of the pair; 1 - u is never 0. */
double random_normal(random_stream *r)
{
    const double two_pi = 6.283185307179586;
    double radius = sqrt(-2.0 * log(1.0 - random_uniform(r)));

    return radius * cos(two_pi * random_uniform(r));
}

double *host_matrix(int rows, int columns)
{
    double *matrix = calloc((size_t)rows * (size_t)columns, sizeof *matrix);

    if (!matrix) complain("no memory for a %d x %d matrix on the host", rows, columns);
    return matrix;
}

double *device_matrix(int rows, int columns)
{
    void *matrix = NULL;
    size_t bytes = (size_t)rows * (size_t)columns * sizeof(double);
    cudaError_t status = cudaMalloc(&matrix, bytes);

    if (status == cudaSuccess) return matrix;
    complain("no %d x %d matrix on the device: %s", rows, columns, cudaGetErrorString(status));
    return NULL;
}

double seconds_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

bool query_device_name(device_name *name)
{
    int device = 0;
    struct cudaDeviceProp properties;

    CHECK_CUDA(cudaGetDevice(&device));
    CHECK_CUDA(cudaGetDeviceProperties(&properties, device));
    snprintf(name->text, sizeof name->text, "%s", properties.name);
    return true;
out:
    return false;
}

void print_json_string(FILE *file, const char *text)
{
    fputc('"', file);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c < 0x20)
            fprintf(file, "\\u%04x", (unsigned)c);
        else
            fprintf(file, c == '"' || c == '\\' ? "\\%c" : "%c", c);
    }
    fputc('"', file);
}

void print_json_number(FILE *file, double value)
{
    if (isfinite(value))
        fprintf(file, "%.17g", value);
    else
        fputs("null", file);
}
