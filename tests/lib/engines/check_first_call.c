/* check_first_call.c - the first product in a context loads all kernels that products of its mode
 * may need, and none of those that only others need. The host device counts them. What C becomes of
 * such products check_dgemm.c compares, in every mode with every kind of data. */
#include "tests/support/test.h"

#include "hostgpu/executor.h"
#include "tests/kernels/support/checked.h"
#include "tests/kernels/support/device.h"
#include "tests/kernels/support/modes.h"

/* Plain; only scaled; long sums in passes; wide, special and hostile data; many tiles. */
static const product products[] = {
    {"both signs", TANDEM_OP_N, TANDEM_OP_T, 65, 17, 100, 1, 2, 3, 1, 1.5, -0.5, 61, false},
    {"both signs", TANDEM_OP_N, TANDEM_OP_N, 5, 7, 0, 0, 0, 0, 0, 1, 0.5, 1, false},
    {"both signs", TANDEM_OP_T, TANDEM_OP_N, 20, 70, 3000, 0, 0, 0, 0, 1, 0, 2, false},
    {"both signs", TANDEM_OP_T, TANDEM_OP_T, 300, 200, 70, 0, 0, 0, 0, 1, 0, 3, false},
};
enum { PRODUCTS = sizeof products / sizeof *products };

static void compute(const mode *m, const product *of)
{
    problem p = problem_make(of);
    test_matrix c = checked_compute(m, &p);
    matrix_free(&c);
    problem_free(&p);
}

static void compute_all(const mode *m)
{
    for (int i = 1; i < PRODUCTS; i++) compute(m, &products[i]);
    for (int d = 0; d < distribution_count; d++) {
        product of = products[0];
        if (distributions[d].overflows && strcmp(m->name, "fp64") == 0) continue;
        of.data = distributions[d].name;
        compute(m, &of);
    }
}

TEST(a_first_call_loads_what_its_mode_needs)
{
    size_t most = 0;
    const mode *m = NULL;
    while ((m = mode_after(m))) {
        CHECK_CUDA(cudaDeviceReset());
        CHECK(hostgpu_loaded_kernels() == 0, "a new context");
        compute(m, &products[0]);
        const size_t loaded = hostgpu_loaded_kernels();
        if (loaded > most) most = loaded;
        test_note("%s: %zu kernels", m->name, loaded);
        compute_all(m);
        CHECK(hostgpu_loaded_kernels() == loaded, "%s: later products have loaded %zu more",
              m->name, hostgpu_loaded_kernels() - loaded);
    }
    CHECK_CUDA(cudaDeviceReset());
    while ((m = mode_after(m))) compute(m, &products[0]);
    CHECK(hostgpu_loaded_kernels() > most, "all modes together: %zu kernels, one: up to %zu",
          hostgpu_loaded_kernels(), most);
    test_note("all modes: %zu kernels", hostgpu_loaded_kernels());
}
