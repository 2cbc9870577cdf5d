"""What tutorials of numerical libraries compute in FP64: GPyTorch, BoTorch, torchdiffeq, e3nn and
opt_einsum with PyTorch, CuPy's solvers, NumPyro, lineax, optimistix, diffrax and JAX.

usage: libraries.py [--tandem FILE] [--mode MODE] [--keep FOLDER [--reports]] [--small]
                    [--seconds N] [--only WORD]... [FAMILY ...]

FAMILY is torch, bayes, cupy or jax; without one, all run. Each runs in two processes at a time, as
it is and in MODE (default auto) under `tandem run`. Both prepare their pieces of work, and are
then timed in turn, one piece after the other. A line has both times in milliseconds, their ratio,
and how far both results are apart, in units of rounding: |difference| / (n 2^-53 condition
|largest|), where each piece says its n and its condition. The end status is 1 if one is above 30.
Where the host has more to do than the device, two processes differ by 20 % and more. So a line has
a second ratio, of calls in the second process alone, in MODE and in a native region in turn (as in
orders.py; a CUDA graph keeps its mode). --keep leaves results and the table in FOLDER. What is not
installed is said and left out.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

import numpy as np

import orders
import programs
from pieces import PIECES

# Each of these adds its pieces, in this order.
import work_of_torch
import work_of_bayes
import work_of_cupy
import work_of_jax

FAMILIES = ("torch", "bayes", "cupy", "jax")
FEWEST, MOST = 3, 15  # times of each process
# Without these JAX times algorithms of cuBLAS before it chooses, and makes products by Triton.
XLA = {"XLA_FLAGS": "--xla_gpu_autotune_level=0 --xla_gpu_enable_triton_gemm=false",
       "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}


# ---- a process of one family in one mode ----


def waiter(family):
    """A function that waits until its argument, the results of a piece of work, is there."""
    if family == "jax":
        return programs.Jax().jax.block_until_ready
    framework = programs.CuPy() if family == "cupy" else programs.Torch()
    return lambda results: framework.wait()


def waiting(work, wait):

    def whole():
        results = work()
        wait(results)
        return results

    return whole


def prepared(family, small, only):
    """Yields a name and a function of no arguments that waits, or None with what failed."""
    try:
        wait = waiter(family)
    except Exception as reason:  # pylint: disable=broad-except # what is missing is said
        yield family, None, repr(reason)
        return
    for name, (of, make, n, _) in PIECES.items():
        if of != family or (only and not any(word in name for word in only)):
            continue
        try:
            whole = waiting(make(n // 10 if small else n), wait)
            whole()
            yield name, whole, None
        except Exception:  # pylint: disable=broad-except # one failure leaves the others
            yield name, None, traceback.format_exc()


def once(work, path):
    """Seconds of one call. The first one's results are left at the path."""
    start = time.perf_counter()
    results = work()
    seconds = time.perf_counter() - start
    if not path.exists():
        np.savez(path, *map(programs.host, results))
    return seconds


def region_ratio(work, seconds):
    """What the mode takes of the time of a native region."""
    (native, other), _ = orders.in_turn(work, lambda: None, everywhere=True, seconds=seconds)
    return other / native


def serve(arguments):
    """Prepares all pieces of the family, and then answers lines of input: `once NAME` or
    `region NAME`. Answers are lines of JSON on what was the standard output."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    works, failed = {}, {}
    for name, work, reason in prepared(arguments.families[0], arguments.small, arguments.only):
        if work:
            works[name] = work
        else:
            failed[name] = reason
    print(json.dumps({"ready": list(works), "failed": failed}), file=out, flush=True)
    for line in sys.stdin:
        what, name = line.strip().split(maxsplit=1)
        answer = (once(works[name], Path(arguments.serve) / f"{name}.npz") if what == "once" else
                  region_ratio(works[name], arguments.seconds))
        print(json.dumps(answer), file=out, flush=True)


# ---- the processes of a family ----


class Side:
    """A process that prepares pieces of a family and times them when asked."""

    def __init__(self, name, command, family, folder, arguments):
        self.folder, self.family, self.name = folder / name, family, name
        self.folder.mkdir(parents=True, exist_ok=True)
        only = [part for word in arguments.only for part in ("--only", word)]
        small = ["--small"] if arguments.small else []
        self.process = subprocess.Popen(
            [*command, sys.executable, __file__, "--serve", str(self.folder), "--seconds",
             str(arguments.seconds), *only, *small, family],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **XLA})

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise EOFError(f"{self.family}, {self.name}: ended with {self.process.wait()}")
        return json.loads(line)

    def ask(self, what, name):
        print(what, name, file=self.process.stdin, flush=True)
        return self.answer()

    def results(self, name):
        with np.load(self.folder / f"{name}.npz") as found:
            return [found[key] for key in found.files]

    def end(self):
        self.process.stdin.close()
        return self.process.wait()


def sides(family, folder, arguments):
    """Native, and the mode."""
    report = ["--report", str(folder / f"{family}.json")] if arguments.reports else []
    command = [arguments.tandem, "run", "--mode", arguments.mode, *report, "--"]
    return (Side("native", [], family, folder, arguments),
            Side("other", command, family, folder, arguments))


def apart(found, right, n, condition):
    """The largest difference of all results, in units of rounding of the largest number."""
    worst = 0.0
    for x, y in zip(found, right, strict=True):
        scale = float(np.max(np.abs(y), initial=0.0)) or 1.0
        one = float(np.max(np.abs(x - y), initial=0.0)) / (scale * programs.UNIT * n * condition)
        worst = max(worst, one) if one == one else float("inf")
    return worst


def timed(native, other, name, seconds):
    """Medians of both in milliseconds, which take turns in who is first. The first round does not
    count."""
    times, begun = {native: [], other: []}, time.perf_counter()
    for done in range(MOST + 1):
        for side in (native, other) if done % 2 else (other, native):
            taken = side.ask("once", name)
            if done:
                times[side].append(taken)
        if len(times[native]) >= FEWEST and time.perf_counter() - begun > seconds:
            break
    return [statistics.median(times[side]) * 1e3 for side in (native, other)]


def prepared_by_both(family):
    """The pieces of a family that both processes have prepared; says which failed."""
    ready = [side.answer() for side in family]
    for said, side in zip(ready, family):
        for name, reason in said["failed"].items():
            print(f"{side.family} {name}: left out ({side.name}: {reason})", flush=True)
    return [name for name in ready[0]["ready"] if all(name in said["ready"] for said in ready)]


def lines(native, other, names, seconds):
    for name in names:
        ms, ms_other = timed(native, other, name, seconds)
        _, _, n, condition = PIECES[name]
        yield (native.family, name, ms, ms_other, ms_other / ms, other.ask("region", name),
               apart(other.results(name), native.results(name), n, condition))


def run_family(family, names, seconds, csv):
    """True if all results are near enough, and both processes end well."""
    good = True
    try:
        for line in lines(*family, names, seconds):
            print("{:6} {:32} {:10.3f} {:10.3f} ms {:6.3f}, in turn {:6.3f}, apart {:8.2g}".format(
                *line), flush=True)
            print("{},{},{:.4f},{:.4f},{:.4f},{:.4f},{:.4g}".format(*line), file=csv, flush=True)
            good &= line[6] <= programs.WORST
    except (EOFError, BrokenPipeError) as reason:
        print(f"{family[0].family}: FAILED, {reason}", flush=True)
        good = False
    ends = [side.end() for side in family]
    if any(ends):
        print(f"{family[0].family}: processes ended with {ends}", flush=True)
    return good and not any(ends)


def run(folder, arguments):
    """True if all is well. Processes of all families prepare at a time, before any is timed."""
    families = [sides(family, folder, arguments) for family in arguments.families]
    with open(folder / "libraries.csv", "w", encoding="utf-8") as csv:
        print("framework,work,native_ms,ms,ratio,in_turn,apart", file=csv)
        names = [prepared_by_both(family) for family in families]
        return all([run_family(family, of, arguments.seconds, csv)
                    for family, of in zip(families, names)])


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--tandem", default="tandem", help="the launcher")
    parser.add_argument("--mode", default="auto", help="what is compared with native")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="leave results there")
    parser.add_argument("--reports", action="store_true", help="leave Tandem's reports there")
    parser.add_argument("--small", action="store_true", help="small sizes")
    parser.add_argument("--seconds", type=float, default=0.5, help="of a piece of work")
    parser.add_argument("--only", action="append", default=[], metavar="WORD",
                        help="pieces whose name has it, or one of several")
    parser.add_argument("--serve", metavar="FOLDER", help=argparse.SUPPRESS)
    parser.add_argument("families", nargs="*", metavar="FAMILY", help=", ".join(FAMILIES))
    arguments = parser.parse_args()
    unknown = set(arguments.families) - set(FAMILIES)
    if unknown:
        parser.error(f"unknown family {', '.join(unknown)}; allowed: {', '.join(FAMILIES)}")
    if arguments.reports and not arguments.keep:
        parser.error("--reports without --keep: where are they to be left?")
    arguments.families = arguments.families or list(FAMILIES)
    return arguments


def main():
    arguments = parse_arguments()
    if arguments.serve:
        serve(arguments)
        return 0
    if arguments.keep:
        arguments.keep.mkdir(parents=True, exist_ok=True)
        return 0 if run(arguments.keep, arguments) else 1
    with tempfile.TemporaryDirectory() as folder:
        return 0 if run(Path(folder), arguments) else 1


if __name__ == "__main__":
    sys.exit(main())
