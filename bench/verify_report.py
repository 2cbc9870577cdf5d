"""Verified eigenvalues on a GPU, as a table: time of the solver and of the proof, and what is
separated by which products.

usage: verify_report.py TANDEM VERIFY_EIG [--orders N,N,...] [--reps R] [--json FILE]

Random matrices, and ones whose eigenvalues run from 1 to 1e-11, so that the smallest are close;
without B and with B.
"""

import argparse
import json
import subprocess
import sys

SPECTRA = {"random": (), "1 to 1e-11": ("--spread", "1e11")}
PRODUCTS = ("faithful", "faithful:fp64", "native")
COLUMNS = ("n", "B", "eigenvalues", "products", "solver ms", "proof ms", "share", "refined",
           "separated", "clusters", "radius", "relative")


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("tandem")
    parser.add_argument("verify_eig")
    parser.add_argument("--orders", default="1024,2048,4096", help="default: %(default)s")
    parser.add_argument("--reps", default="5",
                        help="of solver and proof, of which the least counts; default: %(default)s")
    parser.add_argument("--json", help="also write the results as they are, one a line")
    return parser.parse_args()


def run(options, order, spectrum, general, products):
    """One result; a proof by native products is not helped by refinement with others."""
    command = [
        options.tandem, "run", "--mode", "native", "--", options.verify_eig, "--json", "--order",
        order, "--reps", options.reps, "--products", products, "--steps",
        "0" if products == "native" else "2", *SPECTRA[spectrum], *(("--general", ) if general else
                                                                    ())
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return json.loads(done.stdout)
    sys.exit(f"{' '.join(command)}: status {done.returncode}\n{done.stderr}")


def row(result, spectrum):
    def number(key):
        return "-" if result[key] is None else f"{result[key]:.1e}"

    solver, proof = result["solver_seconds"], result["verify_seconds"]
    return (str(result["n"]), "yes" if result["general"] else "no", spectrum, result["products"],
            f"{1e3 * solver:.1f}", f"{1e3 * proof:.2f}", f"{proof / solver:.3f}",
            str(result["refinements"]), str(result["separated"]), str(result["clusters"]),
            number("widest_radius"), number("relative_radius"))


def main():
    options = parse()
    results = []
    for order in options.orders.split(","):
        for general in (False, True):
            for spectrum in SPECTRA:
                for products in PRODUCTS:
                    result = run(options, order, spectrum, general, products)
                    if not results:
                        print(
                            f"{result['device']}, {result['solver']}\n\n| {' | '.join(COLUMNS)} |")
                        print("|---" * len(COLUMNS) + "|")
                    results.append(result)
                    print(f"| {' | '.join(row(result, spectrum))} |", flush=True)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(result) + "\n" for result in results)


if __name__ == "__main__":
    main()
