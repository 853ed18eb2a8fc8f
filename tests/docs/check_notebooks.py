"""Runs examples/notebooks/*.ipynb and compares what they print with what is kept in them.

    check_notebooks.py PROGRAM            exit code 1 where they differ, 77 where Jupyter's nbclient is not installed
    check_notebooks.py PROGRAM --record   keeps what they print now

Numbers may differ as from one instruction set to another; of pictures only that there is one is compared."""
import os
import pathlib
import re
import sys

from check_commands import alike

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
NOTEBOOKS = ROOT / "examples" / "notebooks"
NUMBER = re.compile(r"(-?\d+\.?\d*(?:e[-+]?\d+)?)")


def printed(cell):
    """Lines, with blanks around numbers so that these are compared as numbers; and how many pictures."""
    lines, pictures = [], 0
    for output in cell.get("outputs", []):
        data = output.get("data", {})
        pictures += "image/png" in data
        text = output.get("text", "") if "image/png" in data or not data else data.get("text/plain", "")
        if output.get("name") == "stderr" or "image/png" in data:
            continue
        lines += [NUMBER.sub(r" \1 ", line) for line in text.splitlines() if line.strip()]
    return lines, pictures


def differences(kept, fresh):
    for number, (old, new) in enumerate(zip(kept.cells, fresh.cells)):
        (a, p), (b, q) = printed(old), printed(new)
        if p != q:
            yield f"cell {number}: {q} pictures, kept are {p}"
        if len(a) != len(b):
            yield f"cell {number}: {len(b)} lines, kept are {len(a)}: {b}"
        for x, y in zip(a, b):
            if not alike(x, y):
                yield f"cell {number}: {y.strip()!r}, kept is {x.strip()!r}"


def main():
    try:
        import nbclient
        import nbformat
        import ipykernel  # noqa: F401
    except ImportError as error:
        print(f"skipped: {error}: apt install python3-nbclient python3-ipykernel")
        return 77
    os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"  # no notes of the debugger
    bad = 0
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        kept, fresh = (nbformat.read(path, 4) for _ in range(2))
        nbclient.NotebookClient(fresh, timeout=300, kernel_name="python3", resources={"metadata": {"path": "/"}}).execute()
        if "--record" in sys.argv:
            for cell in fresh.cells:
                cell.get("metadata", {}).pop("execution", None)
                if "outputs" in cell:  # no progress bars
                    cell["outputs"] = [o for o in cell["outputs"] if o.get("name") != "stderr"]
            nbformat.write(fresh, path)
            continue
        wrong = list(differences(kept, fresh))
        bad += bool(wrong)
        print(f"{path.name}: {'FAILED' if wrong else 'ok'}", *wrong, sep="\n  ")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
