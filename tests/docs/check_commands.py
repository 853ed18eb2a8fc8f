"""Runs what the pages show: every ```sh and ```python block, in order, in an empty folder for each page.

    check_commands.py PROGRAM [PAGE...]

`stair` is PROGRAM; the folder has the project's data/.  Blocks of Python share their names, as in a notebook.  A block
behind <!-- not run: why --> is left out; one that needs a module that is not installed is skipped, and says so.  What
a ```text block behind a block shows has to be among what that block prints.  Lines that stand in no such block are
those of check_lines.py."""
import contextlib
import io
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import traceback

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGES = [str(p.relative_to(ROOT)) for p in sorted([
    *ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "python" / "README.md", ROOT / "examples" / "README.md"])]
FENCE = re.compile(r"(<!-- not run: [^\n]*-->\n+)?^```(sh|python)\n(.*?)^```$(?:\n+```text\n(.*?)^```$)?", re.M | re.S)


def shell(text, folder, environment):
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", text], cwd=folder, env=environment, capture_output=True,
                          text=True, stdin=subprocess.DEVNULL)
    return done.returncode == 0, done.stdout, done.stderr


def python(text, names):
    """As a cell of a notebook: prints what it prints."""
    out = io.StringIO()
    try:
        with contextlib.redirect_stdout(out):
            exec(compile(text, "block", "exec"), names)
        return True, out.getvalue(), ""
    except ModuleNotFoundError as error:
        return None, out.getvalue(), str(error)
    except Exception:
        return False, out.getvalue(), traceback.format_exc()


def alike(shown, printed):
    """Two lines of words; numbers may differ as they do from one instruction set to another, errors more."""
    a, b = shown.split(), printed.split()
    return len(a) == len(b) and all(x == y or near(x, y) for x, y in zip(a, b))


def near(x, y):
    try:
        x, y = float(x), float(y)
    except ValueError:
        return False
    return abs(x - y) <= 0.02 * abs(x) or max(abs(x), abs(y)) < 2e-3


def check(page, program):
    """How many blocks ran, failed and were skipped."""
    counts = {True: 0, False: 0, None: 0}
    text = (ROOT / page).read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(os.path.join(folder, "bin"))
        os.symlink(program, os.path.join(folder, "bin", "stair"))
        os.symlink(ROOT / "data", os.path.join(folder, "data"))
        os.symlink(ROOT / "examples", os.path.join(folder, "examples"))
        environment = {**os.environ, "PATH": os.path.join(folder, "bin") + ":" + os.environ["PATH"],
                       "MPLBACKEND": "Agg"}
        os.environ["MPLBACKEND"] = "Agg"
        os.chdir(folder)
        names = {"__name__": "__main__"}
        for match in FENCE.finditer(text):
            skip, kind, body, shown = match.groups()
            line = text.count("\n", 0, match.start(2)) + 1
            if skip:
                continue
            good, out, error = shell(body, folder, environment) if kind == "sh" else python(body, names)
            missing = [x for x in (shown or "").splitlines()
                       if x.strip() and not any(alike(x, y) for y in out.splitlines())]
            if good and missing:
                good, error = False, f"shown, but not printed: {missing[0]!r}; printed was\n{out}"
            counts[good] += 1
            if good is not True:
                print(f"{'FAILED' if good is False else 'skipped'}: {page}:{line}: {error.strip()}\n{body.strip()}")
        os.chdir(ROOT)
    return counts


def main():
    program = os.path.abspath(sys.argv[1])
    failed = 0
    for page in sys.argv[2:] or PAGES:
        counts = check(page, program)
        if not any(counts.values()):
            continue
        print(f"{page}: {counts[True]} blocks run, {counts[False]} failed, {counts[None]} skipped")
        failed += counts[False]
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
