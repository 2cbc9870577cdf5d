"""A program that knows nothing of Tandem makes QR factors by cuSOLVER, and uses them: linked to it,
or looking its functions up; with and without Tandem preloaded, and attached while it runs.

usage: check_preload_qr.py LINKED_CLIENT PRELOAD_LIBRARY HOSTGPU_FOLDER LOOKING_CLIENT
"""

import sys
import unittest

import solver_calls


class PreloadQr(solver_calls.SolverCalls):
    functions = ("cusolverDnDgeqrf", "cusolverDnXgeqrf", "cusolverDnDorgqr", "cusolverDnDormqr")
    natives = {"nothing to compute": 6, "invalid arguments": 6,
               "the mode has no such routine": 1}
    emulated = 105

    def test_types_are_told(self):
        for call in self.calls_of(TANDEM_MODE="fp64"):
            if call["mode"] == "fp64":
                self.assertEqual(call["type"], "binary64")

    def test_verified(self):
        """Q is not there to be multiplied: nothing is measured, and nothing is wrong."""
        for call in self.calls_of(TANDEM_MODE="fp64", TANDEM_VERIFY="sample:20"):
            self.assertIsNone(call["verified"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
