"""Netlib's tests of LAPACK's linear equations (Debian's package liblapack-test), with LU, Cholesky
and QR factors, and what is made of them, by cuSOLVER, with Tandem preloaded.

usage: check_netlib_factors.py TYPE TANDEM LIBFACTORS PRELOAD_LIBRARY HOSTGPU_FOLDER

Skipped (status 77) where the package is missing. Test ratios are residuals in units of the order
times 2^-53 of the matrix; those above 30 fail, as LAPACK has it. The tests of error exits are left
out: which argument is wrong is for LAPACK to say, and cuSOLVER does not.
"""

import os
import re
import sys
import tempfile
import unittest

import netlib_case

letter = sys.argv[1]  # d or z
tandem, factors, preload, hostgpu = map(os.path.abspath, sys.argv[2:6])
STAND_INS = [
    os.path.join(hostgpu, name)
    for name in ("libcudart.so.13", "libcublas.so.13", "libcusolver.so.12")
]
ROUTINES = ["getrf", "getrs", "potrf", "potrs", "potri", "geqrf"]
ROUTINES += ["orgqr", "ormqr"] if letter == "d" else ["ungqr", "unmqr"]
PATHS = {"GE": 11, "PO": 9, "QR": 8}
FUNCTIONS = {f"cusolverDn{letter.upper()}{name}" for name in ROUTINES}
EVERYTHING = os.environ.get("TEST_EVERYTHING")
# Orders: 65 has a panel of 64 columns, one of a single column, and a product between them; 132 has
# a third panel, and runs with TEST_EVERYTHING alone, as it takes twice as long as all others.
ORDERS = (0, 3, 65, 132) if EVERYTHING else (0, 3, 65)
# Right-hand sides: nine real ones are more than a block of the solves' kernel has. Each is refined
# and its error estimated by ten solves of one column, which a mode of products alone has from mode
# fp64, and complex numbers as real ones.
RIGHT_SIDES = {"native": 15, "fp64": 9 if letter == "d" else 2, "ozaki2": 2}
if EVERYTHING:
    RIGHT_SIDES = dict.fromkeys(RIGHT_SIDES, 15)
DIRECTIONS = """Factors of general, positive definite and tall matrices
{count}                      Number of values of M
{orders}               Values of M (row dimension)
{count}                      Number of values of N
{orders}               Values of N (column dimension)
1                      Number of values of NRHS
{right_sides}                      Values of NRHS (number of right hand sides)
1                      Number of values of NB
20                     Values of NB (the blocksize)
1                      Values of NX (crossover point)
3                      Number of values of RANK
30 50 90               Values of rank (as a % of N)
30.0                   Threshold value of test ratio
T                      Put T to test the LAPACK routines
T                      Put T to test the driver routines
F                      Put T to test the error exits
""" + "".join(f"{letter.upper()}{path} {types}\n" for path, types in PATHS.items())


PROGRAM = netlib_case.find(f"lapack/xlintst{letter}", "liblapack-test")


class Factors(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.intercepted = netlib_case.intercepted(tandem, FUNCTIONS)

    def run_program(self, mode):
        """What the program writes, and the calls of the report."""
        directions = DIRECTIONS.format(count=len(ORDERS), orders=" ".join(map(str, ORDERS)),
                                       right_sides=RIGHT_SIDES[mode])
        # Without the folder of the libblas.so.3 for level 3, which LAPACK would call.
        with tempfile.TemporaryDirectory() as folder:
            done, calls = netlib_case.run(PROGRAM, directions, folder, mode,
                                          [preload, *STAND_INS, factors], LD_LIBRARY_PATH=hostgpu)
            return done.stdout, calls

    def check(self, mode):
        output, calls = self.run_program(mode)
        for path in PATHS:
            self.assertRegex(output, rf"All tests for {letter.upper()}{path} routines passed",
                             f"{mode}\n{output}")
        self.assertIsNone(re.search(r"fail|illegal", output), f"{mode}\n{output}")
        seen = {c["function"] for c in calls if c["mode"] == mode}
        self.assertEqual(seen & FUNCTIONS, self.intercepted, mode)

    def test_native(self):
        self.check("native")

    def test_fp64(self):
        self.check("fp64")

    def test_ozaki2(self):
        self.check("ozaki2")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
