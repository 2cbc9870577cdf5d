"""`tandem bench`: how it compares what programs print, that its files are what they claim to be,
and a program that makes real products.

usage: bench_output_test.py LAUNCHER VERSION COMPILER...
"""
import csv
import html.parser
import json
import os
import re
import unittest

from bench_case import BenchCase
from launcher_case import LAUNCHER, STARTS_SYSTEM_PROGRAMS, VERSION

GEMM_TIME = os.environ['TANDEM_GEMM_TIME']


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
                ('1.7e308', '-1.7e308', '2.0e+00'),
                ('4.9e-324', '0.0', '1.0e+00'),
                ('4.9e-324', '9.9e-324', '5.0e-01')]:
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
