"""Read a YAML document with the place of each value. PyYAML reads it in the child process of `bot.parsing.parser`.

The text is untrusted: its size, its depth and its number of values are limited, with aliases expanded, and no tag
creates an object. The child's answer is untrusted too: it is a tree of JSON.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from bot.parsing.compose_yaml import compose
from bot.parsing.parser import ParseError, Parser

Location = tuple[str | int, ...]
"""Keys and indexes from the root of a document to a value."""
KEY = "[key]"
"""The last step of the location of a key, in place of its value's, as pydantic names it."""


class Problem(NamedTuple):
    """An error in a document. `line` and `column` count from 1."""

    line: int
    column: int
    message: str


class YamlError(Exception):
    """A text is not one valid document."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


class Place(NamedTuple):
    """`found` describes what stands there, for messages: `a list`."""

    line: int
    column: int
    found: str


class Document(NamedTuple):
    """`value` consists of lists, dictionaries, and scalars as text; it is `None` for an empty document. `problems` are
    of keys that it lacks, since they are no text, or given twice."""

    value: Any
    places: Mapping[Location, Place]
    problems: Sequence[Problem]

    def place(self, where: Location) -> Place:
        """Return the place of `where`, or the last one on the way that exists."""
        while where and where not in self.places:
            where = where[:-1]
        return self.places.get(where, Place(1, 1, "nothing"))


def read_yaml(text: str, parser: Parser | None = None) -> Document:
    """Return the one document in `text`, read by a child of its own without `parser`. Raises `YamlError`."""
    if parser is None:
        with Parser() as own:
            return read_yaml(text, own)
    try:
        answer = parser.parse(compose, text)
    except ParseError as error:
        raise YamlError(Problem(1, 1, f"not read: {error}")) from error
    try:
        if "error" in answer:
            raise YamlError(_problem(*answer["error"]))
        places = {
            tuple(path): Place(int(line), int(column), str(found))
            for path, line, column, found in answer["places"]
        }
        return Document(answer["value"], places, [_problem(*one) for one in answer["problems"]])
    except (TypeError, ValueError, KeyError) as error:
        raise YamlError(Problem(1, 1, "not read: its parser answered with no document")) from error


def _problem(line: int, column: int, message: str) -> Problem:
    return Problem(int(line), int(column), str(message))
