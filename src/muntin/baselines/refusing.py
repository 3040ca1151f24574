"""A technique to compare with takes some windows, and refuses the others with the reason."""

from __future__ import annotations

from typing import Any, ClassVar

from muntin.engine import Engine
from muntin.errors import SpecError
from muntin.explain import Explanation
from muntin.layout import Layout
from muntin.spec import Spec
from muntin.windows import Window

__all__ = ["Refusing"]


class Refusing(Engine):
    """Looks at the spec before anything else."""

    technique: ClassVar[str] = ""
    why: ClassVar[str] = ""
    """Why it takes no other windows."""
    instead: ClassVar[str] = ""
    """What it takes."""
    in_order: ClassVar[str | None] = None
    """Why events must come in order; None: they need not."""

    def __init__(self, spec: Spec, *given: Any, **named: Any) -> None:
        for query in spec.queries:
            if not self.takes(query.window):
                raise SpecError(
                    f"window {query.name!r}, {query.window!r}, with engine={self.technique!r}: "
                    f"{' '.join(filter(None, (self.why, self.instead)))} Use engine='auto'."
                )
        if self.in_order is not None and (spec.disorder or spec.lateness):
            raise SpecError(
                f"engine={self.technique!r} with disorder or lateness: {self.in_order} Declare neither, or use "
                f"engine='auto'."
            )
        super().__init__(spec, *given, **named)

    def explain(self) -> Explanation:
        """What it is; and what `engine="auto"` would do.

        >>> import muntin as mt
        >>> engine = mt.over("ts").window("w", mt.tumbling("1 s"), n=mt.count()).engine(engine="pairs")
        >>> str(engine.explain()).splitlines()[0][:60]
        "engine='pairs', to compare with: Each slide in two slices, f"
        """
        first = (type(self).__doc__ or "").partition("\n")[0]
        return Explanation(f"engine={self.technique!r}, to compare with: {first}\nWith 'auto':\n\n{super().explain()}")

    def _change(self, bound: Layout) -> None:
        raise SpecError(f"engine={self.technique!r} cannot change its windows. Use engine='auto'.")

    @classmethod
    def takes(cls, window: Window) -> bool:
        """Whether it computes a window."""
        raise NotImplementedError
