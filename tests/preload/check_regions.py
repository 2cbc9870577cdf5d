"""Regions of a running program, and attaching to it: client_regions.c has the tests.

usage: check_regions.py CLIENT LIBRARY HOSTGPU_FOLDER [LINKED UNLINKED]

LINKED and UNLINKED are lookup_late.c, linked to cuBLAS and not. Every test but those of libraries
runs twice: Tandem is opened by the program, and preloaded. Without the two, client and library are
instrumented for races: what several threads do runs alone, once.
"""

import os
import subprocess
import sys
import tempfile

client, library, hostgpu = sys.argv[1:4]
rules = tempfile.NamedTemporaryFile("w", suffix=".rules")
rules.write("function=cublasGemmEx -> df\n")
rules.flush()


def run(test, late, is_preloaded, *, mode="native", **variables):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("TANDEM_", "HOSTGPU_"))}
    environment["LD_LIBRARY_PATH"] = hostgpu
    environment["TANDEM_MODE"] = mode
    environment |= variables
    if is_preloaded:
        stand_ins = ["libcudart.so.13", "libcublas.so.13", "libcublasLt.so.13"]
        environment["LD_PRELOAD"] = ":".join([library] +
                                             [os.path.join(hostgpu, name) for name in stand_ins])
    done = subprocess.run([client, "-" if is_preloaded else library, late, test], env=environment,
                          capture_output=True, text=True, check=False)
    print(f"{test:15s} {'preloaded' if is_preloaded else 'attached':10s} {done.stdout.strip()} "
          f"{done.stderr.strip()}")
    return done.returncode == 0 and done.stdout == "right\n" and done.stderr == ""


def run_all(linked, unlinked):
    for test in ("refuses", "by_turns", "process", "captured", "remembered", "emulated", "unseen"):
        for is_preloaded in (False, True):
            yield run(test, linked, is_preloaded)
    for is_preloaded in (False, True):
        yield run("answered", linked, is_preloaded, TANDEM_ENTRY="gemm_ex,emulated")
        yield run("ruled", linked, is_preloaded, TANDEM_RULES=rules.name)
        yield run("by_environment", linked, is_preloaded, CUBLAS_EMULATE_DOUBLE_PRECISION="1")
    # What the environment says counts until something else is set.
    yield run("process", linked, False, mode="ts")
    yield run("later", linked, False)
    yield run("before", unlinked, False)
    yield run("beside_threads", linked, False)


def run_threads():
    for test in ("by_turns", "process", "beside_threads"):
        yield run(test, "none", False)


results = list(run_all(*sys.argv[4:]) if len(sys.argv) > 4 else run_threads())
sys.exit(0 if all(results) else 1)
