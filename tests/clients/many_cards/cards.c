/* cards.c - see cards.h. */
#define _GNU_SOURCE 1
#include "cards.h"

#include <math.h>
#include <time.h>
#include <unistd.h>

enum { RUNS = 3, WAIT_SECONDS = 60 };

/* ---- ranks ---- */

static int number_of(const char *variable)
{
    const char *text = getenv(variable);
    if (text) return atoi(text);
    fprintf(stderr, "%s is not set: start this program by many_cards.py\n", variable);
    exit(2);
}

/* Written beside the file and renamed: who finds it finds all of it. */
static void write_id(const char *path, const ncclUniqueId *id)
{
    char beside[4096];
    snprintf(beside, sizeof beside, "%s.new", path);
    FILE *file = fopen(beside, "w");
    CHECKED(!file || fwrite(id, sizeof *id, 1, file) != 1 || fclose(file) != 0);
    CHECKED(rename(beside, path));
}

static void read_id(const char *path, ncclUniqueId *id)
{
    FILE *file = NULL;
    for (int tries = 0; tries < 100 * WAIT_SECONDS && !(file = fopen(path, "r")); tries++)
        usleep(10000);
    CHECKED(!file || fread(id, sizeof *id, 1, file) != 1 || fclose(file) != 0);
}

cards cards_join(const char *id_file)
{
    cards c = {.rank = number_of("RANK"), .count = number_of("WORLD_SIZE")};
    ncclUniqueId id;
    CHECKED(cudaSetDevice(number_of("LOCAL_RANK")));
    for (c.rows = (int)sqrt((double)c.count); c.count % c.rows != 0; c.rows--) {
    }
    c.columns = c.count / c.rows;
    c.row = c.rank % c.rows;
    c.column = c.rank / c.rows;
    if (c.rank == 0) {
        CHECKED(ncclGetUniqueId(&id));
        write_id(id_file, &id);
    }
    if (c.rank != 0) read_id(id_file, &id);
    CHECKED(cudaStreamCreate(&c.stream));
    CHECKED(ncclCommInitRank(&c.comm, c.count, id, c.rank));
    return c;
}

void cards_leave(cards *c)
{
    CHECKED(ncclCommDestroy(c->comm));
    CHECKED(cudaStreamDestroy(c->stream));
}

/* The largest of all ranks' numbers. */
static double largest(const cards *c, double number)
{
    double *device;
    CHECKED(cudaMalloc((void **)&device, sizeof number));
    CHECKED(cudaMemcpy(device, &number, sizeof number, cudaMemcpyHostToDevice));
    CHECKED(ncclAllReduce(device, device, 1, ncclFloat64, ncclMax, c->comm, c->stream));
    CHECKED(cudaStreamSynchronize(c->stream));
    CHECKED(cudaMemcpy(&number, device, sizeof number, cudaMemcpyDeviceToHost));
    CHECKED(cudaFree(device));
    return number;
}

/* Waits for the work of all ranks. */
static void meet(const cards *c)
{
    CHECKED(cudaDeviceSynchronize());
    (void)largest(c, 0.0);
}

/* ---- elements ---- */

double cards_number(int64_t i, int64_t j, int which)
{
    /* splitmix64 (Steele, Lea and Flood, 2014) of the indices. */
    uint64_t x = ((uint64_t)i << 32 ^ (uint64_t)j) + (uint64_t)which * 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    x ^= x >> 31;
    return (double)(x >> 11) * 0x1p-53 - 0.5;
}

/* How many of n lines in blocks belong to one of `count` ranks: the last block may be short. */
static int64_t lines_of(int64_t n, int64_t block, int rank, int count)
{
    const int64_t blocks = n / block, rest = n % block, rounds = blocks / count,
                  last = blocks % count;
    return rounds * block + (rank < last ? block : rank == last ? rest : 0);
}

static int64_t line_of(int64_t line, int64_t block, int rank, int count)
{
    return (line / block * count + rank) * block + line % block;
}

int64_t spread_row(const cards *c, const spread *s, int64_t row)
{
    return line_of(row, s->block, c->row, c->rows);
}

int64_t spread_column(const cards *c, const spread *s, int64_t column)
{
    return line_of(column, s->block, c->column, c->columns);
}

static size_t bytes_of(const spread *s)
{
    const size_t one = s->is_complex ? sizeof(double _Complex) : sizeof(double);
    return (size_t)s->ld * (size_t)(s->columns > 0 ? s->columns : 1) * one;
}

/* Sets the rank's element (i, j) in host memory. */
static void set_one(const cards *c, const spread *s, element *of, void *host, int64_t i, int64_t j)
{
    const double _Complex value = of(spread_row(c, s, i), spread_column(c, s, j));
    const int64_t at = i + j * s->ld;
    if (s->is_complex)
        ((double _Complex *)host)[at] = value;
    else
        ((double *)host)[at] = creal(value);
}

void spread_set(const cards *c, const spread *s, element *of)
{
    void *host = calloc(1, bytes_of(s));
    const int64_t columns = of ? s->columns : 0;
    CHECKED(!host);
#ifdef _OPENMP
#pragma omp parallel for collapse(2)
#endif
    for (int64_t j = 0; j < columns; j++)
        for (int64_t i = 0; i < s->rows; i++) set_one(c, s, of, host, i, j);
    CHECKED(cudaMemcpy(s->device, host, bytes_of(s), cudaMemcpyHostToDevice));
    free(host);
}

spread spread_make(const cards *c, int64_t m, int64_t n, int64_t block, bool is_complex,
                   element *of)
{
    spread s = {.m = m,
                .n = n,
                .block = block,
                .rows = lines_of(m, block, c->row, c->rows),
                .columns = lines_of(n, block, c->column, c->columns),
                .is_complex = is_complex};
    s.ld = s.rows > 0 ? s.rows : 1;
    CHECKED(cudaMalloc(&s.device, bytes_of(&s)));
    spread_set(c, &s, of);
    return s;
}

void spread_free(spread *s)
{
    CHECKED(cudaFree(s->device));
    s->device = NULL;
}

void *spread_read(const spread *s)
{
    void *host = malloc(bytes_of(s));
    CHECKED(!host);
    CHECKED(cudaMemcpy(host, s->device, bytes_of(s), cudaMemcpyDeviceToHost));
    return host;
}

/* ---- times ---- */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double cards_time(const cards *c, void (*work)(void *), void (*again)(void *), void *of)
{
    double seconds[RUNS + 1];
    for (int i = 0; i <= RUNS; i++) {
        if (again) again(of);
        meet(c);
        const double start = now();
        work(of);
        CHECKED(cudaStreamSynchronize(c->stream));
        seconds[i] = largest(c, now() - start);
    }
    qsort(seconds + 1, RUNS, sizeof *seconds, compare);
    return seconds[1 + RUNS / 2];
}

void cards_tell(const cards *c, const char *name, int64_t n, double seconds, double operations,
                double error)
{
    const double worst = largest(c, error);
    if (c->rank != 0) return;
    printf("{\"name\": \"%s\", \"n\": %lld, \"cards\": %d, \"ms\": %.3f, \"tflops\": %.3f, "
           "\"error\": %.6g}\n",
           name, (long long)n, c->count, 1e3 * seconds, 1e-12 * operations / seconds, worst);
    fflush(stdout);
}
