/* drawn.h - a call that a seed draws: what drawn.c makes, and who draws it. */
#ifndef UNWRITTEN_DRAWN_H
#define UNWRITTEN_DRAWN_H

#include <cuda_runtime_api.h>

#include "operands.h"

typedef struct {
    char text[300]; /* what is called with what */
    bool may_capture;
    int (*run)(void); /* makes the call in drawn_stream; returns its status */
} drawn_call;

extern cudaStream_t drawn_stream;

/* Sizes are from 1 to this one, or a few more; many are near whole tiles of C. */
extern int drawn_side;
int any_size(test_random *r);

/* Of cuBLAS, cublasLt and cuSOLVER, each from its own file. begin: before the first call. */
void blas_begin(void);
void blas_draw(test_random *r, drawn_call *call);
void blas_lend(test_random *r); /* a workspace or none, for the next call */
void lt_begin(void);
void lt_draw(test_random *r, drawn_call *call);
void lu_draw(test_random *r, drawn_call *call); /* batches of small systems, of cuBLAS, too */
void solver_begin(void);
void solver_draw(test_random *r, drawn_call *call);

extern cublasHandle_t blas_handle;

#endif
