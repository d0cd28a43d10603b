"""The front matter of a SKILL.md as fields of text, each with its line.

As in the reference implementation, every scalar is text: `name: 123` is a name. What only other readers accept
(a colon in an unquoted value, flow style, a byte order mark) is read too, with a flaw.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from bot.parsing.compose_yaml import YamlError
from bot.parsing.front_matter import split_front_matter
from bot.parsing.parser import Parser
from bot.parsing.yaml_nodes import Document, Node, read_yaml

MAX_FRONT_MATTER = 32 * 1024

Value = Any
"""Text, or lists and mappings of text."""

_SIMPLE_FIELD = re.compile(r"([a-z][a-z-]*): ((?!.*(?:: |:$| #))[A-Za-z0-9](?:[ -~]*[!-~])?)")
"""Front matter of only such lines is unambiguous and needs no YAML, whose child takes 40 ms at a run's start."""

_PLAIN_FIELD = re.compile(r"([A-Za-z][\w-]*):[ \t]+(?![|>&*!%@`'\"\[{#])(.*\S)[ \t]*")


class Flaw(NamedTuple):
    """A problem of the front matter itself. `fatal`: nothing can be read."""

    rule: str
    line: int
    message: str
    fatal: bool = False


class FrontMatter(NamedTuple):
    """`fields` by name, with the line of each in `lines`. `body` is the rest with LF line ends."""

    fields: Mapping[str, Value] = MappingProxyType({})
    lines: Mapping[str, int] = MappingProxyType({})
    body: str = ""
    flaws: tuple[Flaw, ...] = ()

    @property
    def unreadable(self) -> bool:
        return any(flaw.fatal for flaw in self.flaws)


def read_front_matter(text: str, parser: Parser | None = None) -> FrontMatter:
    """Parse a SKILL.md. Never raises."""
    flaws: list[Flaw] = []
    if text.startswith("\ufeff"):
        flaws.append(Flaw("front-matter", 1, "a byte order mark comes before the `---`"))
    front, body, is_open = split_front_matter(text)
    reason = ""
    if is_open:
        reason = "the front matter has no closing line `---`"
    elif front is None:
        reason = "the first line must be `---`, before YAML"
    elif len(front) > MAX_FRONT_MATTER:
        reason = f"the front matter is over {MAX_FRONT_MATTER // 1024} kB"
    if front is None or reason:
        return FrontMatter(body=body, flaws=(*flaws, Flaw("front-matter", 1, reason, fatal=True)))
    fields, lines = _simple(front) or _by_yaml(front, flaws, parser)
    return FrontMatter(fields, lines, body, tuple(flaws))


def _simple(front: str) -> tuple[dict[str, Value], dict[str, int]] | None:
    """Return the fields if every line is a plain, unique field; `None` otherwise."""
    matches = [_SIMPLE_FIELD.fullmatch(line) for line in front.split("\n")[1:-1]]
    fields = {one[1]: one[2] for one in matches if one}
    if len(fields) != len(matches) or not fields:
        return None
    return fields, {name: number for number, name in enumerate(fields, 2)}


def _by_yaml(front: str, flaws: list[Flaw], parser: Parser | None) -> tuple[dict[str, Value], dict[str, int]]:
    try:
        document = _read_yaml(front, flaws, parser)
    except YamlError as error:
        flaws.append(Flaw("front-matter", error.line, error.message, fatal=True))
        return {}, {}
    if document.root is None or document.root.kind != "mapping":
        flaws.append(
            Flaw("front-matter", 2, "the front matter must be fields, as in `name: ...`", fatal=True)
        )
        return {}, {}
    flaws += [
        Flaw("plain-yaml", line, f"{feature} is not read everywhere; write it out")
        for feature, line in document.uses
    ]
    return _fields(document.root, flaws)


def _read_yaml(front: str, flaws: list[Flaw], parser: Parser | None) -> Document:
    """Return the document, if necessary with each unquoted one-line value quoted."""
    try:
        return read_yaml(front, parser)
    except YamlError as error:
        repaired = "\n".join(map(_with_quotes, front.split("\n")))
        if repaired == front:
            raise
        try:
            document = read_yaml(repaired, parser)
        except YamlError:
            raise error from None
        message = f"{error.message}; quote a value that holds a colon followed by a blank"
        flaws.append(Flaw("front-matter", error.line, message))
        return document


def _with_quotes(line: str) -> str:
    match = _PLAIN_FIELD.fullmatch(line)
    if match is None or not re.search(r":(\s|$)", match[2]):
        return line
    return "{}: '{}'".format(match[1], match[2].replace("'", "''"))


def _fields(root: Node, flaws: list[Flaw]) -> tuple[dict[str, Value], dict[str, int]]:
    fields: dict[str, Value] = {}
    lines: dict[str, int] = {}
    for key, value in root.pairs:
        if key.text in fields:
            flaws.append(Flaw("duplicate-field", key.line, f"`{key.text[:40]}` is given twice", fatal=True))
            continue
        fields[key.text] = _plain(value)
        lines[key.text] = key.line
    return fields, lines


def _plain(node: Node) -> Value:
    if node.kind == "sequence":
        return [_plain(item) for item in node.items]
    if node.kind == "mapping":
        return {str(_plain(key)): _plain(value) for key, value in node.pairs}
    return node.text
