/* check_int8.c - products of residues, and of magnitudes, by every way that makes them on the
 * device, against plain sums: random shapes, members, choices, slices and maps of zeros, random and
 * extreme numbers; what is not to be written stays, and what is to be passed over holds other
 * numbers than zeros where all lines pass over it.
 *
 * usage: check_int8 [CASES [SEED]]; CASES random cases, of which some sixteenth are large. */
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/residue/moduli.h"
#include "lib/engines/ozaki/panels.h"
#include "lib/model/route.h"
#include "tests/support/random.h"
#include "tests/kernels/support/device.h"

static const int moduli[TD_MAX_MODULI] = {TD_MODULI};

static int cases = 400;
static uint64_t first_seed;

typedef enum { RANDOM, LARGEST, OPPOSITE, SPARSE } filling;
enum { FILLINGS = 4, MOST_MEMBERS = 3, GUARD = 64 };

/* A map whose blocks without a bit are zeros; the same with some that no product may see, in both
 * operands. */
typedef enum { NO_MAP, ZEROS, POISONED } map_kind;
enum { MAP_KINDS = 3 };

typedef struct {
    uint64_t seed;
    int m, n, k, pad_k, pad_c, planes, batch, slices;
    int wanted[MOST_MEMBERS];
    bool accumulate;
    /* TD_PANEL_LOGARITHM of magnitudes: all planes of a member are wanted, or none */
    bool is_logarithm;
    filling fill;
    map_kind map;
} int8_case;

static const char *text(const int8_case *p)
{
    static char buffer[192];
    snprintf(buffer, sizeof buffer,
             "seed %llu: m=%d n=%d k=%d pads %d %d planes %d batch %d slices %d wanted %d %d %d%s "
             "fill %d map %d",
             (unsigned long long)p->seed, p->m, p->n, p->k, p->pad_k, p->pad_c, p->planes, p->batch,
             p->slices, p->wanted[0], p->wanted[1], p->wanted[2],
             p->is_logarithm ? " logarithms"
             : p->accumulate ? " accumulated"
                             : "",
             (int)p->fill, (int)p->map);
    return buffer;
}

/* One of TD_K_PAD from 64 on; short sums and others, odd numbers of steps and even ones; maps of
 * several words. */
static int random_k(test_random *r, bool is_large, bool is_long)
{
    return TD_K_PAD * (is_long ? random_int(r, 60, 260) : random_int(r, 1, is_large ? 40 : 9));
}

static int8_case random_case(uint64_t seed)
{
    test_random r = random_start(seed);
    const int kind = random_int(&r, 0, 15);
    const bool is_large = kind == 0, is_long = kind == 1;
    int8_case p = {.seed = seed,
                   .m = TD_LINE_GROUP * random_int(&r, 1, is_large ? 11 : 3),
                   .n = random_int(&r, 1,
                                   is_large  ? 500
                                   : is_long ? 20
                                             : 150),
                   .k = random_k(&r, is_large, is_long),
                   .pad_k = 16 * random_int(&r, 0, 3),
                   .pad_c = TD_LINE_GROUP * random_int(&r, 0, 1),
                   .planes = random_int(&r, 1,
                                        is_large  ? TD_MAX_MODULI
                                        : is_long ? 2
                                                  : 6),
                   .batch = random_int(&r, 1, MOST_MEMBERS),
                   .accumulate = random_int(&r, 0, 2) == 0,
                   .fill = (filling)random_int(&r, 0, FILLINGS - 1)};
    const int most = p.k / TD_SLICE_K < 3 ? p.k / TD_SLICE_K : 3;
    p.slices = most > 1 ? random_int(&r, 1, most) : 1;
    for (int z = 0; z < MOST_MEMBERS; z++) p.wanted[z] = random_int(&r, 0, p.planes + 2);
    p.map = (map_kind)random_int(&r, 0, MAP_KINDS - 1);
    p.is_logarithm = random_int(&r, 0, 3) == 0;
    if (!p.is_logarithm) return p;
    for (int z = 0; z < MOST_MEMBERS; z++) p.wanted[z] = p.wanted[z] > p.planes / 2 ? p.planes : 0;
    p.slices = 1;
    p.accumulate = false;
    return p;
}

static int lines_c(const int8_case *p) { return p->m + p->pad_c; }

/* Bytes of the matrices, from member to member; planes follow after all members. */
static size_t step_a(const int8_case *p) { return (size_t)p->m * (size_t)(p->k + p->pad_k); }
static size_t step_b(const int8_case *p) { return (size_t)p->n * (size_t)(p->k + p->pad_k); }
static size_t step_c(const int8_case *p) { return (size_t)p->n * (size_t)lines_c(p); }

static int8_t random_magnitude(test_random *r, filling fill, bool is_b)
{
    if (fill == LARGEST || (fill == OPPOSITE && is_b)) return 127;
    if (fill == SPARSE && random_int(r, 0, 15)) return 0;
    return (int8_t)random_int(r, 0, 127);
}

static int8_t random_residue(test_random *r, filling fill, int p, bool is_b)
{
    const int least = p == 256 ? -128 : -((p - 1) / 2), most = (p - 1) / 2;
    switch (fill) {
    case LARGEST:
        return (int8_t)(p == 256 ? least : most);
    case OPPOSITE:
        return (int8_t)(is_b ? most : least);
    case SPARSE:
        return (int8_t)(random_int(r, 0, 7) ? 0 : random_int(r, 0, 1) ? least : most);
    default:
        return (int8_t)random_int(r, least, most);
    }
}

/* A, B and C in host memory, and in the device's. */
typedef struct {
    int8_t *a, *b, *c, *device_a, *device_b, *device_c;
    size_t bytes_a, bytes_b, bytes_c;
    td_choice *choice;
    uint32_t *next_unit, *map[2], *device_map[2];
} int8_data;

static int64_t lines_of(const int8_case *p, int which) { return which ? p->n : p->m; }

static size_t map_words(const int8_case *p, int which)
{
    return (size_t)(p->batch * td_nonzero_of_member(lines_of(p, which), p->k));
}

/* The word that a stage of k of a line has its bit in. */
static uint32_t *word_of(const int8_case *p, uint32_t *map, int which, int member, int line,
                         int stage)
{
    return map + member * td_nonzero_of_member(lines_of(p, which), p->k) +
           line / TD_LINE_GROUP * td_nonzero_words(p->k) + stage / 32;
}

static bool is_first_of_slice(const int8_case *p, int stage)
{
    const td_panels panels = {.k = p->k, .slices = p->slices};
    for (int i = 0; i < p->slices; i++)
        if (td_first_of_slice(&panels, i) == stage) return true;
    return false;
}

/* In every stage that begins a slice all blocks of a poisoned map have a bit: without any a product
 * would go through one more. */
static void make_maps(const int8_case *p, int8_data *d, test_random *r)
{
    const int share = random_int(r, 0, 8), stages = (p->k + TD_SLICE_K - 1) / TD_SLICE_K;
    for (int o = 0; o < 2; o++) {
        d->map[o] = test_zeros(map_words(p, o), sizeof **d->map);
        for (int stage = 0; stage < stages; stage++) {
            const bool is_first = is_first_of_slice(p, stage),
                       is_passed = p->map == POISONED && random_int(r, 0, 2) == 0;
            for (int z = 0; z < p->batch; z++)
                for (int line = 0; line < lines_of(p, o); line += TD_LINE_GROUP) {
                    const bool bit = p->map == POISONED && is_first ? true
                                     : is_passed                    ? false
                                                                    : random_int(r, 1, 8) <= share;
                    *word_of(p, d->map[o], o, z, line, stage) |= (uint32_t)bit << (stage % 32);
                }
        }
    }
}

static bool has_bit(const int8_case *p, const int8_data *d, int which, int member, int line,
                    int stage)
{
    return p->map == NO_MAP ||
           (*word_of(p, d->map[which], which, member, line, stage) >> (stage % 32) & 1);
}

/* True if no line of the member has a bit there. */
static bool is_passed_over(const int8_case *p, const int8_data *d, int which, int member, int stage)
{
    for (int line = 0; line < lines_of(p, which); line += TD_LINE_GROUP)
        if (has_bit(p, d, which, member, line, stage)) return false;
    return true;
}

/* What a map says is zeros. */
static void clear_blocks(const int8_case *p, int8_data *d, int which)
{
    const size_t ld = (size_t)(p->k + p->pad_k);
    for (int x = 0; x < p->planes * p->batch; x++)
        for (int stage = 0; stage * TD_SLICE_K < p->k; stage++) {
            const int z = x % p->batch, first = stage * TD_SLICE_K,
                      count = p->k - first < TD_SLICE_K ? p->k - first : TD_SLICE_K;
            if (p->map == POISONED && is_passed_over(p, d, which, z, stage)) continue;
            for (int64_t i = 0; i < lines_of(p, which); i++)
                if (!has_bit(p, d, which, z, (int)i, stage))
                    memset((which ? d->b : d->a) +
                               ((size_t)(x * lines_of(p, which) + i) * ld + (size_t)first),
                           0, (size_t)count);
        }
}

static int8_data make_data(const int8_case *p)
{
    test_random r = random_start(~p->seed);
    const size_t matrices = (size_t)(p->planes * p->batch);
    int8_data d = {.bytes_a = matrices * step_a(p),
                   .bytes_b = matrices * step_b(p),
                   .bytes_c = matrices * step_c(p) * (size_t)p->slices + GUARD};
    td_choice choice[MOST_MEMBERS] = {{0}};
    d.a = test_memory(d.bytes_a);
    d.b = test_memory(d.bytes_b);
    d.c = test_memory(d.bytes_c);
    for (size_t x = 0; x < matrices; x++) {
        const int modulus = moduli[x / (size_t)p->batch];
        for (size_t i = 0; i < step_a(p); i++)
            d.a[x * step_a(p) + i] = p->is_logarithm ? random_magnitude(&r, p->fill, false)
                                                     : random_residue(&r, p->fill, modulus, false);
        for (size_t i = 0; i < step_b(p); i++)
            d.b[x * step_b(p) + i] = p->is_logarithm ? random_magnitude(&r, p->fill, true)
                                                     : random_residue(&r, p->fill, modulus, true);
    }
    for (size_t i = 0; i < d.bytes_c; i++) d.c[i] = (int8_t)random_int(&r, -128, 127);
    if (p->map != NO_MAP) {
        make_maps(p, &d, &r);
        for (int o = 0; o < 2; o++) {
            clear_blocks(p, &d, o);
            d.device_map[o] = (uint32_t *)device_copy(d.map[o], map_words(p, o) * sizeof **d.map);
        }
    }
    for (int z = 0; z < MOST_MEMBERS; z++) {
        choice[z].parameter = p->is_logarithm ? random_int(&r, 1, 9) : p->wanted[z];
        choice[z].is_estimated = p->is_logarithm ? p->wanted[z] > 0 : random_int(&r, 0, 1);
    }
    d.device_a = device_copy(d.a, d.bytes_a);
    d.device_b = device_copy(d.b, d.bytes_b);
    d.device_c = device_copy(d.c, d.bytes_c);
    d.choice = (td_choice *)device_copy(choice, sizeof choice);
    d.next_unit = (uint32_t *)device_copy(&(uint32_t){0}, sizeof(uint32_t));
    return d;
}

static void free_data(int8_data *d)
{
    device_free(d->device_a, d->device_b, d->device_c, d->choice, d->next_unit);
    for (int o = 0; o < 2; o++) {
        device_free(d->device_map[o]);
        free(d->map[o]);
    }
    test_drop(d->a, d->b, d->c);
}

static td_panels panels_of(const int8_case *p, const int8_data *d)
{
    const int64_t a = (int64_t)step_a(p), b = (int64_t)step_b(p), c = (int64_t)step_c(p);
    return (td_panels){
        .type = p->is_logarithm ? TD_PANEL_LOGARITHM : TD_PANEL_RESIDUE,
        .m = p->m,
        .n = p->n,
        .k = p->k,
        .a = d->device_a,
        .b = d->device_b,
        .c = d->device_c,
        .layout.ld_a = p->k + p->pad_k,
        .layout.ld_b = p->k + p->pad_k,
        .layout.ld_c = lines_c(p),
        .layout.plane_a = a * p->batch,
        .layout.plane_b = b * p->batch,
        .layout.plane_c = c * p->batch,
        .layout.member_a = a,
        .layout.member_b = b,
        .layout.member_c = c,
        .planes = p->planes,
        .batch = p->batch,
        .accumulate = p->accumulate,
        .choice = d->choice,
        .slices = p->slices,
        .slice_c = c * p->batch * p->planes,
        .next_unit = d->next_unit,
        .nonzero = {d->device_map[0], d->device_map[1]},
    };
}

/* The compiler makes vectors of sums in 32 bits, which TD_RESIDUE_K products fit. */
TEST_UNWATCHED static int64_t dot(const int8_t *x, const int8_t *y, int count)
{
    _Static_assert((int64_t)TD_RESIDUE_K * 128 * 128 <= INT32_MAX, "no sum overflows");
    int sum = 0;
    for (int l = 0; l < count; l++) sum += x[l] * y[l];
    return sum;
}

/* Of lines i and j of C from `first` up to `end`: of the stages that have a bit in both. */
static int64_t sum_of(const int8_case *p, const int8_data *d, int plane, int member, int i, int j,
                      int first, int end)
{
    const size_t matrix = (size_t)(plane * p->batch + member), ld = (size_t)(p->k + p->pad_k);
    const int8_t *const x = d->a + matrix * step_a(p) + (size_t)td_place_of_line(i) * ld,
                        *const y = d->b + matrix * step_b(p) + (size_t)j * ld;
    int64_t sum = 0;
    if (p->map == NO_MAP) return dot(x + first, y + first, end - first);
    for (int l = first; l < end; l += TD_SLICE_K)
        if (has_bit(p, d, 0, member, i, l / TD_SLICE_K) &&
            has_bit(p, d, 1, member, j, l / TD_SLICE_K))
            sum += dot(x + l, y + l, end - l < TD_SLICE_K ? end - l : TD_SLICE_K);
    return sum;
}

/* TD_PANEL_LOGARITHM's byte. */
static int8_t logarithm_of(int64_t sum)
{
    int e = 0;
    if (sum == 0) return 0;
    while (sum >> e > 1) e++;
    return (int8_t)(uint8_t)(1 + 8 * e + (int)(8 * (sum - (INT64_C(1) << e)) >> e));
}

/* True of what products leave of a sum: a number of its residue class, within 5 p / 8 of 0. */
static bool is_residue(int8_t got, int64_t sum, int modulus)
{
    return (sum - got) % modulus == 0 && 8 * abs(got) <= 5 * modulus;
}

/* Where the storage of C has one matrix of one slice. */
static size_t place_of_matrix(const int8_case *p, int plane, int member, int slice)
{
    const size_t matrix = (size_t)(plane * p->batch + member);
    return ((size_t)(slice * p->planes * p->batch) + matrix) * step_c(p);
}

/* The sums of products that make one matrix of one slice, in the order of C's storage; 0 in its
 * padding. */
static void set_sums(const int8_case *p, const td_panels *panels, const int8_data *d, int plane,
                     int member, int slice, int64_t *sums)
{
    const int first = TD_SLICE_K * td_first_of_slice(panels, slice),
              end = TD_SLICE_K * td_first_of_slice(panels, slice + 1), lines = lines_c(p);
    for (int j = 0; j < p->n; j++)
        for (int i = 0; i < lines; i++, sums++)
            *sums =
                i >= p->m ? 0 : sum_of(p, d, plane, member, i, j, first, end < p->k ? end : p->k);
}

/* The sums of all matrices that are wanted. */
static int64_t *sums_of(const int8_case *p, const td_panels *panels, const int8_data *d)
{
    int64_t *const sums = test_zeros(d->bytes_c, sizeof *sums);
    for (int slice = 0; slice < p->slices; slice++)
        for (int plane = 0; plane < p->planes; plane++)
            for (int member = 0; member < p->batch; member++)
                if (plane < p->wanted[member])
                    set_sums(p, panels, d, plane, member, slice,
                             sums + place_of_matrix(p, plane, member, slice));
    return sums;
}

/* The elements of one matrix of one slice; the index of the first that is wrong, or -1. */
static int64_t check_matrix(const int8_case *p, const int8_data *d, const int64_t *sums,
                            const int8_t *got, int plane, int member, int slice)
{
    const size_t at = place_of_matrix(p, plane, member, slice);
    const int lines = lines_c(p), modulus = moduli[plane];
    for (int j = 0; j < p->n; j++)
        for (int i = 0; i < lines; i++) {
            const size_t x = at + (size_t)j * (size_t)lines + (size_t)i;
            const int64_t expected = sums[x] + (p->accumulate ? d->c[x] : 0);
            const bool is_right = plane >= p->wanted[member] || i >= p->m ? got[x] == d->c[x]
                                  : p->is_logarithm ? got[x] == logarithm_of(expected)
                                                    : is_residue(got[x], expected, modulus);
            if (!is_right) return (int64_t)x;
        }
    return -1;
}

/* By a row of TD_STAGE_GEMM. C on the device is made what it is on the host first. */
static void check_case(const td_route_row *by, const int8_case *p, const int8_data *d,
                       const int64_t *sums)
{
    td_panels panels = panels_of(p, d);
    panels.gemm = (td_gemm_route)by->value;
    int8_t *got = test_memory(d->bytes_c);
    int64_t wrong = -1;
    uint32_t left = 0;
    CHECK_CUDA(cudaMemcpy(d->device_c, d->c, d->bytes_c, cudaMemcpyHostToDevice));
    CHECK_CUDA(td_panels_run(NULL, &panels, NULL));
    device_check_clean(by->name);
    CHECK_CUDA(cudaMemcpy(got, d->device_c, d->bytes_c, cudaMemcpyDeviceToHost));
    CHECK_CUDA(cudaMemcpy(&left, d->next_unit, sizeof left, cudaMemcpyDeviceToHost));
    CHECK(left == 0, "%s leaves its count of units at %u: %s", by->name, left, text(p));
    for (int slice = 0; slice < p->slices; slice++)
        for (int plane = 0; plane < p->planes; plane++)
            for (int member = 0; member < p->batch && wrong < 0; member++)
                wrong = check_matrix(p, d, sums, got, plane, member, slice);
    CHECK(wrong == -1, "%s, element %lld of C's storage: %s", by->name, (long long)wrong, text(p));
    CHECK(memcmp(got + d->bytes_c - GUARD, d->c + d->bytes_c - GUARD, GUARD) == 0,
          "%s writes past C: %s", by->name, text(p));
    free(got);
}

/* True if the row makes such products on the device, whatever their shape. */
static bool serves(const td_route_row *row, bool is_logarithm)
{
    const td_route_terms terms = {.device = td_traits_current()};
    td_route_case c;
    td_route_case_begin(&c, 1, 1, 1, 1, &terms);
    if (is_logarithm) c.type = TD_PANEL_LOGARITHM;
    c.row = row;
    return row->stage == TD_STAGE_GEMM && row->serves(&c);
}

static void check_all_rows(const int8_case *p)
{
    int8_data d = make_data(p);
    const td_panels panels = panels_of(p, &d);
    int64_t *const sums = sums_of(p, &panels, &d);
    for (int i = 0; i < TD_ROUTE_ROWS; i++)
        if (serves(&td_route_rows[i], p->is_logarithm)) check_case(&td_route_rows[i], p, &d, sums);
    free(sums);
    free_data(&d);
}

TEST(random_shapes)
{
    for (int i = 0; i < cases; i++) {
        if (!test_takes(i, 4)) continue;
        const int8_case p = random_case(first_seed + (uint64_t)i);
        check_all_rows(&p);
    }
}

/* More units than blocks take at first, each of many steps: then these count what is taken. */
TEST(many_units)
{
    for (int i = 0; i < (test_is_brief() ? 1 : 4); i++) {
        if (!test_takes(i, 3)) continue;
        const int8_case p = {.seed = first_seed + (uint64_t)i,
                             .m = 64 * (test_is_brief() ? 6 : 18 + i),
                             .n = test_is_brief() ? 140 : 280 - 70 * i,
                             .k = test_is_brief() ? 448 : 1088 + 64 * i,
                             .planes = TD_MAX_MODULI,
                             .batch = 1,
                             .slices = 1,
                             .wanted = {TD_MAX_MODULI},
                             .map = (map_kind)(i % MAP_KINDS)};
        check_all_rows(&p);
    }
}

/* The largest sums of each modulus: where short ones end, and the longest k. */
TEST(longest_sums)
{
    static const int lengths[] = {512,  576,  1024, 1088, 1344, 1408, 1728,
                                  1792, 2496, 2560, 4352, 4416, 16384};
    /* Lengths and numbers change no code path: sanitizers see one of each. */
    for (int fill = 0; fill < (test_is_brief() ? 1 : FILLINGS); fill++)
        for (size_t i = 0; i < (test_is_brief() ? 2 : sizeof lengths / sizeof *lengths); i++) {
            const int8_case p = {.m = 64,
                                 .n = 8,
                                 .k = lengths[i],
                                 .planes = TD_MAX_MODULI,
                                 .batch = 1,
                                 .slices = 1,
                                 .wanted = {TD_MAX_MODULI},
                                 .accumulate = fill % 2,
                                 .fill = (filling)fill};
            check_all_rows(&p);
        }
    const int8_case longest = {.m = 64,
                               .n = 8,
                               .k = TD_RESIDUE_K,
                               .planes = 2,
                               .batch = 1,
                               .slices = 1,
                               .wanted = {2},
                               .accumulate = true,
                               .fill = LARGEST};
    check_all_rows(&longest);
}

TEST(rows_are_named)
{
    int count = 0;
    for (int i = 0; i < TD_ROUTE_ROWS; i++) {
        if (td_route_rows[i].stage != TD_STAGE_GEMM) continue;
        const bool does = serves(&td_route_rows[i], false);
        count += does;
        test_note("%s%s", td_route_rows[i].name, does ? "" : " (not for residues here)");
    }
    CHECK(count >= 2, "only %d ways make products of residues", count);
}

int main(int argc, char **argv)
{
    device_require();
    if (!td_device_current() || td_mma_prepare() != cudaSuccess ||
        td_wgmma_prepare() != cudaSuccess)
        return 1;
    if (test_is_brief()) cases = 16;
    test_take_cases(argc, argv, &cases, &first_seed);
    return test_run();
}
