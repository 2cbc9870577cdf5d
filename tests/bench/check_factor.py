"""bench/factor on the host device, on calls that a seed draws.

usage: check_factor.py LIBRARY HOSTGPU_FOLDER BENCH

PyTorch and CuPy are missing here: modules that cannot be imported stand in their place. With the
word `errors` instead of LIBRARY it is the process in which results are spoilt."""

import csv
import ctypes
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

LIBRARY, HOSTGPU, BENCH = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
MODES = ["fp64", "ozaki2"]
COUNT, SEED, DIVIDE = 48, 7, 32

try:
    import numpy as np
except ImportError:
    print("skipped: there is no NumPy")
    sys.exit(77)

FOLDER = tempfile.TemporaryDirectory()
for name in ("cupy", "torch"):
    pathlib.Path(FOLDER.name, f"{name}.py").write_text(f"raise ImportError('no {name} here')\n")
sys.path[:0] = [FOLDER.name, str(BENCH)]
import factor  # noqa: E402
import sweep_factors  # noqa: E402


def start(*command, **variables):
    """With the host device's libraries, and without Tandem preloaded."""
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(("TANDEM_", "HOSTGPU_"))}
    names = ("libcudart.so.13", "libcublas.so.13", "libcublasLt.so.13")
    environment |= {"LD_PRELOAD": ":".join(f"{HOSTGPU}/{name}" for name in names),
                    "LD_LIBRARY_PATH": HOSTGPU, "PYTHONPATH": FOLDER.name,
                    "OPENBLAS_NUM_THREADS": "1", "OPENBLAS_CORETYPE": "Haswell",
                    "GLIBC_TUNABLES": "glibc.rtld.optional_static_tls=65536", **variables}
    return subprocess.run([sys.executable, *map(str, command)], capture_output=True, text=True,
                          env=environment, check=False)


def spoil_results():
    """Prints of each drawn row the errors of its result, and with a number of it a little off."""
    sweep = sweep_factors.Sweep(ctypes.CDLL("libcusolver.so.12"), SEED)
    for row in sweep_factors.draw_rows(COUNT, SEED, DIVIDE):
        call = sweep_factors.Call(sweep, row)
        call.run(sweep.cusolver)
        right = call.error()
        spoilt = call.made.fetch().copy(order="F")
        is_triangle = row.triangle != "-" or row.routine in ("getrf", "geqrf")
        spoilt[(0, 0) if is_triangle else (-1, -1)] += 1e-7 * np.linalg.norm(spoilt)
        sweep.check(sweep.device.cudart.cudaMemcpy(
            call.made.at, ctypes.c_void_p(spoilt.ctypes.data), ctypes.c_size_t(spoilt.nbytes), 1))
        print(row.routine, right, call.error())


class Drawn(unittest.TestCase):
    def test_rows(self):
        rows = sweep_factors.draw_rows(400, 1)
        self.assertEqual({(row.routine, row.type) for row in rows},
                         {(name, letter) for name in sweep_factors.ROUTINES for letter in "dz"})
        for row in rows:
            sizes = [row.m, row.n] + [row.k] * (row.routine in sweep_factors.WITH_K)
            self.assertTrue(all(sweep_factors.LEAST_SIZE <= size <= sweep_factors.MOST_SIZE
                                for size in sizes), row)
            self.assertEqual(row.triangle in "LU", row.routine.startswith("po"), row)
            self.assertEqual(row.op in "NTC", row.routine in ("getrs", "ormqr"), row)

    def test_a_seed_draws_the_same_rows(self):
        first, again, other = (sweep_factors.draw_rows(20, seed) for seed in (1, 1, 2))
        self.assertEqual(first, again)
        self.assertNotEqual(first, other)

    def test_errors_tell(self):
        """Of every routine; a result that is wrong in one number has a large one."""
        done = start(__file__, "errors", HOSTGPU, BENCH)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = [line.split() for line in done.stdout.splitlines()]
        self.assertEqual({line[0] for line in lines}, set(sweep_factors.ROUTINES))
        for routine, right, wrong in lines:
            self.assertLess(float(right), factor.MOST_DRAWN_ERROR, routine)
            self.assertGreater(float(wrong), factor.MOST_DRAWN_ERROR, routine)

    def test_every_row_in_every_mode(self):
        with tempfile.TemporaryDirectory() as out:
            done = start(BENCH / "factor.py", "--out", out, "--library", LIBRARY, "--modes",
                         ",".join(MODES), "--random", COUNT, "--seed", SEED, "--divide", DIVIDE,
                         "--rounds", 1)
            self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
            with open(pathlib.Path(out, "random.csv"), encoding="utf-8") as file:
                lines = list(csv.DictReader(file))
        wanted = sweep_factors.draw_rows(COUNT, SEED, DIVIDE)
        self.assertEqual([(line["routine"], line["m"], line["mode"]) for line in lines],
                         [(row.routine, str(row.m), mode) for row in wanted for mode in MODES])
        slow = [line for line in lines if float(line["ratio"]) > factor.SLOW]
        self.assertAlmostEqual(len(slow), len(done.stdout.splitlines()) - 2, delta=1)
        self.assertNotEqual({line["error"] == line["native_error"] for line in lines}, {True})


if __name__ == "__main__":
    if LIBRARY == "errors":
        spoil_results()
    else:
        unittest.main(argv=sys.argv[:1])
