/* engine.h - THE registry of arithmetics. A mode is a row; adding an arithmetic is adding a file and a row. */
#ifndef TD_ENGINE_H
#define TD_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../problem.h"

typedef struct td_device td_device; /* ../device.h */

/* What follows a mode's name, as its engine parsed it. */
typedef struct {
    int count; /* of slices or moduli; if it is not given, the fewest that the data may choose, 0 for any */
    bool is_given; /* count is exact */
    enum {
        TD_BY_RESIDUES,
        TD_BY_BINARY64_SLICES
    } way; /* of modes that have several, all with the same bits */
} td_parameter;

/* Outcome of an engine's run. */
typedef enum {
    TD_RUN_DONE,   /* every kernel is enqueued */
    TD_RUN_BROKEN, /* a launch failed after C may have been touched; must be reported as an error */
    /* Nothing is enqueued that touches C; the caller may run native: */
    TD_RUN_NO_MEMORY, /* the device has not enough for the least workspace */
    TD_RUN_TOO_LARGE, /* more lines or elements of k than the kernels can count */
    TD_RUN_NO_CUBLAS, /* the mode needs one for itself */
    TD_RUN_FAILED     /* the device refused a kernel, or cuBLAS a product */
} td_run_status;

typedef struct td_engine {
    const char *name;    /* as in TANDEM_MODE */
    const char *summary; /* one line */
    const char *bound;   /* documented error bound, one line */

    const char *takes; /* what may follow "name:", for people; NULL: nothing */

    /* Parses the text after "name:" (NULL if there is none) into *parameter; false if it is malformed.
     * NULL: the mode takes no parameter. */
    bool (*parse)(const char *text, td_parameter *parameter);

    /* Enqueues a product of binary64 matrices on p->stream; never waits. NULL: the native product.
     * workspace_limit: the most device memory to use, in bytes. counters: in device memory, or NULL. */
    td_run_status (*run)(const td_problem *p, td_parameter parameter, td_device *device,
                         size_t workspace_limit, td_counters *counters);
} td_engine;

extern const td_engine td_engine_native, td_engine_df, td_engine_ts, td_engine_dd, td_engine_ds,
    td_engine_ozaki_sgemm, td_engine_ozaki1, td_engine_ozaki2, td_engine_faithful;

/* All modes, in the order `tandem modes` prints them; ends with NULL. */
extern const td_engine *const td_engines[];

/* The mode that text ("name" or "name:parameter") names, or NULL. */
const td_engine *td_engine_parse(const char *text, td_parameter *parameter);

#endif
