#!/usr/bin/python3
"""Numbers of a fixed list of commands, the same to the last digit, and texts of another, the same to the letter.

    check.py PROGRAM            runs commands.txt and texts.txt of tests/numbers and compares with kept.json
    check.py PROGRAM --record   writes kept.json anew: after a mended bug, with a line in CHANGES.md beside it
    check.py PROGRAM --only X   commands that contain X

Digits depend on the instruction set and the compiler; kept are those of AVX2 and gcc 12, which every
processor since 2013 reproduces with STAIR_ISA=v3.  What is compared is `results` of the JSON output and the
CSV files of figures; the echo of options may grow.

Lines that begin with $ are for bash, where `stair` is the program, each in an empty folder of its own: of these the
exit status and all that is printed on both streams are compared: help, tables, messages, defaults.
"""
import argparse
import concurrent.futures
import hashlib
import json
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
KEPT = HERE / "kept.json"
MOST_NUMBERS = 9
MOST_LINES = 12
# What stands before a line of texts.txt: `npz FILE` names the arrays of an archive with their checksums, `page FILE...`
# is what a page of files has in its body, `table NAMES ROWS` makes a CSV file of small numbers, t.csv.
SHELL = """stair() { "$PROGRAM" "$@"; }
page() { rm -f p.html; stair report "$@" --plain --out p.html --quiet && sed '1,/<main>/d;s/<circle/\\n&/g;s/<text/\\n&/g' p.html; }
table() { awk -v names="$1" -v rows="$2" 'BEGIN { n = split(names, name, ","); print names; for (r = 1; r <= rows; r++) {
for (k = 1; k <= n; k++) { x = r * k / 8; if (name[k] ~ /alpha|seed|skip|epoch|iteration|sample/) x = int((r + k) / 2);
if (name[k] ~ /start|kind|series|learns|identity|word/) x = substr("weaknesses", 1 + r % 4, 4);
printf("%s%s", k == 1 ? "" : ",", x) } print "" } }' >t.csv; }
npz() { /usr/bin/python3 -c "import sys, zipfile
for x in zipfile.ZipFile(sys.argv[1]).infolist(): print(x.filename, x.file_size, '%08x' % x.CRC)" "$1"; }
"""
# What differs from run to run.
PASSING = [(r"\b\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d)?Z?)?", "DATE"), (r"(stair(\": \"|[ \n]+))\d+\.\d+\.\d+", r"\1VERSION")]


def has_avx2():
    try:
        flags = pathlib.Path("/proc/cpuinfo").read_text()
    except OSError:
        return False
    return " avx2 " in flags and " fma " in flags


def numbers(value):
    """How many numbers a nested list of nothing else holds, or 0."""
    if isinstance(value, list):
        parts = [numbers(x) for x in value]
        return sum(parts) if all(parts) else 0
    return 1 if isinstance(value, (int, float)) else 0


def shorten(value):
    """Long arrays become their first number and a digest of all; of long lists every eighth row is kept."""
    if numbers(value) > MOST_NUMBERS:
        digest = hashlib.sha256(json.dumps(value).encode()).hexdigest()[:16]
        while isinstance(value, list):
            value = value[0]
        return {"first": value, "digest": digest}
    if isinstance(value, dict):
        return {key: shorten(x) for key, x in value.items()}
    if isinstance(value, list):
        return [shorten(x) for x in (value[:1] + value[7::8] if len(value) > 8 else value)]
    return value


def blocks(text):
    """A long text becomes a digest of every dozen lines under the first of them."""
    for pattern, name in PASSING:
        text = re.sub(pattern, name, text)
    lines = text.splitlines()
    if len(lines) <= MOST_LINES and len(text) < 4000:
        return lines
    return {f"{i + 1}: {lines[i][:100]}": hashlib.sha256("\n".join(lines[i:i + MOST_LINES]).encode()).hexdigest()[:16]
            for i in range(0, len(lines), MOST_LINES)}


def run_text(program, line):
    """Exit status and output of a line of texts.txt."""
    begun = time.time()
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(["bash", "-c", SHELL + line[1:].replace("@", str(ROOT) + "/")], cwd=folder, capture_output=True,
                              stdin=subprocess.DEVNULL,
                              env={"PATH": "/usr/bin:/bin", "STAIR_ISA": "v3", "PROGRAM": program, "LC_ALL": "C"})
    said = [x.decode(errors="replace").replace(str(ROOT), "ROOT").replace(folder, "HERE") for x in (done.stdout, done.stderr)]
    return {"exit": done.returncode, "stdout": blocks(said[0]), "stderr": blocks(said[1])}, time.time() - begun


def read_lines():
    """The commands of both lists."""
    both = (HERE / "commands.txt").read_text() + (HERE / "texts.txt").read_text()
    return [x.strip() for x in both.splitlines() if x.strip() and not x.startswith("#")]


def run(program, line, folder):
    """Exit status and results of one command."""
    if line.startswith("$"):
        return run_text(program, line)
    begun = time.time()
    words = [str(ROOT / w[1:]) if w.startswith("@") else w for w in shlex.split(line)]
    command = [program, *words, "--json", "--quiet", "--threads", "1"]
    if words[0] == "models":
        command = [program, *words, "--json"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True,
                          env={"PATH": "/usr/bin:/bin", "STAIR_ISA": "v3"})
    try:
        results = shorten(json.loads(done.stdout)["results"])
    except (ValueError, KeyError):
        results = done.stderr.strip()
    kept = {"exit": done.returncode, "results": results}
    if words[0] == "figure":
        table = pathlib.Path(folder) / words[words.index("--out") + 1] / "staircase.csv"
        rows = [x for x in table.read_text().splitlines() if x[:1] != "#"] if table.exists() else []
        kept["csv"] = rows[:1] + rows[1::16]
    return kept, time.time() - begun


def differences(old, new, where=""):
    """Places where two JSON values differ."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(set(old) | set(new)):
            if key not in old or key not in new:
                yield f"{where}.{key}: {'new' if key not in old else 'gone'}"
            else:
                yield from differences(old[key], new[key], f"{where}.{key}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for i, (a, b) in enumerate(zip(old, new)):
            yield from differences(a, b, f"{where}[{i}]")
    elif old != new:
        yield f"{where}: {str(old)[:200]} -> {str(new)[:200]}"


def main():
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("program")
    parse.add_argument("--record", action="store_true")
    parse.add_argument("--only", default="")
    parse.add_argument("--jobs", type=int, default=2)
    parse.add_argument("--verbose", action="store_true", help="seconds of each command")
    args = parse.parse_args()
    program = str(pathlib.Path(args.program).resolve())
    if not has_avx2():
        print("skipped: the kept digits are those of a processor with AVX2\n0 passed, 0 failed, 1 skipped")
        return 0
    lines = [x for x in read_lines() if args.only in x]
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    bad = 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for line, (found, seconds) in zip(lines, pool.map(lambda x: run(program, x, folder), lines)):
            if args.verbose:
                print(f"{seconds:6.2f} s  {line}")
            if args.record:
                kept[line] = found
                continue
            wrong = list(differences(kept.get(line), found)) if line in kept else ["nothing kept"]
            if wrong:
                bad += 1
                print(f"FAILED: stair {line}")
                for text in wrong[:6]:
                    print("   ", text)
                if len(wrong) > 6:
                    print(f"    and {len(wrong) - 6} more")
    if args.record:
        KEPT.write_text(json.dumps(kept, sort_keys=True).replace('}, "', '},\n"') + "\n")
        print(f"kept: {len(kept)} commands")
        return 0
    print(f"{len(lines) - bad} passed, {bad} failed")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
