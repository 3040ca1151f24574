"""Muntin: window aggregation over streams and tables, in Python, on Spark: simple, fast, exact."""

from muntin import reference, windows
from muntin.aggregates import VALUE, Aggregate
from muntin.aggregates.concurrent import Concurrent as concurrent
from muntin.aggregates.counting import Count as count
from muntin.aggregates.ends import M4 as m4
from muntin.aggregates.ends import First as first
from muntin.aggregates.ends import Last as last
from muntin.aggregates.extremes import ArgMax as arg_max
from muntin.aggregates.extremes import ArgMin as arg_min
from muntin.aggregates.extremes import Max as max
from muntin.aggregates.extremes import MaxCount as max_count
from muntin.aggregates.extremes import Min as min
from muntin.aggregates.extremes import MinCount as min_count
from muntin.aggregates.moments import CenterOfMass as center_of_mass
from muntin.aggregates.moments import GeometricMean as geometric_mean
from muntin.aggregates.moments import Mean as mean
from muntin.aggregates.moments import Stddev as stddev
from muntin.aggregates.moments import Sum as sum
from muntin.aggregates.moments import Var as var
from muntin.aggregates.ordered import Collect as collect
from muntin.aggregates.ordered import Concat as concat
from muntin.aggregates.ordered import NthYoungest as nth_youngest
from muntin.aggregates.ordered import Process as process
from muntin.aggregates.runs import CountDistinct as count_distinct
from muntin.aggregates.runs import HeavyHitters as heavy_hitters
from muntin.aggregates.runs import Median as median
from muntin.aggregates.runs import Mode as mode
from muntin.aggregates.runs import NthSmallest as nth_smallest
from muntin.aggregates.runs import Quantile as quantile
from muntin.aggregates.sketches import ApproxCountDistinct as approx_count_distinct
from muntin.aggregates.sketches import ApproxQuantile as approx_quantile
from muntin.errors import (
    BudgetExceeded,
    EngineEnded,
    FrameError,
    MuntinError,
    RejectedRows,
    SpecError,
    SqlError,
    StateCorrupt,
    SumOverflow,
    UnsupportedAggregate,
)
from muntin.rolling import rolling
from muntin.spec import Spec, over
from muntin.sql import sql
from muntin.windows import (
    ContextAwareWindow,
    ContextFreeWindow,
    cumulative,
    frame,
    punctuated,
    session,
    sliding,
    tumbling,
)

__version__ = "0.1.0"

__all__ = [
    "VALUE",
    "Aggregate",
    "BudgetExceeded",
    "ContextAwareWindow",
    "ContextFreeWindow",
    "EngineEnded",
    "FrameError",
    "MuntinError",
    "RejectedRows",
    "Spec",
    "SpecError",
    "SqlError",
    "StateCorrupt",
    "SumOverflow",
    "UnsupportedAggregate",
    "approx_count_distinct",
    "approx_quantile",
    "arg_max",
    "arg_min",
    "center_of_mass",
    "collect",
    "concat",
    "concurrent",
    "count",
    "count_distinct",
    "cumulative",
    "first",
    "frame",
    "geometric_mean",
    "heavy_hitters",
    "last",
    "m4",
    "max",
    "max_count",
    "mean",
    "median",
    "min",
    "min_count",
    "mode",
    "nth_smallest",
    "nth_youngest",
    "over",
    "process",
    "punctuated",
    "quantile",
    "reference",
    "rolling",
    "session",
    "sliding",
    "sql",
    "stddev",
    "sum",
    "tumbling",
    "var",
    "windows",
]
