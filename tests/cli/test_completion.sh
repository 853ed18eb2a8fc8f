# Completion scripts: what bash proposes, and that zsh and fish can read theirs.
. "$(dirname "$0")/lib.sh"

expect 'bash script' 0 'complete -F _stair stair' "$STAIR" completion bash
cp stdout stair.bash
expect 'zsh script' 0 '^#compdef stair' "$STAIR" completion zsh
cp stdout stair.zsh
expect 'fish script' 0 '^complete -c stair' "$STAIR" completion fish
cp stdout stair.fish
refuse 'unknown shell' 'did you mean zsh' "$STAIR" completion zhs
refuse 'no shell' 'bash, zsh or fish' "$STAIR" completion
expect 'completion --help' 0 '^examples:' "$STAIR" completion --help

. ./stair.bash

# complete_words NAME EXPECTED WORD...: what is proposed for the last word, sorted, on one line.
complete_words() {
    local name=$1 expected=$2 got
    shift 2
    COMP_WORDS=(stair "$@")
    COMP_CWORD=$#
    COMPREPLY=()
    _stair
    got=$(printf '%s\n' "${COMPREPLY[@]}" | LC_ALL=C sort | paste -sd' ')
    [ "$got" = "$expected" ] || fail "$name" "proposed: $got" "expected: $expected"
    pass "$name"
}

# The lists come from --help, which is another reader of the same tables.
commands=$("$STAIR" --help | sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p')
complete_words 'commands' "$( (echo "$commands"; echo '--help'; echo '--version') | LC_ALL=C sort | paste -sd' ')" ''
complete_words 'a command by its first letters' 'threshold' thr
for command in $commands; do
    flags=$("$STAIR" $command --help | sed -n '/^options:/,/^$/s/^  --\([^ ]*\) .*/\1/p' | while read -r flag; do
        grep -q -- "--no-$flag turns it off" < <("$STAIR" $command --help) && flag=no-$flag
        echo "--$flag"
    done | LC_ALL=C sort | paste -sd' ')
    complete_words "flags of $command" "$flags" $command --
done
complete_words 'a flag by its first letters' '--precision' threshold attention:layers=2 --prec
complete_words 'choices of --from' 'both informed uninformed' evolve --from ''
complete_words 'choices of --from, begun' 'informed' evolve attention --from inf
complete_words 'choices after =' 'informed' evolve attention --from = inf
complete_words 'choices of a rule' 'lattice layered' channel --method la
complete_words 'choices of --decay' 'paper torch' sgd --decay ''
complete_words 'choices of --theory' 'fixed none trajectory' amp --theory ''
complete_words 'nothing for a number' '' threshold --steps ''
complete_words 'models' "$("$STAIR" models --csv | sed 1d | cut -d, -f1 | LC_ALL=C sort | paste -sd' ')" threshold ''
complete_words 'keys of a model' 'layers=' threshold attention : la
complete_words 'keys after a value' '2,tokens=' threshold attention : layers = 2,to
complete_words 'no keys for a value' '' threshold attention : layers = 2
touch 'one two.npy' other.json && mkdir folder
complete_words 'files' 'one two.npy' channel --omega one
complete_words 'the second of two files' 'other.json' amp --data x.npy oth
complete_words 'files as words' 'folder' tokenize fol
complete_words 'files of a report' 'other.json' report oth
complete_words 'choices of a report' '--plain' report run.json --pl
complete_words 'words of bench' 'amp channel curves staircase' bench ''
complete_words 'shells' 'bash fish zsh' completion ''

for shell in bash zsh fish; do
    if command -v $shell >/dev/null; then
        $shell -n stair.$shell 2>stderr || fail "$shell reads its script" "$(head -c 400 stderr)"
        pass "$shell reads its script"
    else
        echo "skipped: $shell is not installed"
    fi
done
for command in $commands; do
    for shell in zsh fish; do
        "$STAIR" $command --help | sed -n '/^options:/,/^$/s/^  --\([^ ]*\) .*/\1/p' | while read -r flag; do
            case $shell in
            zsh) sed -n "/^    ($command)\$/,/;;/p" stair.zsh | grep -Eq -- "'\\*?--(no-)?$flag\\[" ;;
            fish) grep -Eq -- "__stair_in $command' -l (no-)?$flag " stair.fish ;;
            esac || echo "$flag"
        done >missing
        [ ! -s missing ] || fail "$shell: flags of $command" "$(cat missing)"
    done
done
pass 'zsh and fish know every flag'
finish
