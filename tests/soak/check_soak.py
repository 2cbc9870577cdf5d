"""The soak for some seconds, and whether it finds the faults that it is for.

usage: check_soak.py TANDEM SOAK FAULTY_SOAK

FAULTY_SOAK is the same client with faulty_copies.c.
"""

import os
import re
import subprocess
import sys
import unittest

TANDEM, SOAK, FAULTY = map(os.path.abspath, sys.argv[1:])
SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "soak.py")


def soak(client, seconds, side, *more):
    """Heaps as a user's program has them: those that other tests are given keep up to 1 GiB that is
    free."""
    environment = {
        k: v
        for k, v in os.environ.items() if not k.startswith(("TANDEM_", "HOSTGPU_", "MALLOC_"))
    }
    return subprocess.run([
        sys.executable, SCRIPT, "--tandem", TANDEM, "--seconds",
        str(seconds), "--side",
        str(side), *more, client
    ], env=environment, capture_output=True, text=True, check=False)


class Soak(unittest.TestCase):
    def test_some_seconds(self):
        process = soak(SOAK, *((10, 96) if os.environ.get("TEST_EVERYTHING") else (3, 72)))
        self.assertEqual(process.returncode, 0, process.stdout + process.stderr)
        self.assertIn("; 0 faults", process.stdout)
        emulated, functions = map(
            int,
            re.search(r"(\d+) emulated, of (\d+) functions", process.stdout).groups())
        self.assertGreaterEqual(functions, 25)
        self.assertGreater(emulated, 8 * functions)  # more than the jobs' own first calls
        print(process.stdout, end="")

    def test_faults_are_found(self):
        process = soak(FAULTY, 1, 24, "--modes", "native,df,ozaki2")
        self.assertEqual(process.returncode, 1, process.stdout + process.stderr)
        self.assertRegex(process.stdout, r"\nfault: cublas\w+ \w+ m=\d+ n=\d+ k=\d+: other bits: ")
        self.assertRegex(process.stdout, r"\n\d+ bytes of the device's memory were not given back")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
