"""How far a result of a call of bench/sweep_calls.py is from cuBLAS's, for bench/never_slower.py.

An element of C is a sum of k products. Its *size* is the sum of their magnitudes, and of that of
beta C; units are of 2^-53 of it. Two results that are each within the bound of sums in FP64, in
whatever order, are no more than most_apart(row) units apart. What a call must not write (the lines'
ends, the other triangle) has to keep its bits. The solution X of a triangular system is held to its
residual, op(A) X - B, in units of |op(A)||X|."""
import numpy as np

from sweep_calls import DRAWN, in_triangle, tame
from sweep_rows import OF_A_TRIANGLE, SOLVES, SYMMETRIC, UPDATES, UPDATES_OF_TWO, WITH_TRIANGLE

UNIT, LEAST = 2.0 ** -53, 2.0 ** -1074
LARGEST = 2.0 ** 1000  # sums of larger sizes may overflow in one order and not in another


def most_apart(row):
    """Twice (k + 3) units, as the last sum, alpha and beta round once each; of complex ones more,
    since each of their products has a sum of its own, and parts together make a magnitude."""
    sums = 2 if row.form in UPDATES_OF_TWO else 1
    return 2 * (sums * row.k + 3) * (1 if row.type == "d" else 4)


class Expected:
    """What cuBLAS's own function leaves in C, and what makes the sizes of its elements."""

    def __init__(self, xp, row, call, draw):
        self.xp, self.row, self.call = xp, row, call
        self.factors = [self.make_factors(draw, i) for i in range(min(row.batch, DRAWN))]
        self.sizes = [abs(left) @ abs(right) for left, right in self.factors]
        self.written = self.where_written()
        self.start = self.start_of_result()

    def make_factors(self, draw, member):
        """The two matrices whose product a member of the batch makes."""
        row, xp = self.row, self.xp
        left, right = draw("left", member), None if self.row.op_b == "-" else draw("right", member)
        if row.form in UPDATES:
            return left, left.conj().T
        if row.form in WITH_TRIANGLE:
            whole = self.from_triangle(right if row.is_at_right else left)
            return (left, whole) if row.is_at_right else (whole, right)
        return left, right

    def from_triangle(self, a):
        """op(A), of which the call reads one triangle; a is op(A) as it was drawn."""
        row, xp = self.row, self.xp
        turn = {"N": lambda x: x, "T": lambda x: x.T, "C": lambda x: x.conj().T}[row.op_a]
        a = turn(a)
        if row.form in SOLVES:
            a = tame(xp, a)
        a = xp.where(in_triangle(xp, row, len(a)), a, 0)
        if row.form in SYMMETRIC:
            other = a.conj().T if "hemm" in row.form else a.T
            diagonal = xp.diag(xp.diag(a.real if "hemm" in row.form else a))
            return xp.where(xp.eye(len(a), dtype=bool), diagonal, a + other)
        return turn(a + xp.eye(len(a)) if row.place[2] == "U" else a)

    def lines(self, array, member):
        """The columns of a member's C as it lies in memory, without what is between them."""
        row = self.row
        flat = array[member].reshape(-1)[row.skew:]
        length = array.shape[2]
        return flat[:row.n * length].reshape(row.n, length)[:, :row.m]

    def where_written(self):
        """Which elements of the memory of C the call writes."""
        row, xp = self.row, self.xp
        mask = xp.zeros(self.call.result.array.shape, dtype=bool)
        written = in_triangle(xp, row, row.n).T if row.form in OF_A_TRIANGLE else True
        for i in range(row.batch):
            self.lines(mask, i)[:] = written
        return mask

    def start_of_result(self):
        """C before the call: numbers of its elements' sizes where they are read, else NaN."""
        xp, array = self.xp, self.call.result.array
        start = xp.full(array.shape, xp.nan, dtype=array.dtype)
        for i in range(self.row.batch if self.row.beta else 0):
            columns = self.lines(start, i)
            some = xp.cos(xp.arange(columns.size, dtype="f8")).reshape(columns.shape)
            columns[:] = xp.where(self.lines(self.written, i), some * self.sizes[i % DRAWN].T,
                                  columns)
        return start

    def units_apart(self, found, native):
        """The largest distance of two results; infinite if what is not to be written was, or where
        one is a number and the other is none."""
        if self.row.form in SOLVES:
            return self.residual(found)
        outside = ~self.written
        if not bits_equal(self.xp, found[outside], self.start[outside]):
            return np.inf
        return max(self.member_apart(found, native, i) for i in range(self.row.batch))

    def size(self, member):
        size = self.sizes[member % DRAWN]
        if self.row.form in UPDATES_OF_TWO and "rkx" not in self.row.form:
            size = size + size.T
        return size + abs(self.lines(self.start, member).T) if self.row.beta else size

    def member_apart(self, found, native, member):
        one, other = (self.lines(array, member).T for array in (found, native))
        size = self.size(member)
        return self.most_units(abs(one - other), size, self.lines(self.written, member).T)

    def residual(self, found):
        """Of the solution of a triangular system."""
        x = self.lines(found, 0).T
        left, right = self.factors[0]
        one, other, b = (x, right, left) if self.row.is_at_right else (left, x, right)
        return self.most_units(abs(one @ other - b), abs(one) @ abs(other), True)

    def most_units(self, distance, size, counts):
        """The largest distance of the elements that count. What underflows may be lost whole, once
        in each product. NaN is infinitely far."""
        xp = self.xp
        apart = distance / (UNIT * size + (self.row.k + 3) * LEAST)
        apart = xp.where(apart >= 0, apart, xp.inf)
        return float(xp.where(counts & (size < LARGEST), apart, 0).max())


def bits_equal(xp, one, other):
    return bool((one.view(xp.uint64) == other.view(xp.uint64)).all())
