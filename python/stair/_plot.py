"""result.plot(): one picture for each kind of result, where matplotlib is installed."""
import numpy as np


def draw(result, ax, style):
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("plot() needs matplotlib: apt install python3-matplotlib") from None
    how = PICTURES.get(type(result).__name__)
    if how is None:
        raise TypeError(f"there is no picture of {type(result).__name__}")
    if ax is None:
        _, ax = plt.subplots()
    how(result, ax, style)
    ax.set_title(str(getattr(result, "model", None) or type(result).__name__)[:80], fontsize="small")
    if ax.get_legend_handles_labels()[0]:
        ax.legend(fontsize="small")
    return ax


def _threshold(result, ax, style):
    finite = [row for row in result if np.isfinite(row.alpha)]
    for i, row in enumerate(finite):
        name = f"{row.kind}: {', '.join(map(str, row.learns))}"
        line = ax.axvline(row.alpha, linestyle="-" if row.kind == "weak" else "--", label=name,
                          **{"color": f"C{i}", **style})
        ax.axvspan(row.alpha - row.error, row.alpha + row.error, alpha=0.2, color=line.get_color())
    ax.set_xlim(0, 1.1 * max([row.alpha for row in finite], default=1))
    ax.set_xlabel("alpha")
    ax.set_yticks([])


def _diagonals(result, ax, name, starts, style, **kind):
    rows = [row for row in result if starts is None or row.start == starts]
    alpha = np.array([row.alpha for row in rows])
    for i in range(getattr(rows[0], name).shape[0] if rows else 0):
        q = np.array([getattr(row, name)[i, i] for row in rows])
        error = np.array([getattr(row, f"{name}_error")[i, i] for row in rows])
        title = f"{name}{i + 1}{i + 1}" + (f" {starts}" if starts else "")
        ax.errorbar(alpha, q, error, label=title, **{**kind, **style})
    ax.set_xlabel("alpha")
    ax.set_ylabel("overlap")


def _evolve(result, ax, style):
    for start, line in (("uninformed", "-"), ("informed", ":")):
        _diagonals(result, ax, "Q", start, style, linestyle=line, marker=".")


def _entropy(result, ax, style):
    _diagonals(result, ax, "bayes_Q", None, style, linestyle="-", marker=".")
    _diagonals(result, ax, "amp_Q", None, style, linestyle=":", marker=".")
    for row in result:
        if row.hard:
            ax.axvline(row.alpha, color="red", alpha=0.3)


def _hard_phases(result, ax, style):
    ends = [row.algorithmic for row in result if np.isfinite(row.algorithmic)] + [row.information for row in result]
    right = 1.2 * max(ends, default=1)
    for row in result:
        ax.axvspan(row.information, min(row.algorithmic, right), label=f"hard, until {row.kind}",
                   **{"color": "red", "alpha": 0.3, **style})
    ax.set_xlim(0, right)
    ax.set_xlabel("alpha")
    ax.set_yticks([])


def _amp(result, ax, style):
    alphas = sorted({row.alpha for row in result})
    if len(alphas) == 1:
        teacher = np.isfinite(result[0].cosine).any()  # on data of the user's there is none
        name = "cosine" if teacher else "overlap"
        for row in result:
            for i in range(row.cosine.size):
                values = row.history.cosine[:, i] if teacher else row.history.Q[:, i, i]
                ax.plot(values, label=f"{name}{i + 1}, seed {row.seed}", **style)
        ax.set_xlabel("iteration")
        ax.set_ylabel(name)
        return
    for i in range(result[0].cosine.size):
        runs = [[row.M[i, i] for row in result if row.alpha == a] for a in alphas]
        ax.errorbar(alphas, [np.mean(r) for r in runs], [np.std(r) for r in runs], marker="o", linestyle="",
                    label=f"M{i + 1}{i + 1}", **style)
        theory = [next(row.theory.Q[i, i] for row in result if row.alpha == a) for a in alphas]
        ax.plot(alphas, theory, label=f"theory {i + 1}{i + 1}")
    ax.set_xlabel("alpha")
    ax.set_ylabel("overlap with the teacher")


def _sgd(result, ax, style):
    for row in result:
        for k in range(row.cosine.shape[1]):
            ax.semilogx(row.epoch, row.cosine[:, k], label=f"layer {k + 1}, seed {row.seed}", **style)
    ax.set_xlabel("epoch")
    ax.set_ylabel("cosine")


def _train(result, ax, style):
    for row in result:
        for k in range(row.similarity.shape[1]):
            ax.plot(row.epoch, row.similarity[:, k], label=f"layer {k + 1}, seed {row.seed}", **style)
    ax.set_xlabel("epoch")
    ax.set_ylabel("similarity to the last weights")


def _diagnose(result, ax, style):
    least = 1e-17  # where a violation of 0 is drawn
    places = np.arange(len(result))
    ax.barh(places, [max(row.violation, least) for row in result], label="worst violation", **style)
    ax.plot([row.tolerance for row in result], places, "k|", markersize=12, label="allowed")
    ax.set_xscale("log")
    ax.set_yticks(places, [row.identity for row in result], fontsize="x-small")
    ax.invert_yaxis()


def _exponents(result, ax, style):
    for k, name in enumerate(("information", "generative")):
        ax.bar([row.index + 0.4 * (k - 0.5) for row in result], [getattr(row, name) for row in result], width=0.35,
               label=name, **style)
    ax.set_xticks([row.index for row in result])
    ax.set_xlabel("index")
    ax.set_ylabel("exponent")


def _channel(result, ax, style):
    ax.hist(result.logz, **{"bins": 40, **style})
    ax.set_xlabel("log Z")
    ax.set_ylabel("samples")


PICTURES = {"Staircase": _threshold, "Evolution": _evolve, "Phases": _entropy, "HardPhases": _hard_phases, "Amp": _amp,
            "Descent": _sgd, "Training": _train, "Diagnosis": _diagnose, "Exponents": _exponents, "Moments": _channel}
