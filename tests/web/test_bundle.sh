# The bundle of the script of pages: what becomes of it where node is missing or packages cannot be installed, and
# that it is made of what the lock file names.
#   test_bundle.sh SOURCE_FOLDER
set -uo pipefail
source=$(realpath "$1")
folder=$(mktemp -d "${TMPDIR:-/tmp}/stair-bundle.XXXXXX")
trap 'rm -rf "$folder"' EXIT
passed=0
pass() { passed=$((passed + 1)); echo "ok: $1"; }
fail() { echo "FAILED: $1"; [ ! -s "$folder/log" ] || cat "$folder/log"; echo "$passed passed, 1 failed"; exit 1; }
# bundle MODE NAME [VARIABLE=VALUE...]: runs the script of the build with these in its environment
bundle() {
    local mode=$1 name=$2
    shift 2
    env "$@" "$cmake" -DMODE=$mode -DFROM="$source/web" -DTO="$folder/$name" -DSECONDS=60 -P "$source/cmake/web_bundle.cmake" >"$folder/log" 2>&1
}
empty() { [ -f "$folder/$1/script.js" ] && [ ! -s "$folder/$1/script.js" ] && [ ! -s "$folder/$1/script.sha256" ]; }
cmake=$(command -v cmake) || fail 'cmake'

bundle OFF off || fail 'OFF builds'
empty off && [ ! -e "$folder/off/node_modules" ] || fail 'OFF installs nothing'
pass 'OFF installs nothing'
mkdir "$folder/nothing"
bundle AUTO missing PATH="$folder/nothing" || fail 'AUTO builds without node'
empty missing && grep -q 'node or npm is not installed' "$folder/log" || fail 'AUTO without node says so'
pass 'AUTO without node says so'
! bundle ON missing PATH="$folder/nothing" || fail 'ON needs node'
pass 'ON needs node'

grep -q '"resolved"\|https\?://' "$source/web/package-lock.json" && fail 'the lock file has addresses'
[ "$(grep -c '"integrity": "sha512-' "$source/web/package-lock.json")" -ge 2 ] || fail 'the lock file has digests'
pass 'the lock file has digests and no addresses'

if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
    echo "skipped: node or npm is not installed"
    echo "$passed passed, 0 failed"
    exit 0
fi
# A port where nobody listens, and an empty cache: as offline as a machine can be.
start=$SECONDS
bundle AUTO offline npm_config_registry=http://127.0.0.1:9 npm_config_cache="$folder/cache" || fail 'AUTO builds offline'
empty offline && grep -q 'npm could not install' "$folder/log" || fail 'AUTO offline says so'
[ $((SECONDS - start)) -lt 60 ] || fail "offline takes $((SECONDS - start)) s"
pass "AUTO offline says so, after $((SECONDS - start)) s"
! bundle ON offline npm_config_registry=http://127.0.0.1:9 npm_config_cache="$folder/cache" || fail 'ON needs the packages'
pass 'ON needs the packages'

bundle AUTO made || fail 'AUTO'
if empty made; then
    echo "skipped: the packages cannot be installed here"
else
    [ "$(openssl dgst -sha256 -binary "$folder/made/script.js" 2>/dev/null | base64)" = "$(cat "$folder/made/script.sha256")" ] ||
        ! command -v openssl >/dev/null || fail 'the digest is that of the script'
    grep -q 'Permission is hereby granted' "$folder/made/script.js" || fail 'the licence of uPlot is in the script'
    [ "$(stat -c %s "$folder/made/script.js")" -lt 200000 ] || fail 'the script is small'
    pass 'the script has its digest and the licence'
    before=$(stat -c %Y "$folder/made/installed")
    bundle AUTO made npm_config_registry=http://127.0.0.1:9 && ! empty made && [ "$(stat -c %Y "$folder/made/installed")" = "$before" ] ||
        fail 'a second time needs no network'
    pass 'a second time needs no network'
fi
echo "$passed passed, 0 failed"
