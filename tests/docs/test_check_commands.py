"""That check_commands.py notices pages that are wrong: PROGRAM."""
import pathlib
import subprocess
import sys
import tempfile

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


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    bad = [name for name, text in WRONG.items() if passes(text, program)]
    if not passes(RIGHT, program):
        bad.append("a page that is right")
    for name in bad:
        print(f"FAILED: {name}")
    print(f"{len(WRONG) + 1 - len(bad)} passed, {len(bad)} failed")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
