/* client_lookup.c - a program that finds cuBLAS 12 and 13 by name. Usage: client_lookup WAY
 * LIBRARY_12 LIBRARY_13
 *
 * WAY says how it opens and asks: local, global, deepbind, versioned, threads, fork; it prints
 * "right" if every product was that of the cuBLAS whose function was asked for. "loading" forks
 * while a thread has the dynamic linker's lock, and prints that if the child finds a function; it
 * attaches the library that ATTACH names. "rules" prints
 * what dlsym and dlvsym answer where no cuBLAS is asked, which must not depend on what is
 * preloaded; "time" how many nanoseconds a look-up takes. */
#include <cublas_api.h>
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lookup_library.h"

enum { ROUNDS = 20, THREADS = 8, LOOKUPS = 1000000 };

static void *libraries[2]; /* cuBLAS 12 and 13 */
static bool is_versioned;

static void complain(const char *what)
{
    fprintf(stderr, "client_lookup: %s\n", what);
    _exit(1);
}

static void *find(int major, const char *name)
{
    char version[32];
    snprintf(version, sizeof version, "libcublas.so.%d", major);
    errno = EDOM;
    void *found = is_versioned ? dlvsym(libraries[major - 12], name, version)
                               : dlsym(libraries[major - 12], name);
    if (!found) complain(dlerror());
    if (dlerror()) complain("an error is left of a look-up that succeeded");
    if (errno != EDOM) complain("a look-up has changed errno");
    return found;
}

#define FIND(major, function) ((__typeof__(&(function)))find((major), #function))

/* Products of a handle that cuBLAS `major` made. */
static void use(int major)
{
    const double one = 1.0, zero = 0.0;
    double c = -1.0;
    cublasHandle_t handle = NULL;
    if (FIND(major, cublasCreate_v2)(&handle) != CUBLAS_STATUS_SUCCESS) complain("no handle");
    FIND(major, cublasDgemm_v2)
    (handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, &one, 1, &one, 1, &zero, &c, 1);
    if (c != (double)major) complain("a product went to another cuBLAS");
    if (FIND(major, cublasDestroy_v2)(handle)) complain("a handle did not end");
}

static void *use_both(void *unused)
{
    (void)unused;
    for (int i = 0; i < ROUNDS; i++) {
        use(12);
        use(13);
    }
    return NULL;
}

static void use_in_threads(void)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, use_both, NULL)) complain("no thread");
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
}

/* Children of a process that has looked nothing up, and of one that has. */
static void use_after_fork(void)
{
    for (int i = 0; i < 2; i++) {
        int status = 0;
        const pid_t child = fork();
        if (child == 0) {
            use_both(NULL);
            _exit(0);
        }
        waitpid(child, &status, 0);
        if (status != 0) complain("a child failed");
        use_both(NULL);
    }
}

/* ---- a child of a process that loads ---- */

static atomic_bool is_inside;

static int stay_inside(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)info, (void)size, (void)unused;
    atomic_store(&is_inside, true);
    while (atomic_load(&is_inside)) (void)pause();
    return 1;
}

static void *have_lock(void *unused)
{
    (void)dl_iterate_phdr(stay_inside, NULL);
    return unused;
}

static void attach(const char *path)
{
    void *tandem = dlopen(path, RTLD_NOW);
    int (*function)(void) = tandem ? (int (*)(void))dlsym(tandem, "tandem_attach") : NULL;
    if (!function || function() != 0) complain("not attached");
}

/* The process has looked nothing up, unless it attaches a library. */
static void look_up_in_child(void)
{
    enum { MOST_SECONDS = 20 };
    pthread_t thread;
    int status = -1;
    if (getenv("ATTACH")) attach(getenv("ATTACH"));
    if (pthread_create(&thread, NULL, have_lock, NULL)) complain("no thread");
    while (!atomic_load(&is_inside)) (void)usleep(1000);
    const pid_t child = fork();
    if (child == 0) {
        (void)alarm(MOST_SECONDS);
        _exit(!dlsym(RTLD_DEFAULT, "qsort"));
    }
    if (waitpid(child, &status, 0) != child || status != 0) complain("the child has hung");
    puts("right");
    fflush(stdout);
    _exit(0); /* the thread stays where it is */
}

/* ---- what must not change ---- */

/* Of glibc, where it came to this processor. */
#ifdef __aarch64__
#define FIRST_VERSION "GLIBC_2.17"
#else
#define FIRST_VERSION "GLIBC_2.2.5"
#endif

static void print_found(const char *what, void *found)
{
    const char *error = dlerror();
    Dl_info info = {0};
    if (found) dladdr(found, &info);
    const char *slash = info.dli_fname ? strrchr(info.dli_fname, '/') : NULL;
    printf("%s: %s, %s\n", what, found ? (slash ? slash + 1 : "the program") : "nothing",
           error ? error : "no error");
}

static void print_rules(const char *local_library)
{
    void *local = dlopen(local_library, RTLD_NOW | RTLD_LOCAL);
    if (!local) complain(dlerror());
    lookup_number_function *next = (lookup_number_function *)dlsym(local, "lookup_next"),
                           *by_default = (lookup_number_function *)dlsym(local, "lookup_default");
    printf("next: of the program %d, of the first %d, of the second %d, of an opened one %d\n",
           ((lookup_number_function *)dlsym(RTLD_NEXT, "lookup_number_1"))(), lookup_next_1(),
           lookup_next_2(), next());
    printf("default: of the program %d, of an opened one %d\n",
           dlsym(RTLD_DEFAULT, "lookup_number_3") != NULL, by_default());
    print_found("malloc", dlsym(RTLD_DEFAULT, "malloc"));
    print_found("qsort by version", dlvsym(RTLD_NEXT, "qsort", FIRST_VERSION));
    print_found("a wrong version", dlvsym(RTLD_DEFAULT, "qsort", "GLIBC_0"));
    print_found("a name that nothing has", dlsym(local, "cublasNothing"));
    print_found("a function that it has not", dlsym(local, "cublasDgemm_v2"));
    print_found("an empty name", dlsym(local, ""));
    print_found("a part of a name", dlsym(local, "cubla"));
    print_found("a function without wrapper", dlsym(libraries[0], "cublasGetStream_v2"));
}

/* Nanoseconds of one look-up of a name. */
static double look_up_time(const char *name)
{
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (int i = 0; i < LOOKUPS; i++)
        if (!dlsym(libraries[0], name)) complain(dlerror());
    clock_gettime(CLOCK_MONOTONIC, &end);
    return ((double)(end.tv_sec - start.tv_sec) * 1e9 + (double)(end.tv_nsec - start.tv_nsec)) /
           LOOKUPS;
}

static void print_times(void)
{
    static const char *const names[] = {"qsort", "cublasGetStream_v2", "cublasDgemm_v2"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        printf("%s: %.1f ns\n", names[i], look_up_time(names[i]));
}

int main(int argc, char **argv)
{
    if (argc < 4) return 2;
    const char *way = argv[1];
    const int flags = strcmp(way, "global") == 0     ? RTLD_GLOBAL
                      : strcmp(way, "deepbind") == 0 ? RTLD_LOCAL | RTLD_DEEPBIND
                                                     : RTLD_LOCAL;
    for (int i = 0; i < 2; i++)
        if (!(libraries[i] = dlopen(argv[2 + i], RTLD_NOW | flags))) complain(dlerror());
    is_versioned = strcmp(way, "versioned") == 0;
    if (strcmp(way, "loading") == 0) look_up_in_child();
    if (strcmp(way, "time") == 0)
        print_times();
    else if (strcmp(way, "rules") == 0)
        print_rules(argv[4]);
    else {
        (strcmp(way, "fork") == 0      ? use_after_fork
         : strcmp(way, "threads") == 0 ? use_in_threads
                                       : (void (*)(void))use_both)();
        puts("right");
    }
    return 0;
}
