"""A checkpoint with some bytes changed and its checksum right again, as somebody hostile would make it.

    checkpoint.py FILE OFFSET FORMAT VALUE     payload bytes from OFFSET on, struct's FORMAT
"""
import struct
import sys

MASK = (1 << 64) - 1


def checksum(h, data):
    """FNV-1a on words, as src/io/checkpoint.c has it."""
    whole = len(data) // 8 * 8
    for (word,) in struct.iter_unpack("<Q", data[:whole]):
        h = (h ^ word) * 0x100000001B3 & MASK
        h ^= h >> 29
    for byte in data[whole:]:
        h = (h ^ byte) * 0x100000001B3 & MASK
    return h


path, offset, form, value = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
data = bytearray(open(path, "rb").read())
struct.pack_into(form, data, 32 + offset, float(value) if form[-1] in "df" else int(value))
total = checksum(checksum(0xCBF29CE484222325, data[:32]), data[32:-8])
data[-8:] = struct.pack("<Q", total)
open(path, "wb").write(data)
