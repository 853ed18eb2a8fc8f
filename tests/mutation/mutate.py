#!/usr/bin/env python3
"""Random small mistakes in the sources, and the share of them that the tests notice.

    mutate.py [--count 300] [--seed 1] [--folder build-mutation] [--report] [--only TEXT] [--again]
    mutate.py --planted     those of planted.jsonl, each by the test that is named there
    mutate.py --keep        adds to planted.jsonl what was killed, up to two of a file

A mutant is one change of one token: a comparison, an operator, a sign, a constant by one or by a factor.  Left out
are text, sizes of memory and of arrays (sanitizers see those), numbers that were tuned (they change effort, not
results), and changes after which the compiler makes the same object.

All sources are compiled once, by gcc -O1 for one instruction set, into a shared library that tests are linked with.
Functions that a test binds to (LD_DEBUG) say which files it covers.  A mutant is one object that is loaded before
the library, so nothing is linked again.  First stage: unit tests that bind to its file, shortest first.  Second
stage, for what is left: tests of the command line, and the digits of tests/numbers as the library without a mutant
gives them.  A test that takes five times its processor time has noticed, too.

Files take turns, so that each has its share.  Results are appended to FOLDER/results.jsonl; a second call goes on.  judged.json beside this file has a word on
every survivor that was looked at.  The aim is 95 %, equivalent ones not counted; with --strict less is exit status 1.
"""
import argparse
import glob
import hashlib
import json
import os
import random
import re
import resource
import shlex
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "numbers"))
import check  # noqa: E402

LONGEST = {"unit": 4, "cli": 25, "numbers": 2}  # processor seconds of a test that is used
MOST = {"unit": 15, "cli": 40, "numbers": 10}   # of all tests of one mutant and stage
# Those that wait for signals and clocks, or compute for a minute, are not used.
CLI = "channel method train_tokenize bad_input output completion expr amp train hostile report checkpoint".split()
WANTED = 0.95

SWAPS = {"<": ["<=", ">"], "<=": ["<", ">="], ">": [">=", "<"], ">=": [">", "<="], "==": ["!="], "!=": ["=="],
         "+": ["-"], "-": ["+"], "*": ["/"], "/": ["*"], "+=": ["-="], "-=": ["+="], "*=": ["/="], "/=": ["*="],
         "&&": ["||"], "||": ["&&"], "true": ["false"], "false": ["true"], "!": [""], "%": ["*"]}
TOKEN = re.compile(r"""
    (?P<skip>/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|^[ \t]*\#(?:\\\n|[^\n])*)
  | (?P<number>(?<![\w.])(?:0[xX][0-9a-fA-F]+|\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)[uUlLfF]*(?![\w.]))
  | (?P<word>[A-Za-z_]\w*)
  | (?P<op><<=|>>=|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||\+=|-=|\*=|/=|%=|&=|\|=|\^=|\.\.\.|.)
""", re.X | re.S | re.M)
MEMORY = re.compile(r"\b(malloc|calloc|realloc|aligned_alloc|memset|memcpy|memmove|snprintf|sizeof|_Static_assert)\b")
ARRAY = re.compile(r"^\s*(static |const |unsigned |struct |_Alignas\(\d+\) )*[a-z_]\w*( \w+)? \*?\w+\[")


def run(words, limit=None, **more):
    """(exit status, processor seconds)"""
    def narrow():
        os.setsid()
        if limit:
            resource.setrlimit(resource.RLIMIT_CPU, (int(limit) + 1, int(limit) + 2))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    more.setdefault("stdout", subprocess.DEVNULL)
    more.setdefault("stderr", subprocess.DEVNULL)
    try:
        code = subprocess.run(words, stdin=subprocess.DEVNULL, preexec_fn=narrow, cwd=ROOT,
                              timeout=60 * limit + 60 if limit else None, check=False, **more).returncode
    except subprocess.TimeoutExpired:
        code = "timeout"
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return code, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


class Build:
    """The library without a mutant, the tests, and which files they cover."""

    def __init__(self, folder):
        self.folder = os.path.abspath(folder)
        os.makedirs(self.folder, exist_ok=True)
        self.sources = sorted(glob.glob(os.path.join(ROOT, "src", "**", "*.c"), recursive=True))
        for room in "cli", "figures", "bench":
            self.sources += sorted(glob.glob(os.path.join(ROOT, room, "*.c")))
        ask = lambda what: subprocess.run(["pkg-config", what, "jansson", "libzip", "libutf8proc"], check=True,
                                          capture_output=True, text=True).stdout.split()
        self.flags = ["-O1", "-fPIC", "-fsemantic-interposition", "-std=c17", "-D_XOPEN_SOURCE=700", "-w",
                      "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=fast", *ask("--cflags")]
        self.flags += ["-I" + os.path.join(ROOT, room) for room in ("include", "src", "cli", "bench", "figures", "tests")]
        self.libraries = [*ask("--libs"), "-lsleef", "-lm", "-lpthread"]
        self.library = os.path.join(self.folder, "libwhole.so")
        self.program = os.path.join(self.folder, "stair")

    def object_of(self, source):
        return os.path.join(self.folder, "objects", os.path.relpath(source, ROOT).replace("/", "+") + ".o")

    def compile(self, source, out, text_of=None):
        """text_of: the path whose folder quotes are looked up in"""
        flags = list(self.flags) + ["-I" + os.path.dirname(text_of or source)]
        if (text_of or source).endswith("_hot.c"):
            flags.append("-DSTAIR_ISA=v2")
        return run(["gcc", *flags, "-c", source, "-o", out])[0] == 0

    def make(self):
        os.makedirs(os.path.join(self.folder, "objects"), exist_ok=True)
        assets = os.path.join(self.folder, "page_assets.c")
        files = ["page_style=" + os.path.join(ROOT, "web/src/style.css"), "page_script=none", "page_script_digest=none"]
        if run(["cmake", "-DOUT=" + assets, "-DFILES=" + ";".join(files), "-P", os.path.join(ROOT, "cmake/embed.cmake")])[0]:
            raise SystemExit("page_assets.c could not be made")
        self.sources.append(assets)
        stamp = hashlib.sha256()
        for path in sorted(self.sources + glob.glob(ROOT + "/**/*.h", recursive=True) + glob.glob(ROOT + "/tests/unit/*.c")):
            stamp.update(open(path, "rb").read())
        self.stamp = stamp.hexdigest()
        mark = os.path.join(self.folder, "stamp")
        if os.path.exists(mark) and open(mark).read() == self.stamp:
            return
        objects = []
        headers = max(os.path.getmtime(path) for path in glob.glob(ROOT + "/[a-z]*/**/*.h", recursive=True))
        for source in self.sources:
            made = self.object_of(source)
            if os.path.exists(made) and os.path.getmtime(made) > max(os.path.getmtime(source), headers):
                objects += [made] if os.path.relpath(source, ROOT) != "cli/main.c" else []
                continue
            if not self.compile(source, made):
                raise SystemExit("does not compile: " + source)
            if os.path.relpath(source, ROOT) != "cli/main.c":
                objects.append(self.object_of(source))
        if run(["gcc", "-shared", "-Wl,-z,lazy", "-o", self.library, *objects, *self.libraries])[0]:
            raise SystemExit("no library")
        self.link_program(self.program, [self.object_of(os.path.join(ROOT, "cli", "main.c"))])
        for source in sorted(glob.glob(os.path.join(ROOT, "tests", "unit", "test_*.c"))):
            name = os.path.basename(source)[:-2]
            made = os.path.join(self.folder, name)
            if name == "test_lanes" or os.path.exists(made) and os.path.getmtime(made) > max(os.path.getmtime(source), headers):
                continue
            run(["gcc", *self.flags, source, "-o", made, "-Wl,-z,lazy", "-L" + self.folder, "-lwhole",
                 "-Wl,-rpath," + self.folder, "-lcmocka", *self.libraries])
        for path in glob.glob(os.path.join(self.folder, "tests-*.json")):
            os.remove(path)
        with open(mark, "w") as out:
            out.write(self.stamp)

    def link_program(self, out, objects):
        return run(["gcc", "-rdynamic", "-Wl,-z,lazy", "-o", out, *objects, "-L" + self.folder, "-lwhole",
                    "-Wl,-rpath," + self.folder, *self.libraries])[0] == 0

    def bound(self, prefix):
        """Files whose functions were bound to, by what LD_DEBUG wrote."""
        names = set()
        for path in glob.glob(prefix + ".*"):
            with open(path, errors="replace") as file:
                names.update(re.findall(r"symbol `(\w+)'", file.read()))
            os.remove(path)
        return sorted({self.where[name] for name in names if name in self.where})

    def read_symbols(self):
        self.where = {}
        for source in self.sources:
            listed = subprocess.run(["nm", "--defined-only", "-g", self.object_of(source)], capture_output=True, text=True,
                                    check=True).stdout
            for line in listed.splitlines():
                self.where[line.split()[-1]] = os.path.relpath(source, ROOT)

    def map_unit(self, prefix, wrapper):
        trace = {**os.environ, "LD_DEBUG": "bindings", "LD_DEBUG_OUTPUT": prefix}
        costs = {}  # of earlier runs of ./test, where there are any
        for path in glob.glob(os.path.join(ROOT, "build", "Testing", "Temporary", "CTestCostData.txt")):
            costs = {line.split()[0]: float(line.split()[2]) for line in open(path) if len(line.split()) == 3}
        for path in sorted(glob.glob(os.path.join(self.folder, "test_*"))):
            if costs.get(os.path.basename(path), 0) <= LONGEST["unit"]:
                yield os.path.basename(path), run([path], LONGEST["unit"], env=trace), {}

    def map_cli(self, prefix, wrapper):
        for name in CLI:
            yield "tests/cli/test_%s.sh" % name, run(["bash", os.path.join(ROOT, "tests/cli/test_%s.sh" % name), wrapper]), {}

    def map_numbers(self, prefix, wrapper):
        for line in open(os.path.join(ROOT, "tests", "numbers", "commands.txt")):
            line = line.strip()
            if line and not line.startswith(("#", "figure")):
                before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
                with tempfile.TemporaryDirectory() as place:
                    kept, _ = check.run(wrapper, line, place)
                seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
                yield line, (0 if kept["exit"] in (0, 1, 2, 3) else kept["exit"], seconds), {"kept": kept}

    def tests(self, kind):
        """Tests of one kind, and the files each covers: found once."""
        path = os.path.join(self.folder, "tests-%s.json" % kind)
        if os.path.exists(path):
            with open(path) as file:
                return json.load(file)
        self.read_symbols()
        prefix, wrapper = os.path.join(self.folder, "bindings"), os.path.join(self.folder, "traced")
        with open(wrapper, "w") as out:
            out.write('#!/bin/sh\nulimit -t %d\nLD_DEBUG=bindings LD_DEBUG_OUTPUT=%s exec %s "$@"\n'
                      % (LONGEST[kind] + 1, prefix, self.program))
        os.chmod(wrapper, 0o755)
        found = []
        for name, (code, seconds), more in getattr(self, "map_" + kind)(prefix, wrapper):
            files = self.bound(prefix)
            if code == 0:
                found.append({"kind": kind, "run": name, "seconds": seconds, "files": files, **more})
            else:
                print("not used: %s, exit %s after %.1f s" % (name, code, seconds), flush=True)
        with open(path, "w") as out:
            json.dump(found, out)
        return found


def places(path):
    """(offset, old, new, line) of all changes of a file."""
    text = open(path).read()
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    tuned = [m.span() for m in re.finditer(r"tuning = \{.*?\};", text, re.S)]
    tuned += [m.span() for m in re.finditer(r"^(static )?const stair_option .*?^\};", text, re.S | re.M)]
    before, found, number = "", [], 0
    for match in TOKEN.finditer(text):
        token, at = match.group(), match.start()
        if match.lastgroup == "skip" or token.isspace():
            continue
        while starts[number + 1] <= at:
            number += 1
        line = lines[number]
        previous, before = before, token
        unary = previous in ("", "(", ",", "=", "return", "[", "{", ";", ":", "?", "&&", "||", "!", "<", ">", "==", "!=", "<=",
                             ">=", "+", "-", "*", "/", "+=", "-=", "*=", "/=", "%", "&", "|", "case")
        if any(a <= at < b for a, b in tuned) or MEMORY.search(line) or re.match(r"\S.*\)$|\S.*[,(]$|typedef|STAIR_HOT", line):
            continue
        new = []
        if match.lastgroup == "number" and not ARRAY.match(line) and previous not in ("case",):
            value = token.rstrip("uUlLfF")
            if re.fullmatch(r"\d+", value):
                new = [str(int(value) + 1)] + ([str(int(value) - 1)] if int(value) > 0 else [])
            elif not value.lower().startswith("0x"):
                new = [repr(1.5 * float(value)), repr(0.5 * float(value))]
            new = [n + token[len(value):] for n in new]
        elif token == "-" and unary:
            new = [""]
        elif token in ("*", "&", "+") and unary:
            continue  # a pointer
        elif token == "*" and (re.search(r"[\w)\]] $", text[max(0, at - 2):at]) is None or text[at + 1] != " "):
            continue  # a declaration
        elif token in ("<", ">") and "#include" in line:
            continue
        elif match.lastgroup in ("op", "word"):
            new = SWAPS.get(token, [])
        found += [(at, token, n, number + 1) for n in new]
    return found


def draw(build, seed, only):
    """Mutants in an order that is the same for one seed and the same sources: one of each file, then the next."""
    rng = random.Random(seed)
    lists = []
    for source in build.sources:
        name = os.path.relpath(source, ROOT)
        if name.startswith(("src/", "cli/", "figures/")) and only in name:
            of_file = [(name, *place) for place in places(source)]
            rng.shuffle(of_file)
            lists.append(of_file)
    rng.shuffle(lists)
    while lists:
        for of_file in lists:
            if of_file:
                yield of_file
        lists = [x for x in lists if x]


def attempt(build, tests, mutant):
    """{"state": killed | survived | same | none, "by": test}"""
    name, at, old, new, _ = mutant
    source = os.path.join(ROOT, name)
    text = open(source).read()
    assert text[at:at + len(old)] == old
    with tempfile.TemporaryDirectory() as place:
        changed, made = os.path.join(place, os.path.basename(name)), os.path.join(place, "mutant.o")
        with open(changed, "w") as out:
            out.write(text[:at] + new + text[at + len(old):])
        if not build.compile(changed, made, source):
            return {"state": "none"}
        if open(made, "rb").read() == open(build.object_of(source), "rb").read():
            return {"state": "same"}
        library, program = os.path.join(place, "mutant.so"), os.path.join(place, "stair")
        main = made if name == "cli/main.c" else build.object_of(os.path.join(ROOT, "cli", "main.c"))
        spent, linked = {"unit": 0, "cli": 0, "numbers": 0}, False
        if run(["gcc", "-shared", "-Wl,-z,lazy", "-o", library, made])[0]:
            return {"state": "none"}
        for test in sorted((t for t in tests if name in t["files"]), key=lambda t: t["seconds"]):
            kind, limit = test["kind"], 5 * test["seconds"] + 3
            spent[kind] += test["seconds"]
            if spent[kind] > MOST[kind]:
                continue
            if kind != "unit" and not linked:
                linked = build.link_program(program, [main] + ([] if main == made else [made]))
            if kind == "unit":
                words, more = [os.path.join(build.folder, test["run"])], {"env": {**os.environ, "LD_PRELOAD": library}}
            elif kind == "cli":
                words, more = ["bash", os.path.join(ROOT, test["run"]), program], {}
            else:
                words, more = [sys.executable, __file__, "--number", program, test["run"]], {}
            if run(words, limit, **more)[0] != 0 and (kind == "unit" or run(words, limit, **more)[0] != 0):
                return {"state": "killed", "by": test["run"], "stage": kind}
    return {"state": "survived"}


def one_number(folder, program, line):
    """For a process of its own, whose time is limited."""
    kept = next(t["kept"] for t in json.load(open(os.path.join(folder, "tests-numbers.json"))) if t["run"] == line)
    with tempfile.TemporaryDirectory() as place:
        found, _ = check.run(program, line, place)
    return 0 if json.loads(json.dumps(found)) == kept else 1


def read_results(folder):
    path = os.path.join(folder, "results.jsonl")
    return [json.loads(line) for line in open(path)] if os.path.exists(path) else []


def judged():
    path = os.path.join(HERE, "judged.json")
    return json.load(open(path)) if os.path.exists(path) else {}


def line_of(name, line):
    return open(os.path.join(ROOT, name)).read().split("\n")[line - 1].strip()


def read_planted():
    path = os.path.join(HERE, "planted.jsonl")
    return [json.loads(line) for line in open(path)] if os.path.exists(path) else []


def keep(results):
    """Adds to planted.jsonl: up to two of a file, those first that a unit test killed."""
    kept = read_planted()
    for r in sorted(results, key=lambda r: ("unit", "cli", "numbers", None).index(r.get("stage"))):
        if r["state"] == "killed" and sum(k["file"] == r["file"] for k in kept) < 2:
            if not any(k["file"] == r["file"] and k["text"] == r["text"] for k in kept):
                kept.append({"file": r["file"], "text": r["text"], "old": r["old"], "new": r["new"], "test": r["by"]})
    with open(os.path.join(HERE, "planted.jsonl"), "w") as out:
        out.writelines(json.dumps(k) + "\n" for k in sorted(kept, key=lambda k: (k["file"], k["text"], k["old"])))


def find(result):
    """Where a mutant stands now, or None."""
    for p in places(os.path.join(ROOT, result["file"])):
        if p[1:3] == (result["old"], result["new"]) and line_of(result["file"], p[3]) == result["text"]:
            return (result["file"], *p)
    return None


def planted(build, only):
    """Every mistake of planted.jsonl is caught by its test."""
    bad = tried = 0
    kinds = {"cli" if k["test"].startswith("tests/") else "unit" if k["test"].startswith("test_") else "numbers"
             for k in read_planted() if only in k["file"]}
    tests = [t for kind in kinds for t in build.tests(kind)]
    for k in read_planted():
        if only not in k["file"]:
            continue
        tried += 1
        wanted = [t for t in tests if t["run"] == k["test"]]
        found = find(k)
        said = "the line is gone" if not found else "no such test, or it takes too long: " + k["test"]
        if found and wanted:
            said = attempt(build, [dict(wanted[0], files=[k["file"]])], found)["state"]
        if said != "killed":
            bad += 1
            print("FAILED: %s: %s: '%s' -> '%s': %s" % (k["file"], k["text"], k["old"], k["new"], said), flush=True)
    print("%d planted, %d caught, %d failed" % (tried, tried - bad, bad))
    return bad > 0


def name_of(result):
    """A mutant by its line, so that a word on it stays true when lines move."""
    return "%s: %s: '%s' -> '%s'" % (result["file"], result["text"], result["old"], result["new"])


def report(results):
    words = judged()
    kinds = {}
    for r in results:
        if r["state"] in ("killed", "survived"):
            room = "/".join(r["file"].split("/")[:2]) if r["file"].startswith("src/") else r["file"].split("/")[0]
            row = kinds.setdefault(room, {"unit": 0, "cli": 0, "numbers": 0, "equivalent": 0, "survived": 0})
            if r["state"] == "killed":
                row[r["stage"]] += 1
            else:
                row["equivalent" if words.get(name_of(r), "").startswith("equivalent") else "survived"] += 1
    columns = ["unit", "cli", "numbers", "equivalent", "survived"]
    print("| room | mutants | by unit tests | by the command line | by digits | equivalent | survived |")
    print("|---|---|---|---|---|---|---|")
    total = dict.fromkeys(columns, 0)
    for room, row in sorted(kinds.items()):
        print("| `%s` | %d | %s |" % (room, sum(row.values()), " | ".join(str(row[c]) for c in columns)))
        for c in columns:
            total[c] += row[c]
    print("| all | %d | %s |" % (sum(total.values()), " | ".join(str(total[c]) for c in columns)))
    killed = total["unit"] + total["cli"] + total["numbers"]
    share = killed / max(1, killed + total["survived"])
    for r in results:
        if r["state"] == "survived":
            print("survived: %s (line %d)  %s" % (name_of(r), r["line"], words.get(name_of(r), "")))
    print("%d mutants, %d killed, %d equivalent, %d survived: %.1f %%"
          % (sum(total.values()), killed, total["equivalent"], total["survived"], 100 * share))
    return share


def write_results(folder, results):
    path = os.path.join(folder, "results.jsonl")
    with open(path + ".new", "w") as out:
        out.writelines(json.dumps(r) + "\n" for r in results)
    os.rename(path + ".new", path)


def first_stage(build, args):
    tests = build.tests("unit")
    done = {name_of(r): r["state"] for r in read_results(args.folder)}
    count = sum(state in ("killed", "survived") for state in done.values())
    for of_file in draw(build, args.seed, args.only):
        while of_file and count < args.count:
            mutant = of_file.pop()
            name, _, old, new, line = mutant
            result = {"file": name, "line": line, "old": old, "new": new, "text": line_of(name, line)}
            if name_of(result) in done:  # its turn was taken in an earlier call, unless nothing came of it
                if done[name_of(result)] in ("killed", "survived"):
                    break
                continue
            result.update(attempt(build, tests, mutant))
            done[name_of(result)] = result["state"]
            count += result["state"] in ("killed", "survived")
            with open(os.path.join(args.folder, "results.jsonl"), "a") as out:
                out.write(json.dumps(result) + "\n")
            print("%4d %-8s %s  by %s" % (count, result["state"], name_of(result), result.get("by", "nobody")), flush=True)
            if result["state"] in ("killed", "survived"):
                break


def second_stage(build, args):
    """Survivors of the first, once."""
    results = read_results(args.folder)
    for k, r in enumerate(results):
        if r["state"] != "survived" or (r.get("second") and not args.again):
            continue
        mutant = find(r)
        if not mutant:
            continue
        tests = build.tests("cli") + build.tests("numbers") + (build.tests("unit") if args.again else [])
        results[k] = {**r, "second": True, **attempt(build, tests, mutant)}
        write_results(args.folder, results)
        print("%-8s %s  by %s" % (results[k]["state"], name_of(r), results[k].get("by", "nobody")), flush=True)


def main():
    if sys.argv[1:2] == ["--number"]:
        return one_number(os.environ["MUTATION_FOLDER"], sys.argv[2], sys.argv[3])
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("--count", type=int, default=300)
    parse.add_argument("--seed", type=int, default=1)
    parse.add_argument("--folder", default=os.path.join(ROOT, "build-mutation"))
    parse.add_argument("--report", action="store_true", help="only the table of what was done so far")
    parse.add_argument("--only", default="")
    parse.add_argument("--strict", action="store_true")
    parse.add_argument("--planted", action="store_true")
    parse.add_argument("--keep", action="store_true")
    parse.add_argument("--again", action="store_true", help="survivors once more, by all tests: after one was added")
    args = parse.parse_args()
    if args.report:
        return report(read_results(args.folder)) < WANTED and args.strict
    if args.keep:
        return keep(read_results(args.folder))
    build = Build(args.folder)
    os.environ["MUTATION_FOLDER"] = build.folder
    build.make()
    if args.planted:
        return planted(build, args.only)
    first_stage(build, args)
    second_stage(build, args)
    return report(read_results(args.folder)) < WANTED and args.strict


if __name__ == "__main__":
    sys.exit(main())
