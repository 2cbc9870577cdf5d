/* faults_work.h - products of client_faults.c: what a thread multiplies with, and results that must
 * have the bits of the process's first one. */
#ifndef FAULTS_WORK_H
#define FAULTS_WORK_H

#include <cublas_v2.h>
#include <stdio.h>
#include <unistd.h>

enum { N = 70, BYTES = N * N * (int)sizeof(double) };

#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "client_faults: %s:%d: %s\n", __FILE__, __LINE__, #condition);         \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

/* What one thread multiplies with. */
typedef struct {
    cublasHandle_t handle;
    double *a, *b, *c; /* N x N, in device memory */
} work;

/* N x N numbers, which follow from the seed. */
void fill_host(double *host, unsigned seed);

work make_work(void);
void free_work(const work *w);

/* C <- A B; returns cuBLAS's status. */
int multiply(const work *w);
void read_c(const work *w, double *host);

/* The first product of the process. */
work first_product(void);

/* A product whose bits must be those of the first. */
void multiply_right(const work *w);

/* Runs one body in so many threads at a time, at most 256. */
void in_threads(int count, void *(*body)(void *), void *argument);

/* A product that the program gets no result of: the status is printed, for the same program without
 * Tandem gives the same. */
void print_status(const char *name, int status);

/* The ways of faults_operands.c: handles, streams and operands that are none. */
void use_a_destroyed_handle(void);
void destroy_in_use(void);
void use_a_destroyed_stream(void);
void use_wrong_operands(void);
void use_a_bad_batch(void);
void use_wrong_pivots(void);

/* The way of faults_injected.c: calls of the runtime and of the C library that fail. */
void fail_everywhere(void);

/* The ways of faults_legacy.c, the interface of cublas.h. */
void ask_for_errors(void);
void begin_anew(void);
void end_context_after_legacy_products(void);

#endif
