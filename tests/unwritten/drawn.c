/* drawn.c - a cuBLAS and cuSOLVER program that makes calls which a seed draws, in matrices of which
 * only what may be read has been written, for check_unwritten.py. Each call is in a region of
 * Tandem's with drawn settings, and some are captured and launched twice. A line for each:
 *
 *   NUMBER SETTINGS CALL: status STATUS hash HASH touched BYTES
 *
 * HASH is of all that the call had to write; BYTES of other memory have changed.
 *
 * usage: drawn SEED CALLS SIDE [ONLY]    with sizes up to SIDE; ONLY: the number of the one call */
#include "drawn.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../preload/require.h"

cudaStream_t drawn_stream;
int drawn_side;

int any_size(test_random *r)
{
    enum { TILE = 64 };
    const int largest = random_int(r, 0, 2) ? drawn_side / 3 + 1 : drawn_side;
    const int tiles = random_int(r, 0, largest / TILE), beside = random_int(r, -1, 4);
    if (random_int(r, 0, 2)) return random_int(r, 1, largest);
    return tiles * TILE + beside > 0 ? tiles * TILE + beside : 1;
}

/* ---- Tandem ---- */

static int (*push)(const char *settings);
static int (*pop)(void);
static void (*unset_pools)(void);

static void find(void *function, const char *name)
{
    *(void **)function = dlsym(RTLD_DEFAULT, name);
}

static void draw_settings(test_random *r, char text[200])
{
    static const char *const modes[] = {
        "df",        "ts",       "dd",     "d+s",    "ozaki-sgemm",   "ozaki-sgemm:9",
        "ozaki1",    "ozaki1:7", "ozaki2", "ozaki2", "ozaki2:6",      "ozaki2:14",
        "ozaki2:20", "faithful", "fp64",   "native", "faithful:fp64", "fp64"};
    static const char *const accuracies[] = {"", "", " accuracy=faithful", " accuracy=40",
                                             " accuracy=20"};
    static const char *const strategies[] = {"", " strategy=eager", " strategy=reproducible",
                                             " strategy=adaptive"};
    static const char *const others[] = {"", "", "", " workspace=2M", " verify=sample:8"};
    const bool is_auto = random_int(r, 0, 1);
    const char *const mode = modes[random_int(r, 0, sizeof modes / sizeof *modes - 1)];
    const char *const accuracy = accuracies[random_int(r, 0, 4)];
    const char *const strategy = strategies[random_int(r, 0, 3)];
    const char *const other = others[random_int(r, 0, 4)];
    snprintf(text, 200, "mode=%s%s%s%s", is_auto ? "auto" : mode, is_auto ? accuracy : "",
             is_auto ? strategy : "", other);
}

/* ---- calls ---- */

static void draw(test_random *r, drawn_call *call)
{
    const int what = random_int(r, 0, 11);
    if (what < 6)
        blas_draw(r, call);
    else if (what < 7)
        lt_draw(r, call);
    else if (what < 9)
        lu_draw(r, call);
    else
        solver_draw(r, call);
}

/* The host device's cuBLAS makes some calls at once: their graphs have no nodes. */
static int run_captured(const drawn_call *call)
{
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    size_t nodes = 0;
    REQUIRE(cudaStreamBeginCapture(drawn_stream, cudaStreamCaptureModeThreadLocal));
    const int status = call->run();
    REQUIRE(cudaStreamEndCapture(drawn_stream, &graph));
    REQUIRE(cudaGraphGetNodes(graph, NULL, &nodes));
    REQUIRE(cudaGraphInstantiate(&executable, graph, 0));
    for (int i = 0; i < 2 && nodes > 0; i++) {
        restore_all();
        unset_pools();
        REQUIRE(cudaGraphLaunch(executable, drawn_stream));
        REQUIRE(cudaStreamSynchronize(drawn_stream));
    }
    REQUIRE(cudaGraphExecDestroy(executable));
    REQUIRE(cudaGraphDestroy(graph));
    return status;
}

static void make(uint64_t seed, int number, bool is_made)
{
    test_random r = random_start(seed * 1000003 + (uint64_t)number);
    drawn_call call = {.may_capture = true};
    char settings[200];
    if (!is_made) return;
    draw_settings(&r, settings);
    draw(&r, &call);
    blas_lend(&r);
    const bool is_captured = random_int(&r, 0, 2) == 0 && call.may_capture;
    REQUIRE(push && push(settings));
    const int status = is_captured ? run_captured(&call) : call.run();
    REQUIRE(cudaStreamSynchronize(drawn_stream));
    REQUIRE(push && pop());
    const outcome o = outcome_of_all(status != 0);
    printf("%d %s%s %s: status %d hash %016llx touched %ld\n", number, settings,
           is_captured ? " captured" : "", call.text, status, (unsigned long long)o.hash,
           o.touched);
    free_all();
}

int main(int count, char **arguments)
{
    if (count < 4) return 2;
    const uint64_t seed = strtoull(arguments[1], NULL, 10);
    const int calls = atoi(arguments[2]), only = count > 4 ? atoi(arguments[4]) : -1;
    drawn_side = atoi(arguments[3]);
    find(&push, "tandem_push");
    find(&pop, "tandem_pop");
    find(&unset_pools, "hostgpu_unset_pools");
    setvbuf(stdout, NULL, _IOLBF, 0);
    REQUIRE(cudaStreamCreateWithFlags(&drawn_stream, cudaStreamNonBlocking));
    blas_begin();
    lt_begin();
    solver_begin();
    for (int i = 0; i < calls; i++) make(seed, i, only < 0 || only == i);
    return 0;
}
