"""bench/replay and what is made of its CSV: usage: check_replay.py PROGRAM REPORT GRID"""

import csv
import os
import subprocess
import sys
import tempfile
import unittest

PROGRAM, REPORT, GRID = sys.argv[1:4]
SHAPES = "op_a,op_b,m,n,k,batch,beta,count\nN,T,30,20,10,1,0,3\nC,N,9,8,7,5,1,2\n"


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False)


class Replay(unittest.TestCase):
    def setUp(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        self.shapes = os.path.join(folder, "shapes.csv")
        self.path = os.path.join(folder, "replay.csv")

    def replay(self, shapes, *modes):
        with open(self.shapes, "w", encoding="utf-8") as file:
            file.write(shapes)
        return run(PROGRAM, "--budget", "0.00001", "--csv", self.path, self.shapes, *modes)

    def test_every_shape_in_every_mode(self):
        done = self.replay(SHAPES, "native", "auto", "df", "ozaki2:9")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        with open(self.path, encoding="utf-8") as file:
            remark, *rest = file.readlines()
        self.assertIn("for which the host device stands", remark)
        lines = list(csv.DictReader(rest))
        self.assertEqual([line["mode"] for line in lines], ["native", "auto", "df", "ozaki2:9"] * 2)
        self.assertEqual([line["ran"] for line in lines],
                         ["native", "native", "df", "ozaki2:9"] * 2)
        self.assertEqual({(line["op_a"], line["m"], line["beta"], line["count"]) for line in lines},
                         {("N", "30", "0", "3"), ("C", "9", "1", "2")})
        self.assertTrue(
            all(float(line["us"]) > 0.0 and float(line["predicted"]) > 0.0 for line in lines))

    def test_bad_input(self):
        for shapes, modes, word in ((SHAPES, ["fd"], "'fd'"), (SHAPES, [], "usage"),
                                    ("names\nN,N,1,2\n", ["df"],
                                     "line 2"), ("names\nN,N,0,1,1,1,0,1\n", ["df"],
                                                 "line 2"), ("", ["df"], "cannot be read")):
            done = self.replay(shapes, *modes)
            self.assertEqual(done.returncode, 2)
            self.assertEqual(done.stderr.count("\n"), 1)
            self.assertIn(word, done.stderr)


class Report(unittest.TestCase):
    """Sums that can be added up by hand."""

    LINES = (
        "# a remark\nop_a,op_b,m,n,k,batch,beta,count,mode,ran,us,predicted\n"
        "N,N,1,1,1,1,0,10,native,native,100,100\n"
        "N,N,1,1,1,1,0,10,auto,ozaki2,60,120\n"
        "N,N,1,1,1,1,0,10,ozaki2,ozaki2,50,60\n"
        "N,N,2,1,1,1,0,1,native,native,200,200\n"
        "N,N,2,1,1,1,0,1,auto,native,220,200\n"
        "N,N,2,1,1,1,0,1,ozaki2,ozaki2,800,400\n")

    def test_sums(self):
        with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
            file.write(self.LINES)
            file.flush()
            done = run(sys.executable, REPORT, file.name, "--worst", "1")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        first, _, *rest = done.stdout.splitlines()
        self.assertEqual(first, "11 calls of 2 kinds")
        lines = {line.split()[0]: line.split()[1:] for line in rest[:3]}
        # sums 1.2, 0.82 and 1.3 ms; the best of each 0.7 ms
        self.assertEqual(lines["native"], ["1.2", "1.000", "1.00", "0.95", "71.4%", "1.00"])
        self.assertEqual(lines["auto"], ["0.8", "0.683", "1.10", "1.05", "17.1%", "1.48"])
        self.assertEqual(lines["ozaki2"][1:4], ["1.083", "4.00", "3.95"])
        self.assertRegex(
            rest[-1],
            r"^NN +1 +1 +1 +1 +10  ozaki2 +60.0  \(120.0\); "
            r"native 100.0 \(100.0\), ozaki2 50.0 \(60.0\)$")


class Grid(unittest.TestCase):
    def test_sizes(self):
        lines = [
            line.split(",") for line in run(sys.executable, GRID, "4", "1024").stdout.splitlines()
        ]
        singles = [tuple(map(int, line[2:5])) for line in lines[1:] if line[5] == "1"]
        self.assertEqual(lines[0], SHAPES.splitlines()[0].split(","))
        self.assertEqual(len(set(singles)), len(singles))
        self.assertTrue(all(n <= m and m * n * k <= 1024**3 for m, n, k in singles))
        self.assertEqual({size
                          for shape in singles
                          for size in shape}, {64, 256, 1024, 4096, 16384})
        self.assertTrue(any(line[5] != "1" for line in lines[1:]))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
