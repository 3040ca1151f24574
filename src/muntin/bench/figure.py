"""A figure: what it measures, in which axes, what the paper showed, and how our numbers are read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

__all__ = ["Axis", "Figure", "Panel", "Point", "Run", "Step"]

Step = tuple[str, Callable[[], None]]
"""What is about to be measured, and the call that does."""


@dataclass(frozen=True)
class Axis:
    """What an axis shows, and whether it is logarithmic."""

    label: str
    log: bool = False


@dataclass(frozen=True)
class Point:
    """One measurement: of which panel and series, where along the x axis, and how much."""

    panel: str
    series: str
    x: float | str
    y: float


@dataclass(frozen=True)
class Panel:
    """One plot of a figure; panels of one figure may have other axes."""

    name: str
    x: Axis
    y: Axis
    kind: Literal["lines", "bars", "dots"] = "lines"
    """Bars: x are names, and series stand side by side. Dots: each point is its series' alone, joined by no line."""


@dataclass
class Run:
    """One run of a figure: its size, its seed, and what it has measured so far."""

    quick: bool
    seed: int
    scale: float = 1.0
    """How large a run is relative to its size: tests run tiny ones."""
    points: list[Point] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    """Where data came from that were not made up."""

    @property
    def rounds(self) -> int:
        """How many rounds are measured."""
        return 1 if self.scale < 1 else 3 if self.quick else 5

    def rows(self, quick: int, full: int) -> int:
        """How many rows, by the size of the run."""
        return max(int((quick if self.quick else full) * self.scale), 2)

    def budget(self, quick: float = 0.25, full: float = 2.0) -> float:
        """How many seconds a slow contender may take for one run."""
        return (quick if self.quick else full) * self.scale

    def add(self, panel: str, series: str, x: float | str, y: float) -> None:
        """Note a measurement."""
        self.points.append(Point(panel, series, x, float(y)))

    def of(self, panel: str, series: str) -> dict[Any, float]:
        """The measurements of a series, by their places along the x axis."""
        return {p.x: p.y for p in self.points if (p.panel, p.series) == (panel, series)}

    def series(self, panel: str) -> list[str]:
        """The names of the series of a panel, in the order in which they were measured."""
        return list(dict.fromkeys(p.series for p in self.points if p.panel == panel))


@dataclass(frozen=True)
class Figure:
    """A figure of a paper, to be run again."""

    name: str
    title: str
    paper: str
    """Which figure of which paper."""
    panels: tuple[Panel, ...]
    shown: str
    """One sentence: what the paper showed."""
    steps: Callable[[Run], list[Step]]
    """What is to be measured, one step after the other; each adds its points to the run."""
    read: Callable[[Run], str]
    """One or two sentences from the numbers: what we see, and where we differ, why."""
    full: bool = False
    """Whether the report shows the full size: where that takes seconds, not minutes."""

    def described(self) -> dict[str, Any]:
        """What a result file says of the figure itself."""
        return {
            "figure": self.name,
            "title": self.title,
            "paper": self.paper,
            "shown": self.shown,
            "panels": [asdict(panel) for panel in self.panels],
        }
