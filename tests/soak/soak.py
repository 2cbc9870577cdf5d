"""Random calls of every FP64 routine of level 3 in every mode, or these, by many threads, for as
long as is asked for.

usage: soak.py [--seconds N] [--side N] [--seed N] [--modes NAME,...] [--report FILE] [--tandem
TANDEM] SOAK

SOAK is the client (soak.c), which knows nothing of Tandem: 200 threads call at a time, and in turn
16 threads over 4 streams. Each range of n runs in another mode, by TANDEM_RULES. A result is wrong
if it is not near the native one, if it has not the bits of the same call's first result (native
calls excepted, whose bits cuBLAS does not promise), or if one of the elements that TANDEM_VERIFY
looks at is beyond the mode's bound. The device's and the host's memory must not grow from the
second round of four to the last; under an emulator the host's may. Prints one line and, for each
fault, another one; the status is 1 if there is a fault.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

WIDTH = 8  # of a mode's range of n, as in soak.c
HOST_GROWTH = 64 << 20  # bytes that heaps of 200 threads may come to by chance
# qemu keeps 340 KB of its own for every thread that has ended, and they count as the process's.
IS_EMULATED = "MESON_EXE_WRAPPER" in os.environ
# A GPU's pool keeps freed memory, and rounds differ in how much is used at a time; the host device
# gives all of it back.
DEVICE_GROWTH = {True: 0, False: 256 << 20}
FIRST = "the handle asks for plain arithmetic"  # why a job's first call is native
FAULT = re.compile(r"fault: (\w+) (real|complex) m=(\d+) n=(\d+) k=(\d+): (.*)")
ROUND = re.compile(r"round \d+: (\d+) calls, (\d+) bytes free on the device, (\d+) resident")


def modes_of(tandem):
    return subprocess.run([tandem, "modes", "--names"], stdout=subprocess.PIPE, text=True,
                          check=True).stdout.split()


def write_rules(path, modes):
    with open(path, "w", encoding="utf-8") as file:
        for i, mode in enumerate(modes):
            file.write(f"n={WIDTH * i + 1}..{WIDTH * (i + 1)} -> {mode}\n")


def run(options, modes, folder):
    """The client's status and lines, and its report."""
    rules, report = os.path.join(folder,
                                 "rules"), options.report or os.path.join(folder, "report.json")
    write_rules(rules, modes)
    command = [
        options.tandem, "run", "--mode", "native", "--rules", rules, "--verify", "sample:4",
        "--report", report, "--", options.soak,
        str(options.seconds),
        str(len(modes)),
        str(options.side),
        str(options.seed)
    ]
    process = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    with open(report, encoding="utf-8") as file:
        return process.returncode, process.stdout.splitlines(), json.load(file)


def is_native(fault, report):
    """True if cuBLAS ran a call like this one, but for the first: its bits may differ from time to
    time."""
    function, element, m, n, k = fault.group(1, 2, 3, 4, 5)
    reasons = {
        call["native_reason"]
        for call in report["calls"]
        if call["function"] == function and call["type"].startswith("complex") == (
            element == "complex") and call["n"] == int(n) and call["m"] in (
                0, int(m)) and call["k"] in (0, int(k))
    }
    return reasons - {FIRST} != {None}


def faults_of_memory(rounds, on_host_device):
    _, second, *_, last = rounds
    lost, grown = second[1] - last[1], last[2] - second[2]
    if lost > DEVICE_GROWTH[on_host_device]:
        yield f"{lost} bytes of the device's memory were not given back"
    if grown > HOST_GROWTH and not IS_EMULATED:
        yield f"the process has {grown} bytes more than after its second round"


def find_faults(status, lines, report, modes):
    if status != 0:
        yield f"the client ended with status {status}"
    for line in lines:
        fault = FAULT.match(line)
        if fault and not (fault.group(6).startswith("other bits") and is_native(fault, report)):
            yield line
    if report["totals"]["outside"] or not report["totals"]["verified"]:
        yield (f"{report['totals']['outside']} of {report['totals']['verified']} verified elements "
               "are beyond their bounds")
    ran = {call["mode"] for call in report["calls"]}
    for mode in modes:
        if mode not in ran and mode != "auto":
            yield f"no call ran in mode {mode}"
    rounds = [tuple(map(int, match.groups())) for match in map(ROUND.match, lines) if match]
    if len(rounds) == 4:
        yield from faults_of_memory(rounds, report["host_device"])


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n\n", maxsplit=1)[0])
    parser.add_argument("--seconds", type=int, default=300)
    parser.add_argument("--side", type=int, default=256, help="the largest m and k")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--modes", type=lambda names: names.split(","),
                        help="all, where it is left out")
    parser.add_argument("--report", help="keeps the report there")
    parser.add_argument("--tandem", default="tandem")
    parser.add_argument("soak")
    options = parser.parse_args()
    modes = options.modes or modes_of(options.tandem)
    with tempfile.TemporaryDirectory() as folder:
        status, lines, report = run(options, modes, folder)
    faults = list(find_faults(status, lines, report, modes))
    functions = {(call["function"], call["type"])
                 for call in report["calls"] if call["native_reason"] is None}
    totals = report["totals"]
    print(
        f"{lines[0] if lines else 'no device'}: {totals['intercepted']} calls in "
        f"{options.seconds} s, {totals['emulated']} emulated, of {len(functions)} functions in "
        f"{len(modes)} modes; {totals['verified']} elements verified; "
        f"{len(faults)} faults")
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
