/* route_rows.c - THE table of routes: which kernels serve a part, and what each of these costs
 * beside the others of its stage. */
#include <math.h>

#include "../../kernels/residue/moduli.h"
#include "../../kernels/measure/measure.h"
#include "route.h"
#include "tuning.h"
#include "../routine/sizes.h"

/* ---- costs that only order the rows of a stage ---- */

enum { BEST, GOOD, USUAL, POOR };

static bool always(const td_route_case *c)
{
    (void)c;
    return true;
}

/* Costs that are the same in every case. */
#define COST(name, value)                                                                          \
    static double name(const td_route_case *c)                                                     \
    {                                                                                              \
        (void)c;                                                                                   \
        return value;                                                                              \
    }
COST(usual, USUAL)
COST(poor, POOR)
COST(cost_of_none, 0.0)

/* ---- measure ---- */

static bool can_be_whole(const td_route_case *c) { return c->k <= TD_SHORT_K; }

/* Exponents that spread, and zeros, take less time tile by tile; and many lines that are very short
 * leave warps idle, but for blocks that all run at a time. */
static double cost_of_whole(const td_route_case *c)
{
    const double strips =
                     2.0 * (double)(c->batch * td_ceil_div(td_larger(c->m, c->n), TD_WHOLE_LINES)),
                 k = (double)c->k;
    const bool is_small = strips * TD_WHOLE_LINES * k <= td_tuned_whole_elements,
               are_few = strips <= fmax(td_tuned_whole_strips, td_tuned_whole_strips_of_k * k);
    return is_small && are_few ? BEST : POOR;
}

static bool has_tma(const td_route_case *c)
{
    return c->terms.device.has_tma && c->terms.is_aligned;
}

static double cost_of_boxes(double elements)
{
    return elements < td_tuned_tma_elements ? POOR : GOOD;
}

static double cost_of_measured_boxes(const td_route_case *c)
{
    const int64_t lines = td_round_up(c->m, TD_TILE) + td_round_up(c->n, TD_TILE);
    return cost_of_boxes((double)(lines * td_round_up(c->k, TD_CHUNK) * c->batch));
}

/* ---- split ---- */

static bool is_wide(const td_route_case *c) { return c->most > TD_MAX_MODULI && !c->is_complex; }
static bool is_complex(const td_route_case *c) { return c->is_complex; }
static bool is_narrow(const td_route_case *c) { return !is_wide(c) && !is_complex(c); }
static bool can_split_boxes(const td_route_case *c) { return is_narrow(c) && has_tma(c); }

static double cost_of_split_boxes(const td_route_case *c)
{
    const int64_t lines = td_round_up(c->m, TD_LINE_GROUP) + td_round_up(c->n, TD_LINE_PAD);
    return cost_of_boxes((double)(lines * td_round_up(c->k_count, TD_SPLIT_K) * c->batch));
}

static double cost_of_binary64(const td_route_case *c)
{
    return c->terms.device.has_much_binary64 ? GOOD : POOR;
}

/* ---- slices of k ---- */

/* Blocks that stay take turns of units: this many rounds until the last one is done. */
static int64_t rounds_of(int64_t units, int64_t places) { return td_ceil_div(units, places); }

static bool can_slice(const td_route_case *c)
{
    const int slices = c->row->value;
    return slices == 1 || (is_narrow(c) && slices <= c->k_pass / (int64_t)td_tuned_slice_least_k);
}

/* Time of the products, each unit of which a pair of blocks with large tiles makes, in that of an
 * element of k of one; and of adding up the slices' residues. */
static double cost_of_slices(const td_route_case *c)
{
    const int64_t slices = c->row->value, planes = TD_COMMON_MODULI * c->batch,
                  units = td_ceil_div(c->m, TD_WGMMA_LARGE_ROWS) *
                          td_ceil_div(c->n, INT64_C(2) * TD_WGMMA_COLUMNS) * planes,
                  rest = (int64_t)td_tuned_wgmma_large_pair_rest,
                  products = rounds_of(units * slices, (int64_t)td_tuned_slice_places) *
                             (c->k_pass / slices + rest),
                  adding = slices * planes * c->m * c->n / (int64_t)td_tuned_slice_bytes;
    if (slices == 1) return (double)products;
    return (double)(products + (int64_t)td_tuned_slice_begins + adding);
}

/* ---- int8 products ---- */

static bool is_for_cublas(const td_route_case *c)
{
    return c->type == TD_PANEL_INT8 || c->type == TD_PANEL_FLOAT;
}
static bool is_for_mma(const td_route_case *c) { return !is_for_cublas(c); }
static bool is_for_large_mma(const td_route_case *c)
{
    return is_for_mma(c) && c->terms.device.shared_bytes >= TD_MMA_LARGE_BYTES;
}
static bool is_for_wide_mma(const td_route_case *c)
{
    return is_for_mma(c) && c->terms.device.shared_bytes >= TD_MMA_WIDE_BYTES;
}
static bool is_for_wgmma(const td_route_case *c)
{
    return is_for_mma(c) && c->terms.device.has_wgmma;
}

/* Pairs are not for the estimate, whose blocks mostly end at once. */
static bool is_for_pairs(const td_route_case *c)
{
    return is_for_wgmma(c) && c->type != TD_PANEL_LOGARITHM && c->terms.device.multiprocessors >= 2;
}

static int slices_of(const td_route_case *c)
{
    return (int)td_smaller(c->route.of[TD_STAGE_SLICES], td_ceil_div(c->depth, TD_SLICE_K));
}

/* Units of all planes that there may be: mostly so many of these are wanted. */
static int64_t units_of(const td_route_case *c, int rows, int columns, int planes)
{
    return td_ceil_div(c->rows, rows) * td_ceil_div(c->n, columns) * planes * c->batch *
           slices_of(c);
}

/* Time of the block that has most to do: see tuning.def. `blocks` make a unit together. */
static double cost_of_wgmma(const td_route_case *c, int rows, int blocks, double row, double rest)
{
    const int planes = (int)td_smaller(c->planes, TD_COMMON_MODULI << c->is_complex);
    const int64_t units = units_of(c, rows, blocks * TD_WGMMA_COLUMNS, planes),
                  rounds = rounds_of(units, c->terms.device.multiprocessors / blocks),
                  depth = c->depth / slices_of(c);
    return (double)rounds * rows * row * ((double)depth + rest);
}

static double cost_of_large(const td_route_case *c)
{
    return cost_of_wgmma(c, TD_WGMMA_LARGE_ROWS, 1, 1.0, td_tuned_wgmma_rest);
}

static double cost_of_small(const td_route_case *c)
{
    return cost_of_wgmma(c, TD_WGMMA_SMALL_ROWS, 1, td_tuned_wgmma_small_row, td_tuned_wgmma_rest);
}

static double cost_of_large_pair(const td_route_case *c)
{
    return td_tuned_wgmma_large_pair_begins + cost_of_wgmma(c, TD_WGMMA_LARGE_ROWS, 2,
                                                            td_tuned_wgmma_large_pair_row,
                                                            td_tuned_wgmma_large_pair_rest);
}

static double cost_of_small_pair(const td_route_case *c)
{
    return cost_of_wgmma(c, TD_WGMMA_SMALL_ROWS, 2, td_tuned_wgmma_small_pair_row,
                         td_tuned_wgmma_small_pair_rest);
}

/* mma makes what wgmma cannot: it never costs less. Wide tiles are faster for a long k, and large
 * ones than small ones, unless they are too few for the device, or too much of them is outside
 * C. */
static double cost_of_mma(int order) { return 0x1p62 + order * 0x1p60; }

COST(cost_of_small_mma, cost_of_mma(GOOD))

/* True if tiles are enough for the device, and not too much of them is outside C. */
static bool do_mma_tiles_fit(const td_route_case *c, int rows, int columns)
{
    const int64_t side = TD_MMA_SMALL_SIDE,
                  tiles = td_ceil_div(c->rows, rows) * td_ceil_div(c->n, columns),
                  needed = td_ceil_div(c->rows, side) * td_ceil_div(c->n, side) * side * side;
    return units_of(c, rows, columns, c->planes) >= c->terms.device.multiprocessors &&
           (double)(tiles * rows * columns) <= td_tuned_mma_large_waste * (double)needed;
}

/* Time of the multiprocessor that has most to do, in that of an element of k of its tiles. `blocks`
 * run there at a time. */
static double time_of_mma(const td_route_case *c, int rows, int columns, int blocks, double rest)
{
    const int planes = (int)td_smaller(c->planes, TD_COMMON_MODULI << c->is_complex);
    const int64_t rounds = rounds_of(units_of(c, rows, columns, planes),
                                     (int64_t)blocks * c->terms.device.multiprocessors);
    return (double)rounds * ((double)c->depth / slices_of(c) + rest);
}

/* True if wide tiles, one on a multiprocessor, take less time than two large ones, which are as
 * many elements. */
static bool is_wide_faster(const td_route_case *c)
{
    const double wide = time_of_mma(c, TD_MMA_WIDE_ROWS, TD_MMA_WIDE_COLUMNS, 1,
                                    td_tuned_mma_wide_rest),
                 large = time_of_mma(c, TD_MMA_LARGE_ROWS, TD_MMA_LARGE_COLUMNS, 2,
                                     td_tuned_mma_large_rest);
    return td_tuned_mma_wide_k * wide < large;
}

static double cost_of_wide_mma(const td_route_case *c)
{
    const bool pays =
        do_mma_tiles_fit(c, TD_MMA_WIDE_ROWS, TD_MMA_WIDE_COLUMNS) && is_wide_faster(c);
    return cost_of_mma(pays ? BEST : 2 * POOR);
}

static double cost_of_large_mma(const td_route_case *c)
{
    const bool fit = do_mma_tiles_fit(c, TD_MMA_LARGE_ROWS, TD_MMA_LARGE_COLUMNS);
    return cost_of_mma(fit ? BEST : USUAL + BEST);
}

static double cost_of_large_mma_short(const td_route_case *c)
{
    return c->terms.device.shared_bytes >= TD_MMA_LARGE_BYTES ? cost_of_mma(2 * POOR)
                                                              : cost_of_large_mma(c);
}

/* ---- Chinese remainder theorem ---- */

static bool has_room_for_pairs(const td_route_case *c)
{
    return c->terms.device.shared_bytes >= TD_CRT_PAIRS_BYTES;
}

/* Two tiles at a time leave blocks idle where there are few, or lanes where the last tile of a
 * column has no other one. */
static bool two_tiles_waste(const td_route_case *c)
{
    const int64_t tiles = td_ceil_div(c->m, TD_TILE), pairs = td_ceil_div(tiles, 2),
                  places = td_larger(1, (int64_t)TD_CRT_PAIRS_BLOCKS *
                                            c->terms.device.multiprocessors / c->batch);
    return pairs * td_ceil_div(c->n, TD_TILE) < places ||
           (double)(2 * pairs) > td_tuned_crt_two_tiles_waste * (double)tiles;
}

static double cost_of_pairs(const td_route_case *c)
{
    if (!c->terms.device.has_much_binary64) return POOR;
    return two_tiles_waste(c) ? BEST : USUAL;
}

static double cost_of_two_tiles(const td_route_case *c)
{
    if (!c->terms.device.has_much_binary64) return POOR + 1;
    return two_tiles_waste(c) ? USUAL : GOOD;
}

/* ---- fused or apart ---- */

/* True if tiles on the diagonal of a triangle have as many rows of it as columns. */
static bool is_even(const td_region *region)
{
    return region->kind == TD_REGION_ALL || region->row_shift == 0;
}

/* Members of the fewest moduli, in one pass, which C's own kernel finishes by pairs. */
static bool can_fuse(const td_route_case *c)
{
    return c->least <= TD_COMMON_MODULI && c->most >= TD_COMMON_MODULI && is_narrow(c) &&
           c->kind == TD_FINISH_ROUND && c->k <= c->k_pass && c->depth <= TD_FUSED_MOST_K &&
           slices_of(c) == 1 && !c->has_unwanted && is_even(&c->region) &&
           c->terms.device.has_wgmma && c->route.of[TD_STAGE_CRT] != TD_CRT_LIMBS;
}

/* Microseconds over those of two kernels. Of these one makes residues that the other reads; their
 * units are small, and theirs is the time of `tiles` for each multiprocessor, not of whole rounds.
 * Tiles of the one kernel take longer for each element of k. */
static double cost_of_fused(const td_route_case *c)
{
    const double tiles = (double)(td_region_blocks(&c->region, c->rows, c->n, TD_FUSED_SIDE,
                                                   TD_FUSED_SIDE) *
                                  c->batch) /
                         c->terms.device.multiprocessors,
                 k = (double)c->depth,
                 of_k = c->reads_c ? td_tuned_fused_k_reads_c : td_tuned_fused_k;
    return -(tiles * (td_tuned_apart_tile + td_tuned_apart_k * k) -
             ceil(tiles) * (of_k * k - td_tuned_fused_tile_spares) - td_tuned_fused_begins);
}

/* ---- repair: sums in binary64 ---- */

static int64_t tiles_of(const td_route_case *c)
{
    return td_ceil_div(c->m, TD_TILE) * td_ceil_div(c->n, TD_TILE);
}

int64_t td_route_binary64_blocks(const td_route_case *c)
{
    const int64_t multiprocessors = c->terms.device.multiprocessors,
                  of_member = (int64_t)td_tuned_binary64_turns * multiprocessors / c->batch;
    return td_smaller(tiles_of(c) * c->route.of[TD_STAGE_REPAIR_SHARES],
                      td_larger(1, td_smaller(multiprocessors, of_member)));
}

static double cost_of_single_tiles(const td_route_case *c)
{
    return (double)(tiles_of(c) * c->batch) > td_tuned_binary64_places ? POOR : GOOD;
}

static double cost_of_shares(const td_route_case *c)
{
    return c->terms.device.has_much_binary64 ? POOR : GOOD;
}

static bool has_many_stages(const td_route_case *c)
{
    return c->terms.device.shared_bytes >= TD_BINARY64_BYTES;
}

static bool can_repair_by_tma(const td_route_case *c)
{
    return has_many_stages(c) && has_tma(c) && c->k >= TD_BINARY64_TMA_K;
}

static bool can_repair_by_pairs(const td_route_case *c)
{
    return can_repair_by_tma(c) && c->route.of[TD_STAGE_REPAIR_TILES] == 2 &&
           td_route_binary64_blocks(c) >= 2;
}

static double cost_of_repair_by_tma(const td_route_case *c)
{
    const double products = (double)c->m * (double)c->n * (double)c->k;
    return products < td_tuned_binary64_tma_products ? POOR : GOOD;
}

/* Pairs of blocks pay unless the last of their rounds has less to do than one of single blocks. */
static double cost_of_repair_by_pairs(const td_route_case *c)
{
    const int64_t rows = td_ceil_div(td_ceil_div(c->m, TD_TILE), 2),
                  columns = td_ceil_div(c->n, TD_TILE), blocks = td_route_binary64_blocks(c),
                  of_pairs = rounds_of(rows * td_ceil_div(columns, 2), td_larger(1, blocks / 2));
    const bool pays = (double)of_pairs <=
                      td_tuned_binary64_pair_rounds * (double)rounds_of(rows * columns, blocks);
    return pays && cost_of_repair_by_tma(c) == GOOD ? BEST : POOR;
}

/* ---- THE table ---- */

#define SLICES(count)                                                                              \
    {                                                                                              \
        TD_STAGE_SLICES, count, #count, can_slice, cost_of_slices                                  \
    }
const td_route_row td_route_rows[TD_ROUTE_ROWS] = {
    {TD_STAGE_MEASURE, TD_MEASURE_WHOLE, "whole", can_be_whole, cost_of_whole},
    {TD_STAGE_MEASURE, TD_MEASURE_TMA, "tma", has_tma, cost_of_measured_boxes},
    {TD_STAGE_MEASURE, TD_MEASURE_THREADS, "threads", always, usual},

    {TD_STAGE_SPLIT, TD_SPLIT_TMA, "tma", can_split_boxes, cost_of_split_boxes},
    {TD_STAGE_SPLIT, TD_SPLIT_THREADS, "threads", is_narrow, usual},
    {TD_STAGE_SPLIT, TD_SPLIT_WIDE, "wide", is_wide, usual},
    {TD_STAGE_SPLIT, TD_SPLIT_COMPLEX, "complex", is_complex, usual},

    {TD_STAGE_ROUND, TD_ROUND_BINARY64, "binary64", always, cost_of_binary64},
    {TD_STAGE_ROUND, TD_ROUND_INT64, "int64", always, usual},

    SLICES(1),
    SLICES(2),
    SLICES(3),
    SLICES(4),
    SLICES(5),
    SLICES(6),
    SLICES(7),
    SLICES(8),

    {TD_STAGE_GEMM, TD_GEMM_WGMMA_LARGE, "wgmma-large", is_for_wgmma, cost_of_large},
    {TD_STAGE_GEMM, TD_GEMM_WGMMA_SMALL, "wgmma-small", is_for_wgmma, cost_of_small},
    {TD_STAGE_GEMM, TD_GEMM_WGMMA_LARGE_PAIR, "wgmma-large-pair", is_for_pairs, cost_of_large_pair},
    {TD_STAGE_GEMM, TD_GEMM_WGMMA_SMALL_PAIR, "wgmma-small-pair", is_for_pairs, cost_of_small_pair},
    {TD_STAGE_GEMM, TD_GEMM_MMA_WIDE, "mma-wide", is_for_wide_mma, cost_of_wide_mma},
    {TD_STAGE_GEMM, TD_GEMM_MMA_LARGE, "mma-large", is_for_large_mma, cost_of_large_mma},
    {TD_STAGE_GEMM, TD_GEMM_MMA_LARGE_SHORT, "mma-large-short", is_for_mma,
     cost_of_large_mma_short},
    {TD_STAGE_GEMM, TD_GEMM_MMA_SMALL, "mma-small", is_for_mma, cost_of_small_mma},
    {TD_STAGE_GEMM, TD_GEMM_CUBLAS, "cublas", is_for_cublas, usual},

    {TD_STAGE_CRT, TD_CRT_LIMBS, "limbs", always, usual},
    {TD_STAGE_CRT, TD_CRT_PAIRS, "pairs", has_room_for_pairs, cost_of_pairs},
    {TD_STAGE_CRT, TD_CRT_PAIRS_TWO_TILES, "pairs-two-tiles", has_room_for_pairs,
     cost_of_two_tiles},

    {TD_STAGE_FUSE, TD_FUSE_NONE, "none", always, cost_of_none},
    {TD_STAGE_FUSE, TD_FUSE_GEMM_CRT, "gemm-crt", can_fuse, cost_of_fused},

    {TD_STAGE_REPAIR_TILES, 1, "1", always, cost_of_single_tiles},
    {TD_STAGE_REPAIR_TILES, 2, "2", always, usual},

    {TD_STAGE_REPAIR_SHARES, TD_BINARY64_SHARES, "4", always, cost_of_shares},
    {TD_STAGE_REPAIR_SHARES, 1, "1", always, usual},

    {TD_STAGE_REPAIR, TD_BINARY64_TMA_PAIR, "tma-pair", can_repair_by_pairs,
     cost_of_repair_by_pairs},
    {TD_STAGE_REPAIR, TD_BINARY64_TMA, "tma", can_repair_by_tma, cost_of_repair_by_tma},
    {TD_STAGE_REPAIR, TD_BINARY64_MANY_STAGES, "many-stages", has_many_stages, usual},
    {TD_STAGE_REPAIR, TD_BINARY64_FEW_STAGES, "few-stages", always, poor},
};
#undef SLICES
