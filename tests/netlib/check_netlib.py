"""Netlib's tests of level 3 (Debian's package libblas-test) on a BLAS that calls cuBLAS, with
Tandem preloaded.

usage: check_netlib.py d|z TANDEM LIBBLAS PRELOAD_LIBRARY [HOSTGPU_FOLDER]

Without the folder there is a GPU, and the real libraries. Skipped (status 77) where the package is
missing. The tests of error exits are left out: which argument is wrong is for a BLAS to say, and
cuBLAS does not.
"""

import os
import pathlib
import re
import sys
import tempfile
import unittest

import netlib_case

kind = sys.argv[1]
tandem, blas, preload, *hostgpu = map(os.path.abspath, sys.argv[2:6])
STAND_INS = [
    os.path.join(folder, name) for folder in hostgpu
    for name in ("libcudart.so.13", "libcublas.so.13")
]

# The largest errors that pass, in units of 2^-52 of abs(A)abs(B): netlib's own, and what df
# promises.
THRESHOLDS = {"native": 16.0, "df": 16.0 + 2.0**(52 - 42), "ozaki2": 16.0, "faithful": 16.0}
# What Fortran's STOP says of the processor's flags, which the host device's kernels set.
NOTE = re.compile(r"^Note: The following floating-point exceptions are signalling:.*\n",
                  re.MULTILINE)


PROGRAM = netlib_case.find(f"blas/xblat3{kind}", "libblas-test")
INPUT = pathlib.Path(netlib_case.find(f"blas/{kind}blat3.in", "libblas-test")).read_text(
    encoding="ascii")
ROUTINES = re.findall(r"^([DZ]\w+) +T ", INPUT, re.MULTILINE)


def directions(mode, threshold):
    """The package's own, with another threshold and without error exits. Orders are at most 9: an
    emulated mode, which has one tile for each of them, does with four of six, and with a third of
    the products."""
    text = re.sub(r"^T( +LOGICAL FLAG, T TO TEST ERROR EXITS)", r"F\1", INPUT, flags=re.MULTILINE)
    text, count = re.subn(r"^16\.0( +THRESHOLD)", rf"{threshold}\1", text, flags=re.MULTILINE)
    assert count == 1
    if mode == "native" or os.environ.get("TEST_EVERYTHING"):
        return text
    text, count = re.subn(r"^6( +NUMBER OF VALUES OF N)\n0 1 2 3 5 9 ", r"4\1\n0 1 3 9 ", text,
                          flags=re.MULTILINE)
    assert count == 1
    return text


class Netlib(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """The functions that the mode must run: those of the program's that are intercepted."""
        called = {f"cublas{name[0]}{name[1:].lower()}_v2" for name in ROUTINES}
        cls.intercepted = netlib_case.intercepted(tandem, called)

    def run_program(self, mode, threshold):
        """What the program writes, and the calls of the report."""
        with tempfile.TemporaryDirectory() as folder:
            done, calls = netlib_case.run(PROGRAM, directions(mode, threshold), folder, mode,
                                          [preload, *STAND_INS, blas])
            self.assertEqual(NOTE.sub("", done.stderr), "", mode)
            return pathlib.Path(folder, f"{kind}blat3.out").read_text(encoding="ascii"), calls

    def check(self, mode):
        output, calls = self.run_program(mode, THRESHOLDS[mode])
        passed = re.findall(r"^ +(\w+) +PASSED THE COMPUTATIONAL TESTS", output, re.MULTILINE)
        self.assertEqual(passed, ROUTINES, f"{mode}\n{output}")
        self.assertNotIn("FAILED", output)
        seen = {call["function"] for call in calls if call["mode"] == mode}
        self.assertEqual(seen, self.intercepted, mode)

    def test_native(self):
        self.check("native")

    def test_df(self):
        self.check("df")

    def test_ozaki2(self):
        self.check("ozaki2")

    def test_faithful(self):
        self.check("faithful")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
