#!/usr/bin/env bash
# Shapes that would take too long are refused by their first posteriors, with what they would cost; what is found
# before is printed; a label that tells nothing is said to tell nothing.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

hard=attention:layers=3,tokens=4,rank=2
refuse "an average that takes too long" 'would take about .* of one core.*--patience' \
    "$STAIR" threshold $hard --precision 1e-2 --patience 0.1
cp stderr first
refuse "on one thread, too" 'would take about' \
    "$STAIR" threshold $hard --precision 1e-2 --patience 0.1 --threads 1
cmp -s stderr first || fail "the cost is counted, not timed" "$(cat first stderr)"
pass "the cost is counted, not timed"
refuse "evolve" 'would take about' "$STAIR" evolve $hard --alpha 0.3 --precision 1e-2 --patience 0.05
refuse "negative patience" 'patience' "$STAIR" threshold $hard --patience -1

expect "steps that were found are printed" 3 'after 1 steps an average .* would take about' \
    "$STAIR" threshold attention:layers=2,noise=0.1 --precision 3e-2 --patience 0.05
grep -q '^weak' stdout || fail "the first step is there" "$(cat stdout)"
pass "the first step is there"
expect "a step is kept where sharpening it takes too long" 3 'raise --patience' \
    "$STAIR" threshold attention:layers=1,noise=0.1 --steps 1 --precision 1e-2 --patience 0.02
grep -q '^weak' stdout || fail "the coarse step is there" "$(cat stdout)"
pass "the coarse step is there"
expect "with samples given there is no limit" 0 '^weak' \
    "$STAIR" threshold attention:layers=1,noise=0.1 --steps 1 --samples 1024 --precision 0.2 --patience 1e-9

expect "one token: a constant label" 0 '^weak +never' "$STAIR" threshold attention:layers=1,tokens=1
expect "any depth" 0 '^weak +never' "$STAIR" threshold attention:layers=3,tokens=1,rank=2
finish
