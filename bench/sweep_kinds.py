"""Kinds of matrices for bench/never_slower.py: of any shape, real or complex.

KINDS has a function for each kind, by its title. It takes a Maker and returns a matrix of so many
rows and columns, as an array of CuPy's where that is installed, else of NumPy's. PAIRS has the
kinds of real_kinds.py: functions that return two square matrices whose product programs make, which
are repeated and cut to the shape that is asked for."""
import functools

import numpy as np

import real_kinds
from real_kinds import xp

# cuRAND's default generator takes longer to start than some products to run.
GENERATOR = {"method": 161} if xp.__name__ == "cupy" else {}  # Philox 4x32-10
BASE = 1200  # the order of matrices that cost more to make than to multiply; they are repeated
KINDS = real_kinds.Kinds()
kind = KINDS.kind


class Maker:
    """Numbers for one operand: real ('d') or complex ('z'), rows x columns.

    `inner` is the axis over which the product sums: 1 of the left operand, 0 of the right one."""

    def __init__(self, letter, rows, columns, inner, seed):
        self.letter, self.rows, self.columns, self.inner = letter, rows, columns, inner
        self.shape = rows, columns
        self.random = xp.random.RandomState(seed, **GENERATOR)
        self.few = np.random.default_rng(seed)  # decides what does not need the device

    def parts(self, draw):
        """One draw, or two as the real and the imaginary part."""
        return draw() if self.letter == "d" else draw() + 1j * draw()

    def real_normal(self, *shape):
        return self.random.standard_normal(shape or self.shape)

    def normal(self, *shape):
        return self.parts(lambda: self.real_normal(*shape))

    def chance(self, *shape):
        """Real, from 0 to 1."""
        return self.random.random_sample(shape or self.shape)

    def turned(self, real):
        """A real matrix as one of the type, by a phase that all its elements share."""
        return real if self.letter == "d" else (0.8 + 0.6j) * real

    @property
    def offset(self):
        """How far an element is from the diagonal, which begins again where the rows end."""
        half = self.columns // 2
        i, j = xp.arange(self.rows)[:, None], xp.arange(self.columns)[None]
        return (j - i + half) % self.columns - half

    def filled(self, matrix):
        """The matrix, repeated and cut to the shape."""
        times = -(-self.rows // matrix.shape[0]), -(-self.columns // matrix.shape[1])
        return xp.tile(xp.asarray(matrix), times)[:self.rows, :self.columns]

    @property
    def base(self):
        """The order of a matrix that `filled` takes."""
        return min(BASE, max(self.shape))


# ---- plain numbers ----

@kind("normal")
def normal(make):
    return make.normal()


@kind("uniform 0..1")
def uniform(make):
    return make.parts(make.chance)


@kind("0/1")
def zero_one(make):
    return make.parts(lambda: (make.chance() < 0.3).astype(float))


@kind("numbers that were binary32")
def singles(make):
    return make.parts(lambda: make.real_normal().astype("f4").astype("f8"))


def whole(make, bits):
    return make.parts(lambda: xp.floor((make.chance() - 0.5) * 2.0 ** bits))


for count in (8, 16, 31, 45):
    kind(f"numbers of {count} bits")(functools.partial(whole, bits=count))


def lognormal(make, sigma):
    return make.normal() * xp.exp(sigma * make.real_normal())


for spread in (2, 4, 8):
    kind(f"log-normal (sigma {spread})")(functools.partial(lognormal, sigma=spread))


# ---- zeros ----

def sparse(make, share):
    return make.normal() * (make.chance() < share)


for share in (50, 5, 0.5):
    kind(f"{share} % not 0")(functools.partial(sparse, share=share / 100))


@kind("one-hot rows")
def one_hot(make):
    a = xp.zeros(make.shape)
    a[xp.arange(make.rows), make.random.randint(0, make.columns, make.rows)] = 1.0
    return make.turned(a)


@kind("a few lines of zeros")
def zero_lines(make):
    a = make.normal()
    a[make.chance(make.rows) < 0.02] = 0.0
    a[:, make.chance(make.columns) < 0.02] = 0.0
    return a


def band(make, diagonals):
    return make.normal() * (abs(make.offset) <= diagonals // 2)


for width in (3, 17, 257):
    kind(f"band of {width} diagonals")(functools.partial(band, diagonals=width))


@kind("block diagonal")
def blocks(make):
    i, j = xp.arange(make.rows)[:, None] // 100, xp.arange(make.columns)[None] // 100
    return make.normal() * (i % (make.columns // 100 + 1) == j)


def trapezoid(make, numbers):
    """Lower, stored in full; upper if there are more columns than rows."""
    return xp.tril(numbers) if make.rows >= make.columns else xp.triu(numbers)


@kind("lower triangle in full")
def triangle(make):
    return trapezoid(make, make.normal())


@kind("Cholesky factor in full")
def cholesky(make):
    x = make.normal(make.base, make.base)
    return make.filled(xp.linalg.cholesky(x @ x.conj().T / make.base + xp.eye(make.base)))


@kind("Householder vectors")
def householder(make):
    a = trapezoid(make, make.normal() / max(make.shape) ** 0.5)
    i = xp.arange(min(make.shape))
    a[i, i] = 1.0
    return a


# ---- decay ----

def decaying(make, length):
    return make.turned(xp.exp(-abs(make.offset) / length))


for length in (1, 20):
    kind(f"exp(-|i-j|/{length})")(functools.partial(decaying, length=length))


@functools.lru_cache
def powers(n, letter):
    """Of a driven oscillator's tridiagonal A: A to A^6, its exponential and that squared twice."""
    k = xp.arange(n)
    a = xp.diag(k * 0.01) + 0.03 * (xp.diag(k[1:] ** 0.5, 1) + xp.diag(k[1:] ** 0.5, -1))
    a = a * (-0.0625j if letter == "z" else -0.0625)
    a2 = a @ a
    e = xp.linalg.solve(xp.eye(n) - a / 2 + a2 / 12, xp.eye(n) + a / 2 + a2 / 12)
    return a, a2, a2 @ a2, a2 @ a2 @ a2, e, e @ e @ e @ e


@kind("powers of a band")
def band_powers(make):
    found = powers(make.base, make.letter)
    return make.filled(found[make.few.integers(len(found))])


@functools.lru_cache
def occupied(n):
    """Projector to the lower half of a chain's states, between which there is a gap."""
    hopping = xp.where(xp.arange(n - 1) % 2 == 0, 1.0, 0.6)
    vectors = xp.linalg.eigh(-xp.diag(hopping, 1) - xp.diag(hopping, -1))[1][:, :n // 2]
    return vectors @ vectors.T


@kind("density matrix")
def density(make):
    return make.turned(make.filled(occupied(make.base)))


@kind("Gaussian process")
def gaussian_process(make):
    x = make.chance(make.rows, 4)
    y = x[:make.columns] if make.columns <= make.rows else make.chance(make.columns, 4)
    distance = (x ** 2).sum(1)[:, None] + (y ** 2).sum(1)[None] - 2 * x @ y.T
    return make.turned(xp.exp(-8.0 * xp.maximum(distance, 0)))


@kind("Hilbert-like")
def hilbert(make):
    return make.turned(1.0 / (xp.arange(make.rows)[:, None] + xp.arange(make.columns) + 1.0))


@kind("Vandermonde")
def vandermonde(make):
    return make.turned((0.5 + 0.5 * make.chance(make.rows, 1)) ** xp.arange(make.columns)[None])


@kind("Toeplitz")
def toeplitz(make):
    lines = make.normal(make.rows + make.columns)
    return lines[xp.arange(make.rows)[:, None] - xp.arange(make.columns)[None] + make.columns]


# ---- structure that no number shows ----

@functools.lru_cache
def orthonormal(n, letter):
    return xp.linalg.qr(Maker(letter, n, n, 1, n).normal())[0]


@kind("orthogonal")
def orthogonal(make):
    return make.filled(orthonormal(make.base, make.letter))


@kind("rank one and noise")
def rank_one(make):
    return make.normal(make.rows, 1) * make.normal(1, make.columns) + 1e-8 * make.normal()


# ---- ranges ----

def scale(make, axis, scales):
    return make.normal() * (scales[:, None] if axis == 0 else scales[None])


@kind("outer lines over 10^16")
def outer_scaled(make):
    axis = 1 - make.inner
    return scale(make, axis, 10.0 ** (16 * make.chance(make.shape[axis]) - 8))


@kind("inner lines over 10^16")
def inner_scaled(make):
    return scale(make, make.inner, 10.0 ** (16 * make.chance(make.shape[make.inner]) - 8))


@kind("graded along k")
def graded(make):
    """Rising in the left operand, falling in the right one."""
    ends = (-20, 20) if make.inner else (20, -20)
    return scale(make, make.inner, 10.0 ** xp.linspace(*ends, make.shape[make.inner]))


def place_few(make, a, value):
    for _ in range(20):
        a[int(make.few.integers(make.rows)), int(make.few.integers(make.columns))] = value
    return a


@kind("a few outliers of 1e12")
def outliers(make):
    return place_few(make, make.normal(), 1e12)


@kind("one line over 10^300")
def bad_line(make):
    """The row of a left operand, the column of a right one."""
    a = make.normal()
    if make.inner:
        a[make.rows // 3] *= 10.0 ** xp.linspace(-150, 150, make.columns)
    else:
        a[:, make.columns // 3] *= 10.0 ** xp.linspace(-150, 150, make.rows)
    return a


@kind("every tenth line over 10^300")
def bad_lines(make):
    a = make.normal()
    if make.inner:
        a[::10] *= 10.0 ** xp.linspace(-150, 150, make.columns)[None]
    else:
        a[:, ::10] *= 10.0 ** xp.linspace(-150, 150, make.rows)[:, None]
    return a


@kind("a tenth subnormal")
def subnormals(make):
    return xp.where(make.chance() < 0.1, 1e-310, make.normal())


@kind("all subnormal")
def tiny(make):
    return make.normal() * 2.0 ** -1060


kind("0.05 % not 0")(functools.partial(sparse, share=5e-4))


# ---- the kinds of real_kinds.py ----

class Pairs:
    """The two matrices of the last kind that was asked for."""

    def __init__(self, order):
        self.matrices = real_kinds.Matrices(order)
        self.title = self.pair = None

    def operand(self, title, make):
        if title != self.title:
            self.pair = real_kinds.KINDS[title](self.matrices)
            self.title = title
        return make.turned(make.filled(self.pair[1 - make.inner]))
