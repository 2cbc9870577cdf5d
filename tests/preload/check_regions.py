"""Regions of a running program, and attaching to it: client_regions.c has the tests.

usage: check_regions.py CLIENT LIBRARY HOSTGPU_FOLDER LINKED UNLINKED

LINKED and UNLINKED are lookup_late.c, linked to cuBLAS and not. Every test but those of libraries
runs twice: Tandem is opened by the program, and preloaded.
"""

import os
import subprocess
import sys

client, library, hostgpu, linked, unlinked = sys.argv[1:]


def run(test, late, is_preloaded, *, mode="native"):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("TANDEM_", "HOSTGPU_"))}
    environment["LD_LIBRARY_PATH"] = hostgpu
    environment["TANDEM_MODE"] = mode
    if is_preloaded:
        stand_ins = ["libcudart.so.13", "libcublas.so.13", "libcublasLt.so.13"]
        environment["LD_PRELOAD"] = ":".join([library] +
                                             [os.path.join(hostgpu, name) for name in stand_ins])
    done = subprocess.run([client, "-" if is_preloaded else library, late, test], env=environment,
                          capture_output=True, text=True, timeout=600, check=False)
    print(f"{test:15s} {'preloaded' if is_preloaded else 'attached':10s} {done.stdout.strip()} "
          f"{done.stderr.strip()}")
    return done.returncode == 0 and done.stdout == "right\n" and done.stderr == ""


results = [
    run(test, linked, is_preloaded) for test in ("refuses", "by_turns", "process", "captured")
    for is_preloaded in (False, True)
]
# What the environment says counts until something else is set.
results.append(run("process", linked, False, mode="ts"))
results.append(run("later", linked, False))
results.append(run("before", unlinked, False))
results.append(run("beside_threads", linked, False))
sys.exit(0 if all(results) else 1)
