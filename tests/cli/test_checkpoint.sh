# Checkpoints: whose they are, what a hostile one can do, where they can be written, what ends a run early.
. "$(dirname "$0")/lib.sh"
need_numpy
data=$TESTS/../../data
export OMP_NUM_THREADS=1

# keep NAME COMMAND...: runs to its end, loses the output to a full disk and so keeps the checkpoint.
keep() {
    local name=$1
    shift
    rm -f ck*
    "$@" --checkpoint ck --quiet >/dev/full 2>stderr
    [ $? -eq 1 ] && ls ck* >/dev/null 2>&1 || fail "$name" "no checkpoint kept: $(cat stderr)"
}
# craft NAME FILE OFFSET FORMAT VALUE COMMAND...: what a changed checkpoint gives is a message, soon.
craft() {
    local name=$1 file=$2 offset=$3 form=$4 value=$5 got
    shift 5
    cp kept "$file"
    rm -f "$file".old
    $PYTHON "$TESTS/checkpoint.py" "$file" "$offset" "$form" "$value" || fail "$name" 'not made'
    timeout 20 "$@" --checkpoint ck --resume --quiet >stdout 2>stderr
    got=$?
    [ $got -eq 1 ] || fail "$name" "exit $got" "$(head -c 300 stderr)" "$(head -c 300 stdout)"
    grep -q '^stair: .*checkpoint' stderr || fail "$name" "$(head -c 300 stderr)"
    [ ! -s stdout ] || fail "$name" 'wrote to standard output'
    pass "$name"
}
other() { # NAME COMMAND...: the checkpoint is another request's
    local name=$1
    shift
    expect "$name" 2 'checkpoint of another request' "$@" --checkpoint ck --resume --quiet
}

# ---- whose it is: every byte of the request counts ------------------------------------------------
long=$(seq -s, 0.0001 0.0001 0.07)
grid="$STAIR evolve attention:layers=1 --from uninformed --precision 0.1"
(trap - INT; exec $grid --alpha $long --checkpoint ck --quiet >stdout 2>stderr) &
process=$!
for _ in $(seq 1000); do [ -e ck ] && break; sleep 0.01; done
kill -INT $process
wait $process
other 'a list that differs at its end' $grid --alpha ${long%,*},0.0799
rm -f ck*

model=attention:layers=1,noise=0.1$(printf "0%.0s" $(seq 100)),prenoise=0.1$(printf "0%.0s" $(seq 100)),skip=1.$(printf '0%.0s' $(seq 100))
for command in 'sgd --test-samples 8 --epochs 1' 'amp --theory none --max-iterations 2'; do
    name=${command%% *}
    run="$STAIR $name $model ${command#* } --dim 4 --seeds 1"
    keep "$name" $run --alpha 5
    other "$name: another alpha behind a long model" $run --alpha 9
    if [ "$name" = sgd ]; then
        STAIR_ISA=v2 other "$name: another instruction set" env STAIR_ISA=v2 $run --alpha 5
    fi
done

$PYTHON - <<'PY'
import numpy as np
rng = np.random.default_rng(1)
x = rng.normal(size=(40, 2, 300))
np.save("x.npy", x)
np.save("y.npy", np.tile([[0.6, 0.4], [0.5, 0.5]], (40, 1, 1)))
x[20, 0, 7] += 1
np.save("changed.npy", x)
PY
fit="$STAIR amp attention:layers=1,noise=0.1 --max-iterations 1 --precision 0.1"
keep 'given data' $fit --data x.npy y.npy
other 'data changed in the middle' $fit --data changed.npy y.npy

# ---- hostile contents ------------------------------------------------------------------------------
run="$STAIR evolve attention:layers=1 --alpha 0.02,0.03 --precision 0.1 --from uninformed"
keep evolve $run
cp ck kept
craft 'evolve: stop' ck 40 '<d' 1e6 $run
craft 'evolve: a stop that is no number' ck 40 '<d' nan $run
craft 'evolve: start' ck 16 '<d' 2 $run
craft 'evolve: iterations' ck 24 '<d' 1e300 $run
craft 'evolve: more points than there are' ck 0 '<Q' 1000000 $run
craft 'evolve: fewer points than bytes' ck 0 '<Q' 1 $run
run="$STAIR threshold attention:layers=1 --precision 0.01"
keep threshold $run
cp ck kept
craft 'threshold: steps' ck 8 '<d' 1e9 $run
craft 'threshold: learns' ck $((8 + 416 + 4 + 4 + 4 * 8 + 4 + 24 * 4)) '<i' 1000000 $run
run="$STAIR entropy attention:layers=1 --alpha 0.1 --precision 0.1"
keep entropy $run
cp ck kept
craft 'entropy: best' ck 24 '<d' 77 $run
run="$STAIR sgd attention:layers=1 --dim 8 --alpha 2 --test-samples 8 --epochs 1"
keep sgd $run
cp ck.0 kept
craft 'sgd: batch' ck.0 0 '<q' 1000000000 $run
craft 'sgd: diverged' ck.0 8 '<B' 2 $run
craft 'sgd: records' ck.0 $((9 + 8 * 8)) '<i' -1 $run
run="$STAIR amp attention:layers=1 --dim 8 --alpha 2 --max-iterations 2 --theory none"
keep amp $run
cp ck.0.0 kept
craft 'amp: records' ck.0.0 0 '<i' 2147483647 $run
craft 'amp: stop' ck.0.0 4 '<i' 99 $run
craft 'amp: iteration' ck.0.0 8 '<i' -3 $run
printf '%s\n' '[PAD]' '[UNK]' '[CLS]' '[SEP]' a b c >vocab
for i in $(seq 10); do printf 'A:x a b %s\nB:x c a\n' "$(seq -s' ' $i | tr 0-9 a)"; done >asked
run="$STAIR train --data asked --vocab vocab --classes A,B --dim 4 --rank 1 --layers 1 --epochs 3 --batch 4 --validation 0"
keep train $run
cp ck.0 kept
craft 'train: step' ck.0 0 '<q' 0 $run
craft 'train: seen' ck.0 20 '<i' 5 $run
craft 'train: epochs' ck.0 24 '<i' 1 $run
craft 'train: snapshots' ck.0 28 '<i' 1 $run

# ---- a place that cannot be written is found before anything is computed ----------------------------
rm -f ck* kept
name=$(printf 'n%.0s' $(seq 251))
for command in 'evolve attention:layers=3 --alpha 0.1:2:0.01' 'threshold attention:layers=3' \
    'entropy attention:layers=3 --alpha 0.1:2:0.1' 'sgd attention:layers=3 --dim 1000 --alpha 50' \
    'amp attention:layers=3 --dim 2000 --alpha 4' "train --data $data/questions.label --vocab $data/vocab.txt --epochs 500"; do
    refuse "${command%% *}: no folder" 'No such file' "$STAIR" $command --checkpoint nofolder/ck
    refuse "${command%% *}: a name too long" '255 bytes' "$STAIR" $command --checkpoint $name.k
    refuse "${command%% *}: an output too long" '255 bytes' "$STAIR" $command --out $name.json
done

# ---- signals of a batch system, files of those that were killed --------------------------------------
for signal in USR1 HUP XCPU; do
    rm -rf work && mkdir work && cd work || exit 1
    (trap - $signal; exec "$STAIR" sgd attention:layers=2 --dim 400 --alpha 40 --epochs 2000 --checkpoint-every 0 --out r.csv >../stdout 2>../stderr) &
    process=$!
    for _ in $(seq 1000); do [ -e r.csv.state.0 ] && break; sleep 0.01; done
    kill -$signal $process
    start=$(date +%s)
    wait $process
    status=$?
    [ $status -eq $((128 + $(kill -l $signal))) ] || fail "$signal" "exit $status" "$(cat ../stderr)"
    [ $(($(date +%s) - start)) -le 10 ] || fail "$signal: slow to stop"
    [ -s r.csv.state.0 ] || fail "$signal: no checkpoint"
    ls -A | grep -q tmp && fail "$signal: left behind" "$(ls -A)"
    cd ..
    pass "$signal keeps a checkpoint"
done
(trap '' HUP; exec "$STAIR" sgd attention:layers=2 --dim 400 --alpha 40 --epochs 2000 --checkpoint-every 0 --out n.csv >stdout 2>stderr) &
process=$!
for _ in $(seq 1000); do [ -e n.csv.state.0 ] && break; sleep 0.01; done
kill -HUP $process
sleep 0.3
kill -0 $process 2>/dev/null || fail 'nohup' 'ended by a signal that was ignored'
kill -KILL $process
wait $process 2>/dev/null
pass 'a hangup that is ignored stays so'

touch .stair-999999999-0.tmp .stair-$$-0.tmp .stair-x-0.tmp .stair-999999999-0.tmpx
ln -s nowhere .stair-999999998-0.tmp
(exec 9>.stair-999999997-0.tmp; flock -n 9; sleep 100) &
holder=$!
sleep 0.2
"$STAIR" sgd attention:layers=1 --dim 8 --alpha 2 --epochs 1 --out swept.csv --quiet >/dev/null || fail 'sweep' 'failed'
kill $holder $(pgrep -P $holder) 2>/dev/null
[ ! -e .stair-999999999-0.tmp ] || fail 'sweep' 'the file of a dead process is there still'
for other in .stair-$$-0.tmp .stair-x-0.tmp .stair-999999999-0.tmpx .stair-999999997-0.tmp; do
    [ -e $other ] || fail 'sweep' "$other is gone"
done
pass 'files of killed runs are removed, and no others'

(ulimit -f 8; "$STAIR" channel attention:layers=1 --points 100000 --out big.csv >/dev/null 2>stderr)
status=$?
[ $status -eq 1 ] && grep -q 'File too large' stderr || fail 'a limit of file size' "exit $status" "$(cat stderr)"
[ ! -e big.csv ] || fail 'a limit of file size' 'left a file'
pass 'a limit of file size is a full disk'
finish
