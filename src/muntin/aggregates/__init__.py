"""The aggregates, one file per family; each is a declaration, and so is a user's own."""

from muntin.aggregates.base import Aggregate, Bound
from muntin.aggregates.concurrent import Concurrent
from muntin.aggregates.counting import Count
from muntin.aggregates.ends import M4, First, Last
from muntin.aggregates.extremes import ArgMax, ArgMin, Max, MaxCount, Min, MinCount
from muntin.aggregates.moments import CenterOfMass, GeometricMean, Mean, Stddev, Sum, Var
from muntin.aggregates.ordered import Collect, Concat, NthYoungest, Process
from muntin.aggregates.runs import CountDistinct, HeavyHitters, Median, Mode, NthSmallest, Quantile
from muntin.aggregates.sketches import ApproxCountDistinct, ApproxQuantile
from muntin.aggregates.types import VALUE

__all__ = ["BUILTIN", "VALUE", "Aggregate", "Bound"]

_FAMILIES: list[list[type[Aggregate]]] = [
    [Count, Sum, Mean, GeometricMean, Var, Stddev, CenterOfMass],
    [Min, Max, MinCount, MaxCount, ArgMin, ArgMax, First, Last, M4],
    [Median, Quantile, Mode, NthSmallest, CountDistinct, HeavyHitters],
    [ApproxQuantile, ApproxCountDistinct],
    [NthYoungest, Collect, Concat, Process],
    [Concurrent],
]
BUILTIN: dict[str, type[Aggregate]] = {aggregate.name: aggregate for family in _FAMILIES for aggregate in family}
"""Every aggregate that comes with Muntin, by the name a user calls it by."""
