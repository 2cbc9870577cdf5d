"""LU, or Cholesky, of one matrix by cuSOLVER and by Tandem in its place, in one process.

    factor.py --out FOLDER [--routine getrf|potrf] [--triangle L|U] [--library FILE]
        [--modes MODE,...] [--orders N,...] [--rounds R]

For each order cuSOLVER's own cusolverDnXgetrf (or Xpotrf) and, for each mode, Tandem's factor
copies of one random matrix in turn, R times each. FOLDER gets factor.csv, a line for each order and
mode: medians in milliseconds, their ratio, the norm-wise backward error |P A - L U| / (n 2^-53 |A|)
by products with a random vector, and how many pivots are not cuSOLVER's. Each mode is a copy of the
library, loaded with an environment of its own; it is not preloaded. Needs PyTorch. Exit status 0
unless a call failed or an error is above 30."""
import argparse
import csv
import ctypes
import os
import pathlib
import shutil
import statistics
import sys
import tempfile

import torch

HERE = pathlib.Path(__file__).resolve().parent
ORDERS = [1, 16, 32, 64, 100, 128, 192, 256, 384, 512, 768, 1024, 1500, 2048, 3000, 4096, 6000,
          8192, 12000, 16384]
REAL, MOST_ERROR = 1, 30.0  # CUDA_R_64F; what LAPACK's tests allow
FIELDS = ["order", "mode", "native_ms", "ms", "ratio", "native_error", "error", "other_pivots"]


class Solver:
    """A factorisation of a library, with a handle and a workspace of its own."""

    def __init__(self, cusolver):
        self.cusolver, self.stream = cusolver, torch.cuda.Stream()
        self.handle, self.params = ctypes.c_void_p(), ctypes.c_void_p()
        check(cusolver.cusolverDnCreate(ctypes.byref(self.handle)))
        check(cusolver.cusolverDnCreateParams(ctypes.byref(self.params)))
        check(cusolver.cusolverDnSetStream(self.handle, ctypes.c_void_p(self.stream.cuda_stream)))

    def prepare(self, a):
        """For matrices of the size of a, which lies in columns: a tensor of its transpose."""
        self.n, self.a = len(a), torch.empty_like(a)
        on_device, on_host = ctypes.c_size_t(), ctypes.c_size_t()
        check(getattr(self.cusolver, self.function + "_bufferSize")(
            *self.sizes(), REAL, ctypes.byref(on_device), ctypes.byref(on_host)))
        self.work = torch.empty(max(1, on_device.value), dtype=torch.uint8, device="cuda")
        self.host = ctypes.create_string_buffer(max(1, on_host.value))
        self.info = torch.zeros(1, dtype=torch.int32, device="cuda")
        self.bytes = on_device, on_host
        torch.cuda.synchronize()

    def milliseconds(self, library, a, pivots):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        with torch.cuda.stream(self.stream):
            self.a.copy_(a)
            begin.record()
            check(getattr(library, self.function)(
                *self.sizes(), *self.pivots(pivots), REAL, pointer(self.work), self.bytes[0],
                self.host, self.bytes[1], pointer(self.info)))
            end.record()
        end.synchronize()
        if int(self.info):
            raise RuntimeError(f"{self.function}: info is {int(self.info)} at order {self.n}")
        return begin.elapsed_time(end)


class LU(Solver):
    function = "cusolverDnXgetrf"

    def sizes(self):
        n = ctypes.c_int64(self.n)
        return self.handle, self.params, n, n, REAL, pointer(self.a), n

    @staticmethod
    def pivots(pivots):
        return [pointer(pivots)]

    @staticmethod
    def make(n):
        return torch.randn(n, n, dtype=torch.float64, device="cuda")

    @staticmethod
    def error(a, factors, pivots):
        """By products with a vector of random numbers; both matrices are transposed."""
        n = len(a)
        x = torch.randn(n, dtype=torch.float64, device="cuda")
        rows = list(range(n))
        for i, pivot in enumerate(pivots.tolist()):
            rows[i], rows[pivot - 1] = rows[pivot - 1], rows[i]
        ux = torch.triu(factors.T) @ x
        off = (a.T @ x)[torch.tensor(rows, device="cuda")] - torch.tril(factors.T, -1) @ ux - ux
        return float(off.norm() / (a.norm() * x.norm() * n * 2.0 ** -53))


class Cholesky(Solver):
    function = "cusolverDnXpotrf"
    triangle = "L"

    def sizes(self):
        n = ctypes.c_int64(self.n)
        return (self.handle, self.params, "LU".index(self.triangle), n, REAL, pointer(self.a), n)

    @staticmethod
    def pivots(_):
        return []

    @staticmethod
    def make(n):
        """Symmetric, with eigenvalues from about 1 to 4 sqrt(n)."""
        a = torch.randn(n, n, dtype=torch.float64, device="cuda")
        return (a + a.T) / 2 ** 0.5 + (2 * n ** 0.5 + 1.0) * torch.eye(
            n, dtype=torch.float64, device="cuda")

    def error(self, a, factors, _):
        x = torch.randn(len(a), dtype=torch.float64, device="cuda")
        lower = torch.tril(factors.T if self.triangle == "L" else factors)
        off = a @ x - lower @ (lower.T @ x)
        return float(off.norm() / (a.norm() * x.norm() * len(a) * 2.0 ** -53))


def pointer(tensor):
    return ctypes.c_void_p(tensor.data_ptr())


def check(status):
    if status != 0:
        raise RuntimeError(f"cuSOLVER returns {status}")


def load(library, mode, folder):
    copy = pathlib.Path(folder) / f"tandem-{mode.replace(':', '-')}.so"
    shutil.copy(library, copy)
    os.environ["TANDEM_MODE"] = mode
    return ctypes.CDLL(str(copy))


def measure(solver, ways, order, rounds):
    a = solver.make(order)
    solver.prepare(a)
    times, results = {mode: [] for mode in ways}, {}
    for mode, library in ways.items():
        pivots = torch.zeros(order, dtype=torch.int64, device="cuda")
        torch.cuda.synchronize()
        solver.milliseconds(library, a, pivots)
        results[mode] = solver.error(a, solver.a, pivots), pivots
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
    parser.add_argument("--routine", choices=["getrf", "potrf"], default="getrf")
    parser.add_argument("--triangle", choices=["L", "U"], default="L", help="of potrf")
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
        solver = {"getrf": LU, "potrf": Cholesky}[arguments.routine](cusolver)
        solver.triangle = arguments.triangle
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
