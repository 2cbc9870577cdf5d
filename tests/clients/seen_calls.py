"""Which FP64 products of PyTorch, CuPy, JAX and a cuSOLVER program Tandem sees, against what
cuBLAS's own log shows, and how exact results are.

usage: seen_calls.py [--mode MODE] [--jobs N] [--solver PROGRAM] [--folder FOLDER] LIBRARY
                     [WORK ...]

LIBRARY is libtandem.so; PROGRAM is tests/clients/solver of the build, whose libcusolver is in
FOLDER (that of Python's package nvidia, if there is one). Each piece of work runs in two processes
of its own: natively, with the logs of cuBLAS and cublasLt, and with the library preloaded. Prints a
line for each: the calls of FP64 level 3 routines that cuBLAS logged, the calls that Tandem's report
has and how many of them a mode ran, and the residual of both runs in units of n 2^-53. Exit status
1 if a logged call is missing in the report, or a residual is more than ten times the native one and
above 30.
"""

import argparse
import collections
import concurrent.futures
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

N = 1024
UNIT = N * 2.0**-53
with open(os.path.join(os.path.dirname(__file__), "../../lib/routine/routines.def"),
          encoding="utf-8") as table:
    NAMES = re.findall(r"^(?:LEVEL3|XT)\((\w+),", table.read(), re.MULTILINE)
LEVEL3 = re.compile(rf"cublas({'|'.join(NAMES)}|Gemm\w*Ex)")


def relative(residual, *scale):
    """The largest element of a residual beside the products of the largest of the operands, in
    units."""
    size = np.prod([np.abs(s).max() for s in scale])
    return float(np.abs(residual).max() / size / UNIT)


# ---- work: takes a module's adapter, returns (residual, the matrices to measure it beside) ----


def product(f, kind):
    a, b = f.random(N, N, kind), f.random(N, N, kind)
    return f.host(f.matmul(a, b)) - f.host(a) @ f.host(b), [f.host(a), f.host(b)]


def transposed(f, kind):
    a, b = f.random(N, 700, kind), f.random(N, 300, kind)
    c = f.matmul(f.adjoint(a), b)
    return f.host(c) - f.host(a).conj().T @ f.host(b), [f.host(a), f.host(b)]


def stack(f, kind):
    a, b = f.random(8, 256, 256, kind), f.random(8, 256, 256, kind)
    return f.host(f.matmul(a, b)) - f.host(a) @ f.host(b), [f.host(a), f.host(b)]


def contraction(f, kind):
    a, b = f.random(40, 50, 60, kind), f.random(60, 50, 30, kind)
    return (f.host(f.einsum("ijk,kjl->il", a, b)) - np.einsum("ijk,kjl->il", f.host(a), f.host(b)),
            [f.host(a), f.host(b)])


def solution(f, kind):
    a, b = f.dominant(N, kind), f.random(N, 64, kind)
    x = f.solve(a, b)
    return f.host(a) @ f.host(x) - f.host(b), [f.host(a), f.host(x)]


def inverse(f, kind):
    a = f.dominant(N, kind)
    x = f.inv(a)
    return f.host(a) @ f.host(x) - np.eye(N), [f.host(a), f.host(x)]


def eigenvectors(f, kind):
    a = f.dominant(N, kind)
    a = a + f.adjoint(a)
    values, vectors = f.eigh(a)
    v = f.host(vectors)
    return f.host(a) @ v - v * f.host(values), [f.host(a), v]


def singular(f, kind):
    a = f.random(N, 512, kind)
    u, s, vh = f.svd(a)
    return (f.host(u) * f.host(s)) @ f.host(vh) - f.host(a), [f.host(s)]


def factor(f, kind):
    a = f.dominant(N, kind)
    a = a + f.adjoint(a)
    l = f.host(f.cholesky(a))
    return l @ l.conj().T - f.host(a), [f.host(a)]


class Torch:
    def __init__(self):
        import torch

        self.t = torch
        torch.manual_seed(1)
        self.types = {"d": torch.float64, "z": torch.complex128}
        self.matmul, self.einsum = torch.matmul, torch.einsum
        self.solve, self.inv, self.eigh = torch.linalg.solve, torch.linalg.inv, torch.linalg.eigh
        self.cholesky = torch.linalg.cholesky

    def random(self, *shape_and_kind):
        *shape, kind = shape_and_kind
        return self.t.randn(*shape, dtype=self.types[kind], device="cuda")

    def dominant(self, n, kind):
        eye = self.t.eye(n, dtype=self.types[kind], device="cuda")
        return self.random(n, n, kind) + 4.0 * n**0.5 * eye

    def adjoint(self, a):
        return a.mH

    def svd(self, a):
        return self.t.linalg.svd(a, full_matrices=False)

    def host(self, a):
        return a.resolve_conj().cpu().numpy()

    def captured(self, kind):
        a, b = self.random(N, N, kind), self.random(N, N, kind)
        c, graph = self.t.empty_like(a), self.t.cuda.CUDAGraph()
        self.t.matmul(a, b, out=c)
        with self.t.cuda.graph(graph):
            self.t.matmul(a, b, out=c)
        c.zero_()
        graph.replay()
        return self.host(c) - self.host(a) @ self.host(b), [self.host(a), self.host(b)]

    def added(self, kind):
        a, b, c = (self.random(N, N, kind) for _ in range(3))
        d = self.t.addmm(c, a, b, beta=0.5, alpha=-2.0)
        a, b, c, d = (self.host(x) for x in (a, b, c, d))
        return d - (0.5 * c - 2.0 * a @ b), [a, b]

    def pivoted(self, kind):
        a = self.random(N, N, kind)
        p, l, u = self.t.linalg.lu(a)
        return self.host(p) @ self.host(l) @ self.host(u) - self.host(a), [
            self.host(l), self.host(u)
        ]


class Cupy:
    def __init__(self):
        import cupy

        self.c = cupy
        self.generator = cupy.random.RandomState(1)
        self.matmul, self.einsum = cupy.matmul, cupy.einsum
        self.solve, self.inv, self.eigh = cupy.linalg.solve, cupy.linalg.inv, cupy.linalg.eigh
        self.cholesky, self.host = cupy.linalg.cholesky, cupy.asnumpy

    def random(self, *shape_and_kind):
        *shape, kind = shape_and_kind
        x = self.generator.standard_normal(shape)
        return x + 1j * self.generator.standard_normal(shape) if kind == "z" else x

    def dominant(self, n, kind):
        return self.random(n, n, kind) + 4.0 * n**0.5 * self.c.eye(n)

    def adjoint(self, a):
        return a.conj().T

    def svd(self, a):
        return self.c.linalg.svd(a, full_matrices=False)


class Jax:
    def __init__(self):
        os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
        import jax

        jax.config.update("jax_enable_x64", True)
        if jax.default_backend() != "gpu":
            raise ImportError("JAX has no GPU")
        self.j, self.n, self.key = jax, jax.numpy, 0
        self.matmul, self.solve = jax.jit(self.n.matmul), jax.jit(self.n.linalg.solve)
        self.einsum = jax.jit(self.n.einsum, static_argnums=0)
        self.inv, self.eigh = self.n.linalg.inv, self.n.linalg.eigh
        self.cholesky = jax.jit(self.n.linalg.cholesky)

    def random(self, *shape_and_kind):
        *shape, kind = shape_and_kind
        self.key += 1
        return self.j.random.normal(self.j.random.key(self.key), shape,
                                    dtype={"d": "float64", "z": "complex128"}[kind])

    def dominant(self, n, kind):
        return self.random(n, n, kind) + 4.0 * n**0.5 * self.n.eye(n)

    def adjoint(self, a):
        return a.conj().T

    def svd(self, a):
        return self.n.linalg.svd(a, full_matrices=False)

    def host(self, a):
        return np.asarray(a)


COMMON = [
    product, transposed, stack, contraction, solution, inverse, eigenvectors, singular, factor
]
FRAMEWORKS = {"torch": Torch, "cupy": Cupy, "jax": Jax}
WORK = {
    f"{name} {w.__name__} {kind}": (name, w, kind)
    for name in FRAMEWORKS
    for w in COMMON
    for kind in "dz"
}
WORK.update({
    f"torch {w} {kind}": ("torch", w, kind)
    for w in ("captured", "added", "pivoted")
    for kind in "dz"
})
WORK.update({
    f"cusolver {w} {kind}": ("cusolver", w, kind)
    for w in ("getrf", "potrf", "syevd", "gesvd")
    for kind in "dz"
})


def run_work(name):
    framework, work, kind = WORK[name]
    try:
        f = FRAMEWORKS[framework]()
    except ImportError as reason:
        print(f"skipped: {reason}")
        return
    residual, scale = getattr(f, work)(kind) if isinstance(work, str) else work(f, kind)
    print(f"residual {relative(residual, *scale)}")


# ---- the two processes of a piece of work ----


def command(name, options):
    framework, work, kind = WORK[name]
    if framework != "cusolver":
        return [sys.executable, __file__, "--run", name], 1.0
    folder = ["--folder", options.folder] if options.folder else []
    # whose residuals are in no units
    return [options.solver, "--order", str(N), *folder, work, kind], UNIT


def process(name, options, environment):
    words, unit = command(name, options)
    if not os.path.exists(words[0]):
        raise RuntimeError(f"skipped: there is no {words[0]}")
    done = subprocess.run(words, env={**os.environ, **environment}, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False)
    found = re.search(r"^residual (\S+)", done.stdout, re.M)
    if found:
        return float(found.group(1)) / unit
    skipped = re.search(r"^skipped: .*", done.stdout, re.M)
    raise RuntimeError(skipped.group(0) if skipped else done.stderr[-400:])


def logged_functions(path):
    """(function, what cuBLAS's log says of the call) of each call: arguments have lines of their
    own, behind the function's."""
    with open(path, errors="replace") as file:
        parts = re.split(r"function (?:cublasStatus_t )?(cublas\w+)\(", file.read())
    return list(zip(parts[1::2], parts[2::2]))


def logged_calls(blas, lt):
    calls = collections.Counter()
    for function, arguments in logged_functions(blas):
        if LEVEL3.match(function) and ("Ex" not in function or "64F" in arguments):
            calls[function] += 1
    if os.path.exists(lt):
        for line in open(lt, errors="replace"):
            if "[cublasLtMatmul]" in line and "COMPUTE_64F" in line:
                calls["cublasLtMatmul"] += 1
    return calls


def counts_of_calls(calls):
    """Calls of level 3 in a report, by function: all, and those that were emulated."""
    seen, emulated = collections.Counter(), collections.Counter()
    for call in calls:
        if not (LEVEL3.match(call["function"]) or "Lt" in call["function"]):
            continue
        seen[call["function"]] += call["count"]
        if call["mode"] != "native":
            emulated[call["function"]] += call["count"]
    return seen, emulated


def reported_calls(report):
    with open(report, encoding="utf-8") as file:
        return counts_of_calls(json.load(file)["calls"])


def compare(name, options):
    with tempfile.TemporaryDirectory() as folder:
        blas, lt, report = (os.path.join(folder, f) for f in ("blas", "lt", "report.json"))
        open(blas, "w").close()
        try:
            native = process(name, options, {"CUBLAS_LOGINFO_DBG": "1", "CUBLAS_LOGDEST_DBG": blas,
                                             "CUBLASLT_LOG_LEVEL": "5", "CUBLASLT_LOG_FILE": lt})
            tandem = process(
                name, options, {
                    "LD_PRELOAD": os.path.abspath(options.library), "TANDEM_MODE": options.mode,
                    "TANDEM_REPORT": report
                })
            logged = logged_calls(blas, lt)
            seen, emulated = reported_calls(report) if os.path.exists(report) else ({}, {})
        except (RuntimeError, OSError) as reason:
            return f"{name:24} {reason}", "skipped" in str(reason)
    missed = {f: n - seen.get(f, 0) for f, n in logged.items() if n > seen.get(f, 0)}
    is_good = not missed and tandem <= max(30.0, 10.0 * native)
    text = " ".join(f"{f.removeprefix('cublas')}:{n}" for f, n in sorted(logged.items())) or "none"
    return (f"{name:24} logged {sum(logged.values()):4} seen {sum(seen.values()):4} emulated "
            f"{sum(emulated.values()):4} residual {native:9.2g} {tandem:9.2g} {text}"
            + (f"  MISSED {missed}" if missed else "")), is_good


def nvidia_folder():
    """Where PyTorch's libraries of CUDA are; None if the loader has to find them."""
    package = importlib.util.find_spec("nvidia")
    return next(iter(package.submodule_search_locations), None) if package else None


def main():
    parser = argparse.ArgumentParser(
        usage="seen_calls.py [--mode MODE] [--jobs N] [--solver PROGRAM] [--folder FOLDER] "
        "LIBRARY [WORK ...]")
    parser.add_argument("--run", help=argparse.SUPPRESS)
    parser.add_argument("--mode", default="ozaki2")
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument(
        "--solver", default=os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                         "tests/clients/solver"))
    parser.add_argument("--folder", default=nvidia_folder())
    parser.add_argument("library", nargs="?")
    parser.add_argument("work", nargs="*", help="words that names of work contain")
    options = parser.parse_args()
    if options.run:
        run_work(options.run)
        return 0
    names = [n for n in WORK if all(word in n.split() for word in options.work)]
    if not names:
        parser.error(f"no work has all the words {' '.join(options.work)}; all: {', '.join(WORK)}")
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(lambda n: compare(n, options), names))
    print("\n".join(text for text, _ in results))
    return 0 if all(good for _, good in results) else 1


if __name__ == "__main__":
    sys.exit(main())
