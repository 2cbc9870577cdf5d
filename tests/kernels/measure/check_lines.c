/* check_lines.c - lines that are measured whole, or of which some have the records of others, and
 * what follows from them, against all lines by tiles: records, choices, scales and shifts, bit for
 * bit. */
#include "tests/support/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/engines/tiler.h"
#include "lib/engines/ozaki/scheme.h"
#include "kernels/residue/moduli.h"
#include "tests/support/random.h"
#include "tests/kernels/support/device.h"

enum { MOST_BUFFERS = 66, KINDS = 11, GUARD = 3, ALIGNED_GUARD = 4 };

typedef struct {
    int64_t lines[2], k, ld[2];
    int batch, kind[2]; /* of numbers */
    int counted;        /* moduli of which it is counted what they round; 0: none */
    bool along[2];      /* k is contiguous */
    bool by_digits, is_pointers, is_aligned;
    bool begins_early, is_measured_once; /* as td_measure has them */
    bool is_by_lines; /* lines alone certified what a probe looked at: they are measured once */

    /* Real lines 2i and 2i + 1 of operand 0, along k, are (re, -im) and (im, re) of complex terms.
     * Operand 1 is the first of each pair, or, without pairs, operand 0, with other signs. */
    bool has_pairs, is_gram;
} lines_case;

/* How lines are measured: whole, by tiles, or by tiles where lines have no records of others. */
typedef enum { WHOLE, TILES, SHARED } way;

static struct {
    void *buffer[MOST_BUFFERS];
    int count;
    double *host[2], *device[2]; /* what was uploaded, and where to */
    int64_t elements[2];
} memory;

/* Filled with 0xa5. */
static void *reserve(int64_t bytes)
{
    CHECK(memory.count < MOST_BUFFERS, "too many buffers");
    void **const at = &memory.buffer[memory.count++];
    CHECK_CUDA(cudaMalloc(at, (size_t)bytes + 8));
    CHECK_CUDA(cudaMemset(*at, 0xa5, (size_t)bytes + 8));
    return *at;
}

static void free_all(void)
{
    while (memory.count) CHECK_CUDA(cudaFree(memory.buffer[--memory.count]));
    for (int o = 0; o < 2; o++) free(memory.host[o]);
}

/* Element l of line i. */
static double number(test_random *r, int kind, int64_t i, int64_t l, int which)
{
    const double x = random_normal(r);
    switch (kind) {
    case 1: /* exponents along k, which shifts even out */
        return ldexp(x, (int)((which ? -1 : 1) * (l * 7919 % 61)));
    case 2: /* the same, of either operand alone */
        return which ? x : ldexp(x, (int)(l % 40));
    case 3:
        return random_int(r, 0, 19) ? 0.0 : x;
    case 4: /* a triangle */
        return l <= i ? x : 0.0;
    case 5:
        return (float)x;
    case 6:
        return i % 5 == 3 && l % 50 == 7 ? (l % 100 == 7 ? NAN : -INFINITY) : x;
    case 7: /* the least numbers that there are, among others */
        return random_int(r, 0, 2) ? ldexp(x, -1070) : ldexp(x, -1020);
    case 8:
        return ldexp(1.0, random_int(r, -3, 3));
    case 9:
        return i % 3 && l % 4 ? ldexp(x, random_int(r, -1000, 1000)) : 0.0;
    case 10:
        return 0.0;
    default:
        return x;
    }
}

/* Where an element is in memory.host. */
static int64_t place_of(const lines_case *c, int which, int z, int64_t i, int64_t l)
{
    const int64_t outer = c->along[which] ? c->lines[which] : c->k, inner = c->ld[which];
    return (c->is_aligned ? ALIGNED_GUARD : GUARD) + z * outer * inner +
           (c->along[which] ? i * inner + l : l * inner + i);
}

static double uploaded(const lines_case *c, int which, int z, int64_t i, int64_t l)
{
    return memory.host[which][place_of(c, which, z, i, l)];
}

/* Element l of line i of a member, where lines before may have been made. */
static double element(const lines_case *c, int which, int z, int64_t i, int64_t l, test_random *r)
{
    if (which == 0 && c->has_pairs && i % 2) return -uploaded(c, 0, z, i - 1, l ^ 1);
    if (which == 1 && c->is_gram)
        return (l % 3 ? 1 : -1) * uploaded(c, 0, z, c->has_pairs ? 2 * i : i, l);
    return number(r, z == 1 ? 0 : c->kind[which], i, l, which);
}

static td_matrix upload(const lines_case *c, int which, test_random *r)
{
    const int64_t outer = c->along[which] ? c->lines[which] : c->k, inner = c->ld[which],
                  size = outer * inner, guard = c->is_aligned ? ALIGNED_GUARD : GUARD;
    double *host = malloc(sizeof(double) * (size_t)(size * c->batch + guard)), *device;
    double *pointers[8];
    CHECK(host, "out of memory");
    for (int64_t e = 0; e < size * c->batch + guard; e++) host[e] = NAN; /* not to be read */
    memory.host[which] = host;
    for (int z = 0; z < c->batch; z++)
        for (int64_t i = 0; i < c->lines[which]; i++)
            for (int64_t l = 0; l < c->k; l++)
                host[place_of(c, which, z, i, l)] = element(c, which, z, i, l, r);
    device = reserve((size * c->batch + guard) * 8);
    CHECK_CUDA(
        cudaMemcpy(device, host, (size_t)(size * c->batch + guard) * 8, cudaMemcpyHostToDevice));
    memory.device[which] = device;
    memory.elements[which] = size * c->batch + guard;
    for (int z = 0; z < c->batch; z++) pointers[z] = device + guard + z * size;
    if (!c->is_pointers) return (td_matrix){.data = device + guard, .ld = inner, .stride = size};
    void *const array = reserve((int64_t)sizeof pointers);
    CHECK_CUDA(cudaMemcpy(array, pointers, sizeof pointers, cudaMemcpyHostToDevice));
    return (td_matrix){.array = array, .ld = inner};
}

/* Bytes of the records of an operand's lines. */
static int64_t records_of(const lines_case *c, int o)
{
    return c->lines[o] * c->batch * (int64_t)sizeof(td_line);
}

/* What is compared. */
typedef struct {
    td_line *line[2];
    td_choice *choice;
    int32_t *shifted;
    int16_t *shift;
    unsigned long long *planes;
} result;

/* Has the records of lines made of others, and fills the lines that are not to be read with NaN. */
static void share(const lines_case *c, td_measure *measure)
{
    for (int o = 0; o < 2; o++) {
        double *const poisoned = malloc((size_t)memory.elements[o] * sizeof(double));
        CHECK(poisoned, "out of memory");
        memcpy(poisoned, memory.host[o], (size_t)memory.elements[o] * sizeof(double));
        for (int z = 0; z < c->batch; z++)
            for (int64_t i = 0; i < c->lines[o]; i++)
                for (int64_t l = 0; l < c->k; l++)
                    if (o ? c->is_gram : c->has_pairs && i % 2)
                        poisoned[place_of(c, o, z, i, l)] = NAN;
        CHECK_CUDA(cudaMemcpy(memory.device[o], poisoned,
                              (size_t)memory.elements[o] * sizeof(double), cudaMemcpyHostToDevice));
        free(poisoned);
    }
    measure->is_gram = c->is_gram;
    if (!c->has_pairs) return;
    measure->neighbours = 2;
    measure->operand[0].lines /= 2;
    measure->operand[0].line_step *= 2;
}

static td_measure measure_of(const lines_case *c, const td_view *operand, way how, const result *of)
{
    const int64_t strip = td_round_up(c->lines[0] > c->lines[1] ? c->lines[0] : c->lines[1], 64),
                  extremes = c->batch * (int64_t)sizeof(td_extremes),
                  steps = c->batch * TD_STEPS * (int64_t)sizeof(td_step);
    td_measure measure = {.operand = {operand[0], operand[1]},
                          .alpha.value.binary64 = 1.0,
                          .batch = c->batch,
                          .route = how == WHOLE && c->k <= TD_SHORT_K ? TD_MEASURE_WHOLE
                                   : td_tma_exists() && c->is_aligned ? TD_MEASURE_TMA
                                                                      : TD_MEASURE_THREADS,
                          .counts_rounded = c->counted != 0,
                          .has_parts = c->has_pairs,
                          .scratch.strip_lines = (int)strip,
                          .shift = of->shift,
                          .shifted = of->shifted,
                          .scratch.rise = reserve(c->batch * (int64_t)sizeof(td_rise)),
                          .begins_early = c->begins_early,
                          .clear = reserve(extremes + steps),
                          .clear_count = (extremes + steps) / 4};
    measure.scratch.steps = (td_step *)((char *)measure.clear + extremes);
    for (int o = 0; o < 2; o++) {
        const int64_t chunks =
            td_ceil_div(c->k, TD_CHUNK) * c->batch * strip * (int64_t)td_chunk_bytes();
        measure.scratch.chunks[o] = reserve(chunks);
        measure.scratch.chunks_again[o] = reserve(chunks);
        measure.scratch.tops[o] = reserve(c->k * c->batch * 4);
        measure.scratch.bounds[o] = reserve(td_bounds(c->k) * c->batch * 8);
        measure.line[o] = of->line[o];
        measure.line_again[o] = reserve(records_of(c, o));
    }
    return measure;
}

static td_choose choose_of(const lines_case *c, const td_measure *measure, const result *of)
{
    td_choose choose = {.measured = {.lines = {(int)c->lines[0], (int)c->lines[1]},
                                     .batch = c->batch,
                                     .k = c->k,
                                     .alpha.value.binary64 = 1.0,
                                     .extremes = (td_extremes *)measure->clear,
                                     .shifted = of->shifted},
                        .chosen = {.choice = of->choice, .planes = of->planes}};
    for (int o = 0; o < 2; o++) {
        choose.chosen.line[o] = of->line[o];
        choose.measured.line[o] = of->line[o];
        choose.measured.line_again[o] = measure->line_again[o];
    }
    const td_parameter counted = {.count = c->counted ? c->counted : 14,
                                  .is_given = c->counted != 0};
    if (c->by_digits)
        td_scheme_int8_slices.choose(&(td_scheme_case){.scheme = &td_scheme_int8_slices, .k = c->k},
                                     &choose.rule);
    else
        td_scheme_residues.choose(
            &(td_scheme_case){&td_scheme_residues, counted, c->k, c->lines[0], c->lines[1]},
            &choose.rule);
    return choose;
}

static result run(const lines_case *c, const td_view *operand, way how)
{
    result of = {.line = {reserve(records_of(c, 0)), reserve(records_of(c, 1))},
                 .choice = reserve(c->batch * (int64_t)sizeof(td_choice)),
                 .shifted = reserve(c->batch * 4),
                 .shift = reserve(c->batch * c->k * 2),
                 .planes = reserve(8)};
    CHECK_CUDA(cudaMemset(of.planes, 0, 8));
    td_measure measure = measure_of(c, operand, how, &of);
    const td_choose choose = choose_of(c, &measure, &of);
    measure.scaling = td_scaling_of(&choose.rule, &choose.rule.candidate[0]);
    if (choose.rule.candidates > 1) measure.extremes = (td_extremes *)measure.clear;
    measure.is_measured_once =
        c->is_measured_once || choose.rule.skips_estimate || (c->is_by_lines && how == TILES);
    if (c->is_by_lines && how != TILES) /* by any looseness but TD_NOT_BY_LINES */
        measure.probed = td_probed_by(&choose.rule, reserve(2 * sizeof(int32_t)));
    if (how == SHARED) share(c, &measure);
    CHECK_CUDA(td_lines_run(&measure, &choose, NULL));
    return of;
}

static void compare(const char *what, const lines_case *c, const void *got, const void *want,
                    int64_t bytes)
{
    unsigned char *const both = malloc(2 * (size_t)bytes);
    CHECK(both, "out of memory");
    CHECK_CUDA(cudaMemcpy(both, got, (size_t)bytes, cudaMemcpyDeviceToHost));
    CHECK_CUDA(cudaMemcpy(both + bytes, want, (size_t)bytes, cudaMemcpyDeviceToHost));
    for (int64_t i = 0; i < bytes; i++)
        CHECK(both[i] == both[bytes + i],
              "%s, byte %d of %d: %02x, not %02x; lines %d, %d, k %d, ld %d, %d, batch %d, numbers "
              "%d, %d, along k %d, %d%s%s",
              what, (int)i, (int)bytes, both[i], both[bytes + i], (int)c->lines[0],
              (int)c->lines[1], (int)c->k, (int)c->ld[0], (int)c->ld[1], c->batch, c->kind[0],
              c->kind[1], c->along[0], c->along[1], c->by_digits ? ", digits" : "",
              c->is_pointers ? ", pointers" : "");
    free(both);
}

/* True if x 2^scale, x finite, is no whole number. */
static bool is_rounded(double x, int scale)
{
    const double scaled = ldexp(x, scale);
    return x != 0.0 && (fabs(scaled) < 1.0 || scaled != rint(scaled));
}

/* What a line's scale rounds. */
typedef struct {
    int64_t elements, chunks;
} rounded_of_line;

static rounded_of_line rounded_of(const lines_case *c, int which, int z, int64_t i,
                                  const td_line *line)
{
    rounded_of_line of = {0, 0};
    int64_t last = -1;
    if (line->low == TD_SPECIAL || line->low == TD_NO_LOW) return of;
    for (int64_t l = 0; l < c->k; l++) {
        if (!is_rounded(uploaded(c, which, z, i, l), line->scale)) continue;
        of.elements++;
        if (l / TD_CHUNK != last) of.chunks++;
        last = l / TD_CHUNK;
    }
    return of;
}

static int log_of(const lines_case *c, int64_t elements)
{
    return elements ? td_log_above((uint64_t)td_smaller(elements, c->k)) : (int)TD_NONE_ROUNDED;
}

/* Lines of which not all elements are rounded, and those that know more than in which chunks some
 * are. */
static int partly_rounded, looked_at;

/* What the lines of an operand without shifts say of elements that are rounded: no fewer than there
 * are, and no more than are in chunks that have any; if `looks`, just as many where there are a few
 * such chunks. */
static void check_rounded(const lines_case *c, int which, int z, const td_line *line, bool looks)
{
    enum { LOOKS = 4 };
    int64_t chunks = 0;
    rounded_of_line *const all = malloc((size_t)c->lines[which] * sizeof *all);
    CHECK(all, "out of memory");
    for (int64_t i = 0; i < c->lines[which]; i++) {
        all[i] = rounded_of(c, which, z, i, &line[i]);
        chunks += all[i].chunks;
    }
    for (int64_t i = 0; i < c->lines[which]; i++) {
        if (line[i].low == TD_SPECIAL || line[i].low == TD_NO_LOW) continue;
        const rounded_of_line of = all[i];
        const int least = log_of(c, of.elements), most = log_of(c, of.chunks * TD_CHUNK),
                  exact = of.chunks < 2 && looks && chunks <= LOOKS ? least : most;
        CHECK(line[i].rounded >= least && line[i].rounded <= exact,
              "line %d of operand %d, member %d: %d rounded, not from %d to %d, k %d", (int)i,
              which, z, line[i].rounded, least, exact, (int)c->k);
        partly_rounded += line[i].rounded > 0 && line[i].rounded < log_of(c, c->k);
        looked_at += line[i].rounded < most;
    }
    free(all);
}

/* Checks what lines without shifts say of rounded elements, and takes it away: ways to measure
 * differ in it. */
static void take_rounded(const lines_case *c, const result *of, bool looks)
{
    int32_t shifted[8];
    CHECK_CUDA(cudaMemcpy(shifted, of->shifted, (size_t)c->batch * 4, cudaMemcpyDeviceToHost));
    for (int o = 0; o < 2; o++) {
        const int64_t count = c->lines[o] * c->batch;
        const size_t bytes = (size_t)count * sizeof(td_line);
        td_line *const line = malloc(bytes);
        CHECK(line, "out of memory");
        CHECK_CUDA(cudaMemcpy(line, of->line[o], bytes, cudaMemcpyDeviceToHost));
        for (int z = 0; z < c->batch; z++)
            if (!shifted[z]) check_rounded(c, o, z, line + z * c->lines[o], looks);
        for (int64_t i = 0; i < count; i++)
            if (!shifted[i / c->lines[o]]) line[i].rounded = 0;
        CHECK_CUDA(cudaMemcpy(of->line[o], line, bytes, cudaMemcpyHostToDevice));
        free(line);
    }
}

static void compare_all(const lines_case *c, const result *got, const result *want)
{
    compare("shifted", c, got->shifted, want->shifted, c->batch * 4);
    compare("shift", c, got->shift, want->shift, c->batch * c->k * 2);
    for (int o = 0; o < 2; o++)
        compare(o ? "column" : "row", c, got->line[o], want->line[o],
                c->lines[o] * c->batch * (int64_t)sizeof(td_line));
    compare("choice", c, got->choice, want->choice, c->batch * (int64_t)sizeof(td_choice));
    compare("planes", c, got->planes, want->planes, 8);
}

/* Returns how many members are shifted. */
static int check(const lines_case *c, uint64_t seed)
{
    test_random r = random_start(seed);
    td_view operand[2];
    int32_t shifted[8];
    int count = 0;
    for (int o = 0; o < 2; o++)
        operand[o] = (td_view){.matrix = upload(c, o, &r),
                               .line_step = c->along[o] ? c->ld[o] : 1,
                               .k_step = c->along[o] ? 1 : c->ld[o],
                               .k = c->k,
                               .lines = (int)c->lines[o]};
    const result want = run(c, operand, TILES);
    if (c->counted) take_rounded(c, &want, true);
    for (way how = WHOLE; how <= SHARED; how++) {
        if (how == TILES || (how == SHARED && !c->has_pairs && !c->is_gram)) continue;
        const result got = run(c, operand, how);
        device_check_clean("measuring lines");
        if (c->counted) take_rounded(c, &got, how == SHARED);
        compare_all(c, &got, &want);
    }
    CHECK_CUDA(cudaMemcpy(shifted, want.shifted, (size_t)c->batch * 4, cudaMemcpyDeviceToHost));
    for (int z = 0; z < c->batch; z++) count += shifted[z] != 0;
    CHECK(count == 0 || !(c->is_measured_once || c->is_by_lines),
          "%d members are shifted though measured once", count);
    free_all();
    return count;
}

static int cases = 400;
static uint64_t first_seed;

/* Gives a third of all cases lines that have others' records. */
static void share_some(lines_case *c, test_random *r)
{
    c->has_pairs = random_int(r, 0, 5) == 0;
    c->is_gram = random_int(r, 0, 5) == 0;
    if (c->has_pairs) {
        c->k += c->k % 2;
        c->along[0] = true;
        c->lines[0] += c->lines[0] % 2;
    }
    if (c->is_gram) {
        c->lines[1] = c->has_pairs ? c->lines[0] / 2 : c->lines[0];
        c->along[1] = c->along[0];
    }
    for (int o = 0; o < 2; o++) c->ld[o] = (c->along[o] ? c->k : c->lines[o]) + random_int(r, 0, 3);
}

TEST(random_cases)
{
    int shifted = 0;
    for (int n = 0; n < cases; n++) {
        const uint64_t seed = first_seed + (uint64_t)n;
        test_random r = random_start(seed * 77);
        lines_case c = {.k = random_int(&r, 1, random_int(&r, 0, 9) ? 300 : 1500),
                        .batch = random_int(&r, 0, 3) ? 1 : 3,
                        .by_digits = random_int(&r, 0, 4) == 0,
                        .counted = n % 5 != 4 ? 0
                                   : n % 2    ? 14
                                              : TD_EXACT_MODULI,
                        .is_pointers = random_int(&r, 0, 3) == 0};
        for (int o = 0; o < 2; o++) {
            c.lines[o] = random_int(&r, 1, 90);
            c.along[o] = random_int(&r, 0, 1);
            c.ld[o] = (c.along[o] ? c.k : c.lines[o]) + random_int(&r, 0, 3);
            c.kind[o] = n % 4 ? random_int(&r, 0, KINDS - 1) : n / 4 % KINDS;
        }
        c.by_digits &= !c.counted;
        c.begins_early = random_int(&r, 0, 2) != 0;
        c.is_measured_once = random_int(&r, 0, 7) == 0;
        c.is_by_lines = random_int(&r, 0, 4) == 0;
        share_some(&c, &r);
        shifted += check(&c, seed);
    }
    test_note("%d cases, %d members shifted, %d lines rounded in part, %d looked at", cases,
              shifted, partly_rounded, looked_at);
    CHECK(cases < 100 || shifted > 0, "no member is shifted");
    CHECK(cases < 100 || (partly_rounded > 0 && looked_at > 0), "no line is rounded in part");
}

/* Around chunks, and the longest lines. */
TEST(lengths)
{
    static const int depths[] = {1,   31,  32,  33,   63,   64,   65,         127,
                                 129, 511, 513, 2047, 4033, 4095, TD_SHORT_K, TD_SHORT_K + 1};
    for (int d = 0; d < (int)(sizeof depths / sizeof *depths); d++)
        for (int i = 0; i < 4; i += test_is_brief() ? 3 : 1) {
            const int k = depths[d];
            lines_case c = {.lines = {9, 16},
                            .k = k,
                            .batch = 1,
                            .kind = {i * 3 % KINDS, i * 3 % KINDS},
                            .counted = (d + i) % 3 ? 0 : TD_EXACT_MODULI,
                            .begins_early = d != 0,
                            .along = {i % 2, i / 2}};
            for (int o = 0; o < 2; o++) c.ld[o] = c.along[o] ? k + 1 : c.lines[o];
            check(&c, 9000 + (uint64_t)(4 * d + i));
        }
}

/* As many elements as are measured whole, and enough to be copied in boxes by a device that can;
 * sanitizers watch none. */
TEST(boxes)
{
    const int lines = test_is_brief() ? 128 : 512;
    for (int i = 0; i < 8; i++) {
        const int batch = 1 << i % 3, k = i % 2 ? 2048 : 1990;
        lines_case c = {.lines = {lines / batch - 2 * (i % 5), lines / batch},
                        .k = k,
                        .batch = batch,
                        .kind = {i % KINDS, i % KINDS},
                        .along = {i / 2 % 2, i / 4 % 2},
                        .counted = i % 3 == 1 ? TD_EXACT_MODULI : 0,
                        .is_aligned = true,
                        .begins_early = i % 2 != 0,
                        .is_gram = i >= 6,
                        .has_pairs = i >= 4};
        if (c.has_pairs) c.along[0] = true;
        if (c.is_gram) c.lines[1] = c.lines[0] / 2;
        for (int o = 0; o < 2; o++) c.ld[o] = (c.along[o] ? k : c.lines[o]) + 2 * (i % 2);
        check(&c, 20000 + (uint64_t)i);
    }
}

int main(int argc, char **argv)
{
    if (test_is_brief()) cases = 90;
    test_take_cases(argc, argv, &cases, &first_seed);
    device_require();
    if (td_lines_prepare() != cudaSuccess) return EXIT_FAILURE;
    return test_run();
}
