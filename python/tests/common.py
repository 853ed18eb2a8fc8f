"""What the tests share: the program beside the package, and the difference of two results."""
import json
import math
import os
import pathlib
import subprocess
import unittest
import warnings

import stair

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM = os.environ.get("STAIR_PROGRAM", str(ROOT / "build" / "stair"))
VOCAB, QUESTIONS = str(ROOT / "data" / "vocab.txt"), str(ROOT / "data" / "questions.label")
HAS = {}
for _name in ("pandas", "matplotlib", "tqdm"):
    try:
        __import__(_name)
        HAS[_name] = True
    except ImportError:
        HAS[_name] = False


def program(*words, folder=None):
    """The results of `stair WORDS --json`."""
    done = subprocess.run([PROGRAM, *map(str, words), "--json"], capture_output=True, text=True, cwd=folder)
    if done.returncode not in (0, 3):
        raise AssertionError(f"stair {' '.join(map(str, words))}: {done.stderr}")
    return json.loads(done.stdout)


def as_json(value):
    """As JSON has it: what is not finite is null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: as_json(v) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_json(v) for v in value]
    return value


class Case(unittest.TestCase):
    maxDiff = 2000

    def setUp(self):
        catch = warnings.catch_warnings()
        catch.__enter__()
        self.addCleanup(catch.__exit__, None, None, None)
        warnings.simplefilter("ignore", stair.NotConvergedWarning)

    def assert_same_results(self, result, *words, folder=None):
        """Every number has the same bits: JSON has as many digits as a double needs."""
        found, wanted = as_json(result.to_dict()), program(*words, folder=folder)
        self.assertEqual(found["results"], wanted["results"])
        self.assertEqual(found["model"], wanted["model"])
        self.assertEqual(found["command"], wanted["command"])
