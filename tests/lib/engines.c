#include "engine.h"

#include <stdlib.h>
#include <string.h>

/* Takes 2 to 18 after the name, 9 without. */
static bool parse_slices(const char *text, td_parameter *parameter)
{
    char *end;
    *parameter = (td_parameter){.count = 9, .is_given = text != NULL};
    if (!text) return true;
    const long number = strtol(text, &end, 10);
    parameter->count = (int)number;
    return end != text && *end == '\0' && number >= 2 && number <= 18;
}

static const td_engine native = {.name = "native", .summary = "stands for the native product"};
static const td_engine df = {.name = "df", .summary = "stands for an emulated product"};
static const td_engine slices = {.name = "slices",
                                 .summary = "stands for one with a parameter",
                                 .takes = "N",
                                 .parse = parse_slices};

const td_engine *const td_engines[] = {&native, &df, &slices, NULL};

const td_engine *td_engine_parse(const char *text, td_parameter *parameter)
{
    const size_t length = strcspn(text, ":");
    const char *rest = text[length] ? text + length + 1 : NULL;
    *parameter = (td_parameter){0};
    for (const td_engine *const *engine = td_engines; *engine; engine++) {
        if (strlen((*engine)->name) != length || strncmp((*engine)->name, text, length) != 0)
            continue;
        const bool is_good = (*engine)->parse ? (*engine)->parse(rest, parameter) : !rest;
        return is_good ? *engine : NULL;
    }
    return NULL;
}
