/* The table of routes: what it chooses for many products on several devices, against what was
 * chosen for them before there was a table; and that every row can be forced, and takes nothing
 * that it cannot do.
 *
 * usage: unit_route ROUTES
 * Each line of ROUTES has a product and a device, and what was launched. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/test.h"
#include "tests/lib/support/predicted.h"
#include "tests/support/route_rows.h"
#include "lib/model/cost.h"
#include "kernels/residue/moduli.h"
#include "kernels/select/estimate.h"

static const char *recorded;

static td_traits traits_of(const char *card)
{
    assert_non_null(td_card_known(card));
    return td_traits_of_card(td_card_known(card));
}

static td_route_case case_of(const char *mode, const td_real_product *p, const td_traits *device)
{
    const char *const count = strchr(mode, ':');
    td_parameter parameter = {0};
    if (count) parameter = (td_parameter){.count = atoi(count + 1), .is_given = true};
    const td_finish_kind kind = strcmp(mode, "faithful") == 0 ? TD_FINISH_EXACT : TD_FINISH_ROUND;
    parameter = td_moduli_of(p, kind == TD_FINISH_EXACT, parameter);
    return td_route_case_of(p, parameter, kind, device);
}

/* Who multiplies magnitudes; "-" if nothing does. */
static const char *gemm_of_estimate(const td_route_case *c)
{
    const td_panels panels = {.type = TD_PANEL_LOGARITHM,
                              .m = c->rows,
                              .n = c->n,
                              .k = td_estimate_length(c->k),
                              .planes = (int)td_estimate_sums(c->k),
                              .batch = (int)c->batch,
                              .slices = 1};
    const bool is_certified = c->kind == TD_FINISH_ROUND && c->least < c->most;
    return is_certified ? td_route_name(TD_STAGE_GEMM, (int)td_route_gemm(&panels, &c->terms))
                        : "-";
}

enum { COLUMNS = 15, WORD = 40 };
typedef struct {
    char of[COLUMNS][WORD];
} words;

static bool split_line(const char *line, words *w)
{
    int count = 0;
    for (const char *at = line; count < COLUMNS; count++) {
        const size_t length = strcspn(at, ",\n");
        if (length == 0 || length >= WORD) return false;
        memcpy(w->of[count], at, length);
        w->of[count][length] = '\0';
        at += length;
        if (*at++ != ',') return count == COLUMNS - 1;
    }
    return false;
}

TEST(choices_are_what_was_recorded)
{
    enum { CARD, MODE, READS_C, M, N, K, BATCH, FIRST };
    static const td_stage stages[COLUMNS - FIRST] = {
        TD_STAGE_MEASURE, TD_STAGES,     TD_STAGE_SPLIT, TD_STAGE_ROUND,
        TD_STAGE_SLICES,  TD_STAGE_GEMM, TD_STAGE_CRT,   TD_STAGE_FUSE};
    char line[512];
    int lines = 0, wrong = 0;
    FILE *file = fopen(recorded, "r");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof line, file));
    for (; fgets(line, sizeof line, file); lines++) {
        words w;
        assert_true(split_line(line, &w));
        td_real_product p =
            real_product(atoll(w.of[M]), atoll(w.of[N]), atoll(w.of[K]), atoll(w.of[BATCH]));
        p.beta.value.binary64 = atoi(w.of[READS_C]);
        const td_traits device = traits_of(w.of[CARD]);
        const td_route_case c = case_of(w.of[MODE], &p, &device);
        const td_route route = td_route_of_case(&c);
        for (int i = FIRST; i < COLUMNS; i++) {
            const td_stage stage = stages[i - FIRST];
            const char *got =
                stage == TD_STAGES ? gemm_of_estimate(&c) : td_route_name(stage, route.of[stage]);
            if (strcmp(got, w.of[i]) == 0) continue;
            wrong++;
            print_error("column %d is %s, not %s: %s", i, got, w.of[i], line);
        }
    }
    fclose(file);
    assert_true(lines > 400);
    assert_int_equal(wrong, 0);
}

/* td_route_case_begin leaves no field as it was: of two cases that held other bytes before, all
 * fields are alike. */
TEST(every_field_of_a_case_is_set)
{
    const td_route_terms terms = {.device = traits_of("NVIDIA H200"), .is_aligned = true};
    td_route_case a, b;
    int unset = 0;
    memset(&a, 0xa5, sizeof a);
    memset(&b, 0x5a, sizeof b);
    td_route_case_begin(&a, 1000, 900, 800, 3, &terms);
    td_route_case_begin(&b, 1000, 900, 800, 3, &terms);
#define FIELD(type, name)                                                                          \
    if (memcmp(&a.name, &b.name, sizeof(type)) != 0) {                                             \
        unset++;                                                                                   \
        print_error("td_route_case_begin does not set " #name "\n");                               \
    }
    TD_ROUTE_CASE(FIELD)
#undef FIELD
    assert_int_equal(unset, 0);
}

TEST(an_h100_is_an_h200)
{
    const td_traits a = traits_of("NVIDIA H100 80GB HBM3"), b = traits_of("NVIDIA H200");
    assert_memory_equal(&a, &b, sizeof a);
}

TEST(traits_follow_from_the_card)
{
    static const struct {
        const char *card;
        td_traits traits;
    } cards[] = {{"NVIDIA H200", {132, 232448, true, true, true}},
                 {"NVIDIA B200", {148, 232448, true, false, true}},
                 {"NVIDIA A100-SXM4-80GB", {108, 166912, false, false, true}},
                 {"NVIDIA GeForce RTX 5090", {170, 101376, true, false, false}},
                 {"NVIDIA GeForce RTX 4090", {128, 101376, false, false, false}},
                 {"Tesla T4", {40, 65536, false, false, false}}};
    for (size_t i = 0; i < sizeof cards / sizeof *cards; i++) {
        const td_traits got = traits_of(cards[i].card), *want = &cards[i].traits;
        assert_int_equal(got.multiprocessors, want->multiprocessors);
        assert_int_equal(got.shared_bytes, want->shared_bytes);
        assert_int_equal(got.has_tma, want->has_tma);
        assert_int_equal(got.has_wgmma, want->has_wgmma);
        assert_int_equal(got.has_much_binary64, want->has_much_binary64);
    }
}

/* Every stage has rows, values and names of a stage differ, and each row stands in the order of
 * stages. */
TEST(rows_are_in_order)
{
    int last = -1;
    for (int i = 0; i < TD_ROUTE_ROWS; i++) {
        const td_route_row *row = &td_route_rows[i];
        assert_non_null(row->name);
        assert_true((int)row->stage == last || (int)row->stage == last + 1);
        last = (int)row->stage;
        for (int j = 0; j < i; j++) {
            if (td_route_rows[j].stage != row->stage) continue;
            assert_true(td_route_rows[j].value != row->value);
            assert_string_not_equal(td_route_rows[j].name, row->name);
        }
    }
    assert_int_equal(last, TD_STAGES - 1);
}

/* A row that serves is taken if it is the only one; one that does not serve never is. Each row
 * serves some product somewhere. */
TEST(rows_are_forced)
{
    static const int64_t shapes[][4] = {{4096, 4096, 512, 1}, {64, 64, 40000, 2}, {300, 40, 70, 9}};
    static const char *const cards[] = {"NVIDIA H200", "NVIDIA A100-SXM4-80GB", "Tesla T4"};
    static const char *const modes[] = {"ozaki2", "faithful"};
    bool was_taken[TD_ROUTE_ROWS] = {false};
    for (int i = 0; i < TD_ROUTE_ROWS * 3 * 3 * 2 * 2; i++) {
        const int row = i % TD_ROUTE_ROWS, at = i / TD_ROUTE_ROWS;
        const int64_t *s = shapes[at % 3];
        td_real_product p = real_product(s[0], s[1], s[2], s[3]);
        p.is_paired = at / 18;
        const td_traits device = traits_of(cards[at / 3 % 3]);
        td_route_case c = case_of(modes[at / 9 % 2], &p, &device);
        c.terms.without = without_others(row);
        c.route = td_route_of_case(&c);
        const td_route_row *r = &td_route_rows[row];
        const bool is_taken = c.route.of[r->stage] == r->value;
        c.row = r;
        assert_int_equal(is_taken, r->serves(&c));
        was_taken[row] |= is_taken;
    }
    for (int row = 0; row < TD_ROUTE_ROWS; row++) {
        const bool is_elsewhere = (td_route_rows[row].stage == TD_STAGE_SPLIT &&
                                   td_route_rows[row].value == TD_SPLIT_WIDE) ||
                                  (td_route_rows[row].stage == TD_STAGE_GEMM &&
                                   td_route_rows[row].value == TD_GEMM_CUBLAS);
        if (was_taken[row] == is_elsewhere) print_error("row %s\n", td_route_rows[row].name);
        assert_int_equal(was_taken[row], !is_elsewhere);
    }
}

/* More moduli than common products have are split by a kernel of their own; slices of int8 and
 * binary32 are for cuBLAS. */
TEST(other_products_have_their_own)
{
    const td_traits device = traits_of("NVIDIA H200");
    const td_real_product p = real_product(1000, 1000, 100, 1);
    td_route_case c = case_of("faithful", &p, &device);
    c.most = c.least = TD_SECOND_MODULI;
    assert_int_equal(td_route_choose(TD_STAGE_SPLIT, &c), TD_SPLIT_WIDE);
    for (int type = TD_PANEL_INT8; type <= TD_PANEL_FLOAT; type++) {
        const td_panels panels = {.type = (td_panel_type)type,
                                  .m = 64,
                                  .n = 64,
                                  .k = 64,
                                  .planes = 1,
                                  .batch = 1,
                                  .slices = 1};
        assert_int_equal(td_route_gemm(&panels, &c.terms), TD_GEMM_CUBLAS);
    }
}

/* What the tensor memory accelerator cannot copy is loaded by threads: odd addresses, leading
 * dimensions and strides, arrays of pointers. */
TEST(what_is_not_aligned_has_no_boxes)
{
    enum { ALIGNED, DATA, LD, STRIDE, STRIDE_OF_ONE, ARRAY, BACKWARDS, KINDS };
    double *const array[1] = {NULL};
    const td_traits device = traits_of("NVIDIA H200");
    for (int kind = 0; kind < KINDS; kind++) {
        td_real_product p = real_product(4096, 4096, 4097, kind == STRIDE_OF_ONE ? 1 : 2);
        p.a = p.b = (td_matrix){.ld = 4098, .stride = INT64_C(4098) * 4098};
        td_matrix *const x = kind % 2 ? &p.a : &p.b;
        if (kind == DATA) x->data = (double *)8;
        if (kind == LD) x->ld = 4097;
        if (kind == STRIDE || kind == STRIDE_OF_ONE) x->stride++;
        if (kind == ARRAY) x->array = (void *)array;
        if (kind == BACKWARDS) x->stride = -x->stride;
        const bool has_boxes = kind == ALIGNED || kind == STRIDE_OF_ONE;
        const td_route_case c = case_of("ozaki2", &p, &device);
        const td_route route = td_route_of_case(&c);
        assert_int_equal(route.of[TD_STAGE_SPLIT], has_boxes ? TD_SPLIT_TMA : TD_SPLIT_THREADS);
        assert_int_equal(route.of[TD_STAGE_MEASURE],
                         has_boxes ? TD_MEASURE_TMA : TD_MEASURE_THREADS);
    }
}

TEST(a_route_is_printed)
{
    char text[TD_ROUTE_TEXT];
    const td_traits device = traits_of("NVIDIA H200");
    const td_real_product p = real_product(4096, 4096, 512, 1);
    const td_route_case c = case_of("ozaki2", &p, &device);
    const td_route route = td_route_of_case(&c);
    assert_string_equal(td_route_print(&route, text),
                        "measure tma, split tma, round binary64, slices 1, "
                        "gemm wgmma-small-pair, crt pairs-two-tiles, fuse gemm-crt, "
                        "repair-tiles 2, repair-shares 1, repair tma-pair");
}

/* Sums in binary64 have TMA tiles where the card can copy them, the operands are aligned, and the
 * work outlasts what the host takes to describe them; pairs of blocks where their last round is no
 * emptier; two tiles a block where there are more tiles than places; few stages where a block has
 * little shared memory. The blocks are as many as there are tiles, or shares of these where
 * binary64 is slow, or places for. */
TEST(repairs_are_routed)
{
    static const struct {
        const char *card;
        int64_t m, n, k, batch;
        td_binary64_launch want;
    } cases[] = {
        {"NVIDIA H200", 8192, 8192, 8192, 1, {TD_BINARY64_TMA_PAIR, 2, 132, 1}},
        {"NVIDIA H200", 16896, 64, 1024, 1, {TD_BINARY64_TMA, 2, 132, 1}},
        {"NVIDIA H200", 640, 640, 1024, 1, {TD_BINARY64_TMA, 1, 100, 1}},
        {"NVIDIA H200", 8192, 8192, 127, 1, {TD_BINARY64_MANY_STAGES, 2, 132, 1}},
        {"NVIDIA H200", 128, 128, 127, 1, {TD_BINARY64_MANY_STAGES, 1, 4, 1}},
        {"NVIDIA H200", 128, 127, 128, 1, {TD_BINARY64_MANY_STAGES, 1, 4, 1}},
        {"NVIDIA H200", 128, 128, 128, 1, {TD_BINARY64_TMA, 1, 4, 1}},
        {"NVIDIA H200", 128, 128, 128, 34, {TD_BINARY64_TMA_PAIR, 2, 4, 1}},
        {"NVIDIA H200", 64, 64, 4096, 133, {TD_BINARY64_TMA, 2, 1, 1}},
        {"NVIDIA H200", 4096, 4096, 4096, 600, {TD_BINARY64_TMA, 2, 1, 1}},
        {"NVIDIA A100-SXM4-80GB", 8192, 8192, 8192, 1, {TD_BINARY64_MANY_STAGES, 2, 108, 1}},
        {"NVIDIA GeForce RTX 5090", 4096, 4096, 4096, 2, {TD_BINARY64_TMA_PAIR, 2, 170, 4}},
        {"NVIDIA GeForce RTX 5090", 128, 192, 4096, 1, {TD_BINARY64_TMA, 1, 24, 4}},
        {"Tesla T4", 8192, 8192, 8192, 1, {TD_BINARY64_FEW_STAGES, 2, 40, 4}},
        {"Tesla T4", 64, 640, 8192, 1, {TD_BINARY64_FEW_STAGES, 1, 40, 4}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const td_traits device = traits_of(cases[i].card);
        const td_binary64_launch *const want = &cases[i].want;
        for (int is_aligned = 1; is_aligned >= 0; is_aligned--) {
            const td_route_terms terms = {.device = device, .is_aligned = is_aligned != 0};
            const td_binary64_launch got =
                td_route_binary64(cases[i].m, cases[i].n, cases[i].k, cases[i].batch, &terms);
            const bool needs_aligned = want->route >= TD_BINARY64_TMA;
            const td_binary64_route route =
                needs_aligned && !is_aligned ? TD_BINARY64_MANY_STAGES : want->route;
            if (got.route != route || got.tiles != want->tiles || got.blocks != want->blocks ||
                got.shares != want->shares)
                print_error("case %d: %s, %d tiles, %d blocks, %d shares\n", (int)i,
                            td_route_name(TD_STAGE_REPAIR, (int)got.route), got.tiles, got.blocks,
                            got.shares);
            assert_int_equal(got.route, route);
            assert_int_equal(got.tiles, want->tiles);
            assert_int_equal(got.blocks, want->blocks);
            assert_int_equal(got.shares, want->shares);
        }
    }
}

int main(int argc, char **argv)
{
    if (argc != 2) return EXIT_FAILURE;
    recorded = argv[1];
    return test_run();
}
