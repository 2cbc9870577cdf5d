/* run_status.h - what becomes of a product that an engine was given. */
#ifndef TD_RUN_STATUS_H
#define TD_RUN_STATUS_H

typedef enum {
    TD_RUN_DONE,   /* every kernel is enqueued */
    TD_RUN_BROKEN, /* a launch failed after C may have been touched; must be reported as an error */
    /* Nothing is enqueued that touches C; the caller may run native: */
    TD_RUN_NO_MEMORY,    /* the device has not enough for the least workspace */
    TD_RUN_NOT_CAPTURED, /* or there is none for a product of a graph */
    TD_RUN_WAITS,        /* the host would have to wait for a stream that is being captured */
    TD_RUN_TOO_LARGE,    /* more lines or elements of k than the kernels can count */
    TD_RUN_NO_PANELS,    /* it has no kernels for panels of such a matrix */
    TD_RUN_NO_CUBLAS,    /* the mode needs one for itself */
    TD_RUN_NO_STREAM,    /* the stream is none, or its capture has failed */
    TD_RUN_UNREACHABLE,  /* the device cannot reach an operand */
    TD_RUN_UNALIGNED,    /* kernels load numbers whole, and those of an operand are not aligned */
    TD_RUN_NOT_REFINED,  /* what was made from binary32 is not as good as native's result */
    TD_RUN_FAILED        /* the device refused a kernel, or cuBLAS a product */
} td_run_status;

#endif
