/* report_fields.h - what the JSON and the table of a report both show of a call. Pure: no CUDA
 * calls. */
#ifndef TD_REPORT_FIELDS_H
#define TD_REPORT_FIELDS_H

#include "letters.h"
#include "number_text.h"
#include "report_internal.h"

/* A sentence that stands in every report of the host device. */
extern const char td_host_device_note[];

/* Two runs may differ in their decisions, and a sentence that says so. */
bool td_report_is_adaptive(const td_report *report);
extern const char td_adaptive_note[];

/* Native calls with invalid arguments are listed, too: '?' stands for no operation. */
td_letters td_letters_of_call(const td_report_key *key);

/* `otherwise` where nothing was counted. */
td_number td_count_text(bool is_counted, unsigned long long count, const char *otherwise);

/* The mean of what was added up over the elements of samples that have an error. */
double td_mean_error(double sum, const td_sample_counts *samples);

#endif
