/* graph_exec.c - executables of graphs: lists of work in an order that the graph allows. With
 * HOSTGPU_SEED it is another one each time, so that a dependency that is missing shows. The work of
 * a conditional node's bodies follows the node, and at most one of the two is run. */
#include <stdlib.h>

#include "cudart_internal.h"
#include "graph.h"
#include "settings.h"

/* Graphs hold graphs, and nodes need nodes: NOLINTBEGIN(misc-no-recursion) */

#define EXECUTABLE_MARK 0x65786563u

static bool add_step(cudaGraphExec_t e, hostgpu_work *work)
{
    hostgpu_step *grown = realloc(e->step, (e->steps + 1) * sizeof(hostgpu_step));

    if (!grown) return false;
    e->step = grown;
    e->step[e->steps++] = (hostgpu_step){work, {0, 0}};
    return true;
}

static cudaError_t order_graph(cudaGraphExec_t e, cudaGraph_t graph);

/* The steps of a node without those that it needs. */
static cudaError_t order_own(cudaGraphExec_t e, cudaGraphNode_t node)
{
    const size_t own = e->steps;
    cudaError_t error = cudaSuccess;

    if (node->work && !add_step(e, node->work)) return cudaErrorMemoryAllocation;
    for (int i = 0; i < 2 && node->child[i] && !error; i++) {
        const size_t before = e->steps;

        error = order_graph(e, node->child[i]);
        if (node->work) e->step[own].body[i] = e->steps - before;
    }
    return error;
}

/* The node's steps, after those of all nodes that it needs. */
static cudaError_t order_node(cudaGraphExec_t e, cudaGraphNode_t node)
{
    cudaError_t error = cudaSuccess;

    if (node->visit == VISITED) return cudaSuccess;
    if (node->visit == BEING_VISITED) return cudaErrorInvalidValue; /* a circle */
    node->visit = BEING_VISITED;
    for (size_t i = 0; i < node->needs.count && !error; i++)
        error = order_node(e, node->needs.node[i]);
    node->visit = VISITED;
    return error ? error : order_own(e, node);
}

static bool is_ready(cudaGraphNode_t node)
{
    for (size_t i = 0; i < node->needs.count; i++)
        if (!node->needs.node[i]->visit) return false;
    return !node->visit;
}

/* Any of the nodes that are ready; NULL if none is. */
static cudaGraphNode_t pick_ready(cudaGraphExec_t e, cudaGraph_t graph)
{
    const size_t count = graph->nodes.count;

    e->random = e->random * 6364136223846793005u + 1442695040888963407u;
    for (size_t i = 0; i < count; i++) {
        cudaGraphNode_t node = graph->nodes.node[((size_t)(e->random >> 33) + i) % count];

        if (is_ready(node)) return node;
    }
    return NULL;
}

static cudaError_t order_graph(cudaGraphExec_t e, cudaGraph_t graph)
{
    cudaError_t error = cudaSuccess;
    cudaGraphNode_t node;

    hostgpu_graph_clear_visits(graph);
    while (e->is_shuffled && !error && (node = pick_ready(e, graph))) error = order_node(e, node);
    for (size_t i = 0; i < graph->nodes.count && !error; i++)
        error = order_node(e, graph->nodes.node[i]); /* nothing is left but in order, or a circle */
    return error;
}

static bool claim_single(cudaGraphExec_t e, bool claims)
{
    for (size_t i = 0; i < e->steps; i++) {
        if (!hostgpu_is_single(e->step[i].work)) continue;
        if (claims && atomic_load(&e->step[i].work->is_claimed)) return false;
    }
    for (size_t i = 0; i < e->steps; i++)
        if (hostgpu_is_single(e->step[i].work)) atomic_store(&e->step[i].work->is_claimed, claims);
    return true;
}

static void destroy_executable(cudaGraphExec_t e)
{
    if (!e) return;
    hostgpu_graph_destroy(e->graph);
    free(e->step);
    e->mark = 0;
    free(e);
}

/* Has the executable do what the graph says now. */
static cudaError_t copy_steps(cudaGraphExec_t e, cudaGraph_t graph)
{
    e->graph = hostgpu_graph_copy(graph);
    return e->graph ? order_graph(e, e->graph) : cudaErrorMemoryAllocation;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *executable, cudaGraph_t graph,
                                 unsigned long long flags)
{
    cudaGraphExec_t e;

    if (!executable || !hostgpu_is_graph(graph)) return hostgpu_record(cudaErrorInvalidValue);
    *executable = NULL;
    e = calloc(1, sizeof *e);
    if (!e) return hostgpu_record(cudaErrorMemoryAllocation);
    e->mark = EXECUTABLE_MARK;
    e->flags = flags;
    e->random = hostgpu_get_settings()->seed;
    e->is_shuffled = e->random != 0;
    cudaError_t error = copy_steps(e, graph);
    if (!error && !claim_single(e, true)) error = cudaErrorNotSupported;
    if (!error) error = hostgpu_enter(&e->life);
    if (error)
        destroy_executable(e);
    else
        *executable = e;
    return hostgpu_record(error);
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *executable, cudaGraph_t graph,
                                          unsigned long long flags)
{
    return cudaGraphInstantiate(executable, graph, flags);
}

static bool is_executable(cudaGraphExec_t e) { return e && e->mark == EXECUTABLE_MARK; }

cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t e, unsigned long long *flags)
{
    if (!is_executable(e) || !flags) return hostgpu_record(cudaErrorInvalidValue);
    *flags = e->flags;
    return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t e)
{
    if (!is_executable(e)) return hostgpu_record(cudaErrorInvalidValue);
    (void)claim_single(e, false);
    destroy_executable(e);
    return cudaSuccess;
}

static bool are_alike(const struct CUgraphExec_st *one, const struct CUgraphExec_st *other)
{
    if (one->steps != other->steps) return false;
    for (size_t i = 0; i < one->steps; i++)
        if (one->step[i].work->type != other->step[i].work->type ||
            one->step[i].body[0] != other->step[i].body[0] ||
            one->step[i].body[1] != other->step[i].body[1])
            return false;
    return true;
}

/* In the order in which nodes were added, for graphs whose nodes are of the same types. */
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t e, cudaGraph_t graph,
                                cudaGraphExecUpdateResultInfo *info)
{
    struct CUgraphExec_st fresh = {0};

    if (!is_executable(e) || !hostgpu_is_graph(graph) || !info)
        return hostgpu_record(cudaErrorInvalidValue);
    cudaError_t error = copy_steps(&fresh, graph);
    const bool is_alike = !error && are_alike(e, &fresh);
    *info = (cudaGraphExecUpdateResultInfo){
        .result = is_alike ? cudaGraphExecUpdateSuccess : cudaGraphExecUpdateErrorTopologyChanged};
    if (is_alike) {
        const struct CUgraphExec_st old = *e;

        e->graph = fresh.graph;
        e->step = fresh.step;
        fresh.graph = old.graph;
        fresh.step = old.step;
    }
    hostgpu_graph_destroy(fresh.graph);
    free(fresh.step);
    if (!error && !is_alike) error = cudaErrorGraphExecUpdateFailure;
    return hostgpu_record(error);
}

static cudaError_t check_launch(cudaGraphExec_t e, cudaStream_t stream)
{
    if (!is_executable(e)) return cudaErrorInvalidValue;
    if (!hostgpu_is_stream(stream) || !hostgpu_is_alive(e->life))
        return cudaErrorInvalidResourceHandle;
    return cudaSuccess;
}

cudaError_t cudaGraphUpload(cudaGraphExec_t e, cudaStream_t stream)
{
    return hostgpu_record(check_launch(e, stream));
}
HOSTGPU_ALSO(cudaGraphUpload, _ptsz);

static hostgpu_condition *condition_of(hostgpu_work *work)
{
    return work->type == cudaGraphNodeTypeConditional ? (hostgpu_condition *)(void *)work->arguments
                                                      : NULL;
}

static void set_conditions(cudaGraphExec_t e)
{
    for (size_t i = 0; i < e->steps; i++) {
        hostgpu_condition *asked = condition_of(e->step[i].work);

        if (asked && asked->begins_anew) asked->value = asked->at_launch;
    }
}

static cudaError_t run_steps(cudaGraphExec_t e, size_t first, size_t end);

/* A step, and of its bodies that which its condition asks for. */
static cudaError_t run_step(cudaGraphExec_t e, size_t i)
{
    hostgpu_work *work = e->step[i].work;
    const hostgpu_condition *asked = condition_of(work);
    const size_t *body = e->step[i].body, middle = i + 1 + body[0];
    cudaError_t error = cudaSuccess;

    if (work->run) error = work->run(work->arguments);
    if (error || !asked) return error;
    return asked->value ? run_steps(e, i + 1, middle) : run_steps(e, middle, middle + body[1]);
}

static cudaError_t run_steps(cudaGraphExec_t e, size_t first, size_t end)
{
    cudaError_t error = cudaSuccess;

    for (size_t i = first; i < end && !error; i += 1 + e->step[i].body[0] + e->step[i].body[1])
        error = run_step(e, i);
    return error;
}

static cudaError_t run(void *executable)
{
    cudaGraphExec_t e = *(cudaGraphExec_t *)executable;

    set_conditions(e);
    return run_steps(e, 0, e->steps);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t e, cudaStream_t stream)
{
    cudaError_t error = check_launch(e, stream);

    if (!error)
        error = hostgpu_enqueue(stream, cudaGraphNodeTypeGraph, run, &e, sizeof(cudaGraphExec_t));
    return hostgpu_record(error);
}
HOSTGPU_ALSO(cudaGraphLaunch, _ptsz);

/* NOLINTEND(misc-no-recursion) */
