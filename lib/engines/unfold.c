#include "unfold.h"

#include "../../kernels/unfold/unfold.h"
#include "../routine/real.h"
#include "../cuda/workspace.h"
#include "tiler.h"

/* Real numbers that a line's start is aligned to in memory. */
enum { LINE_ALIGNMENT = 16 };

typedef struct {
    const td_engine *engine;
    td_parameter parameter;
    td_device *device;
    td_counters *counters;
    const td_product *p;
    td_real_product real; /* what stands for p, of all members */

    /* Of the factors that are written out: how many members, lines and real numbers. */
    struct {
        bool is_unfolded;
        int64_t members, lines, k, ld;
        size_t at;
    } factor[2];
    size_t t, before, scalars; /* where these are, if there are any */
    bool keeps_t, keeps_before, keeps_scalars;
    int64_t members; /* that are unfolded at a time */
    char *workspace;
} unfolding;

static bool is_complex(const td_product *p) { return p->type == TD_COMPLEX_BINARY64; }

/* ---- descriptions ---- */

/* The lines that a factor is written out as. */
static td_matrix unfolded(const unfolding *u, int which)
{
    const int64_t lines = u->factor[which].lines, ld = u->factor[which].ld;
    return (td_matrix){.data = u->workspace + u->factor[which].at,
                       .ld = ld,
                       .stride = u->factor[which].members == 1 ? 0 : lines * ld};
}

static td_unfold unfold_of(const unfolding *u, int which, int64_t z)
{
    const td_product *p = u->p;
    const int parts = td_product_has_rest(p) ? 2 : 1;
    td_unfold unfold = {.parts = parts,
                        .has_rows = which == 0,
                        .has_blocks = which == 0,
                        .lines = which ? p->n : p->m,
                        .k = p->k / parts,
                        .batch_first = z,
                        .scalar = p->alpha,
                        .scalar_is_real = !is_complex(p) || p->alpha_is_real,
                        .verdict = u->parameter.verdict};
    for (int i = 0; i < parts; i++) unfold.part[i] = td_folded_of(p, which, i);
    if (u->workspace) unfold.to = unfolded(u, which);
    return unfold;
}

td_complex_scalars td_unfold_scalars(const td_product *p)
{
    const td_window made = td_product_made(p);
    const td_region region = td_product_region(p);
    return (td_complex_scalars){.alpha = p->alpha,
                                .beta = p->beta,
                                .alpha_is_real = p->alpha_is_real,
                                .beta_is_real = p->beta_is_real,
                                .adds_mirror = p->adds_mirror,
                                .has_real_diagonal = p->has_real_diagonal,
                                .m = made.m,
                                .n = made.n,
                                .region = td_region_from(&region, made.i, made.j),
                                .c = td_product_made_c(p)};
}

static td_complex_scalars scalars_of(const unfolding *u, int64_t z)
{
    td_complex_scalars s = td_unfold_scalars(u->p);
    const td_matrix kept = {.ld = s.m, .stride = s.m * s.n};
    s.batch_first = z;
    s.verdict = u->parameter.verdict;
    if (!u->workspace) return s;
    if (u->keeps_t) {
        s.t = kept;
        s.t.data = u->workspace + u->t;
    }
    if (u->keeps_before) {
        s.before = kept;
        s.before.data = u->workspace + u->before;
    }
    if (u->keeps_scalars) s.real = (double *)(u->workspace + u->scalars);
    return s;
}

/* ---- the layout ---- */

static bool is_one_for_all(const td_matrix *x) { return !x->array && x->stride == 0; }

static void describe_factor(unfolding *u, int which)
{
    const td_product *p = u->p;
    const td_unfold unfold = unfold_of(u, which, 0);
    const td_matrix *const rest = which ? &p->rest_b : &p->rest_a;
    const bool is_one =
        is_one_for_all(which ? &p->b : &p->a) && (!td_product_has_rest(p) || is_one_for_all(rest));
    u->factor[which].is_unfolded = td_is_unfolded(p, which);
    u->factor[which].members = is_one ? 1 : u->members;
    u->factor[which].lines = td_unfolded_lines(&unfold);
    u->factor[which].k = td_unfolded_k(&unfold);
    u->factor[which].ld = td_round_up(u->factor[which].k, LINE_ALIGNMENT);
}

/* Of u->members; more than there can be where bytes cannot be counted. */
static size_t lay_out(unfolding *u)
{
    const td_window made = td_product_made(u->p);
    const double of_c = (double)made.m * (double)made.n * (double)u->members;
    const int64_t c_bytes = made.m * made.n * u->members * (int64_t)sizeof(td_complex_binary64);
    size_t end = 0;
    if (of_c > 0x1p56) return SIZE_MAX;
    for (int i = 0; i < 2; i++) {
        describe_factor(u, i);
        if (!u->factor[i].is_unfolded) continue;
        const int64_t lines = u->factor[i].lines * u->factor[i].members;
        if ((double)lines * (double)u->factor[i].ld > 0x1p56) return SIZE_MAX;
        u->factor[i].at = td_reserve(&end, lines * u->factor[i].ld * (int64_t)sizeof(double));
    }
    if (u->keeps_t) u->t = td_reserve(&end, c_bytes);
    if (u->keeps_before) u->before = td_reserve(&end, c_bytes);
    u->scalars = td_reserve(&end, 2 * (int64_t)sizeof(double));
    return end;
}

/* A td_planner. */
static size_t plan(void *of, size_t limit)
{
    unfolding *u = of;
    u->members = td_smaller(u->p->batch, TD_MAX_PART_MEMBERS);
    size_t bytes = lay_out(u);
    while (bytes > limit / 2 && td_halve(&u->members, 1)) bytes = lay_out(u);
    return bytes <= limit ? bytes : 0;
}

/* ---- running ---- */

static td_scalar real_number(double value) { return (td_scalar){.value.binary64 = value}; }

/* Of a scalar without an imaginary part: a real number, on the host or in device memory, or a
 * complex one on the host. */
static td_scalar real_part(const td_scalar *s, bool is_real)
{
    return is_real ? *s : real_number(s->value.complex_binary64.re);
}

/* The scalars of the product of real lines. */
static void set_scalars(const unfolding *u, const td_complex_scalars *s, td_real_product *real)
{
    if (!is_complex(u->p)) return;
    if (s->real) {
        real->alpha = (td_scalar){.device = s->real};
        real->beta = (td_scalar){.device = s->real + 1};
    } else if (td_scalars_are_real(s)) {
        real->alpha = real_part(&s->alpha, s->alpha_is_real);
        real->beta = real_part(&s->beta, s->beta_is_real);
    } else {
        real->alpha = real_number(1.0);
        real->beta = real_number(0.0);
    }
}

/* True if the real product makes C as it stays. */
static bool makes_result(const unfolding *u, const td_complex_scalars *s)
{
    const td_product *p = u->p;
    const bool has_triangle = p->form_a.storage == TD_STORED_TRIANGULAR ||
                              p->form_b.storage == TD_STORED_TRIANGULAR; /* elements are mended */
    return !has_triangle && (!is_complex(p) || (td_scalars_are_real(s) && !s->has_real_diagonal));
}

/* The product of the unfolded lines of members z .. */
static td_real_product real_of(const unfolding *u, const td_complex_scalars *s, int64_t z,
                               int batch)
{
    td_real_product real = u->real;
    real.batch = batch;
    real.c = td_members_from(&real.c, z, sizeof(double));
    if (u->keeps_t) {
        real.c = (td_matrix){
            .data = u->workspace + u->t, .ld = 2 * u->p->m, .stride = 2 * u->p->m * u->p->n};
        real.region = TD_REGION_ALL;
    }
    for (int i = 0; i < 2; i++) {
        td_matrix *const x = i ? &real.b : &real.a;
        *x = u->factor[i].is_unfolded ? unfolded(u, i) : td_members_from(x, z, sizeof(double));
    }
    if (td_has_lines_of_a(u->p)) {
        real.b = real.a;
        real.b.ld *= 2;
    }
    set_scalars(u, s, &real);
    if (!makes_result(u, s)) real.progress = NULL;
    return real;
}

static cudaError_t unfold_factors(const unfolding *u, int64_t z, int batch)
{
    cudaError_t error = cudaSuccess;
    for (int i = 0; i < 2 && error == cudaSuccess; i++) {
        if (!u->factor[i].is_unfolded || u->factor[i].k == 0) continue;
        const td_unfold unfold = unfold_of(u, i, z);
        error = td_unfold_run(&unfold, u->factor[i].members == 1 ? 1 : batch, u->p->stream);
    }
    return error;
}

/* The elements that a triangle's zeros must not have made NaN. All lines of a triangle are made. */
static cudaError_t mend_specials(const unfolding *u, const td_real_product *real)
{
    const td_product *p = u->p;
    const td_window made = td_real_made(real);
    const int64_t first[2] = {made.i, made.j}, lines[2] = {made.m, made.n};
    for (int i = 0; i < 2; i++) {
        const td_form *const form = i ? &p->form_b : &p->form_a;
        const bool is_transposed = (i ? p->op_b : p->op_a) != TD_OP_N;
        if (form->storage != TD_STORED_TRIANGULAR) continue;
        /* A line of the right factor is a column, whose terms go the other way. */
        const bool is_lower = (form->triangle == TD_LOWER) != is_transposed;
        const td_triangle_specials specials = {
            .triangle = td_view_of(real, i, 0, (int)(i ? real->n : real->m)),
            .other = td_view_of(real, !i, first[!i], (int)lines[!i]),
            .is_left = i == 0,
            .is_lower = is_lower == (i == 0),
            .term_shift = real->is_paired,
            .line_shift = real->is_paired && i == 0,
            .c = td_real_made_c(real),
            .alpha = real->alpha,
            .verdict = u->parameter.verdict,
        };
        const cudaError_t error = td_triangle_specials_run(&specials, (int)real->batch, p->stream);
        if (error != cudaSuccess) return error;
    }
    return cudaSuccess;
}

/* True if the real product makes C as the call is to leave it, so that cuBLAS's routine may do so
 * in its place. */
static bool may_be_made_whole(const unfolding *u, const td_complex_scalars *s)
{
    return (!is_complex(u->p) || td_scalars_are_real(s)) && u->members >= u->p->batch;
}

/* Members z ..; TD_RUN_BROKEN only if C may have been touched. */
static td_run_status run_members(const unfolding *u, int64_t z, size_t limit)
{
    const int batch = (int)td_smaller(u->members, u->p->batch - z);
    const td_complex_scalars s = scalars_of(u, z);
    const td_real_product real = real_of(u, &s, z, batch);
    cudaError_t error = unfold_factors(u, z, batch);
    if (error == cudaSuccess && is_complex(u->p))
        error = td_scalars_begin_run(&s, batch, u->p->stream);
    if (!td_cuda_ok(error)) return TD_RUN_FAILED;
    td_parameter parameter = u->parameter;
    if (!may_be_made_whole(u, &s)) parameter.native = NULL;
    const td_run_status status = u->engine->run(&real, parameter, u->device, limit, u->counters);
    if (status != TD_RUN_DONE) return status;
    error = mend_specials(u, &real);
    if (error == cudaSuccess && is_complex(u->p))
        error = td_scalars_end_run(&s, batch, u->p->stream);
    return td_cuda_ok(error) ? TD_RUN_DONE : TD_RUN_BROKEN;
}

static bool is_zero_on_host(const td_scalar *s, bool is_real)
{
    return !s->device &&
           (is_real ? s->value.binary64 == 0.0
                    : s->value.complex_binary64.re == 0.0 && s->value.complex_binary64.im == 0.0);
}

static void describe(unfolding *u)
{
    const td_complex_scalars s = scalars_of(u, 0);
    const bool are_real = !is_complex(u->p) || td_scalars_are_real(&s);
    u->keeps_t = u->p->adds_mirror;
    u->keeps_scalars = !are_real && !u->keeps_t && (s.alpha.device || s.beta.device);
    u->keeps_before = !are_real && !u->keeps_t && !is_zero_on_host(&s.beta, s.beta_is_real);
}

TD_LOADER(prepare, td_unfold_prepare, td_scalars_prepare)

td_run_status td_unfold_and_run(const td_engine *engine, const td_product *p,
                                td_parameter parameter, td_device *device, size_t workspace_limit,
                                td_counters *counters)
{
    unfolding u = {
        .engine = engine, .parameter = parameter, .device = device, .counters = counters, .p = p};
    td_workspace workspace;
    if (p->m > TD_UNFOLD_MOST / 2 || p->n > TD_UNFOLD_MOST / 2 || p->k > TD_UNFOLD_MOST / 2)
        return TD_RUN_TOO_LARGE;
    if (!td_device_load(device, prepare, 0)) return TD_RUN_FAILED;
    u.real = td_real_product_of(p);
    describe(&u);
    /* The engine may work in what is lent meanwhile. */
    td_run_status status =
        td_workspace_acquire(&workspace, device, p->stream, NULL, workspace_limit, plan, &u);
    if (status != TD_RUN_DONE) return status;
    u.workspace = workspace.memory;
    const size_t limit = workspace_limit - lay_out(&u);
    for (int64_t z = 0; z < p->batch && status == TD_RUN_DONE; z += u.members) {
        status = run_members(&u, z, limit);
        if (status != TD_RUN_DONE && z > 0) status = TD_RUN_BROKEN;
    }
    td_workspace_release(&workspace, p->stream);
    return status;
}
