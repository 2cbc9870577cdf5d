"""Products by cublasLtMatmul have the bits of cublasDgemm and cublasZgemm, in every mode, whichever
of A, B, C and D are in rows.

usage: check_orders.py CLIENT LAUNCHER
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

client, launcher = map(os.path.abspath, sys.argv[1:3])
PRODUCTS, CALLS = 13, 17  # of client_orders.c, and of each of them
# Modes that make all products, as they stand for others. The others take turns: each makes every
# fifth product, which differ in sizes, operations, members and ranges of exponents.
WHOLE = ("df", "ozaki2", "ozaki-sgemm", "fp64")
TURNS = 5


def modes():
    """The names of all modes that compute, and one with a number of each kind that has them."""
    process = subprocess.run([launcher, "modes"], capture_output=True, text=True, check=True)
    names = [line.split()[0].split("[")[0] for line in process.stdout.splitlines()
             if not line.startswith(" ")]
    return [name for name in names if name not in ("native", "auto")
           ] + ["ozaki2:14", "ozaki1:7", "ozaki-sgemm:9", "faithful:fp64"]


class Orders(unittest.TestCase):
    maxDiff = None

    def test_bits_do_not_depend_on_orders(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "report.json")
            for number, mode in enumerate(modes()):
                is_whole = mode in WHOLE or "TEST_EVERYTHING" in os.environ
                turn, products = [], PRODUCTS
                if not is_whole:
                    turn = [str(number % TURNS)]
                    products = len(range(number % TURNS, PRODUCTS, TURNS))
                with self.subTest(mode=mode):
                    process = subprocess.run([
                        launcher, "run", "--hostgpu", "--mode", mode, "--report", path, "--",
                        client, *turn
                    ], capture_output=True, text=True, check=False)
                    self.assertEqual(process.returncode, 0, process.stderr)
                    lines = dict(line.split(" ; ") for line in process.stdout.splitlines())
                    self.assertEqual(lines, {name: "same" for name in lines})
                    self.assertEqual(len(lines), products)
                    with open(path, encoding="utf-8") as file:
                        totals = json.load(file)["totals"]
                    self.assertEqual((totals["emulated"], totals["native"]), (products * CALLS, 0))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
