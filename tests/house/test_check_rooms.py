#!/usr/bin/env python3
"""Negative controls of check_rooms.py: each plants one violation in a copy of the tree and sees it named.

A check that passes on everything proves nothing.  The copy without a plant must pass the check first, up to
what the tree itself has wrong; that is the business of the test `house`."""
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(os.path.join(HERE, "..", ".."))
SKIP = shutil.ignore_patterns("build*", ".git", "out", "shared", "data", "__pycache__")


def append(path, text):
    def plant(tree):
        with open(os.path.join(tree, path), "a", encoding="utf-8") as file:
            file.write(text)

    return plant


def replace(path, old, new):
    def plant(tree):
        with open(os.path.join(tree, path), encoding="utf-8") as file:
            text = file.read()
        assert old in text, f"{path} has no '{old}'"
        with open(os.path.join(tree, path), "w", encoding="utf-8") as file:
            file.write(text.replace(old, new, 1))

    return plant


def remove(path):
    return lambda tree: os.remove(os.path.join(tree, path))



LONG = "word " * 30
PLANTS = [  # name, check, what is planted, what must be said
    ("core includes a model", "includes", append("src/core/rng.c", '#include "model/model.h"\n'),
     "core may not include model/model.h"),
    ("average includes asymptotics", "includes", append("src/average/node_set.h", '#include "asymptotics/branch.h"\n'),
     "average may not include asymptotics/branch.h"),
    ("the program includes the channel", "includes", append("cli/program.c", '#include "channel/rules.h"\n'),
     "cli may not include channel/rules.h"),
    ("threads outside thread.h", "includes", append("src/core/parallel.c", "#include <pthread.h>\n"),
     "<pthread.h> belongs to src/core/thread.h alone"),
    ("MPI in the library", "includes", append("src/core/reduce.c", "#include <mpi.h>\n"), "<mpi.h> belongs to mpi/ alone"),
    ("JSON in the library", "includes", append("src/io/npy.c", "#include <jansson.h>\n"), "<jansson.h> belongs to cli/"),
    ("an include of nothing", "includes", append("src/io/npy.c", '#include "io/nothing.h"\n'), "is not in the tree"),
    ("an example that knows the tree", "includes", append("examples/curve.c", '#include "core/rng.h"\n'),
     "examples/curve.c:"),
    ("a room in no table", "includes", lambda tree: os.mkdir(os.path.join(tree, "src", "attic")),
     "src/attic is not in the table"),
    ("the table of rooms is gone", "includes", replace("docs/architecture.md", "| `src/core/` |", "| core |"),
     "src/core is not in the table"),
    ("a header that needs another", "headers", replace("include/stair_options.h", '#include "stair.h"\n', ""),
     "include/stair_options.h: does not compile alone with cc"),
    ("a header that C++ refuses", "headers", replace("include/stair.h", "typedef struct stair_model stair_model;",
                                                     "typedef struct stair_model stair_model;\nint stair_new(int class);"),
     "include/stair.h: does not compile alone with c++"),
    ("a header that stair.h forgets", "headers", append("include/stair_new.h", "int stair_new(void);\n"),
     "include/stair_new.h: stair.h does not include it"),
    ("a header that is not installed", "installed", remove("P/include/stair_gamp.h"), "include/stair_gamp.h: not installed"),
    ("a private header that is installed", "installed", append("P/include/model.h", ""), "model.h: installed, but not public"),
    ("an average in no table", "rules", replace("src/average/average.c", "&stair_average_samples,", ""),
     "stair_average_samples is in no table"),
    ("a posterior in no table", "rules", append("src/posterior/new.c", "const stair_denoiser_rule stair_denoiser_new = {0};\n"),
     "src/posterior/new.c:1: stair_denoiser_new is in no table"),
    ("a rule of the channel in no table", "rules", replace("src/channel/channel.c", "&stair_rule_nested,", ""),
     "stair_rule_nested is in no table"),
    ("a model in no registry", "rules", replace("src/model/registry.c", " &stair_square_ops,", ""),
     "stair_square_ops is in no table"),
    ("a command in no table", "rules", replace("cli/commands.c", "&command_entropy,", "/* &command_entropy, */"),
     "command_entropy is in no table"),
    ("a room without a page", "readme", remove("src/io/README.md"), "src/io: has no README.md"),
    ("a file out of format", "format", append("src/core/rng.c", "int  stair_new ( void ) ;\n"),
     "src/core/rng.c: not as clang-format has it"),
    ("a long line of C", "format", append("src/core/rng.c", f"/* {LONG}*/\n"), "columns"),
    ("a long line of prose", "prose", append("README.md", LONG + "\n"), "README.md:"),
    ("a number without a name's reason", "numbers", append("src/model/square.c", "\n#define FAR 12\n"), "FAR has no comment"),
]


def check(tree, name):
    command = [sys.executable, os.path.join(HERE, "check_rooms.py"), "--root", tree, "--only", name,
               "--prefix", os.path.join(tree, "P")]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def control(name, which, plant, expected, before):
    with tempfile.TemporaryDirectory(prefix="stair-house.") as folder:
        tree = os.path.join(folder, "tree")
        shutil.copytree(ROOT, tree, ignore=SKIP)
        shutil.copytree(os.path.join(tree, "include"), os.path.join(tree, "P", "include"))
        if which not in before:
            before[which] = check(tree, which)[1]
        if expected in before[which]:
            return "FAILED: it is said without the plant too"
        plant(tree)
        code, output = check(tree, which)
        if code == 1 and expected in output:
            return "caught"
        return f"FAILED: exit {code}, and not said: {expected}\n{output}"


def main():
    before, failed = {}, 0
    for name, which, plant, expected in PLANTS:
        outcome = control(name, which, plant, expected, before)
        failed += outcome != "caught"
        print(f"{name:42} {outcome}")
    print(f"{len(PLANTS) - failed} passed, {failed} failed")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
