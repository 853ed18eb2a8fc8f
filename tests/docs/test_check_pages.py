"""That check_pages.py notices what is wrong, in a copy of the pages: test_check_pages.py [ROOT]."""
import pathlib
import shutil
import sys
import tempfile

from check_pages import complaints

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# (file, from, to, what the complaint says); an empty `from` appends.
PLANTS = [
    ("README.md", "", "\n[gone](docs/gone.md)\n", "docs/gone.md is not there"),
    ("docs/tutorial.md", "", "\n![gone](gone.svg)\n", "gone.svg is not there"),
    ("docs/faq.md", "", "\n[x](concepts.md#no-such-heading)\n", "no such heading"),
    ("docs/README.md", "(howto/citation.md)", "(howto/grids.md)", "does not name howto/citation.md"),
    ("docs/joss.md", "<!-- end of paper -->", "word " * 1000 + "\n<!-- end of paper -->", "words, 1000 are allowed"),
    ("docs/joss.md", "## References\n", "## References\n" + "word " * 200, "words, 1000 are allowed"),
    ("docs/joss.md", "<!-- end of paper -->", "[@nobody2020]\n<!-- end of paper -->", "nobody2020 is cited, but not in"),
    ("docs/joss.md", "## State of the field", "## Others", "no section State of the field"),
    ("docs/joss.bib", "@misc{vampyre,", "@misc{vampire,", "vampire is not cited, but in joss.bib"),
    ("CITATION.cff", "version: 0", "version: 9", "CITATION.cff: the version is"),
    ("docs/howto/citation.md", "version = {0", "version = {9", "docs/howto/citation.md: the version is"),
]


def copy(to):
    for path in ROOT.rglob("*"):
        inside = path.relative_to(ROOT)
        if inside.parts[0].startswith((".git", "build", "out")) or "node_modules" in inside.parts or path.is_dir():
            continue
        (to / inside).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, to / inside) if path.suffix in (".md", ".bib", ".cff", ".h") else (to / inside).touch()


def main():
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        copy(root)
        if complaints(root):
            print(f"FAILED: the pages as they are: {complaints(root)[0]}")
            bad += 1
        for name, old, new, says in PLANTS:
            kept = (root / name).read_text(encoding="utf-8")
            if old and old not in kept:
                print(f"FAILED: {name} has no {old!r} to plant on")
                bad += 1
                continue
            (root / name).write_text(kept.replace(old, new, 1) if old else kept + new, encoding="utf-8")
            if not any(says in line for line in complaints(root)):
                print(f"FAILED: not noticed: {says}")
                bad += 1
            (root / name).write_text(kept, encoding="utf-8")
    print(f"{len(PLANTS)} planted, {bad} failed")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
