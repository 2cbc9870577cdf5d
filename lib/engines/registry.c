#include "engine.h"
#include "../model/cost.h"
#include "proven.h"

#define MODE(id, file) &td_engine_##id,
const td_engine *const td_engines[] = {
#include "modes.def"
    NULL};
#undef MODE

const td_engine td_engine_native = {
    .name = "native",
    .summary = "cuBLAS, only observed",
    .error = "cuBLAS's",
    .bound = &td_bound_native,
    .cost = td_cost_native,
};

const td_engine td_engine_auto = {
    .name = "auto",
    .summary =
        "for each call the fastest of the others, native among them, by a model of the device",
    .error = "what TANDEM_ACCURACY asks for; as good as native's without it",
    .is_choice = true,
};
