#include "engine.h"

#define MODE(id, file) &td_engine_##id,
const td_engine *const td_engines[] = {
#include "modes.def"
    NULL};
#undef MODE

const td_engine td_engine_native = {
    .name = "native",
    .summary = "cuBLAS, only observed",
    .bound = "cuBLAS's",
};
