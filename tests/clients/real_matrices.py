"""Products of matrices of the kinds that programs multiply: how long they take, and how far they are off.

    python3 real_matrices.py make FOLDER N     makes the matrices with CuPy, natively
    python3 real_matrices.py time FOLDER NAME  multiplies them, and writes FOLDER/NAME.csv

Run the second under `tandem run --mode M --` for each mode and without it, on the same machine."""
import csv
import pathlib
import sys

import cupy as cp
import numpy as np

SAMPLES = 200


def secular_vectors(n, random):
    """Eigenvectors of a diagonal matrix and one of rank one: what divide and conquer multiplies by."""
    d = cp.sort(random.random_sample(n))
    z = random.standard_normal(n) / n ** 0.5
    return cp.linalg.eigh(cp.diag(d) + cp.outer(z, z))[1]


def localised_vectors(n, random):
    """Eigenvectors of a random tridiagonal matrix, each of which decays away from a place of its own."""
    off = cp.full(n - 1, 0.3)
    return cp.linalg.eigh(cp.diag(random.standard_normal(n)) + cp.diag(off, 1) + cp.diag(off, -1))[1]


def kinds(n):
    random = cp.random.RandomState(1)
    x, y = random.standard_normal((n, n)), random.standard_normal((n, n))
    yield "normal", x, y
    lower = cp.linalg.cholesky(x @ x.T / n + cp.eye(n))
    yield "Cholesky factor L L'", lower, lower.T
    points = random.random_sample((n, 8))
    squares = (points ** 2).sum(1)
    kernel = cp.exp(-2.0 * cp.maximum(squares[:, None] + squares[None] - 2 * points @ points.T, 0))
    kernel += 0.1 * cp.eye(n)
    yield "Gaussian process K^-1 K", cp.linalg.inv(kernel), kernel
    factor = cp.linalg.cholesky(kernel)
    yield "Gaussian process L L'", factor, factor.T
    inverse = cp.tril(cp.linalg.inv(factor))
    yield "Gaussian process L^-T L^-1", inverse.T, inverse
    vectors = cp.linalg.eigh(x + x.T)[1]
    yield "eigenvectors Q Q'", vectors, vectors.T
    yield "divide and conquer Q U", vectors[: n // 4], secular_vectors(n, random)
    yield "localised eigenvectors V' Q", localised_vectors(n, random).T, vectors
    panel = cp.tril(random.standard_normal((n, 256)), -1) + cp.eye(n, 256)
    yield "Householder V' C", panel.T, x
    yield "Householder V W", panel, random.standard_normal((256, n))
    sparse = [m * (random.random_sample((n, n)) < 0.05) for m in (x, y)]
    yield "5 % sparse", *sparse
    for phi in (1, 2, 4):
        wide = [(random.random_sample((n, n)) - 0.5) * cp.exp(phi * random.standard_normal((n, n))) for _ in range(2)]
        yield f"wide, phi {phi}", *wide
    scattered = [m * cp.exp2(random.randint(-300, 300, (n, n)).astype(float)) for m in (x, y)]
    yield "scattered over 2^+-300", *scattered


def make(folder, n):
    for i, (name, a, b) in enumerate(kinds(n)):
        np.savez(folder / f"{i:02}.npz", name=name, a=cp.asnumpy(a), b=cp.asnumpy(b), a_by_rows=a.flags.c_contiguous,
                 b_by_rows=b.flags.c_contiguous)


def milliseconds(a, b):
    """Median of windows of at least five products."""
    out = cp.empty((a.shape[0], b.shape[1]))
    start, end = cp.cuda.Event(), cp.cuda.Event()
    for _ in range(2):
        cp.matmul(a, b, out=out)
    times = []
    for _ in range(5):
        start.record()
        for _ in range(5):
            cp.matmul(a, b, out=out)
        end.record()
        end.synchronize()
        times.append(cp.cuda.get_elapsed_time(start, end) / 5)
    return sorted(times)[2], out


def errors(a, b, c):
    """Largest and root mean square error of some elements over abs(A)abs(B); references have 64 bits at least."""
    random = np.random.default_rng(2)
    rows, columns = (random.integers(0, n, SAMPLES) for n in c.shape)
    rows[:20] = np.arange(20) % c.shape[0]  # short ones of triangles
    x, y = a[rows].astype(np.longdouble), b[:, columns].T.astype(np.longdouble)
    size = (abs(x) * abs(y)).sum(1)
    off = abs((x * y).sum(1) - cp.asnumpy(c)[rows, columns])[size > 0] / size[size > 0]
    return float(off.max(initial=0)), float((off ** 2).mean() ** 0.5)


def order(matrix, by_rows):
    return cp.asarray(matrix) if by_rows else cp.asarray(np.ascontiguousarray(matrix.T)).T


def main():
    action, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    if action == "make":
        make(folder, int(sys.argv[3]))
        return
    with open(folder / f"{sys.argv[3]}.csv", "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["kind", "m", "n", "k", "ms", "TFLOP/s", "err", "rms"])
        for path in sorted(folder.glob("*.npz")):
            data = np.load(path)
            a, b = data["a"], data["b"]
            ms, c = milliseconds(order(a, data["a_by_rows"]), order(b, data["b_by_rows"]))
            (m, k), n = a.shape, b.shape[1]
            worst, rms = errors(a, b, c)
            table.writerow([str(data["name"]), m, n, k, f"{ms:.4f}", f"{2e-9 * m * n * k / ms:.1f}", f"{worst:.2e}",
                            f"{rms:.2e}"])


main()
