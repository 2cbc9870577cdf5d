/* executor.c - a stage of a call of cublasXt by tiles: what a tile reads is copied to a device, an
 * engine works there, and the result is copied back. What half of a device's memory has room for is
 * one tile, on the first device of the handle. The tiles of something larger are taken by its
 * devices in turn, one for each at a time. */
#include "executor.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "../call/dispatch.h"
#include "../call/process.h"
#include "../options/log.h"
#include "tiles.h"

/* Where a tile's matrices go in a device's memory: bytes from its start. */
typedef struct {
    size_t read[TD_TILE_FACTORS], written, end;
} layout;

/* A device with room for one tile. */
typedef struct {
    int ordinal;
    char *memory;                       /* of its pool, in the order of its default stream */
    td_tile tile;                       /* of the caller's matrices */
    td_tile_part held[TD_TILE_FACTORS]; /* of the caller's matrices: the factors in `memory` */
    bool is_busy; /* the tile's result is in `memory`, or will be, and not yet with the caller */
} worker;

/* What is run, in tiles, of which each worker has one at a time. */
typedef struct {
    const td_xt_call *x;
    td_decision decision;
    const td_xt_selection *devices;
    td_tile whole;
    td_tile_size size;
    int64_t tiles;
    layout layout; /* of the largest tile */
    int count;
    worker *workers;
    bool has_written; /* something of the caller's result */
} plan;

static bool enter(const worker *w) { return td_cuda_ok(cudaSetDevice(w->ordinal)); }

/* ---- copies ---- */

/* Enqueues a copy of some rows of some columns, which begin at the first of each. */
static bool copy_block(const td_matrix *to, const td_matrix *from, int64_t row, int64_t rows,
                       int64_t column, int64_t columns, int64_t element_bytes)
{
    const size_t element = (size_t)element_bytes;
    char *const target = (char *)to->data + (row + column * to->ld) * element_bytes;
    const char *const source = (const char *)from->data + (row + column * from->ld) * element_bytes;
    return td_cuda_ok(cudaMemcpy2DAsync(target, (size_t)to->ld * element, source,
                                        (size_t)from->ld * element, (size_t)rows * element,
                                        (size_t)columns, cudaMemcpyDefault, NULL));
}

/* Enqueues a copy of the part, from one of its places to another: of a triangle column by
 * column, so that nothing beside it is read or written. */
static bool copy_part(const td_tile_part *part, const td_matrix *to, const td_matrix *from,
                      int64_t element_bytes)
{
    const int64_t rows = part->extent.rows, columns = part->extent.columns;
    bool is_good = true;
    if (rows == 0 || columns == 0) return true;
    if (part->region == TD_REGION_ALL)
        return copy_block(to, from, 0, rows, 0, columns, element_bytes);
    for (int64_t j = 0; j < columns && is_good; j++)
        is_good = part->region == TD_REGION_LOWER
                      ? copy_block(to, from, j, rows - j, j, 1, element_bytes)
                      : copy_block(to, from, 0, j + 1, j, 1, element_bytes);
    return is_good;
}

static td_matrix place(const worker *w, size_t at, const td_tile_part *part)
{
    const int64_t rows = part->extent.rows;
    return (td_matrix){.data = w->memory + at, .ld = rows > 1 ? rows : 1};
}

static bool is_same(const td_tile_part *a, const td_tile_part *b)
{
    return a->extent.matrix.data == b->extent.matrix.data &&
           a->extent.matrix.ld == b->extent.matrix.ld && a->extent.rows == b->extent.rows &&
           a->extent.columns == b->extent.columns && a->region == b->region;
}

/* Copies what the worker's tile reads to its device, but for factors that are there since the tile
 * before, and describes the tile there; false if a matrix cannot be copied. */
static bool copy_in(worker *w, const layout *l, td_tile *there)
{
    const td_tile_memory memory = td_tile_memory_of(&w->tile);
    bool is_good = true;
    *there = w->tile;
    for (int i = 0; i < TD_TILE_FACTORS && is_good; i++) {
        const td_tile_part *const part = &memory.read[i];
        const td_matrix placed = place(w, l->read[i], part);
        if (part->extent.rows == 0) continue;
        *td_tile_factor(there, i) = placed;
        if (is_same(part, &w->held[i])) continue;
        w->held[i] = *part;
        is_good = copy_part(part, &placed, &part->extent.matrix, memory.element_bytes);
    }
    const td_tile_part *const result = &memory.written;
    *td_tile_result(there) = place(w, l->written, result);
    return is_good &&
           (!memory.is_updated ||
            copy_part(result, td_tile_result(there), &result->extent.matrix, memory.element_bytes));
}

/* Waits until the worker's result is in the caller's matrix. */
static bool copy_out(const worker *w, const layout *l)
{
    const td_tile_memory memory = td_tile_memory_of(&w->tile);
    const td_tile_part *const result = &memory.written;
    const td_matrix placed = place(w, l->written, result);
    return copy_part(result, &result->extent.matrix, &placed, memory.element_bytes) &&
           td_cuda_ok(cudaStreamSynchronize(NULL));
}

/* ---- tiles ---- */

void td_xt_ask(const td_xt_call *x, const td_tile *tile, td_problem *call, td_question *q)
{
    if (!tile->is_solve) {
        td_ask_product(x->entry, &tile->product, call, q);
        call->caller = x->p.caller;
        return;
    }
    *call = tile->solve;
    td_ask(x->entry, call, q);
}

/* Enqueues the worker's tile by an engine; a reason if it did not run. */
static const char *run_tile(const plan *of, worker *w, const td_decision *decision)
{
    td_tile there;
    if (!enter(w) || !copy_in(w, &of->layout, &there)) return td_reason_operand;
    td_problem call;
    td_question q;
    td_xt_ask(of->x, &there, &call, &q);
    return td_dispatch_part(td_options_in_force(), &q, decision);
}

/* Enqueues a tile of the call. Once others have been written, one that the call's mode cannot
 * run is mode fp64's. */
static const char *start(const plan *of, worker *w, const td_tile *tile)
{
    w->tile = *tile;
    const char *reason = run_tile(of, w, &of->decision);
    if (reason && of->has_written) {
        static atomic_uint said;
        const td_decision binary64 = td_policy_binary64();
        td_log_capped(&said, 1, TD_LOG_WARN, "%s: %s; a tile runs in mode fp64 (said once)",
                      td_entries[of->x->entry].name, reason);
        reason = run_tile(of, w, &binary64);
    }
    w->is_busy = !reason;
    return reason;
}

/* Has the worker's tile in the caller's result when it returns. */
static bool finish(plan *of, worker *w)
{
    w->is_busy = false;
    of->has_written = true;
    return enter(w) && copy_out(w, &of->layout);
}

/* The tiles from `first` on, one for each worker; a reason if one of them did not run. */
static const char *start_round(const plan *of, int64_t first)
{
    const char *reason = NULL;
    for (int i = 0; i < of->count && first + i < of->tiles && !reason; i++) {
        const td_tile tile = td_tile_at(&of->whole, of->size, first + i);
        reason = start(of, &of->workers[i], &tile);
    }
    return reason;
}

static bool finish_round(plan *of)
{
    bool is_good = true;
    for (int i = 0; i < of->count; i++)
        if (of->workers[i].is_busy) is_good &= finish(of, &of->workers[i]);
    return is_good;
}

/* A reason if nothing has been written; else *is_good says if all of the result is there. */
static const char *run_tiles(plan *of, bool *is_good)
{
    *is_good = true;
    for (int64_t first = 0; first < of->tiles && *is_good; first += of->count) {
        const char *reason = start_round(of, first);
        if (reason && !of->has_written) return reason;
        *is_good = finish_round(of) && !reason;
    }
    return NULL;
}

/* ---- the plan ---- */

static size_t reserve(size_t *end, const td_tile_part *part, int64_t element_bytes)
{
    const size_t at = *end,
                 bytes = (size_t)(part->extent.rows * part->extent.columns * element_bytes);
    *end += (bytes + TD_TILE_ALIGNMENT - 1) / TD_TILE_ALIGNMENT * TD_TILE_ALIGNMENT;
    return at;
}

static layout lay_out(const td_tile *tile)
{
    const td_tile_memory memory = td_tile_memory_of(tile);
    layout l = {.end = 0};
    for (int i = 0; i < TD_TILE_FACTORS; i++)
        l.read[i] = reserve(&l.end, &memory.read[i], memory.element_bytes);
    l.written = reserve(&l.end, &memory.written, memory.element_bytes);
    return l;
}

static bool open_worker(worker *w, size_t bytes)
{
    void *memory = NULL;
    const td_device *device = enter(w) ? td_device_current() : NULL;
    if (!device || !td_cuda_ok(cudaMallocFromPoolAsync(&memory, bytes, device->pool, NULL)))
        return false;
    w->memory = memory;
    return true;
}

static void close_worker(worker *w)
{
    if (w->memory && enter(w)) td_cuda_ok(cudaFreeAsync(w->memory, NULL));
    *w = (worker){.ordinal = w->ordinal};
}

static void close_all(plan *of)
{
    for (int i = 0; i < of->count; i++) close_worker(&of->workers[i]);
}

static bool open_all(plan *of)
{
    for (int i = 0; i < of->count; i++)
        if (!open_worker(&of->workers[i], of->layout.end)) {
            close_all(of);
            return false;
        }
    return true;
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

/* The side of cublasXt's own tiles. */
static int64_t block_of(const td_xt_call *x)
{
    __typeof__(&cublasXtGetBlockDim) get = TD_ORIGINAL(x->library, cublasXtGetBlockDim);
    int block = 0;
    return get && get(x->handle, &block) == CUBLAS_STATUS_SUCCESS && block > 0 ? block : 1;
}

/* Opens workers for the largest tiles that the devices have memory for, of at most *room bytes,
 * which becomes what they were given; false if there are none. */
static bool open_plan(plan *of, double *room)
{
    const int64_t block = block_of(of->x);
    for (;; *room /= 2.0) {
        of->size = td_tile_fitting(&of->whole, block, *room);
        if (of->size.m == 0) return false;
        const td_tile largest = td_tile_at(&of->whole, of->size, 0);
        of->layout = lay_out(&largest);
        of->tiles = td_tile_count(&of->whole, of->size);
        of->count = of->tiles < of->devices->count ? (int)of->tiles : of->devices->count;
        if (open_all(of)) return true;
    }
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
    return td_tile_fitting(whole, block_of(x), room_of(devices)).m > 0;
}

const char *td_xt_run_tiles(const td_xt_call *x, const td_xt_selection *devices,
                            const td_decision *decision, const td_tile *whole,
                            cublasStatus_t *status)
{
    plan of = {.x = x, .decision = *decision, .devices = devices, .whole = *whole};
    bool is_good = true;
    of.workers = calloc((size_t)devices->count, sizeof *of.workers);
    if (!of.workers) return td_reason_memory;
    for (int i = 0; i < devices->count; i++) of.workers[i].ordinal = devices->ordinal[i];
    const char *reason = run_plan(&of, &is_good);
    free(of.workers);
    *status = is_good ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
    return reason;
}
