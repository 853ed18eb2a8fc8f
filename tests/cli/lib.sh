# Shared by the tests of the program: sourced with its path in $1.
set -uo pipefail
TESTS=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
STAIR=$(realpath "$1")
PYTHON=/usr/bin/python3
passed=0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1

pass() { passed=$((passed + 1)); echo "ok: $1"; }
fail() {
    echo "FAILED: $1"
    shift
    printf '    %s\n' "$@"
    echo "$passed passed, 1 failed"
    exit 1
}
finish() { echo "$passed passed, 0 failed"; }

# expect NAME STATUS PATTERN COMMAND...: exit status, and PATTERN (extended) in stdout or stderr.
expect() {
    local name=$1 status=$2 pattern=$3 got
    shift 3
    "$@" >stdout 2>stderr </dev/null
    got=$?
    [ $got -eq "$status" ] || fail "$name" "exit $got, not $status" "$(head -c 400 stderr)"
    grep -Eq -- "$pattern" stdout stderr || fail "$name" "no '$pattern' in:" "$(head -c 400 stdout stderr)"
    pass "$name"
}

# refuse NAME PATTERN COMMAND...: exit 2, one line on stderr with PATTERN, nothing on stdout, no new
# file, well under a second of processor time.
refuse() {
    local name=$1 pattern=$2 got before after start
    shift 2
    rm -f stdout stderr
    before=$(ls -A)
    start=$(date +%s%N)
    timeout 20 "$@" >../"${folder##*/}".out 2>../"${folder##*/}".err </dev/null
    got=$?
    start=$((($(date +%s%N) - start) / 1000000))
    after=$(ls -A)
    mv ../"${folder##*/}".out stdout
    mv ../"${folder##*/}".err stderr
    [ $got -eq 2 ] || fail "$name" "exit $got, not 2" "$(head -c 400 stderr)"
    [ "$(wc -l <stderr)" -eq 1 ] || fail "$name" "not one line:" "$(head -c 400 stderr)"
    grep -Eq -- "^stair: .*($pattern)" stderr || fail "$name" "no '$pattern' in: $(cat stderr)"
    [ ! -s stdout ] || fail "$name" "wrote to standard output"
    [ "$before" = "$after" ] || fail "$name" "left a file behind: $after"
    [ $start -lt 5000 ] || fail "$name" "took $start ms" # 1 s, with room for a busy machine
    pass "$name"
}

need_numpy() {
    $PYTHON -c 'import numpy' 2>/dev/null && return
    echo "skipped: $PYTHON has no numpy"
    finish
    exit 0
}
