"""`python -m tandem`: the `tandem` command."""

from . import main

main()
