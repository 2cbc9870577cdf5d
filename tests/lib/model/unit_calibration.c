/* Calibrations: what is written can be read again for the same device, driver and version, and
 * nothing else can. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/model/calibration.h"
#include "tests/lib/support/capture.h"
#include "tests/support/test.h"
#include "lib/version.h"

enum { DRIVER = 13000, DSYRK = TD_MOST_WAYS + TD_TIMED_native_dsyrk };

/* Two ways of products, and a routine. */
static const int rows[] = {0, 1, DSYRK};

static char folder[256], path[TD_PATH_BYTES];
static td_card card;
static td_calibration written;

static int set_up(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "%s", make_folder());
    setenv("XDG_CACHE_HOME", folder, 1);
    card = *td_card_known("NVIDIA H200");
    memset(&written, 0, sizeof written);
    for (int i = 0; i < 3; i++) {
        written.is_measured[rows[i]] = true;
        for (int f = 0; f < TD_FACTORS; f++)
            written.factors[rows[i]][f] =
                (signed char)((f * 7 + i) % (2 * TD_MOST_FACTOR + 1) - TD_MOST_FACTOR);
    }
    assert_true(td_calibration_path(&card, DRIVER, path));
    assert_true(td_calibration_write(&written, &card, DRIVER, path));
    return 0;
}

static int tear_down(void **state)
{
    char inner[sizeof folder + 8];
    (void)state;
    snprintf(inner, sizeof inner, "%s/tandem", folder);
    remove_folder(inner);
    remove_folder(folder);
    return 0;
}

TEST(the_file_is_the_users_and_the_devices)
{
    char other[TD_PATH_BYTES];
    assert_memory_equal(path, folder, strlen(folder));
    assert_string_equal(path + strlen(folder),
                        "/tandem/NVIDIA-H200-driver-13.0-tandem-" TD_VERSION ".txt");
    assert_true(td_calibration_path(&card, 12080, other));
    assert_string_not_equal(other, path);
    snprintf(card.name, sizeof card.name, "../a b");
    assert_true(td_calibration_path(&card, DRIVER, other));
    assert_null(strstr(other, "../"));
    unsetenv("XDG_CACHE_HOME");
    setenv("HOME", "/home/x", 1);
    assert_true(td_calibration_path(&card, DRIVER, other));
    assert_memory_equal(other, "/home/x/.cache/tandem/", 22);
    setenv("XDG_CACHE_HOME", "relative", 1);
    assert_true(td_calibration_path(&card, DRIVER, other));
    assert_memory_equal(other, "/home/x/.cache/tandem/", 22);
    unsetenv("HOME");
    assert_false(td_calibration_path(&card, DRIVER, other));
}

static td_calibration_status read_it(td_calibration *c)
{
    int line;
    return td_calibration_read(c, &card, DRIVER, path, &line);
}

TEST(what_is_written_is_read)
{
    td_calibration c;
    assert_int_equal(read_it(&c), TD_CALIBRATION_READ);
    assert_memory_equal(&c, &written, sizeof c);
    /* again, over the old one, with nothing left beside it */
    written.factors[1][3] = 99;
    assert_true(td_calibration_write(&written, &card, DRIVER, path));
    assert_int_equal(read_it(&c), TD_CALIBRATION_READ);
    assert_memory_equal(&c, &written, sizeof c);
}

TEST(a_folder_that_cannot_be_made_is_said)
{
    assert_false(td_calibration_write(&written, &card, DRIVER, "/proc/no/such/file"));
    assert_false(td_calibration_write(&written, &card, DRIVER, folder)); /* it is a folder */
}

TEST(others_are_told_apart)
{
    td_calibration c;
    int line;
    assert_int_equal(td_calibration_read(&c, &card, 12080, path, &line), TD_CALIBRATION_OTHER);
    assert_int_equal(line, 4);
    card.multiprocessors--;
    assert_int_equal(read_it(&c), TD_CALIBRATION_OTHER);
    card = *td_card_known("NVIDIA B200");
    assert_int_equal(read_it(&c), TD_CALIBRATION_OTHER);
    unlink(path);
    assert_int_equal(read_it(&c), TD_CALIBRATION_NONE);
}

/* It may say how products are computed, so that nobody else may have written it. */
TEST(others_files_are_not_read)
{
    enum { SOMEBODY = 65534 };
    static const mode_t bad[] = {0664, 0646, 0622};
    td_calibration c;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(chmod(path, bad[i]), 0);
        assert_int_equal(read_it(&c), TD_CALIBRATION_UNTRUSTED);
    }
    assert_int_equal(chmod(path, 0600), 0);
    assert_int_equal(read_it(&c), TD_CALIBRATION_READ);
    if (geteuid() == 0) {
        assert_int_equal(chown(path, SOMEBODY, SOMEBODY), 0);
        assert_int_equal(read_it(&c), TD_CALIBRATION_UNTRUSTED);
    }
}

/* Nothing is waited for: a FIFO without a writer would never open. */
TEST(only_a_file_is_read)
{
    td_calibration c;
    td_model model;
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(read_it(&c), TD_CALIBRATION_UNTRUSTED);
    td_model_make(&model, &card);
    capture_begin();
    td_calibration_use(&model, DRIVER);
    const char *said = capture_of(1);
    assert_non_null(strstr(said, "not a regular file that this user or root owns"));
    assert_null(strstr(model.source, "calibrated"));

    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(read_it(&c), TD_CALIBRATION_UNTRUSTED);
    assert_int_equal(rmdir(path), 0);
}

/* Whatever the umask, and whoever wrote it before. */
TEST(what_is_written_is_this_users_alone)
{
    td_calibration c;
    struct stat info;
    char inner[sizeof folder + 8];
    assert_int_equal(chmod(path, 0666), 0);
    const mode_t before = umask(0);
    assert_true(td_calibration_write(&written, &card, DRIVER, path));
    assert_int_equal(read_it(&c), TD_CALIBRATION_READ);
    snprintf(inner, sizeof inner, "%s/tandem", folder);
    remove_folder(inner);
    assert_true(td_calibration_write(&written, &card, DRIVER, path));
    umask(before);
    assert_int_equal(stat(inner, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0700);
}

static void rewrite(const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* The text with one place of it replaced. */
static void damage(const char *text, const char *what, const char *by)
{
    static char changed[CAPTURE_BYTES];
    const char *at = strstr(text, what);
    assert_non_null(at);
    snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - text), text, by, at + strlen(what));
    rewrite(changed);
}

TEST(damaged_files_are_not_used)
{
    static const struct {
        const char *what, *by;
    } cases[] = {
        {"tandem calibration", "tandem callibration"},
        {"\nend\n", "\n"},
        {"\nend\n", "\nend\nmore\n"},
        {"\nnative ", "\nnative  "},
        {"\nnative ", "\nnative x "},
        {"\nnative -127 ", "\nnative -128 "},
        {"\nnative -127 ", "\nnative 128 "},
        {"\nnative -127 ", "\nnative -9223372036854775808 "},
        {"\nnative ", "\nnative 1 "},
        {"\nnative ", "\nnatives "},
        {"\nnative ", "\ndf "},
        {"\nnative -127 ", "\nnative "},
        {"\nnative:dsyrk ", "\nnative:dsyr "},
        {"\nnative:dsyrk ", "\nnative:dsyrkx "},
        {"\nnative:dsyrk ", "\nnative "},
        {"\nnative:dsyrk ", "\n "},
        {"\nend\n", " \nend\n"},
        {"\nend\n", "\nend"},
    };
    static char whole[CAPTURE_BYTES];
    td_calibration c;
    snprintf(whole, sizeof whole, "%s", read_text(path));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        damage(whole, cases[i].what, cases[i].by);
        if (read_it(&c) != TD_CALIBRATION_DAMAGED) print_error("case %zu is read\n", i);
        assert_int_equal(read_it(&c), TD_CALIBRATION_DAMAGED);
    }
    for (size_t length = 0; length < strlen(whole); length += 61) { /* cut anywhere */
        char cut[CAPTURE_BYTES];
        snprintf(cut, sizeof cut, "%.*s", (int)length, whole);
        rewrite(cut);
        assert_int_not_equal(read_it(&c), TD_CALIBRATION_READ);
    }
    rewrite(whole);
    assert_int_equal(read_it(&c), TD_CALIBRATION_READ);
}

TEST(the_model_takes_what_it_can_use)
{
    static td_model kept, model; /* what was read stays with the first */
    td_model_make(&kept, &card);
    capture_begin();
    td_calibration_use(&kept, DRIVER);
    capture_of(0);
    assert_memory_equal(kept.factors[1], written.factors[1], TD_FACTORS);
    assert_memory_equal(kept.factors[DSYRK], written.factors[DSYRK], TD_FACTORS);
    assert_null(kept.factors[DSYRK + 1]);
    assert_memory_equal(kept.source, "calibrated in ", 14);

    td_model_make(&model, &card);
    static const struct {
        const char *text, *line;
    } others[] = {{"tandem calibration 3\ndevice NVIDIA H100\n", "line 2"},
                  {"tandem calibration 1\ndevice NVIDIA H200\n", "line 1"}};
    for (int i = 0; i < 2; i++) {
        rewrite(others[i].text);
        capture_begin();
        td_calibration_use(&model, DRIVER);
        const char *said = capture_of(1);
        assert_non_null(strstr(said, "warn: calibration "));
        assert_non_null(strstr(said, others[i].line));
        assert_non_null(strstr(said, ": of another device, driver or version; ignored"));
        assert_null(strstr(model.source, "calibrated"));
    }

    unlink(path);
    capture_begin();
    td_calibration_use(&model, DRIVER);
    capture_of(0);
}

int main(void) { return test_run(.before = set_up, .after = tear_down); }
