"""A program that knows nothing of Tandem makes QR factors by cuSOLVER, and uses them: with and
without Tandem preloaded, and attached while it runs.

usage: check_preload_qr.py CLIENT PRELOAD_LIBRARY HOSTGPU_FOLDER TYPE

The client is linked to cuSOLVER, or looks its functions up; its matrices are of that type.
"""

import os
import sys
import unittest

import preloading

TYPE = sys.argv[4]


class PreloadQr(preloading.PreloadedSolver):
    functions = {
        "binary64": ("cusolverDnDgeqrf", "cusolverDnXgeqrf", "cusolverDnDorgqr",
                     "cusolverDnDormqr"),
        "complex binary64": ("cusolverDnZgeqrf", "cusolverDnXgeqrf", "cusolverDnZungqr",
                             "cusolverDnZunmqr")}[TYPE]
    types, emulated = (TYPE,), 105
    # Both modes of residues have the same steps of QR: complex factors are made in one of them.
    if TYPE.startswith("complex") and "TEST_EVERYTHING" not in os.environ:
        modes = tuple(m for m in preloading.PreloadedSolver.modes if m != "faithful")
    native = {"nothing to compute": 6, "invalid arguments": 6}

    def test_native(self):
        super().test_native()
        self.assertEqual({c["mode"] for c in self.calls_of(TANDEM_MODE="auto")}, {"native"})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
