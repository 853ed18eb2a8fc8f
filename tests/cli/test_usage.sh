# Usage: help, version, unknown words, values out of range, exit codes.
. "$(dirname "$0")/lib.sh"
MODEL=attention:layers=2

expect 'no arguments: usage, exit 2' 2 '^usage: stair COMMAND' "$STAIR"
expect '--help' 0 '^commands:' "$STAIR" --help
expect '--version' 0 '^stair [0-9]+\.[0-9]+\.[0-9]+$' "$STAIR" --version
for command in $("$STAIR" --help | sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
    expect "$command --help has examples" 0 '^examples:' "$STAIR" $command --help
    "$STAIR" $command --help >long
    expect "$command -h is the same" 0 '^examples:' "$STAIR" $command -h
    cmp -s stdout long || fail "$command -h is --help"
    [ "$(wc -L <long)" -le 100 ] || fail "$command --help fits in 100 columns" "$(awk 'length > 100' long)"
    expect "--help lists $command" 0 "^  $command " "$STAIR" --help
done
expect 'the man page' 0 '^\.TH STAIR 1' "$STAIR" man
expect 'the man page has columns with units' 0 'eigenvalue.*\[D/samples\]' "$STAIR" man
for option in points cov-low precision method seed threads out force; do
    expect "man page: --$option" 0 "${option/-/.*}" "$STAIR" man
    expect "help: --$option" 0 "^  --$option " "$STAIR" channel --help
done
# has COMMAND OPTION DEFAULT: what help says, from the library or where a command differs from it.
has() { expect "$1: default of --$2" 0 "^  --$2 .*\\[$3\\]\$" "$STAIR" "$1" --help; }
has channel precision 1e-06
has channel points 16
has channel full 'on, --no-full turns it off'
has diagnose precision 1e-08
has diagnose points 200
has bench points 256
has threshold precision 0.001
has threshold method auto
has evolve from both
has figure precision 0.005
has figure out out
has amp precision 0.05
has amp samples 8192
has amp theory fixed
has amp adaptive 'on, --no-adaptive turns it off'
has sgd decay torch
has sgd weight-decay -1
has sgd records 8
has train records 1
has train padding full
has train classes ABBR,DESC,ENTY,HUM,LOC,NUM
has tokenize longest 32
expect 'the way of averaging is echoed' 0 '"method": "auto"' "$STAIR" threshold attention:layers=1 --precision 0.1 --json
expect 'models lists attention' 0 '^attention ' "$STAIR" models
expect 'models MODEL: canonical' 0 '^# stair models attention:layers=3' "$STAIR" models attention:layers=3
expect 'models: formulas' 0 '^square: y_m = Z_m' "$STAIR" models
expect 'models MODEL: formula' 0 '^formula +attention .*softmax' "$STAIR" models attention
expect 'models MODEL: example' 0 '^example .*stair threshold square:' "$STAIR" models square
expect 'a key with its value and default' 0 '^key +skip +0.15 +1 ' "$STAIR" models attention:skip=0.15
eval "$("$STAIR" models square | sed -n 's/^example.*- *stair/"$STAIR"/p') --precision 0.1" >stdout || fail 'the example of a model runs'
pass 'the example of a model runs'
expect 'the echo names what differs from defaults' 0 '^# stair channel attention:skip=0.5,prenoise=0.1 --points' "$STAIR" channel attention:prenoise=0.1,skip=0.5,layers=2 --points 1
expect 'the echo of defaults' 0 '^# stair channel square --points' "$STAIR" channel square --points 1
expect 'threads' 0 '^  --threads N +threads, 0: all it may use' "$STAIR" channel --help
expect 'models MODEL: P' 0 '^size +P +3 ' "$STAIR" models attention:layers=3

refuse 'unknown command' 'unknown command .chanel.; did you mean channel' "$STAIR" chanel
refuse 'unknown command, nothing near' "unknown command .zzzzzz." "$STAIR" zzzzzz
refuse 'unknown option' 'unknown option --point; did you mean --points' "$STAIR" channel $MODEL --point 3
refuse 'option of another command' 'unknown option --alpha' "$STAIR" channel $MODEL --alpha 3
refuse 'one dash' 'unknown option -x' "$STAIR" channel $MODEL -x
refuse 'missing value' 'points needs a value' "$STAIR" channel $MODEL --points
refuse 'option as value' 'out needs a value' "$STAIR" channel $MODEL --out --json
refuse 'flag with a value' 'json takes no value' "$STAIR" channel $MODEL --json=yes
refuse 'no model' 'needs a MODEL' "$STAIR" channel
refuse 'two models' 'unexpected argument' "$STAIR" channel $MODEL $MODEL
refuse 'unknown benchmark' "unknown benchmark .chanel." "$STAIR" bench chanel
for value in 0 -1 x 1.5 nan 1e99 ''; do
    refuse "--points '$value'" 'points' "$STAIR" channel $MODEL --points="$value"
done
for value in -1 1.5 x 18446744073709551616; do
    refuse "--seed $value" 'seed needs an integer' "$STAIR" channel $MODEL --seed=$value
done
for value in 0 -1 nan inf 2 x 1e-400; do
    refuse "--precision $value" 'precision' "$STAIR" channel $MODEL --precision $value
done
refuse 'the range is the library'"'"'s' 'precision must be between 1e-06 and 0.5, not 0.6' "$STAIR" threshold $MODEL --precision 0.6
refuse 'an end that is excluded' 'side must be at least 0 and below 1, not 1' "$STAIR" evolve $MODEL --alpha 1 --side 1
refuse 'a choice' "from must be both, uninformed or informed, not 'inform'; did you mean informed" "$STAIR" evolve $MODEL --alpha 1 --from inform
refuse '--threads -1' 'threads' "$STAIR" channel $MODEL --threads=-1
refuse '--method' 'method' "$STAIR" channel $MODEL --method latice
refuse '--json --csv' 'json and --csv' "$STAIR" channel $MODEL --json --csv

refuse 'unknown model' "unknown model .atention.*did you mean.*attention" "$STAIR" channel atention
refuse 'unknown key' 'layer.*did you mean.*layers' "$STAIR" channel attention:layer=2
refuse 'duplicate key' 'layers' "$STAIR" channel attention:layers=2,layers=3
refuse 'singular mixing' 'skip' "$STAIR" channel attention:layers=2,skip=-1
refuse 'no layers' 'layers' "$STAIR" channel attention:layers=0
refuse 'rank beyond what is supported' 'rank' "$STAIR" channel attention:rank=1000
refuse 'empty model' 'model' "$STAIR" channel ''
refuse 'control characters stay on one line' 'control character' "$STAIR" channel "$(printf 'a\nb\033[1m')"
expect 'integers may be written 1e1' 0 '^ +9 ' "$STAIR" channel attention:layers=1 --points 1e1
expect 'full standard output is an error' 1 'standard output' bash -c "\"$STAIR\" --help >/dev/full"
expect 'full standard output is an error for results' 1 'standard output' bash -c "\"$STAIR\" models >/dev/full"

# Numbers as they are typed.
expect 'a range in the echo' 0 '[-]-alpha 0.1,0.15,0.2,0.25,0.3 ' "$STAIR" evolve attention:layers=1 --alpha 0.1:0.3:0.05 --from uninformed --precision 0.1
expect 'a range in a table' 0 '^ 0.15  uninformed' "$STAIR" evolve attention:layers=1 --alpha 0.1:0.3:0.05 --from uninformed --precision 0.1
expect 'a range in JSON' 0 '"alpha": .0.1, 0.15, 0.2, 0.25, 0.3.,' "$STAIR" evolve attention:layers=1 --alpha 0.1:0.3:0.05 --from uninformed --precision 0.1 --json
grep -q '^{.*"alpha": 0.15, ' stdout || fail 'results in JSON: 0.15' "$(cat stdout)"
expect 'a range of a model key' 0 'skip=0.15,' "$STAIR" threshold attention:layers=2 --set skip=0.1:0.2:0.05 --steps 1 --precision 0.1 --json

# Figures are not lost.
"$STAIR" figure staircase-curve door --precision 0.1 --out figure --quiet >/dev/null || fail 'figure'
for extension in csv png pdf; do
    mkdir "f_$extension" && echo old >"f_$extension/staircase.$extension"
    refuse "figure keeps $extension" "f_$extension/staircase.$extension exists; pass --force" "$STAIR" figure staircase-curve door --out "f_$extension"
    [ "$(ls f_$extension)" = "staircase.$extension" ] && [ "$(cat f_$extension/*)" = old ] || fail "figure keeps $extension" "$(ls f_$extension)"
done
expect 'figure --force' 0 'Written' "$STAIR" figure staircase-curve door --precision 0.1 --out f_csv --force
cmp -s f_csv/staircase.csv figure/staircase.csv || fail 'figure --force replaces'
refuse 'figure of no model leaves no folder' 'unknown model' "$STAIR" figure staircase-curve squaer --out nothing
finish
