"""A program of several MPI ranks, each under `tandem run`: right products, a report for each rank,
fair shares of memory.

usage: check_ranks.py TANDEM [SUMMA]

Without SUMMA (summa.c), which is not built where there is no MPI, it ends as skipped.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

TANDEM, *SUMMA = map(os.path.abspath, sys.argv[1:])
SIZE, PANEL = 192, 48
PANELS = SIZE // PANEL  # products of each rank
# What errors relative to |A||B| may be for 192 terms in four sums.
BOUNDS = {
    "native": 2**-46, "df": 2**-42, "ts": 2**-51, "ozaki2": 2**-48, "faithful": 2**-51,
    "auto": 2**-46
}
# Without these Open MPI refuses root and more ranks than cores, and complains in containers. Other
# MPIs do not read them.
OPEN_MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "OMPI_MCA_hwloc_base_binding_policy": "none", "OMPI_MCA_btl_vader_single_copy_mechanism": "none"
}


class Ranks(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())

    def run_ranks(self, *options, ranks=2, **variables):
        """The finished launcher of so many ranks, each under `tandem run` with these options."""
        environment = {
            k: v
            for k, v in os.environ.items() if not k.startswith(("TANDEM_", "HOSTGPU_"))
        }
        environment.update(OPEN_MPI, HOSTGPU_WORKERS="1", **variables)
        process = subprocess.run([
            "mpirun", "-n",
            str(ranks), TANDEM, "run", *options, "--", *SUMMA,
            str(SIZE),
            str(PANEL)
        ], env=environment, cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual(process.returncode, 0, process.stderr)
        return process

    def error(self, process):
        (line,) = [line for line in process.stdout.splitlines() if " ranks, " in line]
        return float(re.search(r"error (\S+)$", line).group(1))

    def read(self, name):
        with open(os.path.join(self.folder, name), encoding="utf-8") as file:
            return json.load(file)

    def test_products_are_right(self):
        for mode, bound in BOUNDS.items():
            with self.subTest(mode):
                self.assertLessEqual(self.error(self.run_ranks("--mode", mode)), bound)

    def test_four_ranks_in_a_square(self):
        process = self.run_ranks("--mode", "df", "--report", "rank-%r.json", ranks=4)
        self.assertIn("2 x 2 ranks", process.stdout)
        self.assertLessEqual(self.error(process), BOUNDS["df"])
        self.assertEqual(sorted(os.listdir(self.folder)),
                         [f"rank-{rank}.json" for rank in range(4)])

    def test_each_rank_has_a_report_and_these_are_merged(self):
        self.run_ranks("--mode", "df", "--report", "rank-%r.json")
        names = ["rank-0.json", "rank-1.json"]
        self.assertEqual(sorted(os.listdir(self.folder)), names)
        reports = [self.read(name) for name in names]
        for report in reports:
            self.assertEqual((report["totals"]["emulated"], report["is_complete"]), (PANELS, True))
        self.assertNotEqual(reports[0]["pid"], reports[1]["pid"])
        merged = subprocess.run([TANDEM, "report", *names], cwd=self.folder, capture_output=True,
                                text=True, check=True)
        first = merged.stdout.splitlines()[0]
        self.assertTrue(first.startswith("2 reports of "), first)
        self.assertIn(f": {2 * PANELS} calls, {2 * PANELS} emulated, 0 native", first)

    def test_one_name_for_all_ranks_loses_none(self):
        self.run_ranks("--mode", "df", "--report", "report.json")
        names = os.listdir(self.folder)
        self.assertEqual(len(names), 2, names)
        self.assertEqual([self.read(name)["totals"]["emulated"] for name in names], [PANELS] * 2)

    def shares(self, **variables):
        """Ranks of a device and the MiB of each, as each rank's log has them."""
        self.run_ranks("--mode", "df", TANDEM_LOG="info:log-%r", HOSTGPU_MEMORY="256M", **variables)
        found = []
        for rank in range(2):
            with open(os.path.join(self.folder, f"log-{rank}"), encoding="utf-8") as file:
                found += re.findall(
                    r"device \d has (\d+) ranks: this one takes at most (\d+) MiB of workspace",
                    file.read())
        return found

    def test_ranks_of_a_device_share_its_memory(self):
        """A quarter of 256 MiB is 64, less what the program has."""
        shares = self.shares(HOSTGPU_DEVICES="1")
        self.assertEqual(len(shares), 2)
        for ranks, mebibytes in shares:
            self.assertEqual(ranks, "2")
            self.assertIn(int(mebibytes), range(28, 33))

    def test_ranks_with_devices_of_their_own_share_nothing(self):
        self.assertEqual(self.shares(HOSTGPU_DEVICES="2"), [])


if __name__ == "__main__":
    if not SUMMA:
        print("skipped: no MPI (mpirun and its C library), which scripts/setup installs")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
