#include "table.h"

#include <stdarg.h>

#include "../../examples/common.h"

bool table_open(table *t, const char *csv)
{
    if (!csv) return true;
    t->csv = fopen(csv, "w");
    if (!t->csv) complain("%s cannot be written", csv);
    return t->csv != NULL;
}

bool table_close(table *t, const char *csv)
{
    const bool written = !t->csv || fclose(t->csv) == 0;
    t->csv = NULL;
    if (!written) complain("%s could not be written", csv);
    return written;
}

static void print(FILE *file, const char *start, const char *between, const char *end,
                  const table_line *line)
{
    for (int i = 0; i < line->count; i++)
        fprintf(file, "%s%s", i ? between : start, line->texts[i]);
    fputs(end, file);
    fflush(file);
}

void table_print(const table *t, const table_line *line)
{
    print(stdout, "| ", " | ", " |\n", line);
    if (t->csv) print(t->csv, "", ",", "\n", line);
}

void table_remark(const table *t, const char *format, ...)
{
    char line[320];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    printf("%s\n", line);
    if (t->csv) fprintf(t->csv, "# %s\n", line);
}

void table_print_head(const table *t)
{
    table_line names = {.count = 0}, rule = {.count = 0};
    for (int i = 0; i < t->columns; i++) {
        table_put(&names, "%s", t->names[i]);
        table_put(&rule, "---");
    }
    printf("\n");
    table_print(t, &names);
    print(stdout, "|", "|", "|\n", &rule);
}

void table_put(table_line *line, const char *format, ...)
{
    if (line->count == TABLE_COLUMNS) return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line->texts[line->count++], TABLE_WIDTH, format, arguments);
    va_end(arguments);
}
