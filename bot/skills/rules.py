"""Validate one SKILL.md against the Agent Skills specification and a few rules of our own.

A skill that is safe and useful is loaded although it violates the specification (capitals in its name, an unknown
field, a long description); a finding says so. `slash-agent skills check` is strict.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Any

from bot.events.hygiene import clean
from bot.parsing.parser import Parser
from bot.skills.front_matter import Field, UnreadableError, read_fields
from bot.skills.skill import CheckedSkill, Finding, Level, Origin, Skill
from bot.skills.sources import Entry

FIELDS = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")
MAX_NAME = 64
MAX_DESCRIPTION = 1024
MAX_COMPATIBILITY = 500
MAX_DOCUMENT = 256 * 1024
"""Bytes of a SKILL.md: our own limit, as the next one: a name becomes a folder's, and those end at 255 bytes."""

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

_MAX_NAME_BYTES = 200
_MAX_EXCERPT = 60
_HINTS = {
    "when_to_use": "; it is ignored: say in the `description` when to use the skill",
    _MANUAL: "; it is read",
    "model": "",
}


def check_document(
    data: bytes,
    source: str,
    folder: str,
    document: str,
    origin: Origin,
    files: tuple[Entry, ...] = (),
    parser: Parser | None = None,
) -> CheckedSkill:
    """Validate the bytes of `folder`/`document` in the source of that name. Never raises."""
    reader = _Reader(f"{source}/{folder}/{document}")
    try:
        reader.fields, flaws = read_fields(data, parser)
    except UnreadableError as error:
        reader.add(error.flaw.rule, error.flaw.message, Level.REFUSED, error.flaw.line)
        return CheckedSkill(folder, None, tuple(reader.findings))
    for flaw in flaws:
        reader.add(flaw.rule, flaw.message, Level.AGAINST, flaw.line)
    skill = reader.skill(folder, document, origin, files)
    findings = tuple(sorted(reader.findings, key=lambda finding: (finding.line, finding.rule)))
    refused = any(finding.level is Level.REFUSED for finding in findings)
    return CheckedSkill(folder, None if refused else skill, findings)


class _Reader:
    """Reads the fields of one SKILL.md and collects findings."""

    def __init__(self, file: str) -> None:
        self.findings: list[Finding] = []
        self.fields: Mapping[str, Field] = {}
        self._file = file

    def add(self, rule: str, message: str, level: Level = Level.AGAINST, line: int | None = None) -> None:
        """Add a finding, without `line` on the field that the rule is named after."""
        if line is None:
            line = self._line(rule if rule in self.fields else rule.partition("-")[0])
        self.findings.append(Finding(rule, level, self._file, line, message))

    def skill(self, folder: str, document: str, origin: Origin, files: tuple[Entry, ...]) -> Skill:
        self._unknown_fields()
        return Skill(
            self._name(folder.rpartition("/")[2]),
            self._description(),
            origin,
            folder,
            document,
            self._allowed_tools(),
            self._compatibility(),
            files,
            self._limit(),
            self._manual(),
        )

    def _name(self, folder: str) -> str:
        value = self._value("name")
        if not isinstance(value, str) or not value.strip():
            self.add("name-required", "a skill needs a `name`", Level.REFUSED)
            return ""
        written = unicodedata.normalize("NFKC", value.strip())
        name, excerpt = "-".join(written.split()), ascii(written[:_MAX_EXCERPT])
        if len(name.encode(errors="replace")) > _MAX_NAME_BYTES:
            self.add("name-length", f"the name is over {_MAX_NAME_BYTES} bytes long", Level.REFUSED)
        elif len(written) > MAX_NAME:
            self.add("name-length", f"the name has {len(written)} characters; at most {MAX_NAME} are allowed")
        if not re.fullmatch(r"[\w-]+", name):
            self.add(
                "name-characters", f"{excerpt}: a name is made of letters, digits and hyphens", Level.REFUSED
            )
        elif written != name.lower() or "_" in name:
            self.add("name-characters", f"{excerpt}: only lower-case letters, digits and hyphens are allowed")
        if name.startswith("-") or name.endswith("-") or "--" in name:
            self.add("name-hyphens", f"{excerpt}: no hyphen at either end, and no two in a row")
        if unicodedata.normalize("NFKC", folder) != written:
            self.add("name-folder", f"the name {excerpt} is not its folder's, {folder[:_MAX_EXCERPT]!a}")
        return name

    def _description(self) -> str:
        value = self._value("description")
        if not isinstance(value, str) or not value.strip():
            message = "a skill needs a `description`: what it does and when to use it"
            self.add("description-required", message, Level.REFUSED)
            return ""
        self._check_length("description-length", value, MAX_DESCRIPTION)
        visible = " ".join(clean(value).text.split())
        if not visible:
            self.add("description-required", "the description holds nothing that can be seen", Level.REFUSED)
        return visible

    def _compatibility(self) -> str:
        value = self._value("compatibility")
        if value is None:
            return ""
        if not isinstance(value, str):
            self.add("compatibility", "`compatibility` must be text")
            return ""
        self._check_length("compatibility", value, MAX_COMPATIBILITY)
        if not value.strip():
            self.add("compatibility", "`compatibility` is empty; leave it out", Level.NOTE)
        return " ".join(clean(value[:MAX_COMPATIBILITY]).text.split())

    def _check_length(self, rule: str, text: str, most: int) -> None:
        if len(text) > most:
            field = rule.removesuffix("-length")
            self.add(rule, f"the `{field}` has {len(text)} characters; at most {most} are allowed")

    def _allowed_tools(self) -> str:
        value = self._value("allowed-tools", "")
        if not isinstance(value, str):
            message = "the specification has text here, parted by blanks, not a list"
            self.add("allowed-tools", message, Level.NOTE)
        return str(value)

    def _limit(self) -> str:
        """Return why the skill is not offered, as a clause: the first field that limits it."""
        for name, field in self.fields.items():
            words = _words(name)
            if words in (_MANUAL, *_NO_LIMIT):
                continue
            if (_PERMITTING if _is_false(field.value) else _LIMITING).search(words):
                return f"its field {name[:_MAX_EXCERPT]!a} limits its use, and a run cannot keep to that"
        return ""

    def _manual(self) -> bool:
        metadata = self._value("metadata")
        fields = {**(metadata if isinstance(metadata, dict) else {})}
        fields |= {name: field.value for name, field in self.fields.items()}
        return any(_words(name) == _MANUAL and not _is_false(value) for name, value in fields.items())

    def _unknown_fields(self) -> None:
        for name in (name for name in self.fields if name not in FIELDS):
            hint = _HINTS.get(name, _HINTS.get(_words(name), "; it is ignored: put it beneath `metadata`"))
            message = f"the specification has no field {name[:_MAX_EXCERPT]!a}{hint}"
            self.add("unknown-field", message, line=self._line(name))
        if isinstance(self._value("metadata"), str | list):
            self.add("metadata", "`metadata` should be fields of text", Level.NOTE)

    def _value(self, name: str, absent: Any = None) -> Any:
        return self.fields[name].value if name in self.fields else absent

    def _line(self, name: str) -> int:
        return self.fields.get(name, Field()).line


def _words(field: str) -> str:
    """Return the words of a field's name, whether they are joined by hyphens, underscores or capitals."""
    return " ".join(_WORD.findall(field)).lower()


def _is_false(value: object) -> bool:
    return value.strip().lower() in _FALSE if isinstance(value, str) else not value
