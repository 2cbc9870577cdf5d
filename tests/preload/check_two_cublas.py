"""A process that holds cuBLAS 12 and 13, also where dlsym is another library's: every call goes
where it is bound.

usage: check_two_cublas.py PROGRAM PROGRAM_OPENED LIBRARY_12 LIBRARY_13 PRELOAD_LIBRARY SHIM

The first program is linked to the libraries, the other one opens them.
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

linked, opened, library_12, library_13, preload, shim = map(os.path.abspath, sys.argv[1:7])

HANDLES, CALLS_OF_A_HANDLE = 40, 2
USES = {"linked": 2, "opened": 3, "reopened": 9}  # as in two_cublas.c


def run(way, *preloaded, **variables):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("TANDEM_", "HOSTGPU_"))}
    environment["LD_PRELOAD"] = ":".join(preloaded)
    environment.pop("LD_LIBRARY_PATH", None)  # Meson puts the host device's stand-ins there
    environment.update(variables)
    program = linked if way == "linked" else opened
    return subprocess.run([program, way, library_12, library_13], env=environment,
                          capture_output=True, text=True, check=False)


class TwoCublas(unittest.TestCase):
    def assert_right(self, process):
        self.assertEqual((process.returncode, process.stdout, process.stderr), (0, "right\n", ""))

    def test_the_program_is_right_by_itself(self):
        for way in USES:
            with self.subTest(way):
                self.assert_right(run(way))
                self.assert_right(run(way, shim))

    def test_every_call_goes_where_its_caller_is_bound(self):
        with tempfile.TemporaryDirectory() as folder:
            report = os.path.join(folder, "report.json")
            for way, uses in USES.items():
                for shims in ([], [shim]):
                    for mode in ("native", "df"):
                        with self.subTest(way=way, shims=shims, mode=mode):
                            self.assert_right(
                                run(way, preload, *shims, TANDEM_MODE=mode, TANDEM_REPORT=report))
                            self.check_report(report, uses)
                with self.subTest(way=way, order="the shim first"):
                    self.assert_right(run(way, shim, preload, TANDEM_MODE="df"))

    def check_report(self, path, uses):
        """That Tandem has seen the calls, and not only been passed by: matrices are on the host, so
        all are native."""
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
        self.assertEqual(report["totals"]["native"], uses * HANDLES * CALLS_OF_A_HANDLE)

    def test_nothing_is_asked_for_but_a_look(self):
        for way in USES:
            self.assert_right(run(way, preload))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
