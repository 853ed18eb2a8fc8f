#!/usr/bin/env python3
"""Writes docs/models/NAME.md and NAME.svg, a page for each model of the zoo, from what the program says.

    bench/model_pages.py build/stair                 all pages (about half an hour on two cores)
    bench/model_pages.py build/stair --only product

Formula and keys are those of `stair models`, exponents of `stair exponents`, steps of `stair threshold`, the picture is
`stair figure staircase`.  Words on symmetries and published values stand below."""
import argparse
import json
import os
import shutil
import subprocess
import tempfile

from models import cell

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.join(HERE, "..", "docs", "models")

# model: (MODEL string, steps, words)
PAGES = {
    "square": ("square", 0, "Z and -Z have the same label. Weak recovery at 1/2 (Mondelli and Montanari, "
               "arXiv:1708.05932); perfect recovery of message passing at 1.128, by information at 1 (Maillard et al., "
               "arXiv:2006.05228)."),
    "abs": ("abs", 0, "The same information as square, and the same thresholds."),
    "sign": ("sign", 0, "The perceptron: E[z|y] is not zero. At alpha = 2 the overlap is 0.728298 and the error "
             "of generalisation 0.174534, which solve the equations of Gyorgyi (1990) and of Barbier et al., "
             "arXiv:1708.03395."),
    "linear": ("linear", 0, "E[z|y] = y: learned from the first sample on, perfectly with one equation a number."),
    "relu": ("relu", 0, "Half of the labels are 0 and tell the sign alone: perfect recovery at 2."),
    "door": ("door:width=0.6745", 0, "Even and discrete: a weak step, and no perfect recovery."),
    "norm2": ("norm2", 0, "Rotations of all indices. Two are phase retrieval of complex signals: weak recovery at 1, "
              "perfect at 2.027, by information at 2 (Maillard et al., arXiv:2006.05228)."),
    "product": ("product", 0, "Any two indices may change sign, or all their places. Products of "
                "sums and differences, z1^2 - z2^2, are the same model turned."),
    "parity": ("parity", 0, "Any two indices may change sign. Two are learned at pi^2/4, three and more never by message "
               "passing (Troiani et al., arXiv:2405.15480)."),
    "committee": ("committee", 0, "The sum of all indices is learned at once; each by itself at the specialisation (Aubin "
                  "et al., arXiv:1806.05451), which is a jump."),
    "soft-committee": ("soft-committee", 2, "As the committee, with labels that are numbers."),
    "staircase": ("staircase", 0, "z1 by its square, then a parity of two (Troiani et al., arXiv:2405.15480). z1 jumps to full "
                  "recovery between its steps. Where z2 and z3 are not known the plug-in estimate has sign(0) = 0, and "
                  "its error grows with their first overlap."),
}

FOLDS = {"square", "abs", "norm2"}  # jumps of a few per cent, which a quick figure does not see
SLOW = {"soft-committee", "staircase"}  # coarse curves, and the patience they take


def ask(stair, *words):
    quiet = [] if words[0] == "models" else ["--quiet"]
    done = subprocess.run([stair, *words, "--json", *quiet], capture_output=True, text=True)
    return json.loads(done.stdout)["results"] if done.stdout.strip() else []


def picture(stair, name, spec, seconds):
    """NAME.svg, or nothing where it takes longer."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            quick = [] if name in FOLDS else ["--quick"]
            if name in SLOW:
                quick += ["--precision", "0.1", "--patience", "20"]
            subprocess.run([stair, "figure", "staircase", spec, *quick, "--out", folder, "--quiet"], timeout=seconds,
                           capture_output=True, check=False)  # 3: drawn, with larger errors than were asked for
            shutil.copy(os.path.join(folder, "staircase.svg"), os.path.join(FOLDER, name + ".svg"))
            return True
        except (subprocess.SubprocessError, OSError):
            return os.path.exists(os.path.join(FOLDER, name + ".svg"))


def page(stair, name, seconds):
    spec, most, words = PAGES[name]
    about = ask(stair, "models", spec)
    lines = [f"# {name}", "", "<!-- made by bench/model_pages.py -->", ""]
    lines += [f"    {row['text']}" for row in about if row["kind"] == "formula"]
    lines += ["", *wrap(words), "", f"`{spec}`, to a relative error of 1e-3:", "", "| step | learns | exponents |",
              "|---|---|---|"]
    steps = ask(stair, "threshold", spec, "--steps", str(most))
    told = ask(stair, "exponents", spec, "--degree", "4")
    exponents = "; ".join(f"{row['index']}: information {row['information']}, generative {row['generative']}"
                          for row in told)
    for k, step in enumerate(steps):
        lines.append(f"| {cell(step)} | {' '.join(map(str, step['learns']))} | {exponents if k == 0 else ''} |")
    if picture(stair, name, spec, seconds):
        lines += ["", f"![Overlaps and errors against alpha, steps marked]({name}.svg)"]
    else:
        lines += ["", "No picture: its curve takes longer than these pages are given."]
    with open(os.path.join(FOLDER, name + ".md"), "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    print(name, flush=True)


def wrap(words, width=108):
    lines = [""]
    for word in words.split():
        if len(lines[-1]) + len(word) >= width:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "") + word
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("stair")
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=float, default=600, help="for a picture")
    options = parser.parse_args()
    os.makedirs(FOLDER, exist_ok=True)
    for name in PAGES:
        if options.only in name:
            page(options.stair, name, options.seconds)


if __name__ == "__main__":
    main()
