/* refsyev - refines the eigenvectors of a symmetric matrix by matrix products, and says how good
 * they get.
 *
 * An ordinary cuBLAS program: all of its products are cublasDgemm calls. How far the refinement
 * goes depends on their arithmetic alone. */
#include <stdlib.h>

#include "common.h"
#include "matrix_market.h"
#include "refsyev_check.h"
#include "refsyev_matrix.h"
#include "refsyev_step.h"
#include "solver.h"

const char program_name[] = "refsyev";

static const char doc[] = "Refines approximate eigenvectors X of a symmetric matrix A: R = I - "
                          "X'X, S = X'(A X), X + X E with E "
                          "from R and S (Ogita and Aishima 2018). Each step squares the error of "
                          "X, as far as the products "
                          "allow.\v"
                          "FILE.mtx is a Matrix Market file that holds a symmetric matrix, real or "
                          "integer. Printed before the "
                          "first step and after each: the Frobenius norms of I - X'X and, relative "
                          "to the largest eigenvalue, "
                          "of what is off the diagonal of X'A X; the largest radius, relative "
                          "likewise, of intervals that surely "
                          "hold the eigenvalues; how many of these meet no other, and so hold one "
                          "each. These are computed on "
                          "the host with 113 bits, which takes a second for N = 100, 1000 for N = "
                          "1000. Exit status: 0, 1 if the "
                          "matrix could not be read or a call failed, 2 for bad options.";

static const struct argp_option options[] = {
    {"order", 'n', "N", 0,
     "order of the random matrix A, which takes the place of FILE.mtx, default 100", 0},
    {"spread", 'p', "S", 0,
     "its eigenvalues: from 1 down to 1/S in a geometric sequence, default 100", 0},
    {"multiple", 'm', "M", 0, "each of them M times, default 1", 0},
    {"seed", 's', "S", 0, "seed of A and of the perturbation, default 1", 0},
    {"perturb", 'e', "P", 0,
     "start vectors: binary64 ones (Jacobi's method, on the host), to which errors from [-P/2, "
     "P/2) are "
     "added; default 1e-6",
     0},
    {"cusolver", 'c', NULL, 0, "start vectors: those of cusolverDnSsyevd, in binary32", 0},
    {"steps", 'k', "K", 0, "steps of refinement, default 4", 0},
    {"four", '4', NULL, 0,
     "the method's four products a step, A X being rounded to binary64; by default what that "
     "rounding "
     "takes away is kept, for two products more",
     0},
    {"pairs", '2', NULL, 0, "X too is kept as the sum of two matrices: eleven products a step", 0},
    {"json", 'j', NULL, 0, "print the results as one JSON object", 0},
    {0},
};

enum { MAX_STEPS = 100, MAX_ORDER = 5000 };

typedef struct {
    const char *path; /* NULL: a random matrix */
    long order, multiple, seed, steps;
    double spread, perturb;
    refsyev_kept kept;
    bool uses_cusolver, wants_json;
} settings;

typedef struct {
    int n;
    double *a; /* n x n */
    double *x; /* start vectors */
} problem;

static bool parse_kept(refsyev_kept kept, settings *s)
{
    if (s->kept != KEEP_PRODUCT && s->kept != kept) {
        complain("--four and --pairs exclude each other");
        return false;
    }
    s->kept = kept;
    return true;
}

static bool take_matrix(const char *path, settings *s)
{
    if (s->path) complain("at most one FILE.mtx is taken; see refsyev --help");
    const bool is_first = !s->path;
    s->path = path;
    return is_first;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    settings *s = state->input;
    switch (key) {
    case 'n':
        return taken(parse_integer("--order", argument, 1, MAX_ORDER, &s->order));
    case 'p':
        return taken(parse_at_least("--spread", argument, 1.0, &s->spread));
    case 'm':
        return taken(parse_integer("--multiple", argument, 1, MAX_ORDER, &s->multiple));
    case 's':
        return taken(parse_integer("--seed", argument, 0, 1000000000, &s->seed));
    case 'e':
        return taken(parse_at_least("--perturb", argument, 0.0, &s->perturb));
    case 'c':
        s->uses_cusolver = true;
        return 0;
    case 'k':
        return taken(parse_integer("--steps", argument, 0, MAX_STEPS, &s->steps));
    case '4':
        return taken(parse_kept(KEEP_NOTHING, s));
    case '2':
        return taken(parse_kept(KEEP_VECTORS, s));
    case 'j':
        s->wants_json = true;
        return 0;
    case ARGP_KEY_ARG:
        return taken(take_matrix(argument, s));
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static bool read_matrix(const char *path, problem *p)
{
    dense_matrix a = {0};

    if (!matrix_market_read_symmetric(path, MAX_ORDER, &a)) return false;
    p->a = a.entries;
    p->n = a.rows;
    return true;
}

static bool make_problem(const settings *s, problem *p)
{
    random_stream random = {(uint64_t)s->seed};

    if (s->path) {
        if (!read_matrix(s->path, p)) return false;
    } else {
        p->n = (int)s->order;
        p->a = host_matrix(p->n, p->n);
        if (!p->a || !symmetric_make(p->n, s->spread, (int)s->multiple, p->n, &random, p->a))
            return false;
    }
    p->x = host_matrix(p->n, p->n);
    if (!p->x) return false;
    if (s->uses_cusolver) return eigenvectors_cusolver(p->n, p->a, p->x);
    if (!eigenvectors_jacobi(p->n, p->a, p->x)) return false;
    for (ptrdiff_t i = 0, count = (ptrdiff_t)p->n * p->n; i < count; i++)
        p->x[i] += s->perturb * (random_uniform(&random) - 0.5);
    return true;
}

static bool check(const problem *p, const refsyev *f, eigen_quality *q)
{
    double *hi = host_matrix(p->n, p->n), *lo = host_matrix(p->n, p->n);
    bool is_done = hi && lo && refsyev_vectors(f, hi, lo) && eigen_check(p->n, p->a, hi, lo, q);

    free(hi);
    free(lo);
    return is_done;
}

static const char *kept_name(const settings *s)
{
    static const char *const names[] = {
        [KEEP_NOTHING] = "four", [KEEP_PRODUCT] = "six", [KEEP_VECTORS] = "pairs"};
    return names[s->kept];
}

static void print_head(const settings *s, int n, const device_name *device)
{
    if (s->wants_json) {
        fputs("{\"program\": \"refsyev\", \"matrix\": ", stdout);
        print_json_string(stdout, matrix_name(s->path, "random"));
        printf(", \"n\": %d, \"products\": \"%s\", \"device\": ", n, kept_name(s));
        print_json_string(stdout, device->text);
        fputs(", \"steps\": [", stdout);
        return;
    }
    printf("matrix    %s, %d x %d", matrix_name(s->path, "random"), n, n);
    if (!s->path) printf(", eigenvalues from 1 to %g", 1.0 / s->spread);
    printf("\ndevice    %s\n", device->text);
    printf("%-8s  %10s  %14s  %10s  %s\n", "step", "|I - X'X|", "off diag X'AX", "radius",
           "eigenvalues isolated");
}

static void print_step(const settings *s, int n, long step, const eigen_quality *q)
{
    if (!s->wants_json) {
        printf("%-8ld  %10.1e  %14.1e  %10.1e  %d of %d\n", step, q->orthogonality, q->off_diagonal,
               q->radius, q->isolated, n);
    } else {
        printf("%s{\"orthogonality\": ", step ? ", " : "");
        print_json_number(stdout, q->orthogonality);
        fputs(", \"off_diagonal\": ", stdout);
        print_json_number(stdout, q->off_diagonal);
        fputs(", \"radius\": ", stdout);
        print_json_number(stdout, q->radius);
        printf(", \"isolated\": %d}", q->isolated);
    }
    fflush(stdout);
}

static bool run(const settings *s, const problem *p)
{
    refsyev f = {0};
    device_name device;
    bool is_done = false;

    if (!query_device_name(&device) || !refsyev_make(p->n, s->kept, p->a, NULL, p->x, &f)) goto out;
    print_head(s, p->n, &device);
    for (long step = 0; step <= s->steps; step++) {
        eigen_quality q;
        if ((step && !refsyev_step(&f)) || !check(p, &f, &q)) goto out;
        print_step(s, p->n, step, &q);
    }
    if (s->wants_json) puts("]}");
    is_done = true;
out:
    refsyev_free(&f);
    return is_done;
}

int main(int argc, char **argv)
{
    settings s = {.order = 100,
                  .multiple = 1,
                  .seed = 1,
                  .steps = 4,
                  .spread = 100.0,
                  .perturb = 1e-6,
                  .kept = KEEP_PRODUCT};
    problem p = {0};

    if (!parse_arguments(options, parse, "[FILE.mtx]", doc, argc, argv, &s)) return BAD_OPTIONS;
    bool is_done = make_problem(&s, &p) && run(&s, &p);
    free(p.x);
    free(p.a);
    return is_done ? EXIT_SUCCESS : EXIT_FAILURE;
}
