/* check_arithmetic.c - the arithmetic headers as compiled for the device give the bits that they
 * give on the host, where the tests in tests/kernels/arithmetic hold them against MPFR: corner,
 * random and adversarial cases. */
#include "tests/support/test.h"

#include <stdlib.h>

#include "cases.h"
#include "arithmetic_kernel.h"
#include "tests/kernels/support/device.h"

enum { RANDOM_CASES = 100000 };

typedef struct {
    operation_in *in;
    size_t count, room;
} list;

static void append(const operation_in *in, void *context)
{
    list *l = context;
    if (l->count == l->room) {
        l->room = l->room ? 2 * l->room : 1024;
        l->in = realloc(l->in, l->room * sizeof *l->in);
    }
    l->in[l->count++] = *in;
}

static operation_out *compute(operation which, const list *l)
{
    operation_in *in = NULL;
    operation_out *out = NULL, *result = test_zeros(l->count, sizeof *result);
    CHECK_CUDA(cudaMalloc((void **)&in, l->count * sizeof *in));
    CHECK_CUDA(cudaMalloc((void **)&out, l->count * sizeof *out));
    CHECK_CUDA(cudaMemset(out, 0x5a, l->count * sizeof *out));
    CHECK_CUDA(cudaMemcpy(in, l->in, l->count * sizeof *in, cudaMemcpyHostToDevice));
    CHECK_CUDA(arithmetic_apply(which, (int64_t)l->count, in, out));
    device_check_clean(operation_names[which]);
    CHECK_CUDA(cudaMemcpy(result, out, l->count * sizeof *out, cudaMemcpyDeviceToHost));
    device_free(in, out);
    return result;
}

static void check_operation(operation which)
{
    list l = {0};
    cases_visit(which, test_seed(), test_cases(RANDOM_CASES), append, &l);
    operation_out *got = compute(which, &l);
    for (size_t i = 0; i < l.count; i++) {
        const operation_in *in = &l.in[i];
        const operation_out want = operation_apply(which, in);
        for (int p = 0; p < MAX_PARTS; p++)
            CHECK(got[i].part[p] == want.part[p],
                  "part %d of %s of (%a, %a, %a) (%a, %a, %a) (%a, %a, %a) %d is %016llx, on the "
                  "host %016llx; case %zu",
                  p, operation_names[which], in->a[0], in->a[1], in->a[2], in->b[0], in->b[1],
                  in->b[2], in->c[0], in->c[1], in->c[2], (int)in->e,
                  (unsigned long long)got[i].part[p], (unsigned long long)want.part[p], i);
    }
    test_note("%s: %zu cases", operation_names[which], l.count);
    CHECK(l.count > 0, "no cases");
    test_drop(got, l.in);
}

TEST(every_operation_gives_the_hosts_bits)
{
    for (operation which = 0; which < OPERATION_COUNT; which++) check_operation(which);
}
