#include "tools/result_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/say.h"

bool result_file_open(result_file *f, const char *option, const char *name)
{
    td_file_name full;
    f->name = name;
    if (!name || strcmp(name, "-") == 0) return true;
    if (td_file_name_set(&full, name) && td_report_file_open(&f->file, &full)) return true;
    complain("--%s is '%s', which cannot be written (%s)", option, name, td_file_reason(errno));
    return false;
}

bool result_file_write(result_file *f, void (*print)(FILE *out, const void *context),
                       const void *context)
{
    char *text = NULL;
    size_t length = 0;
    if (!f->name) return true;
    FILE *out = open_memstream(&text, &length);
    if (out) print(out, context);
    const bool is_composed = out && fclose(out) == 0;
    const bool is_written =
        is_composed &&
        (strcmp(f->name, "-") == 0 ? fwrite(text, 1, length, stdout) == length
                                   : td_report_file_write(&f->file, false, text, length));
    if (!is_written) complain("cannot write '%s' (%s)", f->name, td_file_reason(errno));
    free(text);
    return is_written;
}
