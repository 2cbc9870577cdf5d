/* graph.c - graphs, their nodes and what nodes do. */
#include <stdlib.h>
#include <string.h>

#include "cudart_internal.h"
#include "graph.h"

/* Graphs hold graphs, and nodes need nodes: NOLINTBEGIN(misc-no-recursion) */

#define GRAPH_MARK 0x67726170u

/* ---- work ---- */

hostgpu_work *hostgpu_work_create(enum cudaGraphNodeType type, hostgpu_action *run,
                                  const void *arguments, size_t bytes, void (*release)(void *))
{
    const size_t alignment = _Alignof(hostgpu_work);
    const size_t total = (sizeof(hostgpu_work) + bytes + alignment - 1) / alignment * alignment;
    hostgpu_work *work = aligned_alloc(alignment, total);

    if (!work) return NULL;
    memset(work, 0, sizeof *work);
    work->type = type;
    work->run = run;
    work->release = release;
    atomic_init(&work->users, 1);
    if (bytes) memcpy(work->arguments, arguments, bytes);
    return work;
}

static hostgpu_work *share(hostgpu_work *work)
{
    atomic_fetch_add(&work->users, 1);
    return work;
}

static void drop(hostgpu_work *work)
{
    if (!work || atomic_fetch_sub(&work->users, 1) > 1) return;
    if (work->release) work->release(work->arguments);
    free(work);
}

bool hostgpu_is_single(const hostgpu_work *work)
{
    return work->type == cudaGraphNodeTypeMemAlloc || work->type == cudaGraphNodeTypeMemFree ||
           work->type == cudaGraphNodeTypeConditional;
}

/* ---- sets of nodes ---- */

static bool contains(const hostgpu_nodes *set, cudaGraphNode_t node)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->node[i] == node) return true;
    return false;
}

bool hostgpu_nodes_add(hostgpu_nodes *set, const cudaGraphNode_t *nodes, size_t count)
{
    cudaGraphNode_t *grown = realloc(set->node, (set->count + count + 1) * sizeof(cudaGraphNode_t));

    if (!grown) return false;
    set->node = grown;
    for (size_t i = 0; i < count; i++)
        if (!contains(set, nodes[i])) set->node[set->count++] = nodes[i];
    return true;
}

void hostgpu_nodes_clear(hostgpu_nodes *set)
{
    free(set->node);
    *set = (hostgpu_nodes){NULL, 0};
}

/* ---- nodes and graphs ---- */

bool hostgpu_is_graph(cudaGraph_t graph) { return graph && graph->mark == GRAPH_MARK; }

static cudaGraph_t create_graph(void)
{
    cudaGraph_t graph = calloc(1, sizeof *graph);

    if (graph) graph->mark = GRAPH_MARK;
    return graph;
}

void hostgpu_graph_destroy(cudaGraph_t graph)
{
    if (!graph) return;
    for (size_t i = 0; i < graph->nodes.count; i++) {
        cudaGraphNode_t node = graph->nodes.node[i];

        for (int i = 0; i < 2; i++) hostgpu_graph_destroy(node->child[i]);
        drop(node->work);
        hostgpu_nodes_clear(&node->needs);
        free(node);
    }
    hostgpu_nodes_clear(&graph->nodes);
    hostgpu_objects_release(&graph->objects);
    drop(graph->condition);
    graph->mark = 0;
    free(graph);
}

/* Takes work and child over. */
static cudaGraphNode_t add_node(cudaGraph_t graph, hostgpu_work *work, cudaGraph_t child,
                                const hostgpu_nodes *needs)
{
    cudaGraphNode_t node = calloc(1, sizeof *node);
    bool done = node && (work || child) &&
                hostgpu_nodes_add(&node->needs, needs->node, needs->count) &&
                hostgpu_nodes_add(&graph->nodes, &node, 1);

    if (done) {
        node->graph = graph;
        node->work = work;
        node->child[0] = child;
        return node;
    }
    if (node) hostgpu_nodes_clear(&node->needs);
    free(node);
    drop(work);
    hostgpu_graph_destroy(child);
    return NULL;
}

cudaGraphNode_t hostgpu_graph_add(cudaGraph_t graph, hostgpu_work *work, const hostgpu_nodes *needs)
{
    return add_node(graph, work, NULL, needs);
}

/* The node of `copy` that stands for each of needs, whose graph it copies. */
static bool copy_needs(hostgpu_nodes *target, const hostgpu_nodes *needs)
{
    for (size_t i = 0; i < needs->count; i++)
        if (!hostgpu_nodes_add(target, &needs->node[i]->copy, 1)) return false;
    return true;
}

cudaGraph_t hostgpu_graph_copy(cudaGraph_t graph)
{
    cudaGraph_t copy = create_graph();
    const hostgpu_nodes none = {NULL, 0};
    bool done = copy && hostgpu_objects_copy(&copy->objects, graph->objects);

    for (size_t i = 0; i < graph->nodes.count && done; i++) {
        cudaGraphNode_t node = graph->nodes.node[i];
        cudaGraph_t child = node->child[0] ? hostgpu_graph_copy(node->child[0]) : NULL;

        node->copy = add_node(copy, node->work ? share(node->work) : NULL, child, &none);
        done = node->copy != NULL;
        if (!done || !node->child[1]) continue;
        node->copy->child[1] = hostgpu_graph_copy(node->child[1]);
        done = node->copy->child[1] != NULL;
    }
    for (size_t i = 0; i < graph->nodes.count && done; i++) {
        cudaGraphNode_t node = graph->nodes.node[i];

        done = copy_needs(&node->copy->needs, &node->needs);
    }
    if (done) return copy;
    hostgpu_graph_destroy(copy);
    return NULL;
}

cudaGraphNode_t hostgpu_graph_add_executable(cudaGraph_t graph, cudaGraphExec_t e,
                                             const hostgpu_nodes *needs)
{
    return add_node(graph, NULL, hostgpu_graph_copy(e->graph), needs);
}

static bool has_single(cudaGraph_t graph)
{
    for (size_t i = 0; i < graph->nodes.count; i++) {
        cudaGraphNode_t node = graph->nodes.node[i];

        if (node->work ? hostgpu_is_single(node->work) : has_single(node->child[0])) return true;
    }
    return false;
}

void hostgpu_graph_clear_visits(cudaGraph_t graph)
{
    for (size_t i = 0; i < graph->nodes.count; i++) graph->nodes.node[i]->visit = NOT_VISITED;
}

static void visit_all_before(cudaGraphNode_t node)
{
    if (node->visit) return;
    node->visit = VISITED;
    for (size_t i = 0; i < node->needs.count; i++) visit_all_before(node->needs.node[i]);
}

bool hostgpu_graph_leads_to(cudaGraph_t graph, const hostgpu_nodes *nodes,
                            const hostgpu_nodes *ends)
{
    hostgpu_graph_clear_visits(graph);
    for (size_t i = 0; i < ends->count; i++) visit_all_before(ends->node[i]);
    for (size_t i = 0; i < nodes->count; i++)
        if (!nodes->node[i]->visit) return false;
    return true;
}

cudaError_t cudaGraphCreate(cudaGraph_t *graph, unsigned flags)
{
    if (!graph || flags) return hostgpu_record(cudaErrorInvalidValue);
    *graph = create_graph();
    return hostgpu_record(*graph ? cudaSuccess : cudaErrorMemoryAllocation);
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    if (!hostgpu_is_graph(graph)) return hostgpu_record(cudaErrorInvalidValue);
    hostgpu_graph_destroy(graph);
    return cudaSuccess;
}

cudaError_t cudaGraphClone(cudaGraph_t *clone, cudaGraph_t graph)
{
    if (!clone || !hostgpu_is_graph(graph)) return hostgpu_record(cudaErrorInvalidValue);
    if (has_single(graph)) return hostgpu_record(cudaErrorNotSupported);
    *clone = hostgpu_graph_copy(graph);
    return hostgpu_record(*clone ? cudaSuccess : cudaErrorMemoryAllocation);
}

/* Adds a node that the program asked for. */
static cudaError_t add_asked(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *needs,
                             size_t count, hostgpu_work *work, cudaGraph_t child)
{
    const hostgpu_nodes set = {(cudaGraphNode_t *)(uintptr_t)needs, count};

    *node = add_node(graph, work, child, &set);
    return hostgpu_record(*node ? cudaSuccess : cudaErrorMemoryAllocation);
}

static bool are_nodes_of(cudaGraph_t graph, const cudaGraphNode_t *nodes, size_t count)
{
    if (!hostgpu_is_graph(graph) || (count && !nodes)) return false;
    for (size_t i = 0; i < count; i++)
        if (!contains(&graph->nodes, nodes[i])) return false;
    return true;
}

cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t *node, cudaGraph_t graph,
                                       const cudaGraphNode_t *needs, size_t count,
                                       cudaGraph_t child)
{
    if (!node || !are_nodes_of(graph, needs, count) || !hostgpu_is_graph(child) || child == graph)
        return hostgpu_record(cudaErrorInvalidValue);
    if (has_single(child)) return hostgpu_record(cudaErrorNotSupported);
    return add_asked(node, graph, needs, count, NULL, hostgpu_graph_copy(child));
}

cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t *node, cudaGraph_t graph,
                                  const cudaGraphNode_t *needs, size_t count)
{
    if (!node || !are_nodes_of(graph, needs, count)) return hostgpu_record(cudaErrorInvalidValue);
    return add_asked(node, graph, needs, count,
                     hostgpu_work_create(cudaGraphNodeTypeEmpty, NULL, NULL, 0, NULL), NULL);
}

cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                                     const cudaGraphNode_t *to, const cudaGraphEdgeData *data,
                                     size_t count)
{
    (void)data;
    if (!are_nodes_of(graph, from, count) || !are_nodes_of(graph, to, count))
        return hostgpu_record(cudaErrorInvalidValue);
    for (size_t i = 0; i < count; i++)
        if (!hostgpu_nodes_add(&to[i]->needs, &from[i], 1))
            return hostgpu_record(cudaErrorMemoryAllocation);
    return cudaSuccess;
}

cudaError_t cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t *graph)
{
    if (!node || !node->child[0] || !graph) return hostgpu_record(cudaErrorInvalidValue);
    *graph = node->child[0];
    return cudaSuccess;
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, enum cudaGraphNodeType *type)
{
    if (!node || !type) return hostgpu_record(cudaErrorInvalidValue);
    *type = node->work ? node->work->type : cudaGraphNodeTypeGraph;
    return cudaSuccess;
}

/* ---- conditions ---- */

cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle *handle, cudaGraph_t graph,
                                             unsigned at_launch, unsigned flags)
{
    const hostgpu_condition asked = {at_launch, at_launch, flags == cudaGraphCondAssignDefault};

    if (!handle || !hostgpu_is_graph(graph) || flags > cudaGraphCondAssignDefault)
        return hostgpu_record(cudaErrorInvalidValue);
    if (graph->condition) return hostgpu_record(cudaErrorNotSupported);
    graph->condition =
        hostgpu_work_create(cudaGraphNodeTypeConditional, NULL, &asked, sizeof asked, NULL);
    if (!graph->condition) return hostgpu_record(cudaErrorMemoryAllocation);
    *handle = (cudaGraphConditionalHandle)(uintptr_t)graph->condition->arguments;
    return cudaSuccess;
}

static bool is_condition_of(cudaGraph_t graph, cudaGraphConditionalHandle handle)
{
    return graph->condition &&
           handle == (cudaGraphConditionalHandle)(uintptr_t)graph->condition->arguments;
}

/* Of nodes, conditional ones of one body or two. */
cudaError_t cudaGraphAddNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *needs,
                             const cudaGraphEdgeData *data, size_t count,
                             struct cudaGraphNodeParams *asked)
{
    (void)data;
    if (!node || !asked || !are_nodes_of(graph, needs, count))
        return hostgpu_record(cudaErrorInvalidValue);
    if (asked->type != cudaGraphNodeTypeConditional ||
        asked->conditional.type != cudaGraphCondTypeIf || asked->conditional.size - 1 > 1)
        return hostgpu_record(cudaErrorNotSupported);
    if (!is_condition_of(graph, asked->conditional.handle))
        return hostgpu_record(cudaErrorInvalidValue);
    hostgpu_work *work = graph->condition;
    graph->condition = NULL;
    const cudaError_t error = add_asked(node, graph, needs, count, work, create_graph());
    if (error) return error;
    if (asked->conditional.size == 2 && !((*node)->child[1] = create_graph()))
        return hostgpu_record(cudaErrorMemoryAllocation);
    asked->conditional.phGraph_out = (*node)->child;
    return cudaSuccess;
}

/* The set's size, or as many of its nodes as there is room for, and NULL behind them. */
static cudaError_t give_nodes(const hostgpu_nodes *set, cudaGraphNode_t *nodes, size_t *count)
{
    if (!count) return hostgpu_record(cudaErrorInvalidValue);
    for (size_t i = 0; nodes && i < *count; i++) nodes[i] = i < set->count ? set->node[i] : NULL;
    if (!nodes || set->count < *count) *count = set->count;
    return cudaSuccess;
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count)
{
    if (!hostgpu_is_graph(graph)) return hostgpu_record(cudaErrorInvalidValue);
    return give_nodes(&graph->nodes, nodes, count);
}

cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *needs,
                                         cudaGraphEdgeData *data, size_t *count)
{
    if (!node || !count) return hostgpu_record(cudaErrorInvalidValue);
    if (data) memset(data, 0, *count * sizeof *data);
    return give_nodes(&node->needs, needs, count);
}

cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
                              cudaGraphEdgeData *data, size_t *count)
{
    size_t edges = 0;

    if (!hostgpu_is_graph(graph) || !count || !from != !to)
        return hostgpu_record(cudaErrorInvalidValue);
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const hostgpu_nodes *needs = &graph->nodes.node[i]->needs;

        for (size_t n = 0; n < needs->count; n++, edges++) {
            if (!from || edges >= *count) continue;
            from[edges] = needs->node[n];
            to[edges] = graph->nodes.node[i];
            if (data) memset(&data[edges], 0, sizeof data[edges]);
        }
    }
    if (!from || edges < *count) *count = edges;
    return cudaSuccess;
}

/* NOLINTEND(misc-no-recursion) */
