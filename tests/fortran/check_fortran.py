"""The module for Fortran compiles as standard Fortran and has every function of the header but
those of tandem_ds; the example in Fortran runs, and its region changes one of two equal products.

usage: check_fortran.py SOURCE_ROOT MODULE LIBRARY TANDEM CUDA_FOLDER HOSTGPU_FOLDER

Ends with 77, skipped, where there is no gfortran.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

source, module, library, tandem, cuda, hostgpu = map(os.path.abspath, sys.argv[1:])

if not shutil.which("gfortran"):
    print("skipped: no gfortran")
    sys.exit(77)


def run(*command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}:\n{done.stdout}")
    return done.stdout


def names(path, pattern):
    with open(path, encoding="utf-8") as file:
        return set(re.findall(pattern, file.read(), re.MULTILINE))


declared = names(os.path.join(source, "include", "tandem.h"), r"^TANDEM_API[^(]*?(tandem_\w+)\(")
bound = names(module, r"bind\(c, name='(tandem_\w+)'\)")
assert declared - bound == {"tandem_ds_split", "tandem_ds_join", "tandem_dsgemm"}, declared - bound
assert bound <= declared, bound - declared

with tempfile.TemporaryDirectory() as folder:
    folders = [os.path.join(cuda, name) for name in ("lib64", "lib", "targets/x86_64-linux/lib")]
    run("gfortran", "-std=f2008", "-Wall", "-Werror", "-o", "regions", module,
        os.path.join(source, "examples", "regions.f90"), library, *(f"-L{at}" for at in folders),
        "-lcublas", "-lcudart", "-Wl,--allow-shlib-undefined",
        f"-Wl,-rpath,{os.path.dirname(library)}", cwd=folder)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("TANDEM_")}
    environment["LD_LIBRARY_PATH"] = hostgpu
    said = run(tandem, "run", "--mode", "native", "--", "./regions", cwd=folder, env=environment)
first, second = map(float, re.search(r"off by +(\S+), second by +(\S+)", said).groups())
# Sums of 64 products of numbers up to 1: binary64 rounds at 2^-53, df at 2^-43 and above 2^-50.
assert 0 < first <= 64 * 2.0**-49, said
assert 64 * 2.0**-53 < second <= 64 * 2.0**-43 and second > 2 * first, said
print(said, end="")
