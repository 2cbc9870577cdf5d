"""The example programs in emulated arithmetic, on the host device: refinement by products, where it
stalls and how far it gets; and errors of single products.

usage: check_refinement.py TANDEM REFSYEV LU_SOLVE GEMM_TIME FOLDER_WITH_MATRICES
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

TANDEM, REFSYEV, LU_SOLVE, GEMM_TIME, MATRICES = sys.argv[1:6]
WEST = os.path.join(MATRICES, "west0479.mtx")
ORDER = 70

# Arithmetics that round products as they round vectors, and what is left of both measures at least:
# errors of ozaki2's sums are below one rounding, of native ones some.
SHORT = {"native": 1e-15, "ozaki2": 1e-16}

# Arithmetics that round a product as if it were exact, as far as binary64 vectors can tell, and
# what they leave of |I - X'X| when X has two parts: products of ts err by 2^-66 |A||B| at most, of
# dd by 2^-101, divided by the eigenvalues' distance from 0.0005 up; rounding A X's lower part
# leaves 1e-30. At spread 1e8 the distance is 2e-9.
LONG = {"ts": {"spread": 1e-13, "pairs": 1e-17}, "dd": {"spread": 1e-15, "pairs": 1e-28},
        "faithful": {"spread": 1e-15, "pairs": 1e-29}}
# One line; argp(3), which knows the options, adds a hint of its own to what it refuses itself.
COMPLAINT = r"\A[^\n]+\n(Try `[^\n]*\n)?\Z"


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False)


def emulated(mode, *command):
    """The program's results and the totals of Tandem's report."""
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.json")
        done = run(TANDEM, "run", "--hostgpu", "--mode", mode, "--report", report, "--", *command)
        assert done.returncode == 0, done.stderr
        with open(report, encoding="utf-8") as file:
            return json.loads(done.stdout), json.load(file)["totals"]


class RefSyEv(unittest.TestCase):
    def refine(self, mode, *arguments, products=6):
        """The quality before the first step and after each."""
        result, totals = emulated(mode, REFSYEV, "--json", "--order", str(ORDER), *arguments)
        steps = result["steps"]
        self.assertEqual(totals["intercepted"], products * (len(steps) - 1))
        self.assertEqual(totals["emulated"], 0 if mode == "native" else totals["intercepted"])
        # The start: the vectors' errors, uniform in [-5e-7, 5e-7), twice in every element of X'X.
        self.assertAlmostEqual(steps[0]["orthogonality"] / (ORDER * 1e-6 * (2 / 12)**0.5), 1,
                               delta=0.05)
        self.assertLess(steps[1]["orthogonality"], 1e-9)
        return steps

    def test_short_arithmetic_stalls(self):
        for mode, least in SHORT.items():
            for form in ((), ("--pairs",)):
                for step in self.refine(mode, *form, products=11 if form else 6)[2:]:
                    self.assertGreater(step["orthogonality"], 10 * least, mode)
                    self.assertLess(step["orthogonality"], 1e-12, mode)
                    self.assertGreater(step["off_diagonal"], least, mode)

    def test_native_stalls_earlier_when_eigenvalues_are_close(self):
        for step in self.refine("native", "--spread", "1e8")[2:]:
            self.assertGreater(step["orthogonality"], 1e-11)
            self.assertLess(step["orthogonality"], 1e-6)

    def test_long_arithmetic_reaches_rounded_vectors(self):
        for mode in LONG:
            for step in self.refine(mode)[2:]:
                self.assertLess(step["orthogonality"], 1e-15, mode)
                self.assertLess(step["off_diagonal"], 1e-15, mode)
                self.assertLess(step["radius"], 1e-15, mode)
                self.assertEqual(step["isolated"], ORDER, mode)

    def test_close_eigenvalues(self):
        for mode, limits in LONG.items():
            steps = self.refine(mode, "--spread", "1e8")
            self.assertLess(steps[0]["isolated"], ORDER)
            self.assertLess(steps[-1]["orthogonality"], limits["spread"], mode)
            self.assertEqual(steps[-1]["isolated"], ORDER)

    def test_equal_eigenvalues(self):
        for mode in LONG:
            step = self.refine(mode, "--multiple", "5")[-1]
            self.assertLess(step["orthogonality"], 1e-15, mode)
            self.assertEqual(step["isolated"], 0)

    def test_rounding_the_inner_product_costs_digits(self):
        for mode in LONG:
            for step in self.refine(mode, "--four", products=4)[2:]:
                self.assertGreater(step["orthogonality"], 1e-15, mode)
                self.assertLess(step["orthogonality"], 1e-14, mode)

    def test_pairs_square_their_error(self):
        for mode, limits in LONG.items():
            errors = [step["orthogonality"] for step in self.refine(mode, "--pairs", products=11)]
            for before, after in zip(errors, errors[1:]):
                self.assertLess(after, max(1e3 * before**2, limits["pairs"]), mode)
            self.assertLess(errors[-1], limits["pairs"], mode)

    def test_matrix_from_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "second.mtx")
            with open(path, "w", encoding="ascii") as file:
                file.write("%%MatrixMarket matrix coordinate integer symmetric\n50 50 99\n")
                file.writelines(f"{i} {i} 2\n" for i in range(1, 51))
                file.writelines(f"{i + 1} {i} -1\n" for i in range(1, 50))
            result, _ = emulated("ts", REFSYEV, "--json", path)
        self.assertEqual((result["matrix"], result["n"]), ("second.mtx", 50))
        self.assertLess(result["steps"][-1]["orthogonality"], 1e-15)
        self.assertEqual(result["steps"][-1]["isolated"], 50)

    def test_text(self):
        done = run(REFSYEV, "--order", "10", "--steps", "2")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(len(done.stdout.splitlines()), 6)
        self.assertIn("10 of 10", done.stdout)

    def test_bad_options(self):
        for arguments in (["--order", "0"], ["--order", "9x"], ["--spread", "0.5"], [
                "--spread", "inf"
        ], ["--perturb", "-1"], ["--steps", "-1"], ["--multiple", "0"], ["--seed", "x"],
                          ["--four", "--pairs"], ["--pairs", "--four"], ["--nonsense"], ["a", "b"]):
            done = run(REFSYEV, *arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""), arguments)
            self.assertRegex(done.stderr, COMPLAINT)

    def test_bad_matrices(self):
        files = {"wide": "1 2 1\n1 1 1\n", "skew": "2 2 2\n1 2 1\n2 1 -1\n"}
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                path = os.path.join(folder, name)
                with open(path, "w", encoding="ascii") as file:
                    file.write("%%MatrixMarket matrix coordinate real general\n" + text)
                done = run(REFSYEV, path)
                self.assertEqual((done.returncode, done.stdout), (1, ""), name)
                self.assertRegex(done.stderr, "^refsyev: .*not symmetric\n$")


class LuSolve(unittest.TestCase):
    def refine(self, mode):
        result, totals = emulated(mode, LU_SOLVE, "--json", "--refine", "3", WEST)
        # Products of seven blocks and of three residuals; solves of seven blocks, and two for each
        # of four solutions.
        calls = 7 + 3 + 7 + 2 * 4
        self.assertEqual(totals["intercepted"], calls)
        self.assertEqual(totals["emulated"], 0 if mode == "native" else calls)
        steps = result["refinement"]
        self.assertEqual(len(steps), 4)
        self.assertEqual(steps[-1]["forward_error"], result["forward_error"])
        self.assertGreater(steps[0]["forward_error"], 1e-12)
        return steps

    def test_short_residuals_gain_little(self):
        for mode in (*SHORT, "df"):
            steps = self.refine(mode)
            self.assertLess(steps[-1]["componentwise"], steps[0]["componentwise"])
            self.assertGreater(steps[-1]["forward_error"], 1e-13, mode)

    def test_long_residuals_gain_everything(self):
        for mode in LONG:
            steps = self.refine(mode)
            self.assertLessEqual(steps[-1]["forward_error"], 2.0**-52, mode)
            self.assertLessEqual(steps[-1]["componentwise"], 2.0**-52, mode)
            self.assertLessEqual(steps[-1]["normwise"], 2.0**-52, mode)

    def test_the_default_does_not_refine(self):
        done = run(LU_SOLVE, "--json", WEST)
        self.assertNotIn("refinement", json.loads(done.stdout))

    def test_bad_options(self):
        for steps in ("0", "101", "2x", ""):
            done = run(LU_SOLVE, "--refine", steps, WEST)
            self.assertEqual((done.returncode, done.stdout), (2, ""), steps)
            self.assertRegex(done.stderr, COMPLAINT)


class GemmTime(unittest.TestCase):
    """Errors relative to |A||B|: of sums as long as the largest k here, and of what rounds to C."""

    LIMITS = {
        "df": 2.0**-43, **dict.fromkeys(("ts", "dd", "d+s", "faithful", "faithful:fp64"), 2.0**-53)
    }
    CERTIFIED = (4 * 129**0.5 + 1) * 2.0**-53  # of all others

    def test_every_mode(self):
        for mode in run(TANDEM, "modes", "--names").stdout.split():
            if mode in ("native", "auto"):
                continue
            limit = self.LIMITS.get(mode, self.CERTIFIED)
            for trans in ("NN", "TN", "NT"):
                result, totals = emulated(mode, GEMM_TIME, "--json", "--trans", trans, "--reps",
                                          "1", "33x70x129")
                self.assertEqual((totals["intercepted"], totals["emulated"]), (2, 2), mode)
                self.assertLessEqual(result["error"], limit, mode)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
