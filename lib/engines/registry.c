#include "engine.h"

#include <string.h>

const td_engine *const td_engines[] = {&td_engine_native,   &td_engine_df,
                                       &td_engine_ts,       &td_engine_dd,
                                       &td_engine_ds,       &td_engine_ozaki_sgemm,
                                       &td_engine_ozaki1,   &td_engine_ozaki2,
                                       &td_engine_faithful, NULL};

const td_engine td_engine_native = {
    .name = "native",
    .summary = "cuBLAS, only observed",
    .bound = "cuBLAS's",
};

const td_engine *td_engine_parse(const char *text, td_parameter *parameter)
{
    const char *colon = strchr(text, ':');
    const size_t length = colon ? (size_t)(colon - text) : strlen(text);
    *parameter = (td_parameter){0};
    for (const td_engine *const *e = td_engines; *e; e++) {
        if (strncmp((*e)->name, text, length) != 0 || (*e)->name[length] != '\0') continue;
        if ((*e)->parse) return (*e)->parse(colon ? colon + 1 : NULL, parameter) ? *e : NULL;
        return colon ? NULL : *e;
    }
    return NULL;
}
