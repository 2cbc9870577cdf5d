/* common.h - what the example programs share: status checks, numbers in options, random data,
 * output. */
#ifndef EXAMPLES_COMMON_H
#define EXAMPLES_COMMON_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

/* Stands before every message; each program defines its own. */
extern const char program_name[];

/* One line on stderr: "PROGRAM: ...". */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* True if the call succeeded; otherwise says which call failed and why. */
bool cuda_succeeded(cudaError_t status, const char *call);
bool cublas_succeeded(cublasStatus_t status, const char *call);

/* Runs a call and jumps to the function's label `out` when it fails. */
#define CHECK_CUDA(call)                                                                           \
    do {                                                                                           \
        if (!cuda_succeeded((call), #call)) goto out;                                              \
    } while (0)
#define CHECK_CUBLAS(call)                                                                         \
    do {                                                                                           \
        if (!cublas_succeeded((call), #call)) goto out;                                            \
    } while (0)

/* The value of an option: all of `text` as a number in [min, max], any finite number, or one that
 * is no less than `least`; else a message. */
bool parse_integer(const char *option, const char *text, long min, long max, long *value);
bool parse_number(const char *option, const char *text, double *value);
bool parse_at_least(const char *option, const char *text, double least, double *value);

/* What a parser of argp's returns for an option whose value was good, or was complained of. */
error_t taken(bool is_good);

enum { BAD_OPTIONS = 2 }; /* exit status */

/* argp_parse; false after a complaint. Unknown options, and --help, end the program. */
bool parse_arguments(const struct argp_option *options, argp_parser_t parse, const char *arguments,
                     const char *doc, int argc, char **argv, void *settings);

/* A stream of random numbers; any seed is good. Generator: SplitMix64 (Steele, Lea, Flood 2014). */
typedef struct {
    uint64_t state;
} random_stream;

double random_uniform(random_stream *r); /* [0, 1), multiples of 2^-53 */
double random_normal(random_stream *r);  /* mean 0, variance 1 */

/* rows * columns binary64 numbers on the host, all zero; NULL with a message if there is no memory.
 * To be freed with free(). */
double *host_matrix(int rows, int columns);

/* rows * columns binary64 numbers in device memory, undefined; NULL with a message if there is no
 * memory. To be freed with cudaFree(). */
double *device_matrix(int rows, int columns);

/* Seconds of a clock that only runs forward. */
double seconds_now(void);

/* Name of the current device. */
typedef struct {
    char text[256];
} device_name;
bool query_device_name(device_name *name);

/* A JSON string with its quotes; a JSON number, or null if it is not finite. */
void print_json_string(FILE *file, const char *text);
void print_json_number(FILE *file, double value);

#endif
