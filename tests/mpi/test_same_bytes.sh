#!/usr/bin/env bash
# Every command of commands.txt prints the same bytes and exits the same way on 1, 2, 3 and 5 ranks of 1 and 2
# threads as `stair` does in one process; files that rank 0 writes are the same, too.
. "$(dirname "$0")/lib.sh"
make_data
head -n 40 "$ROOT/data/questions.label" >questions.label
cp "$ROOT/data/vocab.txt" vocab.txt
list=$HERE/commands.txt
mkdir one
k=0
while IFS= read -r line; do
    k=$((k + 1))
    threads="--threads 1"
    [[ $line == models* ]] && threads=
    "$STAIR" $line $threads >one/$k 2>/dev/null
    echo "exit $?" >>one/$k
done <"$list"
cp fit.json fit.one
cp W.npz W.one

for count in 1 2 3 5; do
    mkdir "r$count"
    ranks $count "$COMMANDS" "$list" "r$count" 2>stderr || fail "$count ranks" "$(head -c 400 stderr)"
    for k in $(seq $k); do
        for threads in 1 2; do
            cmp -s "one/$k" "r$count/$k.$threads" ||
                fail "$(sed -n ${k}p "$list")" "$count ranks, $threads threads" \
                    "$(diff "one/$k" "r$count/$k.$threads" | head -c 400)"
        done
    done
    cmp -s fit.json fit.one || fail "files of $count ranks: JSON"
    cmp -s W.npz W.one || fail "files of $count ranks: NPZ"
    [ -z "$(ls -A | grep -E 'state|tmp')" ] || fail "$count ranks leave files behind" "$(ls -A)"
    pass "$(wc -l <"$list") commands on $count ranks, 1 and 2 threads"
done

# What is said is said once, and all ranks exit alike.
ranks 3 "$MPI" threshold nosuch >stdout 2>stderr
[ $? = 2 ] && [ "$(grep -c "unknown model" stderr)" = 1 ] || fail "one message, exit 2" "$(cat stderr)"
pass "one message, exit 2"
ranks 3 "$MPI" amp square --dim 20 --alpha 2 --max-iterations 2 --theory none --out one.csv >/dev/null 2>stderr
[ $? = 3 ] && [ "$(grep -c "had not converged" stderr)" = 1 ] && [ -f one.csv ] || fail "exit 3" "$(cat stderr)"
ranks 2 "$MPI" amp square --dim 20 --alpha 2 --max-iterations 2 --theory none --out one.csv >/dev/null 2>stderr
[ $? = 2 ] && grep -q "one.csv: exists" stderr || fail "an existing file is not replaced" "$(cat stderr)"
pass "files: one writer, none replaced"
finish
