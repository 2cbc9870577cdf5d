/* branch.h - cuBLAS's own routine where data ask for it: it is the body of a conditional node of a
 * graph, which the device enters if the probe says so, or if all of C was left to binary64. The
 * node can have another body, for the other answer. */
#ifndef TD_BRANCH_H
#define TD_BRANCH_H

#include <stdbool.h>
#include <stddef.h>

#include "../../../kernels/repair/condition.h"
#include "../../routine/problem.h"
#include "../../cuda/device.h"

/* True if the device, which must be the current one, has what td_branch_run needs. */
bool td_branch_ready(td_device *device);

/* True if a condition can be added to a graph that the program captures, too: CUDA 12.4 or later,
 * and Tandem has a handle of cuBLAS's, or may make one. */
bool td_branch_captures(td_device *device);

/* Enqueues, in p->stream: p of cuBLAS, as td_cublas_run has it, where the answer is yes. The stream
 * may be captured by a td_branch_body, whose body has another condition then, or by the program, if
 * td_branch_captures: then the graph is one that CUDA neither clones nor takes as a child. False:
 * C is not touched. */
bool td_branch_run(td_device *device, const td_problem *p, const td_condition *condition,
                   void *workspace, size_t workspace_bytes);

/* Enqueues the other body in a stream that is captured; false if it cannot. Its workspaces are
 * those of a detour (../../cuda/workspace.h). Of these functions it may call td_branch_ready and
 * td_branch_run. */
typedef bool td_branch_body(void *of, td_stream captured);

/* cuBLAS's routine where the answer is yes, and what `otherwise` enqueues where it is no. */
typedef struct {
    const td_problem *p; /* without a condition its stream alone counts */

    /* NULL: `otherwise` is enqueued whatever the data are, if a call with the key has been made
     * twice: then its kernels are launched by one call of CUDA. */
    const td_condition *condition;
    void *workspace;
    size_t workspace_bytes;
    td_branch_body *otherwise;
    void *of;

    /* Bytes on which all depends that is enqueued, but for where a detour's memory is: of calls
     * with the same key in the same stream the graph of the first is launched again. At most
     * TD_BRANCH_KEY_BYTES; NULL: nobody knows. */
    const void *key;
    size_t key_bytes;

    /* The stream has no work, so that the device waits for the graph to be described. This is only
     * done for a call that has been made before. */
    bool is_awaited;
} td_branch_call;
enum { TD_BRANCH_KEY_BYTES = 2048 };

/* False: nothing is enqueued, as always before CUDA 12.8. */
bool td_branch_run_either(td_device *device, const td_branch_call *call);

/* In a child of fork(), which has none of the graphs. */
void td_branch_after_fork(void);

/* How many calls of the context launched the graph of another call: for tests. */
unsigned long td_branch_repeats(td_device *device);

#endif
