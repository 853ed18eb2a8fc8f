#!/usr/bin/env python3
"""Hours of GAMP with checkpoints: memory and open files stay as they are, kills do no harm.

    soak.py PROGRAM [--seconds 7200] [--seed 1] [--log FILE]

Two runs side by side.  One is a single process that iterates and writes its checkpoint after every iteration for
the whole time; its resident memory and its open files are looked at every second.  From the second eighth of the
time to the last its memory may grow by what its records take (SLACK), and its open files not at all.  The other
one is ended at random moments by SIGKILL, SIGTERM or SIGINT and resumed until it is done, over and over; each time
its results must be the bytes of an undisturbed run and no file may stay behind.
"""
import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

SLACK = 8 << 20  # bytes: two hours of records, some 20,000 of 200 bytes in two copies
STEADY = ("amp attention:layers=2,noise=0.3 --dim 1000 --alpha 2 --max-iterations 100000000 --tolerance 1e-300 "
          "--perfect 1e-300 --theory none --checkpoint-every 0 --test-samples 64 --threads 1 --quiet")
KILLED = ("amp attention:layers=2 --dim 200 --alpha 0.8,1.6 --seeds 2 --max-iterations 30 --theory none "
          "--checkpoint-every 0 --test-samples 64 --threads 2 --quiet --out r.csv")


def look(process):
    """(resident bytes, open files), or None where the process is gone."""
    try:
        with open("/proc/%d/statm" % process.pid) as file:
            resident = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        return resident, len(os.listdir("/proc/%d/fd" % process.pid))
    except (OSError, IndexError):
        return None


def start(program, line, place):
    return subprocess.Popen([program, *line.split()], cwd=place, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL)


def contents(place):
    return {name: open(os.path.join(place, name), "rb").read() for name in sorted(os.listdir(place))}


class Killed:
    """The run that is ended at random, stepped from outside."""

    def __init__(self, program, base, seed):
        self.program, self.base, self.rng = program, base, random.Random(seed)
        self.kills = self.ends = self.wrong = 0
        self.most = [0, 0]
        with tempfile.TemporaryDirectory(dir=base) as place:
            begun = time.time()
            self.code = start(program, KILLED, place).wait()
            self.seconds = time.time() - begun
            self.whole = contents(place)
        self.process = self.place = None

    def next(self):
        if self.place is None:
            self.place = tempfile.TemporaryDirectory(dir=self.base)
            self.process = start(self.program, KILLED, self.place.name)
        else:
            self.process = start(self.program, KILLED + " --resume", self.place.name)
        self.until = time.time() + self.rng.uniform(0, self.seconds)

    def step(self):
        if self.process is None:
            self.next()
        seen = look(self.process)
        if seen:
            self.most = [max(a, b) for a, b in zip(self.most, seen)]
        code = self.process.poll()
        if code is None and time.time() < self.until:
            return
        if code is None:
            how = self.rng.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
            self.process.send_signal(how)
            code = self.process.wait()
            if code in (-signal.SIGKILL, 128 + signal.SIGTERM, 128 + signal.SIGINT):
                self.kills += 1
                self.process = None
                return
        self.ends += 1
        if code != self.code or contents(self.place.name) != self.whole:
            self.wrong += 1
            got = contents(self.place.name)
            print("FAILED: exit %d, not %d, or other files: %s" % (code, self.code, sorted(got)))
            for name in got:
                print("%s: %r, not %r" % (name, got[name][:2000], self.whole.get(name, b"")[:2000]), flush=True)
        self.place.cleanup()
        self.process = self.place = None

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()
        if self.place:
            self.place.cleanup()


def soak(program, seconds, seed, log, base):
    killed = Killed(program, base, seed)
    place = os.path.join(base, "steady")
    os.mkdir(place)
    steady = start(program, STEADY + " --checkpoint ck", place)
    begun = time.time()
    samples = []
    print("started: %d s, process %d" % (seconds, steady.pid), file=log, flush=True)
    said = 0
    while time.time() - begun < seconds and steady.poll() is None:
        seen = look(steady)
        if seen:
            samples.append((time.time() - begun, *seen))
        killed.step()
        if time.time() - begun > said:
            print("%6.0f s: %.1f MB, %d files; %d kills, %d ends, %d wrong"
                  % (samples[-1][0], samples[-1][1] / 1e6, samples[-1][2], killed.kills, killed.ends, killed.wrong),
                  file=log, flush=True)
            said += max(10, seconds / 100)
        time.sleep(min(1, 0.1 * killed.seconds))
    alive = steady.poll() is None
    killed.stop()
    steady.send_signal(signal.SIGTERM)
    code = steady.wait()
    part = lambda k: [s for s in samples if k * seconds / 8 <= s[0] < (k + 1) * seconds / 8]
    ok = alive and code == 128 + signal.SIGTERM and part(1) and part(7)
    if ok:
        early, late = (max(s[1] for s in part(k)) for k in (1, 7))
        files = [max(s[2] for s in part(k)) for k in (1, 7)]
        print("memory %.1f MB, then %.1f MB; open files at most %d, then %d; the killed run had at most %.1f MB, %d files"
              % (early / 1e6, late / 1e6, *files, killed.most[0] / 1e6, killed.most[1]), file=log)
        ok = late <= early + SLACK and files[1] <= files[0]
    else:
        print("FAILED: the steady run ended by itself, exit %d" % code, file=log)
    left = [n for n in os.listdir(place) if not n.startswith("ck")]
    if left:
        print("FAILED: left behind: %s" % left, file=log)
    print("%.0f s, %d kills, %d ends, %d wrong" % (time.time() - begun, killed.kills, killed.ends, killed.wrong),
          file=log, flush=True)
    return 0 if ok and not left and not killed.wrong else 1


def main():
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("program")
    parse.add_argument("--seconds", type=float, default=7200)
    parse.add_argument("--seed", type=int, default=1)
    parse.add_argument("--log", default="")
    args = parse.parse_args()
    log = open(args.log, "a") if args.log else sys.stdout
    with tempfile.TemporaryDirectory() as base:
        return soak(os.path.abspath(args.program), args.seconds, args.seed, log, base)


if __name__ == "__main__":
    sys.exit(main())
