/* graph.h - what graphs are made of, shared by graph.c, graph_exec.c and graph_memory.c. */
#ifndef HOSTGPU_GRAPH_H
#define HOSTGPU_GRAPH_H

#include "cudart_internal.h"

struct hostgpu_work {
    atomic_int users;
    enum cudaGraphNodeType type;
    hostgpu_action *run; /* NULL: nothing */
    void (*release)(void *arguments);
    atomic_bool is_claimed; /* memory and conditions: by an executable */
    _Alignas(64) unsigned char arguments[];
};

/* Objects of the program's that a graph holds. */
typedef struct hostgpu_objects {
    cudaUserObject_t object;
    unsigned count; /* references */
    struct hostgpu_objects *next;
} hostgpu_objects;

/* graph_memory.c: adds a reference of its own to each; gives all back, and has the program destroy
 * those that are the last. */
bool hostgpu_objects_copy(hostgpu_objects **target, const hostgpu_objects *source);
void hostgpu_objects_release(hostgpu_objects **objects);

struct CUgraph_st {
    unsigned mark;
    hostgpu_nodes nodes; /* in the order in which they were added */
    hostgpu_objects *objects;
    hostgpu_work *condition; /* whose handle has no node yet; or NULL */
};

struct CUgraphNode_st {
    cudaGraph_t graph;
    hostgpu_work *work;   /* or ... */
    cudaGraph_t child[2]; /* a graph of its own; of a conditional node, which has both, the bodies
                           * where its condition holds and, or NULL, where it does not */
    hostgpu_nodes needs;
    cudaGraphNode_t copy; /* while its graph is being copied */
    enum { NOT_VISITED, BEING_VISITED, VISITED } visit;
};

/* What a conditional node asks. A handle is the address. */
typedef struct {
    unsigned value, at_launch;
    bool begins_anew; /* each launch begins with at_launch */
} hostgpu_condition;

/* graph.c: nodes, work shared, and the graph's objects retained; NULL without memory. */
cudaGraph_t hostgpu_graph_copy(cudaGraph_t graph);
void hostgpu_graph_destroy(cudaGraph_t graph);

/* Before nodes are visited, of this graph alone. */
void hostgpu_graph_clear_visits(cudaGraph_t graph);

/* Nodes that allocate, free or ask a condition: their graph has one executable at a time, no clone,
 * and is nobody's child. */
bool hostgpu_is_single(const hostgpu_work *work);

/* Work, and how many steps behind it are its bodies: of a condition that holds, then of one that
 * does not. */
typedef struct {
    hostgpu_work *work;
    size_t body[2];
} hostgpu_step;

struct CUgraphExec_st {
    unsigned mark;
    hostgpu_life life;
    unsigned long long flags;
    /* nodes are in any order that is allowed; else that in which they were added */
    bool is_shuffled;
    uint64_t random;   /* state of that */
    cudaGraph_t graph; /* a copy, whose work the steps are */
    hostgpu_step *step;
    size_t steps;
};

#endif
