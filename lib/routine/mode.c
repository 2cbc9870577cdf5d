/* mode.c - how a mode is written. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mode.h"

const char *td_mode_usage(const td_engine *engine, char text[TD_MODE_TEXT])
{
    char range[16] = "";
    if (engine->most > 0) snprintf(range, sizeof range, "%d..%d", engine->least, engine->most);
    const char *way = engine->way ? engine->way : "";
    if (range[0] || way[0])
        snprintf(text, TD_MODE_TEXT, "%s[:%s%s%s]", engine->name, range,
                 range[0] && way[0] ? "/" : "", way);
    else
        snprintf(text, TD_MODE_TEXT, "%s", engine->name);
    return text;
}

static bool parse_count(const td_engine *engine, const char *text, td_parameter *parameter)
{
    char *end;
    if (engine->most == 0 || *text < '0' || *text > '9')
        return false; /* strtol takes signs and spaces */
    const long value = strtol(text, &end, 10);
    if (*end != '\0' || value < engine->least || value > engine->most) return false;
    *parameter = (td_parameter){.count = (int)value, .is_given = true};
    return true;
}

const td_engine *td_engine_parse(const char *text, td_parameter *parameter)
{
    const size_t length = strcspn(text, ":");
    *parameter = (td_parameter){0};
    for (const td_engine *const *e = td_engines; *e; e++) {
        const td_engine *engine = *e;
        if (strlen(engine->name) != length || strncmp(engine->name, text, length) != 0) continue;
        if (text[length] == '\0') return engine;
        parameter->is_other_way = engine->way && strcmp(text + length + 1, engine->way) == 0;
        if (parameter->is_other_way || parse_count(engine, text + length + 1, parameter))
            return engine;
    }
    return NULL;
}
