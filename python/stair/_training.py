"""Gradient training: SGD on the teacher of a model; tokens of questions; an attention classifier of them."""
import os

import numpy as np

from . import _arrays
from ._asymptotics import MODEL
from ._call import Call, text
from ._errors import BadInput
from ._model import model_of
from ._options import command, suggesting
from ._results import Record, Result, flat, hidden, record
from ._stair import ffi, lib
from ._values import file_name, flag, shown

VOCAB = "WordPiece vocabulary: a file, one token a line"


def _columns(records, names, **types):
    return {name: np.array([getattr(r, name) for r in records], types.get(name, np.float64)) for name in names}


def _per_layer(records, name, layers):
    return np.array([[getattr(r, name)[k] for k in range(layers)] for r in records]).reshape(len(records), layers)


# ---- sgd -----------------------------------------------------------------------------------------------


@record
class SgdRun(Record):
    """One run of gradient descent, over its records: batches, steps, epoch, train and test error (n), cosine and norm
    (n, layers); settled (layers) is the epoch from which a layer's cosine stays above `settle`, infinite if never.
    weights (P, D) are the last ones."""

    alpha: float
    seed: int
    batches: np.ndarray
    steps: np.ndarray
    epoch: np.ndarray
    train: np.ndarray
    test: np.ndarray
    cosine: np.ndarray
    norm: np.ndarray
    settled: np.ndarray
    diverged: bool
    weights: np.ndarray = hidden()

    def __len__(self):
        return len(self.epoch)

    def rows(self):
        return [
            {"alpha": self.alpha, "seed": self.seed, "batches": int(self.batches[i]), "steps": int(self.steps[i]),
             "epoch": float(self.epoch[i]),
             "errors": {"train": float(self.train[i]), "test": float(self.test[i])},
             "cosine": self.cosine[i].tolist(), "norm": self.norm[i].tolist(), "settled": self.settled.tolist()}
            for i in range(len(self))
        ]

    def flat(self):
        names = ("batches", "steps", "epoch", "train", "test", "cosine", "norm")
        titles = {"train": "errors.train", "test": "errors.test"}
        return [
            {"alpha": self.alpha, "seed": self.seed,
             **dict(pair for n in names for pair in flat(titles.get(n, n), getattr(self, n)[i])),
             **dict(flat("settled", self.settled))}
            for i in range(len(self))
        ]

    def __repr__(self):
        last = f", cosine={np.round(self.cosine[-1], 4).tolist()}, test={self.test[-1]:.5g}" if len(self) else ""
        return f"SgdRun(alpha={self.alpha:g}, seed={self.seed}, {len(self)} records{last})"


class Descent(Result):
    row_type = SgdRun


def _sgd_run(c, alpha, layers, p, d):
    records = [c.history[i] for i in range(c.count)]
    columns = _columns(records, ("batches", "steps", "epoch", "train", "test"), batches=np.int64, steps=np.int64)
    return SgdRun(alpha=float(alpha), seed=c.seed, **columns, cosine=_per_layer(records, "cosine", layers),
                  norm=_per_layer(records, "norm", layers), settled=_arrays.copied(c.settled, layers),
                  diverged=bool(c.diverged), weights=_arrays.copied(c.weights, p, d))


@command("sgd", own={"model": MODEL, "alpha": "samples per dimension, a number or a list; None: 15"})
def sgd(call, options, model: "str | Model", *, alpha: "float | Sequence[float] | None" = None) -> Descent:
    """Gradient descent on the teacher of a model: errors and cosines over training time, a row for each run.

    The defaults are those of the paper's figure on SGD."""
    model, how, rows = model_of(model), options["sgd"], []
    list_ = _arrays.alphas(how.alpha if alpha is None else alpha)
    if how.checkpoint != ffi.NULL and len(list_) > 1:
        raise BadInput("checkpoint goes with one alpha")
    for i, a in enumerate(list_):
        how.alpha = a
        call(lib.stair_sgd_check, how)
        box = ffi.new("stair_sgd_result **")
        call.stage(i, 1, len(list_))
        call(lib.stair_sgd, model._enter(call), how, box)
        try:
            r = box[0]
            rows += [_sgd_run(r.run[k], a, r.layers, r.indices, r.dim) for k in range(r.runs)]
        finally:
            lib.stair_sgd_result_destroy(box)
    return Descent(rows, "sgd", model.spec, options.values)


# ---- questions -----------------------------------------------------------------------------------------


class _Owned:
    """A pointer of the library, freed at the end of a with block."""

    def __init__(self, kind):
        self.box = ffi.new(f"{kind} **")
        self.destroy = getattr(lib, f"{kind}_destroy")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.destroy(self.box)

    @property
    def pointer(self):
        return self.box[0]


def _vocab(call, path):
    owned = _Owned("stair_vocab")
    call(lib.stair_vocab_load, os.fsencode(file_name(path, "vocab")), owned.box)
    return owned


def _lines(questions, name):
    """A list of questions as the text of a file; None where it is a file."""
    if isinstance(questions, (str, os.PathLike)):
        return None
    try:
        lines = list(questions)
    except TypeError:
        raise BadInput(f"{name} must be the name of a file or a list of questions, not {shown(questions)}") from None
    for i, line in enumerate(lines):
        if b"\n" in _encoded(line, f"{name}[{i}]"):
            _no_text(line, f"{name}[{i}]")
    if not lines:
        raise BadInput(f"{name} is empty")
    return "\n".join(lines).encode() + b"\n"


def _encoded(line, name):
    try:
        return line.encode() if isinstance(line, str) else _no_text(line, name)
    except UnicodeEncodeError:
        return _no_text(line, name)


def _no_text(line, name):
    raise BadInput(f"{name} must be one line of text, not {shown(line)}")


def _questions(call, vocab, questions, how, name):
    owned, data = _Owned("stair_questions"), _lines(questions, name)
    if data is None:
        call(lib.stair_questions_load, vocab.pointer, os.fsencode(file_name(questions, name)), how, owned.box)
    else:
        call(lib.stair_questions_parse, vocab.pointer, name.encode(), data, len(data), how, owned.box)
    return owned


@command("questions", without=["classes"],
         own={"questions": "one text, a list of texts, or the name of a file as pathlib.Path: a question a line",
              "vocab": VOCAB})
def tokenize(call, options, questions: "str | Sequence[str] | os.PathLike[str]", vocab: "str | os.PathLike[str]"):
    """WordPiece ids as BERT uncased cuts text, [CLS] and [SEP] included: an array of int32 for each question.

    One text gives one array.  Of the lines of a file labels such as NUM:date are dropped; texts are taken as they
    are."""
    how = options["questions"]
    call(lib.stair_questions_check, how)
    with _vocab(call, vocab) as words:
        if isinstance(questions, os.PathLike):
            how.classes = ffi.NULL
            with _questions(call, words, questions, how, "questions") as owned:
                q = owned.pointer
                ids = np.frombuffer(ffi.buffer(q.ids, 4 * q.count * q.longest), np.int32).reshape(q.count, q.longest)
                return [ids[i, : q.length[i]].copy() for i in range(q.count)]
        one = isinstance(questions, str)
        try:
            lines = [questions] if one else list(questions)
        except TypeError:
            raise BadInput(f"questions must be text, a list of texts or a pathlib.Path, not {shown(questions)}") from None
        found, ids, count = [], np.empty(how.longest, np.int32), ffi.new("int *")
        for i, line in enumerate(lines):
            data = _encoded(line, f"questions[{i}]")
            call(lib.stair_tokenize, words.pointer, data, len(data), how.longest,
                 _arrays.pointer(ids, "int32_t"), count)
            found.append(ids[: count[0]].copy())
        return found[0] if one else found


# ---- classifier ----------------------------------------------------------------------------------------


class Classifier:
    """An attention classifier of questions: predict(questions), save(file); Classifier.load(file, vocab)."""

    def __init__(self, pointer, vocab, owner=None):
        self._pointer, self._owner = pointer, owner
        self.vocab = vocab
        info = lib.stair_classifier_describe(pointer)
        self.classes = text(info.names).split(",")
        self.dim, self.rank, self.layers, self.longest = info.dim, info.rank, info.layers, info.longest

    @classmethod
    @suggesting()
    def load(cls, file, vocab):
        """A classifier that save() or `stair train --save` kept."""
        file = file_name(file, "file")
        with Call("load") as call:
            box = ffi.new("stair_classifier **")
            call(lib.stair_classifier_load, os.fsencode(file), box)
        free = lambda c: lib.stair_classifier_destroy(ffi.new("stair_classifier **", c))  # noqa: E731
        return cls(ffi.gc(box[0], free), vocab)

    @suggesting()
    def save(self, file, *, overwrite=False):
        """Keeps the weights as NPZ; `stair train --weights` and Classifier.load() read them."""
        file, overwrite = os.fsencode(file_name(file, "file")), flag(overwrite, "overwrite")
        with Call("save") as call:
            call(lib.stair_classifier_save, self._pointer, file, overwrite)

    @suggesting()
    def predict_proba(self, questions):
        """Probabilities (n, classes)."""
        return self._predict(questions)[1]

    @suggesting()
    def predict(self, questions):
        """The name of the class of each question: a list of questions, or the name of a file."""
        return [self.classes[k] for k in self._predict(questions)[0]]

    def _predict(self, questions):
        with Call("predict") as call, _vocab(call, self.vocab) as words:
            how = ffi.new("stair_questions_options *", {"longest": self.longest})
            with _questions(call, words, questions, how, "questions") as asked:
                n = asked.pointer.count
                labels, p = np.empty(n, np.intc), np.empty((n, len(self.classes)))
                call(lib.stair_classifier_predict, self._pointer, asked.pointer, _arrays.pointer(labels, "int"),
                     _arrays.pointer(p))
        return labels, p

    def __repr__(self):
        return f"Classifier({self.layers} layers, D = {self.dim}, rank {self.rank}, classes {','.join(self.classes)})"


@record
class TrainRun(Record):
    """One run: over snapshots step, epoch (n), similarity, similarity_rank and norm (n, layers); over epochs
    train_loss, train_accuracy, validation_loss, validation_accuracy; settled (layers); the classifier."""

    seed: int
    step: np.ndarray
    epoch: np.ndarray
    train_loss: np.ndarray
    train_accuracy: np.ndarray
    validation_loss: np.ndarray
    validation_accuracy: np.ndarray
    similarity: np.ndarray
    similarity_rank: np.ndarray
    norm: np.ndarray
    settled: np.ndarray
    test_accuracy: float
    classifier: Classifier = hidden()

    def rows(self):
        of_epoch = ("train_loss", "train_accuracy", "validation_loss", "validation_accuracy")
        rows = []
        for i, epoch in enumerate(self.epoch.tolist()):
            ends = epoch == int(epoch) and 1 <= epoch <= len(self.train_loss)
            losses = {k: float(getattr(self, k)[int(epoch) - 1]) if ends else float("nan") for k in of_epoch}
            rows.append({"seed": self.seed, "step": int(self.step[i]), "epoch": epoch, **losses,
                         **{k: getattr(self, k)[i].tolist() for k in ("similarity", "similarity_rank", "norm")},
                         "settled": self.settled.tolist(), "test_accuracy": self.test_accuracy})
        return rows

    def flat(self):
        arrays = ("similarity", "similarity_rank", "norm", "settled")
        return [
            dict(pair for k, v in row.items() for pair in flat(k, np.array(v) if k in arrays else v))
            for row in self.rows()
        ]

    def __repr__(self):
        accuracy = f", train accuracy {self.train_accuracy[-1]:.4f}" if len(self.train_accuracy) else ""
        return f"TrainRun(seed={self.seed}, {len(self.train_loss)} epochs{accuracy})"


class Training(Result):
    row_type = TrainRun


def _train_run(c, layers, vocab, owner):
    epochs, shots = [c.epoch[i] for i in range(c.epochs)], [c.snapshot[i] for i in range(c.snapshots)]
    losses = _columns(epochs, ("train_loss", "train_accuracy", "validation_loss", "validation_accuracy"))
    return TrainRun(seed=c.seed, **_columns(shots, ("step", "epoch"), step=np.int64), **losses,
                    **{k: _per_layer(shots, k, layers) for k in ("similarity", "similarity_rank", "norm")},
                    settled=_arrays.copied(c.settled, layers), test_accuracy=c.test_accuracy,
                    classifier=Classifier(c.classifier, vocab, owner))


@command("train", "questions",
         own={"data": "labelled questions, NUM:date When ... ?: the name of a file, or a list", "vocab": VOCAB,
              "test": "labelled questions for a last test"})
def train(call, options, data: "str | os.PathLike[str] | Sequence[str]", vocab: "str | os.PathLike[str]", *,
          test: "str | os.PathLike[str] | Sequence[str] | None" = None) -> Training:
    """Attention classifier of questions by AdamW: accuracy, and when each layer settles; a row for each run."""
    how, about = options["train"], options["questions"]
    call(lib.stair_train_check, how)
    call(lib.stair_questions_check, about)
    nothing = _Owned("stair_questions")
    with _vocab(call, vocab) as words, _questions(call, words, data, about, "data") as asked, (
        nothing if test is None else _questions(call, words, test, about, "test")
    ) as tested:
        box = ffi.new("stair_train_result **")
        call(lib.stair_train, words.pointer, asked.pointer, about.classes,
             tested.pointer if test is not None else ffi.NULL, how, box)
    result = ffi.gc(box[0], lambda r: lib.stair_train_result_destroy(ffi.new("stair_train_result **", r)))
    rows = [_train_run(result.run[k], result.layers, vocab, result) for k in range(result.runs)]
    return Training(rows, "train", None, options.values)
