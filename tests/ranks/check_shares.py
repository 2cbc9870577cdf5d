"""Ranks of one card, each under `tandem run`, on host devices that have their memory together: fair
shares, no product that goes native for lack of memory, and nobody who waits for another rank.

usage: check_shares.py TANDEM SHARE
"""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

TANDEM, SHARE = map(os.path.abspath, sys.argv[1:])
SIZE, RANKS, MEBIBYTES = 384, 4, 96
MATRICES = 3 * 8 * SIZE**2 / 2**20  # MiB of a rank
BOUND = 2**-48


class Shares(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())

    def path(self, name):
        return os.path.join(self.folder, name)

    def start(self, rank, devices):
        """A rank on device 0 that stays after its product."""
        environment = {
            k: v
            for k, v in os.environ.items() if not k.startswith(("TANDEM_", "HOSTGPU_"))
        }
        environment.update(RANK=str(rank), LOCAL_WORLD_SIZE=str(RANKS), HOSTGPU_WORKERS="1",
                           HOSTGPU_DEVICES=str(devices), HOSTGPU_MEMORY=f"{MEBIBYTES}M",
                           HOSTGPU_MEMORY_FILE=self.path("card"),
                           TANDEM_LOG=f"info:{self.path('log')}-%r")
        process = subprocess.Popen([
            TANDEM, "run", "--mode", "ozaki2", "--report",
            self.path("report-%r"), "--", SHARE,
            str(SIZE),
            self.path(f"done-{rank}")
        ], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        return process

    def wait_for(self, ranks):
        """Until they have made their products."""
        end = time.monotonic() + 120
        while not all(os.path.exists(self.path(f"done-{rank}")) for rank in ranks):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)

    def finish(self, processes):
        for rank, process in enumerate(processes):
            os.remove(self.path(f"done-{rank}"))
            output, errors = process.communicate()
            self.assertEqual(process.returncode, 0, errors)
            self.assertLess(float(re.search(r"error (\S+)", output).group(1)), BOUND)

    def share(self, rank):
        """Ranks of the device and MiB, as the rank's log has them; None: it says nothing."""
        with open(self.path(f"log-{rank}"), encoding="utf-8") as file:
            found = re.search(r"device 0 has (\d+) ranks: this one takes at most (\d+) MiB",
                              file.read())
        return found and tuple(map(int, found.groups()))

    def check_reports(self):
        for rank in range(RANKS):
            with open(self.path(f"report-{rank}"), encoding="utf-8") as file:
                (call,) = json.load(file)["calls"]
            self.assertEqual((call["mode"], call["native_reason"]), ("ozaki2", None))

    def test_ranks_of_the_only_card_have_equal_shares(self):
        processes = [self.start(rank, devices=1) for rank in range(RANKS)]
        self.wait_for(range(RANKS))
        self.finish(processes)
        self.check_reports()
        for rank in range(RANKS):
            ranks, mebibytes = self.share(rank)
            self.assertEqual(ranks, RANKS)
            self.assertLessEqual(mebibytes, MEBIBYTES / 4 / RANKS)

    def test_ranks_that_share_one_of_several_cards_see_one_another(self):
        """As those to which CUDA_VISIBLE_DEVICES gives one card of four: no two count alike."""
        processes = [self.start(rank, devices=RANKS) for rank in range(RANKS)]
        self.wait_for(range(RANKS))
        self.finish(processes)
        self.check_reports()
        shares = [self.share(rank) for rank in range(RANKS)]
        self.assertEqual(shares.count(None), 1)  # the first, which has met nobody
        shares = sorted(share for share in shares if share)
        self.assertEqual([ranks for ranks, _ in shares], [2, 3, 4])
        for ranks, mebibytes in shares:
            self.assertLessEqual(mebibytes, MEBIBYTES / 4 / ranks)

    def test_a_rank_that_has_ended_does_not_count(self):
        for _ in range(2):
            processes = [self.start(0, devices=RANKS)]
            self.wait_for([0])
            self.finish(processes)
            self.assertIsNone(self.share(0))
            os.remove(self.path("log-0"))

    def test_nobody_waits_for_a_rank_that_stands_still(self):
        first = self.start(0, devices=RANKS)
        self.wait_for([0])
        os.kill(first.pid, signal.SIGSTOP)
        others = [self.start(rank, devices=RANKS) for rank in range(1, RANKS)]
        self.wait_for(range(1, RANKS))
        os.kill(first.pid, signal.SIGCONT)
        self.finish([first, *others])
        self.check_reports()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
