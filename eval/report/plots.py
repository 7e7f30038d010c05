"""Plots of the HTML page, as SVG with the page's colours, so that they suit light and dark themes.

Every plot gets all runs in the same order, which determines each run's colour and shape. A run without data is left
out.
"""

from __future__ import annotations

import html
import io
import os
import re
import sys
import warnings
from collections.abc import Collection, Mapping, Sequence
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from hybrid_core.system import require

_INK, _FAINT = "#010101", "#020202"  # placeholders, replaced by the page's own colours
_SERIES = tuple(f"#0300{number:02x}" for number in range(1, 9))
_MARKERS, _DASHES = "osD^vPX*", ("-", "--", "-.", ":")
_WIDTH, _HALF = 7.2, 5.2  # inches, 72 units each
_NAME_LENGTH = 44
_BINS = 24


def hit_curves(curves: Mapping[str, Sequence[float]]) -> str:
    """Draw hit@k, the share of questions with a gold page among the first k, for k from 1.

    There is a line for each run.
    """
    figure, axes = _figure(3.4)
    for number, name, shares in _with_data(curves):
        axes.plot(range(1, len(shares) + 1), shares, label=_short_label(name), **_line_style(number))
    axes.set(xlabel="k, pages read", ylabel="hit@k", ylim=(0, 1.02))
    deepest = max(len(shares) for shares in curves.values())
    axes.set_xticks([1, *range(5, deepest + 1, 5 * (1 + deepest // 60))])
    _legend(axes, curves)
    description = "; ".join(
        f"{name}: " + ", ".join(f"hit@{k} {shares[k - 1]:.3f}" for k in (1, 5, 10, 20) if k <= len(shares))
        for _, name, shares in _with_data(curves)
    )
    return _svg(figure, "curves", "hit@k for growing k", description)


def scatter(points: Mapping[str, tuple[float, float] | None], measure: str, across: str, identity: str) -> str:
    """Draw each run as a point (x, measure). ``across`` is the label of the x axis with its unit."""
    figure, axes = _figure(3.0, _HALF)
    for number, name, (x, y) in _with_data(points):
        line = _line_style(number) | {"linestyle": "none", "markersize": 9}
        axes.plot([x], [y], label=_short_label(name), **line)
        axes.annotate(f"{y:.3f}", (x, y), xytext=(8, 6), textcoords="offset points", color=_INK)
    axes.set(xlabel=across, ylabel=measure, ylim=(0, 1.02))
    axes.set_xlim(0, max(x for _, _, (x, _) in _with_data(points)) * 1.25 or 1)
    _legend(axes, points)
    description = "; ".join(f"{name}: {measure} {y:.3f} at {x:.4g}" for _, name, (x, y) in _with_data(points))
    return _svg(figure, identity, f"{measure} against {across}", description)


def attribution_bars(counts: Mapping[str, Mapping[str, int]]) -> str:
    """Draw how many questions ended at each stage, with bars for each run.

    ``counts`` is {run: {stage: count}}, with the same stages in all runs.
    """
    drawn = _with_data(counts)
    stages = list(drawn[0][2])
    thick = 0.8 / len(drawn)
    figure, axes = _figure(max(2.2, 0.9 + len(stages) * (0.2 + 0.2 * len(drawn))))
    for slot, (number, name, by_stage) in enumerate(drawn):
        places = [place + (slot - (len(drawn) - 1) / 2) * thick for place in range(len(stages))]
        bars = axes.barh(places, [by_stage[stage] for stage in stages], thick * 0.9, label=_short_label(name),
                         color=_SERIES[number % len(_SERIES)])  # fmt: skip
        axes.bar_label(bars, padding=3, color=_INK)
    axes.set_yticks(range(len(stages)), stages)
    axes.invert_yaxis()
    axes.set(xlabel="questions")
    axes.margins(x=0.08)
    axes.grid(visible=False, axis="y")
    axes.xaxis.set_major_locator(_matplotlib("ticker").MaxNLocator(integer=True))
    _legend(axes, counts)
    description = "; ".join(
        f"{name}: " + ", ".join(f"{stage} {count}" for stage, count in by_stage.items()) for _, name, by_stage in drawn
    )
    return _svg(figure, "stages", "Where the questions ended", description)


def latency_histogram(times: Mapping[str, Sequence[float]]) -> str:
    """Draw the milliseconds of the questions, by run. The bins are logarithmic if the times differ widely."""
    numpy = require("numpy", "eval")
    figure, axes = _figure(3.0, _HALF)
    every = [max(time, 1e-3) for _, _, each in _with_data(times) for time in each]
    low, high = min(every), max(every)
    wide = high > 20 * low
    if high <= low:
        low, high = low * 0.5, high * 1.5
    bins = numpy.geomspace(low, high, _BINS) if wide else numpy.linspace(low, high, _BINS)
    for number, name, each in _with_data(times):
        colour = _SERIES[number % len(_SERIES)]
        axes.hist(numpy.maximum(each, 1e-3), bins=bins, histtype="stepfilled", color=colour,
                  alpha=0.25)  # fmt: skip
        axes.hist(numpy.maximum(each, 1e-3), bins=bins, label=_short_label(name), histtype="step", color=colour,
                  linewidth=1.6, linestyle=_DASHES[number // len(_SERIES) % len(_DASHES)])  # fmt: skip
    if wide:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(_matplotlib("ticker").StrMethodFormatter("{x:g}"))
        axes.minorticks_off()
    axes.set(xlabel="milliseconds for one question", ylabel="questions")
    axes.yaxis.set_major_locator(_matplotlib("ticker").MaxNLocator(integer=True))
    _legend(axes, times)
    description = "; ".join(
        f"{name}: median {numpy.median(each):.1f} ms, slowest {max(each):.1f} ms" for _, name, each in _with_data(times)
    )
    return _svg(figure, "latency", "Time for one question", description)


def _matplotlib(module: str = "") -> Any:
    """Import matplotlib or one of its modules.

    Its font cache is created in a temporary folder, not in the user's cache.
    """
    if "matplotlib" in sys.modules or "MPLCONFIGDIR" in os.environ:
        return require(f"matplotlib.{module}".rstrip("."), "eval")
    with TemporaryDirectory() as folder:
        os.environ["MPLCONFIGDIR"] = folder
        try:
            require("matplotlib.font_manager", "eval")
        finally:
            del os.environ["MPLCONFIGDIR"]
    return require(f"matplotlib.{module}".rstrip("."), "eval")


Drawn = TypeVar("Drawn")


def _with_data(runs: Mapping[str, Drawn | None]) -> list[tuple[int, str, Drawn]]:
    """Return (index of the run, name, data) of each run that has data."""
    return [(number, name, data) for number, (name, data) in enumerate(runs.items()) if data]


def _figure(height: float, width: float = _WIDTH) -> tuple[Any, Any]:
    """Create a figure without pyplot, because pyplot would keep it in memory and require a display."""
    figure = _matplotlib("figure").Figure(figsize=(width, height), layout="constrained")
    axes = figure.add_subplot()
    axes.grid(color=_FAINT, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(colors=_INK, length=0)
    axes.xaxis.label.set_color(_INK)
    axes.yaxis.label.set_color(_INK)
    for side, spine in axes.spines.items():
        spine.set_visible(side == "bottom")
        spine.set_color(_FAINT)
    return figure, axes


def _line_style(number: int) -> dict[str, Any]:
    """Return colour and shape of a run. Both differ between runs, so that colour is not the only distinction."""
    return {
        "color": _SERIES[number % len(_SERIES)], "marker": _MARKERS[number % len(_MARKERS)], "markersize": 4.5,
        "linewidth": 1.8, "linestyle": _DASHES[number // len(_SERIES) % len(_DASHES)],
    }  # fmt: skip


def _legend(axes: Any, names: Collection[str]) -> None:
    """Draw the legend below the plot, with as many columns as fit; a single run needs none."""
    if len(names) > 1:
        column = 0.6 + 0.08 * max(len(_short_label(name)) for name in names)  # inches
        columns = max(1, min(len(names), int(axes.figure.get_figwidth() / column)))
        axes.figure.legend(loc="outside lower left", ncols=columns, frameon=False, labelcolor=_INK)


def _short_label(name: str) -> str:
    """Return the name of a run with dollar signs escaped, which would begin a formula."""
    return (name if len(name) <= _NAME_LENGTH else f"{name[: _NAME_LENGTH - 1]}…").replace("$", r"\$")


def _svg(figure: Any, identity: str, title: str, description: str) -> str:
    """Return the figure as an <svg> element, with ids unique to the plot, the page's colours and a text alternative."""
    matplotlib = _matplotlib()
    written = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": identity}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")  # the browser has its own fonts
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(written, format="svg", transparent=True, metadata=nothing)
    drawn = written.getvalue()
    drawn = drawn[drawn.index("<svg") :]
    drawn = re.sub(r"<style.*?</style>", "", drawn, count=1, flags=re.DOTALL)  # it would rule the whole page
    drawn = re.sub(r"font-family: [^;\"]*", "font-family: inherit", drawn)
    drawn = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{identity}-", drawn)
    for stand_in, colour in [(_INK, "currentColor"), (_FAINT, "var(--line)")] + [
        (series, f"var(--series-{number})") for number, series in enumerate(_SERIES, 1)
    ]:
        drawn = drawn.replace(stand_in, colour)
    named = f'role="img" aria-labelledby="{identity}-title {identity}-desc" class="plot"'
    words = (
        f'<title id="{identity}-title">{html.escape(title)}</title>'
        f'<desc id="{identity}-desc">{html.escape(description)}</desc>'
    )
    head, rest = drawn.split(">", 1)
    return head.replace("<svg", f"<svg {named}", 1) + ">" + words + rest.strip()
