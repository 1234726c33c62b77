"""Plots for a report: inline SVG that follows the page's light and dark colours.

Matplotlib draws in marker colours. They are then replaced by the page's CSS variables: `--ink` for lines and letters,
`--rule` for the grid, `--series-0` … for data.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import StringIO
from typing import TYPE_CHECKING, Any

import numpy as np

from trialea.envs.errors import needs_extra
from trialea.evaluation.intervals import t_interval
from trialea.evaluation.results import Evaluation, Regret, RegretBin
from trialea.evaluation.tournaments.ratings import Ratings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NUM_SERIES = 6
_INK, _RULE = "#010203", "#040506"
_SERIES = [f"#0708{number:02x}" for number in range(NUM_SERIES)]
_VARIABLES = {_INK: "var(--ink)", _RULE: "var(--rule)"} | {c: f"var(--series-{i})" for i, c in enumerate(_SERIES)}
_WIDTH = 4.8  # inches: a phone shows it at about its own size
_LOG_SPAN = 5  # the least ratio of regrets that is shown on a logarithmic axis
_LINE_STYLES = ("-", "--", "-.", ":")
_SETTINGS: Any = {
    "axes.edgecolor": _INK,
    "axes.facecolor": "none",
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.labelcolor": _INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 10,
    "figure.facecolor": "none",
    "font.family": "sans-serif",
    "font.size": 10,
    "grid.color": _RULE,
    "legend.frameon": False,
    "savefig.facecolor": "none",
    "svg.fonttype": "none",
    "text.color": _INK,
    "text.parse_math": False,  # names are shown as they are
    "xtick.color": _INK,
    "ytick.color": _INK,
}


@contextmanager
def settings() -> Iterator[None]:
    """Set Matplotlib up to draw and save a plot of the page.

    Raises:
        MissingExtraError: Matplotlib is not installed.
    """
    with needs_extra("report", "a report", "matplotlib"):
        import matplotlib
    with matplotlib.rc_context(_SETTINGS), warnings.catch_warnings():
        # Letters stay text in the SVG and are drawn in the reader's fonts. Matplotlib's font only measures them.
        warnings.filterwarnings("ignore", r"Glyph \d+ .* missing from", UserWarning)
        yield


def new_figure(height: float, rows: int = 1, columns: int = 1, **more: Any) -> tuple[Figure, list[Axes]]:
    """Return a figure of the given height (inches) and its axes, row by row. It needs no display."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(_WIDTH, height), layout="constrained")
    return figure, list(figure.subplots(rows, columns, squeeze=False, **more).flat)


def to_svg(figure: Figure, name: str) -> str:
    """Return the figure as an `<svg>` element that loads nothing; `name` makes its ids unique in the page."""
    import matplotlib

    out = StringIO()
    with matplotlib.rc_context({"svg.hashsalt": name}):
        figure.savefig(out, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    svg = out.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<style .*?</style>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\sxmlns(:\w+)?="[^"]*"', "", svg)
    svg = re.sub(r'<g id="[^"]*"', "<g", svg)
    svg = re.sub(r'^<svg[^>]*(viewBox="[^"]*")[^>]*>', r"<svg \1>", svg)
    svg = svg.replace("xlink:href", "href")
    for colour, variable in _VARIABLES.items():
        svg = svg.replace(colour, variable)
    return svg


def win_rates(evaluations: Sequence[Evaluation]) -> str:
    """Plot every agent's win rate and interval, match by match. The dotted lines are the win rates of equal agents."""
    count = sum(len(evaluation.agents) for evaluation in evaluations)
    with settings():
        figure, (axes,) = new_figure(0.8 + 0.28 * count + 0.2 * len(evaluations))
        place, places, labels = 0.0, [], []
        for evaluation in evaluations:
            for a, (name, agent) in enumerate(evaluation.agents.items()):
                colour = _SERIES[a % NUM_SERIES]
                equal = [agent.equal_win_rate] * 2
                axes.plot(equal, [place - 0.5, place + 0.5], color=_INK, linestyle=":", linewidth=1)
                axes.plot(agent.interval, [place, place], color=colour, linewidth=4, solid_capstyle="butt", alpha=0.5)
                axes.plot(agent.win_rate, place, "o", color=colour, markersize=6)
                places.append(place)
                labels.append(_short(name))
                place += 1
            place += 0.7
        axes.set(xlim=(-0.02, 1.02), ylim=(place - 1, -0.7), yticks=places, yticklabels=labels, xlabel="win rate")
        axes.xaxis.set_major_formatter(lambda x, _: f"{100 * x:.0f} %")
        axes.grid(visible=False, axis="y")
        return to_svg(figure, "win-rates")


def ratings(names: Sequence[str], found: Ratings) -> str:
    """Plot every agent's rating and interval, the best on top."""
    order = sorted(range(len(names)), key=lambda a: found.rank[a])
    with settings():
        figure, (axes,) = new_figure(0.8 + 0.28 * len(names))
        for place, a in enumerate(order):
            low, high = found.interval[a]
            axes.plot([low, high], [place, place], color=_SERIES[0], linewidth=4, solid_capstyle="butt", alpha=0.5)
            axes.plot(found.points[a], place, "o", color=_SERIES[0], markersize=6)
        labels = [_short(names[a]) for a in order]
        axes.set(ylim=(len(names) - 0.3, -0.7), yticks=range(len(names)), yticklabels=labels, xlabel="rating")
        axes.grid(visible=False, axis="y")
        return to_svg(figure, "ratings")


def luck(evaluation: Evaluation, name: str) -> str:
    """Plot the change of every agent's win rate by luck and errors, in percentage points.

    Args:
        evaluation: one in which luck was measured.
        name: unique in the page.
    """
    labels = [_short(agent) for agent in evaluation.agents]
    breakdowns = [agent.adjusted.breakdown for agent in evaluation.agents.values() if agent.adjusted is not None]
    terms = {
        "luck": [one.luck for one in breakdowns],
        "own errors": [one.own_errors for one in breakdowns],
        "others' errors": [one.others_errors for one in breakdowns],
    }
    with settings():
        figure, (axes,) = new_figure(0.9 + 0.45 * len(labels))
        for i, (label, changes) in enumerate(terms.items()):
            places = [a + 0.25 * (i - 1) for a in range(len(labels))]
            axes.barh(places, [100 * change for change in changes], height=0.22, color=_SERIES[i], label=label)
        axes.axvline(0, color=_INK, linewidth=1)
        axes.set(ylim=(len(labels) - 0.4, -0.6), yticks=range(len(labels)), yticklabels=labels)
        axes.set_xlabel("percentage points of the win rate")
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, borderpad=0, columnspacing=1)
        axes.grid(visible=False, axis="y")
        return to_svg(figure, name)


def learning_curves(runs: Sequence[Sequence[Mapping[str, Any]]]) -> str:
    """Plot the measurements of training runs: win rates, regret and the share of optimal decisions.

    A single run is a line. Of several runs each is a thin line, and over them stand their mean and its 95 % interval,
    at the frames where all were measured.

    Args:
        runs: for each run one mapping for each measurement, with `frames` and any of `win_rate/<opponent>`, `regret`
            and `optimal_share`. A run with several numbers of players has the number in front: `3p/regret`.

    Returns:
        The SVG; an empty string if nothing was measured.
    """
    every_key = {key for run in runs for line in run for key in line}
    measured = sorted(key for key in every_key if any(_curve(run, key) for run in runs))
    panels = [
        ("win rate against", [key for key in measured if "win_rate/" in key]),
        ("regret", [key for key in measured if key.endswith("regret")]),
        ("optimal decisions", [key for key in measured if key.endswith("optimal_share")]),
    ]
    shown = [(title, keys) for title, keys in panels if keys]
    if not shown:
        return ""
    with settings():
        from matplotlib.ticker import EngFormatter

        figure, every = new_figure(0.6 + 1.7 * len(shown), rows=len(shown), sharex=True)
        for axes, (title, keys) in zip(every, shown, strict=True):
            for i, key in enumerate(keys):
                style, colour = _LINE_STYLES[i % len(_LINE_STYLES)], _SERIES[i % NUM_SERIES]
                curves = [curve for run in runs if (curve := _curve(run, key))]
                _draw_curves(axes, curves, style, color=colour, label=_short(_measured_as(key)))
            axes.set_title(title, loc="left")
            if title == "regret":  # the first measurement is far above the rest
                values = [value for run in runs for key in keys for value in _curve(run, key).values()]
                if min(values) > 0 and max(values) > _LOG_SPAN * min(values):
                    _set_log_scale(axes)
            else:
                axes.yaxis.set_major_formatter(lambda y, _: f"{100 * y:.0f} %")
            if _measured_as(keys[0]):
                axes.legend(loc="lower right", bbox_to_anchor=(1, 0.98), ncols=3, borderpad=0, columnspacing=1)
        every[-1].set_xlabel("frames")
        every[-1].xaxis.set_major_formatter(EngFormatter(sep=""))
        return to_svg(figure, "learning")


def _set_log_scale(axes: Axes) -> None:
    """Make the vertical axis logarithmic, with plain numbers as labels: 50, not 5 × 10¹."""
    from matplotlib.ticker import LogLocator, NullFormatter

    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(lambda y, _: f"{y:g}")
    axes.yaxis.set_minor_formatter(NullFormatter())


def _measured_as(key: str) -> str:
    """Return the label of a measurement in its panel: the opponent, the number of players, both, or nothing."""
    players, _, rest = key.rpartition("p/") if key[0].isdigit() else ("", "", key)
    opponent = rest.partition("win_rate/")[2]
    return ", ".join(part for part in (opponent, f"{players} players" if players else "") if part)


def _draw_curves(axes: Axes, curves: Sequence[Mapping[float, float]], style: str, **look: Any) -> None:
    """Draw one curve; or several curves as thin lines, with their mean and its interval."""
    if len(curves) == 1:
        axes.plot(list(curves[0]), list(curves[0].values()), style, marker=".", **look)
        return
    for curve in curves:
        axes.plot(list(curve), list(curve.values()), "-", color=look["color"], linewidth=0.6, alpha=0.5)
    common = sorted(set.intersection(*map(set, curves)))
    values = np.array([[curve[frames] for frames in common] for curve in curves])
    axes.plot(common, values.mean(axis=0), style, marker=".", **look)
    low, high = np.array([t_interval(several) for several in values.T]).reshape(-1, 2).T
    axes.fill_between(common, low, high, color=look["color"], alpha=0.2, linewidth=0)


def regret_bins(regret: Regret, unit: str, name: str) -> str:
    """Plot an agent's mean regret, in `unit`, by throws made and the mover's total; `name` is unique in the page."""
    with settings():
        figure, (left, right) = new_figure(2.3, columns=2, sharey=True, width_ratios=[2, 3])
        _bars(left, regret.by_throw, "throws made", _SERIES[0])
        _bars(right, regret.by_score, "own total", _SERIES[1])
        left.set_ylabel(f"{unit} a decision")
        return to_svg(figure, name)


def _bars(axes: Axes, bins: Mapping[str, RegretBin], label: str, colour: str) -> None:
    axes.bar(range(len(bins)), [one.regret for one in bins.values()], color=colour, width=0.7)
    axes.set_xticks(range(len(bins)), list(bins), rotation=45 if len(bins) > 4 else 0)
    axes.set_xlabel(label)
    axes.grid(visible=False, axis="x")


def _curve(run: Sequence[Mapping[str, Any]], key: str) -> dict[float, float]:
    """Return a run's measurements of one kind, keyed by frames."""
    return {line["frames"]: line[key] for line in run if line.get(key) is not None and "frames" in line}


def _short(name: str, length: int = 22) -> str:
    """Return a name on one line, cut to the room in a plot. The end of a path says more than its beginning."""
    line = "".join(letter if letter.isprintable() else " " for letter in name)
    return line if len(line) <= length else "…" + line[1 - length :]
