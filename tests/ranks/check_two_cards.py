"""What two_cards.py says, in one line, on a machine that it cannot run on.

usage: check_two_cards.py SCRIPT
"""

import os
import subprocess
import sys
import tempfile
import unittest

SCRIPT = sys.argv[1]
ONE_GPU = "class cuda:\n    device_count = staticmethod(lambda: 1)\n"


class TwoCards(unittest.TestCase):
    def run_with(self, torch, *arguments):
        """The script in a Python whose PyTorch is this text."""
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "torch.py"), "w", encoding="utf-8") as file:
                file.write(torch)
            return subprocess.run([sys.executable, SCRIPT, *arguments],
                                  env={**os.environ, "PYTHONPATH": folder}, capture_output=True,
                                  text=True, check=False)

    def test_it_says_what_is_missing(self):
        for torch, said in (("raise ImportError\n", "no PyTorch in this Python"),
                            (ONE_GPU, "1 GPUs, and 2 are asked for")):
            process = self.run_with(torch)
            self.assertEqual((process.returncode, process.stdout, process.stderr),
                             (77, f"skipped: {said}\n", ""))

    def test_sizes_that_cannot_be_shared(self):
        process = self.run_with(ONE_GPU, "--ranks", "3", "1000")
        self.assertEqual(process.returncode, 2)
        self.assertIn("SIZE is 1000; allowed: multiples of 512 times the ranks, 3", process.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
