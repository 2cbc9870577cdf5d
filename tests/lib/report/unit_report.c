/* What a report has: what is counted under which key, from several threads, as JSON that a parser
 * reads back, and as a table. */
#define _GNU_SOURCE 1
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "tests/lib/support/capture.h"
#include "tests/support/test.h"
#include "report_case.h"

enum { THREADS = 4, SHAPES = 20000, ROUNDS = 3 };

static const td_sample_bound none = {.relative = (double)INFINITY};

TEST(nothing_is_kept_while_off)
{
    td_options_set_defaults(&report_options);
    td_report_open(&report_options, "1.2.3");
    assert_null(call(1, NULL));
    td_report_add_time(NULL, 1);
    td_report_add_counters(NULL, NULL);
    td_report_write();
}

TEST(equal_keys_share_a_record)
{
    char mode[] = "df", reason[] = "small";
    open_report(report_path);
    td_report_key key = key_of(1, "small");
    td_record *record = td_report_find(&key);
    key.mode = mode; /* the same text elsewhere */
    key.reason = reason;
    assert_ptr_equal(td_report_find(&key), record);

    const td_report_key base = key_of(1, "small");
    td_report_key others[11];
    for (int i = 0; i < 11; i++) others[i] = base;
    others[0].entry = TD_ENTRY_cublasGemmEx;
    others[1].mode = "ts";
    others[2].reason = NULL;
    others[3].reason = "large";
    others[4].op_a = TD_OP_C;
    others[5].op_b = TD_OP_N;
    others[6].m = 2;
    others[7].n = 1;
    others[8].k = 2;
    others[9].batch = 2;
    others[10].device = 1;
    for (int i = 0; i < 11; i++) {
        assert_ptr_not_equal(td_report_find(&others[i]), record);
        assert_int_equal(td_record_number(td_report_find(&others[i])), i + 1);
        for (int j = 0; j < i; j++)
            assert_ptr_not_equal(td_report_find(&others[i]), td_report_find(&others[j]));
    }
}

/* Who wrote the report, where, with which options. */
static void header_holds(void)
{
    assert_true(
        holds("r[\"schema\"] == 1 and r[\"tandem\"] == \"1.2.3\" and r[\"mode\"] == \"native\""));
    assert_true(holds(
        "r[\"host_device\"] is False and \"note\" not in r and \"unit_report\" in r[\"program\"]"));
    assert_true(holds("r[\"process\"].split(\"-\")[0] == str(r[\"pid\"]) and "
                      "len(r[\"process\"].split(\"-\")[1]) == 19"));
    assert_true(
        holds("r[\"devices\"] == [{\"number\": 1, \"name\": \"a \\\"GPU\\\" \\\\ \\x01 \\xe9 \\xff "
              "\\xed\\xa0\\x80\", \"figures\": None}]"));
    assert_true(holds(
        "r[\"options\"][\"TANDEM_REPORT\"][\"origin\"] == \"environment\" and "
        "r[\"options\"][\"TANDEM_MODE\"] == {\"value\": \"native\", \"origin\": \"default\"}"));
}

/* Three calls with times, counts and bits, in a report that is written. */
static void write_counted(void)
{
    static td_counters counters = {.repaired = 5, .tiles = 1, .planes = 15},
                       newer = {.repaired = 2, .tiles = 3, .planes = 14};
    static const int bits[] = {39, 55, -1, 0};
    open_report(report_path);
    td_report_set_device(1, "a \"GPU\" \\ \x01 \xc3\xa9 \xff \xed\xa0\x80");
    td_report_set_device(1, "another");
    td_record *record = call(7, NULL);
    call(7, NULL);
    td_report_add_time(record, 1.5);
    td_report_add_time(record, 0.25e-9 + 2e-9);
    td_report_add_time(record, -1);
    td_report_add_time(record, (double)NAN);
    td_report_add_time(record, (double)INFINITY);
    td_report_add_counters(record, &counters);
    counters.repaired = 40;
    td_report_add_counters(record, &newer); /* of another context */
    td_report_add_counters(record, &counters);
    newer.repaired = 2;
    for (int i = 0; i < 4; i++) td_report_add_mantissa_bits(record, &bits[i]);
    td_report_add_mantissa_bits(call(8, "mode is native"), &bits[2]);
    td_report_add_mantissa_bits(call(9, "mode is native"), &bits[3]);
    td_report_write();
}

TEST(json_holds_what_was_counted)
{
    write_counted();
    header_holds();
    assert_true(holds(
        "r[\"totals\"] == {\"intercepted\": 4, \"emulated\": 2, \"native\": 2, \"unlisted\": 0, "
        "\"timed\": 2, \"unread\": 0, \"seconds\": 1.500000002, \"repaired\": 42, \"verified\": "
        "None, "
        "\"outside\": None}"));
    assert_true(holds(
        "r[\"calls\"][0] == {\"function\": \"cublasDgemm_v2\", \"type\": \"binary64\", \"op_a\": "
        "\"N\", \"op_b\": \"T\", \"letters\": \"NT\", "
        "\"m\": 7, \"n\": 2, \"k\": 3, \"batch\": 1, \"device\": 0, \"mode\": \"df\", \"count\": "
        "2, \"timed\": 2, \"unread\": 0, "
        "\"seconds\": 1.500000002, \"repaired\": 42, \"tiles\": 4, \"planes\": 15, "
        "\"mantissa_bits\": 55, "
        "\"native_reason\": None, "
        "\"choice\": None, "
        "\"predicted\": None, \"native_seconds\": None, \"site\": None, \"verified\": None}"));
    assert_true(holds(
        "r[\"calls\"][1][\"native_reason\"] == \"mode is native\" and len(r[\"calls\"]) == 3"));
    assert_true(holds("[c[\"mantissa_bits\"] for c in r[\"calls\"]] == [55, 0, None]"));
    assert_true(holds(
        "all(r[\"calls\"][1][name] is None for name in (\"seconds\", \"repaired\", \"planes\"))"));
}

/* Elements that nobody can judge are counted apart from those that were compared, also where there
 * are no others, in JSON and in the table. */
TEST(unjudged_elements_are_counted)
{
    static const td_sample_counts some = {.elements = 6, .outside = 1, .unjudged = 2},
                                  more = {.unjudged = 5}, none_judged = {.unjudged = 3};
    static td_record *record;
    int lines;
    for (int is_table = 0; is_table < 2; is_table++) {
        capture_begin();
        open_report(is_table ? "-" : report_path);
        record = call(7, NULL);
        td_report_add_samples(record, &some);
        td_report_add_samples(record, &more); /* of another context */
        td_report_add_samples(call(8, NULL), &none_judged);
        call(9, NULL);
        td_report_write();
        const char *text = capture_end(&lines);
        if (is_table) {
            assert_non_null(strstr(text, " outside unjudged"));
            assert_non_null(strstr(text, "       1        7"));
            assert_non_null(strstr(text, "       0        3"));
        }
    }
    assert_true(holds("[c[\"verified\"] and (c[\"verified\"][\"elements\"], "
                      "c[\"verified\"][\"outside\"], c[\"verified\"][\"unjudged\"]) "
                      "for c in r[\"calls\"]] == [(6, 1, 7), (0, 0, 3), None]"));
    assert_true(holds("r[\"totals\"][\"verified\"] == 6 and r[\"totals\"][\"outside\"] == 1"));
}

/* Decisions by prediction. */
TEST(predictions_are_explained)
{
    const td_problem p = {.kind = TD_PRODUCT, .m = 4, .n = 5, .k = 6, .batch = 1};
    const td_decision taken = {
        .text = "df", .choice = "fast", .forecast = {"df", 0.0025, 0.001, 0.0026, 0.0}};
    const td_decision kept = {
        .text = "native", .reason = "slow", .forecast = {"ts", 0.0005, 0.002, 0.0, 0.0}};
    open_report(report_path);
    td_report_set_device(0, "a GPU");
    td_report_set_figures(0, "of our own");
    td_report_set_figures(0, "of others");
    const td_report_key keys[] = {td_report_key_of(TD_ENTRY_cublasDgemm_v2, &p, &taken, none, 0),
                                  td_report_key_of(TD_ENTRY_cublasDgemm_v2, &p, &kept, none, 0)};
    for (int i = 0; i < 2; i++) td_report_count(td_report_find(&keys[i]));
    td_report_write();
    assert_true(holds("r[\"devices\"][0][\"figures\"] == \"of our own\""));
    assert_true(holds("r[\"calls\"][0][\"choice\"] == \"fast\" and "
                      "r[\"calls\"][0][\"native_reason\"] is None and "
                      "r[\"calls\"][0][\"predicted\"] == {\"mode\": \"df\", \"seconds\": 0.001, "
                      "\"native_seconds\": 0.0025, \"found_out_seconds\": 0.0026}"));
    assert_true(holds("r[\"calls\"][1][\"choice\"] is None and "
                      "r[\"calls\"][1][\"native_reason\"] == \"slow\" and "
                      "r[\"calls\"][1][\"predicted\"] == {\"mode\": \"ts\", \"seconds\": 0.002, "
                      "\"native_seconds\": 0.0005, \"found_out_seconds\": None}"));
}

/* Milliseconds in the order in which people compare them; of a mode whose time does not depend on
 * the data there are two. */
TEST(forecasts_are_printed)
{
    char text[TD_FORECAST_TEXT];
    const td_forecast of_two = {.mode = "df", .native = 0.0025, .emulated = 0.001},
                      of_three = {.mode = "ozaki2",
                                  .native = 0.0025,
                                  .emulated = 0.00123456,
                                  .found_out = 0.0026};
    assert_string_equal(td_forecast_print(&of_two, 1, text), "df 1.0 ms, native 2.5 ms");
    assert_string_equal(td_forecast_print(&of_three, 4, text),
                        "ozaki2 1.2346 ms, native 2.5000 ms, found out 2.6000 ms");
}

/* The table's other times have a point, too. */
TEST(forecasts_have_a_point_in_any_locale)
{
    char text[TD_FORECAST_TEXT];
    const td_forecast f = {.mode = "df", .native = 0.0025, .emulated = 0.001};
    if (!setlocale(LC_ALL, "de_DE.UTF-8") && !setlocale(LC_ALL, "fr_FR.UTF-8")) skip();
    assert_string_equal(td_forecast_print(&f, 1, text), "df 1.0 ms, native 2.5 ms");
    setlocale(LC_ALL, "C");
}

TEST(host_device_is_named)
{
    open_report(report_path);
    td_report_set_host_device();
    call(1, NULL);
    td_report_write();
    assert_true(holds("r[\"host_device\"] is True and \"nothing about a GPU\" in r[\"note\"]"));
}

/* What a mode counts may be none at all. */
TEST(nothing_counted_is_not_zero)
{
    static td_counters none;
    open_report(report_path);
    td_record *record = call(1, NULL);
    td_report_add_counters(record, &none);
    td_report_add_time(record, 0);
    td_report_write();
    assert_true(
        holds("r[\"calls\"][0][\"seconds\"] == 0 and r[\"calls\"][0][\"repaired\"] == 0 and "
              "r[\"calls\"][0][\"planes\"] is None"));
    assert_true(holds("r[\"totals\"][\"seconds\"] == 0 and r[\"totals\"][\"repaired\"] == 0"));
}

TEST(a_key_takes_any_problem)
{
    const td_problem p = {.kind = TD_TRIANGULAR_SOLVE,
                          .type = TD_COMPLEX_BINARY64,
                          .op_a = TD_OP_C,
                          .side = TD_RIGHT,
                          .triangle = TD_UPPER,
                          .diagonal = TD_UNIT_DIAGONAL,
                          .m = 4,
                          .n = 5,
                          .batch = 6};
    td_problem other = p;
    open_report(report_path);
    const td_decision df = {.text = "df"};
    const td_report_key key = td_report_key_of(TD_ENTRY_cublasDgemm_v2, &p, &df, none, 0);
    td_record *record = td_report_find(&key);
    td_report_count(record);
    other.side = TD_LEFT;
    const td_report_key another = td_report_key_of(TD_ENTRY_cublasDgemm_v2, &other, &df, none, 0);
    assert_ptr_not_equal(td_report_find(&another), record);
    td_report_write();
    assert_true(holds(
        "r[\"calls\"][0] == {\"function\": \"cublasDgemm_v2\", \"type\": "
        "\"complex binary64\", \"op_a\": \"C\", \"op_b\": \"N\", \"side\": \"R\", \"uplo\": "
        "\"U\", \"diag\": \"U\", \"letters\": \"RUCU\", \"m\": 4, \"n\": 5, \"k\": 0, \"batch\": "
        "6, \"device\": 0, "
        "\"mode\": \"df\", \"count\": 1, \"timed\": 0, \"unread\": 0, \"seconds\": None, "
        "\"repaired\": None, "
        "\"tiles\": None, \"planes\": None, \"mantissa_bits\": None, \"native_reason\": None, "
        "\"choice\": None, "
        "\"predicted\": None, \"native_seconds\": None, \"site\": None, \"verified\": None}"));
}

/* Letters that a problem has and its routine does not take are not among the line's. */
TEST(lines_have_the_letters_of_their_routine)
{
    static const td_problem problems[] = {{.kind = TD_FACTOR_LU},
                                          {.kind = TD_LU_SOLVE, .op_a = TD_OP_T},
                                          {.kind = TD_APPLY_Q, .side = TD_RIGHT, .op_a = TD_OP_C},
                                          {.kind = TD_CHOLESKY_SOLVE, .triangle = TD_UPPER},
                                          {.kind = TD_EIGEN, .triangle = TD_UPPER}};
    const td_decision df = {.text = "df"};
    open_report(report_path);
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        const td_report_key key =
            td_report_key_of(TD_ENTRY_cusolverDnDgetrf, &problems[i], &df, none, 0);
        td_report_count(td_report_find(&key));
    }
    td_report_write();
    assert_true(
        holds("[c[\"letters\"] for c in r[\"calls\"]] == [\"\", \"T\", \"RC\", \"U\", \"VU\"]"));
}

static void *count_shapes(void *barrier)
{
    pthread_barrier_wait(barrier);
    for (int round = 0; round < ROUNDS; round++)
        for (int64_t m = 0; m < SHAPES; m++) td_report_add_time(call(m, NULL), 1e-9);
    return NULL;
}

TEST(threads_lose_no_count)
{
    char expression[256];
    pthread_t threads[THREADS];
    pthread_barrier_t start;
    open_report(report_path);
    pthread_barrier_init(&start, NULL, THREADS);
    for (int t = 0; t < THREADS; t++) pthread_create(&threads[t], NULL, count_shapes, &start);
    for (int t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
    pthread_barrier_destroy(&start);
    td_report_write();
    snprintf(
        expression, sizeof expression,
        "len(r[\"calls\"]) == %d and all(c[\"count\"] == %d == c[\"timed\"] for c in r[\"calls\"])",
        SHAPES, THREADS * ROUNDS);
    assert_true(holds(expression));
}

/* The longest line of a text. */
static size_t longest_line(const char *text)
{
    size_t longest = 0;
    while (*text) {
        const size_t length = strcspn(text, "\n");
        if (length > longest) longest = length;
        text += length + (text[length] == '\n');
    }
    return longest;
}

/* Its ms are of all calls, not of the timed ones alone; columns that say nothing are not there. */
TEST(the_table_says_all_calls)
{
    int lines;
    capture_begin();
    open_report("-");
    for (int i = 0; i < 10; i++) call(7, NULL);
    td_report_add_time(call(7, NULL), 0.5);
    td_report_add_time(call(7, NULL), 0.25);
    td_report_write();
    const char *text = capture_end(&lines);
    assert_non_null(strstr(text, "ms, all calls"));
    assert_non_null(strstr(text, "4500.000"));
    assert_null(strstr(text, "batch"));
    assert_null(strstr(text, "planes"));
    assert_null(strstr(text, "repaired"));
}

/* Of 40 calls 18 were to be timed, of which the device's context took all but 2 with it. */
static td_record *call_with_lost_times(void)
{
    td_record *record = NULL;
    for (int i = 0; i < 40; i++) record = call(7, NULL);
    for (int i = 0; i < 18; i++) td_report_expect_time(record);
    td_report_add_time(record, 0.9);
    td_report_add_time(record, 0.9);
    return record;
}

TEST(lost_times_are_counted)
{
    open_report(report_path);
    (void)call_with_lost_times();
    td_report_write();
    assert_true(holds("r[\"calls\"][0][\"timed\"] == 2 and r[\"calls\"][0][\"unread\"] == 16"));
    assert_true(holds("r[\"totals\"][\"timed\"] == 2 and r[\"totals\"][\"unread\"] == 16"));
}

/* Two of 18 stand for 4.4 of 40. */
TEST(the_table_says_lost_times)
{
    int lines;
    capture_begin();
    open_report("-");
    (void)call_with_lost_times();
    td_report_write();
    const char *text = capture_end(&lines);
    assert_non_null(strstr(text, " 4000.000"));
    assert_non_null(strstr(text, "the times of 35 calls are not known"));
}

/* A name is anything but a 0 and a slash. */
TEST(the_table_shows_control_characters)
{
    static char odd[] = "a\x1b[1m\nb\x7f c";
    char *const name = program_invocation_short_name;
    int lines;
    program_invocation_short_name = odd;
    capture_begin();
    open_report("-");
    td_report_write();
    call(7, NULL);
    td_report_write();
    const char *text = capture_end(&lines);
    program_invocation_short_name = name;
    assert_non_null(strstr(text, "report: a?[1m?b? c made no call"));
    assert_non_null(strstr(text, "report of a?[1m?b? c, mode "));
    assert_int_equal(lines, 4);
}

TEST(the_report_says_when_and_where)
{
    open_report(report_path);
    call(1, NULL);
    td_report_write();
    assert_true(holds("r[\"host\"] == __import__(\"socket\").gethostname()"));
    assert_true(
        holds("0 <= __import__(\"time\").time() - __import__(\"calendar\").timegm("
              "__import__(\"time\").strptime(r[\"written\"], \"%Y-%m-%dT%H:%M:%SZ\")) < 60"));
    assert_true(holds("r[\"started\"] <= r[\"written\"]"));
    assert_true(holds("r[\"command\"][0].endswith(\"unit_report\")"));
}

TEST(the_table_is_no_wider_than_a_terminal)
{
    static td_counters counters = {.repaired = 1234567890, .planes = 15};
    const char reason[] = "C is not memory of the current device";
    int lines;
    capture_begin();
    open_report("-");
    td_report_key key = key_of(100000, NULL);
    key.entry = TD_ENTRY_cublasDgemmStridedBatched_64;
    key.n = key.k = key.batch = 100000;
    key.mode = "faithful:fp64";
    key.choice = "predicted fastest";
    key.forecast =
        (td_forecast){.mode = "faithful:fp64", .native = 0.5, .emulated = 0.25, .found_out = 0.625};
    td_record *record = td_report_find(&key);
    td_report_count(record);
    td_report_add_time(record, 12345.678);
    td_report_add_counters(record, &counters);
    call(100000, reason);
    td_report_write();
    const char *text = capture_end(&lines);
    assert_non_null(
        strstr(text, "predicted fastest: faithful:fp64 250.000 ms, native 500.000 ms, found out "
                     "625.000 ms\n"));
    assert_non_null(strstr(text, reason));
    assert_non_null(strstr(text, "\ntandem: DgemmStridedBatched_64  "));
    assert_true(longest_line(text) <= 120);
}

int main(void) { return test_run(.before = set_up, .after = tear_down); }
