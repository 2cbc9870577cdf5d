#include "worker.h"

#include <stdatomic.h>

#include "../call/dispatch.h"
#include "../options/log.h"
#include "../routine/sizes.h"

/* ---- memory ---- */

static size_t reserve(size_t *end, const td_tile_part *part, int64_t element_bytes)
{
    const size_t at = *end,
                 bytes = (size_t)(part->extent.rows * part->extent.columns * element_bytes);
    *end += (bytes + TD_TILE_ALIGNMENT - 1) / TD_TILE_ALIGNMENT * TD_TILE_ALIGNMENT;
    return at;
}

td_xt_layout td_xt_lay_out(const td_tile *tile, int slots)
{
    const td_tile_memory memory = td_tile_memory_of(tile);
    td_xt_layout l = {.slots = slots};
    for (int i = 0; i < TD_TILE_FACTORS; i++)
        l.read[i] = reserve(&l.end, &memory.read[i], memory.element_bytes);
    for (int i = 0; i < slots; i++)
        l.written[i] = reserve(&l.end, &memory.written, memory.element_bytes);
    return l;
}

static bool enter(const td_xt_worker *w) { return td_cuda_ok(cudaSetDevice(w->ordinal)); }

bool td_xt_open(td_xt_worker *w, const td_xt_layout *l)
{
    void *memory = NULL;
    const td_device *device = enter(w) ? td_device_current() : NULL;
    if (!device || !td_cuda_ok(cudaMallocFromPoolAsync(&memory, l->end, device->pool, NULL)))
        return false;
    w->memory = memory;
    if (!td_cuda_ok(cudaStreamCreateWithFlags(&w->out, cudaStreamNonBlocking))) return false;
    for (int i = 0; i < l->slots; i++)
        if (!td_cuda_ok(cudaEventCreateWithFlags(&w->slot[i].made, cudaEventDisableTiming)))
            return false;
    return true;
}

void td_xt_close(td_xt_worker *w)
{
    const bool is_there = enter(w);
    for (int i = 0; i < TD_XT_SLOTS && is_there; i++)
        if (w->slot[i].made) td_cuda_ok(cudaEventDestroy(w->slot[i].made));
    if (is_there && w->out) td_cuda_ok(cudaStreamDestroy(w->out));
    if (is_there && w->memory) td_cuda_ok(cudaFreeAsync(w->memory, NULL));
    *w = (td_xt_worker){.ordinal = w->ordinal};
}

/* ---- copies ---- */

/* Some of the columns of a part. */
typedef struct {
    int64_t first, end;
} columns;

static columns all_of(const td_tile_part *part) { return (columns){0, part->extent.columns}; }

static columns share_of(const td_tile_part *part, int share, int shares)
{
    const int64_t all = part->extent.columns;
    return (columns){all * share / shares, all * (share + 1) / shares};
}

/* Enqueues a copy of some rows of some columns, which begin at the first of each. */
static bool copy_block(const td_matrix *to, const td_matrix *from, int64_t row, int64_t rows,
                       columns of, int64_t element_bytes, cudaStream_t stream)
{
    const size_t element = (size_t)element_bytes;
    char *const target = (char *)to->data + (row + of.first * to->ld) * element_bytes;
    const char *const source =
        (const char *)from->data + (row + of.first * from->ld) * element_bytes;
    if (rows == 0 || of.end == of.first) return true;
    if (rows == to->ld && rows == from->ld)
        return td_cuda_ok(cudaMemcpyAsync(target, source,
                                          (size_t)rows * (size_t)(of.end - of.first) * element,
                                          cudaMemcpyDefault, stream));
    return td_cuda_ok(cudaMemcpy2DAsync(target, (size_t)to->ld * element, source,
                                        (size_t)from->ld * element, (size_t)rows * element,
                                        (size_t)(of.end - of.first), cudaMemcpyDefault, stream));
}

/* Enqueues a copy of the diagonal that is d below or above a triangle's own, of some columns. */
static bool copy_diagonal(const td_matrix *to, const td_matrix *from, td_region_kind region,
                          int64_t rows, int64_t d, columns of, int64_t element_bytes,
                          cudaStream_t stream)
{
    const bool is_lower = region == TD_REGION_LOWER;
    const int64_t first = is_lower ? of.first : td_larger(of.first, d),
                  end = is_lower ? td_smaller(of.end, rows - d) : of.end,
                  row = is_lower ? first + d : first - d;
    const size_t element = (size_t)element_bytes;
    if (first >= end) return true;
    return td_cuda_ok(cudaMemcpy2DAsync(
        (char *)to->data + (row + first * to->ld) * element_bytes, (size_t)(to->ld + 1) * element,
        (const char *)from->data + (row + first * from->ld) * element_bytes,
        (size_t)(from->ld + 1) * element, element, (size_t)(end - first), cudaMemcpyDefault,
        stream));
}

/* Enqueues a copy of a triangle's columns: what is beside squares on its diagonal as blocks, and
 * the squares' own triangles by diagonals of the whole, so that nothing beside the triangle is read
 * or written. On an H200 a triangle of order 4096 takes 2.4 ms from pinned memory so, 16 to 46
 * column by column, and a block of as many bytes 1.2. */
static bool copy_triangle(const td_tile_part *part, const td_matrix *to, const td_matrix *from,
                          columns of, int64_t element_bytes, cudaStream_t stream)
{
    enum { SIDE = 16 };
    const int64_t rows = part->extent.rows;
    bool is_good = true;
    for (int64_t j = of.first; j < of.end && is_good; j += SIDE) {
        const columns some = {j, td_smaller(j + SIDE, of.end)};
        is_good = part->region == TD_REGION_LOWER
                      ? copy_block(to, from, some.end, rows - some.end, some, element_bytes, stream)
                      : copy_block(to, from, 0, some.first, some, element_bytes, stream);
    }
    for (int64_t d = 0; d < SIDE && is_good; d++)
        is_good = copy_diagonal(to, from, part->region, rows, d, of, element_bytes, stream);
    return is_good;
}

/* Enqueues a copy of the part's columns, from one of its places to another. */
static bool copy_part(const td_tile_part *part, const td_matrix *to, const td_matrix *from,
                      columns of, int64_t element_bytes, cudaStream_t stream)
{
    return part->region == TD_REGION_ALL
               ? copy_block(to, from, 0, part->extent.rows, of, element_bytes, stream)
               : copy_triangle(part, to, from, of, element_bytes, stream);
}

static td_matrix place(const td_xt_worker *w, size_t at, const td_tile_part *part)
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

/* ---- factors ---- */

bool td_xt_fetch_share(td_xt_worker *w, const td_xt_job *job, const td_tile *tile, int share,
                       int shares)
{
    const td_tile_memory memory = td_tile_memory_of(tile);
    bool is_good = enter(w);
    for (int i = 0; i < TD_TILE_FACTORS && is_good; i++) {
        const td_tile_part *const part = &memory.read[i];
        const td_matrix placed = place(w, job->layout.read[i], part);
        is_good = copy_part(part, &placed, &part->extent.matrix, share_of(part, share, shares),
                            memory.element_bytes, NULL);
    }
    return is_good && td_cuda_ok(cudaStreamSynchronize(NULL));
}

/* Of a triangle with what is beside it, which nobody reads. */
static bool gather(td_xt_worker *w, const td_xt_job *job, int factor, const td_tile_part *part,
                   int64_t element_bytes, const td_xt_worker *from, columns of)
{
    const int64_t column = part->extent.rows * element_bytes,
                  at = (int64_t)job->layout.read[factor] + of.first * column;
    const size_t bytes = (size_t)((of.end - of.first) * column);
    return bytes == 0 ||
           td_cuda_ok(cudaMemcpyPeerAsync(w->memory + at, w->ordinal, from->memory + at,
                                          from->ordinal, bytes, NULL));
}

bool td_xt_gather_shares(td_xt_worker *w, const td_xt_job *job, const td_tile *tile,
                         const td_xt_worker *workers, int own, int shares)
{
    const td_tile_memory memory = td_tile_memory_of(tile);
    bool is_good = enter(w);
    for (int i = 0; i < TD_TILE_FACTORS; i++) {
        const td_tile_part *const part = &memory.read[i];
        for (int share = 0; share < shares && is_good; share++)
            if (share != own)
                is_good = gather(w, job, i, part, memory.element_bytes, &workers[share],
                                 share_of(part, share, shares));
        w->held[i] = *part;
    }
    return is_good;
}

/* Copies factors that are not there yet; false if one cannot be copied. */
static bool copy_factors(td_xt_worker *w, const td_xt_job *job, const td_tile_memory *memory)
{
    bool is_good = true;
    for (int i = 0; i < TD_TILE_FACTORS && is_good; i++) {
        const td_tile_part *const part = &memory->read[i];
        if (part->extent.rows == 0 || is_same(part, &w->held[i])) continue;
        const td_matrix placed = place(w, job->layout.read[i], part);
        is_good = copy_part(part, &placed, &part->extent.matrix, all_of(part),
                            memory->element_bytes, NULL);
        w->held[i] = is_good ? *part : (td_tile_part){.extent.rows = 0};
    }
    return is_good;
}

/* Copies what the slot's tile reads to the device, and describes the tile there; false if a matrix
 * cannot be copied. */
static bool copy_in(td_xt_worker *w, const td_xt_job *job, int slot, td_tile *there)
{
    const td_tile_memory memory = td_tile_memory_of(&w->slot[slot].tile);
    const td_tile_part *const result = &memory.written;
    td_matrix placed[TD_TILE_FACTORS];
    const td_matrix to = place(w, job->layout.written[slot], result);
    for (int i = 0; i < TD_TILE_FACTORS; i++)
        placed[i] = place(w, job->layout.read[i], &memory.read[i]);
    *there = w->slot[slot].tile;
    td_tile_place(there, &memory, placed, to, &w->whole);
    return copy_factors(w, job, &memory) &&
           (!memory.is_updated || copy_part(result, &to, &result->extent.matrix, all_of(result),
                                            memory.element_bytes, NULL));
}

/* ---- tiles ---- */

static const char *run_tile(td_xt_worker *w, const td_xt_job *job, int slot,
                            const td_decision *decision)
{
    td_tile there;
    td_problem call;
    td_question q;
    if (!enter(w) || !copy_in(w, job, slot, &there)) return td_reason_operand;
    td_xt_ask(job->x, &there, &call, &q);
    const char *reason = td_dispatch_part(job->options, &q, decision);
    if (reason) return reason;
    return td_cuda_ok(cudaEventRecord(w->slot[slot].made, NULL)) ? NULL : td_reason_launch;
}

const char *td_xt_start(td_xt_worker *w, const td_xt_job *job, const td_tile *tile, int slot)
{
    w->slot[slot].tile = *tile;
    return run_tile(w, job, slot, &job->decision);
}

const char *td_xt_start_anyhow(td_xt_worker *w, const td_xt_job *job, const td_tile *tile, int slot)
{
    static atomic_uint said;
    td_decision binary64 = td_policy_binary64();
    const char *reason = td_xt_start(w, job, tile, slot);
    if (!reason) return NULL;
    binary64.cut = job->decision.cut; /* a solve has the same steps */
    td_log_capped(&said, 1, TD_LOG_WARN, "%s: %s; a tile runs in mode fp64 (said once)",
                  td_entries[job->x->entry].name, reason);
    return run_tile(w, job, slot, &binary64);
}

bool td_xt_finish(td_xt_worker *w, const td_xt_job *job, int slot)
{
    const td_tile_memory memory = td_tile_memory_of(&w->slot[slot].tile);
    const td_tile_part *const result = &memory.written;
    const td_matrix placed = place(w, job->layout.written[slot], result);
    return enter(w) && td_cuda_ok(cudaStreamWaitEvent(w->out, w->slot[slot].made, 0)) &&
           copy_part(result, &result->extent.matrix, &placed, all_of(result), memory.element_bytes,
                     w->out) &&
           td_cuda_ok(cudaStreamSynchronize(w->out));
}
