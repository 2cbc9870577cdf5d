# From the sources that are here, once Spack has a repository with this file, in their folder:
#   spack dev-build tandem@main +cuda cuda_arch=90
from spack.package import *


class Tandem(MesonPackage, CudaPackage):
    """Matrix products of existing CUDA programs in emulated FP64, by a library that is preloaded
    in front of cuBLAS."""

    license("Apache-2.0")

    version("main")

    variant("hostgpu", default=False, description="the host device, for machines without a GPU")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("meson@1.0.1:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3.9:", type="build")
    depends_on("cuda@13:")
    depends_on("elfutils")
    depends_on("jansson@2.11:")
    depends_on("openblas", when="+hostgpu")

    conflicts("~cuda", when="~hostgpu", msg="nothing to build without +cuda and +hostgpu")

    def meson_args(self):
        args = [
            "-Dtests=false",
            f"-Dtoolkit={self.spec['cuda'].prefix}",
            f"-Dhostgpu={'enabled' if self.spec.satisfies('+hostgpu') else 'disabled'}",
        ]
        if self.spec.satisfies("~cuda"):
            return args + ["-Dcuda=disabled"]
        archs = self.spec.variants["cuda_arch"].value
        # Hopper's kernels use instructions of sm_90a.
        names = ["90a" if arch == "90" else arch for arch in archs if arch != "none"]
        return args + ["-Dcuda=enabled", f"-Darchs={','.join(names) or 'all'}"]
