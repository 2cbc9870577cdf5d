/* lu_solve - solves a dense linear system whose solution is known, and says how well.
 *
 * An ordinary cuBLAS program: almost all of its arithmetic is in the cublasDgemm calls that update
 * the trailing matrix of a blocked LU factorisation. */
#include <math.h>
#include <stdlib.h>

#include "common.h"
#include "lu.h"
#include "lu_refine.h"
#include "matrix_market.h"

const char program_name[] = "lu_solve";

/* The LINPACK benchmark's limit of the scaled residual. */
#define RESIDUAL_LIMIT 16.0

static const char doc[] =
    "Solves A x = b by a blocked LU factorisation with partial pivoting, for a known x.\v"
    "FILE.mtx is a Matrix Market file: coordinate or array, real or integer, general or symmetric. "
    "Exit status: 0, 1 if the system could not be solved or the scaled residual "
    "|A x - b| / (2^-53 (|A| |x| + |b|) n), in maximum norms, is above 16; 2 for bad options.";

static const struct argp_option options[] = {
    {"random", 'r', "N", 0, "a random N x N matrix, entries uniform in [-1/2, 1/2)", 0},
    {"seed", 's', "S", 0, "seed of the random matrix, default 1", 0},
    {"block", 'b', "B", 0, "columns of a panel, default 64", 0},
    {"refine", 'f', "K", 0,
     "K steps of iterative refinement, x + inv(LU) (b - A x), by one cublasDgemm each; b is the "
     "sum of "
     "two vectors then, so that x solves the system to binary64",
     0},
    {"json", 'j', NULL, 0, "print the results as one JSON object", 0},
    {0},
};

typedef struct {
    const char *path; /* NULL: a random matrix */
    long random_n, seed, block, refine;
    bool wants_json;
} settings;

enum { MAX_REFINE = 100 };

typedef struct {
    double residual;      /* scaled as the LINPACK benchmark does */
    double forward_error; /* max |x_i - exact_i| / |exact_i| */
    double digits;        /* decimal digits that are right in every component of x */
    double seconds;       /* of the factorisation, on the device */
    /* before the first step of refinement, and after each */
    solution_errors refined[MAX_REFINE + 1];
    device_name device;
} result;

/* A system with a known solution, on the host. */
typedef struct {
    dense_matrix a;
    double *exact; /* the solution: 1 + i/n, rounded */
    double *b;     /* A exact, rounded */
    double *rest;  /* what the rounding took away; NULL: not wanted */
    double *x;     /* what the device computed */
} problem;

static bool refuse_matrices(void)
{
    complain("either one FILE.mtx or --random N is needed; see lu_solve --help");
    return false;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    settings *s = state->input;
    switch (key) {
    case 'r':
        return taken(parse_integer("--random", argument, 1, 1000000, &s->random_n));
    case 's':
        return taken(parse_integer("--seed", argument, 0, 1000000000, &s->seed));
    case 'b':
        return taken(parse_integer("--block", argument, 1, 1000000, &s->block));
    case 'f':
        return taken(parse_integer("--refine", argument, 1, MAX_REFINE, &s->refine));
    case 'j':
        s->wants_json = true;
        return 0;
    case ARGP_KEY_ARG:
        s->path = argument;
        return taken(state->arg_num == 0 || refuse_matrices());
    case ARGP_KEY_END:
        return taken(!s->path == !!s->random_n || refuse_matrices());
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static bool make_matrix(const settings *s, dense_matrix *a)
{
    random_stream random = {(uint64_t)s->seed};

    if (s->path) {
        if (!matrix_market_read(s->path, a)) return false;
        if (a->rows == a->columns) return true;
        complain("%s: %d x %d is not square", s->path, a->rows, a->columns);
        return false;
    }
    a->rows = a->columns = (int)s->random_n;
    a->entries = host_matrix(a->rows, a->columns);
    if (!a->entries) return false;
    for (ptrdiff_t i = 0, count = (ptrdiff_t)a->rows * a->columns; i < count; i++)
        a->entries[i] = random_uniform(&random) - 0.5;
    return true;
}

/* y += A x with sums of at least 64 bits, column by column. */
static void multiply_add(const dense_matrix *a, const double *x, long double *y)
{
    for (int j = 0; j < a->columns; j++)
        for (int i = 0; i < a->rows; i++)
            y[i] += (long double)a->entries[i + (ptrdiff_t)j * a->rows] * x[j];
}

static bool make_rest(problem *p)
{
    p->rest = host_matrix(p->a.rows, 1);
    return p->rest && right_side_rest(&p->a, p->exact, p->b, p->rest);
}

static bool make_problem(const settings *s, problem *p)
{
    long double *sums = NULL;
    bool is_made = false;

    if (!make_matrix(s, &p->a)) return false;
    int n = p->a.rows;
    p->exact = host_matrix(n, 1);
    p->b = host_matrix(n, 1);
    p->x = host_matrix(n, 1);
    sums = calloc((size_t)n, sizeof *sums);
    if (!p->exact || !p->b || !p->x || !sums) goto out;
    for (int i = 0; i < n; i++) p->exact[i] = 1.0 + (double)i / n;
    multiply_add(&p->a, p->exact, sums);
    for (int i = 0; i < n; i++) p->b[i] = (double)sums[i];
    is_made = !s->refine || make_rest(p);
out:
    free(sums);
    return is_made;
}

static void free_problem(problem *p)
{
    free(p->a.entries);
    free(p->exact);
    free(p->b);
    free(p->rest);
    free(p->x);
}

/* Factors with the device's clock around it; *seconds is what the factorisation took. */
static bool factor_timed(const lu_system *s, double *seconds)
{
    cudaEvent_t start = NULL, stop = NULL;
    float milliseconds = 0.0F;
    bool is_done = false;

    CHECK_CUDA(cudaEventCreate(&start));
    CHECK_CUDA(cudaEventCreate(&stop));
    CHECK_CUDA(cudaEventRecord(start, NULL));
    if (!lu_factor(s)) goto out;
    CHECK_CUDA(cudaEventRecord(stop, NULL));
    CHECK_CUDA(cudaEventSynchronize(stop));
    CHECK_CUDA(cudaEventElapsedTime(&milliseconds, start, stop));
    *seconds = (double)milliseconds / 1e3;
    is_done = true;
out:
    if (stop) cudaEventDestroy(stop);
    if (start) cudaEventDestroy(start);
    return is_done;
}

/* Copies the solution from the device to p->x. */
static bool fetch(const problem *p, const double *x)
{
    CHECK_CUDA(cudaMemcpy(p->x, x, (size_t)p->a.rows * sizeof *x, cudaMemcpyDeviceToHost));
    return true;
out:
    return false;
}

/* Refines the solution x, in device memory; p->x = what comes out. */
static bool refine(const problem *p, const lu_system *s, long steps, double *x, result *r)
{
    refinement f = {0};
    bool is_refined = false;

    if (!refinement_make(s, p->a.entries, p->b, p->rest, &f)) goto out;
    for (long step = 0; step <= steps; step++)
        if ((step && !refinement_step(&f, x)) || !fetch(p, x) ||
            !solution_check(&p->a, p->b, p->rest, p->exact, p->x, &r->refined[step]))
            goto out;
    is_refined = true;
out:
    refinement_free(&f);
    return is_refined;
}

/* p->x = the solution of p->a x = p->b, computed on the device. */
static bool solve(const problem *p, const settings *settings, result *r)
{
    int n = p->a.rows;
    size_t column_bytes = (size_t)n * sizeof(double), matrix_bytes = (size_t)n * column_bytes;
    lu_system s = {.n = n, .block = (int)settings->block};
    bool is_solved = false;

    CHECK_CUBLAS(cublasCreate(&s.blas));
    s.entries = device_matrix(n, n + 1);
    s.pivots = calloc((size_t)n, sizeof *s.pivots);
    if (!s.pivots) complain("no memory for %d pivots", n);
    if (!s.entries || !s.pivots) goto out;
    double *right_side = s.entries + (ptrdiff_t)n * n;
    CHECK_CUDA(cudaMemcpy(s.entries, p->a.entries, matrix_bytes, cudaMemcpyHostToDevice));
    CHECK_CUDA(cudaMemcpy(right_side, p->b, column_bytes, cudaMemcpyHostToDevice));
    if (!factor_timed(&s, &r->seconds) || !lu_back_substitute(&s)) goto out;
    is_solved =
        settings->refine ? refine(p, &s, settings->refine, right_side, r) : fetch(p, right_side);
out:
    free(s.pivots);
    cudaFree(s.entries);
    if (s.blas) cublasDestroy(s.blas);
    return is_solved;
}

/* The larger of two numbers, NaN if either is. */
static long double larger(long double a, long double b) { return isnan(a) || a > b ? a : b; }

/* The maximum norm of A: its largest row sum. */
static bool norm_of_matrix(const dense_matrix *a, long double *norm)
{
    double *sums = host_matrix(a->rows, 1);

    if (!sums) return false;
    for (int j = 0; j < a->columns; j++)
        for (int i = 0; i < a->rows; i++) sums[i] += fabs(a->entries[i + (ptrdiff_t)j * a->rows]);
    *norm = 0.0L;
    for (int i = 0; i < a->rows; i++) *norm = larger(*norm, sums[i]);
    free(sums);
    return true;
}

static long double norm_of_vector(const double *x, int n)
{
    long double norm = 0.0L;

    for (int i = 0; i < n; i++) norm = larger(norm, fabsl((long double)x[i]));
    return norm;
}

static bool scaled_residual(const problem *p, double *residual)
{
    int n = p->a.rows;
    long double *r = calloc((size_t)n, sizeof *r), worst = 0.0L, norm = 0.0L;

    if (!r || !norm_of_matrix(&p->a, &norm)) {
        free(r);
        return false;
    }
    multiply_add(&p->a, p->x, r);
    for (int i = 0; i < n; i++) worst = larger(worst, fabsl(r[i] - p->b[i]));
    free(r);
    *residual = (double)(worst / (0x1p-53L * n *
                                  (norm * norm_of_vector(p->x, n) + norm_of_vector(p->b, n))));
    return true;
}

static bool judge(const problem *p, result *r)
{
    long double worst = 0.0L;

    for (int i = 0; i < p->a.rows; i++)
        worst = larger(worst, fabsl(((long double)p->x[i] - p->exact[i]) / p->exact[i]));
    r->forward_error = (double)worst;
    r->digits = worst < 1.0L ? -log10(fmax(r->forward_error, 0x1p-53)) : 0.0; /* NaN: none */
    return scaled_residual(p, &r->residual);
}

static void print_refined(long steps, const solution_errors *refined)
{
    printf("refinement     %4s  %22s  %17s  %13s\n", "step", "componentwise backward",
           "normwise backward", "forward error");
    for (long step = 0; step <= steps; step++)
        printf("               %4ld  %22.1e  %17.1e  %13.1e\n", step, refined[step].componentwise,
               refined[step].normwise, refined[step].forward);
}

static void print_text(const settings *s, int n, const result *r)
{
    printf("matrix         %s, %d x %d\n", matrix_name(s->path, "random"), n, n);
    printf("device         %s\n", r->device.text);
    printf("factorisation  %.6f s, panels of %ld columns\n", r->seconds, s->block);
    if (s->refine) print_refined(s->refine, r->refined);
    printf("residual       %.3e  (%s: the limit is %g)\n", r->residual,
           r->residual <= RESIDUAL_LIMIT ? "passed" : "FAILED", RESIDUAL_LIMIT);
    printf("forward error  %.3e  (%.1f correct digits)\n", r->forward_error, r->digits);
}

static void print_refined_json(long steps, const solution_errors *refined)
{
    fputs(", \"refinement\": [", stdout);
    for (long step = 0; step <= steps; step++) {
        printf("%s{\"componentwise\": ", step ? ", " : "");
        print_json_number(stdout, refined[step].componentwise);
        fputs(", \"normwise\": ", stdout);
        print_json_number(stdout, refined[step].normwise);
        fputs(", \"forward_error\": ", stdout);
        print_json_number(stdout, refined[step].forward);
        fputs("}", stdout);
    }
    fputs("]", stdout);
}

static void print_json(const settings *s, int n, const result *r)
{
    fputs("{\"program\": \"lu_solve\", \"matrix\": ", stdout);
    print_json_string(stdout, matrix_name(s->path, "random"));
    printf(", \"n\": %d, \"block\": %ld, \"residual\": ", n, s->block);
    print_json_number(stdout, r->residual);
    fputs(", \"forward_error\": ", stdout);
    print_json_number(stdout, r->forward_error);
    fputs(", \"digits\": ", stdout);
    print_json_number(stdout, r->digits);
    fputs(", \"seconds\": ", stdout);
    print_json_number(stdout, r->seconds);
    if (s->refine) print_refined_json(s->refine, r->refined);
    fputs(", \"device\": ", stdout);
    print_json_string(stdout, r->device.text);
    puts("}");
}

int main(int argc, char **argv)
{
    settings s = {.seed = 1, .block = 64};
    problem p = {0};
    result r = {0};
    int status = EXIT_FAILURE;

    if (!parse_arguments(options, parse, "FILE.mtx\n--random N", doc, argc, argv, &s))
        return BAD_OPTIONS;
    if (!make_problem(&s, &p) || !query_device_name(&r.device)) goto out;
    if (!solve(&p, &s, &r) || !judge(&p, &r)) goto out;
    (s.wants_json ? print_json : print_text)(&s, p.a.rows, &r);
    if (r.residual <= RESIDUAL_LIMIT) status = EXIT_SUCCESS;
out:
    free_problem(&p);
    return status;
}
