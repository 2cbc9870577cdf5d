#include "tiles.h"

static double bytes_of(const td_extent *x, int64_t element_bytes)
{
    return (double)x->rows * (double)x->columns * (double)element_bytes + TD_TILE_ALIGNMENT;
}

double td_tile_bytes(const td_problem *p)
{
    const td_memory memory = td_problem_memory(p);
    return bytes_of(&memory.written, memory.element_bytes) +
           bytes_of(&memory.read[0], memory.element_bytes) +
           bytes_of(&memory.read[1], memory.element_bytes);
}

static td_problem with_size(const td_problem *p, td_tile_size size)
{
    td_problem tile = *p;
    tile.m = size.m;
    tile.n = size.n;
    return tile;
}

static bool halve(int64_t *side, int64_t block)
{
    const int64_t half = *side / 2 + *side % 2, next = (half + block - 1) / block * block;
    if (next >= *side) return false;
    *side = next;
    return true;
}

td_tile_size td_tile_fitting(const td_problem *p, int64_t block, double bytes)
{
    td_tile_size size = {p->m, p->n};
    for (td_problem tile = *p; td_tile_bytes(&tile) > bytes; tile = with_size(p, size)) {
        int64_t *longer = size.m > size.n ? &size.m : &size.n,
                *shorter = size.m > size.n ? &size.n : &size.m;
        if (!halve(longer, block) && !halve(shorter, block)) return (td_tile_size){0, 0};
    }
    return size;
}

static int64_t tiles_along(int64_t side, int64_t of_tile) { return (side + of_tile - 1) / of_tile; }

int64_t td_tile_count(const td_problem *p, td_tile_size size)
{
    return tiles_along(p->m, size.m) * tiles_along(p->n, size.n);
}

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/* A matrix from one of its rows and columns on. */
static td_matrix part_of(const td_problem *p, const td_matrix *x, int64_t row, int64_t column)
{
    td_matrix part = *x;
    part.data = (char *)x->data + (row + column * x->ld) * td_types[p->type].size;
    return part;
}

td_problem td_tile_at(const td_problem *p, td_tile_size size, int64_t i)
{
    const int64_t down = tiles_along(p->m, size.m);
    const int64_t row = i % down * size.m, column = i / down * size.n;
    td_problem tile =
        with_size(p, (td_tile_size){smaller(size.m, p->m - row), smaller(size.n, p->n - column)});
    tile.a = p->op_a == TD_OP_N ? part_of(p, &p->a, row, 0) : part_of(p, &p->a, 0, row);
    tile.b = p->op_b == TD_OP_N ? part_of(p, &p->b, 0, column) : part_of(p, &p->b, column, 0);
    tile.c = part_of(p, &p->c, row, column);
    return tile;
}
