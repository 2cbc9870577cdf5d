"""The cuSOLVER program on the host device: linked to it, started by `tandem run`, and without a
cuSOLVER.

usage: check_solver.py SOLVER LAUNCHER HOST_DEVICE_FOLDER
"""

import os
import subprocess
import sys
import tempfile
import unittest

program, launcher, folder = sys.argv[1:]


def run(*arguments, start=(), libraries=folder):
    environment = {**os.environ, "LD_LIBRARY_PATH": libraries}
    return subprocess.run([*start, program, "--order", "100", *arguments], env=environment,
                          capture_output=True, text=True, check=False)


class Solver(unittest.TestCase):
    def test_all_residuals_are_small(self):
        done = run()
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        found = {
            " ".join(line.split()[4:6]): float(line.split()[1])
            for line in done.stdout.splitlines()
        }
        self.assertEqual(
            set(found),
            {f"{name} {kind}"
             for name in ("getrf", "potrf", "geqrf", "syevd", "gesvd")
             for kind in "dz"})
        for name, residual in found.items():
            self.assertTrue(0.0 < residual < 100 * 2.0**-52, f"{name}: {residual}")

    def test_under_the_launcher(self):
        done = run("getrf", "d", start=(launcher, "run", "--hostgpu", "--mode", "ozaki2:14", "--"),
                   libraries="")
        self.assertEqual(done.returncode, 0, done)
        self.assertRegex(done.stdout, r"^residual \S+ seconds \S+ getrf d order 100\n$")

    def test_one_routine(self):
        done = run("gesvd", "z")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stdout, r"^residual \S+ seconds \S+ gesvd z order 100\n$")

    def test_without_libraries_it_is_skipped(self):
        with tempfile.TemporaryDirectory() as empty:
            done = run("--folder", empty)
        self.assertEqual((done.returncode, done.stderr), (77, ""))
        self.assertRegex(done.stdout, "^skipped: no libcudart ")

    def test_other_arguments_are_refused(self):
        for arguments in (["gelqf", "d"], ["getrf"], ["getrf", "s"], ["--repeat", "0"],
                          ["--repeat", "101"], ["--order", "0"]):
            self.assertEqual(run(*arguments).returncode, 2, arguments)

    def test_repeated(self):
        done = run("--repeat", "3", "geqrf", "d")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"^residual \S+ seconds \S+ geqrf d order 100\n$")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
