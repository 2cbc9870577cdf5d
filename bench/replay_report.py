"""What bench/replay measured, added up: how long all calls take in each mode, and how well auto
chooses.

usage: replay_report.py REPLAY.csv [--worst COUNT]

For each mode the sum over all calls, its share of native's, the largest ratio of one call to
native's, and the same for native's time and 10 us. Regret: how much longer the calls take than if
each ran in the fastest of the modes that the file has. Off: by what factor predictions miss, on
average.
"""

import argparse
import csv
import math
import sys

SLACK_US = 10.0


def read(path):
    """For each shape its count, and a line for each mode."""
    shapes = {}
    with open(path, encoding="utf-8") as file:
        for line in csv.DictReader(row for row in file if not row.startswith("#")):
            key = tuple(line[name] for name in ("op_a", "op_b", "m", "n", "k", "batch", "beta"))
            shapes.setdefault(key, (int(line["count"]), {}))[1][line["mode"]] = line
    return shapes


def us(line):
    return float(line["us"])


def summary(shapes, mode):
    """The mode's sum, largest ratio to native, largest ratio to native and the slack, regret, and
    error of prediction."""
    total = native = best = 0.0
    ratios, slacked, logs = [], [], []
    for count, lines in shapes.values():
        own, plain = us(lines[mode]), us(lines["native"])
        total += count * own
        native += count * plain
        best += count * min(us(line) for line in lines.values())
        ratios.append(own / plain)
        slacked.append((own - SLACK_US) / plain)
        if float(lines[mode]["predicted"]) > 0:
            logs.append(abs(math.log(float(lines[mode]["predicted"]) / own)))
    off = math.exp(sum(logs) / len(logs)) if logs else float("nan")
    return total, total / native, max(ratios), max(slacked), total / best - 1.0, off


def print_worst(shapes, count):
    """The calls in which auto loses most, all its calls together."""
    def lost(item):
        calls, lines = item[1]
        return calls * (us(lines["auto"]) - min(us(line) for line in lines.values()))

    print(
        f"\n{'op':>2} {'m':>7} {'n':>7} {'k':>7} {'batch':>6} {'calls':>6}  auto took        us"
        "  (predicted), and the others")
    for key, (calls, lines) in sorted(shapes.items(), key=lost, reverse=True)[:count]:
        others = ", ".join(f"{mode} {us(line):.1f} ({float(line['predicted']):.1f})"
                           for mode, line in lines.items() if mode != "auto")
        auto = lines["auto"]
        print(
            f"{key[0]}{key[1]} {key[2]:>7} {key[3]:>7} {key[4]:>7} {key[5]:>6} {calls:>6}"
            f"  {auto['ran']:9} {us(auto):9.1f}  ({float(auto['predicted']):.1f}); {others}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("file", metavar="REPLAY.csv")
    parser.add_argument("--worst", type=int, default=0, metavar="COUNT",
                        help="also the calls in which auto loses most")
    arguments = parser.parse_args()
    shapes = read(arguments.file)
    modes = list(next(iter(shapes.values()))[1])
    print(f"{sum(count for count, _ in shapes.values())} calls of {len(shapes)} kinds")
    print(f"{'mode':14} {'sum ms':>10} {'of native':>10} {'most':>7} {'most, less 10 us':>17} "
          f"{'regret':>7} {'off':>6}")
    for mode in modes:
        total, share, ratio, slacked, regret, off = summary(shapes, mode)
        print(f"{mode:14} {total * 1e-3:10.1f} {share:10.3f} {ratio:7.2f} {slacked:17.2f} "
              f"{regret:7.1%} {off:6.2f}")
    if arguments.worst and "auto" in modes:
        print_worst(shapes, arguments.worst)
    return 0


if __name__ == "__main__":
    sys.exit(main())
