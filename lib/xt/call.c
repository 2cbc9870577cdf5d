#include "call.h"

#include "../engines/methods.h"

void td_xt_ask(const td_xt_call *x, const td_tile *tile, td_problem *call, td_question *q)
{
    if (!tile->is_solve) {
        td_ask_product(x->entry, &tile->product, call, q);
        call->caller = x->p.caller;
        return;
    }
    *call = tile->solve;
    td_ask(x->entry, call, q);
}

int64_t td_xt_block(const td_xt_call *x)
{
    __typeof__(&cublasXtGetBlockDim) get = TD_ORIGINAL(x->library, cublasXtGetBlockDim);
    int block = 0;
    return get && get(x->handle, &block) == CUBLAS_STATUS_SUCCESS && block > 0 ? block : 1;
}

bool td_xt_may_pin(const td_xt_call *x)
{
    __typeof__(&cublasXtGetPinningMemMode) get = TD_ORIGINAL(x->library, cublasXtGetPinningMemMode);
    cublasXtPinnedMemMode_t mode = CUBLASXT_PINNING_DISABLED;
    return get && get(x->handle, &mode) == CUBLAS_STATUS_SUCCESS &&
           mode == CUBLASXT_PINNING_ENABLED;
}
