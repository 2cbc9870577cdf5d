/* sampled.h - calls that TANDEM_VERIFY looks at, to test: what it counts of a call of any routine,
 * beside what the errors are by sums in 113 bits. */
#ifndef SUPPORT_SAMPLED_H
#define SUPPORT_SAMPLED_H

#include "lib/verify/sampling.h"
#include "tests/kernels/support/modes.h"
#include "tests/kernels/support/routine.h"

/* The mode that calls run in, which is the test's to set; its number, by which what varies is not
 * the same for all modes; options, of which `verify` is the test's too; and the stream of calls. */
extern const mode *sampled_mode;
extern int sampled_round;
extern int64_t sampled_block_rows; /* of solves */
extern td_options sampled_options;
extern cudaStream_t sampled_stream;

/* For cmocka, before all tests and after them. */
int sampled_set_up(void **unused);
int sampled_tear_down(void **unused);

/* What was said, and the file of the first failure. */
extern char sampled_log[], sampled_file[];

/* True if the mode stands for its family. */
bool sampled_stands_for_others(void);

/* Sets the mode to the one after it; false after the last. Where sanitizers make everything slow
 * there are those alone that stand for their families. */
bool sampled_next_mode(void);

/* ---- calls ---- */

/* What is done between the call and what looks at it; spoil NULL: nothing. */
typedef struct {
    void (*spoil)(const td_problem *p, const void *of);
    const void *of;
} meanwhile;

/* A call that has a line of the report for itself: its mode, what that promises, and its line. */
typedef struct {
    td_decision decision;
    td_promise promise;
    td_record *record;
} sampled_call;

/* Of `tested` only the name and the prices count. */
sampled_call sampled_call_of(const mode *tested, const td_problem *p);

/* What has been counted of it, once the stream has done all. */
td_sample_counts sampled_counts(const sampled_call *c);

/* What is counted when its only run is done; or when it is captured and runs so often. */
td_sample_counts sampled_run_once(const sampled_call *c, const td_problem *p,
                                  const meanwhile *then);
td_sample_counts sampled_run_captured(const sampled_call *c, const td_problem *p, int runs);

/* What is counted of a call in the mode that the test has set. */
td_sample_counts sampled_run(const td_problem *p, const meanwhile *then, td_promise *promise);

/* What is counted of a call in a graph that runs so often. */
td_sample_counts sampled_run_in_graph(const td_problem *p, int runs);

/* What is added to a part of an element of the result; add_fault is a meanwhile's. */
typedef struct {
    int64_t row, col;
    int part;
    double delta;
} fault;
void add_fault(const td_problem *p, const void *fault);

bool promises(const td_promise *promise);

/* ---- what errors are ---- */

/* Binary128, which clang on x86-64 knows by another name. */
#ifdef __clang__
typedef __float128 quad;
#else
typedef _Float128 quad;
#endif
quad magnitude(quad x);

/* A sum of complex products, and of the magnitudes of their real ones. */
typedef struct {
    quad re, im, size_re, size_im;
} quad_sum;
void add_product(quad_sum *s, number a, number b);

int parts_of(td_type type);

typedef struct {
    unsigned long long elements;
    double worst, sum;
} errors;
void add_error(errors *e, double error);

/* A figure is the reference's, to 2^-20 of it and `more`. */
void sampled_near(double got, double want, double more, const char *what, const char *name,
                  const char *text);

/* All are counted, and errors are the reference's. */
void check_errors(const td_sample_counts *s, const errors *want, const char *text);

/* As check_errors, and no error is beyond what the mode promises. */
void check_counts(const td_sample_counts *s, const errors *want, const td_promise *promise,
                  const char *text);

#endif
