"""What the tests share whose clients know nothing of Tandem and call cuSOLVER: the first is linked
to it, the second, if there is one, looks its functions up. They print a line for each call, with
its status, its info and an error.

Their arguments are LINKED_CLIENT PRELOAD_LIBRARY HOSTGPU_FOLDER [LOOKING_CLIENT ...].
"""

import collections
import sys

from preloading import Preloaded, preload, read_calls, results, run

linked, _, hostgpu, looking = sys.argv[1:5]
WORST = 10.0  # times the unit roundoff; LAPACK's own tests fail at 30


def run_solver(*arguments, **variables):
    """A program that looks cuSOLVER up finds the stand-in."""
    return run(*arguments, LD_LIBRARY_PATH=hostgpu, **variables)


class SolverCalls(Preloaded):
    """A test names the functions, the native calls with their reasons, how many others there are,
    and the entry that intercepts them."""
    functions, natives, emulated, entry = (), {}, 0, "factor"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.wanted = results(run_solver(tandem=False))

    def results_of(self, *arguments, **variables):
        process = run_solver(*arguments, **variables)
        self.assertEqual((process.returncode, process.stderr), (0, ""), process)
        return results(process)

    def calls_of(self, client=linked, **variables):
        """The calls of the report of a run, whose results are as they have to be."""
        path = self.path("report")
        self.compare(self.results_of(program=client, TANDEM_REPORT=path, **variables))
        return read_calls(path)

    def compare(self, given):
        self.assertEqual(given.keys(), self.wanted.keys())
        for call, wanted in self.wanted.items():
            if len(wanted) < 3:
                self.assertEqual(given[call], wanted, call)
                continue
            self.assertEqual(given[call][:2], wanted[:2], call)
            self.assertLess(float(given[call][2]), WORST, call)
            self.assertEqual(given[call][3:], self.rest(call, wanted[3:], given[call][3:]), call)

    def rest(self, call, wanted, given):
        """What follows the error of a call."""
        return wanted

    def check_emulated(self, calls, mode):
        natives, emulated = collections.Counter(), 0
        for call in calls:
            self.assertIn(call["function"], self.functions)
            if call["mode"] == "native":
                natives[call["native_reason"]] += call["count"]
            else:
                self.assertEqual(call["mode"], mode)
                emulated += call["count"]
        self.assertEqual((natives, emulated), (self.natives, self.emulated))

    def test_without(self):
        errors = {call: result[2] for call, result in self.wanted.items() if len(result) > 2}
        self.assertGreater(len(errors), 50)
        for call, error in errors.items():
            self.assertLess(float(error), WORST, call)

    def test_modes(self):
        for mode in ("fp64", "ozaki2", "faithful"):
            for client in (linked, looking):
                self.check_emulated(self.calls_of(client, TANDEM_MODE=mode), mode)

    def test_attached(self):
        for client in (linked, looking):
            path = self.path("attached")
            self.compare(self.results_of(preload, program=client, tandem=False, TANDEM_MODE="fp64",
                                         TANDEM_REPORT=path))
            self.check_emulated(read_calls(path), "fp64")

    def test_native(self):
        """The host device stands for a card whose time nobody knows."""
        for variables in ({}, {"TANDEM_MODE": "native"}, {"TANDEM_MODE": "auto"}):
            calls = self.calls_of(**variables)
            self.assertEqual({call["mode"] for call in calls}, {"native"})
            self.assertEqual(sum(call["count"] for call in calls),
                             sum(self.natives.values()) + self.emulated)

    def test_family(self):
        for client, others in ((linked, "gemm"), (looking, "gemm,lu")):
            self.assertEqual(self.calls_of(client, TANDEM_MODE="fp64", TANDEM_ENTRY=others), [])
        self.check_emulated(self.calls_of(TANDEM_MODE="fp64", TANDEM_ENTRY=self.entry), "fp64")

    def is_verified(self, call):
        """True of a call with elements that can be right or wrong."""
        return min(call["m"], call["n"]) > 0

    def test_verified(self):
        for mode in ("native", "fp64"):
            calls = self.calls_of(TANDEM_MODE=mode, TANDEM_VERIFY="sample:20")
            verified = [call["verified"] for call in calls
                        if self.is_verified(call) and call["verified"]]
            self.assertGreater(len(verified), 30)
            for one in verified:
                self.assertEqual((one["outside"], one["worst_ulps"]), (0, None))
                self.assertLess(one["worst"], 2.0**-46)
