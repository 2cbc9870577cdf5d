"""Linear algebra in FP64 that a seed draws: what programs compute with PyTorch, CuPy and JAX.

usage: tandem run --mode MODE -- python3 drawn_work.py [--count N] [--seed SEED] [--largest N]
                                                       [--csv FILE] [FRAMEWORK ...]

Each piece of work is one of WORKS, with sizes, kinds of data and layouts that the seed draws, so
that no rule can be tuned to a list. It runs in turn natively and in MODE, as in orders.py. A line
has both times in milliseconds, their ratio, and how far both results are apart, in units of
rounding of the largest number. The kinds are those of bench/sweep_random.py whose numbers stay
within some forty powers of two; matrices that are factored have a large diagonal beside, so that
both results have nearly all the digits of FP64.
"""

import argparse
import random
import secrets
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "bench"))

import orders  # noqa: E402
import programs  # noqa: E402
import sweep_kinds  # noqa: E402
import sweep_random  # noqa: E402
from orders import Orders, adjoint  # noqa: E402

KINDS = [getattr(sweep_random, name) for name in (
    "plain", "whole_numbers", "zeros", "diagonals", "tiles", "triangle", "from_diagonal",
    "gaussian", "softmax", "low_rank", "differences")]
MOST_NUMBERS = 1 << 26  # of one operand
MOST_APART = 1e6  # units of rounding of n: conditions of the matrices here stay far below
WORKS = {}


def work(most, weight=1):
    """A function of a Draw and an order of at most `most`. It returns a function, whose first
    argument is a module like NumPy, and its operands."""

    def add(function):
        WORKS[function.__name__.replace("_", " ")] = function, most, weight
        return function

    return add


class Draw:
    """Operands of one piece of work, drawn from `some` for a framework."""

    def __init__(self, framework, some):
        self.framework, self.some, self.x = framework, some, framework.x
        self.letter = some.choice("ddz")
        self.title, self.kind = some.choice(KINDS)(some)

    def size(self, most):
        return sweep_random.size(self.some, most)

    def rows(self, columns):
        return self.size(max(64, min(20000, MOST_NUMBERS // columns)))

    def members(self):
        return self.some.randint(2, 12)

    def matrix(self, rows, columns):
        """With numbers of at most 1, in one of three layouts."""
        seed = self.some.randrange(1 << 30)
        a = self.kind(sweep_kinds.Maker(self.letter, rows, columns, 1, seed))
        return self.laid_out(self.framework.adopt(a / max(float(abs(a).max()), 1e-300)))

    def laid_out(self, a):
        """As it is, as the transpose of a matrix in memory, or as a part of a larger one."""
        layout = self.some.choice(["plain", "plain", "transposed", "part"])
        if layout == "transposed":
            return self.framework.contiguous(a.T).T
        if layout == "part":
            return self.x.concatenate([a, a], 1)[:, :a.shape[1]]
        return a

    def stack(self, count, rows, columns):
        return self.x.stack([self.matrix(rows, columns) for _ in range(count)])

    def vectors(self, rows):
        return self.matrix(rows, self.some.choice([1, 2, 7, 16, 100]))

    def one(self, n):
        return self.framework.one(n, "float64" if self.letter == "d" else "complex128")

    def square(self, n):
        """Regular: no row's sum is larger than what is added to the diagonal."""
        return self.matrix(n, n) + 1.5 * n * self.one(n)

    def positive(self, n):
        a = self.matrix(n, n)
        return a + adjoint(a) + 2.5 * n * self.one(n)


# ---- products ----


@work(8000, 3)
def product(draw, n):
    return lambda x, a, b: a @ b, draw.matrix(draw.rows(n), n), draw.matrix(n, draw.size(n))


@work(8000)
def gram(draw, n):
    return lambda x, a: adjoint(a) @ a, draw.matrix(draw.rows(n), n)


@work(4000)
def projection(draw, n):
    return (lambda x, a, v: a - v @ (adjoint(v) @ a), draw.matrix(n, draw.size(n)),
            draw.matrix(n, draw.size(200)))


@work(2500)
def power(draw, n):
    return lambda x, a: x.linalg.matrix_power(a, 7), draw.matrix(n, n)


@work(1000)
def products_of_a_stack(draw, n):
    count = draw.members()
    return lambda x, a, b: a @ b, draw.stack(count, n, n), draw.stack(count, n, draw.size(n))


@work(3000)
def inverse_by_iteration(draw, n):
    """Newton's: X <- X (2 I - A X), from a start that converges."""

    def iterate(x, a, one):
        y = one / (4.0 * n)
        for _ in range(5):
            y = y @ (2.0 * one - a @ y)
        return y

    return iterate, draw.positive(n), draw.one(n)


@work(120)
def contraction(draw, n):
    """Of tensors of three indices."""
    text = draw.some.choice(["ijk,jlk->il", "ijk,ilk->jl", "ijk,lik->jl"])
    tensors = (draw.matrix(n * n, n).reshape(n, n, n) for _ in range(2))
    return lambda x, a, b: x.einsum(text, a, b), *tensors


# ---- solutions and factors ----


@work(6000, 3)
def solve(draw, n):
    return lambda x, a, b: x.linalg.solve(a, b), draw.square(n), draw.vectors(n)


@work(3000, 2)
def inverse(draw, n):
    return lambda x, a: x.linalg.inv(a), draw.square(n)


@work(4000)
def logarithm_of_determinant(draw, n):
    return lambda x, a: x.linalg.slogdet(a)[1], draw.square(n)


@work(6000, 2)
def cholesky(draw, n):
    return lambda x, a: x.linalg.cholesky(a), draw.positive(n)


@work(4000, 2)
def tall_factor(draw, n):
    """R'R of a tall matrix. R's rows have either sign, and rounding alone decides about those of
    columns that depend on others."""
    def squared(x, a):
        r = Orders.last(x.linalg.qr(a, mode="r"))
        return adjoint(r) @ r

    return squared, draw.matrix(n + draw.rows(n), n)


@work(4000)
def orthogonal_factor(draw, n):
    def joined(x, a):
        q, r = x.linalg.qr(a)
        return q @ r

    return joined, draw.square(n)


@work(2000)
def range_finder(draw, n):
    """A on the range of its product with few vectors: the start of randomised decompositions."""

    def found(x, a, omega):
        q = x.linalg.qr(a @ omega)[0]
        return q @ (adjoint(q) @ a)

    return found, draw.square(n), draw.matrix(n, min(n, 100))


@work(2000)
def ridge(draw, n):
    """Coefficients of a regression, by the normal equations."""
    a = draw.matrix(draw.rows(n), n)

    def fitted(x, a, b, one):
        return x.linalg.solve(adjoint(a) @ a + float(n) * one, adjoint(a) @ b)

    return fitted, a, draw.vectors(a.shape[0]), draw.one(n)


@work(700)
def stack_of_solutions(draw, n):
    count = draw.members()
    a = draw.stack(count, n, n) + 2.0 * n * draw.one(n)
    return lambda x, a, b: x.linalg.solve(a, b), a, draw.stack(count, n, 5)


# ---- eigenvalues ----


@work(1500, 2)
def eigenvalues(draw, n):
    return lambda x, a: x.linalg.eigh(a)[0], draw.positive(n)


@work(1500)
def square_root(draw, n):
    def root(x, a):
        values, vectors = x.linalg.eigh(a)
        return (vectors * values**0.5) @ adjoint(vectors)

    return root, draw.positive(n)


@work(400)
def singular_values(draw, n):
    a = draw.matrix(draw.rows(n), n)
    return lambda x, a: x.linalg.svd(a, full_matrices=False)[1], a


# ---- frameworks ----


class Torch(programs.Torch):
    def __init__(self):
        super().__init__()
        self.x = self.torch

    def adopt(self, a):
        return self.torch.from_dlpack(a)

    def contiguous(self, a):
        return a.contiguous()

    def one(self, n, dtype):
        return self.torch.eye(n, dtype=getattr(self.torch, dtype), device="cuda")

    def ready(self, function, *operands):
        return lambda: function(self.torch, *operands)


class CuPy(programs.CuPy):
    def __init__(self):
        super().__init__()
        self.x = self.cupy

    def adopt(self, a):
        return a

    def contiguous(self, a):
        return self.x.ascontiguousarray(a)

    def one(self, n, dtype):
        return self.x.eye(n, dtype=dtype)

    def ready(self, function, *operands):
        return lambda: function(self.x, *operands)


class Jax(programs.Jax):
    def __init__(self):
        super().__init__()
        self.x = self.jax.numpy

    def adopt(self, a):
        return self.jax.dlpack.from_dlpack(a)

    def contiguous(self, a):
        return a

    def one(self, n, dtype):
        return self.x.eye(n, dtype=dtype)

    def ready(self, function, *operands):
        """Compiled, as JAX's programs are; it has no views."""
        compiled = self.jax.jit(lambda *of: function(self.x, *of))
        return lambda: compiled(*operands).block_until_ready()


FRAMEWORKS = {framework.name: framework for framework in (Torch, CuPy, Jax)}


# ---- measuring ----


def apart(found, right):
    """In units of rounding of the largest number, and of the order."""
    size = max(float(abs(right).max()), 1e-300)
    return float(abs(found - right).max()) / (size * programs.UNIT * max(right.shape or (1,)))


def lines(framework, count, some, largest):
    names = list(WORKS)
    weights = [WORKS[name][2] for name in names]
    for _ in range(count):
        name = some.choices(names, weights)[0]
        make, most, _ = WORKS[name]
        draw = Draw(framework, some)
        n = draw.size(min(most, largest))
        called = framework.ready(*make(draw, n))
        (native, other), (right, found) = orders.in_turn(called, framework.wait, everywhere=True)
        yield (framework.name, f"{draw.letter} {name} {n}, {draw.title}", native, other,
               other / native, apart(found, right))


def run(arguments):
    found = []
    for framework in programs.installed(arguments.frameworks, FRAMEWORKS):
        some = random.Random(f"{arguments.seed} {framework.name}")
        for line in lines(framework, arguments.count, some, arguments.largest):
            found.append(line)
            print("{:6} {:60} {:10.3f} {:10.3f} ms {:7.3f}  apart {:8.2g}".format(*line),
                  flush=True)
            if arguments.csv:
                print("{},\"{}\",{:.4f},{:.4f},{:.4f},{:.4g}".format(*line), file=arguments.csv,
                      flush=True)
    if found:
        orders.summary(found)
    return 0 if all(line[5] <= MOST_APART for line in found) else 1


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--count", type=int, default=60, metavar="N",
                        help="pieces of work of each framework (default 60)")
    parser.add_argument("--seed", type=int, help="by which they are drawn (default: another one)")
    parser.add_argument("--largest", type=int, default=20000, metavar="N", help="no order above N")
    parser.add_argument("--csv", type=argparse.FileType("w"), help="write the table there, too")
    arguments = programs.with_frameworks(parser, FRAMEWORKS)
    arguments.seed = arguments.seed or 1 + secrets.randbelow(10**6)
    return arguments


def main():
    arguments = parse_arguments()
    print(f"seed {arguments.seed}")
    if arguments.csv:
        print("framework,work,native_ms,ms,ratio,apart", file=arguments.csv)
    return run(arguments)


if __name__ == "__main__":
    sys.exit(main())
