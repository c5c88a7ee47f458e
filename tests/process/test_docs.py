"""What the documents show is what the programs take: every YAML block, every command line and every flag."""

import functools
import pathlib
import re
import shlex

from ravelin import build
from ravelin.case import ProcessTest
from ravelin.daemon import run_to_end

DOCUMENTS = [build.ROOT / "README.md", build.ROOT / "CONTRIBUTING.md", *sorted((build.ROOT / "docs").rglob("*.md"))]
DAEMONS = ("redirector", "gateway")
PROGRAMS = (*DAEMONS, "ppv2")

FENCE = re.compile(r"^ {0,3}```[ ]*(\w*)[^\n]*\n(.*?)^ {0,3}```", re.M | re.S)
INDENTED = re.compile(r"(?:(?<=\n\n)|\A)((?:(?: {4}|\t)[^\n]*\n)+)")
INLINE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
SHELL = {"sh", "bash", "shell", "console", ""}
# A YAML block that is a whole configuration names what its daemon cannot do without; others are parts of one.
WHOLE = {"redirector": r"^pools:", "gateway": r"^inner:"}
FILLING = {
    "redirector": {
        "listeners": 'listeners: [{address: ":0"}]',
        "pools": 'pools: [{origins: [{address: "127.0.0.1:9"}]}]',
    },
    "gateway": {"listeners": 'listeners: [{address: ":0"}]', "inner": 'inner: "127.0.0.1:9"'},
}


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def commands_in(text):
    """(line, command line) for each line of a shell block, an indented block or an inline `program ...`."""
    found = []

    def add(first, block):
        joined = re.sub(r"\\\n\s*", lambda cut: " " + "\0" * cut.group().count("\n"), block)
        line = first
        for each in joined.split("\n"):
            found.append((line, each.strip().removeprefix("$ ").replace("\0", "")))
            line += 1 + each.count("\0")

    outside = FENCE.sub(lambda fence: "\n" * fence.group().count("\n"), text)
    for fence in FENCE.finditer(text):
        if fence.group(1) in SHELL:
            add(line_of(text, fence.start()) + 1, fence.group(2))
    for block in INDENTED.finditer(outside):
        add(line_of(outside, block.start()), block.group(1))
    for code in INLINE.finditer(outside):
        found.append((line_of(outside, code.start()), code.group(1)))
    return found


def words_of(command):
    """The program's command lines in a shell line, each as its words: pipes, subshells and comments taken apart."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars="();<>|&")
    lexer.whitespace_split = True
    try:
        words = list(lexer)
    except ValueError:  # prose or a picture, not a shell line
        return
    current = []
    for word in [*words, ";"]:
        if not word.strip("();<>|&"):
            if current:
                yield current
            current = []
        else:
            current.append(word)


@functools.cache
def help_of(program, *subcommand):
    return run_to_end([build.program(program), *subcommand, "--help"]).stdout


def flags_of(program, words):
    subcommand = words[1:2] if program == "ppv2" and words[1:2] and words[1][0].isalpha() else []
    return set(re.findall(r"(?<![\w-])--?[a-z][\w-]*", help_of(program, *subcommand)))


def ours(command):
    """(program, words) for each program of ours that stands first in a command, with sudo or a path or without."""
    for words in words_of(command):
        while words and (words[0] in ("sudo", "exec", "nice", "env") or re.match(r"\w+=", words[0])):
            words = words[1:]
        program = pathlib.Path(words[0]).name if words else ""
        if program in PROGRAMS:
            yield program, words


class Documents(ProcessTest):
    def each(self):
        for path in DOCUMENTS:
            yield path.relative_to(build.ROOT), path.read_text()

    def check(self, program, yaml):
        path = self.write(f"{program}.yaml", yaml)
        return run_to_end([build.program(program), "--config", path, "--check"])

    def test_every_yaml_block_is_a_configuration_that_its_program_accepts(self):
        blocks = 0
        for name, text in self.each():
            for fence in FENCE.finditer(text):
                if fence.group(1) not in ("yaml", "yml"):
                    continue
                blocks += 1
                with self.subTest(document=str(name), line=line_of(text, fence.start())):
                    self.assert_accepted(fence.group(2))
        self.assertGreater(blocks, 1, "the documents have lost their examples, or this test has lost sight of them")

    def assert_accepted(self, yaml):
        whole = [program for program, key in WHOLE.items() if re.search(key, yaml, re.M)]
        if whole:
            done = self.check(whole[0], yaml)
            self.assertEqual((done.code, done.stderr), (0, ""))
            return
        # A part of a file, of either program: what it leaves out is filled in.
        answers = {}
        for program in DAEMONS:
            missing = [value for key, value in FILLING[program].items() if not re.search(f"^{key}:", yaml, re.M)]
            answers[program] = self.check(program, "\n".join([yaml, *missing]) + "\n")
        self.assertIn(0, [done.code for done in answers.values()], {name: done.stderr for name, done in answers.items()})

    def test_every_command_line_uses_flags_that_its_program_knows(self):
        seen = 0
        for name, text in self.each():
            for line, command in commands_in(text):
                for program, words in ours(command):
                    seen += 1
                    with self.subTest(document=str(name), line=line, command=command):
                        given = {word.partition("=")[0] for word in words[1:] if re.match(r"--?[a-z]", word)}
                        self.assertLessEqual(given, flags_of(program, words))
        self.assertGreater(seen, 1, "the documents have lost their commands, or this test has lost sight of them")

    def test_every_daemon_command_line_is_accepted_as_it_stands(self):
        for name, text in self.each():
            for line, command in commands_in(text):
                for program, words in ours(command):
                    if program not in DAEMONS or "--listen" not in words or "--config" in words or "..." in words:
                        continue
                    with self.subTest(document=str(name), line=line, command=command):
                        done = run_to_end([build.program(program), *words[1:], "--check"])
                        self.assertEqual((done.code, done.stderr), (0, ""))

    def test_every_example_in_a_help_text_is_accepted(self):
        for program in DAEMONS:
            example = help_of(program).partition("Example:\n")[2].strip()
            with self.subTest(program, example=example):
                done = run_to_end([build.program(program), *shlex.split(example)[1:], "--check"])
                self.assertEqual((done.code, done.stderr), (0, ""))

    def test_the_reference_pages_are_what_the_programs_say(self):
        for program in DAEMONS:
            with self.subTest(program):
                page = build.ROOT / "docs/reference" / f"{program}.md"
                printed = run_to_end([build.program(program), "--reference", "markdown"]).stdout
                self.assertEqual(page.read_text(), printed, f"write it again: {program} --reference markdown > {page}")

    def test_every_script_that_a_document_runs_is_there(self):
        for name, text in self.each():
            for line, command in commands_in(text):
                for words in words_of(command):
                    if re.fullmatch(r"(tests|deploy)/[\w./-]+", words[0]):
                        with self.subTest(document=str(name), line=line, command=command):
                            self.assertTrue((build.ROOT / words[0]).exists())

    def test_every_link_between_documents_leads_somewhere(self):
        for name, text in self.each():
            for link in re.finditer(r"\]\((?!\w+:|#)([^)#\s]+)", text):
                with self.subTest(document=str(name), line=line_of(text, link.start()), link=link.group(1)):
                    self.assertTrue((build.ROOT / name).parent.joinpath(link.group(1)).exists())
