"""Captured products whose graphs may have conditional nodes, in a program that knows nothing of it.

usage: check_graph_branch.py CLIENT LIBRARY HOSTGPU_FOLDER
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

client, library, hostgpu = sys.argv[1:4]
# So large that the probe is worth its time on the card that the host device stands for.
CUBE = "1024", "1024"
# Bad data would cost too much here, without a condition.
THIN = "3200", "100"


def run(*settings, sizes=CUBE, **variables):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("TANDEM_", "HOSTGPU_"))}
    stand_ins = ["libcudart.so.13", "libcublas.so.13", "libcublasLt.so.13"]
    environment |= {
        "LD_LIBRARY_PATH": hostgpu,
        "LD_PRELOAD": ":".join([library, *(os.path.join(hostgpu, name) for name in stand_ins)]),
        "TANDEM_MODE": "auto", "XDG_CACHE_HOME": "/nowhere", **variables}
    done = subprocess.run([client, *sizes, *settings], env=environment, capture_output=True,
                          text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout.splitlines()


class GraphBranch(unittest.TestCase):
    ours = ["conditions: 0", "ordinary: near", "wide: near", "ordinary again: near"]
    either = ["conditions: 1", "ordinary: near", "wide: cuBLAS's", "ordinary again: near"]

    def test_graphs_have_no_condition(self):
        """Of the card that the host device stands for, auto emulates the call all the same."""
        self.assertEqual(run(), self.ours)

    def test_a_program_may_allow_it(self):
        self.assertEqual(run(TANDEM_GRAPH_BRANCH="on"), self.either)

    def test_for_some_calls(self):
        self.assertEqual(run("graph_branch=on"), self.either)
        self.assertEqual(run("graph_branch=off", TANDEM_GRAPH_BRANCH="on"), self.ours)

    def test_modes_by_name_have_no_condition(self):
        """Their bits are defined without it."""
        self.assertEqual(run(TANDEM_GRAPH_BRANCH="on", TANDEM_MODE="ozaki2")[0], "conditions: 0")

    def test_the_report_says_why(self):
        for value, conditions, mode, reason in (
                ("off", "0", "native", "bad data cost too much in a graph without conditions"),
                ("on", "1", "ozaki2", None)):
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "report.json")
                said = run(sizes=THIN, TANDEM_GRAPH_BRANCH=value, TANDEM_REPORT=path)
                with open(path, encoding="utf-8") as file:
                    (call,) = json.load(file)["calls"]
            self.assertEqual((said, call["mode"], call["native_reason"]),
                             ([f"conditions: {conditions}"], mode, reason))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
