"""Propagators of a driven oscillator of many levels, with PyTorch, CuPy and JAX: ordinary programs
that know nothing of Tandem.

usage: propagator.py [--small] [--csv FILE] [FRAMEWORK ...]

exp(-i H dt) of a batch of complex tridiagonal matrices, by scaling and squaring with Pade's
approximant of order 13, as solvers of quantum dynamics compute it: products of powers of a band,
whose elements spread over many powers of two. The framework's own exponential runs as well, if it
has one for complex matrices. A line is the time of STEPS batches. The error is how far propagators
are from unitary, |U U' - I| / (n 2^-53) by sampled rows. The rest is as in programs.py.
"""

import sys

import numpy as np

import programs

LEVELS, SMALL_LEVELS, BATCH, STEPS = 1200, 100, 3, 5
SQUARINGS, DT = 3, 0.5
LEVEL, DRIVE = 0.01, 0.03  # energies, and what couples neighbouring levels


def generators(levels):
    """Yields -i H dt of each step, a batch: level k on the diagonal, sqrt(k) beside it."""
    k = np.arange(levels)
    beside = np.diag(k[1:] ** 0.5, 1)
    hamiltonian = LEVEL * np.diag(k) + DRIVE * (beside + beside.T)
    for times in DT * (1 + 0.1 * np.arange(STEPS * BATCH)).reshape(STEPS, BATCH, 1, 1):
        yield -1j * times * hamiltonian


def pade_coefficients(order):
    """Of the numerator, b[j] = (2 order - j)! / (j! (order - j)!), scaled so that the last is 1."""
    b = [1.0]
    for j in range(order, 0, -1):
        b.insert(0, b[0] * j * (2 * order - j + 1) / (order - j + 1))
    return b


def exponential(a, one, solve):
    """Of matrices whose norm is at most 5 * 2^SQUARINGS; `one` is the identity."""
    b = pade_coefficients(13)
    a = a / 2**SQUARINGS
    a2 = a @ a
    a4 = a2 @ a2
    a6 = a2 @ a4
    odd = a @ (a6 @ (b[13] * a6 + b[11] * a4 + b[9] * a2)
               + b[7] * a6 + b[5] * a4 + b[3] * a2 + b[1] * one)
    even = (a6 @ (b[12] * a6 + b[10] * a4 + b[8] * a2)
            + b[6] * a6 + b[4] * a4 + b[2] * a2 + b[0] * one)
    result = solve(even - odd, even + odd)
    for _ in range(SQUARINGS):
        result = result @ result
    return result


def unitarity(results):
    """Of the last batch."""
    worst = 0.0
    for u in programs.host(results[-1]):
        rows = programs.sampled(len(u))
        off = np.abs(u[rows] @ u.conj().T - np.eye(len(u))[rows]).max()
        worst = max(worst, float(off) / (programs.UNIT * len(u)))
    return worst


class Propagators:
    """What each framework computes; it says how to `put` an array on the device, and to `solve`."""

    def ways(self, one):
        """Names of ways to an exponential, and the ways."""
        yield "propagator", lambda a: exponential(a, one, self.solve)

    def works(self, small):
        levels = SMALL_LEVELS if small else LEVELS
        batches = [self.put(a) for a in generators(levels)]
        for name, way in self.ways(self.put(np.eye(levels, dtype=complex))):
            yield f"{name} {BATCH} x {levels}", (lambda way=way: [way(a) for a in batches],
                                                 unitarity)


class Torch(Propagators, programs.Torch):
    def put(self, array):
        return self.torch.from_numpy(np.ascontiguousarray(array)).cuda()

    def solve(self, a, b):
        return self.torch.linalg.solve(a, b)

    def ways(self, one):
        yield from super().ways(one)
        yield "matrix_exp", self.torch.linalg.matrix_exp


class CuPy(Propagators, programs.CuPy):
    def put(self, array):
        return self.cupy.asarray(array)

    def solve(self, a, b):
        return self.cupy.linalg.solve(a, b)


class Jax(Propagators, programs.Jax):
    def put(self, array):
        return self.jax.numpy.asarray(array)

    def solve(self, a, b):
        return self.jax.numpy.linalg.solve(a, b)

    def ways(self, one):
        for name, way in (*super().ways(one), ("expm", self.jax.scipy.linalg.expm)):
            compiled = self.jax.jit(way)
            yield name, lambda a, compiled=compiled: compiled(a).block_until_ready()


FRAMEWORKS = {framework.name: framework for framework in (Torch, CuPy, Jax)}

if __name__ == "__main__":
    sys.exit(programs.main(__doc__, FRAMEWORKS))
