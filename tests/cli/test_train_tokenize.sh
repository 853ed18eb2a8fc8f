# Token ids against an independent reimplementation, on this project's questions, on hard Unicode and,
# where the files are, on all of TREC with BERT's vocabulary.
. "$(dirname "$0")/lib.sh"
ROOT=$(realpath "$TESTS/../..")
VOCAB=$ROOT/data/vocab.txt
SHARED=$ROOT/../shared/data

same() { # NAME VOCAB FILE [LONGEST]
    "$STAIR" tokenize --vocab "$2" --longest "${4:-32}" "$3" >got 2>stderr || fail "$1" "$(cat stderr)"
    $PYTHON "$TESTS/wordpiece_reference.py" "$2" "$3" "${4:-32}" >expected || fail "$1" "the reference failed"
    cmp -s got expected || fail "$1" "$(diff got expected | head -4)"
    pass "$1, $(wc -l <got) lines"
}

same "own questions" "$VOCAB" "$ROOT/data/questions.label"
same "own questions cut at 6 ids" "$VOCAB" "$ROOT/data/questions.label" 6

# accents, composed and not; controls; format characters; all kinds of spaces; CJK and its compatibility
# forms; Hangul, which decomposes; punctuation outside ASCII; long words; special tokens as text
$PYTHON - <<'PY'
import random
lines = [
    "NUM:date Café naïve ÀÉÎÕÜ ça où?", "Cafe\u0301 e\u0302\u0301 \u1e69 \u0130stanbul \u212bngstr\u00f6m \u2126",
    "tab\tand\u00a0nbsp\u2003em\u3000ideographic\u2028line\u2029paragraph\u1680ogham", "ab\u0007c\u200bd\u00ade\ufefff\u0085g\ufffdh\ue000i",
    "\u4e2d\u6587abc\u6f22\u5b57 \u3042\u30a2 \uf900\uf9ff \U00020000\U0002f800x", "\ud55c\uad6d\uc5b4 korean \u1112\u1161\u11ab",
    "don't stop-me\u2014now \u201cquoted\u201d \u00bfqu\u00e9? \u00abguillemets\u00bb $5 ^_` ~|{}", "\u03a3\u038a\u03a3\u03a5\u03a6\u039f\u03a3 \u1fef \u037e \u0386",
    "w" * 100 + " " + "w" * 101 + " x", "\u00e9" * 100 + " " + "\u00e9" * 101, "[CLS] [SEP] [MASK] [UNK] ##ing un##able",
    "\U0001f600 emoji \U0001f1eb\U0001f1f7 \u2764\ufe0f", "\u0627\u0644\u0639\u064e\u0631\u064e\u0628\u0650\u064a\u0629 \u05e2\u05b4\u05d1\u05b0\u05e8\u05d9\u05ea \u0939\u093f\u0928\u094d\u0926\u0940",
    "\u200b", "ENTY:a only", "UPPER lower MiXeD \u00df \u1e9e \u01c5 \ufb01", "1 2 3 four5six 7.8,9", "HUM:ind \u0410\u043b\u0435\u043a\u0441\u0435\u0439 \u0451\u0439",
]
random.seed(1)
blocks = [(32, 0x24f), (0x300, 0x36f), (0x370, 0x5ff), (0x900, 0x97f), (0x1e00, 0x206f), (0x3000, 0x30ff), (0x4e00, 0x4eff), (0xac00, 0xacff), (0xf900, 0xfaff)]
for _ in range(400):
    lines.append("q" + "".join(chr(random.randint(*random.choice(blocks))) for _ in range(random.randint(1, 40))).replace("\u0000", ""))
lines = [l for l in lines if "\n" not in l and "\r" not in l]
open("hard.txt", "w", encoding="utf-8", newline="").write("\n".join(lines) + "\n")
PY
same "hard Unicode, own vocabulary" "$VOCAB" hard.txt
printf 'NUM:date caf\xc3\xa9 \xf0 city\n' >stray.txt
same "a stray 0xF0" "$VOCAB" stray.txt

if [ -r "$SHARED/bert/vocab.txt" ]; then
    BERT=$SHARED/bert/vocab.txt
    same "TREC, train" "$BERT" "$SHARED/trec/train_5500.label"
    same "TREC, test" "$BERT" "$SHARED/trec/TREC_10.label"
    same "hard Unicode, BERT's vocabulary" "$BERT" hard.txt
    "$STAIR" tokenize --vocab "$BERT" "$SHARED/trec/train_5500.label" | head -n 1 >got
    [ "$(cat got)" = "101 2129 2106 14262 2546 9527 4503 1999 1998 2059 2681 3607 1029 102" ] || fail "first line of TREC" "$(cat got)"
    pass "first line of TREC"
else
    echo "skipped: TREC and BERT's vocabulary are not here"
fi
finish
