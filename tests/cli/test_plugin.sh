#!/usr/bin/env bash
# plugin: the template of examples/plugin, built and run; and files that are refused before or after loading.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
ROOT=$(realpath "$TESTS/../..")
umask 022

build() { # NAME [FLAGS]: NAME.c to NAME.so
    cc -std=c17 -shared -fPIC -O2 -Wall -Wextra -Werror -I"$ROOT/include" "$1.c" -o "$1.so" -lm "${@:2}" ||
        fail "cc $1.c"
}
json() { # FILE EXPRESSION: of the document d and its first row r
    $PYTHON -c "import json; d = json.load(open('$1')); r = d['results'][0]; assert $2, d"
}

cp "$ROOT/examples/plugin/agreement.c" .
[ "$(wc -l <agreement.c)" -lt 60 ] && pass 'the template is short' || fail 'the template is short'
build agreement

# 1.937166: by 200 x 200 Gauss-Hermite nodes, as tests/library/check_examples.py has it
"$STAIR" threshold plugin:./agreement.so,noise=0.3 --steps 1 --precision 5e-3 --json >a.json &&
    json a.json "abs(r['alpha'] - 1.937166) < 4 * r['error'] and r['error'] < 0.02" &&
    json a.json "__import__('re').fullmatch(r'plugin:./agreement.so,noise=0.3,prenoise=0,digest=[0-9a-f]{16}', d['model'])" &&
    pass 'the first step of the template' || fail 'the first step of the template' "$(cat a.json)"
model=$($PYTHON -c "import json; print(json.load(open('a.json'))['model'])")
"$STAIR" threshold "$model" --steps 1 --precision 5e-3 --json >b.json && cmp -s a.json b.json &&
    pass 'the echo is a model' || fail 'the echo is a model' "$(cat b.json)"
# the same link as a formula
for spec in plugin:./agreement.so,noise=0.3 'expr:tanh(2*z1*z2),noise=0.3'; do
    "$STAIR" channel "$spec" --points 4 --precision 1e-4 --json >"${spec%%:*}.json" || fail "channel $spec"
done
$PYTHON - <<'CHECK' && pass 'posteriors are those of the formula' || fail 'posteriors are those of the formula'
import json
a, b = (json.load(open(f))["results"] for f in ("plugin.json", "expr.json"))
assert len(a) == len(b) == 4
for x, y in zip(a, b):
    assert abs(x["logz"] - y["logz"]) < 4 * (x["error"] + y["error"]) + 1e-9, (x, y)
CHECK
expect 'descent by its gradient' 0 'agreement' "$STAIR" sgd plugin:./agreement.so,noise=0.3 --dim 32 --alpha 4 --epochs 2
expect 'a grid of its keys' 0 '0.5 ' "$STAIR" threshold plugin:./agreement.so --set noise=0.3,0.5 --steps 1 --precision 0.05
expect 'keys without a file' 0 'file +- +- +FILE.so' "$STAIR" models plugin
expect 'sizes with one' 0 'P +2 ' "$STAIR" models plugin:./agreement.so

# ---- refused before anything is loaded ----------------------------------------------------------
cat >shout.c <<'C' # one that would be noticed
#include <stdio.h>
__attribute__((constructor)) static void shout(void) { fputs("LOADED\n", stderr); }
C
build shout
refused() { # NAME PATTERN MODEL: refuse, and nothing ran
    refuse "$1" "$2" "$STAIR" threshold "$3"
    ! grep -q LOADED stderr || fail "$1" 'the code ran'
}
refused 'a name without a folder' "write its path with a '/'" plugin:shout.so
refused 'a file that is not there' "'./none.so': No such file" plugin:./none.so
refused 'a folder' 'is not a regular file' plugin:./
mkfifo pipe.so
refused 'a pipe' 'is not a regular file' plugin:./pipe.so
: >empty.so
refused 'an empty file' 'is empty' plugin:./empty.so
echo 'int main;' >text.so
refused 'a text' 'is no shared library' plugin:./text.so
head -c 700 agreement.so >cut.so
refused 'a library cut off' 'is cut off or damaged' plugin:./cut.so
printf '\177ELF\001\001\001' | cat - <(tail -c +8 agreement.so) >narrow.so
refused 'a library of 32 bits' 'for another machine' plugin:./narrow.so
cc -c -I"$ROOT/include" agreement.c -o object.so
refused 'an object file' 'is no shared library: build it with -shared' plugin:./object.so
for mode in g+w o+w; do
    chmod go-w,$mode shout.so
    refused "a file with $mode" 'may be written to by others' plugin:./shout.so
done
chmod go-w shout.so
refused 'another digest' 'has digest [0-9a-f]{16}, not 0000000000000000' plugin:./shout.so,digest=0000000000000000
refused 'no noise' 'noise must be above 0' plugin:./shout.so,noise=0
refused 'no file' 'needs its file' plugin

# ---- refused by its table, or by what it computes -----------------------------------------------
table() { # NAME PATTERN VERSION SIZE TOKENS INDICES OUTPUTS FUNCTION [BODY]
    cat >bad.c <<C
#include <math.h>
#include <stair.h>
static void g(const double *z, double *y) { ${9-y[0] = z[0] * z[0];} }
void (*const keep)(const double *, double *) = g;
const stair_plugin STAIR_PLUGIN_TABLE = {
    .version = $3, .size = $4, .tokens = $5, .indices = $6, .outputs = $7, .function = $8};
C
    build bad
    refuse "$1" "$2" "$STAIR" threshold plugin:./bad.so
}
echo 'int nothing;' >bad.c
build bad
refuse 'no table' 'does not define stair_plugin_table' "$STAIR" threshold plugin:./bad.so
echo 'int lost(void); int here(void) { return lost(); }' >bad.c
build bad
refuse 'a symbol that is nowhere' 'cannot be loaded: .*lost' "$STAIR" threshold plugin:./bad.so
S='sizeof(stair_plugin)'
table 'another version' 'has version 2 of its table, this library takes 1' 2 "$S" 1 1 1 g
table 'another size' 'its table has 12 bytes' 1 12 1 1 1 g
table 'no function' 'has no function' 1 "$S" 1 1 1 0
table 'no index' 'indices=0' 1 "$S" 1 0 1 g
table 'too many tokens' 'tokens=17' 1 "$S" 17 1 1 g
table 'too many outputs' 'outputs=257' 1 "$S" 1 1 257 g
table 'less than nothing' 'outputs=-1' 1 "$S" 1 1 -1 g
table 'not a number' 'output 0 is -?nan at a standard normal Z' 1 "$S" 1 1 1 g 'y[0] = sqrt(z[0]);'
table 'a function with a memory' 'the same z does not give the same y' 1 "$S" 1 1 1 g \
    'static double last; y[0] = last; last = z[0];'
table 'more outputs than it says' 'writes more outputs than its table has' 1 "$S" 1 1 1 g 'y[0] = y[1] = z[0];'
sed 's|tanh(STEEPNESS \* z\[0\] \* z\[1\]);|1e4 * sin(1e6 * z[0]);|; s|\.gradient = .*||; /static void agreement_gradient/,/^}/d' agreement.c >bad.c
build bad
expect 'too rough' 2 'identity .* is violated' "$STAIR" models plugin:./bad.so
sed 's|gradient\[1\] = slope|gradient[1] = -slope|' agreement.c >bad.c
build bad
refuse 'a gradient of something else' 'its gradient is not that of its function' "$STAIR" threshold plugin:./bad.so
finish
