/* check_outcome.c - the word that a call leaves of its counts, as strategy adaptive reads it. */
#include "tests/support/test.h"

#include "lib/cuda/device.h"
#include "lib/model/spent.h"
#include "tests/kernels/support/checked.h"
#include "tests/kernels/support/device.h"

enum { TILES = 4096 };

/* The outcome of a call of TILES tiles with these counts; *left and *sum: what is at `from` and
 * `to` then. */
static td_outcome moved(const td_counters *counted, td_counters *left, td_counters *sum)
{
    td_device *device = td_device_current();
    td_counters *from = NULL;
    unsigned long long *words = NULL;
    unsigned long long *const mapped = td_device_map((void **)&words, sizeof *words);
    CHECK(mapped != NULL, "no memory that the device can reach");
    CHECK_CUDA(cudaMalloc((void **)&from, sizeof *from));
    const td_counts_move move = {
        .from = from, .to = device->mapped_counters, .word = mapped, .tiles = TILES, .ticket = 77};
    device->counters[0] = (td_counters){.repaired = 1, .planes = 15};
    CHECK_CUDA(cudaMemcpy(from, counted, sizeof *counted, cudaMemcpyHostToDevice));
    CHECK_CUDA(td_counters_move(&move, NULL));
    CHECK_CUDA(cudaDeviceSynchronize());
    CHECK_CUDA(cudaMemcpy(left, from, sizeof *left, cudaMemcpyDeviceToHost));
    *sum = device->counters[0];
    device_free(from);
    const td_outcome o = td_outcome_of(words[0]);
    CHECK_CUDA(cudaHostUnregister(words));
    free(words);
    return o;
}

TEST(words_hold_what_was_counted)
{
    static const unsigned long long all = (unsigned long long)TILES * TD_ELEMENTS_OF_TILE;
    static const struct {
        td_counters counted;
        td_outcome outcome; /* ticket apart */
    } rows[] = {
        {{0, 0, 0, 0}, {.planes = 0}},
        {{0, 0, 14, 0}, {.planes = 14}},
        {{1, 0, 20, 64}, {.planes = 20, .work = 64, .singles = 1}},
        {{TILES + 1, 0, 0, 0}, {.singles = 2}},
        {{TD_ELEMENTS_OF_TILE, 1, 0, 16}, {.work = 16, .tiles = 1}},
        {{all - TD_ELEMENTS_OF_TILE, TILES - 1, 0, 0}, {.tiles = TD_OUTCOME_ALL - 1}},
        {{all, TILES, 0, 64}, {.work = 64, .tiles = TD_OUTCOME_ALL}},
        {{all / 2, TILES, 0, 0}, {.tiles = TD_OUTCOME_ALL}}, /* tiles at the edges have less */
        {{all * 4, 0, 100, 200}, {.planes = 63, .work = 127, .singles = 1023}},
        {{all * 4, TILES * 2, 0, 0}, {.tiles = TD_OUTCOME_ALL, .singles = 1023}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        td_counters left, sum;
        const td_outcome o = moved(&rows[i].counted, &left, &sum), *want = &rows[i].outcome;
        CHECK(o.ticket == 77 && o.planes == want->planes && o.work == want->work &&
                  o.tiles == want->tiles && o.singles == want->singles,
              "row %d: %u planes, work %u, %u tiles, %u singles", (int)i, o.planes, o.work, o.tiles,
              o.singles);
        CHECK(!left.repaired && !left.tiles && !left.planes && !left.work, "row %d: counts stay",
              (int)i);
        CHECK(sum.repaired == rows[i].counted.repaired + 1 && sum.planes >= 15,
              "row %d: the report has %llu repaired", (int)i, sum.repaired);
    }
}

/* What residues take is counted where abs(A)abs(B) is estimated, and nowhere else. */
TEST(work_is_of_estimates)
{
    static const struct {
        const char *data;
        bool is_estimated;
    } rows[] = {{"both signs", false}, {"wide 4", true}};
    const mode m = mode_of_family("ozaki2");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const product of = {
            .m = 130, .n = 70, .k = 200, .alpha = 1.0, .data = rows[i].data, .seed = 1};
        problem p = problem_make(&of);
        const td_counters counted = checked_counters(&m, &p);
        CHECK((counted.work == 64) == rows[i].is_estimated && counted.work <= 64, "%s: work %llu",
              rows[i].data, counted.work);
        problem_free(&p);
    }
}
