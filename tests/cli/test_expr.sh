#!/usr/bin/env bash
# expr: formulas in the MODEL string and in --set, what they echo, and what is refused with its column.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

json() { # EXPRESSION: of the document d and its first row r
    $PYTHON -c "import json; d = json.load(open('a.json')); r = d['results'][0]; assert $1, d"
}

"$STAIR" threshold 'expr:z1_1*z1_2' --steps 1 --json >a.json &&
    json "d['model'] == 'expr:z1_1*z1_2,tokens=2,indices=1,noise=0,prenoise=0'" &&
    json "abs(r['alpha'] - 0.593751 / 2) < 1e-5" && pass 'tokens are echoed' || fail 'tokens are echoed' "$(cat a.json)"
"$STAIR" threshold parity:indices=3 --steps 1 --json >a.json && json "r['alpha'] is None" &&
    pass 'never is null in JSON' || fail 'never is null in JSON' "$(cat a.json)"
"$STAIR" models 'expr:z1^2-z3' --json >a.json && json "'indices=3' in open('a.json').read() or any(x['name'] == 'indices' and x['value'] == '3' for x in d['results'])" &&
    pass 'indices are echoed' || fail 'indices are echoed' "$(cat a.json)"
expect 'never in a table' 0 'weak  never' "$STAIR" threshold parity:indices=3 --steps 1
expect 'formulas in --set' 0 'max.z1,0. +weak +0.00000000' \
    "$STAIR" threshold expr:z1 --set 'formula=z1^2,max(z1,0)' --steps 1
expect 'a description without a formula' 0 'expr:z1.2-z2.2' "$STAIR" models expr
expect 'two outputs' 0 'weak' "$STAIR" threshold 'expr:sign(z1);abs(z2)' --steps 1
expect 'keys after the formula' 0 'tokens=2,indices=2,noise=0.25' \
    "$STAIR" threshold 'expr:max(z1,z2),tokens=2,indices=2,noise=0.25' --steps 1 --json

# what is refused: formula, then part of the message
while IFS='|' read -r formula message; do
    refuse "expr:$formula" "$message" "$STAIR" threshold "expr:$formula" --steps 1
done <<'LIST'
z1+|column 4: the formula ends
foo(z1)|column 1: unknown name 'foo'
z0|column 1: z needs the number of an index
z99999999999999999999|column 1: z needs the number of an index
z1_99|needs the number of a token
1|this output is a constant
sqrt(z1)|output 1 is not defined
1/0*z1|output 1 is infinite
((((z1|column 4: this '.' is not closed
z1)|column 3
z1 z2|column 4: an operator
z1;;z2|column 4
z1;|column 4
z1%2|column 3: '%' is no operator
(z1%2)|column 4: '%' is no operator
sin(z1 z2)|column 8: an operator is missing before this
max(z1:z2)|column 7: ':' is no operator
2(z1)|column 2: an operator is missing before this
z1!|column 3: '!' is no operator
ln(z1)|unknown name 'ln'; write log
X1^2|unknown name 'X1'; write z1
floor(z1)|unknown name 'floor'; known are z1, z2 .* relu min max
abcdefghijklmnopqrstu(z1)|unknown name 'abcdefghijklmno...'
z1=2|not for being equal
z1,nois=1|did you mean 'noise'
z1,formula=z2|given twice
z1,tokens=0|tokens
z1_3,tokens=2|names token 3
min(z1)|takes two numbers
abs(z1,z2)|column
9e999*z1|numbers go up to
z1^1e308|numbers go up to
z1;z1|cannot be solved
|needs its formula
LIST
refuse 'bars for abs' 'column 1: .z1. is written abs' "$STAIR" threshold 'expr:|z1|'
long=$(printf 'z1+%.0s' {1..2000})
refuse 'a long formula' 'longer than' "$STAIR" threshold "expr:${long}z1"
deep=$(printf '(%.0s' {1..100})
refuse 'a deep formula' 'nested more than' "$STAIR" threshold "expr:${deep}z1"
refuse 'bytes that are no text' 'control character' "$STAIR" threshold $'expr:z1\xff\x01'
refuse 'a new line' 'control character' "$STAIR" threshold $'expr:z1\n'
refuse 'a bad formula in --set' 'column 4' "$STAIR" threshold expr:z1 --set 'formula=z1^2,z1+'
finish
