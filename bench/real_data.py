"""Products of matrices of the kinds that programs multiply, under modes of Tandem and natively.

    real_data.py run --out FOLDER [--modes MODE,...] [--tandem TANDEM] [--hostgpu] [N ...]

Each kind (real_kinds.py) is made in sizes of about N x N (default 4096), and multiplied by the
cublasDgemm that programs find, which is Tandem's, and by cuBLAS's own, in turn. `run` starts two
processes for each mode, by `tandem run`, or where LD_PRELOAD names Tandem's library already, with
that: one that is timed, and one that multiplies once for the report, which would take time of its
own. It prints a table for each size: native's median time and, for each mode, the ratio to it,
what ran, the most moduli, and the elements repaired in a call. FOLDER gets the same as
real_data.csv, with the largest error of some elements over |A||B|; a drawing, real_data.svg, if
there is gnuplot; and each mode's own CSV and report. A kind that does not fit into memory, or whose
packages are missing, is left out, which is said.

    real_data.py measure [--csv FILE] [N ...]

is what runs in such a process; without FILE nothing is timed. It needs NumPy, uses CuPy where that
is installed, and for chemistry pyscf."""
import argparse
import csv
import json
import math
import os
import pathlib
import shutil
import subprocess
import sys

from device import Device, on_host

HERE = pathlib.Path(__file__).resolve().parent
SAMPLES = 200  # elements of C that are compared
RUNS = 7  # timed products, of which the median counts
MEASURED = ["size", "kind", "m", "n", "k", "ms", "native_ms", "ratio", "error", "native_error"]
JOINED = ["size", "kind", "m", "n", "k", "mode", "ms", "native_ms", "ratio", "ran", "moduli",
          "repaired", "error", "native_error"]


# ---- measure: in a process with Tandem preloaded ----

def largest_error(xp, a, b, c):
    """Of SAMPLES elements of C over |A||B|; infinite for an element that is not 0 where that is."""
    import numpy as np
    random = np.random.default_rng(2)
    rows, columns = (xp.asarray(random.integers(0, n, SAMPLES)) for n in c.shape)
    x, y, z = (np.asarray(on_host(part), dtype=np.longdouble)
               for part in (a[rows], b[:, columns].T, c[rows, columns]))
    bound, off = (abs(x) * abs(y)).sum(1), abs((x * y).sum(1) - z)
    off[bound == 0] = np.where(off[bound == 0] == 0, 0, np.inf)
    return float((off / np.where(bound == 0, 1, bound)).max())


def compare(xp, device, a, b):
    """Median milliseconds, and largest errors, of the product found and of cuBLAS's own."""
    (m, k), n = a.shape, b.shape[1]
    left, right, c = device.put(a), device.put(b), xp.zeros((m, n), order="F")
    result, ways = device.address(c), (device.found, device.native)
    times, errors = ([], []), []
    for way in ways:
        device.multiply(way, left, right, result, m, n, k)
        device.fetch(result, c)
        errors.append(largest_error(xp, a, b, c))
    for _ in range(RUNS):
        for way, own in zip(ways, times):
            own.append(device.milliseconds(
                lambda way=way: device.multiply(way, left, right, result, m, n, k)))
    return [sorted(own)[RUNS // 2] for own in times], errors


def own_shape(xp, a, b, used):
    """A, and B without its last columns, contiguous by rows or columns.

    No product before had this shape, nor any that made a matrix, as the report has one line for a
    shape. B stays aligned where it is large."""
    step = 8 if b.shape[1] >= 1024 else 1
    width = b.shape[1] - step
    while (*a.shape, width) in used:
        width -= step
    used.add((*a.shape, width))
    by_rows = b.flags.c_contiguous
    b = (xp.ascontiguousarray if by_rows else xp.asfortranarray)(b[:, :width])
    return a if a.flags.f_contiguous else xp.ascontiguousarray(a), b


def free_unused(xp):
    """Gives back what CuPy keeps of arrays that are gone, which Tandem may need."""
    if hasattr(xp, "get_default_memory_pool"):
        xp.get_default_memory_pool().free_all_blocks()


def multiply_once(xp, device, make, matrices, used):
    a, b = own_shape(xp, *make(matrices), used)
    free_unused(xp)
    (m, k), n = a.shape, b.shape[1]
    c = xp.zeros((m, n), order="F")
    result = device.address(c)
    device.multiply(device.found, device.put(a), device.put(b), result, m, n, k)
    device.fetch(result, c)


def measure_kind(xp, device, make, matrices, used):
    a, b = own_shape(xp, *make(matrices), used)
    free_unused(xp)
    times, errors = compare(xp, device, a, b)
    return [a.shape[0], b.shape[1], a.shape[1], *(f"{ms:.5f}" for ms in times),
            f"{times[0] / times[1]:.4f}", *(f"{error:.2e}" for error in errors)]


def all_kinds(sizes, work):
    """Calls work(size, title, xp, device, make, matrices, used) for each kind in each size."""
    try:
        from real_kinds import KINDS, Matrices, xp
    except ImportError as reason:
        sys.exit(f"real_data: {reason}")
    device, used = Device(xp), set()
    for size in sizes:
        matrices = Matrices(size)
        for title, make in KINDS.items():
            try:
                work(size, title, xp, device, make, matrices, used)
            except (ImportError, MemoryError) as reason:
                print(f"real_data: {title}, n = {size}: left out: {reason}", file=sys.stderr)
            device.release()
            free_unused(xp)


def measure(sizes, path):
    if path is None:
        all_kinds(sizes, lambda size, title, *kind: multiply_once(*kind))
        return
    with open(path, "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(MEASURED)

        def write(size, title, *kind):
            table.writerow([size, title, *measure_kind(*kind)])
            file.flush()

        all_kinds(sizes, write)


# ---- run: a process for each mode, and what they say together ----

def find_tandem(named):
    """The launcher: as named, beside this file in a bundle, in the build folder, or in PATH."""
    places = [HERE / "tools/tandem", HERE.parent / "build/tools/tandem", shutil.which("tandem")]
    places = [str(place) for place in ([named] if named else places) if place]
    for place in places:
        if os.access(place, os.X_OK):
            return place
    sys.exit(f"real_data: no launcher tandem at {', '.join(places)}: name it by --tandem")


def run_process(arguments, mode, report, options, **streams):
    """Measures under a mode, with a report unless that is None."""
    work = [sys.executable, __file__, "measure", *options, *map(str, arguments.sizes)]
    # cuBLAS's own function is looked up in its library, for which Tandem's would stand otherwise.
    environment = dict(os.environ) | {"TANDEM_DLSYM": "off"}
    if "tandem" in environment.get("LD_PRELOAD", "") and not arguments.tandem:
        environment |= {"TANDEM_MODE": mode} | ({"TANDEM_REPORT": str(report)} if report else {})
    else:
        host = ["--hostgpu"] if arguments.hostgpu else []
        told = ["--report", str(report)] if report else []
        work = [find_tandem(arguments.tandem), "run", *host, "--mode", mode, *told, "--", *work]
    ended = subprocess.run(work, env=environment, check=False, **streams)
    if ended.returncode or (report and not report.exists()):
        reason = f"status {ended.returncode}" if ended.returncode else f"no report {report}"
        sys.exit(f"{ended.stderr or ''}real_data: mode {mode} failed: {reason}")
    return ended


def run_mode(arguments, mode):
    """Measures under a mode: FOLDER/MODE.csv, and FOLDER/MODE.json, for which nothing is timed."""
    report = arguments.out / f"{mode}.json"
    report.unlink(missing_ok=True)
    run_process(arguments, mode, report, [])
    timed = run_process(arguments, mode, None, ["--csv", str(arguments.out / f"{mode}.csv")],
                        stderr=subprocess.PIPE, text=True)
    for line in timed.stderr.splitlines():
        if "left out" not in line:  # that has been said
            print(line, file=sys.stderr)


def report_lines(path):
    """For each shape the line of the report that ran most of its calls."""
    lines = {}
    for call in json.loads(path.read_text(encoding="utf-8"))["calls"]:
        shape = tuple(call[name] for name in "mnk")
        if shape not in lines or call["count"] > lines[shape]["count"]:
            lines[shape] = call
    return lines


def join(folder, mode):
    """What was measured under a mode, with what the report says of each shape."""
    lines = report_lines(folder / f"{mode}.json")
    with open(folder / f"{mode}.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        call = lines.get(tuple(int(row[name]) for name in "mnk"))
        if call is None:
            sys.exit(f"real_data: {folder / mode}.json has no {row['kind']}, "
                     f"{row['m']} x {row['n']} x {row['k']}: was Tandem preloaded?")
        moduli, repaired = call["planes"], call["repaired"]
        row |= {"mode": mode, "ran": call["mode"], "moduli": "-" if moduli is None else moduli,
                "repaired": "-" if repaired is None else repaired // call["count"]}
    return rows


def print_table(size, modes, rows):
    """One size: a line for each kind, in the order in which they were measured."""
    kinds = {}
    for row in rows:
        kinds.setdefault(row["kind"], {})[row["mode"]] = row
    print((f"\nn = {size}\n{'':67}" + "".join(f"  {mode:36}" for mode in modes)).rstrip())
    print(f"{'kind':39}{'m':>6} {'n':>6} {'k':>6} {'native':>7}"
          + "".join(f"  {'ratio':>6} {'ran':13} {'mod.':>4} {'repaired':>10}" for _ in modes))
    for title, by_mode in kinds.items():
        first = next(iter(by_mode.values()))
        native = sum(float(row["native_ms"]) for row in by_mode.values()) / len(by_mode)
        line = f"{title:39}{first['m']:>6} {first['n']:>6} {first['k']:>6} {native:7.3f}"
        for mode in modes:
            row = by_mode.get(mode)
            line += (f"  {float(row['ratio']):6.3f} {row['ran']:13} {row['moduli']:>4} "
                     f"{row['repaired']:>10}" if row else f"  {'-':36}")
        print(line.rstrip())
    for mode in modes:
        ratios = {title: float(by_mode[mode]["ratio"])
                  for title, by_mode in kinds.items() if mode in by_mode}
        mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
        worst = max(ratios, key=ratios.get)
        print(f"{mode}: geometric mean {mean:.3f} of native's time, "
              f"most {ratios[worst]:.3f} ({worst})")


def draw(folder, modes, sizes):
    """Ratios of auto, or of the first mode if that was not measured."""
    if not shutil.which("gnuplot"):
        print("real_data: no drawing: there is no gnuplot", file=sys.stderr)
        return
    mode = "auto" if "auto" in modes else modes[0]
    subprocess.run(["gnuplot", "-c", HERE / "real_data.gp", folder / "real_data.csv", mode,
                    *map(str, sizes)], check=True)


def run(arguments):
    arguments.out.mkdir(parents=True, exist_ok=True)
    for mode in arguments.modes:
        run_mode(arguments, mode)
    rows = [row for mode in arguments.modes for row in join(arguments.out, mode)]
    with open(arguments.out / "real_data.csv", "w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, JOINED, lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
    for size in arguments.sizes:
        print_table(size, arguments.modes, [row for row in rows if row["size"] == str(size)])
    draw(arguments.out, arguments.modes, arguments.sizes)


def size(text):
    if not text.isdecimal() or int(text) < 64:
        raise argparse.ArgumentTypeError(f"N is a whole number from 64 on, not '{text}'")
    return int(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    actions = parser.add_subparsers(dest="action", required=True)
    for name in ("run", "measure"):
        action = actions.add_parser(name)
        action.add_argument("sizes", nargs="*", type=size, metavar="N")
        if name == "measure":
            action.add_argument("--csv", metavar="FILE")
            continue
        action.add_argument("--out", required=True, type=pathlib.Path, metavar="FOLDER")
        action.add_argument("--modes", default=["auto", "ozaki2"], metavar="MODE,...",
                            type=lambda text: text.split(","), help="default: auto,ozaki2")
        action.add_argument("--tandem", help="the launcher, if not beside this, in build/ or PATH")
        action.add_argument("--hostgpu", action="store_true",
                            help="use the host device even if there is a GPU")
    arguments = parser.parse_args()
    arguments.sizes = list(dict.fromkeys(arguments.sizes)) or [4096]
    if arguments.action == "run":
        run(arguments)
    else:
        measure(arguments.sizes, arguments.csv)


if __name__ == "__main__":
    main()
