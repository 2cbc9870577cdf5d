"""Strategy adaptive, end to end: how many calls of each site stay native because its last one lost.

A site that loses each time emulates calls 1, 4, 9, 18, 35 and 68: 2, 4, 8, ... calls apart.

usage: check_preload_adaptive.py CLIENT PRELOAD_LIBRARY HOSTGPU_FOLDER
"""

import json
import os
import tempfile
import unittest

from preloading import run, said_by_tandem

LOST = "the site's last call has not won"
ROUNDS, THREADS = 100, 4
TRIALS = [1, 4, 9, 18, 35, 68]
# A calibration of this machine has no say: decisions are those of the cards that the library knows.
os.environ["XDG_CACHE_HOME"] = "/nowhere"


class Adaptive(unittest.TestCase):
    """The client in mode auto, and what its report says."""

    def report(self, scenario, **variables):
        """The report of one scenario."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "report.json")
            process = run(scenario, **{"TANDEM_MODE": "auto", "TANDEM_STRATEGY": "adaptive",
                                       "TANDEM_SITES": "on", "TANDEM_REPORT": path, **variables})
            self.assertEqual((process.returncode, said_by_tandem(process)), (0, []))
            with open(path, encoding="utf-8") as file:
                return json.load(file)

    def counts(self, scenario, **variables):
        """For each site, in order: how many calls were emulated, and how many were not because the
        last one lost. There are no others."""
        counts = {}
        for call in self.report(scenario, **variables)["calls"]:
            self.assertIn(call["native_reason"], (None, LOST))
            emulated, native = counts.get((call["function"], call["site"]), (0, 0))
            if call["native_reason"]:
                native += call["count"]
            else:
                emulated += call["count"]
            counts[call["function"], call["site"]] = emulated, native
        return list(counts.values())

    def test_bad_data_stay_native_until_the_next_trial(self):
        """After the last trial, at call 68, 64 calls stay native: 32 of them bad."""
        emulated = len(TRIALS) + ROUNDS - 32
        self.assertEqual(self.counts("bad_then_good"), [(emulated, 2 * ROUNDS - emulated)])

    def test_a_site_that_won_stays_emulated(self):
        """Of the bad calls that follow, the first is emulated, too."""
        self.assertEqual(self.counts("good_then_bad"),
                         [(ROUNDS + len(TRIALS), ROUNDS - len(TRIALS))])

    def test_sites_are_told_apart(self):
        """By the place that calls, whether the report has a line for each or not."""
        lost = (len(TRIALS), ROUNDS - len(TRIALS))
        self.assertEqual(self.counts("two_sites"), [lost, (ROUNDS, 0)])
        emulated = ROUNDS + len(TRIALS)
        self.assertEqual(self.counts("two_sites", TANDEM_SITES="off"),
                         [(emulated, 2 * ROUNDS - emulated)])

    def test_every_form_has_sites(self):
        """Batches, and complex numbers."""
        self.assertEqual(self.counts("forms"), 2 * [(len(TRIALS), ROUNDS - len(TRIALS))])

    def test_other_strategies_remember_nothing(self):
        """They emulate all calls of a site, or none."""
        for mode, strategy in (("ozaki2", "performant"), ("auto", "eager")):
            self.assertEqual(
                self.counts("bad_then_good", TANDEM_MODE=mode, TANDEM_STRATEGY=strategy),
                [(2 * ROUNDS, 0)])

    def test_modes_by_name_give_way_to_native(self):
        """Their first calls need not be tried one at a time, as no worst case is predicted."""
        self.assertEqual(self.counts("good_then_bad", TANDEM_MODE="ozaki2"),
                         [(ROUNDS + len(TRIALS), ROUNDS - len(TRIALS))])

    def test_accuracy_beyond_native_is_kept(self):
        """Where native products are not as accurate as asked, none is made."""
        self.assertEqual(self.counts("bad_then_good", TANDEM_ACCURACY="faithful"),
                         [(2 * ROUNDS, 0)])

    def test_threads_share_a_site(self):
        """Trials of all threads together are as far apart; each may have begun one before the
        first was heard of."""
        [(emulated, native)] = self.counts("threads")
        self.assertEqual(emulated + native, THREADS * ROUNDS)
        self.assertGreaterEqual(emulated, len(TRIALS))
        self.assertLessEqual(emulated, len(TRIALS) + 2 + THREADS)

    def test_a_graph_keeps_its_decision(self):
        """Its launches are heard of: after one that lost the next two calls are native."""
        self.assertEqual(self.counts("replays", TANDEM_MODE="ozaki2"), [(2, 2)])

    def test_no_graph_has_a_trial(self):
        """One call loses, two are native, and so are five that are captured; then one is tried."""
        self.assertEqual(self.counts("captures"), [(2, 7)])

    def test_a_reset_forgets(self):
        """Three calls in each context: one loses, two are native."""
        self.assertEqual(self.counts("resets"), [(3, 6)])

    def test_devices_are_told_apart(self):
        """The first call on each is emulated, though that on the other has lost."""
        self.assertEqual(self.counts("devices", HOSTGPU_DEVICES="2"), [(2, 0)])

    def test_the_report_says_so(self):
        """In its head, and in a line of the table."""
        self.assertTrue(self.report("captures")["is_adaptive"])
        self.assertFalse(self.report("captures", TANDEM_STRATEGY="auto")["is_adaptive"])
        table = run("captures", TANDEM_MODE="auto", TANDEM_STRATEGY="adaptive", TANDEM_REPORT="-")
        self.assertIn("another run may give other bits", table.stderr)

    def test_without_a_report(self):
        """The strategy needs none."""
        process = run("bad_then_good", TANDEM_MODE="auto", TANDEM_STRATEGY="adaptive",
                      TANDEM_LOG="debug")
        lost = [line for line in said_by_tandem(process) if f"({LOST}: " in line]
        self.assertEqual(len(lost), 2 * ROUNDS - len(TRIALS) - (ROUNDS - 32))

    def test_mode_native_is_refused(self):
        """One line, and everything stays native."""
        process = run("captures", TANDEM_STRATEGY="adaptive")
        self.assertEqual(process.returncode, 0)
        self.assertEqual(len(said_by_tandem(process)), 1)
        self.assertIn("TANDEM_STRATEGY is 'adaptive', and TANDEM_MODE is 'native', so products "
                      "run native; allowed: ", process.stderr)


if __name__ == "__main__":
    unittest.main(argv=["check_preload_adaptive"])
