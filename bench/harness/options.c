#include "options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../examples/common.h"

static void complain_of(const char *unknown, const bench_option *options)
{
    char text[256] = "";
    for (const bench_option *o = options; o->name; o++) {
        const size_t at = strlen(text);
        snprintf(text + at, sizeof text - at, "%s%s%s%s",
                 o == options ? ""
                 : o[1].name  ? ", "
                              : " and ",
                 o->name, o->value ? " " : "", o->value ? o->value : "");
    }
    complain("unknown option %s; there are %s", unknown, text);
}

bool bench_options(const bench_option *options, int argc, char **argv, int *count)
{
    *count = 0;
    for (int i = 1; i < argc; i++) {
        const bench_option *o = options;
        while (o->name && strcmp(argv[i], o->name) != 0) o++;
        if (o->flag) {
            *o->flag = true;
        } else if (o->name) {
            if (i + 1 == argc) {
                complain("%s wants %s after it", o->name, o->value);
                return false;
            }
            *o->text = argv[++i];
        } else if (argv[i][0] == '-') {
            complain_of(argv[i], options);
            return false;
        } else {
            argv[(*count)++] = argv[i];
        }
    }
    return true;
}

int bench_main(int argc, char **argv, bool (*run)(const char *csv))
{
    const char *csv = NULL;
    int words;
    if (!bench_options((bench_option[]){{"--csv", "FILE", &csv, NULL}, {NULL, NULL, NULL, NULL}},
                       argc, argv, &words))
        return BAD_OPTIONS;
    if (words == 0) return run(csv) ? EXIT_SUCCESS : EXIT_FAILURE;
    complain("'%s' is no option; there is --csv FILE", argv[0]);
    return BAD_OPTIONS;
}
