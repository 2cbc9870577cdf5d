"""`tandem calibrate` and `tandem selftest`: what they refuse, measure, keep and print.

usage: calibrate_test.py LAUNCHER VERSION COMPILER...
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

from launcher_case import Case, STARTS_SYSTEM_PROGRAMS, VERSION

DOCS = pathlib.Path(os.environ['TANDEM_DOCS'])


class Calibrate(Case):
    def test_bad_arguments(self):
        for bad in ('0', '601', 'x', '1.5', '-1', ''):
            self.assert_refused(self.tandem('calibrate', f'--seconds={bad}'), 2,
                                f"--seconds is '{bad}'", '1 to 600')
        self.assert_refused(self.tandem('calibrate', '--device', '64'), 2, "--device is '64'",
                            '0 to 63')
        self.assert_refused(self.tandem('calibrate', 'x'), 2, "'x'", 'none')

    def on_host(self, *arguments, **variables):
        if not os.environ['TANDEM_ON_HOST']:
            self.skipTest('no host device in this build')
        environment = {
            **self.environment, 'LD_LIBRARY_PATH': os.environ['TANDEM_STANDINS'],
            'HOSTGPU_MEMORY': '64M', 'XDG_CACHE_HOME': str(self.folder / 'cache'), **variables
        }
        return subprocess.run([self.placed_on_host(), *map(str, arguments)], env=environment,
                              cwd=self.folder, text=True, capture_output=True)

    def placed_on_host(self):
        """The launcher, where it finds the build's libraries for the host device."""
        launcher = self.folder / 'placed/tools/tandem'
        if not launcher.exists():
            launcher.parent.mkdir(parents=True)
            shutil.copy2(os.environ['TANDEM_ON_HOST'], launcher)
            for name in ('interpose', 'hostgpu'):
                (launcher.parents[1] / name).symlink_to(
                    pathlib.Path(os.environ['TANDEM_STANDINS']).parent / name)
        return launcher

    @STARTS_SYSTEM_PROGRAMS
    def test_host_device(self):
        """It is measured, says so, and what it left is found by a plan for it. All that is asked of
        a table is asked of this one."""
        self.assertIn('properties of NVIDIA GeForce RTX 4090, for which',
                      self.on_host('plan', 64, 64, 64).stdout)
        done = self.on_host('calibrate', '--seconds', 1)
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual(done.stderr.count('\n'), 1)
        self.assertIn('says nothing about a GPU', done.stderr)
        self.assertRegex(done.stdout, r'(?m)^native +[1-9]')
        self.check_what_is_kept_short(done.stdout)
        path = pathlib.Path(re.search(r'(?m)^kept in (.*)$', done.stdout).group(1))
        self.assertEqual(
            path, self.folder /
            f'cache/tandem/Tandem-host-device--no-GPU--driver-13.0-tandem-{VERSION}.txt')
        self.assertIn(f'figures:  calibrated in {path}\n', self.on_host('plan', 64, 64, 64).stdout)
        self.assertEqual([file.name for file in path.parent.iterdir()], [path.name])
        self.check_routines(done.stdout, path)
        path.write_text('tandem calibration 3\n')
        plan = self.on_host('plan', 64, 64, 64)
        self.assertIn('line 2', plan.stderr)
        self.assertIn('for which the host device stands', plan.stdout)

    def check_routines(self, table, path):
        """Routines of level 3 are rows beside the modes, and count for plans of their own alone."""
        for row in ('native:dsymm', 'native:dsyrk', 'native:dsyr2k', 'native:dtrmm', 'native:dtrsm',
                    'native:zhemm', 'native:zherk', 'native:zher2k', 'native:ztrmm', 'native:ztrsm',
                    'dgemm:dsyrk', 'block:dtrsm', 'block:ztrsm'):
            self.assertRegex(table, rf'(?m)^{row} +[1-9]\d* +\d+\.\d\d$')
        lines = path.read_text().splitlines(keepends=True)

        def native(row, factor, *plan):
            numbers = f' {factor}' * 412
            path.write_text(''.join(f'{row}{numbers}\n' if line.startswith(row + ' ') else line
                                    for line in lines))
            done = self.on_host('plan', '--json', *plan)
            self.assertEqual(done.stderr, '')
            return json.loads(done.stdout)['modes'][0]['seconds']

        for row, plan in (('native:dsyrk', ('--routine', 'dsyrk', 1000, 300)),
                          ('native:ztrsm', ('--routine', 'ztrsm', 1000, 300))):
            self.assertAlmostEqual(native(row, 32, *plan) / native(row, 0, *plan), 2, 6)
            self.assertEqual(native(row, 32, 1000, 1000, 300), native(row, 0, 1000, 1000, 300))

    def check_what_is_kept_short(self, table):
        """The host device is hundreds of times slower than the card that it stands for, and the
        table says so."""
        self.assertRegex(table, r'(?m)^ts +[1-9]\d* +[1-9]\d+\.\d\d$')
        means = [float(mean) for mean in re.findall(r'(?m)^\S+ +[1-9]\d* +(\d+\.\d\d)$', table)]
        self.assertGreater(max(means), 15.66)
        self.assertRegex(
            table,
            r'(?m)^[1-9]\d* of [1-9]\d* are more than 15\.66 times what was predicted, '
            r'.* kept as that$')

    @unittest.skipIf(os.environ.get('TEST_BRIEF'), 'memory is what sanitizers make of it')
    def test_little_time_is_for_little_memory(self):
        """Operands that take longer to make than there is time are not made."""
        environment = {
            **self.environment, 'LD_LIBRARY_PATH': os.environ['TANDEM_STANDINS'],
            'HOSTGPU_MEMORY': '64G', 'XDG_CACHE_HOME': str(self.folder / 'cache')
        }
        if not os.environ['TANDEM_ON_HOST']:
            self.skipTest('no host device in this build')
        process = subprocess.Popen([os.environ['TANDEM_ON_HOST'], 'calibrate', '--seconds', '1'],
                                   env=environment, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0)
        self.assertLess(used.ru_maxrss, 2 << 20)  # in KiB

    def test_rows(self):
        done = self.on_host('calibrate', '--seconds', 1, '--rows')
        self.assertRegex(done.stdout,
                         r'(?m)^MEASURED\("Tandem host device \(no GPU\)", \d+, "native",$')
        self.assertRegex(done.stdout, r'(?m)^MEASURED\(.*, "native:dtrsm",$')
        self.assertFalse((self.folder / 'cache').exists())

    @unittest.skipIf(os.environ.get('TEST_BRIEF'), 'the next test takes the same paths')
    def test_selftest(self):
        """All is tested on the host device, and no figure of its time is in the report."""
        done = self.on_host('selftest', '--output', 'report.txt')
        report = (self.folder / 'report.txt').read_text()
        self.assertEqual(done.returncode, 0, report)
        self.assertIn('the report is in report.txt', done.stderr.splitlines()[-1])
        self.assertTrue(report.endswith('\nverdict: all passed\n'), report)
        self.assertFalse((self.folder / 'cache').exists(), 'figures of the host device were kept')
        self.assertIn('say nothing about a GPU', report.splitlines()[1])
        golden = {file.stem for file in DOCS.parent.glob('tests/golden/*.txt')}
        right = re.findall(r'(?m)^(\S+) +14 of 14 products have the golden bits$', report)
        self.assertEqual({re.sub(r':(\d)', r'-\1', mode) for mode in right},
                         golden | {'faithful:fp64'})
        errors = re.findall(r'(?m)^(\S+) +\d+ x .* error (\S+) of what is promised$', report)
        self.assertEqual(len(errors), 27)
        self.assertTrue(all(0 < float(error) <= 1 for _, error in errors), errors)
        speeds = report.split('== speed of square products ==\n')[1]
        self.assertNotRegex(speeds, r'\d\.\d')
        self.assertRegex(speeds, r'(?m)^ozaki2 +-$')

    def test_selftest_says_what_failed(self):
        """On a device that has no memory for the products."""
        done = self.on_host('selftest', '--output', '-', HOSTGPU_MEMORY='1M')
        self.assertEqual(done.returncode, 1, done)
        self.assertRegex(done.stdout, r'(?m)^df +\d+ of 14 products have the golden bits: WRONG$')
        self.assertRegex(done.stdout, r'DID NOT RUN\n')
        self.assertTrue(done.stdout.endswith('verdict: FAILED: the lines above say what\n'))

    def test_selftest_without_a_device_is_the_doctors_part(self):
        done = self.on_host('selftest', '--device', 5, '--output', '-')
        self.assertEqual(done.returncode, 1)
        self.assertIn('== this machine ==', done.stdout)
        self.assertNotIn('== golden', done.stdout)
        self.assertIn('\ndevice 5 cannot be tested: there is no such device\nFAILED\n', done.stdout)
        done = self.on_host('calibrate', '--device', 5)
        self.assert_refused(done, 1, 'device 5 cannot be measured: there is no such device')

    @unittest.skipIf(os.environ.get('TEST_BRIEF'), "tests/lib/model has this path, too")
    def test_nowhere_to_keep_it(self):
        done = self.on_host('calibrate', '--seconds', 1, XDG_CACHE_HOME='/proc/none')
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot write '/proc/none/tandem/", done.stderr.splitlines()[-1])


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
