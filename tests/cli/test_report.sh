# stair report: what is read of result files, what of them is refused, and that nothing in them becomes markup.
. "$(dirname "$0")/lib.sh"
need_numpy
$PYTHON "$TESTS/make_report_input.py" || fail 'input'

# holds NAME PAGE QUESTION: about the data of the page
holds() {
    $PYTHON "$TESTS/check_report.py" "$2" "$3" 2>why || fail "$1" "$3" "$(cat why)"
    pass "$1"
}
# page NAME ARGUMENTS...: writes page.html
page() {
    local name=$1
    shift
    "$STAIR" report "$@" --out page.html --force >stdout 2>stderr || fail "$name" "$(cat stderr)"
}
# The data are there where a script reads them; without node there are pictures alone.
"$STAIR" report rows.json --out first.html >stdout 2>stderr || fail 'a page' "$(cat stderr)"
live=yes
grep -q 'built without node' first.html && live=no && echo 'this program was built without node: pages are plain'

# ---- usage ----------------------------------------------------------------------------------------------
expect 'what is written' 0 '^Written: page.html$' "$STAIR" report rows.json --out page.html
refuse 'a page that is there' 'page.html: exists' "$STAIR" report rows.json --out page.html
expect '--force' 0 'Written' "$STAIR" report rows.json --out page.html --force
cmp -s first.html page.html || fail 'the same page twice'
refuse 'no files' 'needs result files' "$STAIR" report --out new.html
refuse 'no page' 'needs --out' "$STAIR" report rows.json
refuse 'a page that would replace a result' 'must end in .html' "$STAIR" report rows.json --out rows.json --force
refuse 'a file that is not there' 'none.json: No such file' "$STAIR" report none.json --out new.html
refuse 'a file of another kind' 'must end in .json, .csv or .npz' "$STAIR" report stderr --out new.html
mkdir folder.json && mkfifo pipe.csv
refuse 'a folder' 'not a regular file' "$STAIR" report folder.json --out new.html
refuse 'a pipe' 'not a regular file' "$STAIR" report pipe.csv --out new.html
refuse 'an empty title' 'title' "$STAIR" report rows.json --title= --out new.html
truncate -s 65M large.json && refuse 'a large file' 'larger than 64 MiB' "$STAIR" report large.json --out new.html
refuse 'many files' 'unexpected argument' "$STAIR" report $(yes rows.json | head -n 257) --out new.html
expect 'a folder that is not there' 2 'no/new.html' "$STAIR" report rows.json --out no/new.html

# ---- files that are refused: one line, exit 2, no page ---------------------------------------------------
declare -A reasons=(
    [empty.json]='not JSON' [text.json]='not JSON' [cut.json]='not JSON' [array.json]='no "results"' [none.json]='no "results"'
    [kind.json]='no "results"' [row.json]='result 1 is not an object' [twice.json]='not JSON.*duplicate' [name.json]="'a_b' stands twice"
    [utf8.json]='not JSON' [number.json]='not JSON' [nan.json]='not JSON' [deep.json]='nested too deeply' [deeper.json]='not JSON'
    [long.json]='a name of more than' [columns.json]='more than 4096 columns' [history.json]='a history of other than objects'
    [cells.json]='more than 2000000 numbers' [empty.csv]='empty' [cells.csv]='line 3 has 1 cells, the line of names 2'
    [more.csv]='line 2 has 3 cells' [names.csv]='name 2 of a column is empty' [same.csv]="'a' stands twice" [utf8.csv]='line 2: cell 2 is not UTF-8'
    [nul.csv]='name 1 of a column is not a text' [text.npz]='not an NPZ archive' [empty.npz]='NPZ archive|no arrays' [rows.npz]='differ in their rows'
    [scalar.npz]='has no rows' [object.npz]='object dtype' [cut.npz]='not an NPZ archive' [none.npz]='no arrays|not an NPZ' [member.npz]="no array"
    [endless.npz]='has no rows' [huge.npz]='holds other than|overflow' [letters.npz]='dtype' [bomb.npz]='too large')
for file in bad_*; do
    [ -n "${reasons[${file#bad_}]-}" ] || fail "a reason for $file"
    refuse "$file" "${reasons[${file#bad_}]}" "$STAIR" report rows.json "$file" --out new.html
done

# ---- nothing becomes markup ------------------------------------------------------------------------------
page 'hostile' hostile.json rows.json --title '<b>&"'
[ "$(grep -o '</script>' page.html | wc -l)" -eq "$(grep -c '<script' page.html)" ] || fail 'no script element is ended by data'
grep -q '<title>&lt;b&gt;&amp;&quot;</title>' page.html || fail 'the title is text'
! grep -Eq '(src|href)="?(https?:|//)|@import|url\(' page.html || fail 'the page loads nothing'
grep -q "Content-Security-Policy.*default-src 'none'" page.html || fail 'a policy that loads nothing'
pass 'nothing becomes markup'
page 'plain hostile' hostile.json --title '<b>&"' --plain
! grep -q '<script' page.html || fail 'a plain page has no script'
grep -q '&lt;/script&gt;&lt;script&gt;' page.html || fail 'hostile text is shown as text'
! grep -q '<b>' page.html || fail 'the title is text in a plain page'
pass 'nothing becomes markup, plain'

# ---- plain pages -----------------------------------------------------------------------------------------
page 'plain' rows.json steps.json types.npz --plain
[ "$(grep -o '<svg' page.html | wc -l)" -ge 4 ] || fail 'plain: a picture for each plot'
grep -q 'plots are pictures' page.html || fail 'plain: says what it is'
grep -q '<title>Q22, informed = 0.5 ± 0.02</title>' page.html || fail 'plain: points say value and error'
grep -q '<td>0.30000000000000004</td>\|0.30000000000000004' page.html || fail 'plain: options with all digits'
$PYTHON - <<'END' || fail 'plain: a page of well-formed elements'
import html.parser, sys
VOID = {"meta", "link", "br", "wbr", "img", "input"}
class Reader(html.parser.HTMLParser):
    open = []
    def handle_starttag(self, tag, attributes):
        if tag not in VOID: self.open.append(tag)
    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag
reader = Reader()
reader.feed(open("page.html", encoding="utf-8").read())
sys.exit(bool(reader.open))
END
pass 'plain pages'
page 'plain CSV' unix.csv dos.csv --plain
for row in "<td>0.1</td><td>-</td><td>-</td><td class='text'>a;b</td>" '<td>0.2</td><td>0.001</td><td>0.5</td><td>-</td>' \
    '<td>0.1</td><td>2</td>' '<td>0.2</td><td>-350</td>'; do
    grep -qF "<tr>$row</tr>" page.html || fail "plain: a row of CSV" "$row" "$(grep '<tr>' page.html)"
done
pass 'plain pages of CSV'
[ $live = yes ] || { finish; exit 0; }

# ---- what is read ----------------------------------------------------------------------------------------
page 'rows' rows.json
holds 'names are those of CSV' page.html 'names(T) == ["alpha", "start", "Q11", "Q12", "Q22", "Q11_error", "Q12_error", "Q22_error",
    "bayes", "bayes_error", "theory_Q11", "learns", "hard", "gone"]'
holds 'values' page.html 'values(T, "Q22") == [1, 1, .5, .5, 1/3, 1/3] and values(T, "learns")[0] == "1 2" and values(T, "hard")[5] == "yes"'
holds 'null is missing' page.html 'values(T, "gone") == [None] * 6'
holds 'plots of evolve' page.html 'plots(T) == [("alpha", ["Q11", "Q22"], ["Q11_error", "Q22_error"], ["start"]),
    ("alpha", ["bayes"], ["bayes_error"], ["start"])]'
holds 'the command, without defaults' page.html 'F[0]["line"] == "stair evolve square --alpha 0,0.1,0.2,0.30000000000000004 --from informed --seed 3"'
page 'ragged' ragged.json
holds 'rows of unequal shape' page.html 'values(T, "a") == [1, None, 3] and values(T, "b") == [None, 2, 4]'
page 'history' history.json
holds 'a history is a table of its own' page.html '[t["name"] for t in F[0]["tables"]] == ["results", "history"]
    and F[0]["tables"][1]["rows"] == 6 and values(F[0]["tables"][1], "seed") == [1, 1, 1, 2, 2, 2]
    and plots(F[0]["tables"][1])[0] == ("iteration", ["M11"], [None], ["seed"])'
page 'steps' steps.json
holds 'steps against the key of a grid' page.html 'plots(T) == [("skip", ["alpha"], ["error"], ["step"])]
    and values(T, "step")[:4] == ["weak 1", "weak 2", "perfect", "weak 1"] and values(T, "Q22_error")[0] == .2'
page 'wide' wide.json
holds 'large indices are separated' page.html '"dg2_12" in names(T) and "dg1_1" in names(T)'
page 'types' types.npz
holds 'NPZ: numbers, words, truth, arrays' page.html 'values(T, "alpha") == [.5, None, None] and values(T, "word") == ["<b>", "é", ""]
    and values(T, "flag") == ["yes", "no", "yes"] and values(T, "whole") == [1, 2, 3] and values(T, "cosine2") == [1, 3, 5]'
holds 'NPZ: what is left out is named' page.html 'F[0]["notes"] == ["dg (3, 300) is left out"]'
page 'edges' edges.npz
holds 'NPZ: characters at the edges of UTF-8' page.html 'values(T, "word") == ["\x7f\x80\u07ff\u0800\uffff\U00010000\U0010ffff"]'
page 'deflated' deflated.npz
holds 'NPZ, deflated' page.html 'plots(T) == [("alpha", ["Q11"], ["Q11_error"], [])]'
page 'csv' unix.csv dos.csv
holds 'CSV: missing, words, exponents' page.html 'values(T, "Q11") == [None, 1e-3] and values(T, "Q11_error") == [None, .5]
    and values(T, "word") == ["a;b", None] and values(F[1]["tables"][0], "Q11") == [2, -350]'
page 'hostile' hostile.json
holds 'strings come back whole' page.html 'values(T, names(T)[0])[0] == names(T)[0] and "</script><script>" in names(T)[0] and "\u2028" in names(T)[0]'
holds 'no line of an unknown command' page.html '"line" not in F[0] and F[0]["command"].startswith("</script>")'
page 'quote' quote.json
$PYTHON -c 'import re, json; print(json.loads(re.search(r"id=\"data\">(.*?)</script>", open("page.html").read(), re.S)[1])[0]["line"])' >line
(set -- && eval "set -- $(cat line)" && printf '%s\n' "$@") >words
[ ! -e pwned ] && grep -qxF 'it'"'"'s $(touch pwned) `touch pwned`;\' words || fail 'values are quoted for a shell' "$(cat line)"
pass 'values are quoted for a shell'
page 'control' control.json
holds 'no line with a control character' page.html '"line" not in F[0]'

# ---- the same table in every format, and the line gives the same result ------------------------------------
for format in json csv npz; do
    "$STAIR" evolve square --alpha 0.3:0.9:0.1 --precision 0.1 --out e.$format --quiet >/dev/null || fail 'evolve'
done
page 'formats' e.json e.csv e.npz
holds 'three formats, one table' page.html 'len({json.dumps([[c["name"], [round(v, 12) if isinstance(v, float) else v for v in c["values"]]]
    for c in f["tables"][0]["columns"] if c["name"] not in ("iterations",)]) for f in F}) == 1'
holds 'and the same plots' page.html 'len({json.dumps(f["tables"][0]["plots"]) for f in F}) == 1 and len(plots(T)) == 2'
holds 'a range in the line' page.html 'F[0]["line"] == "stair evolve square --alpha 0.3:0.9:0.1 --precision 0.1"'
eval "\"$STAIR\" evolve square --alpha 0.3:0.9:0.1 --precision 0.1 --json" >again.json
cmp -s again.json e.json || fail 'the line gives the same result'
pass 'the line gives the same result'
finish
