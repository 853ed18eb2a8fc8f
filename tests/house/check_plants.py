#!/usr/bin/env python3
"""Every source file that computes or stores something has mistakes planted in it that tests are known to catch.

    check_plants.py [--list] [--strict]

Counts tests/plant.sh and tests/mutation/planted.jsonl.  --strict fails where a file of src/, cli/ or figures/ has
none, --list names those with none or one.  `tests/mutation/mutate.py --only FILE --count 4`, then `--keep`, finds two for a new file.
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
    "cli/cmd_bench.c": "times; bench/ verifies before it does",
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
    path = os.path.join(ROOT, "tests", "mutation", "planted.jsonl")
    if os.path.exists(path):
        with open(path) as file:
            for line in file:
                found[json.loads(line)["file"]] += 1
    return found


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
    print("%d files, %d planted mistakes, %d files with one, %d with none"
          % (len(files), sum(found.values()), len(one), len(none)))
    return bool(none) and "--strict" in sys.argv


if __name__ == "__main__":
    sys.exit(main())
