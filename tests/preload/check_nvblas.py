"""`tandem run --nvblas`: the configuration that NVBLAS reads, and what is said where something is
missing. Without a GPU NVBLAS leaves products to the BLAS of the CPU, which are right all the same.

usage: check_nvblas.py TANDEM CLIENT CUDA_FOLDER

Ends with 77, skipped, where the toolkit has no NVBLAS.
"""

import os
import subprocess
import sys
import tempfile

tandem, client, cuda = map(os.path.abspath, sys.argv[1:])
folders = [os.path.join(cuda, name) for name in ("lib64", "lib", "targets/x86_64-linux/lib")]
folders = [folder for folder in folders if os.path.exists(os.path.join(folder, "libnvblas.so"))]
if not folders:
    print("skipped: no NVBLAS in the toolkit")
    sys.exit(77)


def run(folder, *, libraries=tuple(folders), **variables):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("TANDEM_", "NVBLAS_"))}
    environment |= {"LD_LIBRARY_PATH": ":".join(libraries), "XDG_CACHE_HOME": folder, **variables}
    return subprocess.run([tandem, "run", "--nvblas", "--", client], env=environment, cwd=folder,
                          capture_output=True, text=True, check=False)


def expect_right(done):
    assert done.returncode == 0 and float(done.stdout) < 1e-13, done
    assert "[NVBLAS] Config parsed" in done.stderr, done


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


with tempfile.TemporaryDirectory() as place:
    written = os.path.join(place, "tandem", "nvblas.conf")
    for _ in range(2):
        expect_right(run(place))
        blas = read(written).split()[1]
        assert read(written).startswith("NVBLAS_CPU_BLAS_LIB /") and os.path.exists(blas), blas
    assert os.listdir(os.path.dirname(written)) == ["nvblas.conf"]

    # The user's own file counts, in this folder or by its variable.
    own = os.path.join(place, "nvblas.conf")
    with open(own, "w", encoding="utf-8") as file:
        file.write(f"NVBLAS_CPU_BLAS_LIB {blas}\nNVBLAS_GPU_LIST 0\n")
    os.remove(written)
    expect_right(run(place))
    other = os.path.join(place, "other.conf")
    os.rename(own, other)
    said = run(place, NVBLAS_CONFIG_FILE=other)
    expect_right(said)
    assert other in said.stderr and not os.path.exists(written), said

    # Folders are made, outermost first.
    cache = os.path.join(place, "new", "cache")
    expect_right(run(place, XDG_CACHE_HOME=cache))
    assert os.listdir(os.path.join(cache, "tandem")) == ["nvblas.conf"]

    said = run(place, XDG_CACHE_HOME="", HOME="")
    assert said.returncode == 1 and "cannot write NVBLAS's configuration" in said.stderr, said
    said = run(place, libraries=())
    if "no libnvblas.so (11 to 13)" not in said.stderr:  # the loader finds one by itself
        expect_right(said)
print("NVBLAS reads what it needs")
