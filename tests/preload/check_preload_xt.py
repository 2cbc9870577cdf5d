"""A program that knows nothing of Tandem multiplies by cublasXt, with and without it preloaded.

usage: check_preload_xt.py CLIENT PRELOAD_LIBRARY HOSTGPU_FOLDER
"""

import json
import os
import sys
import tempfile
import unittest

from preloading import run

FORMS = {"cublasXtDgemm", "cublasXtZgemm"}
MODES = ("df", "ts", "fp64", "ozaki2", "faithful")
SIZES = ["600", "500", "50", "64"]  # 3.0 MiB of matrices, by tiles of 64


def lines(process):
    return dict(line.split(" ; ", 1) for line in process.stdout.splitlines())


class PreloadXt(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.plain = run(tandem=False)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def report(self, *arguments, **variables):
        """The client's process under these variables, and its report."""
        path = os.path.join(self.folder.name, "report.json")
        process = run(*arguments, TANDEM_REPORT=path, **variables)
        self.assertEqual((process.returncode, process.stderr), (0, ""))
        with open(path, encoding="utf-8") as file:
            return process, json.load(file)

    def of_xt(self, report):
        return [call for call in report["calls"] if call["function"] in FORMS]

    def test_cublasxt_alone(self):
        found = lines(self.plain)
        self.assertEqual((self.plain.returncode, self.plain.stderr), (0, ""))
        refused = {name for name, line in found.items() if not line.startswith("status 0 ; ")}
        self.assertEqual(refused, {"cublasXtDgemm a bad operation", "cublasXtZgemm a bad operation", "cublasXtDgemm no device",
                                   "cublasXtDeviceSelect", "cublasXtDgemm no such device"})

    def test_products_have_the_bits_of_the_device(self):
        plain = lines(self.plain)
        for mode in MODES:
            for devices in ("1", "2"):
                with self.subTest(mode=mode, devices=devices):
                    process, report = self.report(TANDEM_MODE=mode, HOSTGPU_DEVICES=devices)
                    found = lines(process)
                    self.assertEqual(found.keys(), plain.keys())
                    for name, line in found.items():
                        wanted = plain[name].split(" ; ")
                        if wanted[0] == "status 0" and "DeviceSelect" not in name:
                            wanted[1] = "same"
                        if len(wanted) == 3:
                            wanted[2] = f"device {int(devices) - 1}"
                        self.assertEqual(line.split(" ; "), wanted, name)
                    calls = self.of_xt(report)
                    self.assertEqual({call["function"] for call in calls if call["mode"] == mode}, FORMS)
                    self.assertLessEqual({call["native_reason"] for call in calls},
                                         {None, "invalid arguments", "nothing to compute", "nothing to multiply"})

    def test_native_changes_nothing(self):
        for mode in ("native", "auto"):
            process, report = self.report(TANDEM_MODE=mode, TANDEM_VERIFY="sample")
            self.assertEqual(process.stdout, self.plain.stdout)
            calls = self.of_xt(report)
            self.assertEqual({call["function"] for call in calls}, FORMS)
            if mode == "native":
                self.assertEqual({call["mode"] for call in calls}, {"native"})

    def test_it_can_be_left_out(self):
        process, report = self.report(TANDEM_MODE="df", TANDEM_ENTRY="lt,lu")
        self.assertEqual((process.stdout, report["calls"]), (self.plain.stdout, []))

    def test_what_does_not_fit_is_cut_into_tiles(self):
        for mode in ("df", "fp64", "faithful"):
            whole, report = self.report(*SIZES, TANDEM_MODE=mode)
            (call,) = report["calls"]
            self.assertEqual((call["m"], call["n"], call["k"], call["count"]), (600, 500, 50, 1))
            for devices in ("1", "2"):
                tiled, report = self.report(*SIZES, TANDEM_MODE=mode, HOSTGPU_MEMORY="5M", HOSTGPU_DEVICES=devices)
                self.assertEqual(tiled.stdout, whole.stdout)
                calls = report["calls"]
                self.assertEqual({(call["mode"], call["native_reason"]) for call in calls}, {(mode, None)}, calls)
                self.assertEqual(sum(call["m"] * call["n"] * call["count"] for call in calls), 600 * 500)
                self.assertTrue(all(call["m"] % 64 == 0 or call["m"] < 600 for call in calls), calls)
                self.assertGreater(sum(call["count"] for call in calls), 1)
                self.assertEqual({call["device"] for call in calls}, set(range(int(devices))))

    def test_what_has_no_tile_is_native(self):
        plain = run(*SIZES[:3], "2048", tandem=False)
        process, report = self.report(*SIZES[:3], "2048", TANDEM_MODE="df", HOSTGPU_MEMORY="3M")
        self.assertEqual(process.stdout, plain.stdout)
        (call,) = report["calls"]
        self.assertEqual((call["mode"], call["native_reason"]), ("native", "out of device memory"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
