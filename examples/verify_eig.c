/* verify_eig - all eigenvalues of a symmetric matrix, or of A x = lambda B x: approximations by the
 * device's solver, and intervals that are proven to hold them, by tandem_verify_symmetric.
 * Eigenvalues that the intervals do not separate are refined and tried again. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "matrix_market.h"
#include "refsyev_matrix.h"
#include "refsyev_step.h"
#include "solver.h"
#include "verified.h"

const char program_name[] = "verify_eig";

static const char doc[] =
    "Eigenvalues with proven bounds: eigenpairs of A, or of A x = lambda B x, by cuSOLVER (without "
    "a GPU by LAPACK), then intervals by Tandem's tandem_verify_symmetric. Start it by `tandem run "
    "--mode native -- verify_eig ...`.\v"
    "A.mtx and B.mtx are Matrix Market files of symmetric matrices, real or integer. Times are the "
    "least of --reps runs. Exit status: 0, 1 if nothing is proven, or a matrix could not be read, "
    "or a call failed, 2 for bad options.";

static const struct argp_option options[] = {
    {"order", 'n', "N", 0,
     "order of the random matrix A, which takes the place of A.mtx, default 256", 0},
    {"spread", 'p', "S", 0,
     "its eigenvalues: from 1 down to 1/S in a geometric sequence; without it the elements are "
     "normal random numbers",
     0},
    {"multiple", 'm', "M", 0, "with --spread: each eigenvalue M times, default 1", 0},
    {"general", 'g', NULL, 0, "B is random and positive definite, with eigenvalues near 1", 0},
    {"seed", 's', "S", 0, "seed of A and B, default 1", 0},
    {"solver", 'S', "NAME", 0, "cusolver or lapack; by default cusolver, lapack without a GPU", 0},
    {"perturb", 'e', "P", 0,
     "add errors from [-P/2, P/2) to the elements of the solver's vectors, for something to "
     "refine; "
     "default 0",
     0},
    {"products", 'P', "MODE", 0,
     "faithful (default), faithful:fp64, or native, for comparison: bounds for sums of n products",
     0},
    {"steps", 'k', "K", 0,
     "refine at most K times if eigenvalues are not separated, default 1 (products of mode "
     "faithful)",
     0},
    {"reps", 'r', "R", 0, "how often solver and verification are timed, default 1", 0},
    {"plot", 'o', "FILE", 0, "draw radii over eigenvalues to an SVG file, by gnuplot", 0},
    {"json", 'j', NULL, 0, "print the results as one JSON object", 0},
    {0},
};

enum { MOST_ORDER = 32768, MOST_STEPS = 100, MOST_REPS = 1000, REFLECTIONS = 8 };

typedef struct {
    const char *path[2]; /* of A and B; NULL: random */
    long order, multiple, seed, steps, reps;
    double spread, perturb; /* 0: none */
    bool is_general, wants_json;
    const char *products, *solver, *plot;
} settings;

/* Matrices n x n; b is NULL without B. */
typedef struct {
    int n;
    double *a, *b;                                     /* on the host */
    double *device_a, *device_b, *device_x, *device_d; /* copies, and the eigenpairs */
} problem;

typedef struct {
    const char *solver;
    double solver_seconds, verify_seconds, refine_seconds;
    int refinements;
    verified bounds;
} result;

/* ---- options ---- */

static bool parse_name(const char *option, const char *text, const char *const *allowed,
                       const char **value)
{
    for (const char *const *a = allowed; *a; a++)
        if (strcmp(text, *a) == 0) {
            *value = *a;
            return true;
        }
    complain("%s: '%s' is not one of:%s%s%s%s%s%s", option, text, " ", allowed[0], ", ", allowed[1],
             allowed[2] ? ", " : "", allowed[2] ? allowed[2] : "");
    return false;
}

static bool take_matrix(const char *path, settings *s)
{
    if (s->path[1]) {
        complain("at most A.mtx and B.mtx are taken; see verify_eig --help");
        return false;
    }
    s->path[s->path[0] ? 1 : 0] = path;
    return true;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    static const char *const solvers[] = {"cusolver", "lapack", NULL}, *const products[] = {
                                                                           "faithful",
                                                                           "faithful:fp64",
                                                                           "native", NULL};
    settings *s = state->input;

    switch (key) {
    case 'n':
        return taken(parse_integer("--order", argument, 1, MOST_ORDER, &s->order));
    case 'p':
        return taken(parse_at_least("--spread", argument, 1.0, &s->spread));
    case 'e':
        return taken(parse_at_least("--perturb", argument, 0.0, &s->perturb));
    case 'm':
        return taken(parse_integer("--multiple", argument, 1, MOST_ORDER, &s->multiple));
    case 'g':
        s->is_general = true;
        return 0;
    case 's':
        return taken(parse_integer("--seed", argument, 0, 1000000000, &s->seed));
    case 'S':
        return taken(parse_name("--solver", argument, solvers, &s->solver));
    case 'P':
        return taken(parse_name("--products", argument, products, &s->products));
    case 'k':
        return taken(parse_integer("--steps", argument, 0, MOST_STEPS, &s->steps));
    case 'r':
        return taken(parse_integer("--reps", argument, 1, MOST_REPS, &s->reps));
    case 'o':
        s->plot = argument;
        return 0;
    case 'j':
        s->wants_json = true;
        return 0;
    case ARGP_KEY_ARG:
        return taken(take_matrix(argument, s));
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* ---- matrices ---- */

/* Elements off the diagonal: normal, times `scale`; on it `shift` more. */
static double *make_random(int n, double scale, double shift, random_stream *random)
{
    double *a = host_matrix(n, n);

    for (ptrdiff_t j = 0; a && j < n; j++)
        for (ptrdiff_t i = j; i < n; i++)
            a[i + j * n] = a[j + i * n] = scale * random_normal(random) + (i == j ? shift : 0.0);
    return a;
}

static bool make_a(const settings *s, random_stream *random, problem *p)
{
    p->n = (int)s->order;
    if (s->spread == 0.0) {
        p->a = make_random(p->n, 1.0, 0.0, random);
        return p->a;
    }
    p->a = host_matrix(p->n, p->n);
    return p->a && symmetric_make(p->n, s->spread, (int)s->multiple,
                                  p->n < REFLECTIONS ? p->n : REFLECTIONS, random, p->a);
}

static bool read_matrices(const settings *s, problem *p)
{
    dense_matrix a = {0}, b = {0};

    if (!matrix_market_read_symmetric(s->path[0], MOST_ORDER, &a)) return false;
    p->a = a.entries;
    p->n = a.rows;
    if (!s->path[1]) return true;
    if (!matrix_market_read_symmetric(s->path[1], MOST_ORDER, &b)) return false;
    p->b = b.entries;
    if (b.rows == a.rows) return true;
    complain("%s is of order %d, %s of order %d", s->path[0], a.rows, s->path[1], b.rows);
    return false;
}

/* The random B: I and a random matrix of norm 1/2, about. */
static bool make_problem(const settings *s, problem *p)
{
    random_stream random = {(uint64_t)s->seed};

    if (!(s->path[0] ? read_matrices(s, p) : make_a(s, &random, p))) return false;
    if (!s->is_general || p->b) return true;
    p->b = make_random(p->n, 0.25 / sqrt((double)p->n), 1.0, &random);
    return p->b;
}

static bool put(const problem *p, const double *from, double **to)
{
    *to = device_matrix(p->n, p->n);
    if (!*to) return false;
    CHECK_CUDA(
        cudaMemcpy(*to, from, (size_t)p->n * (size_t)p->n * sizeof *from, cudaMemcpyHostToDevice));
    return true;
out:
    return false;
}

static bool put_problem(problem *p)
{
    p->device_x = device_matrix(p->n, p->n);
    p->device_d = device_matrix(p->n, 1);
    return p->device_x && p->device_d && put(p, p->a, &p->device_a) &&
           (!p->b || put(p, p->b, &p->device_b));
}

static void problem_free(problem *p)
{
    cudaFree(p->device_a);
    cudaFree(p->device_b);
    cudaFree(p->device_x);
    cudaFree(p->device_d);
    free(p->a);
    free(p->b);
}

/* ---- the three parts ---- */

static bool solve(const settings *s, const problem *p, result *r)
{
    device_name device;
    double seconds = 0.0;

    if (!query_device_name(&device)) return false;
    const bool is_on_host =
        s->solver ? strcmp(s->solver, "lapack") == 0 : strstr(device.text, "no GPU") != NULL;
    r->solver = is_on_host ? "LAPACK" : "cuSOLVER";
    r->solver_seconds = INFINITY;
    for (long rep = 0; rep < s->reps; rep++) {
        if (!(is_on_host ? eigenpairs_lapack : eigenpairs_cusolver)(
                p->n, p->device_a, p->device_b, p->device_x, p->device_d, &seconds))
            return false;
        r->solver_seconds = fmin(r->solver_seconds, seconds);
    }
    return true;
}

static bool perturb(const settings *s, const problem *p)
{
    const size_t count = (size_t)p->n * (size_t)p->n, bytes = count * sizeof(double);
    double *x = s->perturb > 0.0 ? host_matrix(p->n, p->n) : NULL;
    random_stream random = {(uint64_t)s->seed};
    bool is_done = s->perturb == 0.0;

    if (!x) return is_done;
    CHECK_CUDA(cudaMemcpy(x, p->device_x, bytes, cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < count; i++) x[i] += s->perturb * (random_uniform(&random) - 0.5);
    CHECK_CUDA(cudaMemcpy(p->device_x, x, bytes, cudaMemcpyHostToDevice));
    is_done = true;
out:
    free(x);
    return is_done;
}

static tandem_status verify_once(const tandem_functions *t, const settings *s, const problem *p,
                                 verified *bounds)
{
    return t->verify_symmetric(s->products, p->n, p->device_a, p->n, p->device_b, p->n, p->device_x,
                               p->n, p->device_d, bounds->lower, bounds->upper, bounds->cluster,
                               NULL);
}

/* *seconds <- the least time of a run. */
static bool verify(const tandem_functions *t, const settings *s, const problem *p, verified *bounds,
                   double *seconds)
{
    *seconds = INFINITY;
    for (long rep = 0; rep < s->reps; rep++) {
        CHECK_CUDA(cudaDeviceSynchronize());
        const double start = seconds_now();
        const tandem_status status = verify_once(t, s, p, bounds);
        *seconds = fmin(*seconds, seconds_now() - start);
        if (status == TANDEM_OK) continue;
        complain("%s: %s", t->status_text(status), t->last_message());
        return false;
    }
    return true;
out:
    return false;
}

static tandem_functions tandem;

/* A refsyev_multiply. */
static bool multiply_faithful(const refsyev *f, double alpha, cublasOperation_t op_a,
                              const double *a, const double *b, double beta, double *c)
{
    const tandem_op op = op_a == CUBLAS_OP_N ? TANDEM_OP_N : TANDEM_OP_T;
    const tandem_status status = tandem.dgemm("faithful", op, TANDEM_OP_N, f->n, f->n, f->n, alpha,
                                              a, f->n, b, f->n, beta, c, f->n, NULL);

    if (status != TANDEM_OK)
        complain("refinement: %s: %s", tandem.status_text(status), tandem.last_message());
    return status == TANDEM_OK;
}

/* The eigenpairs after one step; the vectors' host copy is `x`. */
static bool refine_pairs(const problem *p, double *x)
{
    const size_t bytes = (size_t)p->n * (size_t)p->n * sizeof *x;
    refsyev f = {0};
    bool is_done = false;

    CHECK_CUDA(cudaMemcpy(x, p->device_x, bytes, cudaMemcpyDeviceToHost));
    if (!refsyev_make(p->n, KEEP_PRODUCT, p->a, p->b, x, &f)) goto out;
    f.multiply = multiply_faithful;
    if (!refsyev_step(&f)) goto out;
    CHECK_CUDA(cudaMemcpy(p->device_x, f.x_hi, bytes, cudaMemcpyDeviceToDevice));
    CHECK_CUDA(cudaMemcpy(p->device_d, f.lambda, (size_t)p->n * sizeof *x, cudaMemcpyHostToDevice));
    is_done = true;
out:
    refsyev_free(&f);
    return is_done;
}

/* Until all are separated, or a step is no gain; its result is not taken then. */
static bool refine(const settings *s, const problem *p, result *r)
{
    const double start = seconds_now();
    double *x = host_matrix(p->n, p->n), seconds = 0.0;
    verified next = {0};
    bool is_done = x && verified_make(p->n, &next);
    verified_summary before = verified_summarise(&r->bounds);

    while (is_done && before.separated < p->n && r->refinements < s->steps) {
        is_done = refine_pairs(p, x) && verify(&tandem, s, p, &next, &seconds);
        if (!is_done) break;
        r->refinements++;
        const verified_summary after = verified_summarise(&next);
        if (after.separated < before.separated ||
            (after.separated == before.separated && !(after.widest < before.widest)))
            break;
        const verified old = r->bounds;
        r->bounds = next;
        next = old;
        before = after;
    }
    r->refine_seconds = r->refinements ? seconds_now() - start : 0.0;
    verified_free(&next);
    free(x);
    return is_done;
}

/* ---- output ---- */

static const char *name_of(const settings *s)
{
    return matrix_name(s->path[0], s->spread == 0.0 ? "random" : "spread");
}

static void print_field(const char *name, double value)
{
    printf(", \"%s\": ", name);
    print_json_number(stdout, value);
}

static void print_json(const settings *s, const problem *p, const result *r,
                       const device_name *device)
{
    const verified_summary v = verified_summarise(&r->bounds);

    fputs("{\"program\": \"verify_eig\", \"matrix\": ", stdout);
    print_json_string(stdout, name_of(s));
    printf(", \"general\": %s, \"n\": %d, \"products\": \"%s\", \"solver\": \"%s\", \"device\": ",
           p->b ? "true" : "false", p->n, s->products, r->solver);
    print_json_string(stdout, device->text);
    print_field("spread", s->path[0] ? 0.0 : s->spread);
    print_field("solver_seconds", r->solver_seconds);
    print_field("verify_seconds", r->verify_seconds);
    print_field("refine_seconds", r->refine_seconds);
    printf(", \"refinements\": %d, \"separated\": %d, \"clusters\": %d, \"largest_cluster\": %d",
           r->refinements, v.separated, v.clusters, v.largest);
    print_field("widest_radius", v.widest);
    print_field("relative_radius", v.relative);
    print_field("least", r->bounds.lower[0]);
    print_field("largest", r->bounds.upper[p->n - 1]);
    puts("}");
}

static void print_clusters(const verified *v)
{
    enum { MOST = 10 };
    int shown = 0;

    for (int i = 0, next; i < v->n && shown < MOST; i = next) {
        for (next = i + 1; next < v->n && v->cluster[next] == v->cluster[i];) next++;
        if (next - i == 1) continue;
        printf("%s %d in [%.17g, %.17g]\n", shown++ ? "               " : "clusters       ",
               next - i, v->lower[i], v->upper[i]);
    }
}

static void print_text(const settings *s, const problem *p, const result *r,
                       const device_name *device)
{
    const verified_summary v = verified_summarise(&r->bounds);

    printf("matrix          %s, %d x %d%s\n", name_of(s), p->n, p->n, p->b ? ", with B" : "");
    printf("device          %s\n", device->text);
    printf("solver          %s, %.6f s\n", r->solver, r->solver_seconds);
    printf("verification    products %s, %.6f s, %.2f of the solver's time\n", s->products,
           r->verify_seconds, r->verify_seconds / r->solver_seconds);
    if (r->refinements) printf("refinement      %d, %.6f s\n", r->refinements, r->refine_seconds);
    printf("separated       %d of %d eigenvalues", v.separated, p->n);
    if (v.clusters) printf("; %d clusters, of up to %d", v.clusters, v.largest);
    puts("");
    print_clusters(&r->bounds);
    printf("radius          %.1e at most; relative %.1e at most\n", v.widest, v.relative);
}

static bool report(const settings *s, const problem *p, const result *r)
{
    device_name device;

    if (!query_device_name(&device)) return false;
    (s->wants_json ? print_json : print_text)(s, p, r, &device);
    return !s->plot || verified_plot(&r->bounds, "Proven radii of eigenvalues", s->plot);
}

static bool run(const settings *s, problem *p)
{
    result r = {0};
    bool is_done = tandem_find(&tandem) && put_problem(p) && verified_make(p->n, &r.bounds) &&
                   solve(s, p, &r) && perturb(s, p) &&
                   verify(&tandem, s, p, &r.bounds, &r.verify_seconds) && refine(s, p, &r) &&
                   report(s, p, &r);

    verified_free(&r.bounds);
    return is_done;
}

/* Repeated eigenvalues are those of a matrix that is made with given ones. */
static bool go_together(const settings *s)
{
    if (s->multiple == 1 || (s->spread > 0.0 && !s->path[0])) return true;
    complain(
        "--multiple %ld needs --spread S, and no A.mtx: only eigenvalues that are given can be "
        "repeated",
        s->multiple);
    return false;
}

int main(int argc, char **argv)
{
    settings s = {.order = 256, .multiple = 1, .seed = 1, .steps = 1, .reps = 1};
    problem p = {0};

    s.products = "faithful";
    if (!parse_arguments(options, parse, "[A.mtx [B.mtx]]", doc, argc, argv, &s) ||
        !go_together(&s))
        return BAD_OPTIONS;
    const bool is_done = make_problem(&s, &p) && run(&s, &p);
    problem_free(&p);
    return is_done ? EXIT_SUCCESS : EXIT_FAILURE;
}
