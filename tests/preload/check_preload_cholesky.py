"""A program that knows nothing of Tandem has cuSOLVER make Cholesky factors: with and without
Tandem preloaded, and attached while it runs.

usage: check_preload_cholesky.py CLIENT PRELOAD_LIBRARY HOSTGPU_FOLDER

The client is linked to cuSOLVER, or looks its functions up.
"""

import sys
import unittest

import preloading


class PreloadCholesky(preloading.PreloadedSolver):
    """56 of 64 calls are of matrices that have elements."""
    functions = ("cusolverDnDpotrf", "cusolverDnZpotrf", "cusolverDnXpotrf")
    types, emulated = ("binary64", "complex binary64"), 56
    native = {"nothing to compute": 8, "invalid arguments": 6}

    def test_without(self):
        self.assertEqual(len(self.wanted), 64 + 7)
        self.assertEqual({int(result[1]) for result in self.wanted.values() if len(result) == 3},
                         {0, 3, 61})

    def test_native(self):
        super().test_native()
        calls = self.calls_of(TANDEM_MODE="auto")
        self.assertEqual({c["mode"] for c in calls}, {"native"})
        self.assertEqual({c["uplo"] for c in calls}, {"L", "U"})

    def test_verified(self):
        self.check_right_residuals(30, without=(0, 3, 90))

    def test_nothing_is_promised_without_positive_minors(self):
        calls = self.calls_of(TANDEM_MODE="fp64", TANDEM_VERIFY="sample:20")
        verified = [call["verified"] for call in calls if call["n"] in (3, 90)]
        self.assertGreater(len(verified), 0)
        self.assertEqual({one["elements"] for one in verified}, {0})
        self.assertEqual({one["outside"] for one in verified}, {0})
        self.assertGreater(min(one["unjudged"] for one in verified), 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
