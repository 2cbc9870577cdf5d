"""Products of matrices of the kinds that programs multiply, under one mode of Tandem and natively, in one run.

    tandem run --mode auto --report REPORT -- python3 real_data.py --csv FILE [--report REPORT] [N ...]
    python3 real_data.py --join FILE REPORT

Each kind of matrix is made in sizes of about N x N (default 4096), multiplied by the cublasDgemm that programs find
(Tandem's, where it is preloaded) and by cuBLAS's own, in turn. A line of the CSV has the kind, the shape, the median
milliseconds of both, the ratio, and the largest error of some elements over |A||B| of both. Every kind has a shape of
its own, so that --join can add what Tandem's report says of it: moduli, elements repaired, and what ran.
Matrices are made with CuPy where it is installed, else with NumPy; those of chemistry need pyscf. A kind whose
packages are missing is left out, which is said."""
import argparse
import csv
import ctypes
import json
import sys

import numpy as np

try:
    import cupy as xp
except ImportError:
    xp = np

SAMPLES = 200
RUNS = 7


# ---- matrices ----

class Kinds:
    """Makes the operands of each kind: a method a kind, of which the first line of its text is the name.

    A method returns op(A), m x k, and op(B), k x n, as arrays in row-major or column-major order."""

    def __init__(self, n, seed=1):
        self.n = n
        self.random = xp.random.RandomState(seed)
        self.kept = {}

    def normal(self, *shape):
        return self.random.standard_normal(shape or (self.n, self.n))

    def uniform(self, *shape):
        return self.random.random_sample(shape or (self.n, self.n))

    def keep(self, name, make):
        """What several kinds are made of is made once."""
        if name not in self.kept:
            self.kept[name] = make()
        return self.kept[name]

    def kernel(self):
        """The covariance of a Gaussian process of n points in eight dimensions, with noise 0.1 on the diagonal."""
        def make():
            points = self.uniform(self.n, 8)
            squares = (points ** 2).sum(1)
            distance = squares[:, None] + squares[None] - 2 * points @ points.T
            return xp.exp(-2.0 * xp.maximum(distance, 0)) + 0.1 * xp.eye(self.n)
        return self.keep("kernel", make)

    def kernel_factor(self):
        return self.keep("kernel factor", lambda: xp.linalg.cholesky(self.kernel()))

    def vectors(self):
        def make():
            x = self.normal()
            return xp.linalg.eigh(x + x.T)[1]
        return self.keep("vectors", make)

    def stiffness(self):
        """Finite differences of a plane: five diagonals, coefficients that vary by 10^3."""
        def make():
            side = int(self.n ** 0.5)
            n = side * side
            a = xp.zeros((n, n))
            c = 10.0 ** (3 * self.uniform(n))
            i = xp.arange(n)
            for step, inside in ((1, (i + 1) % side != 0), (side, i + side < n)):
                at = i[inside & (i + step < n)]
                flow = 2.0 / (1.0 / c[at] + 1.0 / c[at + step])
                a[at, at + step] = a[at + step, at] = -flow
                a[at, at] += flow
                a[at + step, at + step] += flow
            a[i, i] += 1e-3 * c
            return a
        return self.keep("stiffness", make)

    def random_numbers(self):
        """random x random"""
        return self.normal(), self.normal()

    def kernel_product(self):
        """kernel x kernel"""
        return self.kernel(), self.kernel()

    def cholesky_factors(self):
        """L L' of a kernel's Cholesky factor"""
        return self.kernel_factor(), self.kernel_factor().T

    def inverse_factor(self):
        """L^-1 K"""
        return xp.tril(xp.linalg.inv(self.kernel_factor())), self.kernel()

    def inverse_kernel(self):
        """K^-1 K"""
        return xp.linalg.inv(self.kernel()), self.kernel()

    def cauchy(self):
        """Cauchy-distributed x random"""
        return xp.tan(np.pi * (self.uniform() - 0.5)), self.normal()

    def lognormal(self):
        """log-normal, sigma 4, x random"""
        return self.normal() * xp.exp(4 * self.normal()), self.normal()

    def lognormal_both(self):
        """log-normal, sigma 4, both"""
        return self.normal() * xp.exp(4 * self.normal()), self.normal() * xp.exp(4 * self.normal())

    def sparse(self):
        """2 % sparse x sparse"""
        return tuple(self.normal() * (self.uniform() < 0.02) for _ in range(2))

    def sparse_dense(self):
        """5 % sparse x random"""
        return self.normal() * (self.uniform() < 0.05), self.normal()

    def vandermonde(self):
        """Vandermonde x random"""
        points = 2 * self.uniform(self.n, 1) - 1
        return points ** xp.arange(self.n)[None], self.normal()

    def one_hot(self):
        """one-hot x random"""
        a = xp.zeros((self.n, self.n))
        a[xp.arange(self.n), self.random.randint(0, self.n, self.n)] = 1.0
        return a, self.normal()

    def spectral(self):
        """V diag V'"""
        v = self.vectors()
        return v * 10.0 ** xp.linspace(0, -12, self.n)[None], v.T

    def graded(self):
        """graded against each other"""
        scale = 10.0 ** xp.linspace(-20, 20, self.n)
        return self.normal() * scale[None], self.normal() / scale[:, None]

    def graded_rows(self):
        """rows and columns graded over 10^16"""
        scale = 10.0 ** xp.linspace(-8, 8, self.n)
        return self.normal() * scale[:, None], self.normal() * scale[None]

    def orthogonal(self):
        """eigenvectors Q Q'"""
        return self.vectors(), self.vectors().T

    def secular(self):
        """divide and conquer Q U"""
        d = xp.sort(self.uniform(self.n))
        z = self.normal(self.n) / self.n ** 0.5
        return self.vectors(), xp.linalg.eigh(xp.diag(d) + xp.outer(z, z))[1]

    def localised(self):
        """localised eigenvectors V' Q"""
        off = xp.full(self.n - 1, 0.3)
        tridiagonal = xp.diag(self.normal(self.n)) + xp.diag(off, 1) + xp.diag(off, -1)
        return xp.linalg.eigh(tridiagonal)[1].T, self.vectors()

    def stiffness_product(self):
        """finite differences x random"""
        return self.stiffness(), self.normal(len(self.stiffness()), self.n)

    def stiffness_factor(self):
        """L L' of finite differences"""
        lower = xp.linalg.cholesky(self.stiffness())
        return lower, lower.T

    def design(self):
        """X'X of a 0/1 design"""
        x = (self.uniform(2 * self.n, self.n) < 0.3).astype(float)
        return x.T, x

    def outliers(self):
        """X'X of data with outliers and zeros"""
        x = self.normal(self.n, self.n) * 10.0 ** xp.linspace(-3, 4, self.n)[None]
        x[self.uniform() < 0.001] *= 1e6
        x[self.uniform() < 0.1] = 0.0
        return x.T, x

    def whole_numbers(self):
        """whole numbers below 1000"""
        return tuple(xp.floor(1000 * self.uniform()) for _ in range(2))

    def denormals(self):
        """denormals among numbers"""
        a = self.normal()
        a[self.uniform() < 0.2] = 1e-310
        return a, self.normal()

    def scattered(self):
        """scattered over 2^+-300"""
        return tuple(self.normal() * xp.exp2(self.random.randint(-300, 300, (self.n, self.n)).astype(float))
                     for _ in range(2))

    def correlation(self):
        """correlation matrix squared"""
        x = self.normal(self.n, 64) @ self.normal(64, 4 * self.n) + 0.3 * self.normal(self.n, 4 * self.n)
        x -= x.mean(1, keepdims=True)
        x /= (x ** 2).sum(1, keepdims=True) ** 0.5
        c = x @ x.T
        return c, c

    def softmax(self):
        """softmax x random"""
        x = xp.exp(4 * self.normal())
        return x / x.sum(1, keepdims=True), self.normal()

    def density_fitting(self):
        """density fitting, L^-1 (P|mn)"""
        return chemistry(self, lambda c: (c.inverse_factor(), c.integrals(8 * self.n)))

    def overlap(self):
        """overlap x Fock-like"""
        return chemistry(self, lambda c: (c.overlap(), c.overlap() @ c.overlap()))


class Chemistry:
    """An alkane chain whose basis has about n functions of density fitting."""

    def __init__(self, n):
        from pyscf import df, gto
        self.n = n
        carbons = max(2, round((n - 190) / 145))
        atoms = []
        for i in range(carbons):
            c = np.array([1.26 * i, 0.44 * (-1) ** i, 0.0])
            atoms.append(("C", tuple(c)))
            up = 0.63 * (-1) ** i
            atoms += [("H", tuple(c + [0, up, z])) for z in (0.89, -0.89)]
        atoms += [("H", (-0.89, -0.2, 0)), ("H", (1.26 * carbons - 0.37, 0.2, 0))]
        self.molecule = gto.M(atom=atoms, basis="def2-tzvp", verbose=0)
        self.fitting = df.addons.make_auxmol(self.molecule, "def2-tzvpp-jkfit")

    def inverse_factor(self):
        import scipy.linalg
        lower = scipy.linalg.cholesky(self.fitting.intor("int2c2e"), lower=True)
        return scipy.linalg.solve_triangular(lower, np.eye(len(lower)), lower=True)

    def integrals(self, most):
        """Three-centre integrals, functions of density fitting x pairs of orbitals, of at most so many pairs."""
        from pyscf import df
        shells = self.molecule.nbas
        few = min(shells, 60)
        b = df.incore.aux_e2(self.molecule, self.fitting, intor="int3c2e", aosym="s1",
                             shls_slice=(0, few, 0, few, 0, self.fitting.nbas))
        b = b.reshape(-1, b.shape[-1])
        b = b[abs(b).max(axis=1) > 1e-14]
        rows = np.sort(np.random.default_rng(1).permutation(len(b))[:most])
        return b[rows].T

    def overlap(self):
        return self.fitting.intor("int1e_ovlp")


def chemistry(kinds, make):
    a, b = make(kinds.keep("chemistry", lambda: Chemistry(kinds.n)))
    return xp.asarray(np.ascontiguousarray(a)), xp.asarray(np.ascontiguousarray(b))


def names_of_kinds():
    """The methods of Kinds that make operands, in the order in which they stand."""
    return [name for name, method in vars(Kinds).items()
            if name[0] != "_" and callable(method) and (method.__doc__ or "\n").count("\n") == 0
            and name not in ("keep", "kernel", "stiffness")]


# ---- products ----

class Device:
    """cuBLAS's own cublasDgemm and the one that programs find, by their C interface."""

    def __init__(self):
        if xp is not np:
            xp.zeros((2, 2)) @ xp.zeros((2, 2))  # loads CuPy's cuBLAS
        self.cudart = ctypes.CDLL("libcudart.so.13")
        self.cublas = ctypes.CDLL("libcublas.so.13", mode=ctypes.RTLD_GLOBAL)
        self.native = self.cublas.cublasDgemm_v2
        self.found = ctypes.CDLL(None).cublasDgemm_v2
        self.handle = ctypes.c_void_p()
        self.check(self.cublas.cublasCreate_v2(ctypes.byref(self.handle)))
        self.events = [ctypes.c_void_p() for _ in range(2)]
        for event in self.events:
            self.check(self.cudart.cudaEventCreate(ctypes.byref(event)))

    @staticmethod
    def check(status):
        if status:
            sys.exit(f"real_data: a CUDA function returned {status}")

    def put(self, matrix):
        """The matrix in device memory: its address, the leading dimension, and cuBLAS's name for its operation."""
        by_rows = matrix.flags.c_contiguous
        if not by_rows and not matrix.flags.f_contiguous:
            matrix = xp.ascontiguousarray(matrix)
            by_rows = True
        rows, columns = matrix.shape
        return self.address(matrix), (columns if by_rows else rows), int(by_rows), matrix

    def address(self, matrix):
        if xp is not np:
            return ctypes.c_void_p(matrix.data.ptr)
        memory = ctypes.c_void_p()
        self.check(self.cudart.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(matrix.nbytes)))
        self.check(self.cudart.cudaMemcpy(memory, ctypes.c_void_p(matrix.ctypes.data), ctypes.c_size_t(matrix.nbytes), 1))
        return memory

    def get(self, memory, rows, columns):
        c = np.empty((columns, rows))
        self.check(self.cudart.cudaMemcpy(ctypes.c_void_p(c.ctypes.data), memory, ctypes.c_size_t(c.nbytes), 2))
        return c.T

    def multiply(self, function, a, b, c, m, n, k):
        one, zero = ctypes.c_double(1), ctypes.c_double(0)
        self.check(function(self.handle, a[2], b[2], m, n, k, ctypes.byref(one), a[0], a[1], b[0], b[1],
                            ctypes.byref(zero), c, m))

    def milliseconds(self, work):
        taken = ctypes.c_float()
        start, end = self.events
        self.check(self.cudart.cudaEventRecord(start, None))
        work()
        self.check(self.cudart.cudaEventRecord(end, None))
        self.check(self.cudart.cudaEventSynchronize(end))
        self.check(self.cudart.cudaEventElapsedTime(ctypes.byref(taken), start, end))
        return taken.value


def largest_error(a, b, c):
    """Of SAMPLES elements over |A||B|; references have 64 bits at least."""
    random = np.random.default_rng(2)
    rows, columns = (random.integers(0, n, SAMPLES) for n in c.shape)
    x, y = (np.asarray(part.get() if xp is not np else part, dtype=np.longdouble)
            for part in (a[xp.asarray(rows)], b[:, xp.asarray(columns)].T))
    size = (abs(x) * abs(y)).sum(1)
    off = abs((x * y).sum(1) - c[rows, columns])[size > 0] / size[size > 0]
    return float(off.max(initial=0))


def run_kind(device, a, b):
    """Shape, milliseconds found and native, errors of both."""
    (m, k), n = a.shape, b.shape[1]
    left, right = device.put(a), device.put(b)
    c = xp.empty((m, n))
    result = device.address(c)
    ways = (device.found, device.native)
    times, errors = ([], []), []
    for way in ways:
        device.multiply(way, left, right, result, m, n, k)
        device.check(device.cudart.cudaDeviceSynchronize())
        errors.append(largest_error(a, b, device.get(result, m, n)))
    for _ in range(RUNS):
        for way, own in zip(ways, times):
            own.append(device.milliseconds(lambda: device.multiply(way, left, right, result, m, n, k)))
    if xp is np:
        for memory in (left[0], right[0], result):
            device.check(device.cudart.cudaFree(memory))
    return (m, n, k), [sorted(own)[RUNS // 2] for own in times], errors


def run(sizes, path):
    device = Device()
    with open(path, "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["kind", "m", "n", "k", "ms", "native ms", "ratio", "err", "native err"])
        for n in sizes:
            kinds = Kinds(n)
            for number, name in enumerate(names_of_kinds()):
                title = getattr(Kinds, name).__doc__
                try:
                    a, b = getattr(kinds, name)()
                except ImportError as error:
                    print(f"{title}: left out, {error}", file=sys.stderr)
                    continue
                width = b.shape[1] - 8 * number  # a shape of its own
                b = b[:, :width] if b.flags.c_contiguous else xp.asfortranarray(b[:, :width])
                b = b if b.flags.f_contiguous else xp.ascontiguousarray(b)
                (m, n_, k), (ms, native), errors = run_kind(device, a, b)
                table.writerow([title, m, n_, k, f"{ms:.4f}", f"{native:.4f}", f"{ms / native:.3f}",
                                *(f"{e:.1e}" for e in errors)])
                file.flush()
                del a, b
                if xp is not np:
                    xp.get_default_memory_pool().free_all_blocks()


def join(path, report):
    """Prints the table with what the report says of each shape, and the geometric mean of the ratios."""
    with open(report) as file:
        calls = {(c["m"], c["n"], c["k"]): c for c in json.load(file)["calls"]}
    with open(path) as file:
        rows = list(csv.DictReader(file))
    print(f"{'kind':34} {'m':>6} {'n':>6} {'k':>6} {'native':>9} {'ms':>9} {'ratio':>6} {'ran':10} {'moduli':>6} "
          f"{'repaired':>10} {'err':>8} {'native':>8}")
    for r in rows:
        c = calls.get(tuple(int(r[x]) for x in "mnk"), {})
        repaired = (c.get("repaired") or 0) // max(1, c.get("count", 1))
        print(f"{r['kind']:34} {r['m']:>6} {r['n']:>6} {r['k']:>6} {r['native ms']:>9} {r['ms']:>9} {r['ratio']:>6} "
              f"{c.get('mode') or '':10} {c.get('planes') or '':>6} {repaired:>10} {r['err']:>8} {r['native err']:>8}")
    ratios = [float(r["ratio"]) for r in rows]
    print(f"geometric mean {np.exp(np.log(ratios).mean()):.3f}, most {max(ratios):.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--csv")
    parser.add_argument("--join", nargs=2, metavar=("FILE", "REPORT"))
    parser.add_argument("sizes", nargs="*", type=int, default=[4096])
    arguments = parser.parse_args()
    if arguments.join:
        join(*arguments.join)
    elif arguments.csv:
        run(arguments.sizes or [4096], arguments.csv)
    else:
        parser.error("--csv FILE or --join FILE REPORT is needed")


if __name__ == "__main__":
    main()
