#!/usr/bin/env python3
"""Every source file that computes or stores something has two mistakes planted in it that tests catch.

    check_plants.py [--list]

Counts tests/plant.sh and tests/mutation/planted.jsonl, and fails where a file of src/, cli/ or figures/ has
fewer than two, or where a line of planted.jsonl has lost its place or its test.  --list names files with none
or one.  For a new file `tests/mutation/mutate.py --only FILE --count 4`, then `--keep`, finds two; those that
are chosen by hand are better.  Whether they are caught is said by `mutate.py --planted`.
"""
import collections
import glob
import json
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Files without a token that could be wrong (tables of names, functions, text), and what only a card runs.
NOTHING = {
    "src/model/registry.c": "a table of models",
    "figures/kinds.c": "a table of figures",
    "cli/cmd_man.c": "calls one function",
    "cli/main.c": "calls one function",
    "src/cuda/backend.c": "runs on a card only: tests/gpu",
    "src/cuda/means_seam.c": "runs on a card only: tests/gpu",
    "src/cuda/one_row_seam.c": "runs on a card only: tests/gpu",
}


def counts():
    found = collections.Counter()
    with open(os.path.join(ROOT, "tests", "plant.sh")) as file:
        text = file.read()
    names = dict(re.findall(r"^(\w+)=(\S+)$", text, re.M))
    for where in re.findall(r"^plant(?:_long)? +'[^']*' +(\S+) ", text, re.M):
        found[names.get(where[1:], where) if where.startswith("$") else where] += 1
    for k in read():
        found[k["file"]] += 1
    return found


def read():
    with open(os.path.join(ROOT, "tests", "mutation", "planted.jsonl")) as file:
        return [json.loads(line) for line in file]


def has_test(name):
    """A case of a unit test, a script, or a command of tests/numbers."""
    if name.startswith("tests/"):
        return os.path.exists(os.path.join(ROOT, name))
    if name.startswith("test_"):
        return os.path.exists(os.path.join(ROOT, "tests", "unit", name.split()[0] + ".c"))
    for kept in "commands.txt", "texts.txt":
        with open(os.path.join(ROOT, "tests", "numbers", kept)) as file:
            if name in (line.strip() for line in file):
                return True
    return False


def lost():
    """What is wrong with single lines of planted.jsonl, and with NOTHING."""
    lines = {}
    for k in read():
        path = os.path.join(ROOT, k["file"])
        if k["file"] not in lines:
            with open(path) if os.path.exists(path) else open(os.devnull) as file:
                lines[k["file"]] = {line.strip() for line in file}
        if k["text"] not in lines[k["file"]] or k["old"] not in k["text"]:
            yield "%s: the line is gone: %s" % (k["file"], k["text"])
        if not has_test(k["test"]):
            yield "%s: there is no test %s" % (k["file"], k["test"])
    for name in NOTHING:
        if not os.path.exists(os.path.join(ROOT, name)):
            yield name + ": is left out, and is not there"


def main():
    found = counts()
    files = []
    for pattern in "src/**/*.c", "cli/*.c", "figures/*.c":
        files += glob.glob(os.path.join(ROOT, pattern), recursive=True)
    files = sorted(os.path.relpath(path, ROOT) for path in files)
    none = [f for f in files if not found[f] and f not in NOTHING]
    one = [f for f in files if found[f] == 1 and f not in NOTHING]
    if "--list" in sys.argv:
        print("none:", " ".join(none))
        print("one:", " ".join(one))
    wrong = [f + ": has fewer than two mistakes planted" for f in none + one] + list(lost())
    for text in wrong:
        print("FAILED: " + text)
    print("%d files, %d planted mistakes, %d files with one, %d with none"
          % (len(files), sum(found.values()), len(one), len(none)))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
