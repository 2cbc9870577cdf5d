#!/usr/bin/env python3
"""Tables from the CSV of bench/accuracy, in Markdown.

usage: accuracy_report.py CSV [PAGE]

Without PAGE, prints all tables. With it, replaces in that page what stands between each pair of
lines
    <!-- accuracy: NAME -->
    <!-- end -->
by the table of that name. Cells of what was not measured hold a dash.
"""

import sys

import report
from report import largest, machine, power, table, text, yes

# Data of the goals: native's accuracy is wanted for all of these.
WANTED = ("phi 0", "phi 0.5", "phi 1", "phi 2", "phi 4", "lines 64", "lines 240", "columns of A 64",
          "columns of A 240", "rows of B 64", "rows of B 240", "along k 64", "along k 240")
EMULATED_WELL = ("ozaki2", "ozaki1", "ozaki-sgemm", "faithful")

# TFLOP/s of the open peer's accurate mode at 14 moduli on an H200, by N.
PEER = {4096: 55.7, 8192: 67.9, 16384: 80.7}

# Relative errors that the triple-single paper's text states for its slices, by slices and N.
STATED = {9: {256: "1e-21", 512: "1e-21", 1024: "1e-17"}, 12: {4096: "1e-21"}}


class Results(report.Measurements):
    """The lines of one file, by study."""

    def __init__(self, path, page="."):
        super().__init__(path, page)
        self.errors, self.slices, self.times = (
            [line for line in self.lines if line["study"] == study]
            for study in ("errors", "slices", "times"))
        self.modes = list(dict.fromkeys(line["mode"] for line in self.errors))
        self.plain = [mode for mode in self.modes if ":" not in mode]
        self.data = list(dict.fromkeys(line["data"] for line in self.errors))
        self.depths = sorted({int(line["k"]) for line in self.errors})

    def ratios(self, column, mode, data):
        """A mode's errors over native's, one for each k."""
        native = self.by_depth(column, "native", data)
        return [error / native[k] for k, error in self.by_depth(column, mode, data).items()
                if native.get(k)]

    def by_depth(self, column, mode, data):
        return {int(line["k"]): float(line[column]) for line in self.errors
                if line["mode"] == mode and line["data"] == data}

    def worst(self, column, mode, data):
        """The largest over all k, or None."""
        return largest(self.numbers(self.errors, column, mode=mode, data=data))


def of_native(results):
    """Errors of the modes that choose for themselves, over native's."""
    modes = [mode for mode in EMULATED_WELL if mode in results.plain]
    rows = []
    for data in (data for data in WANTED if data in results.data):
        row = [data]
        for mode in modes:
            worst = largest(results.ratios("err", mode, data))
            row += [text("{:.2f}", worst),
                    text("{:.2f}", largest(results.ratios("rms", mode, data))),
                    yes(None if worst is None else worst <= 1.0)]
        rows.append(row)
    head = [f"{mode}: {what}" for mode in modes for what in ("err", "rms", "as good")]
    return table(["data", *head], rows)


def by_data(results, show):
    """One row a kind of data, one column a mode; show(mode, data) is the text."""
    return table(["data", *results.plain],
                 [[data, *(show(mode, data) for mode in results.plain)] for data in results.data])


def errors(results):
    return by_data(results, lambda mode, data: power(results.worst("err", mode, data)))


def rms(results):
    return by_data(results, lambda mode, data: power(results.worst("rms", mode, data)))


def ulps(results):
    return by_data(results, lambda mode, data: text("{:.3g}", results.worst("ulps", mode, data)))


def repaired(results):
    """Share of the elements, at the k where it is largest."""
    size = largest([int(line["m"]) * int(line["n"]) for line in results.errors])

    def show(mode, data):
        count = results.worst("repaired", mode, data)
        return "-" if count is None else "0" if count == 0 else f"{100 * count / size:.3g} %"

    return by_data(results, show)


def by_k(results):
    """err against k, for two kinds of data."""
    lines = []
    for data in ("U(0;1)", "phi 0.5"):
        lines += [f"Data {data}, err / rms:", ""]
        lines += table(["k =", *map(str, results.depths)], [
            [mode, *(pair(results.by_depth("err", mode, data).get(k),
                          results.by_depth("rms", mode, data).get(k)) for k in results.depths)]
            for mode in results.plain])
        lines.append("")
    return lines[:-1]


def pair(err, mean):
    return "-" if err is None else f"{power(err)} / {power(mean)}"


def parameters(results):
    """The largest err over k against the number of moduli or slices, a table for each mode."""
    lines = []
    for name in results.plain:
        modes = [mode for mode in results.modes if mode.startswith(name + ":")]
        data = [data for data in results.data
                if any(results.worst("err", mode, data) is not None for mode in modes)]
        if not modes or not data:
            continue
        lines += [f"`{name}`:", ""]
        lines += table(["parameter", *data], [
            [mode.split(":")[1] if ":" in mode else "by the data" if mode == name else mode,
             *(power(results.worst("err", mode, d)) for d in data)]
            for mode in [*modes, name, "native"]])
        lines.append("")
    return lines[:-1] or ["No mode here has a parameter."]


def sliced(results):
    """Relative errors of slices in binary32 and of triple-single products, and what the paper
    states."""
    sizes, kinds = sliced_kinds(results)
    rows = [[mode, data, *(text("{:.1e}", largest(results.numbers(
        results.slices, "relerr", mode=mode, data=data, n=n))) for n in sizes)]
            for mode, data in kinds]
    rows += [[f"paper, {slices} slices", "72 bits", *(stated.get(n, "-") for n in sizes)]
             for slices, stated in STATED.items()]
    return table(["mode", "data", *(f"N = {n}" for n in sizes)], rows)


def sliced_kinds(results):
    """The sizes of that study, and its modes with their data."""
    return (sorted({int(line["n"]) for line in results.slices}),
            list(dict.fromkeys((line["mode"], line["data"]) for line in results.slices)))


def sliced_times(results):
    """Milliseconds of the same products."""
    sizes, kinds = sliced_kinds(results)
    return table(["ms", "data", *(f"N = {n}" for n in sizes)], [
        [mode, data, *(text("{:.4g}", largest(results.numbers(
            results.slices, "ms", mode=mode, data=data, n=n))) for n in sizes)]
        for mode, data in kinds])


def times_by_size(results, show):
    """One row a mode, one column an N; show(line) is the text."""
    sizes = sorted({int(line["n"]) for line in results.times})
    modes = list(dict.fromkeys(line["mode"] for line in results.times))

    def cell(mode, n):
        found = [line for line in results.times if (line["mode"], line["n"]) == (mode, str(n))]
        return show(found[0]) if found else "-"

    return table(["N =", *map(str, sizes)],
                 [[mode, *(cell(mode, n) for n in sizes)] for mode in modes])


def times(results):
    return times_by_size(results, lambda line: f"{float(line['TFLOP/s']):.1f} ({line['speedup']})"
                         if line["ms"] else "-")


def times_errors(results):
    return times_by_size(results, lambda line: power(float(line["err"])))


def workspace(results):
    """Bytes for each element of C, of which A and B have as many."""
    return times_by_size(results, lambda line: "{:.1f}".format(
        float(line["workspace"]) / (int(line["m"]) * int(line["n"]))))


def goals(results):
    """Native's accuracy for all data, and a peer's speed."""
    rows = []
    for mode in (mode for mode in EMULATED_WELL if mode in results.plain):
        ratios = {data: results.ratios("err", mode, data) for data in WANTED}
        worst = {data: max(found) for data, found in ratios.items() if found}
        data = max(worst, key=worst.get, default=None)
        ratio = worst.get(data)
        rows.append([f"`{mode}`: err over native's", "<= 1",
                     "-" if ratio is None else f"{ratio:.2f} ({data})",
                     yes(None if ratio is None else ratio <= 1.0)])
    for n, peer in PEER.items():
        rate = largest(results.numbers(results.times, "TFLOP/s", mode="ozaki2", n=n))
        rows.append([f"`ozaki2`, N = {n}: TFLOP/s", f">= {peer}", text("{:.1f}", rate),
                     yes(None if rate is None else rate >= peer)])
    return table(["", "goal", "measured", "met"], rows)


def plots(results):
    """Links to the drawings beside the CSV, as accuracy.gp names them."""
    return results.drawings({
        "phi": "err against the spread of exponents", "k": "err against k",
        "moduli": "err against the number of moduli or slices",
        "spread": "err over native's, all kinds of data", "speed": "TFLOP/s against N"})


TABLES = {
    "machine": machine, "goals": goals, "of native": of_native, "errors": errors, "rms": rms,
    "ulps": ulps, "repaired": repaired, "k": by_k, "parameters": parameters, "slices": sliced,
    "slices, times": sliced_times, "times": times, "times, errors": times_errors,
    "workspace": workspace, "plots": plots,
}

if __name__ == "__main__":
    sys.exit(report.main("accuracy", __doc__.split("\n\n")[1], Results, TABLES))
