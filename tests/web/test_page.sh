# The page of `stair report` in headless Chromium; exit 77 (skipped) where node, Chromium or the script are not
# there.
#   test_page.sh STAIR
here=$(cd "$(dirname "$0")" && pwd)
skip() { echo "skipped: $1"; exit 77; }
command -v node >/dev/null || skip "node is not installed"
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || skip "Chromium is not installed"
echo '{"results": []}' >"${TMPDIR:-/tmp}/stair-page-$$.json"
"$1" report "${TMPDIR:-/tmp}/stair-page-$$.json" --out "${TMPDIR:-/tmp}/stair-page-$$.html" --quiet
built=$(grep -c 'built without node' "${TMPDIR:-/tmp}/stair-page-$$.html")
rm -f "${TMPDIR:-/tmp}/stair-page-$$.json" "${TMPDIR:-/tmp}/stair-page-$$.html"
[ "$built" = 0 ] || skip "this stair was built without node"
exec node "$here/test_page.mjs" "$1" "$chromium" ${STAIR_PICTURES:+--keep "$STAIR_PICTURES"}
