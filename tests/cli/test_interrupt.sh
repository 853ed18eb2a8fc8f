# SIGINT and SIGTERM: exit 130 and 143 within seconds, no output file, no temporary file.
. "$(dirname "$0")/lib.sh"

for signal in INT TERM; do
    for extension in npz csv json; do
        mkdir work && cd work || exit 1
        (trap - INT; exec "$STAIR" channel attention:layers=2 --points 1e9 --out r.$extension >../stdout 2>../stderr) &
        process=$!
        sleep 0.5
        # bash starts background jobs with SIGINT ignored, which the program's own handler replaces
        kill -$signal $process
        start=$(date +%s)
        wait $process
        status=$?
        [ $(($(date +%s) - start)) -le 10 ] || fail "$signal, $extension: slow to stop"
        [ $status -eq "$([ $signal = INT ] && echo 130 || echo 143)" ] ||
            fail "$signal, $extension" "exit $status" "$(cat ../stderr)"
        [ -z "$(ls -A)" ] || fail "$signal, $extension" "left behind: $(ls -A)"
        [ ! -s ../stdout ] || fail "$signal, $extension" "wrote to standard output"
        cd .. && rmdir work
        pass "$signal while writing $extension"
    done
done

# A checkpoint is promised where one was written, and nowhere else.
long="--precision 1e-3 --quiet"
stop() { # NAME PATTERN FILE COMMAND...: SIGINT once FILE is there, or after half a second without FILE
    local name=$1 pattern=$2 file=$3
    shift 3
    (trap - INT; exec "$@" >stdout 2>stderr) &
    process=$!
    if [ "$file" ]; then for _ in $(seq 1000); do [ -e "$file" ] && break; sleep 0.01; done; else sleep 0.5; fi
    kill -INT $process
    wait $process
    status=$?
    [ $status -eq 130 ] || fail "$name" "exit $status" "$(cat stderr)"
    grep -q "^stair: interrupted; $pattern" stderr || fail "$name" "$(cat stderr)"
    pass "$name"
}
stop 'no checkpoint yet' 'nothing was written' '' "$STAIR" threshold attention:layers=3 --out r.csv $long
ls -A | grep -q '^r\.csv' && fail 'files left behind' "$(ls -A)"
stop 'no place for a checkpoint' 'nothing was written' '' "$STAIR" threshold attention:layers=3 $long
stop 'a checkpoint of a grid' '--resume goes on' r.csv.state "$STAIR" threshold attention --set layers=1,3 --out r.csv $long
touch -d '1 hour ago' r.csv.state
stop 'a checkpoint of an earlier run' 'nothing was written' '' "$STAIR" threshold attention:layers=3 --out r.csv $long
stop 'a checkpoint of runs' '--resume goes on' a.csv.state.0.0 "$STAIR" amp attention:layers=2 --dim 1000 --alpha 1 --seeds 50 --checkpoint-every 0 --theory none --out a.csv --quiet
expect 'help tells of interrupts' 0 '130, 143 +interrupted.*checkpoint only where it says so' "$STAIR" --help
finish
