"""The cuSOLVER program, with LAPACK behind cuSOLVER's functions, and without a cuSOLVER.

usage: check_solver.py SOLVER LIBRARY_FOLDER ...
"""

import os
import subprocess
import sys
import tempfile
import unittest

program, *folders = sys.argv[1:]


def run(*arguments):
    environment = {**os.environ, "LD_LIBRARY_PATH": ":".join(folders)}
    return subprocess.run([program, "--order", "100", *arguments], env=environment,
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
