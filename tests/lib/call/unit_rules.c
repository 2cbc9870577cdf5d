/* TANDEM_RULES: which rule fits which call, and the line that each fault of a file gets. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/support/capture.h"
#include "tests/support/test.h"
#include "lib/call/rules.h"

static char folder[64], path[128];
static td_options options;

static int set_up(void **state)
{
    (void)state;
    td_options_set_defaults(&options);
    strcpy(folder, make_folder());
    snprintf(path, sizeof path, "%s/rules", folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    remove_folder(folder);
    return 0;
}

static td_rules *rules_of(const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
    return td_rules_read(path, &options);
}

/* The mode of the rule that fits, or "none". */
static const char *mode_of(const td_rules *rules, td_entry entry, int64_t m, int64_t k,
                           const td_site *site)
{
    const td_problem p = {.kind = TD_PRODUCT, .m = m, .n = 7, .k = k, .batch = 1};
    const td_options *found = td_rules_find(rules, entry, &p, site);
    return found ? found->mode.text : "none";
}

TEST(first_rule_that_fits_counts)
{
    static const td_site solver = {.symbol = "lu_solve", .object = "libsolver.so.3"},
                         other = {.object = "other"};
    td_rules *rules = rules_of("# comment\n"
                               "m=..127 -> native # small\n"
                               "\n"
                               "  m=200..300\tk=64   -> df\r\n"
                               "function=cublasDgemm* caller=libsolver.so* -> slices:7\n"
                               "caller=lu_* -> ways:fp64\n"
                               "m=5000.. n=7 batch=1 -> df");
    assert_non_null(rules);
    assert_true(td_rules_ask_caller(rules));
    const td_entry gemm = TD_ENTRY_cublasDgemm_v2, ex = TD_ENTRY_cublasGemmEx;
    assert_string_equal(mode_of(rules, gemm, 127, 1, NULL), "native");
    assert_string_equal(mode_of(rules, gemm, 128, 1, NULL), "none");
    assert_string_equal(mode_of(rules, gemm, 200, 64, NULL), "df");
    assert_string_equal(mode_of(rules, gemm, 300, 64, NULL), "df");
    assert_string_equal(mode_of(rules, gemm, 301, 64, NULL), "none");
    assert_string_equal(mode_of(rules, gemm, 200, 65, NULL), "none");
    assert_string_equal(mode_of(rules, gemm, 128, 1, &solver), "slices:7");
    assert_string_equal(mode_of(rules, ex, 128, 1, &solver), "ways:fp64");
    assert_string_equal(mode_of(rules, gemm, 128, 1, &other), "none");
    assert_string_equal(mode_of(rules, ex, 5000, 1, NULL), "df");
    td_rules_free(rules);
    rules = rules_of("");
    assert_non_null(rules);
    assert_false(td_rules_ask_caller(rules));
    assert_string_equal(mode_of(rules, gemm, 1, 1, NULL), "none");
    td_rules_free(rules);
}

/* cublasDgemm is what programs call cublasDgemm_v2, by the header; both are names in a rule, and so
 * are their patterns. */
TEST(names_may_leave_out_their_version)
{
    static const struct {
        const char *pattern;
        td_entry entry;
        bool fits;
    } rows[] = {
        {"cublasDgemm", TD_ENTRY_cublasDgemm_v2, true},
        {"cublasDgemm", TD_ENTRY_cublasDgemm, true},
        {"cublasDgemm", TD_ENTRY_cublasDgemm_v2_64, false},
        {"cublasDgemm_64", TD_ENTRY_cublasDgemm_v2_64, true},
        {"cublasDgemm_v2", TD_ENTRY_cublasDgemm_v2, true},
        {"cublasDgemm_v2", TD_ENTRY_cublasDgemm, false},
        {"cublas[DZ]trsm", TD_ENTRY_cublasZtrsm_v2, true},
        {"*syrk", TD_ENTRY_cublasDsyrk_v2, true},
        {"*syrk", TD_ENTRY_cublasDgemm_v2, false},
        {"cublasDsyrkx", TD_ENTRY_cublasDsyrkx, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[64];
        snprintf(text, sizeof text, "function=%s -> df", rows[i].pattern);
        td_rules *rules = rules_of(text);
        assert_non_null(rules);
        const char *wanted = rows[i].fits ? "df" : "none";
        assert_string_equal(mode_of(rules, rows[i].entry, 1, 1, NULL), wanted);
        td_rules_free(rules);
    }
}

/* All but the mode is what is in force. */
TEST(rules_change_the_mode_alone)
{
    options.workspace = 12345678;
    td_rules *rules = rules_of("-> slices:9");
    const td_problem p = {.kind = TD_PRODUCT};
    const td_options *found = td_rules_find(rules, TD_ENTRY_cublasDgemm_v2, &p, NULL);
    assert_non_null(found);
    assert_int_equal(found->workspace, 12345678);
    assert_int_equal(found->mode.parameter.count, 9);
    td_rules_free(rules);
}

TEST(every_fault_gets_its_line)
{
    static const struct {
        const char *line, *said;
    } bad[] = {
        {"m=1 native", "line 2: no '->' in 'm=1 native'; allowed: CONDITION... -> MODE"},
        {"m=1 ->", "line 2: no mode after '->'; allowed: CONDITION... -> MODE"},
        {"m=1 -> df ts", "line 2: more than a mode after '->': 'ts'"},
        {"m=1 -> fd", "line 2: the mode is 'fd'; allowed: native, df"},
        {"m=x -> df",
         "line 2: the condition is 'm=x'; allowed: m, n, k or batch = N, N..M, N.. or ..M"},
        {"m=.. -> df", "'m=..'"},
        {"m= -> df", "'m='"},
        {"m=3..2 -> df", "'m=3..2'"},
        {"m=-3 -> df", "'m=-3'"},
        {"m=1,2 -> df", "'m=1,2'"},
        {"m=99999999999999999999 -> df", "'m=99999999999999999999'"},
        {"l=4 -> df", "'l=4'"},
        {"function= -> df", "'function='"},
        {"caller -> df", "'caller'"},
        {"m=1 k=2 m=32 -> df",
         "line 2: a second condition of its name: 'm=32'; allowed: one of each"},
        {"caller=a caller=b -> df", "a second condition of its name: 'caller=b'"},
        {"caller=*/app* -> df", "line 2: the caller is '*/app*'; allowed: a function, or a file's "
                                "name without its folder"},
        {"function=cublasDgem -> df",
         "no function that Tandem intercepts is called 'cublasDgem'; allowed: names of `tandem "
         "doctor --entries`; did you mean cublasDgemm?"},
        {"function=cublasSgemm* -> df", "is called 'cublasSgemm*'; allowed: names of"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[256];
        snprintf(text, sizeof text, "m=3 -> df\n%s\nk=2 -> ways:9\n", bad[i].line);
        capture_begin();
        const td_rules *rules = rules_of(text);
        const char *said = capture_of(1);
        assert_null(rules);
        if (!strstr(said, bad[i].said)) print_error("said: %s, not %s\n", said, bad[i].said);
        assert_non_null(strstr(said, bad[i].said));
        assert_non_null(strstr(said, path));
    }
}

TEST(all_faults_are_said)
{
    capture_begin();
    assert_null(rules_of("nonsense\nm=1 -> df\nn=y -> df\n"));
    const char *said = capture_of(2);
    assert_non_null(strstr(said, "line 1: "));
    assert_non_null(strstr(said, "line 3: "));
}

/* A file that is something else does not fill the screen. */
TEST(many_faults_are_a_few_lines)
{
    int lines;
    capture_begin();
    assert_null(rules_of("m=1 -> df\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n"));
    const char *said = capture_end(&lines);
    assert_int_equal(lines, 9);
    assert_non_null(strstr(said, "behind line 9 was not read, as 8 lines have faults"));
    assert_null(strstr(said, "line 10"));
}

static char *many_rules(int count)
{
    char *text = malloc((size_t)count * 32 + 1), *at = text;
    assert_non_null(text);
    for (int i = 0; i < count; i++) at += sprintf(at, "m=%d -> df\n# nothing\n", i + 1);
    return text;
}

/* However many there are beyond the most that there may be, that is one line. */
TEST(too_many_rules_are_one_fault)
{
    char *text = many_rules(TD_MOST_RULES);
    td_rules *rules = rules_of(text);
    assert_non_null(rules);
    assert_string_equal(mode_of(rules, TD_ENTRY_cublasDgemm_v2, TD_MOST_RULES, 1, NULL), "df");
    td_rules_free(rules);
    free(text);
    text = many_rules(5000);
    capture_begin();
    assert_null(rules_of(text));
    const char *said = capture_of(1);
    assert_non_null(strstr(said, "has 5000 rules; allowed: up to 1024"));
    free(text);
}

/* The line that is said of rules; "" if nothing is. */
static const char *said_of(const char *text)
{
    int lines;
    td_rules *rules = rules_of(text);
    assert_non_null(rules);
    capture_begin();
    td_rules_warn_unused(rules, "FILE");
    const char *said = capture_end(&lines);
    td_rules_free(rules);
    assert_true(lines <= 1);
    return said;
}

TEST(rules_that_are_never_used_are_said)
{
    static const char *const silent[] = {
        "m=1..9 -> df\nm=1..10 -> native\n",
        "m=1 -> df\n-> native\n",
        "function=cublasDgemm_v2 -> df\nfunction=cublasDgemm -> native\n",
        "caller=a -> df\ncaller=b -> native\nk=5 -> native\n",
    };
    for (size_t i = 0; i < sizeof silent / sizeof *silent; i++)
        assert_string_equal(said_of(silent[i]), "");
    assert_non_null(strstr(said_of("m=..100 k=3.. -> df\n\nm=100 k=3 n=1 -> native\n"),
                           "FILE: 1 of 2 rules are never used; line 3, because line 1 comes first "
                           "and fits all of its calls"));
    assert_non_null(strstr(said_of("n=1 -> native\n-> df\nm=1 -> df\nk=1 -> native\n"),
                           "2 of 4 rules are never used; line 3, because line 2 "));
    assert_non_null(strstr(said_of("function=cublasDgemm* -> df\nfunction=cublasDgemm -> native\n"),
                           "line 2, because line 1 "));
    assert_non_null(
        strstr(said_of("caller=a -> df\ncaller=a m=1 -> native\n"), "line 2, because line 1 "));
}

TEST(a_file_that_is_not_there_is_named)
{
    capture_begin();
    assert_null(td_rules_read("/nonexistent/rules", &options));
    const char *said = capture_of(1);
    assert_non_null(strstr(said, "cannot read the rules '/nonexistent/rules' (No such file"));

    assert_int_equal(mkfifo(path, 0600), 0); /* that nobody writes to */
    capture_begin();
    assert_null(td_rules_read(path, &options));
    assert_null(td_rules_read(folder, &options));
    said = capture_of(2);
    assert_non_null(strstr(said, "(it is no regular file)"));
    assert_non_null(strstr(said, "(Is a directory)"));
}

int main(void) { return test_run(.before = set_up, .after = tear_down); }
