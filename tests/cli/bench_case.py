"""Shell scripts as programs of `tandem bench`, and its table read back."""
import re

from launcher_case import Case


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
