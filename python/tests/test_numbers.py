"""Numbers of the package are those of the program, to the last bit."""
import os
import pathlib
import tempfile
import unittest

import numpy as np
from common import QUESTIONS, VOCAB, Case, as_json, program

import stair


class Numbers(Case):
    def test_threshold(self):
        for model in ("square", "attention:layers=2", "attention:layers=1,noise=0.1"):
            found = stair.threshold(model, precision=0.02, seed=3, progress=False)
            self.assert_same_results(found, "threshold", model, "--precision", 0.02, "--seed", 3)

    def test_evolve(self):
        found = stair.evolve("attention:layers=2", [0.1, 0.5], precision=0.02)
        self.assert_same_results(found, "evolve", "attention:layers=2", "--alpha", "0.1,0.5", "--precision", 0.02)
        found = stair.evolve("square", 0.7, start="informed", side=0.1, precision=0.02)
        self.assert_same_results(found, "evolve", "square", "--alpha", 0.7, "--from", "informed", "--side", 0.1,
                                 "--precision", 0.02)

    def test_entropy(self):
        found = stair.entropy("square", [0.4, 0.6, 0.9], precision=0.02)
        self.assert_same_results(found, "entropy", "square", "--alpha", "0.4,0.6,0.9", "--precision", 0.02)

    def test_hard_phases(self):
        found = stair.hard_phases("square", precision=0.05)
        self.assert_same_results(found, "entropy", "square", "--phases", "--precision", 0.05)

    def test_errors_at_the_overlap_of_evolve(self):
        for model in ("square", "attention:layers=2"):
            row = program("evolve", model, "--alpha", 0.7, "--from", "uninformed", "--precision", 0.05)["results"][0]
            found = stair.errors(model, row["Q"], row["Q_error"], precision=0.05)
            self.assertEqual(found.to_dict(), row["errors"])

    def test_exponents(self):
        for model, degree in (("square", 2), ("staircase", 3), ("parity:indices=3", 2)):
            self.assert_same_results(stair.exponents(model, degree=degree, seed=2), "exponents", model, "--degree",
                                     degree, "--seed", 2)

    def test_channel_at_random_points(self):
        found = stair.channel("attention:layers=2", points=40, precision=1e-5, seed=9)
        wanted = program("channel", "attention:layers=2", "--points", 40, "--precision", 1e-5, "--seed", 9)
        self.assertEqual(as_json(found.rows()), wanted["results"])

    def test_points_drawn_in_pieces_are_those_drawn_at_once(self):
        from stair import _channel

        whole = stair.channel("attention:layers=2", points=50)
        self.addCleanup(setattr, _channel, "DRAWN", _channel.DRAWN)
        _channel.DRAWN = 7
        pieces = stair.channel("attention:layers=2", points=50)
        for name in ("labels", "omega", "cov", "dg"):
            self.assertEqual(getattr(whole, name).tolist(), getattr(pieces, name).tolist())

    def test_channel_at_given_points(self):
        drawn = stair.channel("attention:layers=2", points=30, one_cov=True)
        with tempfile.TemporaryDirectory() as folder:
            for name, array in (("l", drawn.labels.reshape(30, 2, 2)), ("o", drawn.omega), ("v", drawn.cov)):
                np.save(os.path.join(folder, name), array)
            wanted = program("channel", "attention:layers=2", "--logits", "l.npy", "--omega", "o.npy", "--cov", "v.npy",
                             folder=folder)["results"]
        found = stair.channel("attention:layers=2", logits=drawn.labels, omega=drawn.omega, cov=drawn.cov)
        self.assertEqual(as_json(found.rows()), wanted)
        # one draw of the program is another of the package
        self.assertEqual(as_json(drawn.rows()), wanted)

    def test_amp_on_a_teacher(self):
        found = stair.amp("attention:layers=2", dim=30, alpha=1, max_iterations=3, theory="none", precision=0.1)
        self.assert_same_results(found, "amp", "attention:layers=2", "--dim", 30, "--alpha", 1, "--max-iterations", 3,
                                 "--theory", "none", "--precision", 0.1)
        found = stair.amp("square", dim=60, alpha=[0.5, 1], seeds=2, max_iterations=8, seed=5)
        self.assert_same_results(found, "amp", "square", "--dim", 60, "--alpha", "0.5,1", "--seeds", 2,
                                 "--max-iterations", 8, "--seed", 5)
        found = stair.amp("square", dim=60, alpha=2, max_iterations=4, theory="trajectory", samples=1024)
        self.assert_same_results(found, "amp", "square", "--dim", 60, "--alpha", 2, "--max-iterations", 4, "--theory",
                                 "trajectory", "--samples", 1024)

    def test_amp_on_data(self):
        draw = np.random.default_rng(1)
        x = draw.standard_normal((200, 40)).astype(np.float32)
        y = (x @ draw.standard_normal((40, 1)) / np.sqrt(40)).astype(np.float64) ** 2
        with tempfile.TemporaryDirectory() as folder:
            np.save(os.path.join(folder, "x"), x)
            np.save(os.path.join(folder, "y"), y)
            found = stair.amp("square", x, y, max_iterations=30)
            self.assert_same_results(found, "amp", "square", "--data", "x.npy", "y.npy", "--max-iterations", 30,
                                     folder=folder)
            # what the package saves the program loads, and the other way round
            found.save(os.path.join(folder, "mine.npz"))
            mean, deviation, plugin = found.predict(x[:7], full=True)
            np.save(os.path.join(folder, "new"), x[:7])
            rows = program("amp", "square", "--load", "mine.npz", "--predict", "new.npy", folder=folder)["results"]
            self.assertEqual([row["mean"] for row in rows], mean.tolist())
            self.assertEqual([row["deviation"] for row in rows], deviation.tolist())
            self.assertEqual([row["plugin"] for row in rows], plugin.tolist())
            program("amp", "square", "--data", "x.npy", "y.npy", "--max-iterations", 30, "--save", "its.npz",
                    folder=folder)
            loaded = stair.load(os.path.join(folder, "its.npz"))
            self.assertEqual(loaded.predict(x[:7]).tolist(), mean.tolist())
            self.assertEqual(stair.Amp.load(os.path.join(folder, "mine.npz")).weights.tolist(),
                             loaded.weights.tolist())

    def test_sgd(self):
        found = stair.sgd("attention:layers=2", dim=20, alpha=4, epochs=3, seeds=2)
        self.assert_same_results(found, "sgd", "attention:layers=2", "--dim", 20, "--alpha", 4, "--epochs", 3,
                                 "--seeds", 2)

    def test_train_and_classifier(self):
        found = stair.train(QUESTIONS, VOCAB, dim=8, rank=2, layers=1, epochs=2, records=1, rate=1e-3)
        self.assert_same_results(found, "train", "--data", QUESTIONS, "--vocab", VOCAB, "--dim", 8, "--rank", 2,
                                 "--layers", 1, "--epochs", 2, "--rate", 1e-3)
        asked = ["Who wrote Hamlet ?", "How far is the moon ?"]
        with tempfile.TemporaryDirectory() as folder:
            weights = os.path.join(folder, "w.npz")
            found[0].classifier.save(weights)
            pathlib.Path(folder, "asked").write_text("\n".join(asked) + "\n")
            rows = program("train", "--weights", weights, "--vocab", VOCAB, "--predict", "asked", folder=folder)
            again = stair.Classifier.load(weights, VOCAB)
        self.assertEqual(again.predict(asked), [row["label"] for row in rows["results"]])
        self.assertEqual(again.predict_proba(asked).max(axis=1).tolist(),
                         [row["probability"] for row in rows["results"]])
        self.assertEqual(found[0].classifier.predict(asked), again.predict(asked))

    def test_tokenize(self):
        import subprocess

        from common import PROGRAM

        done = subprocess.run([PROGRAM, "tokenize", "--vocab", VOCAB, QUESTIONS], capture_output=True, text=True)
        wanted = [[int(word) for word in line.split()] for line in done.stdout.splitlines()]
        self.assertEqual([ids.tolist() for ids in stair.tokenize(pathlib.Path(QUESTIONS), VOCAB)], wanted)
        one = stair.tokenize("Who wrote Hamlet ?", VOCAB)
        self.assertEqual(one.tolist(), stair.tokenize(["Who wrote Hamlet ?"], VOCAB)[0].tolist())

    def test_diagnose(self):
        self.assert_same_results(stair.diagnose("square", points=20), "diagnose", "square", "--points", 20)

    def test_models(self):
        wanted = program("models")["results"]
        self.assertEqual([row.to_dict() for row in stair.models()], wanted)

    def test_threads_do_not_matter(self):
        one, two = (stair.threshold("attention:layers=2", precision=0.02, threads=n).to_dict() for n in (1, 2))
        self.assertEqual(as_json(one["results"]), as_json(two["results"]))


if __name__ == "__main__":
    unittest.main()
