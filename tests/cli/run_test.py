"""`tandem run` hands the right environment to the program, and says why where it does not start it.

usage: run_test.py LAUNCHER VERSION COMPILER...
"""
import re
import shutil
import sys
import unittest

from launcher_case import (CUDA_LIBRARY, Case, HOST_LIBRARIES, OPTIONAL_LIBRARIES, PRODUCT,
                           STARTS_SYSTEM_PROGRAMS, compile_c, library)


class Run(Case):
    def environment_of(self, result):
        self.assertEqual(result.returncode, 0, result)
        return dict(line.split('=', 1) for line in result.stdout.splitlines())

    def test_bad_values_do_not_start_the_program(self):
        self.add_host_device()
        self.assert_refused(self.tandem('run', '--mode', 'fd', 'env'), 2, "--mode is 'fd'",
                            'native, df')
        self.assert_refused(self.tandem('run', '--mode', 'ozaki2:21', 'env'), 2,
                            "--mode is 'ozaki2:21'", 'ozaki2[:2..20]')
        self.assert_refused(self.tandem('run', 'env', TANDEM_MODE='fd'), 2, "TANDEM_MODE is 'fd'",
                            'native, df')
        self.assert_refused(self.tandem('run', 'env', TANDEM_ACCURACY='fp32'), 2, 'TANDEM_ACCURACY',
                            "'fp32'", 'faithful')
        self.assert_refused(self.tandem('run', '--accuracy', '9', 'env'), 2, "--accuracy is '9'",
                            '10 to 52')
        self.assert_refused(self.tandem('run', 'env', TANDEM_STRATEGY='x'), 2, 'TANDEM_STRATEGY',
                            "'x'", 'performant')
        self.assert_refused(self.tandem('run', 'env', TANDEM_WORKSPACE='1Q'), 2, 'TANDEM_WORKSPACE',
                            "'1Q'", '2M')
        self.assert_refused(self.tandem('run', 'env', TANDEM_LOG='loud'), 2, 'TANDEM_LOG', "'loud'",
                            'error')
        self.assert_refused(self.tandem('run', 'env', TANDEM_ENTRY='gem'), 2, 'TANDEM_ENTRY',
                            "'gem'", 'gemm_ex')

    def test_files_and_folders_of_no_use_do_not_start_the_program(self):
        self.add_host_device()
        (self.folder / 'rules').write_text('function=cublasDgem -> df\n')
        refused = lambda *arguments: self.tandem(*arguments, 'env', TANDEM_VERIFY='full',
                                                 TANDEM_VERIFY_DUMP='/proc/none')
        for command in ('run', 'bench'):
            self.assert_refused(self.tandem(command, 'env', TANDEM_RULES='rules'), 2,
                                "rules, line 1: ", "'cublasDgem'", 'did you mean cublasDgemm?')
            self.assert_refused(refused(command), 2, "TANDEM_VERIFY_DUMP is '/proc/none'",
                                'allowed: a folder for new files')

    def test_adaptive_is_refused_where_nothing_can_be_faster(self):
        self.add_host_device()
        for mode in ('native', 'fp64'):
            self.assert_refused(self.tandem('run', '--strategy', 'adaptive', '--mode', mode, 'env'),
                                2, "TANDEM_STRATEGY is 'adaptive'", f"'{mode}'", 'mode auto')
        for mode in ([], ['--mode', 'auto'], ['--mode', 'ozaki2']):
            seen = self.environment_of(
                self.tandem('run', '--strategy', 'adaptive', *mode, 'env'))
            self.assertEqual(seen['TANDEM_STRATEGY'], 'adaptive')

    def test_values_are_passed_on(self):
        self.add_host_device()
        given = {
            '--mode': 'auto', '--accuracy': '30', '--strategy': 'reproducible',
            '--workspace': '64M', '--report': 'r'
        }
        seen = self.environment_of(
            self.tandem('run', *sum(given.items(), ()), 'env', TANDEM_STRATEGY='eager'))
        for name, value in given.items():
            self.assertEqual(seen['TANDEM_' + name[2:].upper()], value)
        self.assert_refused(self.tandem('run', '--strategy', 'egaer', 'env'), 2,
                            "--strategy is 'egaer'", 'did you mean eager?')
        self.assert_refused(self.tandem('run', '--workspace', '1', 'env'), 2, "--workspace is '1'",
                            '2M')

    @STARTS_SYSTEM_PROGRAMS
    def test_accuracy_without_auto_is_said(self):
        self.add_host_device()
        warning = ("tandem: warn: --accuracy 30 has no effect: "
                   "it is for mode auto, and the mode is df\n")
        for arguments, variables in [(['--mode', 'df'], {}), ([], {'TANDEM_MODE': 'df'})]:
            self.assertIn(
                warning,
                self.tandem('run', *arguments, '--accuracy', '30', 'env', **variables).stderr)
        for arguments in (['--mode', 'auto'], []):
            self.assertNotIn('warn',
                             self.tandem('run', *arguments, '--accuracy', '30', 'env').stderr)

    def test_programs_that_cannot_run(self):
        self.add_host_device()
        self.assert_refused(self.tandem('run', '--', 'no-such-program'), 127, "'no-such-program'",
                            'No such file')
        self.assert_refused(self.tandem('run', './missing'), 127, "'./missing'", 'No such file')
        self.assert_refused(self.tandem('run', ''), 127)
        (self.folder / 'plain').write_text('text')
        self.assert_refused(self.tandem('run', './plain'), 126, "'./plain'", 'Permission denied')
        self.assert_refused(self.tandem('run', 'plain'), 127, "'plain'", 'not in PATH',
                            'is not executable')
        (self.folder / 'plain').chmod(0o755)
        self.assert_refused(self.tandem('run', 'plain'), 127, "'plain'",
                            'not in PATH; write ./plain ')
        self.assert_refused(self.tandem('run', '/tmp'), 126, "'/tmp'", 'Is a directory')
        (self.folder / 'script').write_text('#!/no/such/program\n')
        (self.folder / 'script').chmod(0o755)
        done = self.tandem('run', './script')
        self.assertEqual((done.returncode, done.stderr.splitlines()[-1]),
                         (127, "tandem: error: cannot run './script': the interpreter or the "
                               "loader that it names is not there"))
        for name in ('tools', '.'):
            self.assert_refused(self.tandem('run', name), 127, f"'{name}'", 'No such file')

    def test_nothing_to_run_on(self):
        self.assert_refused(self.tandem('run', 'env'), 1, 'libtandem.so', 'libtandem-hostgpu.so')
        self.assert_refused(self.tandem('run', '--hostgpu', 'env'), 1, 'libtandem-hostgpu.so')
        self.add_cuda()
        self.add_driver(init=100)
        self.assert_refused(self.tandem('run', 'env'), 1,
                            'no CUDA device found (no device is here)')

    @STARTS_SYSTEM_PROGRAMS
    def test_host_device(self):
        self.add_host_device()
        result = self.tandem('run', '--hostgpu', '--', 'env', LD_PRELOAD='libm.so.6')
        self.assertEqual(result.stderr,
                         'tandem: using the host device, whose speed says nothing about a GPU\n')
        paths = [str(self.folder.resolve() / name) for name in HOST_LIBRARIES]
        self.assertEqual(self.environment_of(result)['LD_PRELOAD'], ':'.join([*paths, 'libm.so.6']))

    def test_optional_libraries(self):
        """Of a build whose toolkit has no header of cuSOLVER."""
        self.add_host_device()
        for name in OPTIONAL_LIBRARIES:
            (self.folder / name).unlink()
        result = self.tandem('run', '--hostgpu', '--', 'env')
        paths = [
            str(self.folder.resolve() / name) for name in HOST_LIBRARIES
            if name not in OPTIONAL_LIBRARIES
        ]
        self.assertEqual(self.environment_of(result)['LD_PRELOAD'], ':'.join(paths))

    @STARTS_SYSTEM_PROGRAMS
    def test_no_device_falls_back_to_the_host_device(self):
        self.add_host_device()
        self.add_cuda()
        self.add_driver(init=100)
        result = self.tandem('run', 'env')
        self.assertEqual(
            result.stderr,
            'tandem: no CUDA device found (no device is here); using the host device, '
            'whose speed says nothing about a GPU\n')
        self.assertIn('libtandem-hostgpu.so', self.environment_of(result)['LD_PRELOAD'])

    def test_an_old_driver_counts_as_no_device(self):
        self.add_host_device()
        self.add_cuda()
        self.add_driver(version=10020)
        self.assertIn('the driver is for CUDA 10.2', self.tandem('run', 'env').stderr)

    @STARTS_SYSTEM_PROGRAMS
    def test_device(self):
        self.add_host_device()
        self.add_cuda()
        self.add_driver()
        result = self.tandem('run', 'env')
        self.assertEqual(result.stderr, '')
        self.assertEqual(
            self.environment_of(result)['LD_PRELOAD'], str(self.folder.resolve() / CUDA_LIBRARY))

    def test_mode_and_report_reach_the_program(self):
        self.add_host_device()
        run = ['run', '--hostgpu']
        self.assertEqual(self.environment_of(self.tandem(*run, 'env'))['TANDEM_MODE'], 'auto')
        kept = self.environment_of(self.tandem(*run, 'env', TANDEM_MODE='native'))
        self.assertEqual(kept['TANDEM_MODE'], 'native')
        given = self.environment_of(
            self.tandem(*run, '--mode', 'native', '--accuracy', '40', '--report', 'r.json', 'env',
                        TANDEM_MODE='x'))
        self.assertEqual([given['TANDEM_' + name] for name in ('MODE', 'ACCURACY', 'REPORT')],
                         ['native', '40', 'r.json'])
        self.assertNotIn('TANDEM_REPORT', kept)

    def test_arguments_and_status_of_the_program_are_its_own(self):
        self.add_host_device()
        result = self.tandem('run', '--hostgpu', 'sh', '-c', 'echo "$0 $*"; exit 7', 'a', '--mode',
                             'b c')
        self.assertEqual((result.returncode, result.stdout), (7, 'a --mode b c\n'))

    def test_unsuitable_programs_get_a_warning(self):
        self.add_host_device()
        program = compile_c(self.folder, 'static', 'int main(void) { return 3; }', '-static')
        result = self.tandem('run', '--hostgpu', program)
        self.assertEqual(result.returncode, 3)
        self.assertEqual(len(result.stderr.splitlines()), 2)
        self.assertIn('statically linked', result.stderr.splitlines()[1])

    def test_paths_that_the_loader_cannot_take(self):
        self.add_host_device()
        odd = self.folder / 'a b'
        odd.mkdir()
        for name in ['tools', 'interpose', 'hostgpu']:
            shutil.move(self.folder / name, odd / name)
        self.launcher = odd / 'tools' / 'tandem'
        result = self.tandem('run', '--hostgpu', 'env')
        self.assertEqual((result.returncode, result.stdout), (1, ''))
        self.assertIn('LD_PRELOAD allows no space', result.stderr.splitlines()[-1])
        program = compile_c(self.folder, 'program', PRODUCT,
                            library(self.folder, 'real/libcublas.so.13',
                                    'void cublasDgemm_v2(void) {} void cublasDtrsv_v2(void) {}'))
        for arguments in ([], [program]):
            result = self.tandem('doctor', *arguments)
            self.assertEqual(result.returncode, 1, result)
            self.assertIn(f"will not work: cannot preload '{odd}/interpose/libtandem-hostgpu.so': "
                          'LD_PRELOAD allows no space', result.stdout.splitlines()[-1])

    def test_nothing_is_preloaded_into_programs_of_musl(self):
        """Their loader, glibc's under musl's name here, would not start them then."""
        self.add_host_device()
        plain = compile_c(self.folder, 'plain', 'int main(void) { return 0; }').read_bytes()
        loader = self.folder / 'ld-musl.so.1'
        loader.symlink_to(re.search(rb'/lib[\w/]*/ld-linux[^\0]*', plain).group().decode())
        program = compile_c(
            self.folder, 'program', '#include <stdio.h>\n#include <stdlib.h>\n'
            'int main(void) { puts(getenv("LD_PRELOAD")); return 3; }',
            f'-Wl,--dynamic-linker={loader}')
        result = self.tandem('run', '--hostgpu', program, LD_PRELOAD='libm.so.6')
        self.assertEqual((result.returncode, result.stdout), (3, 'libm.so.6\n'), result)
        self.assertIn('it is linked to musl', result.stderr.splitlines()[1])


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
