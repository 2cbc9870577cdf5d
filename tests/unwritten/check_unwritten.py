"""No result and no decision depends on what lies in memory that the call has not written.

A program makes calls that a seed draws, several times: unwritten memory of the host device, and of
the process, is another one each time (HOSTGPU_UNWRITTEN in docs/hostgpu.md). What the calls leave
has to be the same, and what the report says of each: the mode, its moduli, what was repaired. What
`auto` chooses by is drawn, too: a calibration of the device, of factors that nobody measured.

usage: check_unwritten.py DRAWN PRELOAD_LIBRARY HOSTGPU_FOLDER LAUNCHER [SEED [CALLS [SIDE
                          [RUNS]]]]
"""

import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "preload"))
import preloading  # noqa: E402 pylint: disable=wrong-import-position

LAUNCHER = sys.argv[4]
GIVEN = [int(argument) for argument in sys.argv[5:]]
SEED = GIVEN[0] if GIVEN else random.SystemRandom().randrange(1 << 30)
CALLS, SIDE, RUNS = (GIVEN[1:] + [60, 120, 3][len(GIVEN[1:]):])
KINDS = 10  # of unwritten words: the host device takes the one that a seed leaves modulo this
ROWS = ("native", "df", "ts", "dd", "d+s", "ozaki-sgemm", "ozaki1", "ozaki2", "faithful",
        "faithful:fp64", "fp64", "native:dsymm", "native:dsyrk", "native:dsyr2k", "native:dtrmm",
        "native:dtrsm", "native:zhemm", "native:zherk", "native:zher2k", "native:ztrmm",
        "native:ztrsm", "dgemm:dsyrk", "block:dtrsm", "block:ztrsm")
FACTORS = 45 * 9 + 7


def write_calibration(folder, draw):
    """Factors for each way, in the file that the library reads for the host device."""
    version = subprocess.run([LAUNCHER, "version"], capture_output=True, text=True,
                             check=True).stdout.split()[1]
    lines = ["tandem calibration 3", "device Tandem host device (no GPU)", "multiprocessors 128",
             "driver 13000", f"version {version}"]
    for row in ROWS:
        about = draw.randint(-117, 117)
        factors = (str(about + draw.randint(-10, 10)) for _ in range(FACTORS))
        lines.append(" ".join([row, *factors]))
    path = pathlib.Path(folder, "tandem",
                        f"Tandem-host-device--no-GPU--driver-13.0-tandem-{version}.txt")
    path.parent.mkdir()
    path.write_text("\n".join([*lines, "end", ""]), encoding="utf-8")


def without_times(value):
    """A part of a report without what was timed."""
    if isinstance(value, list):
        return [without_times(part) for part in value]
    if not isinstance(value, dict):
        return value
    return {key: without_times(part) for key, part in value.items()
            if "seconds" not in key and "timed" not in key}


class Unwritten(unittest.TestCase):
    def make(self, folder, pattern):
        """What the program and Tandem printed, and the calls of the report."""
        path = os.path.join(folder, "report.json")
        process = preloading.run_solver(
            str(SEED), str(CALLS), str(SIDE), XDG_CACHE_HOME=folder, TANDEM_REPORT=path,
            TANDEM_REPORT_EVERY="never", HOSTGPU_UNWRITTEN=str(pattern),
            MALLOC_PERTURB_=str(pattern % 256))
        self.assertEqual(process.returncode, 0, f"pattern {pattern}: {process.stderr}")
        lines = process.stdout.splitlines()
        self.assertEqual(len(lines), CALLS)
        return lines + process.stderr.splitlines(), without_times(preloading.read_calls(path))

    def test_nothing_depends_on_it(self):
        draw = random.Random(SEED)
        with tempfile.TemporaryDirectory() as folder:
            write_calibration(folder, draw)
            first, counted = self.make(folder, 0)
            for line in first[:CALLS]:
                self.assertTrue(line.endswith(" touched 0"), line)
            kinds = draw.sample(range(1, KINDS), RUNS - 1)
            for kind in kinds:
                pattern = draw.randrange(1 << 20) * KINDS + kind
                lines, calls = self.make(folder, pattern)
                for line, other in zip(first, lines):
                    self.assertEqual(line, other, f"pattern {pattern}")
                for call, other in zip(counted, calls):
                    self.assertEqual(json.dumps(call), json.dumps(other), f"pattern {pattern}")
                self.assertEqual((len(first), len(counted)), (len(lines), len(calls)))


if __name__ == "__main__":
    print(f"seed {SEED}, {CALLS} calls, sizes to {SIDE}, {RUNS} runs", flush=True)
    unittest.main(argv=sys.argv[:1], verbosity=2)
