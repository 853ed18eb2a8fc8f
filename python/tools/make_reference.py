"""docs/reference.md: every command, option, output column and model, from the program and the tables of the library.

    make_reference.py PROGRAM            writes it
    make_reference.py PROGRAM --check    exit code 1 where it is not up to date

Names, texts, defaults and ranges of options come from the option tables (through --help and the Python package, which
read them), output columns from small runs, their units and meanings from the table that `stair man` prints."""
import argparse
import csv
import io
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap

import numpy as np
import stair
from stair._options import table

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TARGET = ROOT / "docs" / "reference.md"
HEAD = """# Reference

Every command with its options and output columns, every model with its keys. This page is written by
`python/tools/make_reference.py` from the tables that the program itself reads: do not edit it.

Units of columns: `samples/D` counts samples per dimension, alpha = N/D; an `overlap` is between 0, nothing is
known, and 1, all is known; `y^2` is the square of an output, summed over the numbers of a label; `nats` are
natural logarithms. In brackets are the sizes of arrays: P indices, M tokens.

"""
QUESTIONS = ["--data", "data/questions.label", "--vocab", "data/vocab.txt"]
# A run of each command that shows its columns.
RUNS = {
    "threshold": ["square", "--steps", "1", "--precision", "0.1"],
    "evolve": ["square", "--alpha", "0.3", "--precision", "0.1"],
    "entropy": ["square", "--alpha", "0.3", "--precision", "0.1"],
    "channel": ["square", "--points", "1"],
    "amp": ["square", "--dim", "10", "--max-iterations", "0", "--theory", "none"],
    "sgd": ["square", "--dim", "10", "--alpha", "1", "--epochs", "0"],
    "train": [*QUESTIONS, "--epochs", "0", "--dim", "4", "--rank", "1", "--layers", "1"],
    "diagnose": ["square", "--points", "2"],
    "exponents": ["square", "--degree", "2"],
    "models": [],
}
# Runs with other columns, which need words, too; files are made by the first ones.
VARIANTS = {
    "entropy": [["square", "--phases", "--precision", "0.1"]],
    "amp": [["square", "--dim", "10", "--max-iterations", "1", "--theory", "none", "--history"],
            ["square", "--dim", "10", "--max-iterations", "1", "--seeds", "2", "--summary"],
            ["square", "--data", "X.npy", "y.npy", "--max-iterations", "1", "--predict", "X.npy"]],
    "train": [["--weights", "w.npz", "--vocab", "vocab.txt", "--predict", "questions.label"]],
}
TABLES = {"threshold": ["asymptotics"], "evolve": ["asymptotics"], "entropy": ["asymptotics"],
          "figure": ["asymptotics"], "channel": ["channel", "points"], "amp": ["gamp"], "sgd": ["sgd"],
          "train": ["train", "questions"], "tokenize": ["questions"], "diagnose": ["diagnose"]}


def run(program, *words, folder=ROOT):
    done = subprocess.run([program, *words], capture_output=True, text=True, cwd=folder)
    if done.returncode not in (0, 3):
        raise SystemExit(f"stair {' '.join(words)}: {done.stderr}")
    return done.stdout


def commands(program):
    part = run(program, "--help").split("commands:\n")[1].split("\n\n")[0]
    return [line.split()[0] for line in part.splitlines()]


def cell(text):
    return text.replace("|", "\\|").replace("\n", " ")


def options(text):
    """(flag, value, meaning, default) of the options of a help text."""
    for line in re.sub(r"\n {19,}", " ", text).splitlines():
        match = re.match(r"  --(\S+) ?(\S.*?)? {2,}(.*)$|  --(\S+) (\S+) (.*)$|  --(\S+) +(.*)$", line)
        if match:
            groups = match.groups()
            name, value, about = next(g for g in (groups[:3], groups[3:6], (groups[6], "", groups[7])) if g[0])
            default = re.search(r" \[(.*)\]$", about)
            yield name, value or "", about[: default.start()] if default else about, default.group(1) if default else ""


def range_of(command, name):
    for known in TABLES.get(command, []):
        option = table(known).options.get(name.replace("-", "_"))
        if option:
            return option.range
    return ""


def shape(value):
    """What JSON holds: a number, a text, numbers (P, P) as nested lists, an object."""
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, dict):
        return "object: " + ", ".join(value)
    if isinstance(value, list):
        if value and isinstance(value[0], dict):
            return "list of objects: " + ", ".join(value[0])
        return "list of lists" if value and isinstance(value[0], list) else "list"
    return "text" if isinstance(value, str) else "number, or null"


def column_words(program):
    """{command: {name: (unit, meaning)}} of the manual page."""
    found, command = {}, None
    plain = run(program, "man").replace("\\-", "-").replace("\\&", "").replace("\\e", "\\")
    lines = plain.splitlines()
    for i, line in enumerate(lines):
        if line.startswith(".SS stair "):
            command = line.split()[2]
        match = re.fullmatch(r"\\fB([^-].*?)\\fR \[(.*)\]", line)
        if match and lines[i - 1] == ".TP":
            found.setdefault(command, {})[match.group(1)] = (match.group(2), lines[i + 1])
    return found


def members(row, before=""):
    """(name, value) of a row of JSON; what an object holds has its name before it."""
    for key, value in row.items():
        if isinstance(value, dict):
            yield from members(value, f"{before}{key}.")
        else:
            yield before + key, value


def words_of(known, command, name):
    """Unit and meaning; an error has those of what it is the error of."""
    if name in known:
        return known[name]
    if name.endswith("_error") and name[:-6] in known:
        return known[name[:-6]][0], f"the error of `{name[:-6]}`"
    raise SystemExit(f"stair {command}: column {name} is not in cli/column_words.c")


def variants(program, command):
    """Names of columns that options bring."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("vocab.txt", "questions.label"):
            shutil.copy(ROOT / "data" / name, folder)
        np.save(f"{folder}/X.npy", np.ones((10, 4)))
        np.save(f"{folder}/y.npy", np.ones((10, 1)))
        if command == "train":
            run(program, command, "--data", "questions.label", "--vocab", "vocab.txt", "--dim", "4", "--rank", "1",
                "--layers", "1", "--epochs", "0", "--save", "w.npz", folder=folder)
        for arguments in VARIANTS.get(command, []):
            rows = json.loads(run(program, command, *arguments, "--json", folder=folder))["results"]
            yield from (name for name, _ in members(rows[0]))


def columns(program, command, words):
    if command not in RUNS:
        return ""
    known = words.get(command, {})
    arguments = [command, *RUNS[command]]
    row = json.loads(run(program, *arguments, "--json"))["results"][0]
    names = next(csv.reader(io.StringIO(run(program, *arguments, "--csv"))))
    listed = ", ".join(f"`{name}`" for name in names)
    listed = textwrap.fill(f"Columns of CSV and NPZ, here of a model with one index: {listed}.", 108)
    body = f"{listed}\n\n| in JSON | unit | what it is | what it holds |\n|---|---|---|---|\n"
    shown = set()
    for name, value in members(row):
        unit, meaning = words_of(known, command, name)
        shown.add(name)
        body += f"| `{name}` | {cell(unit)} | {cell(meaning)} | {shape(value)} |\n"
    for name in variants(program, command):
        words_of(known, command, name)
    others = [name for name in known if name not in shown]
    for name in others:
        body += f"| `{name}` | {cell(known[name][0])} | {cell(known[name][1])} | |\n"
    return body + "\n"


def section(program, command, words):
    text = run(program, command, "--help")
    usage, rest = text.split("\n\n", 1)
    about, rest = rest.split("\noptions:\n")
    part, examples = rest.split("\nexamples:\n")
    body = f"## stair {command}\n\n    {usage.removeprefix('usage: ')}\n\n"
    body += "\n\n".join(paragraph.strip() for paragraph in about.split("\n\n")) + "\n\n"
    body += "| option | value | meaning | default | range |\n|---|---|---|---|---|\n"
    for name, value, meaning, default in options(part):
        row = [f"`--{name}`", value, meaning, default, range_of(command, name)]
        body += "| " + " | ".join(cell(c) for c in row) + " |\n"
    body += "\n" + columns(program, command, words)
    return body + "Examples:\n\n" + "".join(f"    {line.strip()}\n" for line in examples.splitlines()) + "\n"


def models():
    body = "## Models\n\n"
    for row in stair.models():
        body += f"### {row.name}\n\n{row.summary}.\n\n    {row.formula}\n\n"
        body += "| key | default | meaning |\n|---|---|---|\n"
        body += "".join(f"| `{k}` | {cell(value or '')} | {cell(about or '')} |\n" for k, (value, about) in row.keys.items())
        body += f"\nFor example `{row.example}`.\n\n"
    return body


def reference(program):
    words = column_words(program)
    text = HEAD + "".join(section(program, command, words) for command in commands(program)) + models()
    text += "## Exit status and environment\n\n"
    tail = run(program, "--help").split("exit status:\n")[1].rsplit("\n\n", 1)[0]
    return text + "".join(f"    {line}".rstrip() + "\n" for line in tail.splitlines())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    text = reference(str(pathlib.Path(arguments.program).resolve()))
    if not arguments.check:
        TARGET.write_text(text, encoding="utf-8")
        return 0
    if TARGET.exists() and TARGET.read_text(encoding="utf-8") == text:
        print("docs/reference.md is up to date")
        return 0
    print("docs/reference.md is not what the program says: run python/tools/make_reference.py build/stair")
    return 1


if __name__ == "__main__":
    sys.exit(main())
