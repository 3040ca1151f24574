"""Plots of result files, in the paper's axes, as PNG and SVG (extra `plots`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from muntin.bench.figure import Point
from muntin.bench.results import points

__all__ = ["draw"]

# One colour and marker for each technique, the same in all figures (Okabe and Ito's colours, told apart by all eyes).
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999", "#882255", "#44AA99")
MARKERS = "osD^vPX*<>"
KNOWN = (
    "slicing", "aggregate buckets", "eager slicing", "tuple buffer", "aggregate tree", "tuple buckets", "pairs",
    "cutty", "panes",
)  # fmt: skip


def draw(found: dict[str, Any], folder: Path) -> list[Path]:
    """Draw a result; gives the files."""
    import matplotlib
    from matplotlib.figure import Figure

    panels = found["panels"]
    with matplotlib.rc_context(
        {"font.size": 9, "svg.hashsalt": "muntin", "svg.fonttype": "none", "axes.axisbelow": True}
    ):
        wide = len(panels) if len(panels) <= 3 else 2 if len(panels) % 3 else 3
        high = -(-len(panels) // wide)
        figure = Figure(figsize=(5.2 * wide, 3.9 * high), layout="constrained")
        places = figure.subplots(high, wide, squeeze=False).flat
        for place, panel in zip(places, panels, strict=False):
            here = [point for point in points(found) if point.panel == panel["name"]]
            DRAWN[panel["kind"]](place, here)
            _axes(place, panel)
            if panel["kind"] == "lines":
                _ticks(place, sorted({float(point.x) for point in here}))
        figure.suptitle(f"{found['title']} ({found['size']})")
        files = [folder / f"{found['figure']}.{kind}" for kind in ("png", "svg")]
        for file in files:
            figure.savefig(file, dpi=150, metadata={"Date": None} if file.suffix == ".svg" else None)
    return files


def _style(series: str, others: list[str]) -> int:
    """The same place among the colours for a known technique in every figure; the others share what is left."""
    if series in KNOWN:
        return KNOWN.index(series)
    rest = [i for i in range(len(COLOURS)) if not any(name in KNOWN and KNOWN.index(name) == i for name in others)]
    unknown = [name for name in others if name not in KNOWN]
    return rest[unknown.index(series) % len(rest)]


def _lines(place: Any, here: list[Point]) -> None:
    names = list(dict.fromkeys(point.series for point in here))
    for name in names:
        at = _style(name, names)
        line = [(point.x, point.y) for point in here if point.series == name]
        place.plot(*zip(*line, strict=True), label=name, color=COLOURS[at], marker=MARKERS[at], markersize=4)


def _bars(place: Any, here: list[Point]) -> None:
    names = list(dict.fromkeys(point.series for point in here))
    kinds = list(dict.fromkeys(point.x for point in here))
    width = 0.8 / len(names)
    for i, name in enumerate(names):
        bars = [
            (kinds.index(point.x) + (i - (len(names) - 1) / 2) * width, point.y)
            for point in here
            if point.series == name
        ]
        place.bar(*zip(*bars, strict=True), width=width, label=name, color=COLOURS[_style(name, names)])
    long = max(len(str(kind)) for kind in kinds) > 6
    turned = {"rotation": 45, "ha": "right"} if long else {}
    place.set_xticks(range(len(kinds)), kinds, **turned)


def _dots(place: Any, here: list[Point]) -> None:
    names = sorted({point.series for point in here})
    for name in names:
        at = _style(name, names)
        some = [(point.x, point.y) for point in here if point.series == name]
        place.scatter(*zip(*some, strict=True), label=name, color=COLOURS[at], marker=MARKERS[at], s=45)


def _ticks(place: Any, places: list[float]) -> None:
    """Where there are few places, they are the ticks: a logarithmic axis would have its own between them."""
    if len(places) <= 6:
        place.set_xticks(places, [short(x) for x in places])
        place.set_xticks([], minor=True)


def short(x: float) -> str:
    """A number in few letters.

    >>> short(0.25), short(1_000), short(2_097_152), short(0.0957)
    ('0.25', '1k', '2.1M', '0.096')
    """
    for unit, name in ((1e6, "M"), (1e3, "k")):
        if x >= unit:
            return f"{x / unit:.2g}{name}" if x < 100 * unit else f"{x / unit:.0f}{name}"
    return f"{x:.2g}" if x < 100 else f"{x:.0f}"


DRAWN = {"lines": _lines, "bars": _bars, "dots": _dots}


def _axes(place: Any, panel: dict[str, Any]) -> None:
    if panel["x"]["log"] and panel["kind"] != "bars":
        place.set_xscale("log")
    if panel["y"]["log"]:
        place.set_yscale("log")
    else:
        place.set_ylim(bottom=0)
    place.set_xlabel(panel["x"]["label"])
    place.set_ylabel(panel["y"]["label"])
    place.set_title(panel["name"])
    place.grid(True, which="major", alpha=0.3)
    place.legend(fontsize=7, framealpha=0.6)
