#!/usr/bin/env python3
"""Averages on a card: what they take, beside the processor's cores.  Cheapest first.

    averages.py [--program build/stair] [--out DIR] staircase     two layers at 1e-3, 1e-4, 1e-5
    averages.py ...                                 answers       tests/numbers on both: the same within errors
    averages.py ...                                 curve         three layers, 49 values of alpha at 1e-3
    averages.py ...                                 phases        two and three layers, 200 values of c
    averages.py ...                                 calibration   the short list: are errors honest there
    averages.py --layers 3 --out DIR                pulls         the table in DIR against that in docs/data/
    averages.py                                     figures       docs/gpu-phase-*.svg from docs/data/

staircase, answers and curve run on --devices cpu,cuda unless told otherwise; phases and calibration on the last
of them.  Every line has its seconds.  Tables and phase-diagram-L*.csv and .svg go to --out.  The CSV is written
after every few values of c, the cheap ones first; values that are in it already are not done again.
"""
import argparse
import concurrent.futures
import csv
import io
import math
import os
import pathlib
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
COLOURS = ("#1b6ca8", "#c0392b", "#27803b")
MOST_ALPHA = {2: 1.2, 3: 1.4}
TICK = 0.2
WORDS = {2: "two", 3: "three"}


def run(options, words, device, threads=0, timeout=None):
    """Exit status, standard output, seconds."""
    begun = time.time()
    command = [options.program, *words, "--quiet", "--threads", str(threads), "--device", device]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        return 124, "", time.time() - begun
    if done.returncode not in (0, 3):
        print("   ", done.stderr.strip()[:300], flush=True)
    return done.returncode, done.stdout, time.time() - begun


def rows_of(text):
    """Rows of a CSV with comments."""
    return list(csv.DictReader(io.StringIO("".join(x for x in text.splitlines(True) if x[:1] != "#"))))


def staircase(options):
    for precision in ("1e-3", "1e-4", "1e-5"):
        for device in options.devices:
            words = ["threshold", "attention:layers=2", "--precision", precision, "--csv"]
            code, text, seconds = run(options, words, device, timeout=options.limit)
            alphas = " ".join(f"{r['alpha']}({float(r['error']):.1g})" for r in rows_of(text))
            print(f"two layers {precision} {device:5} {seconds:8.2f} s  exit {code}  {alphas}", flush=True)


def curve(options):
    for precision in options.precision or ("1e-2", "3e-3", "1e-3"):
        for device in options.devices:
            words = ["evolve", "attention:layers=3", "--alpha", "0.06:2.94:0.06", "--from", "uninformed",
                     "--precision", precision, "--patience", "0", "--csv"]
            code, text, seconds = run(options, words, device, timeout=options.limit)
            rows = rows_of(text)
            worst = max((float(v) for r in rows for k, v in r.items()
                         if k and k.startswith("Q") and k.endswith("error") and v), default=math.nan)
            print(f"three layers, {len(rows)} alphas {precision} {device:5} {seconds:8.2f} s  exit {code}  "
                  f"largest error of Q {worst:.2g}", flush=True)
            if rows and device != "cpu":
                (options.out / f"curve-L3-{precision}.csv").write_text(text)


def answers(options):
    return subprocess.run([sys.executable, str(ROOT / "tests/gpu/same_answers.py"), options.program, "--device",
                           "cuda", "--jobs", "4", "--threads", "4", "--out",
                           str(options.out / "same_answers.txt")]).returncode


def calibration(options):
    begun = time.time()
    wrapper = options.out / "stair-on-card"
    wrapper.write_text(f'#!/bin/sh\nexec "{options.program}" "$@" --device cuda\n')
    wrapper.chmod(0o755)
    try:
        code = subprocess.run([sys.executable, str(ROOT / "bench/calibration.py"), "--program", str(wrapper),
                               "--quick", "--workers", "8"], timeout=options.limit).returncode
    except subprocess.TimeoutExpired:
        code = 124
    print(f"calibration, the short list: {time.time() - begun:.1f} s, exit {code}", flush=True)
    return code


def skips(count):
    """Values of c, denser where it is small: 0.1 to 4."""
    return [round(0.1 * 40 ** (k / (count - 1)), 5) for k in range(count)]


def some_skips(options, layers, precision, values):
    """A row for each: c, and alpha with its error where each layer is learned, and of perfect recovery.  One process
    has several, since opening a card takes as long as a short staircase."""
    left = None if options.until is None else options.until - time.time()
    if left is not None and left <= 0:
        return [{"skip": c, "exit": 124, "seconds": 0} for c in values]
    words = ["threshold", f"attention:layers={layers}", "--set", "skip=" + ",".join(map(str, values)), "--precision",
             precision, "--patience", "0", "--csv"]
    if layers > 2:
        words += ["--steps", str(layers)]
    code, text, seconds = run(options, words, options.devices[-1], threads=options.threads, timeout=left)
    rows = {c: {"skip": c, "exit": code, "seconds": round(seconds / len(values), 2)} for c in values}
    for step in rows_of(text):
        row = rows[float(step["skip"])]
        if step["kind"] == "perfect":
            row["perfect"], row["perfect_error"] = step["alpha"], step["error"]
            continue
        for layer in step["learns"].split():
            row.setdefault(f"alpha{layer}", step["alpha"])
            row.setdefault(f"alpha{layer}_error", step["error"])
    return list(rows.values())


def draw(path, layers, rows):
    """Lines of alpha against c with bands of their errors, on a logarithmic axis of c."""
    wide, high, left, low = 640, 420, 60, 50
    most = MOST_ALPHA[layers]
    first, last = math.log(rows[0]["skip"]), math.log(rows[-1]["skip"])

    def place(skip, alpha):
        x = left + (wide - left - 20) * (math.log(skip) - first) / (last - first)
        return f"{x:.1f},{high - low - (high - low - 20) * min(alpha, most) / most:.1f}"

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{high}" font-family="sans-serif" '
             f'font-size="13"><rect width="100%" height="100%" fill="white"/>']
    for k in range(round(most / TICK) + 1):
        x, y = place(rows[0]["skip"], TICK * k).split(",")
        parts.append(f'<line x1="{x}" y1="{y}" x2="{wide - 20}" y2="{y}" stroke="#dddddd"/>'
                     f'<text x="{left - 8}" y="{float(y) + 4}" text-anchor="end">{TICK * k:.1f}</text>')
    for skip in (0.1, 0.2, 0.5, 1, 2, 4):
        x = place(skip, 0).split(",")[0]
        parts.append(f'<text x="{x}" y="{high - low + 18}" text-anchor="middle">{skip:g}</text>')
    names = float(place(1, 0.67).split(",")[1])  # between the lines
    for layer in range(1, layers + 1):
        name = f"alpha{layer}"
        known = [(r["skip"], float(r[name]), float(r[f"{name}_error"])) for r in rows if r.get(name)]
        known = [(c, a, e) for c, a, e in known if math.isfinite(a)]
        points = [place(c, a) for c, a, e in known]
        band = [place(c, a - e) for c, a, e in known] + [place(c, a + e) for c, a, e in known[::-1]]
        parts.append(f'<polygon fill="{COLOURS[layer - 1]}" fill-opacity="0.25" points="{" ".join(band)}"/>')
        parts.append(f'<polyline fill="none" stroke="{COLOURS[layer - 1]}" stroke-width="2" points="'
                     f'{" ".join(points)}"/>')
        parts.append(f'<text x="{wide - 110}" y="{names + 18 * layer}" fill="{COLOURS[layer - 1]}">layer {layer}'
                     '</text>')
    parts.append(f'<text x="{wide / 2}" y="{high - 10}" text-anchor="middle">skip strength c</text>'
                 f'<text x="16" y="{high / 2}" transform="rotate(-90 16 {high / 2})" text-anchor="middle">'
                 'samples per dimension</text></svg>')
    path.write_text("\n".join(parts) + "\n")


def known_rows(path):
    """Rows of a table of phases that are done, as they were written."""
    rows = list(csv.DictReader(path.open())) if path.exists() else []
    for row in rows:
        row["skip"], row["exit"], row["seconds"] = float(row["skip"]), int(row["exit"]), float(row["seconds"])
    return [row for row in rows if row["exit"] in (0, 3)]


def write_rows(path, layers, rows):
    names = ["skip", *(f"alpha{k}{e}" for k in range(1, layers + 1) for e in ("", "_error")), "perfect",
             "perfect_error", "exit", "seconds"]
    whole = path.with_suffix(".new")
    with whole.open("w", newline="") as file:
        table = csv.DictWriter(file, names, lineterminator="\n")
        table.writeheader()
        table.writerows(sorted(rows, key=lambda r: r["skip"]))
    whole.replace(path)


def phases(options):
    for layers, precision in ((2, "1e-3"), (3, "1e-2")):
        if options.layers and layers not in options.layers:
            continue
        precision = options.precision[0] if options.precision else precision
        begun = time.time()
        options.until = options.limit and begun + options.limit
        path = options.out / f"phase-diagram-L{layers}.csv"
        rows, lock = known_rows(path), threading.Lock()
        done = {row["skip"] for row in rows}
        values = sorted((c for c in skips(options.count)[::options.every] if c not in done), key=lambda c: abs(math.log(c)))
        slices = [values[k:k + options.each] for k in range(0, len(values), options.each)]

        def do(some, layers=layers, precision=precision, path=path, rows=rows, lock=lock):
            new = some_skips(options, layers, precision, some)
            with lock:
                rows.extend(new)
                write_rows(path, layers, rows)

        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            list(pool.map(do, slices))
        rows.sort(key=lambda r: r["skip"])
        draw(options.out / f"phase-diagram-L{layers}.svg", layers, rows)
        bad = [r["skip"] for r in rows if r["exit"] not in (0, 3, 124)]
        late = sum(r["exit"] == 124 for r in rows)
        missed = sum(r["exit"] == 3 for r in rows)
        print(f"phase diagram of {layers} layers, {len(rows)} values of c, {precision}: "
              f"{time.time() - begun:.1f} s; failed {bad}; not done in time {late}; precision missed {missed}; slowest "
              f"{max(rows, key=lambda r: r['seconds'])['seconds']} s", flush=True)


def pulls(options):
    """Differences of the alphas of both tables over their errors, where they have the same c."""
    for layers in options.layers or WORDS:
        ours = {row["skip"]: row for row in known_rows(options.out / f"phase-diagram-L{layers}.csv")}
        found = []
        for row in known_rows(ROOT / f"docs/data/gpu-phase-{WORDS[layers]}-layers.csv"):
            for name in (f"alpha{k}" for k in range(1, layers + 1)):
                other = ours.get(row["skip"], {})
                if not row.get(name) or not other.get(name):
                    continue
                error = math.hypot(float(row[f"{name}_error"]), float(other[f"{name}_error"]))
                found.append((abs(float(row[name]) - float(other[name])) / error, row["skip"], name))
        found.sort(reverse=True)
        print(f"{layers} layers, {len(found)} numbers: largest " +
              ", ".join(f"{pull:.2f} ({name} at {skip})" for pull, skip, name in found[:5]))


def figures(options):
    for layers, word in WORDS.items():
        path = ROOT / f"docs/data/gpu-phase-{word}-layers.csv"
        if path.exists():
            draw(ROOT / f"docs/gpu-phase-{word}-layers.svg", layers, known_rows(path))


def main():
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("--program", default=str(ROOT / "build/stair"))
    parse.add_argument("--out", type=pathlib.Path, default=pathlib.Path(os.environ.get("OUT", "out")))
    parse.add_argument("--devices", default="cpu,cuda")
    parse.add_argument("--limit", type=float, help="seconds that one command, or phases of one depth, may take")
    parse.add_argument("--precision", action="append", help="of curve, and the first also of phases")
    parse.add_argument("--layers", type=int, action="append", help="of phases")
    parse.add_argument("--count", type=int, default=200, help="values of c")
    parse.add_argument("--every", type=int, default=1, help="of these values, one in so many")
    parse.add_argument("--each", type=int, default=3, help="values of c in one process")
    parse.add_argument("--jobs", type=int, default=16, help="commands at once, of phases")
    parse.add_argument("--threads", type=int, default=1, help="of each of them")
    parse.add_argument("what", nargs="+", choices=("staircase", "answers", "curve", "phases", "calibration",
                                                "pulls", "figures"))
    options = parse.parse_args()
    options.program = str(pathlib.Path(options.program).resolve())
    options.devices = options.devices.split(",")
    options.out.mkdir(parents=True, exist_ok=True)
    bad = 0
    for what in options.what:
        bad += bool(globals()[what](options))
    return bad


if __name__ == "__main__":
    sys.exit(main())
