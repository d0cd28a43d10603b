"""The front matter of a SKILL.md: separated, read as plain YAML, each field with its line.

As in the reference implementation, every scalar is text: `name: 123` is a name. What only other readers accept
(a colon in an unquoted value, flow style, a byte order mark) is read too, with a flaw.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import yaml

MAX_FRONT_MATTER = 32 * 1024

Value = Any
"""Text, or lists and mappings of text."""

_FENCE = re.compile(r"---[ \t]*")
_SIMPLE_FIELD = re.compile(r"([a-z][a-z-]*): ((?!.*(?:: |:$| #))[A-Za-z0-9](?:[ -~]*[!-~])?)")
"""Front matter of only such lines is unambiguous and needs no YAML, which takes 10 ms at a run's start."""

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


def split_document(text: str) -> tuple[str | None, str]:
    """Return front matter and body of a SKILL.md with LF line ends; `None` if the front matter is missing or
    not closed."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    if not _FENCE.fullmatch(lines[0]):
        return None, text
    end = next((number for number, line in enumerate(lines[1:], 1) if _FENCE.fullmatch(line)), None)
    if end is None:
        return None, text
    return "\n".join(lines[1:end]) + "\n", "\n".join(lines[end + 1 :])


def read_front_matter(text: str) -> FrontMatter:
    """Parse a SKILL.md. Never raises."""
    flaws: list[Flaw] = []
    if text.startswith("\ufeff"):
        flaws.append(Flaw("front-matter", 1, "a byte order mark comes before the `---`"))
    front, body = split_document(text)
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
    fields, lines = _simple(front) or _by_yaml(front, flaws)
    return FrontMatter(fields, lines, body, tuple(flaws))


def _simple(front: str) -> tuple[dict[str, Value], dict[str, int]] | None:
    """Return the fields if every line is a plain, unique field; `None` otherwise."""
    matches = [_SIMPLE_FIELD.fullmatch(line) for line in front.split("\n")[:-1]]
    fields = {one[1]: one[2] for one in matches if one}
    if len(fields) != len(matches) or not fields:
        return None
    return fields, {name: number for number, name in enumerate(fields, 2)}


def _by_yaml(front: str, flaws: list[Flaw]) -> tuple[dict[str, Value], dict[str, int]]:
    import yaml

    from bot.policy.load import PolicyError

    try:
        root, front = _compose(front, flaws)
    except PolicyError as error:
        problem = error.problems[0]
        flaws.append(Flaw("front-matter", problem.line + 1, problem.message, fatal=True))
        return {}, {}
    if not isinstance(root, yaml.MappingNode):
        flaws.append(
            Flaw("front-matter", 2, "the front matter must be fields, as in `name: ...`", fatal=True)
        )
        return {}, {}
    flaws += _yaml_flaws(front)
    return _fields(root, flaws)


def _compose(front: str, flaws: list[Flaw]) -> tuple[yaml.Node | None, str]:
    """Return the YAML node, if necessary with each unquoted one-line value quoted, and the text that was
    parsed."""
    from bot.policy import nodes
    from bot.policy.load import PolicyError

    try:
        return nodes.compose(front, nodes.Problems("")), front
    except PolicyError as error:
        repaired = "\n".join(map(_with_quotes, front.split("\n")))
        if repaired == front:
            raise
        try:
            root = nodes.compose(repaired, nodes.Problems(""))
        except PolicyError:
            raise error from None
        problem = error.problems[0]
        message = f"{problem.message}; quote a value that holds a colon followed by a blank"
        flaws.append(Flaw("front-matter", problem.line + 1, message))
        return root, repaired


def _with_quotes(line: str) -> str:
    match = _PLAIN_FIELD.fullmatch(line)
    if match is None or not re.search(r":(\s|$)", match[2]):
        return line
    return "{}: '{}'".format(match[1], match[2].replace("'", "''"))


def _fields(root: yaml.MappingNode, flaws: list[Flaw]) -> tuple[dict[str, Value], dict[str, int]]:
    fields: dict[str, Value] = {}
    lines: dict[str, int] = {}
    for key, value in root.value:
        line = key.start_mark.line + 2
        name = key.value if isinstance(key.value, str) else ""
        if name in fields:
            flaws.append(Flaw("duplicate-field", line, f"`{name[:40]}` is given twice", fatal=True))
            continue
        fields[name] = _plain(value)
        lines[name] = line
    return fields, lines


def _plain(node: yaml.Node) -> Value:
    import yaml

    if isinstance(node, yaml.SequenceNode):
        return [_plain(item) for item in node.value]
    if isinstance(node, yaml.MappingNode):
        return {str(_plain(key)): _plain(value) for key, value in node.value}
    return str(node.value)


def _yaml_flaws(front: str) -> Iterator[Flaw]:
    """Return one flaw for each YAML feature that the reference implementation refuses, at its first use."""
    import yaml

    exotic: Mapping[type, str] = {
        yaml.FlowMappingStartToken: "a mapping in braces",
        yaml.FlowSequenceStartToken: "a list in brackets",
        yaml.AnchorToken: "an anchor",
        yaml.AliasToken: "an alias",
        yaml.TagToken: "a tag",
    }
    reported: set[str] = set()
    for token in yaml.scan(front, yaml.SafeLoader):
        kind = exotic.get(type(token))
        if kind and kind not in reported:
            reported.add(kind)
            yield Flaw(
                "plain-yaml", token.start_mark.line + 2, f"{kind} is not read everywhere; write it out"
            )
