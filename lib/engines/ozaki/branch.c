/* branch.c - a graph of two nodes is described for each call, a kernel that sets a condition and
 * what the condition chooses, and updates an executable of its stream: of cuBLAS's routine alone
 * that takes 2 us of the host, where another executable takes 40. With a mode's kernels in the
 * other body describing takes 60 us more, so that the executables of such calls are kept. A mode's
 * kernels without a condition are described for calls that have been made twice. */
#include "branch.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../../options/log.h"
#include "../../cuda/workspace.h"
#include "cublas.h"

/* Launches of one executable wait for each other, so streams have executables of their own; and an
 * executable keeps the number of its nodes. There are as many as this, then the one that was
 * launched longest ago is replaced; of one stream and number of nodes there are KEPT at most, or
 * KEPT_ALONE without a condition. So many are known of the calls that were made, in a stream
 * without work or without a condition: a program that makes more than these in turn has none of
 * them described, and what is described for fewer has room. */
enum { EXECUTABLES = 32, KEPT = 4, KEPT_ALONE = 16, SEEN = 2 * KEPT_ALONE };

typedef struct {
    cudaStream_t stream;
    size_t nodes;          /* of the other body; 0: it has none */
    cudaGraphExec_t graph; /* NULL: free */
    unsigned long launched;
    unsigned char key[TD_BRANCH_KEY_BYTES];
    size_t key_bytes; /* 0: the executable is for no other call */
    td_detour_place place[TD_DETOUR_PLACES];
    int places;
} executable;

/* What belongs to a context, and ends with it. */
typedef struct td_branches {
    pthread_mutex_t lock;
    unsigned life;               /* of the context */
    cudaStream_t capture, inner; /* in which products are captured, and nothing runs */
    bool is_refused, is_other_body_refused, is_alone_refused, is_inner_refused, is_captured_refused;
    unsigned long launches, repeats;
    executable of[EXECUTABLES];
    uint64_t seen[SEEN]; /* hashes of keys */
    int next_seen;
    bool is_left; /* nothing of it is of use */
    struct td_branches *next;
} branches;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static branches *all; /* of every device */

/* Under the lock. */
static branches *create(void)
{
    branches *b = calloc(1, sizeof *b);
    if (!b) return NULL;
    pthread_mutex_init(&b->lock, NULL);
    b->next = all;
    all = b;
    return b;
}

/* Threads that had locks are not the child's. */
void td_branch_after_fork(void)
{
    static const pthread_mutex_t open = PTHREAD_MUTEX_INITIALIZER;
    lock = open;
    for (branches *b = all; b; b = b->next) {
        b->lock = open;
        b->is_left = true;
    }
}

/* What a context had that is gone is forgotten. NULL without memory. */
static branches *lock_branches(td_device *device)
{
    const unsigned life = atomic_load(&device->life);
    pthread_mutex_lock(&lock);
    if (!device->branches) device->branches = create();
    branches *b = device->branches;
    pthread_mutex_unlock(&lock);
    if (!b) return NULL;
    pthread_mutex_lock(&b->lock);
    if (b->life == life && !b->is_left) return b;
    b->life = life;
    b->is_left = false;
    b->capture = b->inner = NULL;
    b->is_refused = b->is_other_body_refused = b->is_alone_refused = b->is_inner_refused =
        b->is_captured_refused = false;
    for (int i = 0; i < EXECUTABLES; i++) b->of[i].graph = NULL;
    memset(b->seen, 0, sizeof b->seen);
    return b;
}

TD_LOADER(prepare, td_condition_prepare)

/* Under the lock. */
static bool is_ready(branches *b, td_device *device)
{
    if (b->is_refused) return false;
    if (b->capture) return true;
    const td_capture_mode mode = td_capture_allow();
    const bool done = td_device_load(device, prepare, 0) &&
                      td_cuda_ok(cudaStreamCreateWithFlags(&b->inner, cudaStreamNonBlocking)) &&
                      td_cuda_ok(cudaStreamCreateWithFlags(&b->capture, cudaStreamNonBlocking));
    td_capture_restore(mode);
    b->is_refused = !done;
    return done;
}

/* What the calling thread captures a mode's kernels for, whose lock it has; NULL: nothing. */
static _Thread_local branches *entered;

/* True if the device has what a condition takes, in a graph that the program captures or in one of
 * Tandem's own. */
static bool has_conditions(td_device *device, bool is_captured)
{
    branches *b = lock_branches(device);
    if (!b) return false;
    const bool ready = is_ready(b, device) && !(is_captured && b->is_captured_refused);
    pthread_mutex_unlock(&b->lock);
    return ready && td_cublas_ready(device);
}

bool td_branch_ready(td_device *device)
{
    return entered ? !entered->is_inner_refused : has_conditions(device, false);
}

bool td_branch_captures(td_device *device) { return has_conditions(device, true); }

/* ---- graphs ---- */

typedef struct {
    td_device *device;
    const td_branch_call *call; /* without `otherwise` the node has one body */
    td_detour detour;           /* of the other body */
} work;

static cudaError_t begin(cudaStream_t stream, cudaGraph_t graph)
{
    return cudaStreamBeginCaptureToGraph(stream, graph, NULL, NULL, 0,
                                         cudaStreamCaptureModeRelaxed);
}

/* After a capture that began, whatever went wrong in it. */
static cudaError_t end(cudaStream_t stream, cudaError_t error)
{
    cudaGraph_t unused;
    const cudaError_t ended = cudaStreamEndCapture(stream, &unused);
    return error == cudaSuccess ? ended : error;
}

static cudaError_t add_question(cudaStream_t capture, const work *w, cudaGraph_t graph,
                                cudaGraphConditionalHandle condition)
{
    const cudaError_t error = begin(capture, graph);
    if (error != cudaSuccess) return error;
    return end(capture, td_condition_run(condition, w->call->condition, capture));
}

/* What the caller's functions leave out of a graph, a mode's kernels or the program's own call, is
 * no fault of CUDA's: other calls may have graphs. */
static const cudaError_t is_left_out = cudaErrorMemoryAllocation;

static cudaError_t add_product(cudaStream_t capture, const work *w, cudaGraph_t body)
{
    td_problem p = *w->call->p;
    const cudaError_t error = begin(capture, body);
    if (error != cudaSuccess) return error;
    p.stream = capture;
    const bool done =
        p.enqueue ? p.enqueue(p.enqueued, capture)
                  : td_cublas_run(w->device, &p, w->call->workspace, w->call->workspace_bytes);
    return end(capture, done ? cudaSuccess : p.enqueue ? is_left_out : cudaErrorUnknown);
}

/* Where a stream's capture is: its graph, and what the next node comes after. */
typedef struct {
    enum cudaStreamCaptureStatus status;
    unsigned long long id;
    cudaGraph_t graph;
    const cudaGraphNode_t *last;
    const cudaGraphEdgeData *edges;
    size_t count;
} capture_place;

static cudaError_t find_place(cudaStream_t stream, capture_place *at)
{
    return cudaStreamGetCaptureInfo(stream, &at->status, &at->id, &at->graph, &at->last, &at->edges,
                                    &at->count);
}

/* Adds a condition and what it chooses to the graph or the body that `outer` is captured into. */
static cudaError_t add_inner(branches *b, const work *w, cudaStream_t outer)
{
    struct cudaGraphNodeParams node = {.type = cudaGraphNodeTypeConditional,
                                       .conditional = {.type = cudaGraphCondTypeIf, .size = 1}};
    cudaGraphNode_t branch;
    capture_place at;
    cudaError_t error = find_place(outer, &at);
    if (error == cudaSuccess)
        error = cudaGraphConditionalHandleCreate(&node.conditional.handle, at.graph, 0, 0);
    if (error == cudaSuccess)
        error = td_condition_run(node.conditional.handle, w->call->condition, outer);
    if (error == cudaSuccess) error = find_place(outer, &at);
    if (error == cudaSuccess)
        error = cudaGraphAddNode(&branch, at.graph, at.last, NULL, at.count, &node);
    if (error != cudaSuccess) return error;
    /* A node that is there is what all else comes after, whatever its body has. */
    error = cudaStreamUpdateCaptureDependencies(outer, &branch, NULL, 1,
                                                cudaStreamSetCaptureDependencies);
    const cudaError_t of_body = add_product(b->inner, w, node.conditional.phGraph_out[0]);
    return error == cudaSuccess ? of_body : error;
}

/* nodes: what the body has then. */
static cudaError_t add_otherwise(branches *b, work *w, cudaGraph_t body, size_t *nodes)
{
    cudaStream_t capture = b->capture;
    const cudaError_t error = begin(capture, body);
    if (error != cudaSuccess) return error;
    td_detour_enter(&w->detour, capture, w->call->p->stream);
    entered = b;
    const bool done = w->call->otherwise(w->call->of, capture);
    entered = NULL;
    td_detour_leave();
    const cudaError_t ended = end(capture, done ? cudaSuccess : is_left_out);
    return ended == cudaSuccess ? cudaGraphGetNodes(body, NULL, nodes) : ended;
}

static cudaError_t describe(branches *b, work *w, cudaGraph_t graph, size_t *nodes)
{
    cudaStream_t capture = b->capture;
    struct cudaGraphNodeParams node = {
        .type = cudaGraphNodeTypeConditional,
        .conditional = {.type = cudaGraphCondTypeIf, .size = w->call->otherwise ? 2 : 1},
    };
    cudaGraphNode_t question, branch;
    size_t count = 1;
    if (!w->call->condition) return add_otherwise(b, w, graph, nodes);
    cudaError_t error = cudaGraphConditionalHandleCreate(&node.conditional.handle, graph, 0, 0);
    if (error == cudaSuccess) error = add_question(capture, w, graph, node.conditional.handle);
    if (error == cudaSuccess) error = cudaGraphGetNodes(graph, &question, &count);
    if (error == cudaSuccess) error = cudaGraphAddNode(&branch, graph, &question, NULL, 1, &node);
    if (error == cudaSuccess) error = add_product(capture, w, node.conditional.phGraph_out[0]);
    if (error != cudaSuccess || !w->call->otherwise) return error;
    return add_otherwise(b, w, node.conditional.phGraph_out[1], nodes);
}

/* ---- executables ---- */

/* The one of two that is free, or was launched longer ago; either may be NULL. */
static executable *older(executable *one, executable *other)
{
    if (!one || !other) return one ? one : other;
    if (!one->graph || !other->graph) return one->graph ? other : one;
    return one->launched <= other->launched ? one : other;
}

/* The executable to be made one of so many nodes in a stream. */
static executable *place_of(branches *b, cudaStream_t stream, size_t nodes, int most)
{
    executable *alike = NULL, *any = NULL;
    int count = 0;
    for (executable *e = b->of; e < b->of + EXECUTABLES; e++) {
        any = older(any, e);
        if (!e->graph || e->stream != stream || e->nodes != nodes) continue;
        alike = older(alike, e);
        count++;
    }
    return count >= most ? alike : any;
}

/* An executable that is replaced may still run: CUDA frees it afterwards. */
static cudaError_t instantiate(executable *e, cudaStream_t stream, size_t nodes, cudaGraph_t graph)
{
    cudaGraphExecUpdateResultInfo info;
    e->key_bytes = 0;
    if (e->graph && e->stream == stream && e->nodes == nodes &&
        td_cuda_ok(cudaGraphExecUpdate(e->graph, graph, &info)))
        return cudaSuccess;
    if (e->graph) (void)td_cuda_ok(cudaGraphExecDestroy(e->graph));
    e->graph = NULL;
    e->stream = stream;
    e->nodes = nodes;
    return cudaGraphInstantiate(&e->graph, graph, 0);
}

static cudaError_t launch(branches *b, executable *e)
{
    e->launched = ++b->launches;
    return cudaGraphLaunch(e->graph, e->stream);
}

/* Keeps an executable for other calls with the key. */
static void keep(executable *e, const work *w)
{
    td_detour_place place[TD_DETOUR_PLACES];
    const td_branch_call *const call = w->call;
    const int places = td_detour_places(&w->detour, place);
    if (!call->key || call->key_bytes > sizeof e->key || places > TD_DETOUR_PLACES) return;
    memcpy(e->key, call->key, call->key_bytes);
    e->key_bytes = call->key_bytes;
    memcpy(e->place, place, (size_t)places * sizeof *place);
    e->places = places;
}

static int most_kept(const td_branch_call *call)
{
    if (!call->key) return 1;
    return call->condition ? KEPT : KEPT_ALONE;
}

static cudaError_t describe_and_launch(branches *b, work *w, cudaGraph_t graph)
{
    cudaStream_t stream = w->call->p->stream;
    size_t nodes = 0;
    cudaError_t error = describe(b, w, graph, &nodes);
    if (error != cudaSuccess) return error;
    executable *const e = place_of(b, stream, nodes, most_kept(w->call));
    error = instantiate(e, stream, nodes, graph);
    if (error == cudaSuccess) error = launch(b, e);
    if (error == cudaSuccess) keep(e, w);
    return error;
}

/* Under the lock. */
static cudaError_t run(branches *b, work *w)
{
    cudaGraph_t graph;
    const td_capture_mode mode = td_capture_allow();
    cudaError_t error = cudaGraphCreate(&graph, 0);
    if (error == cudaSuccess) {
        error = describe_and_launch(b, w, graph);
        (void)td_cuda_ok(cudaGraphDestroy(graph));
    }
    td_capture_restore(mode);
    return error;
}

/* ---- calls that were made before ---- */

/* NULL if there is none. */
static executable *find(branches *b, const td_branch_call *call)
{
    for (executable *e = b->of; call->key && e < b->of + EXECUTABLES; e++)
        if (e->graph && e->stream == call->p->stream && e->key_bytes == call->key_bytes &&
            memcmp(e->key, call->key, call->key_bytes) == 0)
            return e;
    return NULL;
}

/* Launches the executable of the same call, whose memory must be where it was. */
static bool launch_again(branches *b, work *w)
{
    executable *const e = find(b, w->call);
    w->detour.stream = w->call->p->stream;
    if (!e || !td_detour_repeat(&w->detour, w->device, e->place, e->places) ||
        !td_cuda_ok(launch(b, e)))
        return false;
    b->repeats++;
    return true;
}

/* FNV-1a of eight bytes at a time. */
static uint64_t hash_of(const unsigned char *bytes, size_t count)
{
    uint64_t hash = 14695981039346656037u, word = 0;
    for (size_t i = 0; i < count; i += sizeof word) {
        memcpy(&word, bytes + i, count - i < sizeof word ? count - i : sizeof word);
        hash = (hash ^ word) * 1099511628211u;
    }
    return hash;
}

/* True if a call with the hash was made before; from now on one was. */
static bool see(branches *b, uint64_t hash)
{
    for (int i = 0; i < SEEN; i++)
        if (b->seen[i] == hash) return true;
    b->seen[b->next_seen] = hash;
    b->next_seen = (b->next_seen + 1) % SEEN;
    return false;
}

static bool was_made(branches *b, const td_branch_call *call)
{
    return call->key && see(b, hash_of(call->key, call->key_bytes));
}

/* The second time counts as that of another call. */
static bool was_made_twice(branches *b, const td_branch_call *call)
{
    return was_made(b, call) && see(b, hash_of(call->key, call->key_bytes) + 1);
}

/* Where a call's memory comes to lie elsewhere, its graph is of no use until it has been made twice
 * again: memory that changes places each time would have a graph described each time. */
static void forget(branches *b, const td_branch_call *call)
{
    executable *const e = find(b, call);
    const uint64_t hash = hash_of(call->key, call->key_bytes);
    if (!e) return;
    e->key_bytes = 0;
    for (int i = 0; i < SEEN; i++)
        if (b->seen[i] == hash || b->seen[i] == hash + 1) b->seen[i] = 0;
}

/* ---- running ---- */

/* True if the graph is launched. */
static bool launch_either(branches *b, work *w)
{
    if (b->is_other_body_refused || !is_ready(b, w->device)) return false;
    if (launch_again(b, w)) return true;
    if (w->call->is_awaited && !was_made(b, w->call)) return false;
    const cudaError_t error = run(b, w);
    const bool done = td_cuda_ok(error);
    if (done || error == is_left_out) return done;
    b->is_other_body_refused = true;
    TD_LOG_ONCE(TD_LOG_INFO,
                "no condition with two bodies (%s); a mode's kernels end at once where cuBLAS "
                "makes C",
                cudaGetErrorName(error));
    return false;
}

static bool launch_alone(branches *b, work *w)
{
    const cudaError_t error = is_ready(b, w->device) ? run(b, w) : cudaErrorNotSupported;
    const bool done = td_cuda_ok(error);
    if (done || error == is_left_out) return done;
    if (!b->is_refused)
        TD_LOG_ONCE(TD_LOG_INFO,
                    "no graph with a condition (%s); where data ask for binary64, Tandem's own "
                    "sums are taken",
                    cudaGetErrorName(error));
    b->is_refused = true;
    return false;
}

/* Launches the body with the mode's kernels, without a condition. */
static bool launch_body(branches *b, work *w)
{
    if (b->is_alone_refused || !is_ready(b, w->device)) return false;
    if (launch_again(b, w)) return true;
    forget(b, w->call);
    if (!was_made_twice(b, w->call)) return false;
    const cudaError_t error = run(b, w);
    const bool done = td_cuda_ok(error);
    b->is_alone_refused = !done && error != is_left_out;
    if (b->is_alone_refused)
        TD_LOG_ONCE(TD_LOG_INFO, "no graph of a mode's kernels (%s); they are launched one by one",
                    cudaGetErrorName(error));
    return done;
}

bool td_branch_run_either(td_device *device, const td_branch_call *call)
{
    work w = {.device = device, .call = call};
    branches *b = lock_branches(device);
    if (!b) return false;
    const bool done = !call->condition  ? launch_body(b, &w)
                      : call->otherwise ? launch_either(b, &w)
                                        : launch_alone(b, &w);
    pthread_mutex_unlock(&b->lock);
    td_detour_end(&w.detour);
    return done;
}

unsigned long td_branch_repeats(td_device *device)
{
    branches *b = lock_branches(device);
    if (!b) return 0;
    const unsigned long repeats = b->repeats;
    pthread_mutex_unlock(&b->lock);
    return repeats;
}

/* Adds the condition to the program's own graph. */
static bool run_captured(const work *w)
{
    branches *b = lock_branches(w->device);
    if (!b) return false;
    const td_capture_mode mode = td_capture_allow();
    const cudaError_t error =
        is_ready(b, w->device) ? add_inner(b, w, w->call->p->stream) : cudaErrorNotSupported;
    const bool done = td_cuda_ok(error);
    td_capture_restore(mode);
    const bool is_refused = !done && error != is_left_out;
    b->is_captured_refused |= is_refused;
    pthread_mutex_unlock(&b->lock);
    if (is_refused)
        TD_LOG_ONCE(TD_LOG_INFO,
                    "no condition in a captured graph (%s); where data ask for binary64, Tandem's "
                    "own sums are taken",
                    cudaGetErrorName(error));
    return done;
}

bool td_branch_run(td_device *device, const td_problem *p, const td_condition *condition,
                   void *workspace, size_t workspace_bytes)
{
    const td_branch_call call = {
        .p = p, .condition = condition, .workspace = workspace, .workspace_bytes = workspace_bytes};
    const work w = {.device = device, .call = &call};
    if (entered) {
        const cudaError_t error = add_inner(entered, &w, entered->capture);
        entered->is_inner_refused |= error != cudaSuccess && error != is_left_out;
        return td_cuda_ok(error);
    }
    return td_stream_is_capturing(p->stream) ? run_captured(&w)
                                             : td_branch_run_either(device, &call);
}
