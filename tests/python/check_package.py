"""The package tandem on the host device, in a Python that was started without it.

usage: check_package.py SOURCE_ROOT BUILD_ROOT LINKED
       check_package.py CASE LINKED  (in the environment that the first form makes)

LINKED is tests/preload/lookup_late.c, linked to cuBLAS: the library whose calls are redirected.
Ends with 77, skipped, where there is no NumPy.
"""

import asyncio
import contextlib
import copy
import ctypes
import functools
import io
import json
import multiprocessing
import os
import pickle
import subprocess
import sys
import tempfile
import threading
import types
from fractions import Fraction

import package

try:
    import numpy
except ImportError:
    print("skipped: no NumPy")
    sys.exit(77)

M, N, K = 24, 20, 40
A = numpy.array([1 / (i + 3) for i in range(M * K)]).reshape(M, K)
B = numpy.array([1 / (2 * i + 7) for i in range(K * N)]).reshape(K, N)


@contextlib.contextmanager
def raises(kind, part):
    try:
        yield
    except kind as error:
        assert part in str(error), error
    else:
        raise AssertionError(f"nothing was raised with '{part}'")


def expect(value, want):
    assert value == want, (value, want)


def is_same(a, b):
    return a.tobytes() == b.tobytes()


class Linked:
    """A library that is linked to cuBLAS, loaded before tandem is imported."""

    def __init__(self, path):
        self.cublas = ctypes.CDLL("libcublas.so.13")
        self.library = ctypes.CDLL(path)
        self.handle = ctypes.c_void_p()

    def multiply(self):
        """A B by cublasDgemm, which sees the transposed matrices."""
        import tandem
        if not self.handle:
            expect(self.cublas.cublasCreate_v2(ctypes.byref(self.handle)), 0)
        a, b, c = tandem.to_device(A), tandem.to_device(B), tandem.DeviceArray((M, N))
        pointers = [
            ctypes.c_void_p(x.__cuda_array_interface__["data"][0]) for x in (b, a, c)
        ]
        expect(self.library.multiply_linked(self.handle, N, M, K, *pointers), 0)
        return c.to_host()


def by_name(mode, **options):
    import tandem
    return tandem.matmul(tandem.to_device(A), tandem.to_device(B), mode, **options).to_host()


def check_enable(linked):
    import tandem
    native = linked.multiply()
    expect(tandem.reach()["is_attached"], False)
    df, ts = by_name("df"), by_name("ts")
    assert not is_same(native, df) and not is_same(df, ts) and not is_same(ts, native)
    for mode, want in (("df", df), ("ts", ts)):
        tandem.enable(mode)
        assert is_same(linked.multiply(), want)
        expect(tandem.get(), mode)
        tandem.disable()
        assert is_same(linked.multiply(), native)
    tandem.enable("native")
    here, = [row for row in tandem.reach()["libraries"] if "lookup_late" in row["path"]]
    assert here["imports"] > 0 and here["redirected"] == here["imports"], here

    def take_turns(mode, want):
        for _ in range(50):
            assert is_same(linked.multiply(), native)
            with tandem.mode(mode, verify="sample:4"):
                assert is_same(linked.multiply(), want)
                with tandem.mode("native"):
                    assert is_same(linked.multiply(), native)
        done.append(mode)

    done = []
    threads = [threading.Thread(target=take_turns, args=row) for row in (("df", df), ("ts", ts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expect(sorted(done), ["df", "ts"])
    with tandem.mode("df", everywhere=True):
        other = []
        thread = threading.Thread(target=lambda: other.append(linked.multiply()))
        thread.start()
        thread.join()
        assert is_same(other[0], df)
    assert is_same(linked.multiply(), native)
    before = tandem.get()
    with tandem.mode("ts"), tandem.mode("df", everywhere=True):
        expect(tandem.get(), "ts")
    expect(tandem.get(), before)


def check_tasks(_linked):
    """A block counts for its thread: for other tasks while it awaits, not for other threads."""
    import tandem

    async def of_task():
        return tandem.get()

    async def of_block():
        with tandem.mode("ts"):
            return (await asyncio.create_task(of_task()), await asyncio.to_thread(tandem.get))

    before = tandem.get()
    assert before != "ts"
    expect(asyncio.run(of_block()), ("ts", before))
    expect(tandem.get(), before)


def check_blocks(_linked):
    """A block is entered again, in itself and in several threads, and decorates functions."""
    import tandem
    before, told = tandem.get(), []
    for options in ({}, {"everywhere": True}):
        block = tandem.mode("ts", **options)
        for _ in range(2):
            with block:
                with tandem.mode("df"), block:
                    told.append(tandem.get())
                told.append(tandem.get())
            told.append(tandem.get())
    expect(told, 2 * ["ts", "ts", before] + 2 * ["df", "ts", before])
    block = tandem.mode("ts")
    with block:
        thread = threading.Thread(target=lambda: told.append(block(tandem.get)()))
        thread.start()
        thread.join()
        expect((told[-1], tandem.get()), ("ts", "ts"))
    expect((tandem.get(), block(tandem.get)(), tandem.get()), (before, "ts", before))

    async def later():
        return tandem.get()

    def one_by_one():
        yield tandem.get()

    for function, name in ((later, "later"), (one_by_one, "one_by_one"),
                           (functools.partial(one_by_one), "functools.partial(")):
        with raises(TypeError, name):
            block(function)
    with raises(TypeError, "'colour' is no option"):
        tandem.mode("df", colour="red")
    expect(tandem.get(), before)


def check_errors(linked):
    import tandem
    native = linked.multiply()
    tandem.enable("native")
    with raises(ValueError, "mode is 'oops'; allowed: native, df"):
        tandem.enable("oops")
    with raises(TypeError, "'colour' is no option"):
        tandem.enable("df", colour="red")
    with raises(ValueError, "verify is 'often'; allowed: off, sample"):
        tandem.enable("df", verify="often")
    with raises(ValueError, "mode is 'ts verify=full'"):
        tandem.enable("ts verify=full")
    with raises(ValueError, "accuracy is '99'"):
        with tandem.mode("df", accuracy=99):
            raise AssertionError("the block runs")
    with raises(KeyError, "left by"):
        with tandem.mode("df"):
            raise KeyError("left by an exception")
    expect(tandem.get(), "native")
    assert is_same(linked.multiply(), native)
    with raises(ValueError, "option is 'color'"):
        tandem.get("color")
    a, b = tandem.to_device(A), tandem.to_device(B)
    with raises(TypeError, "a is list; allowed: an array with __cuda_array_interface__"):
        tandem.matmul([[1.0]], b)
    with raises(ValueError, "a is not in device memory"):
        tandem.matmul(A, b)
    with raises(ValueError, "b has 24 rows; allowed: 40"):
        tandem.matmul(a, a)
    with raises(ValueError, "out has shape (3, 3); allowed: (24, 20)"):
        tandem.matmul(a, b, out=tandem.DeviceArray((3, 3)))
    with raises(TypeError, "a has elements of type '<f4'"):
        tandem.matmul(tandem.DeviceArray((M, K), "<f4"), b)
    with raises(ValueError, "mode is 'native'; allowed: the emulated modes"):
        tandem.matmul(a, b, "native")
    with raises(ValueError, "mode is 'df'; allowed with parts: dd, ts"):
        tandem.matmul(a, b, "df", parts=True)
    with raises(ValueError, "a has 1 dimensions; allowed: 2"):
        tandem.matmul(tandem.to_device([1.0, 2.0]), b)
    expect_refusals(a, b)


class With:
    """An array whose interface has other members, too."""

    def __init__(self, array, **members):
        self.array, self.members = array, members

    @property
    def __cuda_array_interface__(self):
        return {**self.array.__cuda_array_interface__, **self.members}


class At(With):
    """An array that says that it lies elsewhere."""

    def __init__(self, array, address):
        super().__init__(array, data=(address, False))

    def tandem_empty(self, shape, typestr):
        return self.array.tandem_empty(shape, typestr)


def expect_refusals(a, b):
    """Messages name the caller's arguments, and nothing is lost without one."""
    import tandem
    square = tandem.to_device(numpy.eye(3))
    other = tandem.to_device(numpy.eye(3))
    with raises(ValueError, "a is NULL"):
        tandem.matmul(At(a, 0), b)
    with raises(ValueError, "b is NULL"):
        tandem.matmul(a, At(b, 0))
    address = a.__cuda_array_interface__["data"][0]
    with raises(ValueError, f"a is {hex(address + 4)}; it must be aligned"):
        tandem.matmul(At(a, address + 4), b)
    for out, arguments in ((square, (square, other)), (other, (square, other))):
        with raises(ValueError, f" overlaps {'a' if out is square else 'b'} at "):
            tandem.matmul(*arguments, out=out)
    with raises(ValueError, "out at "):
        tandem.matmul(square, other, out=square)
    with raises(TypeError, "stream is str; allowed: the address of a CUDA stream"):
        tandem.matmul(a, b, "df", stream="0")
    with raises(ValueError, "stream is -1; allowed"):
        tandem.matmul(a, b, "df", stream=-1)
    with raises(ValueError, f"stream is {2**64}; allowed"):
        tandem.matmul(a, b, "df", stream=2**64)
    with raises(ValueError, r"mode is 'df\x00ts'; `tandem modes` lists what is allowed"):
        tandem.matmul(a, b, "df\0ts")
    with raises(TypeError, "array has elements of type 'complex128'; allowed: real numbers"):
        tandem.to_device([[1.0 + 2.0j]])
    with raises(ValueError, "array has masked elements"):
        tandem.to_device(numpy.ma.array([1.0, 2.0], mask=[False, True]))
    with raises(ValueError, r"option is 'mode\x00s'; `tandem options` lists what is allowed"):
        tandem.get("mode\0s")
    with raises(MemoryError, "no memory is so large"):
        tandem.DeviceArray((2**31, 2**31))
    expect(tandem.to_device(3.0).shape, ())
    with raises(ValueError, "shape is (-1, 2); allowed: sizes from 0"):
        tandem.DeviceArray((-1, 2))
    with raises(TypeError, "typestr is '<i4'; allowed: <f8, <f4"):
        tandem.DeviceArray((1, 2), "<i4")
    with raises(TypeError, "typestr is 'float64'; allowed: <f8, <f4"):
        tandem.DeviceArray((1, 2), numpy.dtype("<f8"))
    for shape in (3, (2.5, 2), "33"):
        with raises(TypeError, f"shape is {shape!r}; allowed: a tuple of whole numbers"):
            tandem.DeviceArray(shape)
    for array, kind in ((numpy.datetime64("2026-11-30"), "datetime64[D]"), ("1", "<U1")):
        with raises(TypeError, f"array has elements of type '{kind}'; allowed: real numbers"):
            tandem.to_device(array)
    for array, kind in (([None, 1.0], "NoneType"), ([Fraction(1), "1"], "str")):
        with raises(TypeError, f"array has an element of type '{kind}'; allowed: real numbers"):
            tandem.to_device(array)
    expect(tandem.to_device([Fraction(1, 2), 2**60]).to_host().tolist(), [0.5, 2.0**60])
    expect(repr(a), "<tandem.DeviceArray of shape (24, 40), '<f8'>")
    for text in ("\udcff", "\ud800"):
        for refused in (tandem.enable, tandem.get, lambda mode: tandem.matmul(a, b, mode)):
            with raises(ValueError, f"is '{ascii(text)[1:-1]}'; allowed: "):
                refused(text)
    with raises(ValueError, "mode is '['dd']'; allowed with parts: dd, ts"):
        tandem.matmul(a, b, ["dd"], parts=True)
    with raises(TypeError, "a is type; allowed: an array"):
        tandem.matmul(tandem.DeviceArray, b)
    for typestr in ("<M8[ns]", "|O"):
        with raises(TypeError, f"a has elements of type '{typestr}'; allowed: float64"):
            tandem.matmul(With(a, typestr=typestr), b)


class Tensor:
    """PyTorch's, as far as tandem.matmul asks for it, in memory of the host device."""

    negative, is_cuda, device = False, True, "cuda:0"

    def __init__(self, array):
        self.array = array

    @property
    def __cuda_array_interface__(self):
        return self.array.__cuda_array_interface__

    def is_neg(self):
        return self.negative

    def detach(self):
        return Tensor(self.array)


class Derived(Tensor):
    """As programs derive classes from PyTorch's."""


class TorchStreams:
    """torch.cuda of a program that works in a stream of its own."""

    def __init__(self, current):
        self.current = current

    def current_stream(self, _):
        return types.SimpleNamespace(cuda_stream=self.current)

    def default_stream(self, _):
        return 0

    def ExternalStream(self, address, device):
        expect(device, Tensor.device)
        return address

    @contextlib.contextmanager
    def stream(self, address):
        before, self.current = self.current, address
        yield
        self.current = before


def check_torch(_):
    """With a stand-in for PyTorch: classes derived from tensors, negative views, and memory that is
    taken for the stream in which it is used."""
    import tandem
    streams = [ctypes.c_void_p() for _ in range(2)]
    for stream in streams:
        expect(ctypes.CDLL("libcudart.so.13").cudaStreamCreate(ctypes.byref(stream)), 0)
    cuda, taken = TorchStreams(streams[0].value), []

    def empty(shape, dtype, device):
        expect(device, Tensor.device)
        taken.append(cuda.current)
        return Tensor(tandem.DeviceArray(shape, dtype))

    sys.modules["torch"] = types.SimpleNamespace(Tensor=Tensor, cuda=cuda, empty=empty,
                                                 float64="<f8", float32="<f4")
    for kind in (Tensor, Derived):
        a, b = kind(tandem.to_device(A)), kind(tandem.to_device(B))
        assert is_same(tandem.matmul(a, b, "df").array.to_host(), by_name("df"))
        for given in (streams[1].value, 0):
            tandem.matmul(a, b, "df", stream=given)
            expect(taken, [streams[0].value, given])
            del taken[1]
        taken.clear()
    b.negative = True
    with raises(ValueError, "b is a negative view; allowed: b.resolve_neg()"):
        tandem.matmul(a, b)
    del sys.modules["torch"]


def check_devices(_):
    """Arrays of another device than the current one, without a word of the caller's."""
    import tandem
    runtime, current = ctypes.CDLL("libcudart.so.13"), ctypes.c_int()
    want = {mode: by_name(mode) for mode in ("df", "ozaki2")}
    expect(runtime.cudaSetDevice(1), 0)
    a, b = tandem.to_device(A), tandem.to_device(B)
    s = numpy.diag(numpy.arange(4.0))
    of_s = [tandem.to_device(x) for x in (s, numpy.eye(4), numpy.arange(4.0))]
    expect(runtime.cudaSetDevice(0), 0)
    for mode, right in want.items():
        assert is_same(tandem.matmul(a, b, mode).to_host(), right)
    hi, lo = (numpy.asarray(part) for part in tandem.matmul(a, b, "dd", parts=True))
    assert hi.shape == (M, N) and abs(lo).max() < abs(hi).max() * 2.0**-52
    expect(tandem.verified_eigh(of_s[0], x=of_s[1], d=of_s[2]).cluster, [0, 1, 2, 3])
    expect((runtime.cudaGetDevice(ctypes.byref(current)), current.value), (0, 0))


def check_report(linked):
    import tandem
    tandem.enable("df")
    for _ in range(3):
        linked.multiply()
    told = tandem.report()
    expect((told["totals"]["emulated"], told["totals"]["native"]), (3, 0))
    call, = told["calls"]
    expect((call["function"], call["mode"], call["count"]), ("cublasDgemm_v2", "df", 3))
    assert "<td>cublasDgemm_v2</td>" in told._repr_html_() and "host device" in told._repr_html_()
    assert "cublasDgemm_v2" in str(told)
    older = {name: value for name, value in call.items() if name != "letters"}
    for of_call, want in ((call, "NN"), ({**call, "letters": "RLTU"}, "RLTU"), (older, "NN")):
        expect(tandem.Report(calls=[of_call]).rows()[1][1], want)
    tandem.reset()
    expect(tandem.report()["calls"], [])
    with tandem.mode("native"):
        linked.multiply()
    with tandem.mode("ts", verify="sample:8"):
        linked.multiply()
    told = tandem.report()
    expect((told["totals"]["emulated"], told["totals"]["native"]), (1, 1))
    verified, = [call["verified"] for call in told["calls"] if call["mode"] == "ts"]
    expect((verified["elements"], verified["outside"]), (8, 0))
    # As `tandem report` has them: null is an infinite error, and of no elements there is none.
    for worst, elements, want in ((None, 8, "inf"), (2.0**-50, 8, "8.9e-16"), (0.0, 0, "")):
        verified = {"elements": elements, "worst": worst}
        expect(tandem.Report(calls=[{**call, "verified": verified}]).rows()[1][-1], want)


class Turned:
    """The transpose of an array, as its columns lie in memory."""

    def __init__(self, array):
        self.array = array

    @property
    def __cuda_array_interface__(self):
        interface = self.array.__cuda_array_interface__
        rows, cols = interface["shape"]
        return {**interface, "shape": (cols, rows), "strides": (8, 8 * cols)}

    def tandem_empty(self, shape, typestr):
        return self.array.tandem_empty(shape, typestr)


def check_matmul(_):
    import tandem
    exact = [[sum(Fraction(A[i, k]) * Fraction(B[k, j]) for k in range(K)) for j in range(N)]
             for i in range(M)]

    def worst(*parts):
        errors = (abs(sum(Fraction(float(p[i, j])) for p in parts) / exact[i][j] - 1)
                  for i in range(M) for j in range(N))
        return float(max(errors))

    for mode, bound in (("df", 2.0**-42), ("ts", 2.0**-52), ("ozaki2", 2.0**-50),
                        ("ozaki2:14", 2.0**-44), ("faithful", 2.0**-53)):
        assert worst(by_name(mode)) <= bound, (mode, worst(by_name(mode)))
    a, b = tandem.to_device(A), tandem.to_device(B)
    out = tandem.DeviceArray((M, N))
    assert tandem.matmul(a, b, "df", out=out) is out
    assert is_same(out.to_host(), by_name("df"))
    hi, lo = (part.to_host() for part in tandem.matmul(a, b, "dd", parts=True))
    assert hi.dtype == numpy.float64 and worst(hi, lo) <= 2.0**-95 < worst(hi)
    x, y, z = (part.to_host() for part in tandem.matmul(a, b, "ts", parts=True))
    assert x.dtype == numpy.float32 and worst(x, y, z) <= 2.0**-59 < worst(x, y)

    turned_a, turned_b = (Turned(tandem.to_device(x.T)) for x in (A, B))
    for mode in ("df", "ts", "ozaki2"):
        for left in (a, turned_a):
            for right in (b, turned_b):
                assert is_same(tandem.matmul(left, right, mode).to_host(), by_name(mode))
    for part, want in zip(tandem.matmul(turned_a, b, "dd", parts=True), (hi, lo)):
        assert is_same(part.to_host(), want)


def check_streams(_):
    """A product comes after what its arrays' streams have, and before what they are given then."""
    import tandem
    from tandem import _memory
    runtime, follow, followed = _memory._runtime(), _memory.follow, []
    streams = [ctypes.c_void_p() for _ in range(3)]
    for stream in streams:
        expect(runtime.cudaStreamCreateWithFlags(ctypes.byref(stream), 1), 0)
    one, two, three = (stream.value for stream in streams)
    a, b, out = tandem.to_device(A), tandem.to_device(B), tandem.DeviceArray((M, N))

    def note(stream, other):
        followed.append((stream, other))
        follow(stream, other)

    def order(*of, **options):
        followed.clear()
        tandem.matmul(*(With(x, stream=s) for x, s in zip((a, b), of)), "df",
                      out=With(out, stream=of[2]), **options)
        expect(is_same(out.to_host(), by_name("df")), True)
        return set(followed[:len(followed) // 2]), set(followed[len(followed) // 2:])

    _memory.follow = note
    expect(order(one, two, one), ({(one, two)}, {(two, one)}))
    expect(order(one, two, two, stream=three),
           ({(three, one), (three, two)}, {(one, three), (two, three)}))
    expect(order(None, 1, None), (set(), set()))
    expect(order(one, 1, None), ({(one, 0)}, {(0, one)}))


def check_what_is_no_array_of_numbers(_):
    import tandem
    a, b, out = tandem.to_device(A), tandem.to_device(B), tandem.DeviceArray((M, N))
    with raises(ValueError, "b has a mask; allowed: numbers alone"):
        tandem.matmul(a, With(b, mask=b), "df", out=out)
    tandem.matmul(a, With(b, mask=None), "df", out=out)
    if numpy.lib.NumpyVersion(numpy.__version__) >= "2.0.0":
        with raises(ValueError, "copy is False"):
            numpy.array(a, copy=False)
    expect(numpy.array(a, copy=True).shape, (M, K))


def check_end(_):
    """An array that outlives the names of its module, as some do where the interpreter ends."""
    import tandem
    import tandem._memory
    array = tandem.to_device(A)
    vars(tandem._memory).update(dict.fromkeys(vars(tandem._memory)))
    del array


def check_copies(_):
    """A copy is memory of its own: its end leaves the first array's alone."""
    import tandem
    a = tandem.to_device(A)
    for other in (copy.copy(a), copy.deepcopy(a), copy.deepcopy({"a": a})["a"]):
        expect((other.shape, other.typestr, is_same(other.to_host(), A)), (A.shape, "<f8", True))
        assert a.__cuda_array_interface__["data"] != other.__cuda_array_interface__["data"]
    del other
    assert is_same(a.to_host(), A)
    single = tandem.DeviceArray((0, 3), "<f4")
    expect((copy.copy(single).shape, copy.copy(single).typestr), ((0, 3), "<f4"))
    with raises(TypeError, "cannot be pickled; to_host() gives NumPy's array"):
        pickle.dumps(a)


def check_eigenvalues(_):
    import tandem
    n = 30
    s = numpy.array([[1.0 / (i + j + 1) for j in range(n)] for i in range(n)])
    s += numpy.diag(numpy.arange(n))
    d, x = numpy.linalg.eigh(s)
    told = tandem.verified_eigh(tandem.to_device(s), x=tandem.to_device(x), d=tandem.to_device(d))
    assert all(low <= value <= high for low, value, high in zip(told.lower, d, told.upper))
    assert all(high - low < 1e-11 for low, high in zip(told.lower, told.upper))
    expect(told.cluster, list(range(n)))
    with raises(tandem.NotProven, "too far from orthonormal"):
        tandem.verified_eigh(tandem.to_device(s), x=tandem.to_device(0 * x), d=tandem.to_device(d))
    with raises(ValueError, "x has shape (2, 2); allowed: (30, 30)"):
        tandem.verified_eigh(tandem.to_device(s), x=tandem.to_device(numpy.eye(2)),
                             d=tandem.to_device(d))
    with raises(TypeError, "x and d must be given"):
        tandem.verified_eigh(tandem.to_device(s))
    one = With(tandem.to_device([[1.0]]))  # its only column lies in one piece
    expect(tandem.verified_eigh(one, x=one, d=tandem.to_device([1.0])).cluster, [0])


def check_copied_vectors(_):
    """Vectors that are copied are those which the stream has made."""
    import tandem
    from tandem import _memory
    s, d = tandem.to_device(numpy.diag([1.0, 2.0])), tandem.to_device([1.0, 2.0])
    stream, wait, waited = ctypes.c_void_p(), _memory.wait, []
    expect(_memory._runtime().cudaStreamCreateWithFlags(ctypes.byref(stream), 1), 0)

    def note(which):
        waited.append(which)
        wait(which)

    _memory.wait = note
    tandem.verified_eigh(s, x=tandem.to_device(numpy.eye(2)), d=d, stream=stream.value)
    expect(waited[0], stream.value)


def check_solvers(_):
    """With stand-ins for the libraries: each one's own eigh is called."""
    from tandem import _arrays, _products
    for library, name in _arrays._CLASSES.items():
        kind = type(name, (), {})
        linalg = types.SimpleNamespace(eigh=lambda a: ["values", a])
        places = {"numpy": types.SimpleNamespace(linalg=linalg)} if library == "jax" \
            else {"linalg": linalg}
        sys.modules[library] = types.SimpleNamespace(**{name: kind}, **places)
        array = kind()
        expect(_products._solve(array, None), ("values", array))
        with raises(TypeError, "x and d must be given with b"):
            _products._solve(array, array)
        del sys.modules[library]


def check_machine(_):
    import tandem
    from tandem import _launcher
    told = tandem.plan(4096, 4096, 4096, device="NVIDIA GeForce RTX 4090")
    assert told["auto"]["mode"] != "native" and told["m"] == 4096, told["auto"]
    with raises(ValueError, "allowed: dgemm, "):
        tandem.plan(1, 2, 3, routine="none")
    routines = [row["routine"] for row in _launcher.ask("plan", "--routines")]
    assert len(routines) > 30, routines
    for routine in routines:
        assert tandem.plan(64, 48, 32, routine=routine)["routine"] == routine
    expect([tandem.plan(64, 48, 32, routine="dormqr")[size] for size in "mnk"], [64, 48, 32])
    with raises(ValueError, "routine"):
        tandem.plan(1, 2, 3, routine="dgemmm")
    with raises(ValueError, "--routine is '['dgemm']'; allowed: dgemm, "):
        tandem.plan(1, 2, 3, routine=["dgemm"])
    with raises(ValueError, r"'--device=\x00' has a null character"):
        tandem.plan(1, 2, 3, device="\0")
    with raises(ValueError, "M is '-1'; allowed: 1 to "):
        tandem.plan(-1, 2, 3)
    with raises(ValueError, "K is '--help'; allowed: 1 to "):
        tandem.plan(1, 2, "--help")
    assert all("compute capability" in text for text in tandem.devices())
    # What an attach from outside would reach: the library that is linked to cuBLAS.
    facts = _launcher.ask("doctor", f"--attach={os.getpid()}")["facts"]
    reached = [fact["text"] for fact in facts if fact["name"] == "reached"]
    assert len(reached) == 1 and "lookup_late" in reached[0] and "1 functions" in reached[0], facts
    assert tandem.__version__.count(".") == 2


def check_texts(_):
    """Texts that the user's locale has no letters for, and file names that are no UTF-8."""
    code = "from tandem import _launcher, get; " \
           "print(ascii([row for row in _launcher.ask('options') if 'REPORT' in row['name']][0]" \
           "['value'])); print(ascii(get('report')))"
    environment = {
        **os.environ, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C"
    }
    for name, shown, got in ((b"\xc3\xbc", "'\\xfc'", "'\\udcc3\\udcbc'"),
                             (b"\xff", "'\\xff'", "'\\udcff'")):
        told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                              env={os.fsencode(k): os.fsencode(v) for k, v in environment.items()}
                              | {b"TANDEM_REPORT": name}, check=False)
        expect((told.stderr, told.stdout), ("", f"{shown}\n{got}\n"))
    told = subprocess.run([sys.executable, "-c", "from tandem import _launcher; "
                           "_launcher.LAUNCHER = '/none'; _launcher.main()"], check=False,
                          capture_output=True, text=True)
    expect((told.returncode, told.stderr),
           (1, "tandem: error: cannot run '/none': No such file or directory\n"))
    from tandem import _launcher
    _launcher.LAUNCHER = "/none"
    with raises(ImportError, "cannot run '/none' (No such file or directory): the package tandem "):
        _launcher.ask("options")


def child(queue, path):
    """In a process that is started anew."""
    import tandem
    linked = Linked(path)
    native = linked.multiply()
    tandem.enable("df")
    queue.put((tandem.get(), is_same(linked.multiply(), by_name("df")),
               is_same(native, by_name("df"))))


def in_child(is_right):
    """True if that is so in a child of this process."""
    pid = os.fork()
    if pid == 0:
        os._exit(0 if is_right() else 1)
    return os.waitpid(pid, 0)[1] == 0


def check_processes(linked):
    import tandem
    linked.multiply()
    tandem.enable("ts")
    linked.multiply()
    linked.multiply()
    tandem.reset()

    def counts_from_zero():
        linked.multiply()
        return [call["count"] for call in tandem.report()["calls"]] == [1]

    expect(in_child(counts_from_zero), True)
    expect(tandem.report()["calls"], [])
    with tandem.mode("df"):
        expect(in_child(lambda: tandem.get() == "df" and tandem.report()["calls"] == []), True)
    spawn = multiprocessing.get_context("spawn")
    queue = spawn.Queue()
    process = spawn.Process(target=child, args=(queue, sys.argv[2]))
    process.start()
    expect(queue.get(timeout=300), ("df", True, False))
    process.join()
    expect(tandem.get(), "ts")


def check_kernel(_):
    from tandem import _kernel
    try:
        import jupyter_client.kernelspec
    except ImportError:
        print("no jupyter_client: kernels are not looked at")
        return
    with tempfile.TemporaryDirectory() as prefix:
        expect(_kernel.main(["install", "--name", "t", "--mode", "ts", "--prefix", prefix]), 0)
        path = os.path.join(prefix, "share", "jupyter", "kernels", "t", "kernel.json")
        with open(path, encoding="utf-8") as file:
            start = json.load(file)["argv"]
        expect(start[1:5], ["run", "--mode", "ts", "--"])
        code = "import tandem; print(tandem.get(), tandem.matmul)"
        said = subprocess.run([*start[:6], "-c", code], capture_output=True, text=True, check=True)
        assert said.stdout.startswith("ts <function"), said
        with contextlib.redirect_stderr(io.StringIO()) as said:
            expect(_kernel.main(["install", "--mode", "oops", "--prefix", prefix]), 2)
        assert "mode is 'oops'; allowed: native, df" in said.getvalue(), said.getvalue()
        for mode in ("ozaki2:99", "df:3", ""):
            with raises(ValueError, f"mode is '{mode}'; "):
                _kernel.install("t", mode=mode, prefix=prefix)


CASES = {
    name.removeprefix("check_"): case
    for name, case in globals().items() if name.startswith("check_")
}


def run_all(source, build, linked):
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            k: v for k, v in os.environ.items() if not k.startswith(("TANDEM_", "HOSTGPU_"))
        }
        environment["PYTHONPATH"] = package.make(folder, source, build)
        environment["LD_LIBRARY_PATH"] = os.path.join(build, "hostgpu")
        environment["HOSTGPU_DEVICES"] = "2"
        for case in CASES:
            done = subprocess.run([sys.executable, "-W", "error", __file__, case, linked],
                                  env=environment, capture_output=True, text=True, check=False)
            print(f"{case:12s} {done.stdout}{done.stderr}", flush=True)
            if done.returncode != 0 or done.stderr:
                failed.append(case)
    print("failed:", ", ".join(failed) or "none")
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) == 4:
        sys.exit(run_all(*sys.argv[1:]))
    CASES[sys.argv[1]](Linked(sys.argv[2]))
    print("right")
