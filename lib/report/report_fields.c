#include "report_fields.h"

#include <inttypes.h>
#include <stdio.h>

const char td_host_device_note[] =
    "The products ran on the host device, in this machine's processor and memory: the times say "
    "nothing about a GPU.";

const char td_adaptive_note[] =
    "Strategy adaptive decides by how earlier calls ended: another run may give other bits.";

bool td_report_is_adaptive(const td_report *report)
{
    return report->options->strategy == TD_STRATEGY_ADAPTIVE;
}

char td_op_letter(td_op op) { return (unsigned)op <= TD_OP_C ? "NTC"[op] : '?'; }

bool td_call_has_triangle(const td_report_key *key)
{
    return key->kind >= TD_SYMMETRIC_PRODUCT && key->kind <= TD_TRIANGULAR_PRODUCT;
}

bool td_call_has_diagonal(const td_report_key *key)
{
    return key->kind == TD_TRIANGULAR_SOLVE || key->kind == TD_TRIANGULAR_PRODUCT;
}

bool td_call_has_side(const td_report_key *key)
{
    return key->kind == TD_SYMMETRIC_PRODUCT || td_call_has_diagonal(key);
}

char td_side_letter(const td_report_key *key) { return key->side == TD_LEFT ? 'L' : 'R'; }

char td_diagonal_letter(const td_report_key *key)
{
    return key->diagonal == TD_UNIT_DIAGONAL ? 'U' : 'N';
}

char td_triangle_letter(const td_report_key *key) { return key->triangle == TD_LOWER ? 'L' : 'U'; }

td_number td_count_text(bool is_counted, unsigned long long count, const char *otherwise)
{
    td_number n;
    if (is_counted)
        snprintf(n.text, sizeof n.text, "%llu", count);
    else
        snprintf(n.text, sizeof n.text, "%s", otherwise);
    return n;
}

double td_mean_error(double sum, const td_sample_counts *samples)
{
    const unsigned long long count = samples->elements - samples->special;
    return count ? sum / (double)count : 0.0;
}

void td_report_print_call(const td_report_key *key, char text[TD_CALL_TEXT])
{
    char batch[32] = "";
    if (key->batch != 1) snprintf(batch, sizeof batch, " batch=%" PRId64, key->batch);
    snprintf(text, TD_CALL_TEXT, "%s %c%c m=%" PRId64 " n=%" PRId64 " k=%" PRId64 "%s, mode %s",
             td_entries[key->entry].name, td_op_letter(key->op_a), td_op_letter(key->op_b), key->m,
             key->n, key->k, batch, key->mode);
}
