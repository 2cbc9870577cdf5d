"""Prints README's table of speed from the files that bench/routines wrote on a GPU.

usage: speed_table.py FOLDER

FOLDER (docs/results/h100-2026-11-28) holds routines-native.txt and routines-auto.txt, whose lines
are `ROUTINE M N K TIME ms RATE TFLOP/s`; M or K is 0 where the routine has no such size. Times are
milliseconds of a whole call, rates 10^12 real operations a second.
"""

import pathlib
import re
import sys

LINE = re.compile(r"(\w+) +(\d+) +(\d+) +(\d+) +([\d.]+) ms +([\d.]+) TFLOP/s")
# Routine and sizes of each row: large products first, then updates of one triangle, then solves.
ROWS = [
    ("dgemm", 4096, 4096, 4096),
    ("zgemm", 4096, 4096, 4096),
    ("zgemm", 8192, 8192, 8192),
    ("zgemm", 8192, 8192, 512),
    ("dgemm", 512, 512, 200000),
    ("dsymm", 8192, 8192, 0),
    ("dsyrk", 0, 8192, 8192),
    ("dsyrk", 0, 256, 200000),
    ("zherk", 0, 4096, 4096),
    ("zherk", 0, 64, 200000),
    ("dtrsm", 8192, 8192, 0),
    ("dtrsm", 8192, 512, 0),
    ("ztrsm", 4096, 4096, 0),
]


def measured(path):
    """{(routine, m, n, k): (milliseconds, TFLOP/s)}"""
    found = LINE.findall(path.read_text(encoding="utf-8"))
    return {(name, int(m), int(n), int(k)): (float(ms), float(rate))
            for name, m, n, k, ms, rate in found}


def named(routine, m, n, k):
    if "gemm" in routine:
        return f"`{routine}` {m} x {n} x {k}"
    if m == 0:
        return f"`{routine}` of order {n}, {k} columns"
    return f"`{routine}` of order {m}, {n} columns"


def table(folder):
    native, auto = (measured(folder / f"routines-{mode}.txt") for mode in ("native", "auto"))
    yield "| call | native, ms | `auto`, ms | times as fast | native, TFLOP/s | `auto`, TFLOP/s |"
    yield "|---|---|---|---|---|---|"
    for row in ROWS:
        (before, old_rate), (now, new_rate) = native[row], auto[row]
        yield (f"| {named(*row)} | {before:.2f} | {now:.2f} | {before / now:.1f} "
               f"| {old_rate:.0f} | {new_rate:.0f} |")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print("\n".join(table(pathlib.Path(sys.argv[1]))))
