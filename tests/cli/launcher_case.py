"""What the tests of the launcher share: a copy of it in a folder of its own, with small stand-ins
for Tandem's libraries, built here, so that nothing else needs to be built and no GPU is asked for.
Its test programs' first arguments are

    LAUNCHER VERSION COMPILER...
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

LAUNCHER, VERSION, COMPILER = os.path.abspath(sys.argv[1]), sys.argv[2], sys.argv[3:]
HOSTDEVICE = 'hostgpu/libtandem-hostdevice.so'
HOST_LIBRARIES = [
    'interpose/libtandem-hostgpu.so', HOSTDEVICE, 'hostgpu/libcudart.so.13',
    'hostgpu/libcublas.so.13', 'hostgpu/libcublasLt.so.13', 'hostgpu/libcusolver.so.12',
    'hostgpu/unversioned/libcudart.so', 'hostgpu/unversioned/libcublas.so',
    'hostgpu/unversioned/libcublasLt.so', 'hostgpu/unversioned/libcusolver.so'
]
OPTIONAL_LIBRARIES = [name for name in HOST_LIBRARIES if 'cusolver' in name]
CUDA_LIBRARY = 'interpose/libtandem.so'

# Shells, env and Python. Where an emulator runs what the build makes, they are for another
# processor, and nothing of the build can be preloaded into them.
STARTS_SYSTEM_PROGRAMS = unittest.skipIf('MESON_EXE_WRAPPER' in os.environ,
                                         "the system's programs are for another processor")

# A driver with one device, or one whose cuInit fails with 100, for machines of either kind.
DRIVER = r'''
#include <stddef.h>
#include <stdio.h>
int cuInit(unsigned flags) { (void)flags; return INIT; }
int cuGetErrorString(int error, const char **text)
{
    *text = error == 100 ? "no device is here" : 0;
    return !*text;
}
int cuDriverGetVersion(int *version) { *version = DRIVER_VERSION; return 0; }
int cuDeviceGetCount(int *count) { *count = 1; return 0; }
int cuDeviceGet(int *device, int number) { *device = number; return 0; }
int cuDeviceGetName(char *name, int bytes, int device)
{
    (void)device;
    snprintf(name, (size_t)bytes, "Toy 1");
    return 0;
}
int cuDeviceGetAttribute(int *value, int which, int device)
{
    (void)device;
    *value = which == 75 ? 9 : 1;
    return 0;
}
int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    (void)device;
    *bytes = (size_t)3 << 29;
    return 0;
}
'''
# A program that calls cuBLAS.
PRODUCT = 'void cublasDgemm_v2(void); void cublasDtrsv_v2(void);' \
          'int main(void) { cublasDgemm_v2(); cublasDtrsv_v2(); return 0; }'


# What has been compiled, by source and arguments, and a folder for it.
COMPILED = {}
KEPT = tempfile.TemporaryDirectory(prefix='tandem-cli-kept-')


def compile_c(folder, name, source, *arguments):
    """Compiles source to folder/name, once for all tests, and returns its path."""
    target = folder / name
    target.parent.mkdir(parents=True, exist_ok=True)
    key = (source, *map(str, arguments))
    if key not in COMPILED:
        kept = pathlib.Path(KEPT.name, f'{len(COMPILED)}-{target.name}')
        file = kept.with_name(kept.name + '.c')
        file.write_text(source)
        subprocess.run([*COMPILER, '-o', kept, file, *key[1:]], check=True)
        COMPILED[key] = kept
    shutil.copy(COMPILED[key], target)
    return target


def library(folder, name, source='', *arguments):
    return compile_c(folder, name, source, '-shared', '-fPIC',
                     f'-Wl,-soname,{pathlib.Path(name).name}', *arguments)


PATIENCE_SECONDS = 60  # a hang, and no busy machine, takes longer


def wait_until(is_there, what):
    """Calls is_there until it returns true; an AssertionError names what has not come."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not is_there():
        if time.monotonic() > end:
            raise AssertionError(f'waited {PATIENCE_SECONDS} s for {what}')
        time.sleep(0.01)


class Case(unittest.TestCase):
    """A copy of the launcher in a tree like the build folder's: tools/tandem, interpose/,
    hostgpu/."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix='tandem-cli-'))
        self.addCleanup(shutil.rmtree, self.folder)
        self.launcher = self.folder / 'tools' / 'tandem'
        self.launcher.parent.mkdir()
        shutil.copy(LAUNCHER, self.launcher)
        # A sanitized launcher minds that LD_PRELOAD comes before its runtime; here it is meant to.
        self.environment = {'PATH': os.environ['PATH'], 'ASAN_OPTIONS': 'verify_asan_link_order=0'}
        # A launcher that was linked to the host device finds it beside itself only in its own
        # place.
        self.library_path = [os.environ['TANDEM_STANDINS']]

    def add_host_device(self):
        for name in HOST_LIBRARIES:
            if name != HOSTDEVICE:
                library(self.folder, name)
        self.add_hostdevice()

    def add_hostdevice(self):
        """The library that a launcher which was linked to it finds beside itself, the proper one
        where there is one, with a function and a stub in it."""
        real = pathlib.Path(os.environ['TANDEM_STANDINS'], pathlib.Path(HOSTDEVICE).name)
        if not real.exists():
            return library(self.folder, HOSTDEVICE, 'void cudaMalloc(void) {}'
                           '__attribute__((weak)) void cudaArrayGetInfo(void) {}')
        (self.folder / HOSTDEVICE).symlink_to(real)
        return self.folder / HOSTDEVICE

    def add_cuda(self, source=''):
        library(self.folder, CUDA_LIBRARY, source)

    def add_driver(self, init=0, version=13000):
        library(self.folder, 'driver/libcuda.so.1', DRIVER, f'-DINIT={init}',
                f'-DDRIVER_VERSION={version}')
        self.library_path.insert(0, str(self.folder / 'driver'))

    def tandem(self, *arguments, **variables):
        environment = {
            **self.environment, 'LD_LIBRARY_PATH': ':'.join(self.library_path), **variables
        }
        return subprocess.run([self.launcher, *map(str, arguments)], env=environment,
                              cwd=self.folder, text=True, capture_output=True)

    def assert_refused(self, result, status, *texts):
        """One line on stderr, an error with these texts in it, nothing on stdout, and the exit
        status."""
        self.assertEqual(result.returncode, status, result)
        self.assertEqual(result.stdout, '')
        self.assertEqual(result.stderr.count('\n'), 1, result.stderr)
        self.assertTrue(result.stderr.startswith('tandem: error: '), result.stderr)
        for text in texts:
            self.assertIn(text, result.stderr)
