"""What many_cards.py says, in one line, on a machine that it cannot run on.

usage: check_many_cards.py SCRIPT
"""

import os
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

SCRIPT = sys.argv[1]
ONE_GPU = "class cuda:\n    device_count = staticmethod(lambda: 1)\n"


TWO_GPUS = ONE_GPU.replace("1", "2")

# Stands for mp_blas and mp_solver: rank 0 prints a row with the words that it was given, each
# logs a call.
PROGRAM = """#!/bin/sh
name=$(basename "$0")
[ -z "$FAILS" ] || [ "$RANK" = 0 ] || exit 3
[ "$RANK" != 0 ] || echo "{\\"name\\": \\"$name $2 $3\\", \\"ms\\": 5, \\"error\\": 0.25}"
[ -z "$CUBLAS_LOGDEST_DBG" ] ||
    echo "function cublasStatus_t cublasDgemm_v2(handle) called:" >>"$CUBLAS_LOGDEST_DBG"
"""

# Stands for tandem: its report of a rank, where one is asked for, has one call, unless it is to
# lack it.
TANDEM = """#!/bin/sh
[ "$1" = run ] || exit 0
call='{"function": "cublasDgemm_v2", "mode": "ozaki2", "count": 1}'
[ -z "$LACKS" ] || call=
if [ "$4" = --report ]; then
    file=$(echo "$5" | sed "s/%r/$RANK/")
    echo "{\\"totals\\": {\\"emulated\\": 1}, \\"calls\\": [$call]}" >"$file"
    shift 2
fi
shift 4
exec "$@"
"""


class ManyCards(unittest.TestCase):
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

    def run_programs(self, **variables):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("mp_blas", PROGRAM), ("mp_solver", PROGRAM), ("tandem", TANDEM)):
                path = os.path.join(folder, name)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
                os.chmod(path, 0o755)
            with unittest.mock.patch.dict(os.environ, variables):
                return self.run_with(TWO_GPUS, "--only", "programs", "--programs", folder,
                                     "--tandem", os.path.join(folder, "tandem"), "--reports",
                                     folder, "--block", "1024", "4096")

    def test_ranks_of_programs(self):
        process = self.run_programs()
        self.assertEqual((process.returncode, process.stderr), (0, ""))
        self.assertRegex(process.stdout, r"mp_blas 4096 1024 +5\.00 +5\.00 +0\.25 +0\.25\n")
        for program in ("mp_blas", "mp_solver"):
            for rank in (0, 1):
                self.assertIn(f"{program}, rank {rank}: logged 1, seen 1, emulated 1",
                              process.stdout)

    def test_a_call_that_a_report_lacks(self):
        process = self.run_programs(LACKS="1")
        self.assertEqual(process.returncode, 1)
        self.assertIn("mp_solver, rank 1: logged {'cublasDgemm_v2': 1}, missing "
                      "{'cublasDgemm_v2': 1}", process.stdout)

    def test_a_rank_that_fails(self):
        process = self.run_programs(FAILS="1")
        self.assertEqual(process.returncode, 1)
        self.assertIn("a rank ended with 3", process.stderr)

    def test_sizes_that_cannot_be_shared(self):
        process = self.run_with(ONE_GPU, "--ranks", "3", "1000")
        self.assertEqual(process.returncode, 2)
        self.assertIn("SIZE is 1000; allowed: multiples of 512 times the ranks, 3", process.stderr)

    def test_a_block_without_rows(self):
        process = self.run_with(TWO_GPUS, "--block", "0", "4096")
        self.assertEqual(process.returncode, 2)
        self.assertIn("BLOCK is 0; allowed: 1 or more", process.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
