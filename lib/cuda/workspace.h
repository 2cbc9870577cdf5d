/* workspace.h - the device memory that one product works in. Ordinarily it is of the device's pool,
 * in the order of the product's stream. While that stream is being captured, memory of a pool would
 * be nodes of the graph, and such a graph can be neither cloned nor a child of another, nor
 * instantiated twice. So a captured product works in
 *   - what the caller has lent for work in the stream (cublasSetWorkspace), if it suffices: as
 *     cuBLAS's own product would; or
 *   - a block of memory that belongs to the graph, and to every clone and executable of it, until
 *     the last is destroyed.
 * Products share a block only if the graph has the one after the other; other graphs never do. So
 * whatever runs at a time has blocks of its own, but for several executables of one graph, whose
 * products write the same C. */
#ifndef TD_WORKSPACE_H
#define TD_WORKSPACE_H

#include "device.h"
#include "../routine/problem.h"
#include "../routine/run_status.h"

typedef struct td_block td_block;

typedef struct {
    void *memory;    /* 256-byte aligned */
    td_block *block; /* of a graph; NULL: none */
    bool is_lent;
} td_workspace;

/* Lays a product out in a workspace of at most `limit` bytes; returns how many it takes, 0 if it
 * takes more. */
typedef size_t (*td_planner)(void *product, size_t limit);

/* The workspace of a product that can do with less: as `limit` allows, or, if there are not as many
 * bytes left, fewer. The plan that was made last is the one that fits. `lent` was lent to the call
 * for work in the stream; NULL: nothing was. TD_RUN_DONE, TD_RUN_NO_MEMORY, TD_RUN_NOT_CAPTURED or
 * TD_RUN_NO_STREAM. */
td_run_status td_workspace_acquire(td_workspace *workspace, td_device *device, td_stream stream,
                                   const td_loan *lent, size_t limit, td_planner plan,
                                   void *product);

/* In a child of fork(), where no block is anybody's: what CUDA had is not the child's. */
void td_workspace_after_fork(void);

/* After the product's last kernel is enqueued. */
void td_workspace_release(td_workspace *workspace, cudaStream_t stream);

#endif
