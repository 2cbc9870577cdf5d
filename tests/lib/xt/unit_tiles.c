/* unit_tiles.c - routines in tiles of their results: how large they are, and that they are the
 * result, once each. */
#include "tests/support/test.h"

#include "lib/xt/tiles.h"
#include "lib/routine/solve_steps.h"

enum { M = 100, N = 70, K = 30, LD = 128 };

static double memory[3][2 * LD * LD];

/* A call with all that any kind looks at. */
static td_problem call_of(td_kind kind, td_type type, td_op op_a, td_op op_b)
{
    return (td_problem){.kind = kind,
                        .type = type,
                        .op_a = op_a,
                        .op_b = op_b,
                        .m = M,
                        .n = N,
                        .k = K,
                        .alpha.value.complex_binary64 = {1.0, 0.0},
                        .a = {.data = memory[0], .ld = LD},
                        .b = {.data = memory[1], .ld = LD},
                        .c = {.data = memory[2], .ld = LD},
                        .batch = 1};
}

/* What it is cut as. */
static td_tile whole_of(const td_problem *p)
{
    td_tile whole;
    assert_true(td_tile_whole(p, &whole));
    return whole;
}

static td_tile product_of(td_type type, td_op op_a, td_op op_b)
{
    const td_problem p = call_of(TD_PRODUCT, type, op_a, op_b);
    return whole_of(&p);
}

TEST(what_fits_is_one_tile)
{
    const td_tile p = product_of(TD_BINARY64, TD_OP_N, TD_OP_T);
    const double bytes = td_tile_bytes(&p);
    assert_true(bytes >= 8.0 * (M * K + K * N + M * N));
    assert_true(bytes <= 8.0 * (M * K + K * N + M * N) + 5 * TD_TILE_ALIGNMENT);
    const td_tile_size size = td_tile_fitting(&p, 8, bytes);
    assert_true(size.m == M && size.n == N && td_tile_count(&p, size) == 1);
    const td_tile_size smaller = td_tile_fitting(&p, 8, bytes - 1.0);
    assert_true(smaller.m == 56 &&
                smaller.n == N); /* the longer side, halved, to a multiple of 8 */
}

/* Nothing of A and B is copied where nothing is multiplied. */
TEST(scaling_takes_c_alone)
{
    td_tile p = product_of(TD_COMPLEX_BINARY64, TD_OP_N, TD_OP_N);
    p.product.k = 0;
    assert_true(td_tile_bytes(&p) <= 16.0 * M * N + 5 * TD_TILE_ALIGNMENT);
    td_problem solve = call_of(TD_TRIANGULAR_SOLVE, TD_BINARY64, TD_OP_N, TD_OP_N);
    solve.alpha.value.binary64 = 0.0;
    const td_tile whole = whole_of(&solve);
    assert_true(td_tile_bytes(&whole) <= 8.0 * M * N + 5 * TD_TILE_ALIGNMENT);
    assert_false(td_tile_memory_of(&whole).is_updated);
}

TEST(tiles_fit_and_are_multiples_of_blocks)
{
    const td_tile p = product_of(TD_BINARY64, TD_OP_N, TD_OP_N);
    for (int block = 1; block <= 64; block *= 2)
        for (double bytes = 2000.0; bytes < 1e5; bytes *= 1.5) {
            const td_tile_size size = td_tile_fitting(&p, block, bytes);
            if (size.m == 0) continue;
            const td_tile largest = td_tile_at(&p, size, 0);
            assert_true(td_tile_bytes(&largest) <= bytes);
            assert_true(size.m == M || size.m % block == 0);
            assert_true(size.n == N || size.n % block == 0);
        }
    assert_int_equal(td_tile_fitting(&p, 64, 5.0 * TD_TILE_ALIGNMENT).m, 0);
    assert_int_equal(td_tile_fitting(&p, 4096, td_tile_bytes(&p) / 2.0).m, 0);
}

/* Row and column of an element of a matrix. */
typedef struct {
    int64_t row, column;
} place;

static place place_in(td_type type, const td_matrix *of, const td_matrix *part)
{
    const int64_t at = ((char *)part->data - (char *)of->data) / td_types[type].size;
    assert_int_equal(part->ld, of->ld);
    return (place){at % LD, at / LD};
}

/* A left factor of a tile begins with its row of op(X), a right one with its column. */
static void check_factor(const td_product *p, const td_matrix *of, const td_matrix *part, td_op op,
                         bool is_left, int64_t line)
{
    const place at = place_in(p->type, of, part);
    const bool is_row = is_left == (op == TD_OP_N);
    assert_int_equal(is_row ? at.row : at.column, line);
    assert_int_equal(is_row ? at.column : at.row, 0);
}

static void check_tile(const td_product *p, const td_product *tile, place at)
{
    assert_true(tile->k == p->k && tile->m > 0 && tile->n > 0);
    assert_int_equal(tile->region, at.row == at.column ? p->region : TD_REGION_ALL);
    assert_int_equal(tile->has_real_diagonal, at.row == at.column && p->has_real_diagonal);
    check_factor(p, &p->a, &tile->a, p->op_a, true, at.row);
    check_factor(p, &p->b, &tile->b, p->op_b, false, at.column);
    if (!td_product_has_rest(p)) return;
    check_factor(p, &p->rest_a, &tile->rest_a, p->op_a, true, at.row);
    check_factor(p, &p->rest_b, &tile->rest_b, p->op_b, false, at.column);
}

/* Each element of the result is of one tile; in a triangle, each one that it has. */
static void check_cover(const td_tile *whole, td_tile_size size)
{
    static int times[LD * LD];
    const td_type type = whole->is_solve ? whole->solve.type : whole->product.type;
    const td_tile_part all = td_tile_memory_of(whole).written;
    td_tile own = *whole;
    memset(times, 0, sizeof times);
    for (int64_t i = 0; i < td_tile_count(whole, size); i++) {
        td_tile tile = td_tile_at(whole, size, i);
        const place at = place_in(type, td_tile_result(&own), td_tile_result(&tile));
        const td_tile_part part = td_tile_memory_of(&tile).written;
        const td_region region = {part.region, 0, 0};
        const int64_t m = part.extent.rows, n = part.extent.columns;
        if (!whole->is_solve) check_tile(&whole->product, &tile.product, at);
        for (int64_t x = 0; x < m * n; x++)
            if (td_region_has(&region, x % m, x / m))
                times[at.row + x % m + (at.column + x / m) * LD]++;
    }
    const td_region region = {all.region, 0, 0};
    for (int64_t x = 0; x < LD * LD; x++)
        assert_int_equal(times[x], x % LD < all.extent.rows && x / LD < all.extent.columns &&
                                       td_region_has(&region, x % LD, x / LD));
}

TEST(tiles_cover_c_once)
{
    static const td_tile_size sizes[] = {{M, N}, {32, 70}, {33, 7}, {1, 1}, {100, 64}};
    for (int i = 0; i < 5 * 9; i++) {
        const td_tile p = product_of(i % 2 ? TD_BINARY64 : TD_COMPLEX_BINARY64, (td_op)(i % 3),
                                     (td_op)(i / 3 % 3));
        check_cover(&p, sizes[i / 9]);
    }
}

/* Tiles of a triangle are squares, of which those on the diagonal are triangles. */
TEST(tiles_of_an_update_cover_its_triangle_once)
{
    static const td_kind kinds[] = {TD_RANK_K, TD_RANK_KX, TD_RANK_2K};
    for (int i = 0; i < 3 * 2 * 2 * 2; i++) {
        td_problem p =
            call_of(kinds[i % 3], TD_COMPLEX_BINARY64, i / 3 % 2 ? TD_OP_N : TD_OP_T, TD_OP_N);
        p.triangle = i / 6 % 2 ? TD_UPPER : TD_LOWER;
        p.is_hermitian = i / 12 && p.kind != TD_RANK_2K;
        if (p.is_hermitian && p.op_a == TD_OP_T) p.op_a = TD_OP_C;
        const td_tile whole = whole_of(&p);
        const td_tile_size size = td_tile_fitting(&whole, 8, td_tile_bytes(&whole) / 3.0);
        assert_true(size.m == size.n && size.m < N && size.m % 8 == 0);
        check_cover(&whole, size);
        check_cover(&whole, (td_tile_size){9, 9});
        const td_tile tile = td_tile_at(&whole, size, 0);
        const td_tile_part written = td_tile_memory_of(&tile).written;
        assert_int_equal(written.region, whole.product.region);
    }
}

/* Where A is stored in one triangle, each tile has all of it and some vectors of B. */
TEST(tiles_beside_a_triangle_are_vectors)
{
    static const td_kind kinds[] = {TD_SYMMETRIC_PRODUCT, TD_TRIANGULAR_PRODUCT,
                                    TD_TRIANGULAR_SOLVE};
    for (int i = 0; i < 3 * 2 * 2; i++) {
        td_problem p = call_of(kinds[i % 3], TD_BINARY64, TD_OP_N, TD_OP_N);
        p.side = i / 3 % 2 ? TD_RIGHT : TD_LEFT;
        p.triangle = i / 6 ? TD_UPPER : TD_LOWER;
        const bool is_left = p.side == TD_LEFT;
        const td_tile whole = whole_of(&p);
        const double of_a = 8.0 * (is_left ? M * M : N * N);
        const td_tile_size size =
            td_tile_fitting(&whole, 8, of_a + (td_tile_bytes(&whole) - of_a) / 2.0);
        assert_true(is_left ? size.m == M && size.n < N && size.n % 8 == 0
                            : size.n == N && size.m < M && size.m % 8 == 0);
        check_cover(&whole, size);
        assert_int_equal(td_tile_fitting(&whole, 8, of_a).m, 0);
        td_tile tile = td_tile_at(&whole, size, 1);
        const td_tile_memory read = td_tile_memory_of(&tile);
        const int a = is_left || p.kind == TD_TRIANGULAR_SOLVE ? 0 : 1;
        const td_matrix *const of_product = a ? &tile.product.b : &tile.product.a;
        assert_ptr_equal(tile.is_solve ? tile.solve.a.data : of_product->data, memory[0]);
        assert_ptr_equal(read.read[a].extent.matrix.data, memory[0]);
        assert_int_equal(read.read[a].region,
                         p.triangle == TD_LOWER ? TD_REGION_LOWER : TD_REGION_UPPER);
    }
}

/* Elements of the other triangle are added to each. */
TEST(a_hermitian_update_of_rank_2k_is_one_tile)
{
    td_problem p = call_of(TD_RANK_2K, TD_COMPLEX_BINARY64, TD_OP_N, TD_OP_N);
    p.is_hermitian = true;
    const td_tile whole = whole_of(&p);
    assert_int_equal(td_tile_fitting(&whole, 8, td_tile_bytes(&whole)).m, N);
    assert_int_equal(td_tile_fitting(&whole, 8, td_tile_bytes(&whole) - 1.0).m, 0);
}

/* conj(alpha) op(B) op(A)' + beta C first, to which alpha op(A) op(B)' is added. */
TEST(or_two_products)
{
    for (int i = 0; i < 2 * 2; i++) {
        td_problem p = call_of(TD_RANK_2K, TD_COMPLEX_BINARY64, i % 2 ? TD_OP_C : TD_OP_N, TD_OP_N);
        p.is_hermitian = true;
        p.triangle = i / 2 ? TD_UPPER : TD_LOWER;
        p.alpha.value.complex_binary64 = (td_complex_binary64){2.0, 3.0};
        p.beta.value.binary64 = 5.0;
        const td_tile whole = whole_of(&p);
        assert_int_equal(td_tile_levels(&whole), 2);
        assert_int_equal(td_tile_stages(&whole, 1), 2);
        for (int j = 0; j < 2; j++) {
            const td_tile tile = td_tile_stage(&whole, 1, j);
            const td_product stage = tile.product, of = whole.product;
            assert_ptr_equal(stage.a.data, memory[1 - j]);
            assert_ptr_equal(stage.b.data, memory[j]);
            assert_true(stage.op_a == of.op_a && stage.op_b == of.op_b && stage.beta_is_real);
            assert_true(stage.alpha.value.complex_binary64.re == 2.0);
            assert_true(stage.alpha.value.complex_binary64.im == (j ? 3.0 : -3.0));
            assert_true(stage.beta.value.binary64 == (j ? 1.0 : 5.0));
            assert_int_equal(stage.has_real_diagonal, j);
            check_cover(&tile, (td_tile_size){16, 16});
        }
    }
}

/* A step of a solve: a product, or, with k 0, a system with one diagonal block. */
typedef struct {
    const void *a, *x, *c;
    int64_t m, n, k;
    double alpha, beta;
} step;
enum { MOST_STEPS = 256 };
typedef struct {
    step of[MOST_STEPS];
    int count;
} steps;

static void add_product(steps *s, const td_product *p)
{
    assert_true(s->count < MOST_STEPS);
    s->of[s->count++] = (step){.a = p->a.data,
                               .x = p->b.data,
                               .c = p->c.data,
                               .m = p->m,
                               .n = p->n,
                               .k = p->k,
                               .alpha = p->alpha.value.binary64,
                               .beta = p->beta.value.binary64};
}

static void add_solve(steps *s, const td_problem *p, int64_t block_rows)
{
    for (int64_t known = 0; known < td_solve_blocks(p, block_rows); known++) {
        if (known) {
            const td_product update = td_solve_update(p, block_rows, known);
            add_product(s, &update);
        }
        const td_solve_block b = td_solve_block_of(p, block_rows, known);
        assert_true(s->count < MOST_STEPS);
        s->of[s->count++] = (step){.a = b.triangle,
                                   .x = b.vectors,
                                   .m = b.order,
                                   .n = b.count,
                                   .alpha = b.is_first ? b.alpha.value.binary64 : 1.0};
    }
}

static void check_stages(const td_tile *p, int level, int64_t block_rows, const steps *whole)
{
    static steps staged;
    staged.count = 0;
    assert_int_equal(td_tile_stages(p, level), 2 * ((12 + (16 >> level) - 1) / (16 >> level)) - 1);
    for (int64_t i = 0; i < td_tile_stages(p, level); i++) {
        const td_tile stage = td_tile_stage(p, level, i);
        assert_true(!stage.is_solve || td_problem_is_valid(&stage.solve));
        if (stage.is_solve)
            add_solve(&staged, &stage.solve, block_rows);
        else
            add_product(&staged, &stage.product);
    }
    assert_int_equal(staged.count, whole->count);
    assert_memory_equal(staged.of, whole->of, (size_t)whole->count * sizeof *whole->of);
}

/* The matrices are as large as twelve blocks of the most rows, but nothing reads them. */
TEST(stages_have_the_steps_of_the_solve)
{
    enum { ORDER = 11 * TD_SOLVE_MOST + 5 };
    static double a[ORDER * ORDER], b[ORDER * ORDER];
    static steps whole;
    for (int i = 0; i < 3 * 2 * 2 * 3; i++) {
        const int64_t block_rows = (int64_t[]){TD_SOLVE_LEAST_ROWS, 256, TD_SOLVE_MOST}[i / 12];
        td_problem p = call_of(TD_TRIANGULAR_SOLVE, TD_BINARY64, (td_op)(i % 3), TD_OP_N);
        p.side = i / 3 % 2 ? TD_RIGHT : TD_LEFT;
        p.triangle = i / 6 % 2 ? TD_UPPER : TD_LOWER;
        p.m = p.n = ORDER;
        p.a = (td_matrix){.data = a, .ld = ORDER};
        p.b = (td_matrix){.data = b, .ld = ORDER};
        p.alpha.value.binary64 = 3.0;
        whole.count = 0;
        add_solve(&whole, &p, block_rows);
        const td_tile tile = whole_of(&p);
        assert_int_equal(td_tile_levels(&tile), 5); /* 16, 8, 4, 2 and 1 of its 12 blocks */
        for (int level = 0; level < 5; level++) check_stages(&tile, level, block_rows, &whole);
    }
}

/* ---- several devices ---- */

TEST(tiles_are_spread_until_there_are_enough)
{
    const td_tile p = product_of(TD_BINARY64, TD_OP_N, TD_OP_N);
    const td_tile_size all = {M, N};
    for (int64_t wanted = 1; wanted <= 40; wanted++) {
        const td_tile_size size = td_tile_spread(&p, all, 8, wanted);
        assert_true(td_tile_count(&p, size) >= wanted);
        assert_true((size.m == M || size.m % 8 == 0) && (size.n == N || size.n % 8 == 0));
        check_cover(&p, size);
    }
    const td_tile_size few = td_tile_spread(&p, all, 64, 40); /* as many as there are */
    assert_true(few.m == 64 && few.n == 64);
    const td_tile_size none = td_tile_spread(&p, all, 128, 2);
    assert_true(none.m == M && none.n == N);
}

TEST(a_solve_that_sees_all_vectors_is_not_spread)
{
    const td_problem solve = call_of(TD_TRIANGULAR_SOLVE, TD_BINARY64, TD_OP_N, TD_OP_N);
    td_tile whole = whole_of(&solve);
    const td_tile_size all = {M, N};
    assert_true(td_tile_spread(&whole, all, 8, 4).n < N);
    whole.sees_whole = true;
    assert_true(td_tile_spread(&whole, all, 8, 4).n == N);
}

/* It reads all of both factors, and writes its own elements. */
static void check_seen(const td_tile *whole, const td_tile *tile)
{
    const td_tile_memory all = td_tile_memory_of(whole), own = td_tile_memory_of(tile);
    for (int i = 0; i < TD_TILE_FACTORS; i++)
        assert_memory_equal(&own.read[i].extent, &all.read[i].extent, sizeof(td_extent));
    assert_true(tile->product.whole == &whole->product);
    assert_true(own.written.extent.rows == tile->product.m &&
                own.written.extent.columns == tile->product.n);
}

TEST(tiles_that_see_the_whole_have_all_of_its_factors)
{
    static double copies[3][LD * LD];
    for (int i = 0; i < 9; i++) {
        td_tile whole = product_of(TD_BINARY64, (td_op)(i % 3), (td_op)(i / 3));
        whole.sees_whole = true;
        const td_tile_size size = td_tile_spread(&whole, (td_tile_size){M, N}, 8, 6);
        check_cover(&whole, size);
        for (int64_t t = 0; t < td_tile_count(&whole, size); t++) {
            const td_tile tile = td_tile_at(&whole, size, t);
            const td_tile_memory memory = td_tile_memory_of(&tile);
            check_seen(&whole, &tile);
            td_tile there = tile;
            td_product seen;
            const td_matrix at[TD_TILE_FACTORS] = {{.data = copies[0], .ld = LD},
                                                   {.data = copies[1], .ld = LD}},
                            result = {.data = copies[2], .ld = tile.product.m};
            td_tile_place(&there, &memory, at, result, &seen);
            assert_true(there.product.whole == &seen && there.product.c.data == copies[2]);
            const place of_c = place_in(TD_BINARY64, &whole.product.c, &tile.product.c);
            check_factor(&seen, &at[0], &there.product.a, seen.op_a, true, of_c.row);
            check_factor(&seen, &at[1], &there.product.b, seen.op_b, false, of_c.column);
            const td_product all = td_product_in_whole(&there.product);
            assert_true(all.m == M && all.n == N && all.a.data == copies[0]);
            assert_true(all.window.i == of_c.row && all.window.j == of_c.column &&
                        all.window.m == tile.product.m && all.window.n == tile.product.n);
            assert_ptr_equal(td_product_made_c(&all).data, copies[2]);
        }
    }
}

TEST(products_have_one_stage)
{
    const td_tile p = product_of(TD_BINARY64, TD_OP_N, TD_OP_N);
    td_problem solve = call_of(TD_TRIANGULAR_SOLVE, TD_BINARY64, TD_OP_N, TD_OP_N);
    solve.m = 1000;
    solve.alpha.value.binary64 = 0.0;
    td_tile alone[] = {p, whole_of(&solve)};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(td_tile_levels(&alone[i]), 1);
        assert_int_equal(td_tile_stages(&alone[i], 0), 1);
        td_tile stage = td_tile_stage(&alone[i], 0, 0);
        assert_memory_equal(td_tile_result(&stage), td_tile_result(&alone[i]), sizeof(td_matrix));
        assert_int_equal(td_tile_memory_of(&stage).written.extent.rows, i ? 1000 : M);
    }
}

TEST(factorisations_have_no_tiles)
{
    const td_problem p = call_of(TD_LU_FACTOR, TD_BINARY64, TD_OP_N, TD_OP_N);
    td_tile whole;
    assert_false(td_tile_whole(&p, &whole));
}
