"""Spark's SQL as sqlglot parses it, with the windows of paper 2 in brackets, delays, and window table functions.

Only what is new is parsed here; the rest of the grammar is sqlglot's. A bracket is kept at its table, or at its
GROUP BY, as clauses with their places; `windows.py` makes windows of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError, TokenError
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

from muntin.errors import nearest
from muntin.sql.names import AGGREGATES
from muntin.sql.places import Place, error

__all__ = ["BRACKETS", "DELAYS", "Clause", "Muntin", "TableWindow", "parsed", "place_of_word"]

BRACKETS = "muntin_brackets"
"""The argument of a table or of a GROUP BY that holds its windows: a list of lists of clauses."""
DELAYS = "muntin_delays"
"""The argument of a SELECT that holds what stands after WITH."""

_LENGTHS = ("RANGE", "SLIDE", "GAP", "ALIGN")
_BRACKET = ("WATTR", "RANGE", "SLIDE", "SESSION", "GAP", "ALIGN", "AS")
_DELAY_LENGTHS = ("DISORDER", "LATENESS", "IDLE", "MAX_AHEAD")
_DELAY = (*_DELAY_LENGTHS, "ORDER")
_TABLE_WINDOWS = ("TUMBLE", "HOP", "CUMULATE", "SESSION")


@dataclass(frozen=True)
class Clause:
    """A word of a bracket, or of WITH, and what follows it."""

    word: str
    value: str
    place: Place


class TableWindow(exp.Expression):
    """`TUMBLE(TABLE t, DESCRIPTOR(ts), ...)` and its like."""

    arg_types: ClassVar[dict[str, bool]] = {"kind": True, "table": True, "time": True, "lengths": True, "keys": False}


class Parser(SparkParser):
    """sqlglot's parser of Spark's SQL with what Muntin adds."""

    STRICT_CAST: ClassVar[bool] = True  # CAST and TRY_CAST are two things
    # Aggregates are looked up by the name that was written, so that all of them are read in one way.
    FUNCTIONS: ClassVar[Any] = {
        name: made for name, made in SparkParser.FUNCTIONS.items() if name.lower() not in AGGREGATES
    }
    FUNCTION_PARSERS: ClassVar[Any] = {
        name: made for name, made in SparkParser.FUNCTION_PARSERS.items() if name.lower() not in AGGREGATES
    }

    # -- windows in brackets -----------------------------------------------------------------------------------------

    def _parse_bracket(self, this: Any = None) -> Any:
        return this if self._at_window(isinstance(this, exp.Table)) else super()._parse_bracket(this)

    def _parse_column_ops(self, this: Any) -> Any:
        # sqlglot goes on as long as a bracket comes next, and a window is left where it is.
        return this if self._at_window(False) else super()._parse_column_ops(this)

    def _at_window(self, table: bool) -> bool:
        """Whether a window in brackets comes next; after a table nothing else can, after a column an index can."""
        if not self._curr or self._curr.token_type is not TokenType.L_BRACKET:
            return False
        if table:
            return True
        following = self._tokens[self._index + 1 : self._index + 3]
        return len(following) == 2 and _is_word(following[0]) and (_is_word(following[1]) or _is_number(following[1]))

    def _parse_table(self, *args: Any, **kwargs: Any) -> Any:
        wrapped = self._match_pair(TokenType.TABLE, TokenType.L_PAREN)  # Flink's TABLE(TUMBLE(...))
        found = self._table_window() if self._at_table_window() else super()._parse_table(*args, **kwargs)
        if wrapped:
            self._match_r_paren()
        if isinstance(found, exp.Table) and self._at_window(True):
            found.set(BRACKETS, self._windows())
            if not found.args.get("alias"):
                found.set("alias", self._parse_table_alias())
        return found

    def _parse_group(self, *args: Any, **kwargs: Any) -> Any:
        found = super()._parse_group(*args, **kwargs)
        if found is not None and self._at_window(True):
            found.set(BRACKETS, self._windows())
        return found

    def _windows(self) -> list[list[Clause]]:
        found = []
        while self._match(TokenType.L_BRACKET):
            opening, clauses = self._prev, []
            while not self._match(TokenType.R_BRACKET):
                if not self._curr:
                    raise error(self.sql, _place(opening), "this bracket is never closed. A window ends with ']'.")
                clauses.append(self._clause(_BRACKET, _LENGTHS))
            found.append(clauses)
        return found

    def _clause(self, known: tuple[str, ...], lengths: tuple[str, ...]) -> Clause:
        token = self._curr
        word = token.text.upper()
        if word not in known:
            hint = nearest(word, [name for name in known if name != "GAP"])
            raise error(self.sql, _place(token), f"unknown clause {token.text!r}. {hint}")
        self._advance()
        if word == "SESSION":
            if not self._match_text_seq("GAP"):
                raise error(self.sql, _place(token), "SESSION takes its gap: write SESSION GAP 30 SECONDS.")
            word = "GAP"
        if word in lengths:
            return self._length(word, token, known)
        named = self._curr
        if not named or not _is_word(named):
            raise error(self.sql, _place(token), f"{word} takes a name, such as {word} ts.")
        self._advance()
        value = named.text
        if value.upper() == "PROCTIME" and self._match(TokenType.L_PAREN):
            self._match_r_paren()
            value = ""  # the time of arrival
        return Clause(word, value, Place(named.start, self._prev.end))

    def _length(self, word: str, after: Token, known: tuple[str, ...] = ()) -> Clause:
        """A number and a unit, several of them, or a bare number; INTERVAL and quotes are taken too."""
        self._match_text_seq("INTERVAL")
        first, parts = self._curr, []
        while self._curr and (_is_number(self._curr) or self._curr.token_type is TokenType.STRING):
            parts.append(self._curr.text)
            self._advance()
            if self._curr and _is_word(self._curr) and self._curr.text.upper() not in known:
                parts.append(self._curr.text)
                self._advance()
        if not parts:
            place = _place(first) if first and first.token_type is not TokenType.R_BRACKET else _place(after)
            raise error(self.sql, place, f"{word} takes a length, such as {word} 4 MINUTES or {word} 100 ROWS.")
        return Clause(word, " ".join(parts), Place(first.start, self._prev.end))

    # -- delays ------------------------------------------------------------------------------------------------------

    def _parse_query_modifiers(self, this: Any) -> Any:
        this = super()._parse_query_modifiers(this)
        while isinstance(this, exp.Select) and self._match(TokenType.WITH):
            clauses = list(this.args.get(DELAYS) or [])
            opening = self._prev
            while self._curr and _is_word(self._curr) and self._curr.token_type not in self.QUERY_MODIFIER_PARSERS:
                clauses.append(self._clause(_DELAY, _DELAY_LENGTHS))
            if not clauses:
                raise error(self.sql, _place(opening), "WITH takes delays, such as WITH DISORDER 2 SECONDS.")
            this.set(DELAYS, clauses)
            this = super()._parse_query_modifiers(this)
        return this

    # -- table functions ---------------------------------------------------------------------------------------------

    def _at_table_window(self) -> bool:
        """Whether a function of a table comes next: a name, a parenthesis, and TABLE or the name of an argument."""
        ahead = [token.token_type for token in self._tokens[self._index : self._index + 4]]
        if len(ahead) < 4 or ahead[1] is not TokenType.L_PAREN or not _is_word(self._curr):
            return False
        return ahead[2] is TokenType.TABLE or ahead[3] is TokenType.FARROW

    def _table_window(self) -> exp.Table:
        opening, kind = self._curr, self._curr.text.upper()
        if kind not in _TABLE_WINDOWS:
            raise error(self.sql, _place(opening), f"unknown function {kind!r}. {nearest(kind, _TABLE_WINDOWS)}")
        self._advance(2)
        table, time, keys = None, None, []
        lengths: list[Clause] = []
        while True:
            name = ""
            if self._next and self._next.token_type is TokenType.FARROW:
                name = self._curr.text.upper()
                self._advance(2)
            if self._match(TokenType.TABLE):
                table = self._parse_id_var(any_token=True)
                keys = self._partition() if self._match(TokenType.PARTITION_BY) else []
            elif self._match_text_seq("DESCRIPTOR"):
                self._match_l_paren()
                time = self._parse_id_var(any_token=True)
                self._match_r_paren()
            else:
                found = self._length(kind, self._curr)
                lengths.append(Clause(name, found.value, found.place))
            if not self._match(TokenType.COMMA):
                break
        self._match_r_paren()
        if table is None or time is None:
            missing = "TABLE and a name" if table is None else "DESCRIPTOR and the time column in parentheses"
            raise error(self.sql, _place(opening), f"{kind} needs {missing}: {kind}(TABLE bids, DESCRIPTOR(ts), ...).")
        made = TableWindow(kind=kind, table=table, time=time, lengths=lengths, keys=keys)
        made.meta.update(start=opening.start, end=opening.end)
        return exp.Table(this=made, alias=self._parse_table_alias())

    def _partition(self) -> list[exp.Expr]:
        """The columns of PARTITION BY, in parentheses or not; then the next argument ends them."""
        wrapped = self._match(TokenType.L_PAREN)
        keys: list[Any] = [self._parse_id_var(any_token=True)]
        while self._match(TokenType.COMMA, advance=False):
            if not wrapped and (self._next.text.upper() == "DESCRIPTOR" or not _is_word(self._next)):
                break
            self._advance()
            keys.append(self._parse_id_var(any_token=True))
        if wrapped:
            self._match_r_paren()
        return keys


class Muntin(Spark):
    """The dialect."""

    Parser = Parser


def parsed(text: str) -> exp.Expr:
    """The tree of a text that is one statement; an error shows where it stops being one."""
    try:
        found = [tree for tree in Muntin().parse(text) if tree is not None]
    except ParseError as problem:
        told = problem.errors[0]
        end = sum(len(line) + 1 for line in text.split("\n")[: told["line"] - 1]) + told["col"] - 1
        place = Place(max(end - len(told["highlight"] or " ") + 1, 0), end)
        joined = place_of_word(text, "JOIN")
        if joined is not None and joined.end < place.start:  # windows after it are no SQL of anyone's
            raise error(text, joined, "JOIN is valid SQL that Muntin does not have. Join the frames first.") from None
        raise error(text, place, f"this is not SQL as Muntin reads it: {told['description']}.") from None
    except TokenError as problem:
        raise error(text, None, f"this is not SQL as Muntin reads it: {problem}") from None
    if len(found) != 1:
        raise error(text, None, f"{len(found)} statements were given; give one SELECT.")
    return found[0]


def place_of_word(text: str, word: str) -> Place | None:
    """Where a key word stands in a text; None where it does not.

    >>> place_of_word("SELECT 'distinct', DISTINCT a", "DISTINCT")
    Place(start=19, end=26)
    """
    found = (token for token in Muntin().tokenize(text) if token.text.upper() == word and "'" not in text[token.start])
    return next(map(_place, found), None)


def _place(token: Token) -> Place:
    return Place(token.start, token.end)


def _is_word(token: Token) -> bool:
    if token.token_type is TokenType.IDENTIFIER:
        return True
    return token.text.replace("_", "a").isalnum() and not _is_number(token)


def _is_number(token: Token) -> bool:
    return token.token_type is TokenType.NUMBER
