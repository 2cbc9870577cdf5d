"""The entrances that are in assembly are there for every processor: one that only one of the files
defines is missing when Tandem is linked for another.

usage: check_entrances.py FILE.S FILE.S...
"""

import pathlib
import re
import sys
import unittest

FILES = [pathlib.Path(name) for name in sys.argv[1:]]


def entrances(file):
    """What a file, with those that it includes, defines: names after .globl, and the arguments of
    each of its macros."""
    text = re.sub(r'^#include "(.+)"$', lambda found: (file.parent / found[1]).read_text(),
                  file.read_text(), flags=re.MULTILINE)
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    outside = re.sub(r"^\s*\.macro\s.*?^\s*\.endm$", "", text, flags=re.DOTALL | re.MULTILINE)
    macros = "|".join(re.findall(r"^\s*\.macro\s+(\w+)", text, flags=re.MULTILINE))
    return set(re.findall(rf"^\s*(\.globl|{macros})\s+(.+)$", outside, flags=re.MULTILINE))


class Entrances(unittest.TestCase):
    def test_every_processor_has_all(self):
        self.assertGreater(len(FILES), 1)
        first = entrances(FILES[0])
        self.assertIn(("look_up_preloaded", "dlsym, td_route_dlsym"), first)
        self.assertIn((".globl", "td_bound_entrances"), first)
        for file in FILES[1:]:
            self.assertEqual(entrances(file), first, file.name)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
