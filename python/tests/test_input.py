"""Bad input of every function: a stair.Error that is a ValueError, with a message that says what is allowed."""
import os
import tempfile
import unittest

import numpy as np
from common import QUESTIONS, VOCAB, Case

import stair

X, Y = np.ones((10, 4)), np.ones((10, 1))
NAN = float("nan")


class Input(Case):
    def refused(self, pattern, function, *arguments, **keywords):
        with self.assertRaisesRegex(stair.BadInput, pattern) as caught:
            function(*arguments, **keywords)
        self.assertIsInstance(caught.exception, ValueError)
        self.assertIsInstance(caught.exception, stair.Error)
        self.assertEqual(caught.exception.status, stair.Status.BAD_INPUT)
        self.assertEqual(str(caught.exception), caught.exception.message)

    def test_wrong_keywords_have_a_suggestion(self):
        calls = [
            (stair.threshold, ("square",), {"precison": 1}, "precision"),
            (stair.evolve, ("square", 0.5), {"max_iteration": 1}, "max_iterations"),
            (stair.entropy, ("square", 0.5), {"replicate": 1}, "replicates"),
            (stair.hard_phases, ("square",), {"precison": 1}, "precision"),
            (stair.errors, ("square", 0.5), {"sed": 1}, "seed"),
            (stair.exponents, ("square",), {"degrees": 1}, "degree"),
            (stair.channel, ("square",), {"max_node": 1}, "max_nodes"),
            (stair.amp, ("square",), {"dims": 1}, "dim"),
            (stair.sgd, ("square",), {"epoch": 1}, "epochs"),
            (stair.train, (QUESTIONS, VOCAB), {"layer": 1}, "layers"),
            (stair.tokenize, ("a", VOCAB), {"long": 1}, "longest"),
            (stair.diagnose, ("square",), {"point": 1}, "points"),
            (stair.GAMP, ("square",), {"dampin": 1}, "damping"),
            (stair.Model, ("square",), {"nois": 1}, "noise"),
            (stair.Model, (lambda z: z,), {"noise": 1, "vectorised": True}, "vectorized"),
            (stair.load, (), {"fil": "w.npz"}, "file"),
        ]
        for function, arguments, keywords, hint in calls:
            with self.subTest(function.__name__):
                self.refused(rf"{function.__name__}\(\) has no keyword .*did you mean {hint}\?", function,
                             *arguments, **keywords)
                with self.assertRaises(TypeError):
                    function(*arguments, **keywords)

    def test_wrong_keywords_of_methods_have_a_suggestion(self):
        fitted = stair.amp("square", X, Y, max_iterations=1)
        kept = stair.Posterior(fitted.model, fitted[0].weights, fitted[0].cov, 1)
        for owner in (fitted, kept):
            self.refused(r"predict\(\) has no keyword ful; did you mean full\?", owner.predict, X, ful=True)
            self.refused(r"save\(\) has no keyword overwrit; did you mean overwrite\?", owner.save, "w", overwrit=True)
        self.refused(r"predict\(\) has no keyword return_dev; did you mean return_std\?", stair.GAMP("square").predict, X,
                     return_dev=True)
        self.refused(r"models\(\) has no keyword name; it takes none", stair.models, name="square")
        self.refused(r"threshold\(\) has no keyword step; did you mean steps\?", stair.Model("square").threshold, step=1)

    def test_models(self):
        for function, more in ((stair.threshold, ()), (stair.evolve, (1,)), (stair.entropy, (1,)), (stair.errors, (1,)),
                               (stair.hard_phases, ()), (stair.exponents, ()), (stair.channel, ()), (stair.amp, ()), (stair.sgd, ()), (stair.diagnose, ())):
            with self.subTest(function.__name__):
                self.refused("did you mean 'square'", function, "sqare", *more)
                self.refused("MODEL string or a function", function, 3, *more)
                self.refused("MODEL string or a function", function, None, *more)
                self.refused("missing a required argument", function)
        self.refused("has no key|unknown key", stair.Model, "square:colour=3")
        self.refused("write it into the string", stair.Model, "square", noise=0.1)

    def test_types_and_ranges_of_options(self):
        self.refused("precision must be a number", stair.threshold, "square", precision="small")
        self.refused("precision must be between 1e-06 and 0.5, not 3", stair.threshold, "square", precision=3)
        self.refused("precision", stair.threshold, "square", precision=NAN)
        self.refused("replicates must be a whole number", stair.threshold, "square", replicates=2.5)
        self.refused("seed", stair.threshold, "square", seed=-1)
        self.refused("seed", stair.threshold, "square", seed=2**64)
        self.refused("method must be", stair.threshold, "square", method="magic")
        self.refused("method must be text", stair.threshold, "square", method=3)
        self.refused("steps must be a whole number", stair.threshold, "square", steps="all")
        self.refused("steps must be between", stair.threshold, "square", steps=-1)
        self.refused("threads must be", stair.threshold, "square", threads=-1)
        self.refused("threads must be a whole number", stair.threshold, "square", threads="many")
        self.refused("device", stair.threshold, "square", device="abacus")
        self.refused("adaptive must be True or False", stair.amp, "square", adaptive="perhaps")
        self.refused("dim must be between", stair.amp, "square", dim=10**12)
        self.refused("variant must be", stair.amp, "square", variant="none")
        self.refused("decay", stair.sgd, "square", decay="fast")
        self.refused("rate must be a number", stair.sgd, "square", rate=[1, 2])
        self.refused("checkpoint must be a file name", stair.sgd, "square", checkpoint=3)
        self.refused("resume needs a checkpoint", stair.sgd, "square", dim=10, alpha=1, epochs=1, resume=True)
        self.refused("points must be at least 1", stair.channel, "square", points=0)
        self.refused("points must be", stair.diagnose, "square", points=0)
        self.refused("degree 9 is not 1 to 8", stair.exponents, "square", degree=9)
        self.refused("degree must be a whole number", stair.exponents, "square", degree="two")
        self.refused("theory must be none, fixed or trajectory", stair.amp, "square", theory="all")
        self.refused("samples must be between", stair.amp, "square", samples=1)
        self.refused("start must be both, uninformed or informed", stair.evolve, "square", 0.5, start="cold")

    def test_alphas(self):
        for function in (stair.evolve, stair.entropy, lambda m, a: stair.amp(m, alpha=a),
                         lambda m, a: stair.sgd(m, alpha=a)):
            self.refused("alpha must be an array of numbers", function, "square", "1")
            self.refused("alpha must hold numbers between", function, "square", -1)
            self.refused(r"alpha\[1\] is nan", function, "square", [1, NAN])
            self.refused("alpha is empty", function, "square", [])
            self.refused("alpha needs shape", function, "square", [[1, 2]])

    def test_overlaps(self):
        self.refused(r"Q needs shape \(2, 2\), not \(1, 1\)", stair.errors, "attention:layers=2", [[1]])
        self.refused(r"Q needs shape \(2, 2\), not \(\)", stair.errors, "attention:layers=2", 0.5)
        self.refused(r"Q\[0, 0\] is nan", stair.errors, "square", NAN)
        self.refused("Q must be an array of numbers", stair.errors, "square", "high")
        self.refused("Q has an eigenvalue of 1.5: overlaps are between 0 and 1", stair.errors, "square", 1.5)
        self.refused("Q is not symmetric", stair.errors, "attention:layers=2", [[0.5, 0.1], [0.2, 0.5]])
        self.refused("Q_error needs shape", stair.errors, "square", 0.5, [1, 2])

    def test_points_of_the_channel(self):
        o, v = np.zeros((3, 1, 1)), np.eye(1)
        self.refused("needs all of y", stair.channel, "square", np.ones((3, 1)))
        self.refused(r"omega needs shape \(3, 1, 1\) or \(3, 1\), not", stair.channel, "square", np.ones((3, 1)), o[:2],
                     v)
        self.refused(r"cov needs shape", stair.channel, "square", np.ones((3, 1)), o, np.eye(2))
        self.refused(r"y needs shape", stair.channel, "square", np.ones((3, 2)), o, v)
        self.refused(r"y\[1, 0\] is nan", stair.channel, "square", [[1], [NAN], [1]], o, v)
        self.refused(r"omega\[2, 0, 0\] is inf", stair.channel, "square", np.ones((3, 1)),
                     np.array([0, 0, np.inf]).reshape(3, 1, 1), v)
        self.refused("y must be an array of numbers", stair.channel, "square", ["a"], o, v)
        self.refused("y must be an array of numbers", stair.channel, "square", np.ones((3, 1), complex), o, v)
        self.refused("carries plain outputs", stair.channel, "square", logits=np.ones((3, 1)), omega=o, cov=v)
        self.refused("sample 0", stair.channel, "square", -np.ones((3, 1)), o, v)
        self.refused("cov", stair.channel, "square", np.ones((3, 1)), o, -v)

    def test_data_of_amp(self):
        self.refused("both X and y", stair.amp, "square", X)
        self.refused("dim is for a synthetic teacher", stair.amp, "square", X, Y, dim=4)
        self.refused("alpha is for a synthetic teacher", stair.amp, "square", X, Y, alpha=4)
        self.refused("X has 10 samples and y has 9", stair.amp, "square", X, Y[:9])
        self.refused(r"X needs shape", stair.amp, "square", X[0], Y)
        self.refused(r"X\[3, 2\] is nan", stair.amp, "square", np.where(np.arange(40).reshape(10, 4) == 14, NAN, X), Y)
        self.refused(r"y\[3, 0\] is inf", stair.amp, "square", X, np.where(np.arange(10)[:, None] == 3, np.inf, Y))
        self.refused("X must be an array of numbers", stair.amp, "square", [["a"]], Y)
        self.refused("logits goes with X", stair.amp, "square", logits=True)
        self.refused("not fitted yet", stair.GAMP("square").predict, X)
        fitted = stair.amp("square", X, Y, max_iterations=1)
        self.refused(r"X needs shape \(n, 1, 4\) or \(n, 4\), not \(10, 3\)", fitted.predict, X[:, :3])
        self.refused("X must be an array", fitted.predict, "new")
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "w.npz")
            fitted.save(file)
            self.refused("exists", fitted.save, file)
            fitted.save(file, overwrite=True)
            with open(file, "wb") as broken:
                broken.write(b"nothing")
            self.refused("no posterior", stair.load, file)
            np.savez(file, weights=np.ones((1, 3)))
            self.refused("no posterior", stair.load, file)
            np.savez(file, weights=np.ones((2, 3)), cov=np.eye(1), seed=[1], model=np.frombuffer(b"square", np.uint8))
            self.refused("weights needs shape", stair.load, file)
        with self.assertRaises(OSError):
            stair.load("/nowhere/w.npz")

    def test_questions(self):
        for function in (lambda v: stair.tokenize("a", v), lambda v: stair.train(QUESTIONS, v)):
            with self.assertRaisesRegex(stair.Error, "nowhere"):
                function("/nowhere/vocab")
            self.refused("vocab must be the name of a file", function, 3)
        self.refused("must be one line of text", stair.tokenize, [3], VOCAB)
        self.refused("must be one line of text", stair.train, ["NUM:x a", 3], VOCAB)
        self.refused("data is empty", stair.train, [], VOCAB)
        self.refused("name of a file or a list", stair.train, 3, VOCAB)
        self.refused("data", stair.train, ["NOSUCH:x who ?"], VOCAB)
        self.refused("longest must be between", stair.tokenize, "a", VOCAB, longest=1)
        self.refused("layers must be between", stair.train, QUESTIONS, VOCAB, layers=0)
        with self.assertRaisesRegex(stair.Error, "nowhere"):
            stair.Classifier.load("/nowhere/w.npz", VOCAB)

    def test_links(self):
        self.refused("needs noise", stair.Model, lambda z: z)
        self.refused("noise", stair.Model, lambda z: z, noise=0)
        self.refused("noise", stair.Model, lambda z: z, noise="much")
        self.refused("indices", stair.Model, lambda z: z, noise=1, indices=0)
        self.refused("indices must be a whole number", stair.Model, lambda z: z, noise=1, indices="two")
        self.refused("the link gives", stair.Model, lambda z: z * NAN, noise=1)
        self.refused("", stair.Model, lambda z: z, noise=1, name="a b")
        with self.assertRaises(ZeroDivisionError):
            stair.Model(lambda z: 1 / 0, noise=1)

    def test_methods_of_models(self):
        model = stair.Model("square")
        self.refused("z needs shape", model, np.ones((2, 2, 2)))
        self.refused(r"z\[0, 0, 0\] is nan", model, NAN)
        self.refused("z must be an array", model, "z")
        self.refused("y needs shape", model.carried, np.ones((2, 2)))
        self.refused("cotangent needs shape", model.gradient, [[1]], [1, 2])

    def test_other_errors_keep_their_status(self):
        with self.assertRaises(stair.Costly) as caught:
            stair.threshold("attention:layers=3,tokens=4,rank=2", precision=1e-2, patience=0.05)
        self.assertEqual(caught.exception.status, stair.Status.COSTLY)
        self.assertNotIn("--", str(caught.exception))
        self.assertNotIsInstance(caught.exception, ValueError)

    def test_a_result_that_misses_its_precision_warns(self):
        with self.assertWarnsRegex(stair.NotConvergedWarning, "raise max_iterations") as caught:
            found = stair.amp("square", dim=50, alpha=1, max_iterations=2)
        self.assertEqual(caught.filename, __file__)
        self.assertFalse(found.converged)
        self.assertIn("had not converged", found.message)


if __name__ == "__main__":
    unittest.main()
