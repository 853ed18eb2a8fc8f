"""stair amp --dry-run against what runs then take: dry_run.py STAIR

Peak memory of the process, and processor time, of runs that are stopped after some iterations."""
import csv
import io
import resource
import subprocess
import sys

CASES = [  # options, iterations, the least share of the memory told that is used: the program itself is an upper limit
    ("attention:layers=2 --dim 2500 --alpha 1", 12, 0.75),
    ("attention:layers=2 --dim 1500 --alpha 1 --wide", 12, 0.75),
    ("attention:layers=1 --dim 60000 --alpha 0.002 --regenerate", 6, 0.7),
    ("square --dim 800 --alpha 20 --regenerate", 6, 0.4),
]


def run(options, iterations, *more):
    """Peak bytes, processor seconds, exit status, rows."""
    words = [sys.argv[1], "amp", *options.split(), "--max-iterations", str(iterations), "--tolerance", "1e-14",
             "--damping", "0.5", "--theory", "none", "--test-samples", "8", "--threads", "1", "--csv", *more]
    done = subprocess.run(words, capture_output=True, text=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_maxrss * 1024, used.ru_utime + used.ru_stime, done.returncode, list(csv.DictReader(io.StringIO(done.stdout)))


def one(case):
    """What is wrong; in a process of its own, since the peak is that of all children so far."""
    options, iterations, least = case
    _, dry, status, rows = run(options, iterations, "--dry-run")
    if status or len(rows) != 1:
        return f"a dry run exits with {status}"
    told = {name: float(value) for name, value in rows[0].items()}
    memory, seconds, status, rows = run(options, iterations)
    seconds -= dry
    print(f"{options}: {memory:.3g} bytes and {seconds:.3g} s, told were {told['bytes']:.3g} and {told['seconds']:.3g}")
    if status != 3 or int(rows[0]["iterations"]) != iterations:
        return f"the run exits with {status}"
    if dry > 2:
        return f"a dry run takes {dry} s"
    if not least <= memory / told["bytes"] <= 1.1:
        return "other memory"
    return None if 1 / 3 <= seconds / told["seconds"] <= 3 else "another time"


if len(sys.argv) > 2:
    wrong = one(CASES[int(sys.argv[2])])
    sys.exit(f"{CASES[int(sys.argv[2])][0]}: {wrong}" if wrong else 0)
sys.exit(any([subprocess.run([sys.executable, __file__, sys.argv[1], str(k)]).returncode for k in range(len(CASES))]))
