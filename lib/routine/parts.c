#include "parts.h"

#include "../../kernels/view/target.h"

td_part_sizes td_largest_part(const td_real_product *p)
{
    return (td_part_sizes){.m = td_smaller(p->m, TD_MAX_PART_LINES),
                           .n = td_smaller(p->n, TD_MAX_PART_LINES),
                           .batch = td_smaller(p->batch, TD_MAX_PART_MEMBERS),
                           .k_pass = p->k};
}

bool td_halve(int64_t *size, int64_t unit)
{
    if (*size <= unit) return false;
    *size = td_round_up(*size / 2, unit);
    return true;
}

static bool shrink_batch(int64_t *batch)
{
    if (*batch <= 1) return false;
    *batch = td_ceil_div(*batch, 2);
    return true;
}

static bool shrink_cublas(size_t *bytes)
{
    const size_t least = TD_CUBLAS_LEAST_WORKSPACE, fewer = *bytes / 8;
    if (*bytes <= least) return false;
    *bytes = fewer > least ? fewer : least;
    return true;
}

bool td_shrink(td_part_sizes *s, const td_pass_units *units)
{
    const bool is_deep = s->k_pass > units->deep && s->k_pass > td_smaller(s->m, s->n);
    return shrink_batch(&s->batch) || shrink_cublas(&s->cublas_bytes) ||
           (is_deep && td_halve(&s->k_pass, units->deep_unit)) ||
           td_halve(s->m > s->n ? &s->m : &s->n, TD_TILE) || td_halve(&s->k_pass, units->unit);
}

size_t td_fit(void *plan, size_t limit, size_t (*lay_out)(void *plan), bool (*shrink)(void *plan))
{
    size_t bytes;
    while ((bytes = lay_out(plan)) > limit)
        if (!shrink(plan)) return 0;
    return bytes;
}

int64_t td_parts_of_members(const td_real_product *p, const td_part_sizes *sizes)
{
    return td_ceil_div(p->m, sizes->m) * td_ceil_div(p->n, sizes->n);
}

td_part td_before_parts(const td_real_product *p, const td_part_sizes *sizes, int64_t z)
{
    return (td_part){.z = z, .number = -1, .batch = (int)td_smaller(p->batch - z, sizes->batch)};
}

bool td_next_part(const td_real_product *p, const td_part_sizes *sizes, td_part *part)
{
    const int64_t of_column = td_ceil_div(p->m, sizes->m), parts = td_parts_of_members(p, sizes);
    const td_region region = td_real_region(p);
    while (++part->number < parts) {
        part->i = part->number % of_column * sizes->m;
        part->j = part->number / of_column * sizes->n;
        part->m = (int)td_smaller(p->m - part->i, sizes->m);
        part->n = (int)td_smaller(p->n - part->j, sizes->n);
        if (td_region_meets(&region, part->i, part->j, part->m, part->n)) return true;
    }
    return false;
}

/* The lines from *first on, `lines` of them, that a window has; none: 0. */
static int cut_lines(int64_t *first, int lines, int64_t window_first, int64_t window_lines)
{
    const int64_t from = td_larger(*first, window_first),
                  end = td_smaller(*first + lines, window_first + window_lines);
    *first = from;
    return from < end ? (int)(end - from) : 0;
}

bool td_next_made_part(const td_real_product *p, const td_part_sizes *sizes, td_part *part)
{
    const td_window made = td_real_made(p);
    const td_region region = td_real_region(p);
    while (td_next_part(p, sizes, part)) {
        part->m = cut_lines(&part->i, part->m, made.i, made.m);
        part->n = cut_lines(&part->j, part->n, made.j, made.n);
        if (part->m > 0 && part->n > 0 &&
            td_region_meets(&region, part->i, part->j, part->m, part->n))
            return true;
    }
    return false;
}
