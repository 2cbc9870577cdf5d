#include "sampled_product.h"

#include "tests/kernels/support/checked.h"
#include "tests/kernels/support/device.h"

sampled_product sampled_product_make(const char *name, const problem *p)
{
    sampled_product r = {
        .p = p, .a = device_upload(&p->a), .b = device_upload(&p->b), .c = device_upload(&p->c)};
    r.gemm = checked_call(p, r.a, r.b, r.c);
    r.gemm.stream = sampled_stream;
    r.call = sampled_call_of(&(mode){.name = name}, &r.gemm);
    return r;
}

void sampled_product_free(sampled_product *r) { device_free(r->a, r->b, r->c); }
