#!/usr/bin/env python3
"""pack.py FOLDER... > corpus/NAME.txt: files as lines that smoke.c reads, each once.

The first folder has inputs that people chose; the others what libFuzzer left, by fuzz_NAME -merge=1 SMALL FOUND.  Of
each the shortest come first, up to a length.
"""
import pathlib
import sys

LARGEST = 3000         # bytes of an input
ROOM = [16000, 10000]  # letters for the first folder, and for the others


def line_of(data):
    return "".join("\\\\" if b == 92 else "\\n" if b == 10 else chr(b) if 32 <= b < 127 else "\\x%02x" % b for b in data)


def files(folder):
    return {path.read_bytes() for path in pathlib.Path(folder).iterdir()}


def main():
    first = files(sys.argv[1])
    others = set().union(*map(files, sys.argv[2:])) - first
    for inputs, room in zip((first, others), ROOM):
        for data in sorted(inputs, key=lambda d: (len(d), d)):
            line = line_of(data)
            room -= len(line) + 1
            if len(data) <= LARGEST and room >= 0:
                print(line)


main()
