"""LU, Cholesky, QR, and what is made of their factors, of one matrix by cuSOLVER and by Tandem in
its place, in one process.

    factor.py --out FOLDER [--library FILE] [--routine ROUTINE] [--triangle L|U] [--op N|T]
              [--complex] [--modes MODE,...] [--orders N,...] [--rhs K,...] [--rounds R]
    factor.py --out FOLDER --random N [--seed SEED] [--divide D] [--library FILE] [--modes MODE,...]

For each order cuSOLVER's own routine (cusolverDnXgetrf, Xpotrf, Xgeqrf, Xgetrs, Xpotrs, Dpotri,
Dorgqr, Dormqr; of complex matrices Zpotri, Zungqr, Zunmqr) and, for each mode, Tandem's run on
copies of one random matrix in turn, R times each; getrs and potrs for each number of right-hand
sides, of which 0 stands for the order. FOLDER gets factor.csv, a line for each order and
mode: medians in milliseconds, their ratio, the norm-wise backward error
|P A - L U| / (n 2^-53 |A|), |A - L L'|, |A - Q R|, |B - A X|, or that of Q, by products with a
random vector, and how many pivots, or signs of R's diagonal, are not cuSOLVER's.

With --random N calls are drawn by a seed (sweep_factors.py): routine, type, triangle, side,
operation and sizes, which are divided by D. FOLDER gets random.csv, and those that take more than
1.05 of cuSOLVER's time are printed.

Each mode is a copy of the library, loaded with an environment of its own; it is not preloaded.
Needs PyTorch, with --random CuPy. Exit status 0 unless a call failed or an error is above 30, or,
with --random, above 3 and above five times cuSOLVER's."""
import argparse
import csv
import ctypes
import itertools
import os
import pathlib
import secrets
import shutil
import statistics
import sys
import tempfile

from never_slower import positive

try:
    import torch
except ImportError:  # drawn calls need none
    torch = None

HERE = pathlib.Path(__file__).resolve().parent
ORDERS = [1, 16, 32, 64, 100, 128, 192, 256, 384, 512, 768, 1024, 1500, 2048, 3000, 4096, 6000,
          8192, 12000, 16384]
REAL, COMPLEX = 1, 5  # CUDA_R_64F, CUDA_C_64F
MOST_ERROR = 30.0  # what LAPACK's tests allow
MOST_DRAWN_ERROR, MOST_TIMES_NATIVE = 3.0, 5.0
SLOW = 1.05  # of cuSOLVER's time
FIELDS = ["order", "mode", "native_ms", "ms", "ratio", "native_error", "error", "other_pivots",
          "rhs"]


def pointer(tensor):
    return ctypes.c_void_p(tensor.data_ptr())


def check(status):
    if status != 0:
        raise RuntimeError(f"cuSOLVER returns {status}")


def zeros(n, kind):
    """kind: a type of torch's, or its name."""
    kind = getattr(torch, kind) if isinstance(kind, str) else kind
    return torch.zeros(n, dtype=kind, device="cuda")


class Typed:
    """A routine cusolverDnX of sizes in int64. Matrices lie in columns: tensors are transposes."""

    type = REAL  # of its matrices
    rhs = [0]  # numbers of right-hand sides; 0: it has none

    def start(self, a):
        """The matrix that the routine is called with, and what there is beside it."""
        return a, zeros(len(a), self.kind)

    def size(self, a, _):
        """The norm that errors are relative to."""
        return a.norm()

    def sizes(self, solver):
        n = ctypes.c_int64(solver.n)
        return solver.handle, solver.params, n, n, self.type, pointer(solver.a), n

    def bytes(self, solver, beside):
        """Of workspace on the device and on the host."""
        on_device, on_host = ctypes.c_size_t(), ctypes.c_size_t()
        check(solver.cusolver[self.name + "_bufferSize"](
            *self.sizes(solver), *self.size_arguments(beside), ctypes.byref(on_device),
            ctypes.byref(on_host)))
        return on_device.value, on_host.value

    def call(self, library, solver, beside):
        on_device, on_host = map(ctypes.c_size_t, solver.bytes)
        return library[self.name](*self.sizes(solver), *self.arguments(beside),
                                  pointer(solver.work), on_device, solver.host, on_host,
                                  pointer(solver.info))


class Getrf(Typed):
    """Beside the factors there are pivots."""

    name, kind = "cusolverDnXgetrf", "int64"

    def arguments(self, pivots):
        return pointer(pivots), self.type

    def size_arguments(self, _):
        return (self.type,)

    def wanted(self, a, _, x):
        return a.T @ x

    def product(self, factors, pivots, x):
        rows = list(range(len(factors)))
        for i, pivot in enumerate(pivots.tolist()):
            rows[i], rows[pivot - 1] = rows[pivot - 1], rows[i]
        ux = torch.triu(factors.T) @ x
        ax = torch.empty_like(x)
        ax[torch.tensor(rows, device="cuda")] = torch.tril(factors.T, -1) @ ux + ux
        return ax

    def choices(self, _, pivots):
        return pivots


class Potrf(Typed):
    """One triangle of a Hermitian matrix with eigenvalues from about 4 to 4 sqrt(n) + 4: far enough
    from 0 that no draw of numbers is indefinite."""

    name, kind, triangle = "cusolverDnXpotrf", "float64", "L"

    def start(self, a):
        n = len(a)
        one = torch.eye(n, dtype=a.dtype, device="cuda")
        self.matrix = (a + a.mH) / 2 ** 0.5 + (2 * n ** 0.5 + 4.0) * one
        return self.matrix, zeros(n, self.kind)

    def sizes(self, solver):
        n = ctypes.c_int64(solver.n)
        return (solver.handle, solver.params, "LU".index(self.triangle), n, self.type,
                pointer(solver.a), n)

    def arguments(self, _):
        return (self.type,)

    size_arguments = arguments

    def wanted(self, _, __, x):
        return self.matrix @ x

    def product(self, factors, _, x):
        lower = torch.tril(factors.mH if self.triangle == "L" else factors)
        return lower @ (lower.mH @ x)

    def size(self, _, __):
        return self.matrix.norm()

    def choices(self, factors, _):
        return zeros(len(factors), self.kind)


class Geqrf(Typed):
    """Beside the factors there is tau."""

    name = "cusolverDnXgeqrf"

    def start(self, a):
        return a, zeros(len(a), a.dtype)

    def arguments(self, tau):
        return self.type, pointer(tau), self.type

    size_arguments = arguments

    def wanted(self, a, _, x):
        return a.T @ x

    def product(self, factors, tau, x):
        return torch.ormqr(factors.T, tau, (torch.triu(factors.T) @ x)[:, None])[:, 0]

    def choices(self, factors, _):
        return factors.diagonal().real.sign()


class Getrs(Typed):
    """X in place of B, whose rows here are its columns. Beside it there are pivots."""

    name, rhs, op = "cusolverDnXgetrs", [1, 16, 256, 0], "N"

    def start(self, a):
        order, self.columns = len(a), self.columns or len(a)
        factors, pivots = torch.linalg.lu_factor(a.T)
        self.matrix, self.factors = a.T, factors.T.contiguous()
        self.right = torch.randn(self.columns, order, dtype=a.dtype, device="cuda")
        return self.right, pivots.to(torch.int64)

    def bytes(self, *_):
        return 0, 0

    def call(self, library, solver, pivots):
        n = ctypes.c_int64(solver.n)
        return library[self.name](
            solver.handle, solver.params, "NTC".index(self.op), n, ctypes.c_int64(self.columns),
            self.type, pointer(self.factors), n, pointer(pivots), self.type, pointer(solver.a), n,
            pointer(solver.info))

    def wanted(self, _, __, x):
        return self.right.T @ x

    def product(self, made, _, x):
        return (self.matrix if self.op == "N" else self.matrix.T) @ (made.T @ x)

    def size(self, _, made):
        return self.matrix.norm() * made.norm()

    def choices(self, made, _):
        return zeros(len(made), torch.float64)


class Potrs(Getrs):
    """By a triangle of a symmetric matrix as potrf has it."""

    name, triangle = "cusolverDnXpotrs", "L"

    def start(self, a):
        order, self.columns = len(a), self.columns or len(a)
        self.matrix, _ = Potrf().start(a)
        lower = torch.linalg.cholesky(self.matrix)
        triangle = lower.T if self.triangle == "L" else lower.conj()
        self.factors = triangle.resolve_conj().contiguous()
        self.right = torch.randn(self.columns, order, dtype=a.dtype, device="cuda")
        return self.right, None

    def call(self, library, solver, _):
        n = ctypes.c_int64(solver.n)
        return library[self.name](
            solver.handle, solver.params, "LU".index(self.triangle), n,
            ctypes.c_int64(self.columns), self.type, pointer(self.factors), n, self.type,
            pointer(solver.a), n, pointer(solver.info))


class Potri(Potrs):
    """The triangle of the inverse in place of the factor."""

    rhs = [0]

    @property
    def name(self):
        return "cusolverDnZpotri" if self.type == COMPLEX else "cusolverDnDpotri"

    def start(self, a):
        super().start(a)
        return self.factors, None

    def arguments(self, solver):
        return (solver.handle, "LU".index(self.triangle), solver.n, pointer(solver.a), solver.n)

    def bytes(self, solver, _):
        elements = ctypes.c_int()
        check(solver.cusolver[self.name + "_bufferSize"](*self.arguments(solver),
                                                         ctypes.byref(elements)))
        self.elements = elements.value
        return 16 * elements.value, 0

    def call(self, library, solver, _):
        return library[self.name](*self.arguments(solver), pointer(solver.work), self.elements,
                                  pointer(solver.info))

    def wanted(self, _, __, x):
        return x

    def product(self, made, _, x):
        triangle = torch.tril(made.T if self.triangle == "L" else made.conj())
        return self.matrix @ (triangle @ x + torch.tril(triangle, -1).mH @ x)


class Reflected:
    """A routine of cuSOLVER with the reflectors of a random matrix; names by type."""

    type = REAL
    rhs = [0]

    def start(self, a):
        factors, tau = torch.geqrf(a.T)
        self.factors = factors.T.contiguous()
        return self.matrix(a), tau

    def size(self, _, made):
        return made.norm()

    def bytes(self, solver, tau):
        elements = ctypes.c_int()
        check(solver.cusolver[self.names[self.type] + "_bufferSize"](
            *self.arguments(solver, tau), ctypes.byref(elements)))
        self.elements = elements.value
        return tau.element_size() * elements.value, 0

    def call(self, library, solver, tau):
        return library[self.names[self.type]](*self.arguments(solver, tau), pointer(solver.work),
                                              self.elements, pointer(solver.info))

    def choices(self, made, _):
        return zeros(len(made), torch.int64)


class Orgqr(Reflected):
    """Q in place of the reflectors."""

    names = {REAL: "cusolverDnDorgqr", COMPLEX: "cusolverDnZungqr"}

    def matrix(self, _):
        return self.factors

    def arguments(self, solver, tau):
        n = solver.n
        return solver.handle, n, n, n, pointer(solver.a), n, pointer(tau)

    def wanted(self, _, tau, x):
        return torch.ormqr(self.factors.T, tau, x[:, None])[:, 0]

    def product(self, made, _, x):
        return made.T @ x


class Ormqr(Reflected):
    """Q' C in place of C, of a complex Q its conjugate transpose."""

    names = {REAL: "cusolverDnDormqr", COMPLEX: "cusolverDnZunmqr"}

    def matrix(self, a):
        return a

    def arguments(self, solver, tau):
        n = solver.n
        operation = 2 if self.type == COMPLEX else 1
        return (solver.handle, 0, operation, n, n, n, pointer(self.factors), n, pointer(tau),
                pointer(solver.a), n)

    def wanted(self, a, tau, x):
        return torch.ormqr(self.factors.T, tau, (a.T @ x)[:, None], transpose=True)[:, 0]

    def product(self, made, _, x):
        return made.T @ x


ROUTINES = {"getrf": Getrf, "potrf": Potrf, "geqrf": Geqrf, "getrs": Getrs, "potrs": Potrs,
            "potri": Potri, "orgqr": Orgqr, "ormqr": Ormqr}


class Solver:
    """A routine of a library, with a handle and a workspace of its own."""

    def __init__(self, cusolver, routine):
        self.routine = routine
        self.cusolver, self.stream = cusolver, torch.cuda.Stream()
        self.handle, self.params = ctypes.c_void_p(), ctypes.c_void_p()
        check(cusolver.cusolverDnCreate(ctypes.byref(self.handle)))
        check(cusolver.cusolverDnCreateParams(ctypes.byref(self.params)))
        check(cusolver.cusolverDnSetStream(self.handle, ctypes.c_void_p(self.stream.cuda_stream)))

    def prepare(self, a):
        """For matrices of the size of a: returns what the routine is called with."""
        self.n = len(a)
        source, beside = self.routine.start(a)
        self.a = source.clone()
        self.bytes = self.routine.bytes(self, beside)
        self.work = torch.empty(max(1, self.bytes[0]), dtype=torch.uint8, device="cuda")
        self.host = ctypes.create_string_buffer(max(1, self.bytes[1]))
        self.info = torch.zeros(1, dtype=torch.int32, device="cuda")
        torch.cuda.synchronize()
        return source, beside

    def milliseconds(self, library, a, beside):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        with torch.cuda.stream(self.stream):
            self.a.copy_(a)
            begin.record()
            check(self.routine.call(library, self, beside))
            end.record()
        end.synchronize()
        if int(self.info):
            raise RuntimeError(f"info is {int(self.info)} at order {self.n}")
        return begin.elapsed_time(end)


def error_of(routine, a, made, beside):
    """By products with a vector of random numbers; both matrices are transposed."""
    n = made.shape[1]
    x = torch.randn(len(made), dtype=made.dtype, device="cuda")
    off = routine.wanted(a, beside, x) - routine.product(made, beside, x)
    return float(off.norm() / (routine.size(a, made) * x.norm() * n * 2.0 ** -53))


def load(library, mode, folder):
    copy = pathlib.Path(folder) / f"tandem-{mode.replace(':', '-')}.so"
    shutil.copy(library, copy)
    os.environ["TANDEM_MODE"] = mode
    return ctypes.CDLL(str(copy))


def measure(solver, ways, order, columns, rounds):
    solver.routine.columns = columns
    dtype = torch.complex128 if solver.routine.type == COMPLEX else torch.float64
    a = torch.randn(order, order, dtype=dtype, device="cuda")
    source, beside = solver.prepare(a)
    times, results = {mode: [] for mode in ways}, {}
    routine = solver.routine
    for mode, library in ways.items():
        solver.milliseconds(library, source, beside)
        results[mode] = (error_of(routine, a, solver.a, beside),
                         routine.choices(solver.a, beside).clone())
    for _ in range(rounds):
        for mode, library in ways.items():
            times[mode].append(solver.milliseconds(library, source, beside))
    return times, results


def lines_of(order, columns, times, results):
    native, native_error = statistics.median(times["native"]), results["native"][0]
    for mode in times:
        if mode != "native":
            ms = statistics.median(times[mode])
            yield dict(zip(FIELDS, [
                order, mode, f"{native:.4f}", f"{ms:.4f}", f"{ms / native:.4f}",
                f"{native_error:.4f}", f"{results[mode][0]:.4f}",
                int((results[mode][1] != results["native"][1]).sum()), columns]))


def measure_drawn(arguments, ways, file):
    """False if a result is wrong."""
    import sweep_factors
    sweep, is_good = sweep_factors.Sweep(ways["native"], arguments.seed), True
    table = csv.writer(file, lineterminator="\n")
    titles = [*sweep_factors.Row._fields, "mode", "native_ms", "ms", "ratio", "native_error",
              "error"]
    table.writerow(titles)
    print(f"{arguments.random} calls of seed {arguments.seed}, of which over {SLOW}:")
    print(*titles, flush=True)
    for row in sweep_factors.draw_rows(arguments.random, arguments.seed, arguments.divide):
        found = sweep.measure(row, ways, arguments.rounds)
        native, native_error = found.pop("native")
        for mode, (ms, error) in found.items():
            line = [*row, mode, f"{native:.4f}", f"{ms:.4f}", f"{ms / native:.4f}",
                    f"{native_error:.4g}", f"{error:.4g}"]
            table.writerow(line)
            is_right = error <= max(MOST_DRAWN_ERROR, MOST_TIMES_NATIVE * native_error)
            if not is_right or ms > SLOW * native:
                print(*line, *[] if is_right else ["WRONG"], flush=True)
            is_good = is_good and is_right
        file.flush()
    return is_good


def measure_listed(arguments, ways, file):
    """False if an error is above MOST_ERROR."""
    Potrf.triangle = Potrs.triangle = arguments.triangle
    Getrs.op = arguments.op
    routine, worst = ROUTINES[arguments.routine](), 0.0
    routine.type = COMPLEX if arguments.complex else REAL
    solver = Solver(ways["native"], routine)
    table = csv.DictWriter(file, FIELDS, lineterminator="\n")
    table.writeheader()
    print(*FIELDS)
    for order, columns in itertools.product(arguments.orders, arguments.rhs or routine.rhs):
        measured = measure(solver, ways, order, columns, arguments.rounds)
        for line in lines_of(order, columns, *measured):
            table.writerow(line)
            file.flush()
            print(*line.values(), flush=True)
            worst = max(worst, float(line["error"]))
    return worst <= MOST_ERROR


def parse(words):
    beside = [HERE / "interpose/libtandem.so", HERE.parent / "build/interpose/libtandem.so"]
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--library", type=pathlib.Path,
                        default=next((p for p in beside if p.exists()), beside[0]))
    parser.add_argument("--routine", choices=ROUTINES, default="getrf")
    parser.add_argument("--triangle", choices="LU", default="L", help="of potrf and so on")
    parser.add_argument("--op", choices="NT", default="N", help="of getrs")
    parser.add_argument("--complex", action="store_true", help="of complex matrices")
    parser.add_argument("--modes", type=lambda text: text.split(","), default=["auto"])
    parser.add_argument("--orders", type=lambda text: list(map(int, text.split(","))),
                        default=ORDERS)
    parser.add_argument("--rhs", type=lambda text: list(map(int, text.split(","))),
                        help="of getrs and potrs: numbers of right-hand sides; 0: the order")
    parser.add_argument("--rounds", type=positive(int), default=7)
    parser.add_argument("--random", type=positive(int), metavar="N", help="measure N drawn calls")
    parser.add_argument("--seed", type=positive(int), default=1 + secrets.randbelow(10 ** 6),
                        help="by which they are drawn (default: another one each time)")
    parser.add_argument("--divide", type=positive(int), default=1, metavar="D",
                        help="divide their sizes by D, for the host device")
    return parser.parse_args(words)


def main(words):
    arguments = parse(words)
    if not arguments.random and not torch:
        sys.exit("factor: there is no PyTorch")
    arguments.out.mkdir(parents=True, exist_ok=True)
    cusolver = ctypes.CDLL("libcusolver.so.12")
    name, measured = (("random.csv", measure_drawn) if arguments.random else
                      ("factor.csv", measure_listed))
    with (tempfile.TemporaryDirectory() as folder,
          open(arguments.out / name, "w", newline="", encoding="utf-8") as file):
        ways = {"native": cusolver} | {mode: load(arguments.library, mode, folder)
                                       for mode in arguments.modes}
        is_good = measured(arguments, ways, file)
    sys.exit(0 if is_good else 1)


if __name__ == "__main__":
    main(sys.argv[1:])
