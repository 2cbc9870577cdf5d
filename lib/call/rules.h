/* rules.h - TANDEM_RULES: a file of lines that give calls of a program their modes, by shape or
 * by caller. Pure: no CUDA calls.
 *
 *   # comment
 *   m=..127 -> native
 *   function=cublasDgemm m=4096 n=4096 k=1024.. -> ozaki2:15
 *   caller=libsolver.so* -> faithful
 *
 * The first line counts whose conditions all hold. A function's name may leave out its _v2. */
#ifndef TD_RULES_H
#define TD_RULES_H

#include <stdbool.h>

#include "../routine/entries.h"
#include "../routine/problem.h"
#include "../loader/site.h"
#include "../options/options.h"

typedef struct td_rules td_rules;

enum { TD_MOST_RULES = 1024 };

/* Reads the file; NULL after a line for each fault, with the file's name and the line's number,
 * what was wrong and what is allowed. o: what is in force without rules. */
td_rules *td_rules_read(const char *path, const td_options *o);

void td_rules_free(td_rules *rules);

/* One warning if calls never come to a rule, because an earlier one fits all of them. */
void td_rules_warn_unused(const td_rules *rules, const char *path);

/* True if a rule asks for the caller: else td_rules_find needs no site. */
bool td_rules_ask_caller(const td_rules *rules);

/* The options with the mode of the rule that fits a call; NULL if none does. They live as long
 * as the rules. site may be NULL: not known. */
const td_options *td_rules_find(const td_rules *rules, td_entry entry, const td_problem *p,
                                const td_site *site);

#endif
