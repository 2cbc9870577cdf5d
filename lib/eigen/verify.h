/* verify.h - rigorous bounds of the eigenvalues of A x = lambda x or A x = lambda B x on a device:
 * the products, and the norms of their columns, from which eigen_bounds.h makes intervals.
 * docs/verify.md has the mathematics. */
#ifndef TD_VERIFY_VERIFY_H
#define TD_VERIFY_VERIFY_H

#include "../cuda/device.h"
#include "../routine/mode.h"
#include "eigen_bounds.h"
#include "../routine/problem.h"
#include "../routine/run_status.h"

typedef struct {
    /* of products that are rounded once, or td_engine_native: cuBLAS's sums */
    const td_engine *engine;
    td_parameter parameter;
    int n;
    td_matrix a, b, x; /* n x n binary64, read only; b.data is NULL for the identity */
    const double *d;   /* n approximations of eigenvalues, in device memory */
    cudaStream_t stream;
    td_device *device;
    size_t limit; /* the most device memory to use, in bytes */

    /* Tests plant errors here: called with R, n x n of leading dimension n, once it is enqueued.
     * NULL otherwise. */
    void (*plant)(double *r, int n, cudaStream_t stream);
} td_verification;

/* What the host is told. The norms' memory, and d's, is `memory`. */
typedef struct {
    td_eigen_measures measures;
    td_faults faults_a, faults_b;
    void *memory;
} td_verified;

/* Enqueues everything and waits for it. If the status is TD_RUN_DONE, *verified is filled, to be
 * freed by td_verified_free. */
td_run_status td_verify_measure(const td_verification *v, td_verified *verified);
void td_verified_free(td_verified *verified);

#endif
