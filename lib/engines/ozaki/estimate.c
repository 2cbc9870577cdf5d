#include "estimate.h"

#include "../tiler.h"

static int64_t padded_rows(int64_t m) { return td_round_up(m, TD_LINE_GROUP); }
static int64_t padded_columns(int64_t n) { return td_round_up(n, TD_LINE_PAD); }

td_min_moduli td_min_moduli_of(uint8_t *of, int64_t m, int64_t n)
{
    return (td_min_moduli){.of = of, .ld = padded_rows(m), .batch_step = padded_rows(m) * n};
}

size_t td_estimate_sum_bytes(int64_t m, int64_t n, int64_t k, int64_t batch)
{
    return (size_t)(td_estimate_sums(k) * batch * padded_rows(m) * n);
}

/* Magnitudes of both operands for so many sums. */
static int64_t plane_bytes(int64_t m, int64_t n, int64_t k, int64_t batch, int64_t sums)
{
    const int64_t bytes = sums * td_estimate_length(k) * batch;
    return td_round_up(bytes * padded_rows(m), 256) + td_round_up(bytes * padded_columns(n), 256);
}

size_t td_estimate_least_bytes(int64_t m, int64_t n, int64_t k, int64_t batch)
{
    return (size_t)plane_bytes(m, n, k, batch, 1);
}

int64_t td_estimate_map_words(int64_t m, int64_t n, int64_t k, int64_t batch)
{
    if (td_estimate_sums(k) > 1) return 0;
    return batch * (td_nonzero_of_member(m, k) + td_nonzero_of_member(n, k));
}

static uint32_t *map_of(const td_estimate_part *part, int which)
{
    const td_target *target = &part->estimate.target;
    const int64_t k = part->fixed.operand[0].k, batch = part->fixed.batch;
    if (td_estimate_map_words(target->m, target->n, k, batch) == 0) return NULL;
    return part->nonzero + (which ? batch * td_nonzero_of_member(target->m, k) : 0);
}

/* Of sums from `first` on. */
static td_magnitudes magnitudes_of(const td_estimate_part *part, int64_t first, int64_t count)
{
    const int64_t length = td_estimate_length(part->fixed.operand[0].k), k = count * length;
    td_magnitudes magnitudes = {.fixed = part->fixed, .k_padded = k};
    magnitudes.fixed.k_first = first * length;
    magnitudes.fixed.k_count = td_smaller(k, part->fixed.operand[0].k - first * length);
    magnitudes.plane[0] = (int8_t *)part->workspace;
    magnitudes.plane[1] =
        magnitudes.plane[0] +
        td_round_up(k * part->fixed.batch * padded_rows(part->estimate.target.m), 256);
    for (int o = 0; o < 2; o++) magnitudes.nonzero[o] = map_of(part, o);
    return magnitudes;
}

/* Sums from `first` on. */
static cudaError_t multiply(const td_estimate_part *part, int64_t first, int64_t count)
{
    const td_target *target = &part->estimate.target;
    const td_min_moduli *to = &part->estimate.min_moduli;
    const int64_t length = td_estimate_length(part->fixed.operand[0].k), k = count * length,
                  batch = part->fixed.batch;
    const td_magnitudes magnitudes = magnitudes_of(part, first, count);
    td_panels panels = {
        .type = TD_PANEL_LOGARITHM,
        .m = to->ld,
        .n = target->n,
        .k = length,
        .a = magnitudes.plane[0],
        .b = magnitudes.plane[1],
        .c = to->of + first * part->estimate.sum_step,
        .layout.ld_a = k,
        .layout.ld_b = k,
        .layout.ld_c = to->ld,
        .layout.plane_a = length,
        .layout.plane_b = length,
        .layout.plane_c = part->estimate.sum_step,
        .layout.member_a = padded_rows(target->m) * k,
        .layout.member_b = padded_columns(target->n) * k,
        .layout.member_c = to->batch_step,
        .planes = (int)count,
        .batch = (int)batch,
        .choice = part->fixed.choice,
        .slices = 1,
        .region = target->region,
        .next_unit = part->next_unit,
        .nonzero = {magnitudes.nonzero[0], magnitudes.nonzero[1]},
    };
    panels.gemm = td_route_gemm(&panels, &part->terms);
    const cudaError_t error = td_magnitudes_run(&magnitudes, part->stream);
    return error == cudaSuccess ? td_panels_run(part->device, &panels, part->stream) : error;
}

/* How its sums are laid out. */
static td_estimate_part lay_out(const td_estimate_part *given)
{
    td_estimate_part part = *given;
    part.estimate.sums = (int)td_estimate_sums(part.fixed.operand[0].k);
    for (int o = 0; o < 2; o++) part.estimate.nonzero[o] = map_of(given, o);
    part.estimate.sum_step = part.estimate.min_moduli.batch_step * part.fixed.batch;
    return part;
}

cudaError_t td_estimate_part_run(const td_estimate_part *given)
{
    const td_estimate_part part = lay_out(given);
    const td_target *target = &part.estimate.target;
    const int64_t k = part.fixed.operand[0].k, batch = part.fixed.batch, sums = part.estimate.sums;
    int64_t at_once = sums;
    while (at_once > 1 &&
           plane_bytes(target->m, target->n, k, batch, at_once) > (int64_t)part.bytes)
        at_once--;
    cudaError_t error = cudaSuccess;
    for (int64_t first = 0; first < sums && error == cudaSuccess; first += at_once)
        error = multiply(&part, first, td_smaller(at_once, sums - first));
    return error == cudaSuccess ? td_estimate_run(&part.estimate, (int)batch, part.stream) : error;
}
