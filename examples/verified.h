/* verified.h - bounds of eigenvalues that Tandem has proven: how the program finds it, and what the
 * bounds tell. */
#ifndef EXAMPLES_VERIFIED_H
#define EXAMPLES_VERIFIED_H

#include <stdbool.h>
#include <stdint.h>

#include "../include/tandem.h"

/* Tandem's functions, of the library that `tandem run` or LD_PRELOAD has put into the process. A
 * program that needs them anyway is linked to the library (pkg-config tandem). */
typedef struct {
    __typeof__(tandem_verify_symmetric) *verify_symmetric;
    __typeof__(tandem_dgemm) *dgemm;
    __typeof__(tandem_last_message) *last_message;
    __typeof__(tandem_status_text) *status_text;
} tandem_functions;

/* False, with a message, if there is none. */
bool tandem_find(tandem_functions *t);

/* Bounds of n eigenvalues in ascending order, as tandem_verify_symmetric writes them. */
typedef struct {
    int n;
    double *lower, *upper;
    int64_t *cluster;
} verified;

/* False, with a message, if there is no memory; to be freed by verified_free in either case. */
bool verified_make(int n, verified *v);
void verified_free(verified *v);

typedef struct {
    int separated;         /* eigenvalues that have an interval of their own */
    int clusters, largest; /* intervals of several eigenvalues; most eigenvalues in one */
    double widest;         /* radius */
    double relative;       /* largest radius over the interval's midpoint */
} verified_summary;
verified_summary verified_summarise(const verified *v);

/* Draws radii over eigenvalues as an SVG, by gnuplot. False, with a message, if that fails. */
bool verified_plot(const verified *v, const char *title, const char *path);

#endif
