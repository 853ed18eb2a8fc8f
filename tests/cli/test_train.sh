# sgd and train: bad input by file and line, the same bytes for any number of threads, exact resume after
# a kill, weights that come back, predictions.
. "$(dirname "$0")/lib.sh"
ROOT=$(realpath "$TESTS/../..")
VOCAB=$ROOT/data/vocab.txt
DATA=$ROOT/data/questions.label

printf 'NUM:date When ?\n\nHUM:ind Who ?\n' >empty.label
printf 'NUM:date When ?\nNAME:x Who ?\n' >unknown.label
printf 'NUM:date When ?\nHUM:ind W\xe9 ?\n' >latin.label
printf 'NUM:date When ?\nHUM:ind\n' >bare.label
: >nothing.label
printf '[PAD]\n[UNK]\n[CLS]\na\n' >short.vocab
printf '[PAD]\n[UNK]\n[CLS]\n[SEP]\na\na\n' >twice.vocab
printf '[PAD]\n\n[CLS]\n' >hole.vocab
mkfifo pipe
mkdir folder

refuse "empty line" 'empty.label:2: empty line' "$STAIR" train --data empty.label --vocab "$VOCAB"
refuse "unknown label" "unknown.label:2: unknown label 'NAME'" "$STAIR" train --data unknown.label --vocab "$VOCAB"
refuse "bad encoding" 'latin.label:2: byte 10 \(0xE9\) is not UTF-8' "$STAIR" train --data latin.label --vocab "$VOCAB"
refuse "label without a question" 'bare.label:2: a label without' "$STAIR" train --data bare.label --vocab "$VOCAB"
refuse "empty file" 'nothing.label: no questions' "$STAIR" train --data nothing.label --vocab "$VOCAB"
refuse "missing data" 'absent.label: No such file' "$STAIR" train --data absent.label --vocab "$VOCAB"
refuse "missing vocabulary" 'absent.txt: No such file' "$STAIR" train --data "$DATA" --vocab absent.txt
refuse "vocabulary without [SEP]" 'short.vocab: .*\[SEP\] is missing' "$STAIR" train --data "$DATA" --vocab short.vocab
refuse "token twice" "twice.vocab:6: 'a' stands already on line 5" "$STAIR" tokenize --vocab twice.vocab "$DATA"
refuse "hole in the vocabulary" 'hole.vocab:2: empty line' "$STAIR" tokenize --vocab hole.vocab "$DATA"
refuse "FIFO" 'pipe: not a regular file' "$STAIR" tokenize --vocab "$VOCAB" pipe
refuse "folder" 'folder: not a regular file' "$STAIR" tokenize --vocab "$VOCAB" folder
"$STAIR" tokenize --vocab "$VOCAB" "$DATA" >ids || fail "tokenize"
"$STAIR" tokenize --vocab "$VOCAB" <"$DATA" | cmp -s - ids || fail "standard input, no FILE"
cat "$DATA" | "$STAIR" tokenize --vocab "$VOCAB" - | cmp -s - ids || fail "standard input, -"
for _ in $(seq 40); do cat "$DATA"; done >much # beyond one buffer
"$STAIR" tokenize --vocab "$VOCAB" much >ids && "$STAIR" tokenize --vocab "$VOCAB" - <much | cmp -s - ids || fail "much on standard input"
pass "standard input is tokenized as a file is"
refuse "nothing on standard input" 'standard input: no questions' "$STAIR" tokenize --vocab "$VOCAB" -
refuse "no vocabulary" 'needs a vocabulary' "$STAIR" tokenize -
refuse "standard input: encoding" 'standard input:2: byte 10' bash -c "\"$STAIR\" tokenize --vocab \"$VOCAB\" - <latin.label"
refuse "tokenize: encoding" 'latin.label:2: byte 10' "$STAIR" tokenize --vocab "$VOCAB" latin.label
refuse "nothing to do" 'needs --data and --vocab' "$STAIR" train
refuse "weights that are none" 'questions.label: not an NPZ' "$STAIR" train --weights "$DATA" --vocab "$VOCAB" --predict "$DATA"
refuse "save where it cannot be" 'absent/w.npz' "$STAIR" train --data "$DATA" --vocab "$VOCAB" --save absent/w.npz
refuse "save of several runs" 'one seed' "$STAIR" train --data "$DATA" --vocab "$VOCAB" --save w.npz --seeds 2
refuse "decay that flips signs" 'weight-decay must be' "$STAIR" train --data "$DATA" --vocab "$VOCAB" --rate 1 --weight-decay 1
expect "a run that diverges" 3 "diverged: steps are too long for this model; try --rate 1.5" \
    "$STAIR" sgd square --dim 100 --epochs 5
refuse "resume of nothing" 'resume needs' "$STAIR" sgd attention:layers=2 --resume
refuse "negative alpha" 'alpha' "$STAIR" sgd attention:layers=2 --alpha=-1
refuse "dim 0" 'dim' "$STAIR" sgd attention:layers=2 --dim 0

TRAIN=("$STAIR" train --data "$DATA" --vocab "$VOCAB" --rate 2e-3 --dim 20 --rank 6 --epochs 8 --seeds 3 --records 2 --csv)
SGD=("$STAIR" sgd attention:layers=2,tokens=3,rank=2+1 --dim 40 --epochs 12 --seeds 3 --csv)
for threads in 1 2 3 7; do
    "${TRAIN[@]}" --threads $threads >train.$threads || fail "train, $threads threads"
    "${SGD[@]}" --threads $threads >sgd.$threads || fail "sgd, $threads threads"
    cmp -s train.1 train.$threads || fail "train gives other bytes with $threads threads"
    cmp -s sgd.1 sgd.$threads || fail "sgd gives other bytes with $threads threads"
done
pass "the same bytes with 1, 2, 3, 7 threads"
"${SGD[@]}" --shuffle >sgd.shuffled && ! cmp -s sgd.1 sgd.shuffled || fail "--shuffle changes nothing"
"$STAIR" sgd attention:layers=2 --dim 30 --alpha 0 --epochs 3 --csv >stdout || fail "alpha 0"
pass "alpha 0"

# kill -9 in the middle, then resume: the same bytes as in one go
interrupted() { # NAME SIGNAL COMMAND...: with --checkpoint state, killed once it has a checkpoint
    local name=$1 signal=$2 process tries=0
    shift 2
    rm -f state.*
    "$@" --threads 1 >whole || fail "$name: whole run"
    (trap - INT; exec "$@" --threads 1 --checkpoint state --checkpoint-every 0.05 >cut 2>stderr) &
    process=$!
    while [ ! -e state.0 ] && [ $((tries += 1)) -lt 400 ]; do sleep 0.02; done
    kill -"$signal" $process 2>/dev/null
    wait $process 2>/dev/null
    status=$?
    ls state.0 >/dev/null 2>&1 || fail "$name: no checkpoint"
    "$@" --threads 2 --checkpoint state --resume >resumed 2>stderr || fail "$name: resume" "$(cat stderr)"
    cmp -s whole resumed || fail "$name: other bytes after resume"
    [ -z "$(ls | grep '^state')" ] || fail "$name: checkpoint left behind"
    pass "$name, exit $status, resumed to the same bytes"
}
LONG_TRAIN=("$STAIR" train --data "$DATA" --vocab "$VOCAB" --rate 2e-3 --epochs 150 --csv)
LONG_SGD=("$STAIR" sgd attention:layers=2 --dim 200 --epochs 500 --seeds 2 --shuffle --csv)
interrupted "train, SIGTERM" TERM "${LONG_TRAIN[@]}"
interrupted "sgd, SIGTERM" TERM "${LONG_SGD[@]}"
interrupted "sgd, SIGINT" INT "${LONG_SGD[@]}"
interrupted "train, SIGKILL" KILL "${LONG_TRAIN[@]}"

# a checkpoint of other options is refused; a damaged one falls back to the one before
(trap - INT; exec "${LONG_SGD[@]}" --checkpoint state --checkpoint-every 0.05 >cut 2>stderr) &
process=$!
for i in $(seq 400); do [ -e state.0 ] && break; sleep 0.02; done
kill -TERM $process
wait $process
ls state.0 >/dev/null 2>&1 || fail "no checkpoint after SIGTERM"
expect "checkpoint of another request" 2 'another request' "$STAIR" sgd attention:layers=2 --dim 100 --checkpoint state --resume
cp state.0 state.0.old
printf 'x' | dd of=state.0 bs=1 seek=200 conv=notrunc 2>/dev/null
"${LONG_SGD[@]}" --checkpoint state --resume >resumed 2>stderr || fail "damaged checkpoint" "$(cat stderr)"
"${LONG_SGD[@]}" >whole
cmp -s whole resumed || fail "damaged checkpoint: other bytes"
pass "a damaged checkpoint falls back to the one before"

# --out alone is enough for --resume
rm -f state.*
(trap - INT; exec "${LONG_SGD[@]}" --out r.csv --checkpoint-every 0.05 >cut 2>stderr) &
process=$!
for i in $(seq 400); do [ -e r.csv.state.0 ] && break; sleep 0.02; done
kill -KILL $process
wait $process 2>/dev/null
[ -e r.csv ] && fail "an output after SIGKILL"
"${LONG_SGD[@]}" --out r.csv --resume >stdout 2>stderr || fail "resume beside --out" "$(cat stderr)"
cmp -s r.csv whole || fail "resume beside --out: other bytes"
[ "$(ls r.csv*)" = r.csv ] || fail "resume beside --out: left behind" "$(ls r.csv*)"
pass "state beside --out, resumed to the same bytes"

# weights: saved, measured, used
"$STAIR" train --data "$DATA" --vocab "$VOCAB" --rate 2e-3 --epochs 30 --scale rank --bias --start 0.1 --test "$DATA" --save w.npz --json >json ||
    fail "save"
accuracy=$(grep -o '"test_accuracy": [0-9.]*' json | head -n 1 | cut -d' ' -f2)
"$STAIR" train --weights w.npz --vocab "$VOCAB" --data "$DATA" --csv >stdout || fail "measure"
measured=$(tail -n 1 stdout | cut -d, -f3)
[ "$accuracy" = "$measured" ] || fail "loaded weights have accuracy $measured, trained ones $accuracy"
pass "loaded weights are the trained ones: accuracy $measured"
refuse "save over a file" 'w.npz' "$STAIR" train --data "$DATA" --vocab "$VOCAB" --save w.npz
"$STAIR" train --weights w.npz --vocab "$VOCAB" --predict "$DATA" --csv | tail -n +2 | cut -d, -f2 >labels
[ "$(wc -l <labels)" = "$(wc -l <"$DATA")" ] || fail "predict: lines"
hits=$(paste -d' ' labels <(cut -d: -f1 "$DATA") | awk '$1==$2' | wc -l)
awk -v h="$hits" -v a="$measured" -v n="$(wc -l <labels)" 'BEGIN { d = h / n - a; exit !(d < 1e-9 && d > -1e-9) }' ||
    fail "predict: $hits of $(wc -l <labels), not $measured"
pass "predicted labels have that accuracy"
head -c 3000 w.npz >cut.npz
refuse "truncated weights" 'cut.npz' "$STAIR" train --weights cut.npz --vocab "$VOCAB" --predict "$DATA"
finish
