"""The package tandem as pip would install it, put together from the sources and a build folder: for
tests of what is not installed."""

import os



def make(folder, source, build):
    """Makes FOLDER/tandem anew and returns FOLDER, for PYTHONPATH."""
    package = os.path.join(folder, "tandem")
    os.makedirs(package)
    modules = os.path.join(source, "python", "tandem")
    for name in os.listdir(modules):
        if name.endswith(".py"):
            os.symlink(os.path.join(modules, name), os.path.join(package, name))
    for name, place in (("bin", "tools"), ("lib", "interpose"), ("hostgpu", "hostgpu")):
        os.symlink(os.path.join(build, place), os.path.join(package, name))
    return folder
