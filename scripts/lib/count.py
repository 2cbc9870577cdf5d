"""Counts results: 'N passed, N failed, N skipped'.

usage: count.py RESULT...
RESULT is a testlog.json that `meson test` wrote, or one of the words pass, fail and skip. The exit
status is 1 if a result is a failure or nothing passed.
"""

import json
import sys

# Meson's words for the results of a test.
KINDS = {"OK": "pass", "EXPECTEDFAIL": "pass", "SKIP": "skip"}


def results(argument):
    if argument in ("pass", "fail", "skip"):
        return [argument]
    try:
        with open(argument, encoding="utf-8") as log:
            return [KINDS.get(json.loads(line)["result"], "fail") for line in log]
    except FileNotFoundError:
        return ["fail"]


def main(arguments):
    found = [result for argument in arguments for result in results(argument)]
    passed, failed, skipped = (found.count(kind) for kind in ("pass", "fail", "skip"))
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
