"""BERT uncased WordPiece as published, written again in plain Python on unicodedata: the truth that
test_train_tokenize.sh holds the program to.  usage: wordpiece_reference.py VOCAB FILE [LONGEST]"""
import re
import sys
import unicodedata


def is_space(c):
    return c in "\t\n\r" or unicodedata.category(c)[0] == "Z"


def is_dropped(c):
    return ord(c) in (0, 0xFFFD) or (c not in "\t\n\r" and unicodedata.category(c)[0] == "C")


def is_cjk(c):
    n = ord(c)
    return (0x4E00 <= n <= 0x9FFF or 0x3400 <= n <= 0x4DBF or 0x20000 <= n <= 0x2A6DF or 0x2A700 <= n <= 0x2B73F
            or 0x2B740 <= n <= 0x2B81F or 0x2B820 <= n <= 0x2CEAF or 0xF900 <= n <= 0xFAFF or 0x2F800 <= n <= 0x2FA1F)


def is_punctuation(c):
    n = ord(c)
    return (33 <= n <= 47 or 58 <= n <= 64 or 91 <= n <= 96 or 123 <= n <= 126
            or unicodedata.category(c)[0] == "P")


def words(text):
    text = "".join(" " if is_space(c) else c for c in text if not is_dropped(c))
    text = "".join(" %s " % c if is_cjk(c) else c for c in text)
    text = unicodedata.normalize("NFD", text)
    text = "".join(c for c in text if unicodedata.category(c) != "Mn")
    text = "".join(c.lower() for c in text)  # letter by letter
    text = "".join(" %s " % c if is_punctuation(c) else c for c in text)
    return text.split()


def pieces(word, vocab):
    if len(word) > 100:
        return ["[UNK]"]
    out, start = [], 0
    while start < len(word):
        for end in range(len(word), start, -1):
            piece = ("##" if start else "") + word[start:end]
            if piece in vocab:
                break
        else:
            return ["[UNK]"]
        out.append(piece)
        start = end
    return out


def ids(text, vocab, longest=32):
    tokens = [p for w in words(text) for p in pieces(w, vocab)]
    return [vocab[t] for t in ["[CLS]"] + tokens[:longest - 2] + ["[SEP]"]]


def lines(path):
    """Questions as common loaders read them: a stray byte 0xF0 is a space, the label goes."""
    for raw in open(path, "rb").read().split(b"\n")[:-1]:
        try:
            text = raw.decode()
        except UnicodeDecodeError:
            text = raw.replace(b"\xf0", b" ").decode()
        yield re.sub(r"^[A-Z][A-Z0-9]*:[A-Za-z0-9_-]+ ", "", text.strip())


if __name__ == "__main__":
    table = {t: i for i, t in enumerate(open(sys.argv[1], encoding="utf-8").read().split("\n")[:-1])}
    size = int(sys.argv[3]) if len(sys.argv) > 3 else 32
    for line in lines(sys.argv[2]):
        print(*ids(line, table, size))
