/* int8 - the rate of every way to multiply panels of residues (lib/model/route.h), with
 * random residues.
 *
 * Usage: int8 [--csv FILE]
 *
 * Beside it the rate of a loop of the tensor cores' products for a warp that does nothing else.
 * Medians of single launches; prints Markdown. */
#include <stdlib.h>

#include "../examples/common.h"
#include "../include/tandem.h"
#include "../lib/cuda/device.h"
#include "../lib/engines/ozaki/panels.h"
#include "../lib/model/route.h"
#include "ceiling.h"
#include "harness/options.h"
#include "harness/table.h"
#include "harness/timing.h"

const char program_name[] = "int8";

typedef struct {
    int m, n, k;
} shape;

static const shape shapes[] = {{1024, 1024, 1024}, {2048, 2048, 2048}, {4096, 4096, 4096},
                               {8192, 8192, 8192}, {8192, 8192, 256},  {8192, 8192, 512},
                               {8192, 8192, 1024}};
enum { SHAPES = sizeof shapes / sizeof *shapes };
static const double seconds_of_a_line = 0.1;

static bool multiply(const void *context)
{
    const td_panels *panels = context;
    bool done = false;
    CHECK_CUDA(td_panels_run(NULL, panels, NULL));
    done = true;
out:
    return done;
}

/* Bytes that are any residues. */
static bool make_panel(size_t bytes, void **panel)
{
    const size_t block = (size_t)1 << 20;
    bool made = false;
    char *host = malloc(block);
    if (!host) goto out;
    for (size_t i = 0; i < block; i++) host[i] = (char)(rand() >> 7);
    CHECK_CUDA(cudaMalloc(panel, bytes));
    for (size_t at = 0; at < bytes; at += block)
        CHECK_CUDA(cudaMemcpy((char *)*panel + at, host, bytes - at < block ? bytes - at : block,
                              cudaMemcpyHostToDevice));
    made = true;
out:
    free(host);
    return made;
}

static bool run_row(const table *out, const td_route_row *row, const td_panels *given,
                    double ceiling)
{
    td_panels own = *given, *const panels = &own;
    panels->gemm = (td_gemm_route)row->value;
    const double operations =
        2.0 * (double)(panels->m * panels->n) * (double)(panels->k * panels->planes);
    timing t;
    if (!timing_measure(multiply, panels, seconds_of_a_line, &t)) return false;
    table_line line = {0};
    table_put(&line, "%s", row->name);
    table_put(&line, "%lld", (long long)panels->m);
    table_put(&line, "%lld", (long long)panels->n);
    table_put(&line, "%lld", (long long)panels->k);
    table_put(&line, "%.4f", t.seconds * 1e3);
    table_put(&line, "%.0f", operations / t.seconds * 1e-12);
    table_put(&line, "%.1f", 100.0 * operations / t.seconds / ceiling);
    table_print(out, &line);
    return true;
}

static td_panels panels_of(const shape *s, const void *const operand[2], void *c, void *choice,
                           void *next_unit)
{
    return (td_panels){.type = TD_PANEL_RESIDUE,
                       .m = s->m,
                       .n = s->n,
                       .k = s->k,
                       .a = operand[0],
                       .b = operand[1],
                       .c = c,
                       .layout.ld_a = s->k,
                       .layout.ld_b = s->k,
                       .layout.ld_c = s->m,
                       .layout.plane_a = (int64_t)s->m * s->k,
                       .layout.plane_b = (int64_t)s->n * s->k,
                       .layout.plane_c = (int64_t)s->m * s->n,
                       .planes = TD_COMMON_MODULI,
                       .batch = 1,
                       .slices = 1,
                       .choice = choice,
                       .next_unit = next_unit};
}

static bool run_shape(const table *out, const shape *s, double ceiling)
{
    const size_t a_bytes = (size_t)s->m * (size_t)s->k * TD_COMMON_MODULI,
                 b_bytes = (size_t)s->n * (size_t)s->k * TD_COMMON_MODULI,
                 c_bytes = (size_t)s->m * (size_t)s->n * TD_COMMON_MODULI;
    const td_choice choice = {.parameter = TD_COMMON_MODULI};
    void *a = NULL, *b = NULL, *c = NULL, *on_device = NULL, *next_unit = NULL;
    bool good = false;
    if (!make_panel(a_bytes, &a) || !make_panel(b_bytes, &b)) goto out;
    CHECK_CUDA(cudaMalloc(&c, c_bytes));
    CHECK_CUDA(cudaMalloc(&on_device, sizeof choice));
    CHECK_CUDA(cudaMemcpy(on_device, &choice, sizeof choice, cudaMemcpyHostToDevice));
    CHECK_CUDA(cudaMalloc(&next_unit, sizeof(uint32_t)));
    CHECK_CUDA(cudaMemset(next_unit, 0, sizeof(uint32_t)));
    const td_panels panels = panels_of(s, (const void *[]){a, b}, c, on_device, next_unit);
    good = true;
    const td_route_terms terms = {.device = td_traits_current()};
    td_route_case any;
    td_route_case_begin(&any, s->m, s->n, s->k, 1, &terms);
    for (int i = 0; i < TD_ROUTE_ROWS && good; i++) {
        any.row = &td_route_rows[i];
        if (any.row->stage == TD_STAGE_GEMM && any.row->serves(&any))
            good = run_row(out, any.row, &panels, ceiling);
    }
out:
    cudaFree(a);
    cudaFree(b);
    cudaFree(c);
    cudaFree(on_device);
    cudaFree(next_unit);
    return good;
}

static bool run(const char *csv)
{
    static const char *const names[] = {"row", "m", "n", "k", "ms", "TOPS", "% of the loop"};
    table out = {names, sizeof names / sizeof *names, NULL};
    device_name name;
    bool good = false;
    if (!table_open(&out, csv)) return false;
    if (!td_device_current() || td_mma_prepare() != cudaSuccess ||
        td_wgmma_prepare() != cudaSuccess || !query_device_name(&name)) {
        complain("the device cannot run this");
        goto out;
    }
    const double ceiling = ceiling_int8_warps();
    table_remark(&out, "Device: %s. Tandem %s.", name.text, tandem_version());
    table_remark(&out, "A loop of mma.sync m16n8k32: %.0f TOPS.", ceiling * 1e-12);
    table_print_head(&out);
    good = true;
    for (int i = 0; i < SHAPES && good; i++) good = run_shape(&out, &shapes[i], ceiling);
out:
    return table_close(&out, csv) && good;
}

int main(int argc, char **argv) { return bench_main(argc, argv, run); }
