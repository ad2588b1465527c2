"""One SQL statement taken apart: the clauses that Weir has, every other clause refused with its place."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, NoReturn, cast

from weir_placement.model.expression_parser import (
    ExpressionError,
    check_text,
    parse_error,
    place_of,
    together,
)
from weir_placement.model.expressions import split_and
from weir_placement.model.syntax_errors import first_word
from weir_placement.model.types import NAME
from weir_placement.rewrite import hints
from weir_placement.rewrite.hints import HintedShare

if TYPE_CHECKING:
    from sqlglot.expressions import Expression as Node

MAX_TABLES = 20
AGGREGATE_TWICE = "spec.operators can aggregate twice, see `weir help manifests`"
TABLE = "for a table see `Joining with a table` in `weir help sql`"

_TOP = " (the first rows of each window, top-N, are not supported yet)"
_CLAUSES = {
    # sqlglot's argument -> (how the clause is written, what would be right)
    "distinct": ("DISTINCT", "group by a time window and the columns instead"),
    "order": ("ORDER BY", f"a stream never ends, so it cannot be sorted{_TOP}"),
    "sort": ("SORT BY", "a stream never ends, so it cannot be sorted"),
    "limit": ("LIMIT", f"a stream never ends; filter in WHERE instead{_TOP}"),
    "offset": ("OFFSET", "a stream never ends; filter in WHERE instead"),
    "with_": ("WITH", f"write the query in one SELECT; {AGGREGATE_TWICE}"),
    "qualify": ("QUALIFY", "window functions are not supported"),
    "windows": ("WINDOW", "window functions are not supported"),
    "laterals": ("LATERAL", "columns are plain values"),
    "cluster": ("CLUSTER BY", "the planner decides where rows go"),
    "distribute": ("DISTRIBUTE BY", "the planner decides where rows go"),
    "into": ("INTO", "the sink of the query says where rows go"),
    "locks": ("FOR", "there are no locks on streams"),
    "kind": ("SELECT AS", "list the columns"),
}
_WORDS = {"sample": "TABLESAMPLE", "by_name": "BY NAME"}
_SELECT_PARTS = {"expressions", "from_", "joins", "where", "group", "having", "hint"}
_TABLE_CLAUSES = {
    "sample": ("TABLESAMPLE", "filter in WHERE instead"),
    "pivots": ("PIVOT", "list the columns"),
    "version": ("VERSION AS OF", "a stream has no versions"),
    "when": ("TIMESTAMP AS OF", "a stream has no versions"),
    "laterals": ("LATERAL", "columns are plain values"),
    "hints": ("table hints", "the planner decides"),
    "only": ("ONLY", "name the stream alone"),
}


@dataclass
class TableReference:
    """A stream in FROM under its alias; `stream` is `namespace/name` or a name alone."""

    alias: str
    stream: str
    offset: int | None


@dataclass
class SelectItem:
    """An item of SELECT; `alias` is "" when none was written."""

    node: Node
    alias: str


@dataclass
class Select:
    """One SELECT: everything between its keyword and the next UNION ALL."""

    tables: list[TableReference]
    conditions: list[Node]  # conjuncts of ON, in order, then of WHERE
    items: list[SelectItem]
    keys: list[Node] = field(default_factory=list)
    having: list[Node] = field(default_factory=list)
    shares: dict[str, HintedShare] = field(default_factory=dict)


class Statement:
    """A parsed statement. `selects` are the branches of UNION ALL in order.

    Raises:
        ExpressionError: cannot be parsed, or has a clause that is not supported.
    """

    def __init__(self, sql: str) -> None:
        self.text = sql
        self.selects: list[Select] = []
        self._refused: list[ExpressionError] = []
        check_text(sql)
        self._hints = iter(hints.places(sql))
        tree = _parse(sql)
        try:
            for node in self._branches(tree):
                self.selects.append(self._select(node))
        except ExpressionError as error:
            self._refused.append(error)
        if self._refused:
            raise together(self._refused)

    def refuse(self, node: Node | None, message: str, word: str = "") -> NoReturn:
        """Raise the error at a node, or at the keyword when the node has no place."""
        raise self._error(node, message, word)

    def _note(self, node: Node | None, message: str, word: str = "") -> None:
        """As `refuse`, but what follows is looked at too."""
        self._refused.append(self._error(node, message, word))

    def _error(self, node: Node | None, message: str, word: str) -> ExpressionError:
        offset = place_of(node) if node is not None else None
        if word:
            position = _find_word(self.text, word)
            offset = position if position is not None else offset
        return ExpressionError(message, self.text, offset)

    def _branches(self, node: Node) -> list[Node]:
        name = type(node).__name__
        if name == "Union":
            if node.args.get("distinct"):
                self.refuse(
                    None,
                    "UNION is not supported: it would have to remember every row forever; write UNION ALL",
                    "UNION",
                )
            self._only(node, {"this", "expression", "distinct"}, _CLAUSES)
            return self._branches(node.this) + self._branches(node.expression)
        if name in ("Intersect", "Except"):
            self.refuse(None, f"{name.upper()} is not supported; join within a time window", name)
        if name == "Subquery" and not node.args.get("alias"):
            self._only(node, {"this"}, _CLAUSES)
            return self._branches(node.this)
        if name != "Select":
            self.refuse(
                node, f"{name.upper()} is not supported; a query is one SELECT, or several with UNION ALL"
            )
        return [node]

    def _only(self, node: Node, parts: set[str], clauses: dict[str, tuple[str, str]]) -> None:
        for key, value in node.args.items():
            if key in parts or not value:
                continue
            unknown = _WORDS.get(key, key.strip("_").upper()), "`weir help sql` lists what is"
            word, hint = clauses.get(key, unknown)
            where = value[0] if isinstance(value, list) else value
            keyword = word.split()[0]
            node_of_clause = where if hasattr(where, "walk") else None
            self._note(node_of_clause, f"{word} is not supported: {hint}", keyword)

    def _select(self, node: Node) -> Select:
        self._only(node, _SELECT_PARTS, _CLAUSES)
        hint = node.args.get("hint")
        node.set("hint", None)  # its places are not those of the text
        source = node.args.get("from_")
        if source is None:
            self.refuse(node, "FROM is missing; name the stream", "SELECT")
        if not node.expressions:
            self.refuse(node, "SELECT names no columns; write them before FROM, or * for all", "SELECT")
        select = Select([self._table(source.this)], [], [self._item(e) for e in node.expressions])
        conditions: list[Node] = []
        for join in node.args.get("joins") or ():
            self._check_join(join)
            select.tables.append(self._table(join.this))
            if join.args.get("on") is not None:
                conditions += split_and(join.args["on"])
        if len(select.tables) > MAX_TABLES:
            self.refuse(source.this, f"{len(select.tables)} streams; at most {MAX_TABLES} can be joined")
        if node.args.get("where"):
            conditions += split_and(node.args["where"].this)
        select.conditions = [c for c in conditions if not _is_true(c)]
        if node.args.get("group"):
            select.keys = self._keys(node.args["group"])
        if node.args.get("having"):
            select.having = split_and(node.args["having"].this)
        aliases: set[str] = set()
        for table in select.tables:
            if table.alias.lower() in aliases:
                raise ExpressionError(
                    f"two streams are called {table.alias}; give each its own alias", self.text, table.offset
                )
            aliases.add(table.alias.lower())
        if hint is not None:
            names = [table.alias for table in select.tables]
            select.shares = hints.shares(self.text, hint, next(self._hints), names)
        return select

    def _check_join(self, join: Node) -> None:
        words = [str(join.args[k]).upper() for k in ("method", "side", "kind") if join.args.get(k)]
        if words and words not in (["INNER"], ["CROSS"]):
            right = f"only inner joins within a time window; {TABLE}"
            self._note(join.this, f"{' '.join(words)} JOIN is not supported; {right}")
        if join.args.get("using"):
            self._note(join.this, "USING is not supported; write ON a.x = b.x", "USING")
        if join.args.get("global_") or join.args.get("hint") or join.args.get("match_condition"):
            self._note(join.this, "this join is not supported; write JOIN stream ON ...")
        unsupported = {"using", "global_", "hint", "match_condition"}
        self._only(join, {"this", "on", "method", "side", "kind", *unsupported}, {})

    def _table(self, node: Node) -> TableReference:
        name = type(node).__name__
        if name == "Subquery":
            self.refuse(
                node,
                f"a subquery in FROM is not supported; join its streams in one SELECT; {AGGREGATE_TWICE}",
            )
        if name != "Table" or type(node.this).__name__ != "Identifier" or node.args.get("catalog"):
            self.refuse(node, "FROM needs a stream, as bids or namespace.bids")
        self._only(node, {"this", "db", "alias"}, _TABLE_CLAUSES)
        alias = node.args.get("alias")
        if alias is not None and alias.args.get("columns"):
            self.refuse(node, "an alias with column names is not supported; name columns in SELECT")
        short = alias.name if alias is not None and alias.name else node.name
        if not NAME.fullmatch(short) or short.lower() == "window":
            self.refuse(
                node, f"{short!r} cannot qualify columns; give the stream an alias of letters and digits"
            )
        namespace = node.text("db")
        return TableReference(short, f"{namespace}/{node.name}" if namespace else node.name, place_of(node))

    def _item(self, node: Node) -> SelectItem:
        if type(node).__name__ == "Alias":
            if not NAME.fullmatch(node.alias):
                self.refuse(node, f"{node.alias!r} is not a column name; use letters, digits and _")
            return SelectItem(node.this, node.alias)
        return SelectItem(node, "")

    def _keys(self, group: Node) -> list[Node]:
        for key, value in group.args.items():
            if key != "expressions" and value:
                self._note(
                    None, f"GROUP BY {key.upper().replace('_', ' ')} is not supported; list the keys", "GROUP"
                )
        return list(group.expressions)


def _parse(sql: str) -> Node:
    from sqlglot import Dialect, TokenType
    from sqlglot.errors import SqlglotError

    dialect = Dialect.get_or_raise("spark")
    tokens = dialect.tokenize(sql)
    if wrong := first_word(tokens):
        raise ExpressionError(wrong, sql, tokens[0].start)
    for token, following in pairwise(tokens):
        # sqlglot reads `window(` after GROUP BY as the WINDOW clause
        if token.token_type == TokenType.WINDOW and following.token_type == TokenType.L_PAREN:
            token.token_type = TokenType.VAR
    try:
        statements = [s for s in dialect.parser().parse(tokens, sql) if s is not None]
    except (SqlglotError, RecursionError) as error:
        raise parse_error(error, sql, "a query") from None
    if len(statements) != 1 or type(statements[0]).__name__ == "Block":
        raise ExpressionError("one statement is expected; remove what comes after ;", sql, sql.find(";"))
    return cast("Node", statements[0])


def _is_true(node: Node) -> bool:
    return type(node).__name__ == "Boolean" and bool(node.this)


def _find_word(sql: str, word: str) -> int | None:
    """Where a keyword first stands in the text outside of strings and names."""
    from sqlglot import Dialect, TokenType

    for token in Dialect.get_or_raise("spark").tokenize(sql):
        texts = token.text.upper().split()
        plain = token.token_type not in (TokenType.STRING, TokenType.IDENTIFIER)
        if plain and texts and texts[0] == word.upper():
            return int(token.start)
    return None
