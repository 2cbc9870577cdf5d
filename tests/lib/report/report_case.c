#include "report_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/support/capture.h"
#include "tests/support/test.h"

td_options report_options;
char report_folder[64], report_path[192];

void open_report(const char *file)
{
    td_options_set_defaults(&report_options);
    assert_true(
        td_options_set(&report_options, TD_OPTION_REPORT, "file", file, TD_ORIGIN_ENVIRONMENT));
    td_report_open(&report_options, "1.2.3");
}

int set_up(void **state)
{
    (void)state;
    strcpy(report_folder, make_folder());
    snprintf(report_path, sizeof report_path, "%s/report.json", report_folder);
    return 0;
}

int tear_down(void **state)
{
    (void)state;
    remove_folder(report_folder);
    return 0;
}

td_report_key key_of(int64_t m, const char *reason)
{
    return (td_report_key){.entry = TD_ENTRY_cublasDgemm_v2,
                           .mode = "df",
                           .reason = reason,
                           .op_b = TD_OP_T,
                           .m = m,
                           .n = 2,
                           .k = 3,
                           .batch = 1};
}

td_record *call(int64_t m, const char *reason)
{
    const td_report_key key = key_of(m, reason);
    td_record *record = td_report_find(&key);
    td_report_count(record);
    return record;
}

bool holds(const char *expression)
{
    char command[1024];
    snprintf(command, sizeof command,
             "python3 -c 'import json, sys; r = json.load(open(\"%s\", encoding=\"utf-8\")); "
             "sys.exit(not (%s))'",
             report_path, expression);
    return system(command) == 0;
}
