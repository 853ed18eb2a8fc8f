#!/usr/bin/python3
"""Every function that docs/equations.md names stands in the file it names.

    check_equations.py [ROOT]

A row says `function`, `src/room/file.c`: the function is defined there, or this fails.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2])
WORDS = {"lambda", "variant"}  # options that stand in such rows, too


def defines(path, name):
    text = path.read_text()
    return re.search(rf"^[a-z].*\b{name}\(|STAIR_HOT\({name}\)", text, re.M)


def main():
    checked, wrong = 0, []
    for number, line in enumerate((ROOT / "docs/equations.md").read_text().splitlines(), 1):
        for names, file in re.findall(r"((?:`[a-z_0-9]+`, )+)`((?:src|cli)/[a-z_/]+\.c)`", line):
            path = ROOT / file
            if not path.exists():
                wrong.append(f"line {number}: there is no {file}")
                continue
            for name in set(re.findall(r"`([a-z_0-9]+)`", names)) - WORDS:
                checked += 1
                if not defines(path, name):
                    wrong.append(f"line {number}: {name} is not in {file}")
    for text in wrong:
        print("docs/equations.md,", text)
    if checked < 50:
        wrong.append("few rows")
        print(f"docs/equations.md: only {checked} functions were found in it")
    print(f"{checked - len(wrong)} passed, {len(wrong)} failed")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
