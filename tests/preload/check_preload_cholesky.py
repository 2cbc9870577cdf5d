"""A program that knows nothing of Tandem has cuSOLVER make Cholesky factors: linked to it, or
looking its functions up; with and without Tandem preloaded, and attached while it runs.

usage: check_preload_cholesky.py LINKED_CLIENT PRELOAD_LIBRARY HOSTGPU_FOLDER LOOKING_CLIENT
"""

import sys
import unittest

import solver_calls


class PreloadCholesky(solver_calls.SolverCalls):
    """28 of 64 calls are of real matrices that have elements, as many of complex ones."""
    functions = ("cusolverDnDpotrf", "cusolverDnZpotrf", "cusolverDnXpotrf")
    natives = {"nothing to compute": 8, "invalid arguments": 6,
               "no panels of such a matrix on this device": 28}
    emulated = 28

    def test_without(self):
        super().test_without()
        self.assertEqual(len(self.wanted), 64 + 7)
        self.assertEqual({int(result[1]) for result in self.wanted.values() if len(result) == 3},
                         {0, 3, 61})

    def is_verified(self, call):
        return call["n"] not in (0, 3, 90)

    def test_types_are_told(self):
        for call in self.calls_of(TANDEM_MODE="fp64"):
            if call["mode"] == "fp64":
                self.assertEqual(call["type"], "binary64")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
