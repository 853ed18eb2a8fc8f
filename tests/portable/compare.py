"""compare.py OURS THEIRS: numbers of two machines, the same within three times their errors together."""
import sys

bad = 0
ours, theirs = (dict(line.rsplit(": ", 1) for line in open(name)) for name in sys.argv[1:3])
for name in sorted(set(ours) | set(theirs)):
    if name not in ours or name not in theirs:
        print("FAILED: only one has", name)
        bad += 1
        continue
    (a, da), (b, db) = (tuple(map(float, x[name].split())) for x in (ours, theirs))
    if not abs(a - b) <= 3 * (da + db):
        print("FAILED: %s: %.17g and %.17g, errors %g and %g" % (name, a, b, da, db))
        bad += 1
print("%d numbers compared, %d differ by more than their errors" % (len(ours), bad))
sys.exit(bad > 0)
