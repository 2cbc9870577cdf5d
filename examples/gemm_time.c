/* gemm_time - times cublasDgemm and measures its error.
 *
 * An ordinary cuBLAS program. The first product is compared with sums in binary128; the following
 * ones are timed. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "product.h"

const char program_name[] = "gemm_time";

static const char doc[] =
    "Times C <- alpha op(A) op(B) + beta C by cublasDgemm and compares C with sums in binary128. "
    "SIZE is N for a product of N x N matrices, or MxNxK: op(A) is M x K, op(B) K x N.\v"
    "err is the largest |C - exact| / (|alpha| |A| |B| + |beta| |C0|) among 24 rows x 24 columns. "
    "Exit status: 0, 1 if a product could not be run, 2 for bad options.";

static const struct argp_option options[] = {
    {"trans", 't', "XY", 0, "operations on A and B, each N, T or C; default NN", 0},
    {"alpha", 'a', "X", 0, "default 1", 0},
    {"beta", 'b', "Y", 0, "default 0", 0},
    {"phi", 'p', "P", 0, "entries are (u - 1/2) exp(P g), u uniform and g normal; default 0.5", 0},
    {"seed", 's', "S", 0, "seed of the random entries, default 1", 0},
    {"reps", 'r', "R", 0,
     "timed products after the checked one, of which the median is printed; default 9", 0},
    {"json", 'j', NULL, 0, "print one JSON object a line instead of the table", 0},
    {0},
};

enum { MAX_REPETITIONS = 1000, MAX_SIZE = 1000000 };

typedef struct {
    char trans[3];
    double alpha, beta, phi;
    long seed, repetitions;
    bool wants_json;
    char **sizes; /* `count` of them */
    int count;
} settings;

typedef struct {
    double milliseconds; /* median */
    double teraflops;    /* 2 m n k in that time */
    double error;
} result;

/* A product on the device; freed by device_product_free. */
typedef struct {
    cublasHandle_t blas;
    double *a, *b, *c;
    cudaEvent_t start, stop;
} device_product;

static bool parse_trans(const char *text, char trans[3])
{
    if (strlen(text) == 2 && strspn(text, "NTC") == 2) {
        memcpy(trans, text, 3);
        return true;
    }
    complain("--trans: '%s' is not two of N, T and C", text);
    return false;
}

static bool take_sizes(struct argp_state *state, settings *s)
{
    s->sizes = state->argv + state->next;
    s->count = state->argc - state->next;
    state->next = state->argc;
    return true;
}

static bool refuse_no_size(void)
{
    complain("a SIZE is needed, e.g. 1024 or 4096x256x1000; see gemm_time --help");
    return false;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    settings *s = state->input;
    switch (key) {
    case 't':
        return taken(parse_trans(argument, s->trans));
    case 'a':
        return taken(parse_number("--alpha", argument, &s->alpha));
    case 'b':
        return taken(parse_number("--beta", argument, &s->beta));
    case 'p':
        return taken(parse_number("--phi", argument, &s->phi));
    case 's':
        return taken(parse_integer("--seed", argument, 0, 1000000000, &s->seed));
    case 'r':
        return taken(parse_integer("--reps", argument, 1, MAX_REPETITIONS, &s->repetitions));
    case 'j':
        s->wants_json = true;
        return 0;
    case ARGP_KEY_ARGS:
        return taken(take_sizes(state, s));
    case ARGP_KEY_NO_ARGS:
        return taken(refuse_no_size());
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* "N" or "MxNxK" */
static bool parse_size(const char *text, const settings *s, product *p)
{
    long sizes[3] = {0, 0, 0};
    const char *cursor = text;
    int count = 0;

    for (; count < 3; count++) {
        char *end = NULL;
        sizes[count] = strtol(cursor, &end, 10);
        if (end == cursor || sizes[count] < 1 || sizes[count] > MAX_SIZE) goto malformed;
        cursor = end;
        if (*cursor != 'x') break;
        cursor++;
    }
    if (*cursor || count == 1 || count == 3) goto malformed;
    if (count == 0) sizes[1] = sizes[2] = sizes[0];
    *p = (product){(int)sizes[0], (int)sizes[1], (int)sizes[2], s->trans[0],
                   s->trans[1],   s->alpha,      s->beta};
    return true;
malformed:
    complain("'%s' is not a size: N or MxNxK, each from 1 to %d", text, MAX_SIZE);
    return false;
}

static cublasOperation_t operation(char trans)
{
    return trans == 'N' ? CUBLAS_OP_N : trans == 'T' ? CUBLAS_OP_T : CUBLAS_OP_C;
}

static cudaError_t upload(double *device, const double *host, int rows, int columns)
{
    size_t bytes = (size_t)rows * (size_t)columns * sizeof *host;
    return cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice);
}

static bool device_product_make(const product *p, const operands *o, device_product *d)
{
    int rows_a = product_rows_a(p), columns_a = product_columns_a(p);
    int rows_b = product_rows_b(p), columns_b = product_columns_b(p);

    CHECK_CUBLAS(cublasCreate(&d->blas));
    CHECK_CUDA(cudaEventCreate(&d->start));
    CHECK_CUDA(cudaEventCreate(&d->stop));
    d->a = device_matrix(rows_a, columns_a);
    d->b = device_matrix(rows_b, columns_b);
    d->c = device_matrix(p->m, p->n);
    if (!d->a || !d->b || !d->c) goto out;
    CHECK_CUDA(upload(d->a, o->a, rows_a, columns_a));
    CHECK_CUDA(upload(d->b, o->b, rows_b, columns_b));
    CHECK_CUDA(upload(d->c, o->c, p->m, p->n));
    return true;
out:
    return false;
}

static void device_product_free(device_product *d)
{
    cudaFree(d->c);
    cudaFree(d->b);
    cudaFree(d->a);
    if (d->stop) cudaEventDestroy(d->stop);
    if (d->start) cudaEventDestroy(d->start);
    if (d->blas) cublasDestroy(d->blas);
}

static bool multiply(const product *p, const device_product *d)
{
    CHECK_CUBLAS(cublasDgemm(d->blas, operation(p->trans_a), operation(p->trans_b), p->m, p->n,
                             p->k, &p->alpha, d->a, product_rows_a(p), d->b, product_rows_b(p),
                             &p->beta, d->c, p->m));
    return true;
out:
    return false;
}

/* One product, compared with binary128; it also warms the device up. */
static bool check(const product *p, const operands *o, const device_product *d, double *error)
{
    double *c = host_matrix(p->m, p->n);
    size_t bytes = (size_t)p->m * (size_t)p->n * sizeof *c;
    bool is_done = false;

    if (!c || !multiply(p, d)) goto out;
    CHECK_CUDA(cudaMemcpy(c, d->c, bytes, cudaMemcpyDeviceToHost));
    *error = product_error(p, o, c);
    is_done = true;
out:
    free(c);
    return is_done;
}

static int compare_floats(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* The median of `repetitions` products, each between two events. */
static bool measure(const product *p, const device_product *d, long repetitions, double *median)
{
    float times[MAX_REPETITIONS];

    for (long i = 0; i < repetitions; i++) {
        CHECK_CUDA(cudaEventRecord(d->start, NULL));
        if (!multiply(p, d)) goto out;
        CHECK_CUDA(cudaEventRecord(d->stop, NULL));
        CHECK_CUDA(cudaEventSynchronize(d->stop));
        CHECK_CUDA(cudaEventElapsedTime(&times[i], d->start, d->stop));
    }
    qsort(times, (size_t)repetitions, sizeof *times, compare_floats);
    *median = 0.5 * ((double)times[(repetitions - 1) / 2] + (double)times[repetitions / 2]);
    return true;
out:
    return false;
}

static bool run(const settings *s, const product *p, result *r)
{
    operands o = {0};
    device_product d = {0};
    bool is_done = operands_make(p, s->phi, s->seed, &o) && device_product_make(p, &o, &d) &&
                   check(p, &o, &d, &r->error) && measure(p, &d, s->repetitions, &r->milliseconds);

    if (is_done) r->teraflops = 2.0 * p->m * p->n * p->k / (r->milliseconds * 1e9);
    device_product_free(&d);
    operands_free(&o);
    return is_done;
}

static void print_header(const settings *s, const device_name *device)
{
    printf("device %s, op(A) op(B) = %s, alpha = %g, beta = %g, phi = %g\n", device->text, s->trans,
           s->alpha, s->beta, s->phi);
    printf("%8s %8s %8s %12s %9s %10s %8s\n", "m", "n", "k", "ms", "TFLOP/s", "err", "2^");
}

static void print_row(const product *p, const result *r)
{
    printf("%8d %8d %8d %12.4f %9.3f %10.2e %8.2f\n", p->m, p->n, p->k, r->milliseconds,
           r->teraflops, r->error, log2(r->error));
}

static void print_json_row(const product *p, const result *r, const device_name *device)
{
    printf("{\"program\": \"gemm_time\", \"trans\": \"%c%c\", \"m\": %d, \"n\": %d, \"k\": %d, ",
           p->trans_a, p->trans_b, p->m, p->n, p->k);
    printf("\"alpha\": %.17g, \"beta\": %.17g, \"milliseconds\": ", p->alpha, p->beta);
    print_json_number(stdout, r->milliseconds);
    fputs(", \"teraflops\": ", stdout);
    print_json_number(stdout, r->teraflops);
    fputs(", \"error\": ", stdout);
    print_json_number(stdout, r->error);
    fputs(", \"error_log2\": ", stdout);
    print_json_number(stdout, log2(r->error));
    fputs(", \"device\": ", stdout);
    print_json_string(stdout, device->text);
    puts("}");
}

int main(int argc, char **argv)
{
    settings s = {.trans = "NN", .alpha = 1.0, .phi = 0.5, .seed = 1, .repetitions = 9};
    device_name device;
    product p;

    if (!parse_arguments(options, parse, "SIZE...", doc, argc, argv, &s)) return BAD_OPTIONS;
    for (int i = 0; i < s.count; i++)
        if (!parse_size(s.sizes[i], &s, &p)) return BAD_OPTIONS;
    if (!query_device_name(&device)) return EXIT_FAILURE;
    if (!s.wants_json) print_header(&s, &device);
    for (int i = 0; i < s.count; i++) {
        result r = {0};
        if (!parse_size(s.sizes[i], &s, &p) || !run(&s, &p, &r)) return EXIT_FAILURE;
        if (s.wants_json)
            print_json_row(&p, &r, &device);
        else
            print_row(&p, &r);
        fflush(stdout);
    }
    return EXIT_SUCCESS;
}
