#include "report_call.h"

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

/* Native calls with invalid arguments are listed, too: '?' stands for no operation. */
static td_letters letters_of(const td_report_key *key)
{
    const td_kind_info *kind = &td_kinds[key->kind];
    td_letters l = {.op_a = op_letter(key->op_a, key->is_conjugate_a),
                    .op_b = op_letter(key->op_b, key->is_conjugate_b)};
    if (kind->has_side) l.side = key->side == TD_LEFT ? 'L' : 'R';
    if (kind->has_triangle) l.triangle = key->triangle == TD_LOWER ? 'L' : 'U';
    if (kind->has_diagonal) l.diagonal = key->diagonal == TD_UNIT_DIAGONAL ? 'U' : 'N';
    if (key->kind == TD_EIGEN) l.job = key->lacks_vectors ? 'N' : 'V';
    return l;
}

static const char *print_letters(const td_report_key *key, const td_letters *letters,
                                 td_letters_text *to)
{
    *to = td_letters_print(letters, td_kinds[key->kind].operations);
    return to->text;
}

/* ---- a line of calls ---- */

static const char *text_or_none(const char *text) { return text ? text : ""; }

static const char *find_site(const td_record *record, char text[TD_SITE_TEXT])
{
    text[0] = '\0';
    if (record->key.caller) td_site_print(record->key.caller, text);
    return text;
}

static td_report_forecast forecast_of(const td_forecast *f)
{
    if (!f->mode) return (td_report_forecast){.mode = ""};
    return (td_report_forecast){
        .is_known = true,
#define FORECAST(name, type, need, merge, value, ...) .name = (value),
#include "json_fields.def"
    };
}

/* The mean of what was added up over the elements of samples that have an error. */
static double mean_error(double sum, const td_sample_counts *samples)
{
    const unsigned long long count = samples->elements - samples->special;
    return count ? sum / (double)count : 0.0;
}

static td_report_verified verified_of(const td_record *record)
{
    const td_sample_counts samples = td_record_samples(record), *s = &samples;
    const td_sample_bound bound = record->key.bound;
    const td_kind kind = record->key.kind;
    const bool is_solve = kind == TD_TRIANGULAR_SOLVE || td_kind_is_factorisation(kind);
    return (td_report_verified){
        .is_known = s->elements || s->unjudged,
#define VERIFIED(name, type, need, merge, value, ...) .name = (value),
#include "json_fields.def"
    };
}

td_report_call td_report_call_of(const td_record *record, td_report_texts *texts)
{
    const td_report_key *key = &record->key;
    const td_letters letters = letters_of(key);
    return (td_report_call){
#define CALL(name, type, need, merge, value, ...) .name = (value),
#include "json_fields.def"
    };
}

void td_report_print_call(const td_report_key *key, char text[TD_CALL_TEXT])
{
    char batch[32] = "";
    if (key->batch != 1) snprintf(batch, sizeof batch, " batch=%" PRId64, key->batch);
    const td_letters letters = letters_of(key);
    td_letters_text buffer;
    const char *taken = print_letters(key, &letters, &buffer);
    snprintf(text, TD_CALL_TEXT, "%s%s%s m=%" PRId64 " n=%" PRId64 " k=%" PRId64 "%s, mode %s",
             td_entries[key->entry].name, taken[0] ? " " : "", taken, key->m, key->n, key->k, batch,
             key->mode);
}
