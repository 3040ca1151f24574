"""What is read of a Spark DataFrame: the needed columns, and one derived column of times.

The derived column is a number of microseconds, and for a row that is rejected one below all times that says why. That
one column tells Python everything about time.

Whether a row is too far ahead goes by Spark's clock of the batch, so that a batch that is run again judges alike. The
clock stands in the code that Spark generates: with it every batch would compile, and warm up, the loop over its rows
anew, a fifth of the batch. Today's date does not change with every batch. So where `max_ahead` is a day or more, rows
are compared with midnight, and only those beyond it are marked, to be judged by the clock as blobs.

Spark's watermark starts at 1970, never goes below, is floored to milliseconds and takes a null for 1970. So it is given
the newest time of each blob, shifted so that all of the years 1 to 9999 lie above 1 ms. It is set on the few blobs and
not on the rows: Spark looks at each row by itself there, and a stage that drops all rows took 11 % longer with it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as st

from muntin.spark.types import arrow_schema, arrow_type
from muntin.spec import Spec
from muntin.units import MAX_TIME, MIN_TIME

__all__ = ["AHEAD", "BACKWARDS", "FAR", "REASONS", "SHIFT", "TIME", "Source", "from_spark", "named", "source"]

TIME = "muntin_time"
"""The name of the derived column."""

SHIFT = 1_000 - MIN_TIME
"""What is added to an event time for Spark: the first microsecond of year 1 becomes 1 ms after 1970."""

REASONS = ("", "null time", "time out of range", "too far ahead", "span ends before it starts")
"""Why a row is rejected, by how far below the first of all times the derived column is."""

FAR, BACKWARDS = 3, 4
"""Two of them."""

AHEAD = 1 << 59
"""What is added to a time that the clock has to judge; twice that where the row's span is BACKWARDS too."""

_US_PER_DAY = 86_400_000_000
_SPAN_OF_ZONES = 14 * 3_600_000_000  # a local date is at most this far ahead of the date of UTC


def from_spark(millis: int, disorder: int) -> int | None:
    """Spark's watermark (milliseconds, shifted) as ours; None as long as there is none.

    The disorder is taken off here: Spark would round it to milliseconds.

    >>> from_spark(0, 0) is None, from_spark(SHIFT // 1_000 + 5, 10)
    (True, 4990)
    """
    return None if millis <= 0 else millis * 1_000 - SHIFT - disorder


@dataclass(frozen=True)
class Source:
    """What is read of a frame, for one spec.

    `schema` is what the engine gets: the needed columns (all, with a late output), in the order of the frame.
    """

    spec: Spec
    given: st.StructType
    schema: pa.Schema
    carried: tuple[str, ...]
    """The columns that come along with the derived one. Without a late output the time is not: it is made from it."""
    zone: str = "UTC"
    """The session's."""

    @property
    def judged_later(self) -> bool:
        """Whether rows beyond midnight are marked for the clock to judge: where those of now are not among them."""
        return self.spec.time is not None and (self.spec.max_ahead or 0) >= _US_PER_DAY + 2 * self._slack

    @property
    def _slack(self) -> int:
        """How far midnight may be from where the date of the session, read as one of UTC, has it."""
        return 0 if self.zone in ("UTC", "Etc/UTC", "Z") else _SPAN_OF_ZONES

    def select(self, frame: DataFrame, *, finite: bool) -> DataFrame:
        """The derived column and those that come along."""
        # By place: PySpark reads dots and backticks in names as its own.
        carried = (named(name).alias(f"c{i}") for i, name in enumerate(self.carried))
        return frame.select(self._time(finite).alias(TIME), *carried)

    def _time(self, finite: bool) -> Column:
        spec = self.spec
        clock = F.unix_micros(F.current_timestamp())
        if spec.time is None:
            return clock
        raw, scale = _raw(named(spec.time), self.given[spec.time].dataType)
        # The range is checked before the scale is applied: what passes does not overflow.
        last = F.lit((MAX_TIME + 1) // scale - 1)
        within = (raw >= F.lit(MIN_TIME // scale)) & (raw <= last)
        micros = raw * F.lit(scale) if scale > 1 else raw
        null, good = raw.isNull(), within
        if spec.spans is not None:
            start, unit = _raw(named(spec.spans.start), self.given[spec.spans.start].dataType)
            null = null | start.isNull()
            within = within & (start >= F.lit(MIN_TIME // unit)) & (start <= F.lit((MAX_TIME + 1) // unit - 1))
            good = within & (start * F.lit(unit) <= micros)
        found = F.when(good, micros)
        if not finite and spec.max_ahead is not None:
            if self.judged_later:
                # Midnight of the zone would cost a look at its rules for every row.
                midnight = F.unix_date(F.current_date()).cast("long") * F.lit(_US_PER_DAY)
                ahead = midnight + F.lit(spec.max_ahead - self._slack)
                found = F.when(good & (micros <= ahead), micros).when(good, micros + F.lit(AHEAD))
                if spec.spans is not None:
                    found = found.when(within & (micros > ahead), micros + F.lit(2 * AHEAD))
            else:
                ahead = clock + F.lit(spec.max_ahead)
                found = F.when(good & (micros <= ahead), micros).when(within & (micros > ahead), F.lit(MIN_TIME - FAR))
        if spec.spans is not None:
            found = found.when(within, F.lit(MIN_TIME - BACKWARDS))
        # A null is within nothing.
        return found.when(null, F.lit(MIN_TIME - 1)).otherwise(F.lit(MIN_TIME - 2))

    def times(self, micros: npt.NDArray[np.int64]) -> pa.Array:
        """The time column in its own type, from microseconds."""
        assert self.spec.time is not None
        type_ = self.schema.field(self.spec.time).type
        if pa.types.is_date(type_):
            return pa.array((micros // _US_PER_DAY).astype(np.int32)).cast(type_)
        return pa.array(micros).cast(type_)


def source(spec: Spec, frame: DataFrame, *, late: bool) -> Source:
    """What a spec needs of a frame; with a late output, all of it."""
    given, zone = frame.schema, frame.sparkSession.conf.get("spark.sql.session.timeZone") or ""
    if late:
        return Source(spec, given, arrow_schema(given), tuple(given.names), zone)
    wanted = needed(spec)
    fields = [field for field in given.fields if field.name in wanted]
    if not fields:  # rows are counted by the time of arrival: any column will do to tell how many there are
        fields = [field for field in given.fields if arrow_type(field.dataType) is not None][:1]
    picked = st.StructType(fields)
    return Source(spec, given, arrow_schema(picked), tuple(name for name in picked.names if name != spec.time), zone)


def needed(spec: Spec) -> set[str]:
    """The columns that a spec names.

    >>> import muntin as mt
    >>> sorted(needed(mt.over("ts", by="key").window("w", mt.tumbling("1 s"), top=mt.max("x"))))
    ['key', 'ts', 'x']
    """
    names = {*spec.by, *([spec.time] if spec.time else []), *([spec.order] if spec.order else [])}
    if spec.spans is not None:
        names.add(spec.spans.start)
    for query in spec.queries:
        names.update(query.window.columns)
        for _, aggregate in query.aggregates:
            names.update(aggregate.columns)
    return names


def named(name: str) -> Column:
    """A column by its whole name: a dot in it does not reach into a struct."""
    return F.col("`" + name.replace("`", "``") + "`")


def _raw(column: Column, type_: st.DataType) -> tuple[Column, int]:
    """A column of times as a long, and how many microseconds one unit of it has."""
    if isinstance(type_, st.TimestampType):
        return F.unix_micros(column), 1
    if isinstance(type_, st.TimestampNTZType):
        # A cast would go by the time zone of the session; the parts of a local time do not.
        days = F.unix_date(column.cast("date")).cast("long") * F.lit(_US_PER_DAY)
        minutes = (F.hour(column).cast("long") * F.lit(60) + F.minute(column)) * F.lit(60_000_000)
        seconds = (F.extract(F.lit("SECOND"), column) * F.lit(1_000_000)).cast("long")
        return days + minutes + seconds, 1
    if isinstance(type_, st.DateType):
        return F.unix_date(column).cast("long"), _US_PER_DAY
    return column.cast("long"), 1
