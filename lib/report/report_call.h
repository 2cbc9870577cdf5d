/* report_call.h - what was counted of calls, as the fields of the JSON and of the table. Pure: no
 * CUDA calls. */
#ifndef TD_REPORT_CALL_H
#define TD_REPORT_CALL_H

#include "fields.h"
#include "report_internal.h"

enum { TD_SITE_TEXT = 2 * TD_SITE_BYTES + 32 };

/* Room for the texts of a line that its record does not have. */
typedef struct {
    td_letters_text letters;
    char site[TD_SITE_TEXT];
} td_report_texts;

/* A line of calls, whose texts are in *texts, or where the record has them. */
td_report_call td_report_call_of(const td_record *record, td_report_texts *texts);

/* A sentence that stands in every report of the host device. */
extern const char td_host_device_note[];

/* Two runs may differ in their decisions, and a sentence that says so. */
bool td_report_is_adaptive(const td_report *report);
extern const char td_adaptive_note[];

#endif
