"""The front matter of a SKILL.md: split off, read as plain YAML, each field with its line.

Read as the reference does, every scalar as the text it is written as: `name: 123` is a name. What only other readers
take (a colon in an unquoted value, flow style, a byte order mark) is read too, and said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from bot.policy import nodes
from bot.policy.errors import PolicyError
from bot.policy.nodes import Problems

MAX_FRONT_MATTER = 32 * 1024

Value = Any
"""Text, or lists and mappings of it."""

_FENCE = re.compile(r"---[ \t]*")
_PLAIN_FIELD = re.compile(r"([A-Za-z][\w-]*):[ \t]+(?![|>&*!%@`'\"\[{#])(.*\S)[ \t]*")


@dataclass(frozen=True, slots=True)
class Flaw:
    """Something wrong with the front matter as such. `fatal` when nothing can be read."""

    rule: str
    line: int
    message: str
    fatal: bool = False


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """`fields` by name with the line of each in `lines`. `body` is all that comes after, its line ends LF."""

    fields: Mapping[str, Value] = field(default_factory=dict)
    lines: Mapping[str, int] = field(default_factory=dict)
    body: str = ""
    flaws: tuple[Flaw, ...] = ()

    @property
    def unreadable(self) -> bool:
        return any(flaw.fatal for flaw in self.flaws)


def split(text: str) -> tuple[str | None, str]:
    """Front matter and body of a SKILL.md, line ends LF; `None` where there is no front matter that ends."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    if not _FENCE.fullmatch(lines[0]):
        return None, text
    end = next((number for number, line in enumerate(lines[1:], 1) if _FENCE.fullmatch(line)), None)
    if end is None:
        return None, text
    return "\n".join(lines[1:end]) + "\n", "\n".join(lines[end + 1 :])


def read(text: str) -> FrontMatter:
    """Never raises, whatever the text."""
    flaws: list[Flaw] = []
    if text.startswith("\ufeff"):
        flaws.append(Flaw("front-matter", 1, "a byte order mark comes before the `---`"))
    front, body = split(text)
    if front is None:
        opened = _FENCE.match(text.removeprefix("\ufeff"))
        reason = (
            "the front matter has no closing line `---`"
            if opened
            else "the first line must be `---`, before YAML"
        )
        return FrontMatter(body=body, flaws=(*flaws, Flaw("front-matter", 1, reason, fatal=True)))
    if len(front) > MAX_FRONT_MATTER:
        reason = f"the front matter is over {MAX_FRONT_MATTER // 1024} kB"
        return FrontMatter(body=body, flaws=(*flaws, Flaw("front-matter", 1, reason, fatal=True)))
    try:
        root, front = _compose(front, flaws)
    except PolicyError as error:
        problem = error.problems[0]
        flaws.append(Flaw("front-matter", problem.line + 1, problem.message, fatal=True))
        return FrontMatter(body=body, flaws=tuple(flaws))
    if not isinstance(root, yaml.MappingNode):
        flaws.append(
            Flaw("front-matter", 2, "the front matter must be fields, as in `name: ...`", fatal=True)
        )
        return FrontMatter(body=body, flaws=tuple(flaws))
    flaws += _not_plain(front)
    fields, lines = _fields(root, flaws)
    return FrontMatter(fields, lines, body, tuple(flaws))


def _compose(front: str, flaws: list[Flaw]) -> tuple[yaml.Node | None, str]:
    """The YAML of it; failing that, with each unquoted value of one line quoted. And the text that was read."""
    try:
        return nodes.compose(front, Problems("")), front
    except PolicyError as error:
        mended = "\n".join(map(_quoted, front.split("\n")))
        if mended == front:
            raise
        try:
            root = nodes.compose(mended, Problems(""))
        except PolicyError:
            raise error from None
        problem = error.problems[0]
        said = f"{problem.message}; quote a value that holds a colon followed by a blank"
        flaws.append(Flaw("front-matter", problem.line + 1, said))
        return root, mended


def _quoted(line: str) -> str:
    found = _PLAIN_FIELD.fullmatch(line)
    if found is None or not re.search(r":(\s|$)", found[2]):
        return line
    return "{}: '{}'".format(found[1], found[2].replace("'", "''"))


def _fields(root: yaml.MappingNode, flaws: list[Flaw]) -> tuple[dict[str, Value], dict[str, int]]:
    fields: dict[str, Value] = {}
    lines: dict[str, int] = {}
    for key, value in root.value:
        line = key.start_mark.line + 2
        name = key.value if isinstance(key, yaml.ScalarNode) else ""
        if name in fields:
            flaws.append(Flaw("duplicate-field", line, f"`{name[:40]}` is given twice", fatal=True))
            continue
        fields[name] = _plain(value)
        lines[name] = line
    return fields, lines


def _plain(node: yaml.Node) -> Value:
    if isinstance(node, yaml.SequenceNode):
        return [_plain(item) for item in node.value]
    if isinstance(node, yaml.MappingNode):
        return {str(_plain(key)): _plain(value) for key, value in node.value}
    return str(node.value)


def _not_plain(front: str) -> Iterator[Flaw]:
    """What the reference refuses though it is YAML: one flaw for each kind, at its first place."""
    said: set[str] = set()
    for token in yaml.scan(front, yaml.SafeLoader):
        kind = _EXOTIC.get(type(token))
        if kind and kind not in said:
            said.add(kind)
            yield Flaw(
                "plain-yaml", token.start_mark.line + 2, f"{kind} is not read everywhere; write it out"
            )


_EXOTIC: Mapping[type, str] = {
    yaml.FlowMappingStartToken: "a mapping in braces",
    yaml.FlowSequenceStartToken: "a list in brackets",
    yaml.AnchorToken: "an anchor",
    yaml.AliasToken: "an alias",
    yaml.TagToken: "a tag",
}
