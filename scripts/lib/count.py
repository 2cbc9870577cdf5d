"""Counts results: the ten slowest tests, and 'N passed, N failed, N skipped'.

usage: count.py RESULT...
RESULT is a testlog.json that `meson test` wrote, or one of the words pass, fail and skip. The exit
status is 1 if a result is a failure or nothing passed.
"""

import json
import os
import sys

SLOWEST = 10

# Meson's words for the results of a test.
KINDS = {"OK": "pass", "EXPECTEDFAIL": "pass", "SKIP": "skip"}


def read(path):
    """The tests of a log; None if there is no log."""
    try:
        with open(path, encoding="utf-8") as log:
            return [json.loads(line) for line in log]
    except FileNotFoundError:
        return None


def build_folder(path):
    """build-asan of build-asan/meson-logs/testlog.json."""
    return os.path.basename(os.path.dirname(os.path.dirname(path)))


def print_slowest(times):
    for seconds, name in sorted(times, reverse=True)[:SLOWEST]:
        print(f"{seconds:7.1f} s  {name}")


def main(arguments):
    found, times = [], []
    for argument in arguments:
        if argument in ("pass", "fail", "skip"):
            found.append(argument)
            continue
        tests = read(argument)
        if tests is None:
            found.append("fail")
            continue
        found += [KINDS.get(test["result"], "fail") for test in tests]
        times += [(test["duration"], f"{build_folder(argument)}: {test['name']}")
                  for test in tests if "duration" in test]
    print_slowest(times)
    passed, failed, skipped = (found.count(kind) for kind in ("pass", "fail", "skip"))
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
