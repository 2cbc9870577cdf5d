"""Programs that know nothing of Tandem, with and without it preloaded, on the host device or on a
GPU.

usage: check_preload.py TANDEM CLIENT CLIENT_NOW CLIENT_DLOPEN PRELOAD_LIBRARY [HOSTGPU_FOLDER
SHIM_WRONG [NVTX_TOOL]]

CLIENT calls every intercepted function in every way and prints a line for each call: client.c. Its
lines without Tandem are what its lines with Tandem must be, but that products become those of the
mode.
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

launcher, client, client_now, client_dlopen, preload = sys.argv[1:6]
client_graph = os.path.join(os.path.dirname(client), "client_graph")
hostgpu = sys.argv[6] if len(sys.argv) > 6 else None  # None: a GPU, and the real libraries
shim_wrong = sys.argv[7] if hostgpu else None
nvtx_tool = sys.argv[8] if len(sys.argv) > 8 else None
stand_ins = ["libcudart.so.13", "libcublas.so.13", "libcublasLt.so.13"] if hostgpu else []
stand_ins = [os.path.join(hostgpu, name) for name in stand_ins]

names = subprocess.run([launcher, "modes", "--names"], capture_output=True, text=True,
                       check=True).stdout.split()
# Emulated ones; ozaki1 and ozaki-sgemm, which are slow here, differ from ozaki2 in nothing that a
# program meets.
MODES = [name for name in names if name not in ("native", "auto", "ozaki1", "ozaki-sgemm")
         ] + ["ozaki2:9"]
# These make every call; the others, whose kernels have tests of their own, each another eighth of
# the operations, sizes and special values of every function.
THOROUGH = MODES if hostgpu is None or "TEST_EVERYTHING" in os.environ else ["df"]
STRIDE = 8
ORDINARY = ["df", "70", "35", "50"]
# A calibration of this machine has no say: decisions are those of the cards that the library knows.
os.environ["XDG_CACHE_HOME"] = "/nowhere"


def environment_of(tandem=True, shim=(), **variables):
    """Variables are the environment's TANDEM_ and HOSTGPU_ ones."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("TANDEM_", "HOSTGPU_"))}
    environment["LD_PRELOAD"] = ":".join([preload] * tandem + list(shim) + stand_ins)
    return environment | variables


def run(program, arguments=(), **preloaded):
    """The finished process."""
    return subprocess.run([program, *arguments], env=environment_of(**preloaded),
                          capture_output=True, text=True, check=False)


def everything(mode):
    """The client's arguments for all calls that a mode gets."""
    return [mode] if mode in THOROUGH else [mode, str(STRIDE), str(MODES.index(mode) % STRIDE)]


def parse(text):
    """The client's lines by name: a list of their parts each."""
    lines = {}
    for line in text.splitlines():
        if line.startswith(" ** On entry to "):
            continue  # cuBLAS says so itself
        name, *parts = line.split(" ; ")
        assert name not in lines, f"two lines are called {name}"
        lines[name] = parts
    return lines


def said(process):
    """Lines on stderr, but for the host device's own: it names each misuse of cuBLAS that it
    refuses."""
    return [
        line for line in process.stderr.splitlines() if not line.startswith("tandem: host device: ")
    ]


def read_report(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def counted(name):
    """How many calls the report has for a line: a call of groups is one for each of the client's
    two."""
    return 2 if "Grouped" in name else 1


class Preload(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.plain = run(client, ["df"], tandem=False)
        cls.native = run(client, ["df"], TANDEM_MODE="native", TANDEM_REPORT=cls.path("native"))
        cls.emulated = {
            mode: run(client, everything(mode), TANDEM_MODE=mode, TANDEM_REPORT=cls.path(mode))
            for mode in MODES
        }

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder.name, name + ".json")

    def assert_ran(self, process):
        self.assertEqual(process.returncode, 0, process.stderr)

    def assert_one_line(self, process, *words):
        """Exit status 0, and one line on stderr that has these words in it."""
        self.assert_ran(process)
        lines = said(process)
        self.assertEqual(len(lines), 1, process.stderr)
        self.assertTrue(lines[0].startswith("tandem: "), lines[0])
        for word in words:
            self.assertIn(word, lines[0])

    def what_became_of_c(self, process):
        (parts,) = parse(process.stdout).values()
        self.assertEqual(parts[0], "status 0")
        return parts[1]

    def test_client_runs_everywhere(self):
        for process in (self.plain, self.native, *self.emulated.values()):
            self.assert_ran(process)
            self.assertEqual(said(process), [])
        self.assertGreater(len(parse(self.plain.stdout)), 400)

    def test_native_changes_nothing(self):
        self.assertEqual(parse(self.native.stdout), parse(self.plain.stdout))

    def test_comparison_sees_products(self):
        """Without Tandem, products are not those of df: else the lines could not tell."""
        became = [parts[1] for parts in parse(self.plain.stdout).values()]
        self.assertGreater(became.count("c other"), 200)
        self.assertGreater(became.count("c unchanged"), 100)

    def test_products_alone_change(self):
        plain = parse(self.plain.stdout)
        for mode, process in self.emulated.items():
            lines = parse(process.stdout)
            if mode in THOROUGH:
                self.assertEqual(list(plain), list(lines))
            self.assertGreater(len(lines), len(plain) // STRIDE)
            for name in lines:
                parts = plain[name]
                with self.subTest(mode=mode, call=name):
                    if " plain arithmetic, " in name:
                        self.assertEqual(parts[1], "c other")
                    if " plain arithmetic, " in name or " invalid: " in name:
                        # cuBLAS 13.1 multiplies by cublasGemmStridedBatchedEx if the batch is -1.
                        self.assertEqual(lines[name], parts)
                        continue
                    became = f"c {mode}" if parts[1] in ("c other", "c df") else parts[1]
                    self.assertIn(became, (f"c {mode}", "c unchanged"))
                    expected = [parts[0], became, *parts[2:]]
                    if not hostgpu and " scalars 0 " in name:
                        # cuBLAS 13.1 multiplies NaN by alpha = 0 if alpha is in device memory, or
                        # matrices are in arrays.
                        expected[2] = lines[name][2]
                    self.assertEqual(lines[name], expected)

    def test_report_counts_what_ran(self):
        for mode, process in self.emulated.items():
            with self.subTest(mode):
                self.check_report(read_report(self.path(mode)), mode, parse(process.stdout))

    def check_report(self, report, mode, lines):
        self.assertEqual(report["mode"], mode)
        self.assertEqual(report["host_device"], hostgpu is not None)
        emulated = {}
        reasons = set()
        for call in report["calls"]:
            reasons.add(call["native_reason"])
            if call["native_reason"] is None:
                self.assertEqual(call["mode"], mode)
                emulated[call["function"]] = emulated.get(call["function"], 0) + call["count"]
        expected = {}
        for name, parts in lines.items():
            function, what = name.split(" ", 1)
            count = 16 if what == "threads" else counted(function) * (parts[1] == f"c {mode}")
            expected[function] = expected.get(function, 0) + count
        self.assertEqual(len(expected), 17)
        self.assertEqual(emulated, expected)
        pedantic = "the handle asks for plain arithmetic"
        self.assertEqual(reasons, {None, "invalid arguments", "nothing to compute", pedantic})
        self.assertEqual(
            sum(call["count"] for call in report["calls"] if call["native_reason"] == pedantic),
            sum(counted(name) for name in lines if " plain arithmetic, " in name),
        )
        self.assertEqual(report["totals"]["emulated"], sum(expected.values()))
        # fp64 has nothing to repair: it is the arithmetic of repairs.
        self.assertEqual(report["totals"]["repaired"] > 0, mode != "fp64")

    def test_products_are_verified(self):
        """Every form of call, in graphs too; C's bits, and what is said, are as without."""
        for mode in ("native", "df", "faithful", "ozaki2:9"):
            with self.subTest(mode):
                path = self.path("verified-" + mode)
                process = run(client, ["df"] if mode == "native" else everything(mode),
                              TANDEM_MODE=mode, TANDEM_REPORT=path, TANDEM_VERIFY="sample:5")
                self.assert_ran(process)
                # cuBLAS 13.1 multiplies NaN by an alpha of 0 in device memory.
                expects_nan = hostgpu is None and mode == "native"
                self.assertEqual([
                    line
                    for line in said(process) if not expects_nan or " of C is nan, " not in line
                ], [])
                plain = self.native if mode == "native" else self.emulated[mode]
                self.assertEqual(process.stdout, plain.stdout)
                self.check_verified(read_report(path), mode)

    def check_verified(self, report, mode):
        unseen = {"invalid arguments", "nothing to compute"}
        if hostgpu or mode != "native":
            self.assertEqual(report["totals"]["outside"], 0)
        self.assertEqual(
            report["totals"]["verified"],
            sum((c["verified"] or {"elements": 0})["elements"] for c in report["calls"]))
        self.assertGreater(report["totals"]["verified"], 5 * 100)
        for call in report["calls"]:
            verified = call["verified"]
            if verified is None:
                self.assertTrue(call["native_reason"] in unseen or mode == "native", call)
                continue
            self.assertNotIn(call["native_reason"], unseen)
            promises = mode != "ozaki2:9" or call["native_reason"] is not None
            self.assertEqual(verified["bound"] is not None, promises, call)
            self.assertGreaterEqual(verified["worst"], verified["mean"])

    @unittest.skipUnless(hostgpu, "the library that spoils products is for the host device")
    def test_wrong_products_of_cublas_are_said(self):
        dump = os.path.join(self.folder.name, "dump")
        os.makedirs(dump)
        process = run(client, ["df", "9", "7", "5"], shim=[shim_wrong], TANDEM_MODE="native",
                      TANDEM_VERIFY="full", TANDEM_VERIFY_DUMP=dump,
                      TANDEM_REPORT=self.path("wrong"))
        lines = said(process)
        self.assertEqual(len(lines), 2, process.stderr)
        self.assertIn(
            "error: cublasDgemm_v2 NN m=9 n=7 k=5, mode native: element (0, 0) of C is off by ",
            lines[0])
        (name,) = os.listdir(dump)
        self.assertIn(os.path.join(dump, name), lines[1])
        (call,) = read_report(self.path("wrong"))["calls"]
        self.assertEqual((call["verified"]["elements"], call["verified"]["outside"]), (63, 1))
        with open(os.path.join(dump, name), encoding="utf-8") as file:
            self.assertEqual(sum(not line.startswith("#") for line in file), 5)

    @unittest.skipUnless(hostgpu, "a GPU verifies fast")
    def test_slow_verification_is_said_before(self):
        """The program is ended then, as this takes the host device 8 s or more."""
        with subprocess.Popen([client, "df", "256", "256", "256"], text=True,
                              env=environment_of(TANDEM_MODE="native", TANDEM_VERIFY="full"),
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
            line = process.stderr.readline()
            process.kill()
        self.assertEqual(line, "tandem: warn: verifying takes the host device about 8 s with the "
                         "next product; TANDEM_VERIFY=sample:N looks at N elements of each "
                         "(said once)\n")

    def test_a_folder_that_cannot_keep_terms_is_said_at_the_start(self):
        for path in (os.path.join(self.folder.name, "none"), client):
            process = run(client, ["df", "9", "7", "5"], TANDEM_MODE="df", TANDEM_VERIFY="sample",
                          TANDEM_VERIFY_DUMP=path)
            self.assert_ran(process)
            (line,) = said(process)
            self.assertIn(f"error: TANDEM_VERIFY_DUMP is '{path}' (", line)
            self.assertIn("; allowed: a folder for new files", line)
            unused = run(client, ["df", "9", "7", "5"], TANDEM_MODE="df", TANDEM_VERIFY_DUMP=path)
            self.assertEqual(said(unused), [])

    @unittest.skipUnless(nvtx_tool, "this build has no NVTX")
    def test_profilers_see_products(self):
        for mode in ("df", "native"):
            process = run(client, ORDINARY, TANDEM_MODE=mode, TANDEM_VERIFY="sample",
                          NVTX_INJECTION64_PATH=nvtx_tool)
            self.assert_ran(process)
            self.assertEqual(
                said(process),
                ["domain Tandem", f"range 0 cublasDgemm_v2 NN m=70 n=35 k=50, mode {mode}"])

    def rules(self, text):
        path = os.path.join(self.folder.name, "rules")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def test_rules_give_calls_their_modes(self):
        for rule, became, mode, reason, choice in (
            ("m=70 -> native", "c other", "native", "a rule of TANDEM_RULES", None),
            ("m=..69 -> native\nfunction=cublasDgemm* k=50 -> faithful", "c faithful", "faithful",
             None, "a rule of TANDEM_RULES"),
            ("m=..69 -> native", "c df", "df", None, None),
            ("caller=client* -> fp64", "c fp64", "fp64", None, "a rule of TANDEM_RULES"),
            ("caller=another -> fp64", "c df", "df", None, None),
            ("function=cublasDgemm -> fp64", "c fp64", "fp64", None, "a rule of TANDEM_RULES"),
        ):
            with self.subTest(rule):
                arguments = [became[2:] if became != "c other" else "df", *ORDINARY[1:]]
                process = run(client, arguments, TANDEM_MODE="df", TANDEM_RULES=self.rules(rule),
                              TANDEM_REPORT=self.path("rules"))
                self.assert_ran(process)
                self.assertEqual(said(process), [])
                self.assertEqual(self.what_became_of_c(process), became)
                (call,) = read_report(self.path("rules"))["calls"]
                self.assertEqual((call["mode"], call["native_reason"], call["choice"]),
                                 (mode, reason, choice))

    def test_names_count_from_where_the_process_starts(self):
        self.rules("m=70 -> native")
        process = subprocess.run(
            [os.path.abspath(client), *ORDINARY], cwd=self.folder.name, capture_output=True,
            text=True, check=False, env={
                **os.environ, "LD_PRELOAD": ":".join(map(os.path.abspath, [preload, *stand_ins])),
                "TANDEM_MODE": "df", "TANDEM_RULES": "rules"
            })
        self.assert_ran(process)
        self.assertEqual(said(process), [])
        self.assertEqual(self.what_became_of_c(process), "c other")

    def test_faults_of_rules_leave_products_native(self):
        path = self.rules("m=70 -> faithful\nm=70 -> nonsense\n")
        process = run(client, ORDINARY, TANDEM_MODE="df", TANDEM_RULES=path,
                      TANDEM_REPORT=self.path("rules"))
        self.assert_ran(process)
        lines = said(process)
        self.assertEqual(len(lines), 2, process.stderr)
        self.assertIn(f"{path}, line 2: the mode is 'nonsense'; allowed: native, df", lines[0])
        self.assertEqual(self.what_became_of_c(process), "c other")
        (call,) = read_report(self.path("rules"))["calls"]
        self.assertEqual(call["native_reason"], "faults in TANDEM_RULES")

    def test_callers_are_told_apart(self):
        for sites, expected in (("on", "client+0x"), ("off", None)):
            process = run(client, ORDINARY, TANDEM_MODE="df", TANDEM_SITES=sites,
                          TANDEM_REPORT=self.path("sites"))
            self.assert_ran(process)
            (call,) = read_report(self.path("sites"))["calls"]
            self.assertEqual(call["site"] and call["site"][:len("client+0x")], expected)
            if hostgpu:
                self.assertGreater(call["native_seconds"], 0.0)

    def test_report_of_native_counts_the_same_calls(self):
        native, df = read_report(self.path("native"))["totals"], read_report(
            self.path("df"))["totals"]
        self.assertEqual(native["intercepted"], df["intercepted"])
        self.assertEqual(native["emulated"], 0)
        self.assertEqual(native["native"], native["intercepted"])

    def test_program_bound_at_start(self):
        process = run(client_now, ["df"], TANDEM_MODE="df", TANDEM_REPORT=self.path("now"))
        self.assert_ran(process)
        self.assertEqual(process.stdout, self.emulated["df"].stdout)
        self.assertEqual(
            read_report(self.path("now"))["totals"]["emulated"],
            read_report(self.path("df"))["totals"]["emulated"])

    def test_program_that_opens_cublas_itself(self):
        process = run(client_dlopen, TANDEM_MODE="df", TANDEM_REPORT=self.path("dlopen"))
        self.assert_ran(process)
        self.assertEqual((process.stdout, said(process)), ("df\n", []))
        self.assertEqual(read_report(self.path("dlopen"))["totals"]["emulated"], 1)

    def test_program_that_opens_cublas_itself_can_stay_native(self):
        process = run(client_dlopen, TANDEM_MODE="df", TANDEM_DLSYM="off",
                      TANDEM_REPORT=self.path("unseen"))
        self.assert_ran(process)
        self.assertEqual((process.stdout, said(process)), ("native\n", []))
        # The stand-in is in every process, so that it counts for nothing that it is there.
        self.assertEqual(os.path.exists(self.path("unseen")), hostgpu is None)
        if hostgpu is None:
            self.assertEqual(read_report(self.path("unseen"))["totals"]["intercepted"], 0)

    def test_some_families_alone(self):
        process = run(client, ORDINARY, TANDEM_MODE="df", TANDEM_ENTRY="gemm_ex,gemm_batched")
        self.assert_ran(process)
        self.assertEqual(self.what_became_of_c(process), "c other")
        process = run(client, ORDINARY, TANDEM_MODE="df", TANDEM_ENTRY="gemm")
        self.assertEqual(self.what_became_of_c(process), "c df")

    def test_small_workspace_gives_the_same_bits(self):
        for mode in ("df", "fp64", "ozaki2", "faithful"):
            with self.subTest(mode):
                process = run(client, [mode, "300", "200", "2000"], TANDEM_MODE=mode,
                              TANDEM_WORKSPACE="2M")
                self.assert_ran(process)
                self.assertEqual(self.what_became_of_c(process), f"c {mode}")

    def test_malformed_values_leave_the_program_native(self):
        for variables, words in (
            ({"TANDEM_MODE": "nonsense"}, ("TANDEM_MODE", "nonsense",
                                           "so products run native; allowed: native, df")),
            ({"TANDEM_MODE": "df:3"}, ("TANDEM_MODE", "df:3")),
            ({"TANDEM_MODE": "df", "TANDEM_WORKSPACE": "12Q"}, ("TANDEM_WORKSPACE", "12Q", "2M")),
            ({"TANDEM_MODE": "df", "TANDEM_WORKSPACE": "-1"}, ("TANDEM_WORKSPACE", "-1")),
            ({"TANDEM_MODE": "df",
              "TANDEM_VERIFY": "sample:0"}, ("TANDEM_VERIFY", "sample:0", "65536")),
            ({"TANDEM_MODE": "df", "TANDEM_LOG": "loud"}, ("TANDEM_LOG", "loud", "debug")),
            ({"TANDEM_MODE": "df", "TANDEM_ENTRY": "trsv"}, ("TANDEM_ENTRY", "trsv", "gemm")),
        ):
            with self.subTest(variables):
                process = run(client, ORDINARY, **variables)
                self.assert_one_line(process, *words)
                self.assertEqual(self.what_became_of_c(process), "c other")

    def test_unknown_variable_is_named(self):
        process = run(client, ORDINARY, TANDEM_MODE="df", TANDEM_WORKSPCE="1G")
        self.assert_one_line(process, "TANDEM_WORKSPCE", "TANDEM_WORKSPACE")
        self.assertEqual(self.what_became_of_c(process), "c df")

    def test_unwritable_report_is_named(self):
        process = run(client, ORDINARY, TANDEM_MODE="df", TANDEM_REPORT="/nonexistent/report.json")
        self.assert_one_line(process, "/nonexistent/report.json")
        self.assertEqual(self.what_became_of_c(process), "c df")

    @unittest.skipUnless(hostgpu, "the host device can be given little memory")
    def test_out_of_memory_falls_back(self):
        """Matrices of 3.6 MiB on a device of 4 MiB: products run native, which is said once and
        counted."""
        for workspace in ("auto", "2M"):
            with self.subTest(workspace):
                process = run(
                    client,
                    ["df", "300", "300", "600"],
                    TANDEM_MODE="df",
                    TANDEM_WORKSPACE=workspace,
                    HOSTGPU_MEMORY="4M",
                    TANDEM_REPORT=self.path("memory"),
                )
                self.assert_one_line(process, "memory", "native")
                self.assertEqual(self.what_became_of_c(process), "c other")
                (call,) = read_report(self.path("memory"))["calls"]
                self.assertEqual((call["count"], call["native_reason"]),
                                 (1, "out of device memory"))

    @unittest.skipUnless(hostgpu, "a GPU's own test has no time for it")
    def test_too_large_falls_back(self):
        """More rows than residues are made of, in next to no memory: native, with a reason of its
        own."""
        rows = 2**24 + 1
        process = run(client, ["df", str(rows), "1", "1"], TANDEM_MODE="ozaki2",
                      TANDEM_REPORT=self.path("large"))
        self.assert_one_line(process, "rows", "native")
        self.assertEqual(self.what_became_of_c(process), "c other")
        (call,) = read_report(self.path("large"))["calls"]
        self.assertEqual((call["m"], call["count"], call["native_reason"]),
                         (rows, 1, "too large for the mode"))
        self.assertIsNone(call["repaired"])

    def test_graphs_use_the_callers_workspace(self):
        """One that the handle has for its stream; else memory that needs no nodes: the graph is
        cloned."""
        for mode in ("df", "ozaki2"):
            process = run(client_graph, TANDEM_MODE=mode, TANDEM_REPORT=self.path("graph-" + mode))
            self.assert_ran(process)
            self.assertEqual(
                parse(process.stdout),
                {
                    "no workspace": ["same bits", "unwritten"],
                    "a workspace": ["same bits", "written"],
                    "the stream set again": ["same bits", "unwritten"],
                    "another stream between": ["same bits", "unwritten"],
                    "another handle": ["same bits", "unwritten"],
                },
            )
            report = read_report(self.path("graph-" + mode))
            self.assertEqual([call["mode"] for call in report["calls"]], [mode])

    def planned(self, *arguments, **variables):
        """What `tandem plan` says that auto takes, and why, on the card that the host device stands
        for."""
        device = ["--device", "Tandem host device (no GPU)"]
        done = subprocess.run([launcher, "plan", *device, *arguments],
                              env={**os.environ,
                                   **variables}, capture_output=True, text=True, check=True)
        (line,) = [line for line in done.stdout.splitlines() if line.startswith("auto: ")]
        mode, reason = line.removeprefix("auto: ").split(", ", 1)
        return mode, reason.split(" (")[0]

    @unittest.skipIf(hostgpu is None, "the client knows what emulated bits are, not native ones")
    def test_auto_takes_what_is_planned(self):
        for arguments, accuracy in ((["300", "200", "400"], "fp64"), (["300", "200",
                                                                       "400"], "faithful"),
                                    (["9", "9", "9"], "fp64"), (["70", "35", "50"], "40")):
            mode, reason = self.planned(*arguments, "--accuracy", accuracy)
            asked = "df" if mode == "native" else mode
            process = run(client, [asked, *arguments], TANDEM_MODE="auto", TANDEM_ACCURACY=accuracy,
                          TANDEM_REPORT=self.path("auto"))
            self.assert_ran(process)
            self.assertEqual(said(process), [])
            self.assertEqual(self.what_became_of_c(process),
                             "c other" if mode == "native" else f"c {mode}")
            report = read_report(self.path("auto"))
            self.assertEqual(report["options"]["TANDEM_ACCURACY"],
                             {"value": accuracy, "origin": "environment"})
            (device,), (call,) = report["devices"], report["calls"]
            self.assertIn("for which the host device stands", device["figures"])
            self.assertEqual((call["mode"], call["choice"] or call["native_reason"]),
                             (mode, reason))
            self.assertGreater(call["predicted"]["native_seconds"], 0)
        self.assertEqual({self.planned("300", "200", "400")[0],
                          self.planned("9", "9", "9")[0]}, {"ozaki2", "native"})

    @unittest.skipIf(hostgpu is None, "the GPU's name is not known here")
    def test_three_times_decide(self):
        """The log and the report have them alike; bad data cost native's time and the probe. The
        time of the mode that 9 rows might take does not depend on the data."""
        for size, mode, has_third in (("300", "ozaki2", True), ("96", "native", True),
                                      ("9", "native", False)):
            process = run(client, ["df", size, size, size], TANDEM_MODE="auto",
                          TANDEM_LOG="debug", TANDEM_REPORT=self.path("times"))
            self.assert_ran(process)
            (call,) = read_report(self.path("times"))["calls"]
            self.assertEqual(call["mode"], mode)
            times = call["predicted"]
            seconds, native, found_out = (times[name] for name in (
                "seconds", "native_seconds", "found_out_seconds"))
            said_times = f"{times['mode']} {1e3 * seconds:.4f} ms, native {1e3 * native:.4f} ms"
            if has_third:
                self.assertTrue(32e-6 < found_out - native < 50e-6)
                said_times += f", found out {1e3 * found_out:.4f} ms"
            else:
                self.assertIsNone(found_out)
            why = call["choice"] or call["native_reason"]
            self.assertIn(f" {mode} ({why}: {said_times})\n", process.stderr)

    @unittest.skipIf(hostgpu is None, "the GPU's name is not known here")
    def test_strategies(self):
        small = ["9", "9", "9"]
        eager = self.planned(*small, TANDEM_STRATEGY="eager")[0]
        for mode, strategy, name, expected in (("auto", "eager", eager, f"c {eager}"),
                                               ("ts", "performant", "ts",
                                                "c other"), ("ts", "eager", "ts", "c ts")):
            process = run(client, [name, *small], TANDEM_MODE=mode, TANDEM_STRATEGY=strategy)
            self.assert_ran(process)
            self.assertEqual(self.what_became_of_c(process), expected)

    @unittest.skipIf(hostgpu is None, "the GPU's name is not known here")
    def test_damaged_calibration_is_ignored(self):
        version = subprocess.run([launcher, "version"], capture_output=True, text=True,
                                 check=True).stdout.split()[1]
        folder = os.path.join(self.folder.name, "tandem")
        os.makedirs(folder)
        name = f"Tandem-host-device--no-GPU--driver-13.0-tandem-{version}.txt"
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write("tandem calibration 3\nnonsense\n")
        process = run(client, ["df", "9", "9", "9"], TANDEM_MODE="auto",
                      XDG_CACHE_HOME=self.folder.name)
        self.assert_one_line(process, "warn: calibration", name, "line 2", "ignored",
                             "tandem calibrate")

    def test_enough_memory_does_not(self):
        """The same device does emulate what fits."""
        process = run(client, ORDINARY, TANDEM_MODE="df", HOSTGPU_MEMORY="4M")
        self.assertEqual(said(process), [])
        self.assertEqual(self.what_became_of_c(process), "c df")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
