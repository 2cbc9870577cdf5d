"""A program that knows nothing of Tandem has cuSOLVER find eigenvectors: with and without Tandem
preloaded, and attached while it runs.

usage: check_preload_eigen.py CLIENT PRELOAD_LIBRARY HOSTGPU_FOLDER

The client is linked to cuSOLVER, or looks its functions up.
"""

import collections
import sys
import unittest

import preloading
from preloading import read_calls, run_solver

CAPTURED = "the host waits, and the stream is captured"
NOT_REFINED = "residuals of the refined vectors are above native's"


class PreloadEigen(preloading.PreloadedSolver):
    """24 of 64 calls want vectors of matrices of numbers; 4 have a NaN."""
    functions, types, emulated = ("cusolverDnDsyevd", "cusolverDnXsyevd"), ("binary64",), 24
    native = {"no vectors are asked for": 28, "nothing to compute": 8, "invalid arguments": 7,
              NOT_REFINED: 4}

    def test_without(self):
        self.assertEqual(len(self.wanted), 64 + 8)
        self.check_errors()

    def test_less_accurate_modes_stay_native(self):
        calls = self.calls_of(TANDEM_MODE="df")
        self.assertEqual({call["mode"] for call in calls}, {"native"})
        self.assertEqual(sum(call["count"] for call in calls
                             if call["native_reason"] == NOT_REFINED), 4 + self.emulated)

    def test_values_alone_have_lines_of_their_own(self):
        """Nobody knows what cuSOLVER takes for them."""
        calls = self.calls_of(TANDEM_MODE="native", TANDEM_VERIFY="sample:2")
        jobs = collections.Counter()
        for call in calls:
            jobs[call["job"], call["native_seconds"] is not None] += call["count"]
        self.assertEqual((jobs["N", False], jobs["N", True]), (32, 0))
        self.assertGreater(jobs["V", True], 20)

    def test_captured(self):
        """The host would wait: cuSOLVER refuses the call, and the report says why it was asked."""
        path = self.path("captured")
        process = run_solver(TANDEM_MODE="fp64", TANDEM_REPORT=path, CLIENT_CAPTURES="1")
        self.assertEqual((process.returncode, process.stderr),
                         (0, "tandem: host device: cusolverDnDsyevd cannot be captured\n"))
        self.assertEqual(preloading.results(process)["captured"], ["9"])
        self.assertEqual(sum(call["count"] for call in read_calls(path)
                             if call["native_reason"] == CAPTURED), 1)

    def test_native(self):
        super().test_native()
        # These matrices are small.
        self.assertEqual({c["mode"] for c in self.calls_of(TANDEM_MODE="auto")}, {"native"})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
