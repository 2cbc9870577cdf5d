"""The example programs as a user runs them, native, on whatever device the loader's path leads to.

usage: check_programs.py LU_SOLVE GEMM_TIME FOLDER_WITH_MATRICES
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

LU_SOLVE, GEMM_TIME, MATRICES = sys.argv[1:4]
# One line; argp(3), which knows the options, adds a hint of its own to what it refuses itself.
COMPLAINT = r"\A[^\n]+\n(Try `[^\n]*\n)?\Z"


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False)


class LuSolve(unittest.TestCase):
    def solve(self, *arguments):
        done = run(LU_SOLVE, "--json", *arguments)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)

    def test_sizes_around_the_panel(self):
        for n in (1, 2, 63, 64, 65, 200):
            for block in (1, 7, 64, 1000):
                result = self.solve("--random", str(n), "--block", str(block), "--seed", str(n))
                self.assertLessEqual(result["residual"], 1.0, result)
                self.assertGreaterEqual(result["digits"], 9, result)

    def test_chemical_plant(self):
        result = self.solve(os.path.join(MATRICES, "west0479.mtx"))
        self.assertEqual((result["matrix"], result["n"]), ("west0479.mtx", 479))
        self.assertLessEqual(result["residual"], 1.0, result)
        self.assertGreaterEqual(result["digits"], 6, result)

    def test_text(self):
        done = run(LU_SOLVE, "--random", "10")
        self.assertEqual(done.returncode, 0)
        self.assertIn("(passed: the limit is 16)", done.stdout)

    def test_bad_options(self):
        for arguments in ([], ["--random", "0"], ["--random", "3x"], ["--random", "3", "file"],
                          ["--seed", "1"], ["--block", "", "file"], ["--nonsense"], ["a", "b"]):
            done = run(LU_SOLVE, *arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""), arguments)
            self.assertRegex(done.stderr, COMPLAINT)

    def test_systems_without_solution(self):
        files = {"singular": "2 2 2\n1 1 1\n1 2 1\n", "wide": "1 2 1\n1 1 1\n"}
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                path = os.path.join(folder, name)
                with open(path, "w", encoding="ascii") as file:
                    file.write("%%MatrixMarket matrix coordinate real general\n" + text)
                done = run(LU_SOLVE, path)
                self.assertEqual((done.returncode, done.stdout), (1, ""), name)
                self.assertRegex(done.stderr, "^lu_solve: .*(singular|not square).*\n$")


class GemmTime(unittest.TestCase):
    def test_errors_are_those_of_binary64(self):
        for trans in ("NN", "NT", "TN", "TT", "CC"):
            for scalars in ((1, 0), (-2.5, 0.5), (1e-100, 1e100)):
                done = run(GEMM_TIME, "--json", "--trans", trans, "--alpha", str(scalars[0]),
                           "--beta", str(scalars[1]), "--reps", "2", "50", "33x70x129", "1")
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                rows = [json.loads(line) for line in done.stdout.splitlines()]
                self.assertEqual([(r["m"], r["n"], r["k"]) for r in rows],
                                 [(50, 50, 50), (33, 70, 129), (1, 1, 1)])
                for row in rows:
                    self.assertLessEqual(row["error"], 2.0**-48, row)
                    self.assertGreater(row["milliseconds"], 0, row)

    def test_text(self):
        done = run(GEMM_TIME, "--reps", "1", "20", "30")
        self.assertEqual(done.returncode, 0)
        self.assertEqual(len(done.stdout.splitlines()), 4)

    def test_bad_options(self):
        for arguments in ([], ["0"], ["12x3"], ["1x2x3x4"], ["12y"], ["--trans", "NX", "5"],
                          ["--reps", "0", "5"], ["--alpha", "inf", "5"], ["--beta", "1f", "5"]):
            done = run(GEMM_TIME, *arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""), arguments)
            self.assertRegex(done.stderr, COMPLAINT)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
