"""verify_eig on the host device: what is separated by which products, clusters, refinement, and
what it refuses.

usage: check_verify_eig.py TANDEM VERIFY_EIG
"""

import json
import math
import os
import subprocess
import sys
import tempfile
import unittest

TANDEM, VERIFY_EIG = sys.argv[1:3]


def run(*arguments):
    command = [TANDEM, "run", "--hostgpu", "--mode", "native", "--", VERIFY_EIG, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def results(*arguments):
    done = run("--json", *arguments)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def complaint(done):
    return [line for line in done.stderr.splitlines() if line.startswith("verify_eig: ")]


class VerifyEig(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())

    def matrix(self, name, entries, order):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="ascii") as file:
            file.write("%%MatrixMarket matrix coordinate integer symmetric\n"
                       f"{order} {order} {len(entries)}\n")
            file.writelines(f"{i} {j} {value}\n" for i, j, value in entries)
        return path

    def test_random_matrices(self):
        for general in ((), ("--general",)):
            for products in ("faithful", "faithful:fp64"):
                result = results("--order", "100", "--products", products, *general)
                self.assertEqual((result["separated"], result["clusters"], result["refinements"]),
                                 (100, 0, 0))
                self.assertLess(result["widest_radius"], 1e-12)
                self.assertEqual(result["general"], bool(general))

    def test_native_products_prove_less(self):
        for general in ((), ("--general",)):
            wide, narrow = (results("--order", "100", "--spread", "1e14", "--steps", "0",
                                    "--products", products, *general)
                            for products in ("native", "faithful"))
            self.assertGreater(wide["widest_radius"], 5 * narrow["widest_radius"])
            self.assertLess(wide["separated"], narrow["separated"])

    def test_refinement_separates_more(self):
        for general in ((), ("--general",)):
            before, after = (results("--order", "100", "--spread", "1e6", "--perturb", "1e-6",
                                     "--steps", steps, *general) for steps in "03")
            self.assertEqual((before["refinements"], after["separated"]), (0, 100))
            self.assertLess(before["separated"], 80)
            self.assertLess(after["widest_radius"], 1e-4 * before["widest_radius"])

    def test_clusters(self):
        result = results("--order", "60", "--spread", "100", "--multiple", "5")
        self.assertEqual((result["separated"], result["clusters"], result["largest_cluster"]),
                         (0, 12, 5))
        text = run("--order", "20", "--spread", "100", "--multiple", "5").stdout
        self.assertIn("0 of 20 eigenvalues; 4 clusters, of up to 5", text)
        self.assertEqual(text.count("5 in ["), 4)

    def test_refinement_with_b(self):
        path = self.matrix("a.mtx", [(i, i, 2) for i in range(1, 31)] + [(i + 1, i, -1)
                                                                         for i in range(1, 30)], 30)
        result = results("--steps", "2", path, path)  # all are 1
        self.assertEqual((result["clusters"], result["largest_cluster"]), (1, 30))
        self.assertGreater(result["refinements"], 0)
        self.assertLess(result["widest_radius"], 1e-11)

    def test_files(self):
        path = self.matrix("second.mtx",
                           [(i, i, 2) for i in range(1, 51)] + [(i + 1, i, -1)
                                                                for i in range(1, 50)], 50)
        result = results(path)
        self.assertEqual((result["matrix"], result["n"], result["separated"]),
                         ("second.mtx", 50, 50))
        self.assertAlmostEqual(result["least"], 2 - 2 * math.cos(math.pi / 51), delta=1e-14)
        self.assertAlmostEqual(result["largest"], 2 + 2 * math.cos(math.pi / 51), delta=1e-14)

    def test_plot(self):
        path = os.path.join(self.folder, "radii.svg")
        results("--order", "20", "--plot", path)
        with open(path, encoding="utf-8") as file:
            self.assertIn("<svg", file.read())
        self.assertEqual(
            run("--order", "20", "--plot", os.path.join(self.folder, "it's.svg")).returncode, 1)

    def test_indefinite_b(self):
        a = self.matrix("a.mtx", [(1, 1, 1), (2, 2, 2)], 2)
        b = self.matrix("b.mtx", [(1, 1, 1), (2, 2, -2)], 2)
        done = run(a, b)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertEqual(len(complaint(done)), 1)
        self.assertIn("not positive definite", complaint(done)[0])

    def test_orders_that_differ(self):
        a = self.matrix("a.mtx", [(1, 1, 1), (2, 2, 2)], 2)
        b = self.matrix("b.mtx", [(1, 1, 1)], 1)
        done = run(a, b)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("of order 2, ", complaint(done)[0])

    def test_without_tandem(self):
        done = subprocess.run([VERIFY_EIG, "--order", "4"], capture_output=True, text=True,
                              check=False)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, "^verify_eig: there is no Tandem in this process[^\n]*\n$")

    def test_bad_options(self):
        for arguments in (["--order", "0"], ["--spread", "0.5"], ["--multiple", "x"], [
                "--products", "df"
        ], ["--solver", "eigen"], ["--steps",
                                   "-1"], ["--reps", "0"], ["--perturb",
                                                            "-1"], ["a", "b", "c"], ["--nonsense"]):
            done = run(*arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""), arguments)

    def test_repeated_eigenvalues_are_given_ones(self):
        done = run("--multiple", "5")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        (line,) = complaint(done)
        self.assertIn("--multiple 5 needs --spread S", line)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
