"""What people compute in FP64 with PyTorch, CuPy and JAX: ordinary programs that know nothing of
Tandem.

usage: programs.py [--small] [--csv FILE] [FRAMEWORK ...]

Prints a line for each piece of work: the median time of a whole call in milliseconds, by the host's
clock, and how wrong its result is, in units of rounding: |residual| / (n 2^-53 |operands|) by
sampled rows in long double. An error above 30, where LAPACK's own tests fail, is an error. --small
takes sizes that a first look needs; a framework that is not installed is left out.
tests/clients/compare.py puts several of these tables side by side.
"""

import argparse
import os
import sys
import time

import numpy as np

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

WORST, UNIT, SAMPLES = 30.0, 2.0**-53, 8
SECONDS, MOST_RUNS = 1.0, 15  # of one piece of work


def wide(x):
    return np.asarray(x, dtype=np.clongdouble if np.iscomplexobj(x) else np.longdouble)


def sampled(rows):
    return np.unique(np.linspace(0, rows - 1, SAMPLES).astype(int))


def product_error(c, a, b):
    """Of C = A B, by rows; the operands may be any array that NumPy can read a row of."""
    rows = sampled(a.shape[0])
    c, a, b = host(c[rows]), host(a[rows]), host(b)
    columns = sampled(b.shape[1])
    exact = wide(a) @ wide(b[:, columns])
    scale = np.abs(a) @ np.abs(b[:, columns])
    return float(np.max(np.abs(c[:, columns] - exact) / scale)) / (UNIT * a.shape[1] ** 0.5)


def normwise(residual, a, x, n):
    beside = float(np.max(np.abs(a))) * float(np.max(np.abs(x)))
    return float(np.max(np.abs(residual))) / (UNIT * n * beside)


def solved(solve, a, b):
    """The work X = solve(A, B), and the error of X by rows of A X = B."""
    def error(x):
        rows = sampled(a.shape[0])
        part, x = host(a[rows]), host(x)
        return normwise(wide(part) @ wide(x) - host(b[rows]), part, x, a.shape[0])

    return lambda: solve(a, b), error


def host(x):
    if hasattr(x, "detach"):
        x = x.detach().cpu().numpy()
    elif hasattr(x, "get"):
        x = x.get()
    return np.asarray(x)


# ---- pieces of work: a name, what to call, and the error of what it returns ----


class Framework:
    def dominant(self, n, seed):
        """Symmetric and positive definite, with condition number about 2."""
        a = self.random(seed, n, n)
        a = a + a.T
        a.ravel()[:: n + 1] += 6.0 * n**0.5
        return a


class Torch(Framework):
    name = "torch"

    def __init__(self):
        import torch

        self.torch, self.version = torch, torch.__version__
        if not torch.cuda.is_available():
            raise ImportError("no device")

    def random(self, seed, *shape):
        self.torch.manual_seed(seed)
        return self.torch.randn(*shape, dtype=self.torch.float64, device="cuda")

    def wait(self):
        self.torch.cuda.synchronize()

    def works(self, small):
        squares = [512, 1024] if small else [512, 1024, 2048, 4096, 8192]
        yield from ((f"matmul {n}", self.matmul(n, n, n)) for n in squares)
        long = 20000 if small else 200000
        yield f"X'X {long} x 512", self.gram(long, 512)
        yield f"X U {long} x 512", self.matmul(long, 512, 512)
        yield "bmm 64 x 512", self.bmm(64, 512)
        factored = [1024] if small else [4096, 8192, 16384]
        yield from ((f"solve {n}", self.solve(n)) for n in factored)
        yield from ((f"cholesky {n}", self.cholesky(n)) for n in factored)
        yield f"inv {factored[0]}", self.inverse(factored[0])
        yield f"eigh {factored[0]}", self.eigh(factored[0])
        yield f"matrix_exp {factored[0] // 2}", self.exponential(factored[0] // 2)
        points = 1000 if small else 8000
        yield f"gaussian process {points}", self.gaussian_process(points)
        occupied, virtual = (8, 30) if small else (20, 100)
        yield f"coupled cluster {occupied}, {virtual}", self.coupled_cluster(occupied, virtual)

    def matmul(self, m, k, n):
        a, b = self.random(1, m, k), self.random(2, k, n)
        return lambda: a @ b, lambda c: product_error(c, a, b)

    def gram(self, rows, columns):
        x = self.random(3, rows, columns)
        return lambda: x.T @ x, lambda c: product_error(c, x.T, x)

    def bmm(self, count, n):
        stacks = [self.random(s, count, n, n) for s in (4, 5)]
        return lambda: self.torch.bmm(*stacks), lambda c: product_error(
            c[-1], stacks[0][-1], stacks[1][-1])

    def solve(self, n):
        return solved(self.torch.linalg.solve, self.random(6, n, n), self.random(7, n, 3))

    def cholesky(self, n):
        a = self.dominant(n, 8)

        def error(l):
            rows = sampled(n)
            l = host(l)
            residual = wide(l[rows]) @ wide(l[rows]).T - host(a[rows])[:, rows]
            return normwise(residual, l, l, n)

        return lambda: self.torch.linalg.cholesky(a), error

    def inverse(self, n):
        a = self.random(9, n, n)

        def error(x):
            rows = sampled(n)
            part, x = host(a[rows]), host(x)
            residual = wide(part) @ wide(x[:, rows]) - np.eye(len(rows))
            return normwise(residual, part, x, n)

        return lambda: self.torch.linalg.inv(a), error

    def eigh(self, n):
        a = self.random(10, n, n)
        a = a + a.T

        def error(result):
            values, vectors = (host(x) for x in result)
            some = sampled(n)
            residual = wide(host(a)) @ wide(vectors[:, some]) - vectors[:, some] * values[some]
            apart = wide(vectors[:, some]).T @ wide(vectors[:, some]) - np.eye(len(some))
            scale = UNIT * n
            return max(
                float(np.abs(residual).max()) / (scale * np.abs(values).max()),
                float(np.abs(apart).max()) / scale)

        return lambda: self.torch.linalg.eigh(a), error

    def exponential(self, n):
        a = self.random(11, n, n) / n**0.5

        def error(x):
            rows = sampled(n)
            y = host(self.torch.matrix_exp(-a))
            x = host(x)
            residual = wide(x[rows]) @ wide(y[:, rows]) - np.eye(len(rows))
            return float(
                np.abs(residual).max() / (UNIT * n * (np.abs(x[rows]) @ np.abs(y[:, rows])).max()))

        return lambda: self.torch.matrix_exp(a), error

    def gaussian_process(self, points):
        """Negative logarithm of the marginal likelihood, and its gradient in length, scale and
        noise."""
        torch = self.torch
        x = 10.0 * torch.sigmoid(self.random(12, points, 3))
        y = torch.sin(x.sum(dim=1, keepdim=True))
        logs = torch.tensor([0.0, 0.0, -4.0], dtype=torch.float64, device="cuda",
                            requires_grad=True)

        def kernel():
            length, scale, noise = torch.exp(logs)
            distance = (((x[:, None, :] - x[None, :, :])**2).sum(dim=2) if points <= 2000 else
                        torch.cdist(x, x)**2)
            eye = torch.eye(points, dtype=x.dtype, device="cuda")
            return scale * torch.exp(-0.5 * distance / length**2) + noise * eye

        def work():
            logs.grad = None
            factor = torch.linalg.cholesky(kernel())
            alpha = torch.cholesky_solve(y, factor)
            loss = 0.5 * (y * alpha).sum() + torch.log(torch.diagonal(factor)).sum()
            loss.backward()
            return alpha

        def error(alpha):
            rows = sampled(points)
            k, alpha = host(kernel())[rows], host(alpha)
            return normwise(wide(k) @ wide(alpha) - host(y[rows]), k, alpha, points)

        return work, error

    def coupled_cluster(self, occupied, virtual):
        """The term of coupled-cluster doubles that takes the most time: particles by particles,
        t_ij^cd v_cd^ab."""
        t = self.random(13, occupied**2, virtual**2)
        v = self.random(14, virtual**2, virtual**2)
        shape = (occupied, occupied, virtual, virtual)
        four = t.reshape(shape), v.reshape((virtual,) * 4)
        return (lambda: self.torch.einsum("ijcd,cdab->ijab", *four),
                lambda c: product_error(c.reshape(occupied**2, virtual**2), t, v))


class CuPy(Framework):
    name = "cupy"

    def __init__(self):
        import cupy

        self.cupy, self.version = cupy, cupy.__version__

    def random(self, seed, *shape):
        return self.cupy.random.RandomState(seed).standard_normal(shape)

    def wait(self):
        self.cupy.cuda.Device().synchronize()

    def works(self, small):
        for n in [512] if small else [2048, 4096]:
            yield f"matmul {n}", self.matmul(n)
        n = 512 if small else 4096
        yield f"solve {n}", self.solve(n)
        occupied, virtual = (8, 30) if small else (20, 100)
        yield f"tensordot {occupied}, {virtual}", self.tensordot(occupied, virtual)

    def matmul(self, n):
        a, b = (self.random(seed, n, n) for seed in (1, 2))
        return lambda: a @ b, lambda c: product_error(c, a, b)

    def solve(self, n):
        return solved(self.cupy.linalg.solve, self.random(6, n, n), self.random(7, n, 3))

    def tensordot(self, occupied, virtual):
        t = self.random(13, occupied**2, virtual**2)
        v = self.random(14, virtual**2, virtual**2)
        four = t.reshape(occupied, occupied, virtual, virtual), v.reshape((virtual,) * 4)
        return (lambda: self.cupy.tensordot(*four, axes=2),
                lambda c: product_error(c.reshape(occupied**2, virtual**2), t, v))


class Jax(Framework):
    name = "jax"

    def __init__(self):
        import jax

        jax.config.update("jax_enable_x64", True)
        if jax.default_backend() != "gpu":
            raise ImportError("no device")
        self.jax, self.version = jax, jax.__version__

    def random(self, seed, *shape):
        return self.jax.random.normal(self.jax.random.key(seed), shape, dtype="float64")

    def wait(self):
        pass  # each piece of work waits for its own result

    def works(self, small):
        for n in [512] if small else [2048, 4096]:
            yield f"dot {n}", self.dot(n)
        n = 512 if small else 4096
        yield f"cholesky {n}", self.cholesky(n)

    def dot(self, n):
        a, b = (self.random(seed, n, n) for seed in (1, 2))
        product = self.jax.jit(self.jax.numpy.dot)
        return lambda: product(a, b).block_until_ready(), lambda c: product_error(
            host(c), host(a), host(b))

    def cholesky(self, n):
        a = self.random(8, n, n)
        a = a + a.T + 6.0 * n**0.5 * self.jax.numpy.eye(n)
        factor = self.jax.jit(self.jax.numpy.linalg.cholesky)

        def error(l):
            rows, l = sampled(n), host(l)
            return normwise(wide(l[rows]) @ wide(l[rows]).T - host(a)[rows][:, rows], l, l, n)

        return lambda: factor(a).block_until_ready(), error


FRAMEWORKS = {framework.name: framework for framework in (Torch, CuPy, Jax)}


# ---- measuring ----


def median_ms(work, wait):
    """Of calls after the first two; fewer where these take long."""
    times = []
    while len(times) < 3 or (len(times) < MOST_RUNS + 2 and sum(times) < SECONDS):
        start = time.perf_counter()
        result = work()
        wait()
        times.append(time.perf_counter() - start)
    counted = sorted(times[2:])
    return counted[len(counted) // 2] * 1e3, result


def run(framework, small, csv):
    worst = 0.0
    for name, (work, error) in framework.works(small):
        ms, result = median_ms(work, framework.wait)
        wrong = error(result)
        worst = max(worst, wrong) if wrong == wrong else float("inf")
        print(f"{framework.name:6} {name:24} {ms:10.3f} ms  error {wrong:8.4f}", flush=True)
        if csv:
            print(f"{framework.name},\"{name}\",{ms:.4f},{wrong:.4e}", file=csv, flush=True)
    return worst


def arguments_of(text, known):
    """What the command line says: `small`, `csv` and `frameworks`."""
    parser = argparse.ArgumentParser(description=text.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--small", action="store_true", help="small sizes")
    parser.add_argument("--csv", help="write the table there, too")
    return with_frameworks(parser, known)


def with_frameworks(parser, known):
    """What the command line says, and `frameworks`: all that are known if it names none."""
    parser.add_argument("frameworks", nargs="*", metavar="FRAMEWORK", help=", ".join(known))
    arguments = parser.parse_args()
    unknown = set(arguments.frameworks) - set(known)
    if unknown:
        parser.error(f"unknown framework {', '.join(unknown)}; allowed: {', '.join(known)}")
    arguments.frameworks = arguments.frameworks or list(known)
    return arguments


def installed(names, known):
    """The frameworks that are here; says their versions, and what is left out."""
    for name in names:
        try:
            framework = known[name]()
        except ImportError as reason:
            print(f"{name}: left out ({reason})")
            continue
        print(f"{name} {framework.version}")
        yield framework


def main(text, known):
    arguments = arguments_of(text, known)
    csv = open(arguments.csv, "w", encoding="utf-8") if arguments.csv else None
    if csv:
        print("framework,work,ms,error", file=csv)
    worst = 0.0
    for framework in installed(arguments.frameworks, known):
        worst = max(worst, run(framework, arguments.small, csv))
    if csv:
        csv.close()
    return 1 if worst > WORST else 0


if __name__ == "__main__":
    sys.exit(main(__doc__, FRAMEWORKS))
