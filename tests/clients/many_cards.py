"""Products spread over two GPUs or more, native and emulated. With a process a GPU, float64 ones of
PyTorch: all of C on each GPU alone, DTensor's by rows, by columns and by terms, as tensor-parallel
programs have them, and SUMMA with NCCL (van de Geijn and Watts, 1997). With one process for all
GPUs: cublasXtDgemm of matrices in the host's memory, and complex128 ones of JAX, sharded by rows.
--parts names some of these. With --programs also the routines of cuBLASMp and cuSOLVERMp that
many_cards/ calls.

usage: many_cards.py [--tandem TANDEM] [--mode MODE] [--ranks N] [--reports FOLDER]
                     [--programs FOLDER] [--block BLOCK] [--only python|programs]
                     [--parts alone,rows,columns,terms,summa,xt,jax] [SIZE]

Starts a rank for each GPU by torchrun, and the process that has all of them, once without Tandem
and once under `tandem run`. A line for each way has both median times in milliseconds and both
errors (in the units of programs.py, or n 2^-53), and `tandem report` of all processes follows.
Ranks of FOLDER/mp_blas and FOLDER/mp_solver are started without torchrun; their matrices lie in
blocks of BLOCK x BLOCK. They are timed without reports, which would time each small call,
and run once more with small matrices, natively with cuBLAS's log and emulated, for what
a rank's report lacks of its log.
The status is 1 if an error is above what is allowed, a process emulated nothing or a logged call is
missing, and 77, with one line, where there is no PyTorch or one GPU alone. Without JAX its line is
missing.
"""

import argparse
import concurrent.futures
import ctypes
import importlib.util
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time

RUNS, PANEL = 5, 512
PROGRAMS = ("mp_blas", "mp_solver")
DTENSOR = ("rows", "columns", "terms")
OF_RANKS, OF_ONE_PROCESS = ("alone", *DTENSOR, "summa"), ("xt", "jax")  # parts
SMALL, BLOCK = 2048, 256  # of the programs' calls that are compared with cuBLAS's log
WORST_OF_PROGRAMS = 1.0  # of n 2^-53


def why_not(ranks):
    """What is missing here; None if nothing is."""
    try:
        import torch
    except ImportError:
        return "no PyTorch in this Python"
    try:
        import numpy  # noqa: F401
    except ImportError:
        return "no NumPy in this Python"
    count = torch.cuda.device_count()
    return None if count >= ranks else f"{count} GPUs, and {ranks} are asked for"


# ---- a rank ----


def dtensor_product(mesh, a, b, part):
    """Its name, and what makes all of C on each rank."""
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor

    name, of_a, of_b = {
        "rows": ("rows of A", Shard(0), Replicate()),
        "columns": ("columns of B", Replicate(), Shard(1)),
        "terms": ("terms", Shard(1), Shard(0))
    }[part]
    a, b = distribute_tensor(a, mesh, [of_a]), distribute_tensor(b, mesh, [of_b])
    return f"DTensor, {name}", lambda: (a @ b).full_tensor()


def summa(a, b):
    """Each rank has some columns of A, B and C; columns of A go to all, one panel after another."""
    import torch
    import torch.distributed as dist

    rank, ranks, size = dist.get_rank(), dist.get_world_size(), a.shape[0]
    width = size // ranks
    own_a, own_b = (x[:, rank * width:(rank + 1) * width].contiguous() for x in (a, b))

    def multiply():
        c = torch.zeros_like(own_b)
        for start in range(0, size, PANEL):
            owner, at = divmod(start, width)
            panel = (own_a[:, at:at + PANEL].contiguous() if owner == rank else
                     a.new_empty(size, PANEL))
            dist.broadcast(panel, owner)
            c.addmm_(panel, own_b[start:start + PANEL])
        whole = [torch.empty_like(c) for _ in range(ranks)]
        dist.all_gather(whole, c)
        return torch.cat(whole, dim=1)

    return "SUMMA", multiply


def timed(work):
    """The result, and the median time of a call in milliseconds. All ranks make the same number of
    calls, as each is theirs together."""
    import torch

    result, times = work(), []
    for _ in range(RUNS):
        torch.cuda.synchronize()
        start = time.perf_counter()
        work()
        torch.cuda.synchronize()
        times.append(1e3 * (time.perf_counter() - start))
    return result, statistics.median(times)


def rank_products(mesh, a, b, parts):
    for part in parts:
        if part == "alone":
            yield "one card", lambda: a @ b
        if part in DTENSOR:
            yield dtensor_product(mesh, a, b, part)
        if part == "summa":
            yield summa(a, b)


def be_rank(size, parts):
    import torch
    import torch.distributed as dist
    from programs import product_error
    from torch.distributed.device_mesh import init_device_mesh

    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    mesh = init_device_mesh("cuda", (dist.get_world_size(),))
    torch.manual_seed(1)
    a, b = (torch.randn(size, size, dtype=torch.float64, device="cuda") for _ in range(2))
    for name, work in rank_products(mesh, a, b, parts):
        c, milliseconds = timed(work)
        if dist.get_rank() == 0:
            print(json.dumps({"name": name, "ms": milliseconds, "error": product_error(c, a, b)}),
                  flush=True)
    dist.destroy_process_group()


# ---- one process for all cards ----


def xt_product(a, b, cards):
    """cublasXtDgemm, whose matrices are stored by columns: B' A' = C'."""
    import numpy

    cublas = ctypes.CDLL("libcublas.so.13")  # PyTorch has loaded it
    handle, size = ctypes.c_void_p(), ctypes.c_size_t(a.shape[0])
    one, zero = ctypes.c_double(1.0), ctypes.c_double(0.0)
    for status in (cublas.cublasXtCreate(ctypes.byref(handle)),
                   cublas.cublasXtDeviceSelect(handle, cards,
                                               (ctypes.c_int * cards)(*range(cards)))):
        assert status == 0, status
    c = numpy.empty_like(a)

    def multiply():
        status = cublas.cublasXtDgemm(handle, 0, 0, size, size, size, ctypes.byref(one),
                                      ctypes.c_void_p(b.ctypes.data), size,
                                      ctypes.c_void_p(a.ctypes.data), size, ctypes.byref(zero),
                                      ctypes.c_void_p(c.ctypes.data), size)
        assert status == 0, status
        return c

    return "cublasXtDgemm", multiply


def jax_product(a, b, cards):
    """Each card has some rows of A and of C, and all of B."""
    import jax
    from jax.sharding import NamedSharding, PartitionSpec

    jax.config.update("jax_enable_x64", True)
    mesh = jax.make_mesh((cards,), ("cards",))
    a, b = (jax.device_put(x, NamedSharding(mesh, PartitionSpec(of, None)))
            for x, of in ((a, "cards"), (b, None)))
    product = jax.jit(lambda x, y: x @ y)
    return "JAX, rows of A", lambda: product(a, b).block_until_ready()


def be_one_process(size, cards, parts):
    import numpy
    import torch
    from programs import product_error

    random = numpy.random.default_rng(1)
    a, b = (random.standard_normal((size, size)) for _ in range(2))
    ways = [(a, b, xt_product)] if "xt" in parts else []
    if "jax" in parts and importlib.util.find_spec("jax"):
        ways.append((a + 1j * b, b - 1j * a, jax_product))
    torch.cuda.init()
    for x, y, way in ways:
        name, work = way(x, y, cards)
        c, milliseconds = timed(work)
        print(
            json.dumps(
                {"name": name, "ms": milliseconds, "error": product_error(numpy.array(c), x, y)}),
            flush=True)


# ---- the program that starts them ----


def rows_of(command):
    """What a process printed, by name."""
    process = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    rows = [json.loads(line) for line in process.stdout.splitlines() if line.startswith("{")]
    return {row["name"]: row for row in rows}


def start_ranks(options, launcher):
    """What rank 0 printed."""
    return rows_of([
        *launcher, sys.executable, "-m", "torch.distributed.run", "--standalone",
        "--nproc-per-node",
        str(options.ranks),
        os.path.abspath(__file__), "--rank", "--parts", ",".join(options.parts),
        str(options.size)
    ])


def start_one_process(options, launcher):
    return rows_of([
        *launcher, sys.executable,
        os.path.abspath(__file__), "--one-process", "--parts", ",".join(options.parts), "--ranks",
        str(options.ranks),
        str(options.size)
    ])


def start_python(options, launcher_of):
    """What all processes of the parts printed. launcher_of(name of a report) starts one."""
    rows = {}
    if set(options.parts) & set(OF_RANKS):
        rows.update(start_ranks(options, launcher_of("rank-%r.json")))
    if set(options.parts) & set(OF_ONE_PROCESS):
        rows.update(start_one_process(options, launcher_of("one-process.json")))
    return rows


def reports_of(options, folder):
    names = [f"rank-{rank}.json" for rank in range(options.ranks)
             ] * bool(set(options.parts) & set(OF_RANKS))
    names += ["one-process.json"] * bool(set(options.parts) & set(OF_ONE_PROCESS))
    return [os.path.join(folder, name) for name in names]


# ---- programs of many_cards/ ----


class Ranks:
    """A program's ranks: each gets its number as torchrun's do."""

    def __init__(self, options, program, launcher, words, environment_of):
        self.folder = tempfile.TemporaryDirectory()
        command = [*launcher, os.path.join(options.programs, program),
                   os.path.join(self.folder.name, "id"), *map(str, words)]
        self.processes = [
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             env=self.environment(rank, options.ranks, environment_of(rank)))
            for rank in range(options.ranks)
        ]

    @staticmethod
    def environment(rank, ranks, more):
        return {**os.environ, "RANK": str(rank), "WORLD_SIZE": str(ranks), "LOCAL_RANK": str(rank),
                "LOCAL_WORLD_SIZE": str(ranks), **more}

    def wait(self, seconds):
        """What the ranks printed. Where one fails or is late, all are ended."""
        try:
            with concurrent.futures.ThreadPoolExecutor(len(self.processes)) as pool:
                said = list(pool.map(lambda process: self.wait_for(process, seconds),
                                     self.processes))
        finally:
            self.folder.cleanup()
        failed = [(process.returncode, errors) for process, (_, errors) in zip(self.processes, said)
                  if process.returncode != 0]
        if failed:
            # A rank that was ended because another one failed says nothing of the reason.
            status, errors = min(failed, key=lambda rank: rank[0] == -signal.SIGKILL)
            raise RuntimeError(f"a rank ended with {status}: {errors[-400:]}")
        return "".join(output for output, _ in said)

    def wait_for(self, process, seconds):
        try:
            output = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            output = process.communicate()
        if process.returncode != 0:
            self.kill()
        return output

    def kill(self):
        for process in self.processes:
            process.kill()


def rows_of_program(options, program, launcher, words, environment_of=lambda rank: {}):
    said = Ranks(options, program, launcher, words, environment_of).wait(seconds=120)
    return {row["name"]: row for row in map(json.loads, said.splitlines())}


def run_programs(options, launcher):
    words = [options.size] + ([options.block] if options.block else [])
    rows = {}
    for program in PROGRAMS:
        rows.update(rows_of_program(options, program, launcher, words))
    return rows


def missed_calls(options, run, folder):
    """Calls of a rank that cuBLAS's log has and the rank's report lacks."""
    from seen_calls import logged_calls, reported_calls

    for program in PROGRAMS:
        logs = [[os.path.join(folder, f"{program}-{rank}.{kind}") for kind in ("blas", "lt")]
                for rank in range(options.ranks)]
        for blas, _ in logs:
            open(blas, "w", encoding="utf-8").close()
        words = [SMALL, BLOCK]
        rows_of_program(options, program, [], words, lambda rank: {
            "CUBLAS_LOGINFO_DBG": "1", "CUBLAS_LOGDEST_DBG": logs[rank][0],
            "CUBLASLT_LOG_LEVEL": "5", "CUBLASLT_LOG_FILE": logs[rank][1]})
        report = os.path.join(folder, f"{program}-small-%r.json")
        rows_of_program(options, program, [*run, report, "--"], words)
        for rank, (blas, lt) in enumerate(logs):
            logged = logged_calls(blas, lt)
            seen, emulated = reported_calls(report.replace("%r", str(rank)))
            print(f"{program}, rank {rank}: logged {sum(logged.values())}, seen "
                  f"{sum(seen.values())}, emulated {sum(emulated.values())}")
            missing = {f: n - seen.get(f, 0) for f, n in logged.items() if n > seen.get(f, 0)}
            if missing or not logged:
                yield f"{program}, rank {rank}: logged {dict(logged)}, missing {missing}"
            if options.mode != "auto" and not sum(emulated.values()):
                yield f"{program}, rank {rank}: no product was emulated"


def emulated_of(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)["totals"]["emulated"]


def print_rows(options, native, emulated):
    print(f"{'n = ' + str(options.size):24}  native ms  {options.mode + ' ms':>12}  "
          "native error  error")
    for name, row in native.items():
        other = emulated[name]
        print(f"{name:24}  {row['ms']:9.2f}  {other['ms']:12.2f}  {row['error']:12.2f}  "
              f"{other['error']:5.2f}")


def compare_python(options, run, folder):
    """What is wrong, a line each."""
    from programs import WORST

    reports = reports_of(options, folder)
    native = start_python(options, lambda report: [])
    emulated = start_python(options, lambda report:
                            [*run, "--report", os.path.join(folder, report), "--"])
    print_rows(options, native, emulated)
    subprocess.run([options.tandem, "report", *reports], check=True)
    yield from faults_of(reports, (native, emulated), WORST)


def compare_programs(options, run, folder):
    """What is wrong, a line each."""
    native = run_programs(options, [])
    emulated = run_programs(options, [*run, "--"])
    print_rows(options, native, emulated)
    yield from faults_of([], (native, emulated), WORST_OF_PROGRAMS)
    yield from missed_calls(options, [*run, "--report"], folder)


def faults_of(reports, tables, worst):
    for path in reports:
        if emulated_of(path) == 0:
            yield f"no product was emulated: {path}"
    for rows in tables:
        for row in rows.values():
            if not row["error"] <= worst:
                yield f"wrong: {row}"


def compare(options, folder):
    """The exit status."""
    run = [options.tandem, "run", "--mode", options.mode]
    faults = []
    if options.only != "programs":
        faults += compare_python(options, run, folder)
    if options.programs and options.only != "python":
        faults += compare_programs(options, run, folder)
    for fault in faults:
        print(fault)
    return 1 if faults else 0


def parts_of(text):
    parts = text.split(",")
    unknown = set(parts) - {*OF_RANKS, *OF_ONE_PROCESS}
    if unknown:
        raise argparse.ArgumentTypeError(f"no such parts: {', '.join(sorted(unknown))}")
    return parts


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n\n")[0])
    parser.add_argument("--rank", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--one-process", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--tandem", default="tandem")
    parser.add_argument("--mode", default="ozaki2")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--programs", help="the folder of mp_blas and mp_solver")
    parser.add_argument("--block", type=int, help="rows of a block of theirs, 1 or more")
    parser.add_argument("--only", choices=("python", "programs"))
    parser.add_argument("--parts", type=parts_of, default=[*OF_RANKS, *OF_ONE_PROCESS],
                        help="some of what Python multiplies, with commas between them")
    parser.add_argument("--reports", help="a folder that keeps the reports of the ranks")
    parser.add_argument("size", type=int, nargs="?", default=8192)
    options = parser.parse_args()
    if options.rank:
        return be_rank(options.size, options.parts)
    if options.one_process:
        return be_one_process(options.size, options.ranks, options.parts)
    if options.size < 1 or options.ranks < 1 or options.size % (PANEL * options.ranks):
        parser.error(f"SIZE is {options.size}; allowed: multiples of {PANEL} times the ranks, "
                     f"{options.ranks}")
    if options.block is not None and options.block < 1:
        parser.error(f"BLOCK is {options.block}; allowed: 1 or more")
    reason = why_not(options.ranks)
    if reason:
        print(f"skipped: {reason}")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        return compare(options, options.reports or folder)


if __name__ == "__main__":
    sys.exit(main())
