#include "workspace.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

enum { TRIES = 4, ALIGNMENT = 256 };

/* ---- captures ---- */

typedef struct {
    bool is_active;
    unsigned long long id;
    cudaGraph_t graph;
    /* what the stream's next node comes after, all of it; none: nobody knows */
    const cudaGraphNode_t *last;
    size_t count;
} capture;

static bool is_whole(cudaGraphEdgeData edge)
{
    return edge.from_port == 0 && edge.to_port == 0 && edge.type == 0;
}

/* False if the stream cannot be asked, or its capture has failed. */
static bool query_capture(cudaStream_t stream, capture *c)
{
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    const cudaGraphEdgeData *edges = NULL;
    *c = (capture){0};
    if (!td_cuda_ok(cudaStreamGetCaptureInfo(stream, &status, &c->id, &c->graph, &c->last, &edges,
                                             &c->count)))
        return false;
    for (size_t i = 0; edges && i < c->count; i++)
        if (!is_whole(edges[i])) c->count = 0;
    c->is_active = status == cudaStreamCaptureStatusActive;
    return status != cudaStreamCaptureStatusInvalidated;
}

enum { MOST_NODES = 256 }; /* that a search looks at */

typedef struct {
    cudaGraphNode_t node[MOST_NODES];
    size_t count;
} node_set;

/* False if there is no room. */
static bool add_nodes(node_set *set, const cudaGraphNode_t *nodes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t at = 0;
        while (at < set->count && set->node[at] != nodes[i]) at++;
        if (at == MOST_NODES) return false;
        set->node[at] = nodes[i];
        if (at == set->count) set->count++;
    }
    return true;
}

/* Adds what the node comes after; false if there is no room, or a node need not wait for all of
 * another. */
static bool add_dependencies(node_set *set, cudaGraphNode_t node)
{
    cudaGraphNode_t before[MOST_NODES];
    size_t count = 0;
    if (!td_cuda_ok(cudaGraphNodeGetDependencies(node, NULL, NULL, &count))) return false;
    if (count > MOST_NODES) return false;
    return count == 0 || (td_cuda_ok(cudaGraphNodeGetDependencies(node, before, NULL, &count)) &&
                          add_nodes(set, before, count));
}

/* True if all that is captured next surely comes after the node: it is among the nearest that the
 * stream waits for. */
static bool comes_after(const capture *c, cudaGraphNode_t node)
{
    node_set set = {.count = 0};
    if (!add_nodes(&set, c->last, c->count)) return false;
    for (size_t i = 0; i < set.count; i++) {
        if (set.node[i] == node) return true;
        if (!add_dependencies(&set, set.node[i])) return false;
    }
    return false;
}

/* ---- blocks ---- */

struct td_block {
    void *memory; /* NULL: none now */
    size_t bytes;
    int ordinal;
    enum {
        FREE, /* no graph has it */
        /* a product is being captured that works in it, or nobody knows when the last was done */
        BUSY,
        IDLE /* its graph has it, and the last product that works in it ends with a node */
    } state;
    unsigned long long capture; /* of the graph that has it */
    cudaGraphNode_t last;
    td_block *next;
};

/* Guards the list and every state; never held during a call of CUDA's, since CUDA calls give_back.
 * Blocks stay in the list. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static td_block *blocks;
static atomic_uint free_count; /* free blocks with memory */

/* Nobody waits for the lock before a fork: a thread that has CUDA's own locks may want it. */
void td_workspace_after_fork(void)
{
    lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    blocks = NULL;
    atomic_store(&free_count, 0);
}

static void set_state(td_block *block, int state)
{
    pthread_mutex_lock(&lock);
    block->state = state;
    if (state == FREE && block->memory) atomic_fetch_add(&free_count, 1);
    pthread_mutex_unlock(&lock);
}

/* The graph and all that came of it are destroyed, and have run. In any thread; calls nothing of
 * CUDA's. */
static void CUDART_CB give_back(void *block) { set_state(block, FREE); }

/* The next block after `from` (NULL: the first) that suits; it becomes busy. */
static td_block *take(td_block *from, bool (*suits)(const td_block *, const void *),
                      const void *wanted)
{
    pthread_mutex_lock(&lock);
    td_block *b = from ? from->next : blocks;
    while (b && !suits(b, wanted)) b = b->next;
    if (b && b->state == FREE && b->memory) atomic_fetch_sub(&free_count, 1);
    if (b) b->state = BUSY;
    pthread_mutex_unlock(&lock);
    return b;
}

typedef struct {
    int ordinal;
    size_t bytes;
    unsigned long long capture;
} wish;

static bool is_idle_in_capture(const td_block *b, const void *wanted)
{
    const wish *w = wanted;
    return b->state == IDLE && b->capture == w->capture && b->ordinal == w->ordinal &&
           b->bytes >= w->bytes;
}

/* Not much larger than is needed, lest a small product holds what a large one wants. */
static bool is_free_and_fits(const td_block *b, const void *wanted)
{
    const wish *w = wanted;
    return b->state == FREE && b->memory && b->ordinal == w->ordinal && b->bytes >= w->bytes &&
           b->bytes / 2 <= w->bytes;
}

static bool is_free_on_device(const td_block *b, const void *wanted)
{
    const wish *w = wanted;
    return b->state == FREE && b->memory && b->ordinal == w->ordinal;
}

static bool is_empty(const td_block *b, const void *unused)
{
    (void)unused;
    return b->state == FREE && !b->memory;
}

/* A block of the same graph whose last product comes before the next. */
static td_block *take_shared(const capture *c, const wish *w)
{
    td_block *b = NULL;
    while ((b = take(b, is_idle_in_capture, w))) {
        if (comes_after(c, b->last)) return b;
        set_state(b, IDLE);
    }
    return NULL;
}

/* Gives the memory of blocks that nobody has back to the device; what works in them is done. */
static void empty_free_blocks(td_device *device)
{
    const wish w = {.ordinal = device->ordinal};
    td_block *b = NULL;
    if (!td_device_allow_graphs(device)) return;
    while ((b = take(b, is_free_on_device, &w))) {
        td_cuda_ok(cudaFreeAsync(b->memory, device->graph_stream));
        b->memory = NULL;
        set_state(b, FREE);
    }
}

static td_block *take_empty(void)
{
    td_block *b = take(NULL, is_empty, NULL);
    if (b || !(b = calloc(1, sizeof *b))) return b;
    b->state = BUSY;
    pthread_mutex_lock(&lock);
    b->next = blocks;
    blocks = b;
    pthread_mutex_unlock(&lock);
    return b;
}

/* Memory that is there for any stream when this returns. Its pool never makes one stream wait for
 * another, so nothing is waited for but the allocation. */
static void *allocate(td_device *device, size_t bytes)
{
    void *memory = NULL;
    if (!td_cuda_ok(
            cudaMallocFromPoolAsync(&memory, bytes, device->graph_pool, device->graph_stream)))
        return NULL;
    if (td_cuda_ok(cudaStreamSynchronize(device->graph_stream))) return memory;
    td_cuda_ok(cudaFreeAsync(memory, device->graph_stream));
    return NULL;
}

static td_block *make_block(td_device *device, const wish *w)
{
    td_block *b = take_empty();
    if (!b) return NULL;
    b->memory = allocate(device, w->bytes);
    if (!b->memory && atomic_load(&free_count)) {
        empty_free_blocks(device);
        b->memory = allocate(device, w->bytes);
    }
    b->bytes = w->bytes;
    b->ordinal = w->ordinal;
    if (b->memory) return b;
    set_state(b, FREE);
    return NULL;
}

/* From here on the graph has the block. False, and nobody has it, if the graph cannot. */
static bool give_to_graph(td_block *block, const capture *c)
{
    cudaUserObject_t object;
    block->capture = c->id;
    if (!td_cuda_ok(
            cudaUserObjectCreate(&object, block, give_back, 1, cudaUserObjectNoDestructorSync))) {
        give_back(block);
        return false;
    }
    if (td_cuda_ok(cudaGraphRetainUserObject(c->graph, object, 1, cudaGraphUserObjectMove)))
        return true;
    td_cuda_ok(cudaUserObjectRelease(object, 1)); /* which gives the block back */
    return false;
}

static td_block *acquire_block(td_device *device, const capture *c, size_t bytes)
{
    const wish w = {.ordinal = device->ordinal, .bytes = bytes, .capture = c->id};
    td_block *b = take_shared(c, &w);
    if (b) return b;
    b = take(NULL, is_free_and_fits, &w);
    if (!b) b = make_block(device, &w);
    return b && give_to_graph(b, c) ? b : NULL;
}

/* ---- detours ---- */

/* A workspace of one product of a detour, and of others once that is captured: they follow it. */
struct td_piece {
    void *memory;
    size_t bytes;
    bool is_free;
    td_piece *next;
};

static _Thread_local td_detour *entered; /* NULL: none */

void td_detour_enter(td_detour *detour, td_stream captured, td_stream stream)
{
    detour->captured = captured;
    detour->stream = stream;
    entered = detour;
}

void td_detour_leave(void) { entered = NULL; }

void td_detour_end(td_detour *detour)
{
    while (detour->pieces) {
        td_piece *const piece = detour->pieces;
        detour->pieces = piece->next;
        td_cuda_ok(cudaFreeAsync(piece->memory, detour->stream));
        free(piece);
    }
}

/* NULL if none that is free suffices. */
static td_piece *find_piece(const td_detour *detour, size_t bytes)
{
    td_piece *piece = detour->pieces;
    while (piece && !(piece->is_free && piece->bytes >= bytes)) piece = piece->next;
    return piece;
}

static td_piece *make_piece(td_device *device, td_detour *detour, size_t bytes)
{
    td_piece *const piece = calloc(1, sizeof *piece);
    if (!piece) return NULL;
    if (!td_cuda_ok(cudaMallocFromPoolAsync(&piece->memory, bytes, device->pool, detour->stream))) {
        free(piece);
        return NULL;
    }
    piece->bytes = bytes;
    piece->next = detour->pieces;
    detour->pieces = piece;
    return piece;
}

/* Pieces are listed from the last to the first. */
int td_detour_places(const td_detour *detour, td_detour_place *places)
{
    int count = 0;
    for (const td_piece *p = detour->pieces; p; p = p->next) count++;
    int at = count;
    for (const td_piece *p = detour->pieces; p && count <= TD_DETOUR_PLACES; p = p->next)
        places[--at] = (td_detour_place){p->memory, p->bytes};
    return count;
}

bool td_detour_repeat(td_detour *detour, td_device *device, const td_detour_place *places,
                      int count)
{
    bool is_same = true;
    for (int i = 0; i < count; i++) {
        td_piece *const piece = make_piece(device, detour, places[i].bytes);
        if (!piece) return false;
        piece->is_free = true;
        is_same = is_same && piece->memory == places[i].memory;
    }
    return is_same;
}

static td_run_status acquire_in_detour(td_workspace *workspace, td_device *device,
                                       td_detour *detour, size_t limit, td_planner plan,
                                       void *product)
{
    for (int i = 0; i < TRIES && !workspace->piece; i++, limit /= 4) {
        const size_t bytes = plan(product, limit);
        if (bytes == 0) break;
        workspace->piece = find_piece(detour, bytes);
        if (!workspace->piece) workspace->piece = make_piece(device, detour, bytes);
    }
    if (!workspace->piece) return TD_RUN_NO_MEMORY;
    workspace->piece->is_free = false;
    workspace->memory = workspace->piece->memory;
    return TD_RUN_DONE;
}

/* ---- workspaces ---- */

/* What the caller has lent, if it is of the device and the product fits: as `limit` allows it, or
 * in more parts, which take longer. */
static bool use_lent(td_workspace *workspace, td_device *device, const td_loan *lent, size_t limit,
                     bool in_more_parts, td_planner plan, void *product)
{
    if (!lent || !lent->memory) return false;
    const uintptr_t start = (uintptr_t)lent->memory,
                    unused = (ALIGNMENT - start % ALIGNMENT) % ALIGNMENT;
    if (lent->bytes <= unused || !td_device_reaches(device, lent->memory)) return false;
    const size_t bytes = lent->bytes - unused, most = bytes < limit ? bytes : limit,
                 wanted = plan(product, in_more_parts ? most : limit);
    if (wanted == 0 || wanted > bytes) return false;
    workspace->memory = (void *)(start + unused);
    workspace->is_lent = true;
    return true;
}

static td_run_status acquire_in_capture(td_workspace *workspace, td_device *device,
                                        const capture *c, size_t limit, td_planner plan,
                                        void *product)
{
    const td_capture_mode mode = td_capture_allow();
    const int tries = td_device_allow_graphs(device) ? TRIES : 0;
    for (int i = 0; i < tries && !workspace->block; i++, limit /= 4) {
        const size_t bytes = plan(product, limit);
        if (bytes == 0) break;
        workspace->block = acquire_block(device, c, bytes);
    }
    td_capture_restore(mode);
    if (!workspace->block) return TD_RUN_NOT_CAPTURED;
    workspace->memory = workspace->block->memory;
    return TD_RUN_DONE;
}

td_run_status td_workspace_acquire(td_workspace *workspace, td_device *device, td_stream stream,
                                   const td_loan *lent, size_t limit, td_planner plan,
                                   void *product)
{
    capture c;
    *workspace = (td_workspace){0};
    if (entered && entered->captured == stream)
        return acquire_in_detour(workspace, device, entered, limit, plan, product);
    if (!query_capture(stream, &c)) return TD_RUN_NO_STREAM;
    if (c.is_active) {
        if (use_lent(workspace, device, lent, limit, false, plan, product)) return TD_RUN_DONE;
        const td_run_status status =
            acquire_in_capture(workspace, device, &c, limit, plan, product);
        if (status == TD_RUN_DONE || !use_lent(workspace, device, lent, limit, true, plan, product))
            return status;
        return TD_RUN_DONE;
    }
    if (atomic_load(&free_count)) empty_free_blocks(device);
    for (int i = 0; i < TRIES && !workspace->memory; i++, limit /= 4) {
        const size_t bytes = plan(product, limit);
        if (bytes == 0) break;
        if (!td_cuda_ok(cudaMallocFromPoolAsync(&workspace->memory, bytes, device->pool, stream)))
            workspace->memory = NULL;
    }
    return workspace->memory ? TD_RUN_DONE : TD_RUN_NO_MEMORY;
}

static size_t all_or_none(void *bytes, size_t limit)
{
    const size_t all = *(const size_t *)bytes;
    return all <= limit ? all : 0;
}

td_run_status td_workspace_acquire_all(td_workspace *workspace, td_device *device, td_stream stream,
                                       size_t bytes)
{
    return td_workspace_acquire(workspace, device, stream, NULL, SIZE_MAX, all_or_none, &bytes);
}

td_run_status td_workspace_acquire_beside(td_workspace *workspace, td_device *device,
                                          td_stream stream, size_t bytes, size_t *limit)
{
    if (bytes > *limit / 2) return TD_RUN_NO_MEMORY;
    *limit -= bytes;
    return td_workspace_acquire_all(workspace, device, stream, bytes);
}

void td_workspace_release(td_workspace *workspace, cudaStream_t stream)
{
    td_block *block = workspace->block;
    capture c;
    if (workspace->piece) workspace->piece->is_free = true;
    if (block && query_capture(stream, &c) && c.is_active && c.id == block->capture &&
        c.count == 1) {
        block->last = c.last[0];
        set_state(block, IDLE);
    }
    if (!block && !workspace->piece && !workspace->is_lent)
        td_cuda_ok(cudaFreeAsync(workspace->memory, stream));
}
