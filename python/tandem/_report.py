"""What Tandem has counted in this process."""

from __future__ import annotations

import html
import json
import os
from typing import Any, Callable

from . import _library

# What identifies a line, and what of it is a sum over calls.
_KEY = ("function", "type", "op_a", "op_b", "side", "uplo", "diag", "job", "m", "n", "k",
        "batch", "device", "mode", "native_reason", "site")
_SUMS = ("count", "timed", "unread", "seconds", "repaired", "tiles")
_SUMS_VERIFIED = ("elements", "special", "outside", "unjudged")

# The columns of the table: heading, and the cell of a line.
_COLUMNS: tuple[tuple[str, Callable[[dict[str, Any]], Any]], ...] = (
    ("function", lambda c: c["function"]),
    ("op", lambda c: c.get("letters", c["op_a"] + c["op_b"])),
    ("m", lambda c: c["m"]),
    ("n", lambda c: c["n"]),
    ("k", lambda c: c["k"]),
    ("batch", lambda c: c["batch"]),
    ("mode", lambda c: c["mode"]),
    ("why", lambda c: c["native_reason"] or c["choice"] or ""),
    ("calls", lambda c: c["count"]),
    ("ms a call", lambda c: f"{1e3 * c['seconds'] / c['timed']:.4g}" if c["timed"] else ""),
    ("repaired", lambda c: "" if c["repaired"] is None else c["repaired"]),
    ("worst error", lambda c: _worst(c["verified"])),
)


def _worst(verified: Any) -> str:
    """The largest error of the elements that were looked at; null is an infinite one."""
    if not verified or not verified["elements"]:
        return ""
    return "inf" if verified["worst"] is None else f"{verified['worst']:.2g}"


def _key(call: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(call.get(name) for name in _KEY)


def _subtract(now: dict[str, Any], before: dict[str, Any], names: tuple[str, ...]) -> None:
    for name in names:
        if now.get(name) is not None and before.get(name) is not None:
            now[name] -= before[name]


class Report(dict[str, Any]):
    """The report as a dictionary (docs/report.md), which a notebook draws as a table.

    "totals" has the sums, "calls" a dictionary for each kind of call.
    """

    def rows(self) -> list[list[Any]]:
        """The table: its headings, and then a list for each kind of call."""
        return [[heading for heading, _ in _COLUMNS],
                *([cell(call) for _, cell in _COLUMNS] for call in self["calls"])]

    def __str__(self) -> str:
        rows = [[str(cell) for cell in row] for row in self.rows()]
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()
                         for row in rows)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head, *body = self.rows()

        def line(cells: list[Any], tag: str) -> str:
            texts = (html.escape(str(cell)) for cell in cells)
            return "<tr>" + "".join(f"<{tag}>{text}</{tag}>" for text in texts) + "</tr>"

        totals = self["totals"]
        note = f"<p>{html.escape(self['note'])}</p>" if self.get("note") else ""
        return (f"<p>Tandem: {totals['emulated']} calls emulated, {totals['native']} native</p>"
                f"{note}<table><thead>{line(head, 'th')}</thead>"
                f"<tbody>{''.join(line(row, 'td') for row in body)}</tbody></table>")


_before: dict[tuple[Any, ...], dict[str, Any]] = {}  # what was counted at the last reset
os.register_at_fork(after_in_child=_before.clear)  # a child counts for itself, from zero


def _read() -> dict[str, Any]:
    _library.call("tandem_count_calls")
    told: dict[str, Any] = json.loads(_library.text_of("tandem_report"))
    return told


def _since(call: dict[str, Any]) -> dict[str, Any]:
    before = _before.get(_key(call))
    if before:
        _subtract(call, before, _SUMS)
        if call["verified"] and before["verified"]:
            _subtract(call["verified"], before["verified"], _SUMS_VERIFIED)
    return call


def _total(calls: list[dict[str, Any]], name: str) -> Any:
    known = [c[name] for c in calls if c[name] is not None]
    return sum(known) if known else None


def report() -> Report:
    """What was called since the process began, or since `reset`: a table in a notebook, and a
    dictionary.

    Calls are counted from the first `enable` or `report` on. Times are seconds of the device, for
    the calls that were timed: the first ones of each kind, then one in sixteen. The worst error and
    the mean one are those since the process began, as shares of |A||B|; docs/report-fields.md has
    all members.
    """
    whole = Report(_read())
    calls = [c for c in map(_since, whole["calls"]) if c["count"] > 0]
    whole["calls"] = calls
    totals = whole["totals"]
    totals["intercepted"] = sum(c["count"] for c in calls)
    totals["native"] = sum(c["count"] for c in calls if c["native_reason"])
    totals["emulated"] = totals["intercepted"] - totals["native"]
    for name in ("timed", "unread", "seconds", "repaired"):
        totals[name] = _total(calls, name)
    verified = [c["verified"] for c in calls if c["verified"]]
    totals["verified"] = sum(v["elements"] for v in verified) if verified else None
    totals["outside"] = sum(v["outside"] for v in verified) if verified else None
    return whole


def reset() -> None:
    """Has `report` begin again at nothing. The report that TANDEM_REPORT asks for stays whole."""
    _before.clear()
    _before.update((_key(call), call) for call in _read()["calls"])
