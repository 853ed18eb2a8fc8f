"""How calls run: Ctrl-C, threads, fork, memory, time; arrays that are not copied; links in Python."""
import ctypes
import gc
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import numpy as np
from common import QUESTIONS, VOCAB, Case

import stair
from stair import _arrays
from stair._stair import ffi, lib

TOO_LONG = 10.0  # seconds of a busy machine for what takes well below one on an idle one
TWO = "attention:layers=2"


def interrupted(job, after=0.3):
    """Seconds from SIGINT to KeyboardInterrupt: of the clock, and of the processor."""
    sent = []

    def send():
        time.sleep(after)
        sent.append((time.monotonic(), time.process_time()))
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=send)
    thread.start()
    over = False
    try:
        job()
        over = True
        thread.join()  # a job that was over before the signal is not interrupted, this is
    except KeyboardInterrupt:
        thread.join()
    return None if over else (time.monotonic() - sent[0][0], time.process_time() - sent[0][1])


class MallocInfo(ctypes.Structure):
    """struct mallinfo2 of glibc."""

    _fields_ = [(name, ctypes.c_size_t) for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks",
                                                     "fsmblks", "uordblks", "fordblks", "keepcost")]


class Running(Case):
    def test_ctrl_c_stops_and_leaves_the_session_usable(self):
        """Within a second, of the processor where it is busy with other things."""
        link = stair.Model(lambda z: z[0] ** 2, noise=0.1)
        draw, alphas, one = np.random.default_rng(1), np.linspace(0.1, 1.5, 300), {"threads": 1}
        x = draw.standard_normal((6000, 2, 300)).astype(np.float32)
        y = stair.Model(TWO)(draw.standard_normal((6000, 2, 2)))
        wide = draw.standard_normal((1000, 2, 3000)).astype(np.float32)  # too few samples to end soon
        fit = stair.amp(TWO, x[:50], y[:50], max_iterations=1)
        jobs = {
            "threshold": lambda: stair.threshold("attention:layers=3", precision=1e-4, **one),
            "evolve": lambda: stair.evolve(TWO, alphas, **one),
            "entropy": lambda: stair.entropy(TWO, alphas, **one),
            "hard_phases": lambda: stair.hard_phases("attention:layers=3", patience=0, **one),
            "errors": lambda: stair.errors("attention:layers=6,tokens=8", [0.3] * 6, precision=1e-5, **one),
            "exponents": lambda: stair.exponents("attention:layers=4", degree=6, **one),
            "channel": lambda: stair.channel(TWO, points=10**6, **one),
            "amp": lambda: stair.amp(TWO, dim=3000, alpha=1.5, max_iterations=1000, **one),
            "amp on data": lambda: stair.amp(TWO, wide, y[:1000], max_iterations=1000, tolerance=1e-12, **one),
            "predict": lambda: fit.predict(np.concatenate([x] * 10), **one),
            "sgd": lambda: stair.sgd(TWO, epochs=10**6, **one),
            "train": lambda: stair.train(QUESTIONS, VOCAB, epochs=3000, **one),
            "tokenize": lambda: stair.tokenize(["Who wrote Hamlet ?"] * 10**6, VOCAB),
            "diagnose": lambda: stair.diagnose(TWO, points=10**6, **one),
            "link": lambda: link.threshold(precision=1e-4),
        }
        for name, job in jobs.items():
            with self.subTest(name):
                took = interrupted(job)
                self.assertIsNotNone(took, "was not interrupted")
                self.assertLess(took[0], TOO_LONG)
                self.assertLess(took[1], 1.0)
                self.assertEqual(stair.threshold("square", steps=1, precision=0.1)[0].learns, [1])

    def test_the_gil_is_released(self):
        done, turns = threading.Event(), 0

        def job():
            stair.channel("attention:layers=2", points=20000, threads=1)
            done.set()

        thread = threading.Thread(target=job)
        thread.start()
        while not done.is_set():
            turns += 1
            time.sleep(0.001)
        thread.join()
        self.assertGreater(turns, 5)

    def test_several_threads(self):
        found = [None] * 6

        def job(i):
            try:
                if i % 3 == 2:
                    stair.channel("square", points=0)
            except stair.BadInput:
                pass
            found[i] = stair.channel("attention:layers=2", points=50, seed=i % 2 + 1).dg

        threads = [threading.Thread(target=job, args=(i,)) for i in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for i in range(2, 6):
            self.assertTrue(np.array_equal(found[i], found[i % 2]))

    def test_after_a_fork(self):
        wanted = stair.channel("attention:layers=2", points=200).logz.tolist()
        with multiprocessing.get_context("fork").Pool(2) as pool:
            found = pool.map_async(_logz, [200, 200, 200]).get(60)
        self.assertEqual(found, [wanted] * 3)

    def test_a_fork_while_another_thread_computes(self):
        """The child has a session of its own, and the parent goes on."""
        found = []
        thread = threading.Thread(target=lambda: found.append(stair.channel(TWO, points=20000).logz.sum()))
        thread.start()
        time.sleep(0.05)
        child = os.fork()
        if child == 0:
            signal.alarm(60)
            os._exit(0 if stair.threshold("square", steps=1, precision=0.1)[0].learns == [1] else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        thread.join()
        self.assertEqual(found, [stair.channel(TWO, points=20000).logz.sum()])

    def test_no_leak_over_10000_calls(self):
        model = stair.Model("square")
        y, omega, cov = np.ones((4, 1)), np.zeros((4, 1, 1)), np.eye(1)

        def some(n):
            for i in range(n):
                stair.channel(model, y, omega, cov, threads=1)
                if i % 10 == 0:
                    stair.Model("attention:layers=2")
                    try:
                        stair.channel(model, -y, omega, cov)
                    except stair.BadInput:
                        pass
            gc.collect()

        some(1000)
        before = _resident()
        some(10000)
        self.assertLess(_resident() - before, 2 << 20)  # 210 bytes a call would show
        self.assertEqual(len(stair._call._running), 0)

    @unittest.skipUnless(hasattr(ctypes.CDLL(None), "mallinfo2"), "not glibc 2.33 or later")
    def test_no_function_keeps_memory(self):
        """Beyond what is kept on purpose, which some calls of each fill."""
        info = ctypes.CDLL(None).mallinfo2
        info.restype = MallocInfo

        def used():
            gc.collect()
            now = info()
            return now.uordblks + now.hblkhd, sys.getallocatedblocks()

        model, x, y = stair.Model("square"), np.ones((10, 4)), np.ones((10, 1))
        fit, few, rough = stair.amp(model, x, y, max_iterations=1), {"threads": 1}, {"threads": 1, "precision": 0.5}
        asked = ["NUM:x who is ?", "HUM:y is who ?"] * 3
        with tempfile.TemporaryDirectory() as folder:
            words, kept = os.path.join(folder, "vocab"), os.path.join(folder, "w.npz")
            with open(words, "w", encoding="ascii") as file:
                file.write("[PAD]\n[UNK]\n[CLS]\n[SEP]\nwho\nis\n?\n")
            fit.save(kept)
            learn = dict(dim=4, rank=1, layers=1, epochs=1, classes="NUM,HUM", **few)
            jobs = {
                "threshold": lambda: stair.threshold(model, steps=1, **rough),
                "errors": lambda: stair.errors(model, 0.5, **rough),
                "channel": lambda: stair.channel(model, points=4, **few),
                "amp": lambda: stair.amp(model, dim=4, alpha=2, max_iterations=1, theory="none", **few),
                "amp on data": lambda: stair.amp(model, x, y, max_iterations=1, **few),
                "predict": lambda: stair.load(kept).predict(x, **few),
                "sgd": lambda: stair.sgd(model, dim=4, alpha=2, epochs=1, test_samples=4, **few),
                "train": lambda: stair.train(asked, words, **learn)[0].classifier.predict(["who ?"]),
                "tokenize": lambda: stair.tokenize("who is", words),
                "diagnose": lambda: stair.diagnose(model, points=1, **few),
                "models": stair.models,
                "Model": lambda: stair.Model(TWO),
                "link": lambda: stair.Model(lambda z: z, noise=1)(1.0),
                "bad input": lambda: self.assertRaises(stair.BadInput, stair.channel, model, -y, x[:, :1], [[1]]),
                # these take longer
                "evolve": lambda: stair.evolve(model, 0.2, **rough),
                "entropy": lambda: stair.entropy(model, 0.2, **rough),
                "hard_phases": lambda: stair.hard_phases(model, **rough),
                "exponents": lambda: stair.exponents(model, degree=1, **few),
            }
            for name, job in jobs.items():
                times = 5 if name in ("evolve", "entropy", "hard_phases", "exponents") else 100
                for _ in range(5):
                    job()
                before = used()
                for _ in range(times):
                    job()
                after = used()
                with self.subTest(name):
                    self.assertLess(after[0] - before[0], 4096)  # some caches grow late
                    self.assertLess(after[1] - before[1], 10 + times / 4)

    def overhead(self, spec, times):
        """Processor time of stair.channel on 10^5 samples over that of the call of C inside, the best of some."""
        from stair import _channel

        model, spent, ratios = stair.Model(spec), [], []
        given = model.channel(points=10**5, one_cov=True, threads=1)
        labels = {"logits" if model.label_is_log else "y": given.labels}

        class Timed:
            def __getattr__(self, name):
                return getattr(lib, name)

            @staticmethod
            def stair_channel_evaluate(*arguments):
                begun = time.thread_time()
                status = lib.stair_channel_evaluate(*arguments)
                spent.append(time.thread_time() - begun)
                return status

        _channel.lib = Timed()
        try:
            for _ in range(times):
                begun = time.thread_time()
                found = model.channel(omega=given.omega, cov=given.cov, threads=1, **labels)
                ratios.append((time.thread_time() - begun) / spent[-1] - 1)
                del found
        finally:
            _channel.lib = lib
        print(f"overhead of stair.channel on 10^5 samples of {spec}: {min(ratios):.2%}", file=sys.stderr)
        return min(ratios)

    def test_overhead_of_the_channel(self):
        self.assertLess(self.overhead("attention:layers=2", 3), 0.02)
        self.assertLess(self.overhead("square", 20), 0.02)  # 0.3 microseconds a sample: nothing is faster

    def test_import_takes_little(self):
        """Below 0.2 s on an idle machine; counted is processor time, beyond what NumPy takes."""
        code = "import resource, {}; u = resource.getrusage(resource.RUSAGE_SELF); print(u.ru_utime + u.ru_stime)"
        best = {}
        for module in ("numpy", "stair"):
            runs = [subprocess.run([sys.executable, "-c", code.format(module)], capture_output=True, text=True,
                                   check=True) for _ in range(3)]
            best[module] = min(float(run.stdout) for run in runs)
        print(f"import stair: {best['stair']:.3f} s, numpy alone {best['numpy']:.3f} s", file=sys.stderr)
        self.assertLess(best["stair"] - best["numpy"], 0.2)

    def test_progress(self):
        code = ("import stair, stair._call as c; c.SHOW_AFTER = 0.0; c.ASK_EVERY = 0.0\n"
                "stair.channel('attention:layers=2', points=2000, progress={})")
        for wanted in (True, False):
            for without in ("", "import sys; sys.modules['tqdm'] = None; sys.modules['tqdm.auto'] = None\n"):
                done = subprocess.run([sys.executable, "-c", without + code.format(wanted)], capture_output=True,
                                      text=True, check=True)
                self.assertEqual("channel" in done.stderr and "%" in done.stderr, wanted, done.stderr[-300:])
                self.assertEqual(done.stdout, "")


def _lost_in_thread(z):
    if threading.current_thread().name == "lost":
        raise KeyError("lost")
    time.sleep(0)
    return z


def _logz(points):
    return stair.channel("attention:layers=2", points=points).logz.tolist()


def _resident():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Arrays(Case):
    def test_what_fits_is_not_copied(self):
        model = stair.Model("square")
        x = np.ones((10, 1, 4))
        self.assertTrue(np.shares_memory(x, _arrays.numbers(x, "x", (None, 1, 4))))
        moments = model.channel(np.ones((5, 1)), np.zeros((5, 1, 1)), np.eye(1))
        self.assertEqual(moments.dg.shape, (5, 1, 1))
        omega, cov = np.zeros((5, 1, 1)), np.eye(1)
        moments = model.channel(np.ones((5, 1)), omega, cov)
        self.assertTrue(np.shares_memory(moments.omega, omega))
        self.assertTrue(np.shares_memory(moments.cov, cov))

    def test_strides_and_types_are_converted(self):
        wide = np.zeros((10, 3))
        wide[:, 1] = np.linspace(0.5, 2, 10)
        omega, cov = np.zeros((10, 1)), np.eye(1, dtype=int)
        strided = stair.channel("square", wide[:, 1:2], omega, cov)
        plain = stair.channel("square", wide[:, 1:2].copy(), omega.tolist(), [[1]])
        swapped = stair.channel("square", wide[:, 1:2].astype(">f8"), np.asfortranarray(omega), cov)
        self.assertEqual(strided.logz.tolist(), plain.logz.tolist())
        self.assertEqual(strided.logz.tolist(), swapped.logz.tolist())

    def test_single_precision_and_mapped_files_stay_what_they_are(self):
        from stair._amp import samples

        model = stair.Model("square")
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "x.npy")
            np.save(file, np.ones((20, 8), np.float32))
            mapped = np.load(file, mmap_mode="r")
            data, kept = samples(model, mapped)
            self.assertIsInstance(kept, np.memmap)
            self.assertTrue(data.single)
            self.assertEqual(int(ffi.cast("intptr_t", data.x)), mapped.__array_interface__["data"][0])
        data, _ = samples(model, np.ones((20, 8)))
        self.assertFalse(data.single)

    def test_estimator(self):
        draw = np.random.default_rng(3)
        x = draw.standard_normal((400, 50))
        y = (x @ draw.standard_normal(50) / np.sqrt(50)) ** 2
        estimator = stair.GAMP("square", max_iterations=60)
        self.assertEqual(estimator.get_params(), {"model": "square", "max_iterations": 60})
        self.assertIs(estimator.fit(x[:300], y[:300]), estimator)
        self.assertGreater(estimator.score(x[300:], y[300:]), 0.99)
        mean, deviation = estimator.predict(x[300:], return_std=True)
        self.assertEqual(mean.shape, (100, 1))
        self.assertTrue((deviation >= 0).all())
        self.assertEqual(estimator.set_params(damping=0.1).get_params()["damping"], 0.1)
        with tempfile.TemporaryDirectory() as folder:
            estimator.save(os.path.join(folder, "w.npz"))
            again = stair.GAMP.load(os.path.join(folder, "w.npz"))
            self.assertEqual(again.predict(x[300:]).tolist(), mean.tolist())


class Links(Case):
    def test_a_link_is_the_model_it_writes_down(self):
        link = stair.Model(lambda z: z[0] ** 2, noise=0.2)
        self.assertEqual(link(np.array([[1.0], [2.0]])).tolist(), [[1.0], [4.0]])
        found = link.threshold(steps=1, precision=0.1)[0]
        known = stair.threshold("square:noise=0.2", steps=1, precision=0.01)[0]
        self.assertAlmostEqual(found.alpha, known.alpha, delta=3 * (found.error + known.error))
        self.assertEqual(found.learns, [1])

    def test_blocks_give_the_numbers_of_single_points(self):
        """To the last bit, in far fewer calls."""
        for function, more in ((lambda z: np.tanh(z[0]) ** 2, {}), (lambda z: [z[0] * z[1], z[0]], {"indices": 2}),
                               (lambda z: z.sum(axis=1), {"indices": 2, "tokens": 2})):
            found, calls, counts = [], [], []
            for vectorized in (None, False):
                counted = lambda z, f=function: (calls.append(1), f(z))[1]
                model = stair.Model(counted, noise=0.3, vectorized=vectorized, **more)
                self.assertEqual(model.vectorized, vectorized is None)
                calls.clear()
                found.append(model.channel(points=2, precision=0.1, max_nodes=4000, cov_low=0.3))
                counts.append(len(calls))
            for name in ("logz", "g", "dg", "nodes"):
                self.assertEqual(getattr(found[0], name).tobytes(), getattr(found[1], name).tobytes())
            self.assertLess(counts[0], counts[1] / 8)

    def test_blocks_only_where_the_function_allows(self):
        for function, indices in ((lambda z: z[0] if z[0] > 0 else 0.0, 1), (lambda z: (z**2).sum(), 2),
                                  (lambda z: np.sort(z)[0], 2), (lambda z: float(z[0]), 1),
                                  (lambda z: z / np.linalg.norm(z), 2)):
            self.assertFalse(stair.Model(function, noise=0.1, indices=indices).vectorized)
            with self.assertRaisesRegex(stair.BadInput, "other numbers for blocks"):
                stair.Model(function, noise=0.1, indices=indices, vectorized=True)
        self.assertTrue(stair.Model(lambda z: np.where(z[0] > 0, z[0], 0.0), noise=0.1, vectorized=True).vectorized)
        with self.assertRaisesRegex(stair.BadInput, "vectorized must be"):
            stair.Model(lambda z: z, noise=0.1, vectorized="yes")
        self.assertFalse(stair.Model("square").vectorized)

    def test_outputs_are_plain(self):
        """Where labels are carried otherwise, too."""
        z = np.array([[1.0, 2.0], [0.5, -1.0]])
        y = stair.Model("attention:layers=2,output=sequence")(z)
        self.assertAlmostEqual(y[0] + y[1], 2.0)  # rows of (skip + S) have this sum
        y = stair.Model("attention:layers=2")(z)
        self.assertAlmostEqual(y[0] + y[1], 1.0)

    def test_shapes(self):
        two = stair.Model(lambda z: [z[0] * z[1], z[0]], noise=0.1, indices=2)
        self.assertEqual((two.indices, two.outputs), (2, 2))
        self.assertEqual(two([3.0, 2.0]).tolist(), [6.0, 3.0])
        tokens = stair.Model(lambda z: z.sum(axis=1), noise=0.1, indices=2, tokens=3)
        self.assertEqual(tokens(np.arange(6.0).reshape(2, 3)).tolist(), [3.0, 12.0])

    def test_an_exception_of_the_link_comes_back(self):
        calls = []

        def link(z):
            calls.append(z)
            if len(calls) > 20:
                raise KeyError("lost")
            return z

        model = stair.Model(link, noise=0.1)
        with self.assertRaisesRegex(KeyError, "lost"):
            model.threshold(precision=0.1)
        calls.clear()
        self.assertEqual(model(2.0).tolist(), [2.0])

    def test_links_in_several_threads_keep_their_exceptions(self):
        model, caught = stair.Model(_lost_in_thread, noise=0.1), {}

        def job(name):
            try:
                caught[name] = model.labels(np.ones((200, 1, 1))).sum()
            except KeyError as error:
                caught[name] = str(error)

        threads = [threading.Thread(target=job, args=(name,), name=name) for name in ("good", "lost", "fine")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(caught, {"good": 200.0, "fine": 200.0, "lost": "'lost'"})

    def test_pickle(self):
        model = stair.Model("attention:layers=2,skip=0.5")
        self.assertEqual(pickle.loads(pickle.dumps(model)).spec, model.spec)
        with self.assertRaises(TypeError):
            pickle.dumps(stair.Model(lambda z: z, noise=1))


if __name__ == "__main__":
    unittest.main()
