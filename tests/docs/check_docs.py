"""What the documents say of themselves and of the tree.

usage: check_docs.py SOURCE_ROOT

- Every path in README.md, CONTRIBUTING.md, docs/*.md and findings/README.md exists: what stands
  below a folder of the tree, and the target of every link. So does every file that is named as
  one of a folder of docs/results: "`FILE` in docs/results/FOLDER".
- docs/index.md names every page of docs in one line, findings/README.md every finding.
- Every stage of kernels/ has its page, of at most 300 words besides diagrams and tables.
- README.md has at most 180 lines, CONTRIBUTING.md 80. A sentence of theirs has at most 25 words.
- README.md's table of speed is what scripts/lib/speed_table.py prints, from the folder that it
  names.
- docs/report.md explains every reason and every choice that a report can have.
- Every word that a file name of kernels/ and lib/ uses is in docs/glossary.md.
"""

import os
import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(sys.argv[1])
# A path begins with one of these folders. A program is named as the build names it, without its
# source's suffix.
FOLDERS = "bench|docs|examples|findings|hostgpu|include|interpose|kernels|lib|scripts|tests|tools"
PATH = re.compile(rf"(?<![\w/.{{}}-])((?:{FOLDERS})/[\w.+/-]*\w)(\.?\{{[\w,]+\}})?(?![\w*/])")
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
# Of files in one folder: "`a.csv` and `b.txt` in docs/results/FOLDER", or without "docs/results/".
RESULT = re.compile(r"((?:`[\w.-]+\.(?:csv|txt)`(?:, | and | to )?)+) (?:in|of) "
                    r"(?:docs/results/)?(\w+-\d{4}-\d\d-\d\d[\w-]*)")
# Names that only look like paths: options of installations, examples of new files.
NOT_IN_THE_TREE = re.compile(r"^lib/(?:tandem|x86_64-linux-gnu)\b|example\b")

STAGES_ELSEWHERE = {"batched_lu": "docs/batched_lu.md", "verify": "docs/verify.md"}
SHARED = {"device", "view", "arithmetic"}
WORDS_OF_A_PAGE, WORDS_OF_A_SENTENCE = 300, 25
LINES = {"README.md": 180, "CONTRIBUTING.md": 80}
SPEED = re.compile(r"^`python3 (scripts/lib/speed_table\.py) (docs/results/\S+)` prints this table"
                   r"[^\n]*\n\n((?:\|[^\n]*\n)+)", re.MULTILINE)


def documents():
    return [
        *(ROOT / name for name in LINES), *sorted((ROOT / "docs").glob("*.md")), *sorted(
            (ROOT / "docs" / "kernels").glob("*.md")), ROOT / "findings" / "README.md"
    ]


def read(path):
    return path.read_text(encoding="utf-8")


def prose(text):
    """Without code blocks, tables, drawings and headings."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    lines = (line for line in text.split("\n") if not re.match(r"\||!\[|#|    \S", line))
    return "\n".join(lines)


def sentences(text):
    """Of paragraphs and of items of lists; code in backquotes is one word."""
    text = re.sub(r"`[^`]*`", "code", prose(text))
    for paragraph in re.split(r"\n\s*\n|\n(?=- )", text):
        yield from filter(
            None, re.split(r"(?<=[.!?])\s+(?=\S)", " ".join(paragraph.split()).removeprefix("- ")))


def is_there(path):
    return (ROOT / path).exists() or any((ROOT / path).parent.glob(f"{pathlib.Path(path).name}.*"))


class Docs(unittest.TestCase):
    maxDiff = None

    def test_paths_exist(self):
        wrong, count = [], 0
        for document in documents():
            text = read(document)
            for path, _ in PATH.findall(LINK.sub("", text)):
                count += 1
                if not NOT_IN_THE_TREE.search(path) and not is_there(path):
                    wrong.append(f"{document.relative_to(ROOT)}: {path}")
            for target in LINK.findall(text):
                if not (document.parent / target).exists():
                    wrong.append(f"{document.relative_to(ROOT)}: link to {target}")
        self.assertEqual(wrong, [])
        self.assertGreater(count, 100)

    def test_files_of_results_exist(self):
        wrong, count = [], 0
        for document in documents():
            for names, folder in RESULT.findall(" ".join(read(document).split())):
                for name in re.findall("`([^`]+)`", names):
                    count += 1
                    if not (ROOT / "docs" / "results" / folder / name).exists():
                        wrong.append(f"{document.relative_to(ROOT)}: {name} in {folder}")
        self.assertEqual(wrong, [])
        self.assertGreater(count, 50)

    def test_every_stage_has_a_page(self):
        for folder in sorted(path.name for path in (ROOT / "kernels").iterdir() if path.is_dir()):
            if folder in SHARED:
                continue
            page = ROOT / STAGES_ELSEWHERE.get(folder, f"docs/kernels/{folder}.md")
            self.assertTrue(page.exists(), f"kernels/{folder} has no page {page.relative_to(ROOT)}")
            self.assertIn(f"kernels/{folder}", read(ROOT / "docs" / "kernels.md"))

    def test_pages_of_stages_are_short(self):
        for page in sorted((ROOT / "docs" / "kernels").glob("*.md")):
            self.assertLessEqual(len(prose(read(page)).split()), WORDS_OF_A_PAGE, page.name)
            self.assertIn("```", read(page), f"{page.name} has no diagram")

    def test_first_pages_are_short(self):
        for name, most in LINES.items():
            text = read(ROOT / name)
            self.assertLessEqual(text.count("\n"), most, name)
            long = [s for s in sentences(text) if len(s.split()) > WORDS_OF_A_SENTENCE]
            self.assertEqual(long, [], name)

    def test_index_has_every_page(self):
        index, pages = read(ROOT / "docs" / "index.md"), ROOT / "docs"
        lines = re.findall(r"^- \[([^]]+)\]\(([^)]+)\): \S", index, re.MULTILINE)
        self.assertEqual([name for name, target in lines if name != target], [])
        want = [p.name for p in pages.glob("*.md") if p.name != "index.md"] + ["results/README.md"]
        self.assertEqual(sorted(target for _, target in lines), sorted(want))

    def test_every_finding_is_a_program_in_the_table(self):
        folder = ROOT / "findings"
        rows = re.findall(r"^\| \[([^]]+)\]\(([^)]+)\) \| \S", read(folder / "README.md"),
                          re.MULTILINE)
        self.assertEqual([name for name, target in rows if name != target], [])
        programs = sorted(path.name for path in folder.glob("*.sh") if os.access(path, os.X_OK))
        self.assertEqual([name for name, _ in rows], programs)
        self.assertEqual(programs, sorted(path.name for path in folder.glob("*.sh")))

    def test_table_of_speed_is_of_results(self):
        (found,) = SPEED.findall(read(ROOT / "README.md"))
        script, folder, table = found
        printed = subprocess.run([sys.executable, ROOT / script, ROOT / folder], check=True,
                                 capture_output=True, text=True).stdout
        self.assertEqual(table, printed)
        self.assertGreater(len(table.splitlines()), 10)

    def test_reasons_of_reports_are_explained(self):
        report = read(ROOT / "docs" / "report.md")
        sources = "\n".join(read(path) for path in (ROOT / "lib").rglob("*.c"))
        for member, title in (("reason", "native_reason"), ("choice", "choice")):
            texts = re.findall(rf'const char td_{member}_\w+\[\]\s*=\s*((?:"[^"]*"\s*)+);',
                               sources)
            made = {"".join(re.findall(r'"([^"]*)"', text)) for text in texts}
            (table,) = re.findall(rf"^\| `{title}` \| meaning \|\n\|---\|---\|\n((?:\|.*\n)+)",
                                  report, re.MULTILINE)
            explained = re.findall(r"^\| `([^`]+)` \|", table, re.MULTILINE)
            self.assertEqual(sorted(explained), sorted(made))
            self.assertGreater(len(made), 4)

    def test_glossary_has_the_words_of_file_names(self):
        marked = re.findall(r"\*\*(.+?)\*\*|\*([^*]+)\*", read(ROOT / "docs" / "glossary.md"))
        terms = set(re.findall(r"[a-z0-9]+", " ".join(map(" ".join, marked)).lower()))
        terms |= {f"{term}s" for term in terms}
        missing = set()
        for folder in ("kernels", "lib"):
            for path in (ROOT / folder).rglob("*"):
                if path.suffix in (".c", ".h", ".cu", ".def"):
                    missing |= set(path.stem.lower().split("_")) - terms
        self.assertEqual(sorted(missing), [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
