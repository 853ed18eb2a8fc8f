"""Results, docstrings, stubs: what a user of a notebook sees."""
import csv
import importlib.util
import inspect
import io
import pathlib
import subprocess
import unittest

import numpy as np
from common import HAS, PROGRAM, QUESTIONS, VOCAB, Case, program

import stair
from stair._options import table

TOOLS = pathlib.Path(__file__).resolve().parent.parent / "tools"


class Results(Case):
    def test_a_staircase(self):
        found = stair.threshold("square", precision=0.05)
        step = found[0]
        self.assertEqual((step.kind, step.learns, len(found)), ("weak", [1], 2))
        self.assertAlmostEqual(step.alpha, 0.5, delta=0.01)
        self.assertLess(step.error, 0.05)
        self.assertTrue(np.isnan(found[1].eigenvalue))
        self.assertEqual(found.alpha.tolist(), [row.alpha for row in found])
        self.assertEqual(found.kind, ["weak", "perfect"])
        self.assertEqual(found.options["precision"], 0.05)
        self.assertIn("alpha", dir(found))
        with self.assertRaises(AttributeError):
            found.beta
        with self.assertRaises(AttributeError):
            step.alpha = 3
        self.assertIn("weak", repr(found))
        self.assertIn("<table>", found._repr_html_())
        self.assertIn("<table>", step._repr_html_())
        self.assertEqual((found[1:].kind, found[1:].model, found[:0].alpha.size), (["perfect"], found.model, 0))

    @unittest.skipUnless(HAS["pandas"], "pandas is not installed")
    def test_data_frames_have_the_columns_of_csv(self):
        two, p = "attention:layers=2", ("--precision", 0.1)
        for found, words in (
            (stair.threshold(two, steps=1, precision=0.1), ("threshold", two, "--steps", 1, *p)),
            (stair.evolve(two, 0.1, precision=0.1), ("evolve", two, "--alpha", 0.1, *p)),
            (stair.entropy("square", 0.4, precision=0.1), ("entropy", "square", "--alpha", 0.4, *p)),
            (stair.hard_phases("square", precision=0.1), ("entropy", "square", "--phases", *p)),
            (stair.exponents("square", degree=2), ("exponents", "square", "--degree", 2)),
            (stair.channel(two, points=3), ("channel", two, "--points", 3)),
            (stair.amp(two, dim=10, max_iterations=0, theory="none"),
             ("amp", two, "--dim", 10, "--max-iterations", 0, "--theory", "none")),
            (stair.sgd(two, dim=10, alpha=2, epochs=1), ("sgd", two, "--dim", 10, "--alpha", 2, "--epochs", 1)),
            (stair.diagnose("square", points=2), ("diagnose", "square", "--points", 2)),
        ):
            with self.subTest(words[0]):
                done = subprocess.run([PROGRAM, *map(str, words), "--csv"], capture_output=True, text=True)
                rows = list(csv.reader(io.StringIO(done.stdout)))
                frame = found.to_dataframe()
                self.assertEqual(list(frame.columns), rows[0])
                self.assertEqual(len(frame), len(rows) - 1)

    @unittest.skipUnless(HAS["matplotlib"], "matplotlib is not installed")
    def test_plots(self):
        import matplotlib

        matplotlib.use("Agg")
        for found in (stair.threshold("square", precision=0.05), stair.evolve("square", [0.4, 0.6], precision=0.05),
                      stair.entropy("square", [0.4], precision=0.05),
                      stair.amp("square", dim=20, alpha=[1, 2], max_iterations=2),
                      stair.amp("square", dim=20, alpha=1, max_iterations=2),
                      stair.amp("square", np.ones((10, 4)), np.ones(10), max_iterations=2),
                      stair.hard_phases("square", precision=0.1), stair.exponents("square", degree=2),
                      stair.channel("square", points=20), stair.diagnose("square", points=2),
                      stair.train(QUESTIONS, VOCAB, dim=8, rank=2, layers=1, epochs=1),
                      stair.sgd("square", dim=10, alpha=2, epochs=1)):
            with self.subTest(type(found).__name__):
                axes = found.plot()
                self.assertTrue(axes.has_data())
                for line in axes.get_lines():
                    self.assertTrue(np.isfinite(np.asarray(line.get_ydata(), float)).any())
        with self.assertRaises(TypeError):
            stair.models().plot()
        matplotlib.pyplot.close("all")

    def test_a_model(self):
        model = stair.Model("attention:layers=2,rank=1+2")
        self.assertEqual((model.layers, model.tokens, model.indices, model.outputs, model.ranks), (2, 2, 3, 4, (1, 2)))
        self.assertTrue(model.spec.startswith("attention:layers=2,"))
        self.assertTrue(model.label_is_log)
        z = np.random.default_rng(0).standard_normal((4, 3, 2))
        self.assertTrue(np.allclose(model(z).reshape(4, 2, 2).sum(axis=2), 1))
        self.assertTrue(np.allclose(model.carried(model(z)), model.labels(z)))
        step, cotangent, gradient = 1e-6, np.arange(4.0), np.zeros((3, 2))
        for at in np.ndindex(3, 2):
            moved = [z[0].copy(), z[0].copy()]
            moved[0][at] -= step
            moved[1][at] += step
            gradient[at] = cotangent @ (model(moved[1]) - model(moved[0])) / (2 * step)
        self.assertTrue(np.allclose(model.gradient(z[0], cotangent), gradient, atol=1e-6))

    def test_options_of_the_program_are_keywords(self):
        """Every option in the echo of the program is a keyword, with the same default."""
        own = {"alpha", "set", "from", "logits", "y", "omega", "cov", "data", "predict", "load", "side", "test",
               "vocab", "weights", "points", "samples", "theory", "steps"}
        lines = {"threshold": ("square", "--precision", 0.1), "evolve": ("square", "--alpha", 0.4, "--precision", 0.1),
                 "channel": ("square",), "amp": ("square", "--dim", 10, "--max-iterations", 0),
                 "sgd": ("square", "--dim", 10, "--epochs", 0), "diagnose": ("square", "--points", 1)}
        for command, words in lines.items():
            echo = program(command, *words)["options"]
            keywords = inspect.signature(getattr(stair, command)).parameters
            given = {str(w)[2:] for w in words if str(w).startswith("--")}
            for name, value in echo.items():
                if name in own:
                    continue
                with self.subTest(f"{command} --{name}"):
                    self.assertIn(name.replace("-", "_"), keywords)
                    if name not in given:
                        self.assertEqual(keywords[name.replace("-", "_")].default, value)

    def test_docstrings_have_every_option(self):
        for function, names in ((stair.threshold, ["asymptotics"]), (stair.amp, ["gamp"]), (stair.sgd, ["sgd"]),
                                (stair.channel, ["channel", "points"]), (stair.train, ["train", "questions"])):
            for name in names:
                for option in table(name).options.values():
                    if option.name in inspect.signature(function).parameters and option.name != "alpha":
                        self.assertIn(f"\n{option.name} : ", function.__doc__, function.__name__)
        self.assertIn("between 1e-06 and 0.5", stair.threshold.__doc__)

    def test_stubs_are_up_to_date(self):
        spec = importlib.util.spec_from_file_location("make_stubs", TOOLS / "make_stubs.py")
        tool = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(tool)
        text = tool.stubs()
        compile(text, "__init__.pyi", "exec")
        self.assertEqual(tool.TARGET.read_text(encoding="utf-8"), text, "run python/tools/make_stubs.py")
        for name in stair.__all__:
            self.assertRegex(text, rf"(?m)^(class|def) {name}\b")


class Needs(unittest.TestCase):
    def test_what_runs_take(self):
        needs = stair.amp_need("attention:layers=2", dim=100, alpha=[1, 3])
        self.assertEqual([n.samples for n in needs], [100, 300])
        self.assertEqual([n.x_bytes for n in needs], [100 * 2 * 100 * 4, 300 * 2 * 100 * 4])
        self.assertTrue(all(n.bytes > n.x_bytes and 0 < n.iteration_seconds < n.seconds for n in needs))
        self.assertEqual(stair.Model("square").amp_need(dim=100, regenerate=True)[0].x_bytes, 0)


if __name__ == "__main__":
    unittest.main()
