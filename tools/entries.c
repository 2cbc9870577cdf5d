#include "tools/entries.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "lib/routine/entries.h"
#include "lib/routine/routines.h"
#include "lib/report/json_text.h"

enum { NAME_BYTES = 64 };

static const td_family native = TD_FAMILY_COUNT; /* of a function that is not intercepted */

/* A function, and what becomes of it. */
typedef struct {
    char name[NAME_BYTES];
    td_family family; /* or native */
    td_cause cause;   /* why it stays native, if it does */
    bool is_fp64;     /* or of other types */
} row;

typedef void use_row(const row *r, void *context);

static td_family family_of(const char *name)
{
    for (int e = 0; e < TD_ENTRY_COUNT; e++)
        if (strcmp(td_entries[e].name, name) == 0) return td_entries[e].family;
    return native;
}

static bool is_fp64(const td_routine *routine)
{
    return routine->type != TD_BINARY32 && routine->type != TD_COMPLEX_BINARY32;
}

static void walk_functions(const td_routine *routine, use_row *use, void *context)
{
    for (const char *const *suffix = routine->suffixes; *suffix; suffix++) {
        row r = {.cause = routine->cause, .is_fp64 = is_fp64(routine)};
        snprintf(r.name, sizeof r.name, "%s%s", routine->name, *suffix);
        r.family = family_of(r.name);
        use(&r, context);
    }
}

/* Every FP64 function, and then the intercepted ones of other types. */
static void walk(use_row *use, void *context)
{
    for (int i = 0; i < TD_ROUTINE_COUNT; i++)
        if (is_fp64(&td_routines[i])) walk_functions(&td_routines[i], use, context);
    for (int i = 0; i < TD_ROUTINE_COUNT; i++)
        if (!is_fp64(&td_routines[i])) walk_functions(&td_routines[i], use, context);
}

/* ---- lines ---- */

static void print_line(const row *r, void *unused)
{
    (void)unused;
    if (r->family == native)
        printf("%-32s native       %s\n", r->name, td_causes[r->cause]);
    else
        printf("%-32s intercepted  %s\n", r->name, td_families[r->family].name);
}

void entries_print_lines(void) { walk(print_line, NULL); }

/* ---- JSON ---- */

static void print_object(const row *r, void *count)
{
    const bool is_native = r->family == native;
    td_json_print_members(
        stdout, (*(int *)count)++ ? ",\n  {" : "\n  {",
        (const td_json_member[]){{"function", r->name},
                                 {"family", is_native ? NULL : td_families[r->family].name},
                                 {"native_because", is_native ? td_causes[r->cause] : NULL},
                                 {NULL, NULL}});
    printf("}");
}

void entries_print_json(void)
{
    int count = 0;
    printf("[");
    walk(print_object, &count);
    printf("\n]\n");
}

/* ---- Markdown ---- */

/* Rows of one family, FP64 or not, or native ones of one cause; and how many there were so far. */
typedef struct {
    td_family family;
    bool is_fp64;
    td_cause cause; /* of native ones */
    int count;
} list;

static void print_name(const row *r, void *of)
{
    list *l = of;
    if (r->family != l->family) return;
    if (r->family == native ? r->cause != l->cause : r->is_fp64 != l->is_fp64) return;
    printf("%s`%s`", l->count++ ? ", " : "", r->name);
}

static int print_names(list l)
{
    walk(print_name, &l);
    return l.count;
}

static void count_row(const row *r, void *of)
{
    list *l = of;
    l->count += r->family == native && r->cause == l->cause;
}

static bool is_in_use(td_cause cause)
{
    list l = {.family = native, .cause = cause};
    walk(count_row, &l);
    return l.count > 0;
}

void entries_print_markdown(void)
{
    printf(
        "# Entry points\n\n"
        "Every FP64 function of cuBLAS, cublasLt and cublasXt, as the toolkit's headers declare "
        "them, and those\nof cuSOLVER that Tandem makes. This page is the output of `tandem doctor "
        "--entries --markdown`.\n\n"
        "## Intercepted\n\n"
        "| family (`TANDEM_ENTRY`) | FP64 functions | functions of other types |\n|---|---|---|\n");
    for (td_family family = 0; family < TD_FAMILY_COUNT; family++) {
        printf("| `%s`: %s | ", td_families[family].name, td_families[family].summary);
        print_names((list){.family = family, .is_fp64 = true});
        printf(" | ");
        if (!print_names((list){.family = family})) printf("none");
        printf(" |\n");
    }
    printf("\n## Native\n\n| why | functions |\n|---|---|\n");
    for (td_cause cause = 0; cause < TD_CAUSE_COUNT; cause++) {
        if (!is_in_use(cause)) continue;
        printf("| %s | ", td_causes[cause]);
        print_names((list){.family = native, .cause = cause});
        printf(" |\n");
    }
}
