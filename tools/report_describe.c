#include "tools/report_describe.h"

#include <stdio.h>
#include <string.h>

#include "lib/report/fields.h"

/* ---- the schema ---- */

/* What holds between members of an object: the rest of its schema. */
static const char of_report[] =
    "\"if\": {\"properties\": {\"host_device\": {\"const\": true}}}, "
    "\"then\": {\"required\": [\"note\"]}, \"else\": {\"not\": {\"required\": [\"note\"]}}";
static const char of_call[] =
    "\"if\": {\"properties\": {\"mode\": {\"const\": \"native\"}}}, \"then\": {\"properties\": "
    "{\"native_reason\": {\"type\": \"string\"}, \"choice\": {\"type\": \"null\"}}}, "
    "\"else\": {\"properties\": {\"native_reason\": {\"type\": \"null\"}}}";

/* Members are objects with members: NOLINTBEGIN(misc-no-recursion) */

static void print_object(const td_field *fields, int indent);

static void print_property(const td_field *field, int indent)
{
    const td_field *members = td_field_members(field);
    const bool is_list = members && field->kind == TD_LIST;
    printf("%*s\"%s\": {%s%s", indent, "", field->name, field->schema,
           is_list ? ", \"items\": {\"type\": \"object\"" : "");
    if (members) print_object(members, indent + 2);
    printf(is_list ? "}}" : "}");
}

/* What follows the type in the schema of an object. */
static void print_object(const td_field *fields, int indent)
{
    const char *separator = "";
    printf(",\n%*s\"additionalProperties\": false,\n%*s\"required\": [", indent, "", indent, "");
    for (const td_field *f = fields; f->name; f++) {
        if (f->need == TD_OPTIONAL) continue;
        printf("%s\"%s\"", separator, f->name);
        separator = ", ";
    }
    printf("],\n%*s\"properties\": {\n", indent, "");
    for (const td_field *f = fields; f->name; f++) {
        print_property(f, indent + 2);
        printf("%s\n", f[1].name ? "," : "");
    }
    printf("%*s}", indent, "");
    if (fields == td_head_fields) printf(",\n%*s%s", indent, "", of_report);
    if (fields == td_call_fields) printf(",\n%*s%s", indent, "", of_call);
}

/* NOLINTEND(misc-no-recursion) */

void report_print_schema(void)
{
    printf("{\n  \"$schema\": \"http://json-schema.org/draft-07/schema#\",\n"
           "  \"title\": \"Report of Tandem (docs/report.md)\",\n  \"type\": \"object\"");
    print_object(td_head_fields, 2);
    printf("\n}\n");
}

/* ---- the page ---- */

/* A type's name as words. */
static void print_type(const char *separator, const char *type)
{
    printf("%s", separator);
    for (; *type; type++) putchar(*type == '_' ? ' ' : *type);
}

/* One row for a member and those after it without a meaning of their own; returns the next one. */
static const td_field *print_row(const td_field *first)
{
    const td_field *end = first;
    do printf("%s`%s`", end == first ? "| " : ", ", end->name);
    while ((++end)->name && !end->meaning[0]);
    for (const td_field *f = first; f < end; f++)
        if (f == first || strcmp(f->type, f[-1].type) != 0)
            print_type(f == first ? " | " : ", ", f->type);
    printf(" | %s |\n", first->meaning);
    return end;
}

/* Members are objects with members: NOLINTBEGIN(misc-no-recursion) */

static void print_table(const td_field *fields)
{
    printf("\n| member | type | meaning |\n|---|---|---|\n");
    for (const td_field *f = fields; f->name;) f = print_row(f);
    for (const td_field *f = fields; f->name; f++) {
        if (!td_field_members(f)) continue;
        printf("\n## `%s`\n", f->name);
        print_table(td_field_members(f));
    }
}

/* NOLINTEND(misc-no-recursion) */

void report_print_fields(void)
{
    printf("# Members of a report\n\n"
           "The JSON of docs/report.md, member by member; docs/report.schema.json says the same to "
           "programs (JSON\nSchema, draft 7). Both are made from lib/report/json_fields.def: this "
           "page is the output of `tandem report --fields`,\n"
           "the schema that of `tandem report --schema`.\n");
    print_table(td_head_fields);
}
