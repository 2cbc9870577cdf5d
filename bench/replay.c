/* replay - times products of given shapes, by cuBLAS and by modes of Tandem, in one run.
 *
 * Usage: replay [--csv FILE] [--budget SECONDS] SHAPES MODE ...
 *
 * SHAPES is a CSV file with the columns op_a, op_b, m, n, k, batch, beta and count after a line of
 * names: the calls of programs (bench/real_calls.csv), or a grid (bench/grid.py). Each is timed
 * back to back with others like it, for so many seconds (default 0.006) in each mode, in rounds
 * over the modes, so that the device is as warm for each; what two modes run alike is timed once.
 * Operands are random. `ran` is what ran (of auto, the mode that it took), `predicted` what the
 * model says of that. Prints CSV; bench/replay_report.py adds up. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../examples/common.h"
#include "../include/tandem.h"
#include "../lib/call/policy.h"
#include "../tools/measure.h"
#include "harness/modes.h"
#include "harness/options.h"
#include "harness/timing.h"

const char program_name[] = "replay";

enum { MOST_SHAPES = 4096, MOST_MODES = 16, ROUNDS = 3 };

typedef struct {
    measure_shape shape;
    int count;
} row;

static td_op op_of(char letter)
{
    return letter == 'N' ? TD_OP_N : letter == 'T' ? TD_OP_T : TD_OP_C;
}

static bool parse_row(const char *line, row *r)
{
    char op_a, op_b;
    measure_shape *s = &r->shape;
    const int fields = sscanf(line, "%c,%c,%" SCNd64 ",%" SCNd64 ",%" SCNd64 ",%" SCNd64 ",%lf,%d",
                              &op_a, &op_b, &s->m, &s->n, &s->k, &s->batch, &s->beta, &r->count);
    s->op_a = op_of(op_a);
    s->op_b = op_of(op_b);
    return fields == 8 && s->m > 0 && s->n > 0 && s->k > 0 && s->batch > 0;
}

/* How many; 0, with a message, if the file is not as it should be. */
static int read_shapes(const char *path, row rows[MOST_SHAPES])
{
    char line[256];
    int count = 0, number = 1;
    FILE *file = fopen(path, "r");
    if (!file || !fgets(line, sizeof line, file)) {
        complain("%s cannot be read", path);
        goto out;
    }
    for (; count < MOST_SHAPES && fgets(line, sizeof line, file); count++) {
        number++;
        if (parse_row(line, &rows[count])) continue;
        complain("%s, line %d: not op_a,op_b,m,n,k,batch,beta,count", path, number);
        count = 0;
        break;
    }
out:
    if (file) fclose(file);
    return count;
}

static void print_line(FILE *out, const row *r, const bench_mode *of, const bench_mode *ran,
                       double seconds, double predicted)
{
    const measure_shape *s = &r->shape;
    fprintf(out, "%c,%c,%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%g,%d,%s,%s,%.2f,%.2f\n",
            "NTC"[s->op_a], "NTC"[s->op_b], s -> m, s -> n, s -> k, s -> batch, s -> beta,
            r -> count, of -> text, ran -> text, seconds * 1e6, predicted * 1e6);
}

static bool describe(FILE *out, const td_model *model)
{
    int runtime = 0, driver = 0;
    CHECK_CUDA(cudaRuntimeGetVersion(&runtime));
    CHECK_CUDA(cudaDriverGetVersion(&driver));
    fprintf(out,
            "# Device: %s. CUDA runtime %d, driver's %d. Tandem %s. Predictions by figures %s.\n",
            model->card.name, runtime, driver, tandem_version(), model->source);
    fprintf(out, "op_a,op_b,m,n,k,batch,beta,count,mode,ran,us,predicted\n");
    return true;
out:
    return false;
}

/* What a mode makes of a shape: itself, or what auto takes. */
static bench_mode resolve(const bench_mode *of, const td_problem *p, const td_model *model)
{
    td_options o;
    if (!of->engine->is_choice) return *of;
    td_options_set_defaults(&o);
    td_options_set(&o, TD_OPTION_MODE, "mode", of->text, TD_ORIGIN_CALL);
    td_question q;
    td_ask(TD_ENTRY_cublasDgemm_v2, p, &q);
    const td_decision d = td_policy_choose(&o, &q, model);
    return (bench_mode){d.text, d.engine ? d.engine : td_engines[0], d.parameter};
}

/* The first of the modes that ran the same as mode j: one measurement serves both. */
static int first_like(const bench_mode *ran, int j)
{
    int i = 0;
    while (strcmp(ran[i].text, ran[j].text) != 0) i++;
    return i;
}

static bool run_shape(FILE *out, measure *m, const row *r, const bench_mode *modes, int count,
                      double budget)
{
    const measure_shape *s = &r->shape;
    td_problem p = {.kind = TD_PRODUCT,
                    .type = TD_BINARY64,
                    .m = s->m,
                    .n = s->n,
                    .k = s->k,
                    .batch = s->batch};
    double seconds[MOST_MODES][ROUNDS], middle[MOST_MODES];
    bench_mode ran[MOST_MODES];
    p.beta.value.binary64 = s->beta;
    for (int j = 0; j < count; j++) ran[j] = resolve(&modes[j], &p, measure_model(m));
    for (int i = 0; i < ROUNDS; i++)
        for (int j = 0; j < count; j++) {
            if (first_like(ran, j) < j) continue;
            seconds[j][i] = measure_seconds(m, s, ran[j].engine, ran[j].parameter, budget / ROUNDS);
            if (seconds[j][i] >= 0.0) continue;
            complain("%s refuses %" PRId64 " x %" PRId64 " x %" PRId64, ran[j].text, s->m, s->n,
                     s->k);
            return false;
        }
    td_question q;
    td_ask(TD_ENTRY_cublasDgemm_v2, &p, &q);
    for (int j = 0; j < count; j++) {
        const int first = first_like(ran, j);
        if (first == j) middle[j] = median(seconds[j], ROUNDS);
        print_line(out, r, &modes[j], &ran[j], middle[first],
                   td_model_seconds(measure_model(m), ran[j].engine, ran[j].parameter, &q.real));
    }
    return true;
}

static bool run(FILE *out, const row *rows, int count, const bench_mode *modes, int mode_count,
                double budget)
{
    measure_size size = {1, 1};
    const char *reason;
    for (int i = 0; i < count; i++) size = measure_larger(size, measure_size_of(&rows[i].shape));
    measure *m = measure_open(size, &reason);
    if (!m) {
        complain("%s", reason);
        return false;
    }
    bool good = describe(out, measure_model(m));
    for (int i = 0; i < count && good; i++)
        good = run_shape(out, m, &rows[i], modes, mode_count, budget);
    measure_close(m);
    return good;
}

int main(int argc, char **argv)
{
    static row rows[MOST_SHAPES];
    bench_mode modes[MOST_MODES];
    const char *csv = NULL, *seconds = NULL;
    double budget = 0.006;
    const bench_option known[] = {{"--csv", "FILE", &csv, NULL},
                                  {"--budget", "SECONDS", &seconds, NULL},
                                  {NULL, NULL, NULL, NULL}};
    int words;
    if (!bench_options(known, argc, argv, &words) ||
        (seconds && !parse_number("--budget", seconds, &budget)))
        return BAD_OPTIONS;
    if (words < 2) {
        complain("usage: replay [--csv FILE] [--budget SECONDS] SHAPES MODE ...");
        return BAD_OPTIONS;
    }
    const int count = read_shapes(argv[0], rows);
    if (!count || !bench_modes_parse(words - 1, argv + 1, MOST_MODES, modes)) return BAD_OPTIONS;
    FILE *out = csv ? fopen(csv, "w") : stdout;
    if (!out) {
        complain("%s cannot be written", csv);
        return EXIT_FAILURE;
    }
    const bool good = run(out, rows, count, modes, words - 1, budget);
    return (out == stdout || fclose(out) == 0) && good ? EXIT_SUCCESS : EXIT_FAILURE;
}
