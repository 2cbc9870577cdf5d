/* The table of options: every row's default and printed form can be parsed again, and every bad
 * value is refused with one line that names the variable, the value and what is allowed. */
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "tests/lib/support/capture.h"
#include "tests/support/test.h"
#include "lib/routine/entries.h"
#include "lib/options/options.h"

/* The one variable of an environment, "NAME=value". */
static bool read_one(td_options *o, const char *name, const char *value)
{
    char variable[2 * TD_PATH_BYTES];
    char *environment[] = {variable, NULL};
    snprintf(variable, sizeof variable, "%s=%s", name, value);
    return td_options_read(o, environment);
}

static const char *print(const td_options *o, td_option_id id)
{
    static char text[TD_OPTION_TEXT_BYTES];
    td_option_print(o, id, text, sizeof text);
    return text;
}

TEST(rows_are_complete)
{
    for (td_option_id id = 0; id < TD_OPTION_COUNT; id++) {
        const td_option *row = &td_option_table[id];
        char allowed[512];
        td_option_allowed(id, allowed, sizeof allowed);
        assert_memory_equal(row->name, "TANDEM_", 7);
        assert_true(strlen(allowed) > 0 && strlen(allowed) < sizeof allowed - 1);
        assert_true(strlen(row->help) > 0);
        for (td_option_id other = 0; other < id; other++)
            assert_string_not_equal(row->name, td_option_table[other].name);
    }
}

TEST(defaults_print_as_the_table_says)
{
    td_options o;
    td_options_set_defaults(&o);
    assert_string_equal(o.mode.engine->name, "native");
    for (td_option_id id = 0; id < TD_OPTION_COUNT; id++) {
        assert_string_equal(print(&o, id), td_option_table[id].fallback);
        assert_int_equal(o.origins[id], TD_ORIGIN_DEFAULT);
    }
}

static const struct {
    td_option_id id;
    const char *text;
    const char *printed;
} good[] = {
    {TD_OPTION_DLSYM, "on", "on"},
    {TD_OPTION_DLSYM, "off", "off"},
    {TD_OPTION_MODE, "native", "native"},
    {TD_OPTION_MODE, "df", "df"},
    {TD_OPTION_MODE, "slices", "slices"},
    {TD_OPTION_MODE, "slices:7", "slices:7"},
    {TD_OPTION_MODE, "slices:2", "slices:2"},
    {TD_OPTION_MODE, "slices:18", "slices:18"},
    {TD_OPTION_MODE, "ways:9", "ways:9"},
    {TD_OPTION_MODE, "ways:fp64", "ways:fp64"},
    {TD_OPTION_ACCURACY, "fp64", "fp64"},
    {TD_OPTION_ACCURACY, "faithful", "faithful"},
    {TD_OPTION_ACCURACY, "10", "10"},
    {TD_OPTION_ACCURACY, "52", "52"},
    {TD_OPTION_STRATEGY, "auto", "auto"},
    {TD_OPTION_STRATEGY, "eager", "eager"},
    {TD_OPTION_STRATEGY, "performant", "performant"},
    {TD_OPTION_STRATEGY, "reproducible", "reproducible"},
    {TD_OPTION_WORKSPACE, "auto", "auto"},
    {TD_OPTION_WORKSPACE, "2097152", "2M"},
    {TD_OPTION_WORKSPACE, "2097153", "2097153"},
    {TD_OPTION_WORKSPACE, "2048k", "2M"},
    {TD_OPTION_WORKSPACE, "2049K", "2049k"},
    {TD_OPTION_WORKSPACE, "3m", "3M"},
    {TD_OPTION_WORKSPACE, "64G", "64G"},
    {TD_OPTION_WORKSPACE, "4096g", "4096G"},
    {TD_OPTION_WORKSPACE, "18446744073709551615", "18446744073709551615"},
    {TD_OPTION_WORKSPACE, "17179869183G", "17179869183G"},
    {TD_OPTION_VERIFY, "off", "off"},
    {TD_OPTION_VERIFY, "sample", "sample"},
    {TD_OPTION_VERIFY, "sample:64", "sample"},
    {TD_OPTION_VERIFY, "sample:1", "sample:1"},
    {TD_OPTION_VERIFY, "sample:65536", "sample:65536"},
    {TD_OPTION_VERIFY, "full", "full"},
    {TD_OPTION_VERIFY_DUMP, "none", "none"},
    {TD_OPTION_VERIFY_DUMP, "a folder", "a folder"},
    {TD_OPTION_GRAPH_BRANCH, "on", "on"},
    {TD_OPTION_GRAPH_BRANCH, "off", "off"},
    {TD_OPTION_SITES, "on", "on"},
    {TD_OPTION_SITES, "off", "off"},
    {TD_OPTION_RULES, "none", "none"},
    {TD_OPTION_RULES, "r.txt", "r.txt"},
    {TD_OPTION_LOG, "error", "error"},
    {TD_OPTION_LOG, "debug", "debug"},
    {TD_OPTION_LOG, "info:/tmp/a:b", "info:/tmp/a:b"},
    {TD_OPTION_REPORT, "none", "none"},
    {TD_OPTION_REPORT, "-", "-"},
    {TD_OPTION_REPORT, "a b.json", "a b.json"},
    {TD_OPTION_REPORT_EVERY, "10", "10"},
    {TD_OPTION_REPORT_EVERY, "0", "0"},
    {TD_OPTION_REPORT_EVERY, "86400", "86400"},
    {TD_OPTION_REPORT_EVERY, "never", "never"},
    {TD_OPTION_ENTRY, "all", "all"},
    {TD_OPTION_ENTRY, "gemm", "gemm"},
    {TD_OPTION_ENTRY, "gemm_ex,gemm,gemm", "gemm,gemm_ex"},
};

TEST(good_values_round_trip)
{
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        const char *name = td_option_table[good[i].id].name;
        td_options o, again;
        capture_begin();
        const bool is_good = read_one(&o, name, good[i].text);
        capture_of(0);
        assert_true(is_good);
        assert_string_equal(print(&o, good[i].id), good[i].printed);
        assert_true(read_one(&again, name, good[i].printed));
        assert_string_equal(print(&again, good[i].id), good[i].printed);
        for (td_option_id id = 0; id < TD_OPTION_COUNT; id++)
            assert_int_equal(o.origins[id],
                             id == good[i].id ? TD_ORIGIN_ENVIRONMENT : TD_ORIGIN_DEFAULT);
    }
}

TEST(values_reach_their_fields)
{
    char *environment[] = {"HOME=/",
                           "TANDEM_MODE=slices:12",
                           "TANDEM_ACCURACY=40",
                           "TANDEM_STRATEGY=eager",
                           "TANDEM_WORKSPACE=3M",
                           "TANDEM_LOG=info:l.txt",
                           "TANDEM_REPORT=-",
                           "TANDEM_REPORT_EVERY=7",
                           "TANDEM_ENTRY=gemm_strided",
                           "TANDEM_DLSYM=off",
                           "TANDEM_VERIFY=sample:9",
                           "TANDEM_VERIFY_DUMP=folder",
                           "TANDEM_SITES=on",
                           "TANDEM_GRAPH_BRANCH=on",
                           "TANDEM_RULES=r.txt",
                           NULL};
    td_options o;
    assert_true(td_options_read(&o, environment));
    assert_string_equal(o.mode.engine->name, "slices");
    assert_true(o.mode.parameter.is_given && o.mode.parameter.count == 12);
    assert_string_equal(o.mode.text, "slices:12");
    assert_int_equal(o.accuracy, 40);
    assert_int_equal(o.strategy, TD_STRATEGY_EAGER);
    assert_int_equal(o.workspace, 3 << 20);
    assert_int_equal(o.log.level, TD_LOG_INFO);
    assert_string_equal(o.log.file, "l.txt");
    assert_string_equal(o.report.text, "-");
    assert_int_equal(o.report_every, 7);
    assert_int_equal(o.families, 1 << TD_FAMILY_gemm_strided);
    assert_false(o.dlsym);
    assert_int_equal(o.verify, 9);
    assert_string_equal(o.verify_dump.text, "folder");
    assert_true(o.sites);
    assert_true(o.graph_branch);
    assert_string_equal(o.rules.text, "r.txt");
    for (td_option_id id = 0; id < TD_OPTION_COUNT; id++)
        assert_int_equal(o.origins[id], TD_ORIGIN_ENVIRONMENT);
}

TEST(all_families_are_the_default)
{
    td_options o;
    td_options_set_defaults(&o);
    for (int f = 0; f < TD_FAMILY_COUNT; f++) {
        assert_true(o.families >> f & 1);
        td_options one;
        assert_true(read_one(&one, "TANDEM_ENTRY", td_families[f].name));
        assert_int_equal(one.families, 1 << f);
    }
}

TEST(calls_for_another_emulation_are_answered_if_asked)
{
    const uint32_t all = TD_ALSO_EMULATED - 1;
    static const struct {
        const char *text, *printed;
        uint32_t families;
    } rows[] = {{"emulated", "all,emulated", (TD_ALSO_EMULATED - 1) | TD_ALSO_EMULATED},
                {"all,emulated", "all,emulated", (TD_ALSO_EMULATED - 1) | TD_ALSO_EMULATED},
                {"emulated,lt", "lt,emulated", 1 << TD_FAMILY_lt | TD_ALSO_EMULATED},
                {"gemm,emulated,lt", "gemm,lt,emulated",
                 1 << TD_FAMILY_gemm | 1 << TD_FAMILY_lt | TD_ALSO_EMULATED}};
    td_options o;
    td_options_set_defaults(&o);
    assert_int_equal(o.families, all);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[200];
        assert_true(read_one(&o, "TANDEM_ENTRY", rows[i].text));
        assert_int_equal(o.families, rows[i].families);
        td_option_print(&o, TD_OPTION_ENTRY, text, sizeof text);
        assert_string_equal(text, rows[i].printed);
    }
    assert_false(read_one(&o, "TANDEM_ENTRY", "emulated,"));
    assert_false(read_one(&o, "TANDEM_ENTRY", "emulate"));
}

static const struct {
    td_option_id id;
    const char *text;
} bad[] = {
    {TD_OPTION_DLSYM, "ON"},
    {TD_OPTION_DLSYM, "1"},
    {TD_OPTION_MODE, "fd"},
    {TD_OPTION_MODE, "DF"},
    {TD_OPTION_MODE, "df:"},
    {TD_OPTION_MODE, "df:3"},
    {TD_OPTION_MODE, "slices:"},
    {TD_OPTION_MODE, "slices:1"},
    {TD_OPTION_MODE, "slices:19"},
    {TD_OPTION_MODE, "slices:+7"},
    {TD_OPTION_MODE, "slices: 7"},
    {TD_OPTION_MODE, "slices:fp64"},
    {TD_OPTION_MODE, "slices:4294967300"},
    {TD_OPTION_MODE, "ways:2"},
    {TD_OPTION_MODE, "ways:fp6"},
    {TD_OPTION_MODE, "ways:fp64:3"},
    {TD_OPTION_MODE, "slice"},
    {TD_OPTION_MODE, "slicess"},
    {TD_OPTION_MODE, ":7"},
    {TD_OPTION_MODE, "slices:7x"},
    {TD_OPTION_MODE, " df"},
    {TD_OPTION_MODE, "slices:000000000000000000000000000000000000000000000000000000000000009"},
    {TD_OPTION_ACCURACY, "9"},
    {TD_OPTION_ACCURACY, "53"},
    {TD_OPTION_ACCURACY, "040"},
    {TD_OPTION_ACCURACY, "4"},
    {TD_OPTION_ACCURACY, "+40"},
    {TD_OPTION_ACCURACY, "-9"},
    {TD_OPTION_ACCURACY, "40 "},
    {TD_OPTION_ACCURACY, "FP64"},
    {TD_OPTION_ACCURACY, "fp32"},
    {TD_OPTION_ACCURACY, "faithful:fp64"},
    {TD_OPTION_STRATEGY, "Eager"},
    {TD_OPTION_STRATEGY, "eagerly"},
    {TD_OPTION_STRATEGY, "lazy"},
    {TD_OPTION_WORKSPACE, "0"},
    {TD_OPTION_WORKSPACE, "1"},
    {TD_OPTION_WORKSPACE, "2097151"},
    {TD_OPTION_WORKSPACE, "2047k"},
    {TD_OPTION_WORKSPACE, "-1"},
    {TD_OPTION_WORKSPACE, "+4M"},
    {TD_OPTION_WORKSPACE, " 4M"},
    {TD_OPTION_WORKSPACE, "4M "},
    {TD_OPTION_WORKSPACE, "4 M"},
    {TD_OPTION_WORKSPACE, "4MB"},
    {TD_OPTION_WORKSPACE, "4T"},
    {TD_OPTION_WORKSPACE, "1.5G"},
    {TD_OPTION_WORKSPACE, "0x100000"},
    {TD_OPTION_WORKSPACE, "M"},
    {TD_OPTION_WORKSPACE, "Auto"},
    {TD_OPTION_WORKSPACE, "18446744073709551616"},
    {TD_OPTION_WORKSPACE, "17179869184G"},
    {TD_OPTION_WORKSPACE, "17179869185G"},
    {TD_OPTION_WORKSPACE, "99999999999999999999999999"},
    {TD_OPTION_VERIFY, "on"},
    {TD_OPTION_VERIFY, "sample:"},
    {TD_OPTION_VERIFY, "sample:0"},
    {TD_OPTION_VERIFY, "sample:65537"},
    {TD_OPTION_VERIFY, "sample:-1"},
    {TD_OPTION_VERIFY, "sample: 1"},
    {TD_OPTION_VERIFY, "sample:1k"},
    {TD_OPTION_VERIFY, "sample:99999999999999999999"},
    {TD_OPTION_VERIFY, "samples"},
    {TD_OPTION_VERIFY, "full:3"},
    {TD_OPTION_SITES, "yes"},
    {TD_OPTION_LOG, "verbose"},
    {TD_OPTION_LOG, "warning"},
    {TD_OPTION_LOG, "war"},
    {TD_OPTION_LOG, "warn:"},
    {TD_OPTION_LOG, ":file"},
    {TD_OPTION_LOG, "WARN"},
    {TD_OPTION_REPORT_EVERY, "-1"},
    {TD_OPTION_REPORT_EVERY, "1.5"},
    {TD_OPTION_REPORT_EVERY, "86401"},
    {TD_OPTION_REPORT_EVERY, "100000"},
    {TD_OPTION_REPORT_EVERY, "10s"},
    {TD_OPTION_ENTRY, "gem"},
    {TD_OPTION_ENTRY, "gemm,"},
    {TD_OPTION_ENTRY, ",gemm"},
    {TD_OPTION_ENTRY, "gemm,,gemm_ex"},
    {TD_OPTION_ENTRY, "gemm, gemm_ex"},
    {TD_OPTION_ENTRY, "gemm,all"},
};

TEST(bad_values_get_one_line)
{
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *name = td_option_table[bad[i].id].name;
        char allowed[512], start[512];
        td_options o;
        capture_begin();
        const bool is_good = read_one(&o, name, bad[i].text);
        const char *text = capture_of(1);
        if (is_good) print_error("accepted: %s=%s\n", name, bad[i].text);
        assert_false(is_good);
        td_option_allowed(bad[i].id, allowed, sizeof allowed);
        snprintf(start, sizeof start,
                 "tandem: error: %s is '%s', so products run native; allowed: ", name, bad[i].text);
        assert_memory_equal(text, start, strlen(start));
        assert_non_null(strstr(text, allowed));
        assert_string_equal(o.mode.engine->name, "native");
        assert_int_equal(o.origins[bad[i].id], TD_ORIGIN_DEFAULT);
    }
}

TEST(too_long_paths_are_refused)
{
    char path[TD_PATH_BYTES + 16];
    td_options o;
    memset(path, 'a', sizeof path);
    path[sizeof path - 1] = '\0';
    capture_begin();
    const bool is_good = read_one(&o, "TANDEM_REPORT", path);
    capture_of(1);
    assert_false(is_good);
}

/* What the program's products are counted in, and what is said of them, is as asked. */
TEST(a_bad_value_leaves_report_and_log)
{
    char *environment[] = {"TANDEM_MODE=nonsense", "TANDEM_REPORT=r.json", "TANDEM_REPORT_EVERY=3",
                           "TANDEM_LOG=info", NULL};
    td_options o;
    capture_begin();
    assert_false(td_options_read(&o, environment));
    capture_of(1);
    assert_string_equal(o.mode.engine->name, "native");
    assert_string_equal(o.report.text, "r.json");
    assert_int_equal(o.report_every, 3);
    assert_int_equal(o.log.level, TD_LOG_INFO);
    assert_int_equal(o.origins[TD_OPTION_REPORT], TD_ORIGIN_ENVIRONMENT);
    assert_int_equal(o.origins[TD_OPTION_MODE], TD_ORIGIN_DEFAULT);
}

/* Strategy adaptive is for modes that may be faster than native. */
TEST(strategy_and_mode_agree)
{
    static const struct {
        char *mode, *rules;
        bool is_good;
    } rows[] = {
        {"TANDEM_MODE=", "TANDEM_RULES=", false},
        {"TANDEM_MODE=native", "TANDEM_RULES=", false},
        {"TANDEM_MODE=native", "TANDEM_RULES=file", true},
        {"TANDEM_MODE=df", "TANDEM_RULES=", true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *environment[] = {"TANDEM_STRATEGY=adaptive", rows[i].mode, rows[i].rules,
                               "TANDEM_REPORT=r.json", NULL};
        td_options o;
        capture_begin();
        const bool is_good = td_options_read(&o, environment);
        const char *said = capture_of(!is_good);
        assert_int_equal(is_good, rows[i].is_good);
        assert_int_equal(o.strategy, is_good ? TD_STRATEGY_ADAPTIVE : TD_STRATEGY_AUTO);
        assert_string_equal(o.report.text, "r.json");
        if (!is_good)
            assert_non_null(strstr(said, "TANDEM_MODE is 'native', so products run native"));
    }
}

TEST(one_bad_value_leaves_only_defaults)
{
    char *environment[] = {"TANDEM_MODE=df", "TANDEM_WORKSPACE=x", "TANDEM_LOG=x", NULL};
    td_options o, defaults;
    capture_begin();
    const bool is_good = td_options_read(&o, environment);
    capture_of(2);
    assert_false(is_good);
    td_options_set_defaults(&defaults);
    for (td_option_id id = 0; id < TD_OPTION_COUNT; id++) {
        char text[TD_OPTION_TEXT_BYTES];
        td_option_print(&defaults, id, text, sizeof text);
        assert_string_equal(print(&o, id), text);
    }
}

TEST(an_empty_value_is_none)
{
    for (td_option_id id = 0; id < TD_OPTION_COUNT; id++) {
        td_options o;
        assert_true(read_one(&o, td_option_table[id].name, ""));
        assert_int_equal(o.origins[id], TD_ORIGIN_DEFAULT);
    }
}

/* In Turkish the small letter of I has no dot, and tolower() does not give i. */
TEST(names_have_the_same_letters_in_any_locale)
{
    char why[TD_WHY_BYTES], settings[TD_SETTINGS_BYTES];
    td_options o;
    if (!setlocale(LC_ALL, "tr_TR.UTF-8")) skip();
    td_options_set_defaults(&o);
    assert_true(td_options_change(&o, "verify=sample:3", why));
    td_options_print_settings(&o, settings);
    assert_non_null(strstr(settings, "verify=sample:3"));
    setlocale(LC_ALL, "C");
}

TEST(a_refused_call_changes_nothing)
{
    td_options o;
    assert_true(read_one(&o, "TANDEM_WORKSPACE", "5M"));
    capture_begin();
    const bool is_good =
        td_options_set(&o, TD_OPTION_WORKSPACE, "--workspace", "5", TD_ORIGIN_CALL);
    const char *text = capture_end(NULL);
    assert_false(is_good);
    assert_memory_equal(text, "tandem: error: --workspace is '5'; allowed: ", 44);
    assert_int_equal(o.workspace, 5 << 20);
    assert_int_equal(o.origins[TD_OPTION_WORKSPACE], TD_ORIGIN_ENVIRONMENT);
    assert_true(td_options_set(&o, TD_OPTION_WORKSPACE, "--workspace", "6M", TD_ORIGIN_CALL));
    assert_int_equal(o.workspace, 6 << 20);
    assert_int_equal(o.origins[TD_OPTION_WORKSPACE], TD_ORIGIN_CALL);
}

TEST(unknown_names_get_a_warning)
{
    static const struct {
        const char *variable;
        const char *line;
    } cases[] = {
        {"TANDEM_MODES=df",
         "tandem: warn: unknown variable TANDEM_MODES; did you mean TANDEM_MODE?\n"},
        {"TANDEM_WORKSPCE",
         "tandem: warn: unknown variable TANDEM_WORKSPCE; did you mean TANDEM_WORKSPACE?\n"},
        {"TANDEM_RPEORT=-",
         "tandem: warn: unknown variable TANDEM_RPEORT; did you mean TANDEM_REPORT?\n"},
        {"TANDEM_=", "tandem: warn: unknown variable TANDEM_; did you mean TANDEM_LOG?\n"},
        {"TANDEM_SOMETHING_ELSE=1", "tandem: warn: unknown variable TANDEM_SOMETHING_ELSE; `tandem "
                                    "options` lists the known ones\n"},
        {"TANDEMMODE=1", ""},
        {"XTANDEM_MODE=1", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char variable[128];
        char *environment[] = {variable, NULL};
        td_options o;
        strcpy(variable, cases[i].variable);
        capture_begin();
        const bool is_good = td_options_read(&o, environment);
        const char *text = capture_end(NULL);
        assert_true(is_good);
        assert_string_equal(text, cases[i].line);
    }
}

TEST(log_level_error_hides_the_warning)
{
    char *environment[] = {"TANDEM_LOG=error", "TANDEM_MODES=df", NULL};
    td_options o;
    capture_begin();
    assert_true(td_options_read(&o, environment));
    capture_of(0);
}
