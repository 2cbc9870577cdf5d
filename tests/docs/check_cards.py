"""docs/speed.md's table of GPUs that were not timed is what scripts/lib/card_table.py prints.

usage: check_cards.py SOURCE_ROOT TANDEM
"""

import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(sys.argv[1])
TABLE = re.compile(r"^`python3 (scripts/lib/card_table\.py) [^`]+` prints this table[^|]*"
                   r"\n\n((?:\|[^\n]*\n)+)", re.MULTILINE)


class Cards(unittest.TestCase):

    def test_table_is_what_the_model_predicts(self):
        (found,) = TABLE.findall((ROOT / "docs" / "speed.md").read_text(encoding="utf-8"))
        script, table = found
        printed = subprocess.run([sys.executable, ROOT / script, sys.argv[2]], check=True,
                                 capture_output=True, text=True).stdout
        self.assertEqual(table, printed)
        self.assertGreater(len(table.splitlines()), 6)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
