"""Every line `stair COMMAND ...` that a page shows, in text or in a block, is one that the program understands, and
every `stair.NAME(...)` is one of the Python package.

    check_lines.py PROGRAM [PAGE...]

Blocks ```sh and ```python are run by check_commands.py.  Of the others the command, every option and the MODEL string
are looked up; words in capitals stand for something.  What is a whole line is also started, in a folder that has the
files it names (input.py makes them), and stopped after STARTED seconds, as some take hours.  It may not have said
by then that its input is wrong.  STAIR_LONG=1 waits LONG seconds."""
import ast
import inspect
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import time

from input import make_input

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
INLINE = re.compile(r"`(stair [^`\n]+)`")
PYTHON = re.compile(r"`(?:import stair; )?(stair\.(?!h`|pc`)[^`\n]+)`")
FENCE = re.compile(r"^```(?:sh)?\n(.*?)^```$", re.M | re.S)
RUN = re.compile(r"^```sh\n.*?^```$", re.M | re.S)
NEEDS_MODEL = ("threshold", "evolve", "entropy", "channel", "amp", "sgd", "diagnose", "exponents")
STARTED, LONG = 0.1, 60.0  # seconds of the processor
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
    if command in NEEDS_MODEL and len(words) > 1 and not words[1].startswith("--"):
        spec = words[1]
        if spec.startswith("plugin:"):
            return None  # a file of the reader's; tests/cli/test_plugin.sh builds one and runs it
        if not PLACEHOLDER.search(spec) and "..." not in spec and not program.understands(spec):
            return f"no model {spec}"
    return None


def is_whole(line):
    """Whether it can be started as it is: no word stands for something, and what is needed is there."""
    words = line.split()[1:]
    if PLACEHOLDER.search(re.sub(r"\b[XYW]\d?(new)?\.np[yz]", "", line)) or re.search(r"\.\.\.|[][|]|, ", line):
        return False
    if words[0] in NEEDS_MODEL:
        return len(words) > 1 and not words[1].startswith("--") and not words[1].startswith("plugin:")
    return len(words) > 1


def spent(process):
    """Seconds of the processor so far."""
    try:
        fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def refused(program, line, folder):
    """What it says where it finds its input wrong before it is stopped."""
    limit = LONG if os.environ.get("STAIR_LONG") == "1" else STARTED
    with tempfile.TemporaryDirectory() as work, tempfile.TemporaryFile("w+") as said:
        subprocess.run(["cp", "-a", f"{folder}/.", work], check=True)
        os.symlink(os.path.abspath(program), os.path.join(work, "bin", "stair"))
        for name in re.findall(r"--(?:out|save) (\S+)", line):  # input of another line
            pathlib.Path(work, name).unlink(missing_ok=True)
        environment = {**os.environ, "PATH": f"{work}/bin:" + os.environ["PATH"]}
        process = subprocess.Popen(["bash", "-c", f"exec {line}"], cwd=work, env=environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=said)
        begun = time.monotonic()
        while process.poll() is None:
            time.sleep(0.01)
            if spent(process) > limit or time.monotonic() - begun > 100 * limit + 10:
                process.kill()
        said.seek(0)
        return None if process.returncode in (0, 3, -9) else f"exit {process.returncode}: {said.read().strip()[-300:]}"


def python_complaint(text):
    """Of `stair.NAME(...)`: whether there is one, and whether it has these keywords."""
    import stair

    try:
        tree = ast.parse(text, mode="eval").body
    except SyntaxError:
        return None if "..." in text or re.search(r"=[,)]", text) else "is no Python"
    for node in ast.walk(tree):
        names, inner = [], node.func if isinstance(node, ast.Call) else node
        while isinstance(inner, ast.Attribute):
            names.insert(0, inner.attr)
            inner = inner.value
        if not (isinstance(inner, ast.Name) and inner.id == "stair") or not names:
            continue
        item = stair
        for name in names:
            if not hasattr(item, name):
                return f"no {'.'.join(names)}"
            item = getattr(item, name)
        if isinstance(node, ast.Call) and not any(isinstance(a, ast.Starred) for a in node.args):
            try:
                inspect.signature(item).bind_partial(*node.args, **{k.arg: k for k in node.keywords})
            except TypeError as error:
                return str(error)
    return None


def main():
    program = Program(sys.argv[1])
    count = failed = 0
    started = {}
    for page in [pathlib.Path(p) for p in sys.argv[2:]] or pages():
        text = page.read_text(encoding="utf-8")
        own = [(number, line, complaint(program, line)) for number, line in lines(text)]
        own += [(text.count("\n", 0, m.start()) + 1, m.group(1), python_complaint(m.group(1)))
                for m in PYTHON.finditer(text)]
        for number, line, wrong in own:
            count += 1
            if wrong:
                failed += 1
                print(f"FAILED: {page}:{number}: {line}: {wrong}")
        for number, line in lines(RUN.sub("", text)):
            if is_whole(line):
                started.setdefault(line, f"{page}: ")
    with tempfile.TemporaryDirectory() as folder:
        make_input(program.path, folder)
        for line, where in started.items():
            wrong = refused(program.path, line, folder)
            failed += wrong is not None
            if wrong:
                print(f"FAILED: {where}{line}: {wrong}")
    print(f"{count} lines, {len(started)} started, {failed} not understood")
    return failed > 0 or (count == 0 and len(sys.argv) == 2)


if __name__ == "__main__":
    sys.exit(main())
