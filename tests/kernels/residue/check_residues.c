/* check_residues.c - residues of both operands against whole numbers of 128 bits: by binary64
 * arithmetic and by whole numbers, every number of moduli, also of members with others, layouts,
 * passes over k, shifts; numbers of any size, halves and their neighbours, subnormal ones, zeros,
 * lines that are special; blocks of zeros and of numbers that round to 0, and the map of these.
 * Padding is zeros, and nothing else is written. And those of complex products.
 *
 * usage: check_residues [CASES [SEED]] */
#include "tests/support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/arithmetic/float32.h"
#include "kernels/crt/crt.h"
#include "kernels/igemm/plane_gemm.h"
#include "kernels/measure/measure.h"
#include "kernels/residue/moduli.h"
#include "kernels/residue/split.h"
#include "tests/support/random.h"
#include "tests/kernels/support/device.h"

__extension__ typedef __int128 wide;

static const int moduli[TD_MAX_MODULI] = {TD_MODULI},
                 complex_moduli[TD_MOST_COMPLEX_MODULI] = {TD_COMPLEX_MODULI};

static int cases = 200;
static uint64_t first_seed;

enum { MEMBERS = 2, GUARD = 256, POISON = 0x5a };

typedef struct {
    uint64_t seed;
    int lines[2], padded[2], k, first, count, k_padded, moduli, fewer; /* of the last member */
    bool is_along[2], has_shifts, has_special_lines, has_far_scales, has_zeros;
    bool
        is_complex; /* lines, k, first and count are those of real numbers, all but lines[1] even */
} residue_case;

static const char *text(const residue_case *p)
{
    static char buffer[192];
    snprintf(buffer, sizeof buffer,
             "%sseed %llu: %d and %d lines, k %d from %d of %d, moduli %d, along %d %d%s%s%s%s",
             p->is_complex ? "complex, " : "", (unsigned long long)p->seed, p->lines[0],
             p->lines[1], p->count, p->first, p->k, p->moduli, p->is_along[0], p->is_along[1],
             p->has_shifts ? ", shifts" : "", p->has_special_lines ? ", special lines" : "",
             p->has_far_scales ? ", far scales" : "", p->has_zeros ? ", zeros" : "");
    return buffer;
}

static int round_up(int x, int to) { return (x + to - 1) / to * to; }

static int moduli_of(const residue_case *p, int z)
{
    return p->moduli - (z == MEMBERS - 1 ? p->fewer : 0);
}

static void pad(residue_case *p)
{
    p->k_padded = round_up(p->count >> p->is_complex, TD_K_PAD);
    p->padded[0] = round_up(p->lines[0] >> p->is_complex, TD_LINE_GROUP);
    p->padded[1] = round_up(p->lines[1], TD_LINE_PAD);
}

static residue_case random_case(uint64_t seed)
{
    test_random r = random_start(seed);
    residue_case p = {.seed = seed,
                      .lines = {random_int(&r, 1, 130), random_int(&r, 1, 70)},
                      .k = random_int(&r, 1, 400),
                      .moduli = random_int(&r, 0, 1) ? random_int(&r, 14, 16)
                                                     : random_int(&r, TD_MIN_MODULI, TD_MAX_MODULI),
                      .is_along = {random_int(&r, 0, 1), random_int(&r, 0, 1)},
                      .has_shifts = random_int(&r, 0, 2) == 0,
                      .has_special_lines = random_int(&r, 0, 2) == 0,
                      .has_far_scales = random_int(&r, 0, 3) == 0,
                      .has_zeros = random_int(&r, 0, 1)};
    if (random_int(&r, 0, 2) == 0) p.first = random_int(&r, 0, p.k - 1);
    p.count = random_int(&r, 0, 1) ? p.k - p.first : random_int(&r, 1, p.k - p.first);
    if (random_int(&r, 0, 3) == 0) p.fewer = random_int(&r, 0, p.moduli - TD_MIN_MODULI);
    pad(&p);
    return p;
}

/* Both parts of an element have one shift. */
static residue_case complex_case(uint64_t seed)
{
    residue_case p = random_case(seed);
    test_random r = random_start(~seed);
    p.is_complex = p.is_along[0] = p.is_along[1] = true;
    p.lines[0] *= 2, p.k *= 2, p.first *= 2, p.count *= 2;
    p.moduli = random_int(&r, TD_MIN_MODULI, TD_MAX_MODULI);
    p.fewer = 0;
    pad(&p);
    return p;
}

/* Of so many elements, and such distances of lines, that a device that can copies them in boxes,
 * unless a pass begins amid a pair; the second one has tiles for blocks to share out. */
/* Large enough for boxes where a device copies such; sanitizers watch none. */
static residue_case large_case(int number)
{
    static const int moduli_of_case[] = {2, 20, 17, 5}, first_of_case[] = {0, 14, 0, 7};
    const int part = test_is_brief() ? 4 : 1;
    residue_case p = {.seed = 1000000 + (uint64_t)number,
                      .lines = {706 / part, 610 / part},
                      .k = number == 1 ? 1406 : 702,
                      .first = first_of_case[number],
                      .moduli = moduli_of_case[number],
                      .fewer = number == 2 ? 14 : 0,
                      .is_along = {number % 2 != 0, number / 2 != 0},
                      .has_shifts = number == 3,
                      .has_special_lines = true,
                      .has_zeros = number > 1};
    p.count = p.k - 2 * p.first;
    pad(&p);
    return p;
}

typedef struct {
    double *element[2]; /* [batch][line][k], or [batch][k][line] */
    td_line *line[2];
    int16_t *shift;
    int32_t shifted[MEMBERS];
} residue_data;

static int scale_of(const residue_case *p, const residue_data *d, int o, int z, int line, int l)
{
    const int shift = d->shifted[z] ? d->shift[z * p->k + l] : 0;
    return d->line[o][z * p->lines[o] + line].scale + (o ? -shift : shift);
}

static size_t element_at(const residue_case *p, int o, int z, int line, int l)
{
    const size_t lines = (size_t)p->lines[o], k = (size_t)p->k;
    return p->is_along[o] ? ((size_t)z * lines + (size_t)line) * k + (size_t)l
                          : ((size_t)z * k + (size_t)l) * lines + (size_t)line;
}

/* x 2^scale is below 2^bits, or half a whole number, or next to that. */
static double random_element(test_random *r, int bits, int scale)
{
    const int kind = random_int(r, 0, 9);
    double x = ldexp((double)(random_bits(r) >> 11 | 1ull << 52), bits - 53);
    if (kind == 0) return random_int(r, 0, 1) ? -0.0 : 0.0;
    if (kind < 4) x = ldexp(x, -random_int(r, 0, bits + 3));
    if (kind == 4) x = floor(ldexp(x, -random_int(r, 4, bits))) + 0.5;
    if (kind == 5) x = nextafter(floor(ldexp(x, -random_int(r, 4, bits))) + 0.5, INFINITY);
    if (kind == 6) x = ldexp(x, -random_int(r, 0, 2000));
    if (x >= ldexp(1, bits)) x = 0.5;
    return ldexp(random_int(r, 0, 1) ? -x : x, -scale);
}

/* Becomes 0. */
static double random_zero(test_random *r, int scale)
{
    const int kind = random_int(r, 0, 3);
    const double x = kind == 0   ? 0.0
                     : kind == 1 ? 0.5
                     : kind == 2 ? ldexp(0.5, -random_int(r, 1, 60))
                                 : nextafter(0.5, 0);
    return ldexp(random_int(r, 0, 1) ? -x : x, -scale);
}

/* True for blocks of the pass that are to become zeros: two thirds of them. */
static bool is_gap(const residue_case *p, int o, int z, int line, int l)
{
    const uint64_t block = (uint64_t)(line / TD_LINE_GROUP * 1000 +
                                      (l < p->first ? 999 : (l - p->first) / TD_SLICE_K));
    test_random r =
        random_start(p->seed ^ (block * 4 + (uint64_t)(2 * z + o)) * 0x9e3779b97f4a7c15);
    return p->has_zeros && random_int(&r, 0, 2) > 0;
}

static residue_data make_data(const residue_case *p)
{
    test_random r = random_start(~p->seed);
    const int level = p->is_complex ? td_complex_level(p->moduli, p->k)
                                    : td_level(p->moduli - p->fewer, p->k),
              bits = (level >> 8) - 1;
    residue_data d = {.shift = malloc(MEMBERS * (size_t)p->k * sizeof(int16_t))};
    for (int z = 0; z < MEMBERS; z++) d.shifted[z] = p->has_shifts && random_int(&r, 0, 2) > 0;
    for (int i = 0; i < MEMBERS * p->k; i++) d.shift[i] = (int16_t)random_int(&r, -300, 300);
    for (int i = 1; i < MEMBERS * p->k && p->is_complex; i += 2) d.shift[i] = d.shift[i - 1];
    for (int o = 0; o < 2; o++) {
        d.line[o] = malloc(MEMBERS * (size_t)p->lines[o] * sizeof(td_line));
        d.element[o] = malloc(MEMBERS * (size_t)(p->lines[o] * p->k) * sizeof(double));
        for (int z = 0; z < MEMBERS; z++)
            for (int i = 0; i < p->lines[o]; i++) {
                const bool is_special = p->has_special_lines && random_int(&r, 0, 7) == 0;
                const int far = p->has_shifts ? 600 : 1020, /* elements are finite */
                    least = p->has_shifts ? -600 : -900;
                d.line[o][z * p->lines[o] + i] = (td_line){
                    .low = is_special ? TD_SPECIAL : -50,
                    .scale = (int16_t)(p->has_far_scales ? random_int(&r, least, far + bits)
                                                         : random_int(&r, -60, 90))};
                for (int l = 0; l < p->k; l++)
                    d.element[o][element_at(p, o, z, i, l)] =
                        is_special && random_int(&r, 0, 3) == 0 ? NAN
                        : is_gap(p, o, z, i, l) && random_int(&r, 0, 2000)
                            ? random_zero(&r, scale_of(p, &d, o, z, i, l))
                            : random_element(&r, bits < 1 ? 1 : bits, scale_of(p, &d, o, z, i, l));
            }
    }
    return d;
}

/* RN(x 2^scale), ties to even. */
static wide number_of(double x, int scale)
{
    int q;
    const uint64_t m = td_significand64(td_bits64(x), &q);
    const int h = q + scale;
    wide number = h >= 0 ? (wide)m << (h < 70 ? h : 70) : 0;
    if (h < 0 && h > -56) {
        const uint64_t kept = m >> -h, rest = m - (kept << -h), half = 1ull << (-h - 1);
        number = (wide)(kept + (rest > half || (rest == half && kept % 2)));
    }
    return x < 0 ? -number : number;
}

/* Of P / p modulo p, P the product of `count` numbers and p the t-th. */
static int inverse_of(const int *of, int count, int t)
{
    int others = 1, inverse = 1;
    for (int i = 0; i < count; i++)
        if (i != t) others = others * (of[i] % of[t]) % of[t];
    while (others * inverse % of[t] != 1) inverse++;
    return inverse;
}

static int8_t residue_of(wide number, int weight, int p)
{
    const int residue = (int)((number % p + p) % p) * weight % p;
    return (int8_t)(residue > p / 2 ? residue - p : residue);
}

/* Element l of the pass, of any line. */
static wide number_at(const residue_case *p, const residue_data *d, int o, int z, int line, int l)
{
    const int own = p->first + l;
    if (line >= p->lines[o] || l >= p->count ||
        d->line[o][z * p->lines[o] + line].low == TD_SPECIAL)
        return 0;
    return number_of(d->element[o][element_at(p, o, z, line, own)],
                     scale_of(p, d, o, z, line, own));
}

static size_t map_words(const residue_case *p, int o)
{
    return (size_t)(MEMBERS * td_nonzero_of_member(p->padded[o], p->k_padded));
}

static void check_map(const residue_case *p, const residue_data *d, int o, const uint32_t *map)
{
    const int words = td_nonzero_words(p->k_padded);
    uint32_t *const want = calloc(map_words(p, o), sizeof *want);
    for (int z = 0; z < MEMBERS; z++)
        for (int i = 0; i < p->lines[o]; i++)
            for (int l = 0; l < p->count; l++)
                if (number_at(p, d, o, z, i, l) != 0)
                    want[z * td_nonzero_of_member(p->padded[o], p->k_padded) +
                         i / TD_LINE_GROUP * words + l / TD_SLICE_K / 32] |=
                        1u << (l / TD_SLICE_K % 32);
    for (size_t i = 0; i < map_words(p, o); i++)
        CHECK(map[i] == want[i], "operand %d, word %zu of the map: %x, not %x: %s", o, i, map[i],
              want[i], text(p));
    CHECK(map[map_words(p, o)] == POISON, "past the map: %s", text(p));
    free(want);
}

/* The largest may have the other sign. */
static bool is_residue(int8_t got, int8_t want, int modulus)
{
    const bool is_largest = 2 * abs(want) + 1 == modulus;
    return got == want || (is_largest && got == want - (want > 0 ? 1 : -1) * modulus);
}

static void check_plane(const residue_case *p, const residue_data *d, int o, int z, int t,
                        const int8_t *plane)
{
    const int weight = o ? 1 : inverse_of(moduli, moduli_of(p, z), t);
    for (int i = 0; i < p->padded[o]; i++) {
        const int8_t *const got =
            plane + (size_t)(o ? i : td_place_of_line(i)) * (size_t)p->k_padded;
        for (int l = 0; l < p->k_padded; l++) {
            const int8_t want = residue_of(number_at(p, d, o, z, i, l), weight, moduli[t]);
            CHECK(is_residue(got[l], want, moduli[t]),
                  "operand %d, modulus %d, member %d, line %d, %d: %d, not %d: %s", o, moduli[t], z,
                  i, l, got[l], want, text(p));
        }
    }
}

/* Planes of z+ = a + jb and z- = a - jb, a and b being the parts of an element, b of op(A) that of
 * the conjugate: one of them. */
static void check_complex_plane(const residue_case *p, const residue_data *d, int o, int z,
                                int number, const int8_t *plane)
{
    const int t = number / 2, modulus = complex_moduli[t],
              weight =
                  o ? 1 : inverse_of(complex_moduli, p->moduli, t) * ((modulus + 1) / 2) % modulus;
    int root = 1;
    while (root * root % modulus != modulus - 1) root++;
    if ((o == 0) != (number % 2 == 1)) root = modulus - root;
    for (int i = 0; i < p->padded[o]; i++)
        for (int l = 0; l < p->k_padded; l++) {
            const int line = o ? i : 2 * i;
            const int8_t got =
                plane[(size_t)(o ? i : td_place_of_line(i)) * (size_t)p->k_padded + (size_t)l];
            const wide a = number_at(p, d, o, z, line, 2 * l),
                       b = number_at(p, d, o, z, line, 2 * l + 1);
            const int8_t want = residue_of(a % modulus + b % modulus * root, weight, modulus);
            CHECK(is_residue(got, want, modulus),
                  "operand %d, modulus %d, member %d, line %d, %d: %d, not %d: %s", o, modulus, z,
                  i, l, got, want, text(p));
        }
}

static void check_complex_planes(const residue_case *p, const residue_data *d, int o,
                                 const int8_t *planes)
{
    const size_t member = (size_t)p->padded[o] * (size_t)p->k_padded;
    for (int number = 0; number < 2 * p->moduli; number++)
        for (int z = 0; z < MEMBERS; z++)
            check_complex_plane(p, d, o, z, number,
                                planes + ((size_t)number * MEMBERS + (size_t)z) * member);
    for (size_t i = 0; i < GUARD; i++)
        CHECK(planes[2 * (size_t)p->moduli * MEMBERS * member + i] == POISON, "past the end: %s",
              text(p));
}

static void check_planes(const residue_case *p, const residue_data *d, int o, const int8_t *planes)
{
    const size_t member = (size_t)p->padded[o] * (size_t)p->k_padded;
    for (int t = 0; t < p->moduli; t++)
        for (int z = 0; z < MEMBERS; z++) {
            const int8_t *const plane = planes + ((size_t)t * MEMBERS + (size_t)z) * member;
            if (t < moduli_of(p, z)) {
                check_plane(p, d, o, z, t, plane);
                continue;
            }
            for (size_t i = 0; i < member; i++)
                CHECK(plane[i] == POISON, "operand %d, member %d, plane %d: %s", o, z, t, text(p));
        }
    for (size_t i = 0; i < GUARD; i++)
        CHECK(planes[(size_t)p->moduli * MEMBERS * member + i] == POISON, "past the end: %s",
              text(p));
}

static td_view operand_of(const residue_case *p, int o, void *data)
{
    return (td_view){.matrix = {.data = data, .stride = (int64_t)p->lines[o] * p->k},
                     .line_step = p->is_along[o] ? p->k : 1,
                     .k_step = p->is_along[o] ? 1 : p->lines[o],
                     .k = p->k,
                     .lines = p->lines[o]};
}

/* What an operand has on the device, and on the host what is there before and then after. */
typedef struct {
    void *element, *line;
    int8_t *planes;
    uint32_t *map;
    size_t bytes, map_bytes;
} side;

static void side_upload(const residue_case *p, const residue_data *d, int o, bool has_map, side *at,
                        td_residues *residues)
{
    const size_t lines = MEMBERS * (size_t)p->lines[o],
                 plane = MEMBERS * (size_t)p->padded[o] * (size_t)p->k_padded;
    *at = (side){.element = device_copy(d->element[o], lines * (size_t)p->k * sizeof(double)),
                 .line = device_copy(d->line[o], lines * sizeof(td_line)),
                 .bytes = plane * (size_t)(p->moduli << p->is_complex) + GUARD,
                 .map_bytes = (map_words(p, o) + 1) * sizeof(uint32_t)};
    at->planes = malloc(at->bytes);
    memset(at->planes, POISON, at->bytes);
    at->map = calloc(1, at->map_bytes);
    at->map[map_words(p, o)] = POISON;
    residues->plane[o] = device_copy(at->planes, at->bytes);
    residues->plane_step[o] = (int64_t)plane;
    if (has_map) residues->nonzero[o] = device_copy(at->map, at->map_bytes);
    residues->fixed.operand[o] = operand_of(p, o, at->element);
    residues->fixed.line[o] = at->line;
    residues->fixed.lines_of_member[o] = p->lines[o];
}

static void side_check(const residue_case *p, const residue_data *d, int o, side *at,
                       const td_residues *residues)
{
    device_fetch(at->planes, residues->plane[o], at->bytes);
    (p->is_complex ? check_complex_planes : check_planes)(p, d, o, at->planes);
    if (residues->nonzero[o]) {
        device_fetch(at->map, residues->nonzero[o], at->map_bytes);
        check_map(p, d, o, at->map);
    }
    test_drop(at->planes, at->map);
    device_free(residues->nonzero[o], residues->plane[o], at->element, at->line);
}

/* The map asked for, and the tiles counted, or neither. */
static void check_way(const residue_case *p, const residue_data *d, bool by_binary64, bool has_map)
{
    td_choice choices[MEMBERS];
    for (int z = 0; z < MEMBERS; z++) choices[z] = (td_choice){.parameter = moduli_of(p, z)};
    uint32_t next_tile = 0;
    int16_t *const shift = device_copy(d->shift, MEMBERS * (size_t)p->k * sizeof(int16_t));
    int32_t *const shifted = device_copy(d->shifted, sizeof d->shifted);
    td_choice *const choice = device_copy(choices, sizeof choices);
    side sides[2];
    td_residues residues = {.fixed = {.alpha = {.value.binary64 = 1},
                                      .batch = MEMBERS,
                                      .k_first = p->first,
                                      .k_count = p->count,
                                      .shift = shift,
                                      .shifted = shifted,
                                      .choice = choice},
                            .next_tile = has_map ? device_copy(&next_tile, sizeof next_tile) : NULL,
                            .route = td_tma_exists() ? TD_SPLIT_TMA : TD_SPLIT_THREADS,
                            .round = by_binary64 ? TD_ROUND_BINARY64 : TD_ROUND_INT64};
    for (int o = 0; o < 2; o++) side_upload(p, d, o, has_map, &sides[o], &residues);
    CHECK_CUDA((p->is_complex ? td_complex_residues_run : td_residues_run)(&residues, NULL));
    device_check_clean(text(p));
    for (int o = 0; o < 2; o++) side_check(p, d, o, &sides[o], &residues);
    if (has_map) device_fetch(&next_tile, residues.next_tile, sizeof next_tile);
    CHECK(next_tile == 0, "next tile %u: %s", next_tile, text(p));
    device_free(residues.next_tile, shift, shifted, choice);
}

static void free_data(residue_data *d)
{
    for (int o = 0; o < 2; o++) {
        test_drop(d->element[o], d->line[o]);
    }
    free(d->shift);
}

TEST(residues_are_right)
{
    for (int i = 0; i < cases; i++) {
        const residue_case p = random_case(first_seed + (uint64_t)i);
        residue_data d = make_data(&p);
        check_way(&p, &d, false, true);
        check_way(&p, &d, true, true);
        if (i % 8 == 0) check_way(&p, &d, true, false);
        free_data(&d);
    }
}

TEST(complex_residues_are_right)
{
    for (int i = 0; i < cases; i++) {
        if (!test_takes(i / 2, 2)) continue; /* half of the even cases, and of the odd ones */
        const residue_case p = complex_case(first_seed + (uint64_t)i);
        residue_data d = make_data(&p);
        check_way(&p, &d, i % 2 == 0, false);
        free_data(&d);
    }
}

TEST(residues_of_boxes)
{
    for (int i = 0; i < 4; i++) {
        const residue_case p = large_case(i);
        residue_data d = make_data(&p);
        check_way(&p, &d, i < 3, true);
        free_data(&d);
    }
}

int main(int argc, char **argv)
{
    device_require();
    if (td_residues_prepare() != cudaSuccess || td_complex_residues_prepare() != cudaSuccess)
        return 1;
    if (test_is_brief()) cases = 20;
    test_take_cases(argc, argv, &cases, &first_seed);
    return test_run();
}
