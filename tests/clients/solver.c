/* solver.c - a program that knows nothing of Tandem: routines of cuSOLVER, which call cuBLAS, on
 * random matrices. It is bound to no library of CUDA.
 * Usage: solver [--order N] [--repeat R] [--folder FOLDER] [ROUTINE TYPE]
 *
 * ROUTINE is getrf, potrf, geqrf, syevd or gesvd, TYPE is d or z (syevd z is zheevd); without them
 * all are run. Prints a line for each:
 *
 *   residual R seconds S ROUTINE TYPE order N
 *
 * R is the norm-wise backward error: for getrf and potrf, with getrs and potrs after them,
 * |B - A X| / (|A| |X|) of 32 right-hand sides; for geqrf |A'A - R'R| / |A|^2, for syevd
 * |A V - V W| / |A| and for gesvd |A - U S V'| / |A|, estimated by products with random vectors.
 * Norms are Frobenius's. S is the median time of R runs (default 1) on the device after a first
 * one, without copies to and from it.
 *
 * The libraries are libcudart and libcusolver of CUDA 13 or 12: those that the loader finds, or
 * those in FOLDER/lib or FOLDER/(any)/lib, such as site-packages/nvidia where PyTorch is installed.
 * Exit status 77 and a line with "skipped" if there are none, or no GPU; 1 if a call fails. */
#include <complex.h>
#include <dlfcn.h>
#include <glob.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef double complex number;

enum { SKIPPED = 77, FAILED = 1 };

static void leave(int status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (status == SKIPPED) printf("skipped: ");
    vfprintf(status == SKIPPED ? stdout : stderr, format, arguments);
    fputc('\n', status == SKIPPED ? stdout : stderr);
    va_end(arguments);
    exit(status);
}

/* ---- libraries ---- */

/* In the order in which they need each other, if a folder has them. */
static const char *const needed[] = {"nvJitLink", "cublasLt", "cublas", "cusparse"};
static void *cudart, *cusolver;

/* The newest library of the name in the folder, or, if it is NULL, where the loader looks. */
static void *find_library(const char *folder, const char *name)
{
    static const char *const versions[] = {"13", "12", "11"};
    static const char *const places[] = {"lib", "*/lib"};
    void *library = NULL;
    char path[4096];
    for (int v = 0; v < 3 && !library; v++) {
        snprintf(path, sizeof path, "lib%s.so.%s", name, versions[v]);
        if (!folder) library = dlopen(path, RTLD_LAZY | RTLD_GLOBAL);
        for (int p = 0; p < 2 && folder && !library; p++) {
            glob_t found = {0};
            snprintf(path, sizeof path, "%s/%s/lib%s.so.%s", folder, places[p], name, versions[v]);
            if (glob(path, 0, NULL, &found) == 0)
                library = dlopen(found.gl_pathv[0], RTLD_LAZY | RTLD_GLOBAL);
            globfree(&found);
        }
    }
    return library;
}

static void load_libraries(const char *folder)
{
    cudart = find_library(folder, "cudart");
    if (!cudart) leave(SKIPPED, "no libcudart (%s)", dlerror());
    for (size_t i = 0; folder && i < sizeof needed / sizeof *needed; i++)
        (void)find_library(folder, needed[i]);
    cusolver = find_library(folder, "cusolver");
    if (!cusolver) {
        const char *reason = dlerror();
        leave(SKIPPED, "no libcusolver (%s)", reason ? reason : "there is no such file");
    }
}

typedef void function(void);

static function *find(void *library, const char *name)
{
    function *found;
    *(void **)&found = dlsym(library, name);
    if (!found) leave(FAILED, "the library lacks %s", name);
    return found;
}

/* ---- the runtime ---- */

static int (*cuda_malloc)(void **, size_t), (*cuda_free)(void *), (*cuda_synchronize)(void);
static int (*cuda_copy)(void *, const void *, size_t, int);
enum { TO_DEVICE = 1, TO_HOST = 2 };

static void check(int status, const char *what)
{
    if (status) leave(FAILED, "%s: status %d", what, status);
}

static void open_runtime(void)
{
    int (*count_devices)(int *) = (int (*)(int *))find(cudart, "cudaGetDeviceCount");
    int count = 0;
    const int status = count_devices(&count);
    if (status || count == 0) leave(SKIPPED, "no GPU (status %d)", status);
    cuda_malloc = (int (*)(void **, size_t))find(cudart, "cudaMalloc");
    cuda_free = (int (*)(void *))find(cudart, "cudaFree");
    cuda_synchronize = (int (*)(void))find(cudart, "cudaDeviceSynchronize");
    cuda_copy = (int (*)(void *, const void *, size_t, int))find(cudart, "cudaMemcpy");
}

static void *allocate(size_t bytes)
{
    void *p = NULL;
    check(cuda_malloc(&p, bytes ? bytes : 1), "cudaMalloc");
    return p;
}

/* ---- cuSOLVER ---- */

typedef void *handle;
typedef int size_of_factors(handle, int, int, void *, int, int *);
typedef int lu_factor(handle, int, int, void *, int, void *, int *, int *);
typedef int lu_solve(handle, int, int, int, const void *, int, const int *, void *, int, int *);
typedef int size_of_cholesky(handle, int, int, void *, int, int *);
typedef int cholesky(handle, int, int, void *, int, void *, int, int *);
typedef int cholesky_solve(handle, int, int, int, const void *, int, void *, int, int *);
typedef int qr_factor(handle, int, int, void *, int, void *, void *, int, int *);
typedef int size_of_eigen(handle, int, int, int, const void *, int, const double *, int *);
typedef int eigen(handle, int, int, int, void *, int, double *, void *, int, int *);
typedef int size_of_svd(handle, int, int, int *);
typedef int svd(handle, signed char, signed char, int, int, void *, int, double *, void *, int,
                void *, int, void *, int, double *, int *);

static handle solver;

/* cusolverDn, the letter of the type, and the name. */
static function *routine(char type, const char *name)
{
    char full[64];
    snprintf(full, sizeof full, "cusolverDn%c%s", type == 'd' ? 'D' : 'Z', name);
    return find(cusolver, full);
}

static void open_solver(void)
{
    int (*create)(handle *) = (int (*)(handle *))find(cusolver, "cusolverDnCreate");
    const int status = create(&solver);
    if (status) leave(SKIPPED, "cusolverDnCreate: status %d", status);
}

/* ---- matrices: on the host, complex, without padding ---- */

static double random_number(void)
{
    static unsigned long long state = 88172645463325252ull;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double)(state >> 11) * 0x1p-52 - 1.0;
}

static number random_element(char type)
{
    const double re = random_number();
    return type == 'd' ? re : re + random_number() * I;
}

static number *make_matrix(size_t count)
{
    number *x = calloc(count ? count : 1, sizeof *x);
    if (!x) leave(FAILED, "no memory for %zu elements", count);
    return x;
}

static number *random_matrix(char type, size_t count)
{
    number *x = make_matrix(count);
    for (size_t i = 0; i < count; i++) x[i] = random_element(type);
    return x;
}

/* Hermitian, and with positive eigenvalues if `shift` is large. */
static number *hermitian_matrix(char type, size_t n, double shift)
{
    number *x = random_matrix(type, n * n);
    for (size_t j = 0; j < n; j++) {
        for (size_t i = 0; i < j; i++) x[j + i * n] = conj(x[i + j * n]);
        x[j + j * n] = creal(x[j + j * n]) + shift;
    }
    return x;
}

static size_t element_bytes(char type) { return type == 'd' ? sizeof(double) : sizeof(number); }

static void *to_device(char type, const number *x, size_t count)
{
    void *const there = allocate(count * element_bytes(type));
    double *real = malloc(count * sizeof *real);
    if (!real) leave(FAILED, "no memory for %zu elements", count);
    for (size_t i = 0; i < count; i++) real[i] = creal(x[i]);
    check(cuda_copy(there, type == 'd' ? (const void *)real : x, count * element_bytes(type),
                    TO_DEVICE),
          "cudaMemcpy");
    free(real);
    return there;
}

/* The numbers of a matrix of the type, which is freed. */
static number *to_host(char type, void *there, size_t count)
{
    number *x = make_matrix(count);
    const double *const real = (const double *)x;
    check(cuda_copy(x, there, count * element_bytes(type), TO_HOST), "cudaMemcpy");
    check(cuda_free(there), "cudaFree");
    for (size_t i = count; type == 'd' && i-- > 0;) x[i] = real[i];
    return x;
}

/* y <- y + factor A x. */
static void multiply(const number *a, size_t n, double factor, const number *x, number *y)
{
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < n; i++) y[i] += factor * a[i + j * n] * x[j];
}

/* y <- y + factor A' x. */
static void multiply_adjoint(const number *a, size_t n, double factor, const number *x, number *y)
{
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < n; i++) y[j] += factor * conj(a[i + j * n]) * x[i];
}

static double sum_of_squares(const number *x, size_t count)
{
    double sum = 0.0;
    for (size_t i = 0; i < count; i++) sum += creal(x[i]) * creal(x[i]) + cimag(x[i]) * cimag(x[i]);
    return sum;
}

static double norm(const number *x, size_t count) { return sqrt(sum_of_squares(x, count)); }

/* ---- runs of a routine: each leaves its results in *r ---- */

typedef struct {
    char type;
    size_t n;
    number *a;      /* the matrix */
    number *b, *x;  /* right-hand sides and solutions */
    number *u, *v;  /* A V = V W; A = U S V', where v has V'; of geqrf u has R */
    double *values; /* W or S */
    double start, seconds;
    int info;
} run;

enum { RIGHT_HAND_SIDES = 32, VECTORS = 16, FEW_VECTORS = 2 };

static int *make_info(void) { return allocate(sizeof(int)); }

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void start_clock(run *r)
{
    check(cuda_synchronize(), "cudaDeviceSynchronize");
    r->start = now();
}

/* Waits for the device, and stops the clock. */
static void take_info(run *r, int *info)
{
    check(cuda_synchronize(), "cudaDeviceSynchronize");
    r->seconds = now() - r->start;
    check(cuda_copy(&r->info, info, sizeof r->info, TO_HOST), "cudaMemcpy");
    check(cuda_free(info), "cudaFree");
    if (r->info) leave(FAILED, "info is %d", r->info);
}

static void run_getrf(run *r)
{
    const int n = (int)r->n;
    int size = 0, *const info = make_info(), *const pivots = allocate(r->n * sizeof(int));
    void *const a = to_device(r->type, r->a, r->n * r->n), *const b =
                                                               to_device(r->type, r->b,
                                                                         r->n * RIGHT_HAND_SIDES);
    check(((size_of_factors *)routine(r->type, "getrf_bufferSize"))(solver, n, n, a, n, &size),
          "getrf_bufferSize");
    void *const work = allocate((size_t)size * element_bytes(r->type));
    start_clock(r);
    check(((lu_factor *)routine(r->type, "getrf"))(solver, n, n, a, n, work, pivots, info),
          "getrf");
    check(((lu_solve *)routine(r->type, "getrs"))(solver, 0, n, RIGHT_HAND_SIDES, a, n, pivots, b,
                                                  n, info),
          "getrs");
    take_info(r, info);
    r->x = to_host(r->type, b, r->n * RIGHT_HAND_SIDES);
    void *const others[] = {a, pivots, work};
    for (int i = 0; i < 3; i++) check(cuda_free(others[i]), "cudaFree");
}

static void run_potrf(run *r)
{
    enum { LOWER = 0 };
    const int n = (int)r->n;
    int size = 0, *const info = make_info();
    void *const a = to_device(r->type, r->a, r->n * r->n), *const b =
                                                               to_device(r->type, r->b,
                                                                         r->n * RIGHT_HAND_SIDES);
    check(((size_of_cholesky *)routine(r->type, "potrf_bufferSize"))(solver, LOWER, n, a, n, &size),
          "potrf_bufferSize");
    void *const work = allocate((size_t)size * element_bytes(r->type));
    start_clock(r);
    check(((cholesky *)routine(r->type, "potrf"))(solver, LOWER, n, a, n, work, size, info),
          "potrf");
    check(((cholesky_solve *)routine(r->type, "potrs"))(solver, LOWER, n, RIGHT_HAND_SIDES, a, n, b,
                                                        n, info),
          "potrs");
    take_info(r, info);
    r->x = to_host(r->type, b, r->n * RIGHT_HAND_SIDES);
    void *const others[] = {a, work};
    for (int i = 0; i < 2; i++) check(cuda_free(others[i]), "cudaFree");
}

/* Leaves the triangle, without the Householder vectors below. */
static void run_geqrf(run *r)
{
    const int n = (int)r->n;
    int size = 0, *const info = make_info();
    void *const a = to_device(r->type, r->a, r->n * r->n), *const scales = allocate(
                                                               r->n * element_bytes(r->type));
    check(((size_of_factors *)routine(r->type, "geqrf_bufferSize"))(solver, n, n, a, n, &size),
          "geqrf_bufferSize");
    void *const work = allocate((size_t)size * element_bytes(r->type));
    start_clock(r);
    check(((qr_factor *)routine(r->type, "geqrf"))(solver, n, n, a, n, scales, work, size, info),
          "geqrf");
    take_info(r, info);
    r->u = to_host(r->type, a, r->n * r->n);
    for (size_t j = 0; j < r->n; j++)
        for (size_t i = j + 1; i < r->n; i++) r->u[i + j * r->n] = 0.0;
    check(cuda_free(scales), "cudaFree");
    check(cuda_free(work), "cudaFree");
}

static void take_values(run *r, double *values)
{
    r->values = malloc(r->n * sizeof *r->values);
    if (!r->values) leave(FAILED, "no memory for %zu values", r->n);
    check(cuda_copy(r->values, values, r->n * sizeof *values, TO_HOST), "cudaMemcpy");
    check(cuda_free(values), "cudaFree");
}

static void run_syevd(run *r)
{
    enum { LOWER = 0, VECTORS_TOO = 1 };
    const int n = (int)r->n;
    const bool is_real = r->type == 'd';
    int size = 0, *const info = make_info();
    void *const a = to_device(r->type, r->a, r->n * r->n);
    double *const values = allocate(r->n * sizeof *values);
    check(((size_of_eigen *)routine(r->type, is_real ? "syevd_bufferSize" : "heevd_bufferSize"))(
              solver, VECTORS_TOO, LOWER, n, a, n, values, &size),
          "syevd_bufferSize");
    void *const work = allocate((size_t)size * element_bytes(r->type));
    start_clock(r);
    check(((eigen *)routine(r->type, is_real ? "syevd" : "heevd"))(solver, VECTORS_TOO, LOWER, n, a,
                                                                   n, values, work, size, info),
          "syevd");
    take_info(r, info);
    take_values(r, values);
    r->v = to_host(r->type, a, r->n * r->n);
    check(cuda_free(work), "cudaFree");
}

static void run_gesvd(run *r)
{
    const int n = (int)r->n;
    const size_t bytes = r->n * r->n * element_bytes(r->type);
    int size = 0, *const info = make_info();
    void *const a = to_device(r->type, r->a, r->n * r->n), *const u = allocate(bytes),
                *const v = allocate(bytes);
    double *const values = allocate(r->n * sizeof *values);
    check(((size_of_svd *)routine(r->type, "gesvd_bufferSize"))(solver, n, n, &size),
          "gesvd_bufferSize");
    void *const work = allocate((size_t)size * element_bytes(r->type));
    start_clock(r);
    check(((svd *)routine(r->type, "gesvd"))(solver, 'A', 'A', n, n, a, n, values, u, n, v, n, work,
                                             size, NULL, info),
          "gesvd");
    take_info(r, info);
    take_values(r, values);
    r->u = to_host(r->type, u, r->n * r->n);
    r->v = to_host(r->type, v, r->n * r->n);
    void *const others[] = {a, work};
    for (int i = 0; i < 2; i++) check(cuda_free(others[i]), "cudaFree");
}

/* ---- residuals ---- */

static double residual_of_solution(const run *r)
{
    const size_t n = r->n;
    number *left = make_matrix(n * RIGHT_HAND_SIDES);
    memcpy(left, r->b, n * RIGHT_HAND_SIDES * sizeof *left);
    for (size_t j = 0; j < RIGHT_HAND_SIDES; j++)
        multiply(r->a, n, -1.0, r->x + j * n, left + j * n);
    const double residual =
        norm(left, n * RIGHT_HAND_SIDES) / (norm(r->a, n * n) * norm(r->x, n * RIGHT_HAND_SIDES));
    free(left);
    return residual;
}

/* left <- A V z - V W z. */
static void apply_eigen(const run *r, const number *z, number *between, number *left)
{
    multiply(r->v, r->n, 1.0, z, between);
    multiply(r->a, r->n, 1.0, between, left);
    for (size_t i = 0; i < r->n; i++) between[i] = z[i] * r->values[i];
    multiply(r->v, r->n, -1.0, between, left);
}

/* left <- A z - U S V' z. */
static void apply_svd(const run *r, const number *z, number *between, number *left)
{
    multiply(r->a, r->n, 1.0, z, left);
    multiply(r->v, r->n, 1.0, z, between);
    for (size_t i = 0; i < r->n; i++) between[i] *= r->values[i];
    multiply(r->u, r->n, -1.0, between, left);
}

/* left <- A'A z - R'R z. */
static void apply_qr(const run *r, const number *z, number *between, number *left)
{
    multiply(r->a, r->n, 1.0, z, between);
    multiply_adjoint(r->a, r->n, 1.0, between, left);
    memset(between, 0, r->n * sizeof *between);
    multiply(r->u, r->n, 1.0, z, between);
    multiply_adjoint(r->u, r->n, -1.0, between, left);
}

/* The mean square of a matrix's products with vectors of 1 and -1 is its squared norm. */
static double estimated_norm(const run *r,
                             void (*apply)(const run *, const number *, number *, number *))
{
    const int vectors = r->n > 4096 ? FEW_VECTORS : VECTORS;
    double sum = 0.0;
    for (int i = 0; i < vectors; i++) {
        number *z = make_matrix(r->n), *between = make_matrix(r->n), *left = make_matrix(r->n);
        for (size_t j = 0; j < r->n; j++) z[j] = random_number() < 0.0 ? -1.0 : 1.0;
        apply(r, z, between, left);
        sum += sum_of_squares(left, r->n);
        free(z);
        free(between);
        free(left);
    }
    return sqrt(sum / vectors);
}

static double norm_of_matrix(const run *r) { return norm(r->a, r->n * r->n); }

static double residual_of_eigen(const run *r)
{
    return estimated_norm(r, apply_eigen) / norm_of_matrix(r);
}

static double residual_of_svd(const run *r)
{
    return estimated_norm(r, apply_svd) / norm_of_matrix(r);
}

static double residual_of_qr(const run *r)
{
    return estimated_norm(r, apply_qr) / (norm_of_matrix(r) * norm_of_matrix(r));
}

/* ---- the routines ---- */

typedef enum { GENERAL, POSITIVE, HERMITIAN } matrix_kind;
static const struct {
    const char *name;
    matrix_kind matrix;
    void (*run)(run *r);
    double (*residual)(const run *r);
} routines[] = {
    {"getrf", GENERAL, run_getrf, residual_of_solution},
    {"potrf", POSITIVE, run_potrf, residual_of_solution},
    {"geqrf", GENERAL, run_geqrf, residual_of_qr},
    {"syevd", HERMITIAN, run_syevd, residual_of_eigen},
    {"gesvd", GENERAL, run_gesvd, residual_of_svd},
};
enum { ROUTINES = sizeof routines / sizeof *routines, MOST_ORDER = 40000, MOST_REPEATS = 100 };

static run make_run(int which, char type, size_t n)
{
    run r = {.type = type, .n = n};
    const double shift = routines[which].matrix == POSITIVE ? 4.0 * sqrt((double)n) : 0.0;
    r.a = routines[which].matrix == GENERAL ? random_matrix(type, n * n)
                                            : hermitian_matrix(type, n, shift);
    r.b = random_matrix(type, n * RIGHT_HAND_SIDES);
    return r;
}

static void free_results(run *r)
{
    free(r->x);
    free(r->u);
    free(r->v);
    free(r->values);
    r->x = r->u = r->v = NULL;
    r->values = NULL;
}

static int ascending(const void *x, const void *y)
{
    const double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static void measure(int which, char type, size_t n, int repeats)
{
    double seconds[MOST_REPEATS];
    run r = make_run(which, type, n);
    routines[which].run(&r); /* loads what it needs */
    for (int i = 0; i < repeats; i++) {
        free_results(&r);
        routines[which].run(&r);
        seconds[i] = r.seconds;
    }
    qsort(seconds, (size_t)repeats, sizeof *seconds, ascending);
    printf("residual %.3e seconds %.4f %s %c order %zu\n", routines[which].residual(&r),
           seconds[repeats / 2], routines[which].name, type, n);
    fflush(stdout);
    free_results(&r);
    free(r.a);
    free(r.b);
}

int main(int argc, char **argv)
{
    const char *folder = NULL, *name = NULL, *type = NULL;
    long n = 2048, repeats = 1;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--order") == 0 && i + 1 < argc)
            n = atol(argv[++i]);
        else if (strcmp(argv[i], "--repeat") == 0 && i + 1 < argc)
            repeats = atol(argv[++i]);
        else if (strcmp(argv[i], "--folder") == 0 && i + 1 < argc)
            folder = argv[++i];
        else
            *(name ? &type : &name) = argv[i];
    }
    if (name && !type)
        leave(2, "usage: solver [--order N] [--repeat R] [--folder FOLDER] [ROUTINE TYPE]");
    if (n < 1 || n > MOST_ORDER) leave(2, "N is from 1 to %d, not %ld", MOST_ORDER, n);
    if (repeats < 1 || repeats > MOST_REPEATS)
        leave(2, "R is from 1 to %d, not %ld", MOST_REPEATS, repeats);
    load_libraries(folder);
    open_runtime();
    open_solver();
    int count = 0;
    for (int i = 0; i < 2 * ROUTINES; i++) {
        const char letter = "dz"[i % 2];
        if (name && (strcmp(name, routines[i / 2].name) != 0 || *type != letter)) continue;
        measure(i / 2, letter, (size_t)n, (int)repeats);
        count++;
    }
    if (count == 0) leave(2, "ROUTINE is getrf, potrf, geqrf, syevd or gesvd, TYPE is d or z");
    return 0;
}
