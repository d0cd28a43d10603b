"""Read one SKILL.md: what is safe and useful is a skill, although it may violate the Agent Skills specification, as by
capitals in its name, an unknown field, or a long description.

As in the reference implementation, every scalar of the front matter is text: `name: 123` is a name. What only other
readers accept (a colon in an unquoted value, flow style, a byte order mark) is read too.
"""

import re
import unicodedata
from collections.abc import Mapping
from typing import Any, NamedTuple

from bot.events.sanitize import clean
from bot.parsing.front_matter import split_front_matter
from bot.parsing.parser import Parser
from bot.parsing.yaml_document import KEY, Document, YamlError, read_yaml
from bot.skills.skill import Finding, Skill

MAX_COMPATIBILITY = 500
MAX_DOCUMENT = 256 * 1024
"""Bytes of a SKILL.md: our own limit, as the next one: a name becomes a folder's, and those end at 255 bytes."""
_MAX_NAME_BYTES = 200

# Words in the names of fields that limit by whom, when or with what a skill is used. A run implements none of these
# limits, so such a skill is not offered.
_LIMITING = re.compile(
    r"\b(?:agent|context|den(?:y|ied)|disabled?|disallow(?:ed)?|excluded?|forbidden|globs?|hooks?|only|paths?|permissions?"
    r"|platforms?|restrict(?:ed)?|sandbox|tools)\b"
)
_PERMITTING = re.compile(r"\b(?:enabled?|invocable|invocation|invoke)\b")
"""As `_LIMITING`, if the value is false."""
_MANUAL = "disable model invocation"
# There is no menu here from which people start a skill.
_NO_LIMIT = ("allowed tools", "user invocable")
_FALSE = ("false", "no", "off", "n", "0", "null", "~", "")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_MAX_EXCERPT = 60
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


_Fields = Mapping[str, Field]


def check_document(skill: Skill, data: bytes, parser: Parser | None) -> Skill:
    """Return `skill` with what the bytes of its SKILL.md say. Never raises."""
    try:
        fields = read_fields(data, parser)
        return skill._replace(
            name=_name(fields),
            description=_description(fields),
            allowed_tools=_text(fields, "allowed-tools"),
            compatibility=" ".join(clean(_text(fields, "compatibility")[:MAX_COMPATIBILITY]).text.split()),
            limit=_limit(fields),
            manual=_is_manual(fields),
        )
    except InvalidSkillError as error:
        finding = Finding(error.rule, f"{skill.path}/{skill.document}", error.line, str(error))
        return skill._replace(findings=(finding,))


def _name(fields: _Fields) -> str:
    line, value = fields.get("name", Field()).line, _text(fields, "name").strip()
    if not value:
        raise InvalidSkillError(line, "a skill needs a `name`", "name-required")
    name = "-".join(unicodedata.normalize("NFKC", value).split())
    if len(name.encode(errors="replace")) > _MAX_NAME_BYTES:
        raise InvalidSkillError(line, f"the name is over {_MAX_NAME_BYTES} bytes long", "name-length")
    if not re.fullmatch(r"[\w-]+", name):
        message = f"{name[:_MAX_EXCERPT]!a}: a name is made of letters, digits and hyphens"
        raise InvalidSkillError(line, message, "name-characters")
    return name


def _description(fields: _Fields) -> str:
    visible = " ".join(clean(_text(fields, "description")).text.split())
    if not visible:
        message = "a skill needs a `description`: what it does and when to use it"
        raise InvalidSkillError(fields.get("description", Field()).line, message, "description-required")
    return visible


def _limit(fields: _Fields) -> str:
    """Return why the skill is not offered, as a clause: the first field that limits it."""
    for name, field in fields.items():
        words = _words(name)
        if words in (_MANUAL, *_NO_LIMIT):
            continue
        if (_PERMITTING if _is_false(field.value) else _LIMITING).search(words):
            return f"its field {name[:_MAX_EXCERPT]!a} limits its use, and a run cannot keep to that"
    return ""


def _is_manual(fields: _Fields) -> bool:
    metadata = fields.get("metadata", Field()).value
    values = {**(metadata if isinstance(metadata, dict) else {})}
    values |= {name: field.value for name, field in fields.items()}
    return any(_words(name) == _MANUAL and not _is_false(value) for name, value in values.items())


def _text(fields: _Fields, name: str) -> str:
    """Return the text of a field; empty if there is none, or a mapping. A list is joined."""
    value = fields.get(name, Field()).value
    if isinstance(value, list):
        return " ".join(map(str, value))
    return value if isinstance(value, str) else ""


def _words(field: str) -> str:
    """Return the words of a field's name, whether they are joined by hyphens, underscores or capitals."""
    return " ".join(_WORD.findall(field)).lower()


def _is_false(value: object) -> bool:
    return value.strip().lower() in _FALSE if isinstance(value, str) else not value
