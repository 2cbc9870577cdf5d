-- Module file of Tandem for Lmod. `root` is the folder that Tandem was installed to (meson setup --prefix).
-- It sets no LD_PRELOAD: every program of the shell would get the library, its compilers and editors, too. Programs are
-- started by `tandem run -- PROGRAM`, in job scripts too: srun tandem run -- ./app
help([[Matrix products of existing CUDA programs in emulated FP64.
tandem run -- PROGRAM runs a program with its products emulated; tandem doctor says whether that will work.]])
whatis("Name: Tandem")
whatis("Version: 0.2.0")
whatis("Description: matrix products of existing CUDA programs in emulated FP64")

local root = "/opt/tandem/0.2.0"

prepend_path("PATH", pathJoin(root, "bin"))
prepend_path("MANPATH", pathJoin(root, "share/man"))
append_path("MANPATH", "") -- and the system's pages
prepend_path("PKG_CONFIG_PATH", pathJoin(root, "lib/pkgconfig"))
setenv("TANDEM_ROOT", root)
