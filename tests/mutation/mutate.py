#!/usr/bin/env python3
"""Random small mistakes in the sources, and the share of them that the tests notice.

    mutate.py [--count 300] [--seed 1] [--folder build-mutation] [--only TEXT,TEXT] [--few] [--again] [--alone]
    mutate.py --report      the table of what was done so far, and the survivors
    mutate.py --planted     those of planted.jsonl, each by the test that is named there
    mutate.py --keep        adds to planted.jsonl what was killed, up to two of a file

A mutant is one change of one token: a comparison, an operator, a sign, a constant by one or by a factor.  Left out
are text, sizes of memory and of arrays (sanitizers see those), numbers that were tuned (they change effort, not
results), and changes after which the compiler makes the same object.

All sources are compiled once, by gcc -O1 for one instruction set, into a shared library that tests are linked with,
and once more with a record of the lines that run (cover.c).  Every case of a unit test, every command of
tests/numbers and every script of tests/cli is run once on that, which says what it takes and which lines it reaches.
A mutant is one object that is loaded before the library, so nothing is linked again.  Tests that reach its line come
first, then those that reach its function or else its file, the shortest first.  Kept digits are those of the library without a
mutant.  A test that takes five times its processor time has noticed, too.

Files take turns, so that each has its share; --few leaves out those that have two mistakes planted.  --alone: what a
mutant does to files and processes stays in a space of its own (unshare, root).  Results are appended to
FOLDER/results.jsonl; a second call goes on.  judged.json beside this file has a word on every survivor that was
looked at.  The aim is 95 %, equivalent ones not counted; with --strict less is exit status 1.
"""
import argparse
import collections
import concurrent.futures
import glob
import hashlib
import json
import math
import os
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(ROOT, "tests", "numbers"), os.path.join(ROOT, "tests", "house")]
import check  # noqa: E402
import check_plants  # noqa: E402

LONGEST = {"unit": 12, "numbers": 4, "cli": 45}  # processor seconds of a test that is used, where lines are recorded
MOST = {"unit": 8, "cli": 15, "numbers": 4}     # of all tests of one mutant; those that reach its line count alone
# Those that wait for signals and clocks, or compute for a minute, are not used.
CLI = "channel method train_tokenize bad_input output completion amp_files report merge usage hostile amp plugin figure_files tables amp_save dry_run device memory".split()
CARD = "src/cuda/backend.c", "src/cuda/means_seam.c", "src/cuda/one_row_seam.c"  # nothing without a card runs them
WANTED = 0.95
CHECKS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]

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


def run(words, limit=None, checked=False, **more):
    """(exit status, processor seconds); checked: with sanitizers, which map more than any limit allows."""
    def narrow():
        os.setsid()
        if limit:
            resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(limit), math.ceil(limit) + 1))
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 28, 1 << 28))
            if not checked:
                resource.setrlimit(resource.RLIMIT_DATA, (1 << 32, 1 << 32))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    more.setdefault("stdout", subprocess.DEVNULL)
    more.setdefault("stderr", subprocess.DEVNULL)
    child = subprocess.Popen(words, stdin=subprocess.DEVNULL, preexec_fn=narrow, cwd=ROOT, **more)
    code, idle, used = None, 0, 0
    while code is None:
        try:
            code = child.wait(2 if limit else None)
        except subprocess.TimeoutExpired:
            ready, now = working(child.pid)
            idle, used = (0 if ready or now != used else idle + 1), now
            if idle == 15:
                code = "waits for ever"
    if limit:
        try:
            os.killpg(child.pid, signal.SIGKILL)  # and what it left running
        except ProcessLookupError:
            pass
        child.wait()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return code, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def working(group):
    """Whether a process of a group wants a processor, however busy the machine is, and the ticks all have used."""
    ready, used = False, 0
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            words = open(path).read().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(words[2]) == group:
            ready = ready or words[0] in "RD"
            used += int(words[11]) + int(words[12])
    return ready, used


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()[:16]


class Build:
    """The library without a mutant, the tests, and which lines they reach."""

    def __init__(self, folder, leave=""):
        self.folder = os.path.abspath(folder)
        self.leave = [text for text in leave.split(",") if text]
        os.makedirs(self.folder, exist_ok=True)
        self.sources = sorted(glob.glob(os.path.join(ROOT, "src", "**", "*.c"), recursive=True))
        self.sources = [path for path in self.sources if os.path.relpath(path, ROOT) not in CARD]
        for room in "cli", "figures", "bench":
            self.sources += sorted(glob.glob(os.path.join(ROOT, room, "*.c")))
        self.sources.append(os.path.join(ROOT, "tests", "card_on_host.c"))
        ask = lambda what: subprocess.run(["pkg-config", what, "jansson", "libzip", "libutf8proc"], check=True,
                                          capture_output=True, text=True).stdout.split()
        self.flags = ["-O1", "-fPIC", "-fsemantic-interposition", "-std=c17", "-D_XOPEN_SOURCE=700", "-w",
                      "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=fast", *ask("--cflags")]
        self.flags += ["-I" + os.path.join(ROOT, room) for room in ("include", "src", "cli", "bench", "figures", "tests")]
        self.libraries = [*ask("--libs"), "-lsleef", "-lm", "-lpthread"]
        self.covered = os.path.join(self.folder, "covered")
        self.checked = os.path.join(self.folder, "checked")
        self.good_when_checked = {}
        self.choose = os.path.join(self.folder, "choose.so")
        self.program = os.path.join(self.folder, "stair")

    def object_of(self, source, where="objects"):
        return os.path.join(self.folder, where, os.path.relpath(source, ROOT).replace("/", "+") + ".o")

    def compile(self, source, out, text_of=None, more=()):
        """text_of: the path whose folder quotes are looked up in"""
        flags = list(self.flags) + ["-I" + os.path.dirname(text_of or source), *more]
        if (text_of or source).endswith("_hot.c"):
            flags.append("-DSTAIR_ISA=v2")
        return run(["gcc", *flags, "-c", source, "-o", out])[0] == 0

    def make_library(self, where, out, more, extra):
        os.makedirs(os.path.join(self.folder, where), exist_ok=True)
        headers = max(os.path.getmtime(path) for path in glob.glob(ROOT + "/[a-z]*/**/*.h", recursive=True)
                      if not path.startswith(self.folder))
        old = [source for source in self.sources if not os.path.exists(self.object_of(source, where)) or
               os.path.getmtime(self.object_of(source, where)) <= max(os.path.getmtime(source), headers)]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            done = pool.map(lambda source: self.compile(source, self.object_of(source, where), more=more), old)
            for source, good in zip(old, done):
                if not good:
                    raise SystemExit("does not compile: " + source)
        objects = list(extra) + [self.object_of(source, where) for source in self.sources
                                 if os.path.relpath(source, ROOT) != "cli/main.c"]
        if run(["gcc", "-shared", "-Wl,-z,lazy", "-o", out, *objects, *self.libraries])[0]:
            raise SystemExit("no library")
        return headers

    def make(self):
        os.makedirs(os.path.join(self.folder, "objects"), exist_ok=True)
        assets = os.path.join(self.folder, "page_assets.c")
        files = ["page_style=" + os.path.join(ROOT, "web/src/style.css"), "page_script=none", "page_script_digest=none"]
        if run(["cmake", "-DOUT=" + assets, "-DFILES=" + ";".join(files), "-P", os.path.join(ROOT, "cmake/embed.cmake")])[0]:
            raise SystemExit("page_assets.c could not be made")
        self.sources.append(assets)
        stamp = hashlib.sha256()
        for path in sorted(self.sources + glob.glob(ROOT + "/[a-z]*/**/*.h", recursive=True)):
            stamp.update(open(path, "rb").read())
        self.stamp = stamp.hexdigest()
        mark = os.path.join(self.folder, "stamp")
        if os.path.exists(mark) and open(mark).read() == self.stamp:
            return self.make_tests(0)
        headers = self.make_library("objects", os.path.join(self.folder, "libwhole.so"), [], [])
        os.makedirs(self.covered, exist_ok=True)
        record = os.path.join(self.covered, "record.o")
        self.compile(os.path.join(HERE, "cover.c"), record)
        self.make_library("covered", os.path.join(self.covered, "libwhole.so"), ["-g1", "-fsanitize-coverage=trace-pc"], [record])
        run(["gcc", "-shared", "-fPIC", "-w", os.path.join(HERE, "choose.c"), "-o", self.choose, "-ldl"])
        self.link_program(self.program, [self.object_of(os.path.join(ROOT, "cli", "main.c"))])
        self.make_tests(headers)
        for path in glob.glob(os.path.join(self.folder, "tests-*.jsonl")):
            os.remove(path)
        with open(mark, "w") as out:
            out.write(self.stamp)

    def make_checked(self):
        """The library once more with sanitizers."""
        mark = os.path.join(self.checked, "stamp")
        if os.path.exists(mark) and open(mark).read() == self.stamp:
            return
        self.make_library("checked", os.path.join(self.checked, "libwhole.so"), CHECKS, [])
        with open(mark, "w") as out:
            out.write(self.stamp)

    def environment(self, case, library=None, checked=False):
        """Of a unit test: a case, with a mutant before the library or without one."""
        before = [self.choose] + ([library] if library else [])
        if not checked:
            return {**os.environ, "LD_PRELOAD": ":".join(before), "CASE": case}
        asan = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True).stdout
        return {**os.environ, "LD_PRELOAD": ":".join([asan.strip(), *before]), "CASE": case,
                "LD_LIBRARY_PATH": self.checked, "ASAN_OPTIONS": "detect_odr_violation=0", "LSAN_OPTIONS": "print_suppressions=0"}

    def make_tests(self, headers):
        for source in sorted(glob.glob(os.path.join(ROOT, "tests", "unit", "test_*.c"))):
            name = os.path.basename(source)[:-2]
            made = os.path.join(self.folder, name)
            if name == "test_lanes" or os.path.exists(made) and os.path.getmtime(made) > max(os.path.getmtime(source), headers):
                continue
            if run(["gcc", *self.flags, source, "-o", made, "-Wl,-z,lazy", "-L" + self.folder, "-lwhole",
                    "-Wl,-rpath," + self.folder, "-lcmocka", *self.libraries])[0]:
                print("not used: %s does not link" % name)

    def link_program(self, out, objects):
        return run(["gcc", "-rdynamic", "-Wl,-z,lazy", "-o", out, *objects, "-L" + self.folder, "-lwhole",
                    "-Wl,-rpath," + self.folder, *self.libraries])[0] == 0

    def map_unit(self, hits):
        for path in sorted(glob.glob(os.path.join(self.folder, "test_*"))):
            name = os.path.basename(path)
            if any(text in name for text in self.leave):
                continue
            of = digest(os.path.join(ROOT, "tests", "unit", name + ".c"))
            env = {**os.environ, "LD_PRELOAD": self.choose, "LD_LIBRARY_PATH": self.covered, "COVER": hits}
            listed = subprocess.run([path], cwd=ROOT, capture_output=True, text=True, check=False,
                                    env={**env, "CASE": "list"}).stdout
            codes = collections.Counter()
            for k, case in enumerate(re.findall(r"^case (.*)$", listed, re.M) + [None]):
                if case is None and not codes[1]:  # all of them, where one needs another
                    break
                if codes[-signal.SIGXCPU] > 5:  # the others are long, too
                    break
                more = {"program": name, "case": str(k) if case else "all", "of": of}
                code = yield (name + (" " + case if case else ""), more,
                              lambda: run([path], LONGEST["unit"], env={**env, "CASE": more["case"]}))
                codes[code] += 1

    def recorded(self, hits):
        """The program as a script that records: some tests clear the environment."""
        wrapper = os.path.join(self.covered, "stair")
        with open(wrapper, "w") as out:
            out.write('#!/bin/sh\nLD_LIBRARY_PATH=%s COVER=%s exec %s "$@"\n' % (self.covered, hits, self.program))
        os.chmod(wrapper, 0o755)
        return wrapper

    def map_cli(self, hits):
        wrapper = self.recorded(hits)
        for name in CLI:
            path = os.path.join(ROOT, "tests", "cli", "test_%s.sh" % name)
            if not os.path.exists(path):
                continue
            yield os.path.relpath(path, ROOT), {"of": digest(path)}, lambda: run(["bash", path, wrapper], LONGEST["cli"])

    def map_numbers(self, hits):
        os.makedirs(os.path.join(self.folder, "kept"), exist_ok=True)
        wrapper = self.recorded(hits)
        for line in check.read_lines():
            kept = os.path.join(self.folder, "kept", hashlib.sha256(line.encode()).hexdigest()[:16] + ".json")
            words = [sys.executable, __file__, "--record"]

            def both():
                code, seconds = run([*words, wrapper, line, kept], LONGEST["numbers"])
                return (run([*words, self.program, line, kept], LONGEST["numbers"])[0] if code == 0 else code), seconds
            yield line, {"of": "", "kept": kept}, both

    def map(self, kind, path, known, wanted):
        """Runs the tests of a kind that are not known yet, and writes down what each reaches."""
        hits = os.path.join(self.folder, "hits")
        steps, answer = getattr(self, "map_" + kind)(hits), None
        while True:
            try:
                name, more, call = steps.send(answer)
            except StopIteration:
                return
            test = known.get((name, more["of"]))
            if not test and not is_wanted(name, wanted):
                answer = 0
                continue
            if not test:
                code, seconds = call()
                test = {"kind": kind, "run": name, "seconds": seconds, "code": code, "seen": [], **more}
                if os.path.exists(hits):
                    with open(hits, "rb") as file:
                        test["seen"] = [m.start() for m in re.finditer(b"\1", file.read())]
                    os.remove(hits)
                if code != 0 or seconds > LONGEST[kind]:
                    print("not used: %s, exit %s after %.1f s" % (name, code, seconds), flush=True)
                    test["seen"] = []
                if code == 0 and seconds <= LONGEST[kind] and not test["seen"]:  # it was skipped, say for want of numpy: tried again next time
                    print("not used: %s reaches nothing" % name, flush=True)
                else:
                    with open(path, "a") as out:
                        out.write(json.dumps(test) + "\n")
            known[name, more["of"], "now"] = test
            answer = test["code"]

    def tests(self, kind, wanted=None):
        """Tests of one kind, and the lines each reaches: found once.  wanted: names of those that are needed."""
        path = os.path.join(self.folder, "tests-%s.jsonl" % kind)
        known = {}
        if os.path.exists(path):
            for line in open(path):
                test = json.loads(line)
                known[test["run"], test["of"]] = test
        self.map(kind, path, known, wanted)
        found = [test for key, test in known.items() if len(key) == 3 and test["seen"]]
        ordered = sorted({address for test in found for address in test["seen"]})
        said = subprocess.run(["addr2line", "-e", os.path.join(self.covered, "libwhole.so")], capture_output=True, text=True,
                              check=True, input="".join("%x\n" % (a - 1) for a in ordered)).stdout.splitlines()
        where = {}
        for address, line in zip(ordered, said):
            file, number = re.match(r"(.*?):(\d+|\?)", line).groups()
            name = os.path.relpath(os.path.normpath(file), ROOT)
            if number.isdigit() and name.endswith(".c") and not name.startswith(".."):
                where[address] = name, int(number)
        for test in found:
            test["lines"] = {}
            for name, number in {where[address] for address in test.pop("seen") if address in where}:
                test["lines"].setdefault(name, set()).add(number)
        return found


def is_wanted(name, wanted):
    """Whether a test, or all cases of its program, are among those wanted."""
    return wanted is None or name in wanted or any(name.startswith(text + " ") for text in wanted)


def body_of(name, line):
    """First and last line of the function around a line, or of the file."""
    lines = open(os.path.join(ROOT, name)).read().split("\n")
    first = line
    while first > 0 and not lines[first - 1].startswith(("{", "}")):
        first -= 1
    if first == 0 or lines[first - 1].startswith("}"):
        return 1, len(lines)
    last = line
    while last < len(lines) and not lines[last - 1].startswith("}"):
        last += 1
    return first, last


def in_order(tests, name, line):
    """(test, whether it reaches the line): those that do first, the shortest first.  Of a function that the compiler
    put into another no line may be known: then all tests that reach the file; of a file of tables alone: all tests."""
    first, last = body_of(name, line)
    if not any(first <= x <= last for test in tests for x in test["lines"].get(name, ())):
        first, last = 1, math.inf
    table = not any(name in test["lines"] for test in tests)
    found = []
    for test in tests:
        reached = test["lines"].get(name, ())
        if (name == "cli/main.c" or table) and test["kind"] != "unit" or any(first <= x <= last for x in reached):
            found.append((test, line in reached))
    return sorted(found, key=lambda x: (not x[1], x[0]["seconds"]))


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
        if name.startswith(("src/", "cli/", "figures/")) and any(text in name for text in only.split(",")):
            of_file = [(name, *place) for place in places(source)]
            rng.shuffle(of_file)
            lists.append(of_file)
    rng.shuffle(lists)
    while lists:
        for of_file in lists:
            if of_file:
                yield of_file
        lists = [x for x in lists if x]


def write_mutant(mutant, place):
    """The source with its mistake, in a folder; its path."""
    name, at, old, new, _ = mutant
    text = open(os.path.join(ROOT, name)).read()
    assert text[at:at + len(old)] == old
    changed = os.path.join(place, os.path.basename(name))
    with open(changed, "w") as out:
        out.write(text[:at] + new + text[at + len(old):])
    return changed


def attempt(build, tests, mutant, enough=1):
    """{"state": killed | survived | same | none, "by": test}; tests are (test, reaches the line)."""
    name = mutant[0]
    source = os.path.join(ROOT, name)
    with tempfile.TemporaryDirectory() as place:
        made = os.path.join(place, "mutant.o")
        if not build.compile(write_mutant(mutant, place), made, source):
            return {"state": "none"}
        if open(made, "rb").read() == open(build.object_of(source), "rb").read():
            return {"state": "same"}
        library, program = os.path.join(place, "mutant.so"), os.path.join(place, "build", "stair")
        os.mkdir(os.path.join(place, "build"))
        os.symlink(os.path.join(ROOT, "data"), os.path.join(place, "data"))  # the program looks for it beside itself
        main = made if name == "cli/main.c" else build.object_of(os.path.join(ROOT, "cli", "main.c"))
        spent, linked, ran = {"unit": 0, "cli": 0, "numbers": 0}, False, 0
        if run(["gcc", "-shared", "-Wl,-z,lazy", "-o", library, made])[0]:
            return {"state": "none"}
        for test, exact in tests:
            kind, limit = test["kind"], 5 * test["seconds"] + 3
            if spent[kind] + test["seconds"] > MOST[kind] * enough * (1 if exact else 0.5) and spent[kind]:
                continue
            spent[kind] += test["seconds"]
            ran += 1
            if kind != "unit" and not linked:
                linked = build.link_program(program, [main] + ([] if main == made else [made]))
            if kind == "unit":
                words = [os.path.join(build.folder, test["program"])]
                more = {"env": build.environment(test["case"], library)}
            elif kind == "cli":
                words, more = ["bash", os.path.join(ROOT, test["run"]), program], {}
            else:
                words, more = [sys.executable, __file__, "--number", program, test["run"], test["kept"]], {}
            if run(words, limit, **more)[0] != 0 and (kind != "cli" or run(words, limit, **more)[0] != 0):
                return {"state": "killed", "by": test["run"], "stage": kind}
    return {"state": "survived", "ran": ran}


def attempt_checked(build, tests, mutant):
    """The same by unit tests that reach the line, with sanitizers: those that pass so without a mutant."""
    source = os.path.join(ROOT, mutant[0])
    with tempfile.TemporaryDirectory() as place:
        made, library = os.path.join(place, "mutant.o"), os.path.join(place, "mutant.so")
        if not build.compile(write_mutant(mutant, place), made, source, CHECKS) or run(["gcc", "-shared", *CHECKS[:1], "-o", library, made])[0]:
            return None
        spent = 0
        for test, exact in tests:
            if test["kind"] != "unit" or not exact or spent + test["seconds"] > MOST["unit"]:
                continue
            spent += test["seconds"]
            words, limit = [os.path.join(build.folder, test["program"])], 20 * test["seconds"] + 10
            if test["run"] not in build.good_when_checked:
                code, _ = run(words, limit, True, env=build.environment(test["case"], checked=True))
                build.good_when_checked[test["run"]] = code == 0
            if build.good_when_checked[test["run"]]:
                if run(words, limit, True, env=build.environment(test["case"], library, True))[0] != 0:
                    return {"state": "killed", "by": test["run"], "stage": "checked"}
    return None


def record_number(program, line, out):
    """For a process of its own, whose time is limited."""
    with tempfile.TemporaryDirectory() as place:
        kept, _ = check.run(program, line, place)
    with open(out, "w") as file:
        json.dump(kept, file)
    return 0 if kept["exit"] in (0, 1, 2, 3) else 1


def one_number(program, line, kept):
    with tempfile.TemporaryDirectory() as place:
        found, _ = check.run(program, line, place)
    return 0 if json.loads(json.dumps(found)) == json.load(open(kept)) else 1


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
    for r in sorted(results, key=lambda r: ("unit", "cli", "numbers", "checked", None).index(r.get("stage"))):
        if r["state"] == "killed" and r["stage"] != "checked" and sum(k["file"] == r["file"] for k in kept) < 2:
            if not any(k["file"] == r["file"] and k["text"] == r["text"] for k in kept):
                kept.append({"file": r["file"], "text": r["text"], "old": r["old"], "new": r["new"], "test": r["by"]})
    with open(os.path.join(HERE, "planted.jsonl"), "w") as out:
        out.writelines(json.dumps(k) + "\n" for k in sorted(kept, key=lambda k: (k["file"], k["text"], k["old"])))


def find(result):
    """Where a mutant stands now, or None; one that was chosen by hand may change any text, once in its line."""
    path = os.path.join(ROOT, result["file"])
    for p in places(path):
        if p[1:3] == (result["old"], result["new"]) and line_of(result["file"], p[3]) == result["text"]:
            return (result["file"], *p)
    at = 0
    for number, line in enumerate(open(path).read().split("\n"), 1):
        if line.strip() == result["text"] and line.count(result["old"]) == 1:
            return (result["file"], at + line.index(result["old"]), result["old"], result["new"], number)
        at += len(line) + 1
    return None


def planted(build, only):
    """Every mistake of planted.jsonl is caught by its test."""
    bad = tried = 0
    of_them = [k for k in read_planted() if any(text in k["file"] for text in only.split(","))]
    names = {k["test"] for k in of_them}
    kinds = {"cli" if name.startswith("tests/") else "unit" if name.startswith("test_") else "numbers" for name in names}
    tests = [t for kind in sorted(kinds) for t in build.tests(kind, names)]
    for k in of_them:
        tried += 1
        wanted = [(t, True) for t in tests if is_wanted(t["run"], {k["test"]})]
        found = find(k)
        said = "the line is gone" if not found else "no such test, or it takes too long: " + k["test"]
        if found and wanted:
            said = attempt(build, wanted, found, 100)["state"]
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
    columns = ["unit", "cli", "numbers", "checked", "equivalent", "survived"]
    for r in results:
        if r["state"] in ("killed", "survived"):
            room = "/".join(r["file"].split("/")[:2]) if r["file"].startswith("src/") else r["file"].split("/")[0]
            row = kinds.setdefault(room, dict.fromkeys(columns, 0))
            if r["state"] == "killed":
                row[r["stage"]] += 1
            else:
                row["equivalent" if words.get(name_of(r), "").startswith("equivalent") else "survived"] += 1
    print("| room | mutants | by unit tests | by the command line | by digits | by sanitizers | equivalent | survived |")
    print("|---|---|---|---|---|---|---|---|")
    total = dict.fromkeys(columns, 0)
    for room, row in sorted(kinds.items()):
        print("| `%s` | %d | %s |" % (room, sum(row.values()), " | ".join(str(row[c]) for c in columns)))
        for c in columns:
            total[c] += row[c]
    print("| all | %d | %s |" % (sum(total.values()), " | ".join(str(total[c]) for c in columns)))
    killed = total["unit"] + total["cli"] + total["numbers"] + total["checked"]
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


def try_new(build, args):
    tests = [t for kind in args.kinds.split(",") for t in build.tests(kind)]
    results = read_results(args.folder)
    done = {name_of(r): r["state"] for r in results}
    have = collections.Counter(r["file"] for r in results if r["state"] == "killed") + check_plants.counts()
    tried = collections.Counter(r["file"] for r in results if r["state"] in ("killed", "survived"))
    count = sum(tried.values())
    for of_file in draw(build, args.seed, args.only):
        if count >= args.count:
            return
        while of_file:
            mutant = of_file.pop()
            name, _, old, new, line = mutant
            if args.few and (have[name] > 1 or tried[name] > 4):
                of_file.clear()
                break
            result = {"file": name, "line": line, "old": old, "new": new, "text": line_of(name, line)}
            if name_of(result) in done:  # its turn was taken in an earlier call, unless nothing came of it
                if done[name_of(result)] in ("killed", "survived"):
                    break
                continue
            result.update(attempt(build, in_order(tests, name, line), mutant))
            done[name_of(result)] = result["state"]
            have[name] += result["state"] == "killed"
            tried[name] += result["state"] in ("killed", "survived")
            count += result["state"] in ("killed", "survived")
            with open(os.path.join(args.folder, "results.jsonl"), "a") as out:
                out.write(json.dumps(result) + "\n")
            print("%4d %-8s %s  by %s" % (count, result["state"], name_of(result), result.get("by", "nobody")), flush=True)
            if result["state"] in ("killed", "survived"):
                break


def try_again(build, args):
    """Survivors without a word, by more tests."""
    results = read_results(args.folder)
    tests = [t for kind in args.kinds.split(",") for t in build.tests(kind)]
    for k, r in sorted(enumerate(results), key=lambda x: x[1].get("ran", 0)):  # those that met no test first
        wanted = r["state"] == "survived" and any(text in r["file"] for text in args.only.split(","))
        mutant = find(r) if wanted and name_of(r) not in judged() else None
        if not mutant:
            continue
        ordered = in_order(tests, r["file"], mutant[4])
        results[k] = {**r, **(attempt_checked(build, ordered, mutant) or attempt(build, ordered, mutant, args.enough))}
        write_results(args.folder, results)
        print("%-8s %s  by %s" % (results[k]["state"], name_of(r), results[k].get("by", "nobody")), flush=True)


def alone():
    """The same call where only the folder of mutants and a fresh /tmp can be written, and no other process is seen."""
    folder = os.path.join(ROOT, "build-mutation")
    os.makedirs(folder, exist_ok=True)
    script = """set -e
mount --make-rprivate /
mount --bind "$0" /mnt
mount -o remount,bind,ro /
mount -t tmpfs -o size=4g none /tmp
mkdir -p "$0"
mount --bind /mnt "$0"
mount -o remount,bind,ro "$0"
mount --bind /mnt/build-mutation "$0/build-mutation"
cd "$0"
exec "$@"
"""
    words = [x for x in sys.argv[1:] if x != "--alone"]
    os.execvp("unshare", ["unshare", "-m", "-p", "-f", "--kill-child", "--mount-proc", "sh", "-c", script, ROOT, sys.executable,
                          os.path.join(HERE, "mutate.py"), *words])


def main():
    if "--alone" in sys.argv:
        alone()
    if sys.argv[1:2] == ["--record"]:
        return record_number(*sys.argv[2:5])
    if sys.argv[1:2] == ["--number"]:
        return one_number(*sys.argv[2:5])
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("--count", type=int, default=300)
    parse.add_argument("--seed", type=int, default=1)
    parse.add_argument("--folder", default=os.path.join(ROOT, "build-mutation"))
    parse.add_argument("--report", action="store_true", help="only the table of what was done so far")
    parse.add_argument("--only", default="")
    parse.add_argument("--kinds", default=",".join(LONGEST), help="of tests")
    parse.add_argument("--leave", default="", help="TEXT,TEXT: unit tests that are not used: those of other rooms")
    parse.add_argument("--strict", action="store_true")
    parse.add_argument("--planted", action="store_true")
    parse.add_argument("--keep", action="store_true")
    parse.add_argument("--again", action="store_true", help="survivors once more, by more tests and with sanitizers")
    parse.add_argument("--enough", type=float, default=3, help="with --again: how many times the usual seconds")
    parse.add_argument("--few", action="store_true", help="only files with fewer than two mistakes planted")
    args = parse.parse_args()
    if args.report:
        return report(read_results(args.folder)) < WANTED and args.strict
    if args.keep:
        return keep(read_results(args.folder))
    build = Build(args.folder, args.leave)
    build.make()
    if args.planted:
        return planted(build, args.only)
    if args.again:
        build.make_checked()
        try_again(build, args)
    else:
        try_new(build, args)
    return report(read_results(args.folder)) < WANTED and args.strict


if __name__ == "__main__":
    sys.exit(main())
