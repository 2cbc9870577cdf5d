"""LU of one matrix by cuSOLVER and by Tandem in its place, in one process.

    factor.py --out FOLDER [--library FILE] [--modes MODE,...] [--orders N,...] [--rounds R]

For each order cuSOLVER's own cusolverDnXgetrf and, for each mode, Tandem's factor copies of one
random matrix in turn, R times each. FOLDER gets factor.csv, a line for each order and mode: medians
in milliseconds, their ratio, the norm-wise backward error |P A - L U| / (n 2^-53 |A|) by products
with a random vector, and how many pivots are not cuSOLVER's. Each mode is a copy of the library,
loaded with an environment of its own; it is not preloaded. Needs CuPy. Exit status 0 unless a call
failed or an error is above 30."""
import argparse
import csv
import ctypes
import os
import pathlib
import shutil
import statistics
import sys
import tempfile

import cupy as cp

HERE = pathlib.Path(__file__).resolve().parent
ORDERS = [1, 16, 32, 64, 100, 128, 192, 256, 384, 512, 768, 1024, 1500, 2048, 3000, 4096, 6000, 8192,
          12000, 16384]
REAL, MOST_ERROR = 1, 30.0  # CUDA_R_64F; what LAPACK's tests allow
FIELDS = ["order", "mode", "native_ms", "ms", "ratio", "native_error", "error", "other_pivots"]


class Solver:
    """cusolverDnXgetrf of a library, with a handle and a workspace of its own."""

    def __init__(self, cusolver):
        self.cusolver, self.stream = cusolver, cp.cuda.Stream(non_blocking=True)
        self.handle, self.params = ctypes.c_void_p(), ctypes.c_void_p()
        check(cusolver.cusolverDnCreate(ctypes.byref(self.handle)))
        check(cusolver.cusolverDnCreateParams(ctypes.byref(self.params)))
        check(cusolver.cusolverDnSetStream(self.handle, ctypes.c_void_p(self.stream.ptr)))

    def prepare(self, a):
        self.n = a.shape[0]
        on_device, on_host = ctypes.c_size_t(), ctypes.c_size_t()
        self.a = cp.empty_like(a, order="F")
        check(self.cusolver.cusolverDnXgetrf_bufferSize(
            *self.sizes(), REAL, ctypes.byref(on_device), ctypes.byref(on_host)))
        self.work = cp.empty(max(1, on_device.value), dtype=cp.uint8)
        self.host = ctypes.create_string_buffer(max(1, on_host.value))
        self.pivots = {}
        self.info = cp.zeros(1, dtype=cp.int32)
        self.bytes = on_device, on_host

    def sizes(self):
        n = ctypes.c_int64(self.n)
        return self.handle, self.params, n, n, REAL, pointer(self.a), n

    def factor(self, library, pivots):
        check(library.cusolverDnXgetrf(*self.sizes(), pointer(pivots), REAL, pointer(self.work),
                                       self.bytes[0], self.host, self.bytes[1], pointer(self.info)))

    def milliseconds(self, library, a, pivots):
        begin, end = cp.cuda.Event(), cp.cuda.Event()
        with self.stream:
            self.a[...] = a
            begin.record()
            self.factor(library, pivots)
            end.record()
        end.synchronize()
        return cp.cuda.get_elapsed_time(begin, end)


def pointer(array):
    return ctypes.c_void_p(array.data.ptr)


def check(status):
    if status != 0:
        raise RuntimeError(f"cuSOLVER returns {status}")


def error_of(a, factors, pivots):
    """By products with a vector of random numbers."""
    n = a.shape[0]
    x = cp.random.default_rng(7).standard_normal(n)
    rows = list(range(n))
    for i, pivot in enumerate(pivots.get().tolist()):
        rows[i], rows[pivot - 1] = rows[pivot - 1], rows[i]
    ux = cp.triu(factors) @ x
    lux = cp.tril(factors, -1) @ ux + ux
    off = cp.linalg.norm((a @ x)[cp.asarray(rows)] - lux)
    return float(off / (cp.linalg.norm(a) * cp.linalg.norm(x) * n * 2.0 ** -53))


def load(library, mode, folder):
    copy = pathlib.Path(folder) / f"tandem-{mode.replace(':', '-')}.so"
    shutil.copy(library, copy)
    os.environ["TANDEM_MODE"] = mode
    return ctypes.CDLL(str(copy))


def measure(solver, ways, order, rounds):
    a = cp.asfortranarray(cp.random.default_rng(order).standard_normal((order, order)))
    solver.prepare(a)
    times, results = {mode: [] for mode in ways}, {}
    for mode, library in ways.items():
        pivots = cp.zeros(order, dtype=cp.int64)
        solver.milliseconds(library, a, pivots)
        results[mode] = error_of(a, solver.a, pivots), pivots
    for _ in range(rounds):
        for mode, library in ways.items():
            times[mode].append(solver.milliseconds(library, a, results[mode][1]))
    return times, results


def lines_of(order, times, results):
    native, native_error = statistics.median(times["native"]), results["native"][0]
    for mode in times:
        if mode != "native":
            ms = statistics.median(times[mode])
            yield dict(zip(FIELDS, [
                order, mode, f"{native:.4f}", f"{ms:.4f}", f"{ms / native:.4f}",
                f"{native_error:.4f}", f"{results[mode][0]:.4f}",
                int((results[mode][1] != results["native"][1]).sum())]))


def parse(words):
    beside = [HERE / "interpose/libtandem.so", HERE.parent / "build/interpose/libtandem.so"]
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--library", type=pathlib.Path,
                        default=next((p for p in beside if p.exists()), beside[0]))
    parser.add_argument("--modes", type=lambda text: text.split(","), default=["auto"])
    parser.add_argument("--orders", type=lambda text: list(map(int, text.split(","))),
                        default=ORDERS)
    parser.add_argument("--rounds", type=int, default=7)
    return parser.parse_args(words)


def main(words):
    arguments, worst = parse(words), 0.0
    arguments.out.mkdir(parents=True, exist_ok=True)
    cusolver = ctypes.CDLL("libcusolver.so.12")
    with (tempfile.TemporaryDirectory() as folder,
          open(arguments.out / "factor.csv", "w", newline="", encoding="utf-8") as file):
        ways = {"native": cusolver} | {mode: load(arguments.library, mode, folder)
                                       for mode in arguments.modes}
        solver = Solver(cusolver)
        table = csv.DictWriter(file, FIELDS, lineterminator="\n")
        table.writeheader()
        print(*FIELDS)
        for order in arguments.orders:
            for line in lines_of(order, *measure(solver, ways, order, arguments.rounds)):
                table.writerow(line)
                file.flush()
                print(*line.values(), flush=True)
                worst = max(worst, float(line["error"]))
    sys.exit(0 if worst <= MOST_ERROR else 1)


if __name__ == "__main__":
    main(sys.argv[1:])
