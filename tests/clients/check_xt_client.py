"""many_cards/xt.c on host devices: equal bits on one and on two, and lines of JSON.

usage: check_xt_client.py CLIENT TANDEM
"""

import json
import os
import subprocess
import sys
import unittest

CLIENT, TANDEM = map(os.path.abspath, sys.argv[1:])


def run(*words, mode="df"):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("TANDEM_", "HOSTGPU_"))}
    return subprocess.run([TANDEM, "run", "--hostgpu", "--mode", mode, "--", CLIENT, *words],
                          env={**environment, "HOSTGPU_DEVICES": "2"}, capture_output=True,
                          text=True, check=False)


def lines(process):
    return [json.loads(line) for line in process.stdout.splitlines()]


class Client(unittest.TestCase):
    def test_two_devices_have_the_bits_of_one(self):
        process = run("300")
        self.assertEqual(process.returncode, 0, process.stderr)
        found = lines(process)
        self.assertEqual({(line["routine"], line["devices"]) for line in found},
                         {(name, devices) for name in ("dgemm", "zgemm", "dsyrk", "dtrsm")
                          for devices in (1, 2)})
        self.assertTrue(all(line["same_bits"] for line in found), found)

    def test_one_routine(self):
        found = lines(run("200", "2", "dgemm", mode="ozaki2"))
        self.assertEqual({line["routine"] for line in found}, {"dgemm"})
        self.assertTrue(all(line["same_bits"] for line in found), found)

    def test_one_place(self):
        found = lines(run("200", "1", "all", "pinned"))
        self.assertEqual([(line["routine"], line["place"]) for line in found],
                         [(name, "pinned") for name in ("dgemm", "zgemm", "dsyrk", "dtrsm")])

    def test_the_bus(self):
        found = lines(run("bus", "3", mode="native"))
        self.assertEqual([line["devices"] for line in found if "copies" in line], [1, 1, 2, 2] * 2)

    def test_bad_words_are_refused(self):
        for words in ((), ("many",), ("bus",), ("200", "2", "dgemm", "pinned", "more")):
            self.assertEqual(run(*words, mode="native").returncode, 2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
