"""Stair: how much data it takes to learn a sequence multi-index model, layer by layer.

    import stair
    stair.threshold("attention:layers=2")             # the staircase: what is learned at how many samples
    stair.evolve("attention:layers=2", [0.2, 0.5, 1])   # overlaps and errors of prediction over alpha
    stair.amp("attention:layers=2", X, y).predict(X2)   # message passing on your data

Every function takes a MODEL string (stair.models() lists them) or a stair.Model, and keywords made from the
options of the library: help(stair.threshold) has them with defaults and ranges.  Numbers are those of the
program `stair`, to the last digit.  Exceptions are stair.Error; bad input is a ValueError, too."""
from ._amp import GAMP, Amp, History, Need, Needs, Posterior, Run, RunErrors, Theory, amp, amp_need, load
from ._asymptotics import (Errors, Evolution, HardPhase, HardPhases, Phase, Phases, Point, Staircase, Step, entropy,
                           errors, evolve, hard_phases, threshold)
from ._channel import Diagnosis, Identity, Moments, channel, diagnose
from ._errors import (BadInput, BadKeyword, Costly, Error, NoMemory, NotConverged, NotConvergedWarning, Status,
                      Unsupported)
from ._exponents import Exponent, Exponents, exponents
from ._model import Model, ModelInfo, Models, models
from ._results import Record, Result
from ._training import Classifier, Descent, SgdRun, Training, TrainRun, sgd, tokenize, train
from ._call import lib as _lib
from ._call import text as _text

__version__ = _text(_lib.pystair_version())

__all__ = [
    "Amp", "BadInput", "BadKeyword", "Classifier", "Costly", "Descent", "Diagnosis", "Error", "Errors",
    "Evolution", "Exponent", "Exponents", "GAMP", "HardPhase", "HardPhases", "History", "Identity", "Model",
    "ModelInfo", "Models", "Moments", "Need", "Needs", "NoMemory", "NotConverged", "NotConvergedWarning",
    "Phase", "Phases", "Point", "Posterior", "Record", "Result", "Run", "RunErrors", "SgdRun", "Staircase",
    "Status", "Step", "Theory", "TrainRun", "Training", "Unsupported", "amp", "amp_need", "channel",
    "diagnose", "entropy", "errors", "evolve", "exponents", "hard_phases", "load", "models", "sgd",
    "threshold", "tokenize", "train",
]
