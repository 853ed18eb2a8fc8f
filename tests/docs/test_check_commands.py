"""That check_commands.py, check_lines.py and check_notebooks.py notice what is wrong: PROGRAM."""
import pathlib
import subprocess
import sys
import tempfile
import types

from check_lines import Program, complaint, is_whole, lines, python_complaint, refused
from check_notebooks import differences
from input import make_input

CHECK = pathlib.Path(__file__).resolve().parent / "check_commands.py"
WRONG = {
    "a command that fails": "```sh\nstair threshold sqare\n```\n",
    "a command that fails before another": "```sh\nfalse\ntrue\n```\n",
    "a line that is not printed": "```sh\nstair models square\n```\n\n```text\nno such line\n```\n",
    "another number": "```sh\necho alpha 0.5\n```\n\n```text\nalpha 0.6\n```\n",
    "an exception": "```python\n1 / 0\n```\n",
    "a name that no block made": "```python\na = 1\n```\n\n```python\nb\n```\n",
    "a wrong keyword": "```python\nimport stair\nstair.models(3)\n```\n",
}
RIGHT = ("```sh\nstair models > list\n```\n\n```sh\nwc -l < list\necho alpha 0.500001\n```\n\n```text\nalpha 0.5\n```\n\n"
         "<!-- not run: it fails -->\n```sh\nfalse\n```\n\n```python\na = 1\n```\n\n```python\nprint(a)\n```\n\n"
         "```text\n1\n```\n")


def passes(text, program):
    with tempfile.NamedTemporaryFile("w", suffix=".md") as page:
        page.write(text)
        page.flush()
        return subprocess.run([sys.executable, CHECK, program, page.name], capture_output=True).returncode == 0


def notebook(*texts):
    cells = [{"outputs": [{"output_type": "stream", "name": "stdout", "text": text}]} for text in texts]
    return types.SimpleNamespace(cells=cells)


def notebooks():
    """What check_notebooks.py does not notice, of what it should."""
    kept = notebook("alpha = 0.5", "learned: True")
    picture = types.SimpleNamespace(cells=[{"outputs": [{"data": {"image/png": "x", "text/plain": "Figure"}}]}])
    wrong = {"another number in a notebook": notebook("alpha = 0.6", "learned: True"),
             "another word in a notebook": notebook("alpha = 0.5", "learned: False"),
             "a line more in a notebook": notebook("alpha = 0.5\nand more", "learned: True")}
    bad = [name for name, fresh in wrong.items() if not list(differences(kept, fresh))]
    if not list(differences(picture, notebook("Figure"))):
        bad.append("a picture that is missing")
    if list(differences(kept, notebook("alpha = 0.50001", "learned: True"))):
        bad.append("a notebook that is right")
    return bad


# Pages that show a line which the program does not understand, and one that it does.
WRONG_LINES = ["`stair treshold square`", "    stair threshold square --stepps 2", "`stair sgd attention:layer=2`",
               "```sh\nstair evolve square --alfa 0.3\n```", "    $ stair threshold sqare"]
RIGHT_LINE = "`stair amp attention:layers=2 --no-adaptive`, `stair threshold MODEL --steps K`\n\n    stair models  list\n"


def not_noticed(program):
    program = Program(program)

    def wrong(text):
        found = [complaint(program, line) for _, line in lines(text)]
        return not found or any(found)

    return [text for text in WRONG_LINES if not wrong(text)] + ([RIGHT_LINE] if wrong(RIGHT_LINE) else [])


# Lines that the program understands and refuses when they are started, and one that it does not; and Python.
REFUSED = ["stair report threshold.json", "stair amp attention:layers=2 --data X.npy nowhere.npy",
           "stair evolve square --alpha 0.5 --from cold"]
STARTED = "stair threshold attention:layers=2 --precision 1e-4"
WRONG_PYTHON = ["stair.nothing(1)", 'stair.threshold("square", precison=1)', "stair.models(3)", "stair.Model(1, 2)"]
RIGHT_PYTHON = ['stair.threshold("square", steps=1)[0].alpha', "stair.Model(lambda z: z, noise=0.1)", "stair.GAMP(model)"]


def started(program):
    """What starting lines, or looking up Python, does not notice."""
    with tempfile.TemporaryDirectory() as folder:
        make_input(program, folder)
        bad = [line for line in REFUSED if not is_whole(line) or not refused(program, line, folder)]
        bad += [line for line in [STARTED] if not is_whole(line) or refused(program, line, folder)]
    bad += [line for line in ("stair amp MODEL", "stair models, bench", "stair evolve --alpha 1") if is_whole(line)]
    bad += [line for line in WRONG_PYTHON if not python_complaint(line)]
    return bad + [line for line in RIGHT_PYTHON if python_complaint(line)]


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    bad = [name for name, text in WRONG.items() if passes(text, program)]
    bad += notebooks()
    bad += not_noticed(program)
    bad += started(program)
    if not passes(RIGHT, program):
        bad.append("a page that is right")
    for name in bad:
        print(f"FAILED: {name}")
    print(f"{len(WRONG) + len(WRONG_LINES) + 18 - len(bad)} passed, {len(bad)} failed")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
