"""Every argument of every function and method: what is of no kind it takes is a stair.BadInput, never another exception;
and a keyword that it does not have is a BadKeyword."""
import inspect
import os
import tempfile
import unittest

import numpy as np
from common import QUESTIONS, VOCAB, Case

import stair

# Nothing takes one of these.
WRONG = {"an object": object(), "NaN": float("nan"), "a complex number": 1j, "lists of different lengths": [[1], [1, 2]],
         "text that UTF-8 does not have": "\ud800", "a number beyond C's": 10**400, "five axes": np.zeros((1,) * 5),
         "None in an array": np.array([None, 1], object)}


class EveryArgument(Case):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = os.path.join(folder.name, "w.npz")
        x, y, model = np.ones((10, 4)), np.ones((10, 1)), stair.Model("square")
        small = dict(dim=8, rank=2, layers=1, epochs=1)
        fit = stair.amp("square", x, y, max_iterations=1)
        fit.save(self.file)
        kept, estimator = stair.load(self.file), stair.GAMP("square", max_iterations=1).fit(x, y)
        classifier = stair.train(QUESTIONS, VOCAB, **small)[0].classifier
        at, new = dict(y=np.ones((3, 1)), omega=np.zeros((3, 1)), cov=np.eye(1)), os.path.join(folder.name, "new.npz")
        square = dict(model="square")
        self.calls = [  # a function, and arguments that it takes
            (stair.threshold, square), (stair.evolve, {**square, "alpha": 0.4}), (stair.entropy, {**square, "alpha": 0.4}),
            (stair.hard_phases, square), (stair.errors, {**square, "Q": 0.5}), (stair.exponents, square),
            (stair.channel, square), (stair.channel, {**square, **at}), (stair.amp, {**square, "dim": 10}),
            (stair.amp, {**square, "X": x, "y": y}), (stair.amp_need, {**square, "dim": 10}), (stair.sgd, {**square, "dim": 10}),
            (stair.train, dict(data=QUESTIONS, vocab=VOCAB, **small)), (stair.tokenize, dict(questions="a", vocab=VOCAB)),
            (stair.diagnose, square), (stair.models, {}), (stair.load, dict(file=self.file)),
            (stair.Model, dict(spec="square")), (stair.Model, dict(spec=lambda z: z, noise=1)),
            (model, dict(z=1.0)), (model.labels, dict(z=1.0)), (model.carried, dict(y=[1.0])),
            (model.gradient, dict(z=[1.0], cotangent=[1.0])), (stair.Amp.load, dict(file=self.file)),
            (estimator.predict, dict(X=x)), (estimator.score, dict(X=x, y=y)), (estimator.fit, dict(X=x, y=y)),
            (estimator.save, dict(file=new)), (stair.Classifier.load, dict(file=self.file, vocab=VOCAB)),
            (classifier.predict, dict(questions=["a"])), (classifier.predict_proba, dict(questions=["a"])),
            (classifier.save, dict(file=new)),
        ]
        for owner in (fit, kept):
            self.calls += [(owner.predict, dict(X=x)), (owner.save, dict(file=new))]

    def test_all_functions_are_here(self):
        """A new function needs a line above."""
        here = {function for function, _ in self.calls if inspect.isfunction(function)}
        for name in stair.__all__:
            if inspect.isfunction(getattr(stair, name)):
                self.assertIn(getattr(stair, name), here, name)

    def test_wrong_kinds_are_bad_input(self):
        count = 0
        for function, good in self.calls:
            for p in inspect.signature(function).parameters.values():
                if p.kind == p.VAR_KEYWORD:
                    continue
                for what, value in WRONG.items():
                    with self.subTest(function=getattr(function, "__qualname__", "Model()"), argument=p.name, value=what):
                        with self.assertRaises(stair.BadInput):
                            function(**{**good, p.name: value})
                        count += 1
        self.assertGreater(count, 2000)

    def test_unknown_keywords(self):
        for function, good in self.calls:
            with self.subTest(function=getattr(function, "__qualname__", "Model()")):
                with self.assertRaisesRegex(stair.BadKeyword, "has no keyword no_such_thing"):
                    function(**good, no_such_thing=1)

    def test_too_many_and_too_few_arguments(self):
        for function, good in self.calls:
            with self.subTest(function=getattr(function, "__qualname__", "Model()")):
                with self.assertRaises(stair.BadKeyword):
                    function(*range(30))
                if good:
                    with self.assertRaises(stair.BadKeyword):
                        function()


if __name__ == "__main__":
    unittest.main()
