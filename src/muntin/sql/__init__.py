"""The language of paper 2, RANGE / SLIDE / WATTR, over named frames; parsed by sqlglot with a dialect of our own."""

from __future__ import annotations

from typing import Any

__all__ = ["sql"]


def sql(text: str, /, **frames: Any) -> Any:
    """A query in SQL: alone it gives a spec; with the frame that it reads, by name, all its windows.

    The window stands in brackets after the table or after GROUP BY (paper 2, sections 1 and 3), or is one of the table
    functions TUMBLE, HOP, CUMULATE and SESSION. A frame is of any kind that `Spec.apply` takes, a Spark stream too, and
    the result is of the same kind. Results have the columns of every spec; those of a table function have the columns
    that the query selects.

    >>> import muntin as mt
    >>> text = '''
    ...     SELECT item, max(price) AS top, count(*)
    ...     FROM bids [WATTR ts RANGE 4 MINUTES SLIDE 1 MINUTE]
    ...     WHERE price > 0 GROUP BY item'''
    >>> mt.sql(text)
    over('ts', by='item')
    .where('price > 0')
    .window('RANGE 4 MINUTES SLIDE 1 MINUTE', sliding('4 minutes', every='1 minute'), top=max('price'), count=count())
    >>> bids = {"ts": [0, 70_000_000], "item": ["a", "a"], "price": [5, 7]}
    >>> mt.sql(text, bids=bids).column("top").to_pylist()
    [5, 7, 7, 7, 7]
    """
    from muntin.sql.read import read
    from muntin.sql.run import run

    found = read(text)
    return run(found, frames) if frames else found.spec
