"""Times and residuals of cusolverDnDsyevd, with vectors, on a GPU; and times of cusolverDnSsyevd.

usage:
    eigen.py [ORDER...]
    tandem run --mode ozaki2 -- python3 bench/eigen.py [ORDER...]

For each order and kind of matrix it prints the median milliseconds of three calls after the first,
the largest norm of a column of A X - X D, over the largest value and sqrt(n) 2^-53, and that of
X'X - I, over sqrt(n) 2^-53. Where Tandem is not preloaded, a column has the time of binary32. It
needs PyTorch with its CUDA libraries.
"""

import ctypes
import glob
import os
import statistics
import sys
import time

import torch

REPEATS = 3
KINDS = ("random", "kernel", "graded", "clusters", "fives")


def find_library():
    folder = os.path.join(os.path.dirname(torch.__file__), "..", "nvidia")
    found = glob.glob(folder + "/**/libcusolver.so.1*", recursive=True)
    return ctypes.CDLL(found[0] if found else "libcusolver.so.12")


def pointer(tensor):
    return ctypes.c_void_p(tensor.data_ptr())


def check(status):
    if status:
        sys.exit(f"eigen.py: cuSOLVER's status is {status}")


class Solver:
    """A handle, and what matrices of one order and type need."""

    def __init__(self, library, n, dtype):
        self.n, self.handle, elements = n, ctypes.c_void_p(), ctypes.c_int()
        self.a, self.w = (torch.empty(*size, dtype=dtype, device="cuda") for size in ((n, n), (n,)))
        name = "cusolverDnDsyevd" if dtype == torch.float64 else "cusolverDnSsyevd"
        check(library.cusolverDnCreate(ctypes.byref(self.handle)))
        self.solve = library[name]
        check(library[name + "_bufferSize"](self.handle, 1, 0, n, pointer(self.a), n,
                                            pointer(self.w), ctypes.byref(elements)))
        self.elements = elements.value
        self.work = torch.empty(self.elements, dtype=dtype, device="cuda")
        self.info = torch.zeros(1, dtype=torch.int32, device="cuda")

    def milliseconds(self, matrix):
        self.a.copy_(matrix)
        torch.cuda.synchronize()
        begin = time.perf_counter()
        check(self.solve(self.handle, 1, 0, self.n, pointer(self.a), self.n, pointer(self.w),
                         pointer(self.work), self.elements, pointer(self.info)))
        torch.cuda.synchronize()
        return 1e3 * (time.perf_counter() - begin)

    def median(self, matrix):
        self.milliseconds(matrix)
        return statistics.median(self.milliseconds(matrix) for _ in range(REPEATS))

    def quality(self, matrix):
        vectors, values, unit = self.a.T, self.w, 2.0**-53 * self.n**0.5
        one = torch.eye(self.n, dtype=torch.float64, device="cuda")
        residual = torch.linalg.norm(matrix @ vectors - vectors * values, dim=0).max()
        departure = torch.linalg.norm(vectors.T @ vectors - one, dim=0).max()
        return (residual / values.abs().max() / unit).item(), (departure / unit).item()


def with_values(r, values):
    q = torch.linalg.qr(r)[0]
    a = (q * values) @ q.T
    return (a + a.T) / 2


def make(kind, n):
    generator = torch.Generator(device="cuda").manual_seed(n)
    r = torch.randn(n, n, dtype=torch.float64, device="cuda", generator=generator)
    u, i = torch.rand(n, dtype=torch.float64, device="cuda", generator=generator), torch.arange(
        n, device="cuda")
    x = 3.0 * i.double() / n
    return {
        "random": lambda: (r + r.T) / 2,
        "kernel": lambda: torch.exp(-0.5 * (x[:, None] - x[None])**2),
        "graded": lambda: with_values(r, 10.0**(-16.0 * i / n)),
        "clusters": lambda: with_values(r, torch.where(i % 2 == 0, 1.0 + 1e-8 * u, 3.0 * u)),
        "fives": lambda: with_values(r, 1.0 + i // 5),
    }[kind]()


def main():
    orders = [int(x) for x in sys.argv[1:]] or [256, 512, 1024, 2048, 4096, 8192]
    torch.zeros(1, device="cuda")
    library = find_library()
    is_native = "libtandem" not in os.environ.get("LD_PRELOAD", "")
    print(torch.cuda.get_device_name())
    print("matrix    order         ms  residual  departure" + "   binary32, ms" * is_native)
    for n in orders:
        for kind in KINDS if n <= 4096 else KINDS[:1]:
            solver, matrix = Solver(library, n, torch.float64), make(kind, n)
            line = f"{kind:8s} {n:6d} {solver.median(matrix):10.2f} "
            line += "{:9.2f}  {:9.2f}".format(*solver.quality(matrix))
            if is_native and kind == "random":
                line += f" {Solver(library, n, torch.float32).median(matrix.float()):14.2f}"
            print(line, flush=True)


if __name__ == "__main__":
    main()
