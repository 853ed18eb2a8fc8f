#!/usr/bin/env python3
"""kill -9 at random moments in every command that keeps a checkpoint, and the same bytes in the end.

    kills.py PROGRAM [--kills 1000] [--seed 1] [--only "NAME;NAME..."]

Each command runs once undisturbed.  Then it is started with --resume again and again, each time killed at a
random moment of the time it needs, until a start comes to its end before its kill.  A kill between the result and
the removal of the checkpoint leaves both, hence --force.  What it wrote must be what
the undisturbed run wrote, byte for byte, with the same exit status, and nothing else may be left in the folder.
The folder is thrown away and the next command follows, until there were so many kills.
"""
import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

MODEL = "attention:layers=1"
AMP = f"amp {MODEL} --dim 60 --max-iterations 12 --theory none --checkpoint-every 0"
# name: share of the kills, fewer where a run takes seconds, and the command
COMMANDS = {
    "evolve": (10, f"evolve {MODEL} --alpha 0.01:0.06:0.01 --precision 0.1 --from uninformed --out r.csv"),
    "threshold of a grid": (12, f"threshold {MODEL} --set skip=0.5:2:0.25 --precision 0.02 --out r.csv"),
    "entropy": (3, "entropy square --alpha 0.2,0.3,0.4 --precision 0.2 --out r.json"),
    "amp": (12, f"{AMP} --alpha 1,2 --seeds 3 --out r.csv"),
    "amp, history": (10, f"{AMP} --alpha 2 --history --out r.npz"),
    "amp, regenerated": (10, f"{AMP} --alpha 1 --regenerate --seeds 2 --out r.json"),
    "amp, given data": (10, f"amp {MODEL},noise=0.1 --data x.npy y.npy --max-iterations 12 --precision 0.1 "
                            "--checkpoint-every 0 --save w.npz --out r.csv"),
    "sgd": (16, "sgd attention:layers=2 --dim 50 --alpha 10 --epochs 40 --seeds 3 --test-samples 64 --shuffle "
                "--checkpoint-every 0 --out r.csv"),
    "train": (16, "train --data asked --vocab vocab --classes A,B --dim 8 --rank 2 --layers 2 --epochs 60 --batch 4 "
                  "--validation 0 --checkpoint-every 0 --save w.npz --out r.json"),
    "figure": (1, "figure fig2-top --quick --precision 0.5 --out fig"),
}


def write_npy(name, shape, values):
    head = "{'descr': '<f8', 'fortran_order': False, 'shape': %s, }" % (shape,)
    head += " " * (-(10 + len(head) + 1) % 64) + "\n"
    import array
    with open(name, "wb") as out:
        out.write(b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode())
        array.array("d", values).tofile(out)


def prepare(folder):
    rng = random.Random(1)
    here = os.getcwd()
    os.chdir(folder)
    write_npy("x.npy", (60, 2, 30), [rng.gauss(0, 1) for _ in range(60 * 2 * 30)])
    write_npy("y.npy", (60, 2, 2), [0.6, 0.4, 0.5, 0.5] * 60)
    with open("vocab", "w") as out:
        out.write("[PAD]\n[UNK]\n[CLS]\n[SEP]\na\nb\nc\n")
    with open("asked", "w") as out:
        for i in range(10):
            out.write("A:x a b %s\nB:x c a\n" % " ".join("a" * (1 + i % 3)))
    os.chdir(here)


def written(folder, given):
    """{file: bytes} of what stands below a folder, beside what was given."""
    found = {}
    for place, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(place, name)
            relative = os.path.relpath(path, folder)
            if relative not in given:
                with open(path, "rb") as file:
                    found[relative] = file.read() if not name.endswith(".pdf") else b"with the time it was drawn"
        if not names and place != folder:
            found.setdefault(os.path.relpath(place, folder) + "/", b"")
    return found


class Kills:
    def __init__(self, program, seed):
        self.program, self.rng = program, random.Random(seed)
        self.seconds = {}
        self.whole = {}
        self.count = {name: [0, 0, 0] for name in COMMANDS}  # kills, ends, wrong

    def start(self, words, place):
        return subprocess.Popen([self.program, *words, "--threads", "1", "--quiet"], cwd=place,
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def undisturbed(self, name):
        with tempfile.TemporaryDirectory() as place:
            prepare(place)
            given = set(os.listdir(place))
            begun = time.time()
            process = self.start(COMMANDS[name][1].split(), place)
            _, said = process.communicate()
            self.seconds[name] = time.time() - begun
            self.whole[name] = (process.returncode, written(place, given))
            if process.returncode not in (0, 3):
                raise SystemExit("%s: no clean run: %s" % (name, said.decode(errors="replace")))

    def round(self, name, most):
        """One life of a command, with at most so many kills; what is wrong, or None."""
        count = self.count[name]
        with tempfile.TemporaryDirectory() as place:
            prepare(place)
            given = set(os.listdir(place))
            words = COMMANDS[name][1].split()
            for attempt in range(1000):
                again = ["--resume"] if words[0] == "figure" else ["--resume", "--force"]
                process = self.start(words + (again if attempt else []), place)
                try:
                    if count[0] >= most or attempt > 200:
                        _, said = process.communicate(timeout=600)
                    else:
                        _, said = process.communicate(timeout=self.rng.uniform(0, 0.6 * self.seconds[name]))
                except subprocess.TimeoutExpired:
                    process.send_signal(signal.SIGKILL)
                    process.communicate()
                    count[0] += 1
                    if process.returncode == -signal.SIGKILL:
                        continue
                    said = b""
                break
            count[1] += 1
            code, files = self.whole[name]
            got = written(place, given)
            if process.returncode != code:
                wrong = "exit %s, not %s: %s" % (process.returncode, code, said.decode(errors="replace")[:300])
            elif got != files:
                other = sorted(k for k in set(got) | set(files) if got.get(k) != files.get(k))
                wrong = "other files or bytes: %s" % other
            else:
                return None
            count[2] += 1
            return wrong


def main():
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("program")
    parse.add_argument("--kills", type=int, default=1000)
    parse.add_argument("--seed", type=int, default=1)
    parse.add_argument("--only", default="")
    args = parse.parse_args()
    kills = Kills(os.path.abspath(args.program), args.seed)
    names = [name for name in COMMANDS if not args.only or name in args.only.split(";")]
    whole = sum(COMMANDS[name][0] for name in names)
    bad = 0
    for name in names:
        share = -(-args.kills * COMMANDS[name][0] // whole)
        kills.undisturbed(name)
        while kills.count[name][0] < share:
            wrong = kills.round(name, share)
            if wrong:
                bad += 1
                print("FAILED: %s: %s" % (name, wrong), flush=True)
        print("%-32s %5d kills %4d ends %2d wrong, %.2f s undisturbed"
              % (name, *kills.count[name], kills.seconds[name]), flush=True)
    total = [sum(kills.count[name][k] for name in names) for k in range(3)]
    print("%d kills, %d ends, %d wrong" % tuple(total))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
