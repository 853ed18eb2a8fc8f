"""Runs the programs of examples/ and checks what they print against numbers known from elsewhere.

    check_examples.py FOLDER EXAMPLES_FOLDER [--quick]

FOLDER has one program for each examples/*.c; an example without a check here fails.  --quick leaves out those
that take more than a few seconds.  The output of all is printed, so that two builds can be compared."""
import os
import subprocess
import sys


def run(folder, name, *arguments):
    done = subprocess.run([os.path.join(folder, name), *arguments], capture_output=True, text=True, timeout=300)
    print(f"== {name} {' '.join(arguments)}\n{done.stdout}", end="")
    return done


def rows(folder, name, *arguments):
    done = run(folder, name, *arguments)
    assert done.returncode == 0, f"{name}: exit {done.returncode}: {done.stderr}"
    return [line.split() for line in done.stdout.splitlines()]


def threshold(folder):
    """docs/staircase.md; one layer: 1/6 exactly."""
    steps = rows(folder, "threshold")[1:]
    assert [step[0] for step in steps] == ["weak", "weak", "perfect"], steps
    assert abs(float(steps[0][1]) - 0.18547784) < 3e-7 and steps[0][3:] == ["2"], steps
    assert abs(float(steps[1][1]) - 0.71961) < 4 * float(steps[1][2]) and steps[1][3:] == ["1"], steps
    assert float(steps[2][1]) == 1, steps
    step = rows(folder, "threshold", "attention:layers=1,tokens=2")[1]
    assert abs(float(step[1]) - 1 / 6) < 1e-8, step
    refused = run(folder, "threshold", "attention:layer=2")
    assert refused.returncode == 2 and "layers" in refused.stderr, refused.stderr


def curve(folder):
    """Nothing is known before the first step, all after the last; docs/staircase.md between."""
    points = [[float(x) for x in row[:6]] + row[6:] for row in rows(folder, "curve")[1:]]
    assert len(points) == 12
    for before, after in zip(points, points[1:]):
        assert after[4] >= before[4] - 4 * (after[5] + before[5]), "the overlap fell"
    for alpha, bayes, bayes_error, first, second, error, stop in points:
        if alpha < 0.185:
            assert first == second == 0
        elif alpha < 0.719:
            assert first == 0 and second > 0.01
        elif alpha < 0.999:
            assert 0 < first < second < 1
        else:
            assert first == second == 1 and bayes == 0 and stop == "perfect"
    at = points[6]  # stair evolve attention:layers=2,skip=1 --alpha 0.7: Q22 0.96934, Bayes 0.04720
    assert abs(at[4] - 0.96934) < 4 * at[5] + 5e-5 and abs(at[1] - 0.04720) < 4 * at[2] + 5e-5, at


def gamp_arrays(folder):
    """Phase retrieval is perfect from alpha near 1.13 on; here it is 3."""
    (stop, *_), numbers = rows(folder, "gamp_arrays")
    assert stop == "perfect"
    error, expected, spread = (float(numbers[k].rstrip(",")) for k in (2, 4, 6))
    assert error < 1e-6 and expected < 1e-6 and spread > 0.5, numbers


def own_model(folder):
    """1 / E[c^2 + d^2], c = E[z_1 z_2 | y], d = E[z_1^2 - 1 | y], by 200 x 200 Gauss-Hermite nodes: 1.937166."""
    identities, step = rows(folder, "own_model")
    assert int(identities[0]) >= 7 and identities[2:] == ["0", "fail"], identities
    alpha, error = float(step[5]), float(step[7])
    assert 0 < error < 0.02 and abs(alpha - 1.937166) < 4 * error, step


CHECKS = {check.__name__: check for check in (threshold, curve, gamp_arrays, own_model)}
SLOW = {"curve"}


def main():
    folder, examples = sys.argv[1:3]
    names = sorted(name[:-2] for name in os.listdir(examples) if name.endswith(".c"))
    for name in names:
        with open(os.path.join(examples, name + ".c"), encoding="utf-8") as file:
            assert len(file.readlines()) < 80, f"{name}.c has 80 lines or more"
        if name not in CHECKS:
            sys.exit(f"FAILED: no check for examples/{name}.c")
        if not ("--quick" in sys.argv and name in SLOW):
            CHECKS[name](folder)


if __name__ == "__main__":
    main()
