"""Checks the recipes of packaging/ by the tools of those who use them: rattler-build renders
conda's, hadolint reads the Dockerfile, spython Apptainer's definition, Lmod loads the module file,
EasyBuild reads its own and finds the dependencies. Spack is not there.

usage: check_recipes.py FOLDER
FOLDER is packaging/. The Python that runs this has these tools (scripts/package recipes), but for
Lmod, which is the system's.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import warnings

FOLDER = pathlib.Path(sys.argv[1])
TOOLS = pathlib.Path(sys.executable).parent


def run(*command, **variables):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, env={**os.environ, **variables})
    if done.returncode:
        raise SystemExit(f"{command[0]} found faults:\n{done.stdout}")
    return done.stdout


def check_conda():
    """There is a package for the platform that it is for, and none for another."""
    script = ("import rattler_build, sys; rattler_build.build_recipes([sys.argv[1]],"
              "render_only=True, target_platform=sys.argv[2], output_dir=sys.argv[3])")
    for platform, count in {"linux-64": 1, "linux-aarch64": 0}.items():
        with tempfile.TemporaryDirectory() as output:
            said = run(sys.executable, "-W", "ignore", "-c", script,
                       str(FOLDER / "conda/recipe.yaml"), platform, output)
        made = json.loads(re.search(r"(?ms)^\[.*", said)[0])
        if len(made) != count:
            raise SystemExit(f"rattler-build makes {len(made)} packages for {platform}")


def check_docker():
    run(TOOLS / "hadolint", FOLDER / "containers/Dockerfile")


def check_apptainer():
    from spython.main.parse.parsers import get_parser

    (recipe,) = get_parser("singularity")(str(FOLDER / "containers/tandem.def")).recipe.values()
    found = recipe.fromHeader, recipe.cmd, "ldconfig" in recipe.install
    if found != ("debian:bookworm-slim", 'exec "$@"', True):
        raise SystemExit(f"of Apptainer's definition spython understands {found}")


def find_lmod():
    found = sorted(pathlib.Path("/usr/share/lmod").glob("*/libexec/lmod"))
    if not found:
        raise SystemExit("please install lmod")
    return found[-1]


def check_lmod():
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder) / "tandem/1.lua"
        place.parent.mkdir()
        shutil.copy(FOLDER / "lmod/tandem.lua", place)
        said = run(find_lmod(), "bash", "load", "tandem/1", MODULEPATH=folder, LMOD_PAGER="none")
    for pattern in (r"(?m)^PATH=/opt/tandem/[\d.]+/bin:", r"(?m)^MANPATH=/opt/tandem/\S*::;"):
        if not re.search(pattern, said):
            raise SystemExit(f"Lmod does not set {pattern}:\n{said}")
    if "LD_PRELOAD" in said:
        raise SystemExit("the module file sets LD_PRELOAD")


def check_easybuild():
    warnings.simplefilter("ignore")
    from easybuild.framework.easyconfig.easyconfig import EasyConfig
    from easybuild.framework.easyconfig.style import check_easyconfigs_style
    from easybuild.framework.easyconfig.easyconfig import robot_find_easyconfig
    from easybuild.tools.options import set_up_configuration

    os.environ["PATH"] += f":{TOOLS}:{find_lmod().parent}"
    set_up_configuration(args=["--allow-use-as-root-and-accept-consequences"], silent=True)
    (path,) = (FOLDER / "easybuild").glob("*.eb")
    config = EasyConfig(str(path), validate=True)
    for needed in config.dependencies():
        chain = needed["toolchain"]
        version = needed["version"]
        if not needed["system"]:
            version += f"-{chain['name']}-{chain['version']}"
        if not robot_find_easyconfig(needed["name"], version):
            raise SystemExit(f"EasyBuild has no {needed['name']} {version}")
    if check_easyconfigs_style([str(path)]):
        raise SystemExit(f"{path.name} is not in EasyBuild's style")


for check in (check_conda, check_docker, check_apptainer, check_lmod, check_easybuild):
    check()
    print(f"{check.__name__.removeprefix('check_')}: clean")
