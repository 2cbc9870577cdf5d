"""Products and eigenvalues of arrays, in an arithmetic that is called by name."""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import operator
import re
import sys
from typing import Any, Iterator, Optional, Sequence

from . import _arrays, _library, _memory
from ._arrays import FLOAT32, FLOAT64, View
from ._memory import DeviceArray, DevicePart, to_device

_N, _T = 0, 1  # tandem_op
_ADDRESSES = 1 << 64  # how many there are

# Modes whose products may be had whole: the parts of a number, their type, the function of the
# product, that which splits binary64 numbers, and one and zero.
_PAIR, _TRIPLE = _library.PAIR, _library.TRIPLE
_WHOLE = {
    "dd": (2, FLOAT64, "tandem_ddgemm", "tandem_dd_split", _PAIR(1.0, 0.0), _PAIR(0.0, 0.0)),
    "ts": (3, FLOAT32, "tandem_tsgemm", "tandem_ts_split", _TRIPLE(1.0, 0.0, 0.0),
           _TRIPLE(0.0, 0.0, 0.0)),
}


def _matrix(array: Any, name: str) -> View:
    of = _arrays.view(array, name)
    if of.typestr != FLOAT64:
        raise TypeError(f"{name} has elements of type '{of.typestr}'; allowed: float64")
    if len(of.shape) != 2:
        raise ValueError(f"{name} has {len(of.shape)} dimensions; allowed: 2")
    return of


def _layout(of: View, name: str) -> tuple[int, int]:
    """A matrix of rows as the transpose of one of columns: (op, leading dimension), for a product
    whose result is the transpose too."""
    rows, cols = of.shape
    down, along = of.strides
    if (along == 1 or cols <= 1) and (down >= cols or rows <= 1):
        return _N, max(1, cols, down if rows > 1 else 0)
    if (down == 1 or rows <= 1) and (along >= rows or cols <= 1):
        return _T, max(1, rows, along if cols > 1 else 0)
    raise ValueError(f"{name} has strides of {of.strides} elements; allowed: one of them is 1, and "
                     f"the other at least as many as the elements of a row or a column")


def _stream(stream: Any, array: Any, of: View) -> int:
    """The stream that an argument names, or the current one of the array's library."""
    if stream is None:
        return _arrays.current_stream(array, of)
    try:
        address = operator.index(stream)
    except TypeError:
        raise TypeError(f"stream is {type(stream).__name__}; allowed: the address of a CUDA "
                        f"stream") from None
    if not 0 <= address < _ADDRESSES:
        raise ValueError(f"stream is {address}; allowed: the address of a CUDA stream")
    return address


@contextlib.contextmanager
def _there(array: Any, of: View, stream: Any) -> Iterator[int]:
    """A block on the array's device and, if `stream` names one, in that stream, whose address it
    has."""
    with _memory.device_of(of.pointer):
        address = _stream(stream, array, of)
        if stream is None:
            yield address
            return
        with _arrays.in_stream(array, address):
            yield address


@contextlib.contextmanager
def _in_turn(stream: int, *views: Optional[View]) -> Iterator[None]:
    """A block whose work in a stream comes after what the arrays' own streams have so far, and
    before what these are given afterwards."""
    own = (_arrays.own_stream(of) for of in views if of is not None)
    others = {other for other in own if other is not None and other != stream}
    for other in others:
        _memory.follow(stream, other)
    yield
    for other in others:
        _memory.follow(other, stream)


def _text(mode: Any) -> bytes:
    """A mode's name as the library takes it, which ends at a 0."""
    if "\0" in str(mode):
        raise ValueError(f"mode is {mode!r}; `tandem modes` lists what is allowed")
    return _library.encode(str(mode))


# The library's names of the matrices in C' = B' A', and the caller's.
_TURNED = {"a": "b", "b": "a", "c": "out"}


def _call_turned(name: str, *arguments: Any) -> None:
    """A product of rows, which are another matrix's columns: C' = B' A'. A message about an
    argument names the caller's."""
    try:
        _library.call(name, *arguments)
    except ValueError as error:
        raise ValueError(re.sub("(^|(?<=overlaps ))[abc](?= (is|at) )",
                                lambda found: _TURNED[found.group()], str(error))) from None


def _check_shapes(a: View, b: View) -> tuple[int, int, int]:
    (m, k), (other, n) = a.shape, b.shape
    if other != k:
        raise ValueError(f"b has {other} rows; allowed: {k}, as many as a has columns")
    return m, n, k


def _result(out: Any, like: Any, shape: tuple[int, int]) -> tuple[Any, View]:
    if out is None:
        # Arrays of JAX say that they are read-only; nobody else has this one yet.
        out = _arrays.empty(like, shape, FLOAT64, "out")
        return out, _matrix(out, "out")
    of = _matrix(out, "out")
    if of.shape != shape:
        raise ValueError(f"out has shape {of.shape}; allowed: {shape}")
    if of.is_read_only:
        raise ValueError("out is read-only; allowed: an array that may be written")
    if _layout(of, "out")[0] != _N:
        raise ValueError(f"out has strides of {of.strides} elements; allowed: rows in one piece")
    return out, of


def matmul(a: Any, b: Any, mode: str = "ozaki2", *, out: Any = None, parts: bool = False,
           stream: Optional[int] = None) -> Any:
    """The product of two matrices of float64 numbers, in the arithmetic that is named.

    a: m x k, b: k x n: arrays of PyTorch, CuPy or JAX on one CUDA device, DeviceArray, or others
       with __cuda_array_interface__ or DLPack. Rows or columns lie in one piece; transposed views
       are not copied.
    mode: as in TANDEM_MODE, of the emulated modes: "df", "ozaki2:14", "faithful", ...; `tandem
       modes` lists them with their error bounds.
    out: m x n, written and returned; None: a new array of a's library.
    parts: the result as the arithmetic has it, not rounded to float64: with mode "dd" a pair of
       float64 arrays (hi, lo), with "ts" a triple of float32 arrays (x, y, z), the largest parts
       first, whose sums are the elements (bounds: docs/numerics.md). They are views of one array.
    stream: address of a CUDA stream; None: the current one of a's library, or the default stream.

    Returns an m x n array on the stream: nothing waits, but for JAX, whose arrays are made on no
    stream that it would tell. Gradients do not flow through.

    Takes the mode's workspace of device memory meanwhile, at most TANDEM_WORKSPACE
    (docs/workspace.md); with parts also 16 bytes ("dd") or 12 ("ts") for each element of a and b.

    Raises TypeError and ValueError, which name the argument; MemoryError; tandem.Error if the
    device cannot.
    """
    of_a, of_b = _matrix(a, "a"), _matrix(b, "b")
    with _there(a, of_a, stream) as address:
        if not parts:
            return _matmul(a, of_a, of_b, mode, out, address)
        if out is not None:
            raise ValueError("out is given; allowed with parts: None")
        return _matmul_whole(a, of_a, of_b, mode, address)


def _matmul(a: Any, of_a: View, of_b: View, mode: str, out: Any, stream: int) -> Any:
    m, n, k = _check_shapes(of_a, of_b)
    op_a, lda = _layout(of_a, "a")
    op_b, ldb = _layout(of_b, "b")
    out, of_c = _result(out, a, (m, n))
    with _in_turn(stream, of_a, of_b, of_c):
        _call_turned("tandem_dgemm", _text(mode), op_b, op_a, n, m, k, 1.0, of_b.pointer, ldb,
                     of_a.pointer, lda, 0.0, of_c.pointer, _layout(of_c, "out")[1], stream)
    _arrays.finish(out, stream)
    return out


def _split(function: str, like: Any, of: View, count: int, kind: str, stream: int,
           name: str) -> tuple[Any, int, int]:
    """Each element in parts, in an array of its own: (array, op, leading dimension)."""
    op, ld = _layout(of, name)
    # As columns, of which each lies in one piece.
    rows, cols = of.shape if op == _T else of.shape[::-1]
    whole = _arrays.empty(like, (cols, rows, count), kind, name)
    _library.call(function, rows, cols, of.pointer, ld, _arrays.view(whole, name).pointer,
                  max(1, rows), stream)
    return whole, op, max(1, rows)


def _matmul_whole(a: Any, of_a: View, of_b: View, mode: str, stream: int) -> tuple[Any, ...]:
    if not isinstance(mode, str) or mode not in _WHOLE:
        raise ValueError(f"mode is '{mode}'; allowed with parts: {', '.join(_WHOLE)}")
    count, kind, product, split, one, zero = _WHOLE[mode]
    m, n, k = _check_shapes(of_a, of_b)
    with _in_turn(stream, of_a, of_b):
        parts_a, op_a, lda = _split(split, a, of_a, count, kind, stream, "a")
        parts_b, op_b, ldb = _split(split, a, of_b, count, kind, stream, "b")
        whole = _arrays.empty(a, (m, n, count), kind, "out")
        _call_turned(product, op_b, op_a, n, m, k, one, _arrays.view(parts_b, "b").pointer, ldb,
                     _arrays.view(parts_a, "a").pointer, lda, zero,
                     _arrays.view(whole, "out").pointer, max(1, n), stream)
    _arrays.finish(whole, stream)
    if _arrays.library_of(whole):
        return tuple(whole[..., i] for i in range(count))
    return _parts_of(whole, count)


def _parts_of(whole: Any, count: int) -> tuple[Any, ...]:
    return tuple(DevicePart(whole, i) for i in range(count))


@dataclasses.dataclass(frozen=True)
class Eigenvalues:
    """Proven intervals of eigenvalues, smallest first, counted with multiplicity.

    The i-th smallest lies in [lower[i], upper[i]]. Those that are not told apart share a number in
    cluster, and an interval. vectors and values are those that were verified: arrays of the input's
    library.
    """

    lower: Sequence[float]
    upper: Sequence[float]
    cluster: Sequence[int]
    values: Any
    vectors: Any


def _solve(a: Any, b: Any) -> tuple[Any, Any]:
    """Approximate eigenvalues and vectors by the array's own library."""
    library = _arrays.library_of(a)
    if b is not None or not library:
        raise TypeError("x and d must be given " +
                        ("with b" if b is not None else
                         f"for {type(a).__name__}, whose library Tandem does not know"))
    module = sys.modules[library]
    values, vectors = (module.numpy if library == "jax" else module).linalg.eigh(a)
    return values, vectors


def verified_eigh(a: Any, b: Any = None, *, x: Any = None, d: Any = None, mode: str = "faithful",
                  stream: Optional[int] = None) -> Eigenvalues:
    """Intervals that are proven to hold the eigenvalues of A x = lambda x, A symmetric, or of
    A x = lambda B x, B symmetric and positive definite.

    a, b: n x n float64 arrays in device memory, both triangles; b: None for the identity.
    x, d: approximate eigenvectors, one a column, and eigenvalues: n x n and n. None: from the
       array's own library (eigh of PyTorch, CuPy, JAX). The better they are, the smaller the
       intervals; nothing is assumed of them. Where the columns of x do not lie in one piece, a
       copy of x is made.
    mode: "faithful", "faithful:fp64", or "native" for comparison, of which nothing is proven.
    stream: as for `matmul`. The call waits for it.

    Takes device memory for one n x n matrix, three with b, and a product's workspace meanwhile.

    Raises ValueError, which names the argument, tandem.NotProven if there is no bound, MemoryError,
    tandem.Error. The theorem is in include/tandem.h (tandem_verify_symmetric).
    """
    if (x is None) != (d is None):
        raise ValueError("x and d must be given both, or none of them")
    of_a = _matrix(a, "a")
    with _there(a, of_a, stream) as address:
        return _verified(a, of_a, b, x, d, mode, address)


def _verified(a: Any, of_a: View, b: Any, x: Any, d: Any, mode: str, stream: int) -> Eigenvalues:
    n = of_a.shape[0]
    if x is None:
        d, x = _solve(a, b)
    square = {"a": of_a, "x": _matrix(x, "x")}
    if b is not None:
        square["b"] = _matrix(b, "b")
    for name, of in square.items():
        if of.shape != (n, n):
            raise ValueError(f"{name} has shape {of.shape}; allowed: ({n}, {n})")
    of_d = _arrays.view(d, "d")
    if of_d.typestr != FLOAT64 or of_d.shape != (n,) or (n > 1 and of_d.strides != (1,)):
        raise ValueError(f"d has shape {of_d.shape} and type '{of_d.typestr}'; allowed: ({n},) of "
                         f"float64 in one piece")
    # The columns of x must lie in one piece: where its rows alone do, a copy is made.
    op_x, ldx = _layout(square["x"], "x")
    columns = x
    if op_x == _N and n > 1:
        columns, ldx = _transposed(x, "x", stream), n
    lower, upper = (ctypes.c_double * n)(), (ctypes.c_double * n)()
    cluster = (ctypes.c_int64 * n)()
    of_b = square.get("b")
    with _in_turn(stream, *square.values(), of_d):
        _library.call("tandem_verify_symmetric", _text(mode), n, of_a.pointer,
                      _layout(of_a, "a")[1], of_b.pointer if of_b else None,
                      _layout(of_b, "b")[1] if of_b else 1, _arrays.view(columns, "x").pointer, ldx,
                      of_d.pointer, lower, upper, cluster, stream)
    return Eigenvalues(list(lower), list(upper), list(cluster), d, x)


def _transposed(x: Any, name: str, stream: int) -> Any:
    """A copy of x, as the stream has it, whose rows are the columns of x, in one piece each."""
    library = _arrays.library_of(x)
    if library == "torch":
        return x.t().contiguous()
    if library == "cupy":
        return sys.modules["cupy"].ascontiguousarray(x.T)
    if library == "jax":
        return sys.modules["jax"].numpy.array(x.T, copy=True).block_until_ready()
    if isinstance(x, DeviceArray):
        _memory.wait(stream)
        return to_device(x.to_host().T)
    raise ValueError(f"{name} has rows in one piece; allowed: columns in one piece")
