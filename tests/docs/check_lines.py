"""Every line `stair COMMAND ...` that a page shows, in text or in a block, is one that the program understands.

    check_lines.py PROGRAM [PAGE...]

What the pages for newcomers show is run by check_commands.py.  The others show computations of minutes and hours:
of these the command, every option and the MODEL string are looked up.  Words in capitals stand for something."""
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
INLINE = re.compile(r"`(stair [^`\n]+)`")
FENCE = re.compile(r"^```(?:sh)?\n(.*?)^```$", re.M | re.S)
PLACEHOLDER = re.compile(r"\b[A-Z][A-Z_]*\b|\$")


def pages():
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "python" / "README.md",
                   ROOT / "examples" / "README.md"])


def lines(text):
    """(line number, words) of the commands shown."""
    found = []
    for match in INLINE.finditer(text):
        found.append((match.start(), match.group(1)))
    for match in re.finditer(r"^ {4}(?:\$ )?(stair [a-z][^\n]*)$", text, re.M):
        found.append((match.start(), match.group(1)))
    for fence in FENCE.finditer(text):
        for match in re.finditer(r"^(?:[A-Z_]+=\S+ )?(stair [a-z][^\n]*)$", fence.group(1), re.M):
            found.append((fence.start(1) + match.start(), match.group(1)))
    for at, line in sorted(found):
        yield text.count("\n", 0, at) + 1, re.split(r" {2,}| [|>&#]|;", line)[0]


class Program:
    def __init__(self, path):
        self.path, self.known, self.good = path, {}, {}
        part = self.run("--help")[1].split("commands:\n")[1].split("\n\n")[0]
        self.commands = {line.split()[0] for line in part.splitlines()}

    def run(self, *words):
        done = subprocess.run([self.path, *words], capture_output=True, text=True, stdin=subprocess.DEVNULL)
        return done.returncode, done.stdout

    def options(self, command):
        if command not in self.known:
            text = self.run(command, "--help")[1]
            self.known[command] = set(re.findall(r"^  --([a-z-]+)", text, re.M)) | set(
                re.findall(r"--(no-[a-z-]+)", text)) | {"help"}
        return self.known[command]

    def understands(self, spec):
        if spec not in self.good:
            self.good[spec] = self.run("models", spec)[0] == 0
        return self.good[spec]


def complaint(program, line):
    try:
        words = shlex.split(line)[1:]
    except ValueError:
        return "quotes do not match"
    if not words or words[0].startswith("--") or PLACEHOLDER.search(words[0]) or words[0] in ("man",):
        return None
    command = words[0].rstrip(",")
    if command not in program.commands:
        return f"no command {command}"
    for word in words[1:]:
        if word.startswith("--") and len(word) > 2:
            name = word[2:].split("=")[0]
            if name.removeprefix("no-") not in program.options(command) and name not in program.options(command):
                return f"stair {command} has no option --{name}"
    needs_model = command in ("threshold", "evolve", "entropy", "channel", "amp", "sgd", "diagnose", "exponents")
    if needs_model and len(words) > 1 and not words[1].startswith("--"):
        spec = words[1]
        if spec.startswith("plugin:"):
            return None  # a file of the reader's; tests/cli/test_plugin.sh builds one and runs it
        if not PLACEHOLDER.search(spec) and "..." not in spec and not program.understands(spec):
            return f"no model {spec}"
    return None


def main():
    program = Program(sys.argv[1])
    count = failed = 0
    for page in [pathlib.Path(p) for p in sys.argv[2:]] or pages():
        for number, line in lines(page.read_text(encoding="utf-8")):
            count += 1
            wrong = complaint(program, line)
            if wrong:
                failed += 1
                print(f"FAILED: {page}:{number}: {line}: {wrong}")
    print(f"{count} lines, {failed} not understood")
    return failed > 0 or (count == 0 and len(sys.argv) == 2)


if __name__ == "__main__":
    sys.exit(main())
