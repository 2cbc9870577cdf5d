"""Programs that cancel, fork, exit and misuse cuBLAS: what they get without Tandem they get with
it, and nothing hangs.

usage: check_faults.py CLIENT ESCAPE_CLIENT PRELOAD_LIBRARY HOSTGPU_FOLDER OLD_CUBLAS

OLD_CUBLAS has next to no functions (standin_cublas.c). CLIENT, client_faults.c, does what its
argument says, and ESCAPE_CLIENT, client_escape.cpp, leaves products from within. The host device is
where it can be tried without harm.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest

client, escape_client, preload, hostgpu, old_cublas = sys.argv[1:6]
STAND_INS = [
    os.path.join(hostgpu, name)
    for name in ("libcudart.so.13", "libcublas.so.13", "libcublasLt.so.13")
]
MODES = ["df", "ts", "dd", "d+s", "fp64", "ozaki2", "ozaki1", "ozaki-sgemm", "faithful", "auto"]
# Without those whose host code is another one's: that of df, and that of ozaki1.
ENGINES = MODES if "TEST_EVERYTHING" in os.environ else [
    m for m in MODES if m not in ("ts", "dd", "d+s", "ozaki-sgemm")
]


def run(*arguments, mode, program=(client,), stand_ins=STAND_INS, **variables):
    """The finished process; mode "": without Tandem."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("TANDEM_", "HOSTGPU_"))}
    environment["LD_PRELOAD"] = ":".join([preload] * bool(mode) + stand_ins)
    environment["HOSTGPU_WORKERS"] = "2"
    environment["OPENBLAS_NUM_THREADS"] = "1"
    if mode:
        environment["TANDEM_MODE"] = mode
    environment.update(variables)
    return subprocess.run([*program, *arguments], env=environment, capture_output=True, text=True,
                          check=False)


def said(process):
    """Tandem's own lines on stderr."""
    return [line for line in process.stderr.splitlines()
            if line.startswith("tandem: ") and not line.startswith("tandem: host device: ")]


class Faults(unittest.TestCase):
    maxDiff = None

    def check_right(self, way, modes=("", "native", "df", "ozaki2"), **variables):
        for mode in modes:
            with self.subTest(way=way, mode=mode):
                process = run(way, mode=mode, **variables)
                self.assertEqual((process.returncode, process.stdout, said(process)),
                                 (0, "right\n", []), process.stderr)

    def check_same(self, way, modes=MODES, **variables):
        """The same statuses as without Tandem."""
        plain = run(way, mode="")
        self.assertEqual(plain.returncode, 0, plain.stderr)
        for mode in modes:
            with self.subTest(way=way, mode=mode, **variables):
                process = run(way, mode=mode, **variables)
                self.assertEqual(process.stdout, plain.stdout, process.stderr)
                self.assertEqual(process.returncode, 0, process.stderr)

    def test_a_cancelled_thread_holds_up_nobody(self):
        self.check_right("cancel")

    def test_a_process_ends_with_its_last_thread(self):
        with tempfile.TemporaryDirectory() as folder:
            report = os.path.join(folder, "report.json")
            self.check_right("leave main", TANDEM_REPORT=report)
            self.assertEqual(read(report)["totals"]["intercepted"], 1)

    def test_a_child_that_was_forked_during_products_multiplies(self):
        """Modes differ in what a thread of the parent may have taken: ozaki1 has cuBLAS enqueue."""
        self.check_right("fork", ("", "native", "df", "ozaki2", "ozaki1"))

    def test_exit_during_products_of_others(self):
        self.check_right("exit at work")

    def test_small_stacks(self):
        self.check_right("small stacks", ["", *MODES])

    def test_two_hundred_threads(self):
        self.check_right("many threads")

    def test_a_caller_may_jump_out_of_a_callback(self):
        self.check_right("longjmp")

    def test_products_that_are_left_from_within(self):
        """Tandem sees all products after a native one that longjmp or an exception has left, and
        loses no timer to it."""
        for way in ("longjmp", "exception"):
            for mode in ("", "native", "df", "ozaki2"):
                with self.subTest(way=way, mode=mode), tempfile.TemporaryDirectory() as folder:
                    report = os.path.join(folder, "report.json")
                    process = run(way, mode=mode, program=(escape_client,), TANDEM_REPORT=report)
                    self.assertEqual((process.returncode, process.stdout, said(process)),
                                     (0, "right\n", []), process.stderr)
                    if mode:
                        self.check_all_are_seen(read(report), mode)

    def check_all_are_seen(self, report, mode):
        products = [call for call in report["calls"] if call["m"] == 40]
        left = [call for call in report["calls"] if call["m"] < 40]
        self.assertEqual([(call["mode"], call["count"]) for call in products], [(mode, 301)])
        self.assertEqual(products[0]["timed"], 16 + 300 // 16)
        self.assertEqual((sum(call["count"] for call in left), sum(call["timed"] for call in left)),
                         (300, 0))
        self.assertEqual({call["mode"] for call in left}, {"native"})

    def test_handles_that_are_none(self):
        self.check_same("destroyed handle")

    def test_a_handle_is_destroyed_in_use(self):
        self.check_same("destroyed in use", ["native", "df", "ozaki2"])

    def test_streams_that_are_none(self):
        self.check_same("destroyed stream")
        with tempfile.TemporaryDirectory() as folder:
            report = os.path.join(folder, "report.json")
            run("destroyed stream", mode="df", TANDEM_REPORT=report)
            self.assertEqual([call["native_reason"] for call in read(report)["calls"]],
                             [None, "stream refused"])

    def test_operands_that_are_not_there(self):
        self.check_same("operands")
        self.check_same("operands", ["native", "df"], TANDEM_VERIFY="sample:3")

    def test_batches_with_members_that_are_not_there(self):
        self.check_same("batch")
        self.check_same("batch", ["native", "df"], TANDEM_VERIFY="sample:3")

    def test_pivots_that_are_not_there(self):
        self.check_same("pivots", ["native", "df"])

    def test_devices_change_and_are_reset(self):
        plain = run("devices", mode="", HOSTGPU_DEVICES="2")
        self.assertEqual(plain.returncode, 0, plain.stderr)
        for mode in MODES:
            with self.subTest(mode):
                process = run("devices", mode=mode, HOSTGPU_DEVICES="2")
                self.assertEqual((process.returncode, process.stdout), (0, plain.stdout),
                                 process.stderr)

    def test_times_outlive_the_context(self):
        """Of 40 products 18 are timed. A handle that the program ends gives all their times, and so
        does cublasShutdown; a reset with the handle may take the last one's, which is counted."""
        for way, most in (("reset", 0), ("legacy reset", 0), ("reset handle", 1)):
            for mode in ("native", "df"):
                with self.subTest(way, mode=mode), tempfile.TemporaryDirectory() as folder:
                    report = os.path.join(folder, "report.json")
                    process = run(way, mode=mode, TANDEM_REPORT=report)
                    self.assertEqual(process.returncode, 0, process.stderr)
                    totals = read(report)["totals"]
                    self.assertEqual((totals["intercepted"], totals["timed"] + totals["unread"]),
                                     (40, 18))
                    self.assertLessEqual(totals["unread"], most)

    def test_random_calls_in_threads_and_streams(self):
        self.check_right("streams", ["df"])

    def test_any_call_of_the_runtime_may_fail(self):
        """Each allocation, launch and load, one after another and all of them, and each allocation
        on the host."""
        for mode in ENGINES:
            with self.subTest(mode):
                process = run("faults", mode=mode, TANDEM_REPORT="/dev/null",
                              TANDEM_STRATEGY="eager")
                self.assertEqual(process.returncode, 0, process.stderr)
                *lines, right = process.stdout.splitlines()
                counts = dict(line.split(": ") for line in lines)
                self.assertEqual((right, counts.pop("all of them")), ("right", "0"))
                self.assertEqual(list(counts), ["allocation", "launch", "load", "host allocation"])
                for what, count in counts.items():
                    self.assertGreater(int(count), 0, what)

    def test_errors_of_the_interface_without_statuses(self):
        """A product that fails half way has an error, which cublasGetError gives once."""
        process = run("legacy errors", mode="ozaki1", TANDEM_STRATEGY="eager")
        self.assertEqual((process.returncode, process.stdout), (0, "right\n"), process.stderr)

    def test_the_stream_of_the_interface_without_handles(self):
        """It goes with the interface, of all threads."""
        self.check_right("legacy stream", ["", "native"])
        with tempfile.TemporaryDirectory() as folder:
            report = os.path.join(folder, "report.json")
            self.check_right("legacy stream", ["df"], TANDEM_REPORT=report)
            self.assertEqual([(call["native_reason"], call["count"])
                              for call in read(report)["calls"]],
                             [(None, 2), ("stream unknown", 1)])

    def test_cublas_may_emulate_calls_without_handles(self):
        with tempfile.TemporaryDirectory() as folder:
            report = os.path.join(folder, "report.json")
            for value, reason in (("0", "mode native"),
                                  ("1", "mode native, and cuBLAS may emulate")):
                self.check_right("legacy reset", ["native"], TANDEM_REPORT=report,
                                 CUBLAS_EMULATE_DOUBLE_PRECISION=value)
                (call,) = read(report)["calls"]
                self.assertEqual((call["native_reason"], call["mantissa_bits"]), (reason, None))

    def test_a_cublas_that_lacks_functions(self):
        """Modes that want one of these do without, or leave the product to cuBLAS."""
        for mode in MODES:
            with self.subTest(mode), tempfile.TemporaryDirectory() as folder:
                report = os.path.join(folder, "report.json")
                process = run("once", mode=mode, stand_ins=[STAND_INS[0], old_cublas],
                              TANDEM_REPORT=report)
                self.assertEqual((process.returncode, process.stdout), (0, "right\n"),
                                 process.stderr)
                (call,) = read(report)["calls"]
                self.assertIn(call["native_reason"],
                              (None, "no cuBLAS for the mode", "predicted to gain too little",
                               "finding out that data are bad costs too much"))

    def test_no_device(self):
        plain = run("no device", mode="", HOSTGPU_DEVICES="0")
        self.assertIn("count: 100\n", plain.stdout)  # cudaErrorNoDevice
        for mode in MODES:
            process = run("no device", mode=mode, HOSTGPU_DEVICES="0")
            self.assertEqual((process.returncode, process.stdout, said(process)),
                             (0, plain.stdout, []))


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def counts(path):
    """Program and product count of each report at the name, or with something behind it."""
    folder, name = os.path.split(path)
    reports = [
        read(os.path.join(folder, found)) for found in os.listdir(folder) if found.startswith(name)
    ]
    return sorted(report["totals"]["intercepted"] for report in reports)


class Reports(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        self.report = os.path.join(self.folder, "report.json")

    def run_way(self, *arguments, **variables):
        return run(*arguments, mode="df", TANDEM_REPORT=self.report, **variables)

    def test_an_end_without_handlers_loses_no_product(self):
        for way, status in (("_exit", 0), ("quick_exit", 0), ("abort", -signal.SIGABRT),
                            ("SIGTERM", -signal.SIGTERM), ("SIGINT", -signal.SIGINT),
                            ("SIGKILL", -signal.SIGKILL)):
            with self.subTest(way):
                with open(self.report, "w", encoding="utf-8") as file:
                    file.write('{"an old report": true}')
                process = self.run_way(way, TANDEM_REPORT_EVERY="0")
                self.assertEqual((process.returncode, process.stdout, said(process)),
                                 (status, "right\n", []))
                report = read(self.report)
                self.assertEqual(report["totals"]["intercepted"], 3)
                self.assertEqual(report["is_complete"], way == "quick_exit")

    def test_no_old_report_stays_after_a_product(self):
        """Whatever TANDEM_REPORT_EVERY says, the first product takes the name."""
        self.run_way("once")
        self.assertIs(read(self.report)["is_complete"], True)
        self.run_way("SIGKILL")
        report = read(self.report)
        self.assertEqual((report["totals"]["intercepted"], report["is_complete"]), (1, False))

    def test_products_of_exit_handlers_and_destructors(self):
        """Three, of which two come after the first report. A stream has only that."""
        process = self.run_way("late")
        self.assertEqual((process.returncode, process.stdout, said(process)), (0, "right\n", []))
        report = read(self.report)
        self.assertEqual((report["totals"]["intercepted"], report["is_complete"]), (3, True))
        process = run("late", mode="df", TANDEM_REPORT="-")
        self.assertEqual((process.returncode, process.stdout), (0, "right\n"))
        self.assertIn("1 calls, 1 emulated", process.stderr)
        self.assertIn("the report lacks 2 calls", process.stderr.splitlines()[-1])

    def test_exec_loses_nothing(self):
        process = self.run_way("exec", TANDEM_REPORT_EVERY="0")
        self.assertEqual((process.returncode, process.stdout), (0, "right\n"), process.stderr)
        self.assertEqual(counts(self.report), [1, 3])

    def test_programs_of_a_shell_have_reports_of_their_own(self):
        command = f"'{client}' once; '{client}' quick_exit; '{client}' once & '{client}' once; wait"
        process = run("-c", command, mode="df", program=["sh"], TANDEM_REPORT=self.report)
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertEqual(counts(self.report), [1, 1, 1, 3])
        lines = said(process)
        self.assertEqual(len(lines), 3)
        for line in lines:
            self.assertIn("is the report of another process of this run", line)
            self.assertTrue(os.path.exists(line.split("'")[-2]), line)

    def test_the_next_run_takes_the_name(self):
        for _ in range(3):
            self.assertEqual(said(self.run_way("once")), [])
        self.assertEqual(counts(self.report), [1])

    def test_forked_children_have_reports_of_their_own(self):
        """Twenty with a product each, and what the parent made meanwhile."""
        process = self.run_way("fork", TANDEM_REPORT_EVERY="0")
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertEqual(counts(self.report)[:20], [1] * 20)

    def test_processes_at_the_same_time(self):
        """Two processes on one device, which end together, again and again; each has a report."""
        command = " ".join(f"'{client}' once &" for _ in range(8)) + " wait"
        process = run("-c", command, mode="df", program=["sh"], TANDEM_REPORT=self.report)
        self.assertEqual(process.stdout, "right\n" * 8, process.stderr)
        self.assertEqual(counts(self.report), [1] * 8)

    def test_a_bad_mode_is_reported(self):
        process = run("once", mode="nonsense", TANDEM_REPORT=self.report)
        self.assertEqual(process.returncode, 0)
        self.assertEqual(len(said(process)), 1, process.stderr)
        report = read(self.report)
        self.assertEqual((report["totals"]["native"], report["mode"]), (1, "native"))

    def test_the_table_finds_stderr(self):
        for way in ("close stderr", "reuse stderr"):
            with self.subTest(way):
                data = os.path.join(self.folder, "data")
                process = run(way, mode="df", TANDEM_REPORT="-", CLIENT_FILE=data)
                self.assertEqual(process.returncode, 0)
                self.assertIn("Dgemm", process.stderr)
                if way == "reuse stderr":
                    with open(data, encoding="utf-8") as file:
                        self.assertEqual(file.read(), "data")

    def test_a_full_disk_costs_the_report_alone(self):
        for path in ("/dev/full",):
            process = run("once", mode="df", TANDEM_REPORT=path, TANDEM_REPORT_EVERY="0")
            self.assertEqual((process.returncode, process.stdout), (0, "right\n"))
            (line,) = said(process)
            self.assertIn("No space left on device", line)
        process = run("once", mode="df", TANDEM_LOG="debug:/dev/full")
        self.assertEqual((process.returncode, process.stdout), (0, "right\n"))
        self.assertIn("No space left on device", process.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
