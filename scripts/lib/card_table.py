"""Prints docs/speed.md's table of GPUs that were not timed: what the model predicts for them.

usage: card_table.py TANDEM

TANDEM is the program tools/tandem. Rates are 10^12 real operations a second of whole products in
square matrices, as `tandem plan --device` predicts them from the properties of the GPU alone.
"""

import json
import subprocess
import sys

CARDS = ["NVIDIA GeForce RTX 5090", "NVIDIA GeForce RTX 4090", "NVIDIA GeForce RTX 3090",
         "NVIDIA L40S", "Tesla T4"]
# Mode and order of each column.
COLUMNS = [("native", 4096), ("ts", 4096), ("faithful", 4096), ("ozaki2", 1024), ("ozaki2", 2048),
           ("ozaki2", 4096), ("ozaki2", 8192)]


def predicted(tandem, card, order):
    """{mode: TFLOP/s} of a product of that order."""
    plan = subprocess.run([tandem, "plan", "--json", "--device", card, *3 * [str(order)]],
                          check=True, capture_output=True, text=True).stdout
    return {mode["mode"]: 2e-12 * order**3 / mode["seconds"] for mode in json.loads(plan)["modes"]}


def table(tandem):
    titles = [f"`{mode}` {order}" if mode != "native" else f"native {order}"
              for mode, order in COLUMNS]
    yield "| GPU | " + " | ".join(titles) + " |"
    yield "|---" * (1 + len(COLUMNS)) + "|"
    for card in CARDS:
        rates = {order: predicted(tandem, card, order) for order in {o for _, o in COLUMNS}}
        cells = [f"{rates[order][mode]:.2g}" for mode, order in COLUMNS]
        yield f"| {card.removeprefix('NVIDIA ')} | " + " | ".join(cells) + " |"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print("\n".join(table(sys.argv[1])))
