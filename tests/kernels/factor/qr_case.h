/* qr_case.h - what the tests of QR factors share: matrices of many kinds, their factors by the
 * device, and what reflectors make in long double. */
#ifndef TESTS_QR_CASE_H
#define TESTS_QR_CASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kinds.h"
#include "lib/engines/factor/qr.h"
#include "lib/routine/qr_steps.h"

typedef struct {
    int m, n, ld;
    const char *data; /* a name of qr_kinds */
    uint64_t seed;
    bool is_complex;
} matrix;

enum { QR_KINDS = 13 };
extern const factor_kind qr_kinds[QR_KINDS];

int least_of(const matrix *x);
size_t elements_of(const matrix *x);

/* For messages, until the next call. */
const char *text_of(const matrix *x);

/* The matrix, with what lies between its columns. */
number *make_matrix(const matrix *x);

/* To the device, which has no imaginary parts of real numbers, and back. */
void *put_numbers(const matrix *like, const number *x, size_t count);
void get_numbers(const matrix *like, number *x, const void *device, size_t count);
td_type type_of(const matrix *x);

typedef struct {
    number *a, *tau;
    int info;
} factors;

/* Factors are made by this cut from then on, and Q but from the right; NULL: by the usual one. */
void use_cut(const td_qr_cut *cut);
td_qr_cut cut_in_use(const td_problem *p);

/* By the device, at once or in a graph. */
factors run_factors(const matrix *x, const number *a, const td_engine *engine, bool in_graph);
void free_factors(factors *f);

/* What lies between the columns of A is there still. */
void check_padding(const matrix *x, const number *a, const factors *f);

bool is_same(number x, number y);
uint64_t hash_of(const matrix *like, const number *x, size_t count);

typedef struct {
    long double re, im;
} quantity;
quantity quantity_of(number x);
quantity quantity_minus(quantity x, quantity y);
long double norm_of(const quantity *x, int count);

/* x <- Q x, or Q' x, by the first k reflectors. */
void apply_reflectors(const matrix *x, const factors *f, int k, bool is_transposed, quantity *to);

#endif
