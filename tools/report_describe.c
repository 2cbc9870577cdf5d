#include "tools/report_describe.h"

#include <stdio.h>
#include <string.h>

#include "lib/report/fields.h"

/* ---- what fields.def says besides ---- */

/* A member, at the place that it has in its object's td_field table. */
typedef struct {
    const char *type;   /* "": it is a list */
    const char *schema; /* members of a JSON object */
    const char *meaning;
} member_text;

#define TYPE(name, kind, null, ...) static const char schema_of_##name[] = #__VA_ARGS__;
#include "lib/report/fields.def"

#define MEMBER(name, type, need, merge, value, meaning) {#type, schema_of_##type, meaning},

static const member_text head_texts[] = {
#define HEAD                              MEMBER
#define LIST(name, meaning, ...) {"", #__VA_ARGS__, meaning},
#include "lib/report/fields.def"
};

static const member_text device_texts[] = {
#define DEVICE MEMBER
#include "lib/report/fields.def"
};

static const member_text total_texts[] = {
#define TOTAL MEMBER
#include "lib/report/fields.def"
};

static const member_text call_texts[] = {
#define CALL MEMBER
#include "lib/report/fields.def"
};

static const member_text forecast_texts[] = {
#define FORECAST MEMBER
#include "lib/report/fields.def"
};

static const member_text verified_texts[] = {
#define VERIFIED MEMBER
#include "lib/report/fields.def"
};

/* An object of the report, and what holds between its members. */
typedef struct {
    const char *name; /* of the member that it is, or that is a list of it; NULL: the report */
    const td_field *fields;
    const member_text *texts;
    const char *conditions; /* further members of its schema */
} object;

static const object objects[] = {
    {NULL, td_head_fields, head_texts,
     "\"if\": {\"properties\": {\"host_device\": {\"const\": true}}}, "
     "\"then\": {\"required\": [\"note\"]}, \"else\": {\"not\": {\"required\": [\"note\"]}}"},
    {"devices", td_device_fields, device_texts, NULL},
    {"totals", td_total_fields, total_texts, NULL},
    {"calls", td_call_fields, call_texts,
     "\"if\": {\"properties\": {\"mode\": {\"const\": \"native\"}}}, \"then\": {\"properties\": "
     "{\"native_reason\": {\"type\": \"string\"}, \"choice\": {\"type\": \"null\"}}}, "
     "\"else\": {\"properties\": {\"native_reason\": {\"type\": \"null\"}}}"},
    {"predicted", td_forecast_fields, forecast_texts, NULL},
    {"verified", td_verified_fields, verified_texts, NULL},
};
enum { OBJECTS = sizeof objects / sizeof *objects };

/* The object that a member is or lists; NULL if it does neither, as a total does that is called
 * `verified`. */
static const object *object_of(const td_field *field)
{
    if (field->kind != TD_LIST && !td_field_members(field->kind)) return NULL;
    for (int i = 1; i < OBJECTS; i++)
        if (strcmp(field->name, objects[i].name) == 0) return &objects[i];
    return NULL;
}

/* ---- the schema ---- */

static void print_object(const object *of, int depth);

static void print_property(const td_field *field, const member_text *text, int depth)
{
    const object *is = object_of(field);
    printf("%*s\"%s\": {", 2 * depth, "", field->name);
    if (is && field->kind == TD_LIST)
        printf("\"type\": \"array\", \"items\": {\"type\": \"object\"");
    if (!is || field->kind != TD_LIST) printf("%s", text->schema);
    if (is) print_object(is, depth + 1);
    printf(is && field->kind == TD_LIST ? "}}" : "}");
}

/* What follows the type in the schema of an object. */
static void print_object(const object *of, int depth)
{
    const char *separator = "";
    printf(",\n%*s\"additionalProperties\": false,\n%*s\"required\": [", 2 * depth, "", 2 * depth,
           "");
    for (const td_field *f = of->fields; f->name; f++) {
        if (f->need == TD_OPTIONAL) continue;
        printf("%s\"%s\"", separator, f->name);
        separator = ", ";
    }
    printf("],\n%*s\"properties\": {\n", 2 * depth, "");
    for (int i = 0; of->fields[i].name; i++) {
        print_property(&of->fields[i], &of->texts[i], depth + 1);
        printf("%s\n", of->fields[i + 1].name ? "," : "");
    }
    printf("%*s}", 2 * depth, "");
    if (of->conditions) printf(",\n%*s%s", 2 * depth, "", of->conditions);
}

void report_print_schema(void)
{
    printf("{\n  \"$schema\": \"http://json-schema.org/draft-07/schema#\",\n"
           "  \"title\": \"Report of Tandem (docs/report.md)\",\n  \"type\": \"object\"");
    print_object(&objects[0], 1);
    printf("\n}\n");
}

/* ---- the page ---- */

/* A type's name as words. */
static void print_words(const char *name)
{
    for (; *name; name++) putchar(*name == '_' ? ' ' : *name);
}

/* A row for a member and for those after it that have no meaning of their own. */
static void print_rows(const object *of)
{
    for (int i = 0; of->fields[i].name; i++) {
        const bool is_meant = of->texts[i].meaning[0] != '\0';
        printf(is_meant ? "| `%s`" : ", `%s`", of->fields[i].name);
        if (of->fields[i + 1].name && !of->texts[i + 1].meaning[0]) continue;
        int first = i;
        while (!of->texts[first].meaning[0]) first--;
        printf(" | ");
        for (int type = first; type <= i; type++) {
            if (type > first && strcmp(of->texts[type].type, of->texts[type - 1].type) == 0)
                continue;
            printf(type > first ? ", " : "");
            print_words(of->texts[type].type[0] ? of->texts[type].type : "list");
        }
        printf(" | %s |\n", of->texts[first].meaning);
    }
}

void report_print_fields(void)
{
    printf(
        "# Members of a report\n\n"
        "The JSON of docs/report.md, member by member; docs/report.schema.json says the same to "
        "programs (JSON\nSchema, draft 7). Both are made from lib/report/fields.def: this page is "
        "the output of `tandem report --fields`,\nthe schema that of `tandem report --schema`.\n");
    for (int i = 0; i < OBJECTS; i++) {
        if (objects[i].name) printf("\n## `%s`\n", objects[i].name);
        printf("\n| member | type | meaning |\n|---|---|---|\n");
        print_rows(&objects[i]);
    }
}
