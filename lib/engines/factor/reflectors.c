#include "reflectors.h"

#include "../../routine/sizes.h"

/* ---- products ---- */

/* A matrix with an operation. */
typedef struct {
    td_matrix matrix;
    td_op op;
} operand;

static operand as_is(td_matrix x) { return (operand){x, TD_OP_N}; }
static operand transposed(const td_reflectors *r, td_matrix x)
{
    return (operand){x, td_adjoint(r->type)};
}

typedef struct {
    int64_t m, n, k;
} sizes;

/* C <- op(A) op(B), C + op(A) op(B), or C - op(A) op(B). */
typedef enum { MAKES, ADDS, TAKES_OFF } effect;

/* A product that is due. */
typedef struct {
    operand a, b;
    td_matrix c;
    sizes of;
    effect does;
} update;

static td_product product_of(td_type type, update x, cudaStream_t stream)
{
    return (td_product){.routine = TD_PRODUCT,
                        .type = type,
                        .op_a = x.a.op,
                        .op_b = x.b.op,
                        .m = x.of.m,
                        .n = x.of.n,
                        .k = x.of.k,
                        .alpha = td_scalar_of(type, x.does == TAKES_OFF ? -1.0 : 1.0),
                        .beta = td_scalar_of(type, x.does == MAKES ? 0.0 : 1.0),
                        .a = x.a.matrix,
                        .b = x.b.matrix,
                        .c = x.c,
                        .batch = 1,
                        .stream = stream};
}

static const td_factor_products by_cublas = {.engine = NULL};

/* True if the mode makes what so many reflectors at a time have to do with. */
static bool is_by_mode(const td_reflectors *r, int64_t reflectors)
{
    return r->place.by->engine && reflectors >= r->place.by->cut.least_terms;
}

/* By the mode, or by cuBLAS where so few reflectors at a time have to do with the product. */
static td_run_status run_product(const td_reflectors *r, int64_t reflectors, td_product product)
{
    td_factor_place place = r->place;
    if (!is_by_mode(r, reflectors)) place.by = &by_cublas;
    product.lent = td_reflector_loan(r, product.stream);
    return td_factor_multiply(&place, &product);
}

static td_run_status multiply(const td_reflectors *r, int64_t reflectors, update x,
                              cudaStream_t stream)
{
    return run_product(r, reflectors, product_of(r->type, x, stream));
}

/* C, n columns, is to become (I - V op(T) V') C, by way of W = V'C and T W. */
typedef struct {
    td_reflection by;
    td_op op;
    td_matrix c, w, tw;
    int64_t n;
} application;

static td_run_status apply(const td_reflectors *r, const application *x, cudaStream_t stream)
{
    const td_reflection *by = &x->by;
    const int64_t rows = by->rows, k = by->columns, n = x->n;
    const update first = {transposed(r, by->v), as_is(x->c), x->w, {k, n, rows}, MAKES},
                 second = {{by->t, x->op}, as_is(x->w), x->tw, {k, n, k}, MAKES},
                 last = {as_is(by->v), as_is(x->tw), x->c, {rows, n, k}, TAKES_OFF};
    td_run_status status = multiply(r, k, first, stream);
    if (status == TD_RUN_DONE) status = multiply(r, k, second, stream);
    return status == TD_RUN_DONE ? multiply(r, k, last, stream) : TD_RUN_FAILED;
}

/* A matrix of complex columns as one of real columns, of twice as many numbers. */
static td_matrix as_real(td_matrix x) { return (td_matrix){.data = x.data, .ld = 2 * x.ld}; }

/* By real products, with V and T as they are embedded (qr.h). */
static td_run_status apply_as_real(const td_reflectors *r, const application *x,
                                   cudaStream_t stream)
{
    const td_reflection *by = &x->by;
    const application embedded = {
        .by = {.v = by->v, .t = by->t, .rows = 2 * by->rows, .columns = 2 * by->columns},
        .op = x->op == TD_OP_N ? TD_OP_N : TD_OP_T,
        .c = as_real(x->c),
        .w = as_real(x->w),
        .tw = as_real(x->tw),
        .n = x->n};
    td_reflectors real = *r;
    real.type = TD_BINARY64;
    real.place.by = &by_cublas;
    return apply(&real, &embedded, stream);
}

/* ---- blocks that are applied ---- */

/* A triangle op(T), zeros beside it included, and the side on which it has numbers. */
typedef struct {
    operand of;
    int64_t size;
    bool is_upper;
} triangle;

/* Y, n columns, gets the product of a triangle with X. */
typedef struct {
    td_matrix x, y;
    int64_t n;
    effect does;
} target;

static operand part_of(const td_reflectors *r, operand x, int64_t row, int64_t column)
{
    const bool is_plain = x.op == TD_OP_N;
    return (operand){
        td_reflector_from(r, x.matrix, is_plain ? row : column, is_plain ? column : row), x.op};
}

/* Rows of a triangle from `row` on, and its columns from `column` on, so many of each. */
typedef struct {
    int64_t row, rows, column, columns;
} part;

static update update_of(const td_reflectors *r, const triangle *t, part of, const target *to,
                        effect does)
{
    return (update){part_of(r, t->of, of.row, of.column),
                    as_is(td_reflector_from(r, to->x, of.column, 0)),
                    td_reflector_from(r, to->y, of.row, 0),
                    {of.rows, to->n, of.columns},
                    does};
}

/* Columns of the squares on a triangle's diagonal. */
static int64_t square_of(const td_reflectors *r, const triangle *t)
{
    return r->cut.square > 0 ? td_smaller(r->cut.square, t->size) : t->size;
}

/* A triangle's rows are made an eighth at a time, but no fewer than a panel has columns. */
enum { PIECES = 8 };

/* The squares on the diagonal, some rows of one at a time, as far as these have numbers. */
static td_run_status multiply_diagonal(const td_reflectors *r, const triangle *t, const target *to,
                                       cudaStream_t stream)
{
    const int64_t square = square_of(r, t), rows = td_larger(r->cut.panel, t->size / PIECES);
    td_run_status status = TD_RUN_DONE;
    part of = {0, 0, 0, 0};
    for (; of.row < t->size && status == TD_RUN_DONE; of.row += of.rows) {
        const int64_t first = of.row / square * square,
                      behind = td_smaller(first + square, t->size);
        of.rows = td_smaller(rows, behind - of.row);
        of.column = t->is_upper ? of.row : first;
        of.columns = (t->is_upper ? behind : of.row + of.rows) - of.column;
        status = multiply(r, r->cut.panel, update_of(r, t, of, to, to->does), stream);
    }
    return status;
}

/* The squares beside these, each as large as all of the diagonal beside it. */
static td_run_status multiply_beside(const td_reflectors *r, const triangle *t, const target *to,
                                     cudaStream_t stream)
{
    const effect does = to->does == MAKES ? ADDS : to->does;
    td_run_status status = TD_RUN_DONE;
    for (int64_t size = square_of(r, t); size < t->size; size *= 2)
        for (int64_t at = 0; at + size < t->size && status == TD_RUN_DONE; at += 2 * size) {
            const int64_t other = at + size, left = td_smaller(size, t->size - other);
            const part of =
                t->is_upper ? (part){at, size, other, left} : (part){other, left, at, size};
            status = multiply(r, of.columns, update_of(r, t, of, to, does), stream);
        }
    return status;
}

static td_run_status multiply_triangle(const td_reflectors *r, triangle t, target to,
                                       cudaStream_t stream)
{
    const td_run_status status = multiply_diagonal(r, &t, &to, stream);
    return status == TD_RUN_DONE ? multiply_beside(r, &t, &to, stream) : status;
}

/* W becomes V'C. */
static td_run_status gather(const td_reflectors *r, const application *x, cudaStream_t stream)
{
    const td_reflection *by = &x->by;
    const int64_t k = by->columns, rows = by->rows - k;
    const triangle head = {transposed(r, by->v), k, true};
    const update below = {transposed(r, td_reflector_from(r, by->v, k, 0)),
                          as_is(td_reflector_from(r, x->c, k, 0)),
                          x->w,
                          {k, x->n, rows},
                          by->meets_zeros ? MAKES : ADDS};
    td_run_status status = TD_RUN_DONE;
    if (!by->meets_zeros)
        status = multiply_triangle(r, head, (target){x->c, x->w, x->n, MAKES}, stream);
    return status == TD_RUN_DONE && rows > 0 ? multiply(r, k, below, stream) : status;
}

/* C becomes C - V T W. */
static td_run_status take_off(const td_reflectors *r, const application *x, cudaStream_t stream)
{
    const td_reflection *by = &x->by;
    const int64_t k = by->columns, rows = by->rows - k;
    const triangle head = {as_is(by->v), k, false};
    const update below = {as_is(td_reflector_from(r, by->v, k, 0)),
                          as_is(x->tw),
                          td_reflector_from(r, x->c, k, 0),
                          {rows, x->n, k},
                          TAKES_OFF};
    td_run_status status = rows > 0 ? multiply(r, k, below, stream) : TD_RUN_DONE;
    if (status != TD_RUN_DONE) return status;
    status = multiply_triangle(r, head, (target){x->tw, x->c, x->n, TAKES_OFF}, stream);
    return status == TD_RUN_DONE ? TD_RUN_DONE : TD_RUN_BROKEN;
}

/* As apply(), but triangles are made in parts: a mode certifies products by the means of their
 * lines alone where no element of these is 0, which is so below V's triangle. */
static td_run_status apply_block(const td_reflectors *r, const application *x, cudaStream_t stream)
{
    const triangle t = {{x->by.t, x->op}, x->by.columns, x->op == TD_OP_N};
    td_run_status status = gather(r, x, stream);
    if (status == TD_RUN_DONE)
        status = multiply_triangle(r, t, (target){x->w, x->tw, x->n, MAKES}, stream);
    return status == TD_RUN_DONE ? take_off(r, x, stream) : TD_RUN_FAILED;
}

td_run_status td_reflector_apply(const td_reflectors *r, const td_reflection *by, td_op op,
                                 td_matrix c, int64_t n, int64_t at, cudaStream_t stream)
{
    const application x = {
        *by, op, c, td_reflector_product(r, 0, at), td_reflector_product(r, 1, at), n};
    const bool by_real = by->is_embedded && r->multiplies_real && !is_by_mode(r, by->columns);
    if (n <= 0) return TD_RUN_DONE;
    if (by->is_block) return apply_block(r, &x, stream);
    return by_real ? apply_as_real(r, &x, stream) : apply(r, &x, stream);
}

td_run_status td_reflector_apply_right(const td_reflectors *r, const td_reflection *by, td_op op,
                                       td_matrix c, int64_t m, cudaStream_t stream)
{
    const int64_t rows = by->rows, k = by->columns;
    const td_matrix w = td_reflector_row_product(r, 0), wt = td_reflector_row_product(r, 1);
    const update first = {as_is(c), as_is(by->v), w, {m, k, rows}, MAKES},
                 second = {as_is(w), {by->t, op}, wt, {m, k, k}, MAKES},
                 last = {as_is(wt), transposed(r, by->v), c, {m, rows, k}, TAKES_OFF};
    if (m <= 0) return TD_RUN_DONE;
    td_run_status status = multiply(r, k, first, stream);
    if (status == TD_RUN_DONE) status = multiply(r, k, second, stream);
    return status == TD_RUN_DONE ? multiply(r, k, last, stream) : TD_RUN_FAILED;
}

/* ---- blocks ---- */

/* Copies a matrix of so many rows and columns, under `zeros` rows of zeros. */
static bool copy(const td_reflectors *r, td_matrix to, td_matrix x, int64_t zeros, int64_t rows,
                 int64_t columns, cudaStream_t stream)
{
    const size_t bytes = (size_t)td_reflector_element(r);
    return td_cuda_ok(cudaMemset2DAsync(to.data, (size_t)to.ld * bytes, 0, (size_t)zeros * bytes,
                                        (size_t)columns, stream)) &&
           td_cuda_ok(cudaMemcpy2DAsync(td_reflector_from(r, to, zeros, 0).data,
                                        (size_t)to.ld * bytes, x.data, (size_t)x.ld * bytes,
                                        (size_t)rows * bytes, (size_t)columns,
                                        cudaMemcpyDeviceToDevice, stream));
}

td_run_status td_reflector_keep(const td_reflectors *r, const td_qr_panel *panel, int64_t first,
                                int64_t at, cudaStream_t stream)
{
    const td_reflection x = td_reflection_of(panel),
                        block = td_reflector_block(r, first, r->cut.block);
    const int64_t before = at - first, columns = x.columns,
                  below = block.columns - before - columns;
    const td_matrix t = td_reflector_from(r, block.t, 0, before);
    const size_t bytes = (size_t)td_reflector_element(r);
    return copy(r, td_reflector_from(r, block.v, 0, before), x.v, before, x.rows, columns,
                stream) &&
                   copy(r, t, x.t, before, columns, columns, stream) &&
                   td_cuda_ok(cudaMemset2DAsync(td_reflector_from(r, t, before + columns, 0).data,
                                                (size_t)t.ld * bytes, 0, (size_t)below * bytes,
                                                (size_t)columns, stream))
               ? TD_RUN_DONE
               : TD_RUN_FAILED;
}

/* Only from the panel's diagonal on has v rows that are not 0. */
td_run_status td_reflector_join(const td_reflectors *r, int64_t first, int64_t at,
                                cudaStream_t stream)
{
    const td_reflection block = td_reflector_block(r, first, r->cut.block);
    const int64_t before = at - first, columns = r->cut.panel, rows = block.rows - before;
    const td_matrix v = td_reflector_from(r, block.v, before, before),
                    t = td_reflector_from(r, block.t, before, before),
                    above = td_reflector_from(r, block.t, 0, before),
                    vv = td_reflector_product(r, 0, before),
                    vvt = td_reflector_product(r, 1, before);
    const update of[] = {{transposed(r, td_reflector_from(r, block.v, before, 0)),
                          as_is(v),
                          vv,
                          {before, columns, rows},
                          MAKES},
                         {as_is(vv), as_is(t), vvt, {before, columns, columns}, MAKES},
                         {as_is(block.t), as_is(vvt), above, {before, columns, before}, TAKES_OFF}};
    td_run_status status = TD_RUN_DONE;
    for (int i = 0; i < 3 && before > 0 && status == TD_RUN_DONE; i++)
        status = multiply(r, columns, of[i], stream);
    return status;
}

/* ---- finished reflectors ---- */

/* V'V is one of real matrices, in which complex ones are embedded. */
td_run_status td_reflector_take(const td_reflectors *r, const td_qr_panel *panel,
                                cudaStream_t stream)
{
    const int64_t parts = td_reflector_is_complex(r) ? 2 : 1, columns = parts * panel->columns;
    const td_matrix v = td_reflector_v(panel),
                    products = {.data = td_qr_products(panel), .ld = TD_QR_COLUMNS};
    const update of = {
        {v, TD_OP_T}, as_is(v), products, {columns, columns, parts * panel->rows}, MAKES};
    if (!td_cuda_ok(td_qr_take_run(panel, stream))) return TD_RUN_FAILED;
    const td_run_status status =
        run_product(r, panel->columns, product_of(TD_BINARY64, of, stream));
    if (status != TD_RUN_DONE) return status;
    return td_done_if(td_qr_triangle_run(panel, stream));
}

/* Of V the rows beside the unit matrix are its first, a triangle with zeros above it. */
td_run_status td_reflector_form(const td_reflectors *r, const td_reflection *by, td_matrix a,
                                cudaStream_t stream)
{
    const int64_t k = by->columns, rows = by->rows;
    const td_matrix w = td_reflector_product(r, 0, 0);
    if (!td_cuda_ok(td_qr_unit_run(td_reflector_is_complex(r), a.data, a.ld, rows, k, 0, stream)))
        return TD_RUN_FAILED;
    const update first = {as_is(by->t), transposed(r, by->v), w, {k, k, k}, MAKES},
                 last = {as_is(by->v), as_is(w), a, {rows, k, k}, TAKES_OFF};
    td_run_status status = multiply(r, k, first, stream);
    if (status == TD_RUN_DONE) status = multiply(r, k, last, stream);
    return status == TD_RUN_DONE ? TD_RUN_DONE : TD_RUN_BROKEN;
}
