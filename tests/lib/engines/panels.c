#include "panels.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/support/random.h"
#include "tests/support/test.h"

const panels_case panels_cases[PANELS_CASES] = {
    {TD_PANEL_INT8, 16, 16, 64, 0, 0, 0, 1, false, false},
    {TD_PANEL_INT8, 48, 80, 192, 64, 16, 32, 1, true, false},
    {TD_PANEL_INT8, 144, 272, 1024, 0, 16, 16, 3, false, false},
    {TD_PANEL_INT8, 256, 64, 448, 16, 0, 16, 4, true, true},
    {TD_PANEL_FLOAT, 1, 1, 1, 0, 0, 0, 1, false, false},
    {TD_PANEL_FLOAT, 37, 65, 300, 3, 1, 5, 2, true, false},
    {TD_PANEL_FLOAT, 256, 256, 2048, 0, 0, 0, 1, false, false},
};

static const size_t element_bytes[] = {[TD_PANEL_INT8] = 1, [TD_PANEL_FLOAT] = sizeof(float)};
static const size_t sum_bytes[] = {
    [TD_PANEL_INT8] = sizeof(int32_t), [TD_PANEL_FLOAT] = sizeof(float)};

const char *panels_text(const panels_case *p)
{
    static _Thread_local char text[128];
    static const char *const types[] = {"int8", "float"};
    snprintf(text, sizeof text, "%s m=%d n=%d k=%d pads %d %d %d count %d%s%s", types[p->type],
             p->m, p->n, p->k, p->pad_a, p->pad_b, p->pad_c, p->count,
             p->accumulate ? " accumulated" : "", p->a_is_shared ? " with one A" : "");
    return text;
}

/* So many bits that a type shorter than the panel's would lose some. */
static int64_t random_element(test_random *r, td_panel_type type, bool is_a)
{
    if (type == TD_PANEL_INT8) return random_int(r, 0, 9) ? random_int(r, -128, 127) : -128;
    return is_a ? random_int(r, -4095, 4095) : random_int(r, -2, 2);
}

static void put(void *to, td_panel_type type, bool is_sum, size_t i, int64_t value)
{
    if (type == TD_PANEL_FLOAT)
        ((float *)to)[i] = (float)value;
    else if (is_sum)
        ((int32_t *)to)[i] = (int32_t)value;
    else
        ((int8_t *)to)[i] = (int8_t)value;
}

static int64_t get(const void *from, td_panel_type type, size_t i)
{
    return type == TD_PANEL_FLOAT ? (int64_t)((const float *)from)[i] : ((const int32_t *)from)[i];
}

/* Copies from pageable memory may be under way when the call returns, and streams that do not block
 * do not wait for them. */
static void *upload(const int64_t *x, size_t count, td_panel_type type, bool is_sum)
{
    const size_t bytes = count * (is_sum ? sum_bytes : element_bytes)[type];
    void *host = malloc(bytes), *device = NULL;
    for (size_t i = 0; i < count; i++) put(host, type, is_sum, i, x[i]);
    if (cudaMalloc(&device, bytes) != cudaSuccess ||
        cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice) != cudaSuccess ||
        cudaStreamSynchronize(NULL) != cudaSuccess)
        device = NULL;
    free(host);
    return device;
}

static int64_t *random_elements(test_random *r, size_t count, td_panel_type type, bool is_a)
{
    int64_t *x = malloc(count * sizeof *x);
    for (size_t i = 0; i < count; i++) x[i] = random_element(r, type, is_a);
    return x;
}

panels_data panels_make(const panels_case *p, uint64_t seed)
{
    test_random r = random_start(seed);
    panels_data d = {.a_count = (size_t)(panels_stride_a(p) * p->count),
                     .b_count = (size_t)(panels_stride_b(p) * p->count),
                     .c_count = (size_t)(panels_stride_c(p) * p->count)};
    d.a = random_elements(&r, d.a_count, p->type, true);
    d.b = random_elements(&r, d.b_count, p->type, false);
    d.c = random_elements(&r, d.c_count, p->type, false);
    d.device_a = upload(d.a, d.a_count, p->type, false);
    d.device_b = upload(d.b, d.b_count, p->type, false);
    d.device_c = upload(d.c, d.c_count, p->type, true);
    if (cudaMalloc(&d.workspace, TD_CUBLAS_WORKSPACE) != cudaSuccess) d.workspace = NULL;
    return d;
}

void panels_free(panels_data *d)
{
    (void)cudaFree(d->device_a);
    (void)cudaFree(d->device_b);
    (void)cudaFree(d->device_c);
    (void)cudaFree(d->workspace);
    test_drop(d->a, d->b, d->c);
}

td_panels panels_of(const panels_case *p, const panels_data *d, size_t workspace_bytes)
{
    return (td_panels){
        .type = p->type,
        .m = p->m,
        .n = p->n,
        .k = p->k,
        .a = d->device_a,
        .b = d->device_b,
        .c = d->device_c,
        .layout.ld_a = p->k + p->pad_a,
        .layout.ld_b = p->k + p->pad_b,
        .layout.ld_c = p->m + p->pad_c,
        .layout.plane_a = p->a_is_shared ? 0 : panels_stride_a(p),
        .layout.plane_b = panels_stride_b(p),
        .layout.plane_c = panels_stride_c(p),
        .planes = p->count,
        .batch = 1,
        .slices = 1,
        .accumulate = p->accumulate,
        .workspace = {d->workspace, workspace_bytes},
    };
}

TEST_UNWATCHED static int64_t dot(const int64_t *a, const int64_t *b, int count)
{
    int64_t sum = 0;
    for (int l = 0; l < count; l++) sum += a[l] * b[l];
    return sum;
}

void panels_multiply(const panels_case *p, const panels_data *d, int times)
{
    for (int z = 0; z < p->count; z++)
        for (int j = 0; j < p->n; j++)
            for (int i = 0; i < p->m; i++) {
                const int64_t *a = d->a + (p->a_is_shared ? 0 : z * panels_stride_a(p)) +
                                   (int64_t)i * (p->k + p->pad_a);
                const int64_t *b = d->b + z * panels_stride_b(p) + (int64_t)j * (p->k + p->pad_b);
                int64_t *c = d->c + z * panels_stride_c(p) + (int64_t)j * (p->m + p->pad_c) + i;
                const int64_t sum = dot(a, b, p->k);
                *c = p->accumulate ? *c + times * sum : sum;
            }
}

int64_t panels_difference(const panels_case *p, const panels_data *d)
{
    const size_t bytes = d->c_count * sum_bytes[p->type];
    void *got = malloc(bytes);
    int64_t at = -1;
    if (cudaMemcpy(got, d->device_c, bytes, cudaMemcpyDeviceToHost) != cudaSuccess) at = -2;
    for (size_t i = 0; i < d->c_count && at == -1; i++)
        if (get(got, p->type, i) != d->c[i]) at = (int64_t)i;
    free(got);
    return at;
}
