# Written by python/tools/make_stubs.py from the tables of options of the library: do not edit.
import enum
import os
from collections.abc import Sequence
from typing import Any, Callable, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike

__version__: str
Row = TypeVar("Row")

class Amp(Result[Run]):
    def predict(
        self,
        X: ArrayLike,
        *,
        full: bool = False,
        threads: int = 0,
        device: str | None = None,
        progress: bool | None = None,
    ) -> Any: ...
    def save(self, file: str | os.PathLike[str], *, overwrite: bool = False) -> None: ...
    @staticmethod
    def load(file: str | os.PathLike[str]) -> Posterior: ...

class BadInput(Error, ValueError):
    ...

class BadKeyword(BadInput, TypeError):
    ...

class Classifier:
    def __init__(self, pointer, vocab: str | os.PathLike[str], owner=None) -> None: ...
    @classmethod
    def load(cls, file: str | os.PathLike[str], vocab: str | os.PathLike[str]) -> Classifier: ...
    def save(self, file: str | os.PathLike[str], *, overwrite: bool = False) -> None: ...
    def predict_proba(self, questions: str | os.PathLike[str] | Sequence[str]) -> np.ndarray: ...
    def predict(self, questions: str | os.PathLike[str] | Sequence[str]) -> Any: ...

class Costly(Error):
    ...

class Descent(Result[SgdRun]):
    ...

class Diagnosis(Result[Identity]):
    @property
    def ok(self) -> bool: ...

class Error(Exception):
    message: str
    status: Status
    def __init__(self, message: str, status: Status | None = None) -> None: ...

class Errors(Record):
    bayes: float
    plugin: float
    gibbs: float
    weights: float
    bayes_error: float
    plugin_error: float
    gibbs_error: float
    weights_error: float

class Evolution(Result[Point]):
    ...

class GAMP:
    def __init__(self, model: str | Model, **options: Any) -> None: ...
    def get_params(self, deep: bool = True) -> dict[str, Any]: ...
    def set_params(self, **params: Any) -> GAMP: ...
    def fit(self, X: ArrayLike, y: ArrayLike, **how: Any) -> GAMP: ...
    def predict(self, X: ArrayLike, return_std: bool = False) -> Any: ...
    def score(self, X: ArrayLike, y: ArrayLike) -> float: ...
    def save(self, file: str | os.PathLike[str], *, overwrite: bool = False) -> None: ...
    @staticmethod
    def load(file: str | os.PathLike[str]) -> Posterior: ...

class History(Record):
    Q: np.ndarray
    M: np.ndarray
    V: np.ndarray
    cosine: np.ndarray
    bayes: np.ndarray
    plugin: np.ndarray
    bayes_error: np.ndarray
    plugin_error: np.ndarray
    change: np.ndarray
    damping: np.ndarray
    mismatch: np.ndarray
    channel_error: np.ndarray
    def __len__(self) -> int: ...
    def rows(self) -> list[dict[str, Any]]: ...
    def to_dict(self) -> dict[str, Any]: ...

class Identity(Record):
    identity: str
    violation: float
    tolerance: float
    points: int
    resolved: int
    verdict: str
    passed: bool

class Model:
    def __init__(
        self,
        spec: str | Callable[[np.ndarray], ArrayLike],
        *,
        noise: float | None = None,
        prenoise: float = 0.0,
        indices: int | None = None,
        tokens: int = 1,
        name: str = 'python',
        outputs: int | None = None,
        vectorized: bool | None = None,
    ) -> None: ...
    def enter(self, call) -> Any: ...
    @property
    def spec(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def layers(self) -> int: ...
    @property
    def tokens(self) -> int: ...
    @property
    def indices(self) -> int: ...
    @property
    def outputs(self) -> int: ...
    @property
    def ranks(self) -> tuple[int, ...]: ...
    @property
    def noise(self) -> float: ...
    @property
    def prenoise(self) -> float: ...
    @property
    def vectorized(self) -> bool: ...
    @property
    def label_is_log(self) -> bool: ...
    def labels(self, z: ArrayLike) -> np.ndarray: ...
    def __call__(self, z: ArrayLike) -> Any: ...
    def gradient(self, z: ArrayLike, cotangent: ArrayLike) -> np.ndarray: ...
    def carried(self, y: ArrayLike) -> np.ndarray: ...
    def threshold(
        self,
        *,
        steps: int = 0,
        precision: float = 0.001,
        samples: int = 0,
        replicates: int = 16,
        widening: float = 1.2,
        inner: float = 0.0,
        method: str = 'auto',
        tolerance: float = 0.0,
        perfect: float = 1e-08,
        max_iterations: int = 200,
        patience: float = 2.0,
        seed: int = 1,
        threads: int = 0,
        device: str | None = None,
        progress: bool | None = None,
    ) -> Staircase: ...
    def evolve(
        self,
        alpha: float | Sequence[float],
        *,
        start: str = 'both',
        precision: float = 0.001,
        samples: int = 0,
        replicates: int = 16,
        widening: float = 1.2,
        inner: float = 0.0,
        method: str = 'auto',
        side: float = 0.0,
        tolerance: float = 0.0,
        perfect: float = 1e-08,
        max_iterations: int = 200,
        patience: float = 2.0,
        seed: int = 1,
        threads: int = 0,
        device: str | None = None,
        progress: bool | None = None,
    ) -> Evolution: ...
    def entropy(
        self,
        alpha: float | Sequence[float],
        *,
        precision: float = 0.001,
        samples: int = 0,
        replicates: int = 16,
        widening: float = 1.2,
        inner: float = 0.0,
        method: str = 'auto',
        side: float = 0.0,
        tolerance: float = 0.0,
        perfect: float = 1e-08,
        max_iterations: int = 200,
        patience: float = 2.0,
        seed: int = 1,
        threads: int = 0,
        device: str | None = None,
        progress: bool | None = None,
    ) -> Phases: ...
    def errors(
        self,
        Q: ArrayLike,
        Q_error: ArrayLike | None = None,
        *,
        precision: float = 0.001,
        samples: int = 0,
        replicates: int = 16,
        widening: float = 1.2,
        inner: float = 0.0,
        method: str = 'auto',
        side: float = 0.0,
        tolerance: float = 0.0,
        perfect: float = 1e-08,
        max_iterations: int = 200,
        patience: float = 2.0,
        seed: int = 1,
        threads: int = 0,
        device: str | None = None,
        progress: bool | None = None,
    ) -> Errors: ...
    def channel(
        self,
        y: ArrayLike | None = None,
        omega: ArrayLike | None = None,
        cov: ArrayLike | None = None,
        *,
        logits: ArrayLike | None = None,
        points: int = 16,
        precision: float = 1e-06,
        method: str = 'auto',
        max_nodes: int = 1048576,
        cutoff: float = 4.5,
        seed: int = 1,
        cov_low: float = 0.05,
        cov_high: float = 1.0,
        full: bool = True,
        one_cov: bool = False,
        threads: int = 0,
        device: str | None = None,
        progress: bool | None = None,
    ) -> Moments: ...
    def amp(
        self,
        X: ArrayLike | None = None,
        y: ArrayLike | None = None,
        *,
        alpha: float | Sequence[float] | None = None,
        logits: bool = False,
        theory: str = 'fixed',
        samples: int = 8192,
        dim: int = 1000,
        seeds: int = 1,
        start: float = 0.0,
        start_overlap: float = 0.0,
        side: float = 0.0,
        damping: float = 0.0,
        adaptive: bool = True,
        max_iterations: int = 50,
        tolerance: float = 0.0001,
        perfect: float = 1e-10,
        precision: float = 0.05,
        variant: str = 'gamp',
        test_samples: int = 2048,
        all_errors: bool = True,
        regenerate: bool = False,
        wide: bool = False,
        seed: int = 1,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: float = 30.0,
        resume: bool = False,
        threads: int = 0,
        device: str | None = None,
        progress: bool | None = None,
    ) -> Amp: ...
    def amp_need(
        self,
        *,
        alpha: float | Sequence[float] | None = None,
        dim: int = 1000,
        seeds: int = 1,
        start: float = 0.0,
        start_overlap: float = 0.0,
        side: float = 0.0,
        damping: float = 0.0,
        adaptive: bool = True,
        max_iterations: int = 50,
        tolerance: float = 0.0001,
        perfect: float = 1e-10,
        precision: float = 0.05,
        variant: str = 'gamp',
        test_samples: int = 2048,
        all_errors: bool = True,
        regenerate: bool = False,
        wide: bool = False,
        seed: int = 1,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: float = 30.0,
        resume: bool = False,
        threads: int = 0,
        device: str | None = None,
        progress: bool | None = None,
    ) -> Needs: ...
    def sgd(
        self,
        *,
        alpha: float | Sequence[float] | None = None,
        dim: int = 500,
        epochs: int = 1700,
        batch: int = 200,
        repeat: int = 3,
        rate: float = 15.0,
        weight_decay: float = -1.0,
        decay: str = 'torch',
        start: float = 0.9,
        shuffle: bool = False,
        wide: bool = False,
        seeds: int = 1,
        test_samples: int = 2000,
        records: int = 8,
        settle: float = 0.5,
        seed: int = 1,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: float = 30.0,
        resume: bool = False,
        threads: int = 0,
        device: str | None = None,
        progress: bool | None = None,
    ) -> Descent: ...
    def diagnose(
        self,
        *,
        points: int = 200,
        precision: float = 1e-08,
        cov_low: float = 0.01,
        seed: int = 1,
        threads: int = 0,
        device: str | None = None,
        progress: bool | None = None,
    ) -> Diagnosis: ...

class ModelInfo(Record):
    name: str
    formula: str
    summary: str
    example: str
    keys: dict[str, Any]
    def to_dict(self) -> dict[str, Any]: ...
    def flat(self) -> Any: ...

class Models(Result[ModelInfo]):
    ...

class Moments(Record):
    logz: np.ndarray
    g: np.ndarray
    dg: np.ndarray
    error: np.ndarray
    nodes: np.ndarray
    code: np.ndarray
    labels: np.ndarray
    omega: np.ndarray
    cov: np.ndarray
    converged: bool
    message: str
    @classmethod
    def shown(cls) -> list[str]: ...
    def __len__(self) -> int: ...
    @property
    def method(self) -> np.ndarray: ...
    def rows(self) -> list[dict[str, Any]]: ...
    def to_dataframe(self) -> Any: ...

class Need(Record):
    alpha: float
    samples: int
    x_bytes: float
    bytes: float
    free: float
    card_bytes: float
    card_free: float
    draw_seconds: float
    iteration_seconds: float
    seconds: float

class Needs(Result[Need]):
    ...

class NoMemory(Error, MemoryError):
    ...

class NotConverged(Error, ArithmeticError):
    ...

class NotConvergedWarning(UserWarning):
    ...

class Phase(Record):
    alpha: float
    bayes_Q: np.ndarray
    bayes_Q_error: np.ndarray
    amp_Q: np.ndarray
    amp_Q_error: np.ndarray
    bayes_entropy: float
    bayes_entropy_error: float
    entropy: np.ndarray
    entropy_error: np.ndarray
    hard: bool
    information_threshold: np.ndarray
    algorithmic_threshold: np.ndarray

class Phases(Result[Phase]):
    ...

class Point(Record):
    alpha: float
    start: str
    Q: np.ndarray
    Q_error: np.ndarray
    iterations: int
    residual: float
    stop: str
    errors: Errors

class Posterior:
    def __init__(self, model: str | Model, weights: np.ndarray, cov: np.ndarray, seed: int) -> None: ...
    def predict(
        self,
        X: ArrayLike,
        *,
        full: bool = False,
        threads: int = 0,
        device: str | None = None,
        progress: bool | None = None,
    ) -> Any: ...
    def save(self, file: str | os.PathLike[str], *, overwrite: bool = False) -> None: ...

class Record:
    @classmethod
    def fields(cls) -> list[str]: ...
    @classmethod
    def shown(cls) -> list[str]: ...
    def to_dict(self) -> dict[str, Any]: ...
    def rows(self) -> list[dict[str, Any]]: ...
    def flat(self) -> Any: ...

class Result(Sequence[Row], Generic[Row]):
    command: str
    model: str | None
    options: dict[str, Any]
    converged: bool
    message: str
    def __getitem__(self, index: Any) -> Any: ...
    def __getattr__(self, name: str) -> Any: ...
    def __init__(self, rows, command, model: str | Model, options, message: str = '') -> None: ...
    def __len__(self) -> int: ...
    def to_dict(self) -> dict[str, Any]: ...
    def to_dataframe(self) -> Any: ...
    def plot(self, ax: Any = None, **style: Any) -> Any: ...

class Run(Record):
    alpha: float
    seed: int
    iterations: int
    stop: str
    Q: np.ndarray
    M: np.ndarray
    V: np.ndarray
    cosine: np.ndarray
    errors: RunErrors
    mismatch: float
    theory: Theory
    history: History
    weights: np.ndarray
    cov: np.ndarray
    def flat(self) -> Any: ...

class RunErrors(Record):
    bayes: float
    plugin: float
    bayes_error: float
    plugin_error: float

class SgdRun(Record):
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
    weights: np.ndarray
    def __len__(self) -> int: ...
    def rows(self) -> list[dict[str, Any]]: ...
    def flat(self) -> Any: ...

class Staircase(Result[Step]):
    ...

class Status(enum.IntEnum):
    OK = 0
    FAILED = 1
    BAD_INPUT = 2
    NOT_CONVERGED = 3
    UNSUPPORTED = 4
    NO_MEMORY = 5
    COSTLY = 6

class Step(Record):
    kind: str
    alpha: float
    error: float
    learns: list[Any]
    jump: bool
    eigenvalue: float
    eigenvalue_error: float
    overlap: np.ndarray
    overlap_error: np.ndarray
    direction: np.ndarray

class Theory(Record):
    Q: np.ndarray
    Q_error: np.ndarray
    bayes: float
    plugin: float

class TrainRun(Record):
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
    classifier: Classifier
    def rows(self) -> list[dict[str, Any]]: ...
    def flat(self) -> Any: ...

class Training(Result[TrainRun]):
    ...

class Unsupported(Error, NotImplementedError):
    ...

def amp(
    model: str | Model,
    X: ArrayLike | None = None,
    y: ArrayLike | None = None,
    *,
    alpha: float | Sequence[float] | None = None,
    logits: bool = False,
    theory: str = 'fixed',
    samples: int = 8192,
    dim: int = 1000,
    seeds: int = 1,
    start: float = 0.0,
    start_overlap: float = 0.0,
    side: float = 0.0,
    damping: float = 0.0,
    adaptive: bool = True,
    max_iterations: int = 50,
    tolerance: float = 0.0001,
    perfect: float = 1e-10,
    precision: float = 0.05,
    variant: str = 'gamp',
    test_samples: int = 2048,
    all_errors: bool = True,
    regenerate: bool = False,
    wide: bool = False,
    seed: int = 1,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: float = 30.0,
    resume: bool = False,
    threads: int = 0,
    device: str | None = None,
    progress: bool | None = None,
) -> Amp: ...

def amp_need(
    model: str | Model,
    *,
    alpha: float | Sequence[float] | None = None,
    dim: int = 1000,
    seeds: int = 1,
    start: float = 0.0,
    start_overlap: float = 0.0,
    side: float = 0.0,
    damping: float = 0.0,
    adaptive: bool = True,
    max_iterations: int = 50,
    tolerance: float = 0.0001,
    perfect: float = 1e-10,
    precision: float = 0.05,
    variant: str = 'gamp',
    test_samples: int = 2048,
    all_errors: bool = True,
    regenerate: bool = False,
    wide: bool = False,
    seed: int = 1,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: float = 30.0,
    resume: bool = False,
    threads: int = 0,
    device: str | None = None,
    progress: bool | None = None,
) -> Needs: ...

def channel(
    model: str | Model,
    y: ArrayLike | None = None,
    omega: ArrayLike | None = None,
    cov: ArrayLike | None = None,
    *,
    logits: ArrayLike | None = None,
    points: int = 16,
    precision: float = 1e-06,
    method: str = 'auto',
    max_nodes: int = 1048576,
    cutoff: float = 4.5,
    seed: int = 1,
    cov_low: float = 0.05,
    cov_high: float = 1.0,
    full: bool = True,
    one_cov: bool = False,
    threads: int = 0,
    device: str | None = None,
    progress: bool | None = None,
) -> Moments: ...

def diagnose(
    model: str | Model,
    *,
    points: int = 200,
    precision: float = 1e-08,
    cov_low: float = 0.01,
    seed: int = 1,
    threads: int = 0,
    device: str | None = None,
    progress: bool | None = None,
) -> Diagnosis: ...

def entropy(
    model: str | Model,
    alpha: float | Sequence[float],
    *,
    precision: float = 0.001,
    samples: int = 0,
    replicates: int = 16,
    widening: float = 1.2,
    inner: float = 0.0,
    method: str = 'auto',
    side: float = 0.0,
    tolerance: float = 0.0,
    perfect: float = 1e-08,
    max_iterations: int = 200,
    patience: float = 2.0,
    seed: int = 1,
    threads: int = 0,
    device: str | None = None,
    progress: bool | None = None,
) -> Phases: ...

def errors(
    model: str | Model,
    Q: ArrayLike,
    Q_error: ArrayLike | None = None,
    *,
    precision: float = 0.001,
    samples: int = 0,
    replicates: int = 16,
    widening: float = 1.2,
    inner: float = 0.0,
    method: str = 'auto',
    side: float = 0.0,
    tolerance: float = 0.0,
    perfect: float = 1e-08,
    max_iterations: int = 200,
    patience: float = 2.0,
    seed: int = 1,
    threads: int = 0,
    device: str | None = None,
    progress: bool | None = None,
) -> Errors: ...

def evolve(
    model: str | Model,
    alpha: float | Sequence[float],
    *,
    start: str = 'both',
    precision: float = 0.001,
    samples: int = 0,
    replicates: int = 16,
    widening: float = 1.2,
    inner: float = 0.0,
    method: str = 'auto',
    side: float = 0.0,
    tolerance: float = 0.0,
    perfect: float = 1e-08,
    max_iterations: int = 200,
    patience: float = 2.0,
    seed: int = 1,
    threads: int = 0,
    device: str | None = None,
    progress: bool | None = None,
) -> Evolution: ...

def load(file: str | os.PathLike[str]) -> Posterior: ...

def models() -> Models: ...

def sgd(
    model: str | Model,
    *,
    alpha: float | Sequence[float] | None = None,
    dim: int = 500,
    epochs: int = 1700,
    batch: int = 200,
    repeat: int = 3,
    rate: float = 15.0,
    weight_decay: float = -1.0,
    decay: str = 'torch',
    start: float = 0.9,
    shuffle: bool = False,
    wide: bool = False,
    seeds: int = 1,
    test_samples: int = 2000,
    records: int = 8,
    settle: float = 0.5,
    seed: int = 1,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: float = 30.0,
    resume: bool = False,
    threads: int = 0,
    device: str | None = None,
    progress: bool | None = None,
) -> Descent: ...

def threshold(
    model: str | Model,
    *,
    steps: int = 0,
    precision: float = 0.001,
    samples: int = 0,
    replicates: int = 16,
    widening: float = 1.2,
    inner: float = 0.0,
    method: str = 'auto',
    tolerance: float = 0.0,
    perfect: float = 1e-08,
    max_iterations: int = 200,
    patience: float = 2.0,
    seed: int = 1,
    threads: int = 0,
    device: str | None = None,
    progress: bool | None = None,
) -> Staircase: ...

def tokenize(
    questions: str | Sequence[str] | os.PathLike[str],
    vocab: str | os.PathLike[str],
    *,
    longest: int = 32,
    threads: int = 0,
    device: str | None = None,
    progress: bool | None = None,
) -> Any: ...

def train(
    data: str | os.PathLike[str] | Sequence[str],
    vocab: str | os.PathLike[str],
    *,
    test: str | os.PathLike[str] | Sequence[str] | None = None,
    dim: int = 128,
    rank: int = 64,
    layers: int = 2,
    scale: str = 'dim',
    bias: bool = False,
    padding: str = 'full',
    start: float = 0.0001,
    rate: float = 5e-05,
    weight_decay: float = 0.01,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-08,
    batch: int = 16,
    epochs: int = 40,
    validation: float = 0.2,
    seeds: int = 1,
    records: int = 10,
    settle: float = 0.9,
    seed: int = 1,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: float = 60.0,
    resume: bool = False,
    classes: str | None = 'ABBR,DESC,ENTY,HUM,LOC,NUM',
    longest: int = 32,
    threads: int = 0,
    device: str | None = None,
    progress: bool | None = None,
) -> Training: ...
