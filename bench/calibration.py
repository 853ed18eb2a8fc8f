#!/usr/bin/env python3
"""Are the errors that stair reports honest?  Many small runs against far better values of the same numbers.

For every number a run reports, the pull is its distance from the reference in units of the error it came
with (the error of the reference added in quadrature).  If errors are honest, pulls beyond 3 are rare (below
1 %) and none is beyond 5; if they are not inflated, the median is above 0.2.

    bench/calibration.py                    all runs, a table and a histogram; exit 1 if errors are not honest
    bench/calibration.py --quick            the short list of ./test
    bench/calibration.py --only threshold   runs whose name contains a word
    bench/calibration.py --offset 1000      the same with other seeds
    bench/calibration.py --reference        computes references that are missing and adds them to the file
    bench/calibration.py --table FILE       also writes the tables as markdown

References are closed forms, or the same quantity by the program at a far higher precision with another seed
(so other samples, other random nodes, finer grids); calibration_reference.json says how each came about.  A
run that ends with exit 3 (precision missed) counts like any other: its numbers carry errors, too.
"""
import argparse
import concurrent.futures
import json
import math
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
REFERENCE = os.path.join(HERE, "calibration_reference.json")
REFERENCE_SEED = 90001
LIMIT_BEYOND_3 = 0.01
LIMIT_MOST = 5.0
LIMIT_MEDIAN = 0.2
ROUNDING = 1e-12

CURVE = "0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.75,0.8,0.85,0.9,0.93,0.95,0.97,0.99"


def case(kind, model, args="", exact=None, precision=None, finer=False):
    """One quantity, or several: a command without precision, seed and replicates; and its reference."""
    if kind == "evolve" and "--from" not in args:
        args += " --from uninformed"
    return {"kind": kind, "model": model, "args": args.split(), "exact": exact, "precision": precision,
            "reference": ["--max-nodes", "30000000"] if finer else []}


CASES = {
    # thresholds
    "threshold L1": case("threshold", "attention:layers=1", exact=[1 / 6, 1 / 2]),
    "threshold L1 M3": case("threshold", "attention:layers=1,tokens=3", exact=[1 / 12, 1 / 3]),
    "threshold L1 r2 M3": case("threshold", "attention:layers=1,tokens=3,rank=2", "--steps 1", exact=[1 / 6]),
    "threshold L1 r3 M4": case("threshold", "attention:layers=1,tokens=4,rank=3",
                               "--steps 1", exact=[3 / 20]),
    "threshold L2": case("threshold", "attention:layers=2", "--steps 2", precision=1e-5),
    "threshold L2 c4": case("threshold", "attention:layers=2,skip=4", "--steps 2", precision=1e-5),
    "threshold L2 c0.5": case("threshold", "attention:layers=2,skip=0.5", "--steps 2", precision=1e-5),
    "threshold L2 M3": case("threshold", "attention:layers=2,tokens=3", "--steps 2", precision=2e-3),
    "threshold L2 linear": case("threshold", "attention:layers=2,activation=linear",
                                "--steps 2", precision=1e-3),
    "threshold L2 literal": case("threshold", "attention:layers=2,mixing=literal",
                                 "--steps 2", precision=1e-4),
    "threshold L1 r2": case("threshold", "attention:layers=1,rank=2", "--steps 1", precision=1e-5),
    "threshold L2 prenoise": case("threshold", "attention:layers=2,prenoise=1e-2",
                                  "--steps 2", precision=1e-5),
    "threshold L2 1+2": case("threshold", "attention:layers=2,rank=1+2", "--steps 2", precision=3e-3),
    "threshold L2 2+1": case("threshold", "attention:layers=2,rank=2+1", "--steps 2", precision=3e-3),
    "threshold L3": case("threshold", "attention:layers=3", "--steps 3", precision=3e-3),
    "threshold L3 c2": case("threshold", "attention:layers=3,skip=2", "--steps 3", precision=3e-3),
    "threshold L1 noise": case("threshold", "attention:layers=1,noise=0.3", "--steps 1", precision=2e-3),
    "threshold L1 r3 M8": case("threshold", "attention:layers=1,tokens=8,rank=3",
                               "--steps 1", exact=[3 / 72]),
    "threshold untied": case("threshold", "attention:layers=1,weights=untied",
                             "--steps 1 --method samples", exact=[math.sqrt(5) - 2]),
    "threshold untied M3": case("threshold", "attention:layers=1,weights=untied,tokens=3",
                                "--steps 1 --method samples", exact=[(math.sqrt(10) - 3) / 2]),
    "threshold limit L2": case("threshold", "attention-limit:layers=2,beta=1",
                               "--steps 1 --method samples", exact=[0.17427023]),
    "threshold limit L3": case("threshold", "attention-limit:layers=3,beta=1",
                               "--steps 1 --method samples", exact=[0.17273588]),
    "threshold limit L8": case("threshold", "attention-limit:layers=8,beta=1", "--steps 2", precision=1e-4),
    "threshold limit L64": case("threshold", "attention-limit:layers=64,beta=2", "--steps 2", precision=1e-4),
    "threshold limit flow": case("threshold", "attention-limit:beta=1,variant=flow", exact=[1 / 6, 1 / 2]),
    "threshold heads": case("threshold", "attention:layers=1,heads=2,readout=1,noise=0.1",
                            "--steps 2", precision=1e-2),
    "threshold sequence": case("threshold", "attention:output=sequence", "--steps 1", precision=1e-2),
    "threshold L2 noise": case("threshold", "attention:layers=2,noise=0.1", "--steps 1", precision=3e-3),
    "threshold L2 thin noise": case("threshold", "attention:layers=2,noise=1e-3", "--steps 1", precision=1e-2),
    "threshold L2 M8": case("threshold", "attention:layers=2,tokens=8", "--steps 1", precision=2e-3),
    "threshold square": case("threshold", "square", exact=[1 / 2, 1.128471]),
    # overlaps at single alphas, and the errors of prediction there
    "evolve L1 M3": case("evolve", "attention:layers=1,tokens=3", "--alpha 0.2", precision=2e-4),
    "evolve L2 0.4": case("evolve", "attention:layers=2", "--alpha 0.4", precision=2e-4),
    "evolve L2 0.8": case("evolve", "attention:layers=2", "--alpha 0.8", precision=5e-4),
    "evolve L2 0.95": case("evolve", "attention:layers=2", "--alpha 0.95", precision=2e-3),
    "evolve L2 informed": case("evolve", "attention:layers=2", "--alpha 0.9 --from informed", precision=1e-3),
    "evolve L2 side": case("evolve", "attention:layers=2", "--alpha 0.5 --side 0.1", precision=1e-3),
    "evolve L2 prenoise": case("evolve", "attention:layers=2,prenoise=1e-3", "--alpha 1.2", precision=1e-3),
    "evolve L2 M3": case("evolve", "attention:layers=2,tokens=3", "--alpha 0.3", precision=2e-3),
    "evolve L2 linear": case("evolve", "attention:layers=2,activation=linear", "--alpha 0.6", precision=3e-3),
    "evolve L3": case("evolve", "attention:layers=3", "--alpha 0.6", precision=1e-3),
    "evolve L2 1+2": case("evolve", "attention:layers=2,rank=1+2", "--alpha 0.8", precision=2e-3),
    "evolve L2 2+1": case("evolve", "attention:layers=2,rank=2+1", "--alpha 0.6", precision=1e-3),
    "evolve L2 c4": case("evolve", "attention:layers=2,skip=4", "--alpha 0.85", precision=5e-4),
    "evolve L1 noise": case("evolve", "attention:layers=1,noise=0.3", "--alpha 3", precision=5e-3),
    "evolve untied": case("evolve", "attention:layers=1,weights=untied", "--alpha 0.6", precision=1e-3),
    "evolve limit L3": case("evolve", "attention-limit:layers=3,beta=1", "--alpha 0.5", precision=2e-3),
    "evolve limit flow": case("evolve", "attention-limit:beta=2,variant=flow", "--alpha 0.3", precision=1e-4),
    "evolve heads": case("evolve", "attention:layers=1,heads=2,readout=1,noise=0.1",
                         "--alpha 1", precision=5e-3),
    "evolve square": case("evolve", "square", "--alpha 0.8,1.1", precision=3e-4),
    "evolve square noise": case("evolve", "square:noise=1", "--alpha 2", precision=2e-3),
    # overlaps off a curve; the last one has alphas on both sides of a jump
    "curve L2": case("evolve", "attention:layers=2",
                     "--alpha " + CURVE, precision=5e-4),
    "curve L1 M3": case("evolve", "attention:layers=1,tokens=3", "--alpha 0.05:0.32:0.018", precision=2e-4),
    "curve L2 prenoise": case("evolve", "attention:layers=2,prenoise=1e-2",
                              "--alpha 0.1:1.5:0.1", precision=1e-3),
    "curve square": case("evolve", "square", "--alpha 0.45:1.25:0.0625", precision=1e-3),
    # free entropy
    "entropy L2 0.3": case("entropy", "attention:layers=2", "--alpha 0.3", precision=1e-4),
    "entropy L2 0.8": case("entropy", "attention:layers=2", "--alpha 0.8", precision=1e-3),
    "entropy L1 M3": case("entropy", "attention:layers=1,tokens=3", "--alpha 0.2", precision=1e-3),
    "entropy L3": case("entropy", "attention:layers=3", "--alpha 0.5", precision=1e-3),
    "entropy square": case("entropy", "square", "--alpha 0.9", precision=1e-3),
    # posteriors: reference by a far finer rule
    "channel L2": case("channel", "attention:layers=2", "--points 64", precision=1e-10),
    "channel L2 small V": case("channel", "attention:layers=2",
                               "--points 64 --cov-low 1e-4", precision=1e-10),
    "channel L3": case("channel", "attention:layers=3", "--points 24", precision=1e-5, finer=True),
    "channel L2 M3": case("channel", "attention:layers=2,tokens=3",
                          "--points 16", precision=1e-4, finer=True),
    "channel L1 r2 M3": case("channel", "attention:layers=1,tokens=3,rank=2",
                             "--points 24", precision=1e-4, finer=True),
    "channel untied": case("channel", "attention:layers=1,weights=untied", "--points 32", precision=1e-7),
    "channel limit L3": case("channel", "attention-limit:layers=3,beta=1", "--points 32", precision=1e-6),
    "channel heads": case("channel", "attention:layers=1,heads=2,readout=1,noise=0.1",
                          "--points 12", precision=1e-3, finer=True),
    "channel sequence": case("channel", "attention:output=sequence",
                             "--points 12", precision=1e-5, finer=True),
    "channel thin noise": case("channel", "attention:layers=2,noise=1e-3",
                               "--points 12", precision=1e-5, finer=True),
    "channel L1 noise": case("channel", "attention:layers=1,noise=0.3",
                             "--points 32", precision=1e-7, finer=True),
    # the trajectory of message passing in infinite dimension
    "trajectory L2": case("trajectory", "attention:layers=2",
                          "--alpha 0.9 --dim 1000 --max-iterations 12 --start-overlap 0.2"),
    "trajectory L2 damped": case("trajectory", "attention:layers=2",
                                 "--alpha 0.5 --dim 1000 --max-iterations 8 --start-overlap 0.3 "
                                 "--damping 0.3"),
    "trajectory L1 M3": case("trajectory", "attention:layers=1,tokens=3",
                             "--alpha 0.25 --dim 1000 --max-iterations 10 --start-overlap 0.2"),
}

# Case, runs (a precision, or options), seeds of each.
FULL = [
    ("threshold L1", "1e-2, 1e-4", 1),
    ("threshold L1 M3", "1e-2", 1),
    ("threshold L1 r2 M3", "0.1, 3e-2", 4),
    ("threshold L1 r3 M4", "0.1, 3e-2, 1e-2", 2),
    ("threshold L1 r3 M8", "0.1, 3e-2, 1e-2", 3),
    ("threshold untied", "0.1, 3e-2, 1e-2", 3),
    ("threshold untied M3", "0.1, 3e-2", 3),
    ("threshold limit L2", "0.1, 1e-2", 3),
    ("threshold limit L3", "0.1, 1e-2", 3),
    ("threshold limit L8", "0.1, 1e-2, 1e-3", 1),
    ("threshold limit L64", "0.1, 1e-2, 1e-3", 1),
    ("threshold limit flow", "1e-2", 1),
    ("threshold heads", "0.2, 0.1", 3),
    ("threshold sequence", "0.1, 3e-2", 3),
    ("threshold L2 noise", "0.1, 3e-2, 1e-2", 3),
    ("threshold L2 thin noise", "0.1, 3e-2", 3),
    ("threshold L2 M8", "0.1, 3e-2, 1e-2", 3),
    ("threshold L2", "0.1, 1e-2, 1e-3, 1e-4", 3),
    ("threshold L2 c4", "0.1, 1e-2, 1e-3", 2),
    ("threshold L2 c0.5", "0.1, 1e-2, 1e-3", 2),
    ("threshold L2 M3",
     "0.1, 1e-2, 1e-2 --replicates 2, --samples 4096 --replicates 2, "
     "--samples 4096 --replicates 4, --samples 4096 --replicates 32, --samples 1024 --replicates 8", 5),
    ("threshold L2 linear", "0.1, 1e-2, 1e-3", 3),
    ("threshold L2 literal", "0.1, 1e-2", 2),
    ("threshold L1 r2", "0.1, 1e-3", 1),
    ("threshold L2 prenoise", "0.1, 1e-2, 1e-3", 2),
    ("threshold L2 1+2", "0.1, 1e-2", 4),
    ("threshold L2 2+1", "0.1, 1e-2", 3),
    ("threshold L3", "0.1, 1e-2, 1e-2 --replicates 4", 3),
    ("threshold L3 c2", "0.1, 1e-2", 3),
    ("threshold L1 noise", "0.1, 1e-2", 3),
    ("threshold square", "0.1, 1e-2, 1e-3, 1e-4, --samples 4096 --replicates 4", 4),
    ("evolve L1 M3", "0.1, 1e-2, 1e-3", 4),
    ("evolve L2 0.4", "0.1, 1e-2, 1e-3", 2),
    ("evolve L2 0.8", "0.1, 1e-2, 1e-3", 2),
    ("evolve L2 0.95", "0.1, 1e-2, 1e-2 --replicates 4", 4),
    ("evolve L2 informed", "0.1, 1e-2", 2),
    ("evolve L2 side", "0.1, 1e-2", 3),
    ("evolve L2 prenoise", "0.1, 1e-2", 3),
    ("evolve L2 M3", "0.1, 1e-2, 1e-2 --replicates 2", 4),
    ("evolve L2 linear", "0.1, 1e-2", 3),
    ("evolve L3", "0.1, 1e-2", 3),
    ("evolve L2 1+2", "0.1, 1e-2", 2),
    ("evolve L2 2+1", "0.1, 1e-2", 2),
    ("evolve L2 c4", "0.1, 1e-2", 2),
    ("evolve L1 noise", "0.1", 3),
    ("evolve untied", "0.1, 3e-2", 3),
    ("evolve limit L3", "0.1, 3e-2", 2),
    ("evolve limit flow", "0.1, 1e-2", 2),
    ("evolve heads", "0.1, 5e-2", 2),
    ("evolve square", "0.1, 1e-2, 1e-3, --samples 2048 --replicates 2", 4),
    ("evolve square noise", "0.1, 1e-2", 3),
    ("curve L2", "0.1, 5e-2, 1e-2", 3),
    ("curve L1 M3", "0.1, 1e-2", 3),
    ("curve L2 prenoise", "0.1, 1e-2", 2),
    ("curve square", "5e-2, 1e-2", 3),
    ("entropy L2 0.3", "0.1, 1e-2, 1e-3", 2),
    ("entropy L2 0.8", "0.1, 1e-2", 2),
    ("entropy L1 M3", "0.1, 1e-2, 1e-2 --replicates 4", 4),
    ("entropy L3", "0.1, 1e-2", 2),
    ("entropy square", "0.1, 1e-2", 4),
    ("channel L2", "1e-2, 1e-4, 1e-6", 1),
    ("channel L2 small V", "1e-2, 1e-4", 1),
    ("channel L3", "1e-2, 1e-3", 1),
    ("channel L2 M3", "1e-1, 1e-2", 2),
    ("channel L1 r2 M3", "1e-1, 1e-2", 2),
    ("channel untied", "1e-2, 1e-4", 1),
    ("channel limit L3", "1e-2, 1e-4", 1),
    ("channel heads", "1e-1, 3e-2", 1),
    ("channel sequence", "1e-2, 1e-3", 1),
    ("channel thin noise", "1e-2, 1e-3", 1),
    ("channel L1 noise", "1e-2, 1e-3", 1),
    ("trajectory L2", "--samples 2048, --samples 8192", 4),
    ("trajectory L2 damped", "--samples 2048, --samples 8192", 3),
    ("trajectory L1 M3", "--samples 2048, --samples 8192", 4),
]

QUICK = [
    ("threshold L1", "1e-2", 1),
    ("threshold L2", "0.1, 1e-3", 1),
    ("threshold L2 M3", "--samples 4096 --replicates 2, --samples 4096 --replicates 4, 1e-2", 4),
    ("threshold L2 linear", "1e-2", 2),
    ("threshold L2 1+2", "0.1", 2),
    ("threshold L2 2+1", "0.1", 1),
    ("threshold L3 c2", "1e-2", 1),
    ("threshold L1 r3 M4", "0.1", 2),
    ("threshold L1 noise", "0.1", 2),
    ("threshold untied", "3e-2", 2),
    ("threshold limit L2", "1e-2", 2),
    ("threshold L2 noise", "0.1", 2),
    ("threshold L2 M8", "3e-2", 2),
    ("threshold square", "1e-2, 1e-3", 3),
    ("evolve L1 M3", "1e-2", 3),
    ("evolve L2 prenoise", "0.1", 1),
    ("evolve square", "1e-2", 3),
    ("curve L2", "5e-2", 1),
    ("curve square", "5e-2", 1),
    ("entropy L1 M3", "1e-2", 2),
    ("entropy square", "1e-2", 2),
    ("channel L2", "1e-4", 1),
    ("channel L1 r2 M3", "1e-1", 1),
    ("trajectory L1 M3", "--samples 2048", 2),
]


def command_of(c, extra):
    """The arguments of stair for a case."""
    words = [c["kind"], c["model"]]
    if c["kind"] == "trajectory":
        words = ["amp", c["model"]] + ("--theory trajectory --history --seeds 1 --test-samples 16 "
                                       "--perfect 1e-15 --tolerance 1e-15").split()
    if c["kind"] in ("threshold", "evolve", "entropy"):
        extra = ["--patience", "0"] + extra
    return words + c["args"] + extra


def run(program, words, threads):
    command = [program] + words + ["--threads", str(threads), "--json", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 3):
        raise RuntimeError("%s: exit %d: %s" % (" ".join(words), done.returncode, done.stderr.strip()))
    return json.loads(done.stdout)["results"]


def numbers_of(kind, rows):
    """name -> [value, error] of every number that is compared; None stands for infinity."""
    found = {}

    def put(name, value, error):
        if value is not None and error is not None:
            found[name] = [value, error]

    for k, row in enumerate(rows):
        if kind == "threshold":
            put("step %d" % (k + 1), row["alpha"], row["error"])
        elif kind == "evolve":
            at = "%g" % row["alpha"]
            for i in range(len(row["Q"])):
                put("Q%d%d(%s)" % (i + 1, i + 1, at), row["Q"][i][i], row["Q_error"][i][i])
            for name in ("bayes", "plugin"):
                put("%s(%s)" % (name, at), row["errors"][name], row["errors"][name + "_error"])
        elif kind == "entropy":
            put("S(%g)" % row["alpha"], row["entropy"][0], row["entropy_error"][0])
            for i in range(len(row["amp_Q"])):
                put("Q%d%d" % (i + 1, i + 1), row["amp_Q"][i][i], row["amp_Q_error"][i][i])
        elif kind == "trajectory":
            if row["iteration"] and row["iteration"] % 4 == 0:
                for i in range(len(row["theory"]["Q"])):
                    put("M%d%d(%d)" % (i + 1, i + 1, row["iteration"]), row["theory"]["Q"][i][i],
                        row["theory"]["Q_error"][i][i])
    return found


def distance(a, b):
    """Relative, of arrays of any depth, in the Frobenius norm; against b."""
    def flat(x):
        return [y for z in x for y in flat(z)] if isinstance(x, list) else [x]
    a, b = flat(a), flat(b)
    norm = math.sqrt(sum(y * y for y in b))
    return math.sqrt(sum((x - y) ** 2 for x, y in zip(a, b))) / norm if norm else 0.0


def channel_pulls(rows, reference):
    """One for each point: the largest of the three deviations that the one error is for."""
    pulls = []
    for i, (row, far) in enumerate(zip(rows, reference)):
        away = max(distance(row[k], far[k]) for k in ("g", "dg"))
        away = max(away, abs(row["logz"] - far["logz"]))
        pulls.append(("point %d" % i, away / math.hypot(row["error"], far["error"])))
    return pulls


def pulls_of(c, rows, reference):
    if c["kind"] == "channel":
        return channel_pulls(rows, reference)
    pulls = []
    for name, (value, error) in numbers_of(c["kind"], rows).items():
        if name not in reference:
            continue
        true, true_error = reference[name]
        if value == true and error == 0:
            continue  # exact, and no information
        pulls.append((name, (value - true) / math.hypot(math.hypot(error, true_error), ROUNDING * abs(true))))
    return pulls


def make_reference(program, c):
    if c["exact"]:  # the one that is not a fraction has six digits
        values = {"step %d" % (k + 1): [x, 5e-7 if x == 1.128471 else 0] for k, x in enumerate(c["exact"])}
        return {"how": "closed form or literature", "values": values}
    how = ["--samples", "1048576"] if c["kind"] == "trajectory" else ["--precision", str(c["precision"])]
    words = command_of(c, c["reference"] + how)
    if c["kind"] != "channel":  # whose points are functions of the seed
        words += ["--seed", str(REFERENCE_SEED)]
    rows = run(program, words, 2)
    if c["kind"] == "channel":
        values = [{k: r[k] for k in ("logz", "g", "dg", "error")} for r in rows]
    else:
        values = numbers_of(c["kind"], rows)
    return {"how": "stair " + " ".join(words), "values": values}


def load_references():
    if os.path.exists(REFERENCE):
        with open(REFERENCE) as f:
            return json.load(f)
    return {}


def fill_references(program, only, again):
    references = load_references()
    for name, c in CASES.items():
        if only not in name or (name in references and not again):
            continue
        begun = time.time()
        references[name] = make_reference(program, c)
        print("%-24s %5.0f s" % (name, time.time() - begun), flush=True)
        with open(REFERENCE + ".new", "w") as f:
            rows = ["%s: %s" % (json.dumps(k), json.dumps(v)) for k, v in references.items()]
            f.write("{\n" + ",\n".join(rows) + "\n}\n")
        os.replace(REFERENCE + ".new", REFERENCE)


def jobs_of(listing, only, offset):
    jobs = []
    for name, variants, seeds in listing:
        for v, variant in enumerate(variants.split(", ")):
            words = ([] if variant.startswith("--") else ["--precision"]) + variant.split()
            for s in range(seeds):
                if only in name:
                    seed = [] if CASES[name]["kind"] == "channel" else ["--seed", str(offset + 1 + s + 10 * v)]
                    jobs.append((name, words + seed))
    return jobs


def carry_out(program, references, job):
    name, extra = job
    begun = time.time()
    try:
        rows = run(program, command_of(CASES[name], extra), 1)
    except RuntimeError as failure:
        print(failure, flush=True)
        return name, extra, [("no result", math.inf)], time.time() - begun
    return name, extra, pulls_of(CASES[name], rows, references[name]["values"]), time.time() - begun


def median(values):
    values = sorted(values)
    n = len(values)
    return 0.5 * (values[(n - 1) // 2] + values[n // 2]) if n else float("nan")


def histogram(values):
    edges = [0, 0.1, 0.2, 0.5, 1, 1.5, 2, 2.5, 3, 4, 5, math.inf]
    lines = []
    for low, high in zip(edges, edges[1:]):
        n = sum(low <= abs(x) < high for x in values)
        share = n / len(values)
        label = "%4.1f to %-4s" % (low, "%.1f" % high if high < math.inf else "more")
        lines.append("%s %6d  %5.1f %%  %s" % (label, n, 100 * share, "#" * round(60 * share)))
    return "\n".join(lines)


def table(results):
    """One line for each case: runs, numbers, median and largest pull."""
    lines = ["| case | runs | numbers | median | largest | beyond 3 |", "|---|---|---|---|---|---|"]
    for name in CASES:
        mine = [r for r in results if r[0] == name]
        pulls = [abs(p) for r in mine for _, p in r[2]]
        if pulls:
            lines.append("| %s | %d | %d | %.2f | %.2f | %d |"
                         % (name, len(mine), len(pulls), median(pulls), max(pulls),
                            sum(p > 3 for p in pulls)))
    return "\n".join(lines)


def judge(results):
    pulls = [p for r in results for _, p in r[2]]
    sizes = [abs(p) for p in pulls]
    runs = sum(max((abs(p) for _, p in r[2]), default=0) > 3 for r in results)
    beyond = sum(p > 3 for p in sizes)
    summary = ("%d runs, %d numbers: %d pulls beyond 3 (%.2f %%, in %d runs), largest %.2f, median %.2f"
               % (len(results), len(pulls), beyond, 100 * beyond / len(pulls), runs, max(sizes),
                  median(sizes)))
    good = beyond / len(pulls) < LIMIT_BEYOND_3 and max(sizes) <= LIMIT_MOST and median(sizes) > LIMIT_MEDIAN
    return good, summary, pulls


def main():
    parser = argparse.ArgumentParser(description="pulls of the errors that stair reports")
    parser.add_argument("--program", default=os.path.join(HERE, "..", "build", "stair"))
    parser.add_argument("--quick", action="store_true", help="the short list")
    parser.add_argument("--only", default="", metavar="WORD", help="runs whose name contains WORD")
    parser.add_argument("--offset", type=int, default=0, metavar="N", help="added to every seed: other runs")
    parser.add_argument("--reference", action="store_true", help="compute references that are missing")
    parser.add_argument("--again", action="store_true", help="with --reference: those that are there, too")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--verbose", action="store_true", help="a line for each run")
    parser.add_argument("--table", metavar="FILE", help="write the tables as markdown")
    o = parser.parse_args()
    if o.reference:
        fill_references(o.program, o.only, o.again)
        return 0
    references = load_references()
    jobs = jobs_of(QUICK if o.quick else FULL, o.only, o.offset)
    results = []
    with concurrent.futures.ThreadPoolExecutor(o.workers) as pool:
        for done in pool.map(lambda job: carry_out(o.program, references, job), jobs):
            results.append(done)
            worst = max(done[2], key=lambda p: abs(p[1]), default=("", 0))
            if o.verbose or abs(worst[1]) > 3:
                print("%-22s %-34s %6.1f s  worst pull %6.2f  %s"
                      % (done[0], " ".join(done[1]), done[3], worst[1], worst[0]), flush=True)
    good, summary, pulls = judge(results)
    print(table(results))
    print(histogram(pulls))
    print(summary)
    if o.table:
        with open(o.table, "w") as f:
            f.write(summary + ".\n\n" + table(results) + "\n\n```\n" + histogram(pulls) + "\n```\n")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
