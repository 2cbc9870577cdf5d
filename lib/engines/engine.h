/* engine.h - THE registry of arithmetics. A mode is a row; adding an arithmetic is adding a file and a row. */
#ifndef TD_ENGINE_H
#define TD_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cuda_runtime_api.h>

#include "../problem.h"
#include "../run_status.h"

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

typedef struct td_engine {
    const char *name;    /* as in TANDEM_MODE */
    const char *summary; /* one line */
    const char *bound;   /* documented error bound, one line */

    const char *takes; /* what may follow "name:", for people; NULL: nothing */

    /* Parses the text after "name:" (NULL if there is none) into *parameter; false if it is malformed.
     * NULL: the mode takes no parameter. */
    bool (*parse)(const char *text, td_parameter *parameter);

    /* Loads the kernels that products need by one of the ways, on the current device. */
    cudaError_t (*prepare)(int way);

    /* Enqueues a product of binary64 matrices on p->stream, once those are loaded; never waits. NULL: the native product.
     * workspace_limit: the most device memory to use, in bytes. counters: in device memory, or NULL. */
    td_run_status (*run)(const td_problem *p, td_parameter parameter, td_device *device,
                         size_t workspace_limit, td_counters *counters);
} td_engine;

extern const td_engine td_engine_native, td_engine_df, td_engine_ts, td_engine_dd, td_engine_ds,
    td_engine_ozaki_sgemm, td_engine_ozaki1, td_engine_ozaki2, td_engine_faithful;

/* engine->run, after engine->prepare at the first product of its way in a context. */
td_run_status td_engine_run(const td_engine *engine, const td_problem *p, td_parameter parameter,
                            td_device *device, size_t workspace_limit, td_counters *counters);

/* All modes, in the order `tandem modes` prints them; ends with NULL. */
extern const td_engine *const td_engines[];

/* The mode that text ("name" or "name:parameter") names, or NULL. */
const td_engine *td_engine_parse(const char *text, td_parameter *parameter);

#endif
