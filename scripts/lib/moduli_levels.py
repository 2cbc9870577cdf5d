"""The constants of td_level and td_complex_level in kernels/residue/moduli.h.

usage: moduli_levels.py HEADER

Reads the moduli from HEADER and prints, for the real and the complex ones, the tables `most` (2 to
7 moduli) and `level` (from 8 moduli on), and the level of TD_SECOND_MODULI. The exit status is 1 if
HEADER has others: they are then to be replaced by what was printed.
"""

import decimal
import math
import re
import sys

TD_LOG = 256  # steps of a logarithm to base 2
FEWEST, FIRST_LEVEL = 2, 8
MOST_REAL, MOST_DENSE, MOST_COMPLEX = 20, 42, 22

decimal.getcontext().prec = 200


def numbers(text):
    return [int(word) for word in re.findall(r"-?\d+", text)]


def defined(header, name):
    """The numbers of a macro that lists moduli."""
    return numbers(re.search(rf"#define {name}\b((?:.*\\\n)*.*)", header)[1])


def largest_norm(product):
    """floor(sqrt(P / 2 (1 - 2^-16)))"""
    return math.isqrt(product * 65535 // (2 * 65536))


def level(product):
    """floor(TD_LOG (log2(P - 1) - 1) / 2 - TD_LOG 2^-16) - 1"""
    log2 = decimal.Decimal(product - 1).ln() / decimal.Decimal(2).ln()
    return math.floor(TD_LOG * (log2 - 1) / 2 - decimal.Decimal(TD_LOG) / 65536) - 1


def tables(moduli, most):
    """The tables of the first 2 .. most moduli."""
    products = [math.prod(moduli[:count]) for count in range(FEWEST, most + 1)]
    few = FIRST_LEVEL - FEWEST
    return [largest_norm(p) for p in products[:few]], [level(p) for p in products[few:]]


def tables_of(header, function):
    """The tables, and the level of TD_SECOND_MODULI if there is one, that a function has."""
    body = re.search(rf"int {function}\(.*?\n}}", header, re.DOTALL)[0]
    dense = re.search(r"TD_SECOND_MODULI\) return (\d+);", body)
    found = [numbers(re.search(rf"{name}\[\] = {{(.*?)}}", body, re.DOTALL)[1])
             for name in ("most", "level")]
    return found + [int(dense[1]) if dense else None]


def main(arguments):
    if len(arguments) != 1:
        sys.exit(__doc__)
    with open(arguments[0], encoding="utf-8") as file:
        header = file.read()
    real = defined(header, "TD_MODULI") + defined(header, "TD_MORE_MODULI")
    complex_ones = defined(header, "TD_COMPLEX_MODULI")
    wanted = {
        "td_level": [*tables(real, MOST_REAL), level(math.prod(real[:MOST_DENSE]))],
        "td_complex_level": [*tables(complex_ones, MOST_COMPLEX), None],
    }
    is_right = True
    for function, (most, levels, dense) in wanted.items():
        print(f"{function}: most {most}\n  level {levels}\n  of TD_SECOND_MODULI: {dense}")
        if tables_of(header, function) != [most, levels, dense]:
            print(f"{arguments[0]}: {function} has others: {tables_of(header, function)}")
            is_right = False
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
