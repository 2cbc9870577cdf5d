/* fuzz_options.c - the environment's parser: variables that are separated by zeros or ends of
 * lines. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "lib/options/options.h"

void fuzz_one(const uint8_t *data, size_t bytes)
{
    enum { MOST = 32 };
    char *environment[MOST + 1] = {NULL}, *copy = malloc(bytes + 1), *rest = copy, *variable;
    td_options o;
    int count = 0;
    if (!copy) return;
    memcpy(copy, data, bytes);
    copy[bytes] = '\0';
    while (count < MOST && (variable = strtok_r(rest, "\n", &rest)))
        environment[count++] = variable;
    const bool is_good = td_options_read(&o, environment);
    for (td_option_id id = 0; id < TD_OPTION_COUNT; id++) {
        char text[TD_OPTION_TEXT_BYTES];
        td_options again = o;
        td_option_print(&o, id, text, sizeof text);
        /* What is printed can be parsed. */
        if (is_good && !td_options_set(&again, id, "printed", text, TD_ORIGIN_CALL)) abort();
    }
    free(copy);
}
