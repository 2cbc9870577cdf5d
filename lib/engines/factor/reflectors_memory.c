#include "reflectors_memory.h"

#include "../../routine/parts.h"
#include "../../routine/sizes.h"

enum { PANELS = 2, PRODUCTS = 2, STREAMS = 2, EVEN_ROWS = 16, ALIGNMENT = 256 };

_Static_assert((int)TD_QR_WIDEST == (int)TD_QR_COLUMNS, "steps are of other panels");

static bool has_blocks(const td_reflectors *r) { return td_qr_blocks(&r->cut, r->count) > 1; }

/* Most columns of a panel, and of what is applied at a time. */
static int64_t widest_panel(const td_reflectors *r)
{
    return TD_QR_COLUMNS / (td_reflector_is_complex(r) ? 2 : 1);
}
static int64_t widest(const td_reflectors *r)
{
    return has_blocks(r) ? r->cut.block : widest_panel(r);
}

static int64_t block_ld(const td_reflectors *r) { return td_round_up(r->rows, EVEN_ROWS); }

static size_t work_bytes(const td_reflectors *r)
{
    return td_qr_work_bytes(r->rows, td_reflector_is_complex(r));
}

static size_t bytes_of_panels(const td_reflectors *r)
{
    return PANELS * work_bytes(r) + td_qr_shared_work_bytes(r->rows, td_reflector_is_complex(r));
}

static size_t bytes_of_block(const td_reflectors *r)
{
    return has_blocks(r)
               ? (size_t)((block_ld(r) + r->cut.block) * r->cut.block * td_reflector_element(r))
               : 0;
}

static size_t product_bytes(const td_reflectors *r)
{
    return (size_t)(td_larger(r->vectors, widest(r)) * widest(r) * td_reflector_element(r));
}

/* Of cuBLAS in each stream: V'C has few elements, whose long sums blocks share where they have
 * memory for that. A mode that makes all products needs none. */
static size_t cublas_bytes(const td_reflectors *r)
{
    const td_factor_products *by = r->place.by;
    return !by->engine || by->cut.least_terms > 0 ? TD_CUBLAS_WORKSPACE : 0;
}

static size_t cublas_at(const td_reflectors *r)
{
    const size_t bytes = bytes_of_panels(r) + bytes_of_block(r) + PRODUCTS * product_bytes(r);
    return (size_t)td_round_up((int64_t)bytes, ALIGNMENT);
}

/* A panel may be applied while the next one is made. */
static size_t all_bytes(const td_reflectors *r) { return cublas_at(r) + STREAMS * cublas_bytes(r); }

td_run_status td_reflector_begin(td_reflectors *r, cudaStream_t program)
{
    const td_run_status status = td_workspace_acquire_beside(
        &r->workspace, r->place.device, program, all_bytes(r), &r->place.workspace_limit);
    r->stream = program;
    if (status != TD_RUN_DONE) return status;
    r->cublas = (char *)r->workspace.memory + cublas_at(r);
    if (td_stream_is_capturing(program)) return TD_RUN_DONE;
    r->ahead = td_ahead_take(r->place.device);
    if (r->ahead) r->stream = r->ahead->stream;
    return TD_RUN_DONE;
}

void td_reflector_end(td_reflectors *r, cudaStream_t program)
{
    if (r->ahead) td_ahead_give_back(r->ahead);
    td_workspace_release(&r->workspace, program);
}

td_qr_panel td_reflector_panel(const td_reflectors *r, int64_t first, int64_t turn)
{
    const size_t work = work_bytes(r), number = (size_t)(turn % PANELS);
    const int64_t bytes = td_reflector_element(r);
    return (td_qr_panel){.is_complex = td_reflector_is_complex(r),
                         .a = (char *)r->a + (first + first * r->ld) * bytes,
                         .ld = r->ld,
                         .rows = r->rows - first,
                         .columns = (int)td_smaller(r->cut.panel, r->count - first),
                         .tau = (char *)r->tau + first * bytes,
                         .work = (char *)r->workspace.memory + number * work,
                         .shared_work = (char *)r->workspace.memory + PANELS * work};
}

static char *behind_panels(const td_reflectors *r)
{
    return (char *)r->workspace.memory + bytes_of_panels(r);
}

td_matrix td_reflector_product(const td_reflectors *r, int which, int64_t at)
{
    char *const all = behind_panels(r) + bytes_of_block(r) + (size_t)which * product_bytes(r);
    return (td_matrix){.data = all + at * widest(r) * td_reflector_element(r), .ld = widest(r)};
}

td_matrix td_reflector_row_product(const td_reflectors *r, int which)
{
    td_matrix x = td_reflector_product(r, which, 0);
    x.ld = td_larger(r->vectors, widest(r));
    return x;
}

td_reflection td_reflection_of(const td_qr_panel *panel)
{
    return (td_reflection){.v = td_reflector_v(panel),
                           .t = {.data = td_qr_t(panel), .ld = TD_QR_COLUMNS},
                           .rows = panel->rows,
                           .columns = panel->columns,
                           .is_embedded = panel->is_complex};
}

td_matrix td_reflector_from(const td_reflectors *r, td_matrix x, int64_t row, int64_t column)
{
    return (td_matrix){.data = (char *)x.data + (row + column * x.ld) * td_reflector_element(r),
                       .ld = x.ld};
}

td_reflection td_reflector_block(const td_reflectors *r, int64_t first, int64_t columns)
{
    const td_matrix v = {.data = behind_panels(r), .ld = block_ld(r)};
    td_matrix t = td_reflector_from(r, v, 0, r->cut.block);
    t.ld = r->cut.block;
    return (td_reflection){
        .v = v, .t = t, .rows = r->rows - first, .columns = columns, .is_block = true};
}

td_reflection td_reflector_of_block(const td_reflectors *r, int64_t first, int64_t at)
{
    const td_reflection block = td_reflector_block(r, first, r->cut.block);
    const int64_t before = at - first;
    return (td_reflection){.v = td_reflector_from(r, block.v, before, before),
                           .t = td_reflector_from(r, block.t, before, before),
                           .rows = block.rows - before,
                           .columns = r->cut.panel};
}

td_loan td_reflector_loan(const td_reflectors *r, cudaStream_t stream)
{
    const size_t bytes = cublas_bytes(r);
    return (td_loan){.memory = r->cublas + (stream == r->stream ? 0 : bytes), .bytes = bytes};
}
