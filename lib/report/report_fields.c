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

static char op_letter(td_op op, bool is_conjugate)
{
    if (is_conjugate) return 'R';
    return (unsigned)op <= TD_OP_C ? "NTC"[op] : '?';
}

td_letters td_letters_of_call(const td_report_key *key)
{
    const bool has_triangle =
        key->kind >= TD_SYMMETRIC_PRODUCT && key->kind <= TD_TRIANGULAR_PRODUCT;
    const bool has_diagonal =
        key->kind == TD_TRIANGULAR_SOLVE || key->kind == TD_TRIANGULAR_PRODUCT;
    td_letters l = {.op_a = op_letter(key->op_a, key->is_conjugate_a),
                    .op_b = op_letter(key->op_b, key->is_conjugate_b)};
    if (has_diagonal || key->kind == TD_SYMMETRIC_PRODUCT)
        l.side = key->side == TD_LEFT ? 'L' : 'R';
    if (has_triangle) l.triangle = key->triangle == TD_LOWER ? 'L' : 'U';
    if (has_diagonal) l.diagonal = key->diagonal == TD_UNIT_DIAGONAL ? 'U' : 'N';
    return l;
}

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
    const td_letters letters = td_letters_of_call(key);
    snprintf(text, TD_CALL_TEXT, "%s %s m=%" PRId64 " n=%" PRId64 " k=%" PRId64 "%s, mode %s",
             td_entries[key->entry].name, td_letters_print(&letters).text, key->m, key->n, key->k,
             batch, key->mode);
}
