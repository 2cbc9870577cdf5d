/* xt_tiles.c - a call of cublasXt by tiles (../lib/call/tiles.h): what a tile reads is copied to a
 * device, an engine works there, and the result is copied back. A call that half of a device's
 * memory has room for is one tile, on the first device of the handle. The tiles of a larger one are
 * taken by its devices in turn, one for each at a time. */
#include <stdlib.h>

#include "../lib/call/tiles.h"
#include "../lib/options/log.h"
#include "wrap.h"
#include "xt.h"

/* Where a tile's matrices go in a device's memory: bytes from its start. */
typedef struct {
    size_t read[TD_TILE_FACTORS], written, end;
} layout;

/* A device with room for one tile. */
typedef struct {
    int ordinal;
    char *memory; /* of its pool, in the order of its default stream */
    td_problem tile;
    td_tile_part held[TD_TILE_FACTORS]; /* of the caller's matrices: what has been copied there */
    bool is_busy;                       /* a result is to be fetched */
    td_call call;
} worker;

/* A call in tiles, of which each worker has one at a time. */
typedef struct {
    const td_xt_call *x;
    td_decision decision;
    td_problem whole;
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
static bool copy_in(worker *w, const layout *l, td_problem *there)
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

/* Enqueues a tile; a reason if it did not run. Once tiles have been written, one that its mode
 * cannot run is mode fp64's. */
static const char *start(plan *of, worker *w, const td_problem *tile)
{
    td_problem there;
    w->tile = *tile;
    if (!enter(w) || !copy_in(w, &of->layout, &there)) return td_reason_operand;
    const char *reason = td_wrap_run_part(of->x->entry, &of->decision, &there, &w->call);
    if (reason && of->has_written) {
        const td_decision binary64 = td_policy_binary64();
        td_log(TD_LOG_WARN, "%s: %s; a tile runs in mode fp64", td_entries[of->x->entry].name,
               reason);
        reason = td_wrap_run_part(of->x->entry, &binary64, &there, &w->call);
    }
    w->is_busy = !reason;
    return reason;
}

/* Has the worker's tile in the caller's result when it returns. */
static cublasStatus_t finish(plan *of, worker *w)
{
    const cublasStatus_t status = td_wrap_status(&w->call);
    w->is_busy = false;
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    of->has_written = true;
    return enter(w) && copy_out(w, &of->layout) ? CUBLAS_STATUS_SUCCESS
                                                : CUBLAS_STATUS_EXECUTION_FAILED;
}

/* The tiles from `first` on, one for each worker; a reason if one of them did not run. */
static const char *start_round(plan *of, int64_t first)
{
    const char *reason = NULL;
    for (int i = 0; i < of->count && first + i < of->tiles && !reason; i++) {
        const td_problem tile = td_tile_at(&of->whole, of->size, first + i);
        reason = start(of, &of->workers[i], &tile);
    }
    return reason;
}

static cublasStatus_t finish_round(plan *of)
{
    cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
    for (int i = 0; i < of->count; i++) {
        if (!of->workers[i].is_busy) continue;
        const cublasStatus_t one = finish(of, &of->workers[i]);
        if (!status) status = one;
    }
    return status;
}

static const char *run_tiles(plan *of, cublasStatus_t *status)
{
    *status = CUBLAS_STATUS_SUCCESS;
    for (int64_t first = 0; first < of->tiles && !*status; first += of->count) {
        const char *reason = start_round(of, first);
        if (reason && !of->has_written) return reason;
        *status = finish_round(of);
        if (reason) *status = CUBLAS_STATUS_EXECUTION_FAILED;
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

static layout lay_out(const td_problem *tile)
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
    w->memory = NULL;
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

/* Finds tiles that the devices have memory for, and opens workers; false if there are none. */
static bool open_plan(plan *of, const td_xt_selection *devices)
{
    const int64_t block = block_of(of->x);
    for (double room = room_of(devices);; room /= 2.0) {
        of->size = td_tile_fitting(&of->whole, block, room);
        if (of->size.m == 0) return false;
        const td_problem largest = td_tile_at(&of->whole, of->size, 0);
        of->layout = lay_out(&largest);
        of->tiles = td_tile_count(&of->whole, of->size);
        of->count = of->tiles < devices->count ? (int)of->tiles : devices->count;
        if (open_all(of)) return true;
    }
}

const char *td_xt_run(const td_xt_call *x, const td_xt_selection *devices,
                      const td_decision *decision, cublasStatus_t *status)
{
    plan of = {.x = x,
               .decision = *decision,
               .workers = calloc((size_t)devices->count, sizeof *of.workers)};
    const char *reason = td_reason_memory;
    for (int i = 0; of.workers && i < devices->count; i++)
        of.workers[i].ordinal = devices->ordinal[i];
    if (!td_tile_whole(&x->p, &of.whole))
        reason = td_reason_routine;
    else if (of.workers && open_plan(&of, devices)) {
        reason = run_tiles(&of, status);
        close_all(&of);
    }
    free(of.workers);
    return reason;
}
