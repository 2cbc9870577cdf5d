#include "modes.h"

#include "../../examples/common.h"

/* The mode that a text names; false, with a message, if there is none. */
static bool parse(const char *text, bench_mode *mode)
{
    *mode = (bench_mode){.text = text, .engine = td_engine_parse(text, &mode->parameter)};
    if (!mode->engine) complain("there is no mode '%s'; `tandem modes` lists them", text);
    return mode->engine != NULL;
}

bool bench_modes_parse(int count, char **texts, int most, bench_mode *modes)
{
    if (count < 1 || count > most) {
        complain("%d modes given; allowed: 1 to %d", count, most);
        return false;
    }
    for (int i = 0; i < count; i++)
        if (!parse(texts[i], &modes[i])) return false;
    return true;
}
