/* qr_case.h - what the tests of QR factors share: matrices of many kinds, their factors by the
 * device, and what reflectors make in long double. */
#ifndef TESTS_QR_CASE_H
#define TESTS_QR_CASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/engines/factor/qr.h"

typedef struct {
    int m, n, ld;
    const char *data; /* a name of qr_kinds */
    uint64_t seed;
} matrix;

/* Where a kind's numbers come from. */
typedef struct {
    uint64_t state;
    const matrix *of;
} source;

typedef double kind(source *s, int i, int j);

typedef struct {
    const char *name;
    kind *make;
    bool is_regular; /* residuals are judged */
} qr_kind;

enum { QR_KINDS = 13 };
extern const qr_kind qr_kinds[QR_KINDS];

int least_of(const matrix *x);
size_t elements_of(const matrix *x);

/* For messages, until the next call. */
const char *text_of(const matrix *x);

/* The matrix, with what lies between its columns. */
double *make_matrix(const matrix *x);

/* Another one at each call. */
uint64_t fresh_seed(void);

typedef struct {
    double *a, *tau;
    int info;
} factors;

/* By the device, at once or in a graph. */
factors run_factors(const matrix *x, const double *a, const td_engine *engine, bool in_graph);
void free_factors(factors *f);

bool is_same(double x, double y);
uint64_t hash_of(const double *x, size_t count);

typedef long double quantity;
quantity norm_of(const quantity *x, int count);

/* x <- Q x, or Q' x, by the first k reflectors. */
void apply_reflectors(const matrix *x, const factors *f, int k, bool is_transposed, quantity *to);

#endif
