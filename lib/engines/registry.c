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
    .bound = "cuBLAS's",
    .cost = td_cost_native,
    .bits = td_bits_fp64,
    .proven = td_proven_native,
};

const td_engine td_engine_auto = {
    .name = "auto",
    .summary =
        "for each product the fastest of the others, native among them, by a model of the device",
    .bound = "what TANDEM_ACCURACY asks for; as good as native's without it",
    .is_choice = true,
};
