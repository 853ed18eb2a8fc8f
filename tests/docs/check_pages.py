"""What a reader of the pages relies on, beyond commands: check_pages.py [ROOT].

Links lead to files and headings that exist; docs/README.md and the pages themselves name each other; the paper of
docs/joss.md has at most 1000 words, with its references, and cites what its list and joss.bib hold; CITATION.cff has
the version of the library."""
import pathlib
import re
import sys

WORDS = 1000
LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)\)|!\[[^\]\n]*\]\(([^)\s]+)\)")
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.M | re.S)
SKIPPED = ("node_modules", "build", ".git")


def pages(root):
    return [p for p in sorted(root.rglob("*.md"))
            if not any(part.startswith(SKIPPED) for part in p.relative_to(root).parts)]


def anchors(text):
    """Names of headings as GitHub makes them."""
    found = set()
    for heading in re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S), re.M):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        found.add(re.sub(r"[^\w\- ]", "", heading).replace(" ", "-"))
    return found


def links(root):
    for page in pages(root):
        text = page.read_text(encoding="utf-8")
        for match in LINK.finditer(CODE.sub("", text)):
            target = match.group(1) or match.group(2)
            if re.match(r"[a-z]+:", target):
                continue
            name, _, anchor = target.partition("#")
            file = (page.parent / name).resolve() if name else page
            where = page.relative_to(root)
            if not file.exists():
                yield f"{where}: {target} is not there"
            elif anchor and file.suffix == ".md" and anchor not in anchors(file.read_text(encoding="utf-8")):
                yield f"{where}: {target}: no such heading"


def index(root):
    """Every page of docs/ is in docs/README.md."""
    text = (root / "docs" / "README.md").read_text(encoding="utf-8")
    for page in pages(root / "docs"):
        name = str(page.relative_to(root / "docs"))
        if name != "README.md" and not re.search(rf"[(`]{re.escape(name)}[)`]", text):
            yield f"docs/README.md does not name {name}"


def joss(root):
    text = (root / "docs" / "joss.md").read_text(encoding="utf-8")
    paper = text.split("<!-- paper -->")[1].split("<!-- end of paper -->")[0]
    references = text.split("\n## References\n")[1].split("\n## ")[0]
    words = len(paper.split()) + len(references.split())
    if words > WORDS:
        yield f"docs/joss.md: the paper and its references have {words} words, {WORDS} are allowed"
    for section in ("Summary", "Statement of need", "State of the field"):
        if f"## {section}\n" not in paper:
            yield f"docs/joss.md: the paper has no section {section}"
    cited = {key.strip().lstrip("@") for group in re.findall(r"\[(@[^\]]+)\]", paper) for key in group.split(";")}
    listed = set(re.findall(r"^- \*\*(\w+)\*\*:", text, re.M))
    kept = set(re.findall(r"^@\w+\{(\w+),", (root / "docs" / "joss.bib").read_text(encoding="utf-8"), re.M))
    for name, keys in (("its list", listed), ("joss.bib", kept)):
        for key in sorted(cited ^ keys):
            yield f"docs/joss.md: {key} is {'cited, but not' if key in cited else 'not cited, but'} in {name}"


def citation(root):
    wanted = re.search(r'#define STAIR_VERSION "(.*)"', (root / "include" / "stair.h").read_text()).group(1)
    found = re.search(r"^version: (.*)$", (root / "CITATION.cff").read_text(encoding="utf-8"), re.M)
    if not found or found.group(1).strip('"') != wanted:
        yield f"CITATION.cff: the version is {wanted}"
    if f"version = {{{wanted}}}" not in (root / "docs" / "howto" / "citation.md").read_text(encoding="utf-8"):
        yield f"docs/howto/citation.md: the version is {wanted}"


def complaints(root):
    return [line for check in (links, index, joss, citation) for line in check(root)]


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__).resolve()
    root = root if root.is_dir() else root.parent.parent.parent
    found = complaints(root)
    for line in found:
        print(f"FAILED: {line}")
    if not found:
        print(f"{len(pages(root))} pages: links, index, paper and citation are right")
    return len(found) > 0


if __name__ == "__main__":
    sys.exit(main())
