"""Calls of cuSOLVER while calls of the runtime fail: results are right, an error is told only once
operands have been written, and nothing is lost.

usage: check_solver_faults.py CLIENT PRELOAD_LIBRARY HOSTGPU_FOLDER
"""

import os
import sys
import unittest

from preloading import run_solver

WAYS = {"fp64": ["strict"]}
if "TEST_EVERYTHING" in os.environ:
    WAYS["ozaki2"] = []


class SolverFaults(unittest.TestCase):
    def test_any_call_of_the_runtime_may_fail(self):
        """Each allocation, launch and load, one after another and all of them, and each allocation
        on the host."""
        for mode, way in WAYS.items():
            process = run_solver(*way, TANDEM_MODE=mode, HOSTGPU_WORKERS="2",
                                 OPENBLAS_NUM_THREADS="1", OPENBLAS_CORETYPE="Haswell")
            self.assertEqual(process.returncode, 0, process.stderr)
            lines = process.stdout.splitlines()
            self.assertEqual(len(lines), 17 * 4 * 2, process.stderr)
            for line in lines:
                what, count = line.split(": ")
                with self.subTest(mode=mode, what=what):
                    if what.endswith("all of them"):
                        self.assertEqual(count, "0", process.stderr)
                    else:
                        self.assertGreater(int(count), 0, process.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
