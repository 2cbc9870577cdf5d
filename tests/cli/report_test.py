"""tandem report: reports of several processes as one table and one page, sorted; and what it says
of files that are none.

usage: report_test.py TANDEM
"""

import csv
import html.parser
import io
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

TANDEM = sys.argv[1]
# Under sanitizers a process takes 0.1 s to start.
IS_BRIEF = os.environ.get("TEST_BRIEF")

VERIFIED = {
    "elements": 64, "special": 4, "outside": 0, "worst": 1e-16, "mean": 1e-17, "worst_ulps": 3.0,
    "mean_ulps": 0.5, "bound": 2e-15, "bound_ulps": 0.5
}


def call(**members):
    """A line of `calls`, as the library writes it."""
    made = {
        "function": "cublasDgemm_v2", "type": "binary64", "op_a": "N", "op_b": "T", "m": 1000,
        "n": 500, "k": 100, "batch": 1, "device": 0, "mode": "ozaki2", "count": 10, "timed": 5,
        "unread": 0, "seconds": 0.010, "repaired": 7, "tiles": 2, "planes": 14,
        "native_reason": None,
        "choice": None, "predicted": None, "native_seconds": 0.004, "site": None,
        "verified": VERIFIED
    }
    made.update(members)
    return made


def report(calls, on_host=False, **members):
    """The text of a report, as the library lays it out."""
    native = sum(c["count"] for c in calls if c["native_reason"])
    total = sum(c["count"] for c in calls)
    totals = {
        "intercepted": total, "emulated": total - native, "native": native, "unlisted": 0,
        "timed": 5, "unread": 0, "seconds": 1.0, "repaired": 7, "verified": 64, "outside": 0
    }
    made = {
        "schema": 1, "tandem": "0.1.0", "program": '/usr/bin/a "b"', "pid": 7, "run": "7-1",
        "host": "node1", "started": "2026-11-28T09:00:00Z", "written": "2026-11-28T09:00:07Z",
        "command": ["a", "-x", "1"], "is_complete": True, "mode": "ozaki2",
        "devices": [{"number": 0, "name": "A card", "figures": None}], "host_device": on_host,
        "totals": totals
    }
    made.update(members)
    lines = ",".join("\n    " + json.dumps(c) for c in calls)
    head = ",".join(f'\n  "{name}": {json.dumps(value)}' for name, value in made.items())
    return f'{{{head},\n  "calls": [{lines}\n  ]\n}}\n'


class Page(html.parser.HTMLParser):
    """Its cells, and what it asks of the network."""

    def __init__(self):
        super().__init__()
        self.cells, self.bars, self.links, self.is_cell = [], 0, [], False
        self.open, self.wide_tables = [], 0

    def handle_starttag(self, tag, attributes):
        self.is_cell = tag in ("td", "th")
        self.bars += ("class", "bar") in attributes
        self.wide_tables += tag == "table" and self.open[-1] == [("class", "wide")]
        if tag not in ("meta", "br"):
            self.open.append(attributes)
        self.links += [v for name, v in attributes if name in ("src", "href")
                       ] + [tag] * (tag in ("script", "link"))
        if self.is_cell:
            self.cells.append("")

    def handle_data(self, data):
        if self.is_cell:
            self.cells[-1] += data

    def handle_endtag(self, tag):
        self.is_cell = False
        self.open.pop()


class Report(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def tandem(self, *arguments, status=0):
        process = subprocess.run([TANDEM, "report", *arguments], capture_output=True, text=True,
                                 check=False)
        self.assertEqual(process.returncode, status, process.stderr)
        return process

    def rows(self, *arguments):
        """The table, as dictionaries by title; cells are apart by two blanks."""
        lines = self.tandem(*arguments).stdout.splitlines()
        start = next(i for i, line in enumerate(lines) if line.startswith("cublas..."))
        titles = re.split(r"\s{2,}", lines[start].strip())
        return [dict(zip(titles, re.split(r"\s{2,}", line.strip()))) for line in lines[start + 1:]]

    def test_one_report(self):
        path = self.write("a", report([call()]))
        (row,) = self.rows(path)
        self.assertEqual(
            row, {
                "cublas...": "Dgemm_v2", "op": "NT", "m": "1000", "n": "500", "k": "100",
                "mode": "ozaki2", "calls": "10", "s, all": "0.0200", "ms, one": "2.000",
                "GFLOP/s": "50.0", "native ms": "4.000", "gain": "2.00", "repaired": "7",
                "tiles": "2", "planes": "14", "error": "1.00e-16", "mean": "1.00e-17",
                "bound": "2.11e-15", "ulps": "3.00e+00"
            })
        self.assertEqual(self.tandem(path).stdout.splitlines()[:3], [
            '1 report of /usr/bin/a "b" on A card: 10 calls, 10 emulated, 0 native',
            "Begun 2026-11-28T09:00:00Z, written 2026-11-28T09:00:07Z, on node1",
            "Command: a -x 1"])

    def test_bits_of_another_emulation(self):
        """The most that cuBLAS kept; 0 where it did not emulate, and nothing where it tells
        nothing."""
        def bits_of(*counts):
            paths = [self.write(str(i), report([call(mantissa_bits=bits)]))
                     for i, bits in enumerate(counts)]
            (row,) = self.rows(*paths)
            return row.get("cuBLAS's bits")
        self.assertEqual(bits_of(39, 55, 0, None), "55")
        self.assertEqual(bits_of(0, None), "0")
        self.assertIsNone(bits_of(None, None))

    def test_ranks_are_merged(self):
        worse = dict(VERIFIED, worst=5e-16, mean=4e-17, outside=2, elements=24, special=4)
        paths = [
            self.write("0", report([call()])),
            self.write("1",
                       report([call(count=30, timed=10, seconds=0.050, planes=15,
                                    verified=worse)])),
            self.write(
                "2",
                report([
                    call(count=1, timed=0, seconds=None, repaired=None, tiles=None, planes=None,
                         native_seconds=None, verified=None)
                ]))
        ]
        (row,) = self.rows(*paths)
        self.assertEqual((row["calls"], row["untimed"], row["s, all"], row["ms, one"]),
                         ("41", "1", "0.1700", "4.250"))
        self.assertEqual(row["tiles"], "4")
        self.assertEqual((row["repaired"], row["planes"], row["native ms"]), ("14", "15", "4.000"))
        self.assertEqual((row["error"], row["mean"], row["outside"]), ("5.00e-16", "1.75e-17", "2"))
        self.assertIn("3 reports of ", self.tandem(*paths).stdout)

    def test_other_calls_stay_apart(self):
        others = [
            call(),
            call(m=2),
            call(op_a="T"),
            call(mode="df"),
            call(mode="native", native_reason="why"),
            call(site="f+0x1 (a)"),
            call(site="f+0x2 (a)"),
            call(batch=3),
            call(function="cublasGemmEx"),
            call(type="complex binary64"),
            call(site="f" * 700 + "1"),
            call(site="f" * 700 + "2")
        ]
        rows = self.rows(self.write("a", report(others)))
        self.assertEqual(len(rows), len(others))
        self.assertEqual(sum(row["calls"] == "10" for row in rows), len(others))

    def test_orders(self):
        calls = [
            call(m=1, seconds=0.001, count=9, native_seconds=0.1),
            call(m=2, seconds=0.5, count=6),
            call(m=3, seconds=None, timed=0, count=7, verified=dict(VERIFIED, worst=1.0))
        ]
        path = self.write("a", report(calls))
        for order, expected in (("time", "213"), ("calls", "132"), ("gain", "123"), ("error",
                                                                                     "312")):
            with self.subTest(order):
                self.assertEqual("".join(row["m"] for row in self.rows("--sort", order, path)),
                                 expected)
        self.assertEqual([row["m"] for row in self.rows(path)], ["2", "1", "3"])

    def test_native_lines_have_no_gain(self):
        native = call(mode="native", native_reason="predicted to gain too little")
        (row,) = self.rows(self.write("a", report([native])))
        self.assertNotIn("gain", row)
        self.assertEqual(row["because"], "predicted to gain too little")

    def test_page_stands_alone(self):
        path = self.write(
            "a", report([call(site="a<b>&c+0x1 (x)"),
                         call(m=2, seconds=None, timed=0)], on_host=True))
        target = self.path("page.html")
        self.assertIn("times say nothing about a GPU", self.tandem(path, "--html", target).stdout)
        with open(target, encoding="utf-8") as file:
            text = file.read()
        page = Page()
        page.feed(text)
        self.assertEqual((page.bars, page.links, page.open), (1, [], []))
        self.assertEqual(page.wide_tables, 1)
        for part in ('name="viewport"', "prefers-color-scheme: dark", "@media print", "nowrap"):
            self.assertIn(part, text)
        self.assertIn("a<b>&c+0x1 (x)", page.cells)
        self.assertIn("Dgemm_v2", page.cells)
        self.assertNotIn("://", text)
        self.assertNotIn("<svg", text)

    def test_files_that_are_no_reports(self):
        good, bad = self.write("a", report([call()])), self.write("b", "{\"calls\": []}\n")
        process = self.tandem(bad, self.path("none"), good, status=1)
        self.assertIn("Dgemm_v2", process.stdout)
        self.assertEqual(process.stderr.splitlines(), [
            f"tandem: error: cannot read '{bad}' (it is no report of Tandem's: docs/report.md)",
            f"tandem: error: cannot read '{self.path('none')}' (No such file or directory)"])
        self.assertEqual(self.tandem(bad, status=1).stdout, "")

    def test_a_file_counts_once(self):
        """By whatever name; a pipe may have another report each time."""
        path, other = self.write("a", report([call()])), self.write("b", report([call()]))
        os.symlink(path, self.path("c"))
        process = self.tandem(path, other, self.path("c"), path, status=1)
        self.assertTrue(process.stdout.startswith("2 reports of "), process.stdout)
        self.assertEqual(process.stderr.splitlines(), [
            f"tandem: error: '{name}' is given twice; it counts once"
            for name in (self.path("c"), path)])

    def test_a_process_counts_once(self):
        """A copy of its report, or one of before; another machine may have the same process."""
        whole = report([call(count=9)], process="7-1")
        first, copy = self.write("a", whole), self.write("b", whole)
        before = self.write("c", report([call(count=5)], process="7-1", is_complete=False,
                                        written="2026-11-28T09:00:01Z"))
        others = [self.write("d", report([call()], process="7-1", host="node2")),
                  self.write("e", report([call()], process="7-2")),
                  self.write("f", report([call()])), self.write("g", report([call()]))]
        process = self.tandem(first, copy, before, *others, status=1)
        self.assertTrue(process.stdout.startswith("5 reports of "), process.stdout)
        self.assertIn(": 49 calls, ", process.stdout.splitlines()[0])
        self.assertEqual(process.stderr.splitlines(), [
            f"tandem: error: '{name}' is not counted (it is of the same process as '{first}')"
            for name in (copy, before)])
        self.assertEqual(self.tandem("--against", first, copy).stderr, "")

    def test_the_latest_report_of_a_process_counts(self):
        """Whatever the order: the one of most calls, of the end, or of the latest time."""
        made = [report([call(count=count)], process="7-1", is_complete=count == 9 and end,
                       written=f"2026-11-28T09:00:0{second}Z")
                for count, end, second in ((1, False, 3), (9, False, 1), (9, False, 2),
                                           (9, True, 1))]
        for order in itertools.permutations(range(4)):
            paths = [self.write(f"{i}", made[i]) for i in order]
            process = self.tandem(*paths, status=1)
            self.assertTrue(process.stdout.startswith("1 report of "), process.stdout)
            self.assertIn(": 9 calls, ", process.stdout.splitlines()[0])
            self.assertNotIn("INCOMPLETE", process.stdout)
            left_out = [line.split("'")[1] for line in process.stderr.splitlines()]
            self.assertEqual(set(left_out), {self.path(f"{i}") for i in range(3)})
            self.assertEqual(len(left_out), 3)
        process = self.tandem(self.path("1"), self.path("2"), status=1)
        self.assertEqual(process.stderr, f"tandem: error: '{self.path('1')}' is not counted (it is "
                                         f"of the same process as '{self.path('2')}')\n")

    def test_arguments(self):
        for arguments, said in (([], "no report given"), (["--sort", "tme",
                                                           "x"], "did you mean time?"),
                                (["--html", "/nonexistent/p.html",
                                  "x"], "--html is '/nonexistent/p.html'"),
                                (["--csv", "a", "--json", self.path("b"), "--html", "a", "x"],
                                 "--csv and --html name one file, 'a'"),
                                (["--csv", "-", "--json", "-",
                                  "x"], "--csv and --json name one file, '-'")):
            with self.subTest(arguments):
                process = self.tandem(*arguments, status=2)
                self.assertEqual(len(process.stderr.splitlines()), 1)
                self.assertIn(said, process.stderr)

    def test_one_file_by_several_names(self):
        """Also where it is not there yet: the last result would be the only one."""
        path = self.write("a", report([call()]))
        os.symlink(self.folder, self.path("link"))
        for other in (f"{self.folder}/.//c", self.path("link/c")):
            for _ in range(2):
                process = self.tandem("--csv", self.path("c"), "--json", other, path, status=2)
                self.assertEqual(process.stderr, f"tandem: error: --csv and --json name one file, "
                                                 f"'{other}'\n")
                self.write("c", "")

    def test_no_result_takes_the_place_of_a_report(self):
        text = report([call()])
        first, second = self.write("a", text), self.write("b", text)
        for option in ("--json", "--csv", "--html"):
            process = self.tandem(option, first, second, status=2)
            self.assertEqual(process.stderr.splitlines(), [
                f"tandem: error: {option} is '{first}', which is a report; allowed: a file for "
                f"the result"])
            with open(first, encoding="utf-8") as file:
                self.assertEqual(file.read(), text)
        for _ in range(2):  # a result may be made anew
            self.tandem("--json", self.path("made"), first, second)

    def test_a_report_without_calls(self):
        self.assertEqual(len(self.tandem(self.write("a", report([]))).stdout.splitlines()), 3)

    # ---- what is read ----

    def refusal(self, content):
        """What is said, in one line, of a file with this content."""
        path = self.write("refused", content)
        process = self.tandem(path, status=1)
        self.assertEqual(process.stdout, "")
        (line,) = process.stderr.splitlines()
        start = f"tandem: error: cannot read '{path}' ("
        self.assertEqual(line[:len(start)], start)
        return line[len(start):-1]

    def test_any_layout_is_read(self):
        """As jq, Python and others write JSON anew."""
        text = report([call(site='a "b\\'), call(m=2)])
        expected = self.tandem(self.write("a", text)).stdout
        self.assertIn('a "b\\', expected)
        for options in ({}, {"indent": 4}, {"sort_keys": True, "indent": "\t"},
                        {"separators": (",", ":")}):
            with self.subTest(options):
                path = self.write("b", json.dumps(json.loads(text), **options))
                self.assertEqual(self.tandem(path).stdout, expected)

    def test_numbers_may_be_written_otherwise(self):
        text = report([call(count=10, seconds=2)]).replace('"count": 10', '"count": 1.0e1')
        (row,) = self.rows(self.write("a", text))
        self.assertEqual((row["calls"], row["s, all"]), ("10", "4.0000"))

    def test_reports_of_older_versions_are_read(self):
        made = json.loads(report([call()]))
        for name in ("host", "started", "written", "command"):
            del made[name]
        del made["totals"]["unread"], made["calls"][0]["unread"]
        process = self.tandem(self.write("a", json.dumps(made)))
        self.assertEqual(process.stdout.splitlines()[1].split()[0], "cublas...")

    def test_predictions_may_lack_what_is_newer(self):
        """A line of before there was a third time is the line that has it."""
        times = {"mode": "ozaki2", "seconds": 0.002, "native_seconds": 0.004}
        old, new = (self.rows(self.write("a", report([call(predicted=predicted)])))
                    for predicted in (times, times | {"found_out_seconds": 0.0041}))
        self.assertEqual(old, new)

    def test_truncated_files_are_refused(self):
        text = report([call(), call(m=2)])
        step = 91 if IS_BRIEF else 7
        for length in range(1, len(text.rstrip())):
            if length % step == 0 or length > len(text) - 9:
                self.assertRegex(self.refusal(text[:length]),
                                 r"^(it ends on line \d+ before it is whole|it is no JSON: .*)$")
        self.assertIn("it ends on line 1 before it is whole", self.refusal(""))
        self.assertIn("before it is whole", self.refusal(text[:-3]))

    def test_other_files_are_refused(self):
        good = json.loads(report([call()]))
        for content, said in (
            (json.dumps({**good, "schema": 2}), "its schema is 2, and this version"),
            (json.dumps({**good, "schema": "1"}), "it is no report of Tandem's"),
            ("[]", "it is no report of Tandem's"),
            ("3", "it is no "),
            (json.dumps({**good, "calls": {}}), '"calls" is no list'),
            (json.dumps({**good, "calls": [7]}), "calls[0] is no object"),
            (json.dumps({**good, "devices": [[]]}), "devices[0] is no object"),
            (json.dumps({**good, "command": [1]}), '"command" has what is not a text'),
            ('{"schema": 1, "schema": 1}', "duplicate object key"),
            ("[" * 100000, "maximum parsing depth"),
            ("\0", "it ends on line 1"), ("\x1b[31m", "it is no JSON")):
            with self.subTest(said):
                self.assertIn(said, self.refusal(content))

    def test_each_member_has_its_type(self):
        """Whatever is read of a report is refused in another type, by name."""
        good = json.loads(report([call(side="L", uplo="U", diag="N")]))
        wrong = {"a text": 7, "a letter": "NN", "an integer": 1.5, "a count": -1,
                 "a number from 0 on": "7", "true or false": 0}

        def kinds_of(turn):
            kinds = list(wrong.items())
            return kinds[turn % len(kinds)::len(kinds)] if IS_BRIEF else kinds

        places = {"calls[0]": lambda r: r["calls"][0], '"totals"': lambda r: r["totals"],
                  '"verified" of calls[0]': lambda r: r["calls"][0]["verified"],
                  "the report": lambda r: r}
        refused = 0
        for place, of in places.items():
            for turn, name in enumerate(of(good)):
                for kind, value in kinds_of(turn):
                    broken = json.loads(json.dumps(good))
                    of(broken)[name] = value
                    path = self.write("b", json.dumps(broken))
                    process = subprocess.run([TANDEM, "report", path], capture_output=True,
                                             text=True, check=False)
                    if process.returncode:
                        refused += f'("{name}" of {place} is not {kind}' in process.stderr
        if IS_BRIEF:
            self.assertGreater(refused, 4)
        else:
            self.assertEqual(refused, 24 + 9 + 10 + 10)

    def test_a_fifo_does_not_hang(self):
        os.mkfifo(self.path("fifo"))
        process = self.tandem(self.path("fifo"), status=1)
        self.assertIn("it ends on line 1 before it is whole", process.stderr)

    def test_a_pipe_is_read(self):
        text = report([call()])
        process = subprocess.run([TANDEM, "report", "/dev/stdin"], input=text, capture_output=True,
                                 text=True, check=True)
        self.assertIn("Dgemm_v2", process.stdout)

    # ---- what is shown ----

    def test_letters_of_level_3(self):
        solves = [
            call(function="cublasDtrsm_v2", side=side, uplo=uplo, op_a=op, op_b="N", diag=diag, k=0)
            for side in "LR" for uplo in "LU" for op in "NTC" for diag in "NU"
        ]
        others = [call(function="cublasDsymm_v2", side="L", uplo="U", op_a="N", op_b="N", k=0),
                  call(function="cublasDsyrk_v2", uplo="L", op_a="T", op_b="N", m=0)]
        rows = self.rows(self.write("a", report(solves + others)))
        self.assertEqual(sorted(row["op"] for row in rows),
                         sorted([s["side"] + s["uplo"] + s["op_a"] + s["diag"] for s in solves] +
                                ["LU", "LT"]))

    def test_letters_of_factors(self):
        factors = [call(function="cusolverDnDgetrf", op_b="N", k=0),
                   call(function="cusolverDnDgetrs", op_a="T", op_b="N", m=0),
                   *(call(function="cusolverDnZpotrf", uplo=uplo, op_b="N", m=0, k=0)
                     for uplo in "LU"),
                   *(call(function="cusolverDnDormqr", side=side, op_a="T", op_b="N")
                     for side in "LR"),
                   *(call(function="cusolverDnDsyevd", uplo="L", op_b="N", job=job, m=0, k=0)
                     for job in "NV"),
                   call(function="cublasDfuture", uplo="U", op_a="T", op_b="N")]
        rows = self.rows(self.write("a", report(factors)))
        self.assertEqual(sorted(row["op"] for row in rows),
                         ["-", "L", "LT", "NL", "RT", "T", "U", "UT", "VL"])

    def test_letters_are_those_of_the_report(self):
        """Also of a function that only a newer version knows; one line with what an older version
        wrote of the same calls, without letters."""
        future = call(function="cublasDfuture", uplo="U", letters="UTN")
        (row,) = self.rows(self.write("a", report([future])))
        self.assertEqual(row["op"], "UTN")
        paths = [self.write(name, report([call(**letters)], pid=pid))
                 for pid, (name, letters) in enumerate((("a", {}), ("b", {"letters": "NT"})), 1)]
        for order in (paths, paths[::-1]):
            (row,) = self.rows(*order)
            self.assertEqual((row["op"], row["calls"]), ("NT", "20"))

    def test_rates_of_all_routines(self):
        """Operations of 2 ms, as BLAS and LAPACK count them."""
        m, n, k = 1000, 500, 100
        triangle = {"side": "L", "uplo": "U"}
        for members, operations in (
            ({"function": "cublasLtMatmul"}, 2 * m * n * k),
            ({"function": "cublasZgemm3m", "type": "complex binary64"}, 8 * m * n * k),
            ({"function": "cublasZhemm_v2", "type": "complex binary64", **triangle},
             8 * m * m * n),
            ({"function": "cublasDsymm_v2", **triangle, "side": "R"}, 2 * m * n * n),
            ({"function": "cublasDtrsm_v2", **triangle, "diag": "N"}, m * m * n),
            ({"function": "cublasXtDtrmm", **triangle, "side": "R", "diag": "N"}, m * n * n),
            ({"function": "cublasDsyrk_v2", "uplo": "U"}, n * (n + 1) * k),
            ({"function": "cublasDsyrkx", "uplo": "U"}, n * (n + 1) * k),
            ({"function": "cublasZher2k_v2", "uplo": "U", "type": "complex binary64"},
             8 * n * (n + 1) * k),
            ({"function": "cublasDgetrfBatched", "batch": 3}, 2 * n**3),
            ({"function": "cublasDgetrsBatched"}, 2 * n * n * k),
            ({"function": "cusolverDnDgetrf"}, n * n * (m - n / 3)),
            ({"function": "cusolverDnXgetrf", "m": n, "n": m}, n * n * (m - n / 3)),
            ({"function": "cusolverDnZgeqrf", "type": "complex binary64"},
             8 * n * n * (m - n / 3)),
            ({"function": "cusolverDnDpotrf", "uplo": "L"}, n**3 / 3),
            ({"function": "cusolverDnDpotrs", "uplo": "L"}, 2 * n * n * k),
            ({"function": "cusolverDnDsyevd", "uplo": "L", "job": "V"}, 14 * n**3 / 3),
            ({"function": "cusolverDnDsyevd", "uplo": "L", "job": "N"}, 4 * n**3 / 3),
            ({"function": "cusolverDnDormqr", "side": "L"}, 2 * n * k * (2 * m - k))):
            with self.subTest(members):
                (row,) = self.rows(self.write("a", report([call(**members)])))
                self.assertAlmostEqual(float(row["GFLOP/s"]), operations / 2e6, delta=0.051)
        (row,) = self.rows(self.write("a", report([call(function="cublasDfuture")])))
        self.assertNotIn("GFLOP/s", row)

    def test_programs_are_told_apart(self):
        paths = [self.write(str(i), report([call()], program=program, host=host, command=[program]))
                 for i, (program, host) in enumerate((("/a", "n1"), ("/b", "n2"), ("/a", "n1")))]
        lines = self.tandem(*paths).stdout.splitlines()
        self.assertEqual(lines[0], "3 reports (2 of /a, 1 of /b) on A card: "
                         "30 calls, 30 emulated, 0 native")
        self.assertTrue(lines[1].endswith("on n1, n2"), lines[1])
        self.assertTrue(lines[2].startswith("cublas..."), lines[2])

    def test_incomplete_reports_are_marked(self):
        whole, part = self.write("a", report([call()])), self.write(
            "b", report([call()], is_complete=False))
        self.assertNotIn("INCOMPLETE", self.tandem(whole).stdout)
        self.assertIn("INCOMPLETE: 1 of 2 reports", self.tandem(whole, part).stdout)
        self.assertIn(part, self.tandem(whole, part).stdout)
        self.tandem(whole, part, "--html", self.path("p.html"))
        with open(self.path("p.html"), encoding="utf-8") as file:
            self.assertIn("INCOMPLETE: 1 of 2 reports", file.read())

    def test_lost_times_stand_for_nothing(self):
        """Of 40 calls 18 were to be timed, and one was."""
        path = self.write("a", report([call(count=40, timed=1, unread=17, seconds=0.9)]))
        (row,) = self.rows(path)
        self.assertEqual((row["s, all"], row["ms, one"], row["untimed"]),
                         ("2.0000", "900.000", "37"))
        self.assertIn("The times of 37 calls are not known", self.tandem(path).stdout)

    def test_no_calls_of_a_kind(self):
        for members in ({"count": 0}, {"count": 0, "timed": 0, "seconds": None},
                        {"count": 0, "timed": 3, "seconds": 0}):
            text = self.tandem(self.write("a", report([call(**members)]))).stdout
            self.assertNotIn("nan", text)
            self.assertNotIn("inf", text)

    def test_infinite_errors_are_not_unknown(self):
        infinite = call(m=1, verified=dict(VERIFIED, worst=None, mean=None, outside=1))
        rows = self.rows("--sort", "error", self.write("a", report([call(), infinite])))
        self.assertEqual([(row["m"], row["error"], row["mean"]) for row in rows],
                         [("1", "inf", "inf"), ("1000", "1.00e-16", "1.00e-17")])

    def test_what_nobody_can_judge_is_counted(self):
        """Elements that are neither right nor wrong, in every form of the report."""
        def counting(name, unjudged, **members):
            return self.write(name, report([call(verified=dict(VERIFIED, **members, **unjudged))]))

        paths = [
            counting("a", {"unjudged": 3}),
            counting("b", {"unjudged": 4}, elements=0, special=0),
            counting("older", {})]
        (row,) = self.rows(*paths)
        self.assertEqual((row["unjudged"], "outside" in row), ("7", False))
        page = Page()
        page.feed(self.tandem("--html", "/dev/stdout", *paths).stdout)
        titles = page.cells[page.cells.index("cublas..."):page.cells.index("Dgemm_v2")]
        self.assertEqual(page.cells[page.cells.index("Dgemm_v2") + titles.index("unjudged")], "7")
        (line,) = json.loads(self.tandem("--json", "-", *paths).stdout)["lines"]
        self.assertEqual(line["unjudged"], 7)
        (line,) = csv.DictReader(io.StringIO(self.tandem("--csv", "-", *paths).stdout))
        self.assertEqual(line["unjudged"], "7")
        self.assertNotIn("unjudged", self.rows(paths[2])[0])

    def test_what_was_not_verified_has_nothing_outside(self):
        """Nobody looked at it, which is not 0 elements beyond their bound."""
        path = self.write("a", report([call(m=1, verified=None), call(m=2)]))
        none, some = json.loads(self.tandem("--json", "-", path).stdout)["lines"]
        self.assertEqual([(line["outside"], line["unjudged"]) for line in (none, some)],
                         [(None, None), (0, 0)])
        none, some = csv.DictReader(io.StringIO(self.tandem("--csv", "-", path).stdout))
        self.assertEqual([line["outside"] for line in (none, some)], ["", "0"])
        self.assertNotIn("outside", self.rows(path)[0])
        worse = call(m=3, verified=dict(VERIFIED, outside=2))
        rows = self.rows(path, self.write("b", report([worse, call(m=1)])))
        self.assertEqual([(row["m"], row["outside"]) for row in rows],
                         [("1", "0"), ("2", "0"), ("3", "2")])

    def test_control_characters_are_shown(self):
        """Nothing that a program or a file is called tells a terminal to do anything."""
        evil = "\x1b]0;x\x07\n\r\x7f\u009b31m"
        path = self.write("a\x1b[1m", report(
            [call(function="cublas" + evil, site=evil, mode=evil)], program=evil, command=[evil],
            devices=[{"number": 0, "name": evil}], is_complete=False))
        for arguments in ([path], ["--html", "/dev/stderr", path], ["--against", path, path]):
            process = self.tandem(*arguments)
            self.assertNotRegex(process.stdout + process.stderr, "[\x00-\x09\x0b-\x1f\x7f-\x9f]")
            self.assertIn(r"\x1b]0;x\x07\x0a\x0d\x7f\x9b31m", process.stdout)
        for content in ("{" + evil, json.dumps({"schema": 1, evil: evil})):
            self.assertNotRegex(self.refusal(content), "[\x00-\x1f\x7f-\x9f]")

    def test_letters_of_several_bytes_take_one_column(self):
        reason = "mode native"
        lines = self.tandem(self.write("a", report(
            [call(site=site, native_reason=reason) for site in ("größer.so", "a.so")])))
        places = {line.index(reason) for line in lines.stdout.splitlines() if reason in line}
        self.assertEqual(len(places), 1, lines.stdout)

    # ---- for programs ----

    def test_csv(self):
        path = self.write("a", report([call(site='x, "y"'), call(m=2, seconds=None, timed=0)]))
        first, second = csv.DictReader(io.StringIO(self.tandem("--csv", "-", path).stdout))
        self.assertEqual((first["function"], first["op"], first["m"], first["site"]),
                         ("cublasDgemm_v2", "NT", "1000", 'x, "y"'))
        self.assertEqual((float(first["seconds"]), float(first["gflops"])), (0.02, 50.0))
        self.assertEqual((second["seconds"], second["untimed"]), ("", "10"))

    def test_json(self):
        path, target = self.write("a", report([call(site="x\n")])), self.path("out.json")
        self.tandem("--json", target, path)
        with open(target, encoding="utf-8") as file:
            made = json.load(file)
        (of,), (line,) = made["reports"], made["lines"]
        self.assertEqual((of["file"], of["host"], of["command"], of["is_complete"]),
                         (path, "node1", ["a", "-x", "1"], True))
        self.assertEqual((line["m"], line["seconds"], line["site"], line["because"]),
                         (1000, 0.02, "x\n", None))

    def test_a_difference(self):
        old = self.write("old", report([
            call(mode="native", native_reason="mode native", verified=None),
            call(m=3, mode="native", native_reason="mode native")]))
        new = self.write("new", report([
            call(mode="df", seconds=0.005), call(mode="ts", seconds=0.005), call(m=4)]))
        rows = self.rows("--against", old, new)
        self.assertEqual([row["m"] for row in rows], ["1000", "4", "3"])
        lines = self.tandem("--against", old, new).stdout.splitlines()
        self.assertEqual(lines[-3].split(), [
            "Dgemm_v2", "NT", "1000", "500", "100", "native", "several", "10", "20", "0.0200",
            "0.0200", "2.00", "-", "1.00e-16"])
        self.assertEqual(lines[-1].split()[5:9], ["native", "-", "10", "0"])
        self.assertTrue(lines[0].startswith("Before: 1 report of "), lines[0])
        (first, *_) = csv.DictReader(
            io.StringIO(self.tandem("--against", old, "--csv", "-", new).stdout))
        self.assertEqual((first["mode_before"], first["mode"]), ("native", "several"))
        self.assertIn("cannot read", self.tandem("--against", "none", new, status=1).stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
