#!/usr/bin/env python3
"""Tables from the CSV of bench/multifloat, in Markdown.

usage: multifloat_report.py CSV [PAGE]

Without PAGE, prints all tables. With it, replaces in that page what stands between each pair of
lines
    <!-- multifloat: NAME -->
    <!-- end -->
by the table of that name. Cells of what was not measured hold a dash.
"""

import sys

import report
from report import largest, machine, percent, power, table, text, yes

TYPES = ("df", "ts", "dd", "d+s")
PRODUCTS = ("typed", "drop-in", "paper")
NAMES = {"double": "binary64", "df": "DF", "ts": "TS", "dd": "DD", "d+s": "D+S"}


class Results(report.Measurements):
    """The lines of one file."""

    def __init__(self, path, page="."):
        super().__init__(path, page)
        self.squares = [line for line in self.lines if line["m"] == line["n"] == line["k"]]
        self.shapes = [line for line in self.lines if not line["m"] == line["n"] == line["k"]]
        self.sizes = sorted({int(line["n"]) for line in self.squares})
        self.data = list(dict.fromkeys(line["data"] for line in self.squares))

    def values(self, column, **wanted):
        """The numbers in a column of the lines of squares that have the wanted texts."""
        return self.numbers(self.squares, column, **wanted)

    def value(self, column, **wanted):
        """The only such number, or None."""
        found = self.values(column, **wanted)
        return found[0] if len(found) == 1 else None

    def ms(self, kind, product, n):
        return self.value("ms", type=kind, product=product, n=n)

    def ratios(self, slow, fast):
        """How many times as fast one (type, product) is as another, by size."""
        times = {n: (self.ms(*slow, n), self.ms(*fast, n)) for n in self.sizes}
        return {n: a / b for n, (a, b) in times.items() if a and b}


def label(kind, product):
    return f"{NAMES[kind]}, {product}"


def by_size(results, show, products=PRODUCTS, native=True):
    """One row a product, one column a size; show(type, product, n) is the text."""
    pairs = [("double", "native")] * native + [(t, p) for t in TYPES for p in products]
    return table(["N ="] + [str(n) for n in results.sizes],
                 [[label(*pair)] + [show(*pair, n) for n in results.sizes] for pair in pairs])


def times(results):
    return by_size(results, lambda t, p, n: text("{:.4g}", results.ms(t, p, n)))


def speed(results):
    return by_size(results, lambda t, p, n: text(
        "{:.3g}", results.value("TFLOP/s", type=t, product=p, n=n)))


def roofline(results):
    return by_size(results, lambda t, p, n: percent(
        results.value("of_roofline", type=t, product=p, n=n)))


def reference(results):
    return by_size(results, lambda t, p, n: percent(
        results.value("of_reference", type=t, product=p, n=n)), ("typed", "drop-in"), False)


def errors(results):
    lines = []
    for data in results.data:
        lines += [f"Data {data}:", ""]
        lines += by_size(results, lambda t, p, n, data=data: power(
            results.value("err", type=t, product=p, n=n, data=data)))
        lines.append("")
    return lines[:-1]


def operations(results):
    """What a multiply-accumulate takes, and what comes of it; speed at the largest size."""
    def row(kind):
        def count(product):
            return text("{:.4g}", largest(results.values("instructions", type=kind,
                                                         product=product)))

        def worst(product):
            return power(largest(results.values("err", type=kind, product=product)))

        ratio = list(results.ratios((kind, "paper"), (kind, "typed")).values())
        return [NAMES[kind], count("paper") + (" + 3 conversions" if kind == "d+s" else ""),
                count("typed"), count("drop-in"), text("{:.2f}", ratio[-1] if ratio else None),
                worst("paper"), worst("typed")]

    return table([
        "type", "papers: instructions", "ours, typed", "ours, drop-in",
        f"ours is faster, N = {results.sizes[-1]}", "papers: largest err", "ours: largest err"
    ], [row(kind) for kind in TYPES])


def instructions(results, kind, product):
    return largest(results.values("instructions", type=kind, product=product))


def predicted(results, slow, fast, product, slots):
    """The ratio of times if instructions were all, and one of binary64 took `slots` of
    binary32's."""
    def cost(kind):
        if kind == "double":
            return slots
        count = instructions(results, kind, product)
        return count and count * (1 if kind in ("df", "ts") else slots)

    costs = cost(slow), cost(fast)
    return text("{:.2f}", costs[0] / costs[1] if all(costs) else None)


def figures_19_22(results):
    """Ratios that the paper on triple-single states, and ours."""
    stated = {("dd", "ts"): ("up to 5.9", "up to 9.5"), ("d+s", "ts"): ("up to 5.9", "up to 9.5"),
              ("double", "df"): ("up to 2.1", "up to 1.4")}

    def measured(slow, fast, product):
        native = (slow, "native" if slow == "double" else product)
        return text("{:.2f}", largest(results.ratios(native, (fast, product)).values()))

    rows = []
    for (slow, fast), printed in stated.items():
        row = [f"{NAMES[fast]} over {NAMES[slow]}", *printed]
        row += [measured(slow, fast, product) for product in ("paper", "typed")]
        row += [predicted(results, slow, fast, product, slots)
                for slots in (2, 32, 64) for product in ("paper", "typed")]
        rows.append(row)
    return table(["speed of", "GTX 1080 (1:32), stated", "RTX 6000 (1:32), stated",
                  "here, papers' operations", "here, ours",
                  *(f"1:{slots} predicted, {whose}" for slots in (2, 32, 64)
                    for whose in ("papers'", "ours"))], rows)


def figures_6_7(results):
    """Speed and efficiency on the GTX 980 as stated, and here."""
    stated = {("double", "native"): ("DGEMM, cuBLAS", 139.4, 2944, .896, 1),
              ("df", "drop-in"): ("D(DF)", 222.8, 2304, .716, 16),
              ("df", "typed"): ("DF(DF)", 277.3, 1536, .890, 16)}
    rows = []
    for (kind, product), (name, gflops, at, efficiency, count) in stated.items():
        best = max(((v, n) for n in results.sizes for v in results.values(
            "TFLOP/s", type=kind, product=product, n=n)), default=None)
        row = [name, f"{gflops} GFLOP/s at N = {at}", percent(efficiency)]
        if best:
            share = results.value("of_roofline", type=kind, product=product, n=best[1])
            share *= count / instructions(results, kind, product)
            row += [f"{best[0]:.3g} TFLOP/s at N = {best[1]}", percent(share)]
        else:
            row += ["-", "-"]
        rows.append(row)
    return table(["product", "GTX 980, stated", "of its peak / 16 (DGEMM: peak)", "here, best",
                  "of the ceiling / 16 (DGEMM: binary64 ceiling)"], rows)


def relative_errors(results):
    """The papers' metric, |C - exact| / |C|."""
    stated = {256: "1e-17", 4096: "1e-15"}
    rows = []
    for n in results.sizes:
        row = [str(n), stated.get(n, "-")]
        for product in ("paper", "typed"):
            found = results.values("relerr", type="ts", product=product, n=n)
            row.append(f"{min(found):.1e} - {max(found):.1e}" if found else "-")
        rows.append(row)
    return table(["N", "stated, blocked TS", "papers' operations here", "ours"], rows)


def shapes(results):
    """Double+single against double-double where memory counts."""
    found = {}
    for line in results.shapes:
        key = (int(line["m"]), int(line["n"]), int(line["k"]), line["beta"])
        found.setdefault(key, {})[line["type"]] = float(line["ms"])
    return table(["m x n x k", "beta", "DD, ms", "D+S, ms", "D+S is faster"],
                 [[f"{m} x {n} x {k}", beta, f"{ms['dd']:.4g}", f"{ms['d+s']:.4g}",
                   f"{ms['dd'] / ms['d+s']:.2f}"] for (m, n, k, beta), ms in found.items()
                  if len(ms) == 2])


def goals(results):
    """What the types were built for."""
    def share(kind, n, least):
        value = results.value("of_reference", type=kind, product="typed", n=n)
        count = 43.4 if kind == "ts" else 10.44
        return [
            f"{NAMES[kind]}, typed, N = {n}: share of ceiling / {count}", f">= {percent(least)}",
            percent(value),
            yes(None if value is None else value >= least)
        ]

    rows = [share("ts", 1024, .85), share("ts", 4096, .88), share("dd", 1024, .86),
            share("dd", 4096, .86)]
    for kind in TYPES:
        ratio = [r for n, r in results.ratios((kind, "drop-in"), (kind, "typed")).items()
                 if n >= 2048]
        worst = largest(ratio)
        rows.append([f"{NAMES[kind]}: time of drop-in over typed, N >= 2048", "<= 1.05",
                     text("{:.3f}", worst), yes(None if worst is None else worst <= 1.05)])
    return table(["", "goal", "measured", "met"], rows)


def plots(results):
    """Links to the drawings beside the CSV, as multifloat.gp names them."""
    names = {"time": "Time of a product against N", "speed": "TFLOP/s against N",
             "roofline": "Share of the roofline against N", "df": "Efficiency of DF against N",
             "error": "Largest err against N"}
    return results.drawings(names)


TABLES = {
    "machine": machine, "goals": goals, "operations": operations, "times": times, "speed": speed,
    "roofline": roofline, "reference": reference, "errors": errors,
    "figures 19-22": figures_19_22, "figures 6-7": figures_6_7,
    "relative errors": relative_errors, "shapes": shapes, "plots": plots,
}


if __name__ == "__main__":
    sys.exit(report.main("multifloat", __doc__.split("\n\n")[1], Results, TABLES))
