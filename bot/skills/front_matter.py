"""The front matter of a SKILL.md as fields of text, each with its line.

As in the reference implementation, every scalar is text: `name: 123` is a name. What only other readers accept
(a colon in an unquoted value, flow style, a byte order mark) is read too.
"""

import re
from typing import Any, NamedTuple

from bot.parsing.front_matter import split_front_matter
from bot.parsing.parser import Parser
from bot.parsing.yaml_document import KEY, Document, YamlError, read_yaml

MAX_FRONT_MATTER = 32 * 1024

_PLAIN_FIELD = re.compile(r"([A-Za-z][\w-]*):[ \t]+(?![|>&*!%@`'\"\[{#])(.*\S)[ \t]*")


class InvalidSkillError(Exception):
    """Why a SKILL.md is no skill, with the rule and the line."""

    def __init__(self, line: int, message: str, rule: str = "front-matter") -> None:
        super().__init__(message)
        self.line, self.rule = line, rule


class Field(NamedTuple):
    """`value` is text, or lists and mappings of text."""

    value: Any = None
    line: int = 1


def read_fields(data: bytes, parser: Parser | None = None) -> dict[str, Field]:
    """Return the fields of a SKILL.md. Raises `InvalidSkillError`."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise InvalidSkillError(line, "this is not UTF-8", "encoding") from error
    front, _, is_open = split_front_matter(text)
    if is_open:
        raise InvalidSkillError(1, "the front matter has no closing line `---`")
    if front is None:
        raise InvalidSkillError(1, "the first line must be `---`, before YAML")
    if len(front) > MAX_FRONT_MATTER:
        raise InvalidSkillError(1, f"the front matter is over {MAX_FRONT_MATTER // 1024} kB")
    try:
        document = _read_yaml(front, parser)
    except YamlError as error:
        raise InvalidSkillError(error.problem.line, str(error)) from error
    if document.problems:
        line, _, message = document.problems[0]
        raise InvalidSkillError(line, message, "duplicate-field")
    if not isinstance(document.value, dict):
        raise InvalidSkillError(2, "the front matter must be fields, as in `name: ...`")
    return {name: Field(value, document.place((name, KEY)).line) for name, value in document.value.items()}


def _read_yaml(front: str, parser: Parser | None) -> Document:
    """Return the document, if necessary with each unquoted one-line value quoted."""
    try:
        return read_yaml(front, parser)
    except YamlError as error:
        repaired = "\n".join(map(_with_quotes, front.split("\n")))
        if repaired == front:
            raise
        try:
            return read_yaml(repaired, parser)
        except YamlError:
            raise error from None


def _with_quotes(line: str) -> str:
    match = _PLAIN_FIELD.fullmatch(line)
    if match is None or not re.search(r":(\s|$)", match[2]):
        return line
    return "{}: '{}'".format(match[1], match[2].replace("'", "''"))
