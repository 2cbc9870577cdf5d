/* workspace.h - the device memory that one product works in. Ordinarily it is of the device's pool,
 * in the order of the product's stream. While that stream is being captured, memory of a pool would
 * be nodes of the graph, and such a graph can be neither cloned nor a child of another, nor
 * instantiated twice. So a captured product works in
 *   - what the caller has lent for work in the stream (cublasSetWorkspace), if it suffices for as
 *     few parts as there would be outside of a graph; or
 *   - a block of memory that belongs to the graph, and to every clone and executable of it, until
 *     the last is destroyed; or
 *   - what is lent, in more parts, if there is no memory for a block.
 * Products share a block only if the graph has the one after the other; other graphs never do. So
 * whatever runs at a time has blocks of its own, but for several executables of one graph, whose
 * products write the same C.
 * What is captured into the body of a conditional node (../engines/ozaki/branch.h) works in memory
 * of the pool all the same: from before the graph is launched until after it (td_detour). */
#ifndef TD_WORKSPACE_H
#define TD_WORKSPACE_H

#include "device.h"
#include "../routine/problem.h"
#include "../routine/run_status.h"

typedef struct td_block td_block;
typedef struct td_piece td_piece;

typedef struct {
    void *memory;    /* 256-byte aligned */
    td_block *block; /* of a graph; NULL: none */
    td_piece *piece; /* of a detour; NULL: none */
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

/* So many bytes or none, of no loan. */
td_run_status td_workspace_acquire_all(td_workspace *workspace, td_device *device, td_stream stream,
                                       size_t bytes);

/* So many bytes or none, for a call that makes products as well, whose limit is *limit: the bytes
 * are at most half of it, so that none of the products lacks memory; what is left is the products'
 * limit. */
td_run_status td_workspace_acquire_beside(td_workspace *workspace, td_device *device,
                                          td_stream stream, size_t bytes, size_t *limit);

/* What the calling thread captures in the stream `captured` is launched in the stream `stream`,
 * once, and has its memory in the order of that stream: every piece from when it is acquired until
 * td_detour_end, which is to be called after the launch. */
typedef struct {
    td_stream captured, stream;
    td_piece *pieces;
} td_detour;

/* From here to td_detour_leave workspaces of the calling thread in `captured`, which runs in
 * `stream` when it is launched, are of the detour. A thread has one detour at a time. */
void td_detour_enter(td_detour *detour, td_stream captured, td_stream stream);
void td_detour_leave(void);
void td_detour_end(td_detour *detour);

/* Where the pieces of a detour are, in the order in which they were acquired; and how many: more
 * than TD_DETOUR_PLACES if there are more. */
enum { TD_DETOUR_PLACES = 6 };
typedef struct {
    void *memory;
    size_t bytes;
} td_detour_place;
int td_detour_places(const td_detour *detour, td_detour_place *places);

/* Acquires memory for a detour that has none as another one had it, in the order of detour->stream.
 * True if it is in the same places; if not, workspaces may still have it. */
bool td_detour_repeat(td_detour *detour, td_device *device, const td_detour_place *places,
                      int count);

/* In a child of fork(), where no block is anybody's: what CUDA had is not the child's. */
void td_workspace_after_fork(void);

/* After the product's last kernel is enqueued. */
void td_workspace_release(td_workspace *workspace, cudaStream_t stream);

#endif
