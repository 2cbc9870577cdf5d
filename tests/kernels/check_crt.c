/* check_crt.c - X from its residues, by whole numbers, by binary64 arithmetic, and by the kernel that multiplies, where there is one, or
 * from notes that such a kernel would leave: C, masks and open tiles bit for bit the same, and the same as a conversion of X itself, which
 * rounds once. Large and small X, halves between two numbers and their neighbours, zeros; lines that are certified, that are not, that are
 * special, and scales of subnormal and of infinite results.
 *
 * usage: check_crt [CASES [SEED]] */
#include "../support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../kernels/arithmetic/float32.h"
#include "../../kernels/ozaki/moduli.h"
#include "../../kernels/ozaki/resident.h"
#include "../support/random.h"
#include "device.h"

__extension__ typedef __int128 wide;

static const int moduli[TD_MAX_MODULI] = {TD_MODULI};

static int cases = 300;
static uint64_t first_seed = 1;

/* ANY_BYTES, which may give X that are too large, where there is one way alone. */
typedef enum { UNIFORM, ANY_SIZE, HALVES, MOSTLY_ZERO, ANY_BYTES } filling;
enum { FILLINGS = 4, MEMBERS = 2, NEED = 40 * TD_LOG };

typedef struct {
    uint64_t seed;
    int m, n, ld, count;
    bool is_given, is_estimated, has_open_lines, has_far_scales, has_least_results;
    bool is_exact, has_ties; /* TD_FINISH_EXACT; beta C0 are halfway between two numbers */
    double alpha, beta;
    filling fill;
} crt_case;

static const char *text(const crt_case *p)
{
    static char buffer[192];
    snprintf(buffer, sizeof buffer,
             "seed %llu: m=%d n=%d ld=%d moduli %d fill %d alpha %g beta %g%s%s%s%s%s%s%s",
             (unsigned long long)p->seed, p->m, p->n, p->ld, p->count, (int)p->fill, p->alpha,
             p->beta, p->is_given ? " given" : "", p->is_estimated ? " by an estimate" : "",
             p->has_open_lines ? " open lines" : "", p->has_far_scales ? " far scales" : "",
             p->has_least_results ? " least results" : "", p->is_exact ? " exact" : "",
             p->has_ties ? " ties" : "");
    return buffer;
}

static crt_case random_case(uint64_t seed)
{
    static const double scalars[] = {1, -1, 0, 0.1, 0x1p-900, 3e300};
    test_random r = random_start(seed);
    crt_case p = {.seed = seed,
                  .m = random_int(&r, 1, random_int(&r, 0, 7) ? 150 : 400),
                  .n = random_int(&r, 1, random_int(&r, 0, 7) ? 80 : 300),
                  .is_exact = random_int(&r, 0, 3) == 0,
                  .count = random_int(&r, 0, 3) ? random_int(&r, 14, 18)
                                                : random_int(&r, TD_MIN_MODULI, TD_MAX_MODULI),
                  .is_given = random_int(&r, 0, 2) == 0,
                  .has_open_lines = random_int(&r, 0, 1),
                  .has_far_scales = random_int(&r, 0, 3) == 0,
                  .alpha = random_int(&r, 0, 1) ? 1.0 : scalars[random_int(&r, 0, 5)],
                  .beta = random_int(&r, 0, 1) ? 0.0 : scalars[random_int(&r, 0, 5)],
                  .fill = (filling)random_int(&r, 0, FILLINGS - 1)};
    p.is_estimated = !p.is_given && random_int(&r, 0, 2) == 0;
    if (p.is_exact) {
        static const double far[] = {0x1p-390, 0x1p390};
        p.count = TD_EXACT_MODULI;
        p.is_given = true;
        p.is_estimated = false;
        p.has_ties = random_int(&r, 0, 2) == 0;
        if (p.has_ties) p.beta = 1.5;
        if (random_int(&r, 0, 3) == 0) p.alpha = far[random_int(&r, 0, 1)];
    }
    p.ld = p.m + random_int(&r, 0, 3);
    if (p.count < 8) p.fill = ANY_BYTES;
    p.has_least_results = p.count >= TD_COMMON_MODULI && random_int(&r, 0, 3) == 0;
    if (p.has_least_results) p.fill = ANY_SIZE;
    return p;
}

/* X = +-(top 2^b + rest), b = low_bits(moduli): no wide number holds the products of 17 moduli and more. */
typedef struct {
    wide top;
    uint32_t rest;
    bool is_negative;
} number;

enum { WIDE_MODULI = 16 };
static int low_bits(int count) { return count > WIDE_MODULI ? 8 * (count - WIDE_MODULI) - 1 : 0; }

/* P 2^-b, or a little less. */
static wide top_of_product(int count)
{
    wide product = 1;
    for (int t = 0; t < count; t++) {
        if (t == WIDE_MODULI) product >>= low_bits(count);
        product *= moduli[t];
    }
    return product;
}

/* Bits of P. */
static int product_bits(int count)
{
    const uint64_t upper = (uint64_t)(top_of_product(count) >> 64),
                   lower = (uint64_t)top_of_product(count);
    return low_bits(count) + (upper ? 128 - __builtin_clzll(upper) : 64 - __builtin_clzll(lower));
}

/* Of magnitude < P / 2 (1 - 2^-16). */
static number random_x(test_random *r, const crt_case *p)
{
    const wide product = top_of_product(p->count), most = product / 2 - (product >> 17) - 1;
    const wide any = (wide)(random_bits(r) >> 1) << 64 | random_bits(r);
    number x = {.top = any % most, .is_negative = random_int(r, 0, 1)};
    if (p->fill == MOSTLY_ZERO && random_int(r, 0, 9)) x.top = 0;
    if (p->fill == ANY_SIZE)
        x.top >>= p->has_least_results ? random_int(r, 20, 30) : random_int(r, 0, 125);
    if (p->fill == HALVES) {
        const int shift = random_int(r, 0, 70), off = random_int(r, -40, 72);
        x.top = (wide)(random_bits(r) >> 10 | 1ull << 53 | 1) << shift;
        if (off >= 0 && off <= shift)
            x.top += random_int(r, 0, 1) ? (wide)1 << off : -((wide)1 << off);
        while (x.top > most) x.top >>= 1;
    }
    if (x.top >> 60 && random_int(r, 0, 1))
        x.rest = (uint32_t)random_bits(r) & ((1u << low_bits(p->count)) - 1);
    return x;
}

/* Rounded once: below the top's last bit of 61 there is only whether anything is left. */
static double nearest_to(number x, int count, int scale)
{
    const double size = ldexp((double)(x.top | (x.rest != 0)), low_bits(count) - scale);
    return x.is_negative ? -size : size;
}

/* Of P / p modulo p, P the product of `count` moduli and p the t-th. */
static int inverse_of(int count, int t)
{
    static int inverses[TD_MAX_MODULI + 1][TD_MAX_MODULI];
    int *const inverse = &inverses[count][t];
    int others = 1;
    if (*inverse) return *inverse;
    for (int i = 0; i < count; i++)
        if (i != t) others = others * (moduli[i] % moduli[t]) % moduli[t];
    do ++*inverse;
    while (others * *inverse % moduli[t] != 1 % moduli[t]);
    return *inverse;
}

/* Representatives are within 5 p / 8 of 0, and bytes (../../kernels/ozaki/residues.h). */
static int most_residue(int modulus) { return 5 * modulus / 8 < 127 ? 5 * modulus / 8 : 127; }
static int least_residue(int modulus) { return 5 * modulus / 8 < 128 ? -5 * modulus / 8 : -128; }

/* Residues of X times the inverse of P / p modulo p, moved to another representative where there is room. */
static void put_residues(test_random *r, const crt_case *p, number x, int8_t *at, size_t plane_step)
{
    for (int t = 0; t < p->count; t++) {
        const int modulus = moduli[t];
        const int top =
            (int)(x.top % modulus) * (int)((1u << low_bits(p->count)) % (unsigned)modulus);
        const int size = (int)(((unsigned)top + x.rest % (unsigned)modulus) % (unsigned)modulus);
        const int sign = x.is_negative ? modulus - 1 : 1;
        int residue = size * sign % modulus * inverse_of(p->count, t) % modulus;
        if (residue > most_residue(modulus) ||
            (residue - modulus >= least_residue(modulus) && random_int(r, 0, 1)))
            residue -= modulus;
        at[(size_t)t * plane_step] = (int8_t)residue;
    }
}

typedef struct {
    int8_t *residue;
    number *x;
    td_line *line[2];
    double *c;
    uint16_t *masks;
    uint8_t *ranks;
    td_choice choice[MEMBERS];
    size_t ld, residues, elements, lines[2], tiles;
} crt_data;

/* Half of the lines have rounded elements. X of two lines may be off by nearly nothing, or by more than its last place. */
static void round_line(test_random *r, td_line *line)
{
    const bool is_rounded =
        random_int(r, 0, 1) && line->low != TD_SPECIAL && line->low != TD_NO_LOW;
    line->sum = random_int(r, 0, 110 * TD_LOG) - TD_LOG * line->scale;
    line->norm = line->sum - random_int(r, 0, 8 * TD_LOG);
    line->rounded = is_rounded ? random_int(r, 0, 14 * TD_LOG) : TD_NONE_ROUNDED;
    if (line->low == TD_SPECIAL || line->low == TD_NO_LOW) return;
    line->low = (int16_t)(-line->scale + random_int(r, 1, 9) * (is_rounded ? -1 : 1));
}

static void fill_lines(test_random *r, const crt_case *p, crt_data *d)
{
    for (int o = 0; o < 2; o++)
        for (size_t i = 0; i < d->lines[o] * MEMBERS; i++) {
            td_line *const line = &d->line[o][i];
            const int kind = p->has_open_lines ? random_int(r, 0, 99) : 99;
            *line = (td_line){.sum = TD_LOG * random_int(r, 0, 3), .low = -30};
            line->scale = (int16_t)random_int(r, 40, 60);
            if (p->has_far_scales && random_int(r, 0, 1))
                line->scale = (int16_t)random_int(r, -520, 620);
            if (p->has_least_results) /* the least normal numbers, of X that one look tells of */
                line->scale =
                    (int16_t)((1022 - 24 + product_bits(p->count)) / 2 + random_int(r, -1, 2));
            line->mean = NEED - TD_LOG * line->scale;
            line->sum -= TD_LOG * line->scale;
            if (kind < 4) line->low = TD_SPECIAL;
            if (kind >= 4 && kind < 6) line->low = TD_NO_LOW;
            if (kind >= 6 && kind < 12) line->low = 3;
            if (kind >= 10 && kind < 14) line->mean = TD_NO_MEAN;
            if (kind >= 14 && kind < 20) line->mean -= NEED;
            if (p->is_exact) round_line(r, line);
        }
}

static void *filled(size_t bytes, int byte)
{
    void *p = malloc(bytes);
    memset(p, byte, bytes);
    return p;
}

/* 1.5 times it is a tie: of an odd number of 53 bits below 4/3 2^52. As large as alpha X, or not nearly. */
static double number_of_ties(test_random *r, const crt_case *p)
{
    const uint64_t most = (1ull << 52) / 3, m = (1ull << 52) + (random_bits(r) % most | 1);
    const double x = ldexp((double)m, random_int(r, -190, 20));
    return (random_int(r, 0, 1) ? x : -x) * (fabs(p->alpha) == 1.0 ? 1.0 : p->alpha);
}

static crt_data make_data(const crt_case *p)
{
    test_random r = random_start(~p->seed);
    crt_data d = {.ld = (size_t)(p->m + 63) / 64 * 64, .lines = {(size_t)p->m, (size_t)p->n}};
    d.residues = d.ld * (size_t)p->n * MEMBERS;
    d.elements = (size_t)p->ld * (size_t)p->n * MEMBERS;
    d.tiles = (size_t)((p->m + 63) / 64) * (size_t)((p->n + 63) / 64) * MEMBERS;
    d.residue = filled(d.residues * (size_t)p->count, 0x5a);
    d.x = filled(d.residues * sizeof(number), 0);
    d.c = malloc(d.elements * sizeof(double));
    d.masks = filled(d.tiles * TD_SUBTILES * sizeof(uint16_t), 0);
    for (int o = 0; o < 2; o++) d.line[o] = malloc(d.lines[o] * MEMBERS * sizeof(td_line));
    fill_lines(&r, p, &d);
    for (size_t i = 0; i < d.elements; i++)
        d.c[i] = p->has_ties ? number_of_ties(&r, p) : random_normal(&r);
    for (size_t i = 0; i < d.tiles * TD_SUBTILES; i++)
        if (random_int(&r, 0, 15) == 0) d.masks[i] = (uint16_t)random_bits(&r);
    d.ranks = filled(d.residues, 0);
    for (size_t i = 0; i < d.residues; i++) d.ranks[i] = random_int(&r, 0, 50) == 0;
    for (int z = 0; z < MEMBERS; z++)
        d.choice[z] = (td_choice){.parameter = p->count,
                                  .need = p->is_given ? INT32_MIN : NEED,
                                  .is_estimated = p->is_estimated,
                                  .rest = TD_LOG * random_int(&r, -4, 12)};
    for (size_t i = 0; i < d.residues; i++) {
        if (p->fill == ANY_BYTES) {
            for (size_t t = 0; t < (size_t)p->count; t++) {
                const int least = least_residue(moduli[t]);
                d.residue[t * d.residues + i] =
                    (int8_t)(random_int(&r, 0, 3) ? random_int(&r, least, most_residue(moduli[t]))
                                                  : least);
            }
            continue;
        }
        d.x[i] = random_x(&r, p);
        put_residues(&r, p, d.x[i], d.residue + i, d.residues);
    }
    return d;
}

static void free_data(crt_data *d)
{
    free(d->residue);
    free(d->x);
    free(d->c);
    free(d->masks);
    free(d->ranks);
    free(d->line[0]);
    free(d->line[1]);
}

static void *upload(const void *host, size_t bytes)
{
    void *device = NULL;
    CHECK_CUDA(cudaMalloc(&device, bytes));
    CHECK_CUDA(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice));
    return device;
}

/* C, masks and open tiles. */
typedef struct {
    double *c;
    uint16_t *masks;
    int32_t open[MEMBERS * TD_OPEN_COUNTS], *tiles;
    uint8_t *is_dense;  /* of tiles, if exact ones are left to a second product */
    bool has_all_masks; /* not of open tiles alone */
} crt_result;

/* Panels whose products are the residues: each line of A is a unit vector, and k counts rows of C. */
typedef struct {
    int64_t k, lines;
    int8_t *a, *b;
} unit_panels;

static unit_panels make_panels(const crt_case *p, const crt_data *d)
{
    unit_panels u = {.k = (int64_t)d->ld,
                     .lines = (p->n + TD_LINE_PAD - 1) / TD_LINE_PAD * TD_LINE_PAD};
    const int64_t planes = (int64_t)p->count * MEMBERS;
    u.a = filled((size_t)(planes * u.k * u.k), 0);
    u.b = filled((size_t)(planes * u.lines * u.k), 0);
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
static bool may_be_resident(const crt_case *p)
{
    const td_choice choice = {.parameter = p->count, .is_estimated = p->is_estimated};
    return td_is_resident(&choice);
}
static bool has_resident(void) { return td_wgmma_exists() && td_crt_of_device() == TD_CRT_DOUBLE; }

/* All lines are such that only octets are left. */
static bool is_usual(const crt_case *p)
{
    return !p->has_open_lines && !p->has_far_scales && !p->has_least_results && p->alpha != 0.0;
}

/* Multiplies, and leaves nothing else of the residues that were there. */
static void multiply_resident(const crt_case *p, const crt_data *d, const td_finish *finish,
                              td_residue_product *product)
{
    unit_panels u = make_panels(p, d);
    const size_t planes = (size_t)p->count * MEMBERS, left = td_left_bytes(p->m, p->n, MEMBERS);
    int8_t *const a = upload(u.a, planes * (size_t)(u.k * u.k));
    int8_t *const b = upload(u.b, planes * (size_t)(u.lines * u.k));
    CHECK_CUDA(cudaMemset(product->left.word, 0xa5, left));
    CHECK_CUDA(cudaMemset(product->residue, 0x5a, d->residues * (size_t)p->count));
    const td_panels panels = {.type = TD_PANEL_RESIDUE,
                              .m = u.k,
                              .n = p->n,
                              .k = u.k,
                              .a = a,
                              .b = b,
                              .ld_a = u.k,
                              .ld_b = u.k,
                              .plane_a = u.k * u.k * MEMBERS,
                              .plane_b = u.lines * u.k * MEMBERS,
                              .member_a = u.k * u.k,
                              .member_b = u.lines * u.k,
                              .planes = p->count,
                              .batch = MEMBERS,
                              .choice = finish->choice,
                              .pieces = 1};
    CHECK_CUDA(td_resident_run(&panels, product, finish, NULL));
    device_check_clean(text(p));
    device_free(a);
    device_free(b);
    free(u.a);
    free(u.b);
}

/* Notes of a kernel that has left all octets, of usual tiles one by one (../../kernels/ozaki/left.h). */
static void note_all(const crt_case *p, const td_left *left)
{
    const size_t bytes = td_left_bytes(p->m, p->n, MEMBERS);
    const int rows = (p->m + 127) / 128, tiles = rows * ((p->n + 127) / 128);
    uint32_t *const word = filled(bytes, 0);
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

typedef enum { BY_WHOLE_NUMBERS, BY_BINARY64, BY_RESIDENT, BY_NOTES } way;

/* What comes before td_residues_finish. */
static void leave(const crt_case *p, const crt_data *d, way how, const td_finish *finish,
                  td_residue_product *product)
{
    void *memory = NULL;
    if (how == BY_WHOLE_NUMBERS || how == BY_BINARY64) return;
    CHECK_CUDA(cudaMalloc(&memory, td_left_bytes(p->m, p->n, MEMBERS)));
    product->left = td_left_in(memory, p->m, p->n, MEMBERS);
    if (how == BY_RESIDENT) multiply_resident(p, d, finish, product);
    if (how == BY_NOTES) note_all(p, &product->left);
}

/* Whom dense tiles are left to. */
static td_left_tiles leaves_of(const crt_case *p)
{
    if (p->seed % 2) return TD_LEAVES_NO_TILES;
    return p->is_exact ? TD_LEAVES_EXACT : TD_LEAVES_BINARY64;
}

static crt_result finish_by(const crt_case *p, const crt_data *d, way how)
{
    const td_crt crt = how == BY_WHOLE_NUMBERS ? TD_CRT_WHOLE : TD_CRT_DOUBLE;
    const size_t c_bytes = d->elements * sizeof(double),
                 mask_bytes = d->tiles * TD_SUBTILES * sizeof(uint16_t);
    crt_result result = {.c = malloc(c_bytes),
                         .masks = malloc(mask_bytes),
                         .tiles = malloc(d->tiles * sizeof(int32_t)),
                         .is_dense = filled(d->tiles, 0xa5),
                         .has_all_masks = how == BY_WHOLE_NUMBERS || how == BY_BINARY64};
    int8_t *const residue = upload(d->residue, d->residues * (size_t)p->count);
    double *const c = upload(d->c, c_bytes);
    uint16_t *const masks = upload(d->masks, mask_bytes);
    int32_t *const open = upload(result.open, sizeof result.open), *const tiles = upload(
                                                                       d->masks,
                                                                       d->tiles * sizeof(int32_t));
    uint8_t *const is_dense = upload(result.is_dense, d->tiles);
    td_choice *const choice = upload(d->choice, sizeof d->choice);
    uint8_t *const ranks = upload(d->ranks, d->residues);
    td_line *line[2];
    for (int o = 0; o < 2; o++)
        line[o] = upload(d->line[o], d->lines[o] * MEMBERS * sizeof(td_line));
    const int64_t member = (int64_t)d->ld * p->n, plane = (int64_t)d->residues;
    td_residue_product product = {residue, plane, member, 0, (int64_t)d->ld, 1, crt, {0}};
    const td_finish finish = {
        .target = {.c = {.data = c, .ld = p->ld, .stride = (int64_t)p->ld * p->n},
                   .m = p->m,
                   .n = p->n,
                   .alpha = {.value.binary64 = p->alpha},
                   .beta = {.value.binary64 = p->beta},
                   .masks = masks,
                   .open_count = open,
                   .open_tile = tiles,
                   .is_dense = leaves_of(p) == TD_LEAVES_EXACT ? is_dense : NULL},
        .kind = p->is_exact ? TD_FINISH_EXACT : TD_FINISH_ROUND,
        .counts_rounded = p->is_exact && p->seed % 16 != 6,
        .line = {line[0], line[1]},
        .lines_of_member = {p->m, p->n},
        .choice = choice,
        .ranks = {ranks, (int64_t)d->ld, member},
        .leaves_tiles = leaves_of(p)};
    leave(p, d, how, &finish, &product);
    CHECK_CUDA(td_residues_finish(&product, p->count, p->count, &finish, MEMBERS, NULL));
    device_check_clean(text(p));
    CHECK_CUDA(cudaMemcpy(result.c, c, c_bytes, cudaMemcpyDeviceToHost));
    CHECK_CUDA(cudaMemcpy(result.masks, masks, mask_bytes, cudaMemcpyDeviceToHost));
    CHECK_CUDA(cudaMemcpy(result.open, open, sizeof result.open, cudaMemcpyDeviceToHost));
    CHECK_CUDA(cudaMemcpy(result.tiles, tiles, d->tiles * sizeof(int32_t), cudaMemcpyDeviceToHost));
    CHECK_CUDA(cudaMemcpy(result.is_dense, is_dense, d->tiles, cudaMemcpyDeviceToHost));
    void *const all[] = {residue,          c,      masks, open,    tiles,
                         is_dense,         choice, ranks, line[0], line[1],
                         product.left.word};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) device_free(all[i]);
    return result;
}

/* True if a member's tile is among the open ones. */
static bool is_open(const crt_result *result, int z, int tile, int tiles)
{
    const int32_t *const counts = result->open + z * TD_OPEN_COUNTS;
    const int32_t *const own = result->tiles + (int64_t)z * tiles;
    for (int i = 0; i < counts[0]; i++)
        if (own[i] == tile) return true;
    for (int i = 0; i < counts[1]; i++)
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
    const number x = d->x[((size_t)z * (size_t)p->n + (size_t)j) * d->ld + (size_t)i];
    const double value = got->c[((size_t)z * (size_t)p->n + (size_t)j) * (size_t)p->ld + (size_t)i];
    if (p->fill == ANY_BYTES || p->alpha != 1.0 || p->beta != 0.0 || is_left(p, got, z, i, j) ||
        scale < -900 || scale > 1000)
        return;
    CHECK(value == nearest_to(x, p->count, scale), "element %d, %d of %d is %a, not %a: %s", i, j,
          z, value, nearest_to(x, p->count, scale), text(p));
}

static void free_result(crt_result *result)
{
    free(result->c);
    free(result->masks);
    free(result->tiles);
    free(result->is_dense);
}

/* Cases of which dense tiles are left to a second product. */
static int dense_tiles;

/* The same as `whole`. */
static void check_way(const crt_case *p, const crt_data *d, const crt_result *whole, way how)
{
    crt_result got = finish_by(p, d, how);
    for (int z = 0; z < MEMBERS; z++)
        for (int j = 0; j < p->n; j++)
            for (int i = 0; i < p->m; i++) {
                CHECK(is_left(p, whole, z, i, j) == is_left(p, &got, z, i, j),
                      "way %d: mask of %d, %d of %d: %s", (int)how, i, j, z, text(p));
                check_value(p, d, &got, z, i, j);
            }
    CHECK(memcmp(whole->c, got.c, d->elements * sizeof(double)) == 0, "way %d: C differs: %s",
          (int)how, text(p));
    CHECK(memcmp(whole->open, got.open, sizeof got.open) == 0, "way %d: open tiles: %s", (int)how,
          text(p));
    CHECK(memcmp(whole->is_dense, got.is_dense, d->tiles) == 0, "way %d: dense tiles: %s", (int)how,
          text(p));
    dense_tiles += whole->open[3] > 0;
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

/* Beside a tie binary64 arithmetic may tell of more elements than whole numbers certify: they are what X is rounded to, and no others
 * are left. */
static void check_ties(const crt_case *p, const crt_data *d, const crt_result *whole)
{
    crt_data of_exact_lines = *d;
    for (int o = 0; o < 2; o++)
        of_exact_lines.line[o] = make_exact(d->line[o], d->lines[o] * MEMBERS);
    crt_result got = finish_by(p, d, BY_BINARY64),
               all = finish_by(p, &of_exact_lines, BY_WHOLE_NUMBERS);
    for (int z = 0; z < MEMBERS; z++)
        for (int j = 0; j < p->n; j++)
            for (int i = 0; i < p->m; i++) {
                const size_t at =
                    ((size_t)z * (size_t)p->n + (size_t)j) * (size_t)p->ld + (size_t)i;
                if (is_left(p, &got, z, i, j)) {
                    CHECK(is_left(p, whole, z, i, j), "%d, %d of %d is left: %s", i, j, z, text(p));
                    continue;
                }
                CHECK(memcmp(&got.c[at], &all.c[at], sizeof(double)) == 0,
                      "%d, %d of %d is %a, not %a: %s", i, j, z, got.c[at], all.c[at], text(p));
            }
    for (int o = 0; o < 2; o++) free(of_exact_lines.line[o]);
    free_result(&got);
    free_result(&all);
}

static void check_case(const crt_case *p)
{
    crt_data d = make_data(p);
    crt_result whole = finish_by(p, &d, BY_WHOLE_NUMBERS);
    if (p->has_ties)
        check_ties(p, &d, &whole);
    else
        check_way(p, &d, &whole, BY_BINARY64);
    if (may_be_resident(p)) {
        check_way(p, &d, &whole, BY_NOTES);
        if (has_resident()) check_way(p, &d, &whole, BY_RESIDENT);
    }
    free_result(&whole);
    free_data(&d);
}

static void all_ways_agree(void **unused)
{
    (void)unused;
    for (int i = 0; i < cases; i++) {
        const crt_case p = random_case(first_seed + (uint64_t)i);
        check_case(&p);
    }
    test_note("%d cases, dense tiles for a second product in %d", cases, dense_tiles);
    CHECK(cases < 100 || dense_tiles > 0, "no tile is dense");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_ways_agree)};
    device_require();
    if (td_crt_prepare() != cudaSuccess || td_resident_prepare() != cudaSuccess) return 1;
    if (test_is_sanitized()) cases = 30;
    test_take_cases(argc, argv, &cases, &first_seed);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
