#!/usr/bin/env python3
"""Rules of the house that a machine can check.

    check_rooms.py [--root FOLDER] [--only CHECK[,CHECK]] [--prefix FOLDER]

Prints one line for each violation, 'FILE:LINE: what is wrong', and ends with exit code 1 if there is any.  Which
room may include which, and which system headers have one place, is read from the tables of docs/architecture.md.
test_check_rooms.py shows that every check can fail."""
import argparse
import os
import re
import subprocess
import sys
import tempfile

WIDTH = 110  # columns, as in .clang-format
TABLES = {  # rules that have to stand in a table: type -> file whose array lists them
    "stair_average_rule": "src/average/average.c",
    "stair_denoiser_rule": "src/posterior/denoiser.c",
    "stair_channel_rule": "src/channel/channel.c",
    "stair_model_ops": "src/model/registry.c",
    "cli_command": "cli/commands.c",
    "figure_kind": "figures/kinds.c",
}


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


def lines_of(root, path):
    return enumerate(read(root, path).splitlines(), 1)


def find(root, *ends):
    """Paths of the tree whose names end so, without what builds leave behind."""
    found = []
    for folder, folders, files in os.walk(root):
        folders[:] = [f for f in folders if f[0] != "." and not f.startswith("build") and f not in ("out", "shared")]
        found += [os.path.relpath(os.path.join(folder, f), root) for f in files if f.endswith(ends)]
    return sorted(found)


def without_comments(text):
    """The same lines, comments blanked."""
    return re.sub(r"/\*.*?\*/|//[^\n]*", lambda m: re.sub(r"[^\n]", " ", m.group()), text, flags=re.S)


def room_of(path):
    """src/core/rng.c -> core, cli/main.c -> cli"""
    parts = path.split("/")
    return parts[1] if parts[0] == "src" else parts[0]


# ---- who may include whom ------------------------------------------------------------------------------


def tables(root):
    """From docs/architecture.md: room -> rooms it may include; system header -> where it may stand."""
    rooms, places = {}, {}
    for _, line in lines_of(root, "docs/architecture.md"):
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        room = re.fullmatch(r"`([\w/]+)/`", cells[0]) if len(cells) == 3 else None
        if room:
            rooms[room_of(room.group(1) + "/")] = set(cells[2].strip("`").split())
        headers = re.fullmatch(r"(`<[\w./]+>`,? ?)+", cells[0]) if len(cells) == 2 else None
        for header in re.findall(r"<([\w./]+)>", cells[0]) if headers else []:
            places[header] = cells[1].strip("`")
    return rooms, places


def owner(root, path, name):
    """The room of the header that #include "name" finds from path; None: not in the tree."""
    for folder in (os.path.dirname(path), "include", "src", "bench", "figures", "cli"):
        if os.path.isfile(os.path.join(root, folder, name)):
            return room_of(os.path.normpath(os.path.join(folder, name)))
    return None


def check_includes(root, _):
    rooms, places = tables(root)
    if len(rooms) < 10 or len(places) < 5:
        yield "docs/architecture.md: the tables of rooms and of system headers are not there"
    for folder in os.listdir(os.path.join(root, "src")):
        if folder not in rooms:
            yield f"docs/architecture.md: src/{folder} is not in the table of rooms"
    for path in find(root, ".c", ".h", ".cu"):
        room = room_of(path)
        for number, line in enumerate(without_comments(read(root, path)).splitlines(), 1):
            match = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
            if not match:
                continue
            name, quoted = match.group(2), match.group(1) == '"'
            if not quoted and name in places and not path.startswith(places[name]) and room != "tests":
                yield f"{path}:{number}: <{name}> belongs to {places[name]} alone"
            if room == "examples" and (quoted or re.search(r"/|^stair_", name) and not name.startswith("sys/")):
                yield f"{path}:{number}: an example includes <stair.h> and the C library, not {name}"
            if not quoted or room not in rooms:
                continue
            other = owner(root, path, name)
            if other is None:
                yield f"{path}:{number}: {name} is not in the tree"
            elif other != room and other not in rooms[room]:
                yield f"{path}:{number}: {room} may not include {name} (docs/architecture.md)"


# ---- public headers --------------------------------------------------------------------------------------


def public_headers(root):
    return sorted(name for name in os.listdir(os.path.join(root, "include")) if name.endswith(".h"))


def check_headers(root, _):
    """stair.h brings all of them, and each compiles alone, twice, in C and in C++."""
    stair = without_comments(read(root, "include/stair.h"))
    for name in public_headers(root):
        if name != "stair.h" and f'#include "{name}"' not in stair:
            yield f"include/{name}: stair.h does not include it"
        for suffix, command in ((".c", ["cc", "-std=c17"]), (".cc", ["c++", "-std=c++17"])):
            yield from compile_alone(os.path.join(root, "include"), name, suffix, command)


def compile_alone(folder, name, suffix, command):
    with tempfile.TemporaryDirectory() as temporary:
        source = os.path.join(temporary, "alone" + suffix)
        with open(source, "w", encoding="utf-8") as file:
            file.write(f"#include <{name}>\n#include <{name}>\n#include <stair.h>\n")
        flags = ["-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only", "-I", folder]
        done = subprocess.run(command + flags + [source], capture_output=True, text=True)
        if done.returncode:
            yield f"include/{name}: does not compile alone with {' '.join(command)}:\n{done.stderr.strip()}"


def check_installed(root, prefix):
    """Below the prefix are the public headers, the same bytes, and no others."""
    if not prefix:
        return
    folder = os.path.join(prefix, "include")
    installed = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    for name in public_headers(root):
        if name not in installed:
            yield f"include/{name}: not installed"
        elif read(folder, name) != read(root, "include/" + name):
            yield f"include/{name}: installed in another version"
    for name in installed:
        if name not in public_headers(root):
            yield f"{name}: installed, but not public"


# ---- rules in their tables -------------------------------------------------------------------------------


def check_rules(root, _):
    """A const rule that its table does not list is never tried: no other test would miss it."""
    kinds = "|".join(TABLES)
    listed = {}
    for kind, table in TABLES.items():
        text = without_comments(read(root, table)) if os.path.isfile(os.path.join(root, table)) else ""
        array = re.search(rf"const {kind} \*const \w+\[\] = \{{(.*?)\}};", text, re.S)
        if not array:
            yield f"{table}: no table of {kind}"
        listed[kind] = set(re.findall(r"&(\w+)", array.group(1))) if array else set()
    for path in find(root, ".c"):
        if room_of(path) == "tests":
            continue
        text = without_comments(read(root, path))
        for match in re.finditer(rf"^const ({kinds}) (\w+) = ", text, re.M):
            if match.group(2) not in listed[match.group(1)]:
                number = text.count("\n", 0, match.start()) + 1
                yield f"{path}:{number}: {match.group(2)} is in no table ({TABLES[match.group(1)]})"


# ---- pages, format, columns, names of numbers ------------------------------------------------------------


def check_readme(root, _):
    rooms = ["src/" + folder for folder in sorted(os.listdir(os.path.join(root, "src")))]
    for room in rooms + ["cli", "bench", "tests", "examples"]:
        if not os.path.isfile(os.path.join(root, room, "README.md")):
            yield f"{room}: has no README.md"


def check_format(root, _):
    sources = find(root, ".c", ".h", ".cu")
    done = subprocess.run(["clang-format", "--dry-run"] + sources, cwd=root, capture_output=True, text=True)
    if done.returncode:
        yield f"clang-format: {done.stderr.strip()}"
    for path in sorted(set(re.findall(r"^(\S+?):\d+:\d+: warning:", done.stderr, re.M))):
        yield f"{path}: not as clang-format has it"
    for path in sources:
        for number, line in lines_of(root, path):
            if len(line) > WIDTH and "http" not in line:
                yield f"{path}:{number}: {len(line)} columns"


def check_prose(root, _):
    """Lines of Markdown; tables, links and what is quoted as code cannot be broken."""
    for path in find(root, ".md"):
        code = False
        for number, line in lines_of(root, path):
            code ^= line.lstrip().startswith("```")
            free = code or line.startswith(("|", "    ")) or re.search(r"https?://|\]\(", line)
            if len(line) > WIDTH and not free:
                yield f"{path}:{number}: {len(line)} columns"


def check_numbers(root, _):
    """#define NAME 12 says what it is: beside it, or in a comment that ends on the line above.  A block of
    #defines shares the comment above its first line when that ends in a colon."""
    for path in find(os.path.join(root), ".c", ".h", ".cu"):
        if not path.startswith(("src/", "cli/")):
            continue
        before = shared = ""
        for number, line in lines_of(root, path):
            define = re.match(r"#define \w+\s+\(?-?[\d.]", line)
            if define and "/*" not in line and not before.rstrip().endswith("*/") and not shared:
                yield f"{path}:{number}: {line.split()[1]} has no comment"
            shared = define and (shared or before.rstrip().endswith(": */"))
            before = line


CHECKS = {
    "includes": check_includes,
    "headers": check_headers,
    "installed": check_installed,
    "rules": check_rules,
    "readme": check_readme,
    "format": check_format,
    "prose": check_prose,
    "numbers": check_numbers,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
    parser.add_argument("--only", default=",".join(CHECKS), help="checks: " + ", ".join(CHECKS))
    parser.add_argument("--prefix", help="of an installation, for the check 'installed'")
    arguments = parser.parse_args()
    wrong = [line for name in arguments.only.split(",") for line in CHECKS[name](arguments.root, arguments.prefix)]
    for line in wrong:
        print(line)
    print(f"{len(wrong)} violations of the rules of the house" if wrong else "the rules of the house hold")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
