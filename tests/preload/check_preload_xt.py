"""A program that knows nothing of Tandem calls cublasXt's level 3 routines, with and without it
preloaded.

usage: check_preload_xt.py CLIENT PRELOAD_LIBRARY HOSTGPU_FOLDER
"""

import os
import sys
import unittest

from preloading import Preloaded, rows_of, run

FUNCTIONS = {f"cublas{name}" for name, _ in rows_of("XT")}
MODES = {"df": "2", "ozaki2": "1"}  # and devices

# With so little device memory all functions have several tiles of multiples of 32.
TILES = ["tiles", "32"]
MEMORY = "1300k"
# The large calls of real matrices, for what has nothing to do with numbers.
REAL_TILES = [*TILES, "D"]


def lines(process, begin=""):
    found = (line.split(" ; ", 1) for line in process.stdout.splitlines())
    return {name: line for name, line in found if name.startswith(begin)}


class PreloadXt(Preloaded):
    maxDiff = None
    on_one = {}  # of a mode

    def report(self, *arguments, **variables):
        """Of calls of cublasXt alone."""
        process, calls = super().report("xt", *arguments, **variables)
        self.assertEqual((process.returncode, process.stderr), (0, ""))
        return process, [call for call in calls if call["function"] in FUNCTIONS]

    def tiles_on_one(self, mode):
        """What one device makes of the large calls in a mode, each in one piece."""
        if mode not in self.on_one:
            process, calls = self.report(*TILES, TANDEM_MODE=mode)
            self.assertEqual(sum(call["count"] for call in calls), 2 * len(FUNCTIONS))
            self.assertEqual({call["device"] for call in calls}, {0})
            self.on_one[mode] = process
        return self.on_one[mode]

    def test_cublasxt_alone(self):
        found = lines(self.plain)
        self.assertEqual((self.plain.returncode, self.plain.stderr), (0, ""))
        refused = {
            name
            for name, line in found.items() if not line.startswith("status 0 ; same ; ")
        }
        self.assertEqual(refused, {f"{function} a bad argument"
                                   for function in FUNCTIONS} | {
                                       "cublasXtDgemm no device", "cublasXtZtrsm no device",
                                       "cublasXtDeviceSelect", "cublasXtDgemm no such device"
                                   })

    def test_results_have_the_bits_of_the_device(self):
        plain = lines(self.plain)
        for mode, devices in MODES.items():
            with self.subTest(mode=mode, devices=devices):
                process, calls = self.report(TANDEM_MODE=mode, HOSTGPU_DEVICES=devices)
                found = lines(process)
                self.assertEqual(found.keys(), plain.keys())
                for name, line in found.items():
                    wanted = plain[name].replace("device 0", f"device {int(devices) - 1}")
                    self.assertEqual(line, wanted, name)
                self.assertEqual({call["function"]
                                  for call in calls if call["mode"] == mode}, FUNCTIONS)
                reasons = {call["native_reason"] for call in calls}
                self.assertLessEqual(reasons, {
                    None, "invalid arguments", "nothing to compute", "nothing to multiply",
                    "devices unknown", "stream refused"
                })
                self.assertIn("devices unknown", reasons)

    def test_tiles_of_several_devices_have_the_bits_of_the_device(self):
        plain = lines(self.plain)
        modes = ["ozaki2", "df"]
        if "TEST_EVERYTHING" in os.environ:
            modes += ["ozaki2:12", "ozaki1", "ts", "faithful", "fp64"]
        for mode in modes:
            with self.subTest(mode=mode):
                process, calls = self.report("check", "32", TANDEM_MODE=mode, HOSTGPU_DEVICES="3",
                                             HOSTGPU_PEERS="1")
                found = {
                    name: line.replace("device 2", "device 0")
                    for name, line in lines(process).items()
                }
                self.assertEqual(found, plain)
                self.assertEqual({call["device"] for call in calls if call["mode"] == mode},
                                 {0, 1, 2})

    def test_devices_share_what_fits_on_one(self):
        """Where a mode decides by all lines, a solve's vectors stay together. Two devices make the
        calls of real matrices alone; complex ones are shared by three."""
        for mode, devices, tiles, more in (("ozaki2", "2", REAL_TILES, {}),
                                           ("ozaki2", "3", TILES, {"HOSTGPU_PEERS": "1"}),
                                           ("df", "3", TILES, {})):
            with self.subTest(mode=mode, devices=devices):
                begin = "cublasXtD" if tiles is REAL_TILES else "cublasXt"
                whole = lines(self.tiles_on_one(mode), begin)
                shared, calls = self.report(*tiles, TANDEM_MODE=mode, HOSTGPU_DEVICES=devices,
                                            **more)
                self.assertEqual(lines(shared), whole)
                for function in (name for name in FUNCTIONS if name.startswith(begin)):
                    alone = function == "cublasXtZher2k" or (mode == "ozaki2" and
                                                             function.endswith("trsm"))
                    used = {call["device"] for call in calls if call["function"] == function}
                    self.assertEqual(used, {0} if alone else set(range(int(devices))), function)

    def test_the_handle_says_which_devices(self):
        whole = lines(self.tiles_on_one("ozaki2"), "cublasXtD")
        shared, calls = self.report(*REAL_TILES, TANDEM_MODE="ozaki2", HOSTGPU_DEVICES="3",
                                    XT_DEVICES="2,0")
        self.assertEqual(lines(shared), whole)
        self.assertEqual({call["device"] for call in calls}, {0, 2})
        alone = [call["device"] for call in calls if call["function"] == "cublasXtDtrsm"]
        self.assertEqual(set(alone), {2})  # the first

    def test_a_device_without_memory_is_left_out(self):
        whole = lines(self.tiles_on_one("ozaki2"), "cublasXtD")
        for full in "01":
            shared, calls = self.report(*REAL_TILES, TANDEM_MODE="ozaki2", HOSTGPU_DEVICES="3",
                                        HOSTGPU_MEMORY="64M", XT_FULL=full)
            self.assertEqual(lines(shared), whole)
            self.assertEqual({call["device"] for call in calls}, {0, 1, 2} - {int(full)})
            self.assertEqual({call["native_reason"] for call in calls}, {None})

    def test_memory_may_be_pinned_for_a_call(self):
        plain = lines(self.tiles_on_one("df"), "cublasXtD")
        for devices in "13":
            pinned, _ = self.report(*REAL_TILES, TANDEM_MODE="df", HOSTGPU_DEVICES=devices,
                                    XT_PINS="1")
            self.assertEqual(lines(pinned), plain)

    def test_threads_share_devices(self):
        whole = self.tiles_on_one("df")
        wanted = {name: line for name, line in lines(whole).items() if name.endswith(" left")}
        process, _ = self.report("threads", "32", TANDEM_MODE="df", HOSTGPU_DEVICES="3")
        self.assertEqual(lines(process), wanted)

    def test_native_changes_nothing(self):
        """Under auto, copies may leave a call native that would be emulated on the device."""
        for mode in ("native", "auto"):
            process, calls = self.report(
                TANDEM_MODE=mode, CUBLAS_EMULATE_DOUBLE_PRECISION="1",
                TANDEM_VERIFY="sample" if "TEST_EVERYTHING" in os.environ else "sample:2")
            said = process.stdout.replace("; right ;", "; same ;") if mode == "auto" else \
                process.stdout
            self.assertEqual(said, self.plain.stdout)
            self.assertEqual({call["function"] for call in calls}, FUNCTIONS)
            if mode == "native":
                self.assertEqual({call["mode"] for call in calls}, {"native"})
                self.assertIn("mode native, and cuBLAS may emulate",
                              {call["native_reason"] for call in calls})

    def test_native_calls_have_times(self):
        """Whichever device is the current one of the program, here the second."""
        for devices in ("0", "1", "0,1"):
            _, calls = self.report(*REAL_TILES, TANDEM_MODE="native", HOSTGPU_DEVICES="2",
                                   XT_DEVICES=devices)
            self.assertEqual({call["device"] for call in calls}, {int(devices[0])})
            self.assertEqual({(call["count"], call["timed"], call["unread"])
                              for call in calls}, {(1, 1, 0)})

    def test_it_can_be_left_out(self):
        process, calls = self.report(TANDEM_MODE="df", TANDEM_ENTRY="lt,lu")
        self.assertEqual((process.stdout, calls), (self.plain.stdout, []))

    def check_tiles(self, calls, function, mode):
        """A function's two large calls, by tiles that are all of the result."""
        mine = [call for call in calls if call["function"] == function]
        self.assertEqual({(call["mode"], call["native_reason"])
                          for call in mine}, {(mode, None)}, mine)
        self.assertGreater(sum(call["count"] for call in mine), 2)
        self.assertEqual({call["device"] for call in mine}, {0, 1})
        area = sum(call["m"] * call["n"] * call["count"] for call in mine)
        if function[9:] in ("gemm", "symm", "hemm", "trmm", "trsm"):
            self.assertEqual(area, 2 * 70 * (1120 if "trsm" in function else 560))
        else:  # tiles of two triangles with the diagonal, or of two products that are such
            products = 2 if function == "cublasXtZher2k" else 1
            self.assertTrue(300 * 300 * products < area <= 2 * 300 * 300 * products, area)

    def test_what_does_not_fit_is_cut_into_tiles(self):
        whole = self.tiles_on_one("fp64")
        tiled, calls = self.report(*TILES, TANDEM_MODE="fp64", HOSTGPU_MEMORY=MEMORY,
                                   HOSTGPU_DEVICES="2")
        wanted, found = lines(whole), lines(tiled)
        for side in ("left", "right"):  # its two products add up the terms in another order
            self.assertTrue(found.pop(f"cublasXtZher2k {side}").startswith("status 0 ; "))
            del wanted[f"cublasXtZher2k {side}"]
        self.assertEqual(found, wanted)
        for function in FUNCTIONS:
            self.check_tiles(calls, function, "fp64")

    def test_a_hermitian_update_of_rank_2k_is_two_products(self):
        arguments = [*TILES, "Zher2k"]
        whole, calls = self.report(*arguments, TANDEM_MODE="faithful")
        self.assertEqual([call["count"] for call in calls], [1, 1])
        tiled, calls = self.report(*arguments, TANDEM_MODE="faithful", HOSTGPU_MEMORY="3M",
                                   HOSTGPU_DEVICES="2")
        self.assertEqual(tiled.stdout,
                         whole.stdout)  # elements of both products are correctly rounded
        self.check_tiles(calls, "cublasXtZher2k", "faithful")

    def test_a_solve_whose_a_does_not_fit_is_done_in_stages(self):
        for mode in ("fp64", "df"):
            whole, calls = self.report("stages", "32", TANDEM_MODE=mode)
            self.assertEqual([call["count"] for call in calls], [1] * 4)
            staged, calls = self.report("stages", "32", TANDEM_MODE=mode, HOSTGPU_MEMORY="8M",
                                        HOSTGPU_DEVICES="2")
            self.assertEqual(staged.stdout, whole.stdout)
            self.assertEqual({(call["mode"], call["native_reason"])
                              for call in calls}, {(mode, None)}, calls)
            terms = {call["k"] for call in calls if call["function"] == "cublasXtZtrsm"}
            self.assertIn(0, terms)  # of solves
            self.assertGreater(max(terms), 0)  # of products

    def test_a_stage_without_memory_is_native(self):
        plain = lines(run("stages", "32", tandem=False))
        process, calls = self.report("stages", "32", TANDEM_MODE="df", TANDEM_LOG="error",
                                     HOSTGPU_MEMORY="3M")
        self.assertEqual({line.split(" ; ")[0] for line in lines(process).values()}, {"status 0"})
        self.assertEqual(lines(process).keys(), plain.keys())
        self.assertEqual({call["mode"] for call in calls}, {"df", "native"})
        self.assertEqual({call["native_reason"] for call in calls}, {None, "out of device memory"})

    def test_what_has_no_tile_is_native(self):
        plain = run(TILES[0], "2048", tandem=False)
        process, calls = self.report(TILES[0], "2048", TANDEM_MODE="df", HOSTGPU_MEMORY="1M")
        self.assertEqual(process.stdout, plain.stdout)
        self.assertEqual({(call["function"], call["mode"], call["native_reason"])
                          for call in calls}, {(function, "native", "out of device memory")
                                               for function in FUNCTIONS})

    def test_a_tile_that_fails_is_done_otherwise(self):
        process, calls = self.report("faults", "32", TANDEM_MODE="df", TANDEM_LOG="error",
                                     HOSTGPU_MEMORY=MEMORY, HOSTGPU_DEVICES="2")
        found = [line.split(" ; ") for line in process.stdout.splitlines()]
        self.assertEqual(len(found), 2 * 3, process.stdout)
        self.assertTrue(all(int(count) > 0 for _, _, count in found))
        self.assertEqual({call["mode"]
                          for call in calls}, {"df", "fp64"})  # nothing is left to cublasXt

    def test_nothing_is_under_way_where_a_copy_fails(self):
        """Of one that fails once strips or tiles before it have left the call is told of an
        error."""
        for mode, more in (("df", {"HOSTGPU_MEMORY": MEMORY}), ("ozaki2", {}),
                           ("ozaki2", {"HOSTGPU_DEVICES": "2", "HOSTGPU_PEERS": "1"})):
            with self.subTest(mode=mode, **more):
                process, _ = self.report("copies", "32", TANDEM_MODE=mode, TANDEM_LOG="error",
                                         **more)
                found = [line.split(" ; ") for line in process.stdout.splitlines()]
                self.assertEqual({what for _, what, _ in found}, {"copies"}, process.stdout)
                self.assertTrue(all(int(count) > 2 for _, _, count in found), process.stdout)

    def test_columns_may_be_far_apart(self):
        plain = run("far", "32", tandem=False)
        self.assertEqual({line.split(" ; ", 1)[1]
                          for line in plain.stdout.splitlines()}, {"status 0 ; same"})
        for mode in ("fp64", "ozaki2"):
            process, calls = self.report("far", "32", TANDEM_MODE=mode)
            self.assertEqual(process.stdout, plain.stdout)
            self.assertEqual({call["mode"] for call in calls}, {mode})

    def test_no_result_is_written_over_what_a_device_has_still_to_read(self):
        for mode, more in (("ozaki2", {}), ("ozaki2", {"HOSTGPU_PEERS": "1"}), ("df", {})):
            with self.subTest(mode=mode, **more):
                process, calls = self.report("in_place", "32", TANDEM_MODE=mode,
                                             HOSTGPU_DEVICES="2", **more)
                self.assertEqual(process.stdout, "cublasXtDtrmm ; 0\ncublasXtZtrmm ; 0\n")
                self.assertEqual({call["device"] for call in calls}, {0, 1})

    @unittest.skipUnless("TEST_EVERYTHING" in os.environ, "takes minutes")
    def test_a_tile_that_shares_factors_fails_and_is_done_otherwise(self):
        process, calls = self.report("faults", "32", TANDEM_MODE="ozaki2", TANDEM_LOG="error",
                                     HOSTGPU_DEVICES="2", HOSTGPU_PEERS="1")
        self.assertEqual(len(process.stdout.splitlines()), 2 * 3, process.stdout)
        self.assertEqual({call["mode"] for call in calls}, {"ozaki2", "fp64"})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
