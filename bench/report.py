"""What the reports of the benches share: the CSV of a table (bench/harness/table.c), Markdown, and
pages with tables in them."""

import csv
import math
import os
import re
import sys


class Measurements:
    """The lines of one file; `page` is the one that they are for."""

    def __init__(self, path, page="."):
        self.path, self.page = path, page
        with open(path, encoding="utf-8", newline="") as file:
            lines = file.readlines()
        self.remarks = [line[2:].strip() for line in lines if line.startswith("# ")]
        self.lines = list(csv.DictReader(line for line in lines if not line.startswith("#")))

    @staticmethod
    def numbers(lines, column, **wanted):
        """The numbers in a column of those lines that have the wanted texts."""
        return [float(line[column]) for line in lines
                if line[column] and all(line[key] == str(text) for key, text in wanted.items())]

    def drawings(self, names):
        """Links to the drawings beside the CSV; names: of the ends of their names, the titles."""
        stem = os.path.splitext(os.path.relpath(self.path, os.path.dirname(self.page) or "."))[0]
        return [f"![{title}]({stem}-{name}.svg)" for name, title in names.items()]


def table(head, rows):
    return ["| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows]]


def text(form, value):
    return "-" if value is None else form.format(value)


def percent(value):
    return text("{:.1f} %", None if value is None else 100 * value)


def power(value):
    """2^-43.2"""
    if value is None:
        return "-"
    if math.isinf(value):
        return "infinite"
    return f"2^{math.log2(value):.1f}" if value > 0 else "0"


def largest(values):
    return max(values) if values else None


def yes(is_met):
    return "-" if is_met is None else "yes" if is_met else "no"


def machine(results):
    return [f"- {remark}" for remark in results.remarks]


def fill(page, name, tables, results):
    """The page with its tables replaced; KeyError if it names one that there is not."""
    def replacement(match):
        # Blank lines, or the line above the table becomes part of it.
        return "\n".join([match.group(1), "", *tables[match.group(2)](results), "", "<!-- end -->"])

    return re.sub(rf"(<!-- {name}: ([^\n]*?) -->)\n.*?<!-- end -->", replacement, page,
                  flags=re.DOTALL)


def main(name, usage, results_of, tables):
    """A report's program; the exit status. results_of(CSV, PAGE) reads the measurements."""
    arguments = sys.argv[1:]
    if len(arguments) not in (1, 2) or arguments[0].startswith("-"):
        print(usage, file=sys.stderr)
        return 2
    results = results_of(*arguments)
    if not results.lines:
        print(f"{arguments[0]}: no measurements", file=sys.stderr)
        return 1
    if len(arguments) == 1:
        for title, make in tables.items():
            print(f"## {title}\n", *make(results), "", sep="\n")
        return 0
    with open(arguments[1], encoding="utf-8") as file:
        page = file.read()
    filled = fill(page, name, tables, results)
    with open(arguments[1], "w", encoding="utf-8") as file:
        file.write(filled)
    return 0
