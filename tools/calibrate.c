#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cuda_runtime_api.h>

#include "lib/engines/engine.h"
#include "lib/model/calibration.h"
#include "lib/model/device_model.h"
#include "lib/model/dgemm_model.h"
#include "lib/model/solve_model.h"
#include "lib/routine/real.h"
#include "lib/routine/lower.h"
#include "lib/cuda/device.h"
#include "tools/calibrate.h"
#include "tools/clock.h"
#include "tools/measure.h"
#include "tools/tandem.h"

enum { SECONDS, DEVICE, ROWS };
enum { USUAL_SECONDS = 15, MOST_SECONDS = 600 };

/* Time for one call, its repetitions included; and the longest call that is worth its time,
 * of all the time there is. */
static const double point_seconds = 0.002, longest_share = 1.0 / 4000.0;

/* The share of the time that routines of level 3 have, after products. */
static const double routine_share = 0.25;

/* Beyond so many times native's time only a coarse grid is measured. */
static const double far_behind = 4.0;

/* The share of the time in which operands are made. The host device makes them at its own speed,
 * not at that of the card that it stands for. */
static const double fill_share = 0.125, host_bytes_per_second = 5e8;

/* A calibration while it is made. */
typedef struct {
    measure *measure;
    td_model model; /* by rates alone, and by factors of the rows that are finished */
    const td_way *way;
    int ways;
    measure_size size;        /* of the largest call that fits */
    double longest, deadline; /* in seconds: as predicted; of clock_seconds() */
    double slowest[TD_ROWS];  /* most times what was predicted that a call took so far */
    bool is_known[TD_ROWS][TD_FACTORS];
    /* log2 of what was measured over what was predicted, where is_known; result has it
     * shortened. */
    double octaves[TD_ROWS][TD_FACTORS];
    td_calibration result;
} work;

/* A call that may be timed, the place of its factor, and the seconds that are predicted without
 * it. */
typedef struct {
    int row, at;
    measure_shape shape;
    const td_engine *engine;
    td_parameter parameter;
    double predicted;
    bool is_first; /* of the row: its smallest call */
} point;

/* ---- one call ---- */

static measure_shape shape_of(const td_real_product *p)
{
    return (measure_shape){.m = p->m, .n = p->n, .k = p->k, .batch = p->batch};
}

/* True if the call is worth its time, and will be done before the deadline, should it be as slow as
 * the slowest of its row so far. The first one of each row is measured in any case. */
static bool has_time(const work *w, const point *x)
{
    const double expected = x->predicted * fmax(1.0, w->slowest[x->row]);
    return x->is_first ||
           (x->predicted <= w->longest &&
            clock_seconds() + fmax(point_seconds, MEASURE_LEAST_CALLS * expected) < w->deadline);
}

/* A card that has worked is slower than one at rest, by up to a fifth; cuBLAS's products lose more
 * by that than Tandem's. A program that calls now and then meets a card at rest, and is to lose no
 * time, either: so calls from so many seconds on are timed after a rest. */
static const double rest_from = 0.0002;
static void rest(void)
{
    const struct timespec time = {0, 15000000};
    (void)cudaDeviceSynchronize();
    nanosleep(&time, NULL);
}

static void measure_point(work *w, const point *x)
{
    if (x->at < 0 || w->is_known[x->row][x->at] || x->predicted < 0.0 ||
        !measure_fits(measure_size_of(&x->shape), w->size) || !has_time(w, x))
        return;
    if (x->predicted > rest_from) rest();
    const double seconds =
        measure_seconds(w->measure, &x->shape, x->engine, x->parameter, point_seconds);
    if (seconds <= 0.0) return;
    w->is_known[x->row][x->at] = w->result.is_measured[x->row] = true;
    w->slowest[x->row] = fmax(w->slowest[x->row], seconds / x->predicted);
    w->octaves[x->row][x->at] = log2(seconds / x->predicted);
    w->result.factors[x->row][x->at] = (signed char)td_factor_of(seconds, x->predicted);
}

static void measure_way(work *w, int at, int way)
{
    const td_real_product p = td_factor_problem(at);
    const td_way *of = &w->way[way];
    const point x = {.row = way,
                     .at = at,
                     .shape = shape_of(&p),
                     .engine = of->engine,
                     .parameter = of->parameter,
                     .predicted = td_model_by_rates(&w->model.rates, of->engine, of->parameter, &p),
                     .is_first = at == 0};
    measure_point(w, &x);
}

/* ---- all products ---- */

/* Every other size. */
static bool is_coarse_size(int64_t size)
{
    return __builtin_ctzll((unsigned long long)(size / TD_LEAST_SIZE)) % 2 == 0;
}

/* True of products of every other size, and of all batches. */
static bool is_coarse(int at)
{
    const td_real_product p = td_factor_problem(at);
    return at >= TD_PAIRS * TD_SIZES ||
           (is_coarse_size(p.m) && is_coarse_size(p.n) && is_coarse_size(p.k));
}

/* Modes are measured one after the other at each point: a warm device is as slow for all of
 * them. */
static void measure_points(work *w, bool is_fine)
{
    for (int at = 0; at < TD_FACTORS; at++) {
        const td_real_product p = td_factor_problem(at);
        double by_rates[TD_MOST_WAYS];
        if (!is_fine && !is_coarse(at)) continue;
        td_model_predict(&w->model, &p, by_rates);
        for (int way = 0; way < w->ways; way++)
            if (!is_fine || by_rates[way] < far_behind * by_rates[0]) measure_way(w, at, way);
    }
}

/* ---- all routines ---- */

/* The engine that makes a routine which is not cuBLAS's. */
static const td_engine *engine_of(td_timed routine)
{
    if (routine < TD_TIMED_dgemm_dsyrk) return NULL;
    return routine == TD_TIMED_dgemm_dsyrk ? &td_engine_dgemm : &td_engine_fp64;
}

/* A call with so many rows of its triangle, and terms or right-hand sides. Sums of many terms are
 * mostly those of columns. */
static measure_shape routine_shape(const td_timed_routine *r, int64_t order, int64_t other)
{
    measure_shape shape = {.kind = r->kind, .type = r->type, .m = order, .n = other, .batch = 1};
    if (r->kind != TD_RANK_K && r->kind != TD_RANK_2K) return shape;
    shape.op_a = other > order ? td_adjoint(r->type) : TD_OP_N;
    shape.m = 0;
    shape.n = order;
    shape.k = other;
    return shape;
}

/* The product whose sizes have a routine's factor. */
static td_real_product sizes_of(const td_problem *call)
{
    td_product product;
    if (td_problem_is_solve(call)) return td_timed_solve(call->m, call->n);
    (void)td_lower(call, &product);
    return td_real_product_of(&product);
}

/* Negative of more than one block of a solve. */
static double predict(const td_model *model, td_timed routine, const td_problem *call,
                      const td_real_product *sizes)
{
    const bool is_solve = td_problem_is_solve(call);
    if (routine == TD_TIMED_dgemm_dsyrk) return td_model_dgemm(model, sizes);
    if (!is_solve) return td_model_seconds(model, td_engines[0], (td_parameter){0}, sizes);
    if (!engine_of(routine)) return td_model_native_solve(model, call);
    return call->m <= td_solve_most_rows(call->type) ? td_model_solve_blocks(model, call, call->m)
                                                     : -1.0;
}

static void measure_routine(work *w, td_timed routine, int64_t order, int64_t other)
{
    const measure_shape shape = routine_shape(&td_timed_routines[routine], order, other);
    const td_problem call = measure_problem(w->measure, &shape);
    const td_real_product sizes = sizes_of(&call);
    const point x = {.row = TD_MOST_WAYS + (int)routine,
                     .at = td_factor_at(&sizes),
                     .shape = shape,
                     .engine = engine_of(routine),
                     .predicted = predict(&w->model, routine, &call, &sizes),
                     .is_first = order == TD_LEAST_SIZE && other == TD_LEAST_SIZE};
    measure_point(w, &x);
}

static void measure_routines(work *w, bool is_fine)
{
    const int64_t least = TD_LEAST_SIZE, most = least << (TD_SIZES - 1);
    for (int64_t order = least; order <= most; order *= 2)
        for (int64_t other = least; other <= most; other *= 2)
            for (int routine = 0; routine < TD_TIMED_COUNT; routine++)
                if (is_fine || (is_coarse_size(order) && is_coarse_size(other)))
                    measure_routine(w, (td_timed)routine, order, other);
}

/* ---- what was not measured ---- */

/* How far apart two points are, in steps of the grid. */
static int distance(int a, int b)
{
    const td_real_product p = td_factor_problem(a), q = td_factor_problem(b);
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

/* Rows from one to before another are all that they will be: what is predicted from now on has
 * them. */
static void finish(work *w, int from, int to)
{
    for (int row = from; row < to; row++) {
        if (!w->result.is_measured[row]) continue;
        for (int at = 0; at < TD_FACTORS; at++)
            if (!w->is_known[row][at])
                w->result.factors[row][at] = (signed char)estimate(w, row, at);
        w->model.factors[row] = w->result.factors[row];
    }
}

/* Routines are predicted by products, so that these come first. */
static void measure_all(work *w, double seconds)
{
    measure_points(w, false);
    measure_points(w, true);
    finish(w, 0, TD_MOST_WAYS);
    w->deadline += routine_share * seconds;
    measure_routines(w, false);
    measure_routines(w, true);
    finish(w, TD_MOST_WAYS, TD_ROWS);
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
        const td_real_product p = td_factor_problem(at);
        const measure_shape shape = shape_of(&p);
        size = measure_larger(size, measure_size_of(&shape));
    }
    const int64_t third = (int64_t)(free_bytes / 9 / sizeof(double));
    if (size.operands > 2 * third) size.operands = 2 * third;
    if (size.result > third) size.result = third;
    return size;
}

/* The time runs from now on: the device's own start, and operands, are part of what products
 * have. */
static bool open_device(work *w, int device, double seconds)
{
    const char *reason;
    td_card card;
    w->deadline = clock_seconds() + (1.0 - routine_share) * seconds;
    if (measure_choose(device, &card, &reason)) {
        w->size = find_size(&card, seconds);
        w->measure = measure_open(w->size, &reason);
    }
    if (!w->measure) {
        return complain("device %d cannot be measured: %s", device, reason);
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
    for (int row = 0; row < TD_ROWS; row++) {
        if (!w->result.is_measured[row]) continue;
        printf("MEASURED(\"%s\", %d, \"%s\"", w->model.card.name, w->model.card.multiprocessors,
               td_row_text(row));
        for (int at = 0; at < TD_FACTORS; at++)
            printf("%s%d", at % A_LINE ? ", " : ",\n         ", w->result.factors[row][at]);
        printf(")\n");
    }
}

static void print_summary(FILE *out, const work *w)
{
    const double most = (double)TD_MOST_FACTOR / TD_OCTAVE;
    int total = 0, beyond = 0;
    fprintf(out, "%-14s %8s %22s\n", "mode", "measured", "of predicted, mean");
    for (int row = 0; row < TD_ROWS; row++) {
        double sum = 0.0;
        int count = 0;
        for (int at = 0; at < TD_FACTORS; at++) {
            if (!w->is_known[row][at]) continue;
            sum += w->octaves[row][at];
            count++;
            beyond += fabs(w->octaves[row][at]) > most;
        }
        total += count;
        if (count) fprintf(out, "%-14s %8d %22.2f\n", td_row_text(row), count, exp2(sum / count));
    }
    if (beyond)
        fprintf(
            out,
            "%d of %d are more than %.2f times what was predicted, or less than %.3f times, and "
            "kept as that\n",
            beyond, total, exp2(most), exp2(-most));
}

static bool keep(FILE *out, const work *w)
{
    char path[TD_PATH_BYTES];
    int driver = 0;
    (void)td_cuda_ok(cudaDriverGetVersion(&driver));
    if (!td_calibration_path(&w->model.card, driver, path))
        return complain("neither XDG_CACHE_HOME nor HOME names a folder for the result");
    if (!td_calibration_write(&w->result, &w->model.card, driver, path))
        return complain("cannot write '%s' (%s)", path, strerror(errno));
    fprintf(out, "kept in %s\n", path);
    return true;
}

/* Static for its size. */
static work calibrated;

bool calibrate_measure(int device, long seconds)
{
    memset(&calibrated, 0, sizeof calibrated);
    if (!open_device(&calibrated, device, (double)seconds)) return false;
    measure_all(&calibrated, (double)seconds);
    measure_close(calibrated.measure);
    return true;
}

static bool report_and_keep(FILE *out, long seconds)
{
    fprintf(out, "%s, %ld s at most\n", calibrated.model.card.name, seconds);
    print_summary(out, &calibrated);
    return keep(out, &calibrated);
}

bool calibrate_device(FILE *out, int device, long seconds)
{
    return calibrate_measure(device, seconds) && report_and_keep(out, seconds);
}

static int run(const command_line *line)
{
    long seconds = USUAL_SECONDS, device = 0;
    const command_range times = {1, MOST_SECONDS, ""}, devices = {0, TD_MAX_DEVICES - 1, ""};
    if (!command_number("seconds", line->values[SECONDS], &times, &seconds) ||
        !command_number("device", line->values[DEVICE], &devices, &device))
        return EXIT_USAGE;
    if (!calibrate_measure((int)device, seconds)) return 1;
    if (is_host(&calibrated.model.card))
        say("this is the host device, whose speed says nothing about a GPU; the result "
            "serves it alone");
    if (!line->values[ROWS]) return report_and_keep(stdout, seconds) ? 0 : 1;
    print_rows(&calibrated);
    return 0;
}

const command command_calibrate = {
    .name = "calibrate",
    .arguments = "",
    .summary = "measure a GPU, for mode auto",
    .details =
        "Times products of many sizes, by cuBLAS and by every mode, and, in the last quarter "
        "of the time, cuBLAS's routines of level 3 and what takes their place, and keeps the "
        "result for the device, its driver and "
        "this version in $XDG_CACHE_HOME/tandem or ~/.cache/tandem, where programs under "
        "mode auto find it. Nothing "
        "else should run on the GPU meanwhile.",
    .options =
        {[SECONDS] =
             {"seconds", "COUNT",
              "take no longer, but for the smallest call of every row; 15 if it is not given"},
         [DEVICE] = {"device", "NUMBER", "CUDA's number of the GPU; 0 if it is not given"},
         [ROWS] = {"rows", NULL, "write rows of lib/model/measured.def instead"}},
    .run = run,
};
