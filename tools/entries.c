#include "tools/entries.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "lib/routine/entries.h"
#include "lib/routine/routines.h"
#include "lib/report/json_text.h"

enum { NAME_BYTES = 64 };

static const td_family native = TD_FAMILY_COUNT; /* of a function that is not intercepted */
static const td_cause not_fp64 = TD_CAUSE_COUNT; /* of a function of other types */

/* A function, and what becomes of it. */
typedef struct {
    char name[NAME_BYTES];
    td_family family; /* or native */
    td_cause cause;   /* why it stays native, if it does; not_fp64: it is of other types */
} row;

typedef void use_row(const row *r, void *context);

static td_family family_of(const char *name)
{
    for (int e = 0; e < TD_ENTRY_COUNT; e++)
        if (strcmp(td_entries[e].name, name) == 0) return td_entries[e].family;
    return native;
}

/* Every FP64 function, in the order of their table. */
static void walk_fp64(use_row *use, void *context)
{
    for (int i = 0; i < td_routine_count; i++)
        for (const char *const *suffix = td_routines[i].suffixes; *suffix; suffix++) {
            row r = {.cause = td_routines[i].cause};
            snprintf(r.name, sizeof r.name, "%s%s", td_routines[i].name, *suffix);
            r.family = family_of(r.name);
            use(&r, context);
        }
}

static void mark_entry(const row *r, void *is_fp64)
{
    for (int e = 0; e < TD_ENTRY_COUNT; e++)
        if (strcmp(td_entries[e].name, r->name) == 0) ((bool *)is_fp64)[e] = true;
}

/* Every FP64 function, and then the intercepted ones of other types. */
static void walk(use_row *use, void *context)
{
    bool is_fp64[TD_ENTRY_COUNT] = {false};
    walk_fp64(use, context);
    walk_fp64(mark_entry, is_fp64);
    for (int e = 0; e < TD_ENTRY_COUNT; e++) {
        row r = {.family = td_entries[e].family, .cause = not_fp64};
        snprintf(r.name, sizeof r.name, "%s", td_entries[e].name);
        if (!is_fp64[e]) use(&r, context);
    }
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
    td_cause cause; /* of native ones, or not_fp64 */
    int count;
} list;

static void print_name(const row *r, void *of)
{
    list *l = of;
    const bool is_native = r->family == native;
    if (r->family != l->family) return;
    if (is_native ? r->cause != l->cause : (r->cause == not_fp64) != (l->cause == not_fp64)) return;
    printf("%s`%s`", l->count++ ? ", " : "", r->name);
}

static int print_names(td_family family, td_cause cause)
{
    list l = {family, cause, 0};
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
    list l = {native, cause, 0};
    walk(count_row, &l);
    return l.count > 0;
}

void entries_print_markdown(void)
{
    printf(
        "# Entry points\n\n"
        "Every FP64 function of cuBLAS, cublasLt and cublasXt, as the toolkit's headers declare "
        "them. This page\nis the output of `tandem doctor --entries --markdown`.\n\n"
        "## Intercepted\n\n"
        "| family (`TANDEM_ENTRY`) | FP64 functions | functions of other types |\n|---|---|---|\n");
    for (td_family family = 0; family < TD_FAMILY_COUNT; family++) {
        printf("| `%s`: %s | ", td_families[family].name, td_families[family].summary);
        print_names(family, 0);
        printf(" | ");
        if (!print_names(family, not_fp64)) printf("none");
        printf(" |\n");
    }
    printf("\n## Native\n\n| why | functions |\n|---|---|\n");
    for (td_cause cause = 0; cause < TD_CAUSE_COUNT; cause++) {
        if (!is_in_use(cause)) continue;
        printf("| %s | ", td_causes[cause]);
        print_names(native, cause);
        printf(" |\n");
    }
}
