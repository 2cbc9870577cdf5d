"""A program that knows nothing of Tandem has cuSOLVER solve and invert by LU and Cholesky factors:
with and without Tandem preloaded, and attached while it runs.

usage: check_preload_solution.py CLIENT PRELOAD_LIBRARY HOSTGPU_FOLDER

The client is linked to cuSOLVER, or looks its functions up.
"""

import sys
import unittest

import preloading


class PreloadSolution(preloading.PreloadedSolver):
    functions = tuple(f"cusolverDn{name}" for name in (
        "Dgetrs", "Zgetrs", "Xgetrs", "Dpotrs", "Zpotrs", "Xpotrs", "Dpotri", "Zpotri"))
    types, emulated = ("binary64", "complex binary64"), 144
    native = {"nothing to compute": 52, "invalid arguments": 12}

    def test_native(self):
        """Under auto solves are Tandem's where that gains on the card of the host device."""
        super().test_native()
        self.assertGreater(len(self.calls_of(TANDEM_MODE="auto")), 50)

    def test_a_trial_is_refused_as_cusolver_refuses_it(self):
        """Strategy adaptive would try a large inverse, for which the program's workspace is too
        small."""
        for strategy, reason in (("performant", "finding out that data are bad costs too much"),
                                 ("adaptive", "invalid arguments")):
            calls = self.calls_of(TANDEM_MODE="auto", TANDEM_STRATEGY=strategy)
            self.assertEqual({call["native_reason"] for call in calls if call["n"] == 2400},
                             {reason})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
