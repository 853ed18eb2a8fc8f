# Written by python/tools/make_stubs.py from the tables of options of the library: do not edit.
import enum
import os
from collections.abc import Sequence
from typing import Any, Callable, Generic, TypeVar, overload

from numpy.typing import ArrayLike, NDArray

__version__: str
_Row = TypeVar("_Row", covariant=True)
_Self = TypeVar("_Self")

class Amp(Result[Run]):
    alpha: NDArray[Any]
    seed: NDArray[Any]
    iterations: NDArray[Any]
    stop: list[str]
    Q: Any  # of NDArray[Any]
    M: Any  # of NDArray[Any]
    V: Any  # of NDArray[Any]
    cosine: Any  # of NDArray[Any]
    errors: list[RunErrors]
    mismatch: NDArray[Any]
    theory: list[Theory]
    history: list[History]
    weights: Any  # of NDArray[Any]
    cov: Any  # of NDArray[Any]
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
    def __init__(self, pointer: Any, vocab: str | os.PathLike[str], owner: Any = None) -> None: ...
    @classmethod
    def load(cls, file: str | os.PathLike[str], vocab: str | os.PathLike[str]) -> Classifier: ...
    def save(self, file: str | os.PathLike[str], *, overwrite: bool = False) -> None: ...
    def predict_proba(self, questions: str | os.PathLike[str] | Sequence[str]) -> NDArray[Any]: ...
    def predict(self, questions: str | os.PathLike[str] | Sequence[str]) -> Any: ...

class Costly(Error):
    ...

class Descent(Result[SgdRun]):
    alpha: NDArray[Any]
    seed: NDArray[Any]
    batches: Any  # of NDArray[Any]
    steps: Any  # of NDArray[Any]
    epoch: Any  # of NDArray[Any]
    train: Any  # of NDArray[Any]
    test: Any  # of NDArray[Any]
    cosine: Any  # of NDArray[Any]
    norm: Any  # of NDArray[Any]
    settled: Any  # of NDArray[Any]
    diverged: NDArray[Any]
    weights: Any  # of NDArray[Any]

class Diagnosis(Result[Identity]):
    identity: list[str]
    violation: NDArray[Any]
    tolerance: NDArray[Any]
    points: NDArray[Any]
    resolved: NDArray[Any]
    verdict: list[str]
    passed: NDArray[Any]
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
    alpha: NDArray[Any]
    start: list[str]
    Q: Any  # of NDArray[Any]
    Q_error: Any  # of NDArray[Any]
    iterations: NDArray[Any]
    residual: NDArray[Any]
    stop: list[str]
    errors: list[Errors]

class Exponent(Record):
    index: int
    information: int
    information_term: str | None
    information_coefficient: float
    information_error: float
    information_leap: int
    information_stage: int
    generative: int
    generative_term: str | None
    generative_coefficient: float
    generative_error: float
    generative_leap: int
    generative_stage: int

class Exponents(Result[Exponent]):
    information: NDArray[Any]
    information_term: list[str | None]
    information_coefficient: NDArray[Any]
    information_error: NDArray[Any]
    information_leap: NDArray[Any]
    information_stage: NDArray[Any]
    generative: NDArray[Any]
    generative_term: list[str | None]
    generative_coefficient: NDArray[Any]
    generative_error: NDArray[Any]
    generative_leap: NDArray[Any]
    generative_stage: NDArray[Any]

class GAMP:
    def __init__(
        self,
        model: str | Model,
        *,
        start: float = 0.0,
        damping: float = 0.0,
        adaptive: bool = True,
        max_iterations: int = 50,
        tolerance: float = 0.0001,
        perfect: float = 1e-10,
        precision: float = 0.05,
        variant: str = 'gamp',
        all_errors: bool = True,
        seed: int = 1,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: float = 30.0,
        resume: bool = False,
    ) -> None: ...
    def get_params(self, deep: bool = True) -> dict[str, Any]: ...
    def set_params(self, **params: Any) -> GAMP: ...
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        logits: bool = False,
        threads: int = 0,
        device: str | None = None,
        progress: bool | None = None,
    ) -> GAMP: ...
    def predict(self, X: ArrayLike, return_std: bool = False) -> Any: ...
    def score(self, X: ArrayLike, y: ArrayLike) -> float: ...
    def save(self, file: str | os.PathLike[str], *, overwrite: bool = False) -> None: ...
    def load(file: str | os.PathLike[str]) -> Posterior: ...

class HardPhase(Record):
    information: float
    information_error: float
    algorithmic: float
    algorithmic_error: float
    kind: str

class HardPhases(Result[HardPhase]):
    information: NDArray[Any]
    information_error: NDArray[Any]
    algorithmic: NDArray[Any]
    algorithmic_error: NDArray[Any]
    kind: list[str]

class History(Record):
    Q: NDArray[Any]
    M: NDArray[Any]
    V: NDArray[Any]
    cosine: NDArray[Any]
    bayes: NDArray[Any]
    plugin: NDArray[Any]
    bayes_error: NDArray[Any]
    plugin_error: NDArray[Any]
    change: NDArray[Any]
    damping: NDArray[Any]
    mismatch: NDArray[Any]
    channel_error: NDArray[Any]
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
        spec: str | Callable[[NDArray[Any]], ArrayLike],
        *,
        noise: float | None = None,
        prenoise: float = 0.0,
        indices: int | None = None,
        tokens: int = 1,
        name: str = 'python',
        outputs: int | None = None,
        vectorized: bool | None = None,
    ) -> None: ...
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
    def labels(self, z: ArrayLike) -> NDArray[Any]: ...
    def __call__(self, z: ArrayLike) -> Any: ...
    def gradient(self, z: ArrayLike, cotangent: ArrayLike) -> NDArray[Any]: ...
    def carried(self, y: ArrayLike) -> NDArray[Any]: ...
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
    def hard_phases(
        self,
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
    ) -> HardPhases: ...
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
    def exponents(
        self,
        *,
        degree: int = 4,
        seed: int = 1,
        threads: int = 0,
        device: str | None = None,
        progress: bool | None = None,
    ) -> Exponents: ...
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
    name: list[str]
    formula: list[str]
    summary: list[str]
    example: list[str]
    keys: Any  # of dict[str, Any]

class Moments(Record):
    logz: NDArray[Any]
    g: NDArray[Any]
    dg: NDArray[Any]
    error: NDArray[Any]
    nodes: NDArray[Any]
    code: NDArray[Any]
    labels: NDArray[Any]
    omega: NDArray[Any]
    cov: NDArray[Any]
    converged: bool
    message: str
    @classmethod
    def shown(cls) -> list[str]: ...
    def __len__(self) -> int: ...
    @property
    def method(self) -> NDArray[Any]: ...
    def rows(self) -> list[dict[str, Any]]: ...
    def to_dataframe(self) -> Any: ...
    def plot(self, ax: Any = None, **style: Any) -> Any: ...

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
    alpha: NDArray[Any]
    samples: NDArray[Any]
    x_bytes: NDArray[Any]
    bytes: NDArray[Any]
    free: NDArray[Any]
    card_bytes: NDArray[Any]
    card_free: NDArray[Any]
    draw_seconds: NDArray[Any]
    iteration_seconds: NDArray[Any]
    seconds: NDArray[Any]

class NoMemory(Error, MemoryError):
    ...

class NotConverged(Error, ArithmeticError):
    ...

class NotConvergedWarning(UserWarning):
    ...

class Phase(Record):
    alpha: float
    bayes_Q: NDArray[Any]
    bayes_Q_error: NDArray[Any]
    amp_Q: NDArray[Any]
    amp_Q_error: NDArray[Any]
    bayes_entropy: float
    bayes_entropy_error: float
    entropy: NDArray[Any]
    entropy_error: NDArray[Any]
    hard: bool
    information_threshold: NDArray[Any]
    algorithmic_threshold: NDArray[Any]

class Phases(Result[Phase]):
    alpha: NDArray[Any]
    bayes_Q: Any  # of NDArray[Any]
    bayes_Q_error: Any  # of NDArray[Any]
    amp_Q: Any  # of NDArray[Any]
    amp_Q_error: Any  # of NDArray[Any]
    bayes_entropy: NDArray[Any]
    bayes_entropy_error: NDArray[Any]
    entropy: Any  # of NDArray[Any]
    entropy_error: Any  # of NDArray[Any]
    hard: NDArray[Any]
    information_threshold: Any  # of NDArray[Any]
    algorithmic_threshold: Any  # of NDArray[Any]

class Point(Record):
    alpha: float
    start: str
    Q: NDArray[Any]
    Q_error: NDArray[Any]
    iterations: int
    residual: float
    stop: str
    errors: Errors

class Posterior:
    def __init__(self, model: str | Model, weights: NDArray[Any], cov: NDArray[Any], seed: int) -> None: ...
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
    def to_dataframe(self) -> Any: ...

class Result(Sequence[_Row], Generic[_Row]):
    command: str
    model: str | None
    options: dict[str, Any]
    converged: bool
    message: str
    @overload
    def __getitem__(self, index: int) -> _Row: ...
    @overload
    def __getitem__(self: _Self, index: slice) -> _Self: ...
    def __init__(
        self,
        rows: Sequence[Any],
        command: str,
        model: str | Model,
        options: dict[str, Any],
        message: str = '',
    ) -> None: ...
    def __len__(self) -> int: ...
    def to_dict(self) -> dict[str, Any]: ...
    def to_dataframe(self) -> Any: ...
    def plot(self, ax: Any = None, **style: Any) -> Any: ...

class Run(Record):
    alpha: float
    seed: int
    iterations: int
    stop: str
    Q: NDArray[Any]
    M: NDArray[Any]
    V: NDArray[Any]
    cosine: NDArray[Any]
    errors: RunErrors
    mismatch: float
    theory: Theory
    history: History
    weights: NDArray[Any]
    cov: NDArray[Any]
    def flat(self) -> Any: ...

class RunErrors(Record):
    bayes: float
    plugin: float
    bayes_error: float
    plugin_error: float

class SgdRun(Record):
    alpha: float
    seed: int
    batches: NDArray[Any]
    steps: NDArray[Any]
    epoch: NDArray[Any]
    train: NDArray[Any]
    test: NDArray[Any]
    cosine: NDArray[Any]
    norm: NDArray[Any]
    settled: NDArray[Any]
    diverged: bool
    weights: NDArray[Any]
    def __len__(self) -> int: ...
    def rows(self) -> list[dict[str, Any]]: ...
    def flat(self) -> Any: ...

class Staircase(Result[Step]):
    kind: list[str]
    alpha: NDArray[Any]
    error: NDArray[Any]
    learns: Any  # of list[Any]
    jump: NDArray[Any]
    eigenvalue: NDArray[Any]
    eigenvalue_error: NDArray[Any]
    overlap: Any  # of NDArray[Any]
    overlap_error: Any  # of NDArray[Any]
    direction: Any  # of NDArray[Any]

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
    overlap: NDArray[Any]
    overlap_error: NDArray[Any]
    direction: NDArray[Any]

class Theory(Record):
    Q: NDArray[Any]
    Q_error: NDArray[Any]
    bayes: float
    plugin: float

class TrainRun(Record):
    seed: int
    step: NDArray[Any]
    epoch: NDArray[Any]
    train_loss: NDArray[Any]
    train_accuracy: NDArray[Any]
    validation_loss: NDArray[Any]
    validation_accuracy: NDArray[Any]
    similarity: NDArray[Any]
    similarity_rank: NDArray[Any]
    norm: NDArray[Any]
    settled: NDArray[Any]
    test_accuracy: float
    classifier: Classifier
    def rows(self) -> list[dict[str, Any]]: ...
    def flat(self) -> Any: ...

class Training(Result[TrainRun]):
    seed: NDArray[Any]
    step: Any  # of NDArray[Any]
    epoch: Any  # of NDArray[Any]
    train_loss: Any  # of NDArray[Any]
    train_accuracy: Any  # of NDArray[Any]
    validation_loss: Any  # of NDArray[Any]
    validation_accuracy: Any  # of NDArray[Any]
    similarity: Any  # of NDArray[Any]
    similarity_rank: Any  # of NDArray[Any]
    norm: Any  # of NDArray[Any]
    settled: Any  # of NDArray[Any]
    test_accuracy: NDArray[Any]
    classifier: list[Classifier]

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

def exponents(
    model: str | Model,
    *,
    degree: int = 4,
    seed: int = 1,
    threads: int = 0,
    device: str | None = None,
    progress: bool | None = None,
) -> Exponents: ...

def hard_phases(
    model: str | Model,
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
) -> HardPhases: ...

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
