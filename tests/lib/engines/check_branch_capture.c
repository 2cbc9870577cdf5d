/* check_branch_capture.c - conditions in graphs that the program captures and allows to have them:
 * each launch goes by the numbers that there are then, to cuBLAS's own product or to the mode's. */
#include "tests/support/test.h"

#include "branch_case.h"
#include "lib/engines/ozaki/branch.h"
#include "tests/kernels/support/device.h"

/* Captures calls one after the other, in each mode of capturing in turn, in a stream of their own,
 * which is to be destroyed with the executable. */
typedef struct {
    cudaStream_t stream;
    cudaGraphExec_t executable;
} captured;

static captured capture(placed *const *of, int count, td_prices prices, size_t limit,
                        td_counters *counters)
{
    static const enum cudaStreamCaptureMode modes[] = {cudaStreamCaptureModeGlobal,
                                                       cudaStreamCaptureModeThreadLocal,
                                                       cudaStreamCaptureModeRelaxed};
    static int turn;
    captured g;
    CHECK(td_branch_captures(td_device_current()), "no condition in a captured graph");
    CHECK_CUDA(cudaStreamCreateWithFlags(&g.stream, cudaStreamNonBlocking));
    CHECK_CUDA(cudaStreamBeginCapture(g.stream, modes[turn++ % 3]));
    branches_in_graph = true;
    for (int i = 0; i < count; i++) {
        of[i]->call.stream = g.stream;
        CHECK(run_priced(&of[i]->call, prices, limit, counters) == TD_RUN_DONE,
              "refused in a capture: %s", product_text(&of[i]->p.of));
    }
    branches_in_graph = false;
    g.executable = device_end_capture(g.stream);
    return g;
}

static void launch(const captured *g)
{
    CHECK_CUDA(cudaGraphLaunch(g->executable, g->stream));
    CHECK_CUDA(cudaStreamSynchronize(g->stream));
}

static void end(const captured *g)
{
    CHECK_CUDA(cudaGraphExecDestroy(g->executable));
    CHECK_CUDA(cudaStreamDestroy(g->stream));
}

/* Every launch counts once: of calls that name cuBLAS's routine, of such that do not, and of such
 * that the program enqueues. */
TEST(all_is_native)
{
    for (int which = 0; which < 6; which++) {
        const product of = with_zeros(which);
        placed x = place_problem(&of), *calls[] = {&x};
        td_counters *counters, counted = {0};
        counters = device_copy(&counted, sizeof counted);
        names_call = which % 2 == 1;
        is_short = which % 4 == 3;
        algorithm = which == 5;
        const captured g = capture(calls, 1, free_native, 0, counters);
        for (int i = 0; i < 2; i++) {
            restore(&x);
            launch(&g);
        }
        test_matrix c = checked_result(&x.p, x.c);
        CHECK_CUDA(cudaMemcpy(&counted, counters, sizeof counted, cudaMemcpyDeviceToHost));
        CHECK(counted.planes == 0 && counted.repaired == 2 * (unsigned long long)(of.m * of.n) &&
                  counted.tiles == 2 * UINT64_C(6),
              "%d moduli, %d elements and %d tiles in binary64", (int)counted.planes,
              (int)counted.repaired, (int)counted.tiles);
        expect_native(&of, &c);
        matrix_free(&c);
        device_free((double *)(void *)counters);
        end(&g);
        free_placed(&x);
    }
    names_call = is_short = false;
    algorithm = 0;
}

TEST(nothing_is_native)
{
    static const char *const kinds[] = {"uniform", "both signs", "zeros"};
    for (int which = 0; which < 6; which++) {
        const product of = product_varied(kinds[which % 3], 150, 70, 200, which);
        td_prices without = dear_native;
        without.native = 0;
        placed x = place_problem(&of), y = place_problem(&of), *calls[] = {&x};
        names_call = which >= 3;
        const captured g = capture(calls, 1, dear_native, 0, NULL);
        names_call = false;
        launch(&g);
        test_matrix c = checked_result(&x.p, x.c);
        expect_equal(&of, &c, run_whole(&y, without, 0), "a product without a branch");
        matrix_free(&c);
        end(&g);
        free_placed(&x);
        free_placed(&y);
    }
}

/* The numbers of one operand change between launches. */
TEST(each_launch_goes_by_its_numbers)
{
    const product of = with_zeros(1), dense = product_varied("uniform", of.m, of.n, of.k, 1);
    placed x = place_problem(&of), y = place_problem(&of), z = place_problem(&dense);
    placed *calls[] = {&x};
    names_call = true;
    const captured g = capture(calls, 1, free_native, 0, NULL);
    for (int i = 0; i < 4; i++) {
        const bool is_dense = i % 2 == 1;
        const placed *from = is_dense ? &z : &y;
        copy_to_device(x.a, &from->p.a);
        copy_to_device(x.b, &from->p.b);
        copy_to_device(x.c, &from->p.c);
        launch(&g);
        test_matrix c = checked_result(&from->p, x.c);
        expect_equal(&from->p.of, &c, run_whole(from, free_native, 0), "a call outside of a graph");
        matrix_free(&c);
    }
    names_call = false;
    end(&g);
    free_placed(&x);
    free_placed(&y);
    free_placed(&z);
}

/* In little memory too, so that products have parts with a condition each; one graph's memory
 * serves them one after the other. */
TEST(several_in_one_graph)
{
    enum { CALLS = 4 };
    placed of[CALLS], *calls[CALLS];
    for (int i = 0; i < CALLS; i++) {
        const product one = product_varied(i % 2 ? "uniform" : "zeros", 1100, 200, 96, i);
        of[i] = place_problem(&one);
        calls[i] = &of[i];
    }
    for (int limit = 0; limit <= 24; limit += 24) {
        const captured g = capture(calls, CALLS, free_native, (size_t)limit << 20, NULL);
        for (int i = 0; i < CALLS; i++) restore(&of[i]);
        launch(&g);
        for (int i = 0; i < CALLS; i++) {
            test_matrix c = checked_result(&of[i].p, of[i].c);
            expect_sums(&of[i].p.of, &c);
            matrix_free(&c);
        }
        end(&g);
    }
    for (int i = 0; i < CALLS; i++) free_placed(&of[i]);
}
