/* executor.c - a stage of a call of cublasXt by tiles: what a tile reads is copied to a device, an
 * engine works there, and the result is copied back (worker.h). The devices of the handle take the
 * tiles in turn, each in a thread of its own. Tiles are as large as the devices have memory for,
 * and small enough that each device has work. */
#include "executor.h"

#include <stdlib.h>

#include "../../kernels/view/target.h"
#include "../call/process.h"
#include "../routine/real.h"
#include "../routine/sizes.h"
#include "parallel.h"
#include "worker.h"

/* Tiles that a device has at the least, if there are as many: one is made while the result of
 * another leaves. For tiles that see the whole that is not worth looking at all lines again. */
enum { TILES_OF_DEVICE = 2, TILES_THAT_SEE_ALL = 1 };

/* What is run, in tiles that the workers take in turn. */
typedef struct {
    td_xt_job job;
    const td_xt_selection *devices;
    td_tile whole;
    td_tile_size size;
    int64_t tiles;
    int count; /* workers; those beyond the tiles only copy shares */
    td_xt_worker *workers;
    bool is_spread; /* it fits in one piece on one device, and is for several all the same */
    bool shares;    /* each worker copies a part of what is read, and has the rest from others */
} plan;

/* ---- running ---- */

static td_tile tile_at(const plan *of, int64_t i) { return td_tile_at(&of->whole, of->size, i); }

/* True if each device copies all factors from the host, and a result is written over one of them: a
 * triangular product in place. */
static bool is_over_factors(const plan *of)
{
    const td_product *p = &of->whole.product;
    return !of->whole.is_solve && of->whole.sees_whole && !of->shares && of->count > 1 &&
           (td_is_in_place(p, 0) || td_is_in_place(p, 1));
}

/* Waits until the worker's device has read what it makes tiles of, before results of others are
 * written there. NULL, or a reason. */
static const char *wait_for_factors(const plan *of)
{
    if (!is_over_factors(of) || td_cuda_ok(cudaStreamSynchronize(NULL))) return NULL;
    return td_reason_operand;
}

/* The first tile of a worker: nothing of the result has been written yet. */
static void start_first(void *all, int i)
{
    const plan *of = all;
    td_xt_worker *const w = &of->workers[i];
    w->reason = NULL;
    if (i >= of->tiles) return;
    const td_tile tile = tile_at(of, i);
    const bool has_factors =
        !of->shares || td_xt_gather_shares(w, &of->job, &tile, of->workers, i, of->count);
    w->reason = has_factors ? td_xt_start(w, &of->job, &tile, 0) : td_reason_operand;
    if (!w->reason) w->reason = wait_for_factors(of);
}

static void fetch_share(void *all, int i)
{
    const plan *of = all;
    td_xt_worker *const w = &of->workers[i];
    const td_tile tile = tile_at(of, i < of->tiles ? i : 0);
    w->is_good = td_xt_fetch_share(w, &of->job, &tile, i, of->count);
}

/* Starts a worker's next tile, if there is one. */
static bool start_next(const plan *of, td_xt_worker *w, int64_t number, int slot)
{
    if (number >= of->tiles) return true;
    const td_tile tile = tile_at(of, number);
    return !td_xt_start_anyhow(w, &of->job, &tile, slot);
}

/* The rest of a worker's tiles. With two slots the next one is made while a result leaves. */
static void go_on(void *all, int i)
{
    const plan *of = all;
    td_xt_worker *const w = &of->workers[i];
    const int slots = of->job.layout.slots;
    bool is_good = true;
    for (int64_t number = i, turn = 0; number < of->tiles && is_good; number += of->count, turn++) {
        const int now = (int)(turn % slots), then = (int)((turn + 1) % slots);
        if (slots > 1) is_good = start_next(of, w, number + of->count, then);
        is_good &= td_xt_finish(w, &of->job, now);
        if (slots == 1 && is_good) is_good = start_next(of, w, number + of->count, then);
    }
    w->is_good = is_good;
}

static void finish_share(void *all, int i)
{
    const plan *of = all;
    td_xt_worker *const w = &of->workers[i];
    w->is_good = td_xt_finish_share(w, &of->job, &of->workers[0], i, of->count);
}

static bool are_all_good(const plan *of)
{
    bool is_good = true;
    for (int i = 0; i < of->count; i++) is_good &= of->workers[i].is_good;
    return is_good;
}

static const char *first_reason(const plan *of)
{
    for (int i = 0; i < of->count; i++)
        if (of->workers[i].reason) return of->workers[i].reason;
    return NULL;
}

/* Waits for all that is under way on a worker's device. */
static void settle(void *all, int i)
{
    const plan *of = all;
    const td_xt_worker *const w = &of->workers[i];
    if (!td_cuda_ok(cudaSetDevice(w->ordinal))) return;
    td_cuda_ok(cudaStreamSynchronize(w->out));
    td_cuda_ok(cudaStreamSynchronize(NULL));
}

/* As run_tiles, but where it fails some copies may be under way. */
static const char *enqueue_tiles(plan *of, bool *is_good)
{
    if (of->shares) {
        td_parallel(of->count, fetch_share, of);
        if (!are_all_good(of)) return td_reason_operand;
    }
    td_parallel(of->count, start_first, of);
    const char *reason = first_reason(of);
    if (reason) return reason;
    td_parallel(of->count, of->job.shares_result ? finish_share : go_on, of);
    *is_good = are_all_good(of);
    return NULL;
}

/* A reason if nothing has been written; else *is_good says if all of the result is there. The
 * caller's matrices, and what a worker has for others, are neither read nor written any more. */
static const char *run_tiles(plan *of, bool *is_good)
{
    const char *reason = enqueue_tiles(of, is_good);
    if (reason || !*is_good) td_parallel(of->count, settle, of);
    return reason;
}

/* ---- the plan ---- */

static void close_all(plan *of)
{
    for (int i = 0; i < of->count; i++) td_xt_close(&of->workers[i]);
}

/* Opens the worker and makes it number `at`; false if its device lacks memory. */
static bool open_as(plan *of, int i, int at)
{
    td_xt_worker *const w = &of->workers[i], *const first = &of->workers[at];
    const td_xt_worker other = *first;
    if (!td_xt_open(w, &of->job.layout)) {
        td_xt_close(w);
        return false;
    }
    *first = *w;
    if (i != at) *w = other;
    return true;
}

/* Opens as many workers as have tiles, those of the first devices with enough memory. Where one
 * device could do with all tiles, one worker is enough. */
static bool open_all(plan *of)
{
    int opened = 0;
    for (int i = 0; i < of->devices->count && opened < of->count; i++)
        opened += open_as(of, i, opened);
    const bool is_enough = opened == of->count || (of->is_spread && opened > 0);
    of->count = opened;
    if (!is_enough) close_all(of);
    return is_enough;
}

/* Half the memory of the smallest device: the other half is for workspaces, and for others. */
static double room_of(const td_xt_selection *devices)
{
    double room = 0.0;
    for (int i = 0; i < devices->count; i++) {
        size_t unused, total = 0;
        if (!td_cuda_ok(cudaSetDevice(devices->ordinal[i])) ||
            !td_cuda_ok(cudaMemGetInfo(&unused, &total)))
            return 0.0;
        if (i == 0 || (double)total < 2.0 * room) room = (double)total / 2.0;
    }
    return room;
}

/* True if each device of the plan can copy from all others without the host. */
static bool are_peers(const plan *of)
{
    bool are = of->count > 1;
    for (int i = 0; i < of->count && are; i++)
        for (int j = 0; j < of->count && are; j++)
            are = i == j || td_device_reaches_pool(of->workers[i].ordinal, of->workers[j].ordinal);
    return are;
}

/* Sets how a plan whose tiles have this size uses the devices. */
static void deal_out(plan *of, td_tile_size size, double room)
{
    of->size = size;
    of->tiles = td_tile_count(&of->whole, size);
    of->count = (int)td_smaller(of->tiles, of->devices->count);
    const td_tile largest = tile_at(of, 0);
    of->job.layout = td_xt_lay_out(&largest, TD_XT_SLOTS);
    if (of->tiles <= of->count || (double)of->job.layout.end > room)
        of->job.layout = td_xt_lay_out(&largest, 1);
}

/* What fits in one piece, in tiles for all devices. Where the mode sees all lines, these are parts
 * of one product. */
static void spread(plan *of, double room)
{
    const bool sees_whole = of->whole.sees_whole;
    const int64_t block = td_xt_block(of->job.x),
                  unit = sees_whole ? td_round_up(block, TD_TILE) : block,
                  of_device = sees_whole ? TILES_THAT_SEE_ALL : TILES_OF_DEVICE;
    deal_out(of, td_tile_spread(&of->whole, of->size, unit, of_device * of->devices->count), room);
}

/* Sets who copies what. Workers that have no tile are closed unless they can copy shares. */
static void share(plan *of)
{
    of->shares = of->whole.sees_whole && are_peers(of);
    while (!of->shares && of->count > of->tiles) td_xt_close(&of->workers[--of->count]);
    of->job.shares_result = of->shares && of->tiles == 1;
}

/* One tile of more than a block may use the links of all devices to the host. */
static void ask_for_help(plan *of)
{
    const int64_t block = td_xt_block(of->job.x);
    const bool is_small = of->size.m <= block && of->size.n <= block;
    if (of->is_spread && of->whole.sees_whole && of->tiles == 1 && !is_small)
        of->count = of->devices->count;
}

/* Opens workers for the largest tiles that the devices have memory for, of at most *room bytes,
 * which becomes what they were given; false if there are none. */
static bool open_plan(plan *of, double *room)
{
    const bool sees_all_lines = of->job.decision.engine->sees_all_lines;
    for (;; *room /= 2.0) {
        of->whole.sees_whole = false;
        const td_tile_size size = td_tile_fitting(&of->whole, td_xt_block(of->job.x), *room);
        if (size.m == 0) return false;
        const bool is_one = td_tile_count(&of->whole, size) == 1;
        of->is_spread = is_one && of->devices->count > 1;
        of->whole.sees_whole = is_one && sees_all_lines;
        deal_out(of, size, *room);
        if (of->devices->count > 1 && (of->is_spread || !sees_all_lines)) spread(of, *room);
        ask_for_help(of);
        if (open_all(of)) break;
    }
    share(of);
    return true;
}

/* Runs the plan by tiles that are as small as the engine's own memory needs them to be. */
static const char *run_plan(plan *of, bool *is_good)
{
    const char *reason = td_reason_memory;
    for (double room = room_of(of->devices); open_plan(of, &room); room /= 2.0) {
        reason = run_tiles(of, is_good);
        close_all(of);
        if (!reason || reason == td_reason_operand) break;
    }
    return reason;
}

bool td_xt_has_tiles(const td_xt_call *x, const td_xt_selection *devices, const td_tile *whole)
{
    return td_tile_fitting(whole, td_xt_block(x), room_of(devices)).m > 0;
}

const char *td_xt_run_tiles(const td_xt_call *x, const td_xt_selection *devices,
                            const td_decision *decision, const td_tile *whole,
                            cublasStatus_t *status)
{
    plan of = {.job = {.x = x, .options = td_options_in_force(), .decision = *decision},
               .devices = devices,
               .whole = *whole};
    bool is_good = true;
    of.workers = calloc((size_t)devices->count, sizeof *of.workers);
    if (!of.workers) return td_reason_memory;
    for (int i = 0; i < devices->count; i++) of.workers[i].ordinal = devices->ordinal[i];
    const char *reason = run_plan(&of, &is_good);
    free(of.workers);
    *status = is_good ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
    return reason;
}
