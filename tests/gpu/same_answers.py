#!/usr/bin/env python3
"""The commands of tests/numbers on the processor and on a card: the same answers within their errors.

    same_answers.py PROGRAM [--device cuda] [--only X] [--jobs 4] [--out FILE]

A number x with x_error (or, in rows that have one error, `error`) may differ by three times both errors
together; one without by a tenth of --precision.  Counts of work (nodes, iterations) may differ.  Words and
verdicts may not.  The direction of weights that have come to nothing is rounding, and is not compared; nor are
distances in units of a spread, which are made of numbers that are.  Of a run with --history the first iterations
are compared: later ones amplify the errors of posteriors.
With --device cpu it compares the processor with itself, to try the script.
"""
import argparse
import concurrent.futures
import json
import math
import pathlib
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
WORK = {"iterations", "nodes", "method", "residual", "direction", "calls", "seconds", "violation", "history",
        "resolved", "points", "change", "channel_error", "mismatch", "damping", "stop", "z_Q", "z_M"}
DEFAULT_PRECISION = 0.01
ERRORS = 3          # times both together
WITHOUT = 0.1       # of --precision, where a number has no error
FEW = 1e-6          # of a number, and absolute: rounding
DIRECTIONS = {"cosine"}
EARLY = 10          # iterations of a run with --history


def run(program, line, device, threads):
    words = [str(ROOT / w[1:]) if w.startswith("@") else w for w in shlex.split(line)]
    command = [program, *words, "--json", "--quiet", "--threads", str(threads), "--device", device]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        return done.returncode, None, done.stderr.strip()
    return done.returncode, answer, done.stderr.strip()


def flat(value):
    """Numbers of nested lists."""
    if isinstance(value, list):
        return [x for part in value for x in flat(part)]
    return [value]


def allowed(old, new, key, precision):
    """What each number of a field may differ by."""
    numbers = flat(old[key])
    for name in (key + "_error", "error"):
        if name in old and name != key:
            mine, other = flat(old[name]), flat(new[name])
            if len(mine) != len(numbers):
                mine, other = mine[:1] * len(numbers), other[:1] * len(numbers)
            break
    else:
        size = max([abs(x) for x in numbers if isinstance(x, (int, float))] + [0])
        return [WITHOUT * precision * max(1, size)] * len(numbers)
    size = max([abs(x) for x in numbers if isinstance(x, (int, float))] + [1])
    scale = size if name == "error" and key in ("g", "dg") else 1  # of a posterior it is relative
    return [ERRORS * scale * ((a or 0) + (b or 0)) + FEW * size for a, b in zip(mine, other)]


def lost(row, k):
    """Whether nothing is left of the weights of index k in this row of amp."""
    return "Q" in row and abs(row["Q"][k][k]) < FEW


def compare(old, new, precision, where=""):
    """Largest difference in units of what is allowed, and where."""
    worst = (0.0, where)
    if isinstance(old, dict) and isinstance(new, dict):
        for key in old:
            if key in WORK or key.endswith("error"):
                continue
            if key not in new:
                return math.inf, f"{where}.{key} is gone"
            is_list = isinstance(old[key], list) and old[key] and not isinstance(flat(old[key])[0], (dict, str))
            number = isinstance(old[key], (int, float)) and not isinstance(old[key], bool)
            if number or is_list:
                a, b = flat(old[key]), flat(new[key])
                if len(a) != len(b):
                    return math.inf, f"{where}.{key}: {old[key]} and {new[key]}"
                if key in DIRECTIONS:
                    gone = [lost(old, k) and lost(new, k) for k in range(len(a))]
                    a, b = ([0 if g else x for g, x in zip(gone, of)] for of in (a, b))
                for x, y, most in zip(a, b, allowed(old, new, key, precision)):
                    if x is None or y is None:
                        ratio = 0 if x == y else math.inf
                    else:
                        ratio = abs(x - y) / most if most else (0 if x == y else math.inf)
                    if not ratio <= worst[0]:
                        worst = (ratio, f"{where}.{key}: {x} and {y}, allowed {most:.2g}")
            else:
                found = compare(old[key], new[key], precision, f"{where}.{key}")
                worst = max(worst, found, key=lambda r: r[0])
        return worst
    if isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new):
            return math.inf, f"{where}: {len(old)} rows and {len(new)}"
        for i, (a, b) in enumerate(zip(old, new)):
            if isinstance(a, dict) and a.get("iteration", 0) > EARLY:
                continue
            worst = max(worst, compare(a, b, precision, f"{where}[{i}]"), key=lambda r: r[0])
        return worst
    return (0.0, where) if old == new else (math.inf, f"{where}: {old} and {new}")


def judge(program, line, device, threads):
    words = shlex.split(line)
    precision = float(words[words.index("--precision") + 1]) if "--precision" in words else DEFAULT_PRECISION
    code, mine, said = run(program, line, "cpu", threads)
    other_code, other, other_said = run(program, line, device, threads)
    if code != other_code and {code, other_code} != {0, 3}:  # 3: a precision was missed, by a little or not
        return math.inf, f"exit {code} and {other_code}: {other_said}"
    if (mine is None) != (other is None):
        return math.inf, f"no result: {said or other_said}"
    if mine is None:
        return 0.0, f"no result on either: {said}"
    if "device" in other and device.split(":")[0] not in other["device"]:
        return math.inf, f"ran on {other['device']}"
    return compare(mine["results"], other["results"], precision)


def main():
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("program")
    parse.add_argument("--device", default="cuda")
    parse.add_argument("--only", default="")
    parse.add_argument("--jobs", type=int, default=4)
    parse.add_argument("--threads", type=int, default=4)
    parse.add_argument("--out", help="also write a row for each command there")
    args = parse.parse_args()
    program = str(pathlib.Path(args.program).resolve())
    lines = [x.strip() for x in (ROOT / "tests/numbers/commands.txt").read_text().splitlines()]
    lines = [x for x in lines if x and x[0] != "#" and args.only in x and not x.startswith("models")]
    good, empty, rows = 0, 0, []
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        work = [pool.submit(judge, program, x, args.device, args.threads) for x in lines]
        for line, job in zip(lines, work):
            ratio, where = job.result()
            none = where.startswith("no result on either")
            empty += none
            good += ratio <= 1 and not none
            rows.append(f"{ratio:.3g}\t{line}\t{where}")
            if not ratio <= 1:
                print(f"DIFFERS stair {line}\n    {where}", flush=True)
    if args.out:
        pathlib.Path(args.out).write_text("\n".join(rows) + "\n")
    print(f"{good} of {len(lines) - empty} commands give the same answers on cpu and {args.device}; "
          f"{empty} have none")
    return good + empty != len(lines)


if __name__ == "__main__":
    sys.exit(main())
