"""The example notebook runs from its first cell to its last, with its plot, on the host device.

usage: check_notebook.py SOURCE_ROOT BUILD_ROOT

Ends with 77, skipped, where nbclient, ipykernel, matplotlib or NumPy are missing.
"""

import os
import sys
import tempfile

import package

try:
    import ipykernel
    import matplotlib
    import nbclient
    import nbformat
    import numpy
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

SOURCE, BUILD = sys.argv[1:]


def run(folder):
    os.environ["PYTHONPATH"] = package.make(folder, SOURCE, BUILD)
    os.environ["LD_LIBRARY_PATH"] = os.path.join(BUILD, "hostgpu")
    os.environ["MPLCONFIGDIR"] = os.environ["IPYTHONDIR"] = os.path.join(folder, "settings")
    notebook = nbformat.read(os.path.join(SOURCE, "examples", "gaussian_process.ipynb"), 4)
    nbformat.validate(notebook)
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    return notebook


def errors_of(text):
    """{mode: error of its product} from lines such as "df  product off by 1.2e-07, ..."."""
    return {
        line.split()[0]: float(line.split("off by ")[1].split(",")[0])
        for line in text.splitlines()
    }


with tempfile.TemporaryDirectory() as place:
    done = run(place)
outputs = [output for cell in done.cells for output in cell.get("outputs", [])]
assert not [output for output in outputs if output.get("name") == "stderr"], outputs
errors = errors_of("".join(output["text"] for output in outputs if output.get("name") == "stdout"))
# The largest elements are near 8 * 300^2 = 2^19.5; ts and ozaki2 round them to binary64.
assert errors["ts"] <= 2.0**-33 and errors["ozaki2"] <= 2.0**-31, errors
assert errors["ts"] < errors["df"] <= 2.0**-22, errors
data = [output.get("data", {}) for output in outputs]
assert [d for d in data if "image/png" in d], "no plot"
assert [d for d in data if "Tandem:" in d.get("text/html", "")], "no table"
print("the notebook runs:", errors)
