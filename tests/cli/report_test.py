"""tandem report: reports of several processes as one table and one page, sorted; and what it says
of files that are none.

usage: report_test.py TANDEM
"""

import html.parser
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

TANDEM = sys.argv[1]

VERIFIED = {
    "elements": 64, "special": 4, "outside": 0, "worst": 1e-16, "mean": 1e-17, "worst_ulps": 3.0,
    "mean_ulps": 0.5, "bound": 2e-15, "bound_ulps": 0.5
}


def call(**members):
    """A line of `calls`, as the library writes it."""
    made = {
        "function": "cublasDgemm_v2", "type": "binary64", "op_a": "N", "op_b": "T", "m": 1000,
        "n": 500, "k": 100, "batch": 1, "device": 0, "mode": "ozaki2", "count": 10, "timed": 5,
        "seconds": 0.010, "repaired": 7, "tiles": 2, "planes": 14, "native_reason": None,
        "choice": None, "predicted": None, "native_seconds": 0.004, "site": None,
        "verified": VERIFIED
    }
    made.update(members)
    return made


def report(calls, host=False):
    """The text of a report."""
    native = sum(c["count"] for c in calls if c["native_reason"])
    total = sum(c["count"] for c in calls)
    totals = {
        "intercepted": total, "emulated": total - native, "native": native, "unlisted": 0,
        "timed": 5, "seconds": 1.0, "repaired": 7, "verified": 64, "outside": 0
    }
    lines = ",".join("\n    " + json.dumps(c) for c in calls)
    return (
        '{\n  "schema": 1,\n  "tandem": "0.1.0",\n  "program": "/usr/bin/a \\"b\\"",\n'
        '  "pid": 7,\n  "mode": "ozaki2",\n'
        '  "devices": [{"number": 0, "name": "A card", "figures": null}],\n'
        f'  "host_device": {json.dumps(host)},\n'
        f'  "totals": {json.dumps(totals)},\n  "calls": [{lines}\n  ]\n}}\n')


class Page(html.parser.HTMLParser):
    """Its cells, and what it asks of the network."""

    def __init__(self):
        super().__init__()
        self.cells, self.rectangles, self.links, self.is_cell = [], 0, [], False

    def handle_starttag(self, tag, attributes):
        self.is_cell = tag in ("td", "th")
        self.rectangles += tag == "rect"
        self.links += [v for name, v in attributes if name in ("src", "href")
                       ] + [tag] * (tag in ("script", "link"))
        if self.is_cell:
            self.cells.append("")

    def handle_data(self, data):
        if self.is_cell:
            self.cells[-1] += data

    def handle_endtag(self, tag):
        self.is_cell = False


class Report(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

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
        self.assertEqual(self.tandem(path).stdout.splitlines()[0],
                         '1 report of /usr/bin/a "b" on A card: 10 calls, 10 emulated, 0 native')

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
        self.assertEqual((row["calls"], row["s, all"], row["ms, one"]), ("41", "0.1640", "4.000"))
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
            call(function="cublasGemmEx")
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
                         call(m=2, seconds=None, timed=0)], host=True))
        target = self.path("page.html")
        self.assertIn("times say nothing about a GPU", self.tandem(path, "--html", target).stdout)
        with open(target, encoding="utf-8") as file:
            text = file.read()
        page = Page()
        page.feed(text)
        self.assertEqual(page.rectangles, 1)
        self.assertEqual(page.links, [])
        self.assertIn("a<b>&c+0x1 (x)", page.cells)
        self.assertIn("Dgemm_v2", page.cells)
        self.assertNotIn("://", text.replace("http://www.w3.org/2000/svg", ""))

    def test_files_that_are_no_reports(self):
        good, bad = self.write("a", report([call()])), self.write("b", "{\"calls\": []}\n")
        process = self.tandem(bad, self.path("none"), good, status=1)
        self.assertIn("Dgemm_v2", process.stdout)
        self.assertEqual(process.stderr.splitlines(), [
            f"tandem: error: cannot read '{bad}' (it is no report of Tandem's: docs/report.md)",
            f"tandem: error: cannot read '{self.path('none')}' (No such file or directory)"])
        self.assertEqual(self.tandem(bad, status=1).stdout, "")

    def test_arguments(self):
        for arguments, said in (([], "no report given"), (["--sort", "tme",
                                                           "x"], "did you mean time?"),
                                (["--html", "/nonexistent/p.html",
                                  "x"], "--html is '/nonexistent/p.html'")):
            with self.subTest(arguments):
                process = self.tandem(*arguments, status=2)
                self.assertEqual(len(process.stderr.splitlines()), 1)
                self.assertIn(said, process.stderr)

    def test_a_report_without_calls(self):
        self.assertEqual(len(self.tandem(self.write("a", report([]))).stdout.splitlines()), 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
