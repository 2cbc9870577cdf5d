"""Runs the example programs native and emulated, and prints one table.

usage: demo.py FOLDER DATA
FOLDER holds tools/tandem and examples/, DATA the matrices. The exit status is 1 if a product was
not intercepted, ran in the wrong arithmetic, or a result is less accurate than its limit.
"""

import json
import os
import subprocess
import sys
import tempfile

# Limits of lu_solve: the LINPACK benchmark's of the residual, and the least correct digits of the
# solution. west0479's condition number is 3e11, so five digits are sure with 53 bits and 3.5 with
# df's 48; rounding errors being random, 9.2 and 7.8 are seen. The limits are two digits below what
# is seen, for other orders of summation; arithmetic with 40 bits has 5.9 there and 9.2 on the
# random matrix.
RESIDUAL_LIMIT = 16.0
# Most modes round better than that, but the rest of lu_solve is binary64.
DIGITS = {"west0479": 7.5, "random 512": 10.5}
DIGITS_DF = {"west0479": 6.0, "random 512": 9.5}
# Limits of gemm_time's componentwise error: the one rounding of C, or the modes' documented bounds;
# of all others the bound of what is certified to be as good as binary64.
ERROR = {"native": 2.0**-48, "df": 2.0**-43, "ts": 2.0**-53, "faithful": 2.0**-53}
ERROR_CERTIFIED = (4 * 512**0.5 + 1) * 2.0**-53
# Modes that a short demonstration can do without.
LEFT_OUT = {"dd", "d+s", "ozaki-sgemm", "ozaki1", "faithful:fp64"}

# Title, alignment, width.
COLUMNS = [("program", "<", 19), ("mode", "<", 8), ("products", ">", 8), ("emulated", ">", 8),
           ("repaired", ">", 8), ("residual", ">", 8), ("digits", ">", 6), ("error", ">", 8),
           ("ms", ">", 9), ("device", "<", 6)]


def programs(folder, data):
    lu_solve = os.path.join(folder, "examples", "lu_solve")
    gemm_time = os.path.join(folder, "examples", "gemm_time")
    return [
        ("lu_solve west0479", [lu_solve, "--json", os.path.join(data, "west0479.mtx")]),
        ("lu_solve random 512", [lu_solve, "--json", "--random", "512"]),
        ("gemm_time 512", [gemm_time, "--json", "--reps", "3", "512"]),
    ]


def modes(folder):
    tandem = os.path.join(folder, "tools", "tandem")
    names = subprocess.run([tandem, "modes", "--names"], capture_output=True, text=True,
                           check=True).stdout
    return [name for name in names.split() if name not in LEFT_OUT]


def run(folder, mode, command):
    """The program's own results and Tandem's report of it."""
    with tempfile.TemporaryDirectory() as scratch:
        report = os.path.join(scratch, "report.json")
        tandem = [
            os.path.join(folder, "tools", "tandem"), "run", "--mode", mode, "--report", report
        ]
        done = subprocess.run(tandem + ["--"] + command, capture_output=True, text=True,
                              check=False)
        if done.returncode != 0:
            sys.exit(f"demo: {' '.join(command)} under {mode} ended with status {done.returncode}\n"
                     + done.stdout + done.stderr)
        if not os.path.exists(report):
            sys.exit(f"demo: {' '.join(command)} under {mode} left no report\n" + done.stderr)
        with open(report, encoding="utf-8") as file:
            return json.loads(done.stdout), json.load(file)


def faults(name, mode, result, totals):
    """What is wrong with a run, one sentence each."""
    if totals["intercepted"] == 0:
        yield "no product was intercepted"
    if mode != "auto" and totals["emulated"] != (0 if mode == "native" else totals["intercepted"]):
        yield f"{totals['emulated']} of {totals['intercepted']} products were emulated"
    if "error" in result:
        limit = ERROR.get(mode, ERROR_CERTIFIED)
        if result["error"] is None or not result["error"] <= limit:
            yield f"error {result['error']} is above {limit:.2e}"
        return
    if result["residual"] is None or not result["residual"] <= RESIDUAL_LIMIT:
        yield f"residual {result['residual']} is above {RESIDUAL_LIMIT}"
    least = (DIGITS_DF if mode == "df" else DIGITS)[name.split(" ", 1)[1]]
    if result["digits"] is None or not result["digits"] >= least:
        yield f"{result['digits']} correct digits are fewer than {least}"


def row(name, mode, result, totals):
    is_gemm = "error" in result
    milliseconds = result["milliseconds"] if is_gemm else 1e3 * result["seconds"]
    return [
        name, mode,
        str(totals["intercepted"]),
        str(totals["emulated"]),
        str(totals["repaired"] if totals["repaired"] is not None else "-"),
        "" if is_gemm else f"{result['residual']:.2e}",
        "" if is_gemm else f"{result['digits']:.1f}", f"{result['error']:.2e}" if is_gemm else "",
        f"{milliseconds:.3f}", result["device"]
    ]


def print_line(cells):
    """One line of the table, as soon as it is known."""
    print(
        "  ".join(f"{cell:{align}{width}}"
                  for cell, (_, align, width) in zip(cells, COLUMNS)).rstrip(), flush=True)


def notes_of_host(figures):
    """What a reader of times must know where there was no GPU; figures: what mode auto chose by, as
    reports have it."""
    yield "No GPU was used: the products ran on the host device, in this machine's processor."
    yield "Its times say nothing about a GPU" + (", and auto does not go by them, but by figures"
                                                 if figures else ".")
    yield from (f"{text}." for text in sorted(figures))


def main(folder, data):
    complaints, on_host, figures = [], False, set()
    print_line([title for title, *_ in COLUMNS])
    print_line(["-" * width for *_, width in COLUMNS])
    for name, command in programs(folder, data):
        for mode in modes(folder):
            result, report = run(folder, mode, command)
            wrong = list(faults(name, mode, result, report["totals"]))
            complaints += [f"{name}, {mode}: {fault}" for fault in wrong]
            on_host = on_host or report["host_device"]
            figures |= {device["figures"] for device in report["devices"] if device["figures"]}
            if None not in result.values():
                print_line(row(name, mode, result, report["totals"]))
    print("\nresidual: |A x - b| / (2^-53 (|A| |x| + |b|) n); "
          "digits: correct ones in every component of x;"
          "\nerror: max |C - exact| / (|A| |B|); ms: of the factorisation, or of one product.")
    if on_host:
        print("\n".join(notes_of_host(figures)))
    for complaint in complaints:
        print("FAILED: " + complaint)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
