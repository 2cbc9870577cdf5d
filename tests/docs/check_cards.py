"""docs/speed.md's table of GPUs that were not timed is what scripts/lib/card_table.py prints, and
docs/eigen.md's numbers are those of `tandem plan`.

usage: check_cards.py SOURCE_ROOT TANDEM [cuda]

A build without CUDA predicts other times of eigenvectors, which are not looked at.
"""

import json
import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(sys.argv[1])
TABLE = re.compile(r"^`python3 (scripts/lib/card_table\.py) [^`]+` prints this table[^|]*"
                   r"\n\n((?:\|[^\n]*\n)+)", re.MULTILINE)
# A card's name in the table, the order, and milliseconds: cuSOLVER's, ozaki2's, and who is chosen.
EIGENVECTORS = re.compile(r"^\| ([A-Z][^|]*) \| (\d+) \| (\d+) \| (\d+) \| (cuSOLVER|Tandem) \|$",
                          re.MULTILINE)
FOUND_OUT = re.compile(r"(\d+) ms where (\d+) are\s+predicted, at (\d+) on the RTX 4090")
NAMES = {"T4": "Tesla T4", "L40S": "NVIDIA L40S"}


def milliseconds(seconds):
    return str(round(seconds * 1e3))


class Cards(unittest.TestCase):

    def test_table_is_what_the_model_predicts(self):
        (found,) = TABLE.findall((ROOT / "docs" / "speed.md").read_text(encoding="utf-8"))
        script, table = found
        printed = subprocess.run([sys.executable, ROOT / script, sys.argv[2]], check=True,
                                 capture_output=True, text=True).stdout
        self.assertEqual(table, printed)
        self.assertGreater(len(table.splitlines()), 6)

    def plan(self, card, order):
        """What `tandem plan` says of eigenvectors: of native, of ozaki2, and the mode of auto."""
        told = json.loads(subprocess.run(
            [sys.argv[2], "plan", "--json", "--routine", "dsyevd", "--device",
             NAMES.get(card, f"NVIDIA {card}"), order], check=True, capture_output=True,
            text=True).stdout)
        modes = {mode["mode"]: mode for mode in told["modes"]}
        return modes["native"], modes["ozaki2"], told["auto"]["mode"]

    @unittest.skipUnless("cuda" in sys.argv[3:], "a build without CUDA")
    def test_eigenvectors_are_what_the_model_predicts(self):
        text = (ROOT / "docs" / "eigen.md").read_text(encoding="utf-8")
        rows = EIGENVECTORS.findall(text)
        self.assertGreater(len(rows), 6)
        for card, order, *said in rows:
            native, ozaki2, mode = self.plan(card, order)
            self.assertEqual(said, [milliseconds(native["seconds"]),
                                    milliseconds(ozaki2["seconds"]),
                                    "cuSOLVER" if mode == "native" else "Tandem"], (card, order))
        ((found_out, predicted, order),) = FOUND_OUT.findall(text)
        _, ozaki2, _ = self.plan("GeForce RTX 4090", order)
        self.assertEqual([found_out, predicted], [milliseconds(ozaki2["found_out_seconds"]),
                                                  milliseconds(ozaki2["seconds"])])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
