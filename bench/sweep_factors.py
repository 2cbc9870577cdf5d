"""Factorisations that a seed draws, for bench/factor.py: no list of sizes can be tuned to them.

draw_rows(count, seed, factor) returns so many rows: a routine with its type, triangle, side and
operation, and sizes whose logarithms are equally likely. A Sweep measures rows. Matrices are random
numbers, or Hermitian ones with eigenvalues far from 0; factors are those of cuSOLVER. Arrays are
CuPy's, or NumPy's on the host device."""
import collections
import ctypes
import math
import random
import statistics

from device import Device
from real_kinds import xp

LEAST_SIZE, MOST_SIZE = 64, 8192
FACTORED = {"getrf": ["getrf", "getrs"], "potrf": ["potrf", "potrs", "potri"],
            "geqrf": ["geqrf", "orgqr", "ormqr"]}
ROUTINES = [routine for routines in FACTORED.values() for routine in routines]
WITH_K = ("getrs", "potrs", "orgqr", "ormqr")  # right-hand sides, or reflectors
COMPLEX_NAMES = {"orgqr": "ungqr", "ormqr": "unmqr"}
OPERATIONS = "NTC"
Row = collections.namedtuple("Row", "routine type triangle side op m n k")


# ---- rows ----

def draw_operation(some, routine, letter):
    if routine == "getrs":
        return some.choice("NTC" if letter == "z" else "NT")
    return some.choice("NC" if letter == "z" else "NT") if routine == "ormqr" else "-"


def draw_row(some, factor):
    """What a routine has not is "-", or 0."""
    def size():
        return max(1, round(math.exp(some.uniform(math.log(LEAST_SIZE), math.log(MOST_SIZE))))
                   // factor)

    routine, letter = some.choice(ROUTINES), some.choice("dz")
    triangle = some.choice("LU") if routine.startswith("po") else "-"
    side = some.choice("LR") if routine == "ormqr" else "-"
    op = draw_operation(some, routine, letter)
    m, n, k = sizes = size(), size(), size()
    if routine == "orgqr":
        m, n, k = sorted(sizes, reverse=True)
    elif routine == "ormqr":
        k = min(k, m if side == "L" else n)
    elif routine not in ("getrf", "geqrf"):
        m = n
    return Row(routine, letter, triangle, side, op, m, n, k if routine in WITH_K else 0)


def draw_rows(count, seed, factor=1):
    some = random.Random(seed)
    return [draw_row(some, factor) for _ in range(count)]


# ---- arrays ----

def operated(a, op):
    return {"N": a, "T": a.T, "C": a.conj().T}[op]


def times_q(factors, tau, x, is_adjoint=False):
    """Q x, or Q' x, by the reflectors I - t v v': Q = I - V T V', and the inverse of T has 1/t on
    its diagonal and V' V above it."""
    tau = tau[tau != 0]  # a reflector that is none is the last one
    v = xp.tril(factors[:, :len(tau)], -1) + xp.eye(len(factors), len(tau))
    inverse = xp.triu(v.conj().T @ v, 1) + xp.diag(1 / tau)
    return x - v @ xp.linalg.solve(operated(inverse, "C" if is_adjoint else "N"), v.conj().T @ x)


class Operand:
    """An array in device memory, and a copy that a routine writes."""

    def __init__(self, device, array):
        self.device, self.source = device, xp.asfortranarray(array)
        self.array = self.source.copy(order="F")
        self.at, self.source_at = device.address(self.array), device.address(self.source)

    def restore(self):
        self.device.check(self.device.cudart.cudaMemcpy(
            self.at, self.source_at, ctypes.c_size_t(self.source.nbytes), 4))

    def fetch(self):
        self.device.fetch(self.at, self.array)
        return self.array


class Call:
    """A routine of cuSOLVER with its operands, of which `made` is written.

    `error` is that of `made`, norm-wise, by products with a random vector."""

    def __init__(self, sweep, row):
        self.sweep, self.row, self.beside = sweep, row, None
        make = next(name for name, of in FACTORED.items() if row.routine in of)
        if row.routine == make:
            self.a = sweep.positive(row) if make == "potrf" else sweep.numbers(row, row.m, row.n)
            self.made = sweep.operand(self.a)
            kind = xp.int32 if make == "getrf" else self.a.dtype
            self.beside = sweep.operand(xp.zeros(min(row.m, row.n), dtype=kind))
        else:
            self.take(Call(sweep, self.factored_row(make)))
        self.info = sweep.operand(xp.zeros(1, dtype=xp.int32))
        self.sized = self.sized_arguments()
        self.elements = self.workspace()

    def factored_row(self, make):
        """The call that makes the factors which the routine takes."""
        m, n, k = self.row.m, self.row.n, self.row.k
        if make == "geqrf":
            m, n = (n if self.row.routine == "ormqr" and self.row.side == "R" else m), k
        return self.row._replace(routine=make, m=m, n=n)

    def take(self, factored):
        """Has cuSOLVER make the factors, and sets what the routine writes: these, in place, or
        another matrix."""
        factored.run(self.sweep.cusolver)
        self.a, self.factors, self.beside = factored.a, factored.made, factored.beside
        for operand in (self.factors, self.beside):
            operand.fetch()
        if self.row.routine in ("potri", "orgqr"):
            lines = self.factors.array
            wide = xp.zeros((self.row.m, self.row.n), dtype=lines.dtype)
            wide[:, :lines.shape[1]] = lines
            self.made = self.sweep.operand(wide)
        else:
            rows, columns = ((self.row.m, self.row.n) if self.row.routine == "ormqr" else
                             (self.row.n, self.row.k))
            self.made = self.sweep.operand(self.sweep.numbers(self.row, rows, columns))

    # ---- arguments ----

    def sized_arguments(self):
        """Those that the query of the workspace has, too."""
        row, made = self.row, (self.made.at, self.made.array.shape[0])
        triangle, op = "LU".find(row.triangle), OPERATIONS.find(row.op)
        if row.routine in ("getrf", "geqrf"):
            return row.m, row.n, *made
        if row.routine in ("potrf", "potri"):
            return triangle, row.n, *made
        if row.routine == "orgqr":
            return row.m, row.n, row.k, *made, self.beside.at
        factors = self.factors.at, self.factors.array.shape[0]
        if row.routine == "ormqr":
            return "LR".find(row.side), op, row.m, row.n, row.k, *factors, self.beside.at, *made
        pivots = [self.beside.at] if row.routine == "getrs" else []
        return op if pivots else triangle, row.n, row.k, *factors, *pivots, *made

    @property
    def name(self):
        routine = self.row.routine
        of_type = COMPLEX_NAMES.get(routine, routine) if self.row.type == "z" else routine
        return f"cusolverDn{self.row.type.upper()}{of_type}"

    def workspace(self):
        """Its elements; None if the routine has none."""
        if self.row.routine in ("getrs", "potrs"):
            return None
        elements = ctypes.c_int()
        self.sweep.check(self.sweep.cusolver[self.name + "_bufferSize"](
            self.sweep.handle, *self.sized, ctypes.byref(elements)))
        lent = xp.zeros(max(1, elements.value), dtype=self.made.array.dtype)
        self.work = self.sweep.operand(lent)
        return elements.value

    def arguments(self):
        if self.elements is None:
            return self.sized
        if self.row.routine == "getrf":
            return *self.sized, self.work.at, self.beside.at
        tau = [self.beside.at] if self.row.routine == "geqrf" else []
        return *self.sized, *tau, self.work.at, self.elements

    def run(self, library):
        """Milliseconds of a call."""
        self.made.restore()
        ms = self.sweep.device.milliseconds(lambda: self.sweep.check(
            library[self.name](self.sweep.handle, *self.arguments(), self.info.at)))
        if self.info.fetch()[0]:
            raise RuntimeError(f"info is {int(self.info.array[0])} of {self.row}")
        return ms

    # ---- errors ----

    def error(self):
        made, beside = self.made.fetch(), self.beside.fetch()
        x = self.sweep.numbers(self.row, made.shape[1], 1)
        off, size = getattr(self, "off_" + self.row.routine)(made, beside, x)
        scale = float(size * xp.linalg.norm(x)) * max(made.shape) * 2.0 ** -53
        return float(xp.linalg.norm(off)) / scale

    def off_getrf(self, made, pivots, x):
        rows = list(range(len(made)))
        for i, pivot in enumerate(pivots.tolist()):
            rows[i], rows[pivot - 1] = rows[pivot - 1], rows[i]
        least = min(made.shape)
        ux = xp.triu(made)[:least] @ x
        lower = xp.tril(made[:, :least], -1) + xp.eye(len(made), least)
        return (self.a @ x)[rows] - lower @ ux, xp.linalg.norm(self.a)

    def triangle_of(self, made):
        """The lower one, or the adjoint of the upper one."""
        return xp.tril(made) if self.row.triangle == "L" else xp.triu(made).conj().T

    def off_potrf(self, made, _, x):
        lower = self.triangle_of(made)
        return self.a @ x - lower @ (lower.conj().T @ x), xp.linalg.norm(self.a)

    def off_geqrf(self, made, tau, x):
        rx = xp.triu(made) @ x
        return self.a @ x - times_q(made, tau, rx), xp.linalg.norm(self.a)

    def off_getrs(self, made, _, x):
        off = self.made.source @ x - operated(self.a, self.row.op) @ (made @ x)
        return off, xp.linalg.norm(self.a) * xp.linalg.norm(made)

    def off_potrs(self, made, _, x):
        off = self.made.source @ x - self.a @ (made @ x)
        return off, xp.linalg.norm(self.a) * xp.linalg.norm(made)

    def off_potri(self, made, _, x):
        lower = self.triangle_of(made)
        whole = lower + xp.tril(lower, -1).conj().T
        return x - self.a @ (whole @ x), xp.linalg.norm(self.a) * xp.linalg.norm(whole)

    def off_orgqr(self, made, tau, x):
        longer = xp.zeros((len(made), 1), dtype=x.dtype)
        longer[:len(x)] = x
        return made @ x - times_q(self.factors.array, tau, longer), xp.linalg.norm(made)

    def off_ormqr(self, made, tau, x):
        c, is_adjoint, factors = self.made.source, self.row.op != "N", self.factors.array
        wanted = (times_q(factors, tau, c @ x, is_adjoint) if self.row.side == "L" else
                  c @ times_q(factors, tau, x, is_adjoint))
        return made @ x - wanted, xp.linalg.norm(made)


# ---- the sweep ----

class Sweep:
    """Measures calls by cuSOLVER, and by libraries in its place."""

    def __init__(self, cusolver, seed):
        self.cusolver, self.device = cusolver, Device(xp)
        self.random = xp.random.RandomState(seed)
        self.handle = ctypes.c_void_p()
        self.check = self.device.check
        self.check(cusolver.cusolverDnCreate(ctypes.byref(self.handle)))

    def operand(self, array):
        return Operand(self.device, array)

    def numbers(self, row, rows, columns):
        numbers = self.random.standard_normal((rows, columns))
        if row.type == "z":
            numbers = numbers + 1j * self.random.standard_normal((rows, columns))
        return numbers

    def positive(self, row):
        """Eigenvalues are from about 4 to 4 sqrt(n) + 4, of complex numbers to 6 sqrt(n)."""
        a = self.numbers(row, row.n, row.n)
        return (a + a.conj().T) / 2 ** 0.5 + (3 * row.n ** 0.5 + 4) * xp.eye(row.n)

    def measure(self, row, ways, rounds):
        """Of each way the median of its milliseconds, and the error of its result."""
        call, times, errors = Call(self, row), {mode: [] for mode in ways}, {}
        for mode, library in ways.items():
            call.run(library)
            errors[mode] = call.error()
        for _ in range(rounds):
            for mode, library in ways.items():
                times[mode].append(call.run(library))
        self.device.release()
        return {mode: (statistics.median(times[mode]), errors[mode]) for mode in ways}
