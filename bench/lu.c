/* lu - batched LU, inverses and solutions by Tandem's kernels beside cuBLAS's, in one run.
 *
 * Usage: lu [--csv FILE] [--types SDCZ] [--sizes N,...] [--batches N,...] [--routine NAME]
 *           [--shapes]
 *
 * For each type, size and batch: the median time of cublas?getrfBatched, getriBatched, getrsBatched
 * and trsmBatched with n right-hand sides, and matinvBatched where it exists, and of the kernels
 * that answer them when Tandem is preloaded; the share of the time in which the matrix could be
 * read and written once at the device's measured copy rate; and how many matrices have other pivots
 * or info than cuBLAS's. --routine is for one of them alone. --shapes adds every shape of the
 * kernels, from which their table is made. Markdown on stdout, and CSV in a file. */
#include <string.h>

#include "../examples/common.h"
#include "lu_work.h"
#include "harness/options.h"
#include "harness/table.h"

const char program_name[] = "lu";

enum { MOST_LIST = 64 };

typedef struct {
    long values[MOST_LIST];
    int count;
} list;

typedef struct {
    const char *csv, *types;
    list sizes, batches;
    int routine; /* LU_ROUTINES: all */
    bool shapes;
} options;

static bool parse_list(const char *option, const char *text, long most, list *out)
{
    char copy[512];
    snprintf(copy, sizeof copy, "%s", text);
    out->count = 0;
    for (char *rest = copy, *word; (word = strtok_r(rest, ",", &rest)) && out->count < MOST_LIST;)
        if (!parse_integer(option, word, 1, most, &out->values[out->count++])) return false;
    return out->count > 0;
}

static bool parse_routine(const char *text, int *out)
{
    for (*out = 0; *out < LU_ROUTINES; ++*out)
        if (strcmp(text, lu_routine_names[*out]) == 0) return true;
    complain("--routine: %s, which is none of getrf, getri, getrs, trsm and matinv", text);
    return false;
}

/* Sizes and batches are as they are where nothing else is asked for. */
static bool parse(int argc, char **argv, options *o)
{
    *o = (options){.routine = LU_ROUTINES,
                   .types = "SDCZ",
                   .sizes = {{4, 8, 16, 24, 32, 33, 48, 64, 96, 128, 160, 190}, 12},
                   .batches = {{10000}, 1}};
    const char *sizes = NULL, *batches = NULL, *routine = NULL;
    const bench_option known[] = {{"--csv", "FILE", &o->csv, NULL},
                                  {"--types", "SDCZ", &o->types, NULL},
                                  {"--sizes", "N,...", &sizes, NULL},
                                  {"--batches", "N,...", &batches, NULL},
                                  {"--routine", "NAME", &routine, NULL},
                                  {"--shapes", NULL, NULL, &o->shapes},
                                  {NULL, NULL, NULL, NULL}};
    int words;
    if (!bench_options(known, argc, argv, &words)) return false;
    if (words > 0) complain("'%s' is no option", argv[0]);
    if (words > 0) return false;
    if (strspn(o->types, "SDCZ") < strlen(o->types)) {
        complain("--types: %s, which are not letters of SDCZ", o->types);
        return false;
    }
    return (!routine || parse_routine(routine, &o->routine)) &&
           (!sizes || parse_list("--sizes", sizes, TD_LU_MOST_FACTORED, &o->sizes)) &&
           (!batches || parse_list("--batches", batches, 1000000, &o->batches));
}

static const char *const columns[] = {"routine",     "type",         "n",         "batch",
                                      "shape",       "cublas_ms",    "ms",        "speedup",
                                      "bytes_share", "other_pivots", "other_info"};

typedef struct {
    lu_work work;
    table out;
    const options *options;
    double bytes_per_second;
} bench;

/* What device memory gives: a copy, bytes read and written. */
static bool measure_copies(bench *b, size_t bytes)
{
    cudaEvent_t start = NULL, stop = NULL;
    float best = 1e9f, milliseconds;
    bool done = false;
    CHECK_CUDA(cudaEventCreate(&start));
    CHECK_CUDA(cudaEventCreate(&stop));
    for (int i = 0; i < 5; i++) {
        CHECK_CUDA(cudaEventRecord(start, NULL));
        CHECK_CUDA(
            cudaMemcpyAsync(b->work.out, b->work.source, bytes, cudaMemcpyDeviceToDevice, NULL));
        CHECK_CUDA(cudaEventRecord(stop, NULL));
        CHECK_CUDA(cudaEventSynchronize(stop));
        CHECK_CUDA(cudaEventElapsedTime(&milliseconds, start, stop));
        if (milliseconds < best) best = milliseconds;
    }
    b->bytes_per_second = 2.0 * (double)bytes / ((double)best * 1e-3);
    done = true;
out:
    if (start) cudaEventDestroy(start);
    if (stop) cudaEventDestroy(stop);
    return done;
}

/* Only factorisations are compared. */
static void put_count(table_line *line, lu_routine routine, int count)
{
    if (routine == LU_GETRF)
        table_put(line, "%d", count);
    else
        table_put(line, "%s", "");
}

static bool print_time(bench *b, lu_routine routine, const char *shape, double native,
                       double seconds)
{
    const lu_work *w = &b->work;
    int pivots = -1, info = -1;
    if (routine == LU_GETRF && !lu_work_differences(&b->work, &pivots, &info)) return false;
    table_line line = {.count = 0};
    table_put(&line, "%s", lu_routine_names[routine]);
    table_put(&line, "%c", "SDCZ"[w->type]);
    table_put(&line, "%d", w->n);
    table_put(&line, "%d", w->batch);
    table_put(&line, "%s", shape);
    table_put_number(&line, "%.4f", native * 1e3);
    table_put(&line, "%.4f", seconds * 1e3);
    table_put_number(&line, "%.2f", native / seconds);
    table_put(&line, "%.3f", 2.0 * (double)w->bytes / b->bytes_per_second / seconds);
    put_count(&line, routine, pivots);
    put_count(&line, routine, info);
    table_print(&b->out, &line);
    return true;
}

static bool run_shape(bench *b, lu_routine routine, int shape, const char *text, int runs,
                      double native)
{
    double seconds;
    return lu_work_time(&b->work, routine, shape, runs, &seconds) &&
           print_time(b, routine, text, native, seconds);
}

static bool run_factor_shapes(bench *b, int runs, double native)
{
    static const char *const shapes[] = {
        "lanes 8",   "lanes 16",   "lanes 24",   "lanes 32",   "lanes 36", "lanes 48",  "warp",
        "shared",    "shared + 1", "shared + 2", "shared + 3", "pairs",    "pairs + 1", "pairs + 2",
        "pairs + 3", "large",      "large + 1",  "large + 2",  "large + 3"};
    for (int shape = 0; shape < (int)TD_LU_SHAPES; shape++)
        if (td_lu_shape_fits(b->work.type, b->work.n, shape) &&
            !run_shape(b, LU_GETRF, shape, shapes[shape], runs, native))
            return false;
    return true;
}

/* "strips", and "VECTORS x LANES", of a block. */
static bool run_inverse_shapes(bench *b, int runs, double native)
{
    if (td_lu_has_strips(b->work.type) &&
        !run_shape(b, LU_GETRI, TD_LU_STRIPS * LU_LANES, "strips", runs, native))
        return false;
    const int most = td_lu_most_lanes(b->work.type);
    char text[TABLE_WIDTH];
    for (int shares = 0; shares < (most > 1 ? 2 : 1); shares++)
        for (int together = 32; together < b->work.n + 32; together += 32) {
            const int lanes = shares ? most : 1;
            snprintf(text, sizeof text, "%d x %d", together, lanes);
            if (!run_shape(b, LU_GETRI, lanes * LU_LANES + together, text, runs, native))
                return false;
        }
    return true;
}

static bool run_shapes(bench *b, lu_routine routine, int runs, double native)
{
    if (routine == LU_GETRF) return run_factor_shapes(b, runs, native);
    return routine != LU_GETRI || run_inverse_shapes(b, runs, native);
}

static bool run_problem(bench *b, td_lu_type type, int n, int batch)
{
    const int runs = batch >= 1000 ? 3 : 15;
    if (!lu_work_prepare(&b->work, type, n, batch)) return false;
    for (lu_routine routine = LU_GETRF; routine < LU_ROUTINES; routine++) {
        double native, seconds;
        const int only = b->options->routine;
        if (only != LU_ROUTINES && routine != (lu_routine)only) continue;
        if (routine == LU_MATINV && n > TD_LU_MOST_INVERTED) continue;
        if (routine != LU_GETRF && n > TD_LU_MOST) continue;
        if (!lu_work_time(&b->work, routine, LU_CUBLAS, runs, &native) ||
            !lu_work_time(&b->work, routine, -1, runs, &seconds) ||
            !print_time(b, routine, "table", native, seconds))
            return false;
        if (b->options->shapes && !run_shapes(b, routine, runs, native)) return false;
    }
    return true;
}

static bool run(bench *b)
{
    const options *o = b->options;
    for (const char *t = o->types; *t; t++)
        for (int batch = 0; batch < o->batches.count; batch++)
            for (int n = 0; n < o->sizes.count; n++)
                if (!run_problem(b, (td_lu_type)(strchr("SDCZ", *t) - "SDCZ"),
                                 (int)o->sizes.values[n], (int)o->batches.values[batch]))
                    return false;
    return true;
}

static size_t most_bytes(const options *o, int *most_n, int *most_batch)
{
    *most_n = *most_batch = 1;
    for (int i = 0; i < o->sizes.count; i++)
        if (o->sizes.values[i] > *most_n) *most_n = (int)o->sizes.values[i];
    for (int i = 0; i < o->batches.count; i++)
        if (o->batches.values[i] > *most_batch) *most_batch = (int)o->batches.values[i];
    return (size_t)*most_n * (size_t)*most_n * (size_t)*most_batch * 16 + (64 << 20);
}

int main(int argc, char **argv)
{
    options o;
    int most_n, most_batch, status = 1;
    device_name device;
    if (!parse(argc, argv, &o)) return 2;
    bench b = {.options = &o, .out = {columns, sizeof columns / sizeof *columns, NULL}};
    const size_t bytes = most_bytes(&o, &most_n, &most_batch);
    if (!query_device_name(&device) || !table_open(&b.out, o.csv)) return 1;
    CHECK_CUDA(td_lu_prepare());
    if (!lu_work_open(&b.work, bytes, most_batch, most_n) || !measure_copies(&b, bytes)) goto out;
    int version = 0;
    CHECK_CUBLAS(cublasGetVersion(b.work.handle, &version));
    table_remark(&b.out, "%s, cuBLAS %d, copies %.2f TB/s", device.text, version,
                 b.bytes_per_second * 1e-12);
    table_print_head(&b.out);
    status = run(&b) ? 0 : 1;
out:
    lu_work_close(&b.work);
    if (!table_close(&b.out, o.csv)) status = 1;
    return status;
}
