"""Tandem put into a Python that has loaded PyTorch, CuPy, JAX or plain cuBLAS already: while it is
enabled, products are those of `tandem run` to the bit, and as many as cuBLAS's own log has; while
it is not, they are cuBLAS's. For a machine with a GPU, with the package tandem installed
(pip install .).

usage: attached.py [--jobs N] [--out FILE] [--need FRAMEWORK]... [FRAMEWORK ...]

FRAMEWORK is torch, cupy, jax or cublas, which is ctypes with cuBLAS and nothing else; without one,
all are asked. Each check has a process of its own:

plain       cuBLAS alone, with its log: what the others are compared with
run:MODE    started by `tandem run`
attached    loaded, then enabled in two modes, and disabled after each
together    the same with all frameworks in one process
regions     two threads at a time, of whose equal products those in a `with` block alone change
arrays      tandem.matmul and tandem.verified_eigh of the framework's own arrays
graph       a CUDA graph of PyTorch keeps the mode of its capture
compiled    a function of torch.compile has the mode that counts where it is called
emulation   calls that ask for cuBLAS's own emulation, or whose handle allows it, are told apart
answered    with TANDEM_ENTRY=emulated, Tandem answers them

Prints a line for each, and leaves them in FILE as JSON. The status is 1 if one is wrong or a
framework that is needed is missing, and 77, skipped, if there is none at all.
"""

import argparse
import collections
import concurrent.futures
import ctypes
import glob
import hashlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import threading

try:
    import numpy
except ImportError:
    print("skipped: no NumPy")
    sys.exit(77)

SKIPPED = 77
M, N, K = 700, 600, 900
MODES = ("ts", "ozaki2:14")
ROUNDS = 10
REAL = 1  # CUDA_R_64F
EMULATED_FIXEDPOINT = 79  # CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT
EMULATED_MATH = 8  # CUBLAS_FP64_EMULATED_FIXEDPOINT_MATH


def operands():
    """A and B, real."""
    rng = numpy.random.default_rng(7)
    return rng.standard_normal((M, K)), rng.standard_normal((K, N))


# ---- frameworks: products() are calls, each of which returns a matrix in host memory ----


class Arrays:
    """What frameworks whose arrays are NumPy's in all that counts here have in common."""

    def products(self):
        a, b = self.arrays
        stack_a, stack_b = a.reshape(7, 100, K), self.stacked(b, 7)
        complex_a, complex_b = a + 1j * a, b - 2j * b
        calls = (lambda: a @ b, lambda: b.T @ a.T, lambda: stack_a @ stack_b,
                 lambda: complex_a @ complex_b)
        return [lambda call=call: self.to_host(call()) for call in calls]


class Torch(Arrays):

    def __init__(self):
        import torch
        if not torch.cuda.is_available():
            raise ImportError("no GPU")
        self.arrays = [torch.tensor(x, device="cuda") for x in operands()]
        self.to_host = lambda x: x.cpu().numpy()
        self.stacked = lambda x, count: torch.stack([x] * count)


class Cupy(Arrays):

    def __init__(self):
        import cupy
        try:
            self.arrays = [cupy.asarray(x) for x in operands()]
        except cupy.cuda.runtime.CUDARuntimeError as error:
            raise ImportError(str(error)) from error
        self.to_host = cupy.asnumpy
        self.stacked = lambda x, count: cupy.stack([x] * count)


class Jax(Arrays):

    def __init__(self):
        # By default JAX takes most of the GPU's memory, and times algorithms of cuBLAS by calls of
        # its own, not always as many. Without that it makes real products by kernels of Triton.
        os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
        os.environ["XLA_FLAGS"] = ("--xla_gpu_autotune_level=0 "
                                   "--xla_gpu_enable_triton_gemm=false")
        import jax
        jax.config.update("jax_enable_x64", True)
        if jax.default_backend() != "gpu":
            raise ImportError("no GPU")
        self.arrays = [jax.numpy.asarray(x) for x in operands()]
        self.to_host = numpy.asarray
        self.stacked = lambda x, count: jax.numpy.stack([x] * count)


def open_cuda(name):
    """The library that the loader finds, or else that of Python's packages of CUDA."""
    try:
        return ctypes.CDLL(name)
    except OSError as error:
        package = importlib.util.find_spec("nvidia")
        for folder in package.submodule_search_locations if package else ():
            for path in glob.glob(os.path.join(folder, "*", "lib", name)):
                return ctypes.CDLL(path)
        raise ImportError(str(error)) from error


class Cublas:
    """cuBLAS by ctypes, which keeps the address of each function from its first use on."""

    calls = 2

    def __init__(self):
        self.cudart, self.cublas = open_cuda("libcudart.so.13"), open_cuda("libcublas.so.13")
        if self.cudart.cudaSetDevice(0) != 0:
            raise ImportError("no GPU")
        self.handle = ctypes.c_void_p()
        self.a, self.b = (self.to_device(x) for x in operands())

    def to_device(self, x):
        pointer = ctypes.c_void_p()
        data = ctypes.c_void_p(x.ctypes.data)
        size = ctypes.c_size_t(x.nbytes)
        assert self.cudart.cudaMalloc(ctypes.byref(pointer), size) == 0
        assert self.cudart.cudaMemcpy(pointer, data, size, 1) == 0
        return pointer

    def multiply(self, terms, asks_emulation=False):
        """A tenth of the rows of A times a tenth of the columns of B; cuBLAS sees B' A'. Raises
        RuntimeError with the status if cuBLAS refuses that."""
        m, n = M // 10, N // 10
        one, zero = ctypes.byref(ctypes.c_double(1.0)), ctypes.byref(ctypes.c_double(0.0))
        if not self.handle:
            assert self.cublas.cublasCreate_v2(ctypes.byref(self.handle)) == 0
        c = numpy.empty((m, n))
        device_c, data = self.to_device(c), ctypes.c_void_p(c.ctypes.data)
        if asks_emulation:
            status = self.cublas.cublasGemmEx(self.handle, 0, 0, n, m, terms, one, self.b, REAL, N,
                                              self.a, REAL, K, zero, device_c, REAL, n,
                                              EMULATED_FIXEDPOINT, -1)
        else:
            status = self.cublas.cublasDgemm_v2(self.handle, 0, 0, n, m, terms, one, self.b, N,
                                                self.a, K, zero, device_c, n)
        assert self.cudart.cudaMemcpy(data, device_c, ctypes.c_size_t(c.nbytes), 2) == 0
        assert self.cudart.cudaFree(device_c) == 0
        if status != 0:
            raise RuntimeError(f"status {status}")
        return c

    def multiply_asking(self):
        return self.multiply(K, asks_emulation=True)

    def allow_emulation(self):
        assert self.cublas.cublasSetMathMode(self.handle, EMULATED_MATH) == 0

    def products(self):
        return [lambda terms=terms: self.multiply(terms) for terms in (K, K // 3)]


FRAMEWORKS = {"torch": Torch, "cupy": Cupy, "jax": Jax, "cublas": Cublas}


def digest(matrix):
    return hashlib.sha256(numpy.ascontiguousarray(matrix).tobytes()).hexdigest()


def digests(framework):
    return [digest(call()) for call in framework.products()]


# ---- checks, each in a process that tells a dictionary as JSON ----


def digests_of_all(frameworks):
    return {name: digests(framework) for name, framework in frameworks.items()}


def plain(frameworks):
    """The framework's products, and how many calls they are if it counts them itself."""
    name, = frameworks
    return {"digests": digests(frameworks[name]), "calls": getattr(frameworks[name], "calls", None)}


def counts_of(report):
    """Calls of a report by function, and how many were emulated."""
    from seen_calls import counts_of_calls
    seen, emulated = counts_of_calls(report["calls"])
    return {"seen": dict(seen), "emulated": sum(emulated.values())}


def attached(frameworks):
    import tandem
    from tandem import _library
    told = {"enabled": {}, "disabled": {}, "counts": {}}
    for mode in MODES:
        tandem.enable(mode)
        tandem.reset()
        told["enabled"][mode] = digests_of_all(frameworks)
        tandem.disable()
        told["disabled"][mode] = digests_of_all(frameworks)
        told["counts"][mode] = counts_of(tandem.report())
    told["kept"] = [row["path"] for row in tandem.reach()["libraries"] if row["may_have_looked_up"]]
    told["is_host_device"] = _library.is_host_device()
    return told


def regions(frameworks):
    """Digests of the last product in each of two threads: before, in and after a region."""
    import tandem
    framework, = frameworks.values()
    tandem.enable("native")
    tandem.reset()
    told = {mode: set() for mode in MODES}
    both = threading.Barrier(len(MODES))

    def work(mode):
        product = framework.products()[-1]
        for _ in range(ROUNDS):
            both.wait(30)
            before = digest(product())
            with tandem.mode(mode):
                both.wait(30)
                inside = digest(product())
            told[mode].add((before, inside, digest(product())))

    with concurrent.futures.ThreadPoolExecutor(len(MODES)) as pool:
        for future in [pool.submit(work, mode) for mode in MODES]:
            future.result()
    return {"threads": {mode: sorted(rows) for mode, rows in told.items()},
            "totals": tandem.report()["totals"]}


def arrays(frameworks):
    """tandem.matmul of the framework's own arrays, and of transposed ones, against long double."""
    import tandem
    framework, = frameworks.values()
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
    square = a[:300].T[:300] @ a[:300, :300]
    square = (square + square.T) / 2
    told = tandem.verified_eigh(square)
    values = framework.to_host(told.values)
    assert all(low <= v <= high for low, v, high in zip(told.lower, values, told.upper))
    return {}


def graph(frameworks):
    """Digests of replayed captures: of one in mode ts replayed outside, and the reverse."""
    import tandem
    import torch
    framework = frameworks["torch"]
    a, b = framework.arrays
    tandem.enable("native")

    def capture():
        c, captured = torch.empty_like(a @ b), torch.cuda.CUDAGraph()
        with torch.cuda.graph(captured):
            torch.matmul(a, b, out=c)
        return c, captured

    def replay(c, captured):
        c.zero_()
        captured.replay()
        return digest(framework.to_host(c))

    with tandem.mode("ts"):
        emulated = capture()
    outside = replay(*emulated)
    native = capture()
    with tandem.mode("ts"):
        return {"captured in ts": outside, "captured natively": replay(*native)}


def compiled(frameworks):
    """Digests of a function that is compiled in mode ozaki2:14, by where it is called."""
    import tandem
    import torch
    framework = frameworks["torch"]
    multiply = torch.compile(lambda x, y: x @ y)
    told = {}
    tandem.enable("native")
    for mode in ("ozaki2:14", "ts", "native"):
        with tandem.mode(mode):
            told[mode] = digest(framework.to_host(multiply(*framework.arrays)))
    return told


def emulation(frameworks):
    """Reason, count and mantissa bits of two native calls; a number where cuBLAS refuses one."""
    import tandem
    framework = frameworks["cublas"]
    tandem.enable("native")
    told = {}

    def observe(name, call):
        tandem.reset()
        try:
            call()
        except RuntimeError as refusal:
            told[name] = {"refused": str(refusal)}
        row, = tandem.report()["calls"]
        told.setdefault(name, {}).update(
            {member: row[member] for member in ("native_reason", "count", "mantissa_bits")})

    observe("asks", framework.multiply_asking)
    framework.allow_emulation()
    observe("allows", framework.products()[0])
    return told


def answered(frameworks):
    import tandem
    tandem.enable("ts")
    return {"ts": digest(frameworks["cublas"].multiply_asking())}


CHECKS = {
    "plain": plain,
    "run": plain,
    "attached": attached,
    "together": attached,
    "regions": regions,
    "arrays": arrays,
    "graph": graph,
    "compiled": compiled,
    "emulation": emulation,
    "answered": answered
}


def be_child(check, names):
    try:
        frameworks = {name: FRAMEWORKS[name]() for name in names}
    except ImportError as error:
        print(f"skipped: {error}")
        return SKIPPED
    if check in ("attached", "together"):
        assert not any(name.split(".")[0] == "tandem" for name in sys.modules)
    print(json.dumps(CHECKS[check](frameworks)))
    return 0


# ---- the process that starts them ----


class Skipped(Exception):
    pass


def start(check, names, folder):
    """What a check tells; with cuBLAS's log, by function, as `logged`.

    Raises Skipped, and RuntimeError with the end of what a process wrote that failed."""
    from seen_calls import logged_calls, logged_functions
    blas, lt = (os.path.join(folder, f"{check}-{'-'.join(names)}.{log}") for log in ("blas", "lt"))
    open(blas, "w").close()
    command = [sys.executable, __file__, "--child", check.split(":")[0], *names]
    environment = {"CUBLAS_LOGINFO_DBG": "1", "CUBLAS_LOGDEST_DBG": blas, "CUBLASLT_LOG_LEVEL": "5",
                   "CUBLASLT_LOG_FILE": lt}
    if check == "answered":
        environment["TANDEM_ENTRY"] = "emulated"
    if check.startswith("run:"):
        command = ["tandem", "run", "--mode", check.removeprefix("run:"), "--", *command]
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True,
                          text=True, check=False, timeout=300)
    if done.returncode == SKIPPED:
        raise Skipped(done.stdout.strip().removeprefix("skipped: "))
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip()[-600:])
    logged = logged_functions(blas)
    return {**json.loads(done.stdout.splitlines()[-1]), "logged": dict(logged_calls(blas, lt)),
            "log_of_ex": next((text[:2000] for name, text in logged if "Ex" in name), "")}


def plan(names):
    """Checks, and the frameworks that are in each."""
    checks = [(check, (name,)) for name in names
              for check in ("plain", *(f"run:{mode}" for mode in MODES), "attached", "regions")]
    checks += [("arrays", (name,)) for name in names if name != "cublas"]
    checks += [(check, ("torch",)) for check in ("compiled", "graph") if "torch" in names]
    checks += [(check, ("cublas",)) for check in ("emulation", "answered") if "cublas" in names]
    if len(names) > 1:
        checks.append(("together", tuple(names)))
    # Those that take longest go first.
    return sorted(checks, key=lambda row: row[0] not in ("compiled", "together"))


class Judge:
    """Compares what the checks told. `told` has a dictionary for each (check, frameworks)."""

    def __init__(self, told):
        self.told = told

    def plain(self, name):
        return self.told["plain", (name,)]

    def run(self, mode, name):
        return self.told[f"run:{mode}", (name,)]["digests"]

    def calls(self, name, is_host_device):
        """What cuBLAS logs for the framework's products; the host device's logs nothing."""
        row = self.plain(name)
        return {"cublasDgemm_v2": row["calls"]} if is_host_device else row["logged"]

    def check(self, check, names):
        """A sentence of what is right. Raises AssertionError with what is not."""
        kind = check.split(":")[0].replace("together", "attached")
        return getattr(self, f"judge_{kind}")(names, self.told[check, names])

    def judge_plain(self, names, told):
        return f"{sum(told['logged'].values())} calls in cuBLAS's log"

    def judge_run(self, names, told):
        native = self.plain(names[0])["digests"]
        changed = sum(one != other for one, other in zip(told["digests"], native))
        assert changed, "the products are native ones"
        return f"{changed} of {len(native)} products are not cuBLAS's"

    def judge_attached(self, names, told):
        calls = collections.Counter()
        for name in names:
            calls.update(self.calls(name, told["is_host_device"]))
        assert calls, "cuBLAS's log has no product"
        for mode in MODES:
            for name in names:
                enabled, disabled = (told[when][mode][name] for when in ("enabled", "disabled"))
                assert enabled == self.run(mode, name), f"{name} enabled in {mode}"
                assert disabled == self.plain(name)["digests"], f"{name} disabled after {mode}"
            counts = told["counts"][mode]
            assert counts["seen"] == dict(calls), (mode, counts, dict(calls))
            assert counts["emulated"] == sum(calls.values()), (mode, counts)
        # cuBLAS itself logs what was called while Tandem was disabled, and nothing else.
        disabled = {function: len(MODES) * count for function, count in calls.items()}
        assert told["is_host_device"] or told["logged"] == disabled, (told["logged"], disabled)
        return (f"{sum(calls.values())} calls in each of {', '.join(MODES)}, as cuBLAS logs them; "
                "the bits are those of tandem run, and cuBLAS's once disabled")

    def judge_regions(self, names, told):
        name, = names
        native = self.plain(name)["digests"][-1]
        for mode in MODES:
            rows = told["threads"][mode]
            assert rows == [[native, self.run(mode, name)[-1], native]], (mode, rows)
        emulated, count = told["totals"]["emulated"], ROUNDS * len(MODES)
        assert (emulated, told["totals"]["native"]) == (count, 2 * count), told["totals"]
        return f"{emulated} products in regions of two threads, and none of {2 * count} beside them"

    def judge_arrays(self, names, told):
        return "matmul, pairs, triples and verified_eigh are within their bounds"

    def judge_graph(self, names, told):
        assert told["captured in ts"] == self.run("ts", "torch")[0], "captured in ts"
        assert told["captured natively"] == self.plain("torch")["digests"][0], "captured natively"
        return "graphs keep the mode of their capture"

    def judge_emulation(self, names, told):
        asks, allows = told["asks"], told["allows"]
        assert asks["native_reason"] == "the call asks for cuBLAS's own emulation", asks
        assert allows["native_reason"] == "mode native, and cuBLAS may emulate", allows
        bits = [row.get("refused") or row["mantissa_bits"] for row in (asks, allows)]
        return "mantissa bits, 0 if not emulated: asked for {}, allowed {}".format(*bits)

    def judge_answered(self, names, told):
        assert told["ts"] == self.run("ts", "cublas")[0], "the product is not Tandem's"
        return "a call that asks for cuBLAS's emulation has the bits of mode ts"

    def judge_compiled(self, names, told):
        for mode in MODES:
            assert told[mode] == self.run(mode, "torch")[0], mode
        assert told["native"] == self.plain("torch")["digests"][0], "native"
        return "a compiled function has the mode of its caller"


def is_usable(name, folder):
    """True if the machine has the framework, which it is asked in a process of its own."""
    if name in ("torch", "cupy", "jax") and not importlib.util.find_spec(name):
        print(f"{name}: skipped: there is no package of that name")
        return None
    try:
        return start("plain", (name,), folder)
    except Skipped as reason:
        print(f"{name}: skipped: {reason}")
        return None


def verdict(judge, check, names):
    told = judge.told[check, names]
    if isinstance(told, Exception):
        return False, str(told)
    try:
        return True, judge.check(check, names)
    except (AssertionError, KeyError, TypeError) as fault:
        return False, f"{type(fault).__name__}: {fault}"


def run_all(options, folder):
    """The rows of the result, and the frameworks that were there."""
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        found = dict(zip(options.frameworks,
                         pool.map(lambda name: is_usable(name, folder), options.frameworks)))
        names = [name for name, told in found.items() if told]
        checks = [row for row in plan(names) if row[0] != "plain"]

        def attempt(row):
            try:
                return start(*row, folder)
            except (Skipped, RuntimeError, subprocess.TimeoutExpired) as error:
                return error

        told = dict(zip(checks, pool.map(attempt, checks)))
    told.update({("plain", (name,)): found[name] for name in names})
    judge, rows = Judge(told), []
    for check, of in plan(names):
        is_right, text = verdict(judge, check, of)
        rows.append({"check": check, "frameworks": list(of), "right": is_right, "text": text})
    return rows, names, told


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0])
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--out")
    parser.add_argument("--need", action="append", default=[], choices=FRAMEWORKS)
    parser.add_argument("frameworks", nargs="*", metavar="FRAMEWORK")
    options = parser.parse_args()
    options.frameworks = options.frameworks or list(FRAMEWORKS)
    for name in options.frameworks:
        if name not in FRAMEWORKS:
            parser.error(f"FRAMEWORK is '{name}'; allowed: {', '.join(FRAMEWORKS)}")
    if options.child:
        return be_child(options.child, options.frameworks)
    with tempfile.TemporaryDirectory() as folder:
        rows, names, told = run_all(options, folder)
    for row in rows:
        print(f"{row['check']:14} {'+'.join(row['frameworks']):22} "
              f"{'right' if row['right'] else 'WRONG'}: {row['text']}")
    missing = [name for name in options.need if name not in names]
    if missing:
        print("needed and not there:", ", ".join(missing))
    if options.out:
        kept = [{"check": check, "frameworks": of, "told": tell if isinstance(tell, dict) else None}
                for (check, of), tell in told.items()]
        with open(options.out, "w", encoding="utf-8") as file:
            json.dump({"rows": rows, "told": kept}, file, indent=1)
    if not names and not missing:
        return SKIPPED
    return 0 if not missing and all(row["right"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
