/* check_graph.c - graphs as objects: clones, children, memory that they allocate, and what they
 * hold. Also run with HOSTGPU_SEED. */
#include "captures.h"

TEST(test_clones_and_children)
{
    cudaGraph_t graph, clone = NULL, parent = NULL;
    cudaGraphNode_t first = NULL, second = NULL;
    cudaGraphExec_t one = NULL, two = NULL;

    begin(cudaStreamCaptureModeGlobal);
    expect_success(launch_update(2, 1, 1, x, stream));
    expect_success(launch_update(3, 0, 1, x, stream));
    graph = end();
    expect_success(cudaGraphClone(&clone, graph));
    expect_success(cudaGraphCreate(&parent, 0));
    expect_success(cudaGraphAddChildGraphNode(&first, parent, NULL, 0, graph));
    expect_success(cudaGraphAddChildGraphNode(&second, parent, &first, 1, clone));
    assert_int_equal(node_count(clone), 2);
    expect_success(cudaGraphInstantiate(&one, graph, 0));
    expect_success(cudaGraphInstantiate(&two, graph, 0));
    expect_success(cudaGraphDestroy(graph));

    x[0] = 0;
    expect_success(cudaGraphLaunch(one, stream));
    assert_true(x[0] == 3);
    expect_success(cudaGraphLaunch(two, stream));
    assert_true(x[0] == 21);
    run(clone, 1);
    assert_true(x[0] == 129);
    x[0] = 0;
    run(parent, 1);
    assert_true(x[0] == 21);
    expect_success(cudaGraphExecDestroy(one));
    expect_success(cudaGraphExecDestroy(two));
}

TEST(test_circles_are_refused)
{
    cudaGraph_t graph = NULL;
    cudaGraphNode_t a = NULL, b = NULL;
    cudaGraphExec_t executable = NULL;

    expect_success(cudaGraphCreate(&graph, 0));
    expect_success(cudaGraphAddEmptyNode(&a, graph, NULL, 0));
    expect_success(cudaGraphAddEmptyNode(&b, graph, &a, 1));
    expect_success(cudaGraphAddDependencies(graph, &b, &a, NULL, 1));
    expect_error(cudaGraphInstantiate(&executable, graph, 0), cudaErrorInvalidValue);
    expect_success(cudaGraphDestroy(graph));
}

/* ---- conditions ---- */

static cudaGraphNode_t only_node(cudaGraph_t graph)
{
    cudaGraphNode_t node = NULL;
    size_t count = 1;

    expect_success(cudaGraphGetNodes(graph, &node, &count));
    assert_int_equal(count, 1);
    return node;
}

/* A condition, and what of another stream is done where it holds. */
static cudaGraphNode_t add_condition(cudaGraph_t graph, cudaGraphConditionalHandle handle,
                                     const cudaGraphNode_t *needs, size_t count, cudaGraph_t *body)
{
    struct cudaGraphNodeParams asked = {.type = cudaGraphNodeTypeConditional};
    cudaGraphNode_t node = NULL;

    asked.conditional.handle = handle;
    asked.conditional.type = cudaGraphCondTypeIf;
    asked.conditional.size = 1;
    expect_success(cudaGraphAddNode(&node, graph, needs, NULL, count, &asked));
    *body = asked.conditional.phGraph_out[0];
    return node;
}

/* What follows in the stream, up to end_in(), becomes nodes of a graph, behind `after`, if that is
 * not NULL. */
static void begin_in(cudaGraph_t graph, const cudaGraphNode_t *after)
{
    expect_success(cudaStreamBeginCaptureToGraph(stream, graph, after, NULL, after ? 1 : 0,
                                                 cudaStreamCaptureModeThreadLocal));
}

static void end_in(void)
{
    cudaGraph_t ended = NULL;
    expect_success(cudaStreamEndCapture(stream, &ended));
}

/* If *x is positive, y[0] <- factor y[0] + 1, then x[1] <- x[1] + 1. */
static cudaGraph_t conditional_graph(double factor)
{
    cudaGraphConditionalHandle handle = 0;
    cudaGraph_t graph = NULL, body = NULL;

    expect_success(load_condition());
    expect_success(cudaGraphCreate(&graph, 0));
    expect_success(cudaGraphConditionalHandleCreate(&handle, graph, 0, 0));
    begin_in(graph, NULL);
    expect_success(launch_condition(handle, x, stream));
    end_in();
    cudaGraphNode_t node = only_node(graph);
    node = add_condition(graph, handle, &node, 1, &body);
    begin_in(body, NULL);
    expect_success(launch_update(factor, 1, 1, y, stream));
    expect_success(launch_update(1, 1, 1, x + 1, stream));
    end_in();
    begin_in(graph, &node);
    expect_success(launch_update(1, 1, 1, x + 2, stream));
    end_in();
    return graph;
}

static void expect_values(double y0, double x1, double x2)
{
    assert_true(y[0] == y0);
    assert_true(x[1] == x1);
    assert_true(x[2] == x2);
}

TEST(test_a_condition)
{
    cudaGraph_t graph = conditional_graph(2), other = conditional_graph(3), clone = NULL;
    cudaGraphExec_t executable = NULL, second = NULL;
    cudaGraphExecUpdateResultInfo info;
    enum cudaGraphNodeType type;
    cudaGraphNode_t nodes[3];
    size_t count = 3;

    y[0] = 5;
    expect_success(cudaGraphGetNodes(graph, nodes, &count));
    assert_int_equal(count, 3);
    expect_success(cudaGraphNodeGetType(nodes[1], &type));
    assert_int_equal(type, cudaGraphNodeTypeConditional);
    expect_error(cudaGraphClone(&clone, graph), cudaErrorNotSupported);
    expect_success(cudaGraphInstantiate(&executable, graph, 0));
    expect_error(cudaGraphInstantiate(&second, graph, 0), cudaErrorNotSupported);
    expect_success(cudaGraphDestroy(graph));
    expect_success(cudaGraphLaunch(executable, stream));
    expect_values(5, 0, 1);
    x[0] = 1;
    expect_success(cudaGraphLaunch(executable, stream));
    expect_values(11, 1, 2);
    expect_success(cudaGraphExecUpdate(executable, other, &info));
    expect_success(cudaGraphDestroy(other));
    expect_success(cudaGraphLaunch(executable, stream));
    expect_values(34, 2, 3);
    x[0] = 0;
    expect_success(cudaGraphLaunch(executable, stream));
    expect_values(34, 2, 4);

    begin(cudaStreamCaptureModeGlobal);
    other = end();
    expect_error(cudaGraphExecUpdate(executable, other, &info), cudaErrorGraphExecUpdateFailure);
    assert_int_equal(info.result, cudaGraphExecUpdateErrorTopologyChanged);
    expect_success(cudaGraphDestroy(other));
    expect_success(cudaGraphExecDestroy(executable));
}

/* y[0] <- y[0] + 1 if *x is positive, else x[1] <- x[1] + 1; then x[2] <- x[2] + 1. */
static cudaGraph_t two_bodies(void)
{
    struct cudaGraphNodeParams asked = {.type = cudaGraphNodeTypeConditional};
    cudaGraph_t graph = NULL;

    expect_success(load_condition());
    expect_success(cudaGraphCreate(&graph, 0));
    expect_success(cudaGraphConditionalHandleCreate(&asked.conditional.handle, graph, 0, 0));
    begin_in(graph, NULL);
    expect_success(launch_condition(asked.conditional.handle, x, stream));
    end_in();
    cudaGraphNode_t node = only_node(graph);
    asked.conditional.type = cudaGraphCondTypeIf;
    asked.conditional.size = 2;
    expect_success(cudaGraphAddNode(&node, graph, &node, NULL, 1, &asked));
    for (int i = 0; i < 2; i++) {
        begin_in(asked.conditional.phGraph_out[i], NULL);
        expect_success(launch_update(1, 1, 1, i == 0 ? y : x + 1, stream));
        end_in();
    }
    begin_in(graph, &node);
    expect_success(launch_update(1, 1, 1, x + 2, stream));
    end_in();
    return graph;
}

TEST(test_a_condition_of_two_bodies)
{
    cudaGraph_t graph = two_bodies();
    cudaGraphExec_t executable = NULL;

    y[0] = 5;
    expect_success(cudaGraphInstantiate(&executable, graph, 0));
    expect_success(cudaGraphDestroy(graph));
    expect_success(cudaGraphLaunch(executable, stream));
    expect_values(5, 1, 1);
    x[0] = 1;
    expect_success(cudaGraphLaunch(executable, stream));
    expect_values(6, 1, 2);
    expect_success(cudaGraphExecDestroy(executable));
}

/* One that no kernel sets has its default at each launch. */
TEST(test_a_condition_by_default)
{
    cudaGraphConditionalHandle handle = 0, second = 0;
    cudaGraph_t graph = NULL, body = NULL, ended = NULL;

    expect_success(cudaGraphCreate(&graph, 0));
    expect_success(cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault));
    expect_error(cudaGraphConditionalHandleCreate(&second, graph, 1, 0), cudaErrorNotSupported);
    (void)add_condition(graph, handle, NULL, 0, &body);
    expect_success(cudaStreamBeginCaptureToGraph(stream, body, NULL, NULL, 0,
                                                 cudaStreamCaptureModeThreadLocal));
    expect_success(launch_condition(handle, x, stream)); /* to 0: for this launch alone */
    expect_success(launch_update(1, 1, 1, y, stream));
    expect_success(cudaStreamEndCapture(stream, &ended));
    run(graph, 3);
    assert_true(y[0] == 3);
}

/* ---- memory and objects of graphs ---- */

/* What one capture allocates and frees. */
static cudaGraph_t capture_memory(void)
{
    double *memory = NULL;
    struct cudaPointerAttributes attributes;

    begin(cudaStreamCaptureModeGlobal);
    expect_success(cudaMallocAsync((void **)&memory, 8, stream));
    expect_success(cudaPointerGetAttributes(&attributes, memory));
    assert_int_equal(attributes.type, cudaMemoryTypeDevice);
    expect_success(cudaMemsetAsync(memory, 0, 8, stream)); /* NaN, without this */
    expect_success(launch_update(0, 6, 1, memory, stream));
    expect_success(cudaMemcpyAsync(x, memory, 8, cudaMemcpyDeviceToDevice, stream));
    expect_success(cudaFreeAsync(memory, stream));
    return end();
}

TEST(test_memory_of_a_graph)
{
    cudaGraph_t graph = capture_memory(), clone = NULL, parent = NULL;
    cudaGraphExec_t executable = NULL, second = NULL;
    cudaGraphNode_t node = NULL;
    enum cudaGraphNodeType type;
    size_t count = 1, before, after, total;

    expect_success(cudaGraphGetNodes(graph, &node, &count));
    expect_success(cudaGraphNodeGetType(node, &type));
    assert_int_equal(type, cudaGraphNodeTypeMemAlloc);
    expect_error(cudaGraphClone(&clone, graph), cudaErrorNotSupported);
    expect_success(cudaGraphCreate(&parent, 0));
    expect_error(cudaGraphAddChildGraphNode(&node, parent, NULL, 0, graph), cudaErrorNotSupported);
    expect_success(cudaGraphDestroy(parent));

    expect_success(cudaGraphInstantiate(&executable, graph, 0));
    expect_error(cudaGraphInstantiate(&second, graph, 0), cudaErrorNotSupported);
    for (int i = 0; i < 2; i++) {
        x[0] = 0;
        expect_success(cudaGraphLaunch(executable, stream));
        assert_true(x[0] == 6);
    }
    expect_success(cudaGraphExecDestroy(executable));
    expect_success(cudaGraphInstantiate(&second, graph, 0)); /* now that it is the only one */
    expect_success(cudaGraphExecDestroy(second));
    expect_success(cudaMemGetInfo(&before, &total));
    expect_success(cudaGraphDestroy(graph));
    expect_success(cudaMemGetInfo(&after, &total));
    assert_int_equal(after, before + 8);
}

TEST(test_only_its_own_memory)
{
    void *memory = NULL;

    expect_success(cudaMallocAsync(&memory, 8, stream));
    begin(cudaStreamCaptureModeGlobal);
    expect_error(cudaFreeAsync(memory, stream), cudaErrorInvalidValue);
    run(end(), 1);
    expect_success(cudaFreeAsync(memory, stream));
}

/* An object lives as long as any graph or executable that came of the one it was given to. */
TEST(test_user_objects)
{
    int destroyed = 0;
    cudaUserObject_t object = NULL;
    cudaGraph_t graph, clone = NULL, parent = NULL;
    cudaGraphExec_t executable = NULL;
    cudaGraphNode_t node = NULL;

    expect_success(
        cudaUserObjectCreate(&object, &destroyed, add_one, 1, cudaUserObjectNoDestructorSync));
    begin(cudaStreamCaptureModeGlobal);
    graph = end();
    expect_success(cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove));
    expect_success(cudaGraphClone(&clone, graph));
    expect_success(cudaGraphInstantiate(&executable, graph, 0));
    expect_success(cudaGraphCreate(&parent, 0));
    expect_success(cudaGraphAddChildGraphNode(&node, parent, NULL, 0, graph));
    expect_success(cudaGraphDestroy(graph));
    expect_success(cudaGraphDestroy(parent));
    expect_success(cudaGraphExecDestroy(executable));
    assert_int_equal(destroyed, 0);
    expect_success(cudaGraphDestroy(clone));
    assert_int_equal(destroyed, 1);

    expect_success(
        cudaUserObjectCreate(&object, &destroyed, add_one, 1, cudaUserObjectNoDestructorSync));
    expect_success(cudaGraphCreate(&graph, 0));
    expect_success(cudaGraphRetainUserObject(graph, object, 2, 0));
    expect_success(cudaUserObjectRelease(object, 1));
    expect_success(cudaGraphReleaseUserObject(graph, object, 1));
    expect_error(cudaGraphReleaseUserObject(graph, object, 2), cudaErrorInvalidValue);
    assert_int_equal(destroyed, 1);
    expect_success(cudaGraphReleaseUserObject(graph, object, 1));
    assert_int_equal(destroyed, 2);
    expect_success(cudaGraphDestroy(graph));
}

TEST(test_an_executable_ends_with_its_context)
{
    cudaGraphExec_t executable = NULL;

    begin(cudaStreamCaptureModeGlobal);
    cudaGraph_t graph = end();
    expect_success(cudaGraphInstantiate(&executable, graph, 0));
    expect_success(cudaDeviceReset());
    assert_int_equal(set_up(NULL), 0);
    expect_error(cudaGraphLaunch(executable, stream), cudaErrorInvalidResourceHandle);
    expect_success(cudaGraphExecDestroy(executable));
    run(graph, 1); /* a graph does not */
}

int main(void) { return test_run(.before = set_up, .after = tear_down); }
