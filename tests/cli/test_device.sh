# --device cuda where there is no card: one line and exit 2, of every command that has the option.
. "$(dirname "$0")/lib.sh"
"$STAIR" threshold square --steps 1 --precision 0.1 --device cuda >/dev/null 2>&1 && { echo "skipped: there is a card"; finish; exit 0; }
count=0
for command in $("$STAIR" --help | sed -n '/^commands:/,/^$/p' | awk 'NR > 1 && NF { print $1 }'); do
    grep -q -- '--device' < <("$STAIR" "$command" --help) || continue
    case $command in
    train) words="--data q --vocab v" ;;
    figure) words=fig1-left ;;
    evolve | entropy) words="square --alpha 1" ;;
    *) words=square ;;
    esac
    refuse "$command" "device 'cuda' is not there|built without" "$STAIR" "$command" $words --device cuda
    refuse "$command: a card by its number" "device 'cuda:1' is not there|built without" "$STAIR" "$command" $words --device cuda:1
    count=$((count + 1))
done
[ $count -ge 9 ] || fail "only $count commands have --device"
expect 'auto takes the processor' 0 '"device": "cpu"' "$STAIR" threshold square --steps 1 --precision 0.1 --device auto --json
finish
