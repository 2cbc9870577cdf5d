"""Solutions and inverses in FP64 with PyTorch, CuPy and JAX: ordinary programs that know nothing of
Tandem.

usage: solvers.py [--small] [--csv FILE] [FRAMEWORK ...]

Each is of one matrix, with one, 16 or as many right-hand sides. The rest is as in programs.py.
"""

import sys

import programs

ORDERS, SMALL_ORDERS = (4096, 8192), (300,)


class Solvers:
    """What the frameworks share: a name, what to call, and the error of what it returns."""

    def works(self, small):
        for n in SMALL_ORDERS if small else ORDERS:
            a, positive = self.random(6, n, n), self.positive(n)
            yield f"lu_factor {n}", (lambda a=a: self.factor(a), lambda _: 0.0)
            for columns in (1, 16, n):
                b = self.random(7, n, columns)
                yield f"solve {n}, {columns}", self.work(self.solve, a, b)
            one = self.unit(n)
            yield f"inv {n}", (lambda a=a: self.inverse(a), self.error(a, one))
            yield from self.others(n, positive)

    def others(self, n, positive):
        return ()

    def positive(self, n):
        a = self.random(8, n, n)
        return a + a.T + 6.0 * n**0.5 * self.unit(n)

    def work(self, function, a, b, *beside):
        return lambda: function(a, b, *beside), self.error(a, b)

    def error(self, a, b):
        """Of A X = B."""

        def of(x):
            n, rows = a.shape[0], programs.sampled(a.shape[0])
            part, x = programs.host(a[rows]), programs.host(x)
            columns = programs.sampled(x.shape[1])
            residual = (programs.wide(part) @ programs.wide(x[:, columns]) -
                        programs.host(b[rows])[:, columns])
            return programs.normwise(residual, part, x, n)

        return of


class Torch(Solvers, programs.Torch):
    def unit(self, n):
        return self.torch.eye(n, dtype=self.torch.float64, device="cuda")

    def factor(self, a):
        return self.torch.linalg.lu_factor(a)

    def solve(self, a, b):
        return self.torch.linalg.solve(a, b)

    def inverse(self, a):
        return self.torch.linalg.inv(a)

    def others(self, n, positive):
        factor = self.torch.linalg.cholesky(positive)
        for columns in (1, 16, n):
            b = self.random(9, n, columns)
            yield f"cholesky_solve {n}, {columns}", (
                lambda b=b: self.torch.cholesky_solve(b, factor), self.error(positive, b))
        yield f"cholesky_inverse {n}", (lambda: self.torch.cholesky_inverse(factor),
                                        self.error(positive, self.unit(n)))


class CuPy(Solvers, programs.CuPy):
    def unit(self, n):
        return self.cupy.eye(n)

    def factor(self, a):
        import cupyx.scipy.linalg

        return cupyx.scipy.linalg.lu_factor(a)

    def solve(self, a, b):
        return self.cupy.linalg.solve(a, b)

    def inverse(self, a):
        return self.cupy.linalg.inv(a)


class Jax(Solvers, programs.Jax):
    def __init__(self):
        super().__init__()
        compiled = self.jax.jit
        self.compiled = [compiled(f) for f in (self.jax.scipy.linalg.lu_factor,
                                               self.jax.numpy.linalg.solve,
                                               self.jax.numpy.linalg.inv)]

    def unit(self, n):
        return self.jax.numpy.eye(n)

    def factor(self, a):
        return self.jax.block_until_ready(self.compiled[0](a))

    def solve(self, a, b):
        return self.compiled[1](a, b).block_until_ready()

    def inverse(self, a):
        return self.compiled[2](a).block_until_ready()


FRAMEWORKS = {framework.name: framework for framework in (Torch, CuPy, Jax)}

if __name__ == "__main__":
    sys.exit(programs.main(__doc__, FRAMEWORKS))
