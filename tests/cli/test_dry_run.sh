# stair amp --dry-run: bytes and seconds are near those of the run; nothing is written; too little memory is said.
. "$(dirname "$0")/lib.sh"
MODEL=attention:layers=2
$PYTHON "$TESTS/dry_run.py" "$STAIR" || fail 'bytes and seconds are those of runs'
pass 'bytes and seconds are those of runs'
"$STAIR" amp $MODEL --dim 100 --alpha 1,3 --dry-run --checkpoint c --csv >rows 2>stderr || fail 'a grid' "$(cat stderr)"
[ "$(cut -d, -f1-3 rows | tr '\n' ' ')" = 'alpha,samples,x_bytes 1,100,80000.0 3,300,240000.0 ' ] || fail 'a grid' "$(cat rows)"
[ "$(ls)" = "$(printf 'rows\nstderr')" ] || fail 'a dry run leaves files' "$(ls)"
pass 'a row for each alpha, and no file'
"$STAIR" amp $MODEL --dim 100 --dry-run --out need.json --quiet >/dev/null && grep -q iteration_seconds need.json || fail '--out'
pass 'rows go to a file, too'

huge="--dim 4000000 --alpha 1"
expect 'too little memory, before' 1 'runs take 1\.28e\+05 GB of memory, and .* GB are free; regenerate' "$STAIR" amp $MODEL $huge --dry-run
grep -q 16000000 stdout && fail 'samples' || grep -q 4000000 stdout || fail 'the table is there, too' "$(cat stdout)"
expect 'too little memory, in the run' 1 'no memory for 4000000 samples .*128000 GB|no memory for 4000000 samples .*1\.28e\+05 GB' "$STAIR" amp $MODEL $huge
expect 'and with --regenerate enough' 0 4000000 "$STAIR" amp $MODEL $huge --regenerate --dry-run
refuse 'a posterior that is there' '--dry-run is for runs' "$STAIR" amp $MODEL --load w.npz --predict x.npy --dry-run
refuse 'bad options all the same' '--alpha' "$STAIR" amp $MODEL --alpha -1 --dry-run
if $PYTHON -c 'import numpy' 2>/dev/null; then
    $PYTHON -c 'import numpy as np
x = np.zeros((50, 2, 30), np.float32)
x[3, 1, 4] = np.nan
np.save("x.npy", x)
np.save("big.npy", x.astype(">f4"))'
    # Neither the numbers of X nor Y are looked at.
    "$STAIR" amp $MODEL --data x.npy y.npy --dry-run --csv >rows || fail 'given samples'
    [ "$(cut -d, -f2-3 rows | tail -n 1)" = 50,0.0 ] || fail 'given samples' "$(cat rows)"
    "$STAIR" amp $MODEL --data big.npy y.npy --dry-run --csv >rows || fail 'given samples that are converted'
    [ "$(cut -d, -f2-3 rows | tail -n 1)" = 50,24000.0 ] || fail 'given samples that are converted' "$(cat rows)"
    pass 'given samples: mapped or converted'
fi
finish
