/* engine.h - THE registry of arithmetics. A mode is a row; adding an arithmetic is adding a file and a row. */
#ifndef TD_ENGINE_H
#define TD_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../problem.h"

/* What the CUDA runtime says of a device, as far as engines and policy need it. */
typedef struct td_device td_device;

/* Outcome of an engine's run. */
typedef enum {
    TD_RUN_DONE,      /* every kernel is enqueued */
    TD_RUN_NO_MEMORY, /* nothing enqueued that touches C; the caller may run native */
    TD_RUN_FAILED,    /* a launch failed before C was touched; the caller may run native */
    TD_RUN_NO_CUBLAS, /* the mode needs one for itself; nothing enqueued */
    TD_RUN_BROKEN /* a launch failed after C may have been touched; must be reported as an error */
} td_run_status;

/* Counters of one call site that kernels increment. */
typedef struct {
    unsigned long long repaired; /* elements of C recomputed in binary64 by the repair kernel */
    unsigned long long parts;    /* most slices or moduli of a product */
} td_counters;

typedef struct td_engine {
    const char *name;    /* as in TANDEM_MODE */
    const char *summary; /* one line */
    const char *bound;   /* documented error bound, one line */

    const char *takes; /* what may follow "name:", for people; NULL: nothing */

    /* Parses the text after "name:" (NULL if there is none) into *parameter; false if it is malformed.
     * NULL: the mode takes no parameter. */
    bool (*parse)(const char *text, int *parameter);

    /* Enqueues C <- alpha op(A) op(B) + beta C on p->stream; never waits. NULL: the native product.
     * workspace_limit: the most device memory to use, in bytes. counters: in device memory, or NULL. */
    td_run_status (*run)(const td_gemm *p, int parameter, td_device *device, size_t workspace_limit,
                         td_counters *counters);
} td_engine;

extern const td_engine td_engine_native, td_engine_df, td_engine_ts, td_engine_dd, td_engine_ds,
    td_engine_ozaki_sgemm, td_engine_ozaki1, td_engine_ozaki2, td_engine_faithful;

/* All modes, in the order `tandem modes` prints them; ends with NULL. */
extern const td_engine *const td_engines[];

/* The mode that text ("name" or "name:parameter") names, or NULL. */
const td_engine *td_engine_parse(const char *text, int *parameter);

#endif
