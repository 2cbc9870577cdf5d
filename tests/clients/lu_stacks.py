"""Stacks of matrices through PyTorch and CuPy: inverses, factors and solutions, with and without
Tandem preloaded.

usage: lu_stacks.py [--pivots FILE]

Prints one line for each piece of work: the median time of a whole call in milliseconds, by the
host's clock, and its residual in units of n norm(A) epsilon, or n norm(A) norm(X) epsilon.
Residuals above 30, where LAPACK's own tests fail, are an error. With FILE the pivots are written to
it, or, if it is there, compared with it.
"""

import os
import sys
import time

import numpy as np

RUNS, WORST = 15, 30.0


def median_ms(work, wait):
    times = []
    for _ in range(RUNS + 2):
        start = time.perf_counter()
        result = work()
        wait()
        times.append(time.perf_counter() - start)
    return sorted(times[2:])[RUNS // 2] * 1e3, result


def norm(x):
    return np.abs(x).sum(axis=-2).max(axis=-1)


def epsilon(a):
    return np.finfo(a.dtype).eps


def product_residual(a, x, b):
    """norm(A X - B) by the norms of A and X, the worst of the first members."""
    a, x, b = (np.asarray(m[:50]) for m in (a, x, b))
    wide = np.complex128 if np.iscomplexobj(a) else np.longdouble
    error = norm(a.astype(wide) @ x.astype(wide) - b)
    return float((error / (a.shape[-1] * norm(a) * norm(x) * epsilon(a))).max())


def matrices(count, n, dtype, columns=None):
    random = np.random.default_rng(n)
    shape = (count, n, columns or n)
    x = random.standard_normal(shape)
    if np.issubdtype(dtype, np.complexfloating):
        x = x + 1j * random.standard_normal(shape)
    return x.astype(dtype)


def identity(a):
    return np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape)


def torch_work(count, n, dtype):
    import torch

    a_host, b_host = matrices(count, n, dtype), matrices(count, n, dtype, 8)
    a, b = torch.from_numpy(a_host).cuda(), torch.from_numpy(b_host).cuda()
    wait = torch.cuda.synchronize
    ms, inverse = median_ms(lambda: torch.linalg.inv(a), wait)
    residual = product_residual(a_host, inverse.cpu().numpy(), identity(a_host))
    yield "torch.linalg.inv", ms, residual, None
    ms, (factors, pivots) = median_ms(lambda: torch.linalg.lu_factor(a), wait)
    p, lower, upper = torch.lu_unpack(factors[:50].cpu(), pivots[:50].cpu())
    error = norm((p @ lower @ upper).numpy() - a_host[:50])
    residual = float((error / (n * norm(a_host[:50]) * epsilon(a_host))).max())
    yield "torch.linalg.lu_factor", ms, residual, pivots.cpu().numpy()
    ms, x = median_ms(lambda: torch.linalg.solve(a, b), wait)
    yield "torch.linalg.solve", ms, product_residual(a_host, x.cpu().numpy(), b_host), None
    ms, x = median_ms(lambda: torch.linalg.lu_solve(factors, pivots, b), wait)
    yield "torch.linalg.lu_solve", ms, product_residual(a_host, x.cpu().numpy(), b_host), None


def cupy_work(count, n, dtype):
    import cupy

    a_host = matrices(count, n, dtype)
    a = cupy.asarray(a_host)
    ms, inverse = median_ms(lambda: cupy.linalg.inv(a), cupy.cuda.Device().synchronize)
    yield "cupy.linalg.inv", ms, product_residual(a_host, cupy.asnumpy(inverse),
                                                  identity(a_host)), None
    b_host = matrices(count, n, dtype, n // 2)
    b = cupy.asarray(b_host)
    ms, x = median_ms(lambda: cupy.linalg.solve(a, b), cupy.cuda.Device().synchronize)
    yield "cupy.linalg.solve", ms, product_residual(a_host, cupy.asnumpy(x), b_host), None


WORK = [
    (torch_work, 10000, 64, np.float64),
    (torch_work, 10000, 32, np.float32),
    (torch_work, 1000, 128, np.float64),
    (torch_work, 100, 48, np.complex128),
    (torch_work, 1000, 100, np.complex64),
    (cupy_work, 1000, 100, np.float64),
    (cupy_work, 10000, 64, np.float64),
    (cupy_work, 1000, 64, np.complex64),
    (cupy_work, 1000, 128, np.complex128),
    (cupy_work, 10000, 64, np.complex128),
]


def same_pivots(path, pivots):
    if not os.path.exists(path):
        np.savez(path, **pivots)
        return True
    with np.load(path) as before:
        differences = {k: int((before[k] != pivots[k]).any(axis=-1).sum()) for k in pivots}
    print("members with other pivots:", differences)
    return not any(
        count for name, count in differences.items() if name.endswith(("float64", "complex128")))


def main():
    bad, pivots = 0, {}
    for work, count, n, dtype in WORK:
        try:
            for name, ms, residual, found in work(count, n, dtype):
                print(f"{name:24} {np.dtype(dtype).name:10} {count:6} x {n:3}  {ms:9.3f} ms  "
                      f"residual {residual:.3g}")
                bad += not residual <= WORST
                if found is not None:
                    pivots[f"{count}_{n}_{np.dtype(dtype).name}"] = found
        except ImportError as missing:
            print(f"{work.__name__}: {missing}")
    if len(sys.argv) == 3 and pivots and not same_pivots(sys.argv[2], pivots):
        bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
