#include "lu_late.h"

#include "../../routine/sizes.h"
#include "../tiler.h"

enum { BEHIND, FIRST }; /* stages: columns behind the block, and the first of all others */

/* Where things are in memory. */
typedef struct {
    size_t order, kept, work, bytes;
} layout;

static layout lay_out(const td_problem *p, const td_lu_cut *cut, bool raises)
{
    const bool is_complex = p->type == TD_COMPLEX_BINARY64;
    const int64_t kept = raises && td_lu_blocks(p, cut) > 1 ? cut->block * p->n : 0;
    layout l = {0};
    l.order = td_reserve(&l.bytes, TD_LATE_STAGES * p->m * (int64_t)sizeof(int));
    l.kept = td_reserve(&l.bytes, kept * td_types[p->type].size);
    l.work = td_reserve(&l.bytes, (int64_t)td_late_bytes(is_complex, p->m));
    return l;
}

/* The most stages that there are: columns that are noted down together are as many as fit in
 * TD_FEW_EXCHANGES, so that two neighbours have more. */
static int64_t most_stages(const td_problem *p, const td_lu_cut *cut)
{
    const int64_t widest = td_smaller(cut->block, td_smaller(p->m, p->n));
    return FIRST + td_lu_blocks(p, cut) + 2 * td_ceil_div(widest, TD_FEW_EXCHANGES) + 1;
}

size_t td_lu_late_bytes(const td_problem *p, const td_lu_cut *cut, bool raises)
{
    if (!p->pivots || !cut->is_late || most_stages(p, cut) > TD_LATE_STAGES) return 0;
    return lay_out(p, cut, raises).bytes;
}

void td_lu_late_prepare(td_lu_late *late, const td_problem *p, const td_lu_cut *cut, bool raises,
                        void *memory)
{
    const layout l = lay_out(p, cut, raises);
    char *const at = memory;
    *late = (td_lu_late){.rows = {.is_complex = p->type == TD_COMPLEX_BINARY64,
                                  .a = p->a.data,
                                  .ld = p->a.ld,
                                  .rows = p->m,
                                  .stages = FIRST,
                                  .stage[BEHIND] = {(int)p->n, (int)p->n, 0},
                                  .order = (int *)(at + l.order),
                                  .kept = at + l.kept,
                                  .kept_ld = cut->block,
                                  .work = at + l.work},
                         .raises = raises,
                         .stream = p->stream};
}

static bool has_columns_behind(const td_lu_late *late)
{
    return late->rows.stage[BEHIND].from < late->rows.stage[BEHIND].to;
}

/* The first of the panels of this block. */
static int own(const td_lu_late *late) { return FIRST + late->earlier; }

static cudaError_t add_stage(td_lu_late *late, int64_t from, int64_t to)
{
    const int stage = late->rows.stages++;
    late->rows.stage[stage] = (td_late_stage){(int)from, (int)to, (int)to};
    return td_late_begin(&late->rows, stage, late->stream);
}

cudaError_t td_lu_late_begin(td_lu_late *late, int64_t from, int64_t to)
{
    td_late_stage *const behind = &late->rows.stage[BEHIND];
    late->from = late->rows.kept_row = late->rows.kept_column = from;
    late->to = to;
    behind->from = (int)to;
    behind->least = (int)from;
    return td_late_begin(&late->rows, BEHIND, late->stream);
}

cudaError_t td_lu_late_exchange(td_lu_late *late, const td_row_exchange *x)
{
    const int64_t first = x->before, behind = first + x->exchanges;
    const td_late_rows *const rows = &late->rows;
    cudaError_t error = td_late_exchange(rows, x, late->stream);
    if (late->raises && has_columns_behind(late)) {
        if (error == cudaSuccess)
            error = td_late_raise(rows, first, behind, own(late), rows->stages, late->stream);
        if (error == cudaSuccess)
            error = td_late_raise(rows, first, behind, BEHIND, FIRST, late->stream);
    }
    return error == cudaSuccess ? add_stage(late, first, behind) : error;
}

/* Stages from..to - 1 of a block that is not the last. */
static cudaError_t end_stages(const td_lu_late *late, int from, int to)
{
    return late->raises ? td_late_settle(&late->rows, late->to, from, to, late->stream)
                        : td_late_pass(&late->rows, from, to, late->stream);
}

cudaError_t td_lu_late_end(td_lu_late *late)
{
    if (!has_columns_behind(late))
        return td_late_pass(&late->rows, FIRST, late->rows.stages, late->stream);
    cudaError_t error = end_stages(late, BEHIND, FIRST);
    if (error == cudaSuccess) error = end_stages(late, own(late), late->rows.stages);
    late->rows.stages = own(late);
    late->earlier++;
    return error == cudaSuccess ? add_stage(late, late->from, late->to) : error;
}
