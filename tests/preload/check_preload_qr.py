"""A program that knows nothing of Tandem makes QR factors by cuSOLVER, and uses them: with and
without Tandem preloaded, and attached while it runs.

usage: check_preload_qr.py CLIENT PRELOAD_LIBRARY HOSTGPU_FOLDER

The client is linked to cuSOLVER, or looks its functions up.
"""

import collections
import sys
import unittest

import preloading
from preloading import read_calls, results, run_solver as run

WORST = 10.0  # times the unit roundoff; LAPACK's own tests fail at 30
FUNCTIONS = ("cusolverDnDgeqrf", "cusolverDnXgeqrf", "cusolverDnDorgqr", "cusolverDnDormqr")


class PreloadQr(preloading.Preloaded):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.wanted = results(run(tandem=False))

    def calls_of(self, *arguments, name="report", **variables):
        """The calls of the report of a run, whose results are as they have to be."""
        path = self.path(name)
        process = run(*arguments, TANDEM_REPORT=path, **variables)
        self.assertEqual((process.returncode, process.stderr), (0, ""), process)
        self.compare(results(process))
        return read_calls(path)

    def compare(self, given):
        self.assertEqual(given.keys(), self.wanted.keys())
        for call, wanted in self.wanted.items():
            if len(wanted) < 4:
                self.assertEqual(given[call], wanted, call)
                continue
            self.assertEqual(given[call][:2], wanted[:2], call)
            self.assertLess(float(given[call][2]), WORST, call)
            self.assertEqual(given[call][3:], wanted[3:], call)

    def check_emulated(self, calls, mode):
        native, emulated = collections.Counter(), 0
        for call in calls:
            self.assertIn(call["function"], FUNCTIONS)
            if call["mode"] == "native":
                native[call["native_reason"]] += call["count"]
            else:
                self.assertEqual((call["mode"], call["type"]), (mode, "binary64"))
                emulated += call["count"]
        self.assertEqual(native, {"nothing to compute": 6, "invalid arguments": 6,
                                  "the mode has no such routine": 1})
        self.assertEqual(emulated, 105)

    def test_without(self):
        self.assertGreater(len(self.wanted), 100)
        for call, result in self.wanted.items():
            if len(result) > 3:
                self.assertLess(float(result[2]), WORST, call)

    def test_modes(self):
        for mode in ("fp64", "ozaki2", "faithful"):
            self.check_emulated(self.calls_of(TANDEM_MODE=mode), mode)

    def test_attached(self):
        path = self.path("attached")
        process = run(preloading.preload, tandem=False, TANDEM_MODE="fp64", TANDEM_REPORT=path)
        self.assertEqual((process.returncode, process.stderr), (0, ""), process)
        self.compare(results(process))
        self.check_emulated(self.calls("attached"), "fp64")

    def test_native(self):
        for calls in (self.calls_of(TANDEM_MODE="native"), self.calls_of(TANDEM_MODE="auto")):
            self.assertEqual({call["mode"] for call in calls}, {"native"})
            self.assertEqual(sum(call["count"] for call in calls), 118)

    def test_family(self):
        self.assertEqual(self.calls_of(TANDEM_MODE="fp64", TANDEM_ENTRY="gemm"), [])
        self.check_emulated(self.calls_of(TANDEM_MODE="fp64", TANDEM_ENTRY="factor"), "fp64")

    def test_verified(self):
        """Q is not there to be multiplied: nothing is measured, and nothing is wrong."""
        for call in self.calls_of(TANDEM_MODE="fp64", TANDEM_VERIFY="sample:20"):
            self.assertIsNone(call["verified"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
