#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "include/tandem.h"
#include "lib/cuda/device.h"
#include "tools/calibrate.h"
#include "tools/doctor.h"
#include "tools/measure.h"
#include "tools/result_file.h"
#include "tools/selftest_products.h"
#include "tools/selftest_speed.h"
#include "tools/tandem.h"

enum { OUTPUT, DEVICE };
enum { CALIBRATION_SECONDS = 15, HOST_CALIBRATION_SECONDS = 1 };

static const char usual_output[] = "tandem-selftest.txt";

typedef struct {
    int device;
    td_card card;
    bool is_host, is_passed;
    char *text; /* the report */
    size_t length;
} selftest;

static void head(FILE *out, const char *title)
{
    say("selftest: %s", title);
    fprintf(out, "\n== %s ==\n", title);
}

static void conclude(selftest *t, FILE *out, bool is_passed)
{
    fprintf(out, "%s\n", is_passed ? "passed" : "FAILED");
    t->is_passed = t->is_passed && is_passed;
}

static void print_start(const selftest *t, FILE *out)
{
    const time_t now = time(NULL);
    char date[32] = "";
    struct tm utc;
    if (gmtime_r(&now, &utc)) strftime(date, sizeof date, "%Y-%m-%d %H:%M UTC", &utc);
    fprintf(out, "tandem %s, selftest of %s, %s\n", tandem_version(), t->card.name, date);
    fprintf(out, "%s\n",
            t->is_host ? "This is the host device: its times say nothing about a GPU "
                         "and are left out."
                       : "Nothing else should have run on the GPU meanwhile.");
}

/* Whether the host device can be calibrated is all that is asked: by its figures `auto` would not
 * choose as on the GPU that it stands for. */
static bool calibrate(const selftest *t, FILE *out)
{
    if (!t->is_host) return calibrate_device(out, t->device, CALIBRATION_SECONDS);
    fprintf(out, "figures of the host device are left out\n");
    return calibrate_measure(t->device, HOST_CALIBRATION_SECONDS);
}

static void check_device(selftest *t, FILE *out)
{
    head(out, "golden bits: every device gives the same");
    conclude(t, out, selftest_golden(out));
    head(out, "errors of larger products against exact ones");
    conclude(t, out, selftest_errors(out, t->is_host));
    head(out, "calibration for mode auto");
    conclude(t, out, calibrate(t, out));
    head(out, "speed of square products");
    conclude(t, out, selftest_speed(out, t->is_host));
}

static void print_report(FILE *out, const void *results)
{
    const selftest *t = results;
    fwrite(t->text, 1, t->length, out);
}

static bool make_report(selftest *t)
{
    FILE *out = open_memstream(&t->text, &t->length);
    if (!out) return false;
    const char *reason;
    const bool has_device = measure_choose(t->device, &t->card, &reason);
    if (!has_device) snprintf(t->card.name, sizeof t->card.name, "no device");
    t->is_host = has_device && strcmp(t->card.name, TD_HOST_CARD) == 0;
    t->is_passed = true;
    print_start(t, out);
    head(out, "this machine");
    conclude(t, out, doctor_print(out));
    if (has_device) {
        check_device(t, out);
    } else {
        fprintf(out, "device %d cannot be tested: %s\n", t->device, reason);
        conclude(t, out, false);
    }
    fprintf(out, "\nverdict: %s\n",
            t->is_passed ? "all passed" : "FAILED: the lines above say what");
    return fclose(out) == 0;
}

static int run(const command_line *line)
{
    command_line named = *line;
    selftest t = {0};
    long device = 0;
    const command_range devices = {0, TD_MAX_DEVICES - 1, ""};
    if (!command_number("device", line->values[DEVICE], &devices, &device)) return EXIT_USAGE;
    t.device = (int)device;
    if (!named.values[OUTPUT]) named.values[OUTPUT] = usual_output;
    result_file file = {.option = OUTPUT, .print = print_report};
    if (!result_files_open(&file, 1, &named)) return EXIT_USAGE;
    const bool is_made = make_report(&t), is_written = is_made && result_files_write(&file, 1, &t);
    free(t.text);
    if (!is_written) return 1;
    if (!result_files_have_stdout(&file, 1))
        say("selftest: %s; the report is in %s", t.is_passed ? "all passed" : "FAILED",
            named.values[OUTPUT]);
    return t.is_passed ? 0 : 1;
}

const command command_selftest = {
    .name = "selftest",
    .arguments = "",
    .summary = "test and time this machine's GPU, and write one text file to send in",
    .details =
        "Says what the machine has (doctor), compares the bits of every mode with those of other "
        "devices, and the errors of larger products with what is promised, calibrates, and times "
        "square products. Nothing else should run on the GPU meanwhile. Ends with 1 if something "
        "failed. The file holds paths of this machine: read it before it is sent.",
    .options = {[OUTPUT] = {"output", "FILE",
                            "write the report there; tandem-selftest.txt if it is not given"},
                [DEVICE] = {"device", "NUMBER", "CUDA's number of the GPU; 0 if it is not given"}},
    .run = run,
};
