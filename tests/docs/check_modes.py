"""README.md's table of modes has the numbers of the errors that `tandem modes` prints.

usage: check_modes.py SOURCE_ROOT TANDEM
"""

import json
import pathlib
import re
import subprocess
import sys
import unittest

NUMBER = re.compile(r"2\^-[\d.]+|\d+ sqrt\(k\)")


class Modes(unittest.TestCase):

    def test_table_has_their_errors(self):
        printed = subprocess.run([sys.argv[2], "modes", "--json"], check=True, capture_output=True,
                                 text=True).stdout
        errors = {mode["name"]: mode["error"] for mode in json.loads(printed)}
        readme = (pathlib.Path(sys.argv[1]) / "README.md").read_text(encoding="utf-8")
        rows = re.findall(r"^\| `([^`:]+)` \|[^|]*\|([^|]*)\|", readme, re.MULTILINE)
        shown = {name: error for name, error in rows if name in errors}
        self.assertEqual(sorted(shown), sorted(errors))
        for name, error in shown.items():
            other = re.match(r" as `(.*)` $", error)
            self.assertEqual(NUMBER.findall(shown[other[1]] if other else error),
                             NUMBER.findall(errors[name].split(", to k")[0]), name)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
