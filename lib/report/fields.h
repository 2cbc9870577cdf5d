/* fields.h - the objects of a report's JSON as structures, and tables of their members, all made
 * from json_fields.def. The library fills the structures and prints them; `tandem report` reads,
 * merges and shows them. Pure: no CUDA calls. */
#ifndef TD_FIELDS_H
#define TD_FIELDS_H

#include <stdbool.h>
#include <stddef.h>

#include "letters.h"

/* How a member is kept: as a text, a char, a long long (INTEGER and COUNT), a double (SECONDS and
 * NUMBER), a bool, or as the structure of the object that it is. A LIST is not kept. */
typedef enum {
    TD_TEXT,
    TD_LETTER,
    TD_INTEGER,
    TD_COUNT,
    TD_SECONDS,
    TD_NUMBER,
    TD_FLAG,
    TD_TOTALS,
    TD_FORECAST,
    TD_VERIFIED,
    TD_LIST
} td_field_kind;

typedef enum { TD_NULL_NEVER, TD_NULL_NONE, TD_NULL_INFINITE } td_field_null;
typedef enum { TD_ALWAYS, TD_LATER, TD_OPTIONAL } td_field_need;

/* How one object is made of two: json_fields.def says what each means. */
typedef enum {
    TD_KIND,
    TD_MODE,
    TD_SEVERAL,
    TD_SUM,
    TD_LARGEST,
    TD_MEAN,
    TD_MEMBERS,
    TD_FIRST
} td_field_merge;

/* A member of an object. Tables of them end with a name of NULL. */
typedef struct td_field {
    const char *name;
    td_field_kind kind;
    td_field_null null;
    td_field_need need;
    td_field_merge merge;
    size_t offset;                       /* of its place in the object's structure */
    const char *type, *schema, *meaning; /* as json_fields.def has them */
    const struct td_field *items;        /* the members of a LIST's objects; else NULL */
} td_field;

extern const td_field td_head_fields[], td_device_fields[], td_total_fields[], td_call_fields[],
    td_forecast_fields[], td_verified_fields[];

/* The members of the object that a field is, or of the objects that it lists; or NULL. */
const td_field *td_field_members(const td_field *field);

/* A number that is not known: null in JSON. So is every other negative one; a text is "" then. */
enum { TD_UNKNOWN = -1 };

#define TD_KEPT_TEXT     const char *
#define TD_KEPT_LETTER   char
#define TD_KEPT_INTEGER  long long
#define TD_KEPT_COUNT    long long
#define TD_KEPT_SECONDS  double
#define TD_KEPT_NUMBER   double
#define TD_KEPT_FLAG     bool
#define TD_KEPT_TOTALS   struct td_report_totals
#define TD_KEPT_FORECAST struct td_report_forecast
#define TD_KEPT_VERIFIED struct td_report_verified

#define TYPE(name, kind, ...) typedef TD_KEPT_##kind td_type_##name;
#include "json_fields.def"

#define FIELD(name, type, ...) td_type_##type name;

typedef struct td_report_totals {
#define TOTAL FIELD
#include "json_fields.def"
} td_report_totals;

/* An object that may be null says first whether it is not. */
typedef struct td_report_forecast {
    bool is_known;
#define FORECAST FIELD
#include "json_fields.def"
} td_report_forecast;

typedef struct td_report_verified {
    bool is_known;
#define VERIFIED FIELD
#include "json_fields.def"
} td_report_verified;

typedef struct {
#define DEVICE FIELD
#include "json_fields.def"
} td_report_device;

typedef struct {
#define CALL FIELD
#include "json_fields.def"
} td_report_call;

typedef struct {
#define HEAD FIELD
#include "json_fields.def"
} td_report_head;

#undef FIELD

/* Adds an object to another one of the same members, each by its way of merging. */
void td_fields_merge(const td_field *fields, void *to, const void *from);

/* Less than, equal to or greater than 0 in some order of lines; 0 if they are to be merged:
 * `has_any_mode` says whatever their modes are. */
int td_report_call_compare(const td_report_call *a, const td_report_call *b, bool has_any_mode);

/* BLAS's letters for what is done to the operands of a line's calls: its `letters` or, where an
 * older version of Tandem has written none, those that its function takes. */
td_letters_text td_report_letters(const td_report_call *call);

/* The line's function without what the names of all begin with. */
const char *td_report_short_name(const td_report_call *call);

/* Why the line's mode is what it is; "" if it was asked for. */
const char *td_report_because(const td_report_call *call);

/* Returns `error`, one of the line's verified elements; TD_UNKNOWN if none was compared. */
double td_report_error(const td_report_call *call, double error);

/* The bound of the line's errors as a share of |A||B| alone: a unit in the last place of C is at
 * most 2^-52 of that. TD_UNKNOWN if there is none, or nothing was verified. */
double td_report_bound(const td_report_call *call);

#endif
