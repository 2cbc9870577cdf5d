"""Programs that cancel, fork, exit and misuse cuBLAS: what they get without Tandem they get with it, and nothing hangs.

usage: check_faults.py CLIENT PRELOAD_LIBRARY HOSTGPU_FOLDER

CLIENT, client_faults.c, does what its argument says. The host device is where it can be tried without harm.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest

client, preload, hostgpu = sys.argv[1:4]
STAND_INS = [os.path.join(hostgpu, name) for name in ("libcudart.so.13", "libcublas.so.13", "libcublasLt.so.13")]
MODES = ["df", "ts", "dd", "d+s", "fp64", "ozaki2", "ozaki1", "ozaki-sgemm", "faithful", "auto"]
PATIENCE = 60  # seconds, for what takes two at most


def run(*arguments, mode, program=(client,), **variables):
    """The finished process; mode "": without Tandem."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("TANDEM_", "HOSTGPU_"))}
    environment["LD_PRELOAD"] = ":".join([preload] * bool(mode) + STAND_INS)
    environment["HOSTGPU_WORKERS"] = "2"
    environment["OPENBLAS_NUM_THREADS"] = "1"
    if mode:
        environment["TANDEM_MODE"] = mode
    environment.update(variables)
    return subprocess.run([*program, *arguments], env=environment, capture_output=True, text=True, timeout=PATIENCE,
                          check=False)


def said(process):
    """Tandem's own lines on stderr."""
    return [line for line in process.stderr.splitlines()
            if line.startswith("tandem: ") and not line.startswith("tandem: host device: ")]


class Faults(unittest.TestCase):
    maxDiff = None

    def check_right(self, way, modes=("", "native", "df", "ozaki2"), **variables):
        for mode in modes:
            with self.subTest(way=way, mode=mode):
                process = run(way, mode=mode, **variables)
                self.assertEqual((process.returncode, process.stdout, said(process)), (0, "right\n", []), process.stderr)

    def check_same(self, way, modes=MODES):
        """The same statuses as without Tandem."""
        plain = run(way, mode="")
        self.assertEqual(plain.returncode, 0, plain.stderr)
        for mode in modes:
            with self.subTest(way=way, mode=mode):
                process = run(way, mode=mode)
                self.assertEqual(process.stdout, plain.stdout, process.stderr)
                self.assertEqual(process.returncode, 0, process.stderr)

    def test_a_cancelled_thread_holds_up_nobody(self):
        self.check_right("cancel")

    def test_a_process_ends_with_its_last_thread(self):
        with tempfile.TemporaryDirectory() as folder:
            report = os.path.join(folder, "report.json")
            self.check_right("leave main", TANDEM_REPORT=report)
            with open(report, encoding="utf-8") as file:
                self.assertEqual(json.load(file)["totals"]["intercepted"], 1)

    def test_a_child_that_was_forked_during_products_multiplies(self):
        self.check_right("fork")

    def test_exit_during_products_of_others(self):
        self.check_right("exit at work")

    def test_small_stacks(self):
        self.check_right("small stacks", ["", *MODES])

    def test_two_hundred_threads(self):
        self.check_right("many threads")

    def test_a_caller_may_jump_out_of_a_callback(self):
        self.check_right("longjmp")

    def test_handles_that_are_none(self):
        self.check_same("destroyed handle")

    def test_a_handle_is_destroyed_in_use(self):
        self.check_same("destroyed in use", ["native", "df", "ozaki2"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
