#include "reflectors.h"

#include "../../routine/sizes.h"

/* ---- memory: panels, what they share, and two products with V ---- */

enum { PANELS = 2, PRODUCTS = 2 };

_Static_assert((int)TD_QR_WIDEST == (int)TD_QR_COLUMNS, "steps are of other panels");

static bool is_complex(const td_reflectors *r) { return r->type == TD_COMPLEX_BINARY64; }

/* Most columns of a panel. */
static int64_t widest(const td_reflectors *r) { return TD_QR_COLUMNS / (is_complex(r) ? 2 : 1); }

static size_t product_bytes(const td_reflectors *r)
{
    return (size_t)(td_larger(r->vectors, widest(r)) * widest(r)) * (size_t)td_types[r->type].size;
}

static size_t work_bytes(const td_reflectors *r)
{
    return td_qr_work_bytes(r->rows, is_complex(r));
}

static size_t bytes_of_panels(const td_reflectors *r)
{
    return PANELS * work_bytes(r) + td_qr_shared_work_bytes(r->rows, is_complex(r));
}

/* A panel may be applied while the next one is made. */
static size_t all_bytes(const td_reflectors *r)
{
    return bytes_of_panels(r) + PRODUCTS * product_bytes(r);
}

td_run_status td_reflector_begin(td_reflectors *r, cudaStream_t program)
{
    const td_run_status status =
        td_workspace_acquire_all(&r->workspace, r->place.device, program, all_bytes(r));
    r->stream = program;
    if (status != TD_RUN_DONE || td_stream_is_capturing(program)) return status;
    r->ahead = td_ahead_take(r->place.device);
    if (r->ahead) r->stream = r->ahead->stream;
    return TD_RUN_DONE;
}

void td_reflector_end(td_reflectors *r, cudaStream_t program)
{
    if (r->ahead) td_ahead_give_back(r->ahead);
    td_workspace_release(&r->workspace, program);
}

td_qr_panel td_reflector_panel(const td_reflectors *r, int64_t first)
{
    const size_t work = work_bytes(r), number = (size_t)(first / r->width % PANELS);
    const int64_t bytes = td_types[r->type].size;
    return (td_qr_panel){.is_complex = is_complex(r),
                         .a = (char *)r->a + (first + first * r->ld) * bytes,
                         .ld = r->ld,
                         .rows = r->rows - first,
                         .columns = (int)td_smaller(r->width, r->count - first),
                         .tau = (char *)r->tau + first * bytes,
                         .work = (char *)r->workspace.memory + number * work,
                         .shared_work = (char *)r->workspace.memory + PANELS * work};
}

/* Columns of widest(r) rows each, from number `at` on. */
static td_matrix product_at(const td_reflectors *r, int which, int64_t at)
{
    char *const all =
        (char *)r->workspace.memory + bytes_of_panels(r) + (size_t)which * product_bytes(r);
    return (td_matrix){.data = all + at * widest(r) * td_types[r->type].size, .ld = widest(r)};
}

/* `vectors` rows of widest(r) columns. */
static td_matrix rows_of_product(const td_reflectors *r, int which)
{
    td_matrix x = product_at(r, which, 0);
    x.ld = td_larger(r->vectors, widest(r));
    return x;
}

static td_matrix v_of(const td_qr_panel *panel)
{
    return (td_matrix){.data = td_qr_v(panel), .ld = td_qr_ld(panel)};
}

static td_matrix t_of(const td_qr_panel *panel)
{
    return (td_matrix){.data = td_qr_t(panel), .ld = TD_QR_COLUMNS};
}

/* ---- products ---- */

/* A matrix with an operation. */
typedef struct {
    td_matrix matrix;
    td_op op;
} operand;

static operand as_is(td_matrix x) { return (operand){x, TD_OP_N}; }
static operand transposed(const td_reflectors *r, td_matrix x)
{
    return (operand){x, td_qr_transpose(r->type)};
}

typedef struct {
    int64_t m, n, k;
} sizes;

/* C <- op(A) op(B), or, if it takes_off, C - op(A) op(B). */
static td_product product_of(td_type type, operand a, operand b, td_matrix c, sizes of,
                             bool takes_off, cudaStream_t stream)
{
    return (td_product){.routine = TD_PRODUCT,
                        .type = type,
                        .op_a = a.op,
                        .op_b = b.op,
                        .m = of.m,
                        .n = of.n,
                        .k = of.k,
                        .alpha = td_scalar_of(type, takes_off ? -1.0 : 1.0),
                        .beta = td_scalar_of(type, takes_off ? 1.0 : 0.0),
                        .a = a.matrix,
                        .b = b.matrix,
                        .c = c,
                        .batch = 1,
                        .stream = stream};
}

static td_run_status multiply(const td_reflectors *r, operand a, operand b, td_matrix c, sizes of,
                              bool takes_off, cudaStream_t stream)
{
    const td_product product = product_of(r->type, a, b, c, of, takes_off, stream);
    return td_factor_multiply(&r->place, &product);
}

td_run_status td_reflector_apply(const td_reflectors *r, const td_qr_panel *panel, td_op op,
                                 td_matrix c, int64_t n, int64_t at, cudaStream_t stream)
{
    const int64_t rows = panel->rows, k = panel->columns;
    const td_matrix v = v_of(panel), w = product_at(r, 0, at), tw = product_at(r, 1, at);
    if (n <= 0) return TD_RUN_DONE;
    td_run_status status =
        multiply(r, transposed(r, v), as_is(c), w, (sizes){k, n, rows}, false, stream);
    if (status == TD_RUN_DONE)
        status =
            multiply(r, (operand){t_of(panel), op}, as_is(w), tw, (sizes){k, n, k}, false, stream);
    if (status == TD_RUN_DONE)
        status = multiply(r, as_is(v), as_is(tw), c, (sizes){rows, n, k}, true, stream);
    return status;
}

td_run_status td_reflector_apply_right(const td_reflectors *r, const td_qr_panel *panel, td_op op,
                                       td_matrix c, int64_t m, cudaStream_t stream)
{
    const int64_t rows = panel->rows, k = panel->columns;
    const td_matrix v = v_of(panel), w = rows_of_product(r, 0), wt = rows_of_product(r, 1);
    if (m <= 0) return TD_RUN_DONE;
    td_run_status status = multiply(r, as_is(c), as_is(v), w, (sizes){m, k, rows}, false, stream);
    if (status == TD_RUN_DONE)
        status =
            multiply(r, as_is(w), (operand){t_of(panel), op}, wt, (sizes){m, k, k}, false, stream);
    if (status == TD_RUN_DONE)
        status = multiply(r, as_is(wt), transposed(r, v), c, (sizes){m, rows, k}, true, stream);
    return status;
}

/* ---- finished reflectors ---- */

/* V'V is one of real matrices, in which complex ones are embedded. */
td_run_status td_reflector_take(const td_reflectors *r, const td_qr_panel *panel,
                                cudaStream_t stream)
{
    const int64_t parts = is_complex(r) ? 2 : 1, columns = parts * panel->columns;
    const td_matrix v = v_of(panel),
                    products = {.data = td_qr_products(panel), .ld = TD_QR_COLUMNS};
    const td_product product =
        product_of(TD_BINARY64, (operand){v, TD_OP_T}, as_is(v), products,
                   (sizes){columns, columns, parts * panel->rows}, false, stream);
    if (!td_cuda_ok(td_qr_take_run(panel, stream))) return TD_RUN_FAILED;
    const td_run_status status = td_factor_multiply(&r->place, &product);
    if (status != TD_RUN_DONE) return status;
    return td_cuda_ok(td_qr_triangle_run(panel, stream)) ? TD_RUN_DONE : TD_RUN_FAILED;
}

/* Of V the rows beside the unit matrix are its first, a triangle with zeros above it. */
td_run_status td_reflector_form(const td_reflectors *r, const td_qr_panel *panel,
                                cudaStream_t stream)
{
    const int64_t k = panel->columns;
    const td_matrix v = v_of(panel), w = product_at(r, 0, 0),
                    a = {.data = panel->a, .ld = panel->ld};
    if (!td_cuda_ok(td_qr_unit_run(is_complex(r), panel->a, panel->ld, panel->rows, k, 0, stream)))
        return TD_RUN_FAILED;
    const td_run_status status =
        multiply(r, as_is(t_of(panel)), transposed(r, v), w, (sizes){k, k, k}, false, stream);
    if (status != TD_RUN_DONE) return status;
    return multiply(r, as_is(v), as_is(w), a, (sizes){panel->rows, k, k}, true, stream);
}
