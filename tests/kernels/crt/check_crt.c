/* check_crt.c - X from its residues, by whole numbers, by binary64 arithmetic, and by the kernel
 * that multiplies, where there is one, or from notes that such a kernel would leave: C, masks and
 * open tiles bit for bit the same, and the same as a conversion of X itself, which rounds once.
 * Large and small X, halves between two numbers and their neighbours, zeros; lines that are
 * certified, that are not, that are special, and scales of subnormal and of infinite results.
 *
 * usage: check_crt [CASES [SEED]] */
#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/fused/fused.h"
#include "tests/support/random.h"
#include "crt_data.h"
#include "tests/kernels/support/device.h"

static int cases = 300;
static uint64_t first_seed;

/* C, masks and open tiles. */
typedef struct {
    double *c;
    uint16_t *masks;
    td_open_counts open[MEMBERS];
    int32_t *tiles;
    uint8_t *is_dense;  /* of tiles, if exact ones are left to a second product */
    bool has_all_masks; /* not of open tiles alone */
} crt_result;

/* Panels whose products are the residues: each line of A is a unit vector, and k counts rows of
 * C. */
typedef struct {
    int64_t k, lines;
    int8_t *a, *b;
} unit_panels;

static unit_panels make_panels(const crt_case *p, const crt_data *d)
{
    unit_panels u = {.k = (int64_t)d->ld,
                     .lines = (p->n + TD_LINE_PAD - 1) / TD_LINE_PAD * TD_LINE_PAD};
    const int64_t planes = (int64_t)p->count * MEMBERS;
    u.a = crt_filled((size_t)(planes * u.k * u.k), 0);
    u.b = crt_filled((size_t)(planes * u.lines * u.k), 0);
    for (int64_t plane = 0; plane < planes; plane++) {
        const int8_t *const from = d->residue + plane * u.k * p->n;
        for (int i = 0; i < p->m; i++) {
            u.a[(plane * u.k + td_place_of_line(i)) * u.k + i] = 1;
            for (int j = 0; j < p->n; j++)
                u.b[(plane * u.lines + j) * u.k + i] = from[(int64_t)j * u.k + i];
        }
    }
    return u;
}

/* Members that a kernel may multiply and finish; the device has one. */
static bool may_be_fused(const crt_case *p)
{
    const td_choice choice = {.parameter = p->count, .is_estimated = p->is_estimated};
    return td_is_fused(&choice) && !p->is_complex;
}
static bool has_fused(void) { return td_wgmma_exists(); }

/* All lines are such that only octets are left. */
static bool is_usual(const crt_case *p)
{
    return !p->has_open_lines && !p->has_far_scales && !p->has_least_results && p->alpha != 0.0;
}

/* Multiplies, and leaves nothing else of the residues that were there. */
static void multiply_fused(const crt_case *p, const crt_data *d, const td_finish *finish,
                           td_residue_product *product)
{
    unit_panels u = make_panels(p, d);
    const size_t planes = (size_t)p->count * MEMBERS, left = td_deferred_bytes(p->m, p->n, MEMBERS);
    int8_t *const a = device_copy(u.a, planes * (size_t)(u.k * u.k));
    int8_t *const b = device_copy(u.b, planes * (size_t)(u.lines * u.k));
    CHECK_CUDA(cudaMemset(product->deferred.word, 0xa5, left));
    CHECK_CUDA(cudaMemset(product->residue, 0x5a, d->residues));
    const td_panels panels = {.type = TD_PANEL_RESIDUE,
                              .m = u.k,
                              .n = p->n,
                              .k = u.k,
                              .a = a,
                              .b = b,
                              .layout.ld_a = u.k,
                              .layout.ld_b = u.k,
                              .layout.plane_a = u.k * u.k * MEMBERS,
                              .layout.plane_b = u.lines * u.k * MEMBERS,
                              .layout.member_a = u.k * u.k,
                              .layout.member_b = u.lines * u.k,
                              .planes = p->count,
                              .batch = MEMBERS,
                              .choice = finish->choice,
                              .slices = 1};
    CHECK_CUDA(td_fused_run(&panels, product, finish, p->blocks, NULL));
    device_check_clean(crt_text(p));
    device_free(a, b);
    test_drop(u.a, u.b);
}

/* Notes of a kernel that has left all octets, of usual tiles one by one
 * (../../kernels/crt/deferred.h). */
static void note_all(const crt_case *p, const td_deferred *left)
{
    const size_t bytes = td_deferred_bytes(p->m, p->n, MEMBERS);
    const int rows = (p->m + 127) / 128, tiles = rows * ((p->n + 127) / 128);
    uint32_t *const word = crt_filled(bytes, 0);
    uint8_t *const tile = (uint8_t *)word + ((char *)left->tile - (char *)left->word);
    test_random r = random_start(p->seed);
    for (int t = 0; t < tiles * MEMBERS; t++) {
        tile[t] = !is_usual(p) || random_int(&r, 0, 1);
        for (int w = 0; !tile[t] && w < 64; w++)
            for (int lane = 0; lane < 32; lane++) {
                const int i = 128 * (t % tiles % rows) + w % 8 / 4 * 64 + lane % 4 * 16 + w % 2 * 8;
                const int j = 128 * (t % tiles / rows) + w / 8 * 16 + w % 4 / 2 * 8 + lane / 4;
                if (i < p->m && j < p->n) word[64 * t + w] |= 1u << lane;
            }
    }
    CHECK_CUDA(cudaMemcpy(left->word, word, bytes, cudaMemcpyHostToDevice));
    free(word);
}

typedef enum { BY_LIMBS, BY_PAIRS, BY_PAIRS_TWO_TILES, BY_FUSED, BY_NOTES } way;
static bool is_apart(way how) { return how <= BY_PAIRS_TWO_TILES; }

/* What comes before td_residues_finish. */
static void leave(const crt_case *p, const crt_data *d, way how, const td_finish *finish,
                  td_residue_product *product)
{
    void *memory = NULL;
    if (is_apart(how)) return;
    CHECK_CUDA(cudaMalloc(&memory, td_deferred_bytes(p->m, p->n, MEMBERS)));
    product->deferred = td_deferred_in(memory, p->m, p->n, MEMBERS);
    if (how == BY_FUSED) multiply_fused(p, d, finish, product);
    if (how == BY_NOTES) note_all(p, &product->deferred);
}

/* Whom dense tiles are left to. */
static td_deferred_tiles leaves_of(const crt_case *p)
{
    if (p->seed % 2) return TD_DEFERS_NO_TILES;
    return p->is_exact ? TD_DEFERS_TO_SECOND : TD_DEFERS_TO_BINARY64;
}

/* What is on the device: what C is made from, and what is made. */
typedef struct {
    int8_t *residue;
    double *c;
    uint16_t *masks;
    td_open_counts *open;
    int32_t *tiles;
    uint8_t *is_dense, *ranks;
    td_choice *choice;
    td_line *line[2];
} crt_memory;

static size_t c_bytes(const crt_data *d) { return d->elements * sizeof(double); }

static size_t mask_bytes(const crt_data *d) { return d->tiles * TD_SUBTILES * sizeof(uint16_t); }

static crt_memory memory_make(const crt_data *d, const crt_result *result)
{
    crt_memory at = {.residue = device_copy(d->residue, d->residues),
                     .c = device_copy(d->c, c_bytes(d)),
                     .masks = device_copy(d->masks, mask_bytes(d)),
                     .open = device_copy(result->open, sizeof result->open),
                     .tiles = device_copy(d->masks, d->tiles * sizeof(int32_t)),
                     .is_dense = device_copy(result->is_dense, d->tiles),
                     .choice = device_copy(d->choice, sizeof d->choice),
                     .ranks = device_copy(d->min_moduli, d->numbers)};
    for (int o = 0; o < 2; o++)
        at.line[o] = device_copy(d->line[o], d->lines[o] * MEMBERS * sizeof(td_line));
    return at;
}

static void memory_free(const crt_memory *at)
{
    void *const all[] = {at->residue,  at->c,     at->masks,  at->open,    at->tiles,
                         at->is_dense, at->ranks, at->choice, at->line[0], at->line[1]};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) device_free(all[i]);
}

static td_finish finish_of(const crt_case *p, const crt_data *d, const crt_memory *at)
{
    return (td_finish){
        .target = {.c = {.data = at->c, .ld = p->ld, .stride = (int64_t)p->ld * p->n},
                   .m = p->m,
                   .n = p->n,
                   .alpha = {.value.binary64 = p->alpha},
                   .beta = {.value.binary64 = p->beta},
                   .masks = at->masks,
                   .open_count = at->open,
                   .open_tile = at->tiles,
                   .is_dense = leaves_of(p) == TD_DEFERS_TO_SECOND ? at->is_dense : NULL},
        .kind = p->is_exact ? TD_FINISH_EXACT : TD_FINISH_ROUND,
        .counts_rounded = p->is_exact && p->seed % 16 != 6,
        .line = {at->line[0], at->line[1]},
        .lines_of_member = {p->m, p->n},
        .choice = at->choice,
        .min_moduli = {at->ranks, (int64_t)d->ld, (int64_t)d->ld * p->n},
        .defers_tiles = leaves_of(p)};
}

static crt_result finish_by(const crt_case *p, const crt_data *d, way how)
{
    const td_crt_route crt = how == BY_LIMBS   ? TD_CRT_LIMBS
                             : how == BY_PAIRS ? TD_CRT_PAIRS
                                               : TD_CRT_PAIRS_TWO_TILES;
    crt_result result = {.c = malloc(c_bytes(d)),
                         .masks = malloc(mask_bytes(d)),
                         .tiles = malloc(d->tiles * sizeof(int32_t)),
                         .is_dense = crt_filled(d->tiles, 0xa5),
                         .has_all_masks = is_apart(how)};
    const crt_memory at = memory_make(d, &result);
    const int64_t ld = (int64_t)d->residue_ld;
    td_residue_product product = {at.residue, (int64_t)d->plane, ld * p->n, 0,  ld,
                                  1,          p->is_complex,     crt,       {0}};
    const td_finish finish = finish_of(p, d, &at);
    leave(p, d, how, &finish, &product);
    CHECK_CUDA(td_residues_finish(&product, p->count, p->count, &finish, MEMBERS, NULL));
    device_check_clean(crt_text(p));
    device_fetch(result.c, at.c, c_bytes(d));
    device_fetch(result.masks, at.masks, mask_bytes(d));
    device_fetch(result.open, at.open, sizeof result.open);
    device_fetch(result.tiles, at.tiles, d->tiles * sizeof(int32_t));
    device_fetch(result.is_dense, at.is_dense, d->tiles);
    memory_free(&at);
    device_free(product.deferred.word);
    return result;
}

/* True if a member's tile is among the open ones. */
static bool is_open(const crt_result *result, int z, int tile, int tiles)
{
    const td_open_counts *const counts = result->open + z;
    const int32_t *const own = result->tiles + (int64_t)z * tiles;
    for (int i = 0; i < counts->few; i++)
        if (own[i] == tile) return true;
    for (int i = 0; i < counts->dense; i++)
        if (own[tiles - 1 - i] == tile) return true;
    return false;
}

/* True if the mask of an element that exists says that it is left. */
static bool is_left(const crt_case *p, const crt_result *result, int z, int i, int j)
{
    const int rows = (p->m + 63) / 64, columns = (p->n + 63) / 64;
    if (!result->has_all_masks && !is_open(result, z, j / 64 * rows + i / 64, rows * columns))
        return false;
    const size_t tile = (size_t)((z * columns + j / 64) * rows + i / 64);
    const uint16_t mask =
        result->masks[tile * TD_SUBTILES + (size_t)(j % 64 / 4 * 16 + i % 64 / 4)];
    return mask >> (j % 4 * 4 + i % 4) & 1;
}

/* What X rounds to, where that is simple: alpha 1, beta 0 and a normal number. */
static void check_value(const crt_case *p, const crt_data *d, const crt_result *got, int z, int i,
                        int j)
{
    const size_t lines_a = (size_t)(z * p->m + i), lines_b = (size_t)(z * p->n + j);
    const int scale = d->line[0][lines_a].scale + d->line[1][lines_b].scale;
    const crt_number x = d->x[((size_t)z * (size_t)p->n + (size_t)j) * d->ld + (size_t)i];
    const double value = got->c[((size_t)z * (size_t)p->n + (size_t)j) * (size_t)p->ld + (size_t)i];
    if (p->alpha != 1.0 || p->beta != 0.0 || is_left(p, got, z, i, j) || scale < -900 ||
        scale > 1000)
        return;
    CHECK(value == crt_nearest_to(x, p->count, scale), "element %d, %d of %d is %a, not %a: %s", i,
          j, z, value, crt_nearest_to(x, p->count, scale), crt_text(p));
}

static void free_result(crt_result *result)
{
    test_drop(result->c, result->masks, result->tiles, result->is_dense);
}

/* Cases of which dense tiles are left to a second product. */
static int dense_tiles;

/* What one way makes is the same as `whole`. */
static void check_way(const crt_case *p, const crt_data *d, const crt_result *whole, way how)
{
    crt_result got = finish_by(p, d, how);
    for (int z = 0; z < MEMBERS; z++)
        for (int j = 0; j < p->n; j++)
            for (int i = 0; i < p->m; i++) {
                CHECK(is_left(p, whole, z, i, j) == is_left(p, &got, z, i, j),
                      "way %d: mask of %d, %d of %d: %s", (int)how, i, j, z, crt_text(p));
                check_value(p, d, &got, z, i, j);
            }
    CHECK(memcmp(whole->c, got.c, d->elements * sizeof(double)) == 0, "way %d: C differs: %s",
          (int)how, crt_text(p));
    CHECK(memcmp(whole->open, got.open, sizeof got.open) == 0, "way %d: open tiles: %s", (int)how,
          crt_text(p));
    CHECK(memcmp(whole->is_dense, got.is_dense, d->tiles) == 0, "way %d: dense tiles: %s", (int)how,
          crt_text(p));
    dense_tiles += whole->open[0].sums > 0;
    free_result(&got);
}

/* Lines of which nothing is rounded. */
static td_line *make_exact(const td_line *lines, size_t count)
{
    td_line *const exact = malloc(count * sizeof(td_line));
    for (size_t i = 0; i < count; i++) {
        exact[i] = lines[i];
        exact[i].rounded = TD_NONE_ROUNDED;
        if (exact[i].low != TD_SPECIAL) exact[i].low = (int16_t)-exact[i].scale;
    }
    return exact;
}

/* Beside a tie binary64 arithmetic may tell of more elements than whole numbers certify: they are
 * what X is rounded to, and no others are left. */
static void check_ties(const crt_case *p, const crt_data *d, const crt_result *whole, way how)
{
    crt_data of_exact_lines = *d;
    for (int o = 0; o < 2; o++)
        of_exact_lines.line[o] = make_exact(d->line[o], d->lines[o] * MEMBERS);
    crt_result got = finish_by(p, d, how), all = finish_by(p, &of_exact_lines, BY_LIMBS);
    for (int z = 0; z < MEMBERS; z++)
        for (int j = 0; j < p->n; j++)
            for (int i = 0; i < p->m; i++) {
                const size_t at =
                    ((size_t)z * (size_t)p->n + (size_t)j) * (size_t)p->ld + (size_t)i;
                if (is_left(p, &got, z, i, j)) {
                    CHECK(is_left(p, whole, z, i, j), "%d, %d of %d is left: %s", i, j, z,
                          crt_text(p));
                    continue;
                }
                CHECK(memcmp(&got.c[at], &all.c[at], sizeof(double)) == 0,
                      "%d, %d of %d is %a, not %a: %s", i, j, z, got.c[at], all.c[at], crt_text(p));
            }
    for (int o = 0; o < 2; o++) free(of_exact_lines.line[o]);
    free_result(&got);
    free_result(&all);
}

static void check_case(const crt_case *p)
{
    crt_data d = crt_make_data(p);
    crt_result whole = finish_by(p, &d, BY_LIMBS);
    for (way how = BY_PAIRS; how <= BY_PAIRS_TWO_TILES; how++) {
        if (p->has_ties)
            check_ties(p, &d, &whole, how);
        else
            check_way(p, &d, &whole, how);
    }
    if (may_be_fused(p)) {
        check_way(p, &d, &whole, BY_NOTES);
        if (has_fused()) check_way(p, &d, &whole, BY_FUSED);
    }
    free_result(&whole);
    crt_free_data(&d);
}

TEST(all_ways_agree)
{
    for (int i = 0; i < cases; i++) {
        const crt_case p = crt_random_case(first_seed + (uint64_t)i);
        check_case(&p);
    }
    test_note("%d cases, dense tiles for a second product in %d", cases, dense_tiles);
    CHECK(cases < 100 || dense_tiles > 0, "no tile is dense");
}

int main(int argc, char **argv)
{
    device_require();
    if (td_crt_prepare() != cudaSuccess || td_fused_prepare() != cudaSuccess) return 1;
    if (test_is_brief()) cases = 30;
    test_take_cases(argc, argv, &cases, &first_seed);
    return test_run();
}
