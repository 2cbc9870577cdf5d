"""Complex numbers at odd multiples of 8 bytes: solves and factorisations, whose kernels load both
parts at once, leave such calls to cuBLAS and cuSOLVER, and make the others.

usage: check_unaligned.py CLIENT PRELOAD_LIBRARY HOSTGPU_FOLDER
"""

import collections
import sys
import unittest

from preloading import Preloaded


class Unaligned(Preloaded):
    def test_without(self):
        self.assertEqual((self.plain.returncode, self.plain.stderr), (0, ""))

    def test_results_and_reasons(self):
        cases = self.plain.stdout.splitlines()
        wanted = collections.Counter(case.split()[0] for case in cases)
        for mode in ("fp64", "ozaki2"):
            process, calls = self.report(mode, TANDEM_MODE=mode)
            self.assertEqual((process.returncode, process.stderr), (0, ""))
            self.assertEqual(process.stdout.splitlines(), cases)
            native, emulated = collections.Counter(), collections.Counter()
            for call in calls:
                name = call["function"].removeprefix("cusolverDn").removeprefix("cublas")
                name = name.removesuffix("_v2")
                if call["mode"] == "native":
                    self.assertEqual(call["native_reason"],
                                     "complex numbers that 16 bytes do not align")
                    native[name] += call["count"]
                else:
                    emulated[name] += call["count"]
            self.assertEqual((native, emulated), (wanted, wanted), mode)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
