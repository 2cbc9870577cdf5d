#include "worker.h"

#include <math.h>
#include <stdatomic.h>

#include "../../kernels/view/target.h"
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

/* Factors that are one matrix are so in all tiles, if these see a whole product. */
static int place_of(const td_tile *tile, const td_tile_memory *memory, int i)
{
    return tile->is_solve || !tile->product.whole ? i : td_tile_first_copy(memory, i);
}

td_xt_layout td_xt_lay_out(const td_tile *tile, int slots)
{
    const td_tile_memory memory = td_tile_memory_of(tile);
    td_xt_layout l = {.slots = slots};
    for (int i = 0; i < TD_TILE_FACTORS; i++) {
        l.place[i] = place_of(tile, &memory, i);
        l.read[i] = l.place[i] < i ? l.read[l.place[i]]
                                   : reserve(&l.end, &memory.read[i], memory.element_bytes);
    }
    for (int i = 0; i < slots; i++)
        l.written[i] = reserve(&l.end, &memory.written, memory.element_bytes);
    return l;
}

static bool enter(const td_xt_worker *w) { return td_cuda_ok(cudaSetDevice(w->ordinal)); }

static bool open_events(cudaEvent_t *events, int count)
{
    bool is_good = true;
    for (int i = 0; i < count && is_good; i++)
        is_good = td_cuda_ok(cudaEventCreateWithFlags(&events[i], cudaEventDisableTiming));
    return is_good;
}

static void close_events(const cudaEvent_t *events, int count)
{
    for (int i = 0; i < count; i++)
        if (events[i]) td_cuda_ok(cudaEventDestroy(events[i]));
}

bool td_xt_open(td_xt_worker *w, const td_xt_layout *l)
{
    void *memory = NULL;
    const td_device *device = enter(w) ? td_device_current() : NULL;
    if (!device || !td_cuda_ok(cudaMallocFromPoolAsync(&memory, l->end, device->pool, NULL)))
        return false;
    w->memory = memory;
    if (!td_cuda_ok(cudaStreamCreateWithFlags(&w->out, cudaStreamNonBlocking)) ||
        !open_events(w->fetched[0], TD_XT_SHARED * TD_XT_PIECES) || !open_events(&w->gathered, 1) ||
        !td_cuda_ok(cudaEventRecord(w->gathered, NULL)) ||
        !td_cuda_ok(cudaStreamWaitEvent(w->out, w->gathered, 0)))
        return false;
    for (int i = 0; i < l->slots; i++)
        if (!open_events(w->slot[i].made, TD_XT_MOST_STRIPS)) return false;
    return true;
}

void td_xt_close(td_xt_worker *w)
{
    const bool is_there = enter(w);
    for (int i = 0; i < TD_XT_SLOTS && is_there; i++)
        close_events(w->slot[i].made, TD_XT_MOST_STRIPS);
    if (is_there) close_events(w->fetched[0], TD_XT_SHARED * TD_XT_PIECES);
    if (is_there) close_events(&w->gathered, 1);
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

/* The columns before which a triangle has so much of its elements. */
static int64_t columns_before(const td_tile_part *part, double elements)
{
    const double all = (double)part->extent.columns,
                 before = part->region == TD_REGION_ALL     ? elements
                          : part->region == TD_REGION_UPPER ? sqrt(elements)
                                                            : 1.0 - sqrt(1.0 - elements);
    return (int64_t)(before * all);
}

/* One of so many shares of about the same number of elements. */
static columns share_of(const td_tile_part *part, int share, int shares)
{
    return (columns){columns_before(part, (double)share / shares),
                     columns_before(part, (double)(share + 1) / shares)};
}

/* Pieces of memory, so many bytes apart. */
typedef struct {
    char *first;
    size_t step;
} pieces;

/* Enqueues copies of pieces of so many bytes. Those that are further apart than CUDA takes are
 * copied one by one: there are few, as each is in 2^31 bytes of its own. */
static bool copy_pieces(pieces to, pieces from, size_t bytes, int64_t count, cudaStream_t stream)
{
    const size_t furthest = INT32_MAX; /* cudaDevAttrMaxPitch */
    bool is_good = true;
    if (to.step <= furthest && from.step <= furthest)
        return td_cuda_ok(cudaMemcpy2DAsync(to.first, to.step, from.first, from.step, bytes,
                                            (size_t)count, cudaMemcpyDefault, stream));
    for (size_t i = 0; i < (size_t)count && is_good; i++)
        is_good = td_cuda_ok(cudaMemcpyAsync(to.first + i * to.step, from.first + i * from.step,
                                             bytes, cudaMemcpyDefault, stream));
    return is_good;
}

/* Those that begin with elements of a matrix, from one on, so many elements apart. */
static pieces pieces_of(const td_matrix *x, int64_t row, int64_t column, int64_t step,
                        int64_t element_bytes)
{
    return (pieces){(char *)x->data + (row + column * x->ld) * element_bytes,
                    (size_t)(step * element_bytes)};
}

/* Enqueues a copy of some rows of some columns, which begin at the first of each. */
static bool copy_block(const td_matrix *to, const td_matrix *from, int64_t row, int64_t rows,
                       columns of, int64_t element_bytes, cudaStream_t stream)
{
    const pieces target = pieces_of(to, row, of.first, to->ld, element_bytes),
                 source = pieces_of(from, row, of.first, from->ld, element_bytes);
    const size_t bytes = (size_t)(rows * element_bytes);
    const int64_t count = of.end - of.first;
    if (rows == 0 || count == 0) return true;
    if (rows == to->ld && rows == from->ld)
        return td_cuda_ok(cudaMemcpyAsync(target.first, source.first, bytes * (size_t)count,
                                          cudaMemcpyDefault, stream));
    return copy_pieces(target, source, bytes, count, stream);
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
    if (first >= end) return true;
    return copy_pieces(pieces_of(to, row, first, to->ld + 1, element_bytes),
                       pieces_of(from, row, first, from->ld + 1, element_bytes),
                       (size_t)element_bytes, end - first, stream);
}

/* Squares on a triangle's diagonal whose triangles are copied by diagonals of the whole. */
enum { SQUARE = 16 };

/* Enqueues copies of what is beside such squares, in the square that the columns have on the
 * diagonal: of a block beside each two squares, beside each two pairs of these, and so on. */
static bool copy_beside_squares(const td_tile_part *part, const td_matrix *to,
                                const td_matrix *from, columns of, int64_t element_bytes,
                                cudaStream_t stream)
{
    const bool is_lower = part->region == TD_REGION_LOWER;
    bool is_good = true;
    for (int64_t side = SQUARE; side < of.end - of.first; side *= 2)
        for (int64_t first = of.first; first + side < of.end && is_good; first += 2 * side) {
            const int64_t middle = first + side, end = td_smaller(middle + side, of.end);
            is_good = is_lower ? copy_block(to, from, middle, end - middle,
                                            (columns){first, middle}, element_bytes, stream)
                               : copy_block(to, from, first, side, (columns){middle, end},
                                            element_bytes, stream);
        }
    return is_good;
}

/* Enqueues a copy of a triangle's columns, so that nothing beside the triangle is read or written:
 * all rows that are in the triangle in each of the columns as one block, and what the columns have
 * of a square on the diagonal. On an H200 a triangle of order 4096 takes 2.4 ms from pinned memory
 * by blocks of 16 columns, 16 to 46 column by column, and a block of as many bytes 1.2. */
static bool copy_triangle(const td_tile_part *part, const td_matrix *to, const td_matrix *from,
                          columns of, int64_t element_bytes, cudaStream_t stream)
{
    const int64_t rows = part->extent.rows;
    bool is_good = (part->region == TD_REGION_LOWER
                        ? copy_block(to, from, of.end, rows - of.end, of, element_bytes, stream)
                        : copy_block(to, from, 0, of.first, of, element_bytes, stream)) &&
                   copy_beside_squares(part, to, from, of, element_bytes, stream);
    for (int64_t d = 0; d < SQUARE && is_good; d++)
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

/* ---- shares ---- */

/* A factor, or the result behind them, and where it is in a device's memory. */
static const td_tile_part *part_of(const td_tile_memory *memory, int i)
{
    return i < TD_TILE_FACTORS ? &memory->read[i] : &memory->written;
}

static size_t offset_of(const td_xt_job *job, int i)
{
    return i < TD_TILE_FACTORS ? job->layout.read[i] : job->layout.written[0];
}

/* True if nothing is to be copied there: it is empty, or another factor's place, too, or a result
 * that is not read or not shared. */
static bool is_left_out(const td_xt_job *job, const td_tile_memory *memory, int i)
{
    if (i == TD_TILE_FACTORS) return !memory->is_updated || !job->shares_result;
    return memory->read[i].extent.rows == 0 || job->layout.place[i] < i;
}

static columns piece_of(const td_tile_part *part, int share, int piece, int shares)
{
    return share_of(part, share * TD_XT_PIECES + piece, shares * TD_XT_PIECES);
}

/* Copies that others wait for. */
static bool fetch(td_xt_worker *w, const td_xt_job *job, const td_tile_memory *memory, int i,
                  int share, int shares)
{
    const td_tile_part *const part = part_of(memory, i);
    const td_matrix placed = place(w, offset_of(job, i), part);
    bool is_good = true;
    for (int piece = 0; piece < TD_XT_PIECES && is_good; piece++)
        is_good = copy_part(part, &placed, &part->extent.matrix,
                            piece_of(part, share, piece, shares), memory->element_bytes, NULL) &&
                  td_cuda_ok(cudaEventRecord(w->fetched[i][piece], NULL));
    return is_good;
}

bool td_xt_fetch_share(td_xt_worker *w, const td_xt_job *job, const td_tile *tile, int share,
                       int shares)
{
    const td_tile_memory memory = td_tile_memory_of(tile);
    bool is_good = enter(w);
    for (int i = 0; i < TD_XT_SHARED && is_good; i++)
        if (!is_left_out(job, &memory, i)) is_good = fetch(w, job, &memory, i, share, shares);
    return is_good;
}

/* Enqueues a copy of columns from another device: of a triangle with what is beside it, which
 * nobody reads. */
static bool copy_from_peer(td_xt_worker *w, const td_xt_worker *from, size_t at,
                           const td_tile_part *part, columns of, int64_t element_bytes)
{
    const int64_t column = part->extent.rows * element_bytes,
                  first = (int64_t)at + of.first * column;
    const size_t bytes = (size_t)((of.end - of.first) * column);
    return bytes == 0 ||
           td_cuda_ok(cudaMemcpyPeerAsync(w->memory + first, w->ordinal, from->memory + first,
                                          from->ordinal, bytes, w->out));
}

/* Pieces of others' shares, in the order in which they come. */
static bool gather(td_xt_worker *w, const td_xt_job *job, const td_tile_memory *memory, int i,
                   const td_xt_worker *workers, int own, int shares)
{
    const td_tile_part *const part = part_of(memory, i);
    bool is_good = true;
    for (int n = 0; n < shares * TD_XT_PIECES && is_good; n++) {
        const int share = n % shares, piece = n / shares;
        if (share == own) continue;
        is_good = td_cuda_ok(cudaStreamWaitEvent(w->out, workers[share].fetched[i][piece], 0)) &&
                  copy_from_peer(w, &workers[share], offset_of(job, i), part,
                                 piece_of(part, share, piece, shares), memory->element_bytes);
    }
    return is_good;
}

bool td_xt_gather_shares(td_xt_worker *w, const td_xt_job *job, const td_tile *tile,
                         const td_xt_worker *workers, int own, int shares)
{
    const td_tile_memory memory = td_tile_memory_of(tile);
    bool is_good = enter(w);
    for (int i = 0; i < TD_XT_SHARED && is_good; i++)
        if (!is_left_out(job, &memory, i))
            is_good = gather(w, job, &memory, i, workers, own, shares);
    for (int i = 0; i < TD_TILE_FACTORS; i++) w->held[i] = memory.read[i];
    return is_good && td_cuda_ok(cudaEventRecord(w->gathered, w->out)) &&
           td_cuda_ok(cudaStreamWaitEvent(NULL, w->gathered, 0));
}

bool td_xt_finish_share(td_xt_worker *w, const td_xt_job *job, const td_xt_worker *owner, int share,
                        int shares)
{
    const td_xt_slot *const s = &owner->slot[0];
    const td_tile_memory memory = td_tile_memory_of(&s->tile);
    const td_tile_part *const result = &memory.written;
    const size_t at = job->layout.written[0];
    const td_matrix placed = place(w, at, result);
    const columns own = share_of(result, share, shares);
    return enter(w) && td_cuda_ok(cudaStreamWaitEvent(w->out, s->made[s->strips - 1], 0)) &&
           (w == owner || copy_from_peer(w, owner, at, result, own, memory.element_bytes)) &&
           copy_part(result, &result->extent.matrix, &placed, own, memory.element_bytes, w->out) &&
           td_cuda_ok(cudaStreamSynchronize(w->out));
}

/* ---- factors ---- */

/* Copies factors that are not there yet; false if one cannot be copied. */
static bool copy_factors(td_xt_worker *w, const td_xt_job *job, const td_tile_memory *memory)
{
    bool is_good = true;
    for (int i = 0; i < TD_TILE_FACTORS && is_good; i++) {
        const td_tile_part *const part = &memory->read[i];
        if (is_left_out(job, memory, i) || td_tile_is_same(part, &w->held[i])) continue;
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
    return copy_factors(w, job, &memory) && (!memory.is_updated || job->shares_result ||
                                             copy_part(result, &to, &result->extent.matrix,
                                                       all_of(result), memory.element_bytes, NULL));
}

/* ---- tiles ---- */

/* Marks the end of a strip on the current device; the last one may still get more columns. */
static bool end_strip(td_xt_slot *s, int64_t columns)
{
    const int i = s->strips < TD_XT_MOST_STRIPS ? s->strips : TD_XT_MOST_STRIPS - 1;
    if (!td_cuda_ok(cudaEventRecord(s->made[i], NULL))) return false;
    s->columns[i] = columns;
    s->strips = i + 1;
    return true;
}

/* A td_progress.made. What is not marked is a part of the next strip. */
static void hear(td_progress *progress, int64_t columns)
{
    (void)end_strip((td_xt_slot *)progress, columns);
}

/* Strips of half a block of cublasXt's, unless these are too many. */
static td_progress progress_of(const td_xt_job *job, int64_t columns)
{
    const int64_t least = td_ceil_div(columns, TD_XT_MOST_STRIPS), half = td_xt_block(job->x) / 2;
    return (td_progress){.columns = td_round_up(td_larger(least, half), TD_TILE), .made = hear};
}

/* True if the caller's result is on the host, so that copies of its strips take their time. */
static bool leaves_device(td_tile *tile)
{
    struct cudaPointerAttributes of;
    return td_cuda_ok(cudaPointerGetAttributes(&of, td_tile_result(tile)->data)) &&
           of.type != cudaMemoryTypeDevice;
}

static const char *run_tile(td_xt_worker *w, const td_xt_job *job, int slot,
                            const td_decision *decision)
{
    td_xt_slot *const s = &w->slot[slot];
    const int64_t columns = td_tile_memory_of(&s->tile).written.extent.columns;
    td_tile there;
    td_problem call;
    td_question q;
    s->strips = 0;
    s->progress = progress_of(job, columns);
    if (!enter(w) || !copy_in(w, job, slot, &there)) return td_reason_operand;
    if (!there.is_solve && leaves_device(&s->tile)) there.product.progress = &s->progress;
    td_xt_ask(job->x, &there, &call, &q);
    const char *reason = td_dispatch_part(job->options, &q, decision);
    if (reason) return reason;
    return end_strip(s, columns) ? NULL : td_reason_launch;
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

/* Enqueues the way back of the columns that are complete with a strip. */
static bool copy_out(td_xt_worker *w, const td_xt_job *job, int slot, int strip)
{
    const td_xt_slot *const s = &w->slot[slot];
    const td_tile_memory memory = td_tile_memory_of(&s->tile);
    const td_tile_part *const result = &memory.written;
    const td_matrix placed = place(w, job->layout.written[slot], result);
    const columns own = {strip > 0 ? s->columns[strip - 1] : 0, s->columns[strip]};
    return td_cuda_ok(cudaStreamWaitEvent(w->out, s->made[strip], 0)) &&
           copy_part(result, &result->extent.matrix, &placed, own, memory.element_bytes, w->out);
}

bool td_xt_finish(td_xt_worker *w, const td_xt_job *job, int slot)
{
    bool is_good = enter(w);
    for (int i = 0; i < w->slot[slot].strips && is_good; i++) is_good = copy_out(w, job, slot, i);
    return is_good && td_cuda_ok(cudaStreamSynchronize(w->out));
}
