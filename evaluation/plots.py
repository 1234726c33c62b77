"""Plots for a report, as SVG to stand in the page itself, coloured by the page so that they are read by day and night.

Matplotlib draws in three marker colours, which are then replaced by the page's CSS variables: `--ink` for lines and
letters, `--rule` for what lies behind, `--series-0` … for what is shown.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from io import StringIO
from typing import TYPE_CHECKING, Any

from trialea.envs.errors import missing_extra
from trialea.evaluation.measure import Evaluation
from trialea.evaluation.regret import Part, Regret

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NUM_SERIES = 6
_INK, _RULE = "#010203", "#040506"
_SERIES = [f"#0708{number:02x}" for number in range(NUM_SERIES)]
_VARIABLES = {_INK: "var(--ink)", _RULE: "var(--rule)"} | {c: f"var(--series-{i})" for i, c in enumerate(_SERIES)}
_WIDTH = 4.8  # inches: a phone shows it at about its own size
_LINE_STYLES = ("-", "--", "-.", ":")
_SETTINGS: dict[str, Any] = {
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


def new_figure(height: float, rows: int = 1, columns: int = 1, **more: Any) -> tuple[Figure, list[Axes]]:
    """A figure of the given height (inches) and its axes, row by row; it needs no display and belongs to no window."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise missing_extra("matplotlib", "report", "A report") from None
    figure = Figure(figsize=(_WIDTH, height), layout="constrained")
    return figure, list(figure.subplots(rows, columns, squeeze=False, **more).flat)


def to_svg(figure: Figure, name: str) -> str:
    """The figure as an `<svg>` element without anything from outside; `name` sets its inner ids apart."""
    import matplotlib

    out = StringIO()
    with matplotlib.rc_context({"svg.hashsalt": name, **_SETTINGS}):
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    svg = out.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\sxmlns(:\w+)?="[^"]*"', "", svg)
    svg = re.sub(r'<g id="[^"]*"', "<g", svg)
    svg = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", svg, count=1)
    for colour, variable in _VARIABLES.items():
        svg = svg.replace(colour, variable)
    return svg


def styled(draw: Any) -> Any:
    """Let a plotting function run under this module's settings, and turn the figure that it returns into SVG."""

    def drawn(*args: Any, **kwargs: Any) -> str:
        try:
            import matplotlib
        except ImportError:
            raise missing_extra("matplotlib", "report", "A report") from None
        with matplotlib.rc_context(_SETTINGS):
            figure = draw(*args, **kwargs)
        return to_svg(figure, f"{draw.__name__}{args}")

    return drawn
