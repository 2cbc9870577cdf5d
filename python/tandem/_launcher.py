"""The `tandem` command as pip installs it: the launcher, which finds its libraries beside
itself."""

import os
import sys


def main():
    launcher = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "tandem")
    os.execv(launcher, [launcher, *sys.argv[1:]])
