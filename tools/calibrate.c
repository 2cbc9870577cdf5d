#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda_runtime_api.h>

#include "lib/engines/model/calibration.h"
#include "lib/engines/model/device_model.h"
#include "lib/engines/model/solve_model.h"
#include "lib/call/lower.h"
#include "lib/cuda/device.h"
#include "tools/clock.h"
#include "tools/machine.h"
#include "tools/measure.h"
#include "tools/tandem.h"

enum { SECONDS, DEVICE, ROWS };
enum { USUAL_SECONDS = 15, MOST_SECONDS = 600 };

/* Time for one product, its repetitions included; and the longest product that is worth its time,
 * of all the time there is. */
static const double point_seconds = 0.002, longest_share = 1.0 / 4000.0;

/* Beyond so many times native's time only a coarse grid is measured. */
static const double far_behind = 4.0;

/* The share of the time in which operands are made. The host device makes them at its own speed,
 * not at that of the card that it stands for. */
static const double fill_share = 0.125, host_bytes_per_second = 5e8;

/* The share of the time in which cuBLAS's routines of level 3 are measured: the last. */
static const double routine_share = 0.2;

/* A calibration while it is made. */
typedef struct {
    measure *measure;
    td_model model; /* by rates alone */
    const td_way *way;
    int ways;
    measure_size size;            /* of the largest product that fits */
    double longest, deadline;     /* in seconds: by rates; of clock_seconds() */
    double slowest[TD_MOST_ROWS]; /* most times what was predicted that a call took so far */
    bool is_known[TD_MOST_ROWS][TD_FACTORS];
    /* log2 of what was measured over what was predicted, where is_known; result has it
     * shortened. */
    double octaves[TD_MOST_ROWS][TD_FACTORS];
    td_calibration result;
} work;

/* ---- one product ---- */

static measure_shape shape_of(const td_problem *p)
{
    return (measure_shape){.m = p->m, .n = p->n, .k = p->k, .batch = p->batch};
}

/* True if the call will be done before the deadline, should it be as slow as the slowest of its row
 * so far. The first one of each row, which is the smallest, is measured in any case. */
static bool has_time(const work *w, int at, int row, double predicted)
{
    const double expected = predicted * fmax(1.0, w->slowest[row]);
    return at == 0 ||
           clock_seconds() + fmax(point_seconds, MEASURE_LEAST_CALLS * expected) < w->deadline;
}

/* What a row's call took at a point. */
static void keep_point(work *w, int at, int row, double seconds, double predicted)
{
    if (seconds <= 0.0) return;
    w->is_known[row][at] = w->result.is_measured[row] = true;
    w->slowest[row] = fmax(w->slowest[row], seconds / predicted);
    w->octaves[row][at] = log2(seconds / predicted);
    w->result.factors[row][at] = (signed char)td_factor_of(seconds, predicted);
}

static void measure_point(work *w, int at, int way)
{
    const td_problem p = td_factor_problem(at);
    const measure_shape shape = shape_of(&p);
    const td_way *of = &w->way[way];
    const double by_rates = td_model_by_rates(&w->model.rates, of->engine, of->parameter, &p);
    if (w->is_known[way][at] || by_rates < 0.0 || by_rates > w->longest ||
        !measure_fits(measure_size_of(&shape), w->size) || !has_time(w, at, way, by_rates))
        return;
    const double seconds =
        measure_seconds(w->measure, &shape, of->engine, of->parameter, point_seconds);
    keep_point(w, at, way, seconds, by_rates);
}

/* What the model says that cuBLAS takes for a routine, by what its products took. */
static double predict_routine(const work *w, const td_problem *p)
{
    td_problem product;
    if (p->kind == TD_TRIANGULAR_SOLVE) return td_model_native_solve(&w->model, p);
    (void)td_lower(p, &product);
    return td_model_seconds(&w->model, td_engines[0], (td_parameter){0}, &product);
}

static void measure_routine(work *w, int at, int routine)
{
    const int row = TD_MOST_WAYS + routine;
    td_problem p;
    if (w->is_known[row][at] || !td_factor_routine(td_native_routines[routine].kind, at, &p))
        return;
    const double predicted = predict_routine(w, &p);
    if (predicted > w->longest || !has_time(w, at, row, predicted)) return;
    keep_point(w, at, row, measure_routine_seconds(w->measure, &p, point_seconds), predicted);
}

/* ---- all of them ---- */

/* Every other size, and all batches. */
static bool is_coarse(int at)
{
    const td_problem p = td_factor_problem(at);
    const int64_t sizes[] = {p.m, p.n, p.k};
    if (at >= TD_PAIRS * TD_SIZES) return true;
    for (int i = 0; i < 3; i++)
        if (__builtin_ctzll((unsigned long long)(sizes[i] / TD_LEAST_SIZE)) % 2) return false;
    return true;
}

/* Modes are measured one after the other at each point: a warm device is as slow for all of
 * them. */
static void measure_points(work *w, bool is_fine)
{
    for (int at = 0; at < TD_FACTORS; at++) {
        const td_problem p = td_factor_problem(at);
        double by_rates[TD_MOST_WAYS];
        if (!is_fine && !is_coarse(at)) continue;
        td_model_predict(&w->model, &p, by_rates);
        for (int way = 0; way < w->ways; way++)
            if (!is_fine || by_rates[way] < far_behind * by_rates[0]) measure_point(w, at, way);
    }
}

static void measure_routines(work *w, bool is_fine)
{
    for (int at = 0; at < TD_FACTORS; at++)
        for (int routine = 0; routine < TD_NATIVE_ROUTINES; routine++)
            if (is_fine || is_coarse(at)) measure_routine(w, at, routine);
}

/* How far apart two points are, in steps of the grid. */
static int distance(int a, int b)
{
    const td_problem p = td_factor_problem(a), q = td_factor_problem(b);
    const int64_t sizes[][2] = {{p.m, q.m}, {p.n, q.n}, {p.k, q.k}};
    int steps = 0;
    for (int i = 0; i < 3; i++)
        steps += abs(__builtin_ctzll((unsigned long long)sizes[i][0]) -
                     __builtin_ctzll((unsigned long long)sizes[i][1]));
    return steps;
}

/* What was not measured is as the mean of the nearest that were. */
static int estimate(const work *w, int row, int at)
{
    const bool is_stack = at >= TD_PAIRS * TD_SIZES;
    int nearest = TD_FACTORS, sum = 0, count = 0;
    for (int other = 0; other < TD_FACTORS; other++) {
        if (!w->is_known[row][other] || (other >= TD_PAIRS * TD_SIZES) != is_stack) continue;
        const int steps = distance(at, other);
        if (steps > nearest) continue;
        if (steps < nearest) sum = count = 0;
        nearest = steps;
        sum += w->result.factors[row][other];
        count++;
    }
    return count ? sum / count : 0;
}

static void fill_in(work *w, int from, int to)
{
    for (int row = from; row < to; row++)
        for (int at = 0; at < TD_FACTORS && w->result.is_measured[row]; at++)
            if (!w->is_known[row][at])
                w->result.factors[row][at] = (signed char)estimate(w, row, at);
}

static void measure_all(work *w, double seconds)
{
    w->deadline -= routine_share * seconds;
    measure_points(w, false);
    measure_points(w, true);
    fill_in(w, 0, TD_MOST_WAYS);
    w->deadline += routine_share * seconds;
    w->model.factors[0] = w->result.factors[0];
    measure_routines(w, false);
    measure_routines(w, true);
    fill_in(w, TD_MOST_WAYS, TD_MOST_ROWS);
}

/* ---- set-up and results ---- */

static bool is_host(const td_card *card) { return strcmp(card->name, TD_HOST_CARD) == 0; }

/* What the largest point takes, or, if that is less, a third of what is free, or what is filled in
 * a part of the time. */
static measure_size find_size(const td_card *card, double seconds)
{
    const double filled =
        fill_share * seconds * (is_host(card) ? host_bytes_per_second : card->bytes_per_second);
    size_t free_bytes = 0, total = 0;
    measure_size size = {1, 1};
    if (!td_cuda_ok(cudaMemGetInfo(&free_bytes, &total))) return size;
    if ((double)free_bytes / 3.0 > filled) free_bytes = (size_t)(3.0 * filled);
    for (int at = 0; at < TD_FACTORS; at++) {
        const td_problem p = td_factor_problem(at);
        const measure_shape shape = shape_of(&p);
        size = measure_larger(size, measure_size_of(&shape));
    }
    const int64_t third = (int64_t)(free_bytes / 9 / sizeof(double));
    if (size.operands > 2 * third) size.operands = 2 * third;
    if (size.result > third) size.result = third;
    return size;
}

/* The time runs from now on: the device's own start, and operands, are part of it. */
static bool open_device(work *w, int device, double seconds)
{
    const char *reason = "there is no such device";
    td_card card;
    w->deadline = clock_seconds() + seconds;
    if (td_cuda_ok(cudaSetDevice(device)) && td_device_card(device, &card)) {
        w->size = find_size(&card, seconds);
        w->measure = measure_open(w->size, &reason);
    }
    if (!w->measure) {
        machine m;
        machine_query(&m);
        complain("device %d cannot be measured: %s", device, m.device_count ? reason : m.reason);
        return false;
    }
    td_model_make(&w->model, &card);
    memset(w->model.factors, 0, sizeof w->model.factors);
    w->way = td_ways(&w->ways);
    w->longest = seconds * longest_share;
    return true;
}

static void print_rows(const work *w)
{
    enum { A_LINE = 24 };
    for (int row = 0; row < TD_MOST_ROWS; row++) {
        if (!w->result.is_measured[row]) continue;
        printf("MEASURED(\"%s\", %d, \"%s\"", w->model.card.name, w->model.card.multiprocessors,
               td_row_text(row));
        for (int at = 0; at < TD_FACTORS; at++)
            printf("%s%d", at % A_LINE ? ", " : ",\n         ", w->result.factors[row][at]);
        printf(")\n");
    }
}

static void print_summary(const work *w)
{
    const double most = (double)TD_MOST_FACTOR / TD_OCTAVE;
    int total = 0, beyond = 0;
    printf("%-14s %8s %22s\n", "mode", "measured", "of predicted, mean");
    for (int row = 0; row < TD_MOST_ROWS; row++) {
        double sum = 0.0;
        int count = 0;
        for (int at = 0; at < TD_FACTORS; at++) {
            if (!w->is_known[row][at]) continue;
            sum += w->octaves[row][at];
            count++;
            beyond += fabs(w->octaves[row][at]) > most;
        }
        total += count;
        if (count) printf("%-14s %8d %22.2f\n", td_row_text(row), count, exp2(sum / count));
    }
    if (beyond)
        printf("%d of %d are more than %.2f times what was predicted, or less than %.3f times, and "
               "kept as that\n",
               beyond, total, exp2(most), exp2(-most));
}

static int keep(const work *w)
{
    char path[TD_CALIBRATION_PATH];
    int driver = 0;
    (void)td_cuda_ok(cudaDriverGetVersion(&driver));
    if (!td_calibration_path(&w->model.card, driver, path)) {
        complain("neither XDG_CACHE_HOME nor HOME names a folder for the result");
        return 1;
    }
    if (!td_calibration_write(&w->result, &w->model.card, driver, path)) {
        complain("cannot write '%s' (%s)", path, strerror(errno));
        return 1;
    }
    printf("kept in %s\n", path);
    return 0;
}

static bool parse_number(const char *name, const char *text, long least, long most, long *value)
{
    char *end;
    if (!text) return true;
    *value = strtol(text, &end, 10);
    if (end != text && *end == '\0' && *value >= least && *value <= most) return true;
    complain("--%s is '%s'; allowed: %ld to %ld", name, text, least, most);
    return false;
}

static int run(const command_line *line)
{
    static work w;
    long seconds = USUAL_SECONDS, device = 0;
    if (!parse_number("seconds", line->values[SECONDS], 1, MOST_SECONDS, &seconds) ||
        !parse_number("device", line->values[DEVICE], 0, TD_MAX_DEVICES - 1, &device))
        return EXIT_USAGE;
    if (!open_device(&w, (int)device, (double)seconds)) return 1;
    if (is_host(&w.model.card))
        say("this is the host device, whose speed says nothing about a GPU; the result "
            "serves it alone");
    measure_all(&w, (double)seconds);
    measure_close(w.measure);
    if (line->values[ROWS]) {
        print_rows(&w);
        return 0;
    }
    printf("%s, %ld s at most\n", w.model.card.name, seconds);
    print_summary(&w);
    return keep(&w);
}

const command command_calibrate = {
    .name = "calibrate",
    .arguments = "",
    .summary = "measure a GPU, for mode auto",
    .details = "Times products of many sizes, by cuBLAS and by every mode, and cuBLAS's routines "
               "for updates, symmetric and triangular products and solves, and keeps the result "
               "for the device, its driver and "
               "this version in $XDG_CACHE_HOME/tandem or ~/.cache/tandem, where programs under "
               "mode auto find it. Nothing "
               "else should run on the GPU meanwhile.",
    .options =
        {[SECONDS] =
             {"seconds", "COUNT",
              "take no longer, but for the smallest product of every mode; 15 if it is not given"},
         [DEVICE] = {"device", "NUMBER", "CUDA's number of the GPU; 0 if it is not given"},
         [ROWS] = {"rows", NULL, "write rows of lib/engines/model/measured.def instead"}},
    .run = run,
};
