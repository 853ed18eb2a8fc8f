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
finish
