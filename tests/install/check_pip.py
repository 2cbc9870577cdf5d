"""`pip install .` into a fresh environment, as docs/install.md has it: the command, its libraries
and its pages are there and work.

usage: check_pip.py SOURCE_ROOT BUILD_ROOT FOLDER GEMM_TIME
FOLDER is made anew. Objects that know nothing of where they are installed are those of BUILD_ROOT,
a build of the same sources. GEMM_TIME is a program that is linked to cuBLAS. Ends with 77, skipped,
where there is no module venv or PyPI cannot be reached.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys

SOURCE, BUILD, FOLDER, GEMM_TIME = (pathlib.Path(argument) for argument in sys.argv[1:5])
ENVIRONMENT = FOLDER / "environment"
PIP = [ENVIRONMENT / "bin" / "python", "-m", "pip", "--disable-pip-version-check"]
SKIPPED = 77

# A compiler that copies an object of these folders where BUILD_ROOT has it. A library of the name
# is made of the same sources there; other flags alone differ.
COMPILER = """#!/bin/sh
object=
for word; do
    [ "$before" = -o ] && object=$word
    before=$word
done
case $object in
hostgpu/*.o | kernels/*.o | lib/*.o)
    [ -f "{build}/$object" ] && exec cp "{build}/$object" "$object"
    ;;
esac
exec {compiler} "$@"
"""


def run(*command, **options):
    # Neither Tandem's variables nor Python's of the environment that runs this test.
    environment = {
        k: v
        for k, v in os.environ.items() if not k.startswith(("TANDEM_", "PYTHON", "VIRTUAL_ENV"))
    }
    return subprocess.run(command, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                          **options)


def need(done, what):
    if done.returncode != 0:
        sys.exit(f"{what} failed with status {done.returncode}:\n{done.stdout}")
    return done.stdout


def skip_unless(done, reason):
    if done.returncode != 0:
        print(done.stdout)
        print(f"skipped: {reason}")
        sys.exit(SKIPPED)


def install():
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    skip_unless(run(sys.executable, "-m", "venv", ENVIRONMENT),
                "python3 has no module venv that works (python3-venv)")
    skip_unless(
        run(*PIP, "download", "--retries=1", "--no-deps", "--dest", FOLDER / "reached",
            "meson-python"), "pip cannot bring meson-python from PyPI")
    for variable, compiler in (("CC", "gcc"), ("CXX", "g++")):
        script = FOLDER / compiler
        script.write_text(
            COMPILER.format(build=BUILD, compiler=os.environ.get(variable, compiler)),
            encoding="utf-8")
        script.chmod(0o755)
        os.environ[variable] = str(script)
    # Without a GPU it is the host device alone that is built, whether there is nvcc or not. For a
    # GPU it would take minutes. It only has to work, and compiles without optimisations.
    settings = [f"build-dir={FOLDER / 'build'}", "setup-args=-Doptimization=0"]
    settings += ["setup-args=-Dcuda=disabled"] if shutil.which("nvidia-smi") else []
    need(
        run(*PIP, "install", *(f"--config-settings={setting}" for setting in settings), ".",
            cwd=SOURCE), "pip install .")


def check():
    tandem = ENVIRONMENT / "bin" / "tandem"
    said = need(run(tandem, "doctor"), "tandem doctor")
    assert "verdict:     works" in said and str(ENVIRONMENT) in said, said
    assert "CUDA:        not built" in said, said

    report = FOLDER / "report.json"
    need(
        run(tandem, "run", "--mode", "df", "--report", report, "--", GEMM_TIME, "--reps", "1",
            "30"), "tandem run")
    totals = json.loads(report.read_text(encoding="utf-8"))["totals"]
    assert 0 < totals["emulated"] == totals["intercepted"], totals

    # As a module: it finds the library that was installed beside it.
    use = "import tandem; tandem.enable('df'); print(tandem.get(), tandem.reach()['is_attached'])"
    said = need(run(ENVIRONMENT / "bin" / "python", "-W", "error", "-c", use), "import tandem")
    assert said == "df True\n", said

    # Where man and bash look for what belongs to bin/tandem.
    for page in ("man/man1/tandem.1", "bash-completion/completions/tandem.bash",
                 "zsh/site-functions/_tandem", "fish/vendor_completions.d/tandem.fish"):
        assert (ENVIRONMENT / "share" / page).stat().st_size > 0, page


install()
check()
shutil.rmtree(FOLDER)
print("pip install . works")
