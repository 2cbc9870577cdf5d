"""Runs the example programs native and emulated, and prints one table.

usage: demo.py FOLDER DATA
FOLDER holds tools/tandem and examples/, DATA the matrices. The exit status is 1 if a product was not
intercepted, ran in the wrong arithmetic, or a result is less accurate than its limit.
"""

import json
import os
import subprocess
import sys
import tempfile

# Limits of lu_solve: the LINPACK benchmark's of the residual, and the least correct digits of the
# solution. west0479's condition number is 3e11, so five digits are sure with 53 bits and 3.5 with df's 48;
# rounding errors being random, 9.2 and 7.8 are seen. The limits are two digits below what is seen, for
# other orders of summation; arithmetic with 40 bits has 5.9 there and 9.2 on the random matrix.
RESIDUAL_LIMIT = 16.0
# ts and faithful round their products once, but the rest of lu_solve is binary64.
DIGITS = {
    "west0479": {"native": 7.5, "df": 6.0, "ts": 7.5, "ozaki2": 7.5, "faithful": 7.5},
    "random 512": {"native": 10.5, "df": 9.5, "ts": 10.5, "ozaki2": 10.5, "faithful": 10.5},
}
# Limits of gemm_time's componentwise error: df's and ozaki2's are the modes' documented bounds, ts's and faithful's the one
# rounding of C.
ERROR = {"native": 2.0**-48, "df": 2.0**-43, "ts": 2.0**-53, "ozaki2": (4 * 512**0.5 + 1) * 2.0**-53,
         "faithful": 2.0**-53}

COLUMNS = [("program", "<"), ("mode", "<"), ("products", ">"), ("emulated", ">"), ("repaired", ">"),
           ("residual", ">"), ("digits", ">"), ("error", ">"), ("ms", ">"), ("device", "<")]


def programs(folder, data):
    lu_solve = os.path.join(folder, "examples", "lu_solve")
    gemm_time = os.path.join(folder, "examples", "gemm_time")
    return [
        ("lu_solve west0479", [lu_solve, "--json", os.path.join(data, "west0479.mtx")]),
        ("lu_solve random 512", [lu_solve, "--json", "--random", "512"]),
        ("gemm_time 512", [gemm_time, "--json", "512"]),
    ]


def run(folder, mode, command):
    """The program's own results and Tandem's report of it."""
    with tempfile.TemporaryDirectory() as scratch:
        report = os.path.join(scratch, "report.json")
        tandem = [os.path.join(folder, "tools", "tandem"), "run", "--mode", mode, "--report", report]
        done = subprocess.run(tandem + ["--"] + command, capture_output=True, text=True, check=False)
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
    if totals["emulated"] != (0 if mode == "native" else totals["intercepted"]):
        yield f"{totals['emulated']} of {totals['intercepted']} products were emulated"
    if "error" in result:
        if result["error"] is None or not result["error"] <= ERROR[mode]:
            yield f"error {result['error']} is above {ERROR[mode]:.2e}"
        return
    if result["residual"] is None or not result["residual"] <= RESIDUAL_LIMIT:
        yield f"residual {result['residual']} is above {RESIDUAL_LIMIT}"
    least = DIGITS[name.split(" ", 1)[1]][mode]
    if result["digits"] is None or not result["digits"] >= least:
        yield f"{result['digits']} correct digits are fewer than {least}"


def row(name, mode, result, totals):
    is_gemm = "error" in result
    milliseconds = result["milliseconds"] if is_gemm else 1e3 * result["seconds"]
    return [name, mode, str(totals["intercepted"]), str(totals["emulated"]), str(totals["repaired"] if totals["repaired"] is not None else "-"),
            "" if is_gemm else f"{result['residual']:.2e}",
            "" if is_gemm else f"{result['digits']:.1f}",
            f"{result['error']:.2e}" if is_gemm else "",
            f"{milliseconds:.3f}", result["device"]]


def print_table(rows):
    titles = [title for title, _ in COLUMNS]
    widths = [max(len(line[i]) for line in [titles] + rows) for i in range(len(COLUMNS))]
    for line in [titles, ["-" * width for width in widths]] + rows:
        cells = zip(line, widths, COLUMNS)
        print("  ".join(f"{cell:{align}{width}}" for cell, width, (_, align) in cells).rstrip())


def main(folder, data):
    rows, complaints, on_host = [], [], False
    for name, command in programs(folder, data):
        for mode in ERROR:
            result, report = run(folder, mode, command)
            wrong = list(faults(name, mode, result, report["totals"]))
            complaints += [f"{name}, {mode}: {fault}" for fault in wrong]
            on_host = on_host or report["host_device"]
            if None not in result.values():
                rows.append(row(name, mode, result, report["totals"]))
    print_table(rows)
    print("\nresidual: |A x - b| / (2^-53 (|A| |x| + |b|) n); digits: correct ones in every component of x;"
          "\nerror: max |C - exact| / (|A| |B|); ms: of the factorisation, or of one product.")
    if on_host:
        print("No GPU was used: the products ran on the host device, in this machine's processor."
              "\nIts times say nothing about a GPU.")
    for complaint in complaints:
        print("FAILED: " + complaint)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
