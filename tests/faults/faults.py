#!/usr/bin/env python3
"""Every command with one failing call: of memory, synchronisation, renaming, mapping, threads, or a file that may
not grow further.

    faults.py PROGRAM LIBRARY [--all] [--only TEXT]

The verdict is by rule.  A run either gives the bytes of an undisturbed run and its exit code, or it ends with
code 1, one line on standard error, nothing on standard output, no result and no temporary file.  A checkpoint
may stay.  Nothing else passes: no signal, no other reason, no other number.  Memory full of one byte when it is
allocated (NaN, or 1e306) fails nothing and changes nothing.  Without --all a sample of the calls
fails; with it every one, or MOST of a kind and command.
"""
import concurrent.futures
import os
import resource
import shutil
import subprocess
import sys
import tempfile

import numpy as np

MOST = 1500  # calls of one kind that fail with --all, evenly chosen where there are more
SAMPLE = 10   # without
SECONDS = 60

COMMANDS = {
    "models": ("models --json --out OUT.npz", "json"),
    "models table": ("models attention:layers=2 --out OUT.csv", ""),
    "channel": ("channel attention:layers=2 --points 3 --json --out OUT.npz --precision 0.01", ""),
    "channel files": ("channel attention:layers=1 --logits logits.npy --omega omega.npy --cov cov.npy --out OUT.json", ""),
    "diagnose": ("diagnose attention:layers=1 --points 3 --json", ""),
    "threshold": ("threshold attention:layers=1 --precision 0.1 --json --out OUT.csv", ""),
    "threshold of two layers": ("threshold attention:layers=2 --precision 0.1 --steps 1 --csv", ""),
    "evolve": ("evolve attention:layers=1 --alpha 0.02 --precision 0.1 --from uninformed --out OUT.json", ""),
    "entropy": ("entropy square --alpha 0.1 --precision 0.1 --out OUT.npz", ""),
    "amp": ("amp attention:layers=1 --dim 6 --alpha 2 --max-iterations 2 --theory none --history --out OUT.json", ""),
    "amp files": ("amp attention:layers=1 --data x.npy,x.npy logits4.npy,logits4.npy --logits --max-iterations 1 --out OUT.csv", ""),
    "amp data": ("amp attention:layers=1 --data x.npy logits4.npy --logits --predict x.npy --max-iterations 1 --out OUT.csv", ""),
    "sgd": ("sgd attention:layers=1 --dim 6 --alpha 2 --epochs 2 --test-samples 8 --seeds 2 --out OUT.npz", ""),
    "train": ("train --data asked --vocab vocab --classes A,B --dim 4 --rank 1 --layers 1 --epochs 1 --batch 4 "
              "--validation 0 --save SAVE.npz --out OUT.json", ""),
    "predict": ("train --weights w.npz --vocab vocab --predict asked --json", ""),
    "tokenize": ("tokenize asked --vocab vocab", ""),
    "report": ("report r.json r.csv r.npz --out OUT.html", ""),
}


def prepare(program, folder):
    rng = np.random.default_rng(1)
    os.chdir(folder)
    np.save("logits.npy", np.log(np.full((2, 2, 2), 0.5)))
    np.save("omega.npy", np.zeros((2, 1, 2)))
    np.save("cov.npy", np.eye(1))
    np.save("x.npy", rng.normal(size=(4, 2, 3)))
    np.save("logits4.npy", np.log(np.full((4, 2, 2), 0.5)))
    open("vocab", "w").write("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "b", "c"]) + "\n")
    open("asked", "w").write("A:x a b\nB:x c a\nA:x b\nB:x c c\n")
    run = lambda *words: subprocess.run([program, *words], check=False, capture_output=True)
    run(*COMMANDS["train"][0].replace("SAVE.npz", "w.npz").replace("OUT", "trained").split())
    for form in "json", "csv", "npz":
        run("channel", "attention:layers=1", "--points", "3", "--out", "r." + form)


class Fault:
    def __init__(self, program, library, base):
        self.program, self.library, self.base = program, library, base

    def run(self, words, kind, at, limit=None):
        """(exit code, standard output, standard error, {file: bytes}, calls)"""
        with tempfile.TemporaryDirectory(dir=self.base) as place:
            for name in os.listdir(os.path.join(self.base, "input")):
                os.symlink(os.path.join(self.base, "input", name), os.path.join(place, name))
            before = set(os.listdir(place))
            count = os.path.join(self.base, "count-" + os.path.basename(place))
            env = {"PATH": "/usr/bin:/bin", "LD_PRELOAD": self.library, "FAULT_KIND": kind, "FAULT_AT": str(at),
                   "FAULT_COUNT": count}
            if kind == "fill":
                env["FAULT_FILL"] = str(at)
            threads = "3" if kind == "thread" else "1"
            extra = [] if words[0] in ("models", "tokenize", "report") else ["--threads", threads]
            def narrow():
                if limit is not None:
                    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
            try:
                done = subprocess.run([self.program, *words, *extra], cwd=place, env=env, capture_output=True,
                                      timeout=SECONDS, preexec_fn=narrow, stdin=subprocess.DEVNULL)
            except subprocess.TimeoutExpired:
                return "timeout", b"", b"", {}, 0
            files = {}
            for name in sorted(set(os.listdir(place)) - before):
                files[name] = open(os.path.join(place, name), "rb").read()
            calls = int(open(count).read() or 0) if os.path.exists(count) else 0
            if os.path.exists(count):
                os.remove(count)
            return done.returncode, done.stdout, done.stderr, files, calls


def verdict(clean, got, kind):
    """None, or what is wrong."""
    if kind == "fill" and got[0] != clean[0]:
        return "exit %s: %s" % (got[0], got[2][:200].decode(errors="replace"))
    code, out, err, files, _ = got
    if code == clean[0]:
        if out == clean[1] and files == clean[3]:
            return None
        return "other bytes with exit %s" % code
    if code != 1:
        return "exit %s: %s" % (code, err[:200].decode(errors="replace"))
    lines = err.decode(errors="replace").splitlines()
    if len(lines) != 1 or not lines[0].startswith("stair: ") or len(lines[0]) < 10:
        return "messages: %r" % lines[:3]
    results = [n for n in files if ".state" not in n and files[n] != clean[3].get(n)]
    if results:
        return "left behind: %s" % results
    return None


def main():
    program, library = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    everything = "--all" in sys.argv
    only = sys.argv[sys.argv.index("--only") + 1] if "--only" in sys.argv else ""
    cuda = b"cudart" in open(program, "rb").read()  # its runtime library dies if its first malloc fails
    base = tempfile.mkdtemp()
    os.mkdir(os.path.join(base, "input"))
    prepare(program, os.path.join(base, "input"))
    fault = Fault(program, library, base)
    tried = bad = 0
    pool = concurrent.futures.ThreadPoolExecutor(int(os.environ.get("JOBS", "2")))
    for name, (line, _) in COMMANDS.items():
        if only not in name:
            continue
        words = line.split()
        clean = fault.run(words, "", 0)
        again = fault.run(words, "", 0)
        if clean[:4] != again[:4] or clean[0] not in (0, 3):
            print("FAILED: %s: no clean run: exit %s %s" % (name, clean[0], clean[2][:200]))
            bad += 1
            continue
        jobs = []
        for kind in "memory", "sync", "rename", "map", "thread":
            calls = fault.run(words, kind, 0)[4]
            step = max(1, -(-calls // (MOST if everything else SAMPLE)))
            jobs += [(kind, at, None) for at in range(1 + (cuda and kind == "memory"), calls + 1, step)]
        sizes = [len(v) for v in clean[3].values()] + [len(clean[1]), 4096]
        edges = sorted({0, 1, 100} | {s // 2 for s in sizes} | {max(0, s - 1) for s in sizes})
        jobs += [("size", size, size) for size in (edges if everything else edges[::3])]
        jobs += [("fill", byte, None) for byte in (0xff, 0x7f)]
        results = pool.map(lambda j: (j, verdict(clean, fault.run(words, *j), j[0])), jobs)
        for (kind, at, _), wrong in results:
            tried += 1
            if wrong:
                bad += 1
                print("FAILED: %s: %s %d: %s" % (name, kind, at, wrong), flush=True)
        print("ok: %s, %d faults so far" % (name, tried), flush=True)
    shutil.rmtree(base)
    print("%d faults, %d passed, %d failed" % (tried, tried - bad, bad))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
