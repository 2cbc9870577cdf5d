/* check_graphs.c - captured products in graphs that are cloned, put into others, instantiated
 * twice, captured again for the same executable and run with other operands; several in one graph,
 * one after the other and side by side; workspaces that are lent. The bits are those of the same
 * product outside of a graph. On the host device also with HOSTGPU_SEED, which mixes what need not
 * be in order. */
#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

#include "include/tandem.h"
#include "lib/engines/engine.h"
#include "lib/cuda/workspace.h"
#include "tests/kernels/support/checked.h"
#include "tests/kernels/support/device.h"
#include "tests/kernels/support/modes.h"
#include "tests/kernels/support/problem.h"

/* The mode that the tests are running for. */
static const mode *tested;

/* Two sets of operands, C among them, for the same memory. */
enum { SETS = 2 };
typedef struct {
    problem p[SETS];
    test_matrix want[SETS];
    double *to[3];
} operands;

static void fill(const operands *o, int set, cudaStream_t stream)
{
    const test_matrix *const from[] = {&o->p[set].a, &o->p[set].b, &o->p[set].c};
    for (int i = 0; i < 3; i++)
        CHECK_CUDA(cudaMemcpyAsync(o->to[i], from[i]->storage, from[i]->count * sizeof(double),
                                   cudaMemcpyHostToDevice, stream));
}

static void multiply(const operands *o, cudaStream_t stream)
{
    const problem *p = &o->p[0];
    const tandem_status status =
        tandem_dgemm(tested->name, p->of.op_a, p->of.op_b, p->of.m, p->of.n, p->of.k, p->of.alpha,
                     device_data(&p->a, o->to[0]), p->a.ld, device_data(&p->b, o->to[1]), p->b.ld,
                     p->of.beta, device_data(&p->c, o->to[2]), p->c.ld, stream);
    CHECK(status == TANDEM_OK, "%s: %s", tested->name, tandem_last_message());
}

/* Of another shape and other numbers for each. */
static operands make(int which)
{
    operands o;
    for (int set = 0; set < SETS; set++) {
        const product of = {.data = "both signs",
                            .op_a = TANDEM_OP_T,
                            .m = 66 + 20 * which,
                            .n = 34,
                            .k = 130 + which,
                            .guard = 1,
                            .alpha = 1.5,
                            .beta = -0.5,
                            .seed = (uint64_t)(10 * which + set)};
        o.p[set] = problem_make(&of);
        o.want[set] = matrix_copy(&o.p[set].c);
    }
    o.to[0] = device_upload(&o.p[0].a);
    o.to[1] = device_upload(&o.p[0].b);
    o.to[2] = device_upload(&o.p[0].c);
    for (int set = 0; set < SETS; set++) {
        fill(&o, set, NULL);
        multiply(&o, NULL);
        device_download(&o.want[set], o.to[2]);
    }
    return o;
}

static void release(operands *o)
{
    for (int set = 0; set < SETS; set++) {
        problem_free(&o->p[set]);
        matrix_free(&o->want[set]);
    }
    for (int i = 0; i < 3; i++) device_free(o->to[i]);
}

static void check_result(const operands *o, int set, const char *what)
{
    test_matrix got = matrix_copy(&o->p[set].c);
    device_download(&got, o->to[2]);
    CHECK(matrix_difference(&got, &o->want[set]) == -1, "%s, %s, operands %d: other bits",
          tested->name, what, set);
    CHECK(matrix_damage(&got) == -1, "%s, %s: written outside C", tested->name, what);
    matrix_free(&got);
}

/* ---- graphs ---- */

static cudaStream_t stream, other;

static int set_up(void **unused)
{
    (void)unused;
    CHECK_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK_CUDA(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    return 0;
}

static int tear_down(void **unused)
{
    (void)unused;
    CHECK_CUDA(cudaStreamDestroy(stream));
    CHECK_CUDA(cudaStreamDestroy(other));
    device_check_clean("graphs");
    return 0;
}

static void begin(void) { CHECK_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal)); }

static cudaGraph_t end(void)
{
    cudaGraph_t graph = NULL;
    CHECK_CUDA(cudaStreamEndCapture(stream, &graph));
    return graph;
}

static cudaGraph_t capture(const operands *o)
{
    begin();
    multiply(o, stream);
    return end();
}

static cudaGraphExec_t instantiate(cudaGraph_t graph)
{
    cudaGraphExec_t executable = NULL;
    CHECK_CUDA(cudaGraphInstantiate(&executable, graph, 0));
    return executable;
}

static void check_nodes(cudaGraph_t graph)
{
    size_t count = 0;
    CHECK_CUDA(cudaGraphGetNodes(graph, NULL, &count));
    cudaGraphNode_t *nodes = calloc(count + 1, sizeof *nodes);
    CHECK(nodes && count > 0, "%zu nodes", count);
    CHECK_CUDA(cudaGraphGetNodes(graph, nodes, &count));
    for (size_t i = 0; i < count; i++) {
        enum cudaGraphNodeType type;
        CHECK_CUDA(cudaGraphNodeGetType(nodes[i], &type));
        CHECK(type != cudaGraphNodeTypeMemAlloc && type != cudaGraphNodeTypeMemFree,
              "%s: node %zu of %zu is of memory", tested->name, i, count);
    }
    free(nodes);
}

/* Runs the executable with both sets, and destroys it. */
static void check_executable(cudaGraphExec_t executable, const operands *o, const char *what)
{
    for (int i = 0; i < 2 * SETS; i++) {
        fill(o, i % SETS, stream);
        CHECK_CUDA(cudaGraphLaunch(executable, stream));
        check_result(o, i % SETS, what);
    }
    CHECK_CUDA(cudaGraphExecDestroy(executable));
}

/* Graphs go before what came of them: nothing may hang on the first. */
TEST(graphs_can_be_copied)
{
    operands o = make(1);
    cudaGraph_t clone = NULL, parent = NULL;
    cudaGraphNode_t node = NULL;
    cudaGraph_t graph = capture(&o);
    check_nodes(graph);
    CHECK_CUDA(cudaGraphClone(&clone, graph));
    CHECK_CUDA(cudaGraphCreate(&parent, 0));
    CHECK_CUDA(cudaGraphAddChildGraphNode(&node, parent, NULL, 0, graph));
    cudaGraphExec_t first = instantiate(graph), second = instantiate(graph);
    CHECK_CUDA(cudaGraphDestroy(graph));
    check_executable(first, &o, "instantiated");
    check_executable(second, &o, "instantiated again");
    cudaGraphExec_t of_clone = instantiate(clone), of_parent = instantiate(parent);
    CHECK_CUDA(cudaGraphDestroy(clone));
    CHECK_CUDA(cudaGraphDestroy(parent));
    multiply(&o, NULL); /* which may use what nobody has any more */
    CHECK_CUDA(cudaDeviceSynchronize());
    check_executable(of_clone, &o, "a clone");
    check_executable(of_parent, &o, "a child");
    release(&o);
}

static void update(cudaGraphExec_t executable, cudaGraph_t graph)
{
    cudaGraphExecUpdateResultInfo info = {0};
    const cudaError_t error = cudaGraphExecUpdate(executable, graph, &info);
    CHECK(error == cudaSuccess, "%s: %s, result %d", tested->name, cudaGetErrorString(error),
          (int)info.result);
}

/* As programs do whose operands move at each step. What a graph's memory is goes with the last
 * executable that it was put into, not with the graph. */
TEST(executables_take_what_is_captured_again)
{
    operands o[2] = {make(1), make(1)};
    cudaGraph_t graph = capture(&o[0]);
    cudaGraphExec_t executable = instantiate(graph);
    CHECK_CUDA(cudaGraphDestroy(graph));
    for (int round = 0; round < 6; round++) {
        const operands *now = &o[round % 2], *aside = &o[(round + 1) % 2];
        graph = capture(now);
        update(executable, graph);
        CHECK_CUDA(cudaGraphDestroy(graph));
        multiply(aside, other); /* which may use what nobody has any more */
        CHECK_CUDA(cudaStreamSynchronize(other));
        fill(now, round % SETS, stream);
        CHECK_CUDA(cudaGraphLaunch(executable, stream));
        multiply(aside, other);
        check_result(now, round % SETS, "captured again");
        CHECK_CUDA(cudaDeviceSynchronize());
    }
    CHECK_CUDA(cudaGraphExecDestroy(executable));
    for (int i = 0; i < 2; i++) release(&o[i]);
}

/* ---- several products ---- */

enum { PRODUCTS = 4 };

static void check_together(cudaGraph_t graph, const operands o[PRODUCTS], const char *what)
{
    cudaGraphExec_t executable = instantiate(graph);
    check_nodes(graph);
    CHECK_CUDA(cudaGraphDestroy(graph));
    for (int i = 0; i < 2 * SETS; i++) {
        for (int n = 0; n < PRODUCTS; n++) fill(&o[n], i % SETS, stream);
        CHECK_CUDA(cudaGraphLaunch(executable, stream));
        for (int n = 0; n < PRODUCTS; n++) check_result(&o[n], i % SETS, what);
    }
    CHECK_CUDA(cudaGraphExecDestroy(executable));
}

/* The first before all others; of these the second in one stream, the rest in another. */
static cudaGraph_t capture_side_by_side(const operands o[PRODUCTS])
{
    cudaEvent_t fork, join;
    CHECK_CUDA(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
    CHECK_CUDA(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
    begin();
    multiply(&o[0], stream);
    CHECK_CUDA(cudaEventRecord(fork, stream));
    CHECK_CUDA(cudaStreamWaitEvent(other, fork, 0));
    multiply(&o[1], stream);
    for (int i = 2; i < PRODUCTS; i++) multiply(&o[i], other);
    CHECK_CUDA(cudaEventRecord(join, other));
    CHECK_CUDA(cudaStreamWaitEvent(stream, join, 0));
    cudaGraph_t graph = end();
    CHECK_CUDA(cudaEventDestroy(fork));
    CHECK_CUDA(cudaEventDestroy(join));
    return graph;
}

/* In one stream, but not in order: each begins where the capture began. */
static cudaGraph_t capture_independently(const operands o[PRODUCTS])
{
    cudaGraphNode_t last[PRODUCTS];
    begin();
    for (int i = 0; i < PRODUCTS; i++) {
        enum cudaStreamCaptureStatus status;
        const cudaGraphNode_t *ends;
        const cudaGraphEdgeData *edges;
        size_t count = 0;
        CHECK_CUDA(cudaStreamUpdateCaptureDependencies(stream, NULL, NULL, 0,
                                                       cudaStreamSetCaptureDependencies));
        multiply(&o[i], stream);
        CHECK_CUDA(cudaStreamGetCaptureInfo(stream, &status, NULL, NULL, &ends, &edges, &count));
        CHECK(count == 1, "%zu last nodes", count);
        last[i] = ends[0];
    }
    CHECK_CUDA(cudaStreamUpdateCaptureDependencies(stream, last, NULL, PRODUCTS,
                                                   cudaStreamSetCaptureDependencies));
    return end();
}

static cudaGraph_t capture_in_order(operands *o)
{
    begin();
    for (int i = 0; i < PRODUCTS; i++) multiply(&o[i], stream);
    return end();
}

TEST(graphs_hold_several_products)
{
    operands o[PRODUCTS];
    for (int i = 0; i < PRODUCTS; i++) o[i] = make(i);
    if (mode_has_turn(tested, 0, 3)) check_together(capture_in_order(o), o, "in order");
    if (mode_has_turn(tested, 1, 3)) check_together(capture_side_by_side(o), o, "side by side");
    if (mode_has_turn(tested, 2, 3)) check_together(capture_independently(o), o, "independent");
    for (int i = 0; i < PRODUCTS; i++) release(&o[i]);
}

/* Two graphs at a time in two streams. */
TEST(graphs_run_side_by_side)
{
    operands o[2] = {make(0), make(1)};
    cudaGraphExec_t executables[2];
    cudaStream_t streams[2] = {stream, other};
    for (int i = 0; i < 2; i++) {
        cudaGraph_t graph = capture(&o[i]);
        executables[i] = instantiate(graph);
        CHECK_CUDA(cudaGraphDestroy(graph));
    }
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < 2; i++) {
            fill(&o[i], round % SETS, streams[i]);
            CHECK_CUDA(cudaGraphLaunch(executables[i], streams[i]));
        }
        for (int i = 0; i < 2; i++) check_result(&o[i], round % SETS, "two graphs at a time");
    }
    for (int i = 0; i < 2; i++) {
        CHECK_CUDA(cudaGraphExecDestroy(executables[i]));
        release(&o[i]);
    }
}

/* ---- memory ---- */

static size_t free_bytes(void)
{
    size_t available = 0, total = 0;
    CHECK_CUDA(cudaDeviceSynchronize());
    CHECK_CUDA(cudaMemGetInfo(&available, &total));
    return available;
}

TEST(memory_comes_back)
{
    enum { SLACK = 256 << 20 };
    const int rounds = test_takes_everything() ? 8 : 3;
    operands o = make(2);
    size_t before = 0;
    for (int i = 0; i < rounds; i++) {
        cudaGraph_t graph = capture(&o);
        check_executable(instantiate(graph), &o, "in many rounds");
        CHECK_CUDA(cudaGraphDestroy(graph));
        if (i == 0) before = free_bytes();
    }
    const size_t after = free_bytes();
    CHECK(after + SLACK >= before, "%s: %zu bytes less", tested->name, before - after);
    release(&o);
}

enum { LENT_BYTES = 40 << 20, UNUSED = 0xa5 };

static bool is_unused(const unsigned char *lent)
{
    static unsigned char copy[LENT_BYTES];
    bool unused = true;
    CHECK_CUDA(cudaMemcpy(copy, lent, sizeof copy, cudaMemcpyDeviceToHost));
    for (int i = 0; i < LENT_BYTES; i++) unused &= copy[i] == UNUSED;
    return unused;
}

/* The product with so many bytes lent to it; true if they were used. */
static bool uses_lent(const operands *o, void *lent, size_t bytes)
{
    td_parameter parameter;
    const problem *p = &o->p[0];
    const td_engine *engine = td_engine_parse(tested->name, &parameter);
    td_device *device = td_device_current();
    td_product of = checked_lowered(p, o->to[0], o->to[1], o->to[2]);
    of.stream = stream;
    of.lent = (td_loan){lent, bytes};
    CHECK_CUDA(cudaMemset(lent, UNUSED, LENT_BYTES));
    CHECK_CUDA(cudaDeviceSynchronize());
    begin();
    const td_run_status status =
        td_engine_run(engine, &of, parameter, device, device->workspace_bytes, NULL);
    cudaGraph_t graph = end();
    CHECK(status == TD_RUN_DONE, "%s: status %d", tested->name, (int)status);
    check_nodes(graph);
    check_executable(instantiate(graph), o, "with a workspace lent");
    CHECK_CUDA(cudaGraphDestroy(graph));
    return !is_unused(lent);
}

TEST(lent_workspaces_are_used)
{
    operands o = make(1);
    unsigned char *lent = NULL;
    CHECK_CUDA(cudaMalloc((void **)&lent, LENT_BYTES + 8));
    CHECK(uses_lent(&o, lent, LENT_BYTES) != tested->is_binary64, "%s did without", tested->name);
    CHECK(uses_lent(&o, lent + 8, LENT_BYTES) != tested->is_binary64, "%s: not aligned",
          tested->name);
    CHECK(!uses_lent(&o, lent, 1000), "%s used memory beyond the end", tested->name);
    device_free(lent);
    release(&o);
}

/* The host device, where memory is counted to the byte, if HOSTGPU_MEMORY leaves it so little that
 * all can be taken. */
static bool is_small_host_device(const struct cudaDeviceProp *properties)
{
    enum { MOST_BYTES = 1 << 30 };
    return strstr(properties->name, "host device") && properties->totalGlobalMem <= MOST_BYTES;
}

/* A td_planner of a product that would like to have MANY_BYTES, and can do with FEW_BYTES; it notes
 * what it was planned to have last. */
enum { MANY_BYTES = 4 << 20, FEW_BYTES = 1 << 20 };
static size_t plan_parts(void *planned, size_t limit)
{
    size_t *const bytes = planned;
    *bytes = limit >= MANY_BYTES ? MANY_BYTES : limit >= FEW_BYTES ? FEW_BYTES : 0;
    return *bytes;
}

/* Acquires memory for such a product in a capture to which so much is lent; true if that is what it
 * got, with `want` bytes planned either way. */
static bool acquires_lent(void *lent, size_t bytes, size_t want)
{
    td_device *const device = td_device_current();
    const td_loan loan = {lent, bytes};
    td_workspace workspace;
    size_t planned = 0;
    begin();
    const td_run_status status = td_workspace_acquire(
        &workspace, device, stream, &loan, device->workspace_bytes, plan_parts, &planned);
    CHECK(status == TD_RUN_DONE, "status %d with %d bytes lent", (int)status, (int)bytes);
    CHECK(planned == want, "%d bytes planned with %d lent", (int)planned, (int)bytes);
    CHECK(workspace.is_lent == (workspace.memory == lent), "lent, or not");
    td_workspace_release(&workspace, stream);
    CHECK_CUDA(cudaGraphDestroy(end()));
    return workspace.is_lent;
}

/* Blocks of graphs that are gone serve others until a product is made outside of a capture. */
static void give_blocks_back(void)
{
    td_workspace workspace;
    CHECK(td_workspace_acquire_all(&workspace, td_device_current(), NULL, 256) == TD_RUN_DONE,
          "no memory");
    td_workspace_release(&workspace, NULL);
    CHECK_CUDA(cudaDeviceSynchronize());
}

/* What is lent serves where the product has as many parts in it as elsewhere, or if there is
 * nothing else. */
TEST(lent_workspaces_cost_no_parts)
{
    struct cudaDeviceProp properties;
    void *lent = NULL, *all = NULL;
    CHECK_CUDA(cudaMalloc(&lent, MANY_BYTES));
    CHECK(acquires_lent(lent, MANY_BYTES, MANY_BYTES), "all that is wanted is lent");
    CHECK(!acquires_lent(lent, MANY_BYTES - 256, MANY_BYTES), "too little was taken");
    CHECK_CUDA(cudaGetDeviceProperties(&properties, 0));
    if (is_small_host_device(&properties)) {
        give_blocks_back();
        CHECK_CUDA(cudaMalloc(&all, free_bytes() - 1000));
        CHECK(acquires_lent(lent, FEW_BYTES, FEW_BYTES), "there is nothing else");
        device_free(all);
    }
    device_free(lent);
}

TEST(without_memory_nothing_is_captured)
{
    struct cudaDeviceProp properties;
    operands o = make(1);
    void *all = NULL;
    CHECK_CUDA(cudaGetDeviceProperties(&properties, 0));
    if (is_small_host_device(&properties)) {
        const problem *p = &o.p[0];
        CHECK_CUDA(cudaMalloc(&all, free_bytes() - 1000));
        begin();
        const tandem_status status = tandem_dgemm(
            tested->name, p->of.op_a, p->of.op_b, p->of.m, p->of.n, p->of.k, p->of.alpha,
            device_data(&p->a, o.to[0]), p->a.ld, device_data(&p->b, o.to[1]), p->b.ld, p->of.beta,
            device_data(&p->c, o.to[2]), p->c.ld, stream);
        CHECK_CUDA(cudaGraphDestroy(end())); /* the capture goes on */
        CHECK(status == (tested->is_binary64 ? TANDEM_OK : TANDEM_NO_MEMORY), "status %d",
              (int)status);
        CHECK(tested->is_binary64 || strstr(tandem_last_message(), "captured"), "%s",
              tandem_last_message());
        device_free(all);
    }
    cudaGraph_t graph = capture(&o);
    check_executable(instantiate(graph), &o, "after a refusal");
    CHECK_CUDA(cudaGraphDestroy(graph));
    release(&o);
}

/* Where everything is slow, one of each family: what is tested is the memory, which engines of a
 * family share. */
static bool is_left_out(const mode *m)
{
    return m->is_variant || (test_is_brief() && !mode_stands_for_others(m));
}

int main(void)
{
    device_require();
    int failed = 0;
    while ((tested = mode_after(tested)))
        if (!is_left_out(tested))
            failed += test_run(.name = tested->name, .before = set_up, .after = tear_down);
    return failed;
}
