"""Rows of bench/never_slower.py that its options name: each of some kinds with each of some shapes.

A shape is written as the drawing has it: the type, d or z; the members of a batch, if there is one;
m, n and k, or an order: 'd 3000^3', 'z 8192x8192x512', 'z 16x 1024^3'."""
import re

import sweep_rows

SHAPE = re.compile(r"([dz]) (?:(\d+)x )?(?:(\d+)\^3|(\d+)x(\d+)x(\d+))")
FORMS = {("d", False): "cublasDgemm_v2", ("d", True): "cublasDgemmStridedBatched",
         ("z", False): "cublasZgemm_v2", ("z", True): "cublasZgemmStridedBatched"}


def parse_shape(text):
    """Type, m, n, k and members; ValueError if the text names no shape."""
    match = SHAPE.fullmatch(text)
    if not match:
        raise ValueError(f"no shape: '{text}'; allowed: as 'd 3000^3', 'z 8192x8192x512' or "
                         "'z 16x 1024^3'")
    letter, batch, order, *sizes = match.groups()
    m, n, k = (int(size) for size in ([order] * 3 if order else sizes))
    shape = letter, m, n, k, int(batch or 1)
    if min(shape[1:]) < 1:
        raise ValueError(f"no shape: '{text}'; allowed: sizes and members from 1 on")
    return shape


def grid_rows(kinds, shapes, factor):
    """Products without operations of A and B, whose C is not read, of shapes as parse_shape gives
    them."""
    rows = [sweep_rows.Row(kind, "both", FORMS[letter, batch > 1], letter, "N", "N", m, n, k, batch,
                           0, sweep_rows.shape_title(letter, m, n, k, batch))
            for kind in kinds for letter, m, n, k, batch in shapes]
    for row in rows if factor > 1 else []:
        sweep_rows.shrink(row, factor)
    sweep_rows.tell_apart(rows)
    return rows
