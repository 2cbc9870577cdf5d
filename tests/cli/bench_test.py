"""`tandem bench`: what it says of runs that print, fail, are stopped or cannot be started, and that
its files are what they claim to be. Programs are shell scripts that know their mode from the
environment; one makes real products.

usage: bench_test.py LAUNCHER VERSION COMPILER...
"""
import csv
import html.parser
import json
import os
import re
import shutil
import signal
import subprocess
import time
import unittest

from launcher_case import Case, LAUNCHER, STARTS_SYSTEM_PROGRAMS, VERSION

GEMM_TIME = os.environ['TANDEM_GEMM_TIME']


class BenchCase(Case):
    def setUp(self):
        super().setUp()
        self.add_host_device()

    def script(self, text):
        file = self.folder / 'program'
        file.write_text('#!/bin/sh\n' + text)
        file.chmod(0o755)
        return file

    def bench(self, *arguments, **variables):
        return self.tandem('bench', '--hostgpu', *arguments, **variables)

    def rows(self, result):
        """The table's rows by mode, each a dictionary by title; the second speed-up is that of the
        products."""
        lines = result.stdout.splitlines()
        start = next(i for i, line in enumerate(lines) if line.startswith('mode '))
        titles = re.split(r' {2,}', lines[start].strip())
        titles[titles.index('products s') + 1] = 'products speed-up'
        rows = {}
        for line in lines[start + 1:]:
            if not line:
                break
            row = dict(zip(titles, re.split(r' {2,}', line.strip()), strict=True))
            rows[row['mode']] = row
        return rows

    def compared(self, native, other, **options):
        """The table's difference where native prints one text and df another."""
        (self.folder / 'native').write_text(native)
        (self.folder / 'df').write_text(other)
        result = self.bench('--modes', 'df', self.script('cat "$TANDEM_MODE"'), **options)
        self.assertEqual(result.returncode, 0, result)
        return self.rows(result)['df']['difference']


class Arguments(BenchCase):
    def test_bad_arguments(self):
        self.assert_refused(self.bench(), 2, 'no program')
        self.assert_refused(self.bench('--'), 2, 'no program')
        self.assert_refused(self.bench('--modes', 'native,fd', 'env'), 2, "--modes is 'fd'",
                            'did you mean df?')
        self.assert_refused(self.bench('--modes', 'ozakki2:14', 'env'), 2, "'ozakki2:14'",
                            'did you mean ozaki2?')
        self.assertNotIn('did you mean', self.bench('--modes', 'ozaki2:99', 'env').stderr)
        for empty in ('', 'df,', ',df'):
            self.assert_refused(self.bench(f'--modes={empty}', 'env'), 2, "--modes is ''",
                                'native, df')
        self.assert_refused(self.bench('--modes', 'df,ts,df', 'env'), 2, "'df' twice")
        for bad in ('0', '-1', 'x', '1.5', '1001', ''):
            self.assert_refused(self.bench(f'--repeat={bad}', 'env'), 2, f"--repeat is '{bad}'",
                                '1 to 1000')
        for option, bad, allowed in (('warmup', '-1', '0 to 1000'), ('warmup', '1001', '0 to 1000'),
                                     ('timeout', '0', '1 to 2592000'),
                                     ('timeout', '1.5', '1 to 2592000')):
            self.assert_refused(self.bench(f'--{option}={bad}', 'env'), 2, f"--{option} is '{bad}'",
                                allowed)
        self.assert_refused(self.bench('env', TANDEM_WORKSPACE='1Q'), 2, 'TANDEM_WORKSPACE')
        self.assert_refused(self.bench('--csv', 'out', '--json', 'out', 'env'), 2,
                            "--csv and --json name one file, 'out'")

    def test_variables_of_no_effect_are_said(self):
        result = self.bench('--modes', 'df', self.script('echo 1.5'), TANDEM_MODE='df',
                            TANDEM_REPORT='mine.json')
        self.assertEqual(result.returncode, 0)
        self.assertIn('warn: TANDEM_MODE has no effect', result.stderr)
        self.assertIn('warn: TANDEM_REPORT has no effect', result.stderr)
        self.assertFalse((self.folder / 'mine.json').exists())
        self.assertNotIn('has no effect', self.bench(self.script('echo 1.5')).stderr)

    def test_rules_of_no_use_are_said(self):
        """The runs' own stderr is not shown."""
        (self.folder / 'rules').write_text('-> df\nm=1 -> native\n')
        result = self.bench(self.script('echo 1.5'), TANDEM_RULES='rules')
        self.assertIn('warn: rules: 1 of 2 rules are never used; line 2', result.stderr)

    def test_programs_that_cannot_run(self):
        self.assert_refused(self.bench('no-such-program'), 127, "'no-such-program'")
        self.assert_refused(self.bench('/tmp'), 126, "'/tmp'", 'Is a directory')

    def test_files_that_cannot_be_written(self):
        """They are refused before anything runs, and the first refusal leaves the others alone."""
        program = self.script(f'touch {self.folder}/mark')
        for option in ('--csv', '--json', '--html'):
            self.assert_refused(self.bench(option, '/proc/none/file', program), 2,
                                "'/proc/none/file'")
        self.assert_refused(self.bench('--keep', '/proc/none', program), 2, "'/proc/none'")
        self.assertIn("'--csv' needs", self.tandem('bench', '--csv').stderr)
        self.assertFalse((self.folder / 'mark').exists())

    def test_a_folder_that_is_in_use_is_left_alone(self):
        (self.folder / 'kept').mkdir()
        (self.folder / 'kept' / 'native-1.7.json').write_text('mine')
        result = self.bench('--keep', 'kept', self.script(f'touch {self.folder}/mark'))
        self.assertEqual(result.returncode, 2)
        self.assertIn("--keep is 'kept'; allowed: a new or empty folder", result.stderr)
        self.assertEqual([f.name for f in (self.folder / 'kept').iterdir()], ['native-1.7.json'])
        self.assertFalse((self.folder / 'mark').exists())


class Runs(BenchCase):
    def test_modes_and_repetitions(self):
        program = self.script(f'echo "$TANDEM_MODE" >>{self.folder}/modes')
        result = self.bench(program)
        self.assertEqual(result.returncode, 0, result)
        self.assertEqual((self.folder / 'modes').read_text().split(),
                         ['native', 'native', 'auto', 'ozaki2', 'faithful'])
        (self.folder / 'modes').unlink()
        result = self.bench('--modes', 'ozaki2:14,native', '--repeat', 2, '--warmup', 0, '--',
                            program)
        self.assertEqual((self.folder / 'modes').read_text().split(), ['native', 'ozaki2:14'] * 2)
        progress = [
            line for line in result.stderr.splitlines() if line.startswith('tandem: bench: ')
        ]
        self.assertEqual(len(progress), 4)
        self.assertRegex(progress[3],
                         r'^tandem: bench: ozaki2:14, run 2 of 2: \d+\.\d{3} s, exit 0$')
        rows = self.rows(result)
        self.assertEqual(list(rows), ['native', 'ozaki2:14'])
        self.assertEqual(rows['native']['runs'], '2')
        self.assertIn('made no call that Tandem intercepts', result.stdout)
        self.assertIn('nothing about a GPU', result.stdout)

    def test_warm_up(self):
        """What the first run takes to load counts for no mode, and what it prints differently is
        known to vary."""
        program = self.script(
            f'echo >>{self.folder}/count; [ "$(wc -l <{self.folder}/count)" != 1 ] || sleep 1\n'
            f'echo 1.5 "$(wc -l <{self.folder}/count).25 s"')
        result = self.bench('--modes', 'df', '--keep', 'kept', '--json', 'out.json', program)
        self.assertIn('tandem: bench: native, warm-up 1 of 1: 1.', result.stderr)
        rows = self.rows(result)
        self.assertLess(float(rows['native']['wall s']), 1)
        self.assertEqual((rows['native']['runs'], rows['df']['difference']), ('1', '0'))
        self.assertTrue((self.folder / 'kept/warmup-1.out').exists())
        self.assertEqual(json.loads((self.folder / 'out.json').read_text())['warm_ups'], 1)
        result = self.bench('--modes', 'df', '--warmup', 2, self.script('echo 1.5'))
        self.assertIn('native, warm-up 2 of 2: ', result.stderr)

    def test_spread(self):
        program = self.script(
            f'echo >>{self.folder}/count; [ "$(wc -l <{self.folder}/count)" != 4 ] || sleep 1')
        result = self.bench('--modes', 'df', '--repeat', 2, '--csv', 'out.csv', program)
        rows = self.rows(result)
        self.assertLess(float(rows['native']['min']), 1)
        self.assertGreaterEqual(float(rows['native']['max']), 1)
        self.assertLess(float(rows['df']['max']), 1)
        with open(self.folder / 'out.csv', newline='') as file:
            self.assertGreaterEqual(float(next(csv.DictReader(file))['wall_seconds_max']), 1)
        self.assertNotIn('max', self.rows(self.bench(program))['native'])

    @STARTS_SYSTEM_PROGRAMS
    def test_timeout(self):
        """It ends with all that it has started; another run is not in its way."""
        program = self.script('[ $TANDEM_MODE != df ] || { sleep 1000 & sleep 1000; }; echo 1.5')
        result = self.bench('--modes', 'df,ts', '--timeout', 1, program)
        rows = self.rows(result)
        self.assertEqual(result.returncode, 1)
        self.assertEqual([rows[mode]['exit'] for mode in rows], ['0', 'timeout', '0'])
        self.assertEqual(rows['df']['wall s'], '-')
        self.assertIn('df: 1 of 1 runs failed (timeout)\n', result.stdout)
        self.assertNotIn('left processes', result.stdout)

    @STARTS_SYSTEM_PROGRAMS
    def test_a_program_that_ignores_the_end_of_its_time(self):
        program = self.script("trap '' TERM; echo started >&2; while :; do sleep 1; done")
        result = self.bench('--timeout', 1, program)
        self.assertEqual((result.returncode, result.stdout), (1, ''))
        self.assertIn('fails without emulation (timeout), and says: started; only', result.stderr)

    @STARTS_SYSTEM_PROGRAMS
    def test_processes_that_are_left_behind(self):
        """They would be in later runs' way, and what they compute is not counted."""
        program = self.script('[ $TANDEM_MODE = native ] || sleep 4 & echo 1.5')
        result = self.bench('--modes', 'df', program)
        self.assertEqual(result.returncode, 0)
        self.assertIn('df: 1 of 1 runs left processes behind', result.stdout)
        self.assertNotIn('native: 1 of', result.stdout)
        result = self.bench('--modes', 'df', self.script('sleep 0.2 & echo 1.5'))
        self.assertNotIn('left processes', result.stdout)

    def test_rules_leave_native_alone(self):
        (self.folder / 'rules').write_text('-> ts\n')
        program = self.script(f'echo $TANDEM_MODE $TANDEM_RULES >>{self.folder}/seen')
        result = self.bench('--modes', 'df', program, TANDEM_RULES='rules')
        self.assertEqual((self.folder / 'seen').read_text(), 'native\nnative\ndf rules\n')
        self.assertIn('TANDEM_RULES holds in all modes but native\n', result.stdout)
        self.assertNotIn('TANDEM_RULES', self.bench(program).stdout)

    def test_wall_time_is_a_median(self):
        """Of three runs one is slow; native's are not."""
        program = self.script(
            f'[ "$TANDEM_MODE" = native ] || echo >>{self.folder}/count\n'
            f'[ "$TANDEM_MODE" = native ] || [ "$(wc -l <{self.folder}/count)" != 2 ] || sleep 3')
        row = self.rows(self.bench('--modes', 'df', '--repeat', 3, '--json', 'out.json',
                                   program))['df']
        times = [
            run['wall_seconds']
            for run in json.loads((self.folder / 'out.json').read_text())['modes'][1]['each_run']
        ]
        self.assertGreaterEqual(max(times), 3)
        self.assertAlmostEqual(float(row['wall s']), sorted(times)[1], delta=0.0006)

    def test_no_file_stays(self):
        (self.folder / 'tmp').mkdir()
        result = self.bench(self.script('echo 1.5'), TMPDIR=str(self.folder / 'tmp'))
        self.assertEqual(result.returncode, 0)
        self.assertEqual(list((self.folder / 'tmp').iterdir()), [])

    def test_a_table_that_is_lost(self):
        with open('/dev/full', 'w') as full:
            done = subprocess.run([self.launcher, 'bench', '--hostgpu', self.script('echo 1.5')],
                                  stdout=full, stderr=subprocess.PIPE, text=True,
                                  env={**self.environment,
                                       'LD_LIBRARY_PATH': ':'.join(self.library_path)})
        self.assertEqual(done.returncode, 1)
        self.assertIn('error: cannot write all of this to standard output\n', done.stderr)

    @STARTS_SYSTEM_PROGRAMS
    def test_kept_files(self):
        self.bench('--keep', 'kept', '--modes', 'df', '--repeat', 2,
                   self.script('echo out; echo err >&2'))
        names = {
            f'{mode}-{n}.{end}'
            for mode in ('native', 'df')
            for n in (1, 2)
            for end in ('out', 'err')
        } | {'warmup-1.out', 'warmup-1.err'}
        self.assertEqual({f.name for f in (self.folder / 'kept').iterdir()}, names)
        self.assertEqual((self.folder / 'kept/df-2.out').read_text(), 'out\n')
        self.assertEqual((self.folder / 'kept/df-2.err').read_text(), 'err\n')

    def bench_of(self, source, *arguments):
        """With this standard input: exit status, stdout and stderr."""
        process = subprocess.Popen([self.launcher, 'bench', '--hostgpu', *arguments], stdin=source,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   cwd=self.folder,
                                   env={**self.environment,
                                        'LD_LIBRARY_PATH': ':'.join(self.library_path)})
        return (*process.communicate(), process.returncode)

    def test_input(self):
        """A file on stdin is every run's; a pipe is none's, which is said."""
        (self.folder / 'input').write_text('first\n2.5\n')
        program = self.script('cat')
        with open(self.folder / 'input') as file:
            os.lseek(file.fileno(), len('first\n'), os.SEEK_SET)
            out, err, status = self.bench_of(file, '--keep', 'kept', program)
        self.assertEqual(status, 0)
        for stem in ('warmup', 'native', 'auto', 'faithful'):
            self.assertEqual((self.folder / f'kept/{stem}-1.out').read_text(), '2.5\n')
        self.assertNotIn('standard input', out + err)
        out, err, status = self.bench_of(subprocess.PIPE, '--keep', 'none', program)
        self.assertEqual(status, 0)
        self.assertEqual((self.folder / 'none/native-1.out').read_text(), '')
        self.assertIn('warn: standard input can be read only once, so that no run gets it', err)
        self.assertIn('the program had no standard input: only a file is given\n', out)
        out, err, status = self.bench_of(subprocess.DEVNULL, program)
        self.assertNotIn('standard input', out + err)

    def test_failing_runs(self):
        """SIGKILL is a signal that no sanitizer turns into an exit."""
        program = self.script(
            'case $TANDEM_MODE in df) echo "no luck" >&2; exit 3;; ts) kill -KILL $$;; esac\n'
            'echo 1.5')
        result = self.bench('--modes', 'df,ts,dd', program)
        self.assertEqual(result.returncode, 1)
        rows = self.rows(result)
        self.assertEqual([rows[mode]['exit'] for mode in rows], ['0', '3', 'SIGKILL', '0'])
        self.assertEqual([rows['df'][t] for t in ('wall s', 'speed-up', 'emulated', 'difference')],
                         ['-'] * 4)
        self.assertEqual(rows['dd']['difference'], '0')
        self.assertIn('df: 1 of 1 runs failed (3): no luck\n', result.stdout)

    @STARTS_SYSTEM_PROGRAMS
    def test_nothing_is_compared_where_native_fails(self):
        """The program's message is shown, there are no speed-ups, and no file says otherwise."""
        mark = f'echo >>{self.folder}/runs; '
        for text, said in (
            ('echo "no module" >&2; exit 1', '(1), and says: no module;'),
            ('echo 1.5; echo sorry; exit 5', '(5), and says: sorry;'),
            ('exit 1', '(1), and says nothing;'),
            ('kill -KILL $$', '(SIGKILL), and says nothing;'),
            ('[ $TANDEM_MODE != native ] || exit 5', '(5), and says nothing;'),
        ):
            for warm_up in (0, 1):
                result = self.bench('--warmup', warm_up, '--repeat', 3, '--csv', 'out.csv',
                                    self.script(mark + text))
                self.assertEqual((result.returncode, result.stdout), (1, ''))
                self.assertIn('fails without emulation ' + said, result.stderr)
                self.assertFalse((self.folder / 'out.csv').exists())
                self.assertEqual((self.folder / 'runs').read_text(), '\n')
                (self.folder / 'runs').unlink()

    def test_a_later_run_that_fails(self):
        program = self.script(
            f'echo >>{self.folder}/$TANDEM_MODE\n'
            '[ $TANDEM_MODE = native ] && exit\n'
            f'[ "$(wc -l <{self.folder}/$TANDEM_MODE)" != 2 ] || exit 4')
        result = self.bench('--modes', 'df', '--repeat', 3, program)
        self.assertEqual(result.returncode, 1)
        self.assertEqual((self.rows(result)['df']['exit'], self.rows(result)['df']['runs']),
                         ('4', '3'))
        self.assertNotEqual(self.rows(result)['df']['wall s'], '-')
        self.assertIn('df: 1 of 3 runs failed (4)', result.stdout)


class FullFolders(BenchCase):
    """What a run printed or counted may be lost where the folder has no room left."""

    def bench_in(self, kibibytes, *arguments, **variables):
        """With folder `small` that has so much room."""
        (self.folder / 'small').mkdir(exist_ok=True)
        mount = f'mount -t tmpfs -o size={kibibytes}k tmpfs small || exit 77; exec "$@"'
        environment = {
            **self.environment, 'LD_LIBRARY_PATH': ':'.join(self.library_path), **variables
        }
        command = [
            'unshare', '--map-root-user', '--mount', 'sh', '-c', mount, 'sh', self.launcher,
            'bench', '--hostgpu', '--modes', 'df,ts', *arguments
        ]
        if not shutil.which('unshare'):
            self.skipTest('no unshare')
        result = subprocess.run(command, env=environment, cwd=self.folder, text=True,
                                capture_output=True)
        if result.returncode == 77 or result.stderr.startswith('unshare: '):
            self.skipTest(result.stderr)
        return result

    def test_no_room_before_the_first_run(self):
        program = self.script(f'touch {self.folder}/mark')
        self.assert_refused(self.bench_in(64, program, TMPDIR=f'{self.folder}/small'), 2,
                            'cannot keep what runs leave', 'No space left')
        self.assert_refused(self.bench_in(64, '--keep', 'small', program), 2,
                            'cannot keep what runs leave', 'No space left')
        self.assertFalse((self.folder / 'mark').exists())

    def test_no_room_left_by_a_run(self):
        """What was done before stands; of the run itself nothing is believed."""
        program = self.script('[ $TANDEM_MODE = native ] || head -c 3000000 /dev/zero; echo 1.5')
        result = self.bench_in(3072, program, TMPDIR=f'{self.folder}/small')
        self.assertEqual(result.returncode, 1)
        self.assertIn('df, run 1 of 1: cannot be started, or its files not be kept', result.stderr)
        self.assertIn('No space left', result.stderr)
        rows = self.rows(result)
        self.assertEqual([(row['runs'], row['difference']) for row in rows.values()],
                         [('1', '-'), ('0', '-'), ('0', '-')])
        self.assertIn('interrupted: not all runs were made\n', result.stdout)

    def test_a_folder_that_a_run_removes(self):
        program = self.script(
            f'[ $TANDEM_MODE = native ] || rm -rf {self.folder}/tmp/tandem-bench-*; echo 1.5')
        (self.folder / 'tmp').mkdir()
        result = self.bench('--modes', 'df', program, TMPDIR=f'{self.folder}/tmp')
        self.assertEqual(result.returncode, 1)
        self.assertIn('(No such file or directory)', result.stderr)

    def test_outputs_that_are_gone(self):
        program = self.script(
            f'[ $TANDEM_MODE = native ] || rm -f {self.folder}/kept/native*; echo 1.5')
        result = self.bench('--modes', 'df', '--keep', 'kept', program)
        self.assertEqual(result.returncode, 1)
        self.assertIn('outputs of some runs could not be read, and are not compared\n',
                      result.stdout)
        self.assertEqual(self.rows(result)['df']['difference'], '-')


def heed_signals():
    """Under nohup and the like the tests themselves may be started with some ignored."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


class Interrupted(BenchCase):
    def start(self, program):
        self.mark = self.folder / 'mark'
        process = subprocess.Popen(
            [self.launcher, 'bench', '--hostgpu', '--modes', 'df,ts', '--warmup', '0', '--csv',
             'out.csv', program],
            cwd=self.folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**self.environment, 'LD_LIBRARY_PATH': ':'.join(self.library_path)},
            preexec_fn=heed_signals)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        while not self.mark.exists():
            self.assertIsNone(process.poll())
            time.sleep(0.01)
        return process

    def assert_kept(self, process):
        out, err = process.communicate()
        self.assertEqual(process.returncode, 1)
        self.assertIn('df, run 1 of 1: interrupted\n', err)
        self.assertNotIn('ts, run', err)
        self.assertIn('interrupted: not all runs were made\n', out)
        self.assertRegex(out, r'(?m)^native +1 +\d')
        self.assertRegex(out, r'(?m)^df +0 +- ')
        with open(self.folder / 'out.csv', newline='') as file:
            self.assertEqual([row['runs'] for row in csv.DictReader(file)], ['1', '0', '0'])

    def test_signals(self):
        """What is done is kept, and the program ends with all that it has started."""
        program = self.script(
            '[ $TANDEM_MODE = native ] || { '
            'sleep 1000 & echo $! >mark.new; mv mark.new mark; wait; }; echo 1.5')
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            process = self.start(program)
            sleeper = int(self.mark.read_text())
            self.mark.unlink()
            process.send_signal(number)
            self.assert_kept(process)
            # A background process of a shell without job control ignores SIGINT.
            if number == signal.SIGINT:
                os.kill(sleeper, signal.SIGKILL)
            else:
                self.assert_ends(sleeper)

    def assert_ends(self, pid):
        """It may still be a zombie that nobody waits for."""
        while os.path.exists(f'/proc/{pid}/stat'):
            with open(f'/proc/{pid}/stat') as file:
                if file.read().rsplit(')', 1)[1].split()[0] == 'Z':
                    return
            time.sleep(0.01)

    def test_a_program_that_ignores_it(self):
        process = self.start(
            self.script("[ $TANDEM_MODE = native ] || { trap '' INT; : >mark; sleep 1000; }"))
        process.send_signal(signal.SIGINT)
        time.sleep(0.2)
        self.assertIsNone(process.poll())
        while process.poll() is None:  # two that come at once are one
            process.send_signal(signal.SIGINT)
            time.sleep(0.05)
        self.assert_kept(process)


class Output(BenchCase):
    def test_same(self):
        text = 'x = 1.5 and 2e-3\n'
        self.assertEqual(self.compared(text, text), '0')
        self.assertEqual(self.compared('done 1', 'done 1'), '0')

    def test_nothing_to_compare(self):
        for text in ('', 'done\n'):
            self.assertEqual(self.compared(text, text), '-')
            result = self.bench('--csv', 'out.csv', self.script(f'printf "{text}"'))
            self.assertIn('the output has no numbers that can be compared\n', result.stdout)
            with open(self.folder / 'out.csv', newline='') as file:
                self.assertEqual(list(csv.DictReader(file))[1]['output'], 'no numbers')

    def test_natives_of_different_lengths(self):
        """What follows an additional word would be passed over, as if it varied."""
        program = self.script(
            f'echo >>{self.folder}/count; [ "$(wc -l <{self.folder}/count)" != 3 ] || echo once\n'
            '[ $TANDEM_MODE = native ] && echo 1.5 || echo 1.2')
        result = self.bench('--modes', 'df', '--warmup', 0, '--repeat', 2, '--csv', 'out.csv',
                            program)
        (self.folder / 'count').unlink()
        self.assertIn("native's own runs print different numbers of words", result.stdout)
        self.assertEqual(self.rows(self.bench('--modes', 'df', '--repeat', 2, '--warmup', 0,
                                              program))['df']['difference'], '-')

    def test_a_warm_up_that_prints_more_is_passed_over(self):
        program = self.script(
            f'[ -e {self.folder}/made ] || echo made >{self.folder}/made; '
            f'[ "$(cat {self.folder}/made)" != made ] || echo built\n: >{self.folder}/made\n'
            '[ $TANDEM_MODE = native ] && echo 1.5 || echo 1.2')
        self.assertEqual(
            self.rows(self.bench('--modes', 'df', program))['df']['difference'], '2.0e-01')

    def test_numbers(self):
        for native, other, wanted in [
                ('x=1.000 y=2.0', 'x=1.000 y=2.002', '1.0e-03'),
                ('-1.0', '1.0', '2.0e+00'),
                ('a: 1.0e-10,', 'a: 1.1e-10,', '9.1e-02'),
                ('1.0D+00', '1.5D+00', '3.3e-01'),
                ('0.50', '.5', '0'),
                ('1', '0.99', '1.0e-02'),
                ('0.0', '-0.0', '0'),
                ('[1.5,2.5]', '[1.5,5.0]', '5.0e-01'),
                ('1.5s', '3.0s', '5.0e-01'),
                ('1.' + 80 * '5' + 'e-10', '1.' + 80 * '5' + 'e-9', '9.0e-01'),
                ('a\0b 1.5', 'a\0b 3.0', '5.0e-01'),
                ('1.7e308', '-1.7e308', '2.0e+00')]:
            self.assertEqual(self.compared(native, other), wanted, (native, other))

    def test_other_outputs(self):
        for native, other in [('1.5 2.5', '1.5'), ('1.5', '1.5 2.5'), ('n = 5', 'n = 6'),
                              ('ok 1.5', 'bad 1.5'), ('1.5', 'nan'), ('1.5', 'inf'),
                              ('version 1.2.3', 'version 1.2.4'), ('', '1.5'), ('1.5', ''),
                              ('1e999', '2e999e'), ('a1.5', 'a1.6'), ('0x1.8p3', '0x1.9p3')]:
            self.assertEqual(self.compared(native, other), 'output differs', (native, other))

    def test_where(self):
        (self.folder / 'native').write_text('1.5\n2.5 3.5\n4.5\n')
        (self.folder / 'df').write_text('1.5\n2.6 3.5\n4.6\n')
        (self.folder / 'ts').write_text('1.5\n2.5 oops\n')
        result = self.bench('--modes', 'df,ts', '--warmup', 0, self.script('cat $TANDEM_MODE'))
        self.assertIn(
            "df: the largest difference is on line 2 of the output: '2.6' for native's '2.5'\n",
            result.stdout)
        self.assertIn(
            "ts: the first difference is on line 2 of the output: 'oops' for native's '3.5'\n",
            result.stdout)
        self.assertIn('--repeat 2', result.stdout)

    def test_a_sign_is_part_of_a_word(self):
        result = self.bench('--modes', 'df',
                            self.script('[ $TANDEM_MODE = df ] && echo x -inf || echo x 1.5'))
        self.assertIn("df: the first difference is on line 1 of the output: '-inf' for native's "
                      "'1.5'\n", result.stdout)

    def test_what_varies_natively_is_passed_over(self):
        program = self.script(
            f'echo >>{self.folder}/count; echo "took $(wc -l <{self.folder}/count).25 s"\n'
            '[ $TANDEM_MODE = native ] && echo 1.5 || echo 1.2')
        result = self.bench('--modes', 'df', '--repeat', 2, program)
        self.assertEqual(self.rows(result)['df']['difference'], '2.0e-01')
        self.assertIn('1 of 4 words and numbers of the output, such as times, differs between '
                      "native's own runs, and is not compared\n", result.stdout)
        (self.folder / 'count').unlink()
        self.assertNotEqual(
            self.rows(self.bench('--modes', 'df', '--warmup', 0, program))['df']['difference'],
            '2.0e-01')


class Page(html.parser.HTMLParser):
    """Checks that tags nest, and keeps the texts of the table's cells and what leads elsewhere."""

    def __init__(self):
        super().__init__()
        self.open, self.cells, self.links, self.bars, self.faults = [], [], [], 0, []

    def handle_starttag(self, tag, attrs):
        if tag not in ('meta', 'br'):
            self.open.append(tag)
        self.links += [value for name, value in attrs if name in ('src', 'href')]
        self.bars += ('class', 'bar') in attrs

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(tag)

    def handle_data(self, data):
        if self.open and self.open[-1] == 'td':
            self.cells.append(data)


class Files(BenchCase):
    def setUp(self):
        super().setUp()
        self.word = '<a href="x">&amp;"\',\n</p>'
        self.result = self.bench('--modes', 'df,ts', '--csv', 'out.csv', '--json', 'out.json',
                                 '--html', 'out.html',
                                 self.script('[ $TANDEM_MODE != ts ] || exit 2; echo 1.5'),
                                 self.word)
        self.table = self.rows(self.result)

    def test_csv(self):
        with open(self.folder / 'out.csv', newline='') as file:
            rows = list(csv.DictReader(file, strict=True))
        self.assertEqual([row['mode'] for row in rows], ['native', 'df', 'ts'])
        for row in rows:
            self.assertNotIn(None, row)
            self.assertNotIn(None, row.values())
        self.assertAlmostEqual(float(rows[1]['wall_seconds']), float(self.table['df']['wall s']),
                               delta=0.0006)
        self.assertEqual((rows[1]['difference'], rows[1]['output'], rows[2]['exit']),
                         ('0', 'compared', '2'))

    def test_csv_on_stdout(self):
        result = self.bench('--modes', 'df', '--csv', '-', self.script('echo 1.5'))
        native, df = csv.DictReader(result.stdout.splitlines(), strict=True)
        self.assertEqual((native['mode'], df['mode']), ('native', 'df'))

    def test_json(self):
        result = json.loads((self.folder / 'out.json').read_text())
        self.assertEqual(result['tandem'], VERSION)
        self.assertEqual(result['command'], [str(self.folder / 'program'), self.word])
        self.assertEqual((result['host_device'], result['interrupted'], result['repeat']),
                         (True, False, 1))
        self.assertEqual([mode['exit'] for mode in result['modes']], ['0', '0', '2'])
        self.assertIsNone(result['modes'][2]['wall_seconds'])
        self.assertEqual(len(result['modes'][2]['each_run']), 1)
        self.assertTrue(any('host device' in note for note in result['notes']))

    def test_html(self):
        text = (self.folder / 'out.html').read_text()
        page = Page()
        page.feed(text)
        page.close()
        self.assertEqual((page.open, page.faults, page.links), ([], [], []))
        self.assertEqual(page.cells[:2], ['native', '1'])
        self.assertEqual(page.cells[len(self.table['df']):][:2], ['df', '1'])
        self.assertEqual(page.bars, 2)
        self.assertNotRegex(text.replace('http://www.w3.org/2000/svg', ''),
                            'https?:|url\\(|<script')
        self.assertIn('&lt;a href', text)

    def test_other_files_are_replaced_at_the_end(self):
        (self.folder / 'old.csv').write_text('old')
        self.bench('--csv', 'old.csv',
                   self.script(f'cp {self.folder}/old.csv {self.folder}/seen; echo 1'))
        self.assertEqual((self.folder / 'seen').read_text(), 'old')
        self.assertIn('faithful', (self.folder / 'old.csv').read_text())


# Makes a product of two numbers, then becomes the program that its arguments name.
BECOMES = r'''
import ctypes, os, sys
runtime, cublas = ctypes.CDLL('libcudart.so.13'), ctypes.CDLL('libcublas.so.13')
everything = ctypes.CDLL(None)
handle, memory = ctypes.c_void_p(), ctypes.c_void_p()
one, zero = ctypes.c_double(1), ctypes.c_double(0)
assert cublas.cublasCreate_v2(ctypes.byref(handle)) == 0
assert runtime.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(24)) == 0
a, b, c = (ctypes.c_void_p(memory.value + 8 * i) for i in range(3))
assert everything.cublasDgemm_v2(handle, 0, 0, 1, 1, 1, ctypes.byref(one), a, 1, b, 1,
                                 ctypes.byref(zero), c, 1) == 0
assert runtime.cudaDeviceSynchronize() == 0
os.execv(sys.argv[1], sys.argv[1:])
'''


@unittest.skipUnless(GEMM_TIME, 'programs cannot be preloaded in this build')
class Products(BenchCase):
    def setUp(self):
        super().setUp()
        self.launcher, self.library_path = LAUNCHER, []

    def test_one_process(self):
        result = self.bench('--modes', 'df,ozaki2:14', '--keep', 'kept', '--csv', 'out.csv',
                            GEMM_TIME, '--reps', 19, 32)
        self.assertEqual(result.returncode, 0, result)
        rows = self.rows(result)
        self.assertEqual([rows[mode]['calls'] for mode in rows], ['20'] * 3)
        self.assertEqual([rows[mode]['emulated'] for mode in rows], ['0', '20', '20'])
        self.assertEqual([rows[mode]['repaired'] for mode in rows], ['-', '0', '0'])
        self.assertTrue(result.stdout.startswith('device: Tandem host device (no GPU)\n'))
        for mode in rows:
            with open(self.folder / f'kept/{mode}-1.json') as file:
                call, = json.load(file)['calls']
            self.assertEqual(call['timed'], 17)
            self.assertAlmostEqual(float(rows[mode]['products s']), call['seconds'] / 17 * 20,
                                   delta=0.00006)
        with open(self.folder / 'out.csv', newline='') as file:
            seconds, speed_ups = zip(*((float(row['products_seconds']),
                                        float(row['products_speed_up']))
                                       for row in csv.DictReader(file)))
        for of, speed_up in zip(seconds, speed_ups):
            self.assertAlmostEqual(speed_up, seconds[0] / of, delta=1e-6 * speed_up)
        self.assertNotIn('df: 0 of', result.stdout)
        self.assertNotIn('cut short', result.stdout)

    def test_several_processes(self):
        """Their reports count together, and each is kept."""
        result = self.bench('--modes', 'df', '--keep', 'kept', 'sh', '-c',
                            f'{GEMM_TIME} 16; {GEMM_TIME} 24; uname')
        row = self.rows(result)['df']
        self.assertEqual((row['calls'], row['emulated']), ('20', '20'))
        names = [f.name for f in (self.folder / 'kept').iterdir() if f.name.startswith('df-1.')]
        self.assertEqual(sum(bool(re.fullmatch(r'df-1\.\d+\.json', name)) for name in names), 2)

    def test_a_report_that_is_none(self):
        """A count of zero would look like a program that makes no products."""
        report = self.folder / 'kept/df-1.5.json'
        program = self.script(f'[ $TANDEM_MODE != df ] || echo "{{" >{report}')
        result = self.bench('--modes', 'df', '--keep', 'kept', program)
        self.assertEqual(result.returncode, 1)
        self.assertIn('df, run 1 of 1: cannot be started, or its files not be kept', result.stderr)

    @STARTS_SYSTEM_PROGRAMS
    def test_a_process_that_becomes_another(self):
        """Both of its reports count (docs/report.md, One file, several processes)."""
        program = self.folder / 'becomes.py'
        program.write_text(BECOMES)
        result = self.bench('--modes', 'df', '--keep', 'kept', 'python3', program, GEMM_TIME, 16)
        row = self.rows(result)['df']
        self.assertEqual((row['calls'], row['emulated']), ('11', '11'), result)
        self.assertIn('df: reports that were cut short, as processes ended by _exit, exec or a '
                      'signal: 1; their last calls are not counted\n', result.stdout)

    def test_rules_leave_native_alone(self):
        (self.folder / 'rules').write_text('m=32 -> ts\n')
        result = self.bench('--modes', 'df', GEMM_TIME, 32, TANDEM_RULES='rules')
        rows = self.rows(result)
        self.assertEqual([rows[mode]['emulated'] for mode in rows], ['0', '10'])
        with open(self.folder / 'rules', 'w') as file:
            file.write('m=32 -> native\n')
        rows = self.rows(self.bench('--modes', 'df', GEMM_TIME, 32, TANDEM_RULES='rules'))
        self.assertEqual(rows['df']['emulated'], '0')

    def test_calls_that_stay_native(self):
        result = self.bench('--modes', 'auto', GEMM_TIME, '--alpha', 0, 16)
        self.assertRegex(result.stdout,
                         r'(?m)^auto: 10 of 10 calls native, most because: nothing to multiply$')


if __name__ == '__main__':
    unittest.main(argv=['bench_test.py'])
