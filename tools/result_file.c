#include "tools/result_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/say.h"

static bool is_stdout(const result_file *f) { return f->name && strcmp(f->name, "-") == 0; }

static bool open_one(result_file *f, const command_line *line)
{
    td_file_name full;
    f->name = line->values[f->option];
    if (!f->name || is_stdout(f)) return true;
    if (td_file_name_set(&full, f->name) && td_report_file_open(&f->file, &full)) return true;
    return complain("--%s is '%s', which cannot be written (%s)",
                    line->command->options[f->option].name, f->name, td_file_reason(errno));
}

/* A stream, such as /dev/null, takes several. */
static bool are_one(const result_file *a, const result_file *b)
{
    if (!a->name || !b->name || is_stdout(a) != is_stdout(b)) return false;
    return is_stdout(a) || (!a->file.is_stream && strcmp(a->file.path, b->file.path) == 0);
}

bool result_files_open(result_file files[], int count, const command_line *line)
{
    for (int i = 0; i < count; i++) {
        if (!open_one(&files[i], line)) return false;
        for (int j = 0; j < i; j++)
            if (are_one(&files[i], &files[j]))
                return complain("--%s and --%s name one file, '%s'",
                                line->command->options[files[j].option].name,
                                line->command->options[files[i].option].name, files[i].name);
    }
    return true;
}

bool result_files_have_stdout(const result_file files[], int count)
{
    int i = 0;
    while (i < count && !is_stdout(&files[i])) i++;
    return i < count;
}

static bool write_text(result_file *f, const char *text, size_t length)
{
    if (is_stdout(f)) return fwrite(text, 1, length, stdout) == length;
    return td_report_file_write(&f->file, false, text, length);
}

static bool write_one(result_file *f, const void *results)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (out) f->print(out, results);
    const bool is_written = out && fclose(out) == 0 && write_text(f, text, length);
    if (!is_written) complain("cannot write '%s' (%s)", f->name, td_file_reason(errno));
    free(text);
    return is_written;
}

bool result_files_write(result_file files[], int count, const void *results)
{
    bool are_written = true;
    for (int i = 0; i < count; i++)
        if (files[i].name && !write_one(&files[i], results)) are_written = false;
    return are_written;
}
