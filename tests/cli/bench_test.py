"""`tandem bench`: what it says of runs that fail, are stopped or cannot be started. Programs are
shell scripts that know their mode from the environment.

usage: bench_test.py LAUNCHER VERSION COMPILER...
"""
import contextlib
import csv
import json
import os
import re
import shutil
import signal
import subprocess
import time
import unittest

from bench_case import BenchCase
from launcher_case import PATIENCE_SECONDS, STARTS_SYSTEM_PROGRAMS, wait_until


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
                                     ('timeout', '0', '1 to 2592000 seconds'),
                                     ('timeout', '1.5', '1 to 2592000 seconds')):
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


LONGEST_SECONDS = 5  # of a run, so that a busy machine ends in time what does not wait


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
        warm_up, native = re.findall(r'(?m)^tandem: bench: native, .* 1 of 1: (\S+) s,',
                                     result.stderr)
        self.assertGreaterEqual(float(warm_up), 1)
        rows = self.rows(result)
        self.assertEqual(rows['native']['wall s'], native)
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
        for mode in rows:
            seconds = sorted(re.findall(rf'(?m)^tandem: bench: {mode}, run . of 2: (\S+) s,',
                                        result.stderr), key=float)
            self.assertEqual([rows[mode]['min'], rows[mode]['max']], seconds)
        self.assertGreaterEqual(float(rows['native']['max']), 1)
        with open(self.folder / 'out.csv', newline='') as file:
            self.assertGreaterEqual(float(next(csv.DictReader(file))['wall_seconds_max']), 1)
        self.assertNotIn('max', self.rows(self.bench(program))['native'])

    @STARTS_SYSTEM_PROGRAMS
    def test_timeout(self):
        """It ends with all that it has started; another run is not in its way."""
        program = self.script('[ $TANDEM_MODE != df ] || { sleep 1000 & sleep 1000; }; echo 1.5')
        result = self.bench('--modes', 'df,ts', '--timeout', LONGEST_SECONDS, program)
        rows = self.rows(result)
        self.assertEqual(result.returncode, 1)
        self.assertEqual([rows[mode]['exit'] for mode in rows], ['0', 'timeout', '0'])
        self.assertEqual(rows['df']['wall s'], '-')
        self.assertIn('df: 1 of 1 runs failed (timeout)\n', result.stdout)
        self.assertNotIn('left processes', result.stdout)

    @STARTS_SYSTEM_PROGRAMS
    def test_a_program_that_ignores_the_end_of_its_time(self):
        program = self.script("trap '' TERM; echo started >&2; while :; do sleep 1; done")
        result = self.bench('--timeout', LONGEST_SECONDS, program)
        self.assertEqual((result.returncode, result.stdout), (1, ''))
        self.assertIn('fails without emulation (timeout), and says: started; only', result.stderr)

    @STARTS_SYSTEM_PROGRAMS
    def test_processes_that_are_left_behind(self):
        """They would be in later runs' way, and what they compute is not counted."""
        program = self.script(
            f'[ $TANDEM_MODE = native ] || {{ sleep 1000 & echo $! >{self.folder}/left; }}\n'
            'echo 1.5')
        result = self.bench('--modes', 'df', program)
        os.kill(int((self.folder / 'left').read_text()), signal.SIGKILL)
        self.assertEqual(result.returncode, 0)
        self.assertIn('df: 1 of 1 runs left processes behind', result.stdout)
        self.assertNotIn('native: 1 of', result.stdout)

    @STARTS_SYSTEM_PROGRAMS
    def test_processes_that_end_after_the_program(self):
        """They have a second; a busy machine may now and then keep one from ending for that
        long."""
        program = self.script('sleep 0.2 & echo 1.5')
        self.assertTrue(any('left processes' not in self.bench('--modes', 'df', program).stdout
                            for _ in range(3)))

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


STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGPIPE)


def heed_signals():
    """Under nohup and the like the tests themselves may be started with some ignored."""
    for number in (*STOPPING, signal.SIGTSTP):
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
        self.addCleanup(self.end, process)
        wait_until(lambda: self.mark.exists() or process.poll() is not None, 'the program in df')
        self.assertIsNone(process.poll())
        return process

    def end(self, process):
        """Of a test that has failed: the program ends at the second signal at the latest."""

        def has_ended():
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.terminate()
            return process.poll() is not None

        wait_until(has_ended, 'the end of tandem bench')

    def end_of(self, process):
        """Its stdout and stderr once it has ended."""
        return process.communicate(timeout=PATIENCE_SECONDS)

    def assert_kept(self, process):
        out, err = self.end_of(process)
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
        for number in STOPPING:
            process = self.start(program)
            sleeper = int(self.mark.read_text())
            self.mark.unlink()
            process.send_signal(number)
            self.assert_kept(process)
            # A background process of a shell without job control ignores these, but for the moment
            # in which it begins.
            if number in (signal.SIGINT, signal.SIGQUIT):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(sleeper, signal.SIGKILL)
            else:
                wait_until(lambda: self.state(sleeper) in 'Z-', "the end of the program's process")

    def test_a_reader_that_is_gone(self):
        """Nothing is left behind, and nothing is started of which nobody would hear."""
        (self.folder / 'kept').mkdir()
        for stream, runs in (('stdout', 'native df ts'), ('stderr', '')):
            read, write = os.pipe()
            os.close(read)
            (self.folder / 'runs').unlink(missing_ok=True)
            done = subprocess.run(
                [self.launcher, 'bench', '--hostgpu', '--modes', 'df,ts', '--warmup', '0',
                 self.script('echo $TANDEM_MODE >>runs')], cwd=self.folder, check=False,
                **{**dict.fromkeys(('stdout', 'stderr'), subprocess.DEVNULL), stream: write},
                env={**self.environment, 'TMPDIR': str(self.folder / 'kept'),
                     'LD_LIBRARY_PATH': ':'.join(self.library_path)}, preexec_fn=heed_signals)
            os.close(write)
            self.assertEqual(done.returncode, 1)
            self.assertEqual(list((self.folder / 'kept').iterdir()), [])
            made = self.folder / 'runs'
            self.assertEqual(made.read_text().split() if made.exists() else [], runs.split())

    def test_a_halt(self):
        """Ctrl-Z halts what runs, too, and its time. The program starts no process while it waits:
        a shell whose child is halted between vfork and exec waits for it, and is not halted
        itself."""
        start = time.monotonic()
        process = self.start(self.script('[ $TANDEM_MODE != df ] || { '
                                         'echo $$ >mark.new; mv mark.new mark; '
                                         'while [ ! -e go ]; do :; done; }'))
        pid = int(self.mark.read_text())
        process.send_signal(signal.SIGTSTP)
        wait_until(lambda: self.state(pid) == self.state(process.pid) == 'T',
                   'state T of tandem bench and its program')
        (self.folder / 'go').touch()
        time.sleep(1.0)
        process.send_signal(signal.SIGCONT)
        self.end_of(process)
        self.assertEqual(process.returncode, 0)
        with open(self.folder / 'out.csv', newline='') as file:
            walls = [float(row['wall_seconds']) for row in csv.DictReader(file)]
        self.assertLess(sum(walls), time.monotonic() - start - 1.0)

    def state(self, pid):
        """The letter of proc(5), Z of one that nobody waits for; - where there is no process."""
        try:
            with open(f'/proc/{pid}/stat') as file:
                return file.read().rsplit(')', 1)[1].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return '-'

    def test_a_program_that_ignores_it(self):
        process = self.start(
            self.script("[ $TANDEM_MODE = native ] || { trap '' INT; : >mark; sleep 1000; }"))
        process.send_signal(signal.SIGINT)
        time.sleep(0.2)
        self.assertIsNone(process.poll())

        def has_ended():
            process.send_signal(signal.SIGINT)  # two that come at once are one
            return process.poll() is not None

        wait_until(has_ended, 'the end of a program that ignores SIGINT')
        self.assert_kept(process)


if __name__ == '__main__':
    unittest.main(argv=['bench_test.py'])
