/* driver.c - in the place of libFuzzer: hands all inputs of a folder to the reader, and after each
 * one a hundred that are made of it by cutting, changing and doubling, always the same ones.
 *
 * usage: fuzz_NAME FOLDER [VARIANTS] */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "random.h"

enum { LONGEST = 1 << 18 };

static uint8_t input[LONGEST], variant[2 * LONGEST];

static size_t read_input(const char *folder, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (!file) return 0;
    const size_t bytes = fread(input, 1, sizeof input, file);
    fclose(file);
    return bytes;
}

/* Any byte, but more often one that means something to a reader of text or of sizes. */
static uint8_t any_byte(test_random *random)
{
    static const uint8_t special[] = {0,   1,   0x7f, 0x80, 0xff, '0',  '9', '-',
                                      '+', '.', ',',  ':',  ' ',  '\n', '%', '"'};
    const uint64_t r = random_bits(random);
    return r & 1 ? (uint8_t)(r >> 8) : special[(r >> 8) % sizeof special];
}

/* Makes a variant of the input; returns its size. */
static size_t vary(test_random *random, size_t bytes)
{
    memcpy(variant, input, bytes);
    const uint64_t changes = 1 + random_bits(random) % 4;
    for (uint64_t i = 0; i < changes; i++) {
        const size_t at = bytes ? random_bits(random) % bytes : 0;
        switch (random_bits(random) % 4) {
        case 0:
            bytes = at;
            break;
        case 1:
            if (2 * bytes - at > sizeof variant) break;
            memmove(variant + bytes, variant + at, bytes - at);
            bytes += bytes - at;
            break;
        default:
            if (bytes) variant[at] = any_byte(random);
            break;
        }
    }
    return bytes;
}

static void run_input(const char *folder, const char *name, int variants)
{
    const size_t bytes = read_input(folder, name);
    test_random random = random_start(bytes);
    fuzz_one(input, bytes);
    for (int i = 0; i < variants; i++) {
        const size_t varied = vary(&random, bytes);
        fuzz_one(variant, varied);
    }
}

int main(int argc, char **argv)
{
    const int variants = argc > 2 ? atoi(argv[2]) : 100;
    int inputs = 0;
    DIR *folder = argc > 1 ? opendir(argv[1]) : NULL;
    if (!folder) {
        fprintf(stderr, "usage: %s FOLDER [VARIANTS]\n", argv[0]);
        return 2;
    }
    /* What the readers have to say of bad input is not wanted here. */
    if (!freopen("/dev/null", "w", stderr)) return 2;
    for (struct dirent *entry; (entry = readdir(folder));)
        if (entry->d_name[0] != '.') {
            run_input(argv[1], entry->d_name, variants);
            inputs++;
        }
    closedir(folder);
    printf("%d inputs, %d variants of each\n", inputs, variants);
    return inputs ? 0 : 1;
}
