"""From a query to a spec: which windows, which keys, which aggregates, which rows."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

from muntin.aggregates import Aggregate
from muntin.errors import SpecError, nearest
from muntin.spec import Spec, over
from muntin.sql.dialect import BRACKETS, DELAYS, Clause, TableWindow, parsed, place_of_word
from muntin.sql.expressions import FUNCTIONS, checked, columns_of, text_of
from muntin.sql.functions import aggregate_of, called, is_aggregate, unknown
from muntin.sql.names import AGGREGATES
from muntin.sql.places import Place, error, place_of
from muntin.sql.windows import Found, bracketed, table_window

__all__ = ["Read", "Shown", "read"]

WINDOW_COLUMNS = ("window_start", "window_end", "window_time")
"""What Flink calls the bounds of a window; the time is the last millisecond within."""
_ALWAYS = ("window", "rows", "query", "revision")
_REFUSED = {
    "with_": "WITH before SELECT (a common table expression)",
    "kind": "SELECT AS",
    "distinct": "SELECT DISTINCT",
    "joins": "JOIN",
    "laterals": "LATERAL",
    "having": "HAVING",
    "qualify": "QUALIFY",
    "windows": "WINDOW",
    "order": "ORDER BY",
    "sort": "SORT BY",
    "cluster": "CLUSTER BY",
    "distribute": "DISTRIBUTE BY",
    "limit": "LIMIT",
    "offset": "OFFSET",
    "sample": "TABLESAMPLE",
    "into": "INTO",
    "match": "MATCH_RECOGNIZE",
    "hint": "a hint",
    "locks": "FOR UPDATE",
    "connect": "CONNECT BY",
    "prewhere": "PREWHERE",
}
_HELP = {
    "joins": "Join the frames first, and give the result a name.",
    "having": "Filter the result instead.",
    "qualify": "Filter the result instead.",
    "order": "Sort the result instead.",
    "limit": "Take the first rows of the result instead.",
    "with_": "Compute that frame first, and give it by name.",
}


@dataclass(frozen=True)
class Shown:
    """A column of the result of a table function: what it holds, and its name."""

    what: str
    name: str


@dataclass
class Read:
    """A query that has been read: its spec, the frame that it is over, and the places of the columns that it names."""

    text: str
    spec: Spec
    table: str
    place: Place | None
    shown: tuple[Shown, ...] | None
    """The columns to give, for a table function; None: those of every spec."""
    named: list[tuple[str, Place | None]] = field(default_factory=list)

    def check_columns(self, names: Iterable[str]) -> None:
        """Every column that the query names is one of the frame's, or an error shows where it is not."""
        known = list(names)
        for name, place in self.named:
            if name not in known:
                raise error(self.text, place, f"{self.table} has no column {name!r}. {nearest(name, known)}")


def read(text: str) -> Read:
    """The spec of a query, or an error that shows the place in its text."""
    if not isinstance(text, str):
        raise SpecError(f"sql takes the text of a query, got {text!r}.")
    tree = parsed(text)
    if not isinstance(tree, exp.Select):
        what = type(tree).__name__.upper()
        raise error(text, place_of(tree), f"{what} is valid SQL that Muntin does not have: a query is one SELECT.")
    return _Reader(text, tree).read()


class _Reader:
    def __init__(self, text: str, tree: exp.Select) -> None:
        self.text, self.tree = text, tree
        self.named: list[tuple[str, Place | None]] = []
        self.computed: dict[str, str] = {}

    def fail(self, node: Any, message: str) -> SpecError:
        place = node if isinstance(node, Place) or node is None else place_of(node)
        return error(self.text, place, message)

    def read(self) -> Read:
        self._refuse()
        source = self._source()
        self._plain_columns(source)
        found, time, keys = self._windows(source)
        shown, aggregates = self._selected(keys, isinstance(source.this, TableWindow))
        by = [self._key(key, name) for key, name in keys.items()]
        spec = self._spec(found, time, by, aggregates)
        where = self.tree.args.get("where")
        if where is not None:
            self._columns(checked(self.text, where.this))
            spec = spec.where(text_of(where.this))
        if self.computed:
            spec = spec.computed(**{name: expr for expr, name in self.computed.items()})
        for window in found:
            spec = self._window(spec, window, aggregates)
        table = source.this.args["table"] if isinstance(source.this, TableWindow) else source.this
        return Read(self.text, spec, table.name, place_of(table), shown, self.named)

    # -- what there is not ---------------------------------------------------------------------------------------

    def _refuse(self) -> None:
        for arg, name in _REFUSED.items():
            found = self.tree.args.get(arg)
            if found:
                node = found[0] if isinstance(found, list) else found
                place = node if isinstance(node, exp.Expr) else None
                more = _HELP.get(arg, "")
                told = f"{name} is valid SQL that Muntin does not have. {more}".rstrip()
                if place is None or place_of(place) is None:
                    raise error(self.text, place_of_word(self.text, name.split()[-1]), told)
                raise self.fail(place, told)

    def _source(self) -> exp.Table:
        given = self.tree.args.get("from_")
        if given is None:
            raise self.fail(None, "this query has no FROM. Write FROM bids [WATTR ts RANGE 4 MINUTES SLIDE 1 MINUTE].")
        table = given.this
        if not isinstance(table, exp.Table):
            raise self.fail(
                table,
                "a query over another query is valid SQL that Muntin does not have. Compute that "
                "frame first, and give it by name.",
            )
        if not isinstance(table.this, TableWindow | exp.Identifier):
            raise self.fail(table, "FROM takes the name of a frame, or TUMBLE, HOP, CUMULATE or SESSION.")
        if table.args.get("db"):
            raise self.fail(table, f"{table.sql()!r}: frames go by one name, without a dot.")
        if table.args.get("joins") or table.args.get("sample") or table.args.get("pivots"):
            raise self.fail(
                table, "JOIN, TABLESAMPLE and PIVOT are valid SQL that Muntin does not have. Prepare the frame first."
            )
        return table

    def _plain_columns(self, source: exp.Table) -> None:
        """Names without the table or its alias in front of them; `window.start` and `window.end` stay."""
        table = source.this.args["table"] if isinstance(source.this, TableWindow) else source.this
        known = {table.name, source.alias} - {""}
        for column in self.tree.find_all(exp.Column):
            if column.table in known:
                column.set("table", None)
            elif column.table and column.table != "window":
                raise self.fail(column, f"{column.table!r} is no frame of this query. {nearest(column.table, known)}")

    # -- windows -----------------------------------------------------------------------------------------------------

    def _windows(self, source: exp.Table) -> tuple[list[Found], str | None, dict[str, exp.Expr]]:
        """The windows, the column of times, and the expressions of GROUP BY by their texts."""
        group = self.tree.args.get("group")
        if group is not None and any(group.args.get(kind) for kind in ("cube", "rollup", "grouping_sets", "all")):
            raise self.fail(
                group,
                "CUBE, ROLLUP, GROUPING SETS and ALL are valid SQL that Muntin does not have. Write "
                "one GROUP BY of columns.",
            )
        expressions = [] if group is None else list(group.expressions)
        brackets = [*(source.args.get(BRACKETS) or []), *((group.args.get(BRACKETS) or []) if group else [])]
        if isinstance(source.this, TableWindow):
            if brackets:
                raise self.fail(
                    source.this, f"{source.this.args['kind']} is a window, and so is the bracket. Give one."
                )
            return self._table_function(source.this, expressions)
        if not brackets:
            raise self.fail(
                source,
                "this query has no window. Write FROM bids [WATTR ts RANGE 4 MINUTES SLIDE 1 MINUTE], "
                "or FROM TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL '4' MINUTES).",
            )
        found = [bracketed(self.text, clauses, _around(clauses) or place_of(source.this)) for clauses in brackets]
        times = {window.time.value: window.time for window in found if window.time is not None}
        if len(times) > 1:
            raise self.fail(
                list(times.values())[1].place,
                f"windows of one query share one time: {', '.join(times)} are several. Write two queries.",
            )
        if not times:
            raise self.fail(
                _around(brackets[0]) or place_of(source.this),
                "no window names the column of times. Write WATTR ts; or WATTR PROCTIME() for the time of arrival.",
            )
        (clause,) = times.values()
        if clause.value:
            self.named.append((clause.value, clause.place))
        for window, clauses in zip(found, brackets, strict=True):
            on = getattr(window.window, "on", None)
            self.named += [(on, c.place) for c in clauses if on is not None and c.word == "WATTR"]
        return found, clause.value or None, {text_of(node): node for node in expressions}

    def _table_function(
        self, window: TableWindow, expressions: list[exp.Expr]
    ) -> tuple[list[Found], str | None, dict[str, exp.Expr]]:
        kind, time = window.args["kind"], window.args["time"]
        names = {node.name.lower() for node in expressions if isinstance(node, exp.Column)}
        missing = [name for name in WINDOW_COLUMNS[:2] if name not in names]
        if missing:
            raise self.fail(window, f"with {kind}, GROUP BY names the window: add {' and '.join(missing)} to it.")
        keys = {text_of(node): node for node in expressions if node.name.lower() not in WINDOW_COLUMNS}
        for key in window.args["keys"] or []:
            if key.name not in keys:
                raise self.fail(
                    key,
                    f"{kind} is partitioned by {key.name!r}, which is not in GROUP BY. Windows are "
                    f"found for each group: name the same columns in both.",
                )
        self.named.append((time.name, place_of(time)))
        return [Found(kind.lower(), table_window(self.text, window), None)], time.name, keys

    # -- columns -----------------------------------------------------------------------------------------------------

    def _columns(self, node: exp.Expr) -> None:
        self.named += [(column.name, place_of(column)) for column in columns_of(node)]

    def _column(self, node: exp.Expr) -> str:
        """The name of the column that holds an expression: a plain column's own, else a computed one."""
        if isinstance(node, exp.Star):
            raise self.fail(node, "* goes with count only. Name a column.")
        self._columns(checked(self.text, node))
        if isinstance(node, exp.Column):
            return str(node.name)
        text = text_of(node)
        return self.computed.setdefault(text, text)

    def _key(self, text: str, node: exp.Expr) -> str:
        """A key column, under the name that SELECT gives it."""
        checked(self.text, node)
        alias = self.aliases.get(text)
        if alias is None or (isinstance(node, exp.Column) and alias == node.name):
            return self._column(node)
        self._columns(node)
        if self.computed.get(text, alias) != alias:  # the same expression is in an aggregate, under its own text
            return self.computed[text]
        return self.computed.setdefault(text, alias)

    # -- the select list -----------------------------------------------------------------------------------------------

    def _selected(
        self, keys: dict[str, exp.Expr], projected: bool
    ) -> tuple[tuple[Shown, ...] | None, dict[str, Aggregate]]:
        aggregates: dict[str, Aggregate] = {}
        self.aliases: dict[str, str] = {}
        shown = []
        by_alias = {item.alias: item.this for item in self.tree.expressions if isinstance(item, exp.Alias)}
        for text, node in list(keys.items()):  # GROUP BY may name what SELECT calls an expression
            if isinstance(node, exp.Column) and node.name in by_alias and not is_aggregate(by_alias[node.name]):
                target = by_alias[node.name]
                if text_of(target) != text:
                    keys[text_of(target)] = target
                    del keys[text]
        for item in self.tree.expressions:
            node = item.this if isinstance(item, exp.Alias) else item
            alias = item.alias if isinstance(item, exp.Alias) else None
            if is_aggregate(node):
                name = alias or _default_name(node)
                if name in aggregates:
                    raise self.fail(node, f"two columns are named {name!r}. Give one of them another name with AS.")
                aggregates[name] = aggregate_of(self.text, node, self._column)
                shown.append(Shown(name, name))
            elif text_of(node) in keys:
                text = text_of(node)
                if alias is not None:
                    self.aliases[text] = alias
                shown.append(Shown(self.aliases.get(text, text), self.aliases.get(text, text)))
            else:
                shown.append(Shown(self._always(node, projected), alias or _bound_name(node)))
        if not aggregates:
            raise self.fail(self.tree, "this query computes nothing. Select at least one aggregate, such as count(*).")
        return (tuple(shown) if projected else None), aggregates

    def _always(self, node: exp.Expr, projected: bool) -> str:
        """What results have in any case: the bounds of the window, the name of the query, the revision."""
        if isinstance(node, exp.Column):
            if projected and node.name.lower() in WINDOW_COLUMNS:
                return str(node.name.lower())
            if node.table == "window" and node.name.lower() in ("start", "end"):
                return f"window_{node.name.lower()}"
            if not node.table and node.name in _ALWAYS:
                return str(node.name)
            known = [*_ALWAYS, *(WINDOW_COLUMNS if projected else ())]
            raise self.fail(
                node,
                f"{node.name!r} is neither aggregated nor in GROUP BY. Add it to GROUP BY, or take one "
                f"of its values: first({node.name}). Results have {', '.join(known)} without GROUP "
                f"BY.",
            )
        if isinstance(node, exp.Star):
            raise self.fail(
                node, "SELECT * is valid SQL that Muntin does not have: a window has aggregates, no rows. Name them."
            )
        if isinstance(node, exp.Anonymous):
            raise unknown(self.text, node, called(node), {*AGGREGATES, *FUNCTIONS})
        if isinstance(node, exp.Window):
            raise self.fail(node, "OVER is valid SQL that Muntin does not have: windows stand in brackets after FROM.")
        if isinstance(node, exp.Filter):
            raise self.fail(
                node,
                "FILTER is valid SQL that Muntin does not have. Aggregate CASE WHEN condition THEN "
                "value END: nulls are skipped.",
            )
        if isinstance(node, exp.WithinGroup):
            raise self.fail(node, "WITHIN GROUP is valid SQL that Muntin does not have. Write quantile(column, 0.95).")
        checked(self.text, node)
        raise self.fail(node, f"{text_of(node)!r} is neither aggregated nor in GROUP BY.")

    # -- the spec ------------------------------------------------------------------------------------------------------

    def _spec(self, found: list[Found], time: str | None, by: list[str], aggregates: dict[str, Aggregate]) -> Spec:
        delays = self.tree.args.get(DELAYS) or []
        options = {clause.word.lower(): clause.value for clause in delays}
        self.named += [(clause.value, clause.place) for clause in delays if clause.word == "ORDER"]
        try:
            return over(time, by=by, **options)
        except SpecError as problem:
            raise self.fail(_around(delays), str(problem)) from None

    def _window(self, spec: Spec, window: Found, aggregates: dict[str, Aggregate]) -> Spec:
        try:
            return spec.window(window.name, window.window, **aggregates)
        except SpecError as problem:
            raise self.fail(window.time.place if window.time else None, str(problem)) from None


def _default_name(node: exp.Anonymous) -> str:
    """What an aggregate without a name is called: by its function and its columns.

    >>> tree = parsed("SELECT MAX(price), count(*), sum(price * 2) FROM t")
    >>> [_default_name(call) for call in tree.expressions]
    ['max_price', 'count', 'sum_price_2']
    """
    args = [arg for arg in node.expressions[:1] if not isinstance(arg, exp.Star)]
    distinct = [
        word for arg in args if isinstance(arg, exp.Distinct) for word in ("distinct", *map(text_of, arg.expressions))
    ]
    words = [called(node), *(distinct or map(text_of, args))]
    return re.sub(r"\W+", "_", " ".join(words)).strip("_")


def _bound_name(node: exp.Expr) -> str:
    return f"window_{node.name}" if isinstance(node, exp.Column) and node.table else str(node.name)


def _around(clauses: list[Clause]) -> Place | None:
    return Place(clauses[0].place.start, clauses[-1].place.end) if clauses else None
