"""The front matter of a SKILL.md: split off, read as plain YAML, each field with its line.

Read as the reference does, every scalar as the text it is written as: `name: 123` is a name. What only other readers
take (a colon in an unquoted value, flow style, a byte order mark) is read too, and said.
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
"""Text, or lists and mappings of it."""

_FENCE = re.compile(r"---[ \t]*")
_SIMPLE_FIELD = re.compile(r"([a-z][a-z-]*): ((?!.*(?:: |:$| #))[A-Za-z0-9](?:[ -~]*[!-~])?)")
"""Of a front matter of such lines there is no doubt, and YAML, 10 ms of a run's start, is not needed."""

_PLAIN_FIELD = re.compile(r"([A-Za-z][\w-]*):[ \t]+(?![|>&*!%@`'\"\[{#])(.*\S)[ \t]*")


class Flaw(NamedTuple):
    """Something wrong with the front matter as such. `fatal` when nothing can be read."""

    rule: str
    line: int
    message: str
    fatal: bool = False


class FrontMatter(NamedTuple):
    """`fields` by name with the line of each in `lines`. `body` is all that comes after, its line ends LF."""

    fields: Mapping[str, Value] = MappingProxyType({})
    lines: Mapping[str, int] = MappingProxyType({})
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
    fields, lines = _simple(front) or _by_yaml(front, flaws)
    return FrontMatter(fields, lines, body, tuple(flaws))


def _simple(front: str) -> tuple[dict[str, Value], dict[str, int]] | None:
    """The fields where every line is one, plain and of its own name; `None` for any other front matter."""
    found = [_SIMPLE_FIELD.fullmatch(line) for line in front.split("\n")[:-1]]
    fields = {one[1]: one[2] for one in found if one}
    if len(fields) != len(found) or not fields:
        return None
    return fields, {name: number for number, name in enumerate(fields, 2)}


def _by_yaml(front: str, flaws: list[Flaw]) -> tuple[dict[str, Value], dict[str, int]]:
    import yaml

    from bot.policy.errors import PolicyError

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
    flaws += _not_plain(front)
    return _fields(root, flaws)


def _compose(front: str, flaws: list[Flaw]) -> tuple[yaml.Node | None, str]:
    """The YAML of it; failing that, with each unquoted value of one line quoted. And the text that was read."""
    from bot.policy import nodes
    from bot.policy.errors import PolicyError

    try:
        return nodes.compose(front, nodes.Problems("")), front
    except PolicyError as error:
        mended = "\n".join(map(_quoted, front.split("\n")))
        if mended == front:
            raise
        try:
            root = nodes.compose(mended, nodes.Problems(""))
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


def _not_plain(front: str) -> Iterator[Flaw]:
    """What the reference refuses though it is YAML: one flaw for each kind, at its first place."""
    import yaml

    exotic: Mapping[type, str] = {
        yaml.FlowMappingStartToken: "a mapping in braces",
        yaml.FlowSequenceStartToken: "a list in brackets",
        yaml.AnchorToken: "an anchor",
        yaml.AliasToken: "an alias",
        yaml.TagToken: "a tag",
    }
    said: set[str] = set()
    for token in yaml.scan(front, yaml.SafeLoader):
        kind = exotic.get(type(token))
        if kind and kind not in said:
            said.add(kind)
            yield Flaw(
                "plain-yaml", token.start_mark.line + 2, f"{kind} is not read everywhere; write it out"
            )
