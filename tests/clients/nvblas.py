"""Products by the BLAS of the CPU, with NVBLAS in front of it: dgemm_, zgemm_ and dsyrk_ of
matrices in the host's memory, by NVBLAS alone and with Tandem behind it. For a machine with a GPU,
libnvblas.so of the CUDA toolkit, a libblas.so.3, and `tandem` in PATH.

usage: nvblas.py [--out FILE] [--reps N] [--modes MODE,...] [SIZE ...]

SIZE is 4096 where none is given; for sizes above 6000 dgemm_ alone is called. Prints a line for
each call and mode: the median and the least of the times in milliseconds, and the largest error in
units of n 2^-53 |A||B|, measured on some rows; FILE gets the same as CSV. The status is 1 if an
error is above 1, if Tandem's report lacks a call or has an emulated one of mode native, and 77,
skipped, if there is no NVBLAS.
"""

import argparse
import csv
import ctypes
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

try:
    import numpy
except ImportError:
    print("skipped: no NumPy")
    sys.exit(77)

SKIPPED = 77
ALONE = "NVBLAS alone"
ROWS = 4  # of C, of which errors are measured
FIELDS = ("mode", "routine", "n", "median_ms", "least_ms", "error")


# ---- the program that calls the BLAS ----


class Blas:
    """Fortran's functions, as the loader finds them: NVBLAS's if it was preloaded."""

    def __init__(self):
        self.functions = ctypes.CDLL(None)

    def call(self, name, flags, sizes, a, b, c):
        """Matrices are stored by columns. b is None for a rank-k update."""
        one, zero = numpy.ones(1, a.dtype), numpy.zeros(1, a.dtype)
        number = ctypes.c_int(a.shape[0])

        def of(x):
            return ctypes.c_void_p(x.ctypes.data)

        matrices = [word for x in (a, b) if x is not None for word in (of(x), ctypes.byref(number))]
        arguments = [ctypes.c_char_p(flag) for flag in flags]
        arguments += [ctypes.byref(ctypes.c_int(size)) for size in sizes]
        arguments += [of(one), *matrices, of(zero), of(c), ctypes.byref(number)]
        getattr(self.functions, name)(*arguments)


def error_of(a, right, c, is_lower):
    """The largest error of some rows of C = A right, in units of n 2^-53 |A||right|."""
    n = a.shape[0]
    rows = numpy.linspace(n // 7, n - 1, ROWS, dtype=int)
    wide = numpy.clongdouble if numpy.iscomplexobj(a) else numpy.longdouble
    exact = a[rows].astype(wide) @ right.astype(wide)
    errors = abs(c[rows] - exact) / (abs(a[rows]) @ abs(right))
    if is_lower:
        errors = errors[numpy.arange(n) <= rows[:, None]]
    return float(errors.max()) / (n * 2.0**-53)


def random(n, kind):
    """A, and B, which is A turned around."""
    rng = numpy.random.default_rng(5)
    a = rng.standard_normal((n, n))
    if kind == "z":
        a = a + 1j * rng.standard_normal((n, n))
    return [numpy.asfortranarray(x) for x in (a, a[::-1, ::-1])]


def measure(blas, name, n, reps):
    """A dictionary of FIELDS but for the mode."""
    a, b = random(n, name[0])
    c = numpy.zeros_like(a, order="F")
    is_update = name == "dsyrk_"
    flags, sizes = ((b"L", b"N"), (n, n)) if is_update else ((b"N", b"N"), (n, n, n))
    times = []
    for _ in range(reps + 1):
        start = time.perf_counter()
        blas.call(name, flags, sizes, a, None if is_update else b, c)
        times.append(1e3 * (time.perf_counter() - start))
    error = error_of(a, a.T if is_update else b, c, is_update)
    return {"routine": name, "n": n, "median_ms": round(statistics.median(times[1:]), 2),
            "least_ms": round(min(times[1:]), 2), "error": round(error, 6)}


def be_program(options):
    blas = Blas()
    for n in options.sizes:
        for name in ("dgemm_", "zgemm_", "dsyrk_") if n <= 6000 else ("dgemm_", ):
            print(json.dumps(measure(blas, name, n, options.reps)), flush=True)


# ---- the process that starts it ----


def rows_of(mode, command, environment, sizes):
    done = subprocess.run([*command, *map(str, sizes)], env={**os.environ, **environment},
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
                          timeout=120)
    if done.returncode != 0:
        print(done.stderr[-1000:])
        raise RuntimeError(f"{mode}: the program ended with {done.returncode}")
    return [{"mode": mode, **json.loads(line)} for line in done.stdout.splitlines()
            if line.startswith("{")]


def faults_of_report(path, mode, rows, reps):
    """What of the calls is not in Tandem's report."""
    with open(path, encoding="utf-8") as file:
        report = json.load(file)
    totals = report["totals"]
    if mode == "native" and totals["emulated"]:
        yield f"native: {totals['emulated']} calls were emulated"
    for routine in {row["routine"] for row in rows}:
        function = f"cublasXt{routine.strip('_').capitalize()}"
        calls = sum(call["count"] for call in report["calls"] if call["function"] == function)
        wanted = (reps + 1) * sum(row["routine"] == routine for row in rows)
        if calls != wanted:
            yield f"{mode}: the report has {calls} calls of {function}, and {wanted} were made"


def run_all(options, folder):
    """All rows, and what is wrong with them."""
    program = [sys.executable, os.path.abspath(__file__), "--program", "--reps", str(options.reps)]
    environment, rows, faults = {"XDG_CACHE_HOME": folder}, [], []
    for mode in options.modes:
        report = os.path.join(folder, "report.json")
        own = rows_of(mode, ["tandem", "run", "--nvblas", "--mode", mode, "--report", report, "--",
                             *program], environment, options.sizes)
        faults += faults_of_report(report, mode, own, options.reps)
        if not rows:  # tandem run has written the configuration
            rows += rows_of(ALONE, program, {
                "LD_PRELOAD": options.nvblas,
                "NVBLAS_CONFIG_FILE": os.path.join(folder, "tandem", "nvblas.conf")
            }, options.sizes)
        rows += own
    faults += [f"wrong: {row}" for row in rows if not row["error"] <= 1.0]
    return rows, faults


def find_nvblas():
    for version in (13, 12, 11):
        name = f"libnvblas.so.{version}"
        check = subprocess.run([sys.executable, "-c", f"import ctypes; ctypes.CDLL('{name}')"],
                               capture_output=True, check=False)
        if check.returncode == 0:
            return name
    return None


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0])
    parser.add_argument("--program", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--out")
    parser.add_argument("--reps", type=int, default=5)
    parser.add_argument("--modes", type=lambda text: text.split(","), default=["auto", "ozaki2"])
    parser.add_argument("sizes", type=int, nargs="*", metavar="SIZE")
    options = parser.parse_args()
    options.sizes = options.sizes or [4096]
    if options.reps < 1 or any(size < 1 for size in options.sizes):
        parser.error(f"--reps is {options.reps} and SIZE is {options.sizes}; allowed: 1 or more")
    if options.program:
        return be_program(options)
    options.nvblas = find_nvblas()
    if not options.nvblas:
        print("skipped: the loader finds no libnvblas.so (11 to 13)")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        rows, faults = run_all(options, folder)
    for row in rows:
        print(f"{row['mode']:14} {row['routine']:8} {row['n']:6} {row['median_ms']:9.2f} ms "
              f"{row['least_ms']:9.2f} least   error {row['error']:.6f}")
    if options.out:
        with open(options.out, "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, FIELDS)
            writer.writeheader()
            writer.writerows(rows)
    print("\n".join(faults) or "right")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
