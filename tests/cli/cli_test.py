"""The launcher's commands: every bad input gets one line and its exit status. `run`, `doctor`,
`bench`, `calibrate`, `selftest` and `report` have files of their own.

usage: cli_test.py LAUNCHER VERSION COMPILER...
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

from launcher_case import Case, VERSION

DOCS = pathlib.Path(os.environ['TANDEM_DOCS'])


class Commands(Case):
    COMMANDS = ('run, bench, report, modes, options, plan, calibrate, selftest, doctor, help, '
                'version')

    def shown(self, *arguments):
        result = self.tandem(*arguments)
        self.assertEqual((result.returncode, result.stderr), (0, ''), arguments)
        return result.stdout

    def test_version(self):
        for arguments in [['version'], ['--version'], ['-V']]:
            self.assertEqual(self.shown(*arguments), f'tandem {VERSION}\n')

    def test_help(self):
        overview = self.shown('help')
        self.assertEqual(self.shown('--help'), overview)
        self.assertEqual(self.shown('-h'), overview)
        for command in self.COMMANDS.split(', '):
            self.assertIn(f'\n  {command} ', overview)
            details = self.shown(command, '--help')
            self.assertEqual(self.shown('help', command), details)
            self.assertTrue(details.startswith(f'tandem {command}'), details)

    def test_output_that_is_lost_is_an_error(self):
        """Short texts fail when they are flushed at the end, long ones before."""
        environment = {**self.environment, 'LD_LIBRARY_PATH': ':'.join(self.library_path)}
        for arguments in (['version'], ['help'], ['help', '--man'], ['help', '--bash'], ['modes'],
                          ['modes', '--json'], ['options'], ['options', '--markdown'], ['doctor'],
                          ['doctor', '--entries'], ['plan', '8', '8', '8'],
                          ['plan', '--json', '8', '8', '8'], ['run', '--help']):
            with open('/dev/full', 'w') as full:
                done = subprocess.run([self.launcher, *arguments], stdout=full, text=True,
                                      stderr=subprocess.PIPE, env=environment)
            self.assertEqual((done.returncode, done.stderr),
                             (1, 'tandem: error: cannot write all of this to standard output\n'),
                             arguments)

    def test_help_is_aligned(self):
        lines = [line for line in self.shown('help').splitlines() if line.startswith('  ')]
        self.assertEqual([line.split()[0] for line in lines], self.COMMANDS.split(', '))
        columns = {len(re.match(r'  \S+ +', line).group()) for line in lines}
        self.assertEqual(len(columns), 1, lines)

    def options(self, command):
        """The options that --help names, with what they take."""
        return re.findall(r'^  --(\w+)(?: ([A-Z]+))?  ', self.shown('help', command), re.MULTILINE)

    def test_manual_page_has_everything(self):
        page = self.shown('help', '--man')
        plain = page.replace('\\-', '-')
        for command in self.COMMANDS.split(', '):
            self.assertIn(f'.SS tandem {command}', plain)
            for name, argument in self.options(command):
                self.assertIn(f'\n.B --{name}{" " + argument if argument else ""}\n', plain)
        for mode in self.shown('modes', '--names').split():
            self.assertRegex(plain, rf'\n\.B {re.escape(mode.split(":")[0])}[\[\n]')
        for name in re.findall(r'^(TANDEM_\w+)=', self.shown('options'), re.MULTILINE):
            self.assertIn(f'\n.B {name}\n', plain)
        if shutil.which('groff'):
            checked = subprocess.run(['groff', '-ww', '-man', '-z'], input=page, text=True,
                                     capture_output=True)
            self.assertEqual((checked.returncode, checked.stderr), (0, ''))

    def complete(self, *words):
        """What bash offers for the last word, though it can run no tandem; separated as it is."""
        script = ('source completion; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tandem; '
                  'printf "%s\\n" "${COMPREPLY[@]}"')
        done = subprocess.run(['bash', '-uc', script, 'bash', 'no-such-tandem', *words],
                              cwd=self.folder, text=True, check=True, env=self.environment,
                              capture_output=True)
        self.assertEqual(done.stderr, '', words)
        return set(done.stdout.removesuffix('\n').split('\n')) if done.stdout.strip() else set()

    def devices(self):
        refused = self.tandem('plan', 1, 2, 3, '--device', '?').stderr
        return set(refused.rstrip('\n').split('allowed: ')[1].split(', '))

    def modes(self):
        return set(self.shown('modes', '--names').split())

    def test_completion(self):
        (self.folder / 'completion').write_text(self.shown('help', '--bash'))
        (self.folder / 'folder').mkdir()
        commands = set(self.COMMANDS.split(', '))
        self.assertEqual(self.complete(''), commands)
        self.assertEqual(self.complete('ver'), {'version'})
        self.assertEqual(self.complete('help', 'm'), {'modes'})
        for command in commands:
            wanted = {'--help', *(f'--{name}' for name, _ in self.options(command))}
            self.assertEqual(self.complete(command, '--'), wanted)
        self.assertEqual(self.complete('run', '--mode', ''), self.modes())
        self.assertEqual(self.complete('run', '--accuracy', 'f'), {'fp64', 'faithful'})
        self.assertEqual(self.complete('run', '--strategy', ''),
                         {'auto', 'eager', 'performant', 'adaptive', 'reproducible'})
        self.assertEqual(self.complete('bench', '--modes', 'df,ozaki1,nat'), {'df,ozaki1,native'})
        self.assertEqual(self.complete('bench', '--modes', 'nat'), {'native'})
        self.assertEqual(self.complete('bench', '--keep', ''),
                         {path.name
                          for path in self.folder.iterdir() if path.is_dir()})
        self.assertEqual(self.complete('plan', '--device', ''), self.devices())
        self.assertEqual(self.complete('plan', '--device', 'NVIDIA\\ H2'), {'NVIDIA H200'})
        self.assertEqual(self.complete('plan', '--device', "'NVIDIA H2"), {'NVIDIA H200'})
        self.assertEqual(self.complete('plan', '--op', 'T'), {'TN', 'TT', 'TC'})
        self.assertEqual(self.complete('plan', '--routine', 'dsyr'), {'dsyrk', 'dsyrkx', 'dsyr2k'})
        self.assertEqual(self.complete('plan', '--side', ''), {'L', 'R'})
        for command in commands:
            for name, argument in self.options(command):
                if argument and argument not in ('COUNT', 'SECONDS', 'BYTES', 'NUMBER'):
                    self.assertTrue(self.complete(command, f'--{name}', ''), (command, name))
        self.assertEqual(self.complete('run', '--report', 'com'), {'completion'})
        self.assertIn('env', self.complete('run', '--mode', 'df', 'en'))
        self.assertIn('env', self.complete('doctor', 'en'))
        self.assertEqual(self.complete('run', '--hostgpu', '--', 'env', 'com'), {'completion'})
        self.assertEqual(self.complete('no-such', ''), set())

    def test_completion_of_words_that_readline_cuts(self):
        """As it does at = and :; what is offered takes the place of the last piece alone."""
        (self.folder / 'completion').write_text(self.shown('help', '--bash'))
        self.assertEqual(self.complete('run', '--mode', '=', 'd'), {'df', 'dd', 'd+s'})
        self.assertEqual(self.complete('run', '--mode', '='), self.modes())
        self.assertEqual(self.complete('run', '--report', '=', 'comp'), {'completion'})
        self.assertEqual(self.complete('run', '--mode', 'faithful', ':', 'f'), {'fp64'})
        self.assertEqual(self.complete('run', '--mode', '=', 'faithful', ':'), {'fp64'})
        for mode in (['=', 'df'], ['ozaki2', ':', '14'], ['=', 'ozaki2', ':', '14']):
            self.assertIn('env', self.complete('run', '--mode', *mode, 'en'), mode)
        self.assertIn('--report', self.complete('run', '--mode', '=', 'df', '--rep'))

    def test_completion_of_names_with_spaces(self):
        (self.folder / 'completion').write_text(self.shown('help', '--bash'))
        (self.folder / 'two words').mkdir()
        self.assertEqual(self.complete('report', 'tw'), {'two words'})
        self.assertEqual(self.complete('report', 'two\\ w'), {'two words'})
        self.assertEqual(self.complete('run', './tw'), {'./two words'})
        self.assertEqual(self.complete('bench', '--keep', "'two "), {'two words'})

    def test_completion_of_zsh(self):
        """What it hands to zsh's own functions; these are stand-ins, as they need a terminal."""
        if not shutil.which('zsh'):
            self.skipTest('no zsh')
        (self.folder / 'completion').write_text(self.shown('help', '--zsh'))
        script = ('_arguments() { print -rl -- "$@" }; _describe() { print -rl -- "${(@P)2}" }\n'
                  'words=(tandem "$@"); CURRENT=$#words; source ./completion')

        def handed(*words):
            done = subprocess.run(['zsh', '-fc', script, 'zsh', *words], cwd=self.folder, text=True,
                                  check=True, env=self.environment, capture_output=True)
            self.assertEqual(done.stderr, '', words)
            return done.stdout.splitlines()

        self.assertEqual([line.split(':')[0] for line in handed('')], self.COMMANDS.split(', '))
        for command in self.COMMANDS.split(', '):
            names = [
                re.match(r'--(\w+)', line).group(1) for line in handed(command, '')
                if line.startswith('--')
            ]
            self.assertEqual(names, [*(name for name, _ in self.options(command)), 'help'])
        device = next(line for line in handed('plan', '') if line.startswith('--device='))
        listed = re.search(r':NAME:\((.*)\)$', device).group(1)
        names = re.findall(r'(?:\\.|[^ ])+', listed)
        self.assertEqual({re.sub(r'\\(.)', r'\1', name) for name in names}, self.devices())
        mode = next(line for line in handed('run', '') if line.startswith('--mode='))
        listed = re.search(r':MODE:\((.*)\)$', mode).group(1)
        self.assertEqual(set(listed.replace('\\:', ':').split()), self.modes())

    def test_completion_of_fish(self):
        if not shutil.which('fish'):
            self.skipTest('no fish')
        (self.folder / 'completion').write_text(self.shown('help', '--fish'))

        def complete(text):
            done = subprocess.run([
                'fish', '--no-config', '-c', 'source completion; complete -C $argv[1]',
                'tandem ' + text
            ], cwd=self.folder, text=True, check=True, capture_output=True,
                                  env={**self.environment, 'HOME': str(self.folder)})
            self.assertEqual(done.stderr, '', text)
            return {line.split('\t')[0] for line in done.stdout.splitlines()}

        self.assertEqual(complete(''), set(self.COMMANDS.split(', ')))
        for command in self.COMMANDS.split(', '):
            self.assertEqual(complete(f'{command} --'),
                             {'--help', *(f'--{name}' for name, _ in self.options(command))})
        self.assertEqual(complete('run --mode '), self.modes())
        self.assertEqual(complete('plan --device '), self.devices())
        self.assertEqual(complete('plan --op T'), {'TN', 'TT', 'TC'})
        self.assertEqual(complete('help cal'), {'calibrate'})
        self.assertIn('completion', complete('run --report comp'))
        self.assertIn('env', complete('run en'))

    def test_bad_arguments(self):
        self.assert_refused(self.tandem(), 2, 'no command', self.COMMANDS)
        self.assert_refused(self.tandem('rum'), 2, "'rum'", self.COMMANDS)
        self.assert_refused(self.tandem('help', 'rum'), 2, "'rum'", self.COMMANDS,
                            'did you mean run?')
        self.assert_refused(self.tandem('calibarte'), 2, "'calibarte'", 'did you mean calibrate?')
        self.assertNotIn('did you mean', self.tandem('xyz').stderr)
        self.assert_refused(self.tandem('help', 'run', 'x'), 2, "'x'")
        self.assert_refused(self.tandem('modes', 'df'), 2, "'df'")
        self.assert_refused(self.tandem('options', 'x'), 2, "'x'")
        self.assert_refused(self.tandem('version', 'x'), 2, "'x'")
        self.assert_refused(self.tandem('run'), 2, 'no program')
        self.assert_refused(self.tandem('run', '--'), 2, 'no program')
        self.assert_refused(self.tandem('run', '--mode'), 2, "'--mode' needs an argument")
        for command in self.COMMANDS.split(', '):
            self.assert_refused(self.tandem(command, '--bogus'), 2, command, "'--bogus'", '--help')

    def test_options_with_one_dash_are_named(self):
        """They are no options, also where their first letter is -h; the others are."""
        for arguments, word, meant in [(['plan', '-json', '5', '5', '5'], '-json', '--json'),
                                       (['plan', '5', '5', '5', '-json'], '-json', '--json'),
                                       (['run', '-mode', 'df', 'env'], '-mode', '--mode'),
                                       (['run', '-hostgpu', 'env'], '-hostgpu', '--hostgpu'),
                                       (['run', '--mode', 'df', '-hot', 'env'], '-hot', None),
                                       (['report', '-x', 'r.json'], '-x', None),
                                       (['plan', '--rout', 'dgemm', '5'], '--rout', '--routine')]:
            meant = f'; did you mean {meant}?' if meant else '--help\n'
            self.assert_refused(self.tandem(*arguments), 2, f"unknown option '{word}'", meant)
        self.assertIn('tandem run', self.shown('run', '-h'))

    def test_options_that_take_nothing(self):
        self.assert_refused(self.tandem('plan', '--json=1', '5', '5', '5'), 2,
                            "option '--json' takes no argument")
        self.assert_refused(self.tandem('run', '--help=df'), 2,
                            "option '--help' takes no argument")

    def test_modes(self):
        lines = self.tandem('modes').stdout.splitlines()
        names = [line.split()[0] for line in lines[::2]]
        self.assertEqual(names[:2], ['native', 'df'])
        for line in lines[1::2]:
            self.assertRegex(line, r'^ +error: \S')
        wanted = [name.split('[')[0] for name in names]
        wanted.insert(wanted.index('faithful') + 1, 'faithful:fp64')
        self.assertEqual(self.shown('modes', '--names').split(), wanted)

    def plan(self, *arguments, **variables):
        """The device, the modes' predicted milliseconds, and what auto would take."""
        result = self.tandem('plan', *arguments, **variables)
        self.assertEqual((result.returncode, result.stderr), (0, ''), result)
        device = re.search('^device: +(.*)$', result.stdout, re.MULTILINE).group(1)
        times = dict(re.findall(r'^(\S+) +(\d+\.\d+) +\S+ +\d+\.\d+ ', result.stdout, re.MULTILINE))
        return device, times, re.search(r'^auto: (\S+), (.*)$', result.stdout,
                                        re.MULTILINE).groups()

    def test_plan(self):
        device, times, (mode, why) = self.plan(4096, 4096, 4096)
        self.assertEqual(device, 'Tandem host device (no GPU)')
        wanted = set(self.shown('modes', '--names').split()) - {'auto'}
        self.assertEqual(set(times), wanted)
        self.assertEqual(why.split(' (')[0], 'predicted fastest')
        self.assertLess(float(times[mode]), float(times['native']))
        device, other, (mode, why) = self.plan(64, 64, 64, '--device', 'NVIDIA H200')
        self.assertEqual((device, mode, why.split(' (')[0]),
                         ('NVIDIA H200', 'native', 'predicted to gain too little'))
        more = self.plan('--device', 'NVIDIA H200', '--batch', '1000', '--op', 'TC', 64, 64, 64)[1]
        self.assertGreater(float(more['native']), float(other['native']))

    def test_no_plan_of_what_is_in_no_memory(self):
        most = 2**31 - 1
        for arguments in (('--routine', 'dgemm', most, most, 1), ('--routine', 'dpotrf', most),
                          ('--batch', most, 20000, 20000, 20000)):
            self.assert_refused(self.tandem('plan', *arguments), 2, 'than any memory', '2^56')
        self.plan(most, 1, most // 100)

    def test_plan_of_a_triangle(self):
        h200 = ('--device', 'NVIDIA H200')
        whole = self.plan(4096, 4096, 2048, *h200)[1]
        half = self.plan('--routine', 'dsyrk', 4096, 2048, *h200)[1]
        for mode in ('native', 'df', 'dd', 'ozaki2', 'fp64'):
            self.assertLess(float(half[mode]), 0.75 * float(whole[mode]), mode)
        plan = json.loads(self.shown('plan', '--json', '--routine', 'dsyrk', '--op', 'T', 4096,
                                     512))
        self.assertEqual([plan[name] for name in ('routine', 'm', 'n', 'k', 'op')],
                         ['dsyrk', None, 4096, 512, 'T'])
        self.assertEqual(json.loads(self.shown('plan', '--json', 8, 8, 8))['routine'], 'dgemm')

    def test_plan_shows_what_it_was_given(self):
        """And the terms of the longest sums, of real numbers, to which bits are given."""
        for given, terms, line in (
            (('dsymm', 40, 50), 40, r'dsymm: +40 x 50 \(m, n\)'),
            (('dtrmm', 40, 50, '--side', 'R', '--op', 'T'), 50,
             r'dtrmm: +40 x 50 \(m, n\), op T'),
            (('dtrsm', 400, 50), 400, r'dtrsm: +400 x 50 \(m, n\), op N'),
            (('ztrsm', 40, 500, '--side', 'R'), 500, r'ztrsm: +40 x 500 \(m, n\), op N'),
            (('dsyrkx', 40, 50), 50, r'dsyrkx: +40 x 50 \(n, k\), op N'),
            (('dsyr2k', 40, 50), 100, r'dsyr2k: +40 x 50 \(n, k\), op N'),
            (('zher2k', 40, 50, '--op', 'C'), 100, r'zher2k: +40 x 50 \(n, k\), op C'),
            (('zgemm', 40, 50, 60, '--op', 'CT'), 120,
             r'zgemm: +40 x 50 x 60 \(m, n, k\), op CT, batch 1'),
            (('dgetrf', 500, 300), 300, r'dgetrf: +500 x 300 \(m, n\)'),
            (('zpotrf', 500), 500, r'zpotrf: +500 \(n\)'),
            (('dgetrs', 500, 16, '--op', 'T'), 500, r'dgetrs: +500 x 16 \(n, k\), op T'),
            (('dpotri', 500), 500, r'dpotri: +500 \(n\)'),
            (('dormqr', 300, 200, 70), 300, r'dormqr: +300 x 200 x 70 \(m, n, k\), op N'),
            (('dsyevd', 500), 500, r'dsyevd: +500 \(n\)')):
            plan = json.loads(self.shown('plan', '--json', '--routine', *given))
            sizes = [plan[name] for name in 'mnk' if plan[name] is not None]
            self.assertEqual((sizes, plan['terms']),
                             ([size for size in given if isinstance(size, int)], terms), given)
            text = self.shown('plan', '--routine', *given)
            self.assertRegex(text, f'^{line}\n')
            self.assertIn(f' bits of sums of {terms} terms\n', text)

    def test_plan_of_what_no_mode_makes_faithfully(self):
        """Panels are made in binary64, whatever the mode of the products is."""
        plan = json.loads(self.shown('plan', '--json', '--routine', 'dgetrf', '--accuracy',
                                     'faithful', 8192, 8192))
        self.assertEqual(plan['auto']['native_reason'], 'no mode is as accurate as asked')
        self.assertFalse(any(mode['is_accurate_enough'] for mode in plan['modes']), plan)

    def test_plan_lists_products_of_cublas(self):
        """A way that has the name of no mode is in the table, too, and said in words."""
        for routine, sizes, words in (('dsyrk', (512, 200000), "cuBLAS's products in place of its"),
                                      ('dgetrf', (8192, 8192), "Tandem's steps, with cuBLAS's")):
            given = ('--device', 'NVIDIA H200', '--routine', routine, *sizes)
            _, times, (mode, _) = self.plan(*given)
            self.assertEqual(mode, 'dgemm')
            self.assertLess(float(times['dgemm']), float(times['native']))
            self.assertIn(f'\ndgemm: {words}', self.shown('plan', *given))
        self.assertNotIn('\ndgemm: cuBLAS', self.shown('plan', 4096, 4096, 4096))

    def test_plan_of_factors(self):
        plan = json.loads(self.shown('plan', '--json', '--routine', 'zgetrf', 500, 300))
        self.assertEqual([plan[name] for name in ('routine', 'm', 'n', 'k', 'op')],
                         ['zgetrf', 500, 300, None, ''])
        self.assertEqual({mode['route'] for mode in plan['modes']}, {None})
        h200 = ('--device', 'NVIDIA H200', '--routine', 'dgetrf')
        _, times, (mode, why) = self.plan(8192, 8192, *h200)
        self.assertEqual(times['native'], '37.5000')
        self.assertEqual((mode, why.split(' (')[0]), ('dgemm', 'predicted fastest'))
        self.assertEqual(self.plan(100, 100, *h200)[2][0], 'native')
        # Nobody knows of panels on cards that have no clusters of blocks.
        self.assertEqual(self.plan(8192, 8192, '--device', 'NVIDIA GeForce RTX 4090', '--routine',
                                   'dgetrf')[2][0], 'native')
        self.assert_refused(self.tandem('plan', '--routine', 'dgetrf', 8), 2, 'N is missing')
        self.assert_refused(self.tandem('plan', '--routine', 'xgetrf', 8, 8), 2, 'dgetrf')

    def test_plan_of_cholesky_factors(self):
        h200 = ('--device', 'NVIDIA H200', '--routine', 'dpotrf')
        self.assertNotEqual(self.plan(16384, *h200)[2][0], 'native')
        self.assertEqual(self.plan(16384, '--device', 'NVIDIA GeForce RTX 4090', '--routine',
                                   'dpotrf')[2][0], 'native')
        self.assert_refused(self.tandem('plan', '--routine', 'dpotrf', 8, 8), 2,
                            'one size too many')

    def test_plan_of_eigenvectors(self):
        h200 = ('--device', 'NVIDIA H200', '--routine', 'dsyevd')
        slow = ('--device', 'NVIDIA GeForce RTX 4090', '--routine', 'dsyevd')
        self.assertEqual(self.plan(4096, *slow)[2][0], 'ozaki2')
        self.assertEqual(self.plan(512, *slow)[2][0], 'native')
        self.assertEqual(self.plan(4096, *h200)[2][0], 'native')

    def test_plan_of_reflectors(self):
        h200 = ('--device', 'NVIDIA H200', '--routine')
        _, times, (mode, why) = self.plan(8192, 8192, *h200, 'dgeqrf')
        self.assertEqual(times['native'], '73.5000')
        self.assertEqual((mode, why.split(' (')[0]), ('dgemm', 'predicted fastest'))
        self.assertEqual(self.plan(200, 200, *h200, 'dgeqrf')[2][0], 'native')
        # Complex Q is as fast by cuSOLVER, but of large orders.
        for arguments, mode in ((('dorgqr', 8192, 8192, 8192), 'dgemm'),
                                (('dormqr', 8192, 8192, 8192, '--op', 'T'), 'dgemm'),
                                (('zgeqrf', 6000, 6000), 'dgemm'),
                                (('zgeqrf', 8192, 8192), 'ozaki2'),
                                (('zungqr', 4096, 4096, 4096), 'native'),
                                (('zungqr', 8192, 8192, 8192), 'ozaki2'),
                                (('zunmqr', 4096, 4096, 4096, '--op', 'C'), 'native'),
                                (('zunmqr', 8192, 8192, 8192, '--op', 'C'), 'ozaki2')):
            _, times, (chosen, _) = self.plan(*h200, *arguments)
            self.assertGreater(float(times['native']), 10.0)
            self.assertEqual(chosen, mode, arguments)
        self.assert_refused(self.tandem('plan', '--routine', 'dorgqr', 8, 8), 2, 'K is missing')
        for sizes in (('dorgqr', 8, 9, 1), ('dorgqr', 9, 8, 9), ('dormqr', 8, 20, 9),
                      ('zunmqr', 20, 8, 9, '--side', 'R', '--op', 'C')):
            self.assert_refused(self.tandem('plan', '--routine', *sizes), 2,
                                f'{sizes[0]} has at most as many reflectors, K, as')

    def test_solutions_by_factors(self):
        h200 = ('--device', 'NVIDIA H200', '--routine')
        for arguments, mode in ((('dgetrs', 8192, 256), 'fp64'), (('dgetrs', 8192, 8192), 'ozaki2'),
                                (('dgetrs', 8192, 1), 'native'), (('dpotrs', 8192, 1), 'native'),
                                (('zpotri', 2048), 'fp64')):
            self.assertEqual(self.plan(*h200, *arguments)[2][0], mode, arguments)
        self.assertEqual(self.plan(*h200, 'dpotri', 2048)[1]['native'], '3.6650')

    def test_a_complex_product_is_four_real_ones(self):
        h200 = ('--device', 'NVIDIA H200')
        one = self.plan(4096, 4096, 4096, *h200)[1]
        four = self.plan('--routine', 'zgemm', 4096, 4096, 4096, *h200)[1]
        for mode in ('native', 'df', 'fp64'):
            self.assertAlmostEqual(float(four[mode]) / float(one[mode]), 4.0, delta=0.6, msg=mode)

    def test_native_time_is_of_the_routine(self):
        """A triangular product takes cuBLAS about half of the time. Emulation passes over zeros,
        too, but writes the triangle out."""
        h200 = ('--device', 'NVIDIA H200')
        gemm, trmm, symm = (self.plan(*arguments, *h200)[1]
                            for arguments in ((8192, 8192, 8192),
                                              ('--routine', 'dtrmm', 8192, 8192),
                                              ('--routine', 'dsymm', 8192, 8192)))
        self.assertLess(float(trmm['ozaki2']), 0.9 * float(gemm['ozaki2']))
        self.assertGreater(float(trmm['ozaki2']), 0.5 * float(gemm['ozaki2']))
        self.assertEqual(gemm['native'], symm['native'])
        self.assertAlmostEqual(float(trmm['native']) / float(gemm['native']), 0.6, delta=0.05)

    def test_auto_takes_what_was_measured_to_be_faster(self):
        """docs/results: h200-2026-11-26-verify and h100-2026-11-25-level3, routines.txt.

        By figures of a rested H100 dtrmm at 8192 gains 11 %, less than `auto` asks for."""
        for device, trmm in (('NVIDIA H200', 'ozaki2'), ('NVIDIA H100 80GB HBM3', 'native')):
            for wanted, *call in (('native', 'dtrmm', 4096, 4096), (trmm, 'dtrmm', 8192, 8192),
                                  ('ozaki2', 'ztrmm', 4096, 4096), ('ozaki2', 'dsymm', 4096, 4096),
                                  ('ozaki2', 'dsyrk', 8192, 8192), ('native', 'dsyr2k', 8192, 128)):
                self.assertEqual(
                    self.plan('--device', device, '--routine', *call)[2][0], wanted, (device, call))

    def test_plan_shows_routes(self):
        """Which kernels each mode launches: the same in text and in JSON, and other ones on another
        device."""
        def routes(*arguments):
            text = self.shown('plan', *arguments)
            found = dict(re.findall(r'^route of (\S+): (.*)$', text, re.MULTILINE))
            modes = json.loads(self.shown('plan', '--json', *arguments))['modes']
            self.assertEqual(
                {
                    m['mode']: ', '.join(f'{s} {v}' for s, v in m['route'].items())
                    for m in modes if m['route']
                }, found)
            return found
        h200 = routes(4096, 4096, 512, '--device', 'NVIDIA H200')
        self.assertEqual(set(h200), {'ozaki2', 'faithful'})
        self.assertEqual(h200['ozaki2'], 'measure tma, split tma, round binary64, slices 1, '
                         'gemm wgmma-small-pair, crt pairs-two-tiles, fuse gemm-crt, '
                         'repair-tiles 2, repair-shares 1, repair tma-pair')
        self.assertEqual(routes(4096, 4096, 512, '--device', 'NVIDIA GeForce RTX 4090')['ozaki2'],
                         'measure threads, split threads, round int64, slices 1, '
                         'gemm mma-large, crt limbs, fuse none, repair-tiles 2, repair-shares 4, '
                         'repair many-stages')

    def found_out(self, *arguments):
        """The modes' third times in milliseconds, as the column has them, and JSON's."""
        text = self.shown('plan', *arguments)
        column = dict(re.findall(r'^(\S+) +\d+\.\d+ +(-|\d+\.\d+) +\d+\.\d+ ', text,
                                 re.MULTILINE))
        modes = json.loads(self.shown('plan', '--json', *arguments))['modes']
        of_json = {mode['mode']: mode['found_out_seconds'] for mode in modes}
        self.assertEqual(set(column), set(of_json))
        for mode, seconds in of_json.items():
            self.assertEqual(column[mode], '-' if seconds is None else f'{seconds * 1e3:.4f}', mode)
        return {mode: time for mode, time in column.items() if time != '-'}, text

    def test_plan_shows_what_bad_data_cost(self):
        """On an H100 the probe takes 37 to 49 us besides native's time (docs/auto.md)."""
        device = ('--device', 'NVIDIA H100 80GB HBM3')
        for size, mode, most in ((4096, 'ozaki2', 1.05), (1792, 'native', 2.0)):
            column, text = self.found_out(size, size, size, *device)
            times, (auto, why) = self.plan(size, size, size, *device)[1:]
            self.assertEqual((set(column), auto), ({'ozaki2'}, mode))
            native, found_out = float(times['native']), float(column['ozaki2'])
            self.assertTrue(0.0365 <= found_out - native <= 0.0495, text)
            self.assertLessEqual(found_out, most * native)
            self.assertTrue(why.endswith(f"(ozaki2 {times['ozaki2']} ms, native {times['native']} "
                                         f"ms, found out {column['ozaki2']} ms)"), why)
        self.assertGreater(found_out, 1.05 * native)

    def test_plan_asks_of_bad_data_where_they_count(self):
        """Not of a mode whose time does not depend on them, nor where native is not accurate."""
        device = ('--device', 'NVIDIA H200')
        self.assertEqual(self.found_out(4096, 4096, 4096, *device, '--accuracy', 'faithful')[0], {})
        self.assertEqual(self.found_out('--routine', 'dsyrk', 512, 200000, *device)[0], {})
        (solve,), _ = self.found_out('--routine', 'dtrsm', 8192, 8192, *device)
        self.assertEqual(solve, 'ozaki2')

    def test_plan_heeds_accuracy_and_strategy(self):
        h200 = (8192, 8192, 8192, '--device', 'NVIDIA H200')
        self.assertEqual(self.plan(*h200, '--accuracy', 'faithful')[2][0], 'faithful')
        self.assertEqual(self.plan(*h200, TANDEM_ACCURACY='faithful')[2][0], 'faithful')
        self.assertNotEqual(
            self.plan(*h200, '--accuracy', 'fp64', TANDEM_ACCURACY='faithful')[2][0], 'faithful')
        self.assertNotEqual(self.plan(8, 8, 8, TANDEM_STRATEGY='eager')[2][0], 'native')

    def test_plan_of_the_machines_own_device(self):
        self.add_driver()
        self.assertEqual(self.plan(100, 100, 100)[0], 'Toy 1')

    def test_plan_lists_its_routines(self):
        """With the sizes that a plan takes, and options with what they are without being given."""
        listed = json.loads(self.shown('plan', '--routines', '--json'))
        lines = self.shown('plan', '--routines').splitlines()
        self.assertEqual([re.split('  +', line) for line in lines[1:]],
                         [[text for text in row.values() if text] for row in listed])
        allowed = self.tandem('plan', '--routine', '?').stderr.split('allowed: ')[1]
        self.assertEqual([row['routine'] for row in listed], allowed.rstrip('\n').split(', '))
        found = {row['routine']: (row['sizes'], row['options']) for row in listed}
        self.assertEqual(found['dgemm'], ('M N K', '--op NN --batch 1'))
        self.assertEqual(found['dsyrk'], ('N K', '--op N'))
        self.assertEqual(found['ztrsm'], ('M N', '--op N --side L'))
        self.assertEqual(found['zpotrf'], ('N', ''))
        for routine, (sizes, options) in found.items():
            shown = [
                self.shown('plan', '--json', '--routine', routine, *given,
                           *(16 for _ in sizes.split())) for given in ((), options.split())
            ]
            self.assertEqual(*shown)

    def test_bad_plans(self):
        refused = lambda *arguments: self.tandem('plan', *arguments)
        self.assert_refused(refused(), 2, 'M is missing')
        self.assert_refused(refused(1, 2), 2, 'K is missing')
        self.assert_refused(refused(1, 2, 3, 4), 2,
                            "'4' is one size too many for dgemm, which takes M N K")
        for sizes in ((4, 4, 4), (4, 4, 4, 4)):
            self.assert_refused(refused('--routine', 'dgetrs', *sizes), 2,
                                "'4' is one size too many for dgetrs, which takes N K")
        for bad in ('0', '-1', 'x', '1x', '2147483648', ''):
            self.assert_refused(refused('--', 1, bad, 3), 2, f"N is '{bad}'", '1 to 2147483647')
            self.assert_refused(refused(f'--batch={bad}', 1, 2, 3), 2, f"--batch is '{bad}'")
        for bad in ('N', 'NNN', 'NX', 'nn'):
            self.assert_refused(refused(1, 2, 3, '--op', bad), 2, f"--op is '{bad}'", 'N, T and C')
        self.assert_refused(refused(1, 2, 3, '--accuracy', '53'), 2, "--accuracy is '53'",
                            '10 to 52')
        self.assert_refused(refused(1, 2, 3, '--device', 'H200'), 2, "--device is 'H200'",
                            'NVIDIA H200, ', 'did you mean NVIDIA H200?')
        self.assert_refused(refused(1, 2, 3, '--device', 'rtx 4090'), 2,
                            'did you mean NVIDIA GeForce RTX 4090?')
        self.assert_refused(refused(1, 2, 3, '--device', 'NVIDA L40S'), 2,
                            'did you mean NVIDIA L40S?')
        dsyrk = ('--routine', 'dsyrk')
        self.assert_refused(refused(1, 2, 3, '--routine', 'sgemm'), 2, "--routine is 'sgemm'",
                            'dgemm, dsymm, dsyrk')
        for slip, meant in (('dgmm', 'dgemm'), ('DSYRK', 'dsyrk'), ('zgem', 'zgemm')):
            self.assert_refused(refused(1, 2, 3, '--routine', slip), 2, f"--routine is '{slip}'",
                                f'; did you mean {meant}?')
        self.assert_refused(refused(1, 2, '--routine', 'dsymm', '--op', 'N'), 2, "--op is 'N'",
                            'dsymm has no operation')
        self.assert_refused(refused(1, 2, '--routine', 'dsymm', '--op', ''), 2, "--op is ''",
                            'dsymm has no operation')
        self.assert_refused(refused(1, 2, '--routine', 'dtrmm', '--side', 'X'), 2, "--side is 'X'",
                            'L, R')
        self.assert_refused(refused(1, 2, *dsyrk, '--side', 'L'), 2, "--side is 'L'",
                            'dsyrk has no sides')
        self.assert_refused(refused(1, *dsyrk), 2, 'K is missing; dsyrk takes N K')
        self.assert_refused(refused(1, 2, 3, *dsyrk), 2,
                            "'3' is one size too many for dsyrk, which takes N K")
        self.assert_refused(refused(1, 2, *dsyrk, '--op', 'NT'), 2, "--op is 'NT'",
                            'one of the letters')
        self.assert_refused(refused(1, 2, *dsyrk, '--batch', 5), 2, "--batch is '5'",
                            'dsyrk has no batches')
        self.assert_refused(self.tandem('plan', 1, 2, 3, TANDEM_STRATEGY='lazy'), 2, "'lazy'",
                            'eager, performant')

    def test_options_that_would_hide_others_are_refused(self):
        for command, alone, rest, surplus in (
            ('plan', '--routines', '--json, and nothing else', ['16', '16', '16']),
            ('plan', '--routines', '--json, and nothing else', ['--routine', 'dsyrk']),
            ('plan', '--routines', '--json, and nothing else', ['--batch', '2', '--json']),
            ('modes', '--names', 'nothing else', ['--json']),
            ('options', '--markdown', 'nothing else', ['--json']),
            ('help', '--man', 'nothing else', ['run']),
            ('help', '--bash', 'nothing else', ['--zsh']),
            ('report', '--fields', 'nothing else', ['--schema']),
            ('report', '--schema', 'nothing else', ['r.json']),
            ('doctor', '--attach=1', '--json, and nothing else', ['./app', 'argument']),
            ('doctor', '--entries', '--json or --markdown, and nothing else', ['./app']),
            ('doctor', '--entries', '--json or --markdown, and nothing else', ['--attach', '1']),
            ('doctor', '--markdown', '--entries, and nothing else', ['--json', '--entries'])):
            self.assert_refused(self.tandem(command, alone, *surplus), 2,
                                f"unexpected '{surplus[0]}'; tandem {command} "
                                f"{alone.split('=')[0]} takes {rest}\n")

    def test_options_show_value_and_origin(self):
        shown = self.tandem('options', TANDEM_WORKSPACE='2048k')
        self.assertEqual((shown.returncode, shown.stderr), (0, ''))
        self.assertIn('TANDEM_WORKSPACE=2M (environment)\n', shown.stdout)
        self.assertIn('TANDEM_MODE=native (default)\n', shown.stdout)
        hidden = self.tandem('options', TANDEM_REPORT='a\x1b[31m\nb')
        self.assertIn('TANDEM_REPORT=a\\x1b[31m\\x0ab (environment)\n', hidden.stdout)
        bad = self.tandem('options', TANDEM_WORKSPACE='1')
        self.assertEqual(bad.returncode, 2)
        self.assertEqual(bad.stderr.count('\n'), 1)
        unknown = self.tandem('options', TANDEM_LOGS='1')
        self.assertEqual(
            (unknown.returncode, unknown.stderr),
            (0, 'tandem: warn: unknown variable TANDEM_LOGS; did you mean TANDEM_LOG?\n'))

    def test_json_says_what_the_text_says(self):
        modes = json.loads(self.shown('modes', '--json'))
        lines = self.shown('modes').splitlines()
        self.assertEqual([f'{mode["usage"]} {mode["summary"]}' for mode in modes],
                         [' '.join(l.split()) for l in lines[::2]])
        self.assertEqual([mode['error'] for mode in modes],
                         [l.split('error: ')[1] for l in lines[1::2]])
        result = self.tandem('options', '--json', TANDEM_REPORT='a "b"\\\n')
        option = next(o for o in json.loads(result.stdout) if o['name'] == 'TANDEM_REPORT')
        self.assertEqual((option['value'], option['origin'], option['default']),
                         ('a "b"\\\n', 'environment', 'none'))
        self.assertEqual([o['name'] for o in json.loads(result.stdout)],
                         re.findall(r'^(TANDEM_\w+)=', self.shown('options'), re.MULTILINE))
        product = (4096, 2048, 1024, '--op', 'TC', '--batch', 3, '--device', 'NVIDIA H200')
        plan = json.loads(self.shown('plan', '--json', *product))
        device, times, (mode, why) = self.plan(*product)
        self.assertEqual([plan[name] for name in ('m', 'n', 'k', 'batch', 'op', 'device')],
                         [4096, 2048, 1024, 3, 'TC', device])
        self.assertEqual({m['mode'] for m in plan['modes']}, set(times))
        for of in plan['modes']:
            self.assertAlmostEqual(of['seconds'] * 1e3, float(times[of['mode']]), delta=0.00006)
        self.assertEqual(plan['auto']['mode'], mode)
        self.assertEqual(plan['auto']['native_reason'] or plan['auto']['choice'],
                         why.split(' (')[0])

    def test_options_page_is_current(self):
        page = (DOCS / 'options.md').read_text()
        self.assertEqual(page, self.tandem('options', '--markdown').stdout,
                         'docs/options.md differs: write it anew with tandem options --markdown')


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
