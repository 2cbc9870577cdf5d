#include "tiles.h"

#include "../routine/sizes.h"
#include "../routine/solve_steps.h"
#include "../routine/lower.h"

bool td_tile_whole(const td_problem *p, td_tile *whole)
{
    whole->sees_whole = false;
    whole->is_solve = td_problem_is_solve(p);
    if (!whole->is_solve) return td_lower(p, &whole->product);
    whole->solve = *p;
    return true;
}

static td_tile of_product(td_product product) { return (td_tile){.product = product}; }

static td_tile of_solve(td_problem solve) { return (td_tile){.is_solve = true, .solve = solve}; }

static td_type type_of(const td_tile *tile)
{
    return tile->is_solve ? tile->solve.type : tile->product.type;
}

static bool only_scales(const td_tile *tile)
{
    return tile->is_solve ? td_problem_only_scales(&tile->solve)
                          : td_product_only_scales(&tile->product);
}

static bool adds_mirror(const td_tile *tile)
{
    return !tile->is_solve && tile->product.adds_mirror;
}

static td_region_kind region_of(const td_tile *tile)
{
    return tile->is_solve ? TD_REGION_ALL : tile->product.region;
}

/* ---- stages ---- */

/* Blocks of the most rows that a solve may be cut into. */
static int64_t blocks_of(const td_problem *solve)
{
    return td_solve_blocks(solve, td_solve_most_rows(solve->type));
}

static int64_t systems_of(const td_problem *solve, int64_t blocks)
{
    return td_ceil_div(blocks_of(solve), blocks);
}

/* Blocks of A's diagonal that a system of the level has: a power of two. */
static int64_t blocks_of_level(const td_problem *solve, int level)
{
    int64_t most = 1;
    while (most < blocks_of(solve)) most *= 2;
    return most >> level;
}

int td_tile_levels(const td_tile *whole)
{
    int levels = 1;
    if (only_scales(whole)) return 1;
    if (adds_mirror(whole)) return 2;
    while (whole->is_solve && blocks_of_level(&whole->solve, levels) > 0) levels++;
    return levels;
}

int64_t td_tile_stages(const td_tile *whole, int level)
{
    if (level == 0) return 1;
    if (adds_mirror(whole)) return 2;
    return 2 * systems_of(&whole->solve, blocks_of_level(&whole->solve, level)) - 1;
}

/* conj(alpha) times the conjugate transpose of op(A) op(B), and beta C. */
static td_product mirror_of(const td_product *p)
{
    td_product mirror = *p;
    mirror.a = p->b;
    mirror.b = p->a;
    mirror.alpha.value.complex_binary64.im = -p->alpha.value.complex_binary64.im;
    mirror.has_real_diagonal = false; /* it is not real before the other product is added */
    mirror.adds_mirror = false;
    return mirror;
}

/* alpha op(A) op(B), which is added to C. */
static td_product without_mirror(const td_product *p)
{
    td_product product = *p;
    product.adds_mirror = false;
    product.beta.value.binary64 = 1.0;
    return product;
}

td_tile td_tile_stage(const td_tile *whole, int level, int64_t i)
{
    if (level == 0) return *whole;
    if (adds_mirror(whole))
        return of_product(i == 0 ? mirror_of(&whole->product) : without_mirror(&whole->product));
    const td_problem *solve = &whole->solve;
    const int64_t blocks = blocks_of_level(solve, level), rows = td_solve_most_rows(solve->type);
    return i % 2 ? of_product(td_solve_update(solve, rows, (i + 1) / 2 * blocks))
                 : of_solve(td_solve_part(solve, rows, i / 2 * blocks, blocks));
}

/* ---- memory ---- */

static td_matrix *factor_of(td_product *p, int i)
{
    td_matrix *const factors[TD_TILE_FACTORS] = {&p->a, &p->b, &p->rest_a, &p->rest_b};
    return factors[i];
}

td_matrix *td_tile_result(td_tile *tile)
{
    return tile->is_solve ? &tile->solve.b : &tile->product.c;
}

static td_region_kind half(td_triangle triangle)
{
    return triangle == TD_LOWER ? TD_REGION_LOWER : TD_REGION_UPPER;
}

/* Of a matrix as it is stored. */
static td_region_kind region_of_form(const td_form *form)
{
    return form->storage == TD_STORED_FULL ? TD_REGION_ALL : half(form->triangle);
}

td_tile_memory td_tile_memory_of(const td_tile *tile)
{
    const td_product *p = &tile->product;
    const bool is_solve = tile->is_solve, has_factors = !only_scales(tile);
    const td_memory own = is_solve ? td_problem_memory(&tile->solve) : td_product_memory(p),
                    seen = is_solve || !p->whole ? own : td_product_memory(p->whole);
    td_tile_memory of = {.written = {own.written, region_of(tile)},
                         .is_updated = is_solve ? has_factors : td_product_has_beta(p),
                         .element_bytes = own.element_bytes};
    for (int i = 0; i < TD_TILE_FACTORS && has_factors; i++) of.read[i].extent = seen.read[i];
    of.read[0].region = is_solve ? half(tile->solve.triangle) : region_of_form(&p->form_a);
    of.read[1].region = is_solve ? TD_REGION_ALL : region_of_form(&p->form_b);
    return of;
}

bool td_tile_is_same(const td_tile_part *a, const td_tile_part *b)
{
    return a->extent.matrix.data == b->extent.matrix.data &&
           a->extent.matrix.ld == b->extent.matrix.ld && a->extent.rows == b->extent.rows &&
           a->extent.columns == b->extent.columns && a->region == b->region;
}

int td_tile_first_copy(const td_tile_memory *memory, int i)
{
    int first = 0;
    while (!td_tile_is_same(&memory->read[first], &memory->read[i])) first++;
    return first;
}

static double bytes_of(const td_tile_part *x, int64_t element_bytes)
{
    return (double)x->extent.rows * (double)x->extent.columns * (double)element_bytes +
           TD_TILE_ALIGNMENT;
}

double td_tile_bytes(const td_tile *tile)
{
    const td_tile_memory memory = td_tile_memory_of(tile);
    double bytes = bytes_of(&memory.written, memory.element_bytes);
    for (int i = 0; i < TD_TILE_FACTORS; i++)
        bytes += bytes_of(&memory.read[i], memory.element_bytes);
    return bytes;
}

/* ---- sizes ---- */

static td_tile_size size_of(const td_tile *tile)
{
    return tile->is_solve ? (td_tile_size){tile->solve.m, tile->solve.n}
                          : (td_tile_size){tile->product.m, tile->product.n};
}

static td_tile with_size(const td_tile *whole, td_tile_size size)
{
    td_tile tile = *whole;
    *(tile.is_solve ? &tile.solve.m : &tile.product.m) = size.m;
    *(tile.is_solve ? &tile.solve.n : &tile.product.n) = size.n;
    return tile;
}

static bool halve(int64_t *side, int64_t block)
{
    const int64_t half = *side / 2 + *side % 2, next = (half + block - 1) / block * block;
    if (next >= *side) return false;
    *side = next;
    return true;
}

/* True if a tile can do with less than all rows, or columns, of the result. */
static bool can_cut_rows(const td_tile *tile)
{
    if (tile->is_solve) return tile->solve.side == TD_RIGHT;
    return tile->product.form_a.storage == TD_STORED_FULL && !tile->product.adds_mirror;
}

static bool can_cut_columns(const td_tile *tile)
{
    if (tile->is_solve) return tile->solve.side == TD_LEFT;
    return tile->product.form_b.storage == TD_STORED_FULL && !tile->product.adds_mirror;
}

static bool shrink(const td_tile *whole, int64_t block, td_tile_size *size)
{
    const bool rows_first = size->m > size->n;
    if (region_of(whole) != TD_REGION_ALL) {
        const bool is_smaller = can_cut_rows(whole) && halve(&size->m, block);
        size->n = size->m;
        return is_smaller;
    }
    if (rows_first && can_cut_rows(whole) && halve(&size->m, block)) return true;
    if (can_cut_columns(whole) && halve(&size->n, block)) return true;
    return !rows_first && can_cut_rows(whole) && halve(&size->m, block);
}

td_tile_size td_tile_fitting(const td_tile *whole, int64_t block, double bytes)
{
    td_tile_size size = size_of(whole);
    for (td_tile tile = *whole; td_tile_bytes(&tile) > bytes; tile = with_size(whole, size))
        if (!shrink(whole, block, &size)) return (td_tile_size){0, 0};
    return size;
}

/* All of the result in so many strips of columns, or of rows. */
static td_tile_size strips_of(const td_tile *whole, int64_t block, int64_t strips)
{
    td_tile_size size = size_of(whole);
    const bool has_columns = can_cut_columns(whole) && (size.n > block || !can_cut_rows(whole));
    int64_t *const side = has_columns ? &size.n : &size.m;
    if (!has_columns && !can_cut_rows(whole)) return size;
    *side = td_smaller(*side, td_round_up(td_ceil_div(*side, strips), block));
    return size;
}

td_tile_size td_tile_spread(const td_tile *whole, td_tile_size size, int64_t block, int64_t tiles)
{
    if (whole->is_solve && whole->sees_whole) return size;
    if (whole->sees_whole && region_of(whole) == TD_REGION_ALL)
        return strips_of(whole, block, tiles);
    while (td_tile_count(whole, size) < tiles && shrink(whole, block, &size)) continue;
    return size;
}

/* ---- tiles ---- */

/* Tiles of the result's region in a column of tiles, and the first of them. */
static int64_t tiles_of_column(const td_tile *whole, td_tile_size size, int64_t column,
                               int64_t *first)
{
    const int64_t down = td_ceil_div(size_of(whole).m, size.m);
    const td_region_kind region = region_of(whole);
    *first = region == TD_REGION_LOWER ? column : 0;
    return (region == TD_REGION_UPPER ? column + 1 : down) - *first;
}

int64_t td_tile_count(const td_tile *whole, td_tile_size size)
{
    const int64_t across = td_ceil_div(size_of(whole).n, size.n);
    int64_t count = 0, first;
    for (int64_t column = 0; column < across; column++)
        count += tiles_of_column(whole, size, column, &first);
    return count;
}

/* A matrix from one of its rows and columns on; of one that is not there, nothing. */
static td_matrix part_of(td_type type, const td_matrix *x, int64_t row, int64_t column)
{
    return x->data ? td_matrix_moved(x, row, column, type) : *x;
}

/* A left factor from a row of op(X) on, and a right one from a column on. */
static td_matrix left_part(const td_product *p, const td_matrix *x, int64_t row)
{
    return p->op_a == TD_OP_N ? part_of(p->type, x, row, 0) : part_of(p->type, x, 0, row);
}

static td_matrix right_part(const td_product *p, const td_matrix *x, int64_t column)
{
    return p->op_b == TD_OP_N ? part_of(p->type, x, 0, column) : part_of(p->type, x, column, 0);
}

/* Has a tile's factors begin with its rows of op(A) and columns of op(B). */
static void cut_factors(td_product *tile, const td_product *of, int64_t row, int64_t column)
{
    tile->a = left_part(of, &of->a, row);
    tile->rest_a = left_part(of, &of->rest_a, row);
    tile->b = right_part(of, &of->b, column);
    tile->rest_b = right_part(of, &of->rest_b, column);
}

/* The tile at a row and column of the result, which is of its region. */
static td_tile cut(const td_tile *whole, td_tile_size size, int64_t row, int64_t column)
{
    const td_tile_size all = size_of(whole);
    td_tile tile = with_size(
        whole, (td_tile_size){td_smaller(size.m, all.m - row), td_smaller(size.n, all.n - column)});
    *td_tile_result(&tile) = part_of(type_of(whole), td_tile_result(&tile), row, column);
    if (whole->is_solve) return tile;
    cut_factors(&tile.product, &whole->product, row, column);
    if (whole->sees_whole) {
        tile.product.whole = &whole->product;
        tile.product.row = row;
        tile.product.column = column;
    }
    if (row == column) return tile;
    tile.product.region = TD_REGION_ALL; /* it has none of the diagonal */
    tile.product.has_real_diagonal = false;
    return tile;
}

td_tile td_tile_at(const td_tile *whole, td_tile_size size, int64_t i)
{
    int64_t column = 0, first;
    for (int64_t count; i >= (count = tiles_of_column(whole, size, column, &first)); column++)
        i -= count;
    return cut(whole, size, (first + i) * size.m, column * size.n);
}

void td_tile_place(td_tile *tile, const td_tile_memory *memory,
                   const td_matrix read_at[TD_TILE_FACTORS], td_matrix written_at,
                   td_product *whole)
{
    td_product *const p = &tile->product;
    const bool is_part = !tile->is_solve && p->whole;
    *td_tile_result(tile) = written_at;
    if (tile->is_solve) {
        if (memory->read[0].extent.rows > 0) tile->solve.a = read_at[0];
        return;
    }
    if (is_part) *whole = *p->whole;
    for (int i = 0; i < TD_TILE_FACTORS; i++)
        if (memory->read[i].extent.rows > 0) *factor_of(is_part ? whole : p, i) = read_at[i];
    if (!is_part) return;
    p->whole = whole;
    cut_factors(p, whole, p->row, p->column);
}
