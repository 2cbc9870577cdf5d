"""Tandem put into a Python that has PyTorch, CuPy or JAX loaded already: its products are those of
`tandem run`, to the bit, for as long as it is enabled. For a machine with a GPU, with the package
tandem installed (pip install .).

usage: attached.py [FRAMEWORK]
       attached.py --print FRAMEWORK  (prints the hash of the product alone)

Without FRAMEWORK, each of the three in a process of its own. Ends with 77, skipped, where there is
no GPU, or none of the three.
"""

import hashlib
import subprocess
import sys

import numpy

SKIPPED = 77
M, N, K = 700, 600, 900
MODES = ("df", "ts", "ozaki2:14")


def operands():
    rng = numpy.random.default_rng(7)
    return rng.standard_normal((M, K)), rng.standard_normal((K, N))


class Torch:
    def __init__(self):
        import torch
        if not torch.cuda.is_available():
            raise ImportError("no GPU")
        self.arrays = [torch.tensor(x, device="cuda") for x in operands()]
        self.to_host = lambda x: x.cpu().numpy()


class Cupy:
    def __init__(self):
        import cupy
        try:
            self.arrays = [cupy.asarray(x) for x in operands()]
        except cupy.cuda.runtime.CUDARuntimeError as error:
            raise ImportError(str(error)) from error
        self.to_host = cupy.asnumpy


class Jax:
    def __init__(self):
        import jax
        jax.config.update("jax_enable_x64", True)
        if jax.default_backend() != "gpu":
            raise ImportError("no GPU")
        self.arrays = [jax.numpy.asarray(x) for x in operands()]
        self.to_host = numpy.asarray


FRAMEWORKS = {"torch": Torch, "cupy": Cupy, "jax": Jax}


def digest(framework):
    a, b = framework.arrays
    return hashlib.sha256(numpy.ascontiguousarray(framework.to_host(a @ b)).tobytes()).hexdigest()


def under_tandem_run(name, mode):
    done = subprocess.run(["tandem", "run", "--mode", mode, "--", sys.executable, __file__,
                           "--print", name], capture_output=True, text=True, check=True)
    return done.stdout.split()[-1]


def check_products(framework, name):
    import tandem
    native = digest(framework)
    for mode in MODES:
        tandem.enable(mode)
        tandem.reset()
        assert digest(framework) == under_tandem_run(name, mode), (mode, tandem.reach())
        totals = tandem.report()["totals"]
        assert (totals["emulated"], totals["native"]) == (1, 0), totals
        with tandem.mode("native"):
            assert digest(framework) == native
        tandem.disable()
        assert digest(framework) == native, mode


def check_arrays(framework):
    """tandem.matmul of the framework's own arrays, and of transposed ones, against long double."""
    import tandem
    a, b = framework.arrays
    exact = numpy.matmul(*(x.astype(numpy.longdouble) for x in operands()))
    scale = numpy.matmul(*(abs(x) for x in operands()))
    for mode, bound in (("df", 2.0**-42), ("ts", 2.0**-52), ("ozaki2", 2.0**-50)):
        product = framework.to_host(tandem.matmul(a, b, mode))
        assert (abs(product - exact) / scale).max() <= bound, mode
        turned = framework.to_host(tandem.matmul(b.T, a.T, mode)).T
        assert (abs(turned - exact) / scale).max() <= bound, mode
    for mode, bound in (("dd", 2.0**-60), ("ts", 2.0**-58)):  # long double's own sums: 2^-61
        parts = [framework.to_host(x) for x in tandem.matmul(a, b, mode, parts=True)]
        whole = sum(x.astype(numpy.longdouble) for x in parts)
        assert (abs(whole - exact) / scale).max() <= bound, mode
    square = a.T @ a
    square = (square + square.T) / 2
    told = tandem.verified_eigh(square)
    values = framework.to_host(told.values)
    assert all(low <= v <= high for low, v, high in zip(told.lower, values, told.upper))


def run(name):
    try:
        framework = FRAMEWORKS[name]()
    except ImportError as error:
        print(f"{name}: skipped: {error}")
        return SKIPPED
    check_products(framework, name)
    check_arrays(framework)
    print(f"{name}: right")
    return 0


def main(arguments):
    if arguments[:1] == ["--print"]:
        print(digest(FRAMEWORKS[arguments[1]]()))
        return 0
    if arguments:
        return run(arguments[0])
    ends = [subprocess.run([sys.executable, __file__, name], check=False).returncode
            for name in FRAMEWORKS]
    if all(end == SKIPPED for end in ends):
        return SKIPPED
    return 0 if all(end in (0, SKIPPED) for end in ends) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
