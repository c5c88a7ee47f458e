"""The pages about libppv2: their examples are whole programs that print what the page says, and the reference is made."""

import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from ravelin.build import ROOT, TREE, only_unsanitized

COMPILERS = {"cpp": ["c++", "-std=c++20", "-xc++"], "c": ["cc", "-std=c11", "-xc"]}
PAGES = "docs/libppv2.md", "docs/libppv2-trust.md"


def run(*command):
    return subprocess.run([str(part) for part in command], stdin=subprocess.DEVNULL, capture_output=True, text=True)


@only_unsanitized
class LibraryDocs(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ravelin-test-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def test_each_example_prints_what_the_page_says(self):
        page = (ROOT / "docs/libppv2.md").read_text()
        examples = re.findall(r"```(cpp|c)\n(.*?)```\n.*?```text\n(.*?)```", page, re.S)
        self.assertEqual(len(examples), 2)
        for language, source, expected in examples:
            with self.subTest(language):
                file, program = self.folder / f"example.{language}", self.folder / f"example_{language}"
                file.write_text(source)
                warnings = ["-Wall", "-Wextra", "-Wconversion", "-Werror", f"-I{ROOT}/ppv2/include"]
                library = ["-xnone", f"-L{TREE}/lib", "-l:libppv2.a"]
                built = run(*COMPILERS[language], *warnings, file, *library, "-o", program)
                self.assertEqual(built.returncode, 0, built.stderr)
                self.assertEqual(run(program).stdout, expected)

    def test_a_whole_server_in_c_is_sixty_lines(self):
        self.assertLessEqual(len((ROOT / "examples/ppv2_origin.c").read_text().splitlines()), 60)

    def test_every_public_symbol_is_described_and_the_reference_is_made_without_a_warning(self):
        made = run(ROOT / "docs/api-reference", self.folder)
        self.assertEqual((made.returncode, made.stderr), (0, ""))
        self.assertTrue((self.folder / "html/index.html").exists())

    def test_the_pages_name_files_that_exist(self):
        for page in PAGES:
            text = (ROOT / page).read_text()
            for path in re.findall(r"`((?:examples|docs|ppv2|tests)/[\w./-]+)", text):
                self.assertTrue((ROOT / path).exists(), f"{page}: {path}")
            for path in re.findall(r"\]\(([\w.-]+)\)", text):
                self.assertTrue((ROOT / "docs" / path).exists(), f"{page}: {path}")
