#include "accuracy_modes.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* The papers' numbers of slices. */
enum { LEAST_SLICES = 9, MOST_SLICES = 12 };

bool modes_add(mode_list *list, const char *text)
{
    if (list->count == MOST_MODES) return false;
    mode *m = &list->modes[list->count];
    *m = (mode){.text = ""};
    if (snprintf(m->text, sizeof m->text, "%s", text) >= (int)sizeof m->text) return false;
    m->engine = td_engine_parse(text, &m->parameter);
    if (m->engine) list->count++;
    return m->engine != NULL;
}

static void add_engine(mode_list *list, const td_engine *engine)
{
    char text[2 * MODE_BYTES];
    modes_add(list, engine->name);
    for (int count = engine->least; engine->most > 0 && count <= engine->most; count++) {
        snprintf(text, sizeof text, "%s:%d", engine->name, count);
        modes_add(list, text);
    }
    if (!engine->way) return;
    snprintf(text, sizeof text, "%s:%s", engine->name, engine->way);
    modes_add(list, text);
}

/* slices: 0 for the arithmetic of mode ts. */
static void add_typed(mode_list *list, int slices)
{
    if (list->count == MOST_MODES) return;
    mode *m = &list->modes[list->count++];
    *m = (mode){.text = "ts typed",
                .parameter = {.count = slices, .is_given = slices != 0},
                .is_typed = true};
    if (slices) snprintf(m->text, sizeof m->text, "ozaki-sgemm:%d typed", slices);
}

void modes_add_all(mode_list *list)
{
    for (const td_engine *const *engine = td_engines; *engine; engine++)
        if (!(*engine)->is_choice) add_engine(list, *engine);
    add_typed(list, 0);
    for (int slices = LEAST_SLICES; slices <= MOST_SLICES; slices++) add_typed(list, slices);
}

bool mode_is_native(const mode *m) { return m->engine == &td_engine_native; }
bool mode_is_typed(const mode *m) { return m->is_typed; }
bool mode_is_drop_in(const mode *m) { return !m->is_typed; }
bool mode_is_plain(const mode *m) { return !m->is_typed && !strchr(m->text, ':'); }

bool mode_has_no_number(const mode *m)
{
    const char *colon = strchr(m->text, ':');
    return !m->is_typed && (!colon || !isdigit((unsigned char)colon[1]));
}

bool mode_is_sliced(const mode *m)
{
    if (m->is_typed) return false;
    if (mode_is_native(m) || strcmp(m->text, "ts") == 0) return true;
    return strcmp(m->engine->name, "ozaki-sgemm") == 0 && m->parameter.count >= LEAST_SLICES &&
           m->parameter.count <= MOST_SLICES;
}
