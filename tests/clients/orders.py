"""Linear algebra in FP64 with PyTorch and CuPy at many orders, real and complex: what solves,
factors, inverts and finds eigenvalues, of one matrix and of stacks.

usage: tandem run --mode MODE -- python3 orders.py [--small] [--csv FILE] [FRAMEWORK ...]

Each piece of work runs in turn natively, in a region of Python's module tandem, and in MODE, until
the medians of two halves of both agree to 2 %, or its time is over. A line has both times in
milliseconds, by the host's clock, their ratio, and both errors: residuals by the framework itself,
in units of LAPACK's n 2^-53 |operands|. The end counts what took more than 1.02, 1.05 and 1.10 of
native's time. An error above 30, where LAPACK's own tests fail, is an error.
"""

import contextlib
import math
import statistics
import sys
import time

import programs
import tandem

ORDERS = (1, 16, 64, 100, 128, 200, 256, 400, 512, 700, 1024, 1500, 2048, 3000, 4096, 6000)
SMALL_ORDERS = (1, 64, 300)
MOST_OF_EIGENVALUES, MOST_OF_SINGULAR_VALUES, MOST_OF_A_STACK = 2048, 512, 256
STACK, SOME = 16, 16  # matrices of a stack, and right-hand sides
FEWEST, MOST, SECONDS, AGREE = 8, 60, 0.12, 0.02  # rounds and time of a piece of work
LIMITS = (1.02, 1.05, 1.10)
FIELDS = ("framework", "work", "native_ms", "ms", "ratio", "native_error", "error")


class Orders:
    """What both frameworks share. `x` is the module that has matmul, eye and abs."""

    def works(self, small):
        for kind, is_complex in (("real", False), ("complex", True)):
            for n in SMALL_ORDERS if small else ORDERS:
                for name, work in self.of(n, is_complex):
                    yield f"{kind} {name} {n}", work

    def matrix(self, seed, *shape, is_complex):
        a = self.random(seed, *shape)
        return a + 1j * self.random(seed + 100, *shape) if is_complex else a

    def of(self, n, is_complex):
        a, b, many = (self.matrix(seed, n, columns, is_complex=is_complex)
                      for seed, columns in ((1, n), (2, SOME), (3, n)))
        one = self.x.eye(n, dtype=a.dtype, **self.where)
        positive = a + adjoint(a) + 8.0 * n**0.5 * one
        yield from self.solutions(a, b, many, one, positive)
        yield from self.factors(a, one, positive)
        if n <= MOST_OF_EIGENVALUES:
            yield "eigh", self.work(self.x.linalg.eigh, positive,
                                    error=lambda r: self.apart(positive @ r[1], r[1] * r[0]))
            yield "eigvalsh", self.work(self.x.linalg.eigvalsh, positive,
                                        error=lambda r: self.apart(r.sum(), positive.trace().real))
        if n <= MOST_OF_SINGULAR_VALUES:
            yield "svd", self.work(self.x.linalg.svd, a,
                                   error=lambda r: self.apart((r[0] * r[1]) @ r[2], a))
        if n <= MOST_OF_A_STACK:
            yield from self.stacks(n, is_complex)

    def solutions(self, a, b, many, one, positive):
        for name, right in (("solve 1", b[:, :1]), ("solve 16", b), ("solve n", many)):
            yield name, self.work(self.x.linalg.solve, a, right,
                                  error=lambda r, right=right: self.apart(a @ r, right, a, r))
        yield "inv", self.work(self.x.linalg.inv, a, error=lambda r: self.apart(a @ r, one, a, r))
        yield "slogdet", self.work(self.x.linalg.slogdet, positive,
                                   error=lambda r: self.apart(r[1], self.log_determinant(positive)))

    def log_determinant(self, positive):
        return 2.0 * self.x.log(self.x.linalg.cholesky(positive).diagonal().real).sum()

    def factors(self, a, one, positive):
        yield "cholesky", self.work(self.x.linalg.cholesky, positive,
                                    error=lambda r: self.apart(r @ adjoint(r), positive))
        yield "qr", self.work(self.x.linalg.qr, a, error=lambda r: self.apart(r[0] @ r[1], a))
        yield "qr, r", self.work(lambda: self.x.linalg.qr(a, mode="r"), error=lambda r: self.apart(
            adjoint(self.last(r)) @ self.last(r), adjoint(a) @ a))
        yield "product", self.work(self.x.matmul, a, a, error=lambda r: self.apart(
            r @ one[:, :1], a @ a[:, :1]))
        yield from self.more_factors(a, one, positive)

    def stacks(self, n, is_complex):
        a = self.matrix(4, STACK, n, n, is_complex=is_complex)
        b = self.matrix(5, STACK, n, SOME, is_complex=is_complex)
        yield "stack, solve", self.work(self.x.linalg.solve, a, b,
                                        error=lambda r: self.apart(a @ r, b, a, r))
        yield "stack, product", self.work(self.x.matmul, a, b, error=lambda r: self.apart(
            r[0], a[0] @ b[0]))

    @staticmethod
    def last(result):
        """R alone, of what `qr` returns with mode "r"."""
        return result[-1] if isinstance(result, tuple) else result

    @staticmethod
    def work(function, *operands, error):
        return lambda: function(*operands), error

    def apart(self, found, right, *factors):
        """The largest difference in units of rounding of n times the product of the factors'
        norms, or, without factors, of the largest number."""
        scale = math.prod(map(norm, factors)) if factors else norm(right)
        n = max(found.shape[-2:], default=1)
        return float(abs(found - right).max()) / (programs.UNIT * max(n, 16) * max(scale, 1.0))


def adjoint(a):
    return a.conj().swapaxes(-1, -2)


def norm(a):
    """The largest sum of a row's sizes, of all matrices of a stack."""
    return float(abs(a).sum(-1).max()) if a.ndim else float(abs(a))


class Torch(Orders, programs.Torch):
    def __init__(self):
        super().__init__()
        self.x, self.where = self.torch, {"device": "cuda"}

    def more_factors(self, a, one, positive):
        linalg, n = self.torch.linalg, a.shape[0]
        b, tall = a[:, :SOME].clone(), self.torch.cat([a, positive])
        lu, pivots = linalg.lu_factor(a)
        lower = linalg.cholesky(positive)
        yield "lu_factor", self.work(linalg.lu_factor, a, error=lambda r: self.apart(
            self.joined(*r), a))
        yield "lu_solve", self.work(lambda: linalg.lu_solve(lu, pivots, b), error=lambda r:
                                    self.apart(a @ r, b, a, r))
        yield "cholesky_solve", self.work(self.torch.cholesky_solve, b, lower, error=lambda r:
                                          self.apart(positive @ r, b, positive, r))
        yield "cholesky_inverse", self.work(self.torch.cholesky_inverse, lower, error=lambda r:
                                            self.apart(positive @ r, one, positive, r))
        yield "solve_triangular", self.work(
            lambda: linalg.solve_triangular(lower, a, upper=False),
            error=lambda r: self.apart(lower @ r, a))
        yield "lstsq", self.work(lambda: linalg.lstsq(tall, tall[:, :1] + 1.0).solution,
                                 error=lambda r: self.apart(
                                     adjoint(tall) @ (tall @ r), adjoint(tall) @ (tall[:, :1] + 1)))
        if n <= 2 * MOST_OF_EIGENVALUES:
            small = a / (2 * n**0.5)
            yield "matrix_exp", self.work(linalg.matrix_exp, small, error=lambda r: self.apart(
                r @ linalg.matrix_exp(-small), one, r))

    def joined(self, lu, pivots):
        p, l, u = self.torch.lu_unpack(lu, pivots)
        return p @ l @ u


class CuPy(Orders, programs.CuPy):
    def __init__(self):
        super().__init__()
        self.x, self.where = self.cupy, {}

    def more_factors(self, a, one, positive):
        import cupyx.scipy.linalg as scipy

        b, factors = a[:, :SOME].copy(), scipy.lu_factor(a)
        yield "lu_factor", self.work(scipy.lu_factor, a, error=lambda r: self.apart(
            a @ scipy.lu_solve(r, b), b))
        yield "lu_solve", self.work(scipy.lu_solve, factors, b, error=lambda r: self.apart(
            a @ r, b, r))


FRAMEWORKS = {framework.name: framework for framework in (Torch, CuPy)}


# ---- measuring ----


def time_of(work, wait):
    start = time.perf_counter()
    result = work()
    wait()
    return time.perf_counter() - start, result


def agree(times):
    halves = [statistics.median(times[i::2]) for i in (0, 1)]
    return abs(halves[0] - halves[1]) <= AGREE * min(halves)


def in_turn(work, wait, everywhere=False, seconds=SECONDS):
    """Times and the last result, natively and in the mode, which take turns in who is first. The
    first two rounds do not count. `everywhere`: native means all threads of the process."""
    times, results = ([], []), [None, None]
    begun = time.perf_counter()
    for done in range(MOST + 2):
        for which in (0, 1) if done % 2 else (1, 0):
            natively = tandem.mode("native", everywhere=everywhere)
            with natively if which == 0 else contextlib.nullcontext():
                ms, results[which] = time_of(work, wait)
            if done >= 2:
                times[which].append(ms)
        is_late = time.perf_counter() - begun > seconds
        if len(times[0]) >= (3 if is_late else FEWEST) and (is_late or all(map(agree, times))):
            break
    return [statistics.median(x) * 1e3 for x in times], results


def lines(framework, small):
    for name, (work, error) in framework.works(small):
        (native, other), results = in_turn(work, framework.wait)
        yield (framework.name, name, native, other, other / native, *map(error, results))


def summary(found):
    ratios = sorted(((line[4], f"{line[0]} {line[1]}") for line in found), reverse=True)
    over = ", ".join(f"{sum(r > limit for r, _ in ratios)} over {limit:.2f}" for limit in LIMITS)
    mean = math.exp(statistics.fmean(math.log(r) for r, _ in ratios))
    print(f"{len(ratios)} pieces of work: {over} of native's time; geometric mean {mean:.3f}")
    for ratio, name in ratios[:20]:
        print(f"{ratio:8.3f} {name}")


def run(names, small, csv):
    found = []
    for framework in programs.installed(names, FRAMEWORKS):
        for line in lines(framework, small):
            found.append(line)
            print("{:6} {:28} {:10.3f} {:10.3f} ms {:7.3f}  errors {:8.4f} {:8.4f}".format(*line),
                  flush=True)
            if csv:
                print("{},\"{}\",{:.4f},{:.4f},{:.4f},{:.4g},{:.4g}".format(*line), file=csv,
                      flush=True)
    if found:
        summary(found)
    return 0 if all(error <= programs.WORST for line in found for error in line[5:]) else 1


def main():
    arguments = programs.arguments_of(__doc__, FRAMEWORKS)
    if not arguments.csv:
        return run(arguments.frameworks, arguments.small, None)
    with open(arguments.csv, "w", encoding="utf-8") as csv:
        print(",".join(FIELDS), file=csv)
        return run(arguments.frameworks, arguments.small, csv)


if __name__ == "__main__":
    sys.exit(main())
