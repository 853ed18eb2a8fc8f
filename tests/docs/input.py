"""Files of the names that the pages use, for lines that check_lines.py starts: small, and of the right kind."""
import os
import pathlib
import shutil
import subprocess

import numpy as np
import stair

DATA = pathlib.Path(__file__).resolve().parent.parent.parent / "data"
SAMPLES = 40


def make_input(program, folder):
    at = pathlib.Path(folder)

    def program_makes(*words):
        done = subprocess.run([os.path.abspath(program), *words, "--quiet"], cwd=at, capture_output=True, text=True)
        if done.returncode not in (0, 3):
            raise SystemExit(f"stair {' '.join(words)}: {done.stderr}")

    for name in ("bin", "trec", "runs"):
        (at / name).mkdir()
    os.symlink(DATA, at / "data")
    # Data of two-layer attention, and a posterior; points of the denoiser.
    draw = np.random.default_rng(1)
    y = stair.Model("attention:layers=2")(draw.standard_normal((SAMPLES, 2, 2))).reshape(SAMPLES, 2, 2)
    for name in ("X", "X0", "X1", "Xnew"):
        np.save(at / name, draw.standard_normal((SAMPLES, 2, 10)))
    for name in ("Y", "Y0", "Y1"):
        np.save(at / name, y)
    np.save(at / "l", np.log(y))
    np.save(at / "w", draw.standard_normal((SAMPLES, 2, 2)))
    np.save(at / "v", np.eye(2))
    program_makes("amp", "attention:layers=2", "--data", "X.npy", "Y.npy", "--max-iterations", "1", "--save", "W.npz")
    # Questions and a classifier of them.
    for name in ("trec.label", "trec/train_5500.label", "trec/TREC_10.label"):
        shutil.copy(DATA / "questions.label", at / name)
    shutil.copy(DATA / "vocab.txt", at / "vocab.txt")
    for name in ("new.txt", "new_questions.txt"):
        (at / name).write_text("Who wrote Hamlet ?\n")
    program_makes("train", "--data", "trec.label", "--vocab", "vocab.txt", "--dim", "8", "--epochs", "0", "--save",
                  "w.npz")
    # Results.
    for name in ("threshold.json", "steps.json", "evolve.json", "result.json", "runs/a.csv"):
        program_makes("threshold", "square", "--steps", "1", "--precision", "0.1", "--out", name)
    for number in ("0.1", "0.2"):
        for ending in ("csv", "json"):
            program_makes("threshold", "square", "--set", f"noise={number}", "--steps", "1", "--precision", "0.1",
                          "--out", f"part-{int(10 * float(number))}.{ending}")
