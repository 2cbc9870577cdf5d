"""THE table of pieces of work for libraries.py, which work_of_*.py fill, a file for each family."""

PIECES = {}


def piece(family, n, condition=1.0):
    """A piece of work: a function of a size, at most `n`, that returns a function without
    arguments, which returns arrays. `condition` is what its results may lose beside n roundings."""

    def add(function):
        PIECES[function.__name__.replace("_", " ")] = family, function, n, condition
        return function

    return add
