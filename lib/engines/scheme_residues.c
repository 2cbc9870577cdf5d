/* scheme_residues.c - products of residues modulo N coprime moduli (Ozaki scheme II: Ozaki, Uchino, Imamura,
 * arXiv 2504.08009). If the data decide N, cuBLAS multiplies the residues that are needed always, and a kernel that knows
 * what was decided multiplies the others. */
#include "../../kernels/int8/panels.h"
#include "../../kernels/ozaki/moduli.h"
#include "../../kernels/ozaki/residues.h"
#include "part.h"
#include "scheme.h"

/* For C of few elements cuBLAS adds up a long k in pieces, and is more accurate than it is for many. */
enum { SMALL_PRODUCT = 1 << 22, FEWEST_IF_SMALL = 15 };

static int from_data(int64_t m, int64_t n)
{
    return m * n <= SMALL_PRODUCT ? FEWEST_IF_SMALL : TD_COMMON_MODULI;
}

static int base_moduli(td_parameter parameter) { return parameter.count; }
static int most_moduli(td_parameter parameter)
{
    return parameter.is_given ? parameter.count : TD_MAX_MODULI;
}

/* Where things are, and how far apart, in elements. */
typedef struct {
    int64_t lines[2], sums; /* padded lines of a member; sums of a member */
    int64_t sum_step;       /* from modulus to modulus */
    size_t plane[2], sum, bytes;
} layout;

static layout lay_out(td_parameter parameter, int64_t m, int64_t n, int64_t k_pass, int64_t batch)
{
    const int moduli = most_moduli(parameter);
    layout l = {.lines = {td_round_up(m, TD_LINE_PAD), td_round_up(n, TD_LINE_PAD)}};
    for (int o = 0; o < 2; o++)
        l.plane[o] = td_reserve(&l.bytes, moduli * l.lines[o] * k_pass * batch);
    l.sums = l.lines[0] * l.lines[1];
    l.sum_step = l.sums * batch;
    l.sum = td_reserve(&l.bytes, moduli * l.sum_step * (int64_t)sizeof(int32_t));
    return l;
}

static int64_t most_k(td_parameter parameter, int64_t k)
{
    (void)parameter, (void)k;
    return TD_RESIDUE_K;
}

static size_t bytes(td_parameter parameter, int64_t m, int64_t n, int64_t k, int64_t k_pass,
                    int64_t batch)
{
    (void)k;
    return lay_out(parameter, m, n, k_pass, batch).bytes;
}

static void choose(td_parameter parameter, int64_t k, td_choose *c)
{
    c->rule = TD_SCALE_BY_NORM;
    c->candidates = most_moduli(parameter) - base_moduli(parameter) + 1;
    for (int i = 0; i < c->candidates; i++) {
        const int moduli = base_moduli(parameter) + i, level = td_level(moduli, k);
        c->candidate[i] = (td_choice){.parameter = moduli,
                                      .level = level,
                                      .need = parameter.is_given ? INT32_MIN : td_scheme_need(k),
                                      .need_of_one = td_scheme_need_of_one(k),
                                      .rest = td_log_above((uint64_t)k) - 2 * TD_LOG};
        /* As if each scale lost half a bit to rounding, and the sums of both lines were alike. */
        c->limit[i] = (level - TD_LOG - td_scheme_need(k)) >> 8;
    }
}

/* Elements of a plane of sums, and of k, from which on cuBLAS is faster if it multiplies plane after plane; and the rows that it
 * takes at a time then: more of them do not share the caches well. */
enum { LARGE_PLANE = 1 << 23, LONG_PLANE = 2048, ROWS = 8192 };

static cudaError_t multiply_rows(const td_scheme_part *part, const td_panels *plane)
{
    td_panels rows = *plane;
    cudaError_t error = cudaSuccess;
    for (int64_t first = 0; first < plane->m && error == cudaSuccess; first += ROWS) {
        rows.m = td_smaller(ROWS, plane->m - first);
        rows.a = (const int8_t *)plane->a + first * plane->ld_a;
        rows.c = (int32_t *)plane->c + first;
        error = td_scheme_multiply(part, &rows);
    }
    return error;
}

static cudaError_t multiply_one_by_one(const td_scheme_part *part, td_panels panels)
{
    const int count = panels.count;
    cudaError_t error = cudaSuccess;
    panels.count = 1;
    for (int i = 0; i < count && error == cudaSuccess; i++) {
        error = multiply_rows(part, &panels);
        panels.a = (const int8_t *)panels.a + panels.stride_a;
        panels.b = (const int8_t *)panels.b + panels.stride_b;
        panels.c = (int32_t *)panels.c + panels.stride_c;
    }
    return error;
}

/* Moduli that are multiplied whatever the data. */
static cudaError_t multiply_base(const td_scheme_part *part, const layout *l, int64_t k_padded)
{
    const td_panels panels = {
        .type = TD_PANEL_INT8,
        .m = l->lines[0],
        .n = l->lines[1],
        .k = k_padded,
        .a = part->workspace + l->plane[0],
        .b = part->workspace + l->plane[1],
        .c = part->workspace + l->sum,
        .ld_a = k_padded,
        .ld_b = k_padded,
        .ld_c = l->lines[0],
        .stride_a = l->lines[0] * k_padded,
        .stride_b = l->lines[1] * k_padded,
        .stride_c = l->sums,
        .count = base_moduli(part->parameter) * part->fixed.batch,
        .accumulate = part->fixed.k_first > 0,
        .workspace = part->cublas_workspace,
        .workspace_bytes = part->cublas_bytes,
    };
    if (panels.m * panels.n >= LARGE_PLANE && panels.k >= LONG_PLANE)
        return multiply_one_by_one(part, panels);
    return td_scheme_multiply(part, &panels);
}

/* Those that the data may ask for. */
static cudaError_t multiply_others(const td_scheme_part *part, const layout *l, int64_t k_padded)
{
    const int base = base_moduli(part->parameter), batch = part->fixed.batch;
    const int64_t a_step = l->lines[0] * k_padded, b_step = l->lines[1] * k_padded;
    const int64_t first = (int64_t)base * batch; /* plane */
    if (part->parameter.is_given) return cudaSuccess;
    const td_int8_multiply multiply = {
        .a = (const int8_t *)(part->workspace + l->plane[0]) + first * a_step,
        .b = (const int8_t *)(part->workspace + l->plane[1]) + first * b_step,
        .c = (int32_t *)(part->workspace + l->sum) + first * l->sums,
        .m = l->lines[0],
        .n = l->lines[1],
        .k = k_padded,
        .ld_a = k_padded,
        .ld_b = k_padded,
        .ld_c = l->lines[0],
        .stride_a = a_step * batch,
        .stride_b = b_step * batch,
        .stride_c = l->sum_step,
        .batch_a = a_step,
        .batch_b = b_step,
        .batch_c = l->sums,
        .planes = TD_MAX_MODULI - base,
        .batch = batch,
        .accumulate = part->fixed.k_first > 0,
        .choice = part->fixed.choice,
        .plane_first = base,
    };
    return td_int8_multiply_run(&multiply, part->stream);
}

static td_residue_sums sums_of(const td_scheme_part *part, const layout *l)
{
    return (td_residue_sums){
        .sum = (int32_t *)(part->workspace + l->sum),
        .sum_step = l->sum_step,
        .batch_step = l->sums,
        .m_padded = l->lines[0],
    };
}

static layout layout_of(const td_scheme_part *part)
{
    return lay_out(part->parameter, part->finish.target.m, part->finish.target.n, part->k_pass,
                   part->fixed.batch);
}

static cudaError_t split(const td_scheme_part *part, const layout *l, int64_t k_padded)
{
    td_residues residues = {.fixed = part->fixed};
    for (int o = 0; o < 2; o++) {
        residues.plane[o] = (int8_t *)(part->workspace + l->plane[o]);
        residues.plane_step[o] = l->lines[o] * k_padded * part->fixed.batch;
    }
    return td_residues_run(&residues, part->stream);
}

static cudaError_t multiply_pass(const td_scheme_part *part, const void *lay)
{
    const layout *l = lay;
    const int64_t k_padded = td_round_up(part->fixed.k_count, TD_K_PAD);
    const td_residue_sums sums = sums_of(part, l);
    cudaError_t error = cudaSuccess;
    if (part->fixed.k_first > 0)
        error = td_residues_reduce(&sums, part->fixed.choice, most_moduli(part->parameter), l->sums,
                                   part->fixed.batch, part->stream);
    if (error == cudaSuccess) error = split(part, l, k_padded);
    if (error == cudaSuccess) error = multiply_base(part, l, k_padded);
    return error == cudaSuccess ? multiply_others(part, l, k_padded) : error;
}

static cudaError_t multiply(const td_scheme_part *part)
{
    const layout l = layout_of(part);
    return td_scheme_passes(part, &l, multiply_pass);
}

static cudaError_t finish(const td_scheme_part *part)
{
    const layout l = layout_of(part);
    const td_residue_sums sums = sums_of(part, &l);
    return td_residues_finish(&sums, base_moduli(part->parameter), most_moduli(part->parameter),
                              &part->finish, part->fixed.batch, part->stream);
}

static cudaError_t prepare(void)
{
    cudaError_t error = td_residues_prepare();
    if (error == cudaSuccess) error = td_int8_multiply_prepare();
    return error == cudaSuccess ? td_crt_prepare() : error;
}

const td_scheme td_scheme_residues = {
    .needs_cublas = true,
    .prepare = prepare,
    .from_data = from_data,
    .most_k = most_k,
    .bytes = bytes,
    .choose = choose,
    .multiply = multiply,
    .finish = finish,
};
