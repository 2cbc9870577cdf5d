/* branch.c - a graph of two nodes is described for each call, a kernel that sets a condition and
 * cuBLAS's routine below it, and updates the executable of its stream: that takes 2 us of the host,
 * where another executable takes 40. */
#include "branch.h"

#include <pthread.h>
#include <stdlib.h>

#include "../../options/log.h"
#include "cublas.h"

/* Launches of one executable wait for each other, so streams have executables of their own: as many
 * as this, then the one that was made first is replaced. */
enum { STREAMS = 8 };

/* What belongs to a context, and ends with it. */
typedef struct td_branches {
    pthread_mutex_t lock;
    unsigned life;        /* of the context */
    cudaStream_t capture; /* in which products are captured, and nothing runs */
    bool is_refused;
    int next; /* to be replaced */
    struct {
        cudaStream_t stream;
        cudaGraphExec_t graph; /* NULL: free */
    } of[STREAMS];
} branches;

static branches *create(void)
{
    branches *b = calloc(1, sizeof *b);
    if (b) pthread_mutex_init(&b->lock, NULL);
    return b;
}

/* What a context had that is gone is forgotten. NULL without memory. */
static branches *lock_branches(td_device *device)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    const unsigned life = atomic_load(&device->life);
    pthread_mutex_lock(&lock);
    if (!device->branches) device->branches = create();
    branches *b = device->branches;
    pthread_mutex_unlock(&lock);
    if (!b) return NULL;
    pthread_mutex_lock(&b->lock);
    if (b->life == life) return b;
    b->life = life;
    b->capture = NULL;
    b->is_refused = false;
    for (int i = 0; i < STREAMS; i++) b->of[i].graph = NULL;
    return b;
}

static cudaError_t prepare(int unused)
{
    (void)unused;
    return td_condition_prepare();
}

/* Under the lock. */
static bool is_ready(branches *b, td_device *device)
{
    if (b->is_refused) return false;
    if (b->capture) return true;
    const td_capture_mode mode = td_capture_allow();
    const bool done = td_device_load(device, prepare, 0) &&
                      td_cuda_ok(cudaStreamCreateWithFlags(&b->capture, cudaStreamNonBlocking));
    td_capture_restore(mode);
    b->is_refused = !done;
    return done;
}

bool td_branch_ready(td_device *device)
{
    branches *b = lock_branches(device);
    if (!b) return false;
    const bool ready = is_ready(b, device);
    pthread_mutex_unlock(&b->lock);
    return ready && td_cublas_ready(device);
}

/* ---- graphs ---- */

typedef struct {
    td_device *device;
    const td_problem *p;
    const td_condition *asked;
    void *workspace;
    size_t workspace_bytes;
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
    return end(capture, td_condition_run(condition, w->asked, capture));
}

static cudaError_t add_product(cudaStream_t capture, const work *w, cudaGraph_t body)
{
    td_problem p = *w->p;
    const cudaError_t error = begin(capture, body);
    if (error != cudaSuccess) return error;
    p.stream = capture;
    const bool done = p.enqueue ? p.enqueue(p.enqueued, capture)
                                : td_cublas_run(w->device, &p, w->workspace, w->workspace_bytes);
    return end(capture, done ? cudaSuccess : cudaErrorUnknown);
}

static cudaError_t describe(cudaStream_t capture, const work *w, cudaGraph_t graph)
{
    struct cudaGraphNodeParams node = {
        .type = cudaGraphNodeTypeConditional,
        .conditional = {.type = cudaGraphCondTypeIf, .size = 1},
    };
    cudaGraphNode_t question, branch;
    size_t count = 1;
    cudaError_t error = cudaGraphConditionalHandleCreate(&node.conditional.handle, graph, 0, 0);
    if (error == cudaSuccess) error = add_question(capture, w, graph, node.conditional.handle);
    if (error == cudaSuccess) error = cudaGraphGetNodes(graph, &question, &count);
    if (error == cudaSuccess) error = cudaGraphAddNode(&branch, graph, &question, NULL, 1, &node);
    if (error != cudaSuccess) return error;
    return add_product(capture, w, node.conditional.phGraph_out[0]);
}

/* The place of a stream's executable. */
static int place_of(branches *b, cudaStream_t stream)
{
    for (int i = 0; i < STREAMS; i++)
        if (b->of[i].graph && b->of[i].stream == stream) return i;
    const int place = b->next;
    b->next = (place + 1) % STREAMS;
    return place;
}

/* An executable that is replaced may still run: CUDA frees it afterwards. */
static cudaError_t instantiate(branches *b, int place, cudaStream_t stream, cudaGraph_t graph)
{
    cudaGraphExecUpdateResultInfo info;
    cudaGraphExec_t *const of = &b->of[place].graph;
    if (*of && b->of[place].stream == stream && td_cuda_ok(cudaGraphExecUpdate(*of, graph, &info)))
        return cudaSuccess;
    if (*of) (void)td_cuda_ok(cudaGraphExecDestroy(*of));
    *of = NULL;
    b->of[place].stream = stream;
    return cudaGraphInstantiate(of, graph, 0);
}

static cudaError_t launch(branches *b, const work *w, cudaGraph_t graph)
{
    const int place = place_of(b, w->p->stream);
    cudaError_t error = describe(b->capture, w, graph);
    if (error == cudaSuccess) error = instantiate(b, place, w->p->stream, graph);
    return error == cudaSuccess ? cudaGraphLaunch(b->of[place].graph, w->p->stream) : error;
}

/* Under the lock. */
static cudaError_t run(branches *b, const work *w)
{
    cudaGraph_t graph;
    const td_capture_mode mode = td_capture_allow();
    cudaError_t error = cudaGraphCreate(&graph, 0);
    if (error == cudaSuccess) {
        error = launch(b, w, graph);
        (void)td_cuda_ok(cudaGraphDestroy(graph));
    }
    td_capture_restore(mode);
    return error;
}

bool td_branch_run(td_device *device, const td_problem *p, const td_condition *condition,
                   void *workspace, size_t workspace_bytes)
{
    const work w = {device, p, condition, workspace, workspace_bytes};
    branches *b = lock_branches(device);
    if (!b) return false;
    const cudaError_t error = is_ready(b, device) ? run(b, &w) : cudaErrorNotSupported;
    const bool done = td_cuda_ok(error);
    if (!done && !b->is_refused)
        TD_LOG_ONCE(TD_LOG_INFO,
                    "no graph with a condition (%s); where data ask for binary64, Tandem's own "
                    "sums are taken",
                    cudaGetErrorName(error));
    b->is_refused |= !done;
    pthread_mutex_unlock(&b->lock);
    return done;
}
