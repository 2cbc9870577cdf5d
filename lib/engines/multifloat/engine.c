/* engine.c - modes df, ts, dd and d+s: cuts a product into parts that fit the workspace, and
 * enqueues scan, pack, multiply, join and repair for each. The parts change no bit of C: the order
 * of every sum depends on k alone. */
#include "engine.h"

#include <string.h>

#include "../../../kernels/arithmetic/order.h"
#include "../../cuda/device.h"
#include "../../model/cost.h"
#include "../../model/route.h"
#include "../proven.h"
#include "../tiler.h"

/* Most elements of k of a part: as TD_MAX_PART_LINES. */
enum { MAX_K = 1 << 20 };

/* Fewest elements of a line that are worth a block of their own in the scan. */
enum { LEAST_CHUNK = 128 };

/* Shared memory that CUDA keeps of each block. */
enum { SHARED_RESERVED = 1024 };

/* What the operands and C are. */
typedef struct {
    const td_format *format;
    td_type type; /* of matrices: binary64, or one of the format's own */
    bool is_shortened;
} arithmetic;

/* Sizes of the parts, and where their workspace begins. */
typedef struct {
    const td_format *format;
    td_type type;
    bool has_shared;    /* the device has shared memory for running sums */
    td_part_sizes part; /* k_pass is all of k, or a multiple of TD_SUPERBLOCK */
    int64_t k;          /* of the product */
    int64_t chunk;      /* of a line, for the scan */
    int chunks;         /* the same */

    /* Superblocks of the last tiles of a part, so many, go to several thread blocks. */
    int64_t spread_tiles;
    int slots, blocks_per_tile;

    /* Offsets, and the total. */
    size_t partial[2], range[2], panel[2], sums, masks, bytes;
} mf_plan;

/* What every part has in common. */
typedef struct {
    const td_real_product *p;
    const arithmetic *in;
    td_device *device;
    td_route_terms terms; /* of repairs */
    td_counters *counters;
    mf_plan plan;
    char *workspace;
} mf_product;

/* True if sums of superblocks are kept in device memory: there are several, and one launch cannot
 * do with a running sum in shared memory. */
static bool keeps_sums(const mf_plan *plan)
{
    return plan->k > TD_SUPERBLOCK &&
           (plan->part.k_pass < plan->k || plan->slots > 1 || !plan->has_shared);
}

/* Sets the offsets of a plan whose sizes are set: a plan of td_fit. */
static size_t lay_out(void *of)
{
    mf_plan *plan = of;
    const td_part_sizes *part = &plan->part;
    const td_format *format = plan->format;
    const bool scaled = plan->type == TD_BINARY64;
    const int64_t lines[2] = {td_round_up(part->m, TD_TILE), td_round_up(part->n, TD_TILE)};
    const int64_t elements = lines[0] * lines[1] * part->batch;
    const int64_t element_bytes =
        (int64_t)format->component_bytes * (scaled ? format->components_of_64 : format->components);
    plan->bytes = 0;
    for (int o = 0; o < 2; o++) {
        const int64_t ranges = scaled ? lines[o] * part->batch * (int64_t)sizeof(td_range) : 0;
        plan->partial[o] = td_reserve(&plan->bytes, ranges * plan->chunks);
        plan->range[o] = td_reserve(&plan->bytes, ranges);
        plan->panel[o] =
            td_reserve(&plan->bytes, lines[o] * part->batch * td_round_up(part->k_pass, TD_K_TILE) *
                                         element_bytes);
    }
    plan->masks = td_reserve(&plan->bytes, scaled ? elements / 8 : 0);
    int64_t sums = keeps_sums(plan) ? elements : 0;
    if (plan->slots > 1) sums = plan->spread_tiles * TD_TILE * TD_TILE * part->batch * plan->slots;
    plan->sums = td_reserve(&plan->bytes, sums * format->sum_bytes);
    return plan->bytes;
}

static bool shrink(void *of)
{
    static const td_pass_units units = {
        .deep = 4L * TD_SUPERBLOCK, .deep_unit = TD_SUPERBLOCK, .unit = TD_SUPERBLOCK};
    mf_plan *plan = of;
    return td_shrink(&plan->part, &units);
}

static int64_t tiles_of(int64_t m, int64_t n)
{
    return td_ceil_div(m, TD_TILE) * td_ceil_div(n, TD_TILE);
}

/* If there are too few tiles to fill the device, or the last of them leave most of it idle, the
 * superblocks of these go to several blocks. */
static void spread_superblocks(mf_plan *plan, const td_device *device, size_t limit)
{
    const int64_t tiles = tiles_of(plan->part.m, plan->part.n),
                  all_tiles = tiles * plan->part.batch;
    const int64_t places = (int64_t)plan->format->blocks * device->multiprocessors;
    const int64_t superblocks = td_ceil_div(plan->k, TD_SUPERBLOCK);
    const bool is_whole = all_tiles <= places;
    const int64_t last = is_whole ? all_tiles : all_tiles % places;
    if (plan->part.k_pass < plan->k || last == 0) return;
    if (!is_whole && (plan->part.batch > 1 || !plan->has_shared)) return;
    const int64_t blocks = td_smaller(places / last, superblocks);
    if (blocks < 2) return;
    mf_plan spread = *plan;
    spread.spread_tiles = is_whole ? tiles : last;
    spread.slots = (int)superblocks;
    spread.blocks_per_tile = (int)td_ceil_div(superblocks, td_ceil_div(superblocks, blocks));
    if (lay_out(&spread) <= limit) *plan = spread;
}

/* Shared memory of a multiprocessor that the blocks of a multiply kernel need, with or without
 * running sums. */
static size_t shared_bytes(const td_format *format, bool with_sums)
{
    const int sums = with_sums ? TD_TILE * TD_TILE * format->sum_bytes : 0;
    return (size_t)format->blocks * (size_t)(format->stage_bytes + SHARED_RESERVED + sums);
}

/* A td_planner. */
static size_t make_plan(void *of, size_t limit)
{
    mf_product *product = of;
    mf_plan *plan = &product->plan;
    const td_real_product *p = product->p;
    const td_device *device = product->device;
    *plan = (mf_plan){.format = product->in->format,
                      .type = product->in->type,
                      .part = td_largest_part(p),
                      .k = p->k,
                      .slots = 1,
                      .blocks_per_tile = 1};
    plan->has_shared = device->shared_per_multiprocessor >= shared_bytes(plan->format, true);
    plan->part.k_pass = td_smaller(p->k, MAX_K);
    plan->chunk = td_larger(td_ceil_div(p->k, TD_MAX_CHUNKS), LEAST_CHUNK);
    plan->chunks = (int)td_ceil_div(p->k, plan->chunk);
    if (td_fit(plan, limit, lay_out, shrink) == 0) return 0;
    spread_superblocks(plan, device, limit);
    return plan->bytes;
}

static td_target target_of(const mf_product *product, const td_part *part)
{
    return td_target_of(product->p, part, (uint16_t *)(product->workspace + product->plan.masks));
}

static td_output output_of(const mf_product *product, const td_target *target)
{
    const arithmetic *in = product->in;
    return (td_output){
        .target = *target,
        .range = {(const td_range *)(product->workspace + product->plan.range[0]),
                  (const td_range *)(product->workspace + product->plan.range[1])},
        .smallest = (double)product->p->k * in->format->least,
        .spread = in->format->spread,
        .type = in->type,
        .is_shortened = in->is_shortened,
    };
}

/* Multiplies the panels of one part: most tiles by one block each, the last ones spread over
 * several. */
static cudaError_t multiply_tiles(const mf_product *product, const td_part *part,
                                  const td_multiply *multiply, bool *touched)
{
    const mf_plan *plan = &product->plan;
    const td_format *format = plan->format;
    cudaStream_t stream = product->p->stream;
    const int64_t tiles = tiles_of(part->m, part->n),
                  spread = td_smaller(plan->spread_tiles, tiles);
    td_multiply whole = *multiply, last = *multiply;
    cudaError_t error = cudaSuccess;
    whole.slots = 1;
    whole.tile_count = (int)(tiles - spread);
    if (spread > 0) whole.sums = NULL;
    last.slots = plan->slots;
    last.tile_first = whole.tile_count;
    last.tile_count = (int)spread;
    if (whole.tile_count > 0) {
        error = format->multiply(&whole, part->batch, 1, stream);
        if (error != cudaSuccess) return error;
        *touched |= whole.finish != 0;
    }
    if (spread == 0) return cudaSuccess;
    error = format->multiply(&last, part->batch, plan->blocks_per_tile, stream);
    if (error == cudaSuccess) error = format->join(&last, part->batch, stream);
    *touched |= error == cudaSuccess;
    return error;
}

/* Packs and multiplies one part, k in pieces. */
static cudaError_t multiply_part(const mf_product *product, const td_part *part,
                                 const td_scan *scan, const td_target *target, bool *touched)
{
    const mf_plan *plan = &product->plan;
    const td_format *format = plan->format;
    const int64_t k = plan->k, k_pass = plan->part.k_pass;
    td_pack pack = {.scan = *scan, .type = plan->type};
    td_multiply multiply = {
        .type = plan->type,
        .sums = keeps_sums(plan) ? product->workspace + plan->sums : NULL,
        .small_tiles = product->device->shared_per_multiprocessor < shared_bytes(format, false),
        .output = output_of(product, target),
    };
    for (int o = 0; o < 2; o++) {
        pack.range[o] = (td_range *)(product->workspace + plan->range[o]);
        multiply.panel[o] = pack.panel[o] = product->workspace + plan->panel[o];
    }
    cudaError_t error = cudaSuccess;
    for (int64_t l = 0; l < k && error == cudaSuccess; l += k_pass) {
        pack.k_first = l;
        pack.k_count = td_smaller(k_pass, k - l);
        error = format->pack(&pack, part->batch, product->p->stream);
        if (error != cudaSuccess) break;
        multiply.k_tiles = td_ceil_div(pack.k_count, TD_K_TILE);
        multiply.resume = l > 0;
        multiply.finish = l + k_pass >= k;
        error = multiply_tiles(product, part, &multiply, touched);
    }
    return error;
}

static cudaError_t run_part(const void *of, const td_part *part, bool *touched)
{
    const mf_product *product = of;
    const mf_plan *plan = &product->plan;
    const td_real_product *p = product->p;
    const bool scaled = plan->type == TD_BINARY64;
    td_scan scan = {
        .operand = {td_view_of(p, 0, part->i, part->m), td_view_of(p, 1, part->j, part->n)},
        .chunks = plan->chunks,
        .chunk = plan->chunk,
        .batch_first = part->z,
        .alpha = p->alpha,
    };
    for (int o = 0; o < 2; o++)
        scan.partial[o] = (td_range *)(product->workspace + plan->partial[o]);
    const td_target target = target_of(product, part);
    cudaError_t error = cudaSuccess;
    if (scaled) error = td_scan_run(&scan, part->batch, p->stream);
    if (error == cudaSuccess) error = multiply_part(product, part, &scan, &target, touched);
    if (error != cudaSuccess || !scaled) return error;
    const td_repair repair = {
        .operand = {scan.operand[0], scan.operand[1]},
        .target = target,
        .kind = plan->format->is_long ? TD_REPAIR_EXACT : TD_REPAIR_BINARY64,
        .binary64 = td_route_binary64(part->m, part->n, p->k, part->batch, &product->terms),
        .range = {(const td_range *)(product->workspace + plan->range[0]),
                  (const td_range *)(product->workspace + plan->range[1])},
        .repaired = product->counters ? &product->counters->repaired : NULL,
        .tiles = product->counters ? &product->counters->tiles : NULL,
    };
    return td_repair_run(&repair, part->batch, p->stream);
}

/* A part of a typed product whose op(A) op(B) is not wanted. */
static cudaError_t scale_part(const void *of, const td_part *part, bool *touched)
{
    const mf_product *product = of;
    const td_target target = target_of(product, part);
    const td_multiply no_sums = {.tile_count = (int)tiles_of(part->m, part->n),
                                 .output = output_of(product, &target)};
    (void)touched;
    return product->in->format->join(&no_sums, part->batch, product->p->stream);
}

static td_run_status run_product(mf_product *product, size_t limit)
{
    const td_real_product *p = product->p;
    td_workspace workspace;
    td_run_status status = td_workspace_acquire(&workspace, product->device, p->stream, &p->lent,
                                                limit, make_plan, product);
    if (status != TD_RUN_DONE) return status;
    product->workspace = workspace.memory;
    status = td_run_parts(p, &product->plan.part,
                          &(td_part_steps){.product = product, .part = run_part});
    td_workspace_release(&workspace, p->stream);
    return status;
}

static td_run_status scale_product(const mf_product *product)
{
    const td_part_sizes sizes = td_largest_part(product->p);
    return td_run_parts(product->p, &sizes,
                        &(td_part_steps){.product = product, .part = scale_part});
}

static td_run_status run_mode(const td_real_product *p, const arithmetic *in,
                              td_parameter parameter, td_device *device, size_t workspace_limit,
                              td_counters *counters)
{
    const td_traits traits = td_traits_current();
    mf_product product = {.p = p,
                          .in = in,
                          .device = device,
                          .terms = td_route_terms_of(p, parameter, &traits),
                          .counters = counters};
    if (td_real_only_scales(p)) return td_scale_parts(p);
    return run_product(&product, workspace_limit);
}

/* A td_loader of what matrices of a multi-float type need. */
static cudaError_t prepare_typed(int type)
{
    static const td_format *const formats[TD_TYPE_COUNT] = {[TD_DF] = &td_format_df,
                                                            [TD_TS] = &td_format_ts,
                                                            [TD_DD] = &td_format_dd,
                                                            [TD_DS] = &td_format_dd};
    return formats[type]->prepare((td_type)type);
}

td_run_status td_multifloat_run(const td_real_product *p, const td_format *format,
                                td_device *device, size_t workspace_limit)
{
    const arithmetic in = {format, p->type, false};
    if (!td_device_load(device, prepare_typed, (int)p->type)) return TD_RUN_FAILED;
    td_real_product scaled = *p;
    mf_product product = {.p = p, .in = &in, .device = device};
    if (!td_real_only_scales(p)) return run_product(&product, workspace_limit);
    memset(&scaled.alpha, 0, sizeof scaled.alpha);
    product.p = &scaled;
    return scale_product(&product);
}

/* Modes */

static cudaError_t prepare_mode(const td_format *format)
{
    cudaError_t error = td_scan_prepare();
    if (error == cudaSuccess) error = td_repair_prepare();
    return error == cudaSuccess ? format->prepare(TD_BINARY64) : error;
}

#define MODE(id, name_, summary_, format, is_shortened)                                            \
    static cudaError_t id##_prepare(int other_way)                                                 \
    {                                                                                              \
        (void)other_way;                                                                           \
        return prepare_mode(format);                                                               \
    }                                                                                              \
    static td_run_status id##_run(const td_real_product *p, td_parameter parameter,                \
                                  td_device *device, size_t workspace_limit,                       \
                                  td_counters *counters)                                           \
    {                                                                                              \
        static const arithmetic in = {format, TD_BINARY64, is_shortened};                          \
        return run_mode(p, &in, parameter, device, workspace_limit, counters);                     \
    }                                                                                              \
    const td_engine td_engine_##id = {                                                             \
        .name = name_,                                                                             \
        .summary = summary_,                                                                       \
        .bound = &td_bound_##id,                                                                   \
        .cost = td_cost_##id,                                                                      \
        .prepare = id##_prepare,                                                                   \
        .run = id##_run,                                                                           \
    };

MODE(df, "df", "pairs of binary32 (double-float)", &td_format_df, false)
MODE(ts, "ts", "triples of binary32 (triple-single)", &td_format_ts, false)
MODE(dd, "dd", "pairs of binary64 (double-double)", &td_format_dd, false)
MODE(ds, "d+s", "binary64 and binary32 (double+single)", &td_format_dd, true)
