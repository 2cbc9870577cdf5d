"""Modes of Tandem against cuBLAS on many kinds of data, shapes and forms of call, in one process.

    never_slower.py --out FOLDER [--library FILE] [--modes MODE,...] [--only REGEX] [--seconds S]
    never_slower.py --out FOLDER --random N [--seed SEED] ...
    never_slower.py --out FOLDER --shapes SHAPE,... [--kinds KIND,...] ...

Each row (sweep_rows.py) is a call, and a kind of data for each operand (sweep_kinds.py); or N rows
are drawn by a seed (sweep_random.py): kinds, sizes and layouts that nobody has listed; or each kind
meets each shape that is named (sweep_grid.py). cuBLAS's
own function and, for each mode, Tandem's are called in turn on the same operands. Native times are
taken until two halves of them have medians that agree to 2 %, or the row's share of S seconds is
over. Each mode is a copy of the library, loaded with an environment of its own; another copy, which
keeps a report, makes each call once and is not timed. The library is FILE, or what LD_PRELOAD
names, or libtandem.so beside this file or in build/; it is not preloaded while rows are measured.

FOLDER gets never_slower.csv, a line for each row and mode; never_slower.txt, which is printed, too:
of each mode the rows over 1.05, 1.10, 1.15 and 3 of native's time among those that were emulated,
geometric means, also by form, and the ten worst; and, if there is gnuplot, a drawing of the ratios
by kind and shape, never_slower-MODE.svg. Each result is compared with cuBLAS's (sweep_errors.py):
`error` is how far they are apart, 1 being twice the bound of sums in FP64. Exit status 0 unless one
is further, or something failed: ratios are for people."""
import argparse
import csv
import ctypes
import json
import math
import os
import pathlib
import re
import secrets
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import zlib

HERE = pathlib.Path(__file__).resolve().parent
AGREE = 0.02  # two halves of the native times
MOST = 40  # timed rounds of a row
BUSY_BYTES = 1 << 29  # what the device writes while the host enqueues a timed call
SOME_FAILED = 3  # status of the measuring process
LIMITS = (1.05, 1.10, 1.15, 3.0)
FIELDS = ["kind", "sides", "shape", "form", "type", "m", "n", "k", "batch", "ops", "beta", "pad",
          "skew"]
TIMED = ["row", "mode", *FIELDS, "native_ms", "ms", "ratio", "spread", "rounds", "error"]
JOINED = [*TIMED, "ran", "moduli", "repaired", "tiles"]


# ---- measure: in a process of its own ----

class Copies:
    """The library loaded several times, each with options of its own.

    A copy makes a product at once, which has it find the functions of cuBLAS: later it would take
    the next copy for a library that is preloaded before cuBLAS."""

    def __init__(self, device, library, folder):
        self.device, self.library = device, library
        self.folder, self.count = pathlib.Path(folder), 0

    def load(self, **variables):
        self.count += 1
        copy = self.folder / f"tandem-{self.count}.so"
        shutil.copy(self.library, copy)
        os.environ.update(variables)
        try:
            loaded = ctypes.CDLL(str(copy))
            self.device.multiply(loaded.cublasDgemm_v2, *[(None, 1, 0)] * 2, None, 1, 0, 1)
            return loaded
        finally:
            for name in variables:
                del os.environ[name]


class Native:
    """cuBLAS's and cublasLt's own functions."""

    def __init__(self, device):
        self.libraries = [device.cublas, ctypes.CDLL("libcublasLt.so.13")]

    def __getattr__(self, name):
        return getattr(self.libraries[name.startswith("cublasLt")], name)


class Bench:
    def __init__(self, arguments, folder):
        import sweep_kinds
        from device import Device
        self.xp, self.kinds = sweep_kinds.xp, sweep_kinds
        self.device = Device(self.xp)
        self.on_device = self.xp.__name__ == "cupy"
        copies = Copies(self.device, arguments.library, folder)
        self.ways = {"native": Native(self.device)}
        self.reporting = []
        for mode in arguments.modes:
            self.ways[mode] = copies.load(TANDEM_MODE=mode)
            self.reporting.append(copies.load(TANDEM_MODE=mode, TANDEM_REPORT=str(
                report_path(arguments.out, mode))))
        self.least = arguments.rounds
        size = BUSY_BYTES if self.on_device else 1 << 16
        self.busy, self.busy_bytes = ctypes.c_void_p(), ctypes.c_size_t(size)
        self.device.check(self.device.cudart.cudaMalloc(ctypes.byref(self.busy), self.busy_bytes))
        self.pairs = sweep_kinds.Pairs(1536 if self.on_device else 128)

    def draw(self, row):
        """Makes op(A) and op(B): of the row's kind, or of normal numbers."""
        shapes = {"left": (row.m, row.k), "right": (row.k, row.n)}

        def make(side, member):
            seed = zlib.crc32(f"{row.name} {side} {member}".encode())
            maker = self.kinds.Maker(row.type, *shapes[side], side == "left", seed)
            if row.kind in self.kinds.real_kinds.KINDS:
                return self.pairs.operand(row.kind, maker)
            title = row.kind if row.sides in (side, "both") else "normal"
            return self.kinds.KINDS.get(title, self.kinds.normal)(maker)
        return make

    def free_unused(self):
        self.device.release()
        if self.on_device:
            self.xp.get_default_memory_pool().free_all_blocks()

    def once(self, call, way):
        if call.restore:
            call.restore()
        self.device.check(call.make(way))

    def sample(self, call, way, count):
        """Milliseconds of a call, of so many after each other, on a device that is not idle."""
        device = self.device
        device.check(device.cudart.cudaMemsetAsync(self.busy, 0, self.busy_bytes, None))
        if call.restore:
            call.restore()

        def work():
            for _ in range(count):
                device.check(call.make(way))
        return device.milliseconds(work) / count

    def result(self, call, way, start):
        """What a call leaves in C, as it lies in memory, of which `start` was in it."""
        call.result.put(self.device, start)
        self.once(call, way)
        return call.result.fetch(self.device)

    def errors(self, call, row):
        """For each mode how far its result is from the native one; infinitely, if it has other bits
        the next time."""
        from sweep_errors import Expected, bits_equal
        expected = Expected(self.xp, row, call, self.draw(row))
        native = self.result(call, self.ways["native"], expected.start)
        found = {}
        for mode, again in zip(list(self.ways)[1:], self.reporting):
            results = [self.result(call, way, expected.start) for way in (self.ways[mode], again)]
            found[mode] = (expected.units_apart(results[0], native)
                           if bits_equal(self.xp, *results) else math.inf)
        return found

    def times(self, call, seconds):
        """For each way the times of all rounds."""
        ms = self.sample(call, self.ways["native"], 1)
        count = 1 if call.restore else max(1, min(8, int(0.5 / max(ms, 0.01))))
        found = {mode: [] for mode in self.ways}
        end = time.monotonic() + seconds
        while True:
            for mode, way in self.ways.items():
                found[mode].append(self.sample(call, way, count))
            rounds = len(found["native"])
            if rounds >= MOST or (rounds >= self.least and (
                    time.monotonic() > end or spread(found["native"]) < AGREE)):
                return found

    def measure(self, row, seconds):
        from sweep_calls import prepare
        call = prepare(self.device, self.xp, row, self.draw(row))
        cublas, handle = self.device.cublas, self.device.handle
        self.device.check(cublas.cublasSetPointerMode_v2(handle, call.scalars))
        try:
            errors = self.errors(call, row)
            found = self.times(call, seconds)
            self.device.check(self.device.cudart.cudaDeviceSynchronize())
            return found, errors
        finally:
            self.device.check(cublas.cublasSetPointerMode_v2(handle, 0))
            call.release()


def spread(times):
    """How far the medians of every second time are apart."""
    if len(times) < 2:
        return math.inf
    halves = sorted(statistics.median(times[start::2]) for start in (0, 1))
    return halves[1] / halves[0] - 1


def report_path(folder, mode):
    return folder / f"never_slower-{mode.replace(':', '-')}.json"


def recorded_calls():
    for place in (HERE, HERE / "data"):
        if (place / "real_calls.csv").exists():
            return place / "real_calls.csv"
    sys.exit(f"never_slower: no real_calls.csv in {HERE} or {HERE / 'data'}")


def asked_rows(arguments, kinds):
    if arguments.random:
        from sweep_random import draw_rows
        return draw_rows(kinds.KINDS, arguments.random, arguments.seed, arguments.divide)
    if arguments.shapes:
        from sweep_grid import grid_rows
        return grid_rows(arguments.kinds or kinds.KINDS, arguments.shapes, arguments.divide)
    from sweep_rows import all_rows
    return all_rows(kinds.KINDS, kinds.real_kinds.PLAIN, recorded_calls(), arguments.divide)


def wanted_rows(arguments, kinds):
    rows = asked_rows(arguments, kinds)
    return [(i, row) for i, row in enumerate(rows) if re.search(arguments.only, row.name)]


def checked_rows(arguments):
    """The rows by their numbers. Ends the process with a line that says why, if there are none."""
    import sweep_kinds
    known = [*sweep_kinds.KINDS, *sweep_kinds.real_kinds.PLAIN]
    for kind in arguments.kinds:
        if kind not in known:
            sys.exit(f"never_slower: no kind '{kind}'; allowed: {', '.join(known)}")
    rows = dict(wanted_rows(arguments, sweep_kinds))
    if not rows:
        sys.exit(f"never_slower: no row fits '{arguments.only}'")
    return rows


def measure(arguments):
    """Times all rows; FOLDER gets the CSV, and, as this process ends, the reports.

    Ends with SOME_FAILED if a call was refused."""
    failed = False
    with (tempfile.TemporaryDirectory() as folder,
          open(arguments.out / "timed.csv", "w", newline="", encoding="utf-8") as file):
        bench = Bench(arguments, folder)
        rows = wanted_rows(arguments, bench.kinds)
        table = csv.DictWriter(file, TIMED, lineterminator="\n")
        table.writeheader()
        end = time.monotonic() + arguments.seconds
        for done, (number, row) in enumerate(rows):
            share = max(0.0, end - time.monotonic()) / (len(rows) - done)
            try:
                write_times(table, number, row, *bench.measure(row, share))
                file.flush()
            except (MemoryError, RuntimeError) as reason:
                print(f"never_slower: {row.name}: left out: {reason}", file=sys.stderr)
                failed = failed or isinstance(reason, RuntimeError)
            bench.free_unused()
    sys.exit(SOME_FAILED if failed else 0)


def write_times(table, number, row, found, errors):
    from sweep_errors import most_apart
    native = statistics.median(found["native"])
    fields = {name: getattr(row, name) for name in FIELDS} | {"form": row.form.replace(",", "")}
    for mode, times in found.items():
        if mode != "native":
            ms = statistics.median(times)
            table.writerow(fields | {
                "row": number, "mode": mode, "native_ms": f"{native:.5f}", "ms": f"{ms:.5f}",
                "ratio": f"{ms / native:.4f}", "spread": f"{spread(found['native']):.4f}",
                "rounds": len(times), "error": f"{errors[mode] / most_apart(row):.4f}"})


# ---- what the reports say of each row ----

def reported(path, mode):
    """The line of the report for each call, as Row.reported names them."""
    report = json.loads(path.read_text(encoding="utf-8"))
    if report["mode"] != mode:
        sys.exit(f"never_slower: the library has no mode '{mode}'")
    return {tuple(call[name] for name in ("function", "m", "n", "k", "batch")): call
            for call in report["calls"]}


def join(arguments, rows):
    lines = {mode: reported(report_path(arguments.out, mode), mode) for mode in arguments.modes}
    with open(arguments.out / "timed.csv", encoding="utf-8", newline="") as file:
        found = list(csv.DictReader(file))
    for line in found:
        call = lines[line["mode"]].get(rows[int(line["row"])].reported)
        if call is None:
            sys.exit(f"never_slower: the report of {line['mode']} lacks row {line['row']}")
        line["ran"] = call["mode"]
        for name, member in (("moduli", "planes"), ("repaired", "repaired"), ("tiles", "tiles")):
            line[name] = "-" if call[member] is None else call[member]
    with open(arguments.out / "never_slower.csv", "w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, JOINED, lineterminator="\n")
        table.writeheader()
        table.writerows(found)
    (arguments.out / "timed.csv").unlink()
    return found


# ---- what is printed ----

def geometric_mean(ratios):
    return math.exp(statistics.fmean(map(math.log, ratios))) if ratios else math.nan


def row_text(line):
    return (f"{line['row']:>4} {line['kind']:38.38} {line['sides']:5} {line['form']:38} "
            f"{line['type']} {line['m']:>6} {line['n']:>6} {line['k']:>6} {line['batch']:>3} "
            f"{line['ops']:6} {line['beta']:>4} {line['pad']:>3} {line['skew']:>4} "
            f"{line['native_ms']:>10} {line['ms']:>10} "
            f"{float(line['ratio']):6.3f} {line['ran']:8} {line['moduli']:>4} "
            f"{line['repaired']:>9} {line['tiles']:>7} {line['error']:>6}")


HEAD = (f"{'row':>4} {'kind':38} {'sides':5} {'form':38} t {'m':>6} {'n':>6} {'k':>6} {'b':>3} "
        f"{'ops':6} beta pad skew {'native ms':>10} {'ms':>10} {'ratio':>6} {'ran':8} {'mod.':>4} "
        f"{'repaired':>9} {'tiles':>7} {'error':>6}")


def summary(mode, lines):
    """What the rule is held to, and the rows that break it most."""
    emulated = [line for line in lines if line["ran"] != "native"]
    ratios = [float(line["ratio"]) for line in emulated]
    noisy = sum(float(line["spread"]) >= AGREE for line in lines)
    yield f"\n{mode}: {len(lines)} rows, {len(emulated)} emulated, {noisy} with native times apart"
    yield "of the emulated " + ", ".join(
        f"{sum(ratio > limit for ratio in ratios)} over {limit:.2f}" for limit in LIMITS)
    everywhere = ratios + [1.0] * (len(lines) - len(emulated))
    yield (f"geometric mean {geometric_mean(everywhere):.3f} of all rows, native ones as 1, "
           f"{geometric_mean(ratios):.3f} of the emulated")
    better = geometric_mean([min(1.0, ratio) for ratio in everywhere])
    yield f"geometric mean {better:.3f} of all rows if each took the better of the mode and native"
    native = [float(line["ratio"]) for line in lines if line["ran"] == "native"]
    if native:
        yield f"native rows by their times: {min(native):.3f} to {max(native):.3f}"
    yield from form_means(lines)
    yield f"the ten worst of the emulated:\n{HEAD}"
    yield from map(row_text, sorted(emulated, key=lambda line: -float(line["ratio"]))[:10])


def form_means(lines):
    for form in sorted({line["form"] for line in lines}):
        of_form = [line for line in lines if line["form"] == form]
        ratios = [float(line["ratio"]) for line in of_form if line["ran"] != "native"]
        if ratios:
            yield (f"  {form:38} {len(ratios):>3} of {len(of_form):>3} emulated, geometric mean "
                   f"{geometric_mean(ratios):.3f}, most {max(ratios):.3f}")


def print_tables(arguments, found):
    text = [f"\n{arguments.random} rows of seed {arguments.seed}"] if arguments.random else []
    for mode in arguments.modes:
        lines = [line for line in found if line["mode"] == mode]
        text += [f"\n{mode}\n{HEAD}", *map(row_text, lines)]
    for mode in arguments.modes:
        text += summary(mode, [line for line in found if line["mode"] == mode])
    text = "\n".join(text) + "\n"
    print(text, end="")
    (arguments.out / "never_slower.txt").write_text(text, encoding="utf-8")


def heat_cells(lines):
    """The titles of kinds and shapes, and for each pair of them that occurs its worst line: of the
    emulated ones if there are any, as the ratio of a native row is noise."""
    def badness(line):
        return line["ran"] != "native", float(line["ratio"])

    kinds = list(dict.fromkeys(line["kind"] for line in lines))
    shapes = sorted({line["shape"] for line in lines}, key=shape_order)
    worst = {}
    for line in lines:
        cell = kinds.index(line["kind"]), shapes.index(line["shape"])
        worst[cell] = max(worst.get(cell, line), line, key=badness)
    return kinds, shapes, worst


def shape_order(shape):
    numbers = [int(word) for word in re.findall(r"\d+", shape)]
    return shape[0], "recorded" in shape, "x " in shape, "x" in shape, numbers


def draw(arguments, mode, lines):
    if not shutil.which("gnuplot"):
        print("never_slower: no drawing: there is no gnuplot", file=sys.stderr)
        return
    kinds, shapes, worst = heat_cells(lines)
    stem = arguments.out / f"never_slower-{mode.replace(':', '-')}"
    with open(f"{stem}.cells", "w", encoding="utf-8") as file:
        for (y, x), line in worst.items():
            ratio = line["ratio"] if line["ran"] != "native" else "native"
            print(x, y, ratio, line["shape"], line["kind"], sep=",", file=file)
    subprocess.run(["gnuplot", "-c", HERE / "never_slower.gp", stem, mode, str(len(shapes)),
                    str(len(kinds))], check=True)


# ---- main ----

def find_library(named):
    preloaded = [path for path in re.split("[ :]", os.environ.get("LD_PRELOAD", ""))
                 if "tandem" in pathlib.Path(path).name]
    places = [named] if named else [*preloaded, HERE / "libtandem.so",
                                    HERE / "interpose/libtandem.so",
                                    HERE.parent / "build/interpose/libtandem.so"]
    for place in places:
        if pathlib.Path(place).is_file():
            return str(pathlib.Path(place).resolve())
    sys.exit(f"never_slower: no library at {', '.join(map(str, places))}: name it by --library")


def measuring_environment():
    """Without Tandem preloaded; with room for the thread-local memory of its copies.

    Options but the mode and the report are those of the environment."""
    environment = {name: value for name, value in os.environ.items()
                   if name not in ("TANDEM_MODE", "TANDEM_REPORT")}
    preloaded = re.split("[ :]", environment.pop("LD_PRELOAD", ""))
    others = [path for path in preloaded if path and "tandem" not in pathlib.Path(path).name]
    if others:
        environment["LD_PRELOAD"] = ":".join(others)
    tunables = [environment[name] for name in ("GLIBC_TUNABLES",) if environment.get(name)]
    return environment | {
        "GLIBC_TUNABLES": ":".join([*tunables, "glibc.rtld.optional_static_tls=65536"])}


def positive(of):
    def parse(text):
        try:
            value = of(text)
        except ValueError:
            value = 0
        if not value > 0:
            raise argparse.ArgumentTypeError(f"a number above 0, not '{text}'")
        return value
    return parse


def expression(text):
    try:
        return re.compile(text).pattern
    except re.error as fault:
        raise argparse.ArgumentTypeError(f"no regular expression: '{text}': {fault}") from None


def shapes(text):
    from sweep_grid import parse_shape
    try:
        return [parse_shape(shape) for shape in text.split(",")]
    except ValueError as fault:
        raise argparse.ArgumentTypeError(fault) from None


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--library", metavar="FILE", help="Tandem's preload library")
    parser.add_argument("--modes", default=["auto"], metavar="MODE,...",
                        type=lambda text: text.split(","), help="default: auto")
    parser.add_argument("--only", default="", type=expression, metavar="REGEX",
                        help="only rows that fit: kind,sides,form,type,ops,m,n,k,batch,beta")
    parser.add_argument("--random", type=positive(int), metavar="N",
                        help="measure N rows that are drawn, not those that are listed")
    parser.add_argument("--seed", type=positive(int), metavar="SEED",
                        help="by which they are drawn (default: another one each time)")
    parser.add_argument("--shapes", default=[], type=shapes, metavar="SHAPE,...",
                        help="measure products of these shapes, as 'd 3000^3,z 16x 1024^3'")
    parser.add_argument("--kinds", default=[], metavar="KIND,...",
                        type=lambda text: text.split(","),
                        help="of these kinds of data (default: all of sweep_kinds.py)")
    parser.add_argument("--seconds", default=100.0, type=positive(float), metavar="S",
                        help="when to stop repeating (default 100); no row is left out")
    parser.add_argument("--rounds", default=6, type=positive(int), metavar="N",
                        help="every row is timed so often at least (default 6)")
    parser.add_argument("--divide", default=1, type=positive(int), metavar="N",
                        help="divide all sizes by N, for the host device")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.shapes and arguments.random:
        parser.error("--shapes and --random: rows are named or drawn")
    if arguments.kinds and not arguments.shapes:
        parser.error("--kinds goes with --shapes")
    return arguments


def main():
    arguments = parse_arguments()
    if arguments.measure:
        measure(arguments)
        return
    arguments.library = find_library(arguments.library)
    arguments.out.mkdir(parents=True, exist_ok=True)
    for mode in arguments.modes:
        report_path(arguments.out, mode).unlink(missing_ok=True)
    started = time.monotonic()
    if arguments.random and not arguments.seed:
        arguments.seed = 1 + secrets.randbelow(10 ** 6)
    rows = checked_rows(arguments)
    ended = subprocess.run([sys.executable, __file__, *sys.argv[1:], "--measure", "--library",
                            arguments.library, "--seed", str(arguments.seed or 1)],
                           env=measuring_environment(), check=False)
    if ended.returncode not in (0, SOME_FAILED):
        sys.exit(f"never_slower: measuring failed: status {ended.returncode}")
    found = join(arguments, rows)
    print_tables(arguments, found)
    for mode in arguments.modes if not arguments.random else []:
        draw(arguments, mode, [line for line in found if line["mode"] == mode])
    print(f"{time.monotonic() - started:.0f} s in all")
    wrong = [f"{line['row']} in {line['mode']}" for line in found if not float(line["error"]) <= 1]
    if wrong:
        sys.exit(f"never_slower: wrong results: rows {', '.join(wrong)}")
    if ended.returncode:
        sys.exit("never_slower: cuBLAS or Tandem refused a call")


if __name__ == "__main__":
    main()
